//! One line for every frame that passes.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use dovetail_units::Time;
use dovetail_wire::{LinkType, parse};

use super::{Watched, log_failure};
use crate::frame::{Frame, Pool};
use crate::port::atomic::{AtomicFile, named};
use crate::port::{OpenError, Port, PortCounters, both};

/// Writes a line for every frame that a port brings (`rx`) and takes (`tx`, sent or unsent) to a file, which is there
/// when the port is finished: seconds since 1970, the box's end (not the port's name, which may have blanks),
/// direction, bytes, and addresses or why there are none.
///
/// ```text
/// 1500000000.000000500 in rx 64 udp 192.0.2.1:4000 > 198.51.100.7:53
/// 1500000000.000012000 in tx 60 arp
/// ```
///
/// When writing fails the file ends with its last whole line, and has its name; frames go on. The log tells, and
/// [`Port::finish`].
pub struct Traced {
    inner: Box<dyn Port>,
    lines: Lines,
    watched: Watched,
}

struct Lines {
    path: PathBuf,
    out: AtomicFile,
    epoch: Time,
    end: &'static str,
    link: LinkType,
    failed: Option<io::Error>,
}

impl Traced {
    /// Write lines of what passes `inner`, the port at the box's `end`, to the file `path`; the box's time zero is
    /// `epoch` since 1970.
    ///
    /// # Errors
    /// No file can be made beside `path`, or it is a folder.
    pub fn new(inner: Box<dyn Port>, end: &'static str, path: &Path, epoch: Time) -> Result<Self, OpenError> {
        Ok(Self::onto(inner, end, path, AtomicFile::create(path)?, epoch))
    }

    pub(super) fn onto(inner: Box<dyn Port>, end: &'static str, path: &Path, out: AtomicFile, epoch: Time) -> Self {
        let (path, link) = (path.to_owned(), inner.link());
        Self { inner, lines: Lines { path, out, epoch, end, link, failed: None }, watched: Watched::default() }
    }
}

impl Lines {
    fn write(&mut self, now: Time, direction: &str, data: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let time = (self.epoch + now.since(Time::ZERO)).as_nanos();
        let (second, nanos, end) = (time / 1_000_000_000, time % 1_000_000_000, self.end);
        let start = format_args!("{second}.{nanos:09} {end} {direction} {}", data.len());
        let line = match parse(self.link, data) {
            Ok(packet) => writeln!(self.out, "{start} {}", packet.tuple),
            Err(reason) => writeln!(self.out, "{start} {reason}"),
        };
        let written = line.and_then(|()| self.out.end_record());
        self.failed = written.err().map(|error| named(&self.path, &error));
        log_failure(&self.failed);
    }

    fn finish(&mut self) -> io::Result<()> {
        let finish = || self.out.finish().map_err(|error| named(&self.path, &error));
        self.failed.take().map_or_else(finish, Err)
    }
}

impl Port for Traced {
    as_inner!();

    fn receive(&mut self, now: Time, pool: &mut Pool, frames: &mut Vec<Frame>) -> io::Result<()> {
        let before = frames.len();
        let result = self.inner.receive(now, pool, frames);
        for frame in &frames[before..] {
            self.lines.write(frame.received, "rx", frame.data());
        }
        result
    }

    fn send(&mut self, now: Time, frames: &mut VecDeque<Frame>, pool: &mut Pool) -> io::Result<()> {
        let lines = &mut self.lines;
        self.watched.send(&mut *self.inner, now, frames, pool, |data| lines.write(now, "tx", data))
    }

    fn finish(&mut self) -> io::Result<()> {
        let written = self.lines.finish();
        both(self.inner.finish(), written)
    }
}
