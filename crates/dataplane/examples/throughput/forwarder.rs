//! Programs between two ports: nothing, and the box.

use std::collections::VecDeque;
use std::mem::zeroed;
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

/// Measure while another thread opens its ports and forwards between them; it returns how many frames it has sent.
fn beside<T>(
    lab: &Lab,
    size: usize,
    time: Duration,
    open: impl FnOnce() -> T + Send,
    run: impl FnOnce(T, &AtomicBool) -> u64 + Send,
) -> Outcome {
    let stop = AtomicBool::new(false);
    let (ready, is_ready) = channel();
    thread::scope(|scope| {
        let forwarder = scope.spawn(|| {
            lab::run_on(0);
            let ports = open();
            ready.send(()).expect("somebody waits");
            let before = processor_time();
            let frames = run(ports, &stop);
            (processor_time() - before).as_nanos() as u64 / frames.max(1)
        });
        is_ready.recv().expect("ports that can be opened");
        lab.ports_open();
        let outcome = lab.measure(size, WARM_UP, time);
        stop.store(true, Ordering::Relaxed);
        Outcome { per_frame: forwarder.join().ok(), ..outcome }
    })
}

/// Forward both ways until told to stop. Returns how many frames were sent.
fn poll(mut ports: [Box<dyn Port>; 2], stop: &AtomicBool) -> u64 {
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
    ports.iter_mut().map(|port| port.counters().sent).sum()
}

/// The box by the machine's clock until told to stop. Returns how many frames were sent.
fn run_box(mut live: Live, stop: &AtomicBool) -> u64 {
    let clock = Clock::start();
    driver::real_time(&mut live, &clock, stop, |_, _| ()).1.expect("the ports work");
    live.totals(clock.now()).forward.ports["out"].sent
}

/// Of the calling thread since its start.
fn processor_time() -> Duration {
    // SAFETY: zeros are a value of the structure, which lives until the call returns.
    #[allow(unsafe_code)]
    let time = unsafe {
        let mut time: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
        time
    };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
