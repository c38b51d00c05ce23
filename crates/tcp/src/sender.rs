//! The sending end.

use dovetail_units::{Duration, Time};

use crate::config::{Config, ConfigError, Length, Rules, Variant};
use crate::cubic::Cubic;
use crate::rto::Rto;
use crate::segment::{Ack, Segment};
use crate::window::{CongestionWindow, ONE, from_fixed};

mod reaction;

/// Duplicate ACKs that mean a loss (RFC 5681, section 3.2).
const DUPLICATES: u32 = 3;
/// New segments per ACK that ns-2's NewReno allows itself during fast recovery.
const NS2_RECOVERY_BURST: u64 = 2;
/// The timeout after a lost SYN (RFC 6298, 5.7).
const AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// What a sender has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderStats {
    /// Segments sent, SYNs and retransmissions included.
    pub sent: u64,
    /// Segments whose number had been sent before.
    pub retransmitted: u64,
    /// Expirations of the retransmission timer with segments outstanding.
    pub timeouts: u64,
    /// Fast retransmits; each begins a fast recovery.
    pub fast_recoveries: u64,
    /// Reductions of the window because of an echoed mark.
    pub ecn_reductions: u64,
    /// Data segments acknowledged.
    pub acked: u64,
    /// ACKs that say nothing: older than the last one, or of segments never sent.
    pub ignored_acks: u64,
}

/// The last thing that happened to the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Action {
    /// Nothing, or fast recovery has ended.
    None,
    /// Fast recovery is under way.
    FastRetransmit,
    Timeout,
    Ecn,
}

/// A sender: takes acknowledgements and the time, gives segments.
///
/// Every call is O(1) and allocates nothing.
#[derive(Clone, Debug)]
pub struct Sender {
    config: Config,
    /// Sequence numbers in all.
    total: u64,
    /// The first that is not acknowledged.
    una: u64,
    /// The next to send in order; behind `max` after a timeout.
    next: u64,
    /// The first that was never sent.
    max: u64,
    /// Send `una` again, now.
    retransmit: bool,
    /// Segments that may still be sent in answer to the last event.
    burst: u64,
    window: CongestionWindow,
    cubic: Cubic,
    rto: Rto,
    timer: Option<Time>,
    /// The segment whose RTT is measured and when it was sent.
    timed: Option<(u64, Time)>,
    duplicates: u32,
    /// New segments sent beyond the window by limited transmit.
    limited: u64,
    action: Action,
    /// Duplicate ACKs mean a loss again when this is acknowledged (RFC 6582, section 4).
    recover: Option<u64>,
    /// An echo means a new mark again when this is acknowledged.
    reduced: Option<u64>,
    /// As `reduced`, if it was an echo that reduced the window.
    reduced_by_ecn: Option<u64>,
    /// No partial ACK has come yet in this fast recovery.
    awaits_partial: bool,
    /// Marks came while the window was at one segment.
    ecn_backoff: bool,
    cwr: bool,
    syn_lost: bool,
    /// The last segment that a timeout was for.
    timed_out: Option<u64>,
    stats: SenderStats,
}

impl Sender {
    /// A sender that has sent nothing.
    ///
    /// # Errors
    /// If a parameter is out of its range.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let data = match config.length {
            Length::Infinite => u64::MAX - 1,
            Length::Segments(n) => n,
        };
        let limit = u64::from(config.window_limit);
        let first = if config.handshake { 1 } else { u64::from(config.initial_window) };
        Ok(Self {
            config,
            total: data.saturating_add(u64::from(config.handshake)),
            una: 0,
            next: 0,
            max: 0,
            retransmit: false,
            burst: u64::MAX,
            window: CongestionWindow {
                cwnd: first * ONE,
                ssthresh: u64::from(config.initial_ssthresh).min(limit) * ONE,
                inflation: 0,
                limit,
            },
            cubic: Cubic::default(),
            rto: Rto::new(&config),
            timer: None,
            timed: None,
            duplicates: 0,
            limited: 0,
            action: Action::None,
            recover: None,
            reduced: None,
            reduced_by_ecn: None,
            awaits_partial: false,
            ecn_backoff: false,
            cwr: false,
            syn_lost: false,
            timed_out: None,
            stats: SenderStats::default(),
        })
    }

    /// The next segment to send at `now`, if any. Call until `None` after every other call, at the same instant.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if self.retransmit {
            self.retransmit = false;
            return Some(self.emit(now, self.una));
        }
        if self.burst == 0 || self.next >= self.total || self.next >= self.una.saturating_add(self.allowed()) {
            return None;
        }
        if self.next >= self.una.saturating_add(self.window.segments()) {
            self.limited += 1;
        }
        self.burst -= 1;
        let seq = self.next;
        self.next += 1;
        Some(self.emit(now, seq))
    }

    /// Takes an acknowledgement that arrived at `now`.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: Ack) {
        if ack.next < self.una || ack.next > self.max {
            self.stats.ignored_acks += 1;
            return;
        }
        let echo = ack.ece && self.config.ecn;
        if echo {
            self.on_echo(ack.next);
        }
        if ack.next > self.una {
            if self.action == Action::FastRetransmit && self.repairs_windows() && Some(ack.next) < self.recover {
                self.on_partial_ack(now, ack.next);
            } else {
                self.on_new_ack(now, ack.next, echo);
            }
        } else if self.outstanding() > 0 {
            self.on_duplicate(now);
        }
        let restrained = self.is_ns2() && self.config.variant == Variant::NewReno && self.duplicates >= DUPLICATES;
        self.burst = if restrained { NS2_RECOVERY_BURST } else { u64::MAX };
    }

    /// When [`on_timer`](Self::on_timer) is due; there is a time whenever segments are outstanding.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        self.timer
    }

    /// The time is `now`: a timeout, if the timer has expired.
    pub fn on_timer(&mut self, now: Time) {
        if self.timer.is_none_or(|due| now < due) {
            return;
        }
        self.window.inflation = 0;
        let idle = self.outstanding() == 0;
        if idle {
            // A mark left less than one segment per round trip (RFC 3168, 6.1.2): the time for the next one has come.
            self.timer = None;
        } else {
            self.stats.timeouts += 1;
            self.lower_threshold_on_timeout();
            self.rto.back_off();
            self.timer = Some(now + self.rto.timeout());
            self.syn_lost |= self.config.handshake && self.una == 0;
            self.timed_out = Some(self.una);
        }
        self.window.cwnd = ONE;
        self.next = self.una;
        self.retransmit = false;
        self.timed = None;
        self.duplicates = 0;
        self.limited = 0;
        self.recover = Some(self.max);
        self.reduced = Some(self.max);
        self.action = Action::Timeout;
        self.cwr = self.config.ecn;
        self.burst = u64::MAX;
    }

    /// Everything is acknowledged: a short flow has come to its end.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.una >= self.total
    }

    /// Segments sent and not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.max - self.una
    }

    /// The congestion window in units of 1 / [`ONE`] segments, without the inflation of fast recovery.
    pub fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    /// The congestion window in segments, for reports.
    pub fn cwnd_packets(&self) -> f64 {
        from_fixed(self.window.cwnd)
    }

    /// The slow-start threshold in units of 1 / [`ONE`] segments.
    pub fn ssthresh(&self) -> u64 {
        self.window.ssthresh
    }

    /// Segments that may be outstanding now: the window, inflated in fast recovery, one or two more by limited
    /// transmit.
    #[inline]
    pub fn allowed(&self) -> u64 {
        let limited = if self.duplicates < DUPLICATES { u64::from(self.duplicates) } else { 0 };
        (self.window.segments() + limited).min(self.window.limit)
    }

    /// The smoothed RTT; none before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.rto.srtt()
    }

    /// The timeout that a timer started now would have.
    pub fn rto(&self) -> Duration {
        self.rto.timeout()
    }

    /// Fast recovery is under way.
    pub fn is_recovering(&self) -> bool {
        self.action == Action::FastRetransmit
    }

    /// What it has done.
    pub fn stats(&self) -> SenderStats {
        self.stats
    }

    /// How it was set up.
    pub fn config(&self) -> &Config {
        &self.config
    }

    #[inline]
    fn is_ns2(&self) -> bool {
        matches!(self.config.rules, Rules::Ns2 { .. })
    }

    /// Fast recovery lasts over partial ACKs.
    #[inline]
    fn repairs_windows(&self) -> bool {
        self.config.variant != Variant::Reno
    }

    #[inline]
    fn emit(&mut self, now: Time, seq: u64) -> Segment {
        let fresh = seq >= self.max;
        let syn = self.config.handshake && seq == 0;
        if self.timer.is_none() {
            self.timer = Some(now + self.rto.timeout());
        }
        self.stats.sent += 1;
        if fresh {
            self.max = seq + 1;
            self.timed = self.timed.or(Some((seq, now)));
        } else {
            self.stats.retransmitted += 1;
        }
        // RFC 3168, 6.1.5: a retransmission must not be marked, and tells of no reduction.
        let capable = self.config.ecn && !syn && (fresh || self.is_ns2());
        let cwr = capable && self.cwr;
        self.cwr &= !cwr;
        Segment { seq, syn, retransmission: !fresh, ect: capable, ce: false, cwr }
    }

    #[inline]
    fn on_new_ack(&mut self, now: Time, next: u64, echo: bool) {
        let recovered = self.action == Action::FastRetransmit;
        if recovered {
            self.action = Action::None;
        }
        self.window.inflation = 0;
        self.duplicates = 0;
        self.limited = 0;
        self.retransmit = false;
        let acked = self.accept(next);
        self.sample(now, echo);
        self.restart_timer(now);
        if self.config.handshake && next == acked {
            self.begin_data();
        } else if recovered && !self.is_ns2() {
            self.window.cwnd = self.window_after_recovery();
        } else if !echo {
            self.open(now, acked);
        }
        self.ecn_backoff &= echo;
    }

    /// Moves the first unacknowledged segment to `next`.
    #[inline]
    fn accept(&mut self, next: u64) -> u64 {
        let acked = next - self.una;
        let syn = u64::from(self.config.handshake && self.una == 0);
        self.stats.acked += acked - syn;
        self.una = next;
        self.next = self.next.max(next);
        acked
    }

    #[inline]
    fn sample(&mut self, now: Time, echo: bool) {
        let Some((seq, sent)) = self.timed.filter(|(seq, _)| *seq < self.una) else { return };
        debug_assert!(seq < self.max);
        self.timed = None;
        self.rto.sample(sent, now);
        if !(self.ecn_backoff && echo) {
            self.rto.end_backoff();
        }
    }

    /// RFC 6298, 5.2 and 5.3; and the timer is what sends the next segment when the window is below one.
    #[inline]
    fn restart_timer(&mut self, now: Time) {
        let waits = self.window.cwnd < ONE && self.una < self.total;
        self.timer = (self.outstanding() > 0 || waits).then(|| now + self.rto.timeout());
    }

    /// The SYN is acknowledged.
    fn begin_data(&mut self) {
        // RFC 5681, section 3.1: after a lost SYN the initial window is one segment.
        self.window.cwnd = if self.syn_lost { ONE } else { u64::from(self.config.initial_window) * ONE };
        if self.syn_lost && !self.is_ns2() {
            self.rto.restart_from(AFTER_LOST_SYN);
        }
    }

    /// Deflation at the end of fast recovery: RFC 5681, section 3.2 step 6; RFC 6582, section 3.2 step 3, option 1.
    fn window_after_recovery(&self) -> u64 {
        let ssthresh = self.window.ssthresh;
        if self.config.variant == Variant::Reno {
            return ssthresh;
        }
        ssthresh.min((self.outstanding().max(1) + 1).saturating_mul(ONE))
    }

    #[inline]
    fn open(&mut self, now: Time, acked: u64) {
        if self.window.is_slow_start() {
            self.window.open_exponentially();
        } else if self.config.variant == Variant::Cubic {
            let rtt = self.rto.srtt().unwrap_or(Duration::ZERO);
            self.window.cwnd = self.cubic.opened(now, rtt, acked, self.window.cwnd);
        } else {
            self.window.open_linearly();
        }
        if !self.is_ns2() {
            self.window.cwnd = self.window.cwnd.min(self.window.limit * ONE);
        }
    }

    fn on_partial_ack(&mut self, now: Time, next: u64) {
        let acked = self.accept(next);
        if self.timed.is_some_and(|(seq, _)| seq < next) {
            // It waited for the hole before it: no sample.
            self.timed = None;
            if self.is_ns2() {
                self.rto.end_backoff();
            }
        }
        // Only the first one restarts the timer: a window with many holes is better sent again from its start (RFC
        // 6582, 3.2).
        if self.awaits_partial {
            self.awaits_partial = false;
            self.timer = Some(now + self.rto.timeout());
        }
        self.window.deflate(acked);
        self.retransmit = true;
    }
}
