//! `drr`: deficit round robin (Shreedhar, Varghese, SIGCOMM 1995; IEEE/ACM Transactions on Networking 4(3), 1996).
//!
//! Shares: equal (weighted) processing time on one resource, by turns.
//!
//! * Parameters: `resource` = number of the resource, counted from 0 along the pipeline; default the last (the link).
//!   `quantum` = time that a flow of weight 1 gets per turn, above 0 s, or `auto` (default): as much as lets every
//!   backlogged flow serve a packet in every round. Settable while running. `charge` = what a flow pays in the end:
//!   `measured` (default) or `estimated`.
//! * Weights: that on the resource that is shared.
//! * Cost per packet: O(1) with `auto`, and with a quantum not below any packet's time divided by its flow's weight.
//!   With a smaller one up to O(n) for n backlogged flows, however much smaller it is, and at most 256 turns.
//! * Longest call: 256 turns without a packet, if the quantum is small or was changed, or if many flows are in debt.
//!   The round's quantum is then raised to what the next flow needs. With up to 85 backlogged flows that never happens.
//! * A flow can gain: at most 1.05 times its share by any of the strategies listed in [`gain`](crate::gain). But nobody
//!   pays for underestimated packets of flows that do not come back: new flows gain the factor by which they are.
//! * Guarantees: |W_i/w_i - W_j/w_j| <= Q + s_i/w_i + s_j/w_j over any interval in which flows i and j are backlogged,
//!   W the time received on the resource, s the longest of a packet, and Q the largest quantum meanwhile (the paper's 2
//!   Max + Q); one that was raised is at most the longest packet by weight and what flows owe.
//! * Times need to be known when a packet is first in its queue; a wrong one is corrected in the flow's deficit, unless
//!   `charge=estimated`.
//! * Example: `drr`, `drr:quantum=120 us`, `drr:resource=0`, `drr:charge=estimated`.
//!
//! Backlogged flows stand in a list. The first flow's deficit grows by its quantum; it serves packets as long as the
//! next one's time is at most the deficit, which falls by it; then it goes to the end of the list. A flow that joins
//! stands at the end, and a flow without packets leaves and loses its deficit.
//!
//! Differences from the paper, with reasons:
//! * Deficits count time divided by weight, so that one quantum is that of every flow, and flows with w get w times as
//!   much.
//! * `auto`: the quantum of a round is the largest time by weight of the first packets met in the round before or
//!   joined since. The paper's "at least the largest packet", which makes DRR O(1), then needs no knowledge of packets
//!   to come, and one packet of minutes does not make turns long for ever.
//! * A deficit may be negative after a measured time: the flow pays in its next turns, also after a pause.
//! * Rounds in which no flow could serve a packet are taken at once.
//! * A packet that needs no time on the resource counts as one nanosecond.

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Parameter, Resources, Weights};
use crate::charge::{self, Charge};
use crate::contract::{FlowConfig, Ticket, Took};
use crate::discipline::{Choice, Discipline};
use crate::gain::AS_TOLD;
use crate::one_resource::{RESOURCE, Shared, charged};
use crate::promise::{Counted, Promise, unless_quantum};
use crate::queues::Queues;
use crate::spec::{Spec, SpecError};
use crate::tag::virtual_time;
use crate::touch::{Ahead, BY_TURNS, Worth};
use crate::turns::{Account, InVain, LONGEST_QUANTUM, Turns};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "drr",
    summary: "Deficit round robin over one resource",
    shares: "equal time by weight on one resource, by turns",
    resources: Resources::Any,
    parameters: &[
        RESOURCE,
        Parameter {
            name: "quantum",
            value: "a time above 0 s, or auto",
            default: "auto",
            meaning: "time per turn for weight 1; auto: enough for a packet of every flow in each round. With less, a \
                decision takes up to 256 turns",
            settable: true,
        },
        charge::PARAMETER,
    ],
    complexity: "O(1)",
    worst_call: "O(1); up to 256 turns without a packet if the quantum is too small",
    gains: &[AS_TOLD],
    guarantee: "|W_i/w_i - W_j/w_j| <= Q + s_i/w_i + s_j/w_j on that resource; Q: the largest quantum",
    weights: Weights::Shared,
    work_conserving: "yes",
    costs: "at the head of the queue; corrected by measurement unless charge=estimated",
    paper: "Shreedhar, Varghese, SIGCOMM 1995; IEEE/ACM ToN 4(3), 1996",
    brief: Brief {
        fairness: "processing time",
        longest_call: "O(1) x 256",
        work_conserving: "yes",
        costs_ahead: "at head",
        paper: "SIGCOMM 1995",
    },
    promise: Promise { apart: unless_quantum, ..Promise::by_rounds(Counted::Shared) },
    facts: &[],
};

/// A flow's deficit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deficit {
    account: Account,
    /// What the first waiting packet is charged, in nanoseconds; of a flow without packets anything.
    head: i64,
}

impl Deficit {
    /// Time by weight of the first packet, in ticks.
    #[inline]
    fn time(&self, weight: Weight) -> i128 {
        self.account.ticks_of(self.head, weight)
    }
}

type FlowQueues<const M: usize, P> = Queues<M, P, Deficit, ()>;

/// Deficit round robin over one resource.
#[derive(Clone, Debug)]
pub struct Drr {
    shared: Shared,
    /// In ticks; `None`: auto.
    fixed: Option<i128>,
    turns: Turns,
    /// The least quantum for the next round.
    next_quantum: i128,
}

impl Drr {
    /// Over this resource, with a fixed quantum, or with `None` by the largest packets, charging so.
    pub fn new(resource: usize, quantum: Option<Duration>, charge: Charge) -> Self {
        Self::sharing(Shared { resource, charge }, quantum)
    }

    fn sharing(shared: Shared, quantum: Option<Duration>) -> Self {
        Self { shared, fixed: quantum.map(in_ticks), turns: Turns::default(), next_quantum: 1 }
    }

    pub(crate) fn from_spec<const M: usize>(spec: &Spec) -> Result<Self, SpecError> {
        let quantum = spec.value("quantum").map_or(Ok(None), parse_quantum)?;
        Ok(Self::sharing(Shared::from_spec::<M>(spec)?, quantum))
    }

    /// Turns so far: with a sufficient quantum at most one per packet.
    pub fn visits(&self) -> u64 {
        self.turns.visits
    }

    /// The next round's quantum must do for a packet of this time of a flow with this credit: for what it owes, too, if
    /// that is less than none.
    #[inline]
    fn provide(&mut self, time: i128, credit: i128) {
        let needed = time - credit.min(0);
        if needed > self.next_quantum {
            self.next_quantum = needed;
        }
    }

    /// The next round's quantum must do for the flow's first packet, and for what the flow owes.
    #[inline]
    fn provide_for(&mut self, deficit: &Deficit, weight: Weight) {
        self.provide(deficit.time(weight), self.turns.credit(&deficit.account));
    }
}

fn in_ticks(time: Duration) -> i128 {
    virtual_time(charged(time.min(LONGEST_QUANTUM)), Weight::ONE, 0).0
}

fn parse_quantum(value: &str) -> Result<Option<Duration>, SpecError> {
    if value == "auto" {
        return Ok(None);
    }
    let time = value.parse().ok().filter(|&time: &Duration| time > Duration::ZERO);
    time.map(Some).ok_or_else(|| SpecError::bad_value("quantum", value, "a time above 0 s such as 120 us, or auto"))
}

impl<const M: usize> Discipline<M> for Drr {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    const READS_AHEAD: Worth = BY_TURNS;

    type Flow = Deficit;
    type Stamp = ();
    type Note = ();

    fn weight_of(&self, config: &FlowConfig<M>) -> Weight {
        self.shared.weight(config)
    }

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
        if queues.flow(flow).head == slot {
            let head = self.shared.nanos(&queues.slot(slot).cost);
            let record = queues.flow_mut(flow);
            let weight = record.weight();
            record.state.head = head;
            self.turns.join(flow, &mut record.state.account);
            self.provide_for(&record.state, weight);
        }
    }

    #[inline(always)]
    fn choose<P>(&mut self, _now: Time, queues: &mut FlowQueues<M, P>) -> Choice {
        let mut vain = InVain::default();
        while let Some(flow) = self.turns.first() {
            let record = queues.flow_mut(flow);
            if self.turns.begin(&mut record.state.account, || self.fixed.unwrap_or(self.next_quantum)) {
                self.next_quantum = 1;
            }
            let time = record.state.time(record.weight());
            let credit = self.turns.credit_in_turn(&record.state.account);
            let short = time - credit;
            if short <= 0 {
                return Choice::Flow(flow);
            }
            self.provide(time, credit);
            if self.turns.in_vain(&mut vain, short, self.fixed) {
                return Choice::Flow(flow);
            }
        }
        Choice::AwaitProgress
    }

    #[inline(always)]
    fn served<P>(&mut self, _now: Time, flow: u32, _cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) {
        let head = self.shared.head(flow, queues);
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        record.state.account.pay(record.state.head, weight);
        match head {
            Some(head) => record.state.head = head,
            None => self.turns.leave(flow, &mut record.state.account),
        }
    }

    #[inline]
    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut FlowQueues<M, P>) {
        let Some(more) = self.shared.more(ticket, took) else { return };
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        let Deficit { account, .. } = &mut record.state;
        account.pay(more, weight);
        if record.packets == 0 {
            account.owe_no_less_than_nothing();
        } else {
            self.provide_for(&record.state, weight);
        }
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        let Deficit { account, .. } = &mut record.state;
        if record.packets > 0 {
            self.turns.reweigh(account, old, weight);
            self.provide_for(&record.state, weight);
        } else {
            account.reweigh_debt(old, weight);
        }
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        if record.packets > 0 {
            self.turns.leave(flow, &mut record.state.account);
        }
    }

    fn set<P>(&mut self, _parameter: &str, value: &str, _queues: &mut FlowQueues<M, P>) -> Result<(), SpecError> {
        self.fixed = parse_quantum(value)?.map(in_ticks);
        Ok(())
    }
}
