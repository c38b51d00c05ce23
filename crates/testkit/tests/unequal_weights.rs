//! Flows of other weights: how long a new one keeps others out, what a stream of them gets, and what a weight that
//! changes is worth.

use dovetail_sched::{FlowConfig, FlowId, catalog};
use dovetail_testkit::line::Line;
use dovetail_testkit::random::Random;
use dovetail_units::Weight;

/// Flows of weight 1 that always have packets waiting.
const BUSY: usize = 10;
/// So many of each: enough that they are backlogged in a fluid too, while a burst of others is served.
const DEPTH: usize = 150;
/// Weights in thousandths.
const LIGHT: u32 = 10;
const ONE: u32 = 1000;

fn config(milli: u32) -> FlowConfig<2> {
    FlowConfig { weight: Weight::from_milli(milli).unwrap(), ..FlowConfig::default() }
}

/// A line, and the busy flows, which send a packet for each that is served.
struct Busy {
    line: Line,
    flows: Vec<FlowId>,
}

impl Busy {
    fn new(spec: &str) -> Self {
        let mut busy = Self { line: Line::new(spec), flows: Vec::new() };
        busy.flows = (0..BUSY).map(|_| busy.add(ONE)).collect();
        for k in 0..DEPTH * BUSY {
            busy.send(busy.flows[k % BUSY], k % BUSY);
        }
        busy
    }

    fn add(&mut self, milli: u32) -> FlowId {
        self.line.scheduler.add_flow(config(milli))
    }

    fn remove(&mut self, flow: FlowId) {
        let now = self.line.time();
        self.line.scheduler.remove_flow(now, flow, &mut |_| ()).unwrap();
    }

    fn weigh(&mut self, flow: FlowId, milli: u32) {
        let now = self.line.time();
        self.line.scheduler.set_flow(now, flow, config(milli)).unwrap();
    }

    fn send(&mut self, flow: FlowId, whose: usize) {
        self.line.send(flow, whose);
    }

    /// Whose packet is served next, if one is; the time it takes passes.
    fn step(&mut self) -> Option<usize> {
        let whose = self.line.step();
        if let Some(busy) = whose.filter(|&whose| whose < BUSY) {
            self.send(self.flows[busy], busy);
        }
        whose
    }

    /// How many packets are served until one of this owner's is, itself among them.
    fn until(&mut self, owner: usize) -> u64 {
        let from = self.line.now;
        while self.step() != Some(owner) {
            assert!(self.line.now < from + 100_000, "never");
        }
        self.line.now - from
    }
}

/// Every discipline by its defaults that shares processing time, and other forms of some.
fn specs() -> Vec<String> {
    let defaults = catalog().iter().filter(|e| e.shares_time()).map(|e| e.name.to_string());
    defaults.chain(["tradeoff:alpha=1", "drgps:order=start", "drfq:mode=dovetail"].map(String::from)).collect()
}

/// As published.
const FREE: [&str; 9] = [
    "sfq:newcomers=free",
    "drfq:newcomers=free",
    "drfq:mode=dovetail,newcomers=free",
    "bf:newcomers=free",
    "wfq:newcomers=free",
    "wf2q+:newcomers=free",
    "drgps:newcomers=free",
    "tradeoff:newcomers=free",
    "pcfq:clock=tags",
];

/// Whose rounds are as long as weights differ, new flows or not: a flow of weight 1 sends a hundred packets while one
/// of weight 0.01 sends one.
const BY_ROUNDS: [&str; 3] = ["drr", "mr3", "cbcs"];

/// By V a flow waits for a packet's time at its weight, in which every busy flow is served a packet in the fluid, and
/// as long again for its own packet. In service it may be behind the fluid by a packet of every flow that counts there.
/// The fluid works off what is left of a removed flow, a packet. Below alpha = 1 V is slower.
fn most_packets(spec: &str) -> u64 {
    let alpha = if spec == "tradeoff" { 0.85 } else { 1.0 };
    ((2.0 / alpha + 1.0) * (BUSY + 1) as f64) as u64 + 1
}

#[test]
fn a_new_flow_of_small_weight_keeps_no_others_out() {
    for spec in specs().iter().filter(|spec| !BY_ROUNDS.contains(&spec.as_str())) {
        for (before, is_removed) in [50, 53, 57].into_iter().flat_map(|k| [(k, false), (k, true)]) {
            let mut line = Busy::new(spec);
            (0..before).for_each(|_| _ = line.step());
            let light = line.add(LIGHT);
            line.send(light, BUSY);
            line.until(BUSY);
            if is_removed {
                line.remove(light);
            }
            let comer = line.add(ONE);
            line.send(comer, BUSY + 1);
            let (waits, most) = (line.until(BUSY + 1), most_packets(spec));
            assert!(waits <= most, "{spec}, the light one is removed: {is_removed}: {waits} packets, not {most}");
        }
    }
}

/// What new flows that come one after another send, and whether each is removed when its packets are served. Several
/// may come at a time.
struct Stream {
    name: &'static str,
    /// Weights of those that come at one time.
    weights: fn(u64, &mut Random) -> Vec<u32>,
    removes: bool,
}

const STREAMS: [Stream; 9] = [
    Stream { name: "equal", weights: |_, _| vec![ONE], removes: false },
    Stream { name: "light and heavy", weights: |k, _| vec![[LIGHT, ONE][k as usize % 2]], removes: false },
    Stream { name: "light and heavy, removed", weights: |k, _| vec![[LIGHT, ONE][k as usize % 2]], removes: true },
    Stream { name: "ever heavier", weights: |k, _| vec![1 << (k % 10)], removes: false },
    Stream { name: "ever lighter", weights: |k, _| vec![512 >> (k % 10)], removes: false },
    Stream { name: "any", weights: |_, random| vec![random.between(1, 1000) as u32], removes: false },
    Stream { name: "any, removed", weights: |_, random| vec![random.between(1, 1000) as u32], removes: true },
    Stream {
        name: "a hundred light ones, and a heavy one",
        weights: |k, _| if k % 2 == 0 { vec![LIGHT; 100] } else { vec![ONE] },
        removes: false,
    },
    Stream {
        name: "a hundred light ones, and heavy ones one after another",
        weights: |k, _| if k % 101 == 0 { vec![LIGHT; 100] } else { vec![ONE] },
        removes: false,
    },
];

/// Packets of new flows, and of a busy flow in the mean.
fn streamed(spec: &str, stream: &Stream) -> (f64, f64) {
    let (mut line, mut random) = (Busy::new(spec), Random::new(1));
    (0..50).for_each(|_| _ = line.step());
    let (mut present, mut waiting, mut own, mut all) = (Vec::new(), 0, 0u32, 0u32);
    for came in 0.. {
        if all >= 30_000 {
            break;
        }
        for milli in (stream.weights)(came, &mut random) {
            let flow = line.add(milli);
            line.send(flow, BUSY);
            present.push(flow);
            waiting += 1;
        }
        while waiting > 0 && all < 30_000 {
            if let Some(whose) = line.step() {
                all += 1;
                let is_own = u32::from(whose == BUSY);
                (own, waiting) = (own + is_own, waiting - is_own);
            }
        }
        let old = std::mem::take(&mut present);
        if stream.removes {
            old.into_iter().for_each(|flow| line.remove(flow));
        }
    }
    (own.into(), f64::from(all - own) / BUSY as f64)
}

/// Whoever sends so never has flows of more weight than 1 waiting. Up to a hundred light flows' packets more are the
/// first ones.
#[test]
fn a_stream_of_new_flows_of_any_weights_gets_what_its_heaviest_one_gets() {
    for spec in specs() {
        for stream in &STREAMS {
            let (own, busy) = streamed(&spec, stream);
            println!("{spec:20} {:40} {:.3}", stream.name, own / busy);
            assert!(own <= 1.02 * busy + 100.0, "{spec}, {}: {own} packets, a busy flow {busy}", stream.name);
        }
    }
}

/// The flow has been served a packet at its small weight, and the next one waits.
#[test]
fn a_raised_weight_holds_at_once() {
    let free = FREE.map(String::from);
    for spec in specs().into_iter().chain(free).filter(|spec| !BY_ROUNDS.contains(&spec.as_str())) {
        let mut line = Busy::new(&spec);
        let flow = line.add(LIGHT);
        (0..3).for_each(|_| line.send(flow, BUSY));
        line.until(BUSY);
        line.weigh(flow, ONE);
        let (waits, most) = (line.until(BUSY), most_packets(&spec));
        assert!(waits <= most, "{spec}: {waits} packets, not {most}");
    }
}

/// A flow's packets, and those of a busy one in the mean. It changes between two weights at random instants: before and
/// after it sends, while a packet waits and while none does. So many of its packets wait at most.
fn toggled(spec: &str, weights: [u32; 2], depth: u64, seed: u64) -> (f64, f64) {
    let (mut line, mut random) = (Busy::new(spec), Random::new(seed));
    let flow = line.add(weights[0]);
    let habits: [u64; 3] = std::array::from_fn(|_| random.below(4));
    let mut changes = |line: &mut Busy, habit: u64| match habits[habit as usize] {
        0 => line.weigh(flow, weights[0]),
        1 => line.weigh(flow, weights[1]),
        2 => line.weigh(flow, weights[random.below(2) as usize]),
        _ => (),
    };
    let (mut waiting, mut own, mut all) = (0, 0u32, 0u32);
    while all < 5_000 {
        while waiting < depth {
            changes(&mut line, 0);
            line.send(flow, BUSY);
            waiting += 1;
            changes(&mut line, 1);
        }
        if let Some(whose) = line.step() {
            all += 1;
            if whose == BUSY {
                own += 1;
                waiting -= 1;
                changes(&mut line, 2);
            }
        }
    }
    (own.into(), f64::from(all - own) / BUSY as f64)
}

#[test]
fn a_weight_that_changes_to_and_fro_is_worth_no_more_than_the_larger_one() {
    for spec in specs().into_iter().chain(FREE.map(String::from)) {
        let mut most = (0.0, String::new());
        for seed in 0..60 {
            let weights = [[LIGHT, ONE], [500, ONE], [ONE, 3 * ONE]][seed as usize % 3];
            let depth = 1 + seed % 2;
            let (own, busy) = toggled(&spec, weights, depth, seed);
            // But for two packets.
            let gain = (own - 2.0) * f64::from(ONE) / f64::from(weights[1]) / busy;
            if gain > most.0 {
                most = (gain, format!("weights {weights:?}, {depth} waiting, seed {seed}"));
            }
        }
        println!("{spec:35} {:.3} with {}", most.0, most.1);
        assert!(most.0 <= 1.02, "{spec}: {most:?}");
    }
}
