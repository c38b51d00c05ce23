//! Reading a file ahead: a thread of its own copies, and unpacks, what comes next.

use std::io::{self, ErrorKind, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// In front of what was read there is so much room, for what is left of the chunk before.
pub(super) const ROOM: usize = 64 << 10;
const CHUNK: usize = 256 << 10;
/// One is looked at, one is read, and one waits.
const CHUNKS: usize = 3;

/// What was read at once.
pub(super) struct Chunk {
    /// It is in `bytes[ROOM..end]`.
    pub bytes: Vec<u8>,
    pub end: usize,
    /// Nothing comes behind it, because of this error if there is one.
    pub is_last: bool,
    pub fault: Option<io::Error>,
}

impl Chunk {
    /// Memory is used again, but no more of it than is needed.
    fn read(stream: &mut impl Read, mut bytes: Vec<u8>) -> Self {
        bytes.resize(ROOM + CHUNK, 0);
        bytes.shrink_to_fit();
        let mut chunk = Self { bytes, end: ROOM, is_last: false, fault: None };
        while chunk.end < chunk.bytes.len() && !chunk.is_last {
            match stream.read(&mut chunk.bytes[chunk.end..]) {
                Ok(0) => chunk.is_last = true,
                Ok(len) => chunk.end += len,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => (chunk.is_last, chunk.fault) = (true, Some(error)),
            }
        }
        chunk
    }
}

/// A stream that is read ahead, by three chunks at most.
pub(super) struct Ahead {
    full: Receiver<Chunk>,
    empty: Sender<Vec<u8>>,
}

impl Ahead {
    /// Begins to read. The thread ends with the stream, or after the read that is under way when this is dropped.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn new(mut stream: impl Read + Send + 'static) -> io::Result<Self> {
        let (fill, full) = channel();
        let (empty, used) = channel();
        for _ in 0..CHUNKS {
            _ = empty.send(Vec::new());
        }
        let read = move || {
            for bytes in used {
                let chunk = Chunk::read(&mut stream, bytes);
                let is_last = chunk.is_last;
                if fill.send(chunk).is_err() || is_last {
                    return;
                }
            }
        };
        thread::Builder::new().name("read ahead".into()).spawn(read)?;
        Ok(Self { full, empty })
    }

    /// The next chunk; none after the last.
    pub fn next(&mut self) -> Option<Chunk> {
        self.full.recv().ok()
    }

    /// Memory that can be read into again.
    pub fn give_back(&mut self, bytes: Vec<u8>) {
        _ = self.empty.send(bytes);
    }
}
