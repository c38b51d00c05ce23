//! TCP connections that always have something to send.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use dovetail_units::{Duration, Time};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Domain, SockAddr, Socket, Type};

use super::Ip;
use super::tcp_info::{self, Info};
use crate::clock::{now, pause};
use crate::error::LabError;
use crate::lab::Lab;
use crate::namespace::Place;

/// How long a connection may take to come about.
const CONNECT: std::time::Duration = std::time::Duration::from_secs(10);

/// Bytes written or read at once.
const CHUNK: usize = 64 << 10;

/// How often to look whether to stop, milliseconds.
const LOOK: u8 = 20;

/// A connection that sends as fast as its congestion control allows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpFlow {
    /// What reports call it; several flows may share a name.
    pub name: String,
    /// The receiver's port.
    pub port: u16,
    /// Version of IP.
    pub ip: Ip,
    /// When it connects, after the start of the run.
    pub start: Duration,
    /// The longest segment in bytes; none is what the MTU allows. Linux sends options in addition, 12 bytes with time
    /// stamps.
    pub mss: Option<u16>,
    /// Its congestion control; none is the lab's.
    pub congestion_control: Option<String>,
}

/// What became of a connection in a window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpMeasured {
    /// The flow's name.
    pub name: String,
    /// Bytes that the server's program has read.
    pub bytes: u64,
    /// Bytes of data in a full segment; zero before it is connected.
    pub segment: u32,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Smoothed round-trip time, at the end of the window; zero before it is connected.
    pub rtt: Duration,
    /// Congestion window at the end of the window, segments.
    pub congestion_window: u32,
    /// Whether both ends use ECN.
    pub ecn: bool,
}

/// What became of TCP traffic in a window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpReport {
    /// How long the window was.
    pub window: Duration,
    /// Each flow, in the order in which they were given.
    pub flows: Vec<TcpMeasured>,
    /// Packets with a congestion mark that came to the receiving end.
    pub marked: u64,
}

/// How far a connection has come.
#[derive(Debug)]
enum State {
    /// It is not connected yet.
    Waiting,
    /// It sends.
    Open(TcpStream),
    /// It could not be opened, or has broken.
    Failed(String),
}

/// What all threads of a run share.
#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    states: Vec<Mutex<State>>,
    /// Bytes that the server has read, per flow.
    read: Vec<AtomicU64>,
    /// The server's ends of the connections, to be closed in the end.
    accepted: Mutex<Vec<TcpStream>>,
}

/// TCP traffic under way. Dropping it stops it.
#[derive(Debug)]
pub struct TcpRun<'a> {
    lab: &'a Lab,
    to: Place,
    flows: Vec<TcpFlow>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    begun: Time,
    /// Of each flow: bytes read and segments sent again before this window.
    before: Vec<(u64, u64)>,
    marked: u64,
}

impl Lab {
    /// Open these connections from the client to the server, and keep sending.
    ///
    /// # Errors
    /// A port is taken. Connections that fail are found by [`TcpRun::measure`].
    pub fn tcp(&self, flows: &[TcpFlow]) -> Result<TcpRun<'_>, LabError> {
        self.tcp_from(Place::Client, flows)
    }

    /// As [`tcp`](Self::tcp), from this end to the other.
    ///
    /// # Errors
    /// As there.
    pub fn tcp_from(&self, from: Place, flows: &[TcpFlow]) -> Result<TcpRun<'_>, LabError> {
        let to = from.other_end();
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            states: flows.iter().map(|_| Mutex::new(State::Waiting)).collect(),
            read: flows.iter().map(|_| AtomicU64::new(0)).collect(),
            accepted: Mutex::default(),
        });
        let marked = self.counter(to, "IpExt", "InCEPkts")?;
        let listeners = self.enter(to, || listen(to, flows))?;
        // The run owns its threads from the first on, so that they end if starting the others fails.
        let theirs = shared.clone();
        let acceptor = std::thread::spawn(move || accept(&listeners, &theirs));
        let mut run = TcpRun {
            lab: self,
            to,
            flows: flows.to_vec(),
            shared,
            threads: vec![acceptor],
            begun: now(),
            before: vec![(0, 0); flows.len()],
            marked,
        };
        let sender = self.namespace(from);
        for (k, flow) in flows.iter().enumerate() {
            let (flow, shared, sender) = (flow.clone(), run.shared.clone(), sender.clone());
            run.threads.push(std::thread::spawn(move || {
                let ended = sender.join().and_then(|()| send(k, to, &flow, &shared));
                if let Err(error) = ended {
                    *lock(&shared.states[k]) = State::Failed(error.to_string());
                }
            }));
        }
        Ok(run)
    }
}

impl TcpRun<'_> {
    /// Wait until all connections are open, at most until `limit` has passed.
    ///
    /// # Errors
    /// A connection could not be opened, or not in time.
    pub fn wait_connected(&self, limit: Duration) -> Result<(), LabError> {
        let begun = now();
        for (flow, state) in self.flows.iter().zip(&self.shared.states) {
            loop {
                match &*lock(state) {
                    State::Open(_) => break,
                    State::Failed(why) => return Err(failed(flow, why)),
                    State::Waiting if now() - begun > limit => {
                        return Err(failed(flow, &format!("is not connected after {limit}")));
                    }
                    State::Waiting => {}
                }
                pause(Duration::from_millis(1));
            }
        }
        Ok(())
    }

    /// What has happened since the run began or was last measured.
    ///
    /// # Errors
    /// A connection could not be opened, or has broken.
    pub fn measure(&mut self) -> Result<TcpReport, LabError> {
        let marked = self.lab.counter(self.to, "IpExt", "InCEPkts")?;
        let at = now();
        let mut flows = Vec::with_capacity(self.flows.len());
        for (k, (flow, before)) in self.flows.iter().zip(&mut self.before).enumerate() {
            let info = match &*lock(&self.shared.states[k]) {
                State::Waiting => None,
                State::Open(stream) => Some(tcp_info::read(stream).map_err(LabError::system("read TCP_INFO"))?),
                State::Failed(why) => {
                    return Err(LabError::Traffic(format!(
                        "the TCP flow {:?} to port {}: {why}",
                        flow.name, flow.port
                    )));
                }
            };
            let info =
                info.unwrap_or(Info { rtt: Duration::ZERO, window: 0, segment: 0, retransmitted: 0, ecn: false });
            let total = (self.shared.read[k].load(Relaxed), u64::from(info.retransmitted));
            flows.push(TcpMeasured {
                name: flow.name.clone(),
                bytes: total.0 - before.0,
                segment: info.segment,
                retransmitted: total.1 - before.1,
                rtt: info.rtt,
                congestion_window: info.window,
                ecn: info.ecn,
            });
            *before = total;
        }
        let report = TcpReport { window: at - self.begun, flows, marked: marked - self.marked };
        (self.begun, self.marked) = (at, marked);
        Ok(report)
    }

    /// Close all connections.
    pub fn stop(self) {}
}

impl Drop for TcpRun<'_> {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        for state in &self.shared.states {
            if let State::Open(stream) = &*lock(state) {
                // Wakes a thread that waits to write. It may be closed already.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn failed(flow: &TcpFlow, why: &str) -> LabError {
    LabError::Traffic(format!("the TCP flow {:?} to port {}: {why}", flow.name, flow.port))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listen(at: Place, flows: &[TcpFlow]) -> Result<Vec<TcpListener>, LabError> {
    let addresses: std::collections::BTreeSet<_> = flows.iter().map(|flow| flow.ip.at(at, flow.port)).collect();
    let listen = |address| {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    addresses.into_iter().map(|a| listen(a).map_err(LabError::system(format!("listen at {a}")))).collect()
}

/// Accept connections and read from each on a thread of its own, until told to stop.
fn accept(listeners: &[TcpListener], shared: &Arc<Shared>) {
    let mut readers = Vec::new();
    let mut ready: Vec<PollFd> = listeners.iter().map(|l| PollFd::new(l.as_fd(), PollFlags::POLLIN)).collect();
    while !shared.stop.load(Relaxed) {
        // After an error the listeners are asked all the same.
        let _ = poll(&mut ready, PollTimeout::from(LOOK));
        for listener in listeners {
            while let Ok((stream, _)) = listener.accept() {
                // Without a second handle it could not be closed in the end.
                let Ok(handle) = stream.try_clone() else { continue };
                lock(&shared.accepted).push(handle);
                let shared = shared.clone();
                readers.push(std::thread::spawn(move || read(stream, &shared)));
            }
        }
    }
    for stream in lock(&shared.accepted).drain(..) {
        let _ = stream.shutdown(Shutdown::Both);
    }
    for reader in readers {
        let _ = reader.join();
    }
}

/// Count what comes. The first eight bytes say which flow it is.
fn read(mut stream: TcpStream, shared: &Shared) {
    let mut flow = [0; 8];
    if stream.set_nonblocking(false).is_err() || stream.read_exact(&mut flow).is_err() {
        return;
    }
    let Some(count) = shared.read.get(u64::from_be_bytes(flow) as usize) else { return };
    let mut buffer = vec![0; CHUNK];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(bytes) => drop(count.fetch_add(bytes as u64, Relaxed)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The sender notices too, and reports it.
            Err(_) => return,
        }
    }
}

/// Connect when it is time, and send until told to stop.
fn send(k: usize, to: Place, flow: &TcpFlow, shared: &Shared) -> Result<(), LabError> {
    let start = now() + flow.start;
    while now() < start {
        if shared.stop.load(Relaxed) {
            return Ok(());
        }
        pause(start.since(now()).min(Duration::from_millis(LOOK.into())));
    }
    let mut stream = connect(to, flow)?;
    let handle = stream.try_clone().map_err(LabError::system("copy a socket"))?;
    *lock(&shared.states[k]) = State::Open(handle);
    let bytes = vec![0; CHUNK];
    let mut done = stream.write_all(&(k as u64).to_be_bytes());
    while done.is_ok() && !shared.stop.load(Relaxed) {
        done = stream.write_all(&bytes);
    }
    match done {
        Err(error) if !shared.stop.load(Relaxed) => Err(LabError::system("send")(error)),
        _ => Ok(()),
    }
}

fn connect(to: Place, flow: &TcpFlow) -> Result<TcpStream, LabError> {
    let to = flow.ip.at(to, flow.port);
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).map_err(LabError::system("open a socket"))?;
    if let Some(name) = &flow.congestion_control {
        let set = socket.set_tcp_congestion(name.as_bytes());
        set.map_err(LabError::system(format!("use the congestion control {name:?}")))?;
    }
    if let Some(mss) = flow.mss {
        let set = socket.set_tcp_mss(mss.into());
        set.map_err(LabError::system(format!("use segments of {mss} bytes")))?;
    }
    let connected = socket.connect_timeout(&SockAddr::from(to), CONNECT);
    connected.map_err(LabError::system("connect"))?;
    // What is still unsent in the end is thrown away.
    socket.set_linger(Some(std::time::Duration::ZERO)).map_err(LabError::system("set SO_LINGER"))?;
    Ok(socket.into())
}
