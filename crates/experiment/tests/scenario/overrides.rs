//! `--set`: any key of a scenario, by the path to it.

use dovetail_sim::{Cost, Size, Source};
use dovetail_units::{BitRate, Duration, Time};

use crate::support::{CPU_AND_LINK, read_with, workload};

const FLOWS: &str = "[[flows]]\nclass = \"plain\"\nsize = \"800 B\"\nrate = \"1 kpps\"\npackets = 5\n";

fn scenario(overrides: &[&str]) -> dovetail_experiment::scenario::Scenario {
    read_with(&[CPU_AND_LINK, FLOWS].concat(), overrides)
}

#[test]
fn keys_of_the_top_level_that_are_there_or_not() {
    assert_eq!(scenario(&["seed=7"]).seed(), 7);
    assert_eq!(scenario(&["title=Many words, no quotes"]).title(), "Many words, no quotes");
    assert_eq!(scenario(&["until=3 s"]).until(), Some(Time::ZERO + Duration::from_secs(3)));
    assert_eq!(scenario(&["until=\"3 s\""]).until(), Some(Time::ZERO + Duration::from_secs(3)));
    assert_eq!(scenario(&["schedulers=[\"drfq\"]"]).schedulers().len(), 1);
    assert_eq!(scenario(&["seed=7", "seed=8"]).seed(), 8, "the last one counts");
}

#[test]
fn members_of_lists_by_name_by_class_and_by_number() {
    let rate = Cost::Link(BitRate::from_bps(1_000_000_000).unwrap());
    for set in ["resource.link.rate=1 Gbps", "resource.1.rate=1 Gbps", " resource.link.rate = \"1 Gbps\" "] {
        assert_eq!(workload(&scenario(&[set])).flows[0].cost[1], rate, "{set}");
    }
    for set in ["flows.plain.size=99 B", "flows.0.size=99 B"] {
        let workload = workload(&scenario(&[set]));
        assert!(matches!(&workload.sources[0], Source::Generator(g) if g.size == Size::Fixed(99)), "{set}");
    }
    assert_eq!(workload(&scenario(&["flows.0.count=4"])).flows.len(), 4);
}

#[test]
fn keys_within_tables() {
    let cost = |set: &str| match workload(&scenario(&[set])).flows[0].cost[0] {
        Cost::Linear(linear) => linear.time(800).as_nanos(),
        other => panic!("{other:?}"),
    };
    assert_eq!(cost("class.plain.cost.cpu=3 us"), 3_000);
    assert_eq!(cost("class.plain.cost={ cpu = \"4 us\" }"), 4_000);
    // A table that is not there yet is made.
    let estimated = workload(&scenario(&["class.plain.estimate.cpu=3 us"])).flows[0].estimate;
    assert_ne!(estimated[0], dovetail_sim::Estimate::default());
}

#[test]
fn nothing_else_changes() {
    let (plain, same) = (scenario(&[]), scenario(&["seed=1"]));
    assert_eq!(format!("{:?}", workload(&plain)), format!("{:?}", workload(&same)));
    assert_eq!(plain.pipeline::<2>(), same.pipeline::<2>());
}
