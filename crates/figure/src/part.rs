//! Parts of a picture that say what they show, so that a page can show one scheduler, group or flow alone.
//!
//! The drawing library knows no groups of elements: [`part`] draws a text before and after a part, which [`grouped`]
//! makes the ends of an element `g`. Both texts begin with a character that no other text of a picture has.

use super::sheet::Drawn;
use super::style::{TICK_SIZE, shows, text};
use plotters::coord::CoordTranslate;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// What a part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The title, which a page says itself.
    Title,
    Scheduler,
    Group,
    Flow,
}

const BEGIN: char = '\u{1}';
const END: char = '\u{2}';

impl Kind {
    /// The attribute that has the name of what is shown.
    fn attribute(self) -> &'static str {
        match self {
            Kind::Title => "data-title",
            Kind::Scheduler => "data-scheduler",
            Kind::Group => "data-group",
            Kind::Flow => "data-flow",
        }
    }
}

/// Draws what shows the `kind` of this name.
pub(super) fn part<C: CoordTranslate>(
    area: &DrawingArea<SVGBackend<'_>, C>,
    kind: Kind,
    name: &str,
    draw: impl FnOnce() -> Drawn,
) -> Drawn {
    let area = area.strip_coord_spec();
    let style = text(TICK_SIZE, BLACK, false, Pos::new(HPos::Left, VPos::Top));
    let name: String = name.chars().map(|c| if shows(c) { c } else { ' ' }).collect();
    area.draw(&Text::new(format!("{BEGIN}{}={name}", kind.attribute()), (0, 0), style.clone()))?;
    draw()?;
    area.draw(&Text::new(END.to_string(), (0, 0), style))
}

/// The document with the marks of its parts made elements `g`. O(length).
pub(super) fn grouped(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len());
    let mut lines = svg.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        match lines.peek().and_then(|next| mark(next)) {
            Some(element) => {
                out.push_str(&element);
                // The mark, and the end of its text.
                lines.nth(1);
            }
            None => out.push_str(line),
        }
    }
    out
}

/// What a line of text begins or ends, if it is a mark; the library has escaped it.
fn mark(line: &str) -> Option<String> {
    let line = line.trim_end();
    if line.starts_with(END) {
        return Some("</g>\n".into());
    }
    let (attribute, name) = line.strip_prefix(BEGIN)?.split_once('=')?;
    Some(format!("<g {attribute}=\"{name}\">\n"))
}
