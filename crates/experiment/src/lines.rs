//! How the JSON summary is laid out.

use std::io;

use serde_json::ser::Formatter;

/// Deeper than this everything stands on one line.
const DEEP: usize = 4;

/// Members on lines of their own down to [`DEEP`].
#[derive(Default)]
pub(crate) struct Lines {
    depth: usize,
    empty: bool,
}

impl Lines {
    fn open<W: ?Sized + io::Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.empty = true;
        out.write_all(bracket)
    }

    fn member<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(if self.depth > DEEP { b", " } else { b"," })?;
        }
        self.empty = false;
        self.line(out, self.depth)
    }

    fn line<W: ?Sized + io::Write>(&self, out: &mut W, indent: usize) -> io::Result<()> {
        if self.depth > DEEP {
            return Ok(());
        }
        out.write_all(b"\n")?;
        (0..indent).try_for_each(|_| out.write_all(b"  "))
    }

    fn close<W: ?Sized + io::Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        if !std::mem::take(&mut self.empty) {
            self.line(out, self.depth - 1)?;
        }
        self.depth -= 1;
        out.write_all(bracket)
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.member(out, first)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.member(out, first)
    }

    /// What a terminal obeys is escaped, also where JSON need not: DEL, and the C1 controls.
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, control)) = rest.char_indices().find(|(_, c)| c.is_control()) {
            out.write_all(&rest.as_bytes()[..at])?;
            write!(out, "\\u{:04x}", u32::from(control))?;
            rest = &rest[at + control.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[test]
    fn nothing_is_written_that_a_terminal_obeys() {
        let text = "a\u{1b}[31m\u{7f}b\u{9b}c \u{e9}\n\"";
        let mut out = Vec::new();
        text.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Lines::default())).unwrap();
        let written = String::from_utf8(out).unwrap();
        assert_eq!(written, r#""a\u001b[31m\u007fb\u009bc é\n\"""#);
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }
}
