//! The same scenario with other costs or more load.

use dovetail_sched::cost::Linear;
use dovetail_sim::{Cost, Pattern, Source, TimeScale, Workload};
use dovetail_units::{Duration, PacketRate, ResourceVec};

/// What is different.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Variation {
    /// Processing times, but not those of links, are multiplied by this: above 0.
    pub costs: f64,
    /// So many times as many packets come per second: above 0. Limits of numbers of packets grow with it, those of
    /// time stay.
    pub load: f64,
}

impl Variation {
    /// Nothing is different.
    pub const NONE: Self = Self { costs: 1.0, load: 1.0 };

    /// Change a workload so.
    pub(super) fn apply<const M: usize>(&self, workload: &mut Workload<M>) {
        if self.costs != 1.0 {
            for cost in workload.flows.iter_mut().flat_map(|flow| &mut flow.cost) {
                if let Cost::Linear(linear) = cost {
                    let (per_byte, fixed) = linear.as_picos();
                    *linear = Linear::from_picos(times(per_byte, self.costs), times(fixed, self.costs));
                }
            }
        }
        workload.sources.iter_mut().for_each(|source| self.change(source));
    }

    fn change<const M: usize>(&self, source: &mut Source<M>) {
        match source {
            Source::List(list) => {
                let longer = |cost: &ResourceVec<M>| ResourceVec(cost.0.map(|time| self.longer(time)));
                list.costs = list.costs.as_ref().map(|costs| costs.iter().map(longer).collect());
                let TimeScale { numerator, denominator } = list.scale;
                list.scale = TimeScale { numerator, denominator: times(denominator, self.load).max(1) };
            }
            Source::Generator(generator) => {
                let faster = |rate: PacketRate| self.faster(rate);
                generator.pattern = match generator.pattern {
                    Pattern::Constant(rate) => Pattern::Constant(faster(rate)),
                    Pattern::Poisson(rate) => Pattern::Poisson(faster(rate)),
                    Pattern::Jittered { rate, jitter } => Pattern::Jittered {
                        rate: faster(rate),
                        // At most an interval.
                        jitter: Duration::from_nanos((jitter.as_nanos() as f64 / self.load) as u64),
                    },
                    Pattern::OnOff { rate, on, off } => Pattern::OnOff { rate: faster(rate), on, off },
                };
                generator.packets = generator.packets.map(|packets| times(packets, self.load));
            }
        }
    }

    fn longer(&self, time: Duration) -> Duration {
        Duration::from_nanos(times(time.as_nanos(), self.costs))
    }

    fn faster(&self, rate: PacketRate) -> PacketRate {
        PacketRate::from_micro_pps((rate.as_pps() * self.load * 1e6).round() as u64).unwrap_or(rate)
    }
}

fn times(number: u64, factor: f64) -> u64 {
    if factor == 1.0 { number } else { (number as f64 * factor).round() as u64 }
}
