//! Running `ip`.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use dovetail_units::Duration;

use crate::clock::{now, pause};
use crate::error::LabError;

/// Run `ip` with these arguments; what it prints.
pub fn ip(arguments: &[&str]) -> Result<String, LabError> {
    let output = Command::new("ip").args(arguments).stdin(Stdio::null()).output().map_err(missing)?;
    checked(&format!("ip {}", arguments.join(" ")), output)
}

/// Run these commands of `ip`, one a line, in the namespace of the calling thread; the first that fails ends it.
pub fn ip_batch(lines: &str) -> Result<(), LabError> {
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    if let Some(mut input) = child.stdin.take() {
        // If it has ended already, its exit code says more than this error.
        let _ = input.write_all(lines.as_bytes());
    }
    let output = child.wait_with_output().map_err(LabError::system("run ip"))?;
    checked("ip -batch", output).map(drop)
}

/// Wait until `ip` with these arguments says `wanted` on each line that it prints, for at most five seconds: the kernel
/// completes some things a little later.
pub fn ip_wait(arguments: &[&str], wanted: &str) -> Result<(), LabError> {
    let begun = now();
    loop {
        let said = ip(arguments)?;
        if said.lines().all(|line| line.contains(wanted)) {
            return Ok(());
        }
        if now() - begun > Duration::from_secs(5) {
            let message = format!("still not {wanted:?} after five seconds: {}", said.trim());
            return Err(LabError::Command { command: format!("ip {}", arguments.join(" ")), message });
        }
        pause(Duration::from_millis(5));
    }
}

fn missing(error: std::io::Error) -> LabError {
    if error.kind() == std::io::ErrorKind::NotFound {
        LabError::Missing("ip")
    } else {
        LabError::System { action: "run ip".into(), error }
    }
}

fn checked(command: &str, output: Output) -> Result<String, LabError> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let message = if said.trim().is_empty() { output.status.to_string() } else { said.trim().replace('\n', "; ") };
    Err(LabError::Command { command: command.into(), message })
}
