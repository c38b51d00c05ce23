//! No sequence number is used twice, whatever becomes of a box and of what it has written down.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use dovetail_dataplane::module::{Encapsulate, EncapsulateConfig, Module, ModuleDrop, Secret, StateError, Transform};

use crate::support::{through, udp};

/// Numbers that a box keeps ahead.
const STEP: u32 = 1 << 18;

fn tunnel(spi: u32) -> Encapsulate {
    let ends = [[192, 0, 2, 1].into(), [192, 0, 2, 2].into()];
    let config = EncapsulateConfig::new(Transform::Aes128Gcm, Secret("07".repeat(20)), spi, ends);
    Encapsulate::new(&config, Path::new("/")).unwrap()
}

/// A tunnel that goes on where the last one of this folder has ended.
fn opened(folder: &Path) -> Result<Encapsulate, StateError> {
    let mut tunnel = tunnel(4096);
    let sequence = tunnel.sequence().unwrap();
    *sequence = sequence.open(folder)?;
    Ok(tunnel)
}

fn refused(folder: &Path) -> String {
    opened(folder).err().expect("it is of no use").to_string()
}

/// The sequence number of the next packet.
fn next(tunnel: &mut Encapsulate) -> Result<u32, ModuleDrop> {
    let outer = through(tunnel, &udp(b"x"))?;
    Ok(u32::from_be_bytes(*outer[14 + 24..].first_chunk().unwrap()))
}

fn file(folder: &Path, extension: &str) -> Option<PathBuf> {
    let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|known| known == extension))
}

/// What the disk has when a box is killed.
fn killed(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    copy
}

#[test]
fn who_is_killed_has_used_no_number_of_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = opened(folder.path()).unwrap();
    assert_eq!((0..3).map(|_| next(&mut first).unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
    let left = killed(folder.path());
    let mut second = opened(left.path()).unwrap();
    assert_eq!(next(&mut second), Ok(STEP + 1));
    // It is killed before it has sent anything more; and so on.
    let left = killed(left.path());
    assert_eq!(next(&mut opened(left.path()).unwrap()), Ok(2 * STEP + 1));
}

#[test]
fn who_ends_in_an_orderly_way_loses_none() {
    let folder = tempfile::tempdir().unwrap();
    for expected in 1..5 {
        assert_eq!(next(&mut opened(folder.path()).unwrap()), Ok(expected));
    }
    let state = file(folder.path(), "state").unwrap();
    assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(file(folder.path(), "new"), None);
}

#[test]
fn further_numbers_are_kept_before_they_are_needed() {
    let folder = tempfile::tempdir().unwrap();
    let mut tunnel = opened(folder.path()).unwrap();
    tunnel.set_sequence(STEP / 2 + 2);
    assert_eq!(next(&mut tunnel), Ok(STEP / 2 + 2));
    // As if it were killed, at some instant after that.
    let kept = || {
        let mut next_box = opened(killed(folder.path()).path()).unwrap();
        next(&mut next_box).unwrap()
    };
    assert!((0..1000).any(|_| kept() >= STEP + STEP / 2 || pause()));
}

/// A hundredth of a second passes; never true.
fn pause() -> bool {
    let (_sender, receiver) = std::sync::mpsc::channel::<()>();
    receiver.recv_timeout(std::time::Duration::from_millis(10)).is_ok()
}

#[test]
fn two_boxes_never_have_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let first = opened(folder.path()).unwrap();
    let said = refused(folder.path());
    assert!(said.contains("another tunnel with this key and spi is up"), "{said}");
    // Another association has a file of its own.
    let mut other = tunnel(5000);
    let sequence = other.sequence().unwrap();
    *sequence = sequence.open(folder.path()).unwrap();
    assert_eq!(next(&mut other), Ok(1));
    drop(first);
    opened(folder.path()).unwrap();
}

#[test]
fn what_is_damaged_or_somebody_elses_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    drop(opened(folder.path()).unwrap());
    let path = file(folder.path(), "state").unwrap();
    let right = fs::read_to_string(&path).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    tunnel(5000).sequence().unwrap().open(elsewhere.path()).unwrap();
    let another = fs::read_to_string(file(elsewhere.path(), "state").unwrap()).unwrap();
    let wrong: [(String, &str); 7] = [
        (String::new(), "it is not ours"),
        ("[Unit]\nDescription=x\n".into(), "it is not ours: it begins with \"[Unit]"),
        (right[..right.len() - 10].into(), "it is damaged"),
        (right.replace("next 1", "next 2"), "it is damaged: its sum is wrong"),
        (right.replace("association ", "association 0"), "it is damaged: its sum is wrong"),
        (another, "it is that of another key or spi"),
        ("\u{0}".repeat(2 << 20), "it is longer than 1 MiB"),
    ];
    for (text, told) in wrong {
        fs::write(&path, &text).unwrap();
        let said = refused(folder.path());
        assert!(said.contains(told) && said.contains(&path.display().to_string()), "{said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        // It can be seen without opening it.
        let look = tunnel(4096).sequence().unwrap().look(folder.path()).unwrap_err().to_string();
        assert_eq!(look, said);
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(refused(folder.path()).contains("it is damaged: no text"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(refused(folder.path()).contains("it is not an ordinary file"));
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(refused(&folder.path().join("none")).contains("No such file"));
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(refused(&file).contains("it is not a folder"));
    // Also for root: what stands in the way of the new file cannot be removed.
    drop(opened(folder.path()).unwrap());
    let state = self::file(folder.path(), "state").unwrap();
    fs::create_dir(state.with_extension("new")).unwrap();
    assert!(refused(folder.path()).contains("cannot be written"));
}

#[test]
fn when_nothing_can_be_written_any_more_numbers_run_out_and_none_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut tunnel = opened(folder.path()).unwrap();
    let state = file(folder.path(), "state").unwrap();
    fs::create_dir(state.with_extension("new")).unwrap();
    tunnel.set_sequence(STEP - 1);
    assert_eq!([next(&mut tunnel), next(&mut tunnel)], [Ok(STEP - 1), Ok(STEP)]);
    for _ in 0..3 {
        assert_eq!(next(&mut tunnel), Err(ModuleDrop("esp-sequence-unsaved")));
    }
    let failures = |tunnel: &Encapsulate| tunnel.counters().into_iter().find(|(name, _)| *name == "state_failures");
    assert!((0..1000).any(|_| failures(&tunnel).unwrap().1 > 0 || pause()));
    // The disk has room again: it goes on where it was.
    fs::remove_dir(state.with_extension("new")).unwrap();
    let again = (0..1000).find_map(|_| next(&mut tunnel).ok().or_else(|| pause().then_some(0)));
    assert_eq!(again, Some(STEP + 1));
}

/// What the log tells, of all tests of this program.
struct Log(Mutex<Vec<String>>);

static LOG: Log = Log(Mutex::new(Vec::new()));

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata) -> bool {
        true
    }

    fn log(&self, record: &log::Record) {
        self.0.lock().unwrap().push(format!("{} {}", record.level(), record.args()));
    }

    fn flush(&self) {}
}

#[test]
fn the_log_tells_once_of_a_file_that_cannot_be_written_and_that_it_is_over() {
    log::set_logger(&LOG).unwrap();
    log::set_max_level(log::LevelFilter::Info);
    let folder = tempfile::tempdir().unwrap();
    let mut tunnel = opened(folder.path()).unwrap();
    let state = file(folder.path(), "state").unwrap();
    let told = |words: &str| LOG.0.lock().unwrap().iter().filter(|line| line.contains(words)).count();
    let failed = format!("ERROR {}: cannot be written: ", state.display());
    fs::create_dir(state.with_extension("new")).unwrap();
    tunnel.set_sequence(STEP - 1);
    let failures = |tunnel: &Encapsulate| tunnel.counters().into_iter().find(|(name, _)| *name == "state_failures");
    assert!((0..1000).any(|_| failures(&tunnel).unwrap().1 > 1 || next(&mut tunnel).is_err() && pause()));
    assert_eq!(told(&failed), 1);
    fs::remove_dir(state.with_extension("new")).unwrap();
    assert!((0..1000).any(|_| next(&mut tunnel).is_ok() || pause()));
    assert_eq!(told(&format!("INFO {}: is written again", state.display())), 1);
    // The next box goes on behind what this one may have used.
    fs::create_dir(state.with_extension("new")).unwrap();
    drop(tunnel);
    assert_eq!(told(&format!("WARN {}: cannot be written: ", state.display())), 1);
}

#[test]
fn the_last_number_is_the_last_for_the_next_box_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut tunnel = opened(folder.path()).unwrap();
    tunnel.set_sequence(u32::MAX - STEP / 4);
    assert_eq!(next(&mut tunnel), Err(ModuleDrop("esp-sequence-unsaved")), "never beyond what is kept");
    assert!((0..1000).any(|_| next(&mut tunnel).is_ok() || pause()));
    let mut after = opened(killed(folder.path()).path()).unwrap();
    assert_eq!(next(&mut after), Err(ModuleDrop("esp-sequence-exhausted")));
}

#[test]
fn a_tunnel_that_takes_over_goes_on_with_the_same_numbers() {
    let (mut old, mut new) = (tunnel(4096), tunnel(4096));
    assert_eq!((next(&mut old), next(&mut old)), (Ok(1), Ok(2)));
    *new.sequence().unwrap() = Arc::clone(old.sequence().unwrap());
    // Of the old one frames wait yet.
    assert_eq!((next(&mut new), next(&mut old), next(&mut new)), (Ok(3), Ok(4), Ok(5)));
}
