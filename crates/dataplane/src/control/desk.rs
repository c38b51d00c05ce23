//! Where requests meet the worker.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use dovetail_config::{nearest, unknown};
use dovetail_units::{BitRate, Duration, Time, Weight};

use super::protocol::{Answer, MOST_FLOWS, Request};
use crate::config::{Percent, Room};
use crate::core::Middlebox;

/// Requests that wait at most; every client waits for its answer before it asks again.
const WAITING: usize = 16;

/// The worker answers one request in this time at most, so that no client can keep it from its packets.
const SPACING: Duration = Duration::from_millis(5);

/// How long a client waits for the worker, which is away for as long as a burst takes.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

struct Question {
    request: Request,
    answer: SyncSender<Answer>,
}

/// The worker's side: call [`answer`](Self::answer) when there is time.
pub struct Desk {
    questions: Receiver<Question>,
    answered: Time,
    stop: bool,
}

/// The clients' side.
#[derive(Clone)]
pub struct Counter(SyncSender<Question>);

impl Desk {
    /// Both sides.
    pub fn open() -> (Self, Counter) {
        let (sender, questions) = sync_channel(WAITING);
        (Self { questions, answered: Time::ZERO, stop: false }, Counter(sender))
    }

    /// Answer at most one request, if one waits. Never blocks; O(flows) for a snapshot, O(flows of the class) for a change.
    pub fn answer(&mut self, now: Time, middlebox: &mut Middlebox) {
        if now.since(self.answered) < SPACING {
            return;
        }
        let Ok(Question { request, answer }) = self.questions.try_recv() else { return };
        self.answered = now;
        self.stop |= request == Request::Stop;
        // A client that is gone needs no answer.
        let _ = answer.try_send(reply(now, middlebox, request));
    }

    /// Whether somebody asked the box to end.
    pub fn stop(&self) -> bool {
        self.stop
    }
}

impl Counter {
    /// Ask, and wait for the answer.
    pub fn ask(&self, request: Request) -> Answer {
        let (sender, answer) = sync_channel(1);
        let question = Question { request, answer: sender };
        if self.0.try_send(question).is_err() {
            return Answer::Error("the box ends, or has too many requests to answer; nothing was changed".into());
        }
        answer
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|_| Answer::Error("the box does not answer; it may be ending".into()))
    }
}

/// Do what is asked, or say what is wrong with it and change nothing.
fn reply(now: Time, middlebox: &mut Middlebox, request: Request) -> Answer {
    let done = match request {
        Request::Snapshot { flows } => {
            return Answer::Snapshot(Box::new(middlebox.snapshot_of(now, flows.min(MOST_FLOWS))));
        }
        Request::Set { parameter, value } => set(now, middlebox, &parameter, &value),
        Request::Weight { class, weight } => set_weight(now, middlebox, &class, &weight),
        Request::Queue { class, limit } => set_limit(now, middlebox, &class, &limit),
        Request::Budget { budget } => budget.parse().map(|Percent(share)| {
            middlebox.set_budget(share);
            format!("budget={budget}")
        }),
        Request::Rate { rate } => set_rate(middlebox, &rate),
        Request::Stop => Ok("the box sends what it holds, and ends".to_string()),
    };
    done.map_or_else(Answer::Error, Answer::Done)
}

fn set(now: Time, middlebox: &mut Middlebox, parameter: &str, value: &str) -> Result<String, String> {
    match middlebox.set(now, parameter, value) {
        Ok(()) => Ok(format!("{parameter}={value}")),
        Err(error) => Err(match nearest(error.wrong(), error.known().iter().copied()) {
            Some(near) => format!("{error}; did you mean {near:?}?"),
            None => error.to_string(),
        }),
    }
}

fn set_weight(now: Time, middlebox: &mut Middlebox, class: &str, text: &str) -> Result<String, String> {
    let weight: Weight = text.parse().map_err(|error: dovetail_units::ParseError| error.to_string())?;
    match middlebox.set_weight(now, class, weight) {
        Some(()) => Ok(format!("weight of {class}={text}")),
        None => Err(no_class(middlebox, class)),
    }
}

fn set_limit(now: Time, middlebox: &mut Middlebox, class: &str, text: &str) -> Result<String, String> {
    let Room(limit) = text.parse()?;
    match middlebox.set_limit(now, class, limit) {
        Some(()) => Ok(format!("queue of {class}={text}")),
        None => Err(no_class(middlebox, class)),
    }
}

fn set_rate(middlebox: &mut Middlebox, text: &str) -> Result<String, String> {
    let rate = match text {
        "unlimited" => None,
        text => Some(text.parse::<BitRate>().map_err(|error| error.to_string())?),
    };
    middlebox.set_rate(rate);
    Ok(format!("rate={text}"))
}

fn no_class(middlebox: &Middlebox, class: &str) -> String {
    let names: Vec<&str> = middlebox.class_names().collect();
    unknown("class", class, &names)
}
