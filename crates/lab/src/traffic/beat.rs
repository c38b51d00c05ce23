//! Small packets at a steady pace, as calls send them, of which every arrival is written down: so it is known for how
//! long nothing got through.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use dovetail_units::{Duration, Time};

use super::Ip;
use crate::clock::{now, pause};
use crate::error::LabError;
use crate::lab::Lab;
use crate::namespace::Place;

/// Bytes of a packet's payload: 20 ms of G.711 and an RTP header.
const PAYLOAD: usize = 172;

/// How often a receiver looks whether to stop.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);

/// When a packet was sent, and when it came.
type Arrival = (Time, Time);

/// Calls in one direction under way. Dropping them stops them.
#[derive(Debug)]
pub struct Beat {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    threads: Vec<JoinHandle<()>>,
}

/// What became of calls.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BeatReport {
    /// Packets that were sent.
    pub sent: u64,
    /// Of these, packets that came.
    pub received: u64,
    /// How long packets were on their way: the median and the 99th percentile of those that came.
    pub delay: [Duration; 2],
}

impl Lab {
    /// As many calls from this end to the other as there are ports from `port` on, each with a packet every `every`, in
    /// turns.
    ///
    /// # Errors
    /// Sockets are refused.
    pub fn beat(&self, from: Place, port: u16, calls: u16, every: Duration) -> Result<Beat, LabError> {
        let to = from.other_end();
        let failed = || LabError::system("open a socket of a call");
        let receivers: Vec<UdpSocket> = self.enter(to, || {
            let open = |k: u16| {
                let socket = UdpSocket::bind(Ip::V4.at(to, port + k)).map_err(failed())?;
                socket.set_read_timeout(Some(LOOK)).map_err(failed())?;
                Ok(socket)
            };
            (0..calls).map(open).collect()
        })?;
        // Unconnected: what a neighbour that is not there yet makes of a packet is no news.
        let open = || (0..calls).map(|_| UdpSocket::bind("0.0.0.0:0").map_err(failed())).collect();
        let senders: Vec<UdpSocket> = self.enter(from, open)?;
        let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let arrivals: Arc<Mutex<Vec<Arrival>>> = Arc::default();
        let mut threads = Vec::new();
        for socket in receivers {
            let (stop, arrivals) = (stop.clone(), arrivals.clone());
            threads.push(std::thread::spawn(move || receive(&socket, &stop, &arrivals)));
        }
        let (stops, counts) = (stop.clone(), sent.clone());
        threads.push(std::thread::spawn(move || {
            let turn = every.divided_by(u64::from(calls).max(1));
            let (begun, mut packet) = (now(), [0; PAYLOAD]);
            for k in 0.. {
                let due = begun + turn.saturating_mul(k);
                pause(due.since(now()));
                if stops.load(Relaxed) {
                    return;
                }
                let call = (k % u64::from(calls)) as u16;
                packet[..8].copy_from_slice(&now().as_nanos().to_be_bytes());
                // What the kernel does not take is lost.
                let _ = senders[usize::from(call)].send_to(&packet, Ip::V4.at(to, port + call));
                counts.fetch_add(1, Relaxed);
            }
        }));
        Ok(Beat { stop, sent, arrivals, threads })
    }
}

fn receive(socket: &UdpSocket, stop: &AtomicBool, arrivals: &Mutex<Vec<Arrival>>) {
    let mut packet = [0; PAYLOAD];
    while !stop.load(Relaxed) {
        match socket.recv(&mut packet) {
            Ok(PAYLOAD) => {
                let mut stamp = [0; 8];
                stamp.copy_from_slice(&packet[..8]);
                let sent = Time::from_nanos(u64::from_be_bytes(stamp));
                arrivals.lock().unwrap_or_else(PoisonError::into_inner).push((sent, now()));
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
    }
}

impl Beat {
    /// When the first packet came that was sent after `since`, if one has come.
    pub fn first_after(&self, since: Time) -> Option<Time> {
        let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.iter().filter(|(sent, _)| *sent > since).map(|&(_, came)| came).min()
    }

    /// What became of the packets until now, or since the last time that was asked. Those on their way count as lost.
    pub fn measure(&self) -> BeatReport {
        let sent = self.sent.swap(0, Relaxed);
        let arrivals = std::mem::take(&mut *self.arrivals.lock().unwrap_or_else(PoisonError::into_inner));
        let mut delays: Vec<Duration> = arrivals.iter().map(|&(sent, came)| came.since(sent)).collect();
        delays.sort_unstable();
        let at = |part: usize| delays.get(delays.len().saturating_sub(1) * part / 100).copied().unwrap_or_default();
        BeatReport { sent, received: delays.len() as u64, delay: [at(50), at(99)] }
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
