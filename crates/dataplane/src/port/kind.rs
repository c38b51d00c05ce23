//! Ports as configurations name them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use dovetail_config::nearest;
use dovetail_units::Time;
use dovetail_wire::LinkType;

use super::capture::{self, CapturePort};
use super::error::OpenError;
use super::memory::{self, MemoryPort};
use super::packet::PacketPort;
use super::tun::{Layer, TunPort};
use super::xdp::XdpPort;
use super::{BURST, Port};

/// What a port is, as `kind:name`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `packet:eth0`, an interface by packet sockets.
    Packet(String),
    /// `xdp:eth0`, an interface by an AF_XDP socket.
    Xdp(String),
    /// `tun:tun0`, an interface of raw IP whose cable ends in this program.
    Tun(String),
    /// `tap:tap0`, an Ethernet interface whose cable ends in this program.
    Tap(String),
    /// `pcap:in.pcap`, `pcap:>out.pcap` or `pcap:in.pcap>out.pcap`, a capture that is read, and one that is written.
    Capture {
        /// Where frames come from.
        input: Option<PathBuf>,
        /// Where frames go to.
        output: Option<PathBuf>,
    },
}

const KINDS: [&str; 5] = ["packet", "xdp", "tun", "tap", "pcap"];

/// What does not depend on the port's kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Received frames that the kernel keeps when the box does not look, at least [`BURST`], by AF_XDP at most 1024.
    /// 2 KiB of locked memory each.
    pub ring: usize,
    /// The box's time zero, since 1970: captures are read and written relative to it. [`first_time`] says where the
    /// captures to be read begin.
    pub epoch: Time,
    /// How frames begin on a port of captures where none is read that tells: as on the box's other port.
    pub link: LinkType,
}

/// The most received frames that the kernel keeps for an AF_XDP socket, for a million packets per second 1 ms: what
/// waits in a longer ring has left the caches when its turn comes. With four times as many a box that could not keep up
/// forwarded a sixth less.
const XDP_RING: usize = 1024;

impl Default for Options {
    /// At a million packets per second, 4 ms.
    fn default() -> Self {
        Self { ring: 4096, epoch: Time::ZERO, link: LinkType::ETHERNET }
    }
}

/// Open a port.
///
/// # Errors
/// See [`OpenError`].
pub fn open(kind: &Kind, options: &Options) -> Result<Box<dyn Port>, OpenError> {
    let ring = options.ring.max(BURST);
    Ok(match kind {
        Kind::Packet(name) => Box::new(PacketPort::open(name, ring)?),
        Kind::Xdp(name) => Box::new(XdpPort::open(name, ring.min(XDP_RING))?),
        Kind::Tun(name) => Box::new(TunPort::open(name, Layer::Ip)?),
        Kind::Tap(name) => Box::new(TunPort::open(name, Layer::Ethernet)?),
        Kind::Capture { input, output } => {
            let port = CapturePort::open(&kind.to_string(), input.as_deref(), output.as_deref(), options.epoch)?;
            Box::new(port.carrying(options.link))
        }
    })
}

/// A port that carries what this interface would, without opening it: for a look at a configuration whose interface a
/// running box has.
///
/// # Errors
/// There is no such interface, or it is not of this kind.
pub fn stand_in(kind: &Kind) -> Result<MemoryPort, OpenError> {
    let link = match kind {
        Kind::Packet(name) => PacketPort::check(name).map(|_| LinkType::ETHERNET)?,
        Kind::Xdp(name) => XdpPort::check(name).map(|_| LinkType::ETHERNET)?,
        Kind::Tun(_) => LinkType::RAW,
        Kind::Tap(_) | Kind::Capture { .. } => LinkType::ETHERNET,
    };
    let name = kind.to_string();
    let [port, _] = memory::pair([&name, ""], link, 1);
    Ok(port)
}

/// When the first packet with a time comes of all captures that these ports read, since 1970; `None` if they read none,
/// or none with a time.
///
/// # Errors
/// A capture cannot be read.
pub fn first_time<'a>(kinds: impl IntoIterator<Item = &'a Kind>) -> Result<Option<Time>, OpenError> {
    let mut first: Option<Time> = None;
    for kind in kinds {
        if let Kind::Capture { input: Some(path), .. } = kind {
            let time = capture::first_time(path)?;
            first = first.into_iter().chain(time).min();
        }
    }
    Ok(first)
}

impl Kind {
    /// The interface, unless it is a capture.
    pub fn interface(&self) -> Option<&str> {
        match self {
            Self::Packet(name) | Self::Xdp(name) | Self::Tun(name) | Self::Tap(name) => Some(name),
            Self::Capture { .. } => None,
        }
    }

    /// The same with paths of files seen from the folder `base`.
    #[must_use]
    pub fn seen_from(self, base: &Path) -> Self {
        let seen = |path: Option<PathBuf>| path.map(|path| base.join(path));
        match self {
            Self::Capture { input, output } => Self::Capture { input: seen(input), output: seen(output) },
            other => other,
        }
    }
}

impl FromStr for Kind {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        let wrong = |problem: String| OpenError::NotAPort { text: text.to_owned(), problem };
        let expected = format!("expected KIND:NAME, KIND one of {}", KINDS.join(", "));
        let without_kind = || match kind_of(text) {
            Some(kind) => format!("{expected}; did you mean \"{kind}:{text}\"?"),
            None => expected.clone(),
        };
        let (kind, name) = text.split_once(':').ok_or_else(|| wrong(without_kind()))?;
        if name.is_empty() {
            return Err(wrong(format!("nothing follows the colon; {expected}")));
        }
        Ok(match kind {
            "packet" => Self::Packet(name.to_owned()),
            "xdp" => Self::Xdp(name.to_owned()),
            "tun" => Self::Tun(name.to_owned()),
            "tap" => Self::Tap(name.to_owned()),
            "pcap" => {
                let (input, output) = name.split_once('>').unwrap_or((name, ""));
                let path = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
                if input == "-" || output == "-" {
                    return Err(wrong("captures are files here, not standard input or output".to_owned()));
                }
                if name == ">" {
                    return Err(wrong("expected a capture to read, or > and a capture to write".to_owned()));
                }
                Self::Capture { input: path(input), output: path(output) }
            }
            _ => {
                let near = nearest(kind, KINDS.into_iter());
                let hint = near.map_or(expected, |near| format!("did you mean \"{near}:{name}\"?"));
                return Err(wrong(hint));
            }
        })
    }
}

/// Of which kind a port without one was probably meant: a name as long as an interface's may be is one.
fn kind_of(text: &str) -> Option<&'static str> {
    let is_capture = text.contains('>') || text.contains(".pcap");
    let is_interface = (1..=15).contains(&text.len()) && !text.contains(['/', ' ', '%']) && !KINDS.contains(&text);
    match is_capture {
        true => Some("pcap"),
        false => is_interface.then_some("packet"),
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet(name) => write!(f, "packet:{name}"),
            Self::Xdp(name) => write!(f, "xdp:{name}"),
            Self::Tun(name) => write!(f, "tun:{name}"),
            Self::Tap(name) => write!(f, "tap:{name}"),
            Self::Capture { input, output } => {
                write!(f, "pcap:{}", input.as_deref().unwrap_or(Path::new("")).display())?;
                output.as_ref().map_or(Ok(()), |output| write!(f, ">{}", output.display()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kind_prints_is_what_it_reads() {
        for text in
            ["packet:eth0", "xdp:eth0", "tun:t0", "tap:t1", "pcap:in.pcap", "pcap:>out.pcap", "pcap:in.pcap>out.pcap"]
        {
            assert_eq!(text.parse::<Kind>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn paths_are_seen_from_a_folder() {
        let kind = |text: &str| text.parse::<Kind>().unwrap();
        assert_eq!(kind("pcap:a>/b").seen_from(Path::new("/x")), kind("pcap:/x/a>/b"));
        assert_eq!(kind("packet:eth0").seen_from(Path::new("/x")), kind("packet:eth0"));
    }

    #[test]
    fn a_wrong_kind_brings_the_nearest() {
        let message = |text: &str| text.parse::<Kind>().unwrap_err().to_string();
        assert!(message("paket:eth0").contains("did you mean \"packet:eth0\"?"));
        assert!(message("pkt:eth0").contains("did you mean \"packet:eth0\"?"));
        assert!(message("eth0").ends_with("tap, pcap; did you mean \"packet:eth0\"?"));
        assert!(message("in.pcap").ends_with("did you mean \"pcap:in.pcap\"?"));
        assert!(message("in.pcap.gz").ends_with("did you mean \"pcap:in.pcap.gz\"?"));
        assert!(message(">out.pcapng").ends_with("did you mean \"pcap:>out.pcapng\"?"));
        assert!(message("packet").ends_with("tap, pcap") && message("no name").ends_with("tap, pcap"));
        assert!(message("packet:").contains("nothing follows the colon"));
        assert!(message("pcap:-").contains("not standard input"));
        assert!(message("pcap:>").contains("a capture to write"));
        assert!(message("dpdk:eth0").contains("expected KIND:NAME"));
    }
}
