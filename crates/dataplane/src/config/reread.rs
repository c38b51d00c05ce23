//! The configuration of a running box, read again.

use std::path::Path;

use dovetail_config::{InputError, decode};

use super::Config;
use crate::file;

impl Config {
    /// Read the file again, with the same overrides, and check that a running box can go on by it.
    ///
    /// # Errors
    /// The file cannot be read, something in it is wrong, or something is different that a running box cannot change:
    /// its ports, where it is talked to and watched, and what stands around it.
    pub fn reread(&self) -> Result<Self, InputError> {
        if self.name == "-" {
            return Err(InputError::new("-", "the configuration came from there and cannot be read again"));
        }
        let bytes = file::read_at(Path::new(&self.name))
            .map_err(|error| InputError::new(&self.name, format!("cannot be read: {error}")))?;
        let new = Self::parse(&self.name, &decode(&self.name, bytes)?, &self.overrides)?;
        self.may_become(&new).map(|()| new)
    }

    /// Whether a box that was made of this one can go on by `new`.
    fn may_become(&self, new: &Self) -> Result<(), InputError> {
        let (old, ports) = (&self.file.ports, &new.file.ports);
        for (key, old, new_text) in [("in", &old.inside, &ports.inside), ("out", &old.outside, &ports.outside)] {
            if old.get_ref() != new_text.get_ref() {
                let message =
                    format!("the box runs with {key} = {:?}, which cannot change while it runs", old.get_ref());
                return Err(new.at(new_text.span(), message).with_help("restart the box for another port"));
            }
        }
        let socket = |config: &Self| config.file.control.socket.clone();
        let listen = |config: &Self| config.metrics();
        let shown = |path: Option<&Path>| path.map_or("none".to_string(), |path| format!("{:?}", path.display()));
        let (faults, record, trace) = (&self.file.faults, &self.file.record, &self.file.trace);
        let third = |config: &Self| config.third().map(|third| third.name);
        let others = "those of its start".to_string();
        let fixed = [
            ("[faults]", *faults == new.file.faults, others.clone()),
            ("[record]", *record == new.file.record, others.clone()),
            ("[trace]", *trace == new.file.trace, others),
            ("control.socket", socket(self) == socket(new), shown(socket(self).as_deref())),
            ("metrics.listen", listen(self) == listen(new), listen(self).map_or("none".into(), |at| format!("{at}"))),
            ("state.folder", self.state_folder() == new.state_folder(), shown(self.state_folder().as_deref())),
            ("[[resource]]", third(self) == third(new), third(self).unwrap_or("none".to_string())),
            ("reverse.delay", self.reverse_delay() == new.reverse_delay(), self.reverse_delay().to_string()),
        ];
        match fixed.into_iter().find(|(_, same, _)| !same) {
            None => Ok(()),
            Some((key, _, running)) => {
                let message = format!("the box runs with {key} = {running}, which cannot change while it runs");
                Err(InputError::new(&new.label, message).with_help("restart the box for another one"))
            }
        }
    }
}
