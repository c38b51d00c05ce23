//! Any scheduler as an object of Python.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dovetail_sched::{DropReason, FlowId, Limit, Progress, Seen, Shape, Spec, Steering, UnknownFlow};
use dovetail_units::{Duration, Time, Weight};
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::answers::{At, AwaitProgress, Dropped, Empty, Flow, Served};
use crate::discipline::{Methods, Raised, Scripted};
use crate::error::{Wrong, guarded};
use crate::nested::calling;
use crate::payloads::Payloads;
use crate::pipeline::{Answer, Config, Handed, Origin, Payload, Pipeline};
use crate::turn::Turn;
use crate::values::{if_converted, limit, part, span, spans, text, time, unlike, weight, whole};

/// The most resources a pipeline can have.
const MOST_RESOURCES: u64 = 4;

/// Which call took a packet out of its queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Next,
    Bypass,
}

/// What a call works on.
struct Inner {
    pipeline: Box<dyn Pipeline>,
    payloads: Payloads,
    /// Packets that were taken out of their queues by calls that raised an exception: the next calls give them.
    kept: VecDeque<(By, Handed<Payload>)>,
    /// Payloads of flows whose removal raised one.
    left: Vec<(FlowId, Vec<Payload>)>,
    /// Those of a discipline of Python, which `pipeline` has as well.
    methods: Option<Arc<Methods>>,
}

impl Inner {
    fn next(&mut self, now: Time) -> Answer<Payload> {
        self.kept.pop_front().map_or_else(|| self.pipeline.next(now), |(_, kept)| Answer::Handed(kept))
    }

    /// Also what `may_pass` raised, after which it is asked no more.
    fn bypass(
        &mut self,
        now: Time,
        may_pass: impl Fn(&Py<PyAny>) -> PyResult<bool>,
    ) -> (Answer<Payload>, PyResult<()>) {
        let bypassing = self.kept.iter().position(|(by, _)| *by == By::Bypass);
        if let Some((_, kept)) = bypassing.and_then(|place| self.kept.remove(place)) {
            return (Answer::Handed(kept), Ok(()));
        }
        let Self { pipeline, payloads, .. } = self;
        let mut raised = Ok(());
        let mut ask = |payload: &Payload| {
            if raised.is_err() {
                return false;
            }
            let answer = payloads.get(*payload).map_or(Ok(false), &may_pass);
            answer.unwrap_or_else(|error| {
                raised = Err(error);
                false
            })
        };
        (pipeline.bypass(now, &mut ask), raised)
    }

    /// Keep the packet of this answer, which nobody gets.
    fn keep(&mut self, by: By, answer: Answer<Payload>) {
        if let Answer::Handed(handed) = answer {
            self.kept.push_back((by, handed));
        }
    }

    /// Give the packet away with its payload.
    fn release(
        &mut self,
        py: Python<'_>,
        Handed { ticket, flow, size, payload }: Handed<Payload>,
    ) -> Handed<Py<PyAny>> {
        Handed { ticket, flow, size, payload: self.payloads.take(payload).unwrap_or_else(|| py.None()) }
    }

    fn answer(&mut self, py: Python<'_>, answer: Answer<Payload>) -> Answer<Py<PyAny>> {
        match answer {
            Answer::Handed(handed) => Answer::Handed(self.release(py, handed)),
            Answer::At(time) => Answer::At(time),
            Answer::AwaitProgress => Answer::AwaitProgress,
            Answer::Empty => Answer::Empty,
        }
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
    turn: Turn,
    /// Locked by whoever has the turn; none after the garbage collector has cleared it.
    inner: Mutex<Option<Inner>>,
}

impl Scheduler {
    fn inner(&self) -> MutexGuard<'_, Option<Inner>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Do this with the scheduler, and raise what a discipline of Python raised meanwhile. Nothing of Python is made or
    /// dropped in it, which could call the scheduler.
    fn with<T>(&self, py: Python<'_>, work: impl FnOnce(&mut Inner) -> T) -> PyResult<T> {
        let turn = self.turn.take(py, &self.name)?;
        let result = match self.inner().as_mut() {
            Some(inner) => guarded(|| work(inner)),
            None => Err(Wrong::new("InternalError", "the garbage collector has cleared this scheduler")),
        };
        let raised = self.raised.raise();
        drop(turn);
        raised?;
        Ok(result?)
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
    ) -> PyResult<Config> {
        let each = |all: &Bound<'_, PyAny>| {
            let wrong = || unlike(all, "weights", &format!("{} weights, one for each resource", self.resources));
            let list: Vec<Bound<'_, PyAny>> = if_converted(all.py(), all.extract())?.ok_or_else(wrong)?;
            let read: Vec<Weight> = list.iter().map(|one| weight(one, "weights")).collect::<PyResult<_>>()?;
            if read.len() == self.resources { Ok(read) } else { Err(wrong()) }
        };
        let weight = all.map_or(Ok(Weight::ONE), |all| weight(all, "weight"))?;
        let alpha = alpha.map(|alpha| part(alpha, "alpha")).transpose()?;
        let number = |class| whole(class, "class_number", "", 0..=u64::from(u16::MAX)).map(|number| number as u16);
        let class = class.map(number).transpose()?;
        Ok(Config { weight, weights: weights.map(each).transpose()?, alpha, class, limit })
    }

    fn handed(&self, py: Python<'_>, handed: Handed<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        let Handed { ticket, flow, size, payload } = handed;
        let flow = Py::new(py, Flow { owner: self.number, id: flow })?;
        Ok(match ticket {
            Some(ticket) => Py::new(py, Served { owner: self.number, ticket, flow, size, payload })?.into_any(),
            None => Py::new(py, Dropped { flow, size, payload })?.into_any(),
        })
    }

    fn answer(&self, py: Python<'_>, answer: Answer<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        Ok(match answer {
            Answer::Handed(handed) => self.handed(py, handed)?,
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
        let inner = Inner {
            pipeline: origin.build(resources).map_err(Wrong::from)?,
            payloads: Payloads::default(),
            kept: VecDeque::new(),
            left: Vec::new(),
            methods: origin.methods(),
        };
        let (number, inner) = (NUMBER.fetch_add(1, Ordering::Relaxed), Mutex::new(Some(inner)));
        Ok(Self { number, name, resources: resources as usize, raised, turn: Turn::default(), inner })
    }

    /// Set up a flow. Weights are kept to a thousandth.
    #[pyo3(signature = (
        *, weight=None, weights=None, alpha=None, class_number=None, packets=None, bytes=None, time=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "Python has them by name")]
    fn add_flow(
        &self,
        py: Python<'_>,
        weight: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
        alpha: Option<&Bound<'_, PyAny>>,
        class_number: Option<&Bound<'_, PyAny>>,
        packets: Option<&Bound<'_, PyAny>>,
        bytes: Option<&Bound<'_, PyAny>>,
        time: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Flow> {
        let limit = limit(packets, bytes, time, self.resources)?;
        let config = self.config(weight, weights, alpha, class_number, limit)?;
        let id = self.with(py, |inner| {
            let id = inner.pipeline.add_flow(&config);
            // Nobody would know the flow's id.
            if self.raised.is_any() {
                inner.pipeline.remove_flow(Time::ZERO, id, &mut |_| ()).ok();
            }
            id
        })?;
        Ok(Flow { owner: self.number, id })
    }

    /// Change a flow's weights and limit from now on. Packets beyond a lowered limit stay.
    #[pyo3(signature = (now, flow, *, weight=None, weights=None, alpha=None, class_number=None, packets=None,
        bytes=None, time=None))]
    #[allow(clippy::too_many_arguments, reason = "Python has them by name")]
    fn set_flow(
        &self,
        py: Python<'_>,
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
        let limit = limit(packets, bytes, time, self.resources)?;
        let config = self.config(weight, weights, alpha, class_number, limit)?;
        let (now, id) = (self::time(now, "now")?, self.id(flow)?);
        Ok(self.with(py, |inner| inner.pipeline.set_flow(now, id, &config))?.map_err(Wrong::from)?)
    }

    /// Tear a flow down; returns the payloads of its waiting packets in order.
    fn remove_flow(&self, py: Python<'_>, now: &Bound<'_, PyAny>, flow: &Flow) -> PyResult<Vec<Py<PyAny>>> {
        let (now, id) = (time(now, "now")?, self.id(flow)?);
        let payloads = self.with(py, |inner| {
            let before = inner.left.iter().position(|(flow, _)| *flow == id);
            let dropped = match before {
                Some(place) => inner.left.swap_remove(place).1,
                None => {
                    let mut dropped = Vec::new();
                    inner.pipeline.remove_flow(now, id, &mut |payload| dropped.push(payload))?;
                    dropped
                }
            };
            if self.raised.is_any() {
                inner.left.push((id, dropped));
                return Ok(Vec::new());
            }
            Ok(dropped.into_iter().filter_map(|payload| inner.payloads.take(payload)).collect())
        })?;
        Ok(payloads.map_err(|unknown: UnknownFlow| Wrong::from(unknown))?)
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
        // What is refused goes once the turn is over.
        let (result, _refused) = self.with(py, |inner| {
            let Some(number) = inner.payloads.put(payload) else { return (Err(DropReason::QueuePackets), None) };
            let result = inner.pipeline.enqueue(now, id, size, &cost, number);
            (result, result.err().and_then(|_| inner.payloads.take(number)))
        })?;
        match result {
            Ok(()) => Ok(None),
            Err(DropReason::UnknownFlow) => Err(Wrong::from(UnknownFlow).into()),
            Err(reason) => Ok(Some(reason.name())),
        }
    }

    /// What to put into the first resource now: a Served; or Dropped, At, AwaitProgress or Empty, which are false.
    fn next(&self, py: Python<'_>, now: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let now = time(now, "now")?;
        let answer = self.with(py, |inner| {
            let answer = inner.next(now);
            if self.raised.is_any() {
                inner.keep(By::Next, answer);
                return Answer::AwaitProgress;
            }
            inner.answer(py, answer)
        })?;
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
        let handed = self.with(py, |inner| {
            let mut handed = Vec::new();
            while handed.len() < most as usize && !self.raised.is_any() {
                let Answer::Handed(packet) = inner.next(now) else { break };
                handed.push(packet);
            }
            if self.raised.is_any() {
                handed.drain(..).rev().for_each(|packet| inner.kept.push_front((By::Next, packet)));
            }
            handed.into_iter().map(|packet| inner.release(py, packet)).collect::<Vec<_>>()
        })?;
        let list = PyList::empty(py);
        handed.into_iter().try_for_each(|packet| list.append(self.handed(py, packet)?))?;
        Ok(list)
    }

    /// What may go past the first resource while that is busy: answers as those of `next`.
    fn bypass(&self, py: Python<'_>, now: &Bound<'_, PyAny>, may_pass: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let now = time(now, "now")?;
        let may_pass = |payload: &Py<PyAny>| calling(|| may_pass.call1((payload.bind(py),))?.is_truthy());
        let answer = self.with(py, |inner| {
            let (answer, raised) = inner.bypass(now, may_pass);
            if raised.is_err() || self.raised.is_any() {
                inner.keep(By::Bypass, answer);
                return raised.map(|()| Answer::AwaitProgress);
            }
            Ok(inner.answer(py, answer))
        })?;
        self.answer(py, answer?)
    }

    /// Tell what became of a packet on a resource: it was "started", "finished" after `used` nanoseconds, or
    /// "abandoned".
    #[pyo3(signature = (now, served, resource, event, used=None))]
    fn progress(
        &self,
        py: Python<'_>,
        now: &Bound<'_, PyAny>,
        served: &Served,
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
                return Err(unlike(event, "event", "\"started\", \"finished\" or \"abandoned\""));
            }
        };
        if served.owner != self.number {
            return Err(Wrong::argument("served: it is a packet of another scheduler").into());
        }
        self.with(py, |inner| inner.pipeline.progress(now, served.ticket.as_ref(), resource, event))
    }

    /// A packet of this flow has left the last resource, so long after it came.
    fn left(&self, py: Python<'_>, now: &Bound<'_, PyAny>, flow: &Flow, stayed: &Bound<'_, PyAny>) -> PyResult<()> {
        let (now, id) = (time(now, "now")?, self.id(flow)?);
        let stayed = whole(stayed, "stayed", "nanoseconds", 0..=u64::MAX).map(Duration::from_nanos)?;
        self.with(py, |inner| inner.pipeline.left(now, id, stayed))
    }

    /// What an alpha that adjusts itself has come to; None if none does.
    fn steering<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(Steering { alpha, seen, is_out_of_reach }) = self.with(py, |inner| inner.pipeline.steering())? else {
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
    fn set(
        &self,
        py: Python<'_>,
        now: &Bound<'_, PyAny>,
        parameter: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (now, parameter, value) = (time(now, "now")?, text(parameter, "parameter")?, value.str()?.to_string());
        Ok(self.with(py, |inner| inner.pipeline.set(now, &parameter, &value))?.map_err(Wrong::from)?)
    }

    /// The books: offered = admitted + refused, admitted = served + dropped + queued.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.with(py, |inner| inner.pipeline.stats())?;
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
    fn queued(&self, py: Python<'_>, flow: &Flow) -> PyResult<u32> {
        self.id(flow).map_or(Ok(0), |id| self.with(py, |inner| inner.pipeline.queued(id)))
    }

    fn __repr__(&self) -> String {
        format!("<dovetail.Scheduler {} of {} resources>", self.name, self.resources)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // In the middle of a call it is no garbage, nor is what it does not show then.
        let Ok(inner) = self.inner.try_lock() else { return Ok(()) };
        let Some(inner) = &*inner else { return Ok(()) };
        inner.methods.iter().try_for_each(|methods| methods.traverse(&visit))?;
        inner.payloads.traverse(&visit)
    }

    fn __clear__(&self) {
        let inner = self.inner.try_lock().ok().and_then(|mut inner| inner.take());
        // No longer locked: what goes may call this.
        drop(inner);
    }
}
