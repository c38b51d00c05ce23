//! The JSON summary of a network's comparison: `docs/reference/json.md` describes it.

use dovetail_model::ModelError;
use dovetail_sim::network::{HopResult, NetworkResult};
use dovetail_sim::record;
use serde::{Deserialize, Serialize};

use super::ideal::{Beside, fair_rates};
use super::run::Runs;
use super::scenario::{Group, NetworkScenario};
use crate::statistics::Estimate;
use crate::summary::{InOrder, SCHEMA};
use crate::table::{percent, rate};

/// The whole document.
#[derive(Debug, Serialize, Deserialize)]
pub struct NetworkSummary {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was run.
    pub network: Input,
    /// What it comes to, a sentence for each scheduler that there is something to say of.
    pub sentences: Vec<String>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// Per scheduler, in the order in which they were named.
    pub runs: Vec<RunSummary>,
}

/// What was run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Input {
    /// File.
    pub name: String,
    /// Title.
    pub title: String,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// What happened before was not counted.
    pub warm_up_s: f64,
    /// When each run ended.
    pub until_s: f64,
}

/// One scheduler's runs.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunSummary {
    /// As it was named.
    pub scheduler: String,
    /// Data that arrived, each packet once, all flows together.
    pub throughput_bps: Estimate,
    /// CPUs and links by name.
    pub hops: Hops,
    /// Flows of one kind, in the order of the scenario.
    pub groups: Vec<GroupSummary>,
}

/// CPUs and links by name, in the order of the scenario.
pub type Hops = InOrder<HopSummary>;

/// One CPU or link.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct HopSummary {
    /// Busy part of the time.
    pub utilization: Estimate,
    /// What it served.
    pub rate_bps: Estimate,
    /// Packets waiting, the one in service not counted: mean over time.
    pub queue_packets: Estimate,
    /// The same: standard deviation over time.
    pub queue_deviation_packets: Estimate,
    /// Drops per arrival.
    pub drop_rate: Estimate,
    /// Congestion marks per arrival.
    pub mark_rate: Estimate,
    /// Packets, all runs together: `held_before + arrived = departed + dropped + held_after`.
    pub packets: PacketCounts,
}

/// What became of the packets that came to a CPU or a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PacketCounts {
    /// There at the end of the warm-up, the one in service included.
    pub held_before: u64,
    /// Came.
    pub arrived: u64,
    /// Served to their end.
    pub departed: u64,
    /// Dropped, by queue management or for want of room.
    pub dropped: u64,
    /// There at the end, the one in service included.
    pub held_after: u64,
    /// Of those that came: marked as having met congestion.
    pub marked: u64,
}

impl PacketCounts {
    fn add(mut self, hop: &HopResult) -> Self {
        self.held_before += hop.held_before;
        self.arrived += hop.arrived;
        self.departed += hop.departed;
        self.dropped += hop.dropped + hop.overflowed;
        self.held_after += hop.held_after;
        self.marked += hop.marked;
        self
    }
}

/// Flows of one kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupSummary {
    /// Its name.
    pub group: String,
    /// Its class.
    pub class: String,
    /// Long-lived flows; of short ones, how many ended per run.
    pub flows: f64,
    /// Whether they are long-lived.
    pub long_lived: bool,
    /// Data that arrived, each packet once: of one long-lived flow on average, of all short flows together.
    pub throughput_bps: Estimate,
    /// The proportionally fair rate of one long-lived flow beside these short ones, averaged over the measured
    /// time.
    pub fair_bps: Option<f64>,
    /// Jain's index of its long-lived flows.
    pub jain: Option<Estimate>,
    /// Retransmission timeouts, all flows together.
    pub timeouts: Estimate,
}

impl NetworkSummary {
    /// Of a comparison.
    ///
    /// # Errors
    /// If the fair rates cannot be computed.
    pub fn new(scenario: &NetworkScenario, runs: &[Runs]) -> Result<Self, ModelError> {
        let network = Input {
            name: scenario.name.clone(),
            title: scenario.title().to_string(),
            seeds: scenario.seeds(),
            warm_up_s: scenario.warm_up().as_secs_f64(),
            until_s: scenario.until().as_secs_f64(),
        };
        let runs = runs.iter().map(|runs| RunSummary::new(scenario, runs)).collect::<Result<Vec<_>, _>>()?;
        let mut notes = vec![FAIR.to_string()];
        if network.seeds.len() > 1 {
            notes.push(format!("+-: 95 % confidence over {} seeds", network.seeds.len()));
        }
        Ok(Self {
            schema: SCHEMA,
            network,
            sentences: runs.iter().filter_map(RunSummary::story).collect(),
            notes,
            runs,
        })
    }
}

/// What the fair rates are.
const FAIR: &str = "fair: the proportionally fair rate for round trips without queues; short flows: all together";

impl RunSummary {
    /// How near to their fair rates the long-lived flows come; nothing where there are none.
    fn story(&self) -> Option<String> {
        let of_fair = |group: &GroupSummary| Some(group.throughput_bps.mean / group.fair_bps?);
        let parts = || self.groups.iter().filter_map(|g| Some((of_fair(g).filter(|part| part.is_finite())?, &g.group)));
        let (least, worst) = parts().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let (most, best) = parts().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let range = match parts().count() {
            1 => format!("{} of its fair rate", percent(least)),
            _ => format!("from {} ({worst}) to {} ({best}) of its fair rate", percent(least), percent(most)),
        };
        let all = rate(self.throughput_bps.mean);
        Some(format!("Under {} a long-lived flow gets {range}; all flows together get {all}.", self.scheduler))
    }

    fn new(scenario: &NetworkScenario, runs: &Runs) -> Result<Self, ModelError> {
        let over = |value: &dyn Fn(&NetworkResult) -> f64| {
            Estimate::of(&runs.results.iter().map(|(_, result)| value(result)).collect::<Vec<f64>>())
        };
        let taken = |index: usize| over(&|result| result.traffic[index].goodput_bps).mean;
        let short_bps = (0..scenario.groups.len()).map(taken).collect();
        let fair = fair_beside(scenario, runs, short_bps)?;
        let hops = |index: usize| runs.results.iter().map(move |(_, result)| &result.hops[index]);
        let hop = |index: usize| {
            let over_hop = |value: fn(&HopResult) -> f64| over(&|result| value(&result.hops[index]));
            HopSummary {
                utilization: over_hop(|h| h.utilization),
                rate_bps: over_hop(|h| h.rate_bps),
                queue_packets: over_hop(|h| h.queue),
                queue_deviation_packets: over_hop(|h| h.queue_deviation),
                drop_rate: over_hop(HopResult::drop_rate),
                mark_rate: over_hop(HopResult::mark_rate),
                packets: hops(index).fold(PacketCounts::default(), PacketCounts::add),
            }
        };
        let group = |index: usize| {
            let group = &scenario.groups[index];
            let long_lived = group.long_lived();
            GroupSummary {
                group: group.name.clone(),
                class: group.class.clone(),
                flows: long_lived.map_or_else(|| over(&|r| r.traffic[index].finished as f64).mean, f64::from),
                long_lived: long_lived.is_some(),
                throughput_bps: over(&|r| r.traffic[index].goodput_bps / f64::from(long_lived.unwrap_or(1))),
                fair_bps: fair[index],
                jain: long_lived.and_then(|_| {
                    let of_seeds = runs.results.iter().map(|(_, result)| jain(result, index));
                    of_seeds.collect::<Option<Vec<f64>>>().map(|all| Estimate::of(&all))
                }),
                timeouts: over(&|r| r.traffic[index].timeouts as f64),
            }
        };
        Ok(Self {
            scheduler: runs.scheduler.to_string(),
            throughput_bps: over(&|r| r.traffic.iter().map(|t| t.goodput_bps).sum()),
            hops: InOrder(scenario.resources.iter().enumerate().map(|(k, r)| (r.name.clone(), hop(k))).collect()),
            groups: (0..scenario.groups.len()).map(group).collect(),
        })
    }
}

/// The fair rates beside short flows that take so much. Where round trips are drawn, the means over the runs, each with
/// its own.
fn fair_beside(scenario: &NetworkScenario, runs: &Runs, short_bps: Vec<f64>) -> Result<Vec<Option<f64>>, ModelError> {
    let is_drawn = |group: &Group| group.long_lived().is_some() && group.traffic.rtt().min < group.traffic.rtt().max;
    let mut beside = Beside { short_bps, ..Beside::default() };
    if !scenario.groups.iter().any(is_drawn) {
        return fair_rates(scenario, &beside);
    }
    let mut means: Vec<Option<f64>> = vec![None; scenario.groups.len()];
    for (_, result) in &runs.results {
        beside.drawn_s = vec![Vec::new(); scenario.groups.len()];
        for flow in &result.flows {
            beside.drawn_s[flow.traffic as usize].push(flow.rtt.as_secs_f64());
        }
        for (mean, rate) in means.iter_mut().zip(fair_rates(scenario, &beside)?) {
            if let Some(rate) = rate {
                *mean.get_or_insert(0.0) += rate / runs.results.len() as f64;
            }
        }
    }
    Ok(means)
}

/// Jain's index of a group's flows; none if nobody gets anything.
fn jain(result: &NetworkResult, group: usize) -> Option<f64> {
    let rates: Vec<f64> = result.flows.iter().filter(|f| f.class as usize == group).map(|f| f.goodput_bps).collect();
    rates.iter().any(|rate| *rate > 0.0).then(|| record::jain(&rates))
}
