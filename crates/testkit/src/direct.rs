//! The tradeoff discipline by the paper's direct implementation (section 5.2): for every flow the dominant share d_i and what
//! remains of its head packet R_i, and at each event a visit to every flow. No heap, no virtual time, no running sums.
//!
//! It takes Theorem 3 from [`allocate`] (which `dovetail_model` checks by a linear program) and the *numbers* of
//! [`dovetail_sched::tradeoff`], so that the two can be compared decision by decision:
//!
//! * Time in ticks of 2^-20 ns. R_i is in ticks of dominant time per weight, rounded down, at most 2^60; served in a span is
//!   span times rate to the nearest tick.
//! * Normalised times in 2^-32, to the nearest.
//! * The head packet that ends first does so at the first tick by which it surely has: floor(R_i / rate) + 1.
//! * Of several packets that end in the same tick, regular flows go first, by what is left and then by index; then the favoured flow
//!   at the start of order (23), then the one at its end. What a flow was served beyond the end goes to its next packet.
//! * Equals in order (23) go by turn: a flow takes a new turn when it becomes backlogged and when a packet of it ends favoured.
//! * What a packet took more or less than it said is charged to its flow's next packet, on each resource in nanoseconds, if it is more than a 4096th of what that takes and more than one; R_i has all of it.
//! * The fluid's time stands still while the first packet that has started and waits is late on the CPU; and from when a packet that is late starts on the link until one does that is not,
//!   or the one that was handed out last has. A packet is planned to be on CPU and link behind all that started before, for as long as it is charged in the fluid, from the first whole
//!   nanosecond that is not before its start; it is late when it has not started there after it could have been through with both. Of packets that need no CPU and were handed out while
//!   it was the last one there, their times on the link are added to that.
//! * Between two events R_i is brought up to date, and so rounded, when a flow becomes backlogged in the fluid or is removed from it, and
//!   at a change of a weight or alpha; at no other time.
//!
//! Unlike the product it handles every event up to `now` at every call, whatever waits to be served.
//! Cost per call: O(n) for each event since the last call, n flows.

use std::collections::VecDeque;

use dovetail_sched::spec::SpecError;
use dovetail_sched::tradeoff::allocate;
use dovetail_sched::{
    DropReason, FlowConfig, FlowId, LONGEST_TIME, Next, Packet, Progress, Refused, Scheduler, Served, Stats, Ticket,
    UnknownFlow,
};
use dovetail_units::{Duration, ResourceVec, Time, Weight};

const TICK_BITS: u32 = 20;
const ONE: u64 = 1 << 32;

#[derive(Clone, Debug)]
struct Head {
    cost: ResourceVec<2>,
    /// With what earlier packets took more or less than they said.
    charged: ResourceVec<2>,
    /// R_i.
    left: i64,
    started: bool,
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
    /// d_i per weight.
    rate: f64,
    turn: u64,
    /// What earlier packets took more than they said on each resource, nanoseconds.
    owed: [i64; 2],
}

/// The tradeoff discipline, directly.
#[derive(Clone, Debug)]
pub struct DirectTradeoff<P> {
    alpha: f64,
    now: Time,
    /// `now` in the fluid's time.
    fluid_now: Time,
    /// The instant up to which the fluid's events were handled, in ticks.
    clock: u128,
    flows: Vec<Flow<P>>,
    free: Vec<u32>,
    /// The favoured flows: first and last in order (23).
    favoured: [Option<usize>; 2],
    /// Packets that have started, and when each is late on CPU and link.
    started: VecDeque<(FlowId, [Time; 2])>,
    /// When CPU and link are through with each packet that has started, as planned.
    planned: Vec<[Time; 2]>,
    /// Packets that were handed out: for how long each has the link if it bypasses the CPU.
    handed_out: Vec<Option<Duration>>,
    /// The highest number of those that have come to the link or left.
    through: u64,
    link_is_late: bool,
    turns: u64,
    stats: Stats,
}

impl<P> DirectTradeoff<P> {
    /// With this `alpha` in [0, 1].
    pub fn new(alpha: f64) -> Self {
        Self {
            alpha,
            now: Time::ZERO,
            fluid_now: Time::ZERO,
            clock: 0,
            flows: Vec::new(),
            free: Vec::new(),
            favoured: [None; 2],
            started: VecDeque::new(),
            planned: Vec::new(),
            handed_out: Vec::new(),
            through: 0,
            link_is_late: false,
            turns: 0,
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

    /// Every event up to `now`.
    fn handle_events(&mut self, now: Time) {
        let passed = now.since(self.now);
        self.now += passed;
        let stood = self.fluid_now;
        let wanted = if self.link_is_late { stood } else { stood + passed };
        loop {
            // The CPU is late as soon as the packet that is first is.
            let late = self.started.iter().find(|(flow, _)| self.find(*flow).is_some()).map(|(_, latest)| latest[0]);
            self.fluid_now = late.map_or(wanted, |late| wanted.min(late)).max(stood);
            let left = self.until_now();
            let Some(ticks) = self.until_event().filter(|&ticks| ticks <= left) else { return };
            self.run(ticks);
            self.end_due();
            self.reallocate();
        }
    }

    fn until_now(&self) -> u128 {
        (u128::from(self.fluid_now.as_nanos()) << TICK_BITS) - self.clock
    }

    /// Something other than the end of a packet changes the shares now.
    fn run_to_now(&mut self) {
        self.run(self.until_now());
    }

    fn until_event(&self) -> Option<u128> {
        let ticks = |flow: &Flow<P>, head: &Head| match flow.rate {
            rate if rate > 0.0 => (head.left.max(0) as f64 / rate) as u128,
            _ => u128::MAX,
        };
        self.backlogged().map(|(_, f, h)| ticks(f, h).min(1 << 100) + 1).min()
    }

    fn run(&mut self, ticks: u128) {
        self.clock += ticks;
        for flow in &mut self.flows {
            if let Some(head) = &mut flow.head {
                head.left -= (ticks as f64 * flow.rate + 0.5) as i64;
            }
        }
    }

    fn end_due(&mut self) {
        loop {
            let regular = |i: usize| !self.favoured.contains(&Some(i));
            let due = self.backlogged().filter(|&(i, _, h)| h.left <= 0 && regular(i));
            let Some((_, flow)) = due.map(|(i, _, h)| (h.left, i)).min() else { break };
            self.end_head(flow);
        }
        for k in 0..2 {
            while let Some(flow) =
                self.favoured[k].filter(|&i| self.flows[i].head.as_ref().is_some_and(|h| h.left <= 0))
            {
                self.flows[flow].turn = self.next_turn();
                self.end_head(flow);
            }
        }
    }

    /// The flow's head packet has ended.
    fn end_head(&mut self, flow: usize) {
        let left = self.flows[flow].head.take().map_or(0, |h| h.left);
        self.take_head(flow, left);
        if self.flows[flow].head.is_none() {
            self.favoured = self.favoured.map(|f| f.filter(|&i| i != flow));
        }
    }

    /// Make the flow's next packet its head, less what is `credit`ed to it (not above zero); with credit it has started.
    fn take_head(&mut self, flow: usize, credit: i64) {
        let starts = self.alpha > 0.0 || credit < 0;
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
        let left = virtual_time(charged, record.config.weight).max(1) + credit;
        // Rounding on a link leaves equals equal.
        let rounded =
            (0..2).all(|r| charged[r].as_nanos().abs_diff(cost[r].as_nanos()) <= (cost[r].as_nanos() / 4096).max(1));
        record.head = Some(Head { cost: if rounded { cost } else { charged }, charged, left, started: false });
        if starts {
            self.start(flow);
        }
    }

    fn start(&mut self, flow: usize) {
        let id = self.id(flow);
        let Some(head) = self.flows[flow].head.as_mut().filter(|h| !h.started) else { return };
        head.started = true;
        let charged = head.charged;
        let latest = self.plan(charged);
        self.started.push_back((id, latest));
    }

    /// A packet that starts now is planned behind all others on CPU and link; it is late when it could have been through instead of starting.
    fn plan(&mut self, charged: ResourceVec<2>) -> [Time; 2] {
        let now = in_time(self.clock);
        self.planned.retain(|ends| ends[1] > now);
        let free = |r: usize| self.planned.iter().map(|ends| ends[r]).fold(now, Time::max);
        let on_cpu = free(0);
        let on_link = free(1).max(on_cpu + charged[0]);
        let end = on_link + charged[1];
        self.planned.push([on_cpu + charged[0], end]);
        [on_cpu, on_link].map(|start| start + end.since(now))
    }

    /// For how long those have the link that have passed this packet on the CPU; nothing if another has come to the CPU since, or it needs none itself.
    fn overtaking(&self, number: u64) -> Duration {
        let on_cpu = self.handed_out.iter().rposition(Option::is_none);
        let later = self.handed_out[number as usize..].iter().flatten().copied();
        if on_cpu.map(|at| at as u64 + 1) == Some(number) { later.sum() } else { Duration::ZERO }
    }

    fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    /// Every flow's d_i by Theorem 3.
    fn reallocate(&mut self) {
        let ratio = |cost: &ResourceVec<2>| {
            let [a, b] = normalised(cost);
            // Order (23): a / b grows with a while that is below one, and falls with b from there on.
            if b == ONE { a } else { 2 * ONE - b }
        };
        let first = self.backlogged().min_by_key(|&(i, f, h)| (std::cmp::Reverse(ratio(&h.cost)), f.turn, i));
        let last = self.backlogged().min_by_key(|&(i, f, h)| (ratio(&h.cost), f.turn, i));
        let (Some((first, _, most)), Some((last, _, least))) = (first, last) else { return };
        let unit = |cost: &ResourceVec<2>| normalised(cost).map(|t| t as f64 / ONE as f64);
        let load = [0, 1].map(|r| {
            let weighted = |(_, f, h): (usize, &Flow<P>, &Head)| {
                u128::from(normalised(&h.cost)[r]) * u128::from(f.config.weight.as_milli())
            };
            self.backlogged().map(weighted).sum::<u128>() as f64 / (1000.0 * ONE as f64)
        });
        let shares = allocate(self.alpha, load, || unit(&most.cost), || unit(&least.cost));
        for flow in &mut self.flows {
            flow.rate = shares.guaranteed;
        }
        let bonus = [(first, shares.first_bonus), (last, shares.last_bonus)];
        self.favoured = bonus.map(|(flow, bonus)| (bonus > 0.0).then_some(flow));
        for (flow, bonus) in bonus.into_iter().filter(|&(_, bonus)| bonus > 0.0) {
            self.flows[flow].rate = shares.guaranteed + bonus / self.flows[flow].config.weight.as_f64();
            self.start(flow);
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

/// Dominant processing time per weight in ticks.
fn virtual_time(cost: ResourceVec<2>, weight: Weight) -> i64 {
    let inverse = (1000u128 << 52) / u128::from(weight.as_milli());
    let ticks = (u128::from(cost.dominant_time().as_nanos()) * inverse) >> (52 - TICK_BITS);
    ticks.min(1 << 60) as i64
}

impl<P: Send> Scheduler<2, P> for DirectTradeoff<P> {
    fn add_flow(&mut self, config: FlowConfig<2>) -> FlowId {
        let flow = |generation| Flow {
            generation,
            live: true,
            config,
            waiting: VecDeque::new(),
            unstarted: VecDeque::new(),
            head: None,
            rate: 0.0,
            turn: 0,
            owed: [0; 2],
        };
        let at = self.free.pop().map_or(self.flows.len(), |at| at as usize);
        if at == self.flows.len() {
            self.flows.push(flow(0));
        } else {
            self.flows[at] = flow(self.flows[at].generation.wrapping_add(1));
        }
        self.id(at)
    }

    fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<2>) -> Result<(), UnknownFlow> {
        let at = self.find(flow).ok_or(UnknownFlow)?;
        self.handle_events(now);
        let old = std::mem::replace(&mut self.flows[at].config, config).weight;
        if old == config.weight {
            return Ok(());
        }
        if self.flows[at].head.is_some() {
            self.run_to_now();
        }
        if let Some(head) = &mut self.flows[at].head {
            let scaled = i128::from(head.left) * i128::from(old.as_milli()) / i128::from(config.weight.as_milli());
            head.left = scaled.clamp(0, 1 << 60) as i64;
            self.reallocate();
        }
        Ok(())
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(P)) -> Result<(), UnknownFlow> {
        let at = self.find(flow).ok_or(UnknownFlow)?;
        self.handle_events(now);
        self.flows[at].live = false;
        self.free.push(at as u32);
        for (size, _, payload) in std::mem::take(&mut self.flows[at].waiting) {
            self.stats.dropped += 1;
            self.stats.queued -= 1;
            self.stats.queued_bytes -= u64::from(size);
            dropped(payload);
        }
        if self.flows[at].head.is_some() {
            self.run_to_now();
            self.flows[at].head = None;
            self.favoured = self.favoured.map(|f| f.filter(|&i| i != at));
            self.reallocate();
        }
        Ok(())
    }

    fn enqueue(&mut self, now: Time, packet: Packet<2, P>) -> Result<(), Refused<P>> {
        self.handle_events(now);
        self.stats.offered += 1;
        let Packet { flow, size, cost, payload } = packet;
        let cost = ResourceVec(cost.0.map(|time| time.min(LONGEST_TIME)));
        let Some(at) = self.find(flow) else { return self.refuse(DropReason::UnknownFlow, payload) };
        let record = &self.flows[at];
        let limit = record.config.limit;
        let bytes: u64 = record.waiting.iter().map(|w| u64::from(w.0)).sum();
        if limit.packets.is_some_and(|most| record.waiting.len() >= most as usize) {
            return self.refuse(DropReason::QueuePackets, payload);
        }
        if limit.bytes.is_some_and(|most| bytes + u64::from(size) > most.0) {
            return self.refuse(DropReason::QueueBytes, payload);
        }
        self.stats.admitted += 1;
        self.stats.queued += 1;
        self.stats.queued_bytes += u64::from(size);
        self.flows[at].waiting.push_back((size, cost, payload));
        self.flows[at].unstarted.push_back(cost);
        if self.flows[at].head.is_none() {
            self.run_to_now();
            self.flows[at].turn = self.next_turn();
            self.take_head(at, 0);
            self.reallocate();
        }
        Ok(())
    }

    fn next(&mut self, now: Time) -> Next<2, P> {
        self.handle_events(now);
        if self.stats.queued == 0 {
            return Next::Empty;
        }
        while let Some((flow, [_, late_on_link])) = self.started.pop_front() {
            let Some(at) = self.find(flow) else { continue };
            let Some((size, charged, payload)) = self.flows[at].waiting.pop_front() else { continue };
            self.stats.served += 1;
            self.stats.queued -= 1;
            self.stats.queued_bytes -= u64::from(size);
            self.handed_out.push((charged[0] == Duration::ZERO).then_some(charged[1]));
            let ticket = Ticket::new(flow, charged, [self.handed_out.len() as u64, late_on_link.as_nanos()]);
            return Next::Serve(Served { ticket, size, payload });
        }
        if self.link_is_late {
            return Next::AwaitProgress;
        }
        let event = in_time(self.clock + self.until_event().unwrap_or(0));
        Next::At(self.now + event.since(self.fluid_now))
    }

    fn progress(&mut self, now: Time, ticket: &mut Ticket<2>, resource: usize, event: Progress) {
        self.handle_events(now);
        let [number, late_on_link] = ticket.tags();
        if resource == 1 || event == Progress::Abandoned {
            self.through = self.through.max(number);
        }
        if resource == 1 && event == Progress::Started {
            self.link_is_late = self.fluid_now > Time::from_nanos(late_on_link);
        }
        // Nothing that was handed out later is on its way to the link.
        self.link_is_late &= self.through < self.handed_out.len() as u64;
        let Progress::Finished { used } = event else { return };
        let before = ticket.charged();
        let mut after = before;
        if let Some(time) = after.0.get_mut(resource) {
            *time = used.min(LONGEST_TIME);
        }
        let overtaking = if resource == 0 { self.overtaking(number) } else { Duration::ZERO };
        let late_on_link = Time::from_nanos(late_on_link) + overtaking;
        *ticket = Ticket::new(ticket.flow(), after, [number, late_on_link.as_nanos()]);
        if let Some(at) = self.find(ticket.flow()) {
            let record = &mut self.flows[at];
            for r in 0..2 {
                record.owed[r] += after[r].as_nanos() as i64 - before[r].as_nanos() as i64;
            }
        }
    }

    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        self.handle_events(now);
        let bad = || SpecError::bad_value(parameter, value, "alpha from 0 to 1");
        let alpha = value.parse().ok().filter(|a| parameter == "alpha" && (0.0..=1.0).contains(a)).ok_or_else(bad)?;
        self.run_to_now();
        self.alpha = alpha;
        if alpha > 0.0 {
            let mut order: Vec<(u64, usize)> = self.backlogged().map(|(i, f, _)| (f.turn, i)).collect();
            order.sort_unstable();
            order.into_iter().for_each(|(_, flow)| self.start(flow));
        }
        self.reallocate();
        Ok(())
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.find(flow).map_or(0, |at| self.flows[at].waiting.len() as u32)
    }
}
