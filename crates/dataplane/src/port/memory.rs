//! Two ports that are each other's cable, in memory: for tests.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use dovetail_units::Time;
use dovetail_wire::LinkType;

use super::{BURST, Port, PortCounters};
use crate::frame::{Frame, Pool};

/// One end of a cable. It ends when the other end is dropped and everything has been received.
pub struct MemoryPort {
    name: String,
    link: LinkType,
    to: SyncSender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
    ended: bool,
    counters: PortCounters,
}

/// Both ends of a cable on which `capacity` frames can be at a time in each direction.
pub fn pair(names: [&str; 2], link: LinkType, capacity: usize) -> [MemoryPort; 2] {
    let ((to_b, from_a), (to_a, from_b)) = (sync_channel(capacity), sync_channel(capacity));
    let end = |name: &str, to, from| {
        let (name, counters) = (name.to_owned(), PortCounters::default());
        MemoryPort { name, link, to, from, ended: false, counters }
    };
    [end(names[0], to_b, from_b), end(names[1], to_a, from_a)]
}

impl Port for MemoryPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn link(&self) -> LinkType {
        self.link
    }

    fn receive(&mut self, now: Time, pool: &mut Pool, frames: &mut Vec<Frame>) -> io::Result<()> {
        for _ in 0..BURST {
            match self.from.try_recv() {
                Ok(data) => {
                    let mut frame = pool.take();
                    frame.fill(now, &data, self.link);
                    frames.push(frame);
                    self.counters.received += 1;
                }
                Err(end) => {
                    self.ended = end == std::sync::mpsc::TryRecvError::Disconnected;
                    break;
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, _now: Time, frames: &mut VecDeque<Frame>, pool: &mut Pool) -> io::Result<()> {
        while let Some(frame) = frames.front() {
            match self.to.try_send(frame.data().to_vec()) {
                Ok(()) => self.counters.sent += 1,
                Err(TrySendError::Full(_)) => break,
                Err(TrySendError::Disconnected(_)) => self.counters.unsent += 1,
            }
            frames.pop_front().into_iter().for_each(|frame| pool.give(frame));
        }
        Ok(())
    }

    fn readable(&self) -> Option<RawFd> {
        None
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn counters(&mut self) -> PortCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_pass_both_ways_until_the_cable_is_full_or_cut() {
        let [mut a, mut b] = pair(["a", "b"], LinkType::RAW, 2);
        let mut pool = Pool::new();
        let mut frames = VecDeque::new();
        for data in [b"1", b"2", b"3"] {
            let mut frame = pool.take();
            frame.fill(Time::ZERO, data, LinkType::RAW);
            frames.push_back(frame);
        }
        a.send(Time::ZERO, &mut frames, &mut pool).unwrap();
        assert_eq!(frames.len(), 1);
        let mut received = Vec::new();
        b.receive(Time::from_nanos(5), &mut pool, &mut received).unwrap();
        let seen: Vec<_> = received.iter().map(|f| (f.data().to_vec(), f.received.as_nanos(), f.link)).collect();
        assert_eq!(seen, [(b"1".to_vec(), 5, LinkType::RAW), (b"2".to_vec(), 5, LinkType::RAW)]);
        b.send(Time::ZERO, &mut received.into(), &mut pool).unwrap();
        drop(b);
        let mut back = Vec::new();
        a.receive(Time::ZERO, &mut pool, &mut back).unwrap();
        a.send(Time::ZERO, &mut frames, &mut pool).unwrap();
        assert_eq!((back.len(), frames.len(), a.ended()), (2, 0, true));
        assert_eq!(a.counters(), PortCounters { received: 2, sent: 2, unsent: 1, ..PortCounters::default() });
    }
}
