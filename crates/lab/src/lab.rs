//! A lab, from its making to its removal.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::{Child, Command};

use crate::command::{ip_batch, ip_wait};
use crate::error::LabError;
use crate::namespace::{Namespace, Place, Removed, labs};
use crate::offload;

/// The client's IPv4 address.
pub const CLIENT_V4: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
/// The server's IPv4 address.
pub const SERVER_V4: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
/// The client's IPv6 address.
pub const CLIENT_V6: Ipv6Addr = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 1);
/// The server's IPv6 address.
pub const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 2);

/// MAC addresses, locally administered: of the client, of the box towards it, of the box towards the server, of the
/// server.
pub(crate) const MACS: [&str; 4] = ["02:d0:00:00:00:01", "02:d0:00:00:00:0a", "02:d0:00:00:00:0b", "02:d0:00:00:00:02"];

/// MTUs that a lab can have, bytes: from what IPv6 needs to what makes the longest frame that a live box takes, 1920
/// bytes with their Ethernet header.
pub const MTUS: RangeInclusive<u16> = 1280..=1906;

/// What a lab is to be like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Its name: 1 to 20 of a-z, 0-9 and `-`.
    pub name: String,
    /// MTU of all four interfaces in bytes, one of [`MTUS`]. Frames are up to 14 bytes longer.
    pub mtu: u16,
    /// Congestion control of connections that choose none; one of those in
    /// `/proc/sys/net/ipv4/tcp_allowed_congestion_control`.
    pub congestion_control: String,
    /// Whether connections use ECN (RFC 3168).
    pub ecn: bool,
    /// Whether client and server ask each other for their addresses (ARP and neighbour discovery), as in life, and
    /// tell of what multicast they hear; else they know, and nothing is on the wire but traffic.
    pub neighbours: Neighbours,
    /// What the interfaces of client and server leave to their cards.
    pub offloads: Offloads,
}

/// Whether client and server have to find each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Neighbours {
    /// They have.
    #[default]
    Found,
    /// They know each other's MAC address.
    Known,
}

/// What interfaces leave to cards. A veth has none: what is left to it comes to the box as it is. The box's own
/// interfaces are as the kernel sets them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Offloads {
    /// All that the kernel sets and a box on packet sockets can bear: transport checksums, but not the cutting of
    /// segments, which would be longer than any frame.
    #[default]
    Checksums,
    /// Nothing, as AF_XDP needs it.
    Off,
}

impl Default for Options {
    /// `lab`, 1500 bytes, Reno, ECN, as in life.
    fn default() -> Self {
        Self {
            name: "lab".into(),
            mtu: 1500,
            congestion_control: "reno".into(),
            ecn: true,
            neighbours: Neighbours::Found,
            offloads: Offloads::Checksums,
        }
    }
}

/// A lab that is up. Dropping it removes it, unless it was told to [`stay`](Self::stay).
#[derive(Debug)]
pub struct Lab {
    name: String,
    remove: bool,
}

impl Lab {
    /// Make a lab; takes about a tenth of a second. If anything fails, nothing is left of it.
    ///
    /// # Errors
    /// The user is not root, `ip` is missing, the name is wrong or taken, or the kernel refuses something.
    pub fn up(options: &Options) -> Result<Self, LabError> {
        check_name(&options.name)?;
        check_root()?;
        let name = &options.name;
        if Place::ALL.iter().any(|&place| Namespace::of(name, place).exists()) {
            return Err(LabError::Exists(name.clone()));
        }
        let lab = Self { name: name.clone(), remove: true };
        for place in Place::ALL {
            lab.namespace(place).create()?;
        }
        lab.connect()?;
        lab.enter(Place::Box, || {
            // The box's own kernel shall neither say anything nor answer.
            write_setting("net/ipv6/conf/all/disable_ipv6", "1")?;
            set_up("client", options.mtu)?;
            set_up("server", options.mtu)
        })?;
        lab.enter(Place::Client, || configure_end(options, (CLIENT_V4, CLIENT_V6), (SERVER_V4, SERVER_V6), MACS[3]))?;
        lab.enter(Place::Server, || configure_end(options, (SERVER_V4, SERVER_V6), (CLIENT_V4, CLIENT_V6), MACS[0]))?;
        // Until the kernel has noticed that both ends are up, it throws away what is sent.
        for place in Place::ALL {
            lab.enter(place, || ip_wait(&["-o", "link", "show", "type", "veth"], "state UP"))?;
        }
        Ok(lab)
    }

    /// Remove the lab of this name, or what is left of it, with the processes in it, whoever made it. Says what there
    /// was; nothing is no error.
    ///
    /// # Errors
    /// The user is not root, the name is wrong, or the kernel refuses.
    pub fn down(name: &str) -> Result<Vec<Removed>, LabError> {
        check_name(name)?;
        check_root()?;
        let mut removed = Vec::new();
        // The box first: it drains while its neighbours still listen.
        let done =
            [Place::Box, Place::Client, Place::Server].map(|place| Namespace::of(name, place).remove(&mut removed));
        done.into_iter().collect::<Result<(), _>>()?;
        let socket = control_socket(name);
        match std::fs::remove_file(&socket) {
            Ok(()) => removed.push(Removed::Socket(socket)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(LabError::system(format!("remove {}", socket.display()))(error)),
        }
        Ok(removed)
    }

    /// Where a box in it is to be talked to. Nothing is there before a box is; what one leaves there is removed with
    /// the lab.
    pub fn control_socket(&self) -> PathBuf {
        control_socket(&self.name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Leave it there when this value is dropped.
    pub fn stay(mut self) {
        self.remove = false;
    }

    pub(crate) fn namespace(&self, place: Place) -> Namespace {
        Namespace::of(&self.name, place)
    }

    /// The name of the namespace of `place`, for `ip netns exec`.
    pub fn namespace_name(&self, place: Place) -> String {
        self.namespace(place).name().to_string()
    }

    /// Do some work in the namespace of `place`, on a thread of its own: sockets opened and processes started there
    /// stay there.
    ///
    /// # Errors
    /// What the work returns, or the namespace is gone.
    pub fn enter<T: Send>(
        &self,
        place: Place,
        work: impl FnOnce() -> Result<T, LabError> + Send,
    ) -> Result<T, LabError> {
        self.namespace(place).enter(work)
    }

    /// Start a program in the namespace of `place`. It is ended with the lab at the latest.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(&self, place: Place, command: &mut Command) -> Result<Child, LabError> {
        let program = command.get_program().to_string_lossy().into_owned();
        self.enter(place, || command.spawn().map_err(LabError::system(format!("start {program}"))))
    }

    /// A counter of the kernel in the namespace of `place`, as in `/proc/net/snmp` and `/proc/net/netstat`: `("Udp",
    /// "RcvbufErrors")` counts datagrams that the receiving program was too slow for, `("IpExt", "InCEPkts")`
    /// packets with congestion marks.
    ///
    /// # Errors
    /// There is no such counter.
    pub fn counter(&self, place: Place, group: &str, name: &str) -> Result<u64, LabError> {
        self.enter(place, || {
            // /proc/net itself is that of the process, not of the thread.
            let read = |file| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
            [read("snmp"), read("netstat")]
                .iter()
                .find_map(|text| find_counter(text, group, name))
                .ok_or_else(|| LabError::Traffic(format!("the kernel has no counter {group} {name}")))
        })
    }

    /// Two interfaces more in the box that are each other's cable.
    ///
    /// # Errors
    /// A name is taken, or the kernel refuses.
    pub fn cable(&self, one: &str, other: &str, mtu: u16) -> Result<(), LabError> {
        let up = |name: &str| format!("link set {name} mtu {mtu} txqueuelen 1000 up\n");
        self.enter(Place::Box, || {
            ip_batch(&format!("link add {one} type veth peer name {other}\n{}{}", up(one), up(other)))
        })
    }

    /// Two veth pairs, made inside the namespaces: nothing ever appears in that of the caller.
    fn connect(&self) -> Result<(), LabError> {
        let [client, inside, server] = Place::ALL.map(|place| self.namespace(place));
        let (client, inside, server) = (client.name(), inside.name(), server.name());
        let [m0, m1, m2, m3] = MACS;
        ip_batch(&format!(
            "link add eth0 address {m0} netns {client} type veth peer name client address {m1} netns {inside}\n\
             link add eth0 address {m3} netns {server} type veth peer name server address {m2} netns {inside}\n"
        ))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if self.remove {
            // What could not be removed is found by the next `lab down`.
            let _ = Self::down(&self.name);
        }
    }
}

fn control_socket(lab: &str) -> PathBuf {
    PathBuf::from(format!("/run/dovetail/lab-{lab}.sock"))
}

/// Names of all labs on this machine, complete or not, sorted.
pub fn names() -> Vec<String> {
    labs()
}

fn check_name(name: &str) -> Result<(), LabError> {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=20).contains(&name.len()) && name.chars().all(fine) && !name.starts_with('-') {
        Ok(())
    } else {
        Err(LabError::Name(name.into()))
    }
}

fn check_root() -> Result<(), LabError> {
    if nix::unistd::geteuid().is_root() { Ok(()) } else { Err(LabError::NotRoot) }
}

/// `/proc/sys/net` is that of the calling thread's namespace.
pub(crate) fn write_setting(path: &str, value: &str) -> Result<(), LabError> {
    std::fs::write(format!("/proc/sys/{path}"), value).map_err(LabError::system(format!("set {path} to {value}")))
}

fn set_up(interface: &str, mtu: u16) -> Result<(), LabError> {
    ip_batch(&format!("link set lo up\nlink set {interface} mtu {mtu} txqueuelen 1000 up\n"))
}

fn configure_end(
    options: &Options,
    (v4, v6): (Ipv4Addr, Ipv6Addr),
    (other_v4, other_v6): (Ipv4Addr, Ipv6Addr),
    other_mac: &str,
) -> Result<(), LabError> {
    if options.neighbours == Neighbours::Known {
        // No link-local address, no router solicitation.
        write_setting("net/ipv6/conf/eth0/addr_gen_mode", "1")?;
        write_setting("net/ipv6/conf/eth0/accept_ra", "0")?;
        write_setting("net/ipv6/conf/eth0/router_solicitations", "0")?;
    }
    set_congestion_control(&options.congestion_control)?;
    write_setting("net/ipv4/tcp_ecn", if options.ecn { "1" } else { "0" })?;
    // Else a connection whose first packet is lost, which is where those with data would be marked, would do without
    // ECN.
    write_setting("net/ipv4/tcp_ecn_fallback", "0")?;
    // A connection shall not begin with what an earlier one has learnt.
    write_setting("net/ipv4/tcp_no_metrics_save", "1")?;
    let switched = offload::switch_off("eth0", options.offloads);
    switched.map_err(LabError::system("switch the offloads of eth0 off"))?;
    set_up("eth0", options.mtu)?;
    ip_batch(&format!("address add {v4}/24 dev eth0\naddress add {v6}/64 dev eth0 nodad\n"))?;
    match options.neighbours {
        Neighbours::Found => Ok(()),
        Neighbours::Known => ip_batch(&format!(
            "neighbour replace {other_v4} lladdr {other_mac} dev eth0 nud permanent\n\
             neighbour replace {other_v6} lladdr {other_mac} dev eth0 nud permanent\n"
        )),
    }
}

/// Outside the first namespace only what the first one allows to everybody can be the default.
fn set_congestion_control(name: &str) -> Result<(), LabError> {
    write_setting("net/ipv4/tcp_congestion_control", name).map_err(|error| {
        match std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control") {
            Ok(allowed) if !allowed.split_whitespace().any(|known| known == name) => {
                LabError::CongestionControl { name: name.into(), allowed: allowed.trim().into() }
            }
            _ => error,
        }
    })
}

/// In such a file a line of names comes before each line of values, both beginning with the group.
fn find_counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.split(':').next() == Some(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|n| n == name)?;
    values.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_fits_into_namespaces() {
        for name in ["lab", "a", "rack-12"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "-x", "Lab", "a b", "../lab", "a-name-of-twenty-one-c"] {
            assert!(matches!(check_name(name), Err(LabError::Name(_))), "{name}");
        }
    }

    #[test]
    fn counters_are_found_by_group_and_name() {
        let text = "Udp: InDatagrams NoPorts\nUdp: 17 4\nUdpLite: InDatagrams NoPorts\nUdpLite: 1 2\n";
        assert_eq!(find_counter(text, "Udp", "NoPorts"), Some(4));
        assert_eq!(find_counter(text, "UdpLite", "InDatagrams"), Some(1));
        assert_eq!(find_counter(text, "Tcp", "NoPorts"), None);
        assert_eq!(find_counter(text, "Udp", "Errors"), None);
    }
}
