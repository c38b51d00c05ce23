//! What crosses the network.

use dovetail_sched::aqm::Congestion;
use dovetail_tcp::Segment;

/// Its place among the packets in the network.
pub(super) type PacketId = u32;

/// A data packet of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Place of its flow among the flows; used again by later flows.
    pub flow: u32,
    /// Index of its class.
    pub class: u32,
    /// Length on the wire in bytes.
    pub bytes: u32,
    /// How many hops of its route it has passed.
    pub(super) passed: u8,
    /// What the queues of earlier hops noted in it.
    pub congestion: Congestion,
    /// What TCP sends.
    pub segment: Segment,
}
