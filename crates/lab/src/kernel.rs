//! The kernel in the place of the box: what a middlebox is compared with.

use crate::command::{ip_batch, ip_wait};
use crate::error::LabError;
use crate::lab::{CLIENT_V4, CLIENT_V6, Lab, MACS, SERVER_V4, SERVER_V6, write_setting};
use crate::namespace::Place;

/// How the kernel forwards between the box's two interfaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forwarding {
    /// A learning bridge.
    Bridge,
    /// As a router; client and server send to the box's MAC addresses.
    Router,
}

impl Lab {
    /// Let the kernel of the box forward, until the lab is removed.
    ///
    /// # Errors
    /// The kernel has no bridge, or refuses.
    pub fn forward_by_kernel(&self, forwarding: Forwarding) -> Result<(), LabError> {
        match forwarding {
            Forwarding::Bridge => self.enter(Place::Box, || {
                ip_batch(
                    "link add name bridge type bridge\nlink set client master bridge\nlink set server master bridge\n\
                     link set bridge up\n",
                )?;
                ip_wait(&["-o", "-d", "link", "show", "master", "bridge"], "state forwarding")
            }),
            Forwarding::Router => self.route(),
        }
    }

    fn route(&self) -> Result<(), LabError> {
        let neighbours = |v4, v6, mac| {
            format!(
                "neighbour replace {v4} lladdr {mac} dev DEV nud permanent\n\
                 neighbour replace {v6} lladdr {mac} dev DEV nud permanent\n"
            )
        };
        let (to_client, to_server) =
            (neighbours(CLIENT_V4, CLIENT_V6, MACS[0]), neighbours(SERVER_V4, SERVER_V6, MACS[3]));
        self.enter(Place::Box, || {
            write_setting("net/ipv6/conf/all/disable_ipv6", "0")?;
            ip_batch(&format!(
                "route add {CLIENT_V4}/32 dev client\nroute add {SERVER_V4}/32 dev server\n\
                 route add {CLIENT_V6}/128 dev client\nroute add {SERVER_V6}/128 dev server\n{}{}",
                to_client.replace("DEV", "client"),
                to_server.replace("DEV", "server")
            ))?;
            write_setting("net/ipv4/ip_forward", "1")?;
            write_setting("net/ipv6/conf/all/forwarding", "1")
        })?;
        let via = |v4, v6, mac| move || ip_batch(&neighbours(v4, v6, mac).replace("DEV", "eth0"));
        self.enter(Place::Client, via(SERVER_V4, SERVER_V6, MACS[1]))?;
        self.enter(Place::Server, via(CLIENT_V4, CLIENT_V6, MACS[2]))
    }
}
