//! `wfq+wfq` in the simulator, and private servers in a row.

use dovetail_sched::{Shape, build_all};
use dovetail_sim::record::PacketLog;
use dovetail_sim::{Cost, Flow, List, Options, Pipeline, Source, TimeScale, Workload, simulate_all};
use dovetail_units::{ResourceVec, Time, Weight};

use super::ROUNDING;
use super::pipeline::Traffic;

fn workload(traffic: &Traffic) -> Workload<2> {
    let weight = |milli: u32| Weight::from_milli(milli).unwrap();
    let flow = |(k, both): (usize, &[u32; 2])| {
        let mut flow = Flow::new(format!("{k}"), [Cost::PerPacket; 2]);
        flow.weight_on = Some(both.map(weight));
        flow
    };
    let arrival =
        |a: &super::Arrival| dovetail_sim::Arrival { time: Time::from_nanos(a.at), flow: a.flow as u32, size: 100 };
    let arrivals: Vec<dovetail_sim::Arrival> = traffic.arrivals.iter().map(arrival).collect();
    let costs: Vec<ResourceVec<2>> = traffic.arrivals.iter().map(|a| ResourceVec::from_nanos(a.truth)).collect();
    let list = List { arrivals: arrivals.into(), costs: Some(costs.into()), scale: TimeScale::ONE };
    Workload { flows: traffic.weights.iter().enumerate().map(flow).collect(), sources: vec![Source::List(list)] }
}

/// When each packet leaves the link under separate WFQs with exact times and unlimited buffers.
pub fn left(traffic: &Traffic) -> Vec<u64> {
    let mut schedulers = build_all::<2, u32>(&"wfq+wfq:buffer=none".parse().unwrap(), Shape { servers: 2 }).unwrap();
    let mut log = PacketLog::new(usize::MAX);
    let pipeline = Pipeline::new(["cpu", "link"]);
    simulate_all(&workload(traffic), &pipeline, &mut schedulers, &mut log, Options::default()).unwrap();
    log.records().iter().map(|packet| packet.finished[1].unwrap().as_nanos()).collect()
}

/// The most by which a packet leaves later than the private servers of its flow's shares in a row, by the longest times
/// on CPU and link.
pub fn lateness(traffic: &Traffic) -> f64 {
    let longest = |r: usize| traffic.arrivals.iter().map(|a| a.truth[r]).max().unwrap_or(0) as f64;
    let mut free = vec![[0.0f64; 2]; traffic.weights.len()];
    let mut late = 0.0;
    for (arrival, left) in traffic.arrivals.iter().zip(left(traffic)) {
        let mut at = arrival.at as f64;
        let times = arrival.truth.iter().zip(traffic.shares(arrival.flow));
        for (own, (&time, share)) in free[arrival.flow].iter_mut().zip(times) {
            at = own.max(at) + time as f64 / share;
            *own = at;
        }
        late = f64::max(late, (left as f64 - at) / (longest(0) + longest(1) + ROUNDING));
    }
    late
}
