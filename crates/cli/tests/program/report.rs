//! The page of results: whole, with the numbers of the summary, harmless, and written where nothing else is.

use html5gum::{Token, Tokenizer};
use serde_json::Value;

use crate::support::{Folder, SCENARIO};

/// An element with what stands in it, tags left out.
#[derive(Debug, Default, Clone)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
    /// The elements around it, from outside.
    inside: Vec<String>,
}

impl Element {
    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The elements of a page in order; panics where a parser would have to guess.
fn parsed(html: &str) -> Vec<Element> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut elements: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut emitter = html5gum::emitters::default::DefaultEmitter::default();
    emitter.naively_switch_states(true);
    for token in Tokenizer::new_with_emitter(html, emitter) {
        match token.unwrap() {
            Token::Error(error) => panic!("{}", *error),
            Token::StartTag(tag) => {
                let attributes = tag.attributes.iter().map(|(key, value)| (text(key), text(value))).collect();
                let inside = open.iter().map(|&k| elements[k].name.clone()).collect();
                elements.push(Element { name: text(&tag.name), attributes, inside, ..Element::default() });
                if !tag.self_closing && *tag.name != *b"meta" {
                    open.push(elements.len() - 1);
                }
            }
            Token::EndTag(tag) => {
                let last = open.pop().unwrap_or_else(|| panic!("</{}> ends nothing", text(&tag.name)));
                assert_eq!(elements[last].name, text(&tag.name), "elements overlap");
            }
            Token::String(string) => {
                // Spaces that do not break keep numbers and units together.
                let string = text(&string).replace('\u{a0}', " ");
                open.iter().for_each(|&k| elements[k].text.push_str(&string));
            }
            Token::Comment(comment) => panic!("a comment: {}", text(&comment)),
            Token::Doctype(_) => assert!(elements.is_empty()),
        }
    }
    assert!(open.is_empty(), "elements that do not end: {:?}", open.iter().map(|&k| &elements[k].name));
    elements
}

/// Nothing is loaded, and nothing but the page's own script runs.
fn harmless(elements: &[Element]) {
    assert_eq!(elements.iter().filter(|e| e.name == "script").count(), 1);
    let loading = ["link", "img", "image", "iframe", "object", "embed", "base", "use", "form", "foreignobject"];
    for element in elements {
        assert!(!loading.contains(&element.name.as_str()), "{element:?}");
        for (key, value) in &element.attributes {
            if element.name == "a" && key == "href" {
                assert!(value.starts_with('#'), "{value} leads elsewhere");
                continue;
            }
            assert!(!key.starts_with("on") && !["src", "href", "xlink:href", "style"].contains(&key.as_str()), "{key}");
            assert!(!value.contains("url("), "{value}");
        }
    }
    let style: String = elements.iter().filter(|e| e.name == "style").map(|e| e.text.as_str()).collect();
    assert!(!style.contains("url(") && !style.contains("@import") && !style.contains('<'), "{style}");
}

/// The rows of all tables: the texts at their left, and the numbers.
fn rows(elements: &[Element], table: usize) -> Vec<(Vec<String>, Vec<f64>)> {
    let mut rows: Vec<(Vec<String>, Vec<f64>)> = Vec::new();
    let mut at = 0;
    for element in elements {
        match element.name.as_str() {
            "table" => at += 1,
            "tr" if at == table && element.inside.contains(&"tbody".into()) => rows.push(Default::default()),
            "th" if at == table && element.inside.contains(&"tbody".into()) => {
                rows.last_mut().unwrap().0.push(element.text.clone());
            }
            "data" if at == table => {
                let number: f64 = element.get("value").unwrap().parse().unwrap();
                assert!(is_rounded(&element.text, number), "{element:?}");
                rows.last_mut().unwrap().1.push(number);
            }
            _ => {}
        }
    }
    rows
}

/// Whether a text says a number, to half a unit of its last digit.
fn is_rounded(text: &str, number: f64) -> bool {
    let (digits, unit) = text.split_once(' ').unwrap_or((text, ""));
    // With an interval, the unit stands behind that.
    let unit = if unit.starts_with('±') { unit.rsplit(' ').next().unwrap_or("") } else { unit };
    let units = [
        ("", 1.0),
        ("flow", 1.0),
        ("flows", 1.0),
        ("%", 1e-2),
        ("s", 1.0),
        ("ms", 1e-3),
        ("us", 1e-6),
        ("ns", 1e-9),
        ("bps", 1.0),
    ];
    let rates = [("kbps", 1e3), ("Mbps", 1e6), ("Gbps", 1e9)];
    let scale = units.iter().chain(&rates).find(|(name, _)| *name == unit).unwrap_or_else(|| panic!("{text}")).1;
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let shown: f64 = digits.parse().unwrap();
    // Half a unit of the last digit, and the error of the two products.
    (shown * scale - number).abs() <= (0.5 * 10_f64.powi(-(decimals as i32)) + 4.0 * f64::EPSILON * shown) * scale
}

fn page(folder: &Folder, name: &str) -> (String, Vec<Element>) {
    let html = std::fs::read_to_string(folder.path(name)).unwrap();
    let elements = parsed(&html);
    (html, elements)
}

fn summary(folder: &Folder, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(folder.path(name)).unwrap()).unwrap()
}

#[test]
fn a_page_has_the_sentences_and_numbers_of_the_summary() {
    let folder = Folder::with_scenario();
    folder.dovetail(&["run", "s.toml", "--out", "out"]).succeeds();
    let said = folder.dovetail(&["report", "out"]).succeeds();
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", "wrote out/report.html\n"));
    let (html, elements) = page(&folder, "out/report.html");
    harmless(&elements);
    assert!(!html.contains("http://") && !html.contains("https://"));
    let summary = summary(&folder, "out/summary.json");

    let told: Vec<&str> = summary["sentences"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect();
    let items = elements.iter().filter(|e| e.name == "li").map(|e| e.text.as_str());
    assert_eq!(items.collect::<Vec<_>>(), told);
    assert!(told.contains(&"Nobody starves under fifo or tradeoff:alpha=0.85."), "{told:?}");

    let runs = summary["runs"].as_array().unwrap();
    let (all, groups) = (rows(&elements, 1), rows(&elements, 2));
    assert_eq!((all.len(), groups.len()), (2, 2));
    for (k, run) in runs.iter().enumerate() {
        let name = run["scheduler"].as_str().unwrap();
        let number = |pointer: &str| run.pointer(pointer).unwrap().as_f64().unwrap();
        assert_eq!(all[k].0, [name]);
        let expected = [
            "/makespan_s",
            "/resources/cpu/utilization",
            "/resources/link/utilization",
            "/packets/delivered",
            "/packets/dropped/queue-bytes",
            "/latency_s/mean",
            "/latency_s/p99",
            "/fairness/jain",
            "/behind/time_s",
        ];
        assert_eq!(all[k].1, expected.map(number), "{name}");
        assert_eq!(groups[k].0.last().unwrap(), name);
        let of_group = ["flows", "throughput_bps", "dominant_share", "dropped/queue-time", "latency_s/mean"];
        let more = ["latency_s/p99", "behind/time_s"];
        let expected = of_group.iter().chain(&more).map(|key| number(&format!("/groups/0/{key}")));
        assert_eq!(groups[k].1, expected.collect::<Vec<f64>>(), "{name}");
    }

    // Each table and picture says what it is, and every picture of the folder is there.
    let count = |name: &str| elements.iter().filter(|e| e.name == name).count();
    assert_eq!(count("caption"), count("table"));
    assert!(elements.iter().filter(|e| e.name == "th").all(|e| e.get("scope").is_some()));
    let drawn = folder.list("out").iter().filter(|name| name.ends_with(".svg")).count();
    let pictures: Vec<&Element> = elements.iter().filter(|e| e.name == "svg").collect();
    assert_eq!(pictures.len(), drawn);
    assert!(pictures.iter().all(|svg| svg.get("role") == Some("img") && !svg.get("aria-label").unwrap().is_empty()));
    // What can be picked names what is drawn.
    for button in elements.iter().filter(|e| e.name == "button") {
        let (kind, name) = (button.get("data-kind").unwrap(), button.get("data-name").unwrap());
        let named = elements.iter().filter(|e| e.name == "g" && e.get(&format!("data-{kind}")) == Some(name));
        assert!(named.count() >= 2, "{kind} {name} is drawn");
    }
    // How it was made is last.
    let command = elements.iter().find(|e| e.name == "code").unwrap();
    assert_eq!(command.text, "dovetail run s.toml --out out");
    let input = elements.iter().find(|e| e.name == "pre").unwrap();
    assert_eq!(input.text.trim(), SCENARIO.trim());
}

/// The page but for the command, which is another one.
fn but_for_the_command(html: &str) -> String {
    let (before, after) = html.split_once("<code>").unwrap();
    format!("{before}{}", after.split_once("</code>").unwrap().1)
}

#[test]
fn run_writes_the_same_page() {
    let folder = Folder::with_scenario();
    // Few enough packets that their schedule is drawn, and more.
    for (stop, drawn) in [("5 ms", true), ("50 ms", false)] {
        folder.write("s.toml", SCENARIO.replace("50 ms", stop));
        folder.dovetail(&["run", "s.toml", "--out", "out"]).succeeds();
        folder.dovetail(&["report", "out", "--out", "later.html"]).succeeds();
        let said = folder.dovetail(&["run", "s.toml", "--page", "at-once.html"]).succeeds();
        assert!(said.err.starts_with("wrote at-once.html"), "{}", said.err);
        let read = |name: &str| but_for_the_command(&std::fs::read_to_string(folder.path(name)).unwrap());
        assert!(read("later.html") == read("at-once.html"));
        assert_eq!(read("later.html").contains("aria-label=\"Schedule\""), drawn);
        assert_eq!(folder.list("."), ["at-once.html", "later.html", "out", "s.toml"]);
    }
}

#[test]
fn a_network_has_a_page() {
    let folder = Folder::new();
    let tcp = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/tcp.toml")).unwrap();
    folder.write("net.toml", tcp);
    let short = ["--set", "until=6 s", "--set", "warm_up=5 s", "--page", "n.html", "--out", "out"];
    folder.dovetail(&[&["run", "net.toml"], &short[..]].concat()).succeeds();
    let (_, elements) = page(&folder, "n.html");
    harmless(&elements);
    let summary = summary(&folder, "out/summary.json");
    let run = &summary["runs"][1];
    let groups = rows(&elements, 1);
    assert_eq!(groups[1].0, ["drr+red"]);
    let throughput = run.pointer("/groups/0/throughput_bps/mean").unwrap().as_f64().unwrap();
    assert_eq!(groups[1].1[1], throughput);
    assert!(elements.iter().any(|e| e.name == "li" && e.text.starts_with("Under drr+red a long-lived flow gets")));
    let code = elements.iter().find(|e| e.name == "code").unwrap();
    assert!(code.text.starts_with("dovetail run net.toml --set 'until=6 s'"), "{}", code.text);
    let mut damaged = summary.clone();
    damaged["runs"][1]["groups"].as_array_mut().unwrap().pop();
    folder.write("out/summary.json", damaged.to_string());
    folder.dovetail(&["report", "out"]).fails(2, &["out/summary.json: the groups of ", "expected [", "run again"]);
}

#[test]
fn advice_has_a_page() {
    let folder = Folder::with_scenario();
    let told = folder.dovetail(&["advise", "s.toml", "--json", "--page", "a.html"]).succeeds();
    assert_eq!(told.err, "wrote a.html\n");
    let advice: Value = serde_json::from_str(&told.out).unwrap();
    let (_, elements) = page(&folder, "a.html");
    harmless(&elements);
    let items: Vec<&str> = elements.iter().filter(|e| e.name == "li").map(|e| e.text.as_str()).collect();
    let sentences = std::iter::once(&advice["short"]).chain(advice["sentences"].as_array().unwrap());
    for (item, sentence) in items.iter().zip(sentences) {
        assert_eq!(sentence, &item.replace('\u{a0}', " "));
    }
    let configuration = advice["configuration"].as_str().unwrap();
    let lines = elements.iter().find(|e| e.name == "pre").unwrap();
    assert_eq!(lines.text, configuration);
    assert!(elements.iter().any(|e| e.name == "p" && e.text == "For a live box:"));
    let advised = advice["scheduler"].as_str().unwrap();
    let captions: Vec<&str> = elements.iter().filter(|e| e.name == "caption").map(|e| e.text.as_str()).collect();
    assert_eq!(captions[0], format!("All that was tried: {advised} is advised"));
    let marked: Vec<_> = elements.iter().filter(|e| e.name == "tr" && e.get("class") == Some("marked")).collect();
    assert!(marked.len() == 2 && marked.iter().all(|row| row.get("data-scheduler") == Some(advised)), "{marked:?}");
    let rows = rows(&elements, 1);
    let points = advice["points"].as_array().unwrap();
    assert_eq!(rows.len(), points.len());
    for (row, point) in rows.iter().zip(points) {
        assert_eq!(row.0, [point["scheduler"].as_str().unwrap()]);
        let all = [
            "/throughput_bps",
            "/gain_over_fair/mean",
            "/utilization/0",
            "/utilization/1",
            "/lost",
            "/p99_s",
            "/starving",
            "/short",
            "/behind_s",
        ];
        assert_eq!(row.1, all.map(|key| point.pointer(key).unwrap().as_f64().unwrap()));
    }
    // The same, without the page.
    assert_eq!(folder.dovetail(&["advise", "s.toml", "--json"]).succeeds().out, told.out);
    folder.write("mine.html", "mine");
    folder
        .dovetail(&["advise", "s.toml", "--page", "mine.html"])
        .fails(2, &["mine.html: there is a file of this name that dovetail did not write"]);
}

#[test]
fn the_page_says_what_the_terminal_says_of_a_goal_out_of_reach() {
    let folder = Folder::with_scenario();
    let told = folder.dovetail(&["advise", "s.toml", "--protect", "ipsec", "--p99", "1 ns", "--page", "a.html"]);
    let told = told.succeeds().out;
    let (_, elements) = page(&folder, "a.html");
    let has = |name: &str, text: &str| elements.iter().any(|e| e.name == name && e.text == text);
    let nearest = "What comes nearest, for a live box:";
    assert!(told.contains(nearest) && has("p", nearest), "{told}");
    let judged = "Goals are judged by the average over the runs.";
    assert!(told.contains(judged) && has("li", judged), "{told}");
    assert!(elements.iter().any(|e| e.name == "caption" && e.text.ends_with(" comes nearest")));
}

#[test]
fn advice_on_a_capture_says_what_is_wrong_with_it() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("in")).unwrap();
    folder.dovetail(&["trace", "synth", "t.pcap", "--packets", "200", "--flows", "20"]).succeeds();
    let whole = std::fs::read(folder.path("t.pcap")).unwrap();
    folder.write("in/cut.pcap", &whole[..whole.len() - 7]);
    let said = folder.dovetail(&["advise", "in/cut.pcap", "--page", "a.html"]).succeeds();
    let warning = said.err.lines().find(|line| line.starts_with("warning: ")).unwrap();
    let (_, elements) = page(&folder, "a.html");
    let input = elements.iter().position(|e| e.name == "dt" && e.text == "Capture").unwrap() + 1;
    let lines: Vec<&str> = elements[input].text.lines().collect();
    assert!(lines[0] == "in/cut.pcap" && lines.iter().any(|line| line.starts_with(warning)), "{lines:?}");
    assert_eq!(elements.iter().find(|e| e.name == "h1").unwrap().text, "Which scheduler? cut.pcap");
}

#[test]
fn hostile_names_do_no_harm() {
    let folder = Folder::new();
    let hostile = r#"<script>alert('1')</script><img src=x onerror=alert(1)>&amp; \"q\" --></style></svg>"#;
    let scenario = SCENARIO.replace("\"ipsec\"", &format!("\"{hostile}\""));
    let scenario = scenario.replace("count = 3", "count = 3\nname = \"</pre><script>x</script>\"");
    folder.write("s.toml", format!("title = \"</title><script>t()</script>\"\n{scenario}"));
    folder.dovetail(&["run", "s.toml", "--out", "out", "--page", "page.html"]).succeeds();
    let (_, elements) = page(&folder, "page.html");
    harmless(&elements);
    let title = elements.iter().find(|e| e.name == "h1").unwrap();
    assert_eq!(title.text, "</title><script>t()</script>");

    // Pictures that somebody else has put there.
    for bad in ["<svg onload='x()'><script>x()</script><a href='http://a.b'><text>t</text></a></svg>", "<svg/>", "no"] {
        folder.write("out/overview.svg", bad);
        let said = folder.dovetail(&["report", "out", "--out", "second.html"]);
        if bad.starts_with("<svg o") {
            said.succeeds();
            harmless(&page(&folder, "second.html").1);
            std::fs::remove_file(folder.path("second.html")).unwrap();
        } else {
            said.fails(2, &["out/overview.svg is not a picture (SVG) that a page can hold"]);
            assert!(!folder.path("second.html").exists());
        }
    }
}

#[test]
fn what_holds_no_results_is_told() {
    let folder = Folder::with_scenario();
    folder.dovetail(&["run", "s.toml", "--out", "results"]).succeeds();
    let wrong = |given: &str, words: &[&str]| folder.dovetail(&["report", given]).fails(2, words);
    wrong("result", &["result: cannot be read", "did you mean \"results\"?"]);
    wrong("elsewhere", &["elsewhere: cannot be read: No such file"]);
    wrong("results/summary.json", &["results/summary.json: it is a file", "did you mean \"results\"?"]);
    wrong(".", &[".: there is no summary.json in it: expected a folder", "did you mean \"./results\"?"]);
    let spoil = |file: &str, text: &str, words: &[&str]| {
        let path = folder.path(&format!("results/{file}"));
        let before = std::fs::read(&path).unwrap();
        std::fs::write(&path, text).unwrap();
        wrong("results", words);
        std::fs::write(&path, before).unwrap();
    };
    spoil("summary.json", "{\n  \"schema\" 2 }", &["results/summary.json: expected `:` at line 2 column 12"]);
    spoil("summary.json", "{\"schema\": 1}", &["results/summary.json: it has schema 1, expected 2: run again"]);
    spoil("summary.json", "{\"schema\": 2}", &["results/summary.json: missing field"]);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut whole = summary(&folder, "results/summary.json");
        change(&mut whole);
        whole.to_string()
    };
    let fewer = with(&|whole| drop(whole["runs"][1]["groups"].as_array_mut().unwrap().pop()));
    let told = "results/summary.json: the groups of tradeoff:alpha=0.85 are [], expected [\"ipsec\"]: it is damaged";
    spoil("summary.json", &fewer, &[told, "run again"]);
    let fewer = with(&|whole| drop(whole["runs"][0]["resources"].as_object_mut().unwrap().remove("link")));
    spoil("summary.json", &fewer, &["the resources of fifo are [\"cpu\"], expected [\"cpu\", \"link\"]"]);
    let words = ["results/command.json: ", "expected how the results were made", ": run again"];
    spoil("command.json", "[]", &words);
    std::fs::rename(folder.path("results/summary.json"), folder.path("kept")).unwrap();
    std::os::unix::fs::symlink("/dev/null", folder.path("results/summary.json")).unwrap();
    wrong("results", &["results/summary.json: cannot be read: it is not an ordinary file"]);
    std::fs::rename(folder.path("kept"), folder.path("results/summary.json")).unwrap();
    std::fs::remove_file(folder.path("results/command.json")).unwrap();
    wrong("results", &["results: there is no command.json in it: an earlier version wrote it: run again"]);
    folder.dovetail(&["reproduce", "tradeoff-fig1", "--out", "paper"]).succeeds();
    wrong("paper", &["paper: there is no summary.json in it: it is of `dovetail reproduce`"]);
    assert!(!folder.list("results").contains(&"report.html".into()));
}

#[test]
fn a_page_replaces_nothing_but_a_page() {
    let folder = Folder::with_scenario();
    folder.dovetail(&["run", "s.toml", "--out", "out", "--page", "page.html"]).succeeds();
    folder.write("mine.html", "<p>mine</p>");
    std::fs::create_dir(folder.path("there")).unwrap();
    let places = [
        (
            "mine.html",
            "cannot write mine.html: there is a file of this name that dovetail did not write; give another name",
        ),
        ("there", "cannot write there: it is a folder; did you mean \"there/report.html\"?"),
        ("nowhere/page.html", "cannot write nowhere/page.html: there is no folder nowhere"),
        ("/proc/page.html", "the folder /proc takes no files"),
        ("-", "cannot write -: a page goes into a file, such as report.html"),
    ];
    for (place, message) in places {
        folder.dovetail(&["report", "out", "--out", place]).fails(2, &[message]);
        // Before anything runs: this would take hours.
        folder.write("long.toml", SCENARIO.replace("50 ms", "20 min").replace("10 ms", "1 min"));
        folder.dovetail(&["run", "long.toml", "--page", place]).fails(2, &[message]);
    }
    folder.dovetail(&["report", "out", "--out", "out/summary.json"]).fails(2, &["out/summary.json", "it is read"]);
    let twice = ["run", "s.toml", "--out", "out", "--page", "out/command.json"];
    std::fs::remove_file(folder.path("out/command.json")).unwrap();
    folder.dovetail(&twice).fails(2, &["cannot write out/command.json: something else is written there"]);
    folder.dovetail(&["run", "s.toml", "--out", "out"]).succeeds();
    folder.dovetail(&["run", "s.toml", "--page", "s.toml"]).fails(2, &["s.toml", "it is read"]);
    assert_eq!(std::fs::read_to_string(folder.path("mine.html")).unwrap(), "<p>mine</p>");
    let again = folder.dovetail(&["report", "out", "--out", "page.html"]).succeeds();
    assert_eq!(again.err, "wrote page.html (replaced)\n");
    assert_eq!(folder.list("."), ["long.toml", "mine.html", "out", "page.html", "s.toml", "there"]);
}

/// Nothing in a page grows with the number of packets.
#[test]
fn many_packets_make_no_larger_page() {
    let folder = Folder::new();
    let size = |rate: &str| {
        folder.write("s.toml", SCENARIO.replace("rate = \"4000 pps\"", &format!("rate = \"{rate}\"")));
        folder.dovetail(&["run", "s.toml", "--page", "p.html"]).succeeds();
        std::fs::metadata(folder.path("p.html")).unwrap().len()
    };
    let (few, many) = (size("8000 pps"), size("200000 pps"));
    assert!(many < 2 * few, "{few} bytes of 1,200 packets, {many} bytes of 30,000");
}

#[test]
fn advice_on_a_network_has_a_page() {
    let folder = Folder::new();
    let tcp = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/tcp.toml")).unwrap();
    folder.write("net.toml", tcp);
    let small = ["hop.box.cpu=1 Mcycles/s", "hop.box.rate=2 Mbps", "until=6 s", "warm_up=5 s"];
    let small: Vec<&str> = small.iter().flat_map(|key| ["--set", key]).collect();
    let told =
        folder.dovetail(&[&["advise", "net.toml", "--json", "--page", "a.html"], &small[..]].concat()).succeeds();
    let advice: Value = serde_json::from_str(&told.out).unwrap();
    let (_, elements) = page(&folder, "a.html");
    harmless(&elements);
    let rows = rows(&elements, 1);
    assert_eq!(rows.len(), advice["points"].as_array().unwrap().len());
    folder.dovetail(&["advise", "net.toml", "--target", "box.cpu 95 %"]).fails(2, &["this is a network"]);
}

#[test]
fn reproductions_have_a_page() {
    let folder = Folder::new();
    let told = folder.dovetail(&["reproduce", "tradeoff-fig1", "drfq-lie", "--json", "--page", "p.html"]).succeeds();
    let checks: Value = serde_json::from_str(&told.out).unwrap();
    let (html, elements) = page(&folder, "p.html");
    harmless(&elements);
    // Every claim with both numbers, below the picture of its figure.
    let claims: Vec<&Value> =
        checks["checks"].as_array().unwrap().iter().filter(|check| !check["verdict"].is_null()).collect();
    assert!(!claims.is_empty());
    for check in claims {
        let quantity = check["quantity"].as_str().unwrap();
        assert!(elements.iter().any(|e| e.name == "th" && e.text == quantity), "{quantity}");
        for number in [&check["paper"], &check["ours"]].into_iter().filter_map(Value::as_f64) {
            assert!(html.contains(&format!("<data value=\"{number}\">")), "{quantity}: {number}");
        }
    }
    assert!(
        html.contains("<section class=\"figure\" id=\"tradeoff-fig1\">") && html.contains("href=\"#tradeoff-fig1\"")
    );
    assert!(elements.iter().any(|e| e.name == "svg"));
    folder
        .dovetail(&["reproduce", "tradeoff-fig1", "--out", "o", "--page", "o/checks.json"])
        .fails(2, &["checks.json"]);
    folder.dovetail(&["reproduce", "--list", "--page", "p.html"]).fails(2, &["--page"]);
}
