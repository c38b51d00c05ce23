//! Lines of limited length from somebody who may be slow, silent or hostile.

use std::os::unix::net::UnixStream;

use dovetail_units::Duration;

use crate::deadline::read;
use crate::driver::Clock;

/// A client that says nothing for so long is let go.
const SILENCE: Duration = Duration::from_secs(300);

/// A begun line comes within this time.
const LINE: Duration = Duration::from_secs(2);

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
    clock: Clock,
    read: Vec<u8>,
    longest: usize,
}

impl Lines {
    pub fn new(stream: UnixStream, longest: usize) -> Self {
        Self { stream, clock: Clock::start(), read: Vec::new(), longest }
    }

    /// The next line without its end.
    pub fn next(&mut self) -> Result<Vec<u8>, NoLine> {
        let mut whole_by = None;
        loop {
            if let Some(end) = self.read.iter().position(|&byte| byte == b'\n') {
                let rest = self.read.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.read, rest);
                line.truncate(end);
                return if end > self.longest { Err(NoLine::TooLong) } else { Ok(line) };
            }
            if self.read.len() > self.longest {
                return Err(NoLine::TooLong);
            }
            let now = self.clock.now();
            let until = if self.read.is_empty() { now + SILENCE } else { *whole_by.get_or_insert(now + LINE) };
            let mut piece = [0; 4096];
            match read(&mut self.stream, &self.clock, &mut piece, until) {
                Ok(0) | Err(_) => return Err(NoLine::End),
                Ok(count) => self.read.extend_from_slice(&piece[..count]),
            }
        }
    }
}
