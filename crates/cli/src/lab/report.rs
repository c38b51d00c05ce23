//! What a step of a lab scenario comes to: what the client and the server have seen, and what the box says.

use dovetail_dataplane::core::{ClassSnapshot, Snapshot};
use dovetail_experiment::table::{seconds, table};
use dovetail_lab::scenario::{Demand, Group, GroupReport, Step, fair_shares};
use dovetail_units::Duration;
use serde::{Deserialize, Serialize};

use crate::terminal;

/// The version of [`Document`]'s form.
const SCHEMA: u32 = 1;

/// The part of time that the box may lack a core before the report says so.
const NOTABLE: f64 = 0.01;

/// Of what `dovetail live --json` prints, what is needed here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BoxReport {
    /// For how long it ran, seconds.
    pub ran_s: f64,
    /// The direction from client to server.
    pub forward: Snapshot,
    /// Frames that are neither sent, nor dropped, nor held: 0.
    pub unaccounted: i64,
}

/// All steps.
#[derive(Clone, Debug, Serialize)]
pub struct Document<'a> {
    schema: u32,
    title: &'a str,
    steps: Vec<StepReport>,
}

impl<'a> Document<'a> {
    /// Of a scenario with this title.
    pub fn new(title: &'a str, steps: Vec<StepReport>) -> Self {
        Self { schema: SCHEMA, title, steps }
    }
}

/// A step.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    step: String,
    set: Vec<String>,
    measured_s: f64,
    groups: Vec<GroupSummary>,
    #[serde(rename = "box")]
    inside: BoxReport,
}

/// A group of flows in a step. Shares are of what came to the server, with the times that a frame of the class occupied the box in the mean.
#[derive(Clone, Debug, Serialize)]
struct GroupSummary {
    class: String,
    /// Of each flow.
    goodput_bps: Vec<f64>,
    lost: Option<f64>,
    latency_p50_s: Option<f64>,
    latency_p99_s: Option<f64>,
    rtt_s: Option<f64>,
    cpu_share: f64,
    link_share: f64,
    dominant_share: f64,
    fair_share: f64,
    /// Frames that the generator was too slow for.
    missed: u64,
    retransmitted: u64,
}

impl StepReport {
    /// Put together what was measured in `window` and what the box reports.
    pub fn new(step: &Step, window: Duration, groups: &[Group], reports: Vec<GroupReport>, inside: BoxReport) -> Self {
        let class = |name: &str| inside.forward.classes.iter().find(|class| class.class == name);
        let times: Vec<[f64; 2]> = groups.iter().map(|group| times(class(&group.class))).collect();
        let demand = |(group, &times): (&Group, &[f64; 2])| Demand {
            flows: (group.udp.len() + group.tcp.len()) as u32,
            weight: class(&group.class).map_or(1.0, |class| class.weight),
            times,
            rate: group.offered(),
        };
        let fair = fair_shares(&groups.iter().zip(&times).map(demand).collect::<Vec<_>>());
        let groups = reports.into_iter().zip(times).zip(fair);
        let groups = groups.map(|((group, times), fair)| {
            let shares = times.map(|time| group.frames * time);
            GroupSummary::new(group, shares, fair)
        });
        let (step, set) = (step.title.clone(), step.set.clone());
        Self { step, set, measured_s: window.as_secs_f64(), groups: groups.collect(), inside }
    }
}

/// Seconds that a frame of the class occupied CPU and link, in the mean of those that left.
fn times(class: Option<&ClassSnapshot>) -> [f64; 2] {
    class.filter(|class| class.frames.frames_out > 0).map_or([0.0; 2], |class| {
        let frames = class.frames.frames_out as f64;
        [class.frames.cpu_s / frames, class.frames.link_s / frames]
    })
}

impl GroupSummary {
    fn new(group: GroupReport, [cpu_share, link_share]: [f64; 2], fair_share: f64) -> Self {
        let latency = group.latency.filter(|latency| !latency.is_empty());
        let latency = |quantile| latency.as_ref().map(|l| l.value_at_quantile(quantile) as f64 / 1e9);
        Self {
            class: group.class,
            goodput_bps: group.goodput,
            lost: group.lost,
            latency_p50_s: latency(0.5),
            latency_p99_s: latency(0.99),
            rtt_s: group.rtt.map(Duration::as_secs_f64),
            cpu_share,
            link_share,
            dominant_share: cpu_share.max(link_share),
            fair_share,
            missed: group.missed,
            retransmitted: group.retransmitted,
        }
    }
}

/// A step as a table.
pub fn text(report: &StepReport) -> String {
    let udp = report.groups.iter().any(|group| group.rtt_s.is_none());
    let tcp = report.groups.iter().any(|group| group.rtt_s.is_some());
    let mut header = vec!["class", "flows", "goodput Mbit/s", "each flow"];
    if udp {
        header.extend(["lost %", "median latency", "99 % latency"]);
    }
    if tcp {
        header.push("RTT");
    }
    header.extend(["cpu %", "link %", "dominant share %", "fair share %"]);
    let rows = report.groups.iter().map(|group| row(group, udp, tcp)).chain([total(report, udp, tcp)]).collect();
    let set = if report.set.is_empty() { String::new() } else { format!(" ({})", report.set.join(", ")) };
    let title = format!("{}{set}, {:.1} s", report.step, report.measured_s);
    let missed: u64 = report.groups.iter().map(|group| group.missed).sum();
    let mut text = format!("{title}\n\n{}\n", table(&header, 1, rows, terminal::width()));
    if missed > 0 {
        text.push_str(&format!("\nThe generator was too slow for {missed} frames.\n"));
    }
    let late = report.inside.forward.lost_time_s / report.inside.ran_s;
    if late > NOTABLE {
        text.push_str(&format!("\nThe box could not run for {} % of the time: this machine is busy.\n", percent(late)));
    }
    if report.inside.unaccounted != 0 {
        text.push_str(&format!("\nThe box has no account of {} frames.\n", report.inside.unaccounted));
    }
    text
}

fn megabits(bps: f64) -> String {
    format!("{:.2}", bps / 1e6)
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// The least and the most of the flows, where they differ as printed.
fn each(flows: &[f64]) -> String {
    let least = megabits(flows.iter().copied().fold(f64::INFINITY, f64::min));
    let most = megabits(flows.iter().copied().fold(0.0, f64::max));
    if least == most { least } else { format!("{least}-{most}") }
}

fn row(group: &GroupSummary, udp: bool, tcp: bool) -> Vec<String> {
    let flows = &group.goodput_bps;
    let time = |time: Option<f64>| time.map_or("-".to_string(), seconds);
    let mut row = vec![group.class.clone(), flows.len().to_string(), megabits(flows.iter().sum()), each(flows)];
    if udp {
        let lost = group.lost.map_or("-".to_string(), percent);
        row.extend([lost, time(group.latency_p50_s), time(group.latency_p99_s)]);
    }
    if tcp {
        row.push(time(group.rtt_s));
    }
    row.extend([group.cpu_share, group.link_share, group.dominant_share, group.fair_share].map(percent));
    row
}

fn total(report: &StepReport, udp: bool, tcp: bool) -> Vec<String> {
    let groups = &report.groups;
    let sum = |of: fn(&GroupSummary) -> f64| groups.iter().map(of).sum::<f64>();
    let flows: usize = groups.iter().map(|group| group.goodput_bps.len()).sum();
    let goodput = sum(|group| group.goodput_bps.iter().sum());
    let mut row = vec!["all".to_string(), flows.to_string(), megabits(goodput)];
    let empty = 1 + if udp { 3 } else { 0 } + usize::from(tcp);
    row.extend(std::iter::repeat_n(String::new(), empty));
    row.extend([
        percent(sum(|group| group.cpu_share)),
        percent(sum(|group| group.link_share)),
        String::new(),
        String::new(),
    ]);
    row
}
