//! Single calls by the clock: the longest ones with very many flows.

use std::time::Instant;

use dovetail_testkit::calls::{Meter, Workload, run};
use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// What the command says is promised.
pub const LIMIT_NS: u64 = 100_000;
/// Longest call that is told from longer ones, in ns: four seconds.
const LONGEST: u64 = u32::MAX as u64;

/// A line of the table.
pub struct Line {
    pub scheduler: String,
    pub workload: Workload,
    pub calls: u64,
    /// Nanoseconds.
    pub p50: u64,
    pub p999: u64,
    pub max: u64,
    /// Calls that took longer than [`LIMIT_NS`].
    pub over: u64,
}

impl Line {
    pub const HEADER: &str =
        "scheduler              workload             calls    p50 ns   p99.9 ns       max ns  over 100 us";

    pub fn text(&self) -> String {
        let Self { scheduler, workload, calls, p50, p999, max, over } = self;
        format!("{scheduler:<22} {:<14} {calls:>11} {p50:>9} {p999:>10} {max:>12} {over:>12}", workload.name())
    }

    pub fn json(&self, flows: usize) -> Value {
        json!({
            "scheduler": self.scheduler, "flows": flows, "workload": self.workload.name(), "calls": self.calls,
            "p50_ns": self.p50, "p999_ns": self.p999, "max_ns": self.max, "over_100_us": self.over,
        })
    }
}

/// Nanoseconds of every call, in order, for each workload.
type Times = Vec<Vec<u32>>;

/// Keeps of every call the least time that it took in any pass.
struct Stopwatch {
    least: Times,
    /// In this pass: calls so far.
    calls: Vec<usize>,
    start: Instant,
}

impl Meter for Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    fn begin(&mut self) {
        self.start = Instant::now();
    }

    fn end(&mut self, workload: Workload) {
        let took = u32::try_from(self.start.elapsed().as_nanos()).unwrap_or(u32::MAX);
        let (least, call) = (&mut self.least[workload as usize], &mut self.calls[workload as usize]);
        match least.get_mut(*call) {
            Some(least) => *least = took.min(*least),
            None => least.push(took),
        }
        *call += 1;
    }
}

/// All workloads of one discipline with so many flows, so many times.
///
/// All passes make the same calls, so what a discipline needs for one of them, it needs in each pass; where the system
/// takes the processor away is another call each time. So the least time of a call is the discipline's.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub fn measure(spec: &str, flows: usize, turns: usize, passes: usize) -> Result<Vec<Line>, String> {
    let mut watch =
        Stopwatch { least: vec![Vec::new(); Workload::ALL.len()], calls: Vec::new(), start: Instant::now() };
    for pass in 0..passes {
        let before = std::mem::replace(&mut watch.calls, vec![0; Workload::ALL.len()]);
        run::<2>(spec, flows, turns, &mut watch)?;
        if pass > 0 && before != watch.calls {
            return Err(format!("{spec}: not the same calls in each pass"));
        }
    }
    let mut histogram = Histogram::<u64>::new_with_bounds(1, LONGEST, 2).map_err(|e| e.to_string())?;
    let mut lines = Vec::new();
    for workload in Workload::ALL {
        histogram.reset();
        let times = &watch.least[workload as usize];
        times.iter().for_each(|&time| histogram.saturating_record(time.into()));
        lines.push(Line {
            scheduler: spec.to_string(),
            workload,
            calls: histogram.len(),
            p50: histogram.value_at_quantile(0.5),
            p999: histogram.value_at_quantile(0.999),
            max: times.iter().copied().max().unwrap_or(0).into(),
            over: times.iter().filter(|&&time| u64::from(time) > LIMIT_NS).count() as u64,
        });
    }
    lines.retain(|line| line.calls > 0);
    Ok(lines)
}
