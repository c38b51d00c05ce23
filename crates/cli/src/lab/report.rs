//! What a step of a lab scenario comes to: what the client and the server have seen, and what the box says.

use dovetail_dataplane::core::{ClassSnapshot, QueueSnapshot, Snapshot};
use dovetail_experiment::reproduce::{Check, Verdict};
use dovetail_experiment::statistics::Estimate;
use dovetail_experiment::table::{fitted, seconds, wrapped};
use dovetail_lab::scenario::{Demand, Group, GroupReport, Measured, Step, fair_shares};
use dovetail_units::Duration;
use serde::Serialize;

use super::verdicts::Verdicts;
use crate::checks::{self, Columns};
use crate::terminal;

/// The version of [`Document`]'s form.
const SCHEMA: u32 = 1;

/// The part of time that the box may lack a core before the report says so.
const NOTABLE: f64 = 0.01;

/// Columns that a narrow terminal goes without.
const OPTIONAL: [&str; 4] = ["each flow", "99 % latency", "flows", "link %"];

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

/// Equal parts of a step that tell how sure its means are.
pub const PARTS: u64 = 10;

/// What a box did in between.
#[derive(Clone, Debug, Serialize)]
pub struct Window {
    /// What it had done before.
    pub since: Snapshot,
    /// What it had done at the ends of all parts but the last.
    #[serde(skip)]
    pub between: Vec<Snapshot>,
    /// What it has done after.
    pub until: Snapshot,
}

/// What a box did with a class in a window.
#[derive(Clone, Copy, Default, Debug)]
pub struct Usage {
    /// Parts of CPU and link.
    pub shares: [f64; 2],
    /// Seconds that a frame occupied the CPU, in the mean of those that were processed; `None` of none.
    pub cpu_each: Option<f64>,
    /// Seconds that a frame occupied the link, in the mean of those that left; `None` of none.
    pub link_each: Option<f64>,
    /// Seconds that a frame stayed, in the mean of those that left.
    pub latency: Option<f64>,
    /// Frames that got a congestion mark.
    pub marked: u64,
}

impl Window {
    /// How long it was, seconds.
    fn seconds(&self) -> f64 {
        self.until.time_s - self.since.time_s
    }

    /// The part of it that the box could not make up for, since it did not run.
    pub fn lost(&self) -> f64 {
        (self.until.lost_time_s - self.since.lost_time_s) / self.seconds()
    }

    /// Of all classes.
    pub fn total(&self) -> Usage {
        self.usage(&self.since.total, &self.until.total)
    }

    /// Seconds that a frame of a class occupied the CPU, in the mean; `None` if none was processed.
    pub fn processing(&self, class: &str) -> Option<f64> {
        self.class(class)?.1.cpu_each
    }

    fn class(&self, name: &str) -> Option<(&ClassSnapshot, Usage)> {
        let of = |snapshot: &'_ Snapshot| snapshot.classes.iter().position(|class| class.class == name);
        let (since, until) = (&self.since.classes[of(&self.since)?], &self.until.classes[of(&self.until)?]);
        Some((until, self.usage(&since.frames, &until.frames)))
    }

    /// Half of the 95 % interval of a class's frames per second, as a part of the mean, as far as the parts of the window tell; NaN, so that nothing is within it, if the worker did not tell of all of them.
    fn interval(&self, class: &str) -> f64 {
        let ends: Vec<&Snapshot> =
            std::iter::once(&self.since).chain(&self.between).chain(std::iter::once(&self.until)).collect();
        let sent = |snapshot: &Snapshot| {
            let of_class = snapshot.classes.iter().find(|c| c.class == class);
            of_class.map_or(0, |class| class.frames.frames_out)
        };
        let rate = |ends: &[&Snapshot]| {
            let time = ends[1].time_s - ends[0].time_s;
            // A worker that was late for a request answers two at one time.
            (time > 0.0).then(|| (sent(ends[1]) - sent(ends[0])) as f64 / time)
        };
        let rates: Vec<f64> = ends.windows(2).filter_map(rate).collect();
        if rates.len() == ends.len() - 1 { half_interval(&rates) } else { f64::NAN }
    }

    fn usage(&self, since: &QueueSnapshot, until: &QueueSnapshot) -> Usage {
        let used = [until.cpu_s - since.cpu_s, until.link_s - since.link_s];
        let sent = until.frames_out - since.frames_out;
        let each = |time: f64, frames: u64| (frames > 0).then(|| time / frames as f64);
        Usage {
            shares: used.map(|time| time / self.seconds()),
            cpu_each: each(used[0], until.frames_processed - since.frames_processed),
            link_each: each(used[1], sent),
            latency: each(until.stayed_s() - since.stayed_s(), sent),
            marked: until.marked - since.marked,
        }
    }
}

/// Of the mean of so many values, as a part of it.
fn half_interval(values: &[f64]) -> f64 {
    let of_mean = Estimate::of(values);
    match of_mean.ci95 {
        Some(half) if of_mean.mean > 0.0 => half / of_mean.mean,
        _ => 0.0,
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
    pub inside: Window,
}

/// A group of flows in a step. Shares are of what the box did in the window.
#[derive(Clone, Debug, Serialize)]
pub struct GroupSummary {
    pub class: String,
    /// Of each flow.
    pub goodput_bps: Vec<f64>,
    /// Half of the 95 % interval of its frames per second that left the box, as a part of them, from the tenths of the window.
    pub ci95: f64,
    lost: Option<f64>,
    latency_p50_s: Option<f64>,
    latency_p99_s: Option<f64>,
    rtt_s: Option<f64>,
    /// From receipt to the end on the link, in the mean of the frames that left the box.
    pub box_latency_mean_s: Option<f64>,
    cpu_share: f64,
    link_share: f64,
    pub dominant_share: f64,
    pub fair_share: f64,
    /// Frames that the generator was too slow for.
    pub missed: u64,
    pub retransmitted: u64,
    /// Connections that use ECN, by the client's kernel.
    pub ecn: usize,
    /// What theory goes by.
    #[serde(skip)]
    pub demand: Demand,
    /// Bits of a frame that goodput counts.
    #[serde(skip)]
    pub counted: f64,
}

impl StepReport {
    /// Put together what was measured in `time`, and what the box says. `turned`: it was changed while it ran.
    pub fn new(
        step: &Step,
        turned: bool,
        time: Duration,
        groups: &[Group],
        measured: Measured,
        inside: Window,
    ) -> Self {
        let usages: Vec<(Demand, Usage)> = groups.iter().map(|group| used(group, &inside)).collect();
        let fair = fair_shares(&usages.iter().map(|(demand, _)| *demand).collect::<Vec<_>>());
        let groups = measured.groups.into_iter().zip(usages).zip(fair);
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
            marked: measured.marked,
            inside,
        }
    }
}

/// What a group asks for and what the box did with it.
fn used(group: &Group, inside: &Window) -> (Demand, Usage) {
    let class = inside.class(&group.class);
    let usage = class.map_or(Usage::default(), |(_, usage)| usage);
    let demand = Demand {
        flows: (group.udp.len() + group.tcp.len()) as u32,
        weight: class.map_or(1.0, |(class, _)| class.weight),
        times: [usage.cpu_each, usage.link_each].map(Option::unwrap_or_default),
        rate: group.offered(),
    };
    (demand, usage)
}

impl GroupSummary {
    fn new(group: GroupReport, demand: Demand, usage: Usage, fair_share: f64) -> Self {
        let latency = group.latency.filter(|latency| !latency.is_empty());
        let latency = |quantile| latency.as_ref().map(|l| l.value_at_quantile(quantile) as f64 / 1e9);
        let [cpu_share, link_share] = usage.shares;
        Self {
            class: group.class,
            goodput_bps: group.goodput,
            ci95: 0.0,
            lost: group.lost,
            latency_p50_s: latency(0.5),
            latency_p99_s: latency(0.99),
            rtt_s: group.rtt.map(Duration::as_secs_f64),
            box_latency_mean_s: usage.latency,
            cpu_share,
            link_share,
            dominant_share: cpu_share.max(link_share),
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

    /// Parts of CPU and link.
    pub fn shares(&self) -> [f64; 2] {
        [self.cpu_share, self.link_share]
    }

    /// Of which of the two a frame needs more.
    pub fn dominant(&self) -> usize {
        usize::from(self.demand.times[1] > self.demand.times[0])
    }
}

/// A step as a table, and how it compares with theory.
pub fn text(report: &StepReport, Verdicts { checks, hindered }: &Verdicts) -> String {
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
    let rows =
        report.groups.iter().map(|group| row(group, udp, tcp)).chain([total(report, udp, tcp)]).collect::<Vec<_>>();
    let mut title = vec![report.step.clone()];
    let set = report.set.join(", ");
    title.extend((!set.is_empty() && set != report.step).then(|| format!("({set})")));
    title.extend(report.turned.then(|| "turned while it ran".to_string()));
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
    for check in document.checks.iter().filter(|check| check.verdict == Verdict::Differs) {
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
    row.extend([group.cpu_share, group.link_share, group.dominant_share, group.fair_share].map(percent));
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
    row.extend([
        percent(sum(|group| group.cpu_share)),
        percent(sum(|group| group.link_share)),
        String::new(),
        String::new(),
    ]);
    row
}

#[cfg(test)]
mod tests {
    use dovetail_dataplane::config::Config;
    use dovetail_units::Time;
    use dovetail_wire::LinkType;

    use super::*;

    /// The link takes a fifth of what the CPU is done with, and the rest is lost in front of it.
    #[test]
    fn a_frame_occupied_the_cpu_for_as_long_whether_it_left_or_was_lost() {
        let config = "scheduler = \"fifo\"\nports = { in = \"packet:a\", out = \"packet:b\" }\n\
            link = { rate = \"64 Mbps\", buffer = \"1 packets\", overflow = \"drop\" }\n\
            class = [{ name = \"all\", cost = \"20 us\" }]\n";
        let mut middlebox = Config::parse("box.toml", config, &[]).unwrap().middlebox().unwrap();
        let at = |us| Time::from_nanos(1_000_000_000) + Duration::from_micros(us);
        let since = middlebox.snapshot(at(0));
        for _ in 0..100 {
            let mut frame = middlebox.pool.take();
            frame.fill(at(0), &[0; 800], LinkType::ETHERNET);
            middlebox.receive(at(0), frame);
        }
        (0..=400).for_each(|step| middlebox.advance(at(10 * step)));
        let window = Window { since, between: Vec::new(), until: middlebox.snapshot(at(4000)) };
        assert!(window.until.total.dropped["link-buffer"] > 70);
        assert!((window.processing("all").unwrap() - 20e-6).abs() < 1e-12);
        // 800 B at 64 Mbit/s.
        assert!((window.total().link_each.unwrap() - 100e-6).abs() < 1e-12);
        let idle = Window { since: window.until.clone(), between: Vec::new(), until: middlebox.snapshot(at(5000)) };
        assert_eq!([idle.processing("all"), idle.processing("none"), idle.total().link_each], [None; 3]);
    }

    #[test]
    fn an_interval_is_as_by_hand() {
        // Each of the ten is 5 from the mean of 10: a variance of 250/9. Student's t for nine degrees of freedom is 2.262.
        let values = [5.0, 15.0].repeat(5);
        assert!((half_interval(&values) / (250.0_f64 / 9.0 / 10.0).sqrt() * 10.0 - 2.262).abs() < 0.0005);
        assert_eq!((half_interval(&[3.0; 10]), half_interval(&[3.0]), half_interval(&[0.0; 10])), (0.0, 0.0, 0.0));
    }
}
