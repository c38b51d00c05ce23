//! Pipelines of every shape, against times that can be worked out by hand.

use crate::support::{makespan_us, read, refusal, run, summary};

/// `packets` packets of one flow that are there at the start; 10 us on every resource but where `keys` say otherwise.
fn burst(resources: &str, cost: &str, packets: u32) -> String {
    format!(
        "{resources}\n[[class]]\nname = \"c\"\ncost = {{ {cost} }}\n\
         [[flows]]\nclass = \"c\"\nlist = [{{ at = \"0 s\", size = \"100 B\", count = {packets} }}]\n"
    )
}

const CPU: &str = "[[resource]]\nname = \"cpu\"\n";

#[test]
fn one_to_four_resources_in_series() {
    // The last of n packets leaves after n + m - 1 steps of 10 us.
    let names = ["cpu", "crypto", "memory", "link"];
    for m in 1..=4 {
        let resources: String = names[..m].iter().map(|n| format!("[[resource]]\nname = \"{n}\"\n")).collect();
        let cost: Vec<String> = names[..m].iter().map(|n| format!("{n} = \"10 us\"")).collect();
        let scenario = read(&burst(&resources, &cost.join(", "), 20));
        assert_eq!(scenario.resource_names(), names[..m]);
        for scheduler in ["fifo", "drfq", "drfq:mode=dovetail"] {
            assert_eq!(makespan_us(&scenario, scheduler), (20 + m - 1) as f64 * 10.0, "{m} resources, {scheduler}");
        }
        let json = summary(&scenario, "fifo");
        let used = json["runs"][0]["resources"].as_object().unwrap();
        assert_eq!(used.keys().map(String::as_str).collect::<std::collections::BTreeSet<_>>().len(), m);
        assert!(used.values().all(|r| (r["busy_s"].as_f64().unwrap() - 200e-6).abs() < 1e-12), "{used:?}");
    }
}

#[test]
fn a_link_takes_length_over_rate() {
    // 100 B at 80 Mbps are 10 us, as on the CPU.
    let resources = format!("{CPU}[[resource]]\nname = \"link\"\nrate = \"80 Mbps\"\n");
    assert_eq!(makespan_us(&read(&burst(&resources, "cpu = \"10 us\"", 9)), "fifo"), 100.0);
}

#[test]
fn parallel_servers() {
    // The link is fast: k servers finish ten packets of 60 us in ceil(10 / k) rounds, then 1 us on the link for each
    // packet of the last round.
    for (servers, rounds, last) in [(1, 10, 1), (2, 5, 2), (3, 4, 1), (5, 2, 5), (100, 1, 10)] {
        let resources = format!("{CPU}servers = {servers}\n[[resource]]\nname = \"link\"\n");
        let scenario = read(&burst(&resources, "cpu = \"60 us\", link = \"1 us\"", 10));
        let record = run(&scenario, "fifo");
        let used = 1 + (0..10).filter_map(|k| record.service(k, 0)).map(|s| s.server).max().unwrap();
        assert_eq!(used, servers.min(10), "no server stands idle while a packet waits");
        assert_eq!(makespan_us(&scenario, "fifo"), f64::from(rounds * 60 + last), "{servers} servers");
    }
}

/// When each packet starts on a CPU of 11 us before a link of 30 us with room for `room` packets: it leaves the CPU
/// when it is done and the packet `room` places ahead of it is on the link.
fn cpu_starts_us(packets: usize, room: usize) -> Vec<f64> {
    let (mut starts, mut link_starts) = (Vec::new(), Vec::<f64>::new());
    let mut cpu_free = 0.0;
    for k in 0..packets {
        let start: f64 = cpu_free;
        let done = start + 11.0;
        let link_start = done.max(link_starts.last().map_or(0.0, |s| s + 30.0));
        link_starts.push(link_start);
        cpu_free = if k >= room { done.max(link_starts[k - room]) } else { done };
        starts.push(start);
    }
    starts
}

#[test]
fn a_full_buffer_holds_the_cpu_up() {
    for (buffer, room) in [("unlimited", 99), ("none", 0), ("1 packet", 1), ("3 packets", 3)] {
        let resources = format!("{CPU}[[resource]]\nname = \"link\"\nbuffer = \"{buffer}\"\n");
        let record = run(&read(&burst(&resources, "cpu = \"11 us\", link = \"30 us\"", 12)), "fifo");
        let starts: Vec<f64> = (0..12).map(|k| record.service(k, 0).unwrap().start.as_secs_f64() * 1e6).collect();
        for (seen, expected) in starts.iter().zip(cpu_starts_us(12, room)) {
            assert!((seen - expected).abs() < 1e-6, "{buffer}: {starts:?}");
        }
        assert_eq!(record.flows[0].delivered, 12, "{buffer}");
    }
}

#[test]
fn without_waiting_the_cpu_starts_late_enough() {
    let resources = format!("{CPU}[[resource]]\nname = \"link\"\nbuffer = \"no-wait\"\n");
    let scenario = read(&burst(&resources, "cpu = \"11 us\", link = \"30 us\"", 12));
    let record = run(&scenario, "fifo");
    let ends_us = |resource: usize, k: u64| record.service(k as usize, resource).unwrap().end.as_nanos() / 1000;
    for k in 0..12 {
        assert_eq!((ends_us(0, k), ends_us(1, k)), (30 * k + 11, 30 * k + 41));
    }
    for scheduler in ["fifo", "drfq", "mr3"] {
        assert_eq!(makespan_us(&scenario, scheduler), 371.0, "{scheduler}");
    }
}

#[test]
fn packets_wait_nowhere_or_may_wait_everywhere() {
    let link = "[[resource]]\nname = \"link\"\nbuffer = \"no-wait\"\n";
    let memory = "[[resource]]\nname = \"memory\"\n";
    let cost = "cpu = \"1 us\", memory = \"1 us\", link = \"1 us\"";
    for (resources, part, message) in [
        (format!("{CPU}{memory}{link}"), "[[resource]]", "\"link\" has buffer = \"no-wait\" and \"memory\" has not"),
        (format!("{CPU}{memory}buffer = \"none\"\n{link}"), "\"none\"", "packets wait nowhere, or may wait everywhere"),
        (format!("{CPU}servers = 2\n{memory}buffer = \"no-wait\"\n{link}"), "servers = 2", "has one server each"),
        (
            format!("{CPU}{memory}buffer = \"no-wiat\"\n{link}"),
            "no-wiat",
            "expected \"unlimited\", \"none\", \"no-wait\"",
        ),
    ] {
        let error = refusal(&burst(&resources, cost, 1));
        assert!(error.contains(part) && error.contains(message), "{error}");
    }
}

#[test]
fn a_full_buffer_may_lose_packets_instead() {
    // The CPU never waits, and packet k is done at 11 (k + 1) us. The link takes 30 us, and three packets may wait for
    // it; the two never end together before the eleventh packet.
    let resources = format!("{CPU}[[resource]]\nname = \"link\"\nbuffer = \"3 packets\"\noverflow = \"drop\"\n");
    let scenario = read(&burst(&resources, "cpu = \"11 us\", link = \"30 us\"", 10));
    let mut link_starts: Vec<u32> = Vec::new();
    for done in (1..=10).map(|k| 11 * k) {
        if link_starts.iter().filter(|&&start| start > done).count() < 3 {
            link_starts.push(done.max(link_starts.last().map_or(0, |s| s + 30)));
        }
    }
    let json = summary(&scenario, "fifo");
    let packets = &json["runs"][0]["packets"];
    assert_eq!(packets["delivered"], link_starts.len());
    assert_eq!(packets["dropped"]["after-processing"], 10 - link_starts.len());
    assert!(link_starts.len() < 10);
}

#[test]
fn full_queues_refuse_by_packets_and_by_bytes() {
    let resources = format!("{CPU}[[resource]]\nname = \"link\"\n");
    let text = burst(&resources, "cpu = \"10 us\", link = \"10 us\"", 50);
    for (queue, reason) in [("4 packets", "queue-packets"), ("400 B", "queue-bytes")] {
        let json = summary(&read(&format!("{text}queue = \"{queue}\"\n")), "fifo");
        let packets = &json["runs"][0]["packets"];
        let (delivered, refused) =
            (packets["delivered"].as_u64().unwrap(), packets["dropped"][reason].as_u64().unwrap());
        // Four may wait; one more may have gone to the CPU before the others came.
        assert!((4..=5).contains(&delivered), "{queue}: {packets}");
        assert_eq!(delivered + refused, 50, "{queue}: {packets}");
    }
}

#[test]
fn listed_packets_have_their_own_times_and_costs() {
    let list = r#"list = [
        { at = "0 s", size = "100 B", cost = { cpu = "2 us" }, count = 2 },
        { at = "50 us", size = "100 B" },
        { at = "100 us", size = "100 B", cost = { cpu = "3 us", link = "1 us" } },
    ]"#;
    let resources = format!("{CPU}[[resource]]\nname = \"link\"\nrate = \"80 Mbps\"\n");
    let class = "[[class]]\nname = \"c\"\ncost = { cpu = \"7 us\" }\n[[flows]]\nclass = \"c\"\n";
    let record = run(&read(&format!("{resources}{class}{list}\n")), "fifo");
    let spans = |resource: usize| -> Vec<(u64, u64)> {
        let service = |k| record.service(k, resource).unwrap();
        (0..4).map(|k| (service(k).start.as_nanos() / 1000, service(k).end.as_nanos() / 1000)).collect()
    };
    assert_eq!(spans(0), [(0, 2), (2, 4), (50, 57), (100, 103)]);
    assert_eq!(spans(1), [(2, 12), (12, 22), (57, 67), (103, 104)]);
}
