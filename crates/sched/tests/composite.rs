//! PCFQ and CBCS: service orders that a person can check with a pencil.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, build};
use dovetail_units::{Duration, ResourceVec, Time, Weight};

struct Bench {
    scheduler: Box<dyn Scheduler<2, u32>>,
    flows: Vec<FlowId>,
}

impl Bench {
    /// Flows of these weights in thousandths.
    fn new(spec: &str, weights: &[u32]) -> Self {
        Self::weighted(spec, &weights.iter().map(|&milli| [milli; 2]).collect::<Vec<_>>())
    }

    /// Flows of these weights on CPU and link, in thousandths.
    fn weighted(spec: &str, weights: &[[u32; 2]]) -> Self {
        let mut scheduler = build::<2, u32>(&spec.parse().unwrap(), Shape::default()).unwrap();
        let weight = |milli| Weight::from_milli(milli).unwrap();
        let config = |on: [u32; 2]| FlowConfig {
            weight: weight(on.iter().sum::<u32>() / 2),
            weight_on: (on[0] != on[1]).then(|| on.map(weight)),
            ..FlowConfig::default()
        };
        let flows = weights.iter().map(|&on| scheduler.add_flow(config(on))).collect();
        Self { scheduler, flows }
    }

    /// A number of packets of these nanoseconds on CPU and link.
    fn offer(&mut self, now: u64, flow: usize, count: usize, cost: [u64; 2]) {
        for _ in 0..count {
            let cost = ResourceVec::from_nanos(cost);
            let packet = Packet { flow: self.flows[flow], size: 100, cost, payload: flow as u32 };
            self.scheduler.enqueue(Time::from_nanos(now), packet).unwrap();
        }
    }

    /// Serve one packet to its end; `took` says how long it took on the CPU, by flow, if not what was said.
    fn serve(&mut self, now: u64, took: [Option<u64>; 2]) -> char {
        let Next::Serve(mut served) = self.scheduler.next(Time::from_nanos(now)) else { panic!("nothing to serve") };
        let charged = served.ticket.charged();
        let cpu = took.get(served.payload as usize).copied().flatten().map_or(charged[0], Duration::from_nanos);
        for (r, used) in [cpu, charged[1]].into_iter().enumerate() {
            let event = Progress::Finished { used };
            self.scheduler.progress(Time::from_nanos(now), &mut served.ticket, r, event);
        }
        char::from(b'A' + served.payload as u8)
    }

    fn order(&mut self, now: u64, count: usize) -> String {
        (0..count).map(|_| self.serve(now, [None; 2])).collect()
    }
}

/// The first flows served of what is all there at the start.
fn order(spec: &str, weights: &[u32], packets: [[u64; 2]; 2], count: usize) -> String {
    let mut bench = Bench::new(spec, weights);
    bench.offer(0, 0, 100, packets[0]);
    bench.offer(0, 1, 100, packets[1]);
    bench.order(0, count)
}

/// Equation (3) with phi_cpu and phi_bw: A (1, 4) and B (2, 1), packets of (2, 4) both. F of A: 2/1 + 4/4 = 3, 6, 9 ..;
/// of B: 2/2 + 4/1 = 5, 10, 15 ..; with the mean of its weights, 2.5 and 1.5, it would be A: 2.4, 4.8, 7.2, 9.6 and B:
/// 4, 8.
#[test]
fn pcfq_divides_the_time_on_each_resource_by_the_weight_there() {
    let mut bench = Bench::weighted("pcfq", &[[1000, 4000], [2000, 1000]]);
    bench.offer(0, 0, 9, [2, 4]);
    bench.offer(0, 1, 9, [2, 4]);
    // 3 5 6 9 10 12 15 15.
    assert_eq!(bench.order(0, 8), "ABAABAAB");
    // CBCS looks at the sum of the weights, 5 and 3 (section 2.2 of its paper); one weight or two are the same.
    let order = |weights: [[u32; 2]; 2]| {
        let mut bench = Bench::weighted("cbcs", &weights);
        (0..2).for_each(|flow| bench.offer(0, flow, 30, [2, 4]));
        bench.order(0, 40)
    };
    assert_eq!(order([[1000, 4000], [2000, 1000]]), order([[2500; 2], [1500; 2]]));
}

/// Flows that need time on one resource only get it in proportion to their weights there, all in one order: by the mean
/// of the weights, which is the same for all, they would get the same.
#[test]
fn shares_of_each_resource_follow_the_weights_on_it() {
    let weights = [[3000, 1000], [1000, 3000], [1000, 3000], [3000, 1000]];
    let mut bench = Bench::weighted("pcfq", &weights);
    let costs = [[700, 0], [400, 0], [0, 500], [0, 900]];
    costs.into_iter().enumerate().for_each(|(flow, cost)| bench.offer(0, flow, 2000, cost));
    let mut normalised = [0u64; 4];
    for served in bench.order(0, 3000).bytes() {
        let flow = usize::from(served - b'A');
        normalised[flow] += costs[flow].iter().zip(weights[flow]).map(|(t, w)| 3000 * t / u64::from(w)).sum::<u64>();
    }
    // In thirds of a nanosecond by weight. Two of them differ by at most two packets, of 900 ns by weight 1 at most.
    let (least, most) = (normalised.iter().min().unwrap(), normalised.iter().max().unwrap());
    assert!(most - least <= 5400 && *least > 300_000, "{normalised:?}");
}

/// A discipline of a single resource takes the weight there.
#[test]
fn one_resource_is_shared_by_the_weight_on_it() {
    for spec in ["wfq", "wf2q+", "sfq", "scfq", "drr:quantum=1 us"] {
        let counts = |resource: usize| {
            let with = if spec.contains(':') { "," } else { ":" };
            let mut bench = Bench::weighted(&format!("{spec}{with}resource={resource}"), &[[3000, 1000], [1000, 3000]]);
            (0..2).for_each(|flow| bench.offer(0, flow, 1000, [1000; 2]));
            bench.order(0, 400).matches('A').count()
        };
        // Three of four on the CPU, one of four on the link, within a few packets.
        assert!(counts(0).abs_diff(300) <= 3, "{spec}: {}", counts(0));
        assert!(counts(1).abs_diff(100) <= 3, "{spec}: {}", counts(1));
    }
}

#[test]
fn cpu_and_link_count_alike() {
    // F of A: 2 4 6 ..; of B: 1 2 3 4 ..; equal tags: A.
    for (a, b) in [([1, 1], [1, 0]), ([2, 0], [0, 1]), ([0, 2], [0, 1])] {
        assert_eq!(order("pcfq", &[1000; 2], [a, b], 9), "BABBABBAB");
        assert_eq!(order("pcfq:clock=paper", &[1000; 2], [a, b], 9), "BABBABBAB");
    }
    // Q = 9: three of A use up 9, one of B.
    for (a, b) in [([1, 2], [9, 0]), ([3, 0], [4, 5])] {
        assert_eq!(order("cbcs", &[1000; 2], [a, b], 12), "AAABAAABAAAB");
    }
}

#[test]
fn weights_divide_what_is_charged() {
    // A's packets of 4 at weight 2 count as much as B's of 2 at weight 1.
    for spec in ["pcfq", "pcfq:clock=tags", "pcfq:clock=paper", "cbcs"] {
        assert_eq!(order(spec, &[2000, 1000], [[1, 3], [1, 1]], 8), "ABABABAB", "{spec}");
        // With packets alike, two of A for one of B.
        let served = order(spec, &[2000, 1000], [[1, 1], [1, 1]], 30);
        assert_eq!(served.matches('A').count(), 20, "{spec}: {served}");
    }
}

#[test]
fn credit_counters() {
    // Q = 9. CC of A: 9 7 5 3 1, then 10 8 6 4 2 0, then 9 again: four packets, five, four. B's are 9 each.
    assert_eq!(order("cbcs", &[1000; 2], [[1, 1], [4, 5]], 17), "AAAABAAAAABAAAABA");
    // Q = 4: two of A in every turn. CC of B: 4, 8, 12 - 9 = 3, 7, 11 - 9 = 2, 6, 10 - 9 = 1: in turns 3, 5, 7.
    assert_eq!(order("cbcs:quantum=4 ns", &[1000; 2], [[1, 1], [4, 5]], 17), "AAAAAABAAAABAAAAB");
    // Q = 1: A serves in rounds 2, 4, 6 ..; B in rounds 9, 18 ..
    assert_eq!(order("cbcs:quantum=1 ns", &[1000; 2], [[1, 1], [4, 5]], 7), "AAAABAA");
}

#[test]
fn credit_counters_as_published() {
    // Q = 9. CC of A: 9 7 5 3 1 -1, then 8 6 4 2 0, then 9 again: five packets, four, five. B's are 9 each.
    let order =
        |quantum: &str, count| order(&format!("cbcs:newcomers=free{quantum}"), &[1000; 2], [[1, 1], [4, 5]], count);
    assert_eq!(order("", 17), "AAAAABAAAABAAAAAB");
    // Q = 4: two of A in every turn. CC of B: 4 - 9 = -5, -1, 3 - 9 = -6, -2, 2 - 9 = -7, -3, 1: in turns 1, 3, 5, 7.
    assert_eq!(order(",quantum=4 ns", 20), "AABAAAABAAAABAAAABAA");
    // Q = 1: A owes 1 after each packet and serves in rounds 1, 3, 5 ..; B owes 8 and serves in rounds 1 and 10.
    assert_eq!(order(",quantum=1 ns", 7), "ABAAAAB");
}

#[test]
fn a_quantum_can_change_and_is_a_time_or_auto() {
    let mut bench = Bench::new("cbcs", &[1000; 2]);
    bench.offer(0, 0, 50, [1, 0]);
    bench.offer(0, 1, 50, [1, 0]);
    assert_eq!(bench.order(0, 4), "ABAB");
    bench.scheduler.set(Time::ZERO, "quantum", "3 ns").unwrap();
    assert_eq!(bench.order(0, 6), "AAABBB");
    bench.scheduler.set(Time::ZERO, "quantum", "auto").unwrap();
    assert_eq!(bench.order(0, 4), "ABAB");
    for wrong in ["0 s", "5", "big"] {
        let message = bench.scheduler.set(Time::ZERO, "quantum", wrong).unwrap_err().to_string();
        assert!(message.contains("a time above 0 s"), "{message}");
    }
    for (spec, says) in [
        ("cbcs:charge=guess", "charge=guess: expected estimated or measured"),
        ("pcfq:charge=guess", "charge=guess: expected estimated or measured"),
        ("pcfq:clock=wall", "clock=wall: expected served or tags or paper"),
        ("pcfq:alpha=1", "pcfq has no parameter \"alpha\""),
    ] {
        let error = build::<2, u32>(&spec.parse().unwrap(), Shape::default()).err().unwrap();
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn an_automatic_quantum_falls_back_when_nothing_waits() {
    let mut bench = Bench::new("cbcs", &[1000; 2]);
    bench.offer(0, 0, 1, [500, 500]);
    assert_eq!(bench.order(0, 1), "A");
    bench.offer(0, 0, 10, [5, 5]);
    bench.offer(0, 1, 10, [5, 5]);
    assert_eq!(bench.order(0, 6), "ABABAB");
}

#[test]
fn bursts_of_two_gain_nothing() {
    // A's bursts are a packet of 1 and one of 9, and the next one comes when its queue is empty; B's packets are 9, as
    // is Q. A turn of A takes 10. Were that forgiven with the queue empty, A would have 10 for every 9 of B.
    let mut bench = Bench::new("cbcs", &[1000; 2]);
    bench.offer(0, 1, 500, [9, 0]);
    let (mut served, mut of_a) = (String::new(), 0);
    for _ in 0..400 {
        if of_a == 0 {
            bench.offer(0, 0, 1, [1, 0]);
            bench.offer(0, 0, 1, [9, 0]);
            of_a = 2;
        }
        let flow = bench.serve(0, [None; 2]);
        of_a -= usize::from(flow == 'A');
        served.push(flow);
    }
    // A's packets are 5 on average. By the bound, to Q + 9 + 9 = 27.
    let (a, b) = (5 * served.matches('A').count(), 9 * served.matches('B').count());
    assert!(a <= b + 27, "{a} and {b}");
}

#[test]
fn a_flow_that_comes_is_not_served_alone() {
    // A needs 1000 of the CPU per packet and keeps it busy for 100 packets; then B comes with the like.
    let alone = |spec: &str| {
        let mut bench = Bench::new(spec, &[1000; 2]);
        bench.offer(0, 0, 300, [1000, 0]);
        (0..100).for_each(|k| assert_eq!(bench.serve(k * 1000, [None; 2]), 'A'));
        bench.offer(100_000, 1, 200, [1000, 0]);
        (100..).take_while(|k| bench.serve(k * 1000, [None; 2]) == 'B').count()
    };
    // V is at A's last finish tag, or at its start tag: B's first packet ends with A's next.
    assert_eq!(alone("pcfq"), 0);
    assert_eq!(alone("pcfq:clock=tags"), 0);
    // By (5) and (6) V is half of 100,000 while A's tags are at 100,000; B's F are 51,000, 52,000 .. 101,000, and A's
    // is 101,000.
    assert_eq!(alone("pcfq:clock=paper"), 50);
    assert_eq!(alone("cbcs"), 0);
}

#[test]
fn who_understates_gains_nothing_if_charges_are_measured() {
    // A's packets take 400 on the CPU, of which 100 are said; B's take 100. Both need 20 of the link: 420 against 120
    // if measured, so 3.5 packets of B for one of A. pcfq serves who has had less of what is charged, as both heads
    // say 120: they are never further apart than the packet served, 420 or 120 of A. By cbcs they are Q + C_A + C_B
    // apart: 420 + 420 + 120, or three times 120. One resource's scheduler counts 400 against 100, of which all but
    // drr serve one packet of A at most out of turn, and drr has quanta of at most 400. In packets of B:
    for (spec, packets_of_b, apart) in [
        ("pcfq", 3.5, 3.5),
        ("cbcs", 3.5, 8.0),
        ("pcfq:charge=estimated", 1.0, 1.0),
        ("cbcs:charge=estimated", 1.0, 3.0),
        ("wfq:resource=0", 4.0, 4.0),
        ("wf2q+:resource=0", 4.0, 4.0),
        ("sfq:resource=0", 4.0, 4.0),
        ("scfq:resource=0", 4.0, 4.0),
        ("drr:resource=0", 4.0, 9.0),
        ("wfq:resource=0,charge=estimated", 1.0, 1.0),
        ("wf2q+:resource=0,charge=estimated", 1.0, 1.0),
        ("sfq:resource=0,charge=estimated", 1.0, 1.0),
        ("scfq:resource=0,charge=estimated", 1.0, 1.0),
        ("drr:resource=0,charge=estimated", 1.0, 3.0),
    ] {
        let mut bench = Bench::new(spec, &[1000; 2]);
        bench.offer(0, 0, 1000, [100, 20]);
        bench.offer(0, 1, 1000, [100, 20]);
        let served: String = (0..900).map(|k| bench.serve(k, [Some(400), None])).collect();
        let [a, b] = ['A', 'B'].map(|flow| served.matches(flow).count() as f64);
        assert!((b - packets_of_b * a).abs() <= apart, "{spec}: {a} and {b}");
    }
}

#[test]
fn who_overstates_loses_nothing_if_charges_are_measured() {
    // A's packets say 500, B's 100; both take 100. By pcfq the heads end 500 and 100 later: A is served when it has had
    // 400 less, B when it has had at most 400 more, and has 500 more then. By cbcs they are Q + C_A + C_B = 500 + 500 +
    // 100 apart. In packets of A, of 100 if measured and 500 if not, which is so for the schedulers of one resource,
    // too; sfq as published looks at what flows have had only, so they take turns:
    for (spec, packets_of_a, apart) in [
        ("pcfq", 1.0, 5.0),
        ("cbcs", 1.0, 11.0),
        ("pcfq:charge=estimated", 0.2, 1.0),
        ("cbcs:charge=estimated", 0.2, 2.2),
        ("wfq:resource=0", 1.0, 5.0),
        ("wf2q+:resource=0", 1.0, 5.0),
        ("sfq:resource=0", 1.0, 5.0),
        ("sfq:resource=0,newcomers=free", 1.0, 1.0),
        ("scfq:resource=0", 1.0, 5.0),
        ("drr:resource=0", 1.0, 11.0),
        ("wfq:resource=0,charge=estimated", 0.2, 1.0),
        ("wf2q+:resource=0,charge=estimated", 0.2, 1.0),
        ("sfq:resource=0,charge=estimated", 0.2, 1.0),
        ("scfq:resource=0,charge=estimated", 0.2, 1.0),
        ("drr:resource=0,charge=estimated", 0.2, 2.2),
    ] {
        let mut bench = Bench::new(spec, &[1000; 2]);
        bench.offer(0, 0, 1000, [500, 0]);
        bench.offer(0, 1, 1000, [100, 0]);
        let served: String = (0..900).map(|k| bench.serve(k, [Some(100), None])).collect();
        let [a, b] = ['A', 'B'].map(|flow| served.matches(flow).count() as f64);
        assert!((a - packets_of_a * b).abs() <= apart, "{spec}: {a} and {b}");
    }
}

/// A alone has had ten packets when nothing waits any more: nobody has credit or debt then, so both take turns from
/// there on, A first as of equals.
#[test]
fn an_idle_time_settles_everything() {
    for spec in ["pcfq", "pcfq:clock=tags", "pcfq:clock=paper", "cbcs"] {
        let mut bench = Bench::new(spec, &[1000; 2]);
        bench.offer(0, 0, 10, [10, 10]);
        assert_eq!(bench.order(0, 10), "AAAAAAAAAA", "{spec}");
        bench.offer(1, 0, 3, [10, 10]);
        bench.offer(1, 1, 3, [10, 10]);
        assert_eq!(bench.order(1, 6), "ABABAB", "{spec}");
        // So does what a packet turns out to have taken, 1000 instead of 10, when it is the last.
        bench.offer(2, 0, 1, [10, 10]);
        assert_eq!(bench.serve(2, [Some(1000), None]), 'A', "{spec}");
        bench.offer(3, 0, 2, [10, 10]);
        bench.offer(3, 1, 2, [10, 10]);
        assert_eq!(bench.order(3, 4), "ABAB", "{spec}");
    }
}

#[test]
fn packets_that_need_nothing_give_way() {
    for spec in ["pcfq", "cbcs"] {
        let mut bench = Bench::new(spec, &[1000; 2]);
        bench.offer(0, 1, 2, [500, 500]);
        let mut served = String::new();
        for k in 0..5000 {
            bench.offer(k, 0, 1, [0, 0]);
            served.push(bench.serve(k, [None; 2]));
        }
        assert_eq!(served.matches('B').count(), 2, "{spec}");
    }
}

#[test]
fn shares_are_exact_in_the_long_run() {
    // Quanta of 1 ns at weights of 1 and 1.5 leave half a nanosecond in every other turn: it is carried.
    let served = order("cbcs:quantum=1 ns", &[1000, 1500], [[1, 0], [1, 0]], 100);
    assert_eq!(served.matches('A').count(), 40, "{served}");
}
