//! Traffic is what was asked for, and what is measured is what happened. The kernel stands in the box: its bridge and
//! router pass everything, its token bucket a known rate.

use crate::support::{comes_true, lab, options, output, stay_on_one_core, tcp, udp};
use dovetail_lab::traffic::{Ip, TcpFlow, UdpReport, UdpRun};
use dovetail_lab::{Forwarding, Lab, Neighbours, Offloads, Options, Place};
use dovetail_units::Duration;

fn bridged(name: &str) -> Lab {
    let lab = lab(name);
    lab.forward_by_kernel(Forwarding::Bridge).unwrap();
    lab
}

/// The same with nothing on the wire but traffic, where frames are counted.
fn bridged_and_quiet(name: &str) -> Lab {
    let quiet = Options { neighbours: Neighbours::Known, offloads: Offloads::Off, ..options(name) };
    let lab = Lab::up(&quiet).unwrap();
    lab.forward_by_kernel(Forwarding::Bridge).unwrap();
    lab
}

/// Let nothing but `rate` out of the box towards the server, with room for `limit` bytes in front.
fn limit(lab: &Lab, rate: &str, limit: &str) {
    let bucket = ["qdisc", "add", "dev", "server", "root", "tbf", "rate", rate, "burst", "2000", "limit", limit];
    output("tc", &[&["-n", &lab.namespace_name(Place::Box)][..], &bucket].concat());
}

/// What has become of a flow since the run began.
#[derive(Clone, Default, Debug)]
struct Total {
    sent: u64,
    missed: u64,
    received: u64,
    lost: i64,
    reordered: u64,
    bytes: u64,
}

/// Measure until `right` says nothing is wrong, with what has become of each flow since the run began and with the last
/// window. In real time a machine that is busy takes anybody off its core for any while; a rate is therefore a matter
/// of how much has come when it can be told, and never of a window.
fn udp_comes_to(run: &mut UdpRun<'_>, mut right: impl FnMut(&[Total], &UdpReport) -> Result<(), String>) {
    let mut total: Vec<Total> = Vec::new();
    comes_true(|| {
        let report = run.measure().unwrap();
        total.resize(report.flows.len(), Total::default());
        for (total, flow) in total.iter_mut().zip(&report.flows) {
            assert_eq!(flow.latency.len(), flow.received);
            total.sent += flow.sent;
            total.missed += flow.missed;
            total.received += flow.received;
            total.lost += flow.lost;
            total.reordered += flow.reordered;
            total.bytes += flow.bytes;
        }
        right(&total, &report)
    });
}

#[test]
#[ignore = "needs root"]
fn udp_comes_at_the_rate_and_in_the_size_it_was_asked_for() {
    stay_on_one_core();
    let lab = bridged("udp");
    let flows = [udp(5001, Ip::V4, 60, 2_000), udp(5001, Ip::V4, 800, 500), udp(5002, Ip::V6, 1_514, 1_000)];
    let mut run = lab.udp(&flows).unwrap();
    let mut time = 0.0;
    udp_comes_to(&mut run, |total, report| {
        time += report.window.as_secs_f64();
        for (k, (flow, got)) in flows.iter().zip(total).enumerate() {
            let due = flow.rate.as_pps() * time;
            // Each packet is sent or given up, unless its sender is off its core just now.
            let done = (got.sent + got.missed) as f64;
            if time < 0.5 || (done - due).abs() > due * 0.05 || got.received.abs_diff(got.sent) as f64 > due * 0.05 {
                return Err(format!("flow {k}: {got:?} for {due} frames"));
            }
            assert_eq!((got.lost, got.reordered, got.bytes), (0, 0, got.received * flow.frame.0), "flow {k}");
        }
        Ok(())
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
#[ignore = "needs root"]
fn frames_have_their_length_on_the_wire() {
    let lab = bridged_and_quiet("length");
    let length_of = |ip, frame| {
        let before = received_by_the_box(&lab);
        let run = lab.udp(&[udp(5001, ip, frame, 2_000)]).unwrap();
        let enough = |frames: u64| if frames >= 400 { Ok(()) } else { Err(format!("{frames} frames")) };
        comes_true(|| enough(received_by_the_box(&lab).1 - before.1));
        run.stop();
        let after = received_by_the_box(&lab);
        (after.0 - before.0, after.1 - before.1)
    };
    // The kernel tells its neighbours about multicast, in at most a few frames of 70 to 110 bytes. A byte too many or
    // too few in each of ours would weigh more.
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

/// What the token bucket towards the server tells of itself: bytes and packets it let out, and packets it dropped.
fn bucket(lab: &Lab) -> [u64; 3] {
    let text = output("tc", &["-n", &lab.namespace_name(Place::Box), "-s", "qdisc", "show", "dev", "server"]);
    let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let number = |word: &str, offset: isize| -> u64 {
        let at = words.iter().position(|&w| w == word).unwrap_or_else(|| panic!("{word} is missing in {text}"));
        words[at.strict_add_signed(offset)].parse().unwrap()
    };
    [number("Sent", 1), number("pkt", -1), number("dropped", 1)]
}

/// Whether two counts of the same agree to 5 %.
fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= one.max(other) * 0.05
}

#[test]
#[ignore = "needs root"]
fn loss_and_latency_are_those_of_a_token_bucket() {
    stay_on_one_core();
    let lab = bridged_and_quiet("bucket");
    // 1000 frames of 1000 bytes a second leave, or fewer if the kernel is late; 2000 come. Thirty fit in front.
    limit(&lab, "8mbit", "30000");
    let mut run = lab.udp(&[udp(5001, Ip::V4, 1_000, 2_000)]).unwrap();
    let mut time = 0.0;
    udp_comes_to(&mut run, |total, report| {
        let (total, flow, window) = (&total[0], &report.flows[0], report.window.as_secs_f64());
        time += window;
        let [_, out, dropped] = bucket(&lab);
        // Thirty frames are on the way at most, and as many losses not known yet.
        let wrong =
            |what: &str| Err(format!("{what}: {total:?} in {time} s; the kernel let {out} out and dropped {dropped}"));
        if dropped < 500 || !near(total.received as f64, out as f64) || !near(total.lost as f64, dropped as f64) {
            return wrong("not what the kernel counts");
        }
        // A bucket is never faster than its rate, but for its two frames at first.
        if total.bytes as f64 * 8.0 > 8e6 * time * 1.05 {
            return wrong("more than the rate");
        }
        // A frame that comes into the full queue waits for the 29 or 30 before it. By Little's law at most 30 wait on
        // average, whatever the rate was; 20 % for what waits elsewhere.
        let median = flow.latency.value_at_quantile(0.5) as f64 / 1e9;
        if median < 0.028 || flow.latency.mean() / 1e9 * (flow.received as f64 / window) > 30.0 * 1.2 {
            return wrong(&format!("a median of {median} s and a mean of {} ns", flow.latency.mean()));
        }
        assert_eq!(total.reordered, 0);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn tcp_gets_through_with_and_without_ecn() {
    for ecn in [true, false] {
        let lab = Lab::up(&Options { ecn, ..options("tcp") }).unwrap();
        lab.forward_by_kernel(Forwarding::Bridge).unwrap();
        let cubic = TcpFlow { congestion_control: Some("cubic".into()), mss: Some(500), ..tcp(5002, Ip::V4) };
        let mut run = lab.tcp(&[tcp(5001, Ip::V4), cubic, tcp(5001, Ip::V6)]).unwrap();
        run.wait_connected(Duration::from_secs(30)).unwrap();
        comes_true(|| {
            let report = run.measure().unwrap();
            assert_eq!(report.marked, 0);
            for flow in &report.flows {
                assert!(flow.congestion_window > 0 && flow.rtt > Duration::ZERO, "{flow:?}");
                assert_eq!(flow.ecn, ecn);
            }
            if report.flows.iter().all(|flow| flow.bytes > 0) { Ok(()) } else { Err(format!("{report:?}")) }
        });
        let (bytes, frames) = received_by_the_box(&lab);
        assert!(
            bytes / frames <= 1_514,
            "frames of {} bytes: the client's kernel does not cut into segments",
            bytes / frames
        );
    }
}

#[test]
#[ignore = "needs root"]
fn goodput_is_what_a_token_bucket_leaves_of_its_rate() {
    let lab = bridged("goodput");
    limit(&lab, "20mbit", "60000");
    let mut run = lab.tcp(&[tcp(5001, Ip::V4), tcp(5002, Ip::V4)]).unwrap();
    run.wait_connected(Duration::from_secs(30)).unwrap();
    let (mut time, mut bytes, mut lost) = (0.0, 0, 0);
    comes_true(|| {
        let report = run.measure().unwrap();
        let [out, _, dropped] = bucket(&lab);
        time += report.window.as_secs_f64();
        bytes += report.flows.iter().map(|flow| flow.bytes).sum::<u64>();
        lost += report.flows.iter().map(|flow| flow.retransmitted).sum::<u64>();
        let told = format!("{bytes} bytes of {out} that left, {lost} segments again of {dropped} dropped: {report:?}");
        // A frame of 1514 bytes carries 1448. What waits for a missing segment, up to a queue of 60 kB, has left and is
        // not read yet: 3 % of 2 MB.
        if out < 2_000_000 || !near(bytes as f64, out as f64 * 1448.0 / 1514.0) {
            return Err(told);
        }
        assert!(bytes as f64 * 8.0 <= 20e6 * 1448.0 / 1514.0 * time * 1.05, "more than the rate in {time} s: {told}");
        // Both stand in one queue, most of the time 6 to 24 ms long; and nothing else slows a sender down than a loss.
        let waits = report.flows.iter().all(|flow| flow.rtt > Duration::from_millis(5));
        if waits && dropped > 0 && lost >= dropped { Ok(()) } else { Err(told) }
    });
}

#[test]
#[ignore = "needs root"]
fn a_connection_that_cannot_be_is_an_error() {
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

/// Packets come of each flow, and none is lost.
fn udp_gets_through(run: &mut UdpRun<'_>) {
    udp_comes_to(run, |total, _| {
        assert!(total.iter().all(|flow| flow.lost == 0), "{total:?}");
        if total.iter().all(|flow| flow.received > 0) { Ok(()) } else { Err(format!("{total:?}")) }
    });
}

#[test]
#[ignore = "needs root"]
fn two_labs_do_not_see_each_other() {
    let (one, other) = (bridged("one"), bridged("other"));
    let mut runs = [&one, &other].map(|lab| lab.udp(&[udp(5001, Ip::V4, 100, 1_000)]).unwrap());
    runs.iter_mut().for_each(udp_gets_through);
}

#[test]
#[ignore = "needs root"]
fn the_kernel_routes_both_versions_of_ip() {
    let lab = lab("router");
    lab.forward_by_kernel(Forwarding::Router).unwrap();
    udp_gets_through(&mut lab.udp(&[udp(5001, Ip::V4, 100, 1_000), udp(5001, Ip::V6, 100, 1_000)]).unwrap());
}

#[test]
#[ignore = "needs root"]
fn a_probe_tells_whether_anything_gets_through() {
    let lab = lab("probe");
    assert!(!lab.gets_through(Duration::from_millis(20)).unwrap(), "through a box in which nothing forwards");
    lab.forward_by_kernel(Forwarding::Bridge).unwrap();
    assert!(lab.gets_through(Duration::from_secs(30)).unwrap());
}
