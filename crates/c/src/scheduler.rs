//! A scheduler whose number of resources is known when it is made.

use core::mem::MaybeUninit;

use dovetail_sched::{FlowId, Next, Progress, Scheduler, Shape, Spec, SpecError, build};
use dovetail_units::{Duration, Time};

use crate::types::{Answer, FlowConfig, Packet, Payload, Refused, Served, Stats, Why};

/// What is reported of packets on one resource.
#[derive(Clone, Copy)]
pub enum Report<'a> {
    /// Processing began.
    Started,
    /// It ended, after so many nanoseconds of each packet.
    Finished(&'a [u64]),
    /// The packet left the pipeline unfinished.
    Abandoned,
}

impl Report<'_> {
    fn of(self, packet: usize) -> Progress {
        match self {
            Self::Started => Progress::Started,
            Self::Finished(used) => Progress::Finished { used: Duration::from_nanos(used[packet]) },
            Self::Abandoned => Progress::Abandoned,
        }
    }
}

/// Calls of C, whatever the number of resources: as [`Scheduler`], always for many packets.
pub trait AnyScheduler: Send {
    fn add_flow(&mut self, config: &FlowConfig) -> Result<FlowId, String>;
    fn set_flow(&mut self, now: Time, flow: FlowId, config: &FlowConfig) -> Result<(), String>;
    /// Whether there is such a flow.
    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(Payload)) -> bool;
    fn enqueue(&mut self, now: Time, packets: &[Packet], refused: &mut dyn FnMut(Refused));
    /// How many were served, which fill the beginning of `served`.
    fn next(&mut self, now: Time, served: &mut [MaybeUninit<Served>]) -> (usize, Answer);
    /// If the answer is `Enough`, `served` has been written.
    fn bypass(
        &mut self,
        now: Time,
        may_pass: &mut dyn FnMut(&Payload) -> bool,
        served: &mut MaybeUninit<Served>,
    ) -> Answer;
    /// # Safety
    /// The tickets are those of packets that this scheduler has served.
    unsafe fn report(&mut self, now: Time, served: &mut [Served], resource: usize, report: Report<'_>);
    fn left(&mut self, now: Time, flow: FlowId, stayed: Duration);
    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError>;
    fn stats(&self) -> Stats;
    fn queued(&self, flow: FlowId) -> u32;
    fn alpha(&self) -> Option<f64>;
}

/// Make the scheduler that `spec` describes.
///
/// # Errors
/// What is wrong with the text, or the number of resources.
pub fn of(spec: &str, resources: u32, servers: u32) -> Result<Box<dyn AnyScheduler>, String> {
    let spec: Spec = spec.parse().map_err(|error: SpecError| error.to_string())?;
    let shape = Shape { servers: if servers == 0 { resources } else { servers } };
    let made = match resources {
        1 => Of::<1>::made(&spec, shape),
        2 => Of::<2>::made(&spec, shape),
        3 => Of::<3>::made(&spec, shape),
        4 => Of::<4>::made(&spec, shape),
        _ => return Err(format!("{resources} resources: expected 1 to 4")),
    };
    made.map_err(|error| error.to_string())
}

/// Of `M` resources.
struct Of<const M: usize> {
    scheduler: Box<dyn Scheduler<M, Payload>>,
    // Between C's memory and the scheduler; empty between calls.
    packets: Vec<dovetail_sched::Packet<M, Payload>>,
    served: Vec<dovetail_sched::Served<M, Payload>>,
    tickets: Vec<dovetail_sched::Ticket<M>>,
    events: Vec<Progress>,
}

impl<const M: usize> Of<M> {
    fn made(spec: &Spec, shape: Shape) -> Result<Box<dyn AnyScheduler>, SpecError> {
        let (packets, served, tickets, events) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Box::new(Self { scheduler: build(spec, shape)?, packets, served, tickets, events }))
    }
}

impl<const M: usize> AnyScheduler for Of<M> {
    fn add_flow(&mut self, config: &FlowConfig) -> Result<FlowId, String> {
        Ok(self.scheduler.add_flow(config.read()?))
    }

    fn set_flow(&mut self, now: Time, flow: FlowId, config: &FlowConfig) -> Result<(), String> {
        self.scheduler.set_flow(now, flow, config.read()?).map_err(|_| "there is no such flow".to_string())
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(Payload)) -> bool {
        self.scheduler.remove_flow(now, flow, dropped).is_ok()
    }

    fn enqueue(&mut self, now: Time, packets: &[Packet], refused: &mut dyn FnMut(Refused)) {
        self.packets.extend(packets.iter().map(Packet::read));
        self.scheduler.enqueue_many(now, &mut self.packets, &mut |back| {
            refused(Refused { payload: back.payload.pointer(), reason: back.reason.into() });
        });
    }

    fn next(&mut self, now: Time, served: &mut [MaybeUninit<Served>]) -> (usize, Answer) {
        let instead = self.scheduler.next_many(now, served.len(), &mut self.served);
        for (to, packet) in served.iter_mut().zip(&self.served) {
            Served::put(to, packet);
        }
        let count = self.served.len();
        self.served.clear();
        (count, instead.map_or(Answer::of(Why::Enough), Answer::instead))
    }

    fn bypass(
        &mut self,
        now: Time,
        may_pass: &mut dyn FnMut(&Payload) -> bool,
        served: &mut MaybeUninit<Served>,
    ) -> Answer {
        let next = self.scheduler.bypass(now, may_pass);
        if let Next::Serve(packet) = &next {
            Served::put(served, packet);
        }
        Answer::instead(next)
    }

    unsafe fn report(&mut self, now: Time, served: &mut [Served], resource: usize, report: Report<'_>) {
        // Safety: as of this function.
        self.tickets.extend(served.iter().map(|packet| unsafe { packet.ticket() }));
        self.events.extend((0..served.len()).map(|packet| report.of(packet)));
        self.scheduler.progress_many(now, &mut self.tickets, resource, &self.events);
        for (packet, ticket) in served.iter_mut().zip(&self.tickets) {
            packet.set_ticket(ticket);
        }
        self.tickets.clear();
        self.events.clear();
    }

    fn left(&mut self, now: Time, flow: FlowId, stayed: Duration) {
        self.scheduler.left(now, flow, stayed);
    }

    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        self.scheduler.set(now, parameter, value)
    }

    fn stats(&self) -> Stats {
        self.scheduler.stats().into()
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.scheduler.queued(flow)
    }

    fn alpha(&self) -> Option<f64> {
        self.scheduler.steering().map(|steering| steering.alpha)
    }
}
