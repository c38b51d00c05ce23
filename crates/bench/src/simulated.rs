//! Simulated packets per second.

use std::time::Instant;

use dovetail_sched::{Shape, build_all};
use dovetail_sim::{Cost, Flow, Generator, Options, Pattern, Pipeline, Size, Source, Workload, simulate_all};

/// The input of the tradeoff paper's Table 2: 60 flows of 2000 packets/s of 800 B for 10 s, 20 each through three
/// modules.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub fn packets_per_second(spec: &str, quick: bool) -> Result<f64, String> {
    let workload = table2(if quick { 1_000 } else { 20_000 })?;
    let parsed = spec.parse().map_err(|e| format!("{spec}: {e}"))?;
    let mut schedulers = build_all::<2, u32>(&parsed, Shape::default()).map_err(|e| e.to_string())?;
    let start = Instant::now();
    let outcome =
        simulate_all(&workload, &Pipeline::new(["cpu", "link"]), &mut schedulers, &mut (), Options::default())
            .map_err(|e| e.to_string())?;
    Ok(outcome.tally.delivered as f64 / start.elapsed().as_secs_f64())
}

fn table2(packets_per_flow: u64) -> Result<Workload<2>, String> {
    let wrong = |e: dovetail_units::ParseError| e.to_string();
    let cpu = ["7 us", "14 us", "96.7 us"];
    let link = Cost::Link("200 Mbps".parse().map_err(wrong)?);
    let pattern = Pattern::Constant("2000 pps".parse().map_err(wrong)?);
    let mut workload = Workload { flows: Vec::new(), sources: Vec::new() };
    for i in 0..60u32 {
        let cost = [Cost::Linear(cpu[i as usize / 20].parse().map_err(wrong)?), link];
        workload.flows.push(Flow::new(format!("flow {}", i + 1), cost));
        let generator = Generator { packets: Some(packets_per_flow), ..Generator::new(i, pattern, Size::Fixed(800)) };
        workload.sources.push(Source::Generator(generator));
    }
    Ok(workload)
}
