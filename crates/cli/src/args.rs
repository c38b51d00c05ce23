//! What can be typed.

mod boxes;
#[cfg(feature = "studies")]
mod studies;

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use dovetail_sched::Spec;
use dovetail_sched::catalog::find;
use dovetail_trace::{MAX_FLOWS, MAX_PACKETS};
use dovetail_units::{BitRate, Duration};
use dovetail_wire::KeyKind;

use crate::known::{self, Known};

pub use boxes::*;
#[cfg(feature = "studies")]
pub use studies::*;

#[cfg(feature = "studies")]
const AFTER_HELP: &str = "Exit codes: 0 done, 1 a run failed, 2 wrong input, 130 interrupted.";
#[cfg(not(feature = "studies"))]
const AFTER_HELP: &str = "This is the small program, without run, advise, sweep, report, reproduce and bounds.
Exit codes: 0 done, 1 a run failed, 2 wrong input, 130 interrupted.";

/// Share the CPU and the link of a packet processor between flows: fairly, efficiently, or any mix of the two.
#[derive(Parser, Debug)]
#[command(name = "dovetail", version, arg_required_else_help = true, subcommand_required = true)]
#[command(after_help = AFTER_HELP)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Simulate
    #[cfg(feature = "studies")]
    #[command(flatten)]
    Study(Study),
    /// List the schedulers, or describe one
    Schedulers(Schedulers),
    /// Look at a capture, or make a synthetic one
    #[command(subcommand)]
    Trace(Trace),
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
    /// What makes packets a flow: 5-tuple; host or prefix of the sender, to-host or to-prefix of the receiver;
    /// prefix+port; with lengths, prefix:24/48
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
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<Duration>,
    /// Mean rate, instead of the duration
    #[arg(long, value_name = "RATE", conflicts_with = "duration", allow_hyphen_values = true)]
    pub rate: Option<BitRate>,
    /// Part of the packets that one flow has, in per cent [default: what the flows' tail gives]
    #[arg(long, value_name = "PERCENT", default_value_t = 0, hide_default_value = true)]
    #[arg(value_parser = whole(0..=90_u8), allow_negative_numbers = true)]
    pub heaviest: u8,
    /// Part of large packets in long flows, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 65)]
    #[arg(value_parser = whole(0..=100_u8), allow_negative_numbers = true)]
    pub large: u8,
    /// Replace the file if it is there
    #[arg(long)]
    pub force: bool,
}

/// `dovetail calibrate`.
#[derive(Args, Debug)]
pub struct Calibrate {
    /// Which modules [default: all]: check, monitor, esp-gcm, esp-cbc-sha1, re, forward, match
    #[arg(value_name = "MODULE")]
    pub modules: Vec<String>,
    /// Samples of each length, 10 to 100000: batches of 32 packets
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
    #[arg(value_name = "DIR", value_parser = folder())]
    pub folder: PathBuf,
}

/// A folder to write into. Elsewhere `-` is standard output, and a folder of that name is hardly ever meant.
fn folder() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path == Path::new("-") {
        true => Err("expected a folder, not standard output; did you mean \"./-\"?"),
        false => Ok(path),
    })
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

/// One scheduler; neither the comma that separates parameters nor a blank separates schedulers.
fn scheduler(text: &str) -> Result<Spec, String> {
    let is_scheduler = |word: &str| word.split(':').next().is_some_and(|name| find(name).is_some());
    let several = text.split_whitespace().nth(1).is_some() && text.split_whitespace().all(is_scheduler);
    match text.split_once(',') {
        _ if several => Err("give --scheduler once for each scheduler".into()),
        Some((first, _)) if !first.contains(':') => Err("give --scheduler once for each scheduler".into()),
        _ => text.parse().map_err(|e: dovetail_sched::SpecError| e.to_string()),
    }
}
