//! The log of a running box: one line for each event on standard error, with its time and level, or, where journald
//! reads that, with its priority.
//!
//! `log` and `fern` take the events. Who writes one never waits: lines go over a bounded channel to a thread of their
//! own, and what finds no room is counted. Each target, that is each kind of event, has a limit, so that nobody can
//! fill the journal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use dovetail_dataplane::driver::{Clock, since_1970};
use dovetail_units::Time;
use log::{Level, LevelFilter, Record};

use crate::failure::Failure;

/// Lines that wait to be written.
const WAITING: usize = 1024;

/// At the end, so long for what waits.
const PATIENCE: Duration = Duration::from_secs(1);

/// Lines of a target that may come at once; and how long it takes until there may be one more.
const BURST: u32 = 30;
const EACH: dovetail_units::Duration = dovetail_units::Duration::from_secs(2);

enum Line {
    Text(String),
    /// All before it was written.
    End(SyncSender<()>),
}

/// The log, until it is dropped.
pub struct Journal {
    lines: SyncSender<Line>,
    /// What nobody writes yet.
    waiting: Option<Receiver<Line>>,
    lost: Arc<AtomicU64>,
    /// Whether journald reads it.
    pub is_journald: bool,
}

impl Journal {
    /// From now on what is logged at this level or above waits to be written.
    pub fn open(level: LevelFilter) -> Result<Self, Failure> {
        let (lines, waiting) = sync_channel(WAITING);
        let is_journald = is_journald();
        let (sender, lost) = (lines.clone(), Arc::new(AtomicU64::new(0)));
        let missed = Arc::clone(&lost);
        let limits = Mutex::new(Limits::new());
        let clock = Clock::start();
        let take = move |record: &Record<'_>| {
            let mut limits = limits.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(left_out) = limits.allow(record.target(), clock.now()) else { return };
            drop(limits);
            let text = text(record, is_journald, left_out);
            if sender.try_send(Line::Text(text)).is_err() {
                missed.fetch_add(1, Ordering::Relaxed);
            }
        };
        let dispatch = fern::Dispatch::new().level(level).chain(fern::Output::call(take));
        dispatch.apply().map_err(Failure::run)?;
        Ok(Self { lines, waiting: Some(waiting), lost, is_journald })
    }

    /// Write what waits and what comes, on a thread that may do what the calling one may.
    pub fn start(&mut self) -> Result<(), Failure> {
        let Some(waiting) = self.waiting.take() else { return Ok(()) };
        let lost = Arc::clone(&self.lost);
        let write = move || waiting.iter().for_each(|line| write(line, &lost));
        thread::Builder::new().name("log".into()).spawn(write).map(drop).map_err(Failure::thread)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            return waiting.try_iter().for_each(|line| write(line, &self.lost));
        }
        // If nobody reads it there is nothing to wait for.
        let (done, is_done) = sync_channel(1);
        if self.lines.try_send(Line::End(done)).is_ok() {
            let _ = is_done.recv_timeout(PATIENCE);
        }
    }
}

/// If nobody hears it, the work goes on.
fn write(line: Line, lost: &AtomicU64) {
    let mut err = io::stderr();
    match line {
        Line::End(done) => drop(done.try_send(())),
        Line::Text(text) => {
            let _ = writeln!(err, "{text}");
        }
    }
    let lost = lost.swap(0, Ordering::Relaxed);
    if lost > 0 {
        let _ = writeln!(err, "{lost} lines of the log were lost: nobody took them");
    }
}

/// One line, without characters that would end it or move the cursor.
fn text(record: &Record<'_>, is_journald: bool, left_out: u64) -> String {
    let mut text = match is_journald {
        // It has a clock of its own.
        true => format!("<{}>", priority(record.level())),
        false => format!("{} {:5} ", now(), record.level()),
    };
    for character in record.args().to_string().chars() {
        match character.is_control() {
            true => text.extend(character.escape_default()),
            false => text.push(character),
        }
    }
    if left_out > 0 {
        // Writing into memory does not fail.
        let _ = write!(text, " (before it {left_out} lines on {} were left out: too many)", record.target());
    }
    text
}

/// Lines that are an error, to be written as they are, but that journald has their priority.
pub fn as_error(lines: &str, is_journald: bool) -> String {
    if !is_journald {
        return lines.to_string();
    }
    let lines = lines.lines().map(|line| format!("<{}>{line}", priority(Level::Error)));
    lines.collect::<Vec<_>>().join("\n")
}

/// As syslog counts.
fn priority(level: Level) -> u8 {
    match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    }
}

fn now() -> impl std::fmt::Display {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_nanos(since_1970().as_nanos()))
}

/// Whether standard error is the stream that systemd says it has opened to the journal.
pub fn is_journald() -> bool {
    let is = || {
        let told = std::env::var("JOURNAL_STREAM").ok()?;
        let (device, inode) = told.split_once(':')?;
        let stream = File::from(io::stderr().as_fd().try_clone_to_owned().ok()?).metadata().ok()?;
        Some(device.parse() == Ok(stream.dev()) && inode.parse() == Ok(stream.ino()))
    };
    is().unwrap_or(false)
}

/// How many lines each target may have, and has had.
struct Limits(BTreeMap<String, Bucket>);

struct Bucket {
    left: u32,
    filled: Time,
    left_out: u64,
}

impl Limits {
    fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Whether a line on this target may be written now; if so, how many before it may not.
    fn allow(&mut self, target: &str, now: Time) -> Option<u64> {
        let bucket = match self.0.get_mut(target) {
            Some(bucket) => bucket,
            // Targets are names in the program: there are few.
            None => self.0.entry(target.to_string()).or_insert(Bucket { left: BURST, filled: now, left_out: 0 }),
        };
        let more = (now.since(bucket.filled).as_nanos() / EACH.as_nanos()).min(u64::from(BURST));
        if more > 0 {
            bucket.left = (bucket.left + more as u32).min(BURST);
            bucket.filled = now;
        }
        if bucket.left == 0 {
            bucket.left_out += 1;
            return None;
        }
        bucket.left -= 1;
        Some(std::mem::take(&mut bucket.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(1_000_000_000 + ms * 1_000_000)
    }

    #[test]
    fn a_target_that_says_too_much_is_cut_short_and_others_are_not() {
        let mut limits = Limits::new();
        let said = (0..10_000).filter(|&ms| limits.allow("control", at(ms)).is_some()).count();
        // The first ones, and one more every two seconds.
        assert_eq!(said, BURST as usize + 4);
        assert_eq!(limits.allow("link", at(10_000)), Some(0));
        assert_eq!(limits.allow("control", at(10_000)), Some(1999), "all since the one at 8 s");
    }

    #[test]
    fn every_line_of_an_error_has_its_priority_in_the_journal_alone() {
        let lines = "error: no\n  --> box.toml:1:1";
        assert_eq!(as_error(lines, true), "<3>error: no\n<3>  --> box.toml:1:1");
        assert_eq!(as_error(lines, false), lines);
    }

    #[test]
    fn an_event_has_one_line_with_its_priority_or_its_time() {
        let line = |journald| {
            let args = format_args!("weight of a\nb=2");
            text(&Record::builder().level(Level::Warn).args(args).target("control").build(), journald, 3)
        };
        let end = "weight of a\\nb=2 (before it 3 lines on control were left out: too many)";
        assert_eq!(line(true), format!("<4>{end}"));
        let plain = line(false);
        let (time, rest) = plain.split_once(' ').unwrap();
        assert!(time.ends_with('Z') && humantime::parse_rfc3339(time).is_ok(), "{plain}");
        assert_eq!(rest, format!("WARN  {end}"));
    }
}
