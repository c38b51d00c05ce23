//! Labs of what happens on real networks, from the command line. They need root. What they tell of rates and times is
//! for a machine that has nothing else to do.

use serde_json::Value;

use crate::support::Folder;

/// What the program prints, whether or not it found all in order.
fn document(lab: &str, arguments: &[&str]) -> Value {
    let name = format!("{lab}-{}", std::process::id());
    let said = Folder::new().dovetail(&[arguments, &["--json", "--name", &name]].concat());
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:#?}"))
}

#[test]
#[ignore = "needs root"]
fn two_gateways_survive_a_network_as_it_is_and_kills() {
    let short = ["--set", "alone=1 s", "--set", "together=6 s", "--set", "rate=20 Mbps"];
    let document = document("run", &[&["lab", "run", "gateway-real"][..], &short].concat());
    let promises = document["promises"].as_array().unwrap();
    let of = |words: &str| {
        let found: Vec<&Value> =
            promises.iter().filter(|promise| promise["words"].as_str().unwrap().starts_with(words)).collect();
        assert!(!found.is_empty(), "{words:?} is missing in {document:#}");
        found
    };
    for words in ["neighbours find each other", "esp-replayed: 0", "one-out", "one-in", "two-in", "two-out"] {
        assert!(of(words).iter().all(|promise| promise["kept"] == true), "{words}: {document:#}");
    }
    // Where there is no ping, nobody knows.
    assert!(of("ping -s 1472").iter().all(|promise| promise["kept"] != false), "{document:#}");
    assert_eq!(of("neighbours find each other by ").len(), 2, "{document:#}");
    for (words, count) in
        [("TCP through the tunnel to the ", 2), ("after kill -9 of one-", 2), ("the connection to ", 2)]
    {
        assert_eq!(of(words).len(), count, "{document:#}");
    }
    assert!(!document.to_string().contains("nothing came any more"), "{document:#}");
}

#[test]
fn what_a_scenario_of_gateways_cannot_be_is_refused() {
    let refused = |arguments: &[&str], words: &[&str]| {
        Folder::new().dovetail(&[&["lab", "run", "gateway-real"], arguments].concat()).fails(2, words);
    };
    refused(&["--predict"], &["--predict", "no steps"]);
    refused(&["--set", "rat=1 Mbps"], &["rat", "rate"]);
    refused(&["--set", "calls.count=0"], &["calls", "from 1 to 1000"]);
}

/// Of flows with so many packets each.
fn a_flood_is_told(packets: &str) {
    let few = ["--set", "flows.most=1000", "--for", "1 s", "-s", "drr", "-s", "fifo"];
    let document = document(&format!("flood{packets}"), &[&["lab", "flood", "--packets", packets][..], &few].concat());
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["scheduler"].as_str().unwrap()).collect::<Vec<_>>(), ["drr", "fifo"]);
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap();
        assert!(number("flood_pps") > 0.0 && number("memory") > 0.0 && number("fair_bps") > 0.0, "{document:#}");
        // Flows with queues of their own, queues that are shared by them or by first frames, and what is no flow.
        assert!((2.0..=1000.0 + 2.0 * 1024.0 + 1.0).contains(&number("flows")), "{document:#}");
    }
}

#[test]
#[ignore = "needs root"]
fn a_flood_of_single_packets_is_told_scheduler_by_scheduler() {
    a_flood_is_told("1");
}

#[test]
#[ignore = "needs root"]
fn a_flood_of_pairs_is_told_scheduler_by_scheduler() {
    a_flood_is_told("2");
}

#[test]
fn what_a_flood_cannot_be_is_refused() {
    let refused = |arguments: &[&str], words: &[&str]| {
        Folder::new().dovetail(&[&["lab", "flood"], arguments].concat()).fails(2, words);
    };
    refused(&["-s", "drrr"], &["drrr", "drr"]);
    refused(&["--packets", "0"], &["a whole number from 1 to 100"]);
    refused(&["--set", "flows.mst=4"], &["mst", "most"]);
}

#[test]
#[ignore = "needs root"]
fn a_flood_of_frames_that_no_link_carries_is_refused() {
    let flood = ["lab", "flood", "--frame", "20 B", "-s", "drr", "--name", "short"];
    Folder::new().dovetail(&flood).fails(2, &["expected 60 B to 1514 B"]);
}
