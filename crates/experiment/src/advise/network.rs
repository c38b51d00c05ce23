//! Advice for networks of TCP flows: which queue management in front of CPUs and links.

use dovetail_sched::Spec;
use serde::Serialize;

use super::point::{Chance, relative};
use super::words::{change, instead_of_nothing};
use super::{AdviseError, Otherwise, RUNS, RUNS_OTHERWISE, VARIATIONS, show};
use crate::behind::listed;
use crate::network::{NetworkScenario, NetworkSummary, Scheme, Settings, compare_all};
use crate::scenario::{ScenarioError, Variation};
use crate::statistics::Estimate;
use crate::table::{Cell, Grid, percent, rate, wrapped};

/// Version of the document.
pub const SCHEMA: u32 = 3;
/// What is tried, the cheapest to run first: the last has a queue for each flow.
const SCHEMES: [&str; 3] = ["red+red", "drq", "drr+red"];
/// A queue is not changed for less than this part more bits,
const MORE: f64 = 1.02;
/// nor for less than this part more of its fair rate for the group that is worst off.
const FAIRER: f64 = 1.1;
/// A group pays whose throughput falls to less than this part of itself.
const LESS: f64 = 0.95;
/// A CPU or a link is short that is busy for this part of the time.
const FULL: f64 = 0.97;

/// What a scheme made of a network.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NetworkPoint {
    /// The scheme.
    pub scheduler: String,
    /// Data that arrived, all flows together.
    pub throughput_bps: f64,
    /// Busy part of each CPU and link.
    pub utilization: Vec<f64>,
    /// Part of its fair rate that the group of long-lived flows gets that is worst off, on average over the runs;
    /// `None` where there is none.
    pub least_fair: Option<f64>,
    /// The groups, in the order of the input.
    pub groups: Vec<NetworkGroup>,
}

/// What it made of a group of flows.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NetworkGroup {
    /// The group.
    pub group: String,
    /// Of one long-lived flow, or of all short ones together.
    pub throughput_bps: f64,
    /// That, as a part of its proportionally fair rate; of long-lived flows.
    pub of_fair: Option<f64>,
    /// Retransmission timeouts of all its flows.
    pub timeouts: f64,
}

/// The answer.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NetworkAdvice {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The input.
    pub input: String,
    /// The CPUs and links.
    pub hops: Vec<String>,
    /// What is short.
    pub short: String,
    /// What to use.
    pub scheduler: String,
    /// What runs today.
    pub today: String,
    /// What to use, what that gains, and who pays: a sentence or two each.
    pub sentences: [String; 3],
    /// How many bits more the advised one moves than today's, as a part of these.
    pub gain: Estimate,
    /// How often everything was run, with a seed each.
    pub runs: usize,
    /// Every candidate: means over the runs.
    pub points: Vec<NetworkPoint>,
    /// The choice under other circumstances.
    pub otherwise: Vec<Otherwise>,
    /// Lines for the configuration of a live box.
    pub configuration: String,
}

impl NetworkAdvice {
    /// What stands above [`configuration`](Self::configuration).
    pub fn for_live_box(&self) -> &'static str {
        show::for_live_box(true, false)
    }

    /// What the table of [`points`](Self::points) says.
    pub fn caption(&self) -> String {
        show::caption(&self.scheduler, true)
    }
}

impl NetworkPoint {
    fn all(summary: &NetworkSummary) -> Vec<Self> {
        let of = |run: &crate::network::RunSummary| {
            let groups: Vec<NetworkGroup> = (run.groups.iter())
                .map(|group| NetworkGroup {
                    group: group.group.clone(),
                    throughput_bps: group.throughput_bps.mean,
                    of_fair: group.fair_bps.filter(|&fair| fair > 0.0).map(|fair| group.throughput_bps.mean / fair),
                    timeouts: group.timeouts.mean,
                })
                .collect();
            Self {
                scheduler: run.scheduler.clone(),
                throughput_bps: run.throughput_bps.mean,
                utilization: run.hops.0.iter().map(|(_, hop)| hop.utilization.mean).collect(),
                least_fair: groups.iter().filter_map(|group| group.of_fair).min_by(f64::total_cmp),
                groups,
            }
        };
        summary.runs.iter().map(of).collect()
    }
}

/// Runs in all, for a progress bar.
pub fn most_runs() -> usize {
    (1 + SCHEMES.len()) * (RUNS + VARIATIONS.len() * RUNS_OTHERWISE)
}

/// Find out what to use in front of this network's CPUs and links instead of `today`.
///
/// # Errors
/// A scheme is wrong or fits nowhere; a run fails or is cancelled.
pub fn advise(scenario: &NetworkScenario, today: &Spec, settings: &Settings<'_>) -> Result<NetworkAdvice, AdviseError> {
    let schemes = schemes(scenario, today)?;
    let (runs, mean) = all(scenario, Variation::NONE, &schemes, settings, RUNS)?;
    let chosen = decide(&runs);
    let as_good = (chosen + 1..schemes.len()).filter(|&other| chosen > 0 && !shows(&runs, chosen, other)).collect();
    let otherwise = VARIATIONS.map(|(circumstances, variation)| -> Result<_, AdviseError> {
        let (runs, _) = all(scenario, variation, &schemes, settings, RUNS_OTHERWISE)?;
        let chosen = decide(&runs);
        let gain = gain(&runs, chosen);
        Ok(Otherwise { circumstances, scheduler: schemes[chosen].spec.to_string(), gain, why: None, reached: None })
    });
    let mut points = NetworkPoint::all(&mean);
    points.iter_mut().enumerate().for_each(|(index, point)| point.least_fair = least_fair(&runs, index));
    let found =
        Found { hops: scenario.resources.iter().map(|hop| hop.name.clone()).collect(), points, runs, chosen, as_good };
    let scheduler = found.chosen().scheduler.clone();
    Ok(NetworkAdvice {
        schema: SCHEMA,
        input: scenario.name.clone(),
        short: found.short(),
        today: today.to_string(),
        sentences: [found.what(), found.gains(), found.pays()],
        gain: gain(&found.runs, chosen),
        runs: found.runs.len(),
        hops: found.hops,
        points: found.points,
        otherwise: otherwise.into_iter().collect::<Result<_, _>>()?,
        configuration: format!("scheduler = \"{scheduler}\""),
        scheduler,
    })
}

/// Today's, and those of [`SCHEMES`] that fit the network.
fn schemes(scenario: &NetworkScenario, today: &Spec) -> Result<Vec<Scheme>, ScenarioError> {
    let mut schemes = scenario.schemes(std::slice::from_ref(today))?;
    for name in SCHEMES {
        let Ok(spec) = name.parse::<Spec>() else { continue };
        let others: Vec<Spec> = schemes.iter().map(|scheme| scheme.spec.clone()).chain([spec]).collect();
        // One that is there already, or that fits nowhere, is left out.
        schemes = scenario.schemes(&others).unwrap_or(schemes);
    }
    Ok(schemes)
}

/// What each scheme makes of it, seed by seed, and the summary of all seeds.
fn all(
    scenario: &NetworkScenario,
    variation: Variation,
    schemes: &[Scheme],
    settings: &Settings<'_>,
    count: usize,
) -> Result<(Vec<Vec<NetworkPoint>>, NetworkSummary), AdviseError> {
    let varied = scenario.clone().varied(variation).map_err(AdviseError::Input)?;
    let seeds = (varied.seeds().len()).max(count) as u64;
    let one = |number: u64| varied.clone().with_seed(varied.seed().wrapping_add(number)).with_seeds(1);
    let scenarios: Vec<NetworkScenario> = (0..seeds).map(one).collect();
    let inputs: Vec<(&NetworkScenario, &[Scheme])> = scenarios.iter().map(|scenario| (scenario, schemes)).collect();
    let mut results = compare_all(&inputs, settings)?;
    let model = |error: dovetail_model::ModelError| {
        AdviseError::Input(ScenarioError::new(&scenario.name, format!("its fair rates cannot be computed: {error}")))
    };
    let points = (scenarios.iter().zip(&results))
        .map(|(scenario, runs)| Ok(NetworkPoint::all(&NetworkSummary::new(scenario, runs).map_err(model)?)))
        .collect::<Result<Vec<_>, AdviseError>>()?;
    let mut together = results.remove(0);
    for runs in results {
        for (all, more) in together.iter_mut().zip(runs) {
            all.results.extend(more.results);
        }
    }
    let summary = NetworkSummary::new(&varied.with_seeds(seeds as u32), &together).map_err(model)?;
    Ok((points, summary))
}

/// Today's, which is the first, unless every run shows that another one moves [`MORE`] bits, or gives the group that is
/// worst off [`FAIRER`] more of its fair rate. Else the first of the others that is as good as the fairest: unless
/// every run shows that it is not.
fn decide(runs: &[Vec<NetworkPoint>]) -> usize {
    let count = runs.first().map_or(0, Vec::len);
    if !(1..count).any(|other| shows(runs, other, 0)) {
        return 0;
    }
    let fair = |index: usize| least_fair(runs, index).unwrap_or(0.0);
    let Some(fairest) = (1..count).max_by(|&a, &b| fair(a).total_cmp(&fair(b))) else { return 0 };
    (1..count).find(|&index| !shows(runs, fairest, index)).unwrap_or(fairest)
}

/// Whether every run shows that the one moves [`MORE`] bits than the other, or is [`FAIRER`].
fn shows(runs: &[Vec<NetworkPoint>], a: usize, b: usize) -> bool {
    // Nothing is not more than nothing.
    let exceeds = |a: f64, b: f64, factor: f64| a > b && a >= factor * b;
    let more = |run: &Vec<NetworkPoint>| exceeds(run[a].throughput_bps, run[b].throughput_bps, MORE);
    let fair = |run: &Vec<NetworkPoint>| run[a].least_fair.zip(run[b].least_fair);
    let fairer = |run: &Vec<NetworkPoint>| fair(run).is_some_and(|(a, b)| exceeds(a, b, FAIRER));
    runs.iter().all(more) || runs.iter().all(fairer)
}

/// Part of its fair rate that the group gets that is worst off in each run, on average over the runs: the group may be
/// another one in each.
fn least_fair(runs: &[Vec<NetworkPoint>], index: usize) -> Option<f64> {
    let parts: Option<Vec<f64>> = runs.iter().map(|run| run[index].least_fair).collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| parts.iter().sum::<f64>() / parts.len() as f64)
}

/// How many bits more a scheme moves than today's; infinite if that moves nothing in some run.
fn gain(runs: &[Vec<NetworkPoint>], chosen: usize) -> Estimate {
    let change = |run: &Vec<NetworkPoint>| relative(run[chosen].throughput_bps, run[0].throughput_bps);
    let changes: Vec<f64> = runs.iter().map(change).collect();
    Chance::Seeds.estimate(&changes)
}

struct Found {
    hops: Vec<String>,
    points: Vec<NetworkPoint>,
    runs: Vec<Vec<NetworkPoint>>,
    chosen: usize,
    /// What comes after it in the order of costs, and is not shown to be worse.
    as_good: Vec<usize>,
}

impl Found {
    fn chosen(&self) -> &NetworkPoint {
        &self.points[self.chosen]
    }

    fn today(&self) -> &NetworkPoint {
        &self.points[0]
    }

    fn short(&self) -> String {
        let today = self.today();
        let busy = || self.hops.iter().zip(&today.utilization);
        let full: Vec<String> = busy().filter(|(_, part)| **part >= FULL).map(|(name, _)| name.clone()).collect();
        let told: Vec<String> = busy().map(|(name, &part)| format!("{name} is busy {}", percent(part))).collect();
        let short = match full.len() {
            0 => "nothing is short".into(),
            count => format!("{} {} short", listed(&full, "and"), if count == 1 { "is" } else { "are" }),
        };
        format!("As it is, {short}: under {} {} of the time.", today.scheduler, listed(&told, "and"))
    }

    fn what(&self) -> String {
        let chosen = self.chosen();
        if self.chosen == 0 {
            let more = percent(MORE - 1.0);
            let fairer = percent(FAIRER - 1.0);
            return format!(
                "Keep {}: no other moves {more} more bits, or gives the worst-off group {fairer} more, in every run.",
                chosen.scheduler
            );
        }
        let told = chosen.least_fair.zip(self.today().least_fair);
        let use_it = told.map_or(format!("Use {}.", chosen.scheduler), |(now, before)| {
            format!(
                "Use {}: the worst-off group of a run, which is not always the same, gets {} of its fair rate on \
                 average, and {} under {}.",
                chosen.scheduler,
                percent(now),
                percent(before),
                self.today().scheduler
            )
        });
        let as_good = self.as_good.iter().map(|&index| self.points[index].scheduler.clone()).collect::<Vec<_>>();
        match as_good.is_empty() {
            true => use_it,
            false => format!("{use_it} {} may do as well, but costs more per packet.", listed(&as_good, "and")),
        }
    }

    fn gains(&self) -> String {
        let (today, chosen) = (self.today(), self.chosen());
        if self.chosen == 0 {
            let others = (1..self.points.len()).map(|index| (index, gain(&self.runs, index)));
            // Of what moves anything where today's moves nothing, what moves most.
            let bits = |index: usize| self.points[index].throughput_bps;
            let best =
                others.max_by(|&(i, a), &(j, b)| a.mean.total_cmp(&b.mean).then_with(|| bits(i).total_cmp(&bits(j))));
            return best.filter(|(_, gain)| gain.mean >= 1e-3).map_or(
                format!("Nothing else moves {} more bits.", percent(1e-3)),
                |(index, gain)| {
                    let [most, than] = [index, 0].map(|index| &self.points[index].scheduler);
                    match gain.mean.is_infinite() {
                        true => format!("What moves most, {most}, moves {}.", instead_of_nothing(than)),
                        false => format!("What moves most, {most}, moves {} more bits than {than}.", change(gain)),
                    }
                },
            );
        }
        let gain = gain(&self.runs, self.chosen);
        let scheduler = &today.scheduler;
        let moved = match gain.mean {
            less if less <= -1e-3 => format!("{} fewer bits", change(Estimate { mean: -less, ..gain })),
            same if same < 1e-3 => "as many bits".into(),
            _ => format!("{} more bits", change(gain)),
        };
        let moved = match gain.mean.is_infinite() {
            true => format!("All flows together move {}", instead_of_nothing(scheduler)),
            false => format!(
                "Against {scheduler} all flows together move {moved} per second, on average over the runs' ratios"
            ),
        };
        let used = self.hops.iter().zip(chosen.utilization.iter().zip(&today.utilization));
        let used: Vec<String> = used
            .map(|(name, (&now, &before))| match [now, before].map(percent) {
                [now, before] if now == before => format!("{name} {now} busy as before"),
                [now, before] => format!("{name} {now} busy instead of {before}"),
            })
            .collect();
        format!(
            "{moved} (means: {} instead of {}; {}).",
            rate(chosen.throughput_bps),
            rate(today.throughput_bps),
            used.join("; ")
        )
    }

    fn pays(&self) -> String {
        let falls = |&group: &usize| {
            let of = |run: &[NetworkPoint], index: usize| run[index].groups[group].throughput_bps;
            self.runs.iter().all(|run| of(run, self.chosen) < LESS * of(run, 0))
        };
        let told = |group: usize| {
            let [before, now] = [self.today(), self.chosen()].map(|point| &point.groups[group]);
            let fair = before.of_fair.zip(now.of_fair);
            let fair = fair.map_or(String::new(), |(before, now)| {
                format!(", which is {} instead of {} of its fair rate", percent(now), percent(before))
            });
            format!("{} ({} to {}{fair})", now.group, rate(before.throughput_bps), rate(now.throughput_bps))
        };
        let parts: Vec<String> = (0..self.today().groups.len()).filter(falls).map(told).collect();
        match parts.is_empty() {
            true if self.chosen == 0 => "Nobody pays, since nothing changes.".into(),
            true => format!("Nobody pays in every run, against {}.", self.today().scheduler),
            false => {
                format!(
                    "Who pays in every run, against {}: a flow of {}.",
                    self.today().scheduler,
                    listed(&parts, "and")
                )
            }
        }
    }
}

/// All of it, for a terminal of this width.
pub fn text(advice: &NetworkAdvice, width: u16) -> String {
    let mut text: String = answer(advice).iter().map(|line| wrapped(line, width) + "\n").collect();
    for grid in [show::marked(grid(advice), &advice.scheduler), groups(advice, show::MOST_GROUPS)] {
        text.push_str(&format!("\n{}\n", grid.fitted(width)));
    }
    for note in notes(advice).into_iter().chain(show::meanings(&COLUMNS)) {
        text.push_str(&format!("\n{}", wrapped(&note, width)));
    }
    text.push_str(&format!("\n\n{}\n\n  {}", advice.for_live_box(), advice.configuration));
    text
}

/// The answer in sentences: what is short, what to use, what that gains, who pays, and how it changes under other
/// circumstances.
pub fn answer(advice: &NetworkAdvice) -> Vec<String> {
    let changed = show::changed(&advice.otherwise, (&advice.scheduler, true), &advice.today);
    std::iter::once(&advice.short).chain(&advice.sentences).cloned().chain(changed).collect()
}

/// What is known of chance, and what was tried.
pub fn notes(advice: &NetworkAdvice) -> Vec<String> {
    let chance = format!(
        "Each was run {} times, with different seeds. A change counts only if every run shows it. All numbers are \
         averages over the runs, and ± is the 95 % confidence interval. Fair is the proportionally fair rate for round \
         trips without queues. Who pays: a group with {:.0} % less throughput.",
        advice.runs,
        100.0 * (1.0 - LESS)
    );
    let tried = "red+red: RED in front of CPUs and links. drq: one queue, marked by the use of all of them. drr+red: a \
        queue per flow in front of CPUs, RED in front of links.";
    vec![chance, tried.into()]
}

/// A row per candidate.
pub fn grid(advice: &NetworkAdvice) -> Grid {
    let mut header = vec!["scheduler".to_string(), "throughput".into()];
    header.extend(advice.hops.iter().map(|name| format!("{name} used")));
    header.extend(["worst off".to_string(), "timeouts".into()]);
    let rows = advice.points.iter().map(|point| {
        let mut row = vec![Cell::text(&point.scheduler), Cell::number(point.throughput_bps, rate)];
        row.extend(point.utilization.iter().map(|&part| Cell::number(part, percent)));
        row.push(Cell::number(point.least_fair, percent));
        row.push(Cell::number(point.groups.iter().map(|group| group.timeouts).sum::<f64>(), |sum| format!("{sum:.1}")));
        row
    });
    Grid { header, texts: 1, rows: rows.collect(), optional: vec!["timeouts"] }
}

/// What the columns mean that tables of runs do not have.
pub const COLUMNS: [(&str, &str); 5] = [
    ("worst off", "part of its fair rate that the worst-off group of a run gets, on average over the runs"),
    ("of fair", "throughput as a part of the proportionally fair rate"),
    ("throughput", "data that arrived, of all flows"),
    ("per flow", "data that arrived, of one long-lived flow, or of all short flows of a group"),
    ("timeouts", "retransmission timeouts"),
];

/// A row per group and candidate, of at most so many groups.
pub fn groups(advice: &NetworkAdvice, most: usize) -> Grid {
    let header = ["group", "scheduler", "per flow", "of fair", "timeouts"].map(String::from);
    let mut rows = Vec::new();
    let groups = advice.points.first().map_or(&[][..], |point| &point.groups);
    for (index, group) in groups.iter().enumerate().take(most) {
        for (k, point) in advice.points.iter().enumerate() {
            let values = &point.groups[index];
            rows.push(vec![
                Cell::text(if k == 0 { &*group.group } else { "" }),
                Cell::text(&point.scheduler),
                Cell::number(values.throughput_bps, rate),
                Cell::number(values.of_fair, percent),
                Cell::number(values.timeouts, |count| format!("{count:.1}")),
            ]);
        }
    }
    Grid { header: header.into(), texts: 2, rows, optional: vec!["timeouts"] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Throughputs and least parts of fair rates of today's, red+red, drq and drr+red.
    fn run(throughputs: [f64; 4], fair: [f64; 4]) -> Vec<NetworkPoint> {
        let point = |(throughput_bps, part): (f64, f64)| NetworkPoint {
            scheduler: String::new(),
            throughput_bps,
            utilization: Vec::new(),
            least_fair: Some(part),
            groups: Vec::new(),
        };
        throughputs.into_iter().zip(fair).map(point).collect()
    }

    #[test]
    fn the_cheapest_that_is_as_good_as_the_fairest_is_used() {
        let clear = run([50.0, 55.0, 90.0, 90.0], [0.2, 0.3, 0.92, 0.95]);
        assert_eq!(decide(std::slice::from_ref(&clear)), 2);
        // That drr+red is fairer by a tenth counts only if every run shows it.
        let other = run([50.0, 55.0, 90.0, 90.0], [0.2, 0.3, 0.8, 0.95]);
        assert_eq!(decide(std::slice::from_ref(&other)), 3);
        assert_eq!(decide(&[clear, other]), 2);
    }

    #[test]
    fn nothing_is_not_more_than_nothing() {
        let nothing = run([0.0; 4], [0.0; 4]);
        assert_eq!(decide(std::slice::from_ref(&nothing)), 0);
        let something = run([0.0, 0.0, 0.0, 4.0], [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(decide(std::slice::from_ref(&something)), 3);
        assert_eq!(decide(&[something, nothing]), 0);
    }

    #[test]
    fn today_stays_unless_every_run_shows_better() {
        let same = run([50.0; 4], [0.9, 0.9, 0.95, 0.95]);
        let better = run([50.0, 50.0, 60.0, 60.0], [0.9, 0.9, 0.95, 0.95]);
        assert_eq!(decide(std::slice::from_ref(&same)), 0);
        assert_eq!(decide(&[same, better.clone()]), 0);
        // red+red moves 2 % less than the fairest.
        assert_eq!(decide(&[better]), 2);
    }
}
