//! `mr3`: multi-resource round robin (Wang, Li, Liang, ICNP 2013).
//!
//! Shares: equal (weighted) dominant service, by rounds in which every backlogged flow has one turn.
//!
//! * Parameters: `progress` = `started` (default), `finished` or `none`: what the packets of a flow's turn before must have done on the
//!   last resource before its next turn begins.
//! * Weights: one for all resources, [`FlowConfig::weight`](crate::FlowConfig::weight); weights that differ by resource are not looked at.
//! * Cost per packet: O(1).
//! * Guarantees for equal weights and flows whose dominant resource does not change, with L the longest time of any packet on any
//!   resource, m resources of one server each and n flows: service on the dominant resources of two flows that are both backlogged
//!   differs by at most 6 L over any interval (m up to 4); a flow that becomes backlogged has its first packet in the first resource within
//!   2 (m + n - 1) L; a packet leaves the last resource within (4 m + 4 n - 2) L of becoming the first in its queue. With weights, the
//!   long-run services are in proportion, but the delay grows with the sum of the weights over the smallest one: see [`gmr3`](crate::gmr3).
//! * Not work conserving where it waits for progress: with few flows the busiest resource idles a little. A flow that is alone waits less
//!   (`progress_control`).
//! * Example: `mr3`, `mr3:progress=finished`.
//!
//! Flow i has EC_i, by how much its last turn exceeded what it was due, and w_i its weight:
//!
//! ```text
//! turn in round k:  B_i = w_i * MaxEC(k-1) - EC_i
//!                   while B_i >= 0 and packets wait: serve the first one, B_i -= its dominant time
//!                   EC_i = -B_i, or the flow leaves the rounds with EC_i = 0 when none waits
//! MaxEC(k)        = max of EC_i / w_i over the turns of round k, or 0
//! ```
//!
//! All of it is kept divided by the weight, as virtual time: EC_i / w_i, and a packet costs its dominant time / w_i. Then weights
//! appear nowhere else, and need no scaling to a smallest weight of 1: a common factor cancels. The unit is 2^-12 ns. Values are
//! bounded by what the packets of one turn cost, not by uptime.
//!
//! Differences from the paper, with reasons. The text of the paper was not at hand; the algorithm is that of its abstract and of
//! published descriptions of it.
//! * Whether the packets of the turn before must have started or finished on the last resource is open: `progress` says which. The
//!   bounds held under both in all measurements; `started` keeps resources busier.
//! * A round begins with its first packet: flows that come while its first turn waits for progress still belong to it.
//! * Packets count as outstanding also if their flow's queue became empty meanwhile: a flow that comes and goes with every packet is
//!   held back as well.
//! * A flow that is alone may have one packet in the pipeline for every server. Waiting for each would leave resources idle to nobody's
//!   benefit. A flow that comes then finds m packets before it, so the fairness bound of 6 L holds up to m = 4 (beyond: (m + 2) L); without
//!   this exception no search found more than 4 L.
//! * Measured costs: EC_i is corrected. If it grows beyond what a turn yields (B_i < 0), the flow passes that turn; if it falls below
//!   zero, the flow has the difference in its next turn. Packets that were served before the flow last became backlogged do not count,
//!   as an EC_i of then does not. A packet counts at least 2^-12 ns, so that every turn ends.
//! * When no packet waits, MaxEC is forgotten.

use dovetail_units::{ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Resources, Shape, Weights};
use crate::contract::{Progress, Ticket};
use crate::per_flow::{Choice, Discipline};
use crate::progress_control::{Control, Outstanding, PARAMETER};
use crate::queues::{FlowRecord, Links, List, Queues};
use crate::spec::{Spec, SpecError};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "mr3",
    summary: "Multi-resource round robin",
    shares: "equal weighted dominant service, by rounds of one turn per flow",
    resources: Resources::Any,
    parameters: &[PARAMETER],
    complexity: "O(1)",
    guarantee: "|D_i - D_j| <= 6L; start-up <= 2(m+n-1)L; packet delay <= (4m+4n-2)L, for equal weights",
    weights: Weights::One,
    work_conserving: "nearly: waits for progress",
    costs: "at service; corrected by measurement",
    paper: "Wang et al., ICNP 2013",
    brief: Brief { fairness: "dominant resource", work_conserving: "nearly", costs_ahead: "no", paper: "ICNP 2013" },
};

/// Virtual time counts 2^-12 ns.
const BITS: u32 = 12;

/// A flow's place in the rounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// EC / w; below zero, what measurements gave back.
    excess: i64,
    /// The round of its next turn.
    due: u64,
    /// How often it became backlogged; wraps.
    activation: u32,
}

/// Multi-resource round robin.
#[derive(Clone, Debug)]
pub struct Mr3 {
    outstanding: Outstanding,
    links: Links,
    /// Backlogged flows in the order of their turns.
    backlogged: List,
    round: u64,
    /// MaxEC of this round, so far.
    most: i64,
    /// MaxEC of the round before.
    most_before: i64,
    /// B / w of the first flow, while its turn is under way.
    turn: Option<i64>,
    /// The activation in which the packet was served that progress was last reported of.
    reported: u32,
}

impl Mr3 {
    /// A round robin for a pipeline of this shape.
    pub fn new(control: Control, shape: Shape) -> Self {
        Self {
            outstanding: Outstanding::new(control, shape),
            links: Links::default(),
            backlogged: List::default(),
            round: 0,
            most: 0,
            most_before: 0,
            turn: None,
            reported: 0,
        }
    }

    pub(crate) fn from_spec(spec: &Spec, shape: Shape) -> Result<Self, SpecError> {
        Ok(Self::new(Control::from_spec(spec)?, shape))
    }

    /// The first flow's turn begins, and with the first turn a round.
    fn begin_turn(&mut self, flow: u32, standing: Standing) -> i64 {
        if standing.due != self.round {
            self.round = standing.due;
            self.most_before = core::mem::take(&mut self.most);
        }
        self.outstanding.begin(flow);
        self.most_before.saturating_sub(standing.excess)
    }

    /// The first flow's turn is over and packets of it wait.
    fn end_turn(&mut self, flow: u32, balance: i64, standing: &mut Standing) {
        standing.excess = balance.saturating_neg();
        standing.due = self.round + 1;
        self.most = self.most.max(standing.excess);
        self.turn = None;
        self.links.remove(&mut self.backlogged, flow);
        self.links.push_back(&mut self.backlogged, flow);
    }

    fn leave(&mut self, flow: u32) {
        if self.backlogged.first() == Some(flow) {
            self.turn = None;
        }
        self.links.remove(&mut self.backlogged, flow);
        if self.backlogged.is_empty() {
            (self.most, self.most_before) = (0, 0);
        }
    }
}

fn charge<const M: usize>(record: &FlowRecord<Standing>, cost: &ResourceVec<M>) -> i64 {
    // At most 2^60.
    record.virtual_time(cost.dominant_time(), BITS).max(1) as i64
}

impl<const M: usize> Discipline<M> for Mr3 {
    type Flow = Standing;
    type Stamp = ();

    fn stamp(&mut self, _now: Time) {}

    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut Queues<M, P, Standing, ()>) {
        let record = queues.flow_mut(flow);
        if record.head == slot {
            let activation = record.state.activation.wrapping_add(1);
            record.state = Standing { excess: 0, due: self.round + 1, activation };
            self.links.push_back(&mut self.backlogged, flow);
        }
    }

    fn choose<P>(&mut self, _now: Time, queues: &mut Queues<M, P, Standing, ()>) -> Choice {
        // Flows in debt pass their turns, each once in a row: the round after, MaxEC covers it.
        while let Some(flow) = self.backlogged.first() {
            if self.turn.is_some() {
                return Choice::Flow(flow);
            }
            if !self.outstanding.may_begin(flow, self.backlogged.len() == 1) {
                break;
            }
            let standing = &mut queues.flow_mut(flow).state;
            let balance = self.begin_turn(flow, *standing);
            if balance >= 0 {
                self.turn = Some(balance);
            } else {
                self.end_turn(flow, balance, standing);
            }
        }
        Choice::AwaitProgress
    }

    fn served<P>(
        &mut self,
        _now: Time,
        flow: u32,
        cost: &ResourceVec<M>,
        queues: &mut Queues<M, P, Standing, ()>,
    ) -> ([u64; M], u32) {
        let record = queues.flow_mut(flow);
        let balance = self.turn.unwrap_or(0).saturating_sub(charge(record, cost));
        self.turn = Some(balance);
        let tags = self.outstanding.sent(flow);
        if record.packets == 0 {
            self.leave(flow);
        } else if balance < 0 {
            self.end_turn(flow, balance, &mut record.state);
        }
        (tags, record.state.activation)
    }

    fn progressed(&mut self, _now: Time, ticket: &Ticket<M>, resource: usize, event: Progress) {
        // A correction follows at once, if any.
        self.reported = ticket.epoch;
        self.outstanding.progressed(ticket, resource, event);
    }

    fn corrected<P>(
        &mut self,
        flow: u32,
        before: &ResourceVec<M>,
        after: &ResourceVec<M>,
        queues: &mut Queues<M, P, Standing, ()>,
    ) {
        let record = queues.flow_mut(flow);
        if record.packets == 0 || record.state.activation != self.reported {
            return;
        }
        let more = charge(record, after).saturating_sub(charge(record, before));
        match self.turn {
            Some(balance) if self.backlogged.first() == Some(flow) => {
                let balance = balance.saturating_sub(more);
                self.turn = Some(balance);
                if balance < 0 {
                    self.end_turn(flow, balance, &mut record.state);
                }
            }
            _ => {
                let standing = &mut record.state;
                standing.excess = standing.excess.saturating_add(more);
                // Flows that have had their turn of this round count for its MaxEC; that of the round before is in use.
                if standing.due != self.round {
                    self.most = self.most.max(standing.excess);
                }
            }
        }
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut Queues<M, P, Standing, ()>) {
        let record = queues.flow_mut(flow);
        let (old, new) = (i128::from(old.as_milli()), i128::from(record.weight().as_milli()));
        // EC is a time and stays.
        let rescaled = |x: i64| (i128::from(x) * old / new).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        match &mut self.turn {
            Some(balance) if self.backlogged.first() == Some(flow) => *balance = rescaled(*balance),
            _ => record.state.excess = rescaled(record.state.excess),
        }
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut Queues<M, P, Standing, ()>) {
        if queues.flow(flow).packets > 0 {
            self.leave(flow);
        }
        self.outstanding.forget(flow);
    }

    fn set<P>(
        &mut self,
        parameter: &str,
        _value: &str,
        _queues: &mut Queues<M, P, Standing, ()>,
    ) -> Result<(), SpecError> {
        Err(ENTRY.cannot_change(parameter))
    }
}
