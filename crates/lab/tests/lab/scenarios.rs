//! Scenarios are read, checked, and become traffic.

use dovetail_lab::Forwarding;
use dovetail_lab::scenario::{BUILT_IN, Scenario, Traffic};
use dovetail_units::Duration;

use crate::support::{comes_true, lab};

const SCENARIO: &str = r#"
live = "box.toml"
warm_up = "0 s"

[[step]]
time = "1 s"

[[udp]]
class = "voice"
count = 2
port = 5001
frame = "200 B"
rate = "500 pps"

[[tcp]]
class = "bulk"
count = 3
port = 5001
ip = "v6"

[[udp]]
class = "video"
port = 5002
frame = "1400 B"
rate = "1000 pps"
"#;

#[test]
fn the_built_in_scenarios_are_right() {
    for built_in in BUILT_IN {
        let scenario = Scenario::parse(built_in.name, built_in.text, &[]).unwrap();
        assert_eq!(scenario.live.to_str(), Some(built_in.live));
        for group in &scenario.groups {
            assert!(
                built_in.config.contains(&format!("name = \"{}\"", group.class)),
                "{}: {}",
                built_in.name,
                group.class
            );
        }
    }
}

#[test]
fn the_box_is_configured_beside_the_scenario() {
    let scenario = Scenario::parse("some/where/s.toml", SCENARIO, &["lab.ecn=false".to_string()]).unwrap();
    assert_eq!(scenario.live.to_str(), Some("some/where/box.toml"));
    assert!(!scenario.options.ecn);
    assert_eq!((scenario.udp().len(), scenario.tcp().len()), (3, 3));
    assert_eq!(scenario.groups.iter().find(|g| g.class == "voice").unwrap().offered(), Some(1_000.0));
}

#[test]
fn what_is_wrong_is_shown_where_it_stands() {
    let changed = [
        ("[[tcp]]\nclass = \"bulk\"", "[[tcp]]\nclass = \"voice\"", "\"voice\": its flows are given twice"),
        ("count = 2", "count = 0", "`0`: expected a whole number from 1 to 4096"),
        ("200 B", "20 B", "expected 60 B to 65549 B"),
        ("rate = \"500 pps\"", "rat = \"500 pps\"", "rate"),
        ("ip = \"v6\"", "mss = 87", "at least 88 bytes"),
        ("[[step]]\ntime = \"1 s\"", "step = []", "expected at least one step"),
        ("[[step]]\ntime = \"1 s\"", "[[step]]\ntime = \"0 s\"", "it is zero"),
        ("[[step]]", "[lab]\nmtu = 1279\n[[step]]", "`1279`: expected a whole number from 1280 to 1906"),
        ("[[step]]", "[lab]\nmtu = 1907\n[[step]]", "`1907`: expected a whole number from 1280 to 1906"),
        ("[[step]]", "[lab]\nmtu = 65536\n[[step]]", "`65536`: expected a whole number from 1280 to 1906"),
    ];
    for (from, to, message) in changed {
        assert!(SCENARIO.contains(from), "{from}");
        let error = Scenario::parse("s.toml", &SCENARIO.replace(from, to), &[]).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains("s.toml:"), "{error}");
    }
    let error = Scenario::parse("s.toml", "live = \"b\"\n[[step]]\ntime = \"1 s\"", &[]).unwrap_err().to_string();
    assert!(error.contains("there is no traffic"), "{error}");
}

#[test]
#[ignore = "needs root"]
fn groups_are_measured_apart() {
    let lab = lab("groups");
    lab.forward_by_kernel(Forwarding::Bridge).unwrap();
    let scenario = Scenario::parse("s.toml", SCENARIO, &[]).unwrap();
    let mut traffic = Traffic::start(&lab, &scenario).unwrap();
    comes_true(|| {
        let measured = traffic.measure().unwrap();
        let of = |class| measured.groups.iter().find(|report| report.class == class).unwrap();
        let (voice, video, bulk) = (of("voice"), of("video"), of("bulk"));
        let flows = [voice, video, bulk].map(|group| group.bytes.len());
        assert_eq!((measured.groups.len(), flows), (3, [2, 1, 3]));
        // Nobody on the way marks anything; segments carry what fits into 1500 bytes beside IPv6, TCP and time stamps.
        assert_eq!((measured.marked, voice.ecn), (Some(0), 0));
        assert_eq!((voice.counted, voice.rtt, bulk.latency.is_none()), (1600.0, None, true));
        // Unlimited connections, which all use ECN, fill what is between; what must hold of the others is that none is
        // taken for another: rates are in a ratio of 1 to 14.
        let apart = voice.bytes.iter().all(|&bytes| bytes > 0 && bytes < video.bytes[0])
            && voice.latency.as_ref().is_some_and(|latency| !latency.is_empty())
            && bulk.bytes.iter().all(|&bytes| bytes > 0)
            && bulk.rtt.is_some_and(|rtt| rtt > Duration::ZERO)
            && (bulk.ecn, bulk.counted) == (3, f64::from(8 * (1500 - 40 - 20 - 12)));
        if apart { Ok(()) } else { Err(format!("{measured:?}")) }
    });
}
