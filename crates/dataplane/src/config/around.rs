//! What stands around the ports: faults on purpose, and captures of what passes.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use dovetail_config::{InputError, Text};
use dovetail_units::{Duration, Time};
use serde::Deserialize;
use toml::Spanned;

use super::{Config, folder_of};
use crate::module::ModuleConfig;
use crate::port::decorate::{Faults, Faulty, Recorded};
use crate::port::{Kind, Port};

/// What happens on purpose to frames that ports bring.
#[derive(Clone, PartialEq, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct FaultTable {
    /// Other seeds draw other frames. Default 1.
    seed: Option<u64>,
    /// To frames that the port `in` brings.
    #[serde(rename = "in")]
    inside: Option<PortFaults>,
    /// And the port `out`.
    #[serde(rename = "out")]
    outside: Option<PortFaults>,
}

/// Parts of all frames, each drawn apart. Default none.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PortFaults {
    /// Are lost.
    drop: Option<Text<Part>>,
    /// Come twice.
    duplicate: Option<Text<Part>>,
    /// Come with a flipped bit.
    corrupt: Option<Text<Part>>,
    /// Come later.
    delay: Option<Text<Part>>,
    /// By so much. Default 1 ms.
    delay_by: Option<Text<Duration>>,
}

/// Captures of what ports bring and take.
#[derive(Clone, PartialEq, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordTable {
    /// What passes the port `in`.
    #[serde(rename = "in")]
    inside: Option<Spanned<PathBuf>>,
    /// What passes the port `out`.
    #[serde(rename = "out")]
    outside: Option<Spanned<PathBuf>>,
}

/// A part of all frames, `"0 %"` to `"100 %"`, as a probability.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Part(f64);

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number: Option<f64> = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
        let percent = number.filter(|percent| (0.0..=100.0).contains(percent));
        percent
            .map(|percent| Self(percent / 100.0))
            .ok_or_else(|| format!("{text:?}: expected a part of all frames, \"0 %\" to \"100 %\""))
    }
}

impl PortFaults {
    fn faults(&self) -> Faults {
        let part = |part: &Option<Text<Part>>| part.map_or(0.0, |part| part.0.0);
        Faults {
            drop: part(&self.drop),
            duplicate: part(&self.duplicate),
            corrupt: part(&self.corrupt),
            delay: part(&self.delay),
            delay_by: self.delay_by.map_or(Duration::from_millis(1), |by| by.0),
        }
    }
}

impl RecordTable {
    /// Files that are written.
    pub fn files(&self) -> impl Iterator<Item = &Spanned<PathBuf>> {
        [&self.inside, &self.outside].into_iter().flatten()
    }
}

impl Config {
    /// The ports `in` and `out` with what stands around them: captures see what the box sees.
    pub(super) fn around(&self, ports: [Box<dyn Port>; 2], epoch: Time) -> Result<[Box<dyn Port>; 2], InputError> {
        let [inside, outside] = ports;
        let (faults, record) = (&self.file.faults, &self.file.record);
        let seed = faults.seed.unwrap_or(1);
        let inside = faulty(inside, faults.inside.as_ref(), seed)?;
        let outside = faulty(outside, faults.outside.as_ref(), seed.wrapping_add(1))?;
        Ok([
            self.recorded(inside, record.inside.as_ref(), epoch)?,
            self.recorded(outside, record.outside.as_ref(), epoch)?,
        ])
    }

    fn recorded(
        &self,
        port: Box<dyn Port>,
        file: Option<&Spanned<PathBuf>>,
        epoch: Time,
    ) -> Result<Box<dyn Port>, InputError> {
        let Some(file) = file else { return Ok(port) };
        let recorded = Recorded::new(port, &self.folder().join(file.get_ref()), epoch);
        Ok(Box::new(recorded.map_err(|error| self.at(file.span(), error.to_string()))?))
    }

    /// Files that the configuration is read from: itself, and what its modules name. Paths are seen from its folder.
    fn sources(&self) -> impl Iterator<Item = (PathBuf, Range<usize>, String)> {
        let own = match self.name.as_str() {
            "-" => Some(PathBuf::from("/dev/stdin")),
            name => Path::new(name).file_name().map(PathBuf::from),
        };
        let own = own.map(|path| (path, 0..0, "holds the configuration".to_string()));
        let of_module = |module: &Spanned<ModuleConfig>| {
            let path = module.get_ref().kind.file()?.to_path_buf();
            Some((path, module.span(), format!("the module {:?} reads", module.get_ref().name)))
        };
        own.into_iter().chain(self.file.module.iter().filter_map(of_module))
    }

    /// Every capture that is written is another file than those that are read and those that are written besides.
    pub(super) fn check_captures(&self) -> Result<(), InputError> {
        let (mut read, mut written) = (self.sources().collect::<Vec<_>>(), Vec::new());
        for (port, text) in [("ports.in", &self.file.ports.inside), ("ports.out", &self.file.ports.outside)] {
            if let Ok(Kind::Capture { input, output }) = text.get_ref().parse() {
                read.extend(input.map(|path| (path, text.span(), format!("{port} reads"))));
                written.extend(output.map(|path| (path, text.span(), format!("{port} writes"))));
            }
        }
        let record = &self.file.record;
        for (port, file) in [("record.in", &record.inside), ("record.out", &record.outside)] {
            written.extend(file.as_ref().map(|file| (file.get_ref().clone(), file.span(), format!("{port} writes"))));
        }
        let known = read.len();
        let files: Vec<(PathBuf, Range<usize>, String)> = read.into_iter().chain(written).collect();
        let places: Vec<PathBuf> = files.iter().map(|(path, ..)| place(&self.folder().join(path))).collect();
        for (k, (path, span, _)) in files.iter().enumerate().skip(known) {
            if let Some(other) = (0..k).find(|&other| places[other] == places[k]) {
                let message = format!("{} is the file that {} already", path.display(), files[other].2);
                return Err(self.at(span.clone(), message));
            }
        }
        Ok(())
    }
}

fn faulty(port: Box<dyn Port>, faults: Option<&PortFaults>, seed: u64) -> Result<Box<dyn Port>, InputError> {
    let Some(faults) = faults else { return Ok(port) };
    let wrong = |key: &str| InputError::new("faults", format!("`{key}` is no probability"));
    Ok(Box::new(Faulty::new(port, &faults.faults(), seed).map_err(wrong)?))
}

/// The one name of a file that is there, or could be.
fn place(path: &Path) -> PathBuf {
    let of_folder = || Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(of_folder).unwrap_or_else(|| path.to_path_buf())
}
