//! CUBIC's window beside the closed form of RFC 9438.

mod common;

use common::{Fate, Net, ms};
use dovetail_tcp::{AckPolicy, Config, Cubic, ONE, Variant, from_fixed};
use dovetail_units::{Duration, Time};
use proptest::prelude::*;

const C: f64 = 0.4;

/// Equation 1.
fn w(t: f64, k: f64, w_max: f64) -> f64 {
    C * (t - k).powi(3) + w_max
}

proptest! {
    #[test]
    fn the_curve_is_equation_1(t in 0..1_000_000_000_000_u64, k in 0..1_000_000_000_000_u64, w_max in 0..1_u64 << 50) {
        let ours = Cubic::curve(Duration::from_nanos(t), Duration::from_nanos(k), w_max);
        let from_middle = (t as i64 - k as i64) as f64 / 1e9;
        let exact = w(from_middle, 0.0, from_fixed(w_max)).max(0.0);
        // Ours rounds down by less than one unit; the floating-point side rounds six times, each by 2^-53 of either
        // term.
        let floating = 6.0 * f64::EPSILON * ((C * from_middle.powi(3)).abs() + from_fixed(w_max));
        prop_assert!((from_fixed(ours) - exact).abs() <= 1.0 / ONE as f64 + floating, "{ours} {exact}");
    }

    #[test]
    fn the_climb_is_equation_2(w_max in ONE..1_u64 << 55, part in 0.0..1.0_f64) {
        let cwnd = (w_max as f64 * part) as u64;
        let k = Cubic::climb(cwnd, w_max).as_nanos() as f64;
        let exact = (from_fixed(w_max - cwnd) / C).cbrt() * 1e9;
        // Rounded down to a nanosecond; cbrt and its argument are good to a few 2^-53.
        prop_assert!(k <= exact * (1.0 + 1e-15) && exact * (1.0 - 1e-15) - k < 1.0, "{k} {exact}");
        // So the curve begins at the window, to what one nanosecond makes: C * 3 K^2 * 1 ns.
        let start = from_fixed(Cubic::curve(Duration::ZERO, Duration::from_nanos(k as u64), w_max));
        let slack = 3.0 * C * (k / 1e9).powi(2) * 1e-9 + 2.0 / ONE as f64;
        prop_assert!(start - from_fixed(cwnd) <= slack + 1e-15 * start && start + slack >= from_fixed(cwnd));
    }
}

#[test]
fn after_a_loss_the_window_follows_the_cubic_back_to_where_it_was_and_beyond() {
    let rtt = 0.1;
    let config = Config { handshake: false, initial_window: 200, initial_ssthresh: 200, ..Config::rfc(Variant::Cubic) };
    let mut net = Net::new(config, AckPolicy::EverySegment).losing(&[200]);
    (net.forward.delay, net.backward.delay) = (ms(50), ms(50));
    net.run(Time::from_nanos(11_000_000_000));

    let reduction = net.windows.iter().rposition(|(_, window)| *window == net.sender.ssthresh()).unwrap();
    let w_max = from_fixed(net.windows[reduction - 1].1);
    let epoch = &net.windows[reduction + 1..];
    let (start, from) = (net.windows[reduction + 1].0.as_secs_f64(), from_fixed(net.windows[reduction].1));
    let k = ((w_max - from) / C).cbrt();
    // beta of what is in flight: whole segments, less than one below the window.
    assert!(w_max > 200.0 && from <= 0.7 * w_max && from > 0.7 * (w_max - 1.0), "{from} {w_max}");

    let mut steepest = 0.0_f64;
    for (at, window) in epoch {
        let t = at.as_secs_f64() - start;
        let ahead = w(t + rtt, k, w_max);
        // Within a round trip an ACK for every segment takes the window by 1 / cwnd of the way to W(t + RTT): it
        // follows that as a filter with a time constant of one RTT, so it lags by at most RTT times the
        // steepest slope, which is that at the start or now. ACKs lag by another RTT (they are as many as were
        // sent in the one before).
        steepest = steepest.max(3.0 * C * (t + rtt - k).powi(2)).max(3.0 * C * (rtt - k).powi(2));
        let window = from_fixed(*window);
        assert!(window <= ahead.max(from) + 1e-6, "at {t} s {window} is beyond W(t + RTT) {ahead}");
        assert!(window >= ahead - 2.0 * rtt * steepest, "at {t} s {window} is far below {ahead}");
    }
    // About K after the loss it is back: the plateau.
    let near = |seconds: f64| {
        let at = epoch.iter().rfind(|(at, _)| at.as_secs_f64() - start <= seconds).unwrap();
        from_fixed(at.1)
    };
    assert!((near(k) - w_max).abs() < 0.5, "{} {w_max}", near(k));
    assert!(near(k + 2.0) > w_max + 2.0, "and grows beyond: {}", near(k + 2.0));
}

#[test]
fn with_a_short_round_trip_it_grows_as_reno_would() {
    // RTT 5 ms: Reno's line, alpha = 9 / 17 per RTT up to the window before, is far above the cubic's first seconds.
    let config = Config { handshake: false, initial_window: 40, initial_ssthresh: 40, ..Config::rfc(Variant::Cubic) };
    let mut net = Net::new(config, AckPolicy::EverySegment).losing(&[40]);
    (net.forward.delay, net.backward.delay) = (Duration::from_micros(2500), Duration::from_micros(2500));
    net.run(Time::from_nanos(100_000_000));
    let reduction = net.windows.iter().rposition(|(_, window)| *window == net.sender.ssthresh()).unwrap();
    let (start, from) = (net.windows[reduction + 1].0.as_secs_f64(), from_fixed(net.windows[reduction].1));
    for (at, window) in &net.windows[reduction + 2..] {
        let rounds = (at.as_secs_f64() - start) / 0.005;
        let line = from + 9.0 / 17.0 * rounds;
        // Each window gains at most alpha in a round trip, somewhat less since cwnd grows meanwhile; a round is begun,
        // not done.
        let window = from_fixed(*window);
        assert!(window <= line + 1.5 && window >= line * 0.9 - 1.5, "after {rounds} round trips {window}, line {line}");
    }
    // Back where it was it grows by one per round trip, as Reno does (section 4.3).
    let before = from_fixed(net.windows[reduction - 1].1);
    net.run(Time::from_nanos(400_000_000));
    let back = net.windows[reduction..].iter().find(|(_, window)| from_fixed(*window) >= before).unwrap();
    let rounds = (0.4 - back.0.as_secs_f64()) / 0.005;
    let window = net.sender.cwnd_packets();
    assert!(rounds > 40.0 && window <= before + rounds + 1.5, "{rounds} round trips after {before}: {window}");
    assert!(window >= before + 0.9 * rounds - 1.5, "{rounds} round trips after {before}: {window}");
}

#[test]
fn an_ack_opens_the_window_by_no_more_than_half_a_segment() {
    // In a second round trip of 4 s the cubic rises from 4 + 0.4 * 4^3 to 4 + 0.4 * 8^3; the target is cut to 1.5 cwnd
    // (section 4.2).
    let config = Config { handshake: false, initial_window: 4, initial_ssthresh: 4, ..Config::rfc(Variant::Cubic) };
    let config = Config { initial_rto: Duration::from_secs(10), ..config };
    let mut net = Net::new(config, AckPolicy::EverySegment);
    (net.forward.delay, net.backward.delay) = (ms(2000), ms(2000));
    net.run(Time::from_nanos(8_000_000_000));
    // The first round trip is Reno's: the cubic starts at the window. The second begins 4 s into it.
    let first = net.windows.iter().rposition(|(at, _)| *at < Time::from_nanos(8_000_000_000)).unwrap();
    let steps: Vec<f64> = net.windows[first..].windows(2).map(|pair| from_fixed(pair[1].1 - pair[0].1)).collect();
    assert_eq!(steps.len(), 4);
    // Each is half a segment but for the rounding of cwnd / 2 and of the division.
    assert!(steps.iter().all(|step| (step - 0.5).abs() < 2.0 / ONE as f64), "{steps:?}");
}

#[test]
fn a_second_loss_below_the_last_maximum_leaves_room_to_others() {
    let config = Config { handshake: false, initial_window: 200, initial_ssthresh: 200, ..Config::rfc(Variant::Cubic) };
    let mut net = Net::new(config, AckPolicy::EverySegment).losing(&[200, 1200]);
    (net.forward.delay, net.backward.delay) = (ms(200), ms(200));
    net.run(Time::from_nanos(12_000_000_000));
    assert_eq!(net.sender.stats().fast_recoveries, 2);
    // Fast convergence: the plateau is at 0.85 of the window at the second loss, and that is where the window is after
    // K (the round trip of 400 ms keeps Reno's line below).
    let reduction = net.windows.iter().rposition(|(_, window)| *window == net.sender.ssthresh()).unwrap();
    let before = from_fixed(net.windows[reduction - 1].1);
    let from = from_fixed(net.windows[reduction].1);
    let start = net.windows[reduction + 1].0.as_secs_f64();
    let plateau = before * 0.85;
    let k = ((plateau - from) / C).cbrt();
    let at = net.windows.iter().rfind(|(at, _)| at.as_secs_f64() - start <= k).unwrap();
    assert!((from_fixed(at.1) - plateau).abs() < 0.5, "{} {plateau}", from_fixed(at.1));
}

#[test]
fn after_a_timeout_the_cubic_starts_from_its_middle() {
    // A loss sets W_max to 201; then a whole window is lost, and with it every duplicate ACK, and the first two
    // retransmissions.
    let config = Config { handshake: false, initial_window: 200, initial_ssthresh: 200, ..Config::rfc(Variant::Cubic) };
    let mut net = Net::new(config, AckPolicy::EverySegment);
    net.judge = Box::new(|n, _| if n == 200 || (1200..1384).contains(&n) { Fate::Drop } else { Fate::Pass });
    let rtt = 0.4;
    (net.forward.delay, net.backward.delay) = (ms(200), ms(200));
    net.run(Time::from_nanos(20_000_000_000));
    assert_eq!((net.sender.stats().fast_recoveries, net.sender.stats().timeouts), (1, 3));
    let threshold = net.sender.ssthresh();
    let avoidance = net.windows.iter().rposition(|(_, window)| *window < threshold).unwrap() + 1;
    let (start, from) = (net.windows[avoidance].0.as_secs_f64(), from_fixed(net.windows[avoidance].1));
    assert!(from < 150.0, "it would have far to climb to 201: {from}");
    for (at, window) in &net.windows[avoidance..] {
        // K = 0, W_max = cwnd (section 4.8): flat at first. Or Reno's line: 9 / 17 per round trip, the first one begun.
        let t = at.as_secs_f64() - start;
        let most = w(t + rtt, 0.0, from).max(from + 9.0 / 17.0 * (t / rtt + 1.0));
        assert!(from_fixed(*window) <= most + 1e-6, "after {t} s {}, at most {most}", from_fixed(*window));
    }
    assert!(net.windows.last().unwrap().0.as_secs_f64() - start > 2.0);
}
