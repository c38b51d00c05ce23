//! Damaged captures: what can be read is, what cannot is counted, nothing panics.

mod common;

use std::io::{self, Read, Write};

use common::{MICRO, Order, Pcap, Pcapng, frame, read};
use dovetail_trace::{CaptureInfo, CaptureReader, TraceError, load};
use dovetail_wire::{KeyKind, NonFlow};
use proptest::collection::vec;
use proptest::prelude::*;

const RECORD: usize = 16 + 60;

/// Ten packets of 60 bytes; the source port says which.
fn ten() -> Vec<u8> {
    (0..10).fold(Pcap::new(Order::Little, MICRO, 1), |file, n| file.record(100, u32::from(n), &frame(n, 18), 60)).bytes
}

fn ten_blocks() -> Vec<u8> {
    let file = Pcapng::new(Order::Little).interface(1, 0, &[]);
    (0..10).fold(file, |file, n| file.packet(0, u64::from(n) + 1, &frame(n, 18), 60)).bytes
}

/// The packets that were read, by source port.
fn ports(bytes: &[u8]) -> Vec<u16> {
    read(bytes).0.iter().map(|r| u16::from_be_bytes([r.1[34], r.1[35]])).collect()
}

#[test]
fn a_cut_capture_yields_all_whole_packets() {
    let bytes = ten();
    for len in 24..bytes.len() {
        let (records, reader) = read(&bytes[..len]);
        assert_eq!(records.len(), (len - 24) / RECORD, "cut to {len}");
        let rest = (len - 24) % RECORD;
        assert_eq!(reader.damage().map(|d| (d.records, d.bytes)), (rest > 0).then_some((1, rest as u64)));
    }
}

#[test]
fn a_cut_pcapng_yields_all_whole_packets() {
    let bytes = ten_blocks();
    let packet = 12 + 20 + 60;
    let first = bytes.len() - 10 * packet;
    for len in first..bytes.len() {
        let (records, reader) = read(&bytes[..len]);
        assert_eq!(records.len(), (len - first) / packet, "cut to {len}");
        assert_eq!(reader.damage().map_or(0, |d| d.bytes), ((len - first) % packet) as u64);
    }
}

#[test]
fn reading_goes_on_after_a_record_with_an_impossible_length() {
    let mut bytes = ten();
    let length = 24 + 3 * RECORD + 8;
    bytes[length..length + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(ports(&bytes), [0, 1, 2, 4, 5, 6, 7, 8, 9]);
    let (_, reader) = read(&bytes);
    let damage = reader.damage().unwrap();
    assert_eq!((damage.records, damage.bytes, damage.offset), (1, RECORD as u64, 24 + 3 * RECORD as u64));
    assert!(damage.to_string().contains("claims 4294967295 captured bytes"), "{damage}");
}

#[test]
fn reading_goes_on_after_lost_bytes() {
    let mut bytes = ten();
    let middle = 24 + 5 * RECORD + 60;
    bytes.drain(middle..middle + 10);
    // Record 5 takes in ten bytes of record 6, which is lost.
    assert_eq!(ports(&bytes), [0, 1, 2, 3, 4, 5, 7, 8, 9]);
}

#[test]
fn a_stretch_of_zeros_is_one_place_of_damage() {
    let mut bytes = ten();
    bytes[24 + 4 * RECORD..24 + 6 * RECORD].fill(0);
    assert_eq!(ports(&bytes), [0, 1, 2, 3, 6, 7, 8, 9]);
    assert_eq!(read(&bytes).1.damage().map(|d| (d.records, d.bytes)), Some((1, 2 * RECORD as u64)));
}

#[test]
fn a_whole_record_between_damage_and_a_cut_one_is_read() {
    let mut bytes = ten();
    bytes[24 + 7 * RECORD..24 + 8 * RECORD].fill(0xff);
    bytes.truncate(24 + 9 * RECORD + 20);
    assert_eq!(ports(&bytes), [0, 1, 2, 3, 4, 5, 6, 8]);
    assert_eq!(read(&bytes).1.damage().map(|d| (d.records, d.bytes)), Some((2, RECORD as u64 + 20)));
}

#[test]
fn pcapng_goes_on_at_the_next_block() {
    let clean = ten_blocks();
    let packet = 12 + 20 + 60;
    let fourth = clean.len() - 6 * packet;
    for (at, value) in [(fourth + 4, 13), (fourth + 4, u32::MAX), (fourth + packet - 4, 0)] {
        let mut bytes = clean.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        assert_eq!(ports(&bytes), [0, 1, 2, 3, 5, 6, 7, 8, 9], "{value} at {at}");
        assert_eq!(read(&bytes).1.damage().map(|d| (d.records, d.bytes)), Some((1, packet as u64)));
    }
}

#[test]
fn a_packet_of_an_undescribed_interface_is_counted_as_damage() {
    let file =
        Pcapng::new(Order::Little).interface(1, 0, &[]).packet(3, 1, &frame(1, 18), 60).packet(0, 2, &frame(2, 18), 60);
    assert_eq!(ports(&file.bytes), [2]);
    let reason = read(&file.bytes).1.damage().unwrap().reason.clone();
    assert_eq!(reason, "a packet of interface 3, of 1 described");
}

#[test]
fn a_packet_whose_time_is_far_away_is_counted_as_damage() {
    let since = |seconds: i64| Pcapng::new(Order::Little).interface(1, 0, &[(14, seconds.to_le_bytes().to_vec())]);
    // 2^64 ns are 18,446,744,073.709551616 s; time stamps are in microseconds.
    for (seconds, near, far) in [(0, 18_446_744_073_709_551, 18_446_744_073_709_552), (-2, 2_000_000, 1_999_999)] {
        let file = since(seconds).packet(0, far, &frame(1, 18), 60).packet(0, near, &frame(2, 18), 60);
        assert_eq!(ports(&file.bytes), [2]);
        let damage = read(&file.bytes).1.damage().cloned().unwrap();
        assert_eq!((damage.records, damage.reason.as_str()), (1, "a time stamp that is not between 1970 and 2554"));
    }
}

/// Interface 1 counts in nanoseconds and has raw packets.
#[test]
fn behind_a_damaged_interface_description_the_others_keep_their_numbers() {
    let start = Pcapng::new(Order::Little).bytes.len();
    let first = Pcapng::new(Order::Little).interface(1, 0, &[]);
    let second = first.bytes.len() - start;
    let packets = [0, 1, 0, 1].into_iter().zip(1_u16..);
    let clean = packets.fold(first.interface(101, 0, &[(9, vec![9])]), |file, (interface, k)| {
        file.packet(interface, 1_000_000 + u64::from(k), &frame(k, 18), 60)
    });
    for (at, value) in [(start + 4, 13), (start + second - 4, 99)] {
        let mut bytes = clean.bytes.clone();
        bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
        let (records, reader) = read(&bytes);
        let seen: Vec<_> = records.iter().map(|(time, data, _, link)| (*time, data[35], *link)).collect();
        assert_eq!(seen, [(1_000_002, 2, 101), (1_000_004, 4, 101)], "{value} at {at}");
        assert_eq!(reader.damage().unwrap().records, 3, "the description and the packets of its interface");
    }
}

#[test]
fn an_interface_description_of_megabytes_is_damage() {
    let options = vec![(1, Vec::new()); 1 << 19];
    let file =
        Pcapng::new(Order::Little).interface(1, 0, &options).interface(1, 0, &[]).packet(1, 2, &frame(2, 18), 60);
    assert_eq!(ports(&file.bytes), [2]);
    let damage = read(&file.bytes).1.damage().cloned().unwrap();
    assert_eq!((damage.records, damage.bytes), (1, (4 << 19) + 24));
}

#[test]
fn a_packet_block_that_claims_more_than_it_has_gives_what_it_has() {
    let mut file = Pcapng::new(Order::Little).interface(1, 0, &[]).packet(0, 1, &frame(1, 18), 60);
    let captured = file.bytes.len() - 4 - 60 - 8;
    file.bytes[captured..captured + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(read(&file.bytes).0, [(1_000, frame(1, 18), 60, 1)]);
}

#[test]
fn a_cut_gzip_file_yields_what_unpacks() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    packed.write_all(&ten()).unwrap();
    let packed = packed.finish().unwrap();
    let (records, reader) = read(&packed[..packed.len() - 8 - 2 * RECORD]);
    assert_eq!(records.len(), 8);
    assert!(reader.damage().unwrap().reason.contains("cannot be unpacked further"));
}

/// Wherever a gzip file is cut off, also between two records, it is told that the packed data end early.
#[test]
fn a_gzip_file_that_is_cut_off_says_so_and_is_one_place_of_damage() {
    for (bytes, record) in [(ten(), RECORD), (ten_blocks(), 12 + 20 + 60)] {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        packer.write_all(&bytes).unwrap();
        let packed = packer.finish().unwrap();
        for lost in 1..8 + 2 * record {
            let reader = read(&packed[..packed.len() - lost]).1;
            let damage = reader.damage().unwrap();
            assert_eq!(damage.records, 1, "{lost} lost: {damage}");
            let told = "the gzip data cannot be unpacked further: it ends early";
            assert!(damage.to_string().ends_with(told), "{lost} lost: {damage}");
        }
    }
}

#[test]
fn a_gzip_file_that_is_cut_off_before_its_first_bytes_says_so() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    packer.write_all(&ten()).unwrap();
    let packed = packer.finish().unwrap();
    for len in [5, 10, 20, 30] {
        let error = CaptureReader::new(&packed[..len], "cut").err().unwrap().to_string();
        assert!(
            error.contains("; the gzip data cannot be unpacked further: it ends early; expected"),
            "{len}: {error}"
        );
    }
}

#[test]
fn an_early_end_behind_other_damage_is_a_second_place() {
    let mut bytes = ten();
    bytes[24 + 4 * RECORD..24 + 5 * RECORD].fill(0);
    let mut reader = CaptureReader::new(Failing(&bytes), "disk").unwrap();
    assert_eq!(common::records(&mut reader).len(), 9);
    let damage = reader.damage().unwrap();
    assert_eq!((damage.records, damage.bytes), (2, RECORD as u64));
    assert!(damage.to_string().ends_with("a record of no bytes; reading failed: disk on fire"), "{damage}");
}

/// A stream that fails after its bytes.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() { Err(io::Error::other("disk on fire")) } else { self.0.read(buffer) }
    }
}

#[test]
fn a_read_error_is_an_error_at_first_and_damage_later() {
    let error = CaptureReader::new(Failing(&[]), "disk").err().unwrap();
    assert_eq!(error.to_string(), "cannot read disk: disk on fire");
    let bytes = ten();
    let mut reader = CaptureReader::new(Failing(&bytes), "disk").unwrap();
    assert_eq!(common::records(&mut reader).len(), 10);
    assert_eq!(reader.damage().unwrap().reason, "reading failed: disk on fire");
}

#[test]
fn a_file_that_is_read_ahead_reads_as_a_stream_does() {
    // Records that fill what is read at once, cross its end, or are longer.
    const K: usize = 1 << 10;
    let lengths = [60, 64 * K - 16, 64 * K, 1, 256 * K, 70 * K, 900 * K, 1500, 256 * K - 17, 3 * K * K, 60, 320 * K];
    let mut file = Pcap::new(Order::Little, MICRO, 1);
    for (second, len) in (1..).zip(lengths.into_iter().cycle().take(24)) {
        file = file.record(second, 0, &vec![second as u8; len], len as u32);
    }
    let whole = file.bytes;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&whole).unwrap();
    let packed = packer.finish().unwrap();
    let mut damaged = whole.clone();
    damaged[300 * K..301 * K].fill(0xff);
    let mut corrupt = packed.clone();
    let middle = packed.len() / 2;
    corrupt[middle..middle + 100].fill(0xff);
    let cases = [&whole[..], &whole[..whole.len() - 5], &whole[..24], &damaged, &packed, &packed[..middle], &corrupt];
    let path = tempfile::NamedTempFile::new().unwrap();
    for bytes in cases {
        std::fs::write(&path, bytes).unwrap();
        let mut ahead = CaptureReader::open(path.path()).unwrap();
        let (expected, here) = read(bytes);
        assert_eq!(common::records(&mut ahead), expected);
        assert_eq!(ahead.damage(), here.damage());
        assert!(ahead.next_record().is_none());
    }
    std::fs::write(&path, b"").unwrap();
    let empty = CaptureReader::open(path.path()).err().unwrap();
    assert!(matches!(empty, TraceError::Empty { .. }), "{empty}");
}

/// A pipe that stays open.
struct Open(io::Cursor<Vec<u8>>);

impl Read for Open {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => loop {
                std::thread::park();
            },
            len => Ok(len),
        }
    }
}

#[test]
fn what_a_pipe_has_is_read_before_there_is_more() {
    let mut reader = CaptureReader::ahead(Open(io::Cursor::new(ten())), "pipe").unwrap();
    assert!((0..10).all(|_| reader.next_record().is_some()));
    let other = CaptureReader::ahead(Open(io::Cursor::new(vec![0; 600])), "pipe").err().unwrap();
    assert!(matches!(other, TraceError::NotACapture { .. }), "{other}");
}

/// Every record is in the flow table once, and the report's sums hold.
fn check_accounts(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Ok(mut reader) = CaptureReader::new(bytes, "fuzz") else { return Ok(()) };
    let packets = load(&mut reader, KeyKind::FiveTuple);
    let report = &packets.report;
    prop_assert_eq!(report.records, packets.arrivals.len() as u64);
    prop_assert_eq!(report.records, report.flow_packets + report.no_flow_packets());
    prop_assert_eq!(report.no_flow_packets(), NonFlow::ALL.iter().map(|r| report.no_flow(*r)).sum::<u64>());
    let flows = &packets.flows;
    prop_assert_eq!(report.records, flows.entries().map(|f| f.packets).sum::<u64>());
    prop_assert_eq!(packets.bytes(), packets.arrivals.iter().map(|a| u64::from(a.size)).sum::<u64>());
    prop_assert!(packets.arrivals.iter().is_sorted_by_key(|a| a.time));
    prop_assert!(packets.arrivals.iter().all(|a| a.size > 0 && (a.flow as usize) < flows.len()));
    let info =
        CaptureInfo::read(&mut CaptureReader::new(bytes, "fuzz").unwrap(), KeyKind::FiveTuple, 5, u64::MAX).unwrap();
    prop_assert_eq!(info.report, packets.report.clone());
    prop_assert_eq!(info.total.packets, info.protocols.iter().map(|p| p.1.packets).sum::<u64>());
    prop_assert_eq!(info.total.packets, info.sizes.iter().map(|s| s.packets).sum::<u64>());
    prop_assert!(info.captured_bytes <= bytes.len() as u64);
    Ok(())
}

/// A change to a capture: overwrite, remove, insert, cut.
fn mutate(bytes: &mut Vec<u8>, (kind, at, patch): &(u8, prop::sample::Index, Vec<u8>)) {
    let at = at.index(bytes.len() + 1);
    let end = (at + patch.len()).min(bytes.len());
    match kind {
        0 => bytes[at..end].copy_from_slice(&patch[..end - at]),
        1 => drop(bytes.drain(at..end)),
        2 => drop(bytes.splice(at..at, patch.iter().copied())),
        _ => bytes.truncate(at),
    }
}

proptest! {
    #[test]
    fn mutated_captures_are_accounted_for(
        blocks: bool,
        mutations in vec((0u8..4, any::<prop::sample::Index>(), vec(any::<u8>(), 1..9)), 1..6),
    ) {
        let mut bytes = if blocks { ten_blocks() } else { ten() };
        for mutation in &mutations {
            mutate(&mut bytes, mutation);
        }
        check_accounts(&bytes)?;
    }

    #[test]
    fn random_bytes_behind_a_file_header_are_accounted_for(
        header in 0usize..3,
        bytes in vec(prop_oneof![Just(0u8), Just(1), Just(6), any::<u8>()], 0..600),
    ) {
        let head = match header {
            0 => Pcap::new(Order::Little, MICRO, 1).bytes,
            1 => Pcap::new(Order::Big, MICRO, 276).bytes,
            _ => Pcapng::new(Order::Little).interface(1, 0, &[]).bytes,
        };
        check_accounts(&[head, bytes].concat())?;
    }

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..300)) {
        check_accounts(&bytes)?;
    }
}
