//! A flow's finish timestamps.

use core::mem::replace;

use dovetail_units::{Duration, ResourceVec, Weight};

use super::active_time::growth;
use crate::charge::total;
use crate::newcomers::Newcomers;
use crate::queues::NIL;
use crate::tag::Tag;
use crate::touch;

/// Where a flow's timestamps stand. Its packets that are in a loop come before those that are not. 104 bytes with two
/// resources, so that they are on two lines of the cache with the flow's queue.
#[derive(Clone, Copy, Debug)]
pub struct Chain<const M: usize> {
    /// F of the last packet that entered a loop.
    pub finish: Tag,
    /// That packet.
    last: Latest<M>,
    /// The packet that last left the pipeline, as it was measured.
    left: Latest<M>,
    /// The epoch on its ticket.
    pub left_epoch: u32,
    /// What equation (1) maps the flow to.
    pub floor: Tag,
    /// Whether it is yet to be mapped, with its next packet.
    pub returned: bool,
    /// Where the flow would stand if it had not been mapped the last time.
    pub before: Tag,
    /// How often the flow was mapped; wraps.
    pub mappings: u32,
    /// The flow's first packet that is in no loop, or [`NIL`].
    pub first_outside: u32,
    /// The last loop that took packets of the flow.
    pub in_loop: u64,
    /// So many.
    pub taken: u16,
}

/// The times of the latest packet, if there was one. Without a word for whether there was.
#[derive(Clone, Copy, Debug)]
struct Latest<const M: usize>(ResourceVec<M>);

impl<const M: usize> Latest<M> {
    /// No packet takes that long: [`LONGEST_TIME`](crate::contract::LONGEST_TIME) is the most.
    const NONE: Self = Self(ResourceVec([Duration::MAX; M]));

    fn get(&self) -> Option<&ResourceVec<M>> {
        (self.0[0] != Duration::MAX).then_some(&self.0)
    }
}

impl<const M: usize> Default for Chain<M> {
    fn default() -> Self {
        let (finish, floor, before, left_epoch, mappings) = Default::default();
        let (last, left, returned, in_loop, taken) = (Latest::NONE, Latest::NONE, false, 0, 0);
        let first_outside = NIL;
        Self { finish, last, left, left_epoch, floor, returned, before, mappings, first_outside, in_loop, taken }
    }
}

/// What a packet would be charged if it entered a loop now.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// In ns.
    pub charged: u64,
    /// What the flow had received before.
    pub start: u128,
    /// Its F.
    pub finish: Tag,
    /// Where the flow would stand if it were not mapped now.
    pub unmapped: Tag,
}

impl<const M: usize> Chain<M> {
    /// The flow's next packet, of this cost.
    pub fn entry(&self, cost: &ResourceVec<M>, weight: Weight, newcomers: Newcomers) -> Entry {
        let begins = self.returned && newcomers == Newcomers::Pay;
        let charged = charge(self.last.get().filter(|_| !begins), cost, newcomers);
        let floor = self.floor.ticks();
        match newcomers {
            Newcomers::Pay => {
                let start = self.finish.at_least(floor);
                let finish = start.moved(charged as i64, weight);
                Entry { charged, start: start.ticks(), finish, unmapped: self.finish }
            }
            Newcomers::Free => {
                let unmapped = self.finish.moved(charged as i64, weight);
                let finish = unmapped.at_least(floor);
                let start = finish.moved(-(charged as i64), weight).ticks();
                Entry { charged, start, finish, unmapped }
            }
        }
    }

    /// Read ahead what does not fit into the first line of its record.
    #[inline]
    pub fn touch(&self) {
        touch::word(&self.first_outside);
    }

    /// The flow becomes backlogged where others stand at `virtual_time`.
    pub fn returns(&mut self, virtual_time: u128) {
        (self.floor, self.returned) = (Tag::at(virtual_time), true);
    }

    /// That packet enters a loop; `next` is the one behind it. Returns what its ticket is to note as epoch.
    pub fn enter(&mut self, entry: &Entry, cost: ResourceVec<M>, next: u32, newcomers: Newcomers) -> u32 {
        let epoch = self.mappings;
        if replace(&mut self.returned, false) {
            self.before = entry.unmapped;
            self.mappings = epoch.wrapping_add(1);
        }
        (self.finish, self.last, self.first_outside) = (entry.finish, Latest(cost), next);
        // As published, the floor hides the charge: it counts as one from before.
        if newcomers == Newcomers::Pay { self.mappings } else { epoch }
    }

    /// A packet that was charged `charged` ns really took `cost`: from now on the flow is charged what the packet added
    /// to its active time, so that the sum of its charges is in the end its true active time, however wrong the
    /// estimates were. Whether that changes anything.
    pub fn leaves(
        &mut self,
        cost: ResourceVec<M>,
        charged: u64,
        epoch: u32,
        weight: Weight,
        newcomers: Newcomers,
    ) -> bool {
        let begins = replace(&mut self.left_epoch, epoch) != epoch && newcomers == Newcomers::Pay;
        let before = replace(&mut self.left, Latest(cost));
        let before = before.get().filter(|_| !begins);
        // As published the first packet is free.
        if before.is_none() && newcomers == Newcomers::Free {
            return false;
        }
        // Both are sums of few times, so far below 2^62.
        let more = charge(before, &cost, newcomers) as i64 - charged as i64;
        if epoch == self.mappings {
            self.finish = self.finish.moved(more, weight);
            return more != 0;
        }
        // Of packets before the flow was mapped only that counts by which they exceed what it was mapped to.
        let floor = self.floor.ticks();
        let was = self.before.ticks().max(floor);
        self.before = self.before.moved(more, weight);
        let moves = self.before.ticks().max(floor) as i128 - was as i128;
        self.finish = self.finish.at_tick(self.finish.ticks().saturating_add_signed(moves));
        moves != 0
    }
}

/// What a packet of these times is charged after the flow's last one, in ns: at least one, so that no flow of free
/// packets starves others. The first packet of a flow that becomes backlogged is charged its total time, from the
/// beginning on the first resource to the end on the last (equation 2), which is never less than what it would be
/// charged behind another one; as published the very first packet of a flow is free.
fn charge<const M: usize>(last: Option<&ResourceVec<M>>, cost: &ResourceVec<M>, newcomers: Newcomers) -> u64 {
    match (last, newcomers) {
        (Some(last), _) => growth(last, cost).max(1),
        (None, Newcomers::Pay) => total(cost).as_nanos().max(1),
        (None, Newcomers::Free) => 0,
    }
}
