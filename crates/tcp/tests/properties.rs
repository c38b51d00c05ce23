//! Whatever the network does, what is sent arrives: once, in order, within the window, and never without a timer.

mod common;

use common::{Fate, Judge, Link, Net, ms};
use dovetail_tcp::{Ack, AckPolicy, Config, Length, Receiver, Rules, Segment, Sender, Variant};
use dovetail_units::{Duration, Time};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How bad the network is: probabilities in percent.
#[derive(Clone, Copy, Debug)]
struct Weather {
    loss: u32,
    mark: u32,
    twice: u32,
    late: u32,
    seed: u64,
}

impl Weather {
    fn judge<T>(self, stream: u64) -> Judge<T> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(stream);
        Box::new(move |_, _| {
            let by = Duration::from_micros(random.random_range(0..60_000));
            let mut die = random.random_range(0..100_u32);
            for (percent, fate) in [
                (self.loss, Fate::Drop),
                (self.mark, Fate::Mark),
                (self.twice, Fate::Twice(by)),
                (self.late, Fate::Late(by)),
            ] {
                if die < percent {
                    return fate;
                }
                die -= percent;
            }
            Fate::Pass
        })
    }
}

fn weather() -> impl Strategy<Value = Weather> {
    (0..25_u32, 0..25_u32, 0..20_u32, 0..20_u32, any::<u64>()).prop_map(|(loss, mark, twice, late, seed)| Weather {
        loss,
        mark,
        twice,
        late,
        seed,
    })
}

fn config() -> impl Strategy<Value = Config> {
    let kinds = prop_oneof![
        Just((Variant::Reno, Rules::Rfc)),
        Just((Variant::NewReno, Rules::Rfc)),
        Just((Variant::Cubic, Rules::Rfc)),
        Just((Variant::Reno, Rules::Ns2 { clock_phase: ms(3) })),
        Just((Variant::NewReno, Rules::Ns2 { clock_phase: ms(7) })),
    ];
    (kinds, 1..300_u64, any::<bool>(), any::<bool>(), 1..12_u32, 1..80_u32, 2..40_u32).prop_map(
        |((variant, rules), segments, ecn, handshake, initial_window, window_limit, initial_ssthresh)| Config {
            variant,
            rules,
            length: Length::Segments(segments),
            ecn,
            handshake,
            initial_window,
            window_limit,
            initial_ssthresh,
            initial_rto: ms(1000),
            min_rto: ms(100),
            max_rto: ms(4000),
            granularity: ms(10),
        },
    )
}

fn policy() -> impl Strategy<Value = AckPolicy> {
    prop_oneof![Just(AckPolicy::EverySegment), Just(AckPolicy::Delayed { timeout: ms(100) })]
}

/// What must hold after every event.
fn check(net: &Net) {
    let (sender, receiver) = (&net.sender, &net.receiver);
    assert!(sender.outstanding() == 0 || sender.next_timer().is_some(), "a timer runs while segments are outstanding");
    assert!(sender.next_timer().is_none_or(|due| due >= net.now), "it is not overdue");
    let stats = sender.stats();
    assert!(stats.acked <= receiver.stats().delivered, "nothing is acknowledged that was not delivered");
    assert!(u64::from(sender.config().window_limit) >= sender.outstanding(), "the receiver's window holds");
    // Half of one segment: marks at a window of one. ns-2 halves on.
    assert!(sender.cwnd() >= dovetail_tcp::ONE / 2 || sender.config().rules != Rules::Rfc);
    assert!(sender.ssthresh() >= 2 * dovetail_tcp::ONE || sender.config().window_limit < 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn every_segment_arrives_once(config in config(), policy in policy(), weather in weather(), buffer in 1..60_usize) {
        let mut net = Net::new(config, policy);
        net.forward = Link::new(1000, ms(10), buffer);
        net.judge = weather.judge(0);
        net.judge_ack = weather.judge(1);
        net.check = check;
        // With at most a quarter lost each way a segment needs 2 attempts on average; 300 of them at 4 s each, many
        // times over.
        net.run(Time::from_nanos(40_000_000_000_000));
        let Length::Segments(segments) = config.length else { unreachable!() };
        prop_assert!(net.sender.is_done(), "{:?}", net.sender);
        prop_assert_eq!(net.sender.next_timer(), None);
        prop_assert_eq!(net.receiver.stats().delivered, segments);
        prop_assert_eq!(net.receiver.stats().distinct, segments, "each once, whatever was sent again");
        prop_assert_eq!(net.sender.stats().acked, segments);
        let (sent, received) = (net.sender.stats(), net.receiver.stats());
        prop_assert_eq!(sent.sent, segments + u64::from(config.handshake) + sent.retransmitted);
        prop_assert_eq!(received.received, received.delivered + u64::from(config.handshake) + received.duplicates);
    }

    /// New segments go out only while fewer than the window are outstanding; limited transmit and recovery are part of
    /// it.
    #[test]
    fn new_segments_stay_within_the_window(
        config in config(), acks in prop::collection::vec((0..4_u64, any::<bool>(), 0..50_u64), 1..200),
    ) {
        let mut sender = Sender::new(config).unwrap();
        let mut now = Time::ZERO;
        let mut una = 0;
        for (ahead, ece, wait) in acks {
            while let Some(segment) = sender.poll_transmit(now) {
                prop_assert!(segment.retransmission || sender.outstanding() <= sender.allowed());
                prop_assert!(segment.retransmission || sender.is_recovering()
                    || sender.outstanding() as f64 <= sender.cwnd_packets() + 2.0);
            }
            now += ms(wait);
            sender.on_timer(now);
            while sender.poll_transmit(now).is_some() {}
            una = (una + ahead).min(una + sender.outstanding());
            sender.on_ack(now, Ack { next: una, ece });
            prop_assert!(sender.outstanding() == 0 || sender.next_timer().is_some());
        }
    }

    /// Nonsense is ignored, not believed, and never panics.
    #[test]
    fn any_ack_at_any_time_is_survived(
        config in config(), acks in prop::collection::vec((any::<u64>(), any::<bool>(), any::<u64>()), 0..100),
    ) {
        let mut sender = Sender::new(config).unwrap();
        for (next, ece, at) in acks {
            let now = Time::from_nanos(at);
            sender.on_ack(now, Ack { next: next % 500, ece });
            sender.on_timer(now);
            while sender.poll_transmit(now).is_some() {}
        }
    }

    /// The receiver beside a list of flags.
    #[test]
    fn the_receiver_knows_what_it_has(numbers in prop::collection::vec(0..60_u64, 0..300)) {
        let mut receiver = Receiver::new(AckPolicy::EverySegment);
        let mut has = [false; 61];
        let mut duplicates = 0;
        for seq in numbers {
            duplicates += u64::from(has[seq as usize]);
            has[seq as usize] = true;
            let segment = Segment { seq, syn: false, retransmission: false, ect: false, ce: false, cwr: false };
            let next = has.iter().position(|has| !has).unwrap() as u64;
            prop_assert_eq!(receiver.on_segment(Time::ZERO, segment), Some(Ack { next, ece: false }));
            prop_assert_eq!(receiver.stats().delivered, next);
            prop_assert_eq!(receiver.stats().duplicates, duplicates);
        }
    }
}

#[test]
fn the_receiver_takes_any_number() {
    let mut receiver = Receiver::new(AckPolicy::EverySegment);
    for seq in [u64::MAX, u64::MAX - 1, 0, u64::MAX, 2, 1] {
        let segment = Segment { seq, syn: false, retransmission: false, ect: true, ce: true, cwr: false };
        receiver.on_segment(Time::ZERO, segment);
    }
    assert_eq!(receiver.next_expected(), 3);
}
