//! What the simulator makes of a step of a lab scenario: the same flows, the same box, and what its modules cost on this machine.

use std::path::PathBuf;

use dovetail_config::InputError;
use dovetail_dataplane::calibrate::{Caches, Plan, measure_in_turn};
use dovetail_dataplane::core::{Charge, Setup, SetupClass, stopwatch};
use dovetail_dataplane::module::ModuleDrop;
use dovetail_experiment::compare::{Recorded, Settings, compare};
use dovetail_experiment::scenario::Scenario as Simulation;
use dovetail_lab::scenario::{Group, Scenario, Step};
use dovetail_sched::cost::Linear;
use toml::{Table, Value};

use super::inside::Source;
use crate::failure::Failure;
use crate::run::failure as run_failure;
use crate::terminal;

/// What a group has in a simulation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Predicted {
    /// Parts of CPU and link.
    pub shares: [f64; 2],
    /// Frames per second that leave.
    pub frames: f64,
    /// Whether the costs of some class were measured, and not given.
    pub measured: bool,
}

/// The step's scenario, for `dovetail run`. Modules whose cost the configuration does not give are measured.
///
/// # Errors
/// It has TCP flows or a link without a rate; or a module does not take the packets that it would be measured with.
pub fn text(scenario: &Scenario, source: &Source, step: &Step) -> Result<String, Failure> {
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
    file.insert("schedulers".into(), Value::Array(at(&["scheduler"]).into_iter().map(Value::from).collect()));
    file.insert("resource".into(), Value::Array(vec![Table::from_iter([entry(("name", "cpu"))]).into(), link.into()]));
    let costs = costs(scenario, source, step)?;
    let written = scenario.groups.iter().zip(&costs).map(|(group, cost)| of_class(group, *cost)).collect();
    file.insert("class".into(), Value::Array(written));
    let flows = scenario.groups.iter().map(|group| of_flows(group, class(group), queue)).collect();
    file.insert("flows".into(), Value::Array(flows));
    toml::to_string(&file).map_err(Failure::run)
}

/// Simulate it.
pub fn run(scenario: &Scenario, source: &Source, step: &Step) -> Result<Vec<Predicted>, Failure> {
    let text = text(scenario, source, step)?;
    let simulation = Simulation::parse("prediction", &text, &[], PathBuf::new()).map_err(Failure::run)?;
    let settings = Settings { threads: 1, cancel: terminal::on_interrupt(), progress: &|_| {}, packet_log: 0 };
    let runs = compare(&simulation, &simulation.schedulers(), &settings).map_err(run_failure)?;
    let [run] = runs.as_slice() else { return Err(Failure::Run("the prediction is not one run".into())) };
    let seconds = (scenario.warm_up + step.time).as_secs_f64();
    let Setup { classes, .. } = source.config(&step.set).and_then(|config| config.setup()).map_err(Failure::input)?;
    let is_measured = |class: &SetupClass| class.charge == Charge::Measured && !class.modules.is_empty();
    let measured = classes.iter().any(is_measured);
    Ok(scenario.groups.iter().map(|group| predicted(run, &group.class, seconds, measured)).collect())
}

fn predicted(run: &Recorded, group: &str, seconds: f64, measured: bool) -> Predicted {
    let flows = || run.flows.iter().filter(|flow| flow.group == group);
    let share = |r: usize| flows().map(|flow| flow.service[r]).sum::<f64>() / seconds;
    let frames = flows().map(|flow| flow.delivered).sum::<u64>() as f64 / seconds;
    Predicted { shares: [share(0), share(1)], frames, measured }
}

fn entry((key, value): (&str, &str)) -> (String, Value) {
    (key.to_string(), Value::from(value))
}

/// What a frame of each group's class occupies the CPU, with the budget.
fn costs(scenario: &Scenario, source: &Source, step: &Step) -> Result<Vec<Linear>, Failure> {
    let setup = || source.config(&step.set).and_then(|config| config.setup()).map_err(Failure::input);
    let Setup { classes, budget, .. } = setup()?;
    let budget = u64::from(budget.as_millionths());
    let class = |group: &Group| classes.iter().find(|class| class.name == group.class);
    let known = |group: &Group| match class(group).map(|class| class.charge) {
        Some(Charge::Linear(line)) => Some(line),
        Some(Charge::Measured) => None,
        None => Some(Linear::from_picos(0, 0)),
    };
    let unknown: Vec<&Group> = scenario.groups.iter().filter(|group| known(group).is_none()).collect();
    let mut measured = measured(&unknown, |group| class(group).map_or(&[], |class| &class.modules), setup)?.into_iter();
    let lines = scenario.groups.iter().map(|group| known(group).or_else(|| measured.next()).unwrap_or_default());
    let with_budget = |line: Linear| {
        let (per_byte, fixed) = line.as_picos();
        Linear::from_picos(per_byte * 1_000_000 / budget, fixed * 1_000_000 / budget)
    };
    Ok(lines.map(with_budget).collect())
}

/// What the modules of these groups' classes take on this machine.
fn measured<'a>(
    groups: &[&Group],
    modules_of: impl Fn(&Group) -> &'a [usize],
    setup: impl Fn() -> Result<Setup, Failure>,
) -> Result<Vec<Linear>, Failure> {
    let mut chains = Vec::new();
    for group in groups {
        let mut modules: Vec<_> = setup()?.modules.into_iter().map(|named| Some(named.module)).collect();
        chains.push(modules_of(group).iter().filter_map(|&place| modules[place].take()).collect::<Vec<_>>());
    }
    let mut chains: Vec<_> = chains.iter_mut().map(Vec::as_mut_slice).collect();
    // The queues of a lab are long, and the kernel works for them on the same core.
    let flows = groups.iter().map(|group| group.udp.len()).sum::<usize>().min(4096) as u16;
    let plan = Plan { caches: Caches::Cold, flows, ..Plan::default() };
    let costs = measure_in_turn(&mut chains, &plan, stopwatch).map_err(|(place, ModuleDrop(reason))| {
        let class = &groups[place].class;
        Failure::Input(format!("what {class:?} costs cannot be measured: its modules drop packets: {reason}"))
    })?;
    Ok(costs.into_iter().map(|cost| cost.line).collect())
}

fn of_class(group: &Group, cost: Linear) -> Value {
    let mut class = Table::from_iter([entry(("name", &group.class))]);
    class.insert("cost".into(), Table::from_iter([entry(("cpu", &cost.to_string()))]).into());
    class.into()
}

fn of_flows(group: &Group, class: Option<&Table>, queue: &str) -> Value {
    let mut flows = Table::from_iter([entry(("class", &group.class))]);
    let flow = &group.udp[0];
    flows.insert("count".into(), Value::Integer(group.udp.len() as i64));
    flows.extend([entry(("size", &flow.frame.to_string())), entry(("rate", &flow.rate.to_string()))]);
    let of_class = |key: &str| class.and_then(|class| class.get(key)).cloned();
    flows.insert("queue".into(), of_class("queue").unwrap_or_else(|| queue.into()));
    flows.extend(of_class("weight").map(|weight| ("weight".to_string(), weight)));
    flows.into()
}
