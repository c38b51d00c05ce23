//! Where a flow stands in virtual time, for the disciplines by tags without a fluid: by start tags
//! ([`sfq`](crate::sfq), [`bottleneck`](crate::bottleneck), [`drfq`](crate::drfq)) and by finish tags
//! ([`scfq`](crate::scfq), [`pcfq`](crate::pcfq)).
//!
//! # Newcomers that pay
//!
//! As published, start tags place a flow that becomes backlogged at V, which stands still until it is served: a stream
//! of ever new flows is always first. With [`Newcomers::Pay`] a flow makes a *deposit* of the price of one packet
//! before its first, and is served in the order of
//!
//! ```text
//! T = U + d     U = its start tag, d = its largest price so far; a price is a packet's processing time by weight
//! V = the largest T served
//! U = F of the packet before, if that still waited when this one came; else
//! U = max( F, V - l ), l = d less the price of the packet before, 0 for a new flow:
//!     so T = V + the price of the packet before, and what this one adds to d; T = V + its own price for a new flow
//! ```
//!
//! Prices known in advance, weights that stay:
//! * V - d <= U <= V whenever a flow waits. When a packet of price c is served, V >= T = U + d, so the next U = U + c
//!   <= T <= V; and a head whose T is below V would have been served. So two flows that wait throughout are never
//!   further apart than d_i + d_j, which is the bound s_i / w_i + s_j / w_j of start tags, s the largest packet of the
//!   flow so far.
//! * Nothing can be gained by being new. U is V when a flow is set up and moves by its prices only, or further; and U +
//!   c <= V after each service. So what all the flows of a stream get one after another is no more than V moves
//!   meanwhile, and a rival that waits gets no less than that but for d.
//! * Nothing is lost by being idle for a moment: U goes on by the prices of what was served. A flow that stays pays the
//!   deposit once, and again what a larger packet adds; one that is removed leaves it behind, less the price of its
//!   last packet.
//!
//! When the weight of a flow that waits changes, T - V changes with it: what the flow is owed, and has still to wait
//! for, is the same time as before. As published a flow has no deposit, and its F may be ahead of V though nothing of
//! it waits. Then F - V changes so.

use core::hint::select_unpredictable;

use dovetail_units::Weight;

use crate::newcomers::Newcomers;
use crate::tag::{Tag, virtual_time};

/// A flow's start tags in one virtual time: 40 bytes, so that they are on one line of the cache with the flow's queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct StartTags {
    /// F of the last packet served.
    finish: Tag,
    mark: Mark,
    /// d as time, in nanoseconds.
    deposit: i64,
}

/// Of a packet that came when none waited, until it is served: the least U. Else T of the last packet served.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    low: u64,
    high: u32,
    is_floor: bool,
}

impl Mark {
    /// Of ticks below 2^96.
    #[inline]
    fn new(ticks: u128, is_floor: bool) -> Self {
        Self { low: ticks as u64, high: (ticks >> 64) as u32, is_floor }
    }

    #[inline]
    fn ticks(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }
}

impl StartTags {
    /// A packet comes at this virtual time and finds none waiting.
    #[inline]
    pub fn come(&mut self, virtual_time: u128, weight: Weight) {
        let left = self.mark.ticks().saturating_sub(self.finish.ticks());
        let floor = virtual_time.saturating_sub(left.min(Tag::default().moved(self.deposit, weight).ticks()));
        self.set_floor(Tag::at(floor));
    }

    /// U of the first waiting packet is no less than this.
    #[inline]
    pub fn set_floor(&mut self, floor: Tag) {
        self.mark = Mark::new(floor.ticks(), true);
    }

    /// F of the last packet served, in ticks.
    #[inline]
    pub fn finish(&self) -> u128 {
        self.finish.ticks()
    }

    /// U of the first waiting packet, which is no less than `least`, in ticks.
    #[inline]
    pub fn start(&self, least: u128) -> Tag {
        let floor = if self.mark.is_floor { self.mark.ticks() } else { 0 };
        self.finish.at_least(floor.max(least))
    }

    /// The first waiting packet takes so many nanoseconds.
    #[inline]
    pub fn tag_head(&mut self, nanos: i64, newcomers: Newcomers) {
        if newcomers == Newcomers::Pay {
            self.deposit = self.deposit.max(nanos);
        }
    }

    /// T of the first waiting packet, whose U is `start`, in ticks.
    #[inline]
    pub fn head(&self, start: Tag, weight: Weight) -> u128 {
        start.moved(self.deposit, weight).ticks()
    }

    /// The first waiting packet is served, whose U is `start` and whose T is `head`.
    #[inline]
    pub fn serve_head(&mut self, start: Tag, head: u128, nanos: i64, weight: Weight) {
        debug_assert_eq!(head, self.head(start, weight));
        (self.mark, self.finish) = (Mark::new(head, false), start.moved(nanos, weight));
    }

    /// The weight changes, at this virtual time, while a packet waits whose U was `start`: it counts from F now.
    pub fn reweigh(&mut self, start: Tag, virtual_time: u128, old: Weight, new: Weight) {
        let ahead = self.head(start, old).saturating_sub(virtual_time);
        let ahead = ahead * u128::from(old.as_milli()) / u128::from(new.as_milli());
        self.finish = Tag::at(virtual_time + ahead).moved(-self.deposit, new);
        if self.mark.is_floor {
            self.mark = Mark::default();
        }
    }

    /// The same while nothing waits: without a deposit, F may be ahead.
    pub fn reweigh_idle(&mut self, virtual_time: u128, old: Weight, new: Weight) {
        if self.finish.ticks() > virtual_time {
            self.finish = self.finish.rescaled(virtual_time, old, new);
        }
    }

    /// A packet that was served took so much more, or less.
    #[inline]
    pub fn correct(&mut self, more: i64, weight: Weight) {
        self.finish = self.finish.moved(more, weight);
    }
}

/// A virtual time of processing time on `R` resources, each by its weight.
#[derive(Clone, Copy, Debug)]
struct Sum<const R: usize> {
    at: Tag,
    /// By resource, what is below a tick.
    parts: [u32; R],
}

impl<const R: usize> Sum<R> {
    /// Moved by the sum of `nanos / weight` over the resources, which may be negative.
    #[inline]
    fn moved(mut self, nanos: [i64; R], weights: [Weight; R]) -> Self {
        let mut sum = 0i128;
        for r in 0..R {
            let (ticks, part) = virtual_time(nanos[r], weights[r], self.parts[r]);
            self.parts[r] = part;
            sum += ticks;
        }
        Self { at: self.at.further(sum), ..self }
    }
}

/// A flow's finish tags by its time on `R` resources together. With two resources they take 32 bytes, and with the
/// flow's queue and two weights one line of the cache. So the tags of the first waiting packet are not kept, but
/// computed when they are needed.
#[derive(Clone, Copy, Debug)]
pub struct FinishTags<const R: usize = 1> {
    /// F of the last packet served: its lower 64 bits. `finish_high` has the others, and `parts`, by resource, what is
    /// below a tick.
    finish: u64,
    /// The first waiting packet starts no earlier than this, the virtual time at its arrival: its lower 64 bits.
    floor: u64,
    finish_high: u32,
    floor_high: u32,
    parts: [u32; R],
}

impl<const R: usize> Default for FinishTags<R> {
    fn default() -> Self {
        Self { finish: 0, floor: 0, finish_high: 0, floor_high: 0, parts: [0; R] }
    }
}

impl<const R: usize> FinishTags<R> {
    /// The first waiting packet arrived at this virtual time.
    #[inline]
    pub fn set_floor(&mut self, virtual_time: Tag) {
        let ticks = virtual_time.ticks();
        (self.floor, self.floor_high) = (ticks as u64, (ticks >> 64) as u32);
    }

    /// F of the last packet served, in ticks.
    #[inline]
    pub fn finish(&self) -> u128 {
        u128::from(self.finish_high) << 64 | u128::from(self.finish)
    }

    /// `S = max(floor, F')` of the first waiting packet, in ticks.
    #[inline]
    pub fn start(&self) -> u128 {
        self.finish().max(self.floor())
    }

    /// `F = S + sum of time / weight` of the first waiting packet, which takes so long, in ticks.
    #[inline]
    pub fn head(&self, nanos: [i64; R], weights: [Weight; R]) -> u128 {
        self.sum(self.start()).moved(nanos, weights).at.ticks()
    }

    /// The first waiting packet is served, which takes so long.
    #[inline]
    pub fn serve_head(&mut self, nanos: [i64; R], weights: [Weight; R]) {
        self.set_finish(self.sum(self.start()).moved(nanos, weights));
        (self.floor, self.floor_high) = (0, 0);
    }

    /// A packet that was served took so much more, or less.
    #[inline]
    pub fn correct(&mut self, more: [i64; R], weights: [Weight; R]) {
        self.set_finish(self.sum(self.finish()).moved(more, weights));
    }

    #[inline]
    fn floor(&self) -> u128 {
        u128::from(self.floor_high) << 64 | u128::from(self.floor)
    }

    /// The sum at these ticks; if they are F, with what F has below a tick.
    #[inline]
    fn sum(&self, ticks: u128) -> Sum<R> {
        let is_finish = ticks == self.finish();
        Sum { at: Tag::at(ticks), parts: self.parts.map(|part| select_unpredictable(is_finish, part, 0)) }
    }

    #[inline]
    fn set_finish(&mut self, Sum { at, parts }: Sum<R>) {
        let ticks = at.ticks();
        (self.finish, self.finish_high, self.parts) = (ticks as u64, (ticks >> 64) as u32, parts);
    }
}
