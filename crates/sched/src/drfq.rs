//! `drfq`: dominant resource fair queueing (Ghodsi, Sekar, Zaharia, Stoica, SIGCOMM 2012).
//!
//! Shares: equal (weighted) service on each flow's dominant resource, by start tags on a virtual time.
//!
//! * Parameters: `mode` = `memoryless` (default), `dovetail`, or `delta=<time>` instead of `mode`: how long a flow's use of one
//!   resource is remembered when it is charged for another. `window` = packets inside the pipeline at most
//!   (1 or more): longer buffers between resources void the fairness of the service actually received, shorter ones leave
//!   resources idle. The default follows the number of backlogged flows, but is at least 4 per server: flows with equal tags are
//!   served one after another, so complementary packets may stand a round of flows apart, and flows of cheap packets have several in a round.
//! * Weights: one for all resources, [`FlowConfig::weight`](crate::FlowConfig::weight); weights that differ by resource are not looked at.
//! * Cost per packet: O(log n) for n backlogged flows.
//! * Guarantees, for flows whose dominant resource does not change while they are backlogged, at the entrance of the
//!   pipeline: |D_i/w_i - D_j/w_j| < s_i/w_i + s_j/w_j, with s the largest dominant time of a packet
//!   (`dovetail_model::bounds::drfq_relative_fairness`).
//! * Example: `drfq:mode=dovetail,window=8`, `drfq:delta=5 ms`.
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
//! Served is the packet with the smallest max_j S(p,j); ties compare the tags sorted in descending order, then the flow's index.
//! Memoryless keeps one tag: the largest s_j is charged, and V is the largest S of the packets that have started anywhere.
//!
//! Differences from the paper, with reasons:
//! * V never falls, also when the pipeline is empty. With V = 0 on an empty pipeline and old finish tags kept, a flow that had used
//!   an idle system would wait for all that it used before when another flow comes.
//! * Every packet is stamped with V on its arrival, as the definition says (not when it becomes first in its queue).
//! * `delta=0 s` is `memoryless` in full: one V for all resources.
//! * `dovetail` is the largest delta that the tags can hold: some 6 days.

use alloc::format;

use dovetail_units::{Duration, ResourceVec, Time};

use crate::catalog::{Brief, Entry, Parameter, Resources, Shape, Weights};
use crate::contract::{Progress, Ticket};
use crate::per_flow::{Choice, Discipline};
use crate::queues::{IndexedHeap, Queues};
use crate::spec::{Spec, SpecError};
pub use crate::window::Window;
use crate::window::{self, Inside};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "drfq",
    summary: "Dominant resource fair queueing",
    shares: "equal weighted service on each flow's dominant resource, by start tags",
    resources: Resources::Any,
    parameters: &[
        Parameter {
            name: "mode",
            value: "memoryless | dovetail",
            default: "memoryless",
            meaning: "charge the dominant resource of each packet, or remember use per resource",
            settable: false,
        },
        Parameter {
            name: "delta",
            value: "a time, 0 s and more, instead of mode",
            default: "-",
            meaning: "how long use of one resource counts against another: 0 s is memoryless",
            settable: false,
        },
        window::PARAMETER,
    ],
    complexity: "O(log n)",
    guarantee: "|D_i/w_i - D_j/w_j| < s_i/w_i + s_j/w_j at the entrance",
    weights: Weights::One,
    work_conserving: "if the window is large enough",
    costs: "for the next packet's tag; corrected by measurement",
    paper: "Ghodsi et al., SIGCOMM 2012, section 5",
    brief: Brief {
        fairness: "dominant resource",
        work_conserving: "if the window allows",
        costs_ahead: "no",
        paper: "SIGCOMM 2012",
    },
};

/// Tags count virtual time in units of 2^-12 ns (a quarter of a picosecond).
const TAG_BITS: u32 = 12;
/// When V reaches this, all tags are lowered by half of it.
const REBASE_AT: u64 = 1 << 63;
/// Longest memory that the tags can hold between two rebases.
const DELTA_MAX: u64 = REBASE_AT / 4;

/// Finish tags of a flow's last packet served, and start tags of its first waiting one.
#[derive(Clone, Copy, Debug)]
pub struct Tags<const M: usize> {
    finish: [u64; M],
    start: [u64; M],
}

impl<const M: usize> Default for Tags<M> {
    fn default() -> Self {
        Self { finish: [0; M], start: [0; M] }
    }
}

/// Dominant resource fair queueing over `M` resources.
#[derive(Clone, Debug)]
pub struct Drfq<const M: usize> {
    /// `None`: memoryless, and only tag 0 is used.
    delta: Option<u64>,
    inside: Inside,
    virtual_time: [u64; M],
    /// How often tags were lowered.
    epoch: u32,
    rebase_at: u64,
    /// Backlogged flows by the start tags of their first packets, sorted descending.
    heads: IndexedHeap<[u64; M]>,
}

impl<const M: usize> Drfq<M> {
    /// `delta`: memory across resources, zero for memoryless, [`Duration::MAX`] for dovetail.
    pub fn new(delta: Duration, window: Window) -> Self {
        let delta = (delta != Duration::ZERO)
            .then(|| delta.as_nanos().checked_mul(1 << TAG_BITS).map_or(DELTA_MAX, |d| d.min(DELTA_MAX)));
        Self {
            delta,
            inside: Inside::new(window),
            virtual_time: [0; M],
            epoch: 0,
            rebase_at: REBASE_AT,
            heads: IndexedHeap::default(),
        }
    }

    pub(crate) fn from_spec(spec: &Spec, shape: Shape) -> Result<Self, SpecError> {
        let mut delta = Duration::ZERO;
        let mut window = Window::of_shape(shape);
        let mut chosen: Option<&str> = None;
        for (key, value) in &spec.parameters {
            match key.as_str() {
                "window" => window = Window::parse(value)?,
                _ if chosen.is_some() => {
                    return Err(SpecError::new(key, format!("{spec}: give mode or delta, not both")));
                }
                _ => {
                    chosen = Some(key);
                    delta = parse_delta(key, value)?;
                }
            }
        }
        Ok(Self::new(delta, window))
    }

    /// For tests: lower all tags by half of `tag` whenever the virtual time reaches it. Memory across resources is at most a quarter of it.
    pub fn rebasing_at(mut self, tag: u64) -> Self {
        self.rebase_at = tag.clamp(2, REBASE_AT);
        self.delta = self.delta.map(|d| d.min(self.rebase_at / 4));
        self
    }

    /// How often tags were lowered; wraps.
    pub fn rebases(&self) -> u32 {
        self.epoch
    }

    /// Tags in use: one in memoryless mode.
    fn width(&self) -> usize {
        if self.delta.is_some() { M } else { 1 }
    }

    /// B: each tag, or the largest less delta where that is more.
    fn remembered(&self, tags: [u64; M]) -> [u64; M] {
        let Some(delta) = self.delta else { return tags };
        let floor = tags.iter().copied().max().unwrap_or(0).saturating_sub(delta);
        tags.map(|t| t.max(floor))
    }

    fn advance_virtual_time(&mut self, tags: [u64; M], resources: core::ops::Range<usize>) {
        let tags = self.remembered(tags);
        for j in resources {
            self.virtual_time[j] = self.virtual_time[j].max(tags[j]);
        }
    }

    /// Compute the start tags of the flow's first waiting packet and put it among the heads.
    fn place_head<P>(&mut self, flow: u32, queues: &mut Queues<M, P, Tags<M>, [u64; M]>) {
        let Some(stamp) = queues.head(flow).map(|s| s.stamp) else {
            self.heads.remove(flow);
            return;
        };
        let state = &mut queues.flow_mut(flow).state;
        let mut start = self.remembered(state.finish);
        for (tag, v) in start.iter_mut().zip(stamp) {
            *tag = (*tag).max(v);
        }
        state.start = start;
        self.heads.set(flow, descending(start));
    }

    /// Lower all tags by one constant before they could overflow: O(flows + packets), once in some 13 days of virtual time.
    fn rebase<P>(&mut self, queues: &mut Queues<M, P, Tags<M>, [u64; M]>) {
        let by = self.rebase_at / 2;
        let lower = |tags: [u64; M]| tags.map(|t| t.saturating_sub(by));
        self.virtual_time = lower(self.virtual_time);
        for flow in queues.flows_mut() {
            flow.state = Tags { finish: lower(flow.state.finish), start: lower(flow.state.start) };
        }
        for stamp in queues.stamps_mut() {
            *stamp = lower(*stamp);
        }
        self.heads.rekey(lower);
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// What a packet adds to a flow's tags, from its processing times.
    fn charge(&self, cost: &ResourceVec<M>) -> [Duration; M] {
        if self.delta.is_some() {
            return cost.0;
        }
        let mut charge = [Duration::ZERO; M];
        charge[0] = cost.dominant_time();
        charge
    }
}

fn descending<const M: usize>(mut tags: [u64; M]) -> [u64; M] {
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

impl<const M: usize> Discipline<M> for Drfq<M> {
    type Flow = Tags<M>;
    /// V at the packet's arrival.
    type Stamp = [u64; M];

    fn stamp(&mut self, _now: Time) -> [u64; M] {
        self.virtual_time
    }

    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut Queues<M, P, Tags<M>, [u64; M]>) {
        if queues.flow(flow).head == slot {
            self.place_head(flow, queues);
        }
    }

    fn choose<P>(&mut self, _now: Time, _queues: &mut Queues<M, P, Tags<M>, [u64; M]>) -> Choice {
        match self.heads.peek() {
            Some((_, flow)) if self.inside.has_room(self.heads.len()) => Choice::Flow(flow),
            _ => Choice::AwaitProgress,
        }
    }

    fn served<P>(
        &mut self,
        _now: Time,
        flow: u32,
        cost: &ResourceVec<M>,
        queues: &mut Queues<M, P, Tags<M>, [u64; M]>,
    ) -> ([u64; M], u32) {
        self.inside.enter();
        if self.virtual_time.iter().any(|&v| v >= self.rebase_at) {
            self.rebase(queues);
        }
        let charge = self.charge(cost);
        let record = queues.flow_mut(flow);
        let tags = record.state.start;
        for j in 0..self.width() {
            record.state.finish[j] = tags[j].saturating_add(record.virtual_time(charge[j], TAG_BITS));
        }
        self.advance_virtual_time(tags, 0..1);
        self.place_head(flow, queues);
        (tags, self.epoch)
    }

    fn progressed(&mut self, _now: Time, ticket: &Ticket<M>, resource: usize, event: Progress) {
        if event == Progress::Started && self.delta.is_some() {
            let rebases = u64::from(self.epoch.wrapping_sub(ticket.epoch));
            let lowered = rebases.saturating_mul(self.rebase_at / 2);
            let tags = ticket.tags.map(|t| t.saturating_sub(lowered));
            self.advance_virtual_time(tags, resource..resource + 1);
        }
        self.inside.progressed::<M>(resource, event);
    }

    fn corrected<P>(
        &mut self,
        flow: u32,
        before: &ResourceVec<M>,
        after: &ResourceVec<M>,
        queues: &mut Queues<M, P, Tags<M>, [u64; M]>,
    ) {
        let (before, after) = (self.charge(before), self.charge(after));
        let record = queues.flow_mut(flow);
        for j in 0..self.width() {
            let (charged, used) = (record.virtual_time(before[j], TAG_BITS), record.virtual_time(after[j], TAG_BITS));
            let finish = &mut record.state.finish[j];
            *finish = finish.saturating_add(used).saturating_sub(charged);
        }
        self.place_head(flow, queues);
    }

    fn removed<P>(&mut self, flow: u32, _queues: &mut Queues<M, P, Tags<M>, [u64; M]>) {
        self.heads.remove(flow);
    }

    fn set<P>(
        &mut self,
        parameter: &str,
        value: &str,
        _queues: &mut Queues<M, P, Tags<M>, [u64; M]>,
    ) -> Result<(), SpecError> {
        if parameter != "window" {
            return Err(ENTRY.cannot_change(parameter));
        }
        self.inside.window = Window::parse(value)?;
        Ok(())
    }
}
