//! The figures on scaled-down inputs: that they measure what is expected, and Table 2's numbers.

use std::sync::atomic::AtomicBool;

use dovetail_model::bounds;

use super::super::expected::assert_covered;
use dovetail_experiment::claim::Verdict;

use super::super::{Settings, expected, with_bench};
use super::*;

/// Longest processing time in Table 2's runs.
const LONGEST_S: f64 = 96.7e-6;
const FLOWS: usize = 60;

/// Table 2 with flows that send for a shorter time.
fn short_table2(bench: &Bench<'_>, seconds: &str) -> dovetail_experiment::scenario::Scenario {
    let stop = |flows: usize| format!("flows.{flows}.stop=\"{seconds}\"");
    table2::scenario(bench, &[stop(0), stop(1), stop(2)]).unwrap()
}

/// The whole table lasts in proportion to the time of sending, up to its beginning and end: a packet schedule is within
/// n tau_max of its fluid (Theorem 4), and by the same theorem's argument the last packets of the 60 flows may end a
/// fluid's phase up to n tau_max early or late. So a hundredth of the sending is within 2 n tau_max = 11.6 ms of a
/// hundredth of the paper's makespan, besides the 0.5 % that the whole table is allowed.
#[test]
fn a_hundredth_of_table_2_takes_a_hundredth_of_the_time() {
    with_bench(|bench| {
        let runs = bench.run(&short_table2(bench, "0.1 s")).unwrap();
        let paper =
            [(1.0, 55.68), (0.95, 52.50), (0.9, 48.97), (0.85, 47.17), (0.7, 47.13), (0.6, 47.07), (0.5, 47.07)];
        assert_eq!(runs.len(), paper.len());
        for (run, (level, paper_s)) in runs.iter().zip(paper) {
            assert_eq!(alpha(run), level);
            assert_eq!(run.outcome.tally.delivered, 12_000);
            let allowed = 0.005 * paper_s / 100.0 + 2.0 * FLOWS as f64 * LONGEST_S;
            let ours = table2::makespan_s(run).unwrap();
            assert!((ours - paper_s / 100.0).abs() <= allowed, "alpha {level}: {ours} s against {paper_s} s / 100");
        }
    });
}

#[test]
fn packets_end_within_theorem_4_of_their_fluid() {
    with_bench(|bench| {
        let scenario = short_table2(bench, "0.1 s");
        let fluid = table2::fluid_input(&scenario.workload()).unwrap();
        assert!((fluid.longest_time_s() - LONGEST_S).abs() < 1e-12);
        for run in bench.run(&scenario).unwrap() {
            let fluid_s = table2::fluid_makespan_s(&fluid, alpha(&run)).unwrap();
            let ours = table2::makespan_s(&run).unwrap();
            assert!(
                ours <= bounds::tracking_makespan_s(fluid_s, FLOWS, LONGEST_S),
                "{}: {ours} s, {fluid_s} s",
                run.scheduler
            );
            // No schedule is shorter than the work on the busier resource; nanosecond clocks may round each packet
            // down.
            let least = bounds::makespan_lower_bound_s(&fluid.total_times_s());
            assert!(ours >= least - 12_000.0 * 1e-9, "{}: {ours} s, {least} s", run.scheduler);
        }
    });
}

#[test]
fn figures_1_and_2_and_the_runs_of_table_2_measure_what_is_expected() {
    with_bench(|bench| {
        assert_covered("tradeoff-fig1", &fig1::reproduce(bench).unwrap());
        assert_covered("tradeoff-fig2", &fig2::reproduce().unwrap());
        // Enough for full seconds with and without the link-bound flows.
        let runs = bench.run(&short_table2(bench, "1 s")).unwrap();
        assert_covered("tradeoff-fig3", &fig3::reproduce(&runs).unwrap());
        assert_covered("tradeoff-fig4", &fig4::reproduce(&runs).unwrap());
    });
}

#[test]
fn table_2_measures_what_is_expected() {
    with_bench(|bench| {
        let scenario = short_table2(bench, "0.02 s");
        let runs = bench.run(&scenario).unwrap();
        assert_covered("tradeoff-table2", &table2::compare(bench, &scenario, &runs).unwrap());
    });
}

#[test]
fn figures_5_and_6_measure_what_is_expected() {
    with_bench(|bench| {
        let stop = |flows: std::ops::Range<usize>, seconds: &str| -> Vec<String> {
            flows.map(|k| format!("flows.{k}.stop=\"{seconds}\"")).collect()
        };
        let five = fig5::scenario(bench, &stop(0..3, "1.5 s")).unwrap();
        assert_covered("tradeoff-fig5", &fig5::compare(bench, &five).unwrap());
        let six = fig6::scenario(bench, &stop(0..6, "1.5 s")).unwrap();
        assert_covered("tradeoff-fig6", &fig6::compare(bench, &six).unwrap());
    });
}

#[test]
fn trace_driven_figures_measure_what_is_expected() {
    with_bench(|bench| {
        let patterns =
            trace::patterns(bench, &trace::Size { packets: 6_000, flows: 300, runs: 1, compared: 1 }).unwrap();
        assert_covered("tradeoff-fig7", &fig7::reproduce(&patterns).unwrap());
        assert_covered("tradeoff-fig8", &fig8::reproduce(&patterns).unwrap());
        let traffic = trace::Traffic::open(bench, 6_000, 300, &[]).unwrap();
        assert_covered("tradeoff-fig9", &fig9::compare(bench, &traffic, 1).unwrap());
    });
}

/// A capture of one short flow makes at most one or two of the patterns; the others are reported as not there.
#[test]
fn a_pattern_that_does_not_occur_is_not_comparable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one-flow.pcap");
    let mixture = dovetail_trace::Mixture { packets: 50, flows: 1, ..dovetail_trace::Mixture::default() };
    std::fs::write(&path, mixture.generate().unwrap().write_pcap(Vec::new()).unwrap()).unwrap();
    let cancel = AtomicBool::new(false);
    let settings = Settings {
        threads: 1,
        cancel: &cancel,
        progress: &|_, _| (),
        through: &|_, _| (),
        capture: Some(&path),
        load: None,
        wrong: false,
    };
    let bench = Bench::new(&settings);
    let patterns = trace::patterns(&bench, &trace::Size { packets: 1, flows: 1, runs: 1, compared: 1 }).unwrap();
    let balanced = patterns.0.iter().find(|p| p.pattern == trace::Pattern::Balanced).unwrap();
    assert!(balanced.runs.is_empty(), "{}", balanced.note);
    let findings = fig7::reproduce(&patterns).unwrap();
    assert_covered("tradeoff-fig7", &findings);
    let expected = expected::all().unwrap();
    let item = super::super::item("tradeoff-fig7").unwrap();
    let checks = expected::checks(item, &expected, &findings);
    let check = checks.iter().find(|c| c.quantity.starts_with("gain of CPU and link utilisation")).unwrap();
    assert_eq!((check.ours, check.verdict), (None, Some(Verdict::NotComparable)));
    assert!(check.why.contains("no assignment of flows to modules makes this traffic"), "{}", check.why);
}

#[test]
fn patterns_are_told_apart_as_in_the_paper() {
    use trace::Pattern::*;
    assert_eq!(trace::Pattern::of(1.2, 1.0), Balanced);
    assert_eq!(trace::Pattern::of(1.21, 1.0), CpuBound);
    assert_eq!(trace::Pattern::of(1.0, 1.2), Balanced);
    assert_eq!(trace::Pattern::of(1.0, 1.21), LinkBound);
}

/// The two trace scenarios differ in nothing but the classes that make IPsec rarer.
#[test]
fn less_ipsec_is_the_same_scenario_with_two_classes_more() {
    let [even, less] = trace::SCENARIOS.map(|(_, text)| -> toml::Table { toml::from_str(text).unwrap() });
    let without_classes = |mut table: toml::Table| {
        let classes = table.remove("class").unwrap();
        table.remove("title");
        (table, classes.as_array().unwrap().clone())
    };
    let ((even, even_classes), (less, less_classes)) = (without_classes(even), without_classes(less));
    assert_eq!(even, less);
    let kept: Vec<_> = less_classes.iter().filter(|c| !c["name"].as_str().unwrap().ends_with("-2")).cloned().collect();
    assert_eq!(kept, even_classes);
    assert_eq!(less_classes.len(), 5);
}
