//! Estimates of processing times, against the equations in floating point.

use dovetail_sched::cost::{Estimator, Per, Prediction, PredictionError, Resize};
use dovetail_units::Duration;

fn estimator(text: &str) -> Estimator {
    Estimator::new(&text.parse().unwrap())
}

fn ns(ns: u64) -> Duration {
    Duration::from_nanos(ns)
}

/// Packet k's size and time: times that depend on the size by half, and on nothing else by half.
fn packets() -> impl Iterator<Item = (u32, u64)> {
    let mut state = 1u64;
    (0..2000).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let size = 64 + (state >> 33) as u32 % 1437;
        (size, u64::from(size) * 15 + (state >> 45) % 20_000)
    })
}

fn estimate(estimator: &Estimator, size: u32) -> f64 {
    estimator.estimate(0, size, Duration::MAX).as_nanos() as f64
}

#[test]
fn smoothing_is_equation_1() {
    // Half a nanosecond of the answer's rounding, 2^-20 / 0.8 ns of the level's, and 2^-53 of floating point per step.
    const ROUNDING: f64 = 0.5 + 1.3e-6;
    for (text, alpha, mut f) in
        [("ses", 0.4, None), ("ses:alpha=0.05,first=0 s", 0.05, Some(0.0)), ("ses:alpha=1", 1.0, None)]
    {
        let mut ses = estimator(text);
        let rounding = if alpha < 0.1 { 0.5 + 1e-5 } else { ROUNDING };
        for (size, x) in packets() {
            assert!((estimate(&ses, size) - f.unwrap_or(0.0)).abs() <= rounding, "{text}");
            ses.observe(0, size, ns(x));
            f = Some(f.map_or(x as f64, |f| alpha * x as f64 + (1.0 - alpha) * f));
        }
    }
}

#[test]
fn payload_scaling_is_equation_2() {
    // F_t+1 = (L_t+1 / L_t) (alpha X_t + (1 - alpha) F_t), from F_1 = 0.5 us/B times L_1.
    let mut ses = estimator("ses:alpha=0.4,scale=payload,first=0.5 us/B");
    let mut before: Option<(f64, f64, f64)> = None;
    for (size, x) in packets() {
        let length = f64::from(size);
        let f = before.map_or(500.0 * length, |(l, x, f)| length / l * (0.4 * x + 0.6 * f));
        // The level is off by 2^-20 / 0.8 and half a unit of the division, for each of at most 1500 bytes.
        assert!((estimate(&ses, size) - f).abs() <= 0.5 + 1500.0 * 3e-6, "{f}");
        ses.observe(0, size, ns(x));
        before = Some((length, x as f64, f));
    }
}

#[test]
fn the_first_observation_is_taken_whole_unless_the_start_is_given() {
    for (text, before, after) in [
        ("ses", 0, 30_000),
        ("ses:first=10 us", 10_000, 18_000),
        ("ses:first=0 s", 0, 12_000),
        ("ses:scale=payload", 0, 30_000),
        ("ses:scale=payload,first=100 ns/B", 10_000, 18_000),
        ("fit", 0, 30_000),
        ("fit:first=1 us/B + 3 us", 103_000, 30_000),
        ("0.1 us/B + 5 us", 15_000, 15_000),
    ] {
        let mut estimator = estimator(text);
        assert_eq!(estimator.estimate(3, 100, Duration::MAX), ns(before), "{text}");
        estimator.observe(3, 100, ns(30_000));
        assert_eq!(estimator.estimate(3, 100, Duration::MAX), ns(after), "{text}");
        // What one key's packets take says nothing of another's, and nothing of the next flow of the same key.
        assert_eq!(estimator.estimate(2, 100, Duration::MAX), ns(before), "{text}");
        estimator.forget(3);
        assert_eq!(estimator.estimate(3, 100, Duration::MAX), ns(before), "{text}");
    }
}

#[test]
fn the_oracle_is_the_truth() {
    let mut oracle = estimator("oracle");
    oracle.observe(0, 100, ns(5));
    assert_eq!(oracle.estimate(0, 100, ns(77)), ns(77));
}

#[test]
fn a_fit_finds_a_line() {
    let mut fit = estimator("fit");
    for (size, _) in packets() {
        fit.observe(0, size, ns(u64::from(size) * 15 + 84_500));
    }
    for size in [0, 64, 1500, 9000] {
        // Means and slope are rounded to 25 units: 25 * 2^-12 ns, and 25 * 2^-20 / 0.5 ns/B over 9000 bytes; then half
        // a nanosecond.
        let off = estimate(&fit, size) - f64::from(size) * 15.0 - 84_500.0;
        assert!(off.abs() <= 0.5 + 0.01 + 0.5, "{size} B: {off}");
    }
}

/// Weighted least squares with the weights that forgetting gives, from all observations at once.
fn regression(seen: &[(u32, u64)], alpha: f64, size: u32) -> f64 {
    let mut weights = vec![];
    for k in 0..seen.len() {
        let gain = f64::max(alpha, 1.0 / (k + 1) as f64);
        weights.iter_mut().for_each(|w| *w *= 1.0 - gain);
        weights.push(gain);
    }
    let mean = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        weights.iter().zip(seen).map(|(w, &(x, y))| w * f(f64::from(x), y as f64)).sum()
    };
    let (mx, my) = (mean(&|x, _| x), mean(&|_, y| y));
    let slope = mean(&|x, y| (x - mx) * (y - my)) / mean(&|x, _| (x - mx) * (x - mx));
    my + slope * (f64::from(size) - mx)
}

#[test]
fn a_fit_is_weighted_least_squares() {
    let all: Vec<(u32, u64)> = packets().collect();
    let mut fit = estimator("fit:alpha=0.01");
    for (k, &(size, time)) in all.iter().enumerate() {
        fit.observe(0, size, ns(time));
        if k % 97 == 50 {
            for size in [64, 700, 1500] {
                // A gain of 1/k is rounded to 10^-6, a relative 10^-4 at most of what one packet of up to 42 us adds,
                // for a hundred packets: below 42 us * 10^-4; rounding of the state as above.
                let (ours, theirs) = (estimate(&fit, size), regression(&all[..=k], 0.01, size));
                assert!((ours - theirs).abs() <= 6.0, "after {k}, {size} B: {ours}, exactly {theirs}");
            }
        }
    }
}

#[test]
fn a_fit_keeps_its_slope_while_all_packets_are_of_one_size() {
    let mut fit = estimator("fit");
    for (size, _) in packets() {
        fit.observe(0, size, ns(u64::from(size) * 15));
    }
    for _ in 0..100_000 {
        fit.observe(0, 100, ns(1500));
    }
    // Variance V and covariance are off by 50 units of 2^-24 each, so a slope of 15 that is last computed at V = 1/16
    // by 50 * 2^-24 * (1 + 15) / (1/16) = 0.00076 ns/B. The mean time is off by 25 * 2^-12 = 0.006 ns, while sizes
    // are up to 1400 B from theirs; of that g n times as much stays in the covariance as of V = 170,000 in V in the
    // n = ln(16 V) / g = 740 packets that it takes to fade: 0.02 * 740 * 0.006 * 1400 / 170,000 = 0.00073 ns/B.
    // Over 1400 bytes, with half a nanosecond of the answer and the mean's own 0.006:
    const ROUNDING: f64 = 1400.0 * (0.00076 + 0.00073) + 0.5 + 0.006;
    let off = estimate(&fit, 1500) - 22_500.0;
    assert!(off.abs() <= ROUNDING, "{off}");
}

#[test]
fn hostile_observations_are_survived() {
    for text in ["ses", "ses:scale=payload", "ses:alpha=0.000001", "fit", "fit:alpha=1", "fit:alpha=0.001"] {
        let mut estimator = estimator(text);
        let (sizes, times) = ([0, 1, 1500, u32::MAX], [0, 1, 1 << 40, u64::MAX]);
        for k in 0..10_000usize {
            estimator.observe(0, sizes[k * 7 % 4], ns(times[k * k % 13 % 4]));
            for size in sizes {
                assert!(estimator.estimate(0, size, Duration::ZERO) <= dovetail_sched::LONGEST_TIME);
            }
        }
        // And forgotten, at any alpha above 10^-3. A fit is off by its mean size, 500 units of 2^-20 B at alpha =
        // 0.001, times the slope that such observations leave: at most their deviation of 2^40 ns over one of
        // 2^24 B.
        if !text.contains("0.000001") {
            (0..100_000).for_each(|_| estimator.observe(0, 1500, ns(1000)));
            let off = estimator.estimate(0, 1500, Duration::ZERO).as_nanos().abs_diff(1000);
            assert!(off <= if text == "fit:alpha=0.001" { 32 } else { 0 }, "{text}: {off}");
        }
    }
}

#[test]
fn a_resize_factor_is_the_ratio_of_averages() {
    let mut resize = Resize::new(400_000);
    assert_eq!((resize.expected(0, 1000), resize.factor(0)), (1000, 1.0));
    resize.observe(0, 1000, 250);
    assert_eq!((resize.expected(0, 1000), resize.factor(0)), (250, 0.25));
    // Before 0.4 * 500 + 0.6 * 1000 = 800; after 0.4 * 2000 + 0.6 * 250 = 950.
    resize.observe(0, 500, 2000);
    assert_eq!(resize.expected(0, 1600), 1900);
    assert_eq!(resize.expected(1, 1600), 1600);
    resize.observe(2, 0, 100);
    assert_eq!(resize.expected(2, 70), 70);
    resize.observe(3, 1, u32::MAX);
    assert_eq!(resize.expected(3, 70), u32::MAX);
}

#[test]
fn errors_are_counted() {
    let mut error = PredictionError::default();
    assert_eq!((error.mean_absolute_s(), error.mean_relative(), error.bias_s()), (None, None, None));
    error.record(ns(150), ns(100));
    error.record(ns(100), ns(400));
    let mut other = PredictionError::default();
    other.record(ns(40), ns(0));
    error.add(&other);
    // |50|, |-300|, |40|: relative 0.5 and 0.75; the packet of no time has none.
    let near =
        |value: Option<f64>, right: f64| assert!((value.unwrap() - right).abs() < 1e-12, "{value:?}, not {right}");
    assert_eq!(error.packets(), 3);
    near(error.mean_absolute_s(), 130e-9);
    near(error.bias_s(), -70e-9);
    near(error.mean_relative(), 0.625);
    near(error.weighted_relative(), 390.0 / 500.0);
}

#[test]
fn predictions_are_written_as_they_are_read() {
    for text in [
        "oracle",
        "linear:0.015 us/B + 84.5 us",
        "ses:alpha=0.4",
        "ses:alpha=0.25,scale=payload,first=0.5 us/B,per=class",
        "ses:alpha=0.000001,first=20 us",
        "fit:alpha=0.02",
        "fit:alpha=0.1,first=1 us/B + 3 us,per=class",
    ] {
        let prediction: Prediction = text.parse().unwrap();
        assert_eq!(prediction.to_string(), text);
    }
    assert_eq!("21 us".parse::<Prediction>(), "linear:21 us".parse());
    assert_eq!(" ses ".parse::<Prediction>(), "ses:alpha=0.4,scale=header,per=flow".parse());
    assert_eq!("fit:per=class".parse::<Prediction>().unwrap().per(), Per::Class);
}

#[test]
fn what_is_wrong_is_named() {
    for (text, wrong, says, known) in [
        ("sse", "sse", "there are oracle, linear, ses, fit", "ses"),
        ("ses:alfa=0.4", "alfa", "it has alpha, scale, first, per", "alpha"),
        ("ses:scale=paylod", "paylod", "expected header or payload", "payload"),
        ("fit:per=packet", "packet", "expected flow or class", "flow"),
        ("fit:scale=payload", "scale", "it has alpha, first, per", "alpha"),
    ] {
        let error = text.parse::<Prediction>().unwrap_err();
        assert!(
            error.wrong() == wrong && error.to_string().contains(says) && error.known().contains(&known),
            "{error:?}"
        );
    }
    for (text, says) in [
        ("ses:alpha=0", "alpha=0: expected a number from 0.000001 to 1"),
        ("ses:alpha=1.1", "expected a number from 0.000001 to 1"),
        ("ses:alpha=nan", "expected a number from 0.000001 to 1"),
        ("ses:alpha=0.4 s", "expected a number from 0.000001 to 1"),
        ("ses:alpha=-1", "expected a number from 0.000001 to 1"),
        ("fit:alpha=0.0001", "expected a number from 0.001 to 1"),
        ("ses:first=0.5 us/B", "expected a time such as \"20 us\", with scale=header"),
        ("ses:scale=payload,first=5 us", "expected a time per byte"),
        ("ses:first=soon", "first=\"soon\""),
        ("linear", "the line is missing"),
        ("linear:fast", "\"fast\""),
        ("oracle:alpha=1", "oracle has no parameters"),
        ("", "there is no prediction \"\""),
    ] {
        let error = text.parse::<Prediction>().unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}
