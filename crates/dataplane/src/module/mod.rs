//! What is done to a frame between the first queue and the link. A class of flows names a chain of modules.
//!
//! Each kind is a file here; [`Kind`] is how a configuration names it.

mod check;
mod config;
mod esp;
mod forward;
mod matching;
mod monitor;
mod re;

use dovetail_wire::{IpView, NonFlow};

use crate::frame::Frame;

pub use check::{Check, CheckConfig};
pub use config::{Kind, ModuleConfig, ModuleError, Origin, Secret};
pub use esp::{Decapsulate, DecapsulateConfig, Encapsulate, EncapsulateConfig, Transform};
pub use forward::{Forward, ForwardConfig, Mac, MacError, Route};
pub use matching::{Action, Match, MatchConfig};
pub use monitor::{Monitor, MonitorConfig};
pub use re::{Decoder, DecoderConfig, Encoder, EncoderConfig};

/// Why a module gave a frame up. Counted by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ModuleDrop(pub &'static str);

/// One kind of processing, with its state. Does not allocate per frame.
pub trait Module: Send {
    /// Its name in configurations and reports.
    fn name(&self) -> &'static str;

    /// Process the frame in place; it may grow or shrink.
    ///
    /// # Errors
    /// The frame is to be dropped, and why.
    fn process(&mut self, frame: &mut Frame) -> Result<(), ModuleDrop>;

    /// Counters since it was made, and gauges, by name; the names of one kind of module are always the same. O(1), but it may allocate.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Flows or prefixes with the most bytes, largest first, and their bytes; at most ten of each. Looks at everything that it keeps apart.
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

/// Where the frame's IP packet begins.
fn ip_offset(frame: &Frame) -> Result<usize, ModuleDrop> {
    Ok(dovetail_wire::ip_offset(frame.link, frame.data())?)
}

/// The frame's IP packet.
fn ip(frame: &Frame) -> Result<IpView<&[u8]>, ModuleDrop> {
    Ok(IpView::new(&frame.data()[ip_offset(frame)?..])?)
}
