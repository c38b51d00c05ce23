//! Fluid time: it passes as real time does, but stands still while a resource is late. The first resource is called the
//! CPU here, each later one a link.
//!
//! Late by what? The paper's packet schedule of the fluid (section 4.1) is known as soon as a packet starts: packets
//! have the CPU and then the links in the order of their starts, each for what the fluid is charged for it. A resource
//! is late while a packet has not started on it although it might have been through with all by now if it had started
//! when planned: so a packet is allowed as much again as it is planned to take in all. One that is overtaken on the
//! CPU or a link, by packets that need nothing there, is allowed their times on the later links up to there too. With
//! exact times nothing is late, and the fluid never stands still.
//!
//! That is the plan of one server for each resource. Of several servers each has a packet for longer than the plan
//! says, and the others go on: nothing is late then, and fluid time is real time.

use dovetail_units::{Duration, ResourceVec, Time};

use crate::catalog::Shape;
use crate::note::{Note, Words};

/// By resource: up to when the fluid goes on if a packet has not started there, in fluid time.
pub(super) type Latest<const M: usize> = [Time; M];

/// A packet that was handed out: its number, and the latest starts on the links, which wrap. That on the CPU is past.
#[derive(Clone, Copy, Debug)]
pub struct HandedOut<const M: usize> {
    pub(super) number: u64,
    latest: [u64; M],
}

impl<const M: usize> HandedOut<M> {
    pub(super) fn new(number: u64, latest: Latest<M>) -> Self {
        Self { number, latest: latest.map(Time::as_nanos) }
    }

    pub(super) fn latest(&self, link: usize) -> Time {
        Time::from_nanos(self.latest[link])
    }
}

/// The number stands in the place of the CPU.
impl<const M: usize> Note<M> for HandedOut<M> {
    #[inline]
    fn write(self) -> Words<M> {
        let mut by_resource = self.latest;
        by_resource[0] = self.number;
        Words { by_resource, rest: 0 }
    }
    #[inline]
    fn read(words: Words<M>) -> Self {
        Self { number: words.by_resource[0], latest: words.by_resource }
    }
}

/// The clock of the fluid, and the plan.
#[derive(Clone, Debug)]
pub(super) struct Pace<const M: usize> {
    /// Whether fluid time is real time, whatever happens.
    by_the_clock: bool,
    /// The latest instant that was heard of, in real time.
    real: Time,
    /// What that is in fluid time, and the one before.
    fluid: Time,
    before: Time,
    /// When each resource is through with all that has started, as planned.
    planned: [Time; M],
    /// For how long fluid time stands still for flows that were removed.
    pause: Duration,
    /// By link: whether the last packet that started there was late, and others follow. Never the CPU.
    is_late: [bool; M],
    /// Packets that were handed out: the number of the last one.
    handed_out: u64,
    /// The number of the last one for the CPU, and for how long those handed out since, which bypass it, have the
    /// links up to each.
    on_cpu: u64,
    overtaking: [Duration; M],
    /// By link: the highest number of those that have come there, or never will.
    through: [u64; M],
    /// By resource: how many have left it, or never come.
    gone: [u64; M],
    /// By link: for how long those that went past others there have the links up to each. Wraps.
    past: [[u64; M]; M],
}

impl<const M: usize> Pace<M> {
    /// For a pipeline of this shape.
    pub(super) fn new(shape: Shape) -> Self {
        Self {
            by_the_clock: shape.servers as usize > M,
            real: Time::ZERO,
            fluid: Time::ZERO,
            before: Time::ZERO,
            planned: [Time::ZERO; M],
            pause: Duration::ZERO,
            is_late: [false; M],
            handed_out: 0,
            on_cpu: 0,
            overtaking: [Duration::ZERO; M],
            through: [0; M],
            gone: [0; M],
            past: [[0; M]; M],
        }
    }

    /// The present in fluid time.
    pub(super) fn now(&self) -> Time {
        self.fluid
    }

    /// For how long the fluid has stood still.
    pub(super) fn stood_still(&self) -> Duration {
        self.real.since(self.fluid)
    }

    fn a_link_is_late(&self) -> bool {
        self.is_late.contains(&true)
    }

    /// When an instant in fluid time comes if nothing is late until then; `None` if a link is late now.
    pub(super) fn real(&self, fluid: Time) -> Option<Time> {
        (!self.a_link_is_late()).then(|| self.real + self.pause + fluid.since(self.fluid))
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
        if !self.a_link_is_late() {
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
    pub(super) fn hold(&mut self, first: Latest<M>) {
        self.fluid = self.fluid.min(first[0]).max(self.before);
    }

    /// A packet starts in the fluid, at this instant of fluid time, which is charged these times for it.
    pub(super) fn plan(&mut self, now: Time, charged: &ResourceVec<M>) -> Latest<M> {
        if self.by_the_clock {
            return [Time::MAX; M];
        }
        let mut ready = now;
        let starts: [Time; M] = core::array::from_fn(|r| {
            let start = ready.max(self.planned[r]);
            ready = start + charged[r];
            self.planned[r] = ready;
            start
        });
        starts.map(|start| start + ready.since(now))
    }

    /// A packet of this cost is handed out: its number.
    pub(super) fn hand_out(&mut self, cost: &ResourceVec<M>) -> u64 {
        self.handed_out += 1;
        if cost[0] == Duration::ZERO {
            let mut until = Duration::ZERO;
            for (overtaking, time) in self.overtaking.iter_mut().zip(cost.iter()) {
                until += *time;
                *overtaking += until;
            }
        } else {
            (self.on_cpu, self.overtaking) = (self.handed_out, [Duration::ZERO; M]);
        }
        self.handed_out
    }

    /// A packet has left a resource: on later links it may start later by the times of those that have overtaken it
    /// there. `used` is what it needed there.
    pub(super) fn leaves(&mut self, packet: &mut HandedOut<M>, resource: usize, cost: &ResourceVec<M>, used: Duration) {
        let HandedOut { number, latest: starts } = packet;
        if M > 2 && resource > 0 {
            for (latest, past) in starts.iter_mut().zip(self.past[resource]).skip(resource + 1) {
                *latest = latest.wrapping_add(past);
            }
            // Others are there: they have left the resource before, and not this one.
            if used == Duration::ZERO && self.gone[resource] + 1 < self.gone[resource - 1] {
                self.goes_past(resource, cost);
            }
        } else if *number == self.on_cpu {
            for (latest, later) in starts[1..].iter_mut().zip(&self.overtaking[1..]) {
                *latest = (Time::from_nanos(*latest) + *later).as_nanos();
            }
        }
        self.gone[resource] += 1;
        if resource + 2 < M {
            let next = resource + 1;
            for (latest, past) in starts.iter_mut().zip(self.past[next]).skip(next + 1) {
                *latest = latest.wrapping_sub(past);
            }
        }
    }

    /// A packet of this cost needs nothing on a link, and overtakes those that are there.
    fn goes_past(&mut self, link: usize, cost: &ResourceVec<M>) {
        if self.by_the_clock {
            return;
        }
        let mut until = 0;
        for (past, time) in self.past[link].iter_mut().zip(cost.iter()).skip(link + 1) {
            until = u64::wrapping_add(until, time.as_nanos());
            *past = past.wrapping_add(until);
        }
    }

    /// The packet of this number, which was to start on this link by `latest`, does so. Time has [passed](Self::pass)
    /// until then. With several CPUs others may have overtaken it.
    pub(super) fn on_link(&mut self, link: usize, number: u64, latest: Time) {
        self.through[link] = self.through[link].max(number);
        self.is_late[link] = self.fluid > latest && self.through[link] < self.handed_out;
    }

    /// The packet of this number comes to no resource from this one on. Time has [passed](Self::pass) until then.
    pub(super) fn ends(&mut self, number: u64, resource: usize) {
        self.gone.iter_mut().skip(resource).for_each(|gone| *gone += 1);
        for (through, is_late) in self.through.iter_mut().zip(&mut self.is_late) {
            *through = (*through).max(number);
            *is_late &= *through < self.handed_out;
        }
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
        let mut pace = Pace::<2>::new(Shape::default());
        let mut plan = |at, times| pace.plan(ns(at), &ResourceVec::from_nanos(times));
        // By hand: CPU 0 to 2, link 2 to 5, 5 in all.
        assert_eq!(plan(0, [2, 3]), [ns(5), ns(7)]);
        // CPU 2 to 11, link 11 to 12, 11 in all.
        assert_eq!(plan(1, [9, 1]), [ns(13), ns(22)]);
        // Both are idle again.
        assert_eq!(plan(20, [1, 1]), [ns(22), ns(23)]);
    }

    #[test]
    fn fluid_time_stands_still_while_the_first_packet_waits_and_is_late() {
        let mut pace = Pace::<2>::new(Shape::default());
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
        let mut pace = Pace::<2>::new(Shape::default());
        let [first, second, _] = [(); 3].map(|()| pace.hand_out(&ResourceVec::from_nanos([1, 1])));
        pace.pass(ns(10));
        pace.on_link(1, first, ns(9));
        pace.pass(ns(15));
        assert_eq!((pace.now(), pace.real(ns(11))), (ns(10), None));
        pace.on_link(1, second, ns(10));
        pace.pass(ns(16));
        assert_eq!(pace.now(), ns(11));
        // Nothing is left that could start.
        pace.on_link(1, 3, ns(0));
        pace.on_link(1, 2, ns(0));
        assert_eq!(pace.real(ns(12)), Some(ns(17)));
    }

    #[test]
    fn a_packet_may_start_on_the_link_later_by_the_times_of_those_that_overtake_it_on_the_cpu() {
        let mut pace = Pace::<2>::new(Shape::default());
        let mut hand_out = |times| pace.hand_out(&ResourceVec::from_nanos(times));
        let [before, overtaken, passing, _] = [[5, 1], [5, 1], [0, 3], [0, 4]].map(&mut hand_out);
        let later = |pace: &mut Pace<2>, number| {
            let mut packet = HandedOut { number, latest: [0, 1] };
            pace.leaves(&mut packet, 0, &ResourceVec::ZERO, Duration::from_nanos(1));
            packet.latest[1] - 1
        };
        assert_eq!([before, overtaken, passing].map(|number| later(&mut pace, number)), [0, 7, 0]);
        let next = pace.hand_out(&ResourceVec::from_nanos([5, 1]));
        assert_eq!(later(&mut pace, next), 0);
    }

    #[test]
    fn a_packet_may_start_on_the_last_link_later_by_the_times_of_those_that_go_past_it_on_the_one_before() {
        let mut pace = Pace::<3>::new(Shape::default());
        let times = [[1, 9, 1], [1, 9, 1], [1, 0, 3], [1, 0, 4], [1, 9, 1]].map(ResourceVec::from_nanos);
        let mut packets = times.map(|times| HandedOut { number: pace.hand_out(&times), latest: [0, 0, 100] });
        // The CPU and the first packet's 9 on the link between: two others come, two go past, and another comes.
        for [packet, resource] in [[0, 0], [1, 0], [2, 0], [2, 1], [0, 1], [3, 0], [3, 1], [4, 0], [1, 1], [4, 1]] {
            pace.leaves(&mut packets[packet], resource, &times[packet], times[packet][resource]);
        }
        assert_eq!(packets.map(|packet| packet.latest[2]), [103, 107, 100, 100, 100]);
    }
}
