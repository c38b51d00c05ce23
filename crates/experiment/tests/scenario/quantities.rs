//! Every form in which a quantity can be written.

use dovetail_sched::cost::Prediction;
use dovetail_sim::{Buffer, Cost, Estimate, Generator, Pattern, Size, Source, Spell};
use dovetail_units::{BitRate, Bytes, Duration, PacketRate, Time};

use crate::support::{CPU_AND_LINK, read, refusal, with_flows, workload};

#[track_caller]
fn generator(keys: &str) -> Generator {
    match &workload(&with_flows(keys)).sources[0] {
        Source::Generator(generator) => generator.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn packet_lengths() {
    let size = |text: &str| generator(&format!("size = \"{text}\"\nrate = \"1 pps\"\npackets = 1")).size;
    for text in ["800 B", "800B", "0.8 kB", "0.0008 MB", "8_00 B", " 800 B "] {
        assert_eq!(size(text), Size::Fixed(800), "{text}");
    }
    assert_eq!(size("1 KiB"), Size::Fixed(1024));
    assert_eq!(size("1 GiB"), Size::Fixed(1 << 30));
    for text in ["200 B to 1400 B", "0.2 kB to 1.4 kB"] {
        assert_eq!(size(text), Size::Uniform { min: 200, max: 1400 }, "{text}");
    }
    assert_eq!(size("60 B to 60 B"), Size::Fixed(60));
}

#[test]
fn times() {
    let start =
        |text: &str| generator(&format!("size = \"1 B\"\nrate = \"1 pps\"\npackets = 1\nstart = \"{text}\"")).start;
    for text in ["84.5 us", "84.5us", "84.5 µs", "84500 ns", "0.0845 ms", "0.0000845 s"] {
        assert_eq!(start(text), Time::from_nanos(84_500), "{text}");
    }
    assert_eq!(start("2 min"), Time::ZERO + Duration::from_secs(120));
    assert_eq!(start("1.5 h"), Time::ZERO + Duration::from_secs(5400));
    let stop = generator("size = \"1 B\"\nrate = \"1 pps\"\nstop = \"3 s\"").stop;
    assert_eq!(stop, Some(Time::ZERO + Duration::from_secs(3)));
}

#[test]
fn link_rates() {
    for text in ["200 Mbps", "200000 kbps", "0.2 Gbps", "0.0002 Tbps", "200 Mbit/s", "200_000_000 bps", "200000 kbit/s"]
    {
        let scenario = CPU_AND_LINK.replace("200 Mbps", text);
        let flows = "[[flows]]\nclass = \"plain\"\nsize = \"1 B\"\nrate = \"1 pps\"\npackets = 1";
        let cost = workload(&read(&format!("{scenario}{flows}"))).flows[0].cost[1];
        assert_eq!(cost, Cost::Link(BitRate::from_bps(200_000_000).unwrap()), "{text}");
    }
}

#[test]
fn packet_rates() {
    let pattern = |text: &str| generator(&format!("size = \"1 B\"\nrate = \"{text}\"\npackets = 1")).pattern;
    let pps = |micro| Pattern::Constant(PacketRate::from_micro_pps(micro).unwrap());
    for text in ["2000 pps", "2 kpps", "0.002 Mpps"] {
        assert_eq!(pattern(text), pps(2_000_000_000), "{text}");
    }
    assert_eq!(pattern("0.5 pps"), pps(500_000));
}

#[test]
fn ways_of_arriving() {
    let rate = PacketRate::from_micro_pps(1_000_000_000).unwrap();
    let pattern = |keys: &str| generator(&format!("size = \"1 B\"\nrate = \"1 kpps\"\nstop = \"1 s\"\n{keys}")).pattern;
    assert_eq!(pattern(""), Pattern::Constant(rate));
    assert_eq!(pattern("arrivals = \"constant\""), Pattern::Constant(rate));
    assert_eq!(pattern("jitter = \"0 ms\""), Pattern::Constant(rate));
    assert_eq!(pattern("jitter = \"1 ms\""), Pattern::Jittered { rate, jitter: Duration::from_millis(1) });
    assert_eq!(pattern("arrivals = \"poisson\""), Pattern::Poisson(rate));
    let (on, off) = (Spell::Exponential(Duration::from_millis(3)), Spell::Exponential(Duration::from_secs(2)));
    assert_eq!(pattern("arrivals = \"on-off\"\non = \"3 ms\"\noff = \"2 s\""), Pattern::OnOff { rate, on, off });
}

#[test]
fn processing_costs() {
    // Nanoseconds for a packet of 800 bytes.
    for (text, expected) in [
        ("0.015 us/B + 84.5 us", 96_500),
        ("84.5 us + 0.015 us/B", 96_500),
        ("15 ns/B + 84500 ns", 96_500),
        ("21 us", 21_000),
        ("0.015 us/B", 12_000),
        ("0.00286 us/B + 6.2 us", 8_488),
        ("0 us", 0),
    ] {
        let scenario = CPU_AND_LINK.replace("10 us", text);
        let keys = format!("estimate = {{ cpu = \"{text}\", link = \"{text}\" }}");
        let flows = "[[flows]]\nclass = \"plain\"\nsize = \"800 B\"\nrate = \"1 pps\"\npackets = 1";
        let flow = workload(&read(&format!("{scenario}{keys}\n{flows}"))).flows.remove(0);
        let Cost::Linear(cost) = flow.cost[0] else { panic!("{:?}", flow.cost) };
        assert_eq!(cost.time(800).as_nanos(), expected, "{text}");
        assert_eq!(flow.estimate, [Estimate::Predicted(Prediction::Linear(cost)); 2], "{text}");
    }
}

#[test]
fn schedulers_are_told_the_truth_by_default() {
    let scenario = with_flows("size = \"1 B\"\nrate = \"1 pps\"\npackets = 1");
    assert_eq!(workload(&scenario).flows[0].estimate, [Estimate::default(); 2]);
}

#[test]
fn a_cost_overrules_the_rate() {
    let scenario = CPU_AND_LINK.replace("cpu = \"10 us\"", "cpu = \"10 us\", link = \"7 us\"");
    let flows = "[[flows]]\nclass = \"plain\"\nsize = \"1 B\"\nrate = \"1 pps\"\npackets = 1";
    assert!(matches!(workload(&read(&format!("{scenario}{flows}"))).flows[0].cost[1], Cost::Linear(_)));
}

#[test]
fn queue_limits() {
    let limit = |text: &str| {
        let scenario = with_flows(&format!("size = \"1 B\"\nrate = \"1 pps\"\npackets = 1\nqueue = \"{text}\""));
        let limit = workload(&scenario).flows[0].limit;
        (limit.packets, limit.bytes)
    };
    assert_eq!(limit("unlimited"), (None, None));
    assert_eq!(limit("200 packets"), (Some(200), None));
    assert_eq!(limit("1 packet"), (Some(1), None));
    assert_eq!(limit("64 kB"), (None, Some(Bytes(64_000))));
    assert_eq!(limit("64 KiB"), (None, Some(Bytes(65_536))));
    assert_eq!(limit("200 packets, 64 kB"), (Some(200), Some(Bytes(64_000))));
    assert_eq!(limit("64 kB,200 packets"), (Some(200), Some(Bytes(64_000))));
}

#[test]
fn buffers() {
    let buffer = |keys: &str| {
        let scenario = CPU_AND_LINK.replace("rate = ", &format!("{keys}\nrate = "));
        let flows = "[[flows]]\nclass = \"plain\"\nsize = \"1 B\"\nrate = \"1 pps\"\npackets = 1";
        read(&format!("{scenario}{flows}")).pipeline::<2>().resources[1].buffer
    };
    assert_eq!(buffer(""), Buffer::Unlimited);
    assert_eq!(buffer("buffer = \"unlimited\""), Buffer::Unlimited);
    assert_eq!(buffer("buffer = \"none\""), Buffer::Blocking(0));
    assert_eq!(buffer("buffer = \"no-wait\""), Buffer::NoWait);
    assert_eq!(buffer("buffer = \"3 packets\""), Buffer::Blocking(3));
    assert_eq!(buffer("buffer = \"3 packets\"\noverflow = \"block\""), Buffer::Blocking(3));
    assert_eq!(buffer("buffer = \"1 packet\"\noverflow = \"drop\""), Buffer::Dropping(1));
    assert_eq!(buffer("buffer = \"none\"\noverflow = \"drop\""), Buffer::Dropping(0));
}

#[test]
fn weights_and_counts() {
    let scenario = with_flows("count = 3\nweight = 0.5\nsize = \"1 B\"\nrate = \"1 pps\"\npackets = 1");
    let flows = workload(&scenario).flows;
    assert!(flows.iter().all(|f| f.weight.as_milli() == 500));
    let names: Vec<_> = flows.iter().map(|f| f.name.text()).collect();
    assert_eq!(names, ["plain-1", "plain-2", "plain-3"]);
}

#[test]
fn every_flow_has_a_name_of_its_own() {
    let group =
        |keys: &str| format!("[[flows]]\nclass = \"plain\"\n{keys}\nsize = \"1 B\"\nrate = \"1 pps\"\npackets = 1\n");
    let text = [CPU_AND_LINK, &group(""), &group("count = 2"), &group("name = \"call\""), &group("")].concat();
    let flows = workload(&read(&text)).flows;
    let names: Vec<_> = flows.iter().map(|f| f.name.text()).collect();
    assert_eq!(names, ["plain-1", "plain-2", "plain-3", "call", "plain-4"]);
    let groups: Vec<&str> = flows.iter().map(|f| f.group.as_ref()).collect();
    assert_eq!(groups, ["plain", "plain", "plain", "call", "plain"]);
}

#[test]
fn defaults_of_the_top_level() {
    let scenario = with_flows("size = \"1 B\"\nrate = \"1 pps\"\npackets = 1");
    assert_eq!((scenario.seed(), scenario.until(), scenario.title()), (1, None, "s.toml"));
    let head =
        "title = \"A title\"\nseed = 9\nuntil = \"3 s\"\ninterval = \"250 ms\"\nschedulers = [\"drfq:window=7\"]\n";
    let flows = "[[flows]]\nclass = \"plain\"\nsize = \"1 B\"\nrate = \"1 pps\"\n";
    let scenario = read(&[head, CPU_AND_LINK, flows].concat());
    assert_eq!((scenario.seed(), scenario.title()), (9, "A title"));
    assert_eq!(scenario.until(), Some(Time::ZERO + Duration::from_secs(3)));
    assert_eq!(scenario.interval(), Duration::from_millis(250));
    assert_eq!(scenario.schedulers(), ["drfq:window=7".parse().unwrap()]);
}

#[test]
fn no_run_has_more_than_a_million_intervals() {
    let with = |head: &str| {
        let flows = "[[flows]]\nclass = \"plain\"\nsize = \"1 B\"\nrate = \"1 pps\"\n";
        [head, CPU_AND_LINK, flows].concat()
    };
    // 3.6 million seconds.
    assert_eq!(read(&with("until = \"1000 h\"\n")).interval(), Duration::from_millis(3600));
    assert_eq!(read(&with("until = \"1000000 s\"\n")).interval(), Duration::from_secs(1));
    read(&with("until = \"1000 h\"\ninterval = \"3600 ms\"\n"));
    let message = refusal(&with("until = \"1000 h\"\ninterval = \"3599 ms\"\n"));
    assert!(message.contains("expected at least 3.6 s"), "{message}");
}

/// The recording interval of [`CPU_AND_LINK`] with this head and these lists.
fn interval_of(head: &str, flows: &str) -> Duration {
    read(&[head, CPU_AND_LINK, "[[flows]]\nclass = \"plain\"\n", flows].concat()).interval()
}

#[test]
fn the_interval_of_lists_fits_what_their_packets_take() {
    // 1250 bytes take 50 us of the link: 40,000 packets 2 s.
    let list = "count = 4\nlist = [{ at = \"0 s\", size = \"1250 B\", count = 10000 }]\n";
    assert_eq!(interval_of("", list), Duration::from_millis(100));
    // 100 of 500 ms on the CPU are 50 s, whatever their class takes.
    let own = "list = [{ at = \"0 s\", size = \"100 B\", count = 100, cost = { cpu = \"500 ms\" } }]\n";
    assert_eq!(interval_of("", own), Duration::from_secs(1));
    // What comes after the end does not count.
    let late = "list = [{ at = \"100 s\", size = \"100 B\" }]\n";
    assert_eq!(interval_of("", late), Duration::from_secs(1));
    assert_eq!(interval_of("until = \"500 ms\"\n", late), Duration::from_millis(20));
    // A run of 5,000,000 s has no more intervals than can be kept.
    let long = "list = [{ at = \"0 s\", size = \"1 B\", count = 5000, cost = { cpu = \"1000 s\" } }]\n";
    assert_eq!(interval_of("", long), Duration::from_secs(5));
}
