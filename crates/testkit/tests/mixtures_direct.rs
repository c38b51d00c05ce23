//! Causes of what differs from the tradeoff paper's trace-driven figures, by its fluid alone: every flow is looked at
//! at every event. Traffic and fluid share nothing with this workspace. Times are in seconds.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

const FLOWS: usize = 600;
const PACKETS: f64 = 100_000.0;
/// Assignments of flows to modules for each pattern.
const ASSIGNMENTS: usize = 10;
/// CPU time of a packet and of a byte: forwarding, monitoring, IPsec.
const MODULES: [[f64; 2]; 3] = [[6.2e-6, 2.86e-9], [12.1e-6, 0.8e-9], [84.5e-6, 15e-9]];
/// Of a byte on the link.
const LINK: f64 = 8.0 / 200e6;
/// Packets of a flow beyond which more are lost.
const ROOM: usize = 200;
/// A flow of fewer packets is small.
const SMALL: usize = 100;
const LEVELS: [f64; 3] = [1.0, 0.85, 0.8];

/// Xorshift: Marsaglia 2003.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

/// For each flow when its packets come, of a whole from 0 to 1, and how long they are: lengths of flows by a bounded
/// Pareto distribution, bursts of eight packets. The longest flow has at least this part of the packets, and of
/// elephants' packets so many are large.
fn mixture([heaviest, large]: [f64; 2], seed: u64) -> Vec<Vec<[f64; 2]>> {
    let mut random = Random::new(seed);
    let least = 2000_f64.powf(-1.1);
    let mut weights: Vec<f64> = (0..FLOWS)
        .map(|i| ((i as f64 + random.unit()) / FLOWS as f64 * (1.0 - least) + least).powf(-1.0 / 1.1))
        .collect();
    let others: f64 = weights[1..].iter().sum();
    weights[0] = weights[0].max(heaviest / (1.0 - heaviest) * others);
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| flow(1 + (weight / sum * PACKETS) as usize, large, &mut random)).collect()
}

fn flow(packets: usize, large: f64, random: &mut Random) -> Vec<[f64; 2]> {
    let mut offset = 0.0;
    let offsets: Vec<f64> = (0..packets)
        .map(|_| {
            let at = offset;
            let tail = 1.0 - random.unit();
            // A silence is heavy-tailed, and twenty times as long as a gap at least.
            let silence = random.unit() < 1.0 / 8.0;
            offset += if silence { 20.0 * tail.powf(-1.0 / 1.5).min(1e3) } else { -tail.ln() };
            at
        })
        .collect();
    let last = offsets[packets - 1].max(1e-9);
    let longest = (0.01 * packets as f64).clamp(0.001, 1.0);
    let (span, start) = (0.001 + (longest - 0.001) * random.unit().sqrt(), random.unit());
    let large = if packets >= SMALL { large } else { 0.2 };
    let packet = |offset: &f64| {
        let bytes = if random.unit() < large { random.within(1300.0, 1500.0) } else { random.within(64.0, 200.0) };
        [(start + span * offset / last).fract(), bytes]
    };
    let mut all: Vec<[f64; 2]> = offsets.iter().map(packet).collect();
    all.sort_by(|a, b| a[0].total_cmp(&b[0]));
    all
}

#[derive(Clone, Copy)]
struct Packet {
    at: f64,
    flow: usize,
    times: [f64; 2],
}

impl Packet {
    fn dominant(&self) -> f64 {
        self.times[0].max(self.times[1])
    }

    /// Equation (12).
    fn normalised(&self) -> [f64; 2] {
        self.times.map(|time| time / self.dominant())
    }
}

/// Each flow at a random module, the busier resource offered `load` times what it can do; and the CPU's time over the
/// link's.
fn assigned(mixture: &[Vec<[f64; 2]>], load: f64, draw: u64) -> (Vec<Packet>, f64) {
    let mut random = Random::new(draw);
    (0..10).for_each(|_| _ = random.unit());
    // Alternately IPsec is as likely as the others and less: together they make all three patterns.
    let ipsec = if draw % 2 == 1 { 1.0 / 3.0 } else { 0.2 };
    let (mut all, mut demand) = (Vec::new(), [0.0; 2]);
    for (flow, packets) in mixture.iter().enumerate() {
        let chance = random.unit();
        let module = if chance < ipsec { 2 } else { usize::from(chance >= (1.0 + ipsec) / 2.0) };
        for &[at, bytes] in packets {
            let times = [MODULES[module][0] + MODULES[module][1] * bytes, LINK * bytes];
            demand = [demand[0] + times[0], demand[1] + times[1]];
            all.push(Packet { at, flow, times });
        }
    }
    let seconds = demand[0].max(demand[1]) / load;
    all.iter_mut().for_each(|packet| packet.at *= seconds);
    all.sort_by(|a, b| a.at.total_cmp(&b.at));
    (all, demand[0] / demand[1])
}

/// The dominant shares of backlogged flows by Theorem 3, from their normalised times.
fn shares(heads: &[[f64; 2]], alpha: f64) -> Vec<f64> {
    let sums = [0, 1].map(|r| heads.iter().map(|head| head[r]).sum::<f64>());
    let guaranteed = alpha / sums[0].max(sums[1]);
    let mut shares = vec![guaranteed; heads.len()];
    let [cpu, link] = sums.map(|sum| (1.0 - guaranteed * sum).max(0.0));
    if alpha == 1.0 {
        return shares;
    }
    let ratio = |flow: &usize| heads[*flow][0] / heads[*flow][1];
    let order = |a: &usize, b: &usize| ratio(a).total_cmp(&ratio(b));
    let (Some(first), Some(last)) = ((0..heads.len()).max_by(order), (0..heads.len()).min_by(order)) else {
        return shares;
    };
    let (a, b) = (heads[first], heads[last]);
    if cpu * b[1] < link * b[0] {
        shares[last] += cpu / b[0];
    } else if cpu * a[1] >= link * a[0] {
        shares[first] += link / a[1];
    } else {
        let determinant = a[0] * b[1] - a[1] * b[0];
        shares[first] += (cpu * b[1] - link * b[0]) / determinant;
        shares[last] += (link * a[0] - cpu * a[1]) / determinant;
    }
    shares
}

struct Seen {
    /// Of CPU and link, together, in per cent.
    used: f64,
    /// Of all packets.
    dropped: f64,
    /// Mean latency of small flows in the fluid, and of their packets, which pass CPU and link one after the other in
    /// the order in which they start in the fluid.
    small: [f64; 2],
}

struct Fluid {
    queues: Vec<VecDeque<Packet>>,
    /// What is left of each flow's first packet, on its dominant resource.
    left: Vec<f64>,
    backlogged: Vec<usize>,
    started: Vec<(f64, Packet)>,
    now: f64,
}

impl Fluid {
    fn starts(&mut self, flow: usize) {
        let packet = self.queues[flow][0];
        self.left[flow] = packet.dominant();
        self.started.push((self.now, packet));
    }

    fn run(mixture: &[Vec<[f64; 2]>], packets: &[Packet], alpha: f64) -> Seen {
        let (queues, left) = (vec![VecDeque::new(); FLOWS], vec![0.0; FLOWS]);
        let mut fluid = Self { queues, left, backlogged: Vec::new(), started: Vec::new(), now: 0.0 };
        let (mut shares_now, mut next, mut lost): (Vec<f64>, _, _) = (Vec::new(), 0, 0);
        let (mut used, mut small) = (0.0, [0.0; 2]);
        let is_small = |flow: usize| mixture[flow].len() < SMALL;
        loop {
            let arrival = packets.get(next).map_or(f64::INFINITY, |packet| packet.at);
            let end = |(k, &flow): (usize, &usize)| (fluid.now + fluid.left[flow] / shares_now[k], k);
            let ends = fluid.backlogged.iter().enumerate().map(end);
            let (end, k) = ends.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0));
            let then = arrival.min(end);
            if then == f64::INFINITY {
                break;
            }
            for (&flow, share) in fluid.backlogged.iter().zip(&shares_now) {
                fluid.left[flow] -= (then - fluid.now) * share;
            }
            fluid.now = then;
            if arrival <= end {
                let packet = packets[next];
                next += 1;
                let queue = &mut fluid.queues[packet.flow];
                if queue.len() >= ROOM {
                    lost += 1;
                    continue;
                }
                queue.push_back(packet);
                if queue.len() > 1 {
                    continue;
                }
                fluid.backlogged.push(packet.flow);
                fluid.starts(packet.flow);
            } else {
                let flow = fluid.backlogged[k];
                let packet = fluid.queues[flow].pop_front().expect("a first packet");
                used += packet.times[0] + packet.times[1];
                small[0] += if is_small(flow) { fluid.now - packet.at } else { 0.0 };
                if fluid.queues[flow].is_empty() {
                    fluid.backlogged.swap_remove(k);
                } else {
                    fluid.starts(flow);
                }
            }
            let heads: Vec<[f64; 2]> = fluid.backlogged.iter().map(|&f| fluid.queues[f][0].normalised()).collect();
            shares_now = shares(&heads, alpha);
        }
        let mut free = [0.0; 2];
        for (start, packet) in &fluid.started {
            free[0] = f64::max(free[0], *start) + packet.times[0];
            free[1] = f64::max(free[1], free[0]) + packet.times[1];
            small[1] += if is_small(packet.flow) { free[1] - packet.at } else { 0.0 };
        }
        Seen { used: 100.0 * used / fluid.now, dropped: f64::from(lost) / packets.len() as f64, small }
    }
}

/// Over the assignments of a pattern: mean and standard deviation.
fn spread(values: &[f64]) -> [f64; 2] {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    [mean, (squares / (values.len() - 1) as f64).sqrt()]
}

/// What [`LEVELS`] come to for CPU-bound, bandwidth-bound and balanced traffic.
struct Figures {
    /// Per cent fewer drops at 0.8 than at 1.
    fewer: [[f64; 2]; 3],
    /// Points that both resources gain from 0.85 to 0.8.
    beyond: [[f64; 2]; 3],
    /// Latency of small flows at 0.8 over that at 1, in the fluid and by packets.
    small: [[[f64; 2]; 2]; 3],
}

fn figures(kind: [f64; 2], load: f64) -> Figures {
    let mut runs = [const { Vec::new() }; 3];
    for draw in 1.. {
        let mixture = mixture(kind, draw);
        let (packets, ratio) = assigned(&mixture, load, draw);
        let pattern = if ratio > 1.2 { 0 } else { 1 + usize::from(ratio >= 1.0 / 1.2) };
        if runs[pattern].len() < ASSIGNMENTS {
            runs[pattern].push(LEVELS.map(|alpha| Fluid::run(&mixture, &packets, alpha)));
        }
        if runs.iter().all(|runs| runs.len() == ASSIGNMENTS) {
            break;
        }
    }
    let over = |of: &dyn Fn(&[Seen; 3]) -> f64| {
        [0, 1, 2].map(|pattern: usize| spread(&runs[pattern].iter().map(of).collect::<Vec<f64>>()))
    };
    let [fluid, by_packet] = [0, 1].map(|k| over(&|[fair, _, least]| least.small[k] / fair.small[k]));
    Figures {
        fewer: over(&|[fair, _, least]| 100.0 * (1.0 - least.dropped / fair.dropped)),
        beyond: over(&|[_, middle, least]| least.used - middle.used),
        small: [0, 1, 2].map(|pattern: usize| [fluid[pattern], by_packet[pattern]]),
    }
}

#[track_caller]
fn within(what: &str, range: RangeInclusive<f64>, [mean, deviation]: [f64; 2]) {
    println!("{what}: {mean:.3}, deviation {deviation:.3}, expected {range:?}");
    assert!(range.contains(&mean), "{what}: {mean}, expected {range:?}");
}

/// Half the width of the 95 % confidence interval over the assignments, nine degrees of freedom.
fn interval(deviation: f64) -> f64 {
    2.262 * deviation / (ASSIGNMENTS as f64).sqrt()
}

/// The default mixture at 1.5 times what the busier resource can do.
///
/// Fig. 8: `dovetail reproduce` has 21, 0 and 11 % fewer drops (paper: 15 to 20 in all patterns). With 3,000 flows and
/// 600,000 packets it is 23, -1 and 13 here, too.
///
/// Fig. 7: beyond 0.85 balanced traffic gains 0.3 +- 0.5 points by `dovetail reproduce`. One assignment's gain has a
/// deviation that leaves ten of them uncertain by half a point. In the fluid all three patterns gain.
///
/// Fig. 9: in the fluid small flows of CPU-bound traffic wait no longer at 0.8, as the paper says. Their packets do,
/// once they have started there: by `dovetail reproduce` 1.99 times as long; with 3,000 flows 1.76 times here.
#[test]
#[ignore = "explains the papers by a model of its own: make causes"]
fn drops_do_not_decrease_where_the_link_is_full() {
    let found = figures([0.0, 0.65], 1.5);
    within("fewer drops, CPU-bound", 10.0..=35.0, found.fewer[0]);
    within("bandwidth-bound", -2.0..=2.0, found.fewer[1]);
    within("balanced", 4.0..=25.0, found.fewer[2]);
    for beyond in found.beyond {
        within("gain beyond 0.85, lower end", 0.001..=1.5, [beyond[0] - interval(beyond[1]), beyond[1]]);
    }
    within("balanced, interval", 0.3..=0.8, [interval(found.beyond[2][1]), 0.0]);
    within("small flows, CPU-bound, fluid", 0.85..=1.05, found.small[0][0]);
    within("packets", 1.15..=1.8, found.small[0][1]);
    within("small flows, bandwidth-bound, packets", 0.4..=0.9, found.small[1][1]);
}

/// With 28 % of the packets in one flow, elephants of large packets alone, and a load of 1.1, drops decrease under all
/// three patterns, by about as much as in the paper (15 to 20 %). Small flows of CPU-bound traffic are served nearly as
/// soon, and those of bandwidth-bound traffic later instead of sooner.
#[test]
#[ignore = "explains the papers by a model of its own: make causes"]
fn drops_decrease_in_all_patterns_with_an_uneven_mixture_at_a_low_load() {
    let found = figures([0.28, 1.0], 1.1);
    within("fewer drops, CPU-bound", 10.0..=20.0, found.fewer[0]);
    within("bandwidth-bound", 3.0..=20.0, found.fewer[1]);
    within("balanced", 8.0..=25.0, found.fewer[2]);
    within("small flows, CPU-bound, fluid", 0.85..=1.05, found.small[0][0]);
    within("packets", 1.05..=1.2, found.small[0][1]);
    within("small flows, bandwidth-bound, packets", 1.1..=1.8, found.small[1][1]);
}
