//! `load`: rates by what all flows ask of the busiest resource.

use dovetail_sim::{Pattern, Source};

use crate::support::{CPU_AND_LINK, read, read_with, refusal, run, workload};

/// 10 flows of 800 B: 10 us on the CPU and 32 us on the link, a tenth and 0.32 of them at 1000 pps.
const FLOWS: &str = "[[flows]]\nclass = \"plain\"\ncount = 10\nsize = \"800 B\"\nrate = \"1000 pps\"\nstop = \"1 s\"\n";

fn rates(text: &str, load: f64) -> Vec<f64> {
    let scenario = read_with(text, &[&format!("load={load}")]);
    let rate = |source: &Source<2>| match source {
        Source::Generator(generator) => match generator.pattern {
            Pattern::Constant(rate) | Pattern::Poisson(rate) => rate.as_pps(),
            Pattern::Jittered { rate, .. } | Pattern::OnOff { rate, .. } => rate.as_pps(),
        },
        Source::List(_) => panic!("no generator"),
    };
    workload(&scenario).sources.iter().map(rate).collect()
}

#[test]
fn the_busiest_resource_is_asked_for_so_much() {
    let text = [CPU_AND_LINK, FLOWS].concat();
    assert_eq!(rates(&text, 0.32), [1000.0; 10]);
    assert_eq!(rates(&text, 0.64), [2000.0; 10]);
    // With four links the CPU is the busiest.
    let servers = text.replace("rate = \"200 Mbps\"", "rate = \"200 Mbps\"\nservers = 4");
    assert_eq!(rates(&servers, 0.64), [6400.0; 10]);
    let busy = run(&read_with(&text, &["load=0.64"]), "drfq").resources[1].busy;
    assert!((busy.as_secs_f64() - 0.64).abs() < 0.001, "{busy}");
}

#[test]
fn rates_keep_their_ratios_and_pauses_count() {
    let slower = FLOWS.replace("1000 pps", "500 pps").replace("count = 10", "count = 20");
    let half = "arrivals = \"on-off\"\non = \"10 ms\"\noff = \"10 ms\"\n";
    let text = [CPU_AND_LINK, FLOWS, &slower, half].concat();
    // 10 x 1000 and, half of the time, 20 x 500: 15,000 pps of 32 us.
    assert_eq!(rates(&text, 0.48), [[1000.0; 10].as_slice(), &[500.0; 20]].concat());
    assert_eq!(rates(&text, 0.96), [[2000.0; 10].as_slice(), &[1000.0; 20]].concat());
}

#[test]
fn what_has_no_rate_has_no_load() {
    let with = |line: &str, rest: &str| [line, CPU_AND_LINK, rest].concat();
    for load in ["0", "-1", "1001", "nan"] {
        let message = refusal(&with(&format!("load = {load}\n"), FLOWS));
        assert!(message.contains("s.toml:1:8") && message.contains("from 0.001 to 1000"), "{message}");
    }
    let list = "[[flows]]\nclass = \"plain\"\nlist = [{ at = \"0 s\", size = \"100 B\" }]\n";
    assert!(refusal(&with("load = 1\n", list)).contains("a list of packets has no rate"));
    let trace = "[trace]\nfile = \"x.pcap\"\n";
    assert!(refusal(&with("load = 1\n", trace)).contains("a capture has load or speed in [trace]"));
    let jitter = format!("{FLOWS}jitter = \"1 ms\"\n");
    assert!(refusal(&with("load = 0.64\n", &jitter)).contains("the time from packet to packet"));
    assert_eq!(read(&with("", FLOWS)).seed(), 1);
}
