//! What was probably meant by arguments that are no good.

use std::path::Path;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue};
use dovetail_lab::scenario::BUILT_IN;
use dovetail_sched::aqm::scheme;
use dovetail_sched::catalog;

use crate::args::Cli;

/// The error with a tip: a file where a command belongs is to be run or looked at, a scheduler's parameter belongs to
/// the scheduler, and a command with a slip has a nearest one.
pub fn with_tip(mut error: clap::Error) -> clap::Error {
    // Also what is no UTF-8, which the error is about.
    let typed = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    let typed: Vec<String> = typed.collect();
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    };
    let (command, argument) = (word(ContextKind::InvalidSubcommand), word(ContextKind::InvalidArg));
    let tip = for_all(&typed).or_else(|| command.as_deref().and_then(|word| for_command(word, &typed)));
    if let Some(tip) = tip.or_else(|| argument.as_deref().and_then(|option| for_option(option, &typed))) {
        // Two tips would be one too many.
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    } else if let Some(ContextValue::StyledStrs(tips)) = error.get(ContextKind::Suggested)
        && tips.iter().all(|tip| tip.to_string().contains(" as a value, "))
    {
        // No command takes a value that begins with a dash.
        error.remove(ContextKind::Suggested);
    } else if let Some(word) = command
        && error.get(ContextKind::SuggestedSubcommand).is_none()
    {
        let commands = Cli::command();
        // Those of the command before it, as in `lab rn` and `help lab rn`.
        let place = typed.iter().rposition(|typed| *typed == word).unwrap_or_default();
        let mut before = typed[..place].iter().filter(|typed| *typed != "help");
        let inner = before.try_fold(&commands, |command, name| command.find_subcommand(name));
        let names = inner.into_iter().flat_map(clap::Command::get_subcommands).map(clap::Command::get_name);
        let names: Vec<&str> = names.collect();
        match dovetail_config::nearest(&word, names.iter().copied()) {
            Some(near) => {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near.to_string()]));
            }
            None if !names.is_empty() => {
                let all = format!("there are {}", names.join(", "));
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![all.into()]));
            }
            None => {}
        }
    }
    error
}

/// For what can be wrong with any command.
fn for_all(typed: &[String]) -> Option<String> {
    let words: Vec<&str> = typed.iter().map(String::as_str).collect();
    let is_pair = |words: &[&str]| words[0] == "--set" && !words[1].contains('=') && !words[2].starts_with('-');
    let pair = words.windows(3).find(|words| is_pair(words));
    if let Some([_, key, value]) = pair {
        return Some(format!("a key and its value are one word: --set {key}={value}"));
    }
    let page = words.windows(2).find(|words| words[0] == "--page" && Path::new(words[1]).is_file());
    page.map(|words| format!("--page takes {} for the page to write: put the name of a page between them", words[1]))
}

/// The commands of the feature `studies`.
const STUDIES: [&str; 6] = ["run", "advise", "sweep", "report", "reproduce", "bounds"];

/// For a word that is no command.
fn for_command(word: &str, typed: &[String]) -> Option<String> {
    let before: Vec<&str> = typed.iter().map(String::as_str).take_while(|arg| *arg != word).collect();
    match before[..] {
        ["live", "ctl", ..] if word.contains('=') => Some(format!("to change it: dovetail live ctl set {word}")),
        ["live", _] if word.contains('=') => Some(format!("to change the configuration: --set {word}")),
        ["lab"] if BUILT_IN.iter().any(|built_in| built_in.name == word) => {
            Some(format!("to run it: dovetail lab run {word}"))
        }
        ["trace", ..] if Path::new(word).is_file() => Some(format!("to look at it: dovetail trace info {word}")),
        [] if cfg!(not(feature = "studies")) && STUDIES.contains(&word) => Some(
            "this program is built without what simulates; all of it: cargo install --locked --path crates/cli".into(),
        ),
        [] if Path::new(word).is_file() => Some(format!("to run it: dovetail run {word}")),
        [] if word == "simulate" || word == "compare" => Some("dovetail run simulates and compares".into()),
        [] if word == "ctl" => Some("a box is asked with dovetail live ctl".into()),
        ["live", "ctl"] => None,
        ["live", first] if !Path::new(first).is_file() => Some(ports(first, word)),
        _ => None,
    }
}

/// Two interfaces in place of a configuration.
fn ports(first: &str, second: &str) -> String {
    format!("interfaces stand in a configuration: [ports] in = \"packet:{first}\", out = \"packet:{second}\"")
}

/// For an option, or a further word, that does not exist.
fn for_option(option: &str, typed: &[String]) -> Option<String> {
    let words: Vec<&str> = typed.iter().map(String::as_str).collect();
    if let ["live", "ctl", "set" | "weight" | "alpha" | "queue", key, value, ..] = words[..]
        && value == option
    {
        return Some(match key.contains('=') {
            true => "one change at a time".into(),
            false => format!("a parameter and its value are one word: {key}={value}"),
        });
    }
    let name = option.trim_start_matches('-');
    let inside = typed.iter().find_map(|arg| arg.strip_prefix(option)?.strip_prefix('='));
    let after = typed.iter().skip_while(|arg| !arg.starts_with(option)).nth(1).map(String::as_str);
    let value = inside.or(after.filter(|arg| !arg.starts_with('-'))).unwrap_or("...");
    if typed.first().is_some_and(|command| command == "advise") && ["s", "scheduler"].contains(&name) {
        return Some(format!("what runs today is --today {value}; dovetail run compares schedulers that you name"));
    }
    if words.first() == Some(&"run") && dovetail_sched::catalog::find(option).is_some() {
        return Some(format!("once for each scheduler: --scheduler {option}"));
    }
    let command = words.first().copied();
    match (command, words.get(1).copied()) {
        _ if words.windows(2).any(|words| words == ["--json", option]) => {
            return Some(format!("--json prints the document: --json > {option}"));
        }
        (Some("run" | "advise" | "bounds"), _) if Path::new(option).is_file() => {
            return Some("one scenario or capture at a time".into());
        }
        (Some("trace"), _) if Path::new(option).is_file() => return Some("one capture at a time".into()),
        (Some("live"), _) if ["s", "scheduler"].contains(&name) => {
            return Some(format!("the scheduler is a key of the configuration: --set scheduler={value}"));
        }
        (Some("live"), _) if ["in", "out", "interface", "i"].contains(&name) => {
            let port = if name == "out" { "out" } else { "in" };
            return Some(format!("ports are keys of the configuration: --set ports.{port}=packet:{value}"));
        }
        (Some("lab"), Some(to @ ("up" | "down"))) if name == "name" => {
            return Some(format!("the name is a word of its own: dovetail lab {to} {value}"));
        }
        (Some("top"), _) if Path::new(option).is_file() => {
            return Some("a box is found by its socket, [control] socket in its configuration: --socket PATH".into());
        }
        _ => {}
    }
    match (words.first(), name) {
        (Some(&("run" | "advise")), "rate" | "link") => {
            return Some(format!("rates are keys of the scenario: --set resource.link.rate='\"{value}\"'"));
        }
        (Some(&("run" | "advise" | "bounds")), "speed" | "load") => {
            return Some(format!("how fast a capture is replayed is a key: --set trace.{name}={value}"));
        }
        (Some(&"run"), "o") => return Some(format!("results are written by --out {value}")),
        (Some(&"report"), "page") => return Some(format!("a report is a page: --out {value}")),
        _ => {}
    }
    let spec = catalog::with_parameter(name, value).or_else(|| scheme::with_parameter(name, value))?;
    let before = match typed.first().map(String::as_str) {
        Some("advise") => "--today ",
        Some("live") => "--set scheduler=",
        _ => "--scheduler ",
    };
    Some(format!("it is a scheduler's parameter: {before}{spec}"))
}
