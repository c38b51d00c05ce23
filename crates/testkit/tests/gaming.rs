//! What a flow gains by playing is at most what its discipline's entry in the catalogue says.

use std::fs;
use std::path::Path;

use dovetail_sched::catalog;
use dovetail_sched::catalog::{Entry, find};
use dovetail_sched::gain::Strategy;
use dovetail_testkit::gaming::{Effort, Found, check, largest};

/// Every discipline by its defaults that shares processing time; and what is a discipline of its own in this.
fn specs() -> Vec<(&'static str, &'static Entry)> {
    let of = |name| find(name).unwrap();
    let defaults = catalog().iter().filter(|e| e.shares_time()).map(|e| (e.name, e));
    defaults.chain([("tradeoff:alpha=1", of("tradeoff"))]).collect()
}

/// By this strategy no flow gains more than is stated, whatever the discipline.
fn hold(strategy: Strategy) {
    let above: Vec<_> = specs().iter().filter_map(|(spec, _)| check(spec, strategy, Effort::SMALL).err()).collect();
    assert!(above.is_empty(), "more is gained than is stated:\n{}", above.join("\n"));
}

#[test]
fn shares_do_not_depend_on_queue_depth() {
    hold(Strategy::QueueDepth);
}

#[test]
fn shares_do_not_depend_on_the_scale_of_weights_and_times() {
    hold(Strategy::Scale);
}

#[test]
fn shares_do_not_depend_on_the_order_of_setup() {
    hold(Strategy::SetupOrder);
}

#[test]
fn a_stream_of_new_flows_gets_what_one_flow_gets() {
    hold(Strategy::NewFlows);
}

#[test]
fn nothing_is_gained_by_being_removed_and_added() {
    hold(Strategy::RemoveAndAdd);
}

#[test]
fn nothing_is_gained_by_emptying_the_queue_and_refilling_it() {
    hold(Strategy::Refill);
}

#[test]
fn nothing_is_gained_by_pauses() {
    hold(Strategy::OnOff);
}

#[test]
fn nothing_is_gained_by_false_estimates() {
    hold(Strategy::FalseEstimates);
}

#[test]
fn nothing_is_gained_by_a_small_packet_first() {
    hold(Strategy::SmallFirst);
}

#[test]
fn false_estimates_in_new_flows_gain_no_more_than_their_error() {
    hold(Strategy::FalseAndNew);
}

/// What the header of a discipline's source says of what a flow can gain.
fn header(name: &str) -> String {
    let file = match name {
        "wf2q+" => "wf2q_plus.rs".to_string(),
        "bf" => "bottleneck.rs".to_string(),
        "atfq" | "drgps" | "tradeoff" => format!("{name}/mod.rs"),
        _ => format!("{name}.rs"),
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sched/src").join(file);
    let source = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines = source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim_start);
    let from = lines.skip_while(|line| !line.starts_with("* A flow can gain"));
    from.enumerate().take_while(|(k, line)| *k == 0 || !line.starts_with("* ")).map(|(_, line)| line).collect()
}

/// Every number of the catalogue beyond what whole packets leave open.
#[test]
fn headers_say_what_the_catalogue_says() {
    for entry in catalog().iter().filter(|entry| entry.shares_time()) {
        let header = header(entry.name);
        for gain in entry.gains {
            let said = if gain.reason.starts_with("the factor") {
                header.contains("the factor") || header.contains("that factor")
            } else {
                header.contains(&format!("{:?}", gain.most)) || header.contains(&format!("up to {} ", gain.most))
            };
            assert!(said, "{}, {}: {} is not in: {header}", entry.name, gain.strategy.name(), gain.most);
        }
    }
}

/// A gain for the table.
fn shown(gain: f64) -> String {
    if gain > 99.0 { "starves".to_string() } else { format!("{gain:.3}") }
}

#[test]
#[ignore = "minutes; `make search` runs it"]
fn table_of_largest_gains() {
    println!("\nthe largest multiple of a flow's fair share that was found, by discipline and strategy:\n");
    let heading = Strategy::ALL.map(|s| format!("{:>16}", s.name())).concat();
    println!("{:<18}{heading}", "");
    let (mut above, mut how) = (Vec::new(), Vec::new());
    for (spec, entry) in specs() {
        let row = Strategy::ALL.map(|strategy| (strategy, largest(spec, strategy, Effort::LARGE)));
        println!("{spec:<18}{}", row.each_ref().map(|(_, found)| format!("{:>16}", shown(found.gain))).concat());
        for (strategy, Found { gain, how: case }) in row {
            how.push(format!("{spec:<18}{:<17}{:>8}  {case}", strategy.name(), shown(gain)));
            if gain > entry.gain(strategy).most {
                above.push(format!("{spec}, {}: {gain:.3}, stated is {}", strategy.name(), entry.gain(strategy).most));
            }
        }
    }
    println!("\nfound with:\n\n{}\n", how.join("\n"));
    assert!(above.is_empty(), "\n{}", above.join("\n"));
}
