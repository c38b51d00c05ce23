//! `tradeoff`: fairness against efficiency by one knob alpha (Wang, Feng, Li, Liang, CoNEXT 2014).
//!
//! Shares: every flow gets at least alpha of its fair dominant share; what is left goes, in turns and by weight, to the
//! flows that use the remaining resources best. Lower alpha fills all resources at the price of some flows' shares.
//!
//! * Parameters: `alpha` in [0, 1], default 0.85; settable while running. 1 is strict fairness (DRGPS), 0 is efficiency
//!   only. `tolerance` in [0, 0.5], default 0.06: flows whose ratios of resources differ by about this part at most
//!   take turns; 0 is the published order (23), in which only equals do. `newcomers` = `pay` (default): a flow
//!   that is set up while packets wait enters the fluid when the last such one has ended there, or would have by the
//!   weight of the flow that comes, if that is larger; or `free`, as published: it enters when it comes.
//!   A flow may have an alpha of its own, [`FlowConfig::alpha`](crate::FlowConfig::alpha), which may change any time.
//!   `target` = such as `95 %`, default `none`, settable: alpha adjusts itself between 1 and its value so that every
//!   resource is used so much while packets wait, at the highest alpha that does it ([`Steer`]); what is promised is
//!   alpha's value.
//!   `protect` = such as `calls 5 ms`, default `none`: alpha adjusts itself, from its value up, so that at most 1 % of
//!   the class's packets take longer ([`Guard`]).
//! * Two to four resources.
//! * Weights: one for all resources, [`FlowConfig::weight`](crate::FlowConfig::weight). Weights that differ by resource
//!   are ignored.
//! * Cost per packet: O(log n) amortised for n flows that are or were backlogged (section 5.3). With more than two
//!   resources a look at each kind of packet that waits as well, a few hundred a call at most ([`Cells`]).
//! * Guarantees against the fluid schedule, for any alpha, n concurrently backlogged flows and L the longest time of
//!   any packet on any resource: makespan T <= T_fluid + n L (Theorem 4); dominant service D_fluid - 2(n-1) L <= D <=
//!   D_fluid + L (Theorem 5, for n of 2 and more; a lone flow may be L behind, one whose packets are overtaken by
//!   others that bypass the CPU more); in the fluid every backlogged flow has d_i >= alpha_i w_i d (eq. 19). At every
//!   instant the fluid's bonus is at least the largest possible one (Theorem 3) divided by 1 + `tolerance`. With m > 2
//!   resources: T <= T_fluid + (m - 1) n L, D_fluid - (m n - 1) L <= D <= D_fluid + L. See `dovetail_model::bounds`,
//!   `dovetail_model::tradeoff`, `docs/theory/weighted-tradeoff.md`, `docs/theory/tradeoff-floors.md` and
//!   `docs/theory/tradeoff-many.md`.
//! * A flow can gain nothing by what it does: at most 1.05 by search, for alpha above 0; by false estimates up to 1.25;
//!   with three resources up to 1.06 by deep queues, the order of set-up and refilling. New flows gain the factor by
//!   which their estimates are too low: a flow is gone when they are corrected.
//!   As published (`newcomers=free`) what its own number is worth, without bound, where the link is short, the CPU is
//!   not, and it sends from a new flow for every packet or few: the first packet of a flow starts in the fluid when it
//!   comes (section 4.1), so the CPU hands out as many as it can, and each is a flow to the fluid. No turn comes
//!   earlier by it: a new flow is counted to have had as much bonus as anybody.
//! * Longest call: 10 of the fluid's events (ends of packets, and instants at which some end), 48 flows moved in the
//!   heaps of order (23), and what is handed back of a removed flow; with more than two resources 4 events and looks at
//!   300 cells. See *Lag* below.
//! * Not work conserving: a packet waits until it has started in the fluid schedule ([`Next::At`](crate::Next::At)),
//!   which keeps the buffer between the resources short.
//! * Example: `tradeoff:alpha=0.85`.
//!
//! A fluid schedule runs in the background; whenever a packet starts in it, its flow joins a FIFO, and packets are
//! served in the order of that FIFO (start-time tracking, section 4.1). The fluid's events are handled when something
//! is asked for (section 5.4), and before anything changes in the queues: a packet must not start in the fluid before
//! it arrives.
//!
//! *Lag.* When more events are due than a call handles, which takes a pause in which more than a few packets end in the
//! fluid, the fluid lags: its clock is behind, by the pause at most, and every call makes good 10 of the events, so
//! that it has caught up after a tenth as many calls, and those for the events that come meanwhile. Meanwhile what
//! comes comes where the fluid stands, earlier by the lag than it did, so both sides of Theorem 5 are wider by the lag;
//! what starts is handed out; and if nothing has started, the answer is to ask again a nanosecond later. When all
//! packets have been handed out and the fluid must be empty by now, it is emptied at once. Nothing lags while calls
//! come as packets do, of which each makes two at least.
//! While alpha is 1 nobody has a bonus, and order (23) is not kept. When alpha falls, flows are put in order, up
//! to 48 a call, and the fluid lags until all are.
//!
//! Differences from the paper, with reasons:
//! * Guarantees by flow: with alpha_i of flow i in the place of alpha in (19), (22) has mu_r = 1 - d sum alpha_i w_i
//!   tbar_ir, and no guarantee depends on another's. A flow's own alpha is in thousandths.
//! * Weights: flow i is guaranteed alpha w_i d with d = 1 / max_r sum_i w_i tbar_ir. The bonus is awarded as in Theorem
//!   3, which holds unchanged because the bonus problem has no weights in it.
//! * More than two resources, which the paper leaves open: (21) is solved as a linear program ([`Cells`]).
//! * Ties in order (23), which the paper leaves open, and near ties, where it gives all to one flow for a byte's
//!   difference: these flows take turns, packet by packet, by what they have had of the bonus divided by their weight
//!   (`turns`).
//! * alpha = 0: a packet starts in the fluid when its flow is first favoured. Theorems 4 and 5 hold for this fluid too,
//!   but a flow may starve in it. When alpha rises, the packets at the heads start in the order in which they came
//!   there, 10 a call.
//! * A packet that ends between two clock ticks (2^-22 ns) leaves the rest of its tick to the flow's next packet, so no
//!   service is lost to rounding; with alpha = 0 it leaves that a tick at least, as it has not started.
//! * Wrong cost estimates: on each resource the difference to the measured time is added to the flow's next packet in
//!   the fluid, so the fluid takes of every resource what packets take. (With the dominant time alone it would run
//!   ahead of a resource that is short and dominant for few, until all that waits has started in it and is served in
//!   order of arrival.) What idles for a wrong estimate stays idle.
//! * A resource that is behind: the fluid stands still, so that it does not serve what the CPU or the link cannot have
//!   served. Each packet's starts on both are planned by the paper's packet schedule when it starts in the fluid; the
//!   CPU is late while the next packet could have been through with both since, the link from a start that was late in
//!   this way until one that was not. So time lost by wrong estimates or a slow resource is lost once, and not followed
//!   by the fluid's lead for ever; with exact times all packets start as planned, and nothing changes. The link must
//!   report its starts; without that the fluid waits for the CPU only. See `docs/theory/tradeoff-pace.md`.
//! * Virtual time is an integer, of which divisions by weights lose nothing ([`tag`](crate::tag)).

mod bonus;
mod cells;
mod flow;
mod fluid;
mod forest;
mod guard;
mod pace;
mod program;
mod share;
mod steer;
mod ticks;
mod turns;

use dovetail_units::{Duration, Part, ResourceVec, Time, Weight};

use crate::anteroom::Anteroom;
use crate::catalog::{Brief, Entry, Parameter, Resources, Shape, Weights};
use crate::contract::{FlowConfig, FlowId, LONGEST_TIME, Progress, Steering, Ticket, Took};
use crate::discipline::{Choice, Discipline};
use crate::gain::{AS_TOLD, Gain, Strategy};
use crate::newcomers::{self, Newcomers};
use crate::note::{Note, Words};
use crate::promise::{self, Alpha, Apart, Counted, Lag, Promise};
use crate::spec::{Spec, SpecError, part};
use crate::touch::{Ahead, BY_FLUID, Worth};

use bonus::Bonus;
pub use cells::{Cells, EVENTS_OF_MANY, Grid};
use flow::Floor;
pub use flow::FluidFlow;
pub use fluid::EVENTS_PER_CALL;
use fluid::{FlowQueues, Fluid, Started};
pub use guard::{Guard, Protect};
use pace::HandedOut;
pub use program::gain;
pub use share::allocate;
pub use steer::{PERIOD, Steer, Target};
pub use turns::{Turns, near_end};

/// Why false estimates gain.
const LATE: &str =
    "by search, estimates up to 16 times too low: what a packet took is known when it leaves the pipeline";

const SHORT: &str = "by search, with three resources: a rival that keeps only two packets can run out of them in the \
                     fluid while it has the bonus; one that keeps four does not";

/// Which part of the fair share every flow is promised.
const ALPHA: Parameter = Parameter {
    name: "alpha",
    value: "0 to 1",
    default: "0.85",
    meaning: "guaranteed part of the fair share: 1 is strict fairness, 0 is efficiency only and guarantees nothing, so \
        that flows can starve and TCP connections break",
    settable: true,
};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "tradeoff",
    summary: "Fairness against efficiency, with one knob",
    shares: "at least alpha of the fair dominant share to each flow; the rest, by weight, to those that fill all \
        resources",
    resources: Resources::Several,
    parameters: &[
        ALPHA,
        Parameter {
            name: "tolerance",
            value: "0 to 0.5",
            default: "0.06",
            meaning: "flows whose ratios of resources differ by at most about this part share the bonus by weight; \
                with 0, as published, only equal ones do",
            settable: false,
        },
        Parameter {
            name: "target",
            value: "none | 95 % | cpu 95 %",
            default: "none",
            meaning: "every resource, or the named one, is to be used so much, 0 to 100 %, while packets wait: alpha \
                adjusts itself, from 1 down to the value that it is given, which stays guaranteed",
            settable: true,
        },
        Parameter {
            name: "protect",
            value: "none | calls 5 ms",
            default: "none",
            meaning: "99 of 100 packets of the named class are to be through in this time: alpha adjusts itself, from \
                1 down to the value that it is given, which stays guaranteed; what others yield goes to the class \
                first",
            settable: false,
        },
        newcomers::PARAMETER,
    ],
    complexity: "O(log n)",
    worst_call: "10 ends of packets in the fluid and 48 moves in its heaps (with more than two resources 4, and looks \
        at 300 kinds of packets); later calls do the rest",
    gains: &[
        Gain { strategy: Strategy::QueueDepth, most: 1.06, reason: SHORT },
        Gain { strategy: Strategy::SetupOrder, most: 1.06, reason: SHORT },
        Gain { strategy: Strategy::Refill, most: 1.06, reason: SHORT },
        Gain { strategy: Strategy::FalseEstimates, most: 1.25, reason: LATE },
        AS_TOLD,
    ],
    guarantee: "D_fluid - 2(n-1)L <= D <= D_fluid + L; makespan <= T_fluid + nL; with m > 2 \
        resources (mn-1)L behind and (m-1)nL",
    weights: Weights::One,
    work_conserving: "no: it waits for the fluid schedule",
    costs: "on arrival; corrected by measurement",
    paper: "Wang et al., CoNEXT 2014",
    brief: Brief {
        fairness: "alpha x dominant",
        longest_call: "O(log n) x 60",
        work_conserving: "no",
        costs_ahead: "yes",
        paper: "CoNEXT 2014",
    },
    promise: Promise {
        counted: Counted::Dominant,
        fluid: Some(promise::Fluid::Tradeoff),
        // Equation (26) of the paper: so many behind the fluid.
        lag: Lag::PerOther(2.0),
        // The same at two flows: 2 L behind the fluid and L ahead of it, of either. Flows whose ratios are near share
        // the bonus in turns, in which one is ahead by a head packet of either.
        apart: |spec, _| Some(Apart::Longest(if Alpha(ALPHA).of(spec) == Some(1.0) { 3.0 } else { 4.0 })),
    },
    facts: &[&Alpha(ALPHA)],
};

const DEFAULT_ALPHA: f64 = 0.85;
/// Of a flow with so many packets the next one came so long ago that it is in no cache: it is read ahead.
const DEEP: u32 = 64;
/// The tolerance of the ratio within which flows share the bonus, unless it is given.
pub const DEFAULT_TOLERANCE: f64 = 0.06;

/// The tradeoff discipline: the fluid schedule, and the packets that have started in it.
#[derive(Clone, Debug)]
pub struct Tradeoff<const M: usize = 2, B = Turns> {
    fluid: Fluid<M, B>,
    /// The least alpha; with a target, another one may hold.
    alpha: f64,
    steer: Option<Steer<M>>,
    guard: Option<Guard>,
    /// One entry per packet that has started in the fluid schedule and was not served yet.
    started: Started<M>,
}

impl Tradeoff {
    /// With this `alpha`, for one CPU and one link; `None` outside [0, 1].
    pub fn new(alpha: f64) -> Option<Self> {
        Self::of_shape(alpha, Shape::default())
    }

    /// With this `alpha`, for a pipeline of this shape; `None` outside [0, 1].
    pub fn of_shape(alpha: f64, shape: Shape) -> Option<Self> {
        Self::with(alpha, DEFAULT_TOLERANCE, shape)
    }

    /// With this `alpha` in [0, 1], for one CPU and one link, where flows whose ratios of CPU to link differ by this
    /// part share the bonus: `tolerance` in [0, 0.5]. `None` outside.
    pub fn with_tolerance(alpha: f64, tolerance: f64) -> Option<Self> {
        Self::with(alpha, tolerance, Shape::default())
    }
}

/// The discipline for three resources and more.
pub type TradeoffOfMany<const M: usize> = Tradeoff<M, Cells<M>>;

impl<const M: usize, B: Bonus<M>> Tradeoff<M, B> {
    /// With this `alpha` in [0, 1] and this `tolerance` in [0, 0.5], for a pipeline of this shape. `None` outside.
    pub fn with(alpha: f64, tolerance: f64, shape: Shape) -> Option<Self> {
        let is_sound = (0.0..=1.0).contains(&alpha) && (0.0..=0.5).contains(&tolerance);
        is_sound.then(|| Self {
            fluid: Fluid::new(alpha, tolerance, shape),
            alpha,
            steer: None,
            guard: None,
            started: Started::default(),
        })
    }

    /// With an alpha that adjusts itself to reach a target, before there is any flow: from 1 down to the alpha that was
    /// given, which stays guaranteed.
    #[must_use]
    pub fn target(mut self, target: Target) -> Self {
        self.fluid.begin_with(1.0);
        self.steer = Some(Steer::new(target, self.alpha));
        self
    }

    /// With an alpha that adjusts itself so that a class's packets come in time, before there is any flow: from 1 down
    /// to the alpha that was given, which stays guaranteed to all other flows. What they yield goes to the class first.
    #[must_use]
    pub fn protect(mut self, wanted: Protect) -> Self {
        self.fluid.begin_with(1.0);
        self.guard = Some(Guard::new(wanted, self.alpha));
        self
    }

    /// With new flows let into the fluid so, before there is any flow.
    #[must_use]
    pub fn newcomers(mut self, newcomers: Newcomers) -> Self {
        self.fluid.anteroom = Anteroom::new(newcomers);
        self
    }

    pub(crate) fn from_spec(spec: &Spec, shape: Shape) -> Result<Self, SpecError> {
        let alpha = spec.value("alpha").map_or(Ok(DEFAULT_ALPHA), parse_alpha)?;
        let given = spec.value("tolerance");
        let tolerance = given.map_or(Ok(DEFAULT_TOLERANCE), str::parse).unwrap_or(f64::NAN);
        let expected = "a number from 0 (only equals share the bonus) to 0.5";
        let newcomers = Newcomers::from_spec(spec)?;
        let target = spec.value("target").map_or(Ok(None), parse_target::<M>)?;
        let protect = spec.value("protect").map_or(Ok(None), parse_protect)?;
        if target.is_some() && protect.is_some() {
            let message = "protect and target exclude each other: alpha can follow only one";
            return Err(SpecError::new("protect", message));
        }
        Self::with(alpha, tolerance, shape)
            .map(|tradeoff| tradeoff.newcomers(newcomers))
            .map(|tradeoff| if let Some(target) = target { tradeoff.target(target) } else { tradeoff })
            .map(|tradeoff| if let Some(protect) = protect { tradeoff.protect(protect) } else { tradeoff })
            .ok_or_else(|| SpecError::bad_value("tolerance", given.unwrap_or_default(), expected))
    }

    /// By how much the fluid's events that were left to later calls lie back: nothing where it has caught up.
    pub fn lag(&self) -> Duration {
        self.fluid.lag()
    }

    /// Time has passed until now, and the fluid with it: what is wanted may turn alpha.
    #[inline]
    fn turn<P>(&mut self, now: Time, queues: &mut FlowQueues<M, B, P>) {
        if self.steer.is_some() || self.guard.is_some() {
            self.turn_alpha(now, queues);
        }
    }

    /// Read ahead what a flow's next head in the fluid touches.
    #[inline]
    fn touch_head(&self, flow: u32) {
        self.fluid.touch(flow);
        self.started.touch(flow);
    }

    /// Whose packet is next, if all is settled and one has started.
    #[inline]
    fn ready<P>(&self, now: Time, queues: &FlowQueues<M, B, P>) -> Option<u32> {
        let is_settled = self.fluid.is_settled(now) && self.steer.is_none() && self.guard.is_none();
        self.started.front(queues).filter(|_| is_settled).map(|(flow, _)| flow.index)
    }

    /// Whose packet is next; else what to wait for. Apart, so that the flow comes back in a register.
    fn find<P>(&mut self, now: Time, queues: &mut FlowQueues<M, B, P>, wait: &mut Choice) -> Option<u32> {
        if let Some(puts_off) = self.fluid.puts_off(now, &self.started) {
            *wait = puts_off;
            return None;
        }
        self.fluid.settle(now, queues, &mut self.started);
        self.turn(now, queues);
        loop {
            if let Some((flow, _)) = self.started.front(queues) {
                return Some(flow.index);
            }
            if let Some(until) = self.fluid.find_start(queues, &mut self.started) {
                *wait = until;
                return None;
            }
        }
    }

    /// A packet is heard of on this resource, so what nobody has reported before is over by now.
    #[cold]
    fn leaves_before(&mut self, ticket: &mut Ticket<M>, resource: usize) {
        (ticket.at()..resource).for_each(|before| self.fluid.leaves(ticket, before, Duration::MAX));
    }

    #[cold]
    fn turn_alpha<P>(&mut self, now: Time, queues: &mut FlowQueues<M, B, P>) {
        let alpha = match (&mut self.steer, &mut self.guard) {
            (None, None) => return,
            (Some(steer), _) => steer.pass(now, queues.packets() > 0, self.fluid.fair_use()),
            (None, Some(guard)) => guard.pass(now),
        };
        if let Some(alpha) = alpha {
            self.fluid.set_alpha(alpha, queues, &mut self.started);
        }
    }

    /// For how long the fluid has stood still because the CPU or the link was late: never with exact times and a system
    /// that keeps up, or with several servers.
    pub fn stood_still(&self) -> Duration {
        self.fluid.stood_still()
    }

    /// The dominant share of a flow of this index, weight and own alpha that is backlogged in the fluid, since its last
    /// event.
    pub fn share(&self, flow: u32, weight: f64, alpha: Option<Part>) -> f64 {
        self.fluid.share(flow, weight, alpha)
    }

    /// How often a flow became favoured so far.
    pub fn identity_switches(&self) -> u64 {
        self.fluid.switches()
    }
}

fn bad_alpha(value: &str) -> SpecError {
    SpecError::bad_value("alpha", value, "a number from 0 (efficiency only) to 1 (strict fairness)")
}

fn parse_alpha(value: &str) -> Result<f64, SpecError> {
    value.parse().ok().filter(|a| (0.0..=1.0).contains(a)).ok_or_else(|| bad_alpha(value))
}

/// What a target may be.
const TARGET: &str =
    "how much every resource is to be used, such as 95 %, or one of them by its number, such as 0 95 %, or none";

/// A part of the time, maybe with the number of a resource before it, or none.
fn parse_target<const M: usize>(value: &str) -> Result<Option<Target>, SpecError> {
    if value == "none" {
        return Ok(None);
    }
    let (resource, used) = match value.split_once(' ').filter(|(_, used)| used.trim() != "%") {
        Some((resource, used)) => (Some(resource.parse().ok().filter(|&resource: &usize| resource < M)), used),
        None => (None, value),
    };
    match (resource, part(used)) {
        (None, Some(part)) => Ok(Some(Target::every(part))),
        (Some(Some(resource)), Some(part)) => Ok(Some(Target { resource: Some(resource), part })),
        _ => Err(SpecError::bad_value("target", value, TARGET)),
    }
}

/// What a protection may be.
const PROTECT: &str = "the number of a class and the 99th percentile of its latency, such as 1 5 ms, or none";

/// The number of a class and a time, or none.
fn parse_protect(value: &str) -> Result<Option<Protect>, SpecError> {
    if value == "none" {
        return Ok(None);
    }
    let parts = value.split_once(' ').and_then(|(class, time)| {
        let p99 = time.parse::<Duration>().ok().filter(|&p99| p99 > Duration::ZERO)?;
        Some(Protect { class: class.parse().ok()?, p99 })
    });
    parts.map(Some).ok_or_else(|| SpecError::bad_value("protect", value, PROTECT))
}

impl<const M: usize, B: Bonus<M>> Discipline<M> for Tradeoff<M, B> {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    const READS_AHEAD: Worth = BY_FLUID;

    type Flow = FluidFlow<M, B::Place>;
    type Stamp = ();
    type Note = HandedOut<M>;

    fn steering(&self) -> Option<Steering> {
        self.steer.as_ref().map(Steer::seen).or_else(|| self.guard.as_ref().map(Guard::seen))
    }

    #[inline]
    fn left<P>(&mut self, now: Time, flow: FlowId, stayed: Duration, queues: &FlowQueues<M, B, P>) {
        if let Some(guard) = &mut self.guard
            && queues.get(flow).is_some_and(|record| record.state.floor == Floor::First)
        {
            guard.left(now, stayed);
        }
    }

    #[inline]
    fn touch_arriving(&self, flow: u32, state: &Self::Flow) {
        // If it is backlogged in the fluid, that need not know yet.
        if !self.fluid.has(state) {
            self.touch_head(flow);
        }
    }

    #[inline]
    fn ahead(&self, packets: usize, ahead: &mut Ahead) {
        self.started.ahead(packets, ahead);
    }

    #[inline]
    fn coming(&self, look_at: impl Fn([u32; 3])) {
        if let Some(ending) = self.fluid.coming() {
            self.touch_head(ending[0]);
            look_at(ending);
        }
        if let Some(starting) = self.started.coming() {
            self.started.touch(starting[0]);
            look_at(starting);
        }
    }

    #[inline]
    fn upcoming(&self, packets: usize, ahead: &mut Ahead) {
        self.fluid.ahead(packets, ahead);
        ahead.flows().iter().for_each(|&flow| self.touch_head(flow));
    }

    fn added<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, B, P>) {
        self.fluid.added(flow);
        queues.flow_mut(flow).state.visit = self.fluid.anteroom.visit(flow, queues.packets());
    }

    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, B, P>) {
        if queues.flow(flow).state.has_next() {
            // An earlier packet of the flow starts first: the fluid need not know yet.
            return;
        }
        self.fluid.arrive(flow, slot, queues, &mut self.started);
    }

    #[inline(always)]
    fn choose<P>(&mut self, now: Time, queues: &mut FlowQueues<M, B, P>) -> Choice {
        if let Some(flow) = self.ready(now, queues) {
            return Choice::Flow(flow);
        }
        let mut wait = Choice::AwaitProgress;
        self.find(now, queues, &mut wait).map_or(wait, Choice::Flow)
    }

    #[inline(always)]
    fn served<P>(
        &mut self,
        _now: Time,
        flow: u32,
        cost: &ResourceVec<M>,
        queues: &mut FlowQueues<M, B, P>,
    ) -> HandedOut<M> {
        self.fluid.handed_out_of(flow, queues);
        if queues.flow(flow).packets >= DEEP {
            // Mostly the flow's next head in the fluid.
            queues.touch_head(flow);
        }
        let Some(latest) = self.started.pop_front() else { return HandedOut::read(Words::NONE) };
        HandedOut::new(self.fluid.hand_out(cost), latest)
    }

    #[inline(always)]
    fn progressed_among<P>(
        &mut self,
        now: Time,
        ticket: &mut Ticket<M>,
        resource: usize,
        event: Progress,
        queues: &mut FlowQueues<M, B, P>,
    ) {
        let at = ticket.at();
        if at < resource && event != Progress::Abandoned {
            self.leaves_before(ticket, resource);
        }
        let packet: HandedOut<M> = ticket.note();
        if resource > 0 || event == Progress::Abandoned {
            self.settle(now, queues);
        }
        if let (Some(steer), Progress::Finished { used }) = (&mut self.steer, event) {
            steer.used(resource, used.min(LONGEST_TIME));
        }
        match event {
            Progress::Finished { used } if resource + 1 < M => self.fluid.leaves(ticket, resource, used),
            Progress::Started if resource > 0 => {
                self.fluid.starts_on_link(resource, packet.number, packet.latest(resource));
            }
            Progress::Finished { .. } => self.fluid.ends(packet.number, M),
            Progress::Abandoned => self.fluid.ends(packet.number, at),
            Progress::Started => {}
        }
    }

    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut FlowQueues<M, B, P>) {
        queues.flow_mut(flow).state.correct(took, ticket.charged[took.resource]);
    }

    #[inline]
    fn settle<P>(&mut self, now: Time, queues: &mut FlowQueues<M, B, P>) {
        self.fluid.settle(now, queues, &mut self.started);
        self.turn(now, queues);
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<M, B, P>) {
        self.fluid.reweigh(flow, old, queues, &mut self.started);
    }

    fn guaranteed<P>(&mut self, flow: u32, config: &FlowConfig<M>, queues: &mut FlowQueues<M, B, P>) {
        let protected = self.guard.as_ref().map(|guard| guard.wanted().class);
        let is_protected = protected.is_some() && config.class == protected;
        let floor = if is_protected { Floor::First } else { Floor::of(config.alpha) };
        self.fluid.guarantee(flow, floor, queues, &mut self.started);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, B, P>) {
        self.fluid.remove(flow, queues, &mut self.started);
        self.started.forget(flow, queues);
    }

    fn set<P>(&mut self, parameter: &str, value: &str, queues: &mut FlowQueues<M, B, P>) -> Result<(), SpecError> {
        let alpha = match (parameter, &mut self.steer) {
            ("alpha", steer) => {
                self.alpha = parse_alpha(value)?;
                match (steer, &mut self.guard) {
                    (Some(steer), _) => steer.limit(self.alpha),
                    (None, Some(guard)) => guard.limit(self.alpha),
                    (None, None) => self.alpha,
                }
            }
            ("target", _) if self.guard.is_some() => {
                let none = parse_target::<M>(value)?.is_none();
                return if none { Ok(()) } else { Err(SpecError::bad_value("target", value, "none beside protect")) };
            }
            ("target", steer) => match (parse_target::<M>(value)?, steer) {
                (None, steer) => {
                    *steer = None;
                    self.alpha
                }
                (Some(target), Some(steer)) => {
                    steer.aim(target);
                    return Ok(());
                }
                (Some(target), steer) => {
                    *steer = Some(Steer::new(target, self.alpha));
                    1.0
                }
            },
            _ => return Err(ENTRY.cannot_change(parameter)),
        };
        self.fluid.set_alpha(alpha, queues, &mut self.started);
        Ok(())
    }
}
