//! What a box is made of.

use std::path::PathBuf;

use dovetail_sched::aqm::Encoding;
use dovetail_sched::cost::{Linear, Prediction};
use dovetail_sched::{Limit, Spec};
use dovetail_units::{BitRate, Duration, Part, Weight};
use dovetail_wire::KeyKind;

use super::cpu::{Budget, Charge};
use super::flows::FlowLimits;
use super::fragments::FragmentLimits;
use super::middlebox::{CPU, THIRD};
use super::queue::Buffer;
use super::queues::is_managed;
use crate::classes::ClassTable;
use crate::module::{Module, Origin};

/// A class of flows.
pub struct SetupClass {
    /// Its name in reports.
    pub name: String,
    /// The weight of each of its flows.
    pub weight: Weight,
    /// Which part of its fair share each of its flows is guaranteed, instead of what the scheduler guarantees to all;
    /// a scheduler without an alpha does not look at it.
    pub alpha: Option<Part>,
    /// The limit of each flow's queue.
    pub limit: Limit,
    /// What its frames are charged on the CPU.
    pub charge: Charge,
    /// For how long its frames occupy the third resource; `None` is not at all.
    pub third: Option<Linear>,
    /// What is done to its frames, in order: places in [`Setup::modules`].
    pub modules: Vec<usize>,
    /// Nobody has asked for it: reports tell of it once it has had a frame.
    pub built_in: bool,
}

/// A module, and what reports call it.
pub struct NamedModule {
    /// Its name.
    pub name: String,
    /// What it was made of: a module made of the same is the same.
    pub origin: Origin,
    /// What it does.
    pub module: Box<dyn Module>,
}

/// A resource between CPU and link, which frames occupy one after another for as long as their class says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThirdResource {
    /// Its name.
    pub name: String,
    /// The buffer in front of it, if the scheduler is none for each resource.
    pub buffer: Buffer,
}

/// What a box is made of.
pub struct Setup {
    /// What shares CPU and link.
    pub scheduler: Spec,
    /// Classes of flows, at least one.
    pub classes: Vec<SetupClass>,
    /// What classes refer to, with names for reports. Classes share a module and its state.
    pub modules: Vec<NamedModule>,
    /// Which flows are of which class.
    pub table: ClassTable,
    /// What is remembered of datagrams that come in fragments.
    pub fragments: FragmentLimits,
    /// What tells flows apart.
    pub key: KeyKind,
    /// How many flows are kept.
    pub flows: FlowLimits,
    /// The most frames that are in the box at a time, whatever the limits of queues; `None` is no limit.
    pub frames: Option<u32>,
    /// How much of a core processing may use.
    pub budget: Budget,
    /// How processing times are predicted.
    pub predict: Prediction,
    /// What frames pass between CPU and link; `None` is nothing.
    pub third: Option<ThirdResource>,
    /// The rate of the link; `None` is as fast as the port takes frames.
    pub rate: Option<BitRate>,
    /// The buffer in front of the link, if the scheduler is none for each resource.
    pub buffer: Buffer,
    /// Where modules keep what the next box has to know; `None` is nowhere.
    pub state: Option<PathBuf>,
    /// How congestion is told to senders that understand it; `None` drops instead.
    pub ecn: Option<Encoding>,
}

impl SetupClass {
    /// What its frame of this length is charged, where that need not be measured.
    #[inline]
    pub(super) fn known_work(&self, size: u32) -> Option<Duration> {
        let nothing = self.modules.is_empty().then_some(Duration::ZERO);
        self.charge.known(size).or(nothing)
    }

    /// For how long its frame of this length occupies the third resource.
    #[inline]
    pub(super) fn third_time(&self, size: u32) -> Duration {
        self.third.map_or(Duration::ZERO, |line| line.time(u64::from(size)))
    }

    /// Whether its frames of this length may go past the resource at this place; past the link none does.
    #[inline]
    pub(super) fn needs_nothing(&self, place: usize, size: u32) -> bool {
        match place {
            CPU => !self.needs_cpu(size),
            THIRD => self.third_time(size) == Duration::ZERO,
            _ => false,
        }
    }

    /// Whether its frames of this length occupy the CPU at all.
    #[inline]
    pub(super) fn needs_cpu(&self, size: u32) -> bool {
        !self.modules.is_empty() || self.needs_cpu_for(self.charge.known(size))
    }

    /// Whether its frames occupy the CPU at all of which the charge, as far as it is known, is this.
    #[inline]
    pub(super) fn needs_cpu_for(&self, known: Option<Duration>) -> bool {
        !self.modules.is_empty() || known.is_some_and(|work| work > Duration::ZERO)
    }
}

/// How congestion is told, where queue management looks at it: what nobody looks at need not be read.
pub(super) fn looked_at(setup: &Setup) -> Option<Encoding> {
    setup.ecn.filter(|_| is_managed(&setup.scheduler))
}
