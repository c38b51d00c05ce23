//! Who has the bonus: what the fluid asks of the rule for two resources ([`Turns`](super::turns::Turns)) and of that
//! for more ([`Cells`](super::cells::Cells)).

use core::fmt::Debug;

use dovetail_units::{Duration, ResourceVec, Weight};

use crate::queues::Unfinished;

/// The flows with a bonus, each in the slot for which it is charged, and their bonus dominant shares.
pub type Favours<const M: usize> = [Option<(u32, f64)>; M];

/// Backlogged flows with their heads, and whose turn it is to have a bonus.
pub trait Bonus<const M: usize>: Clone + Debug + Send {
    /// In which proportions a head needs the resources.
    type Place: Copy + Default + PartialEq + Debug + Send;
    /// A head's bonus leaves up to 2^-SPARE of what it could use unused.
    const SPARE: u32;
    /// So many ends of packets, and instants at which some end, are handled by a call.
    const EVENTS: usize;

    /// With this tolerance, between 0 and 0.5.
    fn new(tolerance: f64) -> Self;

    /// Of a packet with this cost.
    fn place(cost: &ResourceVec<M>) -> Self::Place;

    /// Its normalised processing times, in units of 2^-32.
    fn normalised(place: Self::Place) -> [u64; M];

    /// Read ahead what [`take_head`](Self::take_head) and [`leave`](Self::leave) touch of a flow.
    #[inline]
    fn touch(&self, _flow: u32) {}

    /// The next call has begun.
    fn next_call(&mut self);

    /// The flow is removed.
    fn forget(&mut self, flow: u32);

    /// The flow becomes backlogged.
    fn join(&mut self, flow: u32);

    /// The flow is not backlogged any more.
    fn leave(&mut self, flow: u32);

    /// The backlogged flow has another head, which takes so long on its dominant resource, and in all `work` ticks: its
    /// virtual service time.
    fn take_head(&mut self, flow: u32, place: Self::Place, time: (Duration, Weight), work: u128) -> u128;

    /// [`take_head`](Self::take_head)'s `work`.
    fn work(&self, flow: u32) -> u128;

    /// What is left of services and finishes is to be scaled: the flow's weight has changed.
    fn scale(&mut self, flow: u32, scale: impl Fn(i128) -> i128);

    /// The flow has had so much bonus in this slot.
    fn charge(&mut self, flow: u32, slot: usize, bonus: u128);

    /// Nobody has a bonus until [`allocate`](Self::allocate) is called again: what only that needs can be left to it.
    fn rest(&mut self) {}

    /// Nobody is backlogged any more. O(1).
    fn clear(&mut self);

    /// Solve (21), where floors leave so much of every resource. `place` tells a flow's, if it is backlogged. The error
    /// is that too many flows had to be moved for one call; nothing has changed then.
    fn allocate(
        &mut self,
        left: [f64; M],
        place: impl Fn(u32) -> Option<Self::Place>,
    ) -> Result<Favours<M>, Unfinished>;
}
