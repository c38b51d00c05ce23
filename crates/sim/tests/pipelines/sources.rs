//! When packets come, and how long they are.

use crate::common::{at, fifo, ns, pipeline, record};
use dovetail_sim::record::PacketRecord;
use dovetail_sim::{Arrival, Cost, Flow, Generator, List, Options, Pattern, Size, Source, Spell, TimeScale, Workload};
use dovetail_units::{Duration, PacketRate, Time};

fn rate(text: &str) -> PacketRate {
    text.parse().unwrap()
}

fn flows(count: u32) -> Vec<Flow<1>> {
    (0..count).map(|f| Flow::new(format!("flow {f}"), [Cost::Linear("0 us".parse().unwrap())])).collect()
}

fn sent(flow_count: u32, sources: Vec<Source<1>>, seed: u64) -> Vec<PacketRecord<1>> {
    let workload = Workload { flows: flows(flow_count), sources };
    let options = Options { seed, ..Options::default() };
    record(&workload, &pipeline(), &mut *fifo(), ns(1_000_000_000), options).1
}

fn of_flow(log: &[PacketRecord<1>], flow: u32) -> Vec<(Time, u32)> {
    log.iter().filter(|p| p.packet.flow == flow).map(|p| (p.packet.arrival, p.packet.size)).collect()
}

fn generate(generator: Generator) -> Vec<(Time, u32)> {
    of_flow(&sent(1, vec![Source::Generator(generator)], 1), 0)
}

#[test]
fn constant_rates_are_exact_however_long_they_last() {
    // Three packets per second: every third one on the full second.
    let constant = Pattern::Constant(rate("3 pps"));
    let generator = Generator { start: at(7), packets: Some(30_001), ..Generator::new(0, constant, Size::Fixed(1)) };
    let log = generate(generator);
    assert_eq!((log[0].0, log[1].0, log[30_000].0), (at(7), at(333_333_340), at(10_000_000_000_007)));
}

#[test]
fn jitter_is_spread_evenly_over_its_length_and_does_not_add_up() {
    let (n, jitter) = (30_000, Duration::from_micros(1000));
    let pattern = Pattern::Jittered { rate: rate("1000 pps"), jitter };
    let log = generate(Generator { packets: Some(n), ..Generator::new(0, pattern, Size::Fixed(1)) });
    let late = (0..).zip(&log).map(|(k, packet)| packet.0.since(at(k * 1_000_000)).as_nanos());
    let parts = late.fold([0; 4], |mut parts, late| {
        assert!(late <= 1_000_000, "{late}");
        parts[(late / 250_001) as usize] += 1;
        parts
    });
    // Four standard errors of a proportion of a quarter: 4 sqrt(0.1875 / 30,000) = 0.01.
    assert!(parts.iter().all(|&part| (f64::from(part) / n as f64 - 0.25).abs() < 0.01), "{parts:?}");
}

#[test]
fn a_source_stops_before_its_stop_time() {
    let constant = Pattern::Constant(rate("1000 pps"));
    let generator = Generator { stop: Some(at(3_000_000)), ..Generator::new(0, constant, Size::Fixed(1)) };
    assert_eq!(generate(generator).len(), 3);
}

#[test]
fn fixed_on_and_off_times_alternate() {
    // On for 2.5 ms at a packet per ms, off for 7.5 ms: the fourth packet comes 0.5 ms after the second beginning, the
    // sixth at the third.
    let pattern = Pattern::OnOff {
        rate: rate("1000 pps"),
        on: Spell::Fixed(Duration::from_micros(2500)),
        off: Spell::Fixed(Duration::from_micros(7500)),
    };
    let log = generate(Generator { packets: Some(7), ..Generator::new(0, pattern, Size::Fixed(1)) });
    let us: Vec<u64> = log.iter().map(|p| p.0.as_nanos() / 1_000).collect();
    assert_eq!(us, [0, 1_000, 2_000, 10_500, 11_500, 20_000, 21_000]);
}

#[test]
fn poisson_arrivals_have_the_mean_and_variance_of_their_rate() {
    let n = 100_000;
    let poisson = Pattern::Poisson(rate("1000 pps"));
    let log = generate(Generator { packets: Some(n), ..Generator::new(0, poisson, Size::Fixed(1)) });
    let gaps: Vec<f64> = log.windows(2).map(|w| w[1].0.since(w[0].0).as_secs_f64() * 1e3).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    // Exponential with mean 1: the standard error of the mean is 1/sqrt(n), of the variance sqrt(8/n); four of each.
    assert!((mean - 1.0).abs() < 4.0 / (n as f64).sqrt(), "{mean}");
    assert!((variance - 1.0).abs() < 4.0 * (8.0 / n as f64).sqrt(), "{variance}");
}

#[test]
fn rounding_to_nanoseconds_does_not_bias_a_fast_poisson_source() {
    let n = 1_000_000;
    let poisson = Pattern::Poisson(rate("1000 Mpps"));
    let log = generate(Generator { packets: Some(n), ..Generator::new(0, poisson, Size::Fixed(1)) });
    let mean = log.last().unwrap().0.as_nanos() as f64 / n as f64;
    assert!((mean - 1.0).abs() < 4.0 / (n as f64).sqrt(), "{mean}");
}

#[test]
fn exponential_on_off_sends_the_rate_times_the_part_of_the_time_it_is_on() {
    let spell = |ms| Spell::Exponential(Duration::from_millis(ms));
    let pattern = Pattern::OnOff { rate: rate("1000 pps"), on: spell(20), off: spell(60) };
    let log = generate(Generator { stop: Some(at(1_000_000_000_000)), ..Generator::new(0, pattern, Size::Fixed(1)) });
    // On for a quarter of 1000 s. For exponential times of means a and b, the time on in t has the variance 2 a^2 b^2 t
    // / (a + b)^3: a deviation of 0.95 %; four of them.
    let expected = 250_000.0;
    assert!((log.len() as f64 / expected - 1.0).abs() < 4.0 * 0.0095, "{} is not {expected}", log.len());
}

/// A flow that is on for a tenth of the time from packet to packet sends in every tenth time on.
#[test]
fn times_on_may_be_shorter_than_the_time_from_packet_to_packet() {
    let spell = |us| Spell::Fixed(Duration::from_micros(us));
    let pattern = Pattern::OnOff { rate: rate("1000 pps"), on: spell(100), off: spell(300) };
    let log = generate(Generator { packets: Some(3), ..Generator::new(0, pattern, Size::Fixed(1)) });
    assert_eq!(log.iter().map(|p| p.0).collect::<Vec<_>>(), [at(0), at(4_000_000), at(8_000_000)]);
}

#[test]
fn sizes_follow_their_distribution() {
    let constant = Pattern::Constant(rate("1 kpps"));
    let sizes = |size| generate(Generator { packets: Some(30_000), ..Generator::new(0, constant, size) });
    let count = |log: &[(Time, u32)], size| log.iter().filter(|p| p.1 == size).count() as f64 / 30_000.0;

    let mix = sizes(Size::Mix(vec![(64, 7), (576, 0), (1500, 3)]));
    // Four standard errors of a proportion of 0.3: 4 sqrt(0.21 / 30,000) = 0.0106.
    assert!((count(&mix, 1500) - 0.3).abs() < 0.0106);
    assert_eq!(count(&mix, 64) + count(&mix, 1500), 1.0);

    let uniform = sizes(Size::Uniform { min: 5, max: 7 });
    // Of a proportion of 1/3: 4 sqrt(2 / 9 / 30,000) = 0.0109.
    assert!((5..=7).all(|size| (count(&uniform, size) - 1.0 / 3.0).abs() < 0.0109));
}

#[test]
fn replay_scales_times_exactly_and_keeps_the_order() {
    let arrivals: Vec<Arrival> = [10, 10, 14, 1_000_000_001]
        .iter()
        .zip(0..)
        .map(|(&t, size)| Arrival { time: at(t), flow: 0, size: size + 1 })
        .collect();
    let faster = List { scale: TimeScale { numerator: 1, denominator: 5 }, ..List::new(arrivals.clone()) };
    let log = of_flow(&sent(1, vec![Source::List(faster)], 0), 0);
    assert_eq!(log, [(at(2), 1), (at(2), 2), (at(2), 3), (at(200_000_000), 4)]);
    let slower = List { scale: TimeScale { numerator: 3, denominator: 2 }, ..List::new(arrivals) };
    assert_eq!(of_flow(&sent(1, vec![Source::List(slower)], 0), 0)[2].0, at(21));
}

#[test]
fn another_source_changes_nothing_for_the_others() {
    let generator = |flow| {
        let poisson = Pattern::Poisson(rate("1000 pps"));
        let size = Size::Uniform { min: 40, max: 1500 };
        Source::Generator(Generator { packets: Some(200), ..Generator::new(flow, poisson, size) })
    };
    let alone = sent(3, vec![generator(2)], 9);
    let together = sent(3, (0..3).map(generator).collect(), 9);
    assert_eq!(of_flow(&alone, 2), of_flow(&together, 2));
    assert_ne!(of_flow(&together, 0), of_flow(&together, 1));
    assert_ne!(of_flow(&sent(3, vec![generator(2)], 10), 2), of_flow(&alone, 2));
}
