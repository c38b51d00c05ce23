//! Traffic from the client to the server of a lab, generated and measured by the program itself.
//!
//! A run of traffic goes on until it is stopped or dropped. `measure` tells what has happened since the run began or
//! was last measured: so the first call ends the warm-up, and a run has as many windows as one likes.

mod beat;
mod flood;
mod probe;
mod tcp;
mod tcp_info;
mod udp;
mod udp_receive;
mod udp_send;
mod web;

use std::net::{IpAddr, SocketAddr};

pub use beat::{Beat, BeatReport};
pub use flood::{FalseFlows, Flood};
pub use hdrhistogram::Histogram;
pub use tcp::{TcpFlow, TcpMeasured, TcpReport, TcpRun};
pub use udp::{UdpFlow, UdpMeasured, UdpReport, UdpRun};
pub use web::{Web, WebReport};

use crate::lab::{CLIENT_V4, CLIENT_V6, SERVER_V4, SERVER_V6};
use crate::namespace::Place;

/// The version of IP that a flow uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Ip {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

impl Ip {
    fn server(self, port: u16) -> SocketAddr {
        self.at(Place::Server, port)
    }

    /// A port of the client, or else of the server.
    fn at(self, place: Place, port: u16) -> SocketAddr {
        let address = match (self, place) {
            (Self::V4, Place::Client) => IpAddr::V4(CLIENT_V4),
            (Self::V6, Place::Client) => IpAddr::V6(CLIENT_V6),
            (Self::V4, _) => IpAddr::V4(SERVER_V4),
            (Self::V6, _) => IpAddr::V6(SERVER_V6),
        };
        SocketAddr::new(address, port)
    }

    /// Bytes of its header without options.
    fn header(self) -> u64 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }
}
