//! Why a box does not start.

use std::fmt;

use dovetail_config::InputError;

/// Why a box does not start, and where the configuration says what it was about.
#[derive(Debug)]
pub enum StartError {
    /// The configuration is wrong, and will be the next time too.
    Wrong(InputError),
    /// The machine lacks something at the moment, such as an interface that is missing or that another box has.
    Lacks(InputError),
}

impl From<InputError> for StartError {
    fn from(error: InputError) -> Self {
        Self::Wrong(error)
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Wrong(error) | Self::Lacks(error)) = self;
        error.fmt(f)
    }
}

impl std::error::Error for StartError {}
