//! What a measurement was made with.

use std::process::Command;

/// Processor, compiler, commit and command line; "unknown" where it cannot be found out.
pub fn describe() -> Vec<(&'static str, String)> {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let model = text.lines().find(|l| l.starts_with("model name"))?.split(':').nth(1)?.trim().to_string();
        let cores = text.lines().filter(|l| l.starts_with("processor")).count();
        Some(format!("{model}, {cores} cores"))
    });
    vec![
        ("cpu", cpu.unwrap_or_else(unknown)),
        ("rustc", output("rustc", &["--version"])),
        ("commit", output("git", &["describe", "--always", "--dirty"])),
        ("build", if cfg!(debug_assertions) { "debug: not to be quoted" } else { "release" }.to_string()),
        ("command", std::env::args().collect::<Vec<_>>().join(" ")),
    ]
}

fn output(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().ok().filter(|o| o.status.success());
    output.map_or_else(unknown, |o| String::from_utf8_lossy(&o.stdout).trim().to_string())
}

fn unknown() -> String {
    "unknown".to_string()
}
