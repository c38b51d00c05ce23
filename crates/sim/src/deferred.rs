//! A run and what records it, on two threads.

use std::mem;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use dovetail_sched::DropReason;
use dovetail_units::{Duration, Time};

use crate::recorder::{Recorder, SimPacket};

/// Events of a batch. With two resources it takes 128 KB: it stays in a core's own cache, and handing it over costs
/// little beside the work on it.
const BATCH: usize = 2048;

/// Batches of a run: the one written to, and those on their way to the recorder's thread or back.
const BATCHES: usize = 3;

/// What `run` gives, while `recorder` hears of it later: after every few thousand events on this thread, and on a
/// thread of its own once `take_thread`, asked each time, says yes. It is not asked again then, and not at all if the
/// system grants no thread. When this returns the recorder has heard everything, in the same order as by itself.
///
/// Costs 64 bytes written and read for each event with two resources, and 384 KB of memory (128 KB on one thread).
///
/// # Panics
/// The run or the recorder does.
pub fn deferred<const M: usize, R: Recorder<M> + Send, T>(
    recorder: &mut R,
    take_thread: Option<&dyn Fn() -> bool>,
    run: impl FnOnce(&mut Deferred<'_, M, R>) -> T,
) -> T {
    thread::scope(|scope| {
        let aside = take_thread.and_then(|take_thread| Aside::new(scope, take_thread));
        let mut deferred = Deferred { batch: Batch::new(), here: Some(recorder), aside, ended: None };
        let result = run(&mut deferred);
        deferred.finish();
        result
    })
}

/// Writes down what happens for a recorder that hears of it later; see [`deferred`].
pub struct Deferred<'a, const M: usize, R> {
    batch: Batch<M>,
    /// While it hears on this thread.
    here: Option<&'a mut R>,
    aside: Option<Aside<'a, M, R>>,
    ended: Option<Time>,
}

impl<const M: usize, R: Recorder<M>> Deferred<'_, M, R> {
    #[inline(always)]
    fn note(&mut self, now: Time, packet: &SimPacket<M>, server: u32, what: What) {
        self.batch.events.push(Event { now, packet: *packet, server, what });
        if self.batch.events.len() == BATCH {
            self.go_aside();
            self.hand_over();
        }
    }

    /// Move the recorder to its own thread, if it may go and has not gone.
    #[cold]
    fn go_aside(&mut self) {
        if let (Some(_), Some(aside)) = (&self.here, &self.aside)
            && (aside.take_thread)()
        {
            self.here.take().map(|recorder| aside.lend.send(recorder));
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        match (&mut self.here, &mut self.aside) {
            (Some(recorder), _) => self.batch.tell(*recorder),
            (None, Some(aside)) => aside.hand_over(&mut self.batch),
            (None, None) => {}
        }
    }

    fn finish(mut self) {
        self.hand_over();
        let recorder = match (self.here, self.aside) {
            (None, Some(aside)) => aside.join(),
            (here, _) => here,
        };
        if let Some((recorder, ended)) = recorder.zip(self.ended) {
            recorder.ended(ended);
        }
    }
}

/// A thread that waits for the recorder, then for batches for it.
struct Aside<'a, const M: usize, R> {
    take_thread: &'a dyn Fn() -> bool,
    lend: SyncSender<&'a mut R>,
    full: SyncSender<Batch<M>>,
    emptied: Receiver<Batch<M>>,
    /// Batches that there are.
    made: usize,
    thread: ScopedJoinHandle<'a, Option<&'a mut R>>,
}

impl<'a, const M: usize, R: Recorder<M> + Send> Aside<'a, M, R> {
    /// `None` if the system grants no thread.
    fn new(scope: &'a Scope<'a, '_>, take_thread: &'a dyn Fn() -> bool) -> Option<Self> {
        let (lend, lent) = sync_channel::<&mut R>(1);
        let (full, filled) = sync_channel::<Batch<M>>(BATCHES);
        let (empty, emptied) = sync_channel(BATCHES);
        let hear = move || {
            let recorder = lent.recv().ok()?;
            for mut batch in filled {
                batch.tell(recorder);
                // Not awaited any more once the run is over.
                _ = empty.send(batch);
            }
            Some(recorder)
        };
        let thread = thread::Builder::new().name("record".into()).spawn_scoped(scope, hear).ok()?;
        Some(Self { take_thread, lend, full, emptied, made: 1, thread })
    }
}

impl<'a, const M: usize, R> Aside<'a, M, R> {
    /// Take the batch, and put an empty one in its place.
    fn hand_over(&mut self, batch: &mut Batch<M>) {
        let next = if self.made < BATCHES { None } else { self.emptied.recv().ok() };
        self.made += usize::from(next.is_none());
        // Nobody listens after a panic there, which `join` passes on.
        _ = self.full.send(mem::replace(batch, next.unwrap_or_else(Batch::new)));
    }

    /// The recorder, once it has heard everything.
    fn join(self) -> Option<&'a mut R> {
        drop((self.lend, self.full, self.emptied));
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl<const M: usize, R: Recorder<M>> Recorder<M> for Deferred<'_, M, R> {
    #[inline]
    fn admitted(&mut self, now: Time, packet: &SimPacket<M>) {
        self.note(now, packet, 0, What::Admitted);
    }

    fn refused(&mut self, now: Time, packet: &SimPacket<M>, reason: DropReason) {
        self.note(now, packet, 0, What::Refused(reason));
    }

    fn bypassed(&mut self, now: Time, packet: &SimPacket<M>, resource: usize) {
        self.note(now, packet, 0, What::Bypassed(resource as u8));
    }

    #[inline]
    fn started(&mut self, now: Time, packet: &SimPacket<M>, resource: usize, server: u32) {
        self.note(now, packet, server, What::Started(resource as u8));
    }

    #[inline]
    fn finished(
        &mut self,
        now: Time,
        packet: &SimPacket<M>,
        resource: usize,
        server: u32,
        predicted: Option<Duration>,
    ) {
        let what = match predicted {
            Some(predicted) => {
                self.batch.predictions.push(predicted);
                What::FinishedAsPredicted(resource as u8)
            }
            None => What::Finished(resource as u8),
        };
        self.note(now, packet, server, what);
    }

    #[inline]
    fn delivered(&mut self, now: Time, packet: &SimPacket<M>) {
        self.note(now, packet, 0, What::Delivered);
    }

    fn dropped(&mut self, now: Time, packet: &SimPacket<M>, resource: usize) {
        self.note(now, packet, 0, What::Dropped(resource as u8));
    }

    fn ended(&mut self, now: Time) {
        self.ended = Some(now);
    }
}

/// Events in their order.
struct Batch<const M: usize> {
    events: Vec<Event<M>>,
    /// Of the events with a prediction, in their order.
    predictions: Vec<Duration>,
}

struct Event<const M: usize> {
    now: Time,
    packet: SimPacket<M>,
    /// Of a start or an end of service.
    server: u32,
    what: What,
}

/// A call of a [`Recorder`], with its resource; the other arguments are elsewhere.
#[derive(Clone, Copy)]
enum What {
    Admitted,
    Refused(DropReason),
    Bypassed(u8),
    Started(u8),
    Finished(u8),
    FinishedAsPredicted(u8),
    Delivered,
    Dropped(u8),
}

impl<const M: usize> Batch<M> {
    fn new() -> Self {
        Self { events: Vec::with_capacity(BATCH), predictions: Vec::new() }
    }

    /// Tell it all, and forget it.
    fn tell(&mut self, recorder: &mut impl Recorder<M>) {
        let mut predictions = self.predictions.drain(..);
        for Event { now, packet, server, what } in self.events.drain(..) {
            match what {
                What::Admitted => recorder.admitted(now, &packet),
                What::Refused(reason) => recorder.refused(now, &packet, reason),
                What::Bypassed(resource) => recorder.bypassed(now, &packet, resource.into()),
                What::Started(resource) => recorder.started(now, &packet, resource.into(), server),
                What::Finished(resource) => recorder.finished(now, &packet, resource.into(), server, None),
                What::FinishedAsPredicted(resource) => {
                    recorder.finished(now, &packet, resource.into(), server, predictions.next());
                }
                What::Delivered => recorder.delivered(now, &packet),
                What::Dropped(resource) => recorder.dropped(now, &packet, resource.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
