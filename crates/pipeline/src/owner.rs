//! What the owner of the packets says and hears.

use dovetail_units::{ResourceVec, Time};

use crate::stage::Resources;

/// Who has the packets: says what they need, asks the schedulers, and hears what happens.
///
/// [`Passage`](crate::Passage) moves the packets. A `Job` is a packet on its way, with what its owner keeps beside it.
/// Resources count from 0.
pub trait Owner<const M: usize> {
    /// A packet on its way.
    type Job;
    /// Why the owner stops.
    type Error;

    /// What stands where.
    fn resources(&self) -> &Resources<M, Self::Job>;
    /// What stands where.
    fn resources_mut(&mut self) -> &mut Resources<M, Self::Job>;
    /// The instant at which packets move.
    fn now(&self) -> Time;

    /// The index of the packet's flow.
    fn flow(&self, job: &Self::Job) -> u32;
    /// Whether the packet may go past the resource.
    fn needs_nothing(&self, resource: usize, job: &Self::Job) -> bool;
    /// For how long the packet will occupy the resources; asked for without waiting only.
    fn times(&self, job: &Self::Job) -> ResourceVec<M>;
    /// Without waiting, the packet would be under way beyond the last instant there is, and does not enter.
    ///
    /// # Errors
    /// The owner stops.
    fn too_long(&mut self, job: Self::Job) -> Result<(), Self::Error>;

    /// What the scheduler lets enter, since resource 0 has an idle server.
    ///
    /// # Errors
    /// The owner stops.
    fn next(&mut self) -> Result<Option<Self::Job>, Self::Error>;
    /// Whether [`bypass`](Self::bypass) may find a packet; if not, it need not be asked.
    fn may_bypass(&self) -> bool {
        true
    }
    /// What the scheduler lets past resource 0, which is busy, of what [may bypass](Resources::may_bypass) it.
    ///
    /// # Errors
    /// The owner stops.
    fn bypass(&mut self) -> Result<Option<Self::Job>, Self::Error>;

    /// Whether a queue of the owner's stands in front of this further resource, in place of the buffer in order of
    /// arrival.
    fn has_queue(&self, resource: usize) -> bool;
    /// Packets that wait in it.
    fn queued(&self, resource: usize) -> usize;
    /// Whether it is to be asked when its resource is idle: a packet waits in it, or it has yet to hear that none does.
    fn may_hand_out(&self, resource: usize) -> bool {
        self.queued(resource) > 0
    }
    /// Whether a packet that finds its resource idle need not be put into it, and is neither
    /// [queued](Self::enqueue) nor [taken out](Self::dequeue) then: it is empty and refuses nothing, hands out in order
    /// of arrival, and nobody hears what comes and goes there.
    fn lets_pass(&self, _resource: usize) -> bool {
        false
    }
    /// A packet comes to it. Whether it is queued; else it is lost, and the owner has seen to that.
    fn enqueue(&mut self, resource: usize, job: Self::Job) -> bool;
    /// What it lets start, since its resource has an idle server. What it drops instead has [gone](Resources::went).
    ///
    /// # Errors
    /// The owner stops.
    fn dequeue(&mut self, resource: usize) -> Result<Option<Self::Job>, Self::Error>;

    /// The packet starts on this server. When it ends the owner calls [`finish`](crate::Passage::finish).
    ///
    /// # Errors
    /// The owner stops.
    fn started(&mut self, resource: usize, server: u32, job: &mut Self::Job) -> Result<(), Self::Error>;
    /// The packet has had what it needs of the resource. Whether it goes on to another one.
    fn finished(&mut self, resource: usize, server: u32, job: &mut Self::Job) -> bool;
    /// The packet goes past a resource of which it needs nothing.
    fn passed(&mut self, resource: usize, job: &mut Self::Job);
    /// The packet leaves the pipeline after the resource on which it was finished last.
    fn left(&mut self, job: Self::Job);
    /// The packet finds no room in front of this resource, and is lost.
    fn lost(&mut self, resource: usize, job: Self::Job);
}
