//! Payloads of datagrams that come in fragments, one behind the other.

use std::collections::VecDeque;
use std::net::IpAddr;

use ahash::RandomState;
use dovetail_wire::{Fragment, IpView};
use hashbrown::HashMap;

/// Datagrams that are followed at a time; one more takes the place of the oldest.
const DATAGRAMS: usize = 1024;

/// What the fragments of a datagram have alike.
type Datagram = (IpAddr, IpAddr, u8, u32);

/// How far a datagram has come without a gap, and its last bytes.
struct Followed {
    next: usize,
    last: Vec<u8>,
}

/// The ends of datagrams whose fragments have come in order so far. O(bytes that are kept) per fragment.
pub(super) struct Streams {
    /// Bytes that are kept of each.
    keep: usize,
    // Keys come from strangers: hashed with a random seed, and never iterated.
    followed: HashMap<Datagram, Followed, RandomState>,
    order: VecDeque<Datagram>,
}

impl Streams {
    /// That keep so many bytes of each datagram.
    pub fn new(keep: usize) -> Self {
        Self { keep, followed: HashMap::default(), order: VecDeque::new() }
    }

    /// What comes before this fragment of the packet, as much as is kept; `None` if it does not follow on what has come
    /// of its datagram.
    pub fn before(&mut self, ip: &IpView<&[u8]>, fragment: &Fragment) -> Option<Vec<u8>> {
        let datagram = datagram(ip, fragment);
        if fragment.offset == 0 {
            // Of two beginnings a receiver may take either.
            return (!self.followed.contains_key(&datagram)).then(Vec::new);
        }
        let followed = self.followed.remove(&datagram)?;
        (followed.next == fragment.offset).then_some(followed.last)
    }

    /// This fragment has come behind `before`, and nothing is wrong with it: its bytes and those before it, as one.
    pub fn go_on(&mut self, ip: &IpView<&[u8]>, fragment: &Fragment, mut bytes: Vec<u8>) {
        let datagram = datagram(ip, fragment);
        if !fragment.more {
            return;
        }
        bytes.drain(..bytes.len().saturating_sub(self.keep));
        if fragment.offset == 0 {
            self.order.push_back(datagram);
        }
        while self.order.len() > DATAGRAMS {
            self.order.pop_front().and_then(|oldest| self.followed.remove(&oldest));
        }
        self.followed.insert(datagram, Followed { next: fragment.end(), last: bytes });
    }
}

fn datagram(ip: &IpView<&[u8]>, fragment: &Fragment) -> Datagram {
    (ip.source(), ip.destination(), fragment.protocol, fragment.id)
}
