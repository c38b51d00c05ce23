//! `dovetail run` of a network.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use dovetail_experiment::network::{
    NetworkScenario, NetworkSummary, PacketCapture, Scheme, Settings, compare, simulate, table, write,
};
use dovetail_experiment::report::Output;
use dovetail_experiment::scenario::unknown;

use crate::args::{PcapOf, Run};
use crate::failure::Failure;
use crate::run::{failure, threads};
use crate::terminal;

/// Compare schedulers on one network.
pub fn run(mut scenario: NetworkScenario, args: &Run) -> Result<(), Failure> {
    if let Some(seed) = args.input.seed {
        scenario = scenario.with_seed(seed);
    }
    let given = &args.input.schedulers;
    let schedulers = if given.is_empty() { scenario.schedulers() } else { given.clone() };
    let schemes = scenario.schemes(&schedulers).map_err(Failure::input)?;
    let hops = captured(&scenario, &schemes, &args.pcap)?;
    let cancel = terminal::on_interrupt();
    // Before the runs, so that an unusable folder costs no time.
    let output = args.out.as_deref().map(Output::create).transpose().map_err(Failure::run)?;
    let bar = terminal::spinner();
    let settings =
        Settings { threads: threads(args.input.threads), cancel, progress: &|packets| bar.set_position(packets) };
    let result = compare(&scenario, &schemes, &settings);
    bar.finish_and_clear();
    let runs = result.map_err(failure)?;
    let summary = NetworkSummary::new(&scenario, &runs).map_err(Failure::run)?;
    let json = serde_json::to_string_pretty(&summary).map_err(Failure::run)?;
    let written = output.map(|o| write(o, &scenario, &runs, &summary, &json)).transpose().map_err(Failure::run)?;
    for (hop, capture) in hops.iter().zip(&args.pcap) {
        write_capture(&scenario, &schemes[0], *hop, &capture.file, cancel)?;
    }
    if args.json {
        terminal::print(&json)?;
    } else {
        terminal::print(&table(&summary, terminal::width()))?;
    }
    let captures = args.pcap.iter().map(|capture| capture.file.display().to_string());
    for path in written.into_iter().flatten().chain(captures) {
        terminal::say(&format!("wrote {path}"));
    }
    Ok(())
}

/// The hops of which captures are wanted.
fn captured(scenario: &NetworkScenario, schemes: &[Scheme], wanted: &[PcapOf]) -> Result<Vec<u32>, Failure> {
    if !wanted.is_empty() && schemes.len() > 1 {
        return Err(Failure::Input("--pcap is of one run: give one --scheduler".into()));
    }
    let names: Vec<&str> = scenario.resources.iter().map(|r| r.name.as_str()).collect();
    let index = |capture: &PcapOf| {
        let found = names.iter().position(|name| *name == capture.hop);
        found
            .map(|k| k as u32)
            .ok_or_else(|| Failure::Input(format!("--pcap: {}", unknown("hop", &capture.hop, &names))))
    };
    if let Some(again) = wanted.iter().enumerate().find(|(k, one)| wanted[..*k].iter().any(|w| w.file == one.file)) {
        return Err(Failure::Input(format!("--pcap: {} is named twice", again.1.file.display())));
    }
    if wanted.iter().any(|one| one.file == Path::new("-")) {
        return Err(Failure::Input("--pcap: \"-\": a capture goes into a file, such as box.link=link.pcap".into()));
    }
    wanted.iter().map(index).collect()
}

/// Run once more, the packets of one hop going into a capture: the whole of it or nothing.
fn write_capture(
    scenario: &NetworkScenario,
    scheme: &Scheme,
    hop: u32,
    path: &Path,
    cancel: &AtomicBool,
) -> Result<(), Failure> {
    let target = path.display();
    let unwritable = |e: std::io::Error| Failure::run(format!("cannot write {target}: {e}"));
    let name = path.file_name().ok_or_else(|| Failure::input(format!("{target} names no file")))?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut output = Output::create(folder).map_err(Failure::run)?;
    let file = output.file(&name.to_string_lossy()).map_err(Failure::run)?;
    let mut capture = PacketCapture::new(scenario, scheme, hop, file).map_err(unwritable)?;
    simulate(scenario, scheme, scenario.seed(), cancel, &mut capture).map_err(failure)?;
    capture.finish().map_err(unwritable)?.finish().map_err(Failure::run)?;
    output.commit().map_err(Failure::run)?;
    Ok(())
}
