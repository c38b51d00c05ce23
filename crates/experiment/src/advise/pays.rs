//! Who pays, and how much.

use super::Found;
use super::point::GroupPoint;
use crate::behind::{NO_FLOW_PACKETS, listed, quoted};
use crate::scenario::NO_FLOW;
use crate::table::{percent, rate, seconds};

/// A group pays whose throughput falls by more than this part.
const LESS: f64 = 0.05;
/// Or whose part of lost packets grows by more than this: half a percentage point.
const LOST: f64 = 0.005;
/// Or whose mean or 99th percentile of latencies grows by more than this part.
const LATER: f64 = 0.1;
/// Most groups that a sentence names for one comparison.
const MOST: usize = 3;

/// Everybody who pays against today's and against the best that shares fairly, the worst first: what every run shows,
/// with the numbers of the input as it is.
pub(super) fn sentence(found: &Found<'_>) -> String {
    let mut bases = vec![found.candidates.today, found.strict()];
    bases.dedup();
    bases.retain(|&base| base != found.chosen());
    if bases.is_empty() {
        return "Nobody pays.".into();
    }
    let parts: Vec<Option<String>> = bases.iter().map(|&base| against(found, base)).collect();
    let none = format!(
        "by more than {:.0} % of throughput, {:.0} % of latency or half a percentage point of loss",
        100.0 * LESS,
        100.0 * LATER
    );
    let name = |base: &usize| found.point(*base).scheduler.clone();
    if parts.iter().all(Option::is_none) {
        let bases = listed(&bases.iter().map(name).collect::<Vec<_>>(), "and");
        let always = if found.runs.count() > 1 { " in every run" } else { "" };
        return format!("Against {bases} no group is worse off {none}{always}.{}", once(found));
    }
    let told = |(part, base): (Option<String>, &usize)| {
        part.unwrap_or_else(|| format!("against {}: nobody {none}", name(base)))
    };
    let parts: Vec<String> = parts.into_iter().zip(&bases).map(told).collect();
    format!("Who pays {}.{}", parts.join("; "), once(found))
}

/// The group that loses more packets than today in the input as it is, by most, if not in every run.
fn once(found: &Found<'_>) -> String {
    let today = found.candidates.today;
    let [before, after] = [today, found.chosen()].map(|index| &found.point(index).groups);
    let more = |group: usize| after[group].lost - before[group].lost;
    let always = |&group: &usize| {
        found.runs.always(|run| run[found.chosen()].groups[group].lost > run[today].groups[group].lost + LOST)
    };
    let others = (0..before.len()).filter(|&group| more(group) > LOST).filter(|group| !always(group));
    others.max_by(|&a, &b| more(a).total_cmp(&more(b))).map_or(String::new(), |group| {
        let [from, to] = [before, after].map(|groups| percent(groups[group].lost));
        let (packets, today) = (packets_of(&after[group].group), &found.point(today).scheduler);
        format!(" In the input as it is, {to} of {packets} are lost instead of {from} under {today}.")
    })
}

fn packets_of(group: &str) -> String {
    if group == NO_FLOW { NO_FLOW_PACKETS.into() } else { format!("{}'s packets", quoted(group)) }
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
        parts.push((factor, format!("throughput down from {from} to {to}")));
    }
    if always(|a, b| b.lost > a.lost + LOST) {
        let factor = (1.0 - before.lost) / (1.0 - after.lost).max(f64::MIN_POSITIVE);
        parts.push((factor, format!("losses up from {} to {}", percent(before.lost), percent(after.lost))));
    }
    let latencies = [
        ("mean latency", before.mean_s.zip(after.mean_s), always(|a, b| later(a.mean_s, b.mean_s))),
        ("p99", before.p99_s.zip(after.p99_s), always(|a, b| later(a.p99_s, b.p99_s))),
    ];
    for (name, latency, noticeable) in latencies {
        if let (true, Some((from, to))) = (noticeable, latency) {
            parts.push((to / from, format!("{name} up from {} to {}", seconds(from), seconds(to))));
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

#[cfg(test)]
mod tests {
    use super::super::decide::{Candidates, Choice};
    use super::super::point::{Chance, Point, Runs};
    use super::super::words;
    use super::*;
    use crate::scenario::Scenario;

    const TWO: &str = r#"
        [[resource]]
        name = "cpu"
        [[resource]]
        name = "link"
        rate = "100 Mbps"
        [[class]]
        name = "c"
        cost = { cpu = "1 us" }
        [[flows]]
        class = "c"
        rate = "1 pps"
        size = "100 B"
        stop = "1 s"
    "#;

    /// Who pays, and what giving up fairness would bring, where the one at `chosen` of fifo, mr3, drfq and alpha = 0.5
    /// is used. Each has this latency and loss; drfq moves most of the fair ones, and alpha a little more.
    fn told(chosen: usize, latencies: [f64; 4], losses: [f64; 4]) -> [String; 2] {
        let scenario = Scenario::parse("test.toml", TWO, &[], std::path::PathBuf::new()).unwrap();
        let names = ["fifo", "mr3", "drfq", "tradeoff:alpha=0.5"];
        let point = |k: usize| {
            let group = GroupPoint {
                group: NO_FLOW.into(),
                throughput_bps: 1e6,
                lost: losses[k],
                mean_s: Some(latencies[k]),
                p99_s: Some(latencies[k]),
            };
            Point {
                scheduler: names[k].into(),
                throughput_bps: [1e6, 1e6, 1.001e6, 1.01e6][k],
                groups: vec![group],
                ..Point::default()
            }
        };
        let runs = Runs::new(vec![(0..4).map(point).collect()], Chance::Seeds);
        let candidates = Candidates { today: 0, fair: vec![1, 2], alphas: vec![3] };
        let found = Found { scenario: &scenario, runs, candidates, wanted: Vec::new(), choice: Choice::Fair(chosen) };
        let [what, _, pays] = words::sentences(&found);
        [what, pays]
    }

    #[test]
    fn a_fair_one_has_its_price_against_the_best_fair_one() {
        let [what, pays] = told(1, [1.0, 0.8, 0.5, 0.5], [0.0; 4]);
        let nobody = "nobody by more than 5 % of throughput, 10 % of latency or half a percentage point of loss";
        let slower = "the packets without a flow (mean latency up from 500.0 ms to 800.0 ms, p99 up from 500.0 ms to \
            800.0 ms)";
        assert_eq!(pays, format!("Who pays against fifo: {nobody}; against drfq: {slower}."));
        assert!(what.ends_with("tradeoff:alpha=0.5 moves 0.9 % more bits per second than drfq."), "{what}");
        let [what, pays] = told(2, [1.0, 0.8, 0.5, 0.5], [0.0; 4]);
        let none = nobody.replace("nobody", "no group is worse off");
        assert_eq!(pays, format!("Against fifo {none}."), "nobody is held against itself");
        assert!(what.ends_with("more bits per second than drfq."), "{what}");
        assert_eq!(told(1, [1.0; 4], [0.0; 4])[1], format!("Against fifo and drfq {none}."));
    }

    #[test]
    fn losses_count_from_half_a_percentage_point() {
        let [_, pays] = told(1, [1.0; 4], [0.39, 0.396, 0.39, 0.39]);
        let lost = "the packets without a flow (losses up from 39.0 % to 39.6 %)";
        assert_eq!(pays, format!("Who pays against fifo: {lost}; against drfq: {lost}."));
        assert!(told(1, [1.0; 4], [0.39, 0.394, 0.39, 0.39])[1].contains("no group is worse off"));
    }

    #[test]
    fn packets_without_a_flow_are_no_group_with_packets() {
        assert_eq!(packets_of(NO_FLOW), "the packets without a flow");
        assert_eq!(packets_of("call"), "call's packets");
        assert_eq!(words::whose(NO_FLOW, "latency"), "the latency of the packets without a flow");
    }
}
