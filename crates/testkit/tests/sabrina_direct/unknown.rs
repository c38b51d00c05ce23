//! Numbers of the two papers of which it is not known where they come from: what was varied, and does not give them.

use super::machine::{Charge, Gaps, Machine, packets};
use super::{ROUNDS, TAGS, TEN_MBPS, loaded, machine, mean, mean_delay_s, on_engines, table1, within};

/// PCFQ, Table 4: decryption's largest and mean delay under PCFQ are 21 +- 15 and 56 +- 11.8 % of separate WFQ's. Over
/// the rates that the two loads leave, both arrivals, both readings of the weights and both charges the two are never
/// there together, and the largest is never there at all.
#[test]
#[ignore = "explains the papers by a model of its own: make causes"]
fn no_rates_arrivals_weights_or_charges_give_decryptions_delays() {
    let mut found = Vec::new();
    for decryption in [0.5, 3.0, 16.083, 24.0, 40.0] {
        for gaps in [Gaps::Equal, Gaps::Poisson] {
            for equal in [false, true] {
                for charge in [Charge::AtArrival, Charge::Measured] {
                    let mut groups = loaded(decryption);
                    assert!(groups.iter().all(|group| group.rate > 0.0), "{decryption}");
                    if equal {
                        groups.iter_mut().for_each(|group| group.weights = [1.0; 2]);
                    }
                    let arrivals = packets(&groups, TEN_MBPS, gaps, 300.0, 1);
                    let [pcfq, wfq] = TAGS.map(|scheme| {
                        let flows = machine(scheme, charge).run(&groups, &arrivals, 300.0);
                        let all: Vec<f64> = flows[10..20].iter().flat_map(|flow| flow.delays.clone()).collect();
                        [all.iter().copied().fold(0.0, f64::max), mean(all)]
                    });
                    let ratios = [0, 1].map(|of| 100.0 * pcfq[of] / wfq[of]);
                    println!(
                        "{decryption} per second, Poisson {}, equal weights {equal}, exact {}: {ratios:.0?} %",
                        gaps == Gaps::Poisson,
                        charge == Charge::Measured
                    );
                    found.push(ratios);
                }
            }
        }
    }
    let least = |of: usize| found.iter().map(|ratio| ratio[of]).fold(f64::INFINITY, f64::min);
    println!("of {} settings the least: largest {:.1} %, mean {:.1} %", found.len(), least(0), least(1));
    assert!(found.iter().all(|[largest, mean]| *largest > 36.0 || (*mean - 56.0).abs() > 11.8), "{found:.0?}");
    within("largest, the least of all", 36.0..=1000.0, least(0));
}

/// CBCS, Table 3: of 4285 packets of an encryption flow separate DRR processes 4042 +- 2 %. With either arrivals, a KB
/// of 1000 or 1024 bytes, decryption as in Table 1 or shorter, and either charge, the CPU is through with more.
#[test]
fn no_arrivals_lengths_or_charges_keep_encryption_from_the_cpu() {
    let mut found = Vec::new();
    for gaps in [Gaps::Equal, Gaps::Poisson] {
        for kilobyte in [1.0, 1.024] {
            for decryption in [1.36, 1.85, 2.0] {
                for charge in [Charge::AtArrival, Charge::Measured] {
                    let mut groups = table1([14.283, 25.0, 14.283], [[1.0; 2]; 3]);
                    groups.iter_mut().for_each(|group| group.bytes = group.bytes.map(|bytes| bytes * kilobyte));
                    groups.iter_mut().for_each(|group| group.cpu[1] /= kilobyte);
                    groups[1].cpu = groups[1].cpu.map(|time| time * decryption / 2.0);
                    groups[1].rate *= 2.0 / decryption;
                    let arrivals = packets(&groups, TEN_MBPS, gaps, 300.0, 1);
                    let separate = Machine { room: 64, limits: Some([2.0, 1.0]), ..machine(ROUNDS[1], charge) };
                    let flows = separate.run(&groups, &arrivals, 300.0);
                    found.push(mean(flows[20..].iter().map(|flow| flow.processed as f64)));
                }
            }
        }
    }
    let least = found.iter().copied().fold(f64::INFINITY, f64::min);
    println!("{found:.0?}");
    // What still waits for the link is not counted.
    within("packets, the least of all", 4042.0 * 1.02..=4400.0, least - 64.0);
}

/// CBCS, Table 5: mean delays of five groups of flows, of 0.59 to 0.72 s, which are 73 to 81 % of separate DRR's. Up to
/// the full load no packet waits for a tenth of that. Beyond it delays grow for as long as the run lasts, and there are
/// always groups that wait longer under CBCS.
#[test]
fn no_load_makes_all_groups_of_the_network_processor_faster() {
    for load in [0.9, 1.0, 1.1, 1.3, 1.6] {
        let ([cbcs, drr], _) = on_engines(load, 1);
        let ratios = [0..3, 3..7, 7..11, 11..14, 14..16]
            .map(|group| 100.0 * mean_delay_s(&cbcs[group.clone()]) / mean_delay_s(&drr[group]));
        let delays = [&cbcs, &drr].map(|flows| 1e3 * mean_delay_s(flows));
        println!("{load}: {ratios:.0?} % of DRR's, {delays:.1?} ms in the mean");
        assert!(ratios.iter().any(|&ratio| ratio > 100.0), "{load}: {ratios:?}");
        if load <= 1.0 {
            assert!(delays.iter().all(|&ms| ms < 59.0), "{load}: {delays:?}");
        }
    }
}
