//! The Reno/DRQ network in time: equations (7)-(15), delay differential equations with constant delays.
//!
//! Heun's method (second order) with a fixed step and a ring of past values between which it interpolates linearly, of
//! second order as well. Steps need not divide the delays. A queue or rate that would fall below 0 stays at 0, as
//! (7)-(9) say.

use super::reno::{Equilibrium, RenoNetwork, marking};
use crate::error::{ModelError, in_range};

/// The variables of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct FluidState {
    /// `x_s` of one source, by group, in bit/s.
    pub rates: Vec<f64>,
    /// By resource: `y_l` of links in bits, `z_k` of CPUs in cycles.
    pub queues: Vec<f64>,
    /// By resource: the same in bits, `y_l` and `v_k`.
    pub backlogs: Vec<f64>,
    /// `y^_l` and `v^_k` by resource, in bits. Where the queue is not filtered it follows the queue.
    pub averages: Vec<f64>,
}

impl FluidState {
    /// Empty queues, and every source at one packet per round-trip time.
    pub fn start(model: &RenoNetwork) -> Self {
        let resources = model.queues().len();
        Self {
            rates: model.groups().iter().map(|group| group.reno.packet_bits / group.reno.rtt_s).collect(),
            queues: vec![0.0; resources],
            backlogs: vec![0.0; resources],
            averages: vec![0.0; resources],
        }
    }

    /// The equilibrium, with every rate multiplied by `factor`.
    ///
    /// # Errors
    /// [`ModelError::Length`] if the equilibrium is another network's.
    pub fn near(model: &RenoNetwork, equilibrium: &Equilibrium, factor: f64) -> Result<Self, ModelError> {
        let rates: Vec<f64> = equilibrium.rates.iter().map(|rate| rate * factor).collect();
        let averages = || equilibrium.averages.clone();
        let mut state = Self { rates, queues: averages(), backlogs: averages(), averages: averages() };
        state.check(model)?;
        let mut arriving = vec![Arrivals::default(); state.queues.len()];
        arrivals(model, |group, _| equilibrium.rates[group], &mut arriving);
        for (queue, arriving) in state.queues.iter_mut().zip(&arriving) {
            *queue *= arriving.work / arriving.bits.max(f64::MIN_POSITIVE);
        }
        Ok(state)
    }

    fn check(&self, model: &RenoNetwork) -> Result<(), ModelError> {
        let (groups, resources) = (model.groups().len(), model.queues().len());
        let vectors = [
            ("vector of rates", &self.rates, groups),
            ("vector of queues", &self.queues, resources),
            ("vector of backlogs", &self.backlogs, resources),
            ("vector of average queues", &self.averages, resources),
        ];
        for (what, values, expected) in vectors {
            if values.len() != expected {
                return Err(ModelError::Length { what, found: values.len(), expected });
            }
            for &value in values {
                in_range("value of the state", value, 0.0..=1e30, "a number from 0 to 1e30")?;
            }
        }
        Ok(())
    }
}

/// What arrives at a resource.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    /// `sum w x`: cycles/s at CPUs, bit/s at links.
    work: f64,
    /// `sum x`, in bit/s.
    bits: f64,
}

/// By resource, with the rate at which (group, number of the hop) arrives.
fn arrivals(model: &RenoNetwork, rate: impl Fn(usize, usize) -> f64, into: &mut [Arrivals]) {
    into.fill(Arrivals::default());
    for (index, group) in model.groups().iter().enumerate() {
        let sources = f64::from(group.reno.sources);
        for (number, hop) in group.hops.iter().enumerate() {
            let sum = &mut into[hop.hop.resource];
            let rate = sources * rate(index, number);
            sum.work += rate * hop.hop.density;
            sum.bits += rate;
        }
    }
}

/// By resource: the least and the greatest density of what passes it.
fn density_bounds(model: &RenoNetwork) -> Vec<(f64, f64)> {
    let mut bounds = vec![(f64::INFINITY, 0.0_f64); model.queues().len()];
    for hop in model.groups().iter().flat_map(|group| &group.hops) {
        let bound = &mut bounds[hop.hop.resource];
        *bound = (bound.0.min(hop.hop.density), bound.1.max(hop.hop.density));
    }
    let used = |bound: (f64, f64)| if bound.1 > 0.0 { bound } else { (1.0, 1.0) };
    bounds.into_iter().map(used).collect()
}

/// A value that is `whole + part` steps old.
#[derive(Clone, Copy, Debug)]
struct Delay {
    whole: usize,
    part: f64,
}

impl Delay {
    fn new(delay_s: f64, step_s: f64) -> Self {
        let steps = delay_s / step_s;
        Self { whole: steps as usize, part: steps.fract() }
    }
}

/// Past values at the steps, the newest at the head.
#[derive(Clone, Debug)]
struct History {
    width: usize,
    rows: usize,
    head: usize,
    values: Vec<f64>,
}

impl History {
    fn new(first: &[f64], rows: usize) -> Self {
        Self { width: first.len(), rows, head: 0, values: first.repeat(rows) }
    }

    fn push(&mut self) {
        self.head = (self.head + 1) % self.rows;
    }

    fn newest(&mut self) -> &mut [f64] {
        let start = self.head * self.width;
        &mut self.values[start..start + self.width]
    }

    fn at(&self, column: usize, delay: Delay) -> f64 {
        let back = |steps: usize| self.values[(self.head + self.rows - steps) % self.rows * self.width + column];
        (1.0 - delay.part) * back(delay.whole) + delay.part * back(delay.whole + 1)
    }
}

/// Forward and backward delay of a hop.
#[derive(Clone, Copy, Debug)]
struct HopDelays {
    forward: Delay,
    backward: Delay,
}

/// The network's evolution from a start; each step costs O(groups x hops + resources).
#[derive(Clone, Debug)]
pub struct Fluid<'a> {
    model: &'a RenoNetwork,
    step_s: f64,
    steps: u64,
    state: FluidState,
    /// By group and hop.
    delays: Vec<Vec<HopDelays>>,
    rates: History,
    premarking: History,
    arriving: Vec<Arrivals>,
    densities: Vec<(f64, f64)>,
    slopes: [FluidState; 2],
    predicted: FluidState,
}

impl<'a> Fluid<'a> {
    /// From `start` with steps of `step_s`. Before that, rates and pre-marking probabilities were always those of the
    /// start.
    ///
    /// A tenth of the shortest round-trip time is a good step; half of it shows the error.
    ///
    /// # Errors
    /// [`ModelError::Empty`] without sources; [`ModelError::Length`] or [`ModelError::Value`] if the start does not fit
    /// the network or has values that are no numbers from 0 to 1e30; [`ModelError::Value`] if the step is not above
    /// 0, longer than half of a round-trip time or of a filter's time constant, or shorter than a millionth of the
    /// longest round-trip time.
    pub fn new(model: &'a RenoNetwork, start: FluidState, step_s: f64) -> Result<Self, ModelError> {
        if model.groups().is_empty() {
            return Err(ModelError::Empty { what: "source" });
        }
        start.check(model)?;
        let rtts = || model.groups().iter().map(|group| group.reno.rtt_s);
        let fastest = model.queues().iter().filter_map(|queue| queue.filter.map(|rate| 1.0 / rate));
        let most = 0.5 * rtts().chain(fastest).fold(f64::INFINITY, f64::min);
        let longest = rtts().fold(0.0, f64::max);
        let expected =
            "at most half the shortest round-trip time and filter constant, at least 1e-6 longest round-trip times";
        let step_s = in_range("step in s", step_s, 1e-6 * longest..=most, expected)?;
        let delays = model.groups().iter().map(|group| {
            let hop_delays = |forward_s: f64| HopDelays {
                forward: Delay::new(forward_s, step_s),
                backward: Delay::new(group.reno.rtt_s - forward_s, step_s),
            };
            group.hops.iter().map(|hop| hop_delays(hop.forward_s)).collect()
        });
        let rows = (longest / step_s) as usize + 3;
        let averages = start.averages.iter().zip(model.queues());
        let premarking: Vec<f64> = averages.map(|(average, queue)| queue.curve.probability(*average)).collect();
        Ok(Self {
            model,
            step_s,
            steps: 0,
            delays: delays.collect(),
            rates: History::new(&start.rates, rows),
            premarking: History::new(&premarking, rows),
            arriving: vec![Arrivals::default(); model.queues().len()],
            densities: density_bounds(model),
            slopes: [start.clone(), start.clone()],
            predicted: start.clone(),
            state: start,
        })
    }

    /// Seconds since the start.
    pub fn time_s(&self) -> f64 {
        self.steps as f64 * self.step_s
    }

    /// The variables now.
    pub fn state(&self) -> &FluidState {
        &self.state
    }

    /// Go on in whole steps until the time is at least `until_s`.
    ///
    /// # Errors
    /// [`ModelError::Solver`] if a variable overflows, which a step too long for the gain can do.
    pub fn advance(&mut self, until_s: f64) -> Result<(), ModelError> {
        while self.time_s() < until_s {
            self.step();
            let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
            if !(finite(&self.state.rates) && finite(&self.state.queues) && finite(&self.state.averages)) {
                let time_s = self.time_s();
                return Err(ModelError::Solver(format!("the fluid model overflows at {time_s} s; try a shorter step")));
            }
        }
        Ok(())
    }

    fn step(&mut self) {
        self.listen();
        slope(self.model, &self.delays, &self.premarking, &self.arriving, &self.state, &mut self.slopes[0]);
        self.combine([self.step_s, 0.0]);
        self.rates.push();
        self.premarking.push();
        self.remember();

        self.listen();
        slope(self.model, &self.delays, &self.premarking, &self.arriving, &self.predicted, &mut self.slopes[1]);
        self.combine([0.5 * self.step_s, 0.5 * self.step_s]);
        self.remember();
        std::mem::swap(&mut self.state, &mut self.predicted);
        self.steps += 1;
    }

    /// What arrives at the resources at the time of the history's head.
    fn listen(&mut self) {
        let (rates, delays) = (&self.rates, &self.delays);
        arrivals(self.model, |group, hop| rates.at(group, delays[group][hop].forward), &mut self.arriving);
    }

    /// The state and so much of the two slopes, not below 0.
    fn combine(&mut self, parts: [f64; 2]) {
        let [first, second] = &self.slopes;
        let sum = |now: &[f64], first: &[f64], second: &[f64], into: &mut [f64]| {
            for (((into, now), first), second) in into.iter_mut().zip(now).zip(first).zip(second) {
                *into = (now + parts[0] * first + parts[1] * second).max(0.0);
            }
        };
        let (now, into) = (&self.state, &mut self.predicted);
        sum(&now.rates, &first.rates, &second.rates, &mut into.rates);
        sum(&now.queues, &first.queues, &second.queues, &mut into.queues);
        sum(&now.averages, &first.averages, &second.averages, &mut into.averages);
        sum(&now.backlogs, &first.backlogs, &second.backlogs, &mut into.backlogs);
        for (resource, queue) in self.model.queues().iter().enumerate() {
            let (least, most) = self.densities[resource];
            let work = into.queues[resource];
            into.backlogs[resource] = into.backlogs[resource].clamp(work / most, work / least);
            if queue.filter.is_none() {
                into.averages[resource] = into.backlogs[resource];
            }
        }
    }

    /// Put the prediction at the head of the history.
    fn remember(&mut self) {
        self.rates.newest().copy_from_slice(&self.predicted.rates);
        let averages = self.predicted.averages.iter().zip(self.model.queues());
        for (premarking, (average, queue)) in self.premarking.newest().iter_mut().zip(averages) {
            *premarking = queue.curve.probability(*average);
        }
    }
}

/// Equations (7)-(9), (11), (14) at `state` and the time of the history's head. What leaves a queue has the mix of what
/// is in it.
fn slope(
    model: &RenoNetwork,
    delays: &[Vec<HopDelays>],
    premarking: &History,
    arriving: &[Arrivals],
    state: &FluidState,
    into: &mut FluidState,
) {
    for (index, group) in model.groups().iter().enumerate() {
        let price = group.price(|resource, hop| premarking.at(resource, delays[index][hop].backward));
        into.rates[index] = group.reno.growth(state.rates[index], marking(price));
    }
    for (resource, arriving) in arriving.iter().enumerate() {
        let capacity = model.problem().resources()[resource].capacity;
        let (work, bits) = (state.queues[resource], state.backlogs[resource]);
        let (work_growth, bits_growth) = if work > 0.0 {
            (arriving.work - capacity, arriving.bits - capacity * bits / work)
        } else if arriving.work > capacity {
            let kept = 1.0 - capacity / arriving.work;
            (arriving.work * kept, arriving.bits * kept)
        } else {
            (0.0, 0.0)
        };
        into.queues[resource] = work_growth;
        into.backlogs[resource] = bits_growth;
        let filter = model.queues()[resource].filter.unwrap_or(0.0);
        into.averages[resource] = filter * (bits - state.averages[resource]);
    }
}
