//! The sender by the rules of ns-2, beside ns-2: when it sends what, and its window.
//!
//! `ns2/recorded.txt` is what ns-2 2.35 (Debian's `ns2`) printed for the scenarios of `ns2/scenarios.txt`, each by
//! `ns record.tcl` with one line of it as arguments. Where `ns` is installed the same is also done afresh.

mod common;

use std::path::Path;
use std::process::Command;

use common::{Fate, Link, Net};
use dovetail_tcp::{AckPolicy, Config, Length, Sender, Variant, from_fixed};
use dovetail_units::{Duration, Time};

const SCENARIOS: &str = include_str!("ns2/scenarios.txt");
const RECORDED: &str = include_str!("ns2/recorded.txt");

/// What a run printed.
#[derive(Default, Debug)]
struct Trace {
    arguments: String,
    /// Seconds and segment numbers.
    sent: Vec<(f64, u64)>,
    /// Seconds and windows.
    windows: Vec<(f64, f64)>,
}

fn parse(text: &str) -> Vec<Trace> {
    let mut traces: Vec<Trace> = Vec::new();
    for line in text.lines() {
        let (kind, rest) = line.split_once(' ').unwrap();
        if kind == "scenario" {
            traces.push(Trace { arguments: rest.to_owned(), ..Trace::default() });
            continue;
        }
        let trace = traces.last_mut().unwrap();
        let (at, value) = rest.split_once(' ').unwrap();
        match kind {
            "s" => trace.sent.push((at.parse().unwrap(), value.parse().unwrap())),
            "w" => trace.windows.push((at.parse().unwrap(), value.parse().unwrap())),
            _ => panic!("unknown line {line:?}"),
        }
    }
    traces
}

/// The scenario with our own ends, up to its end.
fn ours(arguments: &str) -> Net {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let variant = match words[1] {
        "Reno" => Variant::Reno,
        "Newreno" => Variant::NewReno,
        other => panic!("no agent {other:?}"),
    };
    let policy = match words[2] {
        "delayed" => AckPolicy::Delayed { timeout: Duration::from_millis(100) },
        _ => AckPolicy::EverySegment,
    };
    let ecn = words[3] == "1";
    let length = match words[4].parse().unwrap() {
        0 => Length::Infinite,
        n => Length::Segments(n),
    };
    // ns-2's limit is one more than may wait.
    let buffer = words[5].parse::<usize>().unwrap() - 1;
    let end: f64 = words[6].parse().unwrap();
    let packets: Vec<u64> = words[9..].iter().map(|word| word.parse().unwrap()).collect();
    let min_rto = Duration::from_micros((words[7].parse::<f64>().unwrap() * 1e6) as u64);
    let clock_phase = Duration::from_micros(words[8].parse().unwrap());
    let config = Config { ecn, length, min_rto, window_limit: 64, ..Config::ns2(variant, clock_phase) };
    let mut net = Net::new(config, policy);
    let delay = Duration::from_micros(10_003);
    net.forward = Link::new(1000, delay, buffer);
    net.backward = Link::new(1000, delay, 100_000);
    let fate = if ecn { Fate::Mark } else { Fate::Drop };
    net.judge = Box::new(move |n, _| if packets.contains(&n) { fate } else { Fate::Pass });
    net.run(Time::from_nanos((end * 1e9) as u64));
    net
}

/// The last window at each instant, to ns-2's five decimals.
fn settled(windows: impl Iterator<Item = (f64, f64)>) -> Vec<(i64, f64)> {
    let mut settled: Vec<(i64, f64)> = Vec::new();
    for (at, window) in windows {
        let at = (at * 1e5).round() as i64;
        match settled.last_mut() {
            Some(last) if last.0 == at => last.1 = window,
            _ => settled.push((at, window)),
        }
    }
    // ns-2 also prints a window that it takes back at once.
    settled.dedup_by(|later, earlier| later.1 == earlier.1);
    settled
}

/// Panics with the first difference.
fn assert_agrees(trace: &Trace) {
    let net = ours(&trace.arguments);
    let name = &trace.arguments;
    let sent: Vec<(f64, u64)> = net.sent.iter().map(|sent| (sent.at.as_secs_f64(), sent.segment.seq)).collect();
    for (k, (ours, theirs)) in sent.iter().zip(&trace.sent).enumerate() {
        // ns-2 adds times as floating-point numbers and prints 15 digits; all our times are whole nanoseconds.
        let same = ours.1 == theirs.1 && (ours.0 - theirs.0).abs() < 1e-9;
        assert!(same, "{name}: sending {k} is {ours:?}, in ns-2 {theirs:?}");
    }
    assert_eq!(sent.len(), trace.sent.len(), "{name}: segments sent");

    let ours = settled(net.windows.iter().map(|(at, window)| (at.as_secs_f64(), from_fixed(*window))));
    let theirs = settled(trace.windows.iter().copied());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        // Printed with three decimals; the time with five.
        let same = (ours.0 - theirs.0).abs() <= 1 && (ours.1 - theirs.1).abs() < 0.00051;
        assert!(same, "{name}: window {ours:?}, in ns-2 {theirs:?}");
    }
    assert_eq!(ours.len(), theirs.len(), "{name}: changes of the window");
}

#[test]
fn sends_what_ns2_sent_when_it_was_recorded() {
    let traces = parse(RECORDED);
    let recorded: Vec<&str> = traces.iter().map(|trace| trace.arguments.as_str()).collect();
    assert_eq!(recorded, SCENARIOS.lines().collect::<Vec<_>>(), "recorded.txt belongs to scenarios.txt");
    for trace in &traces {
        assert_agrees(trace);
    }
}

#[test]
#[ignore = "needs ns-2"]
fn sends_what_ns2_sends_here() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ns2/record.tcl");
    for scenario in SCENARIOS.lines() {
        let output = Command::new("ns")
            .arg(&script)
            .args(scenario.split_whitespace())
            .current_dir(env!("CARGO_TARGET_TMPDIR"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{scenario}: {}", String::from_utf8_lossy(&output.stderr));
        let traces = parse(&String::from_utf8(output.stdout).unwrap());
        assert_eq!(traces.len(), 1, "{scenario}");
        assert_agrees(&traces[0]);
    }
}

#[test]
fn the_rules_of_ns2_have_no_cubic() {
    let refused = Sender::new(Config::ns2(Variant::Cubic, Duration::ZERO)).unwrap_err();
    assert_eq!(refused.to_string(), "the rules of ns-2 are there for Reno and NewReno, not for CUBIC");
}
