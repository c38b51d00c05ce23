//! Tags are integers that lose nothing over time.

use dovetail_sched::one_resource::FluidClock;
use dovetail_units::Weight;

use crate::server::{letters, scheduler, serve};
use crate::traffic::Traffic;

#[test]
fn rounding_does_not_add_up() {
    // Weights of a million, where a packet of 1 ns is 0.07 ticks: by tags rounded down A and B would be equal. Twice as
    // many of B, to one packet and the smallest step of a tag, 16 packets.
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
    // 10^6 ns / (7 * 10^6) is 599186.3 ticks of 2^-22 ns.
    assert_eq!((clock(1, 1_000_000), clock(1_000_000, 1)), (599_186, 599_186));
}
