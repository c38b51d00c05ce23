use std::sync::atomic::AtomicBool;

use super::*;
use crate::compare::Settings;

fn advice(text: &str) -> Result<Advice, String> {
    advice_for(text, &[])
}

fn advice_for(text: &str, goals: &[Goal]) -> Result<Advice, String> {
    let scenario = Scenario::parse("test.toml", text, &[], std::path::PathBuf::new()).map_err(|e| e.to_string())?;
    let cancel = AtomicBool::new(false);
    let settings = Settings { threads: 2, cancel: &cancel, progress: &|_| (), packet_log: 0 };
    advise(&scenario, &TODAY.parse().unwrap(), goals, &settings).map_err(|error| match error {
        AdviseError::Input(error) => error.to_string(),
        AdviseError::Run(error) => error.to_string(),
    })
}

/// One group needs the CPU, the other the link: the CPU is short, and it is the one's share that efficiency gives away.
const COMPLEMENTARY: &str = r#"
    until = "2 s"
    [[resource]]
    name = "cpu"
    [[resource]]
    name = "link"
    rate = "100 Mbps"
    [[class]]
    name = "crypto"
    cost = { cpu = "150 us" }
    [[class]]
    name = "plain"
    cost = { cpu = "20 us" }
    [[flows]]
    class = "crypto"
    count = 4
    rate = "3000 pps"
    size = "300 B"
    queue = "50 packets"
    [[flows]]
    class = "plain"
    count = 4
    rate = "4000 pps"
    size = "1250 B"
    queue = "50 packets"
"#;

#[test]
fn where_flows_need_different_things_efficiency_pays() {
    let advice = advice(COMPLEMENTARY).unwrap();
    assert!(advice.scheduler.starts_with("tradeoff:alpha=0."), "{advice:#?}");
    assert!(advice.gain_over_fair.mean > decide::WORTH, "{advice:#?}");
    let [what, gains, pays] = &advice.sentences;
    assert!(what.contains(&advice.scheduler) && gains.contains("fifo") && pays.contains("crypto"), "{advice:#?}");
    assert_eq!(advice.seeds, [1], "nothing is random");
    assert_eq!(advice.configuration, format!("scheduler = \"{}\"", advice.scheduler));
}

#[test]
fn where_nobody_waits_nothing_changes() {
    let idle = COMPLEMENTARY.replace("count = 4", "count = 1\n    arrivals = \"poisson\"");
    let idle = idle.replace("3000 pps", "100 pps").replace("4000 pps", "100 pps");
    let advice = advice(&idle).unwrap();
    assert_eq!((advice.scheduler.as_str(), advice.seeds.len() as u64), ("fifo", SEEDS), "{advice:#?}");
}

#[test]
fn a_pipeline_of_one_resource_has_no_alpha() {
    let one = COMPLEMENTARY.replace("[[resource]]\n    name = \"cpu\"\n", "");
    let one = one.replace("cost = { cpu = \"150 us\" }", "").replace("cost = { cpu = \"20 us\" }", "");
    assert!(advice(&one).unwrap_err().contains("this pipeline has 1"), "{:?}", advice(&one));
}

#[test]
fn a_goal_is_reached_with_as_much_fairness_as_possible() {
    // Strict fairness uses 96.6 % of the link, and a hundredth less all of it.
    let advice = advice_for(COMPLEMENTARY, &[Goal::Use { resource: "link".into(), part: 0.99 }]).unwrap();
    assert_eq!(advice.scheduler, "tradeoff:alpha=0.99", "{:?}", advice.sentences);
    assert!(advice.goals[0].reached && advice.goals[0].value.mean >= 0.99, "{advice:#?}");
    assert!(advice.sentences[0].ends_with("it is the fairest."), "{:?}", advice.sentences);

    let fair = advice_for(COMPLEMENTARY, &[Goal::Use { resource: "cpu".into(), part: 0.9 }]).unwrap();
    assert_eq!(fair.scheduler, "mr3", "{:?}", fair.sentences);
}

#[test]
fn what_cannot_be_reached_is_said_with_what_comes_nearest() {
    let goal = Goal::Protect { group: "crypto".into(), p99: dovetail_units::Duration::from_nanos(1000) };
    let advice = advice_for(COMPLEMENTARY, &[goal]).unwrap();
    assert!(!advice.goals[0].reached && advice.sentences[0].starts_with("Nothing tried"), "{:?}", advice.sentences);
    let nobody = Goal::Protect { group: "cripto".into(), p99: dovetail_units::Duration::from_nanos(1000) };
    let error = advice_for(COMPLEMENTARY, &[nobody]).unwrap_err();
    assert!(error.contains("no group \"cripto\"") && error.contains("did you mean \"crypto\"?"), "{error}");
}
