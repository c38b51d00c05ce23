//! Receiving UDP packets and keeping account of them.

use std::collections::BTreeSet;
use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use dovetail_units::Time;
use hdrhistogram::Histogram;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg, setsockopt, sockopt};

use super::udp::{Shared, UdpFlow};
use super::udp_send::HEADER;
use crate::clock::now;
use crate::error::LabError;

/// The most packets received at once.
const BURST: usize = 64;

/// Bytes that may wait in a socket while the receiver does not run.
const WAITING: usize = 32 << 20;

/// How often to look whether to stop, milliseconds.
const LOOK: u8 = 20;

/// Account of a flow's packets in a window.
#[derive(Debug)]
pub struct WindowCount {
    pub frames: u64,
    pub lost: i64,
    pub reordered: u64,
    pub latency: Histogram<u64>,
}

impl Default for WindowCount {
    fn default() -> Self {
        // From 1 us (in steps of 512 ns) to a minute, to 1 %: all constants, so there is no error to be had.
        let latency = Histogram::new_with_bounds(1_000, 60_000_000_000, 2).expect("the bounds are right");
        Self { frames: 0, lost: 0, reordered: 0, latency }
    }
}

/// Account of a flow's packets.
#[derive(Debug, Default)]
pub struct Received {
    /// The sequence number that comes next if none is lost.
    expected: u64,
    window: WindowCount,
}

impl Received {
    /// A packet has come.
    fn count(&mut self, sequence: u64, sent: Time, at: Time) {
        let window = &mut self.window;
        window.frames += 1;
        if sequence >= self.expected {
            window.lost += (sequence - self.expected) as i64;
            self.expected = sequence + 1;
        } else {
            window.lost -= 1;
            window.reordered += 1;
        }
        window.latency.saturating_record(at.since(sent).as_nanos());
    }

    /// The account so far; a new one begins.
    pub fn end_window(&mut self) -> WindowCount {
        std::mem::take(&mut self.window)
    }
}

/// A socket for each port, in the calling thread's namespace.
pub fn open(flows: &[UdpFlow]) -> Result<Vec<UdpSocket>, LabError> {
    let addresses: BTreeSet<SocketAddr> = flows.iter().map(|flow| flow.ip.server(flow.port)).collect();
    let open = |address: SocketAddr| {
        let socket = UdpSocket::bind(address)?;
        setsockopt(&socket, sockopt::RcvBufForce, &WAITING)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    addresses.into_iter().map(|a| open(a).map_err(LabError::system(format!("receive UDP at {a}")))).collect()
}

/// Receive until told to stop.
pub fn receive(sockets: &[UdpSocket], run: u16, shared: &Shared) -> Result<(), LabError> {
    let mut ready: Vec<PollFd> = sockets.iter().map(|s| PollFd::new(s.as_fd(), PollFlags::POLLIN)).collect();
    let mut headers = MultiHeaders::<()>::preallocate(BURST, None);
    while !shared.stop.load(Relaxed) {
        match poll(&mut ready, PollTimeout::from(LOOK)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(LabError::system("wait for UDP packets")(error.into())),
        }
        for (socket, ready) in sockets.iter().zip(&ready) {
            if ready.any() == Some(true) {
                receive_burst(socket, run, shared, &mut headers)?;
            }
        }
    }
    Ok(())
}

fn receive_burst(
    socket: &UdpSocket,
    run: u16,
    shared: &Shared,
    headers: &mut MultiHeaders<()>,
) -> Result<(), LabError> {
    let mut buffers = [[0; HEADER]; BURST];
    let mut slices = buffers.each_mut().map(|buffer| [IoSliceMut::new(buffer)]);
    let count = match recvmmsg(socket.as_raw_fd(), headers, slices.iter_mut(), MsgFlags::MSG_DONTWAIT, None) {
        Ok(messages) => messages.count(),
        Err(Errno::EAGAIN | Errno::EINTR) => 0,
        Err(error) => return Err(LabError::system("receive UDP packets")(error.into())),
    };
    let at = now();
    let mut received = shared.received.lock().unwrap_or_else(PoisonError::into_inner);
    for header in &buffers[..count] {
        let number = |range: std::ops::Range<usize>| header[range].iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
        let (flow, sequence, sent) = (number(2..4) as usize, number(4..10), Time::from_nanos(number(10..18)));
        if number(0..2) == u64::from(run)
            && let Some(flow) = received.get_mut(flow)
        {
            flow.count(sequence, sent, at);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(sequences: &[u64]) -> (u64, i64, u64) {
        let mut received = Received::default();
        sequences.iter().for_each(|&s| received.count(s, Time::ZERO, Time::from_nanos(5_000)));
        let window = received.end_window();
        (window.frames, window.lost, window.reordered)
    }

    #[test]
    fn gaps_are_losses_until_the_missing_packet_comes_late() {
        assert_eq!(after(&[0, 1, 2, 3]), (4, 0, 0));
        assert_eq!(after(&[0, 3]), (2, 2, 0));
        assert_eq!(after(&[2, 0, 1]), (3, 0, 2));
        assert_eq!(after(&[1, 4, 2, 5]), (4, 2, 1));
    }

    #[test]
    fn a_window_starts_where_the_one_before_ended() {
        let mut received = Received::default();
        received.count(0, Time::ZERO, Time::ZERO);
        received.end_window();
        received.count(2, Time::ZERO, Time::from_nanos(5_000_000));
        let window = received.end_window();
        assert_eq!((window.frames, window.lost), (1, 1));
        assert!((4_950_000..=5_050_000).contains(&window.latency.max()), "{}", window.latency.max());
    }
}
