//! The middlebox in a lab, while it runs.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use dovetail_config::InputError;
use dovetail_dataplane::config::Config;
use dovetail_dataplane::control::protocol::MOST_FLOWS;
use dovetail_dataplane::control::{Client, ClientError};
use dovetail_dataplane::core::Snapshot;
use dovetail_lab::{Lab, Place, ask_to_end, now, pause};
use dovetail_units::Duration;
use serde::Deserialize;
use toml::Table;

use super::changes::changes;
use crate::failure::Failure;

/// How often to look whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// How long the box may take to be ready.
const READY: Duration = Duration::from_secs(10);

/// How long the box may take to send what it holds and to report.
const DRAIN: Duration = Duration::from_secs(20);

/// Where the box reads its configuration from.
pub struct Source {
    /// The file; `None` of one that the program brings with it.
    pub file: Option<String>,
    /// What errors call it.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

impl Source {
    /// The configuration with these changes, checked.
    pub fn config(&self, set: &[String]) -> Result<Config, InputError> {
        Config::parse(&self.name, &self.text, set)
    }

    /// The same as it is written.
    pub fn table(&self, set: &[String]) -> Result<Table, Failure> {
        let text = dovetail_config::apply_overrides(&self.name, &self.text, set).map_err(Failure::input)?;
        toml::from_str(&text).map_err(Failure::input)
    }
}

/// Of what `dovetail live --json` prints, what is needed here.
#[derive(Deserialize)]
struct Report {
    unaccounted: i64,
}

/// The box.
pub struct Inside<'a> {
    lab: &'a Lab,
    source: &'a Source,
    set: Vec<String>,
    child: Child,
    client: Client,
}

impl<'a> Inside<'a> {
    /// Start the box in its place, and wait until it can be talked to. It gets a process group of its own, so that
    /// Ctrl-C on a terminal reaches only this program, which ends it in good order.
    pub fn start(lab: &'a Lab, source: &'a Source, set: &[String], stop: &AtomicBool) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(Failure::run)?;
        let mut command = Command::new(program);
        command
            .args(["live", "--json", "--log", "error"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        for change in set {
            command.args(["--set", change]);
        }
        let config = source.config(set).map_err(Failure::input)?;
        let socket = config.control().socket.clone().unwrap_or_else(|| lab.control_socket());
        command.args(["--set", &format!("control.socket={}", socket.display())]);
        match &source.file {
            Some(path) => command.arg(path).stdin(Stdio::null()),
            None => command.arg("-").stdin(Stdio::piped()),
        };
        let mut child = lab.spawn(Place::Box, &mut command)?;
        if let (None, Some(mut input)) = (&source.file, child.stdin.take()) {
            // If it has ended already, it says why.
            let _ = input.write_all(source.text.as_bytes());
        }
        let client = connect(&mut child, &socket, stop)?;
        Ok(Self { lab, source, set: set.to_vec(), child, client })
    }

    /// Wait until the box forwards: connections that are opened before would wait a second for their next attempt.
    pub fn wait_until_ready(&mut self, stop: &AtomicBool) -> Result<(), Failure> {
        let begun = now();
        while !self.lab.gets_through(LOOK)? {
            check(&mut self.child, stop)?;
            if now() - begun > READY {
                return Err(Failure::Run(format!("nothing gets through the box within {READY}")));
            }
        }
        Ok(())
    }

    /// Give it another configuration while it runs. Says whether that could be done; if not, nothing or a part of it
    /// was.
    pub fn change(&mut self, set: &[String]) -> Result<bool, Failure> {
        let Some(requests) = changes(&self.source.table(&self.set)?, &self.source.table(set)?) else {
            return Ok(false);
        };
        for request in requests {
            match self.client.change(&request) {
                Ok(_) => {}
                // A parameter that is settled when a scheduler is made.
                Err(ClientError::Refused(_)) => return Ok(false),
                Err(error) => return Err(Failure::run(error)),
            }
        }
        self.set = set.to_vec();
        Ok(true)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has done until now.
    pub fn snapshot(&mut self) -> Result<Snapshot, Failure> {
        self.client.snapshot(MOST_FLOWS).map_err(Failure::run)
    }

    /// Wait while it runs, unless the user interrupts.
    pub fn wait(&mut self, time: Duration, stop: &AtomicBool) -> Result<(), Failure> {
        let end = now() + time;
        while now() < end {
            check(&mut self.child, stop)?;
            pause(end.since(now()).min(LOOK));
        }
        Ok(())
    }

    /// End it. Says how many frames it has no account of: 0.
    pub fn end(self) -> Result<i64, Failure> {
        let child = self.child;
        ask_to_end(&child)?;
        // Its report may be longer than a pipe holds, so it is read while the box ends.
        let reader = std::thread::spawn(move || child.wait_with_output());
        let deadline = now() + DRAIN;
        while !reader.is_finished() {
            if now() > deadline {
                return Err(Failure::Run(format!("the box has not ended within {DRAIN}")));
            }
            pause(LOOK);
        }
        let output = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(Failure::run)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::Run(format!("the box has failed ({}): {}", output.status, said.trim())));
        }
        let report: Result<Report, _> = serde_json::from_slice(&output.stdout);
        report.map(|r| r.unaccounted).map_err(|error| Failure::Run(format!("the report of the box: {error}")))
    }
}

fn connect(child: &mut Child, socket: &Path, stop: &AtomicBool) -> Result<Client, Failure> {
    let begun = now();
    loop {
        match Client::connect(socket) {
            Ok(client) => return Ok(client),
            Err(error) if now() - begun > READY => {
                let message = format!("the box does not listen at {} within {READY}: {error}", socket.display());
                return Err(Failure::Run(message));
            }
            Err(_) => {}
        }
        check(child, stop)?;
        pause(LOOK);
    }
}

/// Whether to go on.
fn check(child: &mut Child, stop: &AtomicBool) -> Result<(), Failure> {
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted);
    }
    let Some(status) = child.try_wait().map_err(Failure::run)? else { return Ok(()) };
    let mut said = String::new();
    if let Some(mut errors) = child.stderr.take() {
        // What it cannot say any more is not known.
        let _ = errors.read_to_string(&mut said);
    }
    let message = said.trim().trim_start_matches("error: ").to_string();
    Err(match status.code() {
        Some(2) => Failure::Input(message),
        _ => Failure::Run(format!("the box has ended too early ({status}): {message}")),
    })
}
