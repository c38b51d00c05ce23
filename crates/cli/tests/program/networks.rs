//! `dovetail run` of a network: what it prints, what it refuses, and the captures it writes.

use std::process::Command;

use dovetail_trace::{CaptureInfo, CaptureReader};
use dovetail_units::{Duration, Time};
use serde_json::Value;

use crate::support::{Folder, Said};

/// Two kinds of TCP flows over a box whose CPU is scarce.
const NETWORK: &str = r#"schedulers = ["red+red", "drq:weight=0.01"]
until = "2 s"
warm_up = "1 s"

[[hop]]
name = "box"
cpu = "20 Mcycles/s"
rate = "40 Mbps"
delay = "10 ms"

[[class]]
name = "light"
density = "0.25 cycles/bit"

[[class]]
name = "heavy"
density = "2 cycles/bit"

[[tcp]]
class = "light"
count = 4
route = ["box"]
rtt = "40 ms"
packet = "500 B"

[[tcp]]
class = "heavy"
count = 4
route = ["box"]
rtt = "40 ms"
packet = "500 B"
"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("net.toml", NETWORK);
    folder
}

/// What is said of [`NETWORK`] with the first `right` replaced by `wrong`; nothing is written.
#[track_caller]
fn refused(right: &str, wrong: &str, words: &[&str]) {
    assert!(NETWORK.contains(right), "{right:?} stands in the scenario");
    let folder = Folder::new();
    folder.write("net.toml", NETWORK.replacen(right, wrong, 1));
    folder.dovetail(&["run", "net.toml", "--out", "out"]).fails(2, words);
    assert_eq!(folder.list("."), ["net.toml"]);
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.out).unwrap()
}

#[test]
fn a_table_and_json_of_hops_and_groups() {
    let folder = folder();
    let table = folder.dovetail(&["run", "net.toml"]).succeeds().out;
    for word in ["red+red", "drq:weight=0.01", "box.cpu", "box.link", "light", "heavy", "fair", "jain"] {
        assert!(table.contains(word), "{word:?} is missing in:\n{table}");
    }
    let document = json(&folder.dovetail(&["run", "net.toml", "--json"]).succeeds());
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for run in runs {
        // 20 Mcycles/s between eight flows beside a link that limits too: 60/7 and 10/7 Mbit/s (`fair_rates` in the
        // library's tests).
        let fair: Vec<f64> =
            run["groups"].as_array().unwrap().iter().map(|g| g["fair_bps"].as_f64().unwrap()).collect();
        assert!((fair[0] - 60e6 / 7.0).abs() < 10.0 && (fair[1] - 10e6 / 7.0).abs() < 10.0, "{fair:?}");
        for hop in ["box.cpu", "box.link"] {
            let packets = |what: &str| run["hops"][hop]["packets"][what].as_u64().unwrap();
            assert!(packets("arrived") > 0, "{hop}");
            let after = packets("departed") + packets("dropped") + packets("held_after");
            assert_eq!(packets("held_before") + packets("arrived"), after, "{hop}");
        }
        let link = &run["hops"]["box.link"];
        assert!(link["rate_bps"]["mean"].as_f64().unwrap() <= 40e6 * 1.0001, "{link}");
    }
}

#[test]
fn what_is_asked_for_on_the_command_line_wins() {
    let folder = folder();
    let arguments = ["run", "net.toml", "--json", "--scheduler", "red+red", "--seed", "7", "--set", "seeds=2"];
    let document = json(&folder.dovetail(&arguments).succeeds());
    assert_eq!(document["network"]["seeds"], serde_json::json!([7, 8]));
    assert_eq!(document["runs"].as_array().unwrap().len(), 1);
    let said = folder.dovetail(&[&arguments[..], &["--threads", "1"]].concat()).succeeds();
    assert_eq!(json(&said), document, "results do not depend on the number of threads");
}

#[test]
fn wrong_networks_are_refused_with_the_place_and_what_would_be_right() {
    refused("delay =", "dealy =", &["unknown key `dealy`", "net.toml:9:1", "did you mean `delay`?"]);
    refused("20 Mcycles/s", "20 Mbps", &["\"20 Mbps\"", "net.toml:7:7", "unknown unit \"Mbps\"", "Mcycles/s"]);
    refused("40 Mbps", "0 Mbps", &["net.toml:8:8", "it is zero"]);
    refused("0.25 cycles/bit", "-1 cycles/bit", &["net.toml:13:11", "it is negative"]);
    refused(
        "class = \"light\"",
        "class = \"lihgt\"",
        &["net.toml:20:9", "no class \"lihgt\"", "did you mean \"light\"?"],
    );
    refused("route = [\"box\"]", "route = [\"bxo\"]", &["net.toml:22:9", "no hop \"bxo\"", "did you mean \"box\"?"]);
    refused("40 ms", "19 ms", &["net.toml:23:7", "too short", "10 ms one way; expected at least 20 ms"]);
    refused("40 ms", "20 to 60 ms", &["\"20 to 60 ms\": the unit is missing", "or \"20 ms to 60 ms\""]);
    refused("40 ms", "0 ms", &["\"0 ms\": it is zero", "such as \"40 ms\""]);
    refused("count = 4", "count = 0", &["net.toml:21:9", "`0`: expected a whole number from 1 to 1048576"]);
    refused("500 B", "20 B", &["net.toml:24:10", "expected 41 to 65535"]);
    refused("until = \"2 s\"\n", "", &["error: net.toml: missing key `until`"]);
    refused("until = \"2 s\"", "until = \"1 s\"", &["the run ends at 1 s"]);
    refused(
        "until = \"2 s\"",
        "until = \"2 s\"\necn = \"metdata\"",
        &["net.toml:3:7", "`metdata`", "did you mean `metadata`?"],
    );
    refused(
        "until = \"2 s\"",
        "until = \"2 s\"\necn = true",
        &["net.toml:3:7", "`true`: expected a quoted text", "`paper`, `rfc3168`, `metadata`"],
    );
    refused("count = 4", "count = 4\ndelayed_ack = \"1 s\"", &["net.toml:22:15", "expected at most 500 ms"]);
    refused("drq:weight=0.01", "drq:gentle=no", &["net.toml:1:26", "drq has no parameter \"gentle\""]);
    refused("drq:weight=0.01", "drq:mean_packet=500", &["net.toml:1:26", "a length such as 500 B"]);
    refused(
        "[[hop]]",
        "[[resource]]\nname = \"cpu\"\n[[hop]]",
        &["net.toml:7:", "a pipeline has [[resource]]", "a network [[hop]]"],
    );
    refused("drq:weight=0.01", "drq:wieght=0.01", &["net.toml:1:26", "did you mean \"weight\"?"]);
    refused("drq:weight=0.01", "drq:weight=0", &["net.toml:1:26", "weight"]);
    refused("red+red", "red+rde", &["did you mean \"red\"?"]);
    refused("schedulers = [\"red+red\", \"drq:weight=0.01\"]\n", "", &["--scheduler"]);
    refused("\nname = \"heavy\"", "\nname = \"light\"", &["net.toml:15:", "the class \"light\" is there twice"]);
    refused("[[hop]]", "[hop]", &["net.toml:5:1", "to begin a member, write [[hop]]"]);
    refused("until =", "seed = 99999999999999999999\nuntil =", &["net.toml:2:8", "a whole number from 0 to"]);
    refused("drq:weight=0.01", "dqr", &["no scheduler \"dqr\"", "did you mean \"drq\"?"]);
    refused("count = 4", "ecn = \"no\"", &["net.toml:21:7", "expected `true` or `false`"]);
    refused("\nname = \"light\"", "\nnmae = \"light\"", &["unknown key `nmae`", "did you mean `name`?"]);
}

#[test]
fn overrides_of_what_is_not_there_are_refused() {
    let folder = folder();
    let refused = |set: &str, words: &[&str]| folder.dovetail(&["run", "net.toml", "--set", set]).fails(2, words);
    refused("web.0.rate=5 flows/s", &["--set web.0.rate=5 flows/s: there is no [[web]] in net.toml"]);
    refused("web.short.rate=5 flows/s", &["there is no [[web]] in net.toml"]);
    refused("tcp.2.count=5", &["--set tcp.2.count=5", "there is no \"2\" in the list tcp; there are light, heavy"]);
    refused("seed=9223372036854775808", &["--set seed=", "from 0 to 9223372036854775807"]);
}

/// Short flows, with what is written of their lengths.
fn with_web(lengths: &str) -> String {
    let web = "class = \"light\"\nname = \"short\"\nroute = [\"box\"]\nrtt = \"20 ms to 60 ms\"\nrate = \"50 flows/s\"";
    format!("{NETWORK}\n[[web]]\n{web}\n{lengths}\n")
}

#[test]
fn numbers_in_messages_are_as_short_as_they_are_written() {
    let folder = Folder::new();
    let refused = |lengths: &str, words: &[&str]| {
        folder.write("net.toml", with_web(lengths));
        let said = folder.dovetail(&["run", "net.toml"]);
        said.fails(2, words);
        assert!(!said.err.contains("000000000"), "{}", said.err);
    };
    refused("shape = 1e300", &["error: 1e300: expected a shape from 1.000001 to 1e6", "net.toml:39:9"]);
    refused("mean = 2.5e9", &["error: 2.5e9: expected a mean length of 1 to 1e9 packets"]);
    refused("packet = 1e300", &["error: \"1e300\": the unit is missing"]);
}

#[test]
fn wrong_words_about_captures_are_refused() {
    let folder = folder();
    let one = ["run", "net.toml", "--scheduler", "drq", "--pcap"];
    let refused = |pcap: &str, words: &[&str]| folder.dovetail(&[&one[..], &[pcap]].concat()).fails(2, words);
    refused("box.lnik=link.pcap", &["--pcap", "no hop \"box.lnik\"", "did you mean \"box.link\"?"]);
    refused("box=link.pcap", &["--pcap", "no hop \"box\"", "\"box.cpu\""]);
    refused("link.pcap", &["--pcap", "HOP=FILE", "box.link=link.pcap"]);
    refused("box.link=-", &["--pcap", "\"-\"", "into a file"]);
    folder.dovetail(&["run", "net.toml", "--pcap", "box.link=link.pcap"]).fails(2, &["--pcap", "one --scheduler"]);
    folder.shell("mkdir folder && ln -s folder link").succeeds();
    for [first, again] in [["one.pcap"; 2], ["one.pcap", "folder/../one.pcap"], ["folder/one.pcap", "link/one.pcap"]] {
        let (first, again_in) = (format!("box.link={first}"), format!("box.cpu={again}"));
        let twice = [&one[..], &[&first, "--pcap", &again_in]].concat();
        folder.dovetail(&twice).fails(2, &[&format!("--pcap: {again} is written twice")]);
    }
    folder.shell("rmdir folder && rm link").succeeds();
    refused("box.link=none/link.pcap", &["--pcap: cannot write none/link.pcap", "there is no folder none"]);
    folder.write("file", "where a folder is needed");
    refused("box.link=file/link.pcap", &["--pcap", "there is no folder file"]);
    refused("box.link=file", &["--pcap: cannot write file: there is a file of this name that is no capture"]);
    assert_eq!(std::fs::read_to_string(folder.path("file")).unwrap(), "where a folder is needed");
    refused("box.link=.", &["--pcap", "it names no file"]);
    refused("box.link=/proc/link.pcap", &["--pcap: cannot write /proc/link.pcap: the folder /proc takes no files"]);
    refused("box.link=./net.toml", &["--pcap: cannot write ./net.toml: it is read"]);
    let piped = "$dovetail run - --scheduler drq --pcap box.link=net.toml < net.toml";
    folder.shell(piped).fails(2, &["--pcap: cannot write net.toml: it is read"]);
    std::fs::create_dir(folder.path("out")).unwrap();
    refused("box.link=out", &["--pcap: cannot write out: it is not an ordinary file"]);
    let beside = [&one[..], &["box.link=out/summary.json", "--out", "out"]].concat();
    folder.dovetail(&beside).fails(2, &["--pcap: out/summary.json is a result of --out: choose another name"]);
    assert_eq!((folder.list("."), folder.list("out")), (vec!["file".into(), "net.toml".into(), "out".into()], vec![]));
    assert_eq!(std::fs::read_to_string(folder.path("net.toml")).unwrap(), NETWORK);
}

#[test]
fn results_never_replace_the_scenario() {
    let folder = folder();
    std::fs::create_dir(folder.path("out")).unwrap();
    for name in ["summary.json", "command.json", "flows.parquet", "hops.parquet", "throughput.svg"] {
        folder.write(&format!("out/{name}"), NETWORK);
        let said = folder.dovetail(&["run", &format!("out/{name}"), "--out", "out"]);
        said.fails(2, &[&format!("cannot replace out/{name}: it is read, and a result has its name")]);
        assert_eq!(std::fs::read_to_string(folder.path(&format!("out/{name}"))).unwrap(), NETWORK);
        std::fs::remove_file(folder.path(&format!("out/{name}"))).unwrap();
    }
    folder.dovetail(&["run", "net.toml", "--out", "net.toml"]).fails(2, &["net.toml", "not a directory"]);
    folder.dovetail(&["run", "net.toml", "--out", "out"]).succeeds();
    assert_eq!(folder.list("out").len(), 5, "the five of them are all there is");
}

/// What a capture says of a packet: time, length on the wire, source address and port, sequence number, the ECN field,
/// the flags of TCP.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    time: Time,
    length: u32,
    source: [u8; 4],
    port: u16,
    sequence: u32,
    ecn: u8,
    flags: u8,
    /// The checksums of IP and of TCP, over what they are about: 0xffff if right.
    sums: [u16; 2],
}

/// In ones' complement, of 16-bit words.
fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    ((sum.max(1) - 1) % 0xffff + 1) as u16
}

fn rows(bytes: &[u8]) -> Vec<Row> {
    let mut reader = CaptureReader::new(bytes, "link.pcap").unwrap();
    let mut rows = Vec::new();
    while let Some(record) = reader.next_record() {
        let data = record.data;
        // Zeros behind the headers change no sum.
        let tcp_length = (record.original_len as u16 - 20).to_be_bytes();
        rows.push(Row {
            time: record.time.unwrap(),
            length: record.original_len,
            source: data[12..16].try_into().unwrap(),
            port: u16::from_be_bytes([data[20], data[21]]),
            sequence: u32::from_be_bytes(data[24..28].try_into().unwrap()),
            ecn: data[1] & 3,
            flags: data[33],
            sums: [checksum(&data[..20]), checksum(&[&data[12..20], &[0, 6], &tcp_length, &data[20..40]].concat())],
        });
    }
    assert!(reader.damage().is_none());
    rows
}

/// The capture of the link under DRQ, from the first packet on, and the summary of that run.
fn captured() -> (Folder, Value) {
    let folder = folder();
    let said = folder.dovetail(&[
        "run",
        "net.toml",
        "--json",
        "--scheduler",
        "drq:weight=0.01",
        "--set",
        "warm_up=\"0 s\"",
        "--pcap",
        "box.link=link.pcap",
    ]);
    let document = json(&said.succeeds());
    (folder, document)
}

#[test]
fn a_capture_holds_what_left_the_link() {
    let (folder, document) = captured();
    let bytes = std::fs::read(folder.path("link.pcap")).unwrap();
    let rows = rows(&bytes);
    let mut reader = CaptureReader::new(bytes.as_slice(), "link.pcap").unwrap();
    assert_eq!(CaptureInfo::read(&mut reader, Default::default(), 10, u64::MAX).unwrap().flows, 8);
    // What the link carried in two seconds but for the packet that it is sending at the end.
    let carried = document["runs"][0]["hops"]["box.link"]["rate_bps"]["mean"].as_f64().unwrap() * 2.0 / 8.0;
    let held: f64 = rows.iter().map(|row| f64::from(row.length)).sum();
    assert!((held - carried).abs() <= 500.0, "{held} of {carried} bytes");
    // A SYN counts as one byte, and what follows carries 460.
    assert!(rows.iter().all(|row| (row.sequence == 0) == (row.length == 40)), "{rows:?}");
    assert!(rows.iter().all(|row| row.sequence == 0 || row.sequence % (row.length - 40) == 1), "{rows:?}");
    assert_eq!(rows.iter().filter(|row| row.sequence == 1).count(), 8);
    // 40 Mbit/s are 0.2 us per byte, to a nanosecond.
    for pair in rows.windows(2) {
        let least = Duration::from_nanos(200 * u64::from(pair[1].length) - 1);
        assert!(pair[1].time.since(pair[0].time) >= least, "{pair:?}");
    }
    // The paper's code points: 00, signalling 10, congestion 11.
    assert!(rows.iter().all(|row| row.ecn != 1) && [0, 2, 3].iter().all(|&ecn| rows.iter().any(|row| row.ecn == ecn)));
    // A SYN asks for ECN with ECE and CWR (RFC 3168, 6.1.1), and data is an ACK, with CWR after a reduction.
    let (syns, data): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.length == 40);
    assert!(syns.iter().all(|row| row.flags == 0xc2), "{syns:?}");
    assert!(data.iter().all(|row| row.flags & 0x7f == 0x10) && data.iter().any(|row| row.flags & 0x80 != 0));
    folder.dovetail(&["trace", "info", "link.pcap"]).succeeds();
}

#[test]
fn a_capture_that_is_replaced_is_told() {
    let folder = folder();
    let one = ["run", "net.toml", "-s", "drq:weight=0.01", "--set", "until=1.1 s", "--pcap", "box.link=link.pcap"];
    assert_eq!(folder.dovetail(&one).succeeds().err, "wrote link.pcap\n");
    let first = std::fs::read(folder.path("link.pcap")).unwrap();
    let again = [&one[..], &["--seed", "2"]].concat();
    assert_eq!(folder.dovetail(&again).succeeds().err, "wrote link.pcap (replaced)\n");
    assert_ne!(std::fs::read(folder.path("link.pcap")).unwrap(), first);
}

#[test]
fn checksums_in_a_capture_are_those_of_a_payload_of_zeros() {
    let (folder, _) = captured();
    let rows = rows(&std::fs::read(folder.path("link.pcap")).unwrap());
    assert!(rows.iter().all(|row| row.sums == [0xffff, 0xffff]), "{rows:?}");
}

#[test]
#[ignore = "needs tshark"]
fn tshark_reads_a_capture_as_it_was_written() {
    let (folder, _) = captured();
    let fields = ["frame.time_epoch", "frame.len", "ip.src", "tcp.srcport", "ip.dsfield.ecn", "_ws.malformed"];
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-r", "link.pcap", "-T", "fields"]).current_dir(folder.path("."));
    for field in fields {
        tshark.args(["-e", field]);
    }
    let said = tshark.output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let text = String::from_utf8(said.stdout).unwrap();
    let theirs: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let ours = rows(&std::fs::read(folder.path("link.pcap")).unwrap());
    assert_eq!(theirs.len(), ours.len());
    for (theirs, ours) in theirs.iter().zip(&ours) {
        let (seconds, nanoseconds) = (ours.time.as_nanos() / 1_000_000_000, ours.time.as_nanos() % 1_000_000_000);
        let [a, b, c, d] = ours.source;
        let expected = [
            format!("{seconds}.{nanoseconds:09}"),
            ours.length.to_string(),
            format!("{a}.{b}.{c}.{d}"),
            ours.port.to_string(),
            ours.ecn.to_string(),
        ];
        assert_eq!(theirs[..5], expected, "{ours:?}");
        assert_eq!(theirs.get(5).copied().unwrap_or(""), "", "malformed: {ours:?}");
    }
}

#[test]
fn a_parameter_of_queue_management_as_a_key_or_an_option() {
    let folder = Folder::new();
    folder.write("net.toml", NETWORK);
    let refused = folder.dovetail(&["run", "net.toml", "--set", "max_p=0.3"]);
    refused.fails(2, &["unknown key `max_p`", "a scheduler's parameter, as in red:max_p=0.3"]);
    folder.dovetail(&["run", "net.toml", "--scheduler", "red:max_p=0.3"]).succeeds();
    let refused = folder.dovetail(&["run", "net.toml", "--max_p", "0.3"]);
    refused.fails(2, &["a scheduler's parameter: --scheduler red:max_p=0.3"]);
    folder.write("box.toml", "scheduler = \"drq\"\n[ports]\nin = \"pcap:a.pcap\"\nout = \"pcap:>b.pcap\"\n");
    let refused = folder.dovetail(&["live", "box.toml", "--set", "max_p=0.3"]);
    refused.fails(2, &["a scheduler's parameter: --set scheduler=red:max_p=0.3"]);
}
