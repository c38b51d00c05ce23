//! A capture of what passes a port.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::path::Path;

use dovetail_units::Time;
use dovetail_wire::LinkType;

use super::{Watched, log_failure};
use crate::frame::{Frame, Pool};
use crate::port::capture::Output;
use crate::port::{OpenError, Port, PortCounters, both};

/// Writes what a port brings and what it takes, sent or unsent, to one capture file, which is there when the port is
/// finished.
///
/// When writing fails the capture ends with the frames that are whole, and has its name; frames go on. The log tells,
/// and [`Port::finish`].
pub struct Recorded {
    inner: Box<dyn Port>,
    output: Output,
    failed: Option<io::Error>,
    watched: Watched,
}

impl Recorded {
    /// Capture what passes `inner` to the file `path`; the box's time zero is `epoch` since 1970.
    ///
    /// # Errors
    /// No file can be made beside `path`, or it is a folder.
    pub fn new(inner: Box<dyn Port>, path: &Path, epoch: Time) -> Result<Self, OpenError> {
        Ok(Self::onto(inner, Output::create(path, epoch)?))
    }

    pub(super) fn onto(inner: Box<dyn Port>, output: Output) -> Self {
        Self { inner, output, failed: None, watched: Watched::default() }
    }
}

fn write(output: &mut Output, failed: &mut Option<io::Error>, time: Time, link: LinkType, data: &[u8]) {
    if failed.is_none() {
        *failed = output.write(time, link, data).err();
        log_failure(failed);
    }
}

impl Port for Recorded {
    as_inner!();

    fn receive(&mut self, now: Time, pool: &mut Pool, frames: &mut Vec<Frame>) -> io::Result<()> {
        let before = frames.len();
        let result = self.inner.receive(now, pool, frames);
        for frame in &frames[before..] {
            write(&mut self.output, &mut self.failed, frame.received, frame.link, frame.data());
        }
        result
    }

    fn send(&mut self, now: Time, frames: &mut VecDeque<Frame>, pool: &mut Pool) -> io::Result<()> {
        let (output, failed, link) = (&mut self.output, &mut self.failed, self.inner.link());
        self.watched.send(&mut *self.inner, now, frames, pool, |data| write(output, failed, now, link, data))
    }

    fn finish(&mut self) -> io::Result<()> {
        let written = self.failed.take().map_or_else(|| self.output.finish(), Err);
        both(self.inner.finish(), written)
    }
}
