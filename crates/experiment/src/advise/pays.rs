//! Who pays, and how much.

use super::Found;
use super::point::GroupPoint;
use crate::behind::{NO_FLOW_PACKETS, quoted};
use crate::scenario::NO_FLOW;
use crate::table::{percent, rate, seconds};

/// A group pays whose throughput falls by more than this part.
const LESS: f64 = 0.05;
/// Or whose part of lost packets grows by more than this.
const LOST: f64 = 0.005;
/// Or whose mean or 99th percentile of latencies grows by more than this part.
const LATER: f64 = 0.1;
/// Most groups that a sentence names for one comparison.
const MOST: usize = 3;

/// Everybody who pays against each of `bases`, the worst first: what every run shows, with the numbers of the input as
/// it is.
pub(super) fn sentence(found: &Found<'_>, bases: &[usize]) -> String {
    let parts: Vec<String> = bases.iter().filter_map(|&base| against(found, base)).collect();
    match parts.is_empty() {
        true if found.runs.count() > 1 => format!("No group is worse off in every run.{}", once(found, bases)),
        true => "Nobody pays noticeably.".into(),
        false => format!("Who pays {}.{}", parts.join("; "), once(found, bases)),
    }
}

/// The group that loses more packets in the input as it is, by most, if not in every run.
fn once(found: &Found<'_>, bases: &[usize]) -> String {
    let Some(&today) = bases.first() else { return String::new() };
    let [before, after] = [today, found.chosen()].map(|index| &found.point(index).groups);
    let more = |group: usize| after[group].lost - before[group].lost;
    let always = |&group: &usize| {
        found.runs.always(|run| run[found.chosen()].groups[group].lost > run[today].groups[group].lost + LOST)
    };
    let others = (0..before.len()).filter(|&group| more(group) > LOST).filter(|group| !always(group));
    others.max_by(|&a, &b| more(a).total_cmp(&more(b))).map_or(String::new(), |group| {
        let [from, to] = [before, after].map(|groups| percent(groups[group].lost));
        format!(" In the input as it is, {} {to} of its packets instead of {from}.", losing(&after[group].group))
    })
}

fn losing(group: &str) -> String {
    if group == NO_FLOW { format!("{NO_FLOW_PACKETS} lose") } else { format!("{} loses", quoted(group)) }
}

fn against(found: &Found<'_>, base: usize) -> Option<String> {
    let chosen = found.chosen();
    let mut losses: Vec<(f64, String)> = (0..found.point(base).groups.len())
        .filter_map(|group| {
            let always = |is_so: fn(&GroupPoint, &GroupPoint) -> bool| {
                found.runs.always(|run| is_so(&run[base].groups[group], &run[chosen].groups[group]))
            };
            loss(&found.point(base).groups[group], &found.point(chosen).groups[group], always)
        })
        .collect();
    losses.sort_by(|a, b| b.0.total_cmp(&a.0));
    let more = losses.len().saturating_sub(MOST);
    let mut told: Vec<String> = losses.into_iter().take(MOST).map(|(_, told)| told).collect();
    if more > 0 {
        told.push(format!("{more} more group{}", if more == 1 { "" } else { "s" }));
    }
    (!told.is_empty()).then(|| format!("against {}: {}", found.point(base).scheduler, told.join(", ")))
}

/// By what factor a group is worse off where that is most, and all in which it is noticeably worse off.
fn loss(
    before: &GroupPoint,
    after: &GroupPoint,
    always: impl Fn(fn(&GroupPoint, &GroupPoint) -> bool) -> bool,
) -> Option<(f64, String)> {
    let mut parts: Vec<(f64, String)> = Vec::new();
    if always(|a, b| b.throughput_bps < (1.0 - LESS) * a.throughput_bps) {
        let factor = before.throughput_bps / after.throughput_bps.max(f64::MIN_POSITIVE);
        let [from, to] = [before, after].map(|group| rate(group.throughput_bps));
        parts.push((factor, format!("throughput {from} to {to}")));
    }
    if always(|a, b| b.lost > a.lost + LOST) {
        let factor = (1.0 - before.lost) / (1.0 - after.lost).max(f64::MIN_POSITIVE);
        parts.push((factor, format!("losses {} to {}", percent(before.lost), percent(after.lost))));
    }
    let latencies = [
        ("mean latency", before.mean_s.zip(after.mean_s), always(|a, b| later(a.mean_s, b.mean_s))),
        ("p99", before.p99_s.zip(after.p99_s), always(|a, b| later(a.p99_s, b.p99_s))),
    ];
    for (name, latency, noticeable) in latencies {
        if let (true, Some((from, to))) = (noticeable, latency) {
            parts.push((to / from, format!("{name} {} to {}", seconds(from), seconds(to))));
        }
    }
    let worst = parts.iter().map(|(factor, _)| *factor).reduce(f64::max)?;
    let parts: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
    let group = if after.group == NO_FLOW { NO_FLOW_PACKETS.into() } else { quoted(&after.group) };
    Some((worst, format!("{group} ({})", parts.join(", "))))
}

fn later(before: Option<f64>, after: Option<f64>) -> bool {
    before.zip(after).is_some_and(|(before, after)| after > (1.0 + LATER) * before)
}
