//! Instructions, misses and mispredicted branches per packet of every discipline, counted by valgrind's cachegrind:
//! what neither the machine nor its load can spoil.
//!
//! `cargo run --release -p dovetail-bench --bin budget [-- --keep]`
//!
//! The neutral loop of `dovetail-bench`, with 32,768 flows, singly and in bursts of 32. A run with one packet of each
//! flow is subtracted from one with three, so that what is left is packets only, and not the first ones: a discipline
//! may have nothing to do for these. The caches are cachegrind's: 32 KiB, and 1 MiB behind, as a core's own second one.
//! Counts are held against the budgets in `budgets.txt`, which may be exceeded by [`SLACK`]; `--keep` writes them.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;

/// The catalogue's disciplines, and yardsticks for comparison; of two resources unless said.
const SUBJECTS: [&str; 21] = [
    "(bare FIFO)",
    "(textbook DRR)",
    "(textbook QFQ)",
    "fifo",
    "drr",
    "cbcs",
    "mr3",
    "gmr3",
    "sfq",
    "scfq",
    "bf",
    "wfq",
    "wf2q+",
    "drfq",
    "pcfq",
    "drgps",
    "atfq:loop=1",
    "tradeoff:alpha=1",
    "tradeoff:alpha=0.85",
    "tradeoff:alpha=0.85 of 3",
    "tradeoff:alpha=0.85 of 4",
];
const BURSTS: [u32; 2] = [1, 32];
const FLOWS: &str = "32768";
/// Packets of the run that is subtracted, and of the other one.
const PACKETS: [u32; 2] = [32_768, 98_304];
/// By how much a budget may be exceeded: what another compiler makes of the same code.
const SLACK: f64 = 1.1;
/// Beyond that, by rounding; and mispredicted branches by where in the program other code has moved them, which decides
/// whether two of them share a place in the predictor.
const BEYOND: Counts = [0.5, 0.5, 4.0];
const BUDGETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/budgets.txt");
const HEADER: &str = "# Per packet: instructions, misses of the second cache, mispredicted branches. Of `make budget`.";

/// Per packet: instructions, last-level data misses, mispredicted branches.
type Counts = [f64; 3];

fn main() -> ExitCode {
    match run(std::env::args().nth(1).is_some_and(|arg| arg == "--keep")) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// Whether every discipline keeps to its budget.
fn run(keep: bool) -> Result<bool, String> {
    let bench = std::env::current_exe().map_err(|e| e.to_string())?.with_file_name("dovetail-bench");
    let before = std::fs::read_to_string(BUDGETS).unwrap_or_default();
    let (mut text, mut kept) = (format!("{HEADER}\n"), true);
    println!("{:<24} {:>5} {:>14} {:>9} {:>12}", "scheduler", "burst", "instructions", "misses", "mispredicted");
    for subject in SUBJECTS {
        for burst in BURSTS {
            let counts = per_packet(&bench, subject, burst)?;
            let budget = budget(&before, subject, burst);
            let over = budget.is_some_and(|budget| (0..3).any(|k| counts[k] > budget[k] * SLACK + BEYOND[k]));
            kept &= !over;
            let [instructions, misses, branches] = counts;
            let remark =
                if over { format!("  over its budget {:?}", budget.unwrap_or_default()) } else { String::new() };
            println!("{subject:<24} {burst:>5} {instructions:>14.0} {misses:>9.1} {branches:>12.1}{remark}");
            let _ = writeln!(text, "{subject}\t{burst}\t{instructions:.0}\t{misses:.1}\t{branches:.1}");
        }
    }
    if keep {
        std::fs::write(BUDGETS, text).map_err(|e| format!("{BUDGETS}: {e}"))?;
    }
    Ok(kept || keep)
}

fn budget(text: &str, subject: &str, burst: u32) -> Option<Counts> {
    let line = text.lines().find_map(|line| line.strip_prefix(subject)?.strip_prefix(&format!("\t{burst}\t")))?;
    let mut numbers = line.split('\t').filter_map(|n| n.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next()?])
}

fn per_packet(bench: &Path, subject: &str, burst: u32) -> Result<Counts, String> {
    let [few, many] = thread::scope(|scope| {
        PACKETS
            .map(|packets| scope.spawn(move || count(bench, subject, packets, burst)))
            .map(thread::ScopedJoinHandle::join)
    });
    let [few, many] = [few, many].map(|count| count.map_err(|_| "a count failed".to_owned()).flatten());
    let (few, many) = (few?, many?);
    Ok(std::array::from_fn(|k| many[k].saturating_sub(few[k]) as f64 / f64::from(PACKETS[1] - PACKETS[0])))
}

/// What cachegrind counts in a whole run.
fn count(bench: &Path, subject: &str, packets: u32, burst: u32) -> Result<[u64; 3], String> {
    let file = std::env::temp_dir().join(format!("dovetail-budget-{}-{packets}", std::process::id()));
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes"])
        .args(["--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"])
        .arg(format!("--cachegrind-out-file={}", file.display()))
        .arg(bench)
        .args(["--pass", subject, FLOWS, &packets.to_string(), &burst.to_string()])
        .output()
        .map_err(|e| format!("missing: valgrind ({e})"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    // Nobody else uses it.
    let _ = std::fs::remove_file(&file);
    let words = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::split_whitespace);
    let (Some(events), Some(sums)) = (words("events:"), words("summary:")) else {
        return Err(format!("not what cachegrind writes: {text:.200}"));
    };
    let sums: Vec<(&str, u64)> = events.zip(sums.map(|sum| sum.parse().unwrap_or(0))).collect();
    let sum = |of: &[&str]| sums.iter().filter(|(event, _)| of.contains(event)).map(|(_, sum)| sum).sum();
    Ok([sum(&["Ir"]), sum(&["DLmr", "DLmw"]), sum(&["Bcm", "Bim"])])
}
