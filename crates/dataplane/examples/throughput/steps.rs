//! What each step of the box costs a frame, without ports.

use dovetail_dataplane::calibrate::{Plan, STANDARD, measure_standard};
use dovetail_dataplane::classes::{ClassTable, Rule};
use dovetail_dataplane::config::Config;
use dovetail_dataplane::core::stopwatch;
use dovetail_dataplane::frame::{Frame, Pool};
use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, Spec, build};
use dovetail_units::{Duration, ResourceVec, Time};
use dovetail_wire::{KeyKind, LinkType, Marks};

use crate::SIZES;
use crate::flood::{FLOWS, udp};

/// Disciplines whose cost is told; what the box costs is told for each.
pub const SCHEDULERS: [&str; 5] = ["mr3", "drr", "drfq", "tradeoff:alpha=1", "tradeoff:alpha=0.85"];
/// Batches of a frame of each flow.
const BATCHES: u64 = 4000;
/// What the scheduler is told that a frame takes on CPU and link.
const COST: ResourceVec<2> = ResourceVec([Duration::from_nanos(100), Duration::from_nanos(60)]);

/// The configuration of a box between these ports whose frames all pass the module with this name of [`STANDARD`].
pub fn config([inside, outside]: [&str; 2], scheduler: &str, module: &str) -> String {
    let module = match module {
        "esp-gcm" => tunnel("aes128-gcm", 20),
        "esp-cbc-sha1" => tunnel("aes128-cbc-sha1", 36),
        "forward" => {
            "kind = \"forward\"\nroutes = [{ prefix = \"0.0.0.0/0\", mac = \"02:00:00:00:00:99\" }]".to_owned()
        }
        plain => format!("kind = \"{plain}\""),
    };
    format!(
        "scheduler = \"{scheduler}\"\n[ports]\nin = \"{inside}\"\nout = \"{outside}\"\n[[module]]\nname = \"work\"\n\
         {module}\n\
         [[class]]\nname = \"udp\"\nmatch = [{{ protocol = \"udp\" }}]\nmodules = [\"work\"]\n"
    )
}

fn tunnel(transform: &str, key_len: usize) -> String {
    let key = "00".repeat(key_len);
    format!(
        "kind = \"esp\"\ntransform = \"{transform}\"\nkey = \"{key}\"\nspi = 256\nsrc = \"192.0.2.1\"\n\
         dst = \"192.0.2.2\""
    )
}

/// A table on standard output.
pub fn print() {
    println!("ns per frame, {FLOWS} flows\n\n| step | {} |", SIZES.map(|size| format!("{size} B")).join(" | "));
    println!("|---|{}", "---|".repeat(SIZES.len()));
    row("headers, class, flow key", SIZES.map(classification));
    for scheduler in SCHEDULERS {
        row(&format!("scheduler {scheduler}"), SIZES.map(|size| scheduling(scheduler, size)));
    }
    for scheduler in SCHEDULERS {
        row(&format!("box by {scheduler}, without ports and module"), SIZES.map(|size| whole_box(scheduler, size)));
    }
    let plan = Plan { sizes: SIZES.to_vec(), ..Plan::default() };
    for (name, kind) in STANDARD {
        let cost = measure_standard(&kind(), &plan, stopwatch).expect("random numbers");
        row(&format!("module {name}"), [0, 1, 2].map(|k| cost.points[k].median));
    }
}

fn row(step: &str, costs: [f64; 3]) {
    println!("| {step} | {} |", costs.map(|ns| format!("{ns:.0}")).join(" | "));
}

/// The median batch's nanoseconds per frame.
fn median(mut batch: impl FnMut(Time)) -> f64 {
    let mut times: Vec<u64> = (0..BATCHES)
        .map(|k| {
            let start = stopwatch();
            batch(Time::from_nanos(1_000_000_000 + k * 100_000));
            stopwatch() - start
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2] as f64 / f64::from(FLOWS)
}

fn frames(pool: &mut Pool, size: usize) -> Vec<Frame> {
    let frame = |flow| {
        let mut frame = pool.take();
        frame.fill(Time::ZERO, &udp([2; 6], 1000 + flow, size), LinkType::ETHERNET);
        frame
    };
    (0..FLOWS).map(frame).collect()
}

fn classification(size: usize) -> f64 {
    let mut pool = Pool::new();
    let frames = frames(&mut pool, size);
    let table = ClassTable::new(vec![(Rule { protocol: Some(17), ..Rule::default() }, 1)], 0);
    median(|_| {
        for frame in &frames {
            let tuple = dovetail_wire::parse(frame.link, frame.data()).expect("UDP").tuple;
            std::hint::black_box((table.class(Some(&tuple), Marks::default()), KeyKind::default().key(&tuple)));
        }
    })
}

/// Each frame into the scheduler, out again, and through CPU and link.
fn scheduling(scheduler: &str, size: usize) -> f64 {
    let spec: Spec = scheduler.parse().expect("a scheduler");
    let mut scheduler: Box<dyn Scheduler<2, Frame>> = build(&spec, Shape::default()).expect("a scheduler");
    let flows: Vec<FlowId> = (0..FLOWS).map(|_| scheduler.add_flow(FlowConfig::default())).collect();
    let mut pool = Pool::new();
    let mut frames = frames(&mut pool, size);
    median(|now| {
        for (frame, &flow) in frames.drain(..).zip(&flows) {
            let packet = Packet { flow, size: size as u32, cost: COST, payload: frame };
            assert!(scheduler.enqueue(now, packet).is_ok(), "the queue is long enough");
        }
        let [cpu, link] = COST.0;
        for k in 0..u64::from(FLOWS) {
            let now = now + cpu.saturating_mul(k);
            let Next::Serve(mut served) = scheduler.next(now) else { panic!("there are frames") };
            let done = now + cpu;
            scheduler.progress(done, &mut served.ticket, 0, Progress::Finished { used: cpu });
            scheduler.progress(done, &mut served.ticket, 1, Progress::Started);
            scheduler.progress(done + link, &mut served.ticket, 1, Progress::Finished { used: link });
            frames.push(served.payload);
        }
    })
}

/// Each frame from its receipt until it is ready for a port.
fn whole_box(scheduler: &str, size: usize) -> f64 {
    let text =
        config(["packet:a", "packet:b"], scheduler, "check").replace("modules = [\"work\"]", "cost = \"100 ns\"");
    let config = Config::parse("steps", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut middlebox = config.middlebox().unwrap_or_else(|e| panic!("{e}"));
    let mut pool = Pool::new();
    let mut frames = frames(&mut pool, size);
    median(|now| {
        for mut frame in frames.drain(..) {
            frame.set_received(now, size, LinkType::ETHERNET);
            middlebox.receive(now, frame);
        }
        middlebox.advance(now);
        middlebox.advance(now + Duration::from_micros(50));
        assert_eq!(middlebox.outgoing.len(), usize::from(FLOWS));
        frames.extend(middlebox.outgoing.drain(..));
    })
}
