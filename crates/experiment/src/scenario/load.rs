//! The load of generated traffic: rates that offer the busiest resource so much.

use dovetail_units::PacketRate;

use super::file::{File, Flows};
use super::names::Names;
use super::value::Sizes;
use super::{Scenario, ScenarioError, flows};

/// Multiply the rates of all flows alike, so that together they offer the busiest resource what the scenario says. What
/// they offer is counted while all of them send.
///
/// # Errors
/// The load is out of range, or of packets that have no rate; or a group of flows cannot have the rate that comes of
/// it.
pub fn apply(scenario: &mut Scenario) -> Result<(), ScenarioError> {
    let Some(written) = &scenario.file.load else { return Ok(()) };
    let load = written.get_ref().0;
    if !(0.001..=1000.0).contains(&load) {
        let number = dovetail_config::number(load);
        return Err(scenario.error(written.span(), format!("load = {number}: expected a number from 0.001 to 1000")));
    }
    if scenario.file.trace.is_some() {
        let message = "it is for generated flows, whose rates it changes; a capture has load or speed in [trace]";
        return Err(scenario.error(written.span(), message));
    }
    if let Some(group) = scenario.file.flows.iter().find(|group| group.get_ref().list.is_some()) {
        return Err(scenario.error(group.span(), "a list of packets has no rate, which load would change"));
    }
    let offered = offered(&scenario.file, &scenario.names);
    if offered <= 0.0 {
        return Err(scenario.error(written.span(), "no packet needs any resource, so there is no load"));
    }
    let faster = |rate: PacketRate| PacketRate::from_micro_pps((rate.as_pps() * load / offered * 1e6).round() as u64);
    for index in 0..scenario.file.flows.len() {
        let group = scenario.file.flows[index].get_mut();
        let Some(rate) = &mut group.rate else { continue };
        match faster(rate.0) {
            Some(faster) => rate.0 = faster,
            None => return Err(scenario.error(scenario.file.flows[index].span(), "too slow for this load")),
        }
    }
    flows::check(scenario)
}

/// What all flows together ask of the busiest resource, as a part of what it can do.
fn offered(file: &File, names: &Names) -> f64 {
    let per_second = |group: &Flows| {
        let rate = group.rate.map_or(0.0, |rate| rate.0.as_pps()) * f64::from(flows::count(group));
        match (&group.on, &group.off) {
            (Some(on), Some(off)) => {
                let (on, off) = (on.0.0.as_secs_f64(), off.0.0.as_secs_f64());
                rate * on / (on + off)
            }
            _ => rate,
        }
    };
    let mut work = vec![0.0; file.resource.len()];
    for group in file.flows.iter().map(|group| group.get_ref()) {
        let Ok(class) = names.class(group.class.get_ref()) else { continue };
        let Sizes { least, most } = group.size.map_or(Sizes { least: 0, most: 0 }, |size| size.0);
        let mean = (f64::from(least) + f64::from(most)) / 2.0;
        for (resource, sum) in work.iter_mut().enumerate() {
            *sum += per_second(group) * class.mean_time(resource, mean.round() as u32).as_secs_f64();
        }
    }
    let servers = file.resource.iter().map(|resource| f64::from(resource.get_ref().servers.get_ref().0));
    work.iter().zip(servers).map(|(work, servers)| work / servers).fold(0.0, f64::max)
}
