//! What a soak run comes to.

use dovetail_dataplane::core::{BufferSnapshot, Snapshot};
use dovetail_dataplane::frame::BUFFER;
use dovetail_units::Duration;

/// How much more memory, frame buffers apart, the box may have in the last third of a run than in the second: what a
/// level heap may seem to grow. The C library takes memory from the kernel in steps of 128 KiB (`M_TOP_PAD`) for each
/// arena, and four kinds of threads may have one each: the worker, the one that waits for clients, a client's, and the
/// one that waits for SIGHUP.
const HEAP_STEPS: u64 = 4 * 128 * 1024;

/// The box at one moment.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Memory of its own: heaps and stacks, bytes.
    pub memory: u64,
    /// Open descriptors.
    pub descriptors: usize,
    /// What it says.
    pub snapshot: Snapshot,
}

impl Sample {
    /// Its memory but for frame buffers.
    fn besides_buffers(&self) -> u64 {
        self.memory.saturating_sub(self.snapshot.buffers.made * BUFFER as u64)
    }

    /// Frames that have left the box.
    pub fn sent(&self) -> u64 {
        self.snapshot.ports.get("out").map_or(0, |port| port.sent)
    }
}

/// All that was seen.
#[derive(Debug)]
pub struct Watched {
    /// Changes to be made.
    changes: u64,
    time: Duration,
    samples: u64,
    /// Samples in which frames were missing, or of which the classes' sum was not the whole.
    wrong: u64,
    /// Most memory in each third, frame buffers apart.
    besides_buffers: [u64; 3],
    /// Frame buffers made until the end of each third.
    buffers: [u64; 3],
    /// Samples in which there were more of them than may be, or in which one was in use without a frame.
    astray: u64,
    /// First, latest and most.
    descriptors: Option<[usize; 3]>,
    reloads: u64,
    refused: u64,
    /// Reloads that were answered otherwise than they should.
    misjudged: u64,
    flaps: u64,
    /// Interfaces that came up again and after which nothing was sent.
    silent: u64,
}

impl Watched {
    /// Nothing yet of a run of so many changes.
    pub fn new(changes: u64) -> Self {
        Self {
            changes,
            time: Duration::ZERO,
            samples: 0,
            wrong: 0,
            besides_buffers: [0; 3],
            buffers: [0; 3],
            astray: 0,
            descriptors: None,
            reloads: 0,
            refused: 0,
            misjudged: 0,
            flaps: 0,
            silent: 0,
        }
    }

    /// One more look, after the change of this number, from 0.
    pub fn add(&mut self, change: u64, sample: Sample) {
        self.samples += 1;
        self.wrong += u64::from(!accounted(&sample.snapshot));
        let third = (3 * change / self.changes.max(1)).min(2) as usize;
        self.besides_buffers[third] = self.besides_buffers[third].max(sample.besides_buffers());
        self.buffers[third] = sample.snapshot.buffers.made;
        self.astray += u64::from(!buffered(&sample.snapshot.buffers));
        let now = sample.descriptors;
        self.descriptors = Some(self.descriptors.map_or([now; 3], |[first, _, most]| [first, now, most.max(now)]));
    }

    /// How long it went on.
    pub fn took(&mut self, time: Duration) {
        self.time = time;
    }

    /// A reload was refused, or not; and whether it had to be.
    pub fn reloaded(&mut self, refused: bool, wrong: bool) {
        self.reloads += 1;
        self.refused += u64::from(refused);
        self.misjudged += u64::from(refused != wrong);
    }

    /// An interface went down and came up again, and then frames were `sent`, or not.
    pub fn flapped(&mut self, sent: bool) {
        self.flaps += 1;
        self.silent += u64::from(!sent);
    }

    /// In words, and whether all is well, with what the box said at its end.
    pub fn verdict(&self, end: &Snapshot) -> (String, bool) {
        let [_, second, last] = self.besides_buffers;
        let [first_buffers, second_buffers, last_buffers] = self.buffers;
        let [first, latest, most] = self.descriptors.unwrap_or_default();
        let Self { samples, wrong, astray, reloads, refused, misjudged, flaps, silent, .. } = self;
        let checks = [
            (
                *samples > 0 && *wrong == 0 && accounted(end) && end.total.held == 0,
                format!("every frame is accounted for: in {} of {samples} looks, and at the end", samples - wrong),
            ),
            (
                last <= second + HEAP_STEPS,
                format!(
                    "memory is level: besides frame buffers at most {} in the second third, {} in the last",
                    mebibytes(second),
                    mebibytes(last)
                ),
            ),
            (
                *astray == 0 && buffered(&end.buffers),
                format!(
                    "frame buffers: {first_buffers}, {second_buffers} and {last_buffers} after each third, at most {}, \
                     none lost: in {} of {samples} looks",
                    end.buffers.limit.map_or("unlimited".into(), |limit| limit.to_string()),
                    samples - astray
                ),
            ),
            (
                // A configuration that is being read is open.
                latest <= first + 1 && most <= first + 1,
                format!("no descriptor is left open: {first} at first, {latest} at last, at most {most}"),
            ),
            (
                *misjudged == 0,
                format!("reloads: {reloads}, of which {refused} were refused, {misjudged} wrongly judged"),
            ),
            (*silent == 0, format!("interfaces down and up again: {flaps}, after which nothing was sent: {silent}")),
        ];
        let mut text = format!("{} for {}\n\n", end.scheduler, self.time);
        text.push_str(&counts(end));
        for (fine, words) in &checks {
            text.push_str(&format!("\n{}  {words}", if *fine { "ok    " } else { "FAILED" }));
        }
        (text, checks.iter().all(|(fine, _)| *fine))
    }
}

/// Whether every frame is in one place, and what the classes did is what the box did.
fn accounted(snapshot: &Snapshot) -> bool {
    let sum: u64 = snapshot.classes.iter().map(|class| class.frames.frames_in).sum();
    snapshot.unaccounted == 0 && sum == snapshot.total.frames_in
}

/// Whether there are no more buffers than may be, and each that is in use has a frame.
fn buffered(buffers: &BufferSnapshot) -> bool {
    buffers.lost == 0 && buffers.limit.is_none_or(|limit| buffers.made <= limit)
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.2} MiB", bytes as f64 / f64::from(1 << 20))
}

fn counts(end: &Snapshot) -> String {
    let mut text = String::new();
    for (name, port) in &end.ports {
        text.push_str(&format!(
            "port {name}: received {}, missed {}, sent {}, unsent {}\n",
            port.received, port.missed, port.sent, port.unsent
        ));
    }
    for (reason, count) in &end.total.dropped {
        text.push_str(&format!("dropped, {reason}: {count}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_dataplane::config::Config;
    use dovetail_units::Time;

    fn snapshot() -> Snapshot {
        let text = "scheduler = \"fifo\"\n[ports]\nin = \"packet:a\"\nout = \"packet:b\"\n";
        Config::parse("box.toml", text, &[]).unwrap().middlebox().unwrap().snapshot(Time::ZERO)
    }

    fn sample(memory: u64, descriptors: usize) -> Sample {
        Sample { memory, descriptors, snapshot: snapshot() }
    }

    /// Nine looks at a box that is level.
    fn watched(alter: impl Fn(u64, &mut Sample)) -> Watched {
        let mut watched = Watched::new(9);
        for change in 0..9 {
            let mut sample = sample(20 << 20, 12);
            alter(change, &mut sample);
            watched.add(change, sample);
        }
        watched
    }

    #[test]
    fn a_level_box_passes_and_what_is_not_level_fails_by_name() {
        let verdict = |watched: &Watched| watched.verdict(&snapshot());
        let (text, passed) = verdict(&watched(|_, _| {}));
        assert!(passed && !text.contains("FAILED"), "{text}");
        let fails = |watched: &Watched, words: &str| {
            let (text, passed) = verdict(watched);
            assert!(!passed && text.contains(&format!("FAILED  {words}")), "{text}");
        };
        fails(&watched(|change, sample| sample.snapshot.unaccounted = i64::from(change == 4)), "every frame");
        // 200 KiB at each change are 600 KiB in a third.
        fails(&watched(|change, sample| sample.memory += change * 200 * 1024), "memory");
        assert!(verdict(&watched(|change, sample| sample.memory += change.min(3) << 20)).1, "it warms up at first");
        let buffers = |change: u64, sample: &mut Sample| {
            sample.snapshot.buffers.made = 100 * change;
            sample.memory += 100 * change * BUFFER as u64;
        };
        assert!(verdict(&watched(buffers)).1, "buffers are counted apart");
        fails(&watched(|change, sample| sample.snapshot.buffers.lost = i64::from(change == 7)), "frame buffers");
        let too_many = |_, sample: &mut Sample| {
            sample.snapshot.buffers = BufferSnapshot { made: 101, limit: Some(100), lost: 0 };
        };
        fails(&watched(too_many), "frame buffers");
        fails(&watched(|change, sample| sample.descriptors += change as usize / 4), "no descriptor");
        let mut misjudged = watched(|_, _| {});
        misjudged.reloaded(false, true);
        fails(&misjudged, "reloads");
        let mut silent = watched(|_, _| {});
        silent.flapped(false);
        fails(&silent, "interfaces");
    }
}
