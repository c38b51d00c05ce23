//! The sources at work: one merged stream of packets in order of time.

use dovetail_trace::Arrival;
use dovetail_units::{Duration, PacketRate, ResourceVec, Time};
use rand::RngExt;
use rand_distr::{Distribution, Exp1};

use crate::agenda::Agenda;
use crate::random::{Stream, stream};
use crate::workload::{Generator, List, ListedIter, Pattern, Size, Source, Spell, Workload};

/// A packet that arrives.
pub(crate) struct Emitted<const M: usize> {
    pub flow: u32,
    pub size: u32,
    pub cost: Option<ResourceVec<M>>,
}

/// All sources of a workload, merged by (time, source).
pub(crate) struct Arrivals<'w, const M: usize> {
    sources: Vec<Running<'w, M>>,
    due: Agenda<(Time, u32)>,
}

impl<'w, const M: usize> Arrivals<'w, M> {
    pub fn new(workload: &'w Workload<M>, seed: u64) -> Self {
        let mut sources: Vec<_> = workload.sources.iter().map(|s| Running::new(s, seed)).collect();
        let mut due = Agenda::new();
        (0..).zip(&mut sources).filter_map(|(i, s)| Some((s.advance()?, i))).for_each(|first| due.push(first));
        Self { sources, due }
    }

    /// When the next packet comes.
    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        self.due.first().map(|(time, _)| time)
    }

    /// The next packet, if it comes at `now`.
    #[inline]
    pub fn pop_at(&mut self, now: Time) -> Option<Emitted<M>> {
        let (_, index) = self.due.first().filter(|&(time, _)| time == now)?;
        self.due.pop();
        let source = &mut self.sources[index as usize];
        let packet = source.emit();
        if let Some(time) = source.advance() {
            self.due.push((time, index));
        }
        packet
    }
}

enum Running<'w, const M: usize> {
    List(Listing<'w, M>),
    Generator(Box<Generating<'w>>),
}

impl<'w, const M: usize> Running<'w, M> {
    fn new(source: &'w Source<M>, seed: u64) -> Self {
        match source {
            Source::List(list) => Self::List(Listing { list, packets: list.arrivals.iter(), next: None, emitted: 0 }),
            Source::Generator(generator) => Self::Generator(Box::new(Generating::new(generator, seed))),
        }
    }

    /// When the packet after the last emitted one comes.
    #[inline]
    fn advance(&mut self) -> Option<Time> {
        match self {
            Self::List(listing) => listing.advance(),
            Self::Generator(generating) => generating.advance(),
        }
    }

    /// The packet whose time `advance` told.
    #[inline]
    fn emit(&mut self) -> Option<Emitted<M>> {
        match self {
            Self::List(listing) => listing.emit(),
            Self::Generator(generating) => {
                Some(Emitted { flow: generating.spec.flow, size: generating.sizes.draw(), cost: None })
            }
        }
    }
}

struct Listing<'w, const M: usize> {
    list: &'w List<M>,
    /// Those behind the next.
    packets: ListedIter<'w>,
    next: Option<Arrival>,
    emitted: usize,
}

impl<const M: usize> Listing<'_, M> {
    fn advance(&mut self) -> Option<Time> {
        self.next = self.packets.next();
        self.next.map(|arrival| self.list.scale.apply(arrival.time))
    }

    /// The next packet, if `advance` told of one.
    fn emit(&mut self) -> Option<Emitted<M>> {
        let Arrival { flow, size, .. } = self.next.take()?;
        let cost = self.list.costs.as_ref().map(|costs| costs[self.emitted]);
        self.emitted += 1;
        Some(Emitted { flow, size, cost })
    }
}

struct Generating<'w> {
    spec: &'w Generator,
    sent: u64,
    clock: Clock,
    sizes: Sizes<'w>,
}

impl<'w> Generating<'w> {
    fn new(spec: &'w Generator, seed: u64) -> Self {
        let times = stream(seed, &format!("{} arrivals", spec.name));
        let sizes = Sizes::new(&spec.size, stream(seed, &format!("{} sizes", spec.name)));
        Self { spec, sent: 0, clock: Clock::new(spec.pattern, times), sizes }
    }

    #[inline]
    fn advance(&mut self) -> Option<Time> {
        if self.spec.packets.is_some_and(|most| self.sent >= most) {
            return None;
        }
        let last = self.spec.stop.unwrap_or(Time::MAX);
        let time = self.spec.start + self.clock.next(self.sent, last.since(self.spec.start));
        self.sent += 1;
        (time < last).then_some(time)
    }
}

/// Time since the generator's start.
enum Clock {
    /// Where the interval is a whole number of nanoseconds, nothing need be divided.
    Regular {
        interval: Duration,
    },
    Constant(PacketRate),
    Jittered {
        rate: PacketRate,
        jitter: Duration,
        random: Stream,
    },
    Poisson {
        mean_ns: f64,
        now: Wait,
        random: Stream,
    },
    /// The present time on began at `began`, after `before` in times on, and has this `length`.
    OnOff {
        rate: PacketRate,
        on: Spell,
        off: Spell,
        random: Stream,
        began: Wait,
        before: Duration,
        length: Duration,
    },
}

impl Clock {
    fn new(pattern: Pattern, mut random: Stream) -> Self {
        match pattern {
            Pattern::Constant(rate) => match rate.interval() {
                Some(interval) => Self::Regular { interval },
                None => Self::Constant(rate),
            },
            Pattern::Jittered { rate, jitter } => Self::Jittered { rate, jitter, random },
            Pattern::Poisson(rate) => Self::Poisson { mean_ns: 1e9 / rate.as_pps(), now: Wait::default(), random },
            Pattern::OnOff { rate, on, off } => {
                let mut first = Wait::default();
                let length = first.spell(on, &mut random);
                let began = Wait { total: Duration::ZERO, rest: first.rest };
                Self::OnOff { rate, on, off, random, began, before: Duration::ZERO, length }
            }
        }
    }

    /// When packet number `k` comes; calls must count k up. Times from `end` on may be anything from `end` on.
    fn next(&mut self, k: u64, end: Duration) -> Duration {
        match self {
            Self::Regular { interval } => interval.saturating_mul(k),
            Self::Constant(rate) => rate.due(k),
            Self::Jittered { rate, jitter, random } => {
                rate.due(k) + Duration::from_nanos(random.random_range(0..=jitter.as_nanos()))
            }
            Self::Poisson { mean_ns, now, random } => {
                now.exponential(*mean_ns, random);
                now.total
            }
            Self::OnOff { rate, on, off, random, began, before, length } => {
                let due = rate.due(k);
                while due >= *before + *length && began.total < end {
                    *before += *length;
                    began.total += *length;
                    began.spell(*off, random);
                    let mut next = Wait { total: Duration::ZERO, rest: began.rest };
                    *length = next.spell(*on, random);
                    began.rest = next.rest;
                }
                began.total + due.saturating_sub(*before)
            }
        }
    }
}

/// A sum of random times in nanoseconds whose rounding does not bias the mean: the rest below a nanosecond is kept.
#[derive(Clone, Copy, Default)]
struct Wait {
    total: Duration,
    rest: f64,
}

impl Wait {
    fn exponential(&mut self, mean_ns: f64, random: &mut Stream) -> Duration {
        let draw: f64 = Exp1.sample(random);
        let exact = draw * mean_ns + self.rest;
        let whole = exact.floor();
        self.rest = exact - whole;
        let span = Duration::from_nanos(whole as u64);
        self.total += span;
        span
    }

    fn spell(&mut self, spell: Spell, random: &mut Stream) -> Duration {
        match spell {
            Spell::Fixed(length) => {
                self.total += length;
                length
            }
            Spell::Exponential(mean) => self.exponential(mean.as_nanos() as f64, random),
        }
    }
}

enum Sizes<'w> {
    Fixed(u32),
    Uniform { min: u32, max: u32, random: Stream },
    Mix { sizes: &'w [(u32, u32)], cumulative: Vec<u64>, total: u64, random: Stream },
}

impl<'w> Sizes<'w> {
    fn new(size: &'w Size, random: Stream) -> Self {
        match size {
            Size::Fixed(size) => Self::Fixed(*size),
            Size::Uniform { min, max } => Self::Uniform { min: *min, max: *max, random },
            Size::Mix(sizes) => {
                let mut total = 0;
                let mut add = |frequency: u32| {
                    total += u64::from(frequency);
                    total
                };
                let cumulative = sizes.iter().map(|&(_, frequency)| add(frequency)).collect();
                Self::Mix { sizes, cumulative, total, random }
            }
        }
    }

    #[inline]
    fn draw(&mut self) -> u32 {
        match self {
            Self::Fixed(size) => *size,
            Self::Uniform { min, max, random } => random.random_range(*min..=*max),
            Self::Mix { sizes, cumulative, total, random } => {
                let at = random.random_range(0..*total);
                sizes[cumulative.partition_point(|&c| c <= at)].0
            }
        }
    }
}
