//! Advice in words.

use super::decide::{Choice, WORTH};
use super::point::{GroupPoint, Moved};
use super::{Found, goal, pays};
use crate::behind::{NO_FLOW_PACKETS, quoted};
use crate::scenario::NO_FLOW;
use crate::statistics::Estimate;
use crate::table::{percent, seconds, seconds_within};

/// A part below this is nothing.
const LEAST: f64 = 1e-3;
/// A latency that falls to less than this part of itself is worth a word.
const FASTER: f64 = 0.9;

/// What to use, what it gains against today's, and who pays.
pub(super) fn sentences(found: &Found<'_>) -> [String; 3] {
    let today = found.candidates.today;
    let scheduler = &found.point(found.chosen()).scheduler;
    match found.choice {
        Choice::Today => [
            format!(
                "Keep {scheduler}: {}, and no other moves {} more bits per second or halves the 99th percentile of a \
                 group's latency in every run.",
                if found.point(today).starving == 0 { "nobody starves" } else { "in most runs nobody starves" },
                percent(WORTH),
            ),
            most(found),
            "Nobody pays.".into(),
        ],
        Choice::Fair(_) => [
            format!("Use {scheduler}: it shares fairly{}, and {}.", cheapest(found), instead_of_fairness(found)),
            gains(found),
            pays::sentence(found),
        ],
        Choice::Efficient(_) => [efficient(found), gains(found), pays::sentence(found)],
        Choice::Reaching(_) | Choice::Nearest(_) => [
            goal::sentence(&found.wanted, found.scenario, (&found.runs, &found.candidates), found.choice),
            gains(found),
            pays::sentence(found),
        ],
    }
}

/// A relative change with its interval, such as `12.3 ± 0.4 %`.
pub fn change(estimate: Estimate) -> String {
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

/// Why it is this one, where others share as fairly.
fn cheapest(found: &Found<'_>) -> String {
    let mut fair = found.candidates.fair.iter();
    let (first, others) = (fair.next(), fair.len());
    let is_first = first == Some(&found.chosen());
    if is_first && others > 0 { " at the lowest cost per packet".into() } else { String::new() }
}

const MOST: &str = "and no other alpha moves noticeably more";

/// What the advised alpha has over strict fairness.
fn efficient(found: &Found<'_>) -> String {
    let (chosen, strict) = (found.chosen(), found.strict());
    let part = found.runs.gain(chosen, strict) / found.candidates.most(&found.runs);
    format!(
        "Use {}: it moves {} than the best fair scheduler ({}), {}. Each flow keeps {} of its fair share.",
        found.point(chosen).scheduler,
        more(found.moved(chosen, strict)),
        found.point(strict).scheduler,
        if part < 0.995 {
            format!("{} % of the most that any alpha gains", (100.0 * part) as u32)
        } else {
            MOST.into()
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
    let half = bits.ci95.unwrap_or(0.0);
    let moves = format!("{scheduler} moves {} more bits per second than {than}", change(bits));
    match bits.mean {
        mean if mean + half < LEAST => "giving up fairness would gain nothing".into(),
        mean if mean + half < WORTH => format!("giving up fairness would gain little: {moves}"),
        mean if mean <= half => format!("whether giving up fairness would gain anything is uncertain: {moves}"),
        _ => format!("giving up fairness would not gain {} in every run: {moves}", percent(WORTH)),
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
            format!("What moves most, {most}, moves {} than {than}.", more(found.moved(best, today)))
        }
        None => "Nothing else moves measurably more.".into(),
    }
}

/// The part of its fair share that a flow keeps, if that is less than all.
fn alpha(scheduler: &str) -> Option<String> {
    let part: f64 = scheduler.rsplit_once("alpha=")?.1.parse().ok()?;
    (part < 1.0).then(|| format!("{:.0} %", 100.0 * part))
}

fn gains(found: &Found<'_>) -> String {
    let (today, chosen) = (found.point(found.candidates.today), found.point(found.chosen()));
    let names = found.scenario.resource_names();
    let used = names.iter().zip(chosen.utilization.iter().zip(&today.utilization));
    let used: Vec<String> = used
        .map(|(name, (&now, &before))| match [now, before].map(percent) {
            [now, before] if now == before => format!("{name} {now} busy, as before"),
            [now, before] => format!("{name} {now} busy instead of {before}"),
        })
        .collect();
    let moved = found.moved(found.chosen(), found.candidates.today);
    let (told, used) = (format!("{}{}", starving(found), faster(found)), used.join("; "));
    if [moved.bits, moved.packets].iter().all(|part| part.ci95.is_some_and(|half| part.mean.abs() <= half)) {
        let moves = format!("Throughput does not differ measurably from {}'s: {}", today.scheduler, more(moved));
        return format!("{told} {moves} ({used}).").trim_start().to_string();
    }
    format!("Against {} it moves {} ({used}).{told}", today.scheduler, more(moved))
}

/// Who starves no longer, and by how much flows are behind their whole fair share where less is promised.
fn starving(found: &Found<'_>) -> String {
    let (today, chosen) = (found.point(found.candidates.today), found.point(found.chosen()));
    let promised = alpha(&chosen.scheduler);
    let mut told = match (today.starving, chosen.starving) {
        (before, after) if before <= after => String::new(),
        (before, after) => {
            let after = if after == 0 { "none".into() } else { after.to_string() };
            let verb = if before == 1 { "starves" } else { "starve" };
            let then = match &promised {
                Some(part) => {
                    let verb = if chosen.starving > 1 { "get" } else { "gets" };
                    format!("; under {} {after} {verb} less than {part} of its fair share", chosen.scheduler)
                }
                None => format!(", {after} under {}", chosen.scheduler),
            };
            format!(" {} {verb} under {}{then}.", flows(before), today.scheduler)
        }
    };
    if promised.is_some() && chosen.short > 0 {
        let [worst, before] = [chosen, today].map(|point| seconds(point.behind_s));
        let verb = if chosen.short == 1 { "falls" } else { "fall" };
        told.push_str(&format!(
            " Compared with the whole fair share, {} {verb} behind, at worst by {worst} ({}: {before}).",
            flows(chosen.short),
            today.scheduler
        ));
    }
    told
}

/// A number of flows.
pub(super) fn flows(count: usize) -> String {
    if count == 1 { "1 flow".into() } else { format!("{count} flows") }
}

/// The group whose latency falls by the largest factor, of those whose latency falls in every run.
fn faster(found: &Found<'_>) -> String {
    let (today, chosen) = (found.candidates.today, found.chosen());
    let pair = |before: &GroupPoint, after: &GroupPoint| before.p99_s.zip(after.p99_s);
    let falls = |&group: &usize| {
        found.runs.always(|run| {
            let pair = pair(&run[today].groups[group], &run[chosen].groups[group]);
            pair.is_some_and(|(before, after)| after < FASTER * before)
        })
    };
    let of_group = |group: usize| {
        let groups = [today, chosen].map(|index| &found.point(index).groups[group]);
        Some((&groups[0].group, pair(groups[0], groups[1])?))
    };
    let fallen = (0..found.point(today).groups.len()).filter(falls).filter_map(of_group);
    let most = fallen.max_by(|(_, a), (_, b)| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    most.map_or(String::new(), |(group, (before, after))| {
        let (latency, before, after) = (whose(group, "latency"), seconds(before), seconds(after));
        format!(" The 99th percentile of {latency} falls from {before} to {after}.")
    })
}

/// What a group has, such as its latency, in words.
pub(super) fn whose(group: &str, what: &str) -> String {
    match group {
        NO_FLOW => format!("the {what} of {NO_FLOW_PACKETS}"),
        _ => format!("{}'s {what}", quoted(group)),
    }
}
