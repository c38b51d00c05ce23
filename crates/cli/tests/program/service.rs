//! The unit for systemd keeps what the how-to says of it: a box runs with the rights that the unit gives, as a user who
//! is nobody else, gives them all up, and goes on where it was when it was killed. `setpriv` stands for the service
//! manager. Needs root and setpriv.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::Folder;

/// Nobody.
const USER: u32 = 65_534;

const BOX: &str = r#"scheduler = "drr"
[ports]
in = "packet:left"
out = "packet:right"
[control]
socket = "run/box.sock"
[[module]]
name = "tunnel"
kind = "esp"
transform = "aes128-gcm"
key = "000102030405060708090a0b0c0d0e0f10111213"
spi = 4096
src = "192.0.2.1"
dst = "192.0.2.2"
[[class]]
name = "all"
modules = ["tunnel"]
"#;

const NAMESPACE: &str = "ip link add left type veth peer name right && ip link set left up && ip link set right up";

fn unit() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/dovetail@.service")).unwrap()
}

/// What the unit says of a key.
fn says<'a>(unit: &'a str, key: &str) -> &'a str {
    unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap_or_else(|| panic!("no {key}"))
}

/// Capabilities as `setpriv` takes a whole set of them.
fn set(capabilities: &str) -> String {
    let names = capabilities.split(' ').map(|name| format!(",+{}", name.trim_start_matches("CAP_").to_lowercase()));
    format!("-all{}", names.collect::<String>())
}

/// The box under the rights that the unit gives, once it listens.
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn start(folder: &Folder, unit: &str) -> Child {
    let ambient = set(says(unit, "AmbientCapabilities"));
    let bounding = set(says(unit, "CapabilityBoundingSet"));
    let rights = format!(
        "setpriv --reuid {USER} --regid {USER} --clear-groups --no-new-privs --inh-caps={ambient} \
         --ambient-caps={ambient} --bounding-set={bounding}"
    );
    let script = format!("{NAMESPACE} && exec {rights} ./dovetail live box.toml");
    let log = fs::OpenOptions::new().append(true).create(true).open(folder.path("log")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-c", &script]).current_dir(folder.path("."));
    command.env("STATE_DIRECTORY", folder.path("state"));
    let mut running = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
    for _ in 0..3000 {
        if folder.path("run/box.sock").exists() {
            // It answers once it has given up its rights.
            folder.dovetail(&["live", "ctl", "--socket", "run/box.sock", "show"]).succeeds();
            return running;
        }
        assert!(running.try_wait().unwrap().is_none(), "{}", fs::read_to_string(folder.path("log")).unwrap());
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it does not listen: {}", fs::read_to_string(folder.path("log")).unwrap());
}

/// A folder in which everything is the user's alone.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("box.toml", BOX);
    for name in ["run", "state"] {
        fs::create_dir(folder.path(name)).unwrap();
    }
    for (name, mode) in [(".", 0o755), ("box.toml", 0o600), ("run", 0o750), ("state", 0o700)] {
        chown(folder.path(name), Some(USER), Some(USER)).unwrap();
        fs::set_permissions(folder.path(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    // Where the program is built the user may not be allowed to look.
    fs::copy(env!("CARGO_BIN_EXE_dovetail"), folder.path("dovetail")).unwrap();
    folder
}

fn sequence_numbers_left(folder: &Folder) -> u64 {
    let said = folder.dovetail(&["live", "ctl", "--socket", "run/box.sock", "show", "--json"]).succeeds();
    let snapshot: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    snapshot["modules"][0]["counters"]["sequence_numbers_left"].as_u64().unwrap()
}

#[test]
#[ignore = "needs root and setpriv"]
fn with_the_rights_of_the_unit_a_box_starts_gives_them_all_up_and_goes_on_after_a_kill() {
    let (folder, unit) = (folder(), unit());
    let mut running = start(&folder, &unit);
    let status = fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap();
    let of = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap().trim();
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(of(set), "0000000000000000", "{set}");
    }
    assert_eq!((of("NoNewPrivs"), of("Seccomp")), ("1", "2"));
    assert!(of("Uid").split_whitespace().all(|user| user == USER.to_string()), "{}", of("Uid"));
    let log = fs::read_to_string(folder.path("log")).unwrap();
    assert!(log.contains("confined: no capabilities, no new privileges; "), "{log}");
    assert!(!log.contains("set state.folder"), "the unit's folder is taken: {log}");
    let left = sequence_numbers_left(&folder);
    running.kill().unwrap();
    running.wait().unwrap();
    fs::remove_file(folder.path("run/box.sock")).unwrap();
    let mut running = start(&folder, &unit);
    assert!(sequence_numbers_left(&folder) < left, "none is used again");
    running.kill().unwrap();
    running.wait().unwrap();
}

#[test]
fn the_unit_starts_a_box_again_soon_and_as_often_as_it_takes_unless_its_configuration_is_wrong() {
    let unit = unit();
    for (key, value) in [
        ("Restart", "on-failure"),
        ("RestartSec", "250ms"),
        ("StartLimitIntervalSec", "0"),
        ("RestartPreventExitStatus", "2"),
        ("StateDirectory", "dovetail-%i"),
        ("StateDirectoryMode", "0700"),
    ] {
        assert_eq!(says(&unit, key), value, "{key}");
    }
}
