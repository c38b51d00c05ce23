//! DRFQ as its definition reads: every packet keeps its stamp, every tag is computed anew whenever somebody asks. No
//! heap. The definition and the choices it leaves are those of [`dovetail_sched::drfq`].
//!
//! Tags are ticks of 2^-22 ns and, below that, thousandths of the weight.
//!
//! Cost per call: O(n M) for n flows.

use std::collections::VecDeque;

use dovetail_sched::newcomers::Newcomers;
use dovetail_sched::spec::SpecError;
use dovetail_sched::{
    DropReason, FlowConfig, FlowId, LONGEST_TIME, Next, Packet, Progress, Refused, Scheduler, Served, Stats, Ticket,
    UnknownFlow,
};
use dovetail_units::{ResourceVec, Time};

/// Ticks times thousandths of weight in a nanosecond.
const PER_NANO: i128 = 1000 << 22;
/// Tags stop here.
const LAST: i128 = (1 << 96) - 1;

type Tags<const M: usize> = [i128; M];
/// A tag, and thousandths of the weight below its tick.
type Exact = (i128, i128);

fn moved((ticks, part): Exact, nanos: i128, weight: i128) -> Exact {
    let sum = nanos * PER_NANO + part.min(weight - 1);
    ((ticks + sum.div_euclid(weight)).clamp(0, LAST), sum.rem_euclid(weight))
}

#[derive(Clone, Debug)]
struct Waiting<const M: usize, P> {
    size: u32,
    cost: ResourceVec<M>,
    /// V(a, j), or what a flow that pays has instead.
    stamp: Tags<M>,
    payload: P,
}

#[derive(Clone, Debug)]
struct Flow<const M: usize, P> {
    generation: u32,
    live: bool,
    config: FlowConfig<M>,
    waiting: VecDeque<Waiting<M, P>>,
    /// F of the last packet served, and its S + d.
    finish: [Exact; M],
    served_at: Tags<M>,
    /// d in nanoseconds; none if newcomers are free.
    deposit: [i128; M],
}

/// How far use of one resource is remembered on another, in tag units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Only the dominant resource of each packet counts.
    Memoryless,
    /// Delta, in ticks.
    Delta(i128),
}

/// Most packets inside the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// This many.
    Packets(usize),
    /// Two per backlogged flow, but at least this many.
    Backlogged(usize),
}

/// DRFQ over `M` resources.
#[derive(Clone, Debug)]
pub struct NaiveDrfq<const M: usize, P> {
    memory: Memory,
    window: Window,
    newcomers: Newcomers,
    flows: Vec<Flow<M, P>>,
    free: Vec<u32>,
    virtual_time: Tags<M>,
    /// S of every packet handed out, by the number that its ticket bears.
    handed_out: Vec<Tags<M>>,
    in_pipeline: usize,
    stats: Stats,
}

impl<const M: usize, P> NaiveDrfq<M, P> {
    /// Without flows.
    pub fn new(memory: Memory, window: Window, newcomers: Newcomers) -> Self {
        Self {
            memory,
            window,
            newcomers,
            flows: Vec::new(),
            free: Vec::new(),
            virtual_time: [0; M],
            handed_out: Vec::new(),
            in_pipeline: 0,
            stats: Stats::default(),
        }
    }

    fn find(&self, flow: FlowId) -> Option<usize> {
        let record = self.flows.get(flow.index())?;
        (record.live && FlowId::new(flow.index() as u32, record.generation) == flow).then_some(flow.index())
    }

    /// B(x_j) = max(x_j, max_k x_k - delta).
    fn remembered(&self, tags: Tags<M>) -> Tags<M> {
        match self.memory {
            Memory::Memoryless => tags,
            Memory::Delta(delta) => {
                let largest = tags.into_iter().max().unwrap_or(0);
                tags.map(|x| x.max(largest - delta))
            }
        }
    }

    /// S of the flow's first packet, d with it, and S + d.
    fn first(&self, flow: &Flow<M, P>) -> Option<([Exact; M], [i128; M], Tags<M>)> {
        let Waiting { stamp, cost, .. } = flow.waiting.front()?;
        let before = self.remembered(flow.finish.map(|f| f.0));
        let start: [Exact; M] = std::array::from_fn(|j| {
            let least = stamp[j].max(before[j]);
            if least > flow.finish[j].0 { (least, 0) } else { flow.finish[j] }
        });
        let charge = self.charge(cost);
        let deposit = match self.newcomers {
            Newcomers::Free => [0; M],
            Newcomers::Pay => std::array::from_fn(|j| flow.deposit[j].max(charge[j])),
        };
        let weight = i128::from(flow.config.weight.as_milli());
        Some((start, deposit, std::array::from_fn(|j| moved(start[j], deposit[j], weight).0)))
    }

    /// The stamp of a packet that comes now.
    fn stamp(&self, flow: &Flow<M, P>) -> Tags<M> {
        match (self.newcomers, flow.waiting.is_empty()) {
            (Newcomers::Free, _) => self.virtual_time,
            (Newcomers::Pay, false) => [0; M],
            (Newcomers::Pay, true) => std::array::from_fn(|j| {
                let deposit = moved((0, 0), flow.deposit[j], i128::from(flow.config.weight.as_milli())).0;
                let left = (flow.served_at[j] - flow.finish[j].0).clamp(0, deposit);
                (self.virtual_time[j] - left).max(0)
            }),
        }
    }

    /// Nanoseconds that a packet is charged; in memoryless mode all tags are alike.
    fn charge(&self, cost: &ResourceVec<M>) -> Tags<M> {
        let mut charge = cost.0.map(|time| i128::from(time.as_nanos()));
        if charge == [0; M] {
            charge[0] = 1;
        }
        match self.memory {
            Memory::Memoryless => [charge.into_iter().max().unwrap_or(0); M],
            Memory::Delta(_) => charge,
        }
    }

    fn has_room(&self) -> bool {
        let backlogged = self.flows.iter().filter(|f| !f.waiting.is_empty()).count();
        self.in_pipeline
            < match self.window {
                Window::Packets(most) => most,
                Window::Backlogged(least) => (2 * backlogged).max(least),
            }
    }

    /// A packet with these tags has started on a resource; on all of them in memoryless mode, and if newcomers pay.
    fn started(&mut self, tags: Tags<M>, resource: usize) {
        let tags = self.remembered(tags);
        for (j, tag) in tags.into_iter().enumerate() {
            if j == resource || self.memory == Memory::Memoryless || self.newcomers == Newcomers::Pay {
                self.virtual_time[j] = self.virtual_time[j].max(tag);
            }
        }
    }

    fn refuse(&mut self, reason: DropReason, payload: P) -> Result<(), Refused<P>> {
        self.stats.refused[reason as usize] += 1;
        Err(Refused { reason, payload })
    }
}

impl<const M: usize, P: Send> Scheduler<M, P> for NaiveDrfq<M, P> {
    fn add_flow(&mut self, config: FlowConfig<M>) -> FlowId {
        let flow = |generation| Flow {
            generation,
            live: true,
            config,
            waiting: VecDeque::new(),
            finish: [(0, 0); M],
            served_at: [0; M],
            deposit: [0; M],
        };
        let at = self.free.pop().map_or(self.flows.len(), |at| at as usize);
        if at == self.flows.len() {
            self.flows.push(flow(0));
        } else {
            self.flows[at] = flow(self.flows[at].generation.wrapping_add(1));
        }
        FlowId::new(at as u32, self.flows[at].generation)
    }

    fn set_flow(&mut self, _now: Time, flow: FlowId, config: FlowConfig<M>) -> Result<(), UnknownFlow> {
        let at = self.find(flow).ok_or(UnknownFlow)?;
        let reweighed = self.flows[at].config.weight != config.weight;
        if let (true, Some((_, deposit, tags))) = (reweighed, self.first(&self.flows[at])) {
            // S + d - V is as much time as before. Newcomers that are free have no d.
            let [old, new] = [self.flows[at].config.weight, config.weight].map(|w| i128::from(w.as_milli()));
            self.flows[at].finish = std::array::from_fn(|j| {
                let now = self.virtual_time[j];
                moved(((now + (tags[j] - now).max(0) * old / new).min(LAST), 0), -deposit[j], new)
            });
            // As published a packet keeps V at its arrival, which is no more than that now.
            if self.newcomers == Newcomers::Pay {
                self.flows[at].waiting[0].stamp = [0; M];
            }
        }
        if let (Newcomers::Free, true) = (self.newcomers, self.flows[at].waiting.is_empty()) {
            // F - V is as much time as before, if it is more than nothing.
            let [old, new] = [self.flows[at].config.weight, config.weight].map(|w| i128::from(w.as_milli()));
            for (finish, now) in self.flows[at].finish.iter_mut().zip(self.virtual_time) {
                if finish.0 > now && old != new {
                    *finish = ((now + (finish.0 - now) * old / new).min(LAST), 0);
                }
            }
        }
        self.flows[at].config = config;
        Ok(())
    }

    fn remove_flow(&mut self, _now: Time, flow: FlowId, dropped: &mut dyn FnMut(P)) -> Result<(), UnknownFlow> {
        let at = self.find(flow).ok_or(UnknownFlow)?;
        self.flows[at].live = false;
        self.free.push(at as u32);
        for packet in std::mem::take(&mut self.flows[at].waiting) {
            self.stats.dropped += 1;
            self.stats.queued -= 1;
            self.stats.queued_bytes -= u64::from(packet.size);
            dropped(packet.payload);
        }
        Ok(())
    }

    fn enqueue(&mut self, _now: Time, packet: Packet<M, P>) -> Result<(), Refused<P>> {
        self.stats.offered += 1;
        let Packet { flow, size, cost, payload } = packet;
        let cost = ResourceVec(cost.0.map(|time| time.min(LONGEST_TIME)));
        let Some(at) = self.find(flow) else { return self.refuse(DropReason::UnknownFlow, payload) };
        let record = &self.flows[at];
        let limit = record.config.limit;
        let bytes: u64 = record.waiting.iter().map(|w| u64::from(w.size)).sum();
        if limit.packets.is_some_and(|most| record.waiting.len() >= most as usize) {
            return self.refuse(DropReason::QueuePackets, payload);
        }
        if limit.bytes.is_some_and(|most| bytes + u64::from(size) > most.0) {
            return self.refuse(DropReason::QueueBytes, payload);
        }
        let stamp = self.stamp(&self.flows[at]);
        self.flows[at].waiting.push_back(Waiting { size, cost, stamp, payload });
        self.stats.admitted += 1;
        self.stats.queued += 1;
        self.stats.queued_bytes += u64::from(size);
        Ok(())
    }

    fn next(&mut self, _now: Time) -> Next<M, P> {
        let descending = |mut tags: Tags<M>| {
            tags.sort_unstable_by(|a, b| b.cmp(a));
            tags
        };
        let heads = self.flows.iter().enumerate().filter_map(|(i, f)| self.first(f).map(|s| (i, s)));
        let first = heads.min_by_key(|&(i, (_, _, tags))| (descending(tags), i));
        let Some((at, (start, deposit, tags))) = first else { return Next::Empty };
        if !self.has_room() {
            return Next::AwaitProgress;
        }
        let Some(packet) = self.flows[at].waiting.pop_front() else { return Next::Empty };
        let charge = self.charge(&packet.cost);
        let record = &mut self.flows[at];
        let weight = i128::from(record.config.weight.as_milli());
        record.finish = std::array::from_fn(|j| moved(start[j], charge[j], weight));
        (record.served_at, record.deposit) = (tags, deposit);
        self.started(tags, 0);
        self.in_pipeline += 1;
        self.stats.served += 1;
        self.stats.queued -= 1;
        self.stats.queued_bytes -= u64::from(packet.size);
        // What tickets bear.
        self.handed_out.push(tags.map(|tag| tag >> 10 << 10));
        let flow = FlowId::new(at as u32, self.flows[at].generation);
        let ticket = Ticket::new(flow, packet.cost, [self.handed_out.len() as u64 - 1; M]);
        Next::Serve(Served { ticket, size: packet.size, payload: packet.payload })
    }

    fn progress(&mut self, _now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress) {
        let leaves = match event {
            Progress::Started if self.newcomers == Newcomers::Pay => false,
            Progress::Started => {
                self.started(self.handed_out[ticket.tags()[0] as usize], resource);
                false
            }
            Progress::Finished { used } => {
                let before = ticket.charged();
                let mut after = before;
                after[resource] = used.min(LONGEST_TIME);
                if let Some(at) = self.find(ticket.flow()) {
                    let (charged, used) = (self.charge(&before), self.charge(&after));
                    let weight = i128::from(self.flows[at].config.weight.as_milli());
                    let finish = &mut self.flows[at].finish;
                    *finish = std::array::from_fn(|j| moved(finish[j], used[j] - charged[j], weight));
                }
                *ticket = Ticket::new(ticket.flow(), after, ticket.tags());
                resource + 1 == M
            }
            Progress::Abandoned => true,
        };
        self.in_pipeline = self.in_pipeline.saturating_sub(usize::from(leaves));
    }

    fn set(&mut self, _now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        let bad = || SpecError::bad_value(parameter, value, "window, at least 1");
        let window = value.parse().ok().filter(|&w| parameter == "window" && w >= 1).ok_or_else(bad)?;
        self.window = Window::Packets(window);
        Ok(())
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.find(flow).map_or(0, |at| self.flows[at].waiting.len() as u32)
    }
}
