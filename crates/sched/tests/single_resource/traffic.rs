//! What arrives.

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Nanoseconds.
    pub at: u64,
    pub flow: usize,
    /// Nanoseconds on the shared resource, at least 1.
    pub time: u64,
}

/// Flows and their packets in order of arrival.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Thousandths.
    pub weights: Vec<u32>,
    pub arrivals: Vec<Arrival>,
}

impl Traffic {
    /// Everything arrives at once: per flow a weight in thousandths, how many packets, and their time.
    pub fn at_once(flows: &[(u32, usize, u64)]) -> Self {
        let packets =
            |(flow, &(_, count, time)): (usize, &(u32, usize, u64))| vec![Arrival { at: 0, flow, time }; count];
        let arrivals = flows.iter().enumerate().flat_map(packets).collect();
        Self { weights: flows.iter().map(|f| f.0).collect(), arrivals }
    }

    /// The longest packet of the flow.
    pub fn longest(&self, flow: usize) -> f64 {
        self.arrivals.iter().filter(|a| a.flow == flow).map(|a| a.time).max().unwrap_or(0) as f64
    }

    /// The longest packet of any flow.
    pub fn longest_of_all(&self) -> f64 {
        (0..self.weights.len()).map(|flow| self.longest(flow)).fold(0.0, f64::max)
    }

    pub fn weight(&self, flow: usize) -> f64 {
        f64::from(self.weights[flow]) / 1000.0
    }

    /// The flow's part of the sum of all weights.
    pub fn rate(&self, flow: usize) -> f64 {
        let all: f64 = (0..self.weights.len()).map(|f| self.weight(f)).sum();
        self.weight(flow) / all
    }

    /// Random flows of many characters, some of them malicious; up to `most` nanoseconds per packet.
    pub fn random(seed: u64, most: u64) -> Self {
        let mut random = Random(seed);
        let flows = 2 + random.below(7) as usize;
        let weights: Vec<u32> =
            (0..flows).map(|_| [1000, 1000, 2000, 3000, 10_000, 500, 100][random.below(7) as usize]).collect();
        // Mean load per flow: together between half and twice the capacity.
        let load = (1.0 + 3.0 * random.fraction()) / (2 * flows) as f64;
        let mut arrivals: Vec<Arrival> =
            (0..flows).flat_map(|flow| Self::flow(flow, load, most, &mut random)).collect();
        arrivals.sort_by_key(|a| a.at);
        Self { weights, arrivals }
    }

    fn flow(flow: usize, load: f64, most: u64, random: &mut Random) -> Vec<Arrival> {
        let character = random.below(5);
        let (smallest, largest) =
            [(1, most), (most, most), (1, 1 + most / 50), (most / 2, most)][random.below(4) as usize];
        let (mut at, mut arrivals) = (0, Vec::new());
        while arrivals.len() < 150 {
            let burst = match character {
                0 => 1,
                1 => 1 + random.below(20),
                // All at once, as an aggressive flow would.
                2 => 150,
                _ => 1 + random.below(3),
            };
            let mut sum = 0;
            for _ in 0..burst {
                let time = smallest.max(1) + random.below(largest - smallest.max(1) + 1);
                arrivals.push(Arrival { at, flow, time });
                sum += time;
            }
            let gap = sum as f64 / load;
            // Regular, or exponential so that busy periods end, or with long pauses.
            at += match character {
                3 => gap as u64,
                4 if random.below(10) == 0 => (20.0 * gap) as u64,
                _ => (-gap * (1.0 - random.fraction()).ln()) as u64,
            };
        }
        arrivals
    }
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
