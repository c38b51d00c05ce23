//! One line for each capture given: what it holds, and what could not be read.
//!
//! `cargo run -p dovetail-trace --example survey -- [5-tuple|prefix+port] CAPTURE...`

use std::path::Path;

use dovetail_trace::{CaptureInfo, CaptureReader};
use dovetail_wire::KeyKind;

fn main() {
    let mut kind = KeyKind::FiveTuple;
    for path in std::env::args().skip(1) {
        if let Ok(given) = path.parse() {
            kind = given;
            continue;
        }
        match survey(Path::new(&path), kind) {
            Ok(line) => println!("{path}: {line}"),
            Err(error) => println!("{path}: error: {error}"),
        }
    }
}

fn survey(path: &Path, kind: KeyKind) -> Result<String, String> {
    let mut reader = CaptureReader::open(path).map_err(|error| error.to_string())?;
    let info = CaptureInfo::read(&mut reader, kind, 0, u64::MAX).map_err(|_| "too large")?;
    let links: Vec<_> = info.links.keys().map(ToString::to_string).collect();
    let mix: Vec<_> = info.protocols.iter().map(|(name, total)| format!("{name} {}", total.packets)).collect();
    let mut line = format!(
        "{} packets, {} flows, {:.2} s, {}, {}; {}; fragments {}, cut {}",
        info.total.packets,
        info.flows,
        info.duration.as_secs_f64(),
        info.format,
        links.join(" "),
        mix.join(" "),
        info.fragments,
        info.cut_packets
    );
    if info.report.clamped_times + info.report.clamped_lengths > 0 {
        line += &format!("; clamped times {}, lengths {}", info.report.clamped_times, info.report.clamped_lengths);
    }
    if let Some(damage) = &info.report.damage {
        line += &format!("; damage: {damage}");
    }
    Ok(line)
}
