//! `drgps`: packet by packet after the DRGPS fluid (Wang, Liang, Li, IWQoS 2013).

mod eligible;
mod fluid;

use dovetail_units::{ResourceVec, Time, Weight};

use crate::catalog::{Entry, Parameter, Resources};
use crate::one_resource::{REBASE_AT, charged, not_settable};
use crate::per_flow::{Choice, Discipline};
use crate::queues::{IndexedHeap, Order};
use crate::spec::{Spec, SpecError};

use eligible::Eligible;
pub use fluid::DrgpsFlow;
use fluid::{FlowQueues, Fluid};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "drgps",
    summary: "Packet by packet after the perfectly fair fluid",
    shares: "equal weighted dominant shares at every moment, as the DRGPS fluid divides all resources",
    resources: Resources::Any,
    parameters: &[Parameter {
        name: "order",
        value: "finish | start",
        default: "finish",
        meaning: "serve, of the packets that have started in the fluid, the one that ends or that started first there",
        settable: false,
    }],
    complexity: "O(log n + m)",
    guarantee: "finish: leaves resource 0 by its finish in the fluid and L; start: enters by its start there and (n-1)L",
    weights: true,
    work_conserving: "on one resource; else waits for the fluid",
    costs: "in advance; the dominant time is corrected by measurement",
    paper: "Wang et al., IWQoS 2013",
};

/// Which of the packets that have started in the fluid is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TrackBy {
    /// The one that started first: start-time tracking.
    Start,
    /// The one that ends first: worst-case fair, DRWF2Q.
    #[default]
    Finish,
}

/// The fluid, and what has started in it.
#[derive(Clone, Debug)]
pub struct Drgps<const M: usize> {
    fluid: Fluid<M>,
    eligible: Eligible,
}

impl<const M: usize> Drgps<M> {
    /// In this order.
    pub fn new(order: TrackBy) -> Self {
        let eligible = match order {
            TrackBy::Start => Eligible::Starts(Order::default()),
            TrackBy::Finish => Eligible::Finishes(IndexedHeap::default()),
        };
        Self { fluid: Fluid::new(REBASE_AT), eligible }
    }

    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let order = match spec.parameters.iter().find(|(key, _)| key == "order").map(|(_, value)| value.as_str()) {
            None => TrackBy::default(),
            Some("finish") => TrackBy::Finish,
            Some("start") => TrackBy::Start,
            Some(value) => {
                let expected = "finish (worst-case fair) or start (start-time tracking)";
                return Err(SpecError::bad_value("order", value, expected));
            }
        };
        Ok(Self::new(order))
    }

    /// For tests: lower all tags by half of `tag` whenever the virtual time reaches it.
    pub fn rebasing_at(mut self, tag: u64) -> Self {
        self.fluid = Fluid::new(tag.clamp(2, REBASE_AT));
        self
    }

    /// How often tags were lowered; wraps.
    pub fn rebases(&self) -> u32 {
        self.fluid.rebases()
    }
}

impl<const M: usize> Discipline<M> for Drgps<M> {
    type Flow = DrgpsFlow<M>;
    /// The packet's finish tag once it has started in the fluid.
    type Stamp = u64;

    fn stamp(&mut self, _now: Time) -> u64 {
        0
    }

    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        // Behind others that have not started the fluid need not know yet.
        if !queues.flow(flow).state.has_next() {
            self.fluid.arrive(flow, slot, queues, &mut self.eligible);
        }
    }

    fn choose<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) -> Choice {
        if let Some(flow) = self.eligible.surely_first(queues) {
            return Choice::Flow(flow);
        }
        self.fluid.settle(now, queues, &mut self.eligible);
        match self.eligible.first(queues) {
            Some(flow) => Choice::Flow(flow),
            None => Choice::At(self.fluid.next_event()),
        }
    }

    fn served<P>(
        &mut self,
        _now: Time,
        flow: u32,
        _cost: &ResourceVec<M>,
        queues: &mut FlowQueues<M, P>,
    ) -> ([u64; M], u32) {
        let state = &mut queues.flow_mut(flow).state;
        state.started = state.started.saturating_sub(1);
        self.eligible.served(flow, queues);
        ([0; M], 0)
    }

    fn corrected<P>(
        &mut self,
        flow: u32,
        before: &ResourceVec<M>,
        after: &ResourceVec<M>,
        queues: &mut FlowQueues<M, P>,
    ) {
        let nanos = charged(after.dominant_time()) - charged(before.dominant_time());
        queues.flow_mut(flow).state.correct(nanos);
    }

    fn settle<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) {
        self.fluid.settle(now, queues, &mut self.eligible);
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<M, P>) {
        self.fluid.reweigh(flow, old, queues, &mut self.eligible);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.fluid.remove(flow, queues);
        self.eligible.forget(flow, queues);
    }

    fn set<P>(&mut self, parameter: &str, _value: &str, _queues: &mut FlowQueues<M, P>) -> Result<(), SpecError> {
        Err(not_settable(&ENTRY, parameter))
    }
}
