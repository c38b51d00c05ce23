//! The packets' memory: frames in shuffled order, which are written when a packet comes and read when it goes, as those
//! of a network card would be.

use std::collections::VecDeque;

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
    free: VecDeque<Place>,
}

impl Frames {
    pub fn new(count: usize, random: &mut Random) -> Self {
        let mut free: Vec<Place> = (0..count as Place).collect();
        shuffle(&mut free, random);
        let frame = Frame { next: NIL, length: 0, flow: 0, rest: [1; 13] };
        Self { memory: vec![frame; count], free: free.into() }
    }

    /// The next packet's frame.
    pub fn take(&mut self) -> Place {
        self.free.pop_front().unwrap_or_default()
    }

    /// A packet has gone; what was read of it.
    pub fn give_back(&mut self, place: Place) -> u64 {
        self.free.push_back(place);
        let frame = &self.memory[place as usize];
        u64::from(frame.rest[0]) + u64::from(frame.length)
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
