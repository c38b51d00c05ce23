//! Where new flows wait before a fluid.
//!
//! In a fluid a flow counts until its last packet ends there, however long ago that was handed out. A stream of new
//! flows, one for every packet, is so many flows to the fluid, though no more than one of its packets ever waits; it
//! could take all there is. With [`Newcomers::Pay`] it is worth one flow:
//!
//! * A flow is *new* if it is set up while packets wait, until it has been in the fluid once.
//! * When the last packet of a new flow is handed out, or a flow that is in the fluid is removed, the fluid is *closed*
//!   until V comes to the F of that flow.
//! * What is left in the fluid of a packet that was handed out, of a flow that is removed, the fluid works off before
//!   it goes on.
//! * A new flow that comes meanwhile enters when V is there. All that wait enter together, so that nobody waits for
//!   more than a packet of another new flow.
//!
//! So the packets of the stream end in the fluid one after another, as those of one flow that is backlogged throughout.
//! Flows that were set up when nothing waited, and those that come again, enter at once, as published: k of them are
//! worth k flows.
//!
//! A fluid may have several virtual times, of which a flow is served by one. Then it opens when all have come to the
//! last F in each.

use crate::newcomers::Newcomers;
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

/// New flows that wait to be let into a fluid, in the order in which they came.
#[derive(Clone, Debug)]
pub struct Anteroom<const CLOCKS: usize = 1> {
    newcomers: Newcomers,
    /// V at which the fluid opens, by clock.
    opens: [u128; CLOCKS],
    waiting: List,
    links: Links,
}

impl<const CLOCKS: usize> Anteroom<CLOCKS> {
    /// By which new flows are let in so.
    pub fn new(newcomers: Newcomers) -> Self {
        Self { newcomers, opens: [0; CLOCKS], waiting: List::default(), links: Links::default() }
    }

    /// What a flow is that is set up while so many packets wait. Makes room for it, so that no packet has to wait for
    /// that.
    pub fn visit(&mut self, flow: u32, packets: u64) -> Visit {
        self.links.make_room(flow);
        if self.newcomers == Newcomers::Pay && packets > 0 { Visit::New } else { Visit::Known }
    }

    /// V at which a flow that waits may enter, if one does.
    pub fn opens(&self) -> Option<[u128; CLOCKS]> {
        (!self.waiting.is_empty()).then_some(self.opens)
    }

    /// A flow has a packet and is not in the fluid, whose virtual time this is: whether it enters now, or waits. O(1).
    pub fn admits(&mut self, flow: u32, visit: &mut Visit, virtual_time: [u128; CLOCKS]) -> bool {
        let is_shut = self.opens.iter().zip(virtual_time).any(|(opens, now)| *opens > now);
        let closed = is_shut || !self.waiting.is_empty();
        *visit = match *visit {
            Visit::New if closed => Visit::Waits,
            Visit::New => Visit::First,
            _ => Visit::Known,
        };
        if *visit == Visit::Waits {
            self.links.push_back(&mut self.waiting, flow);
        }
        *visit != Visit::Waits
    }

    /// The flow that has waited longest, which enters. O(1).
    pub fn let_in(&mut self) -> Option<u32> {
        let flow = self.waiting.first()?;
        self.links.remove(&mut self.waiting, flow);
        Some(flow)
    }

    /// The last packet of a flow that is in the fluid, and ends there at `finish`, which is 0 by the clocks that do not
    /// serve it, is handed out. O(1).
    pub fn handed_out(&mut self, visit: Visit, finish: [u128; CLOCKS]) {
        if visit == Visit::First {
            self.close_until(finish);
        }
    }

    fn close_until(&mut self, finish: [u128; CLOCKS]) {
        self.opens.iter_mut().zip(finish).for_each(|(opens, finish)| *opens = finish.max(*opens));
    }

    /// A flow that stands so is removed; its head would end in the fluid at `finish`, if it is there, as in
    /// [`handed_out`](Self::handed_out). Whether the fluid is to work off what is left of a head that was handed out,
    /// before it goes on. O(1).
    pub fn removed(&mut self, flow: u32, visit: Visit, finish: Option<[u128; CLOCKS]>) -> bool {
        if visit == Visit::Waits {
            self.links.remove(&mut self.waiting, flow);
        }
        let Some(finish) = finish.filter(|_| self.newcomers == Newcomers::Pay) else { return false };
        self.close_until(finish);
        true
    }
}
