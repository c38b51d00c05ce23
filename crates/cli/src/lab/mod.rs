//! `dovetail lab`.

mod changes;
mod classes;
mod flood;
mod inside;
mod memory;
mod predict;
mod promises;
mod real;
mod report;
mod run;
mod slices;
mod soak;
mod verdicts;
mod window;

use dovetail_dataplane::frame::LONGEST;
use dovetail_lab::{CLIENT_V4, CLIENT_V6, Lab, LabError, MTUS, Offloads, Options, Place, SERVER_V4, SERVER_V6, names};

use crate::args::{Down, Lab as Command, Up};
use crate::failure::Failure;
use crate::terminal;

// The longest frames of a lab, with their Ethernet header, are the longest of the box.
const _: () = assert!(*MTUS.end() as usize + 14 == LONGEST);

/// Do what was asked.
pub fn lab(command: Command) -> Result<(), Failure> {
    match command {
        Command::Up(args) => up(args),
        Command::Run(args) if args.scenario == real::NAME => real::run(&args),
        Command::Run(args) => run::run(args),
        Command::Soak(args) => soak::soak(args),
        Command::Flood(args) => flood::flood(&args),
        Command::Predict(args) => run::predict(args),
        Command::Down(args) => down(args),
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        if error.is_input() { Self::input(error) } else { Self::run(error) }
    }
}

fn up(args: Up) -> Result<(), Failure> {
    let Up { name, mtu, congestion_control, no_ecn, no_offloads } = args;
    let offloads = if no_offloads { Offloads::Off } else { Offloads::default() };
    let lab = Lab::up(&Options { name, mtu, congestion_control, ecn: !no_ecn, offloads, ..Options::default() })?;
    let told = terminal::print(&description(&lab));
    lab.stay();
    told
}

fn description(lab: &Lab) -> String {
    let [client, inside, server] = Place::ALL.map(|place| lab.namespace_name(place));
    format!(
        "{client}  {CLIENT_V4}, {CLIENT_V6}\n\
         {inside}  interfaces client and server; nothing passes until something forwards\n\
         {server}  {SERVER_V4}, {SERVER_V6}\n\
         \n\
         a shell in one of them: ip netns exec {client} sh\n\
         remove it:              dovetail lab down {}\n",
        lab.name()
    )
}

fn down(args: Down) -> Result<(), Failure> {
    let labs = if args.all { names() } else { vec![args.name] };
    let mut removed = Vec::new();
    for lab in &labs {
        removed.extend(Lab::down(lab)?);
    }
    let lines: Vec<String> = removed.iter().map(|what| format!("removed {what}")).collect();
    match lines.is_empty() {
        true if args.all => terminal::print("there is no lab"),
        true => terminal::print(&format!("there is no lab {:?}", labs[0])),
        false => terminal::print(&lines.join("\n")),
    }
}
