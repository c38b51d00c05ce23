//! `bf`: bottleneck fairness, the scheme of virtual software routers (Egi et al.) that the DRFQ paper (Ghodsi, Sekar,
//! Zaharia, Stoica, SIGCOMM 2012, section 3.1) describes and finds wanting.
//!
//! Shares: equal (weighted) processing time on one resource at a time: on the one that was most in demand over the last
//! interval.
//!
//! * Parameters: `interval` = time after which it looks for the bottleneck again, above 0 s; default 100 ms. Can change
//!   while running. `newcomers` = whether a flow pays a deposit before its first packet: `pay` (default), or `free` as
//!   published for `sfq`.
//! * Weights: one for all resources, [`FlowConfig::weight`](crate::FlowConfig::weight). Weights that differ by resource
//!   are ignored.
//! * Cost per packet: O(log n) for n backlogged flows.
//! * Longest call: O(log n). When another resource becomes the bottleneck, the n flows that wait get their new tags
//!   four at a time, with every packet that is served or comes, the longest waiting first. Those that have theirs are
//!   served meanwhile, for at most n/4 packets; the others start at the same tag zero and make up for it. The
//!   bottleneck is not looked for again before.
//! * Guarantees: those of `sfq` on the bottleneck, as long as it stays the same. Nothing else, which is what it is here
//!   to show: a flow gains by asking for more than it needs if that moves the bottleneck, and where equal shares of
//!   each resource make another the bottleneck, it changes after every interval.
//! * A flow can gain: while the bottleneck stays, what it can under `sfq`, which is nothing; with every change of it,
//!   at most a packet of what others paid before. By asking for more than it needs it can move the bottleneck; that is
//!   no strategy of [`gain`](crate::gain). By estimates 16 times too low, which are corrected late, up to 1.6, and in
//!   ever new flows by that factor.
//! * Times need not be known in advance but as with `sfq`: only the next packet's tags depend on them, and they are
//!   corrected by measurement.
//! * Example: `bf`, `bf:interval=30 s`, `bf:newcomers=free`.
//!
//! Start tags on the bottleneck as in [`sfq`](crate::sfq). Demand for a resource is the processing time there of the
//! packets handed out in the interval, by their estimates.
//!
//! Differences from the paper, with reasons:
//! * The paper does not say how the bottleneck is found, nor how often. Here: the largest demand, at the first packet
//!   served after each multiple of the interval; an interval in which nothing was served is passed over. Ties leave the
//!   bottleneck where it is. Until the first interval is over it is the first resource.
//! * When the bottleneck changes, all tags start from zero: what flows got of the new bottleneck before does not count,
//!   as it was not shared out.
//! * A measurement that comes after such a change moves the new tags by what it was wrong on the new bottleneck: at
//!   most the error of the packets in the pipeline.

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Parameter, Resources, Weights};
use crate::charge::Charge;
use crate::contract::{Progress, Ticket, Took};
use crate::discipline::{Choice, Discipline};
use crate::flow_tags::StartTags;
use crate::gain::{AS_TOLD, Gain, Strategy};
use crate::newcomers::{self, Newcomers};
use crate::note::Epoch;
use crate::one_resource::Shared;
use crate::promise::{Counted, Promise};
use crate::sfq::{FlowQueues, Sfq};
use crate::spec::{Spec, SpecError};

const INTERVAL: Parameter = Parameter {
    name: "interval",
    value: "a time above 0 s",
    default: "100 ms",
    meaning: "how often it looks for the bottleneck",
    settable: true,
};

/// Why false estimates gain.
const LATE: &str = "by search, estimates up to 16 times too low: what a packet took is known when it leaves the \
    pipeline, late where the first resource is not the short one";

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "bf",
    summary: "Bottleneck fairness: fair queueing of the resource in most demand",
    shares: "equal time by weight on the resource that was most in demand over the last interval",
    resources: Resources::Any,
    parameters: &[INTERVAL, newcomers::PARAMETER],
    complexity: "O(log n)",
    worst_call: "O(log n): new tags after a change of the bottleneck, four per packet",
    gains: &[Gain { strategy: Strategy::FalseEstimates, most: 1.6, reason: LATE }, AS_TOLD],
    guarantee: "that of sfq on the bottleneck while it stays the same; can be gamed, and can oscillate",
    weights: Weights::One,
    work_conserving: "yes",
    costs: "when the next packet is tagged, and for a flow's first packet; corrected by measurement",
    paper: "Ghodsi, Sekar, Zaharia, Stoica, SIGCOMM 2012, section 3.1, after Egi et al.",
    brief: Brief {
        fairness: "bottleneck time",
        longest_call: "O(log n)",
        work_conserving: "yes",
        costs_ahead: "no",
        paper: "SIGCOMM 2012",
    },
    promise: Promise::by_rounds(Counted::Bottleneck),
    facts: &[],
};

/// Fair queueing of the resource in most demand.
#[derive(Clone, Debug)]
pub struct Bottleneck<const M: usize> {
    /// Shares the bottleneck.
    sfq: Sfq,
    interval: Duration,
    /// When it is looked for again.
    ends: Time,
    /// Time of the packets handed out since it was looked for, per resource.
    demand: [u64; M],
}

impl<const M: usize> Bottleneck<M> {
    /// Looking for the bottleneck after every `interval`, and treating newcomers so.
    pub fn new(interval: Duration, newcomers: Newcomers) -> Self {
        let interval = interval.max(Duration::from_nanos(1));
        let sfq = Sfq::new(Shared { resource: 0, charge: Charge::Measured }, newcomers);
        Self { sfq, interval, ends: Time::ZERO + interval, demand: [0; M] }
    }

    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let interval = parse_interval(spec.value(INTERVAL.name).unwrap_or(INTERVAL.default))?;
        Ok(Self::new(interval, Newcomers::from_spec(spec)?))
    }

    /// The resource that is shared now.
    pub fn resource(&self) -> usize {
        self.sfq.resource()
    }

    /// Share the resource that was most in demand until now.
    fn look<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) {
        let (ns, interval) = (now.as_nanos(), self.interval.as_nanos());
        self.ends = Time::from_nanos((ns / interval).saturating_add(1).saturating_mul(interval));
        let current = self.sfq.resource();
        let most = (0..M).fold(current, |most, r| if self.demand[r] > self.demand[most] { r } else { most });
        self.demand = [0; M];
        if most != current {
            self.sfq.restart(most, queues);
        }
    }

    /// Of the bottleneck, as a note: packets of another one are not in the books of `sfq`.
    fn epoch(&self) -> Epoch {
        Epoch(self.sfq.epoch() as u32)
    }
}

fn parse_interval(value: &str) -> Result<Duration, SpecError> {
    let time = value.parse().ok().filter(|&time| time > Duration::ZERO);
    time.ok_or_else(|| SpecError::bad_value(INTERVAL.name, value, "a time above 0 s such as 100 ms"))
}

impl<const M: usize> Discipline<M> for Bottleneck<M> {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    const MARKS_MOVED: bool = true;

    type Flow = StartTags;
    type Stamp = ();
    type Note = Epoch;

    fn added<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.sfq.added(flow, queues);
    }

    #[inline]
    fn arrived<P>(&mut self, now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        self.sfq.arrived(now, flow, slot, queues);
    }

    #[inline]
    fn choose<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) -> Choice {
        if now >= self.ends && self.sfq.is_tagged() && self.demand.iter().any(|&time| time > 0) {
            self.look(now, queues);
        }
        self.sfq.choose(now, queues)
    }

    #[inline]
    fn served<P>(&mut self, now: Time, flow: u32, cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) -> Epoch {
        for (demand, time) in self.demand.iter_mut().zip(cost.0) {
            *demand = demand.saturating_add(time.as_nanos());
        }
        self.sfq.served(now, flow, cost, queues);
        self.epoch()
    }

    #[inline]
    fn progressed(&mut self, now: Time, ticket: &Ticket<M>, resource: usize, event: Progress) {
        if ticket.note::<Epoch>() == self.epoch() {
            self.sfq.progressed(now, ticket, resource, event);
        }
    }

    #[inline]
    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut FlowQueues<M, P>) {
        self.sfq.corrected(flow, ticket, took, queues);
    }

    #[inline]
    fn place<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.sfq.place(flow, queues);
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<M, P>) {
        self.sfq.reweighed(flow, old, queues);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.sfq.removed(flow, queues);
    }

    fn set<P>(&mut self, _parameter: &str, value: &str, _queues: &mut FlowQueues<M, P>) -> Result<(), SpecError> {
        let interval = parse_interval(value)?;
        let last = self.ends.as_nanos().saturating_sub(self.interval.as_nanos());
        self.ends = Time::from_nanos(last) + interval;
        self.interval = interval;
        Ok(())
    }
}
