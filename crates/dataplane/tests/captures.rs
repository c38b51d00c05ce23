//! The box between capture files: the whole way from a configuration to what is written, in simulated time.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use dovetail_dataplane::config::Config;
use dovetail_dataplane::driver::simulated_time;
use dovetail_dataplane::live::Live;
use dovetail_trace::{CaptureReader, PcapWriter};
use dovetail_units::{Duration, Time};
use dovetail_wire::LinkType;
use etherparse::PacketBuilder;

/// Some day in 2017, in nanoseconds since 1970.
const DAY: Time = Time::from_nanos(1_500_000_000_000_000_000);
/// 1000 bytes at 8 Mb/s.
const MILLISECOND: Duration = Duration::from_millis(1);

fn udp(number: u16) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64).udp(9, number);
    let mut frame = Vec::new();
    builder.write(&mut frame, &[0; 1000 - 42]).unwrap();
    frame
}

fn write(path: &Path, packets: &[(Time, Vec<u8>)]) {
    let mut writer = PcapWriter::new(Vec::new(), LinkType::ETHERNET).unwrap();
    for (time, data) in packets {
        writer.write(*time, data, data.len() as u32).unwrap();
    }
    std::fs::write(path, writer.finish().unwrap()).unwrap();
}

fn read(path: &Path) -> Vec<(Time, Vec<u8>)> {
    let mut reader = CaptureReader::open(path).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = reader.next_record() {
        packets.push((record.time.unwrap(), record.data.to_vec()));
    }
    packets
}

#[test]
fn frames_of_both_captures_pass_the_box_at_the_times_that_its_link_allows() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    // Two at once, and one when the link is free again.
    let third = DAY + Duration::from_millis(5);
    write(&file("in.pcap"), &[(DAY, udp(1)), (DAY, udp(2)), (third, udp(3))]);
    // The other direction is not scheduled.
    let answer = DAY + Duration::from_millis(3);
    write(&file("answers.pcap"), &[(answer, udp(4))]);
    let text = r#"
        scheduler = "fifo"
        [ports]
        in = "pcap:in.pcap>returned.pcap"
        out = "pcap:answers.pcap>out.pcap"
        [link]
        rate = "8 Mbps"
        [[class]]
        name = "all"
        cost = "0 us"
    "#;
    let name = file("box.toml").display().to_string();
    let config = Config::parse(&name, text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut live = Live::open(&config).unwrap_or_else(|error| panic!("{error}"));
    let end = simulated_time(&mut live, &AtomicBool::new(false)).unwrap().unwrap();
    let expected =
        [(DAY + MILLISECOND, udp(1)), (DAY + MILLISECOND + MILLISECOND, udp(2)), (third + MILLISECOND, udp(3))];
    assert_eq!(read(&file("out.pcap")), expected);
    assert_eq!(read(&file("returned.pcap")), [(answer, udp(4))]);
    let totals = live.totals(end);
    let ports = &totals.forward.ports;
    assert_eq!((ports["in"].received, ports["in"].sent), (3, 1));
    assert_eq!((ports["out"].received, ports["out"].sent), (1, 3));
}

/// A block of a capture of the new kind, little-endian.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padding = vec![0; body.len().wrapping_neg() % 4];
    let length = (body.len() + padding.len() + 12) as u32;
    [&kind.to_le_bytes(), &length.to_le_bytes(), body, &padding, &length.to_le_bytes()].concat()
}

/// A capture of one packet without a time: a "simple packet block" (pcapng, section 4.4).
fn without_time(packet: &[u8]) -> Vec<u8> {
    let section = [&0x1A2B_3C4D_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xFF; 8]].concat();
    let interface = [1, 0, 0, 0, 0, 0, 0, 0];
    let simple = [&(packet.len() as u32).to_le_bytes(), packet].concat();
    [block(0x0A0D_0D0A, &section), block(1, &interface), block(3, &simple)].concat()
}

/// An "enhanced packet block" (section 4.3), which has a time in microseconds.
fn with_time(time: Time, packet: &[u8]) -> Vec<u8> {
    let (micros, length) = (time.as_nanos() / 1000, packet.len() as u32);
    let head = [0, (micros >> 32) as u32, micros as u32, length, length].map(u32::to_le_bytes);
    block(6, &[head.concat(), packet.to_vec()].concat())
}

#[test]
fn packets_without_times_come_when_the_box_begins_and_never_by_the_time_of_day() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("in.pcap"), without_time(&udp(1))).unwrap();
    std::fs::write(file("mixed.pcap"), [without_time(&udp(1)), with_time(DAY, &udp(3))].concat()).unwrap();
    write(&file("answers.pcap"), &[(DAY, udp(2))]);
    // What leaves, and when, of this input, if the other port has these answers.
    let left = |input: &str, answers: &str| {
        let text = format!(
            "scheduler = \"fifo\"\nports = {{ in = \"pcap:{input}\", out = \"pcap:{answers}>out.pcap\" }}\n\
            link = {{ rate = \"8 Mbps\" }}\nclass = [{{ name = \"all\", cost = \"0 us\" }}]\n"
        );
        let name = file("box.toml").display().to_string();
        let config = Config::parse(&name, &text, &[]).unwrap_or_else(|error| panic!("{error}"));
        let mut live = Live::open(&config).unwrap_or_else(|error| panic!("{error}"));
        simulated_time(&mut live, &AtomicBool::new(false)).unwrap().unwrap();
        read(&file("out.pcap"))
    };
    assert_eq!(left("in.pcap", ""), [(Time::ZERO + MILLISECOND, udp(1))]);
    // A second before the first packet that has a time.
    let begin = Time::ZERO + DAY.since(Time::from_nanos(1_000_000_000));
    assert_eq!(left("in.pcap", "answers.pcap"), [(begin + MILLISECOND, udp(1))]);
    assert_eq!(left("mixed.pcap", ""), [(begin + MILLISECOND, udp(1)), (DAY + MILLISECOND, udp(3))]);
}

#[test]
fn a_box_between_an_interface_and_itself_is_refused() {
    let text = "scheduler = \"fifo\"\nports = { in = \"packet:lo\", out = \"xdp:lo\" }\n";
    let error = Live::open(&Config::parse("box.toml", text, &[]).unwrap()).err().unwrap().to_string();
    assert!(error.contains("box.toml:2:") && error.contains("lo is the interface of ports.in already"), "{error}");
}

#[test]
fn a_box_that_is_told_to_stop_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("in.pcap"), &[(DAY, udp(1)), (DAY, udp(2))]);
    let text = r#"
        scheduler = "fifo"
        [ports]
        in = "pcap:in.pcap"
        out = "pcap:>out.pcap"
        [[class]]
        name = "all"
    "#;
    let name = folder.path().join("box.toml").display().to_string();
    let config = Config::parse(&name, text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut live = Live::open(&config).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(simulated_time(&mut live, &AtomicBool::new(true)).unwrap(), None);
    drop(live);
    let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["in.pcap"]);
}
