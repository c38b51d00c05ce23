//! Times that are predicted or spread, lengths that change, and limits of queued time.

use dovetail_sched::TimeLimit;
use dovetail_sched::cost::Prediction;
use dovetail_sim::{Cost, Estimate, Resize};
use dovetail_units::Duration;

use crate::support::{CPU_AND_LINK, read, refusal, run, summary, workload};

/// [`CPU_AND_LINK`] with a class of these keys, and flows of these keys.
fn text(class: &str, flows: &str) -> String {
    format!(
        "{CPU_AND_LINK}\n[[class]]\nname = \"coded\"\ncost = {{ cpu = \"0.01 us/B + 5 us\" }}\n{class}\n\n\
         [[flows]]\nclass = \"coded\"\nsize = \"100 B to 1500 B\"\narrivals = \"poisson\"\nrate = \"20 kpps\"\n\
         stop = \"50 ms\"\n{flows}\n"
    )
}

#[test]
fn an_estimate_as_a_text_is_of_the_first_resource_and_learns_new_lengths() {
    let ses: Prediction = "ses:alpha=0.3,scale=payload".parse().unwrap();
    let estimates = |class: &str| workload(&read(&text(class, ""))).flows[0].estimate;
    let truth = Estimate::default();
    assert_eq!(estimates("estimate = \"ses:alpha=0.3,scale=payload\""), [Estimate::Predicted(ses), truth]);
    let resized = "resize = \"0.5\"\nestimate = \"ses:alpha=0.3,scale=payload\"";
    assert_eq!(estimates(resized), [Estimate::Predicted(ses), Estimate::Resized { alpha: 300_000 }]);
    let known = "resize = \"0.5\"\nestimate = { cpu = \"ses:alpha=0.3,scale=payload\", link = \"oracle\" }";
    assert_eq!(estimates(known), [Estimate::Predicted(ses), truth]);
    assert_eq!(estimates("resize = \"0.5\""), [truth, truth]);
}

#[test]
fn resize_and_spread_are_read() {
    let flow = workload(&read(&text("resize = \"0.11 to 0.36\"\nspread = { cpu = \"12.5 %\" }", ""))).flows[0].clone();
    assert_eq!(flow.resize, Resize { least: 110_000, most: 360_000 });
    assert_eq!(flow.spread, [125_000, 0]);
    assert_eq!(
        workload(&read(&text("resize = \"4\"", ""))).flows[0].resize,
        Resize { least: 4_000_000, most: 4_000_000 }
    );
}

#[test]
fn queues_are_limited_in_time_of_a_resource() {
    let limit = |queue: &str| workload(&read(&text("", &format!("queue = \"{queue}\"")))).flows[0].limit;
    let ms = Duration::from_millis;
    let time = |lower, upper| Some(TimeLimit { resource: 0, upper: ms(upper), lower: ms(lower) });
    assert_eq!(limit("20 ms to 30 ms of cpu").time, time(20, 30));
    let both = limit("30 ms of cpu, 50 packets");
    assert_eq!((both.time, both.packets), (time(30, 30), Some(50)));
    // Twelve flows ask for three times the CPU: after 50 ms some 8 ms of each would wait.
    let record = run(&read(&text("", "queue = \"1 ms to 2 ms of cpu\"\ncount = 12")), "cbcs");
    assert!(record.flows.iter().all(|f| f.losses().refused[3] > 0), "queue-time");
}

#[test]
fn separate_weights_are_for_separate_schedulers() {
    let flow = |weight: &str| workload(&read(&text("", &format!("weight = {weight}")))).flows[0].clone();
    let heavy = flow("{ cpu = 3, link = 1.5 }");
    assert_eq!(heavy.weight_on.map(|on| on.map(|w| w.as_f64())), Some([3.0, 1.5]));
    assert_eq!(heavy.weight.as_f64(), 2.25);
    assert_eq!((flow("2").weight.as_f64(), flow("2").weight_on), (2.0, None));
}

#[test]
fn a_listed_packet_has_its_own_cost_where_it_is_given_and_the_classs_elsewhere() {
    let list = "[[flows]]\nclass = \"plain\"\nlist = [{ at = \"0 s\", size = \"100 B\", cost = { cpu = \"2 us\" } }]\n";
    let flow = &workload(&read(&format!("{CPU_AND_LINK}{list}"))).flows[0].clone();
    assert_eq!(flow.cost[0], Cost::PerPacket);
    assert_ne!(flow.cost[1], Cost::PerPacket);
}

#[test]
fn mistakes_are_named() {
    let wrong = |class: &str, flows: &str, says: &[&str]| {
        let message = refusal(&text(class, flows));
        assert!(says.iter().all(|part| message.contains(part)), "{message}");
    };
    wrong("estimate = \"sess:alpha=0.4\"", "", &["there is no prediction \"sess\"", "did you mean \"ses\"?"]);
    wrong("estimate = { cpuu = \"ses\" }", "", &["estimate", "did you mean \"cpu\"?"]);
    wrong("estimate = \"ses:alpha=2\"", "", &["alpha=2", "from 0.000001 to 1"]);
    wrong("resize = \"0.5 to 0.2\"", "", &["the smaller factor comes first"]);
    wrong("resize = \"-1\"", "", &["expected a factor from 0 to 1000"]);
    wrong("spread = { cpu = \"120 %\" }", "", &["0 %", "100 %"]);
    wrong("spread = { link = \"1 %\" }", "", &["time on a link is exact"]);
    wrong("", "queue = \"30 ms of cpuu\"", &["did you mean \"cpu\"?"]);
    wrong("", "queue = \"30 ms to 20 ms of cpu\"", &["the smaller time comes first", "20 ms to 30 ms of cpu"]);
    wrong(
        "",
        "queue = \"200 packets, 64 kB, 100 packets\"",
        &["\"200 packets\" and \"100 packets\" both limit the packets"],
    );
    wrong("", "queue = \"64 kB, 1 MB\"", &["\"64 kB\" and \"1 MB\" both limit the bytes"]);
    wrong("", "queue = \"30 ms of cpu, 1 ms of link\"", &["both limit the processing time"]);
    wrong(
        "spread = \"10 %\"",
        "",
        &["spread = \"10 %\"", "a table of percentages by resource, such as { cpu = \"10 %\" }"],
    );
    wrong("", "weight = { cpuu = 2 }", &["did you mean \"cpu\"?"]);
    wrong("", "weight = { cpu = 0, link = 1 }", &["expected a number from 0.001 to 1000000"]);
    wrong("", "weight = { cpu = 3 }", &["none for \"link\"", "names every resource"]);
}

#[test]
fn prediction_errors_are_in_the_summary_and_truth_has_none() {
    let predicted = summary(&read(&text("estimate = \"ses:alpha=0.4\"", "")), "cbcs");
    let run = &predicted["runs"][0];
    let cpu = &run["prediction"]["cpu"];
    assert_eq!(cpu["packets"], run["packets"]["delivered"]);
    assert!(cpu["mean_relative"].as_f64().unwrap() > 0.05, "{cpu}");
    assert_eq!(&run["groups"][0]["prediction"]["cpu"], cpu);
    assert!(run["prediction"].get("link").is_none());
    let truth = summary(&read(&text("", "")), "cbcs");
    assert!(truth["runs"][0]["prediction"].is_null());
}

#[test]
fn a_new_length_is_predicted_for_a_scheduler_of_both_resources_and_seen_by_one_of_its_own() {
    let coded = text("resize = \"0.5\"\nestimate = \"ses:alpha=0.4\"", "");
    let listed = |scheduler: &str| {
        let document = summary(&read(&coded), scheduler);
        ["cpu", "link"].map(|resource| document["runs"][0]["prediction"].get(resource).is_some())
    };
    assert_eq!(listed("pcfq"), [true, true]);
    assert_eq!(listed("drr+drr"), [true, false]);
}

#[test]
fn the_gini_index_of_one_flow_against_its_fluid_is_what_waits() {
    // One flow alone: the fluid is at most the packet under way ahead of the schedule, 20 us on the CPU.
    let document = summary(&read(&text("", "")), "fifo");
    let gini = document["runs"][0]["resources"]["cpu"]["gini_s"]["max"].as_f64().unwrap();
    assert!((0.0..=20e-6).contains(&gini), "{gini}");
}
