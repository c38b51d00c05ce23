//! Every table and figure of the five papers and the examples of a sixth, and what this program does with it.

use serde::Serialize;

/// Whether a table or figure is computed here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It is computed and compared.
    Done,
    /// It explains or sets up something; it holds no result to compare with.
    DrawingOnly,
}

impl Status {
    /// The status in words, for a listing.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::DrawingOnly => "drawing only",
        }
    }
}

/// A table or figure of a paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Item {
    /// Paper and number, such as `tradeoff-fig3`.
    pub id: &'static str,
    /// The paper's short name, one of [`PAPERS`].
    pub paper: &'static str,
    /// As the paper calls it: `Fig. 3`, `Table 2`.
    pub figure: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// Whether it is computed here.
    pub status: Status,
}

impl Item {
    /// Whether it replays a capture or synthesised traffic at a load that can be set.
    pub fn trace_driven(&self) -> bool {
        matches!(self.id, "tradeoff-fig7" | "tradeoff-fig8" | "tradeoff-fig9")
    }

    /// About how long it takes on two cores, in seconds. Runs that several figures share count for the first of them.
    pub fn weight(&self) -> f64 {
        match self.id {
            "tradeoff-fig7" => 120.0,
            "drq-fig5" | "drq-fig10" => 60.0,
            "drq-fig14" | "drq-fig15" => 30.0,
            "drq-fig7" | "drq-fig8" | "drq-stability" | "atfq-fig6" | "tradeoff-fig3" | "cbcs-table5" => 15.0,
            "drq-fig12" | "atfq-fig9" | "pcfq-fig5" | "pcfq-table2" => 10.0,
            "tradeoff-fig5" | "tradeoff-fig6" | "tradeoff-fig9" | "tradeoff-table2" | "pcfq-fig2" => 5.0,
            _ if self.status == Status::DrawingOnly => 0.0,
            _ => 1.0,
        }
    }
}

/// The papers: short name, then authors, title, and where and when it was published.
pub const PAPERS: [(&str, &str); 6] = [
    ("tradeoff", "Wang, Feng, Li, Liang: On the Fairness-Efficiency Tradeoff for Packet Processing, CoNEXT 2014"),
    (
        "atfq",
        "Zhang, Li, Guo, Qi, Li: ATFQ, a fair and efficient packet scheduling method in multi-resource environments",
    ),
    ("pcfq", "Sabrina, Kanhere, Jha: Prediction-based Composite Fair Queuing (PCFQ)"),
    ("cbcs", "Sabrina, Kanhere, Jha: a low complexity scheduler for joint resource allocation (CBCS), 2007"),
    ("drq", "Shin, Chong, Rhee: Dual-resource TCP/AQM for processing-constrained networks (DRQ), 2006"),
    ("drfq", "Ghodsi, Sekar, Zaharia, Stoica: Multi-Resource Fair Queueing for Packet Processing (DRFQ), SIGCOMM 2012"),
];

/// All tables and figures, paper by paper in the order of [`PAPERS`]. Within a paper the figures come first, then the
/// tables, each by number, then other statements.
pub fn list() -> &'static [Item] {
    ITEMS
}

/// The item of this id.
pub fn item(id: &str) -> Option<&'static Item> {
    ITEMS.iter().find(|item| item.id == id)
}

/// The names of the pictures that are drawn of it, if any are.
pub(super) fn pictures(item: &Item) -> impl Iterator<Item = String> {
    let parts: &[&str] = match item.id {
        "tradeoff-fig5" => &["a", "b", "c"],
        "tradeoff-fig6" | "atfq-fig10" | "cbcs-fig2" => &["a", "b"],
        "tradeoff-fig8" => &["a", "b", "c", "d"],
        "pcfq-fig5" | "pcfq-fig6" => &["", "-measured", "-equal"],
        "pcfq-table2" => &["", "-delay", "-adversary"],
        "cbcs-fig3" => &["a", "b", "-theorem3"],
        "cbcs-fig4" | "cbcs-fig5" => &["", "-measured", "-equal", "-quantum", "-congested"],
        "cbcs-table5" => &["-alpha"],
        "drfq-fig3" | "drfq-fig4" | "drfq-fig11" | "drfq-fig12" | "drfq-lie" => &[],
        "drq-fig5" => &["", "-weights"],
        "drq-fig8" => &["", "-utilization"],
        _ => &[""],
    };
    parts.iter().map(|part| format!("{}{part}.svg", item.id))
}

const fn row(id: &'static str, paper: &'static str, figure: &'static str, shows: &'static str, status: Status) -> Item {
    Item { id, paper, figure, shows, status }
}

use Status::{Done, DrawingOnly};

#[rustfmt::skip]
const ITEMS: &[Item] = &[
    row("tradeoff-fig1", "tradeoff", "Fig. 1", "two packet schedules of the same two flows: fair, and efficient", Done),
    row("tradeoff-fig2", "tradeoff", "Fig. 2", "the fair fluid schedule of the same two flows", Done),
    row("tradeoff-fig3", "tradeoff", "Fig. 3", "CPU and link utilisation over time at four fairness levels", Done),
    row("tradeoff-fig4", "tradeoff", "Fig. 4", "dominant share of each flow in each second, against alpha times the \
        fair share", Done),
    row("tradeoff-fig5", "tradeoff", "Fig. 5", "limited queues: utilisation, dominant shares, latency \
        distribution", Done),
    row("tradeoff-fig6", "tradeoff", "Fig. 6", "latency of elephant and mice flows", Done),
    row("tradeoff-fig7", "tradeoff", "Fig. 7", "trace-driven: utilisation for three traffic patterns", Done),
    row("tradeoff-fig8", "tradeoff", "Fig. 8", "trace-driven: latency distributions and drop rates", Done),
    row("tradeoff-fig9", "tradeoff", "Fig. 9", "trace-driven: latency of each flow by its size", Done),
    row("tradeoff-table1", "tradeoff", "Table 1", "notation of the fluid model", DrawingOnly),
    row("tradeoff-table2", "tradeoff", "Table 2", "makespan at seven fairness levels", Done),

    row("atfq-fig1", "atfq", "Fig. 1", "example: two schedules, strict and relaxed fairness", Done),
    row("atfq-fig2", "atfq", "Fig. 2", "example: a flow whose dominant resource shifts", Done),
    row("atfq-fig3", "atfq", "Fig. 3", "the steps of packet processing", DrawingOnly),
    row("atfq-fig4", "atfq", "Fig. 4", "how scheduling loops follow each other", DrawingOnly),
    row("atfq-fig5", "atfq", "Fig. 5", "data rate of four flows over time, DRFQ and ATFQ", Done),
    row("atfq-fig6", "atfq", "Fig. 6", "largest difference of the flows' active times", Done),
    row("atfq-fig7", "atfq", "Fig. 7", "distribution of the time between a flow's packets", Done),
    row("atfq-fig8", "atfq", "Fig. 8", "completion times of one flow's packets", Done),
    row("atfq-fig9", "atfq", "Fig. 9", "utilisation of the resources, DRFQ and ATFQ", Done),
    row("atfq-fig10", "atfq", "Fig. 10", "resource occupancy of the flows, DRFQ and ATFQ", Done),
    row("atfq-table1", "atfq", "Table I", "notation of the time stamps", DrawingOnly),
    row("atfq-table2", "atfq", "Table II", "CPU time of four applications as functions of packet size \
        (input)", DrawingOnly),

    row("pcfq-fig1", "pcfq", "Fig. 1", "system model: one composite scheduler, or one per resource", DrawingOnly),
    row("pcfq-fig2", "pcfq", "Fig. 2", "delay of an MPEG2 flow, PCFQ and WFQ", Done),
    row("pcfq-fig3", "pcfq", "Fig. 3", "delay of an RC2 decryption flow, PCFQ and WFQ", Done),
    row("pcfq-fig4", "pcfq", "Fig. 4", "delay of an RC2 encryption flow, PCFQ and WFQ", Done),
    row("pcfq-fig5", "pcfq", "Fig. 5", "Gini index of CPU service over time, PCFQ and WFQ", Done),
    row("pcfq-fig6", "pcfq", "Fig. 6", "Gini index of bandwidth over time, PCFQ and WFQ", Done),
    row("pcfq-fig7", "pcfq", "Fig. 7", "architecture of the network processor implementation", DrawingOnly),
    row("pcfq-fig8", "pcfq", "Fig. 8", "flow charts of the enqueue and dequeue threads", DrawingOnly),
    row("pcfq-table1", "pcfq", "Table 1", "delay guarantees of two example flows, PCFQ and WFQ", Done),
    row("pcfq-table2", "pcfq", "Table 2", "bounds and work complexity, PCFQ and WFQ", Done),
    row("pcfq-table3", "pcfq", "Table 3", "settings of the simulated flows; how well their processing times are \
        predicted", Done),
    row("pcfq-table4", "pcfq", "Table 4", "delay statistics, PCFQ and WFQ", Done),
    row("pcfq-table5", "pcfq", "Table 5", "CPU and bandwidth received against what is reserved", Done),

    row("cbcs-fig1", "cbcs", "Fig. 1", "system model: one composite scheduler, or one per resource", DrawingOnly),
    row("cbcs-fig2", "cbcs", "Fig. 2", "CPU allocated and bandwidth then demanded, CBCS and DRR", Done),
    row("cbcs-fig3", "cbcs", "Fig. 3", "CPU and bandwidth received, CBCS and DRR", Done),
    row("cbcs-fig4", "cbcs", "Fig. 4", "Gini index of CPU service over time, CBCS and DRR", Done),
    row("cbcs-fig5", "cbcs", "Fig. 5", "Gini index of bandwidth over time, CBCS and DRR", Done),
    row("cbcs-fig6", "cbcs", "Fig. 6", "architecture of the network processor implementation", DrawingOnly),
    row("cbcs-fig7", "cbcs", "Fig. 7", "flow charts of the enqueue and dequeue threads", DrawingOnly),
    row("cbcs-fig8", "cbcs", "Fig. 8", "measured delay of a flow with much CPU and bandwidth, CBCS and DRR", Done),
    row("cbcs-fig9", "cbcs", "Fig. 9", "measured delay of a flow with little CPU and much bandwidth, CBCS and \
        DRR", Done),
    row("cbcs-table1", "cbcs", "Table 1", "settings of the simulated flows (input)", DrawingOnly),
    row("cbcs-table2", "cbcs", "Table 2", "delay statistics, CBCS and DRR", Done),
    row("cbcs-table3", "cbcs", "Table 3", "packet losses, CBCS and DRR", Done),
    row("cbcs-table4", "cbcs", "Table 4", "settings of the measured flows (input)", DrawingOnly),
    row("cbcs-table5", "cbcs", "Table 5", "measured delay statistics, CBCS and DRR", Done),

    row("drq-fig1", "drq", "Fig. 1", "network of one CPU and one link", DrawingOnly),
    row("drq-fig2", "drq", "Fig. 2", "CPU and bandwidth under proportional fairness and under TCP's rates", Done),
    row("drq-fig3", "drq", "Fig. 3", "the marking algorithm", DrawingOnly),
    row("drq-fig4", "drq", "Fig. 4", "dumbbell topology", DrawingOnly),
    row("drq-fig5", "drq", "Fig. 5", "throughput of four classes of TCP flows", Done),
    row("drq-fig6", "drq", "Fig. 6", "bandwidth utilisation of three schemes", Done),
    row("drq-fig7", "drq", "Fig. 7", "growing numbers of flows with much processing", Done),
    row("drq-fig8", "drq", "Fig. 8", "throughput with short flows in the background", Done),
    row("drq-fig9", "drq", "Fig. 9", "parking lot topology", DrawingOnly),
    row("drq-fig10", "drq", "Fig. 10", "throughput over several links", Done),
    row("drq-fig11", "drq", "Fig. 11", "total throughput of three schemes over several links", Done),
    row("drq-fig12", "drq", "Fig. 12", "utilisation of one of several links", Done),
    row("drq-fig13", "drq", "Fig. 13", "topology of a deployment at the edge", DrawingOnly),
    row("drq-fig14", "drq", "Fig. 14", "throughput when some edge routers lack CPU", Done),
    row("drq-fig15", "drq", "Fig. 15", "throughput when neighbours need more processing", Done),
    row("drq-stability", "drq", "Prop. 2", "settling inside the stability condition, swinging outside", Done),

    row("drfq-fig3", "drfq", "Fig. 3", "bottleneck fairness: a flow gains by asking for more", Done),
    row("drfq-fig4", "drfq", "Fig. 4", "equal dominant shares of two jobs", Done),
    row("drfq-fig5", "drfq", "Fig. 5", "bottleneck fairness: the bottleneck never stays", Done),
    row("drfq-fig9", "drfq", "Fig. 9", "dominant shares while flows come and go", Done),
    row("drfq-fig11", "drfq", "Fig. 11", "fair queueing of one resource, and DRFQ", Done),
    row("drfq-fig12", "drfq", "Fig. 12", "per-resource fairness rewards a flow that switches", Done),
    row("drfq-lie", "drfq", "Sec. 4.2", "per-resource fairness: a flow gains by asking for more", Done),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures before tables, each by number; none of a proposition.
    fn place(item: &Item) -> Option<(bool, u32)> {
        let name = item.id.strip_prefix(item.paper).and_then(|rest| rest.strip_prefix('-')).unwrap_or_default();
        let number = |kind| name.strip_prefix(kind).and_then(|n: &str| n.parse().ok());
        match (number("fig"), number("table")) {
            (Some(n), _) => Some((false, n)),
            (_, Some(n)) => Some((true, n)),
            _ if item.figure.starts_with("Prop.") || item.figure.starts_with("Sec.") => None,
            _ => panic!("{} is neither a figure nor a table of {}", item.id, item.paper),
        }
    }

    #[test]
    fn each_paper_has_its_figures_and_tables_once_and_in_order() {
        for (paper, _) in PAPERS {
            let places: Vec<_> = list().iter().filter(|i| i.paper == paper).filter_map(place).collect();
            assert!(places.windows(2).all(|w| w[0] < w[1]), "{paper}: {places:?}");
            // No number is left out, but of the paper whose text is not at hand.
            if paper == "drfq" {
                continue;
            }
            let figures = places.iter().filter(|p| !p.0).count() as u32;
            let tables = places.iter().filter(|p| p.0).count() as u32;
            assert_eq!(places.iter().filter(|p| !p.0).map(|p| p.1).max().unwrap_or(0), figures, "{paper}");
            assert_eq!(places.iter().filter(|p| p.0).map(|p| p.1).max().unwrap_or(0), tables, "{paper}");
        }
    }

    #[test]
    fn papers_follow_each_other_in_their_order() {
        let mut papers: Vec<&str> = list().iter().map(|i| i.paper).collect();
        papers.dedup();
        assert_eq!(papers, PAPERS.map(|p| p.0));
    }

    #[test]
    fn an_item_calls_itself_as_its_id_does() {
        for (item, (is_table, number)) in list().iter().filter_map(|item| Some((item, place(item)?))) {
            let roman = ["", "I", "II"].get(number as usize).copied().unwrap_or_default();
            let arabic = number.to_string();
            let expected = if is_table { "Table " } else { "Fig. " };
            let said = item.figure.strip_prefix(expected).unwrap_or_default();
            assert!(said == arabic || said == roman, "{item:?}");
        }
    }
}
