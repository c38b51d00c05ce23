//! Whose turn it is to use a scheduler: that of one thread, and of one call.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::Wrong;
use crate::nested::stay_if_over;

/// How often signals are looked for while waiting.
const PERIOD: Duration = Duration::from_millis(50);

/// Whose turn it is, if it is anybody's.
type Of = Arc<Mutex<Option<ThreadId>>>;

/// Threads that wait, and for whose turn to end.
static WAITING: Mutex<Vec<(ThreadId, Of)>> = Mutex::new(Vec::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One turn at a time.
#[derive(Default)]
pub struct Turn {
    of: Of,
    over: Condvar,
}

impl Turn {
    fn of(&self) -> MutexGuard<'_, Option<ThreadId>> {
        locked(&self.of)
    }

    /// Wait for the turns of other threads to end, without Python's lock. A turn within one's own would never come, nor
    /// would that of a thread which waits for this one.
    pub fn take(&self, py: Python<'_>, name: &str) -> PyResult<Taken<'_>> {
        let own = thread::current().id();
        let mut waits = None;
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
            waits.get_or_insert_with(|| Waits::begin(own, &self.of));
            if waits_for_itself(own) {
                let message = format!(
                    "{name} is in a call of a thread that waits for a scheduler which this thread is in a call of"
                );
                return Err(Wrong::new("BusyError", message).into());
            }
            py.detach(|| {
                drop(self.over.wait_timeout_while(self.of(), PERIOD, |of| of.is_some()));
                stay_if_over();
            });
            py.check_signals()?;
        }
    }
}

/// That a thread waits; until this goes.
struct Waits(ThreadId);

impl Waits {
    fn begin(thread: ThreadId, turn: &Of) -> Self {
        locked(&WAITING).push((thread, turn.clone()));
        Self(thread)
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        locked(&WAITING).retain(|(thread, _)| *thread != self.0);
    }
}

/// Whether the thread that this one waits for waits in turn for another one, and so on to this one.
fn waits_for_itself(own: ThreadId) -> bool {
    let waiting = locked(&WAITING);
    let waited_for = |thread: &ThreadId| {
        let (_, turn) = waiting.iter().find(|(waits, _)| waits == thread)?;
        *locked(turn)
    };
    // A circle without this thread ends by one of its own.
    let chain = std::iter::successors(waited_for(&own), waited_for);
    chain.take(waiting.len()).any(|thread| thread == own)
}

/// A turn; it ends with this.
pub struct Taken<'a>(&'a Turn);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.0.of() = None;
        self.0.over.notify_one();
    }
}
