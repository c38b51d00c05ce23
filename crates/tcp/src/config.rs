//! How a sender is set up.

use core::fmt;

use dovetail_units::Duration;

/// What reacts to acknowledgements and losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Variant {
    /// Fast recovery ends with the first new ACK (RFC 5681).
    Reno,
    /// Fast recovery lasts until everything sent before it is acknowledged (RFC 6582).
    #[default]
    NewReno,
    /// The window grows along a cubic of time (RFC 9438); losses are repaired as by `NewReno`.
    Cubic,
}

/// Whose word counts where ns-2 (2.35, its default settings) and the RFCs differ.
///
/// | | `Rfc` | `Ns2` |
/// | --- | --- | --- |
/// | a reduction halves | what is in flight, without limited transmit | the window |
/// | `ssthresh` | as exact as the window | whole segments |
/// | fast retransmit sets the window to | at least 2 | at least 1 |
/// | second loss in a window, Reno | halves again | waits for the timer until that window is through |
/// | ACK that ends fast recovery | window: `ssthresh` (Reno), at most flight + 1 (NewReno) | opens the halved window |
/// | NewReno during recovery | sends what the window allows | at most two new segments per ACK |
/// | window during limited receiver window | does not grow beyond it | grows on |
/// | timer at fast retransmit | runs on | restarts |
/// | `ssthresh` at repeated timeouts | kept | 2 |
/// | RTT | exact | in ticks of a clock that started at a random phase |
/// | first timeout | 1 s (3 s after a lost SYN) | 3 s |
/// | from the fourth backoff on | estimates are kept | the mean RTT is forgotten |
/// | backoff ends with | a new RTT sample | also a partial ACK that covers the timed segment |
/// | ECE after a timeout | once per window | at once |
/// | ECT, CWR on retransmissions | no | yes |
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rules {
    /// The RFCs named at [`Variant`], RFC 6298 and RFC 3168.
    #[default]
    Rfc,
    /// ns-2's `Agent/TCP/Reno` and `Agent/TCP/Newreno`; there is no `Ns2` CUBIC.
    Ns2 {
        /// The phase of the sender's clock, from zero to the granularity: ns-2 draws it at random for every flow.
        clock_phase: Duration,
    },
}

/// How much there is to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Length {
    /// A long-lived flow: it never ends.
    #[default]
    Infinite,
    /// A short flow: so many data segments, at least one.
    Segments(u64),
}

/// The parameters of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The algorithm.
    pub variant: Variant,
    /// RFCs or ns-2.
    pub rules: Rules,
    /// How much there is to send.
    pub length: Length,
    /// Send ECN-capable segments and obey the echo.
    pub ecn: bool,
    /// Segment 0 is a SYN; data starts at 1, when it is acknowledged.
    pub handshake: bool,
    /// The window at the start (of data), in segments, from 1. RFC 5681: 4 for segments of up to 1,095 bytes, 3 up to
    /// 2,190, else 2.
    pub initial_window: u32,
    /// Slow start ends here at the latest, in segments, from 2; no more than `window_limit` counts.
    pub initial_ssthresh: u32,
    /// The receiver's window in segments, from 1 to 2^30.
    pub window_limit: u32,
    /// Timeout before the first RTT sample. Above zero.
    pub initial_rto: Duration,
    /// The shortest timeout, from zero.
    pub min_rto: Duration,
    /// The longest timeout, at least `min_rto` and `initial_rto`.
    pub max_rto: Duration,
    /// The clock's granularity G of RFC 6298, a tick of ns-2. Above zero.
    pub granularity: Duration,
}

/// The largest window in segments.
const LARGEST_WINDOW: u32 = 1 << 30;

impl Config {
    /// A long-lived flow as the RFCs want it: initial window 3, timeouts of 1 s to 60 s, granularity 1 ms, no ECN.
    pub const fn rfc(variant: Variant) -> Self {
        Self {
            variant,
            rules: Rules::Rfc,
            length: Length::Infinite,
            ecn: false,
            handshake: true,
            initial_window: 3,
            initial_ssthresh: LARGEST_WINDOW,
            window_limit: LARGEST_WINDOW,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
        }
    }

    /// A long-lived flow as ns-2's default: initial window 2, window limit 20, timeouts of 0.2 s to 60 s, ticks of 10
    /// ms, no ECN.
    pub const fn ns2(variant: Variant, clock_phase: Duration) -> Self {
        Self {
            rules: Rules::Ns2 { clock_phase },
            initial_window: 2,
            window_limit: 20,
            initial_rto: Duration::from_secs(3),
            min_rto: Duration::from_millis(200),
            granularity: Duration::from_millis(10),
            ..Self::rfc(variant)
        }
    }

    /// Says what is wrong with these values, if anything is.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let segments = [
            ("initial_window", self.initial_window, 1),
            ("initial_ssthresh", self.initial_ssthresh, 2),
            ("window_limit", self.window_limit, 1),
        ];
        for (field, value, least) in segments {
            if !(least..=LARGEST_WINDOW).contains(&value) {
                return Err(ConfigError::Segments { field, value, least });
            }
        }
        if self.granularity == Duration::ZERO || self.initial_rto == Duration::ZERO {
            return Err(ConfigError::NoTime);
        }
        if self.max_rto < self.min_rto || self.max_rto < self.initial_rto {
            return Err(ConfigError::LongestTimeout(self.max_rto));
        }
        if self.length == Length::Segments(0) {
            return Err(ConfigError::NothingToSend);
        }
        match self.rules {
            Rules::Ns2 { .. } if self.variant == Variant::Cubic => Err(ConfigError::NoSuchVariant),
            Rules::Ns2 { clock_phase } if clock_phase >= self.granularity => Err(ConfigError::Phase(clock_phase)),
            _ => Ok(()),
        }
    }
}

impl Default for Config {
    /// A long-lived NewReno flow by the RFCs.
    fn default() -> Self {
        Self::rfc(Variant::NewReno)
    }
}

/// Why a sender cannot be set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// A number of segments out of its range.
    Segments {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
        /// The least that it may be.
        least: u32,
    },
    /// The granularity or the first timeout is zero.
    NoTime,
    /// The longest timeout is shorter than the shortest or the first one.
    LongestTimeout(Duration),
    /// A flow of no segments.
    NothingToSend,
    /// CUBIC by the rules of ns-2.
    NoSuchVariant,
    /// The phase of the clock is not below its granularity.
    Phase(Duration),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segments { field, value, least } => {
                write!(f, "{field} is {value} segments, expected {least} to {LARGEST_WINDOW}")
            }
            Self::NoTime => write!(f, "granularity and initial_rto must be longer than zero"),
            Self::LongestTimeout(max) => {
                write!(f, "max_rto is {max}, expected at least min_rto and initial_rto")
            }
            Self::NothingToSend => write!(f, "length is 0 segments, expected at least 1"),
            Self::NoSuchVariant => write!(f, "the rules of ns-2 are there for Reno and NewReno, not for CUBIC"),
            Self::Phase(phase) => write!(f, "clock_phase is {phase}, expected less than granularity"),
        }
    }
}

impl core::error::Error for ConfigError {}
