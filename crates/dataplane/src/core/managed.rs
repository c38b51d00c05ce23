//! A queue in order of arrival under RED or DRQ.

use std::collections::VecDeque;

use dovetail_sched::Progress;
use dovetail_sched::aqm::{
    Aqm, AqmDrop, AqmError, Arrival, Backlog, Densities, Drq, DrqConfig, Fraction, Red, RedConfig, Verdict,
};
use dovetail_units::{BitRate, Density, Duration, Time};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::middlebox::CPU;
use super::queue::Job;

/// The most that wait, as in the DRQ paper, section IV.A.
const LIMIT: u32 = 1200;

/// The seed of the draws that decide about marks; each resource has a stream of its own.
const SEED: u64 = 1;

/// The length of a packet of which RED's average is reminded while the resource idles, bytes.
const MEAN_PACKET: u64 = 1000;

/// The weight of a new packet in its class's density (equation 1 of DRQ).
const LEARNING: f64 = 0.01;

enum Manager {
    Red(Red),
    Drq(Box<Drq>),
}

impl Manager {
    fn aqm(&mut self) -> &mut dyn Aqm {
        match self {
            Self::Red(red) => red,
            Self::Drq(drq) => drq.as_mut(),
        }
    }
}

/// The queue at work.
pub(super) struct Managed {
    waiting: VecDeque<Job>,
    bytes: u64,
    manager: Manager,
    resource: usize,
    rate: Option<BitRate>,
    draws: ChaCha8Rng,
}

/// How long a packet of mean length takes on a link of this rate, and about that on the CPU that feeds it.
pub(super) fn packet_time(rate: Option<BitRate>) -> Duration {
    let time = rate.map(|rate| rate.transmission_time(MEAN_PACKET, 0).0);
    time.filter(|&time| time > Duration::ZERO).unwrap_or(Duration::from_micros(10))
}

impl Managed {
    /// Under RED.
    pub fn red(config: RedConfig, resource: usize) -> Result<Self, AqmError> {
        let red = Red::new(RedConfig { limit: config.limit.or(Some(LIMIT)), ..config })?;
        Ok(Self::new(Manager::Red(red), resource, None))
    }

    /// Under DRQ in front of the link.
    pub fn drq_link(config: DrqConfig, resource: usize) -> Result<Self, AqmError> {
        let drq = Drq::link(DrqConfig { limit: config.limit.or(Some(LIMIT)), ..config })?;
        Ok(Self::new(Manager::Drq(Box::new(drq)), resource, None))
    }

    /// Under DRQ in front of the CPU. Densities are learnt class by class; a cycle is the time of a bit on the link, so that a flow of density 1
    /// needs as much of the CPU as of the link.
    pub fn drq_cpu(
        config: DrqConfig,
        resource: usize,
        classes: usize,
        rate: Option<BitRate>,
    ) -> Result<Self, AqmError> {
        let learning = Fraction::from_f64(LEARNING).unwrap_or(Fraction::ONE);
        let densities = Densities::new(&vec![Density::ONE; classes.max(1)], learning)?;
        let drq = Drq::cpu(DrqConfig { limit: config.limit.or(Some(LIMIT)), ..config }, densities)?;
        Ok(Self::new(Manager::Drq(Box::new(drq)), resource, rate))
    }

    fn new(manager: Manager, resource: usize, rate: Option<BitRate>) -> Self {
        // DRQ's marks are products of probabilities: what one queue draws must say nothing of what the other draws for the same frame.
        let mut draws = ChaCha8Rng::seed_from_u64(SEED);
        draws.set_stream(resource as u64);
        Self { waiting: VecDeque::new(), bytes: 0, manager, resource, rate, draws }
    }

    /// The rate of the link changes.
    pub fn set_rate(&mut self, rate: Option<BitRate>) {
        // The time of a packet is above zero.
        let _ = self.manager.aqm().set_packet(packet_time(rate));
        if let (Manager::Drq(drq), CPU) = (&mut self.manager, self.resource) {
            if let (Some(from), Some(to)) = (self.rate, rate) {
                drq.rescale(to.as_bps(), from.as_bps());
            }
            self.rate = rate;
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u32, bytes: self.bytes }
    }

    #[expect(clippy::result_large_err, reason = "a refused frame comes back by value, as from every scheduler")]
    pub fn enqueue(&mut self, now: Time, mut job: Job) -> Result<(), (&'static str, Job)> {
        let frame = &mut job.frame;
        let arrival = Arrival {
            size: frame.len() as u32,
            ecn_capable: frame.ecn_capable,
            congestion: frame.congestion,
            class: u32::from(frame.class),
        };
        let (backlog, draw) = (self.backlog(), self.draws.next_u64());
        match self.manager.aqm().arrival(now, &arrival, backlog, draw) {
            Verdict::Drop(reason) => return Err((AqmDrop::name(reason), job)),
            Verdict::Enqueue => {}
            Verdict::EnqueueMarked(state) => frame.congestion = state,
        }
        self.put_back(job);
        Ok(())
    }

    /// The frame waits, and nobody is asked.
    pub fn put_back(&mut self, job: Job) {
        self.bytes += job.frame.len() as u64;
        self.waiting.push_back(job);
    }

    pub fn next(&mut self) -> Option<Job> {
        let job = self.waiting.pop_front()?;
        self.bytes -= job.frame.len() as u64;
        Some(job)
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// A frame got on: a departure from the own resource moves the average, and teaches a class's density.
    pub fn progress(&mut self, now: Time, job: &Job, resource: usize, event: Progress) {
        let Progress::Finished { used } = event else { return };
        if resource != self.resource {
            return;
        }
        let backlog = self.backlog();
        self.manager.aqm().departure(now, backlog);
        if let (Manager::Drq(drq), Some(rate)) = (&mut self.manager, self.rate) {
            let cycles = u128::from(used.as_nanos()) * u128::from(rate.as_bps()) / 1_000_000_000;
            let cycles = u64::try_from(cycles).unwrap_or(u64::MAX);
            if let Some(density) = Density::measured(cycles, u64::from(job.frame.size_in) * 8) {
                drq.observe(u32::from(job.frame.class), density);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_sched::aqm::Congestion;
    use dovetail_wire::LinkType;

    use crate::core::queue::RESOURCES;
    use crate::frame::Pool;

    /// Keeps `LONG` frames waiting, so that every frame finds as many.
    fn pass(queue: &mut Managed, job: Job) -> Option<Job> {
        assert!(queue.enqueue(Time::ZERO, job).is_ok());
        if queue.len() > LONG { queue.next() } else { None }
    }

    const LONG: usize = 300;

    #[test]
    fn the_cpu_and_the_link_draw_apart() {
        // A frame finds LONG packets, and the average is what it finds: sigma = 0.1 * 250 / 500 = 0.05, delta = sigma^2 and epsilon = sqrt(2) sigma
        // (equations 22 and 23). Of frames that pass two such queues 1 - (1 - delta)^2 (1 - epsilon^2) are congested in the end: at once in one of
        // them, or signalled in the first and once more in the second.
        let config = DrqConfig { weight: Fraction::ONE, ..DrqConfig::new(Duration::from_micros(10)) };
        let mut cpu = Managed::drq_cpu(config, 0, 1, None).unwrap();
        let mut link = Managed::drq_link(config, 1).unwrap();
        let mut pool = Pool::new();
        let (mut left, mut congested, counted) = (0, 0, 40_000);
        while left < LONG + counted {
            let mut frame = pool.take();
            frame.fill(Time::ZERO, &[0; 100], LinkType::ETHERNET);
            frame.ecn_capable = true;
            let job = Job { frame, tickets: [None; RESOURCES] };
            if let Some(job) = pass(&mut cpu, job).and_then(|job| pass(&mut link, job)) {
                left += 1;
                // The first ones came when less waited.
                congested += u32::from(left > LONG && job.frame.congestion == Congestion::Congested);
                pool.give(job.frame);
            }
        }
        let (delta, epsilon) = (0.05_f64.powi(2), 2.0_f64.sqrt() * 0.05);
        let share = 1.0 - (1.0 - delta).powi(2) * (1.0 - epsilon * epsilon);
        let (mean, deviation) = (share * counted as f64, (share * (1.0 - share) * counted as f64).sqrt());
        assert!((f64::from(congested) - mean).abs() < 5.0 * deviation, "{congested} of {counted}, expected {mean:.0}");
    }

    #[test]
    fn densities_are_of_the_rate_that_the_link_has() {
        let rate = |text: &str| Some(text.parse().unwrap());
        let config = DrqConfig::new(Duration::from_micros(10));
        let mut cpu = Managed::drq_cpu(config, CPU, 1, rate("8 Mbps")).unwrap();
        // 50 us for 100 bytes, which take 100 us at 8 Mb/s: density 0.5.
        let frames = |cpu: &mut Managed, count: u32| {
            let mut frame = Pool::new().take();
            frame.fill(Time::ZERO, &[0; 100], LinkType::ETHERNET);
            let job = Job { frame, tickets: [None; RESOURCES] };
            let event = Progress::Finished { used: Duration::from_micros(50) };
            (0..count).for_each(|_| cpu.progress(Time::ZERO, &job, CPU, event));
        };
        let density = |cpu: &Managed| match &cpu.manager {
            Manager::Drq(drq) => drq.density(0).as_micro() as f64 / 1e6,
            Manager::Red(_) => f64::NAN,
        };
        // What is left of the first density, 1, after n frames is 0.99^n of the difference: 2e-9 after 2000.
        frames(&mut cpu, 2000);
        assert!((density(&cpu) - 0.5).abs() < 1e-5);
        cpu.set_rate(rate("80 Mbps"));
        assert!((density(&cpu) - 5.0).abs() < 1e-4, "{}", density(&cpu));
        frames(&mut cpu, 100);
        assert!((density(&cpu) - 5.0).abs() < 1e-4, "{}", density(&cpu));
    }
}
