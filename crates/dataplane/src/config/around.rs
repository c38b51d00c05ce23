//! What stands around the ports: faults on purpose, and captures and traces of what passes.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use dovetail_config::{InputError, Text};
use dovetail_units::{Duration, Time};
use serde::Deserialize;
use toml::Spanned;

use super::values::named_file;
use super::{Config, StartError, folder_of};
use crate::module::ModuleConfig;
use crate::port::decorate::{Faults, Faulty, Recorded, Traced};
use crate::port::{Kind, OpenError, Port, interface};

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
pub(super) struct PortFaults {
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

/// Files of what ports bring and take.
#[derive(Clone, PartialEq, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct FileTable {
    /// What passes the port `in`.
    #[serde(rename = "in", default, deserialize_with = "named_file")]
    inside: Option<Spanned<PathBuf>>,
    /// What passes the port `out`.
    #[serde(rename = "out", default, deserialize_with = "named_file")]
    outside: Option<Spanned<PathBuf>>,
}

/// A part of all frames, `"0 %"` to `"100 %"`, in percent as it was written.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Part(f64);

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number: Option<f64> = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
        let percent = number.filter(|percent| (0.0..=100.0).contains(percent));
        percent.map(Self).ok_or_else(|| format!("{text:?}: expected a part of all frames, \"0 %\" to \"100 %\""))
    }
}

impl PortFaults {
    fn faults(&self) -> Faults {
        let part = |part: &Option<Text<Part>>| part.map_or(0.0, |part| part.0.0 / 100.0);
        Faults {
            drop: part(&self.drop),
            duplicate: part(&self.duplicate),
            corrupt: part(&self.corrupt),
            delay: part(&self.delay),
            delay_by: self.delay_by.map_or(Duration::from_millis(1), |by| by.0),
        }
    }
}

impl FileTable {
    /// Files that are written, with their keys.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Spanned<PathBuf>)> {
        [("in", &self.inside), ("out", &self.outside)].into_iter().filter_map(|(key, file)| Some((key, file.as_ref()?)))
    }
}

impl FaultTable {
    /// Faults, with the keys of their ports.
    pub fn ports(&self) -> impl Iterator<Item = (&'static str, &PortFaults)> {
        [("in", &self.inside), ("out", &self.outside)]
            .into_iter()
            .filter_map(|(key, faults)| Some((key, faults.as_ref()?)))
    }
}

impl fmt::Display for PortFaults {
    /// Such as `drop 2 %, delay 5 % by 1 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let late = format!(" by {}", self.faults().delay_by);
        let all = [
            ("drop", &self.drop, ""),
            ("duplicate", &self.duplicate, ""),
            ("corrupt", &self.corrupt, ""),
            ("delay", &self.delay, late.as_str()),
        ];
        let told = all.into_iter().filter_map(|(name, part, by)| Some((name, part.as_ref()?.0.0, by)));
        let told = told.filter(|&(_, percent, _)| percent > 0.0);
        let told: Vec<String> = told.map(|(name, percent, by)| format!("{name} {percent} %{by}")).collect();
        f.write_str(if told.is_empty() { "none".into() } else { told.join(", ") }.as_str())
    }
}

impl Config {
    /// Something comes in, and the ports `in` and `out` are not the same interface or the same frames.
    pub(super) fn check_ends(&self, ends: [(&Kind, &Spanned<String>); 2]) -> Result<(), InputError> {
        let [(inside, written), (outside, other)] = ends;
        if let Kind::Capture { input: None, .. } = inside {
            let message = "nothing would come into the box: with > this port only writes";
            let help = format!("to read a capture: {:?}", written.get_ref().replace('>', ""));
            return Err(self.at(written.span(), message).with_help(help));
        }
        if let (Some(name), Some(same)) = (inside.interface(), outside.interface()) {
            let message = format!("{same} is the interface of ports.in already");
            if name == same {
                return Err(self.at(other.span(), message));
            }
            // An interface may have several names.
            let index = |name: &str| interface(name).ok().map(|found| found.index);
            if index(name).is_some_and(|found| index(same) == Some(found)) {
                return Err(self.at(other.span(), format!("{message}, which has the name {name}")));
            }
        }
        if let (Kind::Capture { input: Some(file), .. }, Kind::Capture { input: Some(same), .. }) = (inside, outside)
            && place(file) == place(same)
        {
            let message = format!("{} is the file that ports.in reads already", same.display());
            return Err(self.at(other.span(), message).with_help("to write a capture: \"pcap:>out.pcap\""));
        }
        if let Kind::Capture { input: Some(_), output: None } = outside {
            let message = "what leaves the box would go nowhere: without > this port only reads";
            let name = other.get_ref().trim_start_matches("pcap:");
            let help = format!("to write a capture: \"pcap:>{name}\"");
            return Err(self.at(other.span(), message).with_help(help));
        }
        Ok(())
    }

    /// Why this port cannot be opened.
    pub(super) fn wrong_port(&self, written: &Spanned<String>, error: &OpenError) -> StartError {
        let is_relative = match written.get_ref().parse() {
            Ok(Kind::Capture { input: Some(path), .. }) => path.is_relative(),
            _ => false,
        };
        match self.cannot_open(written.span(), error) {
            StartError::Wrong(wrong) if is_relative && error.is_no_file() => {
                StartError::Wrong(wrong.with_help("paths are relative to the folder of the configuration"))
            }
            other => other,
        }
    }

    fn cannot_open(&self, span: Range<usize>, error: &OpenError) -> StartError {
        let told = self.at(span, error.to_string());
        if error.is_input() { StartError::Wrong(told) } else { StartError::Lacks(told) }
    }

    /// The ports `in` and `out` with what stands around them: captures and traces see what the box sees.
    pub(super) fn around(&self, ports: [Box<dyn Port>; 2], epoch: Time) -> Result<[Box<dyn Port>; 2], StartError> {
        let [inside, outside] = ports;
        let (faults, record, trace) = (&self.file.faults, &self.file.record, &self.file.trace);
        let seed = faults.seed.unwrap_or(1);
        let inside = faulty(inside, faults.inside.as_ref(), seed)?;
        let outside = faulty(outside, faults.outside.as_ref(), seed.wrapping_add(1))?;
        Ok([
            self.watched(inside, "in", [&record.inside, &trace.inside], epoch)?,
            self.watched(outside, "out", [&record.outside, &trace.outside], epoch)?,
        ])
    }

    /// The port at this end with a capture and a trace of what passes it, where such files are named.
    fn watched(
        &self,
        port: Box<dyn Port>,
        end: &'static str,
        [capture, trace]: [&Option<Spanned<PathBuf>>; 2],
        epoch: Time,
    ) -> Result<Box<dyn Port>, StartError> {
        let wrong = |file: &Spanned<PathBuf>, error: OpenError| self.cannot_open(file.span(), &error);
        let path = |file: &Spanned<PathBuf>| self.folder().join(file.get_ref());
        let port = match capture {
            None => port,
            Some(file) => Box::new(Recorded::new(port, &path(file), epoch).map_err(|error| wrong(file, error))?),
        };
        Ok(match trace {
            None => port,
            Some(file) => Box::new(Traced::new(port, end, &path(file), epoch).map_err(|error| wrong(file, error))?),
        })
    }

    /// Where the box makes its control socket, if it opens one. Its path is seen from the folder in which the program
    /// runs.
    fn socket(&self) -> Option<(PathBuf, Range<usize>, String)> {
        let socket = self.file.control.socket.as_deref().filter(|_| !self.is_simulated())?;
        Some((std::path::absolute(socket).ok()?, 0..0, "control.socket makes".to_string()))
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

    /// Every file that is written is another one than those that are read, those that are written besides, and the
    /// control socket.
    pub(super) fn check_files(&self) -> Result<(), InputError> {
        let (mut read, mut written) = (self.sources().chain(self.socket()).collect::<Vec<_>>(), Vec::new());
        for (port, text) in [("ports.in", &self.file.ports.inside), ("ports.out", &self.file.ports.outside)] {
            if let Ok(Kind::Capture { input, output }) = text.get_ref().parse() {
                read.extend(input.map(|path| (path, text.span(), format!("{port} reads"))));
                written.extend(output.map(|path| (path, text.span(), format!("{port} writes"))));
            }
        }
        for (section, table) in [("record", &self.file.record), ("trace", &self.file.trace)] {
            let writes = |(key, file): (&str, &Spanned<PathBuf>)| {
                (file.get_ref().clone(), file.span(), format!("{section}.{key} writes"))
            };
            written.extend(table.files().map(writes));
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
    let wrong = |key: &str| InputError::new("faults", format!("`{key}` is not a probability"));
    Ok(Box::new(Faulty::new(port, &faults.faults(), seed).map_err(wrong)?))
}

/// The one name of a file that is there, or could be.
fn place(path: &Path) -> PathBuf {
    let of_folder = || Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(of_folder).unwrap_or_else(|| path.to_path_buf())
}
