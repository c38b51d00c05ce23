//! What records a run hears of it later, if need be on a thread of its own.

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
/// thread of its own once `take_thread`, asked each time until then, says yes. If the system grants no thread then, it
/// stays on this one. When this returns it has heard everything, in the same order as by itself.
///
/// Costs 64 bytes written and read for each event with two resources, and 128 KB of memory, 384 KB on two threads.
///
/// # Panics
/// The run does; or the recorder, which on a thread of its own shows only when the run is over.
pub fn deferred<const M: usize, R: Recorder<M> + Send, T>(
    recorder: &mut R,
    take_thread: &dyn Fn() -> bool,
    run: impl FnOnce(&mut Deferred<'_, '_, M, R>) -> T,
) -> T {
    thread::scope(|scope| {
        let hears = Hears::Here { recorder, take_thread: Some(take_thread) };
        let mut deferred = Deferred { batch: Batch::new(), hears, scope, ended: None };
        let result = run(&mut deferred);
        deferred.finish();
        result
    })
}

/// Writes down what happens for a recorder that hears of it later; see [`deferred`].
pub struct Deferred<'scope, 'env, const M: usize, R> {
    batch: Batch<M>,
    hears: Hears<'scope, M, R>,
    scope: &'scope Scope<'scope, 'env>,
    ended: Option<Time>,
}

/// Where the recorder is.
enum Hears<'scope, const M: usize, R> {
    /// On the run's thread. Asks for one of its own as long as none was granted or failed to start.
    Here { recorder: &'scope mut R, take_thread: Option<&'scope dyn Fn() -> bool> },
    /// On a thread of its own.
    Aside(Aside<'scope, M, R>),
}

impl<'scope, const M: usize, R: Recorder<M> + Send> Deferred<'scope, '_, M, R> {
    #[inline(always)]
    fn note(&mut self, now: Time, packet: &SimPacket<M>, server: u32, what: What) {
        self.batch.events.push(Event { now, packet: *packet, server, what });
        if self.batch.events.len() == BATCH {
            self.go_aside();
            self.hand_over();
        }
    }

    /// Move the recorder to a thread of its own, if it may have one.
    #[cold]
    fn go_aside(&mut self) {
        let Hears::Here { take_thread, .. } = &mut self.hears else { return };
        if !take_thread.is_some_and(|take| take()) {
            return;
        }
        *take_thread = None;
        let Some((aside, lend)) = Aside::start(self.scope) else { return };
        if let Hears::Here { recorder, .. } = mem::replace(&mut self.hears, Hears::Aside(aside)) {
            _ = lend.send(recorder);
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        match &mut self.hears {
            Hears::Here { recorder, .. } => self.batch.tell(*recorder),
            Hears::Aside(aside) => aside.take(&mut self.batch),
        }
    }

    fn finish(mut self) {
        self.hand_over();
        let recorder = match self.hears {
            Hears::Here { recorder, .. } => Some(recorder),
            Hears::Aside(aside) => aside.join(),
        };
        if let Some((recorder, ended)) = recorder.zip(self.ended) {
            recorder.ended(ended);
        }
    }
}

/// The recorder's own thread.
struct Aside<'scope, const M: usize, R> {
    full: SyncSender<Batch<M>>,
    emptied: Receiver<Batch<M>>,
    /// Batches that there are.
    made: usize,
    thread: ScopedJoinHandle<'scope, Option<&'scope mut R>>,
}

impl<'scope, const M: usize, R: Recorder<M> + Send> Aside<'scope, M, R> {
    /// With the place where the recorder is expected first; `None` if the system grants no thread.
    fn start(scope: &'scope Scope<'scope, '_>) -> Option<(Self, SyncSender<&'scope mut R>)> {
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
        Some((Self { full, emptied, made: 1, thread }, lend))
    }

    /// Take the batch, and put an empty one in its place.
    fn take(&mut self, batch: &mut Batch<M>) {
        let next = if self.made < BATCHES { None } else { self.emptied.recv().ok() };
        self.made += usize::from(next.is_none());
        // Nobody listens after a panic there, which `join` passes on.
        _ = self.full.send(mem::replace(batch, next.unwrap_or_else(Batch::new)));
    }

    /// The recorder, once it has heard everything.
    fn join(self) -> Option<&'scope mut R> {
        drop((self.full, self.emptied));
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl<const M: usize, R: Recorder<M> + Send> Recorder<M> for Deferred<'_, '_, M, R> {
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
