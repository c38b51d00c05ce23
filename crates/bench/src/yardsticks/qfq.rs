//! Quick fair queueing (Checconi, Rizzo, Valente, IEEE/ACM Transactions on Networking 21(3), 2013): bytes on one link,
//! in constant time. Flows stand in groups by their packets' virtual length, in a group in slots of rounded start
//! times; a set of groups is a word, and the next one is found by its lowest bit.

use dovetail_testkit::random::Random;

use super::{LENGTH, Queue};
use crate::subject::{Senders, Subject};

/// Virtual times are in 2^-30 bytes of a flow of weight 1.
const ONE: u64 = 1 << 30;
const GROUPS: usize = 24;
const SLOTS: usize = 32;
/// Slots of group 0 are as long as this power of two.
const SHORTEST: u32 = 24;
/// The longest packet.
const LONGEST: u64 = 2048;
const NONE: u32 = u32::MAX;

/// The sets: eligible or not (bit 0), and ready or blocked by a group of a higher index that ends earlier (bit 1).
const READY: usize = 0;
const INELIGIBLE: usize = 1;
const BLOCKED: usize = 2;

struct Flow {
    queue: Queue,
    start: u64,
    finish: u64,
    inverse_weight: u64,
    group: u32,
    /// The flow after this one in its slot.
    after: u32,
}

#[derive(Clone)]
struct Group {
    start: u64,
    finish: u64,
    shift: u32,
    /// The slot of `start`.
    front: usize,
    /// Slots with flows, counted from the front.
    full: u32,
    /// First and last flow.
    slots: [[u32; 2]; SLOTS],
}

impl Group {
    fn rounded(&self, time: u64) -> u64 {
        time >> self.shift << self.shift
    }

    fn set_start(&mut self, start: u64) {
        (self.start, self.finish) = (start, start + (2 << self.shift));
    }

    /// The first flow of the first slot with one, which comes to the front.
    fn scan(&mut self) -> Option<u32> {
        if self.full == 0 {
            return None;
        }
        let empty = self.full.trailing_zeros();
        self.front = (self.front + empty as usize) % SLOTS;
        self.full >>= empty;
        Some(self.slots[self.front][0])
    }
}

pub struct Qfq {
    flows: Vec<Flow>,
    groups: Vec<Group>,
    sets: [u64; 4],
    virtual_time: u64,
    /// What V rises by with each byte.
    rate: u64,
    senders: Senders,
}

fn after(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) > 0
}

impl Qfq {
    pub fn new(flows: usize, random: Random) -> Self {
        let senders = Senders::new(flows, random);
        let empty = Group { start: 0, finish: 0, shift: 0, front: 0, full: 0, slots: [[NONE; 2]; SLOTS] };
        let groups = (0..GROUPS).map(|k| Group { shift: SHORTEST + k as u32, ..empty.clone() }).collect();
        let group = (LONGEST * ONE).ilog2().saturating_sub(SHORTEST);
        let flow = |_| Flow { queue: Queue::EMPTY, start: 0, finish: 0, inverse_weight: ONE, group, after: NONE };
        let rate = ONE / flows as u64;
        let flows = (0..flows).map(flow).collect();
        let mut this = Self { flows, groups, sets: [0; 4], virtual_time: 0, rate, senders };
        this.senders.first().into_iter().for_each(|flow| this.come(flow as u32));
        this
    }

    fn come(&mut self, flow: u32) {
        let idle = self.flows[flow as usize].queue.is_empty();
        self.flows[flow as usize].queue.push(flow, &mut self.senders.frames);
        if !idle {
            return;
        }
        self.start(flow);
        let (start, index) = (self.flows[flow as usize].start, self.flows[flow as usize].group as usize);
        let group = &mut self.groups[index];
        let rounded = group.rounded(start);
        if group.full == 0 {
            if self.sets[READY] == 0 && after(rounded, self.virtual_time) {
                self.virtual_time = rounded;
            }
        } else if after(group.start, start) {
            let back = ((group.start - rounded) >> group.shift) as usize;
            group.full <<= back;
            group.front = (group.front + SLOTS - back) % SLOTS;
            (0..4).for_each(|set| self.sets[set] &= !(1 << index));
        } else {
            return self.insert(flow, rounded);
        }
        group.set_start(rounded);
        self.sets[self.state(index)] |= 1 << index;
        self.insert(flow, rounded);
    }

    /// S and F of a flow that becomes backlogged.
    fn start(&mut self, flow: u32) {
        let Flow { finish, group: index, inverse_weight, .. } = self.flows[flow as usize];
        let group = &self.groups[index as usize];
        let limit = group.rounded(self.virtual_time) + (1 << group.shift);
        let rounded = group.rounded(finish);
        let start = if after(finish, self.virtual_time) && !after(rounded, limit) {
            finish
        } else {
            match self.first_from(index as usize) {
                Some(next) if after(rounded, next.finish) => {
                    if after(limit, next.finish) {
                        next.finish
                    } else {
                        limit
                    }
                }
                _ => self.virtual_time,
            }
        };
        let flow = &mut self.flows[flow as usize];
        (flow.start, flow.finish) = (start, start + u64::from(LENGTH) * inverse_weight);
    }

    /// The first ready group from this one on.
    fn first_from(&self, index: usize) -> Option<&Group> {
        let later = self.sets[READY] >> index;
        (later != 0).then(|| &self.groups[index + later.trailing_zeros() as usize])
    }

    /// The set that the group belongs to.
    fn state(&self, index: usize) -> usize {
        let group = &self.groups[index];
        let ineligible = if after(group.start, self.virtual_time) { INELIGIBLE } else { 0 };
        let blocked = self.first_from(index).is_some_and(|next| after(group.finish, next.finish));
        ineligible + if blocked { BLOCKED } else { 0 }
    }

    fn insert(&mut self, flow: u32, rounded: u64) {
        let group = &mut self.groups[self.flows[flow as usize].group as usize];
        let slot = ((rounded - group.start) >> group.shift) as usize;
        self.flows[flow as usize].after = NONE;
        let [first, last] = &mut group.slots[(group.front + slot) % SLOTS];
        match group.full >> slot & 1 {
            0 => *first = flow,
            _ => self.flows[*last as usize].after = flow,
        }
        *last = flow;
        group.full |= 1 << slot;
    }

    fn go(&mut self) -> Option<u64> {
        if self.sets[READY] == 0 {
            return None;
        }
        let index = self.sets[READY].trailing_zeros() as usize;
        let group = &mut self.groups[index];
        let first = group.slots[group.front][0];
        let flow = &mut self.flows[first as usize];
        let length = flow.queue.length(&mut self.senders.frames);
        let read = flow.queue.pop(&mut self.senders.frames);
        let before = self.virtual_time;
        self.virtual_time += u64::from(length) * self.rate;
        flow.start = flow.finish;
        let leaves = flow.queue.is_empty();
        if !leaves {
            flow.finish += u64::from(flow.queue.length(&mut self.senders.frames)) * flow.inverse_weight;
        }
        let rounded = group.rounded(flow.start);
        if leaves || rounded != group.start {
            group.slots[group.front][0] = flow.after;
            if flow.after == NONE {
                group.full &= !1;
            }
            if !leaves {
                self.insert(first, rounded);
            }
            self.update(index);
        }
        self.make_eligible(before);
        Some(read)
    }

    /// The front slot of a ready group has lost a flow.
    fn update(&mut self, index: usize) {
        let group = &mut self.groups[index];
        let finish = group.finish;
        let next = group.scan();
        if let Some(flow) = next {
            let rounded = group.rounded(self.flows[flow as usize].start);
            if rounded == group.start {
                return;
            }
            group.set_start(rounded);
        }
        self.sets[READY] &= !(1 << index);
        if next.is_some() {
            self.sets[self.state(index)] |= 1 << index;
        }
        // Groups before it that it has blocked.
        if self.first_from(index + 1).is_none_or(|later| after(later.finish, finish)) {
            let mask = (1 << index) - 1;
            self.move_groups(mask, BLOCKED, READY);
            self.move_groups(mask, BLOCKED + INELIGIBLE, INELIGIBLE);
        }
    }

    fn make_eligible(&mut self, before: u64) {
        let waiting = self.sets[INELIGIBLE] | self.sets[BLOCKED + INELIGIBLE];
        if waiting == 0 {
            return;
        }
        if self.sets[READY] == 0 {
            let first = self.groups[waiting.trailing_zeros() as usize].start;
            if after(first, self.virtual_time) {
                self.virtual_time = first;
            }
        }
        let passed = (self.virtual_time >> SHORTEST) ^ (before >> SHORTEST);
        if passed != 0 {
            let mask = u64::MAX >> passed.leading_zeros();
            self.move_groups(mask, INELIGIBLE, READY);
            self.move_groups(mask, BLOCKED + INELIGIBLE, BLOCKED);
        }
    }

    fn move_groups(&mut self, mask: u64, from: usize, to: usize) {
        let groups = self.sets[from] & mask;
        self.sets[to] |= groups;
        self.sets[from] &= !groups;
    }
}

impl Subject for Qfq {
    fn turn(&mut self, burst: usize) -> u64 {
        for _ in 0..burst {
            let flow = self.senders.flow();
            self.come(flow as u32);
        }
        (0..burst).map_while(|_| self.go()).sum()
    }
}
