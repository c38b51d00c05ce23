//! Charges are replaced by what was measured.
//!
//! When a packet leaves the pipeline all its times are known, and those of its flow's packet before it. The flow is then charged what the
//! packet really added to its active time, instead of what it was charged. So the sum of a flow's charges is in the end its true active time,
//! however wrong the estimates were.

use alloc::vec::Vec;

use dovetail_units::ResourceVec;

use super::chain::charge;
use crate::contract::{FlowId, Ticket};

/// What is known of a flow's packets that have left the pipeline.
#[derive(Clone, Copy, Debug, Default)]
struct Account<const M: usize> {
    generation: u32,
    /// How often the flow was mapped (equation 1); wraps.
    mappings: u32,
    /// The packet that left last.
    last: Option<ResourceVec<M>>,
    /// What packets of the present mapping turned out longer, in ns.
    owed: i64,
    /// What packets before it, and the mapped one, turned out longer.
    owed_before: i64,
    listed: bool,
}

/// A flow's charges turned out to be wrong, in ns: too small if positive.
pub struct Correction {
    pub flow: FlowId,
    /// Of packets since the flow was last mapped.
    pub since_mapping: i64,
    /// Of packets before.
    pub before_mapping: i64,
}

/// The accounts of all flows.
#[derive(Clone, Debug, Default)]
pub struct Accounts<const M: usize> {
    flows: Vec<Account<M>>,
    /// Flows that owe or are owed something.
    listed: Vec<u32>,
}

impl<const M: usize> Accounts<M> {
    /// A packet of the flow enters a loop, `mapped` or not: returns what its ticket is to note as epoch. O(1).
    pub fn enters(&mut self, flow: FlowId, mapped: bool) -> u32 {
        if self.flows.len() <= flow.index() {
            self.flows.resize(flow.index() + 1, Account::default());
        }
        let account = &mut self.flows[flow.index()];
        if account.generation != flow.generation {
            *account = Account { generation: flow.generation, listed: account.listed, ..Account::default() };
        }
        let epoch = account.mappings;
        account.mappings = epoch.wrapping_add(u32::from(mapped));
        epoch
    }

    /// A packet that took `cost` leaves the pipeline. O(1).
    pub fn leaves(&mut self, ticket: &Ticket<M>, cost: ResourceVec<M>) {
        let account = self.flows.get_mut(ticket.flow.index()).filter(|a| a.generation == ticket.flow.generation);
        let Some(account) = account else { return };
        let Some(before) = account.last.replace(cost) else { return };
        // Both are sums of few times, so far below 2^63.
        let charged = ticket.tags.first().copied().unwrap_or(0);
        let more = charge(Some(&before), &cost) as i64 - charged as i64;
        if more == 0 {
            return;
        }
        let owed = if ticket.epoch == account.mappings { &mut account.owed } else { &mut account.owed_before };
        *owed = owed.saturating_add(more);
        if !core::mem::replace(&mut account.listed, true) {
            self.listed.push(ticket.flow.index);
        }
    }

    /// The next correction to make, if any.
    pub fn pop(&mut self) -> Option<Correction> {
        let index = self.listed.pop()?;
        let account = self.flows.get_mut(index as usize)?;
        account.listed = false;
        let flow = FlowId { index, generation: account.generation };
        let since_mapping = core::mem::take(&mut account.owed);
        let before_mapping = core::mem::take(&mut account.owed_before);
        Some(Correction { flow, since_mapping, before_mapping })
    }
}
