//! The books of a scheduler kept once more, outside of it, and what must hold after every call.

use std::collections::VecDeque;

use dovetail_sched::catalog::Parameter;
use dovetail_sched::{
    DropReason, FlowConfig, FlowId, LONGEST_TIME, Limit, Next, Packet, Progress, Scheduler, Stats, Ticket,
};
use dovetail_units::{Duration, ResourceVec, Time};

use crate::operation::{Operation, of_resources};

struct Flow {
    id: FlowId,
    limit: Limit,
    /// Payloads, sizes and nanoseconds in order of arrival.
    waiting: VecDeque<(u32, u32, Vec<u64>)>,
    /// Too much time waited, and has not shrunk enough since.
    closed: bool,
}

impl Flow {
    /// After every change of what waits or of the limit.
    fn close_or_open(&mut self) {
        let Some(limit) = self.limit.time else {
            self.closed = false;
            return;
        };
        let times = self.waiting.iter().filter_map(|w| w.2.get(limit.resource));
        let waits: u128 = times.map(|&time| u128::from(time)).sum();
        if waits > u128::from(limit.upper.as_nanos()) {
            self.closed = true;
        } else if self.waiting.is_empty() || waits < u128::from(limit.lower.as_nanos()) {
            self.closed = false;
        }
    }
}

/// A scheduler, and everything that is known about it from outside.
pub struct Model<const M: usize> {
    scheduler: Box<dyn Scheduler<M, u32>>,
    parameters: &'static [Parameter],
    flows: Vec<Flow>,
    gone: Vec<FlowId>,
    pipeline: Vec<Ticket<M>>,
    books: Stats,
    now: Time,
    wake: Time,
}

/// Flows at most; the flood of flows is a test of its own.
const FLOWS: usize = 24;

impl<const M: usize> Model<M> {
    /// Of a fresh scheduler whose parameters these are.
    pub fn new(scheduler: Box<dyn Scheduler<M, u32>>, parameters: &'static [Parameter]) -> Self {
        Self {
            scheduler,
            parameters,
            flows: Vec::new(),
            gone: Vec::new(),
            pipeline: Vec::new(),
            books: Stats::default(),
            now: Time::ZERO,
            wake: Time::ZERO,
        }
    }

    /// Apply one operation and check what follows from it.
    ///
    /// # Errors
    ///
    /// What does not hold, in words.
    pub fn apply(&mut self, operation: Operation) -> Result<(), String> {
        match operation {
            Operation::AddFlow(config) => self.add_flow(of_resources(config)),
            Operation::SetFlow(flow, config) => self.set_flow(flow, of_resources(config))?,
            Operation::RemoveFlow(flow) => self.remove_flow(flow)?,
            Operation::Enqueue { flow, count, size, cost } => {
                let cost = ResourceVec::from_nanos(std::array::from_fn(|r| cost[r]));
                (0..count).try_for_each(|_| self.enqueue(flow, size, cost))?;
            }
            Operation::Next(times) => {
                for _ in 0..times {
                    self.next(self.now)?;
                }
            }
            Operation::Progress { packet, resource, event } => self.progress(packet, resource, event),
            Operation::Set(choice) => self.set(choice)?,
            Operation::Wait(ns) => self.now += Duration::from_nanos(ns),
            Operation::Wake => self.now = self.now.max(self.wake),
            Operation::Backwards(ns) => {
                // The scheduler sees the present, and then a clock that has run backwards.
                self.next(self.now)?;
                let earlier = self.now.as_nanos().saturating_sub(ns);
                self.next(Time::from_nanos(earlier))?;
            }
        }
        self.invariants()
    }

    /// The identities of the books, flow by flow.
    ///
    /// # Errors
    ///
    /// The identity that does not hold, in words.
    pub fn invariants(&self) -> Result<(), String> {
        let stats = self.scheduler.stats();
        if stats != self.books {
            return Err(format!("the books say {stats:?}, right is {:?}", self.books));
        }
        let refused: u64 = stats.refused.iter().sum();
        if stats.offered != stats.admitted + refused || stats.admitted != stats.served + stats.dropped + stats.queued {
            return Err(format!("the books do not add up: {stats:?}"));
        }
        for flow in &self.flows {
            let queued = self.scheduler.queued(flow.id);
            if queued as usize != flow.waiting.len() {
                return Err(format!("{:?} has {queued} packets, right is {}", flow.id, flow.waiting.len()));
            }
        }
        match self.gone.iter().find(|&&flow| self.scheduler.queued(flow) != 0) {
            Some(flow) => Err(format!("{flow:?} is gone and has packets")),
            None => Ok(()),
        }
    }

    /// Serve everything that waits: every packet comes out, whatever happened before.
    ///
    /// # Errors
    ///
    /// What does not hold, in words.
    pub fn drain(mut self) -> Result<(), String> {
        let mut wakes = 0;
        loop {
            match self.next(self.now)? {
                Step::Served => wakes = 0,
                Step::Empty => return self.invariants(),
                Step::AwaitProgress if self.pipeline.is_empty() => {
                    return Err("waits for progress with nothing in the pipeline".to_string());
                }
                Step::AwaitProgress => self.progress(0, M - 1, crate::operation::Event::Exact),
                Step::At if wakes > 10_000 => return Err(format!("{wakes} wakes without a packet")),
                // The clock has come to its end.
                Step::At if self.now == Time::MAX => return Ok(()),
                Step::At => {
                    wakes += 1;
                    self.now = self.wake;
                }
            }
        }
    }

    fn add_flow(&mut self, config: FlowConfig<M>) {
        if self.flows.len() < FLOWS {
            let id = self.scheduler.add_flow(config);
            self.flows.push(Flow { id, limit: config.limit, waiting: VecDeque::new(), closed: false });
        }
    }

    /// One in eight numbers names a flow that is gone, if there is one.
    fn pick(&self, number: u8) -> Result<usize, Option<FlowId>> {
        let stale = number % 8 == 7 || self.flows.is_empty();
        match (stale, self.gone.len()) {
            (true, 0) if self.flows.is_empty() => Err(None),
            (true, gone) if gone > 0 => Err(Some(self.gone[usize::from(number) % gone])),
            _ => Ok(usize::from(number) % self.flows.len()),
        }
    }

    fn set_flow(&mut self, number: u8, config: FlowConfig<M>) -> Result<(), String> {
        match self.pick(number) {
            Ok(at) => {
                // A queue that is closed stays so under a changed limit until that opens it.
                self.flows[at].limit = config.limit;
                self.flows[at].close_or_open();
                let known = self.scheduler.set_flow(self.now, self.flows[at].id, config);
                known.map_err(|_| "a live flow is unknown".to_string())
            }
            Err(Some(gone)) if self.scheduler.set_flow(self.now, gone, config).is_ok() => {
                Err(format!("{gone:?} is gone and can be set"))
            }
            Err(_) => Ok(()),
        }
    }

    fn remove_flow(&mut self, number: u8) -> Result<(), String> {
        let mut dropped = VecDeque::new();
        let mut take = |payload| dropped.push_back(payload);
        match self.pick(number) {
            Ok(at) => {
                let flow = self.flows.swap_remove(at);
                let known = self.scheduler.remove_flow(self.now, flow.id, &mut take);
                known.map_err(|_| "a live flow is unknown".to_string())?;
                self.gone.push(flow.id);
                self.books.dropped += flow.waiting.len() as u64;
                self.books.queued -= flow.waiting.len() as u64;
                self.books.queued_bytes -= flow.waiting.iter().map(|w| u64::from(w.1)).sum::<u64>();
                let right: VecDeque<u32> = flow.waiting.iter().map(|w| w.0).collect();
                if dropped == right { Ok(()) } else { Err(format!("gave back {dropped:?}, right is {right:?}")) }
            }
            Err(Some(gone)) if self.scheduler.remove_flow(self.now, gone, &mut take).is_ok() => {
                Err(format!("{gone:?} is gone and can be removed"))
            }
            Err(_) => Ok(()),
        }
    }

    fn enqueue(&mut self, number: u8, size: u32, cost: ResourceVec<M>) -> Result<(), String> {
        let (flow, right) = match self.pick(number) {
            Ok(at) => (self.flows[at].id, self.refusal(&self.flows[at], size)),
            Err(Some(gone)) => (gone, Some(DropReason::UnknownFlow)),
            Err(None) => return Ok(()),
        };
        self.books.offered += 1;
        let payload = self.books.offered as u32;
        let answer = self.scheduler.enqueue(self.now, Packet { flow, size, cost, payload });
        let given = answer.map_err(|refused| (refused.reason, refused.payload));
        let expected = right.map_or(Ok(()), |reason| Err((reason, payload)));
        if given != expected {
            return Err(format!("enqueue answers {given:?}, right is {expected:?}"));
        }
        match right {
            Some(reason) => self.books.refused[reason as usize] += 1,
            None => {
                self.books.admitted += 1;
                self.books.queued += 1;
                self.books.queued_bytes += u64::from(size);
                let times = cost.iter().map(|time| time.as_nanos().min(LONGEST_TIME.as_nanos())).collect();
                if let Some(flow) = self.flows.iter_mut().find(|f| f.id == flow) {
                    flow.waiting.push_back((payload, size, times));
                    flow.close_or_open();
                }
            }
        }
        Ok(())
    }

    fn refusal(&self, flow: &Flow, size: u32) -> Option<DropReason> {
        let limit = flow.limit;
        let bytes: u64 = flow.waiting.iter().map(|w| u64::from(w.1)).sum::<u64>() + u64::from(size);
        if limit.packets.is_some_and(|most| flow.waiting.len() >= most as usize) {
            return Some(DropReason::QueuePackets);
        }
        if limit.bytes.is_some_and(|most| bytes > most.0) {
            return Some(DropReason::QueueBytes);
        }
        flow.closed.then_some(DropReason::QueueTime)
    }

    fn next(&mut self, now: Time) -> Result<Step, String> {
        let answer = self.scheduler.next(now);
        if !matches!(answer, Next::Serve(_) | Next::Drop { .. }) && self.scheduler.next(now) != answer {
            return Err(format!("{answer:?} is not the answer when asked again"));
        }
        match answer {
            Next::Serve(packet) => {
                let flow = self.flows.iter_mut().find(|f| f.id == packet.ticket.flow());
                let flow = flow.ok_or("a packet of a flow that is gone is served")?;
                let first = flow.waiting.pop_front().map(|w| (w.0, w.1));
                flow.close_or_open();
                if first != Some((packet.payload, packet.size)) {
                    return Err(format!("packet {} is served, its flow's first is {first:?}", packet.payload));
                }
                self.books.served += 1;
                self.books.queued -= 1;
                self.books.queued_bytes -= u64::from(packet.size);
                self.pipeline.push(packet.ticket);
                Ok(Step::Served)
            }
            Next::Drop { flow, size, payload } => {
                let flow = self.flows.iter_mut().find(|f| f.id == flow);
                let flow = flow.ok_or("a packet of a flow that is gone is dropped")?;
                let first = flow.waiting.pop_front().map(|w| (w.0, w.1));
                flow.close_or_open();
                if first != Some((payload, size)) {
                    return Err(format!("packet {payload} is dropped, its flow's first is {first:?}"));
                }
                self.books.dropped += 1;
                self.books.queued -= 1;
                self.books.queued_bytes -= u64::from(size);
                self.next(now)
            }
            Next::At(time) if time <= self.now && time != Time::MAX => {
                Err(format!("wants to be woken at {time}, which is not after {}", self.now))
            }
            Next::Empty if self.books.queued > 0 => Err(format!("says empty with {} packets", self.books.queued)),
            Next::At(_) | Next::AwaitProgress if self.books.queued == 0 => Err("waits without packets".to_string()),
            Next::At(time) => {
                self.wake = time;
                Ok(Step::At)
            }
            Next::AwaitProgress => Ok(Step::AwaitProgress),
            Next::Empty => Ok(Step::Empty),
        }
    }

    /// Also of packets whose flow is gone, also of a resource that is not there, and also twice.
    fn progress(&mut self, packet: u8, resource: usize, event: crate::operation::Event) {
        if self.pipeline.is_empty() {
            return;
        }
        let at = usize::from(packet) % self.pipeline.len();
        let ticket = &mut self.pipeline[at];
        let charged = ticket.charged().0.get(resource).copied().unwrap_or_default();
        let event = event.of(charged);
        self.scheduler.progress(self.now, ticket, resource, event);
        let leaves = event == Progress::Abandoned || event != Progress::Started && resource == M - 1;
        if leaves && resource < M {
            let stayed = Duration::from_nanos(charged.as_nanos() << (packet % 16));
            self.scheduler.left(self.now, ticket.flow(), stayed);
            self.pipeline.swap_remove(at);
        }
    }

    fn set(&mut self, choice: u8) -> Result<(), String> {
        const VALUES: [&str; 8] = ["1", "0.5", "0", "8", "-1", "", "nan", "memoryless"];
        let Some(parameter) = self.parameters.get(usize::from(choice) % self.parameters.len().max(1)) else {
            return Ok(());
        };
        let value = VALUES[usize::from(choice / 8) % VALUES.len()];
        let accepted = self.scheduler.set(self.now, parameter.name, value).is_ok();
        match accepted && !parameter.settable {
            true => Err(format!("{} is not settable and was set", parameter.name)),
            false => Ok(()),
        }
    }
}

enum Step {
    Served,
    At,
    AwaitProgress,
    Empty,
}
