//! What the disciplines that share one resource of the pipeline have in common: which resource, tags, and a fluid clock.
//!
//! A tag is a virtual time: processing time on the resource per weight, in ticks of 2^-16 ns. What a division leaves below one tick
//! is carried to the flow's next packet, so the sum of a flow's charges is right to one tick however long it runs. Tags are
//! 64-bit integers; when the virtual time reaches 2^63 all are lowered by 2^62: once in 19 hours of virtual time.
//!
//! A packet that needs no time on the resource counts as one nanosecond there: with nothing at all, a flow of such packets would
//! never give way.

mod clock;

use alloc::format;

use dovetail_units::{Duration, Weight};

use crate::catalog::Parameter;
use crate::spec::{Spec, SpecError};

pub use clock::FluidClock;

/// A tag counts 2^-16 ns.
pub(crate) const TICK_BITS: u32 = 16;
/// Ticks times thousandths of weight in a nanosecond.
const PER_NANO: i64 = 1000 << TICK_BITS;
/// The most that one step of a tag can be.
pub(crate) const LONGEST_STEP: i64 = 1 << 60;
/// When the virtual time reaches this, all tags are lowered by half of it.
pub(crate) const REBASE_AT: u64 = 1 << 63;

/// The parameter that says which resource is shared.
pub const RESOURCE: Parameter = Parameter {
    name: "resource",
    value: "0, 1, .. in the order of the pipeline",
    default: "the last",
    meaning: "the resource that is shared; the others are not looked at",
    settable: false,
};

/// The resource that `spec` names, of `M`; the last one if it names none.
pub(crate) fn resource<const M: usize>(spec: &Spec) -> Result<usize, SpecError> {
    let last = M.saturating_sub(1);
    let Some(value) = spec.value(RESOURCE.name) else { return Ok(last) };
    let expected = format!("a resource from 0 to {last}, counted along the pipeline");
    value.parse().ok().filter(|&r| r <= last).ok_or_else(|| SpecError::bad_value(RESOURCE.name, value, &expected))
}

/// What a packet of this processing time is charged, in nanoseconds: at least one.
pub(crate) fn charged(time: Duration) -> i64 {
    time.as_nanos().clamp(1, 1 << 62) as i64
}

/// `nanos / weight` and `part` of a tick: whole ticks, and the part of a tick that is left, in thousandths of the weight.
pub(crate) fn virtual_time(nanos: i64, weight: Weight, part: u32) -> (i64, u32) {
    let milli = i64::from(weight.as_milli());
    let part = i64::from(part).min(milli - 1);
    let (whole, part) = match nanos.checked_mul(PER_NANO).and_then(|n| n.checked_add(part)) {
        Some(n) => (n.div_euclid(milli), n.rem_euclid(milli)),
        None => {
            let (n, milli) = (i128::from(nanos) * i128::from(PER_NANO) + i128::from(part), i128::from(milli));
            let longest = i128::from(LONGEST_STEP);
            (n.div_euclid(milli).clamp(-longest, longest) as i64, n.rem_euclid(milli) as i64)
        }
    };
    (whole.clamp(-LONGEST_STEP, LONGEST_STEP), part as u32)
}

/// What a packet is charged on `R` resources, in nanoseconds: one on the first if it needs no time at all.
pub(crate) fn charges<const R: usize>(times: [Duration; R]) -> [i64; R] {
    let mut nanos = times.map(|time| time.as_nanos().min(1 << 62) as i64);
    if let (Some(first), true) = (nanos.first_mut(), times.iter().all(|&time| time == Duration::ZERO)) {
        *first = 1;
    }
    nanos
}

/// A virtual time, saturating at both ends, of processing time on `R` resources, each by its weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag<const R: usize = 1> {
    /// Whole ticks.
    pub ticks: u64,
    /// By resource, what is below a tick.
    parts: [u32; R],
}

impl<const R: usize> Default for Tag<R> {
    fn default() -> Self {
        Self::at(0)
    }
}

impl<const R: usize> Tag<R> {
    /// At this tick.
    pub fn at(ticks: u64) -> Self {
        Self { ticks, parts: [0; R] }
    }

    /// Moved by the sum of `nanos / weight` over the resources, which may be negative.
    pub fn moved_by(mut self, nanos: [i64; R], weights: [Weight; R]) -> Self {
        let mut sum = 0i64;
        for r in 0..R {
            let (whole, part) = virtual_time(nanos[r], weights[r], self.parts[r]);
            self.parts[r] = part;
            sum = sum.saturating_add(whole);
        }
        Self { ticks: self.ticks.saturating_add_signed(sum.clamp(-LONGEST_STEP, LONGEST_STEP)), ..self }
    }

    /// No earlier than `ticks`.
    pub fn at_least(self, ticks: u64) -> Self {
        if self.ticks < ticks { Self::at(ticks) } else { self }
    }

    /// At this tick, with the same part of a tick.
    pub fn at_tick(self, ticks: u64) -> Self {
        Self { ticks, ..self }
    }

    /// Lowered by `ticks`.
    pub fn lowered(self, ticks: u64) -> Self {
        Self { ticks: self.ticks.saturating_sub(ticks), ..self }
    }
}

impl Tag {
    /// Moved by `nanos / weight`, which may be negative.
    pub fn moved(self, nanos: i64, weight: Weight) -> Self {
        self.moved_by([nanos], [weight])
    }
}

/// A flow's tags on the resource, or on `R` of them together.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowTags<const R: usize = 1> {
    /// Finish tag of the flow's last packet served.
    finish: Tag<R>,
    /// The first waiting packet starts no earlier: the virtual time at its arrival.
    floor: u64,
    /// Start tag of the first waiting packet.
    start: u64,
    /// Finish tag of the first waiting packet, by its estimated time.
    head_finish: Tag<R>,
}

impl FlowTags {
    /// [`tag_head_by`](Self::tag_head_by) on one resource.
    pub fn tag_head(&mut self, cost: Duration, weight: Weight) {
        self.tag_head_by([cost], [weight]);
    }

    /// [`correct_by`](Self::correct_by) on one resource.
    pub fn correct(&mut self, before: Duration, after: Duration, weight: Weight) {
        self.correct_by([before], [after], [weight]);
    }
}

impl<const R: usize> FlowTags<R> {
    /// Tag the first waiting packet anew: `S = max(floor, F')`, `F = S + sum of cost / weight`.
    pub fn tag_head_by(&mut self, costs: [Duration; R], weights: [Weight; R]) {
        let start = self.finish.at_least(self.floor);
        self.start = start.ticks;
        self.head_finish = start.moved_by(charges(costs), weights);
    }

    /// The first waiting packet arrived at this virtual time.
    pub fn set_floor(&mut self, virtual_time: u64) {
        self.floor = virtual_time;
    }

    /// The first waiting packet is served.
    pub fn serve_head(&mut self) {
        self.finish = self.head_finish;
        self.floor = 0;
    }

    /// A packet that was served took `after` instead of `before`.
    pub fn correct_by(&mut self, before: [Duration; R], after: [Duration; R], weights: [Weight; R]) {
        let (before, after) = (charges(before), charges(after));
        self.finish = self.finish.moved_by(core::array::from_fn(|r| after[r] - before[r]), weights);
    }

    /// Lower all tags.
    pub fn lower(&mut self, ticks: u64) {
        self.finish = self.finish.lowered(ticks);
        self.floor = self.floor.saturating_sub(ticks);
        self.start = self.start.saturating_sub(ticks);
        self.head_finish = self.head_finish.lowered(ticks);
    }

    /// Start tag of the first waiting packet.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Finish tag of the first waiting packet.
    pub fn head_finish(&self) -> u64 {
        self.head_finish.ticks
    }

    /// Finish tag of the last packet served.
    pub fn finish(&self) -> Tag<R> {
        self.finish
    }
}
