//! The extension module of the Python package `dovetail`: what the package's own sources in `python/dovetail` make
//! pleasant to use, and describe in their stubs.
//!
//! * [`run`]: comparisons, advice, reproductions; [`background`] keeps Python alive meanwhile.
//! * [`sweep`]: plans, and the runs of one.
//! * [`scheduler`], [`answers`]: any scheduler as an object, [`pipeline`] in it with [`payloads`], in the [`turn`] of
//!   one call; [`discipline`]: one that is written in Python.
//! * [`table`], [`capture`]: results and captures as Arrow; [`model`](mod@model): the model's functions.
//! * [`values`], [`error`]: what comes in, checked, and what goes wrong; [`nested`]: what Python is asked meanwhile.

pub mod answers;
pub mod background;
pub mod capture;
pub mod discipline;
pub mod error;
pub mod model;
pub mod nested;
pub mod payloads;
pub mod pipeline;
pub mod run;
pub mod scheduler;
pub mod sweep;
pub mod table;
pub mod turn;
pub mod values;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::answers::{At, AwaitProgress, Dropped, Empty, Flow, Served};
    #[pymodule_export]
    use crate::capture::packets;
    #[pymodule_export]
    use crate::model::model;
    #[pymodule_export]
    use crate::nested::end;
    #[pymodule_export]
    use crate::run::{Runs, advise, reproduce, run, schedulers};
    #[pymodule_export]
    use crate::scheduler::Scheduler;
    #[pymodule_export]
    use crate::sweep::{Plan, Sweep};
    #[pymodule_export]
    use crate::table::Table;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
