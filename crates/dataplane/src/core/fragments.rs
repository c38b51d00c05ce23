//! Fragments are of the class and the flow of their datagram, which only the first one tells.
//!
//! A first fragment is remembered by what all have alike: addresses, protocol and identification. Later ones follow it.
//! Those that come before it wait for a while,
//! and for no more of them than there is room. What could make a datagram something else than its first fragment says
//! is dropped (RFC 1858, RFC 3128, RFC 5722).

use std::collections::VecDeque;
use std::net::IpAddr;

use ahash::RandomState;
use dovetail_units::{Duration, Time};
use dovetail_wire::{FiveTuple, Fragment, Ports};
use hashbrown::HashMap;

use crate::frame::Frame;

/// The longest payload of a datagram, bytes.
const LONGEST: usize = 65_535;

/// Bytes that a first fragment has to have, so that nothing of what tells its class comes in a later one: a header of
/// TCP, or of another protocol with ports.
const TCP: u8 = 6;
const TCP_HEADER: usize = 20;
const OTHER_HEADER: usize = 8;

/// Limits of what is remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FragmentLimits {
    /// The most datagrams; one more takes the place of the oldest.
    pub datagrams: usize,
    /// For how long a datagram is remembered after its first fragment.
    pub timeout: Duration,
    /// The most fragments that wait for their first one.
    pub waiting: usize,
    /// And for how long.
    pub wait: Duration,
}

/// What the fragments of a datagram have alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Datagram {
    src: IpAddr,
    dst: IpAddr,
    protocol: u8,
    id: u32,
}

/// A datagram whose first fragment has come.
#[derive(Clone, Copy, Debug)]
struct Known {
    ports: Ports,
    /// Bytes of its payload in the first fragment.
    first: usize,
    /// So many bytes have come without a gap, and so many has the whole datagram, as far as that is known.
    next: usize,
    all: Option<usize>,
    since: Time,
}

/// What is to be done with a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It is of the flow with these ports.
    Of(Ports),
    /// Nobody knows yet.
    Unknown,
    /// It makes a datagram something else than it says it is.
    Drop(&'static str),
}

/// Datagrams by what their fragments have alike. O(1) per fragment, and for a first one O(those that wait).
pub(super) struct Fragments {
    pub limits: FragmentLimits,
    // Keys come from strangers: hashed with a random seed, and never iterated.
    known: HashMap<Datagram, Known, RandomState>,
    /// In order of their first fragments; some may have been forgotten before.
    order: VecDeque<(Time, Datagram)>,
    waiting: VecDeque<(Time, Datagram, usize, Frame)>,
}

impl Fragments {
    pub fn new(limits: FragmentLimits) -> Self {
        Self { limits, known: HashMap::default(), order: VecDeque::new(), waiting: VecDeque::new() }
    }

    /// What is to be done with this fragment of a datagram of a protocol with ports, which it has if it is the first.
    pub fn look(&mut self, now: Time, tuple: &FiveTuple, fragment: &Fragment, ports: Option<Ports>) -> Verdict {
        self.forget_old(now);
        let wrong = (fragment.more && !fragment.payload.len().is_multiple_of(8)) || fragment.payload.is_empty();
        if fragment.end() > LONGEST || wrong {
            return Verdict::Drop("fragment-malformed");
        }
        let datagram = key(tuple, fragment);
        match (fragment.offset, ports) {
            (0, Some(ports)) if fragment.payload.len() >= header(fragment.protocol) => {
                self.first(now, datagram, fragment, ports)
            }
            (0, _) => Verdict::Drop("fragment-tiny"),
            _ => self.later(datagram, fragment),
        }
    }

    fn first(&mut self, now: Time, datagram: Datagram, fragment: &Fragment, ports: Ports) -> Verdict {
        let first = fragment.payload.len();
        match self.known.get(&datagram) {
            // The same once more: on its way twice, or sent again.
            Some(known) if (known.ports, known.first) == (ports, first) => return Verdict::Of(ports),
            Some(_) => return Verdict::Drop("fragment-overlap"),
            None => {}
        }
        let most = self.limits.datagrams;
        while (self.known.len() >= most || self.order.len() >= 2 * most) && self.forget_oldest() {}
        self.known.insert(datagram, Known { ports, first, next: first, all: None, since: now });
        self.order.push_back((now, datagram));
        Verdict::Of(ports)
    }

    fn later(&mut self, datagram: Datagram, fragment: &Fragment) -> Verdict {
        let Some(known) = self.known.get_mut(&datagram) else { return Verdict::Unknown };
        if fragment.offset < known.next {
            return Verdict::Drop("fragment-overlap");
        }
        if !fragment.more {
            if known.all.is_some_and(|all| all != fragment.end()) {
                return Verdict::Drop("fragment-overlap");
            }
            known.all = Some(fragment.end());
        }
        if fragment.offset == known.next {
            known.next = fragment.end();
        }
        let ports = known.ports;
        if known.all == Some(known.next) {
            // Its identification may be another one's next.
            self.known.remove(&datagram);
        }
        Verdict::Of(ports)
    }

    fn forget_old(&mut self, now: Time) {
        while self.order.front().is_some_and(|(since, _)| now.since(*since) >= self.limits.timeout) {
            self.forget_oldest();
        }
    }

    /// Whether there was one.
    fn forget_oldest(&mut self) -> bool {
        let Some((since, datagram)) = self.order.pop_front() else { return false };
        // It may have been forgotten, and another one have come.
        if self.known.get(&datagram).is_some_and(|known| known.since == since) {
            self.known.remove(&datagram);
        }
        true
    }

    /// Let a fragment wait for its first one; it is given back if there is no room.
    pub fn wait(&mut self, now: Time, tuple: &FiveTuple, fragment: &Fragment, frame: Frame) -> Result<(), Frame> {
        if self.waiting.len() >= self.limits.waiting || self.limits.wait == Duration::ZERO {
            return Err(frame);
        }
        self.waiting.push_back((now, key(tuple, fragment), fragment.offset, frame));
        Ok(())
    }

    /// Those that have waited for this one, in order of their places in the datagram.
    pub fn waited_for(&mut self, tuple: &FiveTuple, fragment: &Fragment) -> Vec<Frame> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let datagram = key(tuple, fragment);
        let (mut found, others): (Vec<_>, Vec<_>) =
            self.waiting.drain(..).partition(|(_, waits_for, ..)| *waits_for == datagram);
        self.waiting = others.into();
        found.sort_by_key(|(_, _, offset, _)| *offset);
        found.into_iter().map(|(.., frame)| frame).collect()
    }

    /// One that has waited in vain.
    pub fn waited_in_vain(&mut self, now: Time) -> Option<Frame> {
        let until = self.due()?;
        (until <= now).then(|| self.waiting.pop_front()).flatten().map(|(.., frame)| frame)
    }

    /// When the next one has waited in vain.
    #[inline]
    pub fn due(&self) -> Option<Time> {
        self.waiting.front().map(|(since, ..)| *since + self.limits.wait)
    }

    /// Frames that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The box ends.
    pub fn take_all(&mut self) -> Vec<Frame> {
        self.waiting.drain(..).map(|(.., frame)| frame).collect()
    }
}

fn key(tuple: &FiveTuple, fragment: &Fragment) -> Datagram {
    Datagram { src: tuple.src, dst: tuple.dst, protocol: fragment.protocol, id: fragment.id }
}

fn header(protocol: u8) -> usize {
    if protocol == TCP { TCP_HEADER } else { OTHER_HEADER }
}
