//! What tells a box the time: the machine's clock, or the frames of a capture.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use dovetail_units::{Duration, Time};

use crate::config::EPOCH;
use crate::live::Live;
use crate::port::both;

/// Shorter waits than this are spent spinning: a sleeping thread is woken some 50 us late.
const SPIN: Duration = Duration::from_micros(80);

/// The longest sleep, so that commands are heard.
const NAP: Duration = Duration::from_millis(20);

/// How long a box that is told to stop goes on to send what it holds.
const DRAIN: Duration = Duration::from_secs(2);

/// The machine's clock.
pub struct Clock(quanta::Clock, u64);

impl Clock {
    /// Starts at a second, so that there is a time before.
    pub fn start() -> Self {
        let clock = quanta::Clock::new();
        let raw = clock.raw();
        Self(clock, raw)
    }

    /// Time since a second before the start.
    pub fn now(&self) -> Time {
        Time::from_nanos(1_000_000_000 + self.0.delta_as_nanos(self.1, self.0.raw()))
    }
}

/// The time of day, since 1970.
#[expect(clippy::disallowed_methods, reason = "captures of what comes by the machine's clock have its time of day")]
pub fn since_1970() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_nanos(since.as_nanos() as u64)
}

/// Run by the machine's clock until `stop` is set or nothing will come any more, then send what is held for at most 2
/// s, or until there is no time for it ([`Live::hurry`]). What is left is given up, also when an error ends the run,
/// and what ports have written is brought into its place. `listen` is called between bursts, at least every 20 ms, to
/// hear commands.
///
/// Returns when it ended, so that all that the box has done was done before, and what went wrong: a port is of no use
/// any more, or a file could not be written whole.
pub fn real_time(
    live: &mut Live,
    clock: &Clock,
    stop: &AtomicBool,
    listen: impl FnMut(&mut Live, Time),
) -> (Time, io::Result<()>) {
    let served = serve(live, clock, stop, listen);
    let end = clock.now();
    live.give_up(end);
    let finished = live.finish();
    (end, both(served, finished))
}

/// Until there is nothing more to do, or to wait for.
fn serve(live: &mut Live, clock: &Clock, stop: &AtomicBool, mut listen: impl FnMut(&mut Live, Time)) -> io::Result<()> {
    let mut stopped: Option<Time> = None;
    let mut heard = clock.now();
    let mut tidied = heard;
    loop {
        let now = clock.now();
        if stopped.is_none() && (stop.load(Ordering::Relaxed) || live.ended()) {
            stopped = Some(now);
        }
        if stopped.is_some_and(|at| !live.drains() || now.since(at) > DRAIN) {
            return Ok(());
        }
        let came = live.step(now, stopped.is_some())?;
        if now.since(heard) >= NAP || !came {
            heard = now;
            listen(live, now);
        }
        if now.since(tidied) >= NAP {
            tidied = now;
            live.middlebox.forget_idle(now);
        }
        if !came {
            rest(live, clock, now);
        }
    }
}

/// Wait for a frame, or until something is due.
fn rest(live: &mut Live, clock: &Clock, now: Time) {
    let due = live.next_event().unwrap_or(now + NAP).min(now + NAP);
    let due = if live.waits_for_port() { due.min(now + Duration::from_micros(100)) } else { due };
    let wait = due.since(clock.now());
    if wait > SPIN {
        crate::wait::readable(live.readable(), wait.saturating_sub(SPIN));
    }
}

/// Run by the time stamps of what comes, at once, until nothing will come any more and nothing is held. When an error
/// ends the run, what is left is given up, and what ports have written is brought into its place.
///
/// Returns when it ended, [`EPOCH`] if nothing came, and what went wrong, as [`real_time`] does. `None` if `stop` was
/// set before; then nothing is written: what ports have begun is gone with them.
pub fn simulated_time(live: &mut Live, stop: &AtomicBool) -> Option<(Time, io::Result<()>)> {
    let mut now = live.next_event().unwrap_or(EPOCH);
    let mut served = Ok(());
    while let (Some(next), Ok(())) = (live.next_event(), &served) {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        now = now.max(next);
        served = at_once(live, now);
    }
    live.give_up(now);
    let finished = live.finish();
    Some((now, both(served, finished)))
}

/// All that is due until `now`; ports take all that leaves.
fn at_once(live: &mut Live, now: Time) -> io::Result<()> {
    live.step(now, false)?;
    while live.waits_for_port() {
        live.step(now, true)?;
    }
    Ok(())
}
