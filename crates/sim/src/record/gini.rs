//! How far flows' services are from those of an ideal fluid: the Gini index of the CBCS paper (section 4.4, equation
//! (17)) and the PCFQ paper (equation (18)), after Shi and Sethu.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use dovetail_units::{Duration, ResourceVec, Time, Weight};

/// Generalised processor sharing on every resource, in series: each resource serves the flows that have work there at
/// once, in proportion to their weights there, and what is through with one resource comes to the next.
///
/// O(M + log n) per packet and resource for n flows. Floating point, for reports only: virtual times count nanoseconds
/// since the start, so they are exact to 10^-3 ns for weeks.
#[derive(Clone, Debug)]
pub(crate) struct Gps<const M: usize> {
    stages: [Stage; M],
    /// The costs of packets under way, and free places among them.
    packets: Vec<ResourceVec<M>>,
    free: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Stage {
    flows: Vec<FluidFlow>,
    /// The first packets' finish tags (the bits of numbers that are not negative are in their order), and their flows.
    heads: BinaryHeap<Reverse<(u64, u32)>>,
    /// Sum of the weights of the flows with work, in thousandths.
    active: u64,
    /// Up to when the stage has run, and its virtual time then, in nanoseconds (of a flow of weight 1).
    now: f64,
    virtual_time: f64,
}

#[derive(Clone, Debug)]
struct FluidFlow {
    weight: f64,
    milli: u64,
    /// Work that has come, in nanoseconds.
    arrived: f64,
    last_finish: f64,
    /// Finish tags of the packets here, and their places.
    waiting: VecDeque<(f64, u32)>,
}

impl<const M: usize> Gps<M> {
    /// Of flows with these weights on the resources.
    pub fn new(weights: impl Iterator<Item = [Weight; M]>) -> Self {
        let flow = |weight: Weight| FluidFlow {
            weight: weight.as_f64(),
            milli: u64::from(weight.as_milli()),
            arrived: 0.0,
            last_finish: 0.0,
            waiting: VecDeque::new(),
        };
        let weights: Vec<[Weight; M]> = weights.collect();
        let stage = |r: usize| Stage {
            flows: weights.iter().map(|on| flow(on[r])).collect(),
            heads: BinaryHeap::new(),
            active: 0,
            now: 0.0,
            virtual_time: 0.0,
        };
        Self { stages: std::array::from_fn(stage), packets: Vec::new(), free: Vec::new() }
    }

    /// A packet of these times (divided by the resources' servers) comes to the first resource.
    pub fn arrived(&mut self, now: Time, flow: u32, cost: &ResourceVec<M>) {
        self.run_to(now);
        let place = match self.free.pop() {
            Some(place) => {
                self.packets[place as usize] = *cost;
                place
            }
            None => {
                self.packets.push(*cost);
                self.packets.len() as u32 - 1
            }
        };
        self.stages[0].arrive(flow, cost[0], place);
    }

    /// The Gini index of each resource at `now`, in seconds: the sum of the differences between the Lorenz curves of
    /// what the flows have `received` there since the start (nanoseconds, divided by the servers) and of what the
    /// fluid gave them, both divided by the weights there. O(M n log n) for n flows.
    pub fn index(&mut self, now: Time, received: impl Fn(usize, usize) -> f64) -> [f64; M] {
        self.run_to(now);
        std::array::from_fn(|r| {
            let flows = &self.stages[r].flows;
            let real = flows.iter().enumerate().map(|(i, flow)| received(r, i) / flow.weight).collect();
            let ideal = flows.iter().map(|flow| flow.received(self.stages[r].virtual_time) / flow.weight).collect();
            lorenz_distance(real, ideal) / 1e9
        })
    }

    fn run_to(&mut self, now: Time) {
        let now = now.as_nanos() as f64;
        while let Some((at, stage)) = self.next_finish().filter(|(at, _)| *at <= now) {
            self.stages.iter_mut().for_each(|stage| stage.advance(at));
            let Some((flow, place)) = self.stages[stage].finish_head() else { continue };
            match self.stages.get_mut(stage + 1) {
                Some(next) => next.arrive(flow, self.packets[place as usize][stage + 1], place),
                None => self.free.push(place),
            }
        }
        self.stages.iter_mut().for_each(|stage| stage.advance(now));
    }

    /// When and where the next packet ends.
    fn next_finish(&self) -> Option<(f64, usize)> {
        let finishes = self.stages.iter().enumerate().filter_map(|(r, stage)| Some((stage.next_finish()?, r)));
        finishes.min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

impl Stage {
    fn share(&self) -> f64 {
        self.active as f64 / 1000.0
    }

    fn next_finish(&self) -> Option<f64> {
        let Reverse((tag, _)) = self.heads.peek()?;
        Some(self.now + (f64::from_bits(*tag) - self.virtual_time).max(0.0) * self.share())
    }

    fn advance(&mut self, to: f64) {
        if self.active > 0 {
            self.virtual_time += (to - self.now).max(0.0) / self.share();
        }
        self.now = self.now.max(to);
    }

    fn arrive(&mut self, index: u32, work: Duration, place: u32) {
        let flow = &mut self.flows[index as usize];
        let work = work.as_nanos() as f64;
        let finish = flow.last_finish.max(self.virtual_time) + work / flow.weight;
        flow.arrived += work;
        flow.last_finish = finish;
        if flow.waiting.is_empty() {
            self.active += flow.milli;
            self.heads.push(Reverse((finish.to_bits(), index)));
        }
        flow.waiting.push_back((finish, place));
    }

    /// The packet with the first finish tag is through: its flow and place.
    fn finish_head(&mut self) -> Option<(u32, u32)> {
        let mut first = self.heads.peek_mut()?;
        let Reverse((tag, index)) = *first;
        // Rounding may have left the virtual time a trifle short.
        self.virtual_time = self.virtual_time.max(f64::from_bits(tag));
        let flow = &mut self.flows[index as usize];
        let (_, place) = flow.waiting.pop_front()?;
        match flow.waiting.front() {
            Some((finish, _)) => *first = Reverse((finish.to_bits(), index)),
            None => {
                PeekMut::pop(first);
                self.active -= flow.milli;
            }
        }
        Some((index, place))
    }
}

impl FluidFlow {
    /// Nanoseconds of service up to this virtual time.
    fn received(&self, virtual_time: f64) -> f64 {
        self.arrived - self.weight * (self.last_finish - virtual_time).max(0.0)
    }
}

/// The sum over i of the absolute differences between the sums of the i smallest.
fn lorenz_distance(mut a: Vec<f64>, mut b: Vec<f64>) -> f64 {
    a.sort_unstable_by(f64::total_cmp);
    b.sort_unstable_by(f64::total_cmp);
    let mut ahead = 0.0;
    let step = |(x, y): (&f64, &f64)| {
        ahead += x - y;
        f64::abs(ahead)
    };
    a.iter().zip(&b).map(step).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(s: u64) -> Time {
        Time::from_nanos(s * 1_000_000_000)
    }

    fn seconds(times: [u64; 2]) -> ResourceVec<2> {
        ResourceVec::from_nanos(times.map(|s| s * 1_000_000_000))
    }

    #[track_caller]
    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    /// Two flows of weights 1 and 3 with 4 s of work each: after 4 s they have 1 s and 3 s, by weight 1 s each; the
    /// heavy one ends after 16/3 s, and then the other one is alone.
    #[test]
    fn a_resource_is_shared_by_weight_and_what_one_leaves_goes_to_the_other() {
        let mut gps = Gps::<2>::new([[Weight::ONE; 2], [Weight::from_milli(3000).unwrap(); 2]].into_iter());
        gps.arrived(second(0), 0, &seconds([4, 0]));
        gps.arrived(second(0), 1, &seconds([4, 0]));
        // Nothing really served: the Lorenz curves are 0, 0 and 1, 2.
        close(gps.index(second(4), |_, _| 0.0)[0], 1.0 + 2.0);
        // At 6 s: 4/3 s (the heavy flow's 4 s by weight) and 6 - 4 = 2 s.
        close(gps.index(second(6), |_, _| 0.0)[0], 4.0 / 3.0 + (4.0 / 3.0 + 2.0));
        // Really: all to flow 0, 6 s, flow 1 nothing: sorted 0, 6.
        let received = |r: usize, flow: usize| if (r, flow) == (0, 0) { 6e9 } else { 0.0 };
        close(gps.index(second(6), received)[0], 4.0 / 3.0 + (6.0 - 10.0 / 3.0));
    }

    /// Weights 1 and 3 on the first resource, 3 and 1 on the second. Each flow has 2 s of work on the one and then 2 s
    /// on the other. On the first, flow 1 ends after 8/3 s and flow 0 after 4 s. On the second, flow 1 is alone
    /// from 8/3 s to 4 s, when 2/3 s of its work are left; flow 0 then gets three quarters.
    #[test]
    fn each_resource_is_shared_by_the_weights_there() {
        let three = Weight::from_milli(3000).unwrap();
        let mut gps = Gps::<2>::new([[Weight::ONE, three], [three, Weight::ONE]].into_iter());
        gps.arrived(second(0), 0, &seconds([2, 2]));
        gps.arrived(second(0), 1, &seconds([2, 2]));
        // By weight 1/2 s each on the first resource, nothing yet on the second.
        close(gps.index(second(2), |_, _| 0.0)[0], 0.5 + 1.0);
        close(gps.index(second(2), |_, _| 0.0)[1], 0.0);
        // At 5 s the second has given flow 0 3/4 s, by weight 1/4 s, and flow 1 4/3 s and 1/4 s.
        let ideal = 4.0 / 3.0 + 0.25;
        close(gps.index(second(5), |_, _| 0.0)[1], 0.25 + (0.25 + ideal));
        // With one weight for both resources it would be another number.
        let real = |r: usize, flow: usize| if (r, flow) == (1, 0) { 0.75e9 } else { 0.0 };
        close(gps.index(second(5), real)[1], 0.25 + ideal);
    }

    /// A packet comes to the second resource when it is through with the first: at 2 s both, shared there for 2 s.
    #[test]
    fn what_is_through_with_one_resource_comes_to_the_next() {
        let mut gps = Gps::<2>::new([[Weight::ONE; 2]; 2].into_iter());
        gps.arrived(second(0), 0, &seconds([1, 1]));
        gps.arrived(second(0), 1, &seconds([1, 1]));
        close(gps.index(second(2), |_, _| 0.0)[1], 0.0);
        close(gps.index(second(3), |_, _| 0.0)[1], 0.5 + 1.0);
        close(gps.index(second(9), |_, _| 0.0)[1], 1.0 + 2.0);
        close(gps.index(second(9), |_, _| 1e9)[1], 0.0);
    }
}
