//! A digest of the sources that decide what a run's results are: sweeps keep results by it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The crates that simulate, and what reads and records.
const CRATES: [&str; 9] = ["units", "sched", "model", "wire", "trace", "tcp", "sim", "config", "experiment"];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("Cargo.lock")];
    for name in CRATES {
        let folder = root.join("crates").join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        sources(&folder, &mut files);
    }
    files.sort();
    let mut digest = DefaultHasher::new();
    for file in &files {
        std::fs::read(file).unwrap_or_default().hash(&mut digest);
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", root.join("Cargo.lock").display());
    println!("cargo::rustc-env=DOVETAIL_SOURCES={:016x}", digest.finish());
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => sources(&path, files),
            false => files.push(path),
        }
    }
}
