//! Which flow a frame belongs to.
//!
//! A table has room for so many flows. Where it is full, a newcomer takes the place of a flow of which one frame has
//! ever come and is gone, as a flood of false addresses leaves behind very many. Where there is none either, newcomers
//! share queues by hash: each then has to do with few others, whatever the flood. Where flows of one frame fill the
//! box, they wait [apart](super::crowd).

use ahash::RandomState;
use dovetail_units::{Duration, Time};
use dovetail_wire::PackedKey;
use hashbrown::HashTable;
use lru::LruCache;

use super::account::Books;
use super::crowd::{Crowd, Way};
use super::latency::Detail;

/// What tells flows apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Key {
    /// By addresses and ports; and by class where the flow key leaves out what classes may look at, else 0.
    Flow(PackedKey),
    /// All frames of a class that carry no flow, such as ARP, or are one for this box, as those by which neighbours
    /// find each other.
    NonFlow(u16),
    /// Those flows of a class that found the table full and have this hash, below [`SHARED`].
    Shared(u16, u16),
    /// First frames of flows of a class, while flows of one frame are too many.
    First(u16, u16),
}

/// What a frame belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Belongs {
    /// Its class.
    pub class: u16,
    /// What tells its flow from others.
    pub key: Key,
    /// The flow that has this key, if it is known: until a flow is added or forgotten.
    pub flow: Option<u32>,
}

/// Queues of each class that flows share which find the table full.
const SHARED: u64 = 1024;

/// Flows of one frame are too many where they are the most of what waits, and more than this part of the table.
const MANY: u32 = 16;

/// How many flows are kept, and for how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowLimits {
    /// The most flows with a queue of their own; further ones of a class share queues by hash.
    pub most: u32,
    /// A flow without a frame for this long is forgotten.
    pub idle: Duration,
    /// What the hash depends on; `None` is what nobody can know. A running box keeps its own.
    pub secret: Option<u64>,
}

/// A flow that was seen.
#[derive(Clone, Debug)]
pub struct FlowEntry {
    /// What tells it from others.
    pub key: Key,
    /// Index of its class.
    pub class: u16,
    /// When its latest frame came.
    pub seen: Time,
    /// Its account and latencies.
    pub books: Books,
    /// The classes have changed since its latest frame.
    stale: bool,
    waits: Waits,
}

/// Whether something of a flow is in the box: then the class under which that is counted, and whether the flow is of
/// one frame. One word, which is written and read as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Waits(u32);

impl Waits {
    const NOTHING: Self = Self(0);

    #[inline]
    fn something(class: u16, once: bool) -> Self {
        Self(u32::from(class) << 2 | u32::from(once) << 1 | 1)
    }

    #[inline]
    fn counted(self) -> Option<(u16, bool)> {
        (self != Self::NOTHING).then_some(((self.0 >> 2) as u16, self.0 & 2 != 0))
    }
}

/// What is known of a flow that a frame belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// Nothing is to be done.
    Before,
    /// It is new.
    First,
    /// By classes that have changed it is of another one.
    Reclassed,
}

/// The flows by key and by dense index. O(1) per frame; indices of forgotten flows are given again.
#[derive(Debug)]
pub struct Flows {
    limits: FlowLimits,
    /// Places in `flows` by key, which stands there only.
    // Keys come from strangers: hashed with a random seed, and never iterated.
    index: HashTable<u32>,
    seed: RandomState,
    flows: Vec<Option<FlowEntry>>,
    free: Vec<u32>,
    /// Flows with a queue of their own, and queues that flows share.
    own: usize,
    shared: usize,
    /// By which of these a flow goes.
    hasher: RandomState,
    /// Flows of which one frame has ever come, and is gone: the one that has been longest is the first to go.
    once: LruCache<u32, (), RandomState>,
    crowd: Crowd,
    /// Where the search for idle flows goes on.
    hand: u32,
    /// No flow has been without a frame for longer than since then: what the last whole round has seen, and what this
    /// one has seen so far.
    oldest: [Time; 2],
    /// Frames of flows that shared queues because the table was full.
    pub overflowed: u64,
}

impl Flows {
    /// No flows yet.
    pub fn new(limits: FlowLimits) -> Self {
        let hasher = limits.secret.map_or_else(RandomState::new, |secret| RandomState::with_seeds(secret, 0, 0, 0));
        Self {
            limits,
            index: HashTable::new(),
            seed: RandomState::default(),
            flows: Vec::new(),
            free: Vec::new(),
            own: 0,
            shared: 0,
            hasher,
            once: LruCache::unbounded_with_hasher(RandomState::default()),
            crowd: Crowd::new(),
            hand: 0,
            oldest: [Time::ZERO; 2],
            overflowed: 0,
        }
    }

    /// Whether a new flow of this key has to share a queue.
    pub fn is_full_for(&self, key: &Key) -> bool {
        matches!(key, Key::Flow(..)) && self.own >= self.limits.most as usize
    }

    /// The queue that flows of this key and class share, if something of it is in the box: a flow that has one of its
    /// own from now on would overtake itself.
    pub fn sharing(&mut self, now: Time, key: &Key, class: u16) -> Option<(u32, Seen)> {
        if self.shared == 0 || !matches!(key, Key::Flow(..)) {
            return None;
        }
        let shared = self.shared(key, class);
        let flow = self.get(self.known(&shared)?)?;
        if flow.books.account.held() == 0 {
            return None;
        }
        self.overflowed += 1;
        self.came_with(now, &shared, class)
    }

    fn shared(&self, key: &Key, class: u16) -> Key {
        Key::Shared(class, (self.hasher.hash_one(key) % SHARED) as u16)
    }

    /// The queue in which first frames wait, if flows of one frame are too many and this flow, which is not
    /// [known](Self::known), may be one.
    pub fn among_first(&mut self, now: Time, key: &Key, class: u16) -> Option<(u32, Seen)> {
        if !matches!(key, Key::Flow(..)) {
            return None;
        }
        let Self { index, seed, flows, crowd, hasher, limits, .. } = self;
        let account = |queue| {
            let first = found(index, seed, flows, &Key::First(class, queue))?;
            Some(&flows[first as usize].as_ref()?.books.account)
        };
        let Way::First(queue) = crowd.way(class, hasher.hash_one(key), (limits.most / MANY).max(1), account) else {
            return None;
        };
        crowd.of(class).first += 1;
        let first = Key::First(class, queue);
        Some(self.came_with(now, &first, class).unwrap_or_else(|| self.insert(now, first, class)))
    }

    /// A frame of the flow of this key is in the box, under this index.
    pub fn entered(&mut self, key: &Key, flow: u32) {
        if let Some(FlowEntry { key: Key::First(..), books, .. }) =
            self.flows.get(flow as usize).and_then(Option::as_ref)
        {
            self.crowd.waits(self.hasher.hash_one(key), &books.account);
        }
    }

    /// Whether first frames wait in this flow's queue.
    pub fn is_of_first(&self, flow: u32) -> bool {
        self.get(flow).is_some_and(|flow| matches!(flow.key, Key::First(..)))
    }

    /// A flow of this key and class, which is neither [known](Self::known) nor [sharing](Self::sharing) nor [among
    /// first frames](Self::among_first).
    pub fn add(&mut self, now: Time, key: Key, class: u16) -> (u32, Seen) {
        let key = match key {
            key if self.is_full_for(&key) => {
                self.overflowed += 1;
                let shared = self.shared(&key, class);
                if let Some(known) = self.came_with(now, &shared, class) {
                    return known;
                }
                shared
            }
            key => key,
        };
        self.insert(now, key, class)
    }

    fn insert(&mut self, now: Time, key: Key, class: u16) -> (u32, Seen) {
        match key {
            Key::Flow(..) => self.own += 1,
            Key::Shared(..) => self.shared += 1,
            Key::NonFlow(_) | Key::First(..) => {}
        }
        let books = Books::new(Detail::Flow);
        let mut flow = FlowEntry { key, class, seen: now, books, stale: false, waits: Waits::NOTHING };
        flow.count(&mut self.crowd, Waits::something(class, true));
        let place = match self.free.pop() {
            Some(place) => {
                self.flows[place as usize] = Some(flow);
                place
            }
            None => {
                self.flows.push(Some(flow));
                (self.flows.len() - 1) as u32
            }
        };
        let Self { index, seed, flows, .. } = self;
        let hash = |&flow: &u32| flows[flow as usize].as_ref().map_or(0, |flow| seed.hash_one(flow.key));
        index.insert_unique(seed.hash_one(key), place, hash);
        (place, Seen::First)
    }

    /// The flow that has this key.
    #[inline]
    pub fn known(&self, key: &Key) -> Option<u32> {
        found(&self.index, &self.seed, &self.flows, key)
    }

    /// As [`known`](Self::known) for the flow of this packed key.
    #[inline]
    pub fn known_packed(&self, key: &PackedKey) -> Option<u32> {
        let is_of = |&flow: &u32| {
            let entry = self.flows[flow as usize].as_ref();
            entry.is_some_and(|entry| matches!(&entry.key, Key::Flow(own) if own == key))
        };
        self.index.find(self.seed.hash_one(Key::Flow(*key)), is_of).copied()
    }

    /// The class of a flow's first frame since classes have changed, if one has come.
    #[inline]
    pub fn class(&self, flow: u32) -> Option<u16> {
        self.get(flow).filter(|flow| !flow.stale).map(|flow| flow.class)
    }

    /// A frame of this flow and class has come.
    #[inline(always)]
    pub fn came(&mut self, now: Time, flow: u32, class: u16) -> Option<Seen> {
        let Self { flows, once, crowd, .. } = self;
        let entry = flows.get_mut(flow as usize)?.as_mut()?;
        if entry.books.account.frames_in == 1 {
            once.pop(&flow);
        }
        entry.count(crowd, Waits::something(class, false));
        Some(entry.see(now, class))
    }

    fn came_with(&mut self, now: Time, key: &Key, class: u16) -> Option<(u32, Seen)> {
        let flow = self.known(key)?;
        Some((flow, self.came(now, flow, class)?))
    }

    /// A frame of this flow has gone.
    #[inline(always)]
    pub fn went(&mut self, flow: u32) {
        let Self { flows, once, crowd, .. } = self;
        let Some(entry) = flows.get_mut(flow as usize).and_then(Option::as_mut) else { return };
        match entry.key {
            Key::Flow(..) if entry.books.account.held() == 0 => {
                if entry.books.account.frames_in == 1 {
                    once.put(flow, ());
                }
                entry.count(crowd, Waits::NOTHING);
            }
            Key::First(class, _) => crowd.of(class).first -= 1,
            _ => {}
        }
    }

    /// Of the flows of which one frame has ever come, and is gone, the one that has been longest. The caller tears it
    /// down and calls [`forget`](Self::forget).
    pub fn seen_once(&self) -> Option<u32> {
        self.once.peek_lru().map(|(&flow, ())| flow)
    }

    /// The flow at this index.
    #[inline]
    pub fn get(&self, flow: u32) -> Option<&FlowEntry> {
        self.flows.get(flow as usize)?.as_ref()
    }

    /// Its books.
    #[inline]
    pub fn books(&mut self, flow: u32) -> Option<&mut Books> {
        Some(&mut self.flows.get_mut(flow as usize)?.as_mut()?.books)
    }

    /// Look at one flow more; its index if it has been idle for too long and nothing of it is in the box. The caller
    /// tears it down and calls [`forget`](Self::forget).
    #[inline]
    pub fn idle(&mut self, now: Time) -> Option<u32> {
        self.hand += 1;
        if self.hand as usize >= self.flows.len() {
            self.hand = 0;
            self.oldest = [self.oldest[1], now];
        }
        let flow = self.flows.get(self.hand as usize)?.as_ref()?;
        self.oldest[1] = self.oldest[1].min(flow.seen);
        let gone = now.since(flow.seen) >= self.limits.idle && flow.books.account.held() == 0;
        gone.then_some(self.hand)
    }

    /// Whether one may have been idle for too long, by what the last whole round has seen.
    pub fn may_be_idle(&self, now: Time) -> bool {
        now.since(self.oldest[0]) >= self.limits.idle
    }

    /// The flow is gone.
    pub fn forget(&mut self, flow: u32) {
        if let Some(gone) = self.flows.get_mut(flow as usize).and_then(Option::take) {
            match gone.key {
                Key::Flow(..) => self.own -= 1,
                Key::Shared(..) => self.shared -= 1,
                Key::NonFlow(_) | Key::First(..) => {}
            }
            self.once.pop(&flow);
            if let Ok(entry) = self.index.find_entry(self.seed.hash_one(gone.key), |&place| place == flow) {
                entry.remove();
            }
            self.free.push(flow);
        }
    }

    /// Classes have changed: each flow is of the class of its next frame.
    pub fn reclass(&mut self, limits: FlowLimits) {
        self.limits = FlowLimits { secret: self.limits.secret, ..limits };
        self.flows.iter_mut().flatten().for_each(|flow| flow.stale = true);
    }

    /// All flows by index.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &FlowEntry)> {
        self.flows.iter().enumerate().filter_map(|(i, flow)| Some((i as u32, flow.as_ref()?)))
    }

    /// Flows that are kept.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }
}

/// The place of the flow that has this key.
#[inline(always)]
fn found(index: &HashTable<u32>, seed: &RandomState, flows: &[Option<FlowEntry>], key: &Key) -> Option<u32> {
    let is_of = |&flow: &u32| flows[flow as usize].as_ref().is_some_and(|flow| flow.key == *key);
    index.find(seed.hash_one(key), is_of).copied()
}

impl FlowEntry {
    /// A frame of it has come, of this class.
    #[inline]
    fn see(&mut self, now: Time, class: u16) -> Seen {
        self.seen = now;
        if !self.stale {
            return Seen::Before;
        }
        self.stale = false;
        if std::mem::replace(&mut self.class, class) == class { Seen::Before } else { Seen::Reclassed }
    }

    /// This of it is in the box from now on.
    #[inline(always)]
    fn count(&mut self, crowd: &mut Crowd, waits: Waits) {
        let before = self.waits;
        if before == waits || !matches!(self.key, Key::Flow(..)) {
            return;
        }
        self.waits = waits;
        if let Some((class, once)) = before.counted() {
            *crowd.of(class).flows(once) -= 1;
        }
        if let Some((class, once)) = waits.counted() {
            *crowd.of(class).flows(once) += 1;
        }
    }
}

/// What reports call a key.
pub(super) fn name(key: &Key) -> String {
    match key {
        Key::Flow(key) => key.flow().map_or_else(String::new, |flow| flow.to_string()),
        Key::NonFlow(_) => "no flow".to_string(),
        Key::Shared(_, queue) => format!("further flows {queue}"),
        Key::First(_, queue) => format!("first frames {queue}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_wire::{FiveTuple, FlowKey, KeyKind};

    fn key(host: u8) -> Key {
        let (src, dst) = ([10, 0, 0, host].into(), [10, 0, 1, 1].into());
        Key::Flow(PackedKey::new(Some(FlowKey::FiveTuple(FiveTuple { src, dst, protocol: 17, ports: None })), 0))
    }

    fn limits(most: u32) -> FlowLimits {
        FlowLimits { most, idle: Duration::from_secs(5), secret: Some(1) }
    }

    impl Flows {
        fn find(&mut self, now: Time, key: Key, class: u16) -> (u32, Seen) {
            self.came_with(now, &key, class).unwrap_or_else(|| self.add(now, key, class))
        }

        fn come(&mut self, now: Time, key: Key) -> u32 {
            let (flow, _) = self.find(now, key, 0);
            self.books(flow).unwrap().came(100);
            flow
        }

        fn go(&mut self, flow: u32) {
            self.books(flow).unwrap().left(Time::ZERO, 100, Duration::ZERO, Duration::ZERO, false);
            self.went(flow);
        }
    }

    fn at(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }

    #[test]
    fn first_frames_of_one_key_in_two_classes_both_wait_apart() {
        let tuple = FiveTuple { src: [10, 0, 0, 1].into(), dst: [10, 0, 1, 1].into(), protocol: 17, ports: None };
        let kind: KeyKind = "host".parse().unwrap();
        let key = |class| Key::Flow(PackedKey::of_kind(kind, &tuple, class));
        let mut flows = Flows::new(limits(1000));
        (flows.crowd.of(0).first, flows.crowd.of(1).first) = (1, 1);
        assert!(flows.among_first(at(0), &key(0), 0).is_some());
        assert!(flows.among_first(at(0), &key(1), 1).is_some());
    }

    #[test]
    fn a_key_keeps_its_flow_until_it_is_idle_and_empty() {
        let mut flows = Flows::new(limits(10));
        assert_eq!(flows.find(at(0), key(1), 0), (0, Seen::First));
        assert_eq!(flows.find(at(1), key(1), 0), (0, Seen::Before));
        flows.books(0).unwrap().came(100);
        assert_eq!(flows.idle(at(9)), None, "a frame of it is in the box");
        flows.books(0).unwrap().left(Time::ZERO, 100, Duration::ZERO, Duration::ZERO, false);
        assert_eq!(flows.idle(at(5)), None);
        assert_eq!(flows.idle(at(6)), Some(0));
        flows.forget(0);
        assert!(flows.is_empty());
        assert_eq!(flows.find(at(7), key(2), 0), (0, Seen::First));
    }

    #[test]
    fn beyond_the_most_flows_those_of_a_class_share_queues_by_hash() {
        let mut flows = Flows::new(limits(2));
        for host in [1, 2] {
            flows.find(at(0), key(host), 0);
        }
        assert_eq!(flows.find(at(0), key(3), 0), (2, Seen::First));
        assert_eq!(flows.find(at(0), key(3), 0), (2, Seen::Before));
        assert_eq!(flows.find(at(0), key(3), 1), (3, Seen::First), "each class has queues of its own");
        let queues: std::collections::BTreeSet<u32> = (3..=255).map(|host| flows.find(at(0), key(host), 0).0).collect();
        assert!((150..=253).contains(&queues.len()), "{}", queues.len());
        assert_eq!(flows.overflowed, 3 + 253);
    }

    #[test]
    fn of_flows_of_one_frame_the_one_that_has_been_gone_longest_is_the_first_to_go() {
        let mut flows = Flows::new(limits(10));
        let [first, second, third, here] = [1, 2, 3, 4].map(|host| flows.come(at(0), key(host)));
        assert_eq!(flows.seen_once(), None, "all of them are in the box");
        [second, first, third].into_iter().for_each(|flow| flows.go(flow));
        assert_eq!(flows.seen_once(), Some(second));
        flows.come(at(1), key(2));
        assert_eq!(flows.seen_once(), Some(first), "of the other a second frame has come");
        flows.go(second);
        flows.forget(first);
        flows.forget(third);
        assert_eq!(flows.seen_once(), None);
        flows.go(here);
        assert_eq!(flows.seen_once(), Some(here));
    }

    #[test]
    fn a_flow_stays_in_the_queue_that_it_shares_while_something_is_in_it() {
        let mut flows = Flows::new(limits(1));
        flows.come(at(0), key(1));
        let shared = flows.come(at(0), key(2));
        flows.forget(0);
        assert_eq!(flows.sharing(at(0), &key(2), 0), Some((shared, Seen::Before)));
        assert_eq!(flows.sharing(at(0), &Key::NonFlow(0), 0), None);
        flows.go(shared);
        assert_eq!(flows.sharing(at(0), &key(2), 0), None);
    }

    #[test]
    fn after_a_round_it_is_known_until_when_no_flow_can_be_idle() {
        let mut flows = Flows::new(limits(10));
        for host in 0..4 {
            flows.find(at(20 + u64::from(host)), key(host), 0);
        }
        assert!(flows.may_be_idle(at(24)), "nobody has looked");
        // A round begins, and ends with the first look of the next one.
        assert!((0..7).all(|_| flows.idle(at(24)).is_none()));
        flows.find(at(24), key(0), 0);
        assert!((0..2).all(|_| flows.idle(at(24)).is_none()));
        assert!(!flows.may_be_idle(at(24)));
        for s in 24..26 {
            let idle: Vec<u32> = (0..4).filter_map(|_| flows.idle(at(s))).collect();
            assert!(idle.is_empty() || flows.may_be_idle(at(s)), "{s} s: {idle:?}");
        }
        assert!(flows.may_be_idle(at(26)));
        let mut idle: Vec<u32> = (0..4).filter_map(|_| flows.idle(at(26))).collect();
        idle.sort_unstable();
        assert_eq!(idle, [1]);
    }

    #[test]
    fn a_queue_that_flows_share_is_seen_with_each_of_their_frames() {
        let mut flows = Flows::new(limits(0));
        assert_eq!(flows.find(at(0), key(1), 0), (0, Seen::First));
        assert_eq!(flows.find(at(9), key(1), 0), (0, Seen::Before));
        assert_eq!(flows.idle(at(10)), None);
        assert_eq!(flows.idle(at(14)), Some(0));
    }
}
