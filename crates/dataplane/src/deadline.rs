//! Streams of clients who may be slow: reading and writing end at a time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time;

use dovetail_units::Time;

use crate::driver::Clock;

/// The kernel puts more than this into several buffers of a Unix socket, and waits anew for each.
const BUFFER: usize = 16384;

/// A stream on which the next call can be kept from lasting longer.
pub(crate) trait Stream: Read + Write {
    fn limit_read(&self, to: time::Duration) -> io::Result<()>;
    fn limit_write(&self, to: time::Duration) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn limit_read(&self, to: time::Duration) -> io::Result<()> {
        self.set_read_timeout(Some(to))
    }
    fn limit_write(&self, to: time::Duration) -> io::Result<()> {
        self.set_write_timeout(Some(to))
    }
}

impl Stream for UnixStream {
    fn limit_read(&self, to: time::Duration) -> io::Result<()> {
        self.set_read_timeout(Some(to))
    }
    fn limit_write(&self, to: time::Duration) -> io::Result<()> {
        self.set_write_timeout(Some(to))
    }
}

/// Read what is there, or what comes until then.
pub(crate) fn read(stream: &mut impl Stream, clock: &Clock, piece: &mut [u8], until: Time) -> io::Result<usize> {
    loop {
        stream.limit_read(left(clock, until)?)?;
        match stream.read(piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Write all of it until then.
pub(crate) fn write(stream: &mut impl Stream, clock: &Clock, mut bytes: &[u8], until: Time) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.limit_write(left(clock, until)?)?;
        match stream.write(&bytes[..bytes.len().min(BUFFER)]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => bytes = &bytes[other?..],
        }
    }
    Ok(())
}

/// The time until then, which is above zero.
fn left(clock: &Clock, until: Time) -> io::Result<time::Duration> {
    match until.since(clock.now()).as_nanos() {
        0 => Err(ErrorKind::TimedOut.into()),
        nanos => Ok(time::Duration::from_nanos(nanos)),
    }
}
