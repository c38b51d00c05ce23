use dovetail_dataplane::config::Config;
use dovetail_dataplane::core::Snapshot;
use dovetail_lab::scenario::{Group, GroupReport, Measured, Step};
use dovetail_units::{Duration, Time};

use super::super::slices::Slice;
use super::super::window::Observation;
use super::*;

#[test]
fn there_is_no_mean_of_nothing() {
    assert_eq!((mean([].into_iter()), mean([1.0, 4.0].into_iter())), (None, Some(2.5)));
}

/// The traffic of [`report`], of which no theory tells.
fn scenario() -> Scenario {
    let text = "live = \"box.toml\"\nstep = [{ time = \"1 s\" }]\n\
        udp = [{ class = \"one\", port = 1, frame = \"60 B\", rate = \"1 pps\" }]\n";
    Scenario::parse("s.toml", text, &[]).unwrap()
}

/// A step in which a thousand frames of either of two classes occupied the CPU for 20 us each.
fn report() -> StepReport {
    let config = "scheduler = \"fifo\"\nports = { in = \"packet:a\", out = \"packet:b\" }\n\
        class = [{ name = \"one\", match = [{ protocol = \"udp\" }] }, { name = \"two\" }]\n";
    let middlebox = Config::parse("box.toml", config, &[]).unwrap().middlebox().unwrap();
    let since = middlebox.snapshot(Time::from_nanos(1_000_000_000));
    let mut until = Snapshot { time_s: 2.0, ..since.clone() };
    for class in &mut until.classes {
        (class.frames.frames_processed, class.frames.cpu_s) = (1000, 0.02);
    }
    let group = |class: &str| GroupReport {
        class: class.to_string(),
        window: Duration::from_secs(1),
        bytes: vec![0],
        sent: 0,
        received: 0,
        lost: 0,
        latency: None,
        rtt: None,
        missed: 0,
        retransmitted: 0,
        ecn: 0,
        counted: 0.0,
    };
    let traffic = Measured { groups: ["one", "two"].map(group).into(), marked: None };
    let groups = ["one", "two"].map(|class| Group { class: class.to_string(), udp: Vec::new(), tcp: Vec::new() });
    let step = Step { title: "step".into(), set: Vec::new(), time: Duration::from_secs(1) };
    let inside = Observation::new(&since, &until);
    StepReport::new(&step, false, &groups, Slice { time: step.time, traffic, inside })
}

#[test]
fn nothing_is_held_against_a_simulation_of_a_machine_whose_speed_changed() {
    let report = report();
    let of = |us: [f64; 2]| {
        let of_group = |us| {
            Some(Predicted { shares: [0.0; RESOURCES], frames: 1.0, latencies: Vec::new(), measured: Some(us / 1e6) })
        };
        let mut step = StepChecks::new("lab", &report, &[[0.0; RESOURCES]; 2]);
        step.of_simulation(&us.map(of_group));
        let verdicts: Vec<Verdict> = step.checks.iter().filter_map(|check| check.verdict).collect();
        let held = verdicts[2..].iter().any(|&verdict| verdict != Verdict::NotComparable);
        ([verdicts[0], verdicts[1]], held, step.hindered)
    };
    let (near, far) = (20.0 / 1.04, 20.0 / 1.06);
    assert_eq!(of([20.0, near]), ([Verdict::Reproduced; 2], true, Ok(())));
    assert_eq!(of([20.0, far]), ([Verdict::Reproduced, Verdict::Differs], false, Err(UNEVEN)));
    // The costs of all classes are shown.
    assert_eq!(of([far, near]), ([Verdict::Differs, Verdict::Reproduced], false, Err(UNEVEN)));
}

#[test]
fn a_class_without_frames_hinders_no_other_and_one_whose_frames_wait_all() {
    let (report, scenario) = (report(), scenario());
    let of_two = Predicted { shares: [0.0; RESOURCES], frames: 1.0, latencies: Vec::new(), measured: Some(20e-6) };
    let of = |groups: [Option<Predicted>; 2], lack| {
        let prediction = Prediction { groups: groups.into(), lacks: vec![(0, lack)] };
        of_step("lab", &scenario, &report, Some(&prediction))
    };
    let Verdicts { checks, hindered, remarks } = of([None, Some(of_two)], Lack::Unsent);
    assert_eq!((hindered, remarks), (None, vec!["one is not simulated: no frame of it was sent.".to_string()]));
    let verdict = |check: &Check| check.verdict.unwrap();
    let told: Vec<(&str, Verdict)> = checks.iter().map(|check| (check.quantity.as_str(), verdict(check))).collect();
    let cost = "simulated: one: CPU time of a frame";
    assert_eq!(told[0], (cost, Verdict::NotComparable));
    assert_eq!(told[1], ("simulated: two: CPU time of a frame", Verdict::Reproduced));
    assert!(told[2..].iter().all(|(quantity, _)| !quantity.contains("one")), "{told:?}");
    let Verdicts { checks, hindered, remarks } = of([None, None], Lack::Unprocessed);
    assert_eq!((hindered, remarks.len(), checks.len()), (Some(UNKNOWN_COST), 1, 1));
    assert_eq!((checks[0].quantity.as_str(), checks[0].verdict), (cost, Some(Verdict::NotComparable)));
}

#[test]
fn a_class_of_which_no_frame_was_processed_says_nothing_of_the_machine() {
    let mut report = report();
    report.groups[0].demand.times[0] = 0.0;
    let of_group = Predicted { shares: [0.0; RESOURCES], frames: 1.0, latencies: Vec::new(), measured: Some(20e-6) };
    let mut step = StepChecks::new("lab", &report, &[[0.0; RESOURCES]; 2]);
    step.of_simulation(&[Some(of_group.clone()), Some(of_group)]);
    let verdicts: Vec<Verdict> = step.checks.iter().filter_map(|check| check.verdict).collect();
    assert_eq!(verdicts[..2], [Verdict::NotComparable, Verdict::Reproduced]);
    assert!(step.hindered.is_ok() && step.checks[0].why.contains(IDLE), "{:?}", step.checks[0]);
}

/// Nothing says what a packet is worth of which none is expected.
#[test]
fn a_share_where_no_frame_is_expected_must_be_near() {
    let mut report = report();
    report.groups[0].dominant_share = 0.5;
    let mut step = StepChecks::new("lab", &report, &[[0.0; RESOURCES]; 2]);
    step.share_and_goodput("", &report.groups[0], (1.0, 0.0), "");
    assert_eq!(step.checks[0].verdict, Some(Verdict::Differs));
}

/// Two packets, of half a per cent each, of each of four flows, and the root of four pieces.
#[test]
fn ends_of_pieces_are_off_independently_of_one_another() {
    let mut report = report();
    let at = |time_s| Snapshot { time_s, ..report.inside.until().clone() };
    let second = |time_s| Observation::new(&at(time_s), &at(time_s + 1.0));
    report.inside = second(1.0).and(second(3.0)).and(second(5.0)).and(second(7.0));
    report.groups[0].demand.flows = 4;
    let mut step = StepChecks::new("lab", &report, &[[0.0; RESOURCES]; 2]);
    step.share_and_goodput("", &report.groups[0], (0.5, 100.0), "");
    assert_eq!(step.checks[0].tolerance, Some(2.0 * 2.0 * 4.0 * 0.5));
}

/// By hand: runs of 80, 100 and 120 deviate by 20 from their mean; a fourth from the mean of three, by the root of 4/3
/// more.
#[test]
fn the_ratio_may_be_off_as_the_simulated_ones_are() {
    let mut report = report();
    for (group, (rate, time, latency)) in report.groups.iter_mut().zip([(1000.0, 2e-3, 1.0), (1.0, 1e-6, 0.01)]) {
        (group.demand.rate, group.demand.times) = (Some(rate), [time, 0.0, 0.0]);
        (group.demand.flows, group.fair_share, group.box_latency_mean_s) = (1, 1.0, Some(latency));
    }
    let of = |latencies: [f64; 3]| Predicted {
        shares: [0.0; RESOURCES],
        frames: 1.0,
        latencies: latencies.map(Some).into(),
        measured: None,
    };
    let mut step = StepChecks::new("lab", &report, &[[0.0; RESOURCES]; 2]);
    step.simulated_mice(&[Some(of([0.8, 1.0, 1.2])), Some(of([0.01; 3]))]);
    let check = &step.checks[0];
    let near = |found: Option<f64>, by_hand: f64| (found.unwrap() - by_hand).abs() < 1e-9;
    assert!(near(check.paper, 100.0) && near(check.tolerance, 5.0 + 3.0 * 20.0 * (4.0_f64 / 3.0).sqrt()), "{check:?}");
}

#[test]
fn there_is_no_deviation_of_one_run() {
    assert_eq!((mean_and_deviation(&[1.0]), mean_and_deviation(&[1.0, 2.0, 3.0])), (None, Some((2.0, 1.0))));
}
