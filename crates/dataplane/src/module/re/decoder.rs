//! The end that restores packets.

use ahash::RandomState;
use dovetail_wire::IpView;
use hashbrown::HashMap;
use serde::Deserialize;
use twox_hash::XxHash3_64;

use super::super::{Module, ModuleDrop, ModuleError, ip_offset};
use super::encoder::is_fragment;
use super::store::Store;
use super::{ENCODED, LONGEST_PAYLOAD, REFERENCE, Reference, SHIM, check, is_remembered, no_memory, set_header};
use crate::frame::Frame;

/// Parameters of [`Decoder`].
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DecoderConfig {
    /// Packets that are remembered: 16 to 65536, some 2 kB each. At least those that the encoder remembers.
    pub packets: usize,
}

impl Default for DecoderConfig {
    fn default() -> Self {
        Self { packets: 4096 }
    }
}

/// Restores what an [`Encoder`](super::Encoder) made shorter.
pub struct Decoder {
    store: Store,
    /// From the hash of remembered bytes to their latest slot. Looked up only, never walked through, and never
    /// longer than the store. Whoever sends packets can choose the keys, but not where they go.
    slots: HashMap<u64, u32, RandomState>,
    scratch: Box<[u8; LONGEST_PAYLOAD]>,
    restored: u64,
    missing: u64,
}

const MISSING: ModuleDrop = ModuleDrop("re-missing");

impl Decoder {
    /// A module with these parameters.
    ///
    /// # Errors
    /// One is out of range.
    pub fn new(config: &DecoderConfig) -> Result<Self, ModuleError> {
        let store = Store::new(config.packets)?;
        let mut slots = HashMap::with_hasher(RandomState::new());
        slots.try_reserve(store.capacity() * 2).map_err(|_| no_memory())?;
        Ok(Self { store, slots, scratch: Box::new([0; LONGEST_PAYLOAD]), restored: 0, missing: 0 })
    }

    /// Remember bytes that came as they are.
    fn remember(&mut self, came: &[u8]) {
        if !is_remembered(came) {
            return;
        }
        let key = XxHash3_64::oneshot(came);
        let (slot, old) = self.store.insert(key, came);
        if let Some(old) = old.filter(|old| self.slots.get(old) == Some(&(slot as u32))) {
            self.slots.remove(&old);
        }
        self.slots.insert(key, slot as u32);
    }

    /// Restore `encoded` in `scratch`. The length and the protocol.
    fn restore(&mut self, encoded: &[u8]) -> Result<(usize, u8), ModuleDrop> {
        let malformed = ModuleDrop("re-malformed");
        let (&[protocol, count, l0, l1, s0, s1, s2, s3, c0, c1, c2, c3], rest) =
            encoded.split_first_chunk::<SHIM>().ok_or(malformed)?;
        let len = usize::from(u16::from_be_bytes([l0, l1]));
        let out = self.scratch.get_mut(..len).ok_or(malformed)?;
        let (references, mut literal) = rest.split_at_checked(usize::from(count) * REFERENCE).ok_or(malformed)?;
        let mut done = 0;
        for reference in references.as_chunks::<REFERENCE>().0 {
            let Reference { key, from, to, len } = Reference::read(reference);
            let (from, to, len) = (usize::from(from), usize::from(to), usize::from(len));
            let gap = to.checked_sub(done).ok_or(malformed)?;
            let (bytes, left) = literal.split_at_checked(gap).ok_or(malformed)?;
            out.get_mut(done..to).ok_or(malformed)?.copy_from_slice(bytes);
            literal = left;
            let Some(&slot) = self.slots.get(&key) else {
                self.missing += 1;
                return Err(MISSING);
            };
            let (_, remembered) = self.store.get(slot as usize);
            let bytes = remembered.get(from..from + len).ok_or(malformed)?;
            out.get_mut(to..to + len).ok_or(malformed)?.copy_from_slice(bytes);
            done = to + len;
        }
        let last = &mut out[done..];
        if last.len() != literal.len() {
            return Err(malformed);
        }
        last.copy_from_slice(literal);
        if check(u32::from_be_bytes([s0, s1, s2, s3]), out) != u32::from_be_bytes([c0, c1, c2, c3]) {
            return Err(ModuleDrop("re-corrupt"));
        }
        Ok((len, protocol))
    }
}

impl Module for Decoder {
    fn name(&self) -> &'static str {
        "re-decode"
    }

    /// Drops `re-missing` (a packet that it refers to was lost), `re-malformed`, `re-corrupt` (what was restored has
    /// another hash), `bad-length`, or the name of what is no IP packet. O(length).
    fn process(&mut self, frame: &mut Frame) -> Result<(), ModuleDrop> {
        let at = ip_offset(frame)?;
        let ip = IpView::new(&frame.data()[at..])?;
        let (header, total, fragment) = (ip.header_len(), ip.total_len(), is_fragment(&ip));
        if !(header..=frame.len() - at).contains(&total) {
            return Err(ModuleDrop("bad-length"));
        }
        let start = at + header;
        let payload = &frame.data()[start..at + total];
        if ip.protocol() != ENCODED {
            if !fragment {
                self.remember(payload);
            }
            return Ok(());
        }
        if fragment {
            return Err(ModuleDrop("re-malformed"));
        }
        let restored = self.restore(payload);
        // What stands beside the references is good for later packets also where it is of no use to this one.
        if matches!(restored, Ok(_) | Err(MISSING)) {
            let count = usize::from(payload[1]);
            self.remember(&payload[SHIM + count * REFERENCE..]);
        }
        let (len, protocol) = restored?;
        frame.truncate(at + total);
        let more = (start + len).checked_sub(frame.len()).ok_or(ModuleDrop("re-malformed"))?;
        frame.grow_back(more).map_err(|_| ModuleDrop("re-malformed"))?;
        frame.data_mut()[start..].copy_from_slice(&self.scratch[..len]);
        set_header(&mut frame.data_mut()[at..], protocol, len);
        self.restored += 1;
        Ok(())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("restored", self.restored), ("missing", self.missing)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_can_tell_which_keys_share_a_place_in_the_table() {
        let decoder = || Decoder::new(&DecoderConfig { packets: 16 }).unwrap();
        let place = |decoder: &Decoder| decoder.slots.hasher().hash_one(1u64);
        assert_ne!(place(&decoder()), place(&decoder()));
    }
}
