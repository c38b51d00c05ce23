//! The retransmission timeout: RFC 6298, and ns-2's variant of it in clock ticks.

use dovetail_units::{Duration, Time};

use crate::config::{Config, Rules};

/// The estimator of the RTT and its timeout.
///
/// All is integer arithmetic in one unit: a nanosecond by the RFC, a tick in ns-2. With R the sample:
///
/// ```text
/// first sample   SRTT = R                          RTTVAR = R / 2
/// later          RTTVAR += (|SRTT - R| - RTTVAR) / 4   SRTT += (R - SRTT) / 8
/// RTO = SRTT + max(G, 4 RTTVAR), at least the minimum; times the backoff; at most the maximum
/// ```
///
/// SRTT is kept times 8 and RTTVAR times 4, so each division rounds down by less than one unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rto {
    /// Of ns-2's clock.
    phase: Option<u64>,
    /// Nanoseconds in a unit.
    unit: u64,
    /// 8 SRTT in units; zero before the first sample.
    srtt: i64,
    /// 4 RTTVAR in units.
    rttvar: i64,
    /// SRTT + 4 RTTVAR, before bounds and backoff, in nanoseconds.
    base: Duration,
    backoff: u64,
    min: Duration,
    max: Duration,
    granularity: Duration,
}

/// ns-2 backs off no further by doubling alone.
const NS2_LARGEST_BACKOFF: u64 = 64;
/// ns-2 forgets the mean RTT beyond this backoff.
const NS2_TRUSTED_BACKOFF: u64 = 8;

impl Rto {
    pub(crate) fn new(config: &Config) -> Self {
        let (phase, unit) = match config.rules {
            Rules::Rfc => (None, 1),
            Rules::Ns2 { clock_phase } => (Some(clock_phase.as_nanos()), config.granularity.as_nanos()),
        };
        Self {
            phase,
            unit,
            srtt: 0,
            rttvar: 0,
            base: config.initial_rto,
            backoff: 1,
            min: config.min_rto,
            max: config.max_rto,
            granularity: config.granularity,
        }
    }

    /// A segment sent at `sent` was acknowledged at `now`.
    pub(crate) fn sample(&mut self, sent: Time, now: Time) {
        let span = now.since(sent).as_nanos();
        // ns-2 counts the ticks of its clock since the tick at or before the sending.
        let since_tick = self.phase.map_or(0, |phase| (sent.as_nanos().wrapping_add(phase)) % self.unit);
        // Half a century is long enough, and leaves room for the factor of 8.
        let rtt = ((span.saturating_add(since_tick)) / self.unit).clamp(1, i64::MAX as u64 / 16) as i64;
        if self.srtt == 0 {
            self.srtt = rtt * 8;
            self.rttvar = rtt * 2;
        } else {
            let error = rtt - self.srtt / 8;
            self.srtt = (self.srtt + error).max(1);
            self.rttvar = (self.rttvar + error.abs() - self.rttvar / 4).max(1);
        }
        let variation = match self.phase {
            None => (self.rttvar as u64).max(self.granularity.as_nanos()),
            Some(_) => self.rttvar as u64,
        };
        self.base = Duration::from_nanos((self.srtt as u64 / 8).saturating_add(variation)).saturating_mul(self.unit);
    }

    /// The smoothed RTT; none before the first sample.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        (self.srtt > 0).then(|| Duration::from_nanos(self.srtt as u64 / 8).saturating_mul(self.unit))
    }

    /// How long to wait for an acknowledgement now.
    #[inline]
    pub(crate) fn timeout(&self) -> Duration {
        let timeout = self.base.max(self.min).saturating_mul(self.backoff).min(self.max);
        match self.phase {
            None => timeout,
            Some(_) => timeout.max(self.granularity.saturating_mul(2)),
        }
    }

    /// The timer expired.
    pub(crate) fn back_off(&mut self) {
        let doubles = self.timeout() < self.max || (self.phase.is_some() && self.backoff < NS2_LARGEST_BACKOFF);
        if doubles {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if self.phase.is_some() && self.backoff > NS2_TRUSTED_BACKOFF {
            // The next sample then is taken as the first.
            self.srtt = 0;
        }
    }

    /// What was sent came through at the first attempt.
    pub(crate) fn end_backoff(&mut self) {
        self.backoff = 1;
    }

    /// Starts over from `timeout`, as after a lost SYN (RFC 6298, 5.7).
    pub(crate) fn restart_from(&mut self, timeout: Duration) {
        self.base = self.base.max(timeout);
        self.backoff = 1;
    }
}
