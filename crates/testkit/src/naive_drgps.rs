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
//!
//! Cost per call: O(n M) for each event since the last call, n flows.

use std::collections::VecDeque;

use dovetail_sched::drgps::TrackBy;
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
    /// What waiting packets that have started are charged on resource 0, in nanoseconds.
    planned: i128,
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
    stats: Stats,
}

impl<const M: usize, P> NaiveDrgps<M, P> {
    /// In this order.
    pub fn new(order: TrackBy) -> Self {
        Self {
            order,
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
            heads.map(|(f, h)| normalised(&h.cost)[r] * u128::from(f.config.weight.as_milli())).sum::<u128>()
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
            // Until somebody's head ends, or resource 0 is late.
            let to_end = self.first_end().map_or(u128::MAX, |(work, _)| (work - self.work).div_ceil(work_per_nano()));
            let step = left.min(u64::try_from(to_end).unwrap_or(u64::MAX));
            let step = if waits { step.min(self.busy as u64) } else { step };
            self.work += u128::from(step) * work_per_nano();
            self.busy = (self.busy - i128::from(step)).max(0);
            left -= step;
        }
        match self.load() {
            0 => self.work = 0,
            load => {
                self.virtual_time += (self.work / load) as i128;
                self.work %= load;
            }
        }
    }

    /// The heads that are due to end.
    fn end_heads(&mut self) {
        while let Some((work, flow)) = self.first_end().filter(|&(work, _)| work <= self.work) {
            self.work -= work;
            if let Some(head) = self.flows[flow].head.take() {
                self.virtual_time = self.virtual_time.max(head.finish);
            }
            self.take_head(flow);
        }
    }

    /// Make the flow's first packet that has not started its head, if there is one.
    fn take_head(&mut self, flow: usize) {
        let record = &mut self.flows[flow];
        let Some(packet) = record.waiting.iter_mut().find(|w| w.started.is_none()) else { return };
        let milli = i128::from(record.config.weight.as_milli());
        let total = nanos(&packet.cost) + record.correction;
        record.correction = (total - 1).min(0);
        // In proportion, what the correction does on resource 0, down to whole nanoseconds.
        let more = (total.max(1) - nanos(&packet.cost)) * normalised(&packet.cost)[0] as i128;
        record.planned += (i128::from(packet.cost[0].as_nanos()) + more.div_euclid(ONE as i128)).max(0);
        let (last, part) = record.last;
        let exact = total.max(1) * TICK * 1000 + part.min(milli - 1);
        record.last = (last + exact / milli, exact % milli);
        let finish = record.last.0;
        packet.started = Some((self.starts, finish));
        self.starts += 1;
        record.head = Some(Head { cost: packet.cost, finish, waits: true });
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

fn work_per_nano() -> u128 {
    TICK as u128 * 1000 * ONE
}

/// Normalised processing times; a packet of no time counts as one of the first resource.
fn normalised<const M: usize>(cost: &ResourceVec<M>) -> [u128; M] {
    let longest = u128::from(cost.dominant_time().as_nanos());
    std::array::from_fn(|r| match longest {
        0 => [ONE, 0][r.min(1)],
        _ => (u128::from(cost[r].as_nanos()) * ONE + longest / 2) / longest,
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
            planned: 0,
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
        self.flows[at].live = false;
        self.flows[at].head = None;
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
        if record.head.is_none() {
            if self.flows.iter().all(|f| f.head.is_none()) {
                self.busy_periods += 1;
            }
            let record = &mut self.flows[at];
            record.correction = record.correction.max(0);
            let part = if record.busy_period == self.busy_periods { record.last.1 } else { 0 };
            record.last = (self.virtual_time, part);
            record.busy_period = self.busy_periods;
            self.take_head(at);
        }
        Ok(())
    }

    fn next(&mut self, now: Time) -> Next<M, P> {
        self.run(now);
        if self.stats.queued == 0 {
            return Next::Empty;
        }
        let Some(at) = self.first() else {
            let nanos = self.first_end().map_or(u128::MAX, |(work, _)| (work - self.work).div_ceil(work_per_nano()));
            let wake = u128::from(self.now.as_nanos()).saturating_add(nanos);
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
