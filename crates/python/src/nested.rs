//! Calls of Python from here, which may call this package again, and so on.

use std::cell::Cell;

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;

/// So many such calls may be within one another. Python's own limit does not know how much stack is used here: some
/// 150 simulations fill it.
const DEEPEST: u32 = 32;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Leaves a call, also where it panics.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Call Python, unless such calls are within one another too deeply.
pub fn calling<T>(call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    if DEPTH.get() == DEEPEST {
        return Err(PyRecursionError::new_err("calls of dovetail within one another are nested too deeply"));
    }
    DEPTH.set(DEPTH.get() + 1);
    let _leave = Leave;
    call()
}
