//! What the tradeoff discipline's background fluid must not get wrong.

use dovetail_sched::tradeoff::Tradeoff;
use dovetail_sched::{FlowConfig, Next, Packet, PerFlow, Progress, Scheduler, Served};
use dovetail_units::{Duration, ResourceVec, Time};

#[test]
fn a_packet_does_not_start_in_the_fluid_before_it_arrives() {
    // A has two tiny packets at 0, and B, C one of 1000. While B is being served, A's are long over in the fluid; A's third packet comes at
    // 400, after D's at 300, and so must start after it, although A's second has not been asked for yet.
    let mut scheduler = PerFlow::new(Tradeoff::new(1.0).unwrap());
    let [a, b, c, d] = [(); 4].map(|()| scheduler.add_flow(FlowConfig::default()));
    let send = |scheduler: &mut PerFlow<2, &str, Tradeoff>, at, flow, time, payload| {
        let cost = ResourceVec::from_nanos([time, time]);
        scheduler.enqueue(Time::from_nanos(at), Packet { flow, size: 1, cost, payload }).unwrap();
    };
    send(&mut scheduler, 0, a, 1, "a1");
    send(&mut scheduler, 0, a, 1, "a2");
    send(&mut scheduler, 0, b, 1000, "b1");
    send(&mut scheduler, 0, c, 1000, "c1");
    send(&mut scheduler, 300, d, 1000, "d1");
    send(&mut scheduler, 400, a, 1, "a3");
    let order = [(); 6].map(|()| match scheduler.next(Time::from_nanos(2000)) {
        Next::Serve(served) => served.payload,
        other => panic!("{other:?}"),
    });
    assert_eq!(order, ["a1", "b1", "c1", "a2", "d1", "a3"]);
}

#[test]
fn asking_often_does_not_change_the_schedule() {
    // The fluid's clock is rounded to ticks only when something changes, never because somebody asks.
    let serve = |step: u64| {
        let mut scheduler = PerFlow::new(Tradeoff::new(0.85).unwrap());
        for k in 0..50u64 {
            let flow = scheduler.add_flow(FlowConfig::default());
            let cost = ResourceVec::from_nanos([1000 + 37 * k, 3000 - 41 * k]);
            for i in 0..20 {
                scheduler.enqueue(Time::ZERO, Packet { flow, size: 1, cost, payload: 100 * k + i }).unwrap();
            }
        }
        let (mut now, mut served) = (0, Vec::new());
        while served.len() < 1000 {
            match scheduler.next(Time::from_nanos(now)) {
                Next::Serve(packet) => served.push(packet.payload),
                Next::At(time) => now = (now + step).min(time.as_nanos()),
                other => panic!("{other:?}"),
            }
        }
        served
    };
    assert_eq!(serve(u64::MAX / 2), serve(13));
}

#[test]
fn with_alpha_zero_packets_that_end_within_one_tick_are_served_all_the_same() {
    // A packet of no time takes one tick of 2^-20 ns, less than the fluid's clock may overshoot: it ends as soon as it comes to the head.
    for alpha in [0.0, 0.5, 1.0] {
        let mut scheduler = PerFlow::new(Tradeoff::new(alpha).unwrap());
        let flows = [(); 2].map(|()| scheduler.add_flow(FlowConfig::default()));
        for k in 0..100 {
            let packet = Packet { flow: flows[k % 2], size: 1, cost: ResourceVec::ZERO, payload: k };
            scheduler.enqueue(Time::ZERO, packet).unwrap();
        }
        let (mut now, mut served) = (Time::ZERO, 0);
        loop {
            match scheduler.next(now) {
                Next::Serve(_) => served += 1,
                // 200 ticks are less than a nanosecond.
                Next::At(time) if time <= Time::from_nanos(2) => now = time,
                Next::Empty => break,
                other => panic!("alpha {alpha}, {served} served: {other:?}"),
            }
        }
        assert_eq!(served, 100, "alpha {alpha}");
    }
}

/// Four flows that need the link most, and twice as much of the CPU as they say; and two that need the CPU most. By what is said the link is full and the CPU is not, in truth it is the other
/// way round: (4 * 2/3 + 2) against (4 + 2/9) of a dominant share.
#[test]
fn the_fluid_does_not_run_ahead_of_a_resource_that_is_dominant_for_few() {
    for alpha in [0.85, 1.0] {
        let mut scheduler = PerFlow::new(Tradeoff::new(alpha).unwrap());
        let [said, true_times] = [[1_000, 9_000], [2_000, 9_000]];
        let link = [3_000, 1_000];
        for flow in 0..6 {
            let (id, kind) = (scheduler.add_flow(FlowConfig::default()), usize::from(flow >= 4));
            let cost = ResourceVec::from_nanos([said[kind], link[kind]]);
            for _ in 0..8_000 {
                scheduler.enqueue(Time::ZERO, Packet { flow: id, size: 1, cost, payload: Some(kind) }).unwrap();
            }
        }
        let mouse = scheduler.add_flow(FlowConfig::default());
        let (mut now, mut came, mut before_it) = (0, false, 0);
        loop {
            if now >= 40_000_000 && !came {
                came = true;
                let cost = ResourceVec::from_nanos([100, 100]);
                scheduler.enqueue(Time::from_nanos(now), Packet { flow: mouse, size: 1, cost, payload: None }).unwrap();
            }
            match scheduler.next(Time::from_nanos(now)) {
                Next::At(time) => now = time.as_nanos(),
                Next::Serve(Served { payload: None, .. }) => break,
                Next::Serve(Served { mut ticket, payload: Some(kind), .. }) => {
                    before_it += u32::from(came);
                    now += true_times[kind];
                    for (resource, used) in [true_times[kind], link[kind]].into_iter().enumerate() {
                        let used = Duration::from_nanos(used);
                        scheduler.progress(Time::from_nanos(now), &mut ticket, resource, Progress::Finished { used });
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        // Two packets of each flow (equation 26), as many again for what the corrections come late, and the one in service.
        assert!(before_it <= 4 * 6 + 1, "alpha = {alpha}: {before_it} packets were served before the mouse's");
    }
}
