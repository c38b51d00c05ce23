//! A file that is not a capture: exit code 2 and what it is instead. A capture with nothing or damage in it: exit code
//! 0.

use crate::support::{Folder, SCENARIO};

/// The file header of a pcap capture: microseconds, little endian, Ethernet.
const HEADER: [u8; 24] = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0];

/// A capture of this link type with packets of 60 zero bytes at these seconds.
fn recorded(link: u8, seconds: &[u32]) -> Vec<u8> {
    let mut capture = HEADER.to_vec();
    capture[20] = link;
    for second in seconds {
        for word in [*second, 0, 60, 60] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend([0; 60]);
    }
    capture
}

/// Neither `run` nor `trace info` takes this for a capture.
#[track_caller]
fn no_capture(name: &str, contents: &[u8], words: &[&str]) {
    let folder = Folder::new();
    folder.write(name, contents);
    folder.dovetail(&["trace", "info", name]).fails(2, &[words, &[name]].concat());
    folder.dovetail(&["run", name, "--out", "out"]).fails(2, &[words, &[name]].concat());
    assert_eq!(folder.list("."), [name], "nothing is written");
}

#[test]
fn files_that_are_no_capture() {
    no_capture("empty.pcap", b"", &["is empty (0 bytes)", "pcap or pcapng"]);
    no_capture("half.pcap", &HEADER[..10], &["ends within its file header"]);
    no_capture("text.pcap", SCENARIO.as_bytes(), &["looks like text", "pcap or pcapng"]);
    no_capture("magic.pcap", &[1, 2, 3, 4, 5, 6, 7, 8, 9], &["01 02 03 04", "pcap or pcapng"]);
    no_capture("noise.bin", &[0xfe, 0xed, 0xfa, 0xce, 0, 1, 2, 3], &["fe ed fa ce", "pcap or pcapng"]);
    no_capture("packed.pcap", b"\x28\xb5\x2f\xfd\0\0\0\0", &["zstd", "unpack it first"]);
}

#[test]
fn a_capture_without_packets_is_one() {
    let folder = Folder::new();
    folder.write("header.pcap", HEADER);
    let said = folder.dovetail(&["run", "header.pcap", "--json"]).succeeds();
    assert!(said.err.contains("warning: the capture holds no packets"), "{}", said.err);
    assert!(said.out.contains("\"records\": 0"), "{}", said.out);
    folder.dovetail(&["trace", "info", "header.pcap"]).succeeds();
}

#[test]
fn a_damaged_capture_yields_what_can_be_read() {
    let folder = Folder::new();
    folder.dovetail(&["trace", "synth", "t.pcap", "--packets", "200", "--flows", "20"]).succeeds();
    let whole = std::fs::read(folder.path("t.pcap")).unwrap();
    folder.write("cut.pcap", &whole[..whole.len() - 7]);
    for command in [&["trace", "info", "cut.pcap", "--json"][..], &["run", "cut.pcap", "--json"]] {
        let said = folder.dovetail(command).succeeds();
        assert!(said.err.contains("warning: "), "{}", said.err);
        let packets = if command[0] == "run" { "\"records\": 199" } else { "\"packets\": 199" };
        assert!(said.out.contains(packets), "{}", said.out);
    }
}

#[test]
fn the_page_of_a_run_says_what_was_wrong_with_the_capture_and_what_was_left_out() {
    let folder = Folder::new();
    let whole = recorded(1, &[10, 9, 10, 30, 30]);
    folder.write("cut.pcap", &whole[..whole.len() - 7]);
    folder.dovetail(&["run", "cut.pcap", "--out", "out", "--page", "at-once.html"]).succeeds();
    folder.dovetail(&["report", "out", "--out", "later.html"]).succeeds();
    for page in ["at-once.html", "later.html"] {
        let page = std::fs::read_to_string(folder.path(page)).unwrap();
        for words in [
            "4 packets (4 without a flow), ",
            "pauses shortened, which leaves out 19.00 s",
            "warning: 1 unreadable place, 69 bytes skipped; first at byte 328",
            "warning: 1 packet has an earlier time stamp than the packet before it; it arrives with that one",
        ] {
            assert!(page.contains(words), "{words:?} is missing");
        }
    }
    folder.write("whole.pcap", recorded(1, &[10, 10]));
    folder.dovetail(&["run", "whole.pcap", "--page", "whole.html"]).succeeds();
    let page = std::fs::read_to_string(folder.path("whole.html")).unwrap();
    assert!(page.contains(">2 packets (2 without a flow), as fast as recorded<"), "nothing was wrong or left out");
}

#[test]
fn that_no_speed_spreads_packets_of_one_time_is_told() {
    let folder = Folder::new();
    folder.write("many.pcap", recorded(1, &[10, 10]));
    folder.write("one.pcap", recorded(1, &[10]));
    let told = |capture: &str| folder.dovetail(&["run", capture]).succeeds().err.replace("\n  ", " ");
    let all = "as fast as recorded, where all packets arrive at once, whatever the load";
    assert!(told("many.pcap").contains(all), "{}", told("many.pcap"));
    assert!(told("one.pcap").contains("replayed as fast as recorded\n"), "{}", told("one.pcap"));
}

#[test]
fn that_a_gzip_file_is_cut_off_is_told_in_text_json_and_page() {
    let folder = Folder::new();
    folder.dovetail(&["trace", "synth", "t.pcap", "--packets", "2000", "--flows", "20"]).succeeds();
    folder.shell("gzip -c t.pcap | head -c 3000 > cut.pcap.gz").succeeds();
    let told = "the gzip data cannot be unpacked further: it ends early";
    for command in ["trace info cut.pcap.gz", "run cut.pcap.gz -s fifo --page run.html"] {
        let said = folder.shell(&format!("$dovetail {command} --json")).succeeds();
        assert!(said.err.replace("\n  ", " ").contains(told), "{}", said.err);
        let json: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        let damage = json.pointer("/scenario/capture/damage").unwrap_or(&json["damage"]);
        assert!(damage.as_str().is_some_and(|damage| damage.ends_with(told)), "{damage}");
    }
    assert!(std::fs::read_to_string(folder.path("run.html")).unwrap().contains(told));
}

#[test]
fn one_is_told_in_the_singular() {
    let folder = Folder::with_scenario();
    folder.write("t.pcap", recorded(1, &[10, 9]));
    let said = folder.dovetail(&["run", "t.pcap"]).succeeds();
    let earlier = "1 packet has an earlier time stamp than the packet before it";
    assert!(said.err.contains(&format!("warning: {earlier}; it arrives with that one")), "{}", said.err);
    assert!(folder.dovetail(&["trace", "info", "t.pcap"]).succeeds().out.contains(earlier));
    folder.write("t.pcap", recorded(1, &[10]));
    let said = folder.dovetail(&["trace", "info", "t.pcap"]).succeeds();
    assert!(said.out.contains("links      Ethernet (1 packet)\n"), "{}", said.out);
    let cut_off = folder.dovetail(&["run", "s.toml", "-s", "fifo", "--set", "flows.0.count=1", "--set", "until=1 us"]);
    assert!(cut_off.succeeds().out.contains("cut off with 1 packet still in the box"));
}

#[test]
fn packets_of_a_link_type_that_is_not_read_are_told() {
    let folder = Folder::new();
    folder.write("radio.pcap", recorded(127, &[10, 11]));
    for command in [&["run", "radio.pcap"][..], &["advise", "radio.pcap"]] {
        let told = "warning: 2 packets have a link type that is not read, so they have no flow (dovetail trace info";
        let said = folder.dovetail(command).succeeds().err.replace("\n  ", " ");
        assert!(said.contains(told), "{said}");
    }
    folder.write("arp.pcap", recorded(1, &[10, 11]));
    let said = folder.dovetail(&["run", "arp.pcap"]).succeeds().err;
    assert!(!said.contains("link type"), "that of Ethernet is read: {said}");
}

#[test]
fn a_missing_file_gets_the_nearest_name() {
    let folder = Folder::with_scenario();
    folder.write("monday.pcap", HEADER);
    folder.dovetail(&["run", "mondy.pcap"]).fails(2, &["mondy.pcap", "No such file", "did you mean \"monday.pcap\"?"]);
    folder.dovetail(&["run", "nowhere/at/all.toml"]).fails(2, &["nowhere/at/all.toml", "No such file"]);
    let near = &["mondy.pcap", "No such file", "did you mean \"monday.pcap\"?"];
    folder.dovetail(&["trace", "info", "mondy.pcap"]).fails(2, near);
    folder.dovetail(&["reproduce", "tradeoff-fig1", "--trace", "mondy.pcap"]).fails(2, near);
    let replay = SCENARIO.find("[[flows]]").map(|end| format!("{}[trace]\nfile = \"mondy.pcap\"\n", &SCENARIO[..end]));
    folder.write("replay.toml", replay.unwrap());
    folder.dovetail(&["run", "replay.toml"]).fails(2, &["replay.toml:17:8", near[0], near[1], near[2]]);
}

#[test]
fn what_cannot_be_read() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.dovetail(&["run", "folder"]).fails(2, &["folder", "it is a folder", "scenario (TOML)"]);
    folder.dovetail(&["trace", "info", "folder"]).fails(2, &["folder", "is a folder"]);
    // Nobody may read this one, whoever runs the test.
    folder.dovetail(&["run", "/proc/self/mem"]).fails(2, &["/proc/self/mem", "cannot be read"]);
}

#[test]
fn standard_input_and_pipes() {
    let folder = Folder::with_scenario();
    folder.dovetail(&["trace", "synth", "t.pcap", "--packets", "200", "--flows", "20"]).succeeds();
    let from_file = folder.dovetail(&["run", "t.pcap", "--json"]).succeeds().out;
    let unnamed = |text: &str| text.lines().filter(|l| !l.contains("\"name\"") && !l.contains("\"title\"")).count();
    for way in ["$dovetail run - --json < t.pcap", "cat t.pcap | $dovetail run /dev/stdin --json"] {
        let from_pipe = folder.shell(way).succeeds().out;
        assert_eq!(unnamed(&from_pipe), unnamed(&from_file), "{way}");
    }
    folder.shell("cat s.toml | $dovetail run - --json").succeeds();
    folder.shell("$dovetail run - < /dev/null").fails(2, &["standard input: it is empty", "pcap or pcapng"]);
    folder.shell("cat t.pcap | $dovetail trace info -").succeeds();
    folder.shell("gzip -c t.pcap | $dovetail trace info - --json").succeeds();
    let cut = folder.shell("head -c 1000 t.pcap | $dovetail trace info -").succeeds();
    assert!(cut.err.starts_with("warning: standard input: 1 unreadable place"), "{}", cut.err);
}

#[test]
fn rules_that_leave_a_flow_without_class() {
    let folder = Folder::new();
    folder.dovetail(&["trace", "synth", "t.pcap", "--packets", "200", "--flows", "20"]).succeeds();
    let head = &SCENARIO[..SCENARIO.find("[[flows]]").unwrap()].trim_end();
    let scenario = |rule: &str| format!("{head}\nmatch = [{rule}]\n[trace]\nfile = \"t.pcap\"\n");
    folder.write("s.toml", scenario("{ port = 7 }"));
    folder.dovetail(&["run", "s.toml"]).fails(2, &["s.toml:16:1", "has no class", "add class = \"...\""]);
    folder.write("s.toml", scenario(""));
    folder.dovetail(&["run", "s.toml"]).fails(2, &["s.toml:15:9", "there is no rule"]);
    folder.write("s.toml", scenario("{ protocol = \"upd\" }"));
    folder.dovetail(&["run", "s.toml"]).fails(2, &["s.toml:15:23", "\"upd\"", "did you mean \"udp\"?"]);
    folder.write("s.toml", scenario("{ port = 99999 }"));
    folder.dovetail(&["run", "s.toml"]).fails(2, &["s.toml:15:19", "99999", "expected a port"]);
    folder.write("s.toml", scenario("{ dscp = \"ff\" }"));
    folder.dovetail(&["run", "s.toml"]).fails(2, &["s.toml:15:19", "\"ff\"", "\"ef\""]);
}

#[test]
fn a_profile_says_what_a_capture_alone_went_through() {
    let folder = Folder::with_scenario();
    folder.dovetail(&["trace", "synth", "t.pcap", "--packets", "200", "--flows", "20"]).succeeds();
    let default = folder.dovetail(&["run", "t.pcap"]).succeeds();
    assert!(default.err.contains("profile firewall-ids (the default): one CPU and"), "{}", default.err);
    let gateway = folder.dovetail(&["run", "t.pcap", "--profile", "vpn-gateway", "--json"]).succeeds();
    assert!(gateway.err.contains("profile vpn-gateway: "), "{}", gateway.err);
    assert!(gateway.out.contains("\"profile\": \"vpn-gateway\""), "{}", gateway.out);
    folder.dovetail(&["run", "t.pcap", "--set", "trace.speed=1"]).succeeds();
    let near = &["--profile vpn-gatway", "did you mean \"vpn-gateway\"?"];
    folder.dovetail(&["run", "t.pcap", "--profile", "vpn-gatway"]).fails(2, near);
    folder.dovetail(&["run", "s.toml", "--profile", "router"]).fails(2, &["s.toml", "it is a scenario"]);
    folder.dovetail(&["run", "t.pcap", "--profile", "s.toml"]).fails(2, &["s.toml", "a profile has a [trace]"]);
    let own = format!("{}\n[trace]\nload = 2\n", &SCENARIO[..SCENARIO.find("[[flows]]").unwrap()]);
    folder.write("own.toml", own);
    let untitled = folder.dovetail(&["run", "t.pcap", "--profile", "own.toml"]).succeeds();
    assert_eq!(untitled.err.lines().next(), Some("profile own.toml"), "it has no title");
    folder.dovetail(&["run", "own.toml"]).fails(2, &["own.toml:17:1", "no capture to replay", "--profile own.toml"]);
    folder.dovetail(&["bounds", "t.pcap", "--profile", "router"]).succeeds();
}
