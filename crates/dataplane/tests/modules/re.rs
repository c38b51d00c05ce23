//! Redundancy elimination: what is restored is what was sent, or is not restored at all.

use dovetail_dataplane::module::{Decoder, DecoderConfig, Encoder, EncoderConfig, Module, ModuleDrop};
use dovetail_wire::IpView;
use proptest::prelude::*;

use crate::support::{tcp, through, udp, udp6};

const IP: usize = 14;

fn encoder() -> Encoder {
    Encoder::new(&EncoderConfig { packets: 64 }).unwrap()
}

fn decoder() -> Decoder {
    Decoder::new(&DecoderConfig { packets: 64 }).unwrap()
}

/// Bytes without any pattern, the same for the same seed.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn what_went_by_before_is_not_sent_again() {
    let (mut encoder, mut decoder) = (encoder(), decoder());
    let first = udp(&noise(1, 1400));
    assert_eq!(through(&mut encoder, &first), Ok(first.clone()), "nothing is known yet");
    assert_eq!(through(&mut decoder, &first), Ok(first));
    // The middle of it again, in another packet and another version of IP.
    let second = udp6(&[noise(2, 50), noise(1, 1400)[100..1300].to_vec(), noise(3, 33)].concat());
    let encoded = through(&mut encoder, &second).unwrap();
    // Header, shim, one reference, and what surrounds the match: the UDP header is new as well.
    assert_eq!(encoded.len(), IP + 40 + 8 + 14 + 8 + 50 + 33);
    assert_eq!((encoded[IP + 6], IpView::new(&encoded[IP..]).unwrap().total_len()), (253, encoded.len() - IP));
    assert_eq!(through(&mut decoder, &encoded), Ok(second));
    assert_eq!(decoder.counters(), [("restored", 1), ("missing", 0)]);
    assert_eq!(encoder.counters()[0], ("encoded", 1));
}

#[test]
fn an_encoded_header_has_a_right_checksum_and_length() {
    let mut encoder = encoder();
    let packet = udp(&noise(1, 1000));
    through(&mut encoder, &packet).unwrap();
    let encoded = through(&mut encoder, &packet).unwrap();
    let ip = IpView::new(&encoded[IP..]).unwrap();
    assert!(ip.header_checksum_ok() && ip.total_len() == encoded.len() - IP && ip.protocol() == 253);
    assert!(encoded.len() < 60);
}

#[test]
fn a_reference_to_a_lost_packet_is_a_counted_drop_until_its_bytes_come_again() {
    let (mut encoder, mut decoder) = (encoder(), decoder());
    let packet = |seed| udp(&noise(seed, 1000));
    through(&mut encoder, &packet(1)).unwrap();
    let after = through(&mut encoder, &packet(1)).unwrap();
    assert_eq!(through(&mut decoder, &after), Err(ModuleDrop("re-missing")));
    assert_eq!(decoder.counters(), [("restored", 0), ("missing", 1)]);
    let other = through(&mut encoder, &packet(2)).unwrap();
    assert_eq!(through(&mut decoder, &other), Ok(packet(2)), "later packets do not suffer");
    through(&mut decoder, &packet(1)).unwrap();
    assert_eq!(through(&mut decoder, &after), Ok(packet(1)));
}

#[test]
fn what_tcp_sends_again_gets_through_whatever_was_lost() {
    let (mut encoder, mut decoder) = (encoder(), decoder());
    let data = noise(1, 3000);
    // The first is lost on the way, and the second refers to it.
    let first = tcp(9, 1000, &data[..1000]);
    through(&mut encoder, &first).unwrap();
    let second = tcp(9, 2000, &data[..1000]);
    let lost = through(&mut encoder, &second).unwrap();
    assert_eq!(through(&mut decoder, &lost), Err(ModuleDrop("re-missing")));
    // Sent again, in segments cut differently, and once more.
    for (sequence, bytes) in
        [(1000, &data[..500]), (1500, &data[500..1000]), (2000, &data[..1000]), (2000, &data[..1000])]
    {
        let again = tcp(9, sequence, bytes);
        let passed = through(&mut encoder, &again).unwrap();
        assert_eq!(through(&mut decoder, &passed), Ok(again));
    }
    // What is new may refer to all that.
    let new = tcp(9, 3000, &data[..1000]);
    let encoded = through(&mut encoder, &new).unwrap();
    assert!(encoded.len() < 200);
    assert_eq!(through(&mut decoder, &encoded), Ok(new));
}

#[test]
fn a_changed_packet_is_never_restored_to_something_else() {
    let (mut encoder, mut decoder) = (encoder(), decoder());
    let base = udp(&noise(1, 1000));
    through(&mut encoder, &base).unwrap();
    through(&mut decoder, &base).unwrap();
    let packet = udp(&[&noise(1, 1000)[200..800], &noise(2, 100)].concat());
    let encoded = through(&mut encoder, &packet).unwrap();
    for at in IP + 20..encoded.len() {
        let mut changed = encoded.clone();
        changed[at] ^= 0x10;
        let result = through(&mut decoder, &changed);
        // The protocol is the one field that the hash of the payload does not cover.
        assert!(result.is_err() || at == IP + 20, "byte {at}: {result:?}");
    }
    assert_eq!(through(&mut decoder, &encoded), Ok(packet));
}

#[test]
fn fragments_pass_and_the_reserved_protocol_does_not() {
    let (mut encoder, mut decoder) = (encoder(), decoder());
    let change = |at: usize, byte: u8| {
        let mut bytes = udp(&noise(1, 1000));
        bytes[IP + at] = byte;
        bytes
    };
    let fragment = change(6, 0x20);
    for _ in 0..2 {
        assert_eq!(through(&mut encoder, &fragment), Ok(fragment.clone()));
        assert_eq!(through(&mut decoder, &fragment), Ok(fragment.clone()));
    }
    assert_eq!(through(&mut encoder, &change(9, 253)), Err(ModuleDrop("re-reserved-protocol")));
    assert_eq!(through(&mut decoder, &change(9, 253)), Err(ModuleDrop("re-malformed")));
}

/// A stream with much redundancy: packets are made of pieces of a few long texts.
fn packets() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let piece =
        (0u64..4, 0usize..3000, 0usize..700).prop_map(|(text, from, len)| noise(text, 4000)[from..from + len].to_vec());
    let payload = prop::collection::vec(piece, 0..3).prop_map(|pieces| {
        let mut payload = pieces.concat();
        payload.truncate(1400);
        payload
    });
    let packet = (0u8..3, 0u32..4, payload).prop_map(|(kind, sequence, payload)| match kind {
        0 => udp(&payload),
        1 => udp6(&payload),
        _ => tcp(7, sequence * 700, &payload),
    });
    prop::collection::vec(packet, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn without_loss_all_is_restored_byte_for_byte(packets in packets()) {
        let (mut encoder, mut decoder) = (encoder(), decoder());
        for packet in packets {
            let encoded = through(&mut encoder, &packet).unwrap();
            prop_assert!(encoded.len() <= packet.len());
            prop_assert_eq!(through(&mut decoder, &encoded), Ok(packet));
        }
    }

    /// Whatever is lost and in whatever order the rest comes: what leaves the decoder is what entered the encoder, and
    /// all else is counted as missing.
    #[test]
    fn under_loss_and_reordering_nothing_is_restored_wrongly(
        packets in packets(), fates in prop::collection::vec((0u8..4, 0usize..8), 120),
    ) {
        let (mut encoder, mut decoder) = (encoder(), decoder());
        let mut sent = Vec::new();
        for (k, (packet, (loss, delay))) in packets.into_iter().zip(fates).enumerate() {
            let encoded = through(&mut encoder, &packet).unwrap();
            if loss > 0 {
                sent.push((k + delay, packet, encoded));
            }
        }
        sent.sort_by_key(|(when, ..)| *when);
        let mut missing = 0;
        for (_, packet, encoded) in sent {
            match through(&mut decoder, &encoded) {
                Ok(restored) => prop_assert_eq!(restored, packet),
                Err(reason) => {
                    prop_assert_eq!(reason, ModuleDrop("re-missing"));
                    missing += 1;
                }
            }
        }
        prop_assert_eq!(decoder.counters()[1], ("missing", missing));
    }
}
