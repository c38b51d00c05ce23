//! What turns a running box of one configuration into one of another.

use dovetail_dataplane::control::protocol::Request;
use dovetail_sched::Spec;
use toml::{Table, Value};

/// The changes to ask a box for, if it can make all of them while it runs; `None` if it must be started anew.
pub fn changes(before: &Table, after: &Table) -> Option<Vec<Request>> {
    let mut requests = Vec::new();
    for key in keys(before, after) {
        let (old, new) = (before.get(key), after.get(key));
        if old == new {
            continue;
        }
        match key {
            "scheduler" => requests.extend(of_scheduler(old?.as_str()?, new?.as_str()?)?),
            "class" => requests.extend(of_classes(old?.as_array()?, new?.as_array()?)?),
            "cpu" | "link" => requests.extend(of_resource(key, old, new)?),
            _ => return None,
        }
    }
    Some(requests)
}

/// All keys of the two tables, each once.
fn keys<'a>(before: &'a Table, after: &'a Table) -> impl Iterator<Item = &'a str> {
    let added = after.keys().filter(|&key| !before.contains_key(key));
    before.keys().chain(added).map(String::as_str)
}

/// The same discipline with other values of its parameters.
fn of_scheduler(old: &str, new: &str) -> Option<Vec<Request>> {
    let (old, new): (Spec, Spec) = (old.parse().ok()?, new.parse().ok()?);
    // What is not written any more would have its default, which the box does not know as a value.
    let kept = old.parameters.iter().all(|(name, _)| new.parameters.iter().any(|(other, _)| other == name));
    let changed = new.parameters.into_iter().filter(|parameter| !old.parameters.contains(parameter));
    let set = |(parameter, value)| Request::Set { parameter, value };
    (old.name == new.name && kept).then(|| changed.map(set).collect())
}

fn of_resource(resource: &str, old: Option<&Value>, new: Option<&Value>) -> Option<Vec<Request>> {
    let table = |value: Option<&'_ Value>| value.map_or(Some(Table::new()), |value| value.as_table().cloned());
    let (old, new) = (table(old)?, table(new)?);
    let mut requests = Vec::new();
    for key in keys(&old, &new).filter(|&key| old.get(key) != new.get(key)) {
        let text = new.get(key).map(|value| value.as_str().map(str::to_string));
        requests.push(match (resource, key) {
            ("cpu", "budget") => Request::Budget { budget: text.unwrap_or(Some("100 %".into()))? },
            ("link", "rate") => Request::Rate { rate: text.unwrap_or(Some("unlimited".into()))? },
            _ => return None,
        });
    }
    Some(requests)
}

/// The same classes with other weights, guarantees and limits.
fn of_classes(old: &[Value], new: &[Value]) -> Option<Vec<Request>> {
    if old.len() != new.len() {
        return None;
    }
    let mut requests = Vec::new();
    for (old, new) in old.iter().zip(new) {
        let (old, new) = (old.as_table()?, new.as_table()?);
        for key in keys(old, new).filter(|&key| old.get(key) != new.get(key)) {
            let class = old.get("name")?.as_str()?.to_string();
            requests.push(match (key, new.get(key)) {
                ("weight", value) => {
                    Request::Weight { class, weight: value.map_or("1".to_string(), ToString::to_string) }
                }
                ("alpha", value) => {
                    Request::Alpha { class, alpha: value.map_or("none".to_string(), ToString::to_string) }
                }
                ("queue", Some(Value::String(limit))) => Request::Queue { class, limit: limit.clone() },
                _ => return None,
            });
        }
    }
    Some(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: &str = r#"
        scheduler = "tradeoff:alpha=1"
        [ports]
        in = "packet:client"
        out = "packet:server"
        [link]
        rate = "200 Mbps"
        [[class]]
        name = "voice"
        cost = "7 us"
    "#;

    fn after(overrides: &[&str]) -> Option<Vec<Request>> {
        let overrides: Vec<String> = overrides.iter().map(|o| o.to_string()).collect();
        let changed = dovetail_config::apply_overrides("box", BOX, &overrides).unwrap();
        changes(&toml::from_str(BOX).unwrap(), &toml::from_str(&changed).unwrap())
    }

    #[test]
    fn what_can_be_turned_while_it_runs_is_asked_for() {
        let text = String::from;
        assert_eq!(after(&[]), Some(vec![]));
        let alpha = Request::Set { parameter: text("alpha"), value: text("0.85") };
        assert_eq!(after(&["scheduler=tradeoff:alpha=0.85"]), Some(vec![alpha]));
        assert_eq!(after(&["link.rate=20 Mbps"]), Some(vec![Request::Rate { rate: text("20 Mbps") }]));
        assert_eq!(after(&["cpu.budget=20 %"]), Some(vec![Request::Budget { budget: text("20 %") }]));
        let weight = Request::Weight { class: text("voice"), weight: text("2.5") };
        let queue = Request::Queue { class: text("voice"), limit: text("9 packets") };
        assert_eq!(after(&["class.voice.weight=2.5", "class.voice.queue=9 packets"]), Some(vec![queue, weight]));
        let alpha = Request::Alpha { class: text("voice"), alpha: text("0.7") };
        assert_eq!(after(&["class.voice.alpha=0.7"]), Some(vec![alpha]));
    }

    #[test]
    fn what_was_set_is_taken_back() {
        let fewer = changes(
            &toml::from_str("cpu.budget = \"20 %\"\nlink.rate = \"1 Mbps\"").unwrap(),
            &toml::from_str("").unwrap(),
        );
        let whole = Request::Budget { budget: "100 %".into() };
        assert_eq!(fewer, Some(vec![whole, Request::Rate { rate: "unlimited".into() }]));
    }

    #[test]
    fn everything_else_needs_a_new_box() {
        for change in [
            "scheduler=drfq",
            "scheduler=tradeoff",
            "ports.out=packet:other",
            "link.buffer=1 packets",
            "class.voice.cost=8 us",
            "class.voice.name=video",
            "flows.queue=7 packets",
            "reverse.delay=1 ms",
        ] {
            assert_eq!(after(&[change]), None, "{change}");
        }
    }
}
