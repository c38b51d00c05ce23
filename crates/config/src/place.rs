//! The place of a mistake in a table, where the TOML reader says no more than where the table begins.

use std::ops::Range;

use serde::de::Unexpected;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::number;

/// The key or the value that `message` of the TOML reader is about, in the table at this place. None if it names none,
/// or one that stands there several times.
pub fn within(text: &str, table: &Range<usize>, message: &str) -> Option<Range<usize>> {
    let file = DeTable::parse(text).ok()?;
    let mut named = entries(at(file.get_ref(), table)?).into_iter().filter(|entry| entry.is_named_by(message));
    named.next().filter(|_| named.next().is_none()).map(Entry::span)
}

/// The place of the value that `key` has in the table at this place. None if it has none.
pub fn value_of(text: &str, table: &Range<usize>, key: &str) -> Option<Range<usize>> {
    let file = DeTable::parse(text).ok()?;
    at(file.get_ref(), table)?.get(key).map(Spanned::span)
}

/// The keys of the table at this place, with theirs.
pub fn keys(text: &str, table: &Range<usize>) -> Option<Vec<(String, Range<usize>)>> {
    let file = DeTable::parse(text).ok()?;
    Some(at(file.get_ref(), table)?.keys().map(|key| (key.get_ref().to_string(), key.span())).collect())
}

/// The table of the file that stands at this place.
fn at<'a>(file: &'a DeTable<'a>, place: &Range<usize>) -> Option<&'a DeTable<'a>> {
    entries(file).into_iter().find_map(|entry| match entry {
        Entry::Value(span, DeValue::Table(found)) if span == *place => Some(found),
        _ => None,
    })
}

/// A key or a value of a table.
enum Entry<'a> {
    Key(Range<usize>, &'a str),
    Value(Range<usize>, &'a DeValue<'a>),
}

impl Entry<'_> {
    fn span(self) -> Range<usize> {
        match self {
            Self::Key(span, _) | Self::Value(span, _) => span,
        }
    }

    fn is_named_by(&self, message: &str) -> bool {
        let begins = |words: String| message.starts_with(&words);
        match self {
            Self::Key(_, key) => begins(format!("unknown field `{key}`")),
            Self::Value(_, value) => unexpected(value).is_some_and(|value| {
                begins(format!("invalid type: {value}, "))
                    || begins(format!("invalid value: {value}, "))
                    // Of a quantity that is not a text, too.
                    || quoted(value).is_some_and(|text| {
                        begins(format!("{text:?}")) || begins(format!("unknown variant `{text}`"))
                    })
            }),
        }
    }
}

/// The value, as the TOML reader calls one that it did not expect.
fn unexpected<'a>(value: &'a DeValue) -> Option<Unexpected<'a>> {
    Some(match value {
        DeValue::String(text) => Unexpected::Str(text),
        DeValue::Integer(number) => {
            let (digits, radix) = (number.as_str(), number.radix());
            let signed = i64::from_str_radix(digits, radix).map(Unexpected::Signed);
            signed.or_else(|_| u64::from_str_radix(digits, radix).map(Unexpected::Unsigned)).ok()?
        }
        DeValue::Float(number) => Unexpected::Float(number.as_str().parse().ok()?),
        DeValue::Boolean(value) => Unexpected::Bool(*value),
        DeValue::Array(_) => Unexpected::Seq,
        // A table may as well be that whose place is known.
        DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}

/// The value as messages of our own quote it.
fn quoted(value: Unexpected) -> Option<String> {
    match value {
        Unexpected::Str(text) => Some(text.to_string()),
        Unexpected::Signed(whole) => Some(whole.to_string()),
        Unexpected::Float(value) => Some(number(value)),
        _ => None,
    }
}

/// All keys and values of a table, also of the tables and lists in it.
fn entries<'a>(table: &'a DeTable<'a>) -> Vec<Entry<'a>> {
    let mut found = Vec::new();
    for (key, value) in table {
        found.push(Entry::Key(key.span(), key.get_ref()));
        found.extend(values(value));
    }
    found
}

fn values<'a>(value: &'a Spanned<DeValue<'a>>) -> Vec<Entry<'a>> {
    let mut found = match value.get_ref() {
        DeValue::Table(table) => entries(table),
        DeValue::Array(list) => list.iter().flat_map(values).collect(),
        _ => Vec::new(),
    };
    found.push(Entry::Value(value.span(), value.get_ref()));
    found
}

#[cfg(test)]
mod tests {
    use dovetail_units::Duration;
    use serde::Deserialize;

    use crate::{Text, read};

    #[derive(Deserialize, Debug)]
    struct Modules {
        #[expect(dead_code, reason = "only read")]
        module: Vec<Module>,
    }

    #[derive(Deserialize, Debug)]
    struct Module {
        #[expect(dead_code, reason = "only read")]
        name: String,
        #[expect(dead_code, reason = "only read")]
        #[serde(flatten)]
        kind: Kind,
    }

    #[derive(Deserialize, Debug)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    #[expect(dead_code, reason = "only read")]
    enum Kind {
        Tunnel(Tunnel),
    }

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Tunnel {
        ttl: Option<u8>,
        mtu: Option<u16>,
        packets: Option<usize>,
        life: Option<Text<Duration>>,
        encrypt: Option<bool>,
        patterns: Option<Vec<String>>,
    }

    /// A module from line 5 on, its own lines from line 8 on; where and what is wrong.
    #[track_caller]
    fn wrong(name: &str, lines: &str, place: &str, expected: &str) {
        let module = |name: &str, lines: &str| format!("[[module]]\nname = {name}\nkind = \"tunnel\"\n{lines}\n");
        let text = module("\"other\"", "ttl = 30") + &module(name, lines);
        let message = read::<Modules>("box.toml", &text, &[]).unwrap_err().to_string();
        assert!(message.contains(&format!("box.toml:{place}\n")) && message.contains(expected), "{message}");
    }

    #[test]
    fn a_key_that_is_none_is_shown_though_a_value_reads_the_same() {
        wrong("\"limit\"", "limit = 5", "8:1", "unknown key `limit`");
        wrong("\"m\"", "'limit' = 5", "8:1", "unknown key `limit`");
    }

    #[test]
    fn a_key_without_which_the_others_cannot_be_told_is_shown_where_it_is_misspelt() {
        let kind = "[[module]]\nname = \"m\"\nttl = 30\nknd = \"tunnel\"\n";
        let name = "[[module]]\nnme = \"m\"\nkind = \"tunnel\"\n";
        for (text, place, wrong, right) in [(kind, "4:1", "knd", "kind"), (name, "2:1", "nme", "name")] {
            let message = read::<Modules>("box.toml", text, &[]).unwrap_err().to_string();
            let words = [place, &format!("unknown key `{wrong}`"), &format!("did you mean `{right}`?")];
            assert!(words.iter().all(|words| message.contains(words)), "{message}");
        }
        // None of these is meant.
        for text in ["[[module]]\nname = \"m\"\n", "[[module]]\nname = \"m\"\nttl = 30\n"] {
            let message = read::<Modules>("box.toml", text, &[]).unwrap_err().to_string();
            assert!(message.contains("missing key `kind`") && message.contains("1:1"), "{message}");
        }
    }

    #[test]
    fn a_value_that_is_wrong_is_shown_though_a_longer_one_begins_like_it() {
        wrong("\"m\"", "mtu = 500\nencrypt = 5", "9:11", "`5`: expected `true` or `false`");
        wrong("\"300\"", "mtu = 1300\nttl=300", "9:5", "`300`: expected a whole number from 0 to 255");
        wrong("\"m\"", "mtu = 300\nttl = 0x1_2d", "9:7", "`301`: expected a whole number from 0 to 255");
        wrong("\"m\"", "packets = -8", "8:11", "`-8`: expected a whole number from 0");
        wrong("\"true\"", "ttl = 3\nencrypt = \"yes\"", "9:11", "\"yes\": expected `true` or `false`");
        wrong("\"m\"", "life = 'long'\nttl = 3", "8:8", "\"long\": ");
        wrong("\"m\"", "life = 7\nttl = 3", "8:8", "the unit is missing");
        wrong("\"m\"", "patterns = [\"a\", 1.50]", "8:18", "`1.5`: expected a quoted text");
        wrong("\"m\"", "mtu = [1300]", "8:7", "expected a whole number from 0 to 65535");
    }

    #[test]
    fn of_two_that_may_be_meant_neither_is_shown() {
        wrong("\"yes\"", "encrypt = \"yes\"", "5:1", "\"yes\": expected `true` or `false`");
        wrong("\"m\"", "mtu = 300\nttl = 300", "5:1", "`300`: expected a whole number from 0 to 255");
    }
}
