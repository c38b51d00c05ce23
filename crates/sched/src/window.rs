//! The most packets that may be inside the pipeline: the parameter `window` of [`drfq`](crate::drfq) and
//! [`atfq`](crate::atfq).

use alloc::format;

use crate::catalog::{Parameter, Shape};
use crate::contract::Progress;
use crate::spec::SpecError;

/// The parameter.
pub(crate) const PARAMETER: Parameter = Parameter {
    name: "window",
    value: "packets, 1 and more",
    default: "two per backlogged flow, at least 4 per server",
    meaning: "most packets inside the pipeline",
    settable: true,
};

/// Most packets inside the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// This many; zero counts as one.
    Packets(u32),
    /// Two per backlogged flow, but at least this many.
    Backlogged {
        /// The least.
        least: u32,
    },
}

impl Window {
    /// What holds if the parameter is not given.
    pub(crate) fn of_shape(shape: Shape) -> Self {
        Self::Backlogged { least: shape.servers.saturating_mul(4) }
    }

    pub(crate) fn parse(value: &str) -> Result<Self, SpecError> {
        let bad = || {
            let expected = format!("a number of packets, at least 1 and at most {}", u32::MAX);
            SpecError::bad_value(PARAMETER.name, value, &expected)
        };
        value.parse().ok().filter(|&w| w >= 1).map(Self::Packets).ok_or_else(bad)
    }
}

/// Counts the packets inside the pipeline.
#[derive(Clone, Debug)]
pub(crate) struct Inside {
    pub window: Window,
    packets: u32,
}

impl Inside {
    pub fn new(window: Window) -> Self {
        Self { window, packets: 0 }
    }

    /// Whether the pipeline is empty.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Whether one more packet may enter, with so many flows backlogged.
    #[inline]
    pub fn has_room(&self, backlogged: usize) -> bool {
        let most = match self.window {
            Window::Packets(packets) => packets.max(1) as usize,
            Window::Backlogged { least } => backlogged.saturating_mul(2).max(least as usize),
        };
        (self.packets as usize) < most
    }

    /// A packet enters.
    #[inline]
    pub fn enter(&mut self) {
        self.packets = self.packets.saturating_add(1);
    }

    /// A packet made progress on one of `M` resources; whether it leaves by that.
    #[inline]
    pub fn progressed<const M: usize>(&mut self, resource: usize, event: Progress) -> bool {
        let leaves = match event {
            Progress::Started => false,
            Progress::Finished { .. } => resource + 1 == M,
            Progress::Abandoned => true,
        };
        self.packets = self.packets.saturating_sub(u32::from(leaves));
        leaves
    }
}
