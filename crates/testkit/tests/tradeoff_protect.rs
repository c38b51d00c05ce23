//! `tradeoff` with a protected class: the decisions of the direct implementation on adversarial input, while alpha
//! adjusts itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dovetail_sched::newcomers::Newcomers;
use dovetail_sched::spec::SpecError;
use dovetail_sched::tradeoff::{DEFAULT_TOLERANCE, Protect, Tradeoff, TradeoffOfMany};
use dovetail_sched::{
    FlowConfig, FlowId, Next, Packet, PerFlow, Progress, Refused, Scheduler, Shape, Stats, Ticket, UnknownFlow,
};
use dovetail_testkit::direct::DirectTradeoff;
use dovetail_testkit::random::Random;
use dovetail_testkit::twins::Twins;
use dovetail_units::{Duration, Time};

/// Alpha, as bits, and how often it has turned.
#[derive(Clone, Default)]
struct Shared(Arc<AtomicU64>, Arc<AtomicU64>);

/// The scheduler under test, which is told of late packets in spells: so its alpha goes down and up.
struct Told<S>(S, Shared, u64);

/// The direct one, whose alpha turns when the other's has.
struct Follows<const M: usize>(DirectTradeoff<M, u32>, Shared, u64);

impl<S> Told<S> {
    fn share<const M: usize>(&self)
    where
        S: Scheduler<M, u32>,
    {
        let alpha = self.0.steering().map_or(1.0, |now| now.alpha).to_bits();
        if self.1.0.swap(alpha, Ordering::Relaxed) != alpha {
            self.1.1.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<const M: usize> Follows<M> {
    fn follow(&mut self) -> &mut DirectTradeoff<M, u32> {
        let alpha = self.1.0.load(Ordering::Relaxed);
        if alpha != self.2 {
            self.2 = alpha;
            self.0.turn_to(f64::from_bits(alpha));
        }
        &mut self.0
    }
}

/// What either does around a call.
trait On<const M: usize>: Send {
    fn on<T>(&mut self, call: impl FnOnce(&mut dyn Scheduler<M, u32>) -> T) -> T;
    fn at(&self) -> &dyn Scheduler<M, u32>;
    /// A packet may have left.
    fn leaves(&mut self, _now: Time, _flow: FlowId) {}
}

impl<const M: usize, S: Scheduler<M, u32>> On<M> for Told<S> {
    fn on<T>(&mut self, call: impl FnOnce(&mut dyn Scheduler<M, u32>) -> T) -> T {
        let answer = call(&mut self.0);
        self.share();
        answer
    }

    fn at(&self) -> &dyn Scheduler<M, u32> {
        &self.0
    }

    fn leaves(&mut self, now: Time, flow: FlowId) {
        self.2 += 1;
        // Late in spells of a hundred.
        let is_late = (self.2 / 100).is_multiple_of(2);
        self.0.left(now, flow, Duration::from_nanos(if is_late { 2 } else { 1 }));
    }
}

impl<const M: usize> On<M> for Follows<M> {
    fn on<T>(&mut self, call: impl FnOnce(&mut dyn Scheduler<M, u32>) -> T) -> T {
        call(self.follow())
    }

    fn at(&self) -> &dyn Scheduler<M, u32> {
        &self.0
    }
}

/// As the one inside, seen from outside.
struct Seen<T>(T);

impl<const M: usize, T: On<M>> Scheduler<M, u32> for Seen<T> {
    fn add_flow(&mut self, config: FlowConfig<M>) -> FlowId {
        self.0.on(|inner| inner.add_flow(config))
    }

    fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<M>) -> Result<(), UnknownFlow> {
        self.0.on(|inner| inner.set_flow(now, flow, config))
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(u32)) -> Result<(), UnknownFlow> {
        self.0.on(|inner| inner.remove_flow(now, flow, dropped))
    }

    fn enqueue(&mut self, now: Time, packet: Packet<M, u32>) -> Result<(), Refused<u32>> {
        self.0.on(|inner| inner.enqueue(now, packet))
    }

    fn next(&mut self, now: Time) -> Next<M, u32> {
        self.0.on(|inner| inner.next(now))
    }

    fn progress(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress) {
        self.0.leaves(now, ticket.flow());
        self.0.on(|inner| inner.progress(now, ticket, resource, event));
    }

    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        self.0.on(|inner| inner.set(now, parameter, value))
    }

    fn stats(&self) -> Stats {
        self.0.at().stats()
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.0.at().queued(flow)
    }
}

/// So many operations under one least alpha, which packets of class 1 being late brings down to.
fn search<const M: usize, S: Scheduler<M, u32>>(seeds: std::ops::Range<u64>, subject: impl Fn(f64, f64) -> S) -> u64 {
    let mut turns = 0;
    for seed in seeds {
        let mut random = Random::new(seed);
        let least = [0.0, 0.001, 0.5, random.below(1001) as f64 / 1000.0][random.below(4) as usize];
        let tolerance = [0.0, DEFAULT_TOLERANCE, 0.5][random.below(3) as usize];
        let shared = Shared::default();
        shared.0.store(1_f64.to_bits(), Ordering::Relaxed);
        let one = Told(subject(least, tolerance), shared.clone(), 0);
        let other = DirectTradeoff::with_tolerance(1.0, tolerance).protecting(1);
        let other = Follows(other, shared.clone(), 1_f64.to_bits());
        let mut both = Twins::new(Seen(one), Seen(other), ("tolerance", &["1"]));
        both.flows_at_most = 14 - 2 * M;
        let bytes: Vec<u8> = random.take(4000).collect();
        assert_eq!(both.run(&mut bytes.into_iter()), Ok(()), "seed {seed}, at least {least}, tolerance {tolerance}");
        turns += shared.1.load(Ordering::Relaxed);
    }
    turns
}

const PROTECT: Protect = Protect { class: 1, p99: Duration::from_nanos(1) };

fn of_two(least: f64, tolerance: f64) -> PerFlow<2, u32, Tradeoff> {
    let subject = Tradeoff::with_tolerance(least, tolerance).unwrap();
    PerFlow::new(subject.newcomers(Newcomers::Free).protect(PROTECT))
}

fn of_many<const M: usize>(least: f64, tolerance: f64) -> PerFlow<M, u32, TradeoffOfMany<M>> {
    let subject = TradeoffOfMany::with(least, tolerance, Shape { servers: M as u32 }).unwrap();
    PerFlow::new(subject.newcomers(Newcomers::Free).protect(PROTECT))
}

#[test]
fn decides_as_the_direct_implementation_while_alpha_turns_itself() {
    let turns = [search(0..400, of_two), search(0..150, of_many::<3>), search(0..40, of_many::<4>)];
    println!("{turns:?} turns");
    assert!(turns.iter().all(|&turns| turns >= 40), "alpha turns: {turns:?}");
}
