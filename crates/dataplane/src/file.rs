//! Files that a box is made of.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
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
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is not an ordinary file")),
    }
}

/// Whether somebody besides the file's owner, the user of this process and root has access to it. systemd gives a
/// credential to root, and to the user of the service by an entry of an access control list; the mode then shows for
/// the group what is the most that such entries allow.
pub(crate) fn is_open_to_others(file: &File, metadata: &Metadata) -> bool {
    let mode = metadata.permissions().mode();
    mode & 0o007 != 0 || mode & 0o070 != 0 && !acl(file).is_some_and(|acl| acl.chunks_exact(8).all(is_ours))
}

/// The entries of the file's access control list, eight bytes each; `None` if it has none.
fn acl(file: &File) -> Option<Vec<u8>> {
    let mut list = [0; 1024];
    let len = rustix::fs::fgetxattr(file, "system.posix_acl_access", &mut list).ok()?;
    // linux/posix_acl_xattr.h: version 2, then for each entry what it is about, what it allows, and whom.
    list[..len].strip_prefix(&2_u32.to_le_bytes()).map(<[u8]>::to_vec)
}

/// Whether an entry allows nothing to anybody but the owner, this process and root.
fn is_ours(entry: &[u8]) -> bool {
    const OWNER: u16 = 0x01;
    const USER: u16 = 0x02;
    const MASK: u16 = 0x10;
    let short = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
    let whom = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
    match (short(0), short(2)) {
        (OWNER | MASK, _) | (_, 0) => true,
        (USER, _) => whom == 0 || whom == rustix::process::geteuid().as_raw(),
        _ => false,
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
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    /// An access control list: what each entry is about, what it allows, and whom.
    fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let entry = |&(about, allows, whom): &(u16, u16, u32)| {
            [&about.to_le_bytes()[..], &allows.to_le_bytes(), &whom.to_le_bytes()].concat()
        };
        [2_u32.to_le_bytes().to_vec(), entries.iter().flat_map(entry).collect()].concat()
    }

    #[test]
    fn a_key_is_taken_as_systemd_gives_it_and_not_if_anybody_else_can_read_it() {
        const NOBODY: u32 = u32::MAX;
        let file = tempfile::NamedTempFile::new().unwrap();
        let is_open = || {
            let (file, metadata) = open(file.path()).unwrap();
            (is_open_to_others(&file, &metadata), metadata.permissions().mode() & 0o777)
        };
        for (mode, open) in [(0o600, false), (0o400, false), (0o440, true), (0o640, true), (0o604, true)] {
            file.as_file().set_permissions(Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_open(), (open, mode));
        }
        file.as_file().set_permissions(Permissions::from_mode(0o400)).unwrap();
        let own = rustix::process::geteuid().as_raw();
        // The owner, this user or another, the owning group, another group, the most that is allowed, everybody.
        let with = |user: u32, group: u16, other_group: u16| {
            let entries = [
                (0x01, 4, NOBODY),
                (0x02, 4, user),
                (0x04, group, NOBODY),
                (0x08, other_group, 12_345),
                (0x10, 4, NOBODY),
                (0x20, 0, NOBODY),
            ];
            list(&entries)
        };
        let flags = rustix::fs::XattrFlags::empty();
        let set = |acl: Vec<u8>| rustix::fs::fsetxattr(file.as_file(), "system.posix_acl_access", &acl, flags);
        if let Err(error) = set(with(own, 0, 0)) {
            eprintln!("skipped: no access control lists here: {error}");
            return;
        }
        assert_eq!(is_open(), (false, 0o440), "as of LoadCredential=");
        for (user, group, other_group) in [(own + 4321, 0, 0), (own, 4, 0), (own, 0, 4)] {
            set(with(user, group, other_group)).unwrap();
            assert_eq!(is_open(), (true, 0o440), "{user} {group} {other_group}");
        }
    }
}
