//! The contract between a scheduler and whoever owns the packets: simulator, data plane, or somebody's server.

use alloc::vec::Vec;

use dovetail_units::{Bytes, Duration, ResourceVec, Time, Weight};

use crate::spec::SpecError;

/// Names one flow of one scheduler. The id of a removed flow is reused with another generation, so a stale id is
/// refused, never mistaken for a newer flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl FlowId {
    /// For schedulers outside this crate: the flow at a dense index, and how many flows had the index before it.
    pub const fn new(index: u32, generation: u32) -> Self {
        Self { index, generation }
    }

    /// Dense index from 0 in the order of set-up, for tables beside the scheduler.
    #[inline]
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// The most that may wait in one flow's queue. `None` is no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limit {
    /// Packets waiting.
    pub packets: Option<u32>,
    /// Bytes waiting.
    pub bytes: Option<Bytes>,
    /// Processing time waiting.
    pub time: Option<TimeLimit>,
}

/// A limit of the estimated processing time that waits in one flow's queue, with hysteresis (CBCS paper, section 2.2):
/// the packet that brings it above `upper` is the last one admitted until it is below `lower`, or no packet waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeLimit {
    /// On which resource, counted from 0 along the pipeline; on one that is not there no time waits.
    pub resource: usize,
    /// Above this much the queue closes (c_t^UL).
    pub upper: Duration,
    /// Below this much it opens again (c_t^LL). If that is above `upper`, the queue opens as soon as it is not above
    /// `upper`.
    pub lower: Duration,
}

/// What is set up for a flow of `M` resources.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowConfig<const M: usize> {
    /// The flow's weight: its fair share is proportional to it.
    pub weight: Weight,
    /// Its weights on the resources one by one, where they differ. [`Entry::weights`](crate::catalog::Entry::weights)
    /// says what a discipline makes of them: those that keep one weight for all resources look at `weight` only.
    /// `None` is `weight` on every resource.
    pub weight_on: Option<[Weight; M]>,
    /// The limit of the flow's queue; packets beyond it are refused.
    pub limit: Limit,
}

impl<const M: usize> FlowConfig<M> {
    /// The weight on every resource.
    pub fn weights(&self) -> [Weight; M] {
        self.weight_on.unwrap_or([self.weight; M])
    }
}

/// The longest processing time that is told apart from longer ones: some 18 minutes. No clock of a discipline can
/// overflow by it.
pub const LONGEST_TIME: Duration = Duration::from_nanos(1 << 40);

/// A packet on its way into the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<const M: usize, P> {
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Its length in bytes.
    pub size: u32,
    /// Its estimated processing time on every resource, divided by the number of the resource's parallel servers. More
    /// than [`LONGEST_TIME`] counts as that. No time on the first of several resources says that the packet needs
    /// no processing there, for certain, and may [`bypass`](Scheduler::bypass) it: where something is merely not
    /// known yet, estimate a nanosecond.
    pub cost: ResourceVec<M>,
    /// The caller's own: a frame, an index, a request.
    pub payload: P,
}

/// Why a packet was not admitted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DropReason {
    /// The flow's queue holds as many packets as it may.
    QueuePackets,
    /// The flow's queue has no room for this many bytes.
    QueueBytes,
    /// There is no such flow.
    UnknownFlow,
    /// More processing time waits, or waited and has not shrunk enough since, than may.
    QueueTime,
}

impl DropReason {
    /// Every reason, in the order of the books.
    pub const ALL: [Self; 4] = [Self::QueuePackets, Self::QueueBytes, Self::UnknownFlow, Self::QueueTime];

    /// The reason's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueuePackets => "queue-packets",
            Self::QueueBytes => "queue-bytes",
            Self::UnknownFlow => "unknown-flow",
            Self::QueueTime => "queue-time",
        }
    }
}

/// The reason, in reports, of a packet that a scheduler dropped from the head of its queue ([`Next::Drop`]).
pub const DROPPED_AT_HEAD: &str = "aqm-head";

/// A packet that was not admitted comes back with the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused<P> {
    /// Why.
    pub reason: DropReason,
    /// The caller's own, unchanged.
    pub payload: P,
}

/// There is no flow of this id (any more).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownFlow;

/// Names a packet that was handed out, for [`Scheduler::progress`]. Self-contained: a scheduler keeps no record of it,
/// so a ticket that never comes back costs no memory. A discipline that counts packets in the pipeline goes on counting
/// it, though: report every packet's end on the last resource, or that it was abandoned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket<const M: usize> {
    pub(crate) flow: FlowId,
    pub(crate) charged: ResourceVec<M>,
    /// The discipline's tags for the packet, and the epoch that they count from.
    pub(crate) tags: [u64; M],
    pub(crate) epoch: u32,
    /// The latest [`stage`](Self::stage) reported.
    pub(crate) reached: u32,
}

impl<const M: usize> Ticket<M> {
    /// For schedulers outside this crate: a ticket that notes any `tags`.
    pub const fn new(flow: FlowId, charged: ResourceVec<M>, tags: [u64; M]) -> Self {
        Self { flow, charged, tags, epoch: 0, reached: 0 }
    }

    /// How far a packet is of which this is reported on one of the resources: grows along the pipeline, 0 is handed
    /// out, and left unfinished is beyond all.
    #[inline]
    pub(crate) fn stage(resource: usize, event: Progress) -> u32 {
        let before = 2 * resource as u32;
        match event {
            Progress::Started => before + 1,
            Progress::Finished { .. } => before + 2,
            Progress::Abandoned => u32::MAX,
        }
    }

    /// What the scheduler noted.
    pub fn tags(&self) -> [u64; M] {
        self.tags
    }

    /// The packet's flow.
    #[inline]
    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// What the flow is charged for the packet: estimates, replaced by measurements as they come in.
    #[inline]
    pub fn charged(&self) -> ResourceVec<M> {
        self.charged
    }
}

/// A packet to put into the first resource now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Served<const M: usize, P> {
    /// Names it in [`Scheduler::progress`].
    pub ticket: Ticket<M>,
    /// Its length in bytes.
    pub size: u32,
    /// The caller's own.
    pub payload: P,
}

/// The answer to "what now?".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next<const M: usize, P> {
    /// Put this packet into the first resource now.
    Serve(Served<M, P>),
    /// The first packet of this flow is dropped now, since it waited for too long or too many wait: here it is. Ask
    /// again. Only disciplines that manage their queues give this answer.
    Drop {
        /// Its flow.
        flow: FlowId,
        /// Its length in bytes.
        size: u32,
        /// The caller's own.
        payload: P,
    },
    /// Packets wait, but none may start before this instant, which is later than `now`.
    At(Time),
    /// Packets wait, but none may start before some packet in the pipeline makes progress.
    AwaitProgress,
    /// No packet waits.
    Empty,
}

/// What happened to a packet that was handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Processing began on the resource.
    Started,
    /// Processing ended on the resource, having taken `used` (divided by its number of servers).
    Finished {
        /// The measured processing time. More than [`LONGEST_TIME`] counts as that.
        used: Duration,
    },
    /// The packet left the pipeline unfinished (dropped in a buffer before the resource).
    Abandoned,
}

/// The books. At every moment: `offered = admitted + refused` and `admitted = served + dropped + queued`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Packets that [`Scheduler::enqueue`] was called with.
    pub offered: u64,
    /// Of these, put into a queue.
    pub admitted: u64,
    /// Of these, given back, by [`DropReason`] in the order of [`DropReason::ALL`].
    pub refused: [u64; DropReason::ALL.len()],
    /// Admitted packets that were handed out by [`Scheduler::next`].
    pub served: u64,
    /// Admitted packets that were given back later: their flow was removed, or [`Next::Drop`].
    pub dropped: u64,
    /// Admitted packets that wait now.
    pub queued: u64,
    /// Bytes of the packets that wait now.
    pub queued_bytes: u64,
}

/// A packet scheduler over `M` resources in series (resource 0 first) with payloads `P`.
///
/// The caller owns time and the resources. Whenever the first resource could take a packet, it asks
/// [`next`](Self::next); it then tells the scheduler how the packet gets on with [`progress`](Self::progress).
///
/// * `now` must not run backwards; an earlier `now` is treated as the latest one seen.
/// * What changes the answer of `next`: `enqueue`, `progress`, `set`, the passing of the instant in [`Next::At`], flow
///   set-up and tear-down. After any of these, ask again; between them the answer stays, but that a packet may be
///   dropped instead of served as time passes.
/// * Packets of one flow come out in the order in which they went in.
/// * Some disciplines (see [`catalog`](crate::catalog())) count packets in the pipeline and answer
///   [`Next::AwaitProgress`] until `progress` says that one finished on the last resource or was abandoned. Others
///   ignore `progress`.
/// * Cost per call: O(1) or O(log n) in the number of backlogged flows n, as the discipline states, amortised over
///   packets. No call blocks, waits or allocates in the steady state.
/// * Calls for many packets do what single calls in a row do, and may be mixed with them.
/// * A scheduler may move to another thread, as its packets may.
///
/// ```
/// use dovetail_sched::{FlowConfig, Next, Packet, Shape, build};
/// use dovetail_units::{ResourceVec, Time};
///
/// let mut scheduler = build::<2, &str>(&"drfq".parse().unwrap(), Shape::default()).unwrap();
/// let flow = scheduler.add_flow(FlowConfig::default());
/// let cost = ResourceVec::from_nanos([21_000, 32_000]);
/// scheduler.enqueue(Time::ZERO, Packet { flow, size: 800, cost, payload: "hello" }).unwrap();
/// match scheduler.next(Time::ZERO) {
///     Next::Serve(served) => assert_eq!(served.payload, "hello"),
///     other => panic!("{other:?}"),
/// }
/// let elsewhere = std::thread::spawn(move || scheduler.next(Time::ZERO));
/// assert_eq!(elsewhere.join().unwrap(), Next::Empty);
/// ```
pub trait Scheduler<const M: usize, P>: Send {
    /// Set up a flow.
    fn add_flow(&mut self, config: FlowConfig<M>) -> FlowId;

    /// Change a flow's weights and limit from now on. Packets beyond a lowered limit stay.
    fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<M>) -> Result<(), UnknownFlow>;

    /// Tear a flow down; the payloads of its waiting packets go to `dropped` in order.
    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(P)) -> Result<(), UnknownFlow>;

    /// Admit a packet to its flow's queue, or give its payload back with the reason.
    fn enqueue(&mut self, now: Time, packet: Packet<M, P>) -> Result<(), Refused<P>>;

    /// What to put into the first resource now.
    fn next(&mut self, now: Time) -> Next<M, P>;

    /// [`enqueue`](Self::enqueue) for all these packets, in order; none is left in `packets`. Those that are not
    /// admitted come back through `refused`.
    ///
    /// The same as single calls, but with very many flows it takes less time: what the packets of a burst need from
    /// memory comes at the same time. 8 to 32 packets are best.
    fn enqueue_many(&mut self, now: Time, packets: &mut Vec<Packet<M, P>>, refused: &mut dyn FnMut(Refused<P>)) {
        for packet in packets.drain(..) {
            if let Err(back) = self.enqueue(now, packet) {
                refused(back);
            }
        }
    }

    /// [`next`](Self::next) as often as it hands out a packet, at most `most` times; the packets are appended to
    /// `served` in order. If there are fewer, returns the answer that came instead of the next one.
    ///
    /// The same as single calls between which nothing is reported and nothing comes, but faster:
    /// [`enqueue_many`](Self::enqueue_many) says why. What reports would change does not: in a pipeline that holds few
    /// packets, ask for few.
    fn next_many(&mut self, now: Time, most: usize, served: &mut Vec<Served<M, P>>) -> Option<Next<M, P>> {
        for _ in 0..most {
            match self.next(now) {
                Next::Serve(packet) => served.push(packet),
                other => return Some(other),
            }
        }
        None
    }

    /// What may go past the first resource while that is busy: the packet that [`next`](Self::next) would hand out, if
    /// it needs nothing there (PCFQ paper, section 2.2: "packets that do not require processing can bypass the
    /// CPU"), and of a [composition](crate::composition) the first packet of any flow that needs nothing. Hand it
    /// to the next resource, in its order of arrival there.
    ///
    /// `may_pass` says of a packet that needs nothing whether there is room for it and no packet of its flow on the
    /// first resource, which it would overtake. When the answer is [`Next::AwaitProgress`], a packet that needs the
    /// first resource may still wait for it.
    ///
    /// Nothing is dropped here. Without an implementation of its own a scheduler lets nothing pass. Cost as of `next`.
    fn bypass(&mut self, _now: Time, _may_pass: &mut dyn FnMut(&P) -> bool) -> Next<M, P> {
        Next::AwaitProgress
    }

    /// Hear what became of a packet on `resource`. Charges are corrected by what was measured, and the ticket notes it.
    ///
    /// Reports of a packet go along the pipeline, starts before ends. The start on resource 0 need not be reported. A
    /// report that says no more than an earlier one of the same ticket changes nothing, whatever it measured; nor
    /// does one of a resource that is not there.
    fn progress(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress);

    /// [`progress`](Self::progress) of many packets on one resource: of each ticket the event at the same place, in
    /// order; what one of the two has more is left out. The same as single calls, but faster:
    /// [`enqueue_many`](Self::enqueue_many) says why.
    fn progress_many(&mut self, now: Time, tickets: &mut [Ticket<M>], resource: usize, events: &[Progress]) {
        for (ticket, &event) in tickets.iter_mut().zip(events) {
            self.progress(now, ticket, resource, event);
        }
    }

    /// Change a parameter while running, by the name and in the form it has in a [`Spec`](crate::Spec).
    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError>;

    /// The books of the whole scheduler.
    fn stats(&self) -> Stats;

    /// Packets of this flow that wait; 0 for an unknown flow.
    fn queued(&self, flow: FlowId) -> u32;
}
