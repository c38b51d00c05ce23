//! How a command can fail, and what the shell is told.

use std::borrow::Cow;
use std::fmt;
use std::process::ExitCode;

use dovetail_dataplane::config::StartError;
use dovetail_experiment::compare::RunError;

use crate::{journal, terminal};

/// Why a command did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// The input is wrong: exit code 2.
    Input(String),
    /// Something went wrong while running: exit code 1.
    Run(String),
    /// Interrupted by the user: exit code 130.
    Interrupted,
    /// Interrupted by the user, but what is done is kept: exit code 130.
    #[cfg(feature = "studies")]
    Paused(String),
    /// Whoever read our output stopped reading: nothing to say, exit code 0.
    OutputClosed,
}

impl Failure {
    /// About wrong input.
    pub fn input(error: impl fmt::Display) -> Self {
        Self::Input(error.to_string())
    }

    /// About a failed run.
    pub fn run(error: impl fmt::Display) -> Self {
        Self::Run(error.to_string())
    }

    /// About a thread that the system does not grant.
    pub fn thread(error: std::io::Error) -> Self {
        Self::run(format!("a thread cannot be started: {error}; memory or the number of threads may be limited"))
    }

    /// Tell the user and the shell.
    pub fn report(&self) -> ExitCode {
        let (code, message): (_, Cow<'_, str>) = match self {
            Self::Input(message) => (2, message.into()),
            Self::Run(message) => (1, message.into()),
            Self::Interrupted => (130, "interrupted; nothing was written".into()),
            #[cfg(feature = "studies")]
            Self::Paused(kept) => (130, format!("interrupted; {kept}").into()),
            Self::OutputClosed => return ExitCode::SUCCESS,
        };
        terminal::say(&journal::as_error(&format!("error: {message}"), journal::is_journald()));
        ExitCode::from(code)
    }
}

impl From<StartError> for Failure {
    /// What the machine lacks now may be there at another try.
    fn from(error: StartError) -> Self {
        match error {
            StartError::Wrong(error) => Self::input(error),
            StartError::Lacks(error) => Self::run(error),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Spec(error) => Self::input(error),
            RunError::Cancelled => Self::Interrupted,
            RunError::Sim { .. } => Self::run(error),
        }
    }
}

impl From<std::io::Error> for Failure {
    /// From writing to standard output.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::OutputClosed
        } else {
            Self::Run(format!("cannot write to standard output: {error}"))
        }
    }
}
