use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;

use serde_json::{Value as Json, json};

use super::*;
use crate::columns::{Column, Kind, Push, Value};
use crate::compare::{Settings as RunSettings, compare};
use crate::network::{self, NetworkScenario, NetworkSummary};
use crate::scenario::Scenario;
use crate::summary::Summary;

mod plans;

/// Two groups, of which one needs the CPU and the other the link, for 30 ms.
pub const SCENARIO: &str = r#"# A comment.
title = "Two groups"
interval = "5 ms"
schedulers = ["fifo", "drfq"]

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
estimate = { cpu = "30 us" }

[[flows]]
class = "crypto"
count = 2
size = "300 B"
arrivals = "poisson"
rate = "2000 pps"
queue = "20 packets"
stop = "30 ms"

[[flows]]
class = "plain"
size = "200 B to 1400 B"
arrivals = "poisson"
rate = "4000 pps"
stop = "30 ms"
"#;

/// What `scenario` gives under a plan, in a folder of its own.
pub struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    pub fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        desk.write("s.toml", SCENARIO);
        desk
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The plan of these lines about `s.toml`.
    pub fn plan(&self, lines: &str) -> Result<Plan, ScenarioError> {
        Plan::parse("plan.toml", &format!("scenario = \"s.toml\"\n{lines}"), self.folder.path())
    }

    /// Run it into `out`; it is cancelled when so many runs are done. How many runs it did.
    fn run(&self, lines: &str, out: &str, jobs: usize, most: usize) -> usize {
        let (cancel, did) = (AtomicBool::new(false), AtomicUsize::new(0));
        let progress = |done: usize| {
            did.fetch_max(done, Ordering::Relaxed);
            cancel.fetch_or(done >= most, Ordering::Relaxed);
        };
        let settings = Settings { jobs, cancel: &cancel, progress: &progress };
        let mut sweep = Sweep::open(self.plan(lines).unwrap(), &self.path(out), &settings).unwrap();
        let pending = sweep.pending();
        match sweep.run(&settings) {
            Ok(()) => assert_eq!((did.load(Ordering::Relaxed), sweep.pending()), (pending, 0)),
            Err(SweepError::Cancelled) => assert!(did.load(Ordering::Relaxed) >= most),
            Err(error) => panic!("{error}"),
        }
        did.load(Ordering::Relaxed)
    }

    fn whole(&self, lines: &str, out: &str) -> usize {
        self.run(lines, out, 2, usize::MAX)
    }

    /// Its tables.
    fn tables(&self, lines: &str, out: &str) -> BTreeMap<String, Taken> {
        let never = AtomicBool::new(false);
        let settings = Settings { jobs: 1, cancel: &never, progress: &|_| () };
        let sweep = Sweep::open(self.plan(lines).unwrap(), &self.path(out), &settings).unwrap();
        let mut taken = Takes(BTreeMap::new());
        sweep.tables(&mut taken).unwrap();
        taken.0
    }

    /// The bytes of all parts by name.
    fn bytes(&self, out: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = |table: &str| std::fs::read_dir(self.path(out).join(table)).unwrap().map(|e| e.unwrap().path());
        let files = entries("runs").chain(entries("groups"));
        let root = self.path(out);
        files.map(|file| (file.strip_prefix(&root).unwrap().into(), std::fs::read(&file).unwrap())).collect()
    }
}

/// A table with its rows by column.
struct Taken {
    columns: Vec<Column>,
    rows: Vec<BTreeMap<String, Json>>,
}

struct Takes(BTreeMap<String, Taken>);

impl Tables for Takes {
    fn table(
        &mut self,
        name: &str,
        columns: &[Column],
        fill: &mut dyn FnMut(Push<'_>) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        let mut rows = Vec::new();
        fill(&mut |row| {
            let value = |value: &Value<'_>| match value {
                Value::U64(number) => json!(number),
                Value::U32(number) => json!(number),
                Value::F64(number) => json!(number),
                Value::Text(text) => json!(text),
                Value::None => Json::Null,
            };
            assert_eq!(row.len(), columns.len());
            rows.push(columns.iter().zip(row).map(|(column, cell)| (column.name.clone(), value(cell))).collect());
            Ok(())
        })?;
        self.0.insert(name.to_string(), Taken { columns: columns.to_vec(), rows });
        Ok(())
    }
}

/// With a scheduler that drops what waits, too.
const GRID: &str = "[grid]\nscheduler = [\"codel:target=10 us,interval=1 ms\", \"tradeoff\"]\nalpha = [0.5, 1]\n\
                    resource.link.rate = [\"50 Mbps\", \"100 Mbps\"]\nload = [0.7, 1.2]\nseed = \"1 to 2\"\n";

#[test]
fn a_run_of_a_sweep_is_the_run_of_its_settings() {
    let desk = Desk::new();
    assert_eq!(desk.whole(GRID, "out"), 24);
    let tables = desk.tables(GRID, "out");
    let groups = &tables["groups"].rows;
    assert_eq!((tables["runs"].rows.len(), groups.len()), (24, 48));
    let mut dropped = 0;
    for row in &tables["runs"].rows {
        let alpha = &row["alpha"];
        let scheduler = match alpha.as_f64() {
            Some(alpha) => format!("{}:alpha={alpha}", row["scheduler"].as_str().unwrap()),
            None => row["scheduler"].as_str().unwrap().to_string(),
        };
        assert_eq!(alpha.is_null(), scheduler.starts_with("codel"));
        let rate = row["resource.link.rate_bps"].as_f64().unwrap();
        let overrides = [
            format!("resource.link.rate={rate} bps"),
            format!("load={}", row["load"]),
            format!("seed={}", row["seed"]),
        ];
        let scenario = Scenario::parse("s.toml", SCENARIO, &overrides, PathBuf::new()).unwrap();
        let never = AtomicBool::new(false);
        let settings = RunSettings { threads: 1, cancel: &never, progress: &|_| (), packet_log: 0 };
        let recorded = compare(&scenario, &[scheduler.parse().unwrap()], &settings).unwrap();
        let document = serde_json::to_value(Summary::new(&scenario, &recorded)).unwrap();
        let run = &document["runs"][0];
        for (column, place) in [
            ("makespan_s", "/makespan_s"),
            ("nonempty_s", "/nonempty_s"),
            ("end", "/end"),
            ("offered", "/packets/offered"),
            ("delivered", "/packets/delivered"),
            ("refused", "/packets/dropped/queue-packets"),
            ("dropped_after_processing", "/packets/dropped/after-processing"),
            ("cpu_utilization", "/resources/cpu/utilization"),
            ("link_busy_s", "/resources/link/busy_s"),
            ("cpu_prediction_error", "/prediction/cpu/weighted_relative"),
            ("latency_p99_s", "/latency_s/p99"),
            ("latency_std_s", "/latency_s/std"),
            ("jain", "/fairness/jain"),
            ("relative_fairness_total_s", "/fairness/relative_fairness_total"),
            ("behind_due_rounds", "/behind/rounds"),
            ("starving", "/starving"),
        ] {
            assert_eq!(&row[column], run.pointer(place).unwrap_or(&Json::Null), "{column} of {row:?}");
        }
        let waiting = run.pointer("/packets/dropped/aqm-head").and_then(Json::as_u64).unwrap_or(0);
        assert_eq!(row["dropped_waiting"], waiting);
        dropped += waiting;
        let of_run = groups.iter().filter(|group| group["run"] == row["run"]);
        for (group, document) in of_run.zip(run["groups"].as_array().unwrap()) {
            assert_eq!(group["seed"], row["seed"]);
            for column in ["group", "flows", "offered", "delivered", "throughput_bps", "dominant_share", "starving"] {
                assert_eq!(group[column], document[column], "{column}");
            }
            assert_eq!(group["latency_p50_s"], document["latency_s"]["p50"]);
            assert_eq!(group["behind_s"], document["behind"]["time_s"]);
        }
    }
    assert!(dropped > 0, "codel drops");
}

#[test]
fn the_same_seed_gives_the_same_packets_whatever_else_varies() {
    let desk = Desk::new();
    let lines = "samples = 2\n[grid]\nscheduler = [\"fifo\", \"drfq\", \"tradeoff\"]\nseed = \"1 to 3\"\n\
                 resource.link.rate = [\"50 Mbps\", \"100 Mbps\"]\nflows.crypto.queue = [\"20 packets\", \"unlimited\"]\n\
                 [random]\nclass.crypto.cost.cpu = \"50 us to 200 us\"\n";
    desk.whole(lines, "out");
    let mut offered: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for row in &desk.tables(lines, "out")["groups"].rows {
        offered.entry(format!("{} {}", row["seed"], row["group"])).or_default().push(row["offered"].as_u64().unwrap());
    }
    assert_eq!(offered.len(), 6);
    for (seed, of_runs) in &offered {
        assert_eq!(of_runs.len(), 24);
        assert!(of_runs.iter().all(|n| *n == of_runs[0]), "{seed}: {of_runs:?}");
    }
    let plain: Vec<u64> = offered.iter().filter(|(key, _)| key.contains("plain")).map(|(_, n)| n[0]).collect();
    assert!(plain[0] != plain[1] && plain[1] != plain[2], "other seeds give other packets: {plain:?}");
}

#[test]
fn numbers_are_numbers_with_their_unit() {
    let desk = Desk::new();
    let lines = "samples = 2\n[grid]\nscheduler = [\"tradeoff\"]\nalpha = [0.5, 1]\n\
                 resource.link.rate = [\"50 Mbps\", \"0.1 Gbps\"]\nflows.plain.stop = [\"20 ms\"]\n\
                 flows.plain.arrivals = [\"constant\"]\nflows.plain.queue = [\"8 packets\"]\n\
                 [random]\nclass.plain.cost.cpu = \"10 us to 20 us\"\nflows.crypto.size = \"100 B to 200 B\"\n";
    desk.whole(lines, "out");
    let tables = desk.tables(lines, "out");
    let of = |name: &str| {
        tables["runs"].columns.iter().find(|column| column.name == name).unwrap_or_else(|| panic!("{name}"))
    };
    for (name, kind) in [
        ("run", Kind::Text),
        ("sample", Kind::U64),
        ("scheduler", Kind::Text),
        ("alpha", Kind::F64),
        ("resource.link.rate_bps", Kind::F64),
        ("flows.plain.stop_s", Kind::F64),
        ("flows.plain.arrivals", Kind::Text),
        ("flows.plain.queue_packets", Kind::U64),
        ("class.plain.cost.cpu_s", Kind::F64),
        ("seed", Kind::U64),
    ] {
        assert_eq!(of(name).kind, kind, "{name}");
    }
    let rates: Vec<f64> =
        tables["runs"].rows.iter().map(|row| row["resource.link.rate_bps"].as_f64().unwrap()).collect();
    assert_eq!(rates, [5e7, 1e8, 5e7, 1e8, 5e7, 1e8, 5e7, 1e8]);
    assert_eq!(tables["runs"].rows[0]["flows.plain.stop_s"], json!(0.02));
}

#[test]
fn interrupted_or_not_and_on_any_number_of_threads_the_bytes_are_the_same() {
    let desk = Desk::new();
    let lines = "[grid]\nscheduler = [\"fifo\", \"drfq\", \"tradeoff\"]\nalpha = [0.5, 1]\nseed = \"1 to 6\"\n";
    assert_eq!(desk.run(lines, "whole", 1, usize::MAX), 24);
    let whole = desk.bytes("whole");
    assert_eq!(
        whole.keys().map(|path| path.to_str().unwrap()).collect::<Vec<_>>(),
        ["groups/part-00000.parquet", "runs/part-00000.parquet"]
    );
    assert_eq!(desk.run(lines, "threads", 3, usize::MAX), 24);
    assert_eq!(desk.bytes("threads"), whole);
    let mut done = 0;
    for most in [1, 4, 2, 7] {
        done += desk.run(lines, "often", 2, most);
        assert_eq!(desk.tables(lines, "often")["runs"].rows.len(), done, "nothing that was done is lost");
        assert_ne!(desk.bytes("often"), whole);
    }
    done += desk.whole(lines, "often");
    assert_eq!((done, desk.bytes("often")), (24, whole), "and nothing was done twice");
    assert_eq!(desk.whole(lines, "often"), 0);
}

#[test]
fn another_plan_computes_what_is_new_alone() {
    let desk = Desk::new();
    let grid = |rates: &str| format!("[grid]\nresource.link.rate = [{rates}]\nseed = [1, 2]\n");
    assert_eq!(desk.whole(&grid("\"50 Mbps\""), "out"), 4);
    assert_eq!(desk.whole(&grid("\"80 Mbps\", \"0.05 Gbps\""), "out"), 8, "written otherwise, it is another text");
    assert_eq!(desk.whole(&grid("\"80 Mbps\", \"50 Mbps\""), "out"), 0);
    let fresh = desk.whole(&grid("\"80 Mbps\", \"50 Mbps\""), "fresh");
    assert_eq!((fresh, desk.bytes("fresh")), (8, desk.bytes("out")), "what a plan lacks is not in its tables");
    // Words change no result, costs do.
    let same = SCENARIO.replace("# A comment.", "# Another\n# comment.").replace("Two groups", "Both groups");
    desk.write("s.toml", &same);
    assert_eq!(desk.whole(&grid("\"80 Mbps\", \"50 Mbps\""), "out"), 0);
    desk.write("s.toml", &SCENARIO.replace("150 us", "151 us"));
    assert_eq!(desk.whole(&grid("\"80 Mbps\", \"50 Mbps\""), "out"), 8);
}

#[test]
fn a_plan_that_became_smaller_leaves_no_parts_behind() {
    let desk = Desk::new();
    desk.whole("[grid]\nscheduler = [\"fifo\"]\nuntil = [\"1 ms\"]\nseed = \"1 to 1001\"\n", "out");
    assert_eq!(desk.bytes("out").len(), 4);
    desk.whole("[grid]\nscheduler = [\"fifo\"]\nuntil = [\"1 ms\"]\nseed = \"1 to 3\"\n", "out");
    assert_eq!(desk.bytes("out").len(), 2);
}

#[test]
fn what_a_kill_leaves_behind_does_no_harm() {
    let desk = Desk::new();
    desk.whole(GRID, "whole");
    desk.run(GRID, "out", 1, 5);
    let journal = desk.path("out").join(dataset::JOURNAL);
    let text = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &text[..text.len() - 100]).unwrap();
    std::fs::write(desk.path("out").join("runs/part-00000.parquet"), "torn").unwrap();
    assert_eq!(desk.whole(GRID, "out"), 20);
    assert_eq!(desk.bytes("out"), desk.bytes("whole"));
}

#[test]
fn one_program_at_a_time_writes_into_a_folder() {
    let desk = Desk::new();
    let never = AtomicBool::new(false);
    let settings = Settings { jobs: 1, cancel: &never, progress: &|_| () };
    let _held = Sweep::open(desk.plan(GRID).unwrap(), &desk.path("out"), &settings).unwrap();
    let second = Sweep::open(desk.plan(GRID).unwrap(), &desk.path("out"), &settings);
    assert!(matches!(second, Err(SweepError::InUse(_))));
}

#[test]
fn samples_lie_in_their_range_and_stay_when_more_are_drawn() {
    let desk = Desk::new();
    let lines = |samples: u32, seed: u32| {
        format!(
            "samples = {samples}\ndesign_seed = {seed}\n[grid]\nscheduler = [\"fifo\", \"tradeoff\"]\n\
             [random]\nalpha = \"0.5 to 1.0\"\nload = \"0.5 to 1.5\"\nflows.plain.count = \"2 to 4\"\n"
        )
    };
    assert_eq!(desk.whole(&lines(5, 1), "out"), 10);
    let few = desk.tables(&lines(5, 1), "out").remove("runs").unwrap().rows;
    assert_eq!(desk.whole(&lines(8, 1), "out"), 6, "the first ones stay");
    let more = desk.tables(&lines(8, 1), "out").remove("runs").unwrap().rows;
    assert_eq!(few, more[..10]);
    assert_eq!(desk.whole(&lines(5, 2), "out"), 10, "another design");
    let counts: Vec<u64> = more.iter().map(|row| row["flows.plain.count"].as_u64().unwrap()).collect();
    assert!(counts.iter().all(|count| (2..=4).contains(count)) && counts.iter().any(|count| *count != counts[0]));
    for pair in more.chunks(2) {
        let [fifo, tradeoff] = pair else { panic!() };
        assert_eq!(fifo["load"], tradeoff["load"], "schedulers are compared on the same sample");
        assert!(fifo["alpha"].is_null());
        assert!((0.5..=1.0).contains(&tradeoff["alpha"].as_f64().unwrap()));
    }
}

#[test]
fn a_scenario_may_stand_in_the_plan() {
    let desk = Desk::new();
    let grid = "[grid]\nscheduler = [\"drfq\"]\nload = [0.7, 1.2]\n";
    desk.whole(grid, "out");
    let inner = SCENARIO.replace("[[", "[[scenario.");
    let text = format!("{grid}[scenario]\n{inner}");
    let plan = Plan::parse("plan.toml", &text, desk.folder.path()).unwrap();
    let never = AtomicBool::new(false);
    let settings = Settings { jobs: 2, cancel: &never, progress: &|_| () };
    let sweep = Sweep::open(plan, &desk.path("out"), &settings).unwrap();
    assert_eq!((sweep.rows(), sweep.pending()), (2, 0), "it is the same as in a file");
}

#[test]
fn a_network_has_a_run_for_each_seed() {
    const NETWORK: &str = "seeds = 2\nuntil = \"2 s\"\nschedulers = [\"fifo\", \"drq\"]\n\
        [[hop]]\nname = \"box\"\ncpu = \"20 Mcycles/s\"\nrate = \"10 Mbps\"\ndelay = \"5 ms\"\n\
        [[class]]\nname = \"plain\"\ndensity = \"1 cycles/bit\"\n\
        [[tcp]]\nclass = \"plain\"\nroute = [\"box\"]\nrtt = \"20 ms\"\ncount = 3\n";
    let desk = Desk::new();
    desk.write("s.toml", NETWORK);
    let lines = "[grid]\ntcp.plain.count = [2, 3]\n";
    assert_eq!(desk.whole(lines, "out"), 8);
    let tables = desk.tables(lines, "out");
    for row in &tables["runs"].rows {
        let overrides =
            ["seeds=1".into(), format!("seed={}", row["seed"]), format!("tcp.0.count={}", row["tcp.plain.count"])];
        let scenario = NetworkScenario::parse("s.toml", NETWORK, &overrides).unwrap();
        let schemes = scenario.schemes(&[row["scheduler"].as_str().unwrap().parse().unwrap()]).unwrap();
        let never = AtomicBool::new(false);
        let settings = network::Settings { threads: 1, cancel: &never, progress: &|_| () };
        let runs = network::compare(&scenario, &schemes, &settings).unwrap();
        let document = serde_json::to_value(NetworkSummary::new(&scenario, &runs).unwrap()).unwrap();
        let run = &document["runs"][0];
        assert_eq!(row["throughput_bps"], run["throughput_bps"]["mean"]);
        assert_eq!(row["box.cpu_utilization"], run["hops"]["box.cpu"]["utilization"]["mean"]);
        assert_eq!(row["box.link_queue_packets"], run["hops"]["box.link"]["queue_packets"]["mean"]);
        let group = tables["groups"].rows.iter().find(|group| group["run"] == row["run"]).unwrap();
        assert_eq!(group["timeouts"], run["groups"][0]["timeouts"]["mean"]);
        assert_eq!(group["fair_bps"], run["groups"][0]["fair_bps"]);
    }
}

#[test]
fn a_capture_is_swept_in_its_profile() {
    let desk = Desk::new();
    let mixture = dovetail_trace::Mixture { packets: 300, flows: 20, ..Default::default() };
    mixture.generate().unwrap().write_pcap(std::fs::File::create(desk.path("c.pcap")).unwrap()).unwrap();
    let lines = "capture = \"c.pcap\"\nprofile = \"router\"\n[grid]\nscheduler = [\"fifo\", \"drr\"]\n\
                 trace.load = [0.8, 1.2]\n";
    let plan = Plan::parse("plan.toml", lines, desk.folder.path()).unwrap();
    let never = AtomicBool::new(false);
    let settings = Settings { jobs: 2, cancel: &never, progress: &|_| () };
    let mut sweep = Sweep::open(plan, &desk.path("out"), &settings).unwrap();
    sweep.run(&settings).unwrap();
    let mut taken = Takes(BTreeMap::new());
    sweep.tables(&mut taken).unwrap();
    assert_eq!(taken.0["runs"].rows.len(), 4);
    for row in &taken.0["runs"].rows {
        let overrides = [format!("trace.load={}", row["trace.load"])];
        let path = desk.path("c.pcap");
        let scenario = Scenario::open_with(path.to_str().unwrap(), &overrides, Some("router")).unwrap();
        let settings = RunSettings { threads: 1, cancel: &never, progress: &|_| (), packet_log: 0 };
        let spec = row["scheduler"].as_str().unwrap().parse().unwrap();
        let recorded = compare(&scenario, &[spec], &settings).unwrap();
        let document = serde_json::to_value(Summary::new(&scenario, &recorded)).unwrap();
        assert_eq!(row["latency_p99_s"], document["runs"][0]["latency_s"]["p99"]);
        assert_eq!(row["offered"], 300);
    }
}
