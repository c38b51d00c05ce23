//! Every `dovetail` command in the README and the documentation works as written.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The lines that start with `dovetail ` inside code fences marked `sh`.
fn commands(document: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in document.lines() {
        if line.starts_with("```") {
            inside = line == "```sh";
        } else if inside && line.starts_with("dovetail ") {
            found.push(line.to_string());
        }
    }
    found
}

fn documents() -> Vec<PathBuf> {
    let mut found = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// An empty folder with the scenarios in it, as if the reader stood in a checkout.
fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = root().join("scenarios").canonicalize().unwrap();
    std::os::unix::fs::symlink(scenarios, folder.path().join("scenarios")).unwrap();
    folder
}

#[test]
fn commands_of_the_documents_succeed() {
    let mut run = 0;
    for document in documents() {
        let folder = checkout();
        for command in commands(&std::fs::read_to_string(&document).unwrap()) {
            let program = env!("CARGO_BIN_EXE_dovetail");
            let line = command.replacen("dovetail", program, 1);
            let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {command}\n{errors}", document.display());
            assert!(!output.stdout.is_empty() || errors.contains("wrote"), "{command} says nothing");
            run += 1;
        }
    }
    assert!(run >= 10, "only {run} commands found: is the fence still marked `sh`?");
}

/// All of its commands, with those of other programs.
#[test]
fn the_checks_of_modules_come_out_as_told() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let folder = checkout();
    let document = std::fs::read_to_string(root().join("docs/how-to/check-modules.md")).unwrap();
    let blocks: Vec<&str> = document.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let script = format!("dovetail() {{ {} \"$@\"; }}\n{}", env!("CARGO_BIN_EXE_dovetail"), blocks.concat());
    let output = Command::new("sh").args(["-ec", &script]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let row = said.lines().find(|line| line.starts_with("tunnel ")).unwrap();
    let encrypted = row.split_whitespace().nth(3).unwrap();
    assert!(encrypted.parse::<u32>().unwrap() > 1000, "{row}");
    assert!(said.lines().any(|line| line.trim() == encrypted), "not {encrypted} packets were decrypted:\n{said}");
    let eliminated = said.lines().find(|line| line.starts_with("module eliminate")).unwrap();
    let numbers: Vec<u32> =
        eliminated.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
    assert!(numbers[1] < numbers[0] * 6 / 10 && numbers[2] > 1000, "{eliminated}");
    assert!(said.ends_with("the same\n"), "{said}");
}

/// What the README's box on a capture does is seen: packets in the tunnel, and both resources in use.
#[test]
fn the_readmes_box_on_a_capture_encrypts_and_uses_cpu_and_link() {
    let folder = checkout();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let section =
        readme.split("## Run it between two interfaces").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let mut said = String::new();
    for command in commands(section) {
        let line = command.replacen("dovetail", env!("CARGO_BIN_EXE_dovetail"), 1);
        let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{command}");
        said.push_str(&String::from_utf8(output.stdout).unwrap());
    }
    let numbers = |class: &str| -> Vec<f64> {
        let row = said.lines().find(|line| line.starts_with(&format!("{class} "))).unwrap();
        row.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    // Flows, packets in and out, dropped, CPU and link in percent.
    let (tunnel, all) = (numbers("tunnel"), numbers("all"));
    assert!(tunnel[2] > 1000.0 && tunnel[4] > 1.0, "{said}");
    // A build without optimisation takes so much of the CPU that little is left for the link.
    assert!(all[4] > 10.0 && all[5] > 0.5, "{said}");
}

#[test]
fn the_readmes_scenario_is_the_one_in_the_repository() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let written = readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let file = std::fs::read_to_string(root().join("scenarios/first.toml")).unwrap();
    assert!(file.ends_with(written), "scenarios/first.toml differs from the README");
}

#[test]
fn the_demo_of_the_makefile_is_the_one_of_the_readme() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    assert!(makefile.contains("run scenarios/demo.toml --out"));
    assert!(root().join("scenarios/demo.toml").exists());
}

/// Targets of `[text](target)` that are files of ours.
fn links(document: &str) -> Vec<&str> {
    let targets = document.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|t| !t.starts_with("http") && !t.starts_with('#')).collect()
}

#[test]
fn links_between_documents_lead_somewhere() {
    let others = ["CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name));
    for document in documents().into_iter().chain(others) {
        for link in links(&std::fs::read_to_string(&document).unwrap()) {
            let target = document.parent().unwrap().join(link.split('#').next().unwrap());
            assert!(target.exists(), "{}: {link}", document.display());
        }
    }
}
