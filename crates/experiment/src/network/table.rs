//! What a network's comparison comes to, for people.

use super::summary::{GroupSummary, NetworkSummary, RunSummary};
use crate::statistics::Estimate;
use crate::table::{fitted, percent, rate, wrapped};

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
    let mut text = format!("{}\n\n{}", hops(summary, width), groups(summary, width));
    let mut notes = vec![
        "fair: the proportionally fair rate for round trips without queues; short flows: all together".to_string(),
    ];
    if summary.network.seeds.len() > 1 {
        notes.push(format!("+-: 95 % confidence over {} seeds", summary.network.seeds.len()));
    }
    for note in notes {
        text.push_str(&format!("\n{}", wrapped(&note, width)));
    }
    text
}

fn hops(summary: &NetworkSummary, width: u16) -> String {
    let header = ["scheduler", "hop", "used", "carried", "+-", "queue", "dropped", "marked"];
    let rows = summary.runs.iter().flat_map(|run| {
        run.hops.0.iter().enumerate().map(move |(index, (name, hop))| {
            vec![
                if index == 0 { run.scheduler.clone() } else { String::new() },
                name.clone(),
                percent(hop.utilization.mean),
                rate(hop.rate_bps.mean),
                spread(hop.rate_bps),
                format!("{:.1}", hop.queue_packets.mean),
                format!("{:.2} %", 100.0 * hop.drop_rate.mean),
                format!("{:.2} %", 100.0 * hop.mark_rate.mean),
            ]
        })
    });
    fitted(&header, 2, &rows.collect::<Vec<_>>(), width, &optional(summary, &["marked", "dropped"]))
}

fn groups(summary: &NetworkSummary, width: u16) -> String {
    let header = ["group", "scheduler", "flows", "throughput", "+-", "fair", "of fair", "jain", "timeouts"];
    let mut rows = Vec::new();
    let count = summary.runs.first().map_or(0, |run| run.groups.len());
    for index in 0..count {
        for (k, run) in summary.runs.iter().enumerate() {
            rows.push(group_row(k == 0, run, &run.groups[index]));
        }
    }
    fitted(&header, 2, &rows, width, &optional(summary, &["jain", "timeouts"]))
}

/// Columns to leave out first: with one seed there is no confidence.
fn optional<'a>(summary: &NetworkSummary, others: &[&'a str]) -> Vec<&'a str> {
    let single = summary.network.seeds.len() < 2;
    others.iter().copied().chain(single.then_some("+-")).collect()
}

fn group_row(first: bool, run: &RunSummary, group: &GroupSummary) -> Vec<String> {
    let of_fair = group.fair_bps.map(|fair| group.throughput_bps.mean / fair);
    vec![
        if first { group.group.clone() } else { String::new() },
        run.scheduler.clone(),
        format!("{:.0}", group.flows),
        rate(group.throughput_bps.mean),
        spread(group.throughput_bps),
        group.fair_bps.map_or("-".into(), rate),
        of_fair.map_or("-".into(), percent),
        group.jain.map_or("-".into(), |j| format!("{:.3}", j.mean)),
        format!("{:.0}", group.timeouts.mean),
    ]
}

/// The confidence of an estimate in parts of its mean.
fn spread(estimate: Estimate) -> String {
    match estimate.ci95 {
        Some(half) if estimate.mean > 0.0 => percent(half / estimate.mean),
        _ => "-".into(),
    }
}
