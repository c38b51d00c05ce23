//! Work on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

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
    thread::scope(|scope| {
        for _ in 1..threads.min(inputs.len()) {
            // Where the system grants no more of them, fewer do the work.
            _ = thread::Builder::new().spawn_scoped(scope, worker);
        }
        worker();
    });
    results.into_iter().map(|slot| slot.into_inner().ok().flatten()).collect()
}

/// Threads, some of which work and the others are idle.
#[derive(Debug)]
pub struct Threads {
    all: usize,
    busy: AtomicUsize,
}

impl Threads {
    /// So many, for so many pieces of work, each of which [is done](Self::give_back) by one of them at some time.
    pub fn new(all: usize, works: usize) -> Self {
        Self { all, busy: AtomicUsize::new(works) }
    }

    /// Take one that is idle, if there is one: there are more than pieces of work not done, and threads taken.
    pub fn take(&self) -> bool {
        let one_more = |busy: usize| (busy < self.all).then_some(busy + 1);
        self.busy.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// A thread was taken and is idle again, or a piece of work is done.
    pub fn give_back(&self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_idle_that_no_work_needs_and_nobody_took() {
        let taken = |threads: &Threads| (0..10).filter(|_| threads.take()).count();
        for (all, works, idle) in [(1, 1, 0), (2, 1, 1), (3, 1, 2), (2, 2, 0), (2, 8, 0), (5, 3, 2)] {
            assert_eq!(taken(&Threads::new(all, works)), idle, "{works} of {all}");
        }
        let threads = Threads::new(2, 3);
        let idle = [(); 3].map(|()| {
            threads.give_back();
            taken(&threads)
        });
        assert_eq!(idle, [0, 1, 1], "after each of three pieces of work, on two threads");
        threads.give_back();
        assert_eq!(taken(&threads), 1, "one that was taken is taken again");
    }
}
