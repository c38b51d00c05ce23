//! The longest call of `atfq`, in steps: it does not grow with the number of flows but by the depth of a heap. One
//! test, because the count is one for the whole program.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, Ticket, build, steps};
use dovetail_units::{Duration, ResourceVec, Time};

/// The most steps of any call of a kind.
#[derive(Clone, Copy, Default, Debug)]
struct Most {
    next: u64,
    progress: u64,
    enqueue: u64,
    remove: u64,
}

fn count<R>(most: &mut u64, call: impl FnOnce() -> R) -> R {
    let before = steps::taken();
    let answer = call();
    *most = (*most).max(steps::taken() - before);
    answer
}

/// All flows become backlogged, are served, measured as longer or shorter than estimated, and removed in the middle of
/// it.
fn longest(spec: &str, flows: usize) -> Most {
    let mut scheduler: Box<dyn Scheduler<2, u32>> = build(&spec.parse().unwrap(), Shape::default()).unwrap();
    let mut most = Most::default();
    let mut state = 1u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let ids: Vec<FlowId> = (0..flows).map(|_| scheduler.add_flow(FlowConfig::default())).collect();
    for &flow in ids.iter().chain(&ids) {
        let cost = ResourceVec::from_nanos([1 + random(1000), 1 + random(1000)]);
        let packet = Packet { flow, size: 1, cost, payload: 0 };
        assert!(count(&mut most.enqueue, || scheduler.enqueue(Time::ZERO, packet)).is_ok());
    }
    let mut inside: Vec<Ticket<2>> = Vec::new();
    for k in 0.. {
        let next = count(&mut most.next, || scheduler.next(Time::ZERO));
        let waits = matches!(next, Next::AwaitProgress);
        match next {
            Next::Serve(served) => inside.push(served.ticket),
            Next::Empty => break,
            _ => assert!(waits && !inside.is_empty()),
        }
        // All at once, late: every flow has a correction to make.
        if waits || inside.len() > flows / 2 {
            for mut ticket in inside.drain(..) {
                for resource in 0..2 {
                    let used = Duration::from_nanos(1 + random(2000));
                    let event = Progress::Finished { used };
                    count(&mut most.progress, || scheduler.progress(Time::ZERO, &mut ticket, resource, event));
                }
            }
        }
        if k % 3 == 0 {
            let flow = ids[random(flows as u64) as usize];
            let _ = count(&mut most.remove, || scheduler.remove_flow(Time::ZERO, flow, &mut |_| ()));
        }
    }
    most
}

#[test]
fn no_call_grows_with_the_flows() {
    let (few, many) = (longest("atfq", 1000), longest("atfq", 100_000));
    println!("{few:?}\n{many:?}");
    // Of a heap of four children per node: 5 levels at 1000 flows, 9 at 100,000.
    for most in [few, many] {
        assert!(most.progress <= 2 * 10 && most.enqueue <= 2 * 10 && most.remove <= 2 * 10, "{most:?}");
        // Twenty packets: one move in the heap each, their order, and as many steps again.
        assert!(most.next <= 20 * 10 + 500, "{most:?}");
    }
    let long = longest("atfq:loop=1000", 100_000);
    println!("{long:?}");
    assert!(long.progress <= 2 * 10 && long.remove <= 2 * 10 && long.next <= 1000 * (10 + 60), "{long:?}");
}
