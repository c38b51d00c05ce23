//! Every latency, in few bytes.

/// From here on latencies do not fit beside the others.
const LARGE: u32 = u32::MAX;

/// Latencies in nanoseconds, per flow in ascending order: 4 bytes each, and 16 more of those from 4.3 s on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Exact {
    /// By flow, where its values begin; and where those of the last one end.
    starts: Vec<u32>,
    /// [`LARGE`] stands for a value in `large`.
    values: Vec<u32>,
    /// By flow and value.
    large: Vec<(u32, u64)>,
}

impl Exact {
    /// Those of one flow, ascending; none for an unknown flow.
    pub fn of_flow(&self, flow: usize) -> impl Iterator<Item = u64> {
        let range = self
            .starts
            .get(flow)
            .zip(self.starts.get(flow + 1))
            .map_or(0..0, |(&from, &to)| from as usize..to as usize);
        let values = &self.values[range];
        let small = values.partition_point(|&value| value < LARGE);
        let first = match values.len() - small {
            0 => 0,
            _ => self.large.partition_point(|&(other, _)| (other as usize) < flow),
        };
        let large = self.large[first..].iter().take(values.len() - small).map(|&(_, value)| value);
        values[..small].iter().map(|&value| value.into()).chain(large)
    }

    /// Those of several flows together, ascending.
    pub fn of_flows(&self, flows: impl IntoIterator<Item = usize>) -> Vec<u64> {
        let mut merged: Vec<u64> = flows.into_iter().flat_map(|flow| self.of_flow(flow)).collect();
        merged.sort_unstable();
        merged
    }

    /// Those of all flows together, ascending.
    pub fn of_all(&self) -> Vec<u64> {
        let mut small: Vec<u32> = self.values.iter().copied().filter(|&value| value < LARGE).collect();
        small.sort_unstable();
        let mut large: Vec<u64> = self.large.iter().map(|&(_, value)| value).collect();
        large.sort_unstable();
        small.into_iter().map(u64::from).chain(large).collect()
    }
}

/// Latencies in the order in which they come.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    samples: Vec<(u32, u32)>,
    large: Vec<(u32, u64)>,
}

impl Samples {
    #[inline]
    pub fn push(&mut self, flow: u32, latency: u64) {
        let small = u32::try_from(latency).unwrap_or(LARGE);
        if small == LARGE {
            self.large.push((flow, latency));
        }
        self.samples.push((flow, small));
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Sort by flow (counting), then each flow's.
    pub fn by_flow(self, flows: usize) -> Exact {
        let Self { samples, mut large } = self;
        let mut starts = vec![0_u32; flows + 1];
        for &(flow, _) in &samples {
            starts[flow as usize + 1] += 1;
        }
        for i in 0..flows {
            starts[i + 1] += starts[i];
        }
        let mut values = vec![0; samples.len()];
        // Each start moves on to the next flow's.
        for &(flow, latency) in &samples {
            let at = &mut starts[flow as usize];
            values[*at as usize] = latency;
            *at += 1;
        }
        drop(samples);
        starts.rotate_right(1);
        starts[0] = 0;
        for flow in 0..flows {
            values[starts[flow] as usize..starts[flow + 1] as usize].sort_unstable();
        }
        large.sort_unstable();
        Exact { starts, values, large }
    }
}
