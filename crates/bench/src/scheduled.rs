//! A scheduler behind the contract, as its owner drives it: packets come, packets go, and what they took is reported.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Served, Shape, SpecError, Ticket, build};
use dovetail_testkit::random::Random;
use dovetail_units::{Duration, ResourceVec, Time};

use crate::frames::Place;
use crate::subject::{Arrivals, Senders, Subject};

/// Time per packet on the last resource, in ns: 800 bytes at 200 Mbit/s.
const LINK: u64 = 32_000;
/// Time per packet on the first resource, in ns: three modules as in the tradeoff paper's section 6.
const CPU: [u64; 3] = [7_000, 14_000, 96_700];
/// Time per packet on any other.
const OTHER: u64 = 20_000;

/// A scheduler of `M` resources with as many packets waiting as [`BACKLOG`](crate::subject::BACKLOG) says.
///
/// Reports are those of a packet that has gone through all resources, with times that differ from the estimate by up to
/// a sixteenth, so that every report is a correction.
pub struct Scheduled<const M: usize> {
    scheduler: Box<dyn Scheduler<M, Place>>,
    arrivals: Arrivals,
    flows: Vec<FlowId>,
    senders: Senders,
    now: Time,
    /// Of the packets that went last, if new ones are to be of these.
    served: Vec<usize>,
    coming: Vec<Packet<M, Place>>,
    going: Vec<Served<M, Place>>,
    tickets: Vec<Ticket<M>>,
    events: Vec<Progress>,
}

impl<const M: usize> Scheduled<M> {
    pub fn new(spec: &str, arrivals: Arrivals, flows: usize, random: Random) -> Result<Self, String> {
        let parsed = spec.parse().map_err(|e: SpecError| format!("{spec}: {e}"))?;
        let mut scheduler = build(&parsed, Shape { servers: M as u32 }).map_err(|e| format!("{spec}: {e}"))?;
        let ids = (0..flows).map(|_| scheduler.add_flow(FlowConfig::default())).collect();
        let mut senders = Senders::new(flows, random);
        let first = if arrivals == Arrivals::Alone { Vec::new() } else { senders.first() };
        let (coming, going, tickets, events) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (now, served) = (Time::ZERO, Vec::new());
        let mut this = Self { scheduler, arrivals, flows: ids, senders, now, served, coming, going, tickets, events };
        for flow in first {
            let packet = this.packet_of(flow);
            this.come(packet);
        }
        Ok(this)
    }

    /// A packet of some flow, or of that of the packet that went `before`.
    #[inline]
    fn packet(&mut self, before: usize) -> Packet<M, Place> {
        let flow = self.served.get(before).copied().unwrap_or_else(|| self.senders.flow());
        self.packet_of(flow)
    }

    #[inline]
    fn packet_of(&mut self, flow: usize) -> Packet<M, Place> {
        let payload = self.senders.frames.take();
        self.senders.frames.frame(payload).flow = flow as u32;
        Packet { flow: self.flows[flow], size: 800, cost: cost(flow), payload }
    }

    /// A packet comes.
    fn come(&mut self, packet: Packet<M, Place>) {
        // No limits, so nothing is refused.
        let _ = self.scheduler.enqueue(self.now, packet);
    }

    /// One packet comes, one goes.
    fn single(&mut self) -> u64 {
        let packet = self.packet(0);
        self.come(packet);
        self.served.clear();
        loop {
            match self.scheduler.next(self.now) {
                Next::Serve(mut packet) => {
                    for resource in 0..M {
                        let used = used(packet.ticket.charged()[resource], &mut self.senders);
                        self.scheduler.progress(self.now, &mut packet.ticket, resource, Progress::Finished { used });
                    }
                    if self.arrivals == Arrivals::Served {
                        self.served.push(packet.ticket.flow().index());
                    }
                    return self.senders.frames.give_back(packet.payload);
                }
                Next::At(time) => self.now = time,
                // What is dropped is gone.
                Next::Drop { .. } => (),
                Next::AwaitProgress | Next::Empty => return 0,
            }
        }
    }

    /// So many packets come, as many go, each in one call as far as they may.
    fn many(&mut self, burst: usize) -> u64 {
        for before in 0..burst {
            let packet = self.packet(before);
            self.coming.push(packet);
        }
        self.scheduler.enqueue_many(self.now, &mut self.coming, &mut |_| ());
        self.served.clear();
        let (mut left, mut read) = (burst, 0);
        while left > 0 {
            let pause = self.scheduler.next_many(self.now, left, &mut self.going);
            if self.going.is_empty() {
                match pause {
                    Some(Next::At(time)) => self.now = time,
                    // What is dropped is gone.
                    Some(Next::Drop { .. }) => (),
                    _ => break,
                }
            }
            left -= self.going.len();
            read += self.gone();
        }
        read
    }

    /// The packets that were handed out have gone through all resources; what was read of them.
    fn gone(&mut self) -> u64 {
        let Self { going, tickets, events, senders, scheduler, served, .. } = self;
        tickets.clear();
        tickets.extend(going.iter().map(|packet| packet.ticket));
        for resource in 0..M {
            events.clear();
            let took = tickets.iter().map(|ticket| used(ticket.charged()[resource], senders));
            events.extend(took.map(|used| Progress::Finished { used }));
            scheduler.progress_many(self.now, tickets, resource, events);
        }
        let read = going.iter().map(|packet| senders.frames.give_back(packet.payload)).sum();
        if self.arrivals == Arrivals::Served {
            served.extend(tickets.iter().map(|ticket| ticket.flow().index()));
        }
        going.clear();
        read
    }
}

impl<const M: usize> Subject for Scheduled<M> {
    fn turn(&mut self, burst: usize) -> u64 {
        self.now += Duration::from_nanos(LINK * burst as u64);
        if burst == 1 { self.single() } else { self.many(burst) }
    }
}

/// What a packet takes of which so much was estimated.
fn used(estimated: Duration, senders: &mut Senders) -> Duration {
    let nanos = estimated.as_nanos();
    Duration::from_nanos(nanos - nanos / 16 + senders.draw(nanos / 8 + 1))
}

/// Of every packet of a flow; a caller has it at hand when the packet comes.
fn cost<const M: usize>(flow: usize) -> ResourceVec<M> {
    let spread = (flow as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54;
    ResourceVec::from_nanos(std::array::from_fn(|resource| match resource {
        _ if resource + 1 == M => LINK + spread,
        0 => CPU[flow % CPU.len()] + spread,
        _ => OTHER + spread,
    }))
}
