//! What the disciplines that share one resource of the pipeline have in common: which resource, what a packet is
//! charged, and a fluid clock.
//!
//! A packet that needs no time on the resource counts as one nanosecond there: with nothing at all, a flow of such
//! packets would never give way.

mod clock;

use alloc::format;

use dovetail_units::Duration;

use crate::catalog::Parameter;
use crate::spec::{Spec, SpecError};

pub use clock::{FluidClock, most_events};

/// The parameter that says which resource is shared.
pub const RESOURCE: Parameter = Parameter {
    name: "resource",
    value: "0, 1, .. in the order of the pipeline",
    default: "the last",
    meaning: "the resource that is shared; the others are ignored",
    settable: false,
};

/// The resource that `spec` names, of `M`; the last one if it names none.
pub(crate) fn resource<const M: usize>(spec: &Spec) -> Result<usize, SpecError> {
    let last = M.saturating_sub(1);
    let Some(value) = spec.value(RESOURCE.name) else { return Ok(last) };
    let expected = format!("a resource from 0 to {last}, counted along the pipeline");
    value.parse().ok().filter(|&r| r <= last).ok_or_else(|| SpecError::bad_value(RESOURCE.name, value, &expected))
}

/// What a packet of this processing time is charged, in nanoseconds: at least one. No packet takes 2^62.
#[inline]
pub(crate) fn charged(time: Duration) -> i64 {
    time.as_nanos().max(1) as i64
}

/// What a packet is charged on `R` resources, in nanoseconds: one on the first if it needs no time at all. No packet
/// takes 2^62.
#[inline]
pub(crate) fn charges<const R: usize>(times: [Duration; R]) -> [i64; R] {
    let mut nanos = times.map(|time| time.as_nanos() as i64);
    if let (Some(first), true) = (nanos.first_mut(), times.iter().all(|&time| time == Duration::ZERO)) {
        *first = 1;
    }
    nanos
}
