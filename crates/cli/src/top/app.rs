//! What the view shows, and what keys do to it.

use dovetail_dataplane::core::Snapshot;
use dovetail_sched::Spec;
use dovetail_sched::catalog::find;
use dovetail_sched::promise::Alpha;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::help;
use super::shares::{Interval, Row};

/// A key changes alpha by so many hundredths.
const STEP: i64 = 5;

/// What rows are ordered by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The dominant share.
    Dominant,
    /// The share of the CPU.
    Cpu,
    /// The share of the link.
    Link,
    /// Frames that wait.
    Waiting,
    /// The 99th percentile of the latency in the last second.
    Latency,
    /// Drops per second.
    Drops,
    /// The name.
    Name,
}

/// Whether the box answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Link {
    /// It does.
    Up,
    /// It does not, for this reason, for so many seconds.
    Down(String, u64),
}

/// What is to be done after a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Draw again.
    Draw,
    /// End.
    Quit,
    /// Set the parameter that is the scheduler's alpha to this.
    Alpha(&'static str, String),
}

/// The state of the view.
#[derive(Debug)]
pub struct App {
    /// Where the box is looked for.
    pub socket: String,
    /// Whether it answers.
    pub link: Link,
    /// The latest snapshot.
    pub snapshot: Option<Snapshot>,
    /// What happened until then since the one before.
    pub interval: Option<Interval>,
    /// What rows are ordered by.
    pub order: Order,
    /// Only flows of this class.
    pub class: Option<String>,
    /// Whether the view stands still.
    pub paused: bool,
    /// Whether keys are explained.
    pub help: bool,
    /// Lines of that which are scrolled away.
    pub help_scroll: u16,
    /// Flows that are scrolled away.
    pub scroll: usize,
    /// What came of the latest command.
    pub note: Option<String>,
}

impl App {
    /// Nothing is known yet of the box at this socket.
    pub fn new(socket: String) -> Self {
        Self {
            socket,
            link: Link::Up,
            snapshot: None,
            interval: None,
            order: Order::Dominant,
            class: None,
            paused: false,
            help: false,
            help_scroll: 0,
            scroll: 0,
            note: None,
        }
    }

    /// Sorted as by the key of this letter, if it is one.
    pub fn sorted(mut self, letter: char) -> Self {
        self.order = order(letter).unwrap_or(self.order);
        self
    }

    /// A new snapshot has come.
    pub fn update(&mut self, snapshot: Snapshot) {
        self.link = Link::Up;
        self.interval = self.snapshot.as_ref().and_then(|before| Interval::between(before, &snapshot));
        self.snapshot = Some(snapshot);
    }

    /// Flows that are shown, in order.
    pub fn flows(&self) -> Vec<&Row> {
        let all = self.interval.iter().flat_map(|interval| &interval.flows);
        let mut flows: Vec<&Row> =
            all.filter(|row| self.class.as_ref().is_none_or(|class| *class == row.class)).collect();
        let key = |row: &Row| match self.order {
            Order::Dominant => row.shares.dominant(),
            Order::Cpu => row.shares.cpu,
            Order::Link => row.shares.link,
            Order::Waiting => row.queue as f64,
            Order::Latency => row.latency.p99.unwrap_or(0.0),
            Order::Drops => row.drops_s,
            Order::Name => 0.0,
        };
        flows.sort_by(|a, b| key(b).total_cmp(&key(a)).then_with(|| a.name.cmp(&b.name)));
        flows
    }

    /// The scheduler's alpha, if it has one that can change.
    pub fn alpha(&self) -> Option<f64> {
        let (alpha, spec) = self.scheduler_with_alpha()?;
        alpha.of(&spec)
    }

    fn scheduler_with_alpha(&self) -> Option<(&'static Alpha, Spec)> {
        let spec: Spec = self.snapshot.as_ref()?.scheduler.parse().ok()?;
        let alpha = find(&spec.name)?.fact::<Alpha>().filter(|alpha| alpha.0.settable)?;
        Some((alpha, spec))
    }

    /// What a key does.
    pub fn key(&mut self, key: KeyEvent) -> Action {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Action::Quit;
        }
        self.note = None;
        match key.code {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Esc if !self.help => return Action::Quit,
            KeyCode::Char('+' | '=') => return self.alpha_by(STEP),
            KeyCode::Char('-') => return self.alpha_by(-STEP),
            KeyCode::Esc => self.help = false,
            KeyCode::Char('h' | '?') => (self.help, self.help_scroll) = (!self.help, 0),
            code if self.help && self.scroll_help(code) => {}
            KeyCode::Char(' ') => self.paused = !self.paused,
            KeyCode::Tab => self.next_class(),
            KeyCode::Down => self.scroll += 1,
            KeyCode::Up => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::PageDown => self.scroll += 10,
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(10),
            KeyCode::Home => self.scroll = 0,
            KeyCode::Char(letter) => self.order = order(letter).unwrap_or(self.order),
            _ => {}
        }
        self.scroll = self.scroll.min(self.flows().len().saturating_sub(1));
        Action::Draw
    }

    /// Whether the key scrolls what explains keys. How far it can go is known where it is drawn.
    fn scroll_help(&mut self, code: KeyCode) -> bool {
        let lines = &mut self.help_scroll;
        *lines = match code {
            KeyCode::Down => lines.saturating_add(1),
            KeyCode::Up => lines.saturating_sub(1),
            KeyCode::PageDown => lines.saturating_add(5),
            KeyCode::PageUp => lines.saturating_sub(5),
            KeyCode::Home => 0,
            _ => return false,
        };
        *lines = (*lines).min(help::most());
        true
    }

    /// What a backlogged flow's dominant share may be of what is fair without being too little: nine tenths of what
    /// alpha guarantees, or of all of it.
    pub fn enough(&self) -> f64 {
        0.9 * self.alpha().unwrap_or(1.0)
    }

    fn alpha_by(&mut self, hundredths: i64) -> Action {
        let alpha = self.scheduler_with_alpha().and_then(|(alpha, spec)| Some((alpha.0.name, alpha.of(&spec)?)));
        let Some((parameter, alpha)) = alpha else {
            self.note = Some("this scheduler has no alpha that can change".into());
            return Action::Draw;
        };
        let wanted = ((alpha * 100.0).round() as i64 + hundredths).clamp(0, 100);
        Action::Alpha(parameter, format!("{}.{:02}", wanted / 100, wanted % 100))
    }

    /// All flows, then those of the first class, and so on.
    fn next_class(&mut self) {
        let names: Vec<&str> =
            self.snapshot.iter().flat_map(|snapshot| &snapshot.classes).map(|class| class.class.as_str()).collect();
        let next = match &self.class {
            None => 0,
            Some(class) => names.iter().position(|name| name == class).map_or(0, |place| place + 1),
        };
        self.class = names.get(next).map(|name| name.to_string());
        self.scroll = 0;
    }
}

fn order(letter: char) -> Option<Order> {
    Some(match letter {
        'd' => Order::Dominant,
        'c' => Order::Cpu,
        'l' => Order::Link,
        'w' => Order::Waiting,
        'p' => Order::Latency,
        'x' => Order::Drops,
        'n' => Order::Name,
        _ => return None,
    })
}
