//! How long packets take: of CPUs, links and access links.

use dovetail_units::{BitRate, CycleRate, Duration};

use super::description::{Class, Service};

/// What a hop does with a packet.
pub(super) enum Server {
    Link(Transmitter),
    Cpu(CycleRate),
}

impl Server {
    pub fn new(service: Service) -> Self {
        match service {
            Service::Link(rate) => Self::Link(Transmitter::new(rate)),
            Service::Cpu(rate) => Self::Cpu(rate),
        }
    }

    /// How long the packet takes that is next.
    #[inline]
    pub fn time(&mut self, bytes: u32, class: &Class) -> Duration {
        match self {
            Self::Link(transmitter) => transmitter.time(bytes),
            Self::Cpu(rate) => rate.processing_time(u64::from(bytes), class.density),
        }
    }

    /// How long such a packet takes by itself.
    pub fn cost(&self, bytes: u32, class: &Class) -> Duration {
        match self {
            Self::Link(transmitter) => transmitter.rate.transmission_time(u64::from(bytes), 0).0,
            Self::Cpu(rate) => rate.processing_time(u64::from(bytes), class.density),
        }
    }
}

/// A link that sends packet after packet: what it owes below a nanosecond goes to the next one.
pub(super) struct Transmitter {
    rate: BitRate,
    /// What it owes, in units of 1/rate nanoseconds.
    owed: u64,
    /// Length of the last packet, and its time by itself: most packets are as long as the one before, and need no
    /// division.
    bytes: u32,
    time: Duration,
    rest: u64,
}

impl Transmitter {
    pub fn new(rate: BitRate) -> Self {
        Self { rate, owed: 0, bytes: 0, time: Duration::ZERO, rest: 0 }
    }

    /// How long the packet takes that is next.
    #[inline]
    pub fn time(&mut self, bytes: u32) -> Duration {
        if bytes != self.bytes {
            self.bytes = bytes;
            (self.time, self.rest) = self.rate.transmission_time(u64::from(bytes), 0);
        }
        let missing = self.rate.as_bps() - self.rest;
        if self.owed < missing {
            self.owed += self.rest;
            self.time
        } else {
            self.owed -= missing;
            self.time + Duration::from_nanos(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packets_together_take_their_bits_over_the_rate(
            rate in 1_u64..u64::MAX,
            lengths in prop::collection::vec(prop_oneof![Just(500_u32), Just(40), 1_u32..70_000], 1..60),
        ) {
            let mut transmitter = Transmitter::new(BitRate::from_bps(rate).unwrap());
            let (mut bits, mut taken) = (0_u128, 0_u128);
            for bytes in lengths {
                bits += u128::from(bytes) * 8;
                taken += u128::from(transmitter.time(bytes).as_nanos());
                prop_assert_eq!(taken, bits * 1_000_000_000 / u128::from(rate));
            }
        }
    }
}
