use std::sync::atomic::AtomicBool;

use super::*;
use crate::compare::Settings;

fn advice(text: &str) -> Result<Advice, String> {
    advice_for(text, &[])
}

fn advice_for(text: &str, goals: &[Goal]) -> Result<Advice, String> {
    let scenario = Scenario::parse("test.toml", text, &[], std::path::PathBuf::new()).map_err(|e| e.to_string())?;
    let cancel = AtomicBool::new(false);
    let settings = Settings { threads: 2, cancel: &cancel, progress: &|_| (), packet_log: 0 };
    advise(&scenario, &TODAY.parse().unwrap(), goals, &settings).map_err(|error| match error {
        AdviseError::Input(error) => error.to_string(),
        AdviseError::Run(error) => error.to_string(),
    })
}

/// One group needs the CPU, the other the link: the CPU is short, and it is the one's share that efficiency gives away.
const COMPLEMENTARY: &str = r#"
    until = "500 ms"
    [[resource]]
    name = "cpu"
    [[resource]]
    name = "link"
    rate = "100 Mbps"
    [[class]]
    name = "crypto"
    cost = { cpu = "150 us" }
    [[class]]
    name = "plain"
    cost = { cpu = "20 us" }
    [[flows]]
    class = "crypto"
    count = 4
    rate = "3000 pps"
    size = "300 B"
    queue = "50 packets"
    [[flows]]
    class = "plain"
    count = 4
    rate = "4000 pps"
    size = "1250 B"
    queue = "50 packets"
"#;

#[test]
fn where_flows_need_different_things_efficiency_pays() {
    let advice = advice(COMPLEMENTARY).unwrap();
    assert!(advice.scheduler.starts_with("tradeoff:alpha=0."), "{advice:#?}");
    assert!(advice.gain_over_fair.bits.mean > decide::WORTH, "{advice:#?}");
    let [what, gains, pays] = &advice.sentences;
    assert!(what.contains(&advice.scheduler) && gains.contains("fifo") && pays.contains("crypto"), "{advice:#?}");
    // Bits and packets are told apart.
    assert!(what.contains("bits and") && gains.contains("packets per second."), "{advice:#?}");
    assert_eq!((advice.runs, advice.differ_in), (RUNS, Chance::Loads), "nothing is random");
    assert!(advice.short.starts_with("As it is, cpu is short: under fifo cpu is busy 100.0 %"), "{}", advice.short);
    // Gains are over the best that shares fairly, which gains nothing over itself.
    let fair = advice.points.iter().find(|tried| tried.point.scheduler == advice.fair).unwrap();
    assert_eq!(fair.gain_over_fair, Estimate { mean: 0.0, ci95: Some(0.0) });
    let own = advice.points.iter().find(|tried| tried.point.scheduler == advice.scheduler).unwrap();
    assert_eq!(own.gain_over_fair, advice.gain_over_fair.bits);
    assert_eq!(advice.configuration, format!("scheduler = \"{}\"", advice.scheduler));
}

#[test]
fn where_nobody_waits_nothing_changes() {
    let idle = COMPLEMENTARY.replace("count = 4", "count = 1\n    arrivals = \"poisson\"");
    let idle = idle.replace("3000 pps", "100 pps").replace("4000 pps", "100 pps");
    let advice = advice(&idle).unwrap();
    assert_eq!((advice.scheduler.as_str(), advice.differ_in), ("fifo", Chance::Seeds), "{advice:#?}");
    assert!(advice.short.starts_with("As it is, nothing is short: "), "{}", advice.short);
    assert_eq!(
        advice.sentences[1..],
        ["Nothing else moves 0.1 % more bits per second.", "Nobody pays, since nothing changes."]
    );
}

#[test]
fn a_pipeline_of_one_resource_has_no_alpha() {
    let one = COMPLEMENTARY.replace("[[resource]]\n    name = \"cpu\"\n", "");
    let one = one.replace("cost = { cpu = \"150 us\" }", "").replace("cost = { cpu = \"20 us\" }", "");
    assert!(advice(&one).unwrap_err().contains("this pipeline has 1"), "{:?}", advice(&one));
}

#[test]
fn a_goal_is_reached_with_as_much_fairness_as_possible() {
    // Strict fairness uses 96.6 % of the link, and a hundredth less all of it.
    let advice = advice_for(COMPLEMENTARY, &[Goal::Use { resource: "link".into(), part: 0.99 }]).unwrap();
    assert_eq!(advice.scheduler, "tradeoff:alpha=0.99", "{:?}", advice.sentences);
    assert!(advice.goals[0].reached && advice.goals[0].value.mean >= 0.99, "{advice:#?}");
    assert!(
        advice.sentences[0]
            .contains("the fairest of those under which, on average over the runs, link is busy at least"),
        "{:?}",
        advice.sentences
    );

    let fair = advice_for(COMPLEMENTARY, &[Goal::Use { resource: "cpu".into(), part: 0.9 }]).unwrap();
    assert_eq!(fair.scheduler, "mr3", "{:?}", fair.sentences);
    // What is judged by the average is told with how far off it may be.
    let value = change(fair.goals[0].value);
    let told = format!("on average over the runs cpu is busy at least 90.0 % of the time ({value}).");
    assert!(value.contains('±') && fair.sentences[0].contains(&told), "{:?}", fair.sentences);
    assert!(notes(&fair).contains(&"Goals are judged by the average over the runs.".into()));
    assert_eq!(fair.for_live_box(), "For a live box:");
    assert_eq!(fair.caption(), "All that was tried: mr3 is advised");
}

#[test]
fn what_cannot_be_reached_is_said_with_what_comes_nearest() {
    let goal = Goal::Protect { group: "crypto".into(), p99: dovetail_units::Duration::from_nanos(1000) };
    let advice = advice_for(COMPLEMENTARY, &[goal]).unwrap();
    assert!(!advice.goals[0].reached, "{advice:#?}");
    let [what, ..] = &advice.sentences;
    assert!(what.starts_with("Out of reach on average over the runs: that the 99th percentile of crypto's"), "{what}");
    assert!(what.contains(&words::time(advice.goals[0].value)), "{what}");
    assert_eq!(advice.for_live_box(), "What comes nearest, for a live box:");
    assert_eq!(advice.caption(), format!("All that was tried: {} comes nearest", advice.scheduler));
    let nobody = Goal::Protect { group: "cripto".into(), p99: dovetail_units::Duration::from_nanos(1000) };
    let error = advice_for(COMPLEMENTARY, &[nobody]).unwrap_err();
    assert!(error.contains("no group \"cripto\"") && error.contains("did you mean \"crypto\"?"), "{error}");
}

/// Two kinds of flows, in a capture of this many packets of which every tenth is large; every second flow goes to port
/// 443, which is another class.
fn capture(path: &std::path::Path, packets: u64) {
    let mut writer =
        dovetail_trace::PcapWriter::new(std::fs::File::create(path).unwrap(), dovetail_wire::LinkType::RAW).unwrap();
    let mut random = dovetail_sim::stream(7, "a capture of a test");
    for number in 0..packets {
        use rand::RngExt;
        let flow = random.random_range(0..8_u8);
        let size: u16 = if random.random_range(0..10) == 0 { 1200 } else { 200 };
        let port: u16 = if flow % 2 == 0 { 443 } else { 80 };
        let mut packet = vec![0; usize::from(size)];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&size.to_be_bytes());
        packet[8..10].copy_from_slice(&[64, 17]);
        packet[12..16].copy_from_slice(&[192, 0, 2, flow]);
        packet[16..20].copy_from_slice(&[198, 51, 100, 1]);
        packet[20..22].copy_from_slice(&1000_u16.to_be_bytes());
        packet[22..24].copy_from_slice(&port.to_be_bytes());
        packet[24..26].copy_from_slice(&(size - 20).to_be_bytes());
        let time = dovetail_units::Time::from_nanos(number * 1_000_000 + random.random_range(0..900_000));
        writer.write(time, &packet, u32::from(size)).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn a_capture_is_put_together_anew_and_its_recorded_speed_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    capture(&path, 400);
    let scenario = Scenario::open(path.to_str().unwrap(), &[]).unwrap();
    let cancel = AtomicBool::new(false);
    let settings = Settings { threads: 2, cancel: &cancel, progress: &|_| (), packet_log: 0 };
    let advice = advise(&scenario, &TODAY.parse().unwrap(), &[], &settings).unwrap();
    assert_eq!((advice.runs, advice.differ_in), (RUNS, Chance::Pieces));
    assert!(
        advice.short.starts_with("At the speed of the recording nothing is short, so any scheduler will do: "),
        "{}",
        advice.short
    );
    assert!(advice.short.contains(" Mbps on average, where packets ask 1.2 times as much"), "{}", advice.short);
    assert_eq!(advice.for_live_box(), "For a live box under that much traffic:");

    // Pieces have as many packets as the capture, of the same flows, at the load that was asked for, and others than
    // it.
    let work = |scenario: &Scenario| {
        let workload = scenario.workload::<2>();
        let dovetail_sim::Source::List(list) = &workload.sources[0] else { panic!("no list") };
        list.arrivals.iter().collect::<Vec<_>>()
    };
    let (whole, again) = (work(&scenario), work(&scenario.clone().with_pieces(3).unwrap()));
    assert_eq!(whole.len(), again.len());
    assert_ne!(whole, again);
    assert_eq!(again, work(&scenario.clone().with_pieces(3).unwrap()), "the seed decides");
    assert!(again.windows(2).all(|pair| pair[0].time <= pair[1].time));
    // A piece of twenty packets that stands at a place stood somewhere in the capture.
    for piece in again.chunks(20) {
        let same = |at: &usize| {
            let from = &whole[*at..*at + 20];
            from.iter().zip(piece).all(|(a, b)| (a.flow, a.size) == (b.flow, b.size))
                && from[19].time.since(from[0].time) == piece[19].time.since(piece[0].time)
        };
        assert!((0..400).step_by(20).any(|at| same(&at)));
    }
}

/// One host sends every packet from another port.
#[test]
fn where_flows_are_ever_new_the_advice_names_a_key_that_puts_them_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flood.pcap");
    let mut writer =
        dovetail_trace::PcapWriter::new(std::fs::File::create(&path).unwrap(), dovetail_wire::LinkType::RAW).unwrap();
    for number in 0..400_u16 {
        let mut packet = [0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 172, 16, 0, 1, 198, 51, 100, 1].to_vec();
        packet.extend(number.to_be_bytes());
        packet.extend([0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0, 0]);
        writer.write(dovetail_units::Time::from_nanos(u64::from(number) * 100_000), &packet, 40).unwrap();
    }
    writer.finish().unwrap();
    let hint = |overrides: &[String]| {
        let scenario = Scenario::open(path.to_str().unwrap(), overrides).unwrap();
        let cancel = AtomicBool::new(false);
        let settings = Settings { threads: 2, cancel: &cancel, progress: &|_| (), packet_log: 0 };
        let advice = advise(&scenario, &TODAY.parse().unwrap(), &[], &settings).unwrap();
        assert_eq!(advice.hint.is_some(), answer(&advice).iter().any(|line| Some(line) == advice.hint.as_ref()));
        advice.hint
    };
    let told = "400 of 400 flows have one packet each and ask for 100.0 % of all that is asked of cpu: fairness among \
                flows does not hold back ever new ones; shares among senders do (--set trace.key=host; in a live box \
                key = \"host\" in [flows]).";
    assert_eq!(hint(&[]).as_deref(), Some(told));
    assert_eq!(hint(&["trace.key=host".to_string()]), None);
}

#[test]
fn a_network_is_advised_on_by_its_fair_rates() {
    let text = r#"
        until = "6 s"
        warm_up = "2 s"
        [[hop]]
        name = "box"
        cpu = "2 Mcycles/s"
        rate = "4 Mbps"
        delay = "10 ms"
        [[class]]
        name = "light"
        density = "0.25 cycles/bit"
        [[class]]
        name = "heavy"
        density = "2 cycles/bit"
        [[tcp]]
        class = "light"
        count = 4
        route = ["box"]
        rtt = "40 ms"
        packet = "500 B"
        [[tcp]]
        class = "heavy"
        count = 4
        route = ["box"]
        rtt = "40 ms"
        packet = "500 B"
    "#;
    let scenario = crate::network::NetworkScenario::parse("test.toml", text, &[]).unwrap();
    let cancel = AtomicBool::new(false);
    let settings = crate::network::Settings { threads: 2, cancel: &cancel, progress: &|_| () };
    let advice = network::advise(&scenario, &TODAY.parse().unwrap(), &settings).unwrap();
    let tried: Vec<&str> = advice.points.iter().map(|point| &*point.scheduler).collect();
    assert_eq!(tried, ["fifo", "red+red", "drq", "drr+red"]);
    // First come, first served gives both the same rate; fair would be eight times as much for the light ones.
    let of = |name: &str| advice.points.iter().find(|point| point.scheduler == name).unwrap();
    let advised = of(&advice.scheduler);
    assert!(["drq", "drr+red"].contains(&&*advice.scheduler), "{advice:#?}");
    assert!(advised.least_fair > of("fifo").least_fair && advised.throughput_bps > of("fifo").throughput_bps);
    let [what, gains, pays] = &advice.sentences;
    assert!(what.contains("the worst-off group of a run, which") && gains.contains("more bits"), "{advice:#?}");
    assert!(pays.contains("a flow of heavy ("), "{pays}");
    assert!(advice.short.starts_with("As it is, box.cpu is short: under fifo box.cpu is busy"), "{}", advice.short);
    assert_eq!((advice.runs, advice.otherwise.len()), (RUNS, 3));
    let text = network::text(&advice, 200);
    assert!(text.contains("\nworst off: part of its fair rate that the worst-off group of a run gets"), "{text}");
}

/// Under fifo the packets that take 10 s of the link hold up all others until the end; what shares fairly lets some by.
const HELD_UP: &str = r#"
    until = "1 s"
    interval = "100 ms"
    [[resource]]
    name = "cpu"
    [[resource]]
    name = "link"
    servers = 2
    [[class]]
    name = "slow"
    cost = { cpu = "100 ms", link = "10 s" }
    [[class]]
    name = "fast"
    cost = { cpu = "10 ms", link = "10 ms" }
    [[flows]]
    class = "slow"
    list = [{ at = "0 s", size = "1500 B", count = 5 }]
    [[flows]]
    class = "fast"
    list = [{ at = "1 ms", size = "1500 B", count = 20 }]
"#;

#[test]
fn anything_is_for_certain_more_than_nothing() {
    let advice = advice(HELD_UP).unwrap();
    assert_eq!((&*advice.scheduler, &*advice.fair), ("drfq", "drfq"), "{advice:#?}");
    assert!(advice.gain.bits.mean.is_infinite() && advice.gain.bits.ci95.is_none(), "{advice:#?}");
    assert!(advice.sentences[1].starts_with("It moves packets where fifo moves nothing."), "{advice:#?}");
    // Two servers: the second packet begins after 200 ms.
    assert!(advice.short.contains("link is busy 85.0 %"), "{}", advice.short);
    let text = text(&advice, 200);
    assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
    assert!(text.contains("(it moves packets where fifo moves nothing"), "{text}");
    let json = serde_json::to_value(&advice).unwrap();
    assert_eq!(json["gain"]["bits"], serde_json::json!({ "mean": null, "ci95": null }));
}

#[test]
fn where_nothing_gets_through_resources_are_still_busy_for_parts_of_the_time() {
    let cut = COMPLEMENTARY.replace("500 ms", "100 us");
    let advice = advice(&cut).unwrap();
    assert_eq!(advice.scheduler, "fifo", "{advice:#?}");
    assert!(advice.short.contains("under fifo cpu is busy 100.0 %"), "{}", advice.short);
    assert!(advice.short.contains("link is busy 0.0 %"), "{}", advice.short);
}

#[test]
fn on_a_network_nothing_is_told_from_something() {
    let text = r#"
        until = "1 s"
        [[hop]]
        name = "box"
        cpu = "1 Mcycles/s"
        queue = "1 packet"
        [[hop]]
        name = "line"
        rate = "40 Mbps"
        delay = "1 ms"
        [[class]]
        name = "a"
        density = "0.25 cycles/bit"
        [[tcp]]
        class = "a"
        route = ["line", "box"]
        rtt = "61 ms"
        variant = "reno"
        count = 5
    "#;
    let scenario = crate::network::NetworkScenario::parse("test.toml", text, &[]).unwrap();
    let cancel = AtomicBool::new(false);
    let settings = crate::network::Settings { threads: 2, cancel: &cancel, progress: &|_| () };
    let advice = network::advise(&scenario, &TODAY.parse().unwrap(), &settings).unwrap();
    assert!(advice.gain.mean.is_infinite() && advice.gain.ci95.is_none(), "{advice:#?}");
    let told = &advice.sentences[1];
    assert!(told.starts_with("All flows together move packets where fifo moves nothing (means: "), "{told}");
    let text = network::text(&advice, 200);
    assert!(!text.contains("inf ") && !text.contains("NaN"), "{text}");
}
