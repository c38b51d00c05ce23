//! Flows of one frame, where more of them wait than of all others: a flood of false addresses that alone fills the box.
//!
//! As flows of their own they would take all but a few thousandths. So from then on first frames wait in queues which
//! are, in each class, as many as its other flows that wait: these keep half of what the class has, whatever comes. A
//! flow of which a further frame comes is none of one frame, and leaves as soon as nothing of it waits there: it is
//! remembered also if its first frame was lost, so that a TCP connection waits for its second SYN at most.

use ahash::RandomState;
use lru::LruCache;

use super::account::Account;

/// First frames that are remembered: those of two seconds of a million a minute, so that TCP's first repetition, after
/// one second (RFC 6298), finds itself known; and half of the ports that there are, so that one sender who goes through
/// all of them finds none known when he begins anew.
const REMEMBERED: usize = 1 << 15;

/// The most queues of first frames of a class.
const QUEUES: u64 = 1024;

/// What of a class waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Waiting {
    /// Flows of one frame, which is in the box.
    pub once: u32,
    /// Further flows of which something is in the box.
    pub others: u32,
    /// Frames in the queues of first frames.
    pub first: u32,
}

impl Waiting {
    /// How many flows wait, of one frame or the others.
    pub fn flows(&mut self, once: bool) -> &mut u32 {
        if once { &mut self.once } else { &mut self.others }
    }
}

/// Where the latest frame of a flow went that has been seen by first frames only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    /// The queue of first frames.
    pub queue: u16,
    /// So many frames have left that queue when this one has; 0 if it was dropped at once.
    until: u64,
}

/// Where a frame of an unknown flow goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// To a queue of its flow's own.
    Own,
    /// To this queue of first frames.
    First(u16),
}

/// The flows of one frame.
#[derive(Debug)]
pub(super) struct Crowd {
    /// By class.
    waiting: Vec<Waiting>,
    seen: LruCache<u64, Seen, RandomState>,
}

impl Crowd {
    pub fn new() -> Self {
        Self { waiting: Vec::new(), seen: LruCache::unbounded_with_hasher(RandomState::default()) }
    }

    /// What of this class waits.
    #[inline(always)]
    pub fn of(&mut self, class: u16) -> &mut Waiting {
        let place = usize::from(class);
        if self.waiting.len() <= place {
            self.grow(place);
        }
        &mut self.waiting[place]
    }

    #[cold]
    fn grow(&mut self, place: usize) {
        self.waiting.resize(place + 1, Waiting::default());
    }

    /// Where a frame goes of a flow that is not in the table and has this hash, of which `many` are too many flows of
    /// one frame. `queues` finds the account of a queue of first frames.
    pub fn way<'a>(&mut self, class: u16, hash: u64, many: u32, queues: impl Fn(u16) -> Option<&'a Account>) -> Way {
        let Waiting { once, others, first } = *self.of(class);
        // It ends when the last of them has gone, so that flows of one frame do not come back by turns.
        if first == 0 && once < many.max(others) {
            return Way::Own;
        }
        if let Some(seen) = self.seen.get(&hash) {
            return match queues(seen.queue).is_some_and(|queue| queue.held() > 0 && passed(queue) < seen.until) {
                true => Way::First(seen.queue),
                false => Way::Own,
            };
        }
        let queue = (hash % u64::from(others).clamp(1, QUEUES)) as u16;
        self.seen.put(hash, Seen { queue, until: 0 });
        if self.seen.len() > REMEMBERED {
            self.seen.pop_lru();
        }
        Way::First(queue)
    }

    /// A frame of the flow with this hash waits in the queue of first frames that has this account.
    pub fn waits(&mut self, hash: u64, queue: &Account) {
        if let Some(seen) = self.seen.peek_mut(&hash) {
            seen.until = passed(queue) + queue.held();
        }
    }
}

/// Frames that have gone through a queue. What is dropped of those in it does not count, which makes nobody leave too
/// early.
fn passed(queue: &Account) -> u64 {
    queue.frames_out - queue.frames_made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(frames_in: u64, frames_out: u64) -> Account {
        Account { frames_in, frames_out, ..Account::default() }
    }

    #[test]
    fn first_frames_share_queues_while_they_are_more_than_all_others_until_none_waits() {
        let mut crowd = Crowd::new();
        for (waiting, way) in [
            (Waiting { once: 9, others: 0, first: 0 }, Way::Own),
            (Waiting { once: 10, others: 11, first: 0 }, Way::Own),
            (Waiting { once: 10, others: 0, first: 0 }, Way::First(0)),
            (Waiting { once: 10, others: 10, first: 0 }, Way::First(7)),
            (Waiting { once: 0, others: 5, first: 1 }, Way::First(2)),
            (Waiting { once: 0, others: 0, first: 0 }, Way::Own),
        ] {
            *crowd.of(3) = waiting;
            crowd.seen.clear();
            assert_eq!(crowd.way(3, 17, 10, |_| None), way, "{waiting:?}");
            assert_eq!(crowd.way(0, 17, 10, |_| None), Way::Own, "of another class");
        }
    }

    #[test]
    fn who_comes_again_has_a_queue_of_its_own_once_nothing_of_it_waits_among_first_frames() {
        let mut crowd = Crowd::new();
        crowd.of(0).first = 1;
        let way = |crowd: &mut Crowd, account: &Account| crowd.way(0, 17, 10, |_| Some(account));
        // The first frame was lost.
        assert_eq!(way(&mut crowd, &queue(4, 2)), Way::First(0));
        assert_eq!(way(&mut crowd, &queue(4, 2)), Way::Own);
        // It waits behind one other.
        crowd.waits(17, &queue(4, 2));
        assert_eq!(way(&mut crowd, &queue(5, 3)), Way::First(0));
        assert_eq!(way(&mut crowd, &queue(6, 4)), Way::Own);
    }

    #[test]
    fn only_so_many_are_remembered() {
        let mut crowd = Crowd::new();
        crowd.of(0).first = 1;
        let mut way = |hash| crowd.way(0, hash, 10, |_| None);
        assert!((0..=REMEMBERED as u64).all(|hash| way(hash) == Way::First(0)));
        assert_eq!(way(0), Way::First(0), "forgotten");
        assert_eq!(way(REMEMBERED as u64), Way::Own);
    }
}
