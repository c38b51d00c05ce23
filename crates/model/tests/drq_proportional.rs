//! Problem P: the paper's example (Fig. 2), the three regimes against the solver, random networks against the
//! optimality conditions.

use dovetail_model::ModelError;
use dovetail_model::drq::{Hop, Network, Regime, Single, residuals, solve};
use proptest::prelude::*;

/// What the solver promises.
const KKT: f64 = 1e-9;
/// Rounding of a few sums of a few hundred numbers.
const ROUNDING: f64 = 1e-12;

/// Fig. 2: four flows of weight 1 with 1, 2, 4, 8 cycles per bit, on a link of 1 and a CPU of `ratio`.
fn fig_2(ratio: f64) -> Single {
    Single::new(ratio, 1.0, &[(1.0, 1.0), (1.0, 2.0), (1.0, 4.0), (1.0, 8.0)]).expect("valid")
}

fn as_network(cpu: f64, link: f64, flows: &[(f64, f64)]) -> Network {
    let mut network = Network::new();
    let (cpu, link) = (network.add_cpu(cpu).expect("valid"), network.add_link(link).expect("valid"));
    for &(weight, density) in flows {
        network.add_flow(weight, &[Hop::cpu(cpu, density), Hop::link(link)]).expect("valid");
    }
    network
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * b.abs();
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(close),
        "found {found:?}, expected {expected:?}"
    );
}

#[test]
fn fig_2_has_the_printed_means() {
    let example = fig_2(1.0);
    // Printed: 2.13 and 3.75. 4 / (1 + 1/2 + 1/4 + 1/8) = 32/15.
    assert!((example.harmonic_mean() - 32.0 / 15.0).abs() < ROUNDING);
    assert_eq!(example.arithmetic_mean(), 3.75);
}

#[test]
fn fig_2_cpu_limited_flows_have_a_quarter_of_the_cpu_each() {
    for ratio in [0.5, 1.0, 2.0, 32.0 / 15.0] {
        let found = fig_2(ratio).proportional();
        assert_close(&found.rates, &[ratio / 4.0, ratio / 8.0, ratio / 16.0, ratio / 32.0], ROUNDING);
        assert!((found.cpu_price * ratio - 4.0).abs() < 1e-6, "all is paid for the CPU");
    }
    assert_eq!(fig_2(2.0).proportional().regime, Regime::CpuLimited);
}

#[test]
fn fig_2_bandwidth_limited_flows_have_a_quarter_of_the_link_each() {
    for ratio in [3.75, 4.0, 6.0] {
        let found = fig_2(ratio).proportional();
        assert_eq!(found.regime, Regime::BandwidthLimited);
        assert_close(&found.rates, &[0.25; 4], ROUNDING);
        assert_eq!(found.cpu_price, 0.0);
    }
}

/// With `C/B = 2 sqrt 2` the densities lie evenly around C/B (`w_s w_(5-s) = (C/B)^2`), so that CPU and link are paid
/// the same and `r_s / B = 1 / (2 (1 + w_s B / C))`.
#[test]
fn fig_2_jointly_limited_has_a_point_known_in_closed_form() {
    let ratio = 8.0_f64.sqrt();
    let found = fig_2(ratio).proportional();
    assert_eq!(found.regime, Regime::JointlyLimited);
    assert_close(&found.rates, &[1.0, 2.0, 4.0, 8.0].map(|w| 0.5 / (1.0 + w / ratio)), ROUNDING);
    assert_close(&[found.cpu_price * ratio, found.link_price], &[2.0, 2.0], ROUNDING);
}

#[test]
fn fig_2_jointly_limited_flows_fill_both_resources_and_lie_between_equal_cpu_and_equal_bandwidth() {
    for step in 1..20 {
        let ratio = 32.0 / 15.0 + f64::from(step) / 20.0 * (3.75 - 32.0 / 15.0);
        let found = fig_2(ratio).proportional();
        let cpu: f64 = found.rates.iter().zip([1.0, 2.0, 4.0, 8.0]).map(|(rate, w)| rate * w).sum();
        assert_eq!(found.regime, Regime::JointlyLimited, "C/B {ratio}");
        assert_close(&[cpu, found.rates.iter().sum()], &[ratio, 1.0], ROUNDING);
        assert!(found.rates[0] > 0.25 && found.rates[0] < ratio / 4.0);
        assert!(found.rates[3] < 0.25 && found.rates[3] > ratio / 32.0);
    }
}

/// Figs. 2 (c) and (d): equal rates, `B/S` or `C/(w_a S)`; below `w_a` they add up to less than the fair rates.
#[test]
fn fig_2_equal_rates_waste_bandwidth_while_the_cpu_is_short() {
    for (ratio, rate) in [(1.0, 1.0 / 15.0), (2.5, 2.5 / 15.0), (3.75, 0.25), (5.0, 0.25)] {
        let single = fig_2(ratio);
        assert_close(&single.equal_rates(), &[rate; 4], ROUNDING);
        let network = as_network(ratio, 1.0, &[(1.0, 1.0), (1.0, 2.0), (1.0, 4.0), (1.0, 8.0)]);
        assert_close(&network.equal_rates().expect("flows"), &[rate; 4], ROUNDING);
        let fair: f64 = single.proportional().rates.iter().sum();
        assert_eq!(fair > 4.0 * rate * (1.0 + ROUNDING), ratio < 3.75, "C/B {ratio}");
    }
}

/// On the boundaries themselves a price and its resource's spare capacity are both zero, where the solver is least
/// exact.
#[test]
fn the_solver_agrees_with_the_closed_forms_in_every_regime_and_on_the_boundaries() {
    let flows = [(1.0, 1.0), (1.0, 2.0), (1.0, 4.0), (1.0, 8.0)];
    let (harmonic, arithmetic) = (32.0 / 15.0, 3.75);
    let near = |mean: f64| [mean * (1.0 - 1e-7), mean, mean * (1.0 + 1e-7)];
    let ratios = [0.01, 1.0, 2.0, 3.0, 5.0, 500.0].into_iter().chain(near(harmonic)).chain(near(arithmetic));
    for ratio in ratios {
        let exact = fig_2(ratio).proportional();
        let found = solve(&as_network(ratio * 1e7, 1e7, &flows)).expect("solvable");
        let expected: Vec<f64> = exact.rates.iter().map(|rate| rate * 1e7).collect();
        assert_close(&found.rates, &expected, 1e-6);
        let paid = [exact.cpu_price * ratio, exact.link_price];
        for (price, paid) in found.prices.iter().zip(paid) {
            let capacity = if price == &found.prices[0] { ratio * 1e7 } else { 1e7 };
            assert!((price * capacity - paid).abs() < 1e-6, "C/B {ratio}: {price} * {capacity}, expected {paid}");
        }
    }
}

#[test]
fn two_links_with_a_long_flow_share_as_kelly_says() {
    // One long flow over two links of 3 beside one short flow on each: the long one pays twice and gets 1.
    let mut network = Network::new();
    let links = [network.add_link(3.0).expect("valid"), network.add_link(3.0).expect("valid")];
    network.add_flow(1.0, &links.map(Hop::link)).expect("valid");
    for link in links {
        network.add_flow(1.0, &[Hop::link(link)]).expect("valid");
    }
    let found = solve(&network).expect("solvable");
    assert_close(&found.rates, &[1.0, 2.0, 2.0], KKT);
    assert_close(&found.prices, &[0.5, 0.5], KKT);
}

#[test]
fn equal_links_in_series_pay_the_same() {
    let mut network = Network::new();
    let hops: Vec<Hop> = (0..5).map(|_| Hop::link(network.add_link(10.0).expect("valid"))).collect();
    for weight in [1.0, 4.0] {
        network.add_flow(weight, &hops).expect("valid");
    }
    let found = solve(&network).expect("solvable");
    assert_close(&found.rates, &[2.0, 8.0], KKT);
    assert_close(&found.prices, &[0.1; 5], 1e-6);
}

#[test]
fn resources_that_nobody_uses_cost_nothing() {
    let mut network = as_network(10.0, 10.0, &[(1.0, 0.5), (1.0, 0.0)]);
    network.add_cpu(1.0).expect("valid");
    let found = solve(&network).expect("solvable");
    assert_close(&found.rates, &[5.0, 5.0], KKT);
    assert!(found.prices[2] < KKT && found.prices[0] < KKT);
}

#[test]
fn many_thousand_flows_of_many_classes_are_solved() {
    // 5000 flows of 5000 different densities, on six CPUs and six links in a row; each flow passes a stretch of them.
    let mut network = Network::new();
    for stage in 0..6 {
        network.add_cpu(4e7 + 3e6 * f64::from(stage)).expect("valid");
        network.add_link(5e7 - 4e6 * f64::from(stage)).expect("valid");
    }
    for flow in 0..5000_usize {
        let (first, stretch) = (flow % 6, 1 + flow / 6 % 3);
        let density = |stage: usize| 0.25 + ((flow * 7919 + stage * 104_729) % 10_007) as f64 / 4000.0;
        let hops: Vec<Hop> = (first..6.min(first + stretch))
            .flat_map(|stage| [Hop::cpu(2 * stage, density(stage)), Hop::link(2 * stage + 1)])
            .collect();
        network.add_flow(1.0 + (flow % 11) as f64, &hops).expect("valid");
    }
    let found = solve(&network).expect("solvable");
    assert!(found.residuals.largest() <= KKT, "{:?}", found.residuals);
    assert!(found.iterations <= 30, "{}", found.iterations);
}

#[test]
fn flows_of_one_class_count_once() {
    let flows: Vec<(f64, f64)> = (0..4000).map(|flow| (1.0, [0.25, 0.5, 1.0, 2.0][flow % 4])).collect();
    let network = as_network(20e6, 40e6, &flows);
    assert_eq!((network.flows(), network.classes()), (4000, 4));
    let exact = Single::new(20e6, 40e6, &flows).expect("valid").proportional();
    assert_close(&solve(&network).expect("solvable").rates, &exact.rates, 1e-9);
}

/// Capacities and weights over four orders of magnitude: a Newton step that is too long puts a rate next to 0, from
/// where it does not come back.
#[test]
fn unlike_capacities_and_weights_do_not_jam_the_solver() {
    let mut network = Network::new();
    for exponent in
        [5.516320539268114, 5.0, 5.7551605079595936, 5.865688811340287, 6.576412367956072, 8.080568653134788]
    {
        network.add_link(10_f64.powf(exponent)).expect("valid");
    }
    let flows: [(f64, &[usize]); 8] = [
        (43.57, &[3, 2]),
        (0.216, &[0]),
        (40.91, &[5]),
        (0.013, &[3, 4]),
        (10.41, &[0, 3]),
        (19.13, &[2]),
        (99.68, &[2, 3]),
        (1.0, &[1]),
    ];
    for (weight, links) in flows {
        let hops: Vec<Hop> = links.iter().copied().map(Hop::link).collect();
        network.add_flow(weight, &hops).expect("valid");
    }
    assert!(solve(&network).expect("solvable").iterations <= 30);
}

/// Hop by CPU or link: its index, and its density in case it is a CPU.
type Draw = (f64, Vec<(usize, f64)>);

fn drawn_network(capacities: &[(bool, f64)], flows: &[Draw]) -> Network {
    let mut network = Network::new();
    for &(cpu, exponent) in capacities {
        let capacity = 10_f64.powf(exponent);
        if cpu { network.add_cpu(capacity) } else { network.add_link(capacity) }.expect("valid");
    }
    for (exponent, hops) in flows {
        let mut used: Vec<Hop> = Vec::new();
        for &(pick, density) in hops {
            let resource = pick % capacities.len();
            if used.iter().all(|hop| hop.resource != resource) {
                let cpu = capacities[resource].0;
                used.push(if cpu { Hop::cpu(resource, 10_f64.powf(density)) } else { Hop::link(resource) });
            }
        }
        network.add_flow(10_f64.powf(*exponent), &used).expect("valid");
    }
    network
}

/// One of some 100,000 random networks, of which long steps get no further than 2e-3.
#[test]
fn a_jam_is_left_by_shorter_steps() {
    let (cpu, link) = (true, false);
    let capacities = [
        (link, 4.789447555244894),
        (link, 9.059558370081806),
        (cpu, 3.490672365401093),
        (link, 5.485124937305253),
        (cpu, 4.485454125933772),
        (link, 6.297681173977551),
        (link, 9.224936006015513),
        (link, 9.936432280288331),
        (link, 5.3733035209533915),
        (cpu, 6.824614940183617),
        (cpu, 7.151001089020944),
        (link, 6.157642568746622),
    ];
    let flows = [
        (2.628594258857005, vec![(0, 0.0)]),
        (3.1711870272855327, vec![(0, 0.0), (3, 0.0)]),
        (2.507072367844947, vec![(4, 0.0)]),
        (2.5489821261978083, vec![(3, 0.0), (10, 0.0)]),
        (2.5491538292166065, vec![(10, 3.3410934271384014), (0, 0.0)]),
        (3.47449429768511, vec![(10, 0.6728610939354657), (0, 0.0)]),
        (1.7364306779090446, vec![(10, 0.0), (9, 0.8408312137181712), (2, -1.742117260944666)]),
        (3.18623104766866, vec![(3, 0.0)]),
        (0.6493750262180179, vec![(9, 3.0127699796222482), (10, 2.979292911981026)]),
        (2.5479820841911196, vec![(3, 0.0), (0, 0.0)]),
    ];
    let found = solve(&drawn_network(&capacities, &flows)).expect("solvable");
    assert!(found.residuals.largest() <= KKT, "{:?}", found.residuals);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The conditions are sufficient and necessary, so nothing else needs to be known about the optimum. Capacities,
    /// weights and densities over seven orders of magnitude.
    #[test]
    fn random_networks_satisfy_the_optimality_conditions(
        capacities in prop::collection::vec((any::<bool>(), 3.0..10.0), 1..16),
        flows in prop::collection::vec((-3.5..3.5, prop::collection::vec((0_usize..16, -3.5..3.5), 1..8)), 1..60),
    ) {
        let network = drawn_network(&capacities, &flows);
        let found = solve(&network).expect("solvable");
        let again = residuals(&network, &found.rates, &found.prices).expect("fits");
        prop_assert!(again.largest() <= KKT, "{again:?}");
        prop_assert_eq!(again, found.residuals);
        prop_assert!(found.iterations <= 30, "{} steps", found.iterations);
    }

    /// No feasible change of rates wins: `sum alpha (r - r*) / r* <= 0` for any feasible r (section II.B).
    #[test]
    fn fair_rates_win_against_any_feasible_rates(
        capacities in prop::collection::vec((any::<bool>(), 5.0..7.0), 1..6),
        flows in prop::collection::vec((-1.0..1.0, prop::collection::vec((0_usize..6, -1.0..1.0), 1..4)), 2..12),
        other in prop::collection::vec(0.0..1.0_f64, 12),
    ) {
        let network = drawn_network(&capacities, &flows);
        let fair = solve(&network).expect("solvable").rates;
        let rates: Vec<f64> = fair.iter().zip(&other).map(|(rate, factor)| rate * factor).collect();
        let loads = network.loads(&rates).expect("fits");
        let full = network.resources().iter().zip(&loads).map(|(resource, load)| load / resource.capacity);
        let growth = 1.0 / full.fold(f64::MIN_POSITIVE, f64::max);
        let sum = |gain: &dyn Fn(usize, f64) -> f64| -> f64 {
            (0..fair.len()).map(|flow| gain(flow, network.flow(flow).expect("known").0)).sum()
        };
        let gain = sum(&|flow, weight| weight * (rates[flow] * growth - fair[flow]) / fair[flow]);
        prop_assert!(gain <= 1e-6 * sum(&|_, weight| weight), "{gain}");
    }

    #[test]
    fn one_cpu_and_one_link_agree_with_the_solver(
        ratio in -2.0..2.0,
        flows in prop::collection::vec((-1.0..1.0, -1.5..1.5), 1..30),
    ) {
        let flows: Vec<(f64, f64)> =
            flows.iter().map(|&(weight, density)| (10_f64.powf(weight), 10_f64.powf(density))).collect();
        let cpu = 1e7 * 10_f64.powf(ratio);
        let exact = Single::new(cpu, 1e7, &flows).expect("valid").proportional();
        let found = solve(&as_network(cpu, 1e7, &flows)).expect("solvable");
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * b;
        prop_assert!(found.rates.iter().zip(&exact.rates).all(close), "{:?} and {:?}", found.rates, exact.rates);
    }
}

#[test]
fn residuals_tell_what_is_wrong() {
    let network = as_network(8.0, 4.0, &[(1.0, 1.0), (1.0, 1.0)]);
    let at = |rates: [f64; 2], prices: [f64; 2]| residuals(&network, &rates, &prices).expect("fits");
    assert_eq!(at([2.0, 2.0], [0.0, 0.5]).largest(), 0.0);
    assert_eq!(at([3.0, 2.0], [0.0, 0.5]).overload, 0.25);
    assert_eq!(at([3.0, 2.0], [0.0, 0.5]).stationarity, 0.5);
    assert_eq!(at([1.0, 2.0], [0.0, 0.5]).slackness, 0.25);
    assert_eq!(at([2.0, 2.0], [-0.25, 0.75]).negative_price, 1.0);
    assert!(at([f64::NAN, 2.0], [0.0, 0.5]).largest().is_nan());
    assert!(residuals(&network, &[1.0], &[0.0, 0.5]).is_err());
}

#[test]
fn bad_input_is_named() {
    let mut network = Network::new();
    assert!(matches!(solve(&network), Err(ModelError::Empty { what: "flow" })));
    let link = network.add_link(1e6).expect("valid");
    let cpu = network.add_cpu(1e6).expect("valid");
    let mut refused = |weight, hops: &[Hop]| network.add_flow(weight, hops).expect_err("refused").to_string();
    assert_eq!(refused(0.0, &[Hop::link(link)]), "weight is 0, expected a number from 1e-15 to 1e15");
    assert_eq!(refused(f64::NAN, &[Hop::link(link)]), "weight is NaN, expected a number from 1e-15 to 1e15");
    assert_eq!(refused(1.0, &[Hop::cpu(link, 2.0)]), "density on a link is 2, expected 1");
    assert_eq!(refused(1.0, &[Hop::link(7)]), "resource 7 is unknown, there are 2 resources");
    assert_eq!(refused(1.0, &[Hop::link(link), Hop::link(link)]), "a flow visits resource 0 twice, expected once");
    assert_eq!(refused(1.0, &[Hop::cpu(cpu, 0.0)]), "no resource that the flow uses: expected at least one");
    assert!(Single::new(1.0, 1.0, &[]).is_err());
    assert!(Single::new(0.0, 1.0, &[(1.0, 1.0)]).is_err());
}
