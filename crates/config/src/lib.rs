//! Reading the TOML files that people write: quantities as quoted texts, overrides from the command line, and messages that show
//! the place, the text and the nearest valid name.

mod error;
mod overrides;
mod text;

use serde::de::DeserializeOwned;

pub use error::{InputError, nearest, unknown};
pub use overrides::apply as apply_overrides;
pub use text::{Span, Text};

/// Read the file of this name that has this text.
///
/// # Errors
/// It is no TOML, or not what `T` takes.
pub fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, InputError> {
    toml::from_str(text).map_err(|error| InputError::from_toml(name, text, &error))
}
