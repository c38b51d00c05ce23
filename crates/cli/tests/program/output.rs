//! Results appear whole or not at all.

use crate::support::{Folder, SCENARIO};

#[test]
fn a_full_disk_leaves_nothing() {
    // No file may grow beyond 2 or 4 KiB, by the shell's unit; the packets' table is larger.
    let run = "trap '' XFSZ; ulimit -f 4; exec $dovetail run s.toml --out";
    let folder = Folder::with_scenario();
    folder.shell(&format!("{run} new/out")).fails(1, &["cannot write", "new/out/", "too large"]);
    assert_eq!(folder.list("."), ["s.toml"], "folders that were made for it are gone again");

    std::fs::create_dir(folder.path("old")).unwrap();
    folder.write("old/summary.json", "from yesterday");
    folder.shell(&format!("{run} old")).fails(1, &["cannot write", "old/"]);
    assert_eq!(folder.list("old"), ["summary.json"]);
    assert_eq!(std::fs::read_to_string(folder.path("old/summary.json")).unwrap(), "from yesterday");
}

#[test]
fn where_no_file_can_be_opened_the_reason_is_told() {
    let folder = Folder::with_scenario();
    for command in ["run s.toml --out out", "run s.toml --json --page p.html"] {
        folder.shell(&format!("ulimit -n 4; exec $dovetail {command}")).fails(2, &["Too many open files"]);
    }
}

#[test]
fn a_full_disk_leaves_no_capture() {
    let folder = Folder::new();
    folder.shell("trap '' XFSZ; ulimit -f 4; exec $dovetail trace synth t.pcap").fails(1, &["cannot write", "t.pcap"]);
    assert!(folder.list(".").is_empty());
}

#[test]
fn a_folder_of_results_is_no_standard_output() {
    let folder = Folder::with_scenario();
    folder.write("plan.toml", "scenario = \"s.toml\"\n[grid]\nseed = [1, 2]\n");
    let commands: [&[&str]; 4] = [
        &["run", "s.toml", "--out", "-"],
        &["sweep", "plan.toml", "--out", "-"],
        &["reproduce", "tradeoff-fig1", "--out", "-"],
        &["man", "-"],
    ];
    for command in commands {
        folder.dovetail(command).fails(2, &["invalid value '-'", "did you mean \"./-\"?"]);
        assert_eq!(folder.list("."), ["plan.toml", "s.toml"], "{command:?}");
    }
    folder.dovetail(&["man", "./-"]).succeeds();
    assert!(folder.list("-").contains(&"dovetail.1".to_string()));
}

#[test]
fn a_capture_replaces_files_only() {
    let folder = Folder::new();
    folder.shell("mkfifo pipe && mkdir folder && echo old > t.pcap").succeeds();
    let synth = |name: &str| folder.dovetail(&["trace", "synth", name, "--packets", "50", "--flows", "5"]);
    for name in ["pipe", "folder"] {
        synth(name).fails(2, &[&format!("cannot write {name}: it is not an ordinary file")]);
    }
    folder.shell("ln -s t.pcap link && ln -s nowhere broken").succeeds();
    for link in ["link", "broken"] {
        synth(link).fails(2, &[&format!("cannot write {link}: it is a link")]);
    }
    folder.shell("rm link broken").succeeds();
    for no_file in ["t/", "t/.", "./"] {
        synth(no_file).fails(2, &[&format!("cannot write {no_file}: it names no file")]);
    }
    let odd = folder.shell("$dovetail trace synth $(printf 'a\\377.pcap')");
    odd.fails(2, &["its name is not UTF-8"]);
    synth("..").fails(2, &["cannot write ..: it names no file"]);
    synth("new/t.pcap").fails(2, &["cannot write new/t.pcap: there is no folder new"]);
    synth("t.pcap/t.pcap").fails(2, &["cannot write t.pcap/t.pcap: there is no folder t.pcap"]);
    assert_eq!(folder.list("."), ["folder", "pipe", "t.pcap"]);
    synth("t.pcap").fails(2, &["t.pcap is there already; --force replaces it"]);
    folder.dovetail(&["trace", "synth", "t.pcap", "--packets", "50", "--flows", "5", "--force"]).succeeds();
    folder.shell("$dovetail trace synth - --packets 50 --flows 5 > piped.pcap").succeeds();
    let read = |name| std::fs::read(folder.path(name)).unwrap();
    assert!(read("piped.pcap") == read("t.pcap"), "- is standard output");
    // To make it once more is no mistake, if it is the same to the last byte.
    let said = synth("t.pcap").succeeds().err;
    assert!(said.contains("t.pcap is there already, with these 50 packets"), "{said}");
    let seed = ["trace", "synth", "t.pcap", "--packets", "50", "--flows", "5", "--seed", "2"];
    folder.dovetail(&seed).fails(2, &["t.pcap is there already; --force replaces it"]);
    for change in ["head -c -1 t.pcap > s && mv s t.pcap", "cp piped.pcap t.pcap && echo >> t.pcap"] {
        folder.shell(change).succeeds();
        synth("t.pcap").fails(2, &["t.pcap is there already; --force replaces it"]);
    }
}

#[test]
fn a_capture_that_was_made_is_told_of() {
    let folder = Folder::new();
    let said = folder.dovetail(&["trace", "synth", "t.pcap", "--packets", "50", "--flows", "5"]).succeeds();
    assert_eq!(said.err, "wrote t.pcap: 50 packets of 5 flows\n");
    let one = folder.dovetail(&["trace", "synth", "one.pcap", "--packets", "1", "--flows", "1"]).succeeds();
    assert_eq!(one.err, "wrote one.pcap: 1 packet of 1 flow\n");
    let info = folder.dovetail(&["trace", "info", "t.pcap", "--json"]).succeeds().out;
    for word in ["\"packets\": 50,", "\"flows\": 5,"] {
        assert!(info.contains(word), "{word} is missing in:\n{info}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_found_before_the_run() {
    let folder = Folder::new();
    // Years of work, were it begun.
    folder.write("s.toml", SCENARIO.replace("50 ms", "20 min").replace("10 ms", "1 min"));
    std::fs::create_dir_all(folder.path("taken/latency.svg")).unwrap();
    let refused = |out: &str, words: &[&str]| folder.dovetail(&["run", "s.toml", "--out", out]).fails(2, words);
    refused("s.toml", &["s.toml", "not a directory"]);
    refused("s.toml/deeper", &["s.toml/deeper"]);
    refused("/proc/nowhere", &["/proc/nowhere"]);
    refused("/proc", &["cannot write into the output directory /proc"]);
    refused("taken", &["taken/latency.svg", "not an ordinary file"]);
    // The hidden folder that could not be made has a name that says nothing.
    let reason = "the folder /proc takes no files: No such file or directory (os error 2)\n";
    folder.dovetail(&["trace", "synth", "/proc/t.pcap"]).fails(2, &["/proc/t.pcap", reason]);
    folder.dovetail(&["reproduce", "tradeoff-fig1", "--out", "s.toml"]).fails(2, &["s.toml", "not a directory"]);
    folder.dovetail(&["man", "s.toml"]).fails(2, &["s.toml", "not a directory"]);
    for name in ["checks.json", "tradeoff-fig5b.svg"] {
        std::fs::create_dir_all(folder.path(&format!("taken/{name}"))).unwrap();
        let wanted = ["reproduce", "tradeoff-fig5", "--out", "taken"];
        folder.dovetail(&wanted).fails(2, &[&format!("taken/{name}"), "not an ordinary file"]);
        std::fs::remove_dir(folder.path(&format!("taken/{name}"))).unwrap();
    }
    std::fs::create_dir_all(folder.path("pages/dovetail-run.1")).unwrap();
    folder.dovetail(&["man", "pages"]).fails(2, &["pages/dovetail-run.1", "not an ordinary file"]);
    assert_eq!(folder.list("pages"), ["dovetail-run.1"]);
    std::fs::remove_dir_all(folder.path("pages")).unwrap();
    assert_eq!(folder.list("."), ["s.toml", "taken"]);
    assert_eq!(folder.list("taken"), ["latency.svg"]);
}

/// With 60 packets in many intervals, so that every file is written.
fn small() -> String {
    SCENARIO.replace("50 ms", "5 ms").replace("10 ms", "100 us")
}

#[test]
fn what_is_read_is_never_replaced() {
    let folder = Folder::new();
    folder.write("s.toml", small());
    folder.dovetail(&["run", "s.toml", "--out", "out"]).succeeds();
    let results = folder.list("out");
    assert_eq!(results.len(), 12, "{results:?}");
    for name in &results {
        folder.write(&format!("out/{name}"), small());
        let scenario = format!("out/{name}");
        for run in [&["run", &scenario, "--out", "out"][..], &["run", &scenario, "--out", "./out/../out"]] {
            folder.dovetail(run).fails(2, &["cannot replace", name, "it is read, and a result has its name"]);
        }
        folder.shell(&format!("$dovetail run - --out out < {scenario}")).fails(2, &["cannot replace", name]);
        assert_eq!(std::fs::read_to_string(folder.path(&scenario)).unwrap(), small(), "{name}");
    }
    assert_eq!(folder.list("out"), results, "nothing is added");
    // A file of another name may stand there.
    folder.write("out/s.toml", small());
    folder.dovetail(&["run", "out/s.toml", "--out", "out"]).succeeds();
}

#[test]
fn a_capture_that_is_replayed_is_never_replaced() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("out")).unwrap();
    folder.dovetail(&["trace", "synth", "out/gini.svg", "--packets", "50", "--flows", "5"]).succeeds();
    let before = std::fs::read(folder.path("out/gini.svg")).unwrap();
    let head = &SCENARIO[..SCENARIO.find("[[flows]]").unwrap()];
    folder.write("s.toml", format!("{head}[trace]\nfile = \"out/gini.svg\"\n"));
    for input in ["s.toml", "out/gini.svg"] {
        folder.dovetail(&["run", input, "--out", "out"]).fails(2, &["cannot replace out/gini.svg: it is read"]);
    }
    assert!(std::fs::read(folder.path("out/gini.svg")).unwrap() == before);
    assert_eq!(folder.list("out"), ["gini.svg"]);

    std::fs::rename(folder.path("out/gini.svg"), folder.path("out/tradeoff-fig1.svg")).unwrap();
    let fig1 = ["reproduce", "tradeoff-fig1", "--trace", "out/tradeoff-fig1.svg", "--out", "out"];
    folder.dovetail(&fig1).fails(2, &["cannot replace out/tradeoff-fig1.svg: it is read"]);
    assert!(std::fs::read(folder.path("out/tradeoff-fig1.svg")).unwrap() == before);
}

#[test]
fn standard_output_that_is_full() {
    let folder = Folder::with_scenario();
    folder.shell("$dovetail run s.toml > /dev/full").fails(1, &["standard output", "No space left"]);
    folder.shell("$dovetail run s.toml >&-").fails(1, &["standard output", "closed"]);
    folder.shell("$dovetail schedulers > /dev/full").fails(1, &["standard output"]);
    for command in ["--help", "run --help", "--version", "trace synth -"] {
        folder.shell(&format!("$dovetail {command} > /dev/full")).fails(1, &["standard output", "No space left"]);
        folder.shell(&format!("$dovetail {command} >&-")).fails(1, &["standard output", "closed"]);
    }
}

#[test]
fn everything_asked_for_is_there() {
    let folder = Folder::with_scenario();
    let said = folder.dovetail(&["run", "s.toml", "--out", "out"]).succeeds();
    let names = folder.list("out");
    for name in &names {
        assert!(said.err.contains(&format!("wrote out/{name}\n")), "{name}: {}", said.err);
        assert!(!name.starts_with('.'), "{name}");
    }
    assert!(names.contains(&"summary.json".to_string()), "{names:?}");
    for ending in [".svg", ".parquet"] {
        assert!(names.iter().any(|n| n.ends_with(ending)), "{names:?}");
    }
    let printed = folder.dovetail(&["run", "s.toml", "--json"]).succeeds().out;
    assert_eq!(std::fs::read_to_string(folder.path("out/summary.json")).unwrap().trim(), printed.trim());
}

#[test]
fn a_reproduction_tells_its_claims_and_the_rest_if_asked() {
    let folder = Folder::new();
    let said = folder.dovetail(&["reproduce", "tradeoff-fig1"]).succeeds();
    let line = said.out.lines().find(|line| line.starts_with("tradeoff-fig1")).unwrap();
    assert!(line.split_whitespace().rev().take(4).eq(["0", "0", "7", "7"]), "{}", said.out);
    assert!(said.out.contains("7 reproduced, 0 differ"), "{}", said.out);
    assert!(!said.out.contains("Explanations:"), "{}", said.out);
    assert_eq!(said.err, "tradeoff-fig1: 7 reproduced, 0 differ\n", "a line per figure where there is no terminal");
    let all = folder.dovetail(&["reproduce", "tradeoff-fig1", "--all"]).succeeds().out;
    assert!(all.contains("Claims:") && all.contains("Explanations:"), "{all}");
    folder.dovetail(&["reproduce", "tradeoff-fig1", "--load", "0"]).fails(2, &["--load", "from 0.01 to 100"]);
}

/// The makespan of a run that `until` cut off is no time at which everything is done.
#[test]
fn a_run_that_is_cut_off_is_not_drawn_as_done() {
    let folder = Folder::with_scenario();
    let drawn = |end: &str| {
        folder.write("cut.toml", format!("{end}\n{SCENARIO}"));
        folder.dovetail(&["run", "cut.toml", "--out", "out"]).succeeds();
        std::fs::read_to_string(folder.path("out/overview.svg")).unwrap()
    };
    assert!(drawn("").contains("all done after"));
    let cut_off = drawn("until = \"20 ms\"");
    assert!(!cut_off.contains("all done after"));
    assert!(cut_off.contains("link used"));
}
