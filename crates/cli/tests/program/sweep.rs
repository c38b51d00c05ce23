//! `dovetail sweep`: killed, interrupted, run again, and refused.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use crate::interruption::{ended_by, wait_for};
use crate::support::{Folder, SCENARIO};

/// 60 runs of some milliseconds each.
const PLAN: &str = r#"scenario = "s.toml"

[grid]
scheduler = ["fifo", "drfq", "tradeoff"]
alpha = [0.5, 0.85, 1]
resource.link.rate = ["100 Mbps", "200 Mbps"]
load = [0.8, 1.2]
seed = [1, 2, 3]
"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO.replace("rate = \"4000 pps\"", "arrivals = \"poisson\"\nrate = \"4000 pps\""));
    folder.write("plan.toml", PLAN);
    folder
}

/// The bytes of all parts of a data set.
fn parts(folder: &Folder, out: &str) -> BTreeMap<String, Vec<u8>> {
    let names = ["runs", "groups"].into_iter().flat_map(|table| {
        folder.list(&format!("{out}/{table}")).into_iter().map(move |name| format!("{out}/{table}/{name}"))
    });
    names.map(|name| (name[out.len()..].to_string(), std::fs::read(folder.path(&name)).unwrap())).collect()
}

fn done(folder: &Folder, out: &str) -> usize {
    let journal: PathBuf = folder.path(out).join("journal.jsonl");
    std::fs::read_to_string(journal).unwrap_or_default().matches('\n').count()
}

#[test]
fn killed_again_and_again_it_gives_the_same_bytes() {
    let folder = folder();
    let said = folder.dovetail(&["sweep", "plan.toml", "--jobs", "1"]).succeeds();
    assert!(said.out.contains("60 runs: a row for each in plan/runs"), "{said:?}");
    let whole = parts(&folder, "plan");
    assert_eq!(whole.keys().collect::<Vec<_>>(), ["/groups/part-00000.parquet", "/runs/part-00000.parquet"]);
    let mut before = 0;
    while before < 40 {
        let mut sweep = folder.command(&["sweep", "plan.toml", "--out", "killed", "--jobs", "2"]);
        let mut child = sweep.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for(|| done(&folder, "killed") > before + 3 || child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        let now = done(&folder, "killed");
        assert!(now > before, "what was done stays done");
        before = now;
    }
    folder.dovetail(&["sweep", "plan.toml", "--out", "killed"]).succeeds();
    assert!(parts(&folder, "killed") == whole, "the data set differs after {before} runs and kills");
    assert_eq!(done(&folder, "killed"), 60, "nothing was computed twice");
    let again = folder.dovetail(&["sweep", "plan.toml", "--out", "killed"]).succeeds();
    assert!(again.out.contains("60 runs, 0 of them computed now"), "{again:?}");
}

#[test]
fn ctrl_c_keeps_what_is_done() {
    let folder = folder();
    folder.write("plan.toml", PLAN.replace("[1, 2, 3]", "\"1 to 300\""));
    let sweep = folder.command(&["sweep", "plan.toml"]);
    let said = ended_by("INT", sweep, || done(&folder, "plan") > 5);
    said.fails(130, &["interrupted; what is done is in plan; the same command does the rest"]);
    assert!(done(&folder, "plan") < 6_000);
    assert_eq!(folder.list("plan/runs"), ["part-00000.parquet"]);
}

#[test]
fn no_speed_is_told_of_runs_that_set_it_themselves() {
    let folder = folder();
    folder.dovetail(&["trace", "synth", "c.pcap", "--packets", "100", "--flows", "5"]).succeeds();
    for (key, told) in [("trace.load = [0.5]", false), ("class.forwarded.cost.cpu = [\"5 us\"]", false), ("", true)] {
        folder.write("plan.toml", format!("capture = \"c.pcap\"\n[grid]\nscheduler = [\"fifo\"]\n{key}\n"));
        let said = folder.dovetail(&["sweep", "plan.toml", "--out", &format!("out{}", key.len())]).succeeds().err;
        assert!(said.contains("100 packets"), "{said}");
        assert_eq!(said.contains("as fast as recorded"), told, "{said}");
    }
}

#[test]
fn files_of_other_programs_stay() {
    let folder = folder();
    for file in ["data/runs/part-00000.parquet", "more/groups/part-00007.parquet"] {
        std::fs::create_dir_all(folder.path(file).parent().unwrap()).unwrap();
        folder.write(file, "not of a sweep");
        let (out, _) = file.split_once('/').unwrap();
        let words = [&*format!("{file}: "), "there is no journal.jsonl", "give another folder"];
        folder.dovetail(&["sweep", "plan.toml", "--out", out]).fails(2, &words);
        assert_eq!(std::fs::read(folder.path(file)).unwrap(), b"not of a sweep");
        assert!(!folder.path(out).join("journal.jsonl").exists());
    }
    // Names that no part has.
    std::fs::create_dir_all(folder.path("third/runs")).unwrap();
    folder.write("third/runs/part-0.parquet", "not of a sweep");
    folder.write("plan.toml", "scenario = \"s.toml\"\n[grid]\nscheduler = [\"fifo\"]\n");
    folder.dovetail(&["sweep", "plan.toml", "--out", "third"]).succeeds();
    assert_eq!(folder.list("third/runs"), ["part-0.parquet", "part-00000.parquet"]);
}

#[test]
fn what_is_wrong_is_said_before_anything_is_made() {
    let folder = folder();
    folder.write("plan.toml", PLAN.replace("drfq", "drqf"));
    folder.dovetail(&["sweep", "plan.toml"]).fails(2, &["plan.toml:4:22", "\"drqf\"", "did you mean \"drfq\"?"]);
    folder.write("plan.toml", PLAN.replace("link.rate", "link.raet"));
    folder.dovetail(&["sweep", "plan.toml"]).fails(2, &["plan.toml:6:15", "did you mean `rate`?"]);
    folder.dovetail(&["sweep", "s.toml"]).fails(2, &["s.toml", "`dovetail run` takes that"]);
    folder.dovetail(&["run", "plan.toml"]).fails(2, &["plan.toml", "`dovetail sweep` takes that"]);
    folder.dovetail(&["sweep", "nowhere.toml"]).fails(2, &["nowhere.toml: cannot be read"]);
    folder.dovetail(&["sweep", "paln.toml"]).fails(2, &["paln.toml: cannot be read", "did you mean \"plan.toml\"?"]);
    folder.dovetail(&["sweep", "plan.toml", "--jobs", "0"]).fails(2, &["--jobs"]);
    assert_eq!(folder.list("."), ["plan.toml", "s.toml"]);
    folder.write("plan.toml", PLAN);
    folder.write("file", "");
    folder.dovetail(&["sweep", "plan.toml", "--out", "file"]).fails(2, &["file: it exists and is not a directory"]);
    folder.dovetail(&["trace", "synth", "c.pcap", "--packets", "10", "--flows", "2"]).succeeds();
    let words = ["c.pcap: is a capture; a sweep takes a plan", "a plan names it, as in capture = \"traffic.pcap\""];
    folder.dovetail(&["sweep", "c.pcap"]).fails(2, &words);
}

#[test]
fn a_capture_that_cannot_be_read_twice_is_refused() {
    let folder = folder();
    folder.dovetail(&["trace", "synth", "c.pcap", "--packets", "10", "--flows", "2"]).succeeds();
    let refused = "a sweep reads its capture more than once: expected a file, not standard input or a pipe";
    folder.write("piped.toml", "capture = \"/dev/stdin\"\n[grid]\nscheduler = [\"fifo\", \"drr\"]\n");
    folder.shell("cat c.pcap | $dovetail sweep piped.toml").fails(2, &["piped.toml:1:11", refused]);
    let trace =
        "[trace]\nfile = \"-\"\n[[resource]]\nname = \"cpu\"\n[[class]]\nname = \"a\"\ncost = { cpu = \"1 us\" }\n";
    folder.write("replay.toml", trace);
    folder.write("dash.toml", "scenario = \"replay.toml\"\n[grid]\nscheduler = [\"fifo\", \"drr\"]\n");
    folder.shell("$dovetail sweep dash.toml < c.pcap").fails(2, &["dash.toml:1:12", refused]);
}

#[test]
fn a_plan_comes_from_standard_input() {
    let folder = folder();
    folder.dovetail(&["trace", "synth", "c.pcap", "--packets", "10", "--flows", "2"]).succeeds();
    folder.shell("$dovetail sweep - < plan.toml").fails(2, &["standard input has no name", "give --out DIR"]);
    let words = ["standard input: is a capture; a sweep takes a plan"];
    folder.shell("$dovetail sweep - --out o < c.pcap").fails(2, &words);
    let words = ["standard input: it is empty: expected a plan (TOML)"];
    folder.shell("$dovetail sweep - --out o < /dev/null").fails(2, &words);
    folder.shell("sed s/drfq/drqf/ plan.toml | $dovetail sweep - --out o").fails(2, &["standard input:4:22"]);
    assert_eq!(folder.list("."), ["c.pcap", "plan.toml", "s.toml"]);
    let said = folder.shell("$dovetail sweep - --out o < plan.toml").succeeds();
    assert!(said.out.contains("60 runs: a row for each in o/runs"), "{said:?}");
    let again = folder.dovetail(&["sweep", "plan.toml", "--out", "o"]).succeeds();
    assert!(again.out.contains("60 runs, 0 of them computed now"), "it is the same plan: {again:?}");
}

/// Not beside the name of the pipe.
#[test]
fn what_a_plan_or_a_scenario_from_a_pipe_names_is_looked_for_in_the_current_folder() {
    let folder = folder();
    folder.dovetail(&["trace", "synth", "c.pcap", "--packets", "50", "--flows", "2"]).succeeds();
    let replay =
        SCENARIO.split("[[flows]]").next().unwrap().to_string() + "[trace]\nfile = \"c.pcap\"\nclass = \"ipsec\"\n";
    folder.write("replay.toml", replay);
    folder.write("plan.toml", "scenario = \"replay.toml\"\n[grid]\nscheduler = [\"fifo\"]\n");
    folder.shell("mkfifo pipe; mkdir in; mkfifo in/pipe").succeeds();
    for (plan, out) in
        [("/dev/stdin < plan.toml", "a"), ("/dev/fd/3 3< plan.toml", "b"), ("/proc/self/fd/0 < plan.toml", "c")]
    {
        folder.shell(&format!("$dovetail sweep {plan} --out {out}")).succeeds();
    }
    folder.shell("cat plan.toml > in/pipe & $dovetail sweep in/pipe --out d").succeeds();
    let said = folder.shell("cat replay.toml | $dovetail run /dev/stdin").succeeds();
    assert_eq!(said.out, folder.dovetail(&["run", "replay.toml"]).succeeds().out);
    // What is in a file's own folder stays there, whatever else the file is reached by.
    folder.shell("mv replay.toml c.pcap in; ln -s in/replay.toml; ln -s in/c.pcap").succeeds();
    folder.dovetail(&["run", "in/replay.toml"]).succeeds();
}
