//! UDP flows at constant rates.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use dovetail_units::{Bytes, Duration, PacketRate, Time};
use hdrhistogram::Histogram;

use super::Ip;
use super::udp_receive::{self, Received};
use super::udp_send::{self, HEADER};
use crate::clock::now;
use crate::error::LabError;
use crate::lab::Lab;
use crate::namespace::Place;

/// Bytes of the Ethernet and the UDP header.
const ETHERNET_AND_UDP: u64 = 14 + 8;

/// The longest frame: what fits into an IPv4 packet, and the Ethernet header.
const LONGEST: u64 = 65_535 + 14;

/// A flow of packets of one size at a constant rate, from a port of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UdpFlow {
    /// What reports call it; several flows may share a name.
    pub name: String,
    /// The server's port.
    pub port: u16,
    /// Version of IP.
    pub ip: Ip,
    /// Length of its frames as the box sees them: with the Ethernet header, without the frame check sequence. At least
    /// 60 bytes with IPv4, 80 with IPv6.
    pub frame: Bytes,
    /// How many frames a second.
    pub rate: PacketRate,
}

impl UdpFlow {
    /// Whether it can be.
    ///
    /// # Errors
    /// Its frames are too short or too long.
    pub fn check(&self) -> Result<(), LabError> {
        self.payload().map(drop)
    }

    /// Bytes of its payload.
    fn payload(&self) -> Result<usize, LabError> {
        let headers = ETHERNET_AND_UDP + self.ip.header();
        let shortest = headers + HEADER as u64;
        if (shortest..=LONGEST).contains(&self.frame.0) {
            return Ok((self.frame.0 - headers) as usize);
        }
        Err(LabError::Traffic(format!(
            "frames of {} for the UDP flow {:?}: expected {shortest} B to {LONGEST} B",
            self.frame, self.name
        )))
    }
}

/// What became of a UDP flow in a window.
#[derive(Clone, Debug)]
pub struct UdpMeasured {
    /// The flow's name.
    pub name: String,
    /// Frames that left the client.
    pub sent: u64,
    /// Frames that were due and that the generator was too slow for.
    pub missed: u64,
    /// Frames that came to the server.
    pub received: u64,
    /// Sequence numbers passed over, less those that came late: frames lost on the way. Those lost after the last
    /// frame that came are not known yet. May be negative in a window that late frames came in.
    pub lost: i64,
    /// Frames that came after one with a higher sequence number (RFC 4737, section 3.3).
    pub reordered: u64,
    /// Nanoseconds from just before a frame was handed to the client's kernel to when the server's program got it, to
    /// 1 % or 512 ns.
    pub latency: Histogram<u64>,
    /// Bytes of the frames that came.
    pub bytes: u64,
}

/// What became of UDP traffic in a window.
#[derive(Clone, Debug)]
pub struct UdpReport {
    /// How long the window was.
    pub window: Duration,
    /// Each flow, in the order in which they were given.
    pub flows: Vec<UdpMeasured>,
    /// Datagrams that came to the server and that its program was too slow for. They count as lost above.
    pub overrun: u64,
}

/// What the sender has counted of a flow.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub frames: AtomicU64,
    pub missed: AtomicU64,
}

/// What sender, receiver and owner of a run share.
#[derive(Debug)]
pub(super) struct Shared {
    pub stop: AtomicBool,
    pub sent: Vec<Sent>,
    pub received: Mutex<Vec<Received>>,
}

/// UDP traffic under way. Dropping it stops it.
#[derive(Debug)]
pub struct UdpRun<'a> {
    lab: &'a Lab,
    flows: Vec<UdpFlow>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<(), LabError>>>,
    begun: Time,
    /// Of each flow: frames sent and missed before this window.
    before: Vec<(u64, u64)>,
    overrun: u64,
}

impl Lab {
    /// Send these flows from the client to the server. Flow k of n sends its first packet k/n of its own interval after
    /// the start, so that flows of one rate take turns.
    ///
    /// # Errors
    /// A flow cannot be, or sockets are refused.
    pub fn udp(&self, flows: &[UdpFlow]) -> Result<UdpRun<'_>, LabError> {
        let payloads = flows.iter().map(UdpFlow::payload).collect::<Result<Vec<_>, _>>()?;
        if flows.len() > usize::from(u16::MAX) {
            return Err(LabError::Traffic(format!("{} UDP flows: expected at most {}", flows.len(), u16::MAX)));
        }
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            sent: flows.iter().map(|_| Sent::default()).collect(),
            received: Mutex::new(flows.iter().map(|_| Received::default()).collect()),
        });
        // Datagrams of an earlier run that are still under way are not ours.
        let run = now().as_nanos() as u16;
        let overrun = self.counter(Place::Server, "Udp", "RcvbufErrors")?;
        let sockets = self.enter(Place::Server, || udp_receive::open(flows))?;
        let senders = self.enter(Place::Client, || udp_send::open(flows, &payloads))?;
        let (theirs, ours) = (shared.clone(), shared.clone());
        let threads = vec![
            std::thread::spawn(move || udp_receive::receive(&sockets, run, &theirs)),
            std::thread::spawn(move || udp_send::send(senders, run, &ours)),
        ];
        Ok(UdpRun {
            lab: self,
            flows: flows.to_vec(),
            shared,
            threads,
            begun: now(),
            before: vec![(0, 0); flows.len()],
            overrun,
        })
    }
}

impl UdpRun<'_> {
    /// What has happened since the run began or was last measured.
    ///
    /// # Errors
    /// Sending or receiving has failed.
    pub fn measure(&mut self) -> Result<UdpReport, LabError> {
        if let Some(k) = self.threads.iter().position(JoinHandle::is_finished) {
            let ended = self.threads.swap_remove(k).join();
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        let overrun = self.lab.counter(Place::Server, "Udp", "RcvbufErrors")?;
        let mut received = self.shared.received.lock().unwrap_or_else(PoisonError::into_inner);
        let at = now();
        let flows = self.flows.iter().zip(&self.shared.sent).zip(&mut self.before).zip(received.iter_mut());
        let flows = flows.map(|(((flow, sent), before), received)| {
            let total = (sent.frames.load(Relaxed), sent.missed.load(Relaxed));
            let (frames, missed) = (total.0 - before.0, total.1 - before.1);
            *before = total;
            let window = received.end_window();
            UdpMeasured {
                name: flow.name.clone(),
                sent: frames,
                missed,
                received: window.frames,
                lost: window.lost,
                reordered: window.reordered,
                latency: window.latency,
                bytes: window.frames * flow.frame.0,
            }
        });
        let report = UdpReport { window: at - self.begun, flows: flows.collect(), overrun: overrun - self.overrun };
        (self.begun, self.overrun) = (at, overrun);
        Ok(report)
    }

    /// Send no more.
    pub fn stop(self) {}
}

impl Drop for UdpRun<'_> {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            // Nobody is left who could be told of an error.
            let _ = thread.join();
        }
    }
}
