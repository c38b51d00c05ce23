use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use super::*;
use crate::port::testbed::{
    self, becomes_readable, in_namespace, ip, is_readable, numbered as bytes, rename, run, soon, switch,
};
use crate::port::{Kind, Options, open};

const RING: usize = 256;

struct Bed {
    a: PacketPort,
    b: PacketPort,
    pool: Pool,
}

impl Bed {
    fn new() -> Self {
        let open = |name| PacketPort::open(name, RING).unwrap();
        Self { a: open("left"), b: open("right"), pool: Pool::new() }
    }

    fn send(&mut self, all: impl IntoIterator<Item = Vec<u8>>) {
        testbed::send(&mut self.a, &mut self.pool, all);
    }

    fn receive(&mut self, expected: usize) -> Vec<Vec<u8>> {
        testbed::received(&mut self.b, &mut self.pool, expected)
    }
}

#[test]
#[ignore = "needs root"]
fn an_interface_that_another_port_has_is_refused_until_that_is_gone() {
    in_namespace(|| {
        let port = PacketPort::open("left", RING).unwrap();
        let message = PacketPort::open("left", RING).err().unwrap().to_string();
        assert!(message.starts_with("left: another box has it"), "{message}");
        drop(port);
        assert!(soon(|| PacketPort::open("left", RING).is_ok()));
    });
}

/// A name that any user can take in this namespace is no claim, nor is an interface of the same number elsewhere.
#[test]
#[ignore = "needs root"]
fn only_a_port_of_this_namespace_keeps_others_from_an_interface() {
    in_namespace(|| {
        let index = interface::interface("left").unwrap().index;
        let name = SocketAddr::from_abstract_name(format!("dovetail/interface/{index}")).unwrap();
        let _taken = UnixDatagram::bind_addr(&name).unwrap();
        ip("link set left down");
        let _port = PacketPort::open("left", RING).unwrap();
        let refused = || PacketPort::open("left", RING).err().is_some_and(|error| error.is_claimed());
        assert!(refused());
        in_namespace(move || {
            assert_eq!(interface::interface("left").unwrap().index, index);
            assert!(PacketPort::open("left", RING).is_ok());
        });
        for state in ["up", "down"] {
            ip(&format!("link set left {state}"));
            assert!(refused(), "{state}");
        }
        rename("left", "uplink");
        assert!(PacketPort::open("uplink", RING).err().is_some_and(|error| error.is_claimed()));
        assert!(PacketPort::open("left", RING).is_ok());
    });
}

#[test]
#[ignore = "needs root"]
fn what_is_sent_at_one_end_comes_out_at_the_other_in_order() {
    in_namespace(|| {
        let mut bed = Bed::new();
        let all: Vec<_> =
            (0..200).map(|number| bytes(number, [60, 64, 800, 1400, 1514][number as usize % 5])).collect();
        bed.send(all.clone());
        assert_eq!(bed.receive(all.len()), all);
        assert!(testbed::received(&mut bed.a, &mut bed.pool, 0).is_empty(), "not what it sent itself");
        assert_eq!(bed.a.counters(), PortCounters { sent: 200, ..PortCounters::default() });
        assert_eq!(bed.b.counters(), PortCounters { received: 200, ..PortCounters::default() });
        assert_eq!(bed.pool.in_use(), 0);
    });
}

#[test]
#[ignore = "needs root"]
fn what_does_not_fit_into_the_ring_is_counted_as_missed() {
    in_namespace(|| {
        let mut bed = Bed::new();
        // No more than the kernel keeps on their way (netdev_max_backlog) while it is late.
        bed.send((0..600).map(|number| bytes(number, 64)));
        assert!(soon(|| bed.b.counters().missed == 600 - RING as u64));
        let received = bed.receive(RING);
        assert_eq!(received.len(), RING, "the first ones, since nobody looked");
        assert_eq!(received[RING - 1], bytes(RING as u32 - 1, 64));
        let counters = bed.b.counters();
        assert_eq!((counters.received, counters.missed), (RING as u64, 600 - RING as u64));
        assert_eq!(bed.b.counters(), counters, "reading again adds nothing");
    });
}

#[test]
#[ignore = "needs root"]
fn a_frame_beyond_the_mtu_is_unsent_and_holds_up_no_other() {
    in_namespace(|| {
        let mut bed = Bed::new();
        bed.send([bytes(1, 64), bytes(2, 1600), bytes(3, 64), vec![0; 5], bytes(4, 64)]);
        assert_eq!(bed.receive(3), [bytes(1, 64), bytes(3, 64), bytes(4, 64)]);
        let counters = bed.a.counters();
        assert_eq!((counters.sent, counters.unsent), (3, 2));
        assert_eq!(bed.pool.in_use(), 0);
    });
}

#[test]
#[ignore = "needs root"]
fn a_frame_longer_than_a_buffer_is_oversize() {
    in_namespace(|| {
        ip("link set left mtu 9000");
        ip("link set right mtu 9000");
        let mut bed = Bed::new();
        // A frame of our own cannot be so long.
        let long = bytes(2, LONGEST + 1);
        let sent = bed.a.messages.send(&bed.a.tx, [long.as_slice()].into_iter()).unwrap();
        assert_eq!(sent, 1);
        bed.send([bytes(3, LONGEST)]);
        assert_eq!(bed.receive(1), [bytes(3, LONGEST)]);
        let counters = bed.b.counters();
        assert_eq!((counters.received, counters.oversize), (1, 1));
    });
}

#[test]
#[ignore = "needs root"]
fn segments_in_one_frame_are_oversize_however_short_they_are_together() {
    in_namespace(|| {
        ip("address add 192.0.2.1/24 dev left");
        ip("neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev left");
        let mut bed = Bed::new();
        let udp = |bed: &mut Bed, expected| -> Vec<usize> {
            testbed::send_segments("192.0.2.1:1000", &[7; 1280], 160);
            let all = bed.receive(expected);
            all.iter().filter(|frame| frame[12..14] == [8, 0]).map(Vec::len).collect()
        };
        // Without offloads the sender's kernel cuts them.
        assert_eq!(udp(&mut bed, 8), [202; 8]);
        switch("left", "tx", true);
        assert_eq!(udp(&mut bed, 0), [0; 0]);
        let counters = bed.b.counters();
        assert_eq!((counters.received, counters.oversize, counters.missed), (8, 1, 0));
        assert_eq!(bed.pool.in_use(), 0);
    });
}

/// A TCP segment of 400 bytes behind `struct virtio_net_hdr`, by which its sender leaves it to the card to complete the
/// checksum and to cut it into `kind` of 100 bytes each.
fn tcp_to_be_cut(kind: u8) -> Vec<u8> {
    let fields = [54_u16, if kind == 0 { 0 } else { 100 }, 34, 16];
    let mut bytes = [&[1, kind][..], &fields.map(u16::to_ne_bytes).concat()].concat();
    bytes.extend([[0xff; 6], [2, 0, 0, 0, 0, 1]].concat());
    bytes.extend([8, 0, 0x45, 0, 440_u16.to_be_bytes()[0], 440_u16.to_be_bytes()[1], 0, 0, 0, 0, 64, 6, 0, 0]);
    bytes.extend([192, 0, 2, 1, 192, 0, 2, 2, 0x03, 0xe8, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    bytes.resize(10 + 14 + 440, 7);
    bytes
}

#[test]
#[ignore = "needs root"]
fn segments_of_tcp_in_one_frame_are_oversize_with_and_without_congestion_marks() {
    in_namespace(|| {
        ["tx", "sg", "tso"].iter().for_each(|what| switch("left", what, true));
        let mut bed = Bed::new();
        sys::set_option(&bed.a.tx, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1).unwrap();
        // Not to be cut, of TCP over IPv4, and the same of which the first one has CWR set.
        let frames = [0, 1, 0x81].map(tcp_to_be_cut);
        let sent = bed.a.messages.send(&bed.a.tx, frames.iter().map(Vec::as_slice)).unwrap();
        assert_eq!(sent, 3);
        let received: Vec<usize> = bed.receive(1).iter().map(Vec::len).collect();
        let counters = bed.b.counters();
        assert_eq!((received, counters.received, counters.oversize), (vec![454], 1, 2));
    });
}

#[test]
#[ignore = "needs root"]
fn an_interface_may_go_down_and_come_up_again() {
    in_namespace(|| {
        let mut bed = Bed::new();
        ip("link set left down");
        bed.send((0..100).map(|number| bytes(number, 64)));
        assert!(bed.receive(0).is_empty());
        assert_eq!(bed.a.counters().unsent, 100, "the sending interface is down");
        ip("link set left up");
        bed.send([bytes(5, 64)]);
        assert_eq!(bed.receive(1), [bytes(5, 64)]);

        ip("link set right down");
        bed.send((0..100).map(|number| bytes(number, 64)));
        assert!(bed.receive(0).is_empty());
        let counters = bed.a.counters();
        assert_eq!(counters.sent + counters.unsent, 201, "the kernel may take what it then drops");
        assert!(!is_readable(&bed.b), "the error must not wake a waiting box for ever");
        ip("link set right up");
        // The kernel hears a little later that the cable is whole.
        let passes = |bed: &mut Bed| {
            bed.send([bytes(6, 64)]);
            bed.receive(0) == [bytes(6, 64)]
        };
        assert!(soon(|| passes(&mut bed)));
        assert_eq!(bed.pool.in_use(), 0);
    });
}

#[test]
#[ignore = "needs root"]
fn a_full_queue_holds_frames_back_until_patience_ends() {
    in_namespace(|| {
        run("tc", "qdisc replace dev left root tbf rate 50mbit burst 2000 limit 6000");
        let mut bed = Bed::new();
        let mut frames = VecDeque::new();
        let offer = |bed: &mut Bed, frames: &mut VecDeque<Frame>| {
            for number in 0..40 {
                let mut frame = bed.pool.take();
                frame.fill(Time::ZERO, &bytes(number, 1000), LinkType::ETHERNET);
                frames.push_back(frame);
            }
            bed.a.send(Time::ZERO, frames, &mut bed.pool).unwrap();
            assert!(!frames.is_empty(), "40 kB into a queue of 6");
        };
        offer(&mut bed, &mut frames);
        while !frames.is_empty() {
            bed.a.send(Time::ZERO, &mut frames, &mut bed.pool).unwrap();
        }
        let mut received = Vec::new();
        while received.len() < 40 {
            received.extend(bed.receive(1));
        }
        assert_eq!(received, (0..40).map(|number| bytes(number, 1000)).collect::<Vec<_>>());

        // A frame in a hundred seconds: nothing leaves the queue while this runs.
        run("tc", "qdisc replace dev left root tbf rate 80bit burst 2000 limit 6000");
        offer(&mut bed, &mut frames);
        let sent = bed.a.counters().sent;
        bed.a.send(Time::ZERO + PATIENCE, &mut frames, &mut bed.pool).unwrap();
        let counters = bed.a.counters();
        assert_eq!((counters.sent, counters.sent + counters.unsent), (sent, 80));
        assert!(frames.is_empty());
        assert_eq!(bed.pool.in_use(), 0);
    });
}

#[test]
#[ignore = "needs root"]
fn an_interface_that_is_removed_once_its_port_knows_that_it_is_down_is_the_end_of_it() {
    in_namespace(|| {
        let mut bed = Bed::new();
        let mut none = Vec::new();
        let mut receive =
            |bed: &mut Bed| (0..2 * ASK_AFTER).try_for_each(|_| bed.a.receive(Time::ZERO, &mut bed.pool, &mut none));
        ip("link set left down");
        receive(&mut bed).unwrap();
        // Another one of the same name is not that of the port.
        ip("link del left");
        ip("link add left type veth peer name right");
        let gone = receive(&mut bed).unwrap_err();
        assert!(gone.to_string().contains("interface left is gone"), "{gone}");
    });
}

#[test]
#[ignore = "needs root"]
fn an_interface_that_is_removed_is_the_end_of_its_ports() {
    in_namespace(|| {
        let mut bed = Bed::new();
        ip("link del left");
        let mut frames = VecDeque::from([bed.pool.take()]);
        let error = bed.a.send(Time::ZERO, &mut frames, &mut bed.pool).unwrap_err();
        assert!(error.to_string().contains("interface left is gone"), "{error}");
        let mut none = Vec::new();
        let result = (0..2 * ASK_AFTER).try_for_each(|_| bed.b.receive(Time::ZERO, &mut bed.pool, &mut none));
        assert!(result.unwrap_err().to_string().contains("interface right is gone"));
    });
}

#[test]
#[ignore = "needs root"]
fn it_is_readable_when_frames_have_come_and_promiscuous_while_it_lives() {
    in_namespace(|| {
        let promiscuous = || {
            let output = std::process::Command::new("ip").args(["-d", "link", "show", "right"]).output().unwrap();
            String::from_utf8(output.stdout).unwrap().contains("promiscuity 1")
        };
        assert!(!promiscuous());
        let mut bed = Bed::new();
        assert!(promiscuous() && !is_readable(&bed.b));
        bed.send([bytes(1, 64)]);
        assert!(becomes_readable(&bed.b));
        assert_eq!(bed.receive(1).len(), 1);
        assert!(!is_readable(&bed.b));
        drop(bed);
        assert!(soon(|| !promiscuous()));
    });
}

#[test]
#[ignore = "needs root"]
fn a_vlan_tag_that_the_kernel_took_out_is_put_back() {
    in_namespace(|| {
        switch("left", "txvlan", true);
        switch("right", "rxvlan", true);
        let mut bed = Bed::new();
        let mut tagged = bytes(9, 100);
        // Priority 5, network 42 (IEEE 802.1Q).
        tagged.splice(12..12, [0x81, 0x00, 0xa0, 0x2a]);
        bed.send([tagged.clone(), bytes(10, 64)]);
        assert_eq!(bed.receive(2), [tagged, bytes(10, 64)]);
    });
}

#[test]
#[ignore = "needs root"]
fn a_checksum_left_to_the_network_card_is_completed() {
    in_namespace(|| {
        switch("left", "tx", true);
        ip("address add 192.0.2.1/24 dev left");
        ip("neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev left");
        let mut bed = Bed::new();
        let socket = std::net::UdpSocket::bind("192.0.2.1:1000").unwrap();
        for payload in ["odd", "even", ""] {
            socket.send_to(payload.as_bytes(), "192.0.2.2:2000").unwrap();
        }
        let udp: Vec<_> = bed.receive(3).into_iter().filter(|f| f[12..14] == [8, 0]).collect();
        assert_eq!((udp.len(), bed.b.completed_checksums()), (3, 3));
        for frame in udp {
            let packet = &frame[14..];
            let total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
            // RFC 768: the sum of pseudo header and segment, checksum included, is all ones.
            let mut words: Vec<u8> = packet[12..20].to_vec();
            words.extend([0, packet[9]]);
            words.extend((total as u16 - 20).to_be_bytes());
            words.extend(&packet[20..total]);
            words.resize(words.len().next_multiple_of(2), 0);
            let sum: u32 = words.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
            assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
        }
    });
}

#[test]
#[ignore = "needs root"]
fn an_interface_that_is_not_there_is_named_with_the_nearest() {
    in_namespace(|| {
        ip("link add uplink0 type veth peer name downlink0");
        let kind: Kind = "packet:uplnk0".parse().unwrap();
        let message = open(&kind, &Options::default()).err().unwrap().to_string();
        assert_eq!(message, "there is no interface \"uplnk0\"; did you mean \"uplink0\"?");
    });
}

#[test]
#[ignore = "needs root"]
fn an_interface_that_is_renamed_is_still_there() {
    in_namespace(|| {
        let port = PacketPort::open("left", RING).unwrap();
        rename("left", "uplink");
        assert!(soon(|| port.link_state() == Some(LinkState::Up)), "{:?}", port.link_state());
        ip("link del uplink");
        assert_eq!(port.link_state(), Some(LinkState::Gone));
    });
}
