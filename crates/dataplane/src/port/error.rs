//! Why a port could not be opened.

use std::{fmt, io};

use dovetail_config::unknown;
use dovetail_trace::TraceError;

/// Why a port could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The text is not a port.
    NotAPort {
        /// The text.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The interface cannot be such a port as it is at the moment.
    Unfit {
        /// The port.
        text: String,
        /// What is wrong with the interface.
        problem: String,
    },
    /// There is no such interface.
    NoInterface {
        /// The name asked for.
        name: String,
        /// The names there are.
        there: Vec<String>,
    },
    /// The process lacks a capability.
    NotPermitted {
        /// The interface.
        name: String,
        /// The capability, such as `CAP_NET_RAW`.
        capability: &'static str,
    },
    /// Another box has the interface.
    Claimed {
        /// The interface.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// The capture cannot be read.
    Capture(TraceError),
    /// The system refused.
    Failed {
        /// The interface or file.
        name: String,
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl OpenError {
    pub(super) fn no_interface(name: &str, there: &[String]) -> Self {
        Self::NoInterface { name: name.to_owned(), there: there.to_vec() }
    }

    pub(super) fn failed(name: &str, what: &'static str, source: io::Error) -> Self {
        Self::Failed { name: name.to_owned(), what, source }
    }

    /// As [`failed`](Self::failed), where the reason may be that `capability` lacks.
    pub(super) fn refused(name: &str, what: &'static str, capability: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NotPermitted { name: name.to_owned(), capability },
            _ => Self::failed(name, what, source),
        }
    }

    /// From the answer to a claim.
    pub(super) fn claimed(name: &str, source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(libc::EBUSY) => Self::Claimed { name: name.to_owned(), source },
            _ => Self::failed(name, "cannot claim the interface", source),
        }
    }

    /// Whether another box has the interface.
    pub fn is_claimed(&self) -> bool {
        matches!(self, Self::Claimed { .. })
    }

    /// Whether the capture is not there.
    pub(crate) fn is_no_file(&self) -> bool {
        matches!(self, Self::Capture(TraceError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether what was asked for is wrong, and will be the next time too; `false` for what the system lacks at the
    /// moment, such as an interface.
    pub fn is_input(&self) -> bool {
        match self {
            Self::NotAPort { .. } | Self::Capture(_) => true,
            // What the system itself says has a number.
            Self::Failed { source, .. } => {
                source.kind() == io::ErrorKind::InvalidInput && source.raw_os_error().is_none()
            }
            _ => false,
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPort { text, problem } | Self::Unfit { text, problem } => {
                write!(f, "{text:?} is not a port: {problem}")
            }
            Self::NoInterface { name, there } => {
                // Of names that differ in a number none is meant rather than another.
                let stem = |name: &str| name.trim_end_matches(|digit: char| digit.is_ascii_digit()).to_string();
                let is_another = |other: &&String| stem(other) == stem(name);
                match there.iter().any(|other| is_another(&other)) {
                    true => write!(f, "there is no interface {name:?}; there are {}", there.join(", ")),
                    false => {
                        let there: Vec<&str> = there.iter().map(String::as_str).collect();
                        f.write_str(&unknown("interface", name, &there))
                    }
                }
            }
            Self::NotPermitted { name, capability } => {
                write!(f, "{name}: not permitted; run as root, or give the program {capability}")
            }
            Self::Claimed { name, source } => write!(f, "{name}: another box has it: {source}"),
            Self::Capture(error) => error.fmt(f),
            Self::Failed { name, what, source } => write!(f, "{name}: {what}: {source}"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed { source, .. } | Self::Claimed { source, .. } => Some(source),
            Self::Capture(error) => Some(error),
            _ => None,
        }
    }
}

/// The error of either, or of both.
pub(crate) fn both(first: io::Result<()>, second: io::Result<()>) -> io::Result<()> {
    match (first, second) {
        (Err(first), Err(second)) => Err(io::Error::new(first.kind(), format!("{first}; {second}"))),
        (first, second) => first.and(second),
    }
}
