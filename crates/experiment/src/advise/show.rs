//! Advice as text, tables and a picture.

use std::fmt::Display;

use dovetail_figure::{Column, FigureError, Overview, overview};

use super::point::{Chance, Point};
use super::words::{change, instead_of_nothing};
use super::{Advice, Otherwise, who};
use crate::statistics::Estimate;
use crate::table::{Cell, Grid, percent, rate, seconds, wrapped};

/// A throughput that changes by less than this part is the same.
const LEAST: f64 = 1e-3;
/// Most groups in the table of groups.
pub(super) const MOST_GROUPS: usize = 12;

/// All of it, for a terminal of this width.
pub fn text(advice: &Advice, width: u16) -> String {
    let mut text: String = answer(advice).iter().map(|line| wrapped(line, width) + "\n").collect();
    for grid in [marked(grid(advice), &advice.scheduler), groups(advice, MOST_GROUPS)] {
        text.push_str(&format!("\n{}\n", grid.fitted(width)));
    }
    for note in notes(advice).into_iter().chain(meanings(&columns(advice))) {
        text.push_str(&format!("\n{}", wrapped(&note, width)));
    }
    text.push_str(&format!("\n\n{}\n\n  {}", advice.for_live_box(), advice.configuration));
    text
}

/// What stands above the lines for a live box, by whether they reach all goals, and whether traffic comes faster than
/// it did.
pub(super) fn for_live_box(reached: bool, faster: bool) -> &'static str {
    match (reached, faster) {
        (true, false) => "For a live box:",
        (true, true) => "For a live box under that much traffic:",
        (false, false) => "What comes nearest, for a live box:",
        (false, true) => "What comes nearest, for a live box under that much traffic:",
    }
}

/// What the table of all candidates says.
pub(super) fn caption(advised: &str, reached: bool) -> String {
    format!("All that was tried: {advised} {}", if reached { "is advised" } else { "comes nearest" })
}

/// What the columns mean that tables of runs do not have.
pub fn columns(advice: &Advice) -> [(&'static str, String); 6] {
    let infinite = advice.points.iter().any(|tried| tried.gain_over_fair.mean.is_infinite());
    let gain = format!(
        "in throughput over {}, the fair scheduler that moves most on average over the runs; in the input as it is it \
         may be another one{}",
        advice.fair,
        if infinite { "; from 0 where that moves nothing" } else { "" }
    );
    [
        ("gain", gain),
        ("used", "busy part of the time in which packets were in the box".into()),
        ("p99", "time in the box that 99 of 100 packets did not exceed".into()),
        (
            "starving",
            "flows behind what the scheduler promises, which is the fair share, or alpha of it under tradeoff, by more \
             than waiting for a turn explains"
                .into(),
        ),
        ("short", "flows as much behind their whole fair share".into()),
        ("behind", "how much later than by its whole fair share a packet left, at worst".into()),
    ]
}

/// The same in sentences.
pub(super) fn meanings<'a>(columns: &'a [(&str, impl Display)]) -> impl Iterator<Item = String> + 'a {
    columns.iter().map(|(word, meaning)| format!("{word}: {meaning}."))
}

/// The answer in sentences: what is short, what to use, what that gains, who pays, and how it changes under other
/// circumstances.
pub fn answer(advice: &Advice) -> Vec<String> {
    let changed = changed(&advice.otherwise, (&advice.scheduler, advice.reached()), &advice.today);
    let told = std::iter::once(&advice.short).chain(&advice.sentences).chain(&advice.hint);
    told.cloned().chain(changed).collect()
}

/// What is known of chance, and what goals are held against.
pub fn notes(advice: &Advice) -> Vec<String> {
    let mut notes = vec![certainty(advice)];
    notes.push("Numbers with ± are averages over the runs; all others are those of the input as it is.".into());
    let goals = "Goals are judged by the average over the runs.";
    notes.extend((!advice.goals.is_empty()).then(|| goals.to_string()));
    notes.push(who::meaning());
    let cheap = "Those that share fairly are mr3, drfq and tradeoff:alpha=1, the cheapest to run first: docs/choose.md \
        has their nanoseconds per packet.";
    notes.push(cheap.into());
    notes
}

/// What would be advised otherwise, beside what is, and whether that reaches the goals.
pub(super) fn changed(otherwise: &[Otherwise], (advised, reached): (&str, bool), today: &str) -> Vec<String> {
    let sentence = |otherwise: &Otherwise| {
        let then = match &*otherwise.scheduler {
            scheduler if scheduler == today => format!("keep {scheduler}"),
            scheduler => {
                let is_same = scheduler == advised && otherwise.reached.is_none_or(|then| then && reached);
                let name = if is_same { "the same advice" } else { scheduler };
                let why = otherwise.why.as_ref().map_or(String::new(), |why| format!(", and {why}"));
                format!("{name} ({}{why})", throughput(otherwise.gain, today))
            }
        };
        let then = match otherwise.reached {
            Some(false) => format!("out of reach; nearest is {then}"),
            Some(true) if !reached && otherwise.scheduler == today => format!("within reach; {then}"),
            Some(true) if !reached => format!("within reach, by {then}"),
            _ => then,
        };
        format!("If {}: {then}.", otherwise.circumstances)
    };
    otherwise.iter().map(sentence).collect()
}

/// How much more or less is moved than by today's.
fn throughput(gain: Estimate, today: &str) -> String {
    match gain.mean {
        any if any.is_infinite() => format!("it moves {}", instead_of_nothing(today)),
        nothing if nothing.abs() < LEAST => format!("it moves as much as {today}"),
        some if gain.ci95.is_some_and(|half| some.abs() <= half) => {
            format!("throughput does not differ measurably from {today}'s")
        }
        more if more > 0.0 => format!("it moves {} more than {today}", change(gain)),
        less => format!("it moves {} less than {today}", change(Estimate { mean: -less, ..gain })),
    }
}

/// What is known of chance.
fn certainty(advice: &Advice) -> String {
    let runs = advice.runs;
    match advice.differ_in {
        Chance::Seeds => format!(
            "Each was run {runs} times, with different seeds. A change counts only if every run shows it, and a gain \
             only if it is larger than its ±, the 95 % confidence interval."
        ),
        Chance::Pieces => format!(
            "Each was run {runs} times: on the capture as it is, and on others made of twenty pieces of it, drawn at \
             random. A change counts only if every run shows it, and a gain only if it is larger than its ±: how far \
             off another such capture may be (95 %)."
        ),
        Chance::Loads => format!(
            "Nothing here is random, so each was run {runs} times, with loads that differ by up to 2 %. A change \
             counts only if every run shows it, and a gain only if it is larger than its ±: how far off another such \
             load may be (95 %)."
        ),
    }
}

/// A row per candidate.
pub fn grid(advice: &Advice) -> Grid {
    let mut header = vec!["scheduler".to_string(), "throughput".into(), "gain".into()];
    header.extend(advice.resources.iter().map(|name| format!("{name} used")));
    header.extend(["lost", "p99", "starving", "short", "behind"].map(String::from));
    let rows = advice.points.iter().map(|tried| {
        let (point, gain) = (&tried.point, tried.gain_over_fair);
        let mut row = vec![Cell::text(&point.scheduler), Cell::number(point.throughput_bps, rate)];
        row.push(Cell { text: change(gain), exact: Some(gain.mean).filter(|mean| mean.is_finite()) });
        row.extend(point.utilization.iter().map(|&part| Cell::number(part, percent)));
        row.extend([Cell::number(point.lost, percent), Cell::number(point.p99_s, seconds)]);
        row.extend([point.starving, point.short].map(|flows| Cell::number(flows as f64, |flows| flows.to_string())));
        row.push(Cell::number(point.behind_s, seconds));
        row
    });
    Grid { header, texts: 1, rows: rows.collect(), optional: vec!["behind", "lost", "p99"] }
}

/// A table with a mark at what is advised.
pub(super) fn marked(mut grid: Grid, advised: &str) -> Grid {
    for name in grid.rows.iter_mut().filter_map(|row| row.first_mut()) {
        let mark = if name.text == advised { "> " } else { "  " };
        name.text.insert_str(0, mark);
    }
    grid
}

/// A row per group, of at most so many, under today's, the best that shares fairly, and the advised one.
pub fn groups(advice: &Advice, most: usize) -> Grid {
    let header = ["group", "scheduler", "throughput", "lost", "latency mean", "p99"].map(String::from);
    let shown = [&advice.today, &advice.fair, &advice.scheduler];
    let points: Vec<&Point> =
        (advice.points.iter().map(|tried| &tried.point)).filter(|point| shown.contains(&&point.scheduler)).collect();
    let groups = points.first().map_or(&[][..], |point| &point.groups);
    let mut rows = Vec::new();
    for (index, group) in groups.iter().enumerate().take(most) {
        for (k, point) in points.iter().enumerate() {
            let values = &point.groups[index];
            rows.push(vec![
                Cell::text(if k == 0 { &*group.group } else { "" }),
                Cell::text(&point.scheduler),
                Cell::number(values.throughput_bps, rate),
                Cell::number(values.lost, percent),
                Cell::number(values.mean_s, seconds),
                Cell::number(values.p99_s, seconds),
            ]);
        }
    }
    Grid { header: header.into(), texts: 2, rows, optional: vec!["p99", "lost"] }
}

/// What every candidate made of the input, as a picture: bars with their numbers.
///
/// # Errors
/// If it cannot be drawn.
pub fn picture(advice: &Advice) -> Result<String, FigureError> {
    let column = |heading: String, group: Option<&str>, full, value: &dyn Fn(&Point) -> Option<f64>, shown: Shown| {
        let values = advice.points.iter().map(|tried| value(&tried.point).map(|v| (v, shown(v))));
        Column { heading, group: group.map(String::from), full, values: values.collect() }
    };
    let mut totals = vec![column("throughput".into(), None, None, &|point| Some(point.throughput_bps), rate)];
    totals.extend(advice.resources.iter().enumerate().map(|(k, name)| {
        column(format!("{name} used"), None, Some(1.0), &|point| point.utilization.get(k).copied(), percent)
    }));
    let groups = advice.points.first().map_or(&[][..], |tried| &tried.point.groups);
    let p99 = groups.iter().enumerate().map(|(k, group)| {
        let value = |point: &Point| point.groups.get(k).and_then(|group| group.p99_s);
        column(format!("{}: p99", group.group), Some(&group.group), None, &value, seconds)
    });
    overview(&Overview {
        title: advice.input.clone(),
        schedulers: advice.points.iter().map(|tried| tried.point.scheduler.clone()).collect(),
        bands: vec![totals, p99.collect()],
        note: Some("p99: the time within which 99 of 100 packets of a group left.".into()),
    })
}

/// How a number is written.
type Shown = fn(f64) -> String;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_circumstances_put_in_reach_is_told() {
        let told = |then: bool, now: bool, scheduler: &str| {
            let scheduler = scheduler.to_string();
            let gain = Estimate { mean: 0.0, ci95: None };
            let otherwise = Otherwise { circumstances: "costs fall", scheduler, gain, why: None, reached: Some(then) };
            changed(&[otherwise], ("mr3", now), "fifo").remove(0)
        };
        assert_eq!(told(true, true, "mr3"), "If costs fall: the same advice (it moves as much as fifo).");
        assert_eq!(told(true, false, "mr3"), "If costs fall: within reach, by mr3 (it moves as much as fifo).");
        assert_eq!(told(true, false, "fifo"), "If costs fall: within reach; keep fifo.");
        assert_eq!(told(false, true, "mr3"), "If costs fall: out of reach; nearest is mr3 (it moves as much as fifo).");
    }
}
