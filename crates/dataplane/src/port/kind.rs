//! Ports as configurations name them.

use std::fmt;
use std::str::FromStr;

use super::error::{OpenError, nearest};
use super::packet::PacketPort;
use super::{BURST, Port};

/// What a port is, as `kind:name`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `packet:eth0`, an interface by packet sockets.
    Packet(String),
}

const KINDS: [&str; 1] = ["packet"];

/// What does not depend on the port's kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Received frames that the kernel keeps when the box does not look, at least [`BURST`]. 2 KiB of locked memory
    /// each.
    pub ring: usize,
}

impl Default for Options {
    /// At a million packets per second, 4 ms.
    fn default() -> Self {
        Self { ring: 4096 }
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
    })
}

impl FromStr for Kind {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        let wrong = |problem: String| OpenError::NotAPort { text: text.to_owned(), problem };
        let expected = format!("expected KIND:NAME, KIND one of {}", KINDS.join(", "));
        let (kind, name) = text.split_once(':').ok_or_else(|| wrong(expected.clone()))?;
        if name.is_empty() {
            return Err(wrong(format!("nothing follows the colon; {expected}")));
        }
        Ok(match kind {
            "packet" => Self::Packet(name.to_owned()),
            _ => {
                let near = nearest(kind, KINDS.into_iter());
                let hint = near.map_or(expected, |near| format!("did you mean \"{near}:{name}\"?"));
                return Err(wrong(hint));
            }
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet(name) => write!(f, "packet:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kind_prints_is_what_it_reads() {
        assert_eq!("packet:eth0".parse::<Kind>().unwrap().to_string(), "packet:eth0");
    }

    #[test]
    fn a_wrong_kind_brings_the_nearest() {
        let message = |text: &str| text.parse::<Kind>().unwrap_err().to_string();
        assert!(message("paket:eth0").contains("did you mean \"packet:eth0\"?"));
        assert!(message("eth0").contains("expected KIND:NAME"));
        assert!(message("packet:").contains("nothing follows the colon"));
        assert!(message("dpdk:eth0").contains("expected KIND:NAME"));
    }
}
