//! What does not fit into a tunnel is cut, or its sender told; and TCP is told before.

use dovetail_dataplane::core::{Middlebox, Snapshot};
use dovetail_dataplane::frame::Pool;
use dovetail_dataplane::module::{Module, ModuleConfig};
use dovetail_units::Time;
use dovetail_wire::{IpView, LinkType, TransportCheck};
use etherparse::{PacketBuilder, TcpOptionElement};

use crate::support::{middlebox, put, us};

const IP: usize = 14;
const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 8, 0, 1];
const CLIENT6: [u8; 16] = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const SERVER6: [u8; 16] = [0xfd, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
/// The longest packet that fits, with GCM and an MTU of 1500.
const LONGEST: usize = 1446;

/// A box that encrypts everything, with further lines of the tunnel.
fn gateway(lines: &str) -> Middlebox {
    middlebox(&format!(
        "scheduler = \"drr\"\n[[module]]\nname = \"tunnel\"\nkind = \"esp\"\ntransform = \"aes128-gcm\"\n\
        key = \"000102030405060708090a0b0c0d0e0f10111213\"\nspi = 4096\nsrc = \"192.0.2.1\"\n\
        dst = \"192.0.2.2\"\n{lines}\n\
        [[class]]\nname = \"all\"\nmodules = [\"tunnel\"]\n"
    ))
}

fn other_end() -> Box<dyn Module> {
    let lines = "name = \"end\"\nkind = \"esp-decap\"\ntransform = \"aes128-gcm\"\n\
        key = \"000102030405060708090a0b0c0d0e0f10111213\"\nspi = 4096";
    toml::from_str::<ModuleConfig>(lines).unwrap().kind.build(std::path::Path::new("/")).unwrap()
}

/// A UDP frame with so long an IP packet, that may be cut or not.
fn udp(len: usize, dont_fragment: bool) -> Vec<u8> {
    let mut ip = etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::UDP, CLIENT, SERVER).unwrap();
    (ip.dont_fragment, ip.identification) = (dont_fragment, 0x1234);
    let payload: Vec<u8> = (0..len - 28).map(|k| (k / 7) as u8).collect();
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ip(etherparse::IpHeaders::Ipv4(ip, Default::default()));
    let mut frame = Vec::new();
    builder.udp(4000, 53).write(&mut frame, &payload).unwrap();
    frame
}

fn udp6(len: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv6(CLIENT6, SERVER6, 64).udp(4000, 53);
    builder.write(&mut frame, &vec![7; len - 48]).unwrap();
    frame
}

/// What leaves after these have come, and what their senders are told.
fn sent(middlebox: &mut Middlebox, frames: &[Vec<u8>]) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    frames.iter().for_each(|frame| put(middlebox, us(0), frame));
    (0..100).for_each(|step| middlebox.advance(us(step * 1000)));
    let mut all = |answers: bool| {
        let frames = if answers { &mut middlebox.answers } else { &mut middlebox.outgoing };
        let frames: Vec<_> = frames.drain(..).collect();
        let bytes = frames.iter().map(|frame| frame.data().to_vec()).collect();
        frames.into_iter().for_each(|frame| middlebox.pool.give(frame));
        bytes
    };
    (all(false), all(true))
}

fn counted(middlebox: &Middlebox) -> (Snapshot, impl Fn(&str) -> u64) {
    let snapshot = middlebox.snapshot(us(1_000_000));
    let counters = snapshot.modules[0].counters.clone();
    assert_eq!((snapshot.unaccounted, snapshot.buffers.lost, snapshot.total.held), (0, 0, 0), "{snapshot:?}");
    (snapshot, move |name: &str| counters[name])
}

fn decrypted(end: &mut dyn Module, outer: &[u8]) -> Vec<u8> {
    let mut frame = Pool::new().take();
    frame.fill(Time::ZERO, outer, LinkType::ETHERNET);
    end.process(&mut frame).unwrap();
    frame.data().to_vec()
}

#[test]
fn what_may_be_cut_is_cut_before_it_is_encrypted() {
    let (mut middlebox, mut end) = (gateway(""), other_end());
    let datagram = udp(1800, false);
    let (outer, answers) = sent(&mut middlebox, std::slice::from_ref(&datagram));
    assert_eq!((outer.len(), answers.len()), (2, 0));
    let mut payload: Vec<u8> = Vec::new();
    for (k, outer) in outer.iter().enumerate() {
        assert!(outer.len() <= IP + 1500);
        let inner = decrypted(&mut *end, outer);
        let ip = IpView::new(&inner[IP..]).unwrap();
        let fragment = ip.fragment().unwrap();
        assert!(ip.header_checksum_ok() && ip.total_len() == inner.len() - IP);
        assert_eq!((fragment.id, fragment.offset, fragment.more), (0x1234, payload.len(), k == 0));
        payload.extend(&inner[IP + 20..]);
    }
    assert_eq!(payload, datagram[IP + 20..]);
    let (snapshot, count) = counted(&middlebox);
    let total = snapshot.total;
    assert_eq!((total.frames_in, total.frames_made, total.frames_out, count("cut")), (1, 1, 2, 1));
    assert_eq!(total.bytes_out, outer.iter().map(Vec::len).sum::<usize>() as u64);
}

#[test]
fn a_fragment_is_cut_into_fragments_of_its_datagram() {
    let mut middlebox = gateway("mtu = 576");
    let mut fragment = udp(1500, false);
    fragment[IP + 6..IP + 8].copy_from_slice(&0x2010_u16.to_be_bytes());
    IpView::new(&mut fragment[IP..]).unwrap().recompute_header_checksum();
    let (outer, _) = sent(&mut middlebox, std::slice::from_ref(&fragment));
    let mut end = other_end();
    let inner: Vec<_> = outer.iter().map(|outer| decrypted(&mut *end, outer)).collect();
    let mut next = 0x10 * 8;
    for inner in &inner {
        let fragment = IpView::new(&inner[IP..]).unwrap().fragment().unwrap();
        assert_eq!((fragment.offset, fragment.more), (next, true));
        next = fragment.end();
    }
    assert_eq!((inner.len(), next), (3, 0x10 * 8 + 1480));
}

#[test]
fn a_sender_that_forbids_it_is_told_as_by_a_router() {
    let mut middlebox = gateway("");
    let [fits, long] = [udp(LONGEST, true), udp(LONGEST + 1, true)];
    let (outer, answers) = sent(&mut middlebox, &[fits, long.clone()]);
    assert_eq!((outer.len(), answers.len()), (1, 1));
    let answer = &answers[0];
    assert_eq!(answer[..IP], [&[2; 6][..], &[4; 6], &[8, 0]].concat(), "to where it came from");
    let ip = IpView::new(&answer[IP..]).unwrap();
    assert_eq!((ip.source(), ip.destination()), ([192, 0, 2, 1].into(), CLIENT.into()));
    assert!(ip.header_checksum_ok() && ip.transport_check() == TransportCheck::Right);
    assert_eq!(ip.total_len(), 576);
    let [high, low] = (LONGEST as u16).to_be_bytes();
    assert_eq!(answer[IP + 20..IP + 22], [3, 4]);
    assert_eq!(answer[IP + 24..IP + 28], [0, 0, high, low]);
    assert_eq!(answer[IP + 28..], long[IP..IP + 548], "the packet as it came");
    let (snapshot, count) = counted(&middlebox);
    assert_eq!((snapshot.total.dropped["esp-too-big"], count("told"), count("untold")), (1, 1, 0));
}

#[test]
fn ipv6_is_never_cut() {
    for (lines, from) in
        [("", SERVER6), ("icmp_src6 = \"fd00::fe\"", [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe])]
    {
        let mut middlebox = gateway(lines);
        let long = udp6(1500);
        let (outer, answers) = sent(&mut middlebox, &[udp6(LONGEST), long.clone()]);
        assert_eq!((outer.len(), answers.len()), (1, 1));
        let answer = &answers[0];
        let ip = IpView::new(&answer[IP..]).unwrap();
        assert_eq!((ip.source(), ip.destination()), (from.into(), CLIENT6.into()));
        assert_eq!((ip.total_len(), ip.transport_check()), (1280, TransportCheck::Right));
        assert_eq!((answer[54], answer[55], &answer[58..62]), (2, 0, &(LONGEST as u32).to_be_bytes()[..]));
        assert_eq!(answer[62..], long[IP..IP + 1232]);
    }
}

#[test]
fn a_box_may_refuse_to_cut() {
    let mut middlebox = gateway("fragment = false\nicmp_src = \"10.0.0.254\"");
    let (outer, answers) = sent(&mut middlebox, &[udp(1500, false)]);
    assert_eq!((outer.len(), answers.len()), (0, 1));
    assert_eq!(IpView::new(&answers[0][IP..]).unwrap().source(), std::net::IpAddr::from([10, 0, 0, 254]));
}

#[test]
fn who_must_not_be_told_is_not_and_others_only_so_often() {
    let mut middlebox = gateway("");
    let long = udp(1500, true);
    let changed = |changes: &[(usize, u8)]| {
        let mut frame = long.clone();
        changes.iter().for_each(|&(at, byte)| frame[at] = byte);
        IpView::new(&mut frame[IP..]).unwrap().recompute_header_checksum();
        frame
    };
    // A message of an error; a later fragment; for many receivers; from nobody, or many; in a frame to everybody.
    let silent = [
        changed(&[(IP + 9, 1), (IP + 20, 3)]),
        changed(&[(IP + 7, 9)]),
        changed(&[(IP + 16, 224)]),
        changed(&[(IP + 12, 0), (IP + 13, 0), (IP + 15, 0)]),
        changed(&[(IP + 12, 239)]),
        changed(&[(0, 0xff)]),
    ];
    assert_eq!(sent(&mut middlebox, &silent).1.len(), 0);
    // A question is answered.
    assert_eq!(sent(&mut middlebox, &[changed(&[(IP + 9, 1), (IP + 20, 8)])]).1.len(), 1);
    let mut middlebox = gateway("");
    let told = sent(&mut middlebox, &vec![long.clone(); 150]).1.len() as u64;
    let (snapshot, count) = counted(&middlebox);
    assert!((50..150).contains(&told), "{told}");
    assert_eq!((count("told"), count("untold"), snapshot.total.dropped["esp-too-big"]), (told, 150 - told, 150));
}

/// The first segment of a connection, either way, with these options.
fn opening(back: bool, v6: bool, options: &[TcpOptionElement]) -> Vec<u8> {
    let ends = if back { (53, 4000) } else { (4000, 53) };
    let link = PacketBuilder::ethernet2([2; 6], [4; 6]);
    let builder = match (v6, back) {
        (false, false) => link.ipv4(CLIENT, SERVER, 64),
        (false, true) => link.ipv4(SERVER, CLIENT, 64),
        (true, false) => link.ipv6(CLIENT6, SERVER6, 64),
        (true, true) => link.ipv6(SERVER6, CLIENT6, 64),
    };
    let mut frame = Vec::new();
    builder.tcp(ends.0, ends.1, 7, 1000).syn().options(options).unwrap().write(&mut frame, &[]).unwrap();
    frame
}

/// The largest segment that it allows, and whether its checksum is right. It is the first option but for an odd one.
fn allows(frame: &[u8]) -> (u16, bool) {
    let ip = IpView::new(&frame[IP..]).unwrap();
    let (_, place) = ip.transport().unwrap();
    let options = &frame[IP + place.start + 20..];
    let at = options.iter().position(|&byte| byte != 1).unwrap();
    (u16::from_be_bytes([options[at + 2], options[at + 3]]), ip.transport_check() == TransportCheck::Right)
}

#[test]
fn tcp_is_told_what_fits_whichever_side_begins() {
    use TcpOptionElement::{MaximumSegmentSize as Mss, Noop};
    for (v6, fits) in [(false, LONGEST - 40), (true, LONGEST - 60)] {
        for options in [&[Mss(1460)][..], &[Noop, Mss(1460)]] {
            let (mut middlebox, mut end) = (gateway(""), other_end());
            let (outer, _) = sent(&mut middlebox, &[opening(false, v6, options)]);
            assert_eq!(allows(&decrypted(&mut *end, &outer[0])), (fits as u16, true), "{options:?}");
            let mut answer = middlebox.pool.take();
            answer.fill(us(0), &opening(true, v6, options), LinkType::ETHERNET);
            middlebox.returning(&mut answer);
            assert_eq!(allows(answer.data()), (fits as u16, true));
            middlebox.pool.give(answer);
            assert_eq!(counted(&middlebox).1("clamped"), 2);
        }
    }
    let mut off = gateway("clamp_mss = false");
    let (outer, _) = sent(&mut off, &[opening(false, false, &[Mss(1460)])]);
    assert_eq!(allows(&decrypted(&mut *other_end(), &outer[0])), (1460, true));
    let mut small = gateway("");
    let (outer, _) = sent(&mut small, &[opening(false, false, &[Mss(536)])]);
    assert_eq!(allows(&decrypted(&mut *other_end(), &outer[0])), (536, true));
}

#[test]
fn what_begins_no_connection_comes_back_as_it_is() {
    let mut middlebox = gateway("");
    for bytes in [vec![0; 3], opening(true, false, &[])[..40].to_vec(), udp(100, true)] {
        let mut frame = middlebox.pool.take();
        frame.fill(us(0), &bytes, LinkType::ETHERNET);
        middlebox.returning(&mut frame);
        assert_eq!(frame.data(), bytes);
        middlebox.pool.give(frame);
    }
}
