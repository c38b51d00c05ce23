//! A box says what is wrong with its ports and what helps: in its log, in `live ctl show`, in `top`, in snapshots and
//! in metrics. Each silent failure is made with real kernels at both ends, in network namespaces of the tests' own,
//! which needs root.

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{Folder, Said};

const BOX: &str = r#"scheduler = "fifo"
[ports]
in = "packet:inside"
out = "packet:outside"
[control]
socket = "box.sock"
[[class]]
name = "all"
"#;

/// A client and a server, each with one interface, and between them a namespace for the box, all without IPv6. The
/// names of namespaces begin with what is told; `$1` is that.
const UP: &str = r#"set -e
for n in client box server; do ip netns add $1-$n; done
ip link add eth0 netns $1-client type veth peer name inside netns $1-box
ip link add eth0 netns $1-server type veth peer name outside netns $1-box
for n in client box server; do ip netns exec $1-$n sh -c "echo 1 > \
    /proc/sys/net/ipv6/conf/all/disable_ipv6"; ip -n $1-$n link set lo up; done
ip -n $1-client address add 10.77.0.1/24 dev eth0
ip -n $1-server address add 10.77.0.2/24 dev eth0
for link in client:eth0 box:inside box:outside server:eth0; do ip -n $1-${link%:*} link set ${link#*:} up; done
"#;

/// Three namespaces, and the box in one of them.
struct Lab {
    name: String,
    folder: Folder,
    running: Option<Child>,
}

impl Lab {
    fn up(test: &str) -> Self {
        let lab = Self { name: format!("watch-{test}-{}", std::process::id()), folder: Folder::new(), running: None };
        let made = Command::new("sh").args(["-c", UP, "sh", &lab.name]).status().unwrap();
        assert!(made.success());
        lab.folder.write("box.toml", BOX);
        lab
    }

    fn inside(&self, place: &str, command: &[&str]) -> Said {
        let namespace = format!("{}-{place}", self.name);
        let mut ip = Command::new("ip");
        ip.args(["netns", "exec", &namespace]).args(command).current_dir(self.folder.path("."));
        Said::from(ip.stdin(Stdio::null()).output().unwrap())
    }

    fn box_command(&self, arguments: &[&str]) -> Said {
        self.inside("box", &[&[env!("CARGO_BIN_EXE_dovetail")], arguments].concat())
    }

    /// Start the box and wait until it listens.
    fn start(&mut self) {
        self.start_by(&[env!("CARGO_BIN_EXE_dovetail"), "live", "box.toml"]);
    }

    /// The same by this command.
    #[expect(clippy::disallowed_methods, reason = "another process is waited for")]
    fn start_by(&mut self, command: &[&str]) {
        let mut ip = Command::new("ip");
        ip.args(["netns", "exec", &format!("{}-box", self.name)]).args(command);
        let log = std::fs::File::create(self.folder.path("box.log")).unwrap();
        ip.current_dir(self.folder.path(".")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut running = ip.spawn().unwrap();
        for _ in 0..3000 {
            if self.folder.path("box.sock").exists() || running.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.running = Some(running);
    }

    fn ctl(&self, arguments: &[&str]) -> Said {
        self.folder.dovetail(&[&["live", "ctl", "--socket", "box.sock"], arguments].concat())
    }

    fn snapshot(&self) -> serde_json::Value {
        serde_json::from_str(&self.ctl(&["show", "--json"]).succeeds().out).unwrap()
    }

    /// Do something until the snapshot is as wanted.
    #[expect(clippy::disallowed_methods, reason = "another process is waited for")]
    fn until(&self, mut act: impl FnMut(), wanted: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        for _ in 0..300 {
            act();
            let snapshot = self.snapshot();
            if wanted(&snapshot) {
                return snapshot;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("it never came: {:#}", self.snapshot()["ports"]);
    }

    /// Far more often than anybody needs.
    fn ask_a_hundred_times(&self, request: &str) {
        let talk = "import socket, sys; s=socket.socket(socket.AF_UNIX); s.connect('box.sock'); f=s.makefile('rw')\n\
            for _ in range(100): f.write(sys.argv[1] + '\\n'); f.flush(); assert 'done' in f.readline()";
        self.inside("box", &["python3", "-c", talk, request]).succeeds();
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path("box.log")).unwrap()
    }

    /// Wait until the log has this. The box looks at its ports once a second, and sees nothing of what was undone
    /// before it has looked.
    #[expect(clippy::disallowed_methods, reason = "another process is waited for")]
    fn until_logged(&self, words: &str) {
        for _ in 0..600 {
            if self.log().contains(words) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{words:?} never came:\n{}", self.log());
    }

    fn show(&self) -> String {
        self.ctl(&["show"]).succeeds().out
    }

    /// A datagram of so many bytes to the server, whose address is known.
    fn send(&self, bytes: usize) {
        let neighbour = ["neighbour", "replace", "10.77.0.2", "lladdr", "02:00:00:00:00:02", "dev", "eth0"];
        self.inside("client", &[&["ip"], &neighbour[..]].concat());
        let script = format!("head -c {bytes} /dev/zero > /dev/udp/10.77.0.2/9");
        self.inside("client", &["bash", "-c", &script]);
    }

    /// What the box said in the end.
    fn end(&mut self) -> Said {
        self.ctl(&["stop"]).succeeds();
        let said = Said::from(self.running.take().unwrap().wait_with_output().unwrap());
        Said { err: self.log(), ..said }.succeeds()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = running.kill();
            let _ = running.wait();
        }
        for place in ["client", "box", "server"] {
            let _ = Command::new("ip").args(["netns", "del", &format!("{}-{place}", self.name)]).status();
        }
    }
}

fn count(snapshot: &serde_json::Value, port: &str, what: &str) -> u64 {
    snapshot["ports"][port][what].as_u64().unwrap()
}

#[test]
#[ignore = "needs root"]
fn segments_that_offloads_merge_are_told_of_everywhere_with_the_remedy() {
    let mut lab = Lab::up("oversize");
    let metrics = "[metrics]\nlisten = \"127.0.0.1:9177\"\n";
    lab.folder.write("box.toml", format!("{BOX}{metrics}"));
    lab.start();
    // A TCP connection through the box, as kernels make them: segments of up to 64 KiB.
    let server = "import socket; socket.setdefaulttimeout(30); s = socket.create_server(('10.77.0.2', 80))\n\
        c = s.accept()[0]\nwhile c.recv(65536): pass";
    let client = "import socket; c = socket.create_connection(('10.77.0.2', 80))\n\
        c.settimeout(3); c.sendall(b'x' * 400000)";
    let mut listening = Command::new("ip");
    listening.args(["netns", "exec", &format!("{}-server", lab.name), "python3", "-c", server]);
    let mut listening = listening.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let snapshot = lab.until(
        || drop(lab.inside("client", &["timeout", "6", "python3", "-c", client])),
        |snapshot| count(snapshot, "in", "oversize") > 0,
    );
    let _ = listening.kill();
    let _ = listening.wait();
    assert_eq!(snapshot["ports"]["in"]["link"], "up");
    let remedy = "ethtool -K inside gro off lro off tso off gso off";
    let shown = lab.show();
    assert!(shown.contains("port in (inside): ") && shown.contains(" oversize: ") && shown.contains(remedy), "{shown}");
    let scrape = "exec 3<>/dev/tcp/127.0.0.1/9177; printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3; timeout 5 cat <&3";
    let metrics = lab.inside("box", &["bash", "-c", scrape]).out;
    let has = |sample: &str| metrics.lines().any(|line| line.starts_with(sample) && !line.ends_with(" 0"));
    assert!(has("dovetail_port_oversize_frames_total{port=\"in\"}"), "{metrics}");
    assert!(has("dovetail_port_up{port=\"in\"} 1"), "{metrics}");
    for name in ["missed_frames_total{port=\"out\"}", "unsent_frames_total{port=\"out\",reason=\"down\"}"] {
        assert!(metrics.contains(&format!("dovetail_port_{name} 0")), "{name}: {metrics}");
    }
    assert!(metrics.contains("dovetail_outgoing_frames 0") && metrics.contains("dovetail_unaccounted_frames 0"));
    let said = lab.end();
    assert!(said.out.contains(remedy), "the report: {}", said.out);
    // At the start, and when it happened.
    assert!(said.err.contains(" WARN  offloads of inside are on ("), "{}", said.err);
    let lines: Vec<&str> = said.err.lines().filter(|line| line.contains(" oversize: ")).collect();
    assert_eq!(lines.len(), 1, "{}", said.err);
    assert!(lines[0].contains(" WARN  port in (inside): ") && lines[0].contains(remedy), "{}", lines[0]);
}

/// A file may have 32 kB, which the captures outgrow.
#[test]
#[ignore = "needs root"]
fn a_record_that_cannot_be_written_is_told_of_when_it_happens_and_frames_go_on() {
    let mut lab = Lab::up("record");
    let around = "[record]\nin = \"in.pcap\"\n[trace]\nin = \"in.txt\"\n";
    lab.folder.write("box.toml", format!("{BOX}{around}"));
    let limited = format!("trap '' XFSZ; ulimit -f 64; exec {} live box.toml", env!("CARGO_BIN_EXE_dovetail"));
    lab.start_by(&["sh", "-c", &limited]);
    let sent = |snapshot: &serde_json::Value| count(snapshot, "out", "sent");
    let send = || lab.send(100_000);
    lab.until(send, |_| lab.log().contains("in.pcap cannot be written: "));
    assert!(lab.folder.path("in.pcap").exists());
    let before = sent(&lab.snapshot());
    lab.until(send, |snapshot| sent(snapshot) > before + 10);
    lab.ctl(&["stop"]).succeeds();
    let said = Said::from(lab.running.take().unwrap().wait_with_output().unwrap());
    assert_eq!(said.code, Some(1));
    let log = lab.log();
    let told: Vec<&str> = log.lines().filter(|line| line.contains(" ERROR ") && line.contains("in.pcap")).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(told[0].ends_with("; it ends here with what was written, and the box goes on"), "{log}");
    assert!(log.lines().any(|line| line.starts_with("error: ") && line.contains("in.pcap")), "{log}");
    let info = lab.folder.dovetail(&["trace", "info", "in.pcap", "--json"]).succeeds().out;
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    assert!(info["packets"].as_u64().unwrap() > 5 && info["damage"].is_null(), "{info}");
}

#[test]
#[ignore = "needs root"]
fn a_frame_that_is_dropped_is_told_of_by_its_reason() {
    let mut lab = Lab::up("drops");
    let search = "[[module]]\nname = \"search\"\nkind = \"match\"\npatterns = [\"worm\"]\naction = \"drop\"\n";
    lab.folder.write("box.toml", format!("{BOX}modules = [\"search\"]\n{search}"));
    lab.start();
    lab.snapshot();
    lab.inside("client", &["ip", "neighbour", "replace", "10.77.0.2", "lladdr", "02:00:00:00:00:02", "dev", "eth0"]);
    lab.inside("client", &["bash", "-c", "echo worm > /dev/udp/10.77.0.2/9"]).succeeds();
    lab.until_logged(" WARN  drops begin, matched: 1 frame in the last second");
    lab.end();
}

#[test]
#[ignore = "needs root"]
fn links_that_go_down_and_frames_that_are_refused_are_told_of() {
    let mut lab = Lab::up("links");
    lab.start();
    let ip = |place: &str, arguments: &[&str]| {
        lab.inside(place, &[&["ip", "link", "set"], arguments].concat()).succeeds();
    };
    let link = |state: &'static str| move |snapshot: &serde_json::Value| snapshot["ports"]["out"]["link"] == state;
    // What is wrong before the first look is no change. It comes right after the first answer, so before the second.
    lab.until(|| drop(lab.snapshot()), link("up"));
    // Nobody at the other end.
    ip("server", &["eth0", "down"]);
    lab.until(|| {}, link("no-carrier"));
    lab.until_logged(" WARN  port out: the link outside is without carrier");
    assert!(lab.show().contains("port out (outside): the link has no carrier: look at the cable"), "{}", lab.show());
    let screen = || {
        let said = lab.folder.dovetail(&["top", "--once", "--every", "1 s", "--socket", "box.sock"]);
        said.succeeds().out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(screen().contains("port out (outside): the link has no carrier"), "{}", screen());
    ip("server", &["eth0", "up"]);
    lab.until_logged(" INFO  port out: the link outside is up");
    lab.until(|| {}, link("up"));
    // The box's own end down, and traffic.
    ip("box", &["outside", "down"]);
    lab.until_logged(" WARN  port out: the link outside is down");
    lab.until(|| lab.send(100), |snapshot| count(snapshot, "out", "down") > 0);
    let shown = lab.show();
    for words in ["port out (outside): the link is down: ip link set outside up", " unsent, link down: "] {
        assert!(shown.contains(words), "{words:?} is missing in\n{shown}");
    }
    lab.until_logged(" unsent, link down: ip link set outside up");
    ip("box", &["outside", "up"]);
    lab.until(|| {}, link("up"));
    // What the way out does not take.
    ip("box", &["outside", "mtu", "1000"]);
    let snapshot = lab.until(|| lab.send(1400), |snapshot| count(snapshot, "out", "too_long") > 0);
    assert_eq!(snapshot["unaccounted"], 0);
    assert!(lab.show().contains(" unsent, too long: a greater MTU (ip link set outside mtu N)"), "{}", lab.show());
    lab.until_logged(" unsent, too long: ");
    lab.end();
}

#[test]
#[ignore = "needs root"]
fn every_change_is_in_the_log_with_time_and_level() {
    let mut lab = Lab::up("log");
    lab.folder.write("box.toml", BOX.replace("fifo", "tradeoff:alpha=0.85"));
    lab.start();
    for change in [
        &["set", "alpha=0.5"][..],
        &["weight", "all=2"],
        &["queue", "all=5 packets"],
        &["budget", "20 %"],
        &["rate", "10 Mbps"],
        &["reload"],
    ] {
        lab.ctl(change).succeeds();
    }
    lab.folder.write("box.toml", BOX.replace("fifo", "fofi"));
    lab.ctl(&["reload"]).fails(2, &["fofi"]);
    lab.ask_a_hundred_times(r#"{"version":1,"request":"set","parameter":"alpha","value":"0.7"}"#);
    let said = lab.end();
    let log: Vec<&str> = said.err.lines().collect();
    for words in [
        " INFO  dovetail 0.1.0 starts: box.toml: packet:inside -> ",
        " INFO  confined: no capabilities, no new privileges; ",
        " INFO  alpha=0.5 (control socket)",
        " INFO  weight of all=2 (control socket)",
        " INFO  queue of all=5 packets (control socket)",
        " INFO  budget=20 % (control socket)",
        " INFO  rate=10 Mbps (control socket)",
        " INFO  box.toml is in force (control socket)",
        " WARN  box.toml:1:13: ",
    ] {
        assert_eq!(log.iter().filter(|line| line.contains(words)).count(), 1, "{words:?}: {}", said.err);
    }
    assert!(log.last().unwrap().contains(" INFO  has ended after "), "{}", said.err);
    assert!(
        log.iter().all(|line| line.starts_with("20") && line.split(' ').next().unwrap().ends_with('Z')),
        "{}",
        said.err
    );
    let changes = log.iter().filter(|line| line.contains("alpha=0.7 (control socket)")).count();
    assert!((1..=30).contains(&changes), "{changes} of a hundred: {}", said.err);
}

#[test]
#[ignore = "needs root"]
fn many_changes_hide_no_reload_from_the_log_and_many_reloads_no_change() {
    let mut lab = Lab::up("hide");
    lab.start();
    let [reload, changed] = [" INFO  box.toml is in force (control socket)", " INFO  rate=20 Mbps (control socket)"];
    lab.ask_a_hundred_times(r#"{"version":1,"request":"budget","budget":"20 %"}"#);
    lab.ctl(&["reload"]).succeeds();
    lab.until_logged(reload);
    lab.ask_a_hundred_times(r#"{"version":1,"request":"reload"}"#);
    lab.ctl(&["rate", "20 Mbps"]).succeeds();
    lab.until_logged(changed);
    lab.end();
}

#[test]
#[ignore = "needs root"]
fn a_dry_run_beside_a_running_box_says_what_it_would_do_and_leaves_it_alone() {
    let mut lab = Lab::up("dry");
    lab.start();
    lab.inside("box", &["ip", "link", "set", "inside", "mtu", "9000"]).succeeds();
    let said = lab.box_command(&["live", "box.toml", "--dry-run"]).succeeds();
    assert!(said.out.contains("packet:inside -> fifo -> packet:outside"), "{}", said.out);
    for words in [
        "note: another box has packet:inside at the moment",
        "note: another box has packet:outside at the moment",
        "warning: offloads of inside are on (",
        "ethtool -K inside tso off gso off",
        "warning: the MTU of inside is 9000: frames longer than 1920 bytes are lost; ip link set inside mtu 1906",
        "warning: the MTU of inside is 9000 and that of outside 1500",
    ] {
        assert!(said.err.contains(words), "{words:?} is missing in\n{}", said.err);
    }
    lab.folder.write("box.toml", BOX.replace("packet:outside", "packet:outsid"));
    lab.box_command(&["live", "box.toml", "--dry-run"])
        .fails(2, &["no interface \"outsid\"; did you mean \"outside\"?"]);
    lab.folder.write("box.toml", BOX);
    lab.box_command(&["live", "box.toml"]).fails(1, &["inside: another box has it"]);
    lab.until(|| lab.send(100), |snapshot| count(snapshot, "out", "sent") > 0);
    lab.end();
}

#[test]
#[ignore = "needs root"]
fn a_tunnel_that_makes_longer_packets_than_the_way_out_takes_is_warned_of() {
    let lab = Lab::up("narrow");
    let tunnel = "[[module]]\nname = \"tunnel\"\nkind = \"esp\"\ntransform = \"aes128-gcm\"\nspi = 4096\n\
        src = \"192.0.2.1\"\ndst = \"192.0.2.2\"\nkey = \"000102030405060708090a0b0c0d0e0f10111213\"\n";
    lab.folder.write("box.toml", format!("{BOX}modules = [\"tunnel\"]\n{tunnel}"));
    let warning = "warning: module \"tunnel\" makes packets of up to 1500 bytes, and outside takes 1400: longer \
                   ones are \
        lost; mtu = 1400 in the module, or ip link set outside mtu 1500";
    for (mtu, warned) in [("1500", false), ("1400", true)] {
        lab.inside("box", &["ip", "link", "set", "outside", "mtu", mtu]).succeeds();
        let said = lab.box_command(&["live", "box.toml", "--dry-run"]).succeeds();
        assert_eq!(said.err.contains(warning), warned, "{}", said.err);
    }
}

#[test]
fn a_key_that_others_can_read_is_warned_of() {
    let folder = Folder::new();
    folder.dovetail(&["trace", "synth", "in.pcap", "--packets", "100", "--flows", "10"]).succeeds();
    let tunnel = "[[module]]\nname = \"tunnel\"\nkind = \"esp\"\ntransform = \"aes128-gcm\"\nspi = 4096\n\
        src = \"192.0.2.1\"\ndst = \"192.0.2.2\"\nkey = \"000102030405060708090a0b0c0d0e0f10111213\"\n";
    let ports = "[ports]\nin = \"pcap:in.pcap\"\nout = \"pcap:>out.pcap\"\n";
    folder.write("box.toml", format!("scheduler = \"fifo\"\n{ports}{tunnel}"));
    let set = |mode| std::fs::set_permissions(folder.path("box.toml"), std::fs::Permissions::from_mode(mode)).unwrap();
    let warning = "warning: box.toml holds the key of the module \"tunnel\", and others than its owner can read it \
        (mode 644): chmod 600";
    set(0o644);
    for arguments in [&["live", "box.toml", "--dry-run"][..], &["live", "box.toml"]] {
        let said = folder.dovetail(arguments).succeeds();
        assert!(said.err.contains(warning), "{}", said.err);
    }
    set(0o600);
    let said = folder.dovetail(&["live", "box.toml", "--dry-run"]).succeeds();
    assert!(!said.err.contains("warning"), "{}", said.err);
}
