//! What a packet really costs, and what becomes of its length.

use dovetail_sched::FlowId;
use dovetail_units::{BitRate, Duration, ResourceVec};
use rand::RngExt;

use crate::arrivals::Emitted;
use crate::random::{Stream, stream};
use crate::workload::{Cost, Flow, FlowTerms, MILLION, Resize};

/// What the engine needs to know of a flow for every packet.
pub(crate) struct FlowCosts<'w, const M: usize> {
    pub id: FlowId,
    terms: &'w FlowTerms<M>,
}

/// For what differs from packet to packet. The streams are the flow's own, so every scheduler sees the same packets.
/// Boxed, as most flows have none, and each takes over 300 bytes.
pub(crate) struct Draws<const M: usize> {
    lengths: Option<Box<Stream>>,
    times: [Option<Box<Stream>>; M],
}

impl<const M: usize> Draws<M> {
    /// Of every flow; of none, if nothing differs in any.
    pub fn of(flows: &[Flow<M>], seed: u64) -> Vec<Option<Box<Self>>> {
        let resizes = |flow: &Flow<M>| flow.resize.least < flow.resize.most;
        let own = |flow: &Flow<M>, wanted: bool, what: &str| {
            wanted.then(|| stream(seed, &format!("{} {what}", flow.name)).into())
        };
        let draws = |flow: &Flow<M>| Self {
            lengths: own(flow, resizes(flow), "resize factors"),
            times: std::array::from_fn(|r| own(flow, flow.spread[r] > 0, &format!("times on {r}"))),
        };
        let differs = |flow: &Flow<M>| resizes(flow) || flow.spread != [0; M];
        if flows.iter().any(differs) {
            flows.iter().map(|flow| differs(flow).then(|| Box::new(draws(flow)))).collect()
        } else {
            Vec::new()
        }
    }
}

impl<'w, const M: usize> FlowCosts<'w, M> {
    pub fn new(flow: &'w Flow<M>, id: FlowId) -> Self {
        Self { id, terms: &flow.terms }
    }

    /// The packet's length from the second resource on.
    #[inline]
    pub fn resized(&self, size: u32, draws: Option<&mut Draws<M>>) -> u32 {
        if self.terms.resize.is_none() {
            return size;
        }
        let Resize { least, most } = self.terms.resize;
        let lengths = draws.and_then(|draws| draws.lengths.as_mut());
        let factor = lengths.map_or(least, |random| random.random_range(least..=most));
        let millionth = u64::from(MILLION);
        let bytes = (u64::from(size) * u64::from(factor) + millionth / 2) / millionth;
        u32::try_from(bytes).unwrap_or(u32::MAX).max(1)
    }

    /// The true cost of a packet on one server of each resource.
    #[inline]
    pub fn true_cost(
        &self,
        packet: &Emitted<M>,
        resized: u32,
        carries: &mut [Carry; M],
        mut draws: Option<&mut Draws<M>>,
    ) -> ResourceVec<M> {
        let terms = self.terms;
        let mut cost = ResourceVec::ZERO;
        for r in 0..M {
            let size = if r == 0 { packet.size } else { resized };
            let exact = match terms.cost[r] {
                Cost::Link(rate) => carries[r].transmission_time(rate, size),
                Cost::Linear(linear) => linear.time(u64::from(size)),
                Cost::PerPacket => packet.cost.map_or(Duration::ZERO, |c| c[r]),
            };
            let spread = terms.spread[r].min(MILLION);
            cost[r] = match draws.as_mut().and_then(|draws| draws.times[r].as_mut()) {
                Some(random) => scaled(exact, random.random_range(MILLION - spread..=MILLION + spread)),
                None => exact,
            };
        }
        cost
    }
}

/// This many millionths of the time, to the nearest nanosecond.
fn scaled(time: Duration, millionths: u32) -> Duration {
    let ns = (u128::from(time.as_nanos()) * u128::from(millionths) + u128::from(MILLION) / 2) / u128::from(MILLION);
    Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// A time on one server as a time on all servers of the resource together.
#[inline]
pub(crate) fn shared(time: Duration, servers: u32) -> Duration {
    if servers == 1 { time } else { time.divided_by(u64::from(servers)) }
}

/// [`shared`] on every resource.
#[inline]
pub(crate) fn all_shared<const M: usize>(times: &ResourceVec<M>, servers: &[u32; M]) -> ResourceVec<M> {
    ResourceVec(std::array::from_fn(|r| shared(times[r], servers[r])))
}

/// What a link still owes below a nanosecond, in units of 1/rate nanoseconds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Carry {
    rate: u64,
    owed: u64,
    /// At this rate, if nothing can be owed.
    byte_time: Option<Duration>,
}

impl Carry {
    #[inline]
    fn transmission_time(&mut self, rate: BitRate, size: u32) -> Duration {
        if rate.as_bps() != self.rate {
            // Flows may see one resource at different rates: keep the owed time, in the new unit.
            let owed = u128::from(self.owed) * u128::from(rate.as_bps()) / u128::from(self.rate.max(1));
            let owed = u64::try_from(owed).unwrap_or(0);
            *self = Self { rate: rate.as_bps(), owed, byte_time: rate.byte_time() };
        }
        // Without a division, as most links allow.
        if let Some(byte) = self.byte_time
            && self.owed == 0
        {
            return byte.saturating_mul(size.into());
        }
        let (time, owed) = rate.transmission_time(u64::from(size), self.owed);
        self.owed = owed;
        time
    }
}
