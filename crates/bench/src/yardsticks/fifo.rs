//! The control: one queue of places, no flows.

use std::collections::VecDeque;

use dovetail_testkit::random::Random;

use crate::frames::Place;
use crate::subject::{Senders, Subject};

pub struct Fifo {
    queue: VecDeque<Place>,
    senders: Senders,
}

impl Fifo {
    pub fn new(flows: usize, random: Random) -> Self {
        let mut this = Self { queue: VecDeque::new(), senders: Senders::new(flows, random) };
        this.senders.first().into_iter().for_each(|flow| this.come(flow));
        this
    }

    fn come(&mut self, flow: usize) {
        let place = self.senders.frames.take();
        self.senders.frames.frame(place).flow = flow as u32;
        self.queue.push_back(place);
    }
}

impl Subject for Fifo {
    fn turn(&mut self, burst: usize) -> u64 {
        for _ in 0..burst {
            let flow = self.senders.flow();
            self.come(flow);
        }
        (0..burst).map_while(|_| self.queue.pop_front()).map(|place| self.senders.frames.give_back(place)).sum()
    }
}
