//! Weights that differ by resource, in what a run is measured by.

use crate::common::{at, fifo, pipeline, simulate};
use dovetail_sim::record::{Metrics, MetricsOptions};
use dovetail_sim::{Arrival, Cost, Flow, List, Options, RunResult, Source, Workload};
use dovetail_units::{Duration, Weight};

/// Two flows with a packet of 2 s on the CPU and 2 s on the link each, served one after the other. Their weights are 1
/// and 3 on the CPU, 3 and 1 on the link, in the mean the same.
fn one_after_the_other() -> RunResult<2> {
    let cost = || Cost::Linear("2 s".parse().unwrap());
    let mut flows = ["a", "b"].map(|name| Flow::new(name, [cost(), cost()]));
    let (one, three) = (Weight::ONE, Weight::from_milli(3000).unwrap());
    flows.iter_mut().for_each(|flow| flow.weight = Weight::from_milli(2000).unwrap());
    (flows[0].weight_on, flows[1].weight_on) = (Some([one, three]), Some([three, one]));
    let arrivals: Vec<Arrival> = (0..2).map(|flow| Arrival { time: at(0), flow, size: 1 }).collect();
    let workload = Workload { flows: flows.into(), sources: vec![Source::List(List::new(arrivals))] };
    let options = MetricsOptions { interval: Duration::from_secs(1), gini: true, ..MetricsOptions::default() };
    let pipeline = pipeline();
    let mut metrics = Metrics::new(&workload, &pipeline, options);
    let outcome = simulate(&workload, &pipeline, &mut *fifo(), &mut metrics, Options::default()).unwrap();
    metrics.finish(outcome)
}

#[track_caller]
fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} is not {b}");
}

/// CPU after 1 s: flow a has had 1 s, the fluid gives 1/4 s and 3/4 s. By weight: 1 and 0 against 1/4 and 1/4; sorted
/// and summed, 0 and 1 against 1/4 and 1/2.
///
/// Link after 5 s: a has had 2 s and b 1 s, by weight 2/3 and 1. In the fluid b comes from the CPU after 8/3 s and a
/// after 4 s; b has the link for itself for 4/3 s, then 1/4 of it, a 3/4. By weight 1/4 and 4/3 + 1/4; sorted and
/// summed, 2/3 and 5/3 against 1/4 and 11/6.
#[test]
fn the_gini_index_of_a_run_is_that_by_hand() {
    let run = one_after_the_other();
    let gini = |second: usize, resource: usize| run.series.intervals[second - 1].gini.unwrap()[resource];
    close(gini(1, 0), 0.25 + 0.5);
    close(gini(1, 1), 0.0);
    close(gini(5, 0), 0.0);
    close(gini(5, 1), (2.0 / 3.0 - 0.25) + (11.0 / 6.0 - 5.0 / 3.0));
}

/// Fair is 1/2 for each by weight: a's CPU limits it to its weight 1 there, b's link likewise, so that each has half of
/// both resources. Flow a has had the CPU for 1 s of the first, b nothing; a's dominant resource is the CPU, b's the
/// link, although their times there are the same.
#[test]
fn the_fair_share_goes_by_the_weight_on_the_resource_that_limits() {
    let run = one_after_the_other();
    close(run.series.intervals[0].fair, 0.5);
    let shares: Vec<(f64, f64)> = run.series.iter().next().unwrap().1.iter().map(|s| (s.service, s.total)).collect();
    // 1 s by weight 1, in terms of the mean weight 2.
    assert_eq!(shares, [(2.0, 2.0), (0.0, 0.0)]);
    // Real time on the dominant resource, by no weight.
    close(run.flows[0].dominant_service, 2.0);
    close(run.flows[1].dominant_service, 2.0);
}
