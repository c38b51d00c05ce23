//! What is said of plans that cannot be run: the place, what is wrong, and the nearest thing that is right.

use super::*;

/// What is said of the plan of these lines.
#[track_caller]
fn refused(lines: &str, expected: &[&str]) {
    let desk = Desk::new();
    let never = AtomicBool::new(false);
    let settings = Settings { jobs: 2, cancel: &never, progress: &|_| () };
    let message = match desk.plan(lines) {
        Err(error) => error.to_string(),
        Ok(plan) => match Sweep::open(plan, &desk.path("out"), &settings) {
            Err(error) => error.to_string(),
            Ok(sweep) => panic!("it is accepted, with {} runs:\n{lines}", sweep.rows()),
        },
    };
    for words in expected {
        assert!(message.contains(words), "{words:?} is missing in:\n{message}");
    }
    assert!(!desk.path("out").exists(), "nothing is begun");
}

#[test]
fn schedulers_and_their_parameters() {
    refused("[grid]\nscheduler = [\"drfq\", \"drqf\"]\n", &["plan.toml:3:22", "\"drqf\"", "did you mean \"drfq\"?"]);
    refused("[grid]\nscheduler = [3]\n", &["plan.toml:3:14", "quoted text"]);
    refused("[grid]\nscheduler = \"drfq\"\n", &["plan.toml:3:13", "expected a list", "write [\"drfq\"]"]);
    refused("[grid]\nscheduler = []\n", &["plan.toml:3:13", "scheduler: the list is empty"]);
    refused("[grid]\nschedulers = [\"drfq\"]\n", &["plan.toml:3:1", "write scheduler = [...]"]);
    let tradeoff = "[grid]\nscheduler = [\"tradeoff\"]\n";
    refused(&format!("{tradeoff}alpha = [0.5, 2]\n"), &["plan.toml:4:15", "alpha=2: expected a number from 0"]);
    refused(
        &format!("{tradeoff}alhpa = [0.5]\n"),
        &["plan.toml:4:1", "\"alhpa\" is neither a key", "did you mean \"alpha\"?"],
    );
    refused(
        "[grid]\nscheduler = [\"tradeoff:alpha=0.5\"]\nalpha = [1]\n",
        &["plan.toml:4:1", "tradeoff:alpha=0.5 has a value of its own"],
    );
    refused("[grid]\nscheduler = [\"drr+drr+drr\"]\n", &["plan.toml:3:14", "drr+drr+drr"]);
}

#[test]
fn keys_and_values() {
    let grid = |line: &str| format!("[grid]\n{line}\n");
    refused(&grid("sede = [1]"), &["plan.toml:3:1", "did you mean \"seed\"?"]);
    refused(&grid("resource.lnik.rate = [\"1 Mbps\"]"), &["plan.toml:3:15", "did you mean \"link\"?"]);
    refused(&grid("resource.link.raet = [\"1 Mbps\"]"), &["plan.toml:3:15", "`raet`", "did you mean `rate`?"]);
    refused(&grid("resource.link.rate = [\"1 Mbps\", \"2 Mps\"]"), &["plan.toml:3:33", "unknown unit \"Mps\""]);
    refused(&grid("resource.link.rate = [\"1 s\"]"), &["plan.toml:3:23", "unknown unit \"s\""]);
    refused(&grid("resource.link.rate = [3]"), &["plan.toml:3:23", "the unit is missing"]);
    refused(&grid("seed = []"), &["plan.toml:3:8", "the list is empty"]);
    refused(&grid("seed = 3"), &["plan.toml:3:8", "write [3]"]);
    refused(&grid("seed = [-1]"), &["plan.toml:3:9", "-1"]);
    refused(&grid("seed = [nan]"), &["plan.toml:3:9", "expected a number"]);
    refused(&grid("load = [0.5, inf]"), &["plan.toml:3:14", "expected a number"]);
    refused(&grid("load = [0.5, 0]"), &["plan.toml:3:14", "expected a number from 0.001 to 1000"]);
    refused(&grid("seed = [1, 2, 1]"), &["plan.toml:3:15", "1 is there twice"]);
    for zeros in ["[0, 0.5, -0.0]", "[0.0, -0.0]"] {
        let plan = format!("[grid]\nscheduler = [\"tradeoff\"]\nalpha = {zeros}\n");
        refused(&plan, &["plan.toml:4:", "-0.0 is there twice"]);
    }
    refused(&grid("resource.link.rate = [\"1 Gbps\", \"1000 Mbps\"]"), &["plan.toml:3:33", "there twice"]);
    refused(&grid("seed = [1]\nseed = [2]"), &["plan.toml:4:1", "duplicate key"]);
    refused(&grid("seed = \"2 to 1\""), &["plan.toml:3:8", "above the second"]);
    refused(&grid("load = \"0.5 to 1.5\""), &["plan.toml:3:8", "whole numbers"]);
    refused(&grid("seeds = [3]"), &["plan.toml:3:1", "write seed = [...]"]);
}

#[test]
fn what_only_together_is_wrong() {
    let lines = "[grid]\nflows.plain.start = [\"0 s\", \"10 ms\"]\nflows.plain.stop = [\"20 ms\", \"5 ms\"]\n";
    refused(lines, &["plan.toml:2:1", "flows.plain.start = \"10 ms\", flows.plain.stop = \"5 ms\"", "stop before"]);
}

#[test]
fn what_does_not_fit_into_one_table() {
    let wire = "[grid]\nresource.link.name = [\"link\", \"wire\"]\n";
    refused(wire, &["plan.toml:2:1", "resource.link.name = \"wire\"", "not those of the other runs"]);
    refused("[grid]\nflows = [[]]\n", &["plan.toml:3:1", "another column has this name"]);
}

#[test]
fn too_many() {
    let grid = "[grid]\nseed = \"1 to 1000\"\nflows.plain.count = \"1 to 1000\"\nflows.crypto.count = \"1 to 1000\"\n\
                scheduler = [\"fifo\"]\n";
    refused(grid, &["plan.toml:2:1", "1000000000 combinations", "1000 flows.plain.count", "at most 1000000"]);
    refused("[grid]\nseed = \"1 to 1000000000\"\n", &["plan.toml:3:8", "at most 1000000"]);
    let samples = "samples = 1000000\n[grid]\nseed = [1, 2]\n[random]\nload = \"0.5 to 1.5\"\n";
    refused(samples, &["4000000 combinations", "1000000 samples"]);
}

#[test]
fn ranges_and_samples() {
    let random = |line: &str| format!("samples = 3\n[random]\n{line}\n");
    refused("[random]\nload = \"0.5 to 1.5\"\n", &["plan.toml:2:1", "expected samples = 100"]);
    refused("samples = 3\n[grid]\nseed = [1]\n", &["plan.toml:2:11", "[random]"]);
    refused(&random("load = [1, 2]"), &["plan.toml:4:8", "expected a range"]);
    refused(&random("flows.plain.rate = \"1 pps to 5 kpps\""), &["plan.toml:4:20", "same unit twice"]);
    refused(&random("load = \"much to more\""), &["plan.toml:4:8", "two values with \"to\""]);
    refused("samples = 0\n[random]\nload = \"0.5 to 1.5\"\n", &["plan.toml:2:11", "from 1 to 1000000"]);
    refused(&random("load = \"0.5 to 1.5\"\n[grid]\nload = [1]"), &["plan.toml:4:1", "in [grid] and in [random]"]);
}

#[test]
fn the_plan_as_a_whole() {
    refused("", &["plan.toml", "it varies nothing"]);
    refused("[gird]\nseed = [1]\n", &["plan.toml:2:2", "did you mean `grid`?"]);
    refused("profile = \"router\"\n[grid]\nseed = [1]\n", &["plan.toml:2:11", "for a capture"]);
    refused("capture = \"c.pcap\"\n[grid]\nseed = [1]\n", &["plan.toml:2:11", "not both"]);
    refused("grid = 3\n", &["plan.toml:2:8", "expected a table, written [grid]"]);
    let desk = Desk::new();
    let said = |text: &str| match Plan::parse("plan.toml", text, desk.folder.path()) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it is accepted: {text}"),
    };
    let grid = "[grid]\nseed = [1]\n";
    let nearby = said(&format!("scenario = \"t.toml\"\n{grid}"));
    assert!(nearby.contains("plan.toml:1:12") && nearby.contains("cannot be read"), "{nearby}");
    assert!(said(grid).contains("expected scenario = "));
    let swapped = said(&format!("capture = \"s.toml\"\n{grid}"));
    assert!(swapped.contains("write scenario = "), "{swapped}");
    let number = said(&format!("scenario = 3\n{grid}"));
    assert!(number.contains("plan.toml:1:12") && number.contains("expected a file's name"), "{number}");
    let inline = said(&format!("{grid}[scenario]\nresource = [{{ nmae = \"cpu\" }}]\n"));
    assert!(inline.contains("plan.toml (scenario)") && inline.contains("did you mean `name`?"), "{inline}");
    desk.write("c.pcap", "no capture");
    let profile = said(&format!("capture = \"c.pcap\"\nprofile = \"ruoter\"\n{grid}"));
    assert!(profile.contains("did you mean \"router\"?") && profile.contains("plan.toml:2:11"), "{profile}");
    desk.write("s.toml", &SCENARIO.replace("150 us", "150 ns per B"));
    let scenario = said(&format!("scenario = \"s.toml\"\n{grid}"));
    assert!(scenario.contains("s.toml:") && scenario.contains("150 ns per B"), "{scenario}");
}
