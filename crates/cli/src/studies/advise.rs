//! `dovetail advise`.

use std::path::Path;

use dovetail_experiment::advise::network::{self, NetworkAdvice};
use dovetail_experiment::advise::{self, Advice, AdviseError};
use dovetail_experiment::compare::Settings;
use dovetail_experiment::network as networks;
use dovetail_experiment::network::NetworkScenario;
use dovetail_experiment::results::Made;
use dovetail_experiment::scenario::{self, Opened, Scenario};
use dovetail_experiment::table::{COLUMNS, Grid};
use dovetail_figure::DARK;
use dovetail_page::{Fact, Kind, Lines, Page, Picture, Table};
use serde::Serialize;

use super::page::{PageFile, Written, arguments, called, made as facts, names, table, text as fact, words};
use super::run::{about, seeded, tell_about, threads};
use super::{ending, progress};
use crate::args::Advise;
use crate::failure::Failure;
use crate::terminal;

/// Find out which scheduler to use, and say why.
pub fn advise(args: Advise) -> Result<(), Failure> {
    let source = &args.source;
    match scenario::open(&source.file, &source.overrides, source.profile.as_deref()).map_err(Failure::input)? {
        Opened::Pipeline(scenario) => of_pipeline(&args, &seeded(*scenario, source.seed)?),
        Opened::Network(network) => of_network(&args, *network),
    }
}

fn of_pipeline(args: &Advise, scenario: &Scenario) -> Result<(), Failure> {
    let cancel = ending::end_on_interrupt();
    let page = page_file(args, scenario.capture_file().as_deref())?;
    tell_about(scenario);
    let bar = progress::packets(scenario.expected_packets() * advise::most_runs() as f64);
    let settings = Settings {
        threads: threads(args.source.threads),
        cancel,
        progress: &|packets| bar.set_position(packets),
        packet_log: 0,
    };
    let advice = advise::advise(scenario, &args.today, &args.goals(), &settings);
    bar.finish_and_clear();
    let advice = advice.map_err(failure)?;
    let page = page.map(|page| page.write(&html(&advice, scenario)?)).transpose()?;
    tell(args, &advice, |width| advise::text(&advice, width), page)
}

fn of_network(args: &Advise, mut scenario: NetworkScenario) -> Result<(), Failure> {
    if !args.goals().is_empty() {
        let message = "--target and --protect are for pipelines ([[resource]]): this is a network ([[hop]])";
        return Err(Failure::Input(message.into()));
    }
    if let Some(seed) = args.source.seed {
        scenario = scenario.with_seed(seed);
    }
    let cancel = ending::end_on_interrupt();
    let page = page_file(args, None)?;
    let bar = progress::spinner();
    let settings = networks::Settings {
        threads: threads(args.source.threads),
        cancel,
        progress: &|packets| bar.set_position(packets),
    };
    let advice = network::advise(&scenario, &args.today, &settings);
    bar.finish_and_clear();
    let advice = advice.map_err(failure)?;
    let page = page.map(|page| page.write(&network_html(&advice, &scenario)?)).transpose()?;
    tell(args, &advice, |width| network::text(&advice, width), page)
}

fn failure(error: AdviseError) -> Failure {
    match error {
        AdviseError::Input(error) => Failure::input(error),
        AdviseError::Run(error) => error.into(),
    }
}

fn page_file<'a>(args: &'a Advise, capture: Option<&Path>) -> Result<Option<PageFile<'a>>, Failure> {
    let inputs: Vec<&Path> = capture.into_iter().chain([Path::new(&args.source.file)]).collect();
    args.page.as_deref().map(|file| PageFile::new(file, &inputs)).transpose()
}

/// Put the page in its place, and print the advice.
fn tell(
    args: &Advise,
    advice: &impl Serialize,
    text: impl Fn(u16) -> String,
    page: Option<Written<'_>>,
) -> Result<(), Failure> {
    let placed = ending::uninterrupted(|| page.map(Written::place).transpose())?;
    match args.json {
        true => terminal::print(&serde_json::to_string_pretty(advice).map_err(Failure::run)?)?,
        false => terminal::print(&text(terminal::width()))?,
    }
    if let Some(page) = placed {
        terminal::say(&format!("wrote {page}"));
    }
    Ok(())
}

/// The advice as a page.
fn html(advice: &Advice, scenario: &Scenario) -> Result<String, Failure> {
    let of_groups = advice.points.first().map_or(&[][..], |tried| &tried.point.groups);
    let tables =
        tables(&advice.caption(), &advice.scheduler, [advise::grid(advice), advise::groups(advice, usize::MAX)]);
    let own = advise::columns(advice);
    let meanings: Vec<(&str, &str)> = own.iter().map(|(word, meaning)| (*word, &**meaning)).chain(COLUMNS).collect();
    let source = if scenario.profile.is_some() { "Capture" } else { "Scenario" };
    let input: Vec<String> = std::iter::once(advice.input.clone()).chain(about(scenario)).collect();
    let page = Page {
        title: format!("Which scheduler? {}", called(scenario.title(), &scenario.name)),
        sentences: advise::answer(advice),
        lines: Some(Lines { heading: advice.for_live_box().into(), text: advice.configuration.clone() }),
        notes: advise::notes(advice),
        names: names(
            advice.points.iter().map(|tried| &*tried.point.scheduler),
            of_groups.iter().map(|group| &*group.group),
        ),
        words: words(&tables, &meanings),
        tables,
        pictures: vec![Picture {
            heading: "What each gives".into(),
            explanation: "Bits delivered per second, use of each resource, and the latency of each group.".into(),
            name: "the picture".into(),
            svg: advise::picture(advice).map_err(Failure::run)?,
        }],
        dark_pictures: DARK,
        ..made(fact(source, &input.join("\n")), advice.runs, scenario.text())
    };
    page.html().map_err(Failure::run)
}

/// The advice for a network as a page.
fn network_html(advice: &NetworkAdvice, scenario: &NetworkScenario) -> Result<String, Failure> {
    let groups = advice.points.first().map_or(&[][..], |point| &point.groups);
    let grids = [network::grid(advice), network::groups(advice, usize::MAX)];
    let tables = tables(&advice.caption(), &advice.scheduler, grids);
    let page = Page {
        title: format!("Which scheduler? {}", called(scenario.title(), &scenario.name)),
        sentences: network::answer(advice),
        lines: Some(Lines { heading: advice.for_live_box().into(), text: advice.configuration.clone() }),
        notes: network::notes(advice),
        names: names(advice.points.iter().map(|point| &*point.scheduler), groups.iter().map(|group| &*group.group)),
        words: words(&tables, &[&network::COLUMNS[..], &COLUMNS].concat()),
        tables,
        ..made(fact("Scenario", &advice.input), advice.runs, scenario.text())
    };
    page.html().map_err(Failure::run)
}

/// All candidates and the groups under them, with a mark at what is advised.
fn tables(caption: &str, advised: &str, [all, groups]: [Grid; 2]) -> Vec<Table> {
    let groups = table("Who gains and who pays", groups, &[Some(Kind::Group), Some(Kind::Scheduler)]);
    let tables = [table(caption, all, &[Some(Kind::Scheduler)]), groups];
    tables.map(|table| Table { marked: Some(advised.into()), ..table }).into()
}

/// A page that says how it was made.
fn made(input: Fact, runs: usize, text: &str) -> Page {
    let made = Made::new(arguments(), text);
    let runs = fact("Runs of each", &runs.to_string());
    Page { made: [input, runs].into_iter().chain(facts(&made)).collect(), version: made.version, ..Page::default() }
}
