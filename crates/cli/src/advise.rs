//! `dovetail advise`.

use dovetail_experiment::advise::{AdviseError, advise as find, most_runs, text};
use dovetail_experiment::compare::Settings;

use crate::args::Advise;
use crate::failure::Failure;
use crate::run::{failure, open_source, tell_about, threads};
use crate::terminal;

/// Find out which scheduler to use, and say why.
pub fn advise(args: Advise) -> Result<(), Failure> {
    let cancel = terminal::end_on_interrupt();
    let scenario = open_source(&args.source)?;
    tell_about(&scenario);
    let bar = terminal::progress(scenario.expected_packets() * most_runs() as f64);
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
        AdviseError::Run(error) => failure(error),
    })?;
    match args.json {
        true => terminal::print(&serde_json::to_string_pretty(&advice).map_err(Failure::run)?),
        false => terminal::print(&text(&advice, terminal::width())),
    }
}
