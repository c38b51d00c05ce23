//! A network namespace of a test's own, for as long as a closure runs in it.

use std::io;
use std::process::{Command, Stdio};
use std::thread;

/// Run `test` on a thread of its own in a new network namespace, which ends with it: with two interfaces `left` and `right`
/// that are each other's cable, without any offloads. Skips, and says so, where that is not permitted.
pub fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let thread = thread::spawn(|| {
        // SAFETY: takes no pointers; only this thread changes its namespace, and does nothing else before or after.
        #[allow(unsafe_code)]
        let entered = unsafe { libc::unshare(libc::CLONE_NEWNET) };
        if entered != 0 {
            eprintln!("skipped: needs root for a network namespace ({})", io::Error::last_os_error());
            return;
        }
        ip("link add left type veth peer name right");
        for name in ["left", "right"] {
            // Without addresses of its own the kernel sends nothing of itself.
            ip(&format!("link set {name} addrgenmode none"));
            run("ethtool", &format!("-K {name} tx off rx off tso off gso off gro off sg off txvlan off rxvlan off"));
            ip(&format!("link set {name} up"));
        }
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// `ip ARGUMENTS` in the namespace of the calling thread.
pub fn ip(arguments: &str) {
    run("ip", arguments);
}

/// A program in the namespace of the calling thread, which its children inherit.
pub fn run(program: &str, arguments: &str) {
    let output = Command::new(program).args(arguments.split_whitespace()).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}
