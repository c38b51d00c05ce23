//! Numbers of either byte order.

/// A byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endian {
    Little,
    Big,
}

impl Endian {
    /// The number at `at`; zero beyond the end, which callers exclude by asking for enough bytes.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let field = bytes.get(at..).and_then(|b| b.first_chunk()).copied().unwrap_or_default();
        match self {
            Self::Little => u16::from_le_bytes(field),
            Self::Big => u16::from_be_bytes(field),
        }
    }

    /// As [`u16`](Self::u16).
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let field = bytes.get(at..).and_then(|b| b.first_chunk()).copied().unwrap_or_default();
        match self {
            Self::Little => u32::from_le_bytes(field),
            Self::Big => u32::from_be_bytes(field),
        }
    }
}
