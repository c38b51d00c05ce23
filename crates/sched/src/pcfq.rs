//! `pcfq`: prediction-based composite fair queueing (Sabrina, Kanhere, Jha, IEEE Transactions on Parallel and
//! Distributed Systems).
//!
//! Shares: equal normalised time, which is time on each resource by the flow's weight there, summed over all resources,
//! in the order of virtual finish times: one decision in front of the first resource, so that nothing is processed only
//! to be dropped at the link.
//!
//! * Parameters: `charge` = what a flow pays in the end: `measured` (default) or `estimated`. `clock` = virtual time,
//!   by the tag of the packet `served` last (default), by the `tags` of those that wait, or by real time as in the
//!   `paper`; see below.
//! * Cost per packet: O(log n) for n backlogged flows.
//! * Longest call: O(log n).
//! * Weights: one for each resource. They share the sum: a backlogged flow's time on a resource is in proportion to its
//!   weight there if its packets need time on no other one.
//! * Guarantees, with exact times, N the normalised time received as of the decisions and C the longest of a packet,
//!   over any interval in which flows i and j are backlogged: N_i - N_j <= C_i + C_j for `clock=served`, as V - C_i <=
//!   S <= V for the first packet of every flow that waits; N_i - N_j <= C_j + max over all flows n of C_n for
//!   `clock=tags`. The paper's delay guarantee, equation (17), is none, by no clock: runs of a few packets exceed it
//!   (`dovetail_model::bounds_composite::pcfq_delay_s` says why).
//! * A flow can gain: nothing by queue depth, scale, order, new flows, refilling or small packets first: F is paid
//!   before the packet is served, and V is F then. By `clock=tags`, and at times by `clock=paper`, a stream of ever new
//!   flows starves all others. A flow that sends no more when its packets are measured is charged their estimates only:
//!   ever new flows gain the factor by which these are too low; one that stays gains up to 3.0 by estimates 16 times
//!   too low, where corrections come late: in a pipeline whose first resource is not the short one.
//! * Times must be known, or predicted, on arrival.
//! * Example: `pcfq`, `pcfq:clock=tags`, `pcfq:charge=estimated,clock=paper`.
//!
//! Tags of the flow's packet k, of times t_r on resource r, for M resources (equations (3) to (6), M = 2 there):
//!
//! ```text
//! F_k = S_k + sum over r of t_r / w_r               the link's time is that of the resized packet
//! S_k = max( F_k-1, V(a_k) )                        F_k-1 if packet k finds another one waiting, but by clock=paper
//! clock=served   V = F of the packet served last
//! clock=tags     V = the smallest S of the first waiting packets
//! clock=paper    dV/dt = 1 / (sum over flows with waiting packets of sum over r of w_r)
//! ```
//!
//! Served is the packet with the smallest F; ties go to the flow with the lowest index. Packets leave the resources in
//! the order in which they enter the first: first come, first served in between.
//!
//! Differences from the paper, with reasons:
//! * V is read off the tags, of what is served by default. By (5) and (6) it falls behind them: with one bottleneck it
//!   rises half as fast as they do, with both resources busy a quarter as fast, and a flow that comes (back) after a
//!   busy second is served alone for half a second and more. By `clock=tags` a flow that comes starts where the last of
//!   those that wait stands: V does not move while others wait, and a stream of ever new flows starves them. By
//!   `clock=served` each new flow ends a packet of its own after all that was served before it came, as in self-clocked
//!   fair queueing ([`scfq`](crate::scfq)). It costs a flow that sends little up to a round more: one among nine that
//!   always wait, packets of 10 ms, is 187 ms late instead of 97 ms.
//! * Behind another packet a packet starts at that one's finish tag (but by `clock=paper`). With exact times V is never
//!   later than that; but where a measurement has lowered the finish tag, V would keep what the flow is owed.
//! * V is the largest F when no packet waits: the paper leaves it open while nobody is active. No flow has credit or
//!   debt then.
//! * `charge=measured`: the estimate is replaced in F by what was measured, so an understated flow pays with its next
//!   packet. The paper leaves the estimate.
//! * O(log n), not O(n): the flows in (6) are those that wait here, not those of a fluid, and a running sum does.
//! * A packet that needs no time at all counts as one nanosecond.

use dovetail_units::{ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Parameter, Resources, Weights};
use crate::charge::{self, Charge};
use crate::contract::{Ticket, Took};
use crate::discipline::{Choice, Discipline};
use crate::flow_tags::FinishTags;
use crate::gain::{AS_TOLD, Gain, Strategy};
use crate::one_resource::charges;
use crate::promise::{Counted, Promise};
use crate::queues::{Queues, TagTournament};
use crate::spec::{Spec, SpecError, choice};
use crate::tag::{TICK_BITS, Tag};
use crate::touch::{self, Ahead, BY_TAGS, Worth};

/// Why false estimates gain.
const LATE: &str = "by search, estimates up to 16 times too low: what a packet took is known when it leaves the \
    pipeline, late where the first resource is not the short one";

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "pcfq",
    summary: "Prediction-based composite fair queueing",
    shares: "equal sums of time by weight over all resources, by virtual finish times",
    resources: Resources::Any,
    parameters: &[
        charge::PARAMETER,
        Parameter {
            name: "clock",
            value: "served | tags | paper",
            default: "served",
            meaning: "virtual time follows what is served, what waits, or the paper's equations (5) and (6)",
            settable: false,
        },
    ],
    complexity: "O(log n)",
    worst_call: "O(log n)",
    gains: &[Gain { strategy: Strategy::FalseEstimates, most: 3.0, reason: LATE }, AS_TOLD],
    guarantee: "N_i - N_j <= C_i + C_j; N: sum of time by weight, C: the longest packet's",
    weights: Weights::Each,
    work_conserving: "yes",
    costs: "on arrival; corrected by measurement in the next tag unless charge=estimated",
    paper: "Sabrina, Kanhere, Jha, IEEE TPDS (PCFQ)",
    brief: Brief {
        fairness: "total time",
        longest_call: "O(log n)",
        work_conserving: "yes",
        costs_ahead: "yes",
        paper: "Sabrina et al.",
    },
    promise: Promise::by_rounds(Counted::Total),
    facts: &[],
};

/// How virtual time passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// The finish tag of the packet served last.
    #[default]
    Served,
    /// The smallest start tag of the first waiting packets.
    Tags,
    /// By the paper's equations (5) and (6).
    Paper,
}

/// A flow's tags, and its weights, which those that wait count in (6) with.
#[derive(Clone, Copy, Debug)]
pub struct Composite<const M: usize> {
    tags: FinishTags<M>,
    weights: [Weight; M],
}

impl<const M: usize> Default for Composite<M> {
    fn default() -> Self {
        Self { tags: FinishTags::default(), weights: [Weight::ONE; M] }
    }
}

/// In thousandths.
fn sum_of(weights: &[Weight]) -> u128 {
    weights.iter().map(|weight| u128::from(weight.as_milli())).sum()
}

type FlowQueues<const M: usize, P> = Queues<M, P, Composite<M>, Tag>;

/// Composite fair queueing of all resources together.
#[derive(Clone, Debug)]
pub struct Pcfq {
    charge: Charge,
    clock: Clock,
    /// V in ticks.
    virtual_time: u128,
    /// With `clock=paper`: the sum of the weights of the flows with waiting packets, in thousandths, the denominator of
    /// (6).
    load: u128,
    /// Time that is too little for a tick of V, in ticks times thousandths.
    rest: u128,
    /// Until when V has run.
    settled: Time,
    /// The largest finish tag of any packet served.
    latest_finish: u128,
    /// Flows with waiting packets by the finish tags of the first, and by the start tags with `clock=tags`.
    heads: TagTournament,
    starts: TagTournament,
}

impl Pcfq {
    /// That charges and passes virtual time so.
    pub fn new(charge: Charge, clock: Clock) -> Self {
        Self {
            charge,
            clock,
            virtual_time: 0,
            load: 0,
            rest: 0,
            settled: Time::ZERO,
            latest_finish: 0,
            heads: TagTournament::default(),
            starts: TagTournament::default(),
        }
    }

    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let choices = [("served", Clock::Served), ("tags", Clock::Tags), ("paper", Clock::Paper)];
        let clock = spec.value("clock").map_or(Ok(Clock::default()), |value| choice("clock", value, choices))?;
        Charge::from_spec(spec).map(|charge| Self::new(charge, clock))
    }

    /// Virtual time passes up to `now`: (5), with what is left below a tick carried.
    #[inline]
    fn advance(&mut self, now: Time) {
        if self.clock == Clock::Paper {
            self.advance_by_load(now);
        }
    }

    /// A flow of these weights begins to wait.
    #[inline]
    fn count_in(&mut self, weights: &[Weight]) {
        if self.clock == Clock::Paper {
            self.load += sum_of(weights);
        }
    }

    /// It has no packets any more.
    #[inline]
    fn count_out(&mut self, weights: &[Weight]) {
        if self.clock == Clock::Paper {
            self.load -= sum_of(weights);
        }
    }

    fn advance_by_load(&mut self, now: Time) {
        let elapsed = now.since(self.settled).as_nanos();
        self.settled = now;
        let time = u128::from(elapsed) * (1000 << TICK_BITS) + self.rest;
        let ticks = time.checked_div(self.load).unwrap_or(0);
        self.rest = time.checked_rem(self.load).unwrap_or(0);
        self.virtual_time = self.virtual_time.saturating_add(ticks);
    }

    /// The first waiting packets have changed: V keeps up with them.
    fn keep_up(&mut self) {
        let least = match (self.clock, self.heads.is_empty()) {
            (_, true) => self.latest_finish,
            (Clock::Tags, false) => self.starts.peek().map_or(0, |(start, _)| start),
            _ => return,
        };
        self.virtual_time = self.virtual_time.max(least);
    }

    /// Place the flow anew before the next choice, or at once where V follows the tags.
    #[inline]
    fn moved<const M: usize, P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        match self.clock {
            Clock::Tags => self.place_head(flow, queues),
            Clock::Served | Clock::Paper => queues.mark_moved::<Self>(flow),
        }
    }

    /// The flow has no packets, or none any more.
    fn leave(&mut self, flow: u32) {
        self.heads.remove(flow);
        if self.clock == Clock::Tags {
            self.starts.remove(flow);
        }
        self.keep_up();
    }

    /// Tag the flow's first waiting packet and put it among the heads.
    #[inline(never)]
    fn place_head<const M: usize, P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let Some(cost) = queues.head(flow).map(|s| s.cost) else { return self.leave(flow) };
        let floor = (self.clock == Clock::Paper).then(|| queues.stamp(queues.flow(flow).head));
        let Composite { tags, weights } = &mut queues.flow_mut(flow).state;
        if let Some(floor) = floor {
            tags.set_floor(floor);
        }
        let (head, start) = (tags.head(charges(cost.0), *weights), tags.start());
        self.heads.set(flow, head);
        if self.clock == Clock::Tags {
            self.starts.set(flow, start);
            self.keep_up();
        }
    }
}

impl<const M: usize> Discipline<M> for Pcfq {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    const READS_AHEAD: Worth = BY_TAGS;

    const MARKS_MOVED: bool = true;

    type Flow = Composite<M>;
    /// V at the packet's arrival, with `clock=paper`.
    type Stamp = Tag;
    type Note = ();

    fn added<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        queues.flow_mut(flow).state.weights = queues.weights(flow).weights();
    }

    #[inline]
    fn touch(&self, flow: u32, state: &Self::Flow) {
        self.heads.touch(flow);
        // With more than two resources on another line.
        if M > 2 {
            touch::word(&state.weights);
        }
    }

    #[inline]
    fn ahead(&self, packets: usize, ahead: &mut Ahead) {
        self.heads.ahead(packets, ahead);
    }

    #[inline]
    fn coming(&self, look_at: impl Fn([u32; 3])) {
        self.heads.coming().into_iter().for_each(look_at);
    }

    #[inline]
    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        if self.clock == Clock::Paper {
            *queues.stamp_mut(slot) = Tag::at(self.virtual_time);
        }
        if queues.flow(flow).head != slot {
            return;
        }
        let state = &mut queues.flow_mut(flow).state;
        state.tags.set_floor(Tag::at(self.virtual_time));
        self.count_in(&state.weights);
        self.place_head(flow, queues);
    }

    #[inline]
    fn choose<P>(&mut self, _now: Time, _queues: &mut FlowQueues<M, P>) -> Choice {
        self.heads.peek().map_or(Choice::AwaitProgress, |(_, flow)| Choice::Flow(flow))
    }

    #[inline(always)]
    fn served<P>(&mut self, now: Time, flow: u32, cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) {
        self.advance(now);
        let record = queues.flow_mut(flow);
        let Composite { tags, weights } = &mut record.state;
        tags.serve_head(charges(cost.0), *weights);
        let finish = tags.finish();
        debug_assert_eq!(self.heads.peek(), Some((finish, flow)), "placed before it is served");
        self.latest_finish = self.latest_finish.max(finish);
        if self.clock == Clock::Served {
            self.virtual_time = self.virtual_time.max(finish);
        }
        if record.packets > 0 {
            return self.moved(flow, queues);
        }
        self.count_out(&record.state.weights);
        self.leave(flow);
    }

    #[inline]
    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut FlowQueues<M, P>) {
        if self.charge == Charge::Estimated {
            return;
        }
        let (before, after) = (charges(ticket.charged.0), charges(ticket.charged_with(took).0));
        let record = queues.flow_mut(flow);
        let (packets, Composite { tags, weights }) = (record.packets, &mut record.state);
        tags.correct(core::array::from_fn(|r| after[r] - before[r]), *weights);
        self.latest_finish = self.latest_finish.max(tags.finish());
        if packets > 0 {
            self.moved(flow, queues);
        } else {
            self.keep_up();
        }
    }

    #[inline]
    fn place<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.place_head(flow, queues);
    }

    #[inline]
    fn settle<P>(&mut self, now: Time, _queues: &mut FlowQueues<M, P>) {
        self.advance(now);
    }

    fn reweighed<P>(&mut self, flow: u32, _old: Weight, queues: &mut FlowQueues<M, P>) {
        let weights = queues.weights(flow).weights();
        let record = queues.flow_mut(flow);
        let old = core::mem::replace(&mut record.state.weights, weights);
        if record.packets > 0 {
            self.count_out(&old);
            self.count_in(&weights);
        }
        self.place_head(flow, queues);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow(flow);
        if record.packets > 0 {
            self.count_out(&record.state.weights);
            self.leave(flow);
        }
    }
}
