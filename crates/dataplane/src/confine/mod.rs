//! What a box gives up once its ports and sockets are open: capabilities, new privileges, files that it does not need,
//! and system calls that it does not make.
//!
//! The rights are those of the calling thread and of the threads that it starts afterwards.

mod calls;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::PathBuf;

use caps::{CapSet, Capability};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, PathFdError, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};

use crate::config::Config;

/// What this version of the kernel's interface knows, and a kernel that knows less leaves out.
const KNOWN: ABI = ABI::V6;

/// What was given up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Confinement {
    /// Capabilities that the bounding set still has, bit by bit: programs that the box started might get them, if it
    /// could start any.
    bounding: u64,
    /// Folders in which files can be read; `None` if this kernel cannot limit that.
    read: Option<Vec<PathBuf>>,
    /// Folders in which files can be made and removed.
    written: Vec<PathBuf>,
    /// How many system calls are left; or why all are.
    calls: Result<usize, String>,
}

/// Give up what a box of `config` does not need any more. A kernel that cannot limit files or system calls is no error;
/// the answer tells.
///
/// # Errors
/// Capabilities cannot be given up, or one of the folders cannot be opened.
pub fn confine(config: &Config) -> io::Result<Confinement> {
    let bounding = drop_capabilities().map_err(io::Error::other)?;
    let (read, written) = (config.read_folders(), config.written_folders());
    let limited = limit_files(&read, &written)?;
    let calls = calls::limit().map_err(|error| error.to_string());
    Ok(Confinement { bounding, read: limited.then_some(read), written, calls })
}

/// All sets, and of the bounding one what can be: without `CAP_SETPCAP` nobody can change what programs that he
/// starts may get. What is left of it, as the kernel says; an error if anything is left of another one.
fn drop_capabilities() -> Result<u64, caps::errors::CapsError> {
    caps::clear(None, CapSet::Ambient)?;
    if caps::has_cap(None, CapSet::Permitted, Capability::CAP_SETPCAP)? {
        caps::raise(None, CapSet::Effective, Capability::CAP_SETPCAP)?;
        caps::clear(None, CapSet::Bounding)?;
    }
    caps::clear(None, CapSet::Inheritable)?;
    caps::clear(None, CapSet::Effective)?;
    caps::clear(None, CapSet::Permitted)?;
    for set in [CapSet::Ambient, CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        if !caps::read(None, set)?.is_empty() {
            return Err(format!("capabilities are left in the set {set:?}").into());
        }
    }
    Ok(caps::read(None, CapSet::Bounding)?.iter().map(|capability| capability.bitmask()).sum())
}

/// No new privileges, no files but in these folders, no new TCP connections, no abstract sockets and signals of others.
/// Whether the kernel does so for files.
fn limit_files(read: &[PathBuf], written: &[PathBuf]) -> io::Result<bool> {
    let making = AccessFs::MakeReg | AccessFs::WriteFile | AccessFs::RemoveFile;
    let [read, written] = [(read, AccessFs::ReadFile | AccessFs::ReadDir), (written, making)]
        .map(|(folders, access)| below(folders, access));
    let (read, written) = (read?, written?);
    limit_to(read, written).map_err(io::Error::other)
}

/// Access to these folders. What is not there, or not for the box, is left out.
fn below(folders: &[PathBuf], access: BitFlags<AccessFs>) -> io::Result<Vec<PathBeneath<PathFd>>> {
    let opened = folders.iter().filter_map(|folder| match PathFd::new(folder) {
        Ok(open) => Some(Ok(PathBeneath::new(open, access))),
        Err(PathFdError::OpenCall { source, .. })
            if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) =>
        {
            None
        }
        Err(error) => Some(Err(io::Error::other(error))),
    });
    opened.collect()
}

fn limit_to(read: Vec<PathBeneath<PathFd>>, written: Vec<PathBeneath<PathFd>>) -> Result<bool, landlock::RulesetError> {
    let rules = read.into_iter().chain(written).map(Ok::<_, landlock::RulesetError>);
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?
        .add_rules(rules)?
        .restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

impl fmt::Display for Confinement {
    /// One line for the operator.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bounding {
            0 => f.write_str("confined: no capabilities, no new privileges; ")?,
            left => write!(
                f,
                "confined: no capabilities, no new privileges, but for the bounding set (CapBnd {left:016x}): that \
                 takes CAP_SETPCAP; "
            )?,
        }
        match &self.read {
            None => f.write_str("files are not limited, since this kernel has no Landlock")?,
            Some(read) => write!(f, "reads {}, makes {}", list(read), list(&self.written))?,
        }
        match &self.calls {
            Ok(count) => write!(f, "; {count} system calls allowed"),
            Err(error) => write!(f, "; system calls are not limited: {error}"),
        }
    }
}

fn list(folders: &[PathBuf]) -> String {
    match folders {
        [] => "no files".to_string(),
        folders => {
            let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            format!("files only in {}", names.join(", "))
        }
    }
}
