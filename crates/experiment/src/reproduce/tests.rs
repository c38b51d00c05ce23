//! Reproductions as specifications. Everything here runs on scaled-down inputs.

use std::sync::Mutex;

use super::*;

fn settings<'a>(threads: usize, cancel: &'a AtomicBool, progress: &'a (dyn Fn(&str, u64) + Sync)) -> Settings<'a> {
    Settings { threads, cancel, progress, capture: None }
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

/// DESIGN: `{"schema", "checks": [{"id", "figure", "quantity", "paper", "ours", "unit", "tolerance", "verdict",
/// "why"}]}`.
#[test]
fn the_document_has_the_documented_shape() {
    let result = reproduce(&["tradeoff-fig2"], 1).unwrap();
    let document: serde_json::Value = serde_json::from_str(&result.to_json()).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&document), ["checks", "schema"]);
    assert_eq!(document["schema"], 1);
    for check in document["checks"].as_array().unwrap() {
        let expected = ["figure", "id", "ours", "paper", "quantity", "tolerance", "unit", "verdict", "why"];
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
    assert_eq!(result.checks.len(), 16);
    assert!(result.checks.iter().all(|c| c.verdict == Verdict::Reproduced), "{:#?}", result.checks);
    let names: Vec<&str> = result.pictures.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["tradeoff-fig1.svg", "tradeoff-fig2.svg"]);
    assert!(result.pictures.iter().all(|(_, svg)| svg.starts_with("<svg")));
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
fn a_capture_that_is_none_and_standard_input_are_refused() {
    let cancel = AtomicBool::new(false);
    for path in ["no such file", "-"] {
        let settings = Settings { capture: Some(Path::new(path)), ..settings(1, &cancel, &|_, _| ()) };
        let result = run(&["tradeoff-fig9".into()], &settings);
        assert!(matches!(result, Err(ReproduceError::Scenario(_))), "{path}: {result:?}");
    }
}

#[test]
fn every_expected_value_belongs_to_something_that_is_done() {
    let expected = expected::all().unwrap();
    for value in &expected {
        assert!(item(&value.id).is_some_and(|i| i.status == Status::Done), "{} {}", value.id, value.key);
        assert!(!value.why.is_empty() && !value.quantity.is_empty(), "{} {}", value.id, value.key);
        let near = matches!(value.criterion, Criterion::Within(_) | Criterion::WithinPercent(_));
        assert_eq!(
            near,
            value.paper.is_some(),
            "{} {}: a tolerance needs a value, a limit a sentence",
            value.id,
            value.key
        );
        if value.paper.is_none() {
            assert!(
                value.why.contains('"') || value.why.starts_with("Theorem") || value.why.starts_with("equation"),
                "{} {}: {}",
                value.id,
                value.key,
                value.why
            );
        }
    }
    for item in list().iter().filter(|i| i.status == Status::Done) {
        assert!(expected.iter().any(|e| e.id == item.id), "{} has no checks", item.id);
    }
}
