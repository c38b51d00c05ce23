//! The receiving end.

use alloc::vec::Vec;

use dovetail_units::{Duration, Time};

use crate::segment::{Ack, Segment};

/// When a receiver acknowledges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AckPolicy {
    /// At once, every segment, as ns-2's `Agent/TCPSink`.
    #[default]
    EverySegment,
    /// Every second segment in order, or after `timeout` (RFC 5681, section 4.2: at most 500 ms; ns-2's
    /// `Agent/TCPSink/DelAck`: 100 ms). At once: the SYN, segments out of order, those that fill a gap, duplicates
    /// (ns-2 takes a second copy of the last segment in order for a new one, and waits).
    Delayed {
        /// The longest delay.
        timeout: Duration,
    },
}

/// What a receiver has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverStats {
    /// Segments that arrived, SYNs and duplicates included.
    pub received: u64,
    /// Data segments that arrived, each once, in order or not.
    pub distinct: u64,
    /// Data segments handed over in order, each once.
    pub delivered: u64,
    /// Segments that were there already.
    pub duplicates: u64,
    /// Segments that came before an earlier one.
    pub out_of_order: u64,
    /// Segments with a congestion mark.
    pub marked: u64,
    /// Acknowledgements given.
    pub acks: u64,
}

/// Segments `first..end` that came early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    first: u64,
    end: u64,
}

/// A receiver: takes segments, answers with acknowledgements.
///
/// Cost per segment: O(1) in order; O(log r + r) out of order with r gaps in what has come, of which there are at most
/// half a window. Memory is taken when there are more gaps than ever before.
#[derive(Clone, Debug)]
pub struct Receiver {
    policy: AckPolicy,
    next: u64,
    /// Beyond `next`; sorted, apart from each other.
    early: Vec<Range>,
    /// A mark was seen and no CWR since (RFC 3168, section 6.1.3).
    echo: bool,
    /// When the delayed ACK is due.
    due: Option<Time>,
    stats: ReceiverStats,
}

impl Receiver {
    /// A receiver that waits for segment 0.
    pub fn new(policy: AckPolicy) -> Self {
        Self { policy, next: 0, early: Vec::new(), echo: false, due: None, stats: ReceiverStats::default() }
    }

    /// Takes a segment that arrived at `now`; answers it, unless the answer may wait.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: Segment) -> Option<Ack> {
        self.stats.received += 1;
        self.note_congestion(&segment);
        if segment.seq != self.next {
            if segment.seq < self.next || !self.keep(segment.seq) {
                self.stats.duplicates += 1;
            } else {
                self.stats.out_of_order += 1;
                self.stats.distinct += 1;
            }
            return Some(self.acknowledge());
        }
        self.stats.distinct += u64::from(!segment.syn);
        let fills_gap = !self.early.is_empty();
        self.advance(segment.syn);
        match self.policy {
            AckPolicy::Delayed { timeout } if !fills_gap && !segment.syn && self.due.is_none() => {
                self.due = Some(now + timeout);
                None
            }
            _ => Some(self.acknowledge()),
        }
    }

    /// When the delayed ACK is due, if one waits.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        self.due
    }

    /// Gives the delayed ACK if it is due.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        if self.due.is_some_and(|due| due <= now) { Some(self.acknowledge()) } else { None }
    }

    /// The first sequence number that is missing.
    pub fn next_expected(&self) -> u64 {
        self.next
    }

    /// What it has seen.
    #[inline]
    pub fn stats(&self) -> ReceiverStats {
        self.stats
    }

    #[inline]
    fn note_congestion(&mut self, segment: &Segment) {
        if segment.cwr {
            self.echo = false;
        }
        // A segment with both tells of a mark newer than the reduction.
        if segment.ce {
            self.stats.marked += 1;
            self.echo = true;
        }
    }

    #[inline]
    fn acknowledge(&mut self) -> Ack {
        self.due = None;
        self.stats.acks += 1;
        Ack { next: self.next, ece: self.echo }
    }

    /// The expected segment has come: hands over it and what waited for it.
    #[inline]
    fn advance(&mut self, syn: bool) {
        let before = self.next;
        self.next += 1;
        if let Some(first) = self.early.first()
            && first.first == self.next
        {
            self.next = first.end;
            self.early.remove(0);
        }
        self.stats.delivered += self.next - before - u64::from(syn);
    }

    /// Keeps an early segment; false if it is there already.
    fn keep(&mut self, seq: u64) -> bool {
        let at = self.early.partition_point(|range| range.end < seq);
        let Some(range) = self.early.get_mut(at).filter(|range| range.first <= seq.saturating_add(1)) else {
            self.early.insert(at, Range { first: seq, end: seq.saturating_add(1) });
            return true;
        };
        if (range.first..range.end).contains(&seq) {
            return false;
        }
        if seq < range.first {
            range.first = seq;
            return true;
        }
        range.end = seq.saturating_add(1);
        let end = range.end;
        if let Some(after) = self.early.get(at + 1).copied()
            && after.first == end
        {
            self.early[at].end = after.end;
            self.early.remove(at + 1);
        }
        true
    }
}
