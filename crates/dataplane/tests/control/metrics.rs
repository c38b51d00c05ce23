//! Metrics: a scrape has what the snapshot has.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use dovetail_dataplane::core::PortSnapshot;
use dovetail_dataplane::metrics::{self, Metrics};
use dovetail_dataplane::port::LinkState;
use dovetail_units::Time;

use crate::support::{CONFIG, Running, parse, with_modules, with_traffic};

fn get(metrics: &Metrics, path: &str) -> String {
    http(metrics, "GET", path)
}

fn http(metrics: &Metrics, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(metrics.address().unwrap()).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: box\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Names with labels, and values, of an exposition in the OpenMetrics text format.
fn samples(text: &str) -> Vec<(&str, f64)> {
    assert!(text.ends_with("# EOF\n"), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once(' ').map(|(name, value)| (name, value.parse().unwrap())).unwrap()).collect()
}

#[test]
fn a_scrape_has_what_the_snapshot_has() {
    let snapshot = with_traffic(300).snapshot(Time::from_nanos(1_000_050_000));
    let running = Running::start(|| with_traffic(300));
    let metrics = Metrics::serve(TcpListener::bind("127.0.0.1:0").unwrap(), running.counter.clone()).unwrap();
    let scrape = get(&metrics, "/metrics");
    let (head, body) = scrape.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/openmetrics-text"), "{head}");
    let samples = samples(body);
    let value = |name: &str| {
        let found = samples.iter().find(|(sample, _)| *sample == name);
        found.unwrap_or_else(|| panic!("{name} is missing in\n{body}")).1
    };
    let [dear, cheap] = [0, 1].map(|i| &snapshot.classes[i].frames);
    assert_eq!(value("dovetail_received_frames_total{class=\"dear\"}"), dear.frames_in as f64);
    assert_eq!(value("dovetail_received_bytes_total{class=\"cheap\"}"), cheap.bytes_in as f64);
    assert_eq!(value("dovetail_processed_frames_total{class=\"dear\"}"), dear.frames_processed as f64);
    assert_eq!(value("dovetail_cpu_seconds_total{class=\"dear\"}"), dear.cpu_s);
    assert_eq!(value("dovetail_busy_seconds_total{resource=\"cpu\"}"), snapshot.total.cpu_s);
    assert_eq!(value("dovetail_flows{class=\"cheap\"}"), 300.0);
    assert_eq!(value("dovetail_held_frames{class=\"dear\"}"), dear.held as f64);
    assert_eq!(value("dovetail_flow_weight{class=\"dear\"}"), 1.0);
    let (reason, &count) = dear.dropped.first_key_value().unwrap();
    let dropped = format!("dovetail_dropped_frames_total{{class=\"dear\",reason=\"{reason}\"}}");
    assert_eq!(value(&dropped), count as f64);
    assert!(get(&metrics, "/").starts_with("HTTP/1.1 404"));
}

#[test]
fn a_query_and_head_are_answered_as_get_is_and_other_methods_are_told_so() {
    let running = Running::start(|| with_traffic(3));
    let metrics = Metrics::serve(TcpListener::bind("127.0.0.1:0").unwrap(), running.counter.clone()).unwrap();
    let scrape = get(&metrics, "/metrics?x=1&y=/");
    let (head, body) = scrape.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && body.ends_with("# EOF\n"), "{scrape}");
    let head_only = http(&metrics, "HEAD", "/metrics");
    let (head, body) = head_only.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/openmetrics-text"), "{head}");
    assert_eq!(body, "");
    let other = http(&metrics, "POST", "/metrics");
    assert!(other.starts_with("HTTP/1.1 405") && other.contains("\r\nAllow: GET, HEAD\r\n"), "{other}");
    for missing in ["/metrics/", "/metrics2", "/?/metrics"] {
        assert!(get(&metrics, missing).starts_with("HTTP/1.1 404"), "{missing}");
    }
}

#[test]
fn the_number_of_metrics_does_not_depend_on_the_number_of_flows() {
    let lines = |flows| metrics::text(with_traffic(flows).snapshot(Time::from_nanos(1_000_050_000))).lines().count();
    assert_eq!(lines(3), lines(300));
}

#[test]
fn metrics_are_for_this_machine_unless_the_configuration_says_otherwise() {
    let with = |metrics: &str| parse(&CONFIG.replace("[cpu]", &format!("[metrics]\n{metrics}\n[cpu]")));
    assert!(with("listen = \"127.0.0.1:9100\"").is_ok());
    assert!(with("listen = \"[::1]:9100\"").is_ok());
    let message = with("listen = \"0.0.0.0:9100\"").unwrap_err();
    assert!(message.contains("other machines reach this address") && message.contains("remote = true"), "{message}");
    assert!(with("listen = \"0.0.0.0:9100\"\nremote = true").is_ok());
    assert!(with("listen = \"9100\"").is_err());
}

#[test]
fn metrics_have_what_modules_have_counted() {
    let text = metrics::text(with_modules().snapshot_of(Time::from_nanos(1_001_000_000), 0));
    let samples = samples(&text);
    assert!(samples.contains(&("dovetail_module{module=\"ids\",kind=\"match\",count=\"alerts\"}", 3.0)), "{text}");
    assert!(samples.contains(&("dovetail_module{module=\"seen\",kind=\"monitor\",count=\"bytes\"}", 2400.0)), "{text}");
}

#[test]
fn metrics_tell_how_late_frames_leave() {
    let snapshot = with_modules().snapshot_of(Time::from_nanos(1_001_000_000), 0);
    let (late, left) = (snapshot.late_s, snapshot.total.frames_out);
    let text = metrics::text(snapshot);
    let value = |name: &str| samples(&text).iter().find(|(sample, _)| *sample == name).unwrap().1;
    // They were due within a millisecond, at the end of which somebody looked.
    assert!(left == 3 && late.max > 0.0 && late.sum > late.max, "{late:?}");
    assert_eq!(value("dovetail_late_max_seconds"), late.max);
    assert_eq!(value("dovetail_late_seconds_total"), late.sum);
}

#[test]
fn metrics_tell_what_ports_lose_and_whether_their_links_are_up() {
    let mut snapshot = with_modules().snapshot_of(Time::from_nanos(1_001_000_000), 0);
    let port = PortSnapshot {
        name: "eth0".into(),
        link: Some(LinkState::NoCarrier),
        received: 10,
        missed: 2,
        oversize: 3,
        sent: 4,
        unsent: 15,
        too_long: 1,
        down: 2,
        full: 3,
        short: 4,
        held: 0,
    };
    snapshot.ports =
        [("in".to_string(), port.clone()), ("out".to_string(), PortSnapshot { link: None, ..port })].into();
    (snapshot.outgoing, snapshot.unaccounted) = (7, -1);
    let text = metrics::text(snapshot);
    let value = |name: &str| samples(&text).iter().find(|(sample, _)| *sample == name).map(|(_, value)| *value);
    for (name, expected) in [
        ("missed_frames_total{port=\"in\"}", 2.0),
        ("oversize_frames_total{port=\"out\"}", 3.0),
        ("unsent_frames_total{port=\"in\",reason=\"too-long\"}", 1.0),
        ("unsent_frames_total{port=\"in\",reason=\"other\"}", 5.0),
        ("up{port=\"in\"}", 0.0),
    ] {
        assert_eq!(value(&format!("dovetail_port_{name}")), Some(expected), "{name}\n{text}");
    }
    assert_eq!(value("dovetail_port_up{port=\"out\"}"), None, "a capture has no link");
    assert_eq!(value("dovetail_outgoing_frames"), Some(7.0));
    assert_eq!(value("dovetail_unaccounted_frames"), Some(-1.0));
}
