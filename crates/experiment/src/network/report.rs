//! What a network's comparison leaves in a folder.

use super::run::Runs;
use super::scenario::NetworkScenario;
use super::summary::NetworkSummary;
use crate::columns::{Column, Kind, Tables, Value};
use crate::output::{Output, OutputError};
use crate::report::ReportError;
use crate::results::{COMMAND, Documents, SUMMARY};
use dovetail_figure::{Bar, BarChart, BarSeries, FigureError, bars_with_error};

/// The names of all that [`write()`] writes.
pub const FILES: [&str; 5] = [SUMMARY, COMMAND, "flows.parquet", "hops.parquet", "throughput.svg"];

/// Write everything and move it into place; returns the paths.
///
/// # Errors
/// If a file cannot be written.
pub fn write(
    mut out: Output,
    scenario: &NetworkScenario,
    runs: &[Runs],
    summary: &NetworkSummary,
    documents: &Documents,
) -> Result<Vec<String>, ReportError> {
    documents.write(&mut out)?;
    tables(&mut out, scenario, runs, summary)?;
    Ok(out.commit()?.iter().map(ToString::to_string).collect())
}

/// Hand over `flows` and `hops`.
///
/// # Errors
/// What `out` fails with.
pub fn tables(
    out: &mut dyn Tables,
    scenario: &NetworkScenario,
    runs: &[Runs],
    summary: &NetworkSummary,
) -> Result<(), OutputError> {
    flows(out, scenario, runs, summary)?;
    hops(out, runs)
}

/// One row per scheduler, seed and long-lived flow.
fn flows(
    out: &mut dyn Tables,
    scenario: &NetworkScenario,
    runs: &[Runs],
    summary: &NetworkSummary,
) -> Result<(), OutputError> {
    let columns = [
        Column::new("scheduler", Kind::Text),
        Column::new("seed", Kind::U64),
        Column::new("group", Kind::Text),
        Column::new("class", Kind::Text),
        Column::new("flow", Kind::U32),
        Column::new("throughput_bps", Kind::F64),
        Column::optional("fair_bps", Kind::F64),
        Column::new("timeouts", Kind::U64),
        Column::new("retransmissions", Kind::U64),
    ];
    out.table("flows", &columns, &mut |push| {
        for (runs, run) in runs.iter().zip(&summary.runs) {
            for (seed, result) in &runs.results {
                let mut numbers = vec![0_u32; scenario.groups.len()];
                for flow in &result.flows {
                    let group = &run.groups[flow.class as usize];
                    let number = &mut numbers[flow.class as usize];
                    *number += 1;
                    push(&[
                        Value::Text(&run.scheduler),
                        Value::U64(*seed),
                        Value::Text(&group.group),
                        Value::Text(&group.class),
                        Value::U32(*number),
                        Value::F64(flow.goodput_bps),
                        group.fair_bps.map_or(Value::None, Value::F64),
                        Value::U64(flow.timeouts),
                        Value::U64(flow.retransmissions),
                    ])?;
                }
            }
        }
        Ok(())
    })
}

/// One row per scheduler, seed and CPU or link.
fn hops(out: &mut dyn Tables, runs: &[Runs]) -> Result<(), OutputError> {
    let columns = [
        Column::new("scheduler", Kind::Text),
        Column::new("seed", Kind::U64),
        Column::new("hop", Kind::Text),
        Column::new("utilization", Kind::F64),
        Column::new("rate_bps", Kind::F64),
        Column::new("queue_packets", Kind::F64),
        Column::new("queue_deviation_packets", Kind::F64),
        Column::new("longest_queue", Kind::U32),
        Column::new("held_before", Kind::U64),
        Column::new("arrived", Kind::U64),
        Column::new("departed", Kind::U64),
        Column::new("held_after", Kind::U64),
        Column::new("dropped", Kind::U64),
        Column::new("overflowed", Kind::U64),
        Column::new("marked", Kind::U64),
        Column::new("signalled", Kind::U64),
    ];
    out.table("hops", &columns, &mut |push| {
        for runs in runs {
            let scheduler = runs.scheduler.to_string();
            for (seed, result) in &runs.results {
                for hop in &result.hops {
                    push(&[
                        Value::Text(&scheduler),
                        Value::U64(*seed),
                        Value::Text(&hop.name),
                        Value::F64(hop.utilization),
                        Value::F64(hop.rate_bps),
                        Value::F64(hop.queue),
                        Value::F64(hop.queue_deviation),
                        Value::U32(hop.longest_queue),
                        Value::U64(hop.held_before),
                        Value::U64(hop.arrived),
                        Value::U64(hop.departed),
                        Value::U64(hop.held_after),
                        Value::U64(hop.dropped),
                        Value::U64(hop.overflowed),
                        Value::U64(hop.marked),
                        Value::U64(hop.signalled),
                    ])?;
                }
            }
        }
        Ok(())
    })
}

/// The pictures, with their file names.
///
/// # Errors
/// If one cannot be drawn.
pub fn pictures(summary: &NetworkSummary) -> Result<Vec<(&'static str, String)>, FigureError> {
    Ok(vec![("throughput.svg", picture(summary)?)])
}

/// Throughput of a flow of every group of long-lived ones under every scheduler, and the fair rate.
fn picture(summary: &NetworkSummary) -> Result<String, FigureError> {
    let long_lived = |run: &super::RunSummary| -> Vec<super::GroupSummary> {
        run.groups.iter().filter(|g| g.long_lived).cloned().collect()
    };
    let groups = summary.runs.first().map(long_lived).unwrap_or_default();
    let bar = |mean: f64, ci95: Option<f64>| Some(Bar { mean: mean / 1e6, std: ci95.unwrap_or(-1.0) / 1e6 });
    let mut series: Vec<BarSeries> = Vec::new();
    for run in &summary.runs {
        let values = long_lived(run).iter().map(|g| bar(g.throughput_bps.mean, g.throughput_bps.ci95)).collect();
        series.push(BarSeries { name: run.scheduler.clone(), values, ..Default::default() });
    }
    let fair = groups.iter().map(|g| g.fair_bps.and_then(|rate| bar(rate, None))).collect();
    series.push(BarSeries { name: "proportionally fair".into(), values: fair, ..Default::default() });
    bars_with_error(&BarChart {
        title: summary.network.title.clone(),
        x_label: String::new(),
        whiskers: "95 % confidence over seeds",
        y_label: "Throughput of a flow (Mbit/s)".into(),
        categories: groups.iter().map(|g| g.group.clone()).collect(),
        series,
        log: false,
        ..Default::default()
    })
}
