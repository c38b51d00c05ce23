//! The configuration of a live box, as it is written and as it is meant.

mod around;
mod file;
mod fragments;
mod rehearsal;
mod reread;
mod start;
mod state;
mod third;
mod values;
mod warnings;

use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use dovetail_config::rules;
use dovetail_config::{InputError, Text, unknown, value_of};
use dovetail_sched::aqm::scheme;
use dovetail_sched::cost::Prediction;
use dovetail_sched::{Limit, catalog};
use dovetail_units::{Duration, Part, Time, Weight};
use dovetail_wire::KeyKind;
use toml::Spanned;

use crate::classes::ClassTable;
use crate::core::{Budget, Buffer, Charge, FlowLimits, Middlebox, NamedModule, Setup, SetupClass};
use crate::driver::since_1970;
use crate::port::{self, Kind, OpenError, Options, Port};

pub use file::Control;
use file::{Class, File, Ports};
use fragments::FRAGMENTS;
pub use start::StartError;
pub(crate) use values::{LinkRate, Percent, Room};

/// A configuration that was read and checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file, as it was named.
    name: String,
    label: String,
    text: String,
    overrides: Vec<String>,
    file: File,
}

/// How ports are opened.
type Opener<'a> = dyn FnMut(&Kind, &Options) -> Result<Box<dyn Port>, OpenError> + 'a;

/// When a box begins: a second after time zero, so that there is a time before.
pub const EPOCH: Time = Time::from_nanos(1_000_000_000);

/// The class of what keeps a network alive.
const NETWORK: &str = "network";
/// The class of what matches no class, if none is for the rest.
const OTHER: &str = "other";

const MOST_FLOWS: u32 = 16_384;
const IDLE: Duration = Duration::from_secs(60);
const QUEUE: u32 = 200;
const BUFFER: u32 = 64;
/// 128 MiB of buffers.
const FRAMES: u32 = 65_536;

/// Whether so many hexadecimal digits stand in a line one after another that they may be a key.
fn may_have_a_key(line: &str) -> bool {
    line.split(|c: char| !c.is_ascii_hexdigit()).any(|digits| digits.len() >= 32)
}

impl Config {
    /// Read the configuration of this name and text, with `--set` overrides, and check it.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(name: &str, text: &str, overrides: &[String]) -> Result<Self, InputError> {
        let dovetail_config::Read { label, text, file } =
            dovetail_config::read(name, text, overrides).map_err(|told| {
                dovetail_config::hinting(told, overrides, |key, value| {
                    let spec = catalog::with_parameter(key, value).or_else(|| scheme::with_parameter(key, value))?;
                    Some(format!("`{key}` is a scheduler's parameter: --set scheduler={spec}"))
                })
                .hiding(may_have_a_key)
            })?;
        let config = Self { name: name.to_string(), label, text, overrides: overrides.to_vec(), file };
        config.check()?;
        Ok(config)
    }

    /// The file, as it was named.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Open the ports `in` and `out`. Paths of captures are seen from the configuration's folder. The first packet with
    /// a time of those that are read comes at [`EPOCH`]. If none has a time, that is a second after 1970 began; if
    /// no capture is read, that is now.
    ///
    /// # Errors
    /// One cannot be opened, nothing would come in, they are the same interface or the same frames or carry frames of
    /// different kinds, or a file would be written over another one or over one that the box is made of.
    pub fn open_ports(&self) -> Result<[Box<dyn Port>; 2], StartError> {
        self.open_ports_by(&mut port::open)
    }

    fn open_ports_by(&self, open: &mut Opener) -> Result<[Box<dyn Port>; 2], StartError> {
        self.check_files()?;
        let Ports { inside, outside } = &self.file.ports;
        let kinds = self.kinds()?;
        let kinds = [(&kinds[0], inside), (&kinds[1], outside)];
        self.check_ends(kinds)?;
        let mut first: Option<Time> = None;
        for (kind, text) in kinds {
            let time = port::first_time([kind]).map_err(|error| self.wrong_port(text, &error))?;
            first = first.into_iter().chain(time).min();
        }
        // A simulated run knows nothing of the time of day.
        let begin = first.unwrap_or_else(|| if self.is_simulated() { EPOCH } else { since_1970() });
        let epoch = Time::ZERO + begin.since(EPOCH);
        let options = Options { epoch, ..Options::default() };
        let mut open = |(kind, text): (&Kind, &Spanned<String>), options| {
            open(kind, options).map_err(|error| self.wrong_port(text, &error))
        };
        let inside_port = open(kinds[0], &options)?;
        let link = inside_port.link();
        let ports = [inside_port, open(kinds[1], &Options { link, ..options })?];
        let other = ports[1].link();
        if link != other {
            let message = format!("{} carries {link} and {} {other}", inside.get_ref(), outside.get_ref());
            return Err(self.at(outside.span(), message).into());
        }
        self.around(ports, epoch)
    }

    /// What the ports `in` and `out` are, with paths seen from the configuration's folder.
    fn kinds(&self) -> Result<[Kind; 2], InputError> {
        let Ports { inside, outside } = &self.file.ports;
        let kind = |text: &Spanned<String>| {
            let kind = text.get_ref().parse::<Kind>().map(|kind| kind.seen_from(self.folder()));
            kind.map_err(|error| self.at(text.span(), error.to_string()))
        };
        Ok([kind(inside)?, kind(outside)?])
    }

    fn folder(&self) -> &Path {
        Path::new(&self.name).parent().unwrap_or(Path::new(""))
    }

    /// Folders of files that a reload may read: the configuration, and what its modules name; of links, those of the
    /// files that they lead to as well. None for one that cannot be read again.
    pub fn read_folders(&self) -> Vec<PathBuf> {
        if self.name == "-" {
            return Vec::new();
        }
        let files = self.file.module.iter().filter_map(|module| module.get_ref().kind.file());
        let files = files.map(|file| self.folder().join(file));
        let read = [PathBuf::from(&self.name)].into_iter().chain(files).flat_map(|file| folders_of(&file));
        unique(read.chain(self.state_folder()))
    }

    /// Whether the box runs by the time stamps of a capture, at once: it then opens neither control socket nor metrics.
    pub fn is_simulated(&self) -> bool {
        let Ports { inside, outside } = &self.file.ports;
        [inside, outside].iter().any(|text| matches!(text.get_ref().parse(), Ok(Kind::Capture { input: Some(_), .. })))
    }

    /// Folders of files that the box makes or removes: captures and traces that are written, and the control socket.
    pub fn written_folders(&self) -> Vec<PathBuf> {
        let Ports { inside, outside } = &self.file.ports;
        let capture = |text: &Spanned<String>| match text.get_ref().parse::<Kind>() {
            Ok(Kind::Capture { output: Some(path), .. }) => Some(folder_of(&self.folder().join(path))),
            _ => None,
        };
        let socket = self.file.control.socket.as_deref().filter(|_| !self.is_simulated()).map(folder_of);
        let watched = self.file.record.files().chain(self.file.trace.files());
        let watched = watched.map(|(_, file)| folder_of(&self.folder().join(file.get_ref())));
        let kept = [capture(inside), capture(outside), socket, self.state_folder()];
        unique(kept.into_iter().flatten().chain(watched))
    }

    /// How the running box is talked to.
    pub fn control(&self) -> &Control {
        &self.file.control
    }

    /// Where metrics are served.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.file.metrics.listen.as_ref().map(|listen| listen.get_ref().0.0)
    }

    /// One line for reports; may be empty.
    pub fn title(&self) -> &str {
        &self.file.title
    }

    /// How long frames in the other direction are kept.
    pub fn reverse_delay(&self) -> Duration {
        self.file.reverse.delay.as_ref().map_or(Duration::ZERO, |delay| delay.0)
    }

    /// Make the box.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn middlebox(&self) -> Result<Middlebox, InputError> {
        Middlebox::new(self.setup()?).map_err(|error| {
            self.at(self.file.scheduler.span(), error.to_string()).suggesting(error.wrong(), error.known())
        })
    }

    fn at(&self, span: Range<usize>, message: impl Into<String>) -> InputError {
        InputError::at(&self.label, &self.text, span, message)
    }

    fn wrong_rule(&self, wrong: rules::Wrong) -> InputError {
        let error = self.at(wrong.span, wrong.message);
        match wrong.help {
            Some(help) => error.with_help(help),
            None => error,
        }
    }

    fn check(&self) -> Result<(), InputError> {
        self.check_names()?;
        let mut names: Vec<&str> = Vec::new();
        let mut otherwise: Option<&str> = None;
        for class in &self.file.class {
            let (class, span) = (class.get_ref(), class.span());
            let name = class.name.get_ref().as_str();
            if name.is_empty() || names.contains(&name) {
                return Err(self.at(class.name.span(), format!("{name:?}: every class needs a name of its own")));
            }
            let reserved = [
                (
                    NETWORK,
                    "ARP, neighbour discovery and what is not IP",
                    "; to take these: protocol = \"arp\" in its rules",
                ),
                (FRAGMENTS, "fragments that are dropped", "; to take those of unknown datagrams: fragments.unknown"),
            ];
            if let Some((_, what, otherwise)) = reserved.into_iter().find(|(reserved, ..)| *reserved == name) {
                let message = format!("{name:?} is the class of {what}");
                let help = format!("give this one another name{otherwise}");
                return Err(self.at(class.name.span(), message).with_help(help));
            }
            names.push(name);
            if class.rules.is_none()
                && let Some(first) = otherwise.replace(name)
            {
                let message =
                    format!("class {name:?} has no `match`, and neither has {first:?}: only one can take the rest");
                return Err(self.at(span, message));
            }
            self.weight(class)?;
            self.alpha(class)?;
        }
        let named_other =
            self.file.class.iter().map(|class| &class.get_ref().name).find(|name| name.get_ref() == OTHER);
        if let (None, Some(name)) = (otherwise, named_other) {
            let message = format!("{OTHER:?} is the class of what matches no class");
            return Err(self
                .at(name.span(), message)
                .with_help("give this one another name, or leave out its `match`"));
        }
        let rules =
            self.file.class.iter().map(|class| (class.get_ref().name.get_ref().as_str(), &class.get_ref().rules));
        rules::check(rules).map_err(|wrong| self.wrong_rule(wrong))?;
        if let Some(predict) = &self.file.cpu.predict
            && !predict.get_ref().0.predicts()
        {
            return Err(
                self.at(predict.span(), "nobody knows what a live packet will take: expected ses, fit or a line")
            );
        }
        if let Some(listen) = &self.file.metrics.listen
            && !listen.get_ref().0.0.ip().is_loopback()
            && !self.file.metrics.remote
        {
            let message = "other machines reach this address, and metrics are served to whoever asks";
            return Err(self
                .at(listen.span(), message)
                .with_help("for this machine only: \"127.0.0.1:9100\"; for all who reach it: remote = true"));
        }
        self.check_resources()?;
        self.middlebox().map(|_| ())
    }

    /// Names of classes and modules go to terminals, logs and labels of metrics.
    fn check_names(&self) -> Result<(), InputError> {
        let check = |name: &str, place: &dyn Fn() -> Range<usize>| match name.contains(char::is_control) {
            true => {
                let help = format!("without: {:?}", name.replace(char::is_control, "-"));
                Err(self.at(place(), format!("the name {name:?} has a control character")).with_help(help))
            }
            false => Ok(()),
        };
        for class in &self.file.class {
            let name = &class.get_ref().name;
            check(name.get_ref(), &|| name.span())?;
        }
        for module in &self.file.module {
            let place = || value_of(&self.text, &module.span(), "name").unwrap_or(module.span());
            check(&module.get_ref().name, &place)?;
        }
        Ok(())
    }

    fn weight(&self, class: &Class) -> Result<Weight, InputError> {
        let Some(weight) = &class.weight else { return Ok(Weight::ONE) };
        let text = weight.get_ref().to_string();
        text.parse().map_err(|error: dovetail_units::ParseError| self.at(weight.span(), error.to_string()))
    }

    fn alpha(&self, class: &Class) -> Result<Option<Part>, InputError> {
        let Some(alpha) = &class.alpha else { return Ok(None) };
        let parsed = alpha.get_ref().to_string().parse();
        parsed.map(Some).map_err(|error: dovetail_units::ParseError| self.at(alpha.span(), error.to_string()))
    }

    /// The places of a class's modules.
    fn chain(&self, class: &Class) -> Result<Vec<usize>, InputError> {
        let names: Vec<&str> = self.file.module.iter().map(|module| module.get_ref().name.as_str()).collect();
        let place = |name: &Spanned<String>| {
            let place = names.iter().position(|known| known == name.get_ref());
            place.ok_or_else(|| self.at(name.span(), unknown("module", name.get_ref(), &names)))
        };
        class.modules.iter().map(place).collect()
    }

    fn modules(&self) -> Result<Vec<NamedModule>, InputError> {
        let folder = self.folder();
        let mut modules: Vec<NamedModule> = Vec::new();
        for module in &self.file.module {
            let (config, span) = (module.get_ref(), module.span());
            if modules.iter().any(|other| other.name == config.name) {
                return Err(self.at(span, format!("there are two modules {:?}", config.name)));
            }
            let mut made = config.kind.build(folder).map_err(|error| {
                // The line of a secret is not shown.
                let value = (error.key != "key").then(|| value_of(&self.text, &span, error.key)).flatten();
                self.at(value.unwrap_or(span.clone()), format!("module {:?}: {error}", config.name))
            })?;
            let mut known = modules.iter_mut().filter_map(|other| Some((&other.name, other.module.sequence()?)));
            if let Some(own) = made.sequence()
                && let Some((other, _)) = known.find(|(_, other)| other.association() == own.association())
            {
                let message = format!("module {:?} has the key and spi of {other:?}", config.name);
                return Err(self.at(span, message).with_help("each tunnel needs sequence numbers of its own"));
            }
            modules.push(NamedModule { name: config.name.clone(), origin: config.kind.origin(folder), module: made });
        }
        Ok(modules)
    }

    /// What the box is made of.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn setup(&self) -> Result<Setup, InputError> {
        let Text(scheduler) = self.file.scheduler.get_ref().clone();
        let File { cpu, link, flows, .. } = &self.file;
        let common =
            flows.queue.as_ref().map_or(Limit { packets: Some(QUEUE), ..Limit::default() }, |q| q.get_ref().0.0);
        let third = self.third();
        let mut classes = Vec::new();
        let mut rules = Vec::new();
        let mut otherwise = None;
        for (index, class) in self.file.class.iter().map(Spanned::get_ref).enumerate() {
            classes.push(SetupClass {
                name: class.name.get_ref().clone(),
                weight: self.weight(class)?,
                alpha: self.alpha(class)?,
                limit: class.queue.as_ref().map_or(common, |queue| queue.get_ref().0.0),
                charge: class.cpu_cost().map_or(Charge::Measured, Charge::Linear),
                third: class.third_cost(third.as_ref()),
                modules: self.chain(class)?,
                built_in: false,
            });
            rules.extend(class.rules().iter().map(|rule| (rule.get_ref().rule(), index as u16)));
            if class.rules.is_none() {
                otherwise = Some(index as u16);
            }
        }
        let mut built_in = |name: &str, built_in| {
            classes.push(SetupClass {
                name: name.to_string(),
                weight: Weight::ONE,
                alpha: None,
                limit: common,
                charge: Charge::Measured,
                third: None,
                modules: Vec::new(),
                built_in,
            });
            (classes.len() - 1) as u16
        };
        let otherwise = otherwise.unwrap_or_else(|| built_in(OTHER, false));
        let (vital, fragments) = (built_in(NETWORK, true), built_in(FRAGMENTS, true));
        let unknown = self.unknown_fragments(&classes)?;
        let limits = FlowLimits {
            most: flows.most.map_or(MOST_FLOWS, |most| most.0),
            idle: self.idle(),
            // What a box does with a capture is always the same.
            secret: self.is_simulated().then_some(1),
        };
        let frames = link.buffer.as_ref().map_or(Some(BUFFER), |buffer| buffer.get_ref().0.0);
        Ok(Setup {
            scheduler,
            modules: self.modules()?,
            ecn: self.file.ecn.encoding(),
            classes,
            table: ClassTable::new(rules, otherwise).with_vital(vital).with_fragments(fragments, unknown),
            fragments: self.fragment_limits()?,
            key: flows.key.as_ref().map_or(KeyKind::FiveTuple, |key| key.0.0),
            flows: limits,
            frames: flows.limit.as_ref().map_or(Some(FRAMES), |limit| limit.0.0),
            budget: cpu.budget.as_ref().map_or(Budget::WHOLE, |budget| budget.get_ref().0.0),
            predict: cpu.predict.as_ref().map_or_else(default_prediction, |predict| predict.get_ref().0),
            third,
            rate: link.rate.as_ref().and_then(|rate| rate.0.0),
            buffer: Buffer { frames, overflow: link.overflow },
            state: self.state_folder(),
        })
    }
}

fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    folder.unwrap_or(Path::new(".")).to_path_buf()
}

/// The folder of this name, and that of the file itself if the name is that of a link to elsewhere.
fn folders_of(file: &Path) -> Vec<PathBuf> {
    let named = folder_of(file);
    let real = file.canonicalize().ok().map(|file| folder_of(&file));
    let real = real.filter(|real| named.canonicalize().is_ok_and(|named| named != *real));
    [named].into_iter().chain(real).collect()
}

fn unique(folders: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = folders.collect();
    all.sort();
    all.dedup();
    all
}

/// A line through what packets of the class took.
fn default_prediction() -> Prediction {
    Prediction::Fit(Default::default(), dovetail_sched::cost::Per::Class)
}

impl std::fmt::Display for Config {
    /// What a box of it would do, for `--dry-run`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let File { ports, scheduler, cpu, link, class, control, faults, record, trace, .. } = &self.file;
        let budget = cpu.budget.as_ref().map_or(Budget::WHOLE, |budget| budget.get_ref().0.0).as_millionths();
        let rate = link.rate.as_ref().and_then(|rate| rate.0.0);
        let rate = rate.map_or("as fast as the port takes them".to_string(), |rate| rate.to_string());
        writeln!(f, "{} -> {} -> {}", ports.inside.get_ref(), scheduler.get_ref().0, ports.outside.get_ref())?;
        writeln!(f, "cpu: {} % of a core", f64::from(budget) / 1e4)?;
        self.third().iter().try_for_each(|third| writeln!(f, "{}: as classes say", third.name))?;
        writeln!(f, "link: {rate}")?;
        class.iter().try_for_each(|class| writeln!(f, "class {}", class.get_ref()))?;
        if class.iter().all(|class| class.get_ref().rules.is_some()) {
            writeln!(f, "class {OTHER}: what matches no class passes as it is")?;
        }
        writeln!(f, "class {NETWORK}: ARP, neighbour discovery and what is not IP pass as they are")?;
        faults.ports().try_for_each(|(port, faults)| writeln!(f, "faults {port}: {faults}"))?;
        for (section, table) in [("record", record), ("trace", trace)] {
            table.files().try_for_each(|(port, file)| writeln!(f, "{section} {port}: {}", file.get_ref().display()))?;
        }
        if self.is_simulated() {
            return Ok(());
        }
        if let Some(folder) = self.state_folder() {
            writeln!(f, "state: {}", folder.display())?;
        }
        control.socket.iter().try_for_each(|socket| writeln!(f, "control socket: {}", socket.display()))?;
        self.metrics().iter().try_for_each(|address| writeln!(f, "metrics: http://{address}/metrics"))
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let modules: Vec<&str> = self.modules.iter().map(|module| module.get_ref().as_str()).collect();
        let done = if modules.is_empty() { "passes as it is".to_string() } else { modules.join(", then ") };
        write!(f, "{}: {done}", self.name.get_ref())?;
        self.cost.as_ref().map_or(Ok(()), |cost| write!(f, "; charged {}", cost.get_ref()))
    }
}
