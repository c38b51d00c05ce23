use super::*;
use crate::port::testbed::{
    becomes_readable, in_namespace, ip, is_readable, numbered, received, rename, send, send_segments,
    set_receive_queues, soon, switch,
};
use crate::port::{Kind, look};

const SLOTS: usize = 256;

fn pair() -> [XdpPort; 2] {
    ["left", "right"].map(|name| XdpPort::open(name, SLOTS).unwrap())
}

fn has_program(name: &str) -> bool {
    let output = std::process::Command::new("ip").args(["link", "show", name]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().contains("prog/xdp")
}

#[test]
#[ignore = "needs root"]
fn what_is_sent_at_one_end_comes_out_at_the_other_in_order() {
    in_namespace(|| {
        let [mut left, mut right] = pair();
        let mut pool = Pool::new();
        assert_eq!(left.mode(), Mode::Native, "veth pairs have no zero-copy");
        let all: Vec<_> = (0..200).map(|n| numbered(n, [60, 64, 800, 1400, 1514][n as usize % 5])).collect();
        send(&mut left, &mut pool, all.clone());
        assert!(becomes_readable(&right));
        assert_eq!(received(&mut right, &mut pool, all.len()), all);
        assert!(!is_readable(&right));
        assert_eq!(left.counters(), PortCounters { sent: 200, ..PortCounters::default() });
        assert_eq!(right.counters(), PortCounters { received: 200, ..PortCounters::default() });
        assert_eq!(pool.in_use(), 0);
    });
}

#[test]
#[ignore = "needs root"]
fn behind_a_driver_that_cannot_copy_the_kernel_does() {
    in_namespace(|| {
        let mut ends = ["left", "right"].map(|name| {
            let interface = interface::interface(name).unwrap();
            let claim = Claim::new(&interface).unwrap();
            XdpPort::try_open(&interface, claim, SLOTS as u32, Mode::Generic).unwrap()
        });
        let mut pool = Pool::new();
        let all: Vec<_> = (0..100).map(|n| numbered(n, 60 + 10 * n as usize)).collect();
        send(&mut ends[0], &mut pool, all.clone());
        assert_eq!(received(&mut ends[1], &mut pool, all.len()), all);
    });
}

#[test]
#[ignore = "needs root"]
fn segments_come_one_by_one_from_the_other_end_of_a_pair() {
    in_namespace(|| {
        switch("left", "tx", true);
        ip("address add 192.0.2.1/24 dev left");
        ip("neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev left");
        let mut right = XdpPort::open("right", SLOTS).unwrap();
        assert_eq!(right.mode(), Mode::Native);
        send_segments("192.0.2.1:1000", &[7; 1280], 160);
        let all = received(&mut right, &mut Pool::new(), 8);
        let lengths: Vec<usize> = all.iter().filter(|frame| frame[12..14] == [8, 0]).map(Vec::len).collect();
        assert_eq!(lengths, [202; 8]);
    });
}

#[test]
#[ignore = "needs root"]
fn memory_is_used_again_for_ever() {
    in_namespace(|| {
        let [mut left, mut right] = pair();
        let mut pool = Pool::new();
        for round in 0..40 {
            let all: Vec<_> = (0..100).map(|n| numbered(round * 100 + n, 100)).collect();
            send(&mut left, &mut pool, all.clone());
            assert_eq!(received(&mut right, &mut pool, all.len()), all);
        }
        assert_eq!((left.counters().sent, right.counters().received), (4000, 4000));
    });
}

#[test]
#[ignore = "needs root"]
fn what_nobody_receives_is_counted_as_missed() {
    in_namespace(|| {
        let [mut left, mut right] = pair();
        let mut pool = Pool::new();
        // No more than the kernel keeps on their way (netdev_max_backlog) while it is late.
        send(&mut left, &mut pool, (0..600).map(|n| numbered(n, 64)));
        assert!(soon(|| right.counters().missed == 600 - SLOTS as u64));
        assert_eq!(received(&mut right, &mut pool, SLOTS).len(), SLOTS);
        assert_eq!(right.counters().received, SLOTS as u64);
    });
}

#[test]
#[ignore = "needs root"]
fn an_interface_may_go_down_and_come_up_again() {
    in_namespace(|| {
        let [mut left, mut right] = pair();
        let mut pool = Pool::new();
        assert_eq!(left.link_state(), Some(LinkState::Up));
        ip("link set left down");
        assert_eq!(left.link_state(), Some(LinkState::Down));
        // The kernel tells the other end a little later.
        assert!(soon(|| right.link_state() == Some(LinkState::NoCarrier)));
        send(&mut left, &mut pool, [numbered(1, 64)]);
        send(&mut left, &mut pool, (0..100).map(|n| numbered(n, 64)));
        assert!(received(&mut right, &mut pool, 0).is_empty());
        let counters = left.counters();
        assert_eq!((counters.sent, counters.unsent), (1, 100), "the first waits in the ring");
        ip("link set left up");
        send(&mut left, &mut pool, [numbered(2, 64)]);
        assert_eq!(received(&mut right, &mut pool, 2), [numbered(1, 64), numbered(2, 64)]);

        ip("link set right down");
        send(&mut left, &mut pool, (0..100).map(|n| numbered(n, 64)));
        assert!(received(&mut right, &mut pool, 0).is_empty());
        let counters = left.counters();
        assert_eq!(counters.sent + counters.unsent, 202, "the kernel may take what it then drops");
        ip("link set right up");
        // The kernel hears a little later that the cable is whole.
        let mut passes = || {
            send(&mut left, &mut pool, [numbered(3, 64)]);
            received(&mut right, &mut pool, 0) == [numbered(3, 64)]
        };
        assert!(soon(&mut passes));
        assert_eq!(pool.in_use(), 0);
    });
}

#[test]
#[ignore = "needs root"]
fn the_program_is_there_while_the_port_lives_and_can_be_there_again() {
    in_namespace(|| {
        assert!(!has_program("left"));
        for _ in 0..3 {
            let port = XdpPort::open("left", SLOTS).unwrap();
            assert!(has_program("left"));
            drop(port);
            assert!(soon(|| !has_program("left")));
        }
    });
}

#[test]
#[ignore = "needs root"]
fn an_interface_that_another_socket_has_is_refused() {
    in_namespace(|| {
        let refused = || XdpPort::open("left", SLOTS).err().unwrap().to_string();
        {
            let port = XdpPort::open("left", SLOTS).unwrap();
            assert!(refused().contains("another box has it"), "{}", refused());
            // As a socket of another program would be there.
            let XdpPort { _claim: claim, .. } = port;
            drop(claim);
            assert!(refused().contains("another XDP program or socket has it"), "{}", refused());
        }
        assert!(soon(|| !has_program("left")));
        let packet = crate::port::packet::PacketPort::open("left", SLOTS).unwrap();
        assert!(refused().contains("another box has it"), "{}", refused());
        drop(packet);
    });
}

#[test]
#[ignore = "needs root"]
fn an_interface_that_is_removed_is_the_end_of_its_ports() {
    in_namespace(|| {
        let [mut left, mut right] = pair();
        let mut pool = Pool::new();
        ip("link del left");
        assert_eq!(left.link_state(), Some(LinkState::Gone));
        let mut frames = VecDeque::from([pool.take()]);
        let error = left.send(Time::ZERO, &mut frames, &mut pool).unwrap_err();
        assert!(error.to_string().contains("interface left is gone"), "{error}");
        let result = (0..2 * ASK_AFTER).try_for_each(|_| right.receive(Time::ZERO, &mut pool, &mut Vec::new()));
        assert!(result.unwrap_err().to_string().contains("interface right is gone"));
    });
}

#[test]
#[ignore = "needs root"]
fn a_frame_beyond_the_mtu_is_unsent_and_holds_up_no_other() {
    in_namespace(|| {
        let [mut left, mut right] = pair();
        let mut pool = Pool::new();
        send(&mut left, &mut pool, [numbered(1, 64), numbered(2, 1600), numbered(3, 64)]);
        assert_eq!(received(&mut right, &mut pool, 2), [numbered(1, 64), numbered(3, 64)]);
        assert_eq!((left.counters().sent, left.counters().unsent), (2, 1));
    });
}

#[test]
#[ignore = "needs root"]
fn jumbo_frames_are_refused_with_the_remedy() {
    in_namespace(|| {
        ip("link set left mtu 1775");
        let message = XdpPort::open("left", SLOTS).err().unwrap().to_string();
        assert!(message.contains("an MTU of 1775") && message.contains("`ip link set left mtu 1774`"), "{message}");
        ip("link set left mtu 1774");
        ip("link set right mtu 1774");
        let [mut left, mut right] = pair();
        let mut pool = Pool::new();
        send(&mut left, &mut pool, [numbered(1, 1774 + 14)]);
        assert_eq!(received(&mut right, &mut pool, 1), [numbered(1, 1774 + 14)]);
    });
}

#[test]
#[ignore = "needs root"]
fn several_receive_queues_are_refused_with_the_remedy() {
    in_namespace(|| {
        ip("link add many numrxqueues 4 numtxqueues 4 type veth peer name other");
        set_receive_queues("many", 3);
        let message = XdpPort::open("many", SLOTS).err().unwrap().to_string();
        assert!(
            message.contains("has 3 receive queues") && message.contains("ethtool -L many combined 1"),
            "{message}"
        );
    });
}

#[test]
fn a_call_that_moves_nothing_is_not_repeated() {
    let answer = |errno: i32, taken| pushed(Err(io::Error::from_raw_os_error(errno)), taken);
    assert!(matches!(pushed(Ok(()), true), Pushed::Some));
    assert!(matches!(pushed(Ok(()), false), Pushed::Nothing));
    for errno in [libc::EAGAIN, libc::ENOBUFS, libc::EINTR, libc::EBUSY] {
        assert!(matches!(answer(errno, false), Pushed::Nothing), "{errno}");
    }
    assert!(matches!(answer(libc::ENETDOWN, false), Pushed::Down));
    assert!(matches!(answer(libc::ENXIO, false), Pushed::Gone(_)));
}

#[test]
fn a_frame_that_was_taken_and_not_sent_counts_as_refused() {
    let answer = |errno: i32| pushed(Err(io::Error::from_raw_os_error(errno)), true);
    for errno in [libc::EBUSY, libc::EINVAL, libc::EMSGSIZE] {
        assert!(matches!(answer(errno), Pushed::Refused), "{errno}");
    }
    assert!(matches!(answer(libc::EAGAIN), Pushed::Some));
}

#[test]
#[ignore = "needs root"]
fn an_interface_that_is_renamed_is_still_there() {
    in_namespace(|| {
        let port = XdpPort::open("left", SLOTS).unwrap();
        rename("left", "uplink");
        assert!(soon(|| port.link_state() == Some(LinkState::Up)), "{:?}", port.link_state());
        ip("link del uplink");
        assert_eq!(port.link_state(), Some(LinkState::Gone));
    });
}

#[test]
#[ignore = "needs root"]
fn checksums_that_the_other_end_of_a_pair_leaves_out_are_warned_of() {
    in_namespace(|| {
        let kinds = ["left", "right"].map(|name| Kind::Xdp(name.into()));
        let warnings = || look::warnings([&kinds[0], &kinds[1]]);
        assert_eq!(warnings(), Vec::<String>::new());
        switch("left", "tx", true);
        let all = warnings();
        assert!(all.len() == 1 && all[0].starts_with("offloads of left are on (tx): "), "{all:?}");
        assert!(all[0].contains("ethtool -K left tx off, and at the other end of a veth the same and"), "{all:?}");
    });
}
