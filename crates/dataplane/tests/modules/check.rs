//! Headers and checksums.

use dovetail_dataplane::module::ModuleDrop;
use proptest::prelude::*;

use crate::support::{frame, hostile, module, through, udp, udp6};

const IP: usize = 14;

#[test]
fn right_packets_pass_unchanged_and_each_fault_has_its_name() {
    let mut check = module("kind = \"check\"");
    for bytes in [udp(&[7; 100]), udp6(&[7; 100]), [udp(b"short"), vec![0; 20]].concat()] {
        assert_eq!(through(&mut *check, &bytes), Ok(bytes.clone()));
    }
    let mut fault = |changes: &[(usize, u8)], repair: bool| {
        let mut bytes = udp(b"payload");
        changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
        if repair {
            dovetail_wire::IpView::new(&mut bytes[IP..]).unwrap().recompute_header_checksum();
        }
        through(&mut *check, &bytes).unwrap_err().0
    };
    assert_eq!(fault(&[(IP + 8, 63)], false), "bad-header-checksum");
    assert_eq!(fault(&[(IP + 3, 200)], true), "bad-length");
    assert_eq!(fault(&[(IP + 3, 19)], true), "bad-length");
    assert_eq!(fault(&[(IP + 12, 224)], true), "bad-source");
    assert_eq!(fault(&[(IP + 30, b'P')], false), "bad-transport-checksum");
    assert_eq!(fault(&[(IP + 25, 3)], false), "bad-transport-header");
    assert_eq!(fault(&[(IP, 0x75)], false), "malformed");
    assert_eq!(fault(&[(12, 8), (13, 6)], false), "arp");
    assert_eq!(fault(&[(12, 0x88), (13, 0xcc)], false), "not-ip");
}

#[test]
fn only_headers_are_looked_at_if_so_wanted() {
    let mut bytes = udp(b"payload");
    *bytes.last_mut().unwrap() ^= 1;
    assert_eq!(through(&mut *module("kind = \"check\""), &bytes), Err(ModuleDrop("bad-transport-checksum")));
    assert_eq!(through(&mut *module("kind = \"check\"\ntransport = false"), &bytes), Ok(bytes));
}

proptest! {
    /// Every module, whatever comes: no panic, and what passes is within a frame's room.
    #[test]
    fn no_bytes_are_too_strange_for_any_module(inputs in prop::collection::vec(hostile(), 1..20)) {
        let key = "00".repeat(20);
        let (sha, ends) = ("00".repeat(36), "spi = 256\nsrc = \"192.0.2.1\"\ndst = \"192.0.2.2\"");
        let mut modules = [
            "kind = \"check\"".to_string(),
            "kind = \"monitor\"\ncounters = 8".into(),
            format!("kind = \"esp\"\ntransform = \"aes128-gcm\"\nkey = \"{key}\"\n{ends}"),
            format!("kind = \"esp\"\ntransform = \"aes128-cbc-sha1\"\nkey = \"{sha}\"\n{ends}"),
            format!("kind = \"esp-decap\"\ntransform = \"aes128-gcm\"\nkey = \"{key}\"\nspi = 256"),
            "kind = \"re\"\npackets = 16".into(),
            "kind = \"re-decode\"\npackets = 16".into(),
            "kind = \"forward\"\nroutes = [{ prefix = \"0.0.0.0/0\", mac = \"02:00:00:00:00:01\" }, { prefix = \
             \"::/0\" }]".into(),
            "kind = \"match\"\npatterns = [\"a\"]".into(),
        ].map(|lines| module(&lines));
        for (link, bytes) in &inputs {
            for module in &mut modules {
                let mut frame = frame(bytes, *link);
                let _ = module.process(&mut frame);
                let _ = (module.counters(), module.heavy());
            }
        }
    }
}
