//! What `target` and `protect` name: schedulers know resources and classes by number, scenarios and boxes by name.

use dovetail_sched::{Names, Shape, Spec, build};

fn refused(spec: &str) -> String {
    build::<2, u32>(&spec.parse().unwrap(), Shape::default()).err().unwrap().to_string()
}

#[test]
fn a_program_of_its_own_is_told_to_use_numbers() {
    for class in ["calls 5 ms", "1", "70000 5 ms", "1 0 ms"] {
        let expected = "the number of a class and the 99th percentile of its latency, such as 1 5 ms, or none";
        assert_eq!(refused(&format!("tradeoff:protect={class}")), format!("protect={class}: expected {expected}"));
    }
    for used in ["95", "cpu 95 %", "2 95 %", "0 101 %"] {
        let expected = "how much every resource is to be used, such as 95 %, or one of them by its number, such as \
                        0 95 %, or none";
        assert_eq!(refused(&format!("tradeoff:target={used}")), format!("target={used}: expected {expected}"));
    }
}

#[test]
fn who_has_names_is_told_to_use_them() {
    let [resources, classes] = [["cpu", "link"], ["calls", "web"]].map(|names| names.map(String::from).to_vec());
    let names = Names { resources, classes };
    let numbered = |spec: &str| names.number_all(&spec.parse::<Spec>().unwrap()).map(|spec| spec.to_string());
    for right in ["95 %", "95%", "none", "1 95 %"] {
        assert_eq!(numbered(&format!("tradeoff:target={right}")), Ok(format!("tradeoff:target={right}")));
    }
    assert_eq!(numbered("codel:target=10 us"), Ok("codel:target=10 us".to_string()), "a time, which has no names");
    assert_eq!(numbered("tradeoff:target=link 95 %"), Ok("tradeoff:target=1 95 %".to_string()));
    assert_eq!(numbered("tradeoff:protect=web 5 ms"), Ok("tradeoff:protect=1 5 ms".to_string()));
    for (wrong, expected) in [
        ("target=disk 95 %", "one of the resources cpu, link, and how much of it, such as cpu 95 %"),
        (
            "target=101 %",
            "how much every resource is to be used, such as 95 %, or one of them, such as cpu 95 %, or none",
        ),
        (
            "target=7 95 %",
            "how much every resource is to be used, such as 95 %, or one of them, such as cpu 95 %, or none",
        ),
        ("protect=voice 5 ms", "one of the classes calls, web, and a time above 0, as in calls 5 ms"),
    ] {
        let error = numbered(&format!("tradeoff:{wrong}")).unwrap_err().to_string();
        assert_eq!(error, format!("{wrong}: expected {expected}"));
    }
}
