//! Labs from the command line. Making one needs root: `make test` runs those tests where it has it.

use std::process::{Child, Command};

use crate::support::Folder;

fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout.trim_ascii() == b"0"
}

/// A name that no other run of the tests uses.
fn name(what: &str) -> String {
    format!("{what}-{}", std::process::id())
}

#[test]
#[ignore = "needs root"]
fn a_lab_goes_up_and_down() {
    let (folder, lab) = (Folder::new(), name("cli"));
    let said = folder.dovetail(&["lab", "up", &lab]).succeeds().out;
    assert!(said.contains(&format!("dovetail-{lab}-box")) && said.contains("10.99.0.2"), "{said}");
    folder.dovetail(&["lab", "up", &lab]).fails(2, &["there is a lab", "already", "dovetail lab down"]);
    let ping = ["netns", "exec", &format!("dovetail-{lab}-client"), "cat", "/proc/sys/net/ipv4/tcp_ecn"];
    assert_eq!(Command::new("ip").args(ping).output().unwrap().stdout, b"1\n");
    let said = folder.dovetail(&["lab", "down", &lab]).succeeds().out;
    assert_eq!(said.lines().filter(|line| line.starts_with("removed namespace dovetail-")).count(), 3, "{said}");
    let said = folder.dovetail(&["lab", "down", &lab]).succeeds().out;
    assert_eq!(said, format!("there is no lab {lab:?}\n"));
}

#[test]
fn wrong_words_about_labs_are_refused() {
    let folder = Folder::new();
    folder.dovetail(&["lab", "up", "My_Lab"]).fails(2, &["no lab can be called \"My_Lab\"", "a-z"]);
    folder.dovetail(&["lab", "down", "../x"]).fails(2, &["no lab can be called"]);
    folder.dovetail(&["lab", "up", "--mtu", "1000"]).fails(2, &["1280"]);
    folder.dovetail(&["lab", "up", "--mtu", "9000"]).fails(2, &["from 1280 to 1906"]);
    for time in ["0s", "999 ms"] {
        folder.dovetail(&["lab", "soak", "--for", time]).fails(2, &["expected \"1 s\" or more"]);
    }
    folder.dovetail(&["lab", "down", "x", "--all"]).fails(2, &["cannot be used with"]);
}

#[test]
#[ignore = "needs root"]
fn a_congestion_control_that_the_kernel_lacks_is_refused() {
    let wrong = ["lab", "up", &name("x"), "--congestion-control", "vegass"];
    Folder::new().dovetail(&wrong).fails(2, &["vegass", "reno"]);
}

#[test]
fn without_root_a_lab_says_so() {
    let folder = Folder::new();
    // A user other than root runs a copy of the program, where it may be read by everybody.
    let said = if is_root() {
        let program = folder.path("dovetail");
        std::fs::copy(env!("CARGO_BIN_EXE_dovetail"), &program).unwrap();
        let script = "chmod 755 . dovetail && exec setpriv --reuid 65534 --clear-groups ./dovetail lab up nobody";
        folder.shell(script)
    } else {
        folder.dovetail(&["lab", "up", "nobody"])
    };
    said.fails(2, &["needs root"]);
}

/// A tunnel and four forwarded flows; every frame occupies the CPU for as long as its class costs.
const SCENARIO: &str = r#"
title = "A short one"
live = "box.toml"
warm_up = "200 ms"

[[step]]
title = "strict"
time = "600 ms"

[[step]]
title = "lenient"
set = ["scheduler=tradeoff:alpha=0.5"]
time = "600 ms"

[[udp]]
class = "tunnel"
port = 5001
frame = "1000 B"
rate = "1000 pps"

[[udp]]
class = "forwarding"
port = 5002
count = 4
frame = "1000 B"
rate = "500 pps"

[[tcp]]
class = "bulk"
port = 5001
count = 2
"#;

const BOX: &str = r#"
scheduler = "tradeoff:alpha=1"

[ports]
in = "packet:client"
out = "packet:server"

[link]
rate = "10 Mbps"

[flows]
queue = "20 packets"

[[class]]
name = "tunnel"
match = [{ protocol = "udp", dport = "5001" }]
cost = "4 ms"

[[class]]
name = "bulk"
match = [{ protocol = "tcp" }]
cost = "10 us"

[[class]]
name = "forwarding"
cost = "10 us"
"#;

fn with_scenario() -> Folder {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO);
    folder.write("box.toml", BOX);
    folder
}

/// Namespaces of the lab `name` that are there.
fn left(name: &str) -> usize {
    let list = Command::new("ip").args(["netns", "list"]).output().unwrap().stdout;
    let list = String::from_utf8(list).unwrap();
    list.lines().filter(|line| line.starts_with(&format!("dovetail-{name}-"))).count()
}

/// The sum of a number over the parts in which a box was measured.
fn of_parts(step: &serde_json::Value, number: impl Fn(&serde_json::Value) -> f64) -> f64 {
    step["box"]["parts"].as_array().unwrap().iter().map(number).sum()
}

/// For how long a box was measured, seconds.
fn measured_s(step: &serde_json::Value) -> f64 {
    of_parts(step, |part| part["until_s"].as_f64().unwrap() - part["since_s"].as_f64().unwrap())
}

/// What a box has done from before the first part to after the last.
fn in_all(step: &serde_json::Value, number: impl Fn(&serde_json::Value) -> f64) -> f64 {
    number(&step["box"]["until"]) - number(&step["box"]["since"])
}

/// Whether the box had its core in a step. One that has not serves at random; it says so itself.
fn ran(step: &serde_json::Value) -> bool {
    of_parts(step, |part| part["lost_time_s"].as_f64().unwrap()) < 0.05 * measured_s(step)
}

/// Run the scenario, up to five times until the box had its core in every step and nothing is wrong: a busy machine
/// takes senders, receivers and the box off their cores for any while. What is wrong with the program is wrong each
/// time; where the box never had its core, that is said, and nothing else can be.
fn comes_true(folder: &Folder, arguments: &[&str], look: impl Fn(&serde_json::Value) -> Result<(), String>) {
    let mut wrong = None;
    for _ in 0..5 {
        let said = folder.dovetail(&[&["lab", "run", "s.toml", "--json"], arguments].concat()).succeeds();
        let document: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        if document["steps"].as_array().unwrap().iter().all(ran) {
            match look(&document) {
                Ok(()) => return,
                Err(why) => wrong = Some(why),
            }
        }
    }
    match wrong {
        Some(why) => panic!("{why}"),
        None => eprintln!("not checked: this machine is too busy"),
    }
}

#[test]
#[ignore = "needs root"]
fn a_lab_runs_the_middlebox_and_leaves_nothing() {
    let (folder, lab) = (with_scenario(), name("run"));
    comes_true(&folder, &["--name", &lab], |document| {
        assert_eq!((document["schema"].as_u64(), document["title"].as_str()), (Some(2), Some("A short one")));
        let steps = document["steps"].as_array().unwrap();
        assert_eq!(document["unaccounted"], 0);
        // UDP beside TCP: no theory says what becomes of that.
        assert_eq!(document["checks"].as_array().map(Vec::len), Some(0));
        // alpha is turned while the box runs.
        assert_eq!(steps.iter().map(|step| step["turned"].as_bool()).collect::<Vec<_>>(), [Some(false), Some(true)]);
        for step in steps {
            // The parts follow one another.
            let out = |of: &serde_json::Value| of["total"]["frames_out"].as_f64().unwrap();
            assert_eq!((step["box"]["parts"].as_array().unwrap().len(), of_parts(step, out)), (10, in_all(step, out)));
            let groups = step["groups"].as_array().unwrap();
            let flows: Vec<_> = groups.iter().map(|g| g["goodput_bps"].as_array().unwrap()).collect();
            assert_eq!(flows.iter().map(|flows| flows.len()).collect::<Vec<_>>(), [1, 4, 2]);
            assert!(groups[0]["lost"].is_number(), "{step}");
            let all_come = flows.iter().copied().flatten().all(|rate| rate.as_f64().unwrap() > 0.0);
            if !all_come || groups[2]["rtt_s"].as_f64().is_none_or(|rtt| rtt == 0.0) {
                return Err(format!("a flow does not come through: {step}"));
            }
        }
        // By hand: a tunnel's frame needs 4 ms of CPU and 0.8 ms of link, a forwarded one 0.8 ms of link. With a share
        // of d each of 1 + 4 + 2 flows fills the link with d (0.8/4 + 4 + 2), so d = 1 / 6.2 while the CPU is
        // far from full. All ask for more: the tunnel for 4, a forwarded flow for 0.4.
        let share = |step: usize, group: usize, what: &str| steps[step]["groups"][group][what].as_f64().unwrap();
        let fair = [0, 1].map(|group| share(0, group, "fair_share"));
        let tunnel = [0, 1].map(|step| share(step, 0, "dominant_share"));
        let right = (fair[0] - 1.0 / 6.2).abs() < 1e-3 && (fair[1] - 4.0 / 6.2).abs() < 1e-3;
        let recovers = tunnel[1] > 1.5 * tunnel[0];
        if right && recovers { Ok(()) } else { Err(format!("fair shares {fair:?}, the tunnel's {tunnel:?}")) }
    });
    assert_eq!(left(&lab), 0);

    let said = folder.dovetail(&["lab", "run", "s.toml", "--name", &lab, "--set", "step.0.time=100 ms"]).succeeds().out;
    for word in [
        "A short one",
        "strict, 0.",
        "lenient (scheduler=tradeoff:alpha=0.5) changed while it ran",
        "tunnel",
        "fair",
        "RTT",
    ] {
        assert!(said.contains(word), "{word:?} is missing in:\n{said}");
    }
    assert!(said.lines().all(|line| line.chars().count() <= 120), "{said}");
}

#[test]
#[ignore = "needs root"]
fn a_lab_that_is_interrupted_leaves_nothing() {
    for signal in ["INT", "TERM"] {
        let (folder, lab) = (with_scenario(), name("stop"));
        let arguments = ["lab", "run", "s.toml", "--name", &lab, "--set", "step.0.time=1000 s"];
        let mut child = folder.command(&arguments).spawn().unwrap();
        wait_for_the_box(&lab, &mut child);
        Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(left(&lab), 0, "after SIG{signal}");
    }
}

/// Wait until the middlebox runs in the box of this run.
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn wait_for_the_box(lab: &str, run: &mut Child) {
    let pids = || Command::new("ip").args(["netns", "pids", &format!("dovetail-{lab}-box")]).output().unwrap().stdout;
    let is_live = |id: &str| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0).any(|word| word == b"live")
    };
    while !String::from_utf8(pids()).unwrap().split_whitespace().any(is_live) {
        assert_eq!(run.try_wait().unwrap(), None, "the run has ended too early");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
#[ignore = "needs root"]
fn what_a_killed_run_has_left_is_removed() {
    let (folder, lab) = (with_scenario(), name("kill"));
    let arguments = ["lab", "run", "s.toml", "--name", &lab, "--set", "step.0.time=1000 s"];
    let mut child = folder.command(&arguments).spawn().unwrap();
    wait_for_the_box(&lab, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let said = folder.dovetail(&["lab", "down", &lab]).succeeds().out;
    assert!(said.contains("removed process") && said.contains("(dovetail)"), "{said}");
    assert_eq!((said.matches("removed namespace").count(), left(&lab)), (3, 0), "{said}");
}

#[test]
fn wrong_scenarios_of_labs_are_refused() {
    let folder = with_scenario();
    folder.dovetail(&["lab", "run", "/dev/zero"]).fails(2, &["/dev/zero", "it is longer than 64 MiB"]);
    folder.dovetail(&["lab", "run", "clik"]).fails(2, &["there is no scenario \"clik\"", "click"]);
    let given = ["live=\"nowhere.toml\"", "brings its box with it", "step.0.set"];
    folder.dovetail(&["lab", "run", "click", "--set", "live=nowhere.toml"]).fails(2, &given);
    folder.dovetail(&["lab", "run", "s.toml", "--set", "live=nowhere.toml"]).fails(2, &["nowhere.toml"]);
    folder.dovetail(&["lab", "run", "s.toml", "--set", "udp.0.frame=20 B"]).fails(2, &["20 B", "60 B"]);
}

#[test]
#[ignore = "needs root"]
fn a_box_of_a_scenario_that_is_wrong_is_refused() {
    let folder = with_scenario();
    folder.write("box.toml", BOX.replace("alpha=1", "alfa=1"));
    folder.dovetail(&["lab", "run", "s.toml", "--name", &name("bad")]).fails(2, &["alfa", "alpha", "box.toml"]);
    assert_eq!(left(&name("bad")), 0);
}

#[test]
#[ignore = "needs root"]
fn a_box_that_is_treated_badly_keeps_its_promises() {
    let folder = Folder::new();
    let said = folder.dovetail(&["lab", "soak", "--name", &name("soak"), "--for", "12 s"]);
    let text = format!("{}{}", said.out, said.err);
    // Whether memory is level is for the long run to say: this one is hardly warm.
    for words in ["every frame is accounted for", "no descriptor is left open", "reloads", "interfaces down and up"] {
        assert!(said.out.contains(&format!("ok      {words}")), "{words:?} is missing in\n{text}");
    }
    assert!(said.out.contains("memory is level") && said.out.contains("queue-packets"), "{text}");
}

/// Without the connections.
fn with_udp() -> Folder {
    let folder = with_scenario();
    folder.write("s.toml", &SCENARIO[..SCENARIO.find("[[tcp]]").unwrap()]);
    folder
}

/// By hand: with a dominant share of d each the link is full at d (0.8/4 + 4), so d = 1 / 4.2. At 0.5 both resources
/// are full: with t of the CPU for the tunnel and f of the link for the four, t + f 10/800 = 1 and t 0.8/4 + f = 1. Per
/// cent and Mbit/s; frames have 1000 bytes.
const BY_HAND: [[f64; 4]; 2] = [[100.0 / 4.2, 2.0 / 4.2, 400.0 / 4.2, 40.0 / 4.2], [98.997, 1.980, 80.201, 8.020]];

#[test]
#[ignore = "needs root"]
fn steps_are_held_against_theory_and_against_a_simulation() {
    let (folder, lab) = (with_udp(), name("theory"));
    comes_true(&folder, &["--name", &lab, "--predict"], |document| {
        let checks = document["checks"].as_array().unwrap();
        let find = |step: &str, quantity: &str| {
            let is = |c: &&serde_json::Value| c["figure"] == step && c["quantity"] == quantity;
            checks.iter().find(is).unwrap_or_else(|| panic!("{step}, {quantity} is missing: {checks:?}"))
        };
        let mut far = Vec::new();
        for (step, by_hand) in ["strict", "lenient"].into_iter().zip(BY_HAND) {
            let [tunnel, to_tunnel, others, to_others] = by_hand;
            let quantities = [
                ("tunnel: dominant share", tunnel),
                ("tunnel: goodput", to_tunnel),
                ("forwarding: dominant share", others),
                ("forwarding: goodput", to_others),
            ];
            for (quantity, value) in quantities {
                // The fluid is of the times of a frame that the box tells: of some 46 frames in 0.8 s, one at either
                // end may have had its time and not have left. The simulation has 0.8 s in which every
                // queue fills first; it is the same on any machine.
                for prefix in ["", "simulated: "] {
                    let check = find(step, &format!("{prefix}{quantity}"));
                    let claimed = check["paper"].as_f64().unwrap();
                    let told = format!("{step}, {prefix}{quantity}: {claimed}, by hand {value}");
                    if (claimed / value - 1.0).abs() >= 0.05 {
                        assert!(prefix.is_empty(), "{told}");
                        far.push(told);
                    }
                    // The verdict is what the numbers say, whatever the machine had to do meanwhile.
                    let near = |ours: f64| (ours - claimed).abs() <= check["tolerance"].as_f64().unwrap();
                    let verdict = check["ours"]
                        .as_f64()
                        .map_or("not-comparable", |ours| if near(ours) { "reproduced" } else { "differs" });
                    assert_eq!(check["verdict"], verdict, "{check}");
                }
            }
        }
        if far.is_empty() { Ok(()) } else { Err(far.join("; ")) }
    });
    assert_eq!(left(&lab), 0);
}

/// Modules, whose cost is measured between the parts of a step.
const CHECKS: &str = "[[module]]\nname = \"headers\"\nkind = \"check\"\n";

#[test]
#[ignore = "needs root"]
fn a_step_and_the_cost_of_its_frames_are_measured_in_turns() {
    let (folder, lab) = (with_udp(), name("turns"));
    folder.write("box.toml", format!("{}{CHECKS}", BOX.replace("cost = \"4 ms\"", "modules = [\"headers\"]")));
    let time = ["--set", "step.0.time=2 s", "--set", "step.1.time=2 s"];
    comes_true(&folder, &[&["--name", &lab, "--predict"][..], &time].concat(), |document| {
        let checks = document["checks"].as_array().unwrap();
        let costs = checks.iter().filter(|check| check["quantity"] == "simulated: tunnel: CPU time of a frame");
        assert_eq!(costs.count(), 2, "{checks:?}");
        for step in document["steps"].as_array().unwrap() {
            assert_eq!(step["box"]["parts"].as_array().map(Vec::len), Some(10), "{step}");
            let time = |of: &serde_json::Value| of["time_s"].as_f64().unwrap();
            let out = |of: &serde_json::Value| of["total"]["frames_out"].as_f64().unwrap();
            let came = |group: &serde_json::Value| {
                group["goodput_bps"].as_array().unwrap().iter().map(|rate| rate.as_f64().unwrap() / 8000.0).sum::<f64>()
            };
            let came = step["groups"].as_array().unwrap().iter().map(came).sum::<f64>();
            // About half of the time is the parts', as much as was asked for; and what the server counts is of the same
            // parts as what the box does.
            let told = [measured_s(step), step["measured_s"].as_f64().unwrap(), in_all(step, time)];
            let frames = [of_parts(step, out), came * told[1], in_all(step, out)];
            let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.2;
            let right = near(told[0], 2.0) && near(told[1], 2.0) && near(told[2], 3.8);
            if !right || !near(frames[1], frames[0]) || !near(frames[2], frames[0] * told[2] / told[0]) {
                return Err(format!("{told:?} s with {frames:?} frames"));
            }
        }
        Ok(())
    });
    assert_eq!(left(&lab), 0);
}

/// A class with modules, of which a frame is sent in a hundred seconds.
const RARE: [&str; 2] = [
    "[[udp]]\nclass = \"rare\"\nport = 5003\nframe = \"1000 B\"\nrate = \"0.01 pps\"\n",
    "[[class]]\nname = \"rare\"\nmatch = [{ dport = \"5003\" }]\nmodules = [\"headers\"]\n",
];

#[test]
#[ignore = "needs root"]
fn a_class_without_frames_is_not_simulated_and_the_others_are() {
    let (folder, lab) = (with_udp(), name("rare"));
    let scenario = &SCENARIO[..SCENARIO.find("[[tcp]]").unwrap()];
    folder.write("s.toml", format!("{scenario}{}", RARE[0]));
    folder.write("box.toml", format!("{}{}{CHECKS}", BOX, RARE[1]));
    let run = ["lab", "run", "s.toml", "--name", &lab, "--predict"];
    let said = folder.dovetail(&run).succeeds().out;
    assert_eq!(said.matches("rare is not simulated: no frame of it was sent.").count(), 2, "{said}");
    let document: serde_json::Value =
        serde_json::from_str(&folder.dovetail(&[&run[..], &["--json"]].concat()).succeeds().out).unwrap();
    let checks = document["checks"].as_array().unwrap();
    let of = |quantity: &str| checks.iter().filter(|check| check["quantity"] == quantity).collect::<Vec<_>>();
    for check in of("simulated: rare: CPU time of a frame") {
        assert_eq!((&check["verdict"], check["paper"].is_null()), (&"not-comparable".into(), true), "{check}");
        assert!(check["why"].as_str().unwrap().contains("no frame of it was sent"), "{check}");
    }
    assert_eq!([of("simulated: rare: goodput").len(), of("simulated: tunnel: goodput").len()], [0, 2], "{checks:?}");

    let text = folder.dovetail(&["lab", "predict", "s.toml", "--name", &lab]).succeeds().out;
    assert!(text.starts_with("# Without \"rare\": no frame of it was sent within 5 s.\n"), "{text}");
    let document: toml::Table = text.parse().unwrap();
    assert_eq!(["class", "flows"].map(|key| document[key].as_array().unwrap().len()), [2, 2], "{text}");
    assert_eq!(left(&lab), 0);
}

#[test]
fn flows_that_the_box_takes_for_another_class_are_refused() {
    let folder = with_scenario();
    let rare = RARE[1].replace("5003", "5004");
    folder.write("s.toml", format!("{SCENARIO}{}", RARE[0]));
    folder.write("box.toml", format!("{}{rare}{CHECKS}", BOX));
    let words =
        ["the flows of \"rare\" would be of class \"forwarding\"", "UDP from 10.99.0.1 to 10.99.0.2, port 5003"];
    for command in [&["run", "s.toml"][..], &["run", "s.toml", "--predict"], &["predict", "s.toml"]] {
        folder.dovetail(&[&["lab"], command].concat()).fails(2, &words);
    }
    // What the client's kernel chooses may be in the range.
    folder.write("box.toml", format!("{}{}{CHECKS}", BOX, rare.replace("dport = \"5004\"", "sport = \"40000-50000\"")));
    let said = folder.dovetail(&["lab", "predict", "s.toml"]);
    assert!(said.err.contains("only UDP flows can be predicted"), "{said:?}");
}

#[test]
#[ignore = "needs root"]
fn kernels_use_ecn_as_they_are_told() {
    let folder = with_scenario();
    let connections = SCENARIO[SCENARIO.find("[[tcp]]").unwrap()..].to_string();
    let head =
        "live = \"box.toml\"\nwarm_up = \"300 ms\"\n[[step]]\nset = [\"scheduler=red+red\"]\ntime = \"500 ms\"\n";
    folder.write("s.toml", format!("{head}{connections}"));
    for (ecn, connections) in [("true", 2.0), ("false", 0.0)] {
        let (lab, set) = (name(&format!("ecn-{ecn}")), format!("lab.ecn={ecn}"));
        comes_true(&folder, &["--name", &lab, "--set", &set], |document| {
            if ecn == "false" {
                assert_eq!(document["steps"][0]["marked"], 0);
            }
            let checks = document["checks"].as_array().unwrap();
            let check = checks.iter().find(|check| check["quantity"] == "connections with ECN").unwrap();
            // On a busy machine one may not have come about yet.
            if check["ours"].as_f64() == Some(connections) { Ok(()) } else { Err(document.to_string()) }
        });
    }
}

#[test]
fn a_step_becomes_a_scenario_of_the_simulator() {
    let folder = with_udp();
    let text = folder.dovetail(&["lab", "predict", "s.toml", "--step", "2"]).succeeds().out;
    assert!(text.contains("tradeoff:alpha=0.5") && text.contains("4000 us"), "{text}");
    // Five senders take turns: the four that send every 2 ms come 400 us after one another, the first so long after the
    // tunnel's, and each comes anywhere in its turn.
    let has = |line| text.lines().any(|other| other == line);
    assert!(["start = \"400 us\"", "spread = \"1.6 ms\"", "jitter = \"400 us\""].into_iter().all(has), "{text}");
    folder.write("predicted.toml", &text);
    let said = folder.dovetail(&["run", "predicted.toml", "--json"]).succeeds().out;
    let summary: serde_json::Value = serde_json::from_str(&said).unwrap();
    let group = |k: usize| summary["runs"][0]["groups"][k]["throughput_bps"].as_f64().unwrap() / 1e6;
    // Over 0.8 s, of which the first 4 ms fill the pipeline.
    assert!(
        (group(0) - BY_HAND[1][1]).abs() < 0.1 && (group(1) - BY_HAND[1][3]).abs() < 0.4,
        "{} {}",
        group(0),
        group(1)
    );
    // With half of a core everything takes twice as long.
    folder.write("box.toml", format!("cpu.budget = \"50 %\"\n{}", BOX));
    let text = folder.dovetail(&["lab", "predict", "s.toml"]).succeeds().out;
    assert!(text.contains("8000 us"), "{text}");
}

#[test]
#[ignore = "needs root"]
fn what_modules_cost_is_measured_in_the_box() {
    let (folder, lab) = (with_udp(), name("cost"));
    // Every frame of the tunnel is checked with half of a core; the others cost what is written, twice.
    let box_ = BOX.replace("cost = \"4 ms\"", "modules = [\"headers\"]");
    folder.write("box.toml", format!("cpu.budget = \"50 %\"\n{box_}{CHECKS}"));
    let text = folder.dovetail(&["lab", "predict", "s.toml", "--name", &lab]).succeeds().out;
    let document: toml::Table = text.parse().unwrap();
    let cost = |class: usize| document["class"][class]["cost"]["cpu"].as_str().unwrap().to_string();
    assert_eq!((cost(1).as_str(), left(&lab)), ("20 us", 0), "{text}");
    // A check sums some twenty bytes of a header and looks at its fields, at least some ten nanoseconds, and here twice
    // that; a thousand frames a second come, so that a mean of a millisecond would be the whole of the half core.
    let measured: dovetail_sched::cost::Linear = cost(0).parse().unwrap();
    assert!((20..1_000_000).contains(&measured.time(1000).as_nanos()), "{text}");
}

#[test]
fn what_cannot_be_predicted_is_refused() {
    let folder = with_udp();
    folder.dovetail(&["lab", "predict", "tcp-drq"]).fails(2, &["only UDP flows can be predicted"]);
    folder.dovetail(&["lab", "predict", "clik"]).fails(2, &["there is no scenario \"clik\"", "click"]);
    folder.write("mine.toml", "");
    folder.dovetail(&["lab", "predict", "minne.toml"]).fails(2, &["minne.toml", "did you mean \"mine.toml\"?"]);
    std::fs::create_dir(folder.path("labs")).unwrap();
    folder
        .dovetail(&["lab", "predict", "labs"])
        .fails(2, &["labs: it is a folder: expected a scenario of a lab (TOML)"]);
    folder.dovetail(&["lab", "predict", "s.toml", "--step", "3"]).fails(2, &["--step 3", "has 2"]);
    folder.dovetail(&["lab", "predict", "s.toml", "--step", "0"]).fails(2, &["--step"]);
    folder.dovetail(&["lab", "run", "s.toml", "--set", "udp.0.class=tunel"]).fails(2, &["tunel", "tunnel"]);
    folder.write("box.toml", BOX.replace("[link]\nrate = \"10 Mbps\"\n", ""));
    folder.dovetail(&["lab", "predict", "s.toml"]).fails(2, &["link.rate"]);
    folder.write("box.toml", BOX.replace("alpha=1", "alpha=2"));
    folder.dovetail(&["lab", "run", "s.toml"]).fails(2, &["box.toml", "alpha"]);
}
