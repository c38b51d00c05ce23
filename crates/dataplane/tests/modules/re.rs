//! Redundancy elimination: what is restored is what was sent, or is not restored at all.

use dovetail_dataplane::module::{Decoder, DecoderConfig, Encoder, EncoderConfig, Module, ModuleDrop};
use dovetail_wire::IpView;
use proptest::prelude::*;
use twox_hash::XxHash3_64;

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
    assert_eq!(encoded.len(), IP + 40 + 12 + 14 + 8 + 50 + 33);
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
    assert_eq!(encoded.len(), IP + 20 + 12 + 14);
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

/// Packets that one lost packet takes with it at most.
const LATER: u64 = 8;

/// UDP packets that are pieces of eight texts, each text many times.
fn of_eight_texts(count: u64) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(|k| {
        let from = (k * 37 % 401) as usize;
        udp(&noise(k * 5 % 8, 1500)[from..from + 1000])
    })
}

#[test]
fn a_lost_packet_takes_at_most_so_many_later_ones_with_it_however_often_its_bytes_repeat() {
    for lost in [0, 8, 9, 500] {
        let (mut encoder, mut decoder) = (encoder(), decoder());
        for (k, packet) in of_eight_texts(2000).enumerate() {
            let encoded = through(&mut encoder, &packet).unwrap();
            if k != lost {
                let _ = through(&mut decoder, &encoded).map(|restored| assert_eq!(restored, packet));
            }
        }
        let [_, ("missing", missing)] = decoder.counters()[..] else { panic!() };
        assert!(missing <= LATER, "{missing} behind packet {lost}");
    }
}

#[test]
fn a_decoder_that_starts_late_restores_all_after_eight_packets_of_each_text() {
    let (mut encoder, mut decoder) = (encoder(), decoder());
    for k in 0..400 {
        let packet = udp(&noise(k % 8, 1000));
        let encoded = through(&mut encoder, &packet).unwrap();
        match k {
            ..200 => {}
            200..264 => drop(through(&mut decoder, &encoded)),
            _ => assert!(through(&mut decoder, &encoded) == Ok(packet), "{k}"),
        }
    }
}

#[test]
fn what_repeats_is_sent_once_in_nine_packets() {
    let mut encoder = encoder();
    let packet = udp(&noise(1, 1000));
    let whole = (0..900).filter(|_| through(&mut encoder, &packet).unwrap() == packet).count();
    assert_eq!(whole, 100);
}

#[test]
fn bytes_between_references_are_remembered_and_those_of_references_are_not_twice() {
    let (mut encoder, mut decoder) = (encoder(), decoder());
    let (known, new) = (noise(1, 600), noise(2, 600));
    let mut send = |payload: &[u8]| {
        let packet = udp(payload);
        let encoded = through(&mut encoder, &packet).unwrap();
        assert_eq!(through(&mut decoder, &encoded), Ok(packet));
        encoded.len()
    };
    send(&known);
    let second = [&known[..], &new].concat();
    assert!(send(&second) > 600);
    // Two references: to either packet.
    assert_eq!(send(&second), IP + 20 + 12 + 2 * 14 + 8);
}

#[test]
fn what_a_packet_brings_is_remembered_though_the_packet_itself_cannot_be_restored() {
    let (mut encoder, mut decoder) = (encoder(), decoder());
    let (lost, new) = (noise(1, 600), noise(2, 600));
    through(&mut encoder, &udp(&lost)).unwrap();
    let both = through(&mut encoder, &udp(&[&lost[..], &new].concat())).unwrap();
    assert_eq!(through(&mut decoder, &both), Err(ModuleDrop("re-missing")));
    let packet = udp(&new);
    let encoded = through(&mut encoder, &packet).unwrap();
    assert!(encoded.len() < 200);
    assert_eq!(through(&mut decoder, &encoded), Ok(packet));
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

/// Two UDP packets that differ in every 64 bytes but the last, with the same checksum and the same hash by XXH3 with
/// its public secret: one factor of each changed word's product is zero, and the sum of the words stays.
fn with_equal_hashes(seed: u64) -> [Vec<u8>; 2] {
    const SECRETS: [u32; 3] = [0x7c01_812c, 0xded4_6de9, 0x7240_a4a4];
    [[1, 2, 3], [2, 3, 1]].map(|words: [u32; 3]| {
        let mut payload = noise(seed, 249);
        for (stripe, (secret, word)) in payload.chunks_mut(64).zip(SECRETS.into_iter().zip(words)) {
            stripe[..4].copy_from_slice(&secret.to_be_bytes());
            stripe[4..8].copy_from_slice(&word.to_le_bytes());
        }
        udp(&payload)
    })
}

#[test]
fn who_makes_packets_with_equal_hashes_gets_none_restored_to_the_other() {
    for [one, other] in (0..30).map(with_equal_hashes) {
        assert_eq!(XxHash3_64::oneshot(&one[IP + 20..]), XxHash3_64::oneshot(&other[IP + 20..]));
        let (mut encoder, mut decoder) = (encoder(), decoder());
        for packet in [&one, &other, &one, &other, &one] {
            let encoded = through(&mut encoder, packet).unwrap();
            match through(&mut decoder, &encoded) {
                Ok(restored) => assert!(restored == *packet, "restored to the other"),
                Err(reason) => assert_eq!(reason, ModuleDrop("re-corrupt")),
            }
        }
    }
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

/// A stream with much redundancy, of at most so many packets, which are made of pieces of a few long texts.
fn packets(most: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
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
    prop::collection::vec(packet, 1..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn without_loss_all_is_restored_byte_for_byte(packets in packets(120)) {
        let (mut encoder, mut decoder) = (encoder(), decoder());
        for packet in packets {
            let encoded = through(&mut encoder, &packet).unwrap();
            prop_assert!(encoded.len() <= packet.len());
            prop_assert_eq!(through(&mut decoder, &encoded), Ok(packet));
        }
    }

    /// Whatever is lost, comes twice or in another order, and however late the decoder starts: what leaves the decoder
    /// is what entered the encoder, all else is counted as missing, and of that there are at most eight for each packet
    /// that did not come, or not in its turn. So flows recover, however often their bytes repeat.
    #[test]
    fn what_is_not_restored_is_bounded_by_what_did_not_come_in_its_turn(
        packets in packets(50), fates in prop::collection::vec((0u8..4, 0usize..8, 0u8..4), 50), start in 0usize..25,
    ) {
        let mut encoder = encoder();
        // Has room for what comes twice.
        let mut decoder = Decoder::new(&DecoderConfig { packets: 128 }).unwrap();
        let mut sent = Vec::new();
        let (again, count) = (packets[0].clone(), packets.len());
        for (k, (packet, (loss, delay, copies))) in packets.into_iter().zip(fates).enumerate() {
            let encoded = through(&mut encoder, &packet).unwrap();
            if loss > 0 && k >= start {
                (0..1 + usize::from(copies == 0)).for_each(|copy| {
                    sent.push((k + delay + 3 * copy, k, copy, packet.clone(), encoded.clone()));
                });
            }
        }
        sent.sort_by_key(|(when, ..)| *when);
        let first = |k: usize| sent.iter().position(|&(_, number, ..)| number == k);
        let overtaken = |at: usize, k: usize| sent[..at].iter().any(|&(_, number, ..)| number > k);
        let gone = (0..count).filter(|&k| first(k).is_none_or(|at| overtaken(at, k))).count() as u64;
        let (mut missing, mut in_all) = (0, 0);
        let mut decode = |packet: &[u8], encoded: &[u8], copy| {
            match through(&mut decoder, encoded) {
                Ok(restored) => prop_assert_eq!(restored, packet),
                Err(reason) => {
                    prop_assert_eq!(reason, ModuleDrop("re-missing"));
                    in_all += 1;
                    missing += u64::from(copy == 0);
                }
            }
            Ok(())
        };
        for (_, _, copy, packet, encoded) in &sent {
            decode(packet, encoded, *copy)?;
        }
        for _ in 0..LATER * gone + 1 {
            decode(&again, &through(&mut encoder, &again).unwrap(), 0)?;
        }
        prop_assert!(missing <= LATER * gone, "{} missing, {} gone", missing, gone);
        prop_assert_eq!(decoder.counters()[1], ("missing", in_all));
    }
}
