//! Where a box writes down which sequence numbers the next one must not use.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};

use super::sequence::{Association, END};
use crate::file;

/// How the file begins.
const HEAD: &str = "dovetail esp sequence 1";

/// A file with the state of a tunnel that is of no use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateError(String);

impl StateError {
    fn new(path: &Path, why: impl fmt::Display) -> Self {
        Self(format!("{}: {why}", path.display()))
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StateError {}

/// A file that is this box's alone. It is written under another name first, so that it is whole whenever the machine
/// stops.
pub(super) struct Store {
    association: Association,
    path: PathBuf,
    /// Open, so that what was renamed in it can be made to last.
    folder: File,
    /// Held for as long as the box lives.
    _lock: File,
}

impl Store {
    /// The file in `folder`, or a new one, and the number that it says to be the next.
    pub fn open(folder: &Path, association: &Association) -> Result<(Self, u64), StateError> {
        let of_folder = |error: io::Error| StateError::new(folder, error);
        let open = File::open(folder).map_err(of_folder)?;
        if !open.metadata().map_err(of_folder)?.is_dir() {
            return Err(StateError::new(folder, "it is not a folder"));
        }
        let path = file_in(folder, association);
        let lock_path = path.with_extension("lock");
        let of_lock = |why: &dyn fmt::Display| StateError::new(&lock_path, why);
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&lock_path);
        let lock = lock.map_err(|error| of_lock(&error))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => of_lock(&"another tunnel with this key and spi is up, whose numbers these are"),
            TryLockError::Error(error) => of_lock(&error),
        })?;
        let next = Self::look(folder, association)?;
        Ok((Self { association: association.clone(), path, folder: open, _lock: lock }, next))
    }

    /// The number that the file in `folder` says to be the next; 1 if there is none.
    pub fn look(folder: &Path, association: &Association) -> Result<u64, StateError> {
        let path = file_in(folder, association);
        let bytes = match file::read_at(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound && folder.is_dir() => return Ok(1),
            Err(error) => return Err(StateError::new(&path, error)),
        };
        read(&bytes, association).map_err(|why| {
            let remedy = "which sequence numbers were used is not known any more, and none may be used twice: give \
                both ends of the tunnel another key";
            StateError::new(&path, format!("{why}; {remedy}"))
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next box begins with `next`. When this returns, that lasts.
    pub fn save(&self, next: u64) -> Result<(), StateError> {
        let new = self.path.with_extension("new");
        let failed = |error: io::Error| StateError::new(&self.path, format!("cannot be written: {error}"));
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).map_err(failed)?;
        file.write_all(written(next, &self.association).as_bytes()).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        fs::rename(&new, &self.path).map_err(failed)?;
        self.folder.sync_all().map_err(failed)
    }
}

fn file_in(folder: &Path, association: &Association) -> PathBuf {
    folder.join(format!("esp-{association}.state"))
}

fn written(next: u64, association: &Association) -> String {
    let text = format!("{HEAD}\nassociation {association}\nnext {next}\n");
    let sum = sum(&text);
    format!("{text}sum {sum}\n")
}

fn sum(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a file says that was [`written`].
fn read(bytes: &[u8], association: &Association) -> Result<u64, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is damaged: no text")?;
    if !text.starts_with(HEAD) {
        let begins: String = text.chars().take(HEAD.len()).collect();
        return Err(format!("it is not ours: it begins with {begins:?}, expected {HEAD:?}"));
    }
    let (told, rest) = text.rsplit_once("sum ").ok_or("it is damaged: it has no sum")?;
    if rest != format!("{}\n", sum(told)) {
        return Err("it is damaged: its sum is wrong".to_string());
    }
    let value = |key: &str| told.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    if value("association") != Some(association.to_string().as_str()) {
        return Err("it is that of another key or spi".to_string());
    }
    let next = value("next").and_then(|next| next.parse().ok()).filter(|next| (1..=END).contains(next));
    let next = next.ok_or("it is damaged: it has no number")?;
    Ok(next)
}
