//! Work that is interrupted ends soon, and leaves nothing half-written.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dovetail_experiment::output::{Leftovers, Output};

use crate::failure::Failure;
use crate::terminal;

/// Hidden files of the work under way.
static LEFTOVERS: Mutex<Option<Leftovers>> = Mutex::new(None);

/// What is kept of it if it is ended.
static KEPT: Mutex<Option<String>> = Mutex::new(None);

/// Whether its results are in place.
static PLACED: AtomicBool = AtomicBool::new(false);

/// How often it is looked whether the work was interrupted, and how long it may then take to end in an orderly way.
const LOOK: Duration = Duration::from_millis(100);
const GRACE: Duration = Duration::from_millis(600);

/// As [`on_interrupt`](terminal::on_interrupt); work that does not end by itself soon is ended. Not for what has to be
/// undone.
pub fn end_on_interrupt() -> &'static AtomicBool {
    let cancelled = terminal::on_interrupt();
    let watch = || {
        // Nobody ever sends.
        let (_sender, never) = std::sync::mpsc::channel::<()>();
        while !cancelled.load(Ordering::Relaxed) {
            let _ = never.recv_timeout(LOOK);
        }
        let _ = never.recv_timeout(GRACE);
        // Results are moved into place, or not.
        let leftovers = LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner);
        if PLACED.load(Ordering::Relaxed) {
            return;
        }
        if let Some(leftovers) = leftovers.as_ref() {
            leftovers.remove();
        }
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = kept.map_or(Failure::Interrupted, Failure::Paused).report();
        std::process::exit(130);
    };
    // Where the system grants no thread, work that looks at the flag still ends.
    _ = std::thread::Builder::new().name("interrupt".into()).spawn(watch);
    cancelled
}

/// What to remove if the work is ended.
pub fn leave_nothing(output: Option<&Output>) {
    *LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner) = output.and_then(Output::leftovers);
}

/// What is kept, in words, if the work is ended.
pub fn keep(words: &str) {
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(words.to_string());
}

/// Work that is not ended halfway, and has to be short; afterwards there is nothing to remove.
pub fn uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    let mut leftovers = LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner);
    let done = work();
    PLACED.store(true, Ordering::Relaxed);
    *leftovers = None;
    done
}
