//! All that can be asked of a discipline without knowing how it decides.

use dovetail_sched::catalog::find;
use dovetail_sched::gain::Strategy;

use crate::conformance;
use crate::gaming::{self, Effort};

/// The [`conformance`] of one spec, and, where the discipline shares processing time, that no strategy of
/// [`gaming`] gains a flow more than its entry states. Seconds, in a build with `opt-level = 1`.
///
/// ```
/// # dovetail_testkit::conformance::fuzz("drr", 2, &[1, 2, 3]).unwrap(); // The whole takes too long here.
/// # if false {
/// dovetail_testkit::suite::check("drr:quantum=1 ms").unwrap();
/// # }
/// ```
///
/// # Errors
///
/// All that is wrong, a line each.
pub fn check(spec: &str) -> Result<(), String> {
    let mut wrong: Vec<String> = conformance::check(spec).err().into_iter().collect();
    let name = spec.split(':').next().unwrap_or_default();
    if find(name).is_some_and(|entry| entry.shares_time()) {
        wrong.extend(Strategy::ALL.iter().filter_map(|&by| gaming::check(spec, by, Effort::SMALL).err()));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}
