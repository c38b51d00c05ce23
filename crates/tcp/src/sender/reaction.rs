//! How a sender reacts to signs of congestion: duplicate ACKs, echoed marks, timeouts.

use dovetail_units::Time;

use super::{Action, DUPLICATES, Sender};
use crate::config::Variant;
use crate::cubic::Cubic;
use crate::window::ONE;

/// The least slow-start threshold (RFC 5681, equation 4).
const LEAST_SSTHRESH: u64 = 2 * ONE;

/// What the third duplicate ACK leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Response {
    Ignore,
    /// The window has been reduced for this round trip.
    Retransmit,
    ReduceAndRetransmit,
}

impl Sender {
    pub(super) fn on_duplicate(&mut self, now: Time) {
        self.duplicates = self.duplicates.saturating_add(1);
        if self.duplicates == DUPLICATES {
            let response = self.response_to_duplicates();
            if response != Response::Ignore {
                self.fast_retransmit(now, response);
            }
        } else if self.duplicates > DUPLICATES && self.action == Action::FastRetransmit {
            self.window.inflation += 1;
        }
    }

    fn response_to_duplicates(&self) -> Response {
        let covered = |mark: Option<u64>| mark.is_some_and(|mark| self.una <= mark);
        if self.is_ns2() {
            return match (covered(self.recover), self.action) {
                (false, _) => Response::ReduceAndRetransmit,
                (true, Action::Ecn) => Response::Retransmit,
                (true, _) => Response::Ignore,
            };
        }
        if covered(self.recover) {
            Response::Ignore
        } else if covered(self.reduced_by_ecn) {
            Response::Retransmit
        } else {
            Response::ReduceAndRetransmit
        }
    }

    fn fast_retransmit(&mut self, now: Time, response: Response) {
        self.stats.fast_recoveries += 1;
        if response == Response::ReduceAndRetransmit {
            self.reduce(if self.is_ns2() { 0 } else { LEAST_SSTHRESH });
            self.reduced = Some(self.max);
        }
        // RFC 5681's Reno takes a second loss in the window for a second sign of congestion.
        let reno_by_rfc = self.config.variant == Variant::Reno && !self.is_ns2();
        let same_window = self.is_ns2() && response == Response::Retransmit;
        if !(reno_by_rfc || same_window) {
            self.recover = Some(self.max);
        }
        self.action = Action::FastRetransmit;
        self.awaits_partial = true;
        self.window.inflation = u64::from(DUPLICATES);
        self.limited = 0;
        self.timed = None;
        self.retransmit = true;
        if self.is_ns2() {
            self.timer = Some(now + self.rto.timeout());
        }
    }

    /// RFC 3168, section 6.1.2: an echo reduces the window as a loss does, once per window of data.
    pub(super) fn on_echo(&mut self, next: u64) {
        let again = self.reduced.is_none_or(|reduced| next > reduced);
        let at_once = self.is_ns2() && self.action == Action::Timeout;
        if !(again || at_once) {
            return;
        }
        self.stats.ecn_reductions += 1;
        if self.window.cwnd <= ONE {
            if self.ecn_backoff {
                self.rto.back_off();
            }
            self.ecn_backoff = true;
        } else {
            self.ecn_backoff = false;
        }
        // RFC 9438, section 4.6: a mark leaves CUBIC at least one segment, unless there was only one. Of two and more
        // 0.7 are more than one.
        self.reduce(0);
        self.action = Action::Ecn;
        self.reduced = Some(self.max);
        self.reduced_by_ecn = Some(self.max);
        if self.is_ns2() {
            self.recover = Some(self.max);
        }
    }

    /// What a reduction starts from.
    ///
    /// By RFC 5681 no more than what is in flight, without what limited transmit sent (section 3.2 step 2). Nor more
    /// than the window: "in flight" counts what has arrived behind a hole, so that late in a long recovery half of
    /// it can exceed what the path holds, and the flow would run from one timeout into the next. At least one
    /// segment: below that the timer paces the flow, not the window.
    fn load(&self) -> u64 {
        if self.is_ns2() {
            self.window.fixed()
        } else {
            (self.outstanding().saturating_sub(self.limited) * ONE).min(self.window.cwnd).max(ONE)
        }
    }

    /// Reduces window and threshold after a loss or a mark, the window to no less than `least`.
    fn reduce(&mut self, least: u64) {
        let kept = self.kept();
        if self.config.variant == Variant::Cubic {
            self.cubic.on_reduction(self.window.cwnd);
        }
        self.window.ssthresh = self.kept_threshold(kept);
        self.window.cwnd = kept.max(least);
        self.window.inflation = 0;
        self.cwr = self.config.ecn;
    }

    /// RFC 5681, section 3.1: half of what is in flight, once per lost segment; not if a mark has just lowered it (RFC
    /// 3168, 6.1.2).
    pub(super) fn lower_threshold_on_timeout(&mut self) {
        let lowered = if self.is_ns2() {
            self.action == Action::Ecn
        } else {
            self.timed_out == Some(self.una) || self.reduced_by_ecn.is_some_and(|mark| self.una <= mark)
        };
        if self.config.variant == Variant::Cubic {
            self.cubic.on_timeout((!lowered).then_some(self.window.cwnd));
        }
        if !lowered {
            self.window.ssthresh = self.kept_threshold(self.kept());
        }
    }

    /// What a reduction leaves.
    fn kept(&self) -> u64 {
        match self.config.variant {
            Variant::Cubic => Cubic::reduced(self.load()),
            Variant::Reno | Variant::NewReno => self.load() / 2,
        }
    }

    fn kept_threshold(&self, kept: u64) -> u64 {
        let kept = if self.is_ns2() { kept / ONE * ONE } else { kept };
        kept.max(LEAST_SSTHRESH)
    }
}
