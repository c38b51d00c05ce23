//! One line for every frame that passes.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::RawFd;

use dovetail_units::Time;
use dovetail_wire::{LinkType, parse};

use super::Watched;
use crate::frame::{Frame, Pool};
use crate::port::{Port, PortCounters};

/// Writes a line for every frame that a port brings (`in`) and takes (`out`, sent or unsent): seconds of the box's time,
/// port, direction, bytes, and addresses or why there are none.
///
/// ```text
/// 1.000000500 eth0 in 64 udp 192.0.2.1:4000 > 198.51.100.7:53
/// 1.000012000 eth0 out 60 arp
/// ```
///
/// When writing fails the lines end, not the frames; [`Port::finish`] tells.
pub struct Traced<W> {
    inner: Box<dyn Port>,
    lines: Lines<W>,
    watched: Watched,
}

struct Lines<W> {
    out: W,
    name: String,
    link: LinkType,
    failed: Option<io::Error>,
}

impl<W: Write + Send> Traced<W> {
    /// Write lines of what passes `inner` to `out`. Hand it a buffered writer.
    pub fn new(inner: Box<dyn Port>, out: W) -> Self {
        let lines = Lines { out, name: inner.name().to_owned(), link: inner.link(), failed: None };
        Self { inner, lines, watched: Watched::default() }
    }
}

impl<W: Write> Lines<W> {
    fn write(&mut self, now: Time, direction: &str, data: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let (second, nanos) = (now.as_nanos() / 1_000_000_000, now.as_nanos() % 1_000_000_000);
        let name = &self.name;
        let start = format_args!("{second}.{nanos:09} {name} {direction} {}", data.len());
        let result = match parse(self.link, data) {
            Ok(packet) => writeln!(self.out, "{start} {}", packet.tuple),
            Err(reason) => writeln!(self.out, "{start} {reason}"),
        };
        self.failed = result.err();
    }
}

impl<W: Write + Send> Port for Traced<W> {
    as_inner!();

    fn receive(&mut self, now: Time, pool: &mut Pool, frames: &mut Vec<Frame>) -> io::Result<()> {
        let before = frames.len();
        let result = self.inner.receive(now, pool, frames);
        for frame in &frames[before..] {
            self.lines.write(frame.received, "in", frame.data());
        }
        result
    }

    fn send(&mut self, now: Time, frames: &mut VecDeque<Frame>, pool: &mut Pool) -> io::Result<()> {
        let lines = &mut self.lines;
        self.watched.send(&mut *self.inner, now, frames, pool, |data| lines.write(now, "out", data))
    }

    fn finish(&mut self) -> io::Result<()> {
        let flushed = self.lines.failed.take().map_or_else(|| self.lines.out.flush(), Err);
        self.inner.finish().and(flushed)
    }
}
