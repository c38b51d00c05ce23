//! Reading the TOML files that people write: quantities as quoted texts, overrides from the command line, and messages
//! that show the place, the text and the nearest valid name.

mod by_resource;
mod error;
mod kind;
mod overrides;
mod patch;
mod place;
pub mod rules;
mod text;

use std::io::{self, Read as _};

use serde::de::DeserializeOwned;

pub use by_resource::ByResource;
use error::table_for_list;
pub use error::{InputError, called, nearest, number, unknown};
use kind::{above, belongs, misspelt, no_toml, other_kind, section_of, words};
pub use overrides::{apply as apply_overrides, apply_to as override_table, hinting};
pub use place::value_of;
pub use text::{Span, Text, Whole};

/// A file that was read.
#[derive(Debug)]
pub struct Read<T> {
    /// What messages call it, with what changed it. Their line numbers are those of the file.
    pub label: String,
    /// Its text, as changed.
    pub text: String,
    /// What stands in it.
    pub file: T,
}

/// The most bytes of a text that somebody wrote: what goes on without end is none.
const LONGEST: u64 = 64 << 20;

/// The bytes of a text.
///
/// # Errors
/// It cannot be read, or is longer than 64 MiB.
pub fn bytes(stream: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(LONGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LONGEST {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 64 MiB")),
        false => Ok(bytes),
    }
}

/// The text of the file of this name that has these bytes.
///
/// # Errors
/// It is not UTF-8; the error names the first line that is not.
pub fn decode(name: &str, bytes: Vec<u8>) -> Result<String, InputError> {
    String::from_utf8(bytes).map_err(|error| {
        let (at, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
        let line = 1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count();
        let message = format!("line {line} is not UTF-8 text: it has the byte 0x{:02x}", bytes[at]);
        InputError::new(name, message).with_help("save the file in UTF-8")
    })
}

/// Read the file of this name that has this text, with `--set` overrides.
///
/// # Errors
/// It is not TOML, or not what `T` takes; or an override is wrong.
pub fn read<T: DeserializeOwned>(name: &str, text: &str, overrides: &[String]) -> Result<Read<T>, InputError> {
    let name = called(name);
    let label = match overrides {
        [] => name.to_string(),
        changes => format!("{name} (with --set {})", changes.join(" --set ")),
    };
    if let Some(wrong) = no_toml::<T>(name, text) {
        return Err(wrong);
    }
    let changed = overrides::changed(name, text, overrides)?;
    let wrong = |error: toml::de::Error| {
        if let Some(kind) = other_kind::<T>(&changed.text) {
            return InputError::new(&label, kind);
        }
        let of = |entry: &str, message: String| InputError::new(&format!("--set {entry}"), message);
        let made = table_for_list(&changed.text, &error).and_then(|key| Some((key, changed.made(key)?)));
        if let Some((key, entry)) = made {
            let told = of(entry, format!("there is no [[{key}]] in {name}, and --set adds none"));
            let (path, value) = entry.split_once('=').unwrap_or((entry, ""));
            let last = path.trim().rsplit('.').next().unwrap_or_default();
            return match section_of::<T>(last, &toml::Value::String(value.trim().to_string())) {
                Some(help) => told.with_help(help),
                None => told,
            };
        }
        if let Some((entry, list)) = overrides::without_list(&changed, &error) {
            let (name, key) = (entry.split(['.', '=']).next().unwrap_or_default(), entry.split('=').next());
            let meant = format!("did you mean `{list}.{}`?", key.unwrap_or_default().trim());
            return of(entry, format!("{name} is the name of a [[{list}]], not a key")).with_help(meant);
        }
        if let Some(entry) = changed.beyond(&error) {
            let own = error.message().split_once("expected a whole number ").map(|(_, range)| range.to_string());
            let range = own.unwrap_or_else(|| format!("from 0 to {}", i64::MAX));
            return of(entry, format!("expected a whole number {range}"));
        }
        if let Some((span, key, missing)) = misspelt::<T>(&changed.text, &error) {
            let told =
                InputError::at(&label, &changed.text, span, format!("unknown key `{key}`, expected `{missing}`"));
            return told.among(&[&missing]).with_help(format!("did you mean `{missing}`?"));
        }
        match words::<T>(&changed.text, &error) {
            Some((span, message)) => InputError::at(&label, &changed.text, span, message),
            None => {
                let told = InputError::from_toml(&label, &changed.text, &error);
                if let Some(help) = above::<T>(&changed.text, &error) {
                    return told.with_help(help);
                }
                match belongs::<T>(&changed.text, &error) {
                    Some((help, outside)) if outside || told.help().is_none() => told.with_help(help),
                    _ => told,
                }
            }
        }
    };
    let file = toml::from_str(&changed.text).map_err(wrong)?;
    Ok(Read { label, text: changed.text, file })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, Debug)]
    #[serde(rename_all = "lowercase")]
    enum Ecn {
        Paper,
        Rfc3168,
    }

    #[derive(Deserialize, Debug)]
    struct File {
        #[expect(dead_code, reason = "only read")]
        ecn: Ecn,
    }

    #[test]
    fn standard_input_is_called_so() {
        let read = |overrides: &[String]| read::<BTreeMap<String, u32>>("-", "x = 'a'", overrides).unwrap_err();
        assert!(read(&[]).to_string().contains("--> standard input:1:5"), "{}", read(&[]));
        let changed = read(&["y=1".into()]);
        assert!(changed.to_string().contains("--> standard input (with --set y=1):1:5"), "{changed}");
        let bytes = decode("-", b"\xff".into()).unwrap_err();
        assert!(bytes.to_string().starts_with("standard input: line 1"), "{bytes}");
    }

    #[test]
    fn a_value_that_is_none_of_a_few_words_is_told_which_they_are() {
        for value in ["true", "3", "[\"paper\"]"] {
            let message = read::<File>("net.toml", &format!("ecn = {value}\n"), &[]).unwrap_err().to_string();
            let expected = format!("`{value}`: expected a quoted text, `paper` or `rfc3168`");
            assert!(message.contains(&expected) && message.contains("net.toml:1:7"), "{value}: {message}");
        }
        let message = read::<File>("net.toml", "ecn = \"papr\"\n", &[]).unwrap_err().to_string();
        assert!(message.contains("did you mean `paper`?"), "{message}");
    }

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Lists {
        #[expect(dead_code, reason = "only read")]
        #[serde(default)]
        web: Vec<Member>,
        #[expect(dead_code, reason = "only read")]
        trace: Option<Trace>,
        #[expect(dead_code, reason = "only read")]
        title: Option<String>,
    }

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Member {
        #[expect(dead_code, reason = "only read")]
        seed: Option<u64>,
        #[expect(dead_code, reason = "only read")]
        count: Option<Whole<1, 1000>>,
    }

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Trace {
        #[expect(dead_code, reason = "only read")]
        #[serde(default)]
        rule: Vec<Member>,
    }

    #[track_caller]
    fn wrong(text: &str, overrides: &[&str], expected: &[&str]) {
        let overrides: Vec<String> = overrides.iter().map(|o| o.to_string()).collect();
        let message = read::<Lists>("net.toml", text, &overrides).unwrap_err().to_string();
        for words in expected {
            assert!(message.contains(words), "{words:?} is missing in:\n{message}");
        }
    }

    #[test]
    fn an_override_of_a_member_of_a_list_that_is_not_there_says_so() {
        for entry in ["web.0.seed=3", "web.a.seed=3", "web.a=3"] {
            wrong("", &[entry], &[&format!("--set {entry}: there is no [[web]] in net.toml")]);
        }
        wrong("[trace]\n", &["trace.rule.0.seed=3"], &["there is no [[trace.rule]] in net.toml"]);
        wrong(
            "[[web]]\n",
            &["web.1.seed=3"],
            &["--set web.1.seed=3: there is no \"1\" in the list web; members are counted from 0"],
        );
        wrong("", &["wbe.0.seed=3"], &["unknown key `wbe`", "did you mean `web`?"]);
        assert!(read::<Lists>("net.toml", "", &["trace.rule=[{seed=3}]".into()]).is_ok());
    }

    #[test]
    fn a_table_where_members_of_a_list_belong_is_told_how_they_begin() {
        wrong("[web]\nseed = 3\n", &[], &["net.toml:1:1", "expected a list", "to begin a member, write [[web]]"]);
        wrong("[trace.rule]\nseed = 3\n", &[], &["net.toml:1:1", "write [[trace.rule]]"]);
        wrong("[trace.rule.x]\nseed = 3\n", &[], &["net.toml:1:8", "write [[trace.rule]]"]);
        let inline = read::<Lists>("net.toml", "[trace]\nrule = { seed = 3 }\n", &[]).unwrap_err().to_string();
        assert!(inline.contains("expected a list") && !inline.contains("help"), "{inline}");
    }

    #[test]
    fn a_file_that_is_no_toml_is_not_told_of_one_letter_in_it() {
        let notes = "# Notes\n\nThe box is slow. [Why](why.md)?\n\n* alpha = what?\n\n```toml\nseed = 3\n```\n";
        for text in [notes, "{\"seed\": 3}\n", "seed: 3\n", "hello\n"] {
            for overrides in [&[][..], &["trace.rule=[]"]] {
                wrong(text, overrides, &["net.toml: it does not look like TOML", "the keys are web, trace"]);
            }
        }
        for text in ["seed = \n", "[trace\nseed = 3\n", "[trace] # here\nx\n", "web.0.seed = 08\n"] {
            let message = read::<Lists>("net.toml", text, &[]).unwrap_err().to_string();
            assert!(message.contains("net.toml:") && !message.contains("look like"), "{text}: {message}");
        }
    }

    #[test]
    fn a_key_of_a_section_that_stands_outside_of_it_is_told_where_it_belongs() {
        wrong("rule = 3\n", &[], &["unknown key `rule`", "did you mean `trace.rule`?"]);
        wrong("", &["rule=3"], &["--set rule=3", "did you mean `trace.rule`?"]);
        wrong("seed = 3\n", &[], &["`seed` is a key of each [[web]]"]);
        wrong("[trace]\nseed = 3\n", &[], &["`seed` is a key of each [[web]]"]);
        wrong("", &["web.rule=3"], &["there is no [[web]]", "did you mean `trace.rule`?"]);
        let message = read::<Lists>("net.toml", "other = 3\n", &[]).unwrap_err().to_string();
        assert!(!message.contains("help"), "{message}");
    }

    #[test]
    fn a_key_of_the_whole_file_that_stands_in_a_section_is_told_where_it_belongs() {
        wrong("[[web]]\ntitle = \"a\"\n", &[], &["unknown key `title`", "`title` stands at the top of the file"]);
        wrong("[trace]\ntitle = \"a\"\n", &[], &["unknown key `title`", "`title` stands at the top of the file"]);
        wrong("[trace]\nweb = \"a\"\n", &[], &["unknown key `web`"]);
        let message = read::<Lists>("net.toml", "[trace]\nweb = 3\n", &[]).unwrap_err().to_string();
        assert!(!message.contains("top"), "{message}");
    }

    #[test]
    fn a_text_of_digits_is_a_text_however_many_they_are() {
        let title =
            |value: &str| read::<BTreeMap<String, String>>("net.toml", "", &[format!("title={value}")]).unwrap();
        assert_eq!(title("99999999999999999999").file["title"], "99999999999999999999");
    }

    #[test]
    fn a_key_that_the_whole_file_lacks_has_no_place() {
        let message = read::<File>("net.toml", "\n", &[]).unwrap_err().to_string();
        assert_eq!(message, "net.toml: missing key `ecn`");
        #[derive(Deserialize, Debug)]
        struct Hops {
            #[expect(dead_code, reason = "only read")]
            hop: Vec<File>,
        }
        let message = read::<Hops>("net.toml", "[[hop]]\n[[hop]]\n", &[]).unwrap_err().to_string();
        assert!(message.contains("missing key `ecn`") && message.contains("net.toml:1:1"), "{message}");
    }

    #[test]
    fn a_text_where_a_list_belongs_is_told_how_a_list_is_written() {
        wrong("web = \"a\"\n", &[], &["net.toml:1:7", "expected a list", "write [\"a\"]"]);
    }

    #[test]
    fn a_text_where_rules_belong_is_told_how_rules_are_written() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Class {
            #[serde(rename = "match")]
            #[expect(dead_code, reason = "only read")]
            rules: Vec<File>,
        }
        for text in ["match = \"10.0.0.0/8\"\n", "match=\"udp\"\n"] {
            let message = read::<Class>("box.toml", text, &[]).unwrap_err().to_string();
            assert!(message.contains("expected a list") && message.contains("write rules, such as [{"), "{message}");
        }
    }

    #[test]
    fn whole_numbers_that_are_out_of_range_bring_the_range() {
        let most = u64::MAX.to_string();
        assert!(read::<Lists>("net.toml", &format!("[[web]]\nseed = {most}\n"), &[]).is_ok());
        for beyond in ["-1", "18446744073709551616"] {
            wrong(&format!("[[web]]\nseed = {beyond}\n"), &[], &["net.toml:2:8", beyond, &format!("0 to {most}")]);
        }
        for beyond in ["-1", "0", "1001", "9223372036854775807", "9223372036854775808", "18446744073709551616"] {
            let expected = format!("`{beyond}`: expected a whole number from 1 to 1000");
            wrong(&format!("[[web]]\ncount = {beyond}\n"), &[], &["net.toml:2:9", &expected]);
        }
        for other in ["1.5", "true"] {
            wrong(
                &format!("[[web]]\ncount = {other}\n"),
                &[],
                &["net.toml:2:9", other, "a whole number from 1 to 1000"],
            );
        }
        // What is changed goes through TOML's own numbers.
        let beyond = "web.0.count=9223372036854775808";
        wrong("[[web]]\n", &[beyond], &[&format!("--set {beyond}: expected a whole number from 1 to 1000")]);
        assert!(read::<Lists>("net.toml", "[[web]]\n", &[format!("web.0.seed={}", i64::MAX)]).is_ok());
        for beyond in ["9223372036854775808", "9_223_372_036_854_775_808", "0x8000000000000000", "-9223372036854775809"]
        {
            let entry = format!("web.0.seed={beyond}");
            let message = format!("--set {entry}: expected a whole number from 0 to 9223372036854775807");
            wrong("[[web]]\n", &[&entry], &[&message]);
        }
        wrong(
            &format!("[[web]]\nseed = {most}\n"),
            &["web.0.seed=1"],
            &["net.toml:2:8", "at most 9223372036854775807"],
        );
    }
}
