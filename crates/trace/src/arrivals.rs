//! Packets as they come, in few bytes each.

use std::fmt;

use dovetail_units::{Duration, Time};

/// One packet of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrives, after the first packet.
    pub time: Time,
    /// Index of its flow in the flow table.
    pub flow: u32,
    /// Its size in bytes; at least 1.
    pub size: u32,
}

/// Packets in their order, to be read from the first to the last: mostly 5 to 9 bytes each.
///
/// Each of a packet's three numbers takes a byte per 7 bits, the time as its difference to the packet before. So any
/// numbers can be kept; times that fall need most.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Arrivals {
    bytes: Vec<u8>,
    len: usize,
    last: Time,
    longest_pause: Duration,
    extent: Extent,
}

/// What holds for all packets of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The largest number of a flow; 0 without packets.
    pub last_flow: u32,
    /// The length of the shortest packet; the largest number without packets.
    pub least_size: u32,
    /// Whether no packet comes before the one ahead of it.
    pub is_in_order: bool,
}

impl Default for Extent {
    /// Of no packets.
    fn default() -> Self {
        Self { last_flow: 0, least_size: u32::MAX, is_in_order: true }
    }
}

impl Arrivals {
    /// No packets.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more packet.
    #[inline]
    pub fn push(&mut self, arrival: Arrival) {
        let Arrival { time, flow, size } = arrival;
        let mut packed = [0; LONGEST];
        let mut end = 0;
        for number in [time.as_nanos().wrapping_sub(self.last.as_nanos()), flow.into(), size.into()] {
            end = pack(&mut packed, end, number);
        }
        self.bytes.extend_from_slice(&packed[..end]);
        self.len += 1;
        self.longest_pause = self.longest_pause.max(time.since(self.last));
        self.extent.last_flow = self.extent.last_flow.max(flow);
        self.extent.least_size = self.extent.least_size.min(size);
        self.extent.is_in_order &= time >= self.last;
        self.last = time;
    }

    /// How many packets.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// When the last packet arrives; zero without one.
    pub fn last(&self) -> Time {
        self.last
    }

    /// The longest time between two packets, or before the first.
    pub fn longest_pause(&self) -> Duration {
        self.longest_pause
    }

    /// What holds for all packets. O(1).
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Bytes that the packets take.
    pub fn memory(&self) -> usize {
        self.bytes.len()
    }

    /// The packets in their order. O(1) each.
    pub fn iter(&self) -> ArrivalsIter<'_> {
        ArrivalsIter { rest: &self.bytes, time: 0, left: self.len }
    }
}

/// Bytes of the longest packet: 64, 32 and 32 bits.
const LONGEST: usize = 10 + 5 + 5;

/// Writes a number in groups of 7 bits, the lowest first, the top bit set in all but the last; answers where it ends.
#[inline]
fn pack(bytes: &mut [u8; LONGEST], mut at: usize, mut number: u64) -> usize {
    while number >= 0x80 {
        bytes[at] = number as u8 | 0x80;
        number >>= 7;
        at += 1;
    }
    bytes[at] = number as u8;
    at + 1
}

/// Reads such a number from the front of `bytes`.
#[inline]
fn unpack(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    number
}

impl fmt::Debug for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl Extend<Arrival> for Arrivals {
    fn extend<I: IntoIterator<Item = Arrival>>(&mut self, arrivals: I) {
        arrivals.into_iter().for_each(|arrival| self.push(arrival));
    }
}

impl FromIterator<Arrival> for Arrivals {
    fn from_iter<I: IntoIterator<Item = Arrival>>(arrivals: I) -> Self {
        let mut all = Self::new();
        all.extend(arrivals);
        all
    }
}

impl<'a> IntoIterator for &'a Arrivals {
    type Item = Arrival;
    type IntoIter = ArrivalsIter<'a>;

    fn into_iter(self) -> ArrivalsIter<'a> {
        self.iter()
    }
}

/// The packets of [`Arrivals`] in their order.
#[derive(Clone, Debug)]
pub struct ArrivalsIter<'a> {
    rest: &'a [u8],
    time: u64,
    left: usize,
}

impl Iterator for ArrivalsIter<'_> {
    type Item = Arrival;

    #[inline]
    fn next(&mut self) -> Option<Arrival> {
        self.left = self.left.checked_sub(1)?;
        self.time = self.time.wrapping_add(unpack(&mut self.rest));
        let [flow, size] = [(); 2].map(|()| unpack(&mut self.rest) as u32);
        Some(Arrival { time: Time::from_nanos(self.time), flow, size })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for ArrivalsIter<'_> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers() -> impl Strategy<Value = (u64, u32, u32)> {
        let time = prop_oneof![0..1_000_u64, any::<u64>(), Just(0), Just(u64::MAX)];
        let number = || prop_oneof![0..2_000_u32, any::<u32>(), Just(u32::MAX)];
        (time, number(), number())
    }

    proptest! {
        #[test]
        fn what_went_in_comes_out(numbers in prop::collection::vec(numbers(), 0..50)) {
            let arrival = |&(time, flow, size): &_| Arrival { time: Time::from_nanos(time), flow, size };
            let list: Vec<Arrival> = numbers.iter().map(arrival).collect();
            let packed: Arrivals = list.iter().copied().collect();
            prop_assert_eq!((packed.len(), packed.is_empty()), (list.len(), list.is_empty()));
            prop_assert_eq!(packed.last(), list.last().map_or(Time::ZERO, |last| last.time));
            prop_assert_eq!(packed.iter().len(), list.len());
            let times = || list.iter().map(|arrival| arrival.time);
            let pauses = [Time::ZERO].into_iter().chain(times()).zip(times()).map(|(before, time)| time.since(before));
            prop_assert_eq!(packed.longest_pause(), pauses.max().unwrap_or(Duration::ZERO));
            let Extent { last_flow, least_size, is_in_order } = packed.extent();
            prop_assert_eq!(last_flow, list.iter().map(|arrival| arrival.flow).max().unwrap_or(0));
            prop_assert_eq!(least_size, list.iter().map(|arrival| arrival.size).min().unwrap_or(u32::MAX));
            prop_assert_eq!(is_in_order, list.is_sorted_by_key(|arrival| arrival.time));
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), list);
        }
    }

    #[test]
    fn usual_packets_take_six_bytes() {
        let packets = (0..1000).map(|k| Arrival { time: Time::from_nanos(k * 10_000), flow: 5_000, size: 1_500 });
        let packed: Arrivals = packets.collect();
        assert!(packed.bytes.len() <= 6 * 1000);
    }
}
