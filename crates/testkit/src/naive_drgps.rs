//! DRGPS trackers as the definition reads: at every event every flow is visited, the loads are summed anew, every
//! packet keeps its own tag, and the fluid never lags. No heap, no running sum, nothing put off. The definition and the
//! choices it leaves are those of [`dovetail_sched::drgps`], and so are the *numbers*, so that the two can be compared
//! decision by decision:
//!
//! * V in whole ticks of 2^-22 ns. Time that is not in V yet is kept as work: nanoseconds times 2^22 times 1000 times
//!   2^31.
//! * Normalised times in 2^-31, to the nearest; loads in that times thousandths of weight.
//! * What dividing a packet's time by the weight leaves below one tick goes to the flow's next packet, unless the fluid
//!   rests meanwhile.
//! * The fluid stands still while something that has started waits and what was handed out should be through on
//!   resource 0 by what it was charged there.
//! * Of several packets that end at one time the one with the lower tag goes first, then the flow with the lower index.
//! * New flows, if they pay: who may enter is found from all the last packets of new flows, and all removed flows,
//!   since the beginning. Weights are rounded down to 2^k / 1024. Packets that end when a flow may enter go first; then
//!   flows of the largest such weight, in the order in which they came.
//!
//! Cost per call: O(n M) for each event since the last call, n flows.

use std::collections::VecDeque;

use dovetail_sched::drgps::TrackBy;
use dovetail_sched::newcomers::Newcomers;
use dovetail_sched::spec::SpecError;
use dovetail_sched::{
    DropReason, FlowConfig, FlowId, LONGEST_TIME, Next, Packet, Progress, Refused, Scheduler, Served, Stats, Ticket,
    UnknownFlow,
};
use dovetail_units::{ResourceVec, Time};

const TICK: i128 = 1 << 22;
const ONE: u128 = 1 << 31;

#[derive(Clone, Debug)]
struct Waiting<const M: usize, P> {
    size: u32,
    cost: ResourceVec<M>,
    payload: P,
    /// Which start in the fluid this was, counted over all flows, and the finish tag.
    started: Option<(u64, i128)>,
}

/// The head packet in the fluid.
#[derive(Clone, Debug)]
struct Head<const M: usize> {
    cost: ResourceVec<M>,
    service: i128,
    finish: i128,
    /// Whether it still waits; then it is the last that has started.
    waits: bool,
}

#[derive(Clone, Debug)]
struct Flow<const M: usize, P> {
    generation: u32,
    live: bool,
    config: FlowConfig<M>,
    waiting: VecDeque<Waiting<M, P>>,
    /// None if the flow is not backlogged in the fluid.
    head: Option<Head<M>>,
    /// Tick and part of a tick (thousandths of the weight) of the last finish.
    last: (i128, i128),
    /// The busy period of the fluid in which that was.
    busy_period: u64,
    correction: i128,
    /// What packets took more than estimated on each resource, and no head was given for its proportions.
    unlike: [i128; M],
    /// What waiting packets that have started are charged on resource 0, in nanoseconds.
    planned: i128,
    /// It was set up while packets waited, and has not come to the end of a packet with none behind it since.
    is_new: bool,
    /// When it came to wait for the fluid, counted over all flows, if it does.
    outside: Option<u64>,
}

/// A last packet of a new flow, or a flow that was removed: V when it was handed out or that happened, where it ends in
/// the fluid, and the flow's weight in thousandths.
#[derive(Clone, Copy, Debug)]
struct Gone {
    at: i128,
    finish: i128,
    milli: i128,
}

/// The trackers, naively.
#[derive(Clone, Debug)]
pub struct NaiveDrgps<const M: usize, P> {
    order: TrackBy,
    now: Time,
    virtual_time: i128,
    work: u128,
    /// For how long resource 0 is, in nanoseconds.
    busy: i128,
    busy_periods: u64,
    flows: Vec<Flow<M, P>>,
    free: Vec<u32>,
    starts: u64,
    newcomers: Newcomers,
    gone: Vec<Gone>,
    came: u64,
    /// For how long it works for flows that were removed, in nanoseconds.
    pause: i128,
    stats: Stats,
}

impl<const M: usize, P> NaiveDrgps<M, P> {
    /// In this order.
    pub fn new(order: TrackBy, newcomers: Newcomers) -> Self {
        Self {
            order,
            newcomers,
            gone: Vec::new(),
            came: 0,
            pause: 0,
            now: Time::ZERO,
            virtual_time: 0,
            work: 0,
            busy: 0,
            busy_periods: 0,
            flows: Vec::new(),
            free: Vec::new(),
            starts: 0,
            stats: Stats::default(),
        }
    }

    fn find(&self, flow: FlowId) -> Option<usize> {
        let record = self.flows.get(flow.index())?;
        (record.live && self.id(flow.index()) == flow).then_some(flow.index())
    }

    fn id(&self, at: usize) -> FlowId {
        FlowId::new(at as u32, self.flows[at].generation)
    }

    /// max_r sum_i w_i tbar_ir.
    fn load(&self) -> u128 {
        let on = |r: usize| {
            let heads = self.flows.iter().filter_map(|f| f.head.as_ref().map(|head| (f, head)));
            heads.map(|(f, h)| normalised(&h.cost, h.service)[r] * u128::from(f.config.weight.as_milli())).sum::<u128>()
        };
        (0..M).map(on).max().unwrap_or(0)
    }

    /// Whose head packet ends first, and after how much work; none if it takes longer than all time.
    fn first_end(&self) -> Option<(u128, usize)> {
        let ends = self.flows.iter().enumerate().filter_map(|(i, f)| f.head.as_ref().map(|head| (head.finish, i)));
        let (finish, flow) = ends.min()?;
        let ticks = u128::try_from(finish - self.virtual_time).unwrap_or(0);
        ticks.checked_mul(self.load()).map(|work| (work, flow))
    }

    /// Up to where a new flow of this weight has to wait.
    fn reached(&self, milli: i128) -> i128 {
        let own = rounded(milli);
        self.gone.iter().fold(0, |reached: i128, gone| {
            let until_end = reached.max(gone.finish);
            if own <= rounded(gone.milli) {
                return until_end;
            }
            // `own` is in 1024ths.
            let left = ((gone.finish - gone.at).max(0) * gone.milli + 999) / 1000;
            until_end.min(reached.max(gone.at) + left * 1024 / own + 1)
        })
    }

    /// Whether a flow waits for the fluid that is at least so heavy.
    fn waits_outside(&self, milli: i128) -> bool {
        self.flows.iter().any(|f| f.outside.is_some() && rounded(f.milli()) >= rounded(milli))
    }

    /// The next flow that enters, and when.
    fn next_to_enter(&self) -> Option<(i128, usize)> {
        let outside = self.flows.iter().enumerate().filter_map(|(i, f)| f.outside.map(|came| (i, f.milli(), came)));
        let (i, milli, _) = outside.min_by_key(|&(_, milli, came)| (-rounded(milli), came))?;
        Some((self.reached(milli), i))
    }

    fn is_empty(&self) -> bool {
        self.flows.iter().all(|f| f.head.is_none())
    }

    /// If the fluid is empty, the next flow that waits outside enters at once.
    fn fill(&mut self) {
        if let (true, Some((opens, flow))) = (self.is_empty(), self.next_to_enter()) {
            self.virtual_time = self.virtual_time.max(opens);
            self.enter(flow);
        }
    }

    /// The flow becomes backlogged in the fluid.
    fn enter(&mut self, at: usize) {
        if self.is_empty() {
            self.busy_periods += 1;
        }
        let record = &mut self.flows[at];
        record.outside = None;
        record.correction = record.correction.max(0);
        let part = if record.busy_period == self.busy_periods { record.last.1 } else { 0 };
        record.last = (self.virtual_time, part);
        record.busy_period = self.busy_periods;
        self.take_head(at);
    }

    /// Every event up to `now`, and V until then.
    fn run(&mut self, now: Time) {
        let mut left = now.since(self.now).as_nanos();
        self.now = self.now.max(now);
        loop {
            self.end_heads();
            let waits = self.first().is_some();
            if left == 0 || (waits && self.busy == 0) {
                break;
            }
            // Until somebody's head ends or a flow enters, or resource 0 is late.
            let first = self.first_end().map(|(work, _)| work).into_iter().chain(self.first_entry()).min();
            let to_event = first.map_or(u128::MAX, |work| work.saturating_sub(self.work).div_ceil(work_per_nano()));
            let step = if self.pause > 0 { self.pause as u128 } else { to_event };
            let step = left.min(u64::try_from(step).unwrap_or(u64::MAX));
            let step = if waits { step.min(self.busy as u64) } else { step };
            match self.pause > 0 {
                true => self.pause -= i128::from(step),
                false => self.work += u128::from(step) * work_per_nano(),
            }
            self.busy = (self.busy - i128::from(step)).max(0);
            left -= step;
        }
        match self.load() {
            0 => (self.work, self.pause) = (0, 0),
            load => {
                self.virtual_time += (self.work / load) as i128;
                self.work %= load;
            }
        }
    }

    /// After how much work the next flow enters.
    fn first_entry(&self) -> Option<u128> {
        let (opens, _) = self.next_to_enter()?;
        u128::try_from(opens - self.virtual_time).unwrap_or(0).checked_mul(self.load())
    }

    /// The heads that are due to end, and flows that are due to enter.
    fn end_heads(&mut self) {
        loop {
            let end = self.first_end().filter(|&(work, _)| work <= self.work);
            let entry = self.first_entry().filter(|&work| work <= self.work);
            let enters_first = |(_, flow): (u128, usize)| {
                let finish = self.flows[flow].head.as_ref().map_or(0, |head| head.finish);
                self.next_to_enter().is_some_and(|(opens, _)| opens < finish)
            };
            if let (Some(work), Some((opens, flow))) = (entry, self.next_to_enter())
                && end.is_none_or(enters_first)
            {
                self.work -= work;
                self.virtual_time = self.virtual_time.max(opens);
                self.enter(flow);
                continue;
            }
            let Some((work, flow)) = end else { return };
            self.work -= work;
            if let Some(head) = self.flows[flow].head.take() {
                self.virtual_time = self.virtual_time.max(head.finish);
            }
            self.take_head(flow);
            self.flows[flow].is_new &= self.flows[flow].head.is_some();
            self.fill();
        }
    }

    /// Make the flow's first packet that has not started its head, if there is one.
    fn take_head(&mut self, flow: usize) {
        let record = &mut self.flows[flow];
        let Some(packet) = record.waiting.iter_mut().find(|w| w.started.is_none()) else { return };
        let milli = i128::from(record.config.weight.as_milli());
        let total = nanos(&packet.cost) + record.correction;
        record.correction = (total - 1).min(0);
        // With what earlier packets took more or less and none was given yet: all, if that is no less than the service;
        // or else an eighth.
        let service = total.max(1);
        let cost = ResourceVec::from_nanos(std::array::from_fn(|r| {
            let told = i128::from(packet.cost[r].as_nanos());
            let given = match told + record.unlike[r] >= service {
                true => service,
                false => (told + record.unlike[r].div_euclid(8)).clamp(told.min(1), service),
            };
            record.unlike[r] -= given - told;
            given as u64
        }));
        record.planned += i128::from(cost[0].as_nanos());
        let (last, part) = record.last;
        let exact = total.max(1) * TICK * 1000 + part.min(milli - 1);
        record.last = (last + exact / milli, exact % milli);
        let finish = record.last.0;
        packet.started = Some((self.starts, finish));
        self.starts += 1;
        record.head = Some(Head { cost, service, finish, waits: true });
    }

    /// The flow whose first packet is to be served: of those that have started.
    fn first(&self) -> Option<usize> {
        let heads = self.flows.iter().enumerate().filter_map(|(i, f)| Some((f.waiting.front()?.started?, i)));
        let key = |&((start, finish), i): &((u64, i128), usize)| match self.order {
            TrackBy::Start => (i128::from(start), i),
            TrackBy::Finish => (finish, i),
        };
        heads.min_by_key(key).map(|(_, i)| i)
    }

    fn refuse(&mut self, reason: DropReason, payload: P) -> Result<(), Refused<P>> {
        self.stats.refused[reason as usize] += 1;
        Err(Refused { reason, payload })
    }
}

impl<const M: usize, P> Flow<M, P> {
    fn milli(&self) -> i128 {
        self.config.weight.as_milli().into()
    }
}

/// The largest power of two that is no more than this weight, in 1024ths.
fn rounded(milli: i128) -> i128 {
    let mut power = 1;
    while power * 2 * 1000 <= milli * 1024 {
        power *= 2;
    }
    power
}

fn work_per_nano() -> u128 {
    TICK as u128 * 1000 * ONE
}

/// Processing times by the service; a packet of no time counts as one of the first resource, and none for nothing.
fn normalised<const M: usize>(cost: &ResourceVec<M>, service: i128) -> [u128; M] {
    let service = service as u128;
    let exact = |r: usize| (u128::from(cost[r].as_nanos()) * ONE + service / 2) / service;
    let longest = (0..M).max_by_key(|&r| (cost[r], std::cmp::Reverse(r)));
    std::array::from_fn(|r| match cost.dominant_time().as_nanos() {
        0 => [ONE, 0][r.min(1)],
        _ if Some(r) == longest => exact(r).max(1),
        _ => exact(r),
    })
}

/// The dominant time, at least one nanosecond.
fn nanos<const M: usize>(cost: &ResourceVec<M>) -> i128 {
    i128::from(cost.dominant_time().as_nanos()).max(1)
}

impl<const M: usize, P: Send> Scheduler<M, P> for NaiveDrgps<M, P> {
    fn add_flow(&mut self, config: FlowConfig<M>) -> FlowId {
        let flow = |generation| Flow {
            generation,
            live: true,
            config,
            waiting: VecDeque::new(),
            head: None,
            last: (0, 0),
            busy_period: 0,
            correction: 0,
            unlike: [0; M],
            planned: 0,
            is_new: self.newcomers == Newcomers::Pay && self.stats.queued > 0,
            outside: None,
        };
        let at = self.free.pop().map_or(self.flows.len(), |at| at as usize);
        if at == self.flows.len() {
            self.flows.push(flow(0));
        } else {
            self.flows[at] = flow(self.flows[at].generation.wrapping_add(1));
        }
        self.id(at)
    }

    fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<M>) -> Result<(), UnknownFlow> {
        let at = self.find(flow).ok_or(UnknownFlow)?;
        self.run(now);
        let virtual_time = self.virtual_time;
        let record = &mut self.flows[at];
        let old = std::mem::replace(&mut record.config, config).weight;
        if record.outside.is_some() && rounded(old.as_milli().into()) != rounded(config.weight.as_milli().into()) {
            record.outside = Some(self.came);
            self.came += 1;
        }
        let Some(head) = record.head.as_mut().filter(|_| old != config.weight) else { return Ok(()) };
        let left = (head.finish - virtual_time) * i128::from(old.as_milli()) / i128::from(config.weight.as_milli());
        head.finish = virtual_time + left;
        record.last = (head.finish, 0);
        if head.waits
            && let Some((_, tag)) = record.waiting.iter_mut().rev().find_map(|w| w.started.as_mut())
        {
            *tag = head.finish;
        }
        Ok(())
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(P)) -> Result<(), UnknownFlow> {
        let at = self.find(flow).ok_or(UnknownFlow)?;
        self.run(now);
        if let (Some(head), Newcomers::Pay) = (&self.flows[at].head, self.newcomers) {
            let (finish, milli) = (head.finish, self.flows[at].milli());
            let left = (finish - self.virtual_time).max(0);
            self.pause += if head.waits { 0 } else { left * milli / (1000 * TICK) };
            // The last packet of a new flow is gone already.
            if !self.flows[at].is_new || !self.flows[at].waiting.is_empty() {
                self.gone.push(Gone { at: self.virtual_time, finish, milli });
            }
        }
        self.flows[at].live = false;
        self.flows[at].outside = None;
        self.flows[at].head = None;
        self.fill();
        self.free.push(at as u32);
        for packet in std::mem::take(&mut self.flows[at].waiting) {
            self.stats.dropped += 1;
            self.stats.queued -= 1;
            self.stats.queued_bytes -= u64::from(packet.size);
            dropped(packet.payload);
        }
        Ok(())
    }

    fn enqueue(&mut self, now: Time, packet: Packet<M, P>) -> Result<(), Refused<P>> {
        self.run(now);
        self.stats.offered += 1;
        let Packet { flow, size, cost, payload } = packet;
        let cost = ResourceVec(cost.0.map(|time| time.min(LONGEST_TIME)));
        let Some(at) = self.find(flow) else { return self.refuse(DropReason::UnknownFlow, payload) };
        let record = &mut self.flows[at];
        let limit = record.config.limit;
        let bytes: u64 = record.waiting.iter().map(|w| u64::from(w.size)).sum();
        if limit.packets.is_some_and(|most| record.waiting.len() >= most as usize) {
            return self.refuse(DropReason::QueuePackets, payload);
        }
        if limit.bytes.is_some_and(|most| bytes + u64::from(size) > most.0) {
            return self.refuse(DropReason::QueueBytes, payload);
        }
        record.waiting.push_back(Waiting { size, cost, payload, started: None });
        self.stats.admitted += 1;
        self.stats.queued += 1;
        self.stats.queued_bytes += u64::from(size);
        let (milli, is_new) = (self.flows[at].milli(), self.flows[at].is_new);
        if self.flows[at].head.is_none() && self.flows[at].outside.is_none() {
            if is_new && (self.reached(milli) > self.virtual_time || self.waits_outside(milli)) {
                self.flows[at].outside = Some(self.came);
                self.came += 1;
                self.fill();
            } else {
                self.enter(at);
            }
        }
        Ok(())
    }

    fn next(&mut self, now: Time) -> Next<M, P> {
        self.run(now);
        if self.stats.queued == 0 {
            return Next::Empty;
        }
        let Some(at) = self.first() else {
            let first = self.first_end().map(|(work, _)| work).into_iter().chain(self.first_entry()).min();
            let nanos = first.map_or(u128::MAX, |work| work.saturating_sub(self.work).div_ceil(work_per_nano()));
            let wake = u128::from(self.now.as_nanos()).saturating_add(self.pause as u128).saturating_add(nanos);
            return Next::At(Time::from_nanos(u64::try_from(wake).unwrap_or(u64::MAX)));
        };
        let record = &mut self.flows[at];
        let Some(packet) = record.waiting.pop_front() else { return Next::Empty };
        if record.waiting.front().is_none_or(|w| w.started.is_none()) {
            record.head.iter_mut().for_each(|head| head.waits = false);
        }
        let is_last = record.waiting.front().is_none_or(|w| w.started.is_none());
        let planned = if is_last { record.planned } else { record.planned.min(packet.cost[0].as_nanos().into()) };
        record.planned -= planned;
        self.busy += planned;
        if let (true, true, Some(head)) = (record.is_new, record.waiting.is_empty(), &record.head) {
            self.gone.push(Gone { at: self.virtual_time, finish: head.finish, milli: record.milli() });
        }
        self.stats.served += 1;
        self.stats.queued -= 1;
        self.stats.queued_bytes -= u64::from(packet.size);
        let ticket = Ticket::new(self.id(at), packet.cost, [0; M]);
        Next::Serve(Served { ticket, size: packet.size, payload: packet.payload })
    }

    fn progress(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress) {
        self.run(now);
        let Progress::Finished { used } = event else { return };
        let before = ticket.charged();
        let mut after = before;
        after[resource] = used.min(LONGEST_TIME);
        *ticket = Ticket::new(ticket.flow(), after, ticket.tags());
        if let Some(at) = self.find(ticket.flow()) {
            self.flows[at].correction += nanos(&after) - nanos(&before);
            let more = i128::from(after[resource].as_nanos().max(1)) - i128::from(before[resource].as_nanos().max(1));
            self.flows[at].unlike[resource] += more;
        }
    }

    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        self.run(now);
        Err(SpecError::bad_value(parameter, value, "nothing: no parameter can be set"))
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.find(flow).map_or(0, |at| self.flows[at].waiting.len() as u32)
    }
}
