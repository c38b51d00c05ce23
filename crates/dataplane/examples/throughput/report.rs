//! What the rounds come to.

use crate::SIZES;
use crate::lab::Outcome;

/// What each forwarder did with each of [`SIZES`], in the order of the forwarders.
pub type Round = Vec<[Outcome; SIZES.len()]>;

/// Tables on standard output: rates, and ratios of rates of one round.
pub fn print(names: &[&str], rounds: &[Round]) {
    let sizes: String = SIZES.iter().map(|size| format!(" {size} B |")).collect();
    let rule = "---|".repeat(SIZES.len());
    println!("\nthousand frames per second forwarded (offered), and processor 0's time per frame\n");
    println!("| forwarder |{sizes}\n|---|{rule}");
    for (k, name) in names.iter().enumerate() {
        let cells: String = (0..SIZES.len()).map(|size| format!(" {} |", median(rounds, k, size))).collect();
        println!("| {name} |{cells}");
    }
    println!("\nthe same as parts of other rates of the same round: smallest, median, largest\n");
    println!("| forwarder, of |{sizes}\n|---|{rule}");
    let place = |name: &str| names.iter().position(|&n| n == name);
    let routers: Vec<usize> = (0..names.len()).filter(|&k| names[k].starts_with("kernel router")).collect();
    for port in ["packet", "xdp", "tun", "tap"] {
        let Some(boxed) = place(&format!("{port}, box")) else { continue };
        if let Some(bare) = place(&format!("{port}, bare")) {
            ratios(&format!("{port}, box, of bare"), rounds, boxed, &[bare]);
        }
        if !routers.is_empty() {
            ratios(&format!("{port}, box, of the faster kernel router"), rounds, boxed, &routers);
        }
    }
}

/// The round with the median rate.
fn median(rounds: &[Round], forwarder: usize, size: usize) -> Outcome {
    let mut outcomes: Vec<Outcome> = rounds.iter().map(|round| round[forwarder][size]).collect();
    outcomes.sort_by(|a, b| a.forwarded.total_cmp(&b.forwarded));
    outcomes[outcomes.len() / 2]
}

/// Of the fastest of some others.
fn ratios(title: &str, rounds: &[Round], forwarder: usize, others: &[usize]) {
    let cell = |size: usize| {
        let ratio = |round: &Round| {
            let best = others.iter().map(|&other| round[other][size].forwarded).fold(0.0, f64::max);
            round[forwarder][size].forwarded / best
        };
        let mut ratios: Vec<f64> = rounds.iter().map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        format!(" {:.2} {:.2} {:.2} |", ratios[0], ratios[ratios.len() / 2], ratios[ratios.len() - 1])
    };
    println!("| {title} |{}", (0..SIZES.len()).map(cell).collect::<String>());
}
