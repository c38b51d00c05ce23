//! A running box is talked to by `live ctl` and looked at by `top`. The box runs in a network namespace of its own,
//! which needs root.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dovetail_dataplane::control::{Bound, Desk};

use nix::fcntl::OFlag;

use crate::interruption::wait_for;
use crate::support::{Folder, Said};

const BOX: &str = r#"
scheduler = "tradeoff:alpha=0.85"
[ports]
in = "packet:left"
out = "packet:right"
[link]
rate = "64 Mbps"
[control]
socket = "run/box.sock"
[[class]]
name = "dear"
match = [{ protocol = "udp", dport = "5000-5999" }]
[[class]]
name = "cheap"
"#;

/// Two interfaces that are each other's cable, over which the kernel sends nothing of itself: what it sent would go
/// round for ever.
const NAMESPACE: &str = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 && ip link add left type veth peer name \
    right && ip link set left up && ip link set right up";

/// The box of `box.toml`, in a namespace with two interfaces that are each other's cable.
fn start(folder: &Folder) -> Child {
    start_after(folder, "true")
}

/// The same after a script.
fn start_after(folder: &Folder, script: &str) -> Child {
    let script = format!("{NAMESPACE} && {script} && exec \"$dovetail\" live box.toml");
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-c", &script]).env("dovetail", env!("CARGO_BIN_EXE_dovetail"));
    command.current_dir(folder.path(".")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Wait until the box listens, looking every 10 ms.
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn listens(folder: &Folder, running: &mut Child) -> bool {
    (0..3000).any(|_| {
        let there = folder.path("run/box.sock").exists();
        if !there && running.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        there
    })
}

fn hang_up(running: &Child) {
    Command::new("kill").args(["-HUP", &running.id().to_string()]).status().unwrap();
}

fn ctl(folder: &Folder, arguments: &[&str]) -> Said {
    folder.dovetail(&[&["live", "ctl", "--socket", "run/box.sock"], arguments].concat())
}

#[test]
#[ignore = "needs root"]
fn a_box_is_watched_changed_and_stopped() {
    let folder = Folder::new();
    folder.write("box.toml", BOX);
    let mut running = start(&folder);
    if !listens(&folder, &mut running) {
        let _ = running.kill();
        panic!("{:#?}", Said::from(running.wait_with_output().unwrap()));
    }
    let done = |arguments: &[&str]| ctl(&folder, arguments).succeeds().out;
    assert_eq!(done(&["set", "alpha=0.5"]), "alpha=0.5\n");
    assert_eq!(done(&["weight", "dear=2"]), "weight of dear=2\n");
    assert_eq!(done(&["alpha", "cheap=0.7"]), "alpha of cheap=0.7\n");
    assert_eq!(done(&["queue", "dear=5 packets, 9 kB"]), "queue of dear=5 packets, 9 kB\n");
    assert_eq!(done(&["budget", "20 %"]), "budget=20 %\n");
    assert_eq!(done(&["rate", "10 Mbps"]), "rate=10 Mbps\n");
    ctl(&folder, &["set", "alhpa=1"]).fails(2, &["did you mean \"alpha\"?"]);
    ctl(&folder, &["weight", "daer=2"]).fails(2, &["there is no class \"daer\"", "did you mean \"dear\"?"]);
    ctl(&folder, &["budget", "0 %"]).fails(2, &["above 0"]);

    let snapshot: serde_json::Value = serde_json::from_str(&done(&["show", "--json"])).unwrap();
    assert_eq!(snapshot["scheduler"], "tradeoff:alpha=0.5");
    assert_eq!(snapshot["classes"][0]["weight"], 2.0);
    assert_eq!(snapshot["resources"]["cpu"]["capacity"], 0.2);
    assert_eq!(snapshot["resources"]["link"]["capacity"], 1e7);
    let table = done(&["show"]);
    assert!(table.starts_with("tradeoff:alpha=0.5 for") && table.contains("cheap"), "{table}");

    let lines = done(&["watch", "--count", "3", "--every", "100 ms"]);
    let times: Vec<f64> = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["time_s"].as_f64().unwrap())
        .collect();
    assert!(times.len() == 3 && times.is_sorted(), "{times:?}");

    let screen = folder.dovetail(&["top", "--once", "--every", "100 ms", "--socket", "run/box.sock"]).succeeds().out;
    for words in ["tradeoff:alpha=0.5", "neither CPU-bound nor link-bound", "of 20 % of a core", "dear"] {
        assert!(screen.contains(words), "{words:?} is missing in\n{screen}");
    }

    folder.write("box.toml", BOX.replace("alpha=0.85", "alpha=0.7").replace("cheap", "rest"));
    assert_eq!(done(&["reload"]), "box.toml is in force\n");
    assert!(done(&["show"]).contains("rest"));
    folder.write("box.toml", BOX.replace("packet:right", "packet:lo"));
    ctl(&folder, &["reload"]).fails(2, &["out = \"packet:right\"", "nothing has changed in the running box"]);
    folder.write("box.toml", BOX.replace("alpha=0.85", "alpha=0.6"));
    hang_up(&running);
    let is = |alpha: &str| done(&["show"]).starts_with(&format!("tradeoff:alpha={alpha} "));
    assert!((0..500).any(|_| is("0.6")), "it has not heard of it");
    folder.write("box.toml", BOX.replace("alpha=0.85", "alpha=6"));
    hang_up(&running);
    assert!((0..20).all(|_| is("0.6")));

    folder.write("box.toml", BOX);
    let second = Said::from(start(&folder).wait_with_output().unwrap());
    second.fails(1, &["control socket run/box.sock: another box listens there"]);

    done(&["stop"]);
    let ended = Said::from(running.wait_with_output().unwrap()).succeeds();
    assert!(ended.out.contains("tradeoff:alpha=0.6"), "{}", ended.out);
    for words in ["box.toml is in force", "alpha=6: expected", "nothing has changed in the running box"] {
        assert!(ended.err.contains(words), "{words:?} is missing in\n{}", ended.err);
    }
    assert!(!folder.path("run/box.sock").exists());
    ctl(&folder, &["show"]).fails(1, &["no box answers at run/box.sock", "--socket PATH"]);
}

/// The configuration is a pipe, so that the box has begun and waits for it; the file that is read again has taken its
/// place by then.
#[test]
#[ignore = "needs root"]
fn a_hang_up_before_the_configuration_was_read_is_a_reload() {
    let folder = Folder::new();
    let path = folder.path("box.toml");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut running = start(&folder);
    let mut pipe = None;
    wait_for(|| {
        // There is an error while nobody reads.
        pipe = File::options().write(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(&path).ok();
        pipe.is_some() || running.try_wait().unwrap().is_some()
    });
    folder.write("new.toml", BOX.replace("alpha=0.85", "alpha=0.6"));
    std::fs::rename(folder.path("new.toml"), &path).unwrap();
    hang_up(&running);
    let mut pipe = pipe.unwrap_or_else(|| panic!("it has not begun"));
    pipe.write_all(BOX.as_bytes()).unwrap();
    drop(pipe);
    assert!(listens(&folder, &mut running), "{:#?}", Said::from(running.wait_with_output().unwrap()));
    let is_in_force = || ctl(&folder, &["show"]).succeeds().out.starts_with("tradeoff:alpha=0.6 ");
    assert!(wait_for(is_in_force), "it has not heard of it");
    ctl(&folder, &["stop"]).succeeds();
    let said = Said::from(running.wait_with_output().unwrap()).succeeds();
    assert!(said.err.contains("box.toml is in force (SIGHUP)"), "{}", said.err);
}

/// What a box with a record says whose interface is removed, and whose standard output may be closed before that.
fn removed(folder: &Folder, closed: bool) -> Said {
    folder.write("box.toml", format!("{BOX}[record]\nin = \"seen.pcap\"\n"));
    let mut running = start(folder);
    if listens(folder, &mut running) {
        if closed {
            drop(running.stdout.take());
        }
        let inside = ["-n", "-t", &running.id().to_string(), "ip", "link", "del", "left"].map(str::to_string);
        Command::new("nsenter").args(inside).status().unwrap();
    }
    let said = Said::from(running.wait_with_output().unwrap());
    assert_eq!(folder.list("."), ["box.toml", "run", "seen.pcap"]);
    said
}

#[test]
#[ignore = "needs root"]
fn a_box_whose_interface_is_removed_gives_its_accounts_and_says_why_it_ends() {
    let said = removed(&Folder::new(), false);
    assert!(said.out.contains("tradeoff:alpha=0.85 for ") && said.out.contains("\nport out: "), "{said:#?}");
    assert!(said.err.contains(" is gone: No such device"), "{said:#?}");
    assert_eq!(said.code, Some(1), "{said:#?}");
}

#[test]
#[ignore = "needs root"]
fn a_box_says_why_it_ends_also_where_nobody_reads_its_accounts() {
    let said = removed(&Folder::new(), true);
    assert!(said.err.contains(" is gone: No such device"), "{said:#?}");
    assert_eq!(said.code, Some(1), "{said:#?}");
}

#[test]
fn where_no_box_runs_there_is_an_error_that_says_where_it_was_looked_for() {
    let folder = Folder::new();
    ctl(&folder, &["set", "alpha=1"]).fails(1, &["no box answers at run/box.sock"]);
    folder.dovetail(&["top", "--once", "--socket", "nowhere"]).fails(1, &["no box answers at nowhere"]);
    folder.dovetail(&["top", "--socket", "nowhere"]).fails(2, &["not a terminal", "--once"]);
}

#[test]
fn a_box_without_room_for_another_client_is_no_wrong_input() {
    let folder = Folder::new();
    let (_desk, counter) = Desk::open();
    let path = folder.path("run/box.sock");
    let _socket = Bound::at(&path).unwrap().serve(counter).unwrap();
    let _silent: Vec<UnixStream> = (0..8).map(|_| UnixStream::connect(&path).unwrap()).collect();
    let full = ["8 clients talk to this box already; try again later"];
    ctl(&folder, &["show"]).fails(1, &full);
    ctl(&folder, &["set", "alpha=1"]).fails(1, &full);
    folder.dovetail(&["top", "--once", "--socket", "run/box.sock"]).fails(1, &full);
}

#[test]
fn commands_that_say_too_little_are_refused() {
    let folder = Folder::new();
    ctl(&folder, &["set", "alpha"]).fails(2, &["a name and a value with = between them"]);
    ctl(&folder, &["watch", "--every", "1 ms"]).fails(2, &["100 ms"]);
    ctl(&folder, &["wieght", "a=1"]).fails(2, &["weight"]);
    folder.dovetail(&["live"]).fails(2, &["CONFIG"]);
}

#[test]
fn flows_are_listed_in_documents_only() {
    let folder = Folder::new();
    ctl(&folder, &["show", "--flows", "3"]).fails(2, &["--json"]);
    ctl(&folder, &["show", "--json", "--flows", "3"]).fails(1, &["no box answers"]);
}

#[test]
fn metrics_that_others_could_reach_need_a_word_for_it() {
    let folder = Folder::new();
    folder.write("box.toml", format!("{BOX}\n[metrics]\nlisten = \"0.0.0.0:9100\"\n"));
    let said = folder.dovetail(&["live", "box.toml", "--dry-run"]);
    said.fails(2, &["other machines reach this address", "listen = \"0.0.0.0:9100\"", "remote = true"]);
}

/// With IPv6 the kernel asks over `right` for routers and neighbours, and the box would need minutes to hand a question
/// on.
#[test]
#[ignore = "needs root"]
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn a_box_that_is_told_twice_to_end_gives_its_accounts() {
    let folder = Folder::new();
    folder.write("box.toml", BOX.replace("64 Mbps", "1 bps"));
    let asks = "(sleep 1; echo 0 > /proc/sys/net/ipv6/conf/right/disable_ipv6)";
    let mut running = start_after(&folder, &format!("({asks} &)"));
    let held = |folder: &Folder| {
        let said = ctl(folder, &["show", "--json"]).succeeds().out;
        serde_json::from_str::<serde_json::Value>(&said).unwrap()["total"]["held"].as_u64().unwrap()
    };
    let there = listens(&folder, &mut running)
        && (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            held(&folder) > 0
        });
    for signal in ["-TERM", "-INT"] {
        Command::new("kill").args([signal, &running.id().to_string()]).status().unwrap();
    }
    let said = Said::from(running.wait_with_output().unwrap());
    assert!(there, "no frame came: {said:#?}");
    let said = said.succeeds();
    assert!(said.out.contains("\ndropped, stopped: ") && !said.out.contains("unaccounted"), "{}", said.out);
}
