//! Pictures (SVG) as parts of a page.
//!
//! A file may hold more than a picture: scripts, links, styles for the page around it. What is not on the lists here is
//! left out.

use std::fmt;

use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};
use quick_xml::{Reader, Writer};

/// Elements that are kept; all else is left out with what is in it.
const ELEMENTS: [&str; 9] = ["svg", "g", "rect", "line", "polyline", "polygon", "circle", "path", "text"];

/// Attributes that are kept.
const ATTRIBUTES: [&str; 33] = [
    "x",
    "y",
    "x1",
    "y1",
    "x2",
    "y2",
    "cx",
    "cy",
    "r",
    "dx",
    "dy",
    "d",
    "points",
    "width",
    "height",
    "viewBox",
    "transform",
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "opacity",
    "text-anchor",
    "font-family",
    "font-size",
    "font-style",
    "font-weight",
    "class",
    "data-title",
    "data-scheduler",
    "data-group",
    "data-flow",
];

/// A picture of a page.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// What the picture shows, in a few words.
    pub heading: String,
    /// How to read it, in a sentence.
    pub explanation: String,
    /// Where it comes from, for messages.
    pub name: String,
    /// The document.
    pub svg: String,
}

/// Why a file is not accepted as a picture.
#[derive(Debug, PartialEq, Eq)]
pub struct PictureError {
    name: String,
    reason: String,
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a picture (SVG) that a page can hold: {}", self.name, self.reason)
    }
}

impl std::error::Error for PictureError {}

impl Picture {
    /// The element `svg` for a page: an image that is named by its heading, and scales with the page.
    ///
    /// # Errors
    /// If the document is not well-formed, or its first element is not `svg`.
    pub(crate) fn element(&self) -> Result<String, PictureError> {
        let error = |reason: String| PictureError { name: self.name.clone(), reason };
        let mut reader = Reader::from_str(&self.svg);
        let mut writer = Writer::new(Vec::new());
        let (mut open, mut left_out, mut roots) = (0_usize, 0_usize, 0);
        loop {
            let event = reader.read_event().map_err(|e| error(e.to_string()))?;
            let kept = match &event {
                Event::Eof if open > 0 => return Err(error("it ends before its elements do".into())),
                Event::Eof => break,
                Event::DocType(_) => return Err(error("it declares a type of its own".into())),
                Event::Start(tag) | Event::Empty(tag) => {
                    let whole = matches!(event, Event::Empty(_));
                    if open == 0 {
                        roots += 1;
                        if name_of(tag) != "svg" || whole || roots > 1 {
                            return Err(error("its first element is not `svg`, or not its only one".into()));
                        }
                    }
                    open += usize::from(!whole);
                    let keep = left_out == 0 && ELEMENTS.contains(&name_of(tag));
                    left_out += usize::from(!keep && !whole);
                    let tag = keep.then(|| self.filtered(tag, open == 1 && !whole)).transpose().map_err(error)?;
                    tag.map(|tag| if whole { Event::Empty(tag) } else { Event::Start(tag) })
                }
                Event::End(tag) => {
                    open -= 1;
                    let was_left_out = left_out > 0;
                    left_out -= usize::from(was_left_out);
                    let name = tag.name().as_ref().to_string();
                    (!was_left_out).then(|| Event::End(BytesEnd::new(name)))
                }
                Event::Text(text) if left_out == 0 && open > 0 => {
                    Some(Event::Text(BytesText::from_escaped(text.to_string())))
                }
                Event::GeneralRef(reference) if left_out == 0 && open > 0 => {
                    let character = reference.resolve_char_ref().map_err(|e| error(e.to_string()))?;
                    let text = match character {
                        Some(character) => character.to_string(),
                        None => quick_xml::escape::resolve_predefined_entity(reference)
                            .ok_or_else(|| error(format!("&{}; is not known", &**reference)))?
                            .to_string(),
                    };
                    Some(Event::Text(BytesText::from_escaped(quick_xml::escape::escape(text).into_owned())))
                }
                _ => None,
            };
            kept.map_or(Ok(()), |event| writer.write_event(event)).map_err(|e| error(e.to_string()))?;
        }
        if roots == 0 {
            return Err(error("there is no element `svg` in it".into()));
        }
        String::from_utf8(writer.into_inner()).map_err(|e| error(e.to_string()))
    }

    /// An element with those of its attributes that are kept; the first one becomes an image with a name.
    fn filtered(&self, tag: &BytesStart<'_>, first: bool) -> Result<BytesStart<'static>, String> {
        let mut kept = BytesStart::new(name_of(tag).to_string());
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|e| e.to_string())?;
            let key = attribute.key.as_ref();
            let value = attribute.normalized_value(Default::default()).map_err(|e| e.to_string())?;
            if ATTRIBUTES.contains(&key) && !value.contains("url(") {
                kept.push_attribute((key, &*value));
            }
        }
        if first {
            kept.extend_attributes([("role", "img"), ("aria-label", self.heading.as_str())]);
        }
        Ok(kept)
    }
}

fn name_of<'a>(tag: &'a BytesStart<'_>) -> &'a str {
    tag.name().into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(svg: &str) -> Result<String, String> {
        let picture =
            Picture { heading: "A \"b\"".into(), name: "p.svg".into(), svg: svg.into(), ..Picture::default() };
        picture.element().map_err(|e| e.to_string())
    }

    #[test]
    fn only_what_is_drawn_is_kept() {
        let hostile = "<?xml version='1.0'?><!-- a --><svg xmlns='http://a.b' viewBox='0 0 1 1' onload='x()'>\
                       <style>* { color: red }</style><script>alert(1)</script><foreignObject><p>x</p></foreignObject>\
                       <a href='javascript:x()'><text>in a link</text></a><image href='http://a.b/c.png'/>\
                       <g data-scheduler='a &quot;b&lt;' onclick='x()'><rect fill='url(http://a.b)' x='1'/>\
                       <text>&lt;b&gt; &#60; ]]&gt;</text></g></svg>";
        let expected = "<svg viewBox=\"0 0 1 1\" role=\"img\" aria-label=\"A &quot;b&quot;\">\
                        <g data-scheduler=\"a &quot;b&lt;\"><rect x=\"1\"/>\
                        <text>&lt;b&gt; &lt; ]]&gt;</text></g></svg>";
        assert_eq!(element(hostile).unwrap(), expected);
    }

    #[test]
    fn what_is_no_picture_is_told() {
        let wrong = [
            "",
            "text",
            "<svg>",
            "<svg><g></svg>",
            "<html/>",
            "<svg></svg><svg></svg>",
            "<svg>&made;</svg>",
            "<!DOCTYPE svg [<!ENTITY a 'b'>]><svg></svg>",
            "<svg x='1' x='2'></svg>",
            "<svg x=1></svg>",
        ];
        for svg in wrong {
            let said = element(svg).expect_err(svg);
            assert!(said.starts_with("p.svg is not a picture (SVG) that a page can hold: "), "{svg}: {said}");
        }
    }
}
