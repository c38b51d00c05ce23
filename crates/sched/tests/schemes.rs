//! How queue management and what stands beside it are written.

use dovetail_sched::aqm::scheme::{InFront, Scheme, manages, parts};
use dovetail_sched::{Spec, SpecError};

fn scheme(name: &str) -> Result<Scheme, SpecError> {
    Scheme::new(&name.parse()?)
}

#[test]
fn a_name_that_ends_in_a_plus_stands_anywhere() {
    let fair = InFront::PerFlow(Spec { name: "wf2q+".into(), parameters: Vec::new() });
    for name in ["wf2q+", "wf2q++wf2q+", "wf2q+ + wf2q+"] {
        let Scheme { cpu, link, .. } = scheme(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((&cpu, &link), (&fair, &fair), "{name}");
    }
    let Scheme { cpu, link, .. } = scheme("wf2q++red").unwrap();
    assert!(cpu == fair && matches!(link, InFront::Red(_)));
    let Scheme { cpu, link, .. } = scheme("red+wf2q+").unwrap();
    assert!(matches!(cpu, InFront::Red(_)) && link == fair);
    assert_eq!(parts("fifo+wf2q+").unwrap(), ["fifo", "wf2q+"]);
}

#[test]
fn queue_management_is_told_from_schedulers() {
    for (name, managed) in [("red+wf2q+", true), ("drq", true), ("wf2q++drr", false), ("tradeoff", false)] {
        assert_eq!(manages(name), Ok(managed), "{name}");
    }
}

#[test]
fn alone_every_scheduler_may_have_been_meant() {
    let error = manages("tradeof").unwrap_err();
    assert!(error.known().contains(&"tradeoff") && error.known().contains(&"drq"), "{:?}", error.known());
}

#[test]
fn messages_name_what_is_wrong_and_what_would_be_right() {
    for (name, wrong, known, message) in [
        ("rde+red", "rde", "red", "there is no scheduler \"rde\""),
        ("red+wf2q", "wf2q", "wf2q+", "there is no scheduler \"wf2q\""),
        ("drg", "drg", "drr", "there is no scheduler \"drg\""),
    ] {
        let error = scheme(name).unwrap_err();
        assert_eq!(error.wrong(), wrong, "{name}");
        assert!(error.known().contains(&known), "{name}: {:?}", error.known());
        assert!(error.to_string().contains(message), "{name}: {error}");
    }
    for (name, message) in [
        ("red+", "a scheduler's name is missing after the last plus sign"),
        ("red++red", "missing between the plus signs after \"red\""),
        ("+red", "missing before the first plus sign"),
        ("red+red+red", "expected one scheduler for CPUs and one for links"),
        ("red+drfq", "drfq decides for all resources of a pipeline"),
    ] {
        let error = scheme(name).unwrap_err().to_string();
        assert!(error.contains(message), "{name}: {error}");
    }
}
