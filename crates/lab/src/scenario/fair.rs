//! What each group would have if CPU and link were shared with strict dominant-resource fairness.

/// The CPU, the link, and a third resource that a box may have between them.
pub const RESOURCES: usize = 3;

/// What a group of flows asks for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Demand {
    /// Number of its flows, all backlogged alike.
    pub flows: u32,
    /// Weight of each flow, above 0.
    pub weight: f64,
    /// Seconds that one of its frames occupies the CPU, the link, and a third resource: 0 where there is none.
    pub times: [f64; RESOURCES],
    /// Frames per second of the whole group; `None` is as many as it can get.
    pub rate: Option<f64>,
}

impl Demand {
    /// The longest of these.
    pub fn dominant_time(&self) -> f64 {
        self.times.into_iter().fold(0.0, f64::max)
    }

    /// The group's dominant share when everybody has `level` per flow and weight, or what it asks for.
    fn share(&self, level: f64) -> f64 {
        let fair = level * f64::from(self.flows) * self.weight;
        self.rate.map_or(fair, |rate| fair.min(rate * self.dominant_time()))
    }
}

/// Dominant share of each group, 0 to 1, by progressive filling: all flows' dominant shares rise alike, by weight,
/// until a resource is full; a flow that has all it asks for stays there (Ghodsi et al., "Dominant Resource Fairness",
/// NSDI 2011, section 4.1). A group whose frames need no time has 0.
pub fn fair_shares(groups: &[Demand]) -> Vec<f64> {
    let full = |level: f64| {
        let used = |r: usize| -> f64 {
            let uses = groups.iter().filter(|g| g.dominant_time() > 0.0);
            uses.map(|g| g.share(level) * g.times[r] / g.dominant_time()).sum()
        };
        (0..RESOURCES).any(|r| used(r) > 1.0)
    };
    // No flow has more than all of a resource. Halving reaches the last bit of the level.
    let least = groups.iter().map(|g| g.weight).fold(f64::INFINITY, f64::min);
    let (mut low, mut high) = (0.0, 1.0 / least);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if full(middle) { high = middle } else { low = middle }
    }
    groups.iter().map(|g| if g.dominant_time() > 0.0 { g.share(low) } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(flows: u32, [cpu, link]: [f64; 2], rate: Option<f64>) -> Demand {
        Demand { flows, weight: 1.0, times: [cpu, link, 0.0], rate }
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 1e-9, "{found:?} instead of {expected:?}");
        }
    }

    #[test]
    fn the_example_of_the_tradeoff_paper() {
        // Fig. 2: flow 1 needs 2 and 3, flow 2 needs 9 and 1: both have 3/5.
        close(&fair_shares(&[group(1, [2.0, 3.0], None), group(1, [9.0, 1.0], None)]), &[0.6, 0.6]);
    }

    #[test]
    fn who_asks_for_less_leaves_the_rest_to_the_others() {
        // On one resource: max-min fairness. A third is 1/3; one that wants 0.1 leaves 0.45 to each of the others.
        let [small, large] = [Some(0.1), None].map(|rate| group(1, [1.0, 0.0], rate));
        close(&fair_shares(&[small, large, large]), &[0.1, 0.45, 0.45]);
    }

    #[test]
    fn where_nothing_is_scarce_all_have_what_they_ask_for() {
        let some = group(4, [1.0, 2.0], Some(0.1));
        close(&fair_shares(&[some, some]), &[0.2, 0.2]);
        close(&fair_shares(&[group(1, [0.0, 0.0], None)]), &[0.0]);
        assert_eq!(fair_shares(&[]), [0.0; 0]);
    }

    #[test]
    fn shares_are_by_flow_and_weight() {
        let of_weight = |flows, weight| Demand { flows, weight, times: [1.0, 0.5, 0.0], rate: None };
        close(&fair_shares(&[of_weight(2, 1.0), of_weight(1, 2.0), of_weight(1, 1.0)]), &[0.4, 0.4, 0.2]);
    }
}
