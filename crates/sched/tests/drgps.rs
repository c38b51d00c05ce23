//! `drgps` with a pencil: when packets start in the fluid, and in which order they enter.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, build};
use dovetail_units::{ResourceVec, Time, Weight};

/// The first resource, which takes one packet at a time, and what entered it.
struct Entrance<const M: usize> {
    scheduler: Box<dyn Scheduler<M, u32>>,
    flows: Vec<FlowId>,
    now: Time,
    /// Flow and nanosecond.
    entered: Vec<(usize, u64)>,
    /// What packets take, by flow, in turns; nothing is as estimated.
    takes: Vec<Vec<[u64; M]>>,
}

fn config<const M: usize>(milli: u32) -> FlowConfig<M> {
    FlowConfig { weight: Weight::from_milli(milli).unwrap(), ..FlowConfig::default() }
}

impl<const M: usize> Entrance<M> {
    fn new(spec: &str) -> Self {
        let scheduler = build(&spec.parse().unwrap(), Shape { servers: M as u32 }).unwrap();
        Self { scheduler, flows: Vec::new(), now: Time::ZERO, entered: Vec::new(), takes: Vec::new() }
    }

    /// A flow of this weight in thousandths.
    fn flow(&mut self, milli: u32) -> usize {
        self.flows.push(self.scheduler.add_flow(config(milli)));
        self.takes.push(Vec::new());
        self.flows.len() - 1
    }

    fn offer(&mut self, flow: usize, cost: [u64; M], packets: usize) {
        for _ in 0..packets {
            let packet =
                Packet { flow: self.flows[flow], size: 1, cost: ResourceVec::from_nanos(cost), payload: flow as u32 };
            self.scheduler.enqueue(self.now, packet).unwrap();
        }
    }

    /// Let packets enter until none waits or this time has come; each occupies the entrance for its time there, or for
    /// none.
    fn run(&mut self, until: u64, occupies: bool) {
        while self.now.as_nanos() < until {
            match self.scheduler.next(self.now) {
                Next::Serve(mut served) => {
                    let flow = served.payload as usize;
                    self.entered.push((flow, self.now.as_nanos()));
                    let takes = self.takes[flow].get(self.count(flow) % self.takes[flow].len().max(1));
                    let used = takes.map_or(served.ticket.charged(), |&takes| ResourceVec::from_nanos(takes));
                    if occupies {
                        self.now += used[0];
                    }
                    for (r, &used) in used.iter().enumerate() {
                        self.scheduler.progress(self.now, &mut served.ticket, r, Progress::Finished { used });
                    }
                }
                Next::At(time) => self.now = time.min(Time::from_nanos(until)),
                Next::Empty => break,
                other => panic!("{other:?}"),
            }
        }
    }

    fn letters(&self) -> String {
        self.entered.iter().map(|e| char::from(b'A' + e.0 as u8)).collect()
    }

    fn count(&self, flow: usize) -> usize {
        self.entered.iter().filter(|e| e.0 == flow).count()
    }
}

/// Flows of equal packets; in the fluid each gets the dominant share `d.0 / d.1`.
fn shares_are<const M: usize>(heads: &[[u64; M]], d: (u64, u64)) {
    let mut fluid = Entrance::<M>::new("drgps:order=start");
    for &head in heads {
        let flow = fluid.flow(1000);
        fluid.offer(flow, head, 200);
    }
    fluid.run(u64::MAX, false);
    for (flow, head) in heads.iter().enumerate() {
        let starts: Vec<u64> = fluid.entered.iter().filter(|e| e.0 == flow).map(|e| e.1).collect();
        let dominant = head.iter().copied().max().unwrap();
        // Until one flow's packets are all done every packet takes dominant / d; at whole nanoseconds, later by up to
        // one, and normalised times are right to 2^-32.
        let all_there = heads.iter().map(|h| h.iter().copied().max().unwrap()).min().unwrap() * 199 * d.1 / d.0;
        let mut compared = 0;
        for (k, start) in starts.into_iter().enumerate() {
            let exact = (k as u64 * dominant * d.1) as f64 / d.0 as f64;
            if exact <= all_there as f64 {
                assert!((start as f64 - exact - 0.5).abs() <= 0.51, "flow {flow}, packet {k}: {start}, not {exact}");
                compared += 1;
            }
        }
        assert!(compared > 20, "{compared}");
    }
}

#[test]
fn dominant_shares_are_those_of_the_fluid() {
    // d = 1 / max_r sum_i tbar_ir.
    // <2,10>, <10,4>: 0.2 + 1 and 1 + 0.4, so 5/7.
    shares_are(&[[2_000, 10_000], [10_000, 4_000]], (5, 7));
    // and <3,10>: 0.2 + 1 + 0.3 and 1 + 0.4 + 1, so 5/12.
    shares_are(&[[2_000, 10_000], [10_000, 4_000], [3_000, 10_000]], (5, 12));
    // <4,1>, <1,2>: 1 + 0.5 and 0.25 + 1, so 2/3.
    shares_are(&[[4_000, 1_000], [1_000, 2_000]], (2, 3));
    // <6,1>, <1,7>, <1,1>: 1 + 1/7 + 1 and 1/6 + 1 + 1, so 6/13.
    shares_are(&[[6_000, 1_000], [1_000, 7_000], [1_000, 1_000]], (6, 13));
    // <1,0.2>, <0.1,1>: 1 + 0.1 and 0.2 + 1, so 5/6.
    shares_are(&[[1_000, 200], [100, 1_000]], (5, 6));
    // Three resources, each the dominant one of a flow: 1 + 1/2 + 0, 0 + 1 + 1/4 and 1/2 + 0 + 1, so 2/3.
    shares_are(&[[2_000, 0, 1_000], [1_000, 2_000, 0], [0, 1_000, 4_000]], (2, 3));
}

#[test]
fn complementary_flows_enter_once_a_round_and_the_entrance_waits_for_the_fluid() {
    // <2,10> and <10,4> each get 5/7: a packet of either takes 14 in the fluid. At the entrance A takes 2 and B 10, so
    // 2 are left.
    for spec in ["drgps", "drgps:order=start"] {
        let mut entrance = Entrance::<2>::new(spec);
        for cost in [[2, 10], [10, 4]] {
            let flow = entrance.flow(1000);
            entrance.offer(flow, cost, 3);
        }
        entrance.run(u64::MAX, true);
        assert_eq!(entrance.entered, [(0, 0), (1, 2), (0, 14), (1, 16), (0, 28), (1, 30)], "{spec}");
    }
}

/// The example of WF2Q's paper: A has half of all weight and 11 packets, ten others a packet each; all take 1.
fn one_heavy_flow(spec: &str) -> String {
    let mut entrance = Entrance::<1>::new(spec);
    let heavy = entrance.flow(10_000);
    entrance.offer(heavy, [1], 11);
    for _ in 0..10 {
        let light = entrance.flow(1000);
        entrance.offer(light, [1], 1);
    }
    entrance.run(u64::MAX, true);
    entrance.letters()
}

#[test]
fn by_finish_a_heavy_flow_has_every_other_turn() {
    // In the fluid A's packets end at 2, 4, 6 .., the others' at 20. At 1, A's second packet has not started.
    assert_eq!(one_heavy_flow("drgps"), "ABACADAEAFAGAHAIAJAKA");
}

#[test]
fn by_start_a_heavy_flow_waits_for_all_who_came_with_it() {
    // All first packets start at 0, A's next ones at 2, 4, 6 ..
    assert_eq!(one_heavy_flow("drgps:order=start"), "ABCDEFGHIJKAAAAAAAAAA");
}

#[test]
fn a_flow_is_charged_what_was_measured() {
    // Both say 2, A takes 4: for every two packets of B one of A, but for the packet whose measurement comes after the
    // next has started.
    for spec in ["drgps", "drgps:order=start"] {
        let mut entrance = Entrance::<1>::new(spec);
        let [a, b] = [entrance.flow(1000), entrance.flow(1000)];
        entrance.takes[a] = vec![[4]];
        entrance.offer(a, [2], 1000);
        entrance.offer(b, [2], 1000);
        entrance.run(1200, true);
        assert!((2 * entrance.count(a)).abs_diff(entrance.count(b)) <= 4, "{spec}: {}", entrance.letters());
    }
}

#[test]
fn what_takes_less_than_it_says_is_given_back() {
    // A says 6 and takes 2, as B does: the fluid gives A's first packet 6 and is told of 4 too many. From then on each
    // of A's takes 2.
    for spec in ["drgps", "drgps:order=start"] {
        let mut entrance = Entrance::<1>::new(spec);
        let [a, b] = [entrance.flow(1000), entrance.flow(1000)];
        entrance.takes[a] = vec![[2]];
        entrance.offer(a, [6], 1000);
        entrance.offer(b, [2], 1000);
        entrance.run(1200, true);
        assert!(entrance.count(a).abs_diff(entrance.count(b)) <= 4, "{spec}: {}", entrance.letters());
        // It waits for the fluid only at first: of 600 packets' time all but a few are used.
        assert!(entrance.entered.len() >= 596, "{spec}: {}", entrance.entered.len());
    }
}

#[test]
fn proportions_are_those_that_were_measured() {
    // Both say <20,32>, which would be a share of 1/2 of the second resource each. A takes <96,32> and B <5,32>: loads
    // of 1 + 5/32 and 1/3 + 1, so 3/4. In the fluid a packet of A takes 128, one of B 42 2/3. A hundredth is lost where
    // packets start before those ahead of them are measured.
    for spec in ["drgps", "drgps:order=start"] {
        let mut entrance = Entrance::<2>::new(spec);
        let [a, b] = [entrance.flow(1000), entrance.flow(1000)];
        (entrance.takes[a], entrance.takes[b]) = (vec![[96, 32]], vec![[5, 32]]);
        entrance.offer(a, [20, 32], 10_000);
        entrance.offer(b, [20, 32], 10_000);
        entrance.run(128_000, true);
        let [of_a, of_b] = [entrance.count(a), entrance.count(b)];
        assert!((980..=1000).contains(&of_a) && (2940..=3000).contains(&of_b), "{spec}: {of_a} and {of_b}");
    }
}

#[test]
fn estimates_that_are_right_only_on_average_leave_a_quarter_idle_at_most() {
    // All say <6,5>, and take <11,2> and <1,8> in turns. They are charged 11 and 8 then, of which the first resource
    // gives 6 on average. The fluid stands still where it gives 11, and does not catch up where it gives 1.
    for spec in ["drgps", "drgps:order=start"] {
        let mut entrance = Entrance::<2>::new(spec);
        for k in 0..8 {
            let flow = entrance.flow(1000);
            entrance.takes[flow] = [vec![[11, 2], [1, 8]], vec![[1, 8], [11, 2]]][k % 2].clone();
            entrance.offer(flow, [6, 5], 2000);
        }
        entrance.run(60_000, true);
        let used = entrance.entered.len() * 6;
        assert!((45_000..=60_020).contains(&used), "{spec}: {used} of 60000");
        let counts: Vec<usize> = (0..8).map(|flow| entrance.count(flow)).collect();
        assert!(counts.iter().all(|count| count.abs_diff(counts[0]) <= 2), "{spec}: {counts:?}");
    }
}

#[test]
fn a_new_weight_holds_for_what_is_left_of_the_head_packet() {
    // Equal flows, packets of 12: from 0 on each has half. At 12 half of both first packets is left; with A at weight 3
    // its share becomes 3/4: A's packet ends after 8 more, at 20. B has had 6 + 2, and its other 4 take 16: it ends
    // at 36, as does A's second packet.
    let mut fluid = Entrance::<1>::new("drgps");
    let [a, b] = [fluid.flow(1000), fluid.flow(1000)];
    fluid.offer(a, [12], 3);
    fluid.offer(b, [12], 3);
    fluid.run(12, false);
    fluid.scheduler.set_flow(fluid.now, fluid.flows[a], config(3000)).unwrap();
    fluid.run(37, false);
    assert_eq!(fluid.entered, [(a, 0), (b, 0), (a, 20), (a, 36), (b, 36)]);
}

#[test]
fn a_removed_flow_leaves_its_share_to_the_others() {
    // Packets of 12 at half speed. B goes at 12, when half of its first packet, which was handed out, is left: the
    // fluid works that off until 18, or drops it, as published. A's first packet has 6 left too, the second takes 12.
    for (spec, entered) in [("drgps", [24, 36]), ("drgps:newcomers=free", [18, 30])] {
        let mut fluid = Entrance::<1>::new(spec);
        let [a, b] = [fluid.flow(1000), fluid.flow(1000)];
        fluid.offer(a, [12], 3);
        fluid.offer(b, [12], 3);
        fluid.run(12, false);
        let (mut dropped, gone) = (0, fluid.flows[b]);
        fluid.scheduler.remove_flow(fluid.now, gone, &mut |_| dropped += 1).unwrap();
        fluid.run(u64::MAX, false);
        let [second, third] = entered;
        assert_eq!((fluid.entered.as_slice(), dropped), (&[(a, 0), (b, 0), (a, second), (a, third)][..], 2), "{spec}");
    }
}

#[test]
fn a_flow_that_was_away_has_neither_credit_nor_debt() {
    // A alone from 0 to 10, B comes at 10: they take turns.
    let mut entrance = Entrance::<1>::new("drgps");
    let [a, b] = [entrance.flow(1000), entrance.flow(1000)];
    entrance.offer(a, [1], 10);
    entrance.run(u64::MAX, true);
    entrance.offer(a, [1], 4);
    entrance.offer(b, [1], 4);
    entrance.run(u64::MAX, true);
    assert_eq!(entrance.letters(), "AAAAAAAAAAABABABAB");
}

#[test]
fn wrong_orders_are_refused_in_words() {
    let refused = |spec: &str| build::<2, u32>(&spec.parse().unwrap(), Shape::default()).err().unwrap().to_string();
    assert_eq!(
        refused("drgps:order=wf2q"),
        "order=wf2q: expected finish (worst-case fair) or start (start-time tracking)"
    );
    assert_eq!(refused("drgps:alpha=1"), "drgps has no parameter \"alpha\"; it has order, newcomers");
    let mut entrance = Entrance::<2>::new("drgps");
    let error = entrance.scheduler.set(Time::ZERO, "order", "start").unwrap_err();
    assert_eq!(error.to_string(), "drgps: order cannot change while running");
}
