//! What can go wrong in a lab.

use std::{fmt, io};

/// Why there is no lab, or no traffic in it.
#[derive(Debug)]
pub enum LabError {
    /// Namespaces can only be made by root.
    NotRoot,
    /// A name that no lab can have.
    Name(String),
    /// There is a lab of this name already.
    Exists(String),
    /// This program is not installed.
    Missing(&'static str),
    /// The kernel does not allow this congestion control as a lab's default.
    CongestionControl {
        /// What was asked for.
        name: String,
        /// What it allows, separated by spaces.
        allowed: String,
    },
    /// Traffic that cannot be sent, and why.
    Traffic(String),
    /// A program was run and failed: its arguments, and what it said.
    Command {
        /// The command line.
        command: String,
        /// What it said.
        message: String,
    },
    /// The kernel refused: what was to be done, and why not.
    System {
        /// What was to be done.
        action: String,
        /// Why it could not be done.
        error: io::Error,
    },
}

impl LabError {
    /// Whether the user asked for what cannot be, rather than something having failed.
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::Command { .. } | Self::System { .. })
    }

    pub(crate) fn system(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |error| Self::System { action, error }
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRoot => write!(f, "a lab is made of network namespaces, which needs root: run it with sudo"),
            Self::Name(name) => {
                write!(f, "no lab can be called {name:?}: expected 1 to 20 of a-z, 0-9 and -, such as \"lab\"")
            }
            Self::Exists(name) => {
                write!(
                    f,
                    "there is a lab {name:?} already: remove it with `dovetail lab down {name}`, or choose another name"
                )
            }
            Self::Missing("ip") => write!(f, "the program `ip` is missing: install iproute2"),
            Self::Missing(program) => write!(f, "the program `{program}` is missing"),
            Self::CongestionControl { name, allowed } => {
                write!(
                    f,
                    "this kernel does not allow the congestion control {name:?} in a lab: expected one of {allowed}"
                )
            }
            Self::Traffic(message) => f.write_str(message),
            Self::Command { command, message } => write!(f, "`{command}` failed: {message}"),
            Self::System { action, error } => write!(f, "cannot {action}: {error}"),
        }
    }
}

impl std::error::Error for LabError {}
