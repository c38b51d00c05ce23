//! Queue management in front of CPU and link.

use dovetail_dataplane::core::Middlebox;
use dovetail_sched::Limit;

use crate::support::{middlebox, out, put, udp, us};

/// A UDP frame of `bytes` to this port from a sender that says `ecn`.
fn udp_with_ecn(port: u16, bytes: usize, ecn: u8) -> Vec<u8> {
    let mut frame = udp(port, bytes);
    frame[15] = ecn;
    let checksum = etherparse::checksum::Sum16BitWords::new().add_slice(&frame[14..24]).add_slice(&frame[26..34]);
    frame[24..26].copy_from_slice(&checksum.ones_complement().to_be().to_be_bytes());
    frame
}

/// Frames whose sender says `ecn`, at twice the rate of the link; the ECN fields that they leave with, and the drops.
fn congested(scheduler: &str, ecn: u8) -> (Vec<u8>, u64, u64) {
    let config = "[link]\nrate = \"8 Mbps\"\n[[class]]\nname = \"all\"\ncost = \"100 us\"\n";
    let mut middlebox = middlebox(&format!("scheduler = \"{scheduler}:min=5,max=15,weight=0.1\"\n{config}"));
    let mut fields = Vec::new();
    for k in 0..3_000 {
        put(&mut middlebox, us(u64::from(k) * 500), &udp_with_ecn(k % 5, 1000, ecn));
        middlebox.advance(us(u64::from(k) * 500));
        while let Some(frame) = middlebox.outgoing.pop_front() {
            let header = etherparse::Ipv4HeaderSlice::from_slice(&frame.data()[14..]).unwrap();
            assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
            fields.push(header.ecn().value());
            middlebox.pool.give(frame);
        }
    }
    let total = middlebox.snapshot(us(1_500_000)).total;
    (fields, total.marked, total.dropped.values().sum())
}

#[test]
fn queues_that_are_managed_mark_who_understands_and_drop_the_others() {
    for scheduler in ["red+red", "drq", "drr+red"] {
        let (fields, marked, _) = congested(scheduler, 0b10);
        let seen = fields.iter().filter(|&&field| field == 0b11).count() as u64;
        assert_eq!(seen, marked, "{scheduler}");
        assert!(marked > 100, "{scheduler}: {marked}");
        assert!(fields.iter().all(|&field| field == 0b11 || field == 0b10), "only CE leaves the box: {scheduler}");
        let (fields, marked, dropped) = congested(scheduler, 0b00);
        assert!(fields.iter().all(|&field| field == 0b00), "{scheduler}");
        assert_eq!(marked, 0, "{scheduler}");
        assert!(dropped > 500, "{scheduler}: {dropped}");
    }
}

/// Bursts of frames with rests between them, over a link of this rate that is set to 8 Mb/s before the first one comes.
fn bursts(scheduler: &str, cost: &str, rate: &str) -> (Vec<u8>, u64, u64) {
    let config = format!("[link]\nrate = \"{rate}\"\n[[class]]\nname = \"all\"\ncost = \"{cost}\"\n");
    let mut middlebox = middlebox(&format!("scheduler = \"{scheduler}:min=5,max=15,weight=0.02\"\n{config}"));
    middlebox.set_rate(us(0), Some("8 Mbps".parse().unwrap()));
    let mut fields = Vec::new();
    for k in 0..4_000 {
        // 80 frames of 1 ms on the link every 100 ms.
        let now = us(k / 80 * 100_000 + k % 80);
        while let Some(next) = middlebox.next_event().filter(|&next| next <= now) {
            middlebox.advance(next);
            while let Some(frame) = middlebox.outgoing.pop_front() {
                fields.push(frame.data()[15]);
                middlebox.pool.give(frame);
            }
        }
        put(&mut middlebox, now, &udp_with_ecn(7, 1000, 0b10));
        middlebox.advance(now);
    }
    let total = middlebox.snapshot(us(10_000_000)).total;
    (fields, total.marked, total.dropped.values().sum())
}

#[test]
fn queue_management_follows_the_rate_of_the_link() {
    for (scheduler, cost) in [("red+red", "900 us"), ("drr+red", "100 us")] {
        let from_the_start = bursts(scheduler, cost, "8 Mbps");
        assert!(from_the_start.1 > 100, "{scheduler}: {} marks", from_the_start.1);
        assert!(bursts(scheduler, cost, "80 Mbps") == from_the_start, "{scheduler}");
    }
}

#[test]
fn what_queue_management_drops_in_front_of_the_link_goes_by_its_own_name() {
    let config = "[link]\nrate = \"8 Mbps\"\n[[class]]\nname = \"all\"\ncost = \"10 us\"\n";
    let mut middlebox =
        middlebox(&format!("ecn = \"off\"\nscheduler = \"fifo+red:min=5,max=15,weight=0.1\"\n{config}"));
    for k in 0..1_000 {
        put(&mut middlebox, us(k * 500), &udp(1, 1000));
        middlebox.advance(us(k * 500));
        out(&mut middlebox);
    }
    let dropped = middlebox.snapshot(us(500_000)).total.dropped;
    assert!(dropped.contains_key("aqm-early"), "{dropped:?}");
    assert!(!dropped.contains_key("link-buffer"), "{dropped:?}");
}

#[test]
fn behind_queue_management_each_class_has_its_own_limit() {
    let config = r#"
scheduler = "red+drr"
[link]
rate = "8 kbps"
[[class]]
name = "short"
match = [{ dport = "1" }]
queue = "2 packets"
cost = "1 us"
[[class]]
name = "long"
queue = "7 packets"
cost = "1 us"
"#;
    let mut middlebox = middlebox(config);
    let waits = |middlebox: &mut Middlebox, from: u64| {
        for k in 0..20 {
            for port in [1, 2] {
                put(middlebox, us(from + k * 10), &udp(port, 1000));
                middlebox.advance(us(from + k * 10));
            }
            middlebox.advance(us(from + k * 10 + 5));
        }
        let snapshot = middlebox.snapshot(us(from + 200));
        assert_eq!(snapshot.resources["cpu"].waiting, 0);
        [0, 1].map(|class| snapshot.classes[class].frames.held)
    };
    // One frame, of the class that came first, is on the link: a frame takes a second.
    assert_eq!(waits(&mut middlebox, 0), [3, 7]);
    // A limit that is set holds for what comes.
    middlebox.set_limit(us(300), "short", Limit { packets: Some(4), ..Limit::default() }).unwrap();
    assert_eq!(waits(&mut middlebox, 300), [5, 7]);
}

#[test]
fn where_nothing_manages_a_queue_its_flows_keep_their_limits() {
    let config = "[flows]\nqueue = \"3 packets\"\n[link]\nrate = \"8 kbps\"\n[[class]]\nname = \"all\"\n";
    for (scheduler, cost, held) in [("fifo+red", "1 s", 4), ("red+fifo", "1 us", 4)] {
        let mut middlebox = middlebox(&format!("scheduler = \"{scheduler}\"\n{config}cost = \"{cost}\"\n"));
        for k in 0..20 {
            put(&mut middlebox, us(k * 10), &udp(1, 1000));
            middlebox.advance(us(k * 10));
            middlebox.advance(us(k * 10 + 5));
        }
        // Three wait, and one is served.
        assert_eq!(middlebox.held(), held, "{scheduler}");
    }
}
