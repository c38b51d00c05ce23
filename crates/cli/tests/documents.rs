//! What the README and the book say is true: every `dovetail` command works as written, prints what stands below it,
//! and draws the picture that is shown; every link leads somewhere; no line is too long.
//!
//! What a page claims is checked in these forms:
//!
//! * A block marked `sh` is run, line by line, as far as its lines begin with `dovetail`.
//! * A block marked `text` directly below it, or below `<!-- shows: dovetail ... -->`, is what the last command prints.
//!   A line `...` stands for any lines.
//! * One below `<!-- says: dovetail ... -->` is what a command that fails says on standard error.
//! * A block below `<!-- is in: FILE -->` is in this file, which the tests compile.
//! * The image below `<!-- draws: FILE of dovetail run ... -->` is that file of the command's `--out` folder.
//!
//! `DOVETAIL_WRITE=1` writes what is printed and drawn into the pages instead (`make documents`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The longest line, in characters.
const COLUMNS: usize = 120;

fn root() -> PathBuf {
    normal(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}

/// Whether outputs and pictures are to be written instead of compared.
fn writing() -> bool {
    std::env::var_os("DOVETAIL_WRITE").is_some()
}

/// The lines that start with `dovetail ` inside code fences marked `sh`.
fn commands(document: &str) -> Vec<String> {
    let claims = claims(document);
    claims
        .into_iter()
        .filter_map(|claim| if let Claim::Works(command) = claim { Some(command) } else { None })
        .collect()
}

/// What a page says of a command.
#[derive(Debug)]
enum Claim {
    /// It succeeds.
    Works(String),
    /// It prints these lines of the page, from the first to before the second.
    Shows(String, usize, usize),
    /// It fails, and says these lines of the page.
    Says(String, usize, usize),
    /// A file of its results is the picture on this line of the page.
    Draws { command: String, file: String, line: usize },
}

fn claims(document: &str) -> Vec<Claim> {
    let lines: Vec<&str> = document.lines().collect();
    let mut claims = Vec::new();
    let mut last: Option<String> = None;
    let mut fails = false;
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let comment = |key: &str| line.strip_prefix(key).and_then(|rest| rest.strip_suffix(" -->")).map(String::from);
        if let Some(command) = comment("<!-- shows: ") {
            (last, fails) = (Some(command), false);
        } else if let Some(command) = comment("<!-- says: ") {
            (last, fails) = (Some(command), true);
        } else if let Some((file, command)) = comment("<!-- draws: ").as_deref().and_then(|c| c.split_once(" of ")) {
            claims.push(Claim::Draws { command: command.into(), file: file.into(), line: at + 1 });
        } else if let Some(kind) = line.strip_prefix("```") {
            let end = (at + 1..lines.len()).find(|&k| lines[k].starts_with("```")).expect("a fence that ends");
            let block = &lines[at + 1..end];
            match (kind, last.take()) {
                ("sh", _) => {
                    // A line may go on in the next one.
                    let block = block.join("\n").replace("\\\n", "");
                    let is_ours = |line: &&str| line.starts_with("dovetail ");
                    claims.extend(block.lines().filter(is_ours).map(|l| Claim::Works(l.into())));
                    last = block.lines().last().filter(is_ours).map(String::from);
                    fails = false;
                }
                ("text", Some(command)) if fails => claims.push(Claim::Says(command, at + 1, end)),
                ("text", Some(command)) => claims.push(Claim::Shows(command, at + 1, end)),
                _ => {}
            }
            at = end;
        } else if !line.is_empty() {
            last = None;
        }
        at += 1;
    }
    claims
}

fn documents() -> Vec<PathBuf> {
    let mut found = vec![root().join("README.md")];
    found.extend(files(&root().join("docs"), "md"));
    found
}

/// The files with this ending in a folder and those below it, but for what is built.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// An empty folder with the scenarios in it, as if the reader stood in a checkout.
fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = root().join("scenarios").canonicalize().unwrap();
    std::os::unix::fs::symlink(scenarios, folder.path().join("scenarios")).unwrap();
    folder
}

/// Runs a line of a page; what it prints.
fn run(line: &str, folder: &Path, page: &Path) -> String {
    let program = env!("CARGO_BIN_EXE_dovetail");
    let output = Command::new("sh").args(["-c", &line.replacen("dovetail", program, 1)]).current_dir(folder).output();
    let output = output.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {line}\n{errors}", page.display());
    assert!(!output.stdout.is_empty() || errors.contains("wrote"), "{}: {line} says nothing", page.display());
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a line of a page that fails; what it says.
fn refused(line: &str, folder: &Path, page: &Path) -> String {
    let line = line.replace("dovetail ", concat!(env!("CARGO_BIN_EXE_dovetail"), " "));
    let output = Command::new("sh").args(["-c", &line]).current_dir(folder).output().unwrap();
    assert!(matches!(output.status.code(), Some(1 | 2)), "{}: {line} does not fail", page.display());
    String::from_utf8(output.stderr).unwrap()
}

/// What is shown of a text, where lines `...` stand for others: the text's lines in place of those that are shown. The
/// parts between such lines are found by the first word of their first line.
fn excerpt(shown: &[&str], text: &str) -> Vec<String> {
    let text: Vec<&str> = text.lines().map(str::trim_end).collect();
    if !shown.contains(&"...") {
        return text.iter().map(|l| l.to_string()).collect();
    }
    let mut from = 0;
    let mut made: Vec<String> = Vec::new();
    for (k, part) in shown.split(|l| *l == "...").enumerate() {
        if k > 0 {
            made.push("...".into());
        }
        let Some(word) = part.iter().find_map(|l| l.split_whitespace().next()) else { continue };
        let begins = |l: &&str| l.split_whitespace().next() == Some(word);
        let start = (from..text.len()).find(|&i| begins(&text[i])).unwrap_or(text.len());
        from = (start + part.len()).min(text.len());
        made.extend(text[start..from].iter().map(|l| l.to_string()));
    }
    made
}

#[test]
fn commands_of_the_documents_do_what_is_said() {
    let pages = documents();
    let next = AtomicUsize::new(0);
    let known = Known::default();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut found = Found::default();
    std::thread::scope(|scope| {
        let work = || {
            let mut found = Found::default();
            while let Some(path) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                try_page(path, &known, &mut found);
            }
            found
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            found.add(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    let Found { worked, shown, drawn, different } = found;
    assert!(writing() || different.is_empty(), "`make documents` writes:\n{}", different.join("\n\n"));
    assert!(worked >= 40 && shown >= 20 && drawn >= 5, "only {worked}, {shown} and {drawn} claims found");
}

/// What the pages claim, by kind, and what is not as they say.
#[derive(Default)]
struct Found {
    worked: usize,
    shown: usize,
    drawn: usize,
    different: Vec<String>,
}

impl Found {
    fn add(&mut self, other: Found) {
        self.worked += other.worked;
        self.shown += other.shown;
        self.drawn += other.drawn;
        self.different.extend(other.different);
    }
}

/// What commands print. One that does not depend on its page runs once for all pages.
#[derive(Default)]
struct Known(Mutex<BTreeMap<String, Arc<OnceLock<String>>>>);

impl Known {
    /// What a line of a page prints; `own` is what those of the same page have printed.
    fn run(&self, line: &str, folder: &Path, page: &Path, own: &mut BTreeMap<String, String>, again: bool) -> String {
        if independent(line) {
            let said = self.0.lock().unwrap().entry(line.into()).or_default().clone();
            return said.get_or_init(|| run(line, folder, page)).clone();
        }
        match own.get(line) {
            Some(said) if !again => said.clone(),
            _ => {
                let said = run(line, folder, page);
                own.insert(line.into(), said.clone());
                said
            }
        }
    }
}

/// Does what a page says, and writes the page anew if asked to.
fn try_page(path: &Path, known: &Known, found: &mut Found) {
    let page = read(path);
    let folder = checkout();
    let mut lines: Vec<String> = page.lines().map(String::from).collect();
    let mut blocks = Vec::new();
    let mut own = BTreeMap::new();
    for claim in claims(&page) {
        match claim {
            Claim::Works(command) => {
                known.run(&command, folder.path(), path, &mut own, true);
                found.worked += 1;
            }
            Claim::Shows(command, from, to) => {
                let said = known.run(&command, folder.path(), path, &mut own, false);
                let block: Vec<&str> = lines[from..to].iter().map(String::as_str).collect();
                let made = excerpt(&block, &said);
                if made != block {
                    found.different.push(format!("{}:{from}: {command} prints\n{}", path.display(), made.join("\n")));
                }
                blocks.push((from, to, made));
                found.shown += 1;
            }
            Claim::Says(command, from, to) => {
                let block: Vec<&str> = lines[from..to].iter().map(String::as_str).collect();
                let made = excerpt(&block, &refused(&command, folder.path(), path));
                if made != block {
                    found.different.push(format!("{}:{from}: {command} says\n{}", path.display(), made.join("\n")));
                }
                blocks.push((from, to, made));
                found.shown += 1;
            }
            Claim::Draws { command, file, line } => {
                let picture = path.parent().unwrap().join(links(&lines[line])[0]);
                if !draws(&command, &file, &picture, folder.path(), path) {
                    found.different.push(format!("{}:{line}: {command} draws another picture", path.display()));
                }
                found.drawn += 1;
            }
        }
    }
    if writing() && !blocks.is_empty() {
        for (from, to, made) in blocks.into_iter().rev() {
            lines.splice(from..to, made);
        }
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }
}

/// Whether a command draws this picture; writes it if asked to.
fn draws(command: &str, file: &str, picture: &Path, folder: &Path, page: &Path) -> bool {
    let out = folder.join("drawn");
    run(&format!("{command} --out {}", out.display()), folder, page);
    let made = std::fs::read(out.join(file)).unwrap();
    if writing() {
        std::fs::create_dir_all(picture.parent().unwrap()).unwrap();
        std::fs::write(picture, &made).unwrap();
    }
    std::fs::read(picture).ok() == Some(made)
}

/// Whether a command gives the same in every folder: it reads only what is in every checkout, and writes nothing.
fn independent(command: &str) -> bool {
    let words: BTreeSet<&str> = command.split_whitespace().collect();
    let writes = ["--out", "--pcap", ">", "|", "synth", "live"].iter().any(|word| words.contains(word));
    let reads = words.contains("schedulers") || words.contains("reproduce") || command.contains(" scenarios/");
    !writes && (reads || words.contains("--help"))
}

#[test]
fn excerpts_keep_what_is_shown() {
    let text = "head  \nrow 1\nrow 2\nfoot 3";
    assert_eq!(excerpt(&["old"], text), ["head", "row 1", "row 2", "foot 3"]);
    assert_eq!(excerpt(&["head", "row 0", "..."], text), ["head", "row 1", "..."]);
    assert_eq!(excerpt(&["...", "foot 2"], text), ["...", "foot 3"]);
    assert_eq!(excerpt(&["head", "...", "foot"], text), ["head", "...", "foot 3"]);
}

/// All of its commands, with those of other programs.
#[test]
#[ignore = "needs tshark"]
fn the_checks_of_modules_come_out_as_told() {
    let folder = checkout();
    let document = read(&root().join("docs/how-to/check-modules.md"));
    let blocks: Vec<&str> = document.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let script = format!("dovetail() {{ {} \"$@\"; }}\n{}", env!("CARGO_BIN_EXE_dovetail"), blocks.concat());
    let output = Command::new("sh").args(["-ec", &script]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let row = said.lines().find(|line| line.starts_with("tunnel ")).unwrap();
    let encrypted = row.split_whitespace().nth(3).unwrap();
    assert!(encrypted.parse::<u32>().unwrap() > 1000, "{row}");
    assert!(said.lines().any(|line| line.trim() == encrypted), "not {encrypted} packets were decrypted:\n{said}");
    let eliminated = said.lines().find(|line| line.starts_with("module eliminate")).unwrap();
    let numbers: Vec<u32> =
        eliminated.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
    assert!(numbers[1] < numbers[0] * 6 / 10 && numbers[2] > 1000, "{eliminated}");
    assert!(said.ends_with("the same\n"), "{said}");
}

/// What the tutorial's box on a capture does is seen: packets in the tunnel, and both resources in use. Its processing
/// is timed, so a machine that takes the core away for long gets another try.
#[test]
fn the_tutorials_box_on_a_capture_encrypts_and_uses_cpu_and_link() {
    let path = root().join("docs/tutorial/box.md");
    let page = read(&path);
    let section =
        page.split("## Without root").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("that section");
    let mut said = String::new();
    let used = (0..3).any(|_| {
        let folder = checkout();
        said = commands(section).iter().map(|command| run(command, folder.path(), &path)).collect();
        let numbers = |class: &str| -> Vec<f64> {
            let row = said.lines().find(|line| line.starts_with(&format!("{class} "))).unwrap();
            row.split_whitespace().filter_map(|word| word.parse().ok()).collect()
        };
        // Flows, packets in and out, dropped, CPU and link in percent.
        let (tunnel, all) = (numbers("tunnel"), numbers("all"));
        assert!(tunnel[2] > 1000.0 && tunnel[4] > 1.0, "{said}");
        // A build without optimisation takes so much of the CPU that little is left for the link.
        all[4] > 10.0 && all[5] > 0.5
    });
    assert!(used, "{said}");
}

/// What holds each thing that a real network has found is there under that name.
#[test]
fn the_tests_that_a_page_names_are_there() {
    let page = read(&root().join("docs/reproductions/live.md"));
    let (_, section) = page.split_once("## Between real kernels").expect("that section");
    let named: Vec<&str> =
        section.split('`').skip(1).step_by(2).filter(|words| words.matches('_').count() > 2).collect();
    assert!(named.len() > 20, "{named:?}");
    let sources: Vec<String> = files(&root().join("crates"), "rs").iter().map(|path| read(path)).collect();
    for name in named {
        assert!(sources.iter().any(|source| source.contains(&format!("fn {name}("))), "no test {name}");
    }
}

#[test]
fn the_scenarios_that_pages_print_are_those_of_the_repository() {
    for (page, scenario) in [
        ("docs/tutorial/capture.md", "scenarios/first.toml"),
        ("docs/explanation/example.md", "scenarios/worked/two-flows.toml"),
        ("docs/how-to/sweep.md", "scenarios/sweeps/which-alpha.toml"),
    ] {
        let text = read(&root().join(page));
        let written = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        assert!(read(&root().join(scenario)).ends_with(written), "{scenario} differs from {page}");
    }
}

#[test]
fn the_demo_of_the_makefile_is_the_one_of_the_readme() {
    assert!(read(&root().join("Makefile")).contains("run scenarios/demo.toml --out"));
    assert!(read(&root().join("README.md")).contains("of dovetail run scenarios/demo.toml -->"));
}

/// Targets of `[text](target)` that are files of ours, or headings of the page.
fn links(document: &str) -> Vec<&str> {
    let targets = document.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|t| !t.starts_with("http")).collect()
}

/// A page without its code blocks.
fn prose(page: &str) -> String {
    let mut inside = false;
    let outside = |line: &&str| {
        let fence = line.starts_with("```");
        inside ^= fence;
        !fence && !inside
    };
    page.lines().filter(outside).collect::<Vec<_>>().join("\n")
}

/// What a page's headings are called in links: small letters, digits and hyphens for spaces.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    let plain = |line: &str| -> String {
        let kept = line.trim_start_matches('#').trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    };
    headings.map(plain).collect()
}

#[test]
fn links_between_documents_lead_somewhere() {
    let others = ["CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name));
    for document in documents().into_iter().chain(others) {
        let page = read(&document);
        for link in links(&prose(&page)) {
            let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let target = document.parent().unwrap().join(file);
            assert!(file.is_empty() || target.exists(), "{}: {link}", document.display());
            if let Some(anchor) = anchor {
                let there = if file.is_empty() { page.clone() } else { read(&target) };
                assert!(anchors(&there).contains(anchor), "{}: no heading {link}", document.display());
            }
        }
    }
}

/// mdBook shows the pages of the summary, and no others.
#[test]
fn the_book_has_every_page_and_leads_to_no_page_outside() {
    let docs = root().join("docs");
    let summary = read(&docs.join("SUMMARY.md"));
    let listed: Vec<PathBuf> =
        links(&summary).iter().filter(|link| !link.is_empty()).map(|link| docs.join(link)).collect();
    let once: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    for page in files(&docs, "md").iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        assert!(once.contains(page), "{} is not in SUMMARY.md", page.display());
        for link in links(&prose(&read(page))) {
            let file = page.parent().unwrap().join(link.split('#').next().unwrap());
            let outside = file.extension().is_some_and(|e| e == "md") && !once.contains(&normal(&file));
            assert!(!outside, "{}: {link} is a page that the book does not have", page.display());
        }
    }
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut parts: Vec<std::path::Component> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (std::path::Component::ParentDir, Some(std::path::Component::Normal(_))) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.iter().collect()
}

/// Every scheduler has a page, and the page that lists them leads to it.
#[test]
fn every_discipline_is_explained() {
    let listed = read(&root().join("docs/explanation/disciplines.md"));
    let output = Command::new(env!("CARGO_BIN_EXE_dovetail")).args(["schedulers", "--json"]).output().unwrap();
    let family: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> =
        family["schedulers"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert!(names.len() >= 17, "{names:?}");
    for name in names {
        let page = format!("{}.md", name.trim_end_matches('+'));
        assert!(links(&listed).contains(&page.as_str()), "no link to {page}");
        let shown = format!("<!-- shows: dovetail schedulers {name} -->");
        assert!(read(&root().join("docs/explanation").join(&page)).contains(&shown), "{page} lacks {shown}");
    }
}

#[test]
fn programs_on_pages_are_in_the_files_that_are_named() {
    let mut found = 0;
    for path in documents() {
        for named in read(&path).split("<!-- is in: ").skip(1) {
            let (file, rest) = named.split_once(" -->\n```").expect("a file, and a block below");
            let (language, rest) = rest.split_once('\n').expect("a block");
            assert!(file.ends_with(if language == "rust" { ".rs" } else { ".c" }), "{file} is not in {language}");
            let (block, _) = rest.split_once("\n```\n").expect("a fence that ends");
            assert!(read(&root().join(file)).contains(block), "{} shows what is not in {file}", path.display());
            found += 1;
        }
    }
    assert!(found >= 2, "only {found} found");
}

#[test]
fn no_line_is_longer_than_120_columns() {
    let kinds = [("crates", "rs"), ("fuzz", "rs"), ("python", "py"), ("python", "pyi"), ("scenarios", "toml")];
    let code = kinds.iter().flat_map(|(folder, ending)| files(&root().join(folder), ending));
    let mut long = Vec::new();
    for path in code {
        long.extend(longer(&path, &read(&path), |_| true));
    }
    let others = ["CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name));
    for path in documents().into_iter().chain(others) {
        let page = read(&path);
        let mut fence: Option<String> = None;
        let mut message = false;
        // Tables, links, images, commands, messages and the comments before pictures and outputs cannot be broken.
        let breaks = |line: &str| {
            if let Some(kind) = line.strip_prefix("```") {
                message &= fence.is_none();
                fence = if fence.is_some() { None } else { Some(kind.to_string()) };
            }
            message |= line.starts_with("<!-- says: ");
            let command = message
                || fence.as_deref().is_some_and(|kind| matches!(kind, "sh" | "console"))
                || (line.starts_with("(`") && line.ends_with("`)"));
            !(command || line.starts_with('|') || line.starts_with("<!-- ") || line.contains("]("))
        };
        long.extend(longer(&path, &page, breaks));
    }
    assert!(long.is_empty(), "lines of more than {COLUMNS} columns:\n{}", long.join("\n"));
}

/// The places of lines that are too long and could be broken.
fn longer(path: &Path, text: &str, mut breaks: impl FnMut(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (k, line) in text.lines().enumerate() {
        if breaks(line) && line.chars().count() > COLUMNS {
            found.push(format!("{}:{}", path.display(), k + 1));
        }
    }
    found
}
