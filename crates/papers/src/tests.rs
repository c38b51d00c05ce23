//! Reproductions as specifications. Everything here runs on scaled-down inputs.

use std::sync::Mutex;

use dovetail_experiment::claim::{Criterion, Kind, Verdict};

use super::*;

fn settings<'a>(threads: usize, cancel: &'a AtomicBool, progress: &'a (dyn Fn(&str, u64) + Sync)) -> Settings<'a> {
    Settings { threads, cancel, progress, through: &|_, _| (), capture: None, load: None, wrong: false }
}

fn reproduce(ids: &[&str], threads: usize) -> Result<Reproduction, ReproduceError> {
    let cancel = AtomicBool::new(false);
    let ids: Vec<String> = ids.iter().map(|id| id.to_string()).collect();
    run(&ids, &settings(threads, &cancel, &|_, _| ()))
}

fn refused(id: &str) -> String {
    match reproduce(&[id], 1) {
        Err(ReproduceError::Id(message)) => message,
        other => panic!("{id}: {other:?}"),
    }
}

#[test]
fn an_unknown_id_is_answered_with_the_nearest() {
    assert!(refused("tradeoff-tabel2").contains("did you mean \"tradeoff-table2\"?"));
    assert!(refused("tradeof").contains("did you mean \"tradeoff\"?"));
    assert!(refused("xyzzy").contains("--list"));
}

#[test]
fn what_cannot_be_computed_says_so() {
    assert!(refused("tradeoff-table1").contains("nothing to compute"));
    assert!(refused("drq-fig3").contains("nothing to compute"));
}

#[test]
fn no_id_and_a_papers_name_select_all_that_is_done_in_the_order_of_the_list() {
    let done: Vec<&Item> = list().iter().filter(|i| i.status == Status::Done).collect();
    assert_eq!(select(&[]).unwrap(), done);
    let of_tradeoff: Vec<&Item> = done.into_iter().filter(|i| i.paper == "tradeoff").collect();
    assert_eq!(select(&["tradeoff".into()]).unwrap(), of_tradeoff);
    let two = select(&["tradeoff-fig2".into(), "tradeoff-fig1".into()]).unwrap();
    assert_eq!(two.iter().map(|i| i.id).collect::<Vec<_>>(), ["tradeoff-fig1", "tradeoff-fig2"]);
}

/// DESIGN: `{"schema", "checks": [{"id", "figure", "quantity", "paper", "ours", "unit", "tolerance", "kind", "verdict",
/// "blind", "why"}]}`.
#[test]
fn the_document_has_the_documented_shape() {
    let result = reproduce(&["tradeoff-fig2"], 1).unwrap();
    let document: serde_json::Value = serde_json::from_str(&result.to_json()).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&document), ["checks", "schema"]);
    assert_eq!(document["schema"], 3);
    for check in document["checks"].as_array().unwrap() {
        let expected =
            ["blind", "figure", "id", "kind", "ours", "paper", "quantity", "tolerance", "unit", "verdict", "why"];
        assert_eq!(keys(check), expected);
        assert_eq!((check["id"].as_str(), check["figure"].as_str()), (Some("tradeoff-fig2"), Some("Fig. 2")));
        assert!(check["paper"].is_f64() && check["ours"].is_f64() && check["tolerance"].is_f64());
        assert!(!check["why"].as_str().unwrap().is_empty());
    }
}

#[test]
fn verdicts_are_written_as_documented() {
    let names: Vec<String> = [Verdict::Reproduced, Verdict::Differs, Verdict::NotComparable]
        .map(|v| serde_json::to_value(v).unwrap().as_str().unwrap().to_string())
        .into();
    assert_eq!(names, ["reproduced", "differs", "not-comparable"]);
    assert_eq!(names, [Verdict::Reproduced, Verdict::Differs, Verdict::NotComparable].map(Verdict::name));
}

#[test]
fn figures_1_and_2_are_exact_and_have_pictures() {
    let result = reproduce(&["tradeoff-fig1", "tradeoff-fig2"], 2).unwrap();
    let claims: Vec<&Check> = result.checks.iter().filter(|c| c.kind == Kind::Claim).collect();
    assert_eq!(claims.len(), 13);
    assert!(claims.iter().all(|c| c.verdict == Some(Verdict::Reproduced)), "{claims:#?}");
    let names: Vec<&str> = result.pictures.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["tradeoff-fig1.svg", "tradeoff-fig2.svg"]);
    assert!(result.pictures.iter().all(|(_, svg)| svg.starts_with("<svg")));
}

#[test]
fn the_examples_of_drfq_come_out() {
    let result = reproduce(&["drfq-fig4", "drfq-fig9", "drfq-fig12"], 2).unwrap();
    for check in &result.checks {
        println!("{} {}: {:?}", check.id, check.quantity, check.ours);
        assert_eq!(check.verdict, Some(Verdict::Reproduced), "{check:#?}");
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (one, three) = (reproduce(&["tradeoff-fig1"], 1).unwrap(), reproduce(&["tradeoff-fig1"], 3).unwrap());
    assert_eq!(one.to_json(), three.to_json());
    assert_eq!(one.pictures, three.pictures);
}

#[test]
fn a_cancelled_reproduction_has_no_result() {
    let cancel = AtomicBool::new(true);
    let result = run(&["tradeoff-table2".into()], &settings(2, &cancel, &|_, _| ()));
    assert!(matches!(result, Err(ReproduceError::Run(RunError::Cancelled))), "{result:?}");
}

#[test]
fn progress_names_what_is_under_way() {
    let (cancel, heard) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let progress = |id: &str, _| heard.lock().unwrap().push(id.to_string());
    run(&["tradeoff-fig1".into(), "tradeoff-fig2".into()], &settings(1, &cancel, &progress)).unwrap();
    let mut heard = heard.into_inner().unwrap();
    heard.dedup();
    assert_eq!(heard, ["tradeoff-fig1", "tradeoff-fig2"]);
}

#[test]
fn a_capture_that_is_none_and_what_can_be_read_only_once_are_refused() {
    let cancel = AtomicBool::new(false);
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in ["no such file", "-", pipe.to_str().unwrap()] {
        let settings = Settings { capture: Some(Path::new(path)), ..settings(1, &cancel, &|_, _| ()) };
        let result = run(&["tradeoff-fig9".into()], &settings);
        assert!(matches!(result, Err(ReproduceError::Scenario(_))), "{path}: {result:?}");
    }
}

#[test]
fn every_expected_value_belongs_to_something_that_is_done() {
    let expected = expected::all().unwrap();
    for value in &expected {
        let name = format!("{} {:?}", value.id, value.key);
        assert!(item(&value.id).is_some_and(|i| i.status == Status::Done), "{name}");
        assert!(!value.why.is_empty() && !value.quantity.is_empty(), "{name}");
        assert!(!value.key.all().is_empty(), "{name}");
        assert_eq!(
            value.criterion.is_some(),
            value.kind.judged(),
            "{name}: claims and what is derived have verdicts, and nothing else"
        );
        let Some(criterion) = value.criterion else {
            assert!(value.cause.is_none() && value.blind.is_none(), "{name}");
            assert!(matches!(value.key, expected::Keys::One(_)), "{name}: which of several is the worst?");
            continue;
        };
        assert!(!value.varied, "{name}: a reading that was varied until it fitted is no claim");
        assert_eq!(value.kind == Kind::Derived, value.id.starts_with("drfq"), "{name}: its numbers are not printed");
        let near = matches!(criterion, Criterion::Within(_) | Criterion::WithinPercent(_));
        assert_eq!(near, value.paper.is_some(), "{name}: a tolerance needs a value, a limit a sentence");
        let sentence = ['"', '%'].iter().any(|mark| value.why.contains(*mark));
        let theorem = ["Theorem", "equation"].iter().any(|word| value.why.starts_with(word));
        assert!(near || sentence || theorem, "{name}: {}", value.why);
    }
    for item in list().iter().filter(|i| i.status == Status::Done) {
        assert!(expected.iter().any(|e| e.id == item.id), "{} has no checks", item.id);
    }
}

/// A cause names the independent program that confirms it, in parentheses.
#[test]
fn every_cause_is_confirmed_by_a_program_that_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for value in expected::all().unwrap() {
        let Some(cause) = &value.cause else { continue };
        let named = cause.split("(crates/testkit/tests/").skip(1).filter_map(|rest| rest.split(')').next());
        let named: Vec<&str> = named.collect();
        assert!(!named.is_empty(), "{} {:?}: {cause}", value.id, value.key);
        for name in named {
            assert!(root.join("crates/testkit/tests").join(name).exists(), "{} {:?}: {name}", value.id, value.key);
        }
    }
}

/// One claim, one check: no quantity decides two of them, and no two read alike.
#[test]
fn no_claim_stands_twice() {
    let expected = expected::all().unwrap();
    let claims: Vec<_> = expected.iter().filter(|e| e.kind.judged()).collect();
    let keys: Vec<_> = claims.iter().flat_map(|e| e.key.all().iter().map(|key| (&e.id, key))).collect();
    let quantities: Vec<_> = claims.iter().map(|e| (&e.id, &e.quantity)).collect();
    for mut all in [keys, quantities] {
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}

/// Minutes, in a release build: `make falsify`.
#[test]
#[ignore = "simulates everything under wrong disciplines, which takes minutes"]
fn every_claim_fails_under_wrong_disciplines_or_says_why_it_cannot() {
    let cancel = AtomicBool::new(false);
    let ids: Vec<String> =
        std::env::var("CLAIMS").map_or(Vec::new(), |ids| ids.split_whitespace().map(String::from).collect());
    let result = run(&ids, &Settings { wrong: true, ..settings(2, &cancel, &|_, _| ()) }).unwrap();
    let mut wrong = Vec::new();
    for check in result.checks.iter().filter(|c| c.kind.judged()) {
        let fails = check.verdict != Some(Verdict::Reproduced);
        match (&check.blind, fails) {
            (None, false) => wrong.push(format!("{}, {}: holds with {:?}", check.id, check.quantity, check.ours)),
            (Some(why), true) if check.verdict == Some(Verdict::Differs) => {
                wrong.push(format!("{}, {}: fails, although {why}", check.id, check.quantity));
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
