//! What is done to a frame between the first queue and the link. A class of flows names a chain of modules.

use crate::frame::Frame;

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
}
