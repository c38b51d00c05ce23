//! What has been run: a line for each run, appended when it is done.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Id;
use super::rows::Cell;

/// What a run came to.
#[derive(Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Of which run.
    pub run: Id,
    /// Its row.
    pub row: Vec<Cell>,
    /// A row for each group.
    pub groups: Vec<Vec<Cell>>,
}

/// The file, with the place of each run's line.
pub struct Journal {
    file: File,
    places: BTreeMap<Id, (u64, usize)>,
    end: u64,
}

/// Why a journal cannot be used.
pub enum JournalError {
    /// Another program writes it.
    InUse,
    /// The disk.
    Io(io::Error),
}

impl From<io::Error> for JournalError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Journal {
    /// Open or make the file, for this program alone. A last line that was cut off, as the program's end in the middle
    /// of writing leaves it, is removed; other lines that cannot be read count as not there.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            // A device or a pipe may go on without end.
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not an ordinary file").into());
        }
        let file = File::options().read(true).append(true).create(true).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Err(JournalError::InUse),
            Err(std::fs::TryLockError::Error(error)) => return Err(error.into()),
        }
        #[derive(Deserialize)]
        struct Head {
            run: Id,
        }
        let (mut places, mut end, mut line) = (BTreeMap::new(), 0, Vec::new());
        let mut reader = BufReader::new(&file);
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            if let Ok(Head { run }) = serde_json::from_slice(&line) {
                places.insert(run, (end, line.len()));
            }
            end += line.len() as u64;
            line.clear();
        }
        file.set_len(end)?;
        Ok(Self { file, places, end })
    }

    /// Whether this run is done.
    pub fn has(&self, run: &Id) -> bool {
        self.places.contains_key(run)
    }

    /// Add a run that is done. What is written outlives the program, however it ends.
    pub fn add(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.places.insert(entry.run, (self.end, line.len()));
        self.end += line.len() as u64;
        Ok(())
    }

    /// What a run came to, if it is done.
    pub fn read(&self, run: &Id) -> io::Result<Option<Entry>> {
        let Some(&(start, length)) = self.places.get(run) else { return Ok(None) };
        let mut line = vec![0; length];
        self.file.read_exact_at(&mut line, start)?;
        Ok(Some(serde_json::from_slice(&line)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u8) -> Entry {
        Entry { run: Id([number; 20]), row: vec![Cell::F64(0.1 + 0.2), Cell::None], groups: vec![vec![Cell::U64(7)]] }
    }

    fn opened(path: &Path) -> Journal {
        Journal::open(path).unwrap_or_else(|_| panic!("it cannot be opened"))
    }

    #[test]
    fn a_line_that_was_cut_off_is_as_if_it_had_never_been_begun() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = opened(&path);
        journal.add(&entry(1)).unwrap();
        journal.add(&entry(2)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        drop(journal);
        let first = whole.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        for cut in first..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut journal = opened(&path);
            assert!(journal.has(&Id([1; 20])) && !journal.has(&Id([2; 20])), "cut at {cut}");
            journal.add(&entry(2)).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), whole, "cut at {cut}");
            let read = journal.read(&Id([2; 20])).unwrap().unwrap();
            assert_eq!((read.row, read.groups), (entry(2).row, entry(2).groups));
        }
    }

    #[test]
    fn what_is_no_ordinary_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        let Err(JournalError::Io(error)) = Journal::open(&path) else { panic!("a device is a journal") };
        assert_eq!(error.to_string(), "it is not an ordinary file");
    }

    #[test]
    fn two_programs_do_not_write_it_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let _held = opened(&path);
        assert!(matches!(Journal::open(&path), Err(JournalError::InUse)));
    }
}
