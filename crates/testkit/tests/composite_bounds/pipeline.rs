//! CPU and link in a row: the CPU takes the next packet when it is free and at most one packet waits for the link,
//! which serves in order.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, Ticket, build};
use dovetail_testkit::random::Random;
use dovetail_units::{Duration, ResourceVec, Time, Weight};

/// A packet that arrives: nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: u64,
    pub flow: usize,
    pub truth: [u64; 2],
    pub estimate: [u64; 2],
}

/// Flows and their packets in order of arrival.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// On CPU and link, in thousandths.
    pub weights: Vec<[u32; 2]>,
    pub arrivals: Vec<Arrival>,
}

/// The longest time on either resource.
pub const LONGEST: u64 = 100_000;

impl Traffic {
    /// Random flows: heavy on the CPU, on the link, on both; steady, in bursts, or all at once; together between half
    /// and twice the load. Estimates are off by a factor between 1 - `error` and 1 + `error`: by chance, or by the
    /// same for all packets of a flow.
    pub fn random(seed: u64, error: f64) -> Self {
        let mut random = Random::new(seed);
        let flows = random.between(2, 6) as usize;
        let weights: Vec<[u32; 2]> = (0..flows).map(|_| [a_weight(&mut random); 2]).collect();
        let load = (1.0 + 3.0 * fraction(&mut random)) / (2 * flows) as f64;
        let mut arrivals: Vec<Arrival> = Vec::new();
        for flow in 0..flows {
            let longest = [[LONGEST, 5_000], [5_000, LONGEST], [LONGEST; 2], [5_000; 2]][random.below(4) as usize];
            let burst = [1, 5, 20, 150][random.below(4) as usize];
            let bias = random.below(2) == 0;
            let off = if random.below(2) == 0 { 1.0 } else { -1.0 };
            let mut at = 0;
            for k in 0..150 {
                let truth = longest.map(|most| random.between(most / 20, most));
                if k % burst == 0 {
                    let mean = burst as f64 * (longest[0] + longest[1]) as f64 / 2.0;
                    at += (mean / load / 2.0 * -(1.0 - fraction(&mut random)).ln()) as u64;
                }
                let factor = 1.0 + error * if bias { off } else { 2.0 * fraction(&mut random) - 1.0 };
                let estimate = truth.map(|time| (time as f64 * factor) as u64);
                arrivals.push(Arrival { at, flow, truth, estimate });
            }
        }
        arrivals.sort_by_key(|a| a.at);
        Self { weights, arrivals }
    }

    /// The same with a weight on each resource: on the link those that the others have on the CPU, so that both have
    /// the same sum.
    pub fn of_unequal_shares(seed: u64) -> Self {
        let mut traffic = Self::random(seed, 0.0);
        let cpu: Vec<u32> = traffic.weights.iter().map(|w| w[0]).collect();
        let by = 1 + seed as usize % (cpu.len() - 1).max(1);
        traffic.weights.iter_mut().zip(cpu.iter().cycle().skip(by)).for_each(|(both, &other)| both[1] = other);
        traffic
    }

    /// The same with twenty times the weights on the link: the same shares.
    pub fn of_weights_of_unequal_sums(seed: u64) -> Self {
        let mut traffic = Self::random(seed, 0.0);
        traffic.weights.iter_mut().for_each(|both| both[1] *= 20);
        traffic
    }

    /// The same with weights that differ by resource, of the same sum on both.
    pub fn weighted_apart(seed: u64) -> Self {
        let (mut traffic, mut random) = (Self::random(seed, 0.0), Random::new(!seed));
        let mut one = || [1000, 250, 2000, 3000, 500, 8000][random.below(6) as usize];
        traffic.weights.iter_mut().flatten().for_each(|weight| *weight = one());
        let sums = [0, 1].map(|r| traffic.weights.iter().map(|on| on[r]).sum::<u32>());
        traffic.weights.iter_mut().for_each(|on| on[1] = (on[1] * sums[0]).div_ceil(sums[1]));
        traffic
    }

    /// A packet's normalised time by the weights of a flow.
    pub fn normalised(&self, packet: &Arrival, flow: usize) -> f64 {
        let times = packet.truth.iter().zip(self.weights[flow]);
        times.map(|(&time, milli)| time as f64 * 1000.0 / f64::from(milli)).sum()
    }

    /// The flow's part of CPU and link, by the sum of the weights on each.
    pub fn shares(&self, flow: usize) -> [f64; 2] {
        let sums = self.sums();
        [0, 1].map(|r| f64::from(self.weights[flow][r]) / sums[r])
    }

    /// Both by the larger of the two sums.
    pub fn common_shares(&self, flow: usize) -> [f64; 2] {
        let [cpu, link] = self.sums();
        self.weights[flow].map(|weight| f64::from(weight) / cpu.max(link))
    }

    fn sums(&self) -> [f64; 2] {
        [0, 1].map(|r| self.weights.iter().map(|w| f64::from(w[r])).sum())
    }

    /// The true times of each flow's packets.
    pub fn times(&self) -> Vec<Vec<[f64; 2]>> {
        let mut times = vec![Vec::new(); self.weights.len()];
        self.arrivals.iter().for_each(|a| times[a.flow].push(a.truth.map(|t| t as f64)));
        times
    }

    /// All packets are there at the beginning.
    pub fn at_once(mut self) -> Self {
        self.arrivals.iter_mut().for_each(|a| a.at = 0);
        self
    }

    /// The longest normalised time of the flow's packets.
    pub fn longest(&self, flow: usize) -> f64 {
        let own = self.arrivals.iter().filter(|a| a.flow == flow);
        own.map(|a| self.normalised(a, flow)).fold(0.0, f64::max)
    }

    /// The longest normalised time of any packet by the flow's weights.
    pub fn longest_of_any(&self, flow: usize) -> f64 {
        self.arrivals.iter().map(|a| self.normalised(a, flow)).fold(0.0, f64::max)
    }
}

fn a_weight(random: &mut Random) -> u32 {
    [1000, 1000, 2000, 3000, 500][random.below(5) as usize]
}

fn fraction(random: &mut Random) -> f64 {
    (random.bits() >> 11) as f64 / (1u64 << 53) as f64
}

/// A packet's service.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    pub packet: usize,
    pub flow: usize,
    /// When it leaves the link.
    pub left: u64,
    /// One bit per flow: whether it had packets waiting when this one, which counts, was chosen.
    pub waiting: u64,
    /// Whether no packet of the flow waits after it.
    pub empties: bool,
}

/// Serve the traffic to its end by the scheduler of `spec`. Also how many packets were in the pipeline at most.
pub fn serve(spec: &str, traffic: &Traffic) -> (Vec<Service>, usize) {
    let mut run = Run::new(spec, traffic);
    while run.step() {}
    (run.done, run.most)
}

struct Run<'a> {
    scheduler: Box<dyn Scheduler<2, u32>>,
    traffic: &'a Traffic,
    flows: Vec<FlowId>,
    queued: Vec<u32>,
    arrived: usize,
    now: u64,
    /// When the CPU becomes free, and when each of the packets sent to the link starts there (the last two), and ends.
    link: [u64; 2],
    /// Reports to come: when, ticket, resource, how long it took.
    reports: Vec<(u64, usize, usize, u64)>,
    tickets: Vec<Ticket<2>>,
    done: Vec<Service>,
    in_pipeline: usize,
    most: usize,
}

impl<'a> Run<'a> {
    fn new(spec: &str, traffic: &'a Traffic) -> Self {
        let mut scheduler = build::<2, u32>(&spec.parse().unwrap(), Shape::default()).unwrap();
        let weight = |milli: u32| Weight::from_milli(milli).unwrap();
        let config = |&[cpu, link]: &[u32; 2]| FlowConfig {
            weight: weight(cpu),
            weight_on: Some([weight(cpu), weight(link)]),
            ..FlowConfig::default()
        };
        let flows: Vec<FlowId> = traffic.weights.iter().map(|both| scheduler.add_flow(config(both))).collect();
        let queued = vec![0; flows.len()];
        Self {
            scheduler,
            traffic,
            flows,
            queued,
            arrived: 0,
            now: 0,
            link: [0; 2],
            reports: Vec::new(),
            tickets: Vec::new(),
            done: Vec::new(),
            in_pipeline: 0,
            most: 0,
        }
    }

    /// Everything up to `until`, in order of time: reports before arrivals.
    fn run_to(&mut self, until: u64) {
        loop {
            let report = self.reports.iter().enumerate().min_by_key(|(_, r)| **r).map(|(k, r)| (r.0, k));
            let arrival = self.traffic.arrivals.get(self.arrived).map(|a| a.at);
            match (report.filter(|r| r.0 <= until), arrival.filter(|&at| at <= until)) {
                (Some((at, k)), arrival) if arrival.is_none_or(|a| at <= a) => self.report(k),
                (_, Some(_)) => self.arrive(),
                _ => break,
            }
        }
        self.now = until;
    }

    fn report(&mut self, k: usize) {
        let (at, ticket, resource, took) = self.reports.swap_remove(k);
        let used = Duration::from_nanos(took);
        let event = Progress::Finished { used };
        self.scheduler.progress(Time::from_nanos(at), &mut self.tickets[ticket], resource, event);
        self.in_pipeline -= usize::from(resource == 1);
    }

    fn arrive(&mut self) {
        let Arrival { at, flow, estimate, .. } = self.traffic.arrivals[self.arrived];
        let cost = ResourceVec::from_nanos(estimate);
        let packet = Packet { flow: self.flows[flow], size: 100, cost, payload: self.arrived as u32 };
        self.scheduler.enqueue(Time::from_nanos(at), packet).unwrap();
        self.queued[flow] += 1;
        self.arrived += 1;
    }

    /// The CPU is free: the next packet. False at the end.
    fn step(&mut self) -> bool {
        self.run_to(self.now);
        match self.scheduler.next(Time::from_nanos(self.now)) {
            Next::Serve(served) => {
                let Arrival { flow, truth, .. } = self.traffic.arrivals[served.payload as usize];
                let waiting = self.queued.iter().enumerate().fold(0, |bits, (f, &q)| bits | u64::from(q > 0) << f);
                self.queued[flow] -= 1;
                let processed = self.now + truth[0];
                let started = processed.max(self.link[1]);
                let left = started + truth[1];
                self.link = [started, left];
                let ticket = self.tickets.len();
                self.tickets.push(served.ticket);
                self.reports.extend([(processed, ticket, 0, truth[0]), (left, ticket, 1, truth[1])]);
                self.in_pipeline += 1;
                self.most = self.most.max(self.in_pipeline);
                let empties = self.queued[flow] == 0;
                self.done.push(Service { packet: served.payload as usize, flow, left, waiting, empties });
                // Until the CPU is free, and the packet before the one that waits for the link has left it.
                self.run_to(processed.max(started));
                true
            }
            Next::Empty => match self.traffic.arrivals.get(self.arrived) {
                Some(arrival) => {
                    self.run_to(arrival.at);
                    true
                }
                None => false,
            },
            other => panic!("a work-conserving discipline answers {other:?}"),
        }
    }
}
