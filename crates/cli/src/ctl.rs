//! `dovetail live ctl`.

use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use dovetail_dataplane::control::protocol::Request;
use dovetail_dataplane::control::{Client, ClientError};
use dovetail_dataplane::core::Snapshot;
use dovetail_units::Duration;

use crate::args::{Ctl, CtlCommand};
use crate::failure::Failure;
use crate::{live, terminal};

/// The time of a box when it starts.
pub const START_S: f64 = 1.0;

/// What may be the reason that no box answers.
pub const NO_BOX: &str = "does it run, with [control] socket = ... in its configuration?";

/// What to do where there is one, and it may not be used.
pub const DENIED: &str = "permission denied; run this as root (sudo), or as the user of the box";

/// What to do where there is none.
pub const OTHER_BOX: &str = "Another path: --socket PATH.";

/// Talk to a running box.
pub fn ctl(args: Ctl) -> Result<(), Failure> {
    let mut client = connect(&args.socket.socket)?;
    let request = match args.command {
        CtlCommand::Show { json, flows } => return show(&mut client, json, flows),
        CtlCommand::Watch { every, count, flows } => return watch(&mut client, every, count, flows),
        CtlCommand::Set { change: (parameter, value) } => Request::Set { parameter, value },
        CtlCommand::Weight { change: (class, weight) } => Request::Weight { class, weight },
        CtlCommand::Alpha { change: (class, alpha) } => Request::Alpha { class, alpha },
        CtlCommand::Queue { change: (class, limit) } => Request::Queue { class, limit },
        CtlCommand::Budget { budget } => Request::Budget { budget },
        CtlCommand::Rate { rate } => Request::Rate { rate },
        CtlCommand::Reload => Request::Reload {},
        CtlCommand::Stop => Request::Stop {},
    };
    terminal::print(&client.change(&request).map_err(failure)?)
}

/// Connect to the box at this socket.
pub fn connect(path: &Path) -> Result<Client, Failure> {
    Client::connect(path).map_err(|error| unconnected(path, &error))
}

fn unconnected(path: &Path, error: &io::Error) -> Failure {
    let place = path.display();
    if error.kind() == ErrorKind::PermissionDenied {
        return Failure::run(format!("{place}: {DENIED}"));
    }
    let others = others(path).map(|others| format!(" There are {others}.")).unwrap_or_default();
    Failure::run(format!("no box answers at {place}: {error}\nhelp: {NO_BOX} {OTHER_BOX}{others}"))
}

/// Why a box cannot be connected to, in short.
pub fn why(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => DENIED.into(),
        _ => error.to_string(),
    }
}

/// Other sockets in the folder of this one, if there are some.
fn others(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut sockets: Vec<String> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()) && entry.path() != path)
        .map(|entry| entry.path().display().to_string())
        .collect();
    sockets.sort();
    (!sockets.is_empty()).then(|| sockets.join(", "))
}

/// A wrong request is wrong input.
pub fn failure(error: ClientError) -> Failure {
    match error {
        ClientError::Refused(message) => Failure::Input(message),
        other => Failure::run(other),
    }
}

fn show(client: &mut Client, json: bool, flows: usize) -> Result<(), Failure> {
    let snapshot = client.snapshot(if json { flows } else { 0 }).map_err(failure)?;
    if json {
        return terminal::print(&serde_json::to_string_pretty(&snapshot).map_err(Failure::run)?);
    }
    let text = live::overview(&snapshot, snapshot.time_s - START_S);
    terminal::print(&format!("{text}{}{}", waiting(&snapshot), live::troubles(&snapshot, snapshot.unaccounted)))
}

/// Frames that wait for the port `out`, if any do.
fn waiting(snapshot: &Snapshot) -> String {
    match snapshot.outgoing {
        0 => String::new(),
        frames => format!("\nframes that the port out has not taken: {frames}"),
    }
}

fn watch(client: &mut Client, every: Duration, count: Option<u64>, flows: usize) -> Result<(), Failure> {
    let (mut interrupted, interrupt) = UnixStream::pair().map_err(Failure::run)?;
    for signal in terminal::ending() {
        let interrupt = interrupt.try_clone().map_err(Failure::run)?;
        signal_hook::low_level::pipe::register(signal, interrupt).map_err(Failure::run)?;
    }
    interrupted.set_read_timeout(Some(std::time::Duration::from_nanos(every.as_nanos()))).map_err(Failure::run)?;
    let mut left = count;
    while left != Some(0) {
        let snapshot = client.snapshot(flows).map_err(failure)?;
        terminal::print(&serde_json::to_string(&snapshot).map_err(Failure::run)?)?;
        left = left.map(|left| left - 1);
        if left != Some(0) && interrupted.read_exact(&mut [0]).is_ok() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_box_that_may_not_be_used_it_is_not_said_that_it_does_not_run() {
        let said = |kind: ErrorKind| match unconnected(Path::new("/nowhere/box.sock"), &kind.into()) {
            Failure::Run(message) => message,
            other => panic!("{other:?}"),
        };
        assert_eq!(said(ErrorKind::PermissionDenied), format!("/nowhere/box.sock: {DENIED}"));
        assert!(said(ErrorKind::NotFound).contains(NO_BOX));
    }
}
