//! Random runs under every discipline: every packet is accounted for, and the standard recorder agrees with what
//! follows naively from the packets' recorded ways.

use crate::common::{Given, at, listed, ns, pipeline, record_all};
use dovetail_sched::{Shape, build_all, catalog};
use dovetail_sim::record::{PacketOutcome, PacketRecord};
use dovetail_sim::{Buffer, Options, Pipeline, RunResult, Workload};
use dovetail_units::{Duration, Weight};
use proptest::prelude::*;

const FLOWS: usize = 4;

const COMPOSITIONS: [&str; 8] = [
    "drr+drr",
    "wfq+wfq:buffer=1",
    "wf2q++scfq:buffer=2",
    "fifo+sfq:buffer=3",
    "sfq+sfq:buffer=none",
    "sfq+sfq:full=hold,buffer=1",
    "wfq+drr:full=hold,buffer=2",
    "drr+wf2q+:full=hold",
];

/// Every discipline, and compositions.
fn schedulers() -> Vec<&'static str> {
    catalog().iter().map(|entry| entry.name).chain(COMPOSITIONS).collect()
}

#[derive(Clone, Debug)]
struct Scenario {
    scheduler: &'static str,
    packets: Vec<Given<2>>,
    weights: Vec<u32>,
    limit: Option<u32>,
    buffer: Buffer,
    servers: [u32; 2],
    horizon: Option<u64>,
    interval: u64,
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let packet = (prop_oneof![Just(0u64), 0..30u64], 0..FLOWS as u32, [0..20u64, 0..20u64]);
    let packets = proptest::collection::vec(packet, 1..80).prop_map(|drawn| {
        let mut now = 0;
        drawn
            .into_iter()
            .map(|(gap, flow, cost)| {
                now += gap;
                (now, flow, cost)
            })
            .collect()
    });
    let buffer = prop_oneof![
        Just(Buffer::Unlimited),
        (0..4u32).prop_map(Buffer::Blocking),
        (0..4u32).prop_map(Buffer::Dropping),
        Just(Buffer::NoWait)
    ];
    let weights = proptest::collection::vec(prop_oneof![Just(1000), 1..5000u32], FLOWS);
    let limit = proptest::option::of(1..5u32);
    let horizon = proptest::option::of(0..500u64);
    (proptest::sample::select(schedulers()), packets, weights, limit, buffer, [1..4u32, 1..4u32], horizon, 1..40u64)
        .prop_map(|(scheduler, packets, weights, limit, buffer, servers, horizon, interval)| Scenario {
            scheduler,
            packets,
            weights,
            limit,
            buffer,
            servers: if buffer == Buffer::NoWait { [1, 1] } else { servers },
            horizon,
            interval,
        })
}

impl Scenario {
    fn workload(&self) -> Workload<2> {
        let mut workload = listed(&self.packets);
        for (flow, &milli) in workload.flows.iter_mut().zip(&self.weights) {
            flow.weight = Weight::from_milli(milli).unwrap();
            flow.limit.packets = self.limit;
        }
        workload
    }

    fn pipeline(&self) -> Pipeline<2> {
        let mut pipeline = pipeline();
        for (resource, &servers) in pipeline.resources.iter_mut().zip(&self.servers) {
            resource.servers = servers;
        }
        pipeline.resources[1].buffer = self.buffer;
        pipeline
    }

    fn run(&self) -> (RunResult<2>, Vec<PacketRecord<2>>) {
        let spec = self.scheduler.parse().unwrap();
        let mut schedulers = build_all(&spec, Shape { servers: self.servers.iter().sum() }).unwrap();
        let options = Options { horizon: self.horizon.map(at), ..Options::default() };
        record_all(&self.workload(), &self.pipeline(), &mut schedulers, ns(self.interval), options)
    }
}

/// A run as half-open spans of nanoseconds, from the packets' records.
struct Naive<'a> {
    scenario: &'a Scenario,
    log: &'a [PacketRecord<2>],
    end: u64,
}

/// Length of the overlap of two spans.
fn overlap(a: (u64, u64), b: (u64, u64)) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

/// Length within `window` of the union of spans.
fn covered(mut spans: Vec<(u64, u64)>, window: (u64, u64)) -> u64 {
    spans.sort_unstable();
    let (mut total, mut from) = (0, window.0);
    for span in spans {
        total += overlap(span, (from, window.1));
        from = from.max(span.1);
    }
    total
}

impl Naive<'_> {
    /// From arrival to leaving the system; `None` if refused.
    fn presence(&self, packet: &PacketRecord<2>) -> Option<(u64, u64)> {
        let leaves = match packet.outcome {
            PacketOutcome::Refused(_) => return None,
            PacketOutcome::Delivered => packet.finished[1].unwrap().as_nanos(),
            PacketOutcome::Dropped(_) => packet.finished[0].unwrap().as_nanos(),
            PacketOutcome::Unfinished => self.end,
        };
        Some((packet.packet.arrival.as_nanos(), leaves))
    }

    fn presences(&self, flow: Option<u32>) -> Vec<(u64, u64)> {
        let wanted = |p: &&PacketRecord<2>| flow.is_none_or(|f| f == p.packet.flow);
        self.log.iter().filter(wanted).filter_map(|p| self.presence(p)).collect()
    }

    fn service(&self, packet: &PacketRecord<2>, r: usize, window: (u64, u64)) -> u64 {
        let Some(start) = packet.started[r] else { return 0 };
        let end = packet.finished[r].map_or(self.end, |t| t.as_nanos());
        overlap((start.as_nanos(), end), window)
    }

    fn busy(&self, r: usize, window: (u64, u64)) -> u64 {
        self.log.iter().map(|p| self.service(p, r, window)).sum()
    }

    /// Times divided by the number of servers, as the recorder and the scheduler see them.
    fn shared(&self, packet: &PacketRecord<2>) -> [u64; 2] {
        std::array::from_fn(|r| packet.packet.cost[r].divided_by(self.scenario.servers[r].into()).as_nanos())
    }

    fn dominant_service(&self, flow: u32, window: (u64, u64)) -> f64 {
        let of_flow = self.log.iter().filter(|p| p.packet.flow == flow);
        of_flow
            .map(|p| {
                let [first, second] = self.shared(p);
                let r = usize::from(second > first);
                self.service(p, r, window) as f64 / f64::from(self.scenario.servers[r]) / 1e9
            })
            .sum()
    }

    /// The head packet of a backlogged flow at an instant: the last that was started since the flow has been
    /// backlogged, else the first that waits.
    fn head(&self, flow: u32, now: u64) -> Option<&PacketRecord<2>> {
        let of_flow = || self.log.iter().filter(|p| p.packet.flow == flow);
        let present = |p: &&PacketRecord<2>| self.presence(p).is_some_and(|(from, to)| from <= now && now < to);
        let first = of_flow().find(present)?;
        let started = of_flow().rfind(|p| p.started[0].is_some_and(|t| t.as_nanos() <= now));
        // When it leaves, and whether that is after the arrivals of the same instant: so if it was only then served at
        // all.
        let leaves = |p: &PacketRecord<2>| {
            self.presence(p).map(|(_, to)| (to, p.started[0].is_some_and(|t| t.as_nanos() == to)))
        };
        let since_then = |p: &&PacketRecord<2>| {
            let mut until = leaves(p).unwrap_or_default();
            let joins = |p: &PacketRecord<2>, until: (u64, bool)| {
                self.presence(p).is_some_and(|(from, _)| from < until.0 || (from == until.0 && until.1))
            };
            while let Some(later) =
                of_flow().filter(|p| joins(p, until)).filter_map(leaves).filter(|&l| l > until).max()
            {
                until = later;
            }
            until.0 > now
        };
        started.filter(since_then).or(Some(first))
    }

    /// Integral of the fair share in seconds, one nanosecond after the other.
    fn fair(&self, window: (u64, u64)) -> f64 {
        let share = |now| {
            let mut sums = [0.0; 2];
            for flow in 0..FLOWS as u32 {
                let Some(head) = self.head(flow, now) else { continue };
                let cost = self.shared(head);
                let most = cost[0].max(cost[1]);
                for r in (0..2).filter(|_| most > 0) {
                    sums[r] += f64::from(self.scenario.weights[flow as usize]) / 1e3 * cost[r] as f64 / most as f64;
                }
            }
            let most = sums[0].max(sums[1]);
            if most > 0.0 { 1.0 / most } else { 0.0 }
        };
        (window.0..window.1).map(|now| share(now) / 1e9).sum()
    }
}

/// Sums of at most some hundred terms, and profiles rounded down by 2^-31 over weights as small as 0.001 of the rest.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}

fn everything_is_accounted_for(result: &RunResult<2>, log: &[PacketRecord<2>]) -> Result<(), TestCaseError> {
    let t = result.outcome.tally;
    prop_assert_eq!(t.offered, log.len() as u64);
    prop_assert_eq!(t.offered, t.refused + t.delivered + t.dropped + t.waiting + t.in_pipeline);
    for (index, flow) in result.flows.iter().enumerate() {
        let count = |wanted: fn(&PacketOutcome) -> bool| {
            log.iter().filter(|p| p.packet.flow as usize == index && wanted(&p.outcome)).count() as u64
        };
        prop_assert_eq!(flow.offered, count(|_| true));
        prop_assert_eq!(flow.delivered, count(|o| matches!(o, PacketOutcome::Delivered)));
        prop_assert_eq!(flow.losses().refused.iter().sum::<u64>(), count(|o| matches!(o, PacketOutcome::Refused(_))));
        prop_assert_eq!(flow.losses().dropped, count(|o| matches!(o, PacketOutcome::Dropped(_))));
        prop_assert_eq!(u64::from(flow.unfinished), count(|o| matches!(o, PacketOutcome::Unfinished)));
    }
    Ok(())
}

fn totals_agree(result: &RunResult<2>, naive: &Naive) -> Result<(), TestCaseError> {
    let always = (0, u64::MAX);
    let nonempty = covered(naive.presences(None), always);
    prop_assert_eq!(result.nonempty.as_nanos(), nonempty);
    for r in 0..2 {
        prop_assert_eq!(result.resources[r].busy.as_nanos(), naive.busy(r, always));
    }
    for (index, flow) in (0..).zip(&result.flows) {
        prop_assert_eq!(flow.backlogged.as_nanos(), covered(naive.presences(Some(index)), always));
        prop_assert!(close(flow.dominant_service, naive.dominant_service(index, always)));
        let delivered = naive.log.iter().filter(|p| p.packet.flow == index && p.outcome == PacketOutcome::Delivered);
        let mut latencies: Vec<u64> =
            delivered.map(|p| p.finished[1].unwrap().since(p.packet.arrival).as_nanos()).collect();
        latencies.sort_unstable();
        prop_assert_eq!(result.latencies.of_flow(index as usize).iter().collect::<Vec<_>>(), latencies);
    }
    Ok(())
}

fn series_agrees(result: &RunResult<2>, naive: &Naive) -> Result<(), TestCaseError> {
    let interval = naive.scenario.interval;
    let mut nonempty = 0;
    for (row, shares) in result.series.iter() {
        let window = (row.index * interval, row.index * interval + row.length.as_nanos());
        prop_assert!(window.1 == (row.index + 1) * interval || window.1 == naive.end);
        let here = covered(naive.presences(None), window);
        nonempty += here;
        prop_assert_eq!(row.nonempty.as_nanos(), here);
        prop_assert_eq!(row.busy.map(Duration::as_nanos), [naive.busy(0, window), naive.busy(1, window)]);
        prop_assert!(close(row.fair, naive.fair(window)), "{} is not {} in {:?}", row.fair, naive.fair(window), window);
        for flow in 0..FLOWS as u32 {
            let recorded = shares.iter().find(|s| s.flow == flow);
            let service = naive.dominant_service(flow, window);
            prop_assert!(close(recorded.map_or(0.0, |s| s.service), service));
            let full = window.1 - window.0 == interval;
            let throughout = full && covered(naive.presences(Some(flow)), window) == interval;
            prop_assert_eq!(recorded.is_some_and(|s| s.backlogged), throughout);
        }
    }
    // No interval is missing.
    prop_assert_eq!(nonempty, result.nonempty.as_nanos());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn books_and_series_are_what_the_packets_say(scenario in scenario()) {
        let (result, log) = scenario.run();
        let naive = Naive { scenario: &scenario, log: &log, end: result.outcome.tally.now.as_nanos() };
        everything_is_accounted_for(&result, &log)?;
        totals_agree(&result, &naive)?;
        series_agrees(&result, &naive)?;
    }

    #[test]
    fn a_run_repeats_exactly(scenario in scenario()) {
        prop_assert_eq!(scenario.run(), scenario.run());
    }

    #[test]
    fn packets_of_a_flow_keep_their_order_on_single_servers(scenario in scenario()) {
        let (_, log) = Scenario { servers: [1, 1], ..scenario }.run();
        for flow in 0..FLOWS as u32 {
            let ends: Vec<_> = log.iter().filter(|p| p.packet.flow == flow).filter_map(|p| p.finished[1]).collect();
            prop_assert!(ends.is_sorted());
        }
    }
}
