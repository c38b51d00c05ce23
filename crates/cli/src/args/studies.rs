//! What can be typed to simulate.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use dovetail_config::Span;
use dovetail_experiment::advise::goal::Goal;
use dovetail_sched::Spec;

use super::{folder, scheduler, whole};
use crate::known::{self, Known};

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

In the table, starving counts flows further behind their share than waiting for a turn explains;
the other columns are those of `dovetail run`, which shows more of each scheduler.";

const SWEEP_EXAMPLE: &str = "Example of a plan:
  scenario = \"scenarios/demo.toml\"

  [grid]
  scheduler = [\"drfq\", \"tradeoff\"]
  alpha = [0.7, 0.85, 1]
  resource.link.rate = [\"100 Mbps\", \"200 Mbps\"]
  seed = \"1 to 5\"

`dovetail sweep PLAN` goes on where it was interrupted.";

/// What to simulate, and what to do with the results.
#[derive(Subcommand, Debug)]
pub enum Study {
    /// Compare schedulers on a scenario or a capture
    Run(Run),
    /// Say which scheduler and which alpha to use for an input, what it gains and who pays
    Advise(Advise),
    /// Run a scenario with every combination of values in a plan, into one data set
    Sweep(Sweep),
    /// Show what `dovetail run --out` has written as one page for a browser
    Report(Report),
    /// Recompute the papers' tables and figures, with a verdict on each
    Reproduce(Reproduce),
    /// Check a scenario against what theory guarantees
    Bounds(Bounds),
}

/// What comes in.
#[derive(Args, Debug)]
pub struct Source {
    /// A scenario (TOML) or a capture (pcap, pcapng, gzipped or not; - is standard input)
    #[arg(value_name = "FILE|CAPTURE", value_parser = NonEmptyStringValueParser::new())]
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
    /// Number of threads; the results do not depend on it [default: all cores]
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
    #[arg(long, value_name = "DIR", value_parser = folder())]
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
    #[arg(long, value_name = "LOAD", value_parser = load, allow_hyphen_values = true)]
    pub load: Option<f64>,
    /// Write pictures (SVG) and the checks (JSON) into this folder
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub out: Option<PathBuf>,
    /// Write all of it as one page for a browser (HTML) that needs no network
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    pub page: Option<PathBuf>,
    /// List every claim, and also explanations and the same quantities by other readings
    #[arg(long, conflicts_with_all = ["list", "json"])]
    pub all: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Number of threads; the results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = whole(1..=1024_u32), allow_negative_numbers = true)]
    pub threads: Option<u32>,
}

const BOUNDS_HELP: &str = "Columns of the table:
  at most        what the guarantee allows
  seen           the most that the run showed; - where the guarantee does not apply
  ratio          seen divided by at most: above 1 the guarantee is broken";

/// `dovetail bounds`.
#[derive(Args, Debug)]
#[command(after_help = BOUNDS_HELP)]
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
    #[arg(long, value_name = "RESOURCE PERCENT", allow_hyphen_values = true)]
    pub target: Vec<Goal>,
    /// Find the fairest scheduler under which this group's latency has the 99th percentile given by --p99
    #[arg(long, value_name = "GROUP", requires = "p99")]
    pub protect: Option<String>,
    /// See --protect
    #[arg(long, value_name = "TIME", requires = "protect", allow_hyphen_values = true)]
    pub p99: Option<Span>,
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
        let protect = self.protect.iter().zip(self.p99);
        let protect = protect.map(|(group, Span(p99))| Goal::Protect { group: group.clone(), p99 });
        self.target.iter().cloned().chain(protect).collect()
    }
}

/// `dovetail sweep`.
#[derive(Args, Debug)]
#[command(after_help = SWEEP_EXAMPLE)]
pub struct Sweep {
    /// The plan (TOML; - is standard input): a scenario or a capture, and the values of its keys
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// The folder of the data set. What is there already is not computed again [default: the plan's name]
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub out: Option<PathBuf>,
    /// Number of runs at the same time; the results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = whole(1..=1024_u32), allow_negative_numbers = true)]
    pub jobs: Option<u32>,
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
