//! The tradeoff discipline by the paper's direct implementation (section 5.2): for every flow the dominant share d_i
//! and what remains of its head packet R_i, and at each event a visit to every flow. No heap, no virtual time, no
//! running sums.
//!
//! It takes Theorem 3 from [`allocate`] (which `dovetail_model` checks by a linear program), who is near an end of
//! order (23) from [`near_end`], and the *numbers* of [`dovetail_sched::tradeoff`], so that the two can be compared
//! decision by decision:
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
//!   there, their times on the link are added to that.
//! * Between two events R_i is brought up to date, and so rounded, when a flow becomes backlogged in the fluid or is
//!   removed from it, and at a change of a weight or alpha; at no other time.
//! * A call handles [`EVENTS_PER_CALL`] ends and instants of ends, and as many starts that alpha = 0 had kept back.
//!   What is left is left to the next calls: packets that come meanwhile come where the fluid stands, and what starts
//!   is planned from the last call that left something.
//!
//! Cost per call: O(n) for each event, n flows.

mod contract;

use std::collections::VecDeque;

use dovetail_sched::tradeoff::{DEFAULT_TOLERANCE, EVENTS_PER_CALL, allocate, near_end};
use dovetail_sched::{DropReason, FlowConfig, FlowId, LONGEST_TIME, Refused, Stats};
use dovetail_units::{Duration, ResourceVec, Time};

const TICK_BITS: u32 = 22;
const ONE: u64 = 1 << 32;

#[derive(Clone, Debug)]
struct Head {
    cost: ResourceVec<2>,
    /// With what earlier packets took more or less than they said.
    charged: ResourceVec<2>,
    /// R_i.
    left: i128,
    /// Of the whole packet.
    service: u128,
    started: bool,
    /// Heads that came before.
    number: u64,
}

#[derive(Clone, Debug)]
struct Flow<P> {
    generation: u32,
    live: bool,
    config: FlowConfig<2>,
    /// Packets that were not served.
    waiting: VecDeque<(u32, ResourceVec<2>, P)>,
    /// Costs of the packets that have not come to the head in the fluid.
    unstarted: VecDeque<ResourceVec<2>>,
    /// The head packet in the fluid; none if the flow is not backlogged there.
    head: Option<Head>,
    /// By end of order (23): what it is counted to have had of the bonus, per weight, and its longest head since it
    /// was up to the others.
    had: [u128; 2],
    longest: [u128; 2],
    /// What it has had besides since it was charged.
    uncharged: u128,
    /// Of a tick that divisions by the weight have left, in thousandths of the weight.
    part: u128,
    /// What earlier packets took more than they said on each resource, nanoseconds.
    owed: [i64; 2],
}

/// The tradeoff discipline, directly.
#[derive(Clone, Debug)]
pub struct DirectTradeoff<P> {
    alpha: f64,
    tolerance: f64,
    /// The latest time that was heard.
    heard: Time,
    now: Time,
    /// `now` in the fluid's time.
    fluid_now: Time,
    /// The instant up to which the fluid's events were handled, in ticks.
    clock: u128,
    flows: Vec<Flow<P>>,
    free: Vec<u32>,
    /// Guaranteed dominant share per weight, and what of a tick it has left.
    rate: f64,
    part: f64,
    /// The favoured flows near the start and the end of order (23): their bonus per weight.
    favoured: [Option<(usize, f64)>; 2],
    bonus_part: [f64; 2],
    /// Packets that end at `clock` may be left.
    ending: bool,
    /// Something has happened at `clock` since the shares were allocated.
    stale: bool,
    /// When a packet was asked for and events were left: asked again then, nothing more is handled.
    put_off: Option<Time>,
    /// The last call that left events to others.
    unknown_until: Time,
    /// Packets that have started, and when each is late on CPU and link.
    started: VecDeque<(FlowId, [Time; 2])>,
    /// When CPU and link are through with each packet that has started, as planned.
    planned: Vec<[Time; 2]>,
    /// Packets that were handed out: for how long each has the link if it bypasses the CPU.
    handed_out: Vec<Option<Duration>>,
    /// The highest number of those that have come to the link or left.
    through: u64,
    link_is_late: bool,
    /// By end of order (23): the most that a flow has had of the bonus.
    most: [u128; 2],
    heads: u64,
    stats: Stats,
}

impl<P> DirectTradeoff<P> {
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
            favoured: [None; 2],
            bonus_part: [0.0; 2],
            ending: false,
            stale: false,
            unknown_until: Time::ZERO,
            put_off: None,
            started: VecDeque::new(),
            planned: Vec::new(),
            handed_out: Vec::new(),
            through: 0,
            link_is_late: false,
            most: [0; 2],
            heads: 0,
            stats: Stats::default(),
        }
    }

    fn find(&self, flow: FlowId) -> Option<usize> {
        let at = flow.index();
        let record = self.flows.get(at)?;
        (record.live && self.id(at) == flow).then_some(at)
    }

    fn id(&self, at: usize) -> FlowId {
        FlowId::new(at as u32, self.flows[at].generation)
    }

    fn backlogged(&self) -> impl Iterator<Item = (usize, &Flow<P>, &Head)> {
        self.flows.iter().enumerate().filter_map(|(i, f)| f.head.as_ref().map(|h| (i, f, h)))
    }

    /// The call's time, which never runs backwards.
    fn hear(&mut self, now: Time) {
        self.heard = self.heard.max(now);
    }

    /// Every event up to now, but no more than a call may.
    fn handle_events(&mut self) {
        let passed = self.heard.since(self.now);
        self.now = self.heard;
        let stood = self.fluid_now;
        let wanted = if self.link_is_late { stood } else { stood + passed };
        self.hold(stood, wanted);
        self.start_kept_back();
        let mut events = EVENTS_PER_CALL;
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
    }

    /// The CPU is late as soon as the packet that is first is.
    fn hold(&mut self, stood: Time, wanted: Time) {
        let late = self.find_started().map(|latest| latest[0]);
        self.fluid_now = late.map_or(wanted, |late| wanted.min(late)).max(stood);
    }

    /// When the first packet that has started and waits is late on CPU and link.
    fn find_started(&self) -> Option<[Time; 2]> {
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
        if self.alpha == 0.0 && !self.ending {
            self.reallocate();
        }
    }

    /// Near which end the flow is favoured, and with how much per weight.
    fn bonus_of(&self, flow: usize) -> Option<(usize, f64)> {
        (0..2).find_map(|end| self.favoured[end].filter(|f| f.0 == flow).map(|f| (end, f.1)))
    }

    fn until_event(&self) -> Option<u128> {
        let ticks = |left: i128, part: f64, rate: f64| match rate {
            rate if rate > 0.0 => ((left.max(0) as f64 - part) / rate) as u128,
            _ => u128::MAX,
        };
        let of_flow = |(i, _, h): (usize, &Flow<P>, &Head)| match self.bonus_of(i) {
            None => ticks(h.left, self.part, self.rate),
            Some((end, bonus)) => {
                // Without a floor only the bonus serves, and what the floor has below a tick stays there.
                let (spare, part) = if self.rate > 0.0 { (1, self.part) } else { (0, 0.0) };
                ticks(h.left + spare, part + self.bonus_part[end], self.rate + bonus)
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
        for head in self.flows.iter_mut().filter_map(|flow| flow.head.as_mut()) {
            head.left -= guaranteed;
        }
        for end in 0..2 {
            let Some((flow, rate)) = self.favoured[end] else { continue };
            let bonus = whole(&mut self.bonus_part[end], rate);
            self.flows[flow].uncharged += bonus as u128;
            self.flows[flow].head.iter_mut().for_each(|head| head.left -= bonus);
        }
    }

    /// End what has ended; whether none is left.
    fn end_due(&mut self, events: &mut usize) -> bool {
        loop {
            let due = |&(_, _, h): &(usize, &Flow<P>, &Head)| h.left <= 0;
            let regular = self.backlogged().filter(due).filter(|&(i, ..)| self.bonus_of(i).is_none());
            let regular = regular.map(|(i, _, h)| (h.left, i)).min().map(|(_, i)| i);
            let favoured = || {
                let of_end =
                    |end| self.backlogged().filter(due).find(|&(i, ..)| self.bonus_of(i).map(|b| b.0) == Some(end));
                [0, 1].into_iter().find_map(of_end).map(|(i, ..)| i)
            };
            let Some(flow) = regular.or_else(favoured) else { return true };
            if *events == 0 {
                return false;
            }
            *events -= 1;
            self.end_head(flow);
        }
    }

    /// The flow's head packet has ended.
    fn end_head(&mut self, flow: usize) {
        self.start(flow, self.known_at());
        if let Some((end, _)) = self.bonus_of(flow) {
            self.charge(flow, end);
        }
        let left = self.flows[flow].head.take().map_or(0, |h| h.left);
        self.take_head(flow, left);
        if self.flows[flow].head.is_none() {
            self.favoured = self.favoured.map(|f| f.filter(|&(i, _)| i != flow));
        }
    }

    /// The flow pays for what it has had of the bonus near this end.
    fn charge(&mut self, flow: usize, end: usize) {
        let record = &mut self.flows[flow];
        let bonus = std::mem::take(&mut record.uncharged);
        if bonus > 0 {
            let least = self.most[end].saturating_sub(record.longest[end]);
            record.had[end] = record.had[end].max(least) + bonus;
            self.most[end] = self.most[end].max(record.had[end]);
        }
    }

    /// Make the flow's next packet its head, less what is `credit`ed to it (not above zero).
    fn take_head(&mut self, flow: usize, credit: i128) {
        let record = &mut self.flows[flow];
        let Some(cost) = record.unstarted.pop_front() else { return };
        let mut charged = cost;
        for r in 0..2 {
            let said = cost[r].as_nanos() as i64;
            // A packet that takes something takes a nanosecond at least; what is owed beyond that is kept for the next.
            let least = if said > 0 { 1 } else { 0 };
            let taken = if record.owed[r] == 0 { said } else { (said + record.owed[r]).max(least) };
            record.owed[r] += said - taken;
            charged.0[r] = Duration::from_nanos(taken as u64).min(LONGEST_TIME);
        }
        let weight = u128::from(record.config.weight.as_milli());
        let time = (u128::from(charged.dominant_time().as_nanos()) * 1000) << TICK_BITS;
        let time = time + record.part.min(weight - 1);
        record.part = time % weight;
        let service = (time / weight).max(1);
        for end in 0..2 {
            let is_up = record.had[end] + service >= self.most[end];
            record.longest[end] = if is_up { service } else { service.max(record.longest[end]) };
        }
        let left = service as i128 + credit;
        let left = if self.alpha == 0.0 { left.max(1) } else { left };
        // Rounding on a link leaves equals equal.
        let rounded =
            (0..2).all(|r| charged[r].as_nanos().abs_diff(cost[r].as_nanos()) <= (cost[r].as_nanos() / 4096).max(1));
        let cost = if rounded { cost } else { charged };
        self.heads += 1;
        record.head = Some(Head { cost, charged, left, service, started: false, number: self.heads });
        if self.alpha > 0.0 {
            self.start(flow, self.known_at());
        }
    }

    /// When what happens at `clock` can first be known.
    fn known_at(&self) -> Time {
        in_time(self.clock).max(self.unknown_until)
    }

    /// Heads that alpha = 0 has kept from starting do so now.
    fn start_kept_back(&mut self) {
        if self.alpha > 0.0 {
            for _ in 0..EVENTS_PER_CALL {
                let kept_back = self.backlogged().filter(|(_, _, h)| !h.started).min_by_key(|(_, _, h)| h.number);
                let Some((flow, ..)) = kept_back else { return };
                self.start(flow, self.fluid_now);
            }
        }
    }

    fn start(&mut self, flow: usize, at: Time) {
        let id = self.id(flow);
        let Some(head) = self.flows[flow].head.as_mut().filter(|h| !h.started) else { return };
        head.started = true;
        let charged = head.charged;
        let latest = self.plan(at, charged);
        self.started.push_back((id, latest));
    }

    /// A packet that starts at `now` is planned behind all others on CPU and link; it is late when it could have been
    /// through instead of starting.
    fn plan(&mut self, now: Time, charged: ResourceVec<2>) -> [Time; 2] {
        self.planned.retain(|ends| ends[1] > now);
        let free = |r: usize| self.planned.iter().map(|ends| ends[r]).fold(now, Time::max);
        let on_cpu = free(0);
        let on_link = free(1).max(on_cpu + charged[0]);
        let end = on_link + charged[1];
        self.planned.push([on_cpu + charged[0], end]);
        [on_cpu, on_link].map(|start| start + end.since(now))
    }

    /// For how long those have the link that have passed this packet on the CPU; nothing if another has come to the CPU
    /// since, or it needs none itself.
    fn overtaking(&self, number: u64) -> Duration {
        let on_cpu = self.handed_out.iter().rposition(Option::is_none);
        let later = self.handed_out[number as usize..].iter().flatten().copied();
        if on_cpu.map(|at| at as u64 + 1) == Some(number) { later.sum() } else { Duration::ZERO }
    }

    /// Whose turn it is near this end of order (23).
    fn of_turn(&self, end: usize) -> Option<usize> {
        let ratios: Vec<_> = self.backlogged().map(|(_, _, h)| normalised(&h.cost)).collect();
        let near = near_end(&ratios, end, self.tolerance);
        let flows = self.backlogged().zip(near).filter(|(_, near)| *near);
        flows.map(|((i, f, h), _)| (f.had[end] + h.service, i)).min().map(|(_, i)| i)
    }

    /// Every flow's d_i by Theorem 3.
    fn reallocate(&mut self) {
        self.stale = false;
        let flows = [0, 1].map(|end| self.of_turn(end));
        let [Some(first), Some(last)] = flows else {
            (self.rate, self.part, self.bonus_part) = (0.0, 0.0, [0.0; 2]);
            return;
        };
        let cost = |flow: usize| self.flows[flow].head.as_ref().map_or(ResourceVec::ZERO, |h| h.cost);
        let unit = |flow: usize| normalised(&cost(flow)).map(|t| t as f64 / ONE as f64);
        let load = [0, 1].map(|r| {
            let weighted = |(_, f, h): (usize, &Flow<P>, &Head)| {
                u128::from(normalised(&h.cost)[r]) * u128::from(f.config.weight.as_milli())
            };
            self.backlogged().map(weighted).sum::<u128>() as f64 / (1000.0 * ONE as f64)
        });
        let shares = allocate(self.alpha, load, |end| unit([first, last][end]));
        self.rate = shares.guaranteed;
        let wanted = [(first, shares.first_bonus), (last, shares.last_bonus)];
        let wanted = wanted.map(|(flow, bonus)| (bonus > 0.0).then_some((flow, bonus)));
        for (end, wanted) in wanted.iter().enumerate() {
            let Some((flow, _)) = self.favoured[end] else { continue };
            if wanted.is_none_or(|w| w.0 != flow) {
                self.charge(flow, end);
            }
        }
        self.favoured = wanted.map(|w| w.map(|(flow, bonus)| (flow, bonus / self.flows[flow].config.weight.as_f64())));
        for (flow, _) in wanted.into_iter().flatten() {
            self.start(flow, self.known_at());
        }
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
fn normalised(cost: &ResourceVec<2>) -> [u64; 2] {
    let longest = u128::from(cost.dominant_time().as_nanos());
    cost.0.map(|time| match longest {
        0 => ONE,
        _ => (((u128::from(time.as_nanos()) << 32) + longest / 2) / longest) as u64,
    })
}
