//! What crosses the border to C, by value.

use core::ffi::c_void;
use core::mem::MaybeUninit;

use dovetail_sched::{DropReason, FlowId, Limit, Next, Ticket, TimeLimit};
use dovetail_units::{Bytes, Duration, Part, ResourceVec, Weight};

/// The most resources that a pipeline may have.
pub const DOVETAIL_RESOURCES: usize = 4;

/// The size of a text that says what was wrong, in bytes, with the byte 0 at its end. Longer texts are cut off.
pub const DOVETAIL_ERROR_SIZE: usize = 512;

/// The size of a ticket, in words of 64 bits.
pub const DOVETAIL_TICKET_SIZE: usize = 10;

/// Names one flow of one scheduler. The name of a removed flow is never that of a later one.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// From 0, in the order in which flows are added; that of a removed flow is used again. For tables of your own.
    pub index: u32,
    /// How many flows had this index before.
    pub generation: u32,
}

impl From<FlowId> for Flow {
    fn from(id: FlowId) -> Self {
        Self { index: id.index() as u32, generation: id.generation() }
    }
}

impl From<Flow> for FlowId {
    fn from(flow: Flow) -> Self {
        Self::new(flow.index, flow.generation)
    }
}

/// What is set up for a flow. All zeros are the defaults: weight 1, and no limits.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowConfig {
    /// The flow's fair share is proportional to it: 0.001 to 1,000,000, to the nearest thousandth; 0 is 1.
    pub weight: f64,
    /// By resource, if weights differ. Some schedulers use them, others only `weight`. All zeros: `weight` on every
    /// resource.
    pub weight_on: [f64; DOVETAIL_RESOURCES],
    /// Which part of its fair share the flow is guaranteed by `tradeoff`: 0.001 to 1, to the nearest thousandth; 0 is
    /// the alpha of the scheduler.
    pub alpha: f64,
    /// The number of its class, from 1; 0 is none. "tradeoff:protect=1 5 ms" protects class 1, if `dovetail_left` tells
    /// how its packets fare.
    pub class_number: u16,
    /// Packets that may wait; 0 is no limit.
    pub limit_packets: u32,
    /// Bytes that may wait; 0 is no limit.
    pub limit_bytes: u64,
    /// Processing time that may wait on the resource `limit_time_on`, in nanoseconds: the packet that brings it above
    /// this is the last one admitted until it is below `limit_time_lower`. 0 is no limit.
    pub limit_time_upper: u64,
    /// In nanoseconds.
    pub limit_time_lower: u64,
    /// On which resource, counted from 0.
    pub limit_time_on: u32,
}

impl FlowConfig {
    /// For `M` resources.
    ///
    /// # Errors
    /// Names the field that is out of its range.
    pub fn read<const M: usize>(&self) -> Result<dovetail_sched::FlowConfig<M>, String> {
        let by_resource = self.weight_on[..M].iter().any(|&weight| weight != 0.0);
        let mut weight_on = [Weight::ONE; M];
        for (r, weight) in weight_on.iter_mut().enumerate() {
            *weight = read_weight(self.weight_on[r], &format!("weight_on[{r}]"))?;
        }
        let time = TimeLimit {
            resource: self.limit_time_on as usize,
            upper: Duration::from_nanos(self.limit_time_upper),
            lower: Duration::from_nanos(self.limit_time_lower),
        };
        if self.limit_time_upper > 0 && time.resource >= M {
            return Err(format!("limit_time_on {}: expected a resource from 0 to {}", time.resource, M - 1));
        }
        Ok(dovetail_sched::FlowConfig {
            weight: read_weight(self.weight, "weight")?,
            weight_on: by_resource.then_some(weight_on),
            alpha: self.read_alpha()?,
            class: Some(self.class_number).filter(|&class| class > 0),
            limit: Limit {
                packets: Some(self.limit_packets).filter(|&most| most > 0),
                bytes: Some(Bytes(self.limit_bytes)).filter(|most| most.0 > 0),
                time: Some(time).filter(|limit| limit.upper > Duration::ZERO),
            },
        })
    }

    fn read_alpha(&self) -> Result<Option<Part>, String> {
        match self.alpha {
            0.0 => Ok(None),
            alpha if (0.001..=1.0).contains(&alpha) => Ok(Part::from_milli((alpha * 1000.0).round() as u16)),
            alpha => Err(format!("alpha {alpha}: expected 0 or a number from 0.001 to 1")),
        }
    }
}

/// 0 is 1.
fn read_weight(weight: f64, field: &str) -> Result<Weight, String> {
    let milli = match weight {
        0.0 => Some(1000),
        _ => {
            Some(weight).filter(|weight| (0.001..=1e6).contains(weight)).map(|weight| (weight * 1000.0).round() as u32)
        }
    };
    milli
        .and_then(Weight::from_milli)
        .ok_or_else(|| format!("{field} {weight}: expected 0 or a number from 0.001 to 1000000"))
}

/// A packet on its way into the scheduler.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Yours: a frame, a request. The scheduler only keeps it. Any value but `(void *)-1`.
    pub payload: *mut c_void,
    /// The flow it belongs to.
    pub flow: Flow,
    /// Its length in bytes.
    pub size: u32,
    /// Its estimated processing time on each resource, in nanoseconds, divided by the number of the resource's parallel
    /// servers. More than 2^40 (18 minutes) counts as that. 0 on the first of several resources means that it certainly
    /// needs nothing there, and may be taken by `dovetail_bypass`. If a time is only unknown, say 1.
    pub cost: [u64; DOVETAIL_RESOURCES],
}

impl Packet {
    /// Of `M` resources.
    #[inline]
    pub fn read<const M: usize>(&self) -> dovetail_sched::Packet<M, Payload> {
        dovetail_sched::Packet {
            flow: self.flow.into(),
            size: self.size,
            cost: ResourceVec(core::array::from_fn(|r| Duration::from_nanos(self.cost[r]))),
            payload: Payload::new(self.payload),
        }
    }
}

/// The caller's pointer, which is not followed. Its complement, so that a waiting packet needs no more room for telling
/// whether there is one.
#[derive(Clone, Copy, Debug)]
pub struct Payload(core::num::NonZeroUsize);

impl Payload {
    /// # Panics
    /// If it is `(void *)-1`.
    #[inline]
    pub fn new(pointer: *mut c_void) -> Self {
        let complement = core::num::NonZeroUsize::new(!pointer.expose_provenance());
        Self(complement.expect("dovetail_enqueue: a payload is (void *)-1"))
    }

    /// The pointer.
    #[inline]
    pub fn pointer(self) -> *mut c_void {
        core::ptr::with_exposed_provenance_mut(!self.0.get())
    }
}

/// Why a packet was not admitted.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The flow's queue holds as many packets as it may.
    QueuePackets,
    /// The flow's queue has no room for so many bytes.
    QueueBytes,
    /// There is no such flow.
    UnknownFlow,
    /// Too much processing time waits.
    QueueTime,
}

impl From<DropReason> for Reason {
    fn from(reason: DropReason) -> Self {
        match reason {
            DropReason::QueuePackets => Self::QueuePackets,
            DropReason::QueueBytes => Self::QueueBytes,
            DropReason::UnknownFlow => Self::UnknownFlow,
            DropReason::QueueTime => Self::QueueTime,
        }
    }
}

/// A packet that was not admitted.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    /// Yours again.
    pub payload: *mut c_void,
    /// Why.
    pub reason: Reason,
}

/// A packet to put into the first resource now. Keep it with the packet, and report with it what becomes of it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// Yours again.
    pub payload: *mut c_void,
    /// Its flow.
    pub flow: Flow,
    /// Its length in bytes.
    pub size: u32,
    /// The scheduler's: copy it, but do not change it.
    pub ticket: [MaybeUninit<u64>; DOVETAIL_TICKET_SIZE],
}

impl Served {
    /// Write a packet of a scheduler of `M` resources.
    // Field by field, each where it is to stand: a whole one would be put together elsewhere first.
    #[inline]
    pub fn put<const M: usize>(to: &mut MaybeUninit<Self>, served: &dovetail_sched::Served<M, Payload>) {
        let (to, flow) = (to.as_mut_ptr(), served.ticket.flow());
        unsafe {
            (&raw mut (*to).payload).write(served.payload.pointer());
            (&raw mut (*to).flow).write(flow.into());
            (&raw mut (*to).size).write(served.size);
            write_ticket(&raw mut (*to).ticket, &served.ticket);
        }
    }

    /// Its ticket, if it was served by a scheduler of `M` resources. The words must have been written by
    /// [`set_ticket`](Self::set_ticket), or copied.
    #[inline]
    pub unsafe fn ticket<const M: usize>(&self) -> Ticket<M> {
        const { assert!(size_of::<Ticket<M>>() <= 8 * DOVETAIL_TICKET_SIZE && align_of::<Ticket<M>>() <= 8) }
        unsafe { self.ticket.as_ptr().cast::<Ticket<M>>().read() }
    }

    /// Write the ticket.
    #[inline]
    pub fn set_ticket<const M: usize>(&mut self, ticket: &Ticket<M>) {
        unsafe { write_ticket(&mut self.ticket, ticket) }
    }
}

#[inline]
unsafe fn write_ticket<const M: usize>(words: *mut [MaybeUninit<u64>; DOVETAIL_TICKET_SIZE], ticket: &Ticket<M>) {
    const { assert!(size_of::<Ticket<M>>() <= 8 * DOVETAIL_TICKET_SIZE && align_of::<Ticket<M>>() <= 8) }
    unsafe { words.cast::<Ticket<M>>().write(*ticket) }
}

/// Why no further packet was handed out.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// As many as were asked for have been handed out.
    Enough,
    /// No packet waits.
    Empty,
    /// Packets wait, but none may start before some packet in the pipeline makes progress. Ask again after a report.
    AwaitProgress,
    /// Packets wait, but none may start before the time `at`. Ask again then.
    At,
    /// A packet is dropped now, because it has waited for too long or too many wait. Free `payload`, and ask again.
    /// Only `codel` and `fq_codel` drop.
    Drop,
}

/// Why no further packet was handed out, and what belongs to that. What does not is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Why.
    pub why: Why,
    /// With `DOVETAIL_WHY_DROP`: its length in bytes.
    pub size: u32,
    /// With `DOVETAIL_WHY_AT`: when, in nanoseconds.
    pub at: u64,
    /// With `DOVETAIL_WHY_DROP`: its flow.
    pub flow: Flow,
    /// With `DOVETAIL_WHY_DROP`: yours again.
    pub payload: *mut c_void,
}

impl Answer {
    /// Nothing belongs to this reason.
    pub const fn of(why: Why) -> Self {
        let flow = Flow { index: 0, generation: 0 };
        Self { why, size: 0, at: 0, flow, payload: core::ptr::null_mut() }
    }

    /// What came in place of a packet.
    pub fn instead<const M: usize>(next: Next<M, Payload>) -> Self {
        match next {
            Next::Serve(_) => Self::of(Why::Enough),
            Next::Empty => Self::of(Why::Empty),
            Next::AwaitProgress => Self::of(Why::AwaitProgress),
            Next::At(time) => Self { at: time.as_nanos(), ..Self::of(Why::At) },
            Next::Drop { flow, size, payload } => {
                Self { flow: flow.into(), size, payload: payload.pointer(), ..Self::of(Why::Drop) }
            }
        }
    }
}

/// Counts of packets. At every moment `offered = admitted + refused`, and `admitted = served + dropped + queued`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stats {
    /// Given to `dovetail_enqueue`.
    pub offered: u64,
    /// Of these, put into a queue.
    pub admitted: u64,
    /// Of these, given back at once.
    pub refused: u64,
    /// Of those admitted, handed out.
    pub served: u64,
    /// Of those admitted, given back later: their flow was removed, or `DOVETAIL_WHY_DROP`.
    pub dropped: u64,
    /// Of those admitted, waiting now.
    pub queued: u64,
    /// Bytes that wait now.
    pub queued_bytes: u64,
}

impl From<dovetail_sched::Stats> for Stats {
    fn from(stats: dovetail_sched::Stats) -> Self {
        let dovetail_sched::Stats { offered, admitted, refused, served, dropped, queued, queued_bytes } = stats;
        Self { offered, admitted, refused: refused.iter().sum(), served, dropped, queued, queued_bytes }
    }
}
