//! Proposition 2: a sufficient condition for the Reno/DRQ network to be stable near its equilibrium.

use nalgebra::DMatrix;

use super::network::Kind;
use super::reno::RenoNetwork;
use crate::error::ModelError;

/// Both sides of Proposition 2's condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Stability {
    /// By resource: the RED curve's steepest slope times the capacity, `max(m/(b' - b), (1 - m)/b') C_k` or `B_l`; per
    /// second on links, in cycles/bit per second on CPUs. 0 for resources that nobody uses.
    pub gains: Vec<f64>,
    /// The right side of equation (32).
    pub limit: f64,
}

impl Stability {
    /// `limit` over the largest gain. The network is locally stable if it is above 1; otherwise the proposition says
    /// nothing: it is sufficient and far from necessary, since it must hold for all delays, windows and bottlenecks
    /// with these extremes.
    pub fn margin(&self) -> f64 {
        self.limit / self.gains.iter().copied().fold(0.0, f64::max)
    }
}

/// Proposition 2 for the network's RED curves.
///
/// `R` is taken as the resources that somebody uses. The smallest singular value is that over the rows of `Gamma(0)`;
/// it is 0, and so is the margin, if the resources' rows are linearly dependent (two links that carry the same
/// sources). The proposition says nothing about the filters of the average queues.
///
/// Cost O(g r^2) for g groups and r resources.
///
/// # Errors
/// [`ModelError::Empty`] without sources.
pub fn stability(model: &RenoNetwork) -> Result<Stability, ModelError> {
    if model.groups().is_empty() {
        return Err(ModelError::Empty { what: "source" });
    }
    let gammas = Gamma::new(model);
    let resources = model.problem().resources();
    let of_kind = |kind: Kind| {
        let used = gammas.used.iter().map(|&resource| resources[resource]);
        used.filter(move |resource| resource.kind == kind).map(|resource| resource.capacity).fold(0.0, f64::max)
    };
    let cpu_densities = || {
        let hops = model.groups().iter().flat_map(|group| &group.hops).map(|hop| hop.hop);
        hops.filter(|hop| resources[hop.resource].kind == Kind::Cpu).map(|hop| hop.density)
    };
    let smallest_packet = model.groups().iter().map(|group| group.reno.packet_bits).fold(f64::INFINITY, f64::min);
    // In packets per second; without CPUs 0 over infinity.
    let cpu_rate = of_kind(Kind::Cpu) / cpu_densities().fold(f64::INFINITY, f64::min) / smallest_packet;
    let rate = cpu_rate.max(of_kind(Kind::Link) / smallest_packet);
    let rtt_s = model.groups().iter().map(|group| group.reno.rtt_s).fold(0.0, f64::max);
    let density = cpu_densities().fold(1.0, f64::max);
    let count = gammas.used.len() as f64;
    let limit =
        1.5_f64.sqrt() * gammas.smallest_singular_value().powi(2) / (count * rate * rate * rtt_s.powi(3) * density);
    let mut gains = vec![0.0; resources.len()];
    for &resource in &gammas.used {
        gains[resource] = model.queues()[resource].curve().steepest() * resources[resource].capacity;
    }
    Ok(Stability { gains, limit })
}

/// `Gamma(0)`, equation (31), of the resources that are used.
struct Gamma {
    used: Vec<usize>,
    /// A column per group, times the root of its number of sources: the singular values are those of a column per
    /// source.
    matrix: DMatrix<f64>,
}

impl Gamma {
    fn new(model: &RenoNetwork) -> Self {
        let mut used: Vec<usize> =
            model.groups().iter().flat_map(|group| group.hops.iter().map(|hop| hop.hop.resource)).collect();
        used.sort_unstable();
        used.dedup();
        let mut matrix = DMatrix::zeros(used.len(), model.groups().len());
        for (column, group) in model.groups().iter().enumerate() {
            for hop in &group.hops {
                let row = used.partition_point(|&resource| resource < hop.hop.resource);
                matrix[(row, column)] = hop.hop.density * f64::from(group.reno.sources).sqrt();
            }
        }
        Self { used, matrix }
    }

    /// Over the rows: 0 if there are more rows than columns.
    fn smallest_singular_value(&self) -> f64 {
        if self.matrix.nrows() > self.matrix.ncols() {
            return 0.0;
        }
        self.matrix.singular_values().iter().copied().fold(f64::INFINITY, f64::min)
    }
}
