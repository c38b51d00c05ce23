//! A box that is told to stop sends what it holds for two seconds, and counts what is left.

use std::sync::atomic::{AtomicBool, Ordering};

use dovetail_dataplane::config::Config;
use dovetail_dataplane::core::Snapshot;
use dovetail_dataplane::driver::{Clock, real_time};
use dovetail_dataplane::frame::Pool;
use dovetail_dataplane::live::Live;
use dovetail_dataplane::port::Port;
use dovetail_dataplane::port::memory::pair;
use dovetail_units::{Duration, Time};
use dovetail_wire::LinkType;

const FRAMES: u64 = 20;

/// A box whose link has this rate has got all frames, and is told to stop; what it has done, what came out, and how long it says that it ran.
fn stopped(rate: &str) -> (Snapshot, usize, Duration) {
    let text =
        format!("scheduler = \"drr+drr\"\n[ports]\nin = \"packet:a\"\nout = \"packet:b\"\n[link]\nrate = {rate:?}\n");
    let config = Config::parse("box.toml", &text, &[]).unwrap();
    let [inside, mut client] = pair(["a", "client"], LinkType::RAW, 100);
    let [outside, mut server] = pair(["b", "server"], LinkType::RAW, 100);
    let mut live = Live::new(config.middlebox().unwrap(), Box::new(inside), Box::new(outside), Duration::ZERO);
    let mut pool = Pool::new();
    let mut frames = (0..FRAMES)
        .map(|_| {
            let mut frame = pool.take();
            frame.fill(Time::ZERO, &[0x45; 1000], LinkType::RAW);
            frame
        })
        .collect();
    client.send(Time::ZERO, &mut frames, &mut pool).unwrap();
    let (clock, stop) = (Clock::start(), AtomicBool::new(false));
    let start = clock.now();
    let end = real_time(&mut live, &clock, &stop, |live, now| {
        let all = live.snapshot_of(now, 0).total.frames_in == FRAMES;
        stop.store(all, Ordering::Relaxed);
    });
    let end = end.unwrap();
    let mut came = Vec::new();
    server.receive(Time::ZERO, &mut pool, &mut came).unwrap();
    (live.snapshot_of(end, 0), came.len(), end.since(start))
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
