//! What is done with datagrams that come in fragments, as it is written.

use dovetail_config::{InputError, Span, Text, Whole, unknown};
use dovetail_units::Duration;
use serde::Deserialize;
use toml::Spanned;

use super::Config;
use super::values::Frames;
use crate::core::{FragmentLimits, SetupClass};

/// The class of fragments that are dropped since they make no sense.
pub(super) const FRAGMENTS: &str = "fragments";

/// In place of a class: they are dropped.
const DROP: &str = "drop";

const DATAGRAMS: u32 = 4096;
/// As long as hosts keep fragments (RFC 1122 section 3.3.2 says 60 s at least, the kernel 30 s).
const TIMEOUT: Duration = Duration::from_secs(30);
const WAITING: u32 = 256;
const WAIT: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct FragmentTable {
    /// Most datagrams that are remembered. Default 4096.
    datagrams: Option<Whole<1, 1_000_000>>,
    /// For how long one is remembered after its first fragment. Default 30 s.
    timeout: Option<Text<Span>>,
    /// Most fragments that wait for their first one. Default 256 packets.
    waiting: Option<Spanned<Text<Frames>>>,
    /// For how long one waits; 0 is not at all. Default 100 ms.
    wait: Option<Text<Duration>>,
    /// The class of those that have waited in vain, or `drop`. Default drop.
    unknown: Option<Spanned<String>>,
}

impl Config {
    /// Limits of what is remembered.
    pub(super) fn fragment_limits(&self) -> Result<FragmentLimits, InputError> {
        let table = &self.file.fragments;
        let waiting = match &table.waiting {
            None => WAITING,
            Some(waiting) => waiting.get_ref().0.0.filter(|&most| most <= 65_536).ok_or_else(|| {
                self.at(waiting.span(), "expected 1 to 65536 packets: whoever sends fragments may fill them all")
            })?,
        };
        Ok(FragmentLimits {
            datagrams: table.datagrams.map_or(DATAGRAMS, |most| most.0) as usize,
            timeout: table.timeout.map_or(TIMEOUT, |timeout| timeout.0.0),
            waiting: waiting as usize,
            wait: table.wait.map_or(WAIT, |wait| wait.0),
        })
    }

    /// The place of the class of fragments whose datagram is not known; `None` if they are dropped.
    pub(super) fn unknown_fragments(&self, classes: &[SetupClass]) -> Result<Option<u16>, InputError> {
        let Some(name) = self.file.fragments.unknown.as_ref().filter(|name| name.get_ref() != DROP) else {
            return Ok(None);
        };
        let mut names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
        match names.iter().position(|known| known == name.get_ref()) {
            Some(place) => Ok(Some(place as u16)),
            None => {
                names.push(DROP);
                Err(self.at(name.span(), unknown("class", name.get_ref(), &names)))
            }
        }
    }
}
