//! Runs the tests of the workspace, and says at the end how many ran, and how many were left out and why.
//!
//! A test that not every machine can run has the attribute `#[ignore = "needs root"]`, or another of [`NEEDS`], and
//! cargo counts it as ignored. Here those run after the others that this machine has the means for. The last line is
//!
//! ```text
//! tests: 1234 ran, 12 left out: 3 needs tshark, 9 a long search
//! ```
//!
//! A failure keeps no other test from running. Arguments are handed on to `cargo test`.

mod counted;
mod programs;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};

use counted::Counted;

/// Tests at a time of those that need something, if `RUST_TEST_THREADS` does not say how many: they wait for most of
/// their time.
const WAITING: &str = "4";

/// Whether this machine has something.
type Has = fn() -> bool;

/// What some tests need, and whether it is here.
const NEEDS: [(&str, Has); 7] = [
    ("needs root", may_make_namespaces),
    ("needs root and ping", || may_make_namespaces() && runs("ping", &["-V"])),
    ("needs root and setpriv", || may_make_namespaces() && runs("setpriv", &["--version"])),
    ("needs tshark", || runs("tshark", &["--version"])),
    ("needs a C++ compiler", || runs("c++", &["--version"])),
    ("needs ns-2", || runs("ns", &["/dev/null"])),
    ("needs access control lists", has_access_control_lists),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut counted = Counted::default();
    let mut passed = programs::pass(&arguments, &mut counted);
    passed &= test(cargo_test(&arguments).arg("--doc"), &mut counted);
    let able: Vec<&str> = NEEDS.iter().filter(|(_, here)| here()).map(|(need, _)| *need).collect();
    let more = counted.left_out_for(&able);
    if passed && !more.is_empty() {
        // One program after another, and few tests of it at a time: they make namespaces, and some look at clocks.
        let mut rest = cargo_test(&arguments);
        rest.args(["--lib", "--bins", "--tests", "--", "--ignored", "--exact"]).args(&more);
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            rest.env("RUST_TEST_THREADS", WAITING);
        }
        passed = test(&mut rest, &mut counted);
    }
    println!("{counted}");
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// `cargo test` of the whole workspace.
fn cargo_test(arguments: &[String]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["test", "--workspace", "--locked", "--no-fail-fast"]).args(arguments).stdout(Stdio::piped());
    // What it was itself run with: a later `cargo test` without it would build some libraries again.
    command.env_remove("CARGO_MANIFEST_DIR");
    command
}

/// Whether these tests pass, as cargo runs them. Programs of which none runs are not told of.
fn test(command: &mut Command, counted: &mut Counted) -> bool {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("error: cannot run cargo: {error}");
            return false;
        }
    };
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
        counted.line(&line);
        if !(line.is_empty() || line == "running 0 tests" || line.starts_with("test result: ok. 0 passed")) {
            // Whoever reads no longer what is said may still want the exit code.
            let _ = writeln!(std::io::stdout(), "{line}");
        }
    }
    child.wait().is_ok_and(|status| status.success())
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Also a container's root, who may not always.
fn may_make_namespaces() -> bool {
    rustix::process::geteuid().is_root() && runs("unshare", &["-n", "true"])
}

/// In the folder for temporary files.
fn has_access_control_lists() -> bool {
    let Ok(file) = tempfile::NamedTempFile::new() else { return false };
    let entry = |about: u16, allows: u16, whom: u32| {
        [&about.to_le_bytes()[..], &allows.to_le_bytes(), &whom.to_le_bytes()].concat()
    };
    // The owner, another user, the owning group, the most that is allowed, everybody.
    let entries =
        [(0x01, 4, u32::MAX), (0x02, 4, 12_345), (0x04, 0, u32::MAX), (0x10, 4, u32::MAX), (0x20, 0, u32::MAX)];
    let entries = entries.map(|(about, allows, whom)| entry(about, allows, whom)).concat();
    let list = [2_u32.to_le_bytes().to_vec(), entries].concat();
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::fsetxattr(file.as_file(), "system.posix_acl_access", &list, flags).is_ok()
}
