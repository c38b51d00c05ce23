//! No call of `tradeoff` takes long, and its fluid catches up. One test, alone in its program: steps are counted for
//! the whole of it.

use dovetail_sched::tradeoff::{EVENTS_PER_CALL, Tradeoff};
use dovetail_sched::{FlowConfig, FlowId, Next, Packet, PerFlow, Scheduler, steps};
use dovetail_units::{Duration, ResourceVec, Time, Weight};

const FLOWS: usize = 30_000;
/// An event moves a flow in the heap of finishes up to three times and in four of places; a place that is not up to
/// date moves once more; each through the heap's height, with a step for each level and one at the end.
const HEIGHT: usize = 9;
const STEPS: u64 = ((EVENTS_PER_CALL * (3 + 4) + 48) * (HEIGHT + 1)) as u64;

struct Own {
    scheduler: PerFlow<2, usize, Tradeoff>,
    flows: Vec<FlowId>,
    now: u64,
    /// Of any call, since it was last asked for.
    longest: u64,
    /// How often nothing was handed out because the fluid lagged.
    put_off: usize,
}

impl Own {
    fn new() -> Self {
        let mut scheduler = PerFlow::new(Tradeoff::new(0.85).unwrap());
        let flows = (0..FLOWS).map(|_| scheduler.add_flow(FlowConfig::default())).collect();
        Self { scheduler, flows, now: 0, longest: 0, put_off: 0 }
    }

    fn call<R>(&mut self, call: impl FnOnce(&mut PerFlow<2, usize, Tradeoff>, Time) -> R) -> R {
        let before = steps::taken();
        let result = call(&mut self.scheduler, Time::from_nanos(self.now));
        self.longest = self.longest.max(steps::taken() - before);
        result
    }

    fn send(&mut self, k: usize) {
        let flow = self.flows[k];
        let cost = ResourceVec::from_nanos([1_000 + k as u64 % 977, 1_000 + k as u64 % 1009]);
        self.call(|s, now| s.enqueue(now, Packet { flow, size: 1, cost, payload: k })).unwrap();
    }

    fn serve(&mut self) -> Option<usize> {
        loop {
            match self.call(|s, now| s.next(now)) {
                Next::Serve(served) => {
                    self.now += served.ticket.charged()[0].as_nanos();
                    return Some(served.payload);
                }
                Next::At(time) => {
                    let lags = self.lag() > Duration::ZERO;
                    assert!(!lags || time.as_nanos() == self.now + 1, "waits for what is only not worked out yet");
                    self.put_off += usize::from(lags);
                    self.now = time.as_nanos();
                }
                Next::Empty => return None,
                other => panic!("nothing is late: {other:?}"),
            }
        }
    }

    /// Long after everything else each flow has a packet, all of which start and are handed out at once.
    fn hand_all_out(&mut self) {
        self.now += 10 * FLOWS as u64 * 2_000;
        (0..FLOWS).for_each(|k| self.send(k));
        while let Next::Serve(_) = self.call(|s, now| s.next(now)) {}
        assert_eq!(self.scheduler.stats().queued, 0);
    }

    fn lag(&self) -> Duration {
        self.scheduler.discipline().lag()
    }

    #[track_caller]
    fn was_short(&mut self, what: &str) {
        println!("{what}: at most {} steps of {STEPS}", self.longest);
        assert!(self.longest > 0 && self.longest <= STEPS, "{what}: {} steps", self.longest);
        self.longest = 0;
    }
}

#[test]
fn no_call_is_long() {
    let mut own = Own::new();
    (0..FLOWS).for_each(|k| own.send(k));
    own.was_short("a burst");
    for _ in 0..20_000 {
        let k = own.serve().unwrap();
        own.send(k);
    }
    own.was_short("all backlogged");
    // All are handed out, and nobody calls while the fluid would have half of them: it catches up by so many ends a
    // call.
    while own.serve().is_some() {}
    own.was_short("all idle at once");
    own.hand_all_out();
    own.now += FLOWS as u64 * 1_500 / 2;
    own.send(0);
    let lag = own.lag();
    assert!(lag > Duration::ZERO);
    let mut calls = 1;
    while own.lag() > Duration::ZERO {
        assert!(own.lag() <= lag, "no more is left to later calls");
        own.send(0);
        calls += 1;
    }
    // Every end is one event and every instant at which some end another, of one head of each flow and the packets that
    // came.
    let events = 2 * (FLOWS + calls);
    assert!(calls > 10 && calls <= events / EVENTS_PER_CALL + 1, "{calls} calls");
    own.was_short("back after a pause");

    // While it lags, what waits is handed out: at once if it has started, and after a nanosecond for so many events
    // otherwise.
    while own.serve().is_some() {}
    own.hand_all_out();
    own.now += FLOWS as u64 * 1_500 / 2;
    (0..3).for_each(|_| own.send(7));
    for k in 0..3 {
        assert_eq!(own.serve(), Some(7), "{k}");
    }
    assert!(own.put_off > 10 && own.put_off <= 2 * FLOWS / EVENTS_PER_CALL, "put off {} times", own.put_off);
    own.was_short("service after a pause");

    // After long enough the fluid is surely empty, and nothing is left to catch up with.
    own.hand_all_out();
    own.now += 10 * FLOWS as u64 * 2_000;
    own.send(0);
    assert_eq!(own.lag(), Duration::ZERO);
    own.was_short("back after long");

    (0..FLOWS).for_each(|k| own.send(k));
    own.longest = 0;
    for (k, alpha) in ["0", "0.5", "0", "1", "0.85", "0", "0.85"].into_iter().enumerate() {
        own.call(|s, now| s.set(now, "alpha", alpha)).unwrap();
        (0..k * 700).for_each(|_| _ = own.serve());
    }
    own.was_short("alpha changed");
    while own.serve().is_some() {}

    (0..FLOWS).for_each(|k| own.send(k));
    own.longest = 0;
    for k in 0..FLOWS {
        let (flow, weight) = (own.flows[k], Weight::from_milli(1 + 37 * k as u32).unwrap());
        own.call(|s, now| s.set_flow(now, flow, FlowConfig { weight, ..FlowConfig::default() })).unwrap();
    }
    own.was_short("weights changed");
    for k in 0..FLOWS - 1 {
        let flow = own.flows[k];
        own.call(|s, now| s.remove_flow(now, flow, &mut |_| ())).unwrap();
    }
    assert!(own.serve().is_some());
    own.was_short("mass removal");
    for k in 0..FLOWS - 1 {
        own.flows[k] = own.call(|s, _| s.add_flow(FlowConfig::default()));
        own.send(k);
        if k % 3 == 0 {
            own.serve();
        }
    }
    own.was_short("bursts of fresh flows");
}
