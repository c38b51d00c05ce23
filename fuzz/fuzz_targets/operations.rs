//! Operations on a scheduler: the first byte chooses the discipline, the second the number of resources, the others
//! what is done.
#![no_main]

use dovetail_testkit::conformance::fuzz_any;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(broken) = fuzz_any(bytes) {
        panic!("{broken}");
    }
});
