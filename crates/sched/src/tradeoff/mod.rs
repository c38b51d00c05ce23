//! `tradeoff`: fairness against efficiency by one knob alpha (Wang, Feng, Li, Liang, CoNEXT 2014).
//!
//! Shares: every flow gets at least alpha of its fair dominant share; what is left goes to the (at most two) flows that use the
//! remaining CPU and link best. Lower alpha fills both resources at the price of some flows' shares.
//!
//! * Parameters: `alpha` in [0, 1], default 0.85; settable while running. 1 is strict fairness (DRGPS), 0 is efficiency only.
//! * Two resources.
//! * Weights: one for all resources, [`FlowConfig::weight`](crate::FlowConfig::weight); weights that differ by resource are not looked at.
//! * Cost per packet: O(log n) amortised for n flows that are or were backlogged (section 5.3).
//! * Guarantees against the fluid schedule, for alpha > 0, n concurrently backlogged flows and L the longest time of any packet
//!   on any resource: makespan T <= T_fluid + n L (Theorem 4); dominant service
//!   D_fluid - 2(n-1) L <= D <= D_fluid + L (Theorem 5, for n of 2 and more; a lone flow may be L behind, one whose packets are overtaken by others that bypass the CPU more); in the fluid every backlogged flow has d_i >= alpha w_i d (eq. 19).
//!   See `dovetail_model::bounds` and `dovetail_model::tradeoff`.
//! * Not work conserving: a packet waits until it has started in the fluid schedule ([`Next::At`](crate::Next::At)), which keeps
//!   the buffer between the resources short.
//! * Example: `tradeoff:alpha=0.85`.
//!
//! A fluid schedule runs in the background; whenever a packet starts in it, its flow joins a FIFO, and packets are served in the
//! order of that FIFO (start-time tracking, section 4.1). The fluid's events are handled when the FIFO is empty and something is
//! asked for (section 5.4), and before anything changes in the queues: a packet must not start in the fluid before it arrives.
//!
//! Differences from the paper, with reasons:
//! * Weights: flow i is guaranteed alpha w_i d with d = 1 / max_r sum_i w_i tbar_ir. The bonus is awarded as in Theorem 3, which
//!   holds unchanged because the bonus problem has no weights in it.
//! * Ties in order (23), which the paper leaves open, go to the flow whose last favoured packet finished longest ago, so that equals
//!   take turns.
//! * alpha = 0: a packet starts in the fluid when its flow is first favoured. Theorems 4 and 5 do not cover it, and a flow may starve.
//! * A packet that ends between two clock ticks (2^-20 ns) leaves the rest of its tick to the flow's next packet, so no
//!   service is lost to rounding.
//! * Wrong cost estimates: on each resource the difference to the measured time is added to the flow's next packet in the fluid, so the fluid takes of every resource what packets take. (With
//!   the dominant time alone it would run ahead of a resource that is short and dominant for few, until all that waits has started in it and is served in order of arrival.) What idles for
//!   a wrong estimate stays idle.
//! * A resource that is behind: the fluid stands still, so that it does not serve what the CPU or the link cannot have served. Each packet's starts on both are planned by the paper's packet
//!   schedule when it starts in the fluid; the CPU is late while the next packet could have been through with both since, the link from a start that was late in this way until one that was
//!   not. So time lost by wrong estimates or a slow resource is lost once, and not followed by the fluid's lead for ever; with exact times all packets start as planned, and nothing
//!   changes. The link must report its starts; without that the fluid waits for the CPU only. See `docs/theory/tradeoff-pace.md`.
//! * Virtual time is an integer that wraps; tags are compared by their distance, which is far below half the range.

mod fluid;
mod pace;
mod share;

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Parameter, Resources, Shape, Weights};
use crate::contract::{Progress, Ticket};
use crate::per_flow::{Choice, Discipline};
use crate::queues::Queues;
use crate::spec::{Spec, SpecError};

pub use fluid::FluidFlow;
use fluid::{Fluid, Started};
pub use share::{Shares, allocate};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "tradeoff",
    summary: "Fairness against efficiency by one knob",
    shares: "at least alpha of the fair dominant share each; the rest to the flows that fill both resources",
    resources: Resources::Two,
    parameters: &[Parameter {
        name: "alpha",
        value: "0 to 1",
        default: "0.85",
        meaning: "part of the fair share that is guaranteed: 1 strict fairness, 0 efficiency only",
        settable: true,
    }],
    complexity: "O(log n)",
    guarantee: "D_fluid - 2(n-1)L <= D <= D_fluid + L; makespan <= T_fluid + nL",
    weights: Weights::One,
    work_conserving: "no: waits for the fluid schedule",
    costs: "in advance; corrected by measurement",
    paper: "Wang et al., CoNEXT 2014",
    brief: Brief { fairness: "alpha x dominant", work_conserving: "no", costs_ahead: "yes", paper: "CoNEXT 2014" },
};

const DEFAULT_ALPHA: f64 = 0.85;

/// The tradeoff discipline: the fluid schedule, and the packets that have started in it.
#[derive(Clone, Debug)]
pub struct Tradeoff {
    fluid: Fluid,
    /// One entry per packet that has started in the fluid schedule and was not served yet.
    started: Started,
}

impl Tradeoff {
    /// With this `alpha`, for one CPU and one link; `None` outside [0, 1].
    pub fn new(alpha: f64) -> Option<Self> {
        Self::of_shape(alpha, Shape::default())
    }

    /// With this `alpha`, for a pipeline of this shape; `None` outside [0, 1].
    pub fn of_shape(alpha: f64, shape: Shape) -> Option<Self> {
        (0.0..=1.0).contains(&alpha).then(|| Self { fluid: Fluid::new(alpha, shape), started: Started::default() })
    }

    pub(crate) fn from_spec(spec: &Spec, shape: Shape) -> Result<Self, SpecError> {
        let alpha = spec.value("alpha");
        let value = alpha.map_or(Ok(DEFAULT_ALPHA), parse_alpha)?;
        Self::of_shape(value, shape).ok_or_else(|| bad_alpha(alpha.unwrap_or_default()))
    }

    /// For how long the fluid has stood still because the CPU or the link was late: never with exact times and a system that keeps up, or with several servers.
    pub fn stood_still(&self) -> Duration {
        self.fluid.stood_still()
    }

    /// How often a flow became favoured so far.
    pub fn identity_switches(&self) -> u64 {
        self.fluid.switches()
    }
}

fn bad_alpha(value: &str) -> SpecError {
    SpecError::bad_value("alpha", value, "a number from 0 (efficiency only) to 1 (strict fairness)")
}

fn parse_alpha(value: &str) -> Result<f64, SpecError> {
    value.parse().ok().filter(|a| (0.0..=1.0).contains(a)).ok_or_else(|| bad_alpha(value))
}

type FlowQueues<P> = Queues<2, P, FluidFlow, ()>;

impl Discipline<2> for Tradeoff {
    type Flow = FluidFlow;
    type Stamp = ();

    fn stamp(&mut self, _now: Time) {}

    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<P>) {
        if queues.flow(flow).state.has_next() {
            // An earlier packet of the flow starts first: the fluid need not know yet.
            return;
        }
        self.fluid.arrive(flow, slot, queues, &mut self.started);
    }

    fn choose<P>(&mut self, now: Time, queues: &mut FlowQueues<P>) -> Choice {
        loop {
            if let Some((flow, _)) = self.started.front(queues) {
                return Choice::Flow(flow.index);
            }
            if let Some(wait) = self.fluid.find_start(now, queues, &mut self.started) {
                return wait;
            }
        }
    }

    fn served<P>(
        &mut self,
        now: Time,
        _flow: u32,
        cost: &ResourceVec<2>,
        _queues: &mut FlowQueues<P>,
    ) -> ([u64; 2], u32) {
        let Some(latest) = self.started.pop_front() else { return ([0; 2], 0) };
        ([self.fluid.hand_out(now, cost, latest), latest.link.as_nanos()], 0)
    }

    fn progressed_among<P>(
        &mut self,
        now: Time,
        ticket: &mut Ticket<2>,
        resource: usize,
        event: Progress,
        queues: &mut FlowQueues<P>,
    ) {
        let [number, latest] = ticket.tags;
        let latest = Time::from_nanos(latest);
        match (event, resource) {
            (Progress::Finished { .. }, 0) => ticket.tags[1] = self.fluid.leaves_cpu(number, latest).as_nanos(),
            (Progress::Started, 1) => self.fluid.starts_on_link(now, number, latest, queues, &mut self.started),
            (Progress::Finished { .. }, 1) | (Progress::Abandoned, _) => {
                self.fluid.leaves(now, number, queues, &mut self.started);
            }
            _ => {}
        }
    }

    fn corrected<P>(&mut self, flow: u32, before: &ResourceVec<2>, after: &ResourceVec<2>, queues: &mut FlowQueues<P>) {
        queues.flow_mut(flow).state.correct(before, after);
    }

    fn settle<P>(&mut self, now: Time, queues: &mut FlowQueues<P>) {
        self.fluid.settle(now, queues, &mut self.started);
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<P>) {
        self.fluid.reweigh(flow, old, queues, &mut self.started);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<P>) {
        self.fluid.remove(flow, queues, &mut self.started);
        self.started.forget(flow, queues);
    }

    fn set<P>(&mut self, parameter: &str, value: &str, queues: &mut FlowQueues<P>) -> Result<(), SpecError> {
        if parameter != "alpha" {
            return Err(ENTRY.cannot_change(parameter));
        }
        let alpha = parse_alpha(value)?;
        self.fluid.set_alpha(alpha, queues, &mut self.started);
        Ok(())
    }
}
