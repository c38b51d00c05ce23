//! What outlives a box: where its tunnels go on.

use std::path::PathBuf;

use dovetail_config::InputError;
use serde::Deserialize;
use toml::Spanned;

use super::Config;
use super::values::named_file;
use crate::module::StateError;
use crate::port::Kind;

/// Where systemd has made a folder for what a service keeps (StateDirectory=).
const OF_SERVICE: &str = "STATE_DIRECTORY";

#[derive(Clone, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct StateTable {
    /// The folder of files in which modules keep what the next box has to know. Default that of the service; outside
    /// of one nowhere.
    #[serde(default, deserialize_with = "named_file")]
    folder: Option<Spanned<PathBuf>>,
}

impl Config {
    /// Where modules keep what the next box has to know. A box whose frames go to a capture has nothing to tell: nobody
    /// has received them.
    pub fn state_folder(&self) -> Option<PathBuf> {
        if !self.sends_to_others() {
            return None;
        }
        let written = self.file.state.folder.as_ref().map(|folder| self.folder().join(folder.get_ref()));
        let of_service = || std::env::var_os(OF_SERVICE).filter(|folders| !folders.is_empty());
        // There may be several of them, with colons between.
        let first = |folders: std::ffi::OsString| {
            std::env::split_paths(&folders).next().filter(|folder| !folder.as_os_str().is_empty())
        };
        written.or_else(|| of_service().and_then(first))
    }

    /// That there is such a folder. A box that keeps nothing yet needs it, too: a reload may bring the first tunnel,
    /// but no other folder.
    pub(crate) fn check_state_folder(&self) -> Result<(), InputError> {
        let Some(folder) = self.state_folder() else { return Ok(()) };
        let why = match std::fs::metadata(&folder) {
            Ok(found) if found.is_dir() => return Ok(()),
            Ok(_) => "it is not a folder".to_string(),
            Err(error) => error.to_string(),
        };
        Err(self.at_state_folder(format!("the state cannot be kept in {}: {why}", folder.display())))
    }

    /// What is wrong with the state of a module, where the folder is written.
    pub(crate) fn wrong_state(&self, module: &str, error: &StateError) -> InputError {
        self.at_state_folder(format!("the state of module {module:?}: {error}"))
    }

    fn at_state_folder(&self, message: String) -> InputError {
        match &self.file.state.folder {
            Some(folder) => self.at(folder.span(), message),
            None => InputError::new(&self.label, message),
        }
    }

    /// Whether frames leave for others, so that the next box must not begin as this one did.
    pub(super) fn sends_to_others(&self) -> bool {
        !matches!(self.file.ports.outside.get_ref().parse(), Ok(Kind::Capture { .. }))
    }
}
