//! Memory that a run gives back.

/// Bytes of a large block.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 4 << 20;

/// Large blocks go back to the system as soon as they are freed. By itself glibc keeps freed ones of up to 32 MB, which
/// what other runs of many flows need then does not fit into. To be called while there is one thread.
pub fn give_back_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "there is no other way to tell the allocator")]
    // SAFETY: `mallopt` takes any numbers, and asks that nothing else is allocating meanwhile.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}
