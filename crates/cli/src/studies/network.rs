//! `dovetail run` of a network.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use dovetail_experiment::network::{
    FILES, NetworkScenario, NetworkSummary, PacketCapture, Scheme, Settings, compare, pictures, simulate, table, write,
};
use dovetail_experiment::output::{Output, Placed};
use dovetail_experiment::scenario::unknown;
use dovetail_trace::CaptureReader;

use super::page::{PageFile, Written};
use super::report::{documents, html};
use super::run::threads;
use super::{ending, progress};
use crate::args::{PcapOf, Run};
use crate::failure::Failure;
use crate::place::Place;
use crate::terminal;

/// Compare schedulers on one network.
pub fn run(mut scenario: NetworkScenario, args: &Run) -> Result<(), Failure> {
    if args.schedule {
        let message = "--schedule is for pipelines ([[resource]]): of a network, --pcap HOP=FILE shows the packets";
        return Err(Failure::Input(message.into()));
    }
    if let Some(seed) = args.input.source.seed {
        scenario = scenario.with_seed(seed);
    }
    let given = &args.input.schedulers;
    let schedulers = if given.is_empty() { scenario.schedulers() } else { given.clone() };
    let schemes = scenario.schemes(&schedulers).map_err(Failure::input)?;
    let hops = captured(&scenario, &schemes, &args.pcap)?;
    let cancel = ending::end_on_interrupt();
    // Before the runs, so that an unusable folder costs no time.
    let output = args.out.as_ref().map(|out| Output::create(out, &FILES, &[Path::new(&args.input.source.file)]));
    let output = output.transpose().map_err(Failure::input)?;
    ending::leave_nothing(output.as_ref());
    let places = places(args)?;
    let input = [Path::new(&args.input.source.file)];
    let page = args.page.as_deref().map(|file| PageFile::beside(file, &input, args.out.as_deref())).transpose()?;
    if let Some(page) = page.as_ref().filter(|page| places.iter().any(|place| place.target() == page.target())) {
        return Err(page.twice());
    }
    let bar = progress::spinner();
    let settings = Settings {
        threads: threads(args.input.source.threads),
        cancel,
        progress: &|packets| bar.set_position(packets),
    };
    let result = compare(&scenario, &schemes, &settings);
    bar.finish_and_clear();
    let runs = result.map_err(Failure::from)?;
    let summary = NetworkSummary::new(&scenario, &runs).map_err(Failure::run)?;
    let json = serde_json::to_string_pretty(&summary).map_err(Failure::run)?;
    let documents = documents(json, scenario.text(), pictures(&summary).map_err(Failure::run)?)?;
    let captures = hops.iter().zip(places).map(|(&hop, place)| capture(place, &scenario, &schemes[0], hop, cancel));
    // All that can be interrupted comes before anything is put in place.
    let captures = captures.collect::<Result<Vec<Output>, Failure>>()?;
    let page = page.map(|page| page.write(&html(&documents)?)).transpose()?;
    let written = ending::uninterrupted(|| {
        let written = output.map(|o| write(o, &scenario, &runs, &summary, &documents)).transpose();
        let mut written = written.map_err(Failure::run)?.unwrap_or_default();
        for (capture, PcapOf { file, .. }) in captures.into_iter().zip(&args.pcap) {
            let replaced = capture.commit().map_err(Failure::run)?.iter().any(|placed| placed.replaced);
            written.push(Placed { path: file.clone(), replaced }.to_string());
        }
        written.extend(page.map(Written::place).transpose()?);
        Ok::<_, Failure>(written)
    })?;
    if args.json {
        terminal::print(&documents.summary)?;
    } else {
        terminal::print(&table(&summary, terminal::width()))?;
    }
    for path in written {
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
    if wanted.iter().any(|one| one.file == Path::new("-")) {
        return Err(Failure::Input("--pcap: \"-\": a capture goes into a file, such as box.link=link.pcap".into()));
    }
    wanted.iter().map(index).collect()
}

/// Where the captures go: not where the scenario, a result of `--out`, another of them, or what is no capture stands.
fn places(args: &Run) -> Result<Vec<Place<'_>>, Failure> {
    let results = args.out.iter().filter_map(|out| out.canonicalize().ok());
    let results: Vec<PathBuf> = results.flat_map(|out| FILES.map(|name| out.join(name))).collect();
    let mut taken: Vec<PathBuf> = Vec::new();
    let mut places = Vec::new();
    for PcapOf { file, .. } in &args.pcap {
        let wrong = |why: String| Failure::Input(format!("--pcap: {why}"));
        let place = Place::open(file, &[Path::new(&args.input.source.file)]).map_err(wrong)?;
        if results.contains(&place.target()) {
            return Err(wrong(format!("{} is a result of --out: choose another name", file.display())));
        }
        if taken.contains(&place.target()) {
            return Err(wrong(format!("{} is written twice", file.display())));
        }
        if file.is_file() && CaptureReader::open(file).is_err() {
            let why = "there is a file of this name that is no capture; give another name";
            return Err(wrong(format!("cannot write {}: {why}", file.display())));
        }
        taken.push(place.target());
        places.push(place);
    }
    Ok(places)
}

/// Run once more, the packets of one hop going into the capture: the whole of it, ready to be put in place.
fn capture(
    mut place: Place<'_>,
    scenario: &NetworkScenario,
    scheme: &Scheme,
    hop: u32,
    cancel: &AtomicBool,
) -> Result<Output, Failure> {
    let file = place.file()?;
    let mut capture = PacketCapture::new(scenario, scheme, hop, file).map_err(|e| place.unwritable(e))?;
    simulate(scenario, scheme, scenario.seed(), cancel, &mut capture).map_err(Failure::from)?;
    capture.finish().map_err(|e| place.unwritable(e))?.finish().map_err(Failure::run)?;
    Ok(place.written())
}
