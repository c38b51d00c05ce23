//! What travels between the ends.

/// A segment on its way to the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its sequence number, counted in segments from 0.
    pub seq: u64,
    /// The SYN: number 0 of a connection with a handshake. It carries no data; ns-2 gives it 40 bytes.
    pub syn: bool,
    /// This number was sent before.
    pub retransmission: bool,
    /// The network may mark it instead of dropping it (the IP header says ECT).
    pub ect: bool,
    /// Congestion was experienced: the network sets it, on segments with `ect` only.
    pub ce: bool,
    /// The sender has reduced its window.
    pub cwr: bool,
}

/// An acknowledgement on its way to the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// The first sequence number that the receiver still misses.
    pub next: u64,
    /// Echo of a congestion mark.
    pub ece: bool,
}
