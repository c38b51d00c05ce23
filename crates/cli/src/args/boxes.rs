//! Arguments of what has to do with a box that runs: `live`, `top` and `lab`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use dovetail_dataplane::control::DEFAULT_SOCKET;
use dovetail_lab::MTUS;
use dovetail_sched::Spec;
use dovetail_units::{Bytes, Duration, PacketRate};

use super::{scheduler, whole};

const CTL_EXAMPLES: &str = "Examples:
  dovetail live ctl show
  dovetail live ctl set alpha=0.9
  dovetail live ctl weight video=2
  dovetail live ctl alpha bulk=0.7
  dovetail live ctl budget \"20 %\"
  dovetail live ctl reload
  dovetail live ctl watch --every \"10 s\" >> box.jsonl

The box listens if its configuration says: [control] socket = \"/run/dovetail/box.sock\".";

const LIVE_EXAMPLES: &str = "Examples:
  dovetail live box.toml
  dovetail live box.toml --set scheduler=drfq --for \"10 s\"
  dovetail live box.toml --set ports.in=pcap:in.pcap --set 'ports.out=pcap:>out.pcap'
  dovetail live ctl set alpha=0.9

Interfaces need root or capabilities (docs/reference/ports.md). Captures need nothing.";

const RUN_LAB_EXAMPLES: &str = "Examples:
  dovetail lab run
  dovetail lab run click --json
  dovetail lab run my-scenario.toml --set lab.ecn=false
  dovetail lab run gateway-real

A lab consists of network namespaces. Making them needs root.";

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
    #[arg(value_name = "CONFIG", value_parser = NonEmptyStringValueParser::new())]
    pub file: String,
    /// Override a key of the configuration, such as link.rate="100 Mbps"; repeat it for more
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// Stop after this time [default: at the end of a capture, or when told to]
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<Duration>,
    /// Check the configuration, open the ports, say what would happen and what would go wrong, and stop; the control
    /// socket and the address of the metrics are not tried
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
    #[arg(allow_hyphen_values = true)]
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
    #[arg(allow_hyphen_values = true)]
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
    /// A scenario (TOML), or starving-tunnel, click, steer, elephants, gateway, tcp-drq, accelerator or gateway-real,
    /// which come with the program
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
        #[arg(long, value_name = "N", default_value_t = 1000, requires = "json")]
        flows: usize,
    },
    /// Print what the box has done at regular intervals, one JSON document per line
    Watch {
        /// Time between lines
        #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = pause, allow_hyphen_values = true)]
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
    /// Change the guaranteed part of the fair share of each flow of a class, such as bulk=0.7
    Alpha {
        /// The class and the part, from 0 to 1; none is what the scheduler guarantees to all
        #[arg(value_name = "CLASS=ALPHA", value_parser = pair)]
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
#[command(after_help = "Press h for the keys. Shares are of the last interval, latencies of the last second.")]
pub struct Top {
    /// Where the box is.
    #[command(flatten)]
    pub socket: Socket,
    /// Time between updates
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = pause, allow_hyphen_values = true)]
    pub every: Duration,
    /// Print one screen as text, after one interval, and stop
    #[arg(long)]
    pub once: bool,
    /// What flows are sorted by, as by the key: d dominant share, c CPU, l link, w waiting, p p99, x drops, n name
    #[arg(long, value_name = "KEY", default_value = "d", value_parser = sort_key)]
    pub sort: char,
}

/// A key by which `top` sorts.
fn sort_key(text: &str) -> Result<char, String> {
    let key = text.chars().next().filter(|key| text.len() == 1 && "dclwpxn".contains(*key));
    key.ok_or_else(|| "expected one of d, c, l, w, p, x, n".into())
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
