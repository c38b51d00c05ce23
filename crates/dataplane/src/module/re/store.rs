//! What was sent as it is in the last packets.

use super::super::ModuleError;
use super::{LONGEST_PAYLOAD, granted};

/// A ring of pieces, one of a packet, with their hashes.
pub(super) struct Store {
    bytes: Box<[u8]>,
    slots: Box<[Slot]>,
    next: usize,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    key: u64,
    len: u16,
}

impl Store {
    /// For `packets` pieces: 16 to 65536.
    pub(super) fn new(packets: usize) -> Result<Self, ModuleError> {
        if !(16..=65536).contains(&packets) {
            return Err(ModuleError::new("packets", "expected 16 to 65536"));
        }
        granted::<u8>(packets * LONGEST_PAYLOAD)?;
        Ok(Self {
            bytes: vec![0; packets * LONGEST_PAYLOAD].into(),
            slots: vec![Slot::default(); packets].into(),
            next: 0,
        })
    }

    /// The piece in `slot` and its key; empty if there is none.
    pub(super) fn get(&self, slot: usize) -> (u64, &[u8]) {
        let Slot { key, len } = self.slots[slot];
        let start = slot * LONGEST_PAYLOAD;
        (key, &self.bytes[start..start + usize::from(len)])
    }

    /// Remember `piece` in place of the oldest. Its slot, and the key of what was there.
    pub(super) fn insert(&mut self, key: u64, piece: &[u8]) -> (usize, Option<u64>) {
        let slot = self.next;
        self.next = (slot + 1) % self.slots.len();
        let len = piece.len().min(LONGEST_PAYLOAD);
        let old = self.slots[slot];
        self.slots[slot] = Slot { key, len: len as u16 };
        let start = slot * LONGEST_PAYLOAD;
        self.bytes[start..start + len].copy_from_slice(&piece[..len]);
        (slot, (old.len > 0).then_some(old.key))
    }

    /// Number of slots.
    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }
}
