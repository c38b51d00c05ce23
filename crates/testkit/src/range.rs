//! Fairness over the whole range of weights and processing times.

use dovetail_sched::atfq::{Loops, Reach};
use dovetail_sched::catalog::Entry;
use dovetail_sched::gain::Strategy;
use dovetail_sched::promise::Apart;
use dovetail_sched::{FlowConfig, FlowId, Limit, Scheduler, Spec};
use dovetail_units::{Duration, Weight};

use crate::conformance::Bench;

/// Weights in thousandths.
const WEIGHTS: [u32; 8] = [1, 250, 1_000, 1_000_000, 66_000_000, 100_000_000, 500_000_000, 1_000_000_000];
/// A packet's time in ns: 1 ns to 5 min.
const TIMES: [u64; 7] = [1, 30, 200, 1_000, 1_000_000, 1_000_000_000, 300_000_000_000];

/// Every pair of weights with packets of every length, and every pair of lengths with some weights.
///
/// # Errors
///
/// The first pair of flows whose services by weight are further apart than the discipline lets them be.
pub fn check<const M: usize>(
    make: &dyn Fn() -> Box<dyn Scheduler<M, u32>>,
    spec: &Spec,
    entry: &Entry,
) -> Result<(), String> {
    let Some(apart) = (entry.promise.apart)(spec, M) else { return Ok(()) };
    for (k, &first) in WEIGHTS.iter().enumerate() {
        for &second in &WEIGHTS[k..] {
            TIMES.iter().try_for_each(|&time| pair(make(), apart, [first, second], [time; 2]))?;
        }
    }
    for first in TIMES {
        for second in TIMES {
            for weights in [[1_000, 1_000], [1_000_000_000, 500_000_000], [66_000_000, 100_000_000], [1, 3]] {
                pair(make(), apart, weights, [first, second])?;
            }
        }
    }
    Ok(())
}

fn packets(apart: Apart) -> f64 {
    match apart {
        Apart::Packets(packets) | Apart::Longest(packets) => packets,
    }
}

/// In ns by weight in thousandths.
fn most(apart: Apart, weights: [u32; 2], times: [u64; 2]) -> f64 {
    let of = |time: [u64; 2]| (0..2).map(|k| time[k] as f64 / f64::from(weights[k])).sum::<f64>();
    match apart {
        Apart::Packets(packets) => packets * of(times),
        Apart::Longest(packets) => packets * of([times[0].max(times[1]); 2]),
    }
}

/// Two flows that stay backlogged, with packets that take the same on every resource.
fn pair<const M: usize>(
    scheduler: Box<dyn Scheduler<M, u32>>,
    apart: Apart,
    weights: [u32; 2],
    times: [u64; 2],
) -> Result<(), String> {
    // Enough for one flow that gets all to exceed the bound twice, and some more for two that wrongly get the same.
    let packets = (4.0 * packets(apart)) as usize + 24;
    let mut bench = Bench::new(scheduler);
    let flows = weights.map(|milli| {
        let weight = Weight::from_milli(milli).unwrap_or_default();
        bench.scheduler.add_flow(FlowConfig { weight, ..FlowConfig::default() })
    });
    for k in 0..2 {
        bench.offer(flows[k], [times[k]; 4], packets)?;
    }
    let (mut served, most) = ([0u64; 2], most(apart, weights, times));
    while served.iter().all(|&served| served + 1 < packets as u64) {
        let (flow, _) = bench.serve()?.ok_or("a packet is lost")?;
        served[usize::from(flow == flows[1].index())] += 1;
        let [first, second] = [0, 1].map(|k| served[k] as f64 * times[k] as f64 / f64::from(weights[k]));
        // Sums of integers in floating point.
        if (first - second).abs() > most * (1.0 + 1e-9) {
            let weights = weights.map(|milli| f64::from(milli) / 1000.0);
            return Err(format!(
                "flows of weights {weights:?} with packets of {times:?} ns have had {served:?} packets: {:.1} times as \
                 far apart as may be",
                (first - second).abs() / most
            ));
        }
    }
    Ok(())
}

/// A flow whose queue holds one packet, which is refilled as soon as it is served, beside nine deep ones: it gets what
/// they get, or that part of it by which the discipline says that deep ones gain.
///
/// # Errors
///
/// What it gets, if that is less.
pub fn shallow<const M: usize>(
    scheduler: Box<dyn Scheduler<M, u32>>,
    spec: &Spec,
    entry: &Entry,
) -> Result<(), String> {
    const DEEP: usize = 9;
    const ROUNDS: usize = 200;
    let mut bench = Bench::new(scheduler);
    let limit = Limit { packets: Some(1), ..Limit::default() };
    let shallow = bench.scheduler.add_flow(FlowConfig { limit, ..FlowConfig::default() });
    let deep: Vec<FlowId> = (0..DEEP).map(|_| bench.scheduler.add_flow(FlowConfig::default())).collect();
    let times = [3_000; 4];
    deep.iter().try_for_each(|&flow| bench.offer(flow, times, 60))?;
    bench.offer(shallow, times, 1)?;
    let (mut served, mut all) = (0, 0);
    // A window of one packet lets one in at every second step.
    for _ in 0..3 * ROUNDS * (DEEP + 1) {
        let Some(flow) = bench.step(Duration::from_nanos(times[0])) else { continue };
        all += 1;
        if all > ROUNDS * (DEEP + 1) {
            break;
        }
        served += usize::from(flow == shallow.index());
        let flow = if flow == shallow.index() { shallow } else { deep[flow - 1] };
        bench.offer(flow, times, 1)?;
    }
    // A twentieth for whole packets and the beginning, or by how much loops let flows differ: x / n + 3 packets, or a
    // time domain and 3 packets.
    let looped = match entry.fact::<Loops>().and_then(|Loops(reach)| reach(spec)) {
        Some(Reach::Packets(packets)) => packets / (DEEP as u64 + 1) + 3,
        Some(Reach::Time(domain)) => domain.as_nanos() / times[0] + 3,
        None => 0,
    };
    let behind = looped.max(ROUNDS as u64 / 20);
    let gained = entry.gain(Strategy::QueueDepth).most;
    if (served as f64) < (ROUNDS as u64).saturating_sub(behind) as f64 / gained.max(1.0) {
        return Err(format!("of {ROUNDS} packets that each of {} flows should have it has {served}", DEEP + 1));
    }
    Ok(())
}
