//! What a scheduler's owner may do, as data.

use dovetail_sched::{FlowConfig, Limit, TimeLimit};
use dovetail_units::{Bytes, Duration, Part, Weight};

/// Most resources that an operation has costs for.
pub const MAX_RESOURCES: usize = 4;

/// One call, or the passing of time. Flows and packets are named by any number: whoever applies the operation takes it
/// modulo how many there are, so that every sequence of operations makes sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Set up a flow.
    AddFlow(FlowConfig<MAX_RESOURCES>),
    /// Change a flow, live or not.
    SetFlow(u8, FlowConfig<MAX_RESOURCES>),
    /// Tear a flow down, live or not.
    RemoveFlow(u8),
    /// Offer `count` packets of one flow, live or not.
    Enqueue {
        /// The flow.
        flow: u8,
        /// How many packets.
        count: u8,
        /// Bytes of each.
        size: u32,
        /// Nanoseconds of each on every resource.
        cost: [u64; MAX_RESOURCES],
    },
    /// Ask what to serve, this often.
    Next(u8),
    /// Report a packet in the pipeline.
    Progress {
        /// The packet.
        packet: u8,
        /// The resource, possibly one that is not there.
        resource: usize,
        /// What happened.
        event: Event,
    },
    /// Set a parameter to the discipline's value of this number.
    Set(u8),
    /// Let nanoseconds pass.
    Wait(u64),
    /// Let time pass until the instant in the last [`Next::At`](dovetail_sched::Next::At).
    Wake,
    /// Let the clock jump back for the next call.
    Backwards(u64),
}

/// A progress report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Processing began.
    Started,
    /// Processing took what was estimated.
    Exact,
    /// Processing took this times 2^-8 of what was estimated.
    Times256th(u32),
    /// Processing took so many nanoseconds.
    Took(u64),
    /// The packet was dropped in the pipeline.
    Abandoned,
}

impl Operation {
    /// The next operation from a stream of bytes; `None` at its end.
    ///
    /// Every stream is a valid sequence. Common calls have many codes, rare ones few, so that uniformly random bytes
    /// make a busy scheduler; a fuzzer finds the rest.
    pub fn read(bytes: &mut impl Iterator<Item = u8>) -> Option<Self> {
        let operation = match bytes.next()? {
            0..=9 => Self::AddFlow(config(bytes)?),
            10..=11 => Self::SetFlow(bytes.next()?, config(bytes)?),
            12..=14 => Self::RemoveFlow(bytes.next()?),
            15..=99 => {
                Self::Enqueue { flow: bytes.next()?, count: 1, size: u32::from(bytes.next()?) * 6, cost: costs(bytes)? }
            }
            100..=109 => {
                let (flow, count) = (bytes.next()?, bytes.next()? % 32);
                Self::Enqueue { flow, count, size: 800, cost: costs(bytes)? }
            }
            110..=179 => Self::Next(1),
            180..=184 => Self::Next(bytes.next()? % 64),
            185..=204 => {
                Self::Progress { packet: bytes.next()?, resource: resource(bytes.next()?), event: event(bytes)? }
            }
            205..=206 => Self::Set(bytes.next()?),
            207..=208 => Self::Backwards(u64::from(bytes.next()?)),
            209..=229 => Self::Wait(span(bytes)?),
            230..=255 => Self::Wake,
        };
        Some(operation)
    }
}

/// Mostly one that is there, or the next one; rarely the last that there could be.
fn resource(code: u8) -> usize {
    match code {
        0..=249 => usize::from(code) % (MAX_RESOURCES + 1),
        250..=252 => u32::MAX as usize,
        253..=255 => usize::MAX,
    }
}

/// The same over fewer resources.
pub fn of_resources<const M: usize>(config: FlowConfig<MAX_RESOURCES>) -> FlowConfig<M> {
    let weight_on = config.weight_on.map(|on| std::array::from_fn(|r| on[r]));
    FlowConfig { weight: config.weight, weight_on, alpha: config.alpha, class: config.class, limit: config.limit }
}

fn config(bytes: &mut impl Iterator<Item = u8>) -> Option<FlowConfig<MAX_RESOURCES>> {
    let (weight, limit) = (bytes.next()?, bytes.next()?);
    let milli = match weight {
        0..=127 => 1000,
        128..=191 => u32::from(weight - 127) * 250,
        192..=239 => u32::from(weight) * 7,
        240..=247 => {
            [1, 250, 1_000_000, 66_000_000, 100_000_000, 500_000_000, 999_999_999, 520][usize::from(weight - 240)]
        }
        248..=251 => 1,
        _ => 1_000_000_000,
    };
    let alpha = match limit {
        0..=119 => None,
        120..=127 => Some(Part::NONE),
        128..=135 => Some(Part::WHOLE),
        136..=143 => Part::from_milli(1),
        144..=199 => Part::from_milli(u16::from(limit - 143) * 17),
        _ => None,
    };
    let limit = match limit {
        0..=199 => Limit::default(),
        200..=223 => Limit { packets: Some(u32::from(limit - 200)), ..Limit::default() },
        224..=239 => Limit { time: Some(time_limit(limit - 224)), ..Limit::default() },
        _ => Limit { bytes: Some(Bytes(u64::from(limit - 239) * 500)), ..Limit::default() },
    };
    let one = |milli| Weight::from_milli(milli).unwrap_or_default();
    // As different as three times more and less than one on the average.
    let weight_on = (220..=247).contains(&weight).then(|| [one(milli), one(3000), one(350), one(u32::from(weight))]);
    let class = Some(u16::from(weight) % 3);
    Some(FlowConfig { weight: one(milli), weight_on, alpha, class, limit })
}

/// Some packets' time on one of two resources; the lower limit may be 0, and above the upper one.
fn time_limit(code: u8) -> TimeLimit {
    let upper = [0, 9_000, 25_000, 60_000][usize::from(code % 4)];
    let lower = upper * u64::from(code / 4 % 4) / 2;
    TimeLimit {
        resource: usize::from(code / 8),
        upper: Duration::from_nanos(upper),
        lower: Duration::from_nanos(lower),
    }
}

/// Costs, mostly from a small set so that equals are common.
fn costs(bytes: &mut impl Iterator<Item = u8>) -> Option<[u64; MAX_RESOURCES]> {
    let mut cost = [0; MAX_RESOURCES];
    for on in &mut cost {
        *on = match bytes.next()? {
            code @ 0..=127 => [1_000, 3_000, 9_000, 10_000][usize::from(code % 4)],
            code @ 128..=243 => u64::from(code) * 97,
            244..=249 => 0,
            250..=252 => 1,
            253 => u64::from(bytes.next()?) << 20,
            254 => u64::from(bytes.next()?) << 36,
            255 => u64::MAX,
        };
    }
    Some(cost)
}

fn event(bytes: &mut impl Iterator<Item = u8>) -> Option<Event> {
    Some(match bytes.next()? {
        0..=79 => Event::Started,
        80..=159 => Event::Exact,
        160..=219 => Event::Times256th(u32::from(bytes.next()?) * 2),
        220..=227 => Event::Times256th(256 * 1000),
        228..=235 => Event::Took(0),
        236..=237 => Event::Took(u64::MAX),
        _ => Event::Abandoned,
    })
}

/// From nothing over some packets' time to, rarely, idle gaps.
fn span(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    Some(match bytes.next()? {
        code @ 0..=199 => u64::from(code) * 50,
        code @ 200..=249 => u64::from(code) * 1_000,
        250..=253 => u64::from(bytes.next()?) << 20,
        254 => u64::from(bytes.next()?) << 32,
        255 => 1 << 50,
    })
}
