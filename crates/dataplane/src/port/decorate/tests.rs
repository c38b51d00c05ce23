use super::*;
use crate::port::atomic::{AtomicFile, Full};
use crate::port::capture::{CapturePort, Output, first_time};
use crate::port::memory::{MemoryPort, pair};
use crate::port::testbed::{received, send};
use dovetail_units::Duration;
use dovetail_wire::LinkType;
use std::path::Path;

const CABLE: usize = 1000;

fn cable() -> (Box<dyn Port>, MemoryPort) {
    let [near, far] = pair(["near", "far"], LinkType::RAW, CABLE);
    (Box::new(near), far)
}

/// A UDP packet of 40 bytes, from 192.0.2.1:1000 to 192.0.2.2:`port`.
fn udp(port: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0x03, 0xe8];
    packet.extend(port.to_be_bytes());
    packet.resize(40, 0);
    packet
}

#[test]
fn a_trace_has_a_line_for_each_frame_that_passes_and_none_for_one_that_waits() {
    let [near, mut far] = pair(["near", "far"], LinkType::RAW, 2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("near.txt");
    let mut pool = Pool::new();
    let mut port = Traced::new(Box::new(near), "out", &path, Time::from_nanos(1_500_000_000_000_000_000)).unwrap();
    send(&mut far, &mut pool, [udp(53)]);
    port.receive(Time::from_nanos(1_000_000_500), &mut pool, &mut Vec::new()).unwrap();
    let mut frames: VecDeque<_> = [1, 2, 3].map(|port| frame(&mut pool, &udp(port))).into();
    port.send(Time::from_nanos(2_000_000_000), &mut frames, &mut pool).unwrap();
    assert_eq!(frames.len(), 1, "the cable holds two");
    let mut both = Vec::new();
    far.receive(Time::ZERO, &mut pool, &mut both).unwrap();
    frames.push_back(frame(&mut pool, &[0x4f]));
    port.send(Time::from_nanos(3_000_000_007), &mut frames, &mut pool).unwrap();
    assert!(!path.exists());
    port.finish().unwrap();
    let expected = "1500000001.000000500 out rx 40 udp 192.0.2.1:1000 > 192.0.2.2:53\n\
                    1500000002.000000000 out tx 40 udp 192.0.2.1:1000 > 192.0.2.2:1\n\
                    1500000002.000000000 out tx 40 udp 192.0.2.1:1000 > 192.0.2.2:2\n\
                    1500000003.000000007 out tx 40 udp 192.0.2.1:1000 > 192.0.2.2:3\n\
                    1500000003.000000007 out tx 1 truncated\n";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn a_trace_that_cannot_be_written_stops_no_frame_and_is_told_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("near.txt");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let (near, mut far) = cable();
    let mut pool = Pool::new();
    let mut port = Traced::onto(near, "out", &path, AtomicFile::onto(full, &path), Time::ZERO);
    // More lines than are kept before they are written.
    let all: Vec<_> = (0..500).map(udp).collect();
    send(&mut port, &mut pool, all.clone());
    assert_eq!(received(&mut far, &mut pool, 500), all);
    let message = port.finish().unwrap_err().to_string();
    assert!(message.contains("near.txt cannot be written: No space left"), "{message}");
    assert!(!path.exists());
}

/// What is written of 500 frames that pass to a disk with room for so many bytes, and what is said of it in the end.
fn on_a_full_disk(room: usize, make: impl Fn(Box<dyn Port>, &Path, AtomicFile) -> Box<dyn Port>) -> (Vec<u8>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("near");
    let (near, mut far) = cable();
    let mut pool = Pool::new();
    let mut port = make(near, &path, AtomicFile::onto(Full::beside(&path, room), &path));
    let all: Vec<_> = (0..400).map(udp).collect();
    send(&mut *port, &mut pool, all.clone());
    assert_eq!(received(&mut far, &mut pool, 400), all);
    // It has its name at once, and frames go on.
    let at_once = std::fs::read(&path).unwrap();
    send(&mut *port, &mut pool, [udp(400)]);
    send(&mut far, &mut pool, [udp(401)]);
    assert_eq!(received(&mut far, &mut pool, 1), [udp(400)]);
    assert_eq!(received(&mut *port, &mut pool, 1), [udp(401)]);
    let message = port.finish().unwrap_err().to_string();
    assert_eq!(std::fs::read(&path).unwrap(), at_once);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no hidden file remains");
    (at_once, message)
}

#[test]
fn a_trace_that_outgrows_the_disk_keeps_its_whole_lines() {
    for room in [10_000, 10_001, 12_345, 20_000] {
        let make = |near, path: &Path, out| -> Box<dyn Port> {
            Box::new(Traced::onto(near, "out", path, out, Time::from_nanos(1_500_000_000_000_000_000)))
        };
        let (written, message) = on_a_full_disk(room, make);
        assert!(message.ends_with("near cannot be written: No space left on device (os error 28)"), "{message}");
        let text = String::from_utf8(written).unwrap();
        let line = |port| format!("1500000000.000000000 out tx 40 udp 192.0.2.1:1000 > 192.0.2.2:{port}\n");
        let lines: String = (0..400)
            .map(line)
            .scan(0, |len, line| {
                *len += line.len();
                (*len <= room).then_some(line)
            })
            .collect();
        assert_eq!(text, lines, "{room}");
    }
}

#[test]
fn a_record_that_outgrows_the_disk_keeps_its_whole_frames() {
    // A header of 24 bytes, and frames of 16 and 40.
    for (room, frames) in [(24 + 200 * 56, 200), (24 + 200 * 56 + 1, 200), (24 + 201 * 56 - 1, 200), (24, 0)] {
        let make = |near, path: &Path, out| -> Box<dyn Port> {
            Box::new(Recorded::onto(near, Output::onto(path, out, Time::ZERO)))
        };
        let (written, message) = on_a_full_disk(room, make);
        assert!(message.ends_with("near cannot be written: No space left on device (os error 28)"), "{message}");
        assert_eq!(written.len(), 24 + frames * 56);
        let ports = written[24..].chunks(56).map(|record| u16::from_be_bytes([record[38], record[39]]));
        assert!(ports.eq(0..frames as u16), "{room}");
    }
}

#[test]
fn what_finds_no_room_in_the_end_is_told_and_the_rest_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("near.pcap");
    let (near, _far) = cable();
    let mut pool = Pool::new();
    let out = AtomicFile::onto(Full::beside(&path, 24 + 3 * 56 + 20), &path);
    let mut port = Recorded::onto(near, Output::onto(&path, out, Time::ZERO));
    send(&mut port, &mut pool, (0..10).map(udp));
    assert!(!path.exists());
    let message = port.finish().unwrap_err().to_string();
    assert!(message.contains("near.pcap cannot be written: No space left"), "{message}");
    assert_eq!(std::fs::read(&path).unwrap().len(), 24 + 3 * 56);
}

#[test]
fn a_record_holds_what_passed_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("both.pcap");
    let (near, mut far) = cable();
    let mut pool = Pool::new();
    let mut port = Recorded::new(near, &path, Time::from_nanos(500)).unwrap();
    send(&mut far, &mut pool, [udp(1)]);
    assert_eq!(received(&mut port, &mut pool, 1), [udp(1)]);
    // More than a batch.
    let all: Vec<_> = (0..200).map(udp).collect();
    send(&mut port, &mut pool, all.clone());
    assert_eq!(received(&mut far, &mut pool, 200), all);
    assert!(!path.exists());
    port.finish().unwrap();
    let first = first_time(&path).unwrap().unwrap();
    let mut again = CapturePort::open("again", Some(&path), None, first).unwrap();
    assert_eq!((again.link(), first), (LinkType::RAW, Time::from_nanos(500)));
    let captured = received(&mut again, &mut pool, 201);
    assert_eq!((&captured[0], &captured[1..]), (&udp(1), &all[..]));
}

/// What comes through faults of 500 frames, one each microsecond, with the times they come at.
fn through(faults: &Faults, seed: u64) -> (Vec<(u64, Vec<u8>)>, FaultCounters, crate::port::PortCounters) {
    let (near, mut far) = cable();
    let mut port = Faulty::new(near, faults, seed).unwrap();
    let (mut pool, mut frames) = (Pool::new(), Vec::new());
    for number in 0..600 {
        if number < 500 {
            send(&mut far, &mut pool, [udp(number)]);
        }
        let now = Time::from_nanos(u64::from(number) * 1000);
        port.receive(now, &mut pool, &mut frames).unwrap();
        let counters = port.counters();
        let come = u64::from(number.min(499)) + 1;
        assert_eq!(come + port.faults().duplicated, counters.received + counters.missed + counters.held);
    }
    assert_eq!((port.counters().held, port.next_arrival()), (0, None));
    let seen = frames.iter().map(|frame| (frame.received.as_nanos(), frame.data().to_vec())).collect();
    (seen, port.faults(), port.counters())
}

const ALL: Faults = Faults { drop: 0.1, duplicate: 0.1, corrupt: 0.1, delay: 0.1, delay_by: Duration::from_micros(50) };

#[test]
fn the_same_seed_makes_the_same_faults_and_another_seed_others() {
    assert_eq!(through(&ALL, 7), through(&ALL, 7));
    assert_ne!(through(&ALL, 7).0, through(&ALL, 8).0);
}

#[test]
fn without_faults_everything_comes_as_it_is() {
    let (seen, faults, _) = through(&Faults::default(), 1);
    let all: Vec<_> = (0..500).map(|number| (u64::from(number) * 1000, udp(number))).collect();
    assert_eq!((seen, faults), (all, FaultCounters::default()));
}

#[test]
fn each_fault_does_what_it_says_as_often_as_it_says() {
    // Of 500 draws with probability 0.1, 50 are expected with a standard deviation of sqrt(500 * 0.1 * 0.9) = 6.7;
    // within five of them the number is in one of 1.7 million seeds outside.
    let about_50 = |count: u64| assert!((17..=83).contains(&count), "{count}");
    let seen_of = |change: fn(&mut Faults)| {
        let mut faults = Faults { delay_by: ALL.delay_by, ..Faults::default() };
        change(&mut faults);
        through(&faults, 3)
    };

    let (seen, faults, counters) = seen_of(|f| f.drop = 0.1);
    about_50(faults.dropped);
    assert_eq!((seen.len() as u64, counters.missed), (500 - faults.dropped, faults.dropped));

    let (seen, faults, _) = seen_of(|f| f.duplicate = 0.1);
    about_50(faults.duplicated);
    let twice = seen.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert_eq!((seen.len() as u64, twice as u64), (500 + faults.duplicated, faults.duplicated));

    let (seen, faults, _) = seen_of(|f| f.corrupt = 0.1);
    about_50(faults.corrupted);
    let flipped = |(number, (_, data)): (u16, &(u64, Vec<u8>))| -> u64 {
        data.iter().zip(udp(number)).map(|(a, b)| u64::from((a ^ b).count_ones())).sum()
    };
    let bits: Vec<u64> = (0..).zip(&seen).map(flipped).collect();
    assert!(bits.iter().all(|&bits| bits <= 1));
    assert_eq!((bits.iter().sum::<u64>(), seen.len()), (faults.corrupted, 500));

    let (seen, faults, _) = seen_of(|f| f.delay = 0.1);
    about_50(faults.delayed);
    let number = |data: &[u8]| u64::from(u16::from_be_bytes([data[22], data[23]]));
    let late = seen.iter().filter(|(time, data)| *time == number(data) * 1000 + 50_000).count() as u64;
    let punctual = seen.iter().filter(|(time, data)| *time == number(data) * 1000).count() as u64;
    assert_eq!((late, punctual), (faults.delayed, 500 - faults.delayed));
    assert!(!seen.is_sorted_by_key(|(_, data)| number(data)), "others overtake");
    assert!(seen.is_sorted_by_key(|&(time, _)| time));
}

#[test]
fn copies_and_late_frames_do_not_pile_up() {
    let faults = Faults { duplicate: 1.0, delay: 1.0, delay_by: Duration::from_secs(3600), ..Faults::default() };
    let (near, mut far) = cable();
    let mut port = Faulty::new(near, &faults, 1).unwrap();
    let mut pool = Pool::new();
    for round in 0..100 {
        send(&mut far, &mut pool, (0..100).map(udp));
        let mut frames = Vec::new();
        // Every copy comes at once: at most as many as one receipt has brought wait.
        for _ in 0..4 {
            port.receive(Time::from_nanos(round), &mut pool, &mut frames).unwrap();
            assert!(port.counters().held <= (HELD + BURST) as u64);
        }
        frames.drain(..).for_each(|frame| pool.give(frame));
    }
    assert_eq!(port.counters().held, HELD as u64);
    assert!(pool.made() <= HELD + 6 * BURST, "{}", pool.made());
}

#[test]
fn one_probability_changes_nothing_else() {
    let dropped = |faults: &Faults| through(faults, 5).1.dropped;
    let only_drop = Faults { drop: ALL.drop, ..Faults::default() };
    assert_eq!(dropped(&ALL), dropped(&only_drop));
}

#[test]
fn what_is_no_probability_is_named() {
    for wrong in [-0.1, 1.1, f64::NAN] {
        let faults = Faults { corrupt: wrong, ..Faults::default() };
        assert_eq!(Faulty::new(cable().0, &faults, 1).err(), Some("corrupt"));
    }
    let certain = Faults { drop: 1.0, ..Faults::default() };
    assert_eq!(through(&certain, 1).1.dropped, 500);
}

fn frame(pool: &mut Pool, data: &[u8]) -> Frame {
    let mut frame = pool.take();
    frame.fill(Time::ZERO, data, LinkType::RAW);
    frame
}
