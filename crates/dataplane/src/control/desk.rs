//! Where requests meet the worker.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use dovetail_config::{InputError, nearest, unknown};
use dovetail_sched::catalog::{Entry, catalog};
use dovetail_sched::composition::parts;
use dovetail_sched::promise::Alpha;
use dovetail_units::{Duration, Part, Time, Weight};
use log::{info, warn};

use super::protocol::{Answer, MOST_FLOWS, Request};
use crate::config::{Config, LinkRate, Percent, Room};
use crate::core::{Middlebox, Setup};
use crate::live::Live;
use crate::watch::target;

/// Requests that wait at most, which is more than there are clients of the socket and of the metrics; every client
/// waits for its answer before it asks again.
const WAITING: usize = 32;

/// The worker answers one request in this time at most, so that no client can keep it from its packets.
const SPACING: Duration = Duration::from_millis(5);

/// How long a client waits for the worker, which is away for as long as a burst takes.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

const UNCHANGED: &str = "nothing has changed in the running box";

const NO_FILE: &str = "this box has no file that it could read again";

/// What the worker is to do.
enum Work {
    Request(Request),
    /// Go on with another setup.
    Reload(Box<Setup>),
}

struct Question {
    work: Work,
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
pub struct Counter {
    questions: SyncSender<Question>,
    /// What the box was made of last; one reload goes on at a time.
    config: Option<Arc<Mutex<Config>>>,
}

impl Desk {
    /// Both sides.
    pub fn open() -> (Self, Counter) {
        let (sender, questions) = sync_channel(WAITING);
        (Self { questions, answered: Time::ZERO, stop: false }, Counter { questions: sender, config: None })
    }

    /// Answer at most one request, if one waits. Never blocks; O(flows) for a snapshot, O(flows of the class) for a
    /// change, O(flows + frames that wait) for a reload.
    pub fn answer(&mut self, now: Time, live: &mut Live) {
        if now.since(self.answered) < SPACING {
            return;
        }
        let Ok(Question { work, answer }) = self.questions.try_recv() else { return };
        self.answered = now;
        let reply = match work {
            Work::Reload(mut setup) => {
                let state = live.middlebox.hand_over(&mut setup);
                let state = state.map_err(|(module, error)| format!("the state of module {module:?}: {error}"));
                let reloaded =
                    state.and_then(|()| live.middlebox.reload(now, *setup).map_err(|error| error.to_string()));
                reloaded.map_or_else(Answer::Error, |()| Answer::Done(String::new()))
            }
            Work::Request(request) => {
                self.stop |= matches!(request, Request::Stop {});
                reply(now, live, request)
            }
        };
        // A client that is gone needs no answer.
        let _ = answer.try_send(reply);
    }

    /// Whether somebody asked the box to end.
    pub fn stop(&self) -> bool {
        self.stop
    }
}

impl Counter {
    /// The same for a box that was made of `config`, whose file can be read again.
    #[must_use]
    pub fn reloading(self, config: Config) -> Self {
        Self { config: Some(Arc::new(Mutex::new(config))), ..self }
    }

    /// Ask over the control socket, and wait for the answer.
    pub fn ask(&self, request: Request) -> Answer {
        self.ask_by(request, "control socket")
    }

    /// The same by another way, which the log names where the box is changed. A configuration is read and its modules
    /// are made here, not by the worker.
    pub fn ask_by(&self, request: Request, by: &str) -> Answer {
        match request {
            Request::Reload {} => self.reload(by).map_or_else(|answer| answer, Answer::Done),
            request => {
                let answer = self.hand_in(Work::Request(request));
                if let Answer::Done(done) = &answer {
                    info!(target: target::CONTROL, "{done} ({by})");
                }
                answer
            }
        }
    }

    /// What is in force then, or else the answer.
    fn reload(&self, by: &str) -> Result<String, Answer> {
        let running = self.config.as_ref().ok_or_else(|| Answer::Error(NO_FILE.into()))?;
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        let unchanged = |error: InputError| {
            warn!(target: target::RELOAD, "{}; {UNCHANGED} ({by})", error.line());
            Answer::Error(format!("{error}\n{UNCHANGED}"))
        };
        let config = running.reread().map_err(unchanged)?;
        let setup = config.setup().map_err(unchanged)?;
        match self.hand_in(Work::Reload(Box::new(setup))) {
            Answer::Done(_) => {
                info!(target: target::RELOAD, "{} is in force ({by})", config.name());
                config.warnings().iter().for_each(|warning| warn!(target: target::RELOAD, "{warning}"));
                *running = config;
                Ok(format!("{} is in force", running.name()))
            }
            other => {
                if let Answer::Error(error) | Answer::Unavailable(error) = &other {
                    warn!(target: target::RELOAD, "{}; {UNCHANGED} ({by})", error.replace('\n', " "));
                }
                Err(other)
            }
        }
    }

    fn hand_in(&self, work: Work) -> Answer {
        let (sender, answer) = sync_channel(1);
        if self.questions.try_send(Question { work, answer: sender }).is_err() {
            return Answer::Unavailable("the box ends, or has too many requests to answer; nothing was changed".into());
        }
        answer
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|_| Answer::Unavailable("the box does not answer; it may be ending".into()))
    }
}

/// Do what is asked, or say what is wrong with it and change nothing.
fn reply(now: Time, live: &mut Live, request: Request) -> Answer {
    let middlebox = &mut live.middlebox;
    let done = match request {
        Request::Snapshot { flows } => {
            return Answer::Snapshot(Box::new(live.snapshot_of(now, flows.min(MOST_FLOWS))));
        }
        Request::Set { parameter, value } => set(now, middlebox, &parameter, &value),
        Request::Weight { class, weight } => set_weight(now, middlebox, &class, &weight),
        Request::Alpha { class, alpha } => set_alpha(now, middlebox, &class, &alpha),
        Request::Queue { class, limit } => set_limit(now, middlebox, &class, &limit),
        Request::Budget { budget } => budget.parse().map(|Percent(share)| {
            middlebox.set_budget(now, share);
            format!("budget={budget}")
        }),
        Request::Rate { rate } => set_rate(now, middlebox, &rate),
        // The counter makes it a setup.
        Request::Reload {} => Err(NO_FILE.to_string()),
        Request::Stop {} => Ok("the box sends what it holds, and ends".to_string()),
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

fn set_alpha(now: Time, middlebox: &mut Middlebox, class: &str, text: &str) -> Result<String, String> {
    let takes = |entry: &Entry| entry.fact::<Alpha>().is_some();
    let scheduler = &middlebox.scheduler().name;
    if !parts(scheduler).unwrap_or_default().into_iter().any(takes) {
        let able: Vec<&str> = catalog().iter().filter(|entry| takes(entry)).map(|entry| entry.name).collect();
        return Err(format!("{scheduler} guarantees no parts of fair shares; {} does", able.join(", ")));
    }
    let alpha = match text {
        "none" => None,
        text => Some(text.parse::<Part>().map_err(|error| format!("{error}, or none for what all are guaranteed"))?),
    };
    match middlebox.set_alpha(now, class, alpha) {
        Some(()) => Ok(format!("alpha of {class}={text}")),
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

fn set_rate(now: Time, middlebox: &mut Middlebox, text: &str) -> Result<String, String> {
    let LinkRate(rate) = text.parse()?;
    middlebox.set_rate(now, rate);
    Ok(format!("rate={text}"))
}

fn no_class(middlebox: &Middlebox, class: &str) -> String {
    let names: Vec<&str> = middlebox.class_names().collect();
    unknown("class", class, &names)
}
