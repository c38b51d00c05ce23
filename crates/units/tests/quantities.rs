//! What people write, and what they get told when it is wrong.

use dovetail_units::{BitRate, Bytes, CycleRate, Density, Duration, PacketRate, Part, ResourceVec, Weight};

#[test]
fn quantities_read_as_people_write_them() {
    assert_eq!("84.5 us".parse(), Ok(Duration::from_nanos(84_500)));
    assert_eq!("84.5us".parse(), Ok(Duration::from_nanos(84_500)));
    // The micro sign and the Greek mu.
    assert_eq!("1 \u{b5}s".parse(), Ok(Duration::from_micros(1)));
    assert_eq!("1 \u{3bc}s".parse(), Ok(Duration::from_micros(1)));
    assert_eq!("1 h".parse(), Ok(Duration::from_secs(3600)));
    assert_eq!("0 s".parse(), Ok(Duration::ZERO));
    assert_eq!("1.4 kB".parse(), Ok(Bytes(1400)));
    assert_eq!("64 KiB".parse(), Ok(Bytes(65536)));
    assert_eq!("200 Mbps".parse::<BitRate>().unwrap().as_bps(), 200_000_000);
    assert_eq!("0.5 pps".parse::<PacketRate>().unwrap().as_pps(), 0.5);
    assert_eq!("0.25".parse::<Weight>().unwrap().as_milli(), 250);
}

#[test]
fn a_packet_holds_a_cpu_for_its_bits_times_its_density() {
    // 500 bytes are 4000 bits: 1000 cycles at 0.25 cycles/bit, 50 us at 20 Mcycles/s.
    let cpu: CycleRate = "20 Mcycles/s".parse().unwrap();
    assert_eq!(cpu.processing_time(500, "0.25 cycles/bit".parse().unwrap()), Duration::from_micros(50));
    assert_eq!("2 cycles/B".parse::<Density>().unwrap(), "0.25 cycles/bit".parse().unwrap());
    assert_eq!(cpu.processing_time(u64::MAX, Density::from_micro(u64::MAX)), Duration::MAX);
    assert!("0 MHz".parse::<CycleRate>().is_err());
}

#[test]
fn what_is_printed_reads_back_the_same() {
    for ns in [0, 1, 999, 1_000, 84_500, 1_000_000_001, 3_600_000_000_000, u64::MAX] {
        let d = Duration::from_nanos(ns);
        assert_eq!(d.to_string().parse(), Ok(d), "{d}");
    }
    for bps in [1, 1_500, 200_000_000, u64::MAX] {
        let rate = BitRate::from_bps(bps).unwrap();
        assert_eq!(rate.to_string().parse(), Ok(rate), "{rate}");
    }
}

#[test]
fn errors_name_the_text_the_problem_and_what_is_right() {
    let message = |text: &str| text.parse::<BitRate>().unwrap_err().to_string();
    assert_eq!(
        message("200 mbps"),
        r#""200 mbps": unknown unit "mbps", did you mean "Mbps"; expected a rate above zero such as "200 Mbps""#
    );
    assert!(message("200 MBps").contains("rates are in bits: 1 MBps is 8 Mbps"));
    assert!(message("200 kB/s").contains("rates are in bits: 1 kB/s is 8 kbps"));
    assert!(message("200").contains("the unit is missing"));
    assert!(message("-3 Mbps").contains("negative"));
    assert!(message("0 bps").contains("zero"));
    assert!(message("fast").contains("does not start with a number"));
    assert!(message("1.2.3 bps").contains("not a number"));
    assert!(message("99999999999999 Tbps").contains("too large"));
    // Where rounding itself would overflow.
    assert!(message("340282366920938463463374607431768211455 bps").contains("too large"));
    assert!("34028236692093846346337460743176821145.5 ns".parse::<Duration>().is_err());
    assert!(message("_ bps").contains("not a number"));
    assert!(message(". bps").contains("not a number"));
    assert!("0".parse::<Weight>().is_err());
    assert!("1e9".parse::<Weight>().is_err());
    assert!("2000000".parse::<Weight>().is_err());
}

#[test]
fn carried_remainders_keep_a_long_run_of_packets_exact() {
    // 1500 bytes at 7 Mbps last 1714285.714... ns: seven of them exactly 12 ms.
    let rate = BitRate::from_bps(7_000_000).unwrap();
    let (mut total, mut carry) = (Duration::ZERO, 0);
    for _ in 0..7 {
        let (time, rest) = rate.transmission_time(1500, carry);
        (total, carry) = (total + time, rest);
    }
    assert_eq!((total, carry), (Duration::from_millis(12), 0));
}

#[test]
fn constant_rate_is_exact_after_any_number_of_packets() {
    let third: PacketRate = "3 pps".parse().unwrap();
    assert_eq!(third.due(1), Duration::from_nanos(333_333_333));
    assert_eq!(third.due(3_000_000_000), Duration::from_secs(1_000_000_000));
}

/// Rates of which a packet or a byte takes a whole number of nanoseconds, and others; and numbers at which 64 bits
/// begin to be too few.
#[test]
fn without_remainders_times_are_multiples() {
    for rate in [1, 3, 7, 1_000, 2_000_000, 999_999_999, 1_000_000_000, 2_000_000_000, 3_000_000_000_000, 1 << 60] {
        let packets = PacketRate::from_micro_pps(rate).unwrap();
        for k in [0, 1, 2, 18_446, 18_447, 1_000_003, 18_446_744_073, 18_446_744_074, u64::MAX] {
            let exact = u128::from(k) * 1_000_000_000_000_000 / u128::from(rate);
            let due = Duration::from_nanos(u64::try_from(exact).unwrap_or(u64::MAX));
            assert_eq!(packets.due(k), due, "{k} of {rate}");
            assert!(packets.interval().is_none_or(|interval| interval.saturating_mul(k) == due), "{k} of {rate}");
        }
        let link = BitRate::from_bps(rate).unwrap();
        for bytes in [0, 1, 1500, u32::MAX.into()] {
            let sent = link.transmission_time(bytes, 0);
            assert!(link.byte_time().is_none_or(|byte| (byte.saturating_mul(bytes), 0) == sent), "{bytes} at {rate}");
        }
    }
    assert_eq!(PacketRate::from_micro_pps(2_000_000_000).unwrap().interval(), Some(Duration::from_micros(500)));
    assert_eq!(PacketRate::from_micro_pps(3_000_000).unwrap().interval(), None);
    assert_eq!(BitRate::from_bps(200_000_000).unwrap().byte_time(), Some(Duration::from_nanos(40)));
    assert_eq!(BitRate::from_bps(7_000_000).unwrap().byte_time(), None);
}

#[test]
fn the_dominant_resource_is_the_first_with_the_longest_time() {
    let v = ResourceVec::from_nanos([3, 7, 7]);
    assert_eq!(v.dominant_resource(), 1);
    assert_eq!(v.dominant_time(), Duration::from_nanos(7));
}

#[test]
fn sharing_a_span_rounds_to_the_nearest_nanosecond() {
    let ns = |n: u64, parts| Duration::from_nanos(n).divided_by(parts).as_nanos();
    assert_eq!([ns(10, 4), ns(9, 4), ns(11, 4), ns(10, 1), ns(10, 0)], [3, 2, 3, 10, 10]);
}

#[test]
fn a_small_part_is_not_rounded_to_none() {
    assert_eq!("0.0".parse(), Ok(Part::NONE));
    assert_eq!("0.001".parse::<Part>().unwrap().as_milli(), 1);
    let error = "0.0004".parse::<Part>().unwrap_err().to_string();
    assert!(error.contains("so small that it rounds to zero; expected 0 or a number from 0.001"), "{error}");
}
