//! Many queues in one memory.

/// A queue whose entries lie in a [`Pool`]: 12 bytes, and none of its own beside them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fifo {
    first: u32,
    last: u32,
    len: u32,
}

/// No slot.
const NONE: u32 = u32::MAX;

impl Fifo {
    pub const EMPTY: Self = Self { first: NONE, last: NONE, len: 0 };

    pub fn len(&self) -> u32 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The entries of many queues, at places that are used again: memory is that of the most that there were at a time.
#[derive(Clone, Debug)]
pub(super) struct Pool<T> {
    /// With the place of the next entry of the same queue, or the next free place.
    slots: Vec<(T, u32)>,
    free: u32,
}

impl<T: Copy> Pool<T> {
    pub fn new() -> Self {
        Self { slots: Vec::new(), free: NONE }
    }

    pub fn push(&mut self, queue: &mut Fifo, entry: T) {
        let place = match self.slots.get_mut(self.free as usize) {
            Some(slot) => {
                let place = self.free;
                self.free = slot.1;
                *slot = (entry, NONE);
                place
            }
            None => {
                // As many entries as there are packets in a run at once, which are less than 2^32.
                self.slots.push((entry, NONE));
                self.slots.len() as u32 - 1
            }
        };
        match self.slots.get_mut(queue.last as usize) {
            Some(last) => last.1 = place,
            None => queue.first = place,
        }
        queue.last = place;
        queue.len += 1;
    }

    pub fn first(&self, queue: &Fifo) -> Option<&T> {
        self.slots.get(queue.first as usize).map(|(entry, _)| entry)
    }

    pub fn pop(&mut self, queue: &mut Fifo) -> Option<T> {
        let (entry, next) = self.slots.get_mut(queue.first as usize)?;
        let first = std::mem::replace(&mut queue.first, *next);
        (*next, self.free) = (self.free, first);
        queue.len -= 1;
        if queue.is_empty() {
            queue.last = NONE;
        }
        Some(*entry)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_queue_keeps_its_order(steps in prop::collection::vec((0..3_usize, any::<bool>()), 0..200)) {
            let mut pool = Pool::new();
            let mut queues = [Fifo::EMPTY; 3];
            let mut expected: [VecDeque<usize>; 3] = Default::default();
            let (mut inside, mut most) = (0_usize, 0);
            for (k, (which, push)) in steps.into_iter().enumerate() {
                if push {
                    pool.push(&mut queues[which], k);
                    expected[which].push_back(k);
                    inside += 1;
                    most = most.max(inside);
                } else {
                    let popped = pool.pop(&mut queues[which]);
                    inside -= usize::from(popped.is_some());
                    prop_assert_eq!(popped, expected[which].pop_front());
                }
                for (queue, expected) in queues.iter().zip(&expected) {
                    prop_assert_eq!(pool.first(queue), expected.front());
                    prop_assert_eq!((queue.len(), queue.is_empty()), (expected.len() as u32, expected.is_empty()));
                }
            }
            prop_assert_eq!(pool.slots.len(), most);
        }
    }
}
