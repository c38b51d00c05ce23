//! Where a flow starts when it becomes backlogged: the parameter `newcomers`. The published forms of some disciplines
//! give such a flow something for free.
//!
//! Where virtual time is that of a fluid, new flows begin no earlier than R, up to where new flows before them have
//! been served. A light flow's packet reaches far in virtual time, which a heavy one need not wait for: so R is one for
//! each class c of weights, those from c to 2 c. After a packet whose flow ends at F, with the time l left of it at V,
//!
//! ```text
//! R_c = max( R_c, F )                                for classes up to that of this flow
//! R_c = min( max( R_c, V ) + l / c, max( R_c, F ) )  for heavier ones
//! ```
//!
//! so the next flow waits until the packet has ended, at the weight of its flow or about its own, whichever is more. Of
//! several it waits for one after another, until all have ended at the latest.
//!
//! * Flows of weights w_1, w_2, ... that come one after another: between k and the next one V moves by l_k / max( w_k,
//!   w_k+1 ) or more. So they get no more than one flow that is backlogged throughout, at each time with the larger
//!   weight of two neighbours.
//! * Flows that wait at the same time get no more than their weights together and that of the flow that follows: what
//!   is left of each is charged to its own weight until F, or to that flow's weight, where no two share a piece of V.
//! * R falls with c. Where all weights are in one class it is the largest F.
//! * A light flow does not wait for ever: heavier ones move its R to their F at most, where the next of these wait too.

use dovetail_units::Weight;

use crate::catalog::Parameter;
use crate::spec::{Spec, SpecError, choice};

/// The parameter.
pub const PARAMETER: Parameter = Parameter {
    name: "newcomers",
    value: "pay | free",
    default: "pay",
    meaning: "pay: a flow that begins to send pays for its first packet; free, as published: it does not, so that a \
        stream of new flows can starve others",
    settable: false,
};

/// Where a flow stands that becomes backlogged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Newcomers {
    /// No better than one that has waited: a stream of ever new flows gets no more than one flow.
    #[default]
    Pay,
    /// As published.
    Free,
}

impl Newcomers {
    /// As `spec` says.
    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let choices = [("pay", Self::Pay), ("free", Self::Free)];
        spec.value(PARAMETER.name).map_or(Ok(Self::default()), |value| choice(PARAMETER.name, value, choices))
    }
}

/// Classes of weights: those from 2^k / 1024 to twice that.
pub(crate) const CLASSES: usize = 31;

/// The class of a weight.
pub(crate) fn class(weight: Weight) -> usize {
    let in_1024ths = u64::from(weight.as_milli()) * 1024 / 1000;
    (in_1024ths.max(1).ilog2() as usize).min(CLASSES - 1)
}

/// R by class of weight, as the [module](self) says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reached([u128; CLASSES]);

impl Reached {
    /// R for flows of this class.
    pub(crate) fn of(&self, class: usize) -> u128 {
        self.0[class]
    }

    /// A flow of this weight that ends at `finish` was served at this virtual time, or no earlier and none came since.
    /// O(1), a step for every class.
    pub(crate) fn reach(&mut self, virtual_time: u128, finish: u128, weight: Weight) {
        let left = finish.saturating_sub(virtual_time);
        // Less than 2^96 times 2^30.
        let time = (left * u128::from(weight.as_milli())).div_ceil(1000);
        let own = class(weight);
        for (class, reached) in self.0.iter_mut().enumerate() {
            let until_end = finish.max(*reached);
            *reached = match class <= own {
                true => until_end,
                false => until_end.min(virtual_time.max(*reached) + ((time << 10) >> class) + 1),
            };
        }
    }
}

/// Where new flows begin in a virtual time. New is a flow that is set up while packets wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newest {
    newcomers: Newcomers,
    reached: Reached,
    /// The epoch that this is of.
    epoch: u64,
}

impl Newest {
    /// With new flows that stand so.
    pub(crate) fn new(newcomers: Newcomers) -> Self {
        Self { newcomers, reached: Reached::default(), epoch: 0 }
    }

    /// Whether a flow is new that is set up while so many packets wait.
    pub(crate) fn is_new(&self, packets: u64) -> bool {
        self.newcomers == Newcomers::Pay && packets > 0
    }

    /// Where a new flow of this weight begins at this virtual time.
    pub(crate) fn start(&self, virtual_time: u128, epoch: u64, weight: Weight) -> u128 {
        if self.epoch == epoch { self.reached.of(class(weight)).max(virtual_time) } else { virtual_time }
    }

    /// A new flow of this weight, or one that is removed, was served up to `finish` by now; whether that counts.
    pub(crate) fn reach(&mut self, virtual_time: u128, epoch: u64, finish: u128, weight: Weight) -> bool {
        let pays = self.newcomers == Newcomers::Pay;
        if pays {
            if self.epoch != epoch {
                (self.reached, self.epoch) = (Reached::default(), epoch);
            }
            self.reached.reach(virtual_time, finish, weight);
        }
        pays
    }
}
