//! Who starves: real starvation is found, and nothing else, however a run is recorded.

use std::path::Path;

use dovetail_experiment::behind::starving;
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::scenario::Scenario;

use crate::support::{read, run, summary};

/// Schedulers that keep to fair shares, or to the part of them that they promise.
const FAIR: [&str; 6] = ["drfq", "drgps", "mr3", "tradeoff:alpha=1", "tradeoff:alpha=0.85", "tradeoff:alpha=0.3"];

fn file(name: &str, overrides: &[&str]) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    Scenario::open(path.to_str().unwrap(), &overrides).unwrap_or_else(|e| panic!("{e}"))
}

fn who(run: &Recorded) -> Vec<&str> {
    run.flows.iter().filter(|flow| flow.behind.starves()).map(|flow| flow.group.as_ref()).collect()
}

/// Steady flows: eleven customers whose packets take 10 to 60 us of the CPU, and all 32 us of the link.
fn steady() -> String {
    let customer = |k: u32| {
        format!(
            "[[class]]\nname = \"customer-{k}\"\ncost = {{ cpu = \"{} us\" }}\n\
             [[flows]]\nclass = \"customer-{k}\"\nsize = \"800 B\"\nrate = \"3000 pps\"\nstop = \"0.3 s\"\n",
            10 + 5 * k
        )
    };
    let head = "[[resource]]\nname = \"cpu\"\n[[resource]]\nname = \"link\"\nrate = \"200 Mbps\"\n";
    (0..11).map(customer).fold(head.to_string(), |text, customer| text + &customer)
}

#[test]
fn constant_rates_break_no_promise() {
    for scheduler in FAIR.into_iter().chain(["tradeoff:alpha=0.9", "gmr3", "drr+drr"]) {
        let run = run(&read(&steady()), scheduler);
        assert_eq!(who(&run), [""; 0], "{scheduler}");
    }
}

#[test]
fn the_demos_call_starves_under_fifo_and_under_no_fair_scheduler() {
    let demo = file("demo.toml", &[]);
    let fifo = run(&demo, "fifo");
    assert!(who(&fifo).contains(&"call") && !who(&fifo).contains(&"ipsec"), "{:?}", who(&fifo));
    for scheduler in FAIR {
        let run = run(&demo, scheduler);
        assert_eq!(who(&run), [""; 0], "{scheduler}");
    }
    let said = starving(&[fifo, run(&demo, "drfq")]);
    assert!(said[0].starts_with("Under fifo, all 20 forwarding flows"), "{said:?}");
    assert_eq!(said[1..], ["Nobody starves under drfq."]);
}

/// Whose turns are worth a long packet makes the others wait for that long, and nobody for more.
#[test]
fn waiting_for_turns_that_gmr3_was_told_to_make_long_is_no_starvation() {
    let text = "
        [[resource]]
        name = 'cpu'
        [[resource]]
        name = 'link'
        rate = '8 Mbps'
        [[class]]
        name = 'a'
        cost = { cpu = '900 us' }
        [[flows]]
        class = 'a'
        count = 4
        size = '1000 B'
        arrivals = 'constant'
        rate = '1000 pps'
        stop = '4 s'
    ";
    let run = run(&read(text), "gmr3:largest=200 ms");
    let behind = run.flows.iter().map(|flow| flow.behind.time_s).fold(0.0, f64::max);
    assert!(behind > 1.0, "nobody waits for long: {behind} s");
    assert_eq!(starving(&[run]), ["Nobody starves under gmr3:largest=200 ms."]);
}

#[test]
fn a_flow_that_nothing_is_promised_to_starves() {
    assert!(!who(&run(&file("first.toml", &[]), "tradeoff:alpha=0")).is_empty());
    assert!(who(&run(&file("first.toml", &[]), "tradeoff:alpha=0.05")).is_empty(), "a twentieth is, and it gets that");
}

#[test]
fn every_strawman_that_is_unfair_starves_somebody() {
    let starved = [
        ("one-resource.toml", "sfq:resource=0", "heavy"),
        ("per-resource.toml", "sfq+sfq:full=hold,buffer=4", "client"),
        ("bottleneck.toml", "bf", "client"),
        ("bottleneck-lie.toml", "bf", "other"),
        ("oscillation.toml", "bf:interval=1 s", "cpu-bound"),
    ];
    for (name, scheduler, group) in starved {
        let scenario = file(&format!("strawmen/{name}"), &["until=\"3 s\""]);
        assert!(who(&run(&scenario, scheduler)).contains(&group), "{name}");
        for fair in ["drfq", "drgps", "tradeoff:alpha=1"] {
            assert_eq!(who(&run(&scenario, fair)), [""; 0], "{name} under {fair}");
        }
    }
    // The lie pays: both get two thirds, as if that were fair.
    let lie = file("strawmen/per-resource-lie.toml", &["until=\"3 s\""]);
    assert_eq!(who(&run(&lie, "sfq+sfq:full=hold,buffer=4")), [""; 0]);
}

#[test]
fn the_recording_interval_changes_nothing() {
    for scheduler in ["fifo", "drfq", "tradeoff:alpha=0.85"] {
        let at = |interval: &str| {
            let run = run(&file("first.toml", &[&format!("interval=\"{interval}\"")]), scheduler);
            run.flows.iter().map(|flow| flow.behind).collect::<Vec<_>>()
        };
        assert!(at("1 ms") == at("40 ms") && at("1 ms") == at("10 s"), "{scheduler}");
    }
}

/// A flow that sends for a tenth of the time and then has the machine for itself has a tenth, not all of it.
#[test]
fn shares_are_of_all_time() {
    let flows = "[[flows]]\nclass = \"plain\"\nsize = \"100 B\"\nrate = \"1000 pps\"\nstop = \"0.1 s\"\n\
                 [[flows]]\nname = \"later\"\nclass = \"plain\"\nlist = [{ at = \"1 s\", size = \"100 B\" }]\n";
    let json = summary(&read(&[crate::support::CPU_AND_LINK, flows].concat()), "drfq");
    let share = json["runs"][0]["flows"][0]["dominant_share"].as_f64().unwrap();
    // 100 packets of 10 us on the CPU, in about a second.
    assert!((share - 0.001).abs() < 1e-6, "{share}");
}
