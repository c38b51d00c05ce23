use super::*;
use crate::port::{Kind, Options, first_time, open};

const SECOND: u64 = 1_000_000_000;
/// Some day in 2017.
const DAY: u64 = 1_500_000_000 * SECOND;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// A capture of packets: nanoseconds after the day, bytes, and the length they had.
fn written(folder: &Path, name: &str, link: LinkType, packets: &[(u64, &[u8], u32)]) -> PathBuf {
    let mut writer = PcapWriter::new(Vec::new(), link).unwrap();
    for &(time, data, len) in packets {
        writer.write(at(DAY + time), data, len).unwrap();
    }
    let path = folder.join(name);
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    path
}

fn received(port: &mut dyn Port, now: u64) -> Vec<(u64, Vec<u8>)> {
    let (mut frames, mut pool) = (Vec::new(), Pool::new());
    port.receive(at(now), &mut pool, &mut frames).unwrap();
    frames.iter().map(|frame| (frame.received.as_nanos(), frame.data().to_vec())).collect()
}

fn send(port: &mut dyn Port, now: u64, link: LinkType, data: &[u8]) {
    let mut pool = Pool::new();
    let mut frame = pool.take();
    frame.fill(Time::ZERO, data, link);
    port.send(at(now), &mut VecDeque::from([frame]), &mut pool).unwrap();
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn frames_come_at_the_times_that_the_capture_tells() {
    let folder = tempfile::tempdir().unwrap();
    let packets: &[(u64, &[u8], u32)] = &[(500, b"first", 5), (700, b"second", 6), (700, b"third", 5)];
    let path = written(folder.path(), "in.pcap", LinkType::ETHERNET, packets);
    let kind = Kind::Capture { input: Some(path), output: None };
    assert_eq!(first_time([&kind]).unwrap(), Some(at(DAY + 500)));
    let mut port = open(&kind, &Options { epoch: at(DAY + 500), ..Options::default() }).unwrap();
    assert_eq!(port.next_arrival(), Some(at(0)));
    assert_eq!(received(&mut *port, 0), [(0, b"first".to_vec())]);
    assert_eq!(port.next_arrival(), Some(at(200)));
    assert_eq!(received(&mut *port, 199), []);
    assert_eq!(received(&mut *port, 1000), [(200, b"second".to_vec()), (200, b"third".to_vec())]);
    assert!(port.ended() && port.next_arrival().is_none());
    assert_eq!(port.counters(), PortCounters { received: 3, ..PortCounters::default() });
}

#[test]
fn two_captures_keep_their_distance_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let kind = |name, time| {
        let path = written(folder.path(), name, LinkType::RAW, &[(time, b"x", 1)]);
        Kind::Capture { input: Some(path), output: None }
    };
    let kinds = [kind("late", 900), kind("early", 300)];
    let epoch = first_time(&kinds).unwrap().unwrap();
    let arrivals = kinds.map(|kind| open(&kind, &Options { epoch, ..Options::default() }).unwrap().next_arrival());
    assert_eq!(arrivals, [Some(at(600)), Some(at(0))]);
}

#[test]
fn a_packet_captured_in_part_has_its_length_and_one_beyond_a_buffer_is_oversize() {
    let folder = tempfile::tempdir().unwrap();
    let long = [1; LONGEST + 1];
    let packets: &[(u64, &[u8], u32)] = &[(0, &long, 0), (1, &[9; 100], 100), (2, b"head", 60), (3, b"head", 9000)];
    let path = written(folder.path(), "in.pcap", LinkType::ETHERNET, packets);
    let mut port = CapturePort::open("in", Some(&path), None, at(DAY)).unwrap();
    let mut padded = b"head".to_vec();
    padded.resize(60, 0);
    assert_eq!(received(&mut port, 10), [(1, vec![9; 100]), (2, padded)]);
    assert_eq!(port.counters(), PortCounters { received: 2, oversize: 2, ..PortCounters::default() });
}

#[test]
fn what_is_sent_is_written_when_finished_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.pcap");
    let mut port = CapturePort::open("out", None, Some(&path), at(DAY)).unwrap();
    assert!(port.ended(), "nothing will ever come");
    send(&mut port, 5 * SECOND, LinkType::RAW, b"one");
    send(&mut port, 6 * SECOND, LinkType::ETHERNET, b"another kind than the file's");
    send(&mut port, 7 * SECOND, LinkType::RAW, b"three");
    assert!(!path.exists());
    port.finish().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file remains");

    let mut again = CapturePort::open("in", Some(&path), None, at(DAY)).unwrap();
    assert_eq!(again.link(), LinkType::RAW);
    assert_eq!(received(&mut again, u64::MAX), [(5 * SECOND, b"one".to_vec()), (7 * SECOND, b"three".to_vec())]);
    assert_eq!(port.counters(), PortCounters { sent: 2, unsent: 1, ..PortCounters::default() });
}

#[test]
fn a_port_that_is_not_finished_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.pcap");
    let mut port = CapturePort::open("out", None, Some(&path), Time::ZERO).unwrap();
    send(&mut port, 0, LinkType::ETHERNET, b"lost");
    drop(port);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_cannot_be_written_is_named_as_it_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/out.pcap");
    let message = |path: &Path| CapturePort::open("out", None, Some(path), Time::ZERO).err().unwrap().to_string();
    let missing = format!("there is no folder {}", folder.path().join("none").display());
    assert_eq!(message(&path), format!("{}: cannot be written: {missing}", path.display()));
    let folders = [folder.path().to_path_buf(), folder.path().join("new/"), folder.path().join("new/.")];
    for path in folders {
        assert!(message(&path).ends_with("cannot be written: it is a folder"), "{}", message(&path));
    }
    // The system's own words, where no file can be made.
    let refused = message(Path::new("/proc/self/out.pcap"));
    assert!(refused.contains("(os error ") && !refused.contains(".dovetail-"), "{refused}");
    // In the end.
    let path = folder.path().join("out.pcap");
    let mut port = CapturePort::open("out", None, Some(&path), Time::ZERO).unwrap();
    std::fs::create_dir(&path).unwrap();
    let message = port.finish().unwrap_err().to_string();
    assert!(message.starts_with(&format!("{} cannot be written: ", path.display())), "{message}");
    assert!(!message.contains(".dovetail-"), "{message}");
}

#[test]
fn what_cannot_be_written_stays_with_the_sender_and_no_part_of_a_frame_remains() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.pcap");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Output::onto(&path, AtomicFile::onto(full, &path), Time::ZERO);
    let mut port = CapturePort::open("out", None, None, Time::ZERO).unwrap();
    port.output = Some(output);
    let mut pool = Pool::new();
    let frame = |_| {
        let mut frame = pool.take();
        frame.fill(Time::ZERO, &[7; 1000], LinkType::RAW);
        frame
    };
    // More than is kept before it is written.
    let mut frames: VecDeque<Frame> = (0..50).map(frame).collect();
    let message = port.send(Time::ZERO, &mut frames, &mut pool).unwrap_err().to_string();
    assert!(message.contains("out.pcap cannot be written: No space left"), "{message}");
    let sent = port.counters().sent;
    assert!(sent > 0 && !frames.is_empty());
    assert_eq!((sent as usize + frames.len(), pool.in_use()), (50, frames.len()));
    port.finish().unwrap();
    assert!(!path.exists(), "it was said already");
}

#[test]
fn a_device_a_pipe_or_a_link_stays() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link.pcap");
    std::os::unix::fs::symlink("nowhere.pcap", &link).unwrap();
    let other = "it is a link, which would be replaced: name the file itself";
    for (path, why) in [(Path::new("/dev/null"), "it is not an ordinary file"), (&link, other)] {
        let message = CapturePort::open("out", None, Some(path), Time::ZERO).err().unwrap().to_string();
        assert_eq!(message, format!("{}: cannot be written: {why}", path.display()));
    }
}

#[test]
fn a_file_without_frames_is_a_capture() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.pcap");
    CapturePort::open("out", None, Some(&path), Time::ZERO).unwrap().finish().unwrap();
    assert_eq!(super::first_time(&path).unwrap(), None);
    let mut port = CapturePort::open("in", Some(&path), None, Time::ZERO).unwrap();
    assert!(port.ended());
    send(&mut port, 0, LinkType::ETHERNET, b"nowhere");
    assert_eq!(port.counters().unsent, 1);
}

#[test]
fn what_cannot_be_read_is_said_and_damage_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.pcap");
    let message = CapturePort::open("in", Some(&missing), None, Time::ZERO).err().unwrap().to_string();
    assert!(message.contains("missing.pcap") && message.contains("No such file"), "{message}");
    // Nobody writes to this pipe.
    let pipe = folder.path().join("pipe.pcap");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for message in [
        CapturePort::open("in", Some(&pipe), None, Time::ZERO).err().unwrap().to_string(),
        super::first_time(&pipe).unwrap_err().to_string(),
    ] {
        assert_eq!(message, format!("{}: cannot be read: it is not an ordinary file", pipe.display()));
    }
    let path = written(folder.path(), "cut.pcap", LinkType::ETHERNET, &[(0, b"whole", 5), (1, b"cut off", 7)]);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    let mut port = CapturePort::open("in", Some(&path), None, at(DAY)).unwrap();
    assert_eq!(received(&mut port, 10), [(0, b"whole".to_vec())]);
    assert_eq!(port.counters(), PortCounters { received: 1, missed: 1, ..PortCounters::default() });
}
