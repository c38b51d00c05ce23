//! A growing window on a byte stream.

use std::io::{self, ErrorKind, Read};

use flate2::read::MultiGzDecoder;

use super::ahead::{Ahead, Chunk, ROOM};

const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// So much is read at once: where gzip data is damaged, no more than this is lost of what was before.
pub(super) const READ: usize = 64 << 10;

/// Where bytes come from.
enum Stream<'a> {
    Here(Box<dyn Read + Send + 'a>),
    Ahead(Ahead),
}

/// Bytes of a stream, buffered from the current position on. Memory follows what is asked for and really arrives: at
/// most some three times the longest window, and what is read ahead.
pub(crate) struct Source<'a> {
    stream: Stream<'a>,
    buffer: Vec<u8>,
    /// The window is `buffer[start..end]`.
    start: usize,
    end: usize,
    position: u64,
    ended: bool,
    fault: Option<io::Error>,
}

impl Source<'static> {
    /// As [`open`](Self::open); the stream is read, and unpacked, ahead.
    pub(crate) fn open_ahead(stream: impl Read + Send + 'static) -> io::Result<(Self, bool)> {
        let (stream, gzip) = unpacked(stream)?;
        Ok((Self::of(Ahead::new(stream).map_or_else(Stream::Here, Stream::Ahead)), gzip))
    }
}

impl<'a> Source<'a> {
    /// Opens a stream, through gzip if it starts like that; tells which.
    pub(crate) fn open(stream: impl Read + Send + 'a) -> io::Result<(Self, bool)> {
        let (stream, gzip) = unpacked(stream)?;
        Ok((Self::of(Stream::Here(stream)), gzip))
    }

    fn of(stream: Stream<'a>) -> Self {
        Self { stream, buffer: Vec::new(), start: 0, end: 0, position: 0, ended: false, fault: None }
    }

    /// The window, of at least `len` bytes unless the stream ends before.
    pub(crate) fn want(&mut self, len: usize) -> &[u8] {
        while self.end - self.start < len && !self.ended {
            self.read_more();
        }
        self.window()
    }

    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn read_more(&mut self) {
        match &mut self.stream {
            Stream::Ahead(ahead) => match ahead.next() {
                Some(chunk) => self.go_on_with(chunk),
                None => (self.ended, self.fault) = (true, Some(io::Error::other("it was given up"))),
            },
            Stream::Here(_) => self.read_here(),
        }
    }

    /// What is left of the window goes in front of the chunk, which is the buffer from now on. A window that is too
    /// long for that is continued.
    fn go_on_with(&mut self, chunk: Chunk) {
        let Chunk { mut bytes, end, is_last, fault } = chunk;
        (self.ended, self.fault) = (is_last, fault);
        let left = self.end - self.start;
        if left <= ROOM {
            bytes[ROOM - left..ROOM].copy_from_slice(&self.buffer[self.start..self.end]);
            std::mem::swap(&mut self.buffer, &mut bytes);
            (self.start, self.end) = (ROOM - left, end);
        } else {
            self.make_room(end - ROOM);
            self.buffer[self.end..][..end - ROOM].copy_from_slice(&bytes[ROOM..end]);
            self.end += end - ROOM;
        }
        if let Stream::Ahead(ahead) = &mut self.stream {
            ahead.give_back(bytes);
        }
    }

    /// So many bytes behind the window.
    fn make_room(&mut self, len: usize) {
        if self.buffer.len() - self.end < len {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            // As much room as there are bytes keeps their moving linear in the length of the stream.
            let room = self.end.max(len);
            if self.buffer.len() < self.end + room {
                self.buffer.resize(self.end + room, 0);
            }
        }
    }

    fn read_here(&mut self) {
        self.make_room(READ);
        let Stream::Here(stream) = &mut self.stream else { return };
        match stream.read(&mut self.buffer[self.end..][..READ]) {
            Ok(0) => self.ended = true,
            Ok(n) => self.end += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => {
                self.fault = Some(e);
                self.ended = true;
            }
        }
    }

    /// Moves on by `len` bytes of the window.
    pub(crate) fn consume(&mut self, len: usize) {
        let len = len.min(self.end - self.start);
        self.start += len;
        self.position += len as u64;
    }

    /// Offset of the window in the (unpacked) stream, in bytes.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The error that ended the stream early, if any; handed out once.
    pub(crate) fn take_fault(&mut self) -> Option<io::Error> {
        self.fault.take()
    }
}

/// The stream, through gzip if it starts like that; tells which.
fn unpacked<'a>(mut stream: impl Read + Send + 'a) -> io::Result<(Box<dyn Read + Send + 'a>, bool)> {
    let mut head = Vec::new();
    stream.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut head)?;
    let gzip = head == GZIP_MAGIC;
    let whole = io::Cursor::new(head).chain(stream);
    Ok((if gzip { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) }, gzip))
}
