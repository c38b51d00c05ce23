//! Whether standard output was open when the program began.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when the program began (`>&-` in a shell). The standard library has put the null
/// device in its place by now, where everything written is lost without an error.
pub fn output_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Called by the loader before the standard library looks at the descriptors.
#[used]
#[allow(unsafe_code)]
// SAFETY: the section holds pointers to functions that take no argument they need, as this one does.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: the call takes two numbers and changes nothing.
    #[allow(unsafe_code)]
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}
