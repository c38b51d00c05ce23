//! Sixty senders into one link, in order of arrival: `flood.tcl`, beside which it stands, is the same for ns-2.

use dovetail_sched::{Shape, build_all};
use dovetail_sim::{Cost, Flow, Generator, Options, Pattern, Pipeline, Size, Source, Workload, simulate_all};

/// How many packets have left the link.
pub fn ours() -> u64 {
    let (rate, link) = ("2000 pps".parse().expect("a rate"), "200 Mbps".parse().expect("a rate"));
    let mut workload = Workload::<1> { flows: Vec::new(), sources: Vec::new() };
    for flow in 0..60 {
        workload.flows.push(Flow::new(format!("flow {}", flow + 1), [Cost::Link(link)]));
        let sender = Generator::new(flow, Pattern::Constant(rate), Size::Fixed(800));
        workload.sources.push(Source::Generator(Generator { packets: Some(20_000), ..sender }));
    }
    let spec = "fifo".parse().expect("a scheduler");
    let mut schedulers = build_all::<1, u32>(&spec, Shape::default()).expect("a scheduler");
    let outcome = simulate_all(&workload, &Pipeline::new(["link"]), &mut schedulers, &mut (), Options::default());
    outcome.expect("packets leave").tally.delivered
}
