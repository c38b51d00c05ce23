//! Packets per second of the TCP dumbbell, and of UDP in order of arrival, beside ns-2 in the same run.
//!
//! `cargo run --release -p dovetail-bench --bin beside-ns2 -- [ROUNDS]`
//!
//! A round is one run of ns-2 between two times two runs of Dovetail, so that what else the machine does meets both.
//! The same processes count as in `make bench`; processor time is user and system time, which other work on the machine
//! disturbs least. ns-2 carries only the headers that it needs, which makes it a fifth faster than as it comes; its
//! start is part of its time.

#[path = "../flood.rs"]
mod flood;
#[path = "../machine.rs"]
mod machine;
#[path = "../../../sim/tests/ns2/mod.rs"]
mod ns2;

use std::process::{Command, ExitCode};
use std::time::Instant;

use dovetail_tcp::Variant;

const ROUNDS: u64 = 5;
/// Runs of Dovetail before, and after, the one of ns-2.
const RUNS: u64 = 2;
/// Ticks per second of the times in `/proc`.
const TICKS: f64 = 100.0;
const USAGE: &str = "usage: beside-ns2 [ROUNDS]";

/// What some runs took, and the outcome of the last.
#[derive(Clone, Default)]
struct Cost {
    packets: f64,
    wall: f64,
    /// Processor time.
    cpu: f64,
    outcome: Option<ns2::Outcome>,
}

struct Round {
    ours: Cost,
    theirs: Cost,
}

/// Why there is no ns-2 to compare with; `None` if there is.
fn missing() -> Option<&'static str> {
    let found = Command::new("ns").arg("/dev/null").output().is_ok_and(|output| output.status.success());
    (!found).then_some("skipped: ns-2 is not installed here (Debian package ns2; `make ns2` installs it)")
}

fn main() -> ExitCode {
    let rounds = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => ROUNDS,
        [rounds] if rounds.parse::<u64>().is_ok_and(|rounds| rounds > 0) => rounds.parse().unwrap_or(ROUNDS),
        [other, ..] => {
            eprintln!("{other}: not understood\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Some(why) = missing() {
        println!("{why}");
        return ExitCode::SUCCESS;
    }
    for (what, is) in machine::describe() {
        println!("{what:<8} {is}");
    }
    let tcp: Vec<Round> = (1..=rounds).map(tcp).collect();
    outcomes(&tcp);
    println!("\nTCP over a dumbbell, data packets per second, smallest / median / largest of {rounds} rounds:");
    report(&tcp);
    println!("\nUDP of sixty senders into one link, packets per second, the same:");
    report(&(1..=rounds).map(|_| udp()).collect::<Vec<_>>());
    ExitCode::SUCCESS
}

fn tcp(seed: u64) -> Round {
    let of = |outcome: ns2::Outcome| (outcome.packets as f64, Some(outcome));
    Round::new(|| of(ns2::ours(Variant::Reno, false, seed)), || of(ns2::theirs(Variant::Reno, false, seed)))
}

fn udp() -> Round {
    Round::new(|| (flood::ours() as f64, None), || (ns2::counts("flood.tcl", &[])[0][0], None))
}

/// Packets, and what else a run came to.
type Run = (f64, Option<ns2::Outcome>);

impl Round {
    fn new(ours: impl Fn() -> Run, theirs: impl Fn() -> Run) -> Self {
        let mut round = Self { ours: Cost::default(), theirs: Cost::default() };
        (0..RUNS).for_each(|_| round.ours.add(&ours));
        round.theirs.add(&theirs);
        (0..RUNS).for_each(|_| round.ours.add(&ours));
        round
    }
}

impl Cost {
    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    fn add(&mut self, run: impl Fn() -> Run) {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let (packets, outcome) = run();
        self.cpu += cpu_seconds() - cpu;
        self.wall += start.elapsed().as_secs_f64();
        self.packets += packets;
        self.outcome = outcome;
    }
}

/// Processor time of this process and of its children that have ended (proc(5): fields 14 to 17).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: u64 = fields.split_whitespace().skip(11).take(4).filter_map(|x| x.parse::<u64>().ok()).sum();
    ticks as f64 / TICKS
}

fn outcomes(rounds: &[Round]) {
    println!("\nwhat the last TCP runs came to:");
    for (name, of) in [("dovetail", (|round| &round.ours) as fn(&Round) -> &Cost), ("ns-2", |round| &round.theirs)] {
        let Some(o) = rounds.last().and_then(|round| of(round).outcome.as_ref()) else { continue };
        println!(
            "{name:<10} queue {:.2}, drop rate {:.6}, timeouts {}, goodput {:.3} Mb/s, standard deviation of flows \
             {:.3} Mb/s",
            o.queue, o.rate, o.timeouts, o.throughput, o.spread
        );
    }
}

fn report(rounds: &[Round]) {
    println!("{:<10} {:>32} {:>32}", "", "of processor time", "of wall time");
    let (cpu, wall) = (rates(rounds, |cost| cost.cpu), rates(rounds, |cost| cost.wall));
    for (name, digits, k) in [("dovetail", 0, 0), ("ns-2", 0, 1), ("ratio", 2, 2)] {
        println!("{name:<10} {:>32} {:>32}", range(&cpu, k, digits), range(&wall, k, digits));
    }
}

/// Of every round: ours, theirs, and their ratio.
fn rates(rounds: &[Round], time: fn(&Cost) -> f64) -> Vec<[f64; 3]> {
    let rate = |cost: &Cost| cost.packets / time(cost);
    let rates = |round: &Round| [rate(&round.ours), rate(&round.theirs), rate(&round.ours) / rate(&round.theirs)];
    rounds.iter().map(rates).collect()
}

/// Smallest, middle and largest of what stands at `k`.
fn range(rates: &[[f64; 3]], k: usize, digits: usize) -> String {
    let mut values: Vec<f64> = rates.iter().map(|rate| rate[k]).collect();
    values.sort_by(f64::total_cmp);
    let [least, middle, most] = [0, values.len() / 2, values.len() - 1].map(|k| values[k]);
    format!("{least:.digits$} / {middle:.digits$} / {most:.digits$}")
}
