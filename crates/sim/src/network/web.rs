//! Short flows: Poisson arrivals, Pareto lengths.

use dovetail_tcp::Length;
use dovetail_units::{Duration, Time};
use rand_distr::{Distribution, Exp1, OpenClosed01};

use super::description::Traffic;
use crate::random::Stream;

/// The longest flow that is drawn, in segments: a hundred gigabytes of small packets.
const MOST_SEGMENTS: f64 = 1e9;

/// The shortest length in packets of a Pareto distribution with this mean and this shape, above 1.
pub fn shortest(mean_packets: f64, shape: f64) -> f64 {
    mean_packets * (shape - 1.0) / shape
}

/// The arrivals of one short-lived traffic.
pub(super) struct Web {
    rate: f64,
    shape: f64,
    /// The shortest length of the Pareto distribution.
    scale: f64,
    at: Time,
    draws: Stream,
}

impl Web {
    /// `None` for long-lived flows.
    pub fn new(traffic: &Traffic, draws: Stream) -> Option<Self> {
        let &Traffic::Web { rate, mean_packets, shape, .. } = traffic else { return None };
        Some(Self { rate, shape, scale: shortest(mean_packets, shape), at: Time::ZERO, draws })
    }

    /// When the next flow comes. The gap is cut to whole nanoseconds, which makes the rate too high by half a
    /// nanosecond in every mean gap.
    pub fn next(&mut self) -> Time {
        let gap: f64 = Exp1.sample(&mut self.draws);
        self.at += Duration::from_nanos((gap / self.rate * 1e9) as u64);
        self.at
    }

    /// How long it is: Pareto-distributed, rounded up to whole segments.
    pub fn length(&mut self) -> Length {
        let uniform: f64 = OpenClosed01.sample(&mut self.draws);
        Length::Segments((self.scale * uniform.powf(-1.0 / self.shape)).clamp(1.0, MOST_SEGMENTS).ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use dovetail_units::Duration;

    use super::*;
    use crate::network::RoundTrip;
    use crate::random::stream;

    fn web(rate: f64, mean_packets: f64, shape: f64) -> Web {
        let rtt = RoundTrip { min: Duration::ZERO, max: Duration::ZERO };
        Web::new(&Traffic::Web { class: 0, rate, mean_packets, shape, rtt }, stream(1, "web")).unwrap()
    }

    fn lengths(web: &mut Web, count: usize) -> Vec<u64> {
        let length = |_| match web.length() {
            Length::Segments(n) => n,
            Length::Infinite => panic!("no end"),
        };
        (0..count).map(length).collect()
    }

    #[test]
    fn gaps_between_arrivals_are_exponential() {
        let mut web = web(1000.0, 30.0, 1.2);
        let arrivals: Vec<Time> = (0..=20_000).map(|_| web.next()).collect();
        let gaps: Vec<f64> = arrivals.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect();
        // More than k mean gaps with probability e^-k; allowed are 4 standard deviations of a share.
        for k in [0.5, 1.0, 2.0, 4.0] {
            let share = gaps.iter().filter(|&&gap| gap > k / 1000.0).count() as f64 / gaps.len() as f64;
            let expected = f64::exp(-k);
            let allowed = 4.0 * (expected * (1.0 - expected) / gaps.len() as f64).sqrt();
            assert!((share - expected).abs() < allowed, "{k}: {share}, expected {expected}");
        }
    }

    /// By 0.05 % at a million flows per second, and less in proportion to the rate: what is cut off is uniform over a
    /// nanosecond, so that its mean over n gaps has a standard deviation of sqrt(1 / 12 n) ns, of which four are
    /// allowed.
    #[test]
    fn gaps_are_too_short_by_half_a_nanosecond() {
        const GAPS: u32 = 1_000_000;
        for rate in [100.0, 1e4, 1e6] {
            let mut draws = stream(1, "web");
            let exact: f64 = (0..GAPS).map(|_| -> f64 { Exp1.sample(&mut draws) }).sum::<f64>() / rate * 1e9;
            let mut web = web(rate, 30.0, 1.2);
            // No lengths are drawn in between, so that the gaps are the same.
            let last = (0..GAPS).map(|_| web.next()).last().unwrap();
            let short_ns = (exact - last.as_nanos() as f64) / f64::from(GAPS);
            let allowed = 4.0 / (12.0 * f64::from(GAPS)).sqrt();
            assert!((short_ns - 0.5).abs() < allowed, "{rate}: {short_ns} ns");
        }
    }

    #[test]
    fn lengths_have_a_pareto_tail() {
        // Longer than x with probability (scale / x)^shape; scale 30 * 0.2 / 1.2 = 5, the shortest.
        let lengths = lengths(&mut web(1.0, 30.0, 1.2), 20_000);
        assert_eq!(lengths.iter().min(), Some(&6), "rounded up");
        for x in [6, 10, 50, 500] {
            let share = lengths.iter().filter(|&&length| length > x).count() as f64 / lengths.len() as f64;
            let expected = (5.0 / x as f64).powf(1.2);
            let allowed = 4.0 * (expected * (1.0 - expected) / lengths.len() as f64).sqrt();
            assert!((share - expected).abs() < allowed, "{x}: {share}, expected {expected}");
        }
    }

    #[test]
    fn lengths_are_rounded_up() {
        // Hardly any tail: all are just above 2.5.
        assert!(lengths(&mut web(1.0, 2.5, 999_999.0), 1000).iter().all(|&length| length == 3));
    }
}
