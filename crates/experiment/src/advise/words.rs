//! Advice in words.

use super::decide::{Candidates, Choice};
use super::goal::{self, Wanted};
use super::{Advice, GroupPoint, Otherwise, Point};
use crate::scenario::Scenario;
use crate::statistics::Estimate;
use crate::table::{Cell, Grid, percent, rate, seconds, wrapped};

/// A part below this is nothing.
const LEAST: f64 = 1e-3;
/// A throughput or latency that changes by no more than this part is the same.
const SAME: f64 = 0.05;

/// What to use, what it gains against today's, and who pays.
pub(super) fn sentences(
    scenario: &Scenario,
    points: &[Point],
    candidates: &Candidates,
    (choice, wanted): (Choice, &[Wanted]),
    [gain, over_fair]: [Estimate; 2],
) -> [String; 3] {
    let (today, chosen) = (&points[candidates.today], &points[choice.index(candidates.today)]);
    let strict = &points[candidates.strict(points)];
    let [least, most] = candidates.range(points);
    let to_gain = if least > 0.0 { most / least - 1.0 } else { 0.0 };
    match choice {
        Choice::Today => [
            format!(
                "Keep {}: nobody starves, and nothing else moves noticeably more or halves anybody's latency.",
                today.scheduler
            ),
            format!(
                "The most that another scheduler moves is {} more.",
                percent((most / today.throughput_bps - 1.0).max(0.0))
            ),
            "Nobody pays.".into(),
        ],
        Choice::Fair(_) => [
            format!(
                "Use {}: it shares fairly, and giving up fairness would move {}.",
                chosen.scheduler,
                if to_gain < LEAST { "nothing more".into() } else { format!("only {} more", percent(to_gain)) }
            ),
            gains(scenario, today, chosen, gain),
            pays(today, &[(today, chosen)]),
        ],
        Choice::Efficient(_) => [
            format!(
                "Use {}: it moves {} more than strict fairness ({}), {:.0} % of what any alpha gains here, and keeps \
                 {} of its fair share for each flow.",
                chosen.scheduler,
                change(over_fair),
                strict.scheduler,
                100.0 * (over_fair.mean / to_gain).min(1.0),
                alpha(&chosen.scheduler).map_or("all".into(), |part| format!("at least {part}")),
            ),
            gains(scenario, today, chosen, gain),
            pays(today, &[(today, chosen), (strict, chosen)]),
        ],
        Choice::Reaching(index) | Choice::Nearest(index) => [
            goal::sentence(wanted, scenario, chosen, choice, candidates.fair.contains(&index)),
            gains(scenario, today, chosen, gain),
            pays(today, &[(today, chosen), (strict, chosen)]),
        ],
    }
}

/// The part of its fair share that a flow keeps, if that is less than all.
fn alpha(scheduler: &str) -> Option<String> {
    let part: f64 = scheduler.rsplit_once("alpha=")?.1.parse().ok()?;
    (part < 1.0).then(|| format!("{:.0} %", 100.0 * part))
}

/// A relative change with its interval, such as `12.3 ± 0.4 %`.
pub fn change(estimate: Estimate) -> String {
    match estimate.ci95 {
        Some(half) => format!("{:.1} ± {:.1} %", 100.0 * estimate.mean, 100.0 * half),
        None => format!("{:.1} %", 100.0 * estimate.mean),
    }
}

fn gains(scenario: &Scenario, today: &Point, chosen: &Point, gain: Estimate) -> String {
    let more = match gain.mean {
        x if x > SAME / 5.0 => format!("moves {} more", change(gain)),
        x if x < -SAME / 5.0 => format!("moves {} less", change(Estimate { mean: -gain.mean, ..gain })),
        _ => "moves as much".into(),
    };
    let names = scenario.resource_names();
    let used = names.iter().zip(chosen.utilization.iter().zip(&today.utilization));
    let used: Vec<String> = used
        .map(|(name, (now, before))| match [now, before].map(|part| format!("{:.0} %", 100.0 * part)) {
            [now, before] if now == before => format!("{name} {now} busy, as before"),
            [now, before] => format!("{name} {now} busy instead of {before}"),
        })
        .collect();
    let shorter = most_changed(today, chosen, |before, after| before / after);
    let shorter = shorter.map_or(String::new(), |(group, [before, after])| {
        format!(" The 99th percentile of {group}'s latency falls from {} to {}.", seconds(before), seconds(after))
    });
    let starving = match (today.starving, chosen.starving) {
        (before, after) if before <= after => String::new(),
        (before, 0) => match alpha(&chosen.scheduler) {
            Some(part) => format!(" {before} starved; now every flow keeps {part} of its fair share."),
            None => format!(" {} no longer starve{}.", flows(before), if before == 1 { "s" } else { "" }),
        },
        (before, after) => format!(" {} starve instead of {before}.", flows(after)),
    };
    format!("Against {} it {more} ({}).{starving}{shorter}", today.scheduler, used.join("; "))
}

fn flows(count: usize) -> String {
    if count == 1 { "1 flow".into() } else { format!("{count} flows") }
}

/// The group whose latency changes by the largest factor, if that is noticeable.
fn most_changed(from: &Point, to: &Point, factor: fn(f64, f64) -> f64) -> Option<(String, [f64; 2])> {
    let pairs = from.groups.iter().zip(&to.groups);
    let changed = pairs.filter_map(|(from, to)| Some((to.group.clone(), [from.p99_s?, to.p99_s?])));
    let noticeable = changed.filter(|(_, [before, after])| factor(*before, *after) > 1.0 + 2.0 * SAME);
    noticeable.max_by(|(_, a), (_, b)| factor(a[0], a[1]).total_cmp(&factor(b[0], b[1])))
}

/// For each pair: whose throughput falls most, or else whose latency rises most, from the first to the second.
fn pays(today: &Point, pairs: &[(&Point, &Point)]) -> String {
    let parts: Vec<String> = pairs
        .iter()
        .filter_map(|(from, to)| {
            let base = if *from == today { today.scheduler.clone() } else { "strict fairness".into() };
            Some(format!("against {base}, {}", loss(from, to)?))
        })
        .collect();
    match parts.is_empty() {
        true => "Nobody pays noticeably.".into(),
        false => format!("Who pays: {}.", parts.join("; ")),
    }
}

fn loss(from: &Point, to: &Point) -> Option<String> {
    let lost = (to.lost > from.lost + LEAST)
        .then(|| format!("{} of all packets are lost instead of {}", percent(to.lost), percent(from.lost)));
    let parts: Vec<String> = slower(from, to).into_iter().chain(lost).collect();
    (!parts.is_empty()).then(|| parts.join(", and "))
}

fn slower(from: &Point, to: &Point) -> Option<String> {
    let moved = |(from, to): (&GroupPoint, &GroupPoint)| {
        (to.group.clone(), 1.0 - to.throughput_bps / from.throughput_bps.max(f64::MIN_POSITIVE))
    };
    let least = from.groups.iter().zip(&to.groups).map(moved).max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((group, less)) = least.filter(|(_, less)| *less > SAME) {
        return Some(format!("{group} moves {} less", percent(less)));
    }
    let (group, [before, after]) = most_changed(from, to, |before, after| after / before)?;
    let [before, after] = [before, after].map(seconds);
    Some(format!("the 99th percentile of {group}'s latency rises from {before} to {after}"))
}

/// All of it, for a terminal of this width.
pub fn text(advice: &Advice, width: u16) -> String {
    let mut text: String = advice.sentences.iter().map(|sentence| wrapped(sentence, width) + "\n").collect();
    text.push('\n');
    text.push_str(&marked(advice).fitted(width));
    text.push_str("\n\n");
    for line in otherwise(advice) {
        text.push_str(&wrapped(&line, width));
        text.push('\n');
    }
    let certainty = wrapped(&certainty(advice), width);
    text.push_str(&format!("{certainty}\n\nFor a live box:\n\n  {}", advice.configuration));
    text
}

/// How the answer changes under other circumstances, a sentence each.
pub fn otherwise(advice: &Advice) -> Vec<String> {
    let sentence = |otherwise: &Otherwise| {
        let then = match &otherwise.scheduler {
            scheduler if *scheduler == advice.today => format!("keep {scheduler}"),
            scheduler => {
                let name = if *scheduler == advice.scheduler { "the same" } else { scheduler };
                match otherwise.gain {
                    gain if gain.abs() < 5e-4 => format!("{name} (as much as {})", advice.today),
                    gain => format!("{name} ({:+.1} % against {})", 100.0 * gain, advice.today),
                }
            }
        };
        format!("If {}: {then}.", otherwise.circumstances)
    };
    advice.otherwise.iter().map(sentence).collect()
}

/// What is known of chance.
pub fn certainty(advice: &Advice) -> String {
    match advice.seeds.len() {
        1 => {
            "The input has no randomness, so nothing says how much of this is chance: ask again with another load or a \
              longer capture."
                .to_string()
        }
        seeds => format!("± is the 95 % confidence interval over {seeds} seeds."),
    }
}

/// A row per candidate.
pub fn grid(advice: &Advice) -> Grid {
    let mut header = vec!["scheduler".to_string(), "throughput".into()];
    header.extend(advice.resources.iter().map(|name| format!("{name} used")));
    header.extend(["lost", "p99", "starving"].map(String::from));
    let rows = advice.points.iter().map(|point| {
        let mut row = vec![Cell::text(&point.scheduler), Cell::number(point.throughput_bps, rate)];
        row.extend(point.utilization.iter().map(|&part| Cell::number(part, percent)));
        row.extend([Cell::number(point.lost, percent), Cell::number(point.p99_s, seconds)]);
        row.push(Cell { text: flows(point.starving), exact: Some(point.starving as f64) });
        row
    });
    Grid { header, texts: 1, rows: rows.collect(), optional: vec!["lost", "p99"] }
}

/// The same with a mark at what is advised.
fn marked(advice: &Advice) -> Grid {
    let mut grid = grid(advice);
    for (row, point) in grid.rows.iter_mut().zip(&advice.points) {
        let mark = if point.scheduler == advice.scheduler { "> " } else { "  " };
        row[0].text.insert_str(0, mark);
    }
    grid
}
