//! The box between capture files: the whole way from a configuration to what is written, in simulated time.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use dovetail_dataplane::config::{Config, EPOCH};
use dovetail_dataplane::driver::simulated_time;
use dovetail_dataplane::frame::{Frame, Pool};
use dovetail_dataplane::live::Live;
use dovetail_dataplane::port::capture::CapturePort;
use dovetail_dataplane::port::{Port, PortCounters};
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
    let (end, ended) = simulated_time(&mut live, &AtomicBool::new(false)).unwrap();
    ended.unwrap();
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
fn a_capture_that_is_written_has_frames_like_those_that_come() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let packet = udp(1)[14..].to_vec();
    let mut raw = PcapWriter::new(std::fs::File::create(file("in.pcap")).unwrap(), LinkType::RAW).unwrap();
    raw.write(Time::ZERO + DAY.since(Time::ZERO), &packet, packet.len() as u32).unwrap();
    raw.finish().unwrap();
    let text = "scheduler = \"fifo\"\nports = { in = \"pcap:in.pcap\", out = \"pcap:>out.pcap\" }\n\
    record = { out = \"seen.pcap\" }\n";
    let config = Config::parse(&file("box.toml").display().to_string(), text, &[]).unwrap();
    let mut live = Live::open(&config).unwrap_or_else(|error| panic!("{error}"));
    simulated_time(&mut live, &AtomicBool::new(false)).unwrap().1.unwrap();
    for written in ["out.pcap", "seen.pcap"] {
        let mut capture = CaptureReader::open(&file(written)).unwrap();
        let record = capture.next_record().unwrap();
        assert_eq!((record.link, record.data), (LinkType::RAW, &packet[..]), "{written}");
    }
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
        simulated_time(&mut live, &AtomicBool::new(false)).unwrap().1.unwrap();
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
    // By another name that the kernel takes for it.
    let text = "scheduler = \"fifo\"\nports = { in = \"packet:lo\", out = \"packet:lo:1\" }\n";
    let config = Config::parse("box.toml", text, &[]).unwrap();
    for error in [Live::open(&config).err().unwrap().to_string(), config.rehearse().unwrap_err().to_string()] {
        assert!(error.contains("lo:1 is the interface of ports.in already, which has the name lo"), "{error}");
    }
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
    assert!(simulated_time(&mut live, &AtomicBool::new(true)).is_none());
    drop(live);
    let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["in.pcap"]);
}

/// A box whose `out` port writes into a folder that is gone when it is done, and its `record` elsewhere.
#[test]
fn a_box_whose_capture_cannot_be_written_gives_its_accounts() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::create_dir(file("gone")).unwrap();
    let frames: Vec<_> = (0..3).map(|k| (DAY + MILLISECOND.saturating_mul(k), udp(k as u16))).collect();
    write(&file("in.pcap"), &frames);
    let text = r#"
        scheduler = "fifo"
        ports = { in = "pcap:in.pcap", out = "pcap:>gone/out.pcap" }
        record = { in = "seen.pcap" }
        class = [{ name = "all", cost = "0 us" }]
    "#;
    let name = file("box.toml").display().to_string();
    let config = Config::parse(&name, text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut live = Live::open(&config).unwrap_or_else(|error| panic!("{error}"));
    std::fs::remove_dir_all(file("gone")).unwrap();
    let (end, ended) = simulated_time(&mut live, &AtomicBool::new(false)).unwrap();
    let message = ended.unwrap_err().to_string();
    assert!(message.contains("gone/out.pcap cannot be written: No such file or directory"), "{message}");
    let snapshot = live.snapshot_of(end, 0);
    assert_eq!((snapshot.total.frames_in, snapshot.total.frames_out, snapshot.unaccounted), (3, 3, 0));
    // What could be written is there.
    assert_eq!(read(&file("seen.pcap")), frames);
    assert!(!file("gone").exists());
}

/// A port that brings what it has and takes so many frames at most.
struct Full(CapturePort, usize);

impl Port for Full {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn link(&self) -> LinkType {
        self.0.link()
    }

    fn receive(&mut self, now: Time, pool: &mut Pool, frames: &mut Vec<Frame>) -> io::Result<()> {
        self.0.receive(now, pool, frames)
    }

    fn send(&mut self, now: Time, frames: &mut VecDeque<Frame>, pool: &mut Pool) -> io::Result<()> {
        while self.1 > 0 && !frames.is_empty() {
            self.1 -= 1;
            let mut one = frames.drain(..1).collect();
            self.0.send(now, &mut one, pool)?;
        }
        if frames.is_empty() { Ok(()) } else { Err(io::Error::other("the disk is full")) }
    }

    fn readable(&self) -> Option<RawFd> {
        None
    }

    fn ended(&self) -> bool {
        self.0.ended()
    }

    fn next_arrival(&mut self) -> Option<Time> {
        self.0.next_arrival()
    }

    fn counters(&mut self) -> PortCounters {
        self.0.counters()
    }
}

#[test]
fn what_a_box_holds_when_its_capture_can_grow_no_more_is_counted_as_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    write(&file("in.pcap"), &(0..9).map(|k| (DAY, udp(k))).collect::<Vec<_>>());
    let text = "scheduler = \"drr\"\nports = { in = \"pcap:in.pcap\", out = \"pcap:>out.pcap\" }\n\
        link = { rate = \"8 Mbps\" }\n";
    let config = Config::parse("box.toml", text, &[]).unwrap();
    let open = |input: Option<&str>, output: Option<&str>| {
        let [input, output] = [input, output].map(|name| name.map(file));
        CapturePort::open("port", input.as_deref(), output.as_deref(), Time::ZERO + DAY.since(EPOCH)).unwrap()
    };
    let (inside, outside) = (open(Some("in.pcap"), None), Full(open(None, Some("out.pcap")), 4));
    let mut live = Live::new(config.middlebox().unwrap(), Box::new(inside), Box::new(outside), Duration::ZERO);
    let (end, ended) = simulated_time(&mut live, &AtomicBool::new(false)).unwrap();
    assert_eq!(ended.unwrap_err().to_string(), "the disk is full");
    // The fifth frame left after 5 ms, and could not be written.
    assert_eq!(end, EPOCH + MILLISECOND.saturating_mul(5));
    let snapshot = live.snapshot_of(end, 0);
    assert_eq!((snapshot.total.frames_in, snapshot.total.frames_out, snapshot.total.held), (9, 5, 0));
    assert_eq!((snapshot.total.dropped["stopped"], snapshot.outgoing, snapshot.ports["out"].sent), (4, 1, 4));
    assert_eq!((snapshot.unaccounted, snapshot.buffers.lost), (0, 0));
}
