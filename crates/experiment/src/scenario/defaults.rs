//! The scenario around a capture that is given alone.

use std::io::Read;
use std::path::Path;

/// Whether a file is a capture by its first bytes (pcap, pcapng or gzip); anything else is read as a scenario.
pub fn is_capture(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut magic));
    read.is_ok() && matches!(magic, [0x0a, 0x0d, 0x0d, 0x0a] | [0x1f, 0x8b, ..]) || is_pcap(magic)
}

fn is_pcap(magic: [u8; 4]) -> bool {
    [u32::from_le_bytes(magic), u32::from_be_bytes(magic)].iter().any(|m| matches!(m, 0xa1b2_c3d4 | 0xa1b2_3c4d))
}

/// The paper's trace-driven setting (section 6.2) around the capture `file`, at a load that makes the schedulers' choices matter.
pub fn around_capture(file: &str) -> String {
    let file = toml::Value::String(file.to_string());
    format!("{DEFAULTS}file = {file}\n")
}

const DEFAULTS: &str = r#"schedulers = ["fifo", "drfq", "tradeoff:alpha=1", "tradeoff:alpha=0.85"]

[[resource]]
name = "cpu"

[[resource]]
name = "link"
rate = "200 Mbps"

[[class]]
name = "forwarding"
cost = { cpu = "0.00286 us/B + 6.2 us" }

[[class]]
name = "monitoring"
cost = { cpu = "0.0008 us/B + 12.1 us" }

[[class]]
name = "ipsec"
cost = { cpu = "0.015 us/B + 84.5 us" }

[trace]
load = 1.2
queue = "200 packets"
"#;

/// The same in words.
pub const IN_WORDS: &str = "defaults: one CPU and a 200 Mbps link; each flow forwarded, monitored or IPsec-encrypted at random (DRFQ's \
measured costs); 200 packets per queue; replayed as fast as it takes to offer the busier of the two 1.2 times what it can do";
