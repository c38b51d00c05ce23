//! The fluid makespans beside the paper's Table 2: `cargo run --release -p dovetail-model --example table2 [PACKETS]`.
//!
//! 60 flows send 800-byte packets, 2000 a second each, for 10 seconds (PACKETS = 20000 each). A packet takes 32 us on
//! the link, and 7, 14 or 96.7 us on the CPU for flows 1-20, 21-40, 41-60. With fewer packets each one is larger, so
//! that the totals stay; the CPU times of the first two groups may be given as a second argument, `7+14` by default.

use std::error::Error;

use dovetail_model::fluid::{Input, Policy, run};
use dovetail_model::{Ties, Tradeoff};

const PAPER: [(f64, f64); 7] =
    [(1.0, 55.68), (0.95, 52.50), (0.9, 48.97), (0.85, 47.17), (0.7, 47.13), (0.6, 47.07), (0.5, 47.07)];

fn main() -> Result<(), Box<dyn Error>> {
    let packets: usize = std::env::args().nth(1).map_or(Ok(20_000), |count| count.parse())?;
    let split = std::env::args().nth(2).unwrap_or_else(|| "7+14".to_owned());
    let (checking, monitoring) = split.split_once('+').ok_or("expected two CPU times in us, as 7+14")?;
    let input = table2([checking.parse()?, monitoring.parse()?, 96.7], packets)?;
    println!("{packets} packets per flow, CPU {split} us; makespans in seconds");
    println!("alpha   paper    rotate          split");
    for (alpha, paper) in PAPER {
        let makespan = |ties| -> Result<f64, Box<dyn Error>> {
            Ok(run(&input, &Policy::Tradeoff(Tradeoff::new(alpha, ties)?))?.makespan_s())
        };
        let (rotate, split) = (makespan(Ties::Rotate)?, makespan(Ties::Split)?);
        let off = |ours: f64| 100.0 * (ours / paper - 1.0);
        println!("{alpha:<5} {paper:>7.2} {rotate:>9.4} {:>+6.3} % {split:>9.4} {:>+6.3} %", off(rotate), off(split));
    }
    Ok(())
}

fn table2(cpu_us: [f64; 3], packets: usize) -> Result<Input, Box<dyn Error>> {
    let larger = 20_000.0 / packets as f64;
    let mut input = Input::new(2)?;
    for flow in 0..60 {
        let times_s = [cpu_us[flow / 20] * 1e-6 * larger, 32e-6 * larger];
        let index = input.add_flow(1.0)?;
        for packet in 0..packets {
            input.push(index, packet as f64 * larger / 2000.0, &times_s)?;
        }
    }
    Ok(input)
}
