//! Sending UDP packets when they are due.

use std::io::IoSlice;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::Relaxed;

use dovetail_units::{Duration, PacketRate, Time};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, sendmmsg};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::udp::{Shared, UdpFlow};
use crate::clock::{now, pause};
use crate::error::LabError;

/// Bytes at the begin of every payload: run (2), flow (2), sequence number (6), time of sending in nanoseconds (8), all
/// big endian.
pub const HEADER: usize = 18;

/// The most packets of a flow that are sent at once.
const BURST: usize = 32;

/// The shortest sleep. Packets are sent up to about this much late, and what has become due meanwhile at once.
const TICK: Duration = Duration::from_micros(50);

/// Packets that are late by more are given up.
const LATEST: Duration = Duration::from_millis(10);

/// A flow's header before its packets.
pub fn header(run: u16, flow: u16, sequence: u64, at: Time) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..2].copy_from_slice(&run.to_be_bytes());
    header[2..4].copy_from_slice(&flow.to_be_bytes());
    header[4..10].copy_from_slice(&sequence.to_be_bytes()[2..]);
    header[10..].copy_from_slice(&at.as_nanos().to_be_bytes());
    header
}

/// A flow's sending end.
#[derive(Debug)]
pub struct Sender {
    socket: UdpSocket,
    rate: PacketRate,
    /// Payload bytes behind the header.
    filler: usize,
    /// When its packet 0 is due.
    start: Time,
    /// The packet that is due next, those given up included, and when: anywhere in the flow's turn, so that exact
    /// intervals do not always meet a scheduler at the same place of its round.
    next: u64,
    due: Time,
    turn: Duration,
    random: ChaCha8Rng,
    sequence: u64,
}

impl Sender {
    /// Take it that `packets` have been sent or given up.
    fn advance(&mut self, packets: u64) {
        self.next += packets;
        let later = Duration::from_nanos(self.random.random_range(0..=self.turn.as_nanos()));
        self.due = self.start + self.rate.due(self.next) + later;
    }

    /// How many of the next packets are due at `at`, at most [`BURST`], if the first is: those behind it from when
    /// their turns begin.
    fn due_at(&self, at: Time) -> usize {
        (0..BURST).take_while(|&k| self.start + self.rate.due(self.next + k as u64) <= at).count()
    }
}

/// A connected socket for each flow, in the calling thread's namespace.
pub fn open(flows: &[UdpFlow], payloads: &[usize]) -> Result<Vec<Sender>, LabError> {
    let open = |(k, (flow, &payload)): (u64, (&UdpFlow, &usize))| {
        let to = flow.ip.server(flow.port);
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).and_then(|socket| {
            socket.connect(to)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        let socket = socket.map_err(LabError::system(format!("open a UDP socket to port {}", flow.port)))?;
        let (start, due) = (Time::ZERO, Time::ZERO);
        let turn = Duration::from_nanos(flow.rate.due(1).as_nanos() / flows.len() as u64);
        let random = ChaCha8Rng::seed_from_u64(k);
        Ok(Sender { socket, rate: flow.rate, filler: payload - HEADER, start, next: 0, due, turn, random, sequence: 0 })
    };
    (0..).zip(flows.iter().zip(payloads)).map(open).collect()
}

/// Send until told to stop.
pub fn send(mut senders: Vec<Sender>, run: u16, shared: &Shared) -> Result<(), LabError> {
    // Without it every sleep is up to 50 us longer. If it is refused, packets are later and counted all the same.
    let _ = nix::sys::prctl::set_timerslack(1);
    let filler = vec![0; senders.iter().map(|s| s.filler).max().unwrap_or(0)];
    let mut headers = MultiHeaders::<()>::preallocate(BURST, None);
    let (begun, n) = (now(), senders.len() as u64);
    for (k, sender) in senders.iter_mut().enumerate() {
        let interval = sender.rate.due(1).as_nanos();
        sender.start = begun + Duration::from_nanos((u128::from(interval) * k as u128 / u128::from(n)) as u64);
        sender.advance(0);
    }
    while !shared.stop.load(Relaxed) {
        let mut earliest = now() + LATEST;
        for (k, sender) in senders.iter_mut().enumerate() {
            let at = now();
            if sender.due <= at {
                give_up_the_late(sender, at, &shared.sent[k].missed);
                let sent = send_due(sender, (run, k as u16), at, &filler, &mut headers)?;
                shared.sent[k].frames.fetch_add(sent, Relaxed);
            }
            earliest = earliest.min(sender.due);
        }
        let at = now();
        if earliest > at {
            pause(earliest.since(at).max(TICK));
        }
    }
    Ok(())
}

fn give_up_the_late(sender: &mut Sender, at: Time, missed: &std::sync::atomic::AtomicU64) {
    while sender.due + LATEST < at {
        sender.advance(1);
        missed.fetch_add(1, Relaxed);
    }
}

/// Send the packets that are due, as far as the socket takes them; how many it took.
fn send_due(
    sender: &mut Sender,
    (run, flow): (u16, u16),
    at: Time,
    filler: &[u8],
    headers: &mut MultiHeaders<()>,
) -> Result<u64, LabError> {
    let count = sender.due_at(at);
    let mut stamped = [[0; HEADER]; BURST];
    for (k, stamp) in stamped[..count].iter_mut().enumerate() {
        *stamp = header(run, flow, sender.sequence + k as u64, now());
    }
    let filler = &filler[..sender.filler];
    let slices: [_; BURST] = std::array::from_fn(|k| [IoSlice::new(&stamped[k]), IoSlice::new(filler)]);
    let (none, no_control): ([Option<()>; BURST], [_; 0]) = ([None; BURST], []);
    let sent = match sendmmsg(
        sender.socket.as_raw_fd(),
        headers,
        &slices[..count],
        &none[..count],
        no_control,
        MsgFlags::empty(),
    ) {
        Ok(results) => results.count() as u64,
        // The queue is full, or the neighbour has not been found. A refusal tells of an earlier packet.
        Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EHOSTUNREACH | Errno::ECONNREFUSED | Errno::EINTR) => 0,
        Err(error) => return Err(LabError::system("send UDP packets")(error.into())),
    };
    sender.sequence += sent;
    sender.advance(sent);
    Ok(sent)
}
