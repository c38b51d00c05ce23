//! Patterns in payloads.

use std::io::Write;
use std::sync::mpsc::channel;
use std::time::Duration;

use dovetail_dataplane::module::ModuleDrop;
use proptest::prelude::*;

use crate::support::{module, tcp, through, udp, udp6};

#[test]
fn matches_are_counted_and_packets_pass_or_are_dropped() {
    let mut alert = module("kind = \"match\"\npatterns = [\"evil\", \"attack\"]");
    for payload in [&b"an evil attack"[..], b"good", b"EVIL", b"evil"] {
        let bytes = tcp(1, 2, payload);
        assert_eq!(through(&mut *alert, &bytes), Ok(bytes.clone()));
    }
    assert_eq!(alert.counters(), [("alerts", 2), ("matches", 3), ("unsearched", 0)]);

    let mut drop = module("kind = \"match\"\npatterns = [\"evil\"]\nignore_case = true\naction = \"drop\"");
    assert_eq!(through(&mut *drop, &udp6(b"so EviL")), Err(ModuleDrop("matched")));
    assert!(through(&mut *drop, &udp6(b"so good")).is_ok());
}

#[test]
fn patterns_come_from_a_file_as_well() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"\xff\xfe\n\nevil\n").unwrap();
    let mut matcher = module(&format!("kind = \"match\"\npattern_file = \"{}\"", file.path().display()));
    through(&mut *matcher, &udp6(b"\xff\xfe evil")).unwrap();
    assert_eq!(matcher.counters(), [("alerts", 1), ("matches", 2), ("unsearched", 0)]);
}

#[test]
fn patterns_of_which_a_table_would_have_no_end_are_found_all_the_same() {
    // Of all that has been read of one, as much again begins another one, and so on.
    let mut lines: Vec<Vec<u8>> = (0..300).map(|k| [vec![b'a'; k], b"b".to_vec(), vec![b'a'; 1600]].concat()).collect();
    lines.push((b' '..=255).collect());
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&lines.join(&b'\n')).unwrap();
    let text = format!("kind = \"match\"\npattern_file = \"{}\"", file.path().display());
    let (sender, made) = channel();
    std::thread::spawn(move || sender.send(module(&text)));
    let mut matcher = made.recv_timeout(Duration::from_secs(60)).expect("it takes minutes");
    for (payload, alerts) in [(&lines[0][..1600], 0), (&lines[0], 1), (&lines[300][1..], 1), (&lines[300], 2)] {
        through(&mut *matcher, &udp6(payload)).unwrap();
        assert_eq!(matcher.counters()[0], ("alerts", alerts));
    }
}

#[test]
fn padding_behind_the_packet_is_not_searched() {
    let mut alert = module("kind = \"match\"\npatterns = [\"evil\"]");
    through(&mut *alert, &[udp6(b"x"), b"evil".to_vec()].concat()).unwrap();
    assert_eq!(alert.counters()[0], ("alerts", 0));
}

/// A UDP datagram with this payload, cut behind each of these bytes of it.
fn fragments(payload: &[u8], ends: &[usize]) -> Vec<Vec<u8>> {
    let whole = udp(payload);
    let len = whole.len() - 34;
    let starts = [0].iter().chain(ends);
    let cut = |(&start, &end): (&usize, &usize)| {
        let mut frame = [&whole[..34], &whole[34 + start..34 + end]].concat();
        frame[16..18].copy_from_slice(&(20 + (end - start) as u16).to_be_bytes());
        let more = if end < len { 0x2000 } else { 0 };
        frame[20..22].copy_from_slice(&(more | (start / 8) as u16).to_be_bytes());
        frame
    };
    starts.zip(ends.iter().chain([&len])).map(cut).collect()
}

#[test]
fn a_pattern_that_is_spread_over_fragments_is_found() {
    // Behind the header of UDP, 8 bytes: it begins in the first, goes on through the second and ends in the third.
    let parts = fragments(b"123456/etc/passwd789", &[16, 24]);
    let mut alert = module("kind = \"match\"\npatterns = [\"/etc/passwd\", \"1\"]");
    assert!(parts.iter().all(|part| through(&mut *alert, part).as_ref() == Ok(part)));
    // What is short is not counted again with what is kept of the bytes before.
    assert_eq!(alert.counters(), [("alerts", 2), ("matches", 2), ("unsearched", 0)]);

    let mut drop = module("kind = \"match\"\npatterns = [\"/etc/passwd\"]\naction = \"drop\"");
    let passes: Vec<_> = parts.iter().map(|part| through(&mut *drop, part).err()).collect();
    assert_eq!(passes, [None, None, Some(ModuleDrop("matched"))]);
    // The same without the pattern passes whole, also with the same identification.
    let harmless = fragments(b"123456/etc/group-789", &[16, 24]);
    assert!(harmless.iter().all(|part| through(&mut *drop, part).is_ok()));
}

#[test]
fn what_cannot_be_searched_in_order_evades_no_drop() {
    let rule = "kind = \"match\"\npatterns = [\"/etc/passwd\"]\naction = \"drop\"";
    let parts = fragments(b"123456/etc/passwd789", &[16, 24]);
    let blank = fragments(b"....................", &[16, 24]);
    let gone = Some(ModuleDrop("match-fragment"));
    for (order, expected) in [
        // Out of order; one that is missing; the middle once more; another beginning for the same datagram.
        (vec![&parts[0], &parts[2], &parts[1]], vec![None, gone, gone]),
        (vec![&parts[0], &parts[2]], vec![None, gone]),
        (vec![&parts[1], &parts[2]], vec![gone, gone]),
        (vec![&parts[0], &parts[1], &blank[1], &parts[2]], vec![None, None, gone, gone]),
        (vec![&parts[0], &blank[0], &parts[1], &parts[2]], vec![None, gone, None, Some(ModuleDrop("matched"))]),
    ] {
        let mut drop = module(rule);
        assert_eq!(order.iter().map(|part| through(&mut *drop, part).err()).collect::<Vec<_>>(), expected);
        // With an alert they pass, and it is told how many.
        let mut alert = module(&rule.replace("\"drop\"", "\"alert\""));
        assert!(order.iter().all(|part| through(&mut *alert, part).is_ok()));
        let unsearched = expected.iter().filter(|outcome| **outcome == gone).count() as u64;
        assert_eq!(alert.counters()[2], ("unsearched", unsearched));
    }
}

proptest! {
    #[test]
    fn what_is_found_in_fragments_is_what_is_found_in_the_whole(
        pattern in "[ab]{1,12}", payload in "[ab]{20,80}", ends in prop::collection::btree_set(1usize..4, 0..3),
    ) {
        let rule = format!("kind = \"match\"\npatterns = [{pattern:?}]\naction = ");
        let whole = through(&mut *module(&format!("{rule}\"drop\"")), &udp(payload.as_bytes())).is_err();
        let mut drop = module(&format!("{rule}\"drop\""));
        let ends: Vec<usize> = ends.into_iter().map(|end| end * 8).collect();
        let parts = fragments(payload.as_bytes(), &ends);
        let lost = parts.iter().filter(|part| through(&mut *drop, part).is_err()).count() > 0;
        prop_assert_eq!(lost, whole);
    }

    #[test]
    fn what_is_found_is_what_a_naive_search_finds(
        patterns in prop::collection::vec("[ab]{1,4}", 1..5), payload in "[abc]{0,200}",
    ) {
        let mut alert = module(&format!("kind = \"match\"\npatterns = {patterns:?}"));
        through(&mut *alert, &udp6(payload.as_bytes())).unwrap();
        let naive = patterns.iter().any(|p| payload.contains(p));
        prop_assert_eq!(alert.counters()[0].1, u64::from(naive));
    }
}
