//! The packets that wait, in one slab, and the flow table. A flow's queue is a list threaded through the slab, so
//! memory follows the packets and nothing is allocated per packet in the steady state.

use alloc::boxed::Box;
use alloc::vec::Vec;

use dovetail_units::{Bytes, Duration, ResourceVec, Weight};

use super::time_limit::WaitingTime;
use crate::contract::{DropReason, FlowConfig, FlowId, Limit, Packet, UnknownFlow};
use crate::steps;

/// No slot.
pub const NIL: u32 = u32::MAX;

/// A waiting packet.
#[derive(Clone, Debug)]
pub struct Slot<const M: usize, P, S> {
    /// Estimated processing times.
    pub cost: ResourceVec<M>,
    /// What the discipline noted on arrival.
    pub stamp: S,
    /// Length in bytes.
    pub size: u32,
    /// The flow's next packet, or [`NIL`]; in a free slot the next free one.
    pub next: u32,
    payload: Option<P>,
}

impl<const M: usize, P, S> Slot<M, P, S> {
    /// Whether the packet passes the first of several resources without needing anything there.
    pub fn needs_no_processing(&self) -> bool {
        M > 1 && self.cost.iter().next() == Some(&Duration::ZERO)
    }

    /// Whether it does, and its owner says that it may pass now.
    pub(crate) fn may_bypass(&self, may_pass: &mut dyn FnMut(&P) -> bool) -> bool {
        self.needs_no_processing() && self.payload.as_ref().is_some_and(may_pass)
    }
}

/// A flow's queue, weight, limit, and what the discipline keeps for it.
#[derive(Clone, Debug)]
pub struct FlowRecord<F> {
    /// First waiting packet, or [`NIL`].
    pub head: u32,
    tail: u32,
    /// Packets that wait.
    pub packets: u32,
    generation: u32,
    bytes: u64,
    weight: Weight,
    /// The weights on the resources, if they were given one by one.
    weight_on: Option<Box<[Weight]>>,
    most_packets: Option<u32>,
    most_bytes: Option<Bytes>,
    waiting_time: Option<Box<WaitingTime>>,
    live: bool,
    /// The discipline's own.
    pub state: F,
}

impl<F> FlowRecord<F> {
    /// The flow's weight, as [`Discipline::weight_of`](crate::per_flow::Discipline::weight_of) has it.
    pub fn weight(&self) -> Weight {
        self.weight
    }

    /// A packet of these times has joined.
    fn count_in<const M: usize>(&mut self, cost: &ResourceVec<M>) {
        if let Some(waiting) = &mut self.waiting_time {
            waiting.count_in(cost, self.packets);
        }
    }

    /// A packet of these times has left.
    fn count_out<const M: usize>(&mut self, cost: &ResourceVec<M>) {
        if let Some(waiting) = &mut self.waiting_time {
            waiting.count_out(cost, self.packets);
        }
    }
}

/// All queues: `M` resources, payloads `P`, the discipline's per-flow state `F` and per-packet stamp `S`.
#[derive(Clone, Debug)]
pub struct Queues<const M: usize, P, F, S> {
    slots: Vec<Slot<M, P, S>>,
    free_slot: u32,
    flows: Vec<FlowRecord<F>>,
    free_flows: Vec<u32>,
    packets: u64,
    bytes: u64,
    /// Packets that need nothing on the first of several resources.
    unprocessed: u64,
}

impl<const M: usize, P, F: Default, S: Copy> Queues<M, P, F, S> {
    pub(crate) fn new() -> Self {
        let (slots, flows, free_flows) = (Vec::new(), Vec::new(), Vec::new());
        Self { slots, free_slot: NIL, flows, free_flows, packets: 0, bytes: 0, unprocessed: 0 }
    }

    /// Whether a packet waits, in whichever place, that passes the first of several resources without needing anything
    /// there.
    pub(crate) fn any_needs_no_processing(&self) -> bool {
        self.unprocessed > 0
    }

    /// Packets that wait, in all flows.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes that wait, in all flows.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The flow's record, if the id is of a live flow.
    pub fn get(&self, flow: FlowId) -> Option<&FlowRecord<F>> {
        self.flows.get(flow.index()).filter(|f| f.live && f.generation == flow.generation)
    }

    /// The record at the index of a flow that is live, or was: then with the state that it was left in.
    pub fn flow(&self, index: u32) -> &FlowRecord<F> {
        steps::take(1);
        &self.flows[index as usize]
    }

    /// The record at a live flow's index.
    pub fn flow_mut(&mut self, index: u32) -> &mut FlowRecord<F> {
        steps::take(1);
        &mut self.flows[index as usize]
    }

    /// The id of the flow at this index.
    pub fn id(&self, index: u32) -> FlowId {
        FlowId { index, generation: self.flows[index as usize].generation }
    }

    /// A waiting packet.
    pub fn slot(&self, slot: u32) -> &Slot<M, P, S> {
        steps::take(1);
        &self.slots[slot as usize]
    }

    /// The stamp of a waiting packet.
    pub fn stamp_mut(&mut self, slot: u32) -> &mut S {
        steps::take(1);
        &mut self.slots[slot as usize].stamp
    }

    /// The flow's first waiting packet.
    pub fn head(&self, flow: u32) -> Option<&Slot<M, P, S>> {
        steps::take(1);
        self.slots.get(self.flows[flow as usize].head as usize)
    }

    /// What was set up of the flow's weights, without limit.
    pub fn weights(&self, flow: u32) -> FlowConfig<M> {
        let FlowRecord { weight, weight_on, .. } = self.flow(flow);
        let weight_on = weight_on.as_ref().map(|on| core::array::from_fn(|r| on[r]));
        FlowConfig { weight: *weight, weight_on, limit: Limit::default() }
    }

    /// A new flow, for a discipline that gives it this weight.
    pub(crate) fn add_flow(&mut self, config: FlowConfig<M>, weight: Weight) -> FlowId {
        let record = |generation| FlowRecord {
            head: NIL,
            tail: NIL,
            packets: 0,
            generation,
            bytes: 0,
            weight,
            weight_on: config.weight_on.map(|on| Box::from(on.as_slice())),
            most_packets: config.limit.packets,
            most_bytes: config.limit.bytes,
            waiting_time: config.limit.time.map(WaitingTime::new).map(Box::new),
            live: true,
            state: F::default(),
        };
        let index = match self.free_flows.pop() {
            Some(index) => {
                let generation = self.flows[index as usize].generation.wrapping_add(1);
                self.flows[index as usize] = record(generation);
                index
            }
            None => {
                self.flows.push(record(0));
                self.flows.len() as u32 - 1
            }
        };
        self.id(index)
    }

    /// Set the flow up anew, for a discipline that gives it this weight.
    pub(crate) fn set_flow(&mut self, flow: FlowId, config: FlowConfig<M>, weight: Weight) -> Result<(), UnknownFlow> {
        let before = self.get(flow).ok_or(UnknownFlow)?.waiting_time.as_ref().map(|waiting| waiting.limit);
        let record = self.flow_mut(flow.index);
        record.weight = weight;
        record.weight_on = config.weight_on.map(|on| Box::from(on.as_slice()));
        (record.most_packets, record.most_bytes) = (config.limit.packets, config.limit.bytes);
        if config.limit.time != before {
            // A queue that is closed stays so until the changed limit opens it.
            let closed = record.waiting_time.take().is_some_and(|waiting| waiting.is_closed());
            record.waiting_time = config.limit.time.map(WaitingTime::new).map(Box::new);
            self.recount_time(flow.index, closed);
        }
        Ok(())
    }

    /// The limit of the time that waits is new. O(packets of the flow).
    fn recount_time(&mut self, flow: u32, closed: bool) {
        let record = &mut self.flows[flow as usize];
        let Some(waiting) = &mut record.waiting_time else { return };
        let mut at = record.head;
        let slots = &self.slots;
        let costs = (0..record.packets).map(|_| {
            steps::take(1);
            let slot = &slots[at as usize];
            at = slot.next;
            &slot.cost
        });
        waiting.recount(costs, record.packets, closed);
    }

    /// The flow must have no packets left.
    pub(crate) fn remove_flow(&mut self, flow: FlowId) {
        self.flow_mut(flow.index).live = false;
        self.free_flows.push(flow.index);
    }

    /// Why this packet may not join its flow's queue, if so.
    pub(crate) fn refusal(&self, packet: &Packet<M, P>) -> Option<DropReason> {
        let Some(flow) = self.get(packet.flow) else { return Some(DropReason::UnknownFlow) };
        if flow.most_packets.is_some_and(|most| flow.packets >= most) {
            return Some(DropReason::QueuePackets);
        }
        let bytes = flow.bytes + u64::from(packet.size);
        if flow.most_bytes.is_some_and(|most| bytes > most.0) {
            return Some(DropReason::QueueBytes);
        }
        let closed = flow.waiting_time.as_ref().is_some_and(|waiting| waiting.is_closed());
        closed.then_some(DropReason::QueueTime)
    }

    /// Append a packet to its (live) flow's queue; returns its slot.
    pub(crate) fn push(&mut self, packet: Packet<M, P>, stamp: S) -> u32 {
        let Packet { flow, size, cost, payload } = packet;
        let filled = Slot { cost, stamp, size, next: NIL, payload: Some(payload) };
        self.unprocessed += u64::from(filled.needs_no_processing());
        let slot = if self.free_slot == NIL {
            self.slots.push(filled);
            self.slots.len() as u32 - 1
        } else {
            let slot = self.free_slot;
            self.free_slot = self.slots[slot as usize].next;
            self.slots[slot as usize] = filled;
            slot
        };
        let record = &mut self.flows[flow.index()];
        if record.packets == 0 {
            record.head = slot;
        } else {
            self.slots[record.tail as usize].next = slot;
        }
        record.tail = slot;
        record.packets += 1;
        record.bytes += u64::from(size);
        record.count_in(&cost);
        self.packets += 1;
        self.bytes += u64::from(size);
        slot
    }

    /// Take the flow's first packet: its size, cost and payload.
    pub(crate) fn pop(&mut self, flow: u32) -> Option<(u32, ResourceVec<M>, P)> {
        let record = &mut self.flows[flow as usize];
        let at = record.head;
        let slot = self.slots.get_mut(at as usize)?;
        let payload = slot.payload.take()?;
        record.head = slot.next;
        record.packets -= 1;
        record.bytes -= u64::from(slot.size);
        record.count_out(&slot.cost);
        self.unprocessed -= u64::from(slot.needs_no_processing());
        self.packets -= 1;
        self.bytes -= u64::from(slot.size);
        slot.next = self.free_slot;
        self.free_slot = at;
        Some((slot.size, slot.cost, payload))
    }
}
