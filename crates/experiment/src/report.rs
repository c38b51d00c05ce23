//! The results of a comparison as files: the summary, tables and pictures.

use std::fmt;
use std::path::Path;

use crate::output::{Output, OutputError};
use crate::recorded::{Distribution, Interval, Recorded};
use crate::results::{COMMAND, Documents, SUMMARY};
use crate::scenario::Scenario;
use crate::table::times;
use crate::timetable::{label, time_unit};
use dovetail_figure::{
    Cdf, Column, FigureError, FlowShares, Overview, Row, Schedule, Series, Service, SharePanel, UtilizationPanel,
    dominant_shares, gantt, latency_cdf, over_time, overview, utilization,
};
use dovetail_sim::End;

/// Most packets of a run whose schedule is drawn.
const GANTT_PACKETS: usize = 200;
/// The names of all that [`write()`] may write; not every run gives all.
pub const FILES: [&str; 12] = [
    SUMMARY,
    COMMAND,
    "flows.parquet",
    "utilization.parquet",
    "shares.parquet",
    "packets.parquet",
    "overview.svg",
    "utilization.svg",
    "dominant-share.svg",
    "latency.svg",
    "gini.svg",
    "schedule.svg",
];
/// Fewer dominant shares than this under every scheduler make no picture.
const SHARES: usize = 20;
/// Points of a distribution's line.
const CDF_POINTS: usize = 500;

/// Why results were not written.
#[derive(Debug)]
pub enum ReportError {
    /// The disk or the folder.
    Output(OutputError),
    /// A picture.
    Figure(FigureError),
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(error) => error.fmt(f),
            Self::Figure(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReportError {}

impl From<OutputError> for ReportError {
    fn from(error: OutputError) -> Self {
        Self::Output(error)
    }
}

impl From<FigureError> for ReportError {
    fn from(error: FigureError) -> Self {
        Self::Figure(error)
    }
}

/// Write everything where it is not seen yet; [`place`] puts it into place.
///
/// # Errors
/// The disk or the folder.
pub fn write(out: &mut Output, runs: &[Recorded], documents: &Documents) -> Result<(), ReportError> {
    documents.write(out)?;
    Ok(crate::tables::write(out, runs)?)
}

/// Put the results into place, and take away those of another run that these have not; a line about each.
pub fn place(out: Output) -> Result<Vec<String>, ReportError> {
    let folder = out.directory().to_path_buf();
    let written = out.commit()?;
    let mut lines: Vec<String> = written.iter().map(|placed| format!("wrote {placed}")).collect();
    for name in FILES.iter().filter(|name| !written.iter().any(|placed| placed.path.ends_with(name))) {
        // If it was never there, or cannot go, these results are no worse.
        let path = folder.join(name);
        if std::fs::remove_file(&path).is_ok() {
            lines.push(format!("removed {}, which was of another run", path.display()));
        }
    }
    Ok(lines)
}

/// The pictures of a comparison, with their file names.
pub fn pictures(scenario: &Scenario, runs: &[Recorded]) -> Result<Vec<(&'static str, String)>, FigureError> {
    let title = &picture_title(scenario);
    let use_of_all_time = note_of_use(runs.iter().flat_map(|run| &run.intervals));
    let panels: Vec<UtilizationPanel> = runs.iter().map(utilization_panel).collect();
    let mut pictures = vec![
        ("overview.svg", overview(&at_a_glance(title, scenario, runs))?),
        ("utilization.svg", utilization(title, &panels, use_of_all_time)?),
        ("latency.svg", latency_cdf(title, &by_group(runs))?),
    ];
    let shares: Vec<SharePanel> = runs.iter().map(share_panel).collect();
    if shares.iter().any(|panel| panel.flows.iter().map(|flow| flow.points.len()).sum::<usize>() >= SHARES) {
        pictures.push(("dominant-share.svg", dominant_shares(title, &shares)?));
    }
    if runs.iter().flat_map(|r| &r.intervals).any(|i| i.gini.is_some()) {
        pictures.push(("gini.svg", over_time(title, GINI, &runs.iter().map(gini_panel).collect::<Vec<_>>())?));
    }
    if runs.iter().all(|r| (1..=GANTT_PACKETS).contains(&r.packets.len())) {
        let (scale, unit) = time_unit(runs);
        let schedules: Vec<Schedule> = runs.iter().map(|r| schedule(r, scale)).collect();
        pictures.push(("schedule.svg", gantt(title, unit, &schedules)?));
    }
    Ok(pictures)
}

/// What the input is called above pictures: its title, or its file without the folder, and the profile.
fn picture_title(scenario: &Scenario) -> String {
    let title = scenario.title();
    let file = || Path::new(title).file_name().map_or(title.into(), |name| name.to_string_lossy());
    match &scenario.profile {
        Some(profile) => format!("{}, profile {profile}", file()),
        None if title == scenario.name => file().into(),
        None => title.into(),
    }
}

/// How much of each resource is used, when everything is done, and how long the packets of each group stay.
fn at_a_glance(title: &str, scenario: &Scenario, runs: &[Recorded]) -> Overview {
    let makespan = |r: &Recorded| r.outcome.makespan().map(|t| (t.as_secs_f64(), brief(t.as_secs_f64())));
    let used = |k: usize, r: &Recorded| {
        r.resources.get(k).map(|total| (total.utilization, format!("{:.0} %", 100.0 * total.utilization)))
    };
    let column = |heading: String, group: Option<&str>, full, value: &dyn Fn(&Recorded) -> Option<(f64, String)>| {
        Column { heading, group: group.map(String::from), full, values: runs.iter().map(value).collect() }
    };
    let names = runs.first().map_or(&[][..], |r| &r.resources);
    let mut totals: Vec<Column> = names
        .iter()
        .enumerate()
        .map(|(k, r)| column(format!("{} used", r.name), None, Some(1.0), &|r| used(k, r)))
        .collect();
    // Of a run that was cut off, the makespan is no such time.
    if runs.iter().all(|r| r.outcome.end == End::Drained) {
        totals.push(column("all done after".into(), None, None, &makespan));
    }
    let groups = groups(runs);
    let waits =
        groups.iter().map(|group| column(format!("{group}: latency"), Some(group), None, &|r| mean_latency(r, group)));
    Overview {
        title: title.into(),
        schedulers: runs.iter().map(|r| r.scheduler.to_string()).collect(),
        bands: vec![totals, waits.collect()],
        note: Some(format!(
            "Latency: mean time of a group's packets from arrival to leaving the last resource.{}",
            replayed(scenario)
        )),
    }
}

/// How fast the capture was replayed, if there is one.
fn replayed(scenario: &Scenario) -> String {
    match scenario.replay_speed() {
        Some(1.0) => " The capture was replayed as fast as it was recorded.".into(),
        Some(speed) => format!(" The capture was replayed {} times as fast as it was recorded.", times(speed)),
        None => String::new(),
    }
}

/// The groups of the flows, in the order of the input.
fn groups(runs: &[Recorded]) -> Vec<&str> {
    let mut groups: Vec<&str> = Vec::new();
    for flow in runs.first().map_or(&[][..], |r| &r.flows) {
        if !groups.contains(&&*flow.group) {
            groups.push(&flow.group);
        }
    }
    groups
}

/// The mean latency of all packets of a group, in seconds and as it is written.
fn mean_latency(run: &Recorded, group: &str) -> Option<(f64, String)> {
    let flows = run.flows.iter().enumerate().filter(|(_, f)| &*f.group == group);
    let (packets, sum) = flows.fold((0, 0.0), |(packets, sum), (index, f)| {
        (packets + f.delivered, sum + run.latency(index).map_or(0.0, |l| l.mean * f.delivered as f64))
    });
    (packets > 0).then(|| (sum / packets as f64, brief(sum / packets as f64)))
}

/// A time in two digits or a few more.
fn brief(s: f64) -> String {
    let (value, unit) = match s {
        s if s >= 0.9995 => (s, "s"),
        s if s >= 0.9995e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// What [`gini_panel`] shows.
pub const GINI: &str = "Gini index, 0 is ideal (s)";

/// The Gini index of every resource at the end of every interval; it stays as it is while nothing is served.
pub fn gini_panel(run: &Recorded) -> UtilizationPanel {
    let series = |(r, total): (usize, &crate::recorded::ResourceTotal)| {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for interval in &run.intervals {
            let Some(&value) = interval.gini.as_ref().and_then(|all| all.get(r)) else { continue };
            let before = points.last().copied().filter(|last| interval.start - last.0 > interval.length / 2.0);
            points.extend(before.map(|last| (interval.start, last.1)));
            points.push((interval.start + interval.length, value));
        }
        Series { name: total.name.clone(), points }
    };
    UtilizationPanel {
        scheduler: run.scheduler.to_string(),
        resources: run.resources.iter().enumerate().map(series).collect(),
    }
}

/// Busy part of every resource over time; nothing is busy between intervals that do not adjoin.
pub fn utilization_panel(run: &Recorded) -> UtilizationPanel {
    let series = |(r, total): (usize, &crate::recorded::ResourceTotal)| Series {
        name: total.name.clone(),
        points: with_idle(&run.intervals, |i| i.utilization[r]),
    };
    UtilizationPanel {
        scheduler: run.scheduler.to_string(),
        resources: run.resources.iter().enumerate().map(series).collect(),
    }
}

/// Why the use in some intervals is less than tables say, where the box was empty for 1 % or more of one.
fn note_of_use<'a>(mut intervals: impl Iterator<Item = &'a Interval>) -> Option<&'static str> {
    intervals.any(|interval| interval.nonempty < 0.99 * interval.length).then_some(
        "Of all time. In some intervals the box was empty for a while, which counts here; \"used\" in tables leaves it \
         out.",
    )
}

/// Dominant share by weight of every flow in every interval in which it was backlogged, with the fair share and what of
/// it is promised.
pub fn share_panel(run: &Recorded) -> SharePanel {
    let mut flows: Vec<FlowShares> =
        run.flows.iter().map(|f| FlowShares { group: f.group.to_string(), points: Vec::new() }).collect();
    for interval in &run.intervals {
        for share in interval.shares.iter().filter(|s| s.backlogged) {
            let flow = share.flow as usize;
            let by_weight = share.service / interval.length / run.flows[flow].weight;
            flows[flow].points.push((middle(interval), by_weight));
        }
    }
    let fair: Vec<(f64, f64)> = run.intervals.iter().map(|i| (middle(i), i.fair / i.length)).collect();
    let promised =
        |time: f64| run.promises.iter().rev().find(|(since, _)| *since <= time).map_or(1.0, |&(_, part)| part);
    let mut guaranteed: Vec<Vec<(f64, f64)>> = Vec::new();
    if (0..run.flows.len()).any(|flow| run.own_promise(flow).is_none())
        && run.promises.iter().any(|&(_, part)| part < 1.0)
    {
        guaranteed.push(fair.iter().map(|&(time, share)| (time, promised(time) * share)).collect());
    }
    let mut own: Vec<f64> = run.own_promises.iter().copied().flatten().filter(|&part| part < 1.0).collect();
    own.sort_by(f64::total_cmp);
    own.dedup();
    guaranteed.extend(own.into_iter().map(|part| fair.iter().map(|&(time, share)| (time, part * share)).collect()));
    SharePanel { scheduler: run.scheduler.to_string(), flows, fair_share: fair, guaranteed }
}

/// Distributions of latencies, group by group; of all packets together if there is but one group.
fn by_group(runs: &[Recorded]) -> Vec<Cdf> {
    let groups = groups(runs);
    if groups.len() < 2 {
        return runs.iter().map(cdf).collect();
    }
    groups.iter().flat_map(|group| runs.iter().map(|run| cdf_of(run, group))).collect()
}

fn cdf_of(run: &Recorded, group: &str) -> Cdf {
    let flows = run.flows.iter().enumerate().filter(|(_, flow)| &*flow.group == group);
    cdf_from(run, Some(group), &run.latencies.of_flows(flows.map(|(id, _)| id)))
}

/// Distribution of all latencies.
pub fn cdf(run: &Recorded) -> Cdf {
    cdf_from(run, None, &run.latencies.of_all())
}

fn cdf_from(run: &Recorded, group: Option<&str>, latencies: &Distribution) -> Cdf {
    let nth = |rank| latencies.nth(rank) as f64 / 1e9;
    Cdf::from_ranks(&run.scheduler.to_string(), group, latencies.len(), nth, CDF_POINTS)
}

/// The schedule itself, with times multiplied by `scale` from seconds.
pub fn schedule(run: &Recorded, scale: f64) -> Schedule {
    let mut rows = Vec::new();
    for (r, resource) in run.resources.iter().enumerate() {
        for server in 0..resource.servers {
            let name =
                if resource.servers == 1 { resource.name.clone() } else { format!("{} {}", resource.name, server + 1) };
            rows.push(Row { name, services: services(run, r, server, scale) });
        }
    }
    Schedule { scheduler: run.scheduler.to_string(), rows }
}

fn services(run: &Recorded, resource: usize, server: u32, scale: f64) -> Vec<Service> {
    let mut counts = vec![0_u32; run.flows.len()];
    let mut services = Vec::new();
    for (k, packet) in run.packets.iter().enumerate() {
        let flow = packet.flow as usize;
        counts[flow] += 1;
        if let Some(service) = run.service(k, resource).filter(|s| s.server == server) {
            services.push(Service {
                start: service.start.as_secs_f64() * scale,
                end: service.end.as_secs_f64() * scale,
                flow: run.flows[flow].name.to_string(),
                label: format!("{}{}", label(flow), counts[flow]),
            });
        }
    }
    services
}

/// A value in the middle of every interval, and zero where idle time between two of them begins and ends.
fn with_idle(intervals: &[Interval], value: impl Fn(&Interval) -> f64) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (k, interval) in intervals.iter().enumerate() {
        points.push((middle(interval), value(interval)));
        let end = interval.start + interval.length;
        let next = intervals.get(k + 1).filter(|next| next.start - end > interval.length / 2.0);
        points.extend(next.into_iter().flat_map(|next| [(end, 0.0), (next.start, 0.0)]));
    }
    points
}

fn middle(interval: &Interval) -> f64 {
    interval.start + interval.length / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(start: f64) -> Interval {
        Interval {
            start,
            length: 1.0,
            utilization: vec![0.5],
            nonempty: 1.0,
            fair: 1.0,
            gini: None,
            shares: Vec::new(),
        }
    }

    #[test]
    fn that_use_is_of_all_time_is_said_where_the_box_was_empty_within_an_interval() {
        let note = |nonempty: f64| note_of_use([interval(0.0), Interval { nonempty, ..interval(1.0) }].iter());
        assert_eq!(note(1.0), None);
        assert!(note(0.98).is_some_and(|note| note.contains("\"used\" in tables leaves it out")));
    }

    #[test]
    fn nothing_is_busy_while_idle() {
        let points = with_idle(&[interval(0.0), interval(1.0), interval(9.0)], |i| i.utilization[0]);
        assert_eq!(points, [(0.5, 0.5), (1.5, 0.5), (2.0, 0.0), (9.0, 0.0), (9.5, 0.5)]);
    }
}
