//! The tunnel, decrypted by other implementations than its own.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use aes::cipher::{BlockCipherDecrypt, KeyInit};
use aes_gcm::Aes128Gcm;
use aes_gcm::aead::{Aead, Payload};
use dovetail_dataplane::module::{Decapsulate, DecapsulateConfig, Encapsulate, EncapsulateConfig};
use dovetail_dataplane::module::{Module, ModuleDrop, Secret, Transform};
use dovetail_trace::PcapWriter;
use dovetail_units::Time;
use dovetail_wire::{IpView, LinkType};
use proptest::prelude::*;
use ring::hmac;

use crate::support::{frame, through, udp, udp6};

const IP: usize = 14;
const SPI: u32 = 0xabcd_0123;
const ENDS: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(203, 0, 113, 1), Ipv4Addr::new(203, 0, 113, 2));

fn key(transform: Transform) -> Vec<u8> {
    (0..transform.key_len() as u8).map(|k| k.wrapping_mul(73).wrapping_add(5)).collect()
}

fn secret(transform: Transform) -> Secret {
    Secret(key(transform).iter().map(|byte| format!("{byte:02x}")).collect())
}

fn encapsulate(transform: Transform) -> Encapsulate {
    let (src, dst) = ENDS;
    let config = EncapsulateConfig { ttl: 77, ..EncapsulateConfig::new(transform, secret(transform), SPI, [src, dst]) };
    Encapsulate::new(&config, Path::new("/")).unwrap()
}

fn decapsulate(transform: Transform) -> Decapsulate {
    let config = DecapsulateConfig { transform, key: Some(secret(transform)), key_file: None, spi: SPI, window: 64 };
    Decapsulate::new(&config, Path::new("/")).unwrap()
}

/// RFC 4303 and RFC 4106 or RFC 3602 with 2404, written down straight from the text, with other libraries than the
/// module's (but for the AES block of CBC). The text with padding and trailer.
fn decrypt(transform: Transform, esp: &[u8]) -> Vec<u8> {
    let key = key(transform);
    match transform {
        Transform::Aes128Gcm => {
            let nonce: [u8; 12] = [&key[16..], &esp[8..16]].concat().try_into().unwrap();
            let payload = Payload { msg: &esp[16..], aad: &esp[..8] };
            Aes128Gcm::new_from_slice(&key[..16]).unwrap().decrypt(&nonce.into(), payload).unwrap()
        }
        Transform::Aes128CbcSha1 => {
            let (body, icv) = esp.split_at(esp.len() - 12);
            let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &key[16..]), body);
            assert_eq!(&mac.as_ref()[..12], icv);
            let cipher = aes::Aes128::new_from_slice(&key[..16]).unwrap();
            let mut text = Vec::new();
            for (block, before) in body[24..].chunks(16).zip(body[8..].chunks(16)) {
                let mut plain: [u8; 16] = block.try_into().unwrap();
                let mut array = plain.into();
                cipher.decrypt_block(&mut array);
                plain.copy_from_slice(&array);
                text.extend(plain.iter().zip(before).map(|(a, b)| a ^ b));
            }
            text
        }
    }
}

#[test]
fn what_leaves_the_tunnel_is_what_the_rfcs_say() {
    for transform in Transform::ALL {
        let mut tunnel = encapsulate(transform);
        for (sequence, inner) in (1u32..).zip([udp(b""), udp(&[9; 700]), udp6(b"12345"), udp(&[9; 701])]) {
            let outer = through(&mut tunnel, &inner).unwrap();
            let (packet, v6) = (&inner[IP..], inner[12] == 0x86);
            assert_eq!(outer[..IP], [&inner[..12], &[8, 0]].concat());
            let ip = IpView::new(&outer[IP..]).unwrap();
            assert_eq!((ip.source(), ip.destination()), (ENDS.0.into(), ENDS.1.into()));
            assert_eq!((ip.ttl(), ip.protocol(), ip.header_checksum_ok()), (77, 50, true));
            assert_eq!(ip.total_len(), outer.len() - IP);
            assert_eq!(outer.len(), inner.len() + transform.overhead(packet.len()));
            let esp = &outer[IP + 20..];
            assert_eq!(esp[..8], [SPI.to_be_bytes(), sequence.to_be_bytes()].concat());
            let text = decrypt(transform, esp);
            let padding = text.len() - packet.len() - 2;
            assert_eq!(text[..packet.len()], *packet);
            let trailer: Vec<u8> = (1..=padding as u8).chain([padding as u8, if v6 { 41 } else { 4 }]).collect();
            assert_eq!(text[packet.len()..], trailer);
            assert!(padding < if transform == Transform::Aes128Gcm { 4 } else { 16 });
        }
    }
}

#[test]
fn the_outer_header_takes_over_what_routers_on_the_way_need() {
    let mut tunnel = encapsulate(Transform::Aes128Gcm);
    for class in [0, 0b1011_1000, 0b1011_1001, 0b10, 0b11] {
        for (mut inner, v6) in [(udp(b"x"), false), (udp6(b"x"), true)] {
            IpView::new(&mut inner[IP..]).unwrap().set_traffic_class(class);
            if !v6 {
                inner[IP + 6] = class << 6;
            }
            let dont_fragment = v6 || class & 1 == 1;
            let outer = through(&mut tunnel, &inner).unwrap();
            assert_eq!(IpView::new(&outer[IP..]).unwrap().traffic_class(), class);
            assert_eq!(outer[IP + 6..IP + 8], [if dont_fragment { 0x40 } else { 0 }, 0]);
        }
    }
}

#[test]
fn marks_on_the_way_reach_the_receiver() {
    // RFC 6040, Fig. 4: by inner, then outer field, each Not-ECT, ECT(1), ECT(0), CE.
    let table = [
        [Some(0), Some(0), Some(0), None],
        [Some(1), Some(1), Some(1), Some(3)],
        [Some(2), Some(1), Some(2), Some(3)],
        [Some(3), Some(3), Some(3), Some(3)],
    ];
    let (mut tunnel, mut end) = (encapsulate(Transform::Aes128Gcm), decapsulate(Transform::Aes128Gcm));
    for (inner_ecn, row) in table.iter().enumerate() {
        for (outer_ecn, expected) in row.iter().enumerate() {
            let mut inner = udp(b"x");
            IpView::new(&mut inner[IP..]).unwrap().set_ecn(inner_ecn as u8);
            let mut outer = through(&mut tunnel, &inner).unwrap();
            IpView::new(&mut outer[IP..]).unwrap().set_ecn(outer_ecn as u8);
            let after = through(&mut end, &outer);
            let ip = after.as_ref().map(|bytes| IpView::new(&bytes[IP..]).unwrap());
            match expected {
                Some(ecn) => assert_eq!(ip.map(|ip| (ip.ecn(), ip.header_checksum_ok())), Ok((*ecn, true))),
                None => assert_eq!(after, Err(ModuleDrop("esp-congested"))),
            }
        }
    }
}

#[test]
fn the_longest_packet_that_fits_passes_and_one_byte_more_is_dropped() {
    for transform in Transform::ALL {
        let mut tunnel = encapsulate(transform);
        let longest = (0..1500).rev().find(|&len| len + transform.overhead(len) <= 1500).unwrap();
        assert_eq!(longest, if transform == Transform::Aes128Gcm { 1446 } else { 1438 });
        let packet = |len: usize| udp(&vec![1; len - 28]);
        assert!(through(&mut tunnel, &packet(longest)).unwrap().len() <= IP + 1500);
        assert_eq!(through(&mut tunnel, &packet(longest + 1)), Err(ModuleDrop("esp-too-big")));
    }
}

#[test]
fn no_sequence_number_is_used_twice() {
    let mut tunnel = encapsulate(Transform::Aes128Gcm);
    tunnel.set_sequence(u32::MAX - 1);
    assert!(through(&mut tunnel, &udp(b"last but one")).is_ok());
    assert_eq!(through(&mut tunnel, &udp(b"last")).unwrap()[IP + 24..IP + 28], [0xff; 4]);
    assert_eq!(through(&mut tunnel, &udp(b"none left")), Err(ModuleDrop("esp-sequence-exhausted")));
    assert_eq!(tunnel.counters()[0], ("sequence_numbers_left", 0));
}

#[test]
fn no_initialisation_vector_comes_twice_not_even_after_a_restart() {
    for (transform, len) in [(Transform::Aes128Gcm, 8), (Transform::Aes128CbcSha1, 16)] {
        let mut seen = BTreeSet::new();
        for _ in 0..10 {
            let mut tunnel = encapsulate(transform);
            for _ in 0..100 {
                let outer = through(&mut tunnel, &udp(b"x")).unwrap();
                assert!(seen.insert(outer[IP + 28..IP + 28 + len].to_vec()));
            }
        }
    }
}

#[test]
fn what_was_changed_replayed_or_meant_for_others_is_dropped_by_name() {
    for transform in Transform::ALL {
        let (mut tunnel, mut end) = (encapsulate(transform), decapsulate(transform));
        let outer = through(&mut tunnel, &udp(b"payload")).unwrap();
        // All of ESP but the SPI; a sequence number of zero was never sent, and is said to be replayed.
        for at in IP + 24..outer.len() {
            let mut changed = outer.clone();
            changed[at] ^= 0x40;
            assert_eq!(through(&mut end, &changed), Err(ModuleDrop("esp-not-authentic")), "byte {at}");
        }
        let mut changed = outer.clone();
        changed[IP + 20] ^= 1;
        assert_eq!(through(&mut end, &changed), Err(ModuleDrop("esp-unknown-spi")));
        assert_eq!(through(&mut end, &outer), Ok(udp(b"payload")));
        assert_eq!(through(&mut end, &outer), Err(ModuleDrop("esp-replayed")));
        assert_eq!(through(&mut end, &udp(b"clear")), Err(ModuleDrop("esp-none")));
    }
}

#[test]
fn reordering_within_64_packets_is_accepted_once() {
    let (mut tunnel, mut end) = (encapsulate(Transform::Aes128Gcm), decapsulate(Transform::Aes128Gcm));
    let sent: Vec<_> = (0..200u8).map(|k| through(&mut tunnel, &udp(&[k])).unwrap()).collect();
    let mut passes = |k: usize| through(&mut end, &sent[k]);
    assert!(passes(99).is_ok());
    assert!(passes(36).is_ok(), "63 before the latest");
    assert_eq!(passes(35), Err(ModuleDrop("esp-replayed")));
    assert_eq!(passes(36), Err(ModuleDrop("esp-replayed")));
    assert!(passes(98).is_ok());
    assert!(passes(199).is_ok());
    assert_eq!(passes(99), Err(ModuleDrop("esp-replayed")));
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(
        payload in prop::collection::vec(any::<u8>(), 0..1390), v6: bool, raw: bool, vlan: bool, padding in 0usize..20,
    ) {
        let inner = if v6 { udp6(&payload) } else { udp(&payload) };
        let inner = match (raw, vlan) {
            (true, _) => inner[IP..].to_vec(),
            (_, true) => [&inner[..12], &[0x81, 0, 0, 5], &inner[12..]].concat(),
            _ => inner,
        };
        let link = if raw { LinkType::RAW } else { LinkType::ETHERNET };
        for transform in Transform::ALL {
            let mut both = frame(&[&inner[..], &vec![0; padding]].concat(), link);
            encapsulate(transform).process(&mut both).unwrap();
            decapsulate(transform).process(&mut both).unwrap();
            prop_assert_eq!(both.data(), &inner[..]);
        }
    }
}

/// What Wireshark makes of it: its own parser, libgcrypt's ciphers.
#[test]
#[ignore = "needs tshark"]
fn tshark_decrypts_the_tunnel_and_finds_the_checksums_right() {
    let folder = tempfile::tempdir().unwrap();
    for (transform, encryption, authentication) in [
        (Transform::Aes128Gcm, "AES-GCM with 16 octet ICV [RFC4106]", "NULL"),
        (Transform::Aes128CbcSha1, "AES-CBC [RFC3602]", "HMAC-SHA-1-96 [RFC2404]"),
    ] {
        let mut tunnel = encapsulate(transform);
        let mut capture = PcapWriter::new(Vec::new(), LinkType::ETHERNET).unwrap();
        let payloads: Vec<Vec<u8>> = (0..40).map(|len| vec![len + 1; usize::from(len) * 30]).collect();
        for (k, payload) in payloads.iter().enumerate() {
            let outer = through(&mut tunnel, &if k % 2 == 0 { udp(payload) } else { udp6(payload) }).unwrap();
            capture.write(Time::from_nanos(k as u64), &outer, outer.len() as u32).unwrap();
        }
        let file = folder.path().join("esp.pcap");
        std::fs::write(&file, capture.finish().unwrap()).unwrap();
        let hex = |bytes: &[u8]| format!("0x{}", bytes.iter().map(|b| format!("{b:02x}")).collect::<String>());
        let (first, rest) = match (transform, key(transform)) {
            (Transform::Aes128Gcm, key) => (hex(&key), String::new()),
            (Transform::Aes128CbcSha1, key) => (hex(&key[..16]), hex(&key[16..])),
        };
        let (src, dst) = ENDS;
        let association = format!(
            "uat:esp_sa:\"IPv4\",\"{src}\",\"{dst}\",\"{SPI:#x}\",\
             \"{encryption}\",\"{first}\",\"{authentication}\",\"{rest}\""
        );
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&file).args(["-o", "esp.enable_encryption_decode:TRUE"]);
        tshark.args(["-o", "esp.enable_authentication_check:TRUE", "-o", "ip.check_checksum:TRUE"]);
        tshark.args(["-o", "udp.check_checksum:TRUE", "-o", &association, "-T", "fields", "-E", "occurrence=a"]);
        for field in ["ip.checksum.status", "esp.sequence", "udp.srcport", "udp.checksum.status", "udp.length"] {
            tshark.args(["-e", field]);
        }
        let output = tshark.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), payloads.len(), "{}", String::from_utf8_lossy(&output.stderr));
        for ((k, payload), line) in payloads.iter().enumerate().zip(text.lines()) {
            // IPv6 has no header checksum, so there is only that of the outer header.
            let ip = if k % 2 == 0 { "1,1" } else { "1" };
            let expected = format!("{ip}\t{}\t4000\t1\t{}", k + 1, payload.len() + 8);
            assert_eq!(line, expected, "{encryption}");
        }
    }
}
