//! `dovetail advise`.

use std::path::Path;

use dovetail_experiment::advise::{
    Advice, AdviseError, advise as find, certainty, grid, most_runs, otherwise, picture, text,
};
use dovetail_experiment::compare::Settings;
use dovetail_experiment::results::Made;
use dovetail_experiment::scenario::Scenario;
use dovetail_experiment::table::COLUMNS;
use dovetail_figure::DARK;
use dovetail_page::{Kind, Page, Picture};

use super::page::{PageFile, Written, arguments, made as facts, names, table, text as fact, words};
use super::run::{open_source, tell_about, threads};
use super::{ending, progress};
use crate::args::Advise;
use crate::failure::Failure;
use crate::terminal;

/// Find out which scheduler to use, and say why.
pub fn advise(args: Advise) -> Result<(), Failure> {
    let cancel = ending::end_on_interrupt();
    let scenario = open_source(&args.source)?;
    let capture = scenario.capture_file();
    let inputs: Vec<&Path> = capture.as_deref().into_iter().chain([Path::new(&args.source.file)]).collect();
    let page = args.page.as_deref().map(|file| PageFile::new(file, &inputs)).transpose()?;
    tell_about(&scenario);
    let bar = progress::packets(scenario.expected_packets() * most_runs() as f64);
    let settings = Settings {
        threads: threads(args.source.threads),
        cancel,
        progress: &|packets| bar.set_position(packets),
        packet_log: 0,
    };
    let advice = find(&scenario, &args.today, &args.goals(), &settings);
    bar.finish_and_clear();
    let advice = advice.map_err(|error| match error {
        AdviseError::Input(error) => Failure::input(error),
        AdviseError::Run(error) => error.into(),
    })?;
    let page = page.map(|page| page.write(&html(&advice, &scenario)?)).transpose()?;
    let placed = ending::uninterrupted(|| page.map(Written::place).transpose())?;
    match args.json {
        true => terminal::print(&serde_json::to_string_pretty(&advice).map_err(Failure::run)?)?,
        false => terminal::print(&text(&advice, terminal::width()))?,
    }
    if let Some(page) = placed {
        terminal::say(&format!("wrote {page}"));
    }
    Ok(())
}

/// The advice as a page.
fn html(advice: &Advice, scenario: &Scenario) -> Result<String, Failure> {
    let made = Made::new(arguments(), scenario.text());
    let seeds: Vec<String> = advice.seeds.iter().map(ToString::to_string).collect();
    let groups = advice.points.first().map_or(&[][..], |point| &point.groups);
    let mut notes = otherwise(advice);
    notes.extend([certainty(advice), format!("For a live box: {}", advice.configuration)]);
    let tables = vec![table(
        &format!("All that was tried; the advice is {}", advice.scheduler),
        grid(advice),
        &[Some(Kind::Scheduler)],
    )];
    let page = Page {
        title: format!("Which scheduler? {}", scenario.title()),
        sentences: advice.sentences.to_vec(),
        notes,
        names: names(advice.points.iter().map(|point| &*point.scheduler), groups.iter().map(|group| &*group.group)),
        words: words(&tables, &COLUMNS),
        tables,
        pictures: vec![Picture {
            heading: "What each gives".into(),
            explanation: "Bits delivered per second, use of each resource, and the latency of each group.".into(),
            name: "the picture".into(),
            svg: picture(advice).map_err(Failure::run)?,
        }],
        dark_pictures: DARK,
        made: [fact("Scenario", &advice.input), fact("Seeds", &seeds.join(", "))]
            .into_iter()
            .chain(facts(&made))
            .collect(),
        version: made.version,
    };
    page.html().map_err(Failure::run)
}
