//! Calls of Python from here, which may call this package again, and so on; and their end when Python ends.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::exceptions::{PyRecursionError, PySystemExit};
use pyo3::prelude::*;

/// So many such calls may be within one another. Python's own limit does not know how much stack is used here: some
/// 150 simulations fill it.
const DEEPEST: u32 = 32;

/// How long the end of Python waits for methods of other threads.
const PATIENCE: Duration = Duration::from_millis(500);

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// What all threads do.
struct Threads {
    /// So many are in such a call.
    calling: u32,
    /// Python ends, on this thread.
    ending: Option<ThreadId>,
}

impl Threads {
    /// Whether Python ends without this thread.
    fn is_over(&self) -> bool {
        self.ending.is_some_and(|thread| thread != thread::current().id())
    }
}

static THREADS: Mutex<Threads> = Mutex::new(Threads { calling: 0, ending: None });
static LEFT: Condvar = Condvar::new();

fn threads() -> MutexGuard<'static, Threads> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Leaves a call, also where it panics.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if DEPTH.get() == 0 {
            threads().calling -= 1;
            LEFT.notify_all();
        }
    }
}

/// Call Python, unless such calls are within one another too deeply, or Python ends: then the thread does.
pub fn calling<T>(call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let depth = DEPTH.get();
    if depth == DEEPEST {
        return Err(PyRecursionError::new_err("calls of dovetail within one another are nested too deeply"));
    }
    let mut threads = threads();
    if threads.is_over() {
        return Err(PySystemExit::new_err(()));
    }
    threads.calling += u32::from(depth == 0);
    drop(threads);
    DEPTH.set(depth + 1);
    let _leave = Leave;
    call()
}

/// Wait without end if Python ends: a thread must not take its lock any more.
pub fn stay_if_over() {
    if threads().is_over() {
        loop {
            thread::park();
        }
    }
}

/// Python is about to end. It would end other threads where they next wait for its lock, in the middle of a call from
/// here, and the program with them: let them come out of such calls before. Those that wait for the lock in PyO3 need
/// not be waited for: it lets them wait without end.
#[pyfunction]
pub fn end(py: Python<'_>) {
    py.detach(|| {
        let mut threads = threads();
        threads.ending = Some(thread::current().id());
        let own = u32::from(DEPTH.get() > 0);
        drop(LEFT.wait_timeout_while(threads, PATIENCE, |threads| threads.calling > own));
    });
}
