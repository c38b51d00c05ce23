//! A box that is told to stop sends what it holds for two seconds, and counts what is left; one whose port is gone
//! counts it at once.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use dovetail_dataplane::config::Config;
use dovetail_dataplane::core::Snapshot;
use dovetail_dataplane::driver::{Clock, real_time};
use dovetail_dataplane::frame::{Frame, Pool};
use dovetail_dataplane::live::Live;
use dovetail_dataplane::port::decorate::{Recorded, Traced};
use dovetail_dataplane::port::memory::{MemoryPort, pair};
use dovetail_dataplane::port::{Port, PortCounters};
use dovetail_units::{Duration, Time};
use dovetail_wire::LinkType;
use etherparse::PacketBuilder;

const FRAMES: u64 = 20;

/// A box whose link has this rate, between a client and a server.
struct Running {
    live: Live,
    client: MemoryPort,
    server: MemoryPort,
    pool: Pool,
}

impl Running {
    fn new(rate: &str, around: impl FnOnce(MemoryPort) -> Box<dyn Port>) -> Self {
        let text = format!(
            "scheduler = \"drr+drr\"\n[ports]\nin = \"packet:a\"\nout = \"packet:b\"\n[link]\nrate = {rate:?}\n"
        );
        let config = Config::parse("box.toml", &text, &[]).unwrap();
        let [inside, client] = pair(["a", "client"], LinkType::RAW, 100);
        let [outside, server] = pair(["b", "server"], LinkType::RAW, 100);
        let live = Live::new(config.middlebox().unwrap(), around(inside), Box::new(outside), Duration::ZERO);
        Self { live, client, server, pool: Pool::new() }
    }

    /// The client sends so many frames.
    fn send(&mut self, count: u64) {
        let mut frames = (0..count)
            .map(|_| {
                let mut frame = self.pool.take();
                frame.fill(Time::ZERO, &[0x45; 1000], LinkType::RAW);
                frame
            })
            .collect();
        self.client.send(Time::ZERO, &mut frames, &mut self.pool).unwrap();
    }

    /// What has come to the server.
    fn came(&mut self) -> usize {
        let mut came = Vec::new();
        self.server.receive(Time::ZERO, &mut self.pool, &mut came).unwrap();
        came.len()
    }
}

/// A box whose link has this rate has got all frames, and is told to stop; what it has done, what came out, and how
/// long it says that it ran.
fn stopped(rate: &str) -> (Snapshot, usize, Duration) {
    let mut running = Running::new(rate, |port| Box::new(port));
    running.send(FRAMES);
    let (clock, stop) = (Clock::start(), AtomicBool::new(false));
    let start = clock.now();
    let (end, ended) = real_time(&mut running.live, &clock, &stop, |live, now| {
        let all = live.snapshot_of(now, 0).total.frames_in == FRAMES;
        stop.store(all, Ordering::Relaxed);
    });
    ended.unwrap();
    (running.live.snapshot_of(end, 0), running.came(), end.since(start))
}

#[test]
fn what_is_held_is_sent_before_the_end() {
    // 10 ms each.
    let (snapshot, came, ran) = stopped("800 kbps");
    assert_eq!((came as u64, snapshot.total.held, snapshot.unaccounted, snapshot.buffers.lost), (FRAMES, 0, 0, 0));
    assert!(snapshot.total.dropped.is_empty());
    // The link was busy for no longer than the box ran.
    assert_eq!(snapshot.resources["link"].busy_s, 0.2);
    assert!(ran >= Duration::from_millis(200), "{ran}");
}

#[test]
fn what_takes_longer_than_two_seconds_is_counted_as_stopped() {
    // 500 ms each: at most five are through.
    let (snapshot, came, ran) = stopped("16 kbps");
    assert!((1..=5).contains(&came), "{came}");
    assert_eq!((snapshot.total.dropped["stopped"], snapshot.total.held), (FRAMES - came as u64, 0));
    assert_eq!((snapshot.unaccounted, snapshot.buffers.lost), (0, 0));
    assert!(ran >= Duration::from_secs(2), "{ran}");
}

#[test]
fn a_box_that_is_in_a_hurry_sends_no_more_of_what_it_holds() {
    // 500 ms each: ten seconds.
    let mut running = Running::new("16 kbps", |port| Box::new(port));
    running.send(FRAMES);
    let (clock, stop) = (Clock::start(), AtomicBool::new(false));
    // With time for it the box would be heard a hundred times before it gives up.
    let mut heard = 0;
    let (end, ended) = real_time(&mut running.live, &clock, &stop, |live, now| {
        if stop.load(Ordering::Relaxed) {
            live.hurry();
            heard += 1;
        } else if live.snapshot_of(now, 0).total.frames_in == FRAMES {
            stop.store(true, Ordering::Relaxed);
        }
    });
    ended.unwrap();
    let (snapshot, came) = (running.live.snapshot_of(end, 0), running.came() as u64);
    assert_eq!((snapshot.total.dropped["stopped"], snapshot.total.held), (FRAMES - came, 0));
    assert_eq!((snapshot.unaccounted, snapshot.buffers.lost), (0, 0));
    assert_eq!(heard, 1);
}

/// A port whose interface is removed when it has brought everything: what it brings last comes with the error.
struct Removed(MemoryPort);

impl Port for Removed {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn link(&self) -> LinkType {
        self.0.link()
    }

    fn receive(&mut self, now: Time, pool: &mut Pool, frames: &mut Vec<Frame>) -> io::Result<()> {
        self.0.receive(now, pool, frames)?;
        if self.counters().received == FRAMES { Err(io::Error::other("interface a is gone")) } else { Ok(()) }
    }

    fn send(&mut self, now: Time, frames: &mut VecDeque<Frame>, pool: &mut Pool) -> io::Result<()> {
        self.0.send(now, frames, pool)
    }

    fn readable(&self) -> Option<RawFd> {
        None
    }

    fn counters(&mut self) -> PortCounters {
        self.0.counters()
    }
}

#[test]
fn what_a_box_holds_when_its_port_goes_is_counted_as_stopped() {
    // A second each.
    let mut running = Running::new("8 kbps", |port| Box::new(Removed(port)));
    running.send(FRAMES);
    let clock = Clock::start();
    let (end, ended) = real_time(&mut running.live, &clock, &AtomicBool::new(false), |_, _| ());
    assert_eq!(ended.unwrap_err().to_string(), "interface a is gone");
    let snapshot = running.live.snapshot_of(end, 0);
    assert_eq!((snapshot.total.frames_in, snapshot.total.dropped["stopped"], snapshot.total.held), (FRAMES, FRAMES, 0));
    assert_eq!((snapshot.unaccounted, snapshot.buffers.lost), (0, 0));
}

#[test]
fn all_that_goes_wrong_in_the_end_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let [record, trace] = ["in.pcap", "in.txt"].map(|name| folder.path().join(name));
    let mut running = Running::new("8 kbps", |port| {
        let record = Recorded::new(Box::new(Removed(port)), &record, Time::ZERO).unwrap();
        Box::new(Traced::new(Box::new(record), "in", &trace, Time::ZERO).unwrap())
    });
    // Since the start somebody has made folders where the files shall be.
    [&record, &trace].into_iter().for_each(|path| std::fs::create_dir(path).unwrap());
    running.send(FRAMES);
    let (_, ended) = real_time(&mut running.live, &Clock::start(), &AtomicBool::new(false), |_, _| ());
    let message = ended.unwrap_err().to_string();
    for part in ["interface a is gone; ", "in.pcap cannot be written: ", "in.txt cannot be written: "] {
        assert!(message.contains(part), "{part:?} is missing in {message:?}");
    }
}

#[test]
fn what_waits_for_a_port_that_takes_nothing_is_in_the_books() {
    let mut running = Running::new("8 Gbps", |port| Box::new(port));
    let now = Time::from_nanos(1_000_000_000);
    // The client takes nothing, and its cable holds 100 frames.
    for _ in 0..3 {
        let frame = |_| {
            let mut frame = running.pool.take();
            frame.fill(Time::ZERO, &[0x45; 1000], LinkType::RAW);
            frame
        };
        let mut frames = (0..50).map(frame).collect();
        running.server.send(Time::ZERO, &mut frames, &mut running.pool).unwrap();
        running.live.step(now, false).unwrap();
    }
    running.live.give_up(now);
    let totals = running.live.totals(now);
    assert_eq!((totals.reverse.frames_out, totals.returning, totals.reverse.held()), (150, 50, 0));
    assert_eq!((totals.forward.ports["in"].sent, totals.forward.buffers.lost), (100, 0));
}

/// No frame comes after those at the start.
#[test]
fn a_box_to_which_nothing_comes_forgets_idle_flows() {
    let text = "scheduler = \"drr\"\nports = { in = \"packet:a\", out = \"packet:b\" }\nflows = { idle = \"30 ms\" }\n";
    let config = Config::parse("box.toml", text, &[]).unwrap();
    let [inside, _client] = pair(["a", "client"], LinkType::RAW, 100);
    let [outside, _server] = pair(["b", "server"], LinkType::RAW, 100);
    let mut live = Live::new(config.middlebox().unwrap(), Box::new(inside), Box::new(outside), Duration::ZERO);
    let clock = Clock::start();
    for port in 0..100 {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64).udp(9, port).write(&mut bytes, &[0; 10]).unwrap();
        let mut frame = live.middlebox.pool.take();
        frame.fill(clock.now(), &bytes, LinkType::RAW);
        live.middlebox.receive(clock.now(), frame);
    }
    let flows =
        |live: &Live, now: Time| live.middlebox.snapshot(now).classes.iter().map(|class| class.flows).sum::<u64>();
    assert_eq!(flows(&live, clock.now()), 100);
    let (stop, start) = (AtomicBool::new(false), clock.now());
    let (_, ended) = real_time(&mut live, &clock, &stop, |live, now| {
        // Two looks are enough; a busy machine may let it wait.
        let over = flows(live, now) == 0 || now.since(start) > Duration::from_secs(20);
        stop.store(over, Ordering::Relaxed);
    });
    ended.unwrap();
    assert_eq!(flows(&live, clock.now()), 0);
}
