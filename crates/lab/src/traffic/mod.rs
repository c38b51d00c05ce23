//! Traffic from the client to the server of a lab, generated and measured by the program itself.
//!
//! A run of traffic goes on until it is stopped or dropped. `measure` tells what has happened since the run began or
//! was last measured: so the first call ends the warm-up, and a run has as many windows as one likes.

mod probe;
mod tcp;
mod tcp_info;
mod udp;
mod udp_receive;
mod udp_send;

use std::net::{IpAddr, SocketAddr};

pub use hdrhistogram::Histogram;
pub use tcp::{TcpFlow, TcpMeasured, TcpReport, TcpRun};
pub use udp::{UdpFlow, UdpMeasured, UdpReport, UdpRun};

use crate::lab::{SERVER_V4, SERVER_V6};

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
        let address = match self {
            Self::V4 => IpAddr::V4(SERVER_V4),
            Self::V6 => IpAddr::V6(SERVER_V6),
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
