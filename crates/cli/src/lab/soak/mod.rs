//! `dovetail lab soak`: the box under full load, treated badly, and held to its accounts.

mod watched;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use dovetail_dataplane::control::protocol::Request;
use dovetail_dataplane::control::{Client, ClientError};
use dovetail_dataplane::core::Snapshot;
use dovetail_lab::scenario::{Scenario, Traffic};
use dovetail_lab::{Lab, Options, Place, ask_to_end, now, pause};
use dovetail_units::Duration;
use serde::Deserialize;

use super::memory;
use crate::args::Soak;
use crate::failure::Failure;
use crate::terminal;
use watched::{Sample, Watched};

const TRAFFIC: &str = include_str!("../../../../../scenarios/lab/soak.toml");
const BOX: &str = include_str!("../../../../../scenarios/lab/soak-box.toml");

/// How often the box is looked at.
const SAMPLE: Duration = Duration::from_millis(100);

/// How long the box may take to be ready, and to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the configuration becomes, one after another: what is replaced in it by what, and whether the box must refuse
/// it.
const CHANGES: [(&str, &str, bool); 8] = [
    ("alpha=0.85", "alpha=0.5", false),
    ("tradeoff:alpha=0.85", "drr+drr", false),
    ("tradeoff:alpha=0.85", "tradeof", true),
    ("tradeoff:alpha=0.85", "drq", false),
    ("modules = [\"ipsec\"]\n", "weight = 3\nqueue = \"20 packets\"\n", false),
    ("packet:server", "packet:lo", true),
    ("budget = \"20 %\"", "budget = \"50 %\"", false),
    ("name = \"rest\"", "name = \"others\"", false),
];

/// Each third has two rounds of all changes at least.
const PERIODS: u64 = 3 * 2 * CHANGES.len() as u64;

/// No longer than this between two changes.
const LONGEST: Duration = Duration::from_secs(4);

/// Make a lab, run the box in it for the time, and say whether it kept its promises.
pub fn soak(args: Soak) -> Result<(), Failure> {
    let scenario = Scenario::parse("soak.toml", TRAFFIC, &[]).map_err(Failure::input)?;
    let stop = terminal::on_interrupt();
    let lab = Lab::up(&Options { name: args.name.clone(), ..scenario.options.clone() })?;
    let folder = tempfile::tempdir().map_err(Failure::run)?;
    let mut inside = Inside::start(&lab, folder.path())?;
    let traffic = Traffic::start(&lab, &scenario)?;
    let (_, changes) = rhythm(args.duration);
    terminal::say(&format!(
        "soak: takes {:.0} s, or longer on a slow machine: {changes} reloads, and every third time a link goes down; \
         Ctrl-C ends it without a verdict",
        args.duration.as_secs_f64()
    ));
    let watched = inside.treat_badly(&lab, args.duration, stop)?;
    drop(traffic);
    let done = inside.end()?;
    let (text, passed) = watched.verdict(&done);
    terminal::print(&text)?;
    if passed { Ok(()) } else { Err(Failure::Run("the box did not keep its promises".into())) }
}

/// The time between two changes, and how many there are in this time.
fn rhythm(time: Duration) -> (Duration, u64) {
    let period = time.divided_by(PERIODS).min(LONGEST);
    (period, time.as_nanos().div_ceil(period.as_nanos().max(1)))
}

/// The box, and who talks to it.
struct Inside {
    child: Child,
    client: Client,
    config: PathBuf,
}

impl Inside {
    fn start(lab: &Lab, folder: &Path) -> Result<Self, Failure> {
        let config = folder.join("box.toml");
        fs::write(&config, BOX).map_err(Failure::run)?;
        let program = std::env::current_exe().map_err(Failure::run)?;
        let mut command = Command::new(program);
        command.args(["live", "--json", "box.toml"]).current_dir(folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = lab.spawn(Place::Box, &mut command)?;
        let begun = now();
        loop {
            if let Ok(client) = Client::connect(&folder.join("box.sock")) {
                return Ok(Self { child, client, config });
            }
            if let Some(status) = child.try_wait().map_err(Failure::run)? {
                return Err(Failure::Run(format!("the box has ended too early ({status})")));
            }
            if now() - begun > PATIENCE {
                return Err(Failure::Run(format!("the box does not listen within {PATIENCE}")));
            }
            pause(SAMPLE);
        }
    }

    /// Look at the box, reload its configuration, and take its interfaces down in turn. Takes longer than the time
    /// where the machine is too slow for all changes.
    fn treat_badly(&mut self, lab: &Lab, time: Duration, stop: &AtomicBool) -> Result<Watched, Failure> {
        let (period, changes) = rhythm(time);
        let (begun, mut watched) = (now(), Watched::new(changes));
        for count in 0..changes {
            self.reload(count as usize, &mut watched)?;
            // One interface goes down for half a period in every third one.
            if count % 3 == 0 {
                let interface = ["client", "server"][(count / 3 % 2) as usize];
                set_interface(lab, interface, "down")?;
                pause(period.divided_by(2));
                set_interface(lab, interface, "up")?;
                watched.flapped(self.sends_again(stop)?);
            }
            let next = begun + period.saturating_mul(count + 1);
            loop {
                if stop.load(Ordering::Relaxed) {
                    return Err(Failure::Interrupted);
                }
                watched.add(count, self.look()?);
                if now() >= next {
                    break;
                }
                pause(SAMPLE.min(next.since(now())));
            }
        }
        watched.took(now() - begun);
        Ok(watched)
    }

    /// Whether it sends more than it has sent by now: on a busy machine later, but at all.
    fn sends_again(&mut self, stop: &AtomicBool) -> Result<bool, Failure> {
        let (before, begun) = (self.look()?.sent(), now());
        while now() - begun < PATIENCE && !stop.load(Ordering::Relaxed) {
            if self.look()?.sent() > before {
                return Ok(true);
            }
            pause(SAMPLE);
        }
        Ok(false)
    }

    fn reload(&mut self, count: usize, watched: &mut Watched) -> Result<(), Failure> {
        let (old, new, wrong) = CHANGES[count % CHANGES.len()];
        fs::write(&self.config, BOX.replace(old, new)).map_err(Failure::run)?;
        let refused = match self.client.change(&Request::Reload {}) {
            Ok(_) => false,
            Err(ClientError::Refused(_)) => true,
            Err(error) => return Err(Failure::run(error)),
        };
        watched.reloaded(refused, wrong);
        Ok(())
    }

    fn look(&mut self) -> Result<Sample, Failure> {
        let snapshot: Snapshot = self.client.snapshot(0).map_err(Failure::run)?;
        let process = PathBuf::from(format!("/proc/{}", self.child.id()));
        let memory = memory::of_process(self.child.id())?;
        let descriptors = fs::read_dir(process.join("fd")).map_err(Failure::run)?.count();
        Ok(Sample { memory, descriptors, snapshot })
    }

    /// What it has done, by its own report.
    fn end(self) -> Result<Snapshot, Failure> {
        ask_to_end(&self.child)?;
        let output = self.child.wait_with_output().map_err(Failure::run)?;
        if !output.status.success() {
            return Err(Failure::Run(format!("the box has failed ({})", output.status)));
        }
        let report: serde_json::Result<Report> = serde_json::from_slice(&output.stdout);
        report.map(|r| r.forward).map_err(|error| Failure::Run(format!("the report of the box: {error}")))
    }
}

/// What is read of the report at the end.
#[derive(Deserialize)]
struct Report {
    forward: Snapshot,
}

fn set_interface(lab: &Lab, name: &str, state: &str) -> Result<(), Failure> {
    let mut ip = lab.spawn(Place::Box, Command::new("ip").args(["link", "set", name, state]))?;
    let status = ip.wait().map_err(Failure::run)?;
    if status.success() { Ok(()) } else { Err(Failure::Run(format!("ip link set {name} {state}: {status}"))) }
}
