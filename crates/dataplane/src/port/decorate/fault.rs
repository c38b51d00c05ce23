//! Faults on purpose, the same ones for the same seed.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::RawFd;

use dovetail_units::{Duration, Time};
use dovetail_wire::LinkType;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::frame::{Frame, Pool};
use crate::port::{BURST, LinkState, Port, PortCounters};

/// The most frames that a port keeps back at a time; what should come later beyond that comes at once.
pub const HELD: usize = 1024;

/// What happens to frames that a port brings. Probabilities from 0 to 1, each drawn apart for every frame.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Faults {
    /// The frame is lost.
    pub drop: f64,
    /// It comes twice.
    pub duplicate: f64,
    /// One of its bits is flipped, any with the same probability.
    pub corrupt: f64,
    /// It comes [`delay_by`](Self::delay_by) later, and others overtake it; unless [`HELD`] frames do already.
    pub delay: f64,
    /// How much later.
    pub delay_by: Duration,
}

/// How often it happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounters {
    /// Frames lost; the port's counters have them among the missed ones.
    pub dropped: u64,
    /// Frames that came twice.
    pub duplicated: u64,
    /// Frames with a flipped bit.
    pub corrupted: u64,
    /// Frames that came later.
    pub delayed: u64,
}

/// A port whose received frames suffer faults. It is for both directions of a box when both its ports have one.
///
/// What the inner port received + duplicated = received + dropped + held back at the moment.
pub struct Faulty {
    inner: Box<dyn Port>,
    /// Each probability in steps of 2^-32: drop, duplicate, corrupt, delay.
    thresholds: [u64; 4],
    delay_by: Duration,
    random: ChaCha8Rng,
    /// Frames that are still to come, by time and order.
    coming: BTreeMap<(Time, u64), Frame>,
    order: u64,
    fresh: Vec<Frame>,
    /// More was due than could be handed up: that goes first, so that copies do not pile up.
    behind: bool,
    received: u64,
    counters: FaultCounters,
}

impl Faulty {
    /// Faults for what `inner` brings, drawn from a stream of this seed.
    ///
    /// # Errors
    /// The name of a probability that is not from 0 to 1.
    pub fn new(inner: Box<dyn Port>, faults: &Faults, seed: u64) -> Result<Self, &'static str> {
        let all = [
            (faults.drop, "drop"),
            (faults.duplicate, "duplicate"),
            (faults.corrupt, "corrupt"),
            (faults.delay, "delay"),
        ];
        if let Some(&(_, name)) = all.iter().find(|(probability, _)| !(0.0..=1.0).contains(probability)) {
            return Err(name);
        }
        Ok(Self {
            inner,
            thresholds: all.map(|(probability, _)| (probability * (1_u64 << 32) as f64) as u64),
            delay_by: faults.delay_by,
            random: ChaCha8Rng::seed_from_u64(seed),
            coming: BTreeMap::new(),
            order: 0,
            fresh: Vec::new(),
            behind: false,
            received: 0,
            counters: FaultCounters::default(),
        })
    }

    /// How often each fault happened.
    pub fn faults(&self) -> FaultCounters {
        self.counters
    }

    /// Draw a frame's fate. The number of draws is always the same, so that one probability changes nothing else.
    fn suffer(&mut self, mut frame: Frame, pool: &mut Pool) {
        let [drop, duplicate, corrupt, delay] = self.thresholds.map(|limit| u64::from(self.random.next_u32()) < limit);
        let place = self.random.next_u64();
        let room = self.coming.len() < HELD;
        if drop {
            self.counters.dropped += 1;
            pool.give(frame);
            return;
        }
        if duplicate {
            self.counters.duplicated += 1;
            let mut copy = pool.take();
            copy.fill(frame.received, frame.data(), frame.link);
            self.put(copy, Duration::ZERO);
        }
        if corrupt && !frame.is_empty() {
            self.counters.corrupted += 1;
            let bit = ((u128::from(place) * (frame.len() as u128 * 8)) >> 64) as usize;
            frame.data_mut()[bit / 8] ^= 1 << (bit % 8);
        }
        let mut by = Duration::ZERO;
        if delay && room {
            self.counters.delayed += 1;
            by = self.delay_by;
        }
        self.put(frame, by);
    }

    fn put(&mut self, frame: Frame, delay: Duration) {
        self.coming.insert((frame.received + delay, self.order), frame);
        self.order += 1;
    }
}

impl Port for Faulty {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn link(&self) -> LinkType {
        self.inner.link()
    }

    fn receive(&mut self, now: Time, pool: &mut Pool, frames: &mut Vec<Frame>) -> io::Result<()> {
        let mut fresh = std::mem::take(&mut self.fresh);
        let result = if self.behind { Ok(()) } else { self.inner.receive(now, pool, &mut fresh) };
        fresh.drain(..).for_each(|frame| self.suffer(frame, pool));
        self.fresh = fresh;
        for _ in 0..BURST {
            let Some(entry) = self.coming.first_entry().filter(|entry| entry.key().0 <= now) else { break };
            let ((time, _), mut frame) = entry.remove_entry();
            frame.received = time;
            frames.push(frame);
            self.received += 1;
        }
        self.behind = self.coming.first_key_value().is_some_and(|(&(time, _), _)| time <= now);
        result
    }

    fn send(&mut self, now: Time, frames: &mut VecDeque<Frame>, pool: &mut Pool) -> io::Result<()> {
        self.inner.send(now, frames, pool)
    }

    fn readable(&self) -> Option<RawFd> {
        self.inner.readable()
    }

    fn ended(&self) -> bool {
        self.inner.ended() && self.coming.is_empty()
    }

    /// The earlier one of what is held back and what comes. Who waits for the port to be readable waits no longer.
    fn next_arrival(&mut self) -> Option<Time> {
        let held = self.coming.first_key_value().map(|(&(time, _), _)| time);
        held.into_iter().chain(self.inner.next_arrival()).min()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.inner.finish()
    }

    fn counters(&mut self) -> PortCounters {
        let inner = self.inner.counters();
        let (missed, held) = (inner.missed + self.counters.dropped, self.coming.len() as u64);
        PortCounters { received: self.received, missed, held, ..inner }
    }

    fn link_state(&self) -> Option<LinkState> {
        self.inner.link_state()
    }
}
