//! Latency distributions: of every packet, or, where packets are very many, of a digest.

mod digest;
mod exact;

use digest::Digest;
use exact::Exact;

/// So many latencies of a run are kept as they are. More are kept in a digest.
pub const MOST_EXACT: usize = 1 << 23;
/// A digest has no more entries than that, or than so many for each flow, unless that would be too coarse.
pub const MOST_OF_A_FLOW: usize = 64;
/// Of a digest, so many are gathered before they are added to it.
const GATHERED: usize = 1 << 21;

/// What is known of a set of latencies, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LatencySummary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the set (not of a sample from a larger one).
    pub std: f64,
    /// Median, as all quantiles the smallest value that is not below the wanted part of all (nearest rank).
    pub p50: f64,
    /// 90 % quantile.
    pub p90: f64,
    /// 99 % quantile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl LatencySummary {
    /// Of latencies in nanoseconds, in ascending order; `None` of none.
    pub fn of_sorted(values: &[u64]) -> Option<Self> {
        let moments = Moments::of(values);
        Self::new(&moments, |rank| values[rank as usize])
    }

    /// Of so many as these moments say, where `nth` tells the one of a rank, from 0.
    fn new(moments: &Moments, nth: impl Fn(u64) -> u64) -> Option<Self> {
        let seconds = |ns: f64| ns / 1e9;
        let quantile = |percent: u128| {
            let rank = (u128::from(moments.count) * percent).div_ceil(100) as u64;
            seconds(nth(rank.saturating_sub(1)) as f64)
        };
        (moments.count > 0).then(|| Self {
            mean: seconds(moments.mean),
            std: seconds((moments.squares / moments.count as f64).sqrt()),
            p50: quantile(50),
            p90: quantile(90),
            p99: quantile(99),
            max: seconds(moments.max as f64),
        })
    }
}

/// How many values there are, and what is known of them all.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Moments {
    count: u64,
    mean: f64,
    /// Sum of the squares of their differences from the mean.
    squares: f64,
    max: u64,
}

impl Moments {
    fn of(values: &[u64]) -> Self {
        let count = values.len() as u64;
        let mean = values.iter().map(|&v| u128::from(v)).sum::<u128>() as f64 / count.max(1) as f64;
        let squares = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>();
        Self { count, mean, squares, max: values.iter().copied().max().unwrap_or(0) }
    }

    /// Of both together (Chan, Golub, LeVeque, The American Statistician 37(3), 1983).
    fn and(self, other: Self) -> Self {
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { other } else { self };
        }
        let count = self.count + other.count;
        let part = other.count as f64 / count as f64;
        let apart = other.mean - self.mean;
        Self {
            count,
            mean: self.mean + apart * part,
            squares: self.squares + other.squares + apart * apart * self.count as f64 * part,
            max: self.max.max(other.max),
        }
    }
}

/// Latencies of the packets that a run delivered, flow by flow: of up to [`MOST_EXACT`] packets as they were, of more
/// rounded, by a part of [`error`](Self::error) at most.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Latencies(Kept);

#[derive(Clone, PartialEq, Debug)]
enum Kept {
    Exact(Exact),
    Digest(Digest),
}

impl Default for Kept {
    fn default() -> Self {
        Self::Exact(Exact::default())
    }
}

impl Latencies {
    /// By which part of it a latency, and so a quantile, may be wrong: 0 where all packets are kept. Means, deviations
    /// and the longest latencies are exact.
    pub fn error(&self) -> f64 {
        match &self.0 {
            Kept::Exact(_) => 0.0,
            Kept::Digest(digest) => digest.error(),
        }
    }

    /// Those of one flow; none for an unknown flow.
    pub fn of_flow(&self, flow: usize) -> Distribution {
        match &self.0 {
            Kept::Exact(exact) => Distribution::of_sorted(exact.of_flow(flow).collect()),
            Kept::Digest(digest) => digest.of_flow(flow),
        }
    }

    /// Those of several flows together.
    pub fn of_flows(&self, flows: impl IntoIterator<Item = usize>) -> Distribution {
        match &self.0 {
            Kept::Exact(exact) => Distribution::of_sorted(exact.of_flows(flows)),
            Kept::Digest(digest) => digest.of_flows(flows),
        }
    }

    /// Those of all flows together.
    pub fn of_all(&self) -> Distribution {
        match &self.0 {
            Kept::Exact(exact) => Distribution::of_sorted(exact.of_all()),
            Kept::Digest(digest) => digest.of_flows(0..digest.flows()),
        }
    }
}

/// Latencies of some packets together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Distribution {
    /// In nanoseconds, ascending.
    values: Vec<u64>,
    /// By value, how many packets have at most that; empty where each value is of one packet.
    ranks: Vec<u64>,
    /// Of the packets, not of values that are rounded.
    moments: Moments,
}

impl Distribution {
    /// Of these values, each of one packet.
    fn of_sorted(values: Vec<u64>) -> Self {
        Self { moments: Moments::of(&values), values, ranks: Vec::new() }
    }

    /// How many packets.
    pub fn len(&self) -> u64 {
        self.moments.count
    }

    /// Whether there is no packet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The latency in nanoseconds of which so many are no larger, and come before it in order; the longest from
    /// [`len`](Self::len) - 1 on, 0 of none. O(log n).
    pub fn nth(&self, rank: u64) -> u64 {
        if rank.saturating_add(1) >= self.len() {
            return self.moments.max;
        }
        let at = if self.ranks.is_empty() { rank as usize } else { self.ranks.partition_point(|&upto| upto <= rank) };
        self.values.get(at).copied().unwrap_or(0)
    }

    /// All in nanoseconds, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let each = |at: usize| match self.ranks.get(at) {
            None => 1,
            Some(upto) => upto - at.checked_sub(1).map_or(0, |before| self.ranks[before]),
        };
        self.values.iter().enumerate().flat_map(move |(at, &value)| (0..each(at)).map(move |_| value))
    }

    /// What is known of them; `None` of none.
    pub fn summary(&self) -> Option<LatencySummary> {
        LatencySummary::new(&self.moments, |rank| self.nth(rank))
    }
}

/// Collects one latency per delivered packet. Memory: 8 bytes each, or 24 from 4.3 s on, and 12 at the end, up to
/// [`MOST_EXACT`]; then twice that of a digest.
#[derive(Clone, Debug)]
pub(crate) struct LatencySamples {
    samples: exact::Samples,
    digest: Option<Digest>,
    flows: usize,
    /// So many are gathered before they are added to the digest.
    most: usize,
}

impl LatencySamples {
    /// Of so many flows.
    pub fn new(flows: usize) -> Self {
        Self { samples: exact::Samples::default(), digest: None, flows, most: MOST_EXACT }
    }

    #[inline]
    pub fn push(&mut self, flow: u32, latency: u64) {
        if self.samples.len() == self.most {
            self.digest();
        }
        self.samples.push(flow, latency);
    }

    /// Add what was gathered to the digest.
    #[cold]
    fn digest(&mut self) {
        let gathered = std::mem::take(&mut self.samples).by_flow(self.flows);
        let digest = self.digest.take().unwrap_or_else(|| Digest::new(self.flows));
        self.digest = Some(digest.with(&gathered));
        self.most = self.most.min(GATHERED);
    }

    /// By flow.
    pub fn into_latencies(mut self) -> Latencies {
        if self.digest.is_some() {
            self.digest();
        }
        Latencies(match self.digest {
            Some(digest) => Kept::Digest(digest),
            None => Kept::Exact(self.samples.by_flow(self.flows)),
        })
    }
}

#[cfg(test)]
mod tests;
