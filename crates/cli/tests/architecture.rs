//! Dependencies point one way, and everything built in may be given away.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

/// What each product crate may depend on, of our own.
const MAY_USE: [(&str, &[&str]); 18] = [
    ("units", &[]),
    ("sched", &["units"]),
    ("pipeline", &["units", "sched"]),
    ("model", &["units"]),
    ("wire", &["units"]),
    ("trace", &["units", "wire"]),
    ("tcp", &["units"]),
    ("c", &["units", "sched"]),
    ("sim", &["units", "sched", "pipeline", "model", "wire", "trace", "tcp"]),
    ("figure", &[]),
    ("experiment", &["units", "sched", "model", "wire", "trace", "tcp", "sim", "config", "figure"]),
    ("papers", &["units", "sched", "model", "trace", "sim", "figure", "experiment"]),
    ("config", &["units", "wire"]),
    ("page", &[]),
    ("dataplane", &["units", "sched", "pipeline", "wire", "trace", "config"]),
    ("lab", &["units", "model", "config"]),
    ("python", &["units", "sched", "model", "wire", "trace", "sim", "experiment", "papers", "config"]),
    (
        "cli",
        &[
            "units",
            "sched",
            "model",
            "wire",
            "trace",
            "tcp",
            "sim",
            "experiment",
            "papers",
            "figure",
            "config",
            "dataplane",
            "lab",
            "page",
        ],
    ),
];

/// Licences of which any one suffices. The exception allows more than its licence does.
const LICENCES: [&str; 11] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "0BSD",
    "Unlicense",
    "CC0-1.0",
    "Unicode-3.0",
];

/// Tools of tests, of which nothing is built in, and their licences.
const TOOLS: [(&str, &str); 1] = [("cbindgen", "MPL-2.0")];

fn metadata() -> Value {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    // Without the crates for other systems, which a build here never downloads.
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let arguments =
        ["metadata", "--format-version", "1", "--locked", "--filter-platform", host, "--manifest-path", manifest];
    let output = Command::new(env!("CARGO")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|v| v[key].as_str().unwrap()).collect()
}

#[test]
fn our_crates_depend_only_on_those_below_them() {
    let metadata = metadata();
    let rules: BTreeMap<&str, &[&str]> = MAY_USE.into_iter().collect();
    let mut checked = 0;
    for package in metadata["packages"].as_array().unwrap() {
        let Some(name) = package["name"].as_str().unwrap().strip_prefix("dovetail-") else { continue };
        let Some(allowed) = rules.get(name) else { continue };
        let normal = package["dependencies"].as_array().unwrap().iter().filter(|d| d["kind"].is_null());
        for dependency in normal {
            if let Some(used) = dependency["name"].as_str().unwrap().strip_prefix("dovetail-") {
                assert!(allowed.contains(&used), "{name} depends on {used}");
            }
        }
        checked += 1;
    }
    assert_eq!(checked, MAY_USE.len());
}

#[test]
fn the_live_box_is_built_without_what_draws_and_writes_tables() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let arguments = ["tree", "--locked", "--package", "dovetail-cli", "--edges", "normal", "--prefix", "none"];
    let crates = |more: &[&str]| {
        let output = Command::new(env!("CARGO")).args(arguments).args(more).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter_map(|line| line.split(' ').next()).map(str::to_string).collect::<Vec<_>>()
    };
    let (all, small) = (crates(&[]), crates(&["--no-default-features"]));
    for name in ["parquet", "plotters", "indicatif", "dovetail-papers", "dovetail-figure", "dovetail-page"] {
        assert!(all.iter().any(|c| c == name), "{name} is nowhere");
        assert!(small.iter().all(|c| c != name), "{name} is in a live box");
    }
}

#[test]
fn everything_built_in_has_a_permissive_licence() {
    let metadata = metadata();
    for package in metadata["packages"].as_array().unwrap() {
        let licence = package["license"].as_str().unwrap_or_default();
        // "A OR B": one is enough; "A AND B": all are needed.
        let fine = licence
            .replace('/', " OR ")
            .split(" OR ")
            .any(|choice| choice.split(" AND ").all(|l| LICENCES.contains(&l.trim().trim_matches(['(', ')']))));
        let is_tool = TOOLS.contains(&(package["name"].as_str().unwrap(), licence));
        assert!(fine || is_tool, "{} has the licence {licence:?}", package["name"]);
    }
    assert!(texts(&metadata["packages"], "name").contains(&"dovetail-cli"));
    for package in metadata["packages"].as_array().unwrap() {
        let used = package["dependencies"].as_array().unwrap().iter().filter(|used| used["kind"] != "dev");
        for used in used.filter_map(|used| used["name"].as_str()) {
            assert!(TOOLS.iter().all(|(tool, _)| *tool != used), "{used} is built into {}", package["name"]);
        }
    }
}
