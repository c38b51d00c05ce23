//! What can be typed.

mod boxes;

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};
use dovetail_experiment::advise::goal::Goal;
use dovetail_sched::Spec;
use dovetail_trace::{MAX_FLOWS, MAX_PACKETS};
use dovetail_units::{BitRate, Duration};
use dovetail_wire::KeyKind;

use crate::known::{self, Known};

pub use boxes::*;

const RUN_EXAMPLES: &str = "Examples:
  dovetail run scenario.toml --out results
  dovetail run capture.pcap --profile vpn-gateway --scheduler drfq --scheduler tradeoff:alpha=0.85
  dovetail run scenario.toml --set resource.link.rate=\"100 Mbps\" --json
  dovetail run network.toml --scheduler drq --pcap box.link=link.pcap

`dovetail schedulers` lists the schedulers and their parameters.";

/// Examples, and a sentence about each column.
fn run_help() -> String {
    let rows = |columns: &[(&str, &str)]| {
        columns.iter().map(|(name, meaning)| format!("\n  {name:<14} {meaning}")).collect::<String>()
    };
    format!(
        "{RUN_EXAMPLES}\n\nColumns of the tables:{}\n\nThose of networks:{}",
        rows(&dovetail_experiment::table::COLUMNS),
        rows(&dovetail_experiment::network::COLUMNS)
    )
}

const REPORT_EXAMPLES: &str = "Examples:
  dovetail report results
  dovetail report results --out capture.html

`dovetail run ... --page FILE` writes the same page at once.";

const ADVISE_EXAMPLES: &str = "Examples:
  dovetail advise scenario.toml
  dovetail advise capture.pcap --profile router --today drr --json
  dovetail advise scenario.toml --target \"cpu 95 %\"
  dovetail advise scenario.toml --protect call --p99 \"5 ms\"

`dovetail run` shows more of each scheduler.";

const SWEEP_EXAMPLE: &str = "Example of a plan:
  scenario = \"scenarios/demo.toml\"

  [grid]
  scheduler = [\"drfq\", \"tradeoff\"]
  alpha = [0.7, 0.85, 1]
  resource.link.rate = [\"100 Mbps\", \"200 Mbps\"]
  seed = \"1 to 5\"

`dovetail sweep PLAN` goes on where it was interrupted.";

/// Share the CPU and the link of a packet processor between flows: fairly, efficiently, or any mix of the two.
#[derive(Parser, Debug)]
#[command(name = "dovetail", version, arg_required_else_help = true, subcommand_required = true)]
#[command(after_help = "Exit codes: 0 done, 1 a run failed, 2 wrong input, 130 interrupted.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Compare schedulers on a scenario or a capture
    Run(Run),
    /// Say which scheduler and which alpha to use for an input, what it gains and who pays
    Advise(Advise),
    /// Run a scenario with every combination of values in a plan, into one data set
    Sweep(Sweep),
    /// Show what `dovetail run --out` has written as one page for a browser
    Report(Report),
    /// List the schedulers, or describe one
    Schedulers(Schedulers),
    /// Look at a capture, or make a synthetic one
    #[command(subcommand)]
    Trace(Trace),
    /// Recompute the papers' tables and figures, with a verdict on each
    Reproduce(Reproduce),
    /// Check a scenario against what theory guarantees
    Bounds(Bounds),
    /// Run the middlebox between two ports: process real frames, in the order a scheduler decides
    Live(Live),
    /// Try the middlebox in network namespaces on this machine
    #[command(subcommand)]
    Lab(Lab),
    /// Measure how long processing takes on this machine, as lines to paste into scenarios
    Calibrate(Calibrate),
    /// Watch a running box: who uses how much of CPU and link
    Top(Top),
    /// Print the completion script of a shell
    Completions(Completions),
    /// Write man pages into a folder
    Man(Man),
}

/// What comes in.
#[derive(Args, Debug)]
pub struct Source {
    /// A scenario (TOML) or a capture (pcap, pcapng, gzipped or not; - is standard input)
    #[arg(value_name = "FILE|CAPTURE")]
    pub file: String,
    /// What box a capture went through: firewall-ids, vpn-gateway, router, upf, or a file like
    /// scenarios/profiles/*.toml [default for captures: firewall-ids]
    #[arg(long, value_name = "NAME|FILE", value_parser = Known(known::any, known::profiles))]
    #[arg(hide_possible_values = true)]
    pub profile: Option<String>,
    /// Override a key of the scenario, such as resource.link.rate="100 Mbps"; repeat it for more
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// Seed of all random numbers [default: that of the scenario]
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX), allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Number of runs at the same time; the results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = whole(1..=1024_u32), allow_negative_numbers = true)]
    pub threads: Option<u32>,
}

/// What a comparison is made of.
#[derive(Args, Debug)]
pub struct Input {
    /// What comes in.
    #[command(flatten)]
    pub source: Source,
    /// A scheduler to compare, such as drfq:mode=dovetail; repeat it for more [default: those of the scenario]
    #[arg(short, long = "scheduler", value_name = "SPEC", value_parser = Known(scheduler, known::schedulers))]
    #[arg(hide_possible_values = true)]
    pub schedulers: Vec<Spec>,
}

/// `dovetail run`.
#[derive(Args, Debug)]
#[command(after_help = run_help())]
pub struct Run {
    /// What to compare.
    #[command(flatten)]
    pub input: Input,
    /// Write pictures (SVG), tables (Parquet) and the summary (JSON) into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the results as one page for a browser (HTML) that needs no network
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// For a network under one scheduler: write the packets that leave a CPU or link as a capture. With several
    /// seeds, the run with the first one
    #[arg(long, value_name = "HOP=FILE", value_parser = pcap)]
    pub pcap: Vec<PcapOf>,
    /// Print the schedule as well, packet by packet, of runs with at most 200 packets
    #[arg(long, conflicts_with = "json")]
    pub schedule: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `dovetail report`.
#[derive(Args, Debug)]
#[command(after_help = REPORT_EXAMPLES)]
pub struct Report {
    /// The folder that `dovetail run --out` has written
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The page [default: report.html in that folder]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// A hop of a network and the capture to write of what leaves it.
#[derive(Clone, Debug)]
pub struct PcapOf {
    /// The CPU or link.
    pub hop: String,
    /// The capture.
    pub file: PathBuf,
}

/// `dovetail schedulers`.
#[derive(Args, Debug)]
pub struct Schedulers {
    /// The scheduler to describe
    #[arg(value_parser = Known(known::any, known::schedulers), hide_possible_values = true)]
    pub name: Option<String>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// `dovetail trace`.
#[derive(Subcommand, Debug)]
pub enum Trace {
    /// Say what a capture holds
    Info(Info),
    /// Make a capture like a university data centre's: thousands of flows, mostly UDP, mice and elephants
    Synth(Synth),
}

/// `dovetail trace info`.
#[derive(Args, Debug)]
pub struct Info {
    /// pcap or pcapng, gzipped or not; - is standard input
    #[arg(value_name = "CAPTURE")]
    pub file: PathBuf,
    /// What makes packets a flow: 5-tuple, prefix+port or prefix+port:24/48
    #[arg(long, value_name = "KEY", default_value_t)]
    pub key: KeyKind,
    /// How many of the largest flows to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = whole(0..=u32::MAX), allow_negative_numbers = true)]
    pub top: u32,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `dovetail trace synth`.
#[derive(Args, Debug)]
pub struct Synth {
    /// The capture to write (pcap with nanoseconds, headers only; - is standard output)
    #[arg(value_name = "CAPTURE")]
    pub file: PathBuf,
    /// Seed: the same seed and parameters make the same file
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole(0..=u64::MAX), allow_negative_numbers = true)]
    pub seed: u64,
    /// Number of packets
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    #[arg(value_parser = whole(1..=MAX_PACKETS), allow_negative_numbers = true)]
    pub packets: u32,
    /// Number of flows
    #[arg(long, value_name = "N", default_value_t = 3_600)]
    #[arg(value_parser = whole(1..=MAX_FLOWS), allow_negative_numbers = true)]
    pub flows: u32,
    /// Time from the first packet to the last [default: 10 s]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Duration>,
    /// Mean rate, instead of the duration
    #[arg(long, value_name = "RATE", conflicts_with = "duration")]
    pub rate: Option<BitRate>,
    /// Part of the packets that one flow has, in per cent [default: what the flows' tail gives]
    #[arg(long, value_name = "PERCENT", default_value_t = 0, hide_default_value = true)]
    #[arg(value_parser = whole(0..=90_u8), allow_negative_numbers = true)]
    pub heaviest: u8,
    /// Part of large packets in long flows, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 65)]
    #[arg(value_parser = whole(0..=100_u8), allow_negative_numbers = true)]
    pub large: u8,
}

/// `dovetail reproduce`.
#[derive(Args, Debug)]
pub struct Reproduce {
    /// What to recompute: an ID of --list, or a paper, such as tradeoff [default: everything]
    #[arg(value_name = "ID", value_parser = Known(known::any, known::reproductions), hide_possible_values = true)]
    pub ids: Vec<String>,
    /// List the tables and figures of six papers, or only those named
    #[arg(long, conflicts_with_all = ["trace", "load", "out", "threads"])]
    pub list: bool,
    /// Replay this capture in the trace-driven figures instead of a synthesised one
    #[arg(long, value_name = "CAPTURE")]
    pub trace: Option<PathBuf>,
    /// Load of the busier resource in the trace-driven figures, as a multiple of what it can do [default: 1.5]
    #[arg(long, value_name = "LOAD", value_parser = load)]
    pub load: Option<f64>,
    /// Write pictures (SVG) and the checks (JSON) into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// List every claim, and also explanations and the same quantities by other readings
    #[arg(long, conflicts_with_all = ["list", "json"])]
    pub all: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Number of runs at the same time; the results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = whole(1..=1024_u32), allow_negative_numbers = true)]
    pub threads: Option<u32>,
}

/// `dovetail bounds`.
#[derive(Args, Debug)]
pub struct Bounds {
    /// What to look at.
    #[command(flatten)]
    pub input: Input,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// `dovetail advise`.
#[derive(Args, Debug)]
#[command(after_help = ADVISE_EXAMPLES)]
pub struct Advise {
    /// What comes in.
    #[command(flatten)]
    pub source: Source,
    /// What runs today, which the advice is held against
    #[arg(long, value_name = "SPEC", default_value = dovetail_experiment::advise::TODAY)]
    #[arg(value_parser = Known(scheduler, known::schedulers), hide_possible_values = true)]
    pub today: Spec,
    /// Find the fairest scheduler that uses a resource so much, such as "cpu 95 %"; repeat it for more
    #[arg(long, value_name = "RESOURCE PERCENT")]
    pub target: Vec<Goal>,
    /// Find the fairest scheduler under which this group's latency has the 99th percentile given by --p99
    #[arg(long, value_name = "GROUP", requires = "p99")]
    pub protect: Option<String>,
    /// See --protect
    #[arg(long, value_name = "TIME", requires = "protect")]
    pub p99: Option<Duration>,
    /// Write the advice as one page for a browser (HTML) that needs no network
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

impl Advise {
    /// What is to be reached.
    pub fn goals(&self) -> Vec<Goal> {
        let protect = self.protect.iter().zip(self.p99).map(|(group, p99)| Goal::Protect { group: group.clone(), p99 });
        self.target.iter().cloned().chain(protect).collect()
    }
}

/// `dovetail sweep`.
#[derive(Args, Debug)]
#[command(after_help = SWEEP_EXAMPLE)]
pub struct Sweep {
    /// The plan (TOML): a scenario or a capture, and the values of its keys
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// The folder of the data set. What is there already is not computed again [default: the plan's name]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of runs at the same time; the results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = whole(1..=1024_u32), allow_negative_numbers = true)]
    pub jobs: Option<u32>,
}

/// `dovetail calibrate`.
#[derive(Args, Debug)]
pub struct Calibrate {
    /// Which modules [default: all]: check, monitor, esp-gcm, esp-cbc-sha1, re, forward, match
    #[arg(value_name = "MODULE")]
    pub modules: Vec<String>,
    /// Samples of each length: batches of 32 packets
    #[arg(long, value_name = "N", default_value_t = 200)]
    #[arg(value_parser = whole(10..=100_000_u32), allow_negative_numbers = true)]
    pub samples: u32,
    /// Print one JSON document instead of a table and scenario text
    #[arg(long)]
    pub json: bool,
}

/// `dovetail completions`.
#[derive(Args, Debug)]
pub struct Completions {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `dovetail man`.
#[derive(Args, Debug)]
pub struct Man {
    /// The folder to write them into
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// A whole number in this range.
fn whole<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Clone,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a whole number from {} to {}", range.start(), range.end()))
    }
}

fn load(text: &str) -> Result<f64, String> {
    let load = text.parse().ok().filter(|load| (0.01..=100.0).contains(load));
    load.ok_or_else(|| "expected a number from 0.01 to 100".into())
}

fn pcap(text: &str) -> Result<PcapOf, String> {
    match text.split_once('=') {
        Some((hop, file)) if !hop.is_empty() && !file.is_empty() => Ok(PcapOf { hop: hop.into(), file: file.into() }),
        _ => Err("expected HOP=FILE, such as box.link=link.pcap".into()),
    }
}

/// One scheduler; the comma that separates parameters does not separate schedulers.
fn scheduler(text: &str) -> Result<Spec, String> {
    match text.split_once(',') {
        Some((first, _)) if !first.contains(':') => Err("give --scheduler once for each scheduler".into()),
        _ => text.parse().map_err(|e: dovetail_sched::SpecError| e.to_string()),
    }
}
