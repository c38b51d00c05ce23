//! What a box did in a part of its time, or in several.

use dovetail_dataplane::core::{QueueSnapshot, Snapshot};
use dovetail_experiment::statistics::Estimate;
use dovetail_lab::scenario::RESOURCES;
use serde::Serialize;

/// What a box did in parts of its time, which may stand apart.
#[derive(Clone, Debug, Serialize)]
pub struct Observation {
    /// What it had done before the first part.
    since: Snapshot,
    /// What it has done after the last.
    until: Snapshot,
    parts: Vec<Part>,
}

/// A part of the time of a box.
#[derive(Clone, Debug, Serialize)]
struct Part {
    since_s: f64,
    until_s: f64,
    /// Time that the box could not make up for, since it did not run.
    lost_time_s: f64,
    total: Work,
    classes: Vec<OfClass>,
}

#[derive(Clone, Debug, Serialize)]
struct OfClass {
    class: String,
    #[serde(flatten)]
    work: Work,
}

/// What was done with frames.
#[derive(Clone, Copy, Default, Debug, Serialize)]
struct Work {
    frames_processed: u64,
    frames_out: u64,
    marked: u64,
    /// Time on the CPU of those that were processed, seconds.
    cpu_s: f64,
    /// Time on the link of those that left, seconds.
    link_s: f64,
    /// Time on a third resource of those that it was done with, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    third_s: Option<f64>,
    /// How long those that left had stayed.
    stayed_s: f64,
}

/// What a box did with frames, on average.
#[derive(Clone, Copy, Default, Debug)]
pub struct Usage {
    /// Parts of CPU, link and third resource.
    pub shares: [f64; RESOURCES],
    /// Seconds that a frame occupied the CPU, averaged over those that were processed; `None` of none.
    pub cpu_each: Option<f64>,
    /// Seconds that a frame occupied the link, averaged over those that left; `None` of none.
    pub link_each: Option<f64>,
    /// The same of a third resource, if there is one.
    pub third_each: Option<f64>,
    /// Seconds that a frame stayed, averaged over those that left.
    pub latency: Option<f64>,
    /// Frames that got a congestion mark.
    pub marked: u64,
}

impl Work {
    fn between(since: &QueueSnapshot, until: &QueueSnapshot) -> Self {
        Self {
            frames_processed: until.frames_processed - since.frames_processed,
            frames_out: until.frames_out - since.frames_out,
            marked: until.marked - since.marked,
            cpu_s: until.cpu_s - since.cpu_s,
            link_s: until.link_s - since.link_s,
            third_s: until.third_s.zip(since.third_s).map(|(until, since)| until - since),
            stayed_s: until.stayed_s() - since.stayed_s(),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            frames_processed: self.frames_processed + other.frames_processed,
            frames_out: self.frames_out + other.frames_out,
            marked: self.marked + other.marked,
            cpu_s: self.cpu_s + other.cpu_s,
            link_s: self.link_s + other.link_s,
            third_s: self.third_s.into_iter().chain(other.third_s).reduce(|a, b| a + b),
            stayed_s: self.stayed_s + other.stayed_s,
        }
    }

    fn in_time(self, seconds: f64) -> Usage {
        let each = |time: f64, frames: u64| (frames > 0).then(|| time / frames as f64);
        Usage {
            shares: [self.cpu_s, self.link_s, self.third_s.unwrap_or(0.0)].map(|time| time / seconds),
            cpu_each: each(self.cpu_s, self.frames_processed),
            link_each: each(self.link_s, self.frames_out),
            third_each: self.third_s.and_then(|time| each(time, self.frames_out)),
            latency: each(self.stayed_s, self.frames_out),
            marked: self.marked,
        }
    }
}

impl Part {
    fn between(since: &Snapshot, until: &Snapshot) -> Self {
        let of_class = |name: &str| since.classes.iter().find(|class| class.class == name);
        let classes = until.classes.iter().filter_map(|class| {
            let work = Work::between(&of_class(&class.class)?.frames, &class.frames);
            Some(OfClass { class: class.class.clone(), work })
        });
        Self {
            since_s: since.time_s,
            until_s: until.time_s,
            lost_time_s: until.lost_time_s - since.lost_time_s,
            total: Work::between(&since.total, &until.total),
            classes: classes.collect(),
        }
    }

    fn seconds(&self) -> f64 {
        self.until_s - self.since_s
    }

    fn class(&self, name: &str) -> Option<Work> {
        self.classes.iter().find(|class| class.class == name).map(|class| class.work)
    }
}

impl Observation {
    /// From one snapshot to another.
    pub fn new(since: &Snapshot, until: &Snapshot) -> Self {
        Self { since: since.clone(), until: until.clone(), parts: vec![Part::between(since, until)] }
    }

    /// This one and a later one, without what lies between them.
    pub fn and(self, later: Self) -> Self {
        let parts = self.parts.into_iter().chain(later.parts).collect();
        Self { since: self.since, until: later.until, parts }
    }

    /// How long it was, seconds.
    fn seconds(&self) -> f64 {
        self.parts.iter().map(Part::seconds).sum()
    }

    /// How many pieces it is in: parts that follow one another are one.
    pub fn pieces(&self) -> usize {
        1 + self.parts.windows(2).filter(|parts| parts[0].until_s < parts[1].since_s).count()
    }

    /// The part of it that the box could not make up for, since it did not run.
    pub fn lost(&self) -> f64 {
        self.parts.iter().map(|part| part.lost_time_s).sum::<f64>() / self.seconds()
    }

    /// What it has done after the last part.
    pub fn until(&self) -> &Snapshot {
        &self.until
    }

    /// The name of the box's third resource.
    pub fn third(&self) -> Option<&str> {
        self.until.third()
    }

    /// The names of the box's resources, in the order of shares and times.
    pub fn resources(&self) -> impl Iterator<Item = &str> {
        ["cpu", "link"].into_iter().chain(self.third())
    }

    /// Of all classes.
    pub fn total(&self) -> Usage {
        self.parts.iter().map(|part| part.total).fold(Work::default(), Work::and).in_time(self.seconds())
    }

    /// Of a class; nothing of one that there is not.
    pub fn class(&self, name: &str) -> Usage {
        let parts = self.parts.iter().filter_map(|part| part.class(name));
        parts.fold(Work::default(), Work::and).in_time(self.seconds())
    }

    /// Half of the 95 % interval of a class's frames per second, as a part of the mean, as far as the parts tell; NaN,
    /// so that nothing is within it, if the worker did not tell of all of them.
    pub fn interval(&self, class: &str) -> f64 {
        let rate = |part: &Part| {
            let sent = part.class(class).map_or(0, |work| work.frames_out);
            // A worker that was late for a request answers two at one time.
            (part.seconds() > 0.0).then(|| sent as f64 / part.seconds())
        };
        let rates: Vec<f64> = self.parts.iter().filter_map(rate).collect();
        if rates.len() == self.parts.len() { half_interval(&rates) } else { f64::NAN }
    }
}

/// Of the mean of so many values, as a part of it.
fn half_interval(values: &[f64]) -> f64 {
    let of_mean = Estimate::of(values);
    match of_mean.ci95 {
        Some(half) if of_mean.mean > 0.0 => half / of_mean.mean,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use dovetail_dataplane::config::Config;
    use dovetail_dataplane::core::Middlebox;
    use dovetail_units::{Duration, Time};
    use dovetail_wire::LinkType;

    use super::*;

    fn at(us: u64) -> Time {
        Time::from_nanos(1_000_000_000) + Duration::from_micros(us)
    }

    /// A box whose frames of 800 B need 20 us of CPU and 100 us of the link, which loses what waits for it.
    fn middlebox() -> Middlebox {
        let config = "scheduler = \"fifo\"\nports = { in = \"packet:a\", out = \"packet:b\" }\n\
            link = { rate = \"64 Mbps\", buffer = \"1 packets\", overflow = \"drop\" }\n\
            class = [{ name = \"all\", match = [{ protocol = \"not-ip\" }], cost = \"20 us\" }]\n";
        Config::parse("box.toml", config, &[]).unwrap().middlebox().unwrap()
    }

    fn receive(middlebox: &mut Middlebox, us: u64, frames: usize) {
        for _ in 0..frames {
            let mut frame = middlebox.pool.take();
            frame.fill(at(us), &[0; 800], LinkType::ETHERNET);
            middlebox.receive(at(us), frame);
        }
    }

    /// The link takes a fifth of what the CPU is done with, and the rest is lost in front of it.
    #[test]
    fn a_frame_occupied_the_cpu_for_as_long_whether_it_left_or_was_lost() {
        let mut middlebox = middlebox();
        let since = middlebox.snapshot(at(0));
        receive(&mut middlebox, 0, 100);
        (0..=400).for_each(|step| middlebox.advance(at(10 * step)));
        let until = middlebox.snapshot(at(4000));
        assert!(until.total.dropped["link-buffer"] > 70);
        let window = Observation::new(&since, &until);
        assert!((window.class("all").cpu_each.unwrap() - 20e-6).abs() < 1e-12);
        assert!((window.total().link_each.unwrap() - 100e-6).abs() < 1e-12);
        let idle = Observation::new(&until, &middlebox.snapshot(at(5000)));
        assert_eq!([idle.class("all").cpu_each, idle.class("none").cpu_each, idle.total().link_each], [None; 3]);
    }

    /// A millisecond with 2 frames, one with 9 that does not count, one with 4, and at once another with 6.
    #[test]
    fn parts_are_summed_up_without_what_lies_between_them() {
        let mut middlebox = middlebox();
        let mut snapshots = vec![middlebox.snapshot(at(0))];
        for (ms, frames) in [2, 9, 4, 6].into_iter().enumerate() {
            let begun = 1000 * ms as u64;
            for k in 0..frames {
                receive(&mut middlebox, begun + 110 * k, 1);
                (0..11).for_each(|step| middlebox.advance(at(begun + 110 * k + 10 * step)));
            }
            middlebox.advance(at(begun + 1000));
            snapshots.push(middlebox.snapshot(at(begun + 1000)));
        }
        let part = |k: usize| Observation::new(&snapshots[k], &snapshots[k + 1]);
        let window = part(0).and(part(2)).and(part(3));
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        for usage in [window.total(), window.class("all")] {
            close(usage.shares[0], 12.0 * 20e-6 / 3e-3);
            close(usage.shares[1], 12.0 * 100e-6 / 3e-3);
            close(usage.cpu_each.unwrap(), 20e-6);
            // To 1 %, as the box counts it.
            assert!((usage.latency.unwrap() / 120e-6 - 1.0).abs() < 0.01);
        }
        assert_eq!((window.pieces(), part(1).and(part(2)).pieces()), (2, 1));
        // The rates of the parts are 2, 4 and 6 a millisecond: 4 +- 4.303 * 2 / sqrt(3).
        close(window.interval("all"), 4.302_652_73 / 2.0 / 3.0_f64.sqrt());
        assert_eq!([window.since.time_s, window.until.time_s], [1.0, 1.004]);
    }

    #[test]
    fn lost_time_counts_where_it_was_lost() {
        let snapshot = |time_s: f64, lost_time_s: f64| Snapshot { time_s, lost_time_s, ..middlebox().snapshot(at(0)) };
        let part = |since: [f64; 2], until: [f64; 2]| {
            Observation::new(&snapshot(since[0], since[1]), &snapshot(until[0], until[1]))
        };
        let window = part([1.0, 0.0], [2.0, 0.25]).and(part([5.0, 3.0], [6.0, 3.25]));
        assert_eq!(window.lost(), 0.25);
    }

    #[test]
    fn an_interval_is_as_by_hand() {
        // Each of the ten is 5 from the mean of 10: a variance of 250/9. Student's t for nine degrees of freedom is
        // 2.262.
        let values = [5.0, 15.0].repeat(5);
        assert!((half_interval(&values) / (250.0_f64 / 9.0 / 10.0).sqrt() * 10.0 - 2.262).abs() < 0.0005);
        assert_eq!((half_interval(&[3.0; 10]), half_interval(&[3.0]), half_interval(&[0.0; 10])), (0.0, 0.0, 0.0));
    }
}
