//! Generated flows: from `[[flows]]` to sources.

use std::collections::BTreeMap;
use std::sync::Arc;

use dovetail_sched::Limit;
use dovetail_sim::{
    Arrival, Cost, Flow, FlowTerms, Generator, List, Pattern, Size, Source, Spell, TimeScale, Workload,
};
use dovetail_units::{Bytes, Duration, ResourceVec, Time, Weight};
use toml::Spanned;

use super::Scenario;
use super::ScenarioError;
use super::file::{Arrivals, Flows, Listed};
use super::names::{self, ClassCost, check_name};
use super::unknown;
use crate::memory::room_for_flows;
use dovetail_config::{ByResource, Span, Text, number};

use super::value::{QueueLimit, Sizes, Weights};

/// The most flows of one scenario: some 2 GB of memory.
pub const MAX_FLOWS: u32 = 1_000_000;
/// The most packets of a list, which is kept in memory.
const MAX_LISTED: u128 = 10_000_000;
/// The most packets of one scenario: some days of simulation.
const MAX_PACKETS: f64 = 1e11;

/// Check all `[[flows]]`.
pub fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let file = &scenario.file;
    if file.flows.is_empty() && file.trace.is_none() {
        return Err(ScenarioError::new(&scenario.label, "nothing comes in: add [[flows]] or a [trace]"));
    }
    let (mut flows, mut packets) = (0, 0.0);
    for group in &file.flows {
        check_group(scenario, group.get_ref()).map_err(|(span, m)| scenario.error(span.unwrap_or(group.span()), m))?;
        flows += u64::from(count(group.get_ref()));
        packets += expected_packets(scenario, group.get_ref());
        if flows > u64::from(MAX_FLOWS) {
            return Err(
                scenario.error(group.span(), format!("these make {flows} flows: at most {MAX_FLOWS} are possible"))
            );
        }
        if packets > MAX_PACKETS {
            let message = format!("these make {packets:.1e} packets in all: at most {MAX_PACKETS:.0e} are possible");
            return Err(scenario.error(group.span(), message));
        }
    }
    if let Some(last) = file.flows.last() {
        let generated = file.flows.iter().filter(|group| group.get_ref().list.is_none());
        let generators = generated.map(|group| u64::from(count(group.get_ref()))).sum();
        room_for_flows(flows, generators).map_err(|message| scenario.error(last.span(), message))?;
    }
    for change in &file.change {
        let set = &change.get_ref().set;
        if !set.get_ref().contains('=') {
            return Err(scenario.error(set.span(), "expected parameter=value, such as \"alpha=0.5\""));
        }
    }
    Ok(())
}

pub type Wrong = (Option<std::ops::Range<usize>>, String);

fn check_group(scenario: &Scenario, group: &Flows) -> Result<(), Wrong> {
    check_name(label(group)).map_err(|m| (None, m))?;
    scenario.names.class(group.class.get_ref()).map_err(|m| (Some(group.class.span()), m))?;
    weights(scenario, group)?;
    group.alpha.as_ref().map(names::alpha).transpose()?;
    queue_limit(scenario, &group.queue)?;
    let on_off = group.on.is_some() && group.off.is_some();
    let spells = group.on.is_some() || group.off.is_some();
    let whole = |message: &str| Err((None, message.to_string()));
    if let Some(list) = &group.list {
        let generated = group.size.is_some() || group.rate.is_some() || group.packets.is_some();
        let times = group.start.is_some() || group.spread.is_some() || group.stop.is_some();
        let timed = times || spells || group.jitter.is_some() || group.arrivals != Arrivals::Constant;
        return match generated || timed {
            true => whole(
                "list says size and time of every packet: only name, class, count, weight, alpha and queue go with it",
            ),
            false => check_list(scenario, group, list),
        };
    }
    if group.size.is_none() || group.rate.is_none() {
        return whole("these flows need size and rate (or a list of packets)");
    }
    if (group.arrivals == Arrivals::OnOff && !on_off) || (group.arrivals != Arrivals::OnOff && spells) {
        return whole("on and off belong to arrivals = \"on-off\", and both are needed there");
    }
    jitter(group)?;
    times_on(group)?;
    if group.stop.is_none() && group.packets.is_none() && scenario.file.until.is_none() {
        return whole("these flows never end: give stop, packets, or until for the whole scenario");
    }
    if group.packets == Some(0) {
        return whole("packets = 0: expected at least one packet");
    }
    let stops_at = |time: Time| group.stop.is_some_and(|stop| stop.0 <= time);
    match (stops_at(start(group, 0)), stops_at(last_start(group))) {
        (true, _) => whole("these flows stop before they start"),
        (_, true) => whole("the last of these flows stops before it starts"),
        _ => Ok(()),
    }
}

/// Packets that come late keep their order, and random arrivals are late by themselves.
fn jitter(group: &Flows) -> Result<(), Wrong> {
    let (Some(jitter), Some(rate)) = (&group.jitter, group.rate) else { return Ok(()) };
    let wrong = |message: String| Err((Some(jitter.span()), message));
    if group.arrivals != Arrivals::Constant {
        return wrong("jitter belongs to arrivals = \"constant\": the others are random".into());
    }
    match rate.0.due(1) {
        interval if interval < jitter.get_ref().0 => {
            wrong(format!("expected at most {interval}, the time from packet to packet"))
        }
        _ => Ok(()),
    }
}

/// Else most of the work would be to draw times on in which no packet comes.
fn times_on(group: &Flows) -> Result<(), Wrong> {
    let (Some(on), Some(rate)) = (&group.on, group.rate) else { return Ok(()) };
    let least = Duration::from_nanos(rate.0.due(1).as_nanos().div_ceil(1000));
    match on.0.0 < least {
        true => Err((
            None,
            format!("on = {}: expected at least {least}, a thousandth of the time from packet to packet", on.0.0),
        )),
        false => Ok(()),
    }
}

fn check_list(scenario: &Scenario, group: &Flows, list: &[Listed]) -> Result<(), Wrong> {
    let known = scenario.resource_names();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let whole = |message: String| Err((None, message));
    if list.windows(2).any(|w| w[1].at.0 < w[0].at.0) {
        return whole("the packets of a list must stand in order of time".into());
    }
    if list.iter().any(|p| p.size.0.least != p.size.0.most) {
        return whole("a packet of a list has one size, not a range".into());
    }
    let packets = list.iter().map(|p| u128::from(p.count)).sum::<u128>() * u128::from(count(group));
    if packets > MAX_LISTED {
        return whole(format!("these lists have {packets} packets: at most {MAX_LISTED} are possible"));
    }
    if let Some(name) = list.iter().find_map(|p| p.cost.0.stray(&known)) {
        return Err((Some(name.span()), unknown("resource", name.get_ref(), &known)));
    }
    let class = scenario.names.class(group.class.get_ref()).map_err(|m| (Some(group.class.span()), m))?;
    let some = |name: &&&str| {
        let given = list.iter().filter(|p| p.cost.0.get(name).is_some()).count();
        given > 0 && given < list.len()
    };
    match known.iter().skip(1).find(some).filter(|_| !class.resize.is_none()) {
        Some(name) => whole(format!("lengths change: give the cost on {name:?} for every packet or for none")),
        None => Ok(()),
    }
}

/// The name of a group: several entries of one name are one group.
fn label(group: &Flows) -> &str {
    group.name.as_deref().unwrap_or(group.class.get_ref())
}

/// How many flows there are.
pub fn count(group: &Flows) -> u32 {
    group.count.map_or(1, |count| count.0)
}

/// When the flow with this number, from 0, starts.
fn start(group: &Flows, number: u32) -> Time {
    let spread = group.spread.map_or(Duration::ZERO, |s| s.0);
    let after = u128::from(spread.as_nanos()) * u128::from(number) / u128::from(count(group).max(1));
    group.start.map_or(Time::ZERO, |s| s.0) + Duration::from_nanos(after as u64)
}

/// When the last flow starts.
pub fn last_start(group: &Flows) -> Time {
    start(group, count(group).saturating_sub(1))
}

/// The flow's weight, the mean of those by resource, and its weights on the resources if they were given one by one.
type FlowWeights = (Weight, Option<Vec<Weight>>);

fn weights(scenario: &Scenario, group: &Flows) -> Result<FlowWeights, Wrong> {
    let Some(written) = &group.weight else { return Ok((Weight::ONE, None)) };
    let wrong = |message: String| (Some(written.span()), format!("weight{message}"));
    match written.get_ref() {
        Weights::Same(value) => Ok((weight(*value).map_err(wrong)?, None)),
        Weights::Named(named) => {
            let names = scenario.resource_names();
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            if let Some(name) = named.stray(&known) {
                return Err((Some(name.span()), format!("weight: {}", unknown("resource", name.get_ref(), &known))));
            }
            let on = |name: &String| match named.get(name) {
                Some(&value) => weight(value),
                None => Err(format!(": none for {name:?}; a weight by resource names every resource")),
            };
            let on: Vec<Weight> = names.iter().map(on).collect::<Result<_, _>>().map_err(wrong)?;
            let mean = on.iter().map(|w| w.as_f64()).sum::<f64>() / on.len() as f64;
            Ok((weight(mean).map_err(wrong)?, Some(on)))
        }
    }
}

fn weight(value: f64) -> Result<Weight, String> {
    let milli = (value * 1000.0).round();
    let valid = (1.0..=1e9).contains(&milli).then(|| Weight::from_milli(milli as u32)).flatten();
    valid.ok_or_else(|| format!(" = {}: expected a number from 0.001 to 1000000", number(value)))
}

/// Packets of a group, about.
pub fn expected_packets(scenario: &Scenario, group: &Flows) -> f64 {
    if let Some(list) = &group.list {
        return list.iter().map(|p| p.count as f64).sum::<f64>() * f64::from(count(group));
    }
    let start = start(group, 0);
    let end = [group.stop.map(|s| s.0), scenario.until()].into_iter().flatten().min();
    let by_time =
        end.map_or(f64::INFINITY, |e| e.since(start).as_secs_f64() * group.rate.map_or(0.0, |r| r.0.as_pps()));
    by_time.min(group.packets.map_or(f64::INFINITY, |p| p as f64)) * f64::from(count(group))
}

/// Add the generated flows to a workload.
pub fn add_to<const M: usize>(workload: &mut Workload<M>, scenario: &Scenario) {
    let groups = || scenario.file.flows.iter().map(|g| g.get_ref());
    let resources = scenario.resource_names();
    // How many flows a name stands for, and how many of them are there already.
    let mut named: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for group in groups() {
        named.entry(label(group)).or_default().0 += u64::from(count(group));
    }
    for (index, group) in groups().enumerate() {
        let Ok(class) = scenario.names.class(group.class.get_ref()) else { continue };
        let label = label(group);
        let shared = Arc::from(label);
        let limit = queue_limit(scenario, &group.queue).unwrap_or_default();
        let mut terms = terms_of_class(scenario, class, limit);
        let (one, several) = weights(scenario, group).unwrap_or_default();
        (terms.weight, terms.weight_on) = (one, several.map(|on| std::array::from_fn(|r| on[r])));
        terms.alpha = group.alpha.as_ref().and_then(|alpha| names::alpha(alpha).ok()).or(terms.alpha);
        if let Some(list) = &group.list {
            let own = |r: usize| list.iter().any(|p| p.cost.0.get(&resources[r]).is_some());
            for r in (0..M).filter(|&r| own(r)) {
                (terms.cost[r], terms.spread[r]) = (Cost::PerPacket, 0);
            }
        }
        let terms = Arc::new(terms);
        for k in 0..count(group) {
            let id = workload.flows.len() as u32;
            let (flows, number) = named.entry(label).or_default();
            *number += 1;
            let name = if *flows == 1 { label.to_string() } else { format!("{label}-{number}") };
            let source = match &group.list {
                Some(list) => Source::List(listed(list, class, id, scenario)),
                None => Source::Generator(generator(group, id, format!("flows {index} {k}"), start(group, k))),
            };
            let (group, terms) = (Arc::clone(&shared), Arc::clone(&terms));
            workload.flows.push(Flow { name: name.into(), group, terms });
            workload.sources.push(source);
        }
    }
}

/// The limit as written; no limit if nothing is.
pub fn queue_limit(scenario: &Scenario, written: &Option<Spanned<Text<QueueLimit>>>) -> Result<Limit, Wrong> {
    let Some(queue) = written else { return Ok(Limit::default()) };
    queue.get_ref().0.over(&scenario.resource_names()).map_err(|m| (Some(queue.span()), format!("queue: {m}")))
}

/// What flows of this class with this limit have in common.
pub fn terms_of_class<const M: usize>(scenario: &Scenario, class: &ClassCost, limit: Limit) -> FlowTerms<M> {
    let index = scenario.names.classes().iter().position(|c| c.name == class.name).unwrap_or(0);
    FlowTerms {
        weight: Weight::ONE,
        weight_on: None,
        alpha: class.alpha,
        limit,
        class: index as u32,
        cost: std::array::from_fn(|r| class.cost[r]),
        spread: std::array::from_fn(|r| class.spread[r]),
        resize: class.resize,
        estimate: std::array::from_fn(|r| class.estimate[r]),
    }
}

fn generator(group: &Flows, flow: u32, name: String, start: Time) -> Generator {
    let Sizes { least, most } = group.size.map_or(Sizes { least: 1, most: 1 }, |s| s.0);
    let rate = group.rate.map(|r| r.0);
    let spell = |span: &Option<Text<Span>>| Spell::Exponential(span.map_or(Duration::from_secs(1), |s| s.0.0));
    let pattern = rate.map_or(Pattern::Constant(ONE_PER_SECOND), |rate| match group.arrivals {
        Arrivals::Constant => match group.jitter.as_ref().map(|jitter| jitter.get_ref().0) {
            None | Some(Duration::ZERO) => Pattern::Constant(rate),
            Some(jitter) => Pattern::Jittered { rate, jitter },
        },
        Arrivals::Poisson => Pattern::Poisson(rate),
        Arrivals::OnOff => Pattern::OnOff { rate, on: spell(&group.on), off: spell(&group.off) },
    });
    Generator {
        name,
        flow,
        pattern,
        size: if least == most { Size::Fixed(least) } else { Size::Uniform { min: least, max: most } },
        start,
        stop: group.stop.map(|s| s.0),
        packets: group.packets,
    }
}

const ONE_PER_SECOND: dovetail_units::PacketRate = match dovetail_units::PacketRate::from_micro_pps(1_000_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

fn listed<const M: usize>(list: &[Listed], class: &ClassCost, flow: u32, scenario: &Scenario) -> List<M> {
    let resources = scenario.resource_names();
    let (mut arrivals, mut costs) = (Vec::new(), Vec::new());
    for packet in list {
        let size = packet.size.0.least;
        let cost = ResourceVec(std::array::from_fn(|r| {
            own_cost(&packet.cost.0, &resources[r]).unwrap_or_else(|| class_time(&class.cost[r], size))
        }));
        for _ in 0..packet.count {
            arrivals.push(Arrival { time: packet.at.0, flow, size });
            costs.push(cost);
        }
    }
    List { arrivals: arrivals.into(), costs: Some(costs.into()), scale: TimeScale::ONE }
}

/// What a packet of a list takes on this resource, if the list says so.
pub fn own_cost(costs: &ByResource<Text<Duration>>, resource: &str) -> Option<Duration> {
    costs.get(resource).map(|c| c.0)
}

/// What a packet of `size` bytes takes by its class, to the nanosecond.
pub fn class_time(cost: &Cost, size: u32) -> Duration {
    let Bytes(bytes) = Bytes(u64::from(size));
    match cost {
        Cost::Linear(linear) => linear.time(bytes),
        Cost::Link(rate) => rate.transmission_time(bytes, 0).0,
        Cost::PerPacket => Duration::ZERO,
    }
}
