//! Advice in words.

use std::borrow::Cow;

use super::decide::{Candidates, Choice, Flaw, WORTH};
use super::point::{Moved, Point, Runs};
use super::{Found, goal, who};
use crate::behind::{NO_FLOW_PACKETS, listed, quoted};
use crate::scenario::{NO_FLOW, Newcomers};
use crate::statistics::Estimate;
use crate::table::{percent, seconds, seconds_within};

/// A part below this is nothing.
const LEAST: f64 = 1e-3;

/// What to use, what it gains against today's, and who pays.
pub(super) fn sentences(found: &Found<'_>) -> [String; 3] {
    let today = found.candidates.today;
    let scheduler = &found.point(found.chosen()).scheduler;
    match found.choice {
        Choice::Today => [
            format!(
                "Keep {scheduler}: no other scheduler helps. {} starves, and none moves {:.0} % more bits per second, \
                 or halves the p99 of a group, in every run.",
                if found.point(today).starving == 0 { "Nobody" } else { "In most runs nobody" },
                100.0 * WORTH,
            ),
            most(found),
            "Nobody pays, since nothing changes.".into(),
        ],
        Choice::Fair(_) => [
            format!("Use {scheduler}: {}; {}.", cheapest(found), instead_of_fairness(found)),
            gains(found),
            who::pays(found),
        ],
        Choice::Efficient(_) => [efficient(found), gains(found), who::pays(found)],
        Choice::Reaching(_) | Choice::Nearest(_) => [
            goal::sentence(&found.wanted, found.scenario, (&found.runs, &found.candidates), found.choice),
            gains(found),
            who::pays(found),
        ],
    }
}

/// That no fairness among flows holds back flows of one packet, and what does.
pub(super) fn of_newcomers(newcomers: &Newcomers) -> String {
    let Newcomers { flows, of, part, resource, key } = newcomers;
    let instead = match key {
        Some((key, whom)) => {
            format!("; shares among {whom} do (--set trace.key={key}; in a live box key = \"{key}\" in [flows])")
        }
        None => ", and neither do shares among senders, receivers or networks".into(),
    };
    format!(
        "{flows} of {of} flows have one packet each and ask for {} of all that is asked of {resource}: fairness among \
         flows does not hold back ever new ones{instead}.",
        percent(*part)
    )
}

/// What one moves that moves anything where this other one moves nothing: no part of that.
pub(super) fn instead_of_nothing(than: &str) -> String {
    format!("packets where {than} moves nothing")
}

/// Such as "12.3 ± 0.4 % more bits per second than fifo".
pub(super) fn more_bits(bits: Estimate, than: &str) -> String {
    match bits.mean.is_infinite() {
        true => instead_of_nothing(than),
        false => format!("{} more bits per second than {than}", change(bits)),
    }
}

/// A relative change with its interval, such as `12.3 ± 0.4 %`; `from 0` of any over nothing.
pub fn change(estimate: Estimate) -> String {
    if estimate.mean.is_infinite() {
        return "from 0".into();
    }
    // Nothing has no sign.
    let mean = (1000.0 * estimate.mean).round() / 10.0 + 0.0;
    match estimate.ci95 {
        Some(half) => format!("{mean:.1} ± {:.1} %", 100.0 * half),
        None => format!("{mean:.1} %"),
    }
}

/// A time with its interval, such as `22.75 ± 1.200 ms`.
pub(super) fn time(estimate: Estimate) -> String {
    estimate.ci95.map_or_else(|| seconds(estimate.mean), |half| seconds_within(estimate.mean, half))
}

/// Such as "1.3 ± 0.4 % more bits and 0.8 ± 0.2 % fewer packets per second".
fn more(moved: Moved) -> String {
    let part = |estimate: Estimate| match estimate.mean {
        x if x >= LEAST => format!("{} more", change(estimate)),
        x if x <= -LEAST => format!("{} fewer", change(Estimate { mean: -x, ..estimate })),
        _ => "as many".into(),
    };
    match [moved.bits, moved.packets].map(part) {
        [bits, packets] if bits == packets => format!("{bits} bits and packets per second"),
        [bits, packets] => format!("{bits} bits and {packets} packets per second"),
    }
}

/// The same with the other one's name.
fn more_than(moved: Moved, than: &str) -> String {
    match moved.bits.mean.is_infinite() {
        true => instead_of_nothing(than),
        false => format!("{} than {than}", more(moved)),
    }
}

/// Why it is this one, where others share as fairly.
fn cheapest(found: &Found<'_>) -> String {
    let Found { runs, candidates, choice, .. } = found;
    match (passed_over(runs, candidates, *choice), candidates.flaw(runs, found.chosen())) {
        (None, _) => "it shares fairly, and is the cheapest to run of those that do".into(),
        (Some(why), None) => {
            format!("it shares fairly, and is the cheapest to run of those that do it well enough ({why})")
        }
        (Some(why), Some(_)) => format!("it shares fairly, and none that does is best in all ({why})"),
    }
}

/// Why those that share fairly and are cheaper to run than the choice are not chosen; `None` if there are none.
pub(super) fn passed_over(runs: &Runs, candidates: &Candidates, choice: Choice) -> Option<String> {
    let Choice::Fair(chosen) = choice else { return None };
    let cheaper = candidates.fair.iter().copied().take_while(|&index| index != chosen);
    let why = cheaper.filter_map(|index| {
        let point = &runs.first()[index];
        let scheduler = &point.scheduler;
        Some(match candidates.flaw(runs, index)? {
            Flaw::Starves => format!("flows starve under {scheduler}"),
            Flaw::Less => format!("{scheduler} moves less"),
            Flaw::Waits(group) => format!("p99 is longer for {} under {scheduler}", named(&point.groups[group].group)),
        })
    });
    let why: Vec<String> = why.collect();
    (!why.is_empty()).then(|| listed(&why, "and"))
}

/// What the advised alpha has over strict fairness.
fn efficient(found: &Found<'_>) -> String {
    let (chosen, strict) = (found.chosen(), found.strict());
    let part = found.runs.gain(chosen, strict) / found.candidates.most(&found.runs);
    let best = format!("the best fair scheduler ({})", found.point(strict).scheduler);
    format!(
        "Use {}: it moves {}, {}. Each flow keeps {} of its fair share.",
        found.point(chosen).scheduler,
        more_than(found.moved(chosen, strict), &best),
        if part < 0.995 {
            format!("{} % of the most that any alpha gains", (100.0 * part) as u32)
        } else {
            "and no other alpha moves noticeably more".into()
        },
        alpha(&found.point(chosen).scheduler).map_or("all".into(), |part| format!("at least {part}")),
    )
}

/// What an alpha below 1 would have brought.
fn instead_of_fairness(found: &Found<'_>) -> String {
    let fastest = found.candidates.fastest(&found.runs);
    let Some(fastest) = fastest else { return "no alpha was tried".into() };
    let strict = found.strict();
    let bits = found.moved(fastest, strict).bits;
    let [scheduler, than] = [fastest, strict].map(|index| &found.point(index).scheduler);
    match bits.mean {
        mean if mean + bits.ci95.unwrap_or(0.0) < LEAST => "giving up fairness would gain nothing".into(),
        _ => format!(
            "giving up fairness is not worth it: {scheduler} moves {}, and {:.0} % in every run would be needed",
            more_bits(bits, than),
            100.0 * WORTH
        ),
    }
}

/// The most that anything else moves more than today's.
fn most(found: &Found<'_>) -> String {
    let today = found.candidates.today;
    let others = found.candidates.in_order(found.runs.first().len()).filter(|&index| index != today);
    let best = others.max_by(|&a, &b| found.runs.gain(a, today).total_cmp(&found.runs.gain(b, today)));
    let best = best.filter(|&best| found.runs.gain(best, today) >= LEAST);
    match best {
        Some(best) => {
            let [most, than] = [best, today].map(|index| &found.point(index).scheduler);
            format!("What moves most, {most}, moves {}.", more_than(found.moved(best, today), than))
        }
        None => format!("Nothing else moves {} more bits per second.", percent(LEAST)),
    }
}

/// The part of its fair share that a flow keeps, if that is less than all.
fn alpha(scheduler: &str) -> Option<String> {
    let part: f64 = scheduler.rsplit_once("alpha=")?.1.parse().ok()?;
    (part < 1.0).then(|| format!("{:.0} %", 100.0 * part))
}

fn gains(found: &Found<'_>) -> String {
    let today = &found.point(found.candidates.today).scheduler;
    let moved = found.moved(found.chosen(), found.candidates.today);
    let uncertain =
        [moved.bits, moved.packets].iter().all(|part| part.ci95.is_some_and(|half| part.mean.abs() <= half));
    let moves = match uncertain {
        _ if moved.bits.mean.is_infinite() => format!("It moves {}.", instead_of_nothing(today)),
        true => format!("Throughput does not differ measurably from {today}'s: {}.", more(moved)),
        false => format!("Against {today} it moves {}.", more(moved)),
    };
    let told = [starving(found), who::gains(found)];
    let parts = if uncertain { [&told[0], &told[1], &moves] } else { [&moves, &told[0], &told[1]] };
    let parts = parts.into_iter().filter(|part| !part.is_empty()).map(|part| format!("{part} "));
    parts.chain([together(found)]).collect()
}

/// Latency of all packets, and how much of each resource is used.
fn together(found: &Found<'_>) -> String {
    let [now, before] = [found.chosen(), found.candidates.today].map(|index| found.point(index));
    let p99 = now.p99_s.zip(before.p99_s).map(|(now, before)| match [now, before].map(seconds) {
        [now, before] if now == before => format!("p99 stays {now}"),
        [now, before] => format!("p99 is {now} instead of {before}"),
    });
    let names = found.scenario.resource_names();
    let used =
        names.iter().zip(now.utilization.iter().zip(&before.utilization)).map(|(name, (&now, &before))| {
            match [now, before].map(percent) {
                [now, before] if now == before => format!("{now} of {name} is used as before"),
                [now, before] => format!("{now} of {name} is used instead of {before}"),
            }
        });
    let lost = match [now.lost, before.lost].map(some) {
        [now, before] if now == before => None,
        [now, before] => Some(format!("{now} of the packets are lost instead of {before}")),
    };
    let parts: Vec<String> = p99.into_iter().chain(lost).chain(used).collect();
    format!("All in all {}.", listed(&parts, "and"))
}

/// Who starves no longer, and by how much flows are behind their whole fair share where less is promised.
fn starving(found: &Found<'_>) -> String {
    let (today, chosen) = (found.point(found.candidates.today), found.point(found.chosen()));
    let promised = alpha(&chosen.scheduler);
    let worst = |point: &Point| seconds(point.behind_s);
    let behind = || {
        let verb = if chosen.short == 1 { "is" } else { "are" };
        format!("{} {verb} behind all of it, at worst by {}", flows(chosen.short), worst(chosen))
    };
    if today.starving <= chosen.starving {
        return match promised.is_some() && chosen.short > 0 {
            true => format!("Of their fair share, {} ({}: {}).", behind(), today.scheduler, worst(today)),
            false => String::new(),
        };
    }
    let none = if chosen.starving == 0 { "none".into() } else { chosen.starving.to_string() };
    let then = match &promised {
        Some(part) => {
            let verb = if chosen.starving > 1 { "get" } else { "gets" };
            let all = if chosen.short > 0 { format!(", and {}", behind()) } else { String::new() };
            format!("under {} {none} {verb} less than {part} of it{all}", chosen.scheduler)
        }
        None => format!("{none} under {}", chosen.scheduler),
    };
    let verb = if today.starving == 1 { "starves" } else { "starve" };
    format!(
        "Of {}, {} {verb} under {}, at worst {} behind the fair share; {then}.",
        flows(today.flows),
        today.starving,
        today.scheduler,
        worst(today)
    )
}

/// A part, of which little is not nothing.
pub(super) fn some(part: f64) -> String {
    if part > 0.0 && part < 5e-4 { "less than 0.1 %".into() } else { percent(part) }
}

/// A number of flows.
pub(super) fn flows(count: usize) -> String {
    if count == 1 { "1 flow".into() } else { format!("{count} flows") }
}

/// A group as it is called in a sentence.
pub(super) fn named(group: &str) -> Cow<'_, str> {
    if group == NO_FLOW { NO_FLOW_PACKETS.into() } else { quoted(group) }
}

/// What a group has, such as its latency, in words.
pub(super) fn whose(group: &str, what: &str) -> String {
    match group {
        NO_FLOW => format!("the {what} of {NO_FLOW_PACKETS}"),
        _ => format!("{}'s {what}", quoted(group)),
    }
}
