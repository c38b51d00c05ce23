//! Nanoseconds per packet of every discipline beside a bare FIFO, and simulated packets per second; or how long single
//! calls take.
//!
//! `cargo run --release -p dovetail-bench -- [--quick] [--calls] [--json FILE]`
//!
//! A packet's cost is one enqueue and one dequeue with all flows kept backlogged, flows in random order, and its
//! payload an index into a shuffled array that is touched when it comes out, as the frame of a real packet would be.
//! Every line is measured beside the control in the same run; the ratio to it carries over to other machines better
//! than the nanoseconds do.
//!
//! `--calls` measures every single call of seven workloads instead, with a million flows: half of the calls take less
//! than p50, one of a thousand more than p99.9. Two readings of the clock are in each. Where the system takes the
//! processor away meanwhile, that is in it too: a few calls over 100 us of millions, which are others when it is run
//! again, are that.

mod calls;
mod machine;
mod packets;
mod simulated;

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
const FLOWS: [usize; 6] = [1, 64, 1024, 16_384, 131_072, 1_000_000];
const QUICK_FLOWS: [usize; 3] = [1, 64, 1024];
/// Flows, and packets of each workload that need not be one of every flow, for single calls.
const CALLS: (usize, usize) = (1_000_000, 200_000);
const QUICK_CALLS: (usize, usize) = (10_000, 5_000);
/// Of the document.
const SCHEMA: u32 = 2;
const USAGE: &str = "usage: dovetail-bench [--quick] [--calls] [--json FILE]";

fn main() -> ExitCode {
    let (mut quick, mut single, mut json_file) = (false, false, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match (arg.as_str(), args.len()) {
            ("--quick", _) => quick = true,
            ("--calls", _) => single = true,
            ("--json", 1..) => json_file = args.next(),
            _ => {
                eprintln!("{arg}: not understood\n{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    match run(quick, single, json_file.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(quick: bool, single: bool, json_file: Option<&str>) -> Result<(), String> {
    let machine = machine::describe();
    for (what, is) in &machine {
        println!("{what:<8} {is}");
    }
    let (packets, simulations, calls) = match single {
        true => (Vec::new(), Vec::new(), calls(quick)?),
        false => (packets(quick)?, simulations(quick)?, Vec::new()),
    };
    let Some(file) = json_file else { return Ok(()) };
    let machine: serde_json::Map<_, _> = machine.into_iter().map(|(k, v)| (k.to_string(), v.into())).collect();
    let document = json!({
        "schema": SCHEMA, "machine": machine, "packets": packets, "simulation": simulations, "calls": calls,
    });
    std::fs::write(file, format!("{document:#}\n")).map_err(|e| format!("{file}: {e}"))
}

fn packets(quick: bool) -> Result<Vec<Value>, String> {
    println!("\nns per packet (one enqueue and one dequeue), and times the control:");
    println!("{:<22} {:>9} {:>9} {:>7}", "scheduler", "flows", "ns", "ratio");
    let mut lines = Vec::new();
    for &flows in if quick { &QUICK_FLOWS[..] } else { &FLOWS[..] } {
        for line in packets::measure(DISCIPLINES, flows, quick)? {
            println!("{:<22} {:>9} {:>9.1} {:>7.2}", line.name, flows, line.nanoseconds, line.ratio);
            lines.push(json!({
                "scheduler": line.name, "flows": flows, "ns_per_packet": line.nanoseconds,
                "ratio_to_control": line.ratio,
            }));
        }
    }
    Ok(lines)
}

fn simulations(quick: bool) -> Result<Vec<Value>, String> {
    println!("\nsimulated packets per second of the input of the tradeoff paper's Table 2:");
    let mut simulations = Vec::new();
    for spec in DISCIPLINES.iter().copied().chain(COMPOSITIONS) {
        let rate = simulated::packets_per_second(spec, quick)?;
        println!("{spec:<22} {rate:>12.0}");
        simulations.push(json!({ "scheduler": spec, "packets_per_second": rate }));
    }
    Ok(simulations)
}

fn calls(quick: bool) -> Result<Vec<Value>, String> {
    let (flows, turns) = if quick { QUICK_CALLS } else { CALLS };
    println!("\nsingle calls with {flows} flows:\n{}", calls::Line::HEADER);
    let mut lines = Vec::new();
    for (k, spec) in DISCIPLINES.iter().enumerate() {
        eprint!("\r{:<60}\r", format!("{} of {}: {spec} ...", k + 1, DISCIPLINES.len()));
        let measured = calls::measure(spec, flows, turns)?;
        eprint!("\r{:<60}\r", "");
        for line in measured {
            println!("{}", line.text());
            lines.push(line.json(flows));
        }
    }
    Ok(lines)
}
