//! A network namespace of a test's own, for as long as a closure runs in it; and frames as plain bytes.

use std::collections::VecDeque;
use std::io;
use std::process::{Command, Stdio};
use std::thread;

use dovetail_units::Time;

use super::Port;
use crate::frame::Pool;

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

/// Send frames of these bytes; all must be taken.
pub fn send(port: &mut dyn Port, pool: &mut Pool, all: impl IntoIterator<Item = Vec<u8>>) {
    let mut frames = VecDeque::new();
    for data in all {
        let mut frame = pool.take();
        frame.fill(Time::ZERO, &data, port.link());
        frames.push_back(frame);
    }
    port.send(Time::ZERO, &mut frames, pool).unwrap();
    assert!(frames.is_empty(), "{} is full", port.name());
}

/// Everything that has come to the port. What is sent to a virtual interface has come when sending returns, but for a
/// packet that another processor is just delivering: so it is asked for a while.
pub fn received(port: &mut dyn Port, pool: &mut Pool) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for _ in 0..1000 {
        port.receive(Time::ZERO, pool, &mut frames).unwrap();
        thread::yield_now();
    }
    let data = frames.iter().map(|frame| frame.data().to_vec()).collect();
    frames.into_iter().for_each(|frame| pool.give(frame));
    data
}
