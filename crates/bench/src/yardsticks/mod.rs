//! What the schedulers are held against: a bare queue, which is the control, a walk through memory, and two textbook
//! schedulers of one resource.
//!
//! These are plain Rust without contract, limits, books or corrections. In C they would do the same by the same
//! instructions; but the bench would need a C compiler, and unsafe code to call what it makes.

mod chase;
mod drr;
mod fifo;
mod qfq;

pub use chase::Chase;
pub use drr::Drr;
pub use fifo::Fifo;
pub use qfq::Qfq;

use crate::frames::{Frames, NIL, Place};

/// Bytes of a packet.
const LENGTH: u32 = 800;

/// A queue of frames that are linked.
#[derive(Clone, Copy)]
struct Queue {
    head: Place,
    tail: Place,
}

impl Queue {
    const EMPTY: Self = Self { head: NIL, tail: NIL };

    fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// A packet of this flow comes.
    fn push(&mut self, flow: u32, frames: &mut Frames) {
        let place = frames.take();
        let frame = frames.frame(place);
        (frame.next, frame.length, frame.flow) = (NIL, LENGTH, flow);
        match self.tail {
            _ if self.is_empty() => self.head = place,
            tail => frames.frame(tail).next = place,
        }
        self.tail = place;
    }

    /// The length of the first packet.
    fn length(&self, frames: &mut Frames) -> u32 {
        frames.frame(self.head).length
    }

    /// The first packet goes; what was read of it.
    fn pop(&mut self, frames: &mut Frames) -> u64 {
        let place = self.head;
        self.head = frames.frame(place).next;
        frames.give_back(place)
    }
}
