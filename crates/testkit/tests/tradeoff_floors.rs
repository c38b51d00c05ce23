//! `tradeoff` with guarantees by flow: the decisions of the direct implementation on adversarial input, what comes to
//! the same without such guarantees, and the shares.

use dovetail_sched::newcomers::Newcomers;
use dovetail_sched::spec::SpecError;
use dovetail_sched::tradeoff::{DEFAULT_TOLERANCE, Tradeoff, TradeoffOfMany};
use dovetail_sched::{
    FlowConfig, FlowId, Next, Packet, PerFlow, Progress, Refused, Scheduler, Shape, Stats, Ticket, UnknownFlow,
};
use dovetail_testkit::direct::DirectTradeoff;
use dovetail_testkit::operation::{MAX_RESOURCES, Operation};
use dovetail_testkit::random::Random;
use dovetail_testkit::twins::Twins;
use dovetail_units::{Part, Time};

const ALPHAS: &[&str] = &["0.85", "1", "0.5", "0", "0.99", "0.1", "2"];

/// An alpha for every flow and change, mostly at the ends or next to them.
fn extreme(config: FlowConfig<MAX_RESOURCES>, random: u8) -> FlowConfig<MAX_RESOURCES> {
    let alpha = [None, Some(0), Some(1), Some(2), Some(500), Some(998), Some(999), Some(1000)][usize::from(random % 8)];
    FlowConfig { alpha: alpha.and_then(Part::from_milli), ..config }
}

/// So many operations of which every eighth changes an alpha, under random alphas of all.
fn search<const M: usize, A, B>(seeds: std::ops::Range<u64>, twins: impl Fn(f64, f64) -> (A, B))
where
    A: Scheduler<M, u32>,
    B: Scheduler<M, u32>,
{
    for seed in seeds {
        let mut random = Random::new(seed);
        let alpha = [0.0, 1.0, random.below(1001) as f64 / 1000.0][random.below(3) as usize];
        let tolerance = [0.0, DEFAULT_TOLERANCE, 0.5][random.below(3) as usize];
        let (subject, oracle) = twins(alpha, tolerance);
        let mut both = Twins::new(subject, oracle, ("alpha", ALPHAS));
        both.flows_at_most = 14 - 2 * M;
        let bytes: Vec<u8> = random.by_ref().take(1600).collect();
        let mut bytes = bytes.into_iter();
        let mut count = 0;
        while let Some(operation) = Operation::read(&mut bytes) {
            let operation = match operation {
                Operation::AddFlow(config) => Operation::AddFlow(extreme(config, random.below(256) as u8)),
                Operation::SetFlow(flow, config) => Operation::SetFlow(flow, extreme(config, random.below(256) as u8)),
                // Changes are rare there.
                Operation::Wait(span) if random.below(2) == 0 => {
                    let config = extreme(FlowConfig::default(), random.below(256) as u8);
                    both.apply(Operation::Wait(span)).unwrap();
                    Operation::SetFlow(random.below(256) as u8, config)
                }
                other => other,
            };
            let result = both.apply(operation);
            assert_eq!(result, Ok(()), "seed {seed}, operation {count}, {operation:?}, alpha {alpha}, {tolerance}");
            count += 1;
        }
    }
}

#[test]
fn decides_as_the_direct_implementation() {
    search::<2, _, _>(0..600, |alpha, tolerance| {
        let subject = Tradeoff::with_tolerance(alpha, tolerance).unwrap().newcomers(Newcomers::Free);
        (PerFlow::new(subject), DirectTradeoff::with_tolerance(alpha, tolerance))
    });
}

fn of_many<const M: usize>(alpha: f64, tolerance: f64) -> PerFlow<M, u32, TradeoffOfMany<M>> {
    let subject = TradeoffOfMany::with(alpha, tolerance, Shape { servers: M as u32 }).unwrap();
    PerFlow::new(subject.newcomers(Newcomers::Free))
}

#[test]
fn decides_as_the_direct_implementation_of_three_and_four_resources() {
    search::<3, _, _>(0..250, |alpha, tolerance| {
        (of_many(alpha, tolerance), DirectTradeoff::with_tolerance(alpha, tolerance))
    });
    // A pause in which more packets end than a call handles.
    search::<3, _, _>(13_664..13_665, |alpha, tolerance| {
        (of_many(alpha, tolerance), DirectTradeoff::with_tolerance(alpha, tolerance))
    });
    search::<4, _, _>(0..60, |alpha, tolerance| {
        (of_many(alpha, tolerance), DirectTradeoff::with_tolerance(alpha, tolerance))
    });
}

#[test]
#[ignore = "minutes; `make search` runs it"]
fn decides_as_the_direct_implementation_in_100_000_searches() {
    search::<2, _, _>(1_000..71_000, |alpha, tolerance| {
        let subject = Tradeoff::with_tolerance(alpha, tolerance).unwrap().newcomers(Newcomers::Free);
        (PerFlow::new(subject), DirectTradeoff::with_tolerance(alpha, tolerance))
    });
    search::<3, _, _>(1_000..31_000, |alpha, tolerance| {
        (of_many(alpha, tolerance), DirectTradeoff::with_tolerance(alpha, tolerance))
    });
}

/// The ends are the same for one flow as for all, to the last bit: a flow of alpha 1 under any alpha stands as under
/// `alpha=1`, one of 0 as under `alpha=0`. (But for a removed flow that was the last one: what is left of a tick is
/// forgotten at once there, and here with the next event.)
#[test]
fn an_alpha_of_one_or_none_for_each_flow_is_that_for_all() {
    for (part, alpha) in [(Part::WHOLE, 1.0), (Part::NONE, 0.0)] {
        for seed in 0..150 {
            let mut random = Random::new(seed);
            let other = random.below(1001) as f64 / 1000.0;
            let subject = PerFlow::new(Tradeoff::new(other).unwrap());
            let oracle = PerFlow::new(Tradeoff::new(alpha).unwrap());
            let mut both = Twins::new(With(subject, Some(part)), With(oracle, None), ("tolerance", &["1"]));
            both.tame = match part {
                Part::NONE => |operation| match operation {
                    Operation::RemoveFlow(_) => Operation::Wait(0),
                    other => other,
                },
                _ => |operation| operation,
            };
            let bytes: Vec<u8> = random.take(3000).collect();
            assert_eq!(both.run(&mut bytes.into_iter()), Ok(()), "seed {seed}, {part}");
        }
    }
}

/// A scheduler that gives every flow this alpha.
struct With<S>(S, Option<Part>);

impl<const M: usize, S: Scheduler<M, u32>> Scheduler<M, u32> for With<S> {
    fn add_flow(&mut self, config: FlowConfig<M>) -> FlowId {
        self.0.add_flow(FlowConfig { alpha: self.1, ..config })
    }

    fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<M>) -> Result<(), UnknownFlow> {
        self.0.set_flow(now, flow, FlowConfig { alpha: self.1, ..config })
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(u32)) -> Result<(), UnknownFlow> {
        self.0.remove_flow(now, flow, dropped)
    }

    fn enqueue(&mut self, now: Time, packet: Packet<M, u32>) -> Result<(), Refused<u32>> {
        self.0.enqueue(now, packet)
    }

    fn next(&mut self, now: Time) -> Next<M, u32> {
        self.0.next(now)
    }

    fn progress(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress) {
        self.0.progress(now, ticket, resource, event);
    }

    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        self.0.set(now, parameter, value)
    }

    fn stats(&self) -> Stats {
        self.0.stats()
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.0.queued(flow)
    }
}
