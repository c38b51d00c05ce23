//! Deficit round robin as in the textbook (Shreedhar, Varghese, SIGCOMM 1995): bytes on one link.

use dovetail_testkit::random::Random;

use super::Queue;
use crate::subject::{Senders, Subject};

/// Bytes per turn.
const QUANTUM: u32 = 1500;
/// No flow.
const NONE: u32 = u32::MAX;

struct Flow {
    queue: Queue,
    deficit: u32,
    /// The flow that has its turn after this one.
    after: u32,
}

pub struct Drr {
    flows: Vec<Flow>,
    first: u32,
    last: u32,
    /// Whether the first flow's turn has begun.
    under_way: bool,
    senders: Senders,
}

impl Drr {
    pub fn new(flows: usize, random: Random) -> Self {
        let senders = Senders::new(flows, random);
        let flows = (0..flows).map(|_| Flow { queue: Queue::EMPTY, deficit: 0, after: NONE }).collect();
        let mut this = Self { flows, first: NONE, last: NONE, under_way: false, senders };
        this.senders.first().into_iter().for_each(|flow| this.come(flow as u32));
        this
    }

    fn come(&mut self, flow: u32) {
        let idle = self.flows[flow as usize].queue.is_empty();
        self.flows[flow as usize].queue.push(flow, &mut self.senders.frames);
        if idle {
            self.flows[flow as usize].deficit = 0;
            self.append(flow);
        }
    }

    fn append(&mut self, flow: u32) {
        self.flows[flow as usize].after = NONE;
        match self.last {
            NONE => self.first = flow,
            last => self.flows[last as usize].after = flow,
        }
        self.last = flow;
    }

    /// The first flow's turn is over.
    fn pass(&mut self) -> u32 {
        let flow = self.first;
        self.first = self.flows[flow as usize].after;
        if self.first == NONE {
            self.last = NONE;
        }
        self.under_way = false;
        flow
    }

    fn go(&mut self) -> Option<u64> {
        while self.first != NONE {
            let flow = &mut self.flows[self.first as usize];
            if !self.under_way {
                flow.deficit += QUANTUM;
                self.under_way = true;
            }
            let length = flow.queue.length(&mut self.senders.frames);
            if length <= flow.deficit {
                flow.deficit -= length;
                let read = flow.queue.pop(&mut self.senders.frames);
                if flow.queue.is_empty() {
                    self.pass();
                }
                return Some(read);
            }
            let flow = self.pass();
            self.append(flow);
        }
        None
    }
}

impl Subject for Drr {
    fn turn(&mut self, burst: usize) -> u64 {
        for _ in 0..burst {
            let flow = self.senders.flow();
            self.come(flow as u32);
        }
        (0..burst).map_while(|_| self.go()).sum()
    }
}
