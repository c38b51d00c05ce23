//! Packets on their way.

use dovetail_sched::Ticket;

/// A packet in the pipeline: its place among all that are in the system, and the ticket that the scheduler at the
/// entrance gave.
#[derive(Clone, Copy)]
pub(crate) struct Job<const M: usize> {
    pub packet: u32,
    pub ticket: Ticket<M>,
}
