//! A network namespace of a test's own, for as long as a closure runs in it; and frames as plain bytes.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{OwnedFd, RawFd};
use std::process::{Command, Stdio};
use std::thread;

use dovetail_units::{Duration, Time};

use super::{Port, sys};
use crate::frame::Pool;

/// Run `test` on a thread of its own in a new network namespace, which ends with it: with two interfaces `left` and
/// `right` that are each other's cable, without any offloads. Needs root.
pub fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let thread = thread::spawn(|| {
        // SAFETY: takes no pointers; only this thread changes its namespace, and does nothing else before or after.
        #[allow(unsafe_code)]
        let entered = unsafe { libc::unshare(libc::CLONE_NEWNET) };
        assert_eq!(entered, 0, "needs root for a network namespace: {}", io::Error::last_os_error());
        // So that the kernel sends nothing of itself.
        for which in ["all", "default"] {
            fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1").unwrap();
        }
        ip("link add left type veth peer name right");
        for name in ["left", "right"] {
            SWITCHES.iter().for_each(|(what, _)| switch(name, what, false));
            ip(&format!("link set {name} up"));
        }
        // Until the kernel has noticed that both are up, it throws away what is sent.
        assert!(soon(|| ["left", "right"].iter().all(|name| is_up(name))));
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn is_up(name: &str) -> bool {
    let output = Command::new("ip").args(["-o", "link", "show", name]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().contains("state UP")
}

/// What an interface does for the kernel's own stack, as `ethtool -K` calls it; how it is set, by a command for it
/// alone or as a flag of many (linux/ethtool.h).
const SWITCHES: [(&str, Switch); 8] = [
    ("rx", Switch::Command(0x15)),
    ("tx", Switch::Command(0x17)),
    ("tso", Switch::Command(0x1f)),
    ("gso", Switch::Command(0x24)),
    ("gro", Switch::Command(0x2c)),
    ("sg", Switch::Command(0x19)),
    ("txvlan", Switch::Flag(1 << 7)),
    ("rxvlan", Switch::Flag(1 << 8)),
];

enum Switch {
    Command(u32),
    Flag(u32),
}

/// `ethtool -K INTERFACE WHAT on`, or `off`, in the namespace of the calling thread; the program need not be there.
pub fn switch(interface: &str, what: &str, on: bool) {
    const GET_FLAGS: u32 = 0x25;
    const SET_FLAGS: u32 = 0x26;
    let (_, how) = SWITCHES.iter().find(|(name, _)| *name == what).unwrap();
    let [command, value] = match how {
        Switch::Command(command) => [*command, u32::from(on)],
        Switch::Flag(flag) => {
            let before = sys::ethtool_value(&socket(), interface, GET_FLAGS).unwrap();
            [SET_FLAGS, if on { before | flag } else { before & !flag }]
        }
    };
    sys::ethtool(&socket(), interface, &mut [command, value]).unwrap_or_else(|e| panic!("{what} of {interface}: {e}"));
}

/// `ethtool -L INTERFACE rx QUEUES`.
pub fn set_receive_queues(interface: &str, queues: u32) {
    // ETHTOOL_GCHANNELS and ETHTOOL_SCHANNELS; the sixth number is how many there are to receive.
    let mut channels = [0x3c, 0, 0, 0, 0, 0, 0, 0, 0];
    sys::ethtool(&socket(), interface, &mut channels).unwrap();
    (channels[0], channels[5]) = (0x3d, queues);
    sys::ethtool(&socket(), interface, &mut channels).unwrap();
}

fn socket() -> OwnedFd {
    UdpSocket::bind(("0.0.0.0", 0)).unwrap().into()
}

/// `ip ARGUMENTS` in the namespace of the calling thread.
pub fn ip(arguments: &str) {
    run("ip", arguments);
}

/// Give an interface another name, and its old one to another interface, which is down. (Not every kernel renames an
/// interface that is up.)
pub fn rename(old: &str, new: &str) {
    ip(&format!("link set {old} down"));
    ip(&format!("link set {old} name {new}"));
    ip(&format!("link set {new} up"));
    ip(&format!("link add {old} type veth peer name {old}-end"));
}

/// A program in the namespace of the calling thread, which its children inherit.
pub fn run(program: &str, arguments: &str) {
    let output = Command::new(program).args(arguments.split_whitespace()).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Whether it comes true within ten thousand looks, a millisecond apart: on a busy machine the kernel delivers late,
/// and other threads run late. (What a closed file held may live on for a moment: a program that another test is just
/// starting has all files of this one.)
pub fn soon(mut condition: impl FnMut() -> bool) -> bool {
    (0..10_000).any(|_| {
        condition() || {
            crate::wait::readable([None; 2], Duration::from_millis(1));
            false
        }
    })
}

/// Send frames of these bytes; all must be taken within a second of the port's time.
pub fn send(port: &mut dyn Port, pool: &mut Pool, all: impl IntoIterator<Item = Vec<u8>>) {
    let mut frames = VecDeque::new();
    for data in all {
        let mut frame = pool.take();
        frame.fill(Time::ZERO, &data, port.link());
        frames.push_back(frame);
    }
    for millisecond in 0..1000 {
        port.send(Time::from_nanos(millisecond * 1_000_000), &mut frames, pool).unwrap();
    }
    assert!(frames.is_empty(), "{} is full", port.name());
}

/// A program at `from`, an address of this namespace, sends these bytes to 192.0.2.2:2000 and leaves cutting them into
/// datagrams of at most `segment` bytes to the kernel, or to the network card.
pub fn send_segments(from: &str, data: &[u8], segment: i32) {
    let sender = UdpSocket::bind(from).unwrap();
    let option: OwnedFd = sender.try_clone().unwrap().into();
    sys::set_option(&option, libc::SOL_UDP, libc::UDP_SEGMENT, &segment).unwrap();
    assert_eq!(sender.send_to(data, "192.0.2.2:2000").unwrap(), data.len());
}

/// Everything that comes to the port: `expected` frames, however late the kernel delivers them (to 10 s), and what else
/// comes until nothing has come for a while.
pub fn received(port: &mut dyn Port, pool: &mut Pool, expected: usize) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    loop {
        let before = frames.len();
        port.receive(Time::ZERO, pool, &mut frames).unwrap();
        let patience = if frames.len() < expected { 10_000 } else { 20 };
        if frames.len() == before && !port.readable().is_some_and(|fd| is_readable_within(fd, patience)) {
            break;
        }
    }
    let data = frames.iter().map(|frame| frame.data().to_vec()).collect();
    frames.into_iter().for_each(|frame| pool.give(frame));
    data
}

/// An Ethernet frame to everybody, of a protocol for experiments, numbered.
pub fn numbered(number: u32, len: usize) -> Vec<u8> {
    let mut bytes = [[0xff; 6], [2, 0, 0, 0, 0, 1]].concat();
    bytes.extend([0x88, 0xb5]);
    bytes.extend(number.to_be_bytes());
    bytes.resize(len, 0xa5);
    bytes
}

/// Whether waiting for the port would end at once, or soon.
pub fn becomes_readable(port: &dyn Port) -> bool {
    is_readable_within(port.readable().unwrap(), 10_000)
}

/// Whether waiting for the port would end at once.
pub fn is_readable(port: &dyn Port) -> bool {
    is_readable_within(port.readable().unwrap(), 0)
}

fn is_readable_within(fd: RawFd, milliseconds: i32) -> bool {
    let mut wait = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which lives until this returns.
    #[allow(unsafe_code)]
    let count = unsafe { libc::poll(&mut wait, 1, milliseconds) };
    count == 1
}
