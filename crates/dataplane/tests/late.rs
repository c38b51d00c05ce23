//! A worker that is away for a moment, as on a busy machine: what it finds then is done as if it had been there.

use dovetail_dataplane::config::Config;
use dovetail_dataplane::core::{Middlebox, Snapshot};
use dovetail_units::{Duration, Time};
use dovetail_wire::LinkType;
use etherparse::PacketBuilder;

const BOX: &str = r#"
ports = { in = "packet:a", out = "packet:b" }
link = { rate = "50 Mbps" }
class = [
    { name = "tunnel", match = [{ protocol = "udp", dport = "5001" }], cost = "400 us" },
    { name = "forwarding", cost = "20 us" },
]
"#;

/// A quarter of a second.
const LOOKS: u64 = 2_500;

fn put(middlebox: &mut Middlebox, now: Time, port: u16) {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64).udp(9, port);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &[0; 800 - 42]).unwrap();
    let mut frame = middlebox.pool.take();
    frame.fill(now, &bytes, LinkType::ETHERNET);
    middlebox.receive(now, frame);
}

/// A time in which one flow of the tunnel and four forwarded ones always have frames waiting, and the worker comes
/// every `period` of 100 us each.
fn busy(scheduler: &str, period: u64) -> Snapshot {
    let config = Config::parse("box.toml", &format!("scheduler = {scheduler:?}\n{BOX}"), &[]).unwrap();
    let mut middlebox = config.middlebox().unwrap();
    let at = |look: u64| Time::from_nanos(1_000_000_000) + Duration::from_micros(100 * look);
    (0..100).for_each(|_| (5001..=5005).for_each(|port| put(&mut middlebox, at(0), port)));
    for look in (0..=LOOKS).step_by(period as usize) {
        // More comes than can leave, and waits for the worker to look.
        (0..period).for_each(|_| (5001..=5005).for_each(|port| put(&mut middlebox, at(look), port)));
        middlebox.advance(at(look));
        middlebox.outgoing.drain(..).collect::<Vec<_>>().into_iter().for_each(|frame| middlebox.pool.give(frame));
    }
    middlebox.snapshot(at(LOOKS))
}

#[test]
fn who_comes_within_what_is_made_up_for_loses_nothing() {
    for scheduler in ["tradeoff:alpha=1", "tradeoff:alpha=0.85", "drfq", "mr3", "drr", "wfq+wfq"] {
        let (always, late) = (busy(scheduler, 1), busy(scheduler, 50));
        assert_eq!((always.lost_time_s, late.lost_time_s), (0.0, 0.0), "{scheduler}");
        for resource in ["cpu", "link"] {
            let [always, late] = [&always, &late].map(|snapshot| snapshot.resources[resource].busy_s);
            // Two frames more or less of the tunnel are on their way.
            assert!((always - late).abs() < 1e-3, "{scheduler}: the {resource} was busy for {late} s, not {always} s");
        }
    }
}

/// What a frame that needs 300 us of the CPU and 100 us of the link has stayed, and was late, at most, if the worker
/// comes at these times, in microseconds.
fn stayed_and_late(looks: &[u64]) -> (Option<f64>, f64) {
    let text = BOX.replace("50 Mbps", "64 Mbps").replace("400 us", "300 us");
    let config = Config::parse("box.toml", &format!("scheduler = \"drr\"\n{text}"), &[]).unwrap();
    let mut middlebox = config.middlebox().unwrap();
    let at = |look: u64| Time::from_nanos(1_000_000_000) + Duration::from_micros(look);
    put(&mut middlebox, at(0), 5001);
    looks.iter().for_each(|&look| middlebox.advance(at(look)));
    let snapshot = middlebox.snapshot(at(looks[looks.len() - 1]));
    assert_eq!(snapshot.total.frames_out, 1);
    (snapshot.total.latency_s.max, snapshot.late_s.max)
}

#[test]
fn how_late_a_frame_was_comes_on_top_of_how_long_it_stayed_also_where_time_is_lost() {
    // A latency is known to 1 %.
    let about = |stayed: Option<f64>, is: f64| assert!((stayed.unwrap() / is - 1.0).abs() <= 0.01, "{stayed:?}");
    for (looks, late) in [(&[0, 300, 400][..], 0.0), (&[0, 300, 5_400], 5e-3), (&[0, 300, 20_400], 20e-3)] {
        let (stayed, was) = stayed_and_late(looks);
        about(stayed, 400e-6);
        assert_eq!(was, late);
    }
    // The lost time of a frame that is on the CPU meanwhile is a part of its latency: it is late by the 10 ms that the
    // box makes up for, less 100 us on the link.
    let (stayed, late) = stayed_and_late(&[0, 20_400]);
    about(stayed, 20.4e-3 - 9.9e-3);
    assert_eq!(late, 9.9e-3);
}
