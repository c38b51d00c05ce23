//! A directory of results that appears whole or not at all.
//!
//! Files are written to a hidden directory inside the output directory, hence on the same file system, and moved into
//! place by [`Output::commit`]. Whatever goes wrong before, and if the [`Output`] is dropped without a commit, no file
//! of it stays, nor a directory that it made.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An operation on the output directory failed.
#[derive(Debug)]
pub struct OutputError {
    doing: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl OutputError {
    fn at<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> OutputError + 'a {
        move |source| OutputError { doing, path: path.into(), source }
    }

    /// Writing the contents of `path` failed.
    pub(crate) fn writing(path: &Path, source: io::Error) -> OutputError {
        OutputError::at("write", path)(source)
    }

    /// The path that the operation was about, as the user named the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The operating system's reason.
    pub fn reason(&self) -> &io::Error {
        &self.source
    }
}

impl std::fmt::Display for OutputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot {} {}: {}", self.doing, self.path.display(), self.source)
    }
}

impl std::error::Error for OutputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Results on their way into a directory.
#[derive(Debug)]
pub struct Output {
    directory: PathBuf,
    /// The outermost directory that did not exist before; removed again unless committed.
    made: Option<PathBuf>,
    /// `None` once committed or given up.
    staging: Option<Staging>,
    /// Of the files that can be written.
    declared: Vec<String>,
    /// Of those that were.
    names: Vec<String>,
}

/// The hidden directory. As long as it is in use, a file in it is locked.
#[derive(Debug)]
struct Staging {
    directory: tempfile::TempDir,
    _lock: File,
}

/// What hidden directories' names begin with, and the name of the file that is locked.
const HIDDEN: &str = ".dovetail-";
const LOCK: &str = ".lock";

impl Staging {
    fn create(path: &Path) -> io::Result<Self> {
        // Held while hidden directories are made or removed, so that none is without its lock for others to see.
        let turn = File::open(path)?;
        if soon_locked(&turn) {
            remove_abandoned(path);
        }
        let directory = tempfile::Builder::new().prefix(HIDDEN).tempdir_in(path)?;
        let lock = File::create(directory.path().join(LOCK))?;
        lock.lock()?;
        Ok(Self { directory, _lock: lock })
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Whether the lock was free within a tenth of a second. Somebody else than us may hold it for long: `flock DIR
/// dovetail`.
#[expect(clippy::disallowed_methods, reason = "another process is given time to let go")]
fn soon_locked(file: &File) -> bool {
    let mut tries = std::iter::repeat_n(Duration::from_millis(10), 10);
    file.try_lock().is_ok()
        || tries.any(|wait| {
            std::thread::sleep(wait);
            file.try_lock().is_ok()
        })
}

/// Removes hidden directories of runs that were killed: nobody holds their locks, or they have none, if a run was
/// killed while it made or removed its own. What cannot be removed stays.
fn remove_abandoned(path: &Path) {
    let Ok(entries) = fs::read_dir(path) else { return };
    let hidden = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(HIDDEN));
    for entry in hidden {
        let held = File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_err());
        if !held {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A result in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where.
    pub path: PathBuf,
    /// Whether a file that was there had to go.
    pub replaced: bool,
}

impl std::fmt::Display for Placed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.path.display(), if self.replaced { " (replaced)" } else { "" })
    }
}

/// What a run that ends at once leaves behind, to be removed.
#[derive(Clone, Debug)]
pub struct Leftovers {
    staging: PathBuf,
    directory: PathBuf,
    made: Option<PathBuf>,
}

impl Leftovers {
    /// Best effort: nobody is left to tell.
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.staging);
        if let Some(made) = &self.made {
            remove_empty(&self.directory, made);
        }
    }
}

impl Output {
    /// Prepares to write files of these names into `directory`, which is made if it does not exist, with its parents.
    /// `inputs` are the files that are read; `-` is standard input.
    ///
    /// # Errors
    /// If the directory cannot be made or written to, or is not a directory; if one of the names is not a plain file
    /// name, or something else than a file, or one of `inputs`, stands there under it.
    pub fn create(directory: impl Into<PathBuf>, names: &[&str], inputs: &[&Path]) -> Result<Output, OutputError> {
        let directory = directory.into();
        if directory.as_os_str().is_empty() {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "the name is empty");
            return Err(OutputError { doing: "make the output directory", path: directory, source });
        }
        directory_or_none(&directory)?;
        check(&directory, names, inputs)?;
        let (made, declared) = (first_missing(&directory), names.iter().map(ToString::to_string).collect());
        let mut output = Output { directory, made, staging: None, declared, names: Vec::new() };
        // From here on, dropping `output` takes away what was made.
        let path = &output.directory;
        fs::create_dir_all(path).map_err(OutputError::at("make the output directory", path))?;
        let staging = Staging::create(path).map_err(own_reason);
        output.staging = Some(staging.map_err(OutputError::at("write into the output directory", path))?);
        Ok(output)
    }

    /// What to remove if the program ends at once.
    pub fn leftovers(&self) -> Option<Leftovers> {
        let staging = self.staging.as_ref()?.path().to_path_buf();
        Some(Leftovers { staging, directory: self.directory.clone(), made: self.made.clone() })
    }

    /// The directory that the results go to.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Opens a new file of the results. It counts only after its [`OutputFile::finish`].
    ///
    /// # Errors
    /// If `name` is none of those that were given at first, was used before, or the file cannot be made.
    pub fn file(&mut self, name: &str) -> Result<OutputFile, OutputError> {
        let path = self.directory.join(name);
        let has = |names: &[String]| names.iter().any(|n| n == name);
        let problem = match (has(&self.declared), has(&self.names), &self.staging) {
            (false, _, _) => "no result was to have this name",
            (_, true, _) => "two results of this name",
            (_, _, None) => "the results are already in place",
            (true, false, Some(staging)) => {
                let file = File::create(staging.path().join(name)).map_err(OutputError::at("create", &path))?;
                self.names.push(name.into());
                return Ok(OutputFile { file: BufWriter::with_capacity(1 << 16, file), path });
            }
        };
        Err(OutputError { doing: "create", path, source: io::Error::new(io::ErrorKind::InvalidInput, problem) })
    }

    /// Writes a whole file of the results.
    ///
    /// # Errors
    /// As [`Output::file`] and [`OutputFile::finish`].
    pub fn write(&mut self, name: &str, contents: &[u8]) -> Result<(), OutputError> {
        let mut file = self.file(name)?;
        file.write_all(contents).map_err(OutputError::at("write", &file.path))?;
        file.finish()
    }

    /// Moves all files into place, replacing those of the same names and leaving others alone. Returns them in the
    /// order in which they were opened.
    ///
    /// # Errors
    /// If a file cannot be moved. What was moved before is taken back: new files are removed and replaced ones
    /// restored.
    pub fn commit(mut self) -> Result<Vec<Placed>, OutputError> {
        let Some(staging) = self.staging.take() else { return Ok(Vec::new()) };
        let mut moves = Moves { done: Vec::new(), kept: staging.path().join(".replaced") };
        let paths: Vec<PathBuf> = self.names.iter().map(|name| self.directory.join(name)).collect();
        let moved = fs::create_dir(&moves.kept)
            .map_err(OutputError::at("write into the output directory", &self.directory))
            .and_then(|()| {
                paths.iter().zip(&self.names).try_for_each(|(to, name)| moves.replace(staging.path(), name, to))
            });
        if let Err(e) = moved {
            moves.undo();
            drop(staging);
            return Err(e);
        }
        self.made = None;
        // The results are in place; a leftover hidden directory would not make them less so.
        let _ = staging.directory.close();
        let placed = |(path, former): (PathBuf, Option<PathBuf>)| Placed { path, replaced: former.is_some() };
        Ok(moves.done.into_iter().map(placed).collect())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        drop(self.staging.take());
        if let Some(made) = &self.made {
            remove_empty(&self.directory, made);
        }
    }
}

/// Files moved into place so far, with what they replaced.
struct Moves {
    done: Vec<(PathBuf, Option<PathBuf>)>,
    kept: PathBuf,
}

impl Moves {
    fn replace(&mut self, from: &Path, name: &str, to: &Path) -> Result<(), OutputError> {
        replaceable(to)?;
        let replaced = self.kept.join(name);
        let replaced = match fs::hard_link(to, &replaced).or_else(|_| fs::copy(to, &replaced).map(|_| ())) {
            Ok(()) => Some(replaced),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(OutputError::at("keep the former", to)(e)),
        };
        fs::rename(from.join(name), to).map_err(OutputError::at("put in place", to))?;
        self.done.push((to.into(), replaced));
        Ok(())
    }

    /// Best effort: the error that led here is the one to report.
    fn undo(&self) {
        for (to, replaced) in self.done.iter().rev() {
            let _ = match replaced {
                Some(former) => fs::rename(former, to),
                None => fs::remove_file(to),
            };
        }
    }
}

/// That files of these names can be put in place.
fn check(directory: &Path, names: &[&str], inputs: &[&Path]) -> Result<(), OutputError> {
    let input = |path: &Path| if path == Path::new("-") { "/dev/stdin".into() } else { path.to_path_buf() };
    let inputs: Vec<PathBuf> = inputs.iter().filter_map(|path| input(path).canonicalize().ok()).collect();
    names.iter().try_for_each(|name| {
        let path = directory.join(name);
        if Path::new(name).file_name().is_none_or(|n| n != *name) {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "not a plain file name");
            return Err(OutputError { doing: "create", path, source });
        }
        replaceable(&path)?;
        if path.canonicalize().is_ok_and(|path| inputs.contains(&path)) {
            let source = io::Error::new(io::ErrorKind::AlreadyExists, "it is read, and a result has its name");
            return Err(OutputError { doing: "replace", path, source });
        }
        Ok(())
    })
}

/// That a file may be put in place: a device, a pipe or a link of this name would be gone afterwards.
fn replaceable(path: &Path) -> Result<(), OutputError> {
    let why = match path.symlink_metadata() {
        Ok(there) if there.is_symlink() => "it is a link; name the file that it leads to",
        Ok(there) if !there.is_file() => "it is not an ordinary file",
        _ => return Ok(()),
    };
    let source = io::Error::new(io::ErrorKind::AlreadyExists, why);
    Err(OutputError { doing: "put a file in place at", path: path.into(), source })
}

/// A file of the results. Dropping it without [`OutputFile::finish`] loses errors of the last writes.
#[derive(Debug)]
pub struct OutputFile {
    file: BufWriter<File>,
    path: PathBuf,
}

impl OutputFile {
    /// Writes what is left and waits until the disk has it.
    ///
    /// # Errors
    /// If that fails, as on a full disk.
    pub fn finish(self) -> Result<(), OutputError> {
        let OutputFile { file, path } = self;
        let file = file.into_inner().map_err(|e| OutputError::at("write", &path)(e.into_error()))?;
        file.sync_all().map_err(OutputError::at("write", &path))
    }

    /// Waits until the disk has what was flushed; for wrappers that flush and cannot give the file back.
    #[cfg(feature = "files")]
    pub(crate) fn sync(&self) -> Result<(), OutputError> {
        self.file.get_ref().sync_all().map_err(OutputError::at("write", &self.path))
    }

    /// Where the file will stand.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An error of this file from an error of writing to it.
    pub fn error(&self, source: io::Error) -> OutputError {
        OutputError::writing(&self.path, source)
    }
}

impl Write for OutputFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.file.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The operating system's error without the name of the hidden directory, which `tempfile` adds in words alone.
fn own_reason(e: io::Error) -> io::Error {
    match e.to_string().split_once(" at path ") {
        Some((reason, _)) if e.get_ref().is_some() => io::Error::new(e.kind(), reason),
        _ => e,
    }
}

/// Refuses what is there and is not a directory.
pub(crate) fn directory_or_none(path: &Path) -> Result<(), OutputError> {
    if path.is_dir() || !path.exists() {
        return Ok(());
    }
    let source = io::Error::new(io::ErrorKind::NotADirectory, "it exists and is not a directory");
    Err(OutputError::at("make the output directory", path)(source))
}

/// The outermost ancestor of `directory` (or itself) that does not exist.
fn first_missing(directory: &Path) -> Option<PathBuf> {
    let missing = |p: &&Path| !p.as_os_str().is_empty() && p.symlink_metadata().is_err();
    directory.ancestors().take_while(missing).last().map(Path::to_path_buf)
}

/// Removes `directory` and its parents up to `made`, as far as they are empty.
fn remove_empty(directory: &Path, made: &Path) {
    for path in directory.ancestors() {
        let gone = fs::remove_dir(path).is_ok() || path.symlink_metadata().is_err();
        if path == made || !gone {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
