//! Capture files in place of an interface: frames come from one at the times it tells, and go to another, which has its
//! name when the port is finished.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use dovetail_trace::{CaptureReader, PcapWriter};
use dovetail_units::{Duration, Time};
use dovetail_wire::LinkType;

use super::atomic::{AtomicFile, named};
use super::{BURST, OpenError, Port, PortCounters, both};
use crate::frame::{Frame, LONGEST, Pool};

/// A capture that is read, one that is written, or both.
pub struct CapturePort {
    name: String,
    link: LinkType,
    input: Option<Input>,
    output: Option<Output>,
    counters: PortCounters,
}

/// When the first packet of the capture that has a time was captured, since 1970; `None` if none has one. O(packets
/// before it).
///
/// # Errors
/// The capture cannot be read.
pub fn first_time(path: &Path) -> Result<Option<Time>, OpenError> {
    let mut reader = reader(path)?;
    while let Some(record) = reader.next_record() {
        if record.time.is_some() {
            return Ok(record.time);
        }
    }
    Ok(None)
}

/// Of a file: a capture is read twice, and opening a pipe would wait for ever for somebody who writes to it.
fn reader(path: &Path) -> Result<CaptureReader<'static>, OpenError> {
    if path.exists() && !path.is_file() {
        let why = io::Error::new(io::ErrorKind::InvalidInput, "it is not an ordinary file");
        return Err(OpenError::failed(&path.display().to_string(), "cannot be read", why));
    }
    CaptureReader::open(path).map_err(OpenError::Capture)
}

impl CapturePort {
    /// Frames come from the capture `input`, and go to the capture `output`. The box's time zero is `epoch` since 1970;
    /// frames that were captured before it come at zero.
    ///
    /// A packet that was captured in part is filled with zeros to its length. One without a time comes with the one
    /// before it, or at zero. One of another link type than the first is missed. Where there is no `output`, what
    /// is sent is unsent.
    ///
    /// # Errors
    /// The capture cannot be read, or no file can be made beside `output`.
    pub fn open(name: &str, input: Option<&Path>, output: Option<&Path>, epoch: Time) -> Result<Self, OpenError> {
        let mut counters = PortCounters::default();
        let input = input.map(|path| Input::open(path, epoch, &mut counters)).transpose()?;
        let output = output.map(|path| Output::create(path, epoch)).transpose()?;
        let link = input.as_ref().and_then(|input| input.link).unwrap_or(LinkType::ETHERNET);
        Ok(Self { name: name.to_owned(), link, input, output, counters })
    }

    /// Where no frame is read that tells, frames begin so.
    #[must_use]
    pub fn carrying(mut self, link: LinkType) -> Self {
        self.link = self.input.as_ref().and_then(|input| input.link).unwrap_or(link);
        self
    }
}

impl Port for CapturePort {
    fn name(&self) -> &str {
        &self.name
    }

    /// That of the first frame that is read; where there is none Ethernet, or what the port was
    /// [told](CapturePort::carrying).
    fn link(&self) -> LinkType {
        self.link
    }

    fn receive(&mut self, now: Time, pool: &mut Pool, frames: &mut Vec<Frame>) -> io::Result<()> {
        let Some(input) = &mut self.input else { return Ok(()) };
        for _ in 0..BURST {
            if input.ended || input.frame.received > now {
                break;
            }
            let next = pool.take();
            frames.push(mem::replace(&mut input.frame, next));
            self.counters.received += 1;
            input.read(&mut self.counters);
        }
        Ok(())
    }

    fn send(&mut self, now: Time, frames: &mut VecDeque<Frame>, pool: &mut Pool) -> io::Result<()> {
        while let Some(frame) = frames.front() {
            let written = match &mut self.output {
                Some(output) => output.write(now, frame.link, frame.data())?,
                None => false,
            };
            *(if written { &mut self.counters.sent } else { &mut self.counters.unsent }) += 1;
            frames.pop_front().into_iter().for_each(|frame| pool.give(frame));
        }
        Ok(())
    }

    fn readable(&self) -> Option<RawFd> {
        None
    }

    fn ended(&self) -> bool {
        self.input.as_ref().is_none_or(|input| input.ended)
    }

    fn next_arrival(&mut self) -> Option<Time> {
        self.input.as_ref().filter(|input| !input.ended).map(|input| input.frame.received)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.output.as_mut().map_or(Ok(()), Output::finish)
    }

    fn counters(&mut self) -> PortCounters {
        if let Some(input) = &self.input {
            self.counters.missed = input.strangers + input.reader.damage().map_or(0, |damage| damage.records);
        }
        self.counters
    }
}

/// A capture, read one frame ahead so that its time is known.
struct Input {
    reader: CaptureReader<'static>,
    epoch: Time,
    /// That of the first record.
    link: Option<LinkType>,
    /// Records of another one.
    strangers: u64,
    /// The next frame, unless `ended`.
    frame: Frame,
    ended: bool,
}

impl Input {
    fn open(path: &Path, epoch: Time, counters: &mut PortCounters) -> Result<Self, OpenError> {
        let reader = reader(path)?;
        let mut input = Self { reader, epoch, link: None, strangers: 0, frame: Pool::new().take(), ended: false };
        input.read(counters);
        Ok(input)
    }

    /// Read the next frame that fits into a buffer.
    fn read(&mut self, counters: &mut PortCounters) {
        while let Some(record) = self.reader.next_record() {
            if *self.link.get_or_insert(record.link) != record.link {
                self.strangers += 1;
                continue;
            }
            let len = record.data.len().max(record.original_len as usize);
            if len > LONGEST {
                counters.oversize += 1;
                continue;
            }
            let time = record.time.map_or(Duration::ZERO, |time| time.since(self.epoch));
            let (captured, missing) = self.frame.room()[..len].split_at_mut(record.data.len());
            captured.copy_from_slice(record.data);
            missing.fill(0);
            self.frame.set_received(Time::ZERO + time, len, record.link);
            return;
        }
        self.ended = true;
    }
}

/// A capture that is written. Its header says how frames begin, so the first frame brings it. It has its name when it
/// is [finished](Self::finish), or cannot be written any more, with the frames that are whole; else nothing remains.
pub(super) struct Output {
    path: PathBuf,
    epoch: Time,
    state: State,
}

enum State {
    Empty(AtomicFile),
    Begun(PcapWriter<AtomicFile>, LinkType),
    /// It has its name, or nothing of it could be written, which was said.
    Ended,
}

impl Output {
    /// Nothing has the name `path` yet.
    ///
    /// # Errors
    /// Those of [`AtomicFile::create`].
    pub(super) fn create(path: &Path, epoch: Time) -> Result<Self, OpenError> {
        Ok(Self::onto(path, AtomicFile::create(path)?, epoch))
    }

    pub(super) fn onto(path: &Path, file: AtomicFile, epoch: Time) -> Self {
        Self { path: path.to_owned(), epoch, state: State::Empty(file) }
    }

    fn begin(&mut self, link: LinkType) -> io::Result<()> {
        self.state = match mem::replace(&mut self.state, State::Ended) {
            State::Empty(file) => {
                let mut writer = PcapWriter::new(file, link)?;
                writer.get_mut().end_record()?;
                State::Begun(writer, link)
            }
            other => other,
        };
        Ok(())
    }

    /// Returns whether a file of this kind can hold the frame.
    ///
    /// # Errors
    /// There is no room. The file is ended then, with the frames for which there was.
    pub(super) fn write(&mut self, now: Time, link: LinkType, data: &[u8]) -> io::Result<bool> {
        let written = self.try_write(now, link, data);
        let Err(error) = written else { return written };
        let kept = both(Err(error), self.try_finish());
        kept.map(|()| false).map_err(|error| named(&self.path, &error))
    }

    fn try_write(&mut self, now: Time, link: LinkType, data: &[u8]) -> io::Result<bool> {
        self.begin(link)?;
        match &mut self.state {
            State::Begun(writer, of) if *of == link => {
                let time = self.epoch + now.since(Time::ZERO);
                writer.write(time, data, data.len() as u32)?;
                writer.get_mut().end_record().map(|()| true)
            }
            _ => Ok(false),
        }
    }

    /// Give the file its name, the first time that this is called.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.try_finish().map_err(|error| named(&self.path, &error))
    }

    fn try_finish(&mut self) -> io::Result<()> {
        self.begin(LinkType::ETHERNET)?;
        let State::Begun(mut writer, _) = mem::replace(&mut self.state, State::Ended) else { return Ok(()) };
        writer.get_mut().finish()
    }
}

#[cfg(test)]
mod tests;
