//! A queue in order of arrival under RED or DRQ.

use dovetail_sched::Progress;
use dovetail_sched::aqm::{
    Aqm, AqmError, Densities, Drq, Fraction, ManagedQueue, Manager, QueueConfig, Red, RedConfig, Unit,
};
use dovetail_units::{BitRate, Density, Duration, Time};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::middlebox::CPU;
use super::queue::Queue;
use crate::frame::Frame;

/// The most that wait, as in the DRQ paper, section IV.A.
const LIMIT: u32 = 1200;

/// The seed of the draws that decide about marks; each resource has a stream of its own.
const SEED: u64 = 1;

/// The length of a packet of which RED's average is reminded while the resource idles, where the queue counts in
/// packets, bytes.
const MEAN_PACKET: u64 = 1000;

/// The weight of a new packet in its class's density (equation 1 of DRQ).
const LEARNING: f64 = 0.01;

/// What the box knows of a queue that is managed.
pub(super) struct Managing {
    resource: usize,
    unit: Unit,
    /// Of the link, for the densities that DRQ learns in front of the CPU.
    rate: Option<BitRate>,
    draws: ChaCha8Rng,
}

/// How long a packet of mean length takes on a link of this rate, and about that on the CPU that feeds it.
fn packet_time(rate: Option<BitRate>, unit: Unit) -> Duration {
    let bytes = match unit {
        Unit::Packets => MEAN_PACKET,
        Unit::Bytes { mean } => u64::from(mean),
    };
    let time = rate.map(|rate| rate.transmission_time(bytes, 0).0);
    time.filter(|&time| time > Duration::ZERO).unwrap_or(Duration::from_micros(10))
}

/// With the box's limit and pace.
fn in_box(config: QueueConfig, rate: Option<BitRate>) -> QueueConfig {
    QueueConfig { limit: Some(config.unit.packets(LIMIT)), packet: packet_time(rate, config.unit), ..config }
}

/// Under RED.
pub(super) fn red(config: RedConfig, resource: usize, rate: Option<BitRate>) -> Result<Queue, AqmError> {
    let red = Red::new(RedConfig { queue: in_box(config.queue, rate), ..config })?;
    Ok(Queue::managed(Manager::Red(red), Managing::new(resource, config.queue.unit, None)))
}

/// Under DRQ in front of the link.
pub(super) fn drq_link(config: QueueConfig, resource: usize, rate: Option<BitRate>) -> Result<Queue, AqmError> {
    let drq = Drq::link(in_box(config, rate))?;
    Ok(Queue::managed(Manager::Drq(drq), Managing::new(resource, config.unit, None)))
}

/// Under DRQ in front of the CPU. Densities are learnt class by class; a cycle is the time of a bit on the link, so
/// that a flow of density 1 needs as much of the CPU as of the link.
pub(super) fn drq_cpu(
    config: QueueConfig,
    resource: usize,
    classes: usize,
    rate: Option<BitRate>,
) -> Result<Queue, AqmError> {
    let learning = Fraction::from_f64(LEARNING).unwrap_or(Fraction::ONE);
    let densities = Densities::new(&vec![Density::ONE; classes.max(1)], learning)?;
    let drq = Drq::cpu(in_box(config, rate), densities)?;
    Ok(Queue::managed(Manager::Drq(drq), Managing::new(resource, config.unit, rate)))
}

impl Managing {
    fn new(resource: usize, unit: Unit, rate: Option<BitRate>) -> Self {
        // DRQ's marks are products of probabilities: what one queue draws must say nothing of what the other draws for
        // the same frame.
        let mut draws = ChaCha8Rng::seed_from_u64(SEED);
        draws.set_stream(resource as u64);
        Self { resource, unit, rate, draws }
    }

    /// Random bits for a frame that comes.
    pub fn draw(&mut self) -> u64 {
        self.draws.next_u64()
    }

    /// The rate of the link changes.
    pub fn set_rate(&mut self, manager: &mut Manager, rate: Option<BitRate>) {
        // The time of a packet is above zero.
        let _ = manager.set_packet(packet_time(rate, self.unit));
        if let (Manager::Drq(drq), CPU) = (manager, self.resource) {
            if let (Some(from), Some(to)) = (self.rate, rate) {
                drq.rescale(to.as_bps(), from.as_bps());
            }
            self.rate = rate;
        }
    }

    /// A frame got on: a departure from the own resource moves the average, and teaches a class's density.
    pub fn progress(
        &mut self,
        queue: &mut ManagedQueue<Frame>,
        now: Time,
        frame: &Frame,
        resource: usize,
        event: Progress,
    ) {
        let Progress::Finished { used } = event else { return };
        if resource != self.resource {
            return;
        }
        queue.departed(now);
        if let (Manager::Drq(drq), Some(rate)) = (queue.manager_mut(), self.rate) {
            let cycles = u128::from(used.as_nanos()) * u128::from(rate.as_bps()) / 1_000_000_000;
            let cycles = u64::try_from(cycles).unwrap_or(u64::MAX);
            if let Some(density) = Density::measured(cycles, u64::from(frame.size_in) * 8) {
                drq.observe(u32::from(frame.class), density);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_pipeline::Offer;
    use dovetail_sched::aqm::Congestion;
    use dovetail_wire::LinkType;

    use crate::frame::Pool;

    /// Keeps `LONG` frames waiting, so that every frame finds as many.
    fn pass(queue: &mut Queue, frame: Frame) -> Option<Frame> {
        assert!(queue.enqueue(Time::ZERO, frame, [Duration::ZERO; 3]).is_ok());
        match (queue.len() > LONG).then(|| queue.next(Time::ZERO)) {
            Some(Offer::Serve(frame)) => Some(frame),
            _ => None,
        }
    }

    const LONG: usize = 300;

    #[test]
    fn the_cpu_and_the_link_draw_apart() {
        // A frame finds LONG packets, and the average is what it finds: sigma = 0.1 * 250 / 500 = 0.05, delta = sigma^2
        // and epsilon = sqrt(2) sigma (equations 22 and 23). Of frames that pass two such queues 1 - (1 -
        // delta)^2 (1 - epsilon^2) are congested in the end: at once in one of them, or signalled in the first
        // and once more in the second.
        let config = QueueConfig { weight: Fraction::ONE, ..QueueConfig::new(Duration::from_micros(10)) };
        let mut cpu = drq_cpu(config, 0, 1, None).unwrap();
        let mut link = drq_link(config, 1, None).unwrap();
        let mut pool = Pool::new();
        let (mut left, mut congested, counted) = (0, 0, 40_000);
        while left < LONG + counted {
            let mut frame = pool.take();
            frame.fill(Time::ZERO, &[0; 100], LinkType::ETHERNET);
            frame.ecn_capable = true;
            if let Some(frame) = pass(&mut cpu, frame).and_then(|frame| pass(&mut link, frame)) {
                left += 1;
                // The first ones came when less waited.
                congested += u32::from(left > LONG && frame.congestion == Congestion::Congested);
                pool.give(frame);
            }
        }
        let (delta, epsilon) = (0.05_f64.powi(2), 2.0_f64.sqrt() * 0.05);
        let share = 1.0 - (1.0 - delta).powi(2) * (1.0 - epsilon * epsilon);
        let (mean, deviation) = (share * counted as f64, (share * (1.0 - share) * counted as f64).sqrt());
        assert!((f64::from(congested) - mean).abs() < 5.0 * deviation, "{congested} of {counted}, expected {mean:.0}");
    }

    #[test]
    fn a_queue_in_bytes_idles_at_the_pace_of_its_own_mean_packet() {
        // 100 bytes take 100 us at 8 Mb/s, 1000 bytes 1 ms.
        let rate = Some("8 Mbps".parse().unwrap());
        let config = |unit: Unit| in_box(QueueConfig { unit, ..QueueConfig::new(Duration::from_secs(1)) }, rate);
        let bytes = config(Unit::Bytes { mean: 100 });
        assert_eq!((bytes.packet, bytes.limit), (Duration::from_micros(100), Some(120_000)));
        let packets = config(Unit::Packets);
        assert_eq!((packets.packet, packets.limit), (Duration::from_millis(1), Some(1200)));
    }

    #[test]
    fn densities_are_of_the_rate_that_the_link_has() {
        let rate = |text: &str| Some(text.parse().unwrap());
        let config = QueueConfig::new(Duration::from_micros(10));
        let mut cpu = drq_cpu(config, CPU, 1, rate("8 Mbps")).unwrap();
        // 50 us for 100 bytes, which take 100 us at 8 Mb/s: density 0.5.
        let frames = |cpu: &mut Queue, count: u32| {
            let mut frame = Pool::new().take();
            frame.fill(Time::ZERO, &[0; 100], LinkType::ETHERNET);
            let event = Progress::Finished { used: Duration::from_micros(50) };
            (0..count).for_each(|_| cpu.progress(CPU, Time::ZERO, &mut frame, CPU, event));
        };
        let density = |cpu: &Queue| match cpu.manager() {
            Some(Manager::Drq(drq)) => drq.density(0).as_micro() as f64 / 1e6,
            _ => f64::NAN,
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
