//! What explains keys and columns: readable on a screen of any size, by scrolling.

use dovetail_experiment::table::wrapped;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, Clear, Paragraph, Widget};

/// Paragraphs; an empty one is an empty line.
const TEXT: [&str; 21] = [
    "h, Esc    close this",
    "q, Ctrl-C quit",
    "d c l     sort by dom%, cpu%, link%",
    "w p x n   by wait, p99, drops, name",
    "Tab       one class, the next, all",
    "+ -       alpha up and down by 0.05",
    "space     stand still, and go on",
    "arrows, PgUp, PgDn, Home   scroll",
    "",
    "cpu% and link% are parts of the CPU budget and of the link's rate since the look before. dom% is the \
     largest.",
    "",
    "x fair is dom% divided by the flow's fair share, which goes by weight among the backlogged flows.",
    "",
    "Green: a resource in full use, which is the goal.",
    "Yellow: less than 0.9 of what is due (of alpha's part of the fair share, where the scheduler has alpha).",
    "Red: more than 1.5 of the fair share while another has too little; ports and accounts that lose frames.",
    "Magenta: more than 1.5, at nobody's expense.",
    "",
    "p50, p90, p99 and max are of frames that left in the last second, p99 1m in the last minute, p99 all since the \
     start.",
    "",
    "late is how much later than due frames left the link, on average. lost is the part of the time that the box could \
     not make up for.",
];

/// The widest that it gets.
const WIDEST: u16 = 62;

/// The text in lines of this width.
fn lines(width: u16) -> Vec<String> {
    // Two columns of blanks in a line on keys stay.
    let paragraph = |text: &&str| match text.chars().count() <= usize::from(width) {
        true => vec![text.to_string()],
        false => wrapped(text, width).lines().map(|line| line.to_string()).collect(),
    };
    TEXT.iter().flat_map(paragraph).collect()
}

/// More than can be scrolled away on any screen that it can be read on.
pub fn most() -> u16 {
    lines(20).len() as u16
}

/// Over the middle of the screen.
pub fn draw(scroll: u16, area: Rect, buffer: &mut Buffer) {
    let width = WIDEST.min(area.width);
    let lines = lines(width.saturating_sub(4));
    let height = (lines.len() as u16 + 2).min(area.height);
    let place = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    let seen = usize::from(height.saturating_sub(2));
    let from = usize::from(scroll).min(lines.len().saturating_sub(seen));
    let title = match lines.len() > seen {
        true => format!(" help, lines {}-{} of {}: arrows ", from + 1, from + seen, lines.len()),
        false => " help ".to_string(),
    };
    let text: Vec<String> = lines[from..].iter().take(seen).map(|line| format!(" {line}")).collect();
    Clear.render(place, buffer);
    Paragraph::new(text.join("\n")).block(Block::bordered().title(title)).render(place, buffer);
}
