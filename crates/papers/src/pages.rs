//! The tables of claims in docs/reproductions, against what is expected and what the program found.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{PAPERS, expected, item};
use dovetail_experiment::claim::{Criterion, Kind};

/// The lines around a table.
const BEGIN: &str = "<!-- claims: written by `make pages` -->";
const END: &str = "<!-- end of claims -->";

/// The first lines of a table.
fn header(derived: bool) -> &'static str {
    match derived {
        true => "| | Example | By hand | Here | Verdict |\n|---|---|---|---|---|\n",
        false => "| | Claim | Paper | Here | Verdict |\n|---|---|---|---|---|\n",
    }
}

fn path(paper: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/reproductions/{paper}.md"))
}

/// Marks what also holds under wrong disciplines.
const ANY: &str = " (any)";

/// What stands before, in and after a page's table.
fn parts(page: &str) -> [&str; 3] {
    let (before, rest) = page.split_once(BEGIN).expect("a table of claims begins");
    let (table, after) = rest.split_once(END).expect("a table of claims ends");
    [before, table, after]
}

/// Four digits that count.
fn digits(value: f64) -> String {
    let whole = if value == 0.0 { 1 } else { value.abs().log10().floor() as i32 + 1 };
    let text = format!("{value:.0$}", (4 - whole).clamp(0, 4) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// The paper's value with its tolerance, or the limit that the claim is taken as.
fn asked(paper: Option<f64>, criterion: Criterion, unit: &str) -> String {
    let value = paper.map_or(String::new(), |paper| format!("{} ", digits(paper)));
    let limit = match (criterion, criterion.tolerance(paper)) {
        // What rounding may do is not worth a word.
        (_, Some(tolerance)) if tolerance <= 1e-6 * paper.unwrap_or(0.0).abs() => String::new(),
        // Per cent of per cent read as points.
        (Criterion::WithinPercent(_), Some(points)) if unit.starts_with('%') => format!("± {points} "),
        (Criterion::WithinPercent(percent), _) => format!("± {percent} % "),
        (Criterion::Within(tolerance), _) => format!("± {tolerance} "),
        (Criterion::AtMost(most), _) if (0.0..=1e-6).contains(&most) => "0 ".into(),
        (Criterion::AtMost(most), _) => format!("≤ {most} "),
        (Criterion::AtLeast(least), _) => format!("≥ {least} "),
        (Criterion::Between(least, most), _) => format!("{least} to {most} "),
    };
    format!("{value}{limit}{unit}").trim().to_string()
}

/// A difference is to be seen at a glance.
fn shown(verdict: &str) -> String {
    match verdict {
        "differs" => "**differs**".into(),
        other => other.replace('-', " "),
    }
}

/// A claim in a table.
struct Row {
    /// The first columns: these do not depend on what is found.
    begins: String,
    /// If it differs, its cause is told.
    explained: bool,
    /// It says nothing of the scheduler: it also holds under wrong ones.
    blind: bool,
    /// It is no claim, but derived.
    derived: bool,
}

impl Row {
    /// A verdict on it, as the table shows it.
    fn shown(&self, verdict: &str) -> String {
        let mark = if self.blind && verdict == "reproduced" { ANY } else { "" };
        shown(verdict) + mark
    }
}

/// Those of a paper, in the order of its figures.
fn claims(paper: &str) -> Vec<Row> {
    let expected = expected::all().unwrap();
    let figure = |id: &str| item(id).filter(|item| item.paper == paper).map(|item| item.figure);
    let claim = |e: &expected::Expected| {
        let (figure, asked) = (figure(&e.id)?, asked(e.paper, e.criterion?, &e.unit));
        Some(Row {
            begins: format!("| {figure} | {} | {asked} | ", e.quantity),
            explained: e.cause.is_some(),
            blind: e.blind.is_some(),
            derived: e.kind == Kind::Derived,
        })
    };
    let own = super::list().iter().filter(|item| item.paper == paper);
    own.flat_map(|item| expected.iter().filter(move |e| e.id == item.id)).filter_map(claim).collect()
}

/// What the rows come to, in a line above them.
fn counted(rows: &[&str], derived: bool) -> String {
    let ending = |verdict: String| rows.iter().filter(|row| row.ends_with(&format!("| {verdict} |"))).count();
    let any = ending(format!("reproduced{ANY}"));
    let [reproduced, differ, neither] =
        ["reproduced", "differs", "not-comparable"].map(|verdict| ending(shown(verdict)));
    let others = if neither == 0 { String::new() } else { format!(", {neither} cannot be compared") };
    let marked = match any {
        0 => String::new(),
        any => format!("\nOf those reproduced, {any} are marked *any*: they also hold under a wrong scheduler."),
    };
    let what = if derived { "derived values, no claims" } else { "claims" };
    format!("{} {what}: {} reproduced, {differ} differ{others}.{marked}\n\n", rows.len(), reproduced + any)
}

#[test]
fn every_claim_stands_in_the_table_of_its_paper_once() {
    for (paper, _) in PAPERS {
        let page = fs::read_to_string(path(paper)).unwrap();
        let rows: Vec<&str> = parts(&page)[1].lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        let claims = claims(paper);
        assert_eq!(rows.len(), claims.len(), "{paper}");
        let count = counted(&rows, claims.iter().all(|claim| claim.derived));
        assert!(parts(&page)[1].contains(&count), "{paper}: {count}");
        for (row, claim) in rows.iter().zip(claims) {
            assert!(row.starts_with(&claim.begins), "{paper}:\n{row}\n{}", claim.begins);
            let verdict = row.trim_end_matches(" |").rsplit("| ").next().unwrap();
            let known = ["reproduced", "not-comparable", "differs"].map(|verdict| claim.shown(verdict));
            assert!(known.iter().any(|known| known == verdict), "{row}");
            assert!(claim.explained || verdict != shown("differs"), "without a cause: {row}");
        }
    }
}

/// Rewrites the tables with the checks of `make reproduce`.
#[test]
#[ignore = "writes docs/reproductions by out/reproduce/checks.json: make pages"]
fn the_tables_are_written() {
    let checks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(std::env::var("CHECKS").unwrap());
    let document: Value = serde_json::from_str(&fs::read_to_string(checks).unwrap()).unwrap();
    let found: Vec<&Value> =
        document["checks"].as_array().unwrap().iter().filter(|c| !c["verdict"].is_null()).collect();
    for (paper, _) in PAPERS {
        let own = found.iter().filter(|c| item(c["id"].as_str().unwrap()).is_some_and(|item| item.paper == paper));
        let own: Vec<&&Value> = own.collect();
        if own.is_empty() {
            continue;
        }
        let claims = claims(paper);
        assert_eq!(own.len(), claims.len(), "{paper}: not all of it was reproduced");
        let row = |(claim, check): (&Row, &&&Value)| {
            let unit = check["unit"].as_str().unwrap();
            let ours = check["ours"].as_f64().map_or("-".into(), |ours| format!("{} {unit}", digits(ours)));
            let verdict = claim.shown(check["verdict"].as_str().unwrap());
            format!("{}{} | {verdict} |\n", claim.begins, ours.trim())
        };
        let rows: String = claims.iter().zip(&own).map(row).collect();
        let page = fs::read_to_string(path(paper)).unwrap();
        let [before, _, after] = parts(&page);
        let derived = claims.iter().all(|claim| claim.derived);
        let (counted, header) = (counted(&rows.lines().collect::<Vec<_>>(), derived), header(derived));
        fs::write(path(paper), format!("{before}{BEGIN}\n{counted}{header}{rows}{END}{after}")).unwrap();
    }
}

#[test]
fn numbers_have_four_digits_that_count() {
    let of = |values: [f64; 6]| values.map(digits);
    assert_eq!(of([55.716, 1256.04, 0.6347, 100.0, 0.0, -4.0428]), ["55.72", "1256", "0.6347", "100", "0", "-4.043"]);
}
