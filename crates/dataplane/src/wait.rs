//! Sleeping until a frame comes.

use std::os::fd::RawFd;
use std::ptr;

use dovetail_units::Duration;

/// Sleep until one of these can be read, a signal comes, or `at_most` has passed.
pub fn readable(ports: [Option<RawFd>; 2], at_most: Duration) {
    // A negative descriptor is skipped.
    let watch = |port: Option<RawFd>| libc::pollfd { fd: port.unwrap_or(-1), events: libc::POLLIN, revents: 0 };
    let mut watched = ports.map(watch);
    let nanos = at_most.as_nanos();
    let timeout = libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: both pointers are to live values of the sizes given; no signal mask is set. Any outcome, errors included,
    // means: look again.
    #[expect(unsafe_code)]
    unsafe {
        libc::ppoll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, &timeout, ptr::null());
    }
}
