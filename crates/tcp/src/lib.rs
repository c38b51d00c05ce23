//! A TCP sender and receiver for simulation: Reno, NewReno and CUBIC, each with and without ECN.
//!
//! Sans-I/O: time comes in as an argument, segments and acknowledgements go in and out as values, and nothing here
//! reads a clock, draws a random number, or allocates per segment in the steady state.
//!
//! ```
//! use dovetail_tcp::{AckPolicy, Config, Receiver, Sender, Variant};
//! use dovetail_units::Time;
//!
//! let mut sender = Sender::new(Config { handshake: false, ..Config::rfc(Variant::NewReno) })?;
//! let mut receiver = Receiver::new(AckPolicy::EverySegment);
//! let (sent, back) = (Time::ZERO, Time::from_nanos(40_000_000));
//! let mut arrived = Vec::new();
//! while let Some(segment) = sender.poll_transmit(sent) {
//!     arrived.push(segment);
//! }
//! for segment in arrived {
//!     if let Some(ack) = receiver.on_segment(sent, segment) {
//!         sender.on_ack(back, ack);
//!     }
//! }
//! assert_eq!(sender.cwnd_packets(), 6.0); // three segments of the initial window, three more for their ACKs
//! # Ok::<(), dovetail_tcp::ConfigError>(())
//! ```
//!
//! The caller's duties, in this order whenever it has handed something in: [`Sender::poll_transmit`] until it answers
//! `None`, all at the same instant; then a timer at [`Sender::next_timer`], if any, which calls [`Sender::on_timer`].
//! Calls that come early or twice do no harm. The receiver's delayed-ACK timer works alike.
//!
//! Sequence numbers count segments (all of one size, as in ns-2), start at 0, and are 64 bits wide: they never wrap.
//!
//! What is modelled:
//! * Slow start, congestion avoidance, fast retransmit, fast recovery (RFC 5681), limited transmit (RFC 3042),
//!   NewReno's partial ACKs (RFC 6582), CUBIC with fast convergence and its Reno-friendly region (RFC 9438).
//! * The retransmission timer of RFC 6298, with Karn's rule: one segment is timed at a time, none that was sent twice.
//! * Delayed ACKs (RFC 5681, section 4.2), cumulative ACKs only.
//! * ECN (RFC 3168): ECE until CWR, at most one reduction per window, less than one segment per round trip.
//! * The handshake as one segment, the SYN, in each direction: it takes a round trip and may be lost.
//!
//! What is not modelled:
//! * SACK, time stamps, F-RTO, RACK, tail loss probes, PRR, pacing, HyStart++.
//! * The receiver's window as something that changes: it is a constant, [`Config::window_limit`].
//! * Bytes, segments of different sizes, Nagle's algorithm, silly windows, path MTU. A sender always has whole segments
//!   to send.
//! * The end of a connection (FIN), resets, keep-alive, idle periods, data in the opposite direction, ECN negotiation:
//!   both ends are configured alike.
//!
//! [`Rules`] says where ns-2 and the RFCs part.
#![no_std]

extern crate alloc;

mod config;
mod cubic;
mod receiver;
mod rto;
mod segment;
mod sender;
mod window;

pub use config::{Config, ConfigError, Length, Rules, Variant};
pub use cubic::Cubic;
pub use receiver::{AckPolicy, Receiver, ReceiverStats};
pub use segment::{Ack, Segment};
pub use sender::{Sender, SenderStats};
pub use window::{ONE, from_fixed};
