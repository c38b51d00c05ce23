//! Long-lived flows beside what theory says of their throughput.

mod common;

use common::{Fate, Link, Net, at_ms, ms};
use dovetail_tcp::{AckPolicy, Config, Variant};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Losses in a run.
const LOSSES: f64 = 800.0;

/// Runs a flow with an RTT of 100 ms and without queues; answers delivered segments per RTT, times the root of the loss
/// rate.
fn constant(config: Config, p: f64, mut lost: impl FnMut(u64) -> bool + 'static) -> f64 {
    let mut net = Net::new(config, AckPolicy::EverySegment);
    (net.forward.delay, net.backward.delay) = (ms(50), ms(50));
    net.judge = Box::new(move |n, _| if lost(n) { Fate::Drop } else { Fate::Pass });
    net.keep_log = false;
    // About as many round trips as 1.22 / sqrt(p) segments in each need for the losses.
    let rounds = (LOSSES / p / (1.22 / p.sqrt())) as u64;
    net.run(at_ms(rounds * 100));
    net.receiver.stats().delivered as f64 / rounds as f64 * p.sqrt()
}

fn config(variant: Variant) -> Config {
    Config { handshake: false, min_rto: ms(200), initial_ssthresh: 16, ..Config::rfc(variant) }
}

#[test]
fn throughput_under_periodic_loss_is_that_of_the_sawtooth() {
    for variant in [Variant::NewReno, Variant::Reno] {
        for period in [100_u64, 333, 1000] {
            let p = 1.0 / period as f64;
            let ours = constant(config(variant), p, move |n| n % period == period - 1);
            // The window grows by one per RTT from W/2 to W: 3/8 W^2 segments in W/2 RTTs. The repair takes one RTT
            // more, in which another W/2 are sent. With N = 1 / p in a period: 3/8 W^2 + W/2 = N. (Without
            // the repair this is 1.22 / sqrt(p).)
            let n = period as f64;
            let w = ((0.25 + 1.5 * n).sqrt() - 0.5) / 0.75;
            let most = n.sqrt() / (w / 2.0 + 1.0);
            // Sent is what the window holds whole, on average half a segment less: W/4 in a period, a third of an RTT.
            // An ACK adds 1 / cwnd, so that an RTT adds a little less than one: the way up takes ln 2 RTTs
            // longer. What is halved is what is in flight, up to a segment less than the window: half an
            // RTT more. Together an RTT and a half.
            let least = n.sqrt() / (w / 2.0 + 2.5);
            assert!(least < ours && ours < most, "{variant:?} {period}: {ours}, expected {least} to {most}");
        }
    }
}

#[test]
fn throughput_under_random_loss_is_that_of_mathis() {
    for variant in [Variant::NewReno, Variant::Reno] {
        for p in [1e-3, 3e-3, 1e-2] {
            let mut random = ChaCha8Rng::seed_from_u64(7);
            let ours = constant(config(variant), p, move |_| random.random::<f64>() < p);
            // Mathis, Semke, Mahdavi, Ott (1997): 1.22 / sqrt(p) for periodic, 1.31 / sqrt(p) for independent losses.
            // The latter without repair: 1 / (1.31 sqrt(p)) RTTs between losses, two more at worst as
            // above. The rate of the losses drawn is off by 1 / sqrt(LOSSES), the throughput by half of
            // that; three standard deviations.
            let drawn = 1.5 / LOSSES.sqrt();
            let most = 1.31 * (1.0 + drawn);
            let least = 1.31 / (1.0 + 2.0 * 1.31 * p.sqrt()) * (1.0 - drawn);
            assert!(least < ours && ours < most, "{variant:?} {p}: {ours}, expected {least} to {most}");
        }
    }
}

#[test]
fn delayed_acks_cost_a_factor_of_the_root_of_two() {
    let (period, p) = (1000, 1e-3);
    let mut net = Net::new(config(Variant::NewReno), AckPolicy::Delayed { timeout: ms(100) });
    (net.forward.delay, net.backward.delay) = (ms(50), ms(50));
    net.judge = Box::new(move |n, _| if n % period == period - 1 { Fate::Drop } else { Fate::Pass });
    net.keep_log = false;
    net.run(at_ms(2_000_000));
    let ours = net.receiver.stats().delivered as f64 / 20_000.0 * f64::sqrt(p);
    // Half as steep: 3/4 W^2 + W/2 = N in W + 1 RTTs, and the same roundings, twice as long: at most three more.
    let n = period as f64;
    let w = ((0.25 + 3.0 * n).sqrt() - 0.5) / 1.5;
    let (least, most) = (n.sqrt() / (w + 4.0), n.sqrt() / (w + 1.0));
    assert!(least < ours && ours < most, "{ours}, expected {least} to {most}");
}

/// Segments delivered in 100 s by a bottleneck of 1,000 segments/s, after 20 s, and the fast recoveries meanwhile. 50
/// segments are on the way and one is being sent; as many may wait.
fn delivered_through_a_pipe(config: Config) -> (u64, u64) {
    let mut net = Net::new(config, AckPolicy::EverySegment);
    net.forward = Link::new(1000, ms(25), 51);
    net.backward = Link::new(0, ms(25), usize::MAX);
    net.keep_log = false;
    net.run(at_ms(20_000));
    let (delivered, recoveries) = (net.receiver.stats().delivered, net.sender.stats().fast_recoveries);
    net.run(at_ms(120_000));
    (net.receiver.stats().delivered - delivered, net.sender.stats().fast_recoveries - recoveries)
}

#[test]
fn one_flow_fills_a_pipe_whose_buffer_holds_its_bandwidth_delay_product() {
    // With the short timer NewReno's recovery from the end of slow start, 102 losses, ends in a timeout: it must not be
    // caught in them.
    let short_timer = Config { min_rto: ms(200), ..Config::rfc(Variant::NewReno) };
    let by_rfc = [Variant::Reno, Variant::NewReno, Variant::Cubic].map(Config::rfc);
    for config in by_rfc.into_iter().chain([short_timer]) {
        let (delivered, recoveries) = delivered_through_a_pipe(config);
        assert!(recoveries > 10, "{config:?} has met the end of the buffer {recoveries} times");
        // Half of 2 BDP is just the BDP: rounding may cost a segment per reduction. Segments that wait for a hole to be
        // filled at either end of the interval count when it is: at most what the pipe holds.
        let least = 100_000 - recoveries - 102;
        assert!((least..=100_102).contains(&delivered), "{config:?}: {delivered}");
    }
}
