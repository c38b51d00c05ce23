//! Ports around other ports: what passes is told line by line ([`Traced`]), captured ([`Recorded`]), or damaged on
//! purpose ([`Faulty`]).

/// What a decorator leaves to the port `inner`.
macro_rules! as_inner {
    () => {
        fn name(&self) -> &str {
            self.inner.name()
        }

        fn link(&self) -> LinkType {
            self.inner.link()
        }

        fn readable(&self) -> Option<RawFd> {
            self.inner.readable()
        }

        fn ended(&self) -> bool {
            self.inner.ended()
        }

        fn next_arrival(&mut self) -> Option<Time> {
            self.inner.next_arrival()
        }

        fn counters(&mut self) -> PortCounters {
            self.inner.counters()
        }

        fn link_state(&self) -> Option<crate::port::LinkState> {
            self.inner.link_state()
        }
    };
}

mod fault;
mod record;
#[cfg(test)]
mod tests;
mod trace;

use std::collections::VecDeque;
use std::io;

use dovetail_units::Time;
use log::error;

use super::{BURST, Port};
use crate::frame::{Frame, Pool};
use crate::watch::target;

pub use fault::{FaultCounters, Faults, Faulty, HELD};
pub use record::Recorded;
pub use trace::Traced;

/// What is written of what passes cannot be written any more: it is said when it happens, once, as nobody else would
/// before the box ends.
fn log_failure(failed: &Option<io::Error>) {
    if let Some(error) = failed {
        error!(target: target::RECORD, "{error}; it ends here with what was written, and the box goes on");
    }
}

/// Sends through a port and tells which frames it took, whose bytes are then no longer there: it keeps copies.
#[derive(Default)]
struct Watched {
    batch: VecDeque<Frame>,
    copies: Vec<u8>,
    ends: Vec<usize>,
}

impl Watched {
    /// As [`Port::send`] of `port`; `seen` is called with the bytes of every frame that it took, sent or unsent.
    fn send(
        &mut self,
        port: &mut dyn Port,
        now: Time,
        frames: &mut VecDeque<Frame>,
        pool: &mut Pool,
        mut seen: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        while !frames.is_empty() {
            let count = frames.len().min(BURST);
            self.copies.clear();
            self.ends.clear();
            for frame in frames.drain(..count) {
                self.copies.extend_from_slice(frame.data());
                self.ends.push(self.copies.len());
                self.batch.push_back(frame);
            }
            let result = port.send(now, &mut self.batch, pool);
            let left = self.batch.len();
            let mut start = 0;
            for &end in &self.ends[..count - left] {
                seen(&self.copies[start..end]);
                start = end;
            }
            while let Some(frame) = self.batch.pop_back() {
                frames.push_front(frame);
            }
            result?;
            if left > 0 {
                break;
            }
        }
        Ok(())
    }
}
