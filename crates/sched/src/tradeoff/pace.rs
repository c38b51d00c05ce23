//! Fluid time: it passes as real time does, but stands still while the CPU or the link is late.
//!
//! Late by what? The paper's packet schedule of the fluid (section 4.1) is known as soon as a packet starts: packets
//! have the CPU and then the link in the order of their starts, each for what the fluid is charged for it. A resource
//! is late while a packet has not started on it although it might have been through with both by now if it had started
//! when planned: so a packet is allowed as much again as it is planned to take in all. One that is overtaken on the
//! CPU, by packets that bypass it, is allowed their times on the link too. With exact times nothing is late, and the
//! fluid never stands still.
//!
//! That is the plan of one CPU and one link. Of several servers each has a packet for longer than the plan says, and
//! the others go on: nothing is late then, and fluid time is real time.

use dovetail_units::{Duration, ResourceVec, Time};

use crate::catalog::Shape;

/// Up to when the fluid goes on if a packet has not started on CPU and link, in fluid time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Latest {
    /// On the CPU.
    pub cpu: Time,
    /// On the link.
    pub link: Time,
}

/// The clock of the fluid, and the plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// Whether fluid time is real time, whatever happens.
    by_the_clock: bool,
    /// The latest instant that was heard of, in real time.
    real: Time,
    /// What that is in fluid time, and the one before.
    fluid: Time,
    before: Time,
    /// When CPU and link are through with all that has started, as planned.
    planned: [Time; 2],
    /// For how long fluid time stands still for flows that were removed.
    pause: Duration,
    /// Whether the last packet that started on the link was late, and others follow.
    link_is_late: bool,
    /// Packets that were handed out: the number of the last one.
    handed_out: u64,
    /// The number of the last one for the CPU, and for how long those handed out since, which bypass it, have the
    /// link.
    on_cpu: u64,
    overtaking: Duration,
    /// The highest number of those that have come to the link, or never will.
    through: u64,
}

impl Pace {
    /// For a pipeline of this shape.
    pub(super) fn new(shape: Shape) -> Self {
        Self { by_the_clock: shape.servers > 2, ..Self::default() }
    }

    /// The present in fluid time.
    pub(super) fn now(&self) -> Time {
        self.fluid
    }

    /// For how long the fluid has stood still.
    pub(super) fn stood_still(&self) -> Duration {
        self.real.since(self.fluid)
    }

    /// When an instant in fluid time comes if nothing is late until then; `None` if the link is late now.
    pub(super) fn real(&self, fluid: Time) -> Option<Time> {
        (!self.link_is_late).then(|| self.real + self.pause + fluid.since(self.fluid))
    }

    /// The present in real time.
    pub(super) fn now_in_real_time(&self) -> Time {
        self.real
    }

    /// The next nanosecond, in real time.
    pub(super) fn soon(&self) -> Time {
        self.real + Duration::from_nanos(1)
    }

    /// Time has passed until `now`; [`hold`](Self::hold) what must not have.
    pub(super) fn pass(&mut self, now: Time) {
        self.before = self.fluid;
        if !self.link_is_late {
            let passed = now.since(self.real);
            let paused = passed.min(self.pause);
            self.pause = self.pause.saturating_sub(paused);
            self.fluid += passed.saturating_sub(paused);
        }
        self.real = now;
    }

    /// Fluid time is to stand still for so long.
    pub(super) fn stand_still(&mut self, pause: Duration) {
        self.pause += pause;
    }

    /// A packet with these latest starts was the first to wait for the CPU, for as long as has passed since it started.
    pub(super) fn hold(&mut self, first: Latest) {
        self.fluid = self.fluid.min(first.cpu).max(self.before);
    }

    /// A packet starts in the fluid, at this instant of fluid time, which is charged these times for it.
    pub(super) fn plan(&mut self, now: Time, charged: &ResourceVec<2>) -> Latest {
        if self.by_the_clock {
            return Latest { cpu: Time::MAX, link: Time::MAX };
        }
        let mut ready = now;
        let starts = [0, 1].map(|r| {
            let start = ready.max(self.planned[r]);
            ready = start + charged[r];
            self.planned[r] = ready;
            start
        });
        let [cpu, link] = starts.map(|start| start + ready.since(now));
        Latest { cpu, link }
    }

    /// A packet of this cost is handed out: its number.
    pub(super) fn hand_out(&mut self, cost: &ResourceVec<2>) -> u64 {
        self.handed_out += 1;
        if cost[0] == Duration::ZERO {
            self.overtaking += cost[1];
        } else {
            (self.on_cpu, self.overtaking) = (self.handed_out, Duration::ZERO);
        }
        self.handed_out
    }

    /// The packet of this number, which was to start on the link by `latest`, has left the CPU: by when it is to start
    /// there behind those that have overtaken it.
    pub(super) fn leaves_cpu(&self, number: u64, latest: Time) -> Time {
        if number == self.on_cpu { latest + self.overtaking } else { latest }
    }

    /// The packet of this number, which was to start on the link by `latest`, does so. Time has [passed](Self::pass)
    /// until then. With several CPUs others may have overtaken it.
    pub(super) fn on_link(&mut self, number: u64, latest: Time) {
        self.through = self.through.max(number);
        self.link_is_late = self.fluid > latest && self.through < self.handed_out;
    }

    /// The packet of this number has left. Time has [passed](Self::pass) until then.
    pub(super) fn left(&mut self, number: u64) {
        self.through = self.through.max(number);
        self.link_is_late &= self.through < self.handed_out;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(time: u64) -> Time {
        Time::from_nanos(time)
    }

    #[test]
    fn packets_are_planned_on_cpu_and_link_in_the_order_of_their_starts() {
        let mut pace = Pace::default();
        let mut plan = |at, times| pace.plan(ns(at), &ResourceVec::from_nanos(times));
        // By hand: CPU 0 to 2, link 2 to 5, 5 in all.
        assert_eq!(plan(0, [2, 3]), Latest { cpu: ns(5), link: ns(7) });
        // CPU 2 to 11, link 11 to 12, 11 in all.
        assert_eq!(plan(1, [9, 1]), Latest { cpu: ns(13), link: ns(22) });
        // Both are idle again.
        assert_eq!(plan(20, [1, 1]), Latest { cpu: ns(22), link: ns(23) });
    }

    #[test]
    fn fluid_time_stands_still_while_the_first_packet_waits_and_is_late() {
        let mut pace = Pace::default();
        let first = pace.plan(ns(0), &ResourceVec::from_nanos([2, 3]));
        for (at, fluid) in [(4, 4), (5, 5), (9, 5), (10, 5)] {
            pace.pass(ns(at));
            pace.hold(first);
            assert_eq!(pace.now(), ns(fluid), "at {at}");
        }
        pace.hand_out(&ResourceVec::from_nanos([2, 3]));
        pace.pass(ns(12));
        assert_eq!((pace.now(), pace.real(ns(9)), pace.stood_still().as_nanos()), (ns(7), Some(ns(14)), 5));
    }

    #[test]
    fn fluid_time_stands_still_from_a_late_start_on_the_link_until_one_that_is_not_or_the_last() {
        let mut pace = Pace::default();
        let [first, second, _] = [(); 3].map(|()| pace.hand_out(&ResourceVec::from_nanos([1, 1])));
        pace.pass(ns(10));
        pace.on_link(first, ns(9));
        pace.pass(ns(15));
        assert_eq!((pace.now(), pace.real(ns(11))), (ns(10), None));
        pace.on_link(second, ns(10));
        pace.pass(ns(16));
        assert_eq!(pace.now(), ns(11));
        // Nothing is left that could start.
        pace.on_link(3, ns(0));
        pace.on_link(2, ns(0));
        assert_eq!(pace.real(ns(12)), Some(ns(17)));
    }

    #[test]
    fn a_packet_may_start_on_the_link_later_by_the_times_of_those_that_overtake_it_on_the_cpu() {
        let mut pace = Pace::default();
        let mut hand_out = |times| pace.hand_out(&ResourceVec::from_nanos(times));
        let [before, overtaken, passing, _] = [[5, 1], [5, 1], [0, 3], [0, 4]].map(&mut hand_out);
        assert_eq!([before, overtaken, passing].map(|number| pace.leaves_cpu(number, ns(9))), [ns(9), ns(16), ns(9)]);
        let next = pace.hand_out(&ResourceVec::from_nanos([5, 1]));
        assert_eq!(pace.leaves_cpu(next, ns(9)), ns(9));
    }
}
