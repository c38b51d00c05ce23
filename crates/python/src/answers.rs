//! What a scheduler answers: a packet, or why there is none now.

use dovetail_sched::FlowId;
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::pipeline::AnyTicket;

/// A flow of one scheduler.
#[pyclass(frozen, eq, hash, module = "dovetail")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flow {
    /// Of which scheduler.
    pub owner: u64,
    /// Which.
    pub id: FlowId,
}

#[pymethods]
impl Flow {
    /// Its number from 0, in the order of set-up; that of a removed flow is given again.
    #[getter]
    fn index(&self) -> usize {
        self.id.index()
    }

    fn __repr__(&self) -> String {
        format!("<dovetail.Flow {}>", self.id.index())
    }
}

/// A packet to put into the first resource now.
// It need not be cleared of its payload, which is older: whatever refers back to it can be.
#[pyclass(frozen, module = "dovetail")]
pub struct Served {
    /// Of which scheduler.
    pub owner: u64,
    /// Its ticket, of so many resources as the scheduler has.
    pub ticket: Box<dyn AnyTicket>,
    /// Its flow.
    #[pyo3(get)]
    pub flow: Py<Flow>,
    /// Its length in bytes.
    #[pyo3(get)]
    pub size: u32,
    /// The caller's own.
    #[pyo3(get)]
    pub payload: Py<PyAny>,
}

#[pymethods]
impl Served {
    /// What the flow is charged for it, in nanoseconds on every resource: estimates, replaced by measurements.
    #[getter]
    fn charged<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.ticket.charged())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.payload)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let payload = crate::values::shown(self.payload.bind(py))?;
        let (size, flow) = (self.size, self.flow.get().id.index());
        Ok(format!("<dovetail.Served: {size} bytes of flow {flow}, payload {payload}>"))
    }
}

/// The first packet of a flow is dropped: ask again.
#[pyclass(frozen, module = "dovetail")]
pub struct Dropped {
    /// Its flow.
    #[pyo3(get)]
    pub flow: Py<Flow>,
    /// Its length in bytes.
    #[pyo3(get)]
    pub size: u32,
    /// The caller's own.
    #[pyo3(get)]
    pub payload: Py<PyAny>,
}

#[pymethods]
impl Dropped {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.payload)
    }

    fn __bool__(&self) -> bool {
        false
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let payload = crate::values::shown(self.payload.bind(py))?;
        let (size, flow) = (self.size, self.flow.get().id.index());
        Ok(format!("<dovetail.Dropped: {size} bytes of flow {flow}, payload {payload}>"))
    }
}

/// Packets wait, but none may start before this time.
#[pyclass(frozen, eq, hash, module = "dovetail")]
#[derive(PartialEq, Hash)]
pub struct At {
    /// In nanoseconds.
    #[pyo3(get)]
    pub time: u64,
}

#[pymethods]
impl At {
    #[new]
    fn new(time: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { time: crate::values::time(time, "time")?.as_nanos() })
    }

    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("time",)
    }

    fn __bool__(&self) -> bool {
        false
    }

    fn __repr__(&self) -> String {
        format!("dovetail.At({})", self.time)
    }
}

/// Packets wait, but none may start before some packet in the pipeline makes progress.
#[pyclass(frozen, eq, hash, module = "dovetail")]
#[derive(PartialEq, Hash)]
pub struct AwaitProgress;

#[pymethods]
impl AwaitProgress {
    #[new]
    fn new() -> Self {
        Self
    }

    fn __bool__(&self) -> bool {
        false
    }

    fn __repr__(&self) -> &'static str {
        "dovetail.AwaitProgress()"
    }
}

/// No packet waits.
#[pyclass(frozen, eq, hash, module = "dovetail")]
#[derive(PartialEq, Hash)]
pub struct Empty;

#[pymethods]
impl Empty {
    #[new]
    fn new() -> Self {
        Self
    }

    fn __bool__(&self) -> bool {
        false
    }

    fn __repr__(&self) -> &'static str {
        "dovetail.Empty()"
    }
}
