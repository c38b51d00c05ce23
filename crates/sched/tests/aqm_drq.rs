//! DRQ: Fig. 3's state machine, the encodings, the probabilities of equations (21)-(27), and equation (1).

use dovetail_sched::aqm::{
    Affine, Aqm, AqmDrop, Arrival, Backlog, Congestion, Densities, Drq, Encoding, Fraction, Marking, QueueConfig,
    Verdict, advance,
};
use dovetail_units::{Density, Duration, Time};

use Congestion::{Congested, Initial, Signalled};

/// One step of 2^-32.
const STEP: f64 = 1.0 / 4_294_967_296.0;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn fraction(value: f64) -> Fraction {
    Fraction::from_f64(value).expect("from 0 to 1")
}

fn density(value: f64) -> Density {
    Density::from_micro((value * 1e6) as u64)
}

fn waiting(packets: u32) -> Backlog {
    Backlog { packets, bytes: 500 * u64::from(packets) }
}

/// Pre-marks with a tenth of a thousandth per packet that waits, without averaging.
fn direct() -> QueueConfig {
    QueueConfig { min: 0, max: 1000, weight: Fraction::ONE, ..QueueConfig::new(Duration::from_nanos(100_000)) }
}

fn fixed(classes: &[f64]) -> Densities {
    let classes: Vec<Density> = classes.iter().map(|&w| density(w)).collect();
    Densities::new(&classes, Fraction::ZERO).expect("a class")
}

#[test]
fn fig_3_in_full() {
    // State, whether delta's event happens, whether epsilon's does: the state after.
    let table = [
        (Initial, false, false, Initial),
        (Initial, false, true, Signalled),
        (Initial, true, false, Congested),
        (Initial, true, true, Congested),
        (Signalled, false, false, Signalled),
        (Signalled, false, true, Congested),
        (Signalled, true, false, Congested),
        (Signalled, true, true, Congested),
        (Congested, false, false, Congested),
        (Congested, false, true, Congested),
        (Congested, true, false, Congested),
        (Congested, true, true, Congested),
    ];
    // An event of probability 1/4 happens for the first quarter of all draws.
    let (quarter, draw) = (fraction(0.25), |happens: bool| if happens { (1 << 30) - 1 } else { 1 << 30 });
    for (before, delta, epsilon, after) in table {
        let sure = |happens: bool| if happens { Fraction::ONE } else { Fraction::ZERO };
        assert_eq!(
            advance(before, quarter, quarter, draw(delta), draw(epsilon)),
            after,
            "{before:?} {delta} {epsilon}"
        );
        for any in [0, 1 << 31, u32::MAX] {
            assert_eq!(advance(before, sure(delta), sure(epsilon), any, any), after, "{before:?} {delta} {epsilon}");
        }
    }
}

#[test]
fn encodings_in_full() {
    // Encoding, field that comes in, state and ECN read from it, and the field that leaves in each of the three states.
    let table = [
        (Encoding::Paper, 0b00, Initial, None, [0b00, 0b10, 0b11]),
        (Encoding::Paper, 0b01, Initial, None, [0b00, 0b10, 0b11]),
        (Encoding::Paper, 0b10, Signalled, None, [0b00, 0b10, 0b11]),
        (Encoding::Paper, 0b11, Congested, None, [0b00, 0b10, 0b11]),
        (Encoding::Rfc3168, 0b00, Initial, Some(false), [0b00, 0b00, 0b00]),
        (Encoding::Rfc3168, 0b01, Signalled, Some(true), [0b10, 0b01, 0b11]),
        (Encoding::Rfc3168, 0b10, Initial, Some(true), [0b10, 0b01, 0b11]),
        (Encoding::Rfc3168, 0b11, Congested, Some(true), [0b10, 0b01, 0b11]),
        (Encoding::Metadata, 0b00, Initial, Some(false), [0b00, 0b00, 0b00]),
        (Encoding::Metadata, 0b01, Initial, Some(true), [0b01, 0b01, 0b11]),
        (Encoding::Metadata, 0b10, Initial, Some(true), [0b10, 0b10, 0b11]),
        (Encoding::Metadata, 0b11, Congested, Some(true), [0b11, 0b11, 0b11]),
    ];
    for (encoding, field, congestion, ecn_capable, written) in table {
        // The upper six bits of the byte are not ECN's.
        for byte in [field, field | 0b1011_1000] {
            let read = encoding.read(byte);
            assert_eq!((read.congestion, read.ecn_capable), (congestion, ecn_capable), "{encoding:?} {field:02b}");
            assert_eq!(Congestion::ALL.map(|state| encoding.write(byte, state)), written, "{encoding:?} {field:02b}");
        }
    }
}

#[test]
fn a_state_survives_the_way_to_the_next_box_and_no_signal_leaves_the_last() {
    for state in Congestion::ALL {
        assert_eq!(Encoding::Paper.read(Encoding::Paper.write(0b00, state)).congestion, state);
        assert_eq!(Encoding::Rfc3168.read(Encoding::Rfc3168.write(0b10, state)).congestion, state);
    }
    let restored = |encoding: Encoding| [0b00, 0b01, 0b10, 0b11].map(|field| encoding.restore(field));
    assert_eq!(restored(Encoding::Paper), [0b00, 0b01, 0b00, 0b11]);
    assert_eq!(restored(Encoding::Rfc3168), [0b00, 0b10, 0b10, 0b11]);
    assert_eq!(restored(Encoding::Metadata), [0b00, 0b01, 0b10, 0b11]);
}

#[test]
fn probabilities_are_equations_22_and_23() {
    for sigma in [0.0, 1e-5, 0.001, 0.05, 0.1, 0.5, 1.0] {
        for w in [0.0, 0.25, 0.69, 1.0, 2.0, 10.0, 2e9] {
            let found = Marking::new(fraction(sigma), density(w));
            let weighted = fraction(sigma).as_f64() * density(w).as_f64();
            let (delta, epsilon) = (weighted.powi(2).min(1.0), (2.0_f64.sqrt() * weighted).min(1.0));
            // The product is rounded down by a step, which the square doubles and the root of 2 multiplies; then once
            // more.
            assert!((found.delta.as_f64() - delta).abs() <= 3.0 * STEP, "{sigma} {w}: {found:?}");
            assert!((found.epsilon.as_f64() - epsilon).abs() <= 3.0 * STEP, "{sigma} {w}: {found:?}");
        }
    }
    assert_eq!(Marking::new(Fraction::ONE, Density::from_micro(u64::MAX)).delta, Fraction::ONE);
}

/// Equations (24)-(27).
fn recursion(markings: &[Marking]) -> [f64; 3] {
    let mut p = [1.0, 0.0, 0.0];
    for marking in markings {
        let (delta, epsilon) = (marking.delta.as_f64(), marking.epsilon.as_f64());
        p = [
            p[0] * (1.0 - delta) * (1.0 - epsilon),
            p[1] * (1.0 - delta) * (1.0 - epsilon) + p[0] * (1.0 - delta) * epsilon,
            p[2] + (1.0 - p[2]) * delta + p[1] * (1.0 - delta) * epsilon,
        ];
    }
    p
}

/// CPU, link, CPU, link with pre-marking probabilities 0.05, 0.04, 0.02, 0.03 for a class of 2 cycles/bit and one of
/// 0.5.
#[test]
fn packets_are_marked_as_equation_21_wants() {
    let classes = [2.0, 0.5];
    let mut path = [true, false, true, false]
        .map(|cpu| if cpu { Drq::cpu(direct(), fixed(&classes)) } else { Drq::link(direct()) }.expect("valid"));
    let queues = [500, 400, 200, 300].map(waiting);
    let mut random = Random(42);
    for (class, w) in classes.iter().enumerate() {
        let runs = 400_000;
        let mut counts = [0_u32; 3];
        for _ in 0..runs {
            let mut packet = Arrival { size: 500, ecn_capable: true, class: class as u32, ..Arrival::default() };
            for (drq, queue) in path.iter_mut().zip(queues) {
                if let Verdict::EnqueueMarked(after) = drq.arrival(Time::ZERO, &packet, queue, random.next()) {
                    packet.congestion = after;
                }
            }
            counts[packet.congestion as usize] += 1;
        }
        let exact = recursion(&path.each_ref().map(|drq| drq.marking(class as u32)));
        for (count, p) in counts.iter().zip(exact) {
            // A binomial count; 5 deviations are passed once in 1.7 million.
            let deviation = (f64::from(runs) * p * (1.0 - p)).sqrt();
            assert!(
                (f64::from(*count) - f64::from(runs) * p).abs() < 5.0 * deviation,
                "{counts:?}, expected {exact:?}"
            );
        }
        // What the recursion leaves out of the square is of third and higher order in the sum q of pre-marking
        // probabilities: of the terms of third order in (28) there are at most (sqrt 2)^3 q^3 / 6, those of
        // fourth are below q^4.
        let q = w * (0.05 + 0.02) + 0.04 + 0.03;
        assert!((exact[2] - q * q).abs() < 2.0_f64.powf(1.5) * q.powi(3) + q.powi(4), "{} {}", exact[2], q * q);
    }
}

#[test]
fn the_premarking_probability_is_the_gentle_red_curve_at_the_average() {
    let mut drq = Drq::link(direct()).expect("valid");
    let mut reference: f64 = 0.0;
    let weight = 0.01;
    let mut slow = Drq::link(QueueConfig { weight: fraction(weight), ..direct() }).expect("valid");
    for (queue, sigma) in [(0, 0.0), (500, 0.05), (1000, 0.1), (1500, 0.55), (2000, 1.0), (9000, 1.0)] {
        let packet = Arrival { size: 500, ecn_capable: true, ..Arrival::default() };
        drq.arrival(Time::ZERO, &packet, waiting(queue), u64::MAX);
        assert!((drq.premarking().as_f64() - sigma).abs() < 3.0 * STEP, "{queue}");
        for _ in 0..20 {
            slow.arrival(Time::ZERO, &packet, waiting(queue), u64::MAX);
            reference += weight * (f64::from(queue) - reference);
        }
        // The weight is rounded to 2^-33, in some hundred steps with differences of some thousand packets; samples
        // round to 2^-33.
        let found = slow.average_bits() as f64 * STEP;
        assert!((found - reference).abs() < 1e6 * STEP, "{found} {reference}");
    }
}

#[test]
fn senders_without_ecn_lose_what_would_be_marked_and_signals_pass() {
    let mut drq = Drq::link(direct()).expect("valid");
    // Draws that make delta's or epsilon's event happen; sigma is 0.1, epsilon 0.14 and delta 0.01.
    let (delta, epsilon, none) = (0x0000_0000_ffff_ffff, 0xffff_ffff_0000_0000, u64::MAX);
    let deaf = |congestion| Arrival { size: 500, congestion, ..Arrival::default() };
    let mut verdict = |packet: Arrival, random: u64| drq.arrival(Time::ZERO, &packet, waiting(1000), random);
    assert_eq!(verdict(deaf(Initial), none), Verdict::Enqueue);
    assert_eq!(verdict(deaf(Initial), epsilon), Verdict::EnqueueMarked(Signalled));
    assert_eq!(verdict(deaf(Signalled), none), Verdict::Enqueue);
    assert_eq!(verdict(deaf(Signalled), epsilon), Verdict::Drop(AqmDrop::Early));
    assert_eq!(verdict(deaf(Initial), delta), Verdict::Drop(AqmDrop::Early));
    let hears = |congestion| Arrival { ecn_capable: true, ..deaf(congestion) };
    assert_eq!(verdict(hears(Signalled), epsilon), Verdict::EnqueueMarked(Congested));
    assert_eq!(verdict(hears(Congested), delta), Verdict::Enqueue);
    let mut silent = Drq::link(QueueConfig { ecn: false, limit: Some(1001), ..direct() }).expect("valid");
    assert_eq!(silent.arrival(Time::ZERO, &hears(Initial), waiting(1000), delta), Verdict::Drop(AqmDrop::Early));
    assert_eq!(silent.arrival(Time::ZERO, &hears(Initial), waiting(1001), none), Verdict::Drop(AqmDrop::Full));
}

/// A dropped packet does not end the idle time: the average goes on decaying.
#[test]
fn a_drop_leaves_the_resource_idle() {
    let packet = Duration::from_nanos(100);
    let mut drq = Drq::link(QueueConfig { weight: fraction(0.02), packet, ..direct() }).expect("valid");
    let deaf = Arrival { size: 500, ..Arrival::default() };
    for _ in 0..1000 {
        drq.arrival(Time::ZERO, &deaf, waiting(500), u64::MAX);
    }
    drq.departure(Time::ZERO, waiting(0));
    for arrivals in 1..10 {
        let before = drq.average_bits() as f64;
        let verdict = drq.arrival(Time::from_nanos(300 * arrivals), &deaf, waiting(0), 0);
        assert_eq!(verdict, Verdict::Drop(AqmDrop::Early));
        assert!((drq.average_bits() as f64 / before - 0.98_f64.powi(3)).abs() < 1e-8);
    }
}

#[test]
fn densities_are_averaged_by_equation_1() {
    let lambda = fraction(0.05);
    let densities = Densities::new(&[density(1.0), density(8.0)], lambda).expect("classes");
    let mut drq = Drq::cpu(direct(), densities).expect("valid");
    let module = Affine { per_packet: 1200, per_bit: density(0.25) };
    let mut reference = 1.0;
    let mut random = Random(3);
    for _ in 0..1000 {
        let bits = 8 * (64 + random.next() % 1437);
        drq.observe(0, module.density(bits).expect("bits"));
        reference += lambda.as_f64() * (1200.0 / bits as f64 + 0.25 - reference);
        // Samples are rounded down to a millionth, and so is what is asked for; updates to 2^-24 of that, of which 1 /
        // lambda count.
        assert!((drq.density(0).as_f64() - reference).abs() < 1e-6 * (2.0 + 0.05_f64.recip() / 2_f64.powi(24)));
    }
    assert_eq!(drq.density(1), density(8.0));
    assert_eq!(drq.density(77), density(8.0), "classes beyond the last are as the last");
    assert_eq!(Density::measured(4000, 4000), Some(Density::ONE));
    assert_eq!(Density::measured(4000, 0), None);
    assert_eq!(Density::measured(u64::MAX, 1), Some(Density::from_micro(u64::MAX)));
    drq.observe(0, Density::from_micro(u64::MAX));
    drq.observe(0, Density::from_micro(0));
}

/// A difference of a thousandth times a weight of 1e-4 is less than a density's resolution; 100,000 of them are `1 -
/// e^-10` of the way.
#[test]
fn small_weights_move_the_average_density() {
    let densities = Densities::new(&[density(0.25)], fraction(1e-4)).expect("a class");
    let mut drq = Drq::cpu(direct(), densities).expect("valid");
    (0..100_000).for_each(|_| drq.observe(0, Density::from_micro(251_000)));
    let short = 251_000.0 - 1e6 * drq.density(0).as_f64();
    assert!((short - 1000.0 * (-10.0_f64).exp()).abs() < 1.001, "{short} millionths");
}

#[test]
fn senseless_parameters_are_refused() {
    assert!(Drq::link(QueueConfig { min: 1000, ..direct() }).is_err());
    assert!(Drq::link(QueueConfig { weight: Fraction::ZERO, ..direct() }).is_err());
    assert!(Drq::link(QueueConfig { packet: Duration::ZERO, ..direct() }).is_err());
    assert!(Densities::new(&[], Fraction::ONE).is_err());
}
