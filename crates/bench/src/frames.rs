//! The packets' memory: frames in shuffled order, which are written when a packet comes and read when it goes, as those
//! of a network card would be.

use dovetail_testkit::random::Random;

/// Names a frame.
pub type Place = u32;

/// No frame.
pub const NIL: Place = Place::MAX;

/// A frame of 64 bytes. The yardsticks keep their links in it, as in a kernel's packet header.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Frame {
    pub next: Place,
    pub length: u32,
    pub flow: u32,
    rest: [u32; 13],
}

/// Memory of all frames, and the order in which new packets use them.
pub struct Frames {
    memory: Vec<Frame>,
    /// Frames without a packet, in a ring: the one that left first is used first.
    idle: Vec<Place>,
    next_idle: usize,
    next_back: usize,
}

impl Frames {
    pub fn new(count: usize, random: &mut Random) -> Self {
        let mut idle: Vec<Place> = (0..count as Place).collect();
        shuffle(&mut idle, random);
        let frame = Frame { next: NIL, length: 0, flow: 0, rest: [1; 13] };
        Self { memory: vec![frame; count], idle, next_idle: 0, next_back: 0 }
    }

    /// The next packet's frame. Packets are never more than frames.
    pub fn take(&mut self) -> Place {
        let place = self.idle[self.next_idle];
        self.next_idle = self.after(self.next_idle);
        place
    }

    /// A packet has gone; what was read of it.
    pub fn give_back(&mut self, place: Place) -> u64 {
        self.idle[self.next_back] = place;
        self.next_back = self.after(self.next_back);
        let frame = &self.memory[place as usize];
        u64::from(frame.rest[0]) + u64::from(frame.length)
    }

    fn after(&self, at: usize) -> usize {
        if at + 1 == self.idle.len() { 0 } else { at + 1 }
    }

    pub fn frame(&mut self, place: Place) -> &mut Frame {
        &mut self.memory[place as usize]
    }
}

/// In random order.
pub fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.below(i as u64 + 1) as usize);
    }
}
