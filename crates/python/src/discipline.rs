//! Disciplines that are written in Python: objects with a few methods, asked what the trait asks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use dovetail_experiment::compare::Own;
use dovetail_sched::queues::Queues;
use dovetail_sched::{Choice, Discipline, PerFlow, Progress, Scheduler, SpecError, Ticket, Took};
use dovetail_units::{ResourceVec, Time, Weight};
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTuple, PyType};

use crate::answers::{At, AwaitProgress};
use crate::error::Wrong;
use crate::nested::calling;
use crate::values::{if_converted, wrong};

/// What the methods of a discipline raised first, after which it is asked no more.
#[derive(Default)]
pub struct Raised {
    error: Mutex<Option<PyErr>>,
    /// Whether there was anything; also ends a simulation.
    pub any: AtomicBool,
}

impl Raised {
    /// Whether there is anything to raise.
    pub fn is_any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Note this, if it is the first.
    pub fn note(&self, error: PyErr) {
        if let Ok(mut first) = self.error.lock() {
            first.get_or_insert(error);
        }
        self.any.store(true, Ordering::Relaxed);
    }

    /// Raise what there was, which is forgotten.
    pub fn raise(&self) -> PyResult<()> {
        if !self.any.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        self.error.lock().ok().and_then(|mut first| first.take()).map_or(Ok(()), Err)
    }
}

/// A discipline's methods, bound to its object.
pub struct Methods {
    name: String,
    added: Py<PyAny>,
    arrived: Py<PyAny>,
    choose: Py<PyAny>,
    served: Py<PyAny>,
    /// Those that it need not have.
    progressed: Option<Py<PyAny>>,
    corrected: Option<Py<PyAny>>,
    reweighed: Option<Py<PyAny>>,
    removed: Option<Py<PyAny>>,
}

impl Methods {
    /// Show all to the garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Self { added, arrived, choose, served, progressed, corrected, reweighed, removed, name: _ } = self;
        [added, arrived, choose, served].into_iter().try_for_each(|method| visit.call(method))?;
        [progressed, corrected, reweighed, removed].into_iter().try_for_each(|method| visit.call(method))
    }
}

/// A discipline of Python.
#[derive(Clone)]
pub struct Scripted {
    /// What is asked.
    pub methods: Arc<Methods>,
    /// What it raised.
    pub raised: Arc<Raised>,
    /// By index: whether there is such a flow.
    live: Vec<bool>,
}

impl Scripted {
    /// An object with the methods of a discipline, or a class of such.
    pub fn new(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let object = match given.cast::<PyType>() {
            Ok(class) => class.call0()?,
            Err(_) => given.clone(),
        };
        let class = object.get_type();
        let own_name = object.getattr_opt("name")?.and_then(|name| name.extract::<String>().ok());
        let name = own_name.map_or_else(|| class.name().map(|name| name.to_string()), Ok)?;
        let base = given.py().import("dovetail")?.getattr("Discipline")?;
        let method = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            Ok(object.getattr_opt(name)?.filter(Bound::is_callable).map(Bound::unbind))
        };
        let needed = |method_name: &str| {
            method(method_name)?.ok_or_else(|| {
                wrong(&object, |found| {
                    let message = format!(
                        "{found} is not a discipline: it has no method {method_name}; expected a scheduler's name, or \
                         an object with added, arrived, choose and served (see dovetail.Discipline)"
                    );
                    Wrong::new("SchedulerError", message)
                })
            })
        };
        // What the base class has does nothing, and need not be called.
        let optional = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            let of_class = class.getattr_opt(name)?;
            let inherited = of_class.zip(base.getattr_opt(name)?).is_some_and(|(own, base)| own.is(&base));
            Ok(method(name)?.filter(|_| !inherited))
        };
        let methods = Methods {
            name,
            added: needed("added")?,
            arrived: needed("arrived")?,
            choose: needed("choose")?,
            served: needed("served")?,
            progressed: optional("progressed")?,
            corrected: optional("corrected")?,
            reweighed: optional("reweighed")?,
            removed: optional("removed")?,
        };
        Ok(Self { methods: Arc::new(methods), raised: Arc::default(), live: Vec::new() })
    }

    /// Ask Python, unless it has raised something before.
    fn ask<T>(&self, question: impl FnOnce(Python<'_>, &Methods) -> PyResult<T>) -> Option<T> {
        if self.raised.is_any() {
            return None;
        }
        Python::attach(|py| calling(|| question(py, &self.methods))).map_err(|error| self.raised.note(error)).ok()
    }

    /// What the answer of `choose` means.
    fn understood<const M: usize, P>(
        &self,
        answer: &Bound<'_, PyAny>,
        now: Time,
        queues: &Queues<M, P, (), ()>,
    ) -> PyResult<Choice> {
        let nonsense = |why: String| {
            let place = format!("{}.choose at {now}", self.methods.name);
            let message = |found: &str| format!("{place} returned {found}: {why}");
            wrong(answer, |found| Wrong::new("DisciplineError", message(found)).at(&place))
        };
        if let Ok(at) = answer.cast::<At>() {
            let time = at.get().time;
            return match time > now.as_nanos() {
                true => Ok(Choice::At(Time::from_nanos(time))),
                false => Err(nonsense("that is not later than now".into())),
            };
        }
        if answer.is_instance_of::<AwaitProgress>() {
            return Ok(Choice::AwaitProgress);
        }
        let waits = |index: u32| self.live.get(index as usize) == Some(&true) && queues.flow(index).packets > 0;
        let expected = || {
            let flows = (0..self.live.len() as u32).filter(|&index| waits(index));
            let first: Vec<String> = flows.take(8).map(|flow| flow.to_string()).collect();
            format!("expected the number of a flow with packets, which are {}", first.join(", "))
        };
        if answer.is_instance_of::<PyBool>() {
            return Err(nonsense(format!("{}, dovetail.At or dovetail.AwaitProgress", expected())));
        }
        if !answer.hasattr("__index__")? {
            return Err(nonsense(format!("{}, dovetail.At or dovetail.AwaitProgress", expected())));
        }
        match if_converted(answer.py(), answer.extract::<u32>())? {
            Some(flow) if waits(flow) => Ok(Choice::Flow(flow)),
            Some(flow) if self.live.get(flow as usize) == Some(&true) => {
                Err(nonsense(format!("no packet of that flow waits; {}", expected())))
            }
            _ => Err(nonsense(format!("there is no such flow; {}", expected()))),
        }
    }
}

/// Processing times in nanoseconds.
fn nanos<'py, const M: usize>(py: Python<'py>, cost: &ResourceVec<M>) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, cost.iter().map(|time| time.as_nanos()))
}

impl<const M: usize> Discipline<M> for Scripted {
    type Flow = ();
    type Stamp = ();
    type Note = ();

    fn added<P>(&mut self, flow: u32, queues: &mut Queues<M, P, (), ()>) {
        let index = flow as usize;
        self.live.resize(self.live.len().max(index + 1), false);
        self.live[index] = true;
        let weight = queues.flow(flow).weight().as_f64();
        self.ask(|py, methods| methods.added.call1(py, (flow, weight)).map(drop));
    }

    fn arrived<P>(&mut self, now: Time, flow: u32, slot: u32, queues: &mut Queues<M, P, (), ()>) {
        let packet = queues.slot(slot);
        let (size, cost) = (packet.size, packet.cost);
        self.ask(|py, methods| methods.arrived.call1(py, (now.as_nanos(), flow, size, nanos(py, &cost)?)).map(drop));
    }

    fn choose<P>(&mut self, now: Time, queues: &mut Queues<M, P, (), ()>) -> Choice {
        let choice = self.ask(|py, methods| {
            let answer = methods.choose.bind(py).call1((now.as_nanos(),))?;
            self.understood(&answer, now, queues)
        });
        choice.unwrap_or(Choice::AwaitProgress)
    }

    fn served<P>(&mut self, now: Time, flow: u32, cost: &ResourceVec<M>, _queues: &mut Queues<M, P, (), ()>) {
        self.ask(|py, methods| methods.served.call1(py, (now.as_nanos(), flow, nanos(py, cost)?)).map(drop));
    }

    fn progressed(&mut self, now: Time, ticket: &Ticket<M>, resource: usize, event: Progress) {
        let Some(progressed) = &self.methods.progressed else { return };
        let (event, used) = match event {
            Progress::Started => ("started", None),
            Progress::Finished { used } => ("finished", Some(used.as_nanos())),
            Progress::Abandoned => ("abandoned", None),
        };
        let flow = ticket.flow().index();
        self.ask(|py, _| {
            let event = PyString::intern(py, event);
            progressed.call1(py, (now.as_nanos(), flow, resource, event, used)).map(drop)
        });
    }

    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, _queues: &mut Queues<M, P, (), ()>) {
        let Some(corrected) = &self.methods.corrected else { return };
        self.ask(|py, _| {
            corrected.call1(py, (flow, nanos(py, &ticket.charged())?, nanos(py, &ticket.charged_with(took))?)).map(drop)
        });
    }

    fn reweighed<P>(&mut self, flow: u32, _old: Weight, queues: &mut Queues<M, P, (), ()>) {
        let Some(reweighed) = &self.methods.reweighed else { return };
        let weight = queues.flow(flow).weight().as_f64();
        self.ask(|py, _| reweighed.call1(py, (flow, weight)).map(drop));
    }

    fn removed<P>(&mut self, flow: u32, _queues: &mut Queues<M, P, (), ()>) {
        self.live[flow as usize] = false;
        let Some(removed) = &self.methods.removed else { return };
        self.ask(|py, _| removed.call1(py, (flow,)).map(drop));
    }

    fn set<P>(&mut self, parameter: &str, _: &str, _queues: &mut Queues<M, P, (), ()>) -> Result<(), SpecError> {
        let name = &self.methods.name;
        Err(SpecError::new(parameter, format!("{name} has no parameter that can change, so no {parameter:?}")))
    }
}

impl Own for Scripted {
    fn name(&self) -> &str {
        &self.methods.name
    }

    fn build<const M: usize>(&self) -> Box<dyn Scheduler<M, u32>> {
        Box::new(PerFlow::new(self.clone()))
    }
}
