//! A digest of latencies: how many packets of a flow have one, rounded to a few significant bits.
//!
//! Where there would be too many entries, a value has one bit less. A code with fewer bits is that of the
//! value itself, so roundings do not add up: a value is wrong by half of its last bit at most, whatever was digested
//! when.

use super::exact::Exact;
use super::{Distribution, MOST_EXACT, MOST_OF_A_FLOW, Moments};

/// Bits of a value in a new digest: it is wrong by a part of 2^-10 at most.
const MOST_BITS: u32 = 10;
/// No digest has fewer: 2^-5.
const LEAST_BITS: u32 = 5;

/// The latencies of flows, rounded and counted: 6 bytes an entry, 40 a flow.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Digest {
    bits: u32,
    /// By flow, where its entries end.
    ends: Vec<usize>,
    /// Of a flow, the [codes](code) of its values, ascending; one twice if its packets are more than 2^32.
    codes: Vec<u16>,
    /// By code, how many packets.
    counts: Vec<u32>,
    /// By flow, of its packets' own latencies.
    moments: Vec<Moments>,
}

impl Digest {
    /// Of no packets yet.
    pub fn new(flows: usize) -> Self {
        let moments = vec![Moments::default(); flows];
        Self { bits: MOST_BITS, ends: vec![0; flows], codes: Vec::new(), counts: Vec::new(), moments }
    }

    /// Also of these.
    pub fn with(self, more: &Exact) -> Self {
        let mut sum = self.room(self.bits);
        let mut own = Vec::new();
        for (flow, &moments) in self.moments.iter().enumerate() {
            own.clear();
            own.extend(more.of_flow(flow));
            let mut fresh = own.iter().map(|&value| code(value, self.bits)).peekable();
            for (old, count) in self.entries(flow) {
                while let Some(code) = fresh.next_if(|&code| code < old) {
                    sum.add(code, 1);
                }
                sum.add(old, count);
            }
            fresh.for_each(|code| sum.add(code, 1));
            sum.end(moments.and(Moments::of(&own)));
        }
        let flows = sum.flows();
        sum.within(MOST_EXACT.max(MOST_OF_A_FLOW * flows))
    }

    /// An empty one for as many flows and entries.
    fn room(&self, bits: u32) -> Self {
        let [flows, entries] = [self.ends.len(), self.codes.len()];
        Self {
            bits,
            ends: Vec::with_capacity(flows),
            codes: Vec::with_capacity(entries),
            counts: Vec::with_capacity(entries),
            moments: Vec::with_capacity(flows),
        }
    }

    /// With so many entries at most, unless it has the least number of bits.
    fn within(mut self, most: usize) -> Self {
        while self.codes.len() > most && self.bits > LEAST_BITS {
            self = self.coarser();
        }
        self.codes.shrink_to_fit();
        self.counts.shrink_to_fit();
        self
    }

    /// With one bit less.
    fn coarser(self) -> Self {
        let bits = self.bits - 1;
        let mut coarser = self.room(bits);
        for (flow, &moments) in self.moments.iter().enumerate() {
            for (fine, count) in self.entries(flow) {
                coarser.add(code(least(fine, self.bits), bits), count);
            }
            coarser.end(moments);
        }
        coarser
    }

    /// More packets of the flow that comes next, of a code that is no less than its last one.
    fn add(&mut self, code: u16, count: u32) {
        let begin = self.ends.last().copied().unwrap_or(0);
        let is_last = self.codes[begin..].last() == Some(&code);
        let last = self.counts.last_mut().filter(|_| is_last);
        match last.and_then(|last| Some((last.checked_add(count)?, last))) {
            Some((sum, last)) => *last = sum,
            None => {
                self.codes.push(code);
                self.counts.push(count);
            }
        }
    }

    /// The flow that comes next has no more packets.
    fn end(&mut self, moments: Moments) {
        self.ends.push(self.codes.len());
        self.moments.push(moments);
    }

    /// A flow's codes, ascending, each with its packets; none for an unknown flow.
    fn entries(&self, flow: usize) -> impl Iterator<Item = (u16, u32)> {
        let begin = flow.checked_sub(1).map_or(0, |before| self.ends.get(before).copied().unwrap_or(0));
        let range = self.ends.get(flow).map_or(0..0, |&end| begin..end);
        self.codes[range.clone()].iter().copied().zip(self.counts[range].iter().copied())
    }

    pub fn flows(&self) -> usize {
        self.ends.len()
    }

    /// By which part of it a value may be wrong.
    pub fn error(&self) -> f64 {
        (-f64::from(self.bits)).exp2()
    }

    /// The latencies of one flow.
    pub fn of_flow(&self, flow: usize) -> Distribution {
        self.distribution(self.moments.get(flow), self.entries(flow).map(|(code, count)| (code, count.into())))
    }

    /// The latencies of these flows together.
    pub fn of_flows(&self, flows: impl IntoIterator<Item = usize>) -> Distribution {
        let mut counts: Vec<u64> = Vec::new();
        let mut moments = Moments::default();
        for flow in flows {
            for (code, count) in self.entries(flow) {
                let code = usize::from(code);
                if counts.len() <= code {
                    counts.resize(code + 1, 0);
                }
                counts[code] += u64::from(count);
            }
            moments = self.moments.get(flow).map_or(moments, |&own| moments.and(own));
        }
        self.distribution(Some(&moments), (0..).zip(counts).filter(|&(_, count)| count > 0))
    }

    /// Of packets of these moments and codes, which ascend.
    fn distribution(&self, moments: Option<&Moments>, counts: impl Iterator<Item = (u16, u64)>) -> Distribution {
        let moments = moments.copied().unwrap_or_default();
        let mut upto = 0;
        let entry = |(code, count)| {
            upto += count;
            (middle(code, self.bits).min(moments.max), upto)
        };
        let (values, ranks) = counts.map(entry).unzip();
        Distribution { values, ranks, moments }
    }
}

/// A value rounded down to so many significant bits, of which the first is no part of the code unless it stands alone:
/// codes are in the order of values, and below 2^15.
fn code(value: u64, bits: u32) -> u16 {
    let beyond = (u64::BITS - value.leading_zeros()).saturating_sub(bits);
    ((u64::from(beyond) << (bits - 1)) + (value >> beyond)) as u16
}

/// How many bits the values of this code have beyond those that are kept.
fn beyond(code: u16, bits: u32) -> u32 {
    (u32::from(code) >> (bits - 1)).saturating_sub(1)
}

/// The least value of this code.
fn least(code: u16, bits: u32) -> u64 {
    let beyond = beyond(code, bits);
    (u64::from(code) - (u64::from(beyond) << (bits - 1))) << beyond
}

/// The value in the middle of those of this code.
fn middle(code: u16, bits: u32) -> u64 {
    least(code, bits) + (1 << beyond(code, bits)) / 2
}

#[cfg(test)]
mod tests {
    use super::super::exact::Samples;
    use super::*;

    /// Of one flow, in a digest that is made coarser as long as it has more entries than this.
    fn digest(values: &[u64], most: usize) -> Digest {
        let mut samples = Samples::default();
        values.iter().for_each(|&value| samples.push(0, value));
        Digest::new(1).with(&samples.by_flow(1)).within(most)
    }

    #[test]
    fn a_digest_has_no_more_entries_for_more_packets_and_gets_coarser_instead() {
        let ascending: Vec<u64> = (0..100_000).map(|k| k * 50).collect();
        let once = digest(&ascending, usize::MAX);
        let ten_times = digest(&ascending.repeat(10), usize::MAX);
        assert_eq!((&once.codes, once.bits), (&ten_times.codes, MOST_BITS));
        let few = digest(&ascending, 500);
        assert!(few.codes.len() <= 500 && few.bits < MOST_BITS);
        // Rounded twice is as rounded once, to no fewer bits than there have to be.
        let codes: Vec<u16> = ascending.iter().map(|&value| code(value, few.bits)).collect();
        assert!(few.entries(0).map(|(code, _)| code).eq(codes.chunk_by(|a, b| a == b).map(|same| same[0])));
        assert_eq!(digest(&ascending, 1).bits, LEAST_BITS);
    }

    /// The ends of every code's values, and what is next to them.
    #[test]
    fn a_value_is_wrong_by_no_more_than_the_last_bit_says() {
        for bits in LEAST_BITS..=MOST_BITS {
            let last = code(u64::MAX, bits);
            for code_ in 0..=last {
                let (from, to) =
                    (least(code_, bits), if code_ == last { u64::MAX } else { least(code_ + 1, bits) - 1 });
                assert_eq!((code(from, bits), code(to, bits)), (code_, code_));
                let middle = middle(code_, bits);
                for value in [from, to] {
                    assert!(u128::from(middle.abs_diff(value)) << bits <= u128::from(value), "{value} as {middle}");
                }
            }
        }
    }

    #[test]
    fn more_packets_than_a_count_holds_are_two_entries() {
        let mut digest = Digest::new(0);
        for count in [u32::MAX, 5, 7] {
            digest.add(3, count);
        }
        digest.end(Moments { count: u64::from(u32::MAX) + 12, mean: 3.0, squares: 0.0, max: 3 });
        assert_eq!(digest.entries(0).collect::<Vec<_>>(), [(3, u32::MAX), (3, 12)]);
        assert_eq!(digest.of_flows([0]).ranks, [u64::from(u32::MAX) + 12]);
    }
}
