//! Whether anything is short: without that, any scheduler will do.

use dovetail_sched::Spec;

use super::AdviseError;
use super::again::Comparer;
use super::words::some;
use crate::behind::listed;
use crate::recorded::{Recorded, ResourceTotal};
use crate::scenario::{Scenario, ScenarioError};
use crate::summary::Run;
use crate::table::{rate, seconds, times};

const NOTHING: &str = "nothing is short";

/// A resource is short that works for this part of the time.
const FULL: f64 = 0.97;

/// What a first run shows.
pub(super) struct Short {
    /// Of a capture what is short as it was recorded, and by how much faster it is replayed; of other inputs what is
    /// short as they are.
    pub sentence: String,
    /// The groups of flows.
    pub groups: Vec<String>,
}

/// Run the input under today's scheduler, a capture at the speed of the recording.
pub(super) fn look(scenario: &Scenario, today: &Spec, comparer: &Comparer<'_>) -> Result<Short, AdviseError> {
    let recorded = scenario.at_recorded_speed();
    let input = recorded.as_ref().unwrap_or(scenario);
    let runs = comparer.each(input, std::slice::from_ref(today), |run| (Run::new(run), busy(run)))?;
    let Some((run, busy)) = runs.first().filter(|(run, _)| run.packets.offered > 0) else {
        return Err(ScenarioError::new(&scenario.name, "there are no packets to advise on").into());
    };
    let (short, told) = (shortage(run, busy), told(run, busy));
    let groups = run.groups.iter().map(|group| group.group.clone()).collect();
    let sentence = match &recorded {
        Some(recorded) => {
            let any = if short == NOTHING { ", so any scheduler will do" } else { "" };
            let starving = starving(recorded, run, comparer)?;
            format!("At the speed of the recording {short}{any}: {told}.{starving} {}", replayed(scenario, run))
        }
        None => format!("As it is, {short}: {told}."),
    };
    Ok(Short { sentence, groups })
}

/// Who starves at the speed of the recording, and whether a fair scheduler helps.
fn starving(recorded: &Scenario, run: &Run, comparer: &Comparer<'_>) -> Result<String, AdviseError> {
    if run.starving == 0 {
        return Ok(String::new());
    }
    let fair = super::spec(super::FAIR[0]);
    let fairly = comparer.each(recorded, std::slice::from_ref(&fair), |run| Run::new(run).starving)?;
    let then = match fairly.first().copied().unwrap_or(0) {
        0 => "none".into(),
        some => some.to_string(),
    };
    let flows: usize = run.groups.iter().map(|group| group.flows).sum();
    Ok(format!(" {} of {flows} flows starve, {then} under {fair}.", run.starving))
}

/// How fast the capture is replayed for all the rest, where `run` is at the speed of the recording.
fn replayed(scenario: &Scenario, run: &Run) -> String {
    let speed = scenario.replay_speed().unwrap_or(1.0);
    let bps: f64 = run.groups.iter().map(|group| group.throughput_bps).sum();
    let offered = match run.packets.lost() {
        0 => format!(", {} on average", rate(speed * bps)),
        _ => String::new(),
    };
    let asked = scenario.replay_load().map_or(String::new(), |load| match load.missed() {
        None => format!(", where packets ask {} times as much of the busiest resource as it can do", load.asked),
        Some(_) if load.offered.is_infinite() => ", where all packets arrive at once, whatever load is wanted".into(),
        Some(why) => format!(
            ", where packets ask {} times as much of the busiest resource as it can do, not {} times, since {why}",
            times(load.offered),
            load.asked
        ),
    });
    format!("What follows is for {} times that speed{offered}{asked}.", times(speed))
}

/// What is short in this run.
fn shortage(run: &Run, busy: &[(String, f64)]) -> String {
    let full = busy.iter().filter(|(_, part)| *part >= FULL).map(|(name, _)| name.clone());
    match full.collect::<Vec<_>>() {
        full if full.is_empty() => match (run.packets.lost() > 0, run.starving > 0) {
            (false, false) => NOTHING.into(),
            (true, _) => "nothing is short on average, but packets are lost at times".into(),
            (false, true) => "nothing is short on average, but flows starve at times".into(),
        },
        full => format!("{} {} short", listed(&full, "and"), if full.len() == 1 { "is" } else { "are" }),
    }
}

/// For which part of all time each resource is busy; of no time for none.
fn busy(run: &Recorded) -> Vec<(String, f64)> {
    let span_s = run.outcome.span().map_or(0.0, |span| span.as_secs_f64()).max(f64::MIN_POSITIVE);
    let part = |r: &ResourceTotal| r.busy.as_secs_f64() / f64::from(r.servers) / span_s;
    run.resources.iter().map(|resource| (resource.name.clone(), part(resource))).collect()
}

fn told(run: &Run, busy: &[(String, f64)]) -> String {
    let scheduler = &run.scheduler;
    let part = |(name, part): &(String, f64)| format!("{name} is busy {}", some(*part));
    let mut parts: Vec<String> = busy.iter().map(part).collect();
    if let Some(first) = parts.first_mut() {
        *first = format!("under {scheduler} {first} of the time");
    }
    parts.extend(run.latency_s.map(|latency| format!("99 of 100 packets leave within {}", seconds(latency.p99))));
    let lost = run.packets.part_lost();
    parts.extend((lost > 0.0).then(|| format!("{} of all packets are lost", some(lost))));
    listed(&parts, "and")
}
