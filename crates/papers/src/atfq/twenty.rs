//! The twenty flows of Figs. 6 to 10.
//!
//! All packets come at time zero, so a packet's latency is when it is complete; packets of a flow are alike, and pass
//! the pipeline without waiting, so the times between completions are those between starts.

use dovetail_sim::{Source, stream};
use rand::seq::SliceRandom;

use super::super::ReproduceError;
use super::super::bench::Bench;
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::scenario::Scenario;

const SCENARIO: &str = include_str!("../../../../scenarios/papers/atfq/fig6-10.toml");

/// The paper measures flows 3, 8, 13 and 18 where it does not measure all: one of each application, packets of 600
/// bytes.
pub(super) const SHOWN: [usize; 4] = [2, 7, 12, 17];
/// Packets per loop that the text compares with strict DRFQ.
pub(super) const LOOP: u32 = 20;

/// The scenario, changed by these overrides.
pub(super) fn scenario(bench: &Bench<'_>, overrides: &[String]) -> Result<Scenario, ReproduceError> {
    bench.scenario("atfq/fig6-10.toml", SCENARIO, overrides)
}

/// Orders of the flows: the scenario's, and random ones.
pub(super) const ORDERS: u64 = 10;

/// The flows by their places in this order: the first is the scenario's own, the others are random.
fn order_of_flows(order: u64) -> Vec<usize> {
    let mut flows: Vec<usize> = (0..20).collect();
    if order > 0 {
        flows.shuffle(&mut stream(order, "order of the flows"));
    }
    flows
}

/// Where this flow of the scenario stands in this order.
pub(super) fn place(order: u64, flow: usize) -> usize {
    order_of_flows(order).iter().position(|&at| at == flow).unwrap_or(flow)
}

/// Overrides that put the flows into another order.
pub(super) fn in_order(order: u64) -> Vec<String> {
    let flows = order_of_flows(order);
    let place = |(place, flow): (usize, usize)| {
        let (class, count) = [("IPSE", 20_000), ("SM", 110_000), ("BF", 200_000), ("RE", 110_000)][flow / 5];
        let size = 200 * (flow % 5 + 1);
        [
            format!("flows.{place}.class='{class}'"),
            format!("flows.{place}.list.0.size='{size} B'"),
            format!("flows.{place}.list.0.count={count}"),
        ]
    };
    flows.into_iter().enumerate().flat_map(place).collect()
}

/// The runs, and what they were made of.
pub struct Twenty {
    /// One per scheduler of the scenario.
    pub runs: Vec<Recorded>,
    /// Per flow, the seconds that its packets take on CPU and link.
    pub times: Vec<[f64; 2]>,
}

impl Twenty {
    /// Run the scenario.
    pub fn run(bench: &Bench<'_>, scenario: &Scenario) -> Result<Self, ReproduceError> {
        let workload = scenario.workload::<2>();
        let first = |source: &Source<2>| match source {
            Source::List(list) => list.costs.as_ref().and_then(|costs| costs.first()).map(|c| c.0),
            Source::Generator(_) => None,
        };
        let times = workload.sources.iter().filter_map(first).map(|cost| cost.map(|time| time.as_secs_f64())).collect();
        Ok(Self { runs: bench.run(scenario)?, times })
    }
}

/// When a flow's packets were complete, in nanoseconds, in order.
pub(super) fn completions(run: &Recorded, flow: usize) -> Vec<u64> {
    run.latencies.of_flow(flow).iter().collect()
}

/// What a packet with these times adds to its flow's active time: the flow's packets are alike, so that by equation 3
/// it is the longer time.
pub(super) fn active_s(times: &[f64; 2]) -> f64 {
    times[0].max(times[1])
}
