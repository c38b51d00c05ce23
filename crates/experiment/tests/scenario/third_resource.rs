//! `scenarios/ids.toml`: what it costs if the scheduler does not know of the memory's bandwidth
//! (`docs/how-to/third-resource.md`).

use std::path::PathBuf;

use dovetail_experiment::scenario::Scenario;
use dovetail_sched::spec::SpecError;
use dovetail_sched::{
    FlowConfig, FlowId, Next, Packet, Progress, Refused, Scheduler, Served, Shape, Stats, Ticket, UnknownFlow, build,
};
use dovetail_sim::record::PacketLog;
use dovetail_sim::{Options, deferred, simulate};
use dovetail_units::{ResourceVec, Time};

/// A scheduler of CPU and link in front of CPU, memory and link: it is told of the first and the last only.
struct Blind(Box<dyn Scheduler<2, u32>>);

/// Which resource of the two this is.
const OF_TWO: [Option<usize>; 3] = [Some(0), None, Some(1)];

impl Scheduler<3, u32> for Blind {
    fn add_flow(&mut self, config: FlowConfig<3>) -> FlowId {
        let FlowConfig { weight, alpha, class, limit, .. } = config;
        self.0.add_flow(FlowConfig { weight, weight_on: None, alpha, class, limit })
    }

    fn set_flow(&mut self, _now: Time, _flow: FlowId, _config: FlowConfig<3>) -> Result<(), UnknownFlow> {
        Err(UnknownFlow)
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(u32)) -> Result<(), UnknownFlow> {
        self.0.remove_flow(now, flow, dropped)
    }

    fn enqueue(&mut self, now: Time, packet: Packet<3, u32>) -> Result<(), Refused<u32>> {
        let cost = ResourceVec([packet.cost[0], packet.cost[2]]);
        self.0.enqueue(now, Packet { flow: packet.flow, size: packet.size, cost, payload: packet.payload })
    }

    fn next(&mut self, now: Time) -> Next<3, u32> {
        match self.0.next(now) {
            Next::Serve(Served { ticket, size, payload }) => {
                let [cpu, link] = ticket.charged().0;
                let [number, latest] = ticket.tags();
                let charged = ResourceVec([cpu, Default::default(), link]);
                Next::Serve(Served { ticket: Ticket::new(ticket.flow(), charged, [number, latest, 0]), size, payload })
            }
            Next::Drop { flow, size, payload } => Next::Drop { flow, size, payload },
            Next::At(time) => Next::At(time),
            Next::AwaitProgress => Next::AwaitProgress,
            Next::Empty => Next::Empty,
        }
    }

    fn progress(&mut self, now: Time, ticket: &mut Ticket<3>, resource: usize, event: Progress) {
        let Some(resource) = OF_TWO[resource] else { return };
        let (charged, tags) = (ticket.charged(), ticket.tags());
        let mut of_two = Ticket::new(ticket.flow(), ResourceVec([charged[0], charged[2]]), [tags[0], tags[1]]);
        self.0.progress(now, &mut of_two, resource, event);
        let [cpu, link] = of_two.charged().0;
        let [number, latest] = of_two.tags();
        *ticket = Ticket::new(ticket.flow(), ResourceVec([cpu, charged[1], link]), [number, latest, 0]);
    }

    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        self.0.set(now, parameter, value)
    }

    fn stats(&self) -> Stats {
        self.0.stats()
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.0.queued(flow)
    }
}

/// What a run of the scenario came to: seconds until all is done, and by group the dominant time that each of its flows
/// had in the first `SPAN_S` seconds, as a part of that, of the flow that had least.
struct Outcome {
    makespan_s: f64,
    shares: [f64; 3],
    used: [f64; 3],
}

/// The scenario's flows send for so many times longer, so that the packets by which a schedule may be behind its fluid
/// are few beside what it serves.
const LONGER: [&str; 3] = ["flows.0.stop=8.6 s", "flows.1.stop=20 s", "flows.2.stop=10 s"];
/// All flows are backlogged for longer.
const SPAN_S: f64 = 14.0;
/// The first flow of each group, and of none.
const GROUPS: [usize; 4] = [0, 40, 60, 70];

fn outcome(scenario: &Scenario, scheduler: &mut dyn Scheduler<3, u32>) -> Outcome {
    let mut log = PacketLog::new(usize::MAX);
    let (workload, pipeline) = (scenario.workload::<3>(), scenario.pipeline::<3>());
    // By code that the library has compiled for all recorders.
    deferred(&mut log, &|| false, |log| simulate(&workload, &pipeline, scheduler, log, Options::default())).unwrap();
    let mut makespan_s: f64 = 0.0;
    let (mut had, mut busy) = (vec![0.0; GROUPS[3]], [0.0; 3]);
    for packet in log.records() {
        let dominant = packet.packet.cost.dominant_resource();
        for (r, busy) in busy.iter_mut().enumerate() {
            let [from, to] = [packet.started[r], packet.finished[r]].map(|time| time.unwrap().as_secs_f64());
            makespan_s = makespan_s.max(to);
            let within = to.min(SPAN_S) - from.min(SPAN_S);
            *busy += within;
            if r == dominant {
                had[packet.packet.flow as usize] += within;
            }
        }
    }
    let least = |group: usize| had[GROUPS[group]..GROUPS[group + 1]].iter().copied().fold(f64::INFINITY, f64::min);
    Outcome { makespan_s, shares: [0, 1, 2].map(|group| least(group) / SPAN_S), used: busy.map(|busy| busy / SPAN_S) }
}

#[test]
fn who_does_not_know_of_the_memory_cannot_keep_the_floors() {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/ids.toml"));
    let text = std::fs::read_to_string(&path).unwrap();
    let scenario =
        Scenario::parse("ids.toml", &text, &LONGER.map(String::from), PathBuf::new()).unwrap_or_else(|e| panic!("{e}"));
    let run = |alpha: &str| {
        let spec = format!("tradeoff:alpha={alpha}").parse().unwrap();
        outcome(&scenario, &mut *build::<3, u32>(&spec, Shape { servers: 3 }).unwrap())
    };
    let spec = "tradeoff:alpha=0.85".parse().unwrap();
    let blind = outcome(&scenario, &mut Blind(build::<2, u32>(&spec, Shape::default()).unwrap()));
    let [fair, knowing] = [run("1"), run("0.85")];
    for (name, Outcome { makespan_s, shares, used }) in [("fair", &fair), ("blind", &blind), ("knowing", &knowing)] {
        println!("{name:<8} {makespan_s:.3} s, used {used:.3?}, least shares {shares:.4?}");
    }
    // What a schedule may be behind its fluid: (m n - 1) L of docs/theory/tradeoff-many.md.
    let behind = (3.0 * 70.0 - 1.0) * 96.5e-6 / SPAN_S;
    let least = |outcome: &Outcome| outcome.shares.into_iter().fold(f64::INFINITY, f64::min);
    assert!(least(&knowing) >= 0.85 * least(&fair) - behind);
    assert!(least(&blind) < 0.85 * least(&fair) - behind);
    let all = |outcome: &Outcome| outcome.used.into_iter().sum::<f64>();
    assert!(all(&knowing) > all(&fair));
}
