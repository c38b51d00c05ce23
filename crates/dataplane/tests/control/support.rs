//! A box with traffic, a worker behind it, and what it may be asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use dovetail_dataplane::config::Config;
use dovetail_dataplane::control::protocol::{Answer, Request};
use dovetail_dataplane::control::{Counter, Desk};
use dovetail_dataplane::core::{Middlebox, Snapshot};
use dovetail_dataplane::live::Live;
use dovetail_dataplane::port::memory::pair;
use dovetail_units::{Duration, Time};
use dovetail_wire::LinkType;
use etherparse::PacketBuilder;

pub const CONFIG: &str = r#"
scheduler = "tradeoff:alpha=0.85"
[ports]
in = "packet:a"
out = "packet:b"
[cpu]
budget = "20 %"
[link]
rate = "64 Mbps"
[[class]]
name = "dear"
match = [{ protocol = "udp", dport = "5000-5999" }]
cost = "300 us"
queue = "2 packets"
[[class]]
name = "cheap"
cost = "10 us"
"#;

pub fn parse(text: &str) -> Result<Config, String> {
    Config::parse("box.toml", text, &[]).map_err(|error| error.to_string())
}

pub fn middlebox(text: &str) -> Middlebox {
    parse(text).unwrap().middlebox().unwrap()
}

/// A UDP frame to this port.
pub fn put(middlebox: &mut Middlebox, now: Time, port: u16) {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64).udp(9, port);
    builder.write(&mut bytes, &[0; 758]).unwrap();
    let mut frame = middlebox.pool.take();
    frame.fill(now, &bytes, LinkType::ETHERNET);
    middlebox.receive(now, frame);
}

/// Of one flow of "dear" a frame is on the CPU, two wait, and a fourth found no room; one frame waits of each of
/// `cheap` flows.
pub fn with_traffic(cheap: u16) -> Middlebox {
    let mut middlebox = middlebox(CONFIG);
    let now = Time::from_nanos(1_000_000_000);
    put(&mut middlebox, now, 5000);
    middlebox.advance(now);
    (0..3).for_each(|_| put(&mut middlebox, now, 5000));
    (0..cheap).for_each(|i| put(&mut middlebox, now, i + 1));
    middlebox.advance(now + Duration::from_micros(50));
    middlebox
}

/// The box between ports to which nobody is connected.
pub fn between_ports(middlebox: Middlebox) -> Live {
    let [inside, outside] = pair(["a", "b"], LinkType::ETHERNET, 1);
    Live::new(middlebox, Box::new(inside), Box::new(outside), Duration::ZERO)
}

/// A worker that does nothing but answer.
pub struct Running {
    pub counter: Counter,
    over: Arc<AtomicBool>,
    worker: Option<JoinHandle<()>>,
}

impl Running {
    pub fn start(make: impl FnOnce() -> Middlebox + Send + 'static) -> Self {
        let (mut desk, counter) = Desk::open();
        let over = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&over);
        let worker = thread::spawn(move || {
            let mut live = between_ports(make());
            let mut now = Time::from_nanos(2_000_000_000);
            while !end.load(Ordering::Relaxed) {
                now += Duration::from_millis(10);
                desk.answer(now, &mut live);
                thread::yield_now();
            }
        });
        Self { counter, over, worker: Some(worker) }
    }

    pub fn change(&self, request: Request) -> String {
        match self.counter.ask(request) {
            Answer::Done(done) => done,
            other => panic!("{other:?}"),
        }
    }

    pub fn refuses(&self, request: Request, words: &str) {
        match self.counter.ask(request) {
            Answer::Error(message) => assert!(message.contains(words), "{words:?} is missing in {message}"),
            other => panic!("{other:?}"),
        }
    }

    pub fn snapshot(&self) -> Snapshot {
        match self.counter.ask(Request::Snapshot { flows: 10 }) {
            Answer::Snapshot(snapshot) => *snapshot,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.worker.take().unwrap().join().unwrap();
    }
}

pub fn set(parameter: &str, value: &str) -> Request {
    Request::Set { parameter: parameter.into(), value: value.into() }
}

pub fn weight(class: &str, weight: &str) -> Request {
    Request::Weight { class: class.into(), weight: weight.into() }
}

pub fn alpha(class: &str, alpha: &str) -> Request {
    Request::Alpha { class: class.into(), alpha: alpha.into() }
}

pub fn queue(class: &str, limit: &str) -> Request {
    Request::Queue { class: class.into(), limit: limit.into() }
}

pub fn budget(budget: &str) -> Request {
    Request::Budget { budget: budget.into() }
}

pub fn rate(rate: &str) -> Request {
    Request::Rate { rate: rate.into() }
}

/// What can be changed, as a snapshot tells of it.
pub fn settings(snapshot: &Snapshot) -> (String, Vec<f64>, [Option<f64>; 2]) {
    let weights = snapshot.classes.iter().map(|class| class.weight).collect();
    let capacity = ["cpu", "link"].map(|name| snapshot.resources[name].capacity);
    (snapshot.scheduler.clone(), weights, capacity)
}

/// A box with modules that has let three frames of one flow through.
pub fn with_modules() -> Middlebox {
    let modules = r#"modules = ["seen", "ids", "headers"]
[[module]]
name = "ids"
kind = "match"
patterns = ["\u0000"]
[[module]]
name = "seen"
kind = "monitor"
[[module]]
name = "headers"
kind = "check"
"#;
    let mut middlebox = middlebox(&format!("{CONFIG}{modules}"));
    let now = Time::from_nanos(1_000_000_000);
    (0..3).for_each(|_| put(&mut middlebox, now, 7));
    middlebox.advance(now);
    middlebox.advance(now + Duration::from_millis(1));
    middlebox
}
