//! The causes of what differs from the CBCS and PCFQ papers, by a direct model that shares nothing with our schedulers
//! but the input: a queue per flow, rounds, tags and predictions as the papers' text has them.

mod delay;
mod gini;
mod machine;
mod unknown;

use machine::{Charge, Flow, Gaps, Group, Machine, Random, Rule, Scheme, packets};

const TEN_MBPS: f64 = 1.25e6;

/// Table 1 of the CBCS paper; flows send so many packets per second, with these weights.
fn table1(rates: [f64; 3], weights: [[f64; 2]; 3]) -> [Group; 3] {
    let group = |k: usize, bytes, cpu, resize| Group {
        flows: 10,
        bytes,
        cpu,
        resize,
        rate: rates[k],
        weights: weights[k],
        spread: 0.0,
    };
    [
        group(0, [1500.0, 24_000.0], [8e-3, 4e-6 / 3.0], [0.11, 0.36]),
        group(1, [4000.0, 16_000.0], [1e-3 / 3.0, 1e-6 / 6.0], [0.25; 2]),
        group(2, [1000.0, 8000.0], [5e-3 / 7.0, 2e-6 / 7.0], [4.0; 2]),
    ]
}

fn machine(scheme: Scheme, charge: Charge) -> Machine {
    let worth = [1.0; 2];
    Machine { scheme, charge, per_packet: false, engines: 1, room: usize::MAX, hold: false, limits: None, worth }
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let all: Vec<f64> = values.into_iter().collect();
    all.iter().sum::<f64>() / all.len() as f64
}

/// How far the values are apart, in per cent of their mean.
fn apart(values: Vec<f64>) -> f64 {
    let extent = values.iter().fold([f64::INFINITY, 0.0_f64], |[low, high], &v| [low.min(v), high.max(v)]);
    100.0 * (extent[1] - extent[0]) / mean(values)
}

#[track_caller]
fn within(what: &str, range: std::ops::RangeInclusive<f64>, ours: f64) {
    println!("{what}: {ours:.4}, expected {range:?}");
    assert!(range.contains(&ours), "{what}: {ours}, expected {range:?}");
}

const ROUNDS: [Scheme; 2] = [Scheme::Composite(Rule::Rounds), Scheme::Separate(Rule::Rounds)];
const TAGS: [Scheme; 2] = [Scheme::Composite(Rule::Pcfq), Scheme::Separate(Rule::Wfq)];
const SEEDS: std::ops::RangeInclusive<u64> = 1..=3;

/// Thirty flows that are all backlogged, for 300 s. A decryption block takes so long in the mean.
fn congested(scheme: Scheme, charge: Charge, decryption: f64, seed: u64) -> Vec<Flow> {
    let mut groups = table1([14.283, 25.0, 14.283], [[1.0; 2]; 3]);
    groups[1].cpu = groups[1].cpu.map(|time| time * decryption / 2e-3);
    groups[1].rate *= 2e-3 / decryption;
    let arrivals = packets(&groups, TEN_MBPS, Gaps::Equal, 300.0, seed);
    Machine { room: 64, limits: Some([2.0, 1.0]), ..machine(scheme, charge) }.run(&groups, &arrivals, 300.0)
}

/// CBCS, Table 3 and Fig. 3. With exact times an encryption flow has the paper's 1189 packets within 2 %, and total
/// times are within Theorem 3's 3 %; with the printed predictions neither is, and the link is full. `dovetail
/// reproduce` has 1252 packets, 99.7 % of the link and total times 10.2 % apart, and 1186, 95.2 and 0.9 % with exact
/// times.
#[test]
fn predictions_decide_packets_and_total_times_under_cbcs() {
    for (charge, packets, link, spread) in [
        (Charge::Measured, 1166.0..=1212.0, 95.0..=96.0, 0.0..=3.0),
        (Charge::AtArrival, 1220.0..=1290.0, 98.0..=100.0, 6.0..=16.0),
    ] {
        for seed in SEEDS {
            let flows = congested(ROUNDS[0], charge, 2e-3, seed);
            within("packets", packets.clone(), mean(flows[20..].iter().map(|f| f.processed as f64)));
            within("link", link.clone(), flows.iter().map(|f| f.times[1]).sum::<f64>() / 3.0);
            within("apart", spread.clone(), apart(flows.iter().map(|f| f.times[0] + f.times[1]).collect()));
        }
    }
}

/// CBCS, Fig. 2: CPU times of flows 1 to 20 under separate DRR, of which the paper says that they are equal. `dovetail
/// reproduce` has them 17.6 % apart, and 1.1 % with exact times.
#[test]
fn predictions_decide_how_equal_the_cpu_is_under_separate_rounds() {
    for (charge, spread) in [(Charge::Measured, 0.0..=2.0), (Charge::AtArrival, 8.0..=24.0)] {
        for seed in SEEDS {
            let flows = congested(ROUNDS[1], charge, 2e-3, seed);
            within("apart", spread.clone(), apart(flows[..20].iter().map(|f| f.times[0]).collect()));
        }
    }
}

/// CBCS, Table 3 and Fig. 3: what decryption flows cannot use of the link, encryption flows get. The paper has 1041.5
/// packets received, of 4042 processed, and equal parts; `dovetail reproduce` 1213 of 4215, and 1.54. What leaves the
/// CPU is 4276 packets, of which up to 64 of a flow wait at the end.
#[test]
fn decryption_decides_what_encryption_receives_under_separate_rounds() {
    for (decryption, received, ratio) in [(2e-3, 1190.0..=1250.0, 1.45..=1.7), (1.36e-3, 960.0..=1062.0, 0.95..=1.05)] {
        for seed in SEEDS {
            let flows = congested(ROUNDS[1], Charge::AtArrival, decryption, seed);
            within("received", received.clone(), mean(flows[20..].iter().map(|f| f.received as f64)));
            within("processed", 4270.0..=4285.0, mean(flows[20..].iter().map(|f| f.processed as f64)));
            let link = |range: std::ops::Range<usize>| mean(flows[range].iter().map(|f| f.times[1]));
            within("link of encryption per decryption", ratio.clone(), link(20..30) / link(10..20));
        }
    }
}

/// Flows that together ask for 97 % of the CPU and 96 % of the link, and have reserved just that. The rate of
/// decryption flows, which the papers do not state, fixes the two others.
fn loaded(decryption: f64) -> [Group; 3] {
    // Means of CPU and link: 25, 2 and 2 ms, and 2.397, 2 and 14.4 ms.
    let (cpu, link) = ([25e-3, 2e-3, 2e-3], [2.397e-3, 2e-3, 14.4e-3]);
    let (a, b) = (0.097 - decryption * cpu[1], 0.096 - decryption * link[1]);
    let determinant = cpu[0] * link[2] - cpu[2] * link[0];
    let rates = [(a * link[2] - b * cpu[2]) / determinant, decryption, (b * cpu[0] - a * link[0]) / determinant];
    table1(rates, [0, 1, 2].map(|k| [rates[k] * cpu[k], rates[k] * link[k]]))
}

/// The largest delay of the three groups, the mean, and the standard deviation, under these two schemes.
fn delays(groups: &[Group; 3], schemes: [Scheme; 2], gaps: Gaps, seed: u64) -> [[[f64; 3]; 3]; 2] {
    let arrivals = packets(groups, TEN_MBPS, gaps, 300.0, seed);
    schemes.map(|scheme| {
        let flows = machine(scheme, Charge::AtArrival).run(groups, &arrivals, 300.0);
        [0, 1, 2].map(|group| {
            let all: Vec<f64> = flows[10 * group..][..10].iter().flat_map(|flow| flow.delays.iter().copied()).collect();
            let average = mean(all.iter().copied());
            let deviation = mean(all.iter().map(|delay| (delay - average).powi(2))).sqrt();
            [all.iter().copied().fold(0.0, f64::max), average, deviation]
        })
    })
}

/// The same of the first scheme in per cent of the second's.
fn ratios(groups: &[Group; 3], schemes: [Scheme; 2], gaps: Gaps, seed: u64) -> [[f64; 3]; 3] {
    let [first, second] = delays(groups, schemes, gaps, seed);
    [0, 1, 2].map(|group| [0, 1, 2].map(|of| 100.0 * first[group][of] / second[group][of]))
}

/// CBCS, Table 2. Here quanta are the longest packet's; the rates, the arrivals and the quanta of DRR are all not
/// stated. With these the mean delay of decryption is within 97.5 +- 4.5 % and the standard deviation of encryption
/// within 90.5 +- 11 %, which differ by `dovetail reproduce`'s.
#[test]
fn table_2_comes_out_with_other_quanta() {
    for decryption in [3.0, 16.083] {
        let table = ratios(&loaded(decryption), ROUNDS, Gaps::Equal, 1);
        println!("{decryption}: {table:.1?}");
        within("decryption, mean", 93.0..=102.0, table[1][1]);
        within("encryption, standard deviation", 79.5..=101.5, table[2][2]);
    }
    let poisson = ratios(&loaded(16.083), ROUNDS, Gaps::Poisson, 1);
    within("decryption, mean, Poisson arrivals", 0.0..=80.0, poisson[1][1]);
}

/// PCFQ, Table 4: decryption blocks hardly wait under separate WFQ at the scenario's rate (`dovetail reproduce`: 33 ms,
/// and 245 % of that under PCFQ), and wait longer the fewer they are, where PCFQ is at no disadvantage.
#[test]
fn decryption_hardly_waits_under_separate_wfq_unless_it_is_rare() {
    let [pcfq, wfq] = delays(&loaded(16.083), TAGS, Gaps::Equal, 1);
    within("mean under WFQ", 0.025..=0.04, wfq[1][1]);
    within("PCFQ in per cent of it", 200.0..=300.0, 100.0 * pcfq[1][1] / wfq[1][1]);
    within("at 3 per second", 90.0..=125.0, ratios(&loaded(3.0), TAGS, Gaps::Equal, 1)[1][1]);
    let rare = ratios(&loaded(0.5), TAGS, Gaps::Poisson, 1);
    within("at 0.5 per second, Poisson arrivals", 60.0..=95.0, rare[1][1]);
    // The standard deviations of all groups, of which the paper says that they are lower.
    within("standard deviations then", 0.0..=99.0, rare.iter().map(|group| group[2]).fold(0.0, f64::max));
}

/// PCFQ, Table 4: what the rates and the arrivals make of encryption's mean delay (paper: 77 +- 3.2 %) with the
/// reserved rates as weights. MPEG2's (42 +- 3.2 %) does not come near.
#[test]
fn rates_and_arrivals_decide_encryptions_mean() {
    let mut found = Vec::new();
    for decryption in [3.0, 16.083, 24.0] {
        for gaps in [Gaps::Equal, Gaps::Poisson] {
            let table = ratios(&loaded(decryption), TAGS, gaps, 1);
            println!("{decryption}, Poisson {}: {table:.1?}", gaps == Gaps::Poisson);
            found.push(table);
        }
    }
    let extent = |group: usize, of: usize| {
        let all = found.iter().map(|table| table[group][of]);
        [all.clone().fold(f64::INFINITY, f64::min), all.fold(0.0, f64::max)]
    };
    let [low, high] = extent(2, 1);
    assert!(low < 77.0 && high > 120.0, "encryption, mean: {low} to {high}");
    assert!(extent(0, 1)[0] > 65.0, "MPEG2, mean: {:?}", extent(0, 1));
}

/// PCFQ, Table 4: the weights, which are not legible in the text at hand, decide encryption's largest delay (paper: 32
/// +- 15 %) and MPEG2's mean (42 +- 3.2 %). With the same weight for all, 24 decryption packets per second and Poisson
/// streams they are 36 and 40 % in the mean of three seeds; at the same rate with the reserved rates as weights
/// 88 and 78 %. The other numbers of the table do not come out with these weights.
#[test]
fn weights_decide_encryptions_largest_and_mpeg2s_mean() {
    let of = |equal: bool| {
        let mut groups = loaded(24.0);
        if equal {
            groups.iter_mut().for_each(|group| group.weights = [1.0; 2]);
        }
        let tables: Vec<_> = SEEDS.map(|seed| ratios(&groups, TAGS, Gaps::Poisson, seed)).collect();
        println!("equal weights {equal}: {tables:.0?}");
        [(2, 0), (0, 1)].map(|(group, of)| mean(tables.iter().map(|table| table[group][of])))
    };
    let (equal, reserved) = (of(true), of(false));
    within("encryption, largest", 17.0..=47.0, equal[0]);
    within("MPEG2, mean", 25.0..=55.0, equal[1]);
    within("encryption, largest, reserved rates", 70.0..=110.0, reserved[0]);
    within("MPEG2, mean, reserved rates", 65.0..=90.0, reserved[1]);
}

/// CBCS, Table 4: sixteen flows of alike rates that ask for this part of 50 Mb/s.
fn network_processor(load: f64) -> [Group; 5] {
    let group = |flows, bytes, cycles: [f64; 2]| {
        let mean = (cycles[0] + cycles[1]) / 2.0;
        let (cpu, spread) = ([mean / 600e6, 0.0], (cycles[1] - cycles[0]) / 2.0 / mean);
        Group { flows, bytes, cpu, resize: [1.0; 2], rate: 4638.22 * load, weights: [1.0; 2], spread }
    };
    [
        group(3, [120.0, 127.0], [2400.0, 3600.0]),
        group(4, [42.0, 48.0], [2400.0, 3600.0]),
        group(4, [120.0, 127.0], [78.0, 134.0]),
        group(3, [42.0, 48.0], [78.0, 134.0]),
        group(2, [80.0, 88.0], [1200.0, 1800.0]),
    ]
}

/// The flows of [`network_processor`] after 2 s under CBCS and separate DRR, and how much of the engines CBCS uses.
fn on_engines(load: f64, seed: u64) -> ([Vec<Flow>; 2], f64) {
    let groups = network_processor(load);
    let arrivals = packets(&groups, 6.25e6, Gaps::Poisson, 2.0, seed);
    // 2/3 ns for a cycle of 5/3 ns, and 80 ns for a byte that takes 160.
    let run = |scheme, room| {
        let worth = if scheme == ROUNDS[0] { [0.4, 0.5] } else { [1.0; 2] };
        let machine = machine(scheme, Charge::AtArrival);
        Machine { per_packet: true, engines: 4, hold: true, room, worth, ..machine }.run(&groups, &arrivals, 2.0)
    };
    let flows = [run(ROUNDS[0], 128), run(ROUNDS[1], 8)];
    let used = flows[0].iter().map(|flow| flow.times[0]).sum::<f64>() / 8.0;
    (flows, used)
}

fn mean_delay_s(flows: &[Flow]) -> f64 {
    mean(flows.iter().flat_map(|flow| flow.delays.iter().copied()))
}

/// CBCS, Table 5: the engines are all but idle, short packets wait behind long ones in CBCS's one order on the link and
/// not under separate DRR, and no packet waits for a tenth of the paper's 0.6 s.
#[test]
fn engines_are_idle_and_short_packets_wait_behind_long_ones() {
    for seed in SEEDS {
        let ([cbcs, drr], used) = on_engines(1.0, seed);
        within("engines", 0.04..=0.06, used);
        for (name, flows) in [("high, low", 3..7), ("low, low", 11..14), ("medium", 14..16)] {
            within(name, 300.0..=1200.0, 100.0 * mean_delay_s(&cbcs[flows.clone()]) / mean_delay_s(&drr[flows]));
        }
        within("low, high", 20.0..=90.0, 100.0 * mean_delay_s(&cbcs[7..11]) / mean_delay_s(&drr[7..11]));
        let largest = cbcs.iter().chain(&drr).flat_map(|flow| flow.delays.iter().copied()).fold(0.0, f64::max);
        within("largest delay, s", 0.0..=0.06, largest);
    }
}

/// CBCS, Figs. 8 and 9: flows of a group are alike within 25 % where the link has a tenth to spare, and not where the
/// flows ask for exactly what it can do.
#[test]
fn flows_of_a_group_are_alike_below_full_load() {
    let furthest = |load: f64| {
        let all = SEEDS.flat_map(|seed| {
            let (runs, _) = on_engines(load, seed);
            runs.into_iter().flat_map(|flows| {
                [0..3, 7..11].map(|group| {
                    let own: Vec<f64> = flows[group].iter().map(|flow| mean(flow.delays.iter().copied())).collect();
                    let average = mean(own.iter().copied());
                    own.iter().map(|delay| (delay / average).max(average / delay)).fold(0.0, f64::max)
                })
            })
        });
        all.fold(0.0, f64::max)
    };
    within("at full load", 1.25..=5.0, furthest(1.0));
    within("at nine tenths", 1.0..=1.25, furthest(0.9));
}

/// PCFQ, Table 3, by equation (2) alone: of lengths drawn one by one the longest memory is best; in runs of 32 alike
/// ones alpha = 0.4 is within 5 % of the best.
#[test]
fn lengths_without_a_trend_want_a_long_memory() {
    let mut random = Random(7);
    let mut worst = |alike: f64| {
        table1([1.0; 3], [[1.0; 2]; 3]).map(|group| {
            let mut bytes = group.bytes[0];
            let blocks: Vec<[f64; 2]> = (0..20_000)
                .map(|_| {
                    if random.within([0.0, 1.0]) < 1.0 / alike {
                        bytes = random.within(group.bytes);
                    }
                    [bytes, (group.cpu[0] + group.cpu[1] * bytes) * random.within([0.9, 1.1])]
                })
                .collect();
            let error = |alpha: f64| {
                let mut per_byte = blocks[0][1] / blocks[0][0];
                mean(blocks.iter().map(|[bytes, time]| {
                    let error = (per_byte * bytes / time - 1.0).abs();
                    per_byte += alpha * (time / bytes - per_byte);
                    error
                }))
            };
            let alphas = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0];
            let least = alphas.map(error).into_iter().fold(f64::INFINITY, f64::min);
            error(0.4) / least
        })
    };
    let most = |all: [f64; 3]| all.into_iter().fold(0.0, f64::max);
    within("one by one", 1.05..=1.2, most(worst(1.0)));
    within("in runs of 32", 1.0..=1.05, most(worst(32.0)));
}
