//! Where frames come from and go to.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;

use dovetail_units::Time;

use crate::frame::{Frame, Pool};

/// The most frames that one call of [`Port::receive`] brings.
pub const BURST: usize = 64;

/// What a port has counted since it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortCounters {
    /// Frames handed up by [`Port::receive`].
    pub received: u64,
    /// Frames that came to the port and were lost before anybody saw them: the kernel's ring was full.
    pub missed: u64,
    /// Frames that were handed up cut, or not at all, because they are longer than a buffer.
    pub oversize: u64,
    /// Frames taken by [`Port::send`] and accepted by the interface.
    pub sent: u64,
    /// Frames taken by [`Port::send`] that the interface refused for good (it is down, or the frame is longer than its MTU).
    pub unsent: u64,
}

/// An interface, a capture file, or a decorator around another port. Never blocks.
pub trait Port: Send {
    /// What messages and reports call it.
    fn name(&self) -> &str;

    /// Put what has come, at most [`BURST`] frames, at the end of `frames`, with `now` as the time of receipt. An interface that is down brings nothing
    /// and is no error.
    ///
    /// # Errors
    /// The port is of no use any more.
    fn receive(&mut self, now: Time, pool: &mut Pool, frames: &mut Vec<Frame>) -> io::Result<()>;

    /// Send from the front of `frames` as many as fit now; those are given back to `pool`, the others stay. What can
    /// never be sent is counted as unsent and given back too.
    ///
    /// # Errors
    /// The port is of no use any more.
    fn send(&mut self, now: Time, frames: &mut VecDeque<Frame>, pool: &mut Pool) -> io::Result<()>;

    /// What becomes readable when frames have come; `None` where there is nothing to wait for.
    fn readable(&self) -> Option<RawFd>;

    /// Whether nothing will ever come any more: the end of a capture file.
    fn ended(&self) -> bool {
        false
    }

    /// What was counted.
    fn counters(&mut self) -> PortCounters;
}
