//! Programs between two ports: nothing, and the box.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use dovetail_dataplane::config::Config;
use dovetail_dataplane::driver::{self, Clock};
use dovetail_dataplane::frame::{Frame, Pool};
use dovetail_dataplane::live::Live;
use dovetail_dataplane::port::{Kind, Options, Port, open};
use dovetail_units::Time;

use crate::lab::{self, Lab, Outcome};
use crate::{WARM_UP, now, steps};

/// What forwards.
pub enum Forwarder {
    /// The kernel.
    Kernel,
    /// Two ports with nothing between them.
    Bare([&'static str; 2]),
    /// The box between two ports, with this scheduler and one module of the standard ones.
    Box([&'static str; 2], &'static str, &'static str),
}

/// Measure while it forwards frames of `size` bytes.
pub fn forward(lab: &Lab, forwarder: &Forwarder, size: usize, time: Duration) -> Outcome {
    match *forwarder {
        Forwarder::Kernel => lab.measure(size, WARM_UP, time),
        Forwarder::Bare(ports) => beside(lab, size, time, || ports.map(bare), poll),
        Forwarder::Box(ports, scheduler, module) => {
            beside(lab, size, time, || boxed(&steps::config(ports, scheduler, module)), run_box)
        }
    }
}

fn bare(port: &str) -> Box<dyn Port> {
    let kind: Kind = port.parse().expect("a port");
    open(&kind, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn boxed(config: &str) -> Live {
    let config = Config::parse("throughput", config, &[]);
    Live::open(&config.unwrap_or_else(|error| panic!("{error}"))).unwrap_or_else(|error| panic!("{error}"))
}

/// Measure while another thread opens its ports and forwards between them.
fn beside<T>(
    lab: &Lab,
    size: usize,
    time: Duration,
    open: impl FnOnce() -> T + Send,
    run: impl FnOnce(T, &AtomicBool) + Send,
) -> Outcome {
    let stop = AtomicBool::new(false);
    let (ready, is_ready) = channel();
    thread::scope(|scope| {
        let forwarder = scope.spawn(|| {
            lab::run_on(0);
            let ports = open();
            ready.send(()).expect("somebody waits");
            run(ports, &stop);
        });
        is_ready.recv().expect("ports that can be opened");
        lab.ports_open();
        let outcome = lab.measure(size, WARM_UP, time);
        stop.store(true, Ordering::Relaxed);
        forwarder.join().expect("the forwarder works");
        outcome
    })
}

/// Forward both ways until told to stop.
fn poll(mut ports: [Box<dyn Port>; 2], stop: &AtomicBool) {
    let start = now();
    let mut pool = Pool::new();
    let mut received = Vec::new();
    let mut queues: [VecDeque<Frame>; 2] = Default::default();
    while !stop.load(Ordering::Relaxed) {
        for from in 0..2 {
            let time = Time::from_nanos(start.elapsed().as_nanos() as u64);
            let to = 1 - from;
            // What could not be sent holds up what comes.
            if queues[to].is_empty() {
                ports[from].receive(time, &mut pool, &mut received).expect("the port works");
                queues[to].extend(received.drain(..));
            }
            ports[to].send(time, &mut queues[to], &mut pool).expect("the port works");
        }
    }
}

/// The box by the machine's clock until told to stop.
fn run_box(mut live: Live, stop: &AtomicBool) {
    let clock = Clock::start();
    driver::real_time(&mut live, &clock, stop, |_, _| ()).1.expect("the ports work");
}
