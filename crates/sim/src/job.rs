//! Packets on their way.

/// A packet in the pipeline.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    /// Its place among all that are in the system.
    pub packet: u32,
    /// The place of the ticket that the scheduler at the entrance gave.
    pub ticket: u32,
    pub flow: u32,
}
