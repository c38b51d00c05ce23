//! What a scheduler's spec puts in front of CPU and link.

use std::collections::VecDeque;

use dovetail_sched::aqm::scheme::manages;
use dovetail_sched::aqm::{AqmError, Scheme, Standing};
use dovetail_sched::catalog::find;
use dovetail_sched::composition::Part;
use dovetail_sched::{Limit, Names, Shape, Spec, SpecError, build, build_all};

use super::managed::Managed;
use super::middlebox::{CPU, LINK};
use super::queue::{Queue, RESOURCES};
use super::setup::Setup;
use crate::frame::Frame;

/// What limits a flow's queue in front of the link.
pub(super) enum Between {
    /// A composition's buffer, alike for all.
    Each(Limit),
    /// As much as at the entrance.
    Own,
}

/// What stands in front of CPU and link.
pub(super) struct Queues {
    pub entrance: Queue,
    pub before_link: Queue,
    /// What limits flows' queues in front of the link, where each has one.
    pub between: Option<Between>,
}

/// The queues of a setup, whose classes have these names by number.
pub(super) fn queues(setup: &Setup, names: &Names) -> Result<Queues, SpecError> {
    if manages(&setup.scheduler.name)? {
        return managed(setup, &Scheme::new(&setup.scheduler)?);
    }
    let mut schedulers = build_all::<RESOURCES, Frame>(&names.number_all(&setup.scheduler)?, Shape::default())?;
    let (before_link, between) = match schedulers.between[LINK].take() {
        Some(part) => (Queue::scheduled(part, LINK), Some(Between::Each(schedulers.buffer))),
        None => (Queue::InOrder(VecDeque::new()), None),
    };
    Ok(Queues { entrance: Queue::scheduled(schedulers.entrance, CPU), before_link, between })
}

/// Whether a queue is under active queue management; not where the name is wrong.
pub(super) fn is_managed(scheduler: &Spec) -> bool {
    manages(&scheduler.name).unwrap_or(false)
}

/// Queues of which at least one is under active queue management. None blocks another: what finds a full queue is
/// dropped.
fn managed(setup: &Setup, scheme: &Scheme) -> Result<Queues, SpecError> {
    let wrong = |error: AqmError| SpecError::new(&setup.scheduler.name, format!("{}: {error}", setup.scheduler));
    let queue = |standing: &Standing, resource: usize| -> Result<Queue, SpecError> {
        let managed = match standing.clone() {
            Standing::Fifo => {
                let spec = Spec { name: "fifo".to_string(), parameters: Vec::new() };
                return Ok(Queue::scheduled(per_flow(spec, resource)?, resource));
            }
            Standing::PerFlow(spec) => return Ok(Queue::scheduled(per_flow(spec, resource)?, resource)),
            Standing::Red(config) => Managed::red(config, resource, setup.rate),
            Standing::Drq(config) if resource == LINK => Managed::drq_link(config, resource, setup.rate),
            Standing::Drq(config) => Managed::drq_cpu(config, resource, setup.classes.len(), setup.rate),
        };
        managed.map(|queue| Queue::Managed(Box::new(queue))).map_err(wrong)
    };
    let between = Some(Between::Own);
    Ok(Queues { entrance: queue(&scheme.cpu, CPU)?, before_link: queue(&scheme.link, LINK)?, between })
}

/// The scheduler of one resource that a part of a composition names.
fn per_flow(mut spec: Spec, resource: usize) -> Result<Part<RESOURCES, Frame>, SpecError> {
    let entry = find(&spec.name).ok_or_else(|| SpecError::unknown_name(&spec.name, Vec::new()))?;
    if entry.has("resource") {
        spec.parameters.push(("resource".to_string(), resource.to_string()));
    }
    Ok(Part { entry, scheduler: build(&spec, Shape::default())? })
}
