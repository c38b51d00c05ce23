use super::*;

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn files_appear_at_commit_and_not_before() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("a/b/out");
    let mut output = Output::create(&target, &["one.txt"], &[]).unwrap();
    output.write("one.txt", b"1").unwrap();
    assert!(!target.join("one.txt").exists());
    let paths = output.commit().unwrap();
    assert_eq!(paths, [Placed { path: target.join("one.txt"), replaced: false }]);
    assert_eq!(fs::read(&paths[0].path).unwrap(), b"1");
    assert_eq!(names(&target), ["one.txt"]);
}

#[test]
fn without_commit_nothing_stays_not_even_the_directories_made() {
    let root = tempfile::tempdir().unwrap();
    let mut output = Output::create(root.path().join("a/b"), &["one.txt"], &[]).unwrap();
    output.write("one.txt", b"1").unwrap();
    drop(output);
    assert!(names(root.path()).is_empty());
}

#[test]
fn an_existing_directory_keeps_its_other_files_and_survives_an_abandoned_run() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("mine.txt"), "mine").unwrap();
    fs::write(root.path().join("one.txt"), "old").unwrap();
    let mut abandoned = Output::create(root.path(), &["one.txt"], &[]).unwrap();
    abandoned.write("one.txt", b"new").unwrap();
    drop(abandoned);
    assert_eq!(fs::read(root.path().join("one.txt")).unwrap(), b"old");

    let mut output = Output::create(root.path(), &["one.txt"], &[]).unwrap();
    output.write("one.txt", b"new").unwrap();
    assert!(output.commit().unwrap()[0].replaced);
    assert_eq!(fs::read(root.path().join("one.txt")).unwrap(), b"new");
    assert_eq!(fs::read(root.path().join("mine.txt")).unwrap(), b"mine");
    assert_eq!(names(root.path()), ["mine.txt", "one.txt"]);
}

/// A run that was killed leaves its hidden folder: nobody holds its lock, or it has none yet or no more.
#[test]
fn what_a_killed_run_left_goes_and_what_another_run_is_at_stays() {
    let root = tempfile::tempdir().unwrap();
    for name in [".dovetail-killed", ".dovetail-early"] {
        fs::create_dir(root.path().join(name)).unwrap();
    }
    fs::write(root.path().join(".dovetail-killed/.lock"), "").unwrap();
    let one = Output::create(root.path(), &["one.txt"], &[]).unwrap();
    assert_eq!(names(root.path()).len(), 1, "its own");
    let two = Output::create(root.path(), &["two.txt"], &[]).unwrap();
    assert_eq!(names(root.path()).len(), 2, "both are under way");
    one.leftovers().unwrap().remove();
    drop((one, two));
    assert!(names(root.path()).is_empty());
}

#[test]
fn a_failing_commit_restores_what_was_there() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("one.txt"), "old").unwrap();
    let all = ["one.txt", "two.txt", "three.txt"];
    let mut output = Output::create(root.path(), &all, &[]).unwrap();
    for name in all {
        output.write(name, b"new").unwrap();
    }
    fs::create_dir(root.path().join("three.txt")).unwrap();
    let error = output.commit().unwrap_err();
    assert_eq!(error.path(), root.path().join("three.txt"));
    assert_eq!(names(root.path()), ["one.txt", "three.txt"]);
    assert_eq!(fs::read(root.path().join("one.txt")).unwrap(), b"old");
}

#[test]
fn a_file_in_the_place_of_the_directory_is_an_error_that_names_it() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "x").unwrap();
    for target in [file.clone(), file.join("below")] {
        let message = Output::create(&target, &["one.txt"], &[]).unwrap_err().to_string();
        assert!(message.starts_with("cannot make the output directory "), "{message}");
        assert!(message.contains(&target.display().to_string()), "{message}");
    }
    assert_eq!(fs::read(&file).unwrap(), b"x");
}

#[test]
fn names_that_leave_the_directory_were_not_given_or_repeat_are_refused() {
    let root = tempfile::tempdir().unwrap();
    for name in ["", ".", "..", "a/b", "/etc/x", "a/"] {
        let message = Output::create(root.path().join("new"), &["one.txt", name], &[]).unwrap_err().to_string();
        assert!(message.contains("not a plain file name"), "{name:?}: {message}");
    }
    assert!(names(root.path()).is_empty(), "nothing is made before");
    let mut output = Output::create(root.path(), &["one.txt"], &[]).unwrap();
    assert!(output.file("two.txt").unwrap_err().to_string().contains("no result was to have this name"));
    output.write("one.txt", b"1").unwrap();
    assert!(output.file("one.txt").unwrap_err().to_string().contains("two results of this name"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_with_the_path_and_the_reason() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let path = PathBuf::from("out/packets.parquet");
    let mut file = OutputFile { file: BufWriter::new(full), path };
    file.write_all(b"buffered, so it fails only at the end").unwrap();
    let error = file.finish().unwrap_err();
    assert_eq!(error.reason().kind(), io::ErrorKind::StorageFull);
    assert!(error.to_string().starts_with("cannot write out/packets.parquet: No space left on device"), "{error}");
}
