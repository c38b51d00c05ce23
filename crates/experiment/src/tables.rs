//! A comparison as tables: `docs/reference/output.md` describes them.

use std::borrow::Cow;

use crate::columns::{Column, Kind, Tables, Value};
use crate::output::OutputError;
use crate::recorded::{LatencySummary, Recorded};

/// Hand over `flows`, `utilization`, `shares` and, if packets were kept, `packets`.
pub fn write(out: &mut dyn Tables, runs: &[Recorded]) -> Result<(), OutputError> {
    flows(out, runs)?;
    utilization(out, runs)?;
    shares(out, runs)?;
    packets(out, runs)
}

/// One row per scheduler and flow.
fn flows(out: &mut dyn Tables, runs: &[Recorded]) -> Result<(), OutputError> {
    let columns = [
        Column::new("scheduler", Kind::Text),
        Column::new("flow", Kind::Text),
        Column::new("group", Kind::Text),
        Column::new("weight", Kind::F64),
        Column::new("offered", Kind::U64),
        Column::new("delivered", Kind::U64),
        Column::new("refused", Kind::U64),
        Column::new("dropped_after_processing", Kind::U64),
        Column::new("dropped_waiting", Kind::U64),
        Column::new("unfinished", Kind::U64),
        Column::new("bytes_offered", Kind::U64),
        Column::new("bytes_delivered", Kind::U64),
        Column::new("dominant_service_s", Kind::F64),
        Column::new("backlogged_s", Kind::F64),
        Column::optional("latency_mean_s", Kind::F64),
        Column::optional("latency_p50_s", Kind::F64),
        Column::optional("latency_p90_s", Kind::F64),
        Column::optional("latency_p99_s", Kind::F64),
        Column::optional("latency_max_s", Kind::F64),
        Column::optional("latency_std_s", Kind::F64),
        Column::new("behind_s", Kind::F64),
        Column::new("behind_packets", Kind::U64),
        Column::new("behind_due_rounds", Kind::F64),
    ];
    out.table("flows", &columns, &mut |push| {
        for run in runs {
            let scheduler = run.scheduler.to_string();
            for (index, flow) in run.flows.iter().enumerate() {
                let latencies = run.latency(index);
                let latency =
                    |f: fn(&LatencySummary) -> f64| latencies.as_ref().map_or(Value::None, |l| Value::F64(f(l)));
                let losses = flow.losses();
                push(&[
                    Value::Text(&scheduler),
                    Value::Text(&flow.name.text()),
                    Value::Text(&flow.group),
                    Value::F64(flow.weight),
                    Value::U64(flow.offered),
                    Value::U64(flow.delivered),
                    Value::U64(losses.refused.iter().sum()),
                    Value::U64(losses.dropped),
                    Value::U64(losses.dropped_waiting),
                    Value::U64(flow.unfinished.into()),
                    Value::U64(flow.bytes_offered),
                    Value::U64(flow.bytes),
                    Value::F64(flow.dominant_service),
                    Value::F64(flow.backlogged),
                    latency(|l| l.mean),
                    latency(|l| l.p50),
                    latency(|l| l.p90),
                    latency(|l| l.p99),
                    latency(|l| l.max),
                    latency(|l| l.std),
                    Value::F64(flow.behind.time_s),
                    Value::U64(flow.behind.packets.into()),
                    Value::F64(flow.behind.due_rounds),
                ])?;
            }
        }
        Ok(())
    })
}

/// One row per scheduler, interval and resource.
fn utilization(out: &mut dyn Tables, runs: &[Recorded]) -> Result<(), OutputError> {
    let columns = [
        Column::new("scheduler", Kind::Text),
        Column::new("start_s", Kind::F64),
        Column::new("length_s", Kind::F64),
        Column::new("nonempty_s", Kind::F64),
        Column::new("resource", Kind::Text),
        Column::new("utilization", Kind::F64),
        Column::optional("gini_s", Kind::F64),
    ];
    out.table("utilization", &columns, &mut |push| {
        for run in runs {
            let scheduler = run.scheduler.to_string();
            for interval in &run.intervals {
                for (r, (resource, &utilization)) in run.resources.iter().zip(&interval.utilization).enumerate() {
                    let gini = interval.gini.as_ref().and_then(|gini| gini.get(r));
                    push(&[
                        Value::Text(&scheduler),
                        Value::F64(interval.start),
                        Value::F64(interval.length),
                        Value::F64(interval.nonempty),
                        Value::Text(&resource.name),
                        Value::F64(utilization),
                        gini.map_or(Value::None, |&gini| Value::F64(gini)),
                    ])?;
                }
            }
        }
        Ok(())
    })
}

/// Of every flow.
fn names(run: &Recorded) -> Vec<Cow<'_, str>> {
    run.flows.iter().map(|flow| flow.name.text()).collect()
}

/// One row per scheduler, interval and flow that had packets in the system.
fn shares(out: &mut dyn Tables, runs: &[Recorded]) -> Result<(), OutputError> {
    let columns = [
        Column::new("scheduler", Kind::Text),
        Column::new("start_s", Kind::F64),
        Column::new("length_s", Kind::F64),
        Column::new("flow", Kind::Text),
        Column::new("weighted_dominant_service_s", Kind::F64),
        Column::new("weighted_total_service_s", Kind::F64),
        Column::new("weighted_fair_service_s", Kind::F64),
        Column::new("backlogged_throughout", Kind::U32),
    ];
    out.table("shares", &columns, &mut |push| {
        for run in runs {
            let (scheduler, names) = (run.scheduler.to_string(), names(run));
            for interval in &run.intervals {
                for share in &interval.shares {
                    let flow = &run.flows[share.flow as usize];
                    push(&[
                        Value::Text(&scheduler),
                        Value::F64(interval.start),
                        Value::F64(interval.length),
                        Value::Text(&names[share.flow as usize]),
                        Value::F64(share.service),
                        Value::F64(share.total),
                        Value::F64(interval.fair * flow.weight),
                        Value::U32(u32::from(share.backlogged)),
                    ])?;
                }
            }
        }
        Ok(())
    })
}

/// One row per scheduler and packet that was kept; a start and an end per resource.
fn packets(out: &mut dyn Tables, runs: &[Recorded]) -> Result<(), OutputError> {
    let Some(first) = runs.first().filter(|r| !r.packets.is_empty()) else { return Ok(()) };
    let mut columns = vec![
        Column::new("scheduler", Kind::Text),
        Column::new("flow", Kind::Text),
        Column::new("bytes", Kind::U32),
        Column::new("arrival_ns", Kind::U64),
        Column::new("outcome", Kind::Text),
    ];
    for resource in &first.resources {
        columns.push(Column::optional(&format!("{}_start_ns", resource.name), Kind::U64));
        columns.push(Column::optional(&format!("{}_end_ns", resource.name), Kind::U64));
    }
    out.table("packets", &columns, &mut |push| {
        for run in runs {
            let (scheduler, names) = (run.scheduler.to_string(), names(run));
            for (k, packet) in run.packets.iter().enumerate() {
                let mut row = vec![
                    Value::Text(&scheduler),
                    Value::Text(&names[packet.flow as usize]),
                    Value::U32(packet.size),
                    Value::U64(packet.arrival.as_nanos()),
                    Value::Text(packet.outcome),
                ];
                for r in 0..run.resources.len() {
                    let service = run.service(k, r);
                    row.push(service.map_or(Value::None, |s| Value::U64(s.start.as_nanos())));
                    row.push(service.map_or(Value::None, |s| Value::U64(s.end.as_nanos())));
                }
                push(&row)?;
            }
        }
        Ok(())
    })
}
