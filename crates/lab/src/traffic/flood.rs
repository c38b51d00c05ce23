//! A flood of flows that nobody has: packets with false senders' addresses, each flow with a few.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;

use dovetail_units::{Bytes, Duration, PacketRate, Time};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, sendmmsg};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use socket2::{Domain, Protocol, Socket, Type};

use crate::clock::{now, pause};
use crate::error::LabError;
use crate::lab::{Lab, SERVER_V4};
use crate::namespace::Place;

/// Headers of IPv4 and UDP.
const HEADERS: usize = 28;

/// The Ethernet header, and what makes the shortest frame that all cards send.
const ETHERNET: usize = 14;
const SHORTEST: u64 = 60;

/// The longest: a whole packet.
const LONGEST: u64 = 1514;

/// RFC 863. Nobody listens there.
const DISCARD: u16 = 9;

/// The most packets that are sent at once, and the shortest sleep.
const BURST: usize = 64;
const TICK: Duration = Duration::from_micros(200);

/// Who is later gives up what was due, so that there is no burst beyond this.
const LATEST: Duration = Duration::from_millis(20);

/// Later packets of a flow come so long after the one before.
const NEXT: Duration = Duration::from_millis(1);

/// What the flood is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FalseFlows {
    /// New flows per second.
    pub rate: PacketRate,
    /// Packets of each.
    pub packets: u32,
    /// Length of their frames, with the Ethernet header.
    pub frame: Bytes,
}

/// A flood under way. Dropping it ends it, and it ends by itself.
#[derive(Debug)]
pub struct Flood {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: Option<JoinHandle<Result<(), LabError>>>,
}

impl Lab {
    /// Flood the server with flows from false addresses, sent by the client, for at most `limit`.
    ///
    /// # Errors
    /// Frames are too short or too long, or a socket is refused.
    pub fn flood(&self, flows: FalseFlows, limit: Duration) -> Result<Flood, LabError> {
        if !(SHORTEST..=LONGEST).contains(&flows.frame.0) {
            let frame = flows.frame;
            return Err(LabError::Traffic(format!(
                "frames of {frame} for a flood: expected {SHORTEST} B to {LONGEST} B"
            )));
        }
        let open = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(libc::IPPROTO_RAW)));
        let socket = self.enter(Place::Client, || {
            let socket = open().map_err(LabError::system("open a raw socket"))?;
            let to = SocketAddr::from((SERVER_V4, 0));
            socket.connect(&to.into()).map_err(LabError::system("connect a raw socket"))?;
            Ok(socket)
        })?;
        let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stops, counts) = (stop.clone(), sent.clone());
        let thread = std::thread::spawn(move || send(&socket, flows, limit, &stops, &counts));
        Ok(Flood { stop, sent, thread: Some(thread) })
    }
}

impl Flood {
    /// Packets that were sent until now.
    pub fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    /// End it.
    ///
    /// # Errors
    /// Sending has failed.
    pub fn end(mut self) -> Result<u64, LabError> {
        self.stop.store(true, Relaxed);
        let ended = self.thread.take().map_or(Ok(Ok(())), JoinHandle::join);
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(self.sent())
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // Nobody is left who could be told of an error.
            let _ = thread.join();
        }
    }
}

fn send(
    socket: &Socket,
    flows: FalseFlows,
    limit: Duration,
    stop: &AtomicBool,
    sent: &AtomicU64,
) -> Result<(), LabError> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut begun, end, mut count) = (now(), now() + limit, 0);
    let mut later: VecDeque<(Time, u32, Vec<u8>)> = VecDeque::new();
    let mut burst: Vec<Vec<u8>> = Vec::with_capacity(BURST);
    while !stop.load(Relaxed) && now() < end {
        let at = now();
        if begun + flows.rate.due(count) + LATEST < at {
            (begun, count) = (at, 0);
        }
        while burst.len() < BURST && begun + flows.rate.due(count) <= at {
            count += 1;
            let packet = packet(&mut random, flows.frame.0 as usize - ETHERNET);
            if flows.packets > 1 {
                later.push_back((at + NEXT, flows.packets - 1, packet.clone()));
            }
            burst.push(packet);
        }
        while let Some((_, left, packet)) = later.pop_front_if(|(due, ..)| *due <= at) {
            if left > 1 {
                later.push_back((at + NEXT, left - 1, packet.clone()));
            }
            burst.push(packet);
        }
        if burst.is_empty() {
            pause(TICK);
        }
        send_all(socket, &burst)?;
        sent.fetch_add(burst.len() as u64, Relaxed);
        burst.clear();
    }
    Ok(())
}

/// A UDP packet without checksum from somewhere in 16.0.0.0/4 to the server. The kernel does the rest of the header.
fn packet(random: &mut ChaCha8Rng, bytes: usize) -> Vec<u8> {
    let source = 0x1000_0000 | (random.random::<u32>() & 0x0fff_ffff);
    let mut packet = vec![0; bytes];
    packet[0] = 0x45;
    packet[8..10].copy_from_slice(&[64, libc::IPPROTO_UDP as u8]);
    packet[12..16].copy_from_slice(&source.to_be_bytes());
    packet[16..20].copy_from_slice(&SERVER_V4.octets());
    packet[20..22].copy_from_slice(&random.random::<u16>().to_be_bytes());
    packet[22..24].copy_from_slice(&DISCARD.to_be_bytes());
    packet[24..26].copy_from_slice(&((bytes - HEADERS + 8) as u16).to_be_bytes());
    packet
}

fn send_all(socket: &Socket, packets: &[Vec<u8>]) -> Result<(), LabError> {
    for some in packets.chunks(BURST) {
        let slices: Vec<[IoSlice; 1]> = some.iter().map(|packet| [IoSlice::new(packet)]).collect();
        let (none, no_control): (Vec<Option<()>>, [_; 0]) = (vec![None; some.len()], []);
        let mut headers = MultiHeaders::<()>::preallocate(some.len(), None);
        match sendmmsg(socket.as_raw_fd(), &mut headers, &slices, &none, no_control, MsgFlags::empty()) {
            // What does not fit any more is lost, as in a flood; and nobody listens.
            Ok(_) | Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EHOSTUNREACH | Errno::ECONNREFUSED | Errno::EINTR) => {}
            Err(error) => return Err(LabError::system("send a flood")(error.into())),
        }
    }
    Ok(())
}
