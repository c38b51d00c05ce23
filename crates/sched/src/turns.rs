//! Turns by credit: what the round robins [`drr`](crate::drr) and [`cbcs`](crate::cbcs) have in common.
//!
//! Backlogged flows stand in a list and have one turn each per round. A turn is worth the round's quantum, the same
//! virtual time (time by weight) for every flow. Nothing is handed out: G is the sum of the quanta of all rounds so
//! far, and a flow's credit in its turn is G less what it has spent. So rounds in which nobody can serve a packet are
//! skipped by raising G, and a new quantum holds for everybody at once.
//!
//! G and what was spent of it wrap; their differences are less than 2^126 ticks of 2^-22 ns, with exact remainders (see
//! [`tag`](crate::tag)).

use dovetail_units::{Duration, Weight};

use crate::queues::{Links, List};
use crate::steps;
use crate::tag::virtual_time;
use crate::touch::Ahead;

/// The longest quantum that is told apart from longer ones: 146 years.
pub(crate) const LONGEST_QUANTUM: Duration = Duration::from_nanos(1 << 62);
/// Turns in vain after which a decision raises its round's quantum to what the next flow needs.
const MOST_IN_VAIN: u32 = 256;

/// What a flow has spent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    /// Of G, in ticks; of a flow without packets: what it owes.
    spent: [u64; 2],
    /// What packets took below a tick, in thousandths of the weight.
    part: u32,
    /// The round in which the flow's next turn begins; wraps.
    due: u32,
}

impl Account {
    /// Ticks for so many nanoseconds, and the part of a tick that is left.
    #[inline]
    pub fn ticks_of(&self, nanos: i64, weight: Weight) -> i128 {
        virtual_time(nanos, weight, self.part).0
    }

    /// A packet, or a correction, takes so many nanoseconds.
    #[inline]
    pub fn pay(&mut self, nanos: i64, weight: Weight) {
        let (ticks, part) = virtual_time(nanos, weight, self.part);
        self.part = part;
        self.spend(ticks);
    }

    #[inline]
    fn spend(&mut self, ticks: i128) {
        self.set_spent(self.spent().wrapping_add(ticks));
    }

    /// Of a flow without packets: nobody is owed anything.
    #[inline]
    pub fn owe_no_less_than_nothing(&mut self) {
        self.set_spent(self.spent().max(0));
    }

    /// A flow without packets has another weight: what it owes is a time and stays.
    pub fn reweigh_debt(&mut self, old: Weight, new: Weight) {
        self.set_spent(rescaled(self.spent().saturating_neg(), old, new).saturating_neg());
    }

    #[inline]
    fn spent(&self) -> i128 {
        (i128::from(self.spent[0] as i64) << 64) | i128::from(self.spent[1])
    }

    #[inline]
    fn set_spent(&mut self, ticks: i128) {
        self.spent = [(ticks >> 64) as u64, ticks as u64];
    }
}

/// Turns in vain within one decision.
#[derive(Default)]
pub(crate) struct InVain {
    turns: u32,
    /// Since rounds were last skipped.
    in_a_row: u32,
    /// The least G that would do for one of these.
    least: i128,
}

/// The rounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// Backlogged flows; the first has its turn, or has the next one.
    list: List,
    links: Links,
    round: u32,
    /// G, this round's quantum included.
    granted: i128,
    /// Of this round.
    quantum: i128,
    /// Whether the first flow's turn has begun.
    under_way: bool,
    /// Turns so far.
    pub visits: u64,
}

impl Turns {
    /// The flow that has its turn, or the next one.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        self.list.first()
    }

    /// The flows that have the next turns.
    #[inline]
    pub fn ahead(&self, flows: usize, ahead: &mut Ahead) {
        self.links.ahead(&self.list, flows, ahead);
    }

    /// The flows that come third, second and next after the first one.
    #[inline]
    pub fn coming(&self) -> Option<[u32; 3]> {
        self.links.coming(&self.list)
    }

    /// Whether no flow is backlogged.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether the flow's turn is under way.
    #[inline]
    pub fn in_turn(&self, flow: u32) -> bool {
        self.under_way && self.first() == Some(flow)
    }

    /// A flow joins the end of the list, with nothing but what it owes.
    #[inline]
    pub fn join(&mut self, flow: u32, account: &mut Account) {
        account.set_spent(self.granted.wrapping_add(account.spent().max(0)));
        account.due = self.round.wrapping_add(1);
        self.links.push_back(&mut self.list, flow);
    }

    /// A flow leaves the list and loses its credit.
    #[inline]
    pub fn leave(&mut self, flow: u32, account: &mut Account) {
        account.set_spent(self.credit(account).min(0).saturating_neg());
        self.under_way &= self.first() != Some(flow);
        self.links.remove(&mut self.list, flow);
    }

    /// The credit of a flow in the list, as of its last turn, in ticks.
    #[inline]
    pub fn credit(&self, account: &Account) -> i128 {
        let to_come = if account.due == self.round { self.quantum } else { 0 };
        self.granted.wrapping_sub(to_come).wrapping_sub(account.spent())
    }

    /// The credit of the first flow, whose turn has begun, in ticks.
    #[inline]
    pub fn credit_in_turn(&self, account: &Account) -> i128 {
        self.granted.wrapping_sub(account.spent())
    }

    /// A flow in the list has another weight: credit is a time and stays.
    pub fn reweigh(&self, account: &mut Account, old: Weight, new: Weight) {
        let credit = self.credit(account);
        account.spend(credit.wrapping_sub(rescaled(credit, old, new)));
    }

    /// The first flow's turn begins, if it has not, and with the first turn a round with this quantum; returns whether
    /// a round begins.
    #[inline]
    pub fn begin(&mut self, account: &mut Account, quantum: impl FnOnce() -> i128) -> bool {
        if self.under_way {
            return false;
        }
        let new_round = account.due != self.round;
        if new_round {
            self.round = account.due;
            self.quantum = quantum();
            self.granted = self.granted.wrapping_add(self.quantum);
        }
        account.due = self.round.wrapping_add(1);
        self.under_way = true;
        self.visits += 1;
        new_round
    }

    /// The first flow's turn is over.
    #[inline]
    pub fn pass(&mut self) {
        self.under_way = false;
        self.links.rotate(&mut self.list);
    }

    /// The first flow's credit is `short` of what it needs in its turn. If that was so for everybody, rounds of this
    /// quantum, if one is given, are skipped that would be in vain. Returns whether the flow shall be served
    /// nevertheless: this round's quantum is raised.
    #[inline]
    pub fn in_vain(&mut self, vain: &mut InVain, short: i128, quantum: Option<i128>) -> bool {
        steps::take(1);
        vain.turns += 1;
        if vain.turns >= MOST_IN_VAIN {
            self.quantum = self.quantum.wrapping_add(short);
            self.granted = self.granted.wrapping_add(short);
            return true;
        }
        self.pass();
        if let Some(quantum) = quantum {
            self.skip_rounds(vain, short, quantum);
        }
        false
    }

    /// One more flow was `short` of what it needs. If that was so for everybody, rounds of this quantum are skipped but
    /// for the last one of those in vain.
    fn skip_rounds(&mut self, vain: &mut InVain, short: i128, quantum: i128) {
        if vain.in_a_row == 0 || short < vain.least.wrapping_sub(self.granted) {
            vain.least = self.granted.wrapping_add(short);
        }
        vain.in_a_row += 1;
        if vain.in_a_row == self.list.len() {
            vain.in_a_row = 0;
            let rounds = (vain.least.wrapping_sub(self.granted) - 1).max(0) / quantum;
            self.granted = self.granted.wrapping_add(rounds * quantum);
        }
    }
}

/// A virtual time of the same time by another weight, rounded down.
pub(crate) fn rescaled(ticks: i128, old: Weight, new: Weight) -> i128 {
    ticks.saturating_mul(old.as_milli().into()).div_euclid(new.as_milli().into())
}
