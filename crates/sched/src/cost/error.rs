//! How far estimates were off.

use dovetail_units::Duration;

/// Prediction errors, summed exactly: 128-bit integers cannot overflow by 2^64 packets of times that differ by less
/// than 2^63 ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PredictionError {
    packets: u64,
    absolute_ns: u128,
    signed_ns: i128,
    actual_ns: u128,
    /// Packets that took some time, and the sum of their relative errors in millionths.
    relative_packets: u64,
    relative_ppm: u128,
}

impl PredictionError {
    /// A packet was predicted to take `predicted` and took `actual`.
    pub fn record(&mut self, predicted: Duration, actual: Duration) {
        let (predicted, actual) = (predicted.as_nanos(), actual.as_nanos());
        let off = u128::from(predicted.abs_diff(actual));
        self.packets += 1;
        self.absolute_ns += off;
        self.signed_ns += i128::from(predicted) - i128::from(actual);
        self.actual_ns += u128::from(actual);
        if actual > 0 {
            self.relative_packets += 1;
            self.relative_ppm += (off * 1_000_000 + u128::from(actual / 2)) / u128::from(actual);
        }
    }

    /// Add what was recorded elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.absolute_ns += other.absolute_ns;
        self.signed_ns += other.signed_ns;
        self.actual_ns += other.actual_ns;
        self.relative_packets += other.relative_packets;
        self.relative_ppm += other.relative_ppm;
    }

    /// Packets recorded.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Mean of |predicted - actual|, in seconds; `None` without packets.
    pub fn mean_absolute_s(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.absolute_ns as f64 / self.packets as f64 / 1e9)
    }

    /// Mean of |predicted - actual| / actual over the packets that took some time (each to 10^-6); `None` without such.
    pub fn mean_relative(&self) -> Option<f64> {
        (self.relative_packets > 0).then(|| self.relative_ppm as f64 / self.relative_packets as f64 / 1e6)
    }

    /// Sum of |predicted - actual| over the sum of actual: the relative error of long packets counts more; `None`
    /// without time.
    pub fn weighted_relative(&self) -> Option<f64> {
        (self.actual_ns > 0).then(|| self.absolute_ns as f64 / self.actual_ns as f64)
    }

    /// Mean of predicted - actual, in seconds; `None` without packets.
    pub fn bias_s(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.signed_ns as f64 / self.packets as f64 / 1e9)
    }
}
