//! Active queue management: what to do with a packet that comes to a queue, whatever schedules the queue.
//!
//! An [`Aqm`] does not hold packets: the caller owns the queue, tells what waits in it, and does as the [`Verdict`]
//! says. [`ManagedQueue`] is such a caller: a queue in order of arrival, in the simulator and in a live box.
//!
//! * [`red`]: Random Early Detection, by the paper or as in ns-2.
//! * [`drq`]: Dual-Resource Queue: marks so that TCP shares CPU and link proportionally fairly.
//! * [`setting`]: what the two have in common.
//! * [`queue`]: packets in order of arrival under one of the two.
//! * [`congestion`]: DRQ's three states and how packets carry them.
//! * [`scheme`]: both by name, and what may stand beside them: `red+red`, `drr+red`, `drq`.
//! * [`average`], [`curve`], [`density`], [`fraction`]: the parts, in fixed point.
//!
//! Sans-I/O: time and randomness are arguments. Nothing here allocates after set-up.
//!
//! ```
//! use dovetail_sched::aqm::{Aqm, Arrival, Backlog, QueueConfig, Red, RedConfig, Verdict};
//! use dovetail_units::{Duration, Time};
//!
//! // A packet of 500 bytes takes 0.1 ms on the link.
//! let mut red = Red::new(RedConfig::new(QueueConfig::new(Duration::from_nanos(100_000)))).unwrap();
//! let empty = Backlog { packets: 0, bytes: 0 };
//! let packet = Arrival { size: 500, ecn_capable: true, ..Arrival::default() };
//! assert_eq!(red.arrival(Time::ZERO, &packet, empty, 0x1234_5678_9abc_def0), Verdict::Enqueue);
//! red.departure(Time::from_nanos(100_000), empty);
//! ```

pub mod average;
pub mod congestion;
pub mod curve;
pub mod density;
pub mod drq;
pub mod fraction;
pub mod queue;
pub mod red;
pub mod scheme;
pub mod setting;

use core::fmt;

use dovetail_units::{Duration, Time};

pub use average::{AfterIdle, AverageQueue};
pub use congestion::{Congestion, Encoding, Reading, advance};
pub use curve::RedCurve;
pub use density::{Affine, Densities};
pub use drq::{Drq, Marking};
pub use fraction::Fraction;
pub use queue::{ManagedQueue, Manager};
pub use red::{Red, RedConfig, Rules};
pub use scheme::{InFront, Scheme};
pub use setting::QueueConfig;

/// What waits in a queue, without the packet being served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Packets.
    pub packets: u32,
    /// Bytes.
    pub bytes: u64,
}

/// A packet that comes to a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// Its length in bytes.
    pub size: u32,
    /// Whether its sender understands marks. Otherwise what would be marked is dropped.
    pub ecn_capable: bool,
    /// What earlier resources noted in it.
    pub congestion: Congestion,
    /// The application class, for processing densities (assumption A1 of DRQ). RED ignores it.
    pub class: u32,
}

/// What to do with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Put it into the queue as it is.
    Enqueue,
    /// Put it into the queue in this state.
    EnqueueMarked(Congestion),
    /// Drop it.
    Drop(AqmDrop),
}

/// Why a packet is dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AqmDrop {
    /// By chance, in place of a mark, since the sender or the configuration knows no ECN.
    Early,
    /// The average queue is where everything is dropped.
    Overload,
    /// The queue is full.
    Full,
}

impl AqmDrop {
    /// Every reason.
    pub const ALL: [Self; 3] = [Self::Early, Self::Overload, Self::Full];

    /// The reason's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Early => "aqm-early",
            Self::Overload => "aqm-overload",
            Self::Full => "aqm-full",
        }
    }
}

/// An active queue manager of one queue before one resource. O(1) per call (after idling O(log of the idle time)).
pub trait Aqm {
    /// A packet comes, when `waiting` is what waits before it. `random` is uniform over all `u64` and fresh for each
    /// call.
    ///
    /// A `now` earlier than one seen before counts as that.
    fn arrival(&mut self, now: Time, packet: &Arrival, waiting: Backlog, random: u64) -> Verdict;

    /// The resource has finished a packet, when `waiting` is what waits and can be served next. If that is nothing, the
    /// resource is idle until the next arrival.
    fn departure(&mut self, now: Time, waiting: Backlog);

    /// The resource has become faster or slower: how long a packet of mean size takes on it from now on.
    ///
    /// # Errors
    /// A time of 0. Nothing is changed then.
    fn set_packet(&mut self, packet: Duration) -> Result<(), AqmError>;
}

/// In what queues are measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Packets; every packet has the same chance.
    Packets,
    /// Bytes; a packet's chance is proportional to its size.
    Bytes {
        /// The packet size to which probabilities refer, in bytes, above 0.
        mean: u32,
    },
}

impl Unit {
    /// How much waits.
    pub(crate) fn of(self, waiting: Backlog) -> u64 {
        match self {
            Self::Packets => u64::from(waiting.packets),
            Self::Bytes { .. } => waiting.bytes,
        }
    }

    /// So many packets of mean size; at most `u32::MAX`.
    pub fn packets(self, packets: u32) -> u32 {
        match self {
            Self::Packets => packets,
            Self::Bytes { mean } => packets.saturating_mul(mean),
        }
    }

    pub(crate) fn check(self) -> Result<Self, AqmError> {
        match self {
            Self::Bytes { mean: 0 } => Err(AqmError { what: "mean packet size", expected: "at least 1 byte" }),
            unit => Ok(unit),
        }
    }
}

/// A configuration that makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AqmError {
    /// The parameter.
    pub what: &'static str,
    /// What it must be.
    pub expected: &'static str,
}

impl fmt::Display for AqmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is wrong, expected {}", self.what, self.expected)
    }
}

impl core::error::Error for AqmError {}
