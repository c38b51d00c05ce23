//! When a packet is late, by the plan of all that have started.

use std::array::from_fn;

use dovetail_units::{Duration, ResourceVec, Time};

use super::DirectTradeoff;

impl<const M: usize, P> DirectTradeoff<M, P> {
    /// A packet that starts at `now` is planned behind all others on every resource; it is late when it could have been
    /// through instead of starting.
    pub(super) fn plan(&mut self, now: Time, charged: ResourceVec<M>) -> [Time; M] {
        self.planned.retain(|ends| ends[M - 1] > now);
        let (mut starts, mut ends, mut ready) = ([now; M], [now; M], now);
        for r in 0..M {
            starts[r] = self.planned.iter().map(|ends| ends[r]).fold(ready, Time::max);
            ends[r] = starts[r] + charged[r];
            ready = ends[r];
        }
        self.planned.push(ends);
        starts.map(|start| start + ready.since(now))
    }

    /// For how long those have the links up to each that have passed this packet on the resource that it leaves. On the
    /// CPU that is nothing if another has come to it since, or it needs none itself.
    pub(super) fn overtaking(&self, number: u64, resource: usize) -> [Duration; M] {
        let past: Vec<&[Duration; M]> = if resource > 0 {
            let came = self.came.get(&(number, resource)).copied().unwrap_or_default();
            self.past[resource][came..].iter().collect()
        } else {
            let on_cpu = self.handed_out.iter().rposition(Option::is_none);
            let is_last = on_cpu.map(|at| at as u64 + 1) == Some(number);
            self.handed_out[number as usize..].iter().flatten().filter(|_| is_last).collect()
        };
        from_fn(|r| past.iter().map(|times| times[r]).sum())
    }

    /// A packet leaves a resource, if it has not yet: past the others that are there, if it needs nothing.
    /// It may start later on each link by what has overtaken it, and comes to the next
    /// resource.
    pub(super) fn leaves(
        &mut self,
        number: u64,
        at: usize,
        charged: &ResourceVec<M>,
        used: Duration,
        latest: &mut [u64; M],
    ) {
        if self.gone.contains(&(number, at)) {
            return;
        }
        let later = self.overtaking(number, at);
        (at + 1..M).for_each(|r| latest[r] = (Time::from_nanos(latest[r]) + later[r]).as_nanos());
        let is_there =
            |other: u64| other != number && self.came.contains_key(&(other, at)) && !self.gone.contains(&(other, at));
        if at > 0 && used == Duration::ZERO && (1..=self.handed_out.len() as u64).rev().any(is_there) {
            let behind = |r: usize| charged.0.iter().take(r + 1).skip(at + 1).copied().sum();
            self.past[at].push(from_fn(behind));
        }
        self.gone.insert((number, at));
        if at + 1 < M {
            self.came.insert((number, at + 1), self.past[at + 1].len());
        }
    }

    pub(super) fn a_link_is_late(&self) -> bool {
        self.is_late.contains(&true)
    }
}
