//! What is done to a frame between the first queue and the link. A class of flows names a chain of modules.
//!
//! Each kind is a file here; [`Kind`] is how a configuration names it.

mod check;
mod config;
mod esp;
mod forward;
mod matching;
mod monitor;
mod oversize;
mod re;
pub(crate) mod segment;
mod stream;

use std::collections::VecDeque;
use std::sync::Arc;

use dovetail_units::Time;
use dovetail_wire::{IpView, NonFlow};

use crate::frame::{Frame, Pool};

pub use check::{Check, CheckConfig};
pub use config::{Kind, ModuleConfig, ModuleError, Origin, Secret};
pub use esp::{Decapsulate, DecapsulateConfig, Encapsulate, EncapsulateConfig, Sequence, StateError, Transform};
pub use forward::{Forward, ForwardConfig, Mac, MacError, Route};
pub use matching::{Action, Match, MatchConfig};
pub use monitor::{Monitor, MonitorConfig};
pub use re::{Decoder, DecoderConfig, Encoder, EncoderConfig};

/// Why a module gave a frame up. Counted by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ModuleDrop(pub &'static str);

/// What a module may use and leave behind beside the frame.
pub struct Around<'a> {
    /// The box's time.
    pub now: Time,
    /// Where frames come from.
    pub pool: &'a mut Pool,
    /// Frames for where the frame came from.
    pub answers: &'a mut VecDeque<Frame>,
}

/// One kind of processing, with its state. Does not allocate per frame.
pub trait Module: Send {
    /// Its name in configurations and reports.
    fn name(&self) -> &'static str;

    /// Process the frame in place; it may grow or shrink.
    ///
    /// # Errors
    /// The frame is to be dropped, and why.
    fn process(&mut self, frame: &mut Frame) -> Result<(), ModuleDrop>;

    /// Make the frame fit before it is processed: cut it, so that what follows is in its
    /// [`tail`](crate::frame::Record::tail), or tell its sender.
    ///
    /// # Errors
    /// The frame is to be dropped, and why.
    fn prepare(&mut self, _around: &mut Around<'_>, _frame: &mut Frame) -> Result<(), ModuleDrop> {
        Ok(())
    }

    /// An IP packet of the other direction passes, which begins a TCP connection whose packets this module processes in
    /// this one.
    fn opening(&mut self, _packet: &mut [u8]) {}

    /// Numbers that the next module with the same key goes on with, in this box or in the next one.
    fn sequence(&mut self) -> Option<&mut Arc<Sequence>> {
        None
    }

    /// Counters since it was made, and gauges, by name; the names of one kind of module are always the same. O(1), but
    /// it may allocate.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Flows or prefixes with the most bytes, largest first, and their bytes; at most ten of each. Looks at everything
    /// that it keeps apart.
    fn heavy(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

impl From<NonFlow> for ModuleDrop {
    /// Why there is no IP packet in the frame.
    fn from(reason: NonFlow) -> Self {
        Self(reason.name())
    }
}

/// Let a module prepare and process a frame, and what it is cut into.
///
/// # Errors
/// The frame is to be dropped, with what follows it, and why.
pub(crate) fn run(module: &mut dyn Module, around: &mut Around<'_>, frame: &mut Frame) -> Result<(), ModuleDrop> {
    let mut piece = Some(frame);
    while let Some(frame) = piece {
        module.prepare(around, frame)?;
        module.process(frame)?;
        piece = frame.tail.as_mut();
    }
    Ok(())
}

/// Where the frame's IP packet begins.
fn ip_offset(frame: &Frame) -> Result<usize, ModuleDrop> {
    Ok(dovetail_wire::ip_offset(frame.link, frame.data())?)
}

/// The frame's IP packet.
fn ip(frame: &Frame) -> Result<IpView<&[u8]>, ModuleDrop> {
    Ok(IpView::new(&frame.data()[ip_offset(frame)?..])?)
}
