//! Short flows: Poisson arrivals, Pareto lengths.

use dovetail_tcp::Length;
use dovetail_units::{Duration, Time};
use rand_distr::{Distribution, Exp1, OpenClosed01};

use super::description::Traffic;
use crate::random::Stream;

/// The longest flow that is drawn, in segments: a hundred gigabytes of small packets.
const MOST_SEGMENTS: f64 = 1e9;

/// The arrivals of one short-lived traffic.
pub(super) struct Web {
    rate: f64,
    shape: f64,
    /// The shortest length of the Pareto distribution: mean * (shape - 1) / shape.
    scale: f64,
    at: Time,
    draws: Stream,
}

impl Web {
    /// `None` for long-lived flows.
    pub fn new(traffic: &Traffic, draws: Stream) -> Option<Self> {
        let &Traffic::Web { rate, mean_packets, shape, .. } = traffic else { return None };
        Some(Self { rate, shape, scale: mean_packets * (shape - 1.0) / shape, at: Time::ZERO, draws })
    }

    /// When the next flow comes.
    pub fn next(&mut self) -> Time {
        let gap: f64 = Exp1.sample(&mut self.draws);
        self.at += Duration::from_nanos((gap / self.rate * 1e9) as u64);
        self.at
    }

    /// How long it is: Pareto-distributed, rounded up to whole segments.
    pub fn length(&mut self) -> Length {
        let uniform: f64 = OpenClosed01.sample(&mut self.draws);
        Length::Segments((self.scale * uniform.powf(-1.0 / self.shape)).clamp(1.0, MOST_SEGMENTS).ceil() as u64)
    }
}
