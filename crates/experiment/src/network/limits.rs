//! What no run can hold, or would show nothing of, whatever the scheduler.

use dovetail_sim::network::{MOST_FLOWS, RoundTrip};
use dovetail_units::{Duration, Time};

use super::scenario::{Capacity, Group, Resource};

/// The most groups of flows: in captures each has a network of its own.
pub const MOST_GROUPS: usize = 1 << 16;

/// Why a run until then shows nothing of some of the flows that start at `start`: they have not heard of their
/// receivers. By the longest round trip of a range: whoever draws it would count as a flow that gets nothing, under
/// every scheduler.
pub fn unheard(rtt: RoundTrip, start: Time, until: Time) -> Result<(), String> {
    if until.since(start) > rtt.max {
        return Ok(());
    }
    let from = if start == Time::ZERO { String::new() } else { format!(" that begins at {start}") };
    let trip = if rtt.min == rtt.max { "a round trip of" } else { "a round trip of up to" };
    Err(format!("{trip} {}{from}: the run ends at {until}, before it is over", rtt.max))
}

/// Why `rate` short flows of a second cannot be run until then: more would be under way at once than may be. A flow
/// takes a round trip at least, and every resource of its route has to serve each of at least `least_packets`.
pub fn crowd(
    group: &Group,
    resources: &[Resource],
    rate: f64,
    (rtt, until): (Duration, Time),
    least_packets: f64,
) -> Result<(), String> {
    let run = until.since(Time::ZERO);
    let most = f64::from(MOST_FLOWS);
    let within = rate * rtt.min(run).as_secs_f64();
    if within > most {
        return Err(format!(
            "{rate} flows/s: in a round trip of {rtt} some {within:.0} come and none of them ends; expected at most \
             {MOST_FLOWS} under way at once"
        ));
    }
    let bits = 8.0 * f64::from(group.packet_bytes);
    let packets_per_s = |&index: &usize| match resources[index].capacity {
        Capacity::Cpu(rate) => rate.as_cycles_per_second() as f64 / (group.density.as_f64() * bits),
        Capacity::Link(rate) => rate.as_bps() as f64 / bits,
    };
    let ends_per_s = group.route.iter().map(packets_per_s).fold(f64::INFINITY, f64::min) / least_packets;
    let [come, end] = [rate, ends_per_s].map(|per_s| per_s * run.as_secs_f64());
    if come - end > most {
        return Err(format!(
            "{rate} flows/s: some {come:.0} come in {run}, and their route has room for {end:.0} of {least_packets} \
             packets, the shortest; expected at most {MOST_FLOWS} under way at once"
        ));
    }
    Ok(())
}
