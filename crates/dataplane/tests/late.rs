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

/// A time in which one flow of the tunnel and four forwarded ones always have frames waiting, and the worker comes every `period` of 100 us each.
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
