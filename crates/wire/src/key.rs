//! What tells one flow from another.

use alloc::string::{String, ToString};
use core::fmt;
use core::hash::{Hash, Hasher};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

/// Transport ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ports {
    /// The sender's port.
    pub src: u16,
    /// The receiver's port.
    pub dst: u16,
}

/// Addresses, protocol and ports of one direction of a conversation: the two directions are two flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FiveTuple {
    /// The sender.
    pub src: IpAddr,
    /// The receiver.
    pub dst: IpAddr,
    /// IP protocol number behind the extension headers (6 TCP, 17 UDP, ...).
    pub protocol: u8,
    /// Ports of TCP, UDP, UDP-Lite, DCCP and SCTP. `None` for other protocols, for a packet cut before its ports, and
    /// for *every* fragment of a datagram: only the first one carries ports, and without them in the key all stay in
    /// one flow and in order, with no reassembly state.
    pub ports: Option<Ports>,
}

impl Hash for FiveTuple {
    /// In two words for IPv4: tables of flows hash every packet's, and a derived hash takes a dozen.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                state.write_u64(u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits()));
            }
            (src, dst) => (src, dst).hash(state),
        }
        let ports = self.ports.map_or(0, |ports| 1 << 32 | u64::from(ports.src) << 16 | u64::from(ports.dst));
        state.write_u64(ports << 8 | u64::from(self.protocol));
    }
}

/// An address block: the address with all bits beyond the prefix cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    addr: IpAddr,
    len: u8,
}

impl Prefix {
    /// The block of `len` leading bits around `addr`; a `len` beyond the address is the whole address.
    pub fn of(addr: IpAddr, len: u8) -> Self {
        match addr {
            IpAddr::V4(a) => {
                let len = len.min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
                Self { addr: Ipv4Addr::from_bits(a.to_bits() & mask).into(), len }
            }
            IpAddr::V6(a) => {
                let len = len.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
                Self { addr: Ipv6Addr::from_bits(a.to_bits() & mask).into(), len }
            }
        }
    }

    /// The first address of the block.
    pub fn addr(self) -> IpAddr {
        self.addr
    }

    /// Number of leading bits: 0 to 32 (IPv4) or 128 (IPv6).
    pub fn len(self) -> u8 {
        self.len
    }

    /// Whether the block is all addresses.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The key of a flow; equal keys are one flow. Ordered, so that tables of flows have one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowKey {
    /// One direction of one conversation.
    FiveTuple(FiveTuple),
    /// All packets from one address block to one port.
    PrefixPort {
        /// The block of the sender's address.
        src: Prefix,
        /// The receiver's port; `None` where the packet carries no port, as in [`FiveTuple::ports`].
        port: Option<u16>,
    },
    /// All packets from one address block.
    From(Prefix),
    /// All packets to one address block.
    To(Prefix),
}

/// Prefix lengths in bits for IPv4 and IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixLengths {
    v4: u8,
    v6: u8,
}

impl PrefixLengths {
    /// One address each.
    const HOST: Self = Self { v4: 32, v6: 128 };

    /// `v4` in 0 to 32 and `v6` in 0 to 128; `None` outside.
    pub const fn new(v4: u8, v6: u8) -> Option<Self> {
        if v4 <= 32 && v6 <= 128 { Some(Self { v4, v6 }) } else { None }
    }

    /// The block of this length around `addr`.
    pub fn prefix(self, addr: IpAddr) -> Prefix {
        Prefix::of(addr, if addr.is_ipv4() { self.v4 } else { self.v6 })
    }
}

impl Default for PrefixLengths {
    /// /24 and /48: what one site is usually given.
    fn default() -> Self {
        Self { v4: 24, v6: 48 }
    }
}

/// How flows are told apart. Written `5-tuple`; `host` and `prefix` of the sender, `to-host` and `to-prefix` of the
/// receiver; or `prefix+port`. Those with a prefix may have its lengths, as in `prefix:24/48`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum KeyKind {
    /// By source, destination, protocol and ports.
    #[default]
    FiveTuple,
    /// By "the IP prefix and port number" (Wang et al. 2014, sections 6.1 and 6.2). The paper does not say whose.
    /// Here: the *sender's* prefix, since the sender is who shares the box, and the *receiver's* port, since that
    /// names the service by which the paper's flow class table picks the processing.
    PrefixPort(PrefixLengths),
    /// By the sender's address block, whatever it sends: with whole addresses, what CAKE calls `srchost`.
    From(PrefixLengths),
    /// By the receiver's address block: with whole addresses, what CAKE calls `dsthost`.
    To(PrefixLengths),
}

impl KeyKind {
    /// The key of the flow that a packet with these headers belongs to.
    #[inline]
    pub fn key(self, tuple: &FiveTuple) -> FlowKey {
        match self {
            Self::FiveTuple => FlowKey::FiveTuple(*tuple),
            Self::PrefixPort(lengths) => {
                FlowKey::PrefixPort { src: lengths.prefix(tuple.src), port: tuple.ports.map(|p| p.dst) }
            }
            Self::From(lengths) => FlowKey::From(lengths.prefix(tuple.src)),
            Self::To(lengths) => FlowKey::To(lengths.prefix(tuple.dst)),
        }
    }
}

/// A text that names no [`KeyKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyKindError;

impl fmt::Display for KeyKindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "expected `5-tuple`, `host` or `prefix` (of the sender), `to-host` or `to-prefix` (of the receiver), \
             `prefix+port`; those with a prefix may have its lengths, as in `prefix:24/48` (0-32/0-128 bits)",
        )
    }
}

impl core::error::Error for KeyKindError {}

impl FromStr for KeyKind {
    type Err = KeyKindError;
    fn from_str(text: &str) -> Result<Self, KeyKindError> {
        let (name, lengths) = text.split_once(':').map_or((text, None), |(name, lengths)| (name, Some(lengths)));
        let bits = |s: &str| s.parse::<u8>().map_err(|_| KeyKindError);
        let written = |text: &str| {
            let (v4, v6) = text.split_once('/').ok_or(KeyKindError)?;
            PrefixLengths::new(bits(v4)?, bits(v6)?).ok_or(KeyKindError)
        };
        let lengths = lengths.map(written).transpose()?;
        let block = lengths.unwrap_or_default();
        match (name, lengths) {
            ("5-tuple", None) => Ok(Self::FiveTuple),
            ("host", None) => Ok(Self::From(PrefixLengths::HOST)),
            ("to-host", None) => Ok(Self::To(PrefixLengths::HOST)),
            ("prefix", _) => Ok(Self::From(block)),
            ("to-prefix", _) => Ok(Self::To(block)),
            ("prefix+port", _) => Ok(Self::PrefixPort(block)),
            _ => Err(KeyKindError),
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FiveTuple => f.write_str("5-tuple"),
            Self::From(PrefixLengths::HOST) => f.write_str("host"),
            Self::To(PrefixLengths::HOST) => f.write_str("to-host"),
            Self::From(l) => write!(f, "prefix:{}/{}", l.v4, l.v6),
            Self::To(l) => write!(f, "to-prefix:{}/{}", l.v4, l.v6),
            Self::PrefixPort(l) => write!(f, "prefix+port:{}/{}", l.v4, l.v6),
        }
    }
}

/// A text that is no address block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixError {
    text: String,
    /// The block around the address, which has bits beyond the prefix.
    near: Option<Prefix>,
}

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.near {
            None => write!(f, "{:?}: expected an address block such as `192.0.2.0/24` or `2001:db8::/32`", self.text),
            Some(near) => write!(f, "{:?}: there are bits beyond the prefix; did you mean `{near}`?", self.text),
        }
    }
}

impl core::error::Error for PrefixError {}

impl FromStr for Prefix {
    type Err = PrefixError;
    /// `192.0.2.0/24`, `2001:db8::/32`; an address without a length is the whole address.
    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let wrong = |near| PrefixError { text: text.to_string(), near };
        let (addr, len) = text.split_once('/').map_or((text, None), |(addr, len)| (addr, Some(len)));
        let addr: IpAddr = addr.parse().map_err(|_| wrong(None))?;
        let bits = if addr.is_ipv4() { 32 } else { 128 };
        let len = len.map_or(Ok(bits), str::parse).ok().filter(|&len| len <= bits).ok_or_else(|| wrong(None))?;
        let prefix = Self::of(addr, len);
        if prefix.addr == addr { Ok(prefix) } else { Err(wrong(Some(prefix))) }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.addr, self.len)
    }
}

/// The usual name of an IP protocol number, such as `udp`, if it has one here.
pub fn protocol_name(protocol: u8) -> Option<&'static str> {
    Some(match protocol {
        1 => "icmp",
        2 => "igmp",
        4 => "ipip",
        6 => "tcp",
        17 => "udp",
        33 => "dccp",
        41 => "ipv6",
        47 => "gre",
        50 => "esp",
        51 => "ah",
        58 => "icmp6",
        89 => "ospf",
        132 => "sctp",
        136 => "udplite",
        _ => return None,
    })
}

impl fmt::Display for FiveTuple {
    /// `udp 192.0.2.1:4000 > 198.51.100.7:53`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match protocol_name(self.protocol) {
            Some(name) => write!(f, "{name} ")?,
            None => write!(f, "ip-{} ", self.protocol)?,
        }
        match self.ports {
            None => write!(f, "{} > {}", self.src, self.dst),
            Some(p) => {
                let end = |addr, port| core::net::SocketAddr::new(addr, port);
                write!(f, "{} > {}", end(self.src, p.src), end(self.dst, p.dst))
            }
        }
    }
}

impl fmt::Display for FlowKey {
    /// As [`FiveTuple`], `192.0.2.0/24 > :53`, `from 192.0.2.7` or `to 192.0.2.0/24`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FiveTuple(tuple) => tuple.fmt(f),
            Self::PrefixPort { src, port: Some(port) } => write!(f, "{src} > :{port}"),
            Self::PrefixPort { src, port: None } => write!(f, "{src} > no port"),
            Self::From(block) | Self::To(block) => {
                let which = if matches!(self, Self::From(_)) { "from" } else { "to" };
                let whole = block.len == if block.addr.is_ipv4() { 32 } else { 128 };
                if whole { write!(f, "{which} {}", block.addr) } else { write!(f, "{which} {block}") }
            }
        }
    }
}
