//! What `dovetail schedulers A+B` says.

use std::fmt::Write;

use dovetail_experiment::timetable::broken;
use dovetail_sched::aqm::scheme::MANAGERS;
use dovetail_sched::catalog;
use dovetail_sched::catalog::{Entry, Parameter};
use dovetail_sched::composition::parameters;

/// How compositions are mentioned among the disciplines.
pub fn note() -> String {
    let able: Vec<&str> = catalog().iter().filter(|e| e.can_be_part()).map(|e| e.name).collect();
    format!("name+name, such as drr+drr, puts one of {} in front of each resource", able.join(", "))
}

/// How schedulers of networks are mentioned among the disciplines.
pub fn network_note() -> String {
    format!(
        "queue management ({}, {}) is for networks (scenarios with a [[hop]]) and live boxes; there name+name, such as \
         drr+red, puts one in front of CPUs and one in front of links",
        MANAGERS[0].name, MANAGERS[1].name
    )
}

/// All about what can only stand in networks: what is in front of CPUs and of links, and what parameters it takes.
pub fn in_networks(name: &str, parts: [&Entry; 2], parameters: &[&Parameter], width: u16) -> String {
    let mut text =
        format!("{name}: for networks of CPUs and links that TCP flows cross (scenarios with a [[hop]])\n\n");
    let [cpu, link] = parts;
    if cpu.name == link.name {
        let _ = writeln!(text, "  all   {:<6} {}", cpu.name, cpu.summary);
    } else {
        let _ = writeln!(text, "  CPUs  {:<6} {}\n  links {:<6} {}", cpu.name, cpu.summary, link.name, link.summary);
    }
    text.push_str("\nparameters, for each part that has them\n");
    parameters.iter().for_each(|p| text.push_str(&parameter(p, width)));
    text
}

/// A parameter: its form, its meaning, its default.
pub fn parameter(p: &Parameter, width: u16) -> String {
    let running = if p.settable { "; can change while running" } else { "" };
    let meaning = broken(p.meaning, width.saturating_sub(6)).join("\n      ");
    format!("  {} = {}\n      {meaning}\n      default: {}{running}\n", p.name, p.value, p.default)
}

/// All about the composition of this name.
pub fn all_about(name: &str, parts: &[&Entry], width: u16) -> String {
    let mut text = format!("{name}: one scheduler in front of each resource, each as if it were alone\n\n");
    for (resource, part) in parts.iter().enumerate() {
        let _ = writeln!(text, "  resource {resource}: {:<6} {}", part.name, part.summary);
    }
    text.push_str(
        "\n  Nobody decides for all resources: work is spent on packets that a later resource has no room for, and a \
         flow\n  may gain by asking for more than it needs. For comparison with schedulers of all resources.\n\n\
         parameters\n",
    );
    parameters(name).into_iter().flatten().for_each(|p| text.push_str(&parameter(p, width)));
    text
}
