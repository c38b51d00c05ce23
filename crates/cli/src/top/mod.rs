//! `dovetail top`.

mod app;
mod help;
mod list;
mod shares;
mod summary;
#[cfg(test)]
mod tests;
mod view;
mod words;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use dovetail_dataplane::control::protocol::Request;
use dovetail_dataplane::control::{Client, ClientError};
use dovetail_dataplane::core::Snapshot;
use dovetail_dataplane::driver::Clock;
use dovetail_units::Time;
use ratatui::DefaultTerminal;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::layout::Rect;

use crate::args::Top;
use crate::ctl;
use crate::failure::Failure;
use crate::terminal;
use app::{Action, App, Link};

/// How many flows are asked for: those first of which most waits.
const FLOWS: usize = 500;

/// Signals are looked at this often.
const ATTENTION: Duration = Duration::from_millis(250);

/// The screen of `--once` where there is no terminal.
const PLAIN: (u16, u16) = (120, 40);

/// Show a running box.
pub fn top(args: Top) -> Result<(), Failure> {
    let path = &args.socket.socket;
    let every = Duration::from_nanos(args.every.as_nanos());
    if args.once {
        return once(path, every, args.sort);
    }
    if !io::stdout().is_terminal() {
        return Err(Failure::Input("the output is not a terminal; for one screen as text: dovetail top --once".into()));
    }
    if terminal_size::terminal_size().is_none() {
        let message = "the terminal does not say how large it is; tell it, as in stty rows 40 cols 120; for one \
                       screen as text: dovetail top --once";
        return Err(Failure::Input(message.into()));
    }
    let stop = terminal::on_interrupt();
    let mut watch = Watch { path, sort: args.sort, client: None, clock: Clock::start(), answered: None };
    // Also restores the terminal if there is a panic.
    let mut terminal = ratatui::try_init().map_err(Failure::run)?;
    let done = watch.run(&mut terminal, &events(), every, stop);
    let restored = ratatui::try_restore();
    if restored.is_err() {
        // It would panic for want of a cursor to show.
        std::mem::forget(terminal);
    }
    done.and(restored).map_err(|error| Failure::Run(format!("the terminal is gone: {error}")))
}

/// Keys, and changes of size. A thread of its own waits for them: once a terminal is gone, that wait never ends.
fn events() -> Receiver<io::Result<Event>> {
    let (sender, events) = sync_channel(1);
    std::thread::spawn(move || while sender.send(event::read()).is_ok() {});
    events
}

/// What happens in one interval, as text.
#[expect(clippy::disallowed_methods, reason = "the box is given time to do something")]
fn once(path: &Path, every: Duration, sort: char) -> Result<(), Failure> {
    let mut client = ctl::connect(path)?;
    let mut app = App::new(path.display().to_string()).sorted(sort);
    app.update(client.snapshot(FLOWS).map_err(ctl::failure)?);
    std::thread::sleep(every);
    app.update(client.snapshot(FLOWS).map_err(ctl::failure)?);
    let (width, height) = terminal_size::terminal_size().map_or(PLAIN, |(width, height)| (width.0, height.0));
    let screen = text(&app, width, height);
    // Keys are of no use in a text.
    let lines = screen.trim_end().rsplit_once('\n').map_or("", |(lines, _)| lines);
    terminal::print(&format!("{}\n", lines.trim_end()))
}

/// A screen of this size as text.
fn text(app: &App, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    view::draw(app, area, &mut buffer);
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_string();
    (0..height).map(line).collect::<Vec<String>>().join("\n") + "\n"
}

/// Looks at a box that may come and go.
struct Watch<'a> {
    path: &'a Path,
    sort: char,
    client: Option<Client>,
    clock: Clock,
    answered: Option<Time>,
}

impl Watch<'_> {
    fn run(
        &mut self,
        terminal: &mut DefaultTerminal,
        events: &Receiver<io::Result<Event>>,
        every: Duration,
        stop: &AtomicBool,
    ) -> io::Result<()> {
        let mut app = App::new(self.path.display().to_string()).sorted(self.sort);
        let every = dovetail_units::Duration::from_nanos(every.as_nanos() as u64);
        let mut due = self.clock.now();
        let mut stale = true;
        while !stop.load(Ordering::Relaxed) {
            if self.clock.now() >= due {
                due = self.clock.now() + every;
                if !app.paused {
                    self.look(&mut app);
                    stale = true;
                }
            }
            if stale {
                terminal.draw(|frame| view::draw(&app, frame.area(), frame.buffer_mut()))?;
                stale = false;
            }
            let wait = Duration::from_nanos(due.since(self.clock.now()).as_nanos()).min(ATTENTION);
            let event = match events.recv_timeout(wait) {
                Ok(event) => event?,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            stale = true;
            match event {
                Event::Key(key) if key.kind == KeyEventKind::Press => match app.key(key) {
                    Action::Quit => return Ok(()),
                    Action::Draw => {}
                    Action::Alpha(parameter, value) => app.note = Some(self.set(parameter, value)),
                },
                _ => {}
            }
        }
        Ok(())
    }

    fn look(&mut self, app: &mut App) {
        match self.snapshot() {
            Ok(snapshot) => {
                self.answered = Some(self.clock.now());
                if app.link != Link::Up {
                    app.note = Some("the box is back".into());
                }
                app.update(snapshot);
            }
            Err(why) => {
                self.client = None;
                let now = self.clock.now();
                let seconds = now.since(*self.answered.get_or_insert(now)).as_secs_f64();
                app.link = Link::Down(why, seconds as u64);
            }
        }
    }

    fn snapshot(&mut self) -> Result<Snapshot, String> {
        self.client()?.snapshot(FLOWS).map_err(|error| error.to_string())
    }

    fn client(&mut self) -> Result<&mut Client, String> {
        match &mut self.client {
            Some(client) => Ok(client),
            none => Ok(none.insert(Client::connect(self.path).map_err(|error| ctl::why(&error))?)),
        }
    }

    fn set(&mut self, parameter: &str, value: String) -> String {
        let request = Request::Set { parameter: parameter.into(), value };
        let changed = self.client().and_then(|client| {
            client.change(&request).map_err(|error| match error {
                ClientError::Refused(message) => message,
                other => other.to_string(),
            })
        });
        changed.unwrap_or_else(|error| error)
    }
}
