//! How packets get from resource to resource, the same in the simulator and in the live box.
//!
//! This crate knows neither clock nor packets. Its [`Resources`] is what stands where: servers, buffers, the entrance
//! of a pipeline without waiting. [`Passage`] is the rules by which packets move. Who has the packets is their
//! [`Owner`]: it says what a packet needs, asks the schedulers, keeps time, and hears of everything that happens.
//!
//! The rules, for resources from 0 (the entrance) to `M - 1`:
//!
//! * The scheduler at the entrance is asked when resource 0 has an idle server. A packet that needs nothing there goes
//!   past it, also while it is busy, if there is room where the packet goes next and none of its flow is on resource 0.
//! * A packet that is finished stays on its server until there is room in front of the resource where it stops next.
//! * Packets that need nothing on a resource between the first and the last go past it, unless one of their flow is
//!   there, or all keep in line.
//! * In front of a further resource packets wait in order of arrival, or in a queue that the owner keeps: one of a
//!   scheduler, or under active queue management. A full buffer keeps packets on their servers, or loses them.
//! * Without waiting, a packet starts only when every resource will be free as it comes there.
//!
//! [`Front`] is what waits in front of a single resource: in order of arrival, under active queue management, or in a
//! queue for each flow.
//!
//! Cost: O(M) per packet, without allocation.

#![no_std]

extern crate alloc;

mod front;
mod no_wait;
mod owner;
mod passage;
mod stage;

pub use front::{FlowIds, FlowQueues, Front, Of, Offer, Refusal};
pub use no_wait::NoWait;
pub use owner::Owner;
pub use passage::Passage;
pub use stage::{Buffer, Resources, Stage};
