//! What a step of a lab scenario comes to: what the client and the server have seen, and what the box says.

use dovetail_experiment::claim::{Check, Verdict};
use dovetail_experiment::table::{fitted, seconds, wrapped};
use dovetail_lab::scenario::{Demand, Group, GroupReport, RESOURCES, Step, fair_shares};
use dovetail_units::Duration;
use hdrhistogram::Histogram;
use serde::Serialize;

use super::slices::Slice;
use super::verdicts::Verdicts;
use super::window::{Observation, Usage};
use crate::checks::{self, Columns};
use crate::terminal;

/// The version of [`Document`]'s form.
const SCHEMA: u32 = 2;

/// The part of time that the box may lack a core before the report says so.
const NOTABLE: f64 = 0.01;

/// Columns that a narrow terminal goes without.
const OPTIONAL: [&str; 4] = ["each flow", "p99 latency", "flows", "link %"];

/// All steps.
#[derive(Clone, Debug, Serialize)]
pub struct Document<'a> {
    schema: u32,
    title: &'a str,
    steps: Vec<StepReport>,
    /// Frames that are neither sent, nor dropped, nor held, of all boxes: 0.
    unaccounted: i64,
    /// As those of `dovetail reproduce`, against theory.
    checks: Vec<Check>,
}

impl<'a> Document<'a> {
    /// Of a scenario with this title.
    pub fn new(title: &'a str) -> Self {
        Self { schema: SCHEMA, title, steps: Vec::new(), unaccounted: 0, checks: Vec::new() }
    }

    /// The next step.
    pub fn add(&mut self, step: StepReport, checks: Vec<Check>, unaccounted: i64) {
        self.steps.push(step);
        self.checks.extend(checks);
        self.add_unaccounted(unaccounted);
    }

    /// A box has no account of so many frames.
    pub fn add_unaccounted(&mut self, frames: i64) {
        self.unaccounted += frames;
    }
}

/// A step.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    pub step: String,
    set: Vec<String>,
    /// Whether the box of the step before was changed while it ran, rather than started anew.
    turned: bool,
    pub measured_s: f64,
    pub groups: Vec<GroupSummary>,
    /// Packets with a congestion mark that came to the server, by its kernel's account.
    pub marked: Option<u64>,
    #[serde(rename = "box")]
    pub inside: Observation,
}

/// A group of flows in a step. Shares are of what the box did while it was measured.
#[derive(Clone, Debug, Serialize)]
pub struct GroupSummary {
    pub class: String,
    /// Of each flow.
    pub goodput_bps: Vec<f64>,
    /// Half of the 95 % interval of its frames per second that left the box, as a part of them, from the tenths of the
    /// step.
    pub ci95: f64,
    lost: Option<f64>,
    latency_p50_s: Option<f64>,
    latency_p99_s: Option<f64>,
    rtt_s: Option<f64>,
    /// From receipt to the end on the link, averaged over the frames that left the box.
    pub box_latency_mean_s: Option<f64>,
    cpu_share: f64,
    link_share: f64,
    /// Of a third resource, if the box has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    third_share: Option<f64>,
    pub dominant_share: f64,
    pub fair_share: f64,
    /// Frames that the generator was too slow for.
    pub missed: u64,
    pub retransmitted: u64,
    /// Connections that use ECN, by the client's kernel.
    pub ecn: usize,
    /// One-way latency of UDP frames, nanoseconds.
    #[serde(skip)]
    latency: Option<Histogram<u64>>,
    /// What theory goes by.
    #[serde(skip)]
    pub demand: Demand,
    /// Bits of a frame that goodput counts.
    #[serde(skip)]
    pub counted: f64,
}

impl StepReport {
    /// Put together what was measured. `turned`: the box was changed while it ran.
    pub fn new(step: &Step, turned: bool, groups: &[Group], Slice { time, traffic, inside }: Slice) -> Self {
        let usages: Vec<(Demand, Usage)> = groups.iter().map(|group| used(group, &inside)).collect();
        let fair = fair_shares(&usages.iter().map(|(demand, _)| *demand).collect::<Vec<_>>());
        let groups = traffic.groups.into_iter().zip(usages).zip(fair);
        let groups = groups.map(|((group, (demand, usage)), fair)| GroupSummary {
            ci95: inside.interval(&group.class),
            ..GroupSummary::new(group, demand, usage, fair)
        });
        let groups: Vec<GroupSummary> = groups.collect();
        Self {
            step: step.title.clone(),
            set: step.set.clone(),
            turned,
            measured_s: time.as_secs_f64(),
            groups,
            marked: traffic.marked,
            inside,
        }
    }
}

/// What a group asks for and what the box did with it.
fn used(group: &Group, inside: &Observation) -> (Demand, Usage) {
    let usage = inside.class(&group.class);
    let class = inside.until().classes.iter().find(|class| class.class == group.class);
    let demand = Demand {
        flows: (group.udp.len() + group.tcp.len()) as u32,
        weight: class.map_or(1.0, |class| class.weight),
        times: [usage.cpu_each, usage.link_each, usage.third_each].map(Option::unwrap_or_default),
        rate: group.offered(),
    };
    (demand, usage)
}

impl GroupSummary {
    fn new(group: GroupReport, demand: Demand, usage: Usage, fair_share: f64) -> Self {
        let (goodput_bps, lost) = (group.goodput(), group.lost_part());
        let histogram = group.latency.filter(|latency| !latency.is_empty());
        let latency = |quantile| histogram.as_ref().map(|l| l.value_at_quantile(quantile) as f64 / 1e9);
        let [cpu_share, link_share, third_share] = usage.shares;
        Self {
            class: group.class,
            goodput_bps,
            ci95: 0.0,
            lost,
            latency_p50_s: latency(0.5),
            latency_p99_s: latency(0.99),
            latency: histogram.clone(),
            rtt_s: group.rtt.map(Duration::as_secs_f64),
            box_latency_mean_s: usage.latency,
            cpu_share,
            link_share,
            third_share: usage.third_each.map(|_| third_share),
            dominant_share: cpu_share.max(link_share).max(third_share),
            fair_share,
            missed: group.missed,
            retransmitted: group.retransmitted,
            ecn: group.ecn,
            demand,
            counted: group.counted,
        }
    }

    /// Bits per second of all flows.
    pub fn goodput(&self) -> f64 {
        self.goodput_bps.iter().sum()
    }

    /// The part of its UDP frames that took longer than `limit`, to the histogram's 1 %; `None` if none came.
    pub fn late(&self, limit: Duration) -> Option<f64> {
        let latency = self.latency.as_ref()?;
        Some(1.0 - latency.count_between(0, limit.as_nanos()) as f64 / latency.len() as f64)
    }

    /// Parts of CPU, link and third resource.
    pub fn shares(&self) -> [f64; RESOURCES] {
        [self.cpu_share, self.link_share, self.third_share.unwrap_or(0.0)]
    }

    /// Of which resource a frame needs most.
    pub fn dominant(&self) -> usize {
        let times = self.demand.times;
        (1..RESOURCES).fold(0, |most, r| if times[r] > times[most] { r } else { most })
    }
}

/// A step as a table, and how it compares with theory.
pub fn text(report: &StepReport, Verdicts { checks, hindered, remarks }: &Verdicts) -> String {
    let udp = report.groups.iter().any(|group| group.rtt_s.is_none());
    let tcp = report.groups.iter().any(|group| group.rtt_s.is_some());
    let mut header = vec!["class", "flows", "goodput Mbit/s", "each flow"];
    if udp {
        header.extend(["lost %", "median latency", "p99 latency"]);
    }
    if tcp {
        header.push("RTT");
    }
    let third = report.inside.third().map(|name| format!("{name} %"));
    header.push("cpu %");
    header.extend(third.as_deref());
    header.extend(["link %", "dominant share %", "fair share %"]);
    let rows =
        report.groups.iter().map(|group| row(group, udp, tcp)).chain([total(report, udp, tcp)]).collect::<Vec<_>>();
    let mut title = vec![report.step.clone()];
    let set = report.set.join(", ");
    title.extend((!set.is_empty() && set != report.step).then(|| format!("({set})")));
    title.extend(report.turned.then(|| "changed while it ran".to_string()));
    let title = format!("{}, {:.1} s", title.join(" "), report.measured_s);
    let missed: u64 = report.groups.iter().map(|group| group.missed).sum();
    let mut text = format!("{title}\n\n{}\n", fitted(&header, 1, &rows, terminal::width(), &OPTIONAL));
    if missed > 0 {
        text.push_str(&format!("\nThe generator was too slow for {missed} frames.\n"));
    }
    let late = report.inside.lost();
    if late > NOTABLE {
        text.push_str(&format!("\nThe box could not run for {} % of the time: this machine is busy.\n", percent(late)));
    }
    if !checks.is_empty() {
        let columns = Columns { id: false, claim: "expected", found: "measured" };
        text.push_str(&format!("\n{}\n", checks::lines(checks, columns)));
    }
    for remark in remarks {
        text.push_str(&format!("\n{}\n", wrapped(remark, terminal::width())));
    }
    if let Some(reason) = hindered {
        text.push_str(&format!("\n{}\n", wrapped(&format!("Not comparable: {reason}."), terminal::width())));
    }
    text
}

/// What is to be said after all steps.
pub fn summary(document: &Document) -> String {
    let mut lines = Vec::new();
    if document.unaccounted != 0 {
        lines.push(format!("The box has no account of {} frames.", document.unaccounted));
    }
    if !document.checks.is_empty() {
        lines.push(checks::count(&document.checks));
    }
    for check in document.checks.iter().filter(|check| check.verdict == Some(Verdict::Differs)) {
        lines.push(format!("differs: {}, {}: {}", check.figure, check.quantity, check.why));
    }
    lines.iter().map(|line| format!("\n{}\n", wrapped(line, terminal::width()))).collect()
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
    row.push(percent(group.cpu_share));
    row.extend(group.third_share.map(percent));
    row.extend([group.link_share, group.dominant_share, group.fair_share].map(percent));
    row
}

fn total(report: &StepReport, udp: bool, tcp: bool) -> Vec<String> {
    let groups = &report.groups;
    let sum = |of: fn(&GroupSummary) -> f64| groups.iter().map(of).sum::<f64>();
    let flows: usize = groups.iter().map(|group| group.goodput_bps.len()).sum();
    let goodput = sum(GroupSummary::goodput);
    let mut row = vec!["all".to_string(), flows.to_string(), megabits(goodput)];
    let empty = 1 + if udp { 3 } else { 0 } + usize::from(tcp);
    row.extend(std::iter::repeat_n(String::new(), empty));
    row.push(percent(sum(|group| group.cpu_share)));
    let third = groups.iter().any(|group| group.third_share.is_some());
    row.extend(third.then(|| percent(sum(|group| group.third_share.unwrap_or(0.0)))));
    row.extend([percent(sum(|group| group.link_share)), String::new(), String::new()]);
    row
}
