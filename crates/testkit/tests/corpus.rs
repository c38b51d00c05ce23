//! The fuzzer's corpus, replayed: what it found once holds for every discipline, also for those that came later.

use std::fs;
use std::path::Path;

use dovetail_testkit::conformance::{fuzz, specs};

#[test]
fn every_discipline_passes_every_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/operations");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 50, "the corpus in {} has {} files", folder.display(), files.len());
    for file in files {
        let bytes = fs::read(&file).unwrap();
        // The first byte chose the discipline; here all of them are tried.
        let [_, resources, operations @ ..] = bytes.as_slice() else { continue };
        for spec in specs() {
            let result = fuzz(spec, 1 + usize::from(resources % 4), operations);
            assert_eq!(result, Ok(()), "{}", file.display());
        }
    }
}
