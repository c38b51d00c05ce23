//! What goes wrong here, as the package's own exceptions.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dovetail_config::InputError;
use dovetail_experiment::advise::AdviseError;
use dovetail_experiment::compare::RunError;
use dovetail_experiment::sweep::SweepError;
use dovetail_model::ModelError;
use dovetail_papers::ReproduceError;
use dovetail_sched::{SpecError, UnknownFlow};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// An exception to be: the class of `dovetail`, and what it says.
#[derive(Debug)]
pub struct Wrong {
    class: &'static str,
    message: Box<str>,
    place: Option<String>,
    text: Option<String>,
    hint: Option<String>,
    expected: Box<[String]>,
}

impl Wrong {
    /// Of this class, with this message; what it advises at its end is the hint.
    pub fn new(class: &'static str, message: impl Display) -> Self {
        let message = message.to_string();
        let advice = message.rsplit_once("; did you mean ").map(|(_, rest)| format!("did you mean {rest}"));
        Self { class, message: message.into(), place: None, text: None, hint: advice, expected: Box::default() }
    }

    /// About an argument.
    pub fn argument(message: impl Display) -> Self {
        Self::new("ArgumentError", message)
    }

    /// With the text that is wrong.
    pub fn about(mut self, text: &str) -> Self {
        self.text = Some(text.to_string());
        self
    }

    /// With the place where it is.
    pub fn at(mut self, place: &str) -> Self {
        self.place = Some(place.to_string());
        self
    }

    /// Of this class, from what the program says of its input.
    pub fn of_input(class: &'static str, error: &InputError) -> Self {
        let wrong = Self::new(class, error);
        let hint = error.help().map(str::to_string).or(wrong.hint);
        let expected = error.expected().map(str::to_string).collect();
        Self { place: error.place(), text: error.wrong().map(str::to_string), hint, expected, ..wrong }
    }

    fn panicked(panic: &(dyn Any + Send)) -> Self {
        let said = panic.downcast_ref::<&str>().copied().map(str::to_string);
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Self::new("InternalError", format!("a mistake in dovetail itself: {said}"))
    }

    fn raise(self, py: Python<'_>) -> PyResult<PyErr> {
        let details = PyDict::new(py);
        details.set_item("place", self.place)?;
        details.set_item("text", self.text)?;
        details.set_item("hint", self.hint)?;
        details.set_item("expected", PyTuple::new(py, &self.expected)?)?;
        let class = py.import("dovetail._errors")?.getattr(self.class)?;
        Ok(PyErr::from_value(class.call((&*self.message,), Some(&details))?))
    }
}

impl From<Wrong> for PyErr {
    fn from(wrong: Wrong) -> Self {
        Python::attach(|py| wrong.raise(py).unwrap_or_else(|error| error))
    }
}

impl From<InputError> for Wrong {
    fn from(error: InputError) -> Self {
        Self::of_input("InputError", &error)
    }
}

impl From<SpecError> for Wrong {
    fn from(error: SpecError) -> Self {
        RunError::from(error).into()
    }
}

impl From<RunError> for Wrong {
    fn from(error: RunError) -> Self {
        match &error {
            RunError::Spec(spec) => Self::of_input("SchedulerError", spec),
            RunError::Sim { scheduler, .. } => Self::new("RunError", &error).about(scheduler),
            RunError::Cancelled => Self::new("RunError", error),
        }
    }
}

impl From<AdviseError> for Wrong {
    fn from(error: AdviseError) -> Self {
        match error {
            AdviseError::Input(error) => error.into(),
            AdviseError::Run(error) => error.into(),
        }
    }
}

impl From<SweepError> for Wrong {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Plan(error) => (*error).into(),
            SweepError::InUse(_) | SweepError::Stranger(_) => Self::argument(error),
            other => Self::new("RunError", other),
        }
    }
}

impl From<ReproduceError> for Wrong {
    fn from(error: ReproduceError) -> Self {
        match error {
            ReproduceError::Scenario(error) => (*error).into(),
            ReproduceError::Run(error) => error.into(),
            ReproduceError::Id(message) => Self::argument(message),
            other => Self::new("RunError", other),
        }
    }
}

impl From<ModelError> for Wrong {
    fn from(error: ModelError) -> Self {
        Self::new("ModelError", error)
    }
}

impl From<UnknownFlow> for Wrong {
    fn from(_: UnknownFlow) -> Self {
        Self::new("UnknownFlow", "there is no such flow (any more) in this scheduler")
    }
}

/// Do this; a panic is an exception too.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Wrong> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Wrong::panicked(panic.as_ref()))
}
