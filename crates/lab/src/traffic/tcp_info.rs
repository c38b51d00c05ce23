//! What the kernel knows of a connection.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use dovetail_units::Duration;

/// linux/tcp.h: ECN was negotiated.
const TCPI_OPT_ECN: u8 = 8;

/// The sender's view of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Congestion window, segments.
    pub window: u32,
    /// Bytes of data in a full segment.
    pub segment: u32,
    /// Segments sent again, ever.
    pub retransmitted: u32,
    /// Whether both ends use ECN.
    pub ecn: bool,
}

/// Ask the kernel.
#[expect(unsafe_code, reason = "no crate wraps TCP_INFO")]
pub fn read(stream: &TcpStream) -> io::Result<Info> {
    // SAFETY: `tcp_info` consists of plain numbers, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`, which has that many, and both outlive the call.
    let done = unsafe {
        libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut length)
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Info {
        rtt: Duration::from_micros(info.tcpi_rtt.into()),
        window: info.tcpi_snd_cwnd,
        segment: info.tcpi_snd_mss,
        retransmitted: info.tcpi_total_retrans,
        ecn: info.tcpi_options & TCPI_OPT_ECN != 0,
    })
}
