//! Heads: the packet of every backlogged flow that the fluid serves, and when it starts.

use dovetail_units::{ResourceVec, Time};

use super::super::bonus::Bonus;
use super::super::flow::{Floor, FluidFlow, are_near};
use super::super::ticks::in_time;
use super::{FlowQueues, Fluid, Started};
use crate::tag::TICK_BITS;

impl<const M: usize, B: Bonus<M>> Fluid<M, B> {
    /// The flow's head packet has ended: take its next packet as the head, if there is one: its virtual service time.
    #[inline(always)]
    pub(super) fn next_head<P>(
        &mut self,
        flow: u32,
        queues: &mut FlowQueues<M, B, P>,
        started: &mut Started<M>,
    ) -> Option<u128> {
        let FluidFlow { started: has_started, place, .. } = queues.flow(flow).state;
        if !has_started {
            self.start(flow, self.known_at(), queues, started);
        }
        self.work -= self.turns.work(flow);
        if !queues.flow(flow).state.has_next() {
            self.take_off_load(flow, place, queues);
            return None;
        }
        Some(self.take_head(flow, Some(place), queues, started))
    }

    /// Make the flow's next packet, which is there, its head in the fluid; returns its virtual service time. `ended` is
    /// the place of the one before, which is still in the load.
    pub(super) fn take_head<P>(
        &mut self,
        flow: u32,
        ended: Option<B::Place>,
        queues: &mut FlowQueues<M, B, P>,
        started: &mut Started<M>,
    ) -> u128 {
        let slot = queues.slot(queues.flow(flow).state.next);
        let (cost, following) = (slot.cost, slot.next);
        let record = queues.flow_mut(flow);
        let charged = record.state.corrected(cost);
        record.state.next = following;
        let place = B::place(if are_near(&cost, &charged) { &cost } else { &charged });
        (record.state.place, record.state.started) = (place, false);
        let (weight, state) = (record.weight(), record.state);
        let used: u64 = charged.0.iter().map(|time| time.as_nanos()).sum();
        // What is rounded up to a tick takes no more than a weight of them.
        let work = (u128::from(used) << TICK_BITS) + u128::from(weight.as_milli());
        self.work += work;
        if ended != Some(place) {
            if let Some(ended) = ended {
                self.add_load(ended, state.floor, weight, false);
            }
            self.add_load(place, state.floor, weight, true);
        }
        if self.is_served(state.floor) {
            self.begin(flow, &charged, self.known_at(), queues, started);
        } else {
            self.keep_unstarted(flow, state.floor, charged);
        }
        let service = self.turns.take_head(flow, place, (charged.dominant_time(), weight), work);
        if state.floor == Floor::Common { service } else { queues.flow_mut(flow).state.by_floor(service) }
    }

    /// The head of the flow leaves.
    pub(super) fn take_off<P>(&mut self, flow: u32, queues: &FlowQueues<M, B, P>) {
        self.work -= self.turns.work(flow);
        self.take_off_load(flow, queues.flow(flow).state.place, queues);
    }

    /// The head of the flow was at this place.
    #[inline(always)]
    fn take_off_load<P>(&mut self, flow: u32, place: B::Place, queues: &FlowQueues<M, B, P>) {
        let record = queues.flow(flow);
        self.add_load(place, record.state.floor, record.weight(), false);
    }

    /// Take a flow out whose head is already taken off.
    pub(super) fn leave<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, B, P>) {
        let state = &mut queues.flow_mut(flow).state;
        state.period = 0;
        let floor = state.floor;
        if !core::mem::replace(&mut state.started, true) {
            self.forget_unstarted(flow, floor);
        }
        self.floors.count(floor, false);
        self.turns.leave(flow);
        match self.favoured.iter_mut().find(|favoured| favoured.as_ref().is_some_and(|f| f.flow == flow)) {
            Some(favoured) => *favoured = None,
            None => _ = self.take_from_clock(flow, floor),
        }
    }

    /// When what happens at `clock` can first be known.
    pub(super) fn known_at(&self) -> Time {
        in_time(self.clock).max(self.unknown_until)
    }

    /// The flow's head packet starts in the fluid, if it has not before.
    #[inline(never)]
    pub(super) fn start<P>(&mut self, flow: u32, at: Time, queues: &mut FlowQueues<M, B, P>, started: &mut Started<M>) {
        let FluidFlow { started: is_started, floor, .. } = queues.flow(flow).state;
        if !is_started {
            self.forget_unstarted(flow, floor);
            let charged = self.charges[flow as usize];
            self.begin(flow, &charged, at, queues, started);
        }
    }

    /// The flow's head packet, which is charged so much, starts in the fluid.
    #[inline(always)]
    fn begin<P>(
        &mut self,
        flow: u32,
        charged: &ResourceVec<M>,
        at: Time,
        queues: &mut FlowQueues<M, B, P>,
        started: &mut Started<M>,
    ) {
        queues.flow_mut(flow).state.started = true;
        started.push_back(queues.id(flow), self.pace.plan(at, charged));
    }
}
