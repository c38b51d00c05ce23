//! What can be typed.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};
use dovetail_dataplane::control::DEFAULT_SOCKET;
use dovetail_experiment::advise::goal::Goal;
use dovetail_lab::MTUS;
use dovetail_sched::Spec;
use dovetail_trace::{MAX_FLOWS, MAX_PACKETS};
use dovetail_units::{BitRate, Bytes, Duration, PacketRate};
use dovetail_wire::KeyKind;

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

const ADVISE_EXAMPLES: &str = "Examples:
  dovetail advise scenario.toml
  dovetail advise capture.pcap --profile router --today drr --json
  dovetail advise scenario.toml --target \"cpu 95 %\"
  dovetail advise scenario.toml --protect call --p99 \"5 ms\"

`dovetail run` shows more of each scheduler.";

const CTL_EXAMPLES: &str = "Examples:
  dovetail live ctl show
  dovetail live ctl set alpha=0.9
  dovetail live ctl weight video=2
  dovetail live ctl budget \"20 %\"
  dovetail live ctl reload
  dovetail live ctl watch --every \"10 s\" >> box.jsonl

The box listens if its configuration says: [control] socket = \"/run/dovetail/box.sock\".";

const LIVE_EXAMPLES: &str = "Examples:
  dovetail live box.toml
  dovetail live box.toml --set scheduler=drfq --for \"10 s\"
  dovetail live box.toml --set ports.in=pcap:in.pcap --set 'ports.out=pcap:>out.pcap'
  dovetail live ctl set alpha=0.9

Interfaces need root or CAP_NET_RAW and CAP_NET_ADMIN; captures need nothing.";

const RUN_LAB_EXAMPLES: &str = "Examples:
  dovetail lab run
  dovetail lab run click --json
  dovetail lab run my-scenario.toml --set lab.ecn=false
  dovetail lab run gateway-real

A lab consists of network namespaces. Making them needs root.";

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

/// `dovetail live`.
#[derive(Args, Debug)]
#[command(after_help = LIVE_EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Live {
    /// Talk to a box that runs instead.
    #[command(subcommand)]
    pub command: Option<LiveCommand>,
    /// What to run.
    #[command(flatten)]
    pub start: Option<Start>,
}

/// A box to run.
#[derive(Args, Debug)]
pub struct Start {
    /// The configuration (TOML; - is standard input)
    #[arg(value_name = "CONFIG")]
    pub file: String,
    /// Override a key of the configuration, such as link.rate="100 Mbps"; repeat it for more
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// Stop after this time [default: at the end of a capture, or when told to]
    #[arg(long = "for", value_name = "TIME")]
    pub duration: Option<Duration>,
    /// Check the configuration, open the ports, say what would happen and what would go wrong, and stop
    #[arg(long, conflicts_with = "json")]
    pub dry_run: bool,
    /// Print one JSON document at the end instead of a table
    #[arg(long)]
    pub json: bool,
    /// What to log on standard error: this level and above
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = ["off", "error", "warn", "info"])]
    pub log: String,
}

/// `dovetail lab`.
#[derive(Subcommand, Debug)]
pub enum Lab {
    /// Make a client, a box and a server, connected in this order, and leave them there
    Up(Up),
    /// Make a lab, send traffic through the middlebox in it, say who got what, and remove the lab
    Run(RunLab),
    /// Treat the middlebox badly (overload, faults, reloads, interfaces that go down) and say whether it held up
    Soak(Soak),
    /// Flood the live middlebox with false addresses, and say what honest flows keep, scheduler by scheduler
    Flood(FloodLab),
    /// Print a step as a scenario for dovetail run: same flows, same box, and what its modules cost here
    Predict(Predict),
    /// Remove a lab, or what is left of it, and end the processes in it
    Down(Down),
}

/// `dovetail lab up`.
#[derive(Args, Debug)]
pub struct Up {
    /// Its name: a-z, 0-9 and -
    #[arg(value_name = "NAME", default_value = "lab")]
    pub name: String,
    /// MTU of its interfaces, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    #[arg(value_parser = whole(MTUS), allow_negative_numbers = true)]
    pub mtu: u16,
    /// Congestion control of TCP connections in it
    #[arg(long, value_name = "NAME", default_value = "reno")]
    pub congestion_control: String,
    /// Switch ECN off for TCP connections
    #[arg(long)]
    pub no_ecn: bool,
    /// Client and server compute checksums themselves, as a box on AF_XDP needs it
    #[arg(long)]
    pub no_offloads: bool,
}

/// `dovetail lab soak`.
#[derive(Args, Debug)]
pub struct Soak {
    /// Name of the lab: a-z, 0-9 and -
    #[arg(long, value_name = "NAME", default_value = "soak")]
    pub name: String,
    /// For how long
    #[arg(long = "for", value_name = "TIME", default_value = "10 min", value_parser = at_least_a_second)]
    pub duration: Duration,
}

/// `dovetail lab flood`.
#[derive(Args, Debug)]
pub struct FloodLab {
    /// A scheduler; may be given several times [default: the control, and what shares the link or both resources]
    #[arg(short, long = "scheduler", value_name = "SPEC", value_parser = scheduler)]
    pub schedulers: Vec<Spec>,
    /// New flows per second; by default 10^6 in a minute
    #[arg(long, value_name = "RATE", default_value = "16667 pps")]
    pub rate: PacketRate,
    /// Packets of each flow
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole(1..=100_u32), allow_negative_numbers = true)]
    pub packets: u32,
    /// Length of their frames
    #[arg(long, value_name = "BYTES", default_value = "250 B")]
    pub frame: Bytes,
    /// How long to measure each scheduler
    #[arg(long = "for", value_name = "TIME", default_value = "5 s", value_parser = at_least_a_second)]
    pub duration: Duration,
    /// Name of the lab: a-z, 0-9 and -
    #[arg(long, value_name = "NAME", default_value = "flood")]
    pub name: String,
    /// Override a key of the box (scenarios/lab/flood-box.toml), such as flows.most=4096; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// `dovetail lab run`.
#[derive(Args, Debug)]
#[command(after_help = RUN_LAB_EXAMPLES)]
pub struct RunLab {
    /// A scenario (TOML), or starving-tunnel, click, elephants, gateway, tcp-drq or gateway-real, which come with the
    /// program
    #[arg(value_name = "SCENARIO", default_value = "starving-tunnel")]
    pub scenario: String,
    /// Name of the lab: a-z, 0-9 and -
    #[arg(long, value_name = "NAME", default_value = "lab")]
    pub name: String,
    /// Also simulate each step with the costs measured in the box, and compare (UDP only)
    #[arg(long)]
    pub predict: bool,
    /// Override a key of the scenario, such as lab.ecn=false; repeat it for more
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// Print one JSON document at the end instead of tables
    #[arg(long)]
    pub json: bool,
}

/// `dovetail lab predict`.
#[derive(Args, Debug)]
pub struct Predict {
    /// A scenario (TOML) of UDP flows, or one that comes with the program, such as click
    #[arg(value_name = "SCENARIO", default_value = "starving-tunnel")]
    pub scenario: String,
    /// Name of the lab that measures the classes without a given cost: a-z, 0-9 and -
    #[arg(long, value_name = "NAME", default_value = "lab")]
    pub name: String,
    /// Which step, counted from 1
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole(1..=u32::MAX), allow_negative_numbers = true)]
    pub step: u32,
    /// Override a key of the scenario, such as udp.0.rate="2000 pps"; repeat it for more
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
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

/// `dovetail lab down`.
#[derive(Args, Debug)]
pub struct Down {
    /// Its name
    #[arg(value_name = "NAME", default_value = "lab")]
    pub name: String,
    /// All labs on this machine
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
}

/// What can be done with a box that runs.
#[derive(Subcommand, Debug)]
pub enum LiveCommand {
    /// Look at a running box, or change it
    #[command(after_help = CTL_EXAMPLES)]
    Ctl(Ctl),
}

/// `dovetail live ctl`.
#[derive(Args, Debug)]
pub struct Ctl {
    /// Where the box is.
    #[command(flatten)]
    pub socket: Socket,
    /// What to do.
    #[command(subcommand)]
    pub command: CtlCommand,
}

/// The control socket of a box.
#[derive(Args, Debug)]
pub struct Socket {
    /// The control socket of the box
    #[arg(long, value_name = "PATH", default_value = DEFAULT_SOCKET, global = true)]
    pub socket: PathBuf,
}

/// `dovetail live ctl ...`.
#[derive(Subcommand, Debug)]
pub enum CtlCommand {
    /// Print what the box has done since it started
    Show {
        /// Print one JSON document instead of a table
        #[arg(long)]
        json: bool,
        /// How many flows to list in the JSON document, longest queues first; at most 1000
        #[arg(long, value_name = "N", default_value_t = 1000)]
        flows: usize,
    },
    /// Print what the box has done at regular intervals, one JSON document per line
    Watch {
        /// Time between lines
        #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = pause)]
        every: Duration,
        /// Number of lines [default: until interrupted]
        #[arg(long, value_name = "N")]
        count: Option<u64>,
        /// How many flows to list, longest queues first; at most 1000
        #[arg(long, value_name = "N", default_value_t = 0)]
        flows: usize,
    },
    /// Change a parameter of the scheduler, such as alpha=0.9
    Set {
        /// The parameter and its value
        #[arg(value_name = "KEY=VALUE", value_parser = pair)]
        change: (String, String),
    },
    /// Change the weight of each flow of a class
    Weight {
        /// The class and the weight
        #[arg(value_name = "CLASS=WEIGHT", value_parser = pair)]
        change: (String, String),
    },
    /// Change the limit of the queue of each flow of a class, such as video="200 packets, 64 kB"
    Queue {
        /// The class and the limit
        #[arg(value_name = "CLASS=LIMIT", value_parser = pair)]
        change: (String, String),
    },
    /// Change how much of a core processing may use, such as "20 %"
    Budget {
        /// The part of a core
        #[arg(value_name = "PERCENT")]
        budget: String,
    },
    /// Change the rate of the link, such as "40 Mbps" or unlimited
    Rate {
        /// The rate
        #[arg(value_name = "RATE")]
        rate: String,
    },
    /// Make the box read its configuration again, as SIGHUP does
    Reload,
    /// Make the box send what it holds, and stop
    Stop,
}

/// `dovetail top`.
#[derive(Args, Debug)]
#[command(after_help = "Press h for the keys. Shares are of the last interval; latencies are since the box started.")]
pub struct Top {
    /// Where the box is.
    #[command(flatten)]
    pub socket: Socket,
    /// Time between updates
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = pause)]
    pub every: Duration,
    /// Print one screen as text, after one interval, and stop
    #[arg(long)]
    pub once: bool,
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

/// From one look at a box to the next.
fn pause(text: &str) -> Result<Duration, String> {
    let pause: Duration = text.parse().map_err(|error: dovetail_units::ParseError| error.to_string())?;
    let range = Duration::from_millis(100)..=Duration::from_secs(3600);
    if range.contains(&pause) { Ok(pause) } else { Err("expected \"100 ms\" to \"3600 s\"".into()) }
}

/// Of a soak run: in less the box has hardly begun.
fn at_least_a_second(text: &str) -> Result<Duration, String> {
    let time: Duration = text.parse().map_err(|error: dovetail_units::ParseError| error.to_string())?;
    if time >= Duration::from_secs(1) { Ok(time) } else { Err("expected \"1 s\" or more".into()) }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok((key.into(), value.into())),
        _ => Err("expected a name and a value with = between them".into()),
    }
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
