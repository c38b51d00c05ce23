//! Network namespaces with names, as `ip netns` makes them.

use std::fmt;
use std::fs::File;
use std::path::PathBuf;

use dovetail_units::Duration;
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::clock::{now, pause};
use crate::command::ip;
use crate::error::LabError;

/// What every namespace of a lab begins with.
const PREFIX: &str = "dovetail-";

/// Where `ip netns` keeps namespaces.
const FOLDER: &str = "/run/netns";

/// How long a process may take to end in an orderly way before it is killed.
const PATIENCE: Duration = Duration::from_secs(3);

/// A part of a lab.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// Where connections and UDP flows begin.
    Client,
    /// Between the two.
    Box,
    /// Where they end.
    Server,
}

impl Place {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Client, Self::Box, Self::Server];

    /// The other end; the box has none.
    pub fn other_end(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Box => Self::Box,
            Self::Server => Self::Client,
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Client => "-client",
            Self::Box => "-box",
            Self::Server => "-server",
        }
    }
}

/// The namespace of a lab's part. Need not exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Namespace(String);

/// What was removed with a namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Removed {
    /// A process that was in it, and its name.
    Process(i32, String),
    /// The namespace.
    Namespace(String),
    /// The control socket of a box that has died.
    Socket(PathBuf),
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(id, name) => write!(f, "process {id} ({name})"),
            Self::Namespace(name) => write!(f, "namespace {name}"),
            Self::Socket(path) => write!(f, "socket {}", path.display()),
        }
    }
}

impl Namespace {
    /// That of `place` in the lab `lab`.
    pub fn of(lab: &str, place: Place) -> Self {
        Self(format!("{PREFIX}{lab}{}", place.suffix()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether there is one of its name.
    pub fn exists(&self) -> bool {
        self.path().exists()
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(FOLDER).join(&self.0)
    }

    /// Make it.
    pub fn create(&self) -> Result<(), LabError> {
        ip(&["netns", "add", &self.0]).map(drop)
    }

    /// From here on the calling thread is in it.
    pub fn join(&self) -> Result<(), LabError> {
        let action = || format!("enter the namespace {}", self.0);
        let file = File::open(self.path()).map_err(LabError::system(action()))?;
        setns(file, CloneFlags::CLONE_NEWNET).map_err(|e| LabError::system(action())(e.into()))
    }

    /// Do some work in it, on a thread of its own.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> Result<T, LabError> + Send) -> Result<T, LabError> {
        let thread = || {
            self.join()?;
            work()
        };
        std::thread::scope(|scope| scope.spawn(thread).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// The processes in it, except the calling one.
    fn processes(&self) -> Result<Vec<Pid>, LabError> {
        let ids = ip(&["netns", "pids", &self.0])?;
        let ids = ids.split_whitespace().filter_map(|id| id.parse().ok()).map(Pid::from_raw);
        Ok(ids.filter(|&id| id != Pid::this()).collect())
    }

    /// End the processes in it and remove it. Does nothing if there is none of its name.
    pub fn remove(&self, removed: &mut Vec<Removed>) -> Result<(), LabError> {
        if !self.exists() {
            return Ok(());
        }
        self.end_processes(removed)?;
        match ip(&["netns", "del", &self.0]) {
            // Somebody else has been quicker.
            Err(_) if !self.exists() => Ok(()),
            done => {
                removed.push(Removed::Namespace(self.0.clone()));
                done.map(drop)
            }
        }
    }

    fn end_processes(&self, removed: &mut Vec<Removed>) -> Result<(), LabError> {
        let begun = now();
        let mut signal = Signal::SIGTERM;
        let mut told = Vec::new();
        loop {
            let left = self.processes()?;
            if left.is_empty() {
                return Ok(());
            }
            if signal == Signal::SIGTERM && now() - begun > PATIENCE {
                (signal, told) = (Signal::SIGKILL, Vec::new());
            }
            for id in left.into_iter().filter(|id| !told.contains(id)).collect::<Vec<_>>() {
                let found = Removed::Process(id.as_raw(), program(id));
                // It may have ended by itself.
                if kill(id, signal).is_ok()
                    && !removed.iter().any(|r| matches!(r, Removed::Process(i, _) if *i == id.as_raw()))
                {
                    removed.push(found);
                }
                told.push(id);
            }
            pause(Duration::from_millis(10));
        }
    }
}

/// Ask a program that was started to end (SIGTERM).
///
/// # Errors
/// The kernel refuses.
pub fn ask_to_end(child: &std::process::Child) -> Result<(), LabError> {
    let id = Pid::from_raw(child.id() as i32);
    kill(id, Signal::SIGTERM).map_err(|error| LabError::system(format!("end process {id}"))(error.into()))
}

fn program(id: Pid) -> String {
    let name = std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    name.trim().to_string()
}

/// Names of all labs of which any namespace is left, sorted.
pub fn labs() -> Vec<String> {
    // Without the folder there never was a namespace.
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let lab = |file: String| {
        let rest = file.strip_prefix(PREFIX)?;
        Place::ALL.iter().find_map(|place| rest.strip_suffix(place.suffix())).map(str::to_string)
    };
    let mut labs: Vec<String> = entries.filter_map(|e| lab(e.file_name().into_string().ok()?)).collect();
    labs.sort();
    labs.dedup();
    labs
}
