//! Synthetic traffic.
//!
//! A mixture with the shape of the university data centre traces of Benson, Akella and Maltz, "Network traffic
//! characteristics of data centers in the wild" (IMC 2010), on which Wang et al. 2014, section 6.2, runs its
//! simulation:
//!
//! * thousands of flows, UDP-dominated: UDP carries 80 % of the packets, TCP the rest;
//! * heavy-tailed flow lengths (bounded Pareto): most flows are mice, a few elephants carry most bytes;
//! * packet sizes of two modes, 64 to 200 and 1300 to 1500 bytes;
//! * on/off arrivals within a flow: bursts of some packets, heavy-tailed silences between them;
//! * some 5 % of the flows are IPv6; all addresses are reserved for documentation and benchmarks (RFC 5737, RFC 3849,
//!   RFC 2544).
//!
//! The mixture's shares are met by construction for every seed (stratified draws), not only on average: a small
//! trace has them too. Nothing here models closed loops: TCP packets come when the model says, not when acknowledged.

mod arrivals;
mod flows;
mod frames;

use std::fmt;
use std::io::{self, Write};

use dovetail_units::{BitRate, Duration, Time};
use dovetail_wire::{KeyKind, LinkType};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::packets::Packets;
use crate::writer::PcapWriter;
use arrivals::SynthPacket;
use flows::SynthFlow;

/// When captures written from a [`Synthetic`] trace begin, in nanoseconds since 1970: 2010-01-01.
const EPOCH: Time = Time::from_nanos(1_262_304_000_000_000_000);

/// How fast a [`Mixture`] runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// From the first packet to the last.
    Duration(Duration),
    /// All bytes over the time from the first packet to the last.
    MeanRate(BitRate),
}

/// The parameters of a synthetic mixture; equal parameters make equal traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mixture {
    /// Chooses among the traces of these parameters.
    pub seed: u64,
    /// Number of packets: from `flows` to 100 million.
    pub packets: u32,
    /// Number of flows (5-tuples): 1 to 1 million.
    pub flows: u32,
    /// Length of the trace in time.
    pub pace: Pace,
    /// Part of the packets that the longest flow has, in per cent: up to 90; 0 leaves it as long as the flows' tail
    /// makes it.
    pub heaviest_percent: u8,
    /// Part of large packets in elephants, in per cent: 0 to 100.
    pub large_percent: u8,
}

impl Default for Mixture {
    /// 100,000 packets of 3,600 flows in 10 s, of elephants' packets 65 % large ones.
    fn default() -> Self {
        let pace = Pace::Duration(Duration::from_secs(10));
        Self { seed: 1, packets: 100_000, flows: 3_600, pace, heaviest_percent: 0, large_percent: 65 }
    }
}

/// Parameters of which no mixture can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixtureError {
    /// The number of flows, which is not in 1 to 1 million.
    Flows(u32),
    /// The number of packets, which is below that of the flows or above 100 million.
    Packets {
        /// It.
        packets: u32,
        /// The number of flows.
        flows: u32,
    },
    /// The trace would take no time or more than 30 years.
    Pace(Pace),
    /// The longest flow's part of the packets, in per cent, which is above 90.
    Heaviest(u8),
    /// The part of large packets, in per cent, which is above 100.
    Large(u8),
}

impl fmt::Display for MixtureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flows(n) => write!(f, "{n} flows: expected 1 to {MAX_FLOWS}"),
            Self::Packets { packets, flows } => {
                write!(
                    f,
                    "{packets} packets of {flows} flows: expected at least one for each flow, at most {MAX_PACKETS}; \
                     --flows makes fewer flows"
                )
            }
            Self::Heaviest(part) => write!(f, "{part} % of the packets in one flow: expected 0 to {MOST_OF_ONE} %"),
            Self::Large(part) => write!(f, "{part} % of large packets: expected 0 to 100 %"),
            Self::Pace(Pace::Duration(d)) => write!(f, "a duration of {d}: expected more than 0 s, at most 30 years"),
            Self::Pace(Pace::MeanRate(r)) => {
                write!(f, "a mean rate of {r}: the trace would last less than 1 ns or more than 30 years")
            }
        }
    }
}

impl std::error::Error for MixtureError {}

/// The most flows of a mixture.
pub const MAX_FLOWS: u32 = 1_000_000;
/// The most packets of a mixture.
pub const MAX_PACKETS: u32 = 100_000_000;
/// The most that one flow has of the packets, in per cent.
const MOST_OF_ONE: u8 = 90;
/// Captures begin in 2010 and their format ends in 2106; there is no need to come near.
const MAX_DURATION: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

impl Mixture {
    /// Bytes of memory that [`generate`](Self::generate) takes, about: measured.
    pub fn memory(&self) -> f64 {
        26.0 * f64::from(self.packets) + 110.0 * f64::from(self.flows)
    }

    /// Makes the traffic. Time O(packets log packets), memory 24 bytes per packet.
    ///
    /// # Errors
    /// If a parameter is out of its range.
    pub fn generate(&self) -> Result<Synthetic, MixtureError> {
        if !(1..=MAX_FLOWS).contains(&self.flows) {
            return Err(MixtureError::Flows(self.flows));
        }
        if !(self.flows..=MAX_PACKETS).contains(&self.packets) {
            return Err(MixtureError::Packets { packets: self.packets, flows: self.flows });
        }
        if self.heaviest_percent > MOST_OF_ONE {
            return Err(MixtureError::Heaviest(self.heaviest_percent));
        }
        if self.large_percent > 100 {
            return Err(MixtureError::Large(self.large_percent));
        }
        let flows = flows::draw(self);
        let mut packets = arrivals::draw(self, &flows);
        let duration = self.duration(&packets).ok_or(MixtureError::Pace(self.pace))?;
        arrivals::fit(&mut packets, duration);
        Ok(Synthetic { flows, packets })
    }

    fn duration(&self, packets: &[SynthPacket]) -> Option<Duration> {
        let duration = match self.pace {
            Pace::Duration(duration) => duration,
            Pace::MeanRate(rate) => rate.transmission_time(packets.iter().map(|p| u64::from(p.size)).sum(), 0).0,
        };
        (duration > Duration::ZERO && duration <= MAX_DURATION).then_some(duration)
    }

    /// The random numbers for one purpose: independent of all others of the same seed.
    fn stream(&self, name: &str) -> ChaCha8Rng {
        // FNV-1a: names become stream numbers.
        let number =
            name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(number);
        rng
    }
}

/// Traffic made from a [`Mixture`].
#[derive(Clone, Debug)]
pub struct Synthetic {
    flows: Vec<SynthFlow>,
    packets: Vec<SynthPacket>,
}

impl Synthetic {
    /// The trace in memory: exactly what [`crate::load`] makes of the capture that [`write_pcap`](Self::write_pcap)
    /// writes.
    pub fn packets(&self, kind: KeyKind) -> Packets {
        let mut packets = Packets::default();
        for packet in &self.packets {
            let key = kind.key(&self.flows[packet.flow as usize].tuple);
            let flow = packets.flows.add(Some(key), packet.time, packet.size);
            packets.push(packet.time, Ok(key), flow, packet.size);
        }
        packets
    }

    /// Writes the traffic as a capture that begins on 2010-01-01. Each packet is an Ethernet frame of which the headers
    /// are kept, with valid lengths and checksums (over a payload of zeros); the payload is not.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_pcap<W: Write>(&self, out: W) -> io::Result<W> {
        let mut writer = PcapWriter::new(out, LinkType::ETHERNET)?;
        let mut frames = frames::Frames::new(&self.flows);
        for packet in &self.packets {
            let data = frames.next(packet)?;
            writer.write(EPOCH + (packet.time - Time::ZERO), data, packet.size)?;
        }
        writer.finish()
    }
}
