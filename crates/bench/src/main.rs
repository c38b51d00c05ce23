//! Nanoseconds per packet of every discipline beside a bare FIFO, and simulated packets per second; or how long single
//! calls take; or a number of packets to count instructions by.
//!
//! `cargo run --release -p dovetail-bench -- [--quick] [--calls] [--resources M] [--only 'SPEC;SPEC..'] [--flows N]
//! [--json FILE]`
//!
//! The neutral loop: a packet of a random flow comes, one goes, and the times that it took on every resource are
//! reported, all of them other than estimated. Four packets wait per flow on average; their frames lie in random order
//! in memory, are written when they come and read when they go. So it is singly, and in bursts of 8 and of 32. In the
//! hot loop, singly, the next packet is of the flow just served, whose record is in the caches. Alone, singly, nothing
//! waits when a packet comes: so it is under light load.
//!
//! Every line is measured beside the control in the same rounds; the ratio to it carries over to other machines better
//! than the nanoseconds do. So do those to the textbook schedulers, which have no contract, limits or corrections.
//!
//! `--calls` measures every single call of seven workloads instead, with a million flows: half of the calls take less
//! than p50, one of a thousand more than p99.9. Two readings of the clock are in each. All is done three times, and of
//! each call the least time counts: where the system takes the processor away, that is another call each time.
//!
//! `--pass SPEC FLOWS PACKETS BURST` measures nothing: it lets so many packets pass, of two resources, or of three with
//! `"SPEC of 3"`. The program `budget` counts instructions and misses by it.

mod calls;
mod frames;
mod machine;
mod packets;
mod scheduled;
mod simulated;
mod subject;
mod yardsticks;

use std::process::ExitCode;

use serde_json::{Value, json};

const DISCIPLINES: &[&str] = &[
    "fifo",
    "drfq",
    "drfq:mode=dovetail",
    "mr3",
    "gmr3",
    "drgps",
    "drgps:order=start",
    "tradeoff:alpha=1",
    "tradeoff:alpha=0.85",
    "atfq:loop=1",
    "atfq:loop=5",
    "atfq:loop=20",
    "atfq:loop=100",
    "atfq:loop=1000",
    "drr",
    "wfq",
    "wf2q+",
    "sfq",
    "scfq",
    "bf",
    "pcfq",
    "cbcs",
];
/// One scheduler in front of each resource: only a simulation has a place for both.
const COMPOSITIONS: [&str; 2] = ["drr+drr", "wfq+wfq"];
const FLOWS: [usize; 5] = [64, 1024, 16_384, 131_072, 1_000_000];
const QUICK_FLOWS: [usize; 2] = [64, 1024];
/// Flows, and packets of each workload that need not be one of every flow, for single calls.
const CALLS: (usize, usize) = (1_000_000, 200_000);
const QUICK_CALLS: (usize, usize) = (10_000, 5_000);
/// Passes, of which each call's least time counts.
const PASSES: usize = 3;
/// Of the document.
const SCHEMA: u32 = 4;
const USAGE: &str = "usage: dovetail-bench [--quick] [--calls] [--resources M] [--only SPEC;SPEC..] [--flows N] \
    [--json FILE] | --pass SPEC FLOWS PACKETS BURST";

/// What the command line says.
struct Options {
    quick: bool,
    calls: bool,
    resources: usize,
    only: Option<Vec<String>>,
    flows: Option<usize>,
    json: Option<String>,
}

impl Options {
    fn read(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut this = Self { quick: false, calls: false, resources: 2, only: None, flows: None, json: None };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg}: what?\n{USAGE}"));
            match arg.as_str() {
                "--quick" => this.quick = true,
                "--calls" => this.calls = true,
                "--resources" => this.resources = number(&value()?)?.clamp(1, 4),
                "--only" => this.only = Some(value()?.split(';').map(str::to_string).collect()),
                "--flows" => this.flows = Some(number(&value()?)?.max(1)),
                "--json" => this.json = Some(value()?),
                _ => return Err(format!("{arg}: not understood\n{USAGE}")),
            }
        }
        Ok(this)
    }

    fn disciplines(&self) -> Vec<&str> {
        match &self.only {
            Some(only) => only.iter().map(String::as_str).collect(),
            None => DISCIPLINES.to_vec(),
        }
    }

    fn flows(&self) -> Vec<usize> {
        match (self.flows, self.quick) {
            (Some(flows), _) => vec![flows],
            (None, true) => QUICK_FLOWS.to_vec(),
            (None, false) => FLOWS.to_vec(),
        }
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("{text}: not a number\n{USAGE}"))
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.as_slice() {
        [pass, spec, flows, packets, burst] if pass == "--pass" => pass_packets(spec, [flows, packets, burst]),
        _ => Options::read(args.into_iter()).and_then(|options| run(&options)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(if message.contains(USAGE) { 2 } else { 1 })
        }
    }
}

fn pass_packets(spec: &str, numbers: [&String; 3]) -> Result<(), String> {
    let [flows, packets, burst] = numbers.map(|text| number(text).map(|n| n.max(1)));
    let (spec, resources) = match spec.rsplit_once(" of ") {
        Some((spec, resources)) => (spec, resources.parse().map_err(|_| format!("{resources:?} is not a number"))?),
        None => (spec, 2),
    };
    packets::pass(spec, resources, flows?, packets?, burst?.min(subject::LONGEST_BURST))
}

fn run(options: &Options) -> Result<(), String> {
    let machine = machine::describe();
    for (what, is) in &machine {
        println!("{what:<8} {is}");
    }
    let (packets, simulations, calls) = match options.calls {
        true => (Vec::new(), Vec::new(), calls(options)?),
        false => (packets(options)?, simulations(options)?, Vec::new()),
    };
    let Some(file) = &options.json else { return Ok(()) };
    let machine: serde_json::Map<_, _> = machine.into_iter().map(|(k, v)| (k.to_string(), v.into())).collect();
    let document = json!({
        "schema": SCHEMA, "machine": machine, "packets": packets, "simulation": simulations, "calls": calls,
    });
    std::fs::write(file, format!("{document:#}\n")).map_err(|e| format!("{file}: {e}"))
}

fn packets(options: &Options) -> Result<Vec<Value>, String> {
    let resources = options.resources;
    println!("\nns per packet, and times the control; {resources} resources:\n{}", packets::Line::HEADER);
    let mut lines = Vec::new();
    for flows in options.flows() {
        for name in packets::YARDSTICKS.into_iter().chain(options.disciplines()) {
            if name.starts_with("tradeoff") && !(2..=4).contains(&resources) {
                continue;
            }
            let line = packets::measure(name, resources, flows, options.quick)?;
            println!("{}", line.text(flows));
            lines.push(json!({
                "scheduler": line.name, "flows": flows, "resources": resources,
                "loops": ["1", "8", "32", "hot", "alone"],
                "ns_per_packet": line.nanoseconds, "ratio_to_control": line.ratios,
            }));
        }
    }
    Ok(lines)
}

fn simulations(options: &Options) -> Result<Vec<Value>, String> {
    if options.only.is_some() {
        return Ok(Vec::new());
    }
    println!("\nsimulated packets per second of the input of the tradeoff paper's Table 2:");
    let mut simulations = Vec::new();
    for spec in DISCIPLINES.iter().copied().chain(COMPOSITIONS) {
        let rate = simulated::packets_per_second(spec, options.quick)?;
        println!("{spec:<22} {rate:>12.0}");
        simulations.push(json!({ "scheduler": spec, "packets_per_second": rate }));
    }
    Ok(simulations)
}

fn calls(options: &Options) -> Result<Vec<Value>, String> {
    let disciplines = options.disciplines();
    let (flows, turns) = if options.quick { QUICK_CALLS } else { CALLS };
    println!("\nsingle calls with {flows} flows:\n{}", calls::Line::HEADER);
    let mut lines = Vec::new();
    for (k, spec) in disciplines.iter().enumerate() {
        eprint!("\r{:<60}\r", format!("{} of {}: {spec} ...", k + 1, disciplines.len()));
        let measured = calls::measure(spec, flows, turns, PASSES)?;
        eprint!("\r{:<60}\r", "");
        for line in measured {
            println!("{}", line.text());
            lines.push(line.json(flows));
        }
    }
    Ok(lines)
}
