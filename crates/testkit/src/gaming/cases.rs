//! What is tried: for every strategy cases that are known to be bad for some discipline, and random ones.

use dovetail_sched::gain::Strategy;

use super::{Case, Estimates, Feed, Identity, RIVALS, Ratio, Sizes, Traffic};
use crate::random::Random;

/// The usual packet, in ns.
const USUAL: u64 = 12_000;
/// How much smaller small packets are.
const SMALL: u64 = 15;

/// Times on the resources in percent of the longest one: of all flows alike, or each flow's own.
const RATIOS: [Ratio; 5] = [[100, 100, 100], [100, 50, 20], [50, 100, 60], [20, 60, 100], [100, 20, 100]];

/// Weights that all flows have, in thousandths: some power of two stands just below, or just above.
const WEIGHTS: [u32; 4] = [1000, 520, 720, 66_000_000];

/// Lengths of the player's and of the rivals' packets.
const SIZES: [fn(u64) -> [Sizes; 2]; 7] = [
    |usual| [Sizes::Equal(usual); 2],
    |usual| [Sizes::Between(least(usual / SMALL), usual); 2],
    |usual| [Sizes::Equal(least(usual / SMALL)), Sizes::Equal(usual)],
    |usual| [Sizes::Equal(usual), Sizes::Equal(least(usual / SMALL))],
    |usual| [Sizes::Equal(usual), Sizes::Between(least(usual / SMALL), usual)],
    |usual| [Sizes::Between(least(usual / SMALL), usual), Sizes::Equal(usual)],
    |usual| [Sizes::Equal(least(usual * 19 / 20)), Sizes::Between(least(usual * 19 / 20), usual)],
];

fn least(size: u64) -> u64 {
    size.max(1)
}

/// Nobody plays: ten equal flows.
fn plain(sizes: [Sizes; 2]) -> Case {
    weighing(WEIGHTS[0], sizes)
}

/// All flows have this weight.
fn weighing(weight: u32, sizes: [Sizes; 2]) -> Case {
    let traffic = |sizes| Traffic { weight, sizes, ratio: RATIOS[0], estimates: Estimates::True };
    let [player, rivals] = sizes.map(traffic);
    Case {
        resources: 2,
        player,
        feed: Feed::Keep(4),
        rivals,
        other_ratio: RATIOS[0],
        depth: 4,
        before: RIVALS,
        ahead: 0,
        seed: 1,
    }
}

const fn bursts(packets: (u64, u64), pause: (u64, u64), identity: Identity) -> Feed {
    Feed::Bursts { packets, pause, after_exit: false, identity }
}

/// The cases that are known to be bad for some discipline.
pub fn known(strategy: Strategy) -> Vec<Case> {
    let equal = plain(SIZES[0](USUAL));
    let all_sizes = |change: &dyn Fn(Case) -> Case| SIZES.map(|sizes| change(plain(sizes(USUAL)))).to_vec();
    let renewed = |identity| {
        let every = |packets| move |case: Case| Case { feed: bursts((packets, packets), (0, 0), identity), ..case };
        [all_sizes(&every(1)), all_sizes(&every(2)), vec![every(8)(equal)]].concat()
    };
    match strategy {
        Strategy::QueueDepth => depths(equal),
        Strategy::Scale => scales(),
        Strategy::SetupOrder => {
            [0, RIVALS / 2, RIVALS].iter().flat_map(|&before| all_sizes(&|case| Case { before, ..case })).collect()
        }
        Strategy::NewFlows => renewed(Identity::New),
        Strategy::RemoveAndAdd => {
            let feed = bursts((1, 5), (0, 0), Identity::Again);
            [renewed(Identity::Again), vec![Case { feed, depth: 2, ..plain(SIZES[3](USUAL)) }]].concat()
        }
        Strategy::Refill => refills(),
        Strategy::OnOff => {
            // Absent for a part of a round, for a round, and for some.
            let pauses = [(1, USUAL / 2), (2, 9 * USUAL), (20, 100 * USUAL)];
            pauses.iter().flat_map(|&(packets, pause)| all_sizes(&|case| again(case, packets, pause))).collect()
        }
        Strategy::FalseEstimates => {
            let said = |estimates| Case { player: Traffic { estimates, ..equal.player }, ..equal };
            let few = plain([Sizes::Equal(USUAL), Sizes::Equal(USUAL / 2)]);
            let player = Traffic { estimates: Estimates::Any, ..few.player };
            // Rivals whose few packets a fluid that runs ahead has soon served.
            let few = Case { resources: 1, player, feed: Feed::Keep(50), depth: 2, ..few };
            vec![said(Estimates::Times256th(16)), said(Estimates::Times256th(4096)), said(Estimates::Any), few]
        }
        Strategy::SmallFirst => {
            let first = |case: Case, packets, identity| Case {
                player: Traffic { sizes: Sizes::FirstAndRest(USUAL / SMALL, USUAL), ..case.player },
                feed: bursts(packets, (0, 0), identity),
                ..case
            };
            let small = Case { depth: 2, ..plain(SIZES[3](USUAL)) };
            let plays = [((2, 2), Identity::New), ((2, 2), Identity::Again), ((3, 3), Identity::New)];
            let plays = plays.map(|(packets, identity)| first(equal, packets, identity));
            [&plays[..], &[first(small, (2, 3), Identity::Again)]].concat()
        }
        Strategy::FalseAndNew => [Identity::New, Identity::Again].into_iter().flat_map(false_and_new).collect(),
    }
}

/// Bursts that are said to take a 16th, and some that are said to take more.
fn false_and_new(identity: Identity) -> Vec<Case> {
    let equal = plain(SIZES[0](USUAL));
    let of = |packets: u64, factor| Case {
        player: Traffic { estimates: Estimates::Times256th(factor), ..equal.player },
        feed: bursts((packets, packets), (0, 0), identity),
        ..equal
    };
    vec![of(1, 16), of(2, 16), of(8, 16), of(1, 128), of(2, 4096)]
}

/// The same flow sends so many packets, and again after a pause when none waits.
fn again(case: Case, packets: u64, pause: u64) -> Case {
    Case { feed: bursts((packets, packets), (pause, pause), Identity::Same), ..case }
}

fn refills() -> Vec<Case> {
    let queues = [(1, 0), (2, 0), (2, 1), (4, 0)];
    let of = |(packets, pause)| SIZES.map(|sizes| again(plain(sizes(USUAL)), packets, pause));
    let weighing = |weight| again(weighing(weight, SIZES[0](USUAL)), 2, 0);
    queues.into_iter().flat_map(of).chain(WEIGHTS.into_iter().map(weighing)).collect()
}

fn depths(equal: Case) -> Vec<Case> {
    let of = |player, depth, sizes: [Sizes; 2]| {
        let plain = plain(sizes);
        Case { feed: Feed::Keep(player), depth, ..plain }
    };
    let mut cases = vec![of(200, 1, SIZES[0](USUAL)), of(1, 200, SIZES[0](USUAL))];
    cases.extend(SIZES.iter().flat_map(|sizes| [of(200, 2, sizes(USUAL)), of(2, 200, sizes(USUAL))]));
    // Heavy flows with more packets than a loop of atfq holds, behind many light ones with few.
    cases.push(Case { player: Traffic { weight: 2000, ..equal.player }, ..of(200, 2, SIZES[0](USUAL)) });
    cases
}

fn scales() -> Vec<Case> {
    let of = |player: u32, rivals: u32, size: u64| {
        let plain = plain(SIZES[0](size));
        let [player, rivals] =
            [(plain.player, player), (plain.rivals, rivals)].map(|(t, weight)| Traffic { weight, ..t });
        Case { player, rivals, ..plain }
    };
    const MILLION: u32 = 1_000_000_000;
    const MINUTES: u64 = 300_000_000_000;
    vec![
        of(MILLION, MILLION / 2, 200),
        of(MILLION / 2, MILLION, 200),
        of(100_000_000, 66_000_000, 30),
        of(66_000_000, 100_000_000, 30),
        of(MILLION, MILLION / 3, 1),
        of(MILLION / 3, MILLION, 1),
        of(MILLION, 999_000_000, 1_000),
        of(3, 1, MINUTES),
        of(1, 3, MINUTES),
        of(1000, 3000, MINUTES),
        of(3, 1, 1),
        of(1, 1, 1_000_000_000),
    ]
}

/// A random case of the strategy: a new one, or `base` with something changed.
pub fn random(strategy: Strategy, base: Option<Case>, random: &mut Random) -> Case {
    let mut case = base.unwrap_or_else(|| anything(random));
    case.seed = random.bits();
    if base.is_some() {
        change(&mut case, random);
    }
    let within = |random: &mut Random, most: u64| {
        let least = random.between(1, most);
        (least, random.between(least, most))
    };
    let renewed = |random: &mut Random, identity| {
        let packets = within(random, 8);
        Feed::Bursts { packets, pause: moment(random), after_exit: random.below(4) == 0, identity }
    };
    match strategy {
        Strategy::QueueDepth => {
            let few = random.between(1, 2) as u32;
            let deep = [3, 20, 200][random.below(3) as usize];
            // A flow that holds one packet has an empty queue in between, and no claim on what a turn leaves over.
            let few = if equal_sizes(&case) { few } else { 2 };
            let [player, rivals] = if random.below(2) == 0 { [deep, few] } else { [few, deep] };
            (case.feed, case.depth) = (Feed::Keep(player), rivals);
        }
        Strategy::Scale => scale(&mut case, random),
        Strategy::SetupOrder => {
            case.before = random.below(RIVALS as u64 + 1) as usize;
            case.ahead = [0, 0, 50, -50, 500][random.below(5) as usize];
        }
        Strategy::NewFlows => case.feed = renewed(random, Identity::New),
        Strategy::RemoveAndAdd => case.feed = renewed(random, Identity::Again),
        Strategy::Refill => {
            let packets = within(random, 4);
            case.feed = Feed::Bursts {
                packets,
                pause: moment(random),
                after_exit: random.below(4) == 0,
                identity: Identity::Same,
            };
        }
        Strategy::OnOff => {
            let longest = case.player.sizes.longest().max(case.rivals.sizes.longest());
            let pause = [1, 3, 10, 30, 300][random.below(5) as usize] * longest;
            let most = [2, 10, 200][random.below(3) as usize];
            let packets = within(random, most);
            let pause = if random.below(2) == 0 { (pause, pause) } else { (0, pause) };
            case.feed = Feed::Bursts { packets, pause, after_exit: random.below(4) == 0, identity: Identity::Same };
        }
        Strategy::FalseEstimates => {
            let fixed = Estimates::Times256th(16 << random.below(9));
            case.player.estimates = if random.below(3) == 0 { Estimates::Any } else { fixed };
            case.feed = Feed::Keep([2, 4, 50][random.below(3) as usize]);
        }
        Strategy::SmallFirst => {
            let longest = case.player.sizes.longest();
            case.player.sizes = Sizes::FirstAndRest(least(longest / random.between(2, 100)), longest);
            let identity = if random.below(2) == 0 { Identity::New } else { Identity::Again };
            case.feed = Feed::Bursts { packets: within(random, 4), pause: moment(random), after_exit: false, identity };
        }
        Strategy::FalseAndNew => {
            let fixed = Estimates::Times256th(16 << random.below(9));
            case.player.estimates = if random.below(3) == 0 { Estimates::Any } else { fixed };
            let identity = if random.below(2) == 0 { Identity::New } else { Identity::Again };
            case.feed = renewed(random, identity);
        }
    }
    case
}

/// At once, or a moment later.
fn moment(random: &mut Random) -> (u64, u64) {
    match random.below(5) {
        0..=1 => (0, 0),
        2 => (1, 1),
        3 => (0, USUAL),
        _ => (USUAL / 2, USUAL / 2),
    }
}

fn equal_sizes(case: &Case) -> bool {
    matches!((case.player.sizes, case.rivals.sizes), (Sizes::Equal(a), Sizes::Equal(b)) if a == b)
        && case.player.ratio == case.rivals.ratio
        && case.player.ratio == case.other_ratio
}

fn anything(random: &mut Random) -> Case {
    let one_of = |random: &mut Random| RATIOS[random.below(RATIOS.len() as u64) as usize];
    let weight = WEIGHTS[random.below(WEIGHTS.len() as u64) as usize];
    let mut case = weighing(weight, SIZES[random.below(SIZES.len() as u64) as usize](USUAL));
    if random.below(4) == 0 {
        let mut any = || random.between(USUAL / SMALL, USUAL);
        (case.player.sizes, case.rivals.sizes) = (Sizes::Equal(any()), Sizes::Equal(any()));
    }
    case.resources = random.between(1, 3) as usize;
    case.player.ratio = one_of(random);
    let mixed = random.below(2) == 0;
    case.rivals.ratio = if mixed { one_of(random) } else { case.player.ratio };
    case.other_ratio = if mixed { one_of(random) } else { case.player.ratio };
    case.depth = [2, 3, 10, 50][random.below(4) as usize];
    case.feed = Feed::Keep([2, 3, 10, 50][random.below(4) as usize]);
    case
}

/// One thing is as in another random case.
fn change(case: &mut Case, random: &mut Random) {
    let other = anything(random);
    match random.below(6) {
        0 => case.resources = other.resources,
        1 => {
            (case.player.ratio, case.rivals.ratio, case.other_ratio) =
                (other.player.ratio, other.rivals.ratio, other.other_ratio)
        }
        2 => (case.player.sizes, case.rivals.sizes) = (other.player.sizes, other.rivals.sizes),
        3 => case.depth = other.depth,
        4 => (case.player.weight, case.rivals.weight) = (other.player.weight, other.rivals.weight),
        _ => (),
    }
}

/// Weights and times of any size; weights differ at most fifteen times, and only if lengths do not, so that the run has
/// an end.
fn scale(case: &mut Case, random: &mut Random) {
    const FACTORS: [u64; 6] = [1, 30, 1_000, 1_000_000, 1_000_000_000, 300_000_000_000];
    let size = FACTORS[random.below(6) as usize] * random.between(1, 9).min(5);
    let sizes = SIZES[random.below(SIZES.len() as u64) as usize](size.min(FACTORS[5]));
    (case.player.sizes, case.rivals.sizes) = (sizes[0], sizes[1]);
    let common = [1, 15, 1_000, 1_000_000, 66_000_000][random.below(5) as usize];
    let different = if equal_sizes(case) { 15 } else { 1 };
    let weight = |random: &mut Random| (common * random.between(1, different)) as u32;
    (case.player.weight, case.rivals.weight) = (weight(random), weight(random));
}
