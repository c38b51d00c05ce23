//! Whether there is memory for a comparison: refused before it ends.

use std::fs;
use std::path::Path;

use dovetail_sim::record::{MOST_EXACT, MOST_OF_A_FLOW};
use dovetail_sim::{Flow, Source, Workload};

use crate::scenario::ScenarioError;
use crate::table::digits;

/// Bytes of memory, about: of each packet, latency and flow once for all runs, for each run under way, and for each run
/// of which the flows are kept, and the latencies. Measured with two resources.
const PACKET: [f64; 4] = [8.0, 0.0, 0.0, 0.0];
const LATENCY: [f64; 4] = [0.0, 12.0, 0.0, 6.0];
const FLOW: [f64; 4] = [250.0, 1_200.0, 250.0, 0.0];
/// The same of a source that generates packets, and of a stream of random numbers for lengths or times.
const GENERATOR: [f64; 4] = [300.0, 750.0, 0.0, 0.0];
const STREAM: [f64; 4] = [0.0, 350.0, 0.0, 0.0];

/// Bytes that are left to what is not counted: stacks of threads, what the allocator keeps for each, small tables.
const LEFT_OVER: u64 = 16 << 20;

/// What stays in memory of a run that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// Little, however many flows and packets there are.
    Little,
    /// Numbers of each flow.
    Flows,
    /// Numbers of each flow and packet.
    All,
}

/// What a comparison has to hold.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Packets of a run; infinite if that is not known.
    pub packets: f64,
    /// Its flows.
    pub flows: usize,
    /// Its sources that generate packets.
    pub generators: usize,
    /// Its streams of random numbers for lengths and times.
    pub streams: usize,
    /// Runs under way at a time.
    pub together: usize,
    /// All runs.
    pub runs: usize,
    /// What is kept of each of them.
    pub kept: Kept,
}

impl Load {
    /// Of so many runs of this workload, so many at a time: packets of a run, if it is known how many, and what is kept
    /// of each.
    pub fn of<const M: usize>(
        workload: &Workload<M>,
        packets: f64,
        (runs, together): (usize, usize),
        kept: Kept,
    ) -> Self {
        let generates = |source: &&Source<M>| matches!(source, Source::Generator(_));
        let streams = |flow: &Flow<M>| {
            let times = flow.spread.iter().filter(|&&spread| spread > 0).count();
            times + usize::from(flow.resize.least < flow.resize.most)
        };
        Self {
            packets,
            flows: workload.flows.len(),
            generators: workload.sources.iter().filter(generates).count(),
            streams: workload.flows.iter().map(streams).sum(),
            together,
            runs,
            kept,
        }
    }

    /// Bytes, about; of packets only as far as it is known how many there are.
    fn bytes(&self) -> f64 {
        let packets = if self.packets.is_finite() { self.packets } else { 0.0 };
        let kept = |what: &[Kept]| if what.contains(&self.kept) { self.runs as f64 } else { 0.0 };
        let runs = [1.0, self.together as f64, kept(&[Kept::Flows, Kept::All]), kept(&[Kept::All])];
        let all = |each: [f64; 4]| each.iter().zip(runs).map(|(bytes, runs)| bytes * runs).sum::<f64>();
        // Of more latencies there is a digest, which has as many entries.
        let latencies = packets.min(MOST_EXACT.max(MOST_OF_A_FLOW * self.flows) as f64);
        let counts = [packets, latencies, self.flows as f64, self.generators as f64, self.streams as f64];
        counts.into_iter().zip([PACKET, LATENCY, FLOW, GENERATOR, STREAM]).map(|(count, each)| count * all(each)).sum()
    }

    /// That there is room for it.
    ///
    /// # Errors
    /// There is not.
    pub fn check(&self) -> Result<(), ScenarioError> {
        self.check_within(free())
    }

    fn check_within(&self, free: u64) -> Result<(), ScenarioError> {
        let (needed, free) = (self.bytes(), free as f64);
        if needed <= free {
            return Ok(());
        }
        let Self { packets, flows, together, .. } = *self;
        let packets = if packets.is_finite() { format!("{packets:.0} packets") } else { "packets".to_string() };
        let runs = if together == 1 { "one run".to_string() } else { format!("{together} runs at a time") };
        let message = format!(
            "{packets} of {flows} flows take some {} of memory with {runs}, and {} are free",
            amount(needed),
            amount(free)
        );
        let help = "fewer runs at a time (--threads 1) or fewer schedulers need less, or a part of the packets";
        Err(ScenarioError::new("", message).with_help(help))
    }
}

/// That there is room for this, of which the message says what it is.
///
/// # Errors
/// There is not.
pub fn room_for(what: &str, bytes: f64) -> Result<(), String> {
    let free = free() as f64;
    match bytes <= free {
        true => Ok(()),
        false => Err(format!("{what} take some {} of memory, and {} are free", amount(bytes), amount(free))),
    }
}

/// That so many flows and sources that generate packets can be made, before any run of them.
pub(crate) fn room_for_flows(flows: u64, generators: u64) -> Result<(), String> {
    room_for(&format!("these {flows} flows"), flows as f64 * FLOW[0] + generators as f64 * GENERATOR[0])
}

/// Bytes in words.
pub fn amount(bytes: f64) -> String {
    if bytes >= 1e9 { format!("{} GB", digits(bytes / 1e9)) } else { format!("{} MB", digits(bytes / 1e6)) }
}

/// Bytes that this process can still get for what is large, as far as the system tells.
pub fn free() -> u64 {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let machine = kilobytes(&meminfo, "MemAvailable:");
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let space = address_space(&limits).map(|limit| limit.saturating_sub(kilobytes(&status, "VmSize:").unwrap_or(0)));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = control_group(&groups, Path::new("/sys/fs/cgroup"));
    let group = group.map(|limit| limit.saturating_sub(kilobytes(&status, "RssAnon:").unwrap_or(0)));
    let least = [machine, space, group].into_iter().flatten().min();
    least.map_or(u64::MAX, |bytes| bytes.saturating_sub(LEFT_OVER))
}

/// A line such as `MemAvailable:   123 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let number = text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.trim().parse().ok());
    number.map(|kilobytes: u64| kilobytes.saturating_mul(1024))
}

/// The limit of `ulimit -v`, if there is one.
fn address_space(limits: &str) -> Option<u64> {
    limits.lines().find_map(|line| line.strip_prefix("Max address space")?.split_whitespace().next()?.parse().ok())
}

/// The lowest limit of the control groups that the process is in, and of those above them.
fn control_group(groups: &str, root: &Path) -> Option<u64> {
    let limit = |line: &str| {
        let (kinds, path) = line.split_once(':')?.1.split_once(':')?;
        let (folder, file) = match kinds {
            "" => (root.to_path_buf(), "memory.max"),
            kinds if kinds.split(',').any(|kind| kind == "memory") => (root.join("memory"), "memory.limit_in_bytes"),
            _ => return None,
        };
        let own = folder.join(path.trim_start_matches('/'));
        let up = own.ancestors().take_while(|at| at.starts_with(&folder));
        up.filter_map(|at| fs::read_to_string(at.join(file)).ok()?.trim().parse::<u64>().ok()).min()
    };
    groups.lines().filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Load =
        Load { packets: 0.0, flows: 0, generators: 0, streams: 0, together: 0, runs: 0, kept: Kept::Little };

    #[test]
    fn what_does_not_fit_is_refused_in_words() {
        let load = Load { packets: 10e6, flows: 2_000_000, together: 2, runs: 2, ..NOTHING };
        assert!(load.check_within(u64::MAX).is_ok());
        let error = load.check_within(1_000_000_000).unwrap_err().to_string();
        assert!(error.contains("10000000 packets of 2000000 flows take some"), "{error}");
        assert!(error.contains("with 2 runs at a time, and 1.000 GB are free"), "{error}");
        assert!(error.contains("--threads 1"), "{error}");
        let fewer = Load { together: 1, ..load };
        assert!(fewer.bytes() < load.bytes());
        let generated = Load { generators: 2_000_000, ..load };
        assert!(load.bytes() < generated.bytes());
        assert!(generated.bytes() < Load { streams: 1, ..generated }.bytes());
        let keeps = [Kept::Little, Kept::Flows, Kept::All].map(|kept| Load { kept, ..load }.bytes());
        assert_eq!(keeps[1] - keeps[0], 2.0 * 2e6 * FLOW[2]);
        assert!(keeps[1] < keeps[2]);
        let unknown = Load { packets: f64::INFINITY, flows: 1, together: 1, runs: 1, kept: Kept::All, ..NOTHING };
        assert!(unknown.check_within(10_000).is_ok());
    }

    #[test]
    fn a_small_comparison_has_room() {
        assert!(free() > 1_000_000);
        Load { packets: 1e3, flows: 10, together: 2, runs: 2, kept: Kept::All, ..NOTHING }.check().unwrap();
    }

    #[test]
    fn limits_are_read_as_the_kernel_writes_them() {
        let meminfo = "MemTotal:       24634908 kB\nMemAvailable:   23077888 kB\n";
        assert_eq!(kilobytes(meminfo, "MemAvailable:"), Some(23_077_888 * 1024));
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space         4096000  unlimited  bytes\n";
        assert_eq!(address_space(limits), Some(4_096_000));
        assert_eq!(address_space("Max address space         unlimited            unlimited            bytes"), None);
    }

    #[test]
    fn the_lowest_limit_of_a_groups_ancestors_counts() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str, file: &str, text: &str| {
            fs::create_dir_all(folder.path().join(path)).unwrap();
            fs::write(folder.path().join(path).join(file), text).unwrap();
        };
        at("a/b", "memory.max", "max\n");
        at("a", "memory.max", "1000\n");
        assert_eq!(control_group("0::/a/b\n", folder.path()), Some(1000));
        at("memory/c", "memory.limit_in_bytes", "900\n");
        assert_eq!(control_group("4:cpu,memory:/c\n0::/a/b\n", folder.path()), Some(900));
        assert_eq!(control_group("3:cpu:/a\n", folder.path()), None);
    }
}
