//! Metrics of a box over HTTP, to scrapers that do what they may not.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration as Wait;

use dovetail_dataplane::config::Config;
use dovetail_dataplane::control::Desk;
use dovetail_dataplane::core::Snapshot;
use dovetail_dataplane::live::Live;
use dovetail_dataplane::metrics::{self, Metrics};
use dovetail_dataplane::port::memory::pair;
use dovetail_units::{Duration, Time};
use dovetail_wire::LinkType;

const CONFIG: &str = "scheduler = \"drr\"\nports = { in = \"packet:a\", out = \"packet:b\" }\n";

const NOW: Time = Time::from_nanos(1_000_000_000);

fn parse(text: &str) -> Result<Config, String> {
    Config::parse("box.toml", text, &[]).map_err(|error| error.to_string())
}

/// A box that does nothing but answer.
struct Answering {
    metrics: Option<Metrics>,
    over: Arc<AtomicBool>,
    worker: Option<JoinHandle<()>>,
}

impl Answering {
    fn start() -> Self {
        let (mut desk, counter) = Desk::open();
        let over = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&over);
        let worker = thread::spawn(move || {
            let [inside, outside] = pair(["a", "b"], LinkType::ETHERNET, 1);
            let middlebox = parse(CONFIG).unwrap().middlebox().unwrap();
            let mut live = Live::new(middlebox, Box::new(inside), Box::new(outside), Duration::ZERO);
            let mut now = NOW;
            while !end.load(Ordering::Relaxed) {
                now += Duration::from_millis(10);
                desk.answer(now, &mut live);
                thread::yield_now();
            }
        });
        let metrics = Metrics::serve(TcpListener::bind("127.0.0.1:0").unwrap(), counter).unwrap();
        Self { metrics: Some(metrics), over, worker: Some(worker) }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.metrics.as_ref().unwrap().address().unwrap()).unwrap()
    }

    /// All that a client hears that says this and then listens.
    fn ask(&self, request: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        // The box may close before all is written.
        let _ = stream.write_all(request.as_ref());
        heard(&mut stream)
    }

    #[track_caller]
    fn is_well(&self) {
        let scrape = self.ask("GET /metrics HTTP/1.1\r\nHost: box\r\n\r\n");
        assert!(scrape.starts_with("HTTP/1.1 200 OK\r\n") && scrape.ends_with("# EOF\n"), "{scrape}");
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        drop(self.metrics.take());
        self.over.store(true, Ordering::Relaxed);
        self.worker.take().unwrap().join().unwrap();
    }
}

/// All that the box says until it closes the connection, which it does in time.
fn heard(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(Wait::from_secs(60))).unwrap();
    let mut text = Vec::new();
    match stream.read_to_end(&mut text) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("still open: {:?}", text.escape_ascii()),
        // A connection that is reset is closed too.
        _ => String::from_utf8(text).unwrap(),
    }
}

#[test]
fn a_response_says_how_long_it_is_and_that_it_is_the_last() {
    let answering = Answering::start();
    for (request, status) in
        [("GET /metrics", "200 OK"), ("GET /other", "404 Not Found"), ("PUT /metrics", "405 Method Not Allowed")]
    {
        let scrape = answering.ask(format!("{request} HTTP/1.1\r\nHost: box\r\nConnection: keep-alive\r\n\r\n"));
        let (head, body) = scrape.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{head}");
        assert!(head.contains("\r\nConnection: close"), "{head}");
        assert!(head.contains(&format!("\r\nContent-Length: {}", body.len())), "{head}");
    }
}

#[test]
fn whatever_length_a_request_claims_it_is_answered_and_forgotten() {
    let answering = Answering::start();
    let claims = ["4611686018427387904", "18446744073709551615", "5000000000", "-1", "1\r\nContent-Length: 2"];
    let mut silent = Vec::new();
    for claim in claims {
        let mut stream = answering.connect();
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: box\r\nContent-Length: {claim}\r\n\r\n").unwrap();
        assert!(heard(&mut stream).starts_with("HTTP/1.1 200"), "{claim}");
        // The body does not come, and the client stays.
        silent.push(stream);
        answering.is_well();
    }
    let body = vec![b'x'; 100_000];
    let head = format!("POST /metrics HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
    assert!(answering.ask([head.as_bytes(), &body].concat()).starts_with("HTTP/1.1 405"));
}

#[test]
fn who_asks_on_and_on_and_listens_to_nothing_holds_neither_others_nor_the_end_of_the_box() {
    let mut answering = Answering::start();
    let mut greedy = answering.connect();
    greedy.set_write_timeout(Some(Wait::from_millis(100))).unwrap();
    let request = b"GET /metrics HTTP/1.1\r\nHost: box\r\n\r\n".repeat(100);
    // Until the box, which cannot get rid of its answers, reads no more, or the connection is closed.
    while greedy.write(&request).is_ok() {}
    answering.is_well();
    drop(answering.metrics.take());
}

#[test]
fn eight_clients_are_heard_at_a_time_and_more_are_closed_at_once() {
    let answering = Answering::start();
    let idle: Vec<TcpStream> = (0..8).map(|_| answering.connect()).collect();
    for mut refused in (0..100).map(|_| answering.connect()) {
        assert_eq!(heard(&mut refused), "");
    }
    drop(idle);
    // A place is free as soon as the box has seen that the client is gone.
    let scrape = || answering.ask("GET /metrics HTTP/1.1\r\n\r\n");
    assert!((0..10_000).any(|_| scrape().starts_with("HTTP/1.1 200")));
}

#[test]
fn a_head_is_limited_in_length_and_in_lines() {
    let answering = Answering::start();
    let line = "a: b\r\n";
    for endless in
        [vec![b'x'; 1 << 20], b"\r\n".repeat(5000), format!("GET / HTTP/1.1\r\n{}\r\n", line.repeat(100)).into()]
    {
        let said = answering.ask(endless);
        assert!(said.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{said}");
    }
    let padded = |length: usize| format!("GET /metrics HTTP/1.1\r\na: {}\r\n\r\n", "b".repeat(length - 30));
    assert_eq!(padded(8192).len(), 8192);
    assert!(answering.ask(padded(8192)).starts_with("HTTP/1.1 200"));
    assert!(answering.ask(padded(8193)).starts_with("HTTP/1.1 431"));
}

#[test]
fn a_head_that_comes_byte_by_byte_is_not_waited_for() {
    let answering = Answering::start();
    let mut slow = answering.connect();
    slow.set_read_timeout(Some(Wait::from_millis(20))).unwrap();
    slow.write_all(b"GET /").unwrap();
    let is_open = |slow: &mut TcpStream| {
        slow.write_all(b"x").is_ok() && slow.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    assert!((0..3000).any(|_| !is_open(&mut slow)));
}

#[test]
fn what_is_no_http_is_told_so() {
    let answering = Answering::start();
    for nonsense in ["\0\0\0\0", "GET /metrics\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "{\"version\":1}\n"] {
        let said = answering.ask(nonsense);
        assert!(said.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{nonsense:?}: {said}");
    }
}

/// A box with a class and a module of these names.
fn named(class: &str, module: &str) -> String {
    // As in JSON, so in TOML.
    let [class, module] = [class, module].map(|name| serde_json::to_string(name).unwrap());
    format!(
        "{CONFIG}[[class]]\nname = {class}\nmodules = [{module}]\n[[module]]\nname = {module}\nkind = \"monitor\"\n"
    )
}

/// The labels of a line, as OpenMetrics has them: names and values.
fn labels(line: &str) -> Vec<(String, String)> {
    let (mut all, mut rest) = (Vec::new(), line.split_once('{').unwrap().1);
    loop {
        let (name, value) = rest.split_once("=\"").unwrap();
        let (mut unescaped, mut chars) = (String::new(), value.chars());
        loop {
            match chars.next().unwrap() {
                '"' => break,
                '\\' => unescaped.push(match chars.next().unwrap() {
                    'n' => '\n',
                    other @ ('"' | '\\') => other,
                    other => panic!("\\{other} in {line}"),
                }),
                other => unescaped.push(other),
            }
        }
        all.push((name.to_string(), unescaped));
        match chars.as_str().strip_prefix(',') {
            Some(more) => rest = more,
            None => break assert!(chars.as_str().starts_with("} "), "{line}"),
        }
    }
    all
}

#[test]
fn names_are_read_from_labels_as_they_are_in_the_configuration() {
    for name in ["customer \"A\"", "C:\\new", "\\", "a\"} 1", "naïve, {b=\"c\"}"] {
        let mut snapshot: Snapshot = parse(&named(name, name)).unwrap().middlebox().unwrap().snapshot(NOW);
        snapshot.classes[0].frames.dropped.insert("two\nlines".into(), 1);
        let text = metrics::text(snapshot);
        let has = |label: &str, value: &str| {
            let mut lines = text.lines().filter(|line| line.contains('{') && !line.starts_with('#'));
            lines.any(|line| labels(line).contains(&(label.to_string(), value.to_string())))
        };
        assert!(has("class", name) && has("module", name) && has("reason", "two\nlines"), "{name:?}\n{text}");
    }
}

#[test]
fn names_with_control_characters_are_refused_where_they_stand() {
    for name in ["a\nb", "\u{1b}[2J", "tab\t", "\u{85}"] {
        for (class, module, place) in [(name, "all", "box.toml:4:8"), ("all", name, "box.toml:7:8")] {
            let message = parse(&named(class, module)).map(drop).unwrap_err();
            let expected = format!("the name {name:?} has a control character");
            assert!(message.contains(&expected) && message.contains(place), "{message}");
        }
    }
    let message = parse(&named("a\nb", "all")).map(drop).unwrap_err();
    assert!(message.contains("help: without: \"a-b\""), "{message}");
}

#[test]
fn a_scrape_that_nobody_answers_any_more_is_told_so() {
    let (desk, counter) = Desk::open();
    let metrics = Metrics::serve(TcpListener::bind("127.0.0.1:0").unwrap(), counter).unwrap();
    let mut stream = TcpStream::connect(metrics.address().unwrap()).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    drop(desk);
    let said = heard(&mut stream);
    assert!(said.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{said}");
}
