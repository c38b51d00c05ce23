//! Which packets a loop takes, by the parameters.

use super::Extent;
use crate::newcomers::Newcomers;
use crate::spec::{Spec, SpecError, choice};

/// How far a loop of a number of packets reaches where a flow has no more packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fill {
    /// No packet is taken that would begin, in its flow's active time, where some flow of the loop has no more packets
    /// or later.
    #[default]
    Fair,
    /// As published: all that wait, if these are fewer than a loop holds.
    All,
}

/// What a loop takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// What bounds it.
    pub extent: Extent,
    /// Most packets of one flow.
    pub per_flow: u32,
    /// How far it reaches where a flow has no more packets.
    pub fill: Fill,
    /// Where a flow stands that becomes backlogged.
    pub newcomers: Newcomers,
}

impl Rules {
    pub(super) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        Ok(Self {
            extent: Extent::from_spec(spec)?,
            per_flow: spec.value("per-flow").map_or(Ok(u32::MAX), per_flow)?,
            fill: spec.value("fill").map_or(Ok(Fill::Fair), fill)?,
            newcomers: Newcomers::from_spec(spec)?,
        })
    }

    /// Change a parameter, from the next loop on.
    pub(super) fn set(&mut self, parameter: &str, value: &str) -> Result<(), SpecError> {
        match parameter {
            "per-flow" => per_flow(value).map(|most| self.per_flow = most),
            "fill" => fill(value).map(|fill| self.fill = fill),
            _ => self.extent.set(parameter, value),
        }
    }
}

fn per_flow(value: &str) -> Result<u32, SpecError> {
    let bad = || SpecError::bad_value("per-flow", value, "a number of packets, at least 1");
    value.parse().ok().filter(|&most| most >= 1).ok_or_else(bad)
}

fn fill(value: &str) -> Result<Fill, SpecError> {
    choice("fill", value, [("fair", Fill::Fair), ("all", Fill::All)])
}
