//! `gmr3`: group multi-resource round robin (Wang, Liang, Li, INFOCOM 2014).
//!
//! Shares: equal weighted dominant service, by turns that heavy flows have more often, not longer.
//!
//! * Parameters: `progress` as for [`mr3`](crate::mr3). `largest` = the longest time L of a packet on any resource, if
//!   it is known in advance; a longer packet raises it. `newcomers` = `pay` (default): a flow that becomes backlogged
//!   starts as one that is L ahead, or `free`, as published: with nothing.
//! * Weights: one for all resources, [`FlowConfig::weight`](crate::FlowConfig::weight). Weights that differ by resource
//!   are ignored.
//! * Cost per packet: O(1); flows becoming backlogged, idle, or being removed: O(1).
//! * Longest call: passes over 64 flows in debt; the next flow then has a packet in spite of its debt, and owes that
//!   too.
//! * A flow can gain: up to 2 over rivals that never have more than one packet, which is all that these have of a turn
//!   that is worth up to 2 L. At most 1.05 by any other of the strategies listed in [`gain`](crate::gain), if its
//!   estimates are right or it stays: in k turns it has at most k c_i - L + L. With `newcomers=free` a flow that
//!   empties its queue of two packets and refills it, and a stream of new flows, get up to (c_i + L) / c_i times its
//!   share. Nobody pays for underestimated packets of flows that do not come back.
//! * Guarantees, w_i the flow's weight over the sum of the weights of backlogged flows: from one turn of flow i to its
//!   next there are fewer than 8 / w_i turns, of less than 3 L each on any resource, so that its delay is O(L / w_i) +
//!   O(m L) for m resources, whatever the number of flows. Flows that leave count until intervals of all classes begin.
//!   No constant is known for certain: the largest found in a search of 270 million packets (m = 2, 3, 4; single
//!   servers) were 7.4 L (1/w_i + 1/w_j) between the services per weight of two backlogged flows (9.1 with
//!   `newcomers=free`), and 7 L / w_i + 3 m L of packet delay.
//! * Not work conserving where it waits for progress, as [`mr3`](crate::mr3).
//! * Example: `gmr3`, `gmr3:largest=200 us`.
//!
//! ```text
//! class of flow i       g = floor(log2 w_i), w_i in thousandths
//! scale                 R = sum over backlogged flows of 2^g;  S = the smallest power of two >= R
//!                       (a flow that leaves counts until its class's interval ends)
//! slot                  one turn of one flow; takes 1/S of virtual time
//! interval of class g   2^-g of virtual time, that is S / 2^g slots; intervals of a class follow each other
//!                       from time 0 on
//! turns                 each flow of a class has one turn in each of its intervals, in turn
//! next class            that whose interval ends first, of those with flows that still wait for their turn in it
//! nothing pending       virtual time jumps to where the next interval of a class with flows begins
//! turn of flow i        B_i = c_i - EC_i with c_i = w_i / 2^g * L, which is L to 2 L
//!                       if B_i >= 0: serve the first packet, and while B_i > 0 and packets wait: the next one;
//!                       B_i -= its dominant time of each
//!                       EC_i = -B_i; the flow leaves its class when none waits
//! return                EC_i = max(EC_i, 0) if before its class's next interval, else max(EC_i, L)
//! newcomers=free        EC_i = 0 on leaving
//! ```
//!
//! In the paper weights sum to at most 1, group k holds weights from 2^-k up to 2^-(k-1), and its intervals are 2^k
//! slots long: here 2^k = S / 2^g. Classes are fixed and time is scaled instead, so that no flow changes its class when
//! others come and go: a change of S only changes how long a slot takes. As intervals are nested, the one that ends
//! first is the shortest one, and the next class is found as the highest bit set in a word.
//!
//! L is at first `largest`, and raised to the dominant time of every longer packet that is served, as estimated and as
//! measured, so that a turn always serves at least one packet. It falls back when no packet waits. The bounds hold with
//! the final L: flows of one class whose turns of one interval stand before and after a rise are due different credit
//! once, and all rises together make up at most one turn's credit. One packet with an absurd estimate makes turns long
//! until no packet waits; limit estimates where they come from users.
//!
//! Differences from the paper, with reasons. The text of the paper was not at hand; the algorithm is that of its
//! abstract and of published descriptions of it and of Stratified Round Robin, on which it builds.
//! * R counts rounded weights, since a flow takes 2^g / S of the slots, not w_i / S. S is raised at once, and lowered
//!   when intervals of all classes with flows begin, so that turns granted in the current intervals still fit. For the
//!   same reason a flow that leaves counts until its interval ends: it may have had its turn early in it.
//! * A flow that becomes backlogged has its first turn in the next interval of its class.
//! * As published, a flow that leaves is forgiven what its last turn exceeded, up to L, and can have that in every
//!   turn, by emptying the queue at the right moment or with ever new flows. With `newcomers=pay` it pays in advance.
//!   All bounds hold, since 0 <= EC_i <= L.
//! * Progress control, a flow that is alone, and measured costs: as for [`mr3`](crate::mr3). A flow in debt (EC_i >
//!   c_i) passes turns.
//! * The turn of a flow that also had the turn before begins as soon as fewer than 2 m packets of all flows are in the
//!   pipeline: a flow with more than half of R has turns next to each other, and the first resource would idle between
//!   them. The delay holds, since so few packets are less than the turns that it allows for.
//! * A packet counts at least 1 ns, so that every turn ends. Credits are whole nanoseconds; what they have below is
//!   carried to the next turn.

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Parameter, Resources, Shape, Weights};
use crate::contract::{LONGEST_TIME, Progress, Ticket, Took};
use crate::discipline::{Choice, Discipline};
use crate::gain::{Gain, Strategy};
use crate::newcomers::{self, Newcomers};
use crate::one_resource::charged;
use crate::progress_control::{Control, Outstanding, PARAMETER, Sent};
use crate::promise::{Apart, Counted, Lag, Promise};
use crate::queues::{Links, List, Queues};
use crate::spec::{Spec, SpecError};
use crate::steps;
use crate::touch::{Ahead, BY_TURNS, Worth};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "gmr3",
    summary: "Group multi-resource round robin",
    shares: "equal dominant service by weight; heavy flows have more turns",
    resources: Resources::Any,
    parameters: &[
        PARAMETER,
        Parameter {
            name: "largest",
            value: "a time, 0 s and more",
            default: "0 s",
            meaning: "longest time of any packet on any resource, if known in advance; longer packets raise it",
            settable: false,
        },
        newcomers::PARAMETER,
    ],
    complexity: "O(1)",
    worst_call: "O(1); passes over at most 64 flows in debt",
    gains: &[Gain { strategy: Strategy::QueueDepth, most: 2.0, reason: ONE_PACKET }],
    guarantee: "packet delay O(L / w_i) + O(mL), independent of the number of flows",
    weights: Weights::One,
    work_conserving: "nearly: it waits for packets in the pipeline",
    costs: "when a packet is served; corrected by measurement",
    paper: "Wang et al., INFOCOM 2014",
    brief: Brief {
        fairness: "dominant resource",
        longest_call: "O(1) x 64",
        work_conserving: "nearly",
        costs_ahead: "no",
        paper: "INFOCOM 2014",
    },
    promise: Promise {
        // A flow's turns are one per interval, so at a time it lacks at most two, of a credit of less than two packets
        // each, and what the excess of its last turn is.
        lag: Lag::Packets(5.0),
        // The most that was found in the search for its bound, unless packets are declared longer than they are.
        apart: |spec, _| spec.value("largest").is_none().then_some(Apart::Longest(7.4)),
        ..Promise::by_rounds(Counted::Dominant)
    },
    facts: &[],
};

const ONE_PACKET: &str = "a turn is worth c, from L to 2 L by the weight, of which a rival that never has more than \
    one packet can use only that; with two packets of L waiting it uses all";

/// Turns that flows in debt pass in one call, at most.
const MOST_PASSED: u32 = 64;
/// With fewer packets in the pipeline, per server, the second of two turns in a row does not wait for progress.
const ROOM: u32 = 2;
/// Weights are at most 10^9 thousandths, less than 2^30.
const CLASSES: usize = 30;
/// Virtual time has 64 binary places.
const PLACES: u32 = 64;

/// A flow's place in its class.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// EC in nanoseconds; below zero, what measurements gave back, and what a flow that has left did not use.
    excess: i64,
    /// The interval of its class in which it has its next turn.
    due: u64,
    /// What its credits had below a nanosecond, in parts of 2^-g.
    part: u32,
    /// How often it became backlogged anew; wraps.
    activation: u32,
    /// [`Gmr3::idle`] then.
    idle: u32,
    /// Whether it has had no turn since.
    new: bool,
}

impl Standing {
    /// What a turn is worth at this L.
    fn credit(&mut self, largest: i64, weight: Weight) -> i64 {
        let class = class_of(weight);
        let credit = largest as u128 * u128::from(weight.as_milli()) + u128::from(self.part);
        self.part = (credit & ((1 << class) - 1)) as u32;
        i64::try_from(credit >> class).unwrap_or(i64::MAX)
    }
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    flow: u32,
    /// B.
    balance: i64,
}

type FlowQueues<const M: usize, P> = Queues<M, P, Standing, ()>;

/// Group multi-resource round robin.
#[derive(Clone, Debug)]
pub struct Gmr3 {
    newcomers: Newcomers,
    outstanding: Outstanding,
    links: Links,
    /// Backlogged flows of every class in the order of their turns.
    classes: [List; CLASSES],
    /// Bit g: class g has flows.
    occupied: u32,
    /// Bit g: the first flow of class g has a turn in the current interval.
    pending: u32,
    backlogged: u32,
    /// Flows of every class that have left, less those that came instead, in its current interval.
    left: [u32; CLASSES],
    /// Bit g: class g may have such flows.
    has_left: u32,
    virtual_time: u128,
    /// R, and what those that have left are of it.
    rate: u64,
    left_rate: u64,
    /// log2 of S.
    scale: u32,
    /// L, and what it falls back to.
    largest: i64,
    least_largest: i64,
    turn: Option<Turn>,
    /// How often no packet waited any more; wraps.
    idle: u32,
}

impl Gmr3 {
    /// A round robin for a pipeline of this shape, with `largest` for L until longer packets come.
    pub fn new(control: Control, largest: Duration, newcomers: Newcomers, shape: Shape) -> Self {
        let largest = largest.min(LONGEST_TIME).as_nanos() as i64;
        Self {
            newcomers,
            outstanding: Outstanding::new(control, shape).with_room(ROOM.saturating_mul(shape.servers)),
            links: Links::default(),
            classes: [List::default(); CLASSES],
            occupied: 0,
            pending: 0,
            backlogged: 0,
            left: [0; CLASSES],
            has_left: 0,
            virtual_time: 0,
            rate: 0,
            left_rate: 0,
            scale: 0,
            largest,
            least_largest: largest,
            turn: None,
            idle: 0,
        }
    }

    pub(crate) fn from_spec(spec: &Spec, shape: Shape) -> Result<Self, SpecError> {
        let largest = match spec.value("largest") {
            Some(value) => {
                value.parse().map_err(|_| SpecError::bad_value("largest", value, "a time such as 200 us"))?
            }
            None => Duration::ZERO,
        };
        Ok(Self::new(Control::from_spec(spec)?, largest, Newcomers::from_spec(spec)?, shape))
    }

    /// The number of the class's current interval; wraps.
    fn interval(&self, class: u32) -> u64 {
        (self.virtual_time >> (PLACES - class)) as u64
    }

    fn newcomers_pay(&self) -> bool {
        self.newcomers == Newcomers::Pay
    }

    fn next_interval(&self, class: u32) -> u64 {
        self.interval(class).wrapping_add(1)
    }

    fn join(&mut self, flow: u32, weight: Weight, standing: &mut Standing) {
        let class = class_of(weight);
        standing.due = self.next_interval(class);
        self.links.push_back(&mut self.classes[class as usize], flow);
        self.occupied |= 1 << class;
        self.backlogged += 1;
        match self.left[class as usize].checked_sub(1) {
            // It has the turns that one that has left would have had.
            Some(left) => {
                self.left[class as usize] = left;
                self.left_rate -= 1 << class;
            }
            None => self.rate += 1 << class,
        }
        self.scale = self.scale.max(scale_for(self.rate));
    }

    /// `next_due`: the interval in which the class's next flow has its turn.
    fn leave(&mut self, flow: u32, weight: Weight, next_due: impl Fn(u32) -> u64) {
        let class = class_of(weight);
        self.links.remove(&mut self.classes[class as usize], flow);
        self.backlogged -= 1;
        self.left[class as usize] += 1;
        self.left_rate += 1 << class;
        self.has_left |= 1 << class;
        self.look_at(class, next_due);
    }

    /// If no packet waits, all is forgotten.
    fn reset_if_idle(&mut self) {
        if self.backlogged == 0 {
            self.forget_left(u32::MAX);
            (self.virtual_time, self.scale, self.largest) = (0, 0, self.least_largest);
            self.idle = self.idle.wrapping_add(1);
        }
    }

    /// The class's first flow is another one.
    fn look_at(&mut self, class: u32, due: impl Fn(u32) -> u64) {
        let bit = 1 << class;
        let first = self.classes[class as usize].first();
        if first.is_none() {
            self.occupied &= !bit;
        }
        if first.is_none_or(|flow| due(flow).wrapping_sub(self.interval(class)) as i64 > 0) {
            self.pending &= !bit;
        }
    }

    /// Virtual time moves on: new intervals begin.
    fn advance(&mut self, to: u128) {
        let highest_change = 127 - (self.virtual_time ^ to).leading_zeros().min(127);
        self.virtual_time = to;
        let lowest_class = PLACES.saturating_sub(highest_change);
        let begun = u32::MAX.checked_shl(lowest_class).unwrap_or(0);
        debug_assert!(self.pending & begun == 0, "a flow had no turn in its interval");
        self.pending |= self.occupied & begun;
        self.forget_left(begun);
        if self.occupied & !begun == 0 {
            self.scale = scale_for(self.rate);
        }
    }

    /// New intervals of these classes begin, in which flows that have left have no turns.
    fn forget_left(&mut self, begun: u32) {
        while let Some(class) = (self.has_left & begun).checked_ilog2() {
            let rate = u64::from(core::mem::take(&mut self.left[class as usize])) << class;
            self.rate -= rate;
            self.left_rate -= rate;
            self.has_left &= !(1 << class);
        }
    }

    fn end_slot(&mut self) {
        self.turn = None;
        self.advance(self.virtual_time + (1 << (PLACES - self.scale)));
    }

    /// The class whose first flow has the next turn.
    fn next_class(&self) -> Option<u32> {
        let classes = if self.pending == 0 { self.occupied } else { self.pending };
        classes.checked_ilog2()
    }

    /// The flows of that class.
    #[inline]
    fn next_list(&self) -> Option<&List> {
        self.next_class().map(|class| &self.classes[class as usize])
    }

    /// The turn of the first flow of a class begins; returns B.
    fn begin_turn<const M: usize, P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) -> i64 {
        self.outstanding.begin(flow);
        self.largest = queues.head(flow).map_or(self.largest, |head| self.largest.max(charge(&head.cost)));
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        let standing = &mut record.state;
        if core::mem::take(&mut standing.new) {
            standing.excess = standing.excess.max(self.largest);
        }
        standing.credit(self.largest, weight).saturating_sub(standing.excess)
    }

    /// The turn of the first flow of a class is over and packets of it wait.
    fn end_turn<const M: usize, P>(&mut self, turn: Turn, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(turn.flow);
        let class = class_of(record.weight());
        record.state.excess = turn.balance.saturating_neg();
        record.state.due = self.next_interval(class);
        let list = &mut self.classes[class as usize];
        self.links.remove(list, turn.flow);
        self.links.push_back(list, turn.flow);
        self.look_at(class, |flow| queues.flow(flow).state.due);
        self.end_slot();
    }
}

/// In nanoseconds.
#[inline]
fn charge<const M: usize>(cost: &ResourceVec<M>) -> i64 {
    charged(cost.dominant_time())
}

/// Weights from 2^g up to 2^(g+1) thousandths are class g.
fn class_of(weight: Weight) -> u32 {
    weight.as_milli().ilog2()
}

/// log2 of the smallest power of two that is not below a rate; rates are below 2^62.
fn scale_for(rate: u64) -> u32 {
    rate.next_power_of_two().ilog2()
}

impl<const M: usize> Discipline<M> for Gmr3 {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    const READS_AHEAD: Worth = BY_TURNS;

    type Flow = Standing;
    type Stamp = ();
    type Note = Sent;

    #[inline]
    fn touch(&self, flow: u32, _standing: &Standing) {
        self.outstanding.touch(flow);
    }

    // Of one class: most turns in a row are of the heaviest one that has turns.
    #[inline]
    fn ahead(&self, packets: usize, ahead: &mut Ahead) {
        self.next_list().into_iter().for_each(|list| self.links.ahead(list, packets, ahead));
    }

    #[inline]
    fn coming(&self, look_at: impl Fn([u32; 3])) {
        self.next_list().and_then(|list| self.links.coming(list)).into_iter().for_each(look_at);
    }

    #[inline]
    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        if record.head != slot {
            return;
        }
        let (weight, pay) = (record.weight(), self.newcomers_pay());
        let standing = &mut record.state;
        standing.excess = standing.excess.max(0);
        let in_time = standing.due == self.next_interval(class_of(weight)) && standing.idle == self.idle;
        if !pay || !in_time {
            if !pay || standing.idle != self.idle {
                standing.excess = 0;
            }
            standing.activation = standing.activation.wrapping_add(1);
            (standing.new, standing.idle) = (pay, self.idle);
        }
        self.join(flow, weight, standing);
    }

    #[inline]
    fn choose<P>(&mut self, _now: Time, queues: &mut FlowQueues<M, P>) -> Choice {
        // Flows in debt pass their turns: at most one for each measurement that put them there.
        let mut passed = 0;
        loop {
            if let Some(turn) = self.turn {
                return Choice::Flow(turn.flow);
            }
            let Some(class) = self.next_class() else { return Choice::AwaitProgress };
            let Some(flow) = self.classes[class as usize].first() else { return Choice::AwaitProgress };
            if !self.outstanding.may_begin(flow, self.backlogged == 1, 2 << class > self.rate - self.left_rate) {
                return Choice::AwaitProgress;
            }
            if self.pending == 0 {
                let places = PLACES - class;
                self.advance(((self.virtual_time >> places) + 1) << places);
            }
            let turn = Turn { flow, balance: self.begin_turn(flow, queues) };
            if turn.balance >= 0 || passed == MOST_PASSED {
                self.turn = Some(turn);
            } else {
                steps::take(1);
                passed += 1;
                self.end_turn(turn, queues);
            }
        }
    }

    #[inline]
    fn served<P>(&mut self, _now: Time, flow: u32, cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) -> Sent {
        let charge = charge(cost);
        self.largest = self.largest.max(charge);
        let turn = Turn { flow, balance: self.turn.map_or(0, |t| t.balance).saturating_sub(charge) };
        self.turn = Some(turn);
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        let sent = self.outstanding.sent::<M>(flow, record.state.activation);
        if record.packets == 0 {
            record.state.excess = turn.balance.saturating_neg();
            record.state.due = self.next_interval(class_of(weight));
            self.leave(flow, weight, |flow| queues.flow(flow).state.due);
            self.end_slot();
            self.reset_if_idle();
        } else if turn.balance <= 0 {
            self.end_turn(turn, queues);
        }
        sent
    }

    #[inline]
    fn progressed(&mut self, _now: Time, ticket: &Ticket<M>, resource: usize, event: Progress) {
        self.outstanding.progressed(ticket, resource, event);
    }

    #[inline]
    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut FlowQueues<M, P>) {
        let after = &ticket.charged_with(took);
        let more = charge(after) - charge(&ticket.charged);
        if more == 0 {
            return;
        }
        let record = queues.flow_mut(flow);
        let same = record.state.activation == ticket.note::<Sent>().activation;
        let counts = match self.newcomers {
            Newcomers::Free => same && record.packets > 0,
            Newcomers::Pay => same || more > 0,
        };
        if !counts {
            return;
        }
        if self.backlogged > 0 {
            self.largest = self.largest.max(charge(after));
        }
        match self.turn {
            Some(Turn { flow: in_turn, balance }) if in_turn == flow => {
                let turn = Turn { flow, balance: balance.saturating_sub(more) };
                self.turn = Some(turn);
                if turn.balance <= 0 {
                    self.end_turn(turn, queues);
                }
            }
            _ => record.state.excess = record.state.excess.saturating_add(more),
        }
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        if class_of(old) == class_of(weight) {
            return;
        }
        record.state.part = 0;
        if record.packets == 0 {
            // It cannot return in time to an interval of another class.
            record.state.due = self.interval(class_of(weight));
            return;
        }
        let mut standing = record.state;
        self.leave(flow, old, |flow| queues.flow(flow).state.due);
        if let Some(turn) = self.turn.filter(|turn| turn.flow == flow) {
            standing.excess = turn.balance.saturating_neg();
            self.end_slot();
        }
        self.join(flow, weight, &mut standing);
        queues.flow_mut(flow).state = standing;
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow(flow);
        if record.packets > 0 {
            self.leave(flow, record.weight(), |flow| queues.flow(flow).state.due);
            if self.turn.is_some_and(|turn| turn.flow == flow) {
                self.end_slot();
            }
            self.reset_if_idle();
        }
        self.outstanding.forget(flow);
    }
}
