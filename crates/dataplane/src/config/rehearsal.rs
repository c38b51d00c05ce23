//! What can be said of a configuration without running its box.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dovetail_config::{InputError, called};
use dovetail_units::Duration;

use super::{Config, IDLE, StartError};
use crate::file;
use crate::port::{self, Kind, Options, Port};

impl Config {
    /// Open the ports as the box would, and close them again. An interface that a running box has is left to it, and
    /// only looked at; what is returned says so.
    ///
    /// # Errors
    /// As [`open_ports`](Self::open_ports).
    pub fn rehearse(&self) -> Result<Vec<String>, StartError> {
        let mut notes = Vec::new();
        let mut open = |kind: &Kind, options: &Options| match port::open(kind, options) {
            Err(error) if error.is_claimed() => {
                notes.push(format!("another box has {kind} at the moment; it was looked at and not opened"));
                port::stand_in(kind).map(|port| Box::new(port) as Box<dyn Port>)
            }
            opened => opened,
        };
        self.open_ports_by(&mut open)?;
        Ok(notes)
    }

    /// Whether a box would find nothing wrong with what modules have kept, and with the folder.
    ///
    /// # Errors
    /// What was kept is of no use, or there is no such folder.
    pub fn look_at_state(&self) -> Result<(), InputError> {
        let mut middlebox = self.middlebox()?;
        let looked = self.state_folder().map_or(Ok(()), |folder| middlebox.look_at_state(&folder));
        looked.map_err(|(module, error)| self.wrong_state(&module, &error))?;
        self.check_state_folder()
    }

    /// A flow that has brought nothing for this long is forgotten.
    pub fn idle(&self) -> Duration {
        self.file.flows.idle.as_ref().map_or(IDLE, |idle| idle.0.0)
    }

    /// In one line: the file, the ports, and the scheduler between them.
    pub fn summary(&self) -> String {
        let (ports, scheduler) = (&self.file.ports, &self.file.scheduler.get_ref().0);
        format!("{}: {} -> {scheduler} -> {}", called(&self.name), ports.inside.get_ref(), ports.outside.get_ref())
    }

    /// A key that others can read, and what the interfaces do that harms the box.
    pub(super) fn around_the_box(&self) -> Vec<String> {
        let exposed = self.exposed_key().into_iter();
        let interfaces = self.kinds().map(|[inside, outside]| port::warnings([&inside, &outside]));
        exposed.chain(interfaces.unwrap_or_default()).collect()
    }

    /// That the file holds a key and others can read it.
    fn exposed_key(&self) -> Option<String> {
        let module = self.file.module.iter().map(|module| module.get_ref()).find(|module| module.kind.has_key())?;
        let (file, metadata) = file::open(Path::new(&self.name)).ok().filter(|_| self.name != "-")?;
        file::is_open_to_others(&file, &metadata).then(|| {
            let (name, mode) = (&self.name, metadata.permissions().mode() & 0o777);
            format!(
                "{name} holds the key of the module {:?}, and others than its owner can read it (mode {mode:03o}): \
                 chmod 600 {name}, or put the key into a key_file",
                module.name
            )
        })
    }
}
