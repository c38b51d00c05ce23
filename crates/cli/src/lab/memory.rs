//! What a process has of the machine's memory.

use std::fs;

use crate::failure::Failure;

/// Memory of its own, heaps and stacks, bytes: without the rings that the kernel shares, and without the program, of
/// which more is there the more of it has run.
pub fn of_process(id: u32) -> Result<u64, Failure> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).map_err(Failure::run)?;
    let own =
        status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.trim().parse().ok());
    let own: u64 = own.ok_or_else(|| Failure::Run("the kernel does not tell the box's memory".into()))?;
    Ok(own * 1024)
}
