//! A capture to replay: flows, their classes, and how fast.

use std::io::Read;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use dovetail_sim::stream;
use dovetail_sim::{Arrival, Flow, FlowName, FlowTerms, List, Listed, Source, TimeScale, Workload};
use dovetail_trace::{Arrivals, CaptureReader, FlowKeys, Packets, Record, Report, TooLarge, load_by_class};
use dovetail_units::{Duration, Time};
use dovetail_wire::{FlowKey, IpPacket, Marks, NonFlow, Rule, Vital};
use rand::RngExt;

use super::ScenarioError;
use super::file::Trace;
use super::flows::{queue_limit, terms_of_class};
use super::input::open_capture;
use super::{REPLAY_LIMIT, Scenario};
use crate::memory::{amount, free};
use crate::recorded::PerResource;
use crate::table::seconds;

/// Group of the packets that carry no flow.
pub const NO_FLOW: &str = "no flow";
/// Times are scaled by a ratio with this many steps per unit.
const SPEED_STEPS: f64 = 1e6;
/// Captures are replayed so many times as fast as recorded, from here to there.
const SPEEDS: RangeInclusive<f64> = 1.0 / SPEED_STEPS..=1e12;

/// A capture in memory.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Its packets.
    pub arrivals: Arc<Arrivals>,
    /// Their flows.
    flows: Arc<FlowKeys>,
    /// Where every record went.
    pub report: Report,
    /// Class of each flow, an index into the scenario's classes.
    classes: Vec<usize>,
    /// Seconds that all packets together need on each resource.
    pub work_s: Vec<f64>,
    /// Replayed this many times as fast as recorded.
    pub speed: f64,
    /// Its long pauses.
    pub pauses: Pauses,
}

/// Long pauses of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pauses {
    /// What is long.
    pub longest: Duration,
    /// How many there were.
    pub count: u64,
    /// By how much they were longer than that, all together.
    pub more: Duration,
    /// Whether that was cut.
    pub cut: bool,
}

/// What replayed packets ask of the busiest resource, over what it can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayLoad {
    /// What the speed was to make of it.
    pub asked: f64,
    /// What it is; infinite if all packets arrive at once.
    pub offered: f64,
    speed: f64,
}

impl ReplayLoad {
    /// Why it is not what was asked for, if it differs by more than 1 %. Times are whole nanoseconds, so that it may
    /// where a replay lasts less than 100 ns.
    pub fn missed(&self) -> Option<&'static str> {
        if (self.offered / self.asked - 1.0).abs() <= 0.01 {
            None
        } else if self.offered == 0.0 {
            Some("no packet takes any time there")
        } else if self.speed <= *SPEEDS.start() {
            Some("no replay is slower than that")
        } else if self.speed >= *SPEEDS.end() {
            Some("no replay is faster than that")
        } else {
            Some("times are whole nanoseconds")
        }
    }
}

/// Pauses that are worth a word if nobody says how long they may be.
const LONG_PAUSE: Duration = Duration::from_secs(1);

/// Into so many pieces a capture is cut to draw others like it. Fewer would hardly differ from the capture, more would
/// cut through what belongs together.
const PIECES: usize = 20;

/// Lengths below are those of most packets.
const USUAL_SIZES: usize = 1 << 11;

/// Of a packet that no class's rules match.
const NO_CLASS: u16 = u16::MAX;

impl Capture {
    /// Put it together anew from [`PIECES`] of as many packets each, drawn at random: some come twice, some never
    /// (block bootstrap, Kuensch 1989). A piece lasts until the next one begins.
    pub fn draw_pieces(&mut self, seed: u64) {
        let (old, all) = (&self.arrivals, self.arrivals.iter().collect::<Vec<Arrival>>());
        let count = all.len();
        let pieces = PIECES.min(count);
        let end = old.last() + Duration::from_nanos(old.last().as_nanos() / count.max(1) as u64);
        let border = |piece: usize| {
            let at = piece * count / pieces;
            (at, all.get(at).map_or(end, |arrival| arrival.time))
        };
        let mut random = stream(seed, "pieces of a capture");
        let mut begin = Time::ZERO;
        let mut arrivals = Arrivals::new();
        for _ in 0..pieces {
            let piece = random.random_range(0..pieces);
            let ((from, start), (to, next)) = (border(piece), border(piece + 1));
            let moved = |arrival: &Arrival| Arrival { time: begin + arrival.time.since(start), ..*arrival };
            arrivals.extend(all[from..to].iter().map(moved));
            begin += next.since(start);
        }
        self.arrivals = arrivals.into();
    }

    /// Whether some of its flows are of this class, an index into the scenario's classes.
    pub fn has_class(&self, class: usize) -> bool {
        self.classes.contains(&class)
    }

    /// Draw classes and speed for the scenario's seed.
    pub fn prepare(&mut self, scenario: &Scenario, trace: &Trace) -> Result<(), ScenarioError> {
        self.classes = assign_classes(scenario, trace, &self.flows)?;
        self.work_s = work_s(scenario, self);
        self.speed = speed(scenario, trace, self);
        let last = time_scale(self.speed).apply(self.arrivals.last());
        if self.speed < 1.0 && last == Time::MAX {
            let replayed = self.arrivals.last().as_secs_f64() / self.speed;
            let message = format!(
                "it makes the replay last {}: expected at most {} s, which is 584 years",
                seconds(replayed),
                last.as_nanos() / 1_000_000_000
            );
            let asked = trace.speed.as_ref().map(|speed| speed.span());
            let span = asked.or_else(|| trace.load.as_ref().map(|load| load.span())).unwrap_or(0..0);
            return Err(scenario.error(span, message));
        }
        Ok(())
    }

    /// The resource that its packets keep busy longest.
    pub fn busiest(&self, scenario: &Scenario) -> Option<usize> {
        let busy: Vec<f64> = busy_s(scenario, self).collect();
        (0..busy.len()).max_by(|&a, &b| busy[a].total_cmp(&busy[b]))
    }

    /// The flow of every packet, and the seconds that it needs on a resource.
    pub fn needed_s(&self, scenario: &Scenario, resource: usize) -> impl Iterator<Item = (usize, f64)> {
        let classes = scenario.names.classes();
        self.arrivals.iter().map(move |arrival| {
            let flow = arrival.flow as usize;
            (flow, classes[self.classes[flow]].mean_time(resource, arrival.size).as_secs_f64())
        })
    }

    /// What tells its flows apart, in their order, and their classes.
    pub fn keys(&self) -> impl Iterator<Item = (Option<FlowKey>, u16)> {
        self.flows.iter().zip(&self.classes).map(|((key, _), &class)| (key, class as u16))
    }

    /// What its packets ask of the busiest resource where `asked` sets the speed.
    pub fn load(&self, scenario: &Scenario, asked: f64) -> ReplayLoad {
        let replayed = time_scale(self.speed).apply(self.arrivals.last()).as_secs_f64();
        let offered = if replayed > 0.0 { busiest_s(scenario, self) / replayed } else { f64::INFINITY };
        ReplayLoad { asked, offered, speed: self.speed }
    }
}

/// Read the capture that was given, or that the scenario names, if there is one.
pub fn load(scenario: &Scenario, given: Option<Box<dyn Read + Send>>) -> Result<Option<Capture>, ScenarioError> {
    let Some(spanned) = &scenario.file.trace else { return Ok(None) };
    let trace = spanned.get_ref();
    let mut reader = match (&trace.file, given) {
        (Some(file), _) => open_capture(&path(scenario, file.get_ref())).map_err(|e| scenario.error(file.span(), e))?,
        (None, Some(stream)) => {
            let name = if scenario.name == "-" { "standard input" } else { &scenario.name };
            CaptureReader::ahead(stream, name).map_err(|e| ScenarioError::new("", e.to_string()))?
        }
        (None, None) => {
            let message = "there is no capture to replay: [trace] has no file";
            let help = format!("to use this as a profile: dovetail run CAPTURE --profile {}", scenario.name);
            return Err(scenario.error(spanned.span(), message).with_help(help));
        }
    };
    let rules = rules(scenario);
    let kind = trace.key.map_or_else(Default::default, |k| k.0);
    let free = free();
    let by_tuple = !rules.iter().any(|(rule, _)| rule.looks_at_marks());
    let loaded = load_by_class(&mut reader, kind, free, by_tuple, |record, parsed| ruled(&rules, record, parsed));
    let mut packets = loaded.map_err(|TooLarge { packets, flows }| {
        let free = amount(free as f64);
        let message = format!(
            "the first {packets} packets of the capture, of {flows} flows, take the {free} of memory that are free"
        );
        scenario.error(spanned.span(), message).with_help("run a part of it: editcap -r CAPTURE PART 1-1000000")
    })?;
    let pauses = pauses(&mut packets, trace);
    let Packets { arrivals, flows, report } = packets;
    let (arrivals, flows) = (arrivals.into(), flows.into_keys().into());
    let mut capture = Capture { arrivals, flows, report, classes: Vec::new(), work_s: Vec::new(), speed: 1.0, pauses };
    capture.prepare(scenario, trace)?;
    Ok(Some(capture))
}

/// The rules of all classes in order, each with its class.
fn rules(scenario: &Scenario) -> Vec<(Rule, u16)> {
    let classes = scenario.file.class.iter().enumerate();
    let lists = classes.filter_map(|(index, class)| Some((index, class.get_ref().rules.as_ref()?.get_ref())));
    lists.flat_map(|(index, list)| list.iter().map(move |rule| (rule.get_ref().rule(), index as u16))).collect()
}

/// The class of the first rule that matches, as in a live box, but that there is no class for what keeps a network
/// alive: neighbour discovery that no rule names is of the class of the rest.
fn ruled(rules: &[(Rule, u16)], record: &Record<'_>, parsed: &Result<IpPacket, NonFlow>) -> u16 {
    if rules.is_empty() {
        return NO_CLASS;
    }
    let marks = Marks::read(record.link, record.data);
    let tuple = parsed.as_ref().ok().map(|ip| &ip.tuple);
    let vital = Vital::of(record.link, record.data, parsed);
    let matches = |rule: &Rule| match vital {
        Some(vital) => rule.matches_vital(vital, tuple, marks),
        None => tuple.is_some_and(|tuple| rule.matches(tuple, marks)),
    };
    rules.iter().find(|(rule, _)| matches(rule)).map_or(NO_CLASS, |(_, class)| *class)
}

/// Cut the pauses, or count those that could be.
fn pauses(packets: &mut Packets, trace: &Trace) -> Pauses {
    match &trace.gap {
        Some(gap) => {
            let (count, more) = packets.cut_pauses(gap.0.0);
            Pauses { longest: gap.0.0, count, more, cut: true }
        }
        None if packets.arrivals.longest_pause() <= LONG_PAUSE => {
            Pauses { longest: LONG_PAUSE, count: 0, more: Duration::ZERO, cut: false }
        }
        None => {
            let times = || packets.arrivals.iter().map(|arrival| arrival.time);
            let all = times().zip(times().skip(1)).map(|(before, time)| time.since(before));
            let long = all.filter(|&pause| pause > LONG_PAUSE).map(|pause| pause.as_nanos() - LONG_PAUSE.as_nanos());
            let (count, more) = long.fold((0, 0), |(count, sum), pause| (count + 1, sum + pause));
            Pauses { longest: LONG_PAUSE, count, more: Duration::from_nanos(more), cut: false }
        }
    }
}

/// The capture that the scenario names; `-` is standard input.
pub fn file(scenario: &Scenario, trace: &Trace) -> Option<PathBuf> {
    trace.file.as_ref().map(|file| path(scenario, file.get_ref()))
}

fn path(scenario: &Scenario, written: &str) -> PathBuf {
    if written == "-" { written.into() } else { scenario.base.join(written) }
}

/// What can be checked of a replay before its capture is read.
pub fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Some(trace) = scenario.file.trace.as_ref().map(toml::Spanned::get_ref) else { return Ok(()) };
    if scenario.file.class.is_empty() {
        let span = scenario.file.trace.as_ref().map_or(0..0, |t| t.span());
        return Err(scenario.error(span, "the flows of a capture need at least one [[class]]"));
    }
    let speed = trace.speed.as_ref().map(|speed| (speed.span(), *speed.get_ref()));
    let load = trace.load.as_ref().map(|load| (load.span(), load.get_ref().0));
    for (span, value) in speed.into_iter().chain(load) {
        if !(1e-6..=1e9).contains(&value) {
            return Err(scenario
                .error(span, format!("{}: expected a number from 0.000001 to 1e9", dovetail_config::number(value))));
        }
    }
    if let (Some(_), Some(load)) = (&trace.speed, &trace.load) {
        return Err(scenario.error(load.span(), "give speed or load, not both"));
    }
    if let Err((span, message)) = queue_limit(scenario, &trace.queue) {
        return Err(scenario.error(span.unwrap_or(0..0), message));
    }
    for class in trace.class.iter().chain(&trace.no_flow) {
        scenario.names.class(class.get_ref()).map_err(|m| scenario.error(class.span(), m))?;
    }
    let rules = scenario.file.class.iter().map(|class| (class.get_ref().name.as_str(), &class.get_ref().rules));
    dovetail_config::rules::check(rules).map_err(|wrong| {
        let error = scenario.error(wrong.span, wrong.message);
        match wrong.help {
            Some(help) => error.with_help(help),
            None => error,
        }
    })
}

fn assign_classes(scenario: &Scenario, trace: &Trace, flows: &FlowKeys) -> Result<Vec<usize>, ScenarioError> {
    let position = |name: &str| scenario.names.classes().iter().position(|c| c.name == name).unwrap_or(0);
    let named = |class: &Option<toml::Spanned<String>>| class.as_ref().map(|c| position(c.get_ref()));
    let mut random = stream(scenario.seed(), "classes of flows");
    let has_rules = scenario.file.class.iter().any(|class| class.get_ref().rules.is_some());
    let without: Vec<usize> = (scenario.file.class.iter().enumerate())
        .filter(|(_, class)| class.get_ref().rules.is_none())
        .map(|(index, _)| index)
        .collect();
    let rest = named(&trace.class).or(if has_rules && without.len() == 1 { without.first().copied() } else { None });
    let mut classes = Vec::with_capacity(flows.iter().len());
    for (key, class) in flows.iter() {
        if class != NO_CLASS {
            classes.push(usize::from(class));
            continue;
        }
        let Some(key) = key else {
            classes.push(named(&trace.no_flow).or(rest).unwrap_or(0));
            continue;
        };
        if rest.is_none() && has_rules {
            let span = scenario.file.trace.as_ref().map_or(0..0, |t| t.span());
            let message = format!("the flow {key} has no class: no class's rules match it");
            return Err(scenario
                .error(span, message)
                .with_help("add class = \"...\" to [trace], or leave `match` out of one class, for all other flows"));
        }
        classes.push(rest.unwrap_or_else(|| random.random_range(0..scenario.names.classes().len())));
    }
    Ok(classes)
}

/// As written, or as it takes to offer the busiest resource `load` times what it can do.
fn speed(scenario: &Scenario, trace: &Trace, capture: &Capture) -> f64 {
    if let Some(speed) = &trace.speed {
        return *speed.get_ref();
    }
    let Some(load) = &trace.load else { return 1.0 };
    let recorded = capture.arrivals.last().as_secs_f64();
    let speed = load.get_ref().0 * recorded / busiest_s(scenario, capture);
    // One packet, or packets of one instant, have no rate to scale.
    if speed.is_finite() && speed > 0.0 { speed.clamp(*SPEEDS.start(), *SPEEDS.end()) } else { 1.0 }
}

/// Seconds for which all packets together keep each resource busy.
fn busy_s(scenario: &Scenario, capture: &Capture) -> impl Iterator<Item = f64> {
    let servers = scenario.file.resource.iter().map(|r| f64::from(r.get_ref().servers.get_ref().0));
    capture.work_s.iter().zip(servers).map(|(t, s)| t / s)
}

/// The same of the busiest one.
fn busiest_s(scenario: &Scenario, capture: &Capture) -> f64 {
    busy_s(scenario, capture).fold(0.0, f64::max)
}

/// Seconds that all packets together need on each resource.
fn work_s(scenario: &Scenario, capture: &Capture) -> Vec<f64> {
    let classes = scenario.names.classes();
    let times = |class: usize, size: u32| -> PerResource<f64> {
        (0..scenario.resources()).map(|resource| classes[class].mean_time(resource, size).as_secs_f64()).collect()
    };
    // Of each class by length, once it is asked for.
    let mut known = vec![vec![None; USUAL_SIZES]; classes.len()];
    let mut total = vec![0.0; scenario.resources()];
    for arrival in capture.arrivals.iter() {
        let (class, size) = (capture.classes[arrival.flow as usize], arrival.size);
        let needed = match known[class].get_mut(size as usize) {
            Some(known) => known.get_or_insert_with(|| times(class, size)),
            None => &times(class, size),
        };
        total.iter_mut().zip(needed).for_each(|(sum, time)| *sum += *time);
    }
    total
}

/// Add the replayed flows to a workload.
pub fn add_to<const M: usize>(workload: &mut Workload<M>, scenario: &Scenario) {
    let (Some(trace), Some(capture)) = (&scenario.file.trace, &scenario.capture) else { return };
    let queue = &trace.get_ref().queue;
    let limit = if queue.is_some() { queue_limit(scenario, queue).unwrap_or_default() } else { REPLAY_LIMIT };
    let first = workload.flows.len() as u32;
    workload.flows.reserve_exact(capture.classes.len());
    let classes = scenario.names.classes().iter();
    let kinds: Vec<(Arc<str>, Arc<FlowTerms<M>>)> =
        classes.map(|class| (class.name.as_str().into(), terms_of_class(scenario, class, limit).into())).collect();
    for (number, &class) in (0..).zip(&capture.classes) {
        let (class, terms) = &kinds[class];
        let (name, group) = match FlowName::of_key(&capture.flows, number) {
            Some(name) => (name, Arc::clone(class)),
            None => (NO_FLOW.into(), NO_FLOW.into()),
        };
        workload.flows.push(Flow { name, group, terms: Arc::clone(terms) });
    }
    let arrivals = Listed::of_flows_from(first, Arc::clone(&capture.arrivals));
    let scale = time_scale(capture.speed);
    workload.sources.push(Source::List(List { arrivals, costs: None, scale }));
}

/// Times are divided by `speed`, which is kept to a millionth of itself or finer.
fn time_scale(speed: f64) -> TimeScale {
    let steps = |factor: f64| (factor * SPEED_STEPS).round().max(1.0) as u64;
    if speed < 1.0 {
        TimeScale { numerator: steps(1.0 / speed), denominator: SPEED_STEPS as u64 }
    } else {
        TimeScale { numerator: SPEED_STEPS as u64, denominator: steps(speed) }
    }
}
