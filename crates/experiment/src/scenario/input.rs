//! What the user gives: a scenario, or a capture alone.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use dovetail_trace::{CaptureReader, TraceError};

use super::{ScenarioError, nearest};

/// Bytes by which a text is told from a capture.
const HEAD: u64 = 512;

/// A file or standard input, opened once: a pipe cannot be read again.
pub enum Given {
    /// The text of a scenario.
    Scenario(String),
    /// A capture from its first byte on, or what has to be reported as no capture.
    Capture(Box<dyn Read + Send>),
}

/// Open `path` (`-` is standard input) and find out what it is: a text is a scenario unless it is named like a capture,
/// and so is what is named like one; anything else is a capture.
pub fn open(path: &str) -> Result<Given, ScenarioError> {
    let name = if path == "-" { "standard input" } else { path };
    let unreadable = |e: io::Error| ScenarioError::new(name, cannot_read(path, &e));
    let mut stream: Box<dyn Read + Send> = match path {
        "-" => Box::new(io::stdin()),
        path => Box::new(File::open(path).map_err(unreadable)?),
    };
    let mut head = Vec::new();
    stream.by_ref().take(HEAD).read_to_end(&mut head).map_err(unreadable)?;
    let text = is_text(&head) || path.to_ascii_lowercase().ends_with(".toml");
    let named_capture = has_capture_name(path);
    let mut whole = io::Cursor::new(head).chain(stream);
    if !text || named_capture {
        return Ok(Given::Capture(Box::new(whole)));
    }
    let bytes = dovetail_config::bytes(&mut whole).map_err(unreadable)?;
    if bytes.is_empty() {
        let message = "it is empty: expected a scenario (TOML) or a capture (pcap or pcapng, gzipped or not)";
        return Err(ScenarioError::new(name, message));
    }
    let text = dovetail_config::decode(name, bytes)?;
    Ok(Given::Scenario(text))
}

fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // A character may be cut at the end.
        Err(e) if e.error_len().is_none() => std::str::from_utf8(&head[..e.valid_up_to()]).unwrap_or_default(),
        Err(_) => return false,
    };
    text.chars().all(|c| !c.is_control() || c.is_whitespace())
}

fn has_capture_name(path: &str) -> bool {
    let name = path.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    [".pcap", ".pcapng", ".cap"].iter().any(|suffix| name.ends_with(suffix))
}

fn cannot_read(path: &str, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::IsADirectory {
        return "it is a folder: expected a scenario (TOML) or a capture (pcap or pcapng, gzipped or not)".into();
    }
    if path.starts_with("scenarios/") && !Path::new("scenarios").exists() {
        return format!("cannot be read: {error}; scenarios/ is a folder of Dovetail's repository: run this there");
    }
    format!("cannot be read: {error}{}", or_nearby(Path::new(path)))
}

/// Open a capture; `-` is standard input.
///
/// # Errors
/// Why it cannot be, with a file that may have been meant.
pub fn open_capture(path: &Path) -> Result<CaptureReader<'static>, String> {
    CaptureReader::open(path).map_err(|error| match error {
        TraceError::Read { .. } => format!("{error}{}", or_nearby(path)),
        other => other.to_string(),
    })
}

/// The folder in which the files that this one names are looked for: its own; the current one if it is a pipe or an
/// open file such as /dev/stdin, beside which there is nothing of it.
pub fn beside(path: &Path) -> &Path {
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_of_open_files = folder == Path::new("/dev") || folder == Path::new("/dev/fd") || folder.starts_with("/proc");
    let is_stream = is_of_open_files || path.metadata().is_ok_and(|about| !about.is_file());
    if is_stream { Path::new("") } else { folder }
}

/// The nearest name of a file in the folder of one that cannot be read, as the end of a message.
pub fn or_nearby(path: &Path) -> String {
    let folder = path.parent().unwrap_or(Path::new(""));
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let wanted = path.file_name().unwrap_or_default().to_string_lossy().to_string();
    let is_input = |name: &str| has_capture_name(name) || name.ends_with(".toml");
    // Whoever asks for a capture or a scenario does not mean a file of another kind.
    let may_be_meant = |name: &String| !is_input(&wanted) || is_input(name);
    let names = std::fs::read_dir(listed).into_iter().flatten();
    let names = names.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().to_string()));
    let names: Vec<String> = names.filter(may_be_meant).collect();
    // An ending that both have says nothing of what was meant.
    let ending =
        Path::new(&wanted).extension().map_or(String::new(), |ending| format!(".{}", ending.to_string_lossy()));
    let stem = |name: &str| name.strip_suffix(&ending).map(str::to_string);
    let stems: Vec<String> = names.iter().filter_map(|name| stem(name)).collect();
    let near = nearest(&stem(&wanted).unwrap_or_default(), stems.iter().map(String::as_str));
    let near = near.map(|near| format!("{near}{ending}"));
    let near = near.or_else(|| nearest(&wanted, names.iter().map(String::as_str)).map(str::to_string));
    match near {
        Some(name) if name != wanted => format!("; did you mean {:?}?", folder.join(name).display().to_string()),
        _ => String::new(),
    }
}
