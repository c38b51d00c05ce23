//! Frames per second that each kind of port forwards, with nothing between the two ports, beside the kernel's own router
//! between the same interfaces in the same run.
//!
//! `cargo run --release -p dovetail-dataplane --example forward [-- SECONDS]`, as root. Everything happens in network
//! namespaces that end with the program:
//!
//! ```text
//! generator a0 ---- m0 forwarder m1 ---- b0 sink
//! ```
//!
//! The generator floods on processor 1, the forwarder polls on processor 0. What counts is what arrives at `b0`; the
//! sink's kernel drops it because it is for another station. Sizes are lengths of Ethernet frames without their checksum.
//!
//! Where the forwarder is a port it also times itself: nanoseconds per frame to receive and send a burst of at least 16, their median. That
//! says what it could forward if the generator could send more, and suffers little from what else the machine does.

mod flood;
mod lab;

use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dovetail_dataplane::frame::{Frame, Pool};
use dovetail_dataplane::port::{BURST, Kind, Options, Port, open};
use dovetail_units::Time;

use lab::{Lab, Outcome};

const SIZES: [usize; 3] = [64, 800, 1400];
const WARM_UP: Duration = Duration::from_millis(300);

/// What forwards: how it is called, how the laboratory is prepared, and the two ports, if it is not the kernel.
struct Contender {
    name: &'static str,
    prepare: fn(&Lab),
    ports: Option<[&'static str; 2]>,
}

const CONTENDERS: [Contender; 6] = [
    Contender { name: "kernel router, generator's core", prepare: Lab::route, ports: None },
    Contender { name: "kernel router, core of its own", prepare: Lab::route_apart, ports: None },
    Contender { name: "packet", prepare: Lab::bare, ports: Some(["packet:m0", "packet:m1"]) },
    Contender { name: "xdp (generic)", prepare: Lab::bare, ports: Some(["xdp:m0", "xdp:m1"]) },
    Contender { name: "tun", prepare: Lab::tuns, ports: Some(["tun:t0", "tun:t1"]) },
    Contender { name: "tap", prepare: Lab::taps, ports: Some(["tap:t0", "tap:t1"]) },
];

fn main() -> ExitCode {
    let seconds = std::env::args().nth(1).map_or(Ok(2.0), |text| text.parse::<f64>());
    let Some(time) = seconds.ok().and_then(|s| Duration::try_from_secs_f64(s).ok()).filter(|t| !t.is_zero()) else {
        eprintln!("usage: forward [SECONDS], the time of each measurement, such as 2");
        return ExitCode::from(2);
    };
    let lab = match Lab::new() {
        Ok(lab) => lab,
        Err(error) => {
            eprintln!("skipped: needs root for network namespaces ({error})");
            return ExitCode::SUCCESS;
        }
    };
    let sizes: String = SIZES.iter().map(|size| format!(" {size} B |")).collect();
    println!("thousand frames per second forwarded (offered), and ns per frame in bursts\n\n| forwarder |{sizes}");
    println!("|---|{}", "---|".repeat(SIZES.len()));
    for contender in &CONTENDERS {
        (contender.prepare)(&lab);
        let outcomes = SIZES.map(|size| match contender.ports {
            None => lab.measure(size, WARM_UP, time),
            Some(ports) => forward(&lab, ports, size, time),
        });
        lab.bare();
        let cells: String = outcomes.iter().map(|outcome| format!(" {outcome} |")).collect();
        println!("| {} |{cells}", contender.name);
    }
    ExitCode::SUCCESS
}

/// Measure while a thread forwards between two ports.
fn forward(lab: &Lab, ports: [&str; 2], size: usize, time: Duration) -> Outcome {
    let ports = ports.map(|text| {
        let kind: Kind = text.parse().expect("a port");
        open(&kind, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
    });
    lab.ports_open();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let forwarder = scope.spawn(|| {
            lab::run_on(0);
            poll(ports, &stop)
        });
        let outcome = lab.measure(size, WARM_UP, time);
        stop.store(true, Ordering::Relaxed);
        Outcome { in_bursts: forwarder.join().expect("the forwarder"), ..outcome }
    })
}

/// Forward both ways until told to stop. Returns the median of nanoseconds per frame of bursts, if there were any.
fn poll(mut ports: [Box<dyn Port>; 2], stop: &AtomicBool) -> Option<u64> {
    let start = now();
    let mut pool = Pool::new();
    let mut received = Vec::new();
    let mut queues: [VecDeque<Frame>; 2] = Default::default();
    let mut times = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        for from in 0..2 {
            let begin = start.elapsed();
            let time = Time::from_nanos(begin.as_nanos() as u64);
            let to = 1 - from;
            // What could not be sent holds up what comes.
            if queues[to].is_empty() {
                ports[from].receive(time, &mut pool, &mut received).expect("the port works");
                queues[to].extend(received.drain(..));
            }
            let count = queues[to].len();
            ports[to].send(time, &mut queues[to], &mut pool).expect("the port works");
            if count >= BURST / 4 && queues[to].is_empty() {
                times.push((start.elapsed() - begin).as_nanos() as u64 / count as u64);
            }
        }
    }
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}

#[allow(clippy::disallowed_methods, reason = "a benchmark waits for the clock")]
fn wait(time: Duration) {
    thread::sleep(time);
}
