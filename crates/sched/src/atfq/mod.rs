//! `atfq`: active time fairness queueing (Zhang, Li, Guo, Qi, Li, *ATFQ: A Fair and Efficient Packet Scheduling Method in Multi-resource
//! Environments*).
//!
//! Shares: equal (weighted) active time, the time for which a flow alone would keep the pipeline if no packet waited between resources. Packets are
//! taken in scheduling loops, fairly; inside a loop they are ordered so that resources do not wait for each other.
//!
//! * Parameters: `loop` = packets of a loop, from 1 (strictly fair) to 1000, or fewer if fewer wait; default 20. Instead of it `domain` = the active time
//!   by weight that a loop spans at first, above 0 s, and with that `gamma` = how strictly the domain adapts itself, 0.001 to 1000000, default 10.
//!   `window` = packets inside the pipeline at most, as for [`drfq`](crate::drfq); without buffers between resources it makes no difference. All are
//!   settable while running, from the next loop on; `loop` and `domain` then take the place of each other.
//! * Weights: one for all resources, [`FlowConfig::weight`](crate::FlowConfig::weight); weights that differ by resource are not looked at.
//! * Cost per packet: O(log n + log x) for n backlogged flows and loops of x packets. Ordering costs more, though not more than O(1), with more than two
//!   resources and where the packets of a flow differ ([`insertion`]).
//! * Guarantees: received active times by weight of two flows that stay backlogged, n in all, differ at the entrance by at most (x / n + 3) L, with L the longest
//!   total time of a packet by weight; a newcomer is in the next loop. Proofs, and what a flow may
//!   gain by lying: `docs/theory/atfq.md`.
//! * Work conserving if the window is large enough, and there are buffers between the resources.
//! * Example: `atfq`, `atfq:loop=1`, `atfq:domain=500 us,gamma=20`.
//!
//! Packet k of a flow of weight w has the finish timestamp ([`active_time`])
//!
//! ```text
//! F_k = F_k-1 + (active time that it adds) / w          equations (2) to (5)
//! F_k = max( V, that )                                  if no packet of the flow waited when it came; equation (1)
//! V   = the largest F of any packet handed out
//! ```
//!
//! A loop is formed when a packet is asked for and the last one of the loop before has been handed out, of the packets with the smallest F: x of them, or those with F
//! before the end of the time domain, which begins with the smallest F. Equal ones go to the flow with the lowest index. Two resources: the order is that
//! of Gilmore and Gomory ([`gilmore_gomory`]) after the packet handed out last (equation 9), or after nothing if the pipeline is empty. More: see [`insertion`].
//!
//! Packets of a flow stay in order: packets that are alike trade places until they are in the order of F, then each flow's packets take the flow's places in
//! turn. If that changes the order, because a flow's packets differ, packets are moved to better places between their neighbours of the same flow.
//! Loops of 20 packets of five flows, random times: the first resource is free 0.0 % later than in the best order of all if every flow's packets are
//! alike, and 5.7 % if each packet is different; in the order of F it would be 14 % and 24 % (`crates/testkit/tests/atfq_orders.rs`). The paper's
//! way, at most one packet of each flow in a loop, costs 1.0 % and 8.6 % there, and is unfair: once loops have as many packets as there are flows, each flow
//! gets a packet a loop, however long. In the paper's setting of 20 flows ATFQ-20 then has utilisations of 99.9 % and 37 %, not the paper's 96 % and 69 %,
//! which several packets of a flow in a loop do give.
//!
//! Differences from the paper, with reasons:
//! * Weights: active time counts divided by them.
//! * V is held when the pipeline is empty; the paper maps a flow to 0 then. Flows that were served before would wait for all that they had used.
//! * A returning flow is mapped to V only if that is more than its own timestamps give. By equation (1) alone, a flow that sends its next packet when the last is
//!   served would have V for each of them, and be served all the time.
//! * A loop may begin while packets of the loop before are in the pipeline: equation (9) is about just that.
//! * The threshold is flows * domain / gamma with the domain as given, not its present size. With the present size, equation (14) has no rest point: the difference
//!   grows in proportion to the size, as the threshold does, so that the size runs off to one side. The difference is the largest one that arises inside
//!   the loop by its order. A domain above the threshold is halved; else, if it was used up, it grows by an eighth of what was given. At most 1000 packets
//!   are in a loop.
//! * Measured times: when a packet leaves the pipeline, its flow's charge for it is replaced by what it really added. A packet counts at least 1 ns.

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Parameter, Resources, Shape, Weights};
use crate::contract::{LONGEST_TIME, Progress, Ticket};
use crate::per_flow::{Choice, Discipline};
use crate::queues::{IndexedHeap, NIL, Queues};
use crate::spec::{Spec, SpecError};
use crate::window::{self, Inside, Window};

pub mod active_time;
mod chain;
mod extent;
pub mod gilmore_gomory;
pub mod insertion;
mod measured;
pub mod sequence;

pub use chain::Chain;
pub use extent::{Extent, MOST_PACKETS, TimeDomain};

use alloc::vec::Vec;
use chain::{charge, ticks};
use measured::{Accounts, Correction};
use sequence::{Sequenced, Sequencer};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "atfq",
    summary: "Active time fairness queueing",
    shares: "equal weighted active time, in loops whose packets are ordered to keep the resources busy",
    resources: Resources::Any,
    parameters: &[
        Parameter {
            name: "loop",
            value: "packets, 1 to 1000",
            default: "20",
            meaning: "packets of a scheduling loop: 1 is strictly fair, more waste less",
            settable: true,
        },
        Parameter {
            name: "domain",
            value: "a time above 0 s, instead of loop",
            default: "-",
            meaning: "active time by weight that a scheduling loop spans at first; adapts itself",
            settable: true,
        },
        Parameter {
            name: "gamma",
            value: "a number from 0.001 to 1000000, with domain",
            default: "10",
            meaning: "the domain shrinks when active times differ by more than flows * domain / gamma",
            settable: true,
        },
        window::PARAMETER,
    ],
    complexity: "O(log n + log x) for loops of x packets",
    guarantee: "active times by weight of n flows differ by at most (x/n + 3)L at the entrance, L the longest total time of a packet",
    weights: Weights::One,
    work_conserving: "if the window is large enough",
    costs: "when a loop is formed; corrected by measurement",
    paper: "Zhang et al., ATFQ, sections III and IV",
    brief: Brief {
        fairness: "active time",
        work_conserving: "if the window allows",
        costs_ahead: "yes",
        paper: "Zhang et al.",
    },
};

/// When the virtual time reaches this, all timestamps are lowered by half of it.
const REBASE_AT: u64 = 1 << 63;

/// A packet of the loop.
#[derive(Clone, Copy, Debug)]
struct Looped<const M: usize> {
    flow: u32,
    cost: ResourceVec<M>,
    /// F of the packet, and of its flow's packet before it.
    finish: u64,
    received: u64,
    /// What it adds to its flow's active time, in ns.
    charged: u64,
    epoch: u32,
}

impl<const M: usize> Sequenced<M> for Looped<M> {
    fn flow(&self) -> u32 {
        self.flow
    }

    fn cost(&self) -> &ResourceVec<M> {
        &self.cost
    }
}

/// Active time fairness queueing over `M` resources.
#[derive(Clone, Debug)]
pub struct Atfq<const M: usize> {
    extent: Extent,
    inside: Inside,
    /// The largest F of any packet handed out.
    virtual_time: u64,
    rebase_at: u64,
    rebases: u32,
    /// Flows with packets outside the loop, by F of the first of these.
    outside: IndexedHeap<u64>,
    /// Flows with packets, in the loop or not.
    backlogged: usize,
    /// The loop's packets by F.
    looped: Vec<Looped<M>>,
    /// Those of them that are not handed out yet, the next one last.
    order: Vec<u32>,
    /// The packet handed out last.
    previous: ResourceVec<M>,
    sequencer: Sequencer,
    accounts: Accounts<M>,
}

type FlowQueues<const M: usize, P> = Queues<M, P, Chain<M>, ()>;

impl<const M: usize> Atfq<M> {
    /// Loops of this extent, and so many packets inside the pipeline.
    pub fn new(extent: Extent, window: Window) -> Self {
        Self {
            extent,
            inside: Inside::new(window),
            virtual_time: 0,
            rebase_at: REBASE_AT,
            rebases: 0,
            outside: IndexedHeap::default(),
            backlogged: 0,
            looped: Vec::new(),
            order: Vec::new(),
            previous: ResourceVec::ZERO,
            sequencer: Sequencer::default(),
            accounts: Accounts::default(),
        }
    }

    pub(crate) fn from_spec(spec: &Spec, shape: Shape) -> Result<Self, SpecError> {
        let window = spec.value(window::PARAMETER.name);
        let window = window.map_or(Ok(Window::of_shape(shape)), Window::parse)?;
        Ok(Self::new(Extent::from_spec(spec)?, window))
    }

    /// For tests: lower all timestamps by half of `timestamp` whenever the virtual time reaches it.
    pub fn rebasing_at(mut self, timestamp: u64) -> Self {
        self.rebase_at = timestamp.clamp(2, REBASE_AT);
        self
    }

    /// How often timestamps were lowered; wraps.
    pub fn rebases(&self) -> u32 {
        self.rebases
    }

    /// What bounds the next loop.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// What the flow's first packet outside the loop is charged in ns, and its F without and with the floor.
    fn head<P>(&self, flow: u32, queues: &FlowQueues<M, P>) -> Option<(u64, u64, u64)> {
        let record = queues.flow(flow);
        let chain = &record.state;
        if chain.first_outside == NIL {
            return None;
        }
        let charged = charge(chain.last.as_ref(), &queues.slot(chain.first_outside).cost);
        let finish = chain.finish.saturating_add(ticks(record, charged));
        Some((charged, finish, finish.max(chain.floor)))
    }

    /// Put the flow among those with packets outside the loop, by the F of the first; or take it out.
    fn place<P>(&mut self, flow: u32, queues: &FlowQueues<M, P>) {
        match self.head(flow, queues) {
            Some((_, _, finish)) => self.outside.set(flow, finish),
            None => self.outside.remove(flow),
        }
    }

    /// The flow's first packet outside the loop enters it.
    fn take<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let Some((charged, unmapped, finish)) = self.head(flow, queues) else { return };
        let mapped = finish > unmapped || queues.flow(flow).state.last.is_none();
        let epoch = self.accounts.enters(queues.id(flow), mapped);
        let slot = queues.slot(queues.flow(flow).state.first_outside);
        let (cost, next) = (slot.cost, slot.next);
        let record = queues.flow_mut(flow);
        let received = finish.saturating_sub(ticks(record, charged));
        let chain = &mut record.state;
        if mapped {
            chain.slack = finish - unmapped;
        }
        chain.finish = finish;
        chain.last = Some(cost);
        chain.first_outside = next;
        self.looped.push(Looped { flow, cost, finish, received, charged, epoch });
        self.place(flow, queues);
    }

    /// Form the next loop: all packets of the loop before are handed out.
    fn form<P>(&mut self, queues: &mut FlowQueues<M, P>) {
        while let Some(correction) = self.accounts.pop() {
            self.make(&correction, queues);
        }
        self.looped.clear();
        let Some((first, _)) = self.outside.peek() else { return };
        let (end, most) = self.extent.limits(first);
        let next =
            |outside: &IndexedHeap<u64>| outside.peek().filter(|&(finish, _)| finish < end).map(|(_, flow)| flow);
        while let Some(flow) = next(&self.outside).filter(|_| self.looped.len() < most) {
            self.take(flow, queues);
        }
        if self.inside.is_empty() {
            self.previous = ResourceVec::ZERO;
        }
        self.sequencer.order(&self.looped, &self.previous, &mut self.order);
        let (difference, flows) = (self.difference(), self.backlogged);
        if let Extent::Domain(domain) = &mut self.extent {
            domain.adapt(difference, flows, !self.outside.is_empty() && self.looped.len() < most);
        }
        self.order.reverse();
    }

    /// The most by which, while the loop's packets are handed out in order, what one flow has received exceeds what another one has whose packet is
    /// still to come.
    fn difference(&self) -> u64 {
        let (mut most, mut difference) = (0, 0);
        for packet in self.order.iter().map(|&k| &self.looped[k as usize]) {
            difference = difference.max(u64::saturating_sub(most, packet.received));
            most = most.max(packet.finish);
        }
        difference
    }

    fn make<P>(&mut self, correction: &Correction, queues: &mut FlowQueues<M, P>) {
        if queues.get(correction.flow).is_none() {
            return;
        }
        let flow = correction.flow.index;
        let record = queues.flow_mut(flow);
        let [since, before] = [correction.since_mapping, correction.before_mapping].map(|ns| {
            let ticks = record.virtual_time(Duration::from_nanos(ns.unsigned_abs()), chain::BITS) as i64;
            if ns < 0 { -ticks } else { ticks }
        });
        let chain = &mut record.state;
        // The floor had raised F beyond what the packets before would have made it: they count as far as they exceed that.
        let beyond = before.saturating_sub_unsigned(chain.slack).max(0);
        chain.slack = chain.slack.saturating_add_signed(before.saturating_neg()).min(1 << 62);
        chain.finish = chain.finish.saturating_add_signed(since.saturating_add(beyond));
        self.place(flow, queues);
    }

    /// Lower all timestamps before they could overflow: O(flows), once in some 13 days of active time by weight.
    fn rebase<P>(&mut self, queues: &mut FlowQueues<M, P>) {
        let by = self.rebase_at / 2;
        self.virtual_time = self.virtual_time.saturating_sub(by);
        for record in queues.flows_mut() {
            record.state.finish = record.state.finish.saturating_sub(by);
            record.state.floor = record.state.floor.saturating_sub(by);
        }
        for packet in &mut self.looped {
            packet.finish = packet.finish.saturating_sub(by);
        }
        self.outside.rekey(|finish| finish.saturating_sub(by));
        self.rebases = self.rebases.wrapping_add(1);
    }
}

impl<const M: usize> Discipline<M> for Atfq<M> {
    type Flow = Chain<M>;
    type Stamp = ();

    fn stamp(&mut self, _now: Time) {}

    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        if record.head == slot {
            self.backlogged += 1;
            record.state.floor = self.virtual_time;
        }
        if record.state.first_outside == NIL {
            record.state.first_outside = slot;
            self.place(flow, queues);
        }
    }

    fn choose<P>(&mut self, _now: Time, queues: &mut FlowQueues<M, P>) -> Choice {
        if !self.inside.has_room(self.backlogged) {
            return Choice::AwaitProgress;
        }
        if self.order.is_empty() {
            self.form(queues);
        }
        let next = self.order.last().map(|&k| self.looped[k as usize].flow);
        next.map_or(Choice::AwaitProgress, Choice::Flow)
    }

    fn served<P>(
        &mut self,
        _now: Time,
        flow: u32,
        cost: &ResourceVec<M>,
        queues: &mut FlowQueues<M, P>,
    ) -> ([u64; M], u32) {
        let Some(packet) = self.order.pop().map(|k| self.looped[k as usize]) else { return ([0; M], 0) };
        self.inside.enter();
        self.previous = *cost;
        self.backlogged -= usize::from(queues.flow(flow).packets == 0);
        self.virtual_time = self.virtual_time.max(packet.finish);
        if self.virtual_time >= self.rebase_at {
            self.rebase(queues);
        }
        let mut tags = [0; M];
        tags[..M.min(1)].fill(packet.charged);
        (tags, packet.epoch)
    }

    fn progressed(&mut self, _now: Time, ticket: &Ticket<M>, resource: usize, event: Progress) {
        if self.inside.progressed::<M>(resource, event) {
            let mut cost = ticket.charged;
            if let Progress::Finished { used } = event {
                cost[resource] = used.min(LONGEST_TIME);
            }
            self.accounts.leaves(ticket, cost);
        }
    }

    /// The accounts know it, and when the packet's other times are known.
    fn corrected<P>(
        &mut self,
        _flow: u32,
        _before: &ResourceVec<M>,
        _after: &ResourceVec<M>,
        _queues: &mut FlowQueues<M, P>,
    ) {
    }

    fn reweighed<P>(&mut self, flow: u32, _old: Weight, queues: &mut FlowQueues<M, P>) {
        self.place(flow, queues);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.backlogged -= usize::from(queues.flow(flow).packets > 0);
        self.outside.remove(flow);
        let looped = &self.looped;
        self.order.retain(|&k| looped[k as usize].flow != flow);
    }

    fn set<P>(&mut self, parameter: &str, value: &str, _queues: &mut FlowQueues<M, P>) -> Result<(), SpecError> {
        if parameter == window::PARAMETER.name {
            self.inside.window = Window::parse(value)?;
            return Ok(());
        }
        self.extent.set(parameter, value).unwrap_or_else(|| Err(ENTRY.cannot_change(parameter)))
    }
}
