//! What `dovetail schedulers A+B` says.

use std::fmt::Write;

use dovetail_experiment::network::{MANAGERS, PARAMETERS, Scheme};
use dovetail_sched::aqm::scheme::parts;
use dovetail_sched::catalog::Entry;
use dovetail_sched::composition::parameters;
use dovetail_sched::{Spec, catalog};

/// How compositions are mentioned among the disciplines.
pub fn note() -> String {
    let able: Vec<&str> = catalog().iter().filter(|e| e.can_be_part()).map(|e| e.name).collect();
    format!("name+name, such as drr+drr, puts one of {} in front of each resource", able.join(", "))
}

/// How schedulers of networks are mentioned among the disciplines.
pub fn network_note() -> String {
    format!(
        "in networks ([[hop]]): name+name for CPUs and links, such as red+red, drr+red, drq; `dovetail schedulers {}` tells all about one",
        MANAGERS[1].0
    )
}

/// All about what can only stand in networks, if this name is of such.
pub fn in_networks(name: &str) -> Option<String> {
    let parts = parts(name).ok()?;
    let managed = |part: &&str| MANAGERS.iter().find(|(manager, _)| manager == part);
    parts.iter().find_map(managed)?;
    Scheme::new(&Spec { name: name.to_string(), parameters: Vec::new() }).ok()?;
    let mut text =
        format!("{name}: for networks of CPUs and links that TCP flows cross (scenarios with a [[hop]])\n\n");
    for (part, place) in parts.iter().zip(if parts.len() == 1 { ["all"; 2] } else { ["CPUs", "links"] }) {
        let about = managed(part).map(|(_, about)| *about);
        let about = about.or_else(|| catalog().iter().find(|e| e.name == *part).map(|e| e.summary));
        let _ = writeln!(text, "  {place:<5} {part:<6} {}", about.unwrap_or_default());
    }
    text.push_str("\nparameters of red and drq\n");
    for [key, value, default, meaning] in PARAMETERS {
        let _ = writeln!(text, "  {key} = {value}\n      {meaning}\n      default: {default}");
    }
    Some(text)
}

/// All about the composition of this name.
pub fn all_about(name: &str, parts: &[&Entry]) -> String {
    let mut text = format!("{name}: one scheduler in front of each resource, each as if it were alone\n\n");
    for (resource, part) in parts.iter().enumerate() {
        let _ = writeln!(text, "  resource {resource}: {:<6} {}", part.name, part.summary);
    }
    text.push_str(
        "\n  Nobody decides for all resources: work is spent on packets that a later resource has no room for, and a flow\n  \
         may gain by asking for more than it needs. For comparison with schedulers of all resources.\n\nparameters\n",
    );
    for p in parameters(name).into_iter().flatten() {
        let running = if p.settable { "; can change while running" } else { "" };
        let _ =
            writeln!(text, "  {} = {}\n      {}\n      default: {}{running}", p.name, p.value, p.meaning, p.default);
    }
    text
}
