//! Why a capture could not be opened.

use std::{fmt, io};

/// A capture that yields nothing at all. A capture that can be read in part is not an error: see [`crate::Damage`].
#[derive(Debug)]
pub enum TraceError {
    /// Opening or the first read failed.
    Read {
        /// The path, or `standard input`.
        name: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// No bytes at all.
    Empty {
        /// The path, or `standard input`.
        name: String,
    },
    /// The content is something else.
    NotACapture {
        /// The path, or `standard input`.
        name: String,
        /// What the content looks like.
        found: String,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { name, source } if source.kind() == io::ErrorKind::IsADirectory => {
                write!(f, "{name} is a folder: expected a pcap or pcapng capture")
            }
            Self::Read { name, source } => write!(f, "cannot read {name}: {source}"),
            Self::Empty { name } => write!(f, "{name} is empty (0 bytes): expected a pcap or pcapng capture"),
            Self::NotACapture { name, found } => {
                write!(f, "{name} is not a capture: it {found}; expected pcap or pcapng, gzipped or not")
            }
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}
