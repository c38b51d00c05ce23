//! The scenario around a capture that is given alone.

/// The paper's trace-driven setting (section 6.2) around the capture `file`, at a load that makes the schedulers'
/// choices matter unless an override gives the speed.
pub fn around_capture(file: &str, overrides: &[String]) -> String {
    let file = toml::Value::String(file.to_string());
    let key = |entry: &String| entry.split('=').next().map(|key| key.trim().to_string());
    let pace =
        if overrides.iter().any(|entry| key(entry).as_deref() == Some("trace.speed")) { "" } else { "load = 1.2\n" };
    format!("{DEFAULTS}{pace}file = {file}\n")
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
queue = "200 packets"
"#;

/// The same in words, without the pace, which depends on the capture.
pub const IN_WORDS: &str = "defaults: one CPU and a 200 Mbps link; each flow forwarded, monitored or IPsec-encrypted \
    at random (DRFQ's measured costs); 200 packets per queue";
