//! A scheduler behind the contract, as its owner drives it: packets come, packets go, and what they took is reported.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Served, Shape, SpecError, Ticket, build};
use dovetail_testkit::random::Random;
use dovetail_units::{Duration, ResourceVec, Time};

use crate::frames::Place;
use crate::subject::{Arrivals, Draws, LONGEST_BURST, Senders, Subject};

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
    sources: Sources,
    now: Time,
    coming: Vec<Packet<M, Place>>,
    going: Vec<Served<M, Place>>,
    tickets: Vec<Ticket<M>>,
    events: [Progress; LONGEST_BURST],
}

impl<const M: usize> Scheduled<M> {
    pub fn new(spec: &str, arrivals: Arrivals, flows: usize, random: Random) -> Result<Self, String> {
        let parsed = spec.parse().map_err(|e: SpecError| format!("{spec}: {e}"))?;
        let mut scheduler = build(&parsed, Shape { servers: M as u32 }).map_err(|e| format!("{spec}: {e}"))?;
        let ids = (0..flows).map(|_| scheduler.add_flow(FlowConfig::default())).collect();
        let mut senders = Senders::new(flows, random);
        let first = if arrivals == Arrivals::Alone { Vec::new() } else { senders.first() };
        let (coming, going, tickets) = (Vec::new(), Vec::new(), Vec::new());
        let events = [Progress::Started; LONGEST_BURST];
        let sources = Sources { flows: ids, senders, served: Vec::new() };
        let mut this = Self { scheduler, arrivals, sources, now: Time::ZERO, coming, going, tickets, events };
        for flow in first {
            let packet = this.sources.packet_of(flow);
            this.come(packet);
        }
        Ok(this)
    }

    /// A packet comes.
    fn come(&mut self, packet: Packet<M, Place>) {
        // No limits, so nothing is refused.
        let _ = self.scheduler.enqueue(self.now, packet);
    }

    /// One packet comes, one goes.
    #[inline]
    fn single(&mut self) -> u64 {
        let packet = self.sources.packet(0);
        self.come(packet);
        self.sources.served.clear();
        loop {
            let mut next = self.scheduler.next(self.now);
            if let Next::Serve(packet) = &mut next {
                return self.gone(packet);
            }
            match next {
                Next::At(time) => self.now = time,
                // What is dropped is gone.
                Next::Drop { .. } => (),
                _ => return 0,
            }
        }
    }

    /// The packet has gone through all resources; what was read of it. It stays where it was written: a copy would read
    /// in larger parts what has just been written.
    #[inline]
    fn gone(&mut self, packet: &mut Served<M, Place>) -> u64 {
        let Self { sources: Sources { senders, served, .. }, scheduler, .. } = self;
        let mut draws = senders.draws;
        for resource in 0..M {
            let used = used(packet.ticket.charged()[resource], &mut draws);
            scheduler.progress(self.now, &mut packet.ticket, resource, Progress::Finished { used });
        }
        senders.draws = draws;
        if self.arrivals == Arrivals::Served {
            served.push(packet.ticket.flow().index());
        }
        senders.frames.give_back(packet.payload)
    }

    /// So many packets come, as many go, each in one call as far as they may.
    #[inline(never)]
    fn many(&mut self, burst: usize) -> u64 {
        self.coming.extend((0..burst).map(|before| self.sources.packet(before)));
        self.scheduler.enqueue_many(self.now, &mut self.coming, &mut |_| ());
        self.sources.served.clear();
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
            read += self.all_gone();
        }
        read
    }

    /// The packets that were handed out have gone through all resources; what was read of them.
    fn all_gone(&mut self) -> u64 {
        let Self { going, tickets, events, sources: Sources { senders, served, .. }, scheduler, .. } = self;
        tickets.clear();
        tickets.extend(going.iter().map(|packet| packet.ticket));
        let mut draws = senders.draws;
        for resource in 0..M {
            for (event, ticket) in events.iter_mut().zip(&*tickets) {
                *event = Progress::Finished { used: used(ticket.charged()[resource], &mut draws) };
            }
            scheduler.progress_many(self.now, tickets, resource, events);
        }
        senders.draws = draws;
        let read = going.iter().map(|packet| senders.frames.give_back(packet.payload)).sum();
        if self.arrivals == Arrivals::Served {
            served.extend(tickets.iter().map(|ticket| ticket.flow().index()));
        }
        going.clear();
        read
    }
}

/// Flows of a scheduler that send packets.
struct Sources {
    flows: Vec<FlowId>,
    senders: Senders,
    /// The flows of the packets that went last, if new ones are to be of these.
    served: Vec<usize>,
}

impl Sources {
    /// A packet of some flow, or of that of the packet that went `before`.
    #[inline]
    fn packet<const M: usize>(&mut self, before: usize) -> Packet<M, Place> {
        let flow = self.served.get(before).copied().unwrap_or_else(|| self.senders.flow());
        self.packet_of(flow)
    }

    #[inline]
    fn packet_of<const M: usize>(&mut self, flow: usize) -> Packet<M, Place> {
        let payload = self.senders.frames.take();
        self.senders.frames.frame(payload).flow = flow as u32;
        Packet { flow: self.flows[flow], size: 800, cost: cost(flow), payload }
    }
}

impl<const M: usize> Subject for Scheduled<M> {
    // In the loop of all turns: it would be called for each packet that comes singly.
    #[inline(always)]
    fn turn(&mut self, burst: usize) -> u64 {
        self.now += Duration::from_nanos(LINK * burst as u64);
        if burst == 1 { self.single() } else { self.many(burst) }
    }
}

/// What a packet takes of which so much was estimated.
fn used(estimated: Duration, draws: &mut Draws) -> Duration {
    let nanos = estimated.as_nanos();
    Duration::from_nanos(nanos - nanos / 16 + draws.below(nanos / 8 + 1))
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
