//! The closed loop: scheduler, pipeline, rivals and player.

use std::collections::VecDeque;
use std::fmt;

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, Spec, Ticket, build};
use dovetail_units::{Duration, ResourceVec, Time, Weight};

use super::{Case, Estimates, Feed, Identity, Measure, RIVALS, Sizes, Traffic};
use crate::no_wait::NoWait;
use crate::random::Random;

/// The player among the parties.
const PLAYER: usize = RIVALS;
const PARTIES: usize = RIVALS + 1;
/// Packets between two resources where the shared one is not to be fed without limit: see [`Run::room`].
const BUFFER: usize = 16;
/// Beyond this gain the rivals are starved, and the run may end early.
const STARVED: f64 = 50.0;
/// Events at one instant beyond which a run is stuck.
const STUCK: u32 = 1_000_000;

/// What a run came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The player's service by weight.
    pub player: f64,
    /// Its rivals', in the mean.
    pub rivals: f64,
    /// Why the run ended before its time.
    pub stuck: Option<String>,
}

impl Outcome {
    /// The player's multiple of a flow's fair share.
    pub fn gain(&self) -> f64 {
        match self.stuck {
            Some(_) => f64::INFINITY,
            None => self.player / self.rivals,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.stuck {
            Some(why) => f.write_str(why),
            None => write!(f, "gain {:.3}", self.gain()),
        }
    }
}

/// Play until the flows have got so many longest packets each in the mean.
///
/// # Panics
///
/// If there is no such scheduler for the case's number of resources.
pub fn play(spec: &Spec, measure: Measure, case: &Case, packets: u64) -> Outcome {
    match case.resources {
        1 => Run::<1>::new(spec, measure, case).outcome(packets),
        2 => Run::<2>::new(spec, measure, case).outcome(packets),
        _ => Run::<3>::new(spec, measure, case).outcome(packets),
    }
}

/// One of the flows' owners.
struct Party {
    flow: FlowId,
    traffic: Traffic,
    waiting: u32,
    inside: u32,
    /// Of packets handed out.
    dominant: u128,
    total: u128,
    last: u128,
}

struct Inside<const M: usize> {
    ticket: Ticket<M>,
    party: usize,
    cost: [u64; M],
}

/// A resource with one server, and the packets that wait before it.
struct Server<const M: usize> {
    waiting: VecDeque<Inside<M>>,
    serving: Option<(Time, Inside<M>)>,
}

struct Run<const M: usize> {
    scheduler: Box<dyn Scheduler<M, u32>>,
    measure: Measure,
    case: Case,
    random: Random,
    now: Time,
    parties: Vec<Party>,
    /// Of every party as if it were alone, for active time, and where that stood when counting began.
    alone: Vec<(NoWait<M>, u64)>,
    servers: [Server<M>; M],
    /// Whose packets are in the scheduler, and what they really take, by payload; and payloads to use again.
    given: Vec<(usize, [u64; M])>,
    free: Vec<u32>,
    wake: Option<Time>,
    /// When the player sends again.
    resume: Option<Time>,
    /// Who takes part yet.
    playing: bool,
    rivals_are_here: bool,
}

impl<const M: usize> Run<M> {
    fn new(spec: &Spec, measure: Measure, case: &Case) -> Self {
        let shape = Shape { servers: M as u32 };
        let mut scheduler = build::<M, u32>(spec, shape).unwrap_or_else(|e| panic!("{spec}: {e}"));
        let mut parties: Vec<(usize, Party)> = Vec::new();
        let places = (0..case.before).chain([PLAYER]).chain(case.before..RIVALS);
        for place in places {
            let mut traffic = if place == PLAYER { case.player } else { case.rivals };
            if place != PLAYER && place % 2 == 1 {
                traffic.ratio = case.other_ratio;
            }
            let flow = scheduler.add_flow(config(traffic.weight));
            parties.push((place, Party { flow, traffic, waiting: 0, inside: 0, dominant: 0, total: 0, last: 0 }));
        }
        parties.sort_by_key(|(place, _)| *place);
        Self {
            scheduler,
            measure,
            case: *case,
            random: Random::new(case.seed),
            now: Time::ZERO,
            parties: parties.into_iter().map(|(_, party)| party).collect(),
            alone: vec![(NoWait::default(), 0); PARTIES],
            servers: std::array::from_fn(|_| Server { waiting: VecDeque::new(), serving: None }),
            given: Vec::new(),
            free: Vec::new(),
            wake: None,
            resume: matches!(case.feed, Feed::Bursts { .. }).then_some(Time::ZERO),
            playing: case.ahead >= 0,
            rivals_are_here: case.ahead <= 0,
        }
    }

    fn outcome(mut self, packets: u64) -> Outcome {
        let longest = self.longest();
        let mut stuck = None;
        if self.case.ahead != 0 {
            let alone = f64::from(self.case.ahead.unsigned_abs()) * longest;
            stuck = self.run_until(alone).err();
            (self.playing, self.rivals_are_here) = (true, true);
            self.count_from_now();
        }
        if stuck.is_none() {
            stuck = self.run_until(packets as f64 * longest * PARTIES as f64).err();
        }
        let (player, rivals) = self.services();
        Outcome { player, rivals, stuck }
    }

    /// The longest packet of all by its estimate, by the smallest weight, in the measure of service.
    fn longest(&self) -> f64 {
        let traffics = [self.case.player, self.case.rivals];
        let size = |t: &Traffic| t.sizes.longest() * t.estimates.largest_256th() / 256;
        let longest = traffics.iter().map(size).max().unwrap_or(1) as f64;
        let weight = traffics.iter().map(|t| t.weight).min().unwrap_or(1);
        let resources = if matches!(self.measure, Measure::Total | Measure::Active) { M } else { 1 };
        longest * resources as f64 * 1000.0 / f64::from(weight)
    }

    /// Service by weight.
    fn service(&self, party: usize) -> f64 {
        let Party { traffic, dominant, total, last, .. } = &self.parties[party];
        let time = match self.measure {
            Measure::Dominant => *dominant,
            Measure::Total => *total,
            Measure::Last => *last,
            Measure::Active => u128::from(self.alone[party].0.free_at(M - 1) - self.alone[party].1),
        };
        time as f64 * 1000.0 / f64::from(traffic.weight)
    }

    /// The player's, and its rivals' in the mean.
    fn services(&self) -> (f64, f64) {
        (self.service(PLAYER), (0..RIVALS).map(|party| self.service(party)).sum::<f64>() / RIVALS as f64)
    }

    fn count_from_now(&mut self) {
        for (party, (alone, from)) in self.parties.iter_mut().zip(&mut self.alone) {
            (party.dominant, party.total, party.last) = (0, 0, 0);
            *from = alone.free_at(M - 1);
        }
    }

    /// Until all parties together have got this much service by weight.
    fn run_until(&mut self, service: f64) -> Result<(), String> {
        let (mut instant, mut events) = (self.now, 0);
        let mut handed_out = 0u32;
        loop {
            let (player, rivals) = self.services();
            let all = player + rivals * RIVALS as f64;
            if all >= service || all >= service / 4.0 && player > STARVED * rivals {
                return Ok(());
            }
            // The sum is worth looking at every few packets only.
            for _ in 0..64 {
                self.feed();
                handed_out += u32::from(self.hand_out());
                self.advance()?;
                events = if self.now == instant { events + 1 } else { 0 };
                instant = self.now;
                if events > STUCK {
                    return Err(format!("stuck at {} after {handed_out} packets", self.now));
                }
            }
        }
    }

    /// Everybody sends what is due now.
    fn feed(&mut self) {
        for rival in 0..RIVALS {
            while self.rivals_are_here && self.parties[rival].waiting < self.case.depth {
                self.send(rival, false);
            }
        }
        if !self.playing {
            return;
        }
        match self.case.feed {
            Feed::Keep(depth) => {
                while self.parties[PLAYER].waiting < depth {
                    self.send(PLAYER, false);
                }
            }
            Feed::Bursts { packets, identity, .. } => {
                if self.resume.is_some_and(|resume| resume <= self.now) {
                    self.resume = None;
                    self.change(identity);
                    let count = self.random.between(packets.0, packets.1);
                    (0..count).for_each(|k| self.send(PLAYER, k == 0));
                }
            }
        }
    }

    fn change(&mut self, identity: Identity) {
        let player = &mut self.parties[PLAYER];
        if identity == Identity::Again {
            let removed = self.scheduler.remove_flow(self.now, player.flow, &mut |_| ());
            assert!(removed.is_ok(), "a live flow is unknown");
        }
        if identity != Identity::Same {
            player.flow = self.scheduler.add_flow(config(player.traffic.weight));
        }
    }

    /// One packet of the party, the first one of a burst or another.
    fn send(&mut self, party: usize, first: bool) {
        let Traffic { sizes, ratio, estimates, .. } = self.parties[party].traffic;
        let size = match sizes {
            Sizes::Equal(size) => size,
            Sizes::Between(least, most) => self.random.between(least, most),
            Sizes::FirstAndRest(size, rest) => {
                if first {
                    size
                } else {
                    rest
                }
            }
        };
        let cost: [u64; M] = std::array::from_fn(|r| (size * ratio[r] / 100).max(1));
        let factor = match estimates {
            Estimates::True => 256,
            Estimates::Times256th(factor) => u64::from(factor),
            Estimates::Any => 16 << self.random.below(9),
        };
        let estimate = cost.map(|time| (time * factor / 256).max(1));
        let payload = self.free.pop().unwrap_or(self.given.len() as u32);
        if payload as usize == self.given.len() {
            self.given.push((party, cost));
        }
        self.given[payload as usize] = (party, cost);
        let flow = self.parties[party].flow;
        let packet = Packet { flow, size: 100, cost: ResourceVec::from_nanos(estimate), payload };
        assert!(self.scheduler.enqueue(self.now, packet).is_ok(), "a packet is refused");
        self.parties[party].waiting += 1;
    }

    /// Packets that may wait before a resource. Disciplines of one resource do not hold back what it cannot take yet:
    /// with a buffer that has an end they stand before a resource that is not kept waiting and does not fall
    /// behind, for which they promise what they do.
    fn room(&self) -> usize {
        if self.measure == Measure::Last { BUFFER } else { usize::MAX }
    }

    /// The first resource takes a packet if it can; whether it does.
    fn hand_out(&mut self) -> bool {
        self.wake = None;
        let full = M > 1 && self.servers[1].waiting.len() >= self.room();
        if self.servers[0].serving.is_some() || full {
            return false;
        }
        let packet = match self.scheduler.next(self.now) {
            Next::Serve(packet) => packet,
            Next::At(time) => {
                self.wake = Some(time);
                return false;
            }
            Next::AwaitProgress | Next::Empty | Next::Drop { .. } => return false,
        };
        let (at, cost) = self.given[packet.payload as usize];
        self.free.push(packet.payload);
        self.alone[at].0.start(&ResourceVec::from_nanos(cost));
        let party = &mut self.parties[at];
        party.waiting -= 1;
        party.inside += 1;
        party.dominant += u128::from(cost.iter().copied().max().unwrap_or(0));
        party.total += cost.iter().copied().map(u128::from).sum::<u128>();
        party.last += u128::from(cost[M - 1]);
        self.servers[0].waiting.push_back(Inside { ticket: packet.ticket, party: at, cost });
        self.start(0);
        if at == PLAYER {
            self.plan(false);
        }
        true
    }

    /// A packet of the player has entered the pipeline, or left it.
    fn plan(&mut self, exit: bool) {
        let Feed::Bursts { pause, after_exit, .. } = self.case.feed else { return };
        let player = &self.parties[PLAYER];
        let over = player.waiting == 0 && self.resume.is_none() && if after_exit { player.inside == 0 } else { !exit };
        if over {
            self.resume = Some(self.now + Duration::from_nanos(self.random.between(pause.0, pause.1)));
        }
    }

    /// The resource begins with the next packet, if it is free and there is room behind it.
    fn start(&mut self, r: usize) {
        let full = r + 1 < M && self.servers[r + 1].waiting.len() >= self.room();
        if self.servers[r].serving.is_some() || full {
            return;
        }
        if let Some(mut packet) = self.servers[r].waiting.pop_front() {
            self.scheduler.progress(self.now, &mut packet.ticket, r, Progress::Started);
            let end = self.now + Duration::from_nanos(packet.cost[r]);
            self.servers[r].serving = Some((end, packet));
        }
    }

    /// To the next instant at which something happens, and what happens there.
    fn advance(&mut self) -> Result<(), String> {
        let ends = self.servers.iter().filter_map(|s| s.serving.as_ref().map(|(end, _)| *end));
        let resume = self.resume.filter(|_| self.playing);
        let Some(next) = ends.chain(self.wake).chain(resume).min() else {
            return Err(format!("waits for nothing at {}, with {} packets", self.now, self.scheduler.stats().queued));
        };
        self.now = self.now.max(next);
        for r in (0..M).rev() {
            if self.servers[r].serving.as_ref().is_some_and(|(end, _)| *end <= self.now) {
                self.end(r);
            }
            self.start(r);
        }
        (1..M).for_each(|r| self.start(r));
        Ok(())
    }

    fn end(&mut self, r: usize) {
        let Some((_, mut packet)) = self.servers[r].serving.take() else { return };
        let used = Duration::from_nanos(packet.cost[r]);
        self.scheduler.progress(self.now, &mut packet.ticket, r, Progress::Finished { used });
        if r + 1 < M {
            self.servers[r + 1].waiting.push_back(packet);
            return;
        }
        self.parties[packet.party].inside -= 1;
        if packet.party == PLAYER {
            self.plan(true);
        }
    }
}

fn config<const M: usize>(milli: u32) -> FlowConfig<M> {
    FlowConfig { weight: Weight::from_milli(milli).unwrap_or_default(), ..FlowConfig::default() }
}
