//! A laboratory of network namespaces: a client, a server, and a box between them whose two interfaces lead to one
//! each. What stands in the box is not this crate's business. Traffic is generated and measured by the program itself,
//! with sockets in the namespaces.
//!
//! ```text
//! dovetail-NAME-client           dovetail-NAME-box           dovetail-NAME-server
//!      eth0 ------------------ client      server ------------------ eth0
//! 10.99.0.1, fd99::1           (no addresses at all)           10.99.0.2, fd99::2
//! ```
//!
//! Client and server share one subnet and find each other as neighbours do, through whatever is in the box; they can be
//! told of each other, so that nothing is on the wire but traffic. All that a lab consists of is found by its name in
//! the kernel (`/run/netns`, and the processes in a namespace): there is no file that could be lost or wrong. A box may
//! have a control socket, whose path follows from the lab's name.
//!
//! Everything here needs root.

mod clock;
mod command;
mod error;
mod kernel;
mod lab;
mod namespace;
mod offload;
pub mod scenario;
pub mod traffic;

pub use clock::{now, pause};
pub use error::LabError;
pub use kernel::Forwarding;
pub use lab::{CLIENT_V4, CLIENT_V6, Lab, MTUS, Neighbours, Offloads, Options, SERVER_V4, SERVER_V6, names};
pub use namespace::{Place, Removed, ask_to_end};
