//! The box without ports: what goes in comes out, at the instants that CPU, link and scheduler allow.

mod fit;
mod flood;
mod fragments;
mod managed;
mod speed;
mod support;
mod third;
mod vital;

use dovetail_dataplane::core::Middlebox;
use dovetail_units::Duration;

use crate::support::{middlebox, out, put, udp, us};

const TWO_CLASSES: &str = r#"
scheduler = "tradeoff:alpha=1"
[link]
rate = "64 Mbps"
[[class]]
name = "dear"
match = [{ protocol = "udp", dport = "5000-5999" }]
cost = "300 us"
[[class]]
name = "cheap"
cost = "10 us"
"#;

#[test]
fn a_frame_leaves_when_cpu_and_link_are_done_with_it() {
    let mut middlebox = middlebox(TWO_CLASSES);
    put(&mut middlebox, us(0), &udp(5000, 800));
    middlebox.advance(us(0));
    // 300 us on the CPU; 800 B at 64 Mb/s are 100 us on the link.
    assert_eq!(middlebox.next_event(), Some(us(300)));
    middlebox.advance(us(300));
    assert_eq!(middlebox.next_event(), Some(us(400)));
    assert!(out(&mut middlebox).is_empty());
    middlebox.advance(us(400));
    assert_eq!(out(&mut middlebox), [5000]);
    assert_eq!(middlebox.next_event(), None);
    let snapshot = middlebox.snapshot(us(400));
    assert_eq!((snapshot.total.cpu_s, snapshot.total.link_s), (300e-6, 100e-6));
    assert_eq!(snapshot.classes[0].frames.frames_out, 1);
    assert_eq!(middlebox.pool.in_use(), 0);
}

#[test]
fn the_box_takes_no_more_frames_than_it_may_hold() {
    let mut middlebox = middlebox(&TWO_CLASSES.replace("[link]", "[flows]\nlimit = \"3 packets\"\n[link]"));
    (0..5).for_each(|flow| put(&mut middlebox, us(0), &udp(5000 + flow, 800)));
    let full = |middlebox: &Middlebox| middlebox.snapshot(us(0)).total.dropped.get("box-full").copied();
    assert_eq!((middlebox.held(), middlebox.pool.in_use(), full(&middlebox)), (3, 3, Some(2)));
    // What waits for the port is not in the box any more.
    middlebox.advance(us(0));
    middlebox.advance(us(400));
    (0..2).for_each(|_| put(&mut middlebox, us(400), &udp(80, 800)));
    assert_eq!((middlebox.held(), middlebox.outgoing.len(), full(&middlebox)), (3, 1, Some(3)));
    middlebox.advance(us(2_000));
    assert_eq!((middlebox.held(), out(&mut middlebox).len(), middlebox.pool.made()), (0, 4, 5));
}

#[test]
fn flows_that_fill_the_box_leave_room_to_others() {
    let mut middlebox = middlebox(&TWO_CLASSES.replace("[link]", "[flows]\nlimit = \"12 packets\"\n[link]"));
    // One takes half of the box: then its queue is as long as the room that is left. Of the other half a second one
    // takes half.
    (0..20).for_each(|_| put(&mut middlebox, us(0), &udp(5000, 800)));
    assert_eq!(middlebox.held(), 6);
    (0..20).for_each(|_| put(&mut middlebox, us(0), &udp(5001, 800)));
    assert_eq!(middlebox.held(), 9);
    // Who comes new finds room.
    (0..2).for_each(|flow| put(&mut middlebox, us(0), &udp(80 + flow, 800)));
    assert_eq!(middlebox.held(), 11);
    assert_eq!(middlebox.snapshot(us(0)).total.dropped["box-full"], 31);
}

/// So many flows of two frames each, that have all left.
fn with_flows(most: u32, flows: u16) -> Middlebox {
    let idle = format!("[flows]\nmost = {most}\nidle = \"1 s\"\n[link]");
    let mut middlebox = middlebox(&TWO_CLASSES.replace("[link]", &idle));
    (0..2 * flows).for_each(|k| put(&mut middlebox, us(0), &udp(1000 + k / 2, 80)));
    (0..=400).for_each(|k| middlebox.advance(us(1000 * k)));
    assert_eq!((middlebox.held(), kept(&middlebox)), (0, u64::from(flows)));
    out(&mut middlebox);
    middlebox
}

fn kept(middlebox: &Middlebox) -> u64 {
    middlebox.snapshot(us(0)).classes.iter().map(|class| class.flows).sum()
}

#[test]
fn idle_flows_are_forgotten_also_when_nothing_comes() {
    let mut middlebox = with_flows(1000, 300);
    middlebox.forget_idle(us(999_999));
    assert_eq!(kept(&middlebox), 300);
    middlebox.advance(us(1_000_000));
    let left: Vec<u64> = (0..5)
        .map(|_| {
            middlebox.forget_idle(us(1_000_000));
            kept(&middlebox)
        })
        .collect();
    assert_eq!(left, [236, 172, 108, 44, 0]);
}

#[test]
fn a_new_flow_takes_the_place_of_an_idle_one_where_all_are_taken() {
    for before in [0, 256] {
        let mut middlebox = with_flows(256, 256);
        let overflowed = |middlebox: &Middlebox| middlebox.snapshot(us(0)).overflowed;
        // While none is idle new ones share queues, which take no flow's place.
        (0..before).for_each(|flow| put(&mut middlebox, us(500_000), &udp(8000 + flow, 80)));
        assert_eq!(overflowed(&middlebox), u64::from(before));
        let shared = kept(&middlebox) - 256;
        assert!(shared <= u64::from(before) && (before == 0 || shared > 1), "{shared}");
        (500..=1000).for_each(|ms| middlebox.advance(us(1000 * ms)));
        assert_eq!(middlebox.held(), 0);
        for flow in 0..256 {
            let now = us(1_000_000 + 1000 * u64::from(flow));
            put(&mut middlebox, now, &udp(8000 + flow, 80));
            middlebox.advance(now);
        }
        // Each looks at 64, and the queues that were shared are among them.
        let more = overflowed(&middlebox) - u64::from(before);
        assert!(more <= 16, "{more} {shared}");
        assert!((256 - more..=256 + shared).contains(&kept(&middlebox)), "{}", kept(&middlebox));
    }
}

#[test]
fn a_buffer_without_a_frame_is_found_out() {
    let mut middlebox = middlebox(TWO_CLASSES);
    (0..5).for_each(|flow| put(&mut middlebox, us(0), &udp(5000 + flow, 800)));
    let buffers = |middlebox: &Middlebox| {
        let buffers = middlebox.snapshot(us(0)).buffers;
        (buffers.made, buffers.lost)
    };
    for now in [0, 350, 700] {
        middlebox.advance(us(now));
        assert_eq!(buffers(&middlebox), (5, 0));
    }
    let lost = middlebox.pool.take();
    assert_eq!(buffers(&middlebox), (6, 1));
    middlebox.pool.give(lost);
    assert_eq!(buffers(&middlebox), (6, 0));
}

#[test]
fn a_fifth_of_the_core_takes_five_times_as_long() {
    let mut middlebox = middlebox(&TWO_CLASSES.replace("[link]", "[cpu]\nbudget = \"20 %\"\n[link]"));
    put(&mut middlebox, us(0), &udp(5000, 800));
    middlebox.advance(us(0));
    assert_eq!(middlebox.next_event(), Some(us(1500)));
}

#[test]
fn a_worker_that_wakes_late_loses_no_time() {
    let run = |step: u64| {
        let mut middlebox = middlebox(TWO_CLASSES);
        for k in 0..60 {
            put(&mut middlebox, us(0), &udp(5000 + k % 7 * 1000, 800));
        }
        let mut order = Vec::new();
        for now in (0..20_000).step_by(step as usize) {
            middlebox.advance(us(now));
            order.extend(out(&mut middlebox));
        }
        let total = middlebox.snapshot(us(20_000)).total;
        (order, total.latency_s.mean, total.latency_s.max, total.frames_out)
    };
    assert_eq!(run(1), run(7_000));
    assert_eq!(run(1).3, 60);
}

#[test]
fn what_a_worker_missed_by_more_than_ten_milliseconds_is_lost_time() {
    let mut middlebox = middlebox(TWO_CLASSES);
    for _ in 0..200 {
        put(&mut middlebox, us(0), &udp(5000, 800));
    }
    middlebox.advance(us(0));
    middlebox.advance(us(100_300));
    // The first frame's end is put off to 10 ms before now; from then on 300 us each, and the last one's 100 us on the
    // link. The scheduler follows a fluid that is rounded to nanoseconds.
    middlebox.advance(us(100_301));
    assert_eq!(out(&mut middlebox).len(), 34);
    assert_eq!(middlebox.snapshot(us(100_300)).lost_time_s, 0.09);
}

#[test]
fn it_is_told_how_late_frames_leave() {
    let frames = |looks: &[u64]| {
        let mut middlebox = middlebox(&TWO_CLASSES.replace("tradeoff:alpha=1", "drr"));
        (0..2).for_each(|_| put(&mut middlebox, us(0), &udp(5000, 800)));
        looks.iter().for_each(|&look| middlebox.advance(us(look)));
        let late = middlebox.snapshot(us(looks[looks.len() - 1])).late_s;
        (late.sum, late.max)
    };
    // 300 us on the CPU and 100 us on the link: they are due at 400 us and at 700 us.
    assert_eq!(frames(&[0]), (0.0, 0.0));
    assert_eq!(frames(&[0, 300, 400, 600, 700]), (0.0, 0.0));
    assert_eq!(frames(&[0, 400, 1000]), (300e-6, 300e-6));
    assert_eq!(frames(&[0, 1000]), (900e-6, 600e-6));
    // The box makes up for 10 ms only, but what was due before that was late all the same.
    assert_eq!(frames(&[0, 300, 20_400]).1, 20e-3);
}

#[test]
fn who_comes_after_lost_time_does_not_wait_for_what_was_missed() {
    let mut middlebox = middlebox(TWO_CLASSES);
    for _ in 0..150 {
        put(&mut middlebox, us(0), &udp(5000, 800));
    }
    middlebox.advance(us(0));
    middlebox.advance(us(100_300));
    out(&mut middlebox);
    // The flow that waits has 116 frames left, 35 ms of CPU: a fluid that had not stood still with the box would be
    // done with it, and the box would have to follow.
    put(&mut middlebox, us(100_300), &udp(80, 800));
    // The frame on the CPU, 300 us, then the new one, 10 us, and both on the link.
    middlebox.advance(us(100_300 + 300 + 10 + 200));
    assert!(out(&mut middlebox).contains(&80));
}

#[test]
fn a_full_link_buffer_keeps_the_cpu_or_loses_the_frame() {
    let config = "scheduler = \"fifo\"\n[link]\nrate = \"640 kbps\"\nbuffer = \"2 packets\"\n\
                  [[class]]\nname = \"all\"\ncost = \"10 us\"\n";
    let run = |config: &str| {
        let mut middlebox = middlebox(config);
        for k in 0..10 {
            put(&mut middlebox, us(0), &udp(k, 800));
        }
        middlebox.advance(us(0));
        for now in (0..=110_000).step_by(10) {
            middlebox.advance(us(now));
        }
        (out(&mut middlebox), middlebox.snapshot(us(110_000)).total)
    };
    let (order, total) = run(config);
    assert_eq!((order, total.dropped.len()), ((0..10).collect(), 0));
    let (order, total) = run(&config.replace("buffer", "overflow = \"drop\"\nbuffer"));
    // The first goes onto the link at once, two wait, the others find no room.
    assert_eq!((order, total.dropped["link-buffer"], total.held), (vec![0, 1, 2], 7, 0));
}

#[test]
fn classes_share_a_module_and_its_state() {
    let config = r#"
scheduler = "fifo"
[[module]]
name = "headers"
kind = "check"
[[class]]
name = "a"
match = [{ dport = "1" }]
modules = ["headers"]
[[class]]
name = "b"
modules = ["headers"]
"#;
    let mut middlebox = middlebox(config);
    let mut wrong = udp(1, 100);
    wrong[24] ^= 1;
    for frame in [udp(1, 100), udp(2, 100), wrong] {
        put(&mut middlebox, us(0), &frame);
    }
    // What processing takes is measured, so nobody knows when it is over.
    middlebox.advance(us(0));
    middlebox.advance(us(9_000_000));
    assert_eq!(out(&mut middlebox), [1, 2]);
    let snapshot = middlebox.snapshot(us(9_000_000));
    assert_eq!(snapshot.classes[0].frames.dropped.values().sum::<u64>(), 1);
    assert!(snapshot.classes[1].frames.cpu_s > 0.0);
}

#[test]
fn equal_dominant_shares_of_unlike_flows() {
    let mut middlebox = middlebox(TWO_CLASSES);
    let mut now = us(0);
    for _ in 0..2_000 {
        for (class, port) in [5000, 6000].into_iter().enumerate() {
            if middlebox.snapshot(now).classes[class].frames.held < 50 {
                put(&mut middlebox, now, &udp(port, 800));
            }
        }
        now += Duration::from_micros(50);
        middlebox.advance(now);
        out(&mut middlebox);
    }
    let [dear, cheap] = [0, 1].map(|class| middlebox.snapshot(now).classes[class].frames.clone());
    // 300 us of CPU a packet against 100 us of link. Each flow is within one longest packet of the fluid, and one may
    // be in service.
    let (cpu, link) = (dear.cpu_s, cheap.link_s);
    assert!((cpu - link).abs() < 3.0 * 300e-6, "{cpu} {link}");
}

#[test]
fn every_frame_is_sent_dropped_or_held_whatever_comes() {
    for scheduler in ["fifo", "drr+drr", "tradeoff:alpha=0.5", "drfq", "mr3", "wfq+wfq:full=hold"] {
        let config = TWO_CLASSES.replace("tradeoff:alpha=1", scheduler);
        let flows = "[flows]\nqueue = \"5 packets\"\nidle = \"2 ms\"\nmost = 8\n[link]";
        let mut middlebox = middlebox(&config.replace("[link]", flows));
        let mut random = 12345_u64;
        let mut came = 0;
        let mut sent = 0;
        for step in 0..5_000_u64 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let draw = random >> 33;
            if draw.is_multiple_of(3) {
                let frame = match draw % 50 {
                    0 => vec![0xff; (draw % 70) as usize],
                    _ => udp(4_990 + (draw % 40) as u16, 60 + (draw % 1400) as usize),
                };
                put(&mut middlebox, us(step * 40), &frame);
                came += 1;
            }
            middlebox.advance(us(step * 40));
            sent += out(&mut middlebox).len() as u64;
            let dropped: u64 = middlebox.drops().iter().map(|(_, count)| count).sum();
            assert_eq!(came, sent + dropped + middlebox.held(), "{scheduler}");
            assert_eq!(middlebox.pool.in_use() as u64, middlebox.held(), "{scheduler}");
        }
        middlebox.advance(us(10_000_000));
        while middlebox.next_event().is_some() {
            let next = middlebox.next_event().unwrap();
            out(&mut middlebox);
            middlebox.advance(next.max(us(10_000_000)));
        }
        assert_eq!(middlebox.held(), 0, "{scheduler}");
    }
}

#[test]
fn what_cannot_change_is_refused_and_nothing_is_written_down() {
    for (scheduler, parameter, value) in [
        ("drq", "max_p", "abc"),
        ("red+red", "max_p", "0.2"),
        ("red+drr", "max_p", "0.2"),
        ("drr+red", "quantum", "abc"),
        ("drq", "quantum", "3 kB"),
        ("drr", "quantun", "3 kB"),
    ] {
        let mut middlebox = middlebox(&TWO_CLASSES.replace("tradeoff:alpha=1", scheduler));
        let error = middlebox.set(us(0), parameter, value).expect_err(scheduler);
        assert!(error.to_string().contains(if value == "abc" && scheduler == "drr+red" { value } else { parameter }));
        assert_eq!(middlebox.snapshot(us(0)).scheduler, scheduler);
    }
    for scheduler in ["drr", "drr+red", "red+drr", "wfq+drr"] {
        let mut middlebox = middlebox(&TWO_CLASSES.replace("tradeoff:alpha=1", scheduler));
        middlebox.set(us(0), "quantum", "40 us").unwrap_or_else(|e| panic!("{scheduler}: {e}"));
        assert_eq!(middlebox.snapshot(us(0)).scheduler, format!("{scheduler}:quantum=40 us"));
    }
}

#[test]
fn a_target_names_cpu_or_link_and_the_snapshot_says_what_alpha_has_come_to() {
    let scheduler = "tradeoff:alpha=0.5,target=link 90 %";
    let mut middlebox = middlebox(&TWO_CLASSES.replace("tradeoff:alpha=1", scheduler));
    let steering = middlebox.snapshot(us(0)).steering.unwrap();
    assert_eq!((steering.alpha, steering.out_of_reach), (1.0, false));
    middlebox.set(us(0), "target", "cpu 95 %").unwrap();
    assert_eq!(middlebox.snapshot(us(0)).scheduler, "tradeoff:alpha=0.5,target=cpu 95 %");
    let error = middlebox.set(us(0), "target", "gpu 95 %").unwrap_err().to_string();
    assert!(error.contains("such as cpu 95 %"), "{error}");
    middlebox.set(us(0), "target", "none").unwrap();
    assert!(middlebox.snapshot(us(0)).steering.is_none());
}

#[test]
fn what_classes_tell_apart_is_not_one_flow() {
    // By the sender's prefix and the destination port they are alike; the protocol tells the classes.
    let config = r#"
scheduler = "fifo"
[flows]
key = "prefix+port"
[[class]]
name = "datagrams"
match = [{ protocol = "udp" }]
weight = 3.0
queue = "2 packets"
cost = "100 us"
[[class]]
name = "others"
cost = "100 us"
"#;
    let mut middlebox = middlebox(config);
    let mut tcp = udp(5000, 100);
    tcp[23] = 6;
    for frame in [udp(5000, 100), udp(5000, 100), tcp.clone(), tcp] {
        put(&mut middlebox, us(0), &frame);
    }
    let flows = middlebox.snapshot(us(0)).flows;
    let seen: Vec<(&str, u64)> = flows.iter().map(|flow| (flow.class.as_str(), flow.frames.frames_in)).collect();
    assert_eq!(seen, [("datagrams", 2), ("others", 2)]);
}

const ONE_NEEDS_NOTHING: &str = r#"
scheduler = "drfq"
[link]
rate = "64 Mbps"
[[class]]
name = "dear"
match = [{ protocol = "udp", dport = "5000-5999" }]
cost = "300 us"
[[class]]
name = "free"
"#;

#[test]
fn what_needs_nothing_of_the_cpu_does_not_wait_for_it() {
    for scheduler in ["drfq", "tradeoff:alpha=1", "fifo", "drr+drr"] {
        let mut middlebox = middlebox(&ONE_NEEDS_NOTHING.replace("drfq", scheduler));
        put(&mut middlebox, us(0), &udp(5000, 800));
        middlebox.advance(us(0));
        put(&mut middlebox, us(10), &udp(1, 800));
        middlebox.advance(us(10));
        // 100 us on the link, while the other one is on the CPU until 300 us.
        assert_eq!(middlebox.next_event(), Some(us(110)), "{scheduler}");
        middlebox.advance(us(110));
        assert_eq!(out(&mut middlebox), [1], "{scheduler}");
        middlebox.advance(us(400));
        assert_eq!(out(&mut middlebox), [5000], "{scheduler}");
        let classes = middlebox.snapshot(us(400)).classes;
        let cpu = [0, 1].map(|class| (classes[class].frames.frames_processed, classes[class].frames.cpu_s));
        assert_eq!(cpu, [(1, 300e-6), (1, 0.0)], "{scheduler}");
    }
}

/// Of the CPU's time per frame the parts are those of the same frames: all that it worked for, wherever they ended.
#[test]
fn processed_are_all_frames_that_the_cpu_is_done_with() {
    let config = r#"
scheduler = "fifo"
[link]
rate = "64 Mbps"
buffer = "1 packets"
overflow = "drop"
[[class]]
name = "dear"
match = [{ protocol = "udp", dport = "5000-5999" }]
modules = ["headers"]
cost = "20 us"
queue = "8 packets"
[[class]]
name = "free"
[[module]]
name = "headers"
kind = "check"
"#;
    let mut middlebox = middlebox(config);
    let mut wrong = udp(5000, 800);
    wrong[24] ^= 1;
    put(&mut middlebox, us(0), &wrong);
    (0..9).for_each(|_| put(&mut middlebox, us(0), &udp(5000, 800)));
    put(&mut middlebox, us(0), &udp(1, 800));
    middlebox.advance(us(0));
    let [dear, free] = [0, 1].map(|class| middlebox.snapshot(us(0)).classes[class].frames.frames_processed);
    assert_eq!((dear, free), (0, 0), "who waits or is being processed is not done with");
    (1..=200).for_each(|k| middlebox.advance(us(10 * k)));
    let snapshot = middlebox.snapshot(us(2000));
    let [dear, free] = [0, 1].map(|class| &snapshot.classes[class].frames);
    // By hand: the queue takes 8. One is wrong; the others come every 20 us to a link that needs 100 us for each. At 40
    // us it takes the first, at 60 us another one waits, three find no room, at 140 us it takes the second and
    // another one waits, and that of 160 us finds no room, as does what needs nothing after it.
    let dropped: Vec<(&str, u64)> = dear.dropped.iter().map(|(why, &n)| (why.as_str(), n)).collect();
    assert_eq!(dropped, [("bad-header-checksum", 1), ("link-buffer", 4), ("queue-packets", 2)]);
    assert_eq!((dear.frames_in, dear.frames_processed, dear.frames_out), (10, 8, 3));
    assert!((dear.cpu_s - 8.0 * 20e-6).abs() < 1e-12 && (dear.link_s - 3.0 * 100e-6).abs() < 1e-12);
    assert_eq!((free.frames_processed, free.frames_out, free.cpu_s), (1, 0, 0.0), "it found no room");
    let flows: u64 = snapshot.flows.iter().map(|flow| flow.frames.frames_processed).sum();
    assert_eq!((flows, snapshot.total.frames_processed), (9, 9));
}

#[test]
fn what_passes_by_keeps_the_order_of_its_flow_and_the_room_in_front_of_the_link() {
    let config = ONE_NEEDS_NOTHING.replace("rate =", "buffer = \"3 packets\"\nrate =");
    let mut middlebox = middlebox(&config);
    put(&mut middlebox, us(0), &udp(5000, 800));
    middlebox.advance(us(0));
    (0..20).for_each(|_| put(&mut middlebox, us(0), &udp(1, 800)));
    middlebox.advance(us(0));
    let snapshot = middlebox.snapshot(us(0));
    // One is on the link, three wait in front of it.
    assert_eq!((snapshot.resources["link"].waiting, snapshot.resources["cpu"].waiting), (3, 16));
    (1..40).for_each(|k| middlebox.advance(us(100 * k)));
    assert_eq!((out(&mut middlebox).len(), middlebox.held(), middlebox.pool.in_use()), (21, 0, 0));
}

#[test]
fn what_a_box_has_when_it_ends_is_dropped_for_that_reason() {
    for scheduler in ["drfq", "drr+drr", "drq"] {
        let mut middlebox = middlebox(&TWO_CLASSES.replace("tradeoff:alpha=1", scheduler));
        (0..20).for_each(|k| put(&mut middlebox, us(0), &udp(5000 * (k % 2), 800)));
        (0..=10).for_each(|k| middlebox.advance(us(100 * k)));
        let left = out(&mut middlebox).len() as u64;
        middlebox.give_up(us(1000));
        let snapshot = middlebox.snapshot(us(1000));
        assert_eq!((snapshot.total.dropped["stopped"], snapshot.total.held, snapshot.unaccounted), (20 - left, 0, 0));
        assert_eq!(middlebox.pool.in_use(), 0, "{scheduler}");
    }
}
