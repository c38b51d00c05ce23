//! The gateway of `scenarios/live` between two kernels, with neighbours that find each other, an MTU of 1500
//! everywhere, and a restart. Needs root.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dovetail_lab::{CLIENT_V4, Lab, LabError, Options, Place, SERVER_V4};
use serde_json::Value;

use crate::support::Folder;

/// The tunnel's other end: what is no part of the tunnel passes as it is.
const OTHER_END: &str = r#"
scheduler = "drr"
ports = { in = "packet:far", out = "packet:server" }
control = { socket = "b.sock" }
[[module]]
name = "end"
kind = "esp-decap"
transform = "aes128-gcm"
key = "000102030405060708090a0b0c0d0e0f10111213"
spi = 4096
[[class]]
name = "tunnel"
match = [{ protocol = "esp" }]
modules = ["end"]
"#;

/// Client, gateway, other end and server in a row.
struct Row {
    lab: Lab,
    folder: Folder,
}

impl Row {
    fn up(name: &str, gateway: impl FnOnce(String) -> String) -> Self {
        let lab = Lab::up(&Options { name: format!("{name}-{}", std::process::id()), ..Options::default() }).unwrap();
        let row = Self { lab, folder: Folder::new() };
        row.cable("near", "far");
        row.folder.write("b.toml", OTHER_END);
        row.write("a", "gateway", &[("packet:eth0", "packet:client"), ("packet:eth1", "packet:near")], gateway);
        fs::create_dir(row.folder.path("state")).unwrap();
        row
    }

    /// The configuration of the repository as `NAME.toml`, with these changes.
    fn write(&self, name: &str, of: &str, changes: &[(&str, &str)], more: impl FnOnce(String) -> String) {
        let file = format!("{}/../../scenarios/live/{of}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(file).unwrap();
        let change = |text: String, (from, to): (&str, &str)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        };
        let socket = text.lines().find(|line| line.starts_with("socket = ")).unwrap().to_string();
        let text = change(text, (&socket, &format!("socket = \"{name}.sock\"")));
        let text = text.replace("10.8.0.0/16", "10.99.0.2/32");
        let text = changes.iter().copied().fold(text, change);
        self.folder.write(&format!("{name}.toml"), more(format!("{text}[state]\nfolder = \"state\"\n")));
    }

    fn ip(&self, place: Place, arguments: &str) {
        let mut ip = Command::new("ip");
        let mut child = self.lab.spawn(place, ip.args(arguments.split(' '))).unwrap();
        assert!(child.wait().unwrap().success(), "ip {arguments}");
    }

    /// Two interfaces in the box that are each other's cable.
    fn cable(&self, one: &str, other: &str) {
        self.ip(Place::Box, &format!("link add {one} type veth peer name {other}"));
        [one, other].iter().for_each(|name| self.ip(Place::Box, &format!("link set {name} up")));
    }

    /// A box of `NAME.toml`, which is up.
    fn start(&self, name: &str) -> Child {
        let socket = self.folder.path(&format!("{name}.sock"));
        let _ = fs::remove_file(&socket);
        let mut command = self.folder.command(&["live", &format!("{name}.toml"), "--json"]);
        let file = |end: &str| File::create(self.folder.path(&format!("{name}.{end}"))).unwrap();
        command.stdin(Stdio::null()).stdout(file("json")).stderr(file("err"));
        let mut child = self.lab.spawn(Place::Box, &mut command).unwrap();
        comes_true(&format!("box {name} is up"), || {
            assert!(child.try_wait().unwrap().is_none(), "{}", self.text(&format!("{name}.err")));
            socket.exists()
        });
        child
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.folder.path(file)).unwrap()
    }

    /// The report of a box that is told to end.
    fn end(&self, name: &str, mut running: Child) -> Value {
        Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
        assert!(running.wait().unwrap().success(), "{}", self.text(&format!("{name}.err")));
        let report: Value = serde_json::from_str(&self.text(&format!("{name}.json"))).unwrap();
        assert_eq!((&report["unaccounted"], &report["forward"]["buffers"]["lost"]), (&0.into(), &0.into()), "{report}");
        report
    }

    /// What ping from the client to the server says.
    fn ping(&self, arguments: &str) -> String {
        let mut ping = Command::new("ping");
        ping.args(arguments.split(' ')).arg(SERVER_V4.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.lab.spawn(Place::Client, &mut ping).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }

    fn reaches_the_server(&self) {
        comes_true("the server answers", || self.ping("-c 1 -W 1").contains(" 0% packet loss"));
    }

    /// So many bytes by a TCP connection from the client to the server and back, with nothing told to either about the
    /// tunnel.
    fn transfer(&self, bytes: usize) -> usize {
        let patience = Some(Duration::from_secs(60));
        let wrong = |error: std::io::Error| LabError::Traffic(error.to_string());
        let listener = self.lab.enter(Place::Server, || TcpListener::bind((SERVER_V4, 7000)).map_err(wrong)).unwrap();
        let echo = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut all = Vec::new();
            stream.set_read_timeout(patience).unwrap();
            stream.read_to_end(&mut all).unwrap();
            stream.write_all(&all).unwrap();
        });
        let address = SocketAddr::from((SERVER_V4, 7000));
        let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(30)).map_err(wrong);
        let mut stream = self.lab.enter(Place::Client, connect).unwrap();
        stream.set_read_timeout(patience).unwrap();
        stream.set_write_timeout(patience).unwrap();
        stream.write_all(&vec![7; bytes]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        echo.join().unwrap();
        all.len()
    }
}

/// Looks every 50 ms for as long as a very busy machine takes.
#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn comes_true(what: &str, mut look: impl FnMut() -> bool) {
    for _ in 0..1200 {
        if look() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it did not come true that {what}");
}

fn dropped(report: &Value, reason: &str) -> u64 {
    report["forward"]["total"]["dropped"][reason].as_u64().unwrap_or(0)
}

fn of_class(report: &Value, name: &str) -> Value {
    let classes = report["forward"]["classes"].as_array().unwrap();
    classes.iter().find(|class| class["class"] == name).cloned().unwrap_or_else(|| panic!("no {name}: {report}"))
}

fn counter(report: &Value, name: &str) -> u64 {
    let modules = report["forward"]["modules"].as_array().unwrap();
    modules.iter().find_map(|module| module["counters"][name].as_u64()).unwrap()
}

#[test]
#[ignore = "needs root and ping"]
fn the_gateway_of_the_repository_carries_ordinary_traffic() {
    let row = Row::up("gw", |text| text);
    let (a, b) = (row.start("a"), row.start("b"));
    row.reaches_the_server();
    // Before anybody knows of an MTU.
    assert_eq!(row.transfer(3_000_000), 3_000_000);
    // As a router answers, at the first packet that does not fit.
    let said = row.ping("-c 1 -W 5 -s 1472 -M do");
    assert!(said.contains("From 192.0.2.1 icmp_seq=1 Frag needed and DF set (mtu = 1446)"), "{said}");
    assert!(row.ping("-c 1 -W 5 -s 1418 -M do").contains(" 0% packet loss"));
    // A datagram that its sender cuts for an MTU of 1500, as if it knew nothing of the way: fragments may be cut.
    row.ip(Place::Client, "route flush cache");
    assert!(row.ping("-c 2 -W 5 -s 3000 -M dont").contains(" 0% packet loss"));
    let (a, b) = (row.end("a", a), row.end("b", b));
    assert!(of_class(&a, "network")["frames_out"].as_u64().unwrap() > 0, "neighbours have found each other");
    assert!(counter(&a, "told") >= 1 && counter(&a, "clamped") >= 2 && counter(&a, "cut") >= 1, "{a}");
    for reason in ["esp-replayed", "esp-malformed", "arp", "not-ip"] {
        assert_eq!((dropped(&a, reason), dropped(&b, reason)), (0, 0), "{reason}");
    }
}

#[test]
#[ignore = "needs root and ping"]
fn after_a_kill_the_tunnel_goes_on_where_it_was() {
    let row = Row::up("kill9", |text| text);
    let (mut a, b) = (row.start("a"), row.start("b"));
    row.reaches_the_server();
    assert!(row.ping("-c 50 -i 0.01 -W 5").contains("50 received"));
    for _ in 0..2 {
        a.kill().unwrap();
        a.wait().unwrap();
        a = row.start("a");
        row.reaches_the_server();
        assert!(row.ping("-c 50 -i 0.01 -W 5").contains("50 received"));
    }
    row.end("a", a);
    let b = row.end("b", b);
    assert_eq!(dropped(&b, "esp-replayed"), 0, "{b}");
    assert!(of_class(&b, "tunnel")["frames_out"].as_u64().unwrap() >= 153);
}

#[test]
#[ignore = "needs root"]
fn a_state_that_is_of_no_use_is_refused_before_a_packet_is_sent() {
    let row = Row::up("state", |text| text);
    let a = row.start("a");
    row.end("a", a);
    let state = fs::read_dir(row.folder.path("state")).unwrap().map(|entry| entry.unwrap().path());
    let state = state.filter(|path| path.extension().is_some_and(|extension| extension == "state")).last().unwrap();
    fs::write(&state, "dovetail esp sequence 1\nassociation ").unwrap();
    for dry_run in [true, false] {
        let mut command = row.folder.command(&["live", "a.toml"]);
        command.args(dry_run.then_some("--dry-run")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = row.lab.spawn(Place::Box, &mut command).unwrap().wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let code = if dry_run { 2 } else { 1 };
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(code), &b""[..]), "{said}");
        for words in ["the state of module \"tunnel\"", "it is damaged", "folder = \"state\"", "another key"] {
            assert!(said.contains(words), "{words:?} is missing in {said}");
        }
    }
}

#[test]
#[ignore = "needs root"]
fn fragments_from_a_kernel_are_of_the_class_of_their_datagram() {
    let dear =
        "[[class]]\nname = \"dear\"\nmatch = [{ protocol = \"udp\", dport = \"5000\" }]\n[[class]]\nname = \"tunnel\"";
    let row = Row::up("frag", |text| text.replace("[[class]]\nname = \"tunnel\"", dear));
    let (a, b) = (row.start("a"), row.start("b"));
    let wrong = |error: std::io::Error| LabError::Traffic(error.to_string());
    let open = |place, address| row.lab.enter(place, move || UdpSocket::bind(address).map_err(wrong)).unwrap();
    let server = open(Place::Server, (SERVER_V4, 5000));
    let client = open(Place::Client, (CLIENT_V4, 6000));
    server.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut buffer = [0; 5000];
    comes_true("a datagram of three fragments comes", || {
        client.send_to(&[7; 4000], (SERVER_V4, 5000)).unwrap();
        server.recv(&mut buffer).is_ok_and(|len| len == 4000)
    });
    let (a, _) = (row.end("a", a), row.end("b", b));
    let dear = of_class(&a, "dear")["frames_in"].as_u64().unwrap();
    assert!(dear >= 3 && dear.is_multiple_of(3), "{a}");
    assert_eq!(of_class(&a, "tunnel")["frames_in"], 0);
}

/// Two sites with two boxes each, as the how-to has it, and keys of their own for each direction.
#[test]
#[ignore = "needs root"]
fn two_boxes_at_each_site_encrypt_both_ways() {
    let row = Row::up("both", |text| text);
    row.cable("near2", "far2");
    row.cable("wan", "wan2");
    let other_site = [
        ("packet:eth0", "packet:server"),
        ("packet:eth1", "packet:near2"),
        ("10.99.0.2/32", "10.99.0.1/32"),
        ("000102030405060708090a0b0c0d0e0f10111213", "202122232425262728292a2b2c2d2e2f30313233"),
        ("4096", "4097"),
        ("src = \"192.0.2.1\"\ndst = \"192.0.2.2\"", "src = \"192.0.2.2\"\ndst = \"192.0.2.1\""),
    ];
    row.write("c", "gateway", &other_site, |text| text);
    row.write("b", "inbound", &[("packet:eth1", "packet:wan")], |text| text);
    let of_other_site = [
        ("packet:eth1", "packet:wan2"),
        ("packet:far", "packet:far2"),
        ("202122232425262728292a2b2c2d2e2f30313233", "000102030405060708090a0b0c0d0e0f10111213"),
        ("4097", "4096"),
        ("192.0.2.2/32", "192.0.2.1/32"),
    ];
    row.write("d", "inbound", &of_other_site, |text| text);
    let names = ["a", "b", "c", "d"];
    let boxes = names.map(|name| row.start(name));
    assert_eq!(row.transfer(1_000_000), 1_000_000);
    let reports: Vec<Value> = names.iter().zip(boxes).map(|(name, running)| row.end(name, running)).collect();
    let tunnel = |k: usize, count: &str| of_class(&reports[k], "tunnel")[count].as_u64().unwrap();
    for (from, to) in [(0, 3), (2, 1)] {
        assert!(tunnel(from, "frames_out") > 700, "{}", reports[from]);
        assert_eq!(tunnel(from, "frames_out"), tunnel(to, "frames_out"), "{}", reports[to]);
        assert!(counter(&reports[from], "clamped") > 0);
    }
}
