//! What is sent when, step by step, by the RFCs. Without transmission times a round trip takes 20 ms.

mod common;

use common::{Fate, Net, at_ms, ms};
use dovetail_tcp::{Ack, AckPolicy, Config, Length, ONE, Rules, Segment, Sender, Variant};
use dovetail_units::{Duration, Time};

/// Without a handshake: data flows from the first instant.
fn config(variant: Variant) -> Config {
    Config { handshake: false, ..Config::rfc(variant) }
}

fn net(config: Config) -> Net {
    Net::new(config, AckPolicy::EverySegment)
}

fn retransmissions(net: &Net) -> Vec<(Time, u64)> {
    net.sent.iter().filter(|sent| sent.segment.retransmission).map(|sent| (sent.at, sent.segment.seq)).collect()
}

fn drain(sender: &mut Sender, now: Time) -> Vec<Segment> {
    std::iter::from_fn(|| sender.poll_transmit(now)).collect()
}

fn plain(next: u64) -> Ack {
    Ack { next, ece: false }
}

const VARIANTS: [Variant; 3] = [Variant::Reno, Variant::NewReno, Variant::Cubic];

#[test]
fn slow_start_doubles_every_round_trip() {
    for variant in VARIANTS {
        let mut net = net(Config { initial_window: 1, ..config(variant) });
        net.run(at_ms(199));
        let rounds: Vec<usize> = (0..10).map(|k| net.sent_at(at_ms(20 * k)).len()).collect();
        assert_eq!(rounds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512], "{variant:?}");
    }
}

#[test]
fn the_handshake_takes_a_round_trip_and_then_comes_the_initial_window() {
    let mut net = net(Config { initial_window: 4, ..Config::rfc(Variant::NewReno) });
    net.run(at_ms(39));
    assert!(net.sent[0].segment.syn);
    assert_eq!(net.sent_at(at_ms(0)), [0]);
    assert_eq!(net.sent_at(at_ms(20)), [1, 2, 3, 4]);
    assert!(net.sent[1..].iter().all(|sent| !sent.segment.syn));
    assert_eq!(net.receiver.stats().delivered, 4, "the SYN is no data");
}

#[test]
fn equal_round_trips_leave_the_granularity_as_the_margin_of_the_timeout() {
    // RFC 6298, 2.3: RTO = SRTT + max(G, 4 RTTVAR), and RTTVAR dies away.
    let granularity = ms(5);
    let mut net = net(Config { min_rto: Duration::ZERO, granularity, window_limit: 4, ..config(Variant::Reno) });
    net.run(at_ms(4000));
    assert_eq!((net.sender.srtt(), net.sender.rto()), (Some(ms(20)), ms(25)));
}

#[test]
fn after_a_lost_syn_the_window_is_one_and_the_timeout_three_seconds() {
    let mut net = net(Config { initial_window: 4, ..Config::rfc(Variant::NewReno) });
    net.judge = Box::new(|n, _| if n == 0 { Fate::Drop } else { Fate::Pass });
    net.run(at_ms(1020));
    assert_eq!(retransmissions(&net), [(at_ms(1000), 0)]);
    assert_eq!(net.sent_at(at_ms(1020)), [1]);
    assert_eq!(net.sender.rto(), Duration::from_secs(3));
}

#[test]
fn congestion_avoidance_adds_one_over_the_window_per_ack() {
    for variant in [Variant::Reno, Variant::NewReno] {
        let mut net = net(Config { initial_window: 8, initial_ssthresh: 8, ..config(variant) });
        net.run(at_ms(999));
        // Independently, in floating point: an ACK per segment, a window of segments per round trip.
        let mut window = 8.0_f64;
        let mut sent = 8;
        let mut flight = 8;
        for _ in 1..50 {
            for _ in 0..flight {
                window += 1.0 / window;
            }
            flight = window as u64;
            sent += flight;
        }
        assert_eq!(net.sent.len() as u64, sent, "{variant:?}");
        // Each of the ACKs rounds by half a unit at most, and f64 by less.
        let rounding = 0.5 * sent as f64 / ONE as f64;
        assert!((net.sender.cwnd_packets() - window).abs() < rounding, "{} {window}", net.sender.cwnd_packets());
        assert!(window > 8.0 + 47.0, "nearly one per round trip: {window}");
    }
}

#[test]
fn one_loss_is_repaired_by_the_third_duplicate_and_halves_the_window() {
    for (variant, kept) in [(Variant::Reno, 0.5), (Variant::NewReno, 0.5), (Variant::Cubic, 0.7)] {
        // 16 segments in flight; 16 is lost, 17 to 31 give 15 duplicates at 40 ms.
        let mut net = net(Config { initial_window: 16, initial_ssthresh: 16, window_limit: 16, ..config(variant) });
        net = net.losing(&[16]);
        net.run(at_ms(39));
        assert_eq!(net.sent_at(at_ms(20)), (16..32).collect::<Vec<u64>>());
        net.run(at_ms(59));
        assert_eq!(retransmissions(&net), [(at_ms(40), 16)], "{variant:?}");
        assert_eq!(net.sender.ssthresh(), (16.0 * kept * ONE as f64) as u64, "{variant:?}");
        // The window limit keeps limited transmit and inflation from sending anything new.
        assert_eq!(net.sent_at(at_ms(40)), [16]);
        net.run(at_ms(60));
        assert_eq!(net.sender.cwnd(), if variant == Variant::Reno { 8 * ONE } else { 2 * ONE }, "{variant:?}");
        let stats = net.sender.stats();
        assert_eq!((stats.fast_recoveries, stats.timeouts, stats.retransmitted), (1, 0, 1));
    }
}

#[test]
fn duplicates_let_new_segments_out_during_recovery() {
    // 10 in flight, 10 lost of 10..20: nine duplicates at 40 ms. Two by limited transmit, then the retransmission, with
    // a window of 5 + 3: 12 are outstanding, so that the duplicates 4 to 9 inflate it to 14 and let two out.
    let mut net = net(Config { initial_window: 10, initial_ssthresh: 10, ..config(Variant::Reno) }).losing(&[10]);
    net.run(at_ms(40));
    let sent: Vec<u64> = net.sent.iter().filter(|sent| sent.at == at_ms(40)).map(|sent| sent.segment.seq).collect();
    let window = 10 + 10; // 10.9 after ten ACKs, rounded down
    assert_eq!(sent, [window, window + 1, 10, window + 2, window + 3]);
    net.run(at_ms(60));
    assert_eq!(net.sender.ssthresh(), 5 * ONE);
    // The ACK of everything up to 21 ends recovery with a window of ssthresh; that of 22 opens it by 1 / cwnd, rounded.
    let opened: Vec<u64> = net.windows.iter().filter(|(at, _)| *at >= at_ms(40)).map(|(_, window)| *window).collect();
    assert_eq!(opened[opened.len() - 3..opened.len() - 1], [5 * ONE, 5 * ONE + (ONE + 2) / 5]);
}

#[test]
fn newreno_repairs_one_hole_per_round_trip_and_halves_once() {
    let lost = [20, 23, 26];
    let mut net = net(Config { initial_window: 16, initial_ssthresh: 16, ..config(Variant::NewReno) }).losing(&lost);
    net.run(at_ms(200));
    assert_eq!(retransmissions(&net), [(at_ms(40), 20), (at_ms(60), 23), (at_ms(80), 26)]);
    let stats = net.sender.stats();
    assert_eq!((stats.fast_recoveries, stats.timeouts, stats.retransmitted), (1, 0, 3));
    assert_eq!(net.receiver.stats().duplicates, 0);
}

#[test]
fn reno_halves_again_for_a_second_loss_in_the_window() {
    let config = Config { initial_window: 24, initial_ssthresh: 24, ..config(Variant::Reno) };
    let mut net = net(config).losing(&[24, 40]);
    net.run(at_ms(50));
    let once = net.sender.ssthresh();
    assert_eq!(once, 12 * ONE);
    net.run(at_ms(200));
    let stats = net.sender.stats();
    assert_eq!((stats.fast_recoveries, stats.timeouts), (2, 0));
    assert!(net.sender.ssthresh() < once);
}

#[test]
fn reno_as_ns2_waits_for_the_timer_after_a_second_loss_in_the_window() {
    let rules = Rules::Ns2 { clock_phase: Duration::ZERO };
    let config = Config { rules, initial_window: 24, initial_ssthresh: 24, ..config(Variant::Reno) };
    let mut net = net(config).losing(&[24, 40]);
    net.run(Time::from_nanos(3_000_000_000));
    let stats = net.sender.stats();
    assert_eq!((stats.fast_recoveries, stats.timeouts), (1, 1));
}

#[test]
fn timeouts_double_until_a_segment_that_was_sent_once_is_acknowledged() {
    let mut net = net(Config { initial_window: 1, ..config(Variant::NewReno) });
    net.judge = Box::new(|n, _| if n < 4 { Fate::Drop } else { Fate::Pass });
    net.run(at_ms(15_000));
    let times: Vec<Time> = net.sent.iter().map(|sent| sent.at).collect();
    assert_eq!(times, [0, 1000, 3000, 7000, 15_000].map(at_ms));
    net.run(at_ms(15_020));
    // Karn: the ACK of a retransmission measures nothing and ends no backoff.
    assert_eq!(net.sender.srtt(), None);
    assert_eq!(net.sender.rto(), Duration::from_secs(16));
    net.run(at_ms(15_040));
    assert_eq!(net.sender.srtt(), Some(ms(20)));
    assert_eq!(net.sender.rto(), Duration::from_secs(1));
    assert_eq!(net.sender.stats().timeouts, 4);
}

#[test]
fn timeouts_double_up_to_the_longest() {
    let longest = Duration::from_secs(5);
    let mut net = net(Config { initial_window: 1, max_rto: longest, ..config(Variant::Reno) });
    net.judge = Box::new(|_, _| Fate::Drop);
    net.run(at_ms(20_000));
    let times: Vec<Time> = net.sent.iter().map(|sent| sent.at).collect();
    assert_eq!(times, [0, 1000, 3000, 7000, 12_000, 17_000].map(at_ms));
}

#[test]
fn a_timeout_sends_everything_again_in_slow_start_and_keeps_half_as_threshold() {
    let mut net = net(Config { initial_window: 8, initial_ssthresh: 8, ..config(Variant::NewReno) });
    // The whole second window is lost.
    net = net.losing(&(8..16).collect::<Vec<u64>>());
    net.run(at_ms(1019));
    assert_eq!(retransmissions(&net), [], "the timer restarts with every new ACK: it is due 1 s after the last one");
    net.run(at_ms(1020));
    assert_eq!(retransmissions(&net), [(at_ms(1020), 8)]);
    assert_eq!((net.sender.cwnd(), net.sender.ssthresh()), (ONE, 4 * ONE));
    net.run(at_ms(1040));
    assert_eq!(net.sent_at(at_ms(1040)), [9, 10]);
    // The first timeout of a segment lowers the threshold, further ones of the same do not.
    let mut twice = Sender::new(Config { initial_window: 12, ..config(Variant::Reno) }).unwrap();
    drain(&mut twice, Time::ZERO);
    for (at, threshold) in [(1000, 6), (3000, 6)] {
        twice.on_timer(at_ms(at));
        assert_eq!(drain(&mut twice, at_ms(at)).len(), 1);
        assert_eq!(twice.ssthresh(), threshold * ONE);
    }
}

#[test]
fn the_timeout_follows_rfc_6298() {
    // One segment at a time, each with its own RTT.
    let spans = [40, 45, 200, 41, 39, 38, 300, 47, 52, 40, 41, 1, 2, 900];
    let min_rto = Duration::from_nanos(1);
    let config = Config { window_limit: 1, min_rto, ..config(Variant::NewReno) };
    let mut sender = Sender::new(config).unwrap();
    let (mut srtt, mut rttvar) = (0.0_f64, 0.0_f64);
    let mut now = Time::ZERO;
    for (k, span) in spans.into_iter().enumerate() {
        assert_eq!(drain(&mut sender, now).len(), 1);
        now += ms(span);
        sender.on_ack(now, plain(k as u64 + 1));
        let r = span as f64 * 1e6;
        if k == 0 {
            (srtt, rttvar) = (r, r / 2.0);
        } else {
            rttvar = 0.75 * rttvar + 0.25 * (srtt - r).abs();
            srtt = 0.875 * srtt + 0.125 * r;
        }
        // Each division rounds down by less than 1 ns; errors of SRTT are kept to 7/8, those of RTTVAR to 3/4 and take
        // in a quarter of SRTT's: below 8 ns and, times four, below 4 * 4 * (1 + 8) / 4 + ... < 64 ns.
        assert!((sender.srtt().unwrap().as_nanos() as f64 - srtt).abs() < 9.0);
        let rto = srtt + (4.0 * rttvar).max(1e6);
        assert!((sender.rto().as_nanos() as f64 - rto).abs() < 73.0, "{} {rto}", sender.rto());
    }
}

#[test]
fn ns2_measures_in_ticks_of_a_clock_with_a_phase() {
    let phase = ms(6);
    let config = Config { handshake: false, min_rto: Duration::ZERO, ..Config::ns2(Variant::Reno, phase) };
    let mut sender = Sender::new(config).unwrap();
    assert_eq!(drain(&mut sender, at_ms(3)).len(), 2);
    sender.on_ack(at_ms(44), plain(1));
    // Sent 9 ms into a tick of 10 ms, 41 ms under way: 50 ms since the tick before, 5 ticks; RTO 5 + 4 * 2.5 ticks.
    assert_eq!(sender.srtt(), Some(ms(50)));
    assert_eq!(sender.rto(), ms(150));
}

#[test]
fn ns2_forgets_the_mean_rtt_at_the_fourth_timeout_and_the_rfc_does_not() {
    let ns2 = Config { handshake: false, ..Config::ns2(Variant::Reno, Duration::ZERO) };
    for (config, kept) in [(ns2, None), (config(Variant::Reno), Some(ms(50)))] {
        let mut sender = Sender::new(config).unwrap();
        drain(&mut sender, Time::ZERO);
        sender.on_ack(at_ms(50), plain(1));
        drain(&mut sender, at_ms(50));
        for timeout in 1..=4 {
            assert_eq!(sender.srtt(), Some(ms(50)), "before timeout {timeout}");
            let due = sender.next_timer().unwrap();
            sender.on_timer(due);
            drain(&mut sender, due);
        }
        assert_eq!(sender.srtt(), kept);
    }
}

#[test]
fn delayed_acks_come_for_two_segments_or_in_time() {
    let policy = AckPolicy::Delayed { timeout: ms(100) };
    let mut net = Net::new(Config { initial_window: 3, ..config(Variant::NewReno) }, policy).losing(&[5]);
    net.run(at_ms(10));
    let given = |net: &Net| net.acks.iter().map(|(at, ack)| (*at, ack.next)).collect::<Vec<_>>();
    assert_eq!(given(&net), [(at_ms(10), 2)]);
    // 3 and 4 arrive at 30 ms: 2 has waited for 3; then 4 waits. 5 is lost; 6, 7, 8 are out of order: at once.
    net.run(at_ms(69));
    assert_eq!(given(&net)[1..], [(at_ms(30), 4), (at_ms(50), 5), (at_ms(50), 5), (at_ms(50), 5)]);
    assert_eq!(net.receiver.stats().out_of_order, 3);
    // What fills the gap is acknowledged at once, too: the third duplicate reached the sender at 80 ms.
    net.run(at_ms(90));
    assert_eq!(net.sent_at(at_ms(80))[0], 5);
    assert_eq!(net.acks.last(), Some(&(at_ms(90), plain(13))));

    // A single segment is acknowledged when the time is up.
    let mut alone = Net::new(Config { length: Length::Segments(1), ..config(Variant::NewReno) }, policy);
    alone.run(at_ms(1000));
    assert_eq!(given(&alone), [(at_ms(110), 1)]);
    assert!(alone.sender.is_done());
}

#[test]
fn a_mark_halves_the_window_once_per_round_trip_and_is_echoed_until_cwr() {
    for variant in [Variant::Reno, Variant::NewReno] {
        let config = Config { ecn: true, initial_window: 16, initial_ssthresh: 16, ..config(variant) };
        let mut net = net(config);
        // Two marks in the first window, one in the second: the third is of a segment sent before the reduction.
        net.judge = Box::new(|_, segment| if [2, 9, 17].contains(&segment.seq) { Fate::Mark } else { Fate::Pass });
        net.run(at_ms(20));
        assert_eq!(net.sender.stats().ecn_reductions, 1);
        // 16 were outstanding when the first echo came: two had been acknowledged and two sent since.
        assert_eq!(net.sender.ssthresh(), 8 * ONE, "{variant:?}");
        net.run(at_ms(200));
        assert_eq!(net.sender.stats().ecn_reductions, 1, "{variant:?}");
        assert_eq!(net.sender.stats().retransmitted, 0);
        let cwr: Vec<u64> = net.sent.iter().filter(|sent| sent.segment.cwr).map(|sent| sent.segment.seq).collect();
        assert_eq!(cwr, [18], "on the first new segment");
        let last_echo = net.acks.iter().rposition(|(_, ack)| ack.ece).unwrap();
        assert_eq!(net.acks[last_echo].1.next, 18, "until 18 came with CWR");
        let first_echo = net.acks.iter().position(|(_, ack)| ack.ece).unwrap();
        assert!(net.acks[first_echo..=last_echo].iter().all(|(_, ack)| ack.ece));
    }
}

#[test]
fn a_mark_in_the_next_window_halves_again() {
    let config = Config { ecn: true, initial_window: 16, initial_ssthresh: 16, ..config(Variant::NewReno) };
    let mut net = net(config);
    net.judge = Box::new(|_, segment| if [2, 20].contains(&segment.seq) { Fate::Mark } else { Fate::Pass });
    net.run(at_ms(200));
    assert_eq!(net.sender.stats().ecn_reductions, 2);
}

#[test]
fn a_loss_beside_a_mark_is_repaired_without_a_second_reduction() {
    for variant in VARIANTS {
        let config = Config { ecn: true, initial_window: 16, initial_ssthresh: 16, ..config(variant) };
        let mut net = net(config);
        net.judge = Box::new(|_, segment| match (segment.seq, segment.retransmission) {
            (2, _) => Fate::Mark,
            (6, false) => Fate::Drop,
            _ => Fate::Pass,
        });
        net.run(at_ms(200));
        let stats = net.sender.stats();
        assert_eq!((stats.ecn_reductions, stats.fast_recoveries, stats.timeouts), (1, 1, 0), "{variant:?}");
        let kept = if variant == Variant::Cubic { 16 * ONE * 7 / 10 } else { 8 * ONE };
        assert_eq!(net.sender.ssthresh(), kept, "{variant:?}");
        let again = net.sent.iter().find(|sent| sent.segment.retransmission).unwrap();
        assert!(!again.segment.ect && !again.segment.cwr, "a retransmission must not be marked");
    }
}

#[test]
fn marks_at_a_window_of_one_slow_the_flow_below_a_segment_per_round_trip() {
    let config =
        Config { ecn: true, initial_window: 1, initial_ssthresh: 2, min_rto: ms(200), ..config(Variant::Reno) };
    let mut net = net(config);
    net.judge = Box::new(|_, _| Fate::Mark);
    net.run(at_ms(3000));
    // The first echo comes at 20 ms; RTO 200 ms. Then each segment is marked as well: the timeout doubles.
    let times: Vec<Time> = net.sent.iter().map(|sent| sent.at).collect();
    assert_eq!(times[..2], [at_ms(0), at_ms(220)]);
    assert!(times[2] >= at_ms(220 + 20 + 400), "{times:?}");
    assert_eq!(net.sender.stats().timeouts, 0, "nothing was lost");
    assert_eq!(net.sender.stats().retransmitted, 0);
}

#[test]
fn marks_with_a_pause_between_them_do_not_double_the_timeout() {
    // The window stays at one; every second segment is marked.
    let config = Config { ecn: true, initial_window: 1, window_limit: 1, min_rto: ms(200), ..config(Variant::Reno) };
    let mut net = net(config);
    net.judge = Box::new(|_, segment| if segment.seq % 2 == 0 { Fate::Mark } else { Fate::Pass });
    net.run(at_ms(1000));
    let times: Vec<Time> = net.sent.iter().map(|sent| sent.at).collect();
    // The echo of 0 at 20 ms holds 1 back by 200 ms; its ACK lets 2 go at once, and so on.
    assert_eq!(times, [0, 220, 240, 460, 480, 700, 720, 940, 960].map(at_ms));
}

#[test]
fn a_partial_ack_deflates_the_window_by_what_it_acknowledges_less_one() {
    for (next, left) in [(5, 17), (13, 9), (14, 8), (15, 7)] {
        // Nothing new to send: 16 in all. 0 is lost; 13 duplicates: a window of 8 + 13.
        let config = Config { initial_window: 16, length: Length::Segments(16), ..config(Variant::NewReno) };
        let mut sender = Sender::new(config).unwrap();
        drain(&mut sender, Time::ZERO);
        (0..13).for_each(|_| sender.on_ack(at_ms(20), plain(0)));
        assert_eq!((sender.allowed(), drain(&mut sender, at_ms(20))[0].seq), (21, 0));
        sender.on_ack(at_ms(40), plain(next));
        assert_eq!(sender.allowed(), left, "21 - {next} + 1");
        assert_eq!(drain(&mut sender, at_ms(40))[0].seq, next);
    }
}

#[test]
fn an_echo_after_a_timeout_reduces_again_only_by_ns2() {
    let ns2 = Rules::Ns2 { clock_phase: Duration::ZERO };
    for (rules, reductions) in [(Rules::Rfc, 0), (ns2, 1)] {
        let mut sender =
            Sender::new(Config { rules, ecn: true, initial_window: 8, ..config(Variant::NewReno) }).unwrap();
        drain(&mut sender, Time::ZERO);
        sender.on_timer(at_ms(1000));
        drain(&mut sender, at_ms(1000));
        // Of a mark on what was sent before the timeout.
        sender.on_ack(at_ms(1020), Ack { next: 2, ece: true });
        assert_eq!(sender.stats().ecn_reductions, reductions, "{rules:?}");
    }
}

#[test]
fn a_short_flow_ends_with_its_last_ack() {
    for variant in VARIANTS {
        let mut net = net(Config { length: Length::Segments(30), ..Config::rfc(variant) }).losing(&[7]);
        net.run(at_ms(60_000));
        assert!(net.sender.is_done());
        assert_eq!(net.sender.next_timer(), None);
        assert_eq!(net.sender.stats().acked, 30);
        assert_eq!(net.receiver.stats().delivered, 30);
    }
}

#[test]
fn the_last_segment_of_a_short_flow_waits_for_the_timer_when_lost() {
    let mut net = net(Config { length: Length::Segments(3), ..config(Variant::NewReno) }).losing(&[2]);
    net.run(at_ms(60_000));
    assert_eq!(net.sender.stats().timeouts, 1);
    assert!(net.sender.is_done());
}

#[test]
fn acks_that_cannot_be_are_ignored() {
    let mut sender = Sender::new(config(Variant::NewReno)).unwrap();
    drain(&mut sender, Time::ZERO);
    sender.on_ack(at_ms(20), plain(4));
    assert_eq!(sender.stats().ignored_acks, 1, "three were sent");
    sender.on_ack(at_ms(20), plain(3));
    sender.on_ack(at_ms(20), plain(2));
    assert_eq!(sender.stats().ignored_acks, 2, "an old one");
    assert_eq!(sender.outstanding(), 0);
    sender.on_timer(at_ms(60_000));
    assert_eq!(sender.stats().timeouts, 0);
}

#[test]
fn parameters_out_of_range_are_named() {
    let base = Config::rfc(Variant::Reno);
    let cases = [
        (Config { initial_window: 0, ..base }, "initial_window is 0 segments, expected 1 to 1073741824"),
        (Config { initial_ssthresh: 1, ..base }, "initial_ssthresh is 1 segments, expected 2 to 1073741824"),
        (Config { window_limit: u32::MAX, ..base }, "window_limit is 4294967295 segments, expected 1 to 1073741824"),
        (Config { granularity: Duration::ZERO, ..base }, "granularity and initial_rto must be longer than zero"),
        (Config { max_rto: ms(10), ..base }, "max_rto is 10 ms, expected at least min_rto and initial_rto"),
        (Config { length: Length::Segments(0), ..base }, "length is 0 segments, expected at least 1"),
        (Config::ns2(Variant::Reno, ms(10)), "clock_phase is 10 ms, expected less than granularity"),
    ];
    for (config, message) in cases {
        assert_eq!(Sender::new(config).unwrap_err().to_string(), message);
    }
}
