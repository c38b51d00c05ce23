//! When what happens next, and where: the network's places, each with its own events in order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use dovetail_sched::queues::IndexedHeap;
use dovetail_units::{Duration, Time};

/// The next event of every place at which events happen. There are few of them, whatever the number of flows.
#[derive(Default)]
pub(super) struct Calendar {
    /// By time, then by the order in which the events were made.
    due: IndexedHeap<u128>,
    made: u64,
}

impl Calendar {
    /// The next event's time and place.
    pub fn peek(&self) -> Option<(Time, u32)> {
        self.due.peek().map(|(key, place)| (Time::from_nanos((key >> 64) as u64), place))
    }

    /// An event that is made now.
    pub fn make(&mut self, time: Time) -> u128 {
        self.made += 1;
        u128::from(time.as_nanos()) << 64 | u128::from(self.made)
    }

    /// The place's next event.
    pub fn set(&mut self, place: u32, event: u128) {
        self.due.set(place, event);
    }

    /// Nothing will happen at the place.
    pub fn clear(&mut self, place: u32) {
        self.due.remove(place);
    }
}

/// Things on a way that takes all of them equally long.
pub(super) struct Line<T> {
    place: u32,
    delay: Duration,
    under_way: VecDeque<(u128, T)>,
}

impl<T> Line<T> {
    /// A line whose arrivals are the events of `place`.
    pub fn new(place: u32, delay: Duration) -> Self {
        Self { place, delay, under_way: VecDeque::new() }
    }

    /// Sets out at `from`. O(1) if none set out later before.
    pub fn send(&mut self, from: Time, what: T, calendar: &mut Calendar) {
        let event = calendar.make(from + self.delay);
        let later = self.under_way.iter().rev().take_while(|(other, _)| *other > event).count();
        let at = self.under_way.len() - later;
        self.under_way.insert(at, (event, what));
        if at == 0 {
            calendar.set(self.place, event);
        }
    }

    /// What arrives now: the place's next event is due.
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
    by_delay: BTreeMap<Duration, u32>,
    others: BinaryHeap<Reverse<Own<T>>>,
}

struct Own<T> {
    event: u128,
    what: T,
}

impl<T> PartialEq for Own<T> {
    fn eq(&self, other: &Self) -> bool {
        self.event == other.event
    }
}

impl<T> Eq for Own<T> {}

impl<T> PartialOrd for Own<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Own<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.event.cmp(&other.event)
    }
}

impl<T> Ways<T> {
    /// Their events have the places from this one on.
    pub fn new(first_place: u32) -> Self {
        Self { first_place, lines: Vec::new(), by_delay: BTreeMap::new(), others: BinaryHeap::new() }
    }

    /// A way of this length that several flows may take.
    pub fn shared(&mut self, delay: Duration) -> WayId {
        let (first_place, lines) = (self.first_place, &mut self.lines);
        let line = *self.by_delay.entry(delay).or_insert_with(|| {
            let line = lines.len() as u32;
            lines.push(Line::new(first_place + 1 + line, delay));
            line
        });
        WayId::Shared(line)
    }

    /// Sets out at `from`.
    pub fn send(&mut self, way: WayId, from: Time, what: T, calendar: &mut Calendar) {
        match way {
            WayId::Shared(line) => self.lines[line as usize].send(from, what, calendar),
            WayId::Own(delay) => {
                self.others.push(Reverse(Own { event: calendar.make(from + delay), what }));
                self.announce(calendar);
            }
        }
    }

    /// What arrives now at the place.
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
            Some(Reverse(own)) => calendar.set(self.first_place, own.event),
            None => calendar.clear(self.first_place),
        }
    }
}

/// Alarms, of which every owner has at most one.
pub(super) struct Alarms {
    place: u32,
    times: IndexedHeap<Time>,
}

impl Alarms {
    /// They are the events of `place`.
    pub fn new(place: u32) -> Self {
        Self { place, times: IndexedHeap::default() }
    }

    /// The owner's alarm goes off at this time or before; it then looks itself whether it is time. So a time that moves on with every
    /// packet costs nothing.
    pub fn at_latest(&mut self, owner: u32, time: Time, calendar: &mut Calendar) {
        if self.times.get(owner).is_none_or(|set| time < set) {
            self.times.set(owner, time);
            self.announce(calendar);
        }
    }

    /// No alarm.
    pub fn clear(&mut self, owner: u32, calendar: &mut Calendar) {
        if self.times.get(owner).is_some() {
            self.times.remove(owner);
            self.announce(calendar);
        }
    }

    /// Whose alarm goes off now.
    pub fn ring(&mut self, calendar: &mut Calendar) -> Option<u32> {
        let (_, owner) = self.times.peek()?;
        self.times.remove(owner);
        self.announce(calendar);
        Some(owner)
    }

    fn announce(&self, calendar: &mut Calendar) {
        match self.times.peek() {
            Some((time, _)) => {
                let event = calendar.make(time);
                calendar.set(self.place, event);
            }
            None => calendar.clear(self.place),
        }
    }
}
