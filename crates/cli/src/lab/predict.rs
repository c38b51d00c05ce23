//! What the simulator makes of a step of a lab scenario: the same flows, the same box, and what its classes cost on
//! this machine.

use std::path::PathBuf;

use dovetail_config::InputError;
use dovetail_dataplane::core::{Charge, Setup};
use dovetail_experiment::compare::{Settings, compare};
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::scenario::Scenario as Simulation;
use dovetail_lab::scenario::{Group, RESOURCES, Scenario, Step};
use dovetail_sched::cost::Linear;
use dovetail_units::Duration;

use toml::{Table, Value};

use super::inside::Source;
use crate::failure::Failure;
use crate::terminal;

/// How often a step is simulated, with other random numbers each time.
const RUNS: u64 = 8;

/// What a group has averaged over all simulations.
#[derive(Clone, PartialEq, Debug)]
pub struct Predicted {
    /// Parts of CPU, link and third resource.
    pub shares: [f64; RESOURCES],
    /// Frames per second that leave.
    pub frames: f64,
    /// Seconds from arrival to the end on the link, the mean over the frames that leave, of each simulation; `None` if
    /// none does.
    pub latencies: Vec<Option<f64>>,
    /// For how many seconds a frame was simulated to occupy the CPU, where that was measured.
    pub measured: Option<f64>,
}

/// What a simulation foretells.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Of each group; `None` of one that was not simulated.
    pub groups: Vec<Option<Predicted>>,
    /// Places of groups of which it is not known what their frames cost, and why.
    pub lacks: Vec<(usize, Lack)>,
}

/// For how long a frame of a group occupies the CPU, or why that is not known.
pub type Cost = Result<Linear, Lack>;

/// Why it is not known what a group's frames cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lack {
    /// There were none. What becomes of the other groups does not depend on them.
    Unsent,
    /// The box processed none of those that there were.
    Unprocessed,
}

impl Lack {
    /// For messages.
    pub fn why(self) -> &'static str {
        match self {
            Self::Unsent => "no frame of it was sent",
            Self::Unprocessed => "the box processed no frame of it while what frames cost was measured",
        }
    }
}

/// The scenario of a step, for `dovetail run`, but for what must be measured.
pub struct Draft<'a> {
    scenario: &'a Scenario,
    step: &'a Step,
    file: Table,
    /// Of each group.
    flows: Vec<Value>,
    /// What the configuration says that frames of each group cost.
    costs: Vec<Option<Linear>>,
    /// The third resource's name, and for how long frames of each group occupy it.
    third: Option<(String, Vec<Linear>)>,
}

impl<'a> Draft<'a> {
    /// Of a step.
    ///
    /// # Errors
    /// It has TCP flows or a link without a rate.
    pub fn new(scenario: &'a Scenario, source: &Source, step: &'a Step) -> Result<Self, Failure> {
        let wrong = |message: &str| Failure::input(InputError::new(&source.name, message));
        if scenario.groups.iter().any(|group| !group.tcp.is_empty()) {
            return Err(wrong("only UDP flows can be predicted: how fast TCP sends is found out by sending"));
        }
        let table = source.table(&step.set)?;
        let at = |path: &[&str]| {
            let (last, folders) = path.split_last()?;
            let folder = folders.iter().try_fold(&table, |table, key| table.get(*key)?.as_table())?;
            folder.get(*last)?.as_str()
        };
        let Some(rate) = at(&["link", "rate"]) else {
            return Err(wrong("without a rate of the link nothing can be predicted: link.rate"));
        };
        let mut link = Table::from_iter([("name", "link"), ("rate", rate)].map(entry));
        link.extend([entry(("buffer", at(&["link", "buffer"]).unwrap_or("64 packets")))]);
        link.extend(at(&["link", "overflow"]).map(|overflow| entry(("overflow", overflow))));
        let queue = at(&["flows", "queue"]).unwrap_or("200 packets");
        let classes = table.get("class").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let class = |group: &Group| {
            classes
                .iter()
                .filter_map(Value::as_table)
                .find(|class| class.get("name").and_then(Value::as_str) == Some(&group.class))
        };

        let mut file = Table::new();
        file.extend([entry(("title", &format!("{}, {}", scenario.title, step.title)))]);
        file.extend([entry(("until", &(scenario.warm_up + step.time).to_string()))]);
        let schedulers = at(&["scheduler"]).into_iter().map(Value::from).collect();
        file.insert("schedulers".into(), Value::Array(schedulers));
        let mut resources = vec![Table::from_iter([entry(("name", "cpu"))]).into()];
        let third = table.get("resource").and_then(|third| third.as_array()?.first()?.as_table().cloned());
        resources.extend(third.map(|mut third| {
            third.entry("buffer").or_insert("64 packets".into());
            Value::from(third)
        }));
        resources.push(link.into());
        file.insert("resource".into(), Value::Array(resources));
        let all = scenario.groups.iter().map(|group| group.udp.len()).sum();
        let mut before = 0;
        let flows = scenario.groups.iter().map(|group| {
            let place = Place { before, all };
            before += group.udp.len();
            of_flows(group, place, class(group), queue)
        });
        let flows = flows.collect();
        let setup = source.config(&step.set).and_then(|config| config.setup()).map_err(Failure::input)?;
        let (costs, third) = (given(scenario, &setup), third_costs(scenario, &setup));
        Ok(Self { scenario, step, file, flows, costs, third })
    }

    /// Whether the configuration does not say of every class what its frames cost, so that it must be measured.
    pub fn must_measure(&self) -> bool {
        self.costs.iter().any(Option::is_none)
    }

    /// What frames of each group cost: what the configuration says, or what was `measured`.
    pub fn costs(&self, measured: impl Fn(usize) -> Cost) -> Vec<Cost> {
        self.costs.iter().enumerate().map(|(k, given)| given.map_or_else(|| measured(k), Ok)).collect()
    }

    /// The scenario as text, where frames of each group occupy the CPU for so long, without groups of which that is not
    /// known.
    ///
    /// # Errors
    /// What can never be written.
    pub fn text(&self, costs: &[Cost]) -> Result<String, Failure> {
        let mut file = self.file.clone();
        let groups = self.scenario.groups.iter().zip(costs).enumerate();
        let third = |k: usize| self.third.as_ref().map(|(name, costs)| (name.as_str(), costs[k]));
        let classes = groups.filter_map(|(k, (group, cost))| Some(of_class(group, (*cost).ok()?, third(k)))).collect();
        file.insert("class".into(), Value::Array(classes));
        let flows = self.flows.iter().zip(costs).filter(|(_, cost)| cost.is_ok());
        file.insert("flows".into(), Value::Array(flows.map(|(flows, _)| flows.clone()).collect()));
        toml::to_string(&file).map_err(Failure::run)
    }

    /// Simulate it, unless that would be a simulation of something else.
    ///
    /// # Errors
    /// As [`text`](Self::text), and what the simulator says.
    pub fn run(&self, costs: &[Cost]) -> Result<Prediction, Failure> {
        let lack = |(k, cost): (usize, &Cost)| cost.err().map(|lack| (k, lack));
        let lacks: Vec<(usize, Lack)> = costs.iter().enumerate().filter_map(lack).collect();
        let comparable = lacks.iter().all(|(_, lack)| *lack == Lack::Unsent) && lacks.len() < costs.len();
        let groups = if comparable { self.simulate(costs)? } else { vec![None; costs.len()] };
        Ok(Prediction { groups, lacks })
    }

    fn simulate(&self, costs: &[Cost]) -> Result<Vec<Option<Predicted>>, Failure> {
        let text = self.text(costs)?;
        let until = |until: Duration| {
            let until = format!("until={:?}", until.to_string());
            Simulation::parse("prediction", &text, &[until], PathBuf::new()).map_err(Failure::run)
        };
        let settings = Settings { threads: 1, cancel: terminal::on_interrupt(), progress: &|_| {}, packet_log: 0 };
        let all = |simulation: &Simulation| -> Result<Vec<Recorded>, Failure> {
            let with = |seed| {
                let simulation = simulation.clone().with_seed(seed).map_err(Failure::run)?;
                compare(&simulation, &simulation.schedulers(), &settings).map_err(Failure::from)
            };
            Ok((1..=RUNS).map(with).collect::<Result<Vec<_>, _>>()?.concat())
        };
        let Scenario { warm_up, .. } = *self.scenario;
        // The lab does not count the warm-up, in which queues fill: the same runs, cut off behind it.
        let before = if warm_up > Duration::ZERO { all(&until(warm_up)?)? } else { Vec::new() };
        let runs = all(&until(warm_up + self.step.time)?)?;
        let seconds = self.step.time.as_secs_f64();
        let of_group = |(k, group): (usize, &Group)| {
            let cost = costs[k].ok()?;
            let measured = self.costs[k].is_none().then(|| cost.as_picos().1 as f64 / 1e12);
            Some(predicted([&before, &runs], &group.class, seconds, measured))
        };
        Ok(self.scenario.groups.iter().enumerate().map(of_group).collect())
    }
}

/// What these runs had more at their ends than the same runs `before`, in so many seconds.
fn predicted([before, runs]: [&[Recorded]; 2], group: &str, seconds: f64, measured: Option<f64>) -> Predicted {
    let flows =
        |run: &Recorded| (0..run.flows.len()).filter(|&flow| &*run.flows[flow].group == group).collect::<Vec<_>>();
    let mean = |of_flow: &dyn Fn(&Recorded, usize) -> f64| {
        let sum = |runs: &[Recorded]| -> f64 {
            runs.iter().flat_map(|run| flows(run).into_iter().map(move |flow| of_flow(run, flow))).sum()
        };
        (sum(runs) - sum(before)) / (runs.len() as f64 * seconds)
    };
    let third = runs.iter().any(|run| run.resources.len() == RESOURCES);
    let places = if third { [Some(0), Some(2), Some(1)] } else { [Some(0), Some(1), None] };
    let shares = places.map(|r| r.map_or(0.0, |r| mean(&|run, flow| run.flows[flow].service[r])));
    let latency = |run: &Recorded| Some(run.latencies.of_flows(flows(run)).summary()?.mean);
    let frames = mean(&|run, flow| run.flows[flow].delivered as f64);
    Predicted { shares, frames, latencies: runs.iter().map(latency).collect(), measured }
}

fn entry((key, value): (&str, &str)) -> (String, Value) {
    (key.to_string(), Value::from(value))
}

/// For how long a frame of each group's class occupies the CPU, with the budget, where the configuration says so.
fn given(scenario: &Scenario, Setup { classes, budget, .. }: &Setup) -> Vec<Option<Linear>> {
    let budget = u64::from(budget.as_millionths());
    let with_budget = |line: Linear| {
        let (per_byte, fixed) = line.as_picos();
        Linear::from_picos(per_byte * 1_000_000 / budget, fixed * 1_000_000 / budget)
    };
    let given = |group: &Group| match classes.iter().find(|class| class.name == group.class) {
        Some(class) if class.charge == Charge::Measured && !class.modules.is_empty() => None,
        Some(class) => match class.charge {
            Charge::Linear(line) => Some(with_budget(line)),
            Charge::Measured => Some(Linear::default()),
        },
        None => Some(Linear::default()),
    };
    scenario.groups.iter().map(given).collect()
}

fn third_costs(scenario: &Scenario, Setup { classes, third, .. }: &Setup) -> Option<(String, Vec<Linear>)> {
    let name = third.as_ref()?.name.clone();
    let class = |group: &Group| classes.iter().find(|class| class.name == group.class);
    let cost = |group: &Group| class(group).and_then(|class| class.third).unwrap_or_default();
    Some((name, scenario.groups.iter().map(cost).collect()))
}

fn of_class(group: &Group, cost: Linear, third: Option<(&str, Linear)>) -> Value {
    let mut class = Table::from_iter([entry(("name", &group.class))]);
    let cpu = entry(("cpu", &cost.to_string()));
    let third = third.map(|(name, cost)| entry((name, &cost.to_string())));
    class.insert("cost".into(), [cpu].into_iter().chain(third).collect::<Table>().into());
    class.into()
}

/// Where a group's flows stand among all: the lab's senders start in turns, each so much of its own interval later, and
/// each sends at random instants of its turns.
struct Place {
    before: usize,
    all: usize,
}

fn of_flows(group: &Group, place: Place, class: Option<&Table>, queue: &str) -> Value {
    let mut flows = Table::from_iter([entry(("class", &group.class))]);
    let flow = &group.udp[0];
    flows.insert("count".into(), Value::Integer(group.udp.len() as i64));
    flows.extend([entry(("size", &flow.frame.to_string())), entry(("rate", &flow.rate.to_string()))]);
    let interval = u128::from(flow.rate.due(1).as_nanos());
    let part = |flows: usize| Duration::from_nanos((interval * flows as u128 / place.all as u128) as u64).to_string();
    flows.extend([entry(("start", &part(place.before))), entry(("spread", &part(group.udp.len())))]);
    flows.extend([entry(("jitter", &part(1)))]);
    let of_class = |key: &str| class.and_then(|class| class.get(key)).cloned();
    flows.insert("queue".into(), of_class("queue").unwrap_or_else(|| queue.into()));
    for key in ["weight", "alpha"] {
        flows.extend(of_class(key).map(|value| (key.to_string(), value)));
    }
    flows.into()
}
