//! The test programs of the workspace: cargo builds them, and as many as there are processors run at a time. (Cargo
//! would run one after another, and many of them end with one long test that leaves the other processors idle.)

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;

use crate::cargo_test;
use crate::counted::Counted;

/// Tests of a program at a time, if `RUST_TEST_THREADS` does not say how many.
const THREADS: &str = "2";

/// A program that is built.
struct Program {
    executable: PathBuf,
    /// The folder of its package, in which it runs.
    package: PathBuf,
}

/// Whether all test programs are built, and their tests pass, those of the documentation apart. The arguments are
/// handed on to `cargo test`.
pub fn pass(arguments: &[String], counted: &mut Counted) -> bool {
    let Some(mut programs) = built(arguments) else { return false };
    programs.sort_by(|a, b| b.executable.cmp(&a.executable));
    let (queue, said) = (Mutex::new(programs), Mutex::new((counted, true)));
    let work = || {
        while let Some(program) = next(&queue) {
            let (passed, output) = run(&program);
            let (counted, all) = &mut *said.lock().unwrap_or_else(PoisonError::into_inner);
            *all &= passed;
            output.lines().for_each(|line| counted.line(line));
            // Whoever reads no longer what is said may still want the exit code.
            let _ = writeln!(std::io::stdout(), "{output}");
        }
    };
    std::thread::scope(|scope| {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        (1..processors).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    said.into_inner().unwrap_or_else(PoisonError::into_inner).1
}

fn next(queue: &Mutex<Vec<Program>>) -> Option<Program> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

/// `None` if cargo fails, which says why.
fn built(arguments: &[String]) -> Option<Vec<Program>> {
    let child = cargo_test(arguments).args(["--no-run", "--message-format=json-render-diagnostics"]).spawn();
    let mut child = child.inspect_err(|error| eprintln!("error: cannot run cargo: {error}")).ok()?;
    let lines = BufReader::new(child.stdout.take()?).lines().map_while(Result::ok);
    let programs = lines.filter_map(|line| program(&line)).collect();
    child.wait().is_ok_and(|status| status.success()).then_some(programs)
}

/// The test program of which this message of cargo tells that it is built.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let executable = PathBuf::from(message["executable"].as_str()?);
    let package = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    Some(Program { executable, package })
}

/// Whether its tests pass, and what it says.
#[expect(clippy::disallowed_methods, reason = "who waits wants to know for what")]
fn run(Program { executable, package }: &Program) -> (bool, String) {
    let began = Instant::now();
    let mut command = Command::new(executable);
    command.current_dir(package).env("CARGO_MANIFEST_DIR", package);
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        command.env("RUST_TEST_THREADS", THREADS);
    }
    let name = executable.file_name().unwrap_or_default().display();
    match command.stdin(Stdio::null()).output() {
        Ok(output) => {
            let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let passed = output.status.success();
            let end = if passed { String::new() } else { format!("{name} failed: {}\n", output.status) };
            (passed, format!("{name}, {:.1} s:\n{}{end}", began.elapsed().as_secs_f64(), said.concat()))
        }
        Err(error) => (false, format!("error: cannot run {}: {error}\n", executable.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_program_is_told_from_what_else_is_built() {
        let message = |test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","profile":{{"test":{test}}},
                "executable":{executable}}}"#
            )
        };
        let found = program(&message(true, r#""/w/target/debug/deps/a-1""#)).unwrap();
        assert_eq!((found.executable, found.package), ("/w/target/debug/deps/a-1".into(), "/w/crates/a".into()));
        assert!(program(&message(false, r#""/w/target/debug/a""#)).is_none());
        assert!(program(&message(true, "null")).is_none());
        assert!(program("no message").is_none());
    }

    #[test]
    fn a_program_that_fails_or_is_not_there_is_told() {
        let program = |executable: &str| Program { executable: executable.into(), package: "/".into() };
        assert!(run(&program("/bin/true")).0);
        let (passed, said) = run(&program("/bin/false"));
        assert!(!passed && said.contains("false failed: exit status: 1"), "{said}");
        let (passed, said) = run(&program("/bin/no-such-program"));
        assert!(!passed && said.contains("cannot run /bin/no-such-program"), "{said}");
    }
}
