//! What a comparison shows, in sentences: who waits where nobody is protected, what fairness leaves idle, and what it
//! costs to use that.

use crate::behind::a_packet_of;
use crate::summary::{Group, Run, Summary};
use crate::table::{counted, percent, seconds};

/// Runs that do this part of what the fastest does are as fast: a table shows the same.
const AS_FAST: f64 = 0.9995;
/// Less than this much longer is not worth a sentence.
const WORTH: f64 = 1.03;
/// A group that waits this much longer under a scheduler that lets it starve is worth one.
const WAITS: f64 = 2.0;
/// Jain's indices this near are the same.
const AS_FAIR: f64 = 0.005;

/// Up to three sentences; none where there is nothing to tell.
pub fn story(summary: &Summary) -> Vec<String> {
    let mut sentences: Vec<String> = waits(&summary.runs).into_iter().collect();
    if let Some((fair, fast)) = fair_and_fast(&summary.runs) {
        sentences.extend(work(fair, fast));
        sentences.extend(price(fair, fast));
    }
    sentences
}

/// The group that waits longest where it starves, of what it waits where nobody does.
fn waits(runs: &[Run]) -> Option<String> {
    let starving = runs.iter().filter(|run| run.starving > 0).max_by_key(|run| run.starving)?;
    let others: Vec<&Run> = runs.iter().filter(|run| run.starving == 0).collect();
    let ratio = |k: &usize| -> Option<f64> {
        let best = others.iter().filter_map(|run| mean(&run.groups[*k])).fold(f64::INFINITY, f64::min);
        Some(mean(&starving.groups[*k])? / best).filter(|r| r.is_finite() && *r >= WAITS)
    };
    let starves = |k: &usize| starving.groups[*k].starving > 0;
    let worst = (0..starving.groups.len()).filter(starves).filter_map(|k| Some((k, ratio(&k)?)));
    let (group, _) = worst.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let under = |run: &&Run| Some(format!("{} under {}", seconds(mean(&run.groups[group])?), run.scheduler));
    let times: Vec<String> =
        std::iter::once(starving).chain(others.iter().copied()).filter_map(|r| under(&r)).collect();
    Some(format!("On average {} takes {}.", a_packet_of(&starving.groups[group].group), told_times(&times)))
}

/// As many as can be read in a sentence; the table has the others.
fn told_times(times: &[String]) -> String {
    const MOST: usize = 8;
    match times {
        [] => String::new(),
        [time] => time.clone(),
        [before @ .., last] if times.len() <= MOST => format!("{} and {last}", before.join(", ")),
        _ => format!("{}, and so on ({} more in the table)", times[..MOST].join(", "), times.len() - MOST),
    }
}

/// The fairest of the runs in which nobody starves, and the one that does the most, if it is not the same. Of several
/// that do as much it is the fairest.
fn fair_and_fast(runs: &[Run]) -> Option<(&Run, &Run)> {
    let safe = || runs.iter().filter(|run| run.starving == 0 && run.packets.delivered > 0);
    let jain = |run: &Run| run.fairness.as_ref().map(|f| f.jain);
    let fairest = safe().filter_map(jain).fold(f64::NAN, f64::max);
    let fair = safe().find(|run| jain(run).is_some_and(|j| j >= fairest - AS_FAIR))?;
    let fastest = safe().map(speed).fold(0.0, f64::max);
    let shared = |run: &Run| jain(run).unwrap_or(0.0);
    let fast = safe().filter(|run| speed(run) >= AS_FAST * fastest).max_by(|a, b| shared(a).total_cmp(&shared(b)))?;
    (speed(fast) >= WORTH * speed(fair)).then_some((fair, fast))
}

/// Packets delivered per second of makespan.
fn speed(run: &Run) -> f64 {
    run.makespan_s.filter(|&m| m > 0.0).map_or(0.0, |makespan| run.packets.delivered as f64 / makespan)
}

fn work(fair: &Run, fast: &Run) -> Option<String> {
    let (long, short) = (fair.makespan_s?, fast.makespan_s?);
    let done = if long >= WORTH * short {
        format!("{} finishes after {}, {} after {}", fast.scheduler, seconds(short), fair.scheduler, seconds(long))
    } else {
        let (more, less) = (fast.packets.delivered, fair.packets.delivered);
        format!("{} delivers {more} packets, and {} {less} in the same time", fast.scheduler, fair.scheduler)
    };
    let uses = fair.resources.0.iter().zip(&fast.resources.0).filter_map(|((name, before), (_, after))| {
        let (before, after) = (before.utilization, after.utilization);
        (after >= before + 0.01).then(|| (name, percent(after), percent(before)))
    });
    let in_words = |(k, (name, after, before)): (usize, (&String, String, String))| match k {
        0 => format!("the {name} busy for {after} of the time instead of {before}"),
        _ => format!("the {name} for {after} instead of {before}"),
    };
    let uses: Vec<String> = uses.enumerate().map(in_words).collect();
    Some(if uses.is_empty() { format!("{done}.") } else { format!("{done}: it keeps {}.", uses.join(", ")) })
}

/// The group whose wait grows by the largest factor.
fn price(fair: &Run, fast: &Run) -> Option<String> {
    let longer = |(before, after): (&Group, &Group)| {
        let (before, after) = (mean(before)?, mean(after)?);
        Some((before, after)).filter(|_| before > 0.0 && after >= WORTH * before)
    };
    let pairs = fair.groups.iter().zip(&fast.groups).filter_map(|pair| Some((&pair.0.group, longer(pair)?)));
    let (group, (before, after)) = pairs.max_by(|a, b| (a.1.1 / a.1.0).total_cmp(&(b.1.1 / b.1.0)))?;
    Some(format!(
        "The price: on average {} takes {} under {}, and {} under {}.",
        a_packet_of(group),
        seconds(after),
        fast.scheduler,
        seconds(before),
        fair.scheduler
    ))
}

fn mean(group: &Group) -> Option<f64> {
    group.latency_s.map(|latency| latency.mean)
}

/// What a reader should know besides: of one flow that is `alone`, or of series that are `truncated`.
pub fn notes(summary: &Summary, alone: bool, truncated: bool) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    if summary.runs.iter().all(|r| r.packets.offered == 0) {
        notes.push("no packets arrived".into());
    } else if alone {
        notes.push("only one flow, so jain has nothing to compare".into());
    } else if summary.runs.iter().all(|r| r.fairness.is_none()) {
        let interval = seconds(summary.scenario.interval_s);
        notes.push(format!(
            "no two flows were backlogged for a whole interval of {interval}, so jain has nothing to compare (a \
             smaller interval may help)"
        ));
    }
    if truncated {
        notes.push("too many intervals to keep: pictures and fairness show only the beginning".into());
    }
    if let Some(error) = summary.runs.iter().filter_map(|r| r.latency_error).reduce(f64::max) {
        // Rounded up.
        let percent = (1000.0 * error).ceil() / 10.0;
        notes.push(format!("with so many packets, p50 to p99 of latencies are within {percent:.1} %"));
    }
    notes.extend(summary.runs.iter().filter_map(|r| Some(r.steering.as_ref()?.told(&r.scheduler))));
    let cut_off = summary.runs.iter().filter(|r| r.end != "drained");
    notes.extend(cut_off.map(|r| {
        format!("{}: cut off with {} still in the box", r.scheduler, counted(r.packets.unfinished, "packet"))
    }));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Settings, compare};
    use crate::scenario::Scenario;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;

    fn summary(text: &str) -> Summary {
        let scenario = Scenario::parse("story.toml", text, &[], PathBuf::new()).unwrap();
        let cancel = AtomicBool::new(false);
        let settings = Settings { threads: 2, cancel: &cancel, progress: &|_| (), packet_log: 0 };
        Summary::new(&scenario, &compare(&scenario, &scenario.schedulers(), &settings).unwrap())
    }

    fn told(text: &str) -> Vec<String> {
        story(&summary(text))
    }

    #[test]
    fn the_story_has_the_numbers_of_the_run() {
        let demo = include_str!("../../../scenarios/demo.toml").replace("2 s", "0.2 s");
        let [waits, work, price] = &told(&demo)[..] else { panic!() };
        assert!(
            waits.starts_with("On average a packet of the group call takes ") && waits.contains(" under fifo, "),
            "{waits}"
        );
        assert!(
            work.starts_with("tradeoff:alpha=0.85 finishes after ") && work.contains("it keeps the cpu busy"),
            "{work}"
        );
        assert!(price.starts_with("The price: on average a packet of the group monitoring takes "), "{price}");
    }

    #[test]
    fn how_exact_latencies_are_is_noted_where_they_are_not() {
        let mut summary = summary(&include_str!("../../../scenarios/demo.toml").replace("2 s", "0.2 s"));
        assert_eq!((summary.runs[0].latency_error, notes(&summary, false, false)), (None, vec![]));
        (summary.runs[0].latency_error, summary.runs[1].latency_error) = (Some(1.0 / 1024.0), Some(1.0 / 512.0));
        let told = "with so many packets, p50 to p99 of latencies are within 0.2 %";
        assert_eq!(notes(&summary, false, false), [told]);
    }

    #[test]
    fn of_runs_that_are_as_fast_the_fairest_is_told() {
        let alphas = ["1", "0.6", "0.85", "0.5", "0.7"].map(|alpha| format!("\"tradeoff:alpha={alpha}\""));
        let first = include_str!("../../../scenarios/first.toml").replace("\"1 s\"", "\"0.2 s\"");
        let flows: String = first.lines().filter(|l| !l.starts_with("schedulers")).map(|l| format!("{l}\n")).collect();
        let told = told(&format!("schedulers = [\"fifo\", \"drfq\", {}]\n{flows}", alphas.join(", ")));
        let work = told.iter().find(|sentence| sentence.contains(" finishes after ")).unwrap();
        assert!(work.starts_with("tradeoff:alpha=0.85 finishes after "), "{work}");
    }

    #[test]
    fn all_waits_are_told_but_for_many() {
        let times = |n: usize| told_times(&(1..=n).map(|k| format!("{k} ms under s{k}")).collect::<Vec<_>>());
        assert_eq!(times(2), "1 ms under s1 and 2 ms under s2");
        assert!(times(8).ends_with(", 7 ms under s7 and 8 ms under s8"));
        assert!(times(10).ends_with(", 8 ms under s8, and so on (2 more in the table)"));
    }

    #[test]
    fn where_nothing_differs_nothing_is_told() {
        let one = include_str!("../../../scenarios/demo.toml").replace("2 s", "0.2 s");
        let one: String = one.lines().filter(|l| !l.starts_with("schedulers")).collect::<Vec<_>>().join("\n");
        assert_eq!(told(&format!("schedulers = [\"drfq\"]\n{one}")), [""; 0]);
    }
}
