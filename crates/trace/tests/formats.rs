//! Undamaged captures of every format are read exactly.

mod common;

use std::io::{self, Read, Write};

use common::{MICRO, NANO, Order, Pcap, Pcapng, frame, read};
use dovetail_trace::{CaptureReader, Format, PcapWriter, TraceError};
use dovetail_units::Time;
use dovetail_wire::LinkType;
use flate2::Compression;
use flate2::write::GzEncoder;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn refusal(bytes: &[u8]) -> String {
    CaptureReader::new(bytes, "x.pcap").err().expect("no capture").to_string()
}

#[test]
fn pcap_in_both_byte_orders_and_precisions() {
    for order in [Order::Little, Order::Big] {
        for (magic, unit) in [(MICRO, 1000), (NANO, 1)] {
            let file =
                Pcap::new(order, magic, 1).record(1_000, 999_999, &frame(1, 8), 50).record(1_001, 0, &[7; 20], 900);
            let (records, reader) = read(&file.bytes);
            let expected =
                [(1_000_000_000_000 + 999_999 * unit, frame(1, 8), 50, 1), (1_001_000_000_000, vec![7; 20], 900, 1)];
            assert_eq!(records, expected, "{order:?} {magic:x}");
            assert_eq!(reader.format(), Format::Pcap { nanoseconds: unit == 1, big_endian: order == Order::Big });
            assert_eq!(reader.damage(), None);
        }
    }
}

#[test]
fn the_variant_with_long_record_headers() {
    for order in [Order::Little, Order::Big] {
        let mut file = Pcap::new(order, 0xa1b2_cd34, 1).bytes;
        for _ in 0..2 {
            // Second, microsecond, lengths; interface, protocol and type.
            file.extend([5u32, 6, 3, 3, 0xffff_ffff, 0xffff_ffff].map(|field| order.u32(field)).concat());
            file.extend([1, 2, 3]);
        }
        let (records, reader) = read(&file);
        assert_eq!(records, vec![(5_000_006_000, vec![1, 2, 3], 3, 1); 2], "{order:?}");
        assert_eq!(reader.format(), Format::Pcap { nanoseconds: false, big_endian: order == Order::Big });
    }
}

#[test]
fn captures_that_were_appended_to_each_other_are_read_as_one() {
    let parts = [(Order::Little, MICRO, 1), (Order::Little, MICRO, 1), (Order::Big, NANO, 101)];
    let files =
        parts.map(|(order, magic, link)| Pcap::new(order, magic, link).record(7, 9, &[1, 2, 3], 3).bytes).concat();
    let (records, reader) = read(&files);
    let expected = [(7_000_009_000, 1), (7_000_009_000, 1), (7_000_009_000, 101)];
    assert_eq!(records, expected.map(|(time, link)| (time, vec![1, 2, 3], 3, link)));
    assert_eq!((reader.damage(), reader.clamped_times()), (None, 1));
}

#[test]
fn a_packet_of_no_bytes_is_no_file_header_unless_it_has_its_version() {
    let file =
        Pcap::new(Order::Little, MICRO, 1).record(MICRO, 0x0004_0003, &[], 0).record(MICRO, 0x0004_0004, &[1], 1);
    assert_eq!(read(&file.bytes).0.len(), 2);
    // The other byte order's magic with this one's version: 2011-01-23.
    let file = Pcap::new(Order::Little, MICRO, 1).record(NANO.swap_bytes(), 0x0004_0002, &[], 0).record(
        1_295_823_521,
        0,
        &[1],
        1,
    );
    assert_eq!(read(&file.bytes).0.len(), 2);
}

#[test]
fn a_capture_behind_damage_is_read_by_its_own_header() {
    let damaged = [Pcap::new(Order::Little, MICRO, 1).record(7, 9, &[1, 2, 3], 3).bytes, vec![0xff; 40]].concat();
    let other = Pcap::new(Order::Big, NANO, 101).record(8, 9, &[4, 5, 6], 3).bytes;
    let files = [damaged, other].concat();
    let (records, reader) = read(&files);
    assert_eq!(records, [(7_000_009_000, vec![1, 2, 3], 3, 1), (8_000_000_009, vec![4, 5, 6], 3, 101)]);
    assert!(reader.damage().is_some());
}

#[test]
fn bits_about_frame_check_sequences_are_no_part_of_the_link_type() {
    let file = Pcap::new(Order::Little, MICRO, 0x5400_0001).record(1, 0, &[1], 1);
    assert_eq!(read(&file.bytes).0[0].3, 1);
}

#[test]
fn pcapng_with_sections_interfaces_and_clocks() {
    for order in [Order::Little, Order::Big] {
        let resolution = |n: u8| (9, vec![n]);
        let offset = |s: i64| (14, order.u64(s as u64).to_vec());
        let file = Pcapng::new(order)
            .interface(1, 0, &[])
            .interface(101, 0, &[(2, b"eth0".to_vec()), resolution(9)])
            .interface(113, 0, &[resolution(0x80 | 10), offset(100)])
            .packet(0, 1_000_000, &[1; 5], 5)
            .block(5, &[0; 8])
            .packet(1, 2_000_000_000, &[2; 6], 60)
            .packet(2, 1024, &[3; 7], 7)
            .section()
            .interface(12, 0, &[resolution(3), offset(-1)])
            .packet(0, 200_500, &[4; 8], 8)
            .interface(12, 0, &[resolution(12)])
            .packet(1, 300_000_000_000_000, &[5; 9], 9);
        let expected = [
            (1_000_000_000, vec![1; 5], 5, 1),
            (2_000_000_000, vec![2; 6], 60, 101),
            (101_000_000_000, vec![3; 7], 7, 113),
            (199_500_000_000, vec![4; 8], 8, 12),
            (300_000_000_000, vec![5; 9], 9, 12),
        ];
        let (records, reader) = read(&file.bytes);
        assert_eq!(records, expected, "{order:?}");
        assert_eq!((reader.format(), reader.damage()), (Format::Pcapng, None));
    }
}

#[test]
fn simple_packets_have_the_time_before_them_and_the_first_interface() {
    let file =
        Pcapng::new(Order::Little).interface(1, 6, &[]).simple(&[1; 4], 4).packet(0, 7, &[2; 6], 6).simple(&[3; 6], 90);
    let expected = [(0, vec![1; 4], 4, 1), (7_000, vec![2; 6], 6, 1), (7_000, vec![3; 6], 90, 1)];
    assert_eq!(read(&file.bytes).0, expected);
}

#[test]
fn obsolete_packet_blocks() {
    for order in [Order::Little, Order::Big] {
        // Interface, packets dropped, time, lengths.
        let fields = [0u32, 9, 3, 8].map(|field| order.u32(field)).concat();
        let body = [&order.u16(1)[..], &order.u16(77), &fields, &[1, 2, 3]].concat();
        let file = Pcapng::new(order).interface(1, 0, &[]).interface(101, 0, &[]).block(2, &body);
        assert_eq!(read(&file.bytes).0, [(9_000, vec![1, 2, 3], 8, 101)], "{order:?}");
    }
}

#[test]
fn clock_options_of_wrong_length_or_behind_the_end_do_not_count() {
    let wrong = [(9, vec![9, 9]), (14, vec![1; 9]), (14, vec![1; 4]), (9, vec![])];
    let behind = [(0, vec![]), (9, vec![9]), (14, vec![1; 8])];
    for options in [&wrong[..], &behind] {
        let file = Pcapng::new(Order::Big).interface(1, 0, options).packet(0, 5, &[1], 1);
        assert_eq!(read(&file.bytes).0, [(5_000, vec![1], 1, 1)]);
    }
}

#[test]
fn gzip_of_one_and_several_members() {
    let file = Pcap::new(Order::Little, MICRO, 1).record(1, 2, &frame(1, 9), 99).record(2, 2, &frame(2, 9), 99).bytes;
    let plain = read(&file).0;
    let (head, tail) = file.split_at(50);
    for packed in [gzip(&file), [gzip(head), gzip(tail)].concat()] {
        let (records, reader) = read(&packed);
        assert_eq!(records, plain);
        assert!(reader.is_gzip() && reader.damage().is_none());
    }
}

#[test]
fn a_capture_without_packets_is_a_capture() {
    for bytes in [Pcap::new(Order::Big, NANO, 1).bytes, Pcapng::new(Order::Little).bytes] {
        let (records, reader) = read(&bytes);
        assert!(records.is_empty() && reader.damage().is_none());
    }
}

#[test]
fn what_is_no_capture_is_told_so() {
    let cases: [(&[u8], &str); 7] = [
        (b"", "x.pcap is empty (0 bytes)"),
        (b"time,size\n1,2\n3,4\n", "looks like text"),
        (b"\x28\xb5\x2f\xfd123456789", "zstd-compressed"),
        (b"\x01\x02\x03\x04\x05", "starts with the bytes 01 02 03 04"),
        (b"\xd4\xc3\xb2\xa1\x02\x00", "ends within its file header, after 6 bytes"),
        (&gzip(b""), "is gzipped, and its content holds no data"),
        (&gzip(b"hello\n"), "is gzipped, and its content looks like text"),
    ];
    for (bytes, expected) in cases {
        assert!(refusal(bytes).contains(expected), "{:?}", refusal(bytes));
    }
}

#[test]
fn an_unreadable_file_is_named() {
    let error = CaptureReader::open("/no/such/capture.pcap".as_ref()).err().expect("no file");
    assert!(matches!(error, TraceError::Read { .. }));
    assert!(error.to_string().starts_with("cannot read /no/such/capture.pcap: "));
    let directory = CaptureReader::open(env!("CARGO_MANIFEST_DIR").as_ref()).err().expect("a directory");
    assert!(matches!(directory, TraceError::Read { .. }));
}

/// Hands out one byte at a time.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(1);
        self.0.read(&mut buffer[..len])
    }
}

#[test]
fn a_stream_that_trickles_reads_the_same() {
    let file =
        Pcapng::new(Order::Little).interface(1, 0, &[]).packet(0, 1, &frame(1, 70), 112).packet(0, 2, &frame(2, 3), 45);
    let mut reader = CaptureReader::new(Trickle(&file.bytes), "pipe").unwrap();
    assert_eq!(common::records(&mut reader), read(&file.bytes).0);
}

#[test]
fn backward_times_are_clamped_and_counted() {
    let file = Pcap::new(Order::Little, MICRO, 1).record(10, 0, &[1], 1).record(9, 0, &[2], 1).record(11, 0, &[3], 1);
    let (records, reader) = read(&file.bytes);
    assert_eq!(records.iter().map(|r| r.0 / 1_000_000_000).collect::<Vec<_>>(), [10, 10, 11]);
    assert_eq!(reader.clamped_times(), 1);
}

#[test]
fn an_impossible_original_length_becomes_the_captured_one() {
    let file = Pcap::new(Order::Little, MICRO, 1).record(10, 0, &[1; 30], u32::MAX);
    let (records, reader) = read(&file.bytes);
    assert_eq!((records[0].2, reader.clamped_lengths()), (30, 1));
}

#[test]
fn written_captures_are_read_back() {
    let mut writer = PcapWriter::new(Vec::new(), LinkType::RAW).unwrap();
    writer.write(Time::from_nanos(1_234_567_890_123_456_789), &[1, 2, 3], 1500).unwrap();
    writer.write(Time::from_nanos(1_234_567_890_123_456_790), &[4], 1).unwrap();
    let beyond_2106 = Time::from_nanos(5_000_000_000_000_000_000);
    assert!(writer.write(beyond_2106, &[4], 1).is_err());
    let bytes = writer.finish().unwrap();
    let expected =
        [(1_234_567_890_123_456_789, vec![1, 2, 3], 1500, 101), (1_234_567_890_123_456_790, vec![4], 1, 101)];
    assert_eq!(read(&bytes).0, expected);
}

/// Longer than what is buffered at once, so that records lie across the buffer's end.
#[test]
fn long_captures_are_read_whole() {
    for order in [Order::Little, Order::Big] {
        let packets: Vec<_> = (0..2_000u16).map(|n| (u32::from(n), frame(n, usize::from(n) % 1400))).collect();
        let (mut classic, mut blocks) = (Pcap::new(order, MICRO, 1), Pcapng::new(order).interface(1, 0, &[]));
        for (n, data) in &packets {
            classic = classic.record(*n, 17 * n, data, 1442);
            blocks = blocks.packet(0, u64::from(*n) * 1_000_017, data, 1442);
        }
        let expected: Vec<_> =
            packets.into_iter().map(|(n, data)| (u64::from(n) * 1_000_017_000, data, 1442, 1)).collect();
        assert!(read(&classic.bytes).0 == expected, "pcap, {order:?}");
        assert!(read(&blocks.bytes).0 == expected, "pcapng, {order:?}");
    }
}

/// Written out by hand after the format's description: 2 bytes of 60 caught at 0x5a5b4e34 s and 0x89600 us.
#[test]
fn a_pcap_file_of_literal_bytes() {
    let little = b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\0\0\0\0\0\0\0\0\x00\x00\x04\x00\x65\x00\x00\x00\
        \x34\x4e\x5b\x5a\x00\x96\x08\x00\x02\x00\x00\x00\x3c\x00\x00\x00\xaa\xbb";
    let big = b"\xa1\xb2\xc3\xd4\x00\x02\x00\x04\0\0\0\0\0\0\0\0\x00\x04\x00\x00\x00\x00\x00\x65\
        \x5a\x5b\x4e\x34\x00\x08\x96\x00\x00\x00\x00\x02\x00\x00\x00\x3c\xaa\xbb";
    for bytes in [little, big] {
        assert_eq!(read(bytes).0, [(1_515_933_236_562_688_000, vec![0xaa, 0xbb], 60, 101)]);
    }
}
