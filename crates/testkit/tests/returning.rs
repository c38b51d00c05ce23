//! A flow that comes back is served within a round, however many flows came and went meanwhile.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, Ticket, build, catalog};
use dovetail_units::{Duration, ResourceVec, Time};

/// What every packet takes of either resource, in ns.
const LONG: u64 = 12_000;
/// Flows at a time that send one packet each, and are removed when it is served.
const VISITORS: usize = 8;

/// Two resources that need equally long for every packet, so that none waits between them.
struct Line {
    scheduler: Box<dyn Scheduler<2, u32>>,
    /// Packets started so far.
    now: u64,
    /// What is on the first resource, and on the second.
    inside: [Option<Ticket<2>>; 2],
}

impl Line {
    fn time(&self) -> Time {
        Time::from_nanos(self.now * LONG)
    }

    fn send(&mut self, flow: FlowId, payload: usize) {
        let packet = Packet { flow, size: 1500, cost: ResourceVec::from_nanos([LONG; 2]), payload: payload as u32 };
        assert!(self.scheduler.enqueue(self.time(), packet).is_ok());
    }

    /// Whose packet is served next; the time it takes passes.
    fn step(&mut self) -> Option<usize> {
        let served = match self.scheduler.next(self.time()) {
            Next::Serve(served) => Some(served),
            Next::At(_) | Next::AwaitProgress | Next::Empty | Next::Drop { .. } => None,
        };
        let (payload, mut entering) = served.map(|served| (served.payload as usize, served.ticket)).unzip();
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
        payload
    }
}

/// The most packets that are served while the only packet of a returning flow waits, itself among them. Visitors come
/// all at once, every so many packets.
fn longest_wait(spec: &str, every: u64) -> u64 {
    let scheduler = build::<2, u32>(&spec.parse().unwrap(), Shape { servers: 2 }).unwrap();
    let mut line = Line { scheduler, now: 0, inside: [None, None] };
    let [busy, returning] = [(); 2].map(|()| line.scheduler.add_flow(FlowConfig::default()));
    let (mut visitors, mut sent, mut longest) = ([None; VISITORS], None, 0);
    (0..5_000).for_each(|_| line.send(busy, VISITORS));
    for step in 0..4_000 {
        for (place, visitor) in visitors.iter_mut().enumerate() {
            if visitor.is_none() && step % every == 0 {
                let flow = line.scheduler.add_flow(FlowConfig::default());
                *visitor = Some(flow);
                line.send(flow, place);
            }
        }
        if step % 500 == 499 {
            line.send(returning, VISITORS + 1);
            sent = Some(line.now);
        }
        match line.step() {
            Some(place) if place < VISITORS => {
                let flow = visitors[place].take().unwrap();
                assert!(line.scheduler.remove_flow(line.time(), flow, &mut |_| ()).is_ok());
            }
            Some(place) if place > VISITORS => longest = longest.max(line.now - sent.take().unwrap()),
            _ => (),
        }
        longest = longest.max(sent.map_or(0, |sent| line.now - sent));
    }
    longest
}

/// A round is a packet of each that waits: the visitors, the busy flow, and the one that returns. Loops of atfq hold
/// several, and gmr3 rounds up to a power of two.
#[test]
fn who_comes_back_is_not_behind_those_who_came_and_went() {
    const ROUND: u64 = VISITORS as u64 + 2;
    let by_rounds = catalog().iter().filter(|e| e.shares_time() && !["atfq", "gmr3"].contains(&e.name));
    for spec in by_rounds.map(|entry| entry.name).chain(["tradeoff:alpha=1"]) {
        for every in [1, 2, 16, 64] {
            let waits = longest_wait(spec, every);
            assert!(waits <= ROUND, "{spec}, visitors every {every} packets: waits for {waits} packets, not {ROUND}");
        }
    }
    assert!(longest_wait("fifo", 1) > 10 * ROUND);
}
