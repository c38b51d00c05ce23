//! Reading the TOML files that people write: quantities as quoted texts, overrides from the command line, and messages that show
//! the place, the text and the nearest valid name.

mod error;
mod overrides;
mod text;

use std::ops::Range;

use serde::de::DeserializeOwned;

pub use error::{InputError, nearest, unknown};
pub use overrides::apply as apply_overrides;
pub use text::{Span, Text};

/// Read the file of this name that has this text.
///
/// # Errors
/// It is no TOML, or not what `T` takes.
pub fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, InputError> {
    toml::from_str(text).map_err(|error| match words::<T>(text, &error) {
        Some((span, message)) => InputError::at(name, text, span, message),
        None => InputError::from_toml(name, text, &error),
    })
}

/// The TOML reader does not say which words a key takes whose value is no text. It does of a text that is none of them.
fn words<T: DeserializeOwned>(text: &str, error: &toml::de::Error) -> Option<(Range<usize>, String)> {
    let span = error.span().filter(|_| error.message().trim() == "wanted string or table")?;
    let value = &text[span.clone()];
    let quoted = toml::Value::String(value.to_string()).to_string();
    let told = toml::from_str::<T>(&[&text[..span.start], &quoted, &text[span.end..]].concat()).err()?;
    let (_, expected) = told.message().split_once(", expected ")?;
    Some((span, format!("`{value}`: expected a quoted text, {expected}")))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, Debug)]
    #[serde(rename_all = "lowercase")]
    enum Ecn {
        Paper,
        Rfc3168,
    }

    #[derive(Deserialize, Debug)]
    struct File {
        #[expect(dead_code, reason = "only read")]
        ecn: Ecn,
    }

    #[test]
    fn a_value_that_is_none_of_a_few_words_is_told_which_they_are() {
        for value in ["true", "3", "[\"paper\"]"] {
            let message = read::<File>("net.toml", &format!("ecn = {value}\n")).unwrap_err().to_string();
            let expected = format!("`{value}`: expected a quoted text, `paper` or `rfc3168`");
            assert!(message.contains(&expected) && message.contains("net.toml:1:7"), "{value}: {message}");
        }
        let message = read::<File>("net.toml", "ecn = \"papr\"\n").unwrap_err().to_string();
        assert!(message.contains("did you mean `paper`?"), "{message}");
    }
}
