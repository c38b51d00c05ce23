//! The congestion window as a fixed-point number.

/// One segment: windows count 2^-30 segments.
///
/// Congestion avoidance adds ONE^2 / cwnd, rounded to the nearest unit: half a unit at most is lost or won per ACK, for
/// a window of 1,000 segments 5e-7 of the increment.
pub const ONE: u64 = 1 << 30;

/// A window in segments, for reports.
pub fn from_fixed(window: u64) -> f64 {
    window as f64 / ONE as f64
}

/// The congestion window, its threshold, and its inflation during fast recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CongestionWindow {
    /// In units of 1 / [`ONE`].
    pub(crate) cwnd: u64,
    /// In units of 1 / [`ONE`].
    pub(crate) ssthresh: u64,
    /// Segments that have left the network since fast retransmit, as duplicate ACKs say.
    pub(crate) inflation: u64,
    /// The receiver's window in segments.
    pub(crate) limit: u64,
}

impl CongestionWindow {
    /// Segments that may be outstanding.
    #[inline]
    pub(crate) fn segments(&self) -> u64 {
        (self.cwnd / ONE + self.inflation).min(self.limit)
    }

    /// The same, not rounded down.
    pub(crate) fn fixed(&self) -> u64 {
        (self.cwnd + self.inflation * ONE).min(self.limit * ONE)
    }

    #[inline]
    pub(crate) fn is_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start: one segment per ACK (RFC 5681, equation 2).
    #[inline]
    pub(crate) fn open_exponentially(&mut self) {
        self.cwnd = self.cwnd.saturating_add(ONE);
    }

    /// Congestion avoidance: 1 / cwnd per ACK (RFC 5681, equation 3).
    #[inline]
    pub(crate) fn open_linearly(&mut self) {
        self.cwnd = self.cwnd.saturating_add((ONE * ONE + self.cwnd / 2) / self.cwnd.max(1));
    }

    /// A partial ACK of `acked` segments: the inflated window shrinks by all but one of them (RFC 6582, 3.2 step 3).
    pub(crate) fn deflate(&mut self, acked: u64) {
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            let rest = (acked - self.inflation).saturating_mul(ONE);
            self.cwnd = self.cwnd.saturating_sub(rest).max(ONE);
            self.inflation = 1;
        }
    }
}
