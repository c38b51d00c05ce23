//! What keeps a network alive passes, whatever is done to the rest.

use dovetail_dataplane::config::Config;
use dovetail_dataplane::core::{Middlebox, Snapshot};
use etherparse::PacketBuilder;

use crate::support::{middlebox, out, put, udp, us};

const ARP: u16 = 0x0806;
const LLDP: u16 = 0x88cc;
const LOCAL: [u8; 16] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const GROUP: [u8; 16] = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 2];

/// A frame of a protocol that is not IP.
fn other(protocol: u16) -> Vec<u8> {
    let mut frame = [[0xff; 6], [2; 6]].concat();
    frame.extend(protocol.to_be_bytes());
    frame.resize(60, 0);
    frame
}

fn icmp(kind: u8, hops: u8) -> Vec<u8> {
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2([2; 6], [0x33; 6]).ipv6(LOCAL, GROUP, hops).icmpv6_raw(kind, 0, [0; 4]);
    builder.write(&mut frame, &[0; 16]).unwrap();
    frame
}

fn solicitation(hops: u8) -> Vec<u8> {
    icmp(135, hops)
}

/// A listener's report, behind a hop-by-hop header with the alert for routers as RFC 3810 demands.
fn listener() -> Vec<u8> {
    let mut frame = icmp(133, 1);
    frame[14 + 6] = 0;
    frame.splice(54..54, [58, 0, 5, 2, 0, 0, 1, 0]);
    frame[62] = 143;
    let payload = (frame.len() - 54) as u16;
    frame[18..20].copy_from_slice(&payload.to_be_bytes());
    frame
}

fn after(middlebox: &mut Middlebox, frames: &[Vec<u8>]) -> Snapshot {
    frames.iter().for_each(|frame| put(middlebox, us(0), frame));
    (1..=100).for_each(|step| middlebox.advance(us(step * 10_000)));
    out(middlebox);
    middlebox.snapshot(us(1_000_000))
}

/// Frames in and out of a class; 0 of one that is not told of.
fn passed(snapshot: &Snapshot, class: &str) -> (u64, u64) {
    let class = snapshot.classes.iter().find(|known| known.class == class);
    class.map_or((0, 0), |class| (class.frames.frames_in, class.frames.frames_out))
}

const CHECKED: &str = r#"scheduler = "drr"
[[module]]
name = "headers"
kind = "check"
[[class]]
name = "rest"
modules = ["headers"]
"#;

#[test]
fn what_neighbours_find_each_other_by_passes_a_box_that_processes_everything() {
    let mut middlebox = middlebox(CHECKED);
    let vital = [other(ARP), other(LLDP), solicitation(255), listener()];
    let snapshot = after(&mut middlebox, &[&vital[..], &[udp(5000, 100)]].concat());
    assert_eq!((passed(&snapshot, "network"), passed(&snapshot, "rest")), ((4, 4), (1, 1)), "{snapshot:?}");
    // However many addresses a flood of them has, it is one flow.
    assert_eq!(snapshot.flows.len(), 2);
}

#[test]
fn what_only_looks_like_it_is_processed() {
    let mut middlebox = middlebox(CHECKED);
    let ping = icmp(128, 255);
    let mut cut = other(0x0800);
    cut.truncate(20);
    // Forwarded ones come from no neighbour.
    let snapshot = after(&mut middlebox, &[solicitation(254), ping, cut]);
    assert_eq!(passed(&snapshot, "network"), (0, 0));
    assert_eq!(passed(&snapshot, "rest"), (3, 2), "the cut one is dropped: {snapshot:?}");
    assert_eq!(snapshot.total.dropped["malformed"], 1);
    assert!(snapshot.classes.iter().all(|class| class.class != "network"), "what has done nothing is not told of");
}

#[test]
fn a_class_may_say_otherwise() {
    let rule =
        "[[class]]\nname = \"heard\"\nmatch = [{ protocol = \"arp\" }, { protocol = \"nd\", src = \"fe80::/10\" }]\n";
    let mut middlebox = middlebox(&format!("{CHECKED}{rule}"));
    let snapshot = after(&mut middlebox, &[other(ARP), solicitation(255), other(LLDP)]);
    assert_eq!((passed(&snapshot, "heard"), passed(&snapshot, "network")), ((2, 2), (1, 1)), "{snapshot:?}");
}

/// Warnings of a box whose class of this rule has this module.
fn warnings(rule: &str, module: &str) -> Vec<String> {
    let text = format!(
        "scheduler = \"drr\"\nports = {{ in = \"packet:a\", out = \"packet:b\" }}\n[[module]]\nname = \"m\"\n{module}\n\
        [[class]]\nname = \"c\"\nmatch = [{{ {rule} }}]\nmodules = [\"m\"]\n"
    );
    Config::parse("box.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}")).warnings()
}

#[test]
fn every_configuration_that_keeps_neighbours_apart_is_warned_of() {
    let esp = "kind = \"esp\"\ntransform = \"aes128-gcm\"\nkey = \"000102030405060708090a0b0c0d0e0f10111213\"\n\
        spi = 4096\nsrc = \"192.0.2.1\"\ndst = \"192.0.2.2\"";
    let forward = "kind = \"forward\"\nroutes = [{ prefix = \"::/0\" }]";
    for (rule, module, told) in [
        ("protocol = \"arp\"", esp, "class \"c\" takes arp, and its module \"m\" drops what is not IP"),
        ("protocol = \"not-ip\"", "kind = \"check\"", "takes not-ip, and its module \"m\" drops what is not IP"),
        ("protocol = \"nd\"", esp, "takes nd, and its module \"m\" hides it from neighbours"),
        ("protocol = \"nd\"", forward, "takes nd, and its module \"m\" takes a hop off"),
        ("protocol = \"nd\"", "kind = \"re-decode\"", "drops what did not come by its other end"),
    ] {
        let warnings = warnings(rule, module);
        assert!(warnings.iter().any(|warning| warning.contains(told)), "{rule}: {warnings:?}");
    }
    let none: [&str; 0] = [];
    assert_eq!(warnings("protocol = \"nd\"", "kind = \"check\""), none);
    assert_eq!(warnings("protocol = \"icmp6\"", "kind = \"check\""), none);
}
