//! The Gini index over session utilities, as Shi and Sethu have them, to whom both papers refer: in equation (18) of
//! CBCS and (19) of PCFQ the fluid's services are its virtual time V(t), which they are for flows that wait.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dovetail_experiment::recorded::Recorded;

/// A packet on a resource: when it came to the system, and its service there, in seconds; infinity where it has not
/// begun or ended.
#[derive(Clone, Copy)]
struct Way {
    arrival: f64,
    start: f64,
    end: f64,
}

/// The virtual time of a fluid that shares a resource by weight among the flows whose packets have come to the system:
/// linear between these instants.
struct VirtualTime(Vec<(f64, f64)>);

impl VirtualTime {
    /// Of arrivals in order: when, whose, and time by weight; the weights of all flows. O(log n) per packet for n
    /// flows.
    fn of(arrivals: impl Iterator<Item = (f64, usize, f64)>, weights: &[f64]) -> Self {
        let (mut now, mut virtual_time, mut load) = (0.0_f64, 0.0_f64, 0.0_f64);
        let mut points = vec![(0.0, 0.0)];
        let (mut tags, mut waits) = (vec![0.0_f64; weights.len()], vec![false; weights.len()]);
        let mut active: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        let arrivals = arrivals.map(Some).chain(std::iter::once(None));
        for arrival in arrivals {
            let until = arrival.map_or(f64::INFINITY, |(time, ..)| time);
            while let Some(&Reverse((tag, flow))) = active.peek() {
                if tags[flow] > f64::from_bits(tag) {
                    active.pop();
                    active.push(Reverse((tags[flow].to_bits(), flow)));
                    continue;
                }
                let leaves = now + (tags[flow] - virtual_time) * load;
                if leaves > until {
                    break;
                }
                active.pop();
                waits[flow] = false;
                (now, virtual_time) = (leaves.max(now), tags[flow]);
                load = if active.is_empty() { 0.0 } else { load - weights[flow] };
                points.push((now, virtual_time));
            }
            let Some((time, flow, work)) = arrival else { break };
            if load > 0.0 {
                virtual_time += (time - now) / load;
            }
            now = time;
            points.push((now, virtual_time));
            if !std::mem::replace(&mut waits[flow], true) {
                load += weights[flow];
                active.push(Reverse((0, flow)));
            }
            tags[flow] = tags[flow].max(virtual_time) + work;
        }
        Self(points)
    }

    fn at(&self, time: f64) -> f64 {
        let after = self.0.partition_point(|&(t, _)| t <= time);
        let Some(&(t0, v0)) = self.0.get(after.wrapping_sub(1)) else { return 0.0 };
        self.0.get(after).map_or(v0, |&(t1, v1)| v0 + (v1 - v0) * (time - t0) / (t1 - t0))
    }
}

/// The utilities of a flow at these instants, `None` while none of its packets waits or is served: it begins with V(t)
/// when the flow begins to wait, unless it is ahead of that, and grows by service over weight.
fn utilities(ways: &[Way], weight: f64, clock: &VirtualTime, times: &[f64]) -> Vec<Option<f64>> {
    let (mut utility, mut left) = (0.0_f64, f64::NEG_INFINITY);
    let mut times = times.iter().peekable();
    let mut found = Vec::new();
    for way in ways {
        if way.arrival >= left {
            utility = utility.max(clock.at(way.arrival));
        }
        while let Some(&time) = times.next_if(|&&time| time < way.end) {
            let had = if time > way.start { (time - way.start) / weight } else { 0.0 };
            found.push((time >= way.arrival).then_some(utility + had));
        }
        utility += if way.end.is_finite() { (way.end - way.start) / weight } else { 0.0 };
        left = way.end;
    }
    found.extend(times.map(|_| None));
    found
}

/// The index at each of `times`: over the flows that wait, the sum over i of the difference between the sum of the i
/// smallest utilities and i V(t).
fn index(flows: &[Vec<Way>], weights: &[f64], clock: &VirtualTime, times: &[f64]) -> Vec<f64> {
    let flows: Vec<Vec<Option<f64>>> =
        flows.iter().zip(weights).map(|(ways, &weight)| utilities(ways, weight, clock, times)).collect();
    let at = |k: usize| {
        let mut now: Vec<f64> = flows.iter().filter_map(|flow| flow.get(k).copied().flatten()).collect();
        now.sort_unstable_by(f64::total_cmp);
        let fair = clock.at(times[k]);
        let mut ahead = 0.0;
        now.iter()
            .map(|utility| {
                ahead += utility - fair;
                f64::abs(ahead)
            })
            .sum()
    };
    (0..times.len()).map(at).collect()
}

/// The index on a resource at the ends of the run's intervals, of a run whose packets are all kept.
pub fn samples(run: &Recorded, resource: usize) -> Vec<f64> {
    let weights: Vec<f64> = run.flows.iter().map(|flow| flow.weight_on(resource)).collect();
    let mut flows: Vec<Vec<Way>> = vec![Vec::new(); weights.len()];
    let mut arrivals = Vec::new();
    for (k, packet) in run.packets.iter().enumerate() {
        let (flow, arrival) = (packet.flow as usize, packet.arrival.as_secs_f64());
        // What is lost before it comes here does not wait here for ever.
        if run.service(k, resource).is_none() && packet.outcome != "unfinished" {
            continue;
        }
        let service = run.service(k, resource).map(|s| (s.start.as_secs_f64(), s.end.as_secs_f64()));
        let (start, end) = service.unwrap_or((f64::INFINITY, f64::INFINITY));
        flows[flow].push(Way { arrival, start, end });
        if end.is_finite() {
            arrivals.push((arrival, flow, (end - start) / weights[flow]));
        }
    }
    let clock = VirtualTime::of(arrivals.into_iter(), &weights);
    let times: Vec<f64> = run.intervals.iter().map(|i| i.start + i.length).collect();
    index(&flows, &weights, &clock, &times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(arrival: f64, start: f64, end: f64) -> Way {
        Way { arrival, start, end }
    }

    /// Two flows of weight 1, 2 s of work each at 0 s, the first served first. V grows by half until 4 s. At 1 s the
    /// utilities are 0 and 1, at 3 s the first does not wait any more and the second has 1 where V is 1.5.
    #[test]
    fn two_flows_in_turn() {
        let clock = VirtualTime::of([(0.0, 0, 2.0), (0.0, 1, 2.0)].into_iter(), &[1.0; 2]);
        assert_eq!([1.0, 3.0, 4.0, 9.0].map(|t| clock.at(t)), [0.5, 1.5, 2.0, 2.0]);
        let flows = [vec![way(0.0, 0.0, 2.0)], vec![way(0.0, 2.0, 4.0)]];
        assert_eq!(index(&flows, &[1.0; 2], &clock, &[1.0, 3.0, 5.0]), [0.5 + 0.0, 0.5, 0.0]);
    }

    /// Weights 1 and 3, 1 s of work each: V grows by a quarter; the heavy flow's tag is 1/3, reached after 4/3 s; then
    /// the light one is alone until 2 s, when V is 1.
    #[test]
    fn virtual_time_goes_by_the_weights_of_those_that_wait() {
        let clock = VirtualTime::of([(0.0, 0, 1.0), (0.0, 1, 1.0 / 3.0)].into_iter(), &[1.0, 3.0]);
        for (time, expected) in [(1.0, 0.25), (4.0 / 3.0, 1.0 / 3.0), (1.5, 0.5), (2.0, 1.0)] {
            assert!((clock.at(time) - expected).abs() < 1e-12, "{time}");
        }
    }

    /// A flow that comes when V is 2 begins there, whatever it had before; one that is ahead stays where it is.
    #[test]
    fn a_flow_that_comes_back_begins_with_virtual_time() {
        let clock = VirtualTime(vec![(0.0, 0.0), (4.0, 4.0)]);
        let ways = [way(0.0, 0.0, 1.0), way(2.0, 3.0, 5.0), way(3.5, 5.0, f64::INFINITY)];
        assert_eq!(
            utilities(&ways, 1.0, &clock, &[0.5, 1.5, 2.5, 4.0, 5.5]),
            [Some(0.5), None, Some(2.0), Some(3.0), Some(4.5)]
        );
    }
}
