//! What a flow gains by playing: one player beside nine rivals that are backlogged throughout, in a closed loop with a
//! pipeline of single servers.
//!
//! The gain is the player's service by weight, divided by that of its rivals in the mean: the multiple of one flow's
//! fair share. Service is what the discipline shares out ([`Measure`]), by what packets really take, as of their
//! entrance into the first resource.
//!
//! *How long a run is.* In the disciplines' bounds the services by weight of two backlogged flows differ by some
//! packets: 2 by tags, 6 by rounds (mr3), 15 by groups (gmr3, the most that was found), each as long as the longest
//! estimate L of any flow, by the smallest weight. A run lasts until the flows have got [`Effort::packets`] such L each
//! in the mean; 15 of 400 are 3.8 %, so that whole packets and the beginning stay inside
//! [`ORDINARY`](dovetail_sched::gain::ORDINARY).

mod cases;
mod play;

use std::fmt;

use dovetail_sched::catalog::Entry;
use dovetail_sched::gain::Strategy;
use dovetail_sched::{Spec, catalog};

pub use cases::{known, random};
pub use play::{Outcome, play};

use crate::random::Random;

/// Rivals of the player.
pub const RIVALS: usize = 9;
/// A packet's times on the resources of a pipeline of at most three, in percent of the longest.
pub type Ratio = [u64; 3];

/// What is counted as service of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Its time on the resource where it takes longest.
    Dominant,
    /// Its time on all resources.
    Total,
    /// By how much it lengthens the time for which its flow alone would keep a pipeline without buffers.
    Active,
    /// Its time on the last resource.
    Last,
}

impl Measure {
    /// What the discipline shares out. Bottleneck fairness shares the dominant time where the flows' resources do not
    /// differ, which is the only case that it promises anything for.
    pub fn of(discipline: &str) -> Self {
        match discipline {
            "pcfq" | "cbcs" => Self::Total,
            "atfq" => Self::Active,
            "drr" | "wfq" | "wf2q+" | "sfq" | "scfq" => Self::Last,
            _ => Self::Dominant,
        }
    }
}

/// Lengths of a flow's packets: their times in ns on the resource where they take longest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// All alike.
    Equal(u64),
    /// Any, evenly.
    Between(u64, u64),
    /// The first one of a burst, and the others.
    FirstAndRest(u64, u64),
}

impl Sizes {
    fn no_shorter_than(self, least: u64) -> Self {
        match self {
            Self::Equal(size) => Self::Equal(size.max(least)),
            Self::Between(a, b) => Self::Between(a.max(least), b.max(least)),
            Self::FirstAndRest(a, b) => Self::FirstAndRest(a.max(least), b.max(least)),
        }
    }

    fn longest(self) -> u64 {
        match self {
            Self::Equal(size) => size,
            Self::Between(a, b) | Self::FirstAndRest(a, b) => a.max(b),
        }
    }
}

/// What a packet is said to take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Estimates {
    /// What it takes.
    True,
    /// That, times a 256th of this.
    Times256th(u32),
    /// That, times a random power of two from 1/16 to 16.
    Any,
}

impl Estimates {
    fn largest_256th(self) -> u64 {
        match self {
            Self::True => 256,
            Self::Times256th(factor) => u64::from(factor).max(256),
            Self::Any => 16 * 256,
        }
    }
}

/// What a flow sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traffic {
    /// In thousandths.
    pub weight: u32,
    /// Of its packets.
    pub sizes: Sizes,
    /// Of every packet.
    pub ratio: Ratio,
    /// Of its packets' times.
    pub estimates: Estimates,
}

/// Whose the next burst is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    /// The same flow's.
    Same,
    /// A new flow's; the old one stays, without packets.
    New,
    /// The same one's, removed and added again.
    Again,
}

/// When a flow sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feed {
    /// So many packets wait, always.
    Keep(u32),
    /// Bursts of so many packets, from and to. The next one comes when none waits, after a pause of so many ns, from
    /// and to.
    Bursts {
        /// Packets.
        packets: (u64, u64),
        /// Nanoseconds.
        pause: (u64, u64),
        /// The pause begins when the last packet has left the pipeline, not when it has entered it.
        after_exit: bool,
        /// Whose it is.
        identity: Identity,
    },
}

/// The input of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// Of the pipeline: 1 to 3.
    pub resources: usize,
    /// The player's packets.
    pub player: Traffic,
    /// When they come.
    pub feed: Feed,
    /// The rivals' packets.
    pub rivals: Traffic,
    /// The ratio of every other rival.
    pub other_ratio: Ratio,
    /// Packets that wait of every rival.
    pub depth: u32,
    /// Rivals that are set up before the player.
    pub before: usize,
    /// For so many of its own longest packets the player is alone, or absent, before all are counted.
    pub ahead: i32,
    /// Of everything random.
    pub seed: u64,
}

/// How hard to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Random cases, after those known to be bad for some discipline.
    pub draws: usize,
    /// Longest packets that every flow gets in the mean.
    pub packets: u64,
}

impl Effort {
    /// For tests: seconds for all disciplines.
    pub const SMALL: Self = Self { draws: 3, packets: 400 };
    /// For `make search`.
    pub const LARGE: Self = Self { draws: 60, packets: 2_000 };
}

/// The largest gain that was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// The multiple of one flow's fair share; infinite if the rivals were starved.
    pub gain: f64,
    /// The case, in words.
    pub how: String,
}

/// The largest gain of a flow by a strategy: first of the cases that are known to be bad for some discipline, then of
/// random ones, of which every other one is a change to the worst so far.
///
/// # Panics
///
/// If `spec` is not that of a discipline.
pub fn largest(spec: &str, strategy: Strategy, effort: Effort) -> Found {
    let parsed: Spec = spec.parse().unwrap_or_else(|e| panic!("{spec}: {e}"));
    let entry = catalog().iter().find(|e| e.name == parsed.name).unwrap_or_else(|| panic!("there is no {spec}"));
    let mut random = Random::new(strategy as u64 + 1);
    let (mut found, mut worst) = (Found { gain: 0.0, how: String::new() }, None);
    let mut hold = |case: Case, worst: &mut Option<Case>| {
        let outcome = play(&parsed, Measure::of(entry.name), &case, effort.packets);
        if outcome.gain() > found.gain || worst.is_none() {
            found = Found { gain: outcome.gain(), how: format!("{case}; {outcome}") };
            *worst = Some(case);
        }
    };
    known(strategy).into_iter().filter_map(|case| fitting(case, entry)).for_each(|case| hold(case, &mut worst));
    for draw in 0..effort.draws {
        let base = worst.filter(|_| draw % 2 == 1);
        if let Some(case) = fitting(cases::random(strategy, base, &mut random), entry) {
            hold(case, &mut worst);
        }
    }
    found
}

/// The case as one about which the discipline makes a promise.
fn fitting(mut case: Case, entry: &Entry) -> Option<Case> {
    if !entry.resources.allow(case.resources) {
        case.resources = 2;
    }
    // Where it matters how the flows' resources differ, or that they do, by design: efficiency, and the bottleneck.
    if matches!(entry.name, "tradeoff" | "bf") {
        (case.rivals.ratio, case.other_ratio) = (case.player.ratio, case.player.ratio);
        // Times are whole nanoseconds: of shorter packets the ratio is another one.
        for sizes in [&mut case.player.sizes, &mut case.rivals.sizes] {
            *sizes = sizes.no_shorter_than(1_000);
        }
    }
    let ratios = [&mut case.player.ratio, &mut case.rivals.ratio, &mut case.other_ratio];
    for ratio in ratios {
        let used = &mut ratio[..case.resources];
        // The resource that is shared is never kept waiting.
        if Measure::of(entry.name) == Measure::Last {
            used.iter_mut().for_each(|percent| *percent = *percent * 9 / 10);
            used[case.resources - 1] = 100;
        } else if !used.contains(&100) {
            used[0] = 100;
        }
    }
    entry.shares_time().then_some(case)
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = |of: Ratio| of[..self.resources].iter().map(u64::to_string).collect::<Vec<_>>().join(":");
        let (player, rivals) = (self.player, self.rivals);
        write!(f, "player {} {} {}", player.sizes, ratio(player.ratio), self.feed)?;
        match player.estimates {
            Estimates::True => (),
            Estimates::Times256th(factor) => write!(f, ", estimates times {}", f64::from(factor) / 256.0)?,
            Estimates::Any => write!(f, ", estimates times 1/16 to 16")?,
        }
        write!(f, " | rivals {} {}", rivals.sizes, ratio(rivals.ratio))?;
        if self.other_ratio != rivals.ratio {
            write!(f, " and {}", ratio(self.other_ratio))?;
        }
        write!(f, " keep {}", self.depth)?;
        let weight = |milli: u32| f64::from(milli) / 1000.0;
        if (player.weight, rivals.weight) != (1000, 1000) {
            write!(f, ", weights {} : {}", weight(player.weight), weight(rivals.weight))?;
        }
        if self.before != RIVALS {
            write!(f, ", set up after {}", self.before)?;
        }
        match self.ahead {
            0 => Ok(()),
            ahead if ahead > 0 => write!(f, ", {ahead} packets earlier"),
            ahead => write!(f, ", {} packets later", -ahead),
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal(size) => write!(f, "{size} ns"),
            Self::Between(least, most) => write!(f, "{least}..{most} ns"),
            Self::FirstAndRest(first, rest) => write!(f, "{first} ns then {rest} ns"),
        }
    }
}

impl fmt::Display for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range =
            |(least, most): (u64, u64)| if least == most { least.to_string() } else { format!("{least}..{most}") };
        let Self::Bursts { packets, pause, after_exit, identity } = *self else {
            let Self::Keep(depth) = *self else { return Ok(()) };
            return write!(f, "keeps {depth}");
        };
        let whose = match identity {
            Identity::Same => "",
            Identity::New => " of new flows",
            Identity::Again => " of a flow added again",
        };
        write!(f, "sends {}{whose}", range(packets))?;
        match (pause, after_exit) {
            ((0, 0), false) => Ok(()),
            (_, false) => write!(f, ", {} ns after the last entered", range(pause)),
            (_, true) => write!(f, ", {} ns after the last left", range(pause)),
        }
    }
}
