//! `drfq`: dominant resource fair queueing (Ghodsi, Sekar, Zaharia, Stoica, SIGCOMM 2012).
//!
//! Shares: equal (weighted) service on each flow's dominant resource, by start tags on a virtual time.
//!
//! * Parameters: `mode` = `memoryless` (default), `dovetail`, or `delta=<time>` instead of `mode`: how long a flow's
//!   use of one resource is remembered when it is charged for another. `window` = packets inside the pipeline at most
//!   (1 or more): longer buffers between resources void the fairness of the service actually received, shorter ones
//!   leave resources idle. The default follows the number of backlogged flows, but is at least 4 per server: flows with
//!   equal tags are served one after another, so complementary packets may stand a round of flows apart, and flows of
//!   cheap packets have several in a round. `newcomers` = whether a flow pays a deposit before its first packet: `pay`
//!   (default), or `free` as published.
//! * Weights: one for all resources, [`FlowConfig::weight`](crate::FlowConfig::weight). Weights that differ by resource
//!   are ignored.
//! * Cost per packet: O(log n) for n backlogged flows.
//! * Longest call: O(log n).
//! * Guarantees, for flows whose dominant resource does not change while they are backlogged, at the entrance of the
//!   pipeline: |D_i/w_i - D_j/w_j| <= s_i/w_i + s_j/w_j, with s the largest dominant time of a packet of the flow so
//!   far (`dovetail_model::bounds::drfq_relative_fairness`).
//! * A flow can gain: memoryless nothing by queue depth, scale, order, new flows, refilling or small packets first; see
//!   [`flow_tags`](crate::flow_tags). With memory, what delta says: a flow that comes back to a resource that was less
//!   in use than others may have up to that much of it first. By `newcomers=free` new flows starve all others. A flow
//!   that is new, or removed, before its packets are measured is charged their estimates only: by ever new flows it
//!   gains the factor by which these are too low.
//! * Example: `drfq:mode=dovetail,window=8`, `drfq:delta=5 ms`, `drfq:newcomers=free`.
//!
//! Tags of packet p of flow i on resource j (paper, section 5; a packet's time on j is s_j, the flow's weight w):
//!
//! ```text
//! S(p,j) = max( V(a,j), B(F(p',j)) )   p' the flow's packet before p, a the arrival of p
//! F(p,j) = S(p,j) + s_j / w
//! B(x_j) = max( x_j, max_k x_k - delta )
//! V(t,j) = the largest B(S(p,j)) of the packets that have started on j
//! ```
//!
//! Served is the packet with the smallest max_j S(p,j); ties compare the tags sorted in descending order, then the
//! flow's index. Memoryless keeps one tag: the largest s_j is charged, and V is the largest S of the packets that have
//! started anywhere.
//!
//! Differences from the paper, with reasons:
//! * S + d stands in the place of S where packets are compared and V is set, d the flow's deposit on the resource
//!   ([`flow_tags`](crate::flow_tags)): published, a flow that comes is served before all others, so that a stream of
//!   ever new flows starves them. V follows the packets that are handed out, on all resources: until they have started,
//!   a new flow would begin behind them. And V at its arrival is nothing to a packet that comes behind another one.
//! * V never falls, also when the pipeline is empty. With V = 0 on an empty pipeline and old finish tags kept, a flow
//!   that had used an idle system would wait for all that it used before when another flow comes.
//! * With `newcomers=free` every packet is stamped with V on its arrival, as the definition says (not when it becomes
//!   first in its queue); and behind the first resource V is right to 2^-12 ns, which is what tickets bear.
//! * `delta=0 s` is `memoryless` in full: one V for all resources.
//! * `dovetail` is the largest delta that can be written: some 584 years.
//! * A packet that needs no time at all counts as one nanosecond.

use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Parameter, Resources, Shape, Weights};
use crate::contract::{Progress, Ticket, Took};
use crate::discipline::{Choice, Discipline};
use crate::flow_tags::StartTags;
use crate::gain::AS_TOLD;
use crate::newcomers::{self, Newcomers};
use crate::note::{Note, Words};
use crate::one_resource::{charged, charges};
use crate::promise::{Counted, Promise};
use crate::queues::{Queues, TagTournament, Tournament};
use crate::spec::{Spec, SpecError};
use crate::tag::{TICK_BITS, Tag};
use crate::touch::{Ahead, BY_TAGS, Worth};
pub use crate::window::Window;
use crate::window::{self, Inside};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "drfq",
    summary: "Dominant resource fair queueing",
    shares: "equal service by weight on each flow's dominant resource, by start tags",
    resources: Resources::Any,
    parameters: &[
        Parameter {
            name: "mode",
            value: "memoryless | dovetail",
            default: "memoryless",
            meaning: "memoryless: each packet is charged on its dominant resource; dovetail: use of each resource is \
                remembered",
            settable: false,
        },
        Parameter {
            name: "delta",
            value: "a time, 0 s and more, instead of mode",
            default: "-",
            meaning: "how long use of one resource counts against use of another; 0 s is memoryless",
            settable: false,
        },
        window::PARAMETER,
        newcomers::PARAMETER,
    ],
    complexity: "O(log n)",
    worst_call: "O(log n)",
    gains: &[AS_TOLD],
    guarantee: "|D_i/w_i - D_j/w_j| <= s_i/w_i + s_j/w_j at the entrance",
    weights: Weights::One,
    work_conserving: "if the window is large enough",
    costs: "when the next packet is tagged, and for a flow's first packet; corrected by measurement",
    paper: "Ghodsi et al., SIGCOMM 2012, section 5",
    brief: Brief {
        fairness: "dominant resource",
        longest_call: "O(log n)",
        work_conserving: "if the window allows",
        costs_ahead: "no",
        paper: "SIGCOMM 2012",
    },
    promise: Promise::by_tags(Counted::Dominant),
    facts: &[],
};

/// Tickets bear tags in units of 2^-12 ns, their last 64 bits.
const TICKET_SHIFT: u32 = TICK_BITS - 12;

/// One for each resource, in ticks.
type Ticks<const M: usize> = [u128; M];
type FlowQueues<const M: usize, P> = Queues<M, P, StartTags, Floors<M>>;

/// V at a packet's arrival, with `newcomers=free`.
#[derive(Clone, Copy, Debug)]
pub struct Floors<const M: usize>([Tag; M]);

impl<const M: usize> Default for Floors<M> {
    fn default() -> Self {
        Self([Tag::default(); M])
    }
}

/// A flow's tags on one resource, with memory.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    tags: StartTags,
    /// U of the first waiting packet.
    start: Tag,
}

/// Dominant resource fair queueing over `M` resources.
#[derive(Clone, Debug)]
pub struct Drfq<const M: usize> {
    /// In ticks. `None`: memoryless, and only tag 0 is used.
    delta: Option<u128>,
    /// With memory: by flow and resource.
    places: Vec<[Place; M]>,
    newcomers: Newcomers,
    inside: Inside,
    virtual_time: Ticks<M>,
    /// Backlogged flows by the tags of their first packets: memoryless, and else sorted descending.
    heads: TagTournament,
    heads_by_all: Tournament<Ticks<M>>,
}

impl<const M: usize> Drfq<M> {
    /// `delta`: memory across resources, zero for memoryless, [`Duration::MAX`] for dovetail.
    pub fn new(delta: Duration, window: Window, newcomers: Newcomers) -> Self {
        Self {
            delta: (delta != Duration::ZERO).then(|| u128::from(delta.as_nanos()) << TICK_BITS),
            places: Vec::new(),
            newcomers,
            inside: Inside::new(window),
            virtual_time: [0; M],
            heads: TagTournament::default(),
            heads_by_all: Tournament::default(),
        }
    }

    pub(crate) fn from_spec(spec: &Spec, shape: Shape) -> Result<Self, SpecError> {
        let mut delta = Duration::ZERO;
        let mut window = Window::of_shape(shape);
        let mut chosen: Option<&str> = None;
        for (key, value) in &spec.parameters {
            match key.as_str() {
                "window" => window = Window::parse(value)?,
                "newcomers" => (),
                _ if chosen.is_some() => {
                    return Err(SpecError::new(key, format!("{spec}: give mode or delta, not both")));
                }
                _ => {
                    chosen = Some(key);
                    delta = parse_delta(key, value)?;
                }
            }
        }
        Ok(Self::new(delta, window, Newcomers::from_spec(spec)?))
    }

    /// The least that B makes of any of these tags.
    fn remembered(&self, tags: &Ticks<M>) -> u128 {
        self.delta.map_or(0, |delta| tags.iter().copied().max().unwrap_or(0).saturating_sub(delta))
    }

    /// A packet with these tags starts on these resources.
    fn advance_virtual_time(&mut self, tags: &Ticks<M>, resources: Range<usize>) {
        let least = self.remembered(tags);
        for j in resources {
            self.virtual_time[j] = self.virtual_time[j].max(tags[j]).max(least);
        }
    }

    /// Compute the tags of the flow's first waiting packet and put it among the heads.
    #[inline(never)]
    fn place_head<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let Some(cost) = queues.head(flow).map(|head| head.cost) else { return self.leave(flow) };
        let came_at = match self.newcomers {
            Newcomers::Pay => None,
            Newcomers::Free => Some(queues.stamp(queues.flow(flow).head)),
        };
        let record = queues.flow_mut(flow);
        let (weight, tags) = (record.weight(), &mut record.state);
        if self.delta.is_some() {
            return self.place_with_memory(flow, came_at, &cost, weight);
        }
        if let Some(Floors(floors)) = came_at {
            tags.set_floor(floors[0]);
        }
        tags.tag_head(dominant(&cost), self.newcomers);
        self.heads.set(flow, tags.head(tags.start(0), weight));
    }

    #[inline(never)]
    fn place_with_memory(&mut self, flow: u32, came_at: Option<Floors<M>>, cost: &ResourceVec<M>, weight: Weight) {
        let charge = charges(cost.0);
        let mut key = self.places[flow as usize].map(|place| place.tags.finish());
        let least = self.remembered(&key);
        for (k, Place { tags, start }) in self.places[flow as usize].iter_mut().enumerate() {
            if let Some(Floors(floors)) = came_at {
                tags.set_floor(floors[k]);
            }
            tags.tag_head(charge[k], self.newcomers);
            *start = tags.start(least);
            key[k] = tags.head(*start, weight);
        }
        self.heads_by_all.set(flow, descending(key));
    }

    /// A packet of the flow is served: the next one is to be placed, if there is one.
    #[inline]
    fn moves_or_leaves<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        match queues.flow(flow).packets {
            0 => self.leave(flow),
            _ => queues.mark_moved::<Self>(flow),
        }
    }

    /// The flow has no packets, or none any more.
    fn leave(&mut self, flow: u32) {
        match self.delta {
            None => self.heads.remove(flow),
            Some(_) => self.heads_by_all.remove(flow),
        }
    }

    /// The flow whose head is the first, and how many flows have heads.
    #[inline]
    fn first(&self) -> Option<(u32, usize)> {
        match self.delta {
            None => self.heads.peek().map(|(_, flow)| (flow, self.heads.len())),
            Some(_) => self.heads_by_all.peek().map(|(_, flow)| (flow, self.heads_by_all.len())),
        }
    }

    /// A packet with these tags starts on this resource, and V follows it.
    #[cold]
    fn start_as_published(&mut self, Starts(starts): Starts<M>, resource: usize) {
        let tags = core::array::from_fn(|j| unwrapped(starts[j], self.virtual_time[j]));
        self.advance_virtual_time(&tags, resource..resource + 1);
    }

    /// [`served`](Discipline::served) with memory: the tags of the packet.
    #[inline(never)]
    fn serve_with_memory(&mut self, flow: u32, cost: &ResourceVec<M>, weight: Weight) -> Ticks<M> {
        let charge = charges(cost.0);
        let mut served = [0; M];
        for (k, Place { tags, start }) in self.places[flow as usize].iter_mut().enumerate() {
            served[k] = tags.head(*start, weight);
            tags.serve_head(*start, served[k], charge[k], weight);
        }
        self.advance_virtual_time(&served, if self.newcomers == Newcomers::Pay { 0..M } else { 0..1 });
        served
    }
}

/// What a packet adds to a flow's only tag in memoryless mode, in nanoseconds.
#[inline]
fn dominant<const M: usize>(cost: &ResourceVec<M>) -> i64 {
    charged(cost.dominant_time())
}

fn descending<const M: usize>(mut tags: Ticks<M>) -> Ticks<M> {
    tags.sort_unstable_by(|a, b| b.cmp(a));
    tags
}

fn parse_delta(key: &str, value: &str) -> Result<Duration, SpecError> {
    match (key, value) {
        ("mode", "memoryless") => Ok(Duration::ZERO),
        ("mode", "dovetail") => Ok(Duration::MAX),
        ("mode", _) => {
            Err(SpecError::bad_value(key, value, "memoryless or dovetail; or write delta=5 ms instead of mode"))
        }
        _ => value.parse().map_err(|_| SpecError::bad_value(key, value, "a time such as 5 ms")),
    }
}

/// The tag that a ticket bears, which is less than 2^63 of its units (26 days) from `near`.
fn unwrapped(noted: u64, near: u128) -> u128 {
    let near = near >> TICKET_SHIFT;
    near.saturating_add_signed(i128::from(noted.wrapping_sub(near as u64) as i64)) << TICKET_SHIFT
}

/// The start tags of a packet on the resources, or that on all, shortened.
#[derive(Clone, Copy, Debug)]
pub struct Starts<const M: usize>([u64; M]);

impl<const M: usize> Note<M> for Starts<M> {
    #[inline]
    fn write(self) -> Words<M> {
        Words { by_resource: self.0, rest: 0 }
    }
    #[inline]
    fn read(words: Words<M>) -> Self {
        Self(words.by_resource)
    }
}

impl<const M: usize> Discipline<M> for Drfq<M> {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    const READS_AHEAD: Worth = BY_TAGS;

    const MARKS_MOVED: bool = true;

    type Flow = StartTags;
    /// The packet's tags are no less than these.
    type Stamp = Floors<M>;
    type Note = Starts<M>;

    fn added<P>(&mut self, flow: u32, _queues: &mut FlowQueues<M, P>) {
        if self.delta.is_some() {
            self.places.resize(self.places.len().max(flow as usize + 1), [Place::default(); M]);
            self.places[flow as usize] = [Place::default(); M];
        }
    }

    #[inline]
    fn touch(&self, flow: u32, _tags: &Self::Flow) {
        self.heads.touch(flow);
    }

    #[inline]
    fn ahead(&self, packets: usize, ahead: &mut Ahead) {
        self.heads.ahead(packets, ahead);
    }

    #[inline]
    fn coming(&self, look_at: impl Fn([u32; 3])) {
        self.heads.coming().into_iter().for_each(look_at);
    }

    #[inline]
    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        if self.newcomers == Newcomers::Free {
            *queues.stamp_mut(slot) = Floors(self.virtual_time.map(Tag::at));
        }
        let record = queues.flow_mut(flow);
        if record.head != slot {
            // Behind another packet, V is where the deposit is, not where the packet before ends.
            return;
        }
        let weight = record.weight();
        let now = &self.virtual_time;
        if self.delta.is_some() {
            let places = self.places[flow as usize].iter_mut().zip(now);
            places.for_each(|(place, &now)| place.tags.come(now, weight));
        } else {
            record.state.come(now[0], weight);
        }
        queues.mark_moved::<Self>(flow);
    }

    #[inline]
    fn choose<P>(&mut self, _now: Time, _queues: &mut FlowQueues<M, P>) -> Choice {
        match self.first() {
            Some((flow, heads)) if self.inside.has_room(heads) => Choice::Flow(flow),
            _ => Choice::AwaitProgress,
        }
    }

    #[inline(always)]
    fn served<P>(&mut self, _now: Time, flow: u32, cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) -> Starts<M> {
        self.inside.enter();
        let at = self.heads.peek().map_or(0, |(at, _)| at);
        self.moves_or_leaves(flow, queues);
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        if self.delta.is_some() {
            let served = self.serve_with_memory(flow, cost, weight);
            return Starts(served.map(|t| (t >> TICKET_SHIFT) as u64));
        }
        let start = record.state.start(0);
        record.state.serve_head(start, at, dominant(cost), weight);
        self.virtual_time[0] = self.virtual_time[0].max(at);
        let mut starts = [0; M];
        starts[0] = (at >> TICKET_SHIFT) as u64;
        Starts(starts)
    }

    #[inline]
    fn progressed(&mut self, _now: Time, ticket: &Ticket<M>, resource: usize, event: Progress) {
        if event == Progress::Started && self.delta.is_some() && self.newcomers == Newcomers::Free {
            self.start_as_published(ticket.note(), resource);
        }
        self.inside.progressed::<M>(resource, event);
    }

    #[inline]
    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut FlowQueues<M, P>) {
        let after = ticket.charged_with(took);
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        if self.delta.is_some() {
            let (before, after) = (charges(ticket.charged.0), charges(after.0));
            let places = self.places[flow as usize].iter_mut().enumerate();
            places.for_each(|(k, place)| place.tags.correct(after[k] - before[k], weight));
        } else {
            let more = dominant(&after) - dominant(&ticket.charged);
            if more == 0 {
                return;
            }
            record.state.correct(more, weight);
        }
        if record.packets > 0 {
            queues.mark_moved::<Self>(flow);
        }
    }

    #[inline]
    fn place<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.place_head(flow, queues);
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        let (waits, now) = (record.packets > 0, &self.virtual_time);
        if weight != old && (waits || self.newcomers == Newcomers::Free) {
            if self.delta.is_some() {
                for (Place { tags, start }, &now) in self.places[flow as usize].iter_mut().zip(now) {
                    match waits {
                        true => tags.reweigh(*start, now, old, weight),
                        false => tags.reweigh_idle(now, old, weight),
                    }
                }
            } else if waits {
                let start = record.state.start(0);
                record.state.reweigh(start, now[0], old, weight);
            } else {
                record.state.reweigh_idle(now[0], old, weight);
            }
        }
        self.place_head(flow, queues);
    }

    fn removed<P>(&mut self, flow: u32, _queues: &mut FlowQueues<M, P>) {
        self.leave(flow);
    }

    fn set<P>(&mut self, _parameter: &str, value: &str, _queues: &mut FlowQueues<M, P>) -> Result<(), SpecError> {
        self.inside.window = Window::parse(value)?;
        Ok(())
    }
}
