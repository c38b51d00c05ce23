//! Checks before a run, so that the run itself has nothing left to doubt.

use dovetail_sched::contract::Limit;
use dovetail_trace::Extent;
use dovetail_units::{Duration, Time};

use crate::error::SimError;
use crate::pipeline::{Buffer, Pipeline, Resource};
use crate::workload::{Cost, Flow, Generator, List, MILLION, Pattern, Resize, Size, Source, Spell, Workload};

/// Refuse what cannot be simulated, naming the part and what was expected of it.
pub(crate) fn validate<const M: usize>(
    workload: &Workload<M>,
    pipeline: &Pipeline<M>,
    horizon: Option<Time>,
) -> Result<(), SimError> {
    resources(pipeline)?;
    if u32::try_from(workload.flows.len()).is_err() || u32::try_from(workload.sources.len()).is_err() {
        return Err(SimError::invalid("more than 4294967295 flows or sources"));
    }
    for flow in &workload.flows {
        let Limit { packets, bytes, time: _ } = flow.limit;
        if packets == Some(0) || bytes.is_some_and(|b| b.0 == 0) {
            let name = &flow.name;
            return Err(SimError::invalid(format!("flow {name:?}: its queue limit is zero; expected at least 1")));
        }
        changes(flow).map_err(|problem| SimError::invalid(format!("flow {:?}: {problem}", flow.name)))?;
    }
    for (index, source) in workload.sources.iter().enumerate() {
        let problem = match source {
            Source::Generator(generator) => self::generator(generator, workload, horizon),
            Source::List(list) => self::list(list, workload),
        };
        problem.map_err(|problem| SimError::invalid(format!("source {index}: {problem}")))?;
    }
    Ok(())
}

/// How packets differ from what the flow's costs and their lengths say.
fn changes<const M: usize>(flow: &Flow<M>) -> Result<(), String> {
    let Resize { least, most } = flow.resize;
    if least > most {
        return Err(format!("its resize factor is {least} to {most} millionths; expected the smaller one first"));
    }
    match (0..M).find(|&r| flow.spread[r] > MILLION || flow.spread[r] > 0 && matches!(flow.cost[r], Cost::Link(_))) {
        None => Ok(()),
        Some(r) => {
            let spread = flow.spread[r];
            Err(format!(
                "its times on resource {r} spread by {spread} millionths; expected at most 1000000, and 0 on a link"
            ))
        }
    }
}

fn resources<const M: usize>(pipeline: &Pipeline<M>) -> Result<(), SimError> {
    if M == 0 {
        return Err(SimError::invalid("a pipeline of no resources; expected at least one"));
    }
    for Resource { name, servers, .. } in &pipeline.resources {
        if *servers == 0 || *servers > Resource::MAX_SERVERS {
            let most = Resource::MAX_SERVERS;
            return Err(SimError::invalid(format!("resource {name:?}: {servers} servers; expected 1 to {most}")));
        }
    }
    if pipeline.is_no_wait() { no_wait(pipeline) } else { Ok(()) }
}

fn no_wait<const M: usize>(pipeline: &Pipeline<M>) -> Result<(), SimError> {
    for (r, Resource { name, servers, buffer }) in pipeline.resources.iter().enumerate() {
        if r > 0 && *buffer != Buffer::NoWait {
            let problem = format!("resource {name:?}: its buffer is {buffer:?} in a pipeline without waiting");
            return Err(SimError::invalid(format!("{problem}; expected NoWait before every resource or before none")));
        }
        if *servers > 1 {
            let problem = format!("resource {name:?}: {servers} servers in a pipeline without waiting");
            return Err(SimError::invalid(format!("{problem}; expected 1")));
        }
    }
    Ok(())
}

fn generator<const M: usize>(
    generator: &Generator,
    workload: &Workload<M>,
    horizon: Option<Time>,
) -> Result<(), String> {
    let name = &generator.name;
    let Some(flow) = workload.flows.get(generator.flow as usize) else {
        return Err(format!("{name:?} sends to flow {}; there are {}", generator.flow, workload.flows.len()));
    };
    if flow.cost.contains(&Cost::PerPacket) {
        return Err(format!("flow {:?} has costs per packet; expected a list with costs as its source", flow.name));
    }
    if generator.stop.is_none() && generator.packets.is_none() && horizon.is_none() {
        return Err(format!("{name:?} never ends; expected a stop time, a number of packets, or a horizon of the run"));
    }
    if let Pattern::OnOff { on: Spell::Fixed(on) | Spell::Exponential(on), .. } = generator.pattern
        && on == Duration::ZERO
    {
        return Err(format!("{name:?} is never on; expected an on time above zero"));
    }
    if let Pattern::Jittered { rate, jitter } = generator.pattern
        && jitter > rate.due(1)
    {
        let interval = rate.due(1);
        return Err(format!("{name:?} has a jitter of {jitter}; expected at most {interval}, from packet to packet"));
    }
    let lengths_make_sense = match &generator.size {
        Size::Fixed(size) => *size >= 1,
        Size::Uniform { min, max } => *min >= 1 && min <= max,
        Size::Mix(sizes) => sizes.iter().all(|&(size, _)| size >= 1) && sizes.iter().any(|&(_, often)| often > 0),
    };
    if lengths_make_sense {
        return Ok(());
    }
    Err(format!("{name:?}: packet lengths {:?}; expected lengths of at least 1 byte, min <= max", generator.size))
}

fn list<const M: usize>(list: &List<M>, workload: &Workload<M>) -> Result<(), String> {
    if list.scale.numerator == 0 || list.scale.denominator == 0 {
        let scale = list.scale;
        return Err(format!("times are scaled by {}/{}; expected neither zero", scale.numerator, scale.denominator));
    }
    if let Some(costs) = &list.costs
        && costs.len() != list.arrivals.len()
    {
        return Err(format!("{} packets with {} costs; expected as many", list.arrivals.len(), costs.len()));
    }
    if is_plainly_sound(list, workload) {
        return Ok(());
    }
    let mut last = Time::ZERO;
    for (k, arrival) in list.arrivals.iter().enumerate() {
        let Some(flow) = workload.flows.get(arrival.flow as usize) else {
            return Err(format!("packet {k} is of flow {}; there are {}", arrival.flow, workload.flows.len()));
        };
        if arrival.size == 0 {
            return Err(format!("packet {k} has length zero; expected at least 1 byte"));
        }
        if arrival.time < last {
            return Err(format!("packet {k} comes at {}, before the one ahead of it ({last})", arrival.time));
        }
        if list.costs.is_none() && flow.cost.contains(&Cost::PerPacket) {
            return Err(format!("packet {k} has no costs, but flow {:?} has costs per packet", flow.name));
        }
        last = arrival.time;
    }
    Ok(())
}

/// Whether what holds for all packets, and for all flows, tells that each packet is sound: a look at each would take
/// longer, for every scheduler of a comparison.
fn is_plainly_sound<const M: usize>(list: &List<M>, workload: &Workload<M>) -> bool {
    let Extent { last_flow, least_size, is_in_order } = list.arrivals.extent();
    let has_flows = (last_flow as usize) < workload.flows.len();
    let has_costs = list.costs.is_some() || !workload.flows.iter().any(|flow| flow.cost.contains(&Cost::PerPacket));
    has_flows && least_size > 0 && is_in_order && has_costs
}
