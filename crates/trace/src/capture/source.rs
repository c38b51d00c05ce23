//! A growing window on a byte stream.

use std::io::{self, ErrorKind, Read};

use flate2::read::MultiGzDecoder;

const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
const MIN_READ: usize = 64 << 10;

/// Bytes of a stream, buffered from the current position on. Memory follows what is asked for and really arrives: at
/// most some three times the longest window.
pub(crate) struct Source<'a> {
    stream: Box<dyn Read + Send + 'a>,
    buffer: Vec<u8>,
    /// The window is `buffer[start..end]`.
    start: usize,
    end: usize,
    position: u64,
    ended: bool,
    fault: Option<io::Error>,
}

impl<'a> Source<'a> {
    /// Opens a stream, through gzip if it starts like that; tells which.
    pub(crate) fn open(mut stream: impl Read + Send + 'a) -> io::Result<(Self, bool)> {
        let mut head = Vec::new();
        stream.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut head)?;
        let gzip = head == GZIP_MAGIC;
        let whole = io::Cursor::new(head).chain(stream);
        let stream: Box<dyn Read + Send + 'a> =
            if gzip { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) };
        let source = Self { stream, buffer: Vec::new(), start: 0, end: 0, position: 0, ended: false, fault: None };
        Ok((source, gzip))
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
        if self.buffer.len() - self.end < MIN_READ {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            // As much room as there are bytes keeps their moving linear in the length of the stream.
            let room = self.end.max(MIN_READ);
            if self.buffer.len() < self.end + room {
                self.buffer.resize(self.end + room, 0);
            }
        }
        match self.stream.read(&mut self.buffer[self.end..]) {
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
