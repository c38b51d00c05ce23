//! `dovetail calibrate`.

use dovetail_config::nearest;
use dovetail_dataplane::calibrate::{Cost, Plan, STANDARD, measure_standard};
use dovetail_dataplane::core::stopwatch;
use dovetail_experiment::table::table;
use serde_json::json;

use crate::args::Calibrate;
use crate::failure::Failure;
use crate::terminal;

/// Lengths of which the table tells, in bytes.
const SHOWN: [usize; 3] = [64, 800, 1400];

/// Measure modules.
pub fn calibrate(args: Calibrate) -> Result<(), Failure> {
    let names = STANDARD.map(|(name, _)| name);
    if let Some(wrong) = args.modules.iter().find(|m| !names.contains(&m.as_str())) {
        let near = nearest(wrong, names.into_iter());
        let hint = near.map_or(format!("there are {}", names.join(", ")), |near| format!("did you mean {near:?}?"));
        return Err(Failure::Input(format!("there is no module {wrong:?}; {hint}")));
    }
    let plan = Plan { samples: args.samples as usize, ..Plan::default() };
    let mut costs = Vec::new();
    for (name, kind) in STANDARD {
        if args.modules.is_empty() || args.modules.iter().any(|m| m == name) {
            costs.push((name, measure_standard(&kind(), &plan, stopwatch).map_err(Failure::run)?));
        }
    }
    if args.json {
        return terminal::print(&serde_json::to_string_pretty(&document(&costs)).map_err(Failure::run)?);
    }
    terminal::print(&format!("{}\n{}", overview(&costs), scenario(&costs)))
}

fn document(costs: &[(&str, Cost)]) -> serde_json::Value {
    let modules: Vec<_> = costs
        .iter()
        .map(|(name, cost)| {
            let (per_byte, fixed) = cost.line.as_picos();
            let points = cost
                .points
                .iter()
                .map(|p| json!({ "bytes": p.size, "median_ns": p.median, "mean_ns": p.mean, "p95_ns": p.p95 }));
            json!({
                "module": name,
                "cost": cost.line.to_string(),
                "ns_per_byte": per_byte as f64 / 1e3,
                "ns_per_packet": fixed as f64 / 1e3,
                "r_squared": cost.r_squared,
                "residual_p95": cost.residual_p95,
                "preempted": cost.preempted,
                "points": points.collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({ "schema": 1, "modules": modules })
}

fn overview(costs: &[(&str, Cost)]) -> String {
    let rows = costs.iter().map(|(name, cost)| {
        let shown = SHOWN.iter().map(|&size| {
            let point = cost.points.iter().find(|p| p.size == size);
            point.map_or("-".into(), |p| format!("{:.0}", p.mean))
        });
        let (per_byte, fixed) = cost.line.as_picos();
        let fit = [
            format!("{:.3}", per_byte as f64 / 1e3),
            format!("{:.1}", fixed as f64 / 1e3),
            format!("{:.4}", cost.r_squared),
            format!("{:.1} %", cost.residual_p95 * 100.0),
            cost.preempted.to_string(),
        ];
        std::iter::once(name.to_string()).chain(shown).chain(fit).collect()
    });
    let header = ["module", "64 B, ns", "800 B, ns", "1400 B, ns", "ns/B", "ns/packet", "R^2", "p95 off", "preempted"];
    table(&header, 1, rows.collect(), terminal::width()).to_string()
}

/// Classes that cost as much, for a scenario whose first resource is called `cpu`. A box takes the quoted text alone.
fn scenario(costs: &[(&str, Cost)]) -> String {
    let class = |(name, Cost { line, .. }): &(&str, Cost)| {
        format!("\n[[class]]\nname = \"{name}\"\ncost = {{ cpu = \"{line}\" }}    # in a live box: cost = \"{line}\"\n")
    };
    costs.iter().map(class).collect()
}
