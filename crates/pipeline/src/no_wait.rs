//! The entrance of a no-wait pipeline, in which packets pass all resources without waiting between them.
//!
//! This is rule 4 of ATFQ (Zhang et al., section III-B): there are no buffers, and "the processing of a packet cannot
//! be interrupted before its completion on all the resources". Whenever resource 0 is idle and nobody stands at the
//! entrance, the scheduler hands out a packet. It stands at the entrance until the earliest instant from which it finds
//! every resource free when it comes there, which follows from the true costs of it and of the packets ahead of it.
//! Packets keep the scheduler's order.
//!
//! One after the other without pauses in arrivals, packets start on resource 0 as in equation 3 of the paper:
//! `S' = S + L_1 + max(0, max_{2<=n<=m} (L_2 + ... + L_n - L'_1 - ... - L'_{n-1}))` with the times `L` of the packet
//! ahead and `L'` of this one. For two resources the makespan is that of a pipeline where a finished packet blocks its
//! server and no buffer stands between; packets start later, never on any resource for nothing.
//! For more resources no-wait may take longer.

use dovetail_units::{Duration, ResourceVec, Time};

/// The entrance of a no-wait pipeline of single servers.
#[derive(Debug)]
pub struct NoWait<const M: usize, J> {
    /// When each resource will have finished all packets that were handed out.
    free: [Time; M],
    /// The packet at the entrance, and when it starts.
    held: Option<(Time, J)>,
}

impl<const M: usize, J> Default for NoWait<M, J> {
    fn default() -> Self {
        Self { free: [Time::ZERO; M], held: None }
    }
}

impl<const M: usize, J> NoWait<M, J> {
    /// The earliest start from `now` on of a packet with these true costs; the resources are taken for it. `None` if it
    /// would finish after the last instant there is. Cost: O(M).
    pub fn reserve(&mut self, now: Time, cost: &ResourceVec<M>) -> Option<Time> {
        let mut start = now;
        let mut passed = Duration::ZERO;
        for (free, &time) in self.free.iter().zip(cost.iter()) {
            // It comes to this resource when it has passed those before.
            start = start.max(Time::ZERO + free.since(Time::ZERO + passed));
            passed += time;
        }
        if start + passed == Time::MAX {
            return None;
        }
        let mut end = start;
        for (free, &time) in self.free.iter_mut().zip(cost.iter()) {
            end += time;
            *free = end;
        }
        Some(start)
    }

    /// Let the packet stand at the entrance until `start`.
    pub fn hold(&mut self, start: Time, job: J) {
        self.held = Some((start, job));
    }

    /// When the packet at the entrance starts, if there is one.
    pub fn next_start(&self) -> Option<Time> {
        self.held.as_ref().map(|(start, _)| *start)
    }

    /// The packet at the entrance if it starts at `now`.
    pub fn take(&mut self, now: Time) -> Option<J> {
        self.held.take_if(|(start, _)| *start == now).map(|(_, job)| job)
    }
}
