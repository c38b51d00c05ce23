//! A box with a third resource between CPU and link.

use dovetail_dataplane::config::Config;
use dovetail_dataplane::core::{Middlebox, QueueSnapshot, Setup};

use crate::support::{middlebox, out, put, udp, us};

/// 800 B take 100 us on the link. Which class needs which resource most stands in its name.
const THREE: &str = r#"
scheduler = "SCHEDULER"
[[resource]]
name = "crypto"
[link]
rate = "64 Mbps"
[[class]]
name = "processing"
match = [{ protocol = "udp", dport = "1000-1999" }]
cost = { cpu = "300 us" }
[[class]]
name = "encryption"
match = [{ protocol = "udp", dport = "2000-2999" }]
cost = { cpu = "50 us", crypto = "400 us" }
[[class]]
name = "forwarding"
cost = "10 us"
"#;

fn with(scheduler: &str) -> String {
    THREE.replace("SCHEDULER", scheduler)
}

#[test]
fn a_frame_occupies_all_three_one_after_another() {
    let mut middlebox = middlebox(&with("drfq"));
    put(&mut middlebox, us(0), &udp(2000, 800));
    middlebox.advance(us(0));
    let mut at = Vec::new();
    while let Some(next) = middlebox.next_event() {
        at.push(next);
        middlebox.advance(next);
    }
    assert_eq!(at, [us(50), us(450), us(550)]);
    assert_eq!(out(&mut middlebox), [2000]);
    let snapshot = middlebox.snapshot(us(550));
    let QueueSnapshot { cpu_s, link_s, third_s, .. } = snapshot.total;
    assert_eq!((cpu_s, third_s, link_s), (50e-6, Some(400e-6), 100e-6));
    assert_eq!((snapshot.third(), snapshot.resources["crypto"].busy_s), (Some("crypto"), 400e-6));
}

/// What needs nothing there goes straight to the link.
#[test]
fn who_does_not_need_it_does_not_wait_for_it() {
    let mut middlebox = middlebox(&with("fifo"));
    put(&mut middlebox, us(0), &udp(2000, 800));
    put(&mut middlebox, us(0), &udp(3000, 800));
    middlebox.advance(us(0));
    middlebox.advance(us(160));
    assert_eq!(out(&mut middlebox), [3000]);
    middlebox.advance(us(550));
    assert_eq!(out(&mut middlebox), [2000]);
}

/// What the box is to be like after a reload.
fn setup(text: &str) -> Setup {
    let ports = "[ports]\nin = \"packet:a\"\nout = \"packet:b\"\n[link]";
    Config::parse("box.toml", &text.replacen("[link]", ports, 1), &[]).unwrap().setup().unwrap()
}

/// Half a second in which all flows have always 20 frames in the box.
fn kept_busy(scheduler: &str) -> Middlebox {
    let mut middlebox = middlebox(&with(scheduler));
    let mut inside = [0; 3];
    for k in 0..10_000 {
        let now = us(50 * k);
        middlebox.advance(now);
        out(&mut middlebox).into_iter().for_each(|port| inside[usize::from(port / 1000 - 1)] -= 1);
        for (inside, port) in inside.iter_mut().zip([1000, 2000, 3000]) {
            (*inside..20).for_each(|_| put(&mut middlebox, now, &udp(port, 800)));
            *inside = 20;
        }
    }
    middlebox
}

/// The parts of CPU, third resource and link that each class has then.
fn shares(scheduler: &str) -> [[f64; 3]; 3] {
    let snapshot = kept_busy(scheduler).snapshot(us(500_000));
    assert_eq!(snapshot.unaccounted, 0);
    let of = |frames: &QueueSnapshot| [frames.cpu_s, frames.third_s.unwrap(), frames.link_s].map(|time| time / 0.5);
    [0, 1, 2].map(|class| of(&snapshot.classes[class].frames))
}

/// By hand: with a dominant share of d each, the CPU has d + d/8 + d/10, crypto d, and the link d/3 + d/4 + d. The link
/// is full first, at d = 12/19. A composition shares each resource by itself instead, and its flows are alike on the
/// link.
#[test]
fn flows_that_need_different_resources_have_equal_dominant_shares() {
    let fair = 12.0 / 19.0;
    for scheduler in ["drfq", "tradeoff:alpha=1", "drgps", "mr3", "gmr3"] {
        let shares = shares(scheduler);
        // Half a second is 789 packets of the one that takes longest; a round of MR3 and GMR3 takes a few of each.
        let far = |class: usize| (shares[class][class] / fair - 1.0).abs() > 0.02;
        assert!(!(0..3).any(far), "{scheduler}: {shares:?}");
    }
    let shares = shares("drr+drr+drr");
    assert!(shares.map(|times| times[2]).iter().sum::<f64>() > 0.99, "{shares:?}");
    assert!((shares[0][0] / fair - 1.0).abs() > 0.1, "{shares:?}");
}

/// 200 frames, of which every other one goes past those in the third resource, need nothing but the link for long.
#[test]
fn the_link_has_no_pause_when_frames_go_past_the_third_resource() {
    let cheap = with("tradeoff").replace("400 us", "40 us").replace("cpu = \"50 us\"", "cpu = \"1 us\"");
    let mut middlebox = middlebox(&cheap.replace("cost = \"10 us\"", "cost = \"1 us\""));
    (0..200)
        .for_each(|k| put(&mut middlebox, us(0), &udp(2000 + k % 2 * 1000 + k % 20, 200 + 100 * usize::from(k % 7))));
    middlebox.advance(us(0));
    let mut now = us(0);
    while let Some(next) = middlebox.next_event() {
        now = next;
        middlebox.advance(now);
    }
    let snapshot = middlebox.snapshot(now);
    assert_eq!(out(&mut middlebox).len(), 200);
    // The link begins when the first frame has passed the others.
    let idle = now.since(us(0)).as_secs_f64() - snapshot.total.link_s;
    assert!(idle < 100e-6, "{idle}");
}

/// Two frames wait in front of it and one is on it, then the next one keeps the CPU; or is lost.
#[test]
fn its_full_buffer_keeps_the_cpu_or_loses_the_frame() {
    let run = |config: &str| {
        let mut middlebox = middlebox(config);
        (0..10).for_each(|flow| put(&mut middlebox, us(0), &udp(2000 + flow, 800)));
        // All that waits in front of the CPU, and then passes it.
        middlebox.advance(us(0));
        middlebox.advance(us(1_000));
        let waiting = middlebox.snapshot(us(1_000)).resources["crypto"].waiting;
        middlebox.advance(us(9_000));
        (waiting, out(&mut middlebox).len(), middlebox.snapshot(us(9_000)).total)
    };
    let small = with("fifo").replace("name = \"crypto\"", "name = \"crypto\"\nbuffer = \"2 packets\"");
    let (waiting, left, total) = run(&small);
    assert_eq!((waiting, left, total.dropped.len()), (2, 10, 0));
    let (_, left, total) = run(&small.replace("buffer", "overflow = \"drop\"\nbuffer"));
    assert_eq!((left as u64 + total.dropped["resource-buffer"], total.held), (10, 0));
    assert!(left < 6, "{left}");
}

#[test]
fn a_target_may_name_it_and_the_snapshot_does() {
    let middlebox = kept_busy("tradeoff:alpha=0.2,target=crypto 90 %");
    let shown = serde_json::to_string(&middlebox.snapshot(us(500_000)).steering).unwrap();
    assert!(shown.contains("\"resource\":\"crypto\""), "{shown}");
}

#[test]
fn every_frame_is_sent_dropped_or_held_when_the_scheduler_changes_on_the_way() {
    let mut middlebox = middlebox(&with("drfq"));
    let mut left = 0;
    for k in 0..2_000_u64 {
        let now = us(40 * k);
        put(&mut middlebox, now, &udp([1000, 2000, 2001, 3000][k as usize % 4], 100 + (k % 7) as usize * 100));
        middlebox.advance(now);
        if k % 300 == 299 {
            let scheduler = ["tradeoff:alpha=0.5", "drr+drr+drr", "drfq"][(k / 300) as usize % 3];
            middlebox.reload(now, setup(&with(scheduler))).unwrap();
        }
        left += out(&mut middlebox).len() as u64;
        let total = middlebox.snapshot_of(now, 0).total;
        assert_eq!((middlebox.missing(), total.frames_in), (0, k + 1));
        assert_eq!(total.frames_in, left + total.dropped.values().sum::<u64>() + total.held);
    }
    (0..4_000).for_each(|k| middlebox.advance(us(80_000 + 100 * k)));
    out(&mut middlebox);
    assert_eq!((middlebox.held(), middlebox.pool.in_use()), (0, 0));
    let without = with("drfq").replace("[[resource]]\nname = \"crypto\"\n", "").replace(", crypto = \"400 us\"", "");
    let refused = middlebox.reload(us(600_000), setup(&without)).unwrap_err().to_string();
    assert!(refused.contains("cannot change while the box runs"), "{refused}");
}

/// A frame that needs 400 us of it waits there, and the next ones of its flow need nothing any more.
#[test]
fn no_frame_overtakes_one_of_its_flow_when_a_reload_takes_the_cost_away() {
    let mut middlebox = middlebox(&with("fifo"));
    let sizes = [800, 801, 802, 803, 804];
    let mut came = sizes.iter();
    came.by_ref().take(3).for_each(|&size| put(&mut middlebox, us(0), &udp(2000, size)));
    (0..200).for_each(|us_| middlebox.advance(us(us_)));
    middlebox.reload(us(200), setup(&with("fifo").replace("crypto = \"400 us\"", "crypto = \"0 us\""))).unwrap();
    came.for_each(|&size| put(&mut middlebox, us(200), &udp(2000, size)));
    (200..3_000).for_each(|us_| middlebox.advance(us(us_)));
    let left: Vec<usize> = middlebox.outgoing.iter().map(|frame| frame.len()).collect();
    assert_eq!(left, sizes);
}

fn wrong(text: &str) -> String {
    let ports = "[ports]\nin = \"packet:a\"\nout = \"packet:b\"\n[[resource]]";
    Config::parse("box.toml", &text.replacen("[[resource]]", ports, 1), &[]).unwrap_err().to_string()
}

#[test]
fn what_is_wrong_with_resources_is_said_where_it_stands() {
    let three = with("drfq");
    let cases = [
        (three.replace("\"crypto\"", "\"cpu\""), "\"cpu\": every box has it"),
        (three.replace("\"crypto\"", "\"AES card\""), "expected a name of letters"),
        (three.replace("crypto = \"400", "crypt = \"400"), "no resource \"crypt\""),
        (three.replace("crypto = \"400", "link = \"400"), "follows from its rate"),
        (three.replace("\"400 us\"", "\"400\""), "400"),
        (three.replace("{ cpu = \"300 us\" }", "{}"), "expected a time of some resource"),
        (three.replace("[link]", "[[resource]]\nname = \"memory\"\n[link]"), "at most one resource beside"),
        (with("drq"), "manages the queues of a CPU and a link"),
        (with("drr+drr"), "this pipeline has 3"),
    ];
    for (text, expected) in cases {
        let message = wrong(&text);
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

/// A buffer of one frame for each flow in front of every resource, whether a flow needs the third or not.
#[test]
fn a_composition_may_hold_what_finds_no_room() {
    for port in [2000, 3000] {
        let mut middlebox: Middlebox = middlebox(&with("drr+drr+drr:buffer=1,full=hold"));
        (0..30).for_each(|k| put(&mut middlebox, us(0), &udp(port + k % 3, 800)));
        (0..200).for_each(|k| middlebox.advance(us(100 * k)));
        let total = middlebox.snapshot(us(20_000)).total;
        assert_eq!((total.frames_out, total.dropped.len()), (30, 0), "{port}");
    }
}
