//! `dovetail trace`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use dovetail_experiment::memory::{amount, free, room_for};
use dovetail_experiment::output::OutputFile;
use dovetail_experiment::scenario::{ScenarioError, open_capture};
use dovetail_experiment::summary::earlier;
use dovetail_experiment::table::{counted, percent, rate, seconds, table};
use dovetail_trace::{CaptureInfo, Mixture, Pace, Synthetic, TooLarge};
use dovetail_units::Bytes;
use serde_json::json;

use crate::args::{Info, Synth, Trace};
use crate::failure::Failure;
use crate::place::Place;
use crate::terminal;

/// Look at captures, or make one.
pub fn trace(command: Trace) -> Result<(), Failure> {
    match command {
        Trace::Info(args) => info(args),
        Trace::Synth(args) => synth(args),
    }
}

fn info(args: Info) -> Result<(), Failure> {
    let mut reader = open_capture(&args.file).map_err(Failure::input)?;
    let name = if args.file == Path::new("-") { "standard input".into() } else { args.file.display().to_string() };
    let free = free();
    let info = CaptureInfo::read(&mut reader, args.key, args.top as usize, free);
    let info = info.map_err(|TooLarge { packets, flows }| {
        let free = amount(free as f64);
        let message =
            format!("the {flows} flows of its first {packets} packets take the {free} of memory that are free");
        let help = "--key prefix makes fewer flows, and so does a part of it: editcap -r CAPTURE PART 1-1000000";
        Failure::input(ScenarioError::new(&name, message).with_help(help))
    })?;
    if let Some(damage) = &info.report.damage {
        terminal::say(&format!("warning: {name}: {damage}"));
    }
    if args.json {
        return terminal::print(&serde_json::to_string_pretty(&info_json(&info)).map_err(Failure::run)?);
    }
    terminal::print(&info_text(&info))
}

fn info_json(info: &CaptureInfo) -> serde_json::Value {
    json!({
        "schema": 1,
        "format": info.format.to_string(),
        "gzip": info.gzip,
        "links": info.links.iter()
            .map(|(link, n)| (link.to_string(), *n))
            .collect::<std::collections::BTreeMap<_, _>>(),
        "packets": info.total.packets,
        "bytes": info.total.bytes,
        "captured_bytes": info.captured_bytes,
        "cut_packets": info.cut_packets,
        "fragments": info.fragments,
        "duration_s": info.duration.as_secs_f64(),
        "flows": info.flows,
        "no_flow_packets": info.report.no_flow_packets(),
        "clamped_times": info.report.clamped_times,
        "damage": info.report.damage.as_ref().map(ToString::to_string),
        "protocols": info.protocols.iter()
            .map(|(name, t)| json!({"protocol": name, "packets": t.packets, "bytes": t.bytes})).collect::<Vec<_>>(),
        "sizes": info.sizes.iter().map(|b| json!({"up_to": b.up_to, "packets": b.packets})).collect::<Vec<_>>(),
        "top_flows": info.top_flows.iter()
            .map(|f| json!({"flow": flow_name(f), "packets": f.packets, "bytes": f.bytes})).collect::<Vec<_>>(),
    })
}

fn info_text(info: &CaptureInfo) -> String {
    let duration = info.duration.as_secs_f64();
    let links: Vec<String> = info.links.iter().map(|(link, n)| format!("{link} ({})", counted(*n, "packet"))).collect();
    let mean = if duration > 0.0 { rate(info.total.bytes as f64 * 8.0 / duration) } else { "-".into() };
    let mut text = format!(
        "format     {}{}\nlinks      {}\npackets    {}, {} of them cut, {}\nbytes      {} ({} captured)\n",
        info.format,
        if info.gzip { ", gzipped" } else { "" },
        if links.is_empty() { "-".into() } else { links.join(", ") },
        info.total.packets,
        info.cut_packets,
        counted(info.fragments, "fragment"),
        Bytes(info.total.bytes),
        Bytes(info.captured_bytes),
    );
    text.push_str(&format!("duration   {}, mean rate {mean}\nflows      {}\n", seconds(duration), info.flows));
    if let Some(earlier) = earlier(info.report.clamped_times) {
        text.push_str(&format!("clocks     {earlier}\n"));
    }
    let part = |n: u64| percent(n as f64 / info.total.packets.max(1) as f64);
    let protocols = (info.protocols.iter())
        .map(|(name, t)| vec![name.clone(), t.packets.to_string(), part(t.packets), Bytes(t.bytes).to_string()]);
    text.push_str(&format!("\n{}\n", table(&["protocol", "packets", "part", "bytes"], 1, protocols.collect(), 80)));
    let sizes = info.sizes.iter().map(|b| vec![size_name(b.up_to), b.packets.to_string(), part(b.packets)]);
    text.push_str(&format!("\n{}\n", table(&["length", "packets", "part"], 1, sizes.collect(), 80)));
    let flows = info.top_flows.iter().map(|f| vec![flow_name(f), f.packets.to_string(), Bytes(f.bytes).to_string()]);
    text.push_str(&format!(
        "\n{}",
        table(&["largest flows", "packets", "bytes"], 1, flows.collect(), terminal::width())
    ));
    text
}

fn flow_name(flow: &dovetail_trace::FlowEntry) -> String {
    flow.key.map_or("no flow".into(), |key| key.to_string())
}

fn size_name(up_to: u32) -> String {
    if up_to == u32::MAX { "longer".into() } else { format!("up to {up_to} B") }
}

fn synth(args: Synth) -> Result<(), Failure> {
    let default = Mixture::default();
    let pace = match (args.duration, args.rate) {
        (_, Some(rate)) => Pace::MeanRate(rate),
        (Some(duration), None) => Pace::Duration(duration),
        (None, None) => default.pace,
    };
    let Synth { seed, packets, flows, heaviest, large, .. } = args;
    let mixture = Mixture { seed, packets, flows, pace, heaviest_percent: heaviest, large_percent: large };
    room_for(&format!("{packets} packets of {flows} flows"), mixture.memory()).map_err(Failure::Input)?;
    if args.file == Path::new("-") {
        let synthetic = mixture.generate().map_err(Failure::input)?;
        return terminal::print_parts(|out| synthetic.write_pcap(out).map(drop));
    }
    // It may be a capture that nobody can take again.
    if args.file.symlink_metadata().is_ok_and(|there| there.is_file()) && !args.force {
        let there = format!("{} is there already", args.file.display());
        return match is_the_same(&mixture, &args.file) {
            true => {
                terminal::say(&format!("{there}, with these {packets} packets"));
                Ok(())
            }
            false => Err(Failure::Input(format!("{there}; --force replaces it"))),
        };
    }
    // Before the work, so that an unusable folder costs no time; a signal during it leaves nothing there.
    drop(Place::open(&args.file, &[]).map_err(Failure::input)?);
    write_capture(&mixture.generate().map_err(Failure::input)?, &args.file)?;
    let Mixture { packets, flows, .. } = mixture;
    let (packets, flows) = (counted(packets.into(), "packet"), counted(flows.into(), "flow"));
    terminal::say(&format!("wrote {}: {packets} of {flows}", args.file.display()));
    Ok(())
}

/// Whether that is in the file, byte for byte.
fn is_the_same(mixture: &Mixture, path: &Path) -> bool {
    let open = || File::open(path).map(|file| Comparing { there: BufReader::new(file) });
    let compare = |synthetic: Synthetic| synthetic.write_pcap(open()?)?.there.fill_buf().map(<[u8]>::is_empty);
    mixture.generate().is_ok_and(|synthetic| compare(synthetic).unwrap_or(false))
}

/// Takes only what it finds in a file.
struct Comparing {
    there: BufReader<File>,
}

impl Write for Comparing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut there = vec![0; bytes.len()];
        self.there.read_exact(&mut there)?;
        if there == bytes { Ok(bytes.len()) } else { Err(io::Error::other("another file")) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The whole capture or nothing.
fn write_capture(synthetic: &Synthetic, path: &Path) -> Result<(), Failure> {
    // From here on there is something to put in order.
    let cancel = terminal::on_interrupt();
    let mut place = Place::open(path, &[]).map_err(Failure::input)?;
    let file = place.file()?;
    let file =
        synthetic.write_pcap(Interruptible { file, cancel }).map_err(|e| match cancel.load(Ordering::Relaxed) {
            true => Failure::Interrupted,
            false => place.unwritable(e),
        })?;
    file.file.finish().map_err(Failure::run)?;
    place.written().commit().map(drop).map_err(Failure::run)
}

/// A file that refuses to be written once the user has interrupted.
struct Interruptible {
    file: OutputFile,
    cancel: &'static AtomicBool,
}

impl Write for Interruptible {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(io::Error::other("interrupted")),
            false => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
