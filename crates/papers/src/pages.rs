//! The tables of claims in docs/reproductions, against what is expected and what the program found.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{PAPERS, expected, item};
use dovetail_experiment::claim::Criterion;

/// The lines around a table.
const BEGIN: &str = "<!-- claims: written by `make pages` -->";
const END: &str = "<!-- end of claims -->";
const HEADER: &str = "| | Claim | Paper | Here | Verdict |\n|---|---|---|---|---|\n";

fn path(paper: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/reproductions/{paper}.md"))
}

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
    let criterion = match (criterion, criterion.tolerance(paper)) {
        // Per cent of per cent read as points.
        (Criterion::WithinPercent(_), Some(points)) if unit.starts_with('%') => Criterion::Within(points),
        _ => criterion,
    };
    format!("{value}{criterion} {unit}").trim().to_string()
}

/// The first columns of each claim of a paper: these do not depend on what is found.
fn claims(paper: &str) -> Vec<(String, String)> {
    let expected = expected::all().unwrap();
    let figure = |id: &str| item(id).filter(|item| item.paper == paper).map(|item| item.figure);
    let claim = |e: &expected::Expected| {
        let (figure, criterion) = (figure(&e.id)?, e.criterion?);
        Some((figure.to_string(), format!("{} | {}", e.quantity, asked(e.paper, criterion, &e.unit))))
    };
    let own = super::list().iter().filter(|item| item.paper == paper);
    own.flat_map(|item| expected.iter().filter(move |e| e.id == item.id)).filter_map(claim).collect()
}

#[test]
fn every_claim_stands_in_the_table_of_its_paper_once() {
    for (paper, _) in PAPERS {
        let page = fs::read_to_string(path(paper)).unwrap();
        let rows: Vec<&str> = parts(&page)[1].lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        let claims = claims(paper);
        assert_eq!(rows.len(), claims.len(), "{paper}");
        for (row, (figure, claim)) in rows.iter().zip(claims) {
            assert!(row.starts_with(&format!("| {figure} | {claim} | ")), "{paper}:\n{row}\n| {figure} | {claim} | ");
            let verdict = row.trim_end_matches(" |").rsplit("| ").next().unwrap();
            assert!(["reproduced", "differs", "not comparable"].contains(&verdict), "{row}");
        }
    }
}

/// Rewrites the tables with the checks of `make reproduce`.
#[test]
#[ignore = "writes docs/reproductions by out/reproduce/checks.json: make pages"]
fn the_tables_are_written() {
    let checks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(std::env::var("CHECKS").unwrap());
    let document: Value = serde_json::from_str(&fs::read_to_string(checks).unwrap()).unwrap();
    let found: Vec<&Value> = document["checks"].as_array().unwrap().iter().filter(|c| c["kind"] == "claim").collect();
    for (paper, _) in PAPERS {
        let own = found.iter().filter(|c| item(c["id"].as_str().unwrap()).is_some_and(|item| item.paper == paper));
        let own: Vec<&&Value> = own.collect();
        if own.is_empty() {
            continue;
        }
        let claims = claims(paper);
        assert_eq!(own.len(), claims.len(), "{paper}: not all of it was reproduced");
        let row = |((figure, claim), check): (&(String, String), &&&Value)| {
            let unit = check["unit"].as_str().unwrap();
            let ours = check["ours"].as_f64().map_or("-".into(), |ours| format!("{} {unit}", digits(ours)));
            let verdict = check["verdict"].as_str().unwrap().replace('-', " ");
            format!("| {figure} | {claim} | {} | {verdict} |\n", ours.trim())
        };
        let rows: String = claims.iter().zip(&own).map(row).collect();
        let page = fs::read_to_string(path(paper)).unwrap();
        let [before, _, after] = parts(&page);
        fs::write(path(paper), format!("{before}{BEGIN}\n{HEADER}{rows}{END}{after}")).unwrap();
    }
}

#[test]
fn numbers_have_four_digits_that_count() {
    let of = |values: [f64; 6]| values.map(digits);
    assert_eq!(of([55.716, 1256.04, 0.6347, 100.0, 0.0, -4.0428]), ["55.72", "1256", "0.6347", "100", "0", "-4.043"]);
}
