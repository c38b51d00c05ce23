//! Reading a file ahead: a thread of its own copies, and unpacks, what comes next.

use std::io::{self, ErrorKind, Read};
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::thread;

use super::source::READ;

/// In front of what was read there is so much room, for what is left of the chunk before.
pub(super) const ROOM: usize = 64 << 10;
const CHUNK: usize = 256 << 10;
/// So many are read before anybody has looked at them.
const CHUNKS: usize = 3;
/// What reads and unpacks needs little.
const STACK: usize = 256 << 10;

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
    /// Memory is used again, but no more of it than is needed. What a pipe has is not kept until there is more.
    fn read(stream: &mut impl Read, mut bytes: Vec<u8>) -> Self {
        bytes.resize(ROOM + CHUNK, 0);
        bytes.shrink_to_fit();
        let mut chunk = Self { bytes, end: ROOM, is_last: false, fault: None };
        while chunk.end < chunk.bytes.len() && !chunk.is_last {
            let space = &mut chunk.bytes[chunk.end..];
            let asked = space.len().min(READ);
            match stream.read(&mut space[..asked]) {
                Ok(0) => chunk.is_last = true,
                Ok(len) => {
                    chunk.end += len;
                    if len < asked {
                        break;
                    }
                }
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
    /// Begins to read. The thread ends with the stream, or after the read that is under way when this is dropped. The
    /// stream comes back if there is no thread to be had.
    pub fn new(stream: Box<dyn Read + Send>) -> Result<Self, Box<dyn Read + Send>> {
        let (hand_over, streams) = channel();
        let (fill, full) = channel();
        let (empty, used) = channel();
        for _ in 0..CHUNKS {
            _ = empty.send(Vec::new());
        }
        let read = move || {
            let Ok(mut stream) = streams.recv() else { return };
            for bytes in used {
                let chunk = Chunk::read(&mut stream, bytes);
                let is_last = chunk.is_last;
                if fill.send(chunk).is_err() || is_last {
                    return;
                }
            }
        };
        match thread::Builder::new().name("read ahead".into()).stack_size(STACK).spawn(read) {
            Ok(_) => hand_over.send(stream).map_err(|SendError(stream)| stream).map(|()| Self { full, empty }),
            Err(_) => Err(stream),
        }
    }

    /// The next chunk; none after the last, or if the thread has died.
    pub fn next(&mut self) -> Option<Chunk> {
        self.full.recv().ok()
    }

    /// Memory that can be read into again.
    pub fn give_back(&mut self, bytes: Vec<u8>) {
        _ = self.empty.send(bytes);
    }
}
