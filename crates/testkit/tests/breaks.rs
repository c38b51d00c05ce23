//! Each remedy of `breaks.toml` is needed: without it the test named there fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde::Deserialize;

#[derive(Deserialize)]
struct Breaks {
    #[serde(rename = "break")]
    breaks: Vec<Break>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Break {
    remedy: String,
    /// Below `crates/sched/src`.
    file: String,
    /// Stands there once.
    find: String,
    /// What takes its place.
    put: String,
    /// The crate, the test file or `lib`, and perhaps a part of the test's name.
    test: String,
}

fn breaks() -> Vec<Break> {
    toml::from_str::<Breaks>(include_str!("breaks.toml")).unwrap().breaks
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

impl Break {
    fn path(&self, workspace: &Path) -> PathBuf {
        workspace.join("crates/sched/src").join(&self.file)
    }

    /// `cargo test` of the test, in this workspace.
    fn run(&self, workspace: &Path, last: &str) -> Output {
        let mut words = self.test.split(' ');
        let (package, file) = (words.next().unwrap(), words.next().unwrap());
        let mut command = Command::new(env!("CARGO"));
        command.args(["test", "--locked", "--offline", "--package", &format!("dovetail-{package}")]);
        command.args(if file == "lib" { vec!["--lib"] } else { vec!["--test", file] });
        command
            .args(words)
            .arg(last)
            .current_dir(workspace)
            .env("CARGO_TARGET_DIR", self::workspace().join("target/breaks"));
        command.output().unwrap()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

#[test]
fn each_stands_once_where_it_is_said_to() {
    for broken in breaks() {
        let source = fs::read_to_string(broken.path(&workspace())).unwrap();
        assert_eq!(source.matches(&broken.find).count(), 1, "{}: {}", broken.file, broken.find);
    }
}

/// Takes a minute for each. `BREAKS` is a part of the remedies to be tried.
#[test]
#[ignore = "make breaks: builds the schedulers anew for each remedy"]
fn without_a_remedy_its_test_fails() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = std::env::var("BREAKS").unwrap_or_default();
    copy(&workspace().join("crates"), &folder.path().join("crates"));
    for file in ["Cargo.toml", "Cargo.lock"] {
        fs::copy(workspace().join(file), folder.path().join(file)).unwrap();
    }
    let mut unnoticed = Vec::new();
    for broken in breaks().into_iter().filter(|broken| broken.remedy.contains(&wanted)) {
        let path = broken.path(folder.path());
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, whole.replace(&broken.find, &broken.put)).unwrap();
        let built = broken.run(folder.path(), "--no-run");
        let ran = broken.run(folder.path(), "--no-fail-fast");
        fs::write(&path, whole).unwrap();
        if !built.status.success() {
            println!("{}: {}", broken.remedy, String::from_utf8_lossy(&built.stderr));
            unnoticed.push(broken.remedy);
            continue;
        }
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        let failed: Vec<&str> = said.lines().filter_map(|line| line.strip_suffix(" ... FAILED")).collect();
        println!("{:75} {}", broken.remedy, failed.join(", ").replace("test ", ""));
        if ran.status.success() {
            unnoticed.push(broken.remedy);
        }
    }
    assert!(unnoticed.is_empty(), "nobody notices without: {unnoticed:#?}");
}
