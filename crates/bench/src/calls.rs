//! Single calls by the clock: the longest ones with very many flows.

use std::time::Instant;

use dovetail_testkit::calls::{Meter, Workload, run};
use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// What the command says is promised.
pub const LIMIT_NS: u64 = 100_000;
/// Longest call that is told from longer ones, in ns: a minute.
const LONGEST: u64 = 60_000_000_000;

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

/// A histogram for each workload.
struct Stopwatch {
    histograms: Vec<Histogram<u64>>,
    start: Instant,
}

impl Meter for Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    fn begin(&mut self) {
        self.start = Instant::now();
    }

    fn end(&mut self, workload: Workload) {
        let took = self.start.elapsed().as_nanos() as u64;
        self.histograms[workload as usize].saturating_record(took);
    }
}

/// All workloads of one discipline with so many flows.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub fn measure(spec: &str, flows: usize, turns: usize) -> Result<Vec<Line>, String> {
    let empty = Histogram::new_with_bounds(1, LONGEST, 2).map_err(|e| e.to_string())?;
    let mut watch = Stopwatch { histograms: vec![empty; Workload::ALL.len()], start: Instant::now() };
    run(spec, flows, turns, &mut watch)?;
    let line = |workload: Workload| {
        let times = &watch.histograms[workload as usize];
        Line {
            scheduler: spec.to_string(),
            workload,
            calls: times.len(),
            p50: times.value_at_quantile(0.5),
            p999: times.value_at_quantile(0.999),
            max: times.max(),
            over: times.count_between(LIMIT_NS + 1, LONGEST),
        }
    };
    Ok(Workload::ALL.into_iter().map(line).filter(|line| line.calls > 0).collect())
}
