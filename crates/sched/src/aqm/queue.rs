//! Packets in order of arrival under active queue management.

use alloc::collections::VecDeque;

use dovetail_units::{Duration, Time};

use super::{Aqm, AqmDrop, AqmError, Arrival, Backlog, Congestion, Drq, Red, Verdict};

/// Who decides about the packets of a queue.
#[derive(Clone, Debug)]
pub enum Manager {
    /// RED.
    Red(Red),
    /// DRQ.
    Drq(Drq),
}

impl Aqm for Manager {
    #[inline]
    fn arrival(&mut self, now: Time, packet: &Arrival, waiting: Backlog, random: u64) -> Verdict {
        match self {
            Self::Red(red) => red.arrival(now, packet, waiting, random),
            Self::Drq(drq) => drq.arrival(now, packet, waiting, random),
        }
    }

    #[inline]
    fn departure(&mut self, now: Time, waiting: Backlog) {
        match self {
            Self::Red(red) => red.departure(now, waiting),
            Self::Drq(drq) => drq.departure(now, waiting),
        }
    }

    fn set_packet(&mut self, packet: Duration) -> Result<(), AqmError> {
        match self {
            Self::Red(red) => red.set_packet(packet),
            Self::Drq(drq) => drq.set_packet(packet),
        }
    }
}

/// A queue in order of arrival whose manager is asked about every packet. Random bits come from outside.
#[derive(Clone, Debug)]
pub struct ManagedQueue<P> {
    /// With their lengths in bytes.
    waiting: VecDeque<(u32, P)>,
    bytes: u64,
    manager: Manager,
}

impl<P> ManagedQueue<P> {
    /// Empty.
    pub fn new(manager: Manager) -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, manager }
    }

    /// Who decides.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Who decides, to be told of densities and rates.
    pub fn manager_mut(&mut self) -> &mut Manager {
        &mut self.manager
    }

    /// A packet comes. It is queued, after `mark` has noted in it what the manager wants noted, or given back with the
    /// reason. `random` as in [`Aqm::arrival`].
    ///
    /// # Errors
    /// The packet, if it is to be dropped.
    #[inline]
    pub fn arrive(
        &mut self,
        now: Time,
        arrival: &Arrival,
        random: u64,
        mut packet: P,
        mark: impl FnOnce(&mut P, Congestion),
    ) -> Result<(), (AqmDrop, P)> {
        match self.manager.arrival(now, arrival, self.backlog(), random) {
            Verdict::Drop(reason) => return Err((reason, packet)),
            Verdict::Enqueue => {}
            Verdict::EnqueueMarked(state) => mark(&mut packet, state),
        }
        self.push(arrival.size, packet);
        Ok(())
    }

    /// A packet of `size` bytes waits, and nobody is asked: one that was accepted before.
    #[inline]
    pub fn push(&mut self, size: u32, packet: P) {
        self.bytes += u64::from(size);
        self.waiting.push_back((size, packet));
    }

    /// The packet that the idle resource takes.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        let (size, packet) = self.waiting.pop_front()?;
        self.bytes -= u64::from(size);
        Some(packet)
    }

    /// The resource has finished a packet.
    #[inline]
    pub fn departed(&mut self, now: Time) {
        let waiting = self.backlog();
        self.manager.departure(now, waiting);
    }

    /// Packets that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u32, bytes: self.bytes }
    }
}
