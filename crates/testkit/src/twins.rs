//! Two schedulers under one sequence of operations.

use dovetail_sched::{FlowConfig, FlowId, Limit, Next, Packet, Progress, Scheduler, Ticket};
use dovetail_units::{Duration, ResourceVec, Time};

use crate::operation::{Event, MAX_RESOURCES, Operation, of_resources};

/// Packets beyond this are abandoned, the oldest report first.
const LONGEST_PIPELINE: usize = 64;

/// The first scheduler (under test) and the second (the oracle), their flows and the packets they handed out.
pub struct Twins<const M: usize, A, B> {
    /// The scheduler under test.
    pub subject: A,
    /// What it must agree with.
    pub oracle: B,
    /// A parameter that [`Operation::Set`] changes, and its values.
    pub settings: (&'static str, &'static [&'static str]),
    /// What becomes of every operation before it is applied.
    pub tame: fn(Operation) -> Operation,
    /// At most so many flows.
    pub flows_at_most: usize,
    now: Time,
    wake: Time,
    flows: Vec<[FlowId; 2]>,
    /// Tickets, and how far the packets are: starts and ends counted along the pipeline.
    pipeline: Vec<([Ticket<M>; 2], usize)>,
    packets: u32,
}

impl<const M: usize, A: Scheduler<M, u32>, B: Scheduler<M, u32>> Twins<M, A, B> {
    /// Nothing has happened yet.
    pub fn new(subject: A, oracle: B, settings: (&'static str, &'static [&'static str])) -> Self {
        Self {
            subject,
            oracle,
            settings,
            tame: |operation| operation,
            flows_at_most: 12,
            now: Time::ZERO,
            wake: Time::ZERO,
            flows: Vec::new(),
            pipeline: Vec::new(),
            packets: 0,
        }
    }

    /// Apply every operation that the bytes make.
    ///
    /// # Errors
    ///
    /// The first difference between the two, in words.
    pub fn run(&mut self, bytes: &mut impl Iterator<Item = u8>) -> Result<(), String> {
        let mut count = 0u64;
        while let Some(operation) = Operation::read(bytes).map(self.tame) {
            self.apply(operation).map_err(|e| format!("operation {count}, {operation:?} at {}: {e}", self.now))?;
            count += 1;
        }
        Ok(())
    }

    /// Apply one operation to both and compare what they answer.
    ///
    /// # Errors
    ///
    /// The difference, in words.
    pub fn apply(&mut self, operation: Operation) -> Result<(), String> {
        // Limits of time are not the discipline's; the books in `model` have them.
        let untimed = |config: FlowConfig<MAX_RESOURCES>| {
            of_resources(FlowConfig { limit: Limit { time: None, ..config.limit }, ..config })
        };
        match operation {
            Operation::AddFlow(config) if self.flows.len() < self.flows_at_most => {
                let config = untimed(config);
                self.flows.push([self.subject.add_flow(config), self.oracle.add_flow(config)]);
            }
            Operation::AddFlow(_) => {}
            Operation::SetFlow(flow, config) => {
                let Some([a, b]) = self.flow(flow) else { return Ok(()) };
                let config = untimed(config);
                alike(self.subject.set_flow(self.now, a, config), self.oracle.set_flow(self.now, b, config))?;
            }
            Operation::RemoveFlow(flow) => {
                let Some([a, b]) = self.flow(flow) else { return Ok(()) };
                let (mut left, mut right) = (Vec::new(), Vec::new());
                let removed = self.subject.remove_flow(self.now, a, &mut |p| left.push(p));
                alike(removed, self.oracle.remove_flow(self.now, b, &mut |p| right.push(p)))?;
                alike(left, right)?;
                self.flows.swap_remove(usize::from(flow) % self.flows.len());
            }
            Operation::Enqueue { flow, count, size, cost } => self.enqueue(flow, count, size, cost)?,
            Operation::Next(times) => (0..times).try_for_each(|_| self.next())?,
            Operation::Progress { packet, resource, event } => self.progress(packet, resource, event),
            Operation::Set(choice) => {
                let (parameter, values) = self.settings;
                let value = values[usize::from(choice) % values.len()];
                alike(
                    self.subject.set(self.now, parameter, value).is_ok(),
                    self.oracle.set(self.now, parameter, value).is_ok(),
                )?;
            }
            Operation::Wait(ns) => self.now += Duration::from_nanos(ns),
            Operation::Wake => self.now = self.now.max(self.wake),
            Operation::Backwards(ns) => {
                let earlier = Time::from_nanos(self.now.as_nanos().saturating_sub(ns));
                self.next_at(earlier)?;
            }
        }
        alike(self.subject.stats(), self.oracle.stats())
    }

    fn flow(&self, number: u8) -> Option<[FlowId; 2]> {
        (!self.flows.is_empty()).then(|| self.flows[usize::from(number) % self.flows.len()])
    }

    fn enqueue(&mut self, flow: u8, count: u8, size: u32, cost: [u64; MAX_RESOURCES]) -> Result<(), String> {
        let Some([a, b]) = self.flow(flow) else { return Ok(()) };
        let cost = ResourceVec::from_nanos(std::array::from_fn(|r| cost[r]));
        for _ in 0..count {
            self.packets += 1;
            let packet = |flow| Packet { flow, size, cost, payload: self.packets };
            alike(self.subject.enqueue(self.now, packet(a)), self.oracle.enqueue(self.now, packet(b)))?;
        }
        Ok(())
    }

    fn next(&mut self) -> Result<(), String> {
        self.next_at(self.now)
    }

    fn next_at(&mut self, now: Time) -> Result<(), String> {
        match (self.subject.next(now), self.oracle.next(now)) {
            (Next::Serve(a), Next::Serve(b)) => {
                self.pipeline.push(([a.ticket, b.ticket], 0));
                if self.pipeline.len() > LONGEST_PIPELINE {
                    self.progress(0, 0, Event::Abandoned);
                }
                alike((a.payload, a.size, a.ticket.charged()), (b.payload, b.size, b.ticket.charged()))
            }
            (a, b) => {
                if a == Next::AwaitProgress {
                    self.progress(0, M - 1, Event::Exact);
                }
                if let Next::At(time) = a {
                    self.wake = time;
                }
                alike(a, b)
            }
        }
    }

    fn progress(&mut self, packet: u8, resource: usize, event: Event) {
        if self.pipeline.is_empty() {
            return;
        }
        let at = usize::from(packet) % self.pipeline.len();
        let resource = resource % M;
        let ([a, b], reached) = &mut self.pipeline[at];
        let event = event.of(a.charged()[resource]);
        self.subject.progress(self.now, a, resource, event);
        let further = 2 * resource + 1 + usize::from(event != Progress::Started);
        if further > *reached || event == Progress::Abandoned {
            *reached = further;
            self.oracle.progress(self.now, b, resource, event);
        } else {
            // What says no more than an earlier report changes nothing: the oracle hears the time only, and what it
            // knows since the packet was handed out.
            self.oracle.progress(self.now, b, 0, Progress::Started);
        }
        let leaves = event == Progress::Abandoned || (resource + 1 == M && event != Progress::Started);
        if leaves {
            self.pipeline.swap_remove(at);
        }
    }
}

impl Event {
    /// As a scheduler hears it, of a packet that was charged so much.
    pub fn of(self, charged: Duration) -> Progress {
        let took = |ns| Progress::Finished { used: Duration::from_nanos(ns) };
        match self {
            Self::Started => Progress::Started,
            Self::Exact => Progress::Finished { used: charged },
            Self::Times256th(factor) => {
                took(u64::try_from((u128::from(charged.as_nanos()) * u128::from(factor)) >> 8).unwrap_or(u64::MAX))
            }
            Self::Took(ns) => took(ns),
            Self::Abandoned => Progress::Abandoned,
        }
    }
}

fn alike<T: PartialEq + std::fmt::Debug>(subject: T, oracle: T) -> Result<(), String> {
    if subject == oracle { Ok(()) } else { Err(format!("{subject:?}, the oracle says {oracle:?}")) }
}
