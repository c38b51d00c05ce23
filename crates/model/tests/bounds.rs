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
fn drfq_bounds_add_weighted_packets_and_take_the_worst_resource() {
    let flow = |weight, longest_dominant_s| DrfqFlow { weight, longest_dominant_s };
    assert_eq!(drfq_relative_fairness_s(flow(2.0, 3.0), flow(1.0, 4.0)), 5.5);
    assert_eq!(drfq_start_delay_s(&[&[1.0, 5.0], &[3.0, 2.0]]), 7.0);
    assert_eq!(drfq_start_delay_s(&[]), 0.0);
}
