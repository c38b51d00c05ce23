//! When packets come and how large they are.

use dovetail_units::{Duration, Time};
use dovetail_wire::FiveTuple;
use rand::{Rng, RngExt};

use super::Mixture;
use super::flows::{SynthFlow, TCP};

/// Frame sizes in bytes, without frame check sequence.
const SMALL: std::ops::RangeInclusive<u32> = 64..=200;
const LARGE: std::ops::RangeInclusive<u32> = 1300..=1500;
/// A flow that has this many packets is an elephant.
const ELEPHANT: u32 = 100;
/// Share of large packets in a mouse.
const LARGE_SHARE: f64 = 0.2;
/// Mean number of packets in a burst.
const BURST: f64 = 8.0;
/// Shortest silence between bursts, in units of the mean gap within one; Pareto with exponent [`SILENCE_TAIL`] above
/// it.
const SILENCE: f64 = 20.0;
const SILENCE_TAIL: f64 = 1.5;
/// Longest silence, in units of the shortest.
const LONGEST_SILENCE: f64 = 1e3;
/// Part of the trace that a flow spans: at least the first; a flow of k packets at most k times the second, so that
/// mice come and go and elephants stay.
const SPAN: [f64; 2] = [0.001, 0.01];
/// Steps in which times are drawn before they are fitted to the trace's duration.
const STEPS: f64 = (1u64 << 52) as f64;

#[derive(Clone, Copy, Debug)]
pub(super) struct SynthPacket {
    pub(super) time: Time,
    pub(super) flow: u32,
    pub(super) size: u32,
}

/// Bytes of Ethernet, IP and transport header.
pub(super) fn header_len(tuple: &FiveTuple) -> u32 {
    14 + if tuple.src.is_ipv4() { 20 } else { 40 } + if tuple.protocol == TCP { 20 } else { 8 }
}

/// All packets in the order of their times, which are not yet in nanoseconds.
pub(super) fn draw(mixture: &Mixture, flows: &[SynthFlow]) -> Vec<SynthPacket> {
    let mut times = mixture.stream("arrivals");
    let mut sizes = mixture.stream("packet sizes");
    let mut packets = Vec::with_capacity(mixture.packets as usize);
    let mut offsets = Vec::new();
    let in_elephants = f64::from(mixture.large_percent) / 100.0;
    for (flow, spec) in (0..).zip(flows) {
        draw_offsets(&mut times, spec.packets, &mut offsets);
        let span = span(&mut times, spec.packets);
        let start: f64 = times.random();
        let least = header_len(&spec.tuple);
        packets.extend(offsets.iter().map(|offset| SynthPacket {
            // Past the end a flow goes on at the beginning, as if it had been there before: the load is even.
            time: Time::from_nanos(((start + span * offset).fract() * STEPS) as u64),
            flow,
            size: size(&mut sizes, if spec.packets >= ELEPHANT { in_elephants } else { LARGE_SHARE }).max(least),
        }));
    }
    // Stable: packets of equal times stay in the order of flow and sequence.
    packets.sort_by_key(|p| p.time);
    packets
}

/// Stretches the times so that the first packet comes at zero and the last at `duration`.
pub(super) fn fit(packets: &mut [SynthPacket], duration: Duration) {
    let (Some(first), Some(last)) = (packets.first().map(|p| p.time), packets.last().map(|p| p.time)) else { return };
    let range = u128::from((last - first).as_nanos().max(1));
    for packet in packets {
        let part = u128::from((packet.time - first).as_nanos());
        packet.time = Time::from_nanos((part * u128::from(duration.as_nanos()) / range) as u64);
    }
}

/// Times of a flow's `n` packets between 0 and 1, bursts and silences.
fn draw_offsets(rng: &mut impl Rng, n: u32, offsets: &mut Vec<f64>) {
    offsets.clear();
    let mut time = 0.0;
    for _ in 0..n {
        offsets.push(time);
        let burst_ends = rng.random_bool(1.0 / BURST);
        time += if burst_ends { silence(rng) } else { -(1.0 - rng.random::<f64>()).ln() };
    }
    let last = offsets.last().copied().unwrap_or_default();
    if last > 0.0 {
        offsets.iter_mut().for_each(|offset| *offset /= last);
    }
}

fn silence(rng: &mut impl Rng) -> f64 {
    let survival = 1.0 - rng.random::<f64>();
    SILENCE * survival.powf(-1.0 / SILENCE_TAIL).min(LONGEST_SILENCE)
}

fn span(rng: &mut impl Rng, packets: u32) -> f64 {
    let [least, per_packet] = SPAN;
    let most = (per_packet * f64::from(packets)).clamp(least, 1.0);
    least + (most - least) * rng.random::<f64>().sqrt()
}

fn size(rng: &mut impl Rng, large_share: f64) -> u32 {
    let large = rng.random_bool(large_share);
    rng.random_range(if large { LARGE } else { SMALL })
}
