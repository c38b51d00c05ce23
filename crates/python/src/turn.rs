//! Whose turn it is to use a scheduler: that of one thread, and of one call.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::Wrong;
use crate::nested::stay_if_over;

/// How often signals are looked for while waiting.
const PERIOD: Duration = Duration::from_millis(50);

/// One turn at a time.
#[derive(Default)]
pub struct Turn {
    of: Mutex<Option<ThreadId>>,
    over: Condvar,
}

impl Turn {
    fn of(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wait for the turns of other threads to end, without Python's lock. A turn within one's own would never come.
    pub fn take(&self, py: Python<'_>, name: &str) -> PyResult<Taken<'_>> {
        let own = thread::current().id();
        loop {
            let mut of = self.of();
            match *of {
                None => {
                    *of = Some(own);
                    return Ok(Taken(self));
                }
                Some(thread) if thread == own => {
                    let message = format!("{name} is in the middle of another call, which has called this one");
                    return Err(Wrong::new("BusyError", message).into());
                }
                Some(_) => drop(of),
            }
            py.detach(|| {
                drop(self.over.wait_timeout_while(self.of(), PERIOD, |of| of.is_some()));
                stay_if_over();
            });
            py.check_signals()?;
        }
    }
}

/// A turn; it ends with this.
pub struct Taken<'a>(&'a Turn);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.0.of() = None;
        self.0.over.notify_one();
    }
}
