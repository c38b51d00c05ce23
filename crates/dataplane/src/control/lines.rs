//! Lines of limited length from somebody who may be slow, silent or hostile.

use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A client that says nothing for so long is let go.
const SILENCE: Duration = Duration::from_secs(300);

/// A begun line goes on within this time, and comes in few pieces.
const PIECE: Duration = Duration::from_secs(2);
const PIECES: usize = 16;

/// Why there is no line.
pub(super) enum NoLine {
    /// The other end is gone, silent for too long, or too slow.
    End,
    /// The line is longer than it may be.
    TooLong,
}

/// Reads lines of at most so many bytes.
pub(super) struct Lines {
    stream: UnixStream,
    read: Vec<u8>,
    longest: usize,
}

impl Lines {
    pub fn new(stream: UnixStream, longest: usize) -> Self {
        Self { stream, read: Vec::new(), longest }
    }

    /// The next line without its end.
    pub fn next(&mut self) -> Result<Vec<u8>, NoLine> {
        for _ in 0..=PIECES {
            if let Some(end) = self.read.iter().position(|&byte| byte == b'\n') {
                let rest = self.read.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.read, rest);
                line.truncate(end);
                return if end > self.longest { Err(NoLine::TooLong) } else { Ok(line) };
            }
            if self.read.len() > self.longest {
                return Err(NoLine::TooLong);
            }
            let wait = if self.read.is_empty() { SILENCE } else { PIECE };
            self.piece(wait).map_err(|_| NoLine::End)?;
        }
        Err(NoLine::End)
    }

    fn piece(&mut self, wait: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(wait))?;
        let mut piece = [0; 4096];
        let count = loop {
            match self.stream.read(&mut piece) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.read.extend_from_slice(&piece[..count]);
        Ok(())
    }
}
