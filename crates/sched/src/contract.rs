//! The contract between a scheduler and whoever owns the packets: simulator, data plane, or somebody's server.

use alloc::vec::Vec;

use dovetail_units::{Bytes, Duration, Part, ResourceVec, Time, Weight};

use crate::note::{Note, Words};
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

    /// How many flows had the index before.
    #[inline]
    pub fn generation(self) -> u32 {
        self.generation
    }
}

/// The most that may wait in one flow's queue. `None` means no limit.
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
    /// On which resource, counted from 0 along the pipeline. A resource that does not exist never limits.
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
    /// Its weight on each resource, if these differ; `None` means `weight` on every resource.
    /// [`Entry::weights`](crate::catalog::Entry::weights) says how a discipline uses them: those that keep one weight
    /// for all resources look only at `weight`.
    pub weight_on: Option<[Weight; M]>,
    /// Which part of its fair share the flow is guaranteed, instead of what the discipline guarantees to all:
    /// [`tradeoff`](crate::tradeoff) with its `alpha`. No other discipline looks at it.
    pub alpha: Option<Part>,
    /// The number of its class, if it has one, for parameters that name a class: `protect` of
    /// [`tradeoff`](crate::tradeoff). No other discipline looks at it.
    pub class: Option<u16>,
    /// The limit of the flow's queue; packets beyond it are refused.
    pub limit: Limit,
}

impl<const M: usize> FlowConfig<M> {
    /// The weight on every resource.
    pub fn weights(&self) -> [Weight; M] {
        self.weight_on.unwrap_or([self.weight; M])
    }
}

/// The longest processing time that is told apart from longer ones: about 18 minutes. It cannot overflow the clock of
/// any discipline.
pub const LONGEST_TIME: Duration = Duration::from_nanos(1 << 40);

/// A packet on its way into the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<const M: usize, P> {
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Its length in bytes.
    pub size: u32,
    /// Its estimated processing time on every resource, divided by the number of the resource's parallel servers. A
    /// longer time than [`LONGEST_TIME`] counts as that. Zero on the first of several resources means that the packet
    /// certainly needs no processing there and may [`bypass`](Scheduler::bypass) it. If the time is merely unknown,
    /// estimate a nanosecond.
    pub cost: ResourceVec<M>,
    /// The caller's own data: a frame, an index, a request.
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
    /// Too much processing time waits, or waited and has not shrunk enough since.
    QueueTime,
}

impl DropReason {
    /// Every reason, in the order of [`Stats::refused`].
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

/// A packet that was not admitted, with the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused<P> {
    /// Why.
    pub reason: DropReason,
    /// The caller's own data, unchanged.
    pub payload: P,
}

/// There is no flow with this id, or no longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownFlow;

/// Names a packet that was handed out, for [`Scheduler::progress`]. Self-contained: a scheduler keeps no record of it,
/// so a ticket that never comes back costs no memory. A discipline that counts packets in the pipeline goes on counting
/// it, though: report every packet's end on the last resource, or that it was abandoned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket<const M: usize> {
    pub(crate) flow: FlowId,
    pub(crate) charged: ResourceVec<M>,
    /// What the scheduler [noted](Note): its [`Words`], of which the last stands where it fills a word.
    tags: [u64; M],
    rest: u32,
    /// The latest [`stage`](Self::stage) reported.
    pub(crate) reached: u32,
}

impl<const M: usize> Ticket<M> {
    /// For schedulers outside this crate: a ticket with any `tags`.
    pub const fn new(flow: FlowId, charged: ResourceVec<M>, tags: [u64; M]) -> Self {
        Self { flow, charged, tags, rest: 0, reached: 0 }
    }

    /// Of a packet that is handed out.
    #[inline]
    pub(crate) fn noting(flow: FlowId, charged: ResourceVec<M>, note: Words<M>) -> Self {
        Self { flow, charged, tags: note.by_resource, rest: note.rest, reached: 0 }
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

    /// The resource that the packet is on or waits for: the one after the last that is known to be through with it.
    pub(crate) fn at(&self) -> usize {
        (self.reached / 2) as usize
    }

    /// Whether the packet's end on the last resource was reported, or that it was abandoned.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.reached >= 2 * M as u32
    }

    /// What the scheduler noted.
    pub fn tags(&self) -> [u64; M] {
        self.tags
    }

    /// What the discipline noted when it served the packet.
    #[inline]
    pub fn note<N: Note<M>>(&self) -> N {
        N::read(Words { by_resource: self.tags, rest: self.rest })
    }

    /// Note something else.
    #[inline]
    pub(crate) fn note_anew(&mut self, note: Words<M>) {
        (self.tags, self.rest) = (note.by_resource, note.rest);
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

    /// The same with what the packet took on one resource.
    #[inline]
    pub fn charged_with(&self, Took { resource, used }: Took) -> ResourceVec<M> {
        // In registers: a write to a place that is not known, and reading back, would wait for memory.
        ResourceVec(core::array::from_fn(|r| if r == resource { used } else { self.charged[r] }))
    }
}

/// What a packet took on one resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Took {
    /// Counted from 0 along the pipeline.
    pub resource: usize,
    /// The measured processing time, at most [`LONGEST_TIME`].
    pub used: Duration,
}

/// A packet to put into the first resource now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Served<const M: usize, P> {
    /// Names it in [`Scheduler::progress`].
    pub ticket: Ticket<M>,
    /// Its length in bytes.
    pub size: u32,
    /// The caller's own data.
    pub payload: P,
}

/// The answer to "what now?".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next<const M: usize, P> {
    /// Put this packet into the first resource now.
    Serve(Served<M, P>),
    /// The first packet of this flow is dropped now, because it has waited for too long or too many wait. Here it is;
    /// ask again. Only disciplines that manage their queues give this answer.
    Drop {
        /// Its flow.
        flow: FlowId,
        /// Its length in bytes.
        size: u32,
        /// The caller's own data.
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
    /// Processing on the resource ended after `used` (divided by its number of servers).
    Finished {
        /// The measured processing time. A longer time than [`LONGEST_TIME`] counts as that.
        used: Duration,
    },
    /// The packet left the pipeline unfinished (dropped in a buffer before the resource).
    Abandoned,
}

/// Counts of packets. At every moment: `offered = admitted + refused` and `admitted = served + dropped + queued`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Packets that [`Scheduler::enqueue`] was called with.
    pub offered: u64,
    /// Of these, put into a queue.
    pub admitted: u64,
    /// Of these, refused, by [`DropReason`] in the order of [`DropReason::ALL`].
    pub refused: [u64; DropReason::ALL.len()],
    /// Admitted packets that were handed out by [`Scheduler::next`].
    pub served: u64,
    /// Admitted packets that were given back later: their flow was removed, or [`Next::Drop`].
    pub dropped: u64,
    /// Admitted packets that are waiting now.
    pub queued: u64,
    /// Bytes of the packets that are waiting now.
    pub queued_bytes: u64,
}

/// What an alpha that adjusts itself has come to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Steering {
    /// The alpha that holds now.
    pub alpha: f64,
    /// What is wanted, and what there is of it.
    pub seen: Seen,
    /// Whether what is wanted cannot be had: alpha is as low as it may be, and it is missed by more than 2 points. What
    /// was seen is then the nearest to it.
    pub is_out_of_reach: bool,
}

/// What an alpha adjusts itself for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Seen {
    /// The use of a resource, by the last period in which packets waited.
    Use {
        /// The resource that the target names, or else the one that was used least, counted along the pipeline from 0.
        resource: usize,
        /// Its use, 0 to 1; 1 before the first such period.
        used: f64,
    },
    /// The latency of a class, by its last few hundred packets.
    Latency {
        /// The number of the class.
        class: u16,
        /// The part of its packets that came too late, 0 to 1.
        late: f64,
        /// About its 99th percentile; the wanted one before the first packet.
        p99: Duration,
    },
}

/// A packet scheduler over `M` resources in series (resource 0 first) with payloads `P`.
///
/// The caller owns time and the resources. Whenever the first resource could take a packet, it asks
/// [`next`](Self::next). With [`progress`](Self::progress) it then reports what becomes of the packet.
///
/// * `now` must not run backwards; an earlier `now` is treated as the latest one seen.
/// * The answer of `next` can change by `enqueue`, `progress`, `set`, when the instant in [`Next::At`] has passed, and
///   when flows are set up or torn down. After any of these, ask again. Otherwise the answer stays the same, except
///   that a packet may be dropped instead of served as time passes.
/// * Packets of one flow come out in the order in which they went in.
/// * Some disciplines (see [`catalog`](crate::catalog())) count packets in the pipeline. They answer
///   [`Next::AwaitProgress`] until `progress` reports that one has finished on the last resource or was abandoned.
/// * Cost per call: O(1) or O(log n) in the number of backlogged flows n, as the discipline states, amortised over
///   packets. No call blocks, waits or allocates in the steady state.
/// * Calls for many packets do the same as single calls one after another, and may be mixed with them.
/// * A scheduler may move to another thread if its packets may.
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

    /// Change a flow's weights, alpha and limit from now on. Packets beyond a lowered limit stay.
    fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<M>) -> Result<(), UnknownFlow>;

    /// Tear a flow down; the payloads of its waiting packets go to `dropped` in order. Go on reporting
    /// [`progress`](Self::progress) of those that were handed out.
    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(P)) -> Result<(), UnknownFlow>;

    /// Admit a packet to its flow's queue, or give its payload back with the reason.
    fn enqueue(&mut self, now: Time, packet: Packet<M, P>) -> Result<(), Refused<P>>;

    /// What to put into the first resource now.
    fn next(&mut self, now: Time) -> Next<M, P>;

    /// [`enqueue`](Self::enqueue) for all these packets, in order, which empties `packets`. Those that are not admitted
    /// come back through `refused`.
    ///
    /// The result is that of single calls, but with very many flows it takes less time, because what the packets of a
    /// burst need is fetched from memory at the same time. 8 to 32 packets are best.
    fn enqueue_many(&mut self, now: Time, packets: &mut Vec<Packet<M, P>>, refused: &mut dyn FnMut(Refused<P>)) {
        for packet in packets.drain(..) {
            if let Err(back) = self.enqueue(now, packet) {
                refused(back);
            }
        }
    }

    /// [`next`](Self::next) as long as it hands out packets, at most `most` times. The packets are appended to `served`
    /// in order. If there are fewer, returns the answer that came instead of a packet.
    ///
    /// The result is that of single calls between which nothing is reported or enqueued, but faster, as with
    /// [`enqueue_many`](Self::enqueue_many). Reports about the first packets cannot influence the choice of later ones,
    /// so ask for few if the pipeline holds few.
    fn next_many(&mut self, now: Time, most: usize, served: &mut Vec<Served<M, P>>) -> Option<Next<M, P>> {
        for _ in 0..most {
            match self.next(now) {
                Next::Serve(packet) => served.push(packet),
                other => return Some(other),
            }
        }
        None
    }

    /// The packet that may pass the first resource while that is busy (PCFQ paper, section 2.2: "packets that do not
    /// require processing can bypass the CPU"). It is the packet that [`next`](Self::next) would hand out, if that
    /// needs nothing on the first resource; in a [composition](crate::composition) it is the first packet of any flow
    /// that needs nothing there. Hand it to the next resource, in the order of arrival there.
    ///
    /// `may_pass` says whether such a packet may go: whether there is room for it, and no packet of its flow is on the
    /// first resource, which it would overtake. When the answer is [`Next::AwaitProgress`], a packet that needs the
    /// first resource may still be waiting for it.
    ///
    /// Nothing is dropped here. The default implementation lets nothing pass. A call costs as much as `next`.
    fn bypass(&mut self, _now: Time, _may_pass: &mut dyn FnMut(&P) -> bool) -> Next<M, P> {
        Next::AwaitProgress
    }

    /// Whether a packet waits that needs nothing on the first of several resources: if not, there is no need to ask
    /// [`bypass`](Self::bypass). O(1).
    fn any_may_bypass(&self) -> bool {
        true
    }

    /// Report what became of a packet on `resource`. Measured times correct the charges, and the ticket records them.
    ///
    /// Reports about a packet must go along the pipeline, starts before ends. The start on resource 0 need not be
    /// reported. A report that repeats what the ticket already has changes nothing, even with another measurement; nor
    /// does one after the packet's end, or about a resource that does not exist.
    fn progress(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress);

    /// [`progress`](Self::progress) for many packets on one resource: to each ticket belongs the event at the same
    /// place. If one list is longer, its rest is ignored. The result is that of single calls, but faster, as with
    /// [`enqueue_many`](Self::enqueue_many).
    fn progress_many(&mut self, now: Time, tickets: &mut [Ticket<M>], resource: usize, events: &[Progress]) {
        for (ticket, &event) in tickets.iter_mut().zip(events) {
            self.progress(now, ticket, resource, event);
        }
    }

    /// A packet of this flow has left the last resource, so long after it came. Only a discipline that steers by
    /// latency ([`tradeoff`](crate::tradeoff) with `protect`) looks at it; without these calls it sees no latency. A
    /// live box calls this only while [`steering`](Self::steering) says something. O(1).
    fn left(&mut self, _now: Time, _flow: FlowId, _stayed: Duration) {}

    /// Change a parameter while running, by the name and in the form it has in a [`Spec`](crate::Spec): one that is
    /// [`settable`](crate::catalog::Parameter::settable).
    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError>;

    /// Counts of packets, of all flows together.
    fn stats(&self) -> Stats;

    /// How many packets of this flow wait; 0 for an unknown flow.
    fn queued(&self, flow: FlowId) -> u32;

    /// What a parameter that adjusts itself has come to; `None` if none does.
    fn steering(&self) -> Option<Steering> {
        None
    }
}
