//! The resize factor of a flow, learnt as it goes (PCFQ paper, section 2.1; gamma in equation (3) of both papers).

use super::{Keyed, PLACES, smoothed};

/// Bytes after processing per byte before it, for every key on its own: the ratio of the averages, both by exponential
/// smoothing, so that a flow of many small packets and few large ones is right in bytes. Before the first observation
/// it is one, as in the paper; the first observation is taken whole.
///
/// Averages count 2^-20 bytes and are rounded to the nearest; see [`Ses`](super::Ses) for what that makes.
#[derive(Clone, Debug)]
pub struct Resize {
    alpha: u32,
    /// Before and after.
    means: Keyed<[u64; 2]>,
}

impl Resize {
    /// With this part of the newest observation, in millionths: 1 to 1,000,000. Values beyond count as the nearest of
    /// these.
    pub fn new(alpha: u32) -> Self {
        Self { alpha: alpha.clamp(1, 1_000_000), means: Keyed::new() }
    }

    /// How many bytes will come out of processing `size` of them, to the nearest. O(1).
    pub fn expected(&self, key: u32, size: u32) -> u32 {
        let Some([before, after]) = self.means.get(key).map(|means| means.map(u128::from)) else { return size };
        if before == 0 {
            return size;
        }
        u32::try_from((u128::from(size) * after + before / 2) / before).unwrap_or(u32::MAX)
    }

    /// The factor, for reports.
    pub fn factor(&self, key: u32) -> f64 {
        match self.means.get(key) {
            Some(&[before, after]) if before > 0 => after as f64 / before as f64,
            _ => 1.0,
        }
    }

    /// A packet of `before` bytes has become one of `after`. O(1), amortised where the key is a new one.
    pub fn observe(&mut self, key: u32, before: u32, after: u32) {
        let seen = [before, after].map(|bytes| u64::from(bytes) << PLACES);
        let alpha = self.alpha;
        let means = self.means.slot(key);
        *means = Some(means.map_or(seen, |old| [0, 1].map(|at| smoothed(old[at], seen[at], alpha))));
    }

    /// The key's flow is gone.
    pub fn forget(&mut self, key: u32) {
        self.means.forget(key);
    }
}
