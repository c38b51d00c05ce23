//! The control socket and its clients.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use dovetail_units::Duration;
use socket2::{Domain, SockAddr, SockRef, Type};

use super::desk::Counter;
use super::lines::{Lines, NoLine};
use super::protocol::{Answer, LONGEST, Request};
use crate::deadline::write;
use crate::driver::Clock;

/// Clients at the same time.
const CLIENTS: usize = 8;

/// A client takes its answer within this time.
const TAKE: Duration = Duration::from_secs(2);

/// Where no client can be accepted, the next try comes after this time.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// A Unix socket whose clients are answered. It is removed when this is dropped.
pub struct Socket {
    // In the order of `Bound`.
    _place: Place,
    _accepting: Accepting,
}

/// The thread that takes new clients, which ends when this is dropped.
struct Accepting {
    listener: Arc<UnixListener>,
    closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// A Unix socket that only its owner can use, where nobody is answered yet. It is removed when this is dropped.
pub struct Bound {
    // Goes before the listener: nobody sees a socket where nobody listens.
    place: Place,
    listener: UnixListener,
}

/// Where a socket is, which is removed when this is dropped.
struct Place {
    path: PathBuf,
    file: (u64, u64),
}

impl Place {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_path_buf(), file: file_at(path)? })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // If somebody has removed it, another box may have one there by now. While the listener lives, the file's
        // number is nobody else's.
        if file_at(&self.path).is_ok_and(|there| there == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Which file has this name: its device and its number there.
fn file_at(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|there| (there.dev(), there.ino()))
}

impl Bound {
    /// Listen at `path`. The socket of a box that has died is replaced, and the last folder of the path is made if it
    /// is missing.
    ///
    /// # Errors
    /// Another box listens there, something that is not a socket is there, or the socket cannot be made.
    pub fn at(path: &Path) -> io::Result<Self> {
        make_room(path)?;
        let listener = bind(path)?;
        Ok(Self { place: Place::of(path)?, listener })
    }

    /// Answer clients, on threads of their own, which may do what the calling thread may.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn serve(self, counter: Counter) -> io::Result<Socket> {
        let Self { place, listener } = self;
        let (listener, closed) = (Arc::new(listener), Arc::new(AtomicBool::new(false)));
        let (taken, over) = (Arc::clone(&listener), Arc::clone(&closed));
        let thread = thread::Builder::new().name("control".into()).spawn(move || accept(&taken, &counter, &over))?;
        Ok(Socket { _place: place, _accepting: Accepting { listener, closed, thread: Some(thread) } })
    }
}

impl Drop for Accepting {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        // Wakes the thread, wherever the socket's name is by now.
        let woken = SockRef::from(&*self.listener).shutdown(Shutdown::Both).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Remove what a dead box left.
fn make_room(path: &Path) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == ErrorKind::NotFound => return make_folder(path),
        Err(error) => return Err(error),
    };
    if !there.file_type().is_socket() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "it exists and is not a socket; nothing was removed"));
    }
    match UnixStream::connect(path) {
        Ok(_) => {
            Err(io::Error::new(ErrorKind::AddrInUse, "another box listens there; stop it, or choose another path"))
        }
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        Some(folder) => fs::DirBuilder::new().mode(0o700).create(folder),
        None => Ok(()),
    }
}

/// The permissions are set before the socket has a name, so that there is no moment when others could connect.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
    let file = File::from(OwnedFd::from(socket));
    file.set_permissions(Permissions::from_mode(0o600))?;
    let socket = socket2::Socket::from(OwnedFd::from(file));
    socket.bind(&SockAddr::unix(path)?)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    socket.listen(CLIENTS as i32)?;
    Ok(UnixListener::from(OwnedFd::from(socket)))
}

fn accept(listener: &UnixListener, counter: &Counter, closed: &AtomicBool) {
    let clients = Arc::new(AtomicUsize::new(0));
    while !closed.load(Ordering::Relaxed) {
        let Ok((mut stream, _)) = listener.accept() else {
            // It was shut down, a client is gone already, or there are no descriptors, perhaps for good: without one
            // the kernel does not even say that it was shut down.
            thread::park_timeout(PAUSE);
            continue;
        };
        if clients.load(Ordering::Relaxed) >= CLIENTS {
            let full = format!("{CLIENTS} clients talk to this box already; try again later");
            let _ = send(&mut stream, &Answer::Unavailable(full));
            continue;
        }
        clients.fetch_add(1, Ordering::Relaxed);
        let (counter, left) = (counter.clone(), Arc::clone(&clients));
        let serve = move || {
            // However it ends, there is room for another client.
            let _ = serve(stream, &counter);
            left.fetch_sub(1, Ordering::Relaxed);
        };
        if thread::Builder::new().name("client".into()).spawn(serve).is_err() {
            clients.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn serve(mut stream: UnixStream, counter: &Counter) -> io::Result<()> {
    let mut lines = Lines::new(stream.try_clone()?, LONGEST);
    loop {
        let answer = match lines.next() {
            Ok(line) => Request::from_line(&line).map_or_else(Answer::Error, |request| counter.ask(request)),
            Err(NoLine::TooLong) => {
                return send(&mut stream, &Answer::Error(format!("a request has at most {LONGEST} bytes")));
            }
            Err(NoLine::End) => return Ok(()),
        };
        send(&mut stream, &answer)?;
    }
}

fn send(stream: &mut UnixStream, answer: &Answer) -> io::Result<()> {
    let clock = Clock::start();
    write(stream, &clock, answer.to_line().as_bytes(), clock.now() + TAKE)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;
    use std::sync::mpsc;

    use super::super::Desk;
    use super::*;

    #[test]
    fn a_socket_at_which_no_client_can_be_accepted_any_more_can_be_closed() {
        let path = std::env::temp_dir().join(format!("dovetail-control-deaf-{}.sock", std::process::id()));
        // At such a one accepting fails for ever, shut down or not, as it does without descriptors.
        let deaf = UnixListener::from(OwnedFd::from(UnixDatagram::bind(&path).unwrap()));
        let (_desk, counter) = Desk::open();
        let socket = Bound { place: Place::of(&path).unwrap(), listener: deaf }.serve(counter).unwrap();
        let (closed, wait) = mpsc::channel();
        thread::spawn(move || {
            thread::park_timeout(PAUSE / 2);
            drop(socket);
            closed.send(()).unwrap();
        });
        wait.recv_timeout(100 * PAUSE).expect("it is closed within ten seconds");
    }
}
