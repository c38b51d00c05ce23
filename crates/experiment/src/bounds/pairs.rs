//! How far the services per weight of two flows drift apart while both are backlogged.
//!
//! Backlogged is a flow while a packet of it waits in the scheduler: from its arrival to its entrance into the first
//! resource.

use dovetail_units::Time;

use super::facts::dominant;
use super::measure::{Worst, worst};
use crate::recorded::Recorded;

/// Flows among which every pair is compared: those with the most packets.
pub const PAIRED_FLOWS: usize = 64;

/// What counts as service, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counting {
    /// A packet's dominant time, at once when it enters the first resource.
    DominantAtEntrance,
    /// A packet's time on this resource, at once when it enters the first resource.
    OneAtEntrance(usize),
    /// A packet's times on all resources together, at once when it enters the first resource.
    TotalAtEntrance,
    /// The same, a time on a resource as much more as the flow's one weight is more than that there.
    WeightedTotalAtEntrance,
    /// What a packet adds to the active time of its flow, at once when it enters the first resource; at least a
    /// nanosecond.
    ActiveAtEntrance,
    /// Time on the packet's dominant resource, as it passes.
    DominantReceived,
}

/// Of all pairs of flows, the one whose largest difference of service per weight in any interval of common backlog
/// comes nearest to what `bound` allows for the two flows. O(packets x flows), with up to 64 flows.
pub fn worst_pair(run: &Recorded, counting: Counting, bound: impl Fn(usize, usize) -> f64) -> Option<Worst> {
    let mut busiest: Vec<usize> = (0..run.flows.len()).collect();
    busiest.sort_by_key(|&f| std::cmp::Reverse(run.flows[f].offered));
    busiest.truncate(PAIRED_FLOWS);
    let mut pairs = Pairs::new(busiest.iter().map(|&f| run.flows[f].weight));
    for (time, event, at) in events(run, counting, &busiest) {
        pairs.apply(time.as_nanos() as i64, event, at);
    }
    let n = busiest.len();
    let all = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    let seen = all.map(|(i, j)| (i, j, pairs.spread[i * n + j].most)).filter(|&(.., most)| most > 0.0);
    worst(seen.map(|(i, j, most)| Worst { bound_s: bound(busiest[i], busiest[j]), seen_s: most / 1e9 }))
}

/// What happens to a flow; at one instant in this order, and packets of all flows enter last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Event {
    /// A packet comes.
    Arrives,
    /// A packet's processing that counts ends.
    Ends,
    /// A packet's processing that counts begins.
    Begins,
    /// A packet leaves the queue, and so much is counted at once (ns).
    Enters(i64),
}

fn events(run: &Recorded, counting: Counting, flows: &[usize]) -> Vec<(Time, Event, usize)> {
    let mut place = vec![None; run.flows.len()];
    for (k, &flow) in flows.iter().enumerate() {
        place[flow] = Some(k);
    }
    let mut events = Vec::new();
    let mut before: Vec<Option<Vec<i64>>> = vec![None; flows.len()];
    for (k, packet) in run.packets.iter().enumerate() {
        let (Some(at), Some(entered)) = (place[packet.flow as usize], run.service(k, 0)) else { continue };
        let Some(times) = super::facts::times(run, k) else { continue };
        let nanos = |r| run.service(k, r).map_or(0, |s| s.end.since(s.start).as_nanos() as i64);
        let counted = match counting {
            Counting::DominantAtEntrance => nanos(dominant(&times).0),
            Counting::OneAtEntrance(resource) => nanos(resource),
            Counting::TotalAtEntrance => (0..times.len()).map(nanos).sum(),
            Counting::WeightedTotalAtEntrance => {
                let flow = &run.flows[packet.flow as usize];
                let counted = |r: usize| nanos(r) as f64 * flow.weight / flow.weight_on(r);
                (0..times.len()).map(counted).sum::<f64>().round() as i64
            }
            Counting::ActiveAtEntrance => {
                let times: Vec<i64> = (0..times.len()).map(nanos).collect();
                let added = added_active_time(before[at].as_deref(), &times).max(1);
                before[at] = Some(times);
                added
            }
            Counting::DominantReceived => 0,
        };
        events.push((packet.arrival, None, Event::Arrives, at));
        events.push((entered.start, run.entrance(k), Event::Enters(counted), at));
        if let (Counting::DominantReceived, Some(service)) = (counting, run.service(k, dominant(&times).0)) {
            events.push((service.start, None, Event::Begins, at));
            events.push((service.end, None, Event::Ends, at));
        }
    }
    // Packets enter in the order in which they were handed out, several at one instant where some bypass the first
    // resource.
    events.sort_unstable_by_key(|&(time, entrance, event, at)| (time, entrance, event, at));
    events.into_iter().map(|(time, _, event, at)| (time, event, at)).collect()
}

/// Equations (2) to (5) of the ATFQ paper: how much later a flow that is alone ends this packet than the one before;
/// the first one after its start.
fn added_active_time(before: Option<&[i64]>, times: &[i64]) -> i64 {
    let Some(before) = before else { return times.iter().sum() };
    // On every resource it waits for the one before to be through, all instants counted from when that leaves the first
    // resource.
    let passed = |times: &[i64], resource: usize| times[..=resource].iter().sum::<i64>();
    let start = (1..times.len()).map(|r| passed(before, r) - before[0] - passed(times, r - 1)).fold(0, i64::max);
    start + times.iter().sum::<i64>() - before[1..].iter().sum::<i64>()
}

#[derive(Clone, Copy, Debug)]
struct FlowService {
    weight: f64,
    queued: u64,
    /// Service that is complete, less the times at which what is under way began (ns).
    service: i64,
    /// Packets under way.
    running: i64,
}

impl FlowService {
    fn per_weight(&self, now: i64) -> f64 {
        (self.service + self.running * now) as f64 / self.weight
    }
}

/// Smallest and largest difference in the current common backlog, and the largest spread of any.
#[derive(Clone, Copy, Default, Debug)]
struct Spread {
    low: f64,
    high: f64,
    most: f64,
}

/// Differences of service per weight of all pairs of flows, in ns.
pub struct Pairs {
    flows: Vec<FlowService>,
    /// Of flows i < j at i * flows + j.
    spread: Vec<Spread>,
}

impl Pairs {
    pub fn new(weights: impl Iterator<Item = f64>) -> Self {
        let flows: Vec<FlowService> =
            weights.map(|weight| FlowService { weight, queued: 0, service: 0, running: 0 }).collect();
        Self { spread: vec![Spread::default(); flows.len() * flows.len()], flows }
    }

    /// Services are linear between events, so a difference is extreme at one.
    pub fn apply(&mut self, now: i64, event: Event, i: usize) {
        let flow = &mut self.flows[i];
        match event {
            Event::Arrives => {
                flow.queued += 1;
                if flow.queued == 1 {
                    self.look(now, i, |spread, difference| (spread.low, spread.high) = (difference, difference));
                }
                return;
            }
            Event::Begins => (flow.running, flow.service) = (flow.running + 1, flow.service - now),
            Event::Ends => (flow.running, flow.service) = (flow.running - 1, flow.service + now),
            Event::Enters(nanos) => flow.service += nanos,
        }
        self.look(now, i, |spread, difference| {
            spread.low = spread.low.min(difference);
            spread.high = spread.high.max(difference);
            spread.most = spread.most.max(spread.high - spread.low);
        });
        if let Event::Enters(_) = event {
            self.flows[i].queued -= 1;
        }
    }

    /// For every flow that is backlogged together with i.
    fn look(&mut self, now: i64, i: usize, mut see: impl FnMut(&mut Spread, f64)) {
        let n = self.flows.len();
        if self.flows[i].queued == 0 {
            return;
        }
        let own = self.flows[i].per_weight(now);
        for j in (0..n).filter(|&j| j != i && self.flows[j].queued > 0) {
            let difference = own - self.flows[j].per_weight(now);
            let (at, signed) = if i < j { (i * n + j, difference) } else { (j * n + i, -difference) };
            see(&mut self.spread[at], signed);
        }
    }

    /// The largest difference of any pair, in ns.
    #[cfg(test)]
    pub fn most(&self) -> f64 {
        self.spread.iter().map(|s| s.most).fold(0.0, f64::max)
    }
}
