//! The packets that wait, in one slab, and the flow table. A flow's queue is a list threaded through the slab, so
//! memory follows the packets and nothing is allocated per packet in the steady state.

use alloc::boxed::Box;
use alloc::vec::Vec;

use dovetail_units::{Bytes, Duration, ResourceVec, Weight};

use super::time_limit::WaitingTime;
use crate::contract::{DropReason, FlowConfig, FlowId, LONGEST_TIME, Limit, UnknownFlow};
use crate::discipline::Discipline;
use crate::{steps, touch};

/// No slot.
pub const NIL: u32 = u32::MAX;

/// The flow is among those that are [marked as moved](Queues::mark_moved).
const MOVED: u32 = 1 << 31;
/// So many flows may be marked as moved before they are placed.
const MOST_MOVED: usize = 64;

/// From so many slots on there is room for four times as many when they do not suffice: they are copied for that, since
/// they are aligned, and room that is not used is hardly in memory.
const MANY_SLOTS: usize = 4096;

/// A waiting packet: half a cache line with two resources and a payload of four bytes.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub struct Slot<const M: usize, P> {
    /// Estimated processing times.
    pub cost: ResourceVec<M>,
    /// Length in bytes.
    pub size: u32,
    /// The flow's next packet, or [`NIL`]; in a free slot the next free one.
    pub next: u32,
    payload: Option<P>,
}

impl<const M: usize, P> Slot<M, P> {
    /// One that nothing has used yet.
    const UNUSED: Self = Self { cost: ResourceVec::ZERO, size: 0, next: NIL, payload: None };

    /// Whether the packet passes the first of several resources without needing anything there.
    #[inline]
    pub fn needs_no_processing(&self) -> bool {
        M > 1 && self.cost.iter().next() == Some(&Duration::ZERO)
    }

    /// Whether it does, and its owner says that it may pass now.
    pub(crate) fn may_bypass(&self, may_pass: &mut dyn FnMut(&P) -> bool) -> bool {
        self.needs_no_processing() && self.payload.as_ref().is_some_and(may_pass)
    }
}

/// A packet that no longer waits.
pub(crate) struct Popped<const M: usize, P> {
    pub flow: FlowId,
    pub size: u32,
    pub cost: ResourceVec<M>,
    pub payload: P,
}

/// What every packet touches of its flow: the queue, the weight, and what the discipline keeps for it. The record
/// begins a cache line; 24 bytes of it are not the discipline's.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct FlowRecord<F> {
    /// First waiting packet, or [`NIL`].
    pub head: u32,
    tail: u32,
    /// Packets that wait.
    pub packets: u32,
    /// How many flows had this place before; one more as soon as the flow is removed.
    generation: u32,
    weight: Weight,
    /// So many packets are admitted without a look at the [`Terms`]: none if these have a say. Its highest bit is
    /// [`MOVED`].
    admits: u32,
    /// The discipline's own.
    pub state: F,
}

impl<F> FlowRecord<F> {
    /// The flow's weight, as [`Discipline::weight_of`](crate::discipline::Discipline::weight_of) has it.
    #[inline]
    pub fn weight(&self) -> Weight {
        self.weight
    }

    /// Whether one more packet is admitted without a look at the [`Terms`].
    #[inline]
    fn has_room(&self) -> bool {
        self.packets < self.admits & !MOVED
    }

    /// Whether limits by bytes or time are counted.
    #[inline]
    fn is_counted(&self) -> bool {
        self.admits & !MOVED == 0
    }
}

/// What was set up for a flow and its packets need not touch.
#[derive(Clone, Debug)]
struct Terms {
    /// The weights on the resources, if they were given one by one.
    weight_on: Option<Box<[Weight]>>,
    limits: Option<Limits>,
}

/// The limits of a queue, if there are others than by packets; and what waits.
#[derive(Clone, Debug)]
struct Limits {
    packets: Option<u32>,
    most_bytes: Option<Bytes>,
    bytes: u64,
    time: Option<WaitingTime>,
}

impl Limits {
    /// Of an empty queue; none if the number of packets is all that is limited, and not to none.
    fn of(limit: &Limit) -> Option<Self> {
        let Limit { packets, bytes: most_bytes, time } = *limit;
        let counted = packets == Some(0) || most_bytes.is_some() || time.is_some();
        counted.then(|| Self { packets, most_bytes, bytes: 0, time: time.map(WaitingTime::new) })
    }

    fn refusal(&self, packets: u32, size: u32) -> Option<DropReason> {
        if self.packets.is_some_and(|most| packets >= most) {
            return Some(DropReason::QueuePackets);
        }
        if self.most_bytes.is_some_and(|most| self.bytes + u64::from(size) > most.0) {
            return Some(DropReason::QueueBytes);
        }
        self.time.as_ref().is_some_and(WaitingTime::is_closed).then_some(DropReason::QueueTime)
    }
}

/// All queues: `M` resources, payloads `P`, the discipline's per-flow state `F` and per-packet stamp `S`.
#[derive(Clone, Debug)]
pub struct Queues<const M: usize, P, F, S> {
    slots: Vec<Slot<M, P>>,
    /// By slot, as far as disciplines have stamped them.
    stamps: Vec<S>,
    free_slot: u32,
    flows: Vec<FlowRecord<F>>,
    /// By flow, where there is anything to say.
    terms: Vec<Option<Box<Terms>>>,
    free_flows: Vec<u32>,
    /// Flows that are to be placed anew before the next choice.
    moved: Vec<u32>,
    // Narrower than the bytes: the compiler would add to both at once, and wait for what was written one by one.
    packets: u32,
    bytes: u64,
    /// Packets that need nothing on the first of several resources.
    unprocessed: u32,
}

impl<const M: usize, P, F: Default, S: Copy + Default> Queues<M, P, F, S> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            stamps: Vec::new(),
            free_slot: NIL,
            flows: Vec::new(),
            terms: Vec::new(),
            free_flows: Vec::new(),
            moved: Vec::with_capacity(MOST_MOVED),
            packets: 0,
            bytes: 0,
            unprocessed: 0,
        }
    }

    /// Whether a packet waits, in whichever place, that passes the first of several resources without needing anything
    /// there.
    pub(crate) fn any_needs_no_processing(&self) -> bool {
        self.unprocessed > 0
    }

    /// Packets that wait, in all flows.
    pub fn packets(&self) -> u64 {
        self.packets.into()
    }

    /// Bytes that wait, in all flows.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The flow's record, if the id is of a live flow.
    #[inline]
    pub fn get(&self, flow: FlowId) -> Option<&FlowRecord<F>> {
        self.flows.get(flow.index()).filter(|f| f.generation == flow.generation)
    }

    /// The record at the index of a flow that is live, or was: then with the state that it was left in.
    #[inline]
    pub fn flow(&self, index: u32) -> &FlowRecord<F> {
        steps::take(1);
        &self.flows[index as usize]
    }

    /// The record at a live flow's index.
    #[inline]
    pub fn flow_mut(&mut self, index: u32) -> &mut FlowRecord<F> {
        steps::take(1);
        &mut self.flows[index as usize]
    }

    /// The record at a live flow's index, and its first waiting packet.
    #[inline]
    pub fn flow_and_head(&self, index: u32) -> (&FlowRecord<F>, Option<&Slot<M, P>>) {
        steps::take(2);
        let record = &self.flows[index as usize];
        let head = self.slots.get(record.head as usize);
        (record, head)
    }

    /// The first packet of this flow, or what was charged for those before it, has changed: where it stands among the
    /// others is to be looked at before the next choice, once, however often it changes until then. `D` is the
    /// discipline, which has to [say that it does this](Discipline::MARKS_MOVED), or it does not compile:
    ///
    /// ```compile_fail,E0080
    /// # use dovetail_sched::queues::Queues;
    /// # use dovetail_sched::{Choice, Discipline, FlowConfig, Packet, PerFlow, Scheduler};
    /// # use dovetail_units::{ResourceVec, Time};
    /// struct Silent;
    ///
    /// impl Discipline<1> for Silent {
    /// #     type Flow = ();
    /// #     type Stamp = ();
    /// #     type Note = ();
    ///     // No `const MARKS_MOVED: bool = true;`
    ///     fn arrived<P>(&mut self, _: Time, flow: u32, _: u32, queues: &mut Queues<1, P, (), ()>) {
    ///         queues.mark_moved::<Self>(flow);
    ///     }
    /// #     fn choose<P>(&mut self, _: Time, _: &mut Queues<1, P, (), ()>) -> Choice { Choice::AwaitProgress }
    /// #     fn served<P>(&mut self, _: Time, _: u32, _: &ResourceVec<1>, _: &mut Queues<1, P, (), ()>) {}
    /// #     fn removed<P>(&mut self, _: u32, _: &mut Queues<1, P, (), ()>) {}
    /// }
    /// # let mut scheduler = PerFlow::new(Silent);
    /// # let flow = scheduler.add_flow(FlowConfig::default());
    /// # let cost = ResourceVec::from_nanos([1]);
    /// # let _ = scheduler.enqueue(Time::ZERO, Packet { flow, size: 1, cost, payload: 0_u32 });
    /// ```
    ///
    /// One that wraps another discipline also says what that one says. If it does not, its marks are never looked at:
    /// nobody [places](Discipline::place) these flows, and debug builds panic at the next choice.
    #[inline]
    pub fn mark_moved<D: Discipline<M>>(&mut self, flow: u32) {
        const { assert!(D::MARKS_MOVED, "a discipline that marks flows as moved says so by MARKS_MOVED") }
        let record = &mut self.flows[flow as usize];
        if record.admits & MOVED == 0 {
            record.admits |= MOVED;
            self.moved.push(flow);
        }
    }

    /// A flow that was marked as moved, and is no longer.
    #[inline]
    pub(crate) fn take_moved(&mut self) -> Option<u32> {
        let flow = self.moved.pop()?;
        self.flows[flow as usize].admits &= !MOVED;
        Some(flow)
    }

    /// Whether so many flows are marked as moved that they should be placed.
    #[inline]
    pub(crate) fn many_moved(&self) -> bool {
        self.moved.len() >= MOST_MOVED
    }

    /// The id of the live flow at this index.
    #[inline]
    pub fn id(&self, index: u32) -> FlowId {
        FlowId { index, generation: self.flows[index as usize].generation }
    }

    /// A waiting packet.
    #[inline]
    pub fn slot(&self, slot: u32) -> &Slot<M, P> {
        steps::take(1);
        &self.slots[slot as usize]
    }

    /// Places of flows, in use or free.
    #[inline]
    pub(crate) fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Read ahead the record of a flow, and what the discipline has of it, if there is such a flow.
    #[inline]
    pub(crate) fn touch(&self, flow: u32, discipline: impl Fn(u32, &F)) {
        if let Some(record) = self.flows.get(flow as usize) {
            touch::word(&record.head);
            discipline(flow, &record.state);
        }
    }

    /// Read ahead the last packet of a flow.
    #[inline]
    pub(crate) fn touch_tail(&self, flow: u32) {
        let tail = self.flows.get(flow as usize).and_then(|record| self.slots.get(record.tail as usize));
        tail.iter().for_each(|slot| touch::word(&slot.next));
    }

    /// Read ahead the first packet of a flow.
    #[inline]
    pub(crate) fn touch_head(&self, flow: u32) {
        let head = self.flows.get(flow as usize).and_then(|record| self.slots.get(record.head as usize));
        head.iter().for_each(|slot| touch::word(&slot.next));
    }

    /// Read ahead the packet behind the first one of a flow, which is first when that is served.
    #[inline]
    pub(crate) fn touch_second(&self, flow: u32) {
        let head = self.flows.get(flow as usize).and_then(|record| self.slots.get(record.head as usize));
        let second = head.and_then(|slot| self.slots.get(slot.next as usize));
        second.iter().for_each(|slot| touch::word(&slot.next));
    }

    /// What the discipline has noted of a waiting packet.
    pub fn stamp(&self, slot: u32) -> S {
        self.stamps.get(slot as usize).copied().unwrap_or_default()
    }

    /// What the discipline notes of a waiting packet. It is to note something of every packet, or of none.
    pub fn stamp_mut(&mut self, slot: u32) -> &mut S {
        steps::take(1);
        if self.stamps.len() <= slot as usize {
            self.stamps.resize(slot as usize + 1, S::default());
        }
        &mut self.stamps[slot as usize]
    }

    /// The flow's first waiting packet.
    #[inline]
    pub fn head(&self, flow: u32) -> Option<&Slot<M, P>> {
        steps::take(1);
        self.slots.get(self.flows[flow as usize].head as usize)
    }

    /// What was set up of the flow's weights, without limit.
    pub fn weights(&self, flow: u32) -> FlowConfig<M> {
        let weight_on = self.terms[flow as usize].as_ref().and_then(|terms| terms.weight_on.as_ref());
        let weight_on = weight_on.map(|on| core::array::from_fn(|r| on[r]));
        FlowConfig { weight: self.flow(flow).weight, weight_on, ..FlowConfig::default() }
    }

    /// A new flow, for a discipline that gives it this weight.
    pub(crate) fn add_flow(&mut self, config: FlowConfig<M>, weight: Weight) -> FlowId {
        let index = self.free_flows.pop().unwrap_or(self.flows.len() as u32);
        let generation = self.flows.get(index as usize).map_or(0, |record| record.generation);
        let (head, tail, state) = (NIL, NIL, F::default());
        let record = FlowRecord { head, tail, packets: 0, generation, weight, admits: 0, state };
        match self.flows.get_mut(index as usize) {
            Some(free) => *free = record,
            None => {
                self.flows.push(record);
                self.terms.push(None);
                // So that no removal has to make room.
                self.free_flows.reserve(self.flows.len() - self.free_flows.len());
            }
        }
        self.agree(index, &config, Limits::of(&config.limit));
        self.id(index)
    }

    /// Set the flow up anew, for a discipline that gives it this weight.
    pub(crate) fn set_flow(&mut self, flow: FlowId, config: FlowConfig<M>, weight: Weight) -> Result<(), UnknownFlow> {
        self.get(flow).ok_or(UnknownFlow)?;
        self.flow_mut(flow.index).weight = weight;
        let mut limits = Limits::of(&config.limit);
        let before = self.terms[flow.index()].take().and_then(|terms| terms.limits);
        if let Some(limits) = &mut limits {
            self.recount(flow.index, limits, before.as_ref());
        }
        self.agree(flow.index, &config, limits);
        Ok(())
    }

    fn agree(&mut self, flow: u32, config: &FlowConfig<M>, limits: Option<Limits>) {
        let counted = limits.is_some();
        let weight_on = config.weight_on.map(|on| Box::from(on.as_slice()));
        let is_plain = weight_on.is_none() && limits.is_none();
        self.terms[flow as usize] = if is_plain { None } else { Some(Box::new(Terms { weight_on, limits })) };
        let record = &mut self.flows[flow as usize];
        let most = if counted { 0 } else { config.limit.packets.unwrap_or(u32::MAX) };
        record.admits = most.min(!MOVED) | record.admits & MOVED;
    }

    /// Limits are new: what waits of bytes and time, as far as it was not counted `before`. O(packets of the flow)
    /// then.
    fn recount(&self, flow: u32, limits: &mut Limits, before: Option<&Limits>) {
        let record = &self.flows[flow as usize];
        let slot = |at: u32| self.slots.get(at as usize);
        let waiting = core::iter::successors(slot(record.head), |before| slot(before.next));
        let waiting = waiting.inspect(|_| steps::take(1));
        let time_before = before.and_then(|before| before.time.as_ref());
        limits.bytes = match before {
            Some(before) => before.bytes,
            None => waiting.clone().map(|slot| u64::from(slot.size)).sum(),
        };
        if let Some(time) = &mut limits.time {
            match time_before {
                Some(before) if before.limit == time.limit => *time = before.clone(),
                // A queue that is closed stays so until the changed limit opens it.
                before => {
                    let closed = before.is_some_and(WaitingTime::is_closed);
                    time.recount(waiting.map(|slot| &slot.cost), record.packets, closed);
                }
            }
        }
    }

    /// The flow must have no packets left.
    pub(crate) fn remove_flow(&mut self, flow: FlowId) {
        let record = self.flow_mut(flow.index);
        record.generation = record.generation.wrapping_add(1);
        self.free_flows.push(flow.index);
    }

    /// Whether a packet of so many bytes may join the flow's queue: how many packets wait there, or why not.
    #[inline]
    pub(crate) fn admit(&self, flow: FlowId, size: u32) -> Result<u32, DropReason> {
        let record = self.get(flow).ok_or(DropReason::UnknownFlow)?;
        if !record.has_room() {
            self.admit_by_terms(flow, record.packets, size)?;
        }
        Ok(record.packets)
    }

    #[cold]
    fn admit_by_terms(&self, flow: FlowId, packets: u32, size: u32) -> Result<(), DropReason> {
        let terms = self.terms[flow.index()].as_ref();
        let limits = terms.and_then(|terms| terms.limits.as_ref()).ok_or(DropReason::QueuePackets)?;
        limits.refusal(packets, size).map_or(Ok(()), Err)
    }

    /// Append a packet to a live flow's queue, longer times than [`LONGEST_TIME`] as that; returns its slot.
    #[inline]
    pub(crate) fn push(&mut self, flow: u32, size: u32, cost: &ResourceVec<M>, payload: P) -> u32 {
        let record = &mut self.flows[flow as usize];
        // Until there is one, so that the compiler need not look once more.
        while self.free_slot as usize >= self.slots.len() {
            // Apart, so that the compiler sees that nothing else changes.
            let mut slots = core::mem::take(&mut self.slots);
            self.free_slot = add_slot(&mut slots);
            self.slots = slots;
        }
        let (slot, slots) = (self.free_slot, self.slots.as_mut_slice());
        let free = &mut slots[slot as usize];
        self.free_slot = free.next;
        // One by one: a whole slot would be read back in larger parts than it had been written.
        free.cost.0.iter_mut().zip(&cost.0).for_each(|(to, &time)| *to = time.min(LONGEST_TIME));
        (free.size, free.next) = (size, NIL);
        free.payload = Some(payload);
        self.packets += 1;
        self.bytes += u64::from(size);
        self.unprocessed += u32::from(free.needs_no_processing());
        if record.packets == 0 {
            record.head = slot;
        } else {
            slots[record.tail as usize].next = slot;
        }
        record.tail = slot;
        record.packets += 1;
        if record.is_counted() {
            let cost = slots[slot as usize].cost;
            count_in(self.terms[flow as usize].as_deref_mut(), cost, size, record.packets);
        }
        slot
    }

    /// Take the flow's first packet.
    // Always, so that it is written where it is to stand.
    #[inline(always)]
    pub(crate) fn pop(&mut self, flow: u32) -> Option<Popped<M, P>> {
        let record = &mut self.flows[flow as usize];
        let at = record.head;
        let slot = self.slots.get_mut(at as usize)?;
        let payload = slot.payload.take()?;
        let (size, cost) = (slot.size, ResourceVec(core::array::from_fn(|r| slot.cost.0[r])));
        self.unprocessed -= u32::from(slot.needs_no_processing());
        record.head = core::mem::replace(&mut slot.next, self.free_slot);
        self.free_slot = at;
        record.packets -= 1;
        let generation = record.generation;
        if record.is_counted() {
            count_out(self.terms[flow as usize].as_deref_mut(), cost, size, record.packets);
        }
        self.packets -= 1;
        self.bytes -= u64::from(size);
        Some(Popped { flow: FlowId { index: flow, generation }, size, cost, payload })
    }
}

/// A packet of these times and so many bytes has joined the flow of these terms, in which so many wait now.
#[cold]
fn count_in<const M: usize>(terms: Option<&mut Terms>, cost: ResourceVec<M>, bytes: u32, packets: u32) {
    if let Some(limits) = terms.and_then(|terms| terms.limits.as_mut()) {
        limits.bytes += u64::from(bytes);
        limits.time.iter_mut().for_each(|time| time.count_in(&cost, packets));
    }
}

/// A packet of these times and so many bytes has left the flow of these terms, in which so many wait now.
#[cold]
fn count_out<const M: usize>(terms: Option<&mut Terms>, cost: ResourceVec<M>, bytes: u32, packets: u32) {
    if let Some(limits) = terms.and_then(|terms| terms.limits.as_mut()) {
        limits.bytes -= u64::from(bytes);
        limits.time.iter_mut().for_each(|time| time.count_out(&cost, packets));
    }
}

/// All slots are in use: one more, which is free.
#[cold]
fn add_slot<const M: usize, P>(slots: &mut Vec<Slot<M, P>>) -> u32 {
    let slot = slots.len();
    if slot == slots.capacity() && slot >= MANY_SLOTS {
        slots.reserve(3 * slot);
    }
    slots.push(Slot::UNUSED);
    slot as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Served, Ticket};
    use crate::discipline::Discipline;

    /// Cache lines of a flow's record under the discipline.
    fn lines<D: Discipline<2>>() -> usize {
        size_of::<FlowRecord<D::Flow>>() / 64
    }

    /// A growth here costs a cache line per packet; it should be on purpose.
    #[test]
    fn what_every_packet_touches_is_small() {
        assert_eq!((size_of::<Slot<1, u32>>(), size_of::<Slot<2, u32>>(), size_of::<Slot<4, u32>>()), (32, 32, 64));
        assert_eq!((size_of::<Ticket<2>>(), size_of::<Served<2, u32>>()), (48, 56));
        let by_name = |name| match name {
            "fifo" => lines::<crate::fifo::Fifo>(),
            "codel" => lines::<crate::codel::Codel>(),
            "fq_codel" => lines::<crate::codel::fair::FqCodel>(),
            "drr" => lines::<crate::drr::Drr>(),
            "cbcs" => lines::<crate::cbcs::Cbcs>(),
            "mr3" => lines::<crate::mr3::Mr3>(),
            "gmr3" => lines::<crate::gmr3::Gmr3>(),
            "tradeoff" => lines::<crate::tradeoff::Tradeoff>(),
            "drgps" => lines::<crate::drgps::Drgps<2>>(),
            "drfq" => lines::<crate::drfq::Drfq<2>>(),
            "pcfq" => lines::<crate::pcfq::Pcfq>(),
            "sfq" => lines::<crate::sfq::Sfq>(),
            "scfq" => lines::<crate::scfq::Scfq>(),
            "wfq" => lines::<crate::wfq::Wfq>(),
            "wf2q+" => lines::<crate::wf2q_plus::Wf2qPlus>(),
            "bf" => lines::<crate::bottleneck::Bottleneck<2>>(),
            "atfq" => lines::<crate::atfq::Atfq<2>>(),
            _ => usize::MAX,
        };
        let few = |name| match name {
            "fifo" | "codel" | "drr" | "cbcs" | "mr3" | "gmr3" | "tradeoff" | "drfq" | "sfq" | "scfq" | "pcfq"
            | "bf" => 1,
            _ => 2,
        };
        for entry in crate::catalog() {
            assert!(by_name(entry.name) <= few(entry.name), "{}: {} lines", entry.name, by_name(entry.name));
        }
    }
}
