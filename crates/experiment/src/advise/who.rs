//! Who gains, who pays, and how much.

use super::Found;
use super::point::{GroupPoint, Point};
use super::words::{named, some};
use crate::behind::listed;
use crate::table::{percent, rate, seconds};

/// A group gains or pays whose throughput is higher or lower by more than this part.
const THROUGHPUT: f64 = 0.05;
/// Or whose part of lost packets is so much lower or higher: half a percentage point.
const LOST: f64 = 0.005;
/// Or whose mean or 99th percentile of latencies is lower or higher by more than this part.
const LATENCY: f64 = 0.1;
/// Most groups that a sentence names with numbers for one comparison.
const MOST: usize = 3;

/// Who is said to gain or to pay.
pub(super) fn meaning() -> String {
    format!(
        "Who gains or pays: a group whose throughput differs by {:.0} %, whose mean latency or p99 by {:.0} %, or \
         whose losses by half a percentage point.",
        100.0 * THROUGHPUT,
        100.0 * LATENCY
    )
}

/// Everybody who gains in every run against today's, and who gains besides in the input as it is; empty if nobody
/// does. Those who gain most come first. All numbers are of the input as it is.
pub(super) fn gains(found: &Found<'_>) -> String {
    let always = changes(found, found.candidates.today, Way::Better, |is_so| found.runs.always(is_so));
    let always = match always.is_empty() {
        true => format!("Nobody gains{}.", every(found)),
        false => format!("Who gains{}: {}.", every(found), told(&always)),
    };
    match once(found, Way::Better) {
        once if once.is_empty() => always,
        once => format!("{always} In the input as it is, but not in every run: {}.", told(&once)),
    }
}

/// Who changes this way against today's in the input as it is, but not in every run.
fn once(found: &Found<'_>, way: Way) -> Vec<Change> {
    changes(found, found.candidates.today, way, |is_so| is_so(found.runs.first()) && !found.runs.always(is_so))
}

/// Everybody who pays in every run, against today's and against the best that shares fairly; and who pays besides
/// against today's in the input as it is. Those who pay most come first. All numbers are of the input as it is.
pub(super) fn pays(found: &Found<'_>) -> String {
    let today = found.candidates.today;
    let mut bases = vec![today, found.strict()];
    bases.dedup();
    bases.retain(|&base| base != found.chosen());
    if bases.is_empty() {
        return "Nobody pays.".into();
    }
    let names: Vec<&str> = bases.iter().map(|&base| &*found.point(base).scheduler).collect();
    let always = bases.iter().map(|&base| changes(found, base, Way::Worse, |is_so| found.runs.always(is_so)));
    let always: Vec<Vec<Change>> = always.collect();
    let paying = match always.iter().all(Vec::is_empty) {
        true => format!("Nobody pays{}, against {}.", every(found), names.join(" or ")),
        false => {
            let against = |(changes, name): (&Vec<Change>, &&str)| format!("against {name}: {}", told(changes));
            let parts: Vec<String> = always.iter().zip(&names).map(against).collect();
            format!("Who pays{}, {}.", every(found), parts.join("; "))
        }
    };
    let name = &found.point(today).scheduler;
    let once = match once(found, Way::Worse) {
        once if once.is_empty() => String::new(),
        once => format!(" In the input as it is, but not in every run, against {name}: {}.", told(&once)),
    };
    let no_more = !found.runs.gains(found.chosen(), today);
    let later = found.runs.always(|run| {
        let p99 = |index: usize| run[index].p99_s;
        p99(today).zip(p99(found.chosen())).is_some_and(|(a, b)| Way::Worse.differs(a, b, LATENCY, false))
    });
    let keep = format!(" If the p99 of all packets together matters more than who waits, keep {name}.");
    format!("{paying}{once}{}", if later && no_more { &keep } else { "" })
}

fn every(found: &Found<'_>) -> &'static str {
    if found.runs.count() > 1 { " in every run" } else { "" }
}

/// Which changes are looked for.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Better,
    Worse,
}

impl Way {
    /// Whether the second is higher by more than this part, where `is_good` says whether more is better; or lower.
    fn differs(self, before: f64, after: f64, part: f64, is_good: bool) -> bool {
        match (self == Self::Better) == is_good {
            true => after > (1.0 + part) * before,
            false => after < (1.0 - part) * before,
        }
    }

    /// Up or down, where `is_good` says whether more is better.
    fn direction(self, is_good: bool) -> &'static str {
        if (self == Self::Better) == is_good { "up" } else { "down" }
    }
}

/// A group that gains or pays.
struct Change {
    /// Its name and its part of all bits, as in a sentence.
    name: String,
    /// By what factor it changes where that is most.
    factor: f64,
    /// All in which it changes noticeably.
    parts: Vec<String>,
}

fn told(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "nobody".into();
    }
    let (first, rest) = changes.split_at(changes.len().min(MOST));
    let told = first.iter().map(|change| format!("{} ({})", change.name, change.parts.join(", ")));
    let mut told: Vec<String> = told.collect();
    let rest: Vec<String> = rest.iter().map(|change| change.name.clone()).collect();
    told.extend((!rest.is_empty()).then(|| format!("less so {}", listed(&rest, "and"))));
    listed(&told, "and")
}

/// Who changes this way against this one, the most first, where `shown` says whether the runs that count show it.
fn changes(found: &Found<'_>, base: usize, way: Way, shown: impl Fn(&dyn Fn(&[Point]) -> bool) -> bool) -> Vec<Change> {
    let chosen = found.chosen();
    let all = found.point(base).groups.iter().map(|group| group.throughput_bps).sum();
    let mut changes: Vec<Change> = (0..found.point(base).groups.len())
        .filter_map(|group| {
            let shown = |is_so: &dyn Fn(&GroupPoint, &GroupPoint) -> bool| {
                shown(&|run: &[Point]| is_so(&run[base].groups[group], &run[chosen].groups[group]))
            };
            change([base, chosen].map(|index| &found.point(index).groups[group]), all, way, shown)
        })
        .collect();
    changes.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    changes
}

fn change(
    [before, after]: [&GroupPoint; 2],
    all_bps: f64,
    way: Way,
    shown: impl Fn(&dyn Fn(&GroupPoint, &GroupPoint) -> bool) -> bool,
) -> Option<Change> {
    let mut parts: Vec<(f64, String)> = Vec::new();
    let factor = |a: f64, b: f64| f64::max(a / b.max(f64::MIN_POSITIVE), b / a.max(f64::MIN_POSITIVE));
    if shown(&|a, b| way.differs(a.throughput_bps, b.throughput_bps, THROUGHPUT, true)) {
        let [from, to] = [before, after].map(|group| rate(group.throughput_bps));
        let factor = factor(before.throughput_bps, after.throughput_bps);
        parts.push((factor, format!("throughput {} from {from} to {to}", way.direction(true))));
    }
    let lost = |a: &GroupPoint, b: &GroupPoint| match way {
        Way::Better => b.lost < a.lost - LOST,
        Way::Worse => b.lost > a.lost + LOST,
    };
    if shown(&lost) {
        let [from, to] = [before, after].map(|group| percent(group.lost));
        let factor = factor(1.0 - before.lost, 1.0 - after.lost);
        parts.push((factor, format!("losses {} from {from} to {to}", way.direction(false))));
    }
    for (k, name) in ["mean latency", "p99"].into_iter().enumerate() {
        let pair = |a: &GroupPoint, b: &GroupPoint| [a.mean_s.zip(b.mean_s), a.p99_s.zip(b.p99_s)][k];
        let differs =
            |a: &GroupPoint, b: &GroupPoint| pair(a, b).is_some_and(|(a, b)| way.differs(a, b, LATENCY, false));
        if let (true, Some((from, to))) = (shown(&differs), pair(before, after)) {
            let told = format!("{name} {} from {} to {}", way.direction(false), seconds(from), seconds(to));
            parts.push((factor(from, to), told));
        }
    }
    let factor = parts.iter().map(|(factor, _)| *factor).reduce(f64::max)?;
    let parts = parts.into_iter().map(|(_, part)| part).collect();
    let part = some(before.throughput_bps / all_bps.max(f64::MIN_POSITIVE));
    Some(Change { name: format!("{} with {part} of the bits", named(&before.group)), factor, parts })
}

#[cfg(test)]
mod tests {
    use super::super::decide::{Candidates, Choice};
    use super::super::point::{Chance, Runs};
    use super::super::words;
    use super::*;
    use crate::scenario::{NO_FLOW, Scenario};

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

    /// What is used and who pays, where the one at `chosen` of fifo, mr3, drfq and alpha = 0.5 is used. Each has this
    /// latency and loss; drfq moves most of the fair ones, and alpha a little more.
    fn told(chosen: usize, latencies: [f64; 4], losses: [f64; 4]) -> [String; 2] {
        told_of(chosen, &[(latencies, losses)])
    }

    /// The same of several runs.
    fn told_of(chosen: usize, runs: &[([f64; 4], [f64; 4])]) -> [String; 2] {
        let scenario = Scenario::parse("test.toml", TWO, &[], std::path::PathBuf::new()).unwrap();
        let names = ["fifo", "mr3", "drfq", "tradeoff:alpha=0.5"];
        let point = |k: usize, (latencies, losses): ([f64; 4], [f64; 4])| {
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
        let runs = runs.iter().map(|&run| (0..4).map(|k| point(k, run)).collect());
        let runs = Runs::new(runs.collect(), Chance::Seeds);
        let candidates = Candidates { today: 0, fair: vec![1, 2], alphas: vec![3] };
        let found = Found { scenario: &scenario, runs, candidates, wanted: Vec::new(), choice: Choice::Fair(chosen) };
        let [what, _, pays] = words::sentences(&found);
        [what, pays]
    }

    #[test]
    fn a_fair_one_has_its_price_against_the_best_fair_one() {
        let [what, pays] = told(1, [1.0, 0.8, 0.5, 0.5], [0.0; 4]);
        let slower = "the packets without a flow with 100.0 % of the bits (mean latency up from 500.0 ms to \
            800.0 ms, p99 up from 500.0 ms to \
            800.0 ms)";
        assert_eq!(pays, format!("Who pays, against fifo: nobody; against drfq: {slower}."));
        assert!(what.contains("tradeoff:alpha=0.5 moves 0.9 % more bits per second than drfq, and 2 %"), "{what}");
        let [what, pays] = told(2, [1.0, 0.8, 0.5, 0.5], [0.0; 4]);
        assert_eq!(pays, "Nobody pays, against fifo.", "nobody is held against itself");
        assert!(what.contains("more bits per second than drfq, and 2 %"), "{what}");
        assert_eq!(told(1, [1.0; 4], [0.0; 4])[1], "Nobody pays, against fifo or drfq.");
    }

    #[test]
    fn why_a_cheaper_one_is_not_used_is_told() {
        let [what, _] = told(1, [4.0, 1.0, 0.5, 0.5], [0.0; 4]);
        assert!(what.contains("the cheapest to run of those that do; giving up"), "{what}");
        let [what, _] = told(2, [1.0, 0.8, 0.5, 0.5], [0.0; 4]);
        assert!(
            what.contains("well enough (p99 is longer for the packets without a flow under mr3); giving up"),
            "{what}"
        );
    }

    #[test]
    fn losses_count_from_half_a_percentage_point() {
        let [_, pays] = told(1, [1.0; 4], [0.39, 0.396, 0.39, 0.39]);
        let lost = "the packets without a flow with 100.0 % of the bits (losses up from 39.0 % to 39.6 %)";
        assert_eq!(pays, format!("Who pays, against fifo: {lost}; against drfq: {lost}."));
        assert!(told(1, [1.0; 4], [0.39, 0.394, 0.39, 0.39])[1].starts_with("Nobody pays"));
    }

    #[test]
    fn what_only_the_input_as_it_is_shows_is_told_besides() {
        let run = |latencies: [f64; 4]| (latencies, [0.0; 4]);
        let [_, pays] = told_of(1, &[run([0.5, 1.0, 1.0, 1.0]), run([1.0; 4])]);
        assert_eq!(
            pays,
            "Nobody pays in every run, against fifo or drfq. In the input as it is, but not in every run, against \
             fifo: the packets without a flow with 100.0 % of the bits (mean latency up from 500.0 ms to 1.000 s, p99 \
             up from 500.0 ms to 1.000 s)."
        );
    }

    #[test]
    fn packets_without_a_flow_are_no_group_with_packets() {
        assert_eq!(named(NO_FLOW), "the packets without a flow");
        assert_eq!(words::whose(NO_FLOW, "latency"), "the latency of the packets without a flow");
    }
}
