//! What stands around the ports: faults on purpose, captures and traces, as a configuration asks for them, on a box
//! between capture files.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use dovetail_dataplane::config::Config;
use dovetail_dataplane::core::PortSnapshot;
use dovetail_dataplane::driver::simulated_time;
use dovetail_dataplane::live::{Live, Totals};
use dovetail_trace::{CaptureReader, PcapWriter};
use dovetail_units::{Duration, Time};
use dovetail_wire::LinkType;
use etherparse::PacketBuilder;
use tempfile::TempDir;

/// Some day in 2017, in nanoseconds since 1970.
const DAY: Time = Time::from_nanos(1_500_000_000_000_000_000);
/// Frames of each direction.
const FRAMES: u32 = 4_000;
/// Between two frames of a direction.
const APART: Duration = Duration::from_micros(100);

const PORTS: &str = r#"
scheduler = "fifo"
[ports]
in = "pcap:there.pcap>back-out.pcap"
out = "pcap:back.pcap>there-out.pcap"
[flows]
queue = "unlimited"
"#;

/// A frame with its number where nothing looks.
fn numbered(number: u32) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64).udp(9, 9);
    let mut frame = Vec::new();
    builder.write(&mut frame, &[number.to_be_bytes(), [0; 4]].concat()).unwrap();
    frame
}

/// When the frame of this number comes.
fn due(number: u32) -> Time {
    DAY + APART.saturating_mul(u64::from(number))
}

type Packets = Vec<(Time, Vec<u8>)>;

fn read(path: &Path) -> Packets {
    let mut reader = CaptureReader::open(path).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = reader.next_record() {
        packets.push((record.time.unwrap(), record.data.to_vec()));
    }
    packets
}

/// A folder in which both ports have frames to bring.
struct Between {
    folder: TempDir,
}

impl Between {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["there.pcap", "back.pcap"] {
            let mut writer = PcapWriter::new(Vec::new(), LinkType::ETHERNET).unwrap();
            for number in 0..FRAMES {
                let frame = numbered(number);
                writer.write(due(number), &frame, frame.len() as u32).unwrap();
            }
            std::fs::write(folder.path().join(name), writer.finish().unwrap()).unwrap();
        }
        Self { folder }
    }

    fn live(&self, sections: &str) -> Result<Live, String> {
        let name = self.folder.path().join("box.toml").display().to_string();
        let text = format!("{PORTS}{sections}\n[[class]]\nname = \"all\"\n");
        let config = Config::parse(&name, &text, &[]).map_err(|error| error.to_string())?;
        Live::open(&config).map_err(|error| error.to_string())
    }

    /// Run it with these sections in its configuration. No frame is lost sight of.
    fn run(&self, sections: &str) -> Totals {
        let mut live = self.live(sections).unwrap_or_else(|error| panic!("{error}"));
        let (end, ended) = simulated_time(&mut live, &AtomicBool::new(false)).unwrap();
        ended.unwrap();
        let totals = live.totals(end);
        assert_eq!((totals.forward.unaccounted, totals.forward.buffers.lost), (0, 0));
        totals
    }

    fn written(&self, name: &str) -> Packets {
        read(&self.folder.path().join(name))
    }

    /// What left in the scheduled direction.
    fn there(&self) -> Packets {
        self.written("there-out.pcap")
    }

    fn back(&self) -> Packets {
        self.written("back-out.pcap")
    }

    fn refused(&self, sections: &str, expected: &[&str]) {
        let message = self.live(sections).err().unwrap_or_else(|| panic!("taken: {sections}"));
        for text in expected {
            assert!(message.contains(text), "{sections}: {text:?} is not in\n{message}");
        }
    }
}

/// Whether so many of all frames can be drawn with this probability: within five standard deviations, that is but for
/// one seed in 1.7 million.
fn likely(count: usize, probability: f64) -> bool {
    let mean = f64::from(FRAMES) * probability;
    (count as f64 - mean).abs() < 5.0 * (mean * (1.0 - probability)).sqrt()
}

fn all() -> Packets {
    (0..FRAMES).map(|number| (due(number), numbered(number))).collect()
}

fn number((_, frame): &(Time, Vec<u8>)) -> u32 {
    u32::from_be_bytes(*frame[42..].first_chunk().unwrap())
}

fn port<'a>(totals: &'a Totals, name: &str) -> &'a PortSnapshot {
    &totals.forward.ports[name]
}

#[test]
fn without_sections_everything_passes_as_it_is() {
    let between = Between::new();
    between.run("");
    assert_eq!((between.there(), between.back()), (all(), all()));
}

#[test]
fn a_part_of_the_frames_that_a_port_brings_is_dropped_and_missed() {
    let between = Between::new();
    let totals = between.run("[faults]\nin = { drop = \"2 %\" }\n");
    let left = between.there();
    assert!(likely(FRAMES as usize - left.len(), 0.02), "{}", left.len());
    assert!(
        left.iter().all(|(time, frame)| *time == due(number(&(*time, frame.clone())))),
        "those that pass are on time"
    );
    assert_eq!(port(&totals, "in").missed, u64::from(FRAMES) - left.len() as u64);
    assert_eq!((between.back(), port(&totals, "out").missed), (all(), 0), "the other direction has no faults");
}

#[test]
fn each_port_has_faults_of_its_own() {
    let between = Between::new();
    let totals = between.run("[faults]\nin = { drop = \"20 %\" }\nout = { drop = \"20 %\" }\n");
    let [there, back] = [between.there(), between.back()].map(|left| left.iter().map(number).collect::<Vec<u32>>());
    assert!(likely(FRAMES as usize - there.len(), 0.2) && likely(FRAMES as usize - back.len(), 0.2));
    assert_ne!(there, back, "other frames are drawn for the other port");
    assert_eq!(port(&totals, "out").missed, u64::from(FRAMES) - back.len() as u64);
}

#[test]
fn a_part_comes_twice() {
    let between = Between::new();
    between.run("[faults]\nin = { duplicate = \"5 %\" }\n");
    let left = between.there();
    let mut once = left.clone();
    once.dedup();
    assert_eq!(once, all());
    assert!(likely(left.len() - once.len(), 0.05), "{}", left.len());
}

#[test]
fn a_part_has_one_bit_flipped() {
    let between = Between::new();
    between.run("[faults]\nin = { corrupt = \"5 %\" }\n");
    let left = between.there();
    let flipped = |is: &[u8], was: &[u8]| is.iter().zip(was).map(|(a, b)| (a ^ b).count_ones() as usize).sum();
    let bits: Vec<usize> = left.iter().zip(&all()).map(|(is, was)| flipped(&is.1, &was.1)).collect();
    assert!(left.len() == FRAMES as usize && bits.iter().all(|&bits| bits <= 1));
    assert!(likely(bits.iter().sum(), 0.05));
}

#[test]
fn a_part_comes_late_by_a_millisecond_or_as_long_as_is_said() {
    let between = Between::new();
    for (by, written) in [(Duration::from_millis(1), ""), (Duration::from_micros(250), ", delay_by = \"250 us\"")] {
        between.run(&format!("[faults]\nin = {{ delay = \"5 %\"{written} }}\n"));
        let left = between.there();
        let late = left.iter().filter(|packet| packet.0 == due(number(packet)) + by).count();
        let punctual = left.iter().filter(|packet| packet.0 == due(number(packet))).count();
        assert_eq!((left.len(), late + punctual), (FRAMES as usize, FRAMES as usize));
        assert!(likely(late, 0.05), "{late}");
        assert!(!left.iter().map(number).is_sorted(), "others overtake");
    }
}

#[test]
fn no_more_than_1024_frames_are_kept_back() {
    let between = Between::new();
    between.run("[faults]\nin = { delay = \"100 %\", delay_by = \"1 h\" }\n");
    let late = between.there().iter().filter(|(time, _)| *time >= DAY + Duration::from_secs(3600)).count();
    assert_eq!(late, 1024);
}

#[test]
fn faults_are_those_of_the_seed() {
    let between = Between::new();
    let all_kinds = "in = { drop = \"3 %\", duplicate = \"3 %\", corrupt = \"3 %\", delay = \"3 %\" }\n";
    let with = |seed: &str| {
        between.run(&format!("[faults]\n{seed}{all_kinds}"));
        between.there()
    };
    let default = with("");
    assert_eq!((with(""), with("seed = 1\n")), (default.clone(), default.clone()));
    assert_ne!(with("seed = 2\n"), default);
}

#[test]
fn a_record_has_every_frame_that_passed_its_port_as_the_box_saw_it() {
    let between = Between::new();
    let totals = between.run(
        "[faults]\nin = { drop = \"5 %\", corrupt = \"5 %\" }\n[record]\nin = \"in.pcap\"\nout = \"out.pcap\"\n[link]\n\
         rate = \"100 Mbps\"\n",
    );
    let sorted = |mut packets: Packets| {
        packets.sort();
        packets
    };
    let (there, back) = (between.there(), between.back());
    assert!(there.len() < FRAMES as usize, "some were dropped before the box saw them");
    let arrived = |(time, frame): &(Time, Vec<u8>)| {
        // A frame of 50 bytes leaves 4 us after it came: the link is slower than these, and faster than they come.
        (Time::from_nanos(time.as_nanos() - 50 * 80), frame.clone())
    };
    let came: Packets = there.iter().map(arrived).collect();
    assert_eq!(sorted(between.written("in.pcap")), sorted([came, back.clone()].concat()));
    assert_eq!(sorted(between.written("out.pcap")), sorted([there.clone(), back].concat()));
    let (inside, outside) = (port(&totals, "in"), port(&totals, "out"));
    assert_eq!(inside.received + inside.sent, between.written("in.pcap").len() as u64);
    assert_eq!(outside.received + outside.sent, between.written("out.pcap").len() as u64);
}

#[test]
fn a_trace_has_a_line_for_every_frame_that_a_record_has() {
    let between = Between::new();
    between.run(
        "[faults]\nin = { drop = \"5 %\", delay = \"5 %\" }\n[record]\nin = \"in.pcap\"\n[trace]\nin = \"in.txt\"\n\
         out = \"out.txt\"\n",
    );
    let text = |name: &str| std::fs::read_to_string(between.folder.path().join(name)).unwrap();
    let times: Vec<String> = text("in.txt").lines().map(|line| line.split(' ').next().unwrap().to_string()).collect();
    let time = |(time, _): &(Time, Vec<u8>)| {
        format!("{}.{:09}", time.as_nanos() / 1_000_000_000, time.as_nanos() % 1_000_000_000)
    };
    assert_eq!(times, between.written("in.pcap").iter().map(time).collect::<Vec<_>>());
    let passed = |name: &str, columns: &str| {
        let of = |line: &&str| line.split_once(' ').unwrap().1 == format!("{columns} 50 udp 10.0.0.1:9 > 10.0.1.1:9");
        text(name).lines().filter(of).count()
    };
    assert_eq!((passed("out.txt", "out tx"), passed("out.txt", "out rx")), (between.there().len(), FRAMES as usize));
    assert_eq!((passed("in.txt", "in rx"), passed("in.txt", "in tx")), (between.there().len(), FRAMES as usize));
}

#[test]
#[ignore = "needs tshark"]
fn tshark_reads_a_record() {
    let between = Between::new();
    between.run("[record]\nout = \"out.pcap\"\n");
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-T", "fields", "-e", "frame.time_epoch", "-e", "data.data", "-r"]);
    let said = tshark.arg(between.folder.path().join("out.pcap")).output().unwrap();
    let lines: Vec<String> = String::from_utf8(said.stdout).unwrap().lines().map(str::to_string).collect();
    assert_eq!(lines.len(), 2 * FRAMES as usize);
    let line = |number: u32| {
        let nanos = due(number).as_nanos();
        format!("{}.{:09}\t{number:08x}00000000", nanos / 1_000_000_000, nanos % 1_000_000_000)
    };
    // One of either direction at a time.
    let expected: Vec<String> = (0..FRAMES).flat_map(|number| [line(number), line(number)]).collect();
    assert_eq!(lines, expected);
}

#[test]
fn wrong_values_are_refused_where_they_stand() {
    let between = Between::new();
    let place = |line: u32, column: u32| format!("box.toml:{line}:{column}");
    between
        .refused("[faults]\nin = { drop = \"101 %\" }", &["\"101 %\": expected a part of all frames", &place(9, 15)]);
    between.refused("[faults]\nout = { delay = \"-1 %\" }", &["\"0 %\" to \"100 %\"", &place(9, 17)]);
    between.refused("[faults]\nin = { corrupt = 0.1 }", &["expected a part of all frames", &place(9, 18)]);
    between
        .refused("[faults]\nin = { drops = \"1 %\" }", &["unknown key `drops`", "did you mean `drop`?", &place(9, 8)]);
    between.refused("[faults]\nin = { delay_by = \"5\" }", &["the unit is missing", &place(9, 19)]);
    between.refused("[faults]\nseed = -1", &["expected a whole number from 0 to 18446744073709551615", &place(9, 8)]);
    between.refused("[record]\non = \"x.pcap\"", &["unknown key `on`", &place(9, 1)]);
    between.refused(
        "[record]\nin = \"none/x.pcap\"",
        &["none/x.pcap: cannot be written: there is no folder", &place(9, 6)],
    );
    between.refused("[trace]\nin = \"none/x\"", &["none/x: cannot be written: there is no folder", &place(9, 6)]);
    between.refused("[record]\nout = \".\"", &["cannot be written: it is a folder", &place(9, 7)]);
    for section in ["record", "trace"] {
        for (key, column) in [("in", 6), ("out", 7)] {
            let text = format!("[{section}]\n{key} = \"\"");
            between.refused(&text, &["\"\": expected the name of a file", &place(9, column)]);
        }
    }
    between.refused("[control]\nsocket = \"\"", &["\"\": expected the name of a file", &place(9, 10)]);
    let left = std::fs::read_dir(between.folder.path()).unwrap().count();
    assert_eq!(left, 2, "nothing is begun");
}

#[test]
fn a_capture_is_not_written_over_another_one() {
    let between = Between::new();
    let written = between.folder.path().join("./there-out.pcap").display().to_string();
    for (record, other) in [
        ("in = \"there.pcap\"".to_string(), "there.pcap is the file that ports.in reads already"),
        (format!("out = {written:?}"), "there-out.pcap is the file that ports.out writes already"),
        ("in = \"x.pcap\"\nout = \"x.pcap\"".to_string(), "x.pcap is the file that record.in writes already"),
        ("in = \"x\"\n[trace]\nout = \"x\"".to_string(), "x is the file that record.in writes already"),
        ("[trace]\nin = \"there.pcap\"".to_string(), "there.pcap is the file that ports.in reads already"),
        ("out = \"./box.toml\"".to_string(), "box.toml is the file that holds the configuration already"),
    ] {
        between.refused(&format!("[record]\n{record}"), &[other]);
    }
    // Nor over what a module reads.
    std::fs::write(between.folder.path().join("patterns"), "cat\n").unwrap();
    let module = "[[module]]\nname = \"find\"\nkind = \"match\"\npattern_file = \"patterns\"\n";
    between.refused(
        &format!("[record]\nin = \"patterns\"\n{module}"),
        &["patterns is the file that the module \"find\" reads already"],
    );
    // By another name.
    std::os::unix::fs::symlink("back.pcap", between.folder.path().join("link.pcap")).unwrap();
    between.refused("[record]\nin = \"link.pcap\"", &["link.pcap is the file that ports.out reads already"]);
}

#[test]
fn a_file_does_not_take_the_place_of_the_control_socket() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("box.toml").display().to_string();
    let socket = folder.path().join("box.sock").display().to_string();
    let refused = |section: &str| {
        let text = format!(
            "scheduler = \"fifo\"\nports = {{ in = \"packet:lo\", out = \"pcap:>out.pcap\" }}\n\
            control = {{ socket = {socket:?} }}\nclass = [{{ name = \"all\" }}]\n{section}\n"
        );
        Live::open(&Config::parse(&name, &text, &[]).unwrap()).err().unwrap().to_string()
    };
    for section in ["[record]\nin = \"box.sock\"", "[trace]\nout = \"./box.sock\""] {
        let message = refused(section);
        assert!(message.contains("box.sock is the file that control.socket makes already"), "{message}");
        assert!(message.contains("box.toml:6:"), "{message}");
    }
    // A box in simulated time makes none.
    let between = Between::new();
    between.run("[control]\nsocket = \"x.sock\"\n[trace]\nin = \"x.sock\"\n");
}
