//! The other end of the control socket.

use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::protocol::{Answer, Request};
use crate::core::Snapshot;

/// A box answers within this time.
const PATIENCE: Duration = Duration::from_secs(6);

/// A connection to a running box.
pub struct Client {
    stream: BufReader<UnixStream>,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum ClientError {
    /// The box is not there, or is gone.
    Gone(io::Error),
    /// The box says that the request is wrong; it changed nothing.
    Refused(String),
    /// The box has no room or no time for this client.
    Unavailable(String),
    /// What came is no answer that is understood here.
    Strange(String),
}

impl Client {
    /// Connect to the box that listens at `path`.
    ///
    /// # Errors
    /// Nobody listens there, or it is not ours to use.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Ask for what the box has done, with so many flows.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn snapshot(&mut self, flows: usize) -> Result<Snapshot, ClientError> {
        match self.ask(&Request::Snapshot { flows })? {
            Answer::Snapshot(snapshot) => Ok(*snapshot),
            _ => Err(ClientError::Strange("no snapshot".into())),
        }
    }

    /// Ask for a change; what is so from now on.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn change(&mut self, request: &Request) -> Result<String, ClientError> {
        match self.ask(request)? {
            Answer::Done(done) => Ok(done),
            _ => Err(ClientError::Strange("no word of what was done".into())),
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, ClientError> {
        // A box that has no room for another client says so before it is asked.
        let sent = self.stream.get_mut().write_all(request.to_line().as_bytes());
        let mut line = Vec::new();
        let read = self.stream.read_until(b'\n', &mut line);
        if line.is_empty() {
            let gone = sent.and(read.map(|_| ())).err();
            return Err(ClientError::Gone(gone.unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())));
        }
        match Answer::from_line(&line).map_err(ClientError::Strange)? {
            Answer::Error(message) => Err(ClientError::Refused(message)),
            Answer::Unavailable(message) => Err(ClientError::Unavailable(message)),
            answer => Ok(answer),
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(error) if error.kind() == io::ErrorKind::UnexpectedEof => f.write_str("the box is gone"),
            Self::Gone(error) => write!(f, "the box does not answer: {error}"),
            Self::Refused(message) | Self::Unavailable(message) => f.write_str(message),
            Self::Strange(message) => write!(f, "the box's answer is not understood: {message}"),
        }
    }
}

impl std::error::Error for ClientError {}
