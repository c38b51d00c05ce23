//! The bounds as numbers.

use dovetail_model::bounds::*;

#[test]
fn makespan_bounds_follow_equations_2_3_and_25() {
    assert_eq!(makespan_lower_bound_s(&[3.0, 7.0, 5.0]), 7.0);
    assert_eq!(makespan_lower_bound_s(&[]), 0.0);
    assert_eq!(work_conserving_makespan_s(3, 7.0), 21.0);
    assert_eq!(tracking_makespan_s(10.0, 4, 0.5), 12.0);
}

#[test]
fn service_deviation_follows_equation_26() {
    assert_eq!(tracking_deviation(4, 0.5), ServiceDeviation { behind_s: 3.0, ahead_s: 0.5 });
    assert_eq!(tracking_deviation(1, 0.5), ServiceDeviation { behind_s: 0.5, ahead_s: 0.5 });
    assert_eq!(tracking_deviation(0, 0.5).behind_s, 0.0);
    assert_eq!(tracking_deviation_any_flow(4, 0.5).behind_s, 4.0);
}

#[test]
fn what_theorems_4_and_5_become_with_more_resources() {
    assert_eq!(tracking_makespan_of_many_s(10.0, 2, 4, 0.5), tracking_makespan_s(10.0, 4, 0.5));
    assert_eq!(tracking_makespan_of_many_s(10.0, 3, 4, 0.5), 14.0);
    assert_eq!(tracking_deviation_of_many(2, 4, 0.5, false), tracking_deviation_any_flow(4, 0.5));
    assert_eq!(tracking_deviation_of_many(3, 4, 0.5, true), ServiceDeviation { behind_s: 5.5, ahead_s: 0.5 });
    assert_eq!(tracking_deviation_of_many(3, 0, 0.5, true).behind_s, 0.0);
}

#[test]
fn drfq_bounds_add_weighted_packets_and_take_the_worst_resource() {
    let flow = |weight, longest_dominant_s| DrfqFlow { weight, longest_dominant_s };
    assert_eq!(drfq_relative_fairness_s(flow(2.0, 3.0), flow(1.0, 4.0)), 5.5);
    assert_eq!(drfq_start_delay_s(&[&[1.0, 5.0], &[3.0, 2.0]], 0.0), 7.0);
    assert_eq!(drfq_start_delay_s(&[&[1.0, 5.0], &[3.0, 2.0]], 4.0), 15.0);
    assert_eq!(drfq_start_delay_s(&[], 4.0), 0.0);
}

#[test]
fn rounds_grow_with_flows_and_groups_with_the_weight() {
    assert_eq!([2, 3, 4].map(|m| mr3_relative_fairness_s(m, 0.5)), [3.0, 3.0, 3.5]);
    assert_eq!(mr3_start_up_s(2, 5, 0.5), 6.0);
    assert_eq!(mr3_packet_delay_s(2, 5, 0.5), 13.0);
    assert_eq!(gmr3_relative_fairness_s([0.5, 0.25], 1.0), 54.0);
    assert_eq!(gmr3_packet_delay_s(2, 0.5, 1.0), 54.0);
}

#[test]
fn bounds_on_one_resource() {
    let sharer = |weight, longest_s| Sharer { weight, longest_s };
    assert_eq!(tag_relative_fairness_s(sharer(2.0, 3.0), sharer(1.0, 4.0)), 5.5);
    assert_eq!(drr_relative_fairness_s(10.0, sharer(2.0, 3.0), sharer(1.0, 4.0)), 15.5);
    // Two other flows: 2 turns of 10 each by weight, and a packet each; then two packets of 3.
    let others = [sharer(1.0, 4.0), sharer(0.5, 2.0)];
    assert_eq!(drr_head_delay_s(10.0, 2.0, 3.0, others.into_iter()), 6.0 + 24.0 + 12.0);
    // Equal flows with the quantum 1: the frame is n, the latency 3 n - 2.
    assert_eq!(drr_latency_s(1.0, 1.0, 5.0), 13.0);
    assert_eq!(sfq_delay_s(3.0, 6.0), 9.0);
    assert_eq!(scfq_delay_s(6.0), 6.0);
    assert_eq!(one_packet_late_s(4.0), 4.0);
    // Half of the resource, work 5 with packets of up to 3, and packets of 4 elsewhere.
    assert_eq!(wf2q_plus_delay_s(5.0, 0.5, 3.0, 4.0), 17.0);
}
