//! The Reno/DRQ fluid model: its RED curve, its equilibrium against problem P, its evolution, and Proposition 2.

use dovetail_model::drq::{
    Equilibrium, Fluid, FluidState, Hop, RedCurve, RedQueue, Reno, RenoHop, RenoNetwork, Single, marking, stability,
};

const PACKET: f64 = 4000.0;

fn curve(low: f64, high: f64, max_p: f64) -> RedCurve {
    RedCurve::new(low * PACKET, high * PACKET, max_p).expect("valid")
}

/// Groups of sources with (number, density) over one CPU and one link, half a round-trip time away.
fn network(cpu: f64, link: f64, queue: RedQueue, rtt_s: f64, groups: &[(u32, f64)]) -> RenoNetwork {
    let mut network = RenoNetwork::new();
    let cpu = network.add_cpu(cpu, queue).expect("valid");
    let link = network.add_link(link, queue).expect("valid");
    for &(sources, density) in groups {
        let reno = Reno { sources, packet_bits: PACKET, packets_per_ack: 2.0, rtt_s };
        let hop = |hop, part: f64| RenoHop { hop, forward_s: part * rtt_s };
        network.add_sources(reno, &[hop(Hop::cpu(cpu, density), 0.4), hop(Hop::link(link), 0.5)]).expect("valid");
    }
    network
}

/// The worst relative distance of the rates from the equilibrium's.
fn distance(state: &FluidState, equilibrium: &Equilibrium) -> f64 {
    let pairs = state.rates.iter().zip(&equilibrium.rates);
    pairs.map(|(rate, goal)| (rate / goal - 1.0).abs()).fold(0.0, f64::max)
}

/// The largest distance from the equilibrium within `window_s` from `from_s` on.
fn swing(fluid: &mut Fluid, equilibrium: &Equilibrium, from_s: f64, window_s: f64) -> f64 {
    fluid.advance(from_s).expect("finite");
    let mut worst: f64 = 0.0;
    for sample in 1..=200 {
        fluid.advance(from_s + window_s * f64::from(sample) / 200.0).expect("finite");
        worst = worst.max(distance(fluid.state(), equilibrium));
    }
    worst
}

#[test]
fn the_curve_is_equation_10() {
    let red = RedCurve::new(50.0, 550.0, 0.1).expect("valid");
    let points = [(0.0, 0.0), (50.0, 0.0), (300.0, 0.05), (550.0, 0.1), (825.0, 0.55), (1100.0, 1.0), (2000.0, 1.0)];
    for (average, expected) in points {
        assert!((red.probability(average) - expected).abs() < 1e-15, "{average}");
    }
    for probability in [0.0, 0.01, 0.1, 0.55, 1.0] {
        assert!((red.probability(red.average(probability)) - probability).abs() < 1e-15, "{probability}");
    }
    assert_eq!(red.steepest(), 0.9 / 550.0);
    assert_eq!(RedCurve::new(50.0, 100.0, 0.9).expect("valid").steepest(), 0.9 / 50.0);
    assert_eq!(RedCurve::new(1.0, 3.0, 1.0).expect("valid").average(7.0), 3.0);
    for (low, high, max_p) in
        [(5.0, 5.0, 0.1), (-1.0, 5.0, 0.1), (1.0, 5.0, 0.0), (1.0, 5.0, 1.1), (1.0, f64::NAN, 0.1)]
    {
        assert!(RedCurve::new(low, high, max_p).is_err(), "{low} {high} {max_p}");
    }
}

/// The regimes of Fig. 5's dumbbell: a link of 40 Mb/s, ten sources each with 0.25, 0.5, 1, 2 cycles/bit.
const DUMBBELL: [(u32, f64); 4] = [(10, 0.25), (10, 0.5), (10, 1.0), (10, 2.0)];

#[test]
fn the_equilibrium_is_the_solution_of_problem_p() {
    let queue = RedQueue::unfiltered(curve(50.0, 550.0, 0.1));
    for cpu in [10e6, 24e6, 30e6, 50e6] {
        let model = network(cpu, 40e6, queue, 0.1, &DUMBBELL);
        let found = model.equilibrium().expect("solvable");
        let weight = 1.5_f64.sqrt() * PACKET / 0.1;
        let flows: Vec<(f64, f64)> =
            DUMBBELL.iter().flat_map(|&(sources, density)| vec![(weight, density); sources as usize]).collect();
        let exact = Single::new(cpu, 40e6, &flows).expect("valid").proportional();
        assert!(found.exists());
        for (average, price) in found.averages.iter().zip([exact.cpu_price, exact.link_price]) {
            let expected = if price == 0.0 { 0.0 } else { queue.curve().average(price) };
            assert!((average - expected).abs() <= 1e-6 * expected, "{average} {expected}");
        }
        for (group, &(_, density)) in DUMBBELL.iter().enumerate() {
            assert!((found.rates[group] / exact.rates[10 * group] - 1.0).abs() < 1e-9);
            // Reno's own rate at this marking probability: sqrt(3/2) M / tau sqrt((1 - p) / p).
            let p = found.marking[group];
            assert!((weight * ((1.0 - p) / p).sqrt() / found.rates[group] - 1.0).abs() < 1e-9);
            assert!((p - marking(density * exact.cpu_price + exact.link_price)).abs() < 1e-9);
        }
    }
}

#[test]
fn conditions_c1_and_c2_fail_where_the_window_is_below_what_full_marking_gives() {
    let queue = RedQueue::unfiltered(curve(50.0, 550.0, 0.1));
    let only_link = |link: f64| {
        let mut model = RenoNetwork::new();
        let link = model.add_link(link, queue).expect("valid");
        let reno = Reno { sources: 10, packet_bits: PACKET, packets_per_ack: 1.0, rtt_s: 0.1 };
        model.add_sources(reno, &[RenoHop { hop: Hop::link(link), forward_s: 0.0 }]).expect("valid");
        model.equilibrium().expect("solvable")
    };
    // A window of W packets has the price sqrt(3/2) / W.
    let window = |packets: f64| packets * 10.0 * PACKET / 0.1;
    assert!(only_link(window(1.23)).exists());
    assert!(!only_link(window(1.22)).exists());
    assert!((only_link(window(2.0)).largest_link_price - 1.5_f64.sqrt() / 2.0).abs() < 1e-9);
    let cpu_only = network(window(1.22), 40e6, queue, 0.1, &[(10, 1.0)]).equilibrium().expect("solvable");
    assert!(!cpu_only.exists() && cpu_only.largest_cpu_price > 1.0 && cpu_only.largest_link_price < 1e-9);
}

/// Gentle enough to settle: both resources full (w_h = 0.53 < C/B = 0.75 < w_a = 0.94), from empty queues.
#[test]
fn the_fluid_settles_at_the_solution_of_problem_p() {
    let queue = RedQueue::unfiltered(curve(50.0, 50050.0, 0.5));
    let model = network(30e6, 40e6, queue, 0.1, &DUMBBELL);
    let equilibrium = model.equilibrium().expect("solvable");
    let mut fluid = Fluid::new(&model, FluidState::start(&model), 0.01).expect("valid");
    fluid.advance(2000.0).expect("finite");
    assert!(distance(fluid.state(), &equilibrium) < 1e-6, "{:?} {equilibrium:?}", fluid.state());
    for (average, goal) in fluid.state().averages.iter().zip(&equilibrium.averages) {
        assert!((average / goal - 1.0).abs() < 1e-6, "{average} {goal}");
    }
}

#[test]
fn a_filtered_queue_settles_at_the_same_equilibrium() {
    let queue = RedQueue::averaged(curve(50.0, 5050.0, 0.5), 0.002, 1e-4).expect("valid");
    let model = network(10e6, 40e6, queue, 0.1, &DUMBBELL);
    let equilibrium = model.equilibrium().expect("solvable");
    let mut fluid = Fluid::new(&model, FluidState::start(&model), 0.01).expect("valid");
    fluid.advance(2000.0).expect("finite");
    assert!(distance(fluid.state(), &equilibrium) < 1e-6, "{:?} {equilibrium:?}", fluid.state());
    assert_eq!(fluid.state().queues[1], 0.0, "the link is no bottleneck");
}

/// Equation (12) with an empty queue: `average (1 - lambda)^(t / eta)`.
#[test]
fn the_filter_is_that_of_equation_12() {
    let queue = RedQueue::averaged(curve(50.0, 550.0, 0.1), 0.002, 1e-3).expect("valid");
    let model = network(1e9, 1e9, queue, 0.1, &[(1, 1.0)]);
    let start = FluidState { averages: vec![1e5; 2], ..FluidState::start(&model) };
    let mut fluid = Fluid::new(&model, start, 1e-3).expect("valid");
    fluid.advance(0.5 - 1e-9).expect("finite");
    let expected = 1e5 * 0.998_f64.powi(500);
    // Heun's error per step is (h kappa)^3 / 6 with h kappa = 0.002, 500 times.
    let found = &fluid.state().averages;
    assert!(found.iter().all(|average| (average / expected - 1.0).abs() < 1e-6), "{found:?} {expected}");
}

#[test]
fn the_equilibrium_stays_where_it_is() {
    let queue = RedQueue::averaged(curve(50.0, 5050.0, 0.5), 0.002, 1e-4).expect("valid");
    let model = network(30e6, 40e6, queue, 0.1, &DUMBBELL);
    let equilibrium = model.equilibrium().expect("solvable");
    let start = FluidState::near(&model, &equilibrium, 1.0).expect("fits");
    let mut fluid = Fluid::new(&model, start, 0.01).expect("valid");
    assert!(swing(&mut fluid, &equilibrium, 0.0, 5.0) < 1e-9);
}

/// Half the step, a quarter of the error. Measured on a way that stays clear of empty queues, where the slope jumps.
#[test]
fn the_integration_is_of_second_order() {
    let queue = RedQueue::averaged(curve(50.0, 5050.0, 0.5), 0.001, 1e-4).expect("valid");
    let model = network(30e6, 40e6, queue, 0.1, &DUMBBELL);
    let equilibrium = model.equilibrium().expect("solvable");
    let rate_after = |step_s: f64| {
        let start = FluidState::near(&model, &equilibrium, 1.02).expect("fits");
        let mut fluid = Fluid::new(&model, start, step_s).expect("valid");
        fluid.advance(2.0 - 1e-9).expect("finite");
        fluid.state().rates[3]
    };
    let exact = rate_after(1.0 / 8192.0);
    let errors = [64.0, 128.0, 256.0].map(|parts| (rate_after(1.0 / parts) - exact).abs());
    // 4 in the limit; the delays are no multiples of the step, whose interpolation error varies from step to step.
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((1.4..=2.8).contains(&order), "errors {errors:?}");
    }
}

/// One bottleneck link, `n` sources, pre-marking probability rho at the equilibrium. Linearised there, with g the slope
/// of the curve,
///
///     x' = -a x - (K / (n g)) rho,  y' = n x,  rho = g y,   delays adding up to tau
///     a = sqrt(8/3) rho / (N tau (1 + rho^2)),   K = 2 g n M / (N tau^2 rho (1 + rho^2))
///
/// so the loop is `K e^(-s tau) / (s (s + a))`. It is stable up to the K at which the phase is 180 degrees where the
/// gain is 1: `tan(w tau) = a / w`, `K = w sqrt(w^2 + a^2)`. This computation shares nothing with the integration.
#[test]
fn the_integration_turns_unstable_where_the_linearised_loop_does() {
    let (sources, rtt_s, acked, rho) = (10.0, 0.2, 2.0, 0.1);
    let a = (8.0_f64 / 3.0).sqrt() * rho / (acked * rtt_s * (1.0 + rho * rho));
    let (mut low, mut high) = (0.0, 0.5 * std::f64::consts::PI / rtt_s);
    for _ in 0..100 {
        let w = 0.5 * (low + high);
        if (w * rtt_s).tan() * w < a { low = w } else { high = w }
    }
    let critical = low * (low * low + a * a).sqrt();
    let slope = critical * acked * rtt_s * rtt_s * rho * (1.0 + rho * rho) / (2.0 * sources * PACKET);
    let growth = |factor: f64| {
        // Up to 1 with this slope from a threshold far enough from an empty queue.
        let span = 1.0 / (slope * factor);
        let red = RedCurve::new(10.0 * span, 11.0 * span, 1.0).expect("valid");
        let mut model = RenoNetwork::new();
        let bits_per_s = sources * 1.5_f64.sqrt() * PACKET / (rtt_s * rho);
        let link = model.add_link(bits_per_s, RedQueue::unfiltered(red)).expect("valid");
        let reno = Reno { sources: 10, packet_bits: PACKET, packets_per_ack: acked, rtt_s };
        model.add_sources(reno, &[RenoHop { hop: Hop::link(link), forward_s: 0.07 }]).expect("valid");
        let equilibrium = model.equilibrium().expect("solvable");
        let start = FluidState::near(&model, &equilibrium, 1.0001).expect("fits");
        let mut fluid = Fluid::new(&model, start, 0.005).expect("valid");
        let early = swing(&mut fluid, &equilibrium, 100.0, 50.0);
        swing(&mut fluid, &equilibrium, 300.0, 50.0) / early
    };
    assert!(growth(0.9) < 0.5, "{}", growth(0.9));
    assert!(growth(1.1) > 2.0, "{}", growth(1.1));
}

/// A slow network, over which Proposition 2's limit is not far from what a queue can be: 20 sources of four densities.
fn slow(gain: f64, cpu: f64) -> (RenoNetwork, f64) {
    let groups = [(5, 0.5), (5, 1.0), (5, 1.5), (5, 2.0)];
    // The steepest slope is that of the first part: 1 / span per bit.
    let build = |span: f64| {
        let red = RedCurve::new(0.0, span, 1.0).expect("valid");
        network(cpu, 2e5, RedQueue::unfiltered(red), 1.0, &groups)
    };
    let unit = stability(&build(1.0)).expect("sources");
    let steepest = unit.gains.iter().copied().fold(0.0, f64::max);
    let model = build(steepest / (gain * unit.limit));
    let margin = stability(&model).expect("sources").margin();
    assert!((margin * gain - 1.0).abs() < 1e-9);
    (model, margin)
}

#[test]
fn inside_proposition_2_the_fluid_settles_and_far_outside_it_swings() {
    // CPU-limited, jointly limited (w_h = 0.96, w_a = 1.25), bandwidth-limited.
    for cpu in [1.6e5, 2.2e5, 3e5] {
        let swing_at = |gain: f64, step_s: f64, from_s: f64| {
            let (model, _) = slow(gain, cpu);
            let equilibrium = model.equilibrium().expect("solvable");
            assert!(equilibrium.exists());
            let start = FluidState::near(&model, &equilibrium, 1.05).expect("fits");
            let mut fluid = Fluid::new(&model, start, step_s).expect("valid");
            swing(&mut fluid, &equilibrium, from_s, 500.0)
        };
        let inside = swing_at(0.5, 0.5, 50_000.0);
        assert!(inside < 1e-3, "C {cpu}: {inside}");
        let outside = swing_at(1e5, 0.05, 1000.0);
        assert!(outside > 0.05, "C {cpu}: {outside}");
    }
}

/// Equation (32) by hand: one CPU of 1e6 cycles/s and one link of 1e6 bit/s, two sources with 1 and 3 cycles/bit,
/// packets of 1000 bits, 0.1 s. Gamma Gamma' = [[10, 4], [4, 2]]: smallest eigenvalue 6 - sqrt(32). Lambda_max =
/// 1000/s, w_max = 3, |R| = 2.
#[test]
fn the_limit_is_equation_32() {
    let mut model = RenoNetwork::new();
    let red = RedCurve::new(1e4, 6e4, 0.1).expect("valid");
    let cpu = model.add_cpu(1e6, RedQueue::unfiltered(red)).expect("valid");
    let link = model.add_link(1e6, RedQueue::unfiltered(red)).expect("valid");
    model.add_link(9e9, RedQueue::unfiltered(red)).expect("valid");
    for density in [1.0, 3.0] {
        let reno = Reno { sources: 1, packet_bits: 1000.0, packets_per_ack: 1.0, rtt_s: 0.1 };
        let hops = [Hop::cpu(cpu, density), Hop::link(link)].map(|hop| RenoHop { hop, forward_s: 0.05 });
        model.add_sources(reno, &hops).expect("valid");
    }
    let found = stability(&model).expect("sources");
    let expected = 1.5_f64.sqrt() * (6.0 - 32.0_f64.sqrt()) / (2.0 * 1e6 * 1e-3 * 3.0);
    assert!((found.limit / expected - 1.0).abs() < 1e-12, "{} {expected}", found.limit);
    // max(0.1 / 5e4, 0.9 / 6e4) 1e6 = 15/s; nobody uses the last link.
    assert!((found.gains[0] - 15.0).abs() < 1e-12 && found.gains[1] == found.gains[0] && found.gains[2] == 0.0);
    assert!((found.margin() / (expected / 15.0) - 1.0).abs() < 1e-12);
}

#[test]
fn resources_that_carry_the_same_sources_leave_proposition_2_no_margin() {
    let queue = RedQueue::unfiltered(curve(50.0, 550.0, 0.1));
    assert_eq!(stability(&network(1e7, 1e7, queue, 0.1, &[(8, 1.0)])).expect("sources").margin(), 0.0);
    let equal = network(1e7, 1e7, queue, 0.1, &[(8, 1.0), (8, 1.0)]);
    // Rounding of singular values of about 4, squared, times 3e-5.
    assert!(stability(&equal).expect("sources").margin() < 1e-30);
}

#[test]
fn bad_input_is_refused() {
    let queue = RedQueue::unfiltered(curve(50.0, 550.0, 0.1));
    let model = network(1e7, 1e7, queue, 0.1, &[(8, 1.0)]);
    let start = FluidState::start(&model);
    assert!(Fluid::new(&model, start.clone(), 0.0).is_err());
    assert!(Fluid::new(&model, start.clone(), 0.06).is_err());
    assert!(Fluid::new(&model, start.clone(), f64::NAN).is_err());
    assert!(Fluid::new(&model, FluidState { queues: vec![0.0], ..start.clone() }, 0.01).is_err());
    assert!(Fluid::new(&model, FluidState { rates: vec![f64::NAN], ..start }, 0.01).is_err());
    assert!(stability(&RenoNetwork::new()).is_err());
    assert!(RedQueue::averaged(curve(50.0, 550.0, 0.1), 1.0, 0.1).is_err());
    assert!(RedQueue::averaged(curve(50.0, 550.0, 0.1), 0.1, 0.0).is_err());
    let mut model = RenoNetwork::new();
    let link = model.add_link(1e6, queue).expect("valid");
    let hop = [RenoHop { hop: Hop::link(link), forward_s: 0.2 }];
    let reno = Reno { sources: 1, packet_bits: PACKET, packets_per_ack: 1.0, rtt_s: 0.1 };
    assert_eq!(
        model.add_sources(reno, &hop).expect_err("refused").to_string(),
        "forward delay in s is 0.2, expected a number from 0 to the round-trip time"
    );
    assert!(model.add_sources(Reno { sources: 0, ..reno }, &hop).is_err());
    assert!(model.add_sources(Reno { rtt_s: -1.0, ..reno }, &hop).is_err());
}

/// The paper's own dumbbell (section IV.A) is far outside: the numbers that `docs/theory/drq.md` gives.
#[test]
fn the_paper_s_own_simulations_are_far_outside_proposition_2() {
    let queue = RedQueue::unfiltered(curve(50.0, 550.0, 0.1));
    let found = stability(&network(40e6, 40e6, queue, 0.04, &DUMBBELL)).expect("sources");
    // 0.9 / 550 per packet of 4000 bits, times 40e6.
    assert!((found.gains[0] - 0.9 / 550.0 / 4000.0 * 40e6).abs() < 1e-9);
    // Gamma Gamma' = [[53.125, 37.5], [37.5, 40]]; Lambda_max = 40e6 / 0.25 / 4000.
    let smallest = 46.5625 - (6.5625_f64.powi(2) + 37.5_f64.powi(2)).sqrt();
    let limit = 1.5_f64.sqrt() * smallest / (2.0 * 40_000.0_f64.powi(2) * 0.04_f64.powi(3) * 2.0);
    assert!((found.limit / limit - 1.0).abs() < 1e-9);
    assert_eq!(format!("{:.1e}", found.limit), "2.5e-5");
}
