//! The figures on scaled-down inputs: that they measure what is expected.

use super::super::expected::assert_covered;
use dovetail_experiment::claim::Verdict;

use super::super::{expected, with_bench};
use super::*;

/// The keys whose verdict is another than "reproduced".
fn not_reproduced(id: &str, findings: &Findings) -> Vec<String> {
    let expected = expected::all().unwrap();
    let checks = expected::checks(super::super::item(id).unwrap(), &expected, findings);
    let claims = checks.into_iter().filter(|c| c.verdict.is_some());
    claims.filter(|c| c.verdict != Some(Verdict::Reproduced)).map(|c| c.quantity).collect()
}

#[test]
fn figures_1_and_2_are_reproduced() {
    with_bench(|bench| {
        for (id, findings) in
            [("atfq-fig1", fig1::reproduce(bench).unwrap()), ("atfq-fig2", fig2::reproduce(bench).unwrap())]
        {
            assert_covered(id, &findings);
            assert_eq!(not_reproduced(id, &findings), [""; 0], "{id}");
        }
    });
}

#[test]
fn figure_5_measures_what_is_expected() {
    with_bench(|bench| {
        // A tenth of the packets in a tenth of the time.
        let mut overrides = vec!["until=\"1.1 s\"".to_string(), "interval=\"10 ms\"".to_string()];
        overrides.push("flows.BF.list.0.at=\"0.2 s\"".into());
        let counts = [("IPSE", 1126, 6000), ("SM", 7000, 32_000), ("BF", 6379, 75_000), ("RE", 7387, 33_000)];
        for (flow, before, after) in counts {
            overrides.push(format!("flows.{flow}.list.0.count={before}"));
            overrides.push(format!("flows.{flow}.list.1.count={after}"));
        }
        overrides.push("flows.BF.list.1.at=\"0.2 s\"".into());
        let runs = bench.run(&fig5::scenario(bench, &overrides).unwrap()).unwrap();
        let alone = fig5::Anticipated::measure(bench, &overrides).unwrap();
        assert_covered("atfq-fig5", &fig5::compare(&runs, &alone).unwrap());
    });
}

#[test]
fn figures_6_to_10_measure_what_is_expected() {
    with_bench(|bench| {
        let mut overrides = vec!["until=\"0.2 s\"".to_string()];
        overrides.extend((0..20).map(|flow| format!("flows.{flow}.list.0.count=2500")));
        let twenty = Twenty::run(bench, &twenty::scenario(bench, &overrides).unwrap()).unwrap();
        assert_eq!(twenty.times.len(), 20);
        // 200 bytes through IPsec: 87.5 us, and 4 us on the link; 1000 bytes through redundancy elimination: 17.957 and
        // 20.
        assert_eq!((twenty.times[0], twenty.times[19]), ([87.5e-6, 4e-6], [17.957e-6, 20e-6]));
        assert_covered("atfq-fig6", &fig6::reproduce(&twenty).unwrap());
        assert_covered("atfq-fig7", &fig7::reproduce(&twenty).unwrap());
        let mut eight = fig8::reproduce(&twenty).unwrap();
        fig8::by_order(&mut eight, bench, 50, &overrides).unwrap();
        assert_covered("atfq-fig8", &eight);
        let moved = eight.value("order-memoryless").unwrap();
        assert!(moved > 0.0, "the order of the flows decides which of equal stamps comes first");
        let mut nine = fig9::reproduce(&twenty).unwrap();
        fig9::by_order(&mut nine, bench, &overrides).unwrap();
        assert_covered("atfq-fig9", &nine);
        assert_covered("atfq-fig10", &fig10::reproduce(&twenty).unwrap());
    });
}
