//! What a run comes to, as a row, and a row for each of its groups.

use dovetail_sched::DROPPED_AT_HEAD;
use serde::{Deserialize, Serialize};

use crate::columns::{Column, Kind, Value};
use crate::network;
use crate::summary::{AFTER_PROCESSING, Behind, Group, Latency, Packets, Run};

/// One value.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A whole number.
    U64(u64),
    /// Any number.
    F64(f64),
    /// A text.
    Text(String),
    /// Nothing.
    None,
}

impl Cell {
    /// As tables take it.
    pub fn value(&self) -> Value<'_> {
        match self {
            Self::U64(number) => Value::U64(*number),
            Self::F64(number) => Value::F64(*number),
            Self::Text(text) => Value::Text(text),
            Self::None => Value::None,
        }
    }
}

/// What was measured, with the columns that it stands in.
#[derive(Default)]
pub struct Line {
    /// The columns.
    pub columns: Vec<Column>,
    /// Their values; nothing where only the columns were asked for.
    pub cells: Vec<Cell>,
}

impl Line {
    fn push(&mut self, column: Column, cell: Option<Cell>) {
        self.columns.push(column);
        self.cells.push(cell.unwrap_or(Cell::None));
    }

    fn count(&mut self, name: &str, value: Option<u64>) {
        self.push(Column::new(name, Kind::U64), value.map(Cell::U64));
    }

    fn real(&mut self, name: &str, value: Option<f64>) {
        self.push(Column::new(name, Kind::F64), value.map(Cell::F64));
    }

    fn maybe(&mut self, name: &str, value: Option<f64>) {
        self.push(Column::optional(name, Kind::F64), value.map(Cell::F64));
    }

    fn text(&mut self, name: &str, value: Option<&str>) {
        self.push(Column::new(name, Kind::Text), value.map(|text| Cell::Text(text.to_string())));
    }

    fn packets(&mut self, packets: Option<&Packets>) {
        let lost = |reason: &'static str| move |p: &Packets| p.dropped.get(reason).unwrap_or(0);
        let (worked, waiting) = (lost(AFTER_PROCESSING), lost(DROPPED_AT_HEAD));
        self.count("offered", packets.map(|p| p.offered));
        self.count("delivered", packets.map(|p| p.delivered));
        self.count("refused", packets.map(|p| p.lost() - worked(p) - waiting(p)));
        self.count("dropped_after_processing", packets.map(worked));
        self.count("dropped_waiting", packets.map(waiting));
        self.count("unfinished", packets.map(|p| p.unfinished));
    }

    fn latency(&mut self, latency: Option<Latency>) {
        self.maybe("latency_mean_s", latency.map(|l| l.mean));
        self.maybe("latency_p50_s", latency.map(|l| l.p50));
        self.maybe("latency_p90_s", latency.map(|l| l.p90));
        self.maybe("latency_p99_s", latency.map(|l| l.p99));
        self.maybe("latency_max_s", latency.map(|l| l.max));
        self.maybe("latency_std_s", latency.map(|l| l.std));
    }

    fn behind(&mut self, behind: Option<Behind>, starving: Option<usize>) {
        self.real("behind_s", behind.map(|b| b.time_s));
        self.count("behind_packets", behind.map(|b| b.packets));
        self.real("behind_due_s", behind.map(|b| b.due_s));
        self.real("behind_due_rounds", behind.map(|b| b.rounds));
        self.count("starving", starving.map(|n| n as u64));
    }
}

/// A run of a pipeline of these resources, as in `docs/reference/json.md`; `None` for its columns alone.
pub fn of_run(resources: &[String], run: Option<&Run>) -> Line {
    let mut line = Line::default();
    line.maybe("makespan_s", run.and_then(|r| r.makespan_s));
    line.real("nonempty_s", run.map(|r| r.nonempty_s));
    line.text("end", run.map(|r| &*r.end));
    line.packets(run.map(|r| &r.packets));
    line.real("throughput_bps", run.map(|r| r.groups.iter().map(|group| group.throughput_bps).sum()));
    for (index, name) in resources.iter().enumerate() {
        let resource = run.and_then(|r| Some(&r.resources.0.get(index)?.1));
        line.real(&format!("{name}_utilization"), resource.map(|r| r.utilization));
        line.real(&format!("{name}_busy_s"), resource.map(|r| r.busy_s));
        let predicted = run.and_then(|r| r.prediction.as_ref()?.get(name)?.weighted_relative);
        line.maybe(&format!("{name}_prediction_error"), predicted);
    }
    line.latency(run.and_then(|r| r.latency_s));
    let fairness = run.and_then(|r| r.fairness.as_ref());
    line.maybe("jain", fairness.map(|f| f.jain));
    line.maybe("gini", fairness.map(|f| f.gini));
    line.maybe("relative_fairness_bound_s", fairness.map(|f| f.relative_fairness_bound));
    line.maybe("relative_fairness_total_s", fairness.map(|f| f.relative_fairness_total));
    line.behind(run.map(|r| r.behind), run.map(|r| r.starving));
    line
}

/// A group of a pipeline's flows.
pub fn of_group(group: Option<&Group>) -> Line {
    let mut line = Line::default();
    line.text("group", group.map(|g| g.group.as_str()));
    line.count("flows", group.map(|g| g.flows as u64));
    line.packets(group.map(|g| &g.packets));
    line.real("throughput_bps", group.map(|g| g.throughput_bps));
    line.real("dominant_share", group.map(|g| g.dominant_share));
    line.latency(group.and_then(|g| g.latency_s));
    line.behind(group.map(|g| g.behind), group.map(|g| g.starving));
    line
}

/// A run of a network of these CPUs and links, with one seed.
pub fn of_network(hops: &[String], run: Option<&network::RunSummary>) -> Line {
    let mut line = Line::default();
    line.real("throughput_bps", run.map(|r| r.throughput_bps.mean));
    for (index, name) in hops.iter().enumerate() {
        let hop = run.and_then(|r| Some(r.hops.0.get(index)?.1));
        line.real(&format!("{name}_utilization"), hop.map(|h| h.utilization.mean));
        line.real(&format!("{name}_rate_bps"), hop.map(|h| h.rate_bps.mean));
        line.real(&format!("{name}_queue_packets"), hop.map(|h| h.queue_packets.mean));
        line.real(&format!("{name}_queue_deviation_packets"), hop.map(|h| h.queue_deviation_packets.mean));
        line.real(&format!("{name}_drop_rate"), hop.map(|h| h.drop_rate.mean));
        line.real(&format!("{name}_mark_rate"), hop.map(|h| h.mark_rate.mean));
    }
    line
}

/// A group of a network's flows.
pub fn of_network_group(group: Option<&network::GroupSummary>) -> Line {
    let mut line = Line::default();
    line.text("group", group.map(|g| g.group.as_str()));
    line.text("class", group.map(|g| g.class.as_str()));
    line.real("flows", group.map(|g| g.flows));
    line.text("kind", group.map(|g| if g.long_lived { "long-lived" } else { "short" }));
    line.real("throughput_bps", group.map(|g| g.throughput_bps.mean));
    line.maybe("fair_bps", group.and_then(|g| g.fair_bps));
    line.maybe("jain", group.and_then(|g| g.jain.map(|jain| jain.mean)));
    line.real("timeouts", group.map(|g| g.timeouts.mean));
    line
}
