//! What modules cost on this machine, as the line `a * bytes + b` that schedulers and scenarios use (tradeoff paper,
//! section 5.1).
//!
//! Packets of several lengths are processed in turn, so that whatever slows the machine down slows all lengths down.
//! The line is that of least squares through the mean of each length. Samples during which the kernel took the core
//! away are recognised and counted, and nothing else heeds them.
//!
//! What a packet takes depends on what is in the caches. This is the least that it can take: packets that were written
//! just before, batch after batch. A box that works also receives and sends, and its packets have waited: what they
//! take there is what the box says.

use std::net::Ipv4Addr;
use std::path::Path;

use dovetail_config::Text;
use dovetail_sched::cost::Linear;
use dovetail_units::Time;
use dovetail_wire::{LinkType, Prefix};
use etherparse::{IpNumber, Ipv4Header, UdpHeader};

use crate::frame::{Frame, Pool};
use crate::module::{Action, Kind, Mac, Module, ModuleDrop, ModuleError, Secret, Transform};
use crate::module::{CheckConfig, EncapsulateConfig, EncoderConfig, ForwardConfig, MatchConfig, MonitorConfig, Route};

/// Packets of a batch: enough that reading the clock does not matter.
const BATCH: usize = 32;

/// A sample is preempted if it takes longer than the median of its length by this many nanoseconds, and by this factor.
const PREEMPTED: (f64, f64) = (5_000.0, 2.0);

/// Bytes of an Ethernet, an IPv4 and a UDP header.
const HEADERS: usize = 14 + 20 + 8;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Lengths of frames in bytes, at least two different ones, each 64 to 1400.
    pub sizes: Vec<usize>,
    /// Samples of each length: batches of 32 packets.
    pub samples: usize,
    /// Flows that the packets belong to in turn, from 1 to 4096.
    pub flows: u16,
}

impl Default for Plan {
    fn default() -> Self {
        Self { sizes: vec![64, 200, 400, 600, 800, 1000, 1200, 1400], samples: 200, flows: 64 }
    }
}

/// What a chain of modules costs.
#[derive(Clone, Debug)]
pub struct Cost {
    /// What was measured at each length, in the plan's order.
    pub points: Vec<Point>,
    /// The line through the means, with neither term below zero.
    pub line: Linear,
    /// The part of the means' variance that the line explains, at most 1. Where cost hardly depends on length there is
    /// little to explain.
    pub r_squared: f64,
    /// 95 of 100 samples, preempted ones apart, are off the line by at most this part of it.
    pub residual_p95: f64,
    /// Samples during which the core was taken away.
    pub preempted: usize,
}

/// Samples of one length.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Length of the frames in bytes.
    pub size: usize,
    /// Nanoseconds per packet in the median sample.
    pub median: f64,
    /// Nanoseconds per packet in the mean of those that were not preempted.
    pub mean: f64,
    /// Nanoseconds per packet that 95 of 100 samples do not exceed.
    pub p95: f64,
}

/// A module without parameters of its own.
type Make = fn() -> Kind;

/// The modules that can be measured without any configuration, and their names.
pub const STANDARD: [(&str, Make); 7] = [
    ("check", || Kind::Check(CheckConfig::default())),
    ("monitor", || Kind::Monitor(MonitorConfig::default())),
    ("esp-gcm", || tunnel(Transform::Aes128Gcm)),
    ("esp-cbc-sha1", || tunnel(Transform::Aes128CbcSha1)),
    ("re", || Kind::Re(EncoderConfig::default())),
    ("forward", thousand_routes),
    ("match", hundred_patterns),
];

/// What a module of [`STANDARD`] costs.
///
/// # Errors
/// It cannot be made: the system gives no random numbers.
pub fn measure_standard(kind: &Kind, plan: &Plan, clock: impl FnMut() -> u64) -> Result<Cost, ModuleError> {
    let mut chain = [kind.build(Path::new(""))?];
    measure(&mut chain, plan, clock)
        .map_err(|ModuleDrop(reason)| ModuleError { key: "kind", problem: format!("it dropped the packets: {reason}") })
}

fn tunnel(transform: Transform) -> Kind {
    let key = Secret("00".repeat(transform.key_len()));
    let ends = [Ipv4Addr::new(203, 0, 113, 1), Ipv4Addr::new(203, 0, 113, 2)];
    Kind::Esp(EncapsulateConfig::new(transform, key, 256, ends))
}

/// A default route and a thousand blocks of 256 addresses, that of the packets' destination among them.
fn thousand_routes() -> Kind {
    let block = |high: u8, low: u8| Prefix::of(Ipv4Addr::new(198, high, low, 0).into(), 24);
    let blocks = (48..52).flat_map(|high| (0..250).map(move |low| block(high, low)));
    let all = Prefix::of(Ipv4Addr::UNSPECIFIED.into(), 0);
    let route = |prefix| Route { prefix: Text(prefix), mac: Some(Text(Mac([2, 0, 0, 0, 0, 3]))), source_mac: None };
    Kind::Forward(ForwardConfig { routes: std::iter::once(all).chain(blocks).map(route).collect() })
}

fn hundred_patterns() -> Kind {
    let patterns = (0..100).map(|k| format!("signature {k}")).collect();
    Kind::Match(MatchConfig { patterns, pattern_file: None, ignore_case: false, action: Action::Alert })
}

/// Measure `chain` by `clock`, which gives nanoseconds. Packets are IPv4 and UDP with right checksums, from 10.0.0.0/16
/// to 198.51.100.9, and their payload never comes again.
///
/// # Errors
/// A module drops the packets, so their processing cannot be measured.
pub fn measure(chain: &mut [Box<dyn Module>], plan: &Plan, mut clock: impl FnMut() -> u64) -> Result<Cost, ModuleDrop> {
    let (mut pool, mut packets) = (Pool::new(), Packets { flows: plan.flows.max(1), ..Packets::default() });
    let mut frames: Vec<Frame> = (0..BATCH).map(|_| pool.take()).collect();
    let mut samples = vec![Vec::with_capacity(plan.samples); plan.sizes.len()];
    // The first round fills caches and tables, and does not count.
    for round in 0..=plan.samples {
        for (&size, samples) in plan.sizes.iter().zip(&mut samples) {
            frames.iter_mut().for_each(|frame| frame.fill(Time::ZERO, packets.next(size), LinkType::ETHERNET));
            let start = clock();
            for frame in &mut frames {
                chain.iter_mut().try_for_each(|module| module.process(frame))?;
            }
            let took = clock().saturating_sub(start) as f64;
            if round > 0 {
                samples.push(took / BATCH as f64);
            }
        }
    }
    Ok(evaluate(&plan.sizes, samples))
}

/// Nanoseconds per packet of each sample of each length.
type Samples = Vec<Vec<f64>>;

/// From nanoseconds per packet of the samples of each length.
fn evaluate(sizes: &[usize], mut samples: Samples) -> Cost {
    let (longer, times) = PREEMPTED;
    let is_preempted = |took: f64, median: f64| took > median * times && (took - median) * BATCH as f64 > longer;
    let (mut points, mut preempted) = (Vec::new(), 0);
    for (&size, sorted) in sizes.iter().zip(&mut samples) {
        sorted.sort_by(f64::total_cmp);
        let (median, p95) = (quantile(sorted, 0.5), quantile(sorted, 0.95));
        let all = sorted.len();
        sorted.retain(|&took| !is_preempted(took, median));
        preempted += all - sorted.len();
        points.push(Point { size, median, mean: sorted.iter().sum::<f64>() / sorted.len() as f64, p95 });
    }
    let (slope, fixed) = line(&points);
    let at = |size: usize| slope * size as f64 + fixed;
    let off = |(point, samples): (&Point, &Vec<f64>)| {
        let line = at(point.size);
        samples.iter().map(|took| (took / line - 1.0).abs()).collect::<Vec<_>>()
    };
    let mut residuals: Vec<f64> = points.iter().zip(&samples).flat_map(off).collect();
    residuals.sort_by(f64::total_cmp);
    let picos = |ns: f64| (ns * 1000.0).round() as u64;
    Cost {
        line: Linear::from_picos(picos(slope), picos(fixed)),
        r_squared: r_squared(&points, at),
        residual_p95: quantile(&residuals, 0.95),
        preempted,
        points,
    }
}

/// Least squares through the means: nanoseconds per byte and per packet. If one would be negative it is 0, and the
/// other the best for that.
fn line(points: &[Point]) -> (f64, f64) {
    let n = points.len() as f64;
    let mean = |f: fn(&Point) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.size as f64), mean(|p| p.mean));
    let (mut xx, mut xy) = (0.0, 0.0);
    for p in points {
        xx += (p.size as f64 - x).powi(2);
        xy += (p.size as f64 - x) * (p.mean - y);
    }
    let slope = if xx > 0.0 { xy / xx } else { 0.0 };
    match (slope, y - slope * x) {
        (slope, _) if slope <= 0.0 => (0.0, y),
        (_, fixed) if fixed < 0.0 => (mean(|p| p.size as f64 * p.mean) / mean(|p| (p.size as f64).powi(2)), 0.0),
        both => both,
    }
}

fn r_squared(points: &[Point], at: impl Fn(usize) -> f64) -> f64 {
    let mean = points.iter().map(|p| p.mean).sum::<f64>() / points.len() as f64;
    let all: f64 = points.iter().map(|p| (p.mean - mean).powi(2)).sum();
    let left: f64 = points.iter().map(|p| (p.mean - at(p.size)).powi(2)).sum();
    if all > 0.0 { 1.0 - left / all } else { 1.0 }
}

/// The smallest of the sorted values that this part of them does not exceed; 0 of none.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// UDP packets in Ethernet frames.
#[derive(Debug)]
struct Packets {
    bytes: Vec<u8>,
    flows: u16,
    count: u16,
    random: u64,
}

impl Default for Packets {
    fn default() -> Self {
        Self { bytes: Vec::new(), flows: 1, count: 0, random: 0x9e37_79b9_7f4a_7c15 }
    }
}

impl Packets {
    /// A frame of `size` bytes, at least that of the headers.
    fn next(&mut self, size: usize) -> &[u8] {
        let payload = size.saturating_sub(HEADERS);
        self.bytes.clear();
        self.bytes.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        self.bytes.resize(HEADERS + payload, 0);
        for chunk in self.bytes[HEADERS..].chunks_mut(8) {
            // Marsaglia's xorshift: unlike enough for what looks for repetition, and cheap.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            chunk.copy_from_slice(&self.random.to_le_bytes()[..chunk.len()]);
        }
        self.count = self.count.wrapping_add(1);
        let flow = self.count % self.flows;
        let mut ip = Ipv4Header {
            total_len: (28 + payload) as u16,
            identification: self.count,
            time_to_live: 64,
            protocol: IpNumber::UDP,
            source: [10, 0, (flow >> 4) as u8, (flow & 15) as u8],
            destination: [198, 51, 100, 9],
            ..Ipv4Header::default()
        };
        ip.header_checksum = ip.calc_header_checksum();
        // The payload is shorter than any that is refused.
        let udp = UdpHeader::with_ipv4_checksum(4000 + flow, 53, &ip, &self.bytes[HEADERS..]).unwrap_or_default();
        self.bytes[14..34].copy_from_slice(&ip.to_bytes());
        self.bytes[34..HEADERS].copy_from_slice(&udp.to_bytes());
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::module::{Check, CheckConfig};

    /// Takes simulated time: `fixed` and `per_byte` nanoseconds, and now and then a millisecond for somebody else.
    struct Simulated {
        clock: Arc<AtomicU64>,
        per_byte: u64,
        fixed: u64,
        packets: u64,
    }

    impl Module for Simulated {
        fn name(&self) -> &'static str {
            "simulated"
        }
        fn process(&mut self, frame: &mut Frame) -> Result<(), ModuleDrop> {
            self.packets += 1;
            let away = if self.packets.is_multiple_of(997) { 1_000_000 } else { 0 };
            self.clock.fetch_add(self.per_byte * frame.len() as u64 + self.fixed + away, Ordering::Relaxed);
            Ok(())
        }
    }

    fn calibrate(per_byte: u64, fixed: u64) -> Cost {
        let clock = Arc::new(AtomicU64::new(0));
        let module = Simulated { clock: clock.clone(), per_byte, fixed, packets: 0 };
        measure(&mut [Box::new(module)], &Plan::default(), || clock.load(Ordering::Relaxed)).unwrap()
    }

    #[test]
    fn the_line_is_found_and_preemption_does_not_bend_it() {
        // 200 samples of 8 lengths; one packet in 997 is preempted, and the first round does not count.
        let (cost, preempted) = (calibrate(3, 80), 200 * 8 * BATCH / 997);
        assert_eq!(cost.line, Linear::from_picos(3_000, 80_000));
        assert!(cost.r_squared > 0.999_999 && cost.residual_p95 < 1e-9);
        assert!(cost.preempted.abs_diff(preempted) <= 1, "{} of {preempted}", cost.preempted);
        assert_eq!(cost.line.to_string().parse(), Ok(cost.line), "scenarios read what is printed");
    }

    #[test]
    fn neither_term_is_negative() {
        assert_eq!(calibrate(0, 50).line, Linear::from_picos(0, 50_000));
        assert_eq!(calibrate(2, 0).line, Linear::from_picos(2_000, 0));
        let bent: Vec<Vec<f64>> = [10.0, 200.0, 500.0].map(|median| vec![median]).into();
        let (per_byte, fixed) = evaluate(&[100, 200, 400], bent).line.as_picos();
        // Through the origin: (100 * 10 + 200 * 200 + 400 * 500) / (100^2 + 200^2 + 400^2).
        assert_eq!((per_byte, fixed), (1_148, 0));
        let falling: Vec<Vec<f64>> = [30.0, 20.0, 10.0].map(|median| vec![median]).into();
        assert_eq!(evaluate(&[100, 200, 400], falling).line, Linear::from_picos(0, 20_000));
    }

    #[test]
    fn every_standard_module_takes_the_packets() {
        let plan = Plan { sizes: vec![64, 1400], samples: 1, ..Plan::default() };
        for (name, kind) in STANDARD {
            let mut now = 0;
            let cost = measure_standard(&kind(), &plan, || {
                now += 32;
                now
            });
            assert_eq!(cost.unwrap().line, Linear::from_picos(0, 1000), "{name}");
        }
    }

    #[test]
    fn packets_are_what_modules_take_for_right_ones_and_all_are_different() {
        let mut check = Check::new(&CheckConfig::default());
        let mut packets = Packets::default();
        let mut seen = std::collections::BTreeSet::new();
        for size in Plan::default().sizes {
            for _ in 0..100 {
                let mut frame = Pool::new().take();
                frame.fill(Time::ZERO, packets.next(size), LinkType::ETHERNET);
                assert_eq!((frame.len(), check.process(&mut frame)), (size, Ok(())));
                assert!(seen.insert(frame.data()[HEADERS..].to_vec()));
            }
        }
    }
}
