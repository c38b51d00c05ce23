//! What can be asked, and what is answered: see `docs/reference/control.md`.

use dovetail_config::nearest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::Snapshot;

/// The version of requests and answers.
pub const VERSION: u64 = 1;

/// The longest request, in bytes.
pub const LONGEST: usize = 4096;

/// The most flows of one snapshot: the worker makes it between packets.
pub const MOST_FLOWS: usize = 1000;

/// What a client asks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// What the box has done until now.
    Snapshot {
        /// How many flows to tell of, at most [`MOST_FLOWS`]: those first of which most waits.
        #[serde(default)]
        flows: usize,
    },
    /// Change a parameter of the scheduler.
    Set {
        /// Such as `alpha`.
        parameter: String,
        /// As it is written in the scheduler's spec.
        value: String,
    },
    /// The weight of each flow of a class.
    Weight {
        /// The class.
        class: String,
        /// From 0.001 to 1000000, as in the configuration.
        weight: String,
    },
    /// Which part of its fair share each flow of a class is guaranteed.
    Alpha {
        /// The class.
        class: String,
        /// From 0 to 1, as in the configuration; or `none`: what the scheduler guarantees to all.
        alpha: String,
    },
    /// The limit of the queue of each flow of a class.
    Queue {
        /// The class.
        class: String,
        /// Such as `200 packets, 64 kB`, or `unlimited`.
        limit: String,
    },
    /// How much of a core processing may use.
    Budget {
        /// Such as `20 %`.
        budget: String,
    },
    /// The rate of the link.
    Rate {
        /// Such as `40 Mbps`, or `unlimited`.
        rate: String,
    },
    // Unknown keys are errors only where a variant has braces.
    /// Read the configuration's file again, and go on by it.
    Reload {},
    /// Take nothing more in, send what is held, and end.
    Stop {},
}

const REQUESTS: [&str; 9] = ["snapshot", "set", "weight", "alpha", "queue", "budget", "rate", "reload", "stop"];

/// Keys of which the values are texts.
const TEXTS: [&str; 8] = ["parameter", "value", "class", "weight", "alpha", "limit", "budget", "rate"];

/// What the box answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// To [`Request::Snapshot`].
    Snapshot(Box<Snapshot>),
    /// It is done: what is so from now on.
    Done(String),
    /// The request is wrong, and changed nothing.
    Error(String),
    /// The box has no room or no time for whoever asks, whatever is asked.
    Unavailable(String),
}

#[derive(Serialize)]
struct Line<'a, T> {
    version: u64,
    #[serde(flatten)]
    content: &'a T,
}

impl Request {
    /// As one line.
    pub fn to_line(&self) -> String {
        line(self)
    }

    /// From one line, with what is wrong in words for whoever wrote it.
    ///
    /// # Errors
    /// It is no JSON, of another version, or no request.
    pub fn from_line(line: &[u8]) -> Result<Self, String> {
        let request = versioned(line)?;
        let name = request.get("request").and_then(Value::as_str);
        let Some(name) = name else { return Err(format!("expected \"request\", one of {}", REQUESTS.join(", "))) };
        if !REQUESTS.contains(&name) {
            return Err(match nearest(name, REQUESTS.into_iter()) {
                Some(near) => format!("there is no request {name:?}; did you mean {near:?}?"),
                None => format!("there is no request {name:?}; there are {}", REQUESTS.join(", ")),
            });
        }
        check_values(&request).map_err(|error| format!("{name}: {error}"))?;
        let words = |error: serde_json::Error| error.to_string().replace(" field", " key");
        serde_json::from_value(request.clone()).map_err(|error| format!("{name}: {}", words(error)))
    }
}

/// That values are of the kind that their keys ask for.
fn check_values(request: &Value) -> Result<(), String> {
    if let Some(flows) = request.get("flows").filter(|flows| flows.as_u64().is_none_or(|n| n > MOST_FLOWS as u64)) {
        return Err(format!("\"flows\" is {flows}: expected a whole number from 0 to {MOST_FLOWS}"));
    }
    match TEXTS.iter().find_map(|key| Some((key, request.get(key)?)).filter(|(_, value)| !value.is_string())) {
        Some((key, value)) => Err(format!("{key:?} is {value}: expected a text in quotes, as in the configuration")),
        None => Ok(()),
    }
}

impl Answer {
    /// As one line.
    pub fn to_line(&self) -> String {
        line(self)
    }

    /// From one line.
    ///
    /// # Errors
    /// It is no answer of this version.
    pub fn from_line(line: &[u8]) -> Result<Self, String> {
        serde_json::from_value(versioned(line)?).map_err(|error| error.to_string())
    }
}

fn line(content: &impl Serialize) -> String {
    // Neither requests nor answers have anything that JSON has not.
    let mut line = serde_json::to_string(&Line { version: VERSION, content }).unwrap_or_default();
    line.push('\n');
    line
}

/// The object on a line, without its version, which is ours.
fn versioned(line: &[u8]) -> Result<Value, String> {
    let mut value: Value = serde_json::from_slice(line).map_err(|error| format!("not JSON: {error}"))?;
    let object = value.as_object_mut().ok_or("expected a JSON object")?;
    match object.remove("version") {
        Some(version) if version == VERSION => Ok(value),
        Some(version) => Err(format!("version {version} is not spoken here; expected \"version\": {VERSION}")),
        None => Err(format!("expected \"version\": {VERSION}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back_as_they_were_sent() {
        let text = String::from;
        let requests = [
            Request::Snapshot { flows: 7 },
            Request::Set { parameter: text("alpha"), value: text("0.9") },
            Request::Weight { class: text("dear \"quoted\"\n"), weight: text("2") },
            Request::Alpha { class: text("cheap"), alpha: text("0.7") },
            Request::Queue { class: text("cheap"), limit: text("unlimited") },
            Request::Budget { budget: text("20 %") },
            Request::Rate { rate: text("40 Mbps") },
            Request::Reload {},
            Request::Stop {},
        ];
        for request in requests {
            let line = request.to_line();
            assert_eq!(line.find('\n'), Some(line.len() - 1), "one line: {line:?}");
            assert_eq!(Request::from_line(line.as_bytes()), Ok(request));
        }
        assert_eq!(Request::Stop {}.to_line(), "{\"version\":1,\"request\":\"stop\"}\n");
    }

    #[test]
    fn every_request_is_in_the_list_of_names() {
        let none = serde_json::from_str::<Request>(r#"{"request":"none"}"#).unwrap_err().to_string();
        // "unknown variant `none`, expected one of `snapshot`, .."
        let known: Vec<&str> = none.split('`').skip(3).step_by(2).collect();
        assert_eq!(known, REQUESTS, "{none}");
    }

    #[test]
    fn wrong_requests_say_what_would_be_right() {
        let wrong = |line: &str| Request::from_line(line.as_bytes()).unwrap_err();
        assert!(wrong("alpha=1").contains("not JSON"));
        assert!(wrong("[1]").contains("expected a JSON object"));
        assert!(wrong(r#"{"request":"stop"}"#).contains("expected \"version\": 1"));
        assert!(wrong(r#"{"version":2,"request":"stop"}"#).contains("version 2 is not spoken here"));
        assert!(wrong(r#"{"version":1}"#).contains("one of snapshot, set"));
        assert!(wrong(r#"{"version":1,"request":"wieght"}"#).contains("did you mean \"weight\"?"));
        assert!(wrong(r#"{"version":1,"request":"set","parameter":"alpha"}"#).contains("set: missing key `value`"));
        assert!(
            wrong(r#"{"version":1,"request":"rate","rate":"1 Mbps","burst":1}"#).contains("rate: unknown key `burst`")
        );
        for request in REQUESTS {
            let message = wrong(&format!("{{\"version\":1,\"request\":{request:?},\"now\":true}}"));
            assert!(message.contains("unknown key `now`"), "{message}");
        }
        for flows in ["1001", "-1", "1.5", "\"20\""] {
            let message = wrong(&format!("{{\"version\":1,\"request\":\"snapshot\",\"flows\":{flows}}}"));
            assert_eq!(message, format!("snapshot: \"flows\" is {flows}: expected a whole number from 0 to 1000"));
        }
        assert_eq!(
            wrong(r#"{"version":1,"request":"set","parameter":"alpha","value":0.9}"#),
            "set: \"value\" is 0.9: expected a text in quotes, as in the configuration"
        );
        assert!(Request::from_line(b"\xff\xfe").unwrap_err().contains("not JSON"));
    }

    #[test]
    fn answers_come_back() {
        for answer in [Answer::Done("alpha=0.9".into()), Answer::Error("no".into()), Answer::Unavailable("full".into())]
        {
            let read = Answer::from_line(answer.to_line().as_bytes()).unwrap();
            assert_eq!(format!("{read:?}"), format!("{answer:?}"));
        }
    }
}
