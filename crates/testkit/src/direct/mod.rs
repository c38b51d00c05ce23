//! The tradeoff discipline by the paper's direct implementation (section 5.2): for every flow the dominant share d_i
//! and what remains of its head packet R_i, and at each event a visit to every flow. No heap, no virtual time, no
//! running sums.
//!
//! For two resources it takes Theorem 3 from [`allocate`] (which `dovetail_model` checks by a linear program) and who
//! is near an end of order (23) from [`near_end`]. For more, `many` solves the linear program (21) by its vertices, and
//! takes the classes of times from [`Grid`]. It has the *numbers* of [`dovetail_sched::tradeoff`], so that the two can
//! be compared decision by decision:
//!
//! * Time in ticks of 2^-22 ns. R_i is in ticks of dominant time per weight, at least one. What a division by the
//!   weight leaves below a tick is kept for the flow's next packet, what guaranteed service, and the bonus at either
//!   end, leave below one for the next span; while no flow is backlogged nothing is kept of these.
//! * Normalised times in 2^-32, to the nearest.
//! * The head packet that ends first does so at the first tick by which it surely has: floor(R_i / rate) + 1, with R_i
//!   a tick more where two roundings come together.
//! * Of several packets that end in the same tick, regular flows go first, by what is left and then by index; then the
//!   favoured flow at the start of order (23), then the one at its end. What a flow was served beyond the end goes to
//!   its next packet.
//! * With alpha = 0 a packet starts when its flow is favoured, as (17) and (18) say, and never ends before: what was
//!   served beyond the end of the one before leaves a tick of it at least. When alpha rises, those that have not
//!   started do so in the order in which they came to the head.
//! * The R_i of a flow with an alpha of its own above 0 is divided by that too, of which what is left below a tick is
//!   kept for the next packet; for what it is charged for bonus it is multiplied by it, rounded up. Of packets that end
//!   in one tick, those of regular flows with an alpha of their own come after those of other regular flows, and those
//!   with one of 0 last of these. With one
//!   of 0 a flow stands as with alpha = 0, whatever that is, and shares are allocated after each thing while such a
//!   flow is backlogged.
//! * Of packets that end in one tick, those of regular flows of a protected class come last.
//! * Of the flows near an end the favoured one has the least sum of what it has had of that end's bonus and its whole
//!   head packet, both in time per weight; equals go by index. It has had as much as the one that has had most when it
//!   becomes backlogged; and when it is charged for bonus, no less than that one less its longest head since it was up
//!   to it.
//! * Shares are allocated after all that happens at an instant, with alpha = 0 after each thing; not while packets that
//!   end at this instant are left.
//! * What a packet took more or less than it said is charged to its flow's next packet, on each resource in
//!   nanoseconds, if it is more than a 4096th of what that takes and more than one; R_i has all of it.
//! * The fluid's time stands still while the first packet that has started and waits is late on the CPU; and from when
//!   a packet that is late starts on the link until one does that is not, or the one that was handed out last has. A
//!   packet is planned to be on CPU and link behind all that started before, for as long as it is charged in the fluid,
//!   from the first whole nanosecond that is not before its start; it is late when it has not started there after it
//!   could have been through with both. Of packets that need no CPU and were handed out while it was the last one
//!   there, their times on the link are added to that; and so for those that need nothing on a link between and leave
//!   that while it is there.
//! * Between two events R_i is brought up to date, and so rounded, when a flow becomes backlogged in the fluid or is
//!   removed from it, and at a change of a weight or alpha; at no other time.
//! * A call handles [`EVENTS_PER_CALL`] ends and instants of ends (of more than two resources [`EVENTS_OF_MANY`]), and
//!   as many starts that alpha = 0 had kept back.
//!   What is left is left to the next calls: packets that come meanwhile come where the fluid stands, and what starts
//!   is planned from the last call that left something.
//!
//! Cost per call: O(n) for each event, n flows.

mod contract;
mod floors;
mod heads;
mod late;
mod many;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use dovetail_sched::tradeoff::{DEFAULT_TOLERANCE, EVENTS_OF_MANY, EVENTS_PER_CALL, Grid, allocate, near_end};
use dovetail_sched::{DropReason, FlowConfig, FlowId, Refused, Stats};
use dovetail_units::{Duration, ResourceVec, Time};
use floors::{Floor, Floors};

const TICK_BITS: u32 = 22;
const ONE: u64 = 1 << 32;

#[derive(Clone, Debug)]
struct Head<const M: usize> {
    cost: ResourceVec<M>,
    /// With what earlier packets took more or less than they said.
    charged: ResourceVec<M>,
    /// R_i.
    left: i128,
    /// Of the whole packet.
    service: u128,
    started: bool,
    /// Heads that came before.
    number: u64,
}

#[derive(Clone, Debug)]
struct Flow<const M: usize, P> {
    generation: u32,
    live: bool,
    config: FlowConfig<M>,
    /// Packets that were not served.
    waiting: VecDeque<(u32, ResourceVec<M>, P)>,
    /// Costs of the packets that have not come to the head in the fluid.
    unstarted: VecDeque<ResourceVec<M>>,
    /// The head packet in the fluid; none if the flow is not backlogged there.
    head: Option<Head<M>>,
    /// By end of order (23): what it is counted to have had of the bonus, per weight, and its longest head since it
    /// was up to the others.
    had: [u128; 2],
    longest: [u128; 2],
    /// Of more than two resources: what it is counted to have had of all bonuses, and the most that a flow near it had
    /// when it was last favoured.
    had_of_all: u128,
    most_near: u128,
    /// What it has had besides since it was charged.
    uncharged: u128,
    /// Of a tick that divisions by the weight have left, in thousandths of the weight; and those by its own alpha.
    part: u128,
    rest: u128,
    /// What earlier packets took more than they said on each resource, nanoseconds.
    owed: [i64; M],
}

/// The tradeoff discipline, directly.
#[derive(Clone, Debug)]
pub struct DirectTradeoff<const M: usize, P> {
    alpha: f64,
    tolerance: f64,
    /// The latest time that was heard.
    heard: Time,
    now: Time,
    /// `now` in the fluid's time.
    fluid_now: Time,
    /// The instant up to which the fluid's events were handled, in ticks.
    clock: u128,
    flows: Vec<Flow<M, P>>,
    free: Vec<u32>,
    /// Guaranteed dominant share per weight of flows without an alpha of their own, and what of a tick it has left; and
    /// per weight and alpha of those with one.
    rate: f64,
    part: f64,
    own_rate: f64,
    own_part: f64,
    /// Whether a flow has had an alpha of its own: before, nothing is served by that rate.
    has_own: bool,
    /// The class that is protected, and whether a flow of it has been there; its flows' share per weight.
    protected: Option<u16>,
    has_first: bool,
    first_rate: f64,
    first_part: f64,
    /// The alpha that holds after the next events.
    turns_to: Option<f64>,
    /// The favoured flows, of two resources those near the start and the end of order (23): their bonus per weight,
    /// and per alpha of their own if they have one above 0.
    favoured: [Option<(usize, f64)>; M],
    bonus_part: [f64; M],
    /// Packets that end at `clock` may be left.
    ending: bool,
    /// Something has happened at `clock` since the shares were allocated.
    stale: bool,
    /// When a packet was asked for and events were left: asked again then, nothing more is handled.
    put_off: Option<Time>,
    /// The last call that left events to others.
    unknown_until: Time,
    /// Packets that have started, and when each is late on every resource.
    started: VecDeque<(FlowId, [Time; M])>,
    /// When each resource is through with each packet that has started, as planned.
    planned: Vec<[Time; M]>,
    /// Packets that were handed out: for how long each has the links up to every one if it bypasses the CPU.
    handed_out: Vec<Option<[Duration; M]>>,
    /// The numbers of packets, and the resources with which they are through; and for those to which they have come,
    /// how many had gone [past](Self::past) others there by then.
    gone: BTreeSet<(u64, usize)>,
    came: BTreeMap<(u64, usize), usize>,
    /// By link: for how long each packet that overtook others there has the later links up to each.
    past: [Vec<[Duration; M]>; M],
    /// By link: the highest number of those that have come there or left.
    through: [u64; M],
    is_late: [bool; M],
    /// By end of order (23): the most that a flow has had of the bonus.
    most: [u128; 2],
    /// Of more than two resources.
    cells: many::Occupied<M>,
    heads: u64,
    stats: Stats,
    /// Of every packet that has ended in the fluid: its flow's index and when, in the order of ends.
    pub finishes: Vec<(usize, Time)>,
    /// The most flows that were backlogged in the fluid at one time.
    pub most_backlogged: usize,
}

impl<const M: usize, P> DirectTradeoff<M, P> {
    const EVENTS: usize = if M == 2 { EVENTS_PER_CALL } else { EVENTS_OF_MANY };

    /// With this `alpha` in [0, 1] and the default tolerance.
    pub fn new(alpha: f64) -> Self {
        Self::with_tolerance(alpha, DEFAULT_TOLERANCE)
    }

    /// With this `alpha` in [0, 1] and this tolerance.
    pub fn with_tolerance(alpha: f64, tolerance: f64) -> Self {
        Self {
            alpha,
            tolerance,
            heard: Time::ZERO,
            now: Time::ZERO,
            fluid_now: Time::ZERO,
            clock: 0,
            flows: Vec::new(),
            free: Vec::new(),
            rate: 0.0,
            part: 0.0,
            own_rate: 0.0,
            own_part: 0.0,
            has_own: false,
            protected: None,
            has_first: false,
            first_rate: 0.0,
            first_part: 0.0,
            turns_to: None,
            favoured: [None; M],
            bonus_part: [0.0; M],
            ending: false,
            stale: false,
            unknown_until: Time::ZERO,
            put_off: None,
            started: VecDeque::new(),
            planned: Vec::new(),
            handed_out: Vec::new(),
            gone: BTreeSet::new(),
            came: BTreeMap::new(),
            past: std::array::from_fn(|_| Vec::new()),
            through: [0; M],
            is_late: [false; M],
            most: [0; 2],
            cells: many::Occupied { grid: Grid::new(tolerance), most: BTreeMap::new(), guess: None },
            heads: 0,
            stats: Stats::default(),
            finishes: Vec::new(),
            most_backlogged: 0,
        }
    }

    /// With a class whose flows have first what all others leave, before there is any flow.
    #[must_use]
    pub fn protecting(self, class: u16) -> Self {
        Self { protected: Some(class), ..self }
    }

    /// Alpha adjusts itself in the call that follows, once the fluid's events are handled.
    pub fn turn_to(&mut self, alpha: f64) {
        self.turns_to = Some(alpha);
    }

    fn find(&self, flow: FlowId) -> Option<usize> {
        let at = flow.index();
        let record = self.flows.get(at)?;
        (record.live && self.id(at) == flow).then_some(at)
    }

    fn id(&self, at: usize) -> FlowId {
        FlowId::new(at as u32, self.flows[at].generation)
    }

    fn backlogged(&self) -> impl Iterator<Item = (usize, &Flow<M, P>, &Head<M>)> {
        self.flows.iter().enumerate().filter_map(|(i, f)| f.head.as_ref().map(|h| (i, f, h)))
    }

    /// The call's time, which never runs backwards.
    fn hear(&mut self, now: Time) {
        self.heard = self.heard.max(now);
    }

    /// Whether no packet waits, and there was time for all heads one after another on every resource, and for rounding.
    fn is_over(&self) -> bool {
        let work = |(_, flow, head): (usize, &Flow<M, P>, &Head<M>)| {
            let used: u64 = head.charged.0.iter().map(|time| time.as_nanos()).sum();
            (u128::from(used) << TICK_BITS) + u128::from(flow.config.weight.as_milli())
        };
        let work: u128 = self.backlogged().map(work).sum();
        let regular = self.backlogged().filter(|&(i, ..)| self.bonus_of(i).is_none()).count() as u128;
        let spare = (work >> if M == 2 { 30 } else { 16 }) + 4 * (regular + 2);
        self.flows.iter().all(|flow| flow.waiting.is_empty()) && self.until_now() > work + spare
    }

    /// Every event up to now, but no more than a call may, unless all is over.
    fn handle_events(&mut self) {
        let passed = self.heard.since(self.now);
        self.now = self.heard;
        let stood = self.fluid_now;
        let wanted = if self.a_link_is_late() { stood } else { stood + passed };
        self.hold(stood, wanted);
        let mut events = if self.is_over() { usize::MAX } else { Self::EVENTS };
        self.start_kept_back();
        loop {
            self.hold(stood, wanted);
            if self.ending {
                if !self.end_due(&mut events) {
                    break;
                }
                self.ending = false;
                self.reallocate();
                continue;
            }
            if self.stale && self.until_now() > 0 {
                self.reallocate();
            }
            let left = self.until_now();
            let Some(ticks) = self.until_event().filter(|&ticks| !self.stale && ticks <= left) else { break };
            if events == 0 {
                break;
            }
            events -= 1;
            self.run(ticks);
            self.ending = true;
        }
        self.hold(stood, wanted);
        if self.lags() {
            self.unknown_until = self.fluid_now;
        }
        if let Some(alpha) = self.turns_to.take() {
            self.set_alpha(alpha);
        }
    }

    fn set_alpha(&mut self, alpha: f64) {
        self.run_to_now();
        self.alpha = alpha;
        self.start_kept_back();
        self.changed();
    }

    /// Every event until this instant, in as many calls as that takes.
    pub fn run_until(&mut self, time: Time) {
        self.hear(time);
        self.handle_events();
        while self.lags() {
            self.handle_events();
        }
    }

    /// The CPU is late as soon as the packet that is first is.
    fn hold(&mut self, stood: Time, wanted: Time) {
        let late = self.find_started().map(|latest| latest[0]);
        self.fluid_now = late.map_or(wanted, |late| wanted.min(late)).max(stood);
    }

    /// When the first packet that has started and waits is late on every resource.
    fn find_started(&self) -> Option<[Time; M]> {
        self.started.iter().find(|(flow, _)| self.find(*flow).is_some()).map(|(_, latest)| *latest)
    }

    /// Whether events that should have been handled by now are left.
    fn lags(&self) -> bool {
        let left = self.until_now();
        self.ending || if self.stale { left > 0 } else { self.until_event().is_some_and(|ticks| ticks <= left) }
    }

    fn until_now(&self) -> u128 {
        (u128::from(self.fluid_now.as_nanos()) << TICK_BITS) - self.clock
    }

    /// Something other than the end of a packet changes the shares now.
    fn run_to_now(&mut self) {
        if !self.lags() {
            self.run(self.until_now());
        }
    }

    /// The shares are to be allocated anew.
    fn changed(&mut self) {
        self.stale = true;
        let without_floor = |(_, f, _): (usize, &Flow<M, P>, &Head<M>)| self.floor(&f.config) == Floor::Nothing;
        if (self.alpha == 0.0 || self.backlogged().any(without_floor)) && !self.ending {
            self.reallocate();
        }
    }

    /// Near which end the flow is favoured, and with how much per weight.
    fn bonus_of(&self, flow: usize) -> Option<(usize, f64)> {
        (0..M).find_map(|end| self.favoured[end].filter(|f| f.0 == flow).map(|f| (end, f.1)))
    }

    fn until_event(&self) -> Option<u128> {
        let ticks = |left: i128, part: f64, rate: f64| match rate {
            rate if rate > 0.0 => ((left.max(0) as f64 - part) / rate) as u128,
            _ => u128::MAX,
        };
        let of_flow = |(i, f, h): (usize, &Flow<M, P>, &Head<M>)| {
            let (rate, part) = self.floor_of(f);
            match self.bonus_of(i) {
                None => ticks(h.left, part, rate),
                Some((end, bonus)) => {
                    // Without a floor only the bonus serves, and what the floor has below a tick stays there.
                    let (spare, part) = if rate > 0.0 { (1, part) } else { (0, 0.0) };
                    ticks(h.left + spare, part + self.bonus_part[end], rate + bonus)
                }
            }
        };
        self.backlogged().map(|head| of_flow(head).min(1 << 100) + 1).min()
    }

    fn run(&mut self, ticks: u128) {
        self.clock += ticks;
        let whole = |part: &mut f64, rate: f64| {
            let served = *part + ticks as f64 * rate;
            *part = served - (served as u128) as f64;
            served as i128
        };
        let guaranteed = whole(&mut self.part, self.rate);
        let own = whole(&mut self.own_part, self.own_rate);
        let first = whole(&mut self.first_part, self.first_rate);
        let protected = self.protected;
        for flow in &mut self.flows {
            let floor = match Floor::of(&flow.config, protected) {
                Floor::Common => guaranteed,
                Floor::Own(_) => own,
                Floor::Nothing => 0,
                Floor::First => first,
            };
            flow.head.iter_mut().for_each(|head| head.left -= floor);
        }
        for end in 0..M {
            let Some((flow, rate)) = self.favoured[end] else { continue };
            let bonus = whole(&mut self.bonus_part[end], rate);
            self.flows[flow].uncharged += bonus as u128;
            self.flows[flow].head.iter_mut().for_each(|head| head.left -= bonus);
        }
    }

    /// End what has ended; whether none is left.
    fn end_due(&mut self, events: &mut usize) -> bool {
        loop {
            let due = |&(_, _, h): &(usize, &Flow<M, P>, &Head<M>)| h.left <= 0;
            let regular = self.backlogged().filter(due).filter(|&(i, ..)| self.bonus_of(i).is_none());
            let class = |f: &Flow<M, P>| match self.floor(&f.config) {
                Floor::Common => 0,
                Floor::Own(_) => 1,
                Floor::Nothing => 2,
                Floor::First => 3,
            };
            let regular = regular.map(|(i, f, h)| (class(f), h.left, i)).min().map(|(.., i)| i);
            let favoured = || {
                let of_end =
                    |end| self.backlogged().filter(due).find(|&(i, ..)| self.bonus_of(i).map(|b| b.0) == Some(end));
                (0..M).find_map(of_end).map(|(i, ..)| i)
            };
            let Some(flow) = regular.or_else(favoured) else { return true };
            if *events == 0 {
                return false;
            }
            *events -= 1;
            self.end_head(flow);
        }
    }

    /// Whose turn it is near this end of order (23).
    fn of_turn(&self, end: usize) -> Option<usize> {
        let times = |h: &Head<M>| normalised(&h.cost);
        let ratios: Vec<_> = self.backlogged().map(|(_, _, h)| [times(h)[0], times(h)[1]]).collect();
        let near = near_end(&ratios, end, self.tolerance);
        let flows = self.backlogged().zip(near).filter(|(_, near)| *near);
        flows.map(|((i, f, h), _)| (f.had[end] + h.service, i)).min().map(|(_, i)| i)
    }

    /// Every flow's d_i by (19).
    fn reallocate(&mut self) {
        self.stale = false;
        self.most_backlogged = self.most_backlogged.max(self.backlogged().count());
        if self.backlogged().next().is_none() {
            (self.rate, self.part, self.bonus_part) = (0.0, 0.0, [0.0; M]);
            (self.own_rate, self.own_part) = (0.0, 0.0);
            (self.first_rate, self.first_part) = (0.0, 0.0);
            return;
        }
        let Floors { bottleneck, gamma, left } = self.after_floors();
        let wanted = match left {
            None => [None; M],
            Some(left) if M == 2 => self.by_theorem_3(left),
            Some(left) => self.by_vertices(left),
        };
        self.rate = self.alpha / bottleneck;
        self.own_rate = if self.has_own { 1.0 / bottleneck } else { 0.0 };
        self.first_rate = if self.has_first { gamma / bottleneck } else { 0.0 };
        for (end, wanted) in wanted.iter().enumerate() {
            let Some((flow, _)) = self.favoured[end] else { continue };
            if wanted.is_none_or(|w| w.0 != flow) {
                self.charge(flow, end);
            }
        }
        let rate = |(flow, bonus): (usize, f64)| {
            let weight = self.flows[flow].config.weight.as_f64();
            let unit = match self.floor(&self.flows[flow].config) {
                Floor::Own(alpha) => weight * alpha as f64 / 1000.0,
                _ => weight,
            };
            (flow, bonus / unit)
        };
        self.favoured = wanted.map(|w| w.map(rate));
        for (flow, _) in wanted.into_iter().flatten() {
            self.start(flow, self.known_at());
        }
    }

    /// The bonuses of two resources.
    fn by_theorem_3(&self, left: [f64; M]) -> [Option<(usize, f64)>; M] {
        let flows = [0, 1].map(|end| self.of_turn(end));
        let unit = |flow: Option<usize>| {
            let cost = flow.and_then(|flow| self.flows[flow].head.as_ref()).map_or(ResourceVec::ZERO, |h| h.cost);
            let times = normalised(&cost).map(|t| t as f64 / ONE as f64);
            [times[0], times[1]]
        };
        let mut wanted = [None; M];
        let bonuses = allocate([left[0], left[1]], |end| unit(flows[end]));
        for (end, bonus) in bonuses.into_iter().enumerate() {
            wanted[end] = flows[end].filter(|_| bonus > 0.0).map(|flow| (flow, bonus));
        }
        wanted
    }

    fn refuse(&mut self, reason: DropReason, payload: P) -> Result<(), Refused<P>> {
        self.stats.refused[reason as usize] += 1;
        Err(Refused { reason, payload })
    }
}

/// The first instant that is not before this many ticks.
fn in_time(ticks: u128) -> Time {
    Time::from_nanos(u64::try_from(ticks.div_ceil(1 << TICK_BITS)).unwrap_or(u64::MAX))
}

/// Normalised processing times (eq. 12) in units of 2^-32, to the nearest; of a packet that takes no time at all, one.
fn normalised<const M: usize>(cost: &ResourceVec<M>) -> [u64; M] {
    let longest = u128::from(cost.dominant_time().as_nanos());
    cost.0.map(|time| match longest {
        0 => ONE,
        _ => (((u128::from(time.as_nanos()) << 32) + longest / 2) / longest) as u64,
    })
}
