//! Runs the tests of the workspace, and says at the end how many ran, and how many were left out and why.
//!
//! A test that not every machine can run has the attribute `#[ignore = "needs root"]`, or another of [`NEEDS`], and
//! cargo counts it as ignored. Here those run after the others that this machine has the means for. The last line is
//!
//! ```text
//! tests: 1234 ran, 12 left out: 3 needs tshark, 9 a long search
//! ```
//!
//! Arguments are handed on to `cargo test`.

mod counted;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};

use counted::Counted;

/// Whether this machine has something.
type Has = fn() -> bool;

/// What some tests need, and whether it is here.
const NEEDS: [(&str, Has); 6] = [
    ("needs root", may_make_namespaces),
    ("needs root and ping", || may_make_namespaces() && runs("ping", &["-V"])),
    ("needs root and setpriv", || may_make_namespaces() && runs("setpriv", &["--version"])),
    ("needs tshark", || runs("tshark", &["--version"])),
    ("needs ns-2", || runs("ns", &["/dev/null"])),
    ("needs access control lists", has_access_control_lists),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut counted = Counted::default();
    let all = ["--workspace", "--locked"].map(str::to_string);
    let mut whole = all.clone().to_vec();
    whole.extend(arguments.iter().cloned());
    let mut passed = test(&whole, &mut counted, true);
    let able: Vec<&str> = NEEDS.iter().filter(|(_, here)| here()).map(|(need, _)| *need).collect();
    let more = counted.left_out_for(&able);
    if passed && !more.is_empty() {
        let tests = ["--lib", "--bins", "--tests"].map(str::to_string);
        let mut rest = [all.to_vec(), tests.to_vec(), arguments].concat();
        rest.extend(["--", "--ignored", "--exact"].map(str::to_string));
        rest.extend(more);
        passed = test(&rest, &mut counted, false);
    }
    println!("{counted}");
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether these tests pass. Programs of which none runs are told of only if `all` are to run.
fn test(arguments: &[String], counted: &mut Counted, all: bool) -> bool {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let child = Command::new(cargo).arg("test").args(arguments).stdout(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            eprintln!("error: cannot run cargo: {error}");
            return false;
        }
    };
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
        counted.line(&line);
        if all || !(line.is_empty() || line == "running 0 tests" || line.starts_with("test result: ok. 0 passed")) {
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
