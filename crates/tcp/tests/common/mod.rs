//! A network of one flow: two links, scripted losses and marks, an event loop.
#![allow(dead_code)] // every test program uses its own part

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use dovetail_tcp::{Ack, AckPolicy, Config, Receiver, Segment, Sender};
use dovetail_units::{Duration, Time};

pub const MS: u64 = 1_000_000;

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub fn at_ms(n: u64) -> Time {
    Time::from_nanos(n * MS)
}

/// What becomes of a segment on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Pass,
    Drop,
    Mark,
    /// Comes twice, the second time this much later.
    Twice(Duration),
    /// Comes this much later than it should.
    Late(Duration),
}

/// A queue, a transmitter, a wire.
pub struct Link {
    /// Nanoseconds per byte; zero: no transmission time.
    pub ns_per_byte: u64,
    pub delay: Duration,
    /// Packets that may wait behind the one being sent.
    pub buffer: usize,
    starts: VecDeque<Time>,
    free: Time,
    pub overflows: u64,
    pub busy_ns: u64,
}

impl Link {
    pub fn new(ns_per_byte: u64, delay: Duration, buffer: usize) -> Self {
        let starts = VecDeque::new();
        Self { ns_per_byte, delay, buffer, starts, free: Time::ZERO, overflows: 0, busy_ns: 0 }
    }

    /// Takes a packet; says when it arrives, unless there is no room.
    fn carry(&mut self, now: Time, bytes: u64) -> Option<Time> {
        while self.starts.front().is_some_and(|start| *start <= now) {
            self.starts.pop_front();
        }
        if self.starts.len() >= self.buffer && self.free > now {
            self.overflows += 1;
            return None;
        }
        let start = self.free.max(now);
        if start > now {
            self.starts.push_back(start);
        }
        let transmission = bytes * self.ns_per_byte;
        self.busy_ns += transmission;
        self.free = start + Duration::from_nanos(transmission);
        Some(self.free + self.delay)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    Segment(Segment),
    Ack(Ack),
}

/// A segment as it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    pub at: Time,
    pub segment: Segment,
    /// The window then, in units of 1 / ONE.
    pub cwnd: u64,
}

pub type Judge<T> = Box<dyn FnMut(u64, &T) -> Fate>;

/// One flow over two links.
pub struct Net {
    pub sender: Sender,
    pub receiver: Receiver,
    pub forward: Link,
    pub backward: Link,
    /// Decides on the n-th segment (from 0) that leaves the forward queue.
    pub judge: Judge<Segment>,
    /// Decides on the n-th ACK.
    pub judge_ack: Judge<Ack>,
    pub now: Time,
    pub sent: Vec<Sent>,
    /// ACKs as they were given.
    pub acks: Vec<(Time, Ack)>,
    /// The window whenever it changed.
    pub windows: Vec<(Time, u64)>,
    pub keep_log: bool,
    /// Called after each event.
    pub check: fn(&Net),
    judged: u64,
    judged_acks: u64,
    events: BinaryHeap<Reverse<(Time, u64)>>,
    payloads: VecDeque<Option<Event>>,
    first_payload: u64,
}

pub const SEGMENT_BYTES: u64 = 1000;
pub const ACK_BYTES: u64 = 40;

impl Net {
    /// Without transmission times: 10 ms there, 10 ms back, nothing lost.
    pub fn new(config: Config, policy: AckPolicy) -> Self {
        let wire = || Link::new(0, ms(10), usize::MAX);
        Self {
            sender: Sender::new(config).unwrap(),
            receiver: Receiver::new(policy),
            forward: wire(),
            backward: wire(),
            judge: Box::new(|_, _| Fate::Pass),
            judge_ack: Box::new(|_, _| Fate::Pass),
            now: Time::ZERO,
            sent: Vec::new(),
            acks: Vec::new(),
            windows: Vec::new(),
            keep_log: true,
            check: |_| {},
            judged: 0,
            judged_acks: 0,
            events: BinaryHeap::new(),
            payloads: VecDeque::new(),
            first_payload: 0,
        }
    }

    /// Loses the first transmission of these numbers.
    pub fn losing(mut self, numbers: &[u64]) -> Self {
        let numbers = numbers.to_vec();
        self.judge =
            Box::new(
                move |_, segment| {
                    if !segment.retransmission && numbers.contains(&segment.seq) { Fate::Drop } else { Fate::Pass }
                },
            );
        self
    }

    /// Runs until nothing is left to happen, or past `end`.
    pub fn run(&mut self, end: Time) {
        self.transmit();
        loop {
            let event = self.events.peek().map(|Reverse((at, _))| *at);
            let timers = [self.sender.next_timer(), self.receiver.next_timer()];
            let Some(next) = [event, timers[0], timers[1]].into_iter().flatten().min().filter(|at| *at <= end) else {
                return;
            };
            assert!(next >= self.now, "time runs forward");
            self.now = next;
            if event == Some(next) {
                self.handle();
            } else if timers[1] == Some(next) {
                if let Some(ack) = self.receiver.on_timer(next) {
                    self.send_ack(ack);
                }
            } else {
                self.sender.on_timer(next);
                self.transmit();
            }
            (self.check)(self);
        }
    }

    fn handle(&mut self) {
        let Some(Reverse((_, id))) = self.events.pop() else { return };
        let slot = (id - self.first_payload) as usize;
        let event = self.payloads[slot].take().unwrap();
        while self.payloads.front() == Some(&None) {
            self.payloads.pop_front();
            self.first_payload += 1;
        }
        match event {
            Event::Segment(segment) => {
                if let Some(ack) = self.receiver.on_segment(self.now, segment) {
                    self.send_ack(ack);
                }
            }
            Event::Ack(ack) => {
                self.sender.on_ack(self.now, ack);
                self.transmit();
            }
        }
    }

    fn transmit(&mut self) {
        self.note_window();
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            if self.keep_log {
                self.sent.push(Sent { at: self.now, segment, cwnd: self.sender.cwnd() });
            }
            let bytes = if segment.syn { ACK_BYTES } else { SEGMENT_BYTES };
            let Some(arrival) = self.forward.carry(self.now, bytes) else { continue };
            let fate = (self.judge)(self.judged, &segment);
            self.judged += 1;
            let marked = Segment { ce: segment.ce || (fate == Fate::Mark && segment.ect), ..segment };
            self.deliver(arrival, fate, Event::Segment(marked));
        }
        assert!(self.sender.outstanding() == 0 || self.sender.next_timer().is_some(), "a timer runs");
    }

    fn send_ack(&mut self, ack: Ack) {
        if self.keep_log {
            self.acks.push((self.now, ack));
        }
        let Some(arrival) = self.backward.carry(self.now, ACK_BYTES) else { return };
        let fate = (self.judge_ack)(self.judged_acks, &ack);
        self.judged_acks += 1;
        self.deliver(arrival, fate, Event::Ack(ack));
    }

    fn deliver(&mut self, arrival: Time, fate: Fate, event: Event) {
        match fate {
            Fate::Drop => {}
            Fate::Pass | Fate::Mark => self.schedule(arrival, event),
            Fate::Late(by) => self.schedule(arrival + by, event),
            Fate::Twice(by) => {
                self.schedule(arrival, event);
                self.schedule(arrival + by, event);
            }
        }
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.events.push(Reverse((at, self.first_payload + self.payloads.len() as u64)));
        self.payloads.push_back(Some(event));
    }

    fn note_window(&mut self) {
        let window = self.sender.cwnd();
        if self.keep_log && self.windows.last().is_none_or(|(_, last)| *last != window) {
            self.windows.push((self.now, window));
        }
    }

    /// Numbers sent at `at`.
    pub fn sent_at(&self, at: Time) -> Vec<u64> {
        self.sent.iter().filter(|sent| sent.at == at).map(|sent| sent.segment.seq).collect()
    }
}
