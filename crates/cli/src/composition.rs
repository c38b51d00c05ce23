//! What `dovetail schedulers A+B` says.

use std::fmt::Write;

use dovetail_sched::catalog;
use dovetail_sched::composition::{parameters, parts};

/// How compositions are mentioned among the disciplines.
pub fn note() -> String {
    let able: Vec<&str> = catalog().iter().filter(|e| e.can_be_part()).map(|e| e.name).collect();
    format!("name+name, such as drr+drr, puts one of {} in front of each resource", able.join(", "))
}

/// All about the composition of this name, if it is one.
pub fn all_about(name: &str) -> Option<String> {
    let parts = parts(name).ok().filter(|parts| parts.len() > 1)?;
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
    Some(text)
}
