//! Captures of links as specifications.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use dovetail_sim::network::{Packet, Tap};
use dovetail_trace::CaptureReader;
use dovetail_units::Time;

use super::*;

#[test]
fn a_capture_holds_every_packet_of_the_link_and_tells_flows_apart() {
    let scenario = parse(&["seeds=1", "warm_up=\"0 s\"", "until=\"2 s\""]).unwrap();
    let scheme = Scheme::new(&"drq".parse().unwrap()).unwrap();
    let cancel = AtomicBool::new(false);
    let mut capture = PacketCapture::new(&scenario, &scheme, 1, Vec::new()).unwrap();
    let result = simulate(&scenario, &scheme, 1, &cancel, &mut capture).unwrap();
    let bytes = capture.finish().unwrap();
    let mut reader = CaptureReader::new(std::io::Cursor::new(bytes), "capture").unwrap();
    let info = dovetail_trace::CaptureInfo::read(&mut reader, Default::default(), 10, u64::MAX).unwrap();
    assert_eq!(info.flows, 8);
    // What the link carried in two seconds, but for the SYNs, which are shorter, and the packet that it is sending at
    // the end.
    let served = result.hops[1].rate_bps * 2.0 / 8.0;
    assert!((info.total.bytes as f64 - served).abs() <= 500.0, "{} of {served}", info.total.bytes);
    assert!(info.report.damage.is_none());
}

/// Two links that drop many packets of short flows, whose places are soon used again; the second has flows that the
/// first has not.
const SHORT: &str = r#"until = "10 s"
warm_up = "0 s"
hop = [
    { name = "a", rate = "10 Mbps", queue = "5 packets", delay = "5 ms" },
    { name = "b", rate = "8 Mbps", queue = "5 packets", delay = "5 ms" },
]
class = [{ name = "plain", density = "0 cycles/bit" }]
web = [
    { name = "both", class = "plain", route = ["a", "b"], rtt = "40 ms", rate = "60 flows/s", packet = "500 B" },
    { name = "second", class = "plain", route = ["b"], rtt = "60 ms", rate = "30 flows/s", packet = "500 B" },
]
"#;

/// The flows of which a packet leaves each of two hops.
#[derive(Default)]
struct FlowsAt([BTreeSet<u64>; 2]);

impl Tap for FlowsAt {
    fn left(&mut self, _now: Time, hop: u32, _packet: &Packet, number: impl FnOnce() -> u64) {
        self.0[hop as usize].insert(number());
    }
}

/// Both addresses, both ports, sequence number, and whether it is a SYN, of the packets in a capture of this hop.
fn segments(capture: &[u8]) -> Vec<([u8; 12], u32, bool)> {
    let mut reader = CaptureReader::new(std::io::Cursor::new(capture), "capture").unwrap();
    let mut segments = Vec::new();
    while let Some(record) = reader.next_record() {
        let data = record.data;
        let sequence = u32::from_be_bytes(data[24..28].try_into().unwrap());
        segments.push((data[12..24].try_into().unwrap(), sequence, data[33] & 2 != 0));
    }
    segments
}

#[test]
fn a_flow_has_a_5_tuple_of_its_own_and_the_same_in_all_captures_of_a_run() {
    let scenario = NetworkScenario::parse("short.toml", SHORT, &[]).unwrap();
    let scheme = Scheme::new(&"fifo".parse().unwrap()).unwrap();
    let cancel = AtomicBool::new(false);
    let mut flows = FlowsAt::default();
    let result = simulate(&scenario, &scheme, 1, &cancel, &mut flows).unwrap();
    assert!(result.hops.iter().all(|hop| hop.overflowed > 100), "SYNs are lost: {:?}", result.hops);
    let captures = [0, 1].map(|hop| {
        let mut capture = PacketCapture::new(&scenario, &scheme, hop, Vec::new()).unwrap();
        simulate(&scenario, &scheme, 1, &cancel, &mut capture).unwrap();
        capture.finish().unwrap()
    });
    for (capture, flows) in captures.iter().zip(&flows.0) {
        let mut reader = CaptureReader::new(std::io::Cursor::new(capture), "capture").unwrap();
        let info = dovetail_trace::CaptureInfo::read(&mut reader, Default::default(), 10, u64::MAX).unwrap();
        assert_eq!(info.flows, flows.len() as u64);
        // A SYN is sent again until it is answered; after that it is another flow's.
        let mut answered = BTreeSet::new();
        for (tuple, _, syn) in segments(capture) {
            assert!(!syn || !answered.contains(&tuple), "{tuple:?}: a SYN after data");
            if !syn {
                answered.insert(tuple);
            }
        }
    }
    // What leaves the second link of the first group has left the first one before, in this order.
    let [first, second] = captures.map(|capture| segments(&capture));
    let mut before = first.iter();
    let mut followed = 0;
    for packet in second.iter().filter(|(tuple, ..)| tuple[..3] == [10, 0, 0]) {
        assert!(before.any(|other| other == packet), "{packet:?} has not left the first link");
        followed += 1;
    }
    assert!(followed > 1000 && followed < second.len(), "{followed}");
}

#[test]
fn there_are_no_more_groups_than_captures_have_networks_for() {
    let group =
        |k| format!("[[web]]\nname = \"{k}\"\nclass = \"x\"\nroute = []\nrtt = \"1 s\"\nrate = \"1 flows/s\"\n");
    let groups: String = (0..65_537).map(group).collect();
    let text = format!("until = \"2 s\"\n[[hop]]\nname = \"a\"\nrate = \"1 Mbps\"\n{groups}");
    let message = NetworkScenario::parse("many.toml", &text, &[]).unwrap_err().to_string();
    // The line of the last, the only one too many: four before all groups, six of every group before.
    assert!(message.contains(&format!("many.toml:{}:1", 4 + 6 * 65_536 + 1)), "{message}");
    assert!(message.contains("65537 groups of flows: expected at most 65536"), "{message}");
}

/// Of the data packets in a capture of a hop that their senders have not sent before, how many have each ECN code
/// point: 00, 01, 10, 11.
fn code_points(scheduler: &str, hop: u32, overrides: &[&str]) -> [u64; 4] {
    let scenario = parse(&[&["warm_up=\"0 s\"", "until=\"2 s\""], overrides].concat()).unwrap();
    let scheme = Scheme::new(&scheduler.parse().unwrap()).unwrap();
    let mut capture = PacketCapture::new(&scenario, &scheme, hop, Vec::new()).unwrap();
    simulate(&scenario, &scheme, 1, &AtomicBool::new(false), &mut capture).unwrap();
    let bytes = capture.finish().unwrap();
    let mut reader = CaptureReader::new(std::io::Cursor::new(bytes), "capture").unwrap();
    let (mut found, mut furthest) = ([0; 4], BTreeMap::new());
    while let Some(record) = reader.next_record() {
        let [flow, sequence] = [12, 24].map(|at| u32::from_be_bytes(record.data[at..at + 4].try_into().unwrap()));
        let port = [record.data[20], record.data[21]];
        // Senders by the RFCs take ECT off what they send again.
        let furthest = furthest.entry((flow, port)).or_insert(0);
        if sequence > *furthest {
            *furthest = sequence;
            found[usize::from(record.data[1] & 3)] += 1;
        }
    }
    found
}

#[test]
fn a_capture_shows_the_states_of_drq_in_the_code_points_of_the_encoding() {
    let drq = |hop, ecn: &str| code_points("drq:weight=0.01", hop, &[&format!("ecn=\"{ecn}\"")]);
    // On the link, and as it would leave the CPU.
    for hop in [1, 0] {
        let [none, ect_1, ect_0, ce] = drq(hop, "paper");
        assert!(ect_1 == 0 && none > ect_0 && ect_0 > 100 && ce > 100, "{hop}: {:?}", drq(hop, "paper"));
        assert_eq!(drq(hop, "rfc3168"), [0, ect_0, none, ce], "{hop}");
        assert_eq!(drq(hop, "metadata"), [0, 0, none + ect_0, ce], "{hop}");
    }
    // RED has no states: senders who know ECN say so, whatever DRQ would do.
    let [none, ect_1, ect_0, ce] = code_points("red+red:weight=0.01", 1, &["ecn=\"paper\""]);
    assert!(none == 0 && ect_1 == 0 && ect_0 > ce && ce > 10, "{ect_0} {ce}");
    // Packets of senders without it are 00, but for signals in the paper's encoding.
    let without = ["tcp.light.ecn=false", "tcp.heavy.ecn=false"];
    let rfc = code_points("drq:weight=0.01", 1, &[&without[..], &["ecn=\"rfc3168\""]].concat());
    assert!(rfc[0] > 1000 && rfc[1..] == [0, 0, 0], "{rfc:?}");
    let paper = code_points("drq:weight=0.01", 1, &without);
    assert!(paper[0] > paper[2] && paper[2] > 10 && paper[1] + paper[3] == 0, "{paper:?}");
}
