//! `dovetail calibrate`: what it prints can be run. Nothing is said here of how long anything takes.

use serde_json::Value;

use crate::support::Folder;

#[test]
fn the_printed_classes_are_a_scenario() {
    let folder = Folder::new();
    let text = folder.dovetail(&["calibrate", "check", "forward", "--samples", "10"]).succeeds().out;
    let classes = &text[text.find("[[class]]").unwrap()..];
    let rest = r#"
[[resource]]
name = "cpu"
[[resource]]
name = "link"
rate = "1 Gbps"
[[flows]]
class = "check"
size = "800 B"
rate = "1000 pps"
packets = 10
[[flows]]
class = "forward"
size = "800 B"
rate = "1000 pps"
packets = 10
"#;
    folder.write("calibrated.toml", format!("{classes}{rest}"));
    folder.dovetail(&["run", "calibrated.toml", "--scheduler", "drfq", "--json"]).succeeds();
}

#[test]
fn the_document_has_every_module_with_its_fit() {
    let text = Folder::new().dovetail(&["calibrate", "--samples", "10", "--json"]).succeeds().out;
    let document: Value = serde_json::from_str(&text).unwrap();
    let modules = document["modules"].as_array().unwrap();
    let names: Vec<&str> = modules.iter().map(|m| m["module"].as_str().unwrap()).collect();
    assert_eq!(names, ["check", "monitor", "esp-gcm", "esp-cbc-sha1", "re", "forward", "match"]);
    for module in modules {
        assert!(module["r_squared"].as_f64().unwrap() <= 1.0);
        assert!(module["residual_p95"].as_f64().unwrap() >= 0.0);
        assert_eq!(module["points"].as_array().unwrap().len(), 8);
    }
}

#[test]
fn a_misspelt_module_is_told_the_nearest() {
    let said = Folder::new().dovetail(&["calibrate", "mointor"]);
    said.fails(2, &["there is no module \"mointor\"; did you mean \"monitor\"?"]);
}
