//! What a scenario says of weights, estimates and changes reaches the schedulers.

use dovetail_experiment::compare::check;
use dovetail_experiment::steered::Reached;

use crate::support::{CPU_AND_LINK, read, refusal, run, run_all, summary, workload};

/// Two flows that are always backlogged: 96 us and 7 us on the CPU, 32 us on the link.
fn contest(keys: [&str; 2], rest: &str) -> String {
    let head = "until = \"1 s\"\ninterval = \"50 ms\"\n";
    let classes =
        "[[class]]\nname = \"heavy\"\ncost.cpu = \"96 us\"\n[[class]]\nname = \"light\"\ncost.cpu = \"7 us\"\n";
    let flows: String = (["heavy", "light"].iter().zip(keys))
        .map(|(class, keys)| format!("[[flows]]\nclass = \"{class}\"\nsize = \"800 B\"\nrate = \"100 kpps\"\n{keys}\n"))
        .collect();
    [head, CPU_AND_LINK, classes, &flows, rest].concat()
}

#[test]
fn weights_reach_the_scheduler() {
    for scheduler in ["drfq", "tradeoff:alpha=1"] {
        let record = run(&read(&contest(["weight = 2", ""], "")), scheduler);
        let by_weight: Vec<f64> = record.flows.iter().map(|f| f.dominant_service / f.weight).collect();
        // Two flows are never more than a few packets apart (theorem 4 of the tradeoff paper and DRFQ's lemma: n + 1
        // packets of at most 96 us, as much again for those in the pipeline).
        assert!((by_weight[0] - by_weight[1]).abs() < 6.0 * 96e-6, "{scheduler}: {by_weight:?}");
        assert!(by_weight[0] > 0.2, "{scheduler}: {by_weight:?}");
    }
}

#[test]
fn an_alpha_of_a_class_or_of_flows_reaches_the_scheduler() {
    let service = |keys: [&str; 2], rest: &str, scheduler: &str| {
        run(&read(&contest(keys, rest)), scheduler).flows.iter().map(|f| f.dominant_service).collect::<Vec<_>>()
    };
    // The fair share is 3/4 of a second. With alpha = 0.2 for both the heavy one has less: case 3 fills both.
    let [cheap, kept, other] = [["", ""], ["alpha = 1", ""], ["", "alpha = 1"]]
        .map(|keys| service(keys, "", "tradeoff:alpha=0.2"))
        .map(|services| [services[0], services[1]]);
    assert!(kept[0] > 0.75 - 6.0 * 96e-6 && kept[0] > cheap[0] - 6.0 * 96e-6, "{kept:?} {cheap:?}");
    assert!(other[1] > 0.75 - 6.0 * 96e-6, "{other:?}");
    // Strict fairness for both, by what the flows or all have.
    let both = service(["alpha = 1", "alpha = 1"], "", "tradeoff:alpha=0.2");
    let strict = service(["", ""], "", "tradeoff:alpha=1");
    assert_eq!(both, strict);
    // Others do not look at it.
    assert_eq!(service(["alpha = 0", ""], "", "drfq"), service(["", ""], "", "drfq"));
    // A class's is that of its flows, unless they have another.
    let class = |flows: &str| {
        let text = contest([flows, ""], "").replace("name = \"heavy\"", "name = \"heavy\"\nalpha = 0.7");
        let flow = workload(&read(&text)).flows[0].clone();
        flow.alpha.map(|alpha| alpha.as_f64())
    };
    assert_eq!((class(""), class("alpha = 0.25")), (Some(0.7), Some(0.25)));
    // What would be rounded to no guarantee is none of less than a thousandth.
    for alpha in ["1.5", "-0.1", "NaN", "0.0004", "1e-300"] {
        let wrong = refusal(&contest([&format!("alpha = {}", alpha.to_lowercase()), ""], ""));
        let words = format!("alpha = {alpha}: expected 0 (no guarantee) or a number from 0.001 to 1");
        assert!(wrong.contains("s.toml:") && wrong.contains(&words), "{wrong}");
    }
}

/// Under strict fairness the link is full, and the CPU works 91.4 % of the time.
#[test]
fn a_target_may_name_its_resource() {
    let service = |rest: &str, scheduler: &str| {
        run(&read(&contest(["", ""], rest)), scheduler).flows.iter().map(|f| f.dominant_service).collect::<Vec<_>>()
    };
    let strict = service("", "tradeoff:alpha=1");
    for enough in ["link 97 %", "cpu 90 %"] {
        assert_eq!(service("", &format!("tradeoff:alpha=0.2,target={enough}")), strict, "{enough}");
    }
    let more = service("", "tradeoff:alpha=0.2,target=cpu 97 %");
    assert!(more[0] < strict[0] && more[1] > strict[1] || more[0] > strict[0] && more[1] < strict[1], "{more:?}");
    // The run says what alpha came to.
    let record = run(&read(&contest(["", ""], "")), "tradeoff:alpha=0.2,target=cpu 97 %");
    let came = record.steering.unwrap();
    let Reached::Use { resource, used } = &came.seen else { panic!("{came:?}") };
    assert!(resource == "cpu" && (0.95..0.99).contains(used) && came.alpha < 1.0, "{came:?}");
    let notes = summary(&read(&contest(["", ""], "")), "tradeoff:alpha=0.2,target=cpu 97 %")["notes"].to_string();
    let said = ": at the end alpha was 0.";
    let last = "Over the last 50 ms in which packets waited, cpu was busy 9";
    assert!(notes.contains(said) && notes.contains(last), "{notes}");
    assert_eq!(run(&read(&contest(["", ""], "")), "tradeoff:alpha=0.2").steering, None);
    // Also by a change.
    let change = "[[change]]\nat = \"0 s\"\nset = \"target=cpu 90 %\"\n";
    assert_eq!(service(change, "tradeoff:alpha=0.2,target=97 %"), strict);
}

/// Thirty flows of three classes that want half as much again as there is of CPU and link.
fn overloaded() -> String {
    let class = |name: &str, cpu: &str| {
        let flows = "count = 10\nsize = \"200 B to 1400 B\"\narrivals = \"poisson\"\nrate = \"1270 pps\"";
        let class = format!("[[class]]\nname = \"{name}\"\ncost.cpu = \"{cpu}\"\n");
        format!("{class}[[flows]]\nclass = \"{name}\"\n{flows}\nqueue = \"50 packets\"\n")
    };
    let classes =
        [("calls", "0.00286 us/B + 6.2 us"), ("web", "0.0008 us/B + 12.1 us"), ("vpn", "0.015 us/B + 84.5 us")];
    let classes: String = classes.iter().map(|(name, cpu)| class(name, cpu)).collect();
    ["until = \"4 s\"\n", CPU_AND_LINK, &classes].concat()
}

#[test]
fn a_protected_class_is_named_and_what_alpha_came_to_is_told() {
    let scenario = read(&overloaded());
    let record = run(&scenario, "tradeoff:alpha=0.2,protect=calls 5 ms");
    let came = record.steering.unwrap();
    let Reached::Latency { class, late, .. } = &came.seen else { panic!("{came:?}") };
    assert!(class == "calls" && *late < 0.05 && (0.2..1.0).contains(&came.alpha) && !came.out_of_reach, "{came:?}");
    let told = summary(&scenario, "tradeoff:alpha=0.2,protect=calls 5 ms");
    assert_eq!(told["runs"][0]["steering"]["class"], "calls");
    // By what each is promised: the class its fair share, all others a fifth of theirs.
    assert_eq!(told["runs"][0]["starving"], 0);
    let none = run(&scenario, "tradeoff:alpha=0.2,protect=vpn 5 ms").steering.unwrap();
    assert!(none.out_of_reach && (none.alpha - 0.2).abs() < 1e-9, "{none:?}");
    for (wrong, words) in [
        ("voice 5 ms", "protect=voice 5 ms: expected one of the classes plain, calls, web, vpn, and a time above 0"),
        (
            "calls 5",
            "protect=calls 5: expected one of the classes plain, calls, web, vpn, and a time above 0, as in calls",
        ),
        ("calls 0 s", "protect=calls 0 s: expected one of the classes plain, calls, web, vpn, and a time above 0"),
        ("calls 5 ms,target=95 %", "protect and target exclude each other: alpha can follow only one"),
    ] {
        let spec = format!("tradeoff:protect={wrong}").parse().unwrap();
        let said = check(&scenario, &[spec]).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_change_of_alpha_takes_effect() {
    // Shares of d each: the link carries d / 3 + d = 1, so d = 3/4, and the CPU d + 7 d / 32 = 0.914. With alpha = 0.2
    // there is enough freedom to fill both.
    let change = "[[change]]\nat = \"500 ms\"\nset = \"alpha=0.2\"\n";
    let record = run(&read(&contest(["", ""], change)), "tradeoff:alpha=1");
    let cpu = |from: f64, to: f64| {
        let within = record.intervals.iter().filter(|i| i.start >= from && i.start + i.length <= to + 1e-9);
        let part: Vec<f64> = within.map(|i| i.utilization[0]).collect();
        part.iter().sum::<f64>() / part.len() as f64
    };
    // A few packets of 0.1 ms at either end of 400 ms.
    assert!((cpu(0.05, 0.45) - 0.914).abs() < 0.002, "{}", cpu(0.05, 0.45));
    assert!(cpu(0.6, 1.0) > 0.995, "{}", cpu(0.6, 1.0));
    // Beside it, a scheduler without alpha is left alone.
    let both = run_all(&read(&contest(["", ""], change)), &["tradeoff:alpha=1", "drfq"]);
    assert!((both[1].resources[0].utilization - 0.914).abs() < 0.01);
}

#[test]
fn estimates_differ_from_the_truth() {
    // Told that a heavy packet takes no longer than a light one on the CPU, a scheduler that never hears otherwise
    // would count the link only. What packets really take does not change.
    let told = contest(["", ""], "").replace("cost.cpu = \"96 us\"", "cost.cpu = \"96 us\"\nestimate.cpu = \"7 us\"");
    for scheduler in ["fifo", "drfq", "tradeoff"] {
        let record = run(&read(&told), scheduler);
        let delivered = |flow: usize| record.flows[flow].delivered as f64;
        let busy = record.resources[0].busy.as_secs_f64();
        // Some packets are on the way at the end.
        assert!((busy - delivered(0) * 96e-6 - delivered(1) * 7e-6).abs() < 0.01, "{scheduler}: {busy}");
    }
    let (truth, wrong) = (run(&read(&contest(["", ""], "")), "tradeoff"), run(&read(&told), "tradeoff"));
    assert_ne!(truth.flows[0].delivered, wrong.flows[0].delivered, "the scheduler believes what it is told");
}
