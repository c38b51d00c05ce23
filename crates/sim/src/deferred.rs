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
pub fn deferred<const M: usize, T>(
    recorder: &mut (dyn Recorder<M> + Send),
    take_thread: &dyn Fn() -> bool,
    run: impl FnOnce(&mut Deferred<'_, M>) -> T,
) -> T {
    thread::scope(|scope| {
        let mut hears = Hears::Here { recorder, take_thread: Some(take_thread) };
        let mut hand_over = |batch: &mut Batch<M>| {
            hears.go_aside(scope);
            hears.take(batch);
        };
        let mut deferred = Deferred { batch: Batch::new(), hand_over: &mut hand_over, ended: None };
        let result = run(&mut deferred);
        let Deferred { mut batch, ended, .. } = deferred;
        hears.take(&mut batch);
        hears.finish(ended);
        result
    })
}

/// Writes down what happens for a recorder that hears of it later; see [`deferred`]. A simulation is compiled once for
/// all these recorders.
pub struct Deferred<'a, const M: usize> {
    batch: Batch<M>,
    /// Empties a full one.
    hand_over: &'a mut dyn FnMut(&mut Batch<M>),
    ended: Option<Time>,
}

impl<const M: usize> Deferred<'_, M> {
    #[inline(always)]
    fn note(&mut self, now: Time, packet: &SimPacket<M>, server: u32, what: What) {
        self.batch.events.push(Event { now, packet: *packet, server, what });
        if self.batch.events.len() == BATCH {
            (self.hand_over)(&mut self.batch);
        }
    }
}

/// Where the recorder is.
enum Hears<'scope, const M: usize> {
    /// On the run's thread. Asks for one of its own as long as none was granted or failed to start.
    Here { recorder: Lent<'scope, M>, take_thread: Option<&'scope dyn Fn() -> bool> },
    /// On a thread of its own.
    Aside(Aside<'scope, M>),
}

type Lent<'scope, const M: usize> = &'scope mut (dyn Recorder<M> + Send);

impl<'scope, const M: usize> Hears<'scope, M> {
    /// Move the recorder to a thread of its own, if it may have one.
    fn go_aside(&mut self, scope: &'scope Scope<'scope, '_>) {
        let Self::Here { take_thread, .. } = self else { return };
        if !take_thread.is_some_and(|take| take()) {
            return;
        }
        *take_thread = None;
        let Some((aside, lend)) = Aside::start(scope) else { return };
        if let Self::Here { recorder, .. } = mem::replace(self, Self::Aside(aside)) {
            _ = lend.send(recorder);
        }
    }

    fn take(&mut self, batch: &mut Batch<M>) {
        match self {
            Self::Here { recorder, .. } => batch.tell(*recorder),
            Self::Aside(aside) => aside.take(batch),
        }
    }

    fn finish(self, ended: Option<Time>) {
        let recorder = match self {
            Self::Here { recorder, .. } => Some(recorder),
            Self::Aside(aside) => aside.join(),
        };
        if let Some((recorder, ended)) = recorder.zip(ended) {
            recorder.ended(ended);
        }
    }
}

/// The recorder's own thread.
struct Aside<'scope, const M: usize> {
    full: SyncSender<Batch<M>>,
    emptied: Receiver<Batch<M>>,
    /// Batches that there are.
    made: usize,
    thread: ScopedJoinHandle<'scope, Option<Lent<'scope, M>>>,
}

impl<'scope, const M: usize> Aside<'scope, M> {
    /// With the place where the recorder is expected first; `None` if the system grants no thread.
    fn start(scope: &'scope Scope<'scope, '_>) -> Option<(Self, SyncSender<Lent<'scope, M>>)> {
        let (lend, lent) = sync_channel::<Lent<'scope, M>>(1);
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
    fn join(self) -> Option<Lent<'scope, M>> {
        drop((self.full, self.emptied));
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl<const M: usize> Recorder<M> for Deferred<'_, M> {
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
    fn tell(&mut self, recorder: &mut dyn Recorder<M>) {
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
