//! Scenarios of networks as specifications.

mod captures;

use std::sync::atomic::AtomicBool;

use dovetail_sched::aqm::{Encoding, InFront, Unit};
use dovetail_tcp::AckPolicy;

use super::*;

const TEXT: &str = r#"schedulers = ["red+red", "drr+red", "drq"]
until = "4 s"
warm_up = "2 s"
seeds = 2

[[hop]]
name = "box"
cpu = "20 Mcycles/s"
rate = "40 Mbps"
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

fn parse(overrides: &[&str]) -> Result<NetworkScenario, String> {
    let overrides: Vec<String> = overrides.iter().map(|o| o.to_string()).collect();
    NetworkScenario::parse("net.toml", TEXT, &overrides).map_err(|e| e.to_string())
}

fn refused(overrides: &[&str], parts: &[&str]) {
    let message = parse(overrides).unwrap_err();
    assert!(parts.iter().all(|part| message.contains(part)), "{overrides:?}: {message}");
}

#[test]
fn a_network_is_told_from_a_pipeline_by_its_lists() {
    assert!(is_network(TEXT));
    assert!(!is_network("[[resource]]\nname = \"cpu\"\n[[class]]\nname = \"a\"\n"));
    // Both kinds in one file are neither.
    assert!(!is_network("[[resource]]\nname = \"cpu\"\n[[hop]]\nname = \"b\"\n"));
}

#[test]
fn a_box_with_cpu_and_link_is_two_resources_in_that_order() {
    let scenario = parse(&[]).unwrap();
    let names: Vec<&str> = scenario.resources.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["box.cpu", "box.link"]);
    assert_eq!(scenario.groups[0].route, [0, 1]);
    assert_eq!(scenario.groups[1].long_lived(), Some(4));
    assert_eq!(scenario.seeds(), [1, 2]);
}

#[test]
fn wrong_scenarios_are_answered_with_place_and_nearest_name() {
    refused(&["hop.box.speed=1"], &["unknown key `speed`", "net.toml"]);
    refused(&["tcp.light.cuont=1"], &["unknown key `cuont`", "did you mean `count`?"]);
    refused(&["tcp.light.class=\"lihgt\""], &["there is no class \"lihgt\"", "did you mean \"light\"?"]);
    refused(&["tcp.light.route=[\"bxo\"]"], &["there is no hop \"bxo\"", "did you mean \"box\"?"]);
    refused(&["tcp.light.route=[\"box\", \"box\"]"], &["passes \"box\" twice"]);
    refused(&["tcp.light.route=[]"], &["passes 1 to 100 boxes, not 0"]);
    refused(&["tcp.light.rtt=\"19 ms\""], &["too short", "10 ms one way"]);
    refused(&["tcp.light.rtt=\"60 ms to 40 ms\""], &["the shorter time comes first"]);
    refused(&["tcp.light.count=0"], &["`0`: expected a whole number from 1 to 1048576"]);
    refused(&["tcp.light.packet=\"20 B\""], &["a packet of 20 bytes: expected 41 to 65535"]);
    refused(&["tcp.light.variant=\"reno2\""], &["unknown value", "reno2"]);
    refused(&["tcp.heavy.name=\"light\""], &["two groups \"light\""]);
    let too_fast = ["net.toml", "[[hop]]", "\"box\" has too large a cpu", "at most 1e9 Gcycles/s"];
    refused(&["hop.box.cpu=\"2000000000 GHz\""], &too_fast);
    refused(&["hop.box.rate=\"1000000001 Gbps\""], &["net.toml", "too large a rate", "at most 1e9 Gbps"]);
    assert!(parse(&["hop.box.cpu=\"1000000000 GHz\"", "hop.box.rate=\"1000000000 Gbps\""]).is_ok());
    refused(&["hop.box.name=\"box=a\""], &["net.toml", "\"box=a\" has a = in its name"]);
    let two = "hop=[{ name = \"box\", cpu = \"1 GHz\", rate = \"1 Gbps\" }, { name = \"box.cpu\", rate = \"1 Gbps\" }]";
    refused(&[two], &["net.toml", ":19:1", "\"box.cpu\" is the name of another box's CPU or link"]);
    // Whether a flow uses it or not.
    let class = |name: &str| {
        let others =
            "{ name = \"light\", density = \"1 cycles/bit\" }, { name = \"heavy\", density = \"1 cycles/bit\" }";
        format!("class=[{others}, {{ name = \"{name}\", density = \"2 cycles/bit\" }}]")
    };
    assert!(parse(&[&class("none")]).is_ok());
    refused(&[&class("heavy")], &["net.toml", "the class \"heavy\" is there twice"]);
    refused(&[&class("")], &["net.toml", "a class needs a name"]);
    let unused = ["tcp=[{ class = \"light\", route = [\"box\"], rtt = \"40 ms\" }]", &class("heavy")];
    refused(&unused, &["net.toml", "the class \"heavy\" is there twice"]);
    refused(&["tcp.light.start=\"1 h\""], &["start = \"1 h\"", "the flows start at 3600 s", "the run ends at 4 s"]);
    // Of four flows the last starts after three quarters of the time.
    let spread = |time: &str| [String::from("tcp.light.start=\"1 s\""), format!("tcp.light.spread=\"{time}\"")];
    let parsed = |overrides: [String; 2]| parse(&overrides.each_ref().map(String::as_str));
    assert!(parsed(spread("3.9 s")).is_ok());
    let message = parsed(spread("4 s")).unwrap_err();
    assert!(
        message.contains("spread = \"4 s\"") && message.contains("the last starts at 4 s, and the run ends at 4 s"),
        "{message}"
    );
    // Every flow draws from the range, so that the longest counts, and a range that ends before the run does is right.
    assert!(parse(&["tcp.light.rtt=\"40 ms to 3.999 s\""]).is_ok());
    refused(
        &["tcp.light.rtt=\"40 ms to 4 s\""],
        &["rtt = \"40 ms to 4 s\"", "a round trip of up to 4 s: the run ends at 4 s, before it is over"],
    );
    refused(&["tcp.light.rtt=\"4 s\""], &["a round trip of 4 s: the run ends at 4 s"]);
    refused(&["tcp.light.start=\"3.97 s\""], &["rtt = \"40 ms\"", "that begins at 3.97 s: the run ends at 4 s"]);
    refused(&["warm_up=\"0 s\"", "until=\"1 ns\""], &["rtt = \"40 ms\"", "the run ends at 1 ns, before it is over"]);
    refused(&["tcp.heavy.count=1048573"], &["count = 1048573: expected at most 1048572 beside the 4 flows before"]);
    refused(&["warm_up=\"4 s\""], &["the run ends at 4 s"]);
    for seeds in ["-1", "0", "1001"] {
        let expected = format!("`{seeds}`: expected a whole number from 1 to 1000");
        refused(&[&format!("seeds={seeds}")], &["net.toml", &format!("seeds = {seeds}"), &expected]);
    }
    refused(&["hop=[]"], &["there is no [[hop]]"]);
    refused(&["hop.box={ name = \"box\" }"], &["does nothing", "cpu = \"20 Mcycles/s\""]);
    refused(&["hop.box.cpu=\"20 Mbps\""], &["unknown unit \"Mbps\""]);
    refused(&["hop.box.queue=\"0 packets\""], &["room for at least one packet"]);
    refused(&["hop.box.scheduler=\"rde\""], &["did you mean \"red\"?"]);
    refused(&["tcp=[]"], &["nothing crosses the network"]);
}

/// More short flows than may be under way at once, for certain: many come before the first can end, or before enough of
/// them have had room.
#[test]
fn short_flows_that_no_run_could_hold_are_refused_where_their_rate_stands() {
    let web = |rate: &str, until: &str| {
        let web = "{ class = \"light\", name = \"short\", route = [\"box\"], packet = \"500 B\"";
        let web = format!("web=[{web}, rate = \"{rate}\", rtt = \"40 ms\" }}]");
        parse(&[&web, &format!("until=\"{until}\""), "warm_up=\"0 s\""]).map(|_| ()).map_err(|e| e.to_string())
    };
    // 41 ms at 25 million a second are 1.025 million; 1.048 may be under way.
    assert_eq!(web("25000000 flows/s", "41 ms"), Ok(()));
    let message = web("27000000 flows/s", "41 ms").unwrap_err();
    for part in
        ["net.toml", "rate = \"27000000 flows/s\"", "in a round trip of 40 ms some 1080000 come", "at most 1048576"]
    {
        assert!(message.contains(part), "{part:?} is missing in {message}");
    }
    // The shortest have 30 * 0.2 / 1.2 = 5 packets of 4000 bits: the link, 40 Mbit/s, ends 2000 a second.
    assert_eq!(web("1000000 flows/s", "1 s"), Ok(()));
    let message = web("1000000 flows/s", "1.1 s").unwrap_err();
    for part in ["net.toml", "some 1100000 come in 1.1 s", "room for 2200 of 5 packets"] {
        assert!(message.contains(part), "{part:?} is missing in {message}");
    }
}

#[test]
fn schedulers_are_names_for_cpus_and_links_with_parameters() {
    let scenario = parse(&[]).unwrap();
    let scheme = |text: &str| scenario.schemes(&[text.parse().unwrap()]).map_err(|e| e.to_string());
    for good in [
        "red",
        "red+red",
        "wf2q+",
        "wf2q++red",
        "drr+wf2q+",
        "drr+red",
        "drq",
        "fifo+drq",
        "wfq+fifo",
        "red+red:max_p=0.05,wait=yes,rules=ns2",
        "drr+red:min=10",
    ] {
        assert!(scheme(good).is_ok(), "{good}: {:?}", scheme(good).err());
    }
    let refused = |text: &str, part: &str| {
        let message = scheme(text).unwrap_err();
        assert!(message.contains(part), "{text}: {message}");
    };
    refused("drg", "did you mean \"drq\"?");
    refused("drfq", "drfq decides for all resources of a pipeline");
    refused("red+red+red", "one scheduler for CPUs and one for links");
    refused("drq:max-p=0.1", "did you mean \"max_p\"?");
    refused("drq:wait=yes", "drq has no parameter \"wait\"");
    refused("red:max_p=2", "max_p=2: expected from 2^-32 to 1");
    refused("red:max=10", "scheduler red:max=10: max=10: expected more than min, which is 50 packets");
    refused("drq:max=60,min=60", "min=60: expected less than max, which is 60 packets");
    refused("red:max=2000000000", "max=2000000000: expected at most 2^30 packets");
    assert_eq!(
        scheme("red:min=600").unwrap_err(),
        "scheduler red:min=600: min=600: expected less than max, which is 550 packets"
    );
    refused("fifo:min=1", "fifo has no parameters");
    refused("drq:gentle=no", "drq has no parameter \"gentle\"");
    refused("red:gentle=nope", "gentle=nope: expected yes or no");
    refused("red:weight=1e-12", "weight=1e-12: expected from 2^-32 to 1");
    refused("red:mean_packet=500", "mean_packet=500: expected a length such as 500 B, or none");
    refused("red:mean_packet=0 B", "mean_packet=0 B: expected a length");
    refused("red:mean_packet=100 MB", "mean_packet=100 MB: expected so short that 550 packets are at most 2^30 bytes");
}

#[test]
fn both_parts_of_a_scheduler_stand_somewhere_and_none_is_compared_with_itself() {
    let scheme = |schedulers: &[&str], overrides: &[&str]| {
        let schedulers: Vec<_> = schedulers.iter().map(|text| text.parse().unwrap()).collect();
        parse(overrides)?.schemes(&schedulers).map(|schemes| schemes.len()).map_err(|e| e.to_string())
    };
    let link_only = "hop.box={ name = \"box\", rate = \"40 Mbps\" }";
    assert_eq!(scheme(&["red", "drr"], &[link_only]), Ok(2));
    let message = scheme(&["drr+red"], &[link_only]).unwrap_err();
    assert!(message.contains("drr+red: there is no CPU for drr; expected just red"), "{message}");
    let cpu_only = "hop.box={ name = \"box\", cpu = \"20 Mcycles/s\" }";
    let message = scheme(&["drr+red"], &[cpu_only]).unwrap_err();
    assert!(message.contains("there is no link for red; expected just drr"), "{message}");
    // A box of its own scheduler, where others have both.
    let own = "{ name = \"l\", rate = \"1 Gbps\", scheduler = \"red+red\" }";
    let both = format!("hop=[{{ name = \"box\", cpu = \"20 Mcycles/s\", rate = \"40 Mbps\" }}, {own}]");
    refused(&[&both], &["net.toml", "scheduler = \"red+red\"", "red+red: there is no CPU for red; expected just red"]);
    let message = scheme(&["red", "drq", "red"], &[]).unwrap_err();
    assert!(message.contains("scheduler red: it is named twice"), "{message}");
    let message = scheme(&["drq", "drq"], &["schedulers=[\"drq\"]"]).unwrap_err();
    assert!(message.starts_with("scheduler drq: it is named twice"), "the file does not name it twice: {message}");
    let message = scheme(&["drq", "drr+red", "drq"], &["schedulers=[\"drq\", \"drr+red\", \"drq\"]"]).unwrap_err();
    assert!(message.contains("net.toml") && message.contains("it is named twice"), "{message}");
    for (before, again) in [
        ("drq", "drq:min=50"),
        ("drq:min=40,max=300", "drq:max=300,min=40"),
        ("red:max_p=0.1", "red+red:max_p=0.10"),
        ("drr", "drr:quantum=auto"),
        ("drr+red:gentle=yes", "drr+red"),
    ] {
        let message = scheme(&[before, again], &[]).unwrap_err();
        assert!(message.starts_with(&format!("scheduler {again}: it is the same as {before}")), "{message}");
    }
    assert_eq!(
        scheme(&["drq", "drq:min=51", "red", "red:gentle=no", "drr", "drr:quantum=1 ms", "drr+red"], &[]),
        Ok(7)
    );
}

#[test]
fn red_can_count_in_bytes_and_jump_at_its_upper_threshold() {
    let standing = |text: &str| Scheme::new(&text.parse().unwrap()).unwrap();
    let queue = |standing: InFront| match standing {
        InFront::Red(red) => (red.queue, red.gentle),
        InFront::Drq(queue) => (queue, true),
        other => panic!("{other:?}"),
    };
    let plain = standing("red+drq");
    for standing in [plain.cpu, plain.link] {
        let (queue, gentle) = queue(standing);
        assert_eq!((queue.unit, queue.min, queue.max, gentle), (Unit::Packets, 50, 550, true));
    }
    let both = standing("red+drq:gentle=no,min=10,max=20,mean_packet=500 B");
    for (standing, jumps) in [(both.cpu, true), (both.link, false)] {
        let (queue, gentle) = queue(standing);
        assert_eq!((queue.unit, queue.min, queue.max), (Unit::Bytes { mean: 500 }, 5000, 10_000));
        assert_eq!(gentle, !jumps);
    }
}

#[test]
fn drq_s_state_and_delayed_acks_are_as_the_scenario_says() {
    let network =
        |overrides: &[&str]| parse(overrides).unwrap().network(&Scheme::new(&"drq".parse().unwrap()).unwrap());
    let encodings = |overrides: &[&str]| network(overrides).hops.iter().map(|hop| hop.encoding).collect::<Vec<_>>();
    // From the CPU to the link of one box it rides beside the packet.
    assert_eq!(encodings(&[]), [None, Some(Encoding::Paper)]);
    assert_eq!(encodings(&["ecn=\"rfc3168\""]), [None, Some(Encoding::Rfc3168)]);
    assert_eq!(encodings(&["ecn=\"metadata\""]), [None, Some(Encoding::Metadata)]);
    refused(&["ecn=\"rfc3186\""], &["unknown value `rfc3186`", "did you mean `rfc3168`?"]);
    let acks = |overrides: &[&str]| network(overrides).classes.iter().map(|class| class.acks).collect::<Vec<_>>();
    let delayed = AckPolicy::Delayed { timeout: "100 ms".parse().unwrap() };
    assert_eq!(acks(&["tcp.light.delayed_ack=\"100 ms\""]), [delayed, AckPolicy::EverySegment]);
    refused(&["tcp.light.delayed_ack=\"501 ms\""], &["net.toml", "expected at most 500 ms"]);
    refused(&["tcp.light.delayed_ack=\"0 ms\""], &["it is zero"]);
    refused(&["tcp.light.delayed_ack=100"], &["unit"]);
    refused(&["tcp.light.delayed_acks=\"100 ms\""], &["did you mean `delayed_ack`?"]);
}

#[test]
fn the_shortest_timeout_is_that_of_the_rfc_or_ns_2_unless_said_otherwise() {
    let groups = |overrides: &[&str]| parse(overrides).unwrap().groups;
    let min_rto = |overrides: &[&str]| groups(overrides).iter().map(|g| g.tcp.min_rto.to_string()).collect::<Vec<_>>();
    assert_eq!(min_rto(&["tcp.heavy.variant=\"ns2-reno\""]), ["1 s", "200 ms"]);
    assert_eq!(min_rto(&["tcp.light.min_rto=\"200 ms\"", "tcp.light.variant=\"cubic\""]), ["200 ms", "1 s"]);
    assert_eq!(min_rto(&["tcp.light.min_rto=\"0 s\"", "tcp.heavy.min_rto=\"1 min\""]), ["0 ns", "60 s"]);
    let web = "web=[{ class = \"heavy\", name = \"w\", route = [\"box\"], rtt = \"40 ms\", rate = \"1 flows/s\", \
        min_rto = \"3 s\" }]";
    assert_eq!(min_rto(&[web]), ["1 s", "1 s", "3 s"]);
    refused(&["tcp.light.min_rto=\"61 s\""], &["net.toml", "min_rto = 61 s: expected at most 60 s"]);
    refused(&["tcp.light.min_rto=\"-1 s\""], &["\"-1 s\"", "it is negative"]);
    refused(&["tcp.light.min_rto=200"], &["the unit is missing"]);
}

fn compared(scenario: &NetworkScenario, threads: usize) -> NetworkSummary {
    let cancel = AtomicBool::new(false);
    let settings = Settings { threads, cancel: &cancel, progress: &|_| () };
    let schemes = scenario.schemes(&scenario.schedulers()).unwrap();
    NetworkSummary::new(scenario, &compare(scenario, &schemes, &settings).unwrap()).unwrap()
}

#[test]
fn fair_rates_are_those_of_one_cpu_and_one_link() {
    // 20 Mcycles/s between eight flows: 2.5 each; light ones could have 10 Mbit/s, heavy ones 1.25, 45 in all. So the
    // link limits too, and with prices t and p: r = a / (w t + p), 4 (r1 + r2) = 40, 4 (r1 / 4 + 2 r2) = 20: r2 =
    // 10/7 = 10 - r1.
    let fair = fair_rates(&parse(&[]).unwrap(), &Beside::default()).unwrap();
    assert!(
        (fair[0].unwrap() / 1e6 - 60.0 / 7.0).abs() < 1e-6 && (fair[1].unwrap() / 1e6 - 10.0 / 7.0).abs() < 1e-6,
        "{fair:?}"
    );
}

#[test]
fn times_in_queues_belong_to_round_trips() {
    // The link limits. Weights go with 1 / round trip: 40 and 80 ms are 2 to 1; with 40 ms in queues 120 and 80 ms, 6
    // to 4 Mbit/s.
    let scenario = parse(&["hop.box.cpu=\"1 Gcycles/s\"", "tcp.heavy.rtt=\"80 ms\""]).unwrap();
    let fair =
        |queues: [f64; 2]| fair_rates(&scenario, &Beside { queues_s: queues.into(), ..Beside::default() }).unwrap();
    let close = |found: Option<f64>, expected: f64| (found.unwrap() / expected - 1.0).abs() < 1e-6;
    let none = fair([0.0, 0.0]);
    assert!(close(none[0], 20e6 / 3.0) && close(none[1], 10e6 / 3.0), "{none:?}");
    let some = fair([0.03, 0.01]);
    assert!(close(some[0], 6e6) && close(some[1], 4e6), "{some:?}");
}

#[test]
fn delayed_acks_make_reno_s_weight_smaller_by_the_root_of_two() {
    // The link limits, and all else is alike: eight flows share 40 Mbit/s as 1 to sqrt(2), 10 for one of each.
    let light = |overrides: &[&str]| {
        let overrides = [&["hop.box.cpu=\"1 Gcycles/s\"", "tcp.light.delayed_ack=\"100 ms\""], overrides].concat();
        fair_rates(&parse(&overrides).unwrap(), &Beside::default()).unwrap()[0].unwrap()
    };
    for reno in ["reno", "newreno", "ns2-reno", "ns2-newreno"] {
        let rate = light(&[&format!("tcp.light.variant=\"{reno}\"")]);
        assert!((rate * (1.0 + 2.0_f64.sqrt()) / 10e6 - 1.0).abs() < 1e-6, "{reno}: {rate}");
    }
    assert!((light(&["tcp.light.variant=\"cubic\""]) / 5e6 - 1.0).abs() < 1e-6);
    assert!((light(&["tcp.heavy.delayed_ack=\"100 ms\""]) / 5e6 - 1.0).abs() < 1e-6);
}

#[test]
fn an_access_link_is_a_link_of_its_flow() {
    // Light flows with 5 Mbit/s at most leave 15 of 20 Mcycles/s to four heavy ones with 2 cycles/bit, which then leave
    // the link unfilled.
    let fair = |overrides: &[&str]| fair_rates(&parse(overrides).unwrap(), &Beside::default()).unwrap();
    let close = |found: Option<f64>, expected: f64| (found.unwrap() / expected - 1.0).abs() < 1e-6;
    let both = fair(&["tcp.light.access=\"5 Mbps\""]);
    assert_eq!(fair(&["tcp.light.access=\"unlimited\""]), fair(&[]), "as if nothing were written");
    refused(
        &["tcp.light.access=\"unlimitd\""],
        &["access = \"unlimitd\"", "expected a rate above zero such as \"200 Mbps\", or \"unlimited\""],
    );
    assert!(close(both[0], 5e6) && close(both[1], 15e6 / 8.0), "{both:?}");
    // One that is as fast as the CPU and the link let a flow be limits nobody.
    assert_eq!(fair(&["tcp.light.access=\"40 Mbps\"", "tcp.heavy.access=\"10 Mbps\""]), fair(&[]));
    // One that is all there is.
    let density = ["class.light.density=\"0 cycles/bit\"", "tcp.light.access=\"1 Mbps\""];
    let overrides = [&density[..], &["hop.box={ name = \"box\", cpu = \"20 Mcycles/s\" }"]].concat();
    let alone = fair(&overrides);
    assert!(close(alone[0], 1e6) && close(alone[1], 2.5e6), "{alone:?}");
}

#[test]
fn every_flow_has_the_weight_of_the_round_trip_that_it_drew() {
    // The link limits: 40 Mbit/s. Weights are 1 / round trip, of light flows 50 + 25 + 25 + 50/3 per s, of heavy ones 4
    // times 25.
    let drawn_s = vec![vec![0.02, 0.04, 0.06, 0.04], vec![0.04; 4]];
    let fair = |overrides: &[&str]| {
        let overrides = [&["hop.box.cpu=\"1 Gcycles/s\"", "tcp.light.rtt=\"20 ms to 60 ms\""], overrides].concat();
        fair_rates(&parse(&overrides).unwrap(), &Beside { drawn_s: drawn_s.clone(), ..Beside::default() }).unwrap()
    };
    let close = |found: Option<f64>, expected: f64| (found.unwrap() / expected - 1.0).abs() < 1e-6;
    let free = fair(&[]);
    assert!(close(free[0], 40e6 * (350.0 / 650.0) / 4.0) && close(free[1], 40e6 * (300.0 / 650.0) / 4.0), "{free:?}");
    // The flow with 20 ms would have 9.2 Mbit/s; of what its access link leaves, the others have 34 per 500/3.
    let limited = fair(&["tcp.light.access=\"6 Mbps\""]);
    let others = 34e6 / 500.0 * 3.0;
    assert!(close(limited[0], (6e6 + others * 200.0 / 3.0) / 4.0) && close(limited[1], others * 25.0), "{limited:?}");
}

#[test]
fn fair_rates_beside_a_run_are_those_of_what_it_drew() {
    let overrides = ["hop.box.cpu=\"1 Gcycles/s\"", "tcp.light.rtt=\"20 ms to 60 ms\"", "schedulers=[\"drq\"]"];
    let scenario = parse(&overrides).unwrap();
    let cancel = AtomicBool::new(false);
    let settings = Settings { threads: 2, cancel: &cancel, progress: &|_| () };
    let runs = compare(&scenario, &scenario.schemes(&scenario.schedulers()).unwrap(), &settings).unwrap();
    // The link limits: the light flows' part of all weights, averaged over the seeds.
    let part = |(_, result): &(u64, dovetail_sim::network::NetworkResult)| {
        let weight = |group| result.flows.iter().filter(|f| f.class == group).map(|f| 1.0 / f.rtt.as_secs_f64()).sum();
        let [light, heavy]: [f64; 2] = [weight(0), weight(1)];
        light / (light + heavy)
    };
    let [one, other] = [part(&runs[0].results[0]), part(&runs[0].results[1])];
    let fair = NetworkSummary::new(&scenario, &runs).unwrap().runs[0].groups[0].fair_bps.unwrap();
    assert!((one / other - 1.0).abs() > 0.01, "the seeds draw {one} and {other}");
    assert!((fair / (40e6 * (one + other) / 2.0 / 4.0) - 1.0).abs() < 1e-6, "{fair}");
}

#[test]
fn only_what_is_used_can_be_shared() {
    // Half of the CPU, which then limits alone: 1.25 Mcycles/s each, 5 and 0.625 Mbit/s.
    let beside = Beside { used: vec![0.5, 1.0], ..Beside::default() };
    let fair = fair_rates(&parse(&[]).unwrap(), &beside).unwrap();
    assert!((fair[0].unwrap() / 5e6 - 1.0).abs() < 1e-6 && (fair[1].unwrap() / 0.625e6 - 1.0).abs() < 1e-6, "{fair:?}");
}

#[test]
fn flows_that_start_within_the_run_share_from_then_on() {
    // The link limits and all weights are equal. Measured from 2 s to 4 s: four light flows have the link's 40 Mbit/s
    // until the heavy ones start, all at 3 s or at 2, 2.5, 3 and 3.5 s.
    let fair = |start: &str, spread: &str| {
        let overrides = [
            "hop.box.cpu=\"1 Gcycles/s\"",
            &format!("tcp.heavy.start=\"{start}\""),
            &format!("tcp.heavy.spread=\"{spread}\""),
        ];
        let fair = fair_rates(&parse(&overrides).unwrap(), &Beside::default()).unwrap();
        [fair[0].unwrap() / 1e6, fair[1].unwrap() / 1e6]
    };
    let close = |found: [f64; 2], expected: [f64; 2]| {
        assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-4), "{found:?}, expected {expected:?}");
    };
    close(fair("0 s", "1 s"), [5.0, 5.0]);
    close(fair("3 s", "0 s"), [(10.0 + 5.0) / 2.0, 5.0 / 2.0]);
    let rates = [40.0 / 5.0, 40.0 / 6.0, 40.0 / 7.0, 40.0 / 8.0];
    let heavy = (rates[0] + 2.0 * rates[1] + 3.0 * rates[2] + 4.0 * rates[3]) / 16.0;
    close(fair("2 s", "2 s"), [rates.iter().sum::<f64>() / 4.0, heavy]);
    // More starts than are told apart: from 2 s on ever more of three thousand beside a thousand, which have 40 / (1000
    // + n) then: on average 40 ln(4000 / 1000) / 3000, but for three starts taken as one.
    let overrides = [
        "hop.box.cpu=\"1 Gcycles/s\"",
        "tcp.light.count=3000",
        "tcp.light.start=\"2 s\"",
        "tcp.light.spread=\"2 s\"",
        "tcp.heavy.count=1000",
    ];
    let fair = fair_rates(&parse(&overrides).unwrap(), &Beside::default()).unwrap();
    let heavy = 40e6 * f64::ln(4.0) / 3000.0;
    assert!((fair[1].unwrap() / heavy - 1.0).abs() < 3e-3, "{fair:?}");
    assert!((3000.0 * fair[0].unwrap() + 1000.0 * fair[1].unwrap() - 40e6).abs() < 100.0, "{fair:?}");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let scenario = parse(&[]).unwrap();
    let json = |threads| serde_json::to_string(&compared(&scenario, threads)).unwrap();
    assert_eq!(json(1), json(3));
}

#[test]
fn short_flows_take_from_what_long_ones_share() {
    let web = "[{ name = \"short\", class = \"light\", route = [\"box\"], rtt = \"20 ms to 60 ms\", rate = \"50 \
        flows/s\", packet = \"500 B\" }]";
    let summary = compared(&parse(&[&format!("web={web}")]).unwrap(), 2);
    for run in &summary.runs {
        let short = &run.groups[2];
        assert!(!short.long_lived && short.fair_bps.is_none() && short.flows > 50.0, "{short:?}");
        // Light and heavy flows' fair rates use the link but for what the short ones took; more than that is the CPU's
        // limit.
        let fair: f64 = run.groups[..2].iter().map(|g| 4.0 * g.fair_bps.unwrap()).sum();
        assert!(fair <= 40e6 - short.throughput_bps.mean + 1.0, "{fair} beside {short:?}");
    }
}
