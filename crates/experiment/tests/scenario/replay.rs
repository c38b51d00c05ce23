//! Captures: flows, classes, speed, and every packet accounted for.

use std::path::Path;

use dovetail_experiment::scenario::Scenario;
use dovetail_trace::{Mixture, Pace};
use dovetail_units::{Duration, Time};

use crate::support::{run, summary};

const PACKETS: u32 = 3000;
const RECORDED_S: f64 = 10.0;

/// A folder with a synthetic capture `t.pcap`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let pace = Pace::Duration(Duration::from_secs(RECORDED_S as u64));
    let synthetic = Mixture { packets: PACKETS, flows: 150, pace, ..Mixture::default() }.generate().unwrap();
    synthetic.write_pcap(std::fs::File::create(folder.path().join("t.pcap")).unwrap()).unwrap();
    folder
}

/// A folder with a capture `t.pcap` of packets of 20 bytes that came at these times, in ns.
fn recorded_at(times: impl IntoIterator<Item = u64>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut frames = dovetail_trace::PcapWriter::new(Vec::new(), dovetail_wire::LinkType::RAW).unwrap();
    let ip = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    for time in times {
        frames.write(Time::from_nanos(time), &ip, 20).unwrap();
    }
    std::fs::write(folder.path().join("t.pcap"), frames.finish().unwrap()).unwrap();
    folder
}

const PIPELINE: &str = r#"
[[resource]]
name = "cpu"

[[resource]]
name = "link"
rate = "200 Mbps"

[[class]]
name = "tcp"
cost = { cpu = "20 us" }

[[class]]
name = "other"
cost = { cpu = "10 us" }

[trace]
file = "t.pcap"
"#;

#[track_caller]
fn replay(folder: &Path, keys: &str) -> Scenario {
    let text = format!("{PIPELINE}{keys}\n");
    Scenario::parse("s.toml", &text, &[], folder.to_path_buf()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_record_of_the_capture_is_offered() {
    let folder = folder();
    let json = summary(&replay(folder.path(), "load = 1.5"), "drfq");
    let capture = &json["scenario"]["capture"];
    assert_eq!(capture["records"], PACKETS);
    let sum = capture["flow_packets"].as_u64().unwrap() + capture["no_flow_packets"].as_u64().unwrap();
    assert_eq!(sum, u64::from(PACKETS));
    assert_eq!(json["runs"][0]["packets"]["offered"], PACKETS);
}

/// The classes with these rules.
fn ruled(rules: &str) -> String {
    PIPELINE.replace("cost = { cpu = \"20 us\" }", &format!("cost = {{ cpu = \"20 us\" }}\nmatch = [{rules}]"))
}

#[test]
fn the_first_rule_that_matches_gives_the_class() {
    let folder = folder();
    let replay = |rules: &str| {
        let scenario = Scenario::parse("s.toml", &ruled(rules), &[], folder.path().to_path_buf());
        run(&scenario.unwrap_or_else(|e| panic!("{e}")), "fifo")
    };
    let record = replay("{ protocol = \"tcp\" }");
    let groups: std::collections::BTreeSet<&str> = record.flows.iter().map(|f| f.group.as_ref()).collect();
    assert!(groups.contains("tcp") && groups.contains("other"), "{groups:?}");
    for flow in record.flows.iter() {
        assert_eq!(&*flow.group == "tcp", flow.name.text().contains("tcp"), "{} is {}", flow.name, flow.group);
    }
    let port = record.flows.iter().find_map(|f| f.name.text().rsplit(':').next()?.parse::<u16>().ok()).unwrap();
    let ruled = replay(&format!("{{ port = {port} }}"));
    assert!(ruled.flows.iter().any(|f| &*f.group == "tcp"), "port {port}");
    for flow in ruled.flows.iter().filter(|f| &*f.group == "tcp") {
        assert!(flow.name.text().contains(&format!(":{port}")), "{} has not the port {port}", flow.name);
    }
}

/// Also of packets that are of no flow.
#[test]
fn a_class_that_nothing_is_of_is_noted() {
    let folder = recorded_at([0, 1, 1_000_001, 1_000_002].map(|second| second * 1_000_000_000));
    let scenario = replay(folder.path(), "class = \"other\"\ngap = \"10 s\"");
    let pauses = scenario.pauses().unwrap();
    assert_eq!((pauses.count, pauses.more, pauses.cut), (1, Duration::from_secs(999_990), true));
    assert_eq!(scenario.recorded_s(), 12.0);
    let whole = replay(folder.path(), "class = \"other\"");
    assert_eq!(whole.recorded_s(), 1_000_002.0);
    assert_eq!((whole.pauses().unwrap().count, whole.pauses().unwrap().cut), (1, false));
}

#[test]
fn without_rules_classes_are_drawn_by_the_seed() {
    let folder = folder();
    let groups = |seed| {
        let scenario = replay(folder.path(), "").with_seed(seed).unwrap();
        run(&scenario, "fifo").flows.iter().map(|f| f.group.clone()).collect::<Vec<_>>()
    };
    assert_eq!(groups(1), groups(1));
    assert_ne!(groups(1), groups(2));
    let one = run(&replay(folder.path(), "class = \"other\""), "fifo");
    assert!(one.flows.iter().all(|f| &*f.group != "tcp"), "a class for all overrules the draw");
}

#[test]
fn speed_and_load_scale_time() {
    let folder = folder();
    let arrivals = |keys: &str| {
        let scenario = replay(folder.path(), &format!("class = \"other\"\n{keys}"));
        let record = run(&scenario, "fifo");
        (scenario.replay_speed().unwrap(), record.packets.iter().map(|p| p.arrival.as_secs_f64()).collect::<Vec<_>>())
    };
    let (speed, recorded) = arrivals("");
    assert_eq!(speed, 1.0);
    let (speed, twice) = arrivals("speed = 2");
    assert_eq!(speed, 2.0);
    for (slow, fast) in recorded.iter().zip(&twice) {
        // Arrivals are whole nanoseconds.
        assert!((slow / 2.0 - fast).abs() <= 1e-9, "{slow} {fast}");
    }
    // The busiest resource is offered 0.5 of what it can do: its work lasts half as long as the replay.
    let scenario = replay(folder.path(), "class = \"other\"\nload = 0.5");
    let record = run(&scenario, "fifo");
    let busiest = record.resources.iter().map(|r| r.busy.as_secs_f64()).fold(0.0, f64::max);
    let replayed = RECORDED_S / scenario.replay_speed().unwrap();
    assert!((busiest / replayed - 0.5).abs() < 1e-3, "{busiest} of {replayed}");
}

/// Every packet takes the CPU 10 us.
#[test]
fn a_load_that_no_speed_makes_is_told_with_what_comes_instead() {
    let thousand = recorded_at(0..1000);
    let hour_apart = recorded_at([0, 3_600_000_000_000]);
    let load = |folder: &tempfile::TempDir, asked: f64| {
        let scenario = replay(folder.path(), &format!("class = \"other\"\nload = {asked}"));
        let load = scenario.replay_load().unwrap();
        assert_eq!(load.asked, asked);
        (load.offered, load.missed(), scenario.replay_speed().unwrap())
    };
    let (offered, missed, speed) = load(&thousand, 1.2);
    assert!((offered - 1.2).abs() < 1e-3 && missed.is_none(), "{offered} at {speed}");
    // 10 ms of work in 999 ns, which become 999 ms.
    let (offered, missed, speed) = load(&thousand, 1e-3);
    assert!((offered - 0.01 / 0.999).abs() < 1e-9, "{offered}");
    assert_eq!((missed, speed), (Some("no replay is slower than that"), 1e-6));
    // 20 us of work in an hour, which becomes 3 ns.
    let (offered, missed, speed) = load(&hour_apart, 1e9);
    assert!((offered - 20_000.0 / 3.0).abs() < 1e-9, "{offered}");
    assert_eq!((missed, speed), (Some("no replay is faster than that"), 1e12));
    // 2.85 ns would make this load: there are 2.
    let (offered, missed, _) = load(&thousand, 3.5e6);
    assert!((offered - 5e6).abs() < 1e-3, "{offered}");
    assert_eq!(missed, Some("times are whole nanoseconds"));
    assert_eq!(load(&thousand, 1e9).0, f64::INFINITY, "all packets come at once");
}

#[test]
fn a_replay_ends_within_what_64_bits_of_nanoseconds_hold() {
    let folder = recorded_at([0, 18_000_000_000_000, 18_447_000_000_000]);
    let text = |keys: &str| format!("{PIPELINE}class = \"other\"\n{keys}\n");
    let open = |keys: &str| Scenario::parse("s.toml", &text(keys), &[], folder.path().to_path_buf());
    let error = open("speed = 1e-6").unwrap_err().to_string();
    assert!(error.contains("makes the replay last 18447000000 s: expected at most 18446744073 s"), "{error}");
    assert!(error.contains("s.toml:20:9"), "{error}");
    assert!(open("speed = 1.1e-6").is_ok());
}

/// A capture of packets of 40 bytes, by sender, receiver and sender's port, one every ms.
fn sent(packets: impl IntoIterator<Item = ([u8; 4], [u8; 4], u16)>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut frames = dovetail_trace::PcapWriter::new(Vec::new(), dovetail_wire::LinkType::RAW).unwrap();
    for (number, (from, to, port)) in (0..).zip(packets) {
        let mut packet = [0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0].to_vec();
        packet.extend([from, to].concat());
        packet.extend(port.to_be_bytes());
        packet.extend([0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0, 0]);
        frames.write(Time::from_nanos(number * 1_000_000), &packet, 40).unwrap();
    }
    std::fs::write(folder.path().join("t.pcap"), frames.finish().unwrap()).unwrap();
    folder
}

/// 2,000 packets of as many flows, and 500 of ten flows.
#[test]
fn most_flows_have_one_packet_until_a_key_puts_them_together() {
    let victim = [198, 51, 100, 1];
    let number = |n: u16| n.to_be_bytes();
    let others = |n: u16| ([10, 0, 0, (n % 10) as u8], [192, 0, 2, (n % 10) as u8], 7);
    let mixed = |flood: &dyn Fn(u16) -> ([u8; 4], [u8; 4], u16)| {
        sent((0..2500).map(|n| if n % 5 == 4 { others(n / 5) } else { flood(n) }))
    };
    let newcomers = |folder: &tempfile::TempDir, keys: &str| {
        replay(folder.path(), &format!("class = \"other\"\n{keys}")).newcomers()
    };
    let one_host = mixed(&|n| ([172, 16, 0, 1], victim, n));
    let found = newcomers(&one_host, "load = 1.2").unwrap();
    assert_eq!((found.flows, found.of, &*found.resource), (2000, 2010, "cpu"));
    assert!((found.part - 0.8).abs() < 1e-9, "all packets take as long: {found:?}");
    assert_eq!(found.key, Some(("host", "senders")));
    let by = |folder: &tempfile::TempDir| newcomers(folder, "load = 1.2").unwrap().key.map(|(key, _)| key);
    let [one_network, to_one, to_network, any] = [
        mixed(&|n| {
            ([172, 16, (n % 8) as u8, (n / 8 % 256) as u8], [number(n), number(n)].concat().try_into().unwrap(), n)
        }),
        mixed(&|n| ([11, number(n)[0], number(n)[1], 1], victim, n)),
        mixed(&|n| ([11, number(n)[0], number(n)[1], 1], [198, 51, (n % 8) as u8, (n / 8 % 256) as u8], n)),
        mixed(&|n| ([11, number(n)[0], number(n)[1], 1], [12, number(n)[0], number(n)[1], 1], n)),
    ];
    assert_eq!(
        [&one_network, &to_one, &to_network, &any].map(by),
        [Some("prefix"), Some("to-host"), Some("to-prefix"), None]
    );
    assert_eq!(newcomers(&one_host, "load = 0.9"), None, "nothing is short");
    assert_eq!(newcomers(&any, "load = 1.2\nkey = \"host\""), None, "somebody chose a key");
    // As many flows of one packet, but others need more.
    let few = sent((0..5000).map(|n| if n % 10 == 0 { ([172, 16, 0, 1], victim, n) } else { others(n) }));
    assert_eq!(newcomers(&few, "load = 1.2"), None);
}

#[test]
fn keys_of_flows() {
    let folder = folder();
    let flows = |key: &str| run(&replay(folder.path(), &format!("key = \"{key}\"")), "fifo").flows.len();
    assert_eq!(flows("5-tuple"), run(&replay(folder.path(), ""), "fifo").flows.len());
    assert!(flows("prefix+port") <= flows("5-tuple"));
    assert!(flows("prefix+port:8/32") <= flows("prefix+port"));
}
