//! The view, drawn into a buffer of any size from 40 columns and 12 lines on.

use dovetail_experiment::table::counted;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};

use super::app::{App, Link};
use super::list::{Judge, List, Of};
use super::shares::{Interval, Row};
use super::words::{cut, hours};
use super::{help, summary};
use crate::ctl::{DENIED, NO_BOX, OTHER_BOX, START_S};

const KEYS: [(u16, &str); 3] = [
    (72, "h help  q quit  space pause  Tab class  +/- alpha  sort: d c l w p x n"),
    (40, "h help  q quit  Tab class  +/- alpha"),
    (0, "h help  q quit"),
];

/// Draw all of it.
pub fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let summary = match &app.interval {
        Some(interval) => summary::lines(app, interval, area.width, area.height),
        None => nothing_yet(app).lines().map(|line| Line::from(line.to_string())).collect(),
    };
    let classes = app.interval.as_ref().map_or(0, |interval| interval.classes.len()) as u16;
    let most = (area.height / 3).saturating_sub(if summary::is_small(area.width, area.height) { 2 } else { 1 }).max(1);
    let gap = if area.height < 20 { 0 } else { 1 };
    // Besides title, footer and the tables' heads there is room for a flow.
    let most = most.min(area.height.saturating_sub(summary.len() as u16 + 2 * gap + 5)).max(1);
    let [title, summary_area, _, class_area, _, flow_area, footer] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(summary.len() as u16),
        Constraint::Length(gap),
        Constraint::Length(classes.min(most) + 1),
        Constraint::Length(gap),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_title(app, title, buffer);
    Paragraph::new(summary).render(summary_area, buffer);
    if let Some(interval) = &app.interval {
        draw_rows(app, interval, [class_area, flow_area], buffer);
    }
    let keys = footer_text(app, area.width);
    Paragraph::new(keys).style(Style::new().add_modifier(Modifier::REVERSED)).render(footer, buffer);
    if app.help {
        help::draw(app.help_scroll, area, buffer);
    }
}

fn draw_rows(app: &App, interval: &Interval, [class_area, flow_area]: [Rect; 2], buffer: &mut Buffer) {
    let judge = Judge::of(app.enough(), &interval.flows);
    let rows: Vec<&Row> = interval.classes.iter().collect();
    let third = summary::third(app);
    let third = third.as_deref();
    List { of: Of::Classes, rows: &rows, from: 0, judge, third }.render(class_area, buffer);
    let (of, rows) = (Of::Flows(app.class.as_deref(), app.order), app.flows());
    List { of, rows: &rows, from: app.scroll.min(rows.len()), judge, third }.render(flow_area, buffer);
}

fn nothing_yet(app: &App) -> String {
    match &app.link {
        Link::Up => "shares are known after the second look".into(),
        Link::Down(why, _) if why == DENIED => format!("{why}\n\nThis view begins when the box answers."),
        Link::Down(why, _) => format!("{why}\n{NO_BOX}\n{OTHER_BOX}\n\nThis view begins when one does."),
    }
}

/// Why the box does not answer, where its last numbers take the place of that; what came of the latest command; or the
/// keys.
fn footer_text(app: &App, width: u16) -> &str {
    let keys = KEYS.iter().find(|(least, _)| width >= *least).map_or("", |(_, keys)| keys);
    match &app.link {
        Link::Down(why, _) if app.interval.is_some() => why,
        _ => app.note.as_deref().unwrap_or(keys),
    }
}

fn draw_title(app: &App, area: Rect, buffer: &mut Buffer) {
    if let Link::Down(_, seconds) = &app.link {
        let stay = if app.interval.is_some() { ", its last numbers stay" } else { "" };
        let text = format!("NO BOX ANSWERS for {seconds} s{stay}: {}", app.socket);
        let style = Style::new().fg(Color::White).bg(Color::Red).add_modifier(Modifier::BOLD);
        return Paragraph::new(text).style(style).render(area, buffer);
    }
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut spans = Vec::new();
    if app.paused {
        spans.push(Span::styled("PAUSED  ", bold.fg(Color::Yellow)));
    }
    if area.width >= 60 {
        spans.push(Span::styled("dovetail top  ", bold));
    }
    let narrow = area.width < 60;
    if let Some(snapshot) = &app.snapshot {
        let flows: u64 = snapshot.classes.iter().map(|class| class.flows).sum();
        let up = if narrow { "" } else { "up " };
        let rest = format!("  {up}{}, {}", hours(snapshot.time_s - START_S), counted(flows, "flow"));
        // However long a scheduler's parameters are, what follows has its room.
        let taken = spans.iter().map(Span::width).sum::<usize>() + rest.chars().count();
        let scheduler = cut(&snapshot.scheduler, usize::from(area.width).saturating_sub(taken));
        spans.push(Span::styled(scheduler, bold.fg(Color::Cyan)));
        spans.push(Span::raw(rest));
    }
    if !narrow || app.snapshot.is_none() {
        spans.push(Span::raw(format!("  {}", app.socket)));
    }
    Line::from(spans).render(area, buffer);
}
