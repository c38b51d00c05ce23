//! Where new flows wait before a fluid.
//!
//! In a fluid a flow counts until its last packet ends there, however long ago that was handed out. A stream of new
//! flows, one for every packet, is so many flows to the fluid, though no more than one of its packets ever waits; it
//! could take all there is. With [`Newcomers::Pay`] it is worth one flow:
//!
//! * A flow is *new* if it is set up while packets wait, until it has been in the fluid once.
//! * When the last packet of a new flow is handed out, or a flow that is in the fluid is removed, the fluid is *closed*
//!   until V comes to the F of that flow.
//! * To a heavier flow it is closed for as long only as what is left of that packet takes at the heavier weight; of
//!   several flows, one after another ([`newcomers`](crate::newcomers)). The packet of a flow of weight 0.01 reaches a
//!   hundred times as far in V as that of one of weight 1, which would else be shut out for that long.
//! * What is left in the fluid of a packet that was handed out, of a flow that is removed, the fluid works off before
//!   it goes on.
//! * A new flow that comes meanwhile enters when V is there. All of similar weights that wait enter together, so that
//!   nobody waits for more than what is left of other new flows' last packets. Heavier ones do not enter after lighter
//!   ones.
//!
//! So the packets of the stream end in the fluid one after another, as those of one flow that is backlogged throughout:
//! between two that follow each other, V moves by as much as the first one takes at the larger weight of the two. Light
//! ones may still be in the fluid when heavier ones come: one of each class at most, if they came one by one.
//! Flows that were set up when nothing waited, and those that come again, enter at once, as published: k of them are
//! worth k flows.
//!
//! A fluid may have several virtual times, of which a flow is served by one. Then it opens when all have come to the
//! last F in each.

use dovetail_units::Weight;

use crate::newcomers::{CLASSES, Newcomers, Reached, class};
use crate::queues::{Links, List};

/// How a flow stands to the anteroom.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Visit {
    /// It enters at once.
    #[default]
    Known,
    /// It was set up while packets waited, and had none yet.
    New,
    /// It waits to be let in.
    Waits,
    /// It is in the fluid for the first time.
    First,
}

/// New flows that wait to be let into a fluid, by class of weight, each in the order in which they came.
#[derive(Clone, Debug)]
pub struct Anteroom<const CLOCKS: usize = 1> {
    newcomers: Newcomers,
    /// R, by clock.
    reached: [Reached; CLOCKS],
    waiting: [List; CLASSES],
    /// The classes of which flows wait, as bits.
    occupied: u32,
    links: Links,
}

impl<const CLOCKS: usize> Anteroom<CLOCKS> {
    /// By which new flows are let in so.
    pub fn new(newcomers: Newcomers) -> Self {
        let (reached, waiting) = ([Reached::default(); CLOCKS], [List::default(); CLASSES]);
        Self { newcomers, reached, waiting, occupied: 0, links: Links::default() }
    }

    /// What a flow is that is set up while so many packets wait. Makes room for it, so that no packet has to wait for
    /// that.
    pub fn visit(&mut self, flow: u32, packets: u64) -> Visit {
        self.links.make_room(flow);
        if self.newcomers == Newcomers::Pay && packets > 0 { Visit::New } else { Visit::Known }
    }

    /// V at which the next flow may enter, if one waits: no other may before.
    pub fn opens(&self) -> Option<[u128; CLOCKS]> {
        self.heaviest().map(|class| self.reached.each_ref().map(|reached| reached.of(class)))
    }

    /// The heaviest class of which a flow waits.
    fn heaviest(&self) -> Option<usize> {
        self.occupied.checked_ilog2().map(|class| class as usize)
    }

    /// A flow of this weight has a packet and is not in the fluid, whose virtual time this is: whether it enters now,
    /// or waits. O(1).
    pub fn admits(&mut self, flow: u32, weight: Weight, visit: &mut Visit, virtual_time: [u128; CLOCKS]) -> bool {
        if *visit != Visit::New {
            *visit = Visit::Known;
            return true;
        }
        let class = class(weight);
        let is_shut = self.reached.iter().zip(virtual_time).any(|(reached, now)| reached.of(class) > now);
        let closed = is_shut || self.heaviest().is_some_and(|waits| waits >= class);
        *visit = if closed { Visit::Waits } else { Visit::First };
        if closed {
            self.join(flow, class);
        }
        !closed
    }

    fn join(&mut self, flow: u32, class: usize) {
        self.links.push_back(&mut self.waiting[class], flow);
        self.occupied |= 1 << class;
    }

    fn leave(&mut self, flow: u32, class: usize) {
        self.links.remove(&mut self.waiting[class], flow);
        if self.waiting[class].is_empty() {
            self.occupied &= !(1 << class);
        }
    }

    /// The weight of a flow that stands so was `old` until now. O(1).
    pub fn reweighed(&mut self, flow: u32, visit: Visit, old: Weight, new: Weight) {
        if visit == Visit::Waits && class(old) != class(new) {
            self.leave(flow, class(old));
            self.join(flow, class(new));
        }
    }

    /// Of the heaviest flows the one that has waited longest, which enters. O(1).
    pub fn let_in(&mut self) -> Option<u32> {
        let class = self.heaviest()?;
        let flow = self.waiting[class].first()?;
        self.leave(flow, class);
        Some(flow)
    }

    /// The last packet of a flow of this weight is handed out, which is in the fluid for the first time and ends there
    /// at `finish`, 0 by the clocks that do not serve it. `virtual_time` is no earlier than when a flow entered last.
    /// O(1).
    pub fn handed_out(&mut self, weight: Weight, virtual_time: [u128; CLOCKS], finish: [u128; CLOCKS]) {
        for (reached, (now, finish)) in self.reached.iter_mut().zip(virtual_time.into_iter().zip(finish)) {
            if finish > now {
                reached.reach(now, finish, weight);
            }
        }
    }

    /// A flow that stands so, of which so many packets wait, is removed; its head would end in the fluid at `finish`,
    /// if it is there, as in [`handed_out`](Self::handed_out). Whether the fluid is to work off what is left of a head
    /// that was handed out, before it goes on. O(1).
    pub fn removed(
        &mut self,
        flow: u32,
        (weight, packets): (Weight, u32),
        visit: Visit,
        virtual_time: [u128; CLOCKS],
        finish: Option<[u128; CLOCKS]>,
    ) -> bool {
        if visit == Visit::Waits {
            self.leave(flow, class(weight));
        }
        let Some(finish) = finish.filter(|_| self.newcomers == Newcomers::Pay) else { return false };
        // The last packet of a new flow counted when it was handed out.
        if visit != Visit::First || packets > 0 {
            self.handed_out(weight, virtual_time, finish);
        }
        true
    }
}
