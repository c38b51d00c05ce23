//! `dovetail lab flood`: what honest flows keep under a flood of false addresses, scheduler by scheduler.

use std::sync::atomic::AtomicBool;

use dovetail_experiment::table::table;
use dovetail_lab::traffic::{FalseFlows, Ip, TcpFlow, TcpRun};
use dovetail_lab::{Lab, Options};
use dovetail_sched::Spec;
use dovetail_units::{Duration, Time};
use serde::Serialize;

use super::inside::{Inside, Source};
use super::memory;
use crate::args::FloodLab;
use crate::failure::Failure;
use crate::terminal;

const BOX: &str = include_str!("../../../../scenarios/lab/flood-box.toml");

/// What is compared unless told otherwise: the control, what shares the link alone, and what shares both.
const SCHEDULERS: [&str; 9] =
    ["fifo", "drr", "wfq", "drr+drr", "mr3", "drfq", "pcfq", "tradeoff:alpha=1", "tradeoff:alpha=0.85"];

/// For how long the established flow is alone, the flood goes on until the newcomer comes, and the newcomer has until
/// it is measured.
const ALONE: Duration = Duration::from_secs(1);
const FILLING: Duration = Duration::from_secs(4);
const COMING: Duration = Duration::from_secs(2);

/// Bytes of a segment's frame besides its data: Ethernet, IPv4, TCP and its time stamps.
const HEADERS: f64 = 66.0;

/// What a scheduler came to.
#[derive(Clone, Debug, Serialize)]
struct Row {
    scheduler: String,
    /// Bits per second of frames: of a flow that is new, and of one that was there before.
    new_bps: f64,
    established_bps: f64,
    /// What each of the two has if they share fairly what the flood leaves, or half the link if it leaves less.
    fair_bps: f64,
    /// Packets of the flood per second.
    flood_pps: f64,
    /// Flows in the table, those that are shared queues included.
    flows: u64,
    /// Memory of the process, bytes.
    memory: u64,
    /// Part of the time that the box could not make up for.
    lost_time: f64,
    /// How much later than due the latest frame left, seconds.
    latest_s: f64,
}

/// All of them.
#[derive(Serialize)]
struct Document {
    schema: u32,
    flows_per_s: f64,
    packets: u32,
    frame: u64,
    measured_s: f64,
    rows: Vec<Row>,
}

/// Measure scheduler by scheduler, each in a lab of its own.
pub fn flood(args: &FloodLab) -> Result<(), Failure> {
    let given = |name: &str| name.parse::<Spec>().map_err(|error| Failure::Input(error.to_string()));
    let schedulers = match args.schedulers.as_slice() {
        [] => SCHEDULERS.into_iter().map(given).collect::<Result<Vec<_>, _>>()?,
        some => some.to_vec(),
    };
    let source = Source { file: None, name: "flood-box.toml".into(), text: BOX.into() };
    let sets: Vec<Vec<String>> = schedulers.iter().map(|scheduler| set(scheduler, &args.overrides)).collect();
    // What is wrong is told before anything runs.
    sets.iter().try_for_each(|set| source.config(set).map(drop)).map_err(Failure::input)?;
    let stop = terminal::on_interrupt();
    let mut rows = Vec::new();
    for (scheduler, set) in schedulers.iter().zip(&sets) {
        let lab = Lab::up(&Options { name: args.name.clone(), ..Options::default() })?;
        rows.push(measure(&lab, &source, scheduler, set, args, stop)?);
    }
    let (flows_per_s, packets, frame) = (args.rate.as_pps(), args.packets, args.frame.0);
    let document = Document { schema: 1, flows_per_s, packets, frame, measured_s: args.duration.as_secs_f64(), rows };
    match args.json {
        true => terminal::print(&serde_json::to_string_pretty(&document).map_err(Failure::run)?),
        false => terminal::print(&text(&document)),
    }
}

fn set(scheduler: &Spec, overrides: &[String]) -> Vec<String> {
    [format!("scheduler={scheduler}")].into_iter().chain(overrides.iter().cloned()).collect()
}

fn connection(name: &str, port: u16) -> TcpFlow {
    let (start, mss, congestion_control) = (Duration::ZERO, None, None);
    TcpFlow { name: name.into(), port, ip: Ip::V4, start, mss, congestion_control }
}

fn measure(
    lab: &Lab,
    source: &Source,
    scheduler: &Spec,
    set: &[String],
    args: &FloodLab,
    stop: &AtomicBool,
) -> Result<Row, Failure> {
    let mut inside = Inside::start(lab, source, set, stop)?;
    inside.wait_until_ready(stop)?;
    let mut established = lab.tcp(&[connection("established", 5001)])?;
    inside.wait(ALONE, stop)?;
    let flows = FalseFlows { rate: args.rate, packets: args.packets, frame: args.frame };
    let all = ALONE + FILLING + COMING + args.duration;
    let flood = lab.flood(flows, all + all)?;
    inside.wait(FILLING, stop)?;
    let mut new = lab.tcp(&[connection("new", 5002)])?;
    inside.wait(COMING, stop)?;
    let (begun, sent, before) = (dovetail_lab::now(), flood.sent(), inside.snapshot()?);
    let _ = (frames_per_s(&mut established, begun), frames_per_s(&mut new, begun));
    inside.wait(args.duration, stop)?;
    let (new_bps, established_bps) = (frames_per_s(&mut new, begun), frames_per_s(&mut established, begun));
    let (after, seconds) = (inside.snapshot()?, (dovetail_lab::now() - begun).as_secs_f64());
    let flood_pps = (flood.sent() - sent) as f64 / seconds;
    let rate = after.resources.get("link").and_then(|link| link.capacity).unwrap_or(f64::INFINITY);
    let row = Row {
        scheduler: scheduler.to_string(),
        new_bps,
        established_bps,
        fair_bps: (rate - flood_pps * args.frame.0 as f64 * 8.0).max(rate / 2.0) / 2.0,
        flood_pps,
        flows: after.classes.iter().map(|class| class.flows).sum(),
        memory: memory::of_process(inside.id())?,
        lost_time: (after.lost_time_s - before.lost_time_s) / seconds,
        latest_s: after.late_s.max,
    };
    flood.end()?;
    drop((new, established));
    inside.end()?;
    Ok(row)
}

/// Bits per second of the frames of a connection since it was last measured, at `begun`; 0 if it has not come about.
fn frames_per_s(run: &mut TcpRun, begun: Time) -> f64 {
    let Ok(report) = run.measure() else { return 0.0 };
    let seconds = (dovetail_lab::now() - begun).as_secs_f64();
    let of_flow = |bytes: u64, segment: u32| match segment {
        0 => 0.0,
        segment => bytes as f64 * 8.0 * (f64::from(segment) + HEADERS) / f64::from(segment) / seconds,
    };
    report.flows.iter().map(|flow| of_flow(flow.bytes, flow.segment)).sum()
}

fn text(document: &Document) -> String {
    let header = [
        "scheduler",
        "new Mbit/s",
        "of fair",
        "established Mbit/s",
        "of fair",
        "flows",
        "memory",
        "time lost",
        "latest",
    ];
    let row = |row: &Row| {
        let part = |bps: f64| format!("{:.2}", bps / row.fair_bps);
        vec![
            row.scheduler.clone(),
            format!("{:.1}", row.new_bps / 1e6),
            part(row.new_bps),
            format!("{:.1}", row.established_bps / 1e6),
            part(row.established_bps),
            row.flows.to_string(),
            format!("{:.1} MiB", row.memory as f64 / f64::from(1 << 20)),
            format!("{:.2} %", 100.0 * row.lost_time),
            format!("{:.1} ms", 1e3 * row.latest_s),
        ]
    };
    let rows: Vec<Vec<String>> = document.rows.iter().map(row).collect();
    let table = table(&header, 1, rows, terminal::width());
    let slowest = document.rows.iter().map(|row| row.flood_pps).fold(f64::INFINITY, f64::min);
    let fair = document.rows.iter().map(|row| row.fair_bps).fold(f64::INFINITY, f64::min);
    let due = document.flows_per_s * f64::from(document.packets);
    let slow = match slowest < 0.95 * due {
        true => format!("\nThe generator was too slow: {slowest:.0} packets/s at least, {due:.0} were due.\n"),
        false => String::new(),
    };
    format!(
        "{:.0} false flows a minute, packets of each: {}, frames of {} bytes; \
         a fair share is {:.1} Mbit/s of frames; {} s\n\n\
         {table}\n{slow}",
        60.0 * document.flows_per_s,
        document.packets,
        document.frame,
        fair / 1e6,
        document.measured_s,
    )
}
