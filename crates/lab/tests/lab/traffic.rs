//! Traffic is what was asked for, and what is measured is what happened. The kernel stands in the box: its bridge and router pass everything, its token bucket a known rate.

use crate::support::{lab, may_run, on_a_busy_machine, options, output, tcp, udp};
use dovetail_lab::traffic::{Ip, TcpFlow};
use dovetail_lab::{Forwarding, Lab, Options, Place, pause};
use dovetail_units::Duration;

fn bridged(name: &str) -> Lab {
    let lab = lab(name);
    lab.forward_by_kernel(Forwarding::Bridge).unwrap();
    lab
}

/// Let nothing but `rate` out of the box towards the server, with room for `limit` bytes in front.
fn limit(lab: &Lab, rate: &str, limit: &str) {
    let bucket = ["qdisc", "add", "dev", "server", "root", "tbf", "rate", rate, "burst", "2000", "limit", limit];
    output("tc", &[&["-n", &lab.namespace_name(Place::Box)][..], &bucket].concat());
}

#[test]
fn udp_comes_at_the_rate_and_in_the_size_it_was_asked_for() {
    if !may_run() {
        return;
    }
    on_a_busy_machine(|| {
        let lab = bridged("udp");
        let flows = [udp(5001, Ip::V4, 60, 2_000), udp(5001, Ip::V4, 800, 500), udp(5002, Ip::V6, 1_514, 1_000)];
        let mut run = lab.udp(&flows).unwrap();
        pause(Duration::from_millis(200));
        run.measure().unwrap();
        pause(Duration::from_secs(1));
        let report = run.measure().unwrap();
        for (k, (flow, got)) in flows.iter().zip(&report.flows).enumerate() {
            // A packet is sent, or given up 10 ms later. At either end of the window the sender may not have run for a while: 50 ms of 1 s.
            let due = flow.rate.as_pps() * report.window.as_secs_f64();
            let done = (got.sent + got.missed) as f64;
            assert!((done - due).abs() <= due * 0.05, "flow {k}: {done} frames for {due}");
            // What is on the way is at most what has not been asked for in those 50 ms.
            assert!(got.received.abs_diff(got.sent) as f64 <= due * 0.05, "flow {k}: {} of {}", got.received, got.sent);
            assert_eq!((got.lost, got.reordered, got.bytes), (0, 0, got.received * flow.frame.0), "flow {k}");
            assert_eq!(got.latency.len(), got.received);
        }
        assert_eq!(report.overrun, 0);
    });
}

/// Bytes and frames that have come to the box from the client.
fn received_by_the_box(lab: &Lab) -> (u64, u64) {
    let text = output("ip", &["-n", &lab.namespace_name(Place::Box), "-s", "-o", "link", "show", "client"]);
    let received = text.split("RX:").nth(1).unwrap().split('\\').nth(1).unwrap().to_string();
    let mut numbers = received.split_whitespace().map(|n| n.parse::<u64>().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[test]
fn frames_have_their_length_on_the_wire() {
    if !may_run() {
        return;
    }
    let lab = bridged("length");
    let length_of = |ip, frame| {
        let before = received_by_the_box(&lab);
        let run = lab.udp(&[udp(5001, ip, frame, 2_000)]).unwrap();
        pause(Duration::from_millis(200));
        run.stop();
        let after = received_by_the_box(&lab);
        assert!(after.1 > before.1);
        (after.0 - before.0, after.1 - before.1)
    };
    // The kernel tells its neighbours about multicast, in at most a few frames of 70 to 110 bytes. A byte too many or too few in each of ours would weigh more.
    let (bytes, frames) = length_of(Ip::V6, 80);
    assert!(bytes.abs_diff(80 * frames) < frames / 2, "{bytes} bytes in {frames} frames");
    output("ip", &["-n", &lab.namespace_name(Place::Client), "-6", "address", "flush", "dev", "eth0"]);
    let off = "echo 1 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6";
    output("ip", &["netns", "exec", &lab.namespace_name(Place::Client), "sh", "-c", off]);
    for frame in [60, 1_514] {
        let (bytes, frames) = length_of(Ip::V4, frame);
        assert_eq!(bytes, frame * frames);
    }
}

#[test]
fn loss_and_latency_are_those_of_a_token_bucket() {
    if !may_run() {
        return;
    }
    on_a_busy_machine(|| {
        let lab = bridged("bucket");
        // 1000 frames of 1000 bytes a second leave; 2000 come. Thirty fit in front.
        limit(&lab, "8mbit", "30000");
        let mut run = lab.udp(&[udp(5001, Ip::V4, 1_000, 2_000)]).unwrap();
        pause(Duration::from_millis(200));
        run.measure().unwrap();
        pause(Duration::from_secs(1));
        let report = run.measure().unwrap();
        let (flow, window) = (&report.flows[0], report.window.as_secs_f64());
        // The queue holds 30 ms: if the sender rests for less, the link never does. Both ends of the window are known to 5 %, as above.
        let rate = report.rate(0).unwrap().as_bps() as f64;
        assert!((rate - 8e6).abs() <= 8e6 * 0.05, "{rate}");
        let lost = flow.lost as f64 / (flow.received as f64 + flow.lost as f64);
        assert!((lost - 0.5).abs() <= 0.05 || flow.missed > 0, "{lost} lost in {window} s");
        // A frame that comes into the full queue waits for the 29 or 30 before it, and its own; later if the receiver does not run at once.
        let median = flow.latency.value_at_quantile(0.5);
        assert!((28_000_000..=36_000_000).contains(&median), "{median} ns");
        assert_eq!(flow.reordered, 0);
    });
}

#[test]
fn tcp_gets_through_with_and_without_ecn() {
    if !may_run() {
        return;
    }
    on_a_busy_machine(|| {
        for ecn in [true, false] {
            let lab = Lab::up(&Options { ecn, ..options("tcp") }).unwrap();
            lab.forward_by_kernel(Forwarding::Bridge).unwrap();
            let cubic = TcpFlow { congestion_control: Some("cubic".into()), mss: Some(500), ..tcp(5002, Ip::V4) };
            let mut run = lab.tcp(&[tcp(5001, Ip::V4), cubic, tcp(5001, Ip::V6)]).unwrap();
            run.wait_connected(Duration::from_secs(30)).unwrap();
            pause(Duration::from_millis(100));
            run.measure().unwrap();
            pause(Duration::from_millis(300));
            let report = run.measure().unwrap();
            for (k, flow) in report.flows.iter().enumerate() {
                assert!(flow.bytes > 0 && flow.congestion_window > 0 && flow.rtt > Duration::ZERO, "{flow:?}");
                assert_eq!(flow.ecn, ecn);
                assert!(report.goodput(k).is_some());
            }
            assert_eq!(report.marked, 0);
            let (bytes, frames) = received_by_the_box(&lab);
            assert!(
                bytes / frames <= 1_514,
                "frames of {} bytes: the client's kernel does not cut into segments",
                bytes / frames
            );
        }
    });
}

#[test]
fn goodput_is_what_a_token_bucket_leaves_of_its_rate() {
    if !may_run() {
        return;
    }
    on_a_busy_machine(|| {
        let lab = bridged("goodput");
        limit(&lab, "20mbit", "60000");
        let mut run = lab.tcp(&[tcp(5001, Ip::V4), tcp(5002, Ip::V4)]).unwrap();
        run.wait_connected(Duration::from_secs(30)).unwrap();
        pause(Duration::from_millis(700));
        run.measure().unwrap();
        pause(Duration::from_secs(1));
        let report = run.measure().unwrap();
        // A frame of 1514 bytes carries 1448. The bucket is never idle: the queue holds more than the windows that are left after a loss, for round trips below
        // a millisecond. What waits for a missing segment, up to a queue of 60 kB, may be read in another window: 2.4 % of a second. And as above, 5 %.
        let sum = report.flows.iter().map(|f| f.bytes as f64 * 8.0).sum::<f64>() / report.window.as_secs_f64();
        let expected = 20e6 * 1448.0 / 1514.0;
        assert!((sum - expected).abs() <= expected * 0.075, "{sum} instead of {expected}");
        assert!(
            report.flows.iter().all(|f| f.rtt > Duration::from_millis(5)),
            "the queue does not show in the round trip"
        );
        assert!(
            report.flows.iter().any(|f| f.retransmitted > 0),
            "nothing was lost where nothing else slows a sender down"
        );
    });
}

#[test]
fn a_connection_that_cannot_be_is_an_error() {
    if !may_run() {
        return;
    }
    let lab = bridged("errors");
    let flow = TcpFlow { congestion_control: Some("nonesuch".into()), ..tcp(5001, Ip::V4) };
    let error = lab.tcp(&[flow]).unwrap().wait_connected(Duration::from_secs(30)).unwrap_err().to_string();
    assert!(
        error.starts_with("the TCP flow \"5001\" to port 5001: cannot use the congestion control \"nonesuch\""),
        "{error}"
    );
    let error = lab.udp(&[udp(5001, Ip::V6, 79, 1)]).unwrap_err().to_string();
    assert_eq!(error, "frames of 79 B for the UDP flow \"5001\": expected 80 B to 65549 B");
    let first = lab.udp(&[udp(5001, Ip::V4, 100, 1)]).unwrap();
    let error = lab.udp(&[udp(5001, Ip::V4, 100, 1)]).unwrap_err().to_string();
    assert!(error.starts_with("cannot receive UDP at 10.99.0.2:5001"), "{error}");
    first.stop();
}

#[test]
fn two_labs_do_not_see_each_other() {
    if !may_run() {
        return;
    }
    on_a_busy_machine(|| {
        let (one, other) = (bridged("one"), bridged("other"));
        let mut runs = [&one, &other].map(|lab| lab.udp(&[udp(5001, Ip::V4, 100, 1_000)]).unwrap());
        pause(Duration::from_millis(200));
        for run in &mut runs {
            let report = run.measure().unwrap();
            assert!(report.flows[0].received > 0 && report.flows[0].lost == 0);
            assert!(report.flows[0].received <= report.flows[0].sent);
        }
    });
}

#[test]
fn the_kernel_routes_both_versions_of_ip() {
    if !may_run() {
        return;
    }
    on_a_busy_machine(|| {
        let lab = lab("router");
        lab.forward_by_kernel(Forwarding::Router).unwrap();
        let mut run = lab.udp(&[udp(5001, Ip::V4, 100, 1_000), udp(5001, Ip::V6, 100, 1_000)]).unwrap();
        pause(Duration::from_millis(200));
        let report = run.measure().unwrap();
        assert!(report.flows.iter().all(|flow| flow.received > 0 && flow.lost == 0), "{report:?}");
    });
}

#[test]
fn a_probe_tells_whether_anything_gets_through() {
    if !may_run() {
        return;
    }
    let lab = lab("probe");
    assert!(!lab.gets_through(Duration::from_millis(20)).unwrap(), "through a box in which nothing forwards");
    lab.forward_by_kernel(Forwarding::Bridge).unwrap();
    assert!(lab.gets_through(Duration::from_secs(30)).unwrap());
}
