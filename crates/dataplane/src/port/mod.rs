//! Where frames come from and go to.
//!
//! * [`packet`]: a network interface by packet sockets; works with every driver.
//! * [`xdp`]: a network interface by an AF_XDP socket; without copies where the driver can.
//! * [`tun`]: an interface whose cable ends in this program.
//! * [`capture`]: capture files in and out.
//! * [`decorate`]: ports around other ports, which trace, capture, or inject faults.
//! * [`memory`]: two ports that are each other's cable, for tests.

mod atomic;
pub mod capture;
pub mod decorate;
mod error;
mod interface;
mod kind;
mod look;
pub mod memory;
mod offload;
pub mod packet;
mod sys;
#[cfg(test)]
pub(crate) mod testbed;
pub mod tun;
pub mod xdp;

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;

use dovetail_units::Time;
use dovetail_wire::LinkType;

use crate::frame::{Frame, Pool};

pub use error::OpenError;
pub(crate) use error::both;
pub use interface::{Interface, LinkState, interface, interfaces};
pub(crate) use kind::stand_in;
pub use kind::{Kind, Options, first_time, open};
pub use look::{mtu, warnings};

/// The most frames that one call of [`Port::receive`] brings.
pub const BURST: usize = 64;

/// What a port has counted since it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortCounters {
    /// Frames handed up by [`Port::receive`].
    pub received: u64,
    /// Frames that came to the port and were lost before anybody saw them: the kernel's ring was full; in a capture,
    /// places that could not be read.
    pub missed: u64,
    /// Frames that came and were not handed up because they are longer than [`LONGEST`](crate::frame::LONGEST), or
    /// several segments in one.
    pub oversize: u64,
    /// Frames taken by [`Port::send`] and accepted by the interface.
    pub sent: u64,
    /// Frames taken by [`Port::send`] that will never be sent: the interface is down, or the frame is longer than its
    /// MTU allows.
    pub unsent: u64,
    /// Of the unsent frames, those longer than the interface's MTU allows.
    pub too_long: u64,
    /// Of the unsent frames, those for which the interface was down.
    pub down: u64,
    /// Of the unsent frames, those for which the interface's queue had been full for too long.
    pub full: u64,
    /// Of the unsent frames, those too short for a link header, or no packets at all.
    pub short: u64,
    /// Frames that came and that the port keeps back on purpose, at the moment.
    pub held: u64,
}

/// An interface, a capture file, or a decorator around another port. Never blocks.
pub trait Port: Send {
    /// What messages and reports call it.
    fn name(&self) -> &str;

    /// How the frames begin that it brings and takes. The two ports of a box have the same.
    fn link(&self) -> LinkType;

    /// Put what has come, at most [`BURST`] frames, at the end of `frames`, with `now` as the time of receipt. An
    /// interface that is down brings nothing and is no error.
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

    /// When the next frame comes, where that is known: the next frame of a capture file. [`receive`](Self::receive)
    /// brings it when its `now` is not earlier, so that a driver in simulated time can go on to it.
    fn next_arrival(&mut self) -> Option<Time> {
        None
    }

    /// Nothing will be sent any more: bring what was written into its place. Without this a written file is discarded.
    ///
    /// # Errors
    /// The file could not be written whole.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// What was counted.
    fn counters(&mut self) -> PortCounters;

    /// Whether the interface carries frames at the moment; `None` where there is no interface, or the kernel does not
    /// say. Two system calls.
    fn link_state(&self) -> Option<LinkState> {
        None
    }
}
