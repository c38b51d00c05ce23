//! What a lab is to show, and whether it did.

use serde::Serialize;

/// Something that was to be so.
#[derive(Clone, Debug, Serialize)]
pub struct Promise {
    /// Whether it was; `None` where that cannot be said on this machine.
    pub kept: Option<bool>,
    /// What, with what was measured.
    pub words: String,
}

impl Promise {
    /// It was so, or not.
    pub fn new(kept: bool, words: impl Into<String>) -> Self {
        Self { kept: Some(kept), words: words.into() }
    }

    /// It cannot be said, and why.
    pub fn unknown(words: impl Into<String>) -> Self {
        Self { kept: None, words: words.into() }
    }
}

/// A line each.
pub fn text(promises: &[Promise]) -> String {
    let verdict = |promise: &Promise| match promise.kept {
        Some(true) => "ok    ",
        Some(false) => "FAILED",
        None => "-     ",
    };
    promises.iter().map(|promise| format!("\n{}  {}", verdict(promise), promise.words)).collect()
}

/// Whether none was broken.
pub fn kept(promises: &[Promise]) -> bool {
    promises.iter().all(|promise| promise.kept != Some(false))
}
