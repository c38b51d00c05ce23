//! The standard recorder.

use dovetail_sched::DropReason;
use dovetail_sched::cost::PredictionError;
use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::costs::shared;
use crate::engine::Outcome;
use crate::pipeline::Pipeline;
use crate::record::fair_share::{FairShare, profile};
use crate::record::freed::Freed;
use crate::record::gini::Gps;
use crate::record::latency::LatencySamples;
use crate::record::result::{FlowResult, Losses, Rare, ResourceResult, RunResult};
use crate::record::series::{IntervalRow, Series, ShareRow};
use crate::recorder::{Recorder, SimPacket};
use crate::workload::{Estimate, Flow, Workload};

/// What the standard recorder keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MetricsOptions {
    /// The length of an interval of the series; zero counts as 1 ns.
    pub interval: Duration,
    /// Most rows of [`Series::intervals`], and of [`Series::shares`] were all kept, so that a run of absurd length ends
    /// without filling the memory.
    pub rows: usize,
    /// Keep also the rows of flows that were not backlogged throughout an interval. Without, [`Series::shares`] has
    /// what [`RunResult::fairness`] and [`RunResult::shortfall`] look at.
    pub all_shares: bool,
    /// Compare services with those of an ideal fluid in [`IntervalRow::gini`]: O(log flows) more per packet, O(flows
    /// log flows) per interval.
    pub gini: bool,
}

impl Default for MetricsOptions {
    /// One second, ten million rows, all shares kept, no fluid.
    fn default() -> Self {
        Self { interval: Duration::from_secs(1), rows: 10_000_000, all_shares: true, gini: false }
    }
}

/// The standard recorder: books per flow and resource, latencies, service and fair share per interval.
///
/// Memory: a latency takes 8 bytes per delivered packet (12 while it finishes), up to
/// [`MOST_EXACT`](super::MOST_EXACT) packets. More packets take no more memory, but in a run of very many flows: then
/// up to [`MOST_OF_A_FLOW`](super::MOST_OF_A_FLOW) packets of each. Besides, there is a row per interval and flow with
/// packets in the system; without [`all_shares`](MetricsOptions::all_shares), of flows backlogged throughout only.
#[derive(Clone, Debug)]
pub struct Metrics<const M: usize> {
    options: MetricsOptions,
    servers: [u32; M],
    names: [String; M],
    flows: Vec<FlowBooks<M>>,
    counts: Counts<M>,
    in_service: [Vec<Option<InService>>; M],
    busy: [Duration; M],
    /// Packets in the system, and the time during which there were any, counted up to `nonempty_since`.
    in_system: u64,
    nonempty_since: Time,
    nonempty: Duration,
    fair: FairShare<M>,
    gps: Option<Gps<M>>,
    latencies: LatencySamples,
    current: Current<M>,
    series: Series<M>,
    /// Rows that [`Series::shares`] would have, were all kept.
    rows: usize,
}

#[derive(Clone, Debug)]
struct FlowBooks<const M: usize> {
    weight: Weight,
    in_system: u32,
    /// Its place in [`Current::active`]; [`INACTIVE`] without one.
    place: u32,
    admitted: u64,
    bytes_offered: u64,
    bytes_delivered: u64,
    service: [Duration; M],
    /// Of the service, that on the packet's dominant resource.
    dominant: [Duration; M],
    /// Sum of the (normalised) dominant times of admitted packets, by weight.
    demand: Duration,
    /// Boxed, as few flows have any.
    rare: Option<Box<Rare<M>>>,
    /// When its first packet came of those in the system; without one, when its last packet left, and [`Time::MAX`]
    /// before the first.
    since: Time,
    /// As `since`, but an interruption of no length does not count.
    whole_since: Time,
    backlogged: Duration,
}

/// The place of a flow that is not active.
const INACTIVE: u32 = u32::MAX;

/// A flow that has had packets in the system during the interval under way.
#[derive(Clone, Copy, Debug)]
struct Active {
    flow: u32,
    /// Nanoseconds of (normalised) dominant service in the interval, by weight.
    service: f64,
    /// The same on all resources together.
    total: f64,
}

/// A packet on a server.
#[derive(Clone, Copy, Debug)]
struct InService {
    flow: u32,
    since: Time,
    dominant: bool,
}

/// The interval under way.
#[derive(Clone, Debug)]
struct Current<const M: usize> {
    index: u64,
    start: Time,
    end: Time,
    busy: [Duration; M],
    nonempty: Duration,
    active: Vec<Active>,
}

impl<const M: usize> Metrics<M> {
    /// A recorder for runs of this workload through this pipeline.
    pub fn new(workload: &Workload<M>, pipeline: &Pipeline<M>, options: MetricsOptions) -> Self {
        let interval = options.interval.max(Duration::from_nanos(1));
        let options = MetricsOptions { interval, ..options };
        Self {
            options,
            servers: pipeline.servers(),
            names: std::array::from_fn(|r| pipeline.resources[r].name.clone()),
            flows: workload.flows.iter().map(FlowBooks::new).collect(),
            counts: Counts::new(&workload.flows),
            in_service: std::array::from_fn(|r| vec![None; pipeline.resources[r].servers as usize]),
            busy: [Duration::ZERO; M],
            in_system: 0,
            nonempty_since: Time::ZERO,
            nonempty: Duration::ZERO,
            fair: FairShare::new(workload.flows.len()),
            gps: options.gini.then(|| Gps::new(workload.flows.iter().map(|flow| flow.weights()))),
            latencies: LatencySamples::new(workload.flows.len()),
            current: Current::at(Time::ZERO, interval, Vec::new()),
            series: Series::new(interval),
            rows: 0,
        }
    }

    /// The results of the run that was recorded and had this outcome.
    pub fn finish(self, outcome: Outcome) -> RunResult<M> {
        let mut flows = Vec::with_capacity(self.flows.len());
        for flow in Freed::new(self.flows) {
            flows.push(flow.result(&self.servers));
        }
        flows.reverse();
        let mut names = self.names.into_iter();
        let resources = std::array::from_fn(|r| ResourceResult {
            name: names.next().unwrap_or_default(),
            servers: self.servers[r],
            busy: self.busy[r],
            utilization: ratio(self.busy[r], self.nonempty, self.servers[r]),
        });
        RunResult {
            outcome,
            resources,
            nonempty: self.nonempty,
            flows,
            series: self.series,
            latencies: self.latencies.into_latencies(),
        }
    }

    fn normalised(&self, cost: &ResourceVec<M>) -> ResourceVec<M> {
        let mut times = *cost;
        for r in 0..M {
            times[r] = shared(cost[r], self.servers[r]);
        }
        times
    }

    /// Close the intervals that end at or before `now`.
    fn advance(&mut self, now: Time) {
        while now >= self.current.end {
            if self.in_system == 0 && self.current.active.is_empty() {
                self.skip_to(now);
                return;
            }
            let end = self.current.end;
            if self.series.truncated || end == Time::MAX {
                self.cut(now);
                self.skip_to(now);
                return;
            }
            self.close(end, true);
            self.skip_to(end);
        }
    }

    /// Begin the interval that `now` is in.
    fn skip_to(&mut self, now: Time) {
        self.fair.take_integral(now);
        let active = std::mem::take(&mut self.current.active);
        self.current = Current::at(now, self.options.interval, active);
    }

    /// Write down what is under way as far as it belongs before `now`.
    fn cut(&mut self, now: Time) {
        for r in 0..M {
            for server in 0..self.in_service[r].len() {
                if let Some(service) = self.in_service[r][server] {
                    self.credit(r, service, now);
                    self.in_service[r][server] = Some(InService { since: now, ..service });
                }
            }
        }
        if self.in_system > 0 {
            self.count_nonempty(now);
        }
    }

    fn count_nonempty(&mut self, now: Time) {
        let span = now.since(self.nonempty_since);
        self.nonempty_since = now;
        self.current.nonempty += span;
        self.nonempty += span;
    }

    /// Count service up to `now`.
    fn credit(&mut self, resource: usize, service: InService, now: Time) {
        let span = now.since(service.since);
        self.busy[resource] += span;
        self.current.busy[resource] += span;
        let flow = &mut self.flows[service.flow as usize];
        // It is there as long as a packet of it is in the system.
        let active = &mut self.current.active[flow.place as usize];
        flow.service[resource] += span;
        let shared = span.as_nanos() as f64 / f64::from(self.servers[resource]);
        let counted = shared * self.counts.of(service.flow)[resource];
        active.total += counted;
        if service.dominant {
            flow.dominant[resource] += span;
            active.service += counted;
        }
    }

    /// Add the current interval, which ends at `end`, to the series.
    fn close(&mut self, end: Time, full: bool) {
        self.cut(end);
        self.rows += self.current.active.len();
        if self.rows > self.options.rows || self.series.intervals.len() >= self.options.rows {
            self.series.truncated = true;
            return;
        }
        let (start, all_shares) = (self.current.start, self.options.all_shares);
        let (flows, shares) = (&mut self.flows, &mut self.series.shares);
        let mut stay = 0;
        self.current.active.retain_mut(|active| {
            let flow = &mut flows[active.flow as usize];
            let stays = flow.in_system > 0;
            let backlogged = full && stays && flow.whole_since <= start;
            let (service, total) = (active.service / 1e9, active.total / 1e9);
            if backlogged || all_shares {
                shares.push(ShareRow { flow: active.flow, backlogged, service, total });
            }
            (active.service, active.total) = (0.0, 0.0);
            flow.place = if stays { stay } else { INACTIVE };
            stay += u32::from(stays);
            stays
        });
        let (flows, servers) = (&self.flows, &self.servers);
        let received = |r: usize, i: usize| flows[i].service[r].as_nanos() as f64 / f64::from(servers[r]);
        let gini = self.gps.as_mut().map(|gps| gps.index(end, received));
        self.series.intervals.push(IntervalRow {
            index: self.current.index,
            length: end.since(start),
            busy: self.current.busy,
            nonempty: self.current.nonempty,
            fair: self.fair.take_integral(end),
            gini,
            shares_end: self.series.shares.len(),
        });
    }

    fn entered_system(&mut self, now: Time, index: u32) {
        if self.in_system == 0 {
            self.nonempty_since = now;
        }
        self.in_system += 1;
        let flow = &mut self.flows[index as usize];
        if flow.in_system == 0 {
            if flow.since != now {
                flow.whole_since = now;
            }
            flow.since = now;
        }
        flow.in_system += 1;
        if flow.place == INACTIVE {
            flow.place = self.current.active.len() as u32;
            self.current.active.push(Active { flow: index, service: 0.0, total: 0.0 });
        }
    }

    /// A packet of this (normalised) cost enters the pipeline, and stands for its flow; `dominant` is its longest time,
    /// by weight where weights differ by resource.
    fn becomes_head(&mut self, now: Time, flow: u32, cost: &ResourceVec<M>, dominant: Duration) {
        let weight = self.flows[flow as usize].weight;
        self.fair.set_head(now, flow, weight, profile(cost, dominant));
    }

    fn left_system(&mut self, now: Time, index: u32) {
        let flow = &mut self.flows[index as usize];
        flow.in_system -= 1;
        if flow.in_system == 0 {
            flow.backlogged += now.since(flow.since);
            flow.since = now;
            self.fair.set_head(now, index, flow.weight, [0; M]);
        }
        if self.in_system == 1 {
            self.count_nonempty(now);
        }
        self.in_system -= 1;
    }
}

impl<const M: usize> Current<M> {
    fn at(now: Time, interval: Duration, active: Vec<Active>) -> Self {
        let index = now.as_nanos() / interval.as_nanos();
        let start = Time::from_nanos(index * interval.as_nanos());
        Self { index, start, end: start + interval, busy: [Duration::ZERO; M], nonempty: Duration::ZERO, active }
    }
}

impl<const M: usize> FlowBooks<M> {
    fn new(flow: &Flow<M>) -> Self {
        let predicts = flow.estimate.each_ref().map(Estimate::predicts);
        let errors = || predicts.map(|predicts| predicts.then(PredictionError::default));
        let rare = || Box::new(Rare { losses: Losses::default(), predictions: Some(errors()) });
        Self {
            weight: flow.weight,
            in_system: 0,
            place: INACTIVE,
            admitted: 0,
            bytes_offered: 0,
            bytes_delivered: 0,
            service: [Duration::ZERO; M],
            dominant: [Duration::ZERO; M],
            demand: Duration::ZERO,
            rare: predicts.contains(&true).then(rare),
            since: Time::MAX,
            whole_since: Time::ZERO,
            backlogged: Duration::ZERO,
        }
    }

    fn losses(&mut self) -> &mut Losses<M> {
        &mut self.rare.get_or_insert_default().losses
    }

    fn result(self, servers: &[u32; M]) -> FlowResult<M> {
        let dominant = |r: usize| self.dominant[r].as_secs_f64() / f64::from(servers[r]);
        let packets = self.admitted.max(1) as f64;
        let losses = self.rare.as_ref().map_or(Losses::default(), |rare| rare.losses);
        let refused: u64 = losses.refused.iter().sum();
        FlowResult {
            weight: self.weight,
            offered: self.admitted + refused,
            delivered: self.admitted - u64::from(self.in_system) - losses.dropped - losses.dropped_waiting,
            unfinished: self.in_system,
            bytes_offered: self.bytes_offered,
            bytes_delivered: self.bytes_delivered,
            service: ResourceVec(self.service),
            dominant_service: (0..M).map(dominant).sum(),
            mean_dominant_time: self.demand.as_secs_f64() / packets,
            backlogged: self.backlogged,
            rare: self.rare,
        }
    }
}

/// How much more than by its one weight a flow's times count on each resource.
#[derive(Clone, Debug)]
struct Counts<const M: usize> {
    /// By flow; empty where every flow has one weight for all resources.
    flows: Vec<[f64; M]>,
}

impl<const M: usize> Counts<M> {
    fn new(flows: &[Flow<M>]) -> Self {
        let counts = |flow: &Flow<M>| flow.weights().map(|on| flow.weight.as_f64() / on.as_f64());
        let differ = flows.iter().any(|flow| counts(flow) != [1.0; M]);
        Self { flows: if differ { flows.iter().map(counts).collect() } else { Vec::new() } }
    }

    fn of(&self, flow: u32) -> [f64; M] {
        self.flows.get(flow as usize).copied().unwrap_or([1.0; M])
    }

    /// Times as they count.
    fn by_weight(&self, flow: u32, cost: &ResourceVec<M>) -> ResourceVec<M> {
        let Some(counts) = self.flows.get(flow as usize) else { return *cost };
        let mut times = *cost;
        for r in (0..M).filter(|&r| counts[r] != 1.0) {
            times[r] = Duration::from_nanos((cost[r].as_nanos() as f64 * counts[r]).round() as u64);
        }
        times
    }
}

/// `busy / (servers * span)`; 0 over no time.
fn ratio(busy: Duration, span: Duration, servers: u32) -> f64 {
    let ns = |time: Duration| time.as_nanos() as f64;
    if span == Duration::ZERO { 0.0 } else { ns(busy) / (ns(span) * f64::from(servers)) }
}

impl<const M: usize> Recorder<M> for Metrics<M> {
    fn admitted(&mut self, now: Time, packet: &SimPacket<M>) {
        self.advance(now);
        let cost = self.normalised(&packet.cost);
        let flow = &mut self.flows[packet.flow as usize];
        flow.admitted += 1;
        flow.bytes_offered += u64::from(packet.size);
        let dominant = self.counts.by_weight(packet.flow, &cost).dominant_time();
        flow.demand += dominant;
        if flow.in_system == 0 {
            self.fair.set_head(now, packet.flow, flow.weight, profile(&cost, dominant));
        }
        self.entered_system(now, packet.flow);
        if let Some(gps) = &mut self.gps {
            gps.arrived(now, packet.flow, &cost);
        }
    }

    fn refused(&mut self, _now: Time, packet: &SimPacket<M>, reason: DropReason) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.losses().refused[reason as usize] += 1;
        flow.bytes_offered += u64::from(packet.size);
    }

    fn bypassed(&mut self, now: Time, packet: &SimPacket<M>, resource: usize) {
        self.advance(now);
        if resource > 0 {
            return;
        }
        let cost = self.normalised(&packet.cost);
        let dominant = self.counts.by_weight(packet.flow, &cost).dominant_time();
        self.becomes_head(now, packet.flow, &cost, dominant);
    }

    fn started(&mut self, now: Time, packet: &SimPacket<M>, resource: usize, server: u32) {
        self.advance(now);
        let cost = self.normalised(&packet.cost);
        let by_weight = self.counts.by_weight(packet.flow, &cost);
        if resource == 0 {
            self.becomes_head(now, packet.flow, &cost, by_weight.dominant_time());
        }
        let dominant = by_weight.dominant_resource() == resource;
        self.in_service[resource][server as usize] = Some(InService { flow: packet.flow, since: now, dominant });
    }

    fn finished(
        &mut self,
        now: Time,
        packet: &SimPacket<M>,
        resource: usize,
        server: u32,
        predicted: Option<Duration>,
    ) {
        self.advance(now);
        if let Some(predicted) = predicted
            && let Some(rare) = &mut self.flows[packet.flow as usize].rare
            && let Some(errors) = &mut rare.predictions
            && let Some(error) = &mut errors[resource]
        {
            error.record(predicted, packet.cost[resource]);
        }
        if let Some(service) = self.in_service[resource][server as usize].take() {
            self.credit(resource, service, now);
        }
    }

    fn delivered(&mut self, now: Time, packet: &SimPacket<M>) {
        self.flows[packet.flow as usize].bytes_delivered += u64::from(packet.resized);
        self.latencies.push(packet.flow, now.since(packet.arrival).as_nanos());
        self.left_system(now, packet.flow);
    }

    fn dropped(&mut self, now: Time, packet: &SimPacket<M>, resource: usize) {
        self.advance(now);
        let losses = self.flows[packet.flow as usize].losses();
        *(if resource == 0 { &mut losses.dropped_waiting } else { &mut losses.dropped }) += 1;
        (resource..M).for_each(|r| losses.service[r] += packet.cost[r]);
        self.left_system(now, packet.flow);
    }

    fn ended(&mut self, now: Time) {
        self.advance(now);
        self.cut(now);
        for flow in self.flows.iter_mut().filter(|flow| flow.in_system > 0) {
            flow.backlogged += now.since(flow.since);
        }
        if !self.current.active.is_empty() && now > self.current.start && !self.series.truncated {
            self.close(now, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A growth here costs memory for every flow of a run; it should be on purpose.
    #[test]
    fn books_are_small() {
        assert_eq!([size_of::<FlowBooks<1>>(), size_of::<FlowBooks<2>>(), size_of::<FlowBooks<4>>()], [96, 112, 144]);
    }
}
