//! Files that a box is made of.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The longest file, bytes: whatever reads it, a mistake must not fill the memory.
pub const LONGEST: u64 = 1 << 20;

/// Open an ordinary file: what else may stand under the name has no end, or may come at any time.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    // Not to wait for whoever writes to a pipe.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok((file, metadata)),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is no ordinary file")),
    }
}

/// All that stands in a file, if that is not too much.
pub(crate) fn read(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match file.take(LONGEST + 1).read_to_end(&mut bytes)? as u64 {
        0..=LONGEST => Ok(bytes),
        _ => Err(io::Error::new(ErrorKind::FileTooLarge, "it is longer than 1 MiB")),
    }
}

/// All that stands in the ordinary file of this name.
pub(crate) fn read_at(path: &Path) -> io::Result<Vec<u8>> {
    open(path).and_then(|(file, _)| read(file))
}

/// These bytes as text.
pub(crate) fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is no text in UTF-8"))
}
