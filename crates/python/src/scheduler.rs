//! Any scheduler as an object of Python.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use dovetail_sched::{
    DropReason, FlowConfig, FlowId, Limit, Next, Packet, PerFlow, Progress, Scheduler as Contract, Seen, Shape, Spec,
    SpecError, Stats, Steering, Ticket, UnknownFlow, build,
};
use dovetail_units::{Duration, Part, ResourceVec, Time, Weight};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::answers::{At, AwaitProgress, Dropped, Empty, Flow, Served};
use crate::discipline::{Raised, Scripted};
use crate::error::{Wrong, guarded};
use crate::values::{limit, part, shown, span, spans, time, weight, whole};

/// The most resources a pipeline can have.
const MOST_RESOURCES: u64 = 4;

type Payload = Py<PyAny>;

/// What is set up for a flow.
struct Config {
    weight: Weight,
    weights: Option<Vec<Weight>>,
    alpha: Option<Part>,
    class: Option<u16>,
    limit: Limit,
}

/// What there is to do now.
enum Answer {
    Serve { ticket: Box<dyn Any + Send + Sync>, flow: FlowId, charged: Vec<u64>, size: u32, payload: Payload },
    Drop { flow: FlowId, size: u32, payload: Payload },
    At(Time),
    AwaitProgress,
    Empty,
}

/// A scheduler of any number of resources.
trait Any1To4: Send {
    fn add_flow(&mut self, config: &Config) -> FlowId;
    fn set_flow(&mut self, now: Time, flow: FlowId, config: &Config) -> Result<(), UnknownFlow>;
    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut Vec<Payload>) -> Result<(), UnknownFlow>;
    fn enqueue(
        &mut self,
        now: Time,
        flow: FlowId,
        size: u32,
        cost: &[Duration],
        payload: Payload,
    ) -> Result<(), DropReason>;
    fn next(&mut self, now: Time) -> Answer;
    fn bypass(&mut self, now: Time, may_pass: &mut dyn FnMut(&Payload) -> bool) -> Answer;
    /// What the ticket says is charged now; `None` if it is none of these.
    fn progress(&mut self, now: Time, ticket: &mut dyn Any, resource: usize, event: Progress) -> Option<Vec<u64>>;
    fn left(&mut self, now: Time, flow: FlowId, stayed: Duration);
    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError>;
    fn steering(&self) -> Option<Steering>;
    fn stats(&self) -> Stats;
    fn queued(&self, flow: FlowId) -> u32;
}

/// One of `M`.
struct Of<const M: usize>(Box<dyn Contract<M, Payload>>);

impl<const M: usize> Of<M> {
    fn config(config: &Config) -> FlowConfig<M> {
        let on = config.weights.as_ref().and_then(|weights| weights.clone().try_into().ok());
        let Config { weight, alpha, class, limit, .. } = *config;
        FlowConfig { weight, weight_on: on, alpha, class, limit }
    }

    fn answer(next: Next<M, Payload>) -> Answer {
        match next {
            Next::Serve(served) => Answer::Serve {
                flow: served.ticket.flow(),
                charged: nanos(&served.ticket),
                ticket: Box::new(served.ticket),
                size: served.size,
                payload: served.payload,
            },
            Next::Drop { flow, size, payload } => Answer::Drop { flow, size, payload },
            Next::At(time) => Answer::At(time),
            Next::AwaitProgress => Answer::AwaitProgress,
            Next::Empty => Answer::Empty,
        }
    }
}

fn nanos<const M: usize>(ticket: &Ticket<M>) -> Vec<u64> {
    ticket.charged().iter().map(|time| time.as_nanos()).collect()
}

impl<const M: usize> Any1To4 for Of<M> {
    fn add_flow(&mut self, config: &Config) -> FlowId {
        self.0.add_flow(Self::config(config))
    }

    fn set_flow(&mut self, now: Time, flow: FlowId, config: &Config) -> Result<(), UnknownFlow> {
        self.0.set_flow(now, flow, Self::config(config))
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut Vec<Payload>) -> Result<(), UnknownFlow> {
        self.0.remove_flow(now, flow, &mut |payload| dropped.push(payload))
    }

    fn enqueue(
        &mut self,
        now: Time,
        flow: FlowId,
        size: u32,
        cost: &[Duration],
        payload: Payload,
    ) -> Result<(), DropReason> {
        let cost = ResourceVec(std::array::from_fn(|r| cost.get(r).copied().unwrap_or(Duration::ZERO)));
        self.0.enqueue(now, Packet { flow, size, cost, payload }).map_err(|refused| refused.reason)
    }

    fn next(&mut self, now: Time) -> Answer {
        Self::answer(self.0.next(now))
    }

    fn bypass(&mut self, now: Time, may_pass: &mut dyn FnMut(&Payload) -> bool) -> Answer {
        Self::answer(self.0.bypass(now, may_pass))
    }

    fn progress(&mut self, now: Time, ticket: &mut dyn Any, resource: usize, event: Progress) -> Option<Vec<u64>> {
        let ticket = ticket.downcast_mut::<Ticket<M>>()?;
        self.0.progress(now, ticket, resource, event);
        Some(nanos(ticket))
    }

    fn left(&mut self, now: Time, flow: FlowId, stayed: Duration) {
        self.0.left(now, flow, stayed);
    }

    fn steering(&self) -> Option<Steering> {
        self.0.steering()
    }

    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        self.0.set(now, parameter, value)
    }

    fn stats(&self) -> Stats {
        self.0.stats()
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.0.queued(flow)
    }
}

/// Where the discipline comes from.
enum Origin {
    Named(Spec, Shape),
    Scripted(Scripted),
}

impl Origin {
    fn build<const M: usize>(&self) -> Result<Box<dyn Any1To4>, SpecError> {
        Ok(Box::new(Of::<M>(match self {
            Self::Named(spec, shape) => build(spec, *shape)?,
            Self::Scripted(scripted) => Box::new(PerFlow::new(scripted.clone())),
        })))
    }
}

/// A packet scheduler over resources in series: the same that the simulator and the live box have. Times are whole
/// nanoseconds; `now` must not run backwards.
#[pyclass(frozen, module = "dovetail")]
pub struct Scheduler {
    number: u64,
    name: String,
    #[pyo3(get)]
    resources: usize,
    raised: Arc<Raised>,
    inner: Mutex<Box<dyn Any1To4>>,
}

impl Scheduler {
    /// Do this with the scheduler, and raise what a discipline of Python raised meanwhile.
    fn with<T>(&self, work: impl FnOnce(&mut dyn Any1To4) -> T) -> PyResult<T> {
        // Not `lock`: a discipline's method that calls its own scheduler would wait for itself.
        let mut inner = self.inner.try_lock().map_err(|_| {
            Wrong::new("InternalError", format!("{} is in the middle of another call, or one failed", self.name))
        })?;
        let result = guarded(|| work(inner.as_mut()))?;
        drop(inner);
        self.raised.raise()?;
        Ok(result)
    }

    fn id(&self, flow: &Flow) -> Result<FlowId, Wrong> {
        if flow.owner == self.number { Ok(flow.id) } else { Err(UnknownFlow.into()) }
    }

    fn config(
        &self,
        all: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
        alpha: Option<&Bound<'_, PyAny>>,
        class: Option<&Bound<'_, PyAny>>,
        limit: Limit,
    ) -> Result<Config, Wrong> {
        let each = |all: &Bound<'_, PyAny>| {
            let wrong = || {
                let found = shown(all);
                let expected = format!("expected {} weights, one for each resource", self.resources);
                Wrong::argument(format!("weights: {found}: {expected}")).about(&found)
            };
            let list: Vec<Bound<'_, PyAny>> = all.extract().map_err(|_| wrong())?;
            let read: Vec<Weight> = list.iter().map(|one| weight(one, "weights")).collect::<Result<_, _>>()?;
            if read.len() == self.resources { Ok(read) } else { Err(wrong()) }
        };
        let weight = all.map_or(Ok(Weight::ONE), |all| weight(all, "weight"))?;
        let alpha = alpha.map(|alpha| part(alpha, "alpha")).transpose()?;
        let number = |class| whole(class, "class_number", "", 0..=u64::from(u16::MAX)).map(|number| number as u16);
        let class = class.map(number).transpose()?;
        Ok(Config { weight, weights: weights.map(each).transpose()?, alpha, class, limit })
    }

    fn answer(&self, py: Python<'_>, answer: Answer) -> PyResult<Py<PyAny>> {
        Ok(match answer {
            Answer::Serve { ticket, flow, charged, size, payload } => {
                let flow = Py::new(py, Flow { owner: self.number, id: flow })?;
                Py::new(py, Served { owner: self.number, ticket, flow, size, payload, charged })?.into_any()
            }
            Answer::Drop { flow, size, payload } => {
                let flow = Py::new(py, Flow { owner: self.number, id: flow })?;
                Py::new(py, Dropped { flow, size, payload })?.into_any()
            }
            Answer::At(time) => Py::new(py, At { time: time.as_nanos() })?.into_any(),
            Answer::AwaitProgress => Py::new(py, AwaitProgress)?.into_any(),
            Answer::Empty => Py::new(py, Empty)?.into_any(),
        })
    }
}

#[pymethods]
impl Scheduler {
    #[new]
    #[pyo3(signature = (scheduler, *, resources=None, servers=None))]
    fn new(
        scheduler: &Bound<'_, PyAny>,
        resources: Option<&Bound<'_, PyAny>>,
        servers: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let resources = resources.map_or(Ok(2), |n| whole(n, "resources", "resources", 1..=MOST_RESOURCES))?;
        let servers = servers.map_or(Ok(resources), |n| whole(n, "servers", "servers", 1..=u64::from(u32::MAX)))?;
        let (origin, name, raised) = match scheduler.extract::<String>() {
            Ok(text) => {
                let spec: Spec = text.parse().map_err(Wrong::from)?;
                (Origin::Named(spec, Shape { servers: servers as u32 }), text, Arc::default())
            }
            Err(_) => {
                let scripted = Scripted::new(scheduler)?;
                let raised = scripted.raised.clone();
                let name = dovetail_experiment::compare::Own::name(&scripted).to_string();
                (Origin::Scripted(scripted), name, raised)
            }
        };
        let inner = match resources {
            1 => origin.build::<1>(),
            2 => origin.build::<2>(),
            3 => origin.build::<3>(),
            _ => origin.build::<4>(),
        };
        let inner = Mutex::new(inner.map_err(Wrong::from)?);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Ok(Self { number, name, resources: resources as usize, raised, inner })
    }

    /// Set up a flow. Weights are kept to a thousandth.
    #[pyo3(signature = (
        *, weight=None, weights=None, alpha=None, class_number=None, packets=None, bytes=None, time=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "Python has them by name")]
    fn add_flow(
        &self,
        weight: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
        alpha: Option<&Bound<'_, PyAny>>,
        class_number: Option<&Bound<'_, PyAny>>,
        packets: Option<&Bound<'_, PyAny>>,
        bytes: Option<&Bound<'_, PyAny>>,
        time: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Flow> {
        let config = self.config(weight, weights, alpha, class_number, limit(packets, bytes, time)?)?;
        let id = self.with(|inner| inner.add_flow(&config))?;
        Ok(Flow { owner: self.number, id })
    }

    /// Change a flow's weights and limit from now on. Packets beyond a lowered limit stay.
    #[pyo3(signature = (now, flow, *, weight=None, weights=None, alpha=None, class_number=None, packets=None,
        bytes=None, time=None))]
    #[allow(clippy::too_many_arguments, reason = "Python has them by name")]
    fn set_flow(
        &self,
        now: &Bound<'_, PyAny>,
        flow: &Flow,
        weight: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
        alpha: Option<&Bound<'_, PyAny>>,
        class_number: Option<&Bound<'_, PyAny>>,
        packets: Option<&Bound<'_, PyAny>>,
        bytes: Option<&Bound<'_, PyAny>>,
        time: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let config = self.config(weight, weights, alpha, class_number, limit(packets, bytes, time)?)?;
        let (now, id) = (self::time(now, "now")?, self.id(flow)?);
        Ok(self.with(|inner| inner.set_flow(now, id, &config))?.map_err(Wrong::from)?)
    }

    /// Tear a flow down; returns the payloads of its waiting packets in order.
    fn remove_flow(&self, now: &Bound<'_, PyAny>, flow: &Flow) -> PyResult<Vec<Py<PyAny>>> {
        let (now, id) = (time(now, "now")?, self.id(flow)?);
        let mut dropped = Vec::new();
        self.with(|inner| inner.remove_flow(now, id, &mut dropped))?.map_err(Wrong::from)?;
        Ok(dropped)
    }

    /// Admit a packet to its flow's queue (None), or say why not.
    #[pyo3(signature = (now, flow, size, cost, payload=None))]
    fn enqueue(
        &self,
        py: Python<'_>,
        now: &Bound<'_, PyAny>,
        flow: &Flow,
        size: &Bound<'_, PyAny>,
        cost: &Bound<'_, PyAny>,
        payload: Option<Py<PyAny>>,
    ) -> PyResult<Option<&'static str>> {
        let (now, id) = (time(now, "now")?, self.id(flow)?);
        let size = whole(size, "size", "bytes", 0..=u64::from(u32::MAX))? as u32;
        let cost = spans(cost, "cost", self.resources)?;
        let payload = payload.unwrap_or_else(|| py.None());
        let result = self.with(|inner| inner.enqueue(now, id, size, &cost, payload))?;
        match result {
            Ok(()) => Ok(None),
            Err(DropReason::UnknownFlow) => Err(Wrong::from(UnknownFlow).into()),
            Err(reason) => Ok(Some(reason.name())),
        }
    }

    /// What to put into the first resource now: a Served; or Dropped, At, AwaitProgress or Empty, which are false.
    fn next(&self, py: Python<'_>, now: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let now = time(now, "now")?;
        let answer = self.with(|inner| inner.next(now))?;
        self.answer(py, answer)
    }

    /// As `next` as often as it hands out or drops a packet, at most `most` times.
    fn next_many<'py>(
        &self,
        py: Python<'py>,
        now: &Bound<'py, PyAny>,
        most: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (now, most) = (time(now, "now")?, whole(most, "most", "packets", 0..=u64::from(u32::MAX))?);
        let served = PyList::empty(py);
        for _ in 0..most {
            match self.with(|inner| inner.next(now))? {
                answer @ (Answer::Serve { .. } | Answer::Drop { .. }) => served.append(self.answer(py, answer)?)?,
                _ => break,
            }
        }
        Ok(served)
    }

    /// What may go past the first resource while that is busy: answers as those of `next`.
    fn bypass(&self, py: Python<'_>, now: &Bound<'_, PyAny>, may_pass: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let now = time(now, "now")?;
        let mut raised = None;
        let mut ask = |payload: &Payload| match may_pass.call1((payload.bind(py),)).and_then(|yes| yes.is_truthy()) {
            Ok(yes) => yes,
            Err(error) => {
                raised.get_or_insert(error);
                false
            }
        };
        let answer = self.with(|inner| inner.bypass(now, &mut ask))?;
        match raised {
            Some(error) => Err(error),
            None => self.answer(py, answer),
        }
    }

    /// Tell what became of a packet on a resource: it was "started", "finished" after `used` nanoseconds, or
    /// "abandoned".
    #[pyo3(signature = (now, served, resource, event, used=None))]
    fn progress(
        &self,
        now: &Bound<'_, PyAny>,
        served: &Bound<'_, Served>,
        resource: &Bound<'_, PyAny>,
        event: &Bound<'_, PyAny>,
        used: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let now = time(now, "now")?;
        let resource = whole(resource, "resource", "", 0..=self.resources as u64 - 1)? as usize;
        let event = match (event.extract::<String>().as_deref(), used) {
            (Ok("started"), None) => Progress::Started,
            (Ok("finished"), Some(used)) => Progress::Finished { used: span(used, "used")? },
            (Ok("abandoned"), None) => Progress::Abandoned,
            (Ok("finished"), None) => {
                return Err(Wrong::argument("used: missing: expected how long the packet took, in nanoseconds").into());
            }
            (Ok("started" | "abandoned"), Some(_)) => {
                return Err(Wrong::argument("used: only \"finished\" has a time").into());
            }
            _ => {
                let found = shown(event);
                let message = format!("event: {found}: expected \"started\", \"finished\" or \"abandoned\"");
                return Err(Wrong::argument(message).about(&found).into());
            }
        };
        let mut served = served.try_borrow_mut()?;
        if served.owner != self.number {
            return Err(Wrong::argument("served: it is a packet of another scheduler").into());
        }
        let ticket = served.ticket.as_mut();
        let charged = self.with(|inner| inner.progress(now, ticket, resource, event))?;
        served.charged = charged.unwrap_or_default();
        Ok(())
    }

    /// A packet of this flow has left the last resource, so long after it came.
    fn left(&self, now: &Bound<'_, PyAny>, flow: &Flow, stayed: &Bound<'_, PyAny>) -> PyResult<()> {
        let (now, id) = (time(now, "now")?, self.id(flow)?);
        let stayed = whole(stayed, "stayed", "nanoseconds", 0..=u64::MAX).map(Duration::from_nanos)?;
        self.with(|inner| inner.left(now, id, stayed))
    }

    /// What an alpha that adjusts itself has come to; None if none does.
    fn steering<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(Steering { alpha, seen, is_out_of_reach }) = self.with(|inner| inner.steering())? else {
            return Ok(None);
        };
        let state = PyDict::new(py);
        state.set_item("alpha", alpha)?;
        match seen {
            Seen::Use { resource, used } => {
                state.set_item("resource", resource)?;
                state.set_item("used", used)?;
            }
            Seen::Latency { class, late, p99 } => {
                state.set_item("class_number", class)?;
                state.set_item("late", late)?;
                state.set_item("p99", p99.as_nanos())?;
            }
        }
        state.set_item("out_of_reach", is_out_of_reach)?;
        Ok(Some(state))
    }

    /// Change a parameter while running.
    fn set(&self, now: &Bound<'_, PyAny>, parameter: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (now, value) = (time(now, "now")?, value.str()?.to_string());
        Ok(self.with(|inner| inner.set(now, parameter, &value))?.map_err(Wrong::from)?)
    }

    /// The books: offered = admitted + refused, admitted = served + dropped + queued.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.with(|inner| inner.stats())?;
        let refused = PyDict::new(py);
        for (reason, count) in DropReason::ALL.iter().zip(stats.refused) {
            refused.set_item(reason.name(), count)?;
        }
        let books = PyDict::new(py);
        books.set_item("offered", stats.offered)?;
        books.set_item("admitted", stats.admitted)?;
        books.set_item("refused", refused)?;
        books.set_item("served", stats.served)?;
        books.set_item("dropped", stats.dropped)?;
        books.set_item("queued", stats.queued)?;
        books.set_item("queued_bytes", stats.queued_bytes)?;
        Ok(books)
    }

    /// Packets of this flow that wait; 0 for an unknown one.
    fn queued(&self, flow: &Flow) -> PyResult<u32> {
        self.id(flow).map_or(Ok(0), |id| self.with(|inner| inner.queued(id)))
    }

    fn __repr__(&self) -> String {
        format!("<dovetail.Scheduler {} of {} resources>", self.name, self.resources)
    }
}
