//! Writes a synthetic mixture to standard output: `mixture SEED PACKETS FLOWS SECONDS > FILE`.
//!
//! `cargo run -p dovetail-trace --example mixture -- 1 100000 3600 10 > mixture.pcap`

use std::error::Error;
use std::io::{BufWriter, stdout};

use dovetail_trace::{Mixture, Pace};
use dovetail_units::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |name| arguments.next().ok_or(format!("expected {name}"));
    let mixture = Mixture {
        seed: next("SEED")?.parse()?,
        packets: next("PACKETS")?.parse()?,
        flows: next("FLOWS")?.parse()?,
        pace: Pace::Duration(Duration::from_secs(next("SECONDS")?.parse()?)),
        ..Mixture::default()
    };
    mixture.generate()?.write_pcap(BufWriter::new(stdout().lock()))?;
    Ok(())
}
