//! A capture to replay: flows, their classes, and how fast.

use std::io::Read;
use std::path::PathBuf;

use dovetail_sim::stream;
use dovetail_sim::{Arrival, List, Source, TimeScale, Workload};
use dovetail_trace::{CaptureReader, FlowEntry, Packets, load as load_packets};
use dovetail_wire::{FlowKey, KeyKind, protocol_name};
use rand::RngExt;

use super::ScenarioError;
use super::file::{Rule, Trace};
use super::flows::{flow_of_class, queue_limit};
use super::input::open_capture;
use super::{REPLAY_LIMIT, Scenario};

/// Group of the packets that carry no flow.
const NO_FLOW: &str = "no flow";
/// Times are scaled by a ratio with this many steps per unit.
const SPEED_STEPS: f64 = 1e6;

/// A capture in memory.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Its packets.
    pub packets: std::sync::Arc<Packets>,
    /// Class of each flow, an index into the scenario's classes.
    classes: Vec<usize>,
    /// Replayed this many times as fast as recorded.
    pub speed: f64,
}

impl Capture {
    /// Draw classes and speed for the scenario's seed.
    pub fn prepare(&mut self, scenario: &Scenario, trace: &Trace) -> Result<(), ScenarioError> {
        self.classes = assign_classes(scenario, trace, &self.packets)?;
        self.speed = speed(scenario, trace, self);
        Ok(())
    }
}

/// Read the capture that the scenario names, if it names one; from `given` if that was opened already.
pub fn load(scenario: &Scenario, given: Option<Box<dyn Read + Send>>) -> Result<Option<Capture>, ScenarioError> {
    let Some(spanned) = &scenario.file.trace else { return Ok(None) };
    let trace = spanned.get_ref();
    check(scenario, trace)?;
    let written = trace.file.get_ref();
    // --set may name another capture than the one that was given.
    let mut reader = match given.filter(|_| *written == scenario.name) {
        Some(stream) => {
            let name = if scenario.name == "-" { "standard input" } else { &scenario.name };
            CaptureReader::new(stream, name).map_err(|e| ScenarioError::new("", e.to_string()))?
        }
        None => open_capture(&file(scenario, trace)).map_err(|e| scenario.error(trace.file.span(), e))?,
    };
    let packets = load_packets(&mut reader, trace.key.map_or_else(Default::default, |k| k.0));
    let mut capture = Capture { packets: packets.into(), classes: Vec::new(), speed: 1.0 };
    capture.prepare(scenario, trace)?;
    Ok(Some(capture))
}

/// The capture; `-` is standard input.
pub fn file(scenario: &Scenario, trace: &Trace) -> PathBuf {
    let written = trace.file.get_ref();
    if written == "-" { written.into() } else { scenario.base.join(written) }
}

fn check(scenario: &Scenario, trace: &Trace) -> Result<(), ScenarioError> {
    if scenario.file.class.is_empty() {
        let span = scenario.file.trace.as_ref().map_or(0..0, |t| t.span());
        return Err(scenario.error(span, "the flows of a capture need at least one [[class]]"));
    }
    for number in [&trace.speed, &trace.load].into_iter().flatten() {
        let value = *number.get_ref();
        if !(1e-6..=1e9).contains(&value) {
            return Err(
                scenario.error(number.span(), format!("{}: expected 0.000001 to 1e9", dovetail_config::number(value)))
            );
        }
    }
    if let (Some(_), Some(load)) = (&trace.speed, &trace.load) {
        return Err(scenario.error(load.span(), "give speed or load, not both"));
    }
    if let Err((span, message)) = queue_limit(scenario, &trace.queue) {
        return Err(scenario.error(span.unwrap_or(0..0), message));
    }
    let rules = trace.rule.iter().map(|r| &r.get_ref().class);
    for class in rules.chain(&trace.class).chain(&trace.no_flow) {
        scenario.names.class(class.get_ref()).map_err(|m| scenario.error(class.span(), m))?;
    }
    for rule in &trace.rule {
        let Rule { port, protocol, .. } = rule.get_ref();
        if port.is_none() && protocol.is_none() {
            return Err(scenario.error(rule.span(), "a rule needs a port or a protocol"));
        }
        if let (Some(protocol), Some(KeyKind::PrefixPort(_))) = (protocol, trace.key.map(|k| k.0)) {
            let message = "flows by prefix and port have no protocol: a rule for it needs key = \"5-tuple\"";
            return Err(scenario.error(protocol.span(), message));
        }
        if let Some(name) = protocol.as_ref().filter(|p| !(0..=255).any(|n| protocol_name(n) == Some(p.get_ref()))) {
            let known: Vec<&str> = (0..=255).filter_map(protocol_name).collect();
            let message = super::unknown("protocol", name.get_ref(), &known);
            return Err(scenario.error(name.span(), message));
        }
    }
    Ok(())
}

fn assign_classes(scenario: &Scenario, trace: &Trace, packets: &Packets) -> Result<Vec<usize>, ScenarioError> {
    let position = |name: &str| scenario.names.classes().iter().position(|c| c.name == name).unwrap_or(0);
    let named = |class: &Option<toml::Spanned<String>>| class.as_ref().map(|c| position(c.get_ref()));
    let mut random = stream(scenario.seed(), "classes of flows");
    let mut classes = Vec::with_capacity(packets.flows.len());
    for FlowEntry { key, .. } in packets.flows.entries() {
        let Some(key) = key else {
            classes.push(named(&trace.no_flow).unwrap_or(0));
            continue;
        };
        // Drawn for every flow, so that a rule for one flow changes no other.
        let drawn = random.random_range(0..scenario.names.classes().len());
        let ruled = trace.rule.iter().map(|r| r.get_ref()).find(|r| fits(r, key)).map(|r| position(r.class.get_ref()));
        let class = ruled.or(named(&trace.class));
        if class.is_none() && !trace.rule.is_empty() {
            let span = scenario.file.trace.as_ref().map_or(0..0, |t| t.span());
            let message = format!("the flow {key} has no class: no rule fits, and there is no class for the rest");
            return Err(scenario
                .error(span, message)
                .with_help("add class = \"...\" to [trace] for flows that no rule fits"));
        }
        classes.push(class.unwrap_or(drawn));
    }
    Ok(classes)
}

fn fits(rule: &Rule, key: &FlowKey) -> bool {
    let (protocol, ports) = match key {
        FlowKey::FiveTuple(tuple) => {
            (Some(tuple.protocol), tuple.ports.map_or([None; 2], |p| [Some(p.src), Some(p.dst)]))
        }
        FlowKey::PrefixPort { port, .. } => (None, [*port, None]),
    };
    let port_fits = rule.port.is_none_or(|p| ports.contains(&Some(p)));
    let protocol_fits =
        rule.protocol.as_ref().is_none_or(|name| protocol.and_then(protocol_name).is_some_and(|p| p == name.get_ref()));
    port_fits && protocol_fits
}

/// As written, or as it takes to offer the busiest resource `load` times what it can do.
fn speed(scenario: &Scenario, trace: &Trace, capture: &Capture) -> f64 {
    if let Some(speed) = &trace.speed {
        return *speed.get_ref();
    }
    let Some(load) = &trace.load else { return 1.0 };
    let recorded = capture.packets.last().as_secs_f64();
    let servers = scenario.file.resource.iter().map(|r| f64::from(r.get_ref().servers.get_ref().0));
    let busiest = work_s(scenario, capture).iter().zip(servers).map(|(t, s)| t / s).fold(0.0, f64::max);
    let speed = load.get_ref() * recorded / busiest;
    // One packet, or packets of one instant, have no rate to scale.
    if speed.is_finite() && speed > 0.0 { speed.clamp(1.0 / SPEED_STEPS, 1e12) } else { 1.0 }
}

/// Seconds that all packets together need on each resource.
pub fn work_s(scenario: &Scenario, capture: &Capture) -> Vec<f64> {
    let mut total = vec![0.0; scenario.resources()];
    for arrival in &capture.packets.arrivals {
        let class = &scenario.names.classes()[capture.classes[arrival.flow as usize]];
        for (resource, sum) in total.iter_mut().enumerate() {
            *sum += class.mean_time(resource, arrival.size).as_secs_f64();
        }
    }
    total
}

/// Add the replayed flows to a workload.
pub fn add_to<const M: usize>(workload: &mut Workload<M>, scenario: &Scenario) {
    let (Some(trace), Some(capture)) = (&scenario.file.trace, &scenario.capture) else { return };
    let queue = &trace.get_ref().queue;
    let limit = if queue.is_some() { queue_limit(scenario, queue).unwrap_or_default() } else { REPLAY_LIMIT };
    let first = workload.flows.len() as u32;
    for (entry, &class) in capture.packets.flows.entries().iter().zip(&capture.classes) {
        let class = &scenario.names.classes()[class];
        let (name, group) = match entry.key {
            Some(key) => (key.to_string(), class.name.as_str()),
            None => (NO_FLOW.to_string(), NO_FLOW),
        };
        workload.flows.push(flow_of_class(scenario, class, name, group, limit));
    }
    let arrivals: Vec<Arrival> = (capture.packets.arrivals.iter())
        .map(|a| Arrival { time: a.time, flow: first + a.flow, size: a.size })
        .collect();
    let scale = time_scale(capture.speed);
    workload.sources.push(Source::List(List { arrivals: arrivals.into(), costs: None, scale }));
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
