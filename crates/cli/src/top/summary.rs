//! What is above the tables: what is wrong, how busy CPU and link are, what is fair, what is dropped.

use dovetail_dataplane::core::{SeenSnapshot, SteeringSnapshot};
use dovetail_dataplane::trouble::{Silent, What};
use dovetail_experiment::table::{counted, wrapped};
use dovetail_units::BitRate;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::app::App;
use super::shares::{BOUND, Interval, Trouble, Verdict};
use super::words::{percent, short, time};

/// Below this many lines or columns the screen is small: three lines without bars.
const SMALL: (u16, u16) = (18, 60);

/// Whether a screen of this size has no room for bars.
pub fn is_small(width: u16, height: u16) -> bool {
    width < SMALL.1 || height < SMALL.0
}

const BAD: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);

/// All of it for a screen of this size.
pub fn lines(app: &App, interval: &Interval, width: u16, height: u16) -> Vec<Line<'static>> {
    let mut lines = troubles(interval, width, height);
    if is_small(width, height) {
        lines.extend(few(app, interval));
    } else {
        lines.extend(all(app, interval, width));
    }
    lines.push(drops(interval, is_small(width, height)));
    lines
}

/// Whether it is what a port refuses whose link is down, which is told of too.
fn follows(of: &Trouble, all: &[Trouble]) -> bool {
    let Trouble::Port(of) = of else { return false };
    let down = |cause: &Trouble| match cause {
        Trouble::Port(cause) => cause.port == of.port && cause.what == What::Link(Silent::Down),
        Trouble::Unaccounted(_) => false,
    };
    of.what == What::Down && all.iter().any(down)
}

fn troubles(interval: &Interval, width: u16, height: u16) -> Vec<Line<'static>> {
    let line = |trouble: &Trouble| match trouble {
        Trouble::Unaccounted(frames) => format!("{frames} frames are unaccounted for: please report this"),
        Trouble::Port(port) => {
            let amount = match port.what {
                What::Waiting => format!("{} frames", short(port.frames as f64)),
                _ => format!("{}/s", short(port.frames as f64 / interval.length_s)),
            };
            if is_small(width, height) { port.brief_line(&amount) } else { port.line(&amount) }
        }
    };
    // That a link is down is reason enough for what it refuses.
    let mut told: Vec<&Trouble> = interval.troubles.iter().filter(|of| !follows(of, &interval.troubles)).collect();
    // Links that carry nothing come first: there may be no room for all.
    told.sort_by_key(|of| matches!(of, Trouble::Port(of) if !matches!(of.what, What::Link(_))));
    let told: Vec<String> = told.into_iter().map(line).collect();
    let whole: Vec<String> = told.iter().map(|text| wrapped(text, width)).collect();
    let mut lines: Vec<String> = whole.iter().flat_map(|text| text.lines()).map(str::to_string).collect();
    let most = usize::from((height / 4).clamp(3, 8));
    if lines.len() > most {
        // A line each, so that most of them are named.
        lines = told.into_iter().take(most).map(|text| super::words::cut(&text, width.into())).collect();
    }
    lines.into_iter().map(|line| Line::styled(line, BAD)).collect()
}

/// Of a resource: in full use is what it is for.
fn busy_style(busy: f64) -> Style {
    if busy >= BOUND { Style::new().fg(Color::Green) } else { Style::new().fg(Color::Cyan) }
}

/// Something waits and nothing is in full use: the scheduler leaves both idle at times.
fn verdict_style(verdict: Verdict, interval: &Interval) -> Style {
    let color = match (verdict.is_none(), interval.backlogged) {
        (true, 0) => return Style::new().add_modifier(Modifier::BOLD),
        (true, _) => Color::Yellow,
        (false, _) => Color::Green,
    };
    Style::new().fg(color).add_modifier(Modifier::BOLD)
}

fn few(app: &App, interval: &Interval) -> Vec<Line<'static>> {
    let verdict = Verdict::of(&interval.busy);
    let fair = interval.fair.map_or(String::new(), |fair| format!("  fair {} %", percent(fair)));
    let alpha = alpha(app).map_or(String::new(), |alpha| format!("  alpha {alpha:.2}"));
    let of = |(_, name, busy): (String, String, f64)| {
        [Span::raw(format!("{name} ")), Span::styled(format!("{} %  ", percent(busy)), busy_style(busy))]
    };
    let used = busy(app, interval).into_iter().flat_map(of);
    let short = verdict.short(third(app).as_deref());
    vec![
        Line::from(used.chain([Span::raw(format!("late {}", time(interval.late)))]).collect::<Vec<_>>()),
        Line::from(vec![Span::styled(short, verdict_style(verdict, interval)), Span::raw(fair + &alpha)]),
    ]
}

fn all(app: &App, interval: &Interval, width: u16) -> Vec<Line<'static>> {
    let verdict = Verdict::of(&interval.busy);
    let used = busy(app, interval);
    let numbers = used
        .iter()
        .enumerate()
        .map(|(k, (_, name, busy))| format!("{name} {} %{}", percent(*busy), if k == 0 { " busy" } else { "" }));
    let numbers = format!(": {}; bound is {:.0} %", numbers.collect::<Vec<_>>().join(", "), 100.0 * BOUND);
    let wide = used.iter().map(|(_, name, _)| name.chars().count()).max().unwrap_or(0);
    let fair = match interval.fair {
        Some(fair) => {
            format!("fair share {} % of {}", percent(fair), counted(interval.backlogged as u64, "backlogged flow"))
        }
        None => "no flow is backlogged".to_string(),
    };
    let over = format!(", over {:.1} s", interval.length_s);
    let steering = steering(app);
    let alpha = app.alpha().filter(|_| steering.is_none());
    let alpha = alpha.map_or(String::new(), |alpha| format!("  alpha {alpha:.2} (+/-)"));
    let bars = used.iter().map(|(key, name, busy)| bar(&format!("{name:wide$}"), *busy, width, limit(app, key)));
    let name = verdict.name(third(app).as_deref());
    let lines = [
        Line::from(vec![Span::styled(name, verdict_style(verdict, interval)), Span::raw(numbers)]),
        Line::from(fair + &over + &alpha),
    ];
    bars.chain(lines).chain(steering).collect()
}

/// The longest name of a resource in front of its bar.
const LABEL: usize = 12;

/// The name of the box's third resource.
pub fn third(app: &App) -> Option<String> {
    app.snapshot.as_ref()?.third().map(str::to_string)
}

/// The resources as packets pass them: their names in snapshots and on the screen, and for which part of the time they
/// were busy.
fn busy(app: &App, interval: &Interval) -> Vec<(String, String, f64)> {
    let busy = &interval.busy;
    let named = |key: &str, name: &str, busy: f64| (key.to_string(), name.to_string(), busy);
    let third = third(app).map(|name| named(&name, &super::words::cut(&name, LABEL), busy.third));
    [named("cpu", "CPU", busy.cpu)].into_iter().chain(third).chain([named("link", "link", busy.link)]).collect()
}

/// The scheduler's alpha: what it has come to, where it adjusts itself.
fn alpha(app: &App) -> Option<f64> {
    let steering = app.snapshot.as_ref().and_then(|snapshot| snapshot.steering.as_ref());
    steering.map(|now| now.alpha).or_else(|| app.alpha())
}

/// What an alpha that adjusts itself has come to.
fn steering(app: &App) -> Option<Line<'static>> {
    let now = app.snapshot.as_ref()?.steering.as_ref()?;
    let SteeringSnapshot { alpha, seen, out_of_reach } = now;
    let least = app.alpha().map_or(String::new(), |least| format!(", at least {least:.2} (+/-)"));
    let seen = match seen {
        SeenSnapshot::Use { resource, used } => format!("{resource} {} % used", percent(*used)),
        SeenSnapshot::Latency { class, late, .. } => format!("{} % of {class} late", percent(*late)),
    };
    let text = format!("alpha adjusts itself: {alpha:.2}{least}; {seen}");
    Some(match out_of_reach {
        true => Line::styled(format!("{text}, OUT OF REACH"), Style::new().fg(Color::Yellow)),
        false => Line::from(text),
    })
}

fn drops(interval: &Interval, small: bool) -> Line<'static> {
    let drops = match interval.drops.as_slice() {
        [] => "drops/s  none".to_string(),
        drops => drops.iter().fold("drops/s".to_string(), |all, (why, rate)| format!("{all}  {why} {}", short(*rate))),
    };
    let lost = format!("lost {} %  ", percent(interval.lost));
    let lost = (interval.lost >= 0.0005).then(|| Span::styled(lost, BAD));
    // A small screen says so further up.
    let late = (!small).then(|| Span::raw(format!("late {}  ", time(interval.late))));
    Line::from(lost.into_iter().chain(late).chain([Span::raw(drops)]).collect::<Vec<_>>())
}

/// What there is of a resource, and what waits for it.
fn limit(app: &App, name: &str) -> String {
    let Some(resource) = app.snapshot.as_ref().and_then(|snapshot| snapshot.resources.get(name)) else {
        return String::new();
    };
    let of = match (name, resource.capacity) {
        ("cpu", Some(part)) => format!("of {} % of a core", (1e4 * part).round() / 100.0),
        (_, Some(rate)) => BitRate::from_bps(rate as u64).map_or(String::new(), |rate| format!("of {rate}")),
        ("link", None) => "as fast as it takes".to_string(),
        (_, None) => "as classes say".to_string(),
    };
    format!("{of}, {} wait", short(resource.waiting as f64))
}

fn bar(name: &str, busy: f64, width: u16, limit: String) -> Line<'static> {
    let room = usize::from(width.saturating_sub(48)).clamp(10, 100);
    let full = ((busy.clamp(0.0, 1.0) * room as f64).round() as usize).min(room);
    Line::from(vec![
        Span::raw(format!("{name} [")),
        Span::styled("|".repeat(full), busy_style(busy)),
        Span::raw(format!("{}] {:>5} % {limit}", " ".repeat(room - full), percent(busy))),
    ])
}
