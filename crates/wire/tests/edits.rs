//! Headers changed in place, held against a library that writes them anew and against sums word by word.

use dovetail_wire::{IpView, LinkType, NonFlow, TransportCheck, TtlExpired, checksum, ip_offset, updated};
use etherparse::{IpNumber, Ipv4Header, Ipv6FragmentHeader, Ipv6Header, PacketBuilder, SingleVlanHeader};
use proptest::prelude::*;

const SRC: [u8; 4] = [192, 0, 2, 77];
const DST: [u8; 4] = [198, 51, 100, 9];
const SRC6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const DST6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/// TCP, UDP and ICMP over both versions of IP, with right checksums.
fn packets(payload: &[u8]) -> Vec<Vec<u8>> {
    let mut packets = vec![Vec::new(); 6];
    PacketBuilder::ipv4(SRC, DST, 64).udp(4000, 53).write(&mut packets[0], payload).unwrap();
    PacketBuilder::ipv4(SRC, DST, 64).tcp(4000, 80, 7, 9).write(&mut packets[1], payload).unwrap();
    PacketBuilder::ipv4(SRC, DST, 64).icmpv4_echo_request(1, 2).write(&mut packets[2], payload).unwrap();
    PacketBuilder::ipv6(SRC6, DST6, 64).udp(4000, 53).write(&mut packets[3], payload).unwrap();
    PacketBuilder::ipv6(SRC6, DST6, 64).tcp(4000, 80, 7, 9).write(&mut packets[4], payload).unwrap();
    PacketBuilder::ipv6(SRC6, DST6, 64).icmpv6_echo_request(1, 2).write(&mut packets[5], payload).unwrap();
    packets
}

fn view(bytes: &[u8]) -> IpView<&[u8]> {
    IpView::new(bytes).unwrap()
}

/// Word by word in a wide sum, as RFC 1071 defines it.
fn defined(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|c| u64::from(c[0]) << 8 | u64::from(*c.get(1).unwrap_or(&0)));
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[test]
fn the_header_is_found_behind_every_tag_and_padding_does_no_harm() {
    let ip = &packets(b"hello")[0];
    for tags in 0..3usize {
        let mut frame = [&[2; 6][..], &[4; 6]].concat();
        for _ in 0..tags {
            frame.extend([0x81, 0, 0, 5]);
        }
        frame.extend([8, 0]);
        frame.extend(ip);
        frame.resize(60, 0);
        let at = ip_offset(LinkType::ETHERNET, &frame).unwrap();
        assert_eq!(at, 14 + tags * SingleVlanHeader::LEN);
        let ip = view(&frame[at..]);
        assert_eq!((ip.total_len(), ip.transport_check()), (33, TransportCheck::Right));
        assert_eq!(ip.transport(), Some((17, 20..33)));
    }
    assert_eq!(ip_offset(LinkType::RAW, ip), Ok(0));
    assert_eq!(ip_offset(LinkType::ETHERNET, &[0; 10]), Err(NonFlow::Truncated));
}

#[test]
fn fields_are_those_that_were_written() {
    let mut header = Ipv4Header::new(8, 17, IpNumber::UDP, SRC, DST).unwrap();
    header.dscp = 46.try_into().unwrap();
    header.ecn = 1.try_into().unwrap();
    header.header_checksum = header.calc_header_checksum();
    let bytes = [&header.to_bytes()[..], &[0; 8]].concat();
    let ip = view(&bytes);
    assert_eq!((ip.is_v6(), ip.header_len(), ip.total_len(), ip.ttl()), (false, 20, 28, 17));
    assert_eq!((ip.traffic_class() >> 2, ip.ecn(), ip.protocol()), (46, 1, 17));
    assert_eq!((ip.source(), ip.destination()), (SRC.into(), DST.into()));
    assert!(ip.header_checksum_ok());
    let header = Ipv6Header {
        traffic_class: 0b1011_1010,
        flow_label: 0xabcde.try_into().unwrap(),
        payload_length: 8,
        next_header: IpNumber::UDP,
        hop_limit: 9,
        source: SRC6,
        destination: DST6,
    };
    let bytes = [&header.to_bytes()[..], &[0; 8]].concat();
    let ip = view(&bytes);
    assert_eq!((ip.is_v6(), ip.header_len(), ip.total_len(), ip.ttl()), (true, 40, 48, 9));
    assert_eq!((ip.traffic_class(), ip.ecn(), ip.protocol()), (0b1011_1010, 2, 17));
    assert_eq!((ip.source(), ip.destination()), (SRC6.into(), DST6.into()));
    assert!(ip.header_checksum_ok());
}

#[test]
fn sums_that_carry_twice_are_kept_up() {
    // ffff + ffff + 1 = 1ffff, whose halves make 10000.
    assert_eq!(updated(0, 0, 1), 0xfffe);
    assert_eq!(defined(&[0xff, 0xff, 0, 1]), 0xfffe);
}

#[test]
fn a_packet_at_the_end_of_its_hops_stays_as_it_is() {
    for mut packet in packets(b"x") {
        let at = if packet[0] >> 4 == 6 { 7 } else { 8 };
        for ttl in [0, 1] {
            packet[at] = ttl;
            let before = packet.clone();
            assert_eq!(IpView::new(&mut packet[..]).unwrap().decrement_ttl(), Err(TtlExpired));
            assert_eq!(packet, before);
        }
    }
}

#[test]
fn what_has_no_checksum_to_look_at_is_unknown_and_what_cannot_be_is_malformed() {
    let [udp, tcp, icmp, udp6, tcp6, icmp6] = packets(b"12345").try_into().unwrap();
    let check = |packet: &[u8]| view(packet).transport_check();
    let with = |packet: &[u8], changes: &[(usize, u8)]| {
        let mut packet = packet.to_vec();
        changes.iter().for_each(|&(at, byte)| packet[at] = byte);
        view(&packet).transport_check()
    };
    assert_eq!(with(&udp, &[(26, 0), (27, 0)]), TransportCheck::Unknown, "no checksum");
    assert_eq!(with(&udp6, &[(46, 0), (47, 0)]), TransportCheck::Wrong, "IPv6 knows no UDP without checksum");
    assert_eq!(with(&udp, &[(6, 0x20)]), TransportCheck::Unknown, "the first fragment");
    assert_eq!(with(&udp, &[(7, 1)]), TransportCheck::Unknown, "a later fragment");
    assert_eq!(with(&udp, &[(9, 99)]), TransportCheck::Unknown, "another protocol");
    assert_eq!(check(&udp[..30]), TransportCheck::Unknown, "a cut packet");
    assert_eq!(with(&udp, &[(25, 14)]), TransportCheck::Malformed, "a datagram longer than its packet");
    assert_eq!(with(&udp, &[(25, 7)]), TransportCheck::Malformed, "a datagram shorter than its header");
    assert_eq!(with(&udp, &[(3, 24)]), TransportCheck::Malformed, "a packet shorter than the UDP header");
    assert_eq!(with(&tcp, &[(3, 39)]), TransportCheck::Malformed, "a packet shorter than the TCP header");
    assert_eq!(with(&icmp, &[(3, 23)]), TransportCheck::Malformed, "a packet shorter than the ICMP header");
    assert_eq!(with(&udp, &[(3, 19)]), TransportCheck::Unknown, "a packet shorter than its IP header");
    for packet in [&tcp, &icmp, &tcp6, &icmp6] {
        assert_eq!(check(packet), TransportCheck::Right);
    }
}

#[test]
fn extension_headers_are_passed_but_not_those_that_hide_the_destination() {
    let udp6 = packets(b"12345").remove(3);
    let behind = |kind: u8, extension: [u8; 8]| {
        let mut packet = [&udp6[..40], &extension[..], &udp6[40..]].concat();
        packet[6] = kind;
        packet[5] += 8;
        view(&packet).transport_check()
    };
    assert_eq!(behind(0, [17, 0, 1, 4, 0, 0, 0, 0]), TransportCheck::Right, "hop-by-hop options");
    assert_eq!(behind(60, [17, 0, 1, 4, 0, 0, 0, 0]), TransportCheck::Right, "destination options");
    assert_eq!(behind(43, [17, 0, 0, 0, 0, 0, 0, 0]), TransportCheck::Unknown, "routing");
    let fragment = Ipv6FragmentHeader::new(IpNumber::UDP, 0.try_into().unwrap(), true, 1).to_bytes();
    assert_eq!(behind(44, fragment), TransportCheck::Unknown, "a fragment");
}

proptest! {
    #[test]
    fn checksums_are_as_defined(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(checksum(&bytes), defined(&bytes));
    }

    #[test]
    fn a_checksum_kept_up_is_the_checksum_of_the_changed_words(
        mut words in prop::collection::vec(any::<u16>(), 2..20),
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), prop_oneof![Just(0), Just(0xffff), any::<u16>()]), 1..20
        ),
    ) {
        // A header is never all zero, and RFC 1624's equation 3 is exact for all others.
        words[0] = 0x4500;
        let bytes = |words: &[u16]| words.iter().flat_map(|w| w.to_be_bytes()).collect::<Vec<u8>>();
        let mut sum = defined(&bytes(&words));
        for (at, new) in changes {
            let at = 1 + at.index(words.len() - 1);
            sum = updated(sum, words[at], new);
            words[at] = new;
            prop_assert_eq!(sum, defined(&bytes(&words)));
        }
    }

    #[test]
    fn changes_in_place_are_those_of_a_header_written_anew(
        options in 0usize..10, ttl in 2u8..=255, tos: u8, id: u16, ecn in 0u8..4, class: u8,
    ) {
        let mut header = Ipv4Header::new(0, ttl, IpNumber::TCP, SRC, DST).unwrap();
        header.options = [1; 40][..options * 4].try_into().unwrap();
        header.identification = id;
        header.dscp = (tos >> 2).try_into().unwrap();
        header.ecn = (tos & 3).try_into().unwrap();
        header.header_checksum = header.calc_header_checksum();
        let mut bytes = header.to_bytes().to_vec();
        let mut ip = IpView::new(&mut bytes[..]).unwrap();
        ip.set_ecn(ecn);
        prop_assert_eq!(ip.traffic_class(), tos & !3 | ecn);
        ip.set_traffic_class(class);
        ip.decrement_ttl().unwrap();
        prop_assert!(ip.header_checksum_ok());
        header.dscp = (class >> 2).try_into().unwrap();
        header.ecn = (class & 3).try_into().unwrap();
        header.time_to_live = ttl - 1;
        header.header_checksum = header.calc_header_checksum();
        prop_assert_eq!(&bytes[..], &header.to_bytes()[..]);
        bytes[10] ^= 0x55;
        let mut ip = IpView::new(&mut bytes[..]).unwrap();
        ip.set_ecn(!ecn);
        prop_assert!(!ip.header_checksum_ok(), "a wrong checksum is not made right by the way");
        ip.set_ecn(class);
        ip.recompute_header_checksum();
        prop_assert_eq!(&bytes[..], &header.to_bytes()[..]);
    }

    #[test]
    fn ipv6_changes_touch_nothing_else(class: u8, new: u8, label in 0u32..1 << 20, hops in 2u8..=255) {
        let mut header = Ipv6Header {
            traffic_class: class,
            flow_label: label.try_into().unwrap(),
            payload_length: 0,
            next_header: IpNumber::TCP,
            hop_limit: hops,
            source: SRC6,
            destination: DST6,
        };
        let mut bytes = header.to_bytes();
        let mut ip = IpView::new(&mut bytes[..]).unwrap();
        ip.set_ecn(new);
        ip.decrement_ttl().unwrap();
        ip.recompute_header_checksum();
        header.traffic_class = class & !3 | new & 3;
        header.hop_limit -= 1;
        prop_assert_eq!(bytes, header.to_bytes());
    }

    #[test]
    fn one_bit_flipped_makes_a_right_checksum_wrong(
        payload in prop::collection::vec(any::<u8>(), 0..100),
        which in 0usize..6, at: prop::sample::Index, bit in 0u8..8,
    ) {
        let mut packet = packets(&payload)[which].clone();
        prop_assert_eq!(view(&packet).transport_check(), TransportCheck::Right);
        let header = view(&packet).header_len();
        let place = header + at.index(packet.len() - header);
        // With another length in the UDP header there are other bytes to be summed, and no telling.
        prop_assume!(which % 3 != 0 || !(4..6).contains(&(place - header)));
        packet[place] ^= 1 << bit;
        prop_assert_ne!(view(&packet).transport_check(), TransportCheck::Right);
    }

    #[test]
    fn no_bytes_are_too_strange(
        mut bytes in prop::collection::vec(any::<u8>(), 0..120),
        version in prop_oneof![Just(0x45u8), Just(0x4f), Just(0x60), any::<u8>()],
    ) {
        if let Some(first) = bytes.first_mut() {
            *first = version;
        }
        let Ok(mut ip) = IpView::new(&mut bytes[..]) else { return Ok(()) };
        let (whole, end) = (ip.header_len(), ip.total_len());
        if let Some((_, place)) = ip.transport() {
            prop_assert!(place.start >= whole && place.end == end);
        }
        let _ = (ip.source(), ip.destination(), ip.transport_check(), ip.header_checksum_ok());
        ip.set_traffic_class(255);
        let _ = ip.decrement_ttl();
        ip.recompute_header_checksum();
        prop_assert!(ip.header_checksum_ok());
    }
}
