//! Nanoseconds per packet.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, build};
use dovetail_testkit::random::Random;
use dovetail_units::{ResourceVec, Time};

/// A line of the table.
pub struct Line {
    pub name: String,
    pub nanoseconds: f64,
    /// To the control.
    pub ratio: f64,
}

/// The payload: a shuffled place in memory that is touched when the packet comes out.
type Place = u32;

/// Packets in each flow's queue at the start.
const DEPTH: usize = 2;
/// Bytes per frame that is touched.
const FRAME: usize = 64;

/// One enqueue and one dequeue; what was touched.
trait Turn {
    fn turn(&mut self) -> u64;
}

/// Memory of all frames, and the order in which new packets use them.
struct Frames {
    memory: Vec<[u8; FRAME]>,
    free: VecDeque<Place>,
}

impl Frames {
    fn new(count: usize, random: &mut Random) -> Self {
        let mut free: Vec<Place> = (0..count as u32).collect();
        shuffle(&mut free, random);
        Self { memory: vec![[1; FRAME]; count], free: free.into() }
    }

    fn take(&mut self) -> Place {
        self.free.pop_front().unwrap_or_default()
    }

    fn give_back(&mut self, place: Place) -> u64 {
        self.free.push_back(place);
        u64::from(self.memory[place as usize][0])
    }
}

fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.below(i as u64 + 1) as usize);
    }
}

/// The control: one queue of places, no flows.
struct Control {
    queue: VecDeque<Place>,
    frames: Frames,
}

impl Turn for Control {
    fn turn(&mut self) -> u64 {
        let place = self.queue.pop_front().unwrap_or_default();
        let touched = self.frames.give_back(place);
        let place = self.frames.take();
        self.queue.push_back(place);
        touched
    }
}

/// A scheduler whose flows stay backlogged: a packet of the flow that was served follows.
struct Scheduled {
    scheduler: Box<dyn Scheduler<2, Place>>,
    flows: Vec<FlowId>,
    costs: Vec<ResourceVec<2>>,
    frames: Frames,
    now: Time,
}

impl Scheduled {
    fn new(spec: &str, count: usize, random: &mut Random) -> Result<Self, String> {
        let spec = spec.parse().map_err(|e| format!("{spec}: {e}"))?;
        let mut scheduler = build(&spec, Shape::default()).map_err(|e| e.to_string())?;
        let flows: Vec<FlowId> = (0..count).map(|_| scheduler.add_flow(FlowConfig::default())).collect();
        // Three modules as in the paper's section 6, 800-byte packets at 200 Mbps, and some spread.
        let cpu = [7_000, 14_000, 96_700];
        let costs = (0..count).map(|i| ResourceVec::from_nanos([cpu[i % 3] + random.below(1000), 32_000])).collect();
        let frames = Frames::new(count * (DEPTH + 1), random);
        let mut this = Self { scheduler, flows, costs, frames, now: Time::ZERO };
        let mut order: Vec<usize> = (0..count * DEPTH).map(|k| k % count).collect();
        shuffle(&mut order, random);
        order.into_iter().for_each(|flow| this.enqueue(flow));
        Ok(this)
    }

    fn enqueue(&mut self, flow: usize) {
        let payload = self.frames.take();
        let packet = Packet { flow: self.flows[flow], size: 800, cost: self.costs[flow], payload };
        // No limits, so nothing is refused.
        let _ = self.scheduler.enqueue(self.now, packet);
    }
}

impl Turn for Scheduled {
    fn turn(&mut self) -> u64 {
        loop {
            match self.scheduler.next(self.now) {
                Next::Serve(mut served) => {
                    let touched = self.frames.give_back(served.payload);
                    let used = served.ticket.charged()[1];
                    self.scheduler.progress(self.now, &mut served.ticket, 1, Progress::Finished { used });
                    self.enqueue(served.ticket.flow().index());
                    return touched;
                }
                Next::At(time) => self.now = time,
                Next::AwaitProgress | Next::Empty => return 0,
            }
        }
    }
}

/// The control and every discipline at this many flows: medians of several repetitions after a warm-up of two rounds.
pub fn measure(specs: &[&str], flows: usize, quick: bool) -> Result<Vec<Line>, String> {
    let mut random = Random::new(1);
    let turns = if quick { 20_000 } else { 200_000.max(flows) };
    let mut frames = Frames::new(flows * (DEPTH + 1), &mut random);
    let queue = (0..flows * DEPTH).map(|_| frames.take()).collect();
    let control = nanoseconds(&mut Control { queue, frames }, turns, flows * DEPTH);
    let mut lines = vec![Line { name: "(bare FIFO)".to_string(), nanoseconds: control, ratio: 1.0 }];
    for spec in specs {
        let mut scheduled = Scheduled::new(spec, flows, &mut random)?;
        let ns = nanoseconds(&mut scheduled, turns, flows * DEPTH);
        lines.push(Line { name: (*spec).to_string(), nanoseconds: ns, ratio: ns / control });
    }
    Ok(lines)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn nanoseconds(subject: &mut dyn Turn, turns: usize, warm_up: usize) -> f64 {
    const REPETITIONS: usize = 5;
    for _ in 0..warm_up {
        black_box(subject.turn());
    }
    let mut samples: Vec<f64> = (0..REPETITIONS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..turns {
                black_box(subject.turn());
            }
            start.elapsed().as_nanos() as f64 / turns as f64
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    samples[REPETITIONS / 2]
}

#[cfg(test)]
mod tests {
    use dovetail_sched::drfq::Tags;
    use dovetail_sched::queues::{FlowRecord, Slot};
    use dovetail_sched::tradeoff::FluidFlow;

    /// A growth here costs a cache line per packet; it should be on purpose.
    #[test]
    fn hot_records_stay_small() {
        assert!(size_of::<Slot<2, super::Place, ()>>() <= 32);
        assert!(size_of::<Slot<2, super::Place, [u64; 2]>>() <= 48);
        assert!(size_of::<FlowRecord<FluidFlow>>() <= 128);
        assert!(size_of::<FlowRecord<Tags<2>>>() <= 192);
    }
}
