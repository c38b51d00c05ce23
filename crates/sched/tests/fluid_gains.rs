//! What a flow gains among nine others that are backlogged throughout, by the disciplines that have a clock of a fluid:
//! its service as a multiple of a tenth of all.

use std::collections::BTreeMap;

use dovetail_sched::gain::Strategy;
use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, build, catalog};
use dovetail_units::{Duration, ResourceVec, Time};

const RIVALS: usize = 9;
const LONGEST: u64 = 10_000;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// What the attacker sends.
#[derive(Clone, Debug)]
struct Attack {
    /// Its packets' times, one burst: the next one follows when so many packets are left.
    burst: Vec<u64>,
    left: u32,
    /// A flow of its own for every burst, the old one removed or not.
    fresh: bool,
    removes: bool,
    /// Times are estimated as this many sixteenths of what they are.
    estimate: u64,
    /// Nothing for so long after a burst.
    pause: u64,
}

/// The rivals' packets.
#[derive(Clone, Copy, Debug)]
enum Sizes {
    Equal,
    Random,
    /// Of each rival its own.
    Own,
}

struct Play<const M: usize> {
    scheduler: Box<dyn Scheduler<M, u32>>,
    now: u64,
    random: Random,
    sizes: Sizes,
}

impl<const M: usize> Play<M> {
    /// Flow 0 is the attacker's.
    fn offer(&mut self, id: FlowId, flow: usize, time: u64, estimate: u64) {
        let cost = ResourceVec::from_nanos([(time * estimate / 16).max(1); M]);
        let packet = Packet { flow: id, size: time as u32, cost, payload: flow as u32 };
        self.scheduler.enqueue(Time::from_nanos(self.now), packet).unwrap();
    }

    fn time_of(&mut self, rival: usize) -> u64 {
        match self.sizes {
            Sizes::Equal => LONGEST,
            Sizes::Random => 1 + self.random.below(LONGEST),
            Sizes::Own => LONGEST * (1 + rival as u64) / RIVALS as u64,
        }
    }
}

fn gain<const M: usize>(spec: &str, attack: &Attack, sizes: Sizes, seed: u64) -> f64 {
    let scheduler = build(&spec.parse().unwrap(), Shape { servers: M as u32 }).unwrap();
    let mut play = Play::<M> { scheduler, now: 0, random: Random(seed), sizes };
    let mut own = play.scheduler.add_flow(FlowConfig::default());
    let rivals: Vec<_> = (0..RIVALS).map(|_| play.scheduler.add_flow(FlowConfig::default())).collect();
    for _ in 0..4 {
        for (k, &rival) in rivals.iter().enumerate() {
            let time = play.time_of(k);
            play.offer(rival, 1 + k, time, 16);
        }
    }
    // The rivals are out of step by when the attacker comes.
    let (begin, end) = (200 * LONGEST, 1_700 * LONGEST);
    let (mut resumes, mut service, mut all) = (begin, 0, 0);
    while play.now < end {
        if play.now >= resumes && play.scheduler.queued(own) <= attack.left {
            if attack.fresh {
                let old = std::mem::replace(&mut own, play.scheduler.add_flow(FlowConfig::default()));
                if attack.removes {
                    play.scheduler.remove_flow(Time::from_nanos(play.now), old, &mut |_| ()).unwrap();
                }
            }
            attack.burst.iter().for_each(|&time| play.offer(own, 0, time, attack.estimate));
            resumes = play.now + attack.pause;
        }
        match play.scheduler.next(Time::from_nanos(play.now)) {
            Next::Serve(mut served) => {
                let time = u64::from(served.size);
                play.now += time;
                for r in 0..M {
                    let used = Duration::from_nanos(time);
                    play.scheduler.progress(
                        Time::from_nanos(play.now),
                        &mut served.ticket,
                        r,
                        Progress::Finished { used },
                    );
                }
                if play.now >= begin {
                    all += time;
                    service += if served.payload == 0 { time } else { 0 };
                }
                if served.payload > 0 {
                    let flow = served.payload as usize;
                    let time = play.time_of(flow - 1);
                    play.offer(rivals[flow - 1], flow, time, 16);
                }
            }
            Next::At(time) => play.now = time.as_nanos(),
            other => panic!("{other:?}"),
        }
    }
    service as f64 * (1 + RIVALS) as f64 / all as f64
}

fn attacks(random: &mut Random) -> Vec<(&'static str, Attack)> {
    let plain = Attack { burst: vec![], left: 0, fresh: false, removes: false, estimate: 16, pause: 0 };
    let time = [LONGEST / 100, LONGEST / 30, LONGEST / 10, LONGEST / 3, LONGEST, 1 + random.below(LONGEST)];
    let burst = |random: &mut Random, packets: u64| -> Vec<u64> {
        let equal = time[random.below(6) as usize];
        (0..packets).map(|_| if random.below(2) == 0 { equal } else { 1 + random.below(LONGEST) }).collect()
    };
    let mut attacks = Vec::new();
    for packets in [1, 2, 4, 8] {
        let burst = burst(random, packets);
        attacks.push(("refill", Attack { burst: burst.clone(), ..plain.clone() }));
        attacks.push(("new flows", Attack { burst: burst.clone(), fresh: true, ..plain.clone() }));
        attacks.push(("remove and add", Attack { burst: burst.clone(), fresh: true, removes: true, ..plain.clone() }));
        let small_first: Vec<u64> = std::iter::once(1).chain(burst.iter().copied()).collect();
        attacks.push(("small first", Attack { burst: small_first.clone(), fresh: true, ..plain.clone() }));
        attacks.push((
            "small first",
            Attack { burst: small_first, fresh: true, removes: true, left: packets as u32 - 1, ..plain.clone() },
        ));
        let pause = random.below(40 * packets * LONGEST);
        attacks.push(("on and off", Attack { burst: burst.clone(), pause, ..plain.clone() }));
        for estimate in [1, 4, 64] {
            attacks.push(("false estimates", Attack { burst: burst.clone(), estimate, left: 4, ..plain.clone() }));
        }
        attacks.push(("queue depth", Attack { burst: burst.repeat(50), left: 100, ..plain.clone() }));
    }
    attacks
}

fn search<const M: usize>(spec: &str, seeds: u64) -> BTreeMap<&'static str, (f64, String)> {
    let mut worst = BTreeMap::new();
    for seed in 0..seeds {
        let sizes = [Sizes::Equal, Sizes::Random, Sizes::Own][seed as usize % 3];
        for (name, attack) in attacks(&mut Random(seed)) {
            let gain = gain::<M>(spec, &attack, sizes, seed);
            let entry = worst.entry(name).or_insert((0.0, String::new()));
            if gain > entry.0 {
                *entry = (gain, format!("{sizes:?} {attack:?}"));
            }
        }
    }
    worst
}

#[test]
fn nobody_gains_more_than_the_catalogue_says() {
    for spec in ["wfq", "wf2q+", "drgps", "drgps:order=start"] {
        let name = spec.split(':').next().unwrap();
        let entry = catalog().iter().find(|entry| entry.name == name).unwrap();
        for (name, (gain, how)) in search::<1>(spec, 6) {
            println!("{spec:20} {name:16} {gain:.3} {}", how.chars().take(150).collect::<String>());
            let strategy = Strategy::ALL.into_iter().find(|strategy| strategy.name() == name).unwrap();
            // By start a packet that starts is served before all that start later, whatever they need.
            let most = entry.gain(strategy).most.max(if spec.ends_with("start") { 1.1 } else { 0.0 });
            assert!(gain <= most, "{spec}, {name}: {gain} by {how}");
        }
    }
}
