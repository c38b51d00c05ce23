//! The control socket and the metrics of a box: what is asked is answered, and nobody who asks can do harm.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use dovetail_dataplane::config::Config;
use dovetail_dataplane::control::protocol::{Answer, LONGEST, Request};
use dovetail_dataplane::control::{Bound, Client, ClientError, Counter, Desk, Socket};
use dovetail_dataplane::core::{Middlebox, PortSnapshot, Snapshot};
use dovetail_dataplane::live::Live;
use dovetail_dataplane::metrics::{self, Metrics};
use dovetail_dataplane::port::LinkState;
use dovetail_dataplane::port::memory::pair;
use dovetail_units::{Duration, Time};
use dovetail_wire::LinkType;
use etherparse::PacketBuilder;

const CONFIG: &str = r#"
scheduler = "tradeoff:alpha=0.85"
[ports]
in = "packet:a"
out = "packet:b"
[cpu]
budget = "20 %"
[link]
rate = "64 Mbps"
[[class]]
name = "dear"
match = [{ protocol = "udp", dport = "5000-5999" }]
cost = "300 us"
queue = "2 packets"
[[class]]
name = "cheap"
cost = "10 us"
"#;

fn parse(text: &str) -> Result<Config, String> {
    Config::parse("box.toml", text, &[]).map_err(|error| error.to_string())
}

fn middlebox(text: &str) -> Middlebox {
    parse(text).unwrap().middlebox().unwrap()
}

/// A UDP frame to this port.
fn put(middlebox: &mut Middlebox, now: Time, port: u16) {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64).udp(9, port);
    builder.write(&mut bytes, &[0; 758]).unwrap();
    let mut frame = middlebox.pool.take();
    frame.fill(now, &bytes, LinkType::ETHERNET);
    middlebox.receive(now, frame);
}

/// Of one flow of "dear" a frame is on the CPU, two wait, and a fourth found no room; one frame waits of each of
/// `cheap` flows.
fn with_traffic(cheap: u16) -> Middlebox {
    let mut middlebox = middlebox(CONFIG);
    let now = Time::from_nanos(1_000_000_000);
    put(&mut middlebox, now, 5000);
    middlebox.advance(now);
    (0..3).for_each(|_| put(&mut middlebox, now, 5000));
    (0..cheap).for_each(|i| put(&mut middlebox, now, i + 1));
    middlebox.advance(now + Duration::from_micros(50));
    middlebox
}

/// The box between ports to which nobody is connected.
fn between_ports(middlebox: Middlebox) -> Live {
    let [inside, outside] = pair(["a", "b"], LinkType::ETHERNET, 1);
    Live::new(middlebox, Box::new(inside), Box::new(outside), Duration::ZERO)
}

/// A worker that does nothing but answer.
struct Running {
    counter: Counter,
    over: Arc<AtomicBool>,
    worker: Option<JoinHandle<()>>,
}

impl Running {
    fn start(make: impl FnOnce() -> Middlebox + Send + 'static) -> Self {
        let (mut desk, counter) = Desk::open();
        let over = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&over);
        let worker = thread::spawn(move || {
            let mut live = between_ports(make());
            let mut now = Time::from_nanos(2_000_000_000);
            while !end.load(Ordering::Relaxed) {
                now += Duration::from_millis(10);
                desk.answer(now, &mut live);
                thread::yield_now();
            }
        });
        Self { counter, over, worker: Some(worker) }
    }

    fn change(&self, request: Request) -> String {
        match self.counter.ask(request) {
            Answer::Done(done) => done,
            other => panic!("{other:?}"),
        }
    }

    fn refuses(&self, request: Request, words: &str) {
        match self.counter.ask(request) {
            Answer::Error(message) => assert!(message.contains(words), "{words:?} is missing in {message}"),
            other => panic!("{other:?}"),
        }
    }

    fn snapshot(&self) -> Snapshot {
        match self.counter.ask(Request::Snapshot { flows: 10 }) {
            Answer::Snapshot(snapshot) => *snapshot,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.worker.take().unwrap().join().unwrap();
    }
}

fn set(parameter: &str, value: &str) -> Request {
    Request::Set { parameter: parameter.into(), value: value.into() }
}

fn weight(class: &str, weight: &str) -> Request {
    Request::Weight { class: class.into(), weight: weight.into() }
}

fn alpha(class: &str, alpha: &str) -> Request {
    Request::Alpha { class: class.into(), alpha: alpha.into() }
}

fn queue(class: &str, limit: &str) -> Request {
    Request::Queue { class: class.into(), limit: limit.into() }
}

fn budget(budget: &str) -> Request {
    Request::Budget { budget: budget.into() }
}

fn rate(rate: &str) -> Request {
    Request::Rate { rate: rate.into() }
}

/// What can be changed, as a snapshot tells of it.
fn settings(snapshot: &Snapshot) -> (String, Vec<f64>, [Option<f64>; 2]) {
    let weights = snapshot.classes.iter().map(|class| class.weight).collect();
    let capacity = ["cpu", "link"].map(|name| snapshot.resources[name].capacity);
    (snapshot.scheduler.clone(), weights, capacity)
}

#[test]
fn changes_are_seen_in_the_next_snapshot() {
    let running = Running::start(|| with_traffic(0));
    assert_eq!(running.change(set("alpha", "0.5")), "alpha=0.5");
    assert_eq!(running.change(weight("dear", "2.5")), "weight of dear=2.5");
    assert_eq!(running.change(budget("40 %")), "budget=40 %");
    assert_eq!(running.change(rate("10 Mbps")), "rate=10 Mbps");
    let expected = ("tradeoff:alpha=0.5".to_string(), vec![2.5, 1.0], [Some(0.4), Some(1e7)]);
    assert_eq!(settings(&running.snapshot()), expected);
    assert_eq!(running.change(alpha("cheap", "0.7")), "alpha of cheap=0.7");
    let alphas = || running.snapshot().classes.iter().map(|class| class.alpha).collect::<Vec<_>>();
    assert_eq!(alphas(), [None, Some(0.7)]);
    assert_eq!(running.change(alpha("cheap", "none")), "alpha of cheap=none");
    assert_eq!(alphas(), [None, None]);
    running.change(rate("unlimited"));
    assert_eq!(running.snapshot().resources["link"].capacity, None);
}

#[test]
fn a_queue_limit_changes_for_flows_that_exist_and_those_to_come() {
    let (mut desk, counter) = Desk::open();
    let mut live = between_ports(with_traffic(0));
    assert_eq!(live.middlebox.drops().total(), 1, "the fourth finds no room in a queue of two");
    let asking = thread::spawn(move || counter.ask(queue("dear", "unlimited")));
    let mut now = Time::from_nanos(1_000_060_000);
    while !asking.is_finished() {
        now += Duration::from_nanos(1);
        desk.answer(now, &mut live);
    }
    assert!(matches!(asking.join().unwrap(), Answer::Done(_)));
    (0..9).for_each(|_| put(&mut live.middlebox, now, 5000));
    assert_eq!(live.middlebox.drops().total(), 1);
}

#[test]
fn a_wrong_request_names_the_nearest_and_changes_nothing() {
    let running = Running::start(|| with_traffic(0));
    let before = settings(&running.snapshot());
    running.refuses(set("alhpa", "0.5"), "did you mean \"alpha\"?");
    running.refuses(set("alpha", "1.5"), "alpha=1.5: expected");
    running.refuses(weight("daer", "2"), "there is no class \"daer\"; did you mean \"dear\"?");
    running.refuses(weight("dear", "-1"), "-1");
    running.refuses(weight("dear", "heavy"), "heavy");
    running.refuses(alpha("daer", "0.5"), "there is no class \"daer\"; did you mean \"dear\"?");
    running.refuses(alpha("dear", "1.5"), "\"1.5\": it is out of range; expected 0 or a number from 0.001 to 1");
    running.refuses(alpha("dear", "off"), "or none for what all are guaranteed");
    running.refuses(queue("dear", "many"), "expected \"unlimited\", \"200 packets\"");
    running.refuses(queue("cheep", "unlimited"), "did you mean \"cheap\"?");
    running.refuses(budget("120 %"), "up to \"100 %\"");
    running.refuses(budget("0 %"), "above 0");
    running.refuses(rate("40"), "40");
    running.refuses(rate("0 Mbps"), "0 Mbps");
    assert_eq!(settings(&running.snapshot()), before);
}

#[test]
fn a_scheduler_without_an_alpha_takes_none_of_a_class() {
    let running = Running::start(|| middlebox(&CONFIG.replace("tradeoff:alpha=0.85", "drfq")));
    running.refuses(alpha("dear", "0.7"), "drfq guarantees no parts of fair shares; tradeoff does");
}

#[test]
fn a_parameter_of_a_composition_changes_in_the_parts_that_have_it() {
    let running = Running::start(|| middlebox(&CONFIG.replace("tradeoff:alpha=0.85", "drr+sfq")));
    running.change(set("quantum", "120 us"));
    running.refuses(set("quantun", "120 us"), "did you mean \"quantum\"?");
    running.refuses(set("quantum", "-3 us"), "quantum");
}

#[test]
fn of_many_flows_those_come_first_of_which_most_waits() {
    let running = Running::start(|| with_traffic(200));
    let flows = |flows| match running.counter.ask(Request::Snapshot { flows }) {
        Answer::Snapshot(snapshot) => {
            assert_eq!(snapshot.classes.iter().map(|class| class.flows).sum::<u64>(), 201);
            snapshot.flows
        }
        other => panic!("{other:?}"),
    };
    assert!(flows(0).is_empty());
    assert_eq!(flows(20).len(), 20);
    assert_eq!(flows(usize::MAX).len(), 201);
    let first = flows(1);
    assert_eq!((first[0].class.as_str(), first[0].queued), ("dear", 2));
}

#[test]
fn after_the_worker_has_ended_clients_hear_so() {
    let counter = Running::start(|| middlebox(CONFIG)).counter.clone();
    let Answer::Unavailable(message) = counter.ask(Request::Stop {}) else { panic!() };
    assert!(message.contains("the box ends"), "{message}");
}

/// A socket in a folder of its own, and a worker behind it.
struct Reachable {
    socket: Option<Socket>,
    running: Running,
    folder: tempfile::TempDir,
}

impl Reachable {
    fn start() -> Self {
        Self::with_flows(300)
    }

    fn with_flows(flows: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let running = Running::start(move || with_traffic(flows));
        let socket = Bound::at(&folder.path().join("run/box.sock")).unwrap().serve(running.counter.clone()).unwrap();
        Self { socket: Some(socket), running, folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("run/box.sock")
    }

    fn client(&self) -> Client {
        Client::connect(&self.path()).unwrap()
    }

    fn raw(&self) -> UnixStream {
        UnixStream::connect(self.path()).unwrap()
    }
}

fn answer(stream: &UnixStream) -> Answer {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    Answer::from_line(line.as_bytes()).unwrap()
}

#[test]
fn a_client_asks_again_and_again_over_the_socket() {
    let reachable = Reachable::start();
    let mut client = reachable.client();
    assert_eq!(client.snapshot(5).unwrap().flows.len(), 5);
    assert_eq!(client.change(&set("alpha", "0.25")).unwrap(), "alpha=0.25");
    assert!(matches!(client.change(&set("alhpa", "1")), Err(ClientError::Refused(_))));
    assert_eq!(client.snapshot(0).unwrap().scheduler, "tradeoff:alpha=0.25");
}

#[test]
fn only_the_owner_can_use_the_socket_and_it_goes_with_the_box() {
    let mut reachable = Reachable::start();
    let mode = fs::metadata(reachable.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    reachable.socket.take();
    assert!(!reachable.path().exists());
}

#[test]
fn the_socket_of_a_dead_box_is_replaced_and_that_of_a_live_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("box.sock");
    let running = Running::start(|| middlebox(CONFIG));
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let first = Bound::at(&path).unwrap().serve(running.counter.clone()).unwrap();
    let second = Bound::at(&path).err().unwrap().to_string();
    assert!(second.contains("another box listens there"), "{second}");
    assert!(Client::connect(&path).unwrap().snapshot(0).is_ok());
    drop(first);
    // Of a box that ends before it answers nothing stays either.
    drop(Bound::at(&path).unwrap());
    assert!(!path.exists());
    fs::write(&path, "a letter").unwrap();
    let third = Bound::at(&path).err().unwrap().to_string();
    assert!(third.contains("is not a socket"), "{third}");
    assert_eq!(fs::read(&path).unwrap(), b"a letter");
}

#[test]
fn a_box_whose_socket_was_removed_ends_and_leaves_that_of_another_box_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("box.sock");
    let running = Running::start(|| middlebox(CONFIG));
    let open = || Bound::at(&path).unwrap();
    let serve = || open().serve(running.counter.clone()).unwrap();
    for another in [false, true] {
        let first = serve();
        fs::remove_file(&path).unwrap();
        let second = another.then(serve);
        let (tell, told) = std::sync::mpsc::channel();
        thread::spawn(move || {
            drop(first);
            tell.send(()).unwrap();
        });
        told.recv_timeout(std::time::Duration::from_secs(60)).expect("it ends");
        assert_eq!(path.exists(), another);
        assert!(second.is_none_or(|_| Client::connect(&path).unwrap().snapshot(0).is_ok()));
        assert!(!path.exists());
    }
    // One that answers nobody yet.
    let first = open();
    fs::remove_file(&path).unwrap();
    let second = open();
    drop(first);
    assert!(path.exists());
    drop(second);
}

#[test]
fn a_request_that_is_too_long_ends_its_client_only() {
    let reachable = Reachable::start();
    let mut hostile = reachable.raw();
    // The box may close before all is written.
    let _ = hostile.write_all(&vec![b'x'; 3 * LONGEST]);
    let mut said = Vec::new();
    let _ = hostile.read_to_end(&mut said);
    assert!(reachable.client().snapshot(0).is_ok());
    let mut long = reachable.raw();
    long.write_all(&[vec![b' '; LONGEST + 1], b"\n".to_vec()].concat()).unwrap();
    let Answer::Error(message) = answer(&long) else { panic!() };
    assert!(message.contains("at most 4096 bytes"), "{message}");
}

#[test]
fn nonsense_is_answered_and_the_next_request_is_heard() {
    let reachable = Reachable::start();
    let mut stream = reachable.raw();
    for nonsense in [&b"\n"[..], b"\0\xff\n", b"{}\n", b"[[[[[[[[\n", b"{\"version\":1,\"request\":{}}\n"] {
        stream.write_all(nonsense).unwrap();
        assert!(matches!(answer(&stream), Answer::Error(_)));
    }
    stream.write_all(Request::Snapshot { flows: 0 }.to_line().as_bytes()).unwrap();
    assert!(matches!(answer(&stream), Answer::Snapshot(_)));
}

#[test]
fn silent_clients_fill_their_places_and_no_more() {
    let reachable = Reachable::start();
    let mut silent: Vec<UnixStream> = (0..8).map(|_| reachable.raw()).collect();
    let full = reachable.client().snapshot(0).unwrap_err();
    assert!(matches!(&full, ClientError::Unavailable(_)), "{full:?}");
    assert!(full.to_string().contains("8 clients talk to this box already"), "{full}");
    // The worker is not concerned.
    assert!(reachable.running.snapshot().time_s > 0.0);
    silent.pop();
    // The place is free as soon as the box has seen that the client is gone.
    let heard = (0..10_000).any(|_| reachable.client().snapshot(0).is_ok());
    assert!(heard);
}

fn wait(ms: u64) {
    thread::park_timeout(std::time::Duration::from_millis(ms));
}

#[test]
fn clients_whose_requests_come_byte_by_byte_lose_their_places_after_two_seconds() {
    let reachable = Reachable::start();
    let mut slow: Vec<UnixStream> = (0..8).map(|_| reachable.raw()).collect();
    assert!(matches!(reachable.client().snapshot(0), Err(ClientError::Unavailable(_))));
    let heard = (0..15).any(|_| {
        slow.iter_mut().for_each(|slow| drop(slow.write_all(b" ")));
        wait(300);
        reachable.client().snapshot(0).is_ok()
    });
    assert!(heard);
}

#[test]
fn clients_that_take_an_answer_piece_by_piece_lose_their_places_after_two_seconds() {
    let reachable = Reachable::with_flows(1000);
    let request = Request::Snapshot { flows: 1000 }.to_line();
    let mut slow: Vec<UnixStream> = (0..8).map(|_| reachable.raw()).collect();
    for slow in &mut slow {
        slow.set_nonblocking(true).unwrap();
        // Until the box, which cannot get rid of its answers, reads no more.
        while slow.write(request.as_bytes()).is_ok() {}
    }
    assert!(matches!(reachable.client().snapshot(0), Err(ClientError::Unavailable(_))));
    // An answer has 38 such pieces.
    let heard = (0..15).any(|_| {
        slow.iter_mut().for_each(|slow| drop(slow.read(&mut [0; 12_000])));
        wait(300);
        reachable.client().snapshot(0).is_ok()
    });
    assert!(heard);
}

#[test]
fn a_client_that_takes_no_answers_does_not_hold_the_worker() {
    let reachable = Reachable::start();
    let mut greedy = reachable.raw();
    greedy.set_nonblocking(true).unwrap();
    let request = Request::Snapshot { flows: 1000 }.to_line();
    // Until the box, which cannot get rid of its answers, reads no more.
    while greedy.write(request.as_bytes()).is_ok() {}
    for _ in 0..10 {
        assert!(reachable.client().snapshot(0).is_ok());
    }
}

fn get(metrics: &Metrics, path: &str) -> String {
    http(metrics, "GET", path)
}

fn http(metrics: &Metrics, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(metrics.address().unwrap()).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: box\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Names with labels, and values, of an exposition in the OpenMetrics text format.
fn samples(text: &str) -> Vec<(&str, f64)> {
    assert!(text.ends_with("# EOF\n"), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once(' ').map(|(name, value)| (name, value.parse().unwrap())).unwrap()).collect()
}

#[test]
fn a_scrape_has_what_the_snapshot_has() {
    let snapshot = with_traffic(300).snapshot(Time::from_nanos(1_000_050_000));
    let running = Running::start(|| with_traffic(300));
    let metrics = Metrics::serve(TcpListener::bind("127.0.0.1:0").unwrap(), running.counter.clone()).unwrap();
    let scrape = get(&metrics, "/metrics");
    let (head, body) = scrape.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/openmetrics-text"), "{head}");
    let samples = samples(body);
    let value = |name: &str| {
        let found = samples.iter().find(|(sample, _)| *sample == name);
        found.unwrap_or_else(|| panic!("{name} is missing in\n{body}")).1
    };
    let [dear, cheap] = [0, 1].map(|i| &snapshot.classes[i].frames);
    assert_eq!(value("dovetail_received_frames_total{class=\"dear\"}"), dear.frames_in as f64);
    assert_eq!(value("dovetail_received_bytes_total{class=\"cheap\"}"), cheap.bytes_in as f64);
    assert_eq!(value("dovetail_processed_frames_total{class=\"dear\"}"), dear.frames_processed as f64);
    assert_eq!(value("dovetail_cpu_seconds_total{class=\"dear\"}"), dear.cpu_s);
    assert_eq!(value("dovetail_busy_seconds_total{resource=\"cpu\"}"), snapshot.total.cpu_s);
    assert_eq!(value("dovetail_flows{class=\"cheap\"}"), 300.0);
    assert_eq!(value("dovetail_held_frames{class=\"dear\"}"), dear.held as f64);
    assert_eq!(value("dovetail_flow_weight{class=\"dear\"}"), 1.0);
    let (reason, &count) = dear.dropped.first_key_value().unwrap();
    let dropped = format!("dovetail_dropped_frames_total{{class=\"dear\",reason=\"{reason}\"}}");
    assert_eq!(value(&dropped), count as f64);
    assert!(get(&metrics, "/").starts_with("HTTP/1.1 404"));
}

#[test]
fn a_query_and_head_are_answered_as_get_is_and_other_methods_are_told_so() {
    let running = Running::start(|| with_traffic(3));
    let metrics = Metrics::serve(TcpListener::bind("127.0.0.1:0").unwrap(), running.counter.clone()).unwrap();
    let scrape = get(&metrics, "/metrics?x=1&y=/");
    let (head, body) = scrape.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && body.ends_with("# EOF\n"), "{scrape}");
    let head_only = http(&metrics, "HEAD", "/metrics");
    let (head, body) = head_only.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/openmetrics-text"), "{head}");
    assert_eq!(body, "");
    let other = http(&metrics, "POST", "/metrics");
    assert!(other.starts_with("HTTP/1.1 405") && other.contains("\r\nAllow: GET, HEAD\r\n"), "{other}");
    for missing in ["/metrics/", "/metrics2", "/?/metrics"] {
        assert!(get(&metrics, missing).starts_with("HTTP/1.1 404"), "{missing}");
    }
}

#[test]
fn the_number_of_metrics_does_not_depend_on_the_number_of_flows() {
    let lines = |flows| metrics::text(with_traffic(flows).snapshot(Time::from_nanos(1_000_050_000))).lines().count();
    assert_eq!(lines(3), lines(300));
}

#[test]
fn metrics_are_for_this_machine_unless_the_configuration_says_otherwise() {
    let with = |metrics: &str| parse(&CONFIG.replace("[cpu]", &format!("[metrics]\n{metrics}\n[cpu]")));
    assert!(with("listen = \"127.0.0.1:9100\"").is_ok());
    assert!(with("listen = \"[::1]:9100\"").is_ok());
    let message = with("listen = \"0.0.0.0:9100\"").unwrap_err();
    assert!(message.contains("other machines reach this address") && message.contains("remote = true"), "{message}");
    assert!(with("listen = \"0.0.0.0:9100\"\nremote = true").is_ok());
    assert!(with("listen = \"9100\"").is_err());
}

#[test]
fn the_examples_of_the_reference_are_understood() {
    let reference = include_str!("../../../docs/reference/control.md");
    let lines = reference.lines().filter(|line| line.starts_with("{\"version\""));
    let (requests, answers): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.contains("\"request\""));
    for line in &requests {
        Request::from_line(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    for line in &answers {
        Answer::from_line(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    assert_eq!((requests.len(), answers.len()), (9, 3));
}

#[test]
fn the_schema_lists_what_a_snapshot_has() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../docs/reference/control.schema.json")).unwrap();
    let snapshot = with_traffic(1).snapshot(Time::from_nanos(1_000_050_000));
    let snapshot = serde_json::to_value(&snapshot).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<String>>();
    let required = |names: &[&str]| {
        let listed = names.iter().flat_map(|name| schema.pointer(name).unwrap()["required"].as_array().unwrap());
        let mut listed: Vec<String> = listed.map(|key| key.as_str().unwrap().to_string()).collect();
        listed.sort();
        listed
    };
    let frames = "/$defs/frames";
    assert_eq!(keys(&snapshot), required(&["/$defs/snapshot"]));
    assert_eq!(keys(&snapshot["total"]), required(&[frames]));
    let [class, flow] = ["classes", "flows"].map(|list| format!("/$defs/snapshot/properties/{list}/items"));
    assert_eq!(keys(&snapshot["classes"][0]), required(&[frames, &class]));
    assert_eq!(keys(&snapshot["flows"][0]), required(&[frames, &flow]));
    assert_eq!(keys(&snapshot["late_s"]), required(&["/$defs/snapshot/properties/late_s"]));
    assert_eq!(keys(&snapshot["resources"]["cpu"]), required(&["/$defs/resource"]));
    let snapshot = with_modules().snapshot(Time::from_nanos(1_001_000_000));
    let seen = serde_json::to_value(&snapshot.modules[1]).unwrap();
    let module = "/$defs/snapshot/properties/modules/items";
    assert_eq!(keys(&seen), required(&[module]));
    assert_eq!(keys(&seen["heavy"][0]), required(&[&format!("{module}/properties/heavy/items")]));
}

/// A box with modules that has let three frames of one flow through.
fn with_modules() -> Middlebox {
    let modules = r#"modules = ["seen", "ids", "headers"]
[[module]]
name = "ids"
kind = "match"
patterns = ["\u0000"]
[[module]]
name = "seen"
kind = "monitor"
[[module]]
name = "headers"
kind = "check"
"#;
    let mut middlebox = middlebox(&format!("{CONFIG}{modules}"));
    let now = Time::from_nanos(1_000_000_000);
    (0..3).for_each(|_| put(&mut middlebox, now, 7));
    middlebox.advance(now);
    middlebox.advance(now + Duration::from_millis(1));
    middlebox
}

#[test]
fn a_snapshot_has_what_modules_have_counted() {
    let middlebox = with_modules();
    let now = Time::from_nanos(1_001_000_000);
    let [ids, seen, headers] = <[_; 3]>::try_from(middlebox.snapshot(now).modules).unwrap();
    assert_eq!((ids.module.as_str(), ids.kind.as_str()), ("ids", "match"));
    // Each frame has 758 zeros behind its headers, and some within that of UDP.
    assert_eq!(ids.counters["alerts"], 3);
    assert!(ids.counters["matches"] >= 3 * 758);
    assert_eq!((seen.counters["packets"], seen.counters["bytes"], seen.counters["flows"]), (3, 2400, 1));
    let [flow, prefix] = <[_; 2]>::try_from(seen.heavy).unwrap();
    assert!(flow.name.contains("10.0.1.1") && flow.bytes == 2400, "{flow:?}");
    assert_eq!((prefix.name.as_str(), prefix.bytes), ("10.0.0.0/24", 2400));
    assert!(headers.counters.is_empty());
    // To find the heaviest it takes a look at all: not where nobody asks for flows.
    assert!(middlebox.snapshot_of(now, 0).modules.iter().all(|module| module.heavy.is_empty()));
    assert_eq!(middlebox.snapshot_of(now, 0).modules[1].counters, seen.counters);
}

#[test]
fn metrics_have_what_modules_have_counted() {
    let text = metrics::text(with_modules().snapshot_of(Time::from_nanos(1_001_000_000), 0));
    let samples = samples(&text);
    assert!(samples.contains(&("dovetail_module{module=\"ids\",kind=\"match\",count=\"alerts\"}", 3.0)), "{text}");
    assert!(samples.contains(&("dovetail_module{module=\"seen\",kind=\"monitor\",count=\"bytes\"}", 2400.0)), "{text}");
}

#[test]
fn metrics_tell_how_late_frames_leave() {
    let snapshot = with_modules().snapshot_of(Time::from_nanos(1_001_000_000), 0);
    let (late, left) = (snapshot.late_s, snapshot.total.frames_out);
    let text = metrics::text(snapshot);
    let value = |name: &str| samples(&text).iter().find(|(sample, _)| *sample == name).unwrap().1;
    // They were due within a millisecond, at the end of which somebody looked.
    assert!(left == 3 && late.max > 0.0 && late.sum > late.max, "{late:?}");
    assert_eq!(value("dovetail_late_max_seconds"), late.max);
    assert_eq!(value("dovetail_late_seconds_total"), late.sum);
}

#[test]
fn metrics_tell_what_ports_lose_and_whether_their_links_are_up() {
    let mut snapshot = with_modules().snapshot_of(Time::from_nanos(1_001_000_000), 0);
    let port = PortSnapshot {
        name: "eth0".into(),
        link: Some(LinkState::NoCarrier),
        received: 10,
        missed: 2,
        oversize: 3,
        sent: 4,
        unsent: 15,
        too_long: 1,
        down: 2,
        full: 3,
        short: 4,
        held: 0,
    };
    snapshot.ports =
        [("in".to_string(), port.clone()), ("out".to_string(), PortSnapshot { link: None, ..port })].into();
    (snapshot.outgoing, snapshot.unaccounted) = (7, -1);
    let text = metrics::text(snapshot);
    let value = |name: &str| samples(&text).iter().find(|(sample, _)| *sample == name).map(|(_, value)| *value);
    for (name, expected) in [
        ("missed_frames_total{port=\"in\"}", 2.0),
        ("oversize_frames_total{port=\"out\"}", 3.0),
        ("unsent_frames_total{port=\"in\",reason=\"too-long\"}", 1.0),
        ("unsent_frames_total{port=\"in\",reason=\"other\"}", 5.0),
        ("up{port=\"in\"}", 0.0),
    ] {
        assert_eq!(value(&format!("dovetail_port_{name}")), Some(expected), "{name}\n{text}");
    }
    assert_eq!(value("dovetail_port_up{port=\"out\"}"), None, "a capture has no link");
    assert_eq!(value("dovetail_outgoing_frames"), Some(7.0));
    assert_eq!(value("dovetail_unaccounted_frames"), Some(-1.0));
}
