//! Web traffic: short connections, one after another, each of which asks for a page and gets it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use dovetail_units::Duration;

use super::Ip;
use crate::clock::{now, pause};
use crate::error::LabError;
use crate::lab::Lab;
use crate::namespace::Place;

/// What a browser asks.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n";

/// How long a browser waits for anything.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// How often a server looks whether to stop.
const LOOK: Duration = Duration::from_millis(5);

/// Browsers at one end, which load pages from the other end, under way. Dropping it stops them.
#[derive(Debug)]
pub struct Web {
    stop: Arc<AtomicBool>,
    done: Arc<Mutex<Pages>>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Pages {
    times: Vec<Duration>,
    failed: u64,
}

/// What became of pages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WebReport {
    /// Pages that came whole.
    pub pages: u64,
    /// Pages that did not.
    pub failed: u64,
    /// How long a page took: the median and the 99th percentile.
    pub time: [Duration; 2],
}

impl Lab {
    /// So many browsers at this end, each of which loads pages of `bytes` from the other end, with pauses of `pause`.
    ///
    /// # Errors
    /// The port is taken.
    pub fn web(&self, from: Place, port: u16, browsers: u32, bytes: usize, rest: Duration) -> Result<Web, LabError> {
        let address = Ip::V4.at(from.other_end(), port);
        let failed = || LabError::system(format!("listen at {address}"));
        let listener = self.enter(from.other_end(), || {
            let listener = TcpListener::bind(address).map_err(failed())?;
            listener.set_nonblocking(true).map_err(failed())?;
            Ok(listener)
        })?;
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Pages::default())));
        let mut threads = Vec::new();
        let stops = stop.clone();
        threads.push(std::thread::spawn(move || serve(&listener, bytes, &stops)));
        for _ in 0..browsers {
            let (stop, done, place) = (stop.clone(), done.clone(), self.namespace(from));
            threads.push(std::thread::spawn(move || {
                if place.join().is_err() {
                    return;
                }
                while !stop.load(Relaxed) {
                    let begun = now();
                    let loaded = load(address);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    match loaded {
                        Ok(came) if came == bytes => done.times.push(now() - begun),
                        _ if stop.load(Relaxed) => {}
                        _ => done.failed += 1,
                    }
                    drop(done);
                    pause(rest);
                }
            }));
        }
        Ok(Web { stop, done, threads })
    }
}

fn load(address: std::net::SocketAddr) -> std::io::Result<usize> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(REQUEST)?;
    let mut page = Vec::new();
    stream.read_to_end(&mut page)
}

fn serve(listener: &TcpListener, bytes: usize, stop: &AtomicBool) {
    let mut answers: Vec<JoinHandle<()>> = Vec::new();
    while !stop.load(Relaxed) {
        while let Ok((stream, _)) = listener.accept() {
            answers.push(std::thread::spawn(move || {
                // A browser that has gone is none of ours.
                let _ = answer(stream, bytes);
            }));
        }
        answers.retain(|answer| !answer.is_finished());
        pause(LOOK);
    }
    for answer in answers {
        let _ = answer.join();
    }
}

fn answer(mut stream: TcpStream, bytes: usize) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = [0; REQUEST.len()];
    stream.read_exact(&mut request)?;
    stream.write_all(&vec![b'x'; bytes])
}

impl Web {
    /// What became of pages until now, or since the last time that was asked.
    pub fn measure(&self) -> WebReport {
        let Pages { mut times, failed } =
            std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner));
        times.sort_unstable();
        let at = |part: usize| times.get(times.len().saturating_sub(1) * part / 100).copied().unwrap_or_default();
        WebReport { pages: times.len() as u64, failed, time: [at(50), at(99)] }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
