//! CLOCK_MONOTONIC: the same for all processes and namespaces of a machine.

use dovetail_units::{Duration, Time};
use nix::time::{ClockId, clock_gettime};

/// The time on CLOCK_MONOTONIC.
pub fn now() -> Time {
    // The clock exists on every Linux and the pointer is nix's own, so there is no error to be had.
    let at = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("CLOCK_MONOTONIC can be read");
    Time::from_nanos(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64)
}

/// Do nothing for so long.
#[expect(clippy::disallowed_methods, reason = "traffic is sent and measured in real time")]
pub fn pause(time: Duration) {
    std::thread::sleep(std::time::Duration::from_nanos(time.as_nanos()));
}
