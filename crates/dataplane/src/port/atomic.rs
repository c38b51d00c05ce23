//! Files that are whole or absent: a hidden file beside it gets its name when everything was written.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::OpenError;

/// A file that is written. Without [`finish`](Self::finish) nothing remains.
pub(super) struct AtomicFile {
    path: PathBuf,
    out: BufWriter<File>,
    hidden: TempPath,
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
        Ok(Self { path: path.to_owned(), out: BufWriter::new(file), hidden })
    }

    /// Give the file its name.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        self.hidden.persist(&self.path).map_err(|error| error.error)
    }

    /// What is written goes to `file`.
    #[cfg(test)]
    pub fn onto(file: File, path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            out: BufWriter::new(file),
            hidden: TempPath::try_from_path(path.with_extension("hidden")).unwrap(),
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.out.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The error, with the file that it is about.
pub(super) fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} cannot be written: {error}", path.display()))
}
