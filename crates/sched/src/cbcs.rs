//! `cbcs`: composite bandwidth and CPU scheduling (Sabrina, Kanhere, Jha, IEEE Transactions on Parallel and Distributed
//! Systems, 2007).
//!
//! Shares: equal (weighted) total time, summed over all resources, by turns: one decision in front of the first
//! resource, so that nothing is processed only to be dropped at the link.
//!
//! * Parameters: `quantum` = total time that a flow of weight 1 is credited per turn, above 0 s, or `auto` (default):
//!   the longest total time by weight of the packets that came since no packet waited. Settable while running. `charge`
//!   = what a flow pays in the end: `measured` (default) or `estimated`. `newcomers` = `pay` (default): a packet is
//!   served when its flow's credit covers it, or `free`: as published, when there is any credit.
//! * Cost per packet: O(1) with `auto`, and with a quantum not below any packet's total time divided by its flow's
//!   weight. With a smaller one up to O(n) for n backlogged flows, however much smaller it is, and at most 256 turns.
//! * Longest call: 256 turns without a packet, if the quantum is small or was changed, or if many flows are in debt.
//!   The round's quantum is then raised to what the next flow needs. With up to 85 backlogged flows that never happens.
//! * A flow can gain: at most 1.05 times its share by any of the strategies listed in [`gain`](crate::gain) but false
//!   estimates: 3.0 by ones 16 times too low, in new flows or not, where corrections come late, in a pipeline whose
//!   first resource is not the short one. Nobody pays for underestimated packets of flows that do not come back. With
//!   `newcomers=free` a stream of new flows gets 1.9 times a flow's share, and Ptc / Q times with a small quantum: each
//!   has its first packet in advance.
//! * Guarantees, with exact times: |W_i/w_i - W_j/w_j| <= Q + C_i/w_i + C_j/w_j over any interval in which flows i and
//!   j are backlogged, W the total time received as of the decisions, C the longest of a packet, Q the largest quantum
//!   meanwhile. That is at most 3 Ptc_max with equal weights and Q = Ptc_max (Theorem 3).
//! * Weights: one, w_i. It is the paper's with phi's that differ by resource, too: only their sum counts there, and the
//!   mean, which is [`FlowConfig::weight`](crate::FlowConfig::weight) then, is in proportion to it.
//! * Times need to be known, or predicted, on arrival for `auto`, else when a packet is served.
//! * Example: `cbcs`, `cbcs:quantum=40 ms`, `cbcs:charge=estimated`.
//!
//! ```text
//! Ptc          = sum over resources of the packet's time; the link's is that of the resized packet (equation (3))
//! turn of i    CC_i += w_i Q; while CC_i >= Ptc of the first packet that waits (newcomers=free: CC_i > 0):
//!              serve it, CC_i -= Ptc
//!              CC_i = 0 when none waits; then the next flow's turn
//! ```
//!
//! Differences from the paper, with reasons:
//! * The paper serves a packet while CC_i > 0, so that a flow's turn may exceed its credit by almost a packet. A flow
//!   that stays pays for that in its next turn; a new one has it for nothing if it does not come back, and a stream of
//!   new flows always. So credit must cover a packet before it is served. Between flows that stay that changes the
//!   order, not the shares, nor the bound: CC_i is from 0 to w_i Q + C_i instead of from -C_i to w_i Q.
//! * The paper's quantum of flow i, w_i / w_min * Ptc_max, needs the smallest weight of all flows. Here it is w_i times
//!   the largest Ptc_j / w_j: that lets every flow serve a packet per turn just as well, and turns are no longer. With
//!   equal weights both are the same. A round's quantum is that at its beginning.
//! * `auto`: the paper's Ptc_max is known in advance. Here it is raised by every packet that arrives or turns out
//!   longer, and falls back when no packet waits. Theorem 3 holds with the last value.
//! * A flow whose queue becomes empty keeps what it owes (CC < 0) until no packet waits at all.
//! * `charge=measured`: measured times replace the estimates, also downwards; the paper leaves them. A flow that
//!   measurements put into debt passes turns. What a packet's measurement says after a time without waiting packets is
//!   ignored.
//! * Rounds in which no flow could serve a packet are taken at once.
//! * A packet that needs no time at all counts as one nanosecond.
//! * The limits of queued CPU time are not part of the discipline: any discipline can have them
//!   ([`Limit::time`](crate::Limit)).

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Parameter, Resources, Weights};
use crate::charge::{self, Charge, total};
use crate::contract::{Ticket, Took};
use crate::discipline::{Choice, Discipline};
use crate::gain::{Gain, Strategy};
use crate::newcomers::{self, Newcomers};
use crate::note::Epoch;
use crate::one_resource::charged;
use crate::promise::{Counted, Promise, unless_quantum};
use crate::queues::Queues;
use crate::spec::{Spec, SpecError};
use crate::tag::virtual_time;
use crate::touch::{Ahead, BY_TURNS, Worth};
use crate::turns::{Account, InVain, LONGEST_QUANTUM, Turns};

/// Why false estimates gain.
const LATE: &str = "by search, estimates up to 16 times too low: what a packet took is known when it leaves the \
    pipeline, late where the first resource is not the short one";

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "cbcs",
    summary: "Composite bandwidth and CPU scheduling by credit",
    shares: "equal sums of time by weight over all resources, by turns",
    resources: Resources::Any,
    parameters: &[
        Parameter {
            name: "quantum",
            value: "a time above 0 s, or auto",
            default: "auto",
            meaning: "total time per turn for weight 1; auto: the longest packet's. If it is less than a packet's, a \
                decision takes up to 256 turns",
            settable: true,
        },
        charge::PARAMETER,
        newcomers::PARAMETER,
    ],
    complexity: "O(1)",
    worst_call: "O(1); up to 256 turns without a packet if the quantum is too small",
    gains: &[
        Gain { strategy: Strategy::FalseEstimates, most: 3.0, reason: LATE },
        Gain { strategy: Strategy::FalseAndNew, most: 3.0, reason: LATE },
    ],
    guarantee: "|W_i/w_i - W_j/w_j| <= Q + C_i/w_i + C_j/w_j in total time; C: the longest packet, Q: the largest \
        quantum",
    weights: Weights::One,
    work_conserving: "yes",
    costs: "on arrival; corrected by measurement unless charge=estimated",
    paper: "Sabrina, Kanhere, Jha, IEEE TPDS 2007 (CBCS)",
    brief: Brief {
        fairness: "total time",
        longest_call: "O(1) x 256",
        work_conserving: "yes",
        costs_ahead: "yes",
        paper: "TPDS 2007",
    },
    promise: Promise { apart: unless_quantum, ..Promise::by_rounds(Counted::Total) },
    facts: &[],
};

/// A flow's credit counter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credit {
    account: Account,
    /// What the first waiting packet is charged, in nanoseconds; of a flow without packets anything.
    head: i64,
    /// Holds since no packet waited for this time.
    epoch: u32,
}

type FlowQueues<const M: usize, P> = Queues<M, P, Credit, ()>;

/// Credit round robin over the total time on all resources.
#[derive(Clone, Debug)]
pub struct Cbcs {
    charge: Charge,
    newcomers: Newcomers,
    /// By weight, in ticks; `None`: auto.
    fixed: Option<i128>,
    /// The longest total time by weight in this epoch, in ticks; at least 1.
    longest: i128,
    turns: Turns,
    /// How often no packet waited any more; wraps.
    epoch: u32,
}

impl Cbcs {
    /// With a fixed quantum, or with `None` by the longest packet.
    pub fn new(quantum: Option<Duration>, charge: Charge, newcomers: Newcomers) -> Self {
        Self { charge, newcomers, fixed: quantum.map(in_ticks), longest: 1, turns: Turns::default(), epoch: 0 }
    }

    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let quantum = spec.value("quantum").map_or(Ok(None), parse_quantum)?;
        Ok(Self::new(quantum, Charge::from_spec(spec)?, Newcomers::from_spec(spec)?))
    }

    /// Turns so far: with a sufficient quantum and exact times at most one per packet.
    pub fn visits(&self) -> u64 {
        self.turns.visits
    }

    #[inline]
    fn quantum(&self) -> i128 {
        self.fixed.unwrap_or(self.longest)
    }

    /// A packet of this total time came, or turned out to take it.
    #[inline]
    fn provide_for(&mut self, time: Duration, weight: Weight) {
        let needed = rounded_up(time, weight);
        if needed > self.longest {
            self.longest = needed;
        }
    }

    /// By how much the credit of the first flow, whose turn has begun, is too small for its first packet.
    #[inline]
    fn short(&self, credit: &Credit, weight: Weight) -> i128 {
        let needed = match self.newcomers {
            Newcomers::Pay => credit.account.ticks_of(credit.head, weight),
            Newcomers::Free => 1,
        };
        needed - self.turns.credit_in_turn(&credit.account)
    }

    /// A flow that is in the list leaves it.
    #[inline]
    fn leave(&mut self, flow: u32, credit: &mut Credit) {
        self.turns.leave(flow, &mut credit.account);
        if self.turns.is_empty() {
            self.epoch = self.epoch.wrapping_add(1);
            self.longest = 1;
        }
    }
}

/// Virtual time by a weight, in ticks.
#[inline]
fn rounded_up(time: Duration, weight: Weight) -> i128 {
    match virtual_time(charged(time), weight, 0) {
        (ticks, 0) => ticks,
        (ticks, _) => ticks + 1,
    }
}

fn in_ticks(time: Duration) -> i128 {
    rounded_up(time.min(LONGEST_QUANTUM), Weight::ONE)
}

fn parse_quantum(value: &str) -> Result<Option<Duration>, SpecError> {
    if value == "auto" {
        return Ok(None);
    }
    let time = value.parse().ok().filter(|&time: &Duration| time > Duration::ZERO);
    time.map(Some).ok_or_else(|| SpecError::bad_value("quantum", value, "a time above 0 s such as 40 ms, or auto"))
}

impl<const M: usize> Discipline<M> for Cbcs {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    const READS_AHEAD: Worth = BY_TURNS;

    type Flow = Credit;
    type Stamp = ();
    type Note = Epoch;

    #[inline]
    fn ahead(&self, packets: usize, ahead: &mut Ahead) {
        self.turns.ahead(packets, ahead);
    }

    #[inline]
    fn coming(&self, look_at: impl Fn([u32; 3])) {
        self.turns.coming().into_iter().for_each(look_at);
    }

    #[inline]
    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        let time = total(&queues.slot(slot).cost);
        let record = queues.flow_mut(flow);
        self.provide_for(time, record.weight());
        if record.head != slot {
            return;
        }
        if record.state.epoch != self.epoch {
            record.state = Credit { epoch: self.epoch, ..Credit::default() };
        }
        record.state.head = charged(time);
        self.turns.join(flow, &mut record.state.account);
    }

    #[inline(always)]
    fn choose<P>(&mut self, _now: Time, queues: &mut FlowQueues<M, P>) -> Choice {
        let mut vain = InVain::default();
        while let Some(flow) = self.turns.first() {
            let record = queues.flow_mut(flow);
            self.turns.begin(&mut record.state.account, || self.fixed.unwrap_or(self.longest));
            let short = self.short(&record.state, record.weight());
            if short <= 0 || self.turns.in_vain(&mut vain, short, Some(self.quantum())) {
                return Choice::Flow(flow);
            }
        }
        Choice::AwaitProgress
    }

    #[inline(always)]
    fn served<P>(&mut self, _now: Time, flow: u32, _cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) -> Epoch {
        let epoch = Epoch(self.epoch);
        let head = queues.head(flow).map(|slot| charged(total(&slot.cost)));
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        record.state.account.pay(record.state.head, weight);
        let Some(head) = head else {
            self.leave(flow, &mut record.state);
            return epoch;
        };
        record.state.head = head;
        if self.short(&record.state, weight) > 0 {
            self.turns.pass();
        }
        epoch
    }

    #[inline]
    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut FlowQueues<M, P>) {
        if self.charge == Charge::Estimated || ticket.note::<Epoch>().0 != self.epoch {
            return;
        }
        let [before, after] = [ticket.charged, ticket.charged_with(took)].map(|cost| total(&cost));
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        self.provide_for(after, weight);
        record.state.account.pay(charged(after) - charged(before), weight);
        if record.packets == 0 {
            record.state.account.owe_no_less_than_nothing();
        } else if self.turns.in_turn(flow) && self.short(&record.state, weight) > 0 {
            self.turns.pass();
        }
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        if record.packets == 0 {
            return record.state.account.reweigh_debt(old, weight);
        }
        self.turns.reweigh(&mut record.state.account, old, weight);
        // Only the first packet is looked at: a turn without a packet may follow each one behind it that is longer.
        if let Some(time) = queues.head(flow).map(|slot| total(&slot.cost)) {
            self.provide_for(time, weight);
        }
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        if record.packets > 0 {
            self.leave(flow, &mut record.state);
        }
    }

    fn set<P>(&mut self, _parameter: &str, value: &str, _queues: &mut FlowQueues<M, P>) -> Result<(), SpecError> {
        self.fixed = parse_quantum(value)?.map(in_ticks);
        Ok(())
    }
}
