//! Long work beside Python: without its lock, and ended by Ctrl-C.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::{Wrong, guarded};
use crate::nested::{calling, stay_if_over};

/// How often signals are looked for and progress is told.
const PERIOD: Duration = Duration::from_millis(50);

/// What the work needs to know of whoever waits for it.
pub struct Watch<'a> {
    /// Becomes true when nobody wants the result any more.
    pub cancel: &'a AtomicBool,
    done: &'a AtomicU64,
    total: &'a AtomicU64,
}

impl Watch<'_> {
    /// So much is done, in packets.
    pub fn done(&self, packets: u64) {
        // Several runs tell it in any order.
        self.done.fetch_max(packets, Ordering::Relaxed);
    }

    /// So much there is to do, if that is known: infinite if not.
    pub fn total(&self, packets: f64) {
        let known = if packets.is_finite() { packets.max(0.0) as u64 } else { 0 };
        self.total.store(known, Ordering::Relaxed);
    }
}

/// Do `work` on a thread of its own while this one releases Python's lock, calls `progress(done, total)` now and then,
/// and sees to signals. What a handler or `progress` raises ends the work.
pub fn in_background<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Watch<'_>) -> Result<T, Wrong> + Send,
) -> PyResult<T> {
    let (cancel, done, total) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let watch = Watch { cancel: &cancel, done: &done, total: &total };
    let tell = |py: Python<'_>| -> PyResult<()> {
        py.check_signals()?;
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let told = |f: &Py<PyAny>| calling(|| f.call1(py, (count(&done), count(&total))).map(drop));
        progress.as_ref().map_or(Ok(()), told)
    };
    py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = channel();
            let watch = &watch;
            scope.spawn(move || sender.send(guarded(|| work(watch))));
            awaited(&receiver, tell, Some(&cancel))
        })
    })
}

/// As [`in_background`], for work that only reads: what a handler raises leaves its thread behind, as nothing else ends
/// the wait for somebody who opens the other end of a pipe.
pub fn reading<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Wrong> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let started = thread::Builder::new().spawn(move || sender.send(guarded(work)));
    started.map_err(|error| Wrong::new("RunError", format!("a thread cannot be started: {error}")))?;
    py.detach(move || awaited(&receiver, |py| py.check_signals(), None))
}

/// What work on another thread comes to, for which this one calls `tell` meanwhile. If that raises something, the work
/// is to end, where it can be told to: otherwise nobody waits for it any longer.
fn awaited<T>(
    receiver: &Receiver<Result<Result<T, Wrong>, Wrong>>,
    tell: impl Fn(Python<'_>) -> PyResult<()>,
    cancel: Option<&AtomicBool>,
) -> PyResult<T> {
    let mut raised = None;
    loop {
        let received = receiver.recv_timeout(PERIOD);
        stay_if_over();
        if raised.is_none() {
            raised = Python::attach(&tell).err();
        }
        match (received, cancel) {
            (Ok(result), _) => return raised.map_or_else(|| Ok(result??), Err),
            (Err(RecvTimeoutError::Timeout), Some(cancel)) => cancel.store(raised.is_some(), Ordering::Relaxed),
            (Err(RecvTimeoutError::Timeout), None) => raised.take().map_or(Ok(()), Err)?,
            (Err(RecvTimeoutError::Disconnected), _) => {
                return Err(Wrong::new("InternalError", "the work ended without a result").into());
            }
        }
    }
}

/// How many runs at the same time: all processors unless something else is said.
pub fn threads(wanted: Option<u64>) -> usize {
    match wanted {
        Some(wanted) => wanted as usize,
        None => thread::available_parallelism().map_or(1, usize::from),
    }
}
