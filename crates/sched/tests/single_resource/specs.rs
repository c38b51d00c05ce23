//! How they are written.

use dovetail_sched::{Scheduler, Shape, Spec, SpecError, build, catalog};
use dovetail_units::Time;

use crate::ALL;
use crate::server::{letters, scheduler, serve};
use crate::traffic::Traffic;

fn made(spec: &str) -> Result<Box<dyn Scheduler<2, u32>>, SpecError> {
    build(&spec.parse()?, Shape::default())
}

fn refusal(spec: &str) -> String {
    made(spec).err().unwrap().to_string()
}

#[test]
fn any_resource_of_the_pipeline_can_be_shared() {
    for name in ALL {
        // The server's packets have scattered times on resource 0, so sharing that one gives another order.
        let traffic = Traffic::at_once(&[(1000, 50, 10), (1000, 50, 20)]);
        let served = |spec: &str| letters(&serve(&mut *scheduler(spec), &traffic));
        assert_eq!(served(name), served(&format!("{name}:resource=1")));
        assert_ne!(served(name), served(&format!("{name}:resource=0")), "{name}");
        for wrong in ["2", "-1", "cpu", ""] {
            let message = refusal(&format!("{name}:resource={wrong}"));
            assert!(message.contains("a resource from 0 to 1"), "{message}");
        }
        let changed = scheduler(name).set(Time::ZERO, "resource", "0").unwrap_err();
        assert_eq!(changed.to_string(), format!("{name}: resource cannot change while running"));
    }
}

#[test]
fn a_charge_is_estimated_or_measured() {
    for name in ALL {
        let message = refusal(&format!("{name}:charge=guess"));
        assert!(message.contains("charge=guess: expected estimated or measured"), "{message}");
        let changed = scheduler(name).set(Time::ZERO, "charge", "estimated").unwrap_err();
        assert_eq!(changed.to_string(), format!("{name}: charge cannot change while running"));
    }
}

#[test]
fn the_quantum_is_a_time_or_auto() {
    for wrong in ["0 s", "0", "5", "-1 ms", "big"] {
        let message = refusal(&format!("drr:quantum={wrong}"));
        assert!(message.contains("a time above 0 s"), "{message}");
    }
    let mut drr = scheduler("drr:quantum=1 ms");
    assert!(drr.set(Time::ZERO, "quantum", "auto").is_ok());
    assert!(drr.set(Time::ZERO, "quantum", "12 us").is_ok());
}

#[test]
fn a_plus_in_a_name_is_no_composition() {
    let spec: Spec = "wf2q+:resource=0".parse().unwrap();
    assert_eq!((spec.name.as_str(), spec.to_string().as_str()), ("wf2q+", "wf2q+:resource=0"));
    assert!(made("wf2q+").is_ok());
    assert!(refusal("wf2q").contains("there is no scheduler \"wf2q\""));
    // Two names with a plus between them read as those two, also where a name ends in a plus.
    for a in catalog() {
        for b in catalog() {
            let name = format!("{}+{}", a.name, b.name);
            assert!(
                refusal(&name).contains(&format!("{name:?} is {} on one resource and {}", a.name, b.name)),
                "{name}"
            );
        }
    }
    for wrong in ["drr+", "+drr", "drr++drr"] {
        assert!(refusal(wrong).contains("name is missing"), "{wrong}");
    }
    for wrong in ["wf2q+drr", "drr+nothing"] {
        assert!(refusal(wrong).contains("there is no scheduler"), "{wrong}");
    }
}
