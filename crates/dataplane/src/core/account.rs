//! What became of frames: every one is sent, dropped for a named reason, or held.

use dovetail_units::{Duration, Time};

use super::latency::{Detail, Latencies};

/// Counts of drops by reason. There are few reasons, so a list is a fast table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Drops(Vec<(&'static str, u64)>);

impl Drops {
    /// One more.
    pub fn count(&mut self, reason: &'static str) {
        self.add(reason, 1);
    }

    fn add(&mut self, reason: &'static str, more: u64) {
        match self.0.iter_mut().find(|(name, _)| *name == reason) {
            Some((_, count)) => *count += more,
            None => self.0.push((reason, more)),
        }
    }

    /// Those of both.
    pub fn add_all(&mut self, other: &Self) {
        other.iter().for_each(|(reason, count)| self.add(reason, count));
    }

    /// Reasons and counts.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Of all reasons.
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, count)| count).sum()
    }
}

/// The account of a flow, of a class or of the box. At every moment: frames in + made = out + dropped + held, and in >=
/// processed >= out - made.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Frames that came in.
    pub frames_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Frames that the CPU is done with, or that passed it by since they needed nothing of it; also those that were
    /// dropped afterwards or are held yet.
    pub frames_processed: u64,
    /// Frames that the box made of others that were too long, as they left.
    pub frames_made: u64,
    /// Frames that left over the link.
    pub frames_out: u64,
    /// Their bytes, as they left.
    pub bytes_out: u64,
    /// Frames that left with a congestion mark of ours.
    pub marked: u64,
    /// Time that the processed frames occupied the CPU.
    pub cpu: Duration,
    /// Time that frames occupied the third resource, of those that are done there.
    pub third: Duration,
    /// Time that the frames that left occupied the link.
    pub link: Duration,
    /// Frames that were dropped, by reason.
    pub drops: Drops,
}

impl Account {
    /// The accounts of both.
    pub fn add(&mut self, other: &Self) {
        let Self {
            frames_in,
            bytes_in,
            frames_processed,
            frames_made,
            frames_out,
            bytes_out,
            marked,
            cpu,
            third,
            link,
            drops,
        } = other;
        self.frames_in += frames_in;
        self.bytes_in += bytes_in;
        self.frames_processed += frames_processed;
        self.frames_made += frames_made;
        self.frames_out += frames_out;
        self.bytes_out += bytes_out;
        self.marked += marked;
        self.cpu += *cpu;
        self.third += *third;
        self.link += *link;
        self.drops.add_all(drops);
    }

    /// Frames that are in the box.
    pub fn held(&self) -> u64 {
        self.frames_in + self.frames_made - self.frames_out - self.drops.total()
    }
}

/// An account, and how long frames stayed.
#[derive(Clone, Debug)]
pub struct Books {
    /// The account.
    pub account: Account,
    /// From receipt to the end on the link by its rate.
    pub latency: Latencies,
}

impl Books {
    /// Empty books.
    pub fn new(detail: Detail) -> Self {
        Self { account: Account::default(), latency: Latencies::new(detail) }
    }

    /// The CPU is done with a frame, which occupied it for `cpu`; zero if the frame passes it by.
    #[inline]
    pub fn processed(&mut self, cpu: Duration) {
        self.account.frames_processed += 1;
        self.account.cpu += cpu;
    }

    /// The next frame that leaves is so many.
    pub fn made(&mut self, more: usize) {
        self.account.frames_made += more as u64;
        self.account.frames_out += more as u64;
    }

    /// A frame of `bytes` left now after it had been here for `stayed` and had occupied the link for `link`.
    #[inline]
    pub fn left(&mut self, now: Time, bytes: usize, stayed: Duration, link: Duration, marked: bool) {
        self.account.frames_out += 1;
        self.account.bytes_out += bytes as u64;
        self.account.link += link;
        self.account.marked += u64::from(marked);
        self.latency.count(now, stayed);
    }

    /// A frame of `bytes` came in.
    #[inline]
    pub fn came(&mut self, bytes: u32) {
        self.account.frames_in += 1;
        self.account.bytes_in += u64::from(bytes);
    }
}
