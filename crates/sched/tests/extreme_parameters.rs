//! Parameters at the ends of what can be written are refused in words, or work: nobody is asked again and again, and
//! every packet is served or dropped.

use std::collections::VecDeque;

use dovetail_sched::catalog::{Entry, Parameter};
use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, Spec, build, catalog};
use dovetail_units::{ResourceVec, Time, Weight};

/// Numbers far below and far above what anybody means, and how they are written as values.
const NUMBERS: [&str; 8] = ["5e-324", "1e-320", "1e-300", "1e-30", "1e-12", "1e30", "1e300", "1.7e308"];
const UNITS: [&str; 5] = ["", " %", " ns", " s", " B"];
/// Times of a packet in nanoseconds.
const TIMES: [u64; 5] = [1, 30, 1_000, 1_000_000, 1_000_000_000];
/// Weights in thousandths.
const WEIGHTS: [u32; 3] = [1_000_000_000, 1_000, 1];
/// Answers in a row that tell of no packet and pass no more than a nanosecond.
const IN_A_ROW: usize = 100;

struct Bench<const M: usize> {
    scheduler: Box<dyn Scheduler<M, u32>>,
    now: Time,
    served: u64,
}

impl<const M: usize> Bench<M> {
    fn offer(&mut self, flow: FlowId, k: usize) {
        let cost = ResourceVec::from_nanos(std::array::from_fn(|r| TIMES[(k * 7 + r * 3 + k / 5) % TIMES.len()]));
        let packet = Packet { flow, size: 1 + (k as u32 * 311) % 1500, cost, payload: k as u32 };
        // A refused packet is in the books.
        let _ = self.scheduler.enqueue(self.now, packet);
    }

    /// Serve so many packets at most, three in the pipeline at a time, until none waits.
    fn serve(&mut self, most: usize) -> Result<(), String> {
        let (mut inside, mut in_a_row, mut served) = (VecDeque::new(), 0, 0);
        while served < most {
            let before = self.now;
            let stuck = match self.scheduler.next(self.now) {
                Next::Serve(packet) => {
                    inside.push_back(packet.ticket);
                    (served, self.served) = (served + 1, self.served + 1);
                    false
                }
                Next::Drop { .. } => false,
                Next::At(time) => {
                    self.now = time;
                    time <= Time::from_nanos(before.as_nanos() + 1)
                }
                Next::Empty => break,
                Next::AwaitProgress => inside.is_empty(),
            };
            in_a_row = if stuck { in_a_row + 1 } else { 0 };
            if in_a_row > IN_A_ROW {
                return Err(format!("nothing moves at {}", self.now));
            }
            if self.now > Time::from_nanos(1 << 62) {
                return Err("it waits for a century".to_string());
            }
            if inside.len() == 3 || self.now == before {
                self.process(&mut inside);
            }
        }
        while !inside.is_empty() {
            self.process(&mut inside);
        }
        Ok(())
    }

    fn process(&mut self, inside: &mut VecDeque<dovetail_sched::Ticket<M>>) {
        let Some(mut ticket) = inside.pop_front() else { return };
        for r in 0..M {
            let used = ticket.charged()[r];
            self.scheduler.progress(self.now, &mut ticket, r, Progress::Started);
            self.now += used;
            self.scheduler.progress(self.now, &mut ticket, r, Progress::Finished { used });
        }
        self.scheduler.left(self.now, ticket.flow(), ticket.charged()[0]);
    }
}

/// Flows of all weights with packets of all lengths, some of which come while others wait, empty their queues, change
/// their weights and go.
fn works<const M: usize>(spec: &Spec) -> Result<(), String> {
    let Ok(scheduler) = build::<M, u32>(spec, Shape { servers: M as u32 }) else { return Ok(()) };
    let mut bench = Bench { scheduler, now: Time::ZERO, served: 0 };
    let config = |k: usize| FlowConfig {
        weight: Weight::from_milli(WEIGHTS[k % WEIGHTS.len()]).unwrap(),
        class: Some(0),
        ..FlowConfig::default()
    };
    let mut flows: Vec<FlowId> = Vec::new();
    for round in 0..8 {
        for k in 0..6 {
            flows.push(bench.scheduler.add_flow(config(k + round)));
        }
        for k in 0..60 {
            bench.offer(flows[k % flows.len()], k + round);
        }
        bench.serve(40)?;
        bench.scheduler.set_flow(bench.now, flows[round], config(round + 1)).unwrap();
        let gone = flows.remove(round % flows.len());
        bench.scheduler.remove_flow(bench.now, gone, &mut |_| ()).unwrap();
    }
    bench.serve(usize::MAX)?;
    let stats = bench.scheduler.stats();
    match stats.queued {
        0 if bench.served == stats.served => Ok(()),
        _ => Err(format!("{stats:?} after all was asked for")),
    }
}

fn with(entry: &Entry, parameter: &Parameter, value: String) -> Spec {
    Spec { name: entry.name.to_string(), parameters: vec![(parameter.name.to_string(), value)] }
}

#[test]
fn numbers_of_any_size_are_refused_or_work() {
    let (mut wrong, mut taken) = (Vec::new(), 0);
    for entry in catalog() {
        for parameter in entry.parameters {
            for (number, unit) in NUMBERS.iter().flat_map(|number| UNITS.map(|unit| (number, unit))) {
                for prefix in ["", "0 "] {
                    let spec = with(entry, parameter, format!("{prefix}{number}{unit}"));
                    let is_taken = build::<2, u32>(&spec, Shape::default()).is_ok();
                    taken += usize::from(is_taken);
                    for result in [works::<1>(&spec), works::<2>(&spec), works::<3>(&spec)] {
                        wrong.extend(result.err().map(|e| format!("{spec}: {e}")));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(taken >= 20, "only {taken} values are taken");
}
