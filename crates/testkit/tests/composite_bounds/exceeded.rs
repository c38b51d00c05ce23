//! Runs by hand that exceed PCFQ's delay guarantee, equation (17): it is no bound, for three reasons of which each is
//! enough. Times are in microseconds.

use dovetail_model::bounds_composite::{ReservedFlow, pcfq_delay_s};

use super::pipeline::{Arrival, Traffic, serve};
use super::{expected_arrivals, left_by};

/// `count` packets of the flow at this time, with these times on CPU and link.
fn packets(at: f64, flow: usize, count: usize, times: [u64; 2]) -> impl Iterator<Item = Arrival> {
    let truth = times.map(|us| us * 1000);
    std::iter::repeat_n(Arrival { at: (at * 1e3) as u64, flow, truth, estimate: truth }, count)
}

fn traffic(weights: &[u32], mut arrivals: Vec<Arrival>) -> Traffic {
    arrivals.sort_by_key(|a| a.at);
    Traffic { weights: weights.iter().map(|weight| [weight * 1000; 2]).collect(), arrivals }
}

/// By how much the flow's last packet leaves after its expected arrival, and what (17) allows; microseconds.
fn last_packet(spec: &str, traffic: &Traffic, flow: usize) -> (f64, f64) {
    let last = traffic.arrivals.iter().rposition(|a| a.flow == flow).unwrap();
    let times = traffic.times();
    let reserved = |f: usize| ReservedFlow { packets_s: &times[f], shares: traffic.shares(f) };
    let all: Vec<ReservedFlow<'_>> = (0..times.len()).map(reserved).collect();
    let late = left_by(spec, traffic)[last] as f64 - expected_arrivals(traffic, Traffic::shares)[last];
    (late / 1e3, pcfq_delay_s(&all[flow], &all) / 1e3)
}

#[track_caller]
fn assert_late(spec: &str, traffic: &Traffic, flow: usize, late: f64, allowed: f64) {
    let found = last_packet(spec, traffic, flow);
    assert!((found.0 - late).abs() < 1e-6 && (found.1 - allowed).abs() < 1e-6, "{spec}: {found:?}");
    assert!(late > allowed);
}

/// The term of one longest packet counts one packet ahead, and in CPU and link there are two at once: at 3 us one of
/// the first flow's packets is on the link and the next one waits for it, since the CPU was free and nothing else
/// there. They leave the link at 101 and 201 us, the second flow's packet at 202. It is to leave 1/0.5 + 1/0.5 and 1 +
/// 100 us after it came.
#[test]
fn packets_overlap_on_cpu_and_link() {
    let arrivals = packets(0.0, 0, 10, [1, 100]).chain(packets(3.0, 1, 1, [1, 1])).collect();
    let traffic = traffic(&[1, 1], arrivals);
    for spec in ["pcfq", "pcfq:clock=paper", "pcfq:charge=estimated"] {
        assert_late(spec, &traffic, 1, 202.0 - 3.0, 4.0 + 101.0);
    }
}

/// On the CPU alone, so one packet at a time: by (5) and (6) V passes half as fast as in a fluid, as a flow's two
/// weights both count. In parts of the larger sum of weights, packets of the flows of weights 1, 2, 1 have 4, 2, 4 us
/// of it each. The first flow sends 50 packets, up to a finish tag of 200; the second keeps the CPU busy. After 148 us
/// at 2/3 and 51.5 us at 1, V is 150: the third flow's packets that come then get tags of 154 to 202, and 13 of them
/// overtake the first flow's 51st, of 204, which was expected at 200 us. It leaves at 200 + 13 + 1.
#[test]
fn virtual_time_is_slower_than_the_fluid() {
    let arrivals = packets(0.0, 0, 50, [1, 0])
        .chain(packets(0.0, 1, 170, [1, 0]))
        .chain(packets(199.5, 2, 20, [1, 0]))
        .chain(packets(199.5, 0, 1, [1, 0]));
    let traffic = traffic(&[1, 2, 1], arrivals.collect());
    assert_late("pcfq:clock=paper", &traffic, 0, 14.0, 4.0 + 1.0);
}

/// On the CPU alone: V read off the tags stands still while a packet with a small start tag has a large finish tag.
/// Weights 4, 10, 5, 1 make 5, 2, 4 and 20 us of tags per us. The fourth flow's packet of 9 us waits with a start tag
/// of 0 and a finish tag of 180, while the first flow's 20 packets (up to 100) and the second's 80 (up to 160) are
/// served for 100 us. The third flow's packets that come then have tags of 4 to 104: 26 of them overtake the first
/// flow's 21st, of 105, which was expected at 100 us. It leaves at 100 + 26 + 1.
#[test]
fn virtual_time_off_the_tags_stands_still() {
    let arrivals = packets(0.0, 0, 20, [1, 0])
        .chain(packets(0.0, 1, 80, [1, 0]))
        .chain(packets(0.0, 3, 1, [9, 0]))
        .chain(packets(99.5, 2, 30, [1, 0]))
        .chain(packets(99.5, 0, 1, [1, 0]));
    let traffic = traffic(&[4, 10, 5, 1], arrivals.collect());
    assert_late("pcfq:clock=tags", &traffic, 0, 27.0, 5.0 + 9.0);
    assert!(serve("pcfq:clock=tags", &traffic).1 == 1, "one packet at a time");
}
