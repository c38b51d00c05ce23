//! A running box is talked to over a local socket: JSON lines, a request and its answer.
//!
//! * [`protocol`]: what can be asked, and what is answered.
//! * [`Desk`]: where the worker finds requests, and what it does with them.
//! * [`Bound`], [`Socket`]: the Unix socket and its clients.
//! * [`Client`]: the other end.
//!
//! The worker never waits: clients have threads of their own, which hand requests over a bounded channel and wait for
//! answers.

mod client;
mod desk;
mod lines;
pub mod protocol;
mod socket;

pub use client::{Client, ClientError};
pub use desk::{Counter, Desk};
pub use socket::{Bound, Socket};

/// Where the programs of this package look for the control socket unless they are told.
pub const DEFAULT_SOCKET: &str = "/run/dovetail/box.sock";
