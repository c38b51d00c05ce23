//! Proposition 2: the fluid model and packets, inside the condition for stability and well outside.

use std::sync::atomic::AtomicBool;

use dovetail_model::drq::{
    Equilibrium, Fluid, FluidState, Hop, RedCurve, RedQueue, Reno, RenoHop, RenoNetwork, stability,
};
use dovetail_sim::network::{Packet, Tap};
use dovetail_units::Time;

use super::super::bench::Bench;
use super::super::expected::Findings;
use super::super::{ReproduceError, wrong};
use super::sweep::most;
use dovetail_experiment::network::{NetworkScenario, Scheme, simulate};
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{Level, LineChart, LinePanel, Quantity, Series, lines};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/drq/stability.toml");

const PACKET_BITS: f64 = 4000.0;
/// Cycles per bit of the two classes.
const DENSITIES: [f64; 2] = [0.5, 2.0];
/// RED's averaging weight, that of section IV.
const WEIGHT: f64 = 1e-4;
/// Samples of every run.
const SAMPLES: usize = 200;
/// Runs in packets, with seeds from 1 on.
const SEEDS: u64 = 5;

/// RED's curve in packets.
#[derive(Clone, Copy)]
struct Curve {
    min: u32,
    max: u32,
    max_p: f64,
}

/// A network and how long it is watched.
pub(super) struct Setting {
    /// Flows of each class.
    flows: u32,
    /// Rate of the link in bit/s, and of the CPU in cycles/s.
    rate: u32,
    rtt_ms: u32,
    curve: Curve,
    /// How long the fluid model runs, and with what step, in parts of the round trip.
    fluid_s: f64,
    step: f64,
    /// How long the packets run.
    packets_s: f64,
}

/// Rates of the classes over time, in parts of the mean of the second half.
#[derive(Clone, Default)]
struct Course {
    rates: [Vec<f64>; 2],
}

impl Course {
    /// Sampled rates of both classes.
    fn new(sampled: [Vec<f64>; 2]) -> Self {
        let relative = |rates: Vec<f64>| {
            let late = &rates[rates.len() / 2..];
            let mean = late.iter().sum::<f64>() / late.len() as f64;
            rates.iter().map(|rate| rate / mean).collect()
        };
        Self { rates: sampled.map(relative) }
    }

    /// The larger of the classes' standard deviations in the second half, in parts of the mean.
    fn swing(&self) -> f64 {
        let deviation = |rates: &Vec<f64>| {
            let late = &rates[rates.len() / 2..];
            (late.iter().map(|rate| (rate - 1.0).powi(2)).sum::<f64>() / late.len() as f64).sqrt()
        };
        most(self.rates.iter().map(deviation))
    }
}

impl Setting {
    /// Inside the condition: one piece of a curve, half as steep as Proposition 2 allows.
    pub fn inside() -> Result<Self, ReproduceError> {
        let with = |max| Self {
            flows: 10,
            rate: 5_000_000,
            rtt_ms: 40,
            curve: Curve { min: 0, max, max_p: 1.0 },
            // Both are long against the way to the equilibrium.
            fluid_s: 2500.0,
            step: 0.5,
            packets_s: 2500.0,
        };
        // The slope of the curve goes with 1 / max.
        let (unit, limit) = with(1).condition()?;
        Ok(with((2.0 * unit / limit).ceil() as u32))
    }

    /// Well outside: the rates, the round trip, the number of flows and RED's curve of section IV.
    pub fn outside() -> Self {
        let curve = Curve { min: 50, max: 550, max_p: 0.1 };
        Self { flows: 20, rate: 40_000_000, rtt_ms: 40, curve, fluid_s: 100.0, step: 0.05, packets_s: 100.0 }
    }

    fn rtt_s(&self) -> f64 {
        f64::from(self.rtt_ms) / 1000.0
    }

    /// The fluid model. The way to the box is a quarter of the round trip, as in the simulator.
    fn model(&self) -> Result<RenoNetwork, ReproduceError> {
        let Curve { min, max, max_p } = self.curve;
        let bits = |packets: u32| f64::from(packets) * PACKET_BITS;
        let packet_s = PACKET_BITS / f64::from(self.rate);
        let queue = RedQueue::averaged(RedCurve::new(bits(min), bits(max), max_p)?, WEIGHT, packet_s)?;
        let mut model = RenoNetwork::new();
        let (cpu, link) = (model.add_cpu(f64::from(self.rate), queue)?, model.add_link(f64::from(self.rate), queue)?);
        let rtt_s = self.rtt_s();
        for density in DENSITIES {
            let reno = Reno { sources: self.flows, packet_bits: PACKET_BITS, packets_per_ack: 1.0, rtt_s };
            let hops = [Hop::cpu(cpu, density), Hop::link(link)].map(|hop| RenoHop { hop, forward_s: 0.25 * rtt_s });
            model.add_sources(reno, &hops)?;
        }
        Ok(model)
    }

    /// Both sides of Proposition 2's condition.
    fn condition(&self) -> Result<(f64, f64), ReproduceError> {
        let found = stability(&self.model()?)?;
        Ok((most(found.gains), found.limit))
    }

    /// The fluid model from the equilibrium's rates and half its queues.
    fn fluid(&self) -> Result<(Course, Equilibrium), ReproduceError> {
        let model = self.model()?;
        let equilibrium = model.equilibrium()?;
        let mut start = FluidState::near(&model, &equilibrium, 1.0)?;
        for queues in [&mut start.queues, &mut start.backlogs, &mut start.averages] {
            queues.iter_mut().for_each(|queue| *queue *= 0.5);
        }
        let mut fluid = Fluid::new(&model, start, self.step * self.rtt_s())?;
        let mut sampled = [Vec::new(), Vec::new()];
        for sample in 1..=SAMPLES {
            fluid.advance(self.fluid_s * sample as f64 / SAMPLES as f64)?;
            sampled.iter_mut().zip(&fluid.state().rates).for_each(|(into, &rate)| into.push(rate));
        }
        Ok((Course::new(sampled), equilibrium))
    }

    /// The same in packets with this seed, from slow start; and the mean rates of one flow of each class in the second
    /// half. A wrong scheme stands in for DRQ if that is wanted.
    fn packets(&self, seed: u64, wrong: bool, cancel: &AtomicBool) -> Result<(Course, [f64; 2]), ReproduceError> {
        let Curve { min, max, max_p } = self.curve;
        let overrides = [
            format!("hop.L.cpu=\"{} cycles/s\"", self.rate),
            format!("hop.L.rate=\"{} bps\"", self.rate),
            format!("tcp.light.count={}", self.flows),
            format!("tcp.heavy.count={}", self.flows),
            format!("tcp.light.rtt=\"{} ms\"", self.rtt_ms),
            format!("tcp.heavy.rtt=\"{} ms\"", self.rtt_ms),
            format!("schedulers=[\"drq:min={min},max={max},max_p={max_p},weight={WEIGHT}\"]"),
            format!("until=\"{} s\"", self.packets_s),
        ];
        let scenario = NetworkScenario::parse("drq/stability.toml", SCENARIO, &overrides)?;
        let schedulers = scenario.schedulers();
        let schedulers = if wrong { wrong::schemes(&schedulers) } else { schedulers };
        let scheme = scenario.schemes(&schedulers)?.remove(0);
        self.simulated(&scenario.with_seed(seed), &scheme, cancel)
    }

    fn simulated(
        &self,
        scenario: &NetworkScenario,
        scheme: &Scheme,
        cancel: &AtomicBool,
    ) -> Result<(Course, [f64; 2]), ReproduceError> {
        let interval_s = self.packets_s / SAMPLES as f64;
        let mut sent = Sent { interval_s, packets: [vec![0.0; SAMPLES], vec![0.0; SAMPLES]] };
        simulate(scenario, scheme, scenario.seed(), cancel, &mut sent)?;
        let rate = |packets: &Vec<f64>| {
            let late = &packets[SAMPLES / 2..];
            late.iter().sum::<f64>() * PACKET_BITS / (late.len() as f64 * interval_s) / f64::from(self.flows)
        };
        let rates = [rate(&sent.packets[0]), rate(&sent.packets[1])];
        Ok((Course::new(sent.packets), rates))
    }
}

/// Counts what the sources of each class send in each interval.
struct Sent {
    interval_s: f64,
    packets: [Vec<f64>; 2],
}

impl Tap for Sent {
    fn left(&mut self, now: Time, hop: u32, packet: &Packet, _number: impl FnOnce() -> u64) {
        let sample = (now.as_secs_f64() / self.interval_s) as usize;
        if hop == 0
            && let Some(count) = self.packets[packet.class as usize].get_mut(sample)
        {
            *count += 1.0;
        }
    }
}

/// What came of a setting.
pub(super) struct Outcome {
    /// Proposition 2's limit over the largest gain.
    margin: f64,
    fluid: Course,
    /// One for every seed.
    packets: Vec<Course>,
    /// For every seed, the largest distance of a class's mean rate in packets from the equilibrium's, in parts of it.
    distances: Vec<f64>,
}

impl Outcome {
    /// Of the fluid model and of packets in this setting.
    pub fn of(setting: &Setting, bench: &Bench<'_>) -> Result<Self, ReproduceError> {
        let (gain, limit) = setting.condition()?;
        let (fluid, equilibrium) = setting.fluid()?;
        let seeds: Vec<u64> = (1..=SEEDS).collect();
        let (wrong, cancel) = (bench.settings.wrong, bench.settings.cancel);
        let runs = bench.parallel(&seeds, |&seed| setting.packets(seed, wrong, cancel))?;
        let distance = |(_, rates): &(Course, [f64; 2])| {
            most(rates.iter().zip(&equilibrium.rates).map(|(rate, fair)| (rate / fair - 1.0).abs()))
        };
        let distances = runs.iter().map(distance).collect();
        let packets = runs.into_iter().map(|(course, _)| course).collect();
        Ok(Self { margin: limit / gain, fluid, packets, distances })
    }

    /// How packets swing, over the seeds, in per cent.
    fn packet_swing(&self) -> Estimate {
        Estimate::of(&self.packets.iter().map(|course| 100.0 * course.swing()).collect::<Vec<f64>>())
    }
}

/// The confidence of an estimate over the seeds, in words.
fn over_seeds(estimate: Estimate) -> String {
    format!("+- {:.1} over {SEEDS} seeds", estimate.half())
}

pub fn reproduce(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let settings = [Setting::inside()?, Setting::outside()];
    let [inside, outside] = settings.each_ref().map(|setting| Outcome::of(setting, bench));
    findings(&inside?, &outside?)
}

/// Of a run inside the condition and one outside.
pub(super) fn findings(inside: &Outcome, outside: &Outcome) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    for (outcome, label) in [(inside, "inside"), (outside, "outside")] {
        findings.found(format!("{label}-margin"), outcome.margin);
        findings.found(format!("{label}-fluid"), 100.0 * outcome.fluid.swing());
        let swing = outcome.packet_swing();
        findings.noted(format!("{label}-packets"), swing.mean, over_seeds(swing));
    }
    let far = Estimate::of(&inside.distances.iter().map(|part| 100.0 * part).collect::<Vec<f64>>());
    findings.noted("inside-rates", far.mean, over_seeds(far));
    findings.picture("drq-stability.svg", picture(inside, outside)?);
    Ok(findings)
}

fn picture(inside: &Outcome, outside: &Outcome) -> Result<String, ReproduceError> {
    let panel = |(heading, course): (String, &Course)| LinePanel {
        heading,
        lines: (course.rates.iter().zip(DENSITIES))
            .map(|(rates, density)| {
                let point = |(k, &rate): (usize, &f64)| ((k + 1) as f64 / SAMPLES as f64, rate);
                Series { name: format!("w = {density}"), points: rates.iter().enumerate().map(point).collect() }
            })
            .collect(),
    };
    let of = |outcome: &Outcome| match outcome.margin {
        near if near > 0.1 => format!("limit / gain {near:.1}"),
        far => format!("limit / gain {far:.1e}"),
    };
    let first = |outcome: &'_ Outcome| outcome.packets.first().map_or_else(Course::default, Clone::clone);
    let (packets_inside, packets_outside) = (first(inside), first(outside));
    let panels = [
        (format!("(a) fluid, inside: {}", of(inside)), &inside.fluid),
        (format!("(b) packets, inside, first seed: {}", of(inside)), &packets_inside),
        (format!("(c) fluid, outside: {}", of(outside)), &outside.fluid),
        (format!("(d) packets, outside, first seed: {}", of(outside)), &packets_outside),
    ];
    Ok(lines(&LineChart {
        levels: vec![Level { at: 1.0, name: "the mean".into() }],
        title: "Proposition 2: rates of the classes, over their means in the second half".into(),
        x: Quantity { label: "Time (% of the run)".into(), factor: 100.0 },
        y: Quantity { label: "Rate / late mean".into(), factor: 1.0 },
        panels: panels.map(panel).into(),
    })?)
}

#[cfg(test)]
mod tests {
    use super::super::super::{expected, with_bench};
    use super::*;

    /// Equation (32) by hand: Gamma Gamma' = [[42.5, 25], [25, 20]], Lambda_max = 5e6 / 0.5 / 4000, |R| = 2, w_max = 2,
    /// 40 ms.
    #[test]
    fn the_curve_inside_is_half_as_steep_as_equation_32_allows() {
        let smallest = 31.25 - (11.25_f64.powi(2) + 25.0_f64.powi(2)).sqrt();
        let limit = 1.5_f64.sqrt() * smallest / (2.0 * 2500.0_f64.powi(2) * 0.04_f64.powi(3) * 2.0);
        let inside = Setting::inside().unwrap();
        assert!((f64::from(inside.curve.max) - 2.0 * 5e6 / PACKET_BITS / limit).abs() <= 1.0);
        let (gain, limit) = inside.condition().unwrap();
        assert!((limit / gain - 2.0).abs() < 1e-5);
    }

    #[test]
    fn a_swing_is_the_standard_deviation_of_the_second_half() {
        // Ten whole periods of a sine of a tenth of the mean; the other class starts far off and is still then.
        let sine = (0..200).map(|k| 7.0 * (1.0 + 0.1 * (std::f64::consts::TAU * f64::from(k) / 10.0).sin())).collect();
        let still = (0..200).map(|k| if k < 100 { 50.0 } else { 3.0 }).collect();
        assert!((Course::new([sine, still]).swing() - 0.1 / 2.0_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn short_runs_measure_what_is_expected() {
        with_bench(|bench| {
            let short = |setting: Setting| Setting { fluid_s: 2.0, packets_s: 2.0, ..setting };
            let of = |setting| Outcome::of(&short(setting), bench).unwrap();
            let findings = findings(&of(Setting::inside().unwrap()), &of(Setting::outside())).unwrap();
            expected::assert_covered("drq-stability", &findings);
        });
    }
}
