//! How many packets come, and when.

use crate::support::{CPU_AND_LINK, read, run, with_flows};

fn offered(keys: &str) -> u64 {
    let record = run(&with_flows(&format!("size = \"100 B\"\n{keys}")), "fifo");
    record.flows.iter().map(|f| f.offered).sum()
}

#[test]
fn constant_arrivals_are_counted_out() {
    assert_eq!(offered("rate = \"1 kpps\"\nstop = \"1 s\""), 1000);
    assert_eq!(offered("rate = \"1 kpps\"\nstart = \"400 ms\"\nstop = \"1 s\""), 600);
    assert_eq!(offered("rate = \"1 kpps\"\npackets = 70"), 70);
    assert_eq!(offered("rate = \"1 kpps\"\npackets = 70\nstop = \"50 ms\""), 50, "whichever comes first");
    assert_eq!(offered("count = 3\nrate = \"1 kpps\"\npackets = 70"), 210, "packets of each flow");
}

#[test]
fn starts_are_spread_over_a_time() {
    // The three flows start at 100, 400 and 700 ms, and have 900, 600 and 300 packets until 1 s.
    let three =
        |keys: &str| offered(&format!("count = 3\nrate = \"1 kpps\"\nstart = \"100 ms\"\nstop = \"1 s\"\n{keys}"));
    assert_eq!(three(""), 3 * 900);
    assert_eq!(three("spread = \"900 ms\""), 900 + 600 + 300);
    assert_eq!(three("spread = \"900 ms\"\npackets = 500"), 500 + 500 + 300);
}

#[test]
fn poisson_arrivals_have_the_rate() {
    // Ten flows of 1000 expected packets: a Poisson number of mean 10 000, hence of standard deviation 100; five of
    // those.
    let packets = offered("count = 10\narrivals = \"poisson\"\nrate = \"1 kpps\"\nstop = \"1 s\"");
    assert!(packets.abs_diff(10_000) <= 500, "{packets}");
}

#[test]
fn on_off_arrivals_come_part_of_the_time() {
    // On for a quarter of the time: 20 flows of 1000 cycles, so that each flow's time on has a relative deviation of
    // about sqrt(2 / 1000), their sum of 1 %.
    let packets =
        offered("count = 20\narrivals = \"on-off\"\non = \"1 ms\"\noff = \"3 ms\"\nrate = \"20 kpps\"\nstop = \"4 s\"");
    let expected = 20.0 * 20_000.0;
    assert!((packets as f64 / expected - 1.0).abs() < 5.0 * 0.01, "{packets}");
}

#[test]
fn the_seed_moves_random_arrivals_only() {
    let arrivals = |keys: &str, seed: u64| {
        let text = format!(
            "{CPU_AND_LINK}[[flows]]\nclass = \"plain\"\nsize = \"100 B\"\nrate = \"1 kpps\"\npackets = 50\n{keys}"
        );
        let record = run(&read(&text).with_seed(seed).unwrap(), "fifo");
        record.packets.iter().map(|p| p.arrival).collect::<Vec<_>>()
    };
    assert_eq!(arrivals("", 1), arrivals("", 2));
    assert_ne!(arrivals("jitter = \"1 us\"", 1), arrivals("jitter = \"1 us\"", 2));
    assert_ne!(arrivals("arrivals = \"poisson\"", 1), arrivals("arrivals = \"poisson\"", 2));
    assert_eq!(arrivals("arrivals = \"poisson\"", 2), arrivals("arrivals = \"poisson\"", 2));
}

#[test]
fn a_group_does_not_disturb_the_others() {
    let group =
        "[[flows]]\nclass = \"plain\"\nsize = \"100 B\"\narrivals = \"poisson\"\nrate = \"1 kpps\"\npackets = 50\n";
    let first = |text: String| {
        let record = run(&read(&text), "fifo");
        record.packets.iter().filter(|p| p.flow == 0).map(|p| p.arrival).collect::<Vec<_>>()
    };
    let (alone, together) = (format!("{CPU_AND_LINK}{group}"), format!("{CPU_AND_LINK}{group}{group}"));
    assert_eq!(first(alone), first(together));
}

#[test]
fn until_cuts_a_run_off() {
    let text = format!(
        "until = \"100 ms\"\n{CPU_AND_LINK}[[flows]]\nclass = \"plain\"\nsize = \"100 B\"\nrate = \"1 Mpps\"\n"
    );
    let record = run(&read(&text), "fifo");
    let flow = &record.flows[0];
    // A packet takes 10 us on the CPU.
    assert!(flow.delivered.abs_diff(10_000) <= 2, "{}", flow.delivered);
    assert!(flow.unfinished > 0);
    assert_eq!(flow.offered, flow.delivered + u64::from(flow.unfinished));
}
