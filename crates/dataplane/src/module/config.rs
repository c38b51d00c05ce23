//! Modules from configurations.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ring::digest::{SHA256, digest};
use serde::Deserialize;

use super::{
    Check, CheckConfig, Decapsulate, DecapsulateConfig, Decoder, DecoderConfig, Encapsulate, EncapsulateConfig,
    Encoder, EncoderConfig, Forward, ForwardConfig, Match, MatchConfig, Module, Monitor, MonitorConfig,
};
use crate::file;

/// A module that classes refer to by name: `[[module]]` of a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct ModuleConfig {
    /// The name that classes refer to.
    pub name: String,
    /// What it does, and its parameters, beside the name.
    #[serde(flatten)]
    pub kind: Kind,
}

/// A kind of module and its parameters: the key `kind` and what belongs to it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// Headers and checksums are looked at.
    Check(CheckConfig),
    /// Bytes and packets are counted by flow and by prefix.
    Monitor(MonitorConfig),
    /// IPsec ESP tunnel: encryption.
    Esp(EncapsulateConfig),
    /// IPsec ESP tunnel: decryption.
    EspDecap(DecapsulateConfig),
    /// Redundancy elimination.
    Re(EncoderConfig),
    /// Restores what `re` made shorter.
    ReDecode(DecoderConfig),
    /// IP forwarding.
    Forward(ForwardConfig),
    /// Patterns are searched for in payloads.
    Match(MatchConfig),
}

impl Kind {
    /// The module, new. Relative paths of files start at `folder`, where the configuration is.
    ///
    /// # Errors
    /// A parameter makes no sense, or a file cannot be read.
    pub fn build(&self, folder: &Path) -> Result<Box<dyn Module>, ModuleError> {
        Ok(match self {
            Self::Check(config) => Box::new(Check::new(config)),
            Self::Monitor(config) => Box::new(Monitor::new(config)?),
            Self::Esp(config) => Box::new(Encapsulate::new(config, folder)?),
            Self::EspDecap(config) => Box::new(Decapsulate::new(config, folder)?),
            Self::Re(config) => Box::new(Encoder::new(config)?),
            Self::ReDecode(config) => Box::new(Decoder::new(config)?),
            Self::Forward(config) => Box::new(Forward::new(config)?),
            Self::Match(config) => Box::new(Match::new(config, folder)?),
        })
    }
}

impl Kind {
    /// The file that it names.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Esp(config) => config.key_file.as_deref(),
            Self::EspDecap(config) => config.key_file.as_deref(),
            Self::Match(config) => config.pattern_file.as_deref(),
            Self::Check(_) | Self::Monitor(_) | Self::Re(_) | Self::ReDecode(_) | Self::Forward(_) => None,
        }
    }

    /// Whether a key stands in the configuration itself.
    pub fn has_key(&self) -> bool {
        match self {
            Self::Esp(config) => config.key.is_some(),
            Self::EspDecap(config) => config.key.is_some(),
            _ => false,
        }
    }

    /// What a module of it is made of now. Relative paths of files start at `folder`.
    pub fn origin(&self, folder: &Path) -> Origin {
        let contents = self.file().and_then(|file| file::read_at(&folder.join(file)).ok());
        let file = contents.map(|contents| digest(&SHA256, &contents).as_ref().to_vec());
        Origin { kind: self.clone(), file }
    }
}

/// What a module was made of: the lines of the configuration, and what stood in the file that they name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    kind: Kind,
    /// Its digest: there is no need to keep keys.
    file: Option<Vec<u8>>,
}

/// A parameter that makes no sense.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleError {
    /// The key.
    pub key: &'static str,
    /// What is wrong with it, and what it should be.
    pub problem: String,
}

impl ModuleError {
    pub(super) fn new(key: &'static str, problem: impl Into<String>) -> Self {
        Self { key, problem: problem.into() }
    }
}

impl fmt::Display for ModuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.key, self.problem)
    }
}

impl std::error::Error for ModuleError {}

/// A key in hexadecimal digits. Its debug text does not tell it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The key of `len` bytes that stands in the configuration or, as hexadecimal digits too, in a file to which nobody but
/// its owner has access.
pub(super) fn read_key(
    key: Option<&Secret>,
    key_file: Option<&Path>,
    folder: &Path,
    len: usize,
) -> Result<Vec<u8>, ModuleError> {
    match (key, key_file) {
        (Some(Secret(key)), None) => bytes(key, len).map_err(|problem| ModuleError::new("key", problem)),
        (None, Some(file)) => {
            let path = folder.join(file);
            let about = |what: &dyn fmt::Display| ModuleError::new("key_file", format!("{}: {what}", path.display()));
            let (file, metadata) = file::open(&path).map_err(|e| about(&e))?;
            if file::is_open_to_others(&file, &metadata) {
                let mode = metadata.permissions().mode() & 0o777;
                return Err(about(&format!("others than its owner have access (mode {mode:03o}); chmod 600")));
            }
            let text = file::read(file).and_then(file::text).map_err(|e| about(&e))?;
            bytes(&text, len).map_err(|problem| about(&problem))
        }
        _ => Err(ModuleError::new("key", "give it, or `key_file`, and not both")),
    }
}

/// Hexadecimal digits; white space does not matter.
fn bytes(text: &str, len: usize) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    let digits = digits.ok_or("expected hexadecimal digits only")?;
    if digits.len() != len * 2 {
        return Err(format!("{} hexadecimal digits, expected {} ({len} bytes)", digits.len(), len * 2));
    }
    Ok(digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect())
}
