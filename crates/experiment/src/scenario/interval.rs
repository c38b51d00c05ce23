//! How finely a run is recorded.

use dovetail_units::{Duration, Time};

use super::file::{Flows, Listed};
use super::flows::{count, expected_packets, last_start, own_cost};
use super::names::ClassCost;
use super::{Scenario, ScenarioError};

/// The longest interval: as in the tradeoff paper.
const LONGEST: Duration = Duration::from_secs(1);
/// The shortest.
const SHORTEST: Duration = Duration::from_micros(1);
/// How many intervals a run should have at least.
const INTERVALS: f64 = 20.0;

/// The most intervals of a run: with one flow some 300 MB for each scheduler.
const MOST_INTERVALS: f64 = 1e6;

/// That the interval, if the scenario names one, is not so short that the run has more of them than can be kept.
///
/// # Errors
/// It is.
pub fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Some(written) = &scenario.file.interval else { return Ok(()) };
    let (interval, shortest) = (written.get_ref().0.0, shortest(scenario));
    if interval >= shortest {
        return Ok(());
    }
    let intervals = run_s(scenario) / interval.as_secs_f64();
    let message = format!(
        "{interval}: the run has some {intervals:.1e} such intervals, at most {MOST_INTERVALS:.0e} are possible; \
         expected at least {shortest}"
    );
    Err(scenario.error(written.span(), message))
}

/// The shortest interval of which the run has no more than can be kept.
fn shortest(scenario: &Scenario) -> Duration {
    Duration::from_nanos((run_s(scenario) * 1e9 / MOST_INTERVALS).ceil() as u64)
}

/// About how long the run is, as far as that can be told in advance.
fn run_s(scenario: &Scenario) -> f64 {
    let until = scenario.until().map_or(f64::INFINITY, Time::as_secs_f64);
    last_arrival_s(scenario).max(work_s(scenario)).min(until)
}

/// The longest of 1 s, 500 ms, 200 ms, 100 ms, 50 ms, ... 1 us of which the run has some twenty, as far as the run's
/// length can be told in advance; of a very long run the shortest possible.
pub fn default_interval(scenario: &Scenario) -> Duration {
    let length = run_s(scenario);
    let mut interval = LONGEST;
    for (step, part) in [2, 5, 10].into_iter().cycle().zip(0..) {
        let decade = LONGEST.as_nanos() / 10_u64.pow(part / 3);
        if interval.as_secs_f64() * INTERVALS <= length || interval <= SHORTEST {
            break;
        }
        interval = Duration::from_nanos(decade / step);
    }
    interval.max(shortest(scenario))
}

fn last_arrival_s(scenario: &Scenario) -> f64 {
    let generated = scenario.file.flows.iter().map(|g| end_s(scenario, g.get_ref()));
    let replayed = scenario.capture.iter().map(|c| c.arrivals.last().as_secs_f64() / c.speed);
    generated.chain(replayed).fold(0.0, f64::max)
}

fn end_s(scenario: &Scenario, group: &Flows) -> f64 {
    if let Some(list) = &group.list {
        return list.last().map_or(0.0, |p| p.at.0.as_secs_f64());
    }
    let start = last_start(group).as_secs_f64();
    let by_packets = group.packets.zip(group.rate).map(|(packets, rate)| start + packets as f64 / rate.0.as_pps());
    let by_time = [group.stop.map(|s| s.0), scenario.until()].into_iter().flatten().map(Time::as_secs_f64);
    by_time.chain(by_packets).fold(f64::INFINITY, f64::min)
}

/// Time that the busiest resource needs for everything, about.
fn work_s(scenario: &Scenario) -> f64 {
    let mut work = vec![0.0; scenario.resources()];
    for group in scenario.file.flows.iter().map(|g| g.get_ref()) {
        let Ok(class) = scenario.names.class(group.class.get_ref()) else { continue };
        if let Some(list) = &group.list {
            add_list(&mut work, scenario, class, (list, count(group)));
            continue;
        }
        let packets = expected_packets(scenario, group);
        let sizes = group.size.map(|s| s.0);
        let mean = sizes.map_or(0, |s| s.least / 2 + s.most / 2);
        for (resource, sum) in work.iter_mut().enumerate() {
            *sum += packets * class.mean_time(resource, mean).as_secs_f64();
        }
    }
    if let Some(capture) = &scenario.capture {
        work.iter_mut().zip(&capture.work_s).for_each(|(sum, replayed)| *sum += replayed);
    }
    let servers = scenario.file.resource.iter().map(|r| f64::from(r.get_ref().servers.get_ref().0));
    work.iter().zip(servers).map(|(w, s)| w / s).fold(0.0, f64::max)
}

/// Add what the packets of a list take, each with the costs of its own, for so many flows.
fn add_list(work: &mut [f64], scenario: &Scenario, class: &ClassCost, (list, flows): (&[Listed], u32)) {
    for (resource, (sum, name)) in work.iter_mut().zip(scenario.resource_names()).enumerate() {
        for packet in list {
            let size = packet.size.0.least;
            let time = own_cost(&packet.cost.0, &name).unwrap_or_else(|| class.mean_time(resource, size));
            *sum += f64::from(flows) * packet.count as f64 * time.as_secs_f64();
        }
    }
}
