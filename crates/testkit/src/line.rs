//! Two resources that need equally long for every packet, so that none waits between them.

use dovetail_sched::{FlowId, Next, Packet, Progress, Scheduler, Shape, Ticket, build};
use dovetail_units::{Duration, ResourceVec, Time};

/// What every packet takes of either resource, in ns.
const LONG: u64 = 12_000;

/// The resources under a scheduler.
pub struct Line {
    /// Of packets that are known by whose they are.
    pub scheduler: Box<dyn Scheduler<2, u32>>,
    /// Packets started so far.
    pub now: u64,
    /// What is on the first resource, and on the second.
    inside: [Option<Ticket<2>>; 2],
}

impl Line {
    /// Idle, under the scheduler that this spec describes.
    ///
    /// # Panics
    /// It describes none.
    pub fn new(spec: &str) -> Self {
        let scheduler = build(&spec.parse().expect("a spec"), Shape { servers: 2 }).expect("a scheduler");
        Self { scheduler, now: 0, inside: [None, None] }
    }

    /// The present.
    pub fn time(&self) -> Time {
        Time::from_nanos(self.now * LONG)
    }

    /// A packet comes.
    ///
    /// # Panics
    /// It is refused.
    pub fn send(&mut self, flow: FlowId, whose: usize) {
        let packet = Packet { flow, size: 1500, cost: ResourceVec::from_nanos([LONG; 2]), payload: whose as u32 };
        assert!(self.scheduler.enqueue(self.time(), packet).is_ok());
    }

    /// Whose packet is served next, if one is; the time it takes passes.
    pub fn step(&mut self) -> Option<usize> {
        let served = match self.scheduler.next(self.time()) {
            Next::Serve(served) => Some(served),
            Next::At(_) | Next::AwaitProgress | Next::Empty | Next::Drop { .. } => None,
        };
        let (whose, mut entering) = served.map(|served| (served.payload as usize, served.ticket)).unzip();
        let start = self.time();
        let used = Duration::from_nanos(LONG);
        self.now += 1;
        let end = self.time();
        let [first, second] = &mut self.inside;
        for (resource, ticket) in [(0, &mut entering), (1, &mut *first)] {
            if let Some(ticket) = ticket {
                self.scheduler.progress(start, ticket, resource, Progress::Started);
                self.scheduler.progress(end, ticket, resource, Progress::Finished { used });
            }
        }
        (*second, *first) = (first.take(), entering);
        whose
    }
}
