//! Pattern matching in payloads (Aho and Corasick 1975): a stand-in for an intrusion detection system.

use std::path::{Path, PathBuf};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde::Deserialize;

use super::{Module, ModuleDrop, ModuleError, ip};
use crate::frame::Frame;

/// The most patterns.
const PATTERNS: usize = 10_000;

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

/// Searches payloads for patterns. What is spread over several packets is not found.
pub struct Match {
    automaton: AhoCorasick,
    action: Action,
    alerts: u64,
    matches: u64,
}

impl Match {
    /// A module with these patterns.
    ///
    /// # Errors
    /// There are none, too many, or an empty one; or their file cannot be read.
    pub fn new(config: &MatchConfig, folder: &Path) -> Result<Self, ModuleError> {
        let mut patterns: Vec<Vec<u8>> = config.patterns.iter().map(|p| p.clone().into_bytes()).collect();
        if let Some(file) = &config.pattern_file {
            let path = folder.join(file);
            let bytes = std::fs::read(&path)
                .map_err(|e| ModuleError::new("pattern_file", format!("{}: {e}", path.display())))?;
            patterns.extend(bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec));
        }
        if patterns.is_empty() || patterns.len() > PATTERNS || patterns.iter().any(Vec::is_empty) {
            let problem = format!("expected 1 to {PATTERNS} patterns of at least one byte");
            return Err(ModuleError::new("patterns", problem));
        }
        // One table look-up per byte, whatever the packet holds.
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .prefilter(false)
            .ascii_case_insensitive(config.ignore_case)
            .build(patterns)
            .map_err(|e| ModuleError::new("patterns", e.to_string()))?;
        Ok(Self { automaton, action: config.action, alerts: 0, matches: 0 })
    }
}

impl Module for Match {
    fn name(&self) -> &'static str {
        "match"
    }

    /// Drops `matched` if so configured, or the name of what is no IP packet. O(length), whatever the patterns.
    fn process(&mut self, frame: &mut Frame) -> Result<(), ModuleDrop> {
        let start = super::ip_offset(frame)?;
        let found = {
            let ip = ip(frame)?;
            let end = ip.total_len().min(frame.len() - start).max(ip.header_len());
            let payload = &frame.data()[start..][ip.header_len()..end];
            match self.action {
                Action::Alert => self.automaton.find_iter(payload).count() as u64,
                Action::Drop => u64::from(self.automaton.is_match(payload)),
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
        vec![("alerts", self.alerts), ("matches", self.matches)]
    }
}
