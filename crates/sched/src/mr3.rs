//! `mr3`: multi-resource round robin (Wang, Li, Liang, ICNP 2013).
//!
//! Shares: equal (weighted) dominant service, by rounds in which every backlogged flow has one turn.
//!
//! * Parameters: `progress` = `started` (default), `finished` or `none`: what the packets of a flow's turn before must
//!   have done on the last resource before its next turn begins. `newcomers` = `pay` (default): a flow that becomes
//!   backlogged has one packet in its first turn, and what a flow that leaves has had in excess counts for MaxEC; or
//!   `free`, as published: neither.
//! * Weights: one for all resources, [`FlowConfig::weight`](crate::FlowConfig::weight). Weights that differ by resource
//!   are ignored.
//! * Cost per packet: O(1).
//! * Longest call: passes over 64 flows in debt; the next flow then has a packet in spite of its debt, and owes that
//!   too.
//! * A flow can gain: at most 1.05 times its share by any of the strategies listed in [`gain`](crate::gain), if its
//!   estimates are right or it stays: from its first turn to its last it has at most the sum of the MaxEC of these
//!   rounds, and who stays gets that sum in the rounds after. With `newcomers=free` a flow that empties its queue of
//!   two packets and refills it gets 2.0 times its rivals' service, and a stream of new flows 1.9 times, or with larger
//!   packets than theirs as many times as these are larger. Nobody pays for underestimated packets of flows that are
//!   removed before they are measured: by being removed and added a flow gains the factor by which they are, if its
//!   packets are longer than its rivals'.
//! * Guarantees for equal weights and flows whose dominant resource does not change, with L the longest time of any
//!   packet on any resource, m resources of one server each and n flows: service on the dominant resources of two flows
//!   that are both backlogged differs by at most 6 L over any interval (m up to 3; beyond, (m + 3) L); a flow that
//!   becomes backlogged has its first packet in the first resource within 2 (m + n - 1) L; a packet leaves the last
//!   resource within (4 m + 4 n - 2) L of becoming the first in its queue. With weights, the long-run services are in
//!   proportion, but the delay grows with the sum of the weights over the smallest one: see [`gmr3`](crate::gmr3).
//! * Not work conserving where it waits for progress: with few flows the busiest resource idles a little. A flow that
//!   is alone waits less (`progress_control`).
//! * Example: `mr3`, `mr3:progress=finished`.
//!
//! Flow i has EC_i, by how much its last turn exceeded what it was due, and w_i its weight:
//!
//! ```text
//! turn in round k:  B_i = w_i * MaxEC(k-1) - EC_i
//!                   while B_i >= 0 and packets wait: serve the first one, B_i -= its dominant time
//!                   EC_i = -B_i; the flow leaves the rounds when none waits
//! MaxEC(k)        = max of EC_i / w_i over the turns of round k, or 0
//! return          EC_i = max(EC_i, 0) if before the next round, else w_i * MaxEC(k-1) in its first turn, so B_i = 0
//! newcomers=free  EC_i = 0 on leaving, and does not count for MaxEC
//! ```
//!
//! All of it is kept divided by the weight, as virtual time: EC_i / w_i, and a packet costs its dominant time / w_i.
//! Then weights appear nowhere else, and need no scaling to a smallest weight of 1: a common factor cancels. The unit
//! is 2^-22 ns with an exact remainder (see [`tag`](crate::tag)). Values are bounded by what the packets of one turn
//! cost, not by uptime.
//!
//! Differences from the paper, with reasons. The text of the paper was not at hand. The algorithm follows its abstract
//! and published descriptions.
//! * As published, a flow that leaves is forgiven what its last turn exceeded, and one that comes has B_i = w_i *
//!   MaxEC(k-1) in its first turn, as if it had waited. Both can be had in every turn, by emptying the queue at the
//!   right moment or with ever new flows. With `newcomers=pay` a new flow stands as the one that is furthest ahead. All
//!   bounds hold, since 0 <= EC_i <= w_i * MaxEC(k-1).
//! * Whether the packets of the turn before must have started or finished on the last resource is open: `progress` says
//!   which. The bounds held under both in all measurements; `started` keeps resources busier.
//! * A round begins with its first packet: flows that come while its first turn waits for progress still belong to it.
//! * Packets count as outstanding also if their flow's queue became empty meanwhile: a flow that comes and goes with
//!   every packet is held back as well.
//! * A flow that is alone may have one packet in the pipeline for every server, and with `newcomers=pay` one packet in
//!   a turn. Waiting for each would leave resources idle to nobody's benefit. A flow that comes then finds m packets
//!   before it, and two turns of the other go before its second one: 3 L more than its own, so the fairness bound of 6
//!   L holds up to m = 3 (beyond: (m + 3) L). With `newcomers=free` the new flow's first turn is longer, and 6 L holds
//!   up to m = 4; without this exception no search found more than 4 L.
//! * Measured costs: EC_i is corrected. If it grows beyond what a turn yields (B_i < 0), the flow passes that turn; if
//!   it falls below zero, the flow has the difference in its next turn. What packets took less that were served before
//!   the flow last became backlogged anew does not count. A packet counts at least 1 ns, so that every turn ends.
//! * When no packet waits, MaxEC is forgotten.

use dovetail_units::{ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Resources, Shape, Weights};
use crate::contract::{Progress, Ticket, Took};
use crate::discipline::{Choice, Discipline};
use crate::gain::AS_TOLD;
use crate::newcomers::{self, Newcomers};
use crate::one_resource::charged;
use crate::progress_control::{Control, Outstanding, PARAMETER, Sent};
use crate::promise::{Counted, Promise};
use crate::queues::{Links, List, Queues};
use crate::spec::{Spec, SpecError};
use crate::steps;
use crate::tag::virtual_time;
use crate::touch::{Ahead, BY_TURNS, Worth};
use crate::turns::rescaled;

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "mr3",
    summary: "Multi-resource round robin",
    shares: "equal dominant service by weight, in rounds of one turn per flow",
    resources: Resources::Any,
    parameters: &[PARAMETER, newcomers::PARAMETER],
    complexity: "O(1)",
    worst_call: "O(1); passes over at most 64 flows in debt",
    gains: &[AS_TOLD],
    guarantee: "|D_i - D_j| <= 6L up to m = 3, else (m+3)L; start-up <= 2(m+n-1)L; packet delay <= (4m+4n-2)L, for \
        equal weights",
    weights: Weights::One,
    work_conserving: "nearly: it waits for packets in the pipeline",
    costs: "when a packet is served; corrected by measurement",
    paper: "Wang et al., ICNP 2013",
    brief: Brief {
        fairness: "dominant resource",
        longest_call: "O(1) x 64",
        work_conserving: "nearly",
        costs_ahead: "no",
        paper: "ICNP 2013",
    },
    promise: Promise::by_rounds(Counted::Dominant),
    facts: &[],
};

/// Turns that flows in debt pass in one call, at most.
const MOST_PASSED: u32 = 64;

/// A flow's place in the rounds. Packed, so that the record of a flow is one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, packed(8))]
pub struct Standing {
    /// EC / w in ticks, far from the ends of the range ([`turns`](crate::turns)); below zero, what measurements gave
    /// back, and what a flow that has left did not use.
    excess: i128,
    /// The round of its next turn.
    due: u64,
    /// What its packets took below a tick, in thousandths of the weight.
    part: u32,
    /// How often it became backlogged anew; wraps.
    activation: u32,
    /// Whether it has had no turn since.
    new: bool,
}

impl Standing {
    /// Ticks for so many nanoseconds.
    #[inline]
    fn take(&mut self, nanos: i64, weight: Weight) -> i128 {
        let (ticks, part) = virtual_time(nanos, weight, self.part);
        self.part = part;
        ticks
    }
}

type FlowQueues<const M: usize, P> = Queues<M, P, Standing, ()>;

/// Multi-resource round robin.
#[derive(Clone, Debug)]
pub struct Mr3 {
    newcomers: Newcomers,
    outstanding: Outstanding,
    links: Links,
    /// Backlogged flows in the order of their turns.
    backlogged: List,
    round: u64,
    /// MaxEC of this round, so far.
    most: i128,
    /// MaxEC of the round before.
    most_before: i128,
    /// Whether the turn of the first flow is under way.
    under_way: bool,
    /// B / w of the first flow then.
    balance: i128,
}

impl Mr3 {
    /// A round robin for a pipeline of this shape.
    pub fn new(control: Control, newcomers: Newcomers, shape: Shape) -> Self {
        Self {
            newcomers,
            outstanding: Outstanding::new(control, shape),
            links: Links::default(),
            backlogged: List::default(),
            round: 0,
            most: 0,
            most_before: 0,
            under_way: false,
            balance: 0,
        }
    }

    pub(crate) fn from_spec(spec: &Spec, shape: Shape) -> Result<Self, SpecError> {
        Ok(Self::new(Control::from_spec(spec)?, Newcomers::from_spec(spec)?, shape))
    }

    #[inline]
    fn newcomers_pay(&self) -> bool {
        self.newcomers == Newcomers::Pay
    }

    /// The first flow's turn begins, and with the first turn a round.
    #[inline]
    fn begin_turn(&mut self, flow: u32, standing: &mut Standing) -> i128 {
        if standing.due != self.round {
            self.round = standing.due;
            self.most_before = core::mem::take(&mut self.most);
        }
        self.outstanding.begin(flow);
        let alone = self.newcomers_pay() && self.backlogged.len() == 1;
        if core::mem::take(&mut standing.new) || alone {
            standing.excess = standing.excess.max(self.most_before);
        }
        self.most_before.wrapping_sub(standing.excess)
    }

    /// The first flow's turn is over.
    #[inline]
    fn end_turn(&mut self, balance: i128, standing: &mut Standing) {
        standing.excess = balance.wrapping_neg();
        standing.due = self.round + 1;
        self.under_way = false;
        self.count(standing);
    }

    /// The first flow's turn is over and packets of it wait.
    #[inline]
    fn end_turn_of_backlogged(&mut self, balance: i128, standing: &mut Standing) {
        self.end_turn(balance, standing);
        self.links.rotate(&mut self.backlogged);
    }

    /// A flow that has had its turn of this round counts for its MaxEC.
    #[inline]
    fn count(&mut self, standing: &Standing) {
        self.most = self.most.max(standing.excess);
    }

    #[inline]
    fn leave(&mut self, flow: u32) {
        if self.backlogged.first() == Some(flow) {
            self.under_way = false;
        }
        self.links.remove(&mut self.backlogged, flow);
        if self.backlogged.is_empty() {
            // Nobody returns in time to another round.
            self.round += 1;
            (self.most, self.most_before) = (0, 0);
        }
    }

    /// Whether a correction of a packet counts that was sent so, and takes so much more.
    #[inline]
    fn counts(&self, sent: Sent, packets: u32, standing: &Standing, more: i64) -> bool {
        let same = standing.activation == sent.activation;
        match self.newcomers {
            Newcomers::Free => packets > 0 && same,
            Newcomers::Pay => same || more > 0,
        }
    }
}

#[inline]
fn charge<const M: usize>(cost: &ResourceVec<M>) -> i64 {
    charged(cost.dominant_time())
}

impl<const M: usize> Discipline<M> for Mr3 {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    const READS_AHEAD: Worth = BY_TURNS;

    type Flow = Standing;
    type Stamp = ();
    type Note = Sent;

    #[inline]
    fn touch(&self, flow: u32, _standing: &Standing) {
        self.outstanding.touch(flow);
    }

    #[inline]
    fn ahead(&self, packets: usize, ahead: &mut Ahead) {
        self.links.ahead(&self.backlogged, packets, ahead);
    }

    #[inline]
    fn coming(&self, look_at: impl Fn([u32; 3])) {
        self.links.coming(&self.backlogged).into_iter().for_each(look_at);
    }

    #[inline]
    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        if record.head != slot {
            return;
        }
        let standing = &mut record.state;
        standing.excess = standing.excess.max(0);
        if !self.newcomers_pay() || standing.due != self.round + 1 {
            standing.activation = standing.activation.wrapping_add(1);
            (standing.excess, standing.due, standing.new) = (0, self.round + 1, self.newcomers_pay());
        }
        self.links.push_back(&mut self.backlogged, flow);
    }

    #[inline(always)]
    fn choose<P>(&mut self, _now: Time, queues: &mut FlowQueues<M, P>) -> Choice {
        // Flows in debt pass their turns, each once in a row: the round after, MaxEC covers it.
        let mut passed = 0;
        while let Some(flow) = self.backlogged.first() {
            if self.under_way {
                return Choice::Flow(flow);
            }
            if !self.outstanding.may_begin(flow, self.backlogged.len() == 1, false) {
                break;
            }
            let standing = &mut queues.flow_mut(flow).state;
            let balance = self.begin_turn(flow, standing);
            if balance >= 0 || passed == MOST_PASSED {
                (self.under_way, self.balance) = (true, balance);
            } else {
                steps::take(1);
                passed += 1;
                self.end_turn_of_backlogged(balance, standing);
            }
        }
        Choice::AwaitProgress
    }

    #[inline(always)]
    fn served<P>(&mut self, _now: Time, flow: u32, cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) -> Sent {
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        debug_assert!(self.under_way);
        let balance = self.balance.wrapping_sub(record.state.take(charge(cost), weight));
        self.balance = balance;
        let sent = self.outstanding.sent::<M>(flow, record.state.activation);
        if record.packets == 0 {
            if self.newcomers_pay() {
                self.end_turn(balance, &mut record.state);
            }
            self.leave(flow);
        } else if balance < 0 {
            self.end_turn_of_backlogged(balance, &mut record.state);
        }
        sent
    }

    #[inline]
    fn progressed(&mut self, _now: Time, ticket: &Ticket<M>, resource: usize, event: Progress) {
        self.outstanding.progressed(ticket, resource, event);
    }

    #[inline]
    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut FlowQueues<M, P>) {
        let more = charge(&ticket.charged_with(took)) - charge(&ticket.charged);
        if more == 0 {
            return;
        }
        let record = queues.flow_mut(flow);
        if !self.counts(ticket.note(), record.packets, &record.state, more) {
            return;
        }
        let weight = record.weight();
        let more = record.state.take(more, weight);
        if self.under_way && self.backlogged.first() == Some(flow) {
            self.balance = self.balance.wrapping_sub(more);
            if self.balance < 0 {
                self.end_turn_of_backlogged(self.balance, &mut record.state);
            }
            return;
        }
        let standing = &mut record.state;
        standing.excess = standing.excess.wrapping_add(more);
        // MaxEC of the round before is in use: a flow that has its turn to come shows its debt there. One that has left
        // may never return.
        if (standing.due != self.round || record.packets == 0) && !self.backlogged.is_empty() {
            self.count(standing);
        }
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        let new = record.weight();
        // EC is a time and stays, as B does.
        if self.under_way && self.backlogged.first() == Some(flow) {
            self.balance = rescaled(self.balance, old, new);
        } else {
            let balance = record.state.excess.saturating_neg();
            record.state.excess = rescaled(balance, old, new).saturating_neg();
        }
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        if queues.flow(flow).packets > 0 {
            self.leave(flow);
        }
        self.outstanding.forget(flow);
    }
}
