//! What the box costs: frames per second that it forwards on each kind of port, beside two ports with nothing between
//! them and the kernel's own router between the same interfaces in the same run; and what each step of it costs a
//! frame.
//!
//! `cargo run --release -p dovetail-dataplane --example throughput [-- SECONDS [NAME..]]`, as root; with names only the
//! forwarders whose names contain one of them, or `steps`. Everything happens in network namespaces that end with the
//! program:
//!
//! ```text
//! generator a0 ---- m0 forwarder m1 ---- b0 sink
//! ```
//!
//! The forwarder has processor 0 to itself and polls. The generator floods on processor 1, where the sink's kernel
//! receives, too, as if they were other machines: it comes before the generator, which would else take its time away.
//! What counts is what arrives at `b0`; the sink's kernel drops it because it is for another station. What the kernel
//! does with a frame on its way to a program's port it does on processor 1, too; the router with a core of its own
//! receives on processor 0. Sizes are lengths of Ethernet frames without their checksum. Every cell is measured in each
//! of several rounds, one cell after the other, and the median is printed: what else the machine does comes and goes.
//!
//! The box schedules by `mr3` and passes frames through the module `forward` where nothing else is said. Beside the
//! rates stands what processor 0 worked per frame that arrived, in nanoseconds, the kernel included. What polls works
//! all the time, also where it waits for frames.

mod flood;
mod forwarder;
mod lab;
mod report;
mod steps;

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use forwarder::{Forwarder, forward};
use lab::{Lab, Outcome};
use report::Round;

const SIZES: [usize; 3] = [64, 800, 1400];
const ROUNDS: usize = 5;
const WARM_UP: Duration = Duration::from_millis(300);

/// What forwards, and how the laboratory is prepared.
struct Contender {
    name: &'static str,
    prepare: fn(&Lab),
    forwarder: Forwarder,
}

const fn contender(name: &'static str, prepare: fn(&Lab), forwarder: Forwarder) -> Contender {
    Contender { name, prepare, forwarder }
}

const PACKET: [&str; 2] = ["packet:m0", "packet:m1"];
const XDP: [&str; 2] = ["xdp:m0", "xdp:m1"];
const TUN: [&str; 2] = ["tun:t0", "tun:t1"];
const TAP: [&str; 2] = ["tap:t0", "tap:t1"];

const CONTENDERS: [Contender; 16] = [
    contender("kernel router, generator's core", Lab::route, Forwarder::Kernel),
    contender("kernel router, core of its own", Lab::route_apart, Forwarder::Kernel),
    contender("packet, bare", Lab::bare, Forwarder::Bare(PACKET)),
    contender("packet, box", Lab::bare, Forwarder::Box(PACKET, "mr3", "forward")),
    contender(
        "packet, box by tradeoff:alpha=0.85",
        Lab::bare,
        Forwarder::Box(PACKET, "tradeoff:alpha=0.85", "forward"),
    ),
    contender("packet, box, check", Lab::bare, Forwarder::Box(PACKET, "mr3", "check")),
    contender("packet, box, monitor", Lab::bare, Forwarder::Box(PACKET, "mr3", "monitor")),
    contender("packet, box, AES-128-GCM", Lab::bare, Forwarder::Box(PACKET, "mr3", "esp-gcm")),
    contender("packet, box, AES-128-CBC + SHA1", Lab::bare, Forwarder::Box(PACKET, "mr3", "esp-cbc-sha1")),
    contender("xdp, bare", Lab::bare, Forwarder::Bare(XDP)),
    contender("xdp, box", Lab::bare, Forwarder::Box(XDP, "mr3", "forward")),
    contender("xdp, box, AES-128-GCM", Lab::bare, Forwarder::Box(XDP, "mr3", "esp-gcm")),
    contender("tun, bare", Lab::tuns, Forwarder::Bare(TUN)),
    contender("tun, box", Lab::tuns, Forwarder::Box(TUN, "mr3", "forward")),
    contender("tap, bare", Lab::taps, Forwarder::Bare(TAP)),
    contender("tap, box", Lab::taps, Forwarder::Box(TAP, "mr3", "forward")),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(1.0), |text| text.parse::<f64>());
    let Some(time) = seconds.ok().and_then(|s| Duration::try_from_secs_f64(s).ok()).filter(|t| !t.is_zero()) else {
        eprintln!(
            "usage: throughput [SECONDS [NAME..]], the time of each measurement, such as 1, and parts of forwarders' \
             names, or `steps`"
        );
        return ExitCode::from(2);
    };
    let names: Vec<String> = arguments.collect();
    let known = |part: &str| "steps".contains(part) || CONTENDERS.iter().any(|contender| contender.name.contains(part));
    if let Some(name) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = CONTENDERS.iter().map(|contender| contender.name).collect();
        eprintln!("no forwarder has {name:?} in its name: they are `{}`; and there is `steps`", all.join("`, `"));
        return ExitCode::from(2);
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(part.as_str()));
    if wanted("steps") {
        steps::print();
    }
    let contenders: Vec<&Contender> = CONTENDERS.iter().filter(|contender| wanted(contender.name)).collect();
    if contenders.is_empty() {
        return ExitCode::SUCCESS;
    }
    if let Err(error) = Lab::new() {
        eprintln!("throughput skipped: needs root for network namespaces ({error})");
        return ExitCode::SUCCESS;
    }
    let rounds: Vec<Round> = (1..=ROUNDS)
        .map(|round| {
            eprintln!("round {round} of {ROUNDS}");
            contenders.iter().map(|contender| contender.measure(time)).collect()
        })
        .collect();
    report::print(&contenders.iter().map(|contender| contender.name).collect::<Vec<_>>(), &rounds);
    ExitCode::SUCCESS
}

impl Contender {
    /// For each of [`SIZES`], in a laboratory of its own: where there has once been a rule of routing the kernel routes
    /// at half the rate, also without it.
    fn measure(&self, time: Duration) -> [Outcome; SIZES.len()] {
        let lab = Lab::new().expect("as before");
        (self.prepare)(&lab);
        SIZES.map(|size| forward(&lab, &self.forwarder, size, time))
    }
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}

#[allow(clippy::disallowed_methods, reason = "a benchmark waits for the clock")]
fn wait(time: Duration) {
    thread::sleep(time);
}
