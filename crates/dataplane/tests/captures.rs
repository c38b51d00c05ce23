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
