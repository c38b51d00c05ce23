//! Work on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// `work` for each of `inputs`, at most `threads` (at least 1) at a time; results in their order, `None` for what was
/// not begun before `cancel` became true.
pub fn in_parallel<I: Sync, O: Send>(
    threads: usize,
    cancel: &AtomicBool,
    inputs: &[I],
    work: impl Fn(&I) -> O + Sync,
) -> Vec<Option<O>> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<O>>> = inputs.iter().map(|_| Mutex::default()).collect();
    let worker = || {
        while let Some((input, slot)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            inputs.get(index).zip(results.get(index))
        } {
            if cancel.load(Ordering::Relaxed) {
                return;
            }
            let result = work(input);
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(inputs.len()) {
            scope.spawn(worker);
        }
        worker();
    });
    results.into_iter().map(|slot| slot.into_inner().ok().flatten()).collect()
}
