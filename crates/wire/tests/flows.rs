//! What is read of packets: every link type, every cut.

use core::net::{IpAddr, Ipv4Addr};

use dovetail_wire::{Class, FiveTuple, FlowKey, KeyKind, LinkType, NonFlow, Ports, Prefix, PrefixLengths};
use dovetail_wire::{classify, parse, wire_length};
use etherparse::{IpFragOffset, IpNumber, Ipv4Header, Ipv6FragmentHeader, Ipv6Header, PacketBuilder, VlanId};
use proptest::prelude::*;

const SRC: [u8; 4] = [192, 0, 2, 77];
const DST: [u8; 4] = [198, 51, 100, 9];
const SRC6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const DST6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
const ETHERNET_HEADER: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

fn udp4() -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4(SRC, DST, 64).udp(4000, 53).write(&mut packet, &[0; 20]).unwrap();
    packet
}

fn tcp6() -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv6(SRC6, DST6, 64).tcp(4000, 443, 0, 100).write(&mut packet, &[0; 20]).unwrap();
    packet
}

fn tuple(v6: bool, protocol: u8, ports: Option<(u16, u16)>) -> FiveTuple {
    let (src, dst) = if v6 { (SRC6.into(), DST6.into()) } else { (IpAddr::from(SRC), IpAddr::from(DST)) };
    FiveTuple { src, dst, protocol, ports: ports.map(|(src, dst)| Ports { src, dst }) }
}

fn udp4_flow() -> FiveTuple {
    tuple(false, 17, Some((4000, 53)))
}

fn read(link: LinkType, bytes: &[u8]) -> Result<FiveTuple, NonFlow> {
    parse(link, bytes).map(|p| p.tuple)
}

#[test]
fn every_link_type_leads_to_the_same_flow() {
    let sll = [&[0, 0, 0, 1, 0, 6][..], &[0; 8], &[8, 0]].concat();
    let sll2 = [&[8, 0][..], &[0; 18]].concat();
    let pppoe = [0x11, 0, 0, 1, 0, 50, 0, 0x21];
    let cases: &[(LinkType, &[u8])] = &[
        (LinkType::ETHERNET, &[&ETHERNET_HEADER[..], &[8, 0]].concat()),
        (LinkType::ETHERNET, &[&ETHERNET_HEADER[..], &[0x81, 0, 0, 7, 8, 0]].concat()),
        (LinkType::ETHERNET, &[&ETHERNET_HEADER[..], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 8, 0]].concat()),
        (LinkType::ETHERNET, &[&ETHERNET_HEADER[..], &[0x88, 0x64], &pppoe].concat()),
        (LinkType::ETHERNET, &[&ETHERNET_HEADER[..], &[0x81, 0, 0, 7, 0x88, 0x64], &pppoe].concat()),
        (LinkType::ETHERNET, &[&ETHERNET_HEADER[..], &[0, 60, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat()),
        (LinkType::LINUX_SLL, &sll),
        (LinkType::LINUX_SLL2, &sll2),
        (LinkType::RAW, &[]),
        (LinkType::RAW_BSD, &[]),
        (LinkType::RAW_OPENBSD, &[]),
        (LinkType::IPV4, &[]),
        (LinkType::NULL, &[2, 0, 0, 0]),
        (LinkType::NULL, &[0, 0, 0, 2]),
        (LinkType::LOOP, &[0, 0, 0, 2]),
        (LinkType::PPP, &[0, 0x21]),
        (LinkType::PPP, &[0x21]),
        (LinkType::PPP_HDLC, &[0xff, 3, 0, 0x21]),
        (LinkType::PPP_ETHER, &pppoe),
        (LinkType::C_HDLC, &[0x0f, 0, 8, 0]),
    ];
    for (link, header) in cases {
        let packet = [header, &udp4()[..]].concat();
        assert_eq!(read(*link, &packet), Ok(udp4_flow()), "{link} {header:02x?}");
    }
    assert_eq!(read(LinkType::IPV6, &tcp6()), Ok(tuple(true, 6, Some((4000, 443)))));
    for family in [10u8, 24, 28, 30] {
        let packet = [&[family, 0, 0, 0], &tcp6()[..]].concat();
        assert_eq!(read(LinkType::NULL, &packet), Ok(tuple(true, 6, Some((4000, 443)))), "address family {family}");
    }
}

#[test]
fn vlan_tags_from_a_library_writer_are_read() {
    let mut packet = Vec::new();
    PacketBuilder::ethernet2([2; 6], [4; 6])
        .double_vlan(VlanId::try_new(5).unwrap(), VlanId::try_new(6).unwrap())
        .ipv4(SRC, DST, 64)
        .udp(4000, 53)
        .write(&mut packet, &[1, 2, 3])
        .unwrap();
    assert_eq!(read(LinkType::ETHERNET, &packet), Ok(udp4_flow()));
}

#[test]
fn what_is_no_ip_packet_says_why() {
    let ethernet = |rest: &[u8]| read(LinkType::ETHERNET, &[&ETHERNET_HEADER[..], rest].concat());
    assert_eq!(ethernet(&[8, 6, 0, 1]), Err(NonFlow::Arp));
    assert_eq!(ethernet(&[0x88, 0xcc, 2, 7]), Err(NonFlow::NotIp));
    assert_eq!(ethernet(&[0, 38, 0x42, 0x42, 3]), Err(NonFlow::NotIp));
    assert_eq!(ethernet(&[0x88, 0x63, 0x11, 9, 0, 0]), Err(NonFlow::NotIp));
    assert_eq!(ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 2, 0xc0, 0x21]), Err(NonFlow::NotIp));
    assert_eq!(ethernet(&[8]), Err(NonFlow::Truncated));
    assert_eq!(ethernet(&[0x81, 0, 0]), Err(NonFlow::Truncated));
    assert_eq!(ethernet(&[8, 0]), Err(NonFlow::Truncated));
    assert_eq!(ethernet(&[8, 0, 0x75, 0]), Err(NonFlow::Malformed));
    assert_eq!(ethernet(&[8, 0, 0x41, 0]), Err(NonFlow::Malformed));
    assert_eq!(read(LinkType::NULL, &[0, 0, 0, 7, 0x45]), Err(NonFlow::NotIp));
    assert_eq!(read(LinkType(127), &[0; 64]), Err(NonFlow::UnknownLinkType));
}

#[test]
fn a_cut_packet_gives_what_is_left_of_it() {
    for (packet, v6, protocol, header, ports) in
        [(udp4(), false, 17, 20, (4000, 53)), (tcp6(), true, 6, 40, (4000, 443))]
    {
        for len in 0..packet.len() {
            let expected = match len {
                _ if len < header => Err(NonFlow::Truncated),
                _ if len < header + 4 => Ok(tuple(v6, protocol, None)),
                _ => Ok(tuple(v6, protocol, Some(ports))),
            };
            assert_eq!(read(LinkType::RAW, &packet[..len]), expected, "cut to {len} bytes");
        }
    }
}

#[test]
fn an_ipv4_header_cut_in_its_options_still_names_its_ends() {
    let mut packet = udp4();
    packet[0] = 0x4f;
    assert_eq!(read(LinkType::RAW, &packet[..30]), Ok(tuple(false, 17, None)));
}

#[test]
fn ipv4_fragments_are_one_flow_without_ports() {
    let fragment = |offset: u16, more: bool| {
        let mut header = Ipv4Header::new(24, 64, IpNumber::UDP, SRC, DST).unwrap();
        header.fragment_offset = IpFragOffset::try_new(offset).unwrap();
        header.more_fragments = more;
        let mut packet = header.to_bytes().to_vec();
        packet.extend([0x0f, 0xa0, 0, 53]);
        packet.extend([9; 20]);
        parse(LinkType::RAW, &packet).unwrap()
    };
    for packet in [fragment(0, true), fragment(3, true), fragment(6, false)] {
        assert!(packet.fragment);
        assert_eq!(packet.tuple, tuple(false, 17, None));
    }
    let whole = fragment(0, false);
    assert_eq!((whole.fragment, whole.tuple.ports), (false, Some(Ports { src: 4000, dst: 53 })));
}

/// The fragmentable part begins with destination options: only the first fragment has them, the later ones
/// have bytes there that look like anything.
#[test]
fn ipv6_fragments_are_one_flow_whatever_follows_the_fragment_header() {
    const DESTINATION_OPTIONS: u8 = 60;
    let fragment = |offset: u16, more: bool, payload: &[u8]| {
        let header = Ipv6Header {
            payload_length: 8 + payload.len() as u16,
            next_header: IpNumber(44),
            source: SRC6,
            destination: DST6,
            ..Default::default()
        };
        let offset = IpFragOffset::try_new(offset).unwrap();
        let fragment = Ipv6FragmentHeader::new(IpNumber(DESTINATION_OPTIONS), offset, more, 7);
        let packet = [&header.to_bytes()[..], &fragment.to_bytes(), payload].concat();
        read(LinkType::RAW, &packet)
    };
    let first = [17, 0, 1, 4, 0, 0, 0, 0, 0x0f, 0xa0, 0, 53, 0, 16, 0, 0];
    let expected = Ok(tuple(true, DESTINATION_OPTIONS, None));
    assert_eq!(fragment(0, true, &first), expected);
    assert_eq!(fragment(2, true, &[6; 16]), expected);
    assert_eq!(fragment(4, false, &[44; 3]), expected);
    let atomic = fragment(0, false, &first);
    assert_eq!(atomic, Ok(tuple(true, 17, Some((4000, 53)))));
}

#[test]
fn protocols_without_ports_have_none_in_the_key() {
    let mut echo = Vec::new();
    PacketBuilder::ipv4(SRC, DST, 64).icmpv4_echo_request(4000, 53).write(&mut echo, &[0; 8]).unwrap();
    assert_eq!(read(LinkType::RAW, &echo), Ok(tuple(false, 1, None)));
}

#[test]
fn a_prefix_key_is_the_senders_block_and_the_receivers_port() {
    let kind: KeyKind = "prefix+port".parse().unwrap();
    let block = Prefix::of(Ipv4Addr::new(192, 0, 2, 0).into(), 24);
    let expected = FlowKey::PrefixPort { src: block, port: Some(53) };
    assert_eq!(classify(LinkType::RAW, &udp4(), kind), Class::Flow(expected));
    assert_eq!(expected.to_string(), "192.0.2.0/24 > :53");
    assert_eq!(kind.key(&tuple(true, 6, Some((1, 2)))).to_string(), "2001:db8:5::/48 > :2");
}

#[test]
fn keys_of_hosts_and_prefixes_leave_out_all_else() {
    let key = |kind: &str, tuple: &FiveTuple| kind.parse::<KeyKind>().unwrap().key(tuple).to_string();
    let (v4, v6) = (udp4_flow(), tuple(true, 6, Some((1, 2))));
    assert_eq!(
        ["host", "to-host", "prefix", "to-prefix"].map(|kind| key(kind, &v4)),
        ["from 192.0.2.77", "to 198.51.100.9", "from 192.0.2.0/24", "to 198.51.100.0/24"]
    );
    assert_eq!(["host", "to-prefix:8/32"].map(|kind| key(kind, &v6)), ["from 2001:db8:5::1", "to 2001:db8::/32"]);
    // Other protocols and ports are the same flow, another host is not.
    let kind: KeyKind = "host".parse().unwrap();
    assert_eq!(kind.key(&tuple(false, 1, None)), kind.key(&v4));
    let other = FiveTuple { src: Ipv4Addr::new(192, 0, 2, 78).into(), ..v4 };
    assert_ne!(kind.key(&other), kind.key(&v4));
    assert_eq!("prefix".parse::<KeyKind>().unwrap().key(&other), "prefix".parse::<KeyKind>().unwrap().key(&v4));
}

#[test]
fn key_kinds_are_written_as_they_are_read() {
    let written = ["5-tuple", "prefix+port:24/48", "prefix+port:0/0", "prefix+port:32/128"];
    for text in written.into_iter().chain(["host", "to-host", "prefix:24/48", "to-prefix:20/40"]) {
        assert_eq!(text.parse::<KeyKind>().unwrap().to_string(), text);
    }
    assert_eq!("prefix:32/128".parse::<KeyKind>(), "host".parse());
    let wrong = ["", "hosts", "host:24/48", "prefix+port:", "prefix+port:33/48", "prefix+port:24/129", "prefix:24"];
    for text in wrong.into_iter().chain(["5-tuple:24/48", "prefix: 24/48"]) {
        assert!(text.parse::<KeyKind>().is_err(), "{text:?}");
    }
    assert!(PrefixLengths::new(33, 0).is_none());
}

#[test]
fn flows_print_as_people_write_them() {
    assert_eq!(udp4_flow().to_string(), "udp 192.0.2.77:4000 > 198.51.100.9:53");
    assert_eq!(tuple(true, 6, Some((1, 2))).to_string(), "tcp [2001:db8:5::1]:1 > [2001:db8:6::2]:2");
    assert_eq!(tuple(false, 200, None).to_string(), "ip-200 192.0.2.77 > 198.51.100.9");
}

#[test]
fn no_packet_is_shorter_than_what_was_captured_or_than_a_byte() {
    assert_eq!(wire_length(60, 1500), 1500);
    assert_eq!(wire_length(60, 0), 60);
    assert_eq!(wire_length(0, 0), 1);
}

proptest! {
    #[test]
    fn prefixes_keep_the_leading_bits(addr: u32, wide: u128, len in 0u8..=128) {
        let bits4 = (0..32).filter(|i| *i < len).fold(0u32, |m, i| m | 1 << (31 - i));
        let prefix = Prefix::of(Ipv4Addr::from_bits(addr).into(), len);
        prop_assert_eq!(prefix.addr(), IpAddr::from((addr & bits4).to_be_bytes()));
        let bits6 = (0..128).filter(|i| *i < len).fold(0u128, |m, i| m | 1 << (127 - i));
        prop_assert_eq!(Prefix::of(wide.to_be_bytes().into(), len).addr(), IpAddr::from((wide & bits6).to_be_bytes()));
    }

    #[test]
    fn random_bytes_of_any_link_type_never_panic(link in prop_oneof![
        (0u16..300).boxed(), proptest::sample::select(vec![0, 1, 9, 51, 101, 104, 113, 276]).boxed(),
    ], bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = parse(LinkType(link), &bytes);
    }

    #[test]
    fn damaged_packets_never_panic(v6: bool, at in 0usize..60, value: u8, cut in 0usize..80) {
        let mut packet = if v6 { tcp6() } else { udp4() };
        let at = at % packet.len();
        packet[at] = value;
        packet.truncate(cut);
        if let Ok(read) = parse(LinkType::RAW, &packet) {
            prop_assert!(packet.len() >= 20);
            prop_assert!(!read.fragment || read.tuple.ports.is_none());
        }
    }
}

#[test]
fn address_blocks_are_read_as_they_are_printed() {
    for text in ["0.0.0.0/0", "192.0.2.0/24", "192.0.2.7/32", "::/0", "2001:db8::/32", "2001:db8::1/128"] {
        assert_eq!(text.parse::<Prefix>().unwrap().to_string(), text);
    }
    assert_eq!("192.0.2.7".parse::<Prefix>().unwrap().len(), 32);
    for text in ["", "192.0.2.0/33", "::/129", "192.0.2.0/", "192.0.2/24", "/8", "192.0.2.0/-1"] {
        let error = text.parse::<Prefix>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("{text:?}: expected an address block")), "{error}");
    }
    let error = "192.0.2.7/24".parse::<Prefix>().unwrap_err().to_string();
    assert_eq!(error, "\"192.0.2.7/24\": there are bits beyond the prefix; did you mean `192.0.2.0/24`?");
}
