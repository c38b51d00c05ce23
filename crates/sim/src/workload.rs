//! What comes in: flows with their costs, and the sources of their packets.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use dovetail_sched::cost::{Linear, Prediction};
use dovetail_sched::{FlowConfig, Limit};
use dovetail_trace::{Arrival, Arrivals, ArrivalsIter, Extent, FlowKeys};
use dovetail_units::{BitRate, Duration, PacketRate, Part, ResourceVec, Time, Weight};

/// How long a packet really takes on one server of a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// Its length at this rate. What is owed below a nanosecond is carried from packet to packet of the resource,
    /// in order of arrival, so that a long run takes exactly bytes * 8 / rate.
    Link(BitRate),
    /// A linear function of its length.
    Linear(Linear),
    /// As its [`List`] says; then every source of the flow must be a list with costs.
    PerPacket,
}

/// What the scheduler is told of a packet's time on a resource, when the packet arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Estimate {
    /// Predicted from its length on arrival. What it takes in the end is observed when its processing there ends.
    Predicted(Prediction),
    /// What the resource takes for the length that the flow's resize factor lets expect; the factor is learnt as
    /// packets end on the first resource, with this part (in millionths) of the newest. A scheduler in front of the
    /// resource itself is told the truth: there the packet has its length.
    Resized {
        /// The part of the newest observation, in millionths.
        alpha: u32,
    },
}

impl Default for Estimate {
    /// The truth.
    fn default() -> Self {
        Self::Predicted(Prediction::Oracle)
    }
}

impl Estimate {
    /// Whether it can differ from the truth.
    pub fn predicts(&self) -> bool {
        match self {
            Self::Predicted(prediction) => prediction.predicts(),
            Self::Resized { .. } => true,
        }
    }
}

/// How processing on the first resource changes a packet's length: it is multiplied by a factor, in millionths, and
/// rounded to the nearest byte, at least 1. Every resource further on works on the new length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resize {
    /// The smallest factor in millionths.
    pub least: u32,
    /// The largest factor in millionths, not below `least`: all between are equally likely, drawn for each packet on
    /// its own.
    pub most: u32,
}

impl Resize {
    /// Lengths stay as they are.
    pub const NONE: Self = Self { least: MILLION, most: MILLION };

    /// Whether lengths stay as they are.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

impl Default for Resize {
    fn default() -> Self {
        Self::NONE
    }
}

/// One, in millionths.
pub(crate) const MILLION: u32 = 1_000_000;

/// A flow over `M` resources.
///
/// Its terms are read and written as if they were its own fields. Writing gives a flow that shares them a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow<const M: usize> {
    /// Its name in reports.
    pub name: FlowName,
    /// Flows of one group are reported together.
    pub group: Arc<str>,
    /// What flows of a kind have in common, in memory once.
    pub terms: Arc<FlowTerms<M>>,
}

/// What a flow is called. Of a flow of a capture that is its key, which is put into words only when somebody asks:
/// there may be very many.
#[derive(Clone)]
pub struct FlowName(Name);

#[derive(Clone)]
enum Name {
    Given(Arc<str>),
    /// By the key of the flow with this number, which has one.
    Key(Arc<FlowKeys>, u32),
}

impl FlowName {
    /// That of the flow with this number, if it has a key.
    pub fn of_key(keys: &Arc<FlowKeys>, flow: u32) -> Option<Self> {
        keys.get(flow)?.0?;
        Some(Self(Name::Key(Arc::clone(keys), flow)))
    }

    /// In words.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Name::Given(name) => name.as_ref().into(),
            Name::Key(keys, flow) => {
                let key = keys.get(*flow).and_then(|(key, _)| key);
                key.map_or(Cow::default(), |key| key.to_string().into())
            }
        }
    }
}

impl<T: Into<Arc<str>>> From<T> for FlowName {
    fn from(name: T) -> Self {
        Self(Name::Given(name.into()))
    }
}

impl fmt::Display for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text())
    }
}

/// As the text.
impl fmt::Debug for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

impl PartialEq for FlowName {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for FlowName {}

/// All that matters of a flow but its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowTerms<const M: usize> {
    /// Its weight, for disciplines that keep one for all resources.
    pub weight: Weight,
    /// Its weights on the resources, for those that look at them one by one. `None` is `weight` everywhere.
    pub weight_on: Option<[Weight; M]>,
    /// Which part of its fair share it is guaranteed, instead of what the scheduler guarantees to all, if that is one
    /// that guarantees parts.
    pub alpha: Option<Part>,
    /// The limit of its queue in the scheduler.
    pub limit: Limit,
    /// Its class: predictions can be made per class.
    pub class: u32,
    /// True processing time on one server of each resource.
    pub cost: [Cost; M],
    /// How far a packet's true time may be from `cost`, as a part of it in millionths, up to 1,000,000: the time is
    /// multiplied by anything from 1 less to 1 more than this, equally likely, drawn for each packet on its own.
    /// Not for [`Cost::Link`].
    pub spread: [u32; M],
    /// What becomes of the packets' lengths.
    pub resize: Resize,
    /// What the scheduler is told; divided by the resource's number of servers.
    pub estimate: [Estimate; M],
}

impl<const M: usize> Flow<M> {
    /// A flow of weight 1 without queue limit, whose true costs the scheduler knows.
    pub fn new(name: impl Into<FlowName>, cost: [Cost; M]) -> Self {
        Self { name: name.into(), group: Arc::default(), terms: Arc::new(FlowTerms::new(cost)) }
    }
}

impl<const M: usize> Deref for Flow<M> {
    type Target = FlowTerms<M>;

    #[inline]
    fn deref(&self) -> &FlowTerms<M> {
        &self.terms
    }
}

impl<const M: usize> DerefMut for Flow<M> {
    fn deref_mut(&mut self) -> &mut FlowTerms<M> {
        Arc::make_mut(&mut self.terms)
    }
}

impl<const M: usize> FlowTerms<M> {
    /// Weight 1, no queue limit, and true costs that the scheduler knows.
    pub fn new(cost: [Cost; M]) -> Self {
        Self {
            weight: Weight::ONE,
            weight_on: None,
            alpha: None,
            limit: Limit::default(),
            class: 0,
            cost,
            spread: [0; M],
            resize: Resize::NONE,
            estimate: [Estimate::default(); M],
        }
    }

    /// The weight on each resource.
    pub fn weights(&self) -> [Weight; M] {
        self.weight_on.unwrap_or([self.weight; M])
    }

    /// What a scheduler is told; the flow's queue there has this limit.
    pub(crate) fn config(&self, limit: Limit) -> FlowConfig<M> {
        let class = u16::try_from(self.class).ok();
        FlowConfig { weight: self.weight, weight_on: self.weight_on, alpha: self.alpha, class, limit }
    }
}

/// Lengths of generated packets, in bytes; at least 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Size {
    /// Always this.
    Fixed(u32),
    /// Every length from `min` to `max` equally likely.
    Uniform {
        /// The smallest.
        min: u32,
        /// The largest, not below `min`.
        max: u32,
    },
    /// Lengths with their relative frequencies; not all zero.
    Mix(Vec<(u32, u32)>),
}

/// The length of an on or off time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spell {
    /// Always this.
    Fixed(Duration),
    /// Exponentially distributed with this mean.
    Exponential(Duration),
}

/// When a generated flow's packets come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Equally spaced, the first at the start; exact over any length of time.
    Constant(PacketRate),
    /// As `Constant`, but each later by anything up to `jitter`, equally likely.
    Jittered {
        /// The rate.
        rate: PacketRate,
        /// At most an interval, so that packets keep their order.
        jitter: Duration,
    },
    /// A Poisson process.
    Poisson(PacketRate),
    /// Alternately on (first) and off; equally spaced in the time that it is on, whatever is off in between, the first
    /// packet at the start.
    OnOff {
        /// The rate while on.
        rate: PacketRate,
        /// On times; above zero.
        on: Spell,
        /// Off times.
        off: Spell,
    },
}

/// Packets of one flow, generated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generator {
    /// Names its random streams: two generators of one name and pattern send at the same instants.
    pub name: String,
    /// Index of the flow in [`Workload::flows`].
    pub flow: u32,
    /// When packets come.
    pub pattern: Pattern,
    /// How long they are.
    pub size: Size,
    /// When it starts.
    pub start: Time,
    /// No packet at or after this instant.
    pub stop: Option<Time>,
    /// No more packets than this.
    pub packets: Option<u64>,
}

impl Generator {
    /// A generator without end from time zero on; named after the flow's index.
    pub fn new(flow: u32, pattern: Pattern, size: Size) -> Self {
        Self { name: format!("flow {flow}"), flow, pattern, size, start: Time::ZERO, stop: None, packets: None }
    }
}

/// Packets of a [`List`], shared between runs; in few bytes each, so that they can only be read from the first to the
/// last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listed {
    packets: Arc<Arrivals>,
    first_flow: u32,
}

impl Listed {
    /// Packets of whose flows the one of number 0 is the `first_flow`-th of [`Workload::flows`].
    pub fn of_flows_from(first_flow: u32, packets: Arc<Arrivals>) -> Self {
        Self { packets, first_flow }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// What holds for all of them, with the index of their flow in [`Workload::flows`]. O(1).
    pub fn extent(&self) -> Extent {
        let extent = self.packets.extent();
        Extent { last_flow: self.first_flow.saturating_add(extent.last_flow), ..extent }
    }

    /// In their order, with the index of their flow in [`Workload::flows`]. O(1) each.
    pub fn iter(&self) -> ListedIter<'_> {
        ListedIter { packets: self.packets.iter(), first_flow: self.first_flow }
    }
}

impl FromIterator<Arrival> for Listed {
    fn from_iter<I: IntoIterator<Item = Arrival>>(packets: I) -> Self {
        Self::of_flows_from(0, Arc::new(packets.into_iter().collect()))
    }
}

impl From<Vec<Arrival>> for Listed {
    fn from(packets: Vec<Arrival>) -> Self {
        packets.into_iter().collect()
    }
}

/// The packets of [`Listed`].
#[derive(Clone, Debug)]
pub struct ListedIter<'a> {
    packets: ArrivalsIter<'a>,
    first_flow: u32,
}

impl Iterator for ListedIter<'_> {
    type Item = Arrival;

    #[inline]
    fn next(&mut self) -> Option<Arrival> {
        let packet = self.packets.next()?;
        Some(Arrival { flow: self.first_flow.saturating_add(packet.flow), ..packet })
    }
}

/// Speeds a list up or slows it down: times are multiplied by `numerator / denominator`, rounded down. Five times
/// faster is 1/5.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeScale {
    /// Numerator.
    pub numerator: u64,
    /// Denominator, not zero.
    pub denominator: u64,
}

impl TimeScale {
    /// As the list says.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// The scaled time, saturating. A denominator of zero counts as 1.
    pub fn apply(self, time: Time) -> Time {
        let (ns, denominator) = (time.as_nanos(), self.denominator.max(1));
        if self.numerator == denominator {
            return time;
        }
        let scaled = match ns.checked_mul(self.numerator) {
            Some(scaled) => scaled / denominator,
            None => {
                let scaled = u128::from(ns) * u128::from(self.numerator) / u128::from(denominator);
                u64::try_from(scaled).unwrap_or(u64::MAX)
            }
        };
        Time::from_nanos(scaled)
    }
}

/// A fixed list of packets of any flows, shared between runs: a replayed capture, or what a test wrote down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct List<const M: usize> {
    /// The packets; times, before scaling, must not fall.
    pub arrivals: Listed,
    /// Per packet, its time on one server of each resource; used where the flow's cost is [`Cost::PerPacket`].
    pub costs: Option<Arc<[ResourceVec<M>]>>,
    /// Applied to the times.
    pub scale: TimeScale,
}

impl<const M: usize> List<M> {
    /// A list without costs, as it is.
    pub fn new(arrivals: impl Into<Listed>) -> Self {
        Self { arrivals: arrivals.into(), costs: None, scale: TimeScale::ONE }
    }
}

/// Where packets come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source<const M: usize> {
    /// Packets of one flow from a pattern.
    Generator(Generator),
    /// A list.
    List(List<M>),
}

/// Flows over `M` resources, and where their packets come from. Packets of one instant come in the order of the
/// sources.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload<const M: usize> {
    /// The flows.
    pub flows: Vec<Flow<M>>,
    /// The sources.
    pub sources: Vec<Source<M>>,
}
