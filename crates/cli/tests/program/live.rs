//! The live box over captures, which needs no interface.

use std::process::{Command, Stdio};

use crate::interruption::ended_by;
use crate::support::Folder;

const BOX: &str = r#"
scheduler = "drr"
[ports]
in = "pcap:in.pcap"
out = "pcap:>out/out.pcap"
[link]
rate = "100 Mbps"
[[class]]
name = "all"
cost = "1 us"
modules = ["who", "ids"]
[[module]]
name = "who"
kind = "monitor"
[[module]]
name = "ids"
kind = "match"
patterns = ["no packet has this"]
"#;

/// A folder with the box and a capture of so many packets.
fn folder(packets: &str) -> Folder {
    let folder = Folder::new();
    folder.write("box.toml", BOX);
    std::fs::create_dir(folder.path("out")).unwrap();
    folder
        .dovetail(&["trace", "synth", "in.pcap", "--packets", packets, "--flows", "10", "--duration", "1s"])
        .succeeds();
    folder
}

#[test]
fn the_report_has_what_modules_have_counted() {
    let folder = folder("500");
    let table = folder.dovetail(&["live", "box.toml"]).succeeds().out;
    assert!(table.contains("\nmodule who (monitor): bytes "), "{table}");
    assert!(table.contains(", packets 500, "), "{table}");
    assert!(table.contains("\nmodule ids (match): alerts 0, matches 0"), "{table}");
    let heavy = table.lines().filter(|line| line.contains(" B  "));
    assert!((2..=20).contains(&heavy.count()), "{table}");
    let json = folder.dovetail(&["live", "box.toml", "--json"]).succeeds().out;
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["forward"]["modules"][0]["counters"]["packets"], 500);
}

#[test]
fn a_configuration_from_standard_input_is_called_so() {
    let folder = folder("20");
    let said = folder.shell("echo 'schedular = \"fifo\"' | $dovetail live - --dry-run");
    assert!(said.code == Some(2) && said.err.contains("--> standard input:1:1"), "{said:?}");
    let said = folder.shell("$dovetail live - --set ports.in=eth0 --set ports.out=packet:eth1 < box.toml");
    assert!(said.code == Some(2) && said.err.contains("--> standard input (with --set ports.in=eth0"), "{said:?}");
    assert!(said.err.contains("KIND one of packet, xdp, tun, tap, pcap; did you mean \"packet:eth0\"?"), "{said:?}");
}

#[test]
fn a_dry_run_says_what_would_be_done_and_writes_nothing() {
    let folder = folder("20");
    let said = folder.dovetail(&["live", "box.toml", "--dry-run", "--set", "control.socket=\"box.sock\""]).succeeds();
    let expected = "pcap:in.pcap -> drr -> pcap:>out/out.pcap\ncpu: 100 % of a core\nlink: 100 Mbps\n\
        class all: who, then ids; charged 1 us\n\
        class network: ARP, neighbour discovery and what is not IP pass as they are\n";
    assert_eq!(said.out, expected);
    assert!(folder.list("out").is_empty() && !folder.path("box.sock").exists());
    let other = ["live", "box.toml", "--dry-run", "--set", "class.0.modules=[]", "--set", "cpu.budget=\"20 %\""];
    let said = folder.dovetail(&other).succeeds().out;
    assert!(
        said.contains("cpu: 20 % of a core\n") && said.contains("class all: passes as it is; charged 1 us\n"),
        "{said}"
    );
    // A class with rules leaves what matches none to a class that need not be written, and whose name is taken.
    let ruled = ["live", "box.toml", "--dry-run", "--set", "class.0.match=[{ protocol = \"udp\" }]"];
    let said = folder.dovetail(&ruled).succeeds().out;
    assert!(said.contains("class other: what matches no class passes as it is\n"), "{said}");
    let taken = [&ruled[..], &["--set", "class.0.name=\"other\""]].concat();
    folder.dovetail(&taken).fails(2, &["\"other\" is the class of what matches no class", "leave out its `match`"]);
}

#[test]
fn a_dry_run_tells_what_stands_around_the_ports() {
    let folder = folder("20");
    folder.write(
        "around.toml",
        format!(
            "{BOX}[faults]\nin = {{ drop = \"7 %\", corrupt = \"2.5 %\", delay = \"5 %\" }}\n\
             out = {{ drop = \"0 %\" }}\n\
            [record]\nout = \"out/seen.pcap\"\n[trace]\nin = \"out/in.txt\"\nout = \"out/out.txt\"\n"
        ),
    );
    let said = folder.dovetail(&["live", "around.toml", "--dry-run"]).succeeds().out;
    let expected = "\nfaults in: drop 7 %, corrupt 2.5 %, delay 5 % by 1 ms\nfaults out: none\n\
        record out: out/seen.pcap\n\
        trace in: out/in.txt\ntrace out: out/out.txt\n";
    assert!(said.ends_with(expected), "{said}");
    assert!(folder.list("out").is_empty());
    folder.dovetail(&["live", "around.toml"]).succeeds();
    assert_eq!(folder.list("out"), ["in.txt", "out.pcap", "out.txt", "seen.pcap"]);
}

#[test]
fn what_has_no_end_is_no_configuration() {
    folder("10").dovetail(&["live", "/dev/zero"]).fails(2, &["/dev/zero", "it is longer than 1 MiB"]);
}

#[test]
fn a_box_that_may_open_too_few_files_says_which_it_could_not_open() {
    let folder = folder("10");
    let within = |files: u32| folder.shell(&format!("ulimit -n {files}; exec $dovetail live box.toml"));
    let mut failures = (4..).map(within).take_while(|said| said.code != Some(0)).map(|said| said.err).peekable();
    assert!(failures.peek().is_some());
    for said in failures {
        let error = said.lines().find(|line| line.starts_with("error: ")).unwrap_or_else(|| panic!("{said}"));
        let named =
            ["box.toml", ".pcap", "signals", "the box cannot be confined"].iter().any(|name| error.contains(name));
        assert!(named && error.contains("Too many open files"), "{said}");
    }
}

#[test]
fn a_capture_without_packets_takes_no_time() {
    let folder = folder("10");
    // The header of a capture (draft-ietf-opsawg-pcap section 4): microseconds, version 2.4, frames of up to 64 KiB,
    // Ethernet.
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x1_0000, 1].map(u32::to_le_bytes).concat();
    folder.write("in.pcap", header);
    let said = folder.dovetail(&["live", "box.toml", "--set", "control.socket=box.sock"]).succeeds().out;
    assert!(said.starts_with("drr for 0") && said.contains(" 0.0 % ") && !said.contains("NaN"), "{said}");
    let told = "no frames: the port in has brought none";
    assert!(said.ends_with(&format!("\n{told}\n")), "{said}");
    let said = folder.dovetail(&["live", "box.toml", "--json"]).succeeds();
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    // The time of a box starts at 1.
    assert_eq!((report["ran_s"].as_f64(), report["forward"]["time_s"].as_f64()), (Some(0.0), Some(1.0)), "{report}");
    assert!(said.err.lines().any(|line| line == told), "{}", said.err);
}

/// Both captures outgrow what a file may be.
#[test]
fn a_box_over_captures_that_cannot_be_written_reports_and_leaves_what_could_be() {
    let folder = folder("2000");
    folder.write("box.toml", format!("{BOX}[record]\nin = \"out/in.pcap\"\n"));
    let said = folder.shell("trap '' XFSZ; ulimit -f 64; exec $dovetail live box.toml --json");
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:#?}"));
    assert_eq!(said.code, Some(1), "{}", said.err);
    for file in ["out.pcap", "in.pcap"] {
        assert!(said.err.contains(&format!("out/{file} cannot be written: ")), "{}", said.err);
    }
    let count = |value: &serde_json::Value| value.as_u64().unwrap();
    let total = &report["forward"]["total"];
    let dropped: u64 = total["dropped"].as_object().unwrap().values().map(count).sum();
    let sent = count(&report["forward"]["ports"]["out"]["sent"]) + count(&report["forward"]["outgoing"]);
    assert_eq!(count(&total["frames_in"]), sent + dropped + count(&total["held"]), "{report}");
    assert_eq!((count(&total["held"]), report["unaccounted"].as_i64()), (0, Some(0)), "{report}");
    assert!(sent > 0, "{report}");
    // What is there is whole.
    assert_eq!(folder.list("out"), ["in.pcap", "out.pcap"]);
    for file in ["out/in.pcap", "out/out.pcap"] {
        let info = folder.dovetail(&["trace", "info", file, "--json"]).succeeds().out;
        let info: serde_json::Value = serde_json::from_str(&info).unwrap();
        assert!(count(&info["packets"]) > 20 && info["damage"].is_null(), "{info}");
    }
}

/// As `dovetail live ctl rate` takes it.
#[test]
fn a_rate_may_be_unlimited() {
    let folder = folder("10");
    let dry = |rate: &str| folder.dovetail(&["live", "box.toml", "--dry-run", "--set", rate]);
    assert!(dry("link.rate=unlimited").succeeds().out.contains("link: as fast as the port takes them"));
    dry("link.rate=fast").fails(2, &["\"200 Mbps\", or \"unlimited\""]);
}

#[test]
fn a_time_to_run_is_refused_over_a_capture() {
    let folder = folder("10");
    folder.dovetail(&["live", "box.toml", "--for", "1 s"]).fails(2, &["--for is for a box that runs by the clock"]);
    assert!(folder.list("out").is_empty());
}

#[test]
fn a_folder_is_no_configuration() {
    let folder = folder("10");
    std::fs::create_dir(folder.path("boxes")).unwrap();
    folder.dovetail(&["live", "boxes"]).fails(2, &["boxes: it is a folder: expected a configuration (TOML)"]);
}

/// systemd starts a box again that ends with 1, and not one that ends with 2.
#[test]
fn what_the_machine_lacks_at_the_moment_is_no_wrong_configuration() {
    let folder = folder("10");
    let missing = ["live", "box.toml", "--set", "ports.in=packet:usb77"];
    folder.dovetail(&missing).fails(1, &["there is no interface \"usb77\"", "in = \"packet:usb77\""]);
    folder.dovetail(&[&missing[..], &["--dry-run"]].concat()).fails(2, &["there is no interface \"usb77\""]);
    let nowhere = ["live", "box.toml", "--set", "ports.out=pcap:>nowhere/out.pcap"];
    folder.dovetail(&nowhere).fails(1, &["there is no folder"]);
    for (set, words) in [
        ("scheduler=\"dr\"", "did you mean \"drr\"?"),
        ("ports.in=paket:usb77", "did you mean \"packet:usb77\"?"),
        ("ports.in=pcap:nosuch.pcap", "paths are relative to the folder of the configuration"),
        ("ports.out=pcap:>out", "it is a folder"),
        ("record.in=in.pcap", "in.pcap is the file that ports.in reads already"),
    ] {
        folder.dovetail(&["live", "box.toml", "--set", set]).fails(2, &[words]);
    }
}

#[test]
#[ignore = "needs root"]
fn a_box_whose_state_cannot_be_kept_at_the_moment_may_be_started_again() {
    let folder = Folder::new();
    let tunnel = "[[module]]\nname = \"tunnel\"\nkind = \"esp\"\ntransform = \"aes128-gcm\"\nspi = 4096\n\
        src = \"192.0.2.1\"\ndst = \"192.0.2.2\"\nkey = \"000102030405060708090a0b0c0d0e0f10111213\"\n";
    let text = "scheduler = \"fifo\"\nports = { in = \"tun:a\", out = \"tun:b\" }\nstate = { folder = \"late\" }\n";
    let class = "class = [{ name = \"all\", modules = [\"tunnel\"] }]\n";
    folder.write("box.toml", format!("{text}{class}{tunnel}"));
    let start = "unshare -n $dovetail live box.toml";
    let why = ["late: No such file or directory", "folder = \"late\""];
    folder.shell(start).fails(1, &[&["the state of module \"tunnel\": "], &why[..]].concat());
    // Without a tunnel, too: a reload may bring one, and no other folder.
    folder.write("box.toml", text);
    folder.shell(&format!("{start} --for '10 ms'")).fails(1, &[&["the state cannot be kept in "], &why[..]].concat());
}

#[test]
#[ignore = "needs root"]
fn a_box_that_the_system_grants_no_thread_says_so() {
    let folder = Folder::new();
    folder.write("box.toml", "scheduler = \"fifo\"\nports = { in = \"tun:a\", out = \"tun:b\" }\n");
    let start = |kilobytes: u32| {
        let limited = format!("ulimit -v {kilobytes}; exec unshare -n $dovetail live box.toml --log off --for '1 ms'");
        folder.shell(&limited)
    };
    // Somewhere between what the program takes and what a box takes; a thread's stack has 2 MiB.
    let mut all = (20_000..60_000).step_by(1000).map(start);
    let said = all.find(|said| said.code == Some(1) && said.err.contains("(os error"));
    said.expect("threads are the last to be refused").fails(1, &["a thread cannot be started: "]);
}

/// A reload would otherwise end the box that runs.
#[test]
fn a_module_that_the_system_grants_no_memory_is_refused_where_its_size_stands() {
    let folder = folder("10");
    for kind in ["re", "re-decode"] {
        let module = format!("[[module]]\nname = \"large\"\nkind = \"{kind}\"\npackets = 65536\n");
        folder.write("large.toml", format!("{BOX}{module}"));
        let said = folder.shell("ulimit -v 150000; $dovetail live large.toml --dry-run");
        said.fails(2, &["module \"large\": `packets`: the system grants no memory for so many", "packets = 65536"]);
        folder.dovetail(&["live", "large.toml", "--dry-run"]).succeeds();
    }
}

#[test]
fn a_box_over_captures_that_loses_its_terminal_ends_and_leaves_nothing() {
    let folder = folder("300000");
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec env --default-signal=HUP \"$dovetail\" live box.toml"]).current_dir(folder.path("."));
    shell.env("dovetail", env!("CARGO_BIN_EXE_dovetail")).stdin(Stdio::null());
    let said = ended_by("HUP", shell, || !folder.list("out").is_empty());
    assert_eq!(said.code, Some(130), "{said:#?}");
    assert!(said.err.ends_with("error: interrupted; nothing was written\n"), "{}", said.err);
    assert!(folder.list("out").is_empty());
}
