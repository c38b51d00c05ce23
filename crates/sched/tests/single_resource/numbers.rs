//! Tags are integers that are lowered before they overflow, and lose nothing over time.

use dovetail_sched::PerFlow;
use dovetail_sched::charge::Charge;
use dovetail_sched::one_resource::FluidClock;
use dovetail_sched::scfq::Scfq;
use dovetail_sched::sfq::Sfq;
use dovetail_sched::wf2q_plus::Wf2qPlus;
use dovetail_sched::wfq::Wfq;

use dovetail_units::Weight;

use crate::server::{letters, scheduler, serve};
use crate::traffic::Traffic;

/// Packets of up to 100 ns at weights from 0.1 are up to 2^26 ticks; tags that are lowered by 2^28 stay in order.
const LOWERED_AT: u64 = 1 << 29;

macro_rules! lowering_changes_nothing {
    ($discipline:expr, $name:literal) => {{
        let mut rebases = 0;
        for seed in 0..50 {
            let traffic = Traffic::random(seed, 100);
            let mut lowering = PerFlow::new($discipline.rebasing_at(LOWERED_AT));
            let served = serve(&mut lowering, &traffic);
            rebases += lowering.discipline().rebases();
            assert_eq!(served, serve(&mut *scheduler($name), &traffic), "{} seed {seed}", $name);
        }
        assert!(rebases > 50, "{}: {rebases} times in 50 runs", $name);
    }};
}

#[test]
fn lowering_all_tags_changes_no_decision() {
    lowering_changes_nothing!(Sfq::new(1, Charge::Measured), "sfq");
    lowering_changes_nothing!(Scfq::new(1, Charge::Measured), "scfq");
    lowering_changes_nothing!(Wfq::new(1, Charge::Measured), "wfq");
    lowering_changes_nothing!(Wf2qPlus::new(1, Charge::Measured), "wf2q+");
}

#[test]
fn rounding_does_not_add_up() {
    // Weights of a million, where a packet of 1 ns is 0.07 ticks: by tags rounded down A and B would be equal. Twice as many of B, to
    // one packet and the smallest step of a tag, 16 packets.
    for spec in crate::ALL {
        let traffic = Traffic::at_once(&[(1_000_000_000, 30_000, 2), (1_000_000_000, 30_000, 1)]);
        let served = letters(&serve(&mut *scheduler(spec), &traffic));
        let b = served[..30_000].matches('B').count();
        assert!(b.abs_diff(20_000) <= 32, "{spec}: {b}");
    }
}

#[test]
fn sums_of_the_longest_packets_do_not_overflow() {
    // A thousand packets of 2^40 ns at weight 0.001 beside some of weight a million: everything comes out.
    for spec in crate::ALL {
        let traffic = Traffic::at_once(&[(1, 1000, 1 << 40), (1_000_000_000, 1000, 1 << 40), (1, 1000, 1)]);
        let mut scheduler = scheduler(spec);
        assert_eq!(serve(&mut *scheduler, &traffic).len(), 3000, "{spec}");
        assert_eq!(scheduler.stats().served, 3000);
    }
}

#[test]
fn a_fluid_clock_keeps_what_is_too_little_for_a_tick() {
    // Seven flows of weight a million: a nanosecond is less than a hundredth of a tick.
    let weight = Weight::from_milli(1_000_000_000).unwrap();
    let clock = |steps: u64, nanos: u64| {
        let mut clock = FluidClock::default();
        (0..7).for_each(|flow| clock.join(flow, weight));
        (0..steps).for_each(|_| clock.advance(nanos, |_| weight));
        clock.virtual_time()
    };
    // 10^6 ns / (7 * 10^6) is 9362.3 ticks of 2^-16 ns.
    assert_eq!((clock(1, 1_000_000), clock(1_000_000, 1)), (9362, 9362));
}
