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
    let parts: Vec<Option<String>> = bases.iter().map(|&base| against(found, base)).collect();
    let none = || format!("by more than {:.0} % of throughput or {:.0} % of latency", 100.0 * LESS, 100.0 * LATER);
    if parts.iter().all(Option::is_none) {
        return match found.runs.count() > 1 {
            true => format!("No group is worse off {} in every run.{}", none(), once(found, bases)),
            false => format!("No group is worse off {}.", none()),
        };
    }
    let told = |(part, &base): (Option<String>, &usize)| {
        part.unwrap_or_else(|| format!("against {}: nobody {}", found.point(base).scheduler, none()))
    };
    let parts: Vec<String> = parts.into_iter().zip(bases).map(told).collect();
    format!("Who pays {}.{}", parts.join("; "), once(found, bases))
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
    let mut losses: Vec<(f64, String, String)> = (0..found.point(base).groups.len())
        .filter_map(|group| {
            let always = |is_so: fn(&GroupPoint, &GroupPoint) -> bool| {
                found.runs.always(|run| is_so(&run[base].groups[group], &run[chosen].groups[group]))
            };
            loss(&found.point(base).groups[group], &found.point(chosen).groups[group], always)
        })
        .collect();
    losses.sort_by(|a, b| b.0.total_cmp(&a.0));
    let rest = losses.split_off(losses.len().min(MOST));
    let mut told: Vec<String> = losses.into_iter().map(|(_, group, parts)| format!("{group} ({parts})")).collect();
    if !rest.is_empty() {
        let rest: Vec<String> = rest.into_iter().map(|(_, group, _)| group).collect();
        told.push(format!("and less so {}", rest.join(", ")));
    }
    (!told.is_empty()).then(|| format!("against {}: {}", found.point(base).scheduler, told.join(", ")))
}

/// By what factor a group is worse off where that is most, its name, and all in which it is noticeably worse off.
fn loss(
    before: &GroupPoint,
    after: &GroupPoint,
    always: impl Fn(fn(&GroupPoint, &GroupPoint) -> bool) -> bool,
) -> Option<(f64, String, String)> {
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
    let group = if after.group == NO_FLOW { NO_FLOW_PACKETS.into() } else { quoted(&after.group).into_owned() };
    Some((worst, group, parts.join(", ")))
}

fn later(before: Option<f64>, after: Option<f64>) -> bool {
    before.zip(after).is_some_and(|(before, after)| after > (1.0 + LATER) * before)
}
