//! Simulates the input of the tradeoff paper's Table 2 (60 flows of 2000 packets/s of 800 B for 10 s) once, with the
//! standard recorder if a second argument says `metrics`; time it from outside.

use dovetail_sched::{Shape, build};
use dovetail_sim::{
    Cost, Flow, Generator, Metrics, MetricsOptions, Options, Pattern, Pipeline, Size, Source, Workload, simulate,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let spec = args.next().unwrap_or_else(|| "fifo".into());
    let with_metrics = args.next().is_some_and(|a| a == "metrics");
    let workload = table2()?;
    let pipeline = Pipeline::new(["cpu", "link"]);
    let mut scheduler = build::<2, u32>(&spec.parse()?, Shape::default())?;
    let mut recorder = with_metrics.then(|| Metrics::new(&workload, &pipeline, MetricsOptions::default()));
    let outcome = simulate(&workload, &pipeline, &mut *scheduler, &mut recorder, Options::default())?;
    let makespan = outcome.makespan().unwrap_or_default();
    println!("{spec}: {} packets, makespan {makespan}", outcome.tally.delivered);
    if let Some(result) = recorder.map(|r| r.finish(outcome)) {
        let utilizations = result.resources.each_ref().map(|r| r.utilization);
        println!("utilization {utilizations:?}\n{:?}", result.fairness(0..20));
    }
    Ok(())
}

fn table2() -> Result<Workload<2>, Box<dyn std::error::Error>> {
    let cpu = ["7 us", "14 us", "96.7 us"];
    let mut workload = Workload { flows: Vec::new(), sources: Vec::new() };
    for i in 0..60u32 {
        let cost = [Cost::Linear(cpu[i as usize / 20].parse()?), Cost::Link("200 Mbps".parse()?)];
        workload.flows.push(Flow::new(format!("flow {}", i + 1), cost));
        let constant = Pattern::Constant("2000 pps".parse()?);
        let generator = Generator { packets: Some(20_000), ..Generator::new(i, constant, Size::Fixed(800)) };
        workload.sources.push(Source::Generator(generator));
    }
    Ok(workload)
}
