//! Pattern matching in payloads (Aho and Corasick 1975): a stand-in for an intrusion detection system.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use dovetail_wire::IpView;
use serde::Deserialize;

use super::stream::Streams;
use super::{Module, ModuleDrop, ModuleError, ip};
use crate::file;
use crate::frame::{Frame, LONGEST};

/// The most patterns.
const PATTERNS: usize = 10_000;

/// Bytes of all patterns times those of the longest, up to which a table is made: with 256 bytes at each state some
/// 2^28 steps, a part of a second.
const TABLE: usize = 1 << 20;

/// Parameters of [`Match`].
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchConfig {
    /// The patterns.
    #[serde(default)]
    pub patterns: Vec<String>,
    /// A file with a pattern on each line.
    pub pattern_file: Option<PathBuf>,
    /// Whether `A` and `a` are alike (ASCII only).
    #[serde(default)]
    pub ignore_case: bool,
    /// What is done to a packet with a match.
    #[serde(default)]
    pub action: Action,
}

/// What is done to a packet with a match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It is counted and goes on.
    #[default]
    Alert,
    /// It is dropped as `matched`.
    Drop,
}

/// Searches payloads for patterns, also those of datagrams that come in fragments, as long as these come in order. What
/// is spread over several datagrams, or segments of a
/// connection, is not found.
pub struct Match {
    automaton: AhoCorasick,
    action: Action,
    alerts: u64,
    matches: u64,
    streams: Streams,
    /// Fragments that do not follow on what has come of their datagrams.
    unsearched: u64,
}

impl Match {
    /// A module with these patterns.
    ///
    /// # Errors
    /// There are none, too many, an empty one, or one that is longer than any frame; or their file cannot be read.
    pub fn new(config: &MatchConfig, folder: &Path) -> Result<Self, ModuleError> {
        let mut patterns = written(config)?;
        if let Some(file) = &config.pattern_file {
            patterns.extend(filed(&folder.join(file), patterns.len())?);
        }
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        let automaton = AhoCorasick::builder()
            .kind(Some(kind(&patterns)))
            .prefilter(false)
            .ascii_case_insensitive(config.ignore_case)
            .build(patterns)
            .map_err(|e| ModuleError::new("patterns", e.to_string()))?;
        let streams = Streams::new(longest.saturating_sub(1));
        Ok(Self { automaton, action: config.action, alerts: 0, matches: 0, streams, unsearched: 0 })
    }

    /// Matches that end behind the first `before` bytes; whether there are any is enough where the packet is dropped.
    fn search(&self, bytes: &[u8], before: usize) -> u64 {
        match self.action {
            Action::Alert if before > 0 => {
                self.automaton.find_iter(bytes).filter(|found| found.end() > before).count() as u64
            }
            Action::Alert => self.automaton.find_iter(bytes).count() as u64,
            Action::Drop => u64::from(self.automaton.is_match(bytes)),
        }
    }

    /// Matches in a fragment, and of what came before it.
    fn search_fragment(&mut self, packet: &[u8]) -> Result<u64, ModuleDrop> {
        let ip = IpView::new(packet)?;
        let Some(fragment) = ip.fragment() else { return Ok(0) };
        let payload = packet.get(fragment.payload.clone()).unwrap_or(&[]);
        let Some(before) = self.streams.before(&ip, &fragment) else {
            self.unsearched += 1;
            return match self.action {
                Action::Alert => Ok(self.search(payload, 0)),
                Action::Drop => Err(ModuleDrop("match-fragment")),
            };
        };
        let (len, bytes) = (before.len(), [&before, payload].concat());
        let found = self.search(&bytes, len);
        // What is dropped here has no end: what comes behind it is dropped as well.
        if found == 0 || self.action == Action::Alert {
            self.streams.go_on(&ip, &fragment, bytes);
        }
        Ok(found)
    }
}

/// With a table for every state and byte there is one look-up per byte, whatever the packet holds; it is made in up to
/// as many steps for each state and byte as the longest pattern has bytes. Where these could be too many, failures are
/// followed as they occur: two steps per byte at most, in the mean over a packet.
fn kind(patterns: &[Vec<u8>]) -> AhoCorasickKind {
    let states: usize = patterns.iter().map(Vec::len).sum();
    let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
    if states * longest <= TABLE { AhoCorasickKind::DFA } else { AhoCorasickKind::ContiguousNFA }
}

/// The patterns that stand in the configuration.
fn written(config: &MatchConfig) -> Result<Vec<Vec<u8>>, ModuleError> {
    let patterns = &config.patterns;
    let too_few = patterns.is_empty() && config.pattern_file.is_none();
    if too_few || patterns.len() > PATTERNS || patterns.iter().any(String::is_empty) {
        let problem = format!("expected 1 to {PATTERNS} patterns of at least one byte");
        return Err(ModuleError::new("patterns", problem));
    }
    match patterns.iter().position(|pattern| pattern.len() > LONGEST) {
        Some(place) => Err(ModuleError::new("patterns", too_long("number", place, patterns[place].len()))),
        None => Ok(patterns.iter().map(|pattern| pattern.clone().into_bytes()).collect()),
    }
}

/// Those of a file, beside so many others.
fn filed(path: &Path, others: usize) -> Result<Vec<Vec<u8>>, ModuleError> {
    let about = |what: &dyn Display| ModuleError::new("pattern_file", format!("{}: {what}", path.display()));
    let bytes = file::read_at(path).map_err(|error| about(&error))?;
    let lines = || bytes.split(|&b| b == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let count = lines().count();
    if !(1..=PATTERNS).contains(&(others + count)) {
        let beside = if others > 0 { format!(" beside {others} in `patterns`") } else { String::new() };
        return Err(about(&format!("it has {count} patterns{beside}, expected 1 to {PATTERNS}, one on a line")));
    }
    match lines().find(|(_, line)| line.len() > LONGEST) {
        Some((place, line)) => Err(about(&too_long("line", place, line.len()))),
        None => Ok(lines().map(|(_, line)| line.to_vec()).collect()),
    }
}

fn too_long(what: &str, place: usize, bytes: usize) -> String {
    format!("{what} {}: {bytes} bytes match nothing: the longest frame has {LONGEST}", place + 1)
}

impl Module for Match {
    fn name(&self) -> &'static str {
        "match"
    }

    /// Drops `matched` and `match-fragment` (where it begins is not where its datagram has come to) if so configured,
    /// or the name of what is no IP packet. O(length), whatever
    /// the patterns.
    fn process(&mut self, frame: &mut Frame) -> Result<(), ModuleDrop> {
        let start = super::ip_offset(frame)?;
        let found = {
            let ip = ip(frame)?;
            let end = ip.total_len().min(frame.len() - start).max(ip.header_len());
            if ip.is_v4_fragment() || ip.is_v6() && ip.fragment().is_some() {
                self.search_fragment(&frame.data()[start..])?
            } else {
                self.search(&frame.data()[start..][ip.header_len()..end], 0)
            }
        };
        if found == 0 {
            return Ok(());
        }
        self.alerts += 1;
        self.matches += found;
        match self.action {
            Action::Alert => Ok(()),
            Action::Drop => Err(ModuleDrop("matched")),
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("alerts", self.alerts), ("matches", self.matches), ("unsearched", self.unsearched)]
    }
}
