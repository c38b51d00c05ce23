//! What became of frames: every one is sent, dropped for a named reason, or held.

use dovetail_units::Duration;
use hdrhistogram::Histogram;

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

    /// Reasons and counts.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Of all reasons.
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, count)| count).sum()
    }
}

/// The account of a flow, of a class or of the box. At every moment: frames in = out + dropped + held, and in >= processed >= out.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Frames that came in.
    pub frames_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Frames that the CPU took, or that passed it by since they needed nothing of it; also those that were dropped afterwards or are held yet.
    pub frames_processed: u64,
    /// Frames that left over the link.
    pub frames_out: u64,
    /// Their bytes, as they left.
    pub bytes_out: u64,
    /// Frames that left with a congestion mark of ours.
    pub marked: u64,
    /// Time for which the processed frames occupy the CPU.
    pub cpu: Duration,
    /// Time that the frames that left occupied the link.
    pub link: Duration,
    /// Frames that were dropped, by reason.
    pub drops: Drops,
}

impl Account {
    /// Frames that are in the box.
    pub fn held(&self) -> u64 {
        self.frames_in - self.frames_out - self.drops.total()
    }
}

/// An account, and how long frames stayed.
#[derive(Clone, Debug)]
pub struct Books {
    /// The account.
    pub account: Account,
    /// From receipt to the end on the link by its rate, nanoseconds, to 1 % up to a minute.
    pub latency: Histogram<u32>,
}

/// The longest latency that is told apart from longer ones.
const LONGEST: u64 = 60_000_000_000;

/// The shortest latency that is told apart from shorter ones.
const SHORTEST: u64 = 1_000;

impl Books {
    /// Empty books whose latencies have so many decimal digits, 1 or 2.
    pub fn new(digits: u8) -> Self {
        let latency = Histogram::new_with_bounds(SHORTEST, LONGEST, digits);
        #[expect(clippy::expect_used, reason = "the bounds are constants that the library takes")]
        let latency = latency.expect("constant bounds");
        Self { account: Account::default(), latency }
    }

    /// The CPU took a frame, which occupies it for `cpu`; zero if the frame passes it by.
    pub fn processed(&mut self, cpu: Duration) {
        self.account.frames_processed += 1;
        self.account.cpu += cpu;
    }

    /// A frame of `bytes` left after it had been here for `stayed` and had occupied the link for `link`.
    pub fn left(&mut self, bytes: usize, stayed: Duration, link: Duration, marked: bool) {
        self.account.frames_out += 1;
        self.account.bytes_out += bytes as u64;
        self.account.link += link;
        self.account.marked += u64::from(marked);
        self.latency.saturating_record(stayed.as_nanos());
    }

    /// The books of both.
    pub fn add(&mut self, other: &Self) {
        let Account { frames_in, bytes_in, frames_processed, frames_out, bytes_out, marked, cpu, link, drops } =
            &other.account;
        let account = &mut self.account;
        account.frames_in += frames_in;
        account.bytes_in += bytes_in;
        account.frames_processed += frames_processed;
        account.frames_out += frames_out;
        account.bytes_out += bytes_out;
        account.marked += marked;
        account.cpu += *cpu;
        account.link += *link;
        drops.iter().for_each(|(reason, count)| account.drops.add(reason, count));
        // All books tell apart the same range.
        let _ = self.latency.add(&other.latency);
    }

    /// A frame of `bytes` came in.
    pub fn came(&mut self, bytes: u32) {
        self.account.frames_in += 1;
        self.account.bytes_in += u64::from(bytes);
    }
}
