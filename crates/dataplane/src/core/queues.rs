//! What a scheduler's spec puts in front of the resources.

use dovetail_sched::aqm::scheme::manages;
use dovetail_sched::aqm::{AqmError, InFront, Scheme};
use dovetail_sched::catalog::find;
use dovetail_sched::{Limit, Names, Spec, SpecError};

use super::managed::{drq_cpu, drq_link, red};
use super::middlebox::{CPU, LINK};
use super::queue::{MOST_RESOURCES, Queue};
use super::setup::Setup;
use super::sized::{SizedPart, SizedParts, build_single, build_sized};

/// What limits a flow's queue behind the CPU.
pub(super) enum BehindCpu {
    /// A composition's buffer, alike for all; and whether a scheduler keeps back what finds none of it free.
    Each { limit: Limit, holds: bool },
    /// As much as at the entrance.
    Own,
}

/// What stands in front of the CPU, of the third resource (where there is none, nothing comes) and of the link.
pub(super) struct Queues {
    pub queues: [Queue; MOST_RESOURCES],
    /// What limits flows' queues behind the CPU, where each has one.
    pub between: Option<BehindCpu>,
}

/// The queues of a setup, whose classes have these names by number.
pub(super) fn queues(setup: &Setup, names: &Names) -> Result<Queues, SpecError> {
    if manages(&setup.scheduler.name)? {
        return managed(setup, &Scheme::new(&setup.scheduler)?);
    }
    let resources = names.resources.len();
    let place = |number: usize| if number + 1 == resources { LINK } else { number };
    let SizedParts { parts, buffer } = build_sized(&names.number_all(&setup.scheduler)?, resources)?;
    let holds = setup.scheduler.value("full") == Some("hold");
    let between = parts.iter().skip(1).any(Option::is_some).then_some(BehindCpu::Each { limit: buffer, holds });
    let mut queues = [(); MOST_RESOURCES].map(|()| Queue::in_order());
    for (number, part) in parts.into_iter().enumerate() {
        if let Some(part) = part {
            queues[place(number)] = Queue::scheduled(part, place(number));
        }
    }
    Ok(Queues { queues, between })
}

/// Whether a queue is under active queue management; not where the name is wrong.
pub(super) fn is_managed(scheduler: &Spec) -> bool {
    manages(&scheduler.name).unwrap_or(false)
}

/// Queues of which at least one is under active queue management. None blocks another: what finds a full queue is
/// dropped.
fn managed(setup: &Setup, scheme: &Scheme) -> Result<Queues, SpecError> {
    if let Some(third) = &setup.third {
        let (name, third) = (&setup.scheduler.name, &third.name);
        let message = format!("{name} manages the queues of a CPU and a link; this box has {third:?} as well");
        return Err(SpecError::new(name, message));
    }
    let wrong = |error: AqmError| SpecError::new(&setup.scheduler.name, format!("{}: {error}", setup.scheduler));
    let queue = |standing: &InFront, place: usize| -> Result<Queue, SpecError> {
        let number = usize::from(place == LINK);
        let queue = match standing.clone() {
            InFront::Fifo => {
                let spec = Spec { name: "fifo".to_string(), parameters: Vec::new() };
                return Ok(Queue::scheduled(per_flow(spec, place)?, place));
            }
            InFront::PerFlow(spec) => return Ok(Queue::scheduled(per_flow(spec, place)?, place)),
            InFront::Red(config) => red(config, number, setup.rate),
            InFront::Drq(config) if place == LINK => drq_link(config, number, setup.rate),
            InFront::Drq(config) => drq_cpu(config, number, setup.classes.len(), setup.rate),
        };
        queue.map_err(wrong)
    };
    let between = Some(BehindCpu::Own);
    let nothing = Queue::in_order();
    Ok(Queues { queues: [queue(&scheme.cpu, CPU)?, nothing, queue(&scheme.link, LINK)?], between })
}

/// The scheduler of one resource that a part of a composition names.
fn per_flow(mut spec: Spec, place: usize) -> Result<SizedPart, SpecError> {
    let entry = find(&spec.name).ok_or_else(|| SpecError::unknown_name(&spec.name, Vec::new()))?;
    if entry.has("resource") {
        spec.parameters.push(("resource".to_string(), usize::from(place == LINK).to_string()));
    }
    build_single(entry, &spec)
}
