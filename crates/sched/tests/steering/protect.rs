//! `protect`: steps of load and of costs, with ten to a hundred flows.

use dovetail_sched::tradeoff::{Protect, Tradeoff};
use dovetail_sched::{Seen, Steering};
use dovetail_units::Duration;

use crate::plant::{Phase, Plant, SECOND};

const MS: u64 = 1_000_000;

/// What packets of a class saw.
#[derive(Debug)]
struct Latency {
    /// The part that stayed longer than wanted.
    late: f64,
    p99_ms: f64,
}

fn of(plant: &mut Plant, class: usize, wanted: u64) -> Latency {
    let mut stays: Vec<u64> = plant.left.drain(..).filter(|(of, _)| *of == class).map(|(_, stayed)| stayed).collect();
    stays.sort_unstable();
    let late = stays.iter().filter(|&&stayed| stayed > wanted).count();
    Latency { late: late as f64 / stays.len() as f64, p99_ms: stays[stays.len() * 99 / 100] as f64 / MS as f64 }
}

fn protecting(class: u16, wanted: u64, flows: usize, phases: &[Phase]) -> Plant {
    let wanted = Protect { class, p99: Duration::from_nanos(wanted) };
    Plant::new(Tradeoff::new(0.2).unwrap().protect(wanted), flows, phases)
}

/// Forwarding, a third of the flows, within 5 ms: a load that goes from 0.8 to 1.5 and back, and costs of the CPU that
/// are 30 % higher, and lower. After a second at most 2 points more than 1 % of its packets are late, and no more than
/// that needs is yielded: alpha is 1 again, or about one in a hundred is late.
#[test]
fn a_class_comes_in_time_after_steps_of_load_and_costs() {
    const WANTED: u64 = 5 * MS;
    let steps = [("load 0.8", 0.8, 1.0), ("load 1.5", 1.5, 1.0), ("CPU + 30 %", 1.5, 1.3), ("CPU - 30 %", 1.5, 0.7)];
    for flows in [12, 30, 60, 99] {
        let phases: Vec<_> = steps.iter().zip(0..).map(|(&(_, load, cost), k)| (6 * k * SECOND, load, cost)).collect();
        let mut own = protecting(0, WANTED, flows, &phases);
        for (k, (name, ..)) in steps.into_iter().enumerate() {
            own.record((6 * k as u64 + 1) * SECOND);
            let first = of(&mut own, 0, WANTED);
            let seen = own.record((6 * k as u64 + 6) * SECOND);
            let then = of(&mut own, 0, WANTED);
            let alphas = seen.iter().map(|(_, alpha)| *alpha);
            let (least, last) = (alphas.clone().fold(1.0, f64::min), own.steering().alpha);
            println!(
                "{flows} flows, {name}: {first:.3?}, then {then:.3?}, alpha at least {least:.3}, at last {last:.3}"
            );
            assert!(then.late <= 0.03, "{flows} flows, {name}: {then:?}");
            let is_needed = then.late >= 0.002 || least > 0.98;
            assert!(is_needed, "{flows} flows, {name}: {then:?} at {least}");
        }
    }
}

/// A class that wants more than there is has all that others may have to yield, and it is said that this is not enough.
/// When that is over, alpha comes back.
#[test]
fn what_cannot_be_had_is_said_and_alpha_comes_back() {
    const WANTED: u64 = 5 * MS;
    let mut own = protecting(2, WANTED, 30, &[(0, 1.5, 1.0), (4 * SECOND, 0.8, 1.0)]);
    own.record(2 * SECOND);
    own.left.clear();
    own.record(4 * SECOND);
    let there = of(&mut own, 2, WANTED);
    let Steering { alpha, seen: Seen::Latency { class, late, p99 }, is_out_of_reach } = own.steering() else {
        panic!()
    };
    assert!(is_out_of_reach && class == 2 && (alpha - 0.2).abs() < 1e-12 && late > 0.9, "{:?}", own.steering());
    let p99_ms = p99.as_nanos() as f64 / MS as f64;
    assert!((p99_ms / there.p99_ms - 1.0).abs() < 0.2, "{p99_ms} ms, and there were {there:?}");
    own.record(8 * SECOND);
    own.left.clear();
    own.record(12 * SECOND);
    let now = own.steering();
    assert!(!now.is_out_of_reach && now.alpha > 0.95 && of(&mut own, 2, WANTED).late == 0.0, "{now:?}");
}

/// A class without packets asks for nothing.
#[test]
fn a_class_that_is_not_there_changes_nothing() {
    let mut own = protecting(7, MS, 12, &[(0, 1.5, 1.0)]);
    own.record(SECOND);
    assert_eq!(own.steering().alpha, 1.0);
    assert!(!own.steering().is_out_of_reach);
}
