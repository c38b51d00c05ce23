//! A wrong scenario: exit code 2, and the message names the file, the line, the offending text and what would be right.

use crate::support::{Folder, SCENARIO};

/// What is said of [`SCENARIO`] with `right` replaced by `wrong`.
#[track_caller]
fn refused(right: &str, wrong: &str, words: &[&str]) {
    assert_eq!(SCENARIO.matches(right).count(), 1, "{right:?} stands in the scenario once");
    refused_text(&SCENARIO.replace(right, wrong), words);
}

#[track_caller]
fn refused_text(text: &str, words: &[&str]) {
    let folder = Folder::new();
    folder.write("s.toml", text);
    folder.dovetail(&["run", "s.toml", "--out", "out"]).fails(2, words);
    assert_eq!(folder.list("."), ["s.toml"], "nothing is written");
    folder.dovetail(&["bounds", "s.toml"]).fails(2, words);
}

#[test]
fn unknown_keys() {
    refused("seed = 1", "sede = 1", &["unknown key `sede`", "s.toml:1:1", "did you mean `seed`?"]);
    refused("size =", "siez =", &["unknown key `siez`", "s.toml:19:1", "did you mean `size`?"]);
    refused("stop =", "until =", &["unknown key `until`", "s.toml:21:1", "`stop`"]);
    refused("cost = { cpu", "cost = { gpu", &["no resource \"gpu\"", "s.toml:14:10", "did you mean \"cpu\"?"]);
    let bypass = ["\"ipsec\" has no cost on \"cpu\", which has no rate", "or \"0 us\" if its packets do not use it"];
    refused("cost = { cpu = \"0.015 us/B + 84.5 us\" }", "cost = {}", &bypass);
    refused("[[flows]]", "[[flow]]", &["unknown key `flow`", "s.toml:16:3", "did you mean `flows`?"]);
}

#[test]
fn wrong_and_missing_units() {
    refused("800 B", "800 kg", &["\"800 kg\"", "s.toml:19:8", "unknown unit \"kg\"", "kB"]);
    refused("200 Mbps", "200 mbps", &["s.toml:10:8", "did you mean \"Mbps\""]);
    refused("4000 pps", "4000 Mbps", &["s.toml:20:8", "unknown unit \"Mbps\"", "pps"]);
    refused("50 ms", "50", &["s.toml:21:8", "the unit is missing", "ms"]);
    refused("\"800 B\"", "800", &["s.toml:19:8", "the unit is missing", "\"800 B\""]);
    refused("0.015 us/B", "0.015 us/kB", &["s.toml:14:16", "0.015 us/B + 84.5 us"]);
}

#[test]
fn rates_that_are_none() {
    refused("4000 pps", "-4000 pps", &["\"-4000 pps\"", "s.toml:20:8", "it is negative"]);
    refused("4000 pps", "0 pps", &["s.toml:20:8", "it is zero"]);
    refused("200 Mbps", "-1 Mbps", &["s.toml:10:8", "it is negative"]);
    refused("200 Mbps", "0 Mbps", &["s.toml:10:8", "it is zero"]);
}

#[test]
fn schedulers_that_cannot_be() {
    let tradeoff = |wrong: &str, words: &[&str]| {
        refused("tradeoff:alpha=0.85", wrong, &[words, &["s.toml:3:23", wrong]].concat());
    };
    tradeoff("tradeoff:alpha=1.5", &["alpha=1.5", "from 0 (efficiency only) to 1"]);
    tradeoff("tradeoff:alpha=-0.1", &["alpha=-0.1", "from 0 (efficiency only) to 1"]);
    tradeoff("tradeoff:alpha=NaN", &["alpha=NaN", "from 0 (efficiency only) to 1"]);
    tradeoff("tradeoff:alpha=much", &["alpha=much", "expected a number"]);
    tradeoff("tradeoff:alpha=1,alpha=1", &["\"alpha\" is given twice"]);
    tradeoff("tradeoff:alhpa=1", &["no parameter \"alhpa\"", "did you mean \"alpha\"?"]);
    tradeoff("tradeoff:alpha", &["not of the form key=value"]);
    tradeoff("traedoff", &["no scheduler \"traedoff\"", "did you mean \"tradeoff\"?"]);
    tradeoff("unheard-of", &["no scheduler \"unheard-of\"", "there are fifo, "]);
    refused(
        "schedulers = [\"fifo\", \"tradeoff:alpha=0.85\"]",
        "",
        &["no scheduler to run", "--scheduler drfq", "[\"fifo\", \"drfq\"]"],
    );
    tradeoff("fifo", &["it is named twice"]);
}

#[test]
fn tradeoff_is_for_two_to_four_resources() {
    let link = "[[resource]]\nname = \"link\"\nrate = \"200 Mbps\"\n";
    refused(link, "", &["s.toml:3:23", "two to four resources", "has 1"]);
}

#[test]
fn lengths_that_no_packet_has() {
    refused("800 B", "0 B", &["\"0 B\"", "s.toml:19:8", "at least 1 byte"]);
    refused("800 B", "0 B to 800 B", &["s.toml:19:8", "at least 1 byte"]);
    refused("800 B", "800 B to 200 B", &["s.toml:19:8", "the smaller length comes first"]);
    refused("800 B", "2 GB", &["s.toml:19:8", "at most 1 GiB"]);
    refused("800 B", "18446744073709551616 B", &["s.toml:19:8", "too large"]);
    refused("\"800 B\"", &format!("1{}", "0".repeat(30)), &["s.toml:19:8", "quoted text with its unit"]);
    refused("\"800 B\"", "1e30", &["s.toml:19:8", "the unit is missing"]);
    refused("\"800 B\"", "nan", &["s.toml:19:8", "expected a size"]);
}

#[test]
fn absurd_numbers() {
    for wrong in ["0", "-3", "2.5", "4000000000", "99999999999", "99999999999999999999"] {
        let count = format!("count = {wrong}");
        refused(
            "count = 3",
            &count,
            &["s.toml:18:9", &format!("`{wrong}`"), "expected a whole number from 1 to 1000000"],
        );
    }
    let list = "count = 1000000\nlist = []\n[[flows]]\nclass = \"ipsec\"";
    refused("count = 3", list, &["s.toml:20:1", "1000001 flows", "at most 1000000"]);
    let listed = |count: u64, packets: u64| {
        format!(
            "count = {count}\nlist = [{{ at = \"0 s\", size = \"9 B\", count = {packets} }}]\n[[flows]]\n\
             class = \"ipsec\""
        )
    };
    let most = "at most 10000000 are possible";
    refused("count = 3", &listed(1, 10_000_001), &["these lists have 10000001 packets", most]);
    refused("count = 3", &listed(3, u64::MAX >> 1), &["these lists have 27670116110564327421 packets", most]);
    refused("50 ms", "500000 h", &["s.toml:16:1", "packets in all", "at most 1e11"]);
    refused("50 ms", "99999999999 h", &["s.toml:21:8", "too large"]);
    refused("10 ms", "0 s", &["s.toml:2:12", "above zero"]);
    // 50 ms by 10^6.
    refused("10 ms", "1 ns", &["s.toml:2:12", "1 ns: the run has some 5.", "at most 1e6", "expected at least 5"]);
    // 10,800 s by 10 ms are 1.08e6; the work, of three times 4000 packets/s and 96.5 us, takes 1.158 times as long.
    refused("50 ms", "3 h", &["s.toml:2:12", "10 ms: the run has some 1.3e6"]);
    refused("count = 3", "weight = 0", &["s.toml:18:10", "0.001 to 1000000"]);
    refused("count = 3", "weight = nan", &["s.toml:18:10", "0.001 to 1000000"]);
    refused("count = 3", "queue = \"0 packets\"", &["s.toml:18:9", "at least one packet"]);
    refused(
        "rate = \"200 Mbps\"",
        "rate = \"200 Mbps\"\nservers = 0",
        &["s.toml:11:11", "servers = 0", "from 1 to 65536"],
    );
    refused("seed = 1", "seed = -1", &["s.toml:1:8", "`-1`", "whole number"]);
    let list = "list = [{ at = \"0 s\", size = \"800 B\", count = 1000000000 }]";
    let generated = "size = \"800 B\"\nrate = \"4000 pps\"\nstop = \"50 ms\"";
    refused(generated, list, &["s.toml:16:1", "at most 10000000"]);
}

#[test]
fn files_of_other_kinds_are_told_by_their_keys() {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO);
    folder.write("box.toml", "ports = { in = \"tap:a\", out = \"tap:b\" }\n[link]\nrate = \"1 Mbps\"\n");
    folder.write("lab.toml", "live = \"box.toml\"\n[[step]]\ntime = \"1 s\"\n");
    for (arguments, taker) in [
        (&["run", "box.toml"][..], "`dovetail live` takes that"),
        (&["bounds", "lab.toml"], "`dovetail lab run` takes that"),
        (&["live", "s.toml", "--dry-run"], "`dovetail run` takes that"),
        (&["lab", "run", "s.toml"], "`dovetail run` takes that"),
    ] {
        folder.dovetail(arguments).fails(2, &[taker]);
    }
    // What is of the right kind and has one key of another is wrong there.
    folder.dovetail(&["run", "s.toml", "--set", "ports=3"]).fails(2, &["`ports`"]);
}

#[test]
fn flows_that_say_too_little_or_too_much() {
    refused("stop = \"50 ms\"", "", &["s.toml:16:1", "never end", "stop, packets, or until"]);
    refused("size = \"800 B\"", "", &["s.toml:16:1", "need size and rate"]);
    refused("50 ms\"", "50 ms\"\nstart = \"1 s\"", &["s.toml:16:1", "stop before they start"]);
    refused(
        "50 ms\"",
        "50 ms\"\nspread = \"75 ms\"",
        &["s.toml:16:1", "the last of these flows stops before it starts"],
    );
    refused("50 ms\"", "50 ms\"\npackets = 0", &["s.toml:16:1", "at least one packet"]);
    refused("count = 3", "on = \"1 s\"", &["s.toml:16:1", "arrivals = \"on-off\""]);
    let short = "arrivals = \"on-off\"\non = \"249 ns\"\noff = \"1 s\"";
    refused("count = 3", short, &["s.toml:16:1", "on = 249 ns", "at least 250 ns"]);
    refused("count = 3", "arrivals = \"on-off\"\non = \"1 s\"", &["s.toml:16:1", "both are needed"]);
    refused("count = 3", "jitter = \"251 us\"", &["s.toml:18:10", "at most 250 us"]);
    refused("count = 3", "jitter = \"1 us\"\narrivals = \"poisson\"", &["s.toml:18:10", "the others are random"]);
    refused("count = 3", "arrivals = \"posson\"", &["s.toml:18:12", "`posson`", "did you mean `poisson`?"]);
    refused("count = 3", "list = []", &["s.toml:16:1", "list says size and time"]);
}

#[test]
fn names_that_lead_nowhere() {
    refused("class = \"ipsec\"\ncount", "count", &["missing key `class`", "s.toml:16:1"]);
    refused(
        "class = \"ipsec\"\n",
        "class = \"ipsce\"\n",
        &["no class \"ipsce\"", "s.toml:17:9", "did you mean \"ipsec\"?"],
    );
    refused("cost = { cpu = \"0.015 us/B + 84.5 us\" }", "", &["s.toml:12:1", "no cost on \"cpu\"", "cost.cpu ="]);
    refused("name = \"link\"", "name = \"cpu\"", &["s.toml:8:1", "the resource \"cpu\" is there twice"]);
    refused(
        "[[class]]",
        "[[class]]\nname = \"ipsec\"\ncost.cpu = \"1 us\"\n[[class]]",
        &["class \"ipsec\" is there twice"],
    );
    refused("seed = 1", "seed = 1\nseed = 2", &["s.toml:2:1", "duplicate key"]);
    refused("name = \"link\"", "name = \"link\"\noverflow = \"drop\"", &["s.toml:8:1", "needs a buffer"]);
    refused("name = \"cpu\"", "name = \"cpu\"\nbuffer = \"none\"", &["s.toml:5:1", "the flows' queues"]);
}

#[test]
fn changes_that_cannot_be_made() {
    let change = |set: &str| format!("{SCENARIO}\n[[change]]\nat = \"20 ms\"\nset = \"{set}\"\n");
    refused_text(&change("alpha=1.5"), &["s.toml:25:7", "alpha=1.5", "from 0 (efficiency only) to 1"]);
    refused_text(&change("alpha"), &["s.toml:25:7", "parameter=value"]);
    refused_text(
        &change("alhpa=1"),
        &["s.toml:25:7", "no parameter that can change \"alhpa\"", "did you mean \"alpha\"?"],
    );
    // Some scheduler has it, but none of those that are compared; or it cannot change.
    let other = change("quantum=1 ms");
    refused_text(&other, &["s.toml:25:7", "quantum changes nothing", "none of the compared schedulers", "alpha"]);
    let when = change("alpha=1").replace("20 ms", "soon");
    refused_text(&when, &["s.toml:24:6", "\"soon\"", "a time such as"]);
}

#[test]
fn an_alpha_that_no_compared_scheduler_takes_is_noted() {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO.replace("[[class]]\n", "[[class]]\nalpha = 0.5\n"));
    let note = "note: the alpha of classes and flows is left out";
    for (scheduler, noted) in [("fifo", true), ("tradeoff", false)] {
        let said = folder.dovetail(&["run", "s.toml", "-s", scheduler]).succeeds().err;
        assert_eq!(said.contains(note), noted, "{scheduler}: {said}");
    }
}

/// The scenario names `tradeoff`, which has `alpha`: without it the change is for nobody, and a note says so. It is
/// refused where nobody named has it either.
#[test]
fn changes_for_schedulers_that_are_not_compared() {
    let folder = Folder::new();
    folder.write("s.toml", format!("{SCENARIO}\n[[change]]\nat = \"20 ms\"\nset = \"alpha=1\"\n"));
    for command in ["run", "bounds"] {
        let alone = folder.dovetail(&[command, "s.toml", "-s", "fifo"]).succeeds();
        assert!(
            alone.err.contains("note: the change alpha=1 is left out: it is for tradeoff:alpha=0.85"),
            "{}",
            alone.err
        );
        let both = folder.dovetail(&[command, "s.toml", "-s", "fifo", "-s", "tradeoff:alpha=0.5"]).succeeds();
        assert!(!both.err.contains("left out"), "{}", both.err);
        folder
            .dovetail(&[command, "s.toml", "-s", "fifo", "--set", "schedulers=['drr']"])
            .fails(2, &["alpha changes nothing"]);
        // Whether it is compared or not, what it cannot take is wrong.
        let banana = [command, "s.toml", "-s", "fifo", "--set", "change.0.set=alpha=banana"];
        folder.dovetail(&banana).fails(2, &["alpha=banana", "from 0 (efficiency only) to 1"]);
    }
}

#[test]
fn a_text_that_is_no_scenario() {
    refused_text("", &["s.toml", "it is empty", "scenario (TOML)"]);
    refused_text("\n\n", &["s.toml", "no [[resource]]"]);
    refused_text("seed = \n", &["s.toml:1:8"]);
    refused_text("<html></html>\n", &["s.toml: it does not look like TOML", "the keys are title, seed"]);
    refused_text(&SCENARIO[..SCENARIO.find("[[flows]]").unwrap()], &["s.toml", "nothing comes in", "[[flows]]"]);
}

#[test]
fn the_message_shows_the_place() {
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO.replace("4000 pps", "-4000 pps"));
    let expected = r#"error: "-4000 pps": it is negative; expected a packet rate above zero such as "2000 pps"
  --> s.toml:20:8
   |
20 | rate = "-4000 pps"
   |        ^^^^^^^^^^^
"#;
    assert_eq!(folder.dovetail(&["run", "s.toml"]).err, expected);
}

#[test]
fn overrides() {
    let folder = Folder::with_scenario();
    let refused = |set: &str, words: &[&str]| {
        folder.dovetail(&["run", "s.toml", "--set", set]).fails(2, &[words, &["--set", set]].concat());
    };
    refused("seed", &["expected key=value"]);
    refused("=3", &["expected key=value"]);
    refused("sede=3", &["unknown key `sede`", "did you mean `seed`?"]);
    refused("seed=9223372036854775808", &["from 0 to 9223372036854775807"]);
    refused("change.0.at=1 s", &["there is no [[change]] in s.toml"]);
    refused("seed=abc", &["\"abc\"", "whole number"]);
    refused("resource.lnik.rate=1 Mbps", &["no \"lnik\"", "did you mean \"link\"?"]);
    refused("resource.7.rate=1 Mbps", &["no \"7\"", "cpu, link"]);
    refused("resource.link.rat=1 Mbps", &["unknown key `rat`", "did you mean `rate`?"]);
    refused("resource.link.rate=1", &["the unit is missing"]);
    refused("resource.link.rate.x=1", &["no \"x\""]);
    refused("resource=3", &["expected a list"]);
    refused("resource.link=3", &["expected a table"]);
    refused("schedulers=fifo", &["expected a list", "write [\"fifo\"]"]);
    refused("title=3", &["expected a quoted text"]);
    refused("resource.rate=1 Mbps", &["there is no \"rate\" in the list resource; there are cpu, link"]);
    refused("flows.ipsec.count=many", &["\"many\"", "whole number"]);
    refused("class.ipsec.cost=10 us", &["expected processing times by resource, such as { cpu = \"10 us\" }"]);
    refused("class.ipsec.cost=10", &["`10`: expected processing times by resource"]);
    refused("load=120 %", &["\"120 %\": expected a number", "write 1.2 for 120 %"]);
    refused("load=high", &["\"high\": expected a number, a multiple of the capacity"]);
    refused("rate=1 Mbps", &["unknown key `rate`", "`rate` is a key of each [[resource]] and [[flows]]"]);
    refused("speed=2", &["unknown key `speed`", "did you mean `trace.speed`?"]);
}

#[test]
fn what_is_no_toml_at_all_is_told_so_and_what_was_expected() {
    let folder = Folder::new();
    folder.write("notes.md", "# The box\n\nIt is slow, [as they say](they.md).\n");
    let words = ["notes.md: it does not look like TOML: expected lines such as key = \"value\" and [section]"];
    folder.dovetail(&["run", "notes.md"]).fails(2, &[&words[..], &["the keys are title, seed, "]].concat());
    folder.dovetail(&["live", "notes.md"]).fails(2, &[&words[..], &["scheduler, ports, cpu, resource, link"]].concat());
    folder.dovetail(&["sweep", "notes.md"]).fails(2, &[&words[..], &["scenario, capture, "]].concat());
}

#[test]
fn a_network_has_no_schedule_to_print() {
    let folder = Folder::new();
    folder.write("net.toml", include_str!("../../../../scenarios/tcp.toml"));
    folder.dovetail(&["run", "net.toml", "--schedule"]).fails(2, &["--schedule is for pipelines ([[resource]])"]);
}

#[test]
fn a_text_that_is_not_in_utf_8_is_named_by_its_line() {
    let folder = crate::support::Folder::new();
    folder.write("s.toml", b"seed = 1\ntitle = \"caf\xe9\"\n");
    for command in ["run", "live"] {
        let words = ["s.toml", "line 2 is not UTF-8 text: it has the byte 0xe9", "save the file in UTF-8"];
        folder.dovetail(&[command, "s.toml"]).fails(2, &words);
    }
}
