//! Interfaces whose cable ends in this program: TUN (raw IP) and TAP (Ethernet).
//!
//! The kernel's own stack is at the other end, so that programs of this machine, or whatever it routes, pass through
//! the box. One system call per frame. (All that a library would do here is to open a file and make one request of it.)

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSliceMut, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use dovetail_units::Time;
use dovetail_wire::LinkType;

use super::interface::{self, LinkState, TABLE};
use super::sys::{self, InterfaceRequest, Request};
use super::{BURST, OpenError, Port, PortCounters};
use crate::frame::{Frame, LONGEST, Pool};

/// How a TUN or TAP interface's frames begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    /// TUN: with the IP header.
    Ip,
    /// TAP: with the Ethernet header.
    Ethernet,
}

/// A TUN or TAP interface. One that the port made goes with it.
pub struct TunPort {
    name: String,
    index: u32,
    layer: Layer,
    device: File,
    /// To ask about the interface.
    socket: OwnedFd,
    /// The kernel's table of counters, where it tells what it dropped because nobody read it.
    table: Option<File>,
    dropped_before: u64,
    counters: PortCounters,
}

impl TunPort {
    /// Take the interface called `name`, or make it if there is none, and set it up. Addresses and routes are the
    /// operator's business.
    ///
    /// # Errors
    /// The name is too long, the interface is of another kind or in use, or `CAP_NET_ADMIN` lacks.
    pub fn open(name: &str, layer: Layer) -> Result<Self, OpenError> {
        if name.len() >= libc::IFNAMSIZ || name.contains(['/', ' ', '%', '\0']) {
            let problem = "the name of an interface has at most 15 bytes, without space, slash and %".to_owned();
            return Err(OpenError::NotAPort { text: name.to_owned(), problem });
        }
        let refused = |what| move |source| OpenError::refused(name, what, "CAP_NET_ADMIN", source);
        let mut options = OpenOptions::new();
        let device = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun");
        let device = device.map_err(refused("cannot open /dev/net/tun"))?;
        let kind = match layer {
            Layer::Ip => libc::IFF_TUN,
            Layer::Ethernet => libc::IFF_TAP,
        };
        let mut request = InterfaceRequest::new(name);
        request.set_short((kind | libc::IFF_NO_PI) as u16);
        let made = request.ask(&device, Request::SetTun);
        made.map_err(|source| match source.raw_os_error() {
            Some(libc::EBUSY) => OpenError::claimed(name, source),
            _ => OpenError::refused(name, "cannot take or make the interface (another kind?)", "CAP_NET_ADMIN", source),
        })?;
        // A program that had the interface before may have taken checksums and segments upon itself: that stays.
        sys::set_tun_offload(&device, 0).map_err(refused("cannot switch its offloads off"))?;
        let socket = interface::control_socket().map_err(refused("cannot set it up"))?;
        set_up(&socket, name).map_err(refused("cannot set it up"))?;
        let index = interface::interface(name)?.index;
        let table = File::open(TABLE).ok();
        let (name, counters) = (name.to_owned(), PortCounters::default());
        let mut port = Self { name, index, layer, device, socket, table, dropped_before: 0, counters };
        port.dropped_before = port.dropped().unwrap_or(0);
        Ok(port)
    }

    /// Frames that the kernel has dropped since the interface was made, because nobody read them.
    fn dropped(&mut self) -> Option<u64> {
        let table = self.table.as_mut()?;
        table.rewind().ok()?;
        let mut text = String::new();
        table.read_to_string(&mut text).ok()?;
        interface::transmit_drops(&text, &interface::name(&self.socket, self.index).ok()?)
    }

    fn gone(&self) -> io::Error {
        io::Error::new(io::ErrorKind::NotFound, format!("interface {} is gone", self.name))
    }
}

impl Port for TunPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn link(&self) -> LinkType {
        match self.layer {
            Layer::Ip => LinkType::RAW,
            Layer::Ethernet => LinkType::ETHERNET,
        }
    }

    fn receive(&mut self, now: Time, pool: &mut Pool, frames: &mut Vec<Frame>) -> io::Result<()> {
        for _ in 0..BURST {
            let mut frame = pool.take();
            // What does not fit is cut off in silence: a byte too many tells that it was.
            let mut beyond = [0];
            let mut parts = [IoSliceMut::new(frame.room()), IoSliceMut::new(&mut beyond)];
            match self.device.read_vectored(&mut parts) {
                Ok(len) if len <= LONGEST => {
                    frame.set_received(now, len, self.link());
                    frames.push(frame);
                    self.counters.received += 1;
                }
                Ok(_) => {
                    pool.give(frame);
                    self.counters.oversize += 1;
                }
                Err(error) => {
                    pool.give(frame);
                    match error.raw_os_error() {
                        Some(libc::EBADFD) => return Err(self.gone()),
                        _ => break,
                    }
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, _now: Time, frames: &mut VecDeque<Frame>, pool: &mut Pool) -> io::Result<()> {
        while let Some(frame) = frames.front() {
            match self.device.write(frame.data()) {
                Ok(_) => self.counters.sent += 1,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EBADFD) => return Err(self.gone()),
                    Some(libc::EAGAIN | libc::ENOMEM | libc::ENOBUFS) => break,
                    why => {
                        self.counters.unsent += 1;
                        match why {
                            Some(libc::EIO) => self.counters.down += 1,
                            Some(libc::EINVAL) => self.counters.short += 1,
                            _ => {}
                        }
                    }
                },
            }
            frames.pop_front().into_iter().for_each(|frame| pool.give(frame));
        }
        Ok(())
    }

    fn readable(&self) -> Option<RawFd> {
        Some(self.device.as_raw_fd())
    }

    fn counters(&mut self) -> PortCounters {
        if let Some(dropped) = self.dropped() {
            self.counters.missed = dropped.saturating_sub(self.dropped_before);
        }
        self.counters
    }

    fn link_state(&self) -> Option<LinkState> {
        LinkState::ask(&self.socket, self.index)
    }
}

fn set_up(socket: &OwnedFd, name: &str) -> io::Result<()> {
    let mut request = InterfaceRequest::new(name);
    request.ask(socket, Request::Flags)?;
    request.set_short(request.short() | libc::IFF_UP as u16);
    request.ask(socket, Request::SetFlags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::testbed::{in_namespace, ip, received, rename, send, send_segments, soon};
    use std::net::UdpSocket;

    fn tun() -> TunPort {
        TunPort::open("tun0", Layer::Ip).unwrap()
    }

    #[test]
    #[ignore = "needs root"]
    fn a_packet_of_the_kernel_comes_out_and_one_put_in_reaches_the_kernel() {
        in_namespace(|| {
            let mut pool = Pool::new();
            let mut port = tun();
            assert_eq!(port.link(), LinkType::RAW);
            ip("address add 192.0.2.1/24 dev tun0");
            let socket = UdpSocket::bind("192.0.2.1:1000").unwrap();
            socket.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
            socket.send_to(b"question", "192.0.2.2:2000").unwrap();
            let udp = received(&mut port, &mut pool, 1).into_iter().find(|packet| packet[9] == 17).unwrap();
            assert_eq!((udp.len(), &udp[28..]), (36, &b"question"[..]));
            // The answer: addresses and ports exchanged, which leaves all checksums as they are.
            let mut answer = udp.clone();
            answer[12..20].rotate_left(4);
            answer[20..24].rotate_left(2);
            send(&mut port, &mut pool, [answer]);
            let mut buffer = [0; 100];
            let (len, from) = socket.recv_from(&mut buffer).unwrap();
            assert_eq!((&buffer[..len], from), (&b"question"[..], "192.0.2.2:2000".parse().unwrap()));
            assert_eq!(port.counters().sent, 1);
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn what_does_not_fit_is_counted_and_nothing_gets_lost_unnoticed() {
        in_namespace(|| {
            let mut pool = Pool::new();
            let mut port = tun();
            ip("address add 192.0.2.1/24 dev tun0");
            ip("link set tun0 mtu 9000 txqueuelen 10");
            let socket = UdpSocket::bind("192.0.2.1:1000").unwrap();
            for len in [LONGEST - 28, LONGEST - 27].into_iter().chain([100; 20]) {
                socket.send_to(&vec![0; len], "192.0.2.2:2000").unwrap();
            }
            let packets = received(&mut port, &mut pool, 9);
            assert_eq!(packets[0].len(), LONGEST);
            let counters = port.counters();
            assert_eq!((counters.oversize, packets.len()), (1, 9));
            assert_eq!(counters.received + counters.oversize + counters.missed, 22);
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn segments_are_cut_whatever_the_program_before_left_to_itself() {
        in_namespace(|| {
            ip("tuntap add mode tun name tun0");
            let before = OpenOptions::new().read(true).write(true).open("/dev/net/tun").unwrap();
            let mut request = InterfaceRequest::new("tun0");
            request.set_short((libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as u16);
            request.ask(&before, Request::SetTun).unwrap();
            // Checksums, and segments of UDP over IPv4 and IPv6.
            sys::set_tun_offload(&before, libc::TUN_F_CSUM | libc::TUN_F_USO4 | libc::TUN_F_USO6).unwrap();
            drop(before);
            let mut pool = Pool::new();
            // The interface is free once all of the program before has ended.
            let mut port = None;
            assert!(soon(|| {
                port = TunPort::open("tun0", Layer::Ip).ok();
                port.is_some()
            }));
            let mut port = port.unwrap();
            ip("address add 192.0.2.1/24 dev tun0");
            send_segments("192.0.2.1:1000", &[7; 1280], 160);
            let lengths: Vec<usize> = received(&mut port, &mut pool, 8).iter().map(Vec::len).collect();
            assert_eq!(lengths, [188; 8]);
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn what_the_kernel_refuses_is_unsent_and_an_interface_removed_is_the_end() {
        in_namespace(|| {
            let mut pool = Pool::new();
            let mut port = tun();
            send(&mut port, &mut pool, [vec![0xff; 40]]);
            ip("link set tun0 down");
            send(&mut port, &mut pool, [vec![0x45; 40]]);
            assert_eq!((port.counters().sent, port.counters().unsent), (0, 2));
            ip("link set tun0 up");
            send(&mut port, &mut pool, [vec![0x45; 40]]);
            assert_eq!(port.counters().sent, 1);
            ip("link del tun0");
            let gone = port.receive(Time::ZERO, &mut pool, &mut Vec::new()).unwrap_err();
            assert_eq!(gone.to_string(), "interface tun0 is gone");
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn an_interface_that_is_renamed_is_still_there() {
        in_namespace(|| {
            let mut port = tun();
            assert_eq!(port.link_state(), Some(LinkState::Up));
            rename("tun0", "tun1");
            assert_eq!(port.link_state(), Some(LinkState::Up));
            ip("address add 192.0.2.1/24 dev tun1");
            ip("link set tun1 txqueuelen 1");
            let socket = UdpSocket::bind("192.0.2.1:1000").unwrap();
            (0..9).for_each(|_| drop(socket.send_to(b"hello", "192.0.2.2:2000")));
            assert!(port.counters().missed > 0);
            ip("link del tun1");
            assert_eq!(port.link_state(), Some(LinkState::Gone));
        });
    }

    #[test]
    #[ignore = "needs root"]
    fn a_tap_begins_with_ethernet_and_ends_with_the_port() {
        in_namespace(|| {
            let mut pool = Pool::new();
            let mut port = TunPort::open("tap0", Layer::Ethernet).unwrap();
            ip("address add 192.0.2.1/24 dev tap0");
            ip("neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev tap0");
            UdpSocket::bind("192.0.2.1:1000").unwrap().send_to(b"hello", "192.0.2.2:2000").unwrap();
            let frames = received(&mut port, &mut pool, 1);
            assert!(
                frames.iter().any(|f| f[..6] == [2, 0, 0, 0, 0, 2] && f[12..14] == [8, 0] && f.ends_with(b"hello"))
            );
            let twice = TunPort::open("tap0", Layer::Ip).err().unwrap().to_string();
            assert!(twice.starts_with("tap0: cannot take or make the interface (another kind?)"), "{twice}");
            let twice = TunPort::open("tap0", Layer::Ethernet).err().unwrap();
            assert!(twice.is_claimed(), "{twice}");
            drop(port);
            assert!(soon(|| interface::interface("tap0").is_err()));
        });
    }

    #[test]
    fn a_name_that_no_interface_can_have_is_refused() {
        for name in ["sixteen-letters-", "a/b"] {
            let message = TunPort::open(name, Layer::Ip).err().unwrap().to_string();
            assert!(message.contains("at most 15 bytes"), "{message}");
        }
    }
}
