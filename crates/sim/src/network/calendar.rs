//! When what happens next, and where: the network's places, each with its own events in order.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use dovetail_sched::queues::{IndexedHeap, Key};
use dovetail_units::{Duration, Time};
use rand::RngExt;

use crate::random::Stream;

/// An event: when it is due and when that was decided, in the order in which events happen. Of events due at one time
/// the one decided first comes first; of those decided at one time, the one at the place with the smaller number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    due: Time,
    decided: Time,
}

impl Event {
    /// No event. What is due at the last instant there is (584 years) is none, either.
    const NEVER: Self = Self { due: Time::MAX, decided: Time::MAX };

    pub fn new(due: Time, decided: Time) -> Self {
        Self { due, decided }
    }

    /// A number in the order of events: one comparison without branches.
    #[inline]
    fn order(self) -> u128 {
        u128::from(self.due.as_nanos()) << 64 | u128::from(self.decided.as_nanos())
    }
}

impl Key for Event {
    const LAST: Self = Self::NEVER;
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// The next event of every place at which events happen. There are few of them, whatever the number of flows.
///
/// A tournament tree: its leaves are the places, in order, as many as a power of two; node k has the place with the
/// earlier one of the events of its children, nodes 2 k and 2 k + 1. A change costs one comparison per level.
pub(super) struct Calendar {
    events: Vec<Event>,
    /// From the root, node 1, to the parents of the leaves.
    winners: Vec<u32>,
    /// Of the root.
    first: (Time, u32),
}

impl Calendar {
    pub fn new() -> Self {
        let mut empty = Self { events: Vec::new(), winners: Vec::new(), first: (Time::MAX, 0) };
        empty.grow(8);
        empty
    }

    /// The next event's time and place.
    #[inline]
    pub fn peek(&self) -> Option<(Time, u32)> {
        (self.first.0 != Time::MAX).then_some(self.first)
    }

    /// The place's next event. O(log places).
    #[inline]
    pub fn set(&mut self, place: u32, mut event: Event) {
        if place as usize >= self.events.len() {
            self.grow(place + 1);
        }
        let (events, winners) = (self.events.as_mut_slice(), self.winners.as_mut_slice());
        events[place as usize] = event;
        let mut node = (winners.len() + place as usize) / 2;
        let (mut winner, mut rival) = (place, place ^ 1);
        loop {
            let other = events[rival as usize];
            if other < event || other == event && rival < winner {
                (event, winner) = (other, rival);
            }
            winners[node] = winner;
            if node == 1 {
                break;
            }
            rival = winners[node ^ 1];
            node /= 2;
        }
        self.first = (event.due, winner);
    }

    /// Nothing will happen at the place.
    #[inline]
    pub fn clear(&mut self, place: u32) {
        self.set(place, Event::NEVER);
    }

    /// Room for so many places.
    #[cold]
    fn grow(&mut self, places: u32) {
        let places = places.next_power_of_two() as usize;
        let mut events = std::mem::take(&mut self.events);
        events.resize(places, Event::NEVER);
        (self.events, self.winners) = (vec![Event::NEVER; places], vec![0; places]);
        // When the last place of a subtree is set, its node is right.
        (0..).zip(events).for_each(|(place, event)| self.set(place, event));
    }
}

/// Things on a way that takes all of them equally long.
pub(super) struct Line<T> {
    place: u32,
    delay: Duration,
    under_way: VecDeque<(Event, T)>,
    /// The last of them, if any.
    last: Event,
}

impl<T> Line<T> {
    /// A line whose arrivals are the events of `place`.
    pub fn new(place: u32, delay: Duration) -> Self {
        Self { place, delay, under_way: VecDeque::new(), last: Event::NEVER }
    }

    /// Sets out at `from`, as is decided at `decided`. O(1), but for what has been sent before and arrives later.
    #[inline]
    pub fn send(&mut self, decided: Time, from: Time, what: T, calendar: &mut Calendar) {
        let event = Event::new(from + self.delay, decided);
        if self.under_way.is_empty() {
            calendar.set(self.place, event);
        } else if self.last > event {
            return self.overtake(event, what, calendar);
        }
        self.last = event;
        self.under_way.push_back((event, what));
    }

    #[cold]
    fn overtake(&mut self, event: Event, what: T, calendar: &mut Calendar) {
        let later = self.under_way.iter().rev().take_while(|(other, _)| *other > event).count();
        let at = self.under_way.len() - later;
        self.under_way.insert(at, (event, what));
        if at == 0 {
            calendar.set(self.place, event);
        }
    }

    /// What arrives now: the place's next event is due.
    #[inline]
    pub fn receive(&mut self, calendar: &mut Calendar) -> Option<T> {
        let (_, what) = self.under_way.pop_front()?;
        match self.under_way.front() {
            Some(&(event, _)) => calendar.set(self.place, event),
            None => calendar.clear(self.place),
        }
        Some(what)
    }
}

/// Which way of [`Ways`] something takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WayId {
    /// One of many that takes so long.
    Shared(u32),
    /// One of its own.
    Own(Duration),
}

/// Ways of any length: those that many share in lines, the others together.
pub(super) struct Ways<T> {
    first_place: u32,
    lines: Vec<Line<T>>,
    /// By where they begin and how long they take.
    known: BTreeMap<(u32, Duration), u32>,
    others: BinaryHeap<Reverse<Own<T>>>,
    /// How many have been in `others`.
    sent: u64,
}

struct Own<T> {
    /// The second is the order in which equal events set out.
    order: (Event, u64),
    what: T,
}

impl<T> PartialEq for Own<T> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl<T> Eq for Own<T> {}

impl<T> PartialOrd for Own<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Own<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }
}

impl<T> Ways<T> {
    /// Their events have the places from this one on.
    pub fn new(first_place: u32) -> Self {
        Self { first_place, lines: Vec::new(), known: BTreeMap::new(), others: BinaryHeap::new(), sent: 0 }
    }

    /// A way of this length that several flows may take. What sets out from one beginning does so in order, more or
    /// less.
    pub fn shared(&mut self, begins: u32, delay: Duration) -> WayId {
        let (first_place, lines) = (self.first_place, &mut self.lines);
        let line = *self.known.entry((begins, delay)).or_insert_with(|| {
            let line = lines.len() as u32;
            lines.push(Line::new(first_place + 1 + line, delay));
            line
        });
        WayId::Shared(line)
    }

    /// Sets out at `from`, as is decided at `decided`.
    #[inline]
    pub fn send(&mut self, way: WayId, decided: Time, from: Time, what: T, calendar: &mut Calendar) {
        match way {
            WayId::Shared(line) => self.lines[line as usize].send(decided, from, what, calendar),
            WayId::Own(delay) => {
                self.sent += 1;
                let order = (Event::new(from + delay, decided), self.sent);
                self.others.push(Reverse(Own { order, what }));
                self.announce(calendar);
            }
        }
    }

    /// What arrives now at the place.
    #[inline]
    pub fn receive(&mut self, place: u32, calendar: &mut Calendar) -> Option<T> {
        match (place - self.first_place).checked_sub(1) {
            Some(line) => self.lines[line as usize].receive(calendar),
            None => {
                let Reverse(own) = self.others.pop()?;
                self.announce(calendar);
                Some(own.what)
            }
        }
    }

    fn announce(&self, calendar: &mut Calendar) {
        match self.others.peek() {
            Some(Reverse(own)) => calendar.set(self.first_place, own.order.0),
            None => calendar.clear(self.first_place),
        }
    }
}

/// Alarms, of which every owner has at most one.
///
/// What they are set for is a time that no other clock of the network knows to the nanosecond, so an alarm has no
/// right of precedence over what else is due then: its turn is drawn, and is as likely before as after what is decided
/// about the time of setting it.
pub(super) struct Alarms {
    place: u32,
    events: IndexedHeap<Event>,
    turns: Stream,
}

impl Alarms {
    /// They are the events of `place`.
    pub fn new(place: u32, turns: Stream) -> Self {
        Self { place, events: IndexedHeap::default(), turns }
    }

    /// The owner's alarm goes off at this time or before; it then looks itself whether it is time. So a time that moves
    /// on with every packet costs nothing.
    #[inline]
    pub fn at_latest(&mut self, now: Time, owner: u32, time: Time, calendar: &mut Calendar) {
        if self.events.get(owner).is_none_or(|set| time < set.due) {
            let turn = self.turns.random_range(0..=now.as_nanos().saturating_mul(2));
            self.events.set(owner, Event::new(time, Time::from_nanos(turn)));
            self.announce(calendar);
        }
    }

    /// No alarm.
    pub fn clear(&mut self, owner: u32, calendar: &mut Calendar) {
        if self.events.get(owner).is_some() {
            self.events.remove(owner);
            self.announce(calendar);
        }
    }

    /// Whose alarm goes off now.
    pub fn ring(&mut self, calendar: &mut Calendar) -> Option<u32> {
        let (_, owner) = self.events.peek()?;
        self.events.remove(owner);
        self.announce(calendar);
        Some(owner)
    }

    fn announce(&self, calendar: &mut Calendar) {
        match self.events.peek() {
            Some((event, _)) => calendar.set(self.place, event),
            None => calendar.clear(self.place),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::stream;

    fn event(due: u64, decided: u64) -> Event {
        Event::new(Time::from_nanos(due), Time::from_nanos(decided))
    }

    proptest! {
        #[test]
        fn the_calendar_knows_the_first_event(
            changes in prop::collection::vec((0_u32..40, prop::option::weighted(0.8, (0_u64..5, 0_u64..5))), 1..200),
        ) {
            let mut calendar = Calendar::new();
            let mut events = BTreeMap::new();
            for (place, change) in changes {
                if let Some((due, decided)) = change {
                    calendar.set(place, event(due, decided));
                    events.insert(place, (due, decided));
                } else {
                    calendar.clear(place);
                    events.remove(&place);
                }
                let first = events.iter().map(|(&place, &event)| (event, place)).min();
                prop_assert_eq!(calendar.peek(), first.map(|((due, _), place)| (Time::from_nanos(due), place)));
            }
        }

        #[test]
        fn ways_give_what_is_due_first_and_equals_in_the_order_of_sending(
            sent in prop::collection::vec((0_u64..30, 0_u64..4, prop::bool::ANY), 1..60),
        ) {
            let mut calendar = Calendar::new();
            let mut ways = Ways::new(3);
            let mut expected = Vec::new();
            for (number, &(from, delay, shared)) in sent.iter().enumerate() {
                let delay = Duration::from_nanos(delay);
                let way = if shared { ways.shared(0, delay) } else { WayId::Own(delay) };
                ways.send(way, Time::ZERO, Time::from_nanos(from), number, &mut calendar);
                let place = match way {
                    WayId::Own(_) => 3,
                    WayId::Shared(line) => 4 + line,
                };
                expected.push((Time::from_nanos(from) + delay, place, number));
            }
            expected.sort_unstable();
            let mut received = Vec::new();
            while let Some((time, place)) = calendar.peek() {
                received.push((time, place, ways.receive(place, &mut calendar).unwrap()));
            }
            prop_assert_eq!(received, expected);
        }
    }

    #[test]
    fn an_alarm_rings_at_the_earliest_time_that_was_asked_for() {
        let (mut calendar, mut alarms) = (Calendar::new(), Alarms::new(0, stream(1, "alarms")));
        let at = Time::from_nanos;
        for (owner, time) in [(0, 50), (1, 40), (1, 20), (1, 90), (2, 30)] {
            alarms.at_latest(Time::ZERO, owner, at(time), &mut calendar);
        }
        alarms.clear(2, &mut calendar);
        let mut rung = Vec::new();
        while let Some((time, _)) = calendar.peek() {
            rung.push((time, alarms.ring(&mut calendar)));
        }
        assert_eq!(rung, [(at(20), Some(1)), (at(50), Some(0))]);
    }
}
