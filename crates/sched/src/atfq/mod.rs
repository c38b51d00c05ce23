//! `atfq`: active time fairness queueing (Zhang, Li, Guo, Qi, Li, *ATFQ: A Fair and Efficient Packet Scheduling Method
//! in Multi-resource Environments*).
//!
//! Shares: equal (weighted) active time, the time for which a flow alone would keep the pipeline if no packet waited
//! between resources. Packets are taken in scheduling loops, fairly; inside a loop they are ordered so that resources
//! do not wait for each other.
//!
//! * Parameters: `loop` = packets of a loop, from 1 (strictly fair) to 1000; default 20. Instead of it `domain` = the
//!   active time by weight that a loop spans at first, above 0 s, and with that `gamma` = how strictly the domain
//!   adapts itself, 0.001 to 1000000, default 10. `per-flow` = most packets of a flow in a loop, default all (section
//!   III: one). `fill` = `fair` (default), or as published `all`; `newcomers` = `pay` (default), or as published
//!   `free`. `window` = packets inside the pipeline at most, by default two for each backlogged flow or for each packet
//!   of a loop, whichever are more, at least 4 per server; without buffers between resources it makes no difference.
//!   All but `newcomers` are settable while running, from the next loop on; `loop` and `domain` then take the place of
//!   each other.
//! * Weights: one for all resources, [`FlowConfig::weight`](crate::FlowConfig::weight). Weights that differ by resource
//!   are ignored.
//! * Cost per packet: O(log n + log x) for n backlogged flows and loops of x packets. Ordering costs more, though not
//!   more than O(min(x, 32)), with more than two resources ([`insertion`]) and where the packets of a flow differ
//!   ([`merge`]).
//! * Longest call: the one that forms a loop, O(x (log n + min(x, 32))). With the default of 20 packets some 300 steps
//!   at 10^6 flows: 40 us with two resources and mixed packets, 80 us with three, on two busy cores. `domain` takes at
//!   most 40 packets: 50 us. `loop=1000` takes 1 to 5 ms. Corrections are made one by one, and packets of a removed
//!   flow are passed over when their turn in the loop comes.
//! * Guarantees: received active times by weight of two flows that stay backlogged from the same time on, n in all,
//!   differ at the entrance by at most (x / n + 2) L, with L the longest total time of a packet by weight, whatever
//!   their queues hold; in any interval by at most twice that. Stays backlogged who has a packet whenever a loop is
//!   formed. Proofs, and what a flow may gain by lying: `docs/theory/atfq.md`.
//! * A flow can gain: nothing beyond 1.05 by the depth of its queue, new flows, refilling, pauses, small packets first
//!   or false estimates (the most that a search finds is 1.03, by false estimates;
//!   `crates/testkit/tests/atfq_gains.rs`). New flows gain the factor by which their estimates are too low. As
//!   published 17 by a deep queue, 4.0 by removing and adding flows, and with loops of one packet new flows starve all
//!   others.
//! * Work conserving if the window is large enough, and there are buffers between the resources.
//! * Example: `atfq`, `atfq:loop=1`, `atfq:domain=500 us,gamma=20`, `atfq:per-flow=1,fill=all,newcomers=free`.
//!
//! Packet k of a flow of weight w has the finish timestamp ([`active_time`])
//!
//! ```text
//! F_k = F_k-1 + (active time that it adds) / w            equations (2) to (5)
//! F_k = max( V, F_k-1 ) + (its times together) / w        if the flow had neither waiting packets nor any in the
//!                                                         present loop, or nobody had packets in the pipeline;
//!                                                         equations (1) and (2)
//! V   = the largest F of any packet that a loop took
//! ```
//!
//! A loop is formed when a packet is asked for and the last one of the loop before has been handed out, of the packets
//! with the smallest F: x of them, or those with F before the end of the time domain, which begins with the smallest F.
//! Equal ones go to the flow with the lowest index. A loop of x packets ends before the first packet whose
//! flow has already received as much as another flow will have that has no more packets for the loop ([`Fill`]). Two
//! resources: the order is that of Gilmore and Gomory ([`gilmore_gomory`]) after the packet handed out last (equation
//! 9), or after nothing if the pipeline is empty. More: the best of that order, which is the best of all where the
//! paper proves it, and of [`insertion`].
//!
//! Packets of a flow stay in order: packets that are alike trade places until they are in the order of F, then each
//! flow's packets take the flow's places in turn. If that changes the order, because a flow's packets differ, each
//! flow's packets are merged anew into the others ([`merge`]). Loops of 20 packets of five flows, random times: the
//! first resource is free 0.0 % later than in the best order of all if every flow's packets are alike, and 3.2 % if
//! each packet is different; in the order of F it would be 14 % and 24 % (`crates/testkit/tests/atfq_orders.rs`). The
//! paper's way, at most one packet of each flow in a loop, costs 1.0 % and 8.6 % there, and is unfair as published:
//! once loops have as many packets as there are flows, each flow gets a packet a loop, however long. In the paper's
//! setting of 20 flows ATFQ-20 then has utilisations of 99.9 % and 37 %, not the paper's 96 % and 69 %, which several
//! packets of a flow in a loop do give. With `fill=fair` it is fair, and loops are shorter.
//!
//! Differences from the paper, with reasons:
//! * A loop ends where a flow has no more packets in it. "All the packets in the queue will be processed in one
//!   scheduling loop" gives each flow what its queue holds: of two flows that always have packets, the one with a queue
//!   of 200 gets nine times as much as the one with a queue of 2. `fill=all` is as published.
//! * A flow that becomes backlogged pays for its first packet, its total time, from V on, where the last packet of the
//!   present loop ends. By equation (1) it ends at V: a new flow for every packet is never charged. `newcomers=free` is
//!   as published, with V the largest F of any packet handed out.
//! * Weights: active time counts divided by them.
//! * V is held when the pipeline is empty; the paper maps a flow to 0 then. Flows that were served before would wait
//!   for all that they had used.
//! * A returning flow is mapped to V only if that is more than its own timestamps give. By equation (1) alone, a flow
//!   that sends its next packet when the last is served would have V for each of them, and be served all the time. A
//!   flow whose next packet comes before the next loop goes on where it stands: it may be behind V, by the packets that
//!   others have in the loop.
//! * A loop may begin while packets of the loop before are in the pipeline: equation (9) is about just that.
//! * The threshold is flows * domain / gamma with the domain as given, not its present size. With the present size,
//!   equation (14) has no rest point: the difference grows in proportion to the size, as the threshold does, so that
//!   the size runs off to one side. The difference is the largest one that arises inside the loop by its order, and to
//!   what was served before. A domain above the threshold is halved; else, if it was used up, it grows by an eighth of
//!   what was given. At most 40 packets are in its loop, since one call forms it ([`MOST_OF_DOMAIN`]).
//! * Measured times: when a packet leaves the pipeline, its flow's charge for it is replaced by what it really added. A
//!   packet counts at least 1 ns.

use alloc::vec::Vec;

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::catalog::{self, Brief, Parameter, Resources, Shape, Weights};
use crate::contract::{FlowId, LONGEST_TIME, Progress, Ticket};
use crate::discipline::{Choice, Discipline};
use crate::gain::AS_TOLD;
use crate::newcomers::{self, Newcomers};
use crate::note::{Note, Words};
use crate::promise::{Apart, Counted, Promise};
use crate::queues::{NIL, Queues, TagTournament};
use crate::spec::{Spec, SpecError};
use crate::steps;
use crate::touch::{Ahead, BY_TAGS, Worth};
use crate::window::{self, Inside, Window};

pub mod active_time;
mod chain;
mod extent;
pub mod gilmore_gomory;
pub mod insertion;
pub mod merge;
mod rules;
pub mod sequence;

pub use chain::Chain;
pub use extent::{Extent, MOST_OF_DOMAIN, MOST_PACKETS, TimeDomain};
pub use rules::{Fill, Rules};

use chain::Entry;
use extent::DEFAULT_PACKETS;
use sequence::{Sequenced, Sequencer};

/// A [fact](catalog::Entry::fact): it serves in loops, which let flows differ. How far one reaches under a spec; `None`
/// where flows get what their queues hold.
#[derive(Clone, Copy, Debug)]
pub struct Loops(pub fn(&Spec) -> Option<Reach>);

/// How far a loop reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// So many packets.
    Packets(u64),
    /// So much time of each flow.
    Time(Duration),
}

fn reach(spec: &Spec) -> Option<Reach> {
    let published = spec.value("fill") == Some("all");
    (!published).then(|| looped(spec))
}

fn looped(spec: &Spec) -> Reach {
    let domain = spec.value("domain").and_then(|domain| domain.parse().ok()).map(Reach::Time);
    let packets = || spec.value("loop").and_then(|packets| packets.parse().ok());
    domain.unwrap_or_else(|| Reach::Packets(packets().unwrap_or(DEFAULT_PACKETS as u64)))
}

/// A loop's packets beside what tags allow, each as long as it takes on all resources.
fn apart(spec: &Spec, resources: usize) -> Option<Apart> {
    match looped(spec) {
        Reach::Packets(packets @ ..=20) => Some(Apart::Longest((packets as f64 + 3.0) * resources as f64)),
        _ => None,
    }
}

const WINDOW: Parameter = Parameter {
    default: "two per backlogged flow, or per packet of a loop; at least 4 per server",
    ..window::PARAMETER
};

/// The catalogue's entry.
pub const ENTRY: catalog::Entry = catalog::Entry {
    name: "atfq",
    summary: "Active time fairness queueing",
    shares: "equal active time by weight, in loops whose packets are ordered to keep the resources busy",
    resources: Resources::Any,
    parameters: &[
        Parameter {
            name: "loop",
            value: "packets, 1 to 1000",
            default: "20",
            meaning: "packets in a scheduling loop: 1 is strictly fair, more leave less capacity idle",
            settable: true,
        },
        Parameter {
            name: "domain",
            value: "a time above 0 s, instead of loop",
            default: "-",
            meaning: "active time by weight that a scheduling loop spans at first; it then adapts itself",
            settable: true,
        },
        Parameter {
            name: "gamma",
            value: "a number from 0.001 to 1000000, with domain",
            default: "10",
            meaning: "the domain shrinks when active times differ by more than flows * domain / gamma",
            settable: true,
        },
        Parameter {
            name: "per-flow",
            value: "packets, 1 and more",
            default: "all",
            meaning: "most packets of one flow in a loop",
            settable: true,
        },
        Parameter {
            name: "fill",
            value: "fair | all",
            default: "fair",
            meaning: "fair: a loop ends where a flow has no more packets; all, as published: it takes all that wait, \
                so that deep queues take everything",
            settable: true,
        },
        newcomers::PARAMETER,
        WINDOW,
    ],
    complexity: "O(log n + log x)",
    worst_call: "forms a loop of x packets: O(x log n), and O(x min(x, 32)) for its order if packets of a flow differ \
        or there are more than two resources; x is 20 by default",
    gains: &[AS_TOLD],
    guarantee: "active times by weight of n busy flows differ by at most (x/n + 2)L at the entrance, whatever the \
        queues hold; L: the longest total time of a packet by weight",
    weights: Weights::One,
    work_conserving: "if the window is large enough",
    costs: "when a loop is formed; corrected by measurement",
    paper: "Zhang et al., ATFQ, sections III and IV",
    brief: Brief {
        fairness: "active time",
        longest_call: "O(x log n)",
        work_conserving: "if the window allows",
        costs_ahead: "yes",
        paper: "Zhang et al.",
    },
    promise: Promise { apart, ..Promise::by_rounds(Counted::Active) },
    facts: &[&Loops(reach)],
};

/// A packet of the loop.
#[derive(Clone, Copy, Debug)]
struct Looped<const M: usize> {
    flow: FlowId,
    cost: ResourceVec<M>,
    /// What its flow had received before it, and has with it: F.
    start: u128,
    finish: u128,
    /// What it adds to its flow's active time, in ns.
    charged: u64,
    epoch: u32,
}

impl<const M: usize> Sequenced<M> for Looped<M> {
    fn flow(&self) -> u32 {
        self.flow.index
    }

    fn cost(&self) -> &ResourceVec<M> {
        &self.cost
    }
}

/// Active time fairness queueing over `M` resources.
#[derive(Clone, Debug)]
pub struct Atfq<const M: usize> {
    rules: Rules,
    inside: Inside,
    /// V: the largest F of any packet that a loop took, or, as published, that was handed out.
    virtual_time: u128,
    /// Flows with packets outside the loop, by F of the first of these.
    outside: TagTournament,
    /// Flows with packets, in the loop or not.
    backlogged: usize,
    /// Loops so far.
    loops: u64,
    /// Packets of the last loop of which one was handed out.
    fed: usize,
    /// The loop's packets by F.
    looped: Vec<Looped<M>>,
    /// Those of them that are not handed out yet, the next one last.
    order: Vec<u32>,
    /// Flows that have all the packets in the loop that they may, and more outside.
    held: Vec<u32>,
    /// The packet handed out last.
    previous: ResourceVec<M>,
    sequencer: Sequencer,
}

type FlowQueues<const M: usize, P> = Queues<M, P, Chain<M>, ()>;

impl<const M: usize> Atfq<M> {
    /// Loops by these rules, and so many packets inside the pipeline.
    pub fn new(rules: Rules, window: Window) -> Self {
        Self {
            rules,
            inside: Inside::new(window),
            virtual_time: 0,
            outside: TagTournament::default(),
            backlogged: 0,
            // None has taken anything of a new flow.
            loops: 1,
            fed: 0,
            looped: Vec::new(),
            order: Vec::new(),
            held: Vec::new(),
            previous: ResourceVec::ZERO,
            sequencer: Sequencer::default(),
        }
    }

    pub(crate) fn from_spec(spec: &Spec, shape: Shape) -> Result<Self, SpecError> {
        let window = spec.value(WINDOW.name);
        let window = window.map_or(Ok(Window::of_shape(shape)), Window::parse)?;
        Ok(Self::new(Rules::from_spec(spec)?, window))
    }

    /// What bounds the next loop.
    pub fn extent(&self) -> Extent {
        self.rules.extent
    }

    /// The flow's first packet outside the loop, were it to enter it.
    fn entry<P>(&self, flow: u32, queues: &FlowQueues<M, P>) -> Option<Entry> {
        let record = queues.flow(flow);
        let first = record.state.first_outside;
        (first != NIL).then(|| record.state.entry(&queues.slot(first).cost, record.weight(), self.rules.newcomers))
    }

    /// Put the flow among those with packets outside the loop, by the F of the first; or take it out.
    #[inline]
    fn place<P>(&mut self, flow: u32, queues: &FlowQueues<M, P>) {
        match self.entry(flow, queues) {
            Some(entry) => self.outside.set(flow, entry.finish.ticks()),
            None => self.outside.remove(flow),
        }
    }

    /// The flow's first packet outside the loop enters it. Whether it is the last one that can.
    fn take<P>(&mut self, flow: u32, entry: &Entry, queues: &mut FlowQueues<M, P>) -> bool {
        let slot = queues.slot(queues.flow(flow).state.first_outside);
        let (cost, next) = (slot.cost, slot.next);
        let chain = &mut queues.flow_mut(flow).state;
        let epoch = chain.enter(entry, cost, next, self.rules.newcomers);
        chain.taken = if chain.in_loop == self.loops { chain.taken.saturating_add(1) } else { 1 };
        chain.in_loop = self.loops;
        let full = u32::from(chain.taken) >= self.rules.per_flow;
        let (start, finish) = (entry.start, entry.finish.ticks());
        self.looped.push(Looped { flow: queues.id(flow), cost, start, finish, charged: entry.charged, epoch });
        if self.rules.newcomers == Newcomers::Pay {
            self.virtual_time = self.virtual_time.max(finish);
        }
        if next != NIL && full {
            self.outside.remove(flow);
            self.held.push(flow);
        } else {
            self.place(flow, queues);
        }
        full || next == NIL
    }

    /// Form the next loop: all packets of the loop before are handed out.
    fn form<P>(&mut self, queues: &mut FlowQueues<M, P>) {
        self.looped.clear();
        self.loops += 1;
        let Some((first, _)) = self.outside.peek() else { return };
        let (end, most) = self.rules.extent.limits(first);
        let fair = self.rules.fill == Fill::Fair && matches!(self.rules.extent, Extent::Packets(_));
        let received = self.virtual_time;
        // Where the first flow stands that has no more packets in the loop.
        let mut exhausted = u128::MAX;
        while let Some((finish, flow)) = self.outside.peek().filter(|_| self.looped.len() < most) {
            steps::take(1);
            let Some(entry) = self.entry(flow, queues).filter(|e| finish < end && e.start < exhausted) else { break };
            if self.take(flow, &entry, queues) && fair {
                exhausted = exhausted.min(finish);
            }
        }
        while let Some(flow) = self.held.pop() {
            self.place(flow, queues);
        }
        if self.inside.is_empty() {
            self.previous = ResourceVec::ZERO;
        }
        self.sequencer.order(&self.looped, &self.previous, &mut self.order);
        let (difference, flows) = (self.difference(received), self.backlogged);
        if let Extent::Domain(domain) = &mut self.rules.extent {
            domain.adapt(difference, flows, !self.outside.is_empty() && self.looped.len() < most);
        }
        self.order.reverse();
    }

    /// The most by which, while the loop's packets are handed out in order, what one flow has received exceeds what
    /// another one has whose packet is still to come; `received` is the most that one has before.
    fn difference(&self, received: u128) -> u128 {
        let (mut most, mut difference) = (received, 0);
        for packet in self.order.iter().map(|&k| &self.looped[k as usize]) {
            difference = difference.max(u128::saturating_sub(most, packet.start));
            most = most.max(packet.finish);
        }
        difference
    }

    /// Whether the pipeline has room for one more packet. By default it takes the packets of two loops, so that of two
    /// orders, each good for its loop, the first resource can be as far ahead of the last one as they have it.
    fn has_room(&self) -> bool {
        let packets = match self.rules.extent {
            Extent::Packets(packets) => packets,
            Extent::Domain(_) => self.fed,
        };
        self.inside.has_room(self.backlogged.max(packets))
    }
}

/// What a packet was charged, in ns, and in which mapping of its flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Charged {
    nanos: u64,
    mapping: u32,
}

impl<const M: usize> Note<M> for Charged {
    #[inline]
    fn write(self) -> Words<M> {
        Words::of(self.nanos, self.mapping)
    }
    #[inline]
    fn read(words: Words<M>) -> Self {
        Self { nanos: words.first(), mapping: words.rest }
    }
}

impl<const M: usize> Discipline<M> for Atfq<M> {
    const LISTED: Option<&'static crate::catalog::Entry> = Some(&ENTRY);

    const READS_AHEAD: Worth = BY_TAGS;

    type Flow = Chain<M>;
    type Stamp = ();
    type Note = Charged;

    #[inline]
    fn touch(&self, flow: u32, chain: &Chain<M>) {
        self.outside.touch(flow);
        chain.touch();
    }

    #[inline]
    fn ahead(&self, packets: usize, ahead: &mut Ahead) {
        let in_loop = self.order.iter().rev().take(packets);
        in_loop.for_each(|&k| ahead.push(self.looped[k as usize].flow.index));
        self.outside.ahead(packets.saturating_sub(self.order.len()), ahead);
    }

    #[inline]
    fn coming(&self, look_at: impl Fn([u32; 3])) {
        let coming = match *self.order.as_slice() {
            [.., later, sooner, soon, _] => Some([later, sooner, soon].map(|k| self.looped[k as usize].flow.index)),
            _ => self.outside.coming(),
        };
        coming.into_iter().for_each(look_at);
    }

    #[inline]
    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        let chain = &mut record.state;
        if record.head == slot {
            // After nothing was to do at all the present loop is over too.
            self.loops += u64::from(self.backlogged == 0 && self.inside.is_empty());
            self.backlogged += 1;
            // A flow that had packets in the present loop has been backlogged throughout, as far as loops are
            // concerned.
            if self.rules.newcomers == Newcomers::Free || chain.in_loop != self.loops {
                chain.returns(self.virtual_time);
            }
        }
        if chain.first_outside == NIL {
            chain.first_outside = slot;
            self.place(flow, queues);
        }
    }

    #[inline]
    fn choose<P>(&mut self, _now: Time, queues: &mut FlowQueues<M, P>) -> Choice {
        if !self.has_room() {
            return Choice::AwaitProgress;
        }
        // Packets of flows that were removed are in the loop still.
        let flow_of = |k: u32| self.looped[k as usize].flow;
        while self.order.last().is_some_and(|&k| queues.get(flow_of(k)).is_none()) {
            steps::take(1);
            self.order.pop();
        }
        if self.order.is_empty() {
            self.form(queues);
        }
        let next = self.order.last().map(|&k| self.looped[k as usize].flow.index);
        next.map_or(Choice::AwaitProgress, Choice::Flow)
    }

    #[inline]
    fn served<P>(&mut self, _now: Time, flow: u32, cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) -> Charged {
        let Some(packet) = self.order.pop().map(|k| self.looped[k as usize]) else {
            return Charged::default();
        };
        self.inside.enter();
        self.fed = self.looped.len();
        self.previous = *cost;
        self.backlogged -= usize::from(queues.flow(flow).packets == 0);
        if self.rules.newcomers == Newcomers::Free {
            self.virtual_time = self.virtual_time.max(packet.finish);
        }
        Charged { nanos: packet.charged, mapping: packet.epoch }
    }

    /// When a packet leaves the pipeline all its times are known, and those of its flow's packet before it.
    #[inline]
    fn progressed_among<P>(
        &mut self,
        _now: Time,
        ticket: &mut Ticket<M>,
        resource: usize,
        event: Progress,
        queues: &mut FlowQueues<M, P>,
    ) {
        if !self.inside.progressed::<M>(resource, event) {
            return;
        }
        let mut cost = ticket.charged;
        if let Progress::Finished { used } = event {
            cost[resource] = used.min(LONGEST_TIME);
        }
        let Some(weight) = queues.get(ticket.flow).map(|record| record.weight()) else { return };
        let Charged { nanos, mapping } = ticket.note();
        let (flow, newcomers) = (ticket.flow.index, self.rules.newcomers);
        if queues.flow_mut(flow).state.leaves(cost, nanos, mapping, weight, newcomers) {
            self.place(flow, queues);
        }
    }

    fn reweighed<P>(&mut self, flow: u32, _old: Weight, queues: &mut FlowQueues<M, P>) {
        self.place(flow, queues);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.backlogged -= usize::from(queues.flow(flow).packets > 0);
        self.outside.remove(flow);
    }

    fn set<P>(&mut self, parameter: &str, value: &str, _queues: &mut FlowQueues<M, P>) -> Result<(), SpecError> {
        if parameter == WINDOW.name {
            self.inside.window = Window::parse(value)?;
            return Ok(());
        }
        self.rules.set(parameter, value)
    }
}
