//! What a network's comparison comes to, for people.

use super::summary::{GroupSummary, NetworkSummary, RunSummary};
use crate::statistics::Estimate;
use crate::table::{Cell, Grid, percent, rate, wrapped};

/// What the columns mean that other tables do not have.
pub const COLUMNS: [(&str, &str); 9] = [
    ("carried", "bits per second that the CPU or link served"),
    ("+-", "half the 95 % confidence interval of the number to the left"),
    ("queue", "packets that waited, averaged over time"),
    ("dropped", "part of all packets that was dropped at the hop"),
    ("marked", "part of all packets that was marked there, which tells senders to slow down"),
    ("fair", "the proportionally fair rate"),
    ("of fair", "throughput as a part of it"),
    ("jain", "how equal the rates of the group's flows were"),
    ("timeouts", "how often a sender gave up waiting for an acknowledgement"),
];

/// A line per scheduler and CPU or link, then a line per group and scheduler.
pub fn table(summary: &NetworkSummary, width: u16) -> String {
    let mut text = format!("{}\n\n{}", hops(summary).fitted(width), groups(summary).fitted(width));
    for line in summary.notes.iter().chain(&summary.sentences) {
        text.push_str(&format!("\n{}", wrapped(line, width)));
    }
    text
}

/// A row per scheduler and CPU or link.
pub fn hops(summary: &NetworkSummary) -> Grid {
    let header = ["scheduler", "hop", "used", "carried", "+-", "queue", "dropped", "marked"];
    let of_hundred = |part: f64| format!("{:.2} %", 100.0 * part);
    let rows = summary.runs.iter().flat_map(|run| {
        run.hops.0.iter().enumerate().map(move |(index, (name, hop))| {
            vec![
                Cell::text(if index == 0 { &run.scheduler } else { "" }),
                Cell::text(name),
                Cell::number(hop.utilization.mean, percent),
                Cell::number(hop.rate_bps.mean, rate),
                Cell::number(spread(hop.rate_bps), percent),
                Cell::number(hop.queue_packets.mean, |packets| format!("{packets:.1}")),
                Cell::number(hop.drop_rate.mean, of_hundred),
                Cell::number(hop.mark_rate.mean, of_hundred),
            ]
        })
    });
    let header = header.map(String::from).into();
    Grid { header, texts: 2, rows: rows.collect(), optional: optional(summary, &["marked", "dropped"]) }
}

/// A row per group and scheduler.
pub fn groups(summary: &NetworkSummary) -> Grid {
    let header = ["group", "scheduler", "flows", "throughput", "+-", "fair", "of fair", "jain", "timeouts"];
    let mut rows = Vec::new();
    let count = summary.runs.first().map_or(0, |run| run.groups.len());
    for index in 0..count {
        for (k, run) in summary.runs.iter().enumerate() {
            rows.push(group_row(k == 0, run, &run.groups[index]));
        }
    }
    let header = header.map(String::from).into();
    Grid { header, texts: 2, rows, optional: optional(summary, &["jain", "timeouts"]) }
}

/// Columns to leave out first: with one seed there is no confidence.
fn optional(summary: &NetworkSummary, others: &[&'static str]) -> Vec<&'static str> {
    let single = summary.network.seeds.len() < 2;
    others.iter().copied().chain(single.then_some("+-")).collect()
}

fn group_row(first: bool, run: &RunSummary, group: &GroupSummary) -> Vec<Cell> {
    let whole = |value: f64| format!("{value:.0}");
    vec![
        Cell::text(if first { &group.group } else { "" }),
        Cell::text(&run.scheduler),
        Cell::number(group.flows, whole),
        Cell::number(group.throughput_bps.mean, rate),
        Cell::number(spread(group.throughput_bps), percent),
        Cell::number(group.fair_bps, rate),
        Cell::number(group.fair_bps.map(|fair| group.throughput_bps.mean / fair), percent),
        Cell::number(group.jain.map(|jain| jain.mean), |jain| format!("{jain:.3}")),
        Cell::number(group.timeouts.mean, whole),
    ]
}

/// The confidence of an estimate in parts of its mean.
fn spread(estimate: Estimate) -> Option<f64> {
    estimate.ci95.filter(|_| estimate.mean > 0.0).map(|half| half / estimate.mean)
}
