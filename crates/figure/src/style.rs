//! Colours, fonts and the width of text.

use plotters::style::{Color, IntoFont, RGBColor, TextStyle, text_anchor::Pos};

/// Drawing units per displayed pixel: coordinates are whole numbers, so drawing at twice the size keeps lines smooth.
pub(super) const UNITS_PER_PIXEL: i32 = 2;

pub(super) const TITLE_SIZE: i32 = 34;
pub(super) const PANEL_TITLE_SIZE: i32 = 26;
pub(super) const TEXT_SIZE: i32 = 24;
pub(super) const TICK_SIZE: i32 = 22;

pub(super) const INK: RGBColor = RGBColor(34, 34, 34);
/// The ink on light boxes, which stays dark on dark pages.
const BOX_INK: RGBColor = RGBColor(33, 33, 33);
pub(super) const FAINT_INK: RGBColor = RGBColor(95, 95, 95);
pub(super) const AXIS: RGBColor = RGBColor(120, 120, 120);
pub(super) const GRID: RGBColor = RGBColor(224, 224, 224);
pub(super) const LIGHT_GRID: RGBColor = RGBColor(242, 242, 242);

/// Colours that stay apart for colour-blind readers: Okabe and Ito (2008), their yellow and black replaced by a wine
/// red and a grey, which show better as thin lines on white. Eight more follow, which differ from these and are legible
/// on light and dark pages.
const PALETTE: [RGBColor; 16] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(230, 159, 0),
    RGBColor(136, 34, 85),
    RGBColor(86, 180, 233),
    RGBColor(204, 121, 167),
    RGBColor(110, 110, 110),
    RGBColor(120, 94, 240),
    RGBColor(153, 153, 51),
    RGBColor(220, 38, 127),
    RGBColor(160, 82, 45),
    RGBColor(139, 195, 74),
    RGBColor(0, 131, 143),
    RGBColor(239, 131, 113),
    RGBColor(141, 110, 99),
];

/// Lines beyond so many are dashed, and beyond twice as many dotted.
const SOLID: usize = 8;

/// The look of the i-th thing of a picture: sixteen colours; lines are dashed from the ninth on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub color: RGBColor,
    /// Width of a line in drawing units.
    pub width: u32,
    /// Length of a dash and of the gap after it, in drawing units; `None` is a solid line.
    pub dash: Option<(i32, i32)>,
}

pub(super) fn look(index: usize) -> Look {
    let dash = match (index / SOLID) % 3 {
        0 => None,
        1 => Some((16, 10)),
        _ => Some((5, 7)),
    };
    Look { color: PALETTE[index % PALETTE.len()], width: 4, dash }
}

/// The width for the `index`-th of `count` things drawn over each other, from 7 down to 3, so that those below show at
/// the edges of those above.
pub(super) fn nested_width(index: usize, count: usize) -> u32 {
    7 - (4 * index.min(count.saturating_sub(1)) / count.saturating_sub(1).max(1)) as u32
}

/// Dark text on light fills, white on dark ones.
pub(super) fn ink_on(fill: RGBColor) -> RGBColor {
    let luminance = 0.299 * f64::from(fill.0) + 0.587 * f64::from(fill.1) + 0.114 * f64::from(fill.2);
    if luminance > 140.0 { BOX_INK } else { RGBColor(255, 255, 255) }
}

/// Sans-serif text of `size` drawing units, anchored at `pos`.
pub(super) fn text(size: i32, color: RGBColor, bold: bool, pos: Pos) -> TextStyle<'static> {
    // The SVG backend divides sizes by this factor; see plotters-svg, draw_text.
    let font = ("sans-serif", f64::from(size) * 1.24).into_font();
    let style = if bold { font.style(plotters::style::FontStyle::Bold) } else { font };
    let mut style = TextStyle::from(style).pos(pos);
    style.color = color.to_backend_color();
    style
}

/// The width of `s` in drawing units at `size`, estimated from above for the usual sans-serif fonts (DejaVu Sans, the
/// widest of them, was measured): SVG has no way to ask.
pub(super) fn text_width(s: &str, size: i32) -> i32 {
    let ems: f64 = s.chars().map(char_width).sum();
    (ems * f64::from(size)).ceil() as i32
}

fn char_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | 'I' => 0.36,
        'f' | 't' | 'r' | '(' | ')' | '-' | '/' => 0.43,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 1.0,
        '<' | '>' | '=' | '+' | '&' | 'A'..='Z' => 0.84,
        c if c as u32 >= 0x1100 => 1.05,
        _ => 0.65,
    }
}

/// `s` without characters that XML forbids or that turn the direction of text, cut with an ellipsis to fit `width`.
pub(super) fn shorten(s: &str, width: i32, size: i32) -> String {
    let clean: String = s.chars().map(|c| if shows(c) { c } else { ' ' }).collect();
    if text_width(&clean, size) <= width {
        return clean;
    }
    let mut kept = String::new();
    let mut used = text_width("…", size);
    for c in clean.chars() {
        used += (char_width(c) * f64::from(size)).ceil() as i32;
        if used > width {
            break;
        }
        kept.push(c);
    }
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

/// `s` at the largest size from `least` to `most` that fits `width`, or cut at the least; bold letters are a tenth
/// wider.
pub(super) fn fitting(s: &str, width: i32, least: i32, most: i32) -> (String, i32) {
    let width = width * 10 / 11;
    let size = (least..=most).rfind(|&size| text_width(s, size) <= width).unwrap_or(least);
    (shorten(s, width, size), size)
}

pub(super) fn shows(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

/// `s` in lines of at most `width`, broken at spaces; a word too long for a line is shortened.
pub(super) fn wrap(s: &str, width: i32, size: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in s.split_whitespace() {
        let word = shorten(word, width, size);
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(&word, size) + size / 2 <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}
