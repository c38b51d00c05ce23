//! Ctrl-C, and what else asks a program to end, ends long work soon, with exit code 130 and nothing left behind.

use std::fs::File;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::fcntl::OFlag;
use nix::pty::{PtyMaster, grantpt, posix_openpt, ptsname_r, unlockpt};

use crate::support::{Folder, SCENARIO, Said};

/// Far more than any of this takes.
const PATIENCE: u32 = 3000;

/// Wait for `done`, looking every 10 ms; `false` if it takes too long.
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
pub fn wait_for(mut done: impl FnMut() -> bool) -> bool {
    (0..PATIENCE).any(|_| {
        let finished = done();
        if !finished {
            std::thread::sleep(Duration::from_millis(10));
        }
        finished
    })
}

/// Start `arguments`, interrupt it once `begun`, and wait for its end.
fn interrupted(folder: &Folder, arguments: &[&str], begun: impl Fn(&Folder) -> bool) -> Said {
    ended_by("INT", folder.command(arguments), || begun(folder))
}

/// Start the command, send it the signal once `begun`, and wait for its end.
pub fn ended_by(signal: &str, mut command: Command, begun: impl Fn() -> bool) -> Said {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = wait_for(|| begun() || child.try_wait().unwrap().is_some());
    if !started || child.try_wait().unwrap().is_some() {
        stop(child);
        panic!("{command:?} did not begin, or ended at once");
    }
    let kill = Command::new("sh").arg("-c").arg(format!("kill -{signal} {}", child.id())).status().unwrap();
    assert!(kill.success());
    if !wait_for(|| child.try_wait().unwrap().is_some()) {
        stop(child);
        panic!("{command:?} goes on after SIG{signal}");
    }
    Said::from(child.wait_with_output().unwrap())
}

fn stop(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Whether the folder `name` exists and has something in it.
fn filled(folder: &Folder, name: &str) -> bool {
    std::fs::read_dir(folder.path(name)).is_ok_and(|mut entries| entries.next().is_some())
}

#[test]
fn a_long_run() {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO.replace("50 ms", "20 min").replace("10 ms", "1 min"));
    let run = ["run", "s.toml", "--out", "new/out"];
    interrupted(&folder, &run, |f| filled(f, "new/out")).fails(130, &["interrupted", "nothing was written"]);
    assert_eq!(folder.list("."), ["s.toml"]);

    std::fs::create_dir(folder.path("old")).unwrap();
    let run = ["run", "s.toml", "--json", "--out", "old", "--threads", "2"];
    interrupted(&folder, &run, |f| filled(f, "old")).fails(130, &["interrupted"]);
    assert!(folder.list("old").is_empty());
}

/// The program, run on `s.toml` by a shell that says `before` first.
fn after(before: &str, folder: &Folder) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{before} \"$0\" run s.toml --out out")).arg(env!("CARGO_BIN_EXE_dovetail"));
    shell.current_dir(folder.path(".")).stdin(Stdio::null());
    shell
}

#[test]
fn a_long_run_that_is_told_to_end_or_loses_its_terminal() {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO.replace("50 ms", "20 min").replace("10 ms", "1 min"));
    for (signal, before) in [("TERM", "exec"), ("HUP", "exec env --default-signal=HUP")] {
        let said = ended_by(signal, after(before, &folder), || filled(&folder, "out"));
        said.fails(130, &["interrupted", "nothing was written"]);
        assert_eq!(folder.list("."), ["s.toml"], "{signal}");
    }
}

/// As under `nohup`.
#[test]
fn a_run_that_is_to_go_on_without_its_terminal_does() {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO.replace("50 ms", "4 s"));
    ended_by("HUP", after("trap '' HUP; exec", &folder), || filled(&folder, "out")).succeeds();
    assert!(folder.list("out").contains(&"summary.json".to_string()));
}

/// A terminal that does not say how large it is: what is on its screen, and the name of its other end.
fn terminal() -> (PtyMaster, String) {
    // No process that another test starts keeps it open.
    let screen = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let end = ptsname_r(&screen).unwrap();
    (screen, end)
}

/// Such as a serial console: nothing would be seen on no lines.
#[test]
fn a_view_on_a_terminal_of_unknown_size_is_refused() {
    let folder = Folder::new();
    let (_screen, terminal) = terminal();
    let end = || File::options().read(true).write(true).open(&terminal).unwrap();
    let mut top = folder.command(&["top", "--socket", "nowhere"]);
    let mut child = top.stdin(end()).stdout(end()).stderr(Stdio::piped()).spawn().unwrap();
    if !wait_for(|| child.try_wait().unwrap().is_some()) {
        stop(child);
        panic!("top shows nothing, and goes on");
    }
    Said::from(child.wait_with_output().unwrap()).fails(2, &["how large it is", "stty rows", "--once"]);
}

/// Whoever reads the keys of a terminal that is gone reads nothing for ever.
#[test]
fn a_view_whose_terminal_is_gone() {
    let folder = Folder::new();
    let (mut screen, terminal) = terminal();
    let mut top = folder.command(&["top", "--socket", "nowhere", "--every", "100 ms"]);
    let end = || File::options().read(true).write(true).open(&terminal).unwrap();
    assert!(Command::new("stty").args(["rows", "24", "cols", "80"]).stdin(end()).status().unwrap().success());
    let mut child = top.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    drop(top);
    // Its last line: keys are waited for from then on.
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains("quit") {
        let mut more = [0; 4096];
        let count = screen.read(&mut more).unwrap();
        shown.extend_from_slice(&more[..count]);
    }
    drop(screen);
    if !wait_for(|| child.try_wait().unwrap().is_some()) {
        stop(child);
        panic!("top goes on without its terminal");
    }
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_long_reproduction() {
    let folder = Folder::new();
    let reproduce = ["reproduce", "tradeoff-table2", "--out", "out"];
    interrupted(&folder, &reproduce, |f| filled(f, "out")).fails(130, &["interrupted"]);
    assert!(folder.list(".").is_empty());
}

#[test]
fn a_capture_in_the_making() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("out")).unwrap();
    let synth = ["trace", "synth", "out/t.pcap", "--packets", "1000000", "--flows", "1000"];
    // Whether the folder can be used is tried before the packets are drawn; they are written afterwards.
    let written = |f: &Folder| {
        let entries = || std::fs::read_dir(f.path("out")).into_iter().flatten().flatten();
        let files = entries().flat_map(|entry| std::fs::read_dir(entry.path()).into_iter().flatten().flatten());
        files.flat_map(|file| file.metadata()).any(|file| file.len() > 0)
    };
    interrupted(&folder, &synth, written).fails(130, &["interrupted"]);
    assert!(folder.list("out").is_empty());
}
