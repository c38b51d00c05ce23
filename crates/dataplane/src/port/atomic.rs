//! Files that are whole or absent: a hidden file beside it gets its name when everything was written, or all that there
//! is room for.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::{OpenError, both};

/// Bytes of records that are collected before they are written.
const COLLECTED: usize = 8 << 10;

/// What a file is written to: tests have one that is full.
pub(super) trait Disk: Write + Send {
    /// Cut it after so many bytes.
    fn cut(&self, len: u64) -> io::Result<()>;
}

impl Disk for File {
    fn cut(&self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}

/// A file that is written record by record. It gets its name in the end ([`finish`](Self::finish)), or when it cannot
/// be written any more, with the records that are whole; else nothing remains.
pub(super) struct AtomicFile {
    path: PathBuf,
    disk: Box<dyn Disk>,
    /// Until it has its name, or is given up.
    hidden: Option<TempPath>,
    /// What is to be written, and where in it records end.
    buffer: Vec<u8>,
    ends: Vec<usize>,
    /// Bytes of whole records in the file.
    len: u64,
}

impl AtomicFile {
    /// Nothing has the name `path` yet.
    ///
    /// # Errors
    /// No file can be made beside it, it is the name of a folder, or what is there is not an ordinary file: a device, a
    /// pipe or a link of this name would be gone in the end.
    pub fn create(path: &Path) -> Result<Self, OpenError> {
        let cannot = |why| OpenError::failed(&path.display().to_string(), "cannot be written", why);
        let wrong = |why: &str| Err(cannot(io::Error::new(ErrorKind::InvalidInput, why)));
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        // Of `new/` and `new/.` the file name is `new`.
        let ends_in = |name: &OsStr| path.as_os_str().as_bytes().ends_with(name.as_bytes());
        if path.is_dir() || !path.file_name().is_some_and(ends_in) {
            return wrong("it is a folder");
        }
        if path.is_symlink() {
            return wrong("it is a link, which would be replaced: name the file itself");
        }
        if path.exists() && !path.is_file() {
            return wrong("it is not an ordinary file");
        }
        if !folder.is_dir() {
            return Err(cannot(io::Error::other(format!("there is no folder {}", folder.display()))));
        }
        // Errors of `tempfile_in` name the hidden file.
        let open = |hidden: &Path| File::options().write(true).create_new(true).mode(0o600).open(hidden);
        let file = tempfile::Builder::new().prefix(".dovetail-").make_in(folder, open);
        let (file, hidden) = file.map_err(cannot)?.into_parts();
        Ok(Self::new(file, path, hidden))
    }

    fn new(disk: impl Disk + 'static, path: &Path, hidden: TempPath) -> Self {
        let (path, disk, hidden) = (path.to_owned(), Box::new(disk), Some(hidden));
        Self { path, disk, hidden, buffer: Vec::new(), ends: Vec::new(), len: 0 }
    }

    /// What was written since the last record is one.
    ///
    /// # Errors
    /// There is no room for it, or for one before it. The file then has its name, and takes no further ones.
    pub fn end_record(&mut self) -> io::Result<()> {
        self.ends.push(self.buffer.len());
        if self.buffer.len() < COLLECTED { Ok(()) } else { self.write_records() }
    }

    /// Give the file its name, the first time that this is called.
    ///
    /// # Errors
    /// There is no room for the last records, which the file lacks then, or it cannot have its name.
    pub fn finish(&mut self) -> io::Result<()> {
        self.write_records()?;
        self.name()
    }

    fn name(&mut self) -> io::Result<()> {
        self.hidden.take().map_or(Ok(()), |hidden| hidden.persist(&self.path).map_err(|error| error.error))
    }

    /// Write what was collected; of what fails the records that are whole stay.
    fn write_records(&mut self) -> io::Result<()> {
        let whole = self.ends.last().copied().unwrap_or(0);
        let (written, result) = write_some(&mut *self.disk, &self.buffer[..whole]);
        let kept = self.ends.iter().rev().copied().find(|&end| end <= written).unwrap_or(0);
        self.len += kept as u64;
        self.buffer.drain(..whole);
        self.ends.clear();
        if result.is_ok() { Ok(()) } else { both(result, self.keep()) }
    }

    /// The file cannot be written any more.
    fn keep(&mut self) -> io::Result<()> {
        if self.len == 0 {
            self.hidden = None;
            return Ok(());
        }
        both(self.disk.cut(self.len), self.name())
    }

    /// What is written goes to `disk`, which is the file `path` with another extension.
    #[cfg(test)]
    pub fn onto(disk: impl Disk + 'static, path: &Path) -> Self {
        Self::new(disk, path, TempPath::try_from_path(path.with_extension("hidden")).unwrap())
    }
}

/// How much could be written, and why not all.
fn write_some(disk: &mut dyn Disk, data: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < data.len() {
        match disk.write(&data[written..]) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}

impl Write for AtomicFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(data);
        Ok(data.len())
    }

    /// Records are written when they are whole.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error, with the file that it is about.
pub(super) fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} cannot be written: {error}", path.display()))
}

/// A disk with room for so many bytes more.
#[cfg(test)]
pub(super) struct Full {
    pub file: File,
    pub room: usize,
}

#[cfg(test)]
impl Full {
    /// Where a file of this name is hidden.
    pub fn beside(path: &Path, room: usize) -> Self {
        Self { file: File::create(path.with_extension("hidden")).unwrap(), room }
    }
}

#[cfg(test)]
impl Write for Full {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let written = self.file.write(&data[..data.len().min(self.room)])?;
        self.room -= written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
impl Disk for Full {
    fn cut(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
}
