//! Patterns in payloads.

use std::io::Write;
use std::sync::mpsc::channel;
use std::time::Duration;

use dovetail_dataplane::module::ModuleDrop;
use proptest::prelude::*;

use crate::support::{module, tcp, through, udp6};

#[test]
fn matches_are_counted_and_packets_pass_or_are_dropped() {
    let mut alert = module("kind = \"match\"\npatterns = [\"evil\", \"attack\"]");
    for payload in [&b"an evil attack"[..], b"good", b"EVIL", b"evil"] {
        let bytes = tcp(1, 2, payload);
        assert_eq!(through(&mut *alert, &bytes), Ok(bytes.clone()));
    }
    assert_eq!(alert.counters(), [("alerts", 2), ("matches", 3)]);

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
    assert_eq!(matcher.counters(), [("alerts", 1), ("matches", 2)]);
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

proptest! {
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
