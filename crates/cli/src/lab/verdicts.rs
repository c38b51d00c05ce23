//! A step of a lab scenario against theory.

use dovetail_experiment::claim::{self, Check, Claim, Criterion, Verdict};
use dovetail_experiment::recorded::jain;
use dovetail_lab::scenario::{RESOURCES, Scenario, Theory};
use dovetail_sched::catalog::find;
use dovetail_sched::promise::{Alpha, Counted, Fluid};
use dovetail_sched::{Names, Spec};

use super::predict::{Lack, Predicted, Prediction};
use super::report::{GroupSummary, StepReport};
use steered::Steered;

/// How far a measurement may be from what theory says, per cent.
const NEAR: f64 = 5.0;

/// The same of what a single class of TCP connections has, whose windows swing; as for the DRQ paper's Fig. 5.
const OF_A_CLASS: f64 = 10.0;

/// A mean whose 95 % interval is wider than this part of it on either side tells nothing of what is asked for.
const UNKNOWN: f64 = OF_A_CLASS / 100.0;

/// Standard deviations that a run may be off the mean of eight, whose deviation it is: 2 of 100 are further (Student's
/// t with 7 degrees of freedom).
const DEVIATIONS: f64 = 3.0;

/// A group that asks for less than this part of its fair share is of mice.
const MOUSE: f64 = 0.01;

/// Why a simulation has nothing to be held against.
const UNEVEN: &str = "frames of a class took over 5 % more or less of the CPU than between the parts of the step: this \
    machine's speed changes";

/// The same where frames of unknown cost were there.
const UNKNOWN_COST: &str = "the box processed no frame of a class while it was measured what frames cost, and a \
    simulation without that class would be one of something else: a longer step tells more";

/// Why it is not known what a frame of a class took in a step.
const IDLE: &str = "the box processed no frame of it in the parts of the step";

/// What the paper calls two orders of magnitude, read as where `dovetail reproduce tradeoff-fig6` simulates it: a
/// factor that rounds to 10^2.
const TWO_ORDERS: f64 = 50.0;

/// What is held against the tradeoff paper's Fig. 6.
const ELEPHANTS_TO_MICE: &str = "mean time in the box, elephants' relative to mice's";

/// What is to be expected of this scheduler.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Expectation {
    theory: Theory,
    /// Whether connections share a queue that marks or drops.
    marks: bool,
}

/// How a step compares.
#[derive(Clone, Default, Debug)]
pub struct Verdicts {
    /// Each comparison.
    pub checks: Vec<Check>,
    /// Why some could not be made.
    pub hindered: Option<&'static str>,
    /// What was not simulated, and why.
    pub remarks: Vec<String>,
}

/// The checks of a step: against theory as far as there is one for its scheduler and traffic, and against a simulation
/// if there was one.
pub fn of_step(id: &str, scenario: &Scenario, report: &StepReport, prediction: Option<&Prediction>) -> Verdicts {
    let mut verdicts = by_theory(id, scenario, report);
    if let Some(Prediction { groups, lacks }) = prediction {
        let mut step = StepChecks::new(id, report, &simulated_shares(groups));
        for &(place, lack) in lacks {
            verdicts.remarks.push(step.without_cost(&report.groups[place].class, lack));
        }
        step.of_simulation(groups);
        verdicts.hindered = verdicts.hindered.or(step.hindered.err());
        verdicts.checks.extend(step.checks);
    }
    verdicts
}

fn by_theory(id: &str, scenario: &Scenario, report: &StepReport) -> Verdicts {
    if let Some(steered) = steered(report) {
        let mut step = StepChecks::new(id, report, &[]);
        step.of_steered(&steered);
        return Verdicts { checks: step.checks, hindered: step.hindered.err(), remarks: Vec::new() };
    }
    let tcp = scenario.groups.iter().filter(|group| !group.tcp.is_empty()).count();
    let kind = match tcp {
        0 => Kind::Udp,
        tcp if tcp == scenario.groups.len() => Kind::Tcp,
        _ => return Verdicts::default(),
    };
    let Some(expectation) = expectation(&report.inside.until().scheduler, kind) else { return Verdicts::default() };
    let demands: Vec<_> = report.groups.iter().map(|group| group.demand).collect();
    // Where nothing came, or no time was charged, theory has nothing to say.
    let Ok(shares) = expectation.theory.shares(&demands) else { return Verdicts::default() };
    let mut step = StepChecks::new(id, report, &shares);
    match kind {
        Kind::Udp => step.of_udp(&shares),
        Kind::Tcp => step.of_tcp(&shares, expectation, scenario.options.ecn),
    }
    Verdicts { checks: step.checks, hindered: step.hindered.err(), remarks: Vec::new() }
}

/// What the alpha of a step adjusts itself for, if it does.
fn steered(report: &StepReport) -> Option<Steered> {
    let until = report.inside.until();
    let names = Names {
        resources: report.inside.resources().map(String::from).collect(),
        classes: until.classes.iter().map(|class| class.class.clone()).collect(),
    };
    Steered::of(&until.scheduler.parse().ok()?, &names)
}

/// Parts of CPU, link and third resource; of a group that was not simulated, none.
fn simulated_shares(groups: &[Option<Predicted>]) -> Vec<[f64; RESOURCES]> {
    groups.iter().map(|predicted| predicted.as_ref().map_or([0.0; RESOURCES], |predicted| predicted.shares)).collect()
}

/// What all groups send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Udp,
    Tcp,
}

fn expectation(scheduler: &str, kind: Kind) -> Option<Expectation> {
    let spec: Spec = scheduler.parse().ok()?;
    let of = |theory, marks| Some(Expectation { theory, marks });
    if kind == Kind::Udp {
        let entry = find(&spec.name)?;
        let alpha = match (entry.promise.fluid, entry.promise.counted) {
            (Some(Fluid::Tradeoff), _) => entry.fact::<Alpha>()?.of(&spec)?,
            // Equal dominant shares.
            (_, Counted::Dominant) => 1.0,
            _ => return None,
        };
        return of(Theory::Tradeoff(alpha), false);
    }
    match spec.name.as_str() {
        "drq" | "drq+drq" => of(Theory::Proportional, true),
        "drr+red" => of(Theory::Proportional, false),
        "red" | "red+red" => of(Theory::EqualRates, true),
        _ => None,
    }
}

/// Checks of a step as they are made.
struct StepChecks<'a> {
    id: &'a str,
    report: &'a StepReport,
    hindered: Result<(), &'static str>,
    checks: Vec<Check>,
}

/// Why what happened in this window cannot be held against what would have if everybody had had a core whenever it was
/// due.
fn hindered(report: &StepReport, shares: &[[f64; RESOURCES]]) -> Result<(), &'static str> {
    if 100.0 * report.inside.lost() > NEAR {
        return Err("the box did not run for more than 5 % of the time: this machine is busy");
    }
    let slow = report.groups.iter().zip(shares).any(|(group, share)| {
        let (dominant, least) = (group.dominant(), f64::from(group.demand.flows));
        let time = group.demand.times[dominant];
        let due = if time > 0.0 { share[dominant] / time * report.measured_s } else { 0.0 };
        let sent = group.demand.rate.map(|rate| rate * report.measured_s - group.missed as f64);
        sent.is_some_and(|sent| sent + least < due)
    });
    match slow {
        true => Err("the generator was too slow to send what a class is to get: this machine is busy"),
        false => Ok(()),
    }
}

/// A quantity's value by theory, and what was found.
struct Value<'a> {
    quantity: String,
    unit: &'a str,
    theory: Option<f64>,
    criterion: Criterion,
    why: &'a str,
}

impl<'a> StepChecks<'a> {
    fn new(id: &'a str, report: &'a StepReport, shares: &[[f64; RESOURCES]]) -> Self {
        Self { id, report, hindered: hindered(report, shares), checks: Vec::new() }
    }

    fn hold(&mut self, value: Value, found: Result<(f64, &str), &str>) -> Option<Verdict> {
        let claim = Claim {
            id: self.id.to_string(),
            figure: self.report.step.clone(),
            quantity: value.quantity,
            unit: value.unit.to_string(),
            paper: value.theory,
            criterion: Some(value.criterion),
            kind: claim::Kind::Claim,
            why: value.why.to_string(),
        };
        let check = claim.against(found);
        let verdict = check.verdict;
        self.checks.push(check);
        verdict
    }

    fn of_udp(&mut self, shares: &[[f64; RESOURCES]]) {
        self.utilisation("", shares, "the fluid schedule of the same flows, within 5 %");
        for (group, &share) in self.report.groups.iter().zip(shares) {
            let dominant = group.dominant();
            let frames = share[dominant] / group.demand.times[dominant];
            self.share_and_goodput(
                "",
                group,
                (share[dominant], frames),
                "the fluid schedule of the same flows, within 5 %, or two packets of each flow",
            );
        }
        self.mice();
    }

    /// Nobody knows what a frame of this class costs. Says so.
    fn without_cost(&mut self, class: &str, lack: Lack) -> String {
        let value = Value {
            quantity: format!("simulated: {class}: CPU time of a frame"),
            unit: "us",
            theory: None,
            criterion: Criterion::WithinPercent(NEAR),
            why: "the mean between the parts of the step, within 5 %",
        };
        self.hold(value, Err(lack.why()));
        if lack == Lack::Unprocessed {
            self.hindered = self.hindered.and(Err(UNKNOWN_COST));
        }
        format!("{class} is not simulated: {}.", lack.why())
    }

    /// Against what was simulated, if anything was.
    fn of_simulation(&mut self, predicted: &[Option<Predicted>]) {
        if predicted.iter().all(Option::is_none) {
            return;
        }
        self.simulated_costs(predicted);
        let why = "the simulation of the same flows and box, within 5 %";
        self.utilisation("simulated: ", &simulated_shares(predicted), why);
        for (group, predicted) in simulated(self.report, predicted) {
            let dominant = predicted.shares.into_iter().fold(0.0, f64::max);
            self.share_and_goodput("simulated: ", group, (dominant, predicted.frames), why);
        }
        self.simulated_mice(predicted);
    }

    /// A simulation foretells what happens if frames cost what they are said to.
    fn simulated_costs(&mut self, predicted: &[Option<Predicted>]) {
        let mut steady = true;
        for (group, predicted) in simulated(self.report, predicted) {
            let Some(expected) = predicted.measured else { continue };
            let each = group.demand.times[0];
            let found = if each > 0.0 { Ok((1e6 * each, "by the box's account")) } else { Err(IDLE) };
            let value = Value {
                quantity: format!("simulated: {}: CPU time of a frame", group.class),
                unit: "us",
                theory: Some(1e6 * expected),
                criterion: Criterion::WithinPercent(NEAR),
                why: "the mean between the parts of the step, within 5 %",
            };
            steady &= self.hold(value, self.hindered.and(found)) != Some(Verdict::Differs);
        }
        if !steady {
            self.hindered = self.hindered.and(Err(UNEVEN));
        }
    }

    fn utilisation(&mut self, prefix: &str, shares: &[[f64; RESOURCES]], why: &str) {
        let used = self.report.inside.total().shares;
        for (r, name) in self.report.inside.resources().enumerate() {
            let theory = 100.0 * shares.iter().map(|share| share[r]).sum::<f64>();
            let quantity = format!("{prefix}{} utilisation", if name == "cpu" { "CPU" } else { name });
            let value =
                Value { quantity, unit: "%", theory: Some(theory), criterion: Criterion::WithinPercent(NEAR), why };
            self.hold(value, self.hindered.map(|()| (100.0 * used[r], "")));
        }
    }

    /// A packet of each flow more or less at either end of what is measured says nothing. The ends of several pieces
    /// are off independently of one another, so that their sum grows as the root of their number.
    fn share_and_goodput(&mut self, prefix: &str, group: &GroupSummary, (dominant, frames): (f64, f64), why: &str) {
        let demand = &group.demand;
        let pieces = self.report.inside.pieces() as f64;
        let least = 2.0 * pieces.sqrt() * f64::from(demand.flows) / self.report.measured_s;
        let within = |value: f64, packet: f64| Criterion::Within((value * NEAR / 100.0).max(least * packet));
        let share = 100.0 * dominant;
        let value = Value {
            quantity: format!("{prefix}{}: dominant share", group.class),
            unit: "%",
            theory: Some(share),
            criterion: within(share, if frames > 0.0 { 100.0 * dominant / frames } else { 0.0 }),
            why,
        };
        self.hold(value, self.hindered.map(|()| (100.0 * group.dominant_share, "by the box's account")));
        let goodput = frames * group.counted / 1e6;
        let value = Value {
            quantity: format!("{prefix}{}: goodput", group.class),
            unit: "Mbit/s",
            theory: Some(goodput),
            criterion: within(goodput, group.counted / 1e6),
            why,
        };
        self.hold(value, self.hindered.map(|()| (group.goodput() / 1e6, "as it came to the server")));
    }

    /// The groups of flows that ask for more than they get, and of those that ask for next to nothing beside them.
    fn elephants_and_mice(&self) -> Option<[Vec<usize>; 2]> {
        let groups = &self.report.groups;
        let asks = |group: &GroupSummary| group.demand.rate.unwrap_or(0.0) * group.demand.dominant_time();
        // All flows have the fair share of the one that asks for most.
        let greedy = |group: &GroupSummary| asks(group) > group.fair_share * 1.001;
        let per_flow = |group: &GroupSummary| group.fair_share / f64::from(group.demand.flows);
        let fair = groups.iter().filter(|group| greedy(group)).map(per_flow).fold(f64::INFINITY, f64::min);
        // Of a group of which nothing came it is not known what it asks for.
        let mouse =
            |group: &GroupSummary| asks(group) > 0.0 && asks(group) / f64::from(group.demand.flows) < MOUSE * fair;
        let places = |is: &dyn Fn(&GroupSummary) -> bool| (0..groups.len()).filter(|&k| is(&groups[k])).collect();
        let kinds: [Vec<usize>; 2] = [places(&greedy), places(&mouse)];
        kinds.iter().all(|kind| !kind.is_empty()).then_some(kinds)
    }

    fn mice(&mut self) {
        let Some((ratio, note)) = self.elephants_to_mice(|k| self.report.groups[k].box_latency_mean_s) else { return };
        let value = Value {
            quantity: ELEPHANTS_TO_MICE.into(),
            unit: "",
            theory: None,
            criterion: Criterion::AtLeast(TWO_ORDERS),
            why: "\"two orders of magnitude lower latency than the elephant flows\" (tradeoff paper, section 6.1.2), a \
                factor that rounds to 10^2 (10^1.5 to 10^2.5): at least 50; the paper draws the rest (Fig. 6)",
        };
        self.hold(value, self.hindered.map(|()| (ratio, note.as_str())));
    }

    /// Means over the groups' means, and what they are; `None` also if no frame of a kind has left.
    fn elephants_to_mice(&self, latency: impl Fn(usize) -> Option<f64>) -> Option<(f64, String)> {
        let [elephants, mice] = self.elephants_and_mice()?.map(|kind| mean(kind.into_iter().filter_map(&latency)));
        let (elephants, mice) = (elephants?, mice?);
        Some((elephants / mice, format!("{:.1} ms and {:.0} us", 1e3 * elephants, 1e6 * mice)))
    }

    /// Mice are few, and how long they wait differs from run to run, measured and simulated alike.
    fn simulated_mice(&mut self, predicted: &[Option<Predicted>]) {
        let runs = predicted.iter().flatten().map(|predicted| predicted.latencies.len()).min().unwrap_or(0);
        let latency = |k: usize, run: usize| predicted[k].as_ref()?.latencies[run];
        let ratios =
            (0..runs).map(|run| Some(self.elephants_to_mice(|k| latency(k, run))?.0)).collect::<Option<Vec<_>>>();
        let Some((theory, deviation)) = ratios.and_then(|ratios| mean_and_deviation(&ratios)) else { return };
        let all = |k: usize| mean((0..runs).filter_map(|run| latency(k, run)));
        let Some((_, simulated)) = self.elephants_to_mice(all) else { return };
        let Some((ratio, note)) = self.elephants_to_mice(|k| self.report.groups[k].box_latency_mean_s) else { return };
        // The mean of these runs is off as well.
        let off = DEVIATIONS * deviation * (1.0 + 1.0 / runs as f64).sqrt();
        let value = Value {
            quantity: format!("simulated: {ELEPHANTS_TO_MICE}"),
            unit: "",
            theory: Some(theory),
            criterion: Criterion::Within(theory * NEAR / 100.0 + off),
            why: "simulations of the same flows and box, within 5 % and three standard deviations of a run",
        };
        let note = format!("{note}, simulated {simulated}");
        self.hold(value, self.hindered.map(|()| (ratio, note.as_str())));
    }

    fn of_tcp(&mut self, shares: &[[f64; RESOURCES]], expectation: Expectation, ecn: bool) {
        self.utilisation("", shares, "full where theory has it full, within 5 %");
        let why = match expectation.theory {
            Theory::EqualRates => {
                "the same rate for all (DRQ paper, section II.B and Fig. 5a), within 10 % as Fig. 5 and"
            }
            _ => "the proportionally fair rates (DRQ paper, equation 6 and Fig. 5), within 10 % as there and",
        };
        for (group, expected) in self.report.groups.iter().zip(shares) {
            let flows = f64::from(group.demand.flows);
            let theory = expected[1] / group.demand.times[1] * group.counted / 1e6 / flows;
            let found = group.goodput() / 1e6 / flows;
            let value = Value {
                quantity: format!("{}: goodput of a connection", group.class),
                unit: "Mbit/s",
                theory: Some(theory),
                criterion: Criterion::Within(theory * OF_A_CLASS / 100.0 + found * group.ci95),
                why: &format!(
                    "{why} the 95 % interval of this mean, {:.1} % by tenths of the time",
                    100.0 * group.ci95
                ),
            };
            let known = match group.ci95 <= UNKNOWN {
                true => Ok((found, "data as it came to the server")),
                false => Err(
                    "the tenths of the time differ so much that the mean is not known within 10 %: a longer step tells \
                     more",
                ),
            };
            self.hold(value, self.hindered.and(known));
        }
        let cpu = |share: &[f64; RESOURCES]| share[0];
        let value = Value {
            quantity: "Jain index of the classes' CPU shares".into(),
            unit: "",
            theory: Some(jain(&shares.iter().map(cpu).collect::<Vec<f64>>())),
            criterion: Criterion::WithinPercent(NEAR),
            why: "that of the same rates: equal shares have 1",
        };
        let found = jain(&self.report.groups.iter().map(|group| group.shares()[0]).collect::<Vec<f64>>());
        self.hold(value, Ok((found, "")));
        self.congestion(expectation.marks, ecn);
    }

    /// What the kernels at both ends say of marks and losses.
    fn congestion(&mut self, marks: bool, ecn: bool) {
        let groups = &self.report.groups;
        let connections: u32 = groups.iter().map(|group| group.demand.flows).sum();
        let with_ecn: usize = groups.iter().map(|group| group.ecn).sum();
        let value = Value {
            quantity: "connections with ECN".into(),
            unit: "",
            theory: Some(if ecn { f64::from(connections) } else { 0.0 }),
            criterion: Criterion::Within(0.0),
            why: "by TCP_INFO of the client's kernel",
        };
        self.hold(value, Ok((with_ecn as f64, "")));
        let came = self.report.marked.unwrap_or(0) as f64;
        let set = self.report.inside.total().marked as f64;
        let value = Value {
            quantity: "marked packets that came".into(),
            unit: "",
            theory: Some(set),
            criterion: Criterion::WithinPercent(NEAR),
            why: "IpExtInCEPkts of the server's kernel, against the frames that the box says it marked; both are read \
                some milliseconds apart",
        };
        self.hold(value, Ok((came, "")));
        let sent_again: u64 = groups.iter().map(|group| group.retransmitted).sum();
        let (quantity, found, why) = match (ecn, marks) {
            (true, true) => ("marked packets", came, "with ECN, congestion is told by marks"),
            // A queue of its own keeps all of a connection's window.
            (_, false) => return,
            (false, true) => ("segments sent again", sent_again as f64, "without ECN, congestion is told by drops"),
        };
        let quantity = format!("{quantity}, any at all");
        let value = Value { quantity, unit: "", theory: None, criterion: Criterion::AtLeast(1.0), why };
        self.hold(value, Ok((found, "")));
    }
}

/// Groups that were.
fn simulated<'a>(
    report: &'a StepReport,
    predicted: &'a [Option<Predicted>],
) -> impl Iterator<Item = (&'a GroupSummary, &'a Predicted)> {
    report.groups.iter().zip(predicted).filter_map(|(group, predicted)| Some((group, predicted.as_ref()?)))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// `None` of fewer than two.
fn mean_and_deviation(values: &[f64]) -> Option<(f64, f64)> {
    let mean = mean(values.iter().copied()).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, (squares / (values.len() - 1) as f64).sqrt()))
}

mod steered;
#[cfg(test)]
mod tests;
