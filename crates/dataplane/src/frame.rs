//! Frames in buffers that are used again and again.

use std::ops::{Deref, DerefMut};

use dovetail_sched::aqm::Congestion;
use dovetail_units::Time;
use dovetail_wire::LinkType;

use crate::core::{Handed, MOST_RESOURCES, Way};

/// Bytes of a buffer. Enough for a frame of 1522 bytes, an outer header and a trailer of a tunnel.
pub const BUFFER: usize = 2048;

/// Bytes before a received frame, for outer headers.
pub const HEADROOM: usize = 128;

/// The longest frame that can be received, bytes.
pub const LONGEST: usize = BUFFER - HEADROOM;

/// A frame, and what the box knows of it: a [`Record`] that stays where it is while the pointer to it goes from queue
/// to queue.
#[derive(Clone, Debug)]
pub struct Frame(Box<Record>);

/// What a [`Frame`] is.
#[derive(Clone, Debug)]
pub struct Record {
    /// How the bytes begin.
    pub link: LinkType,
    /// When it was received.
    pub received: Time,
    /// Length in bytes as it was received.
    pub size_in: u32,
    /// Index of its class.
    pub class: u16,
    /// Index of its flow.
    pub flow: u32,
    /// What the queues so far have noted in it.
    pub congestion: Congestion,
    /// Whether its sender understands congestion marks.
    pub ecn_capable: bool,
    /// Of the schedulers that handed it out.
    pub(crate) tickets: [Option<Handed>; MOST_RESOURCES],
    pub(crate) way: Way,
    /// What it was cut into besides, which goes with it until it has left the link.
    pub tail: Option<Frame>,
    start: u16,
    end: u16,
    buffer: [u8; BUFFER],
}

/// There is no room for that many bytes more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRoom;

impl Deref for Frame {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.0
    }
}

impl DerefMut for Frame {
    fn deref_mut(&mut self) -> &mut Record {
        &mut self.0
    }
}

impl Frame {
    fn empty() -> Self {
        Self(Box::new(Record {
            link: LinkType::ETHERNET,
            received: Time::ZERO,
            size_in: 0,
            class: 0,
            flow: 0,
            congestion: Congestion::Initial,
            ecn_capable: false,
            tickets: [None; MOST_RESOURCES],
            way: Way::default(),
            tail: None,
            start: HEADROOM as u16,
            end: HEADROOM as u16,
            buffer: [0; BUFFER],
        }))
    }
}

impl Record {
    /// The frame's bytes.
    pub fn data(&self) -> &[u8] {
        &self.buffer[usize::from(self.start)..usize::from(self.end)]
    }

    /// The frame's bytes, to be changed.
    pub fn data_mut(&mut self) -> &mut [u8] {
        let place = usize::from(self.start)..usize::from(self.end);
        &mut self.buffer[place]
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        usize::from(self.end - self.start)
    }

    /// Frames that go with it, itself included, and their bytes.
    #[inline]
    pub fn whole(&self) -> (usize, usize) {
        let (mut frames, mut bytes, mut rest) = (1, self.len(), &self.tail);
        while let Some(piece) = rest {
            (frames, bytes, rest) = (frames + 1, bytes + piece.len(), &piece.tail);
        }
        (frames, bytes)
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The whole room for a received frame; say with [`received`](Self::set_received) how much of it was used.
    pub fn room(&mut self) -> &mut [u8] {
        self.start = HEADROOM as u16;
        &mut self.buffer[HEADROOM..]
    }

    /// It was received at `now` with `len` bytes in [`room`](Self::room), at most [`LONGEST`].
    pub fn set_received(&mut self, now: Time, len: usize, link: LinkType) {
        let len = len.min(LONGEST);
        self.start = HEADROOM as u16;
        self.end = (HEADROOM + len) as u16;
        self.link = link;
        self.received = now;
        self.size_in = len as u32;
        (self.class, self.flow) = (0, 0);
        (self.congestion, self.ecn_capable) = (Congestion::Initial, false);
    }

    /// Make the bytes those of `data`, received at `now`; what is longer than [`LONGEST`] is cut off.
    pub fn fill(&mut self, now: Time, data: &[u8], link: LinkType) {
        let len = data.len().min(LONGEST);
        self.room()[..len].copy_from_slice(&data[..len]);
        self.set_received(now, len, link);
    }

    /// Grow by `bytes` at the front; their content is undefined.
    ///
    /// # Errors
    /// There is not so much room; the frame is as it was.
    pub fn grow_front(&mut self, bytes: usize) -> Result<(), NoRoom> {
        self.start = usize::from(self.start).checked_sub(bytes).ok_or(NoRoom)? as u16;
        Ok(())
    }

    /// Grow by `bytes` at the end; their content is undefined.
    ///
    /// # Errors
    /// There is not so much room; the frame is as it was.
    pub fn grow_back(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let end = usize::from(self.end).checked_add(bytes).filter(|&end| end <= BUFFER);
        self.end = end.ok_or(NoRoom)? as u16;
        Ok(())
    }

    /// Give up `bytes` at the front, at most all.
    pub fn shrink_front(&mut self, bytes: usize) {
        self.start += bytes.min(self.len()) as u16;
    }

    /// Keep only the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.end = self.start + len.min(self.len()) as u16;
    }
}

/// Free frames. What is taken is to be given back, wherever the frame ends; so nothing is allocated per packet.
#[derive(Debug, Default)]
pub struct Pool {
    free: Vec<Frame>,
    made: usize,
}

impl Pool {
    /// A pool that has made no frame yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A frame of any content.
    pub fn take(&mut self) -> Frame {
        self.free.pop().unwrap_or_else(|| {
            self.made += 1;
            Frame::empty()
        })
    }

    /// A frame has ended, with what follows it.
    pub fn give(&mut self, mut frame: Frame) {
        while let Some(next) = frame.tail.take() {
            self.free.push(frame);
            frame = next;
        }
        self.free.push(frame);
    }

    /// Frames made so far, those in use included: the pool's memory.
    pub fn made(&self) -> usize {
        self.made
    }

    /// Frames that are taken and not given back.
    pub fn in_use(&self) -> usize {
        self.made - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(data: &[u8]) -> Frame {
        let mut frame = Pool::new().take();
        frame.fill(Time::ZERO, data, LinkType::ETHERNET);
        frame
    }

    #[test]
    fn a_frame_grows_and_shrinks_at_both_ends() {
        let mut frame = frame(b"inner");
        frame.grow_front(2).unwrap();
        frame.data_mut()[..2].copy_from_slice(b"<<");
        frame.grow_back(2).unwrap();
        let len = frame.len();
        frame.data_mut()[len - 2..].copy_from_slice(b">>");
        assert_eq!(frame.data(), b"<<inner>>");
        frame.shrink_front(2);
        frame.truncate(5);
        assert_eq!((frame.data(), frame.size_in), (&b"inner"[..], 5));
    }

    #[test]
    fn beyond_its_room_it_stays_as_it_is() {
        let mut frame = frame(&[7; LONGEST + 100]);
        assert_eq!(frame.len(), LONGEST);
        assert_eq!(frame.grow_back(1), Err(NoRoom));
        assert_eq!(frame.grow_front(HEADROOM + 1), Err(NoRoom));
        assert_eq!(frame.grow_front(HEADROOM), Ok(()));
        frame.shrink_front(usize::MAX);
        assert!(frame.is_empty());
    }

    #[test]
    fn frames_given_back_are_used_again() {
        let mut pool = Pool::new();
        let (a, b) = (pool.take(), pool.take());
        assert_eq!((pool.made(), pool.in_use()), (2, 2));
        pool.give(a);
        let _c = pool.take();
        pool.give(b);
        assert_eq!((pool.made(), pool.in_use()), (2, 1));
    }
}
