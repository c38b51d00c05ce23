//! Fragments are treated as what they are fragments of.

use dovetail_dataplane::core::{Middlebox, Snapshot};
use dovetail_wire::IpView;
use etherparse::PacketBuilder;
use proptest::prelude::*;

use crate::support::{middlebox, put, us};

const IP: usize = 14;

/// Dear is what goes to port 5000.
const BOX: &str = r#"scheduler = "drr"
[[class]]
name = "dear"
match = [{ protocol = "udp", dport = "5000" }, { protocol = "tcp", dport = "5000" }]
cost = "10 us"
[[class]]
name = "cheap"
"#;

fn v4(id: u16, port: u16, payload: &[u8]) -> Vec<u8> {
    let mut ip = etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::UDP, [10, 0, 0, 1], [10, 0, 1, 1]).unwrap();
    ip.identification = id;
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ip(etherparse::IpHeaders::Ipv4(ip, Default::default()));
    let mut frame = Vec::new();
    builder.udp(9, port).write(&mut frame, payload).unwrap();
    frame
}

/// These bytes of a datagram's payload, in a packet with its headers; whether more follow.
fn part(whole: &[u8], place: std::ops::Range<usize>, more: bool) -> Vec<u8> {
    let mut frame = [&whole[..IP + 20], &whole[IP + 20 + place.start..IP + 20 + place.end]].concat();
    let field = (place.start / 8) as u16 | if more { 0x2000 } else { 0 };
    frame[IP + 2..IP + 4].copy_from_slice(&(20 + place.len() as u16).to_be_bytes());
    frame[IP + 6..IP + 8].copy_from_slice(&field.to_be_bytes());
    IpView::new(&mut frame[IP..]).unwrap().recompute_header_checksum();
    frame
}

/// A datagram cut behind each of these bytes of its payload.
fn cut(whole: &[u8], ends: &[usize]) -> Vec<Vec<u8>> {
    let len = whole.len() - IP - 20;
    let starts = [0].iter().chain(ends);
    starts.zip(ends.iter().chain([&len])).map(|(&start, &end)| part(whole, start..end, end < len)).collect()
}

/// As [`cut`] into two, with IPv6.
fn v6(id: u32, port: u16, next: u8) -> [Vec<u8>; 2] {
    let mut whole = Vec::new();
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv6([0xfd; 16], [0xfe; 16], 64).udp(9, port);
    builder.write(&mut whole, &[7; 100]).unwrap();
    let part = |place: std::ops::Range<usize>, more: bool| {
        let mut frame = whole[..54].to_vec();
        frame[IP + 6] = 44;
        frame[IP + 4..IP + 6].copy_from_slice(&(8 + place.len() as u16).to_be_bytes());
        frame.extend([next, 0]);
        frame.extend((place.start as u16 | u16::from(more)).to_be_bytes());
        frame.extend(id.to_be_bytes());
        [frame, whole[54..][place].to_vec()].concat()
    };
    [part(0..56, true), part(56..108, false)]
}

fn let_through(middlebox: &mut Middlebox, from: u64) -> Snapshot {
    (0..=20).for_each(|step| middlebox.advance(us(from + step * 10_000)));
    while let Some(frame) = middlebox.outgoing.pop_front() {
        middlebox.pool.give(frame);
    }
    let snapshot = middlebox.snapshot(us(from + 200_000));
    assert_eq!((snapshot.unaccounted, snapshot.buffers.lost), (0, 0), "{snapshot:?}");
    snapshot
}

/// Frames in of a class, and its drops.
fn of(snapshot: &Snapshot, class: &str) -> (u64, Vec<(String, u64)>) {
    let class = snapshot.classes.iter().find(|known| known.class == class);
    class.map_or((0, Vec::new()), |class| (class.frames.frames_in, class.frames.dropped.clone().into_iter().collect()))
}

fn came(snapshot: &Snapshot) -> [u64; 3] {
    ["dear", "cheap", "fragments"].map(|class| of(snapshot, class).0)
}

fn dropped(snapshot: &Snapshot, reason: &str) -> u64 {
    snapshot.total.dropped.get(reason).copied().unwrap_or(0)
}

#[test]
fn all_fragments_are_of_the_class_and_the_flow_of_the_first() {
    let mut middlebox = middlebox(BOX);
    cut(&v4(1, 5000, &[1; 3992]), &[1480, 2960]).iter().for_each(|frame| put(&mut middlebox, us(0), frame));
    cut(&v4(2, 80, &[1; 3992]), &[1480, 2960]).iter().for_each(|frame| put(&mut middlebox, us(0), frame));
    put(&mut middlebox, us(0), &v4(3, 5000, b"whole"));
    v6(4, 5000, 17).iter().for_each(|frame| put(&mut middlebox, us(0), frame));
    let snapshot = let_through(&mut middlebox, 0);
    assert_eq!(came(&snapshot), [6, 3, 0], "{snapshot:?}");
    assert_eq!((snapshot.total.cpu_s, snapshot.flows.len()), (60e-6, 3), "charged like the datagram");
}

#[test]
fn those_that_come_before_it_wait_and_follow_it_in_order() {
    let mut middlebox = middlebox(BOX);
    let parts = cut(&v4(1, 5000, &[1; 3992]), &[1480, 2960]);
    for k in [2, 1] {
        put(&mut middlebox, us(0), &parts[k]);
        middlebox.advance(us(50_000));
    }
    assert_eq!((middlebox.waiting(), middlebox.held(), middlebox.next_event()), (2, 0, Some(us(100_000))));
    assert_eq!(middlebox.snapshot(us(0)).buffers.lost, 0);
    put(&mut middlebox, us(60_000), &parts[0]);
    (0..5).for_each(|step| middlebox.advance(us(60_000 + step * 10)));
    let offset = |frame: &dovetail_dataplane::frame::Frame| frame.data()[IP + 7];
    assert_eq!(middlebox.outgoing.iter().map(offset).collect::<Vec<_>>(), [0, 185, 114]);
    assert_eq!(came(&let_through(&mut middlebox, 70_000)), [3, 0, 0]);
}

#[test]
fn whose_datagram_is_not_known_in_time_is_dropped_or_of_the_class_that_says_so() {
    for (lines, expected, reason) in [
        ("", [0, 0, 2], 2),
        ("[fragments]\nunknown = \"dear\"\n", [2, 0, 0], 0),
        ("[fragments]\nunknown = \"cheap\"\nwait = \"0 s\"\n", [0, 2, 0], 0),
    ] {
        let mut middlebox =
            middlebox(&BOX.replace("[[class]]\nname = \"dear\"", &format!("{lines}[[class]]\nname = \"dear\"")));
        let parts = cut(&v4(1, 5000, &[1; 3992]), &[1480, 2960]);
        parts[1..].iter().for_each(|frame| put(&mut middlebox, us(0), frame));
        let snapshot = let_through(&mut middlebox, 0);
        assert_eq!((came(&snapshot), dropped(&snapshot, "fragment-unknown")), (expected, reason), "{lines}");
        assert_eq!(middlebox.waiting(), 0);
    }
}

#[test]
fn what_would_make_a_datagram_something_else_is_dropped() {
    let mut middlebox = middlebox(BOX);
    let (whole, other) = (v4(1, 80, &[1; 3992]), v4(1, 5000, &[1; 3992]));
    let mut drops = |reason: &str, frames: &[Vec<u8>]| {
        let before = dropped(&let_through(&mut middlebox, 0), reason);
        frames.iter().for_each(|frame| put(&mut middlebox, us(0), frame));
        let after = let_through(&mut middlebox, 0);
        dropped(&after, reason) - before
    };
    let first = part(&whole, 0..1480, true);
    // A second first fragment with other ports, or of another length; a later one that begins within the first one; one
    // that begins within what has come.
    assert_eq!(drops("fragment-overlap", &[first.clone(), first.clone()]), 0, "the same once more is harmless");
    assert_eq!(drops("fragment-overlap", &[part(&other, 0..1480, true), part(&whole, 0..1472, true)]), 2);
    assert_eq!(drops("fragment-overlap", &[part(&whole, 8..1488, true), part(&whole, 1472..2000, true)]), 2);
    let next = part(&whole, 1480..2960, true);
    assert_eq!(drops("fragment-overlap", &[next.clone(), next]), 1);
    // Two ends.
    let [end, another] = [part(&whole, 3200..4000, false), part(&whole, 3200..3900, false)];
    assert_eq!(drops("fragment-overlap", &[end, another]), 1);
    // Too short to hold the ports, or all that decides: RFC 1858.
    assert_eq!(drops("fragment-tiny", &[part(&v4(2, 80, &[1; 100]), 0..0, true)]), 0);
    let mut tcp = v4(3, 80, &[1; 100]);
    tcp[IP + 9] = 6;
    assert_eq!(drops("fragment-tiny", &[part(&tcp, 0..16, true)]), 1);
    assert_eq!(drops("fragment-tiny", &[part(&tcp, 0..24, true)]), 0);
    // Longer than a datagram can be; not cut where they may be; empty.
    let mut long = part(&v4(4, 80, &[1; 1000]), 0..800, true);
    long[IP + 6..IP + 8].copy_from_slice(&0x1fff_u16.to_be_bytes());
    let malformed = [long, part(&v4(5, 80, &[1; 100]), 0..17, true), part(&v4(6, 80, &[1; 100]), 8..8, false)];
    assert_eq!(drops("fragment-malformed", &malformed), 3);
}

#[test]
fn a_datagram_that_never_ends_is_forgotten_and_a_whole_one_at_once() {
    let mut middlebox = middlebox(&format!("{BOX}[fragments]\ntimeout = \"10 s\"\nwait = \"0 s\"\n"));
    let whole = v4(1, 5000, &[1; 3992]);
    put(&mut middlebox, us(0), &part(&whole, 0..1480, true));
    put(&mut middlebox, us(9_900_000), &part(&whole, 1480..2960, true));
    put(&mut middlebox, us(10_000_000), &part(&whole, 2960..3000, true));
    let snapshot = let_through(&mut middlebox, 10_000_000);
    assert_eq!((came(&snapshot), dropped(&snapshot, "fragment-unknown")), ([2, 0, 1], 1));
    // Identifications come again: once a datagram is whole, its number may be that of another one.
    let at = us(20_000_000);
    for (port, times) in [(5000, 2), (80, 2)] {
        for _ in 0..times {
            cut(&v4(7, port, &[1; 3992]), &[1480, 2960]).iter().for_each(|frame| put(&mut middlebox, at, frame));
        }
    }
    assert_eq!(came(&let_through(&mut middlebox, 20_000_000)), [2 + 6, 6, 1]);
}

#[test]
fn a_flood_of_first_fragments_or_of_later_ones_takes_no_more_than_it_may() {
    let mut middlebox = middlebox(&format!(
        "{BOX}[fragments]\ndatagrams = 8\nwaiting = \"4 packets\"\n[flows]\nqueue = \"unlimited\"\n"
    ));
    let parts = |id: u16| cut(&v4(id, 80, &[1; 100]), &[56]);
    (100..150).for_each(|id| put(&mut middlebox, us(0), &parts(id)[1]));
    assert_eq!((middlebox.waiting(), dropped(&middlebox.snapshot(us(0)), "fragment-unknown")), (4, 46));
    let_through(&mut middlebox, 0);
    (0..1000).for_each(|id| put(&mut middlebox, us(200_000), &parts(id)[0]));
    // The latest eight are known.
    (0..1000).rev().for_each(|id| put(&mut middlebox, us(200_000), &parts(id)[1]));
    let snapshot = let_through(&mut middlebox, 200_000);
    assert_eq!(of(&snapshot, "cheap").0, 1008);
}

#[test]
fn headers_that_hide_ports_are_unknown() {
    let mut middlebox = middlebox(BOX);
    // Destination options behind the header of the fragment: where the ports are nobody says in time.
    v6(1, 5000, 60).iter().for_each(|frame| put(&mut middlebox, us(0), frame));
    let snapshot = let_through(&mut middlebox, 0);
    assert_eq!((came(&snapshot), dropped(&snapshot, "fragment-unknown")), ([0, 0, 2], 2));
}

#[test]
fn a_whole_packet_with_the_addresses_and_protocol_of_unknown_fragments_is_of_the_class_that_the_rules_say() {
    let mut middlebox = middlebox(&format!("{BOX}[fragments]\nunknown = \"dear\"\n"));
    let [first, later] = v6(1, 5000, 60);
    // Not a fragment, and without ports as well: nothing follows the header but its options.
    let mut whole = first[..54].to_vec();
    whole[IP + 6] = 60;
    whole[IP + 4..IP + 6].copy_from_slice(&[0; 2]);
    [first, later, whole].iter().for_each(|frame| put(&mut middlebox, us(0), frame));
    assert_eq!(came(&let_through(&mut middlebox, 0))[..2], [2, 1]);
}

#[test]
fn what_waits_when_the_box_ends_is_counted() {
    let mut middlebox = middlebox(BOX);
    put(&mut middlebox, us(0), &cut(&v4(1, 5000, &[1; 3992]), &[1480, 2960])[1]);
    middlebox.give_up(us(10));
    let snapshot = middlebox.snapshot(us(10));
    assert_eq!((middlebox.waiting(), dropped(&snapshot, "stopped"), snapshot.buffers.lost), (0, 1, 0));
}

#[test]
fn where_no_class_looks_at_ports_nothing_waits() {
    let mut middlebox = middlebox("scheduler = \"drr\"\n[[class]]\nname = \"all\"\n");
    put(&mut middlebox, us(0), &cut(&v4(1, 5000, &[1; 3992]), &[1480, 2960])[1]);
    assert_eq!(of(&let_through(&mut middlebox, 0), "all").0, 1);
}

proptest! {
    /// Whatever comes in whatever order, every frame is in an account, and what has its first fragment before it is of
    /// its class.
    #[test]
    fn no_frame_is_lost(steps in prop::collection::vec((0u16..4, 0usize..5, any::<bool>(), 0u64..60_000), 1..80)) {
        let mut middlebox = middlebox(&format!("{BOX}[fragments]\ndatagrams = 3\nwaiting = \"5 packets\"\n"));
        let mut now = 0;
        for (id, piece, dear, wait) in &steps {
            let parts = cut(&v4(*id, if *dear { 5000 } else { 80 }, &[1; 200]), &[24, 64, 128, 136]);
            put(&mut middlebox, us(now), &parts[*piece]);
            now += wait;
            middlebox.advance(us(now));
        }
        let snapshot = let_through(&mut middlebox, now);
        prop_assert_eq!(snapshot.total.frames_in, steps.len() as u64);
        prop_assert_eq!(came(&snapshot).iter().sum::<u64>(), steps.len() as u64);
    }
}
