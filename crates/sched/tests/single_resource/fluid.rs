//! GPS, as obviously as possible: at each event every flow is visited.

use std::collections::VecDeque;

use crate::traffic::Traffic;

/// When each packet finishes if the server divides itself among the backlogged flows by weight. O(flows) per event.
pub fn finishes(traffic: &Traffic) -> Vec<f64> {
    let at: Vec<f64> = traffic.arrivals.iter().map(|a| a.at as f64).collect();
    finishes_from(traffic, &at)
}

/// The same, of packets that arrive at these times.
pub fn finishes_from(traffic: &Traffic, at: &[f64]) -> Vec<f64> {
    let mut queues: Vec<VecDeque<(usize, f64)>> = vec![VecDeque::new(); traffic.weights.len()];
    let mut finishes = vec![0.0; traffic.arrivals.len()];
    let (mut now, mut arrived) = (0.0, 0);
    loop {
        let arrival = at.get(arrived).copied();
        let load: f64 = (0..queues.len()).filter(|&f| !queues[f].is_empty()).map(|f| traffic.weight(f)).sum();
        let until_finish = |f: usize| queues[f].front().map(|head| (head.1 * load / traffic.weight(f), f));
        let first = (0..queues.len()).filter_map(until_finish).min_by(|a, b| a.0.total_cmp(&b.0));
        let (until, event) = match (first, arrival) {
            (None, None) => return finishes,
            (Some((left, flow)), at) if at.is_none_or(|at| now + left <= at) => (now + left, Some(flow)),
            (_, at) => (at.unwrap_or(now), None),
        };
        for (f, queue) in queues.iter_mut().enumerate() {
            if let Some(head) = queue.front_mut() {
                head.1 -= (until - now) * traffic.weight(f) / load;
            }
        }
        now = until;
        match event {
            Some(flow) => {
                if let Some((packet, _)) = queues[flow].pop_front() {
                    finishes[packet] = now;
                }
            }
            None => {
                let packet = traffic.arrivals[arrived];
                queues[packet.flow].push_back((arrived, packet.time as f64));
                arrived += 1;
            }
        }
    }
}

#[test]
fn two_flows_by_hand() {
    // Both wait from 0 at half speed; the short packet ends at 4, the long one has 4 left then.
    let traffic = Traffic::at_once(&[(1000, 1, 2), (1000, 1, 6)]);
    assert_eq!(finishes(&traffic), [4.0, 8.0]);
    // At three quarters and a quarter: the first ends at 8, the second then has 6 - 2 left.
    let traffic = Traffic::at_once(&[(3000, 1, 6), (1000, 1, 6)]);
    assert_eq!(finishes(&traffic), [8.0, 12.0]);
}
