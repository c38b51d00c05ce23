//! The decrypting end of the tunnel.

use std::path::{Path, PathBuf};

use dovetail_wire::IpView;
use serde::Deserialize;

use super::super::config::read_key;
use super::super::{Module, ModuleDrop, ModuleError, Secret, ip, ip_offset};
use super::cipher::{Cipher, Transform};
use super::encapsulate::check_spi;
use super::window::ReplayWindow;
use super::{ESP, HEADER, IPV4, IPV6, TRAILER, set_ether_type};
use crate::frame::Frame;

/// Parameters of [`Decapsulate`].
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecapsulateConfig {
    /// How packets are encrypted.
    pub transform: Transform,
    /// The key in hexadecimal digits; its length depends on the transform.
    pub key: Option<Secret>,
    /// A file with the key instead.
    pub key_file: Option<PathBuf>,
    /// Security parameters index, at least 256.
    pub spi: u32,
    /// How far a packet may be behind the latest one, sequence numbers, 32 to 65536 (RFC 4303 section 3.4.3).
    #[serde(default = "window")]
    pub window: u32,
}

fn window() -> u32 {
    1024
}

/// Restores packets that came by a tunnel.
pub struct Decapsulate {
    cipher: Cipher,
    transform: Transform,
    spi: u32,
    replay: ReplayWindow,
}

impl Decapsulate {
    /// A module with these parameters.
    ///
    /// # Errors
    /// One is out of range, or the key is not there.
    pub fn new(config: &DecapsulateConfig, folder: &Path) -> Result<Self, ModuleError> {
        let key = read_key(config.key.as_ref(), config.key_file.as_deref(), folder, config.transform.key_len())?;
        check_spi(config.spi)?;
        if !(32..=65_536).contains(&config.window) {
            return Err(ModuleError::new("window", "expected 32 to 65536"));
        }
        Ok(Self {
            cipher: Cipher::new(config.transform, &key)?,
            transform: config.transform,
            spi: config.spi,
            replay: ReplayWindow::new(config.window),
        })
    }

    /// Decrypt in place; the inner packet begins this many bytes behind the ESP header, and has this length and
    /// version.
    fn open(&mut self, esp: &mut [u8], ecn: u8) -> Result<(usize, usize, bool), ModuleDrop> {
        let malformed = ModuleDrop("esp-malformed");
        let &[s0, s1, s2, s3, n0, n1, n2, n3] = esp.first_chunk::<HEADER>().ok_or(malformed)?;
        if u32::from_be_bytes([s0, s1, s2, s3]) != self.spi {
            return Err(ModuleDrop("esp-unknown-spi"));
        }
        let sequence = u32::from_be_bytes([n0, n1, n2, n3]);
        if !self.replay.is_new(sequence) {
            return Err(ModuleDrop("esp-replayed"));
        }
        self.cipher.open(esp).map_err(|_| ModuleDrop("esp-not-authentic"))?;
        self.replay.note(sequence);

        let start = HEADER + self.transform.iv_len();
        let end = esp.len() - self.transform.icv_len();
        let text = esp.get_mut(start..end).ok_or(malformed)?;
        let &[padding, next] = text.last_chunk::<TRAILER>().ok_or(malformed)?;
        let len = text.len().checked_sub(TRAILER + usize::from(padding)).ok_or(malformed)?;
        if !text[len..len + usize::from(padding)].iter().zip(1..).all(|(&byte, k)| byte == k) {
            return Err(malformed);
        }
        let mut inner = IpView::new(&mut text[..len]).map_err(|_| malformed)?;
        let v6 = inner.is_v6();
        let whole = (inner.header_len()..=len).contains(&inner.total_len());
        if next != if v6 { IPV6 } else { IPV4 } || !whole {
            return Err(malformed);
        }
        inner.set_ecn(decapsulated_ecn(inner.ecn(), ecn).ok_or(ModuleDrop("esp-congested"))?);
        Ok((start, inner.total_len(), v6))
    }
}

impl Module for Decapsulate {
    fn name(&self) -> &'static str {
        "esp-decap"
    }

    /// Drops `esp-none` (no ESP packet, or a fragment of one), `esp-unknown-spi`, `esp-replayed`, `esp-not-authentic`,
    /// `esp-malformed`, `esp-congested` (the tunnel marked a packet whose sender does not know marks, RFC 6040
    /// section 4.2), `link-header-unfit`, or the name of what is no IP packet. O(length).
    fn process(&mut self, frame: &mut Frame) -> Result<(), ModuleDrop> {
        let at = ip_offset(frame)?;
        let (place, ecn) = {
            let outer = ip(frame)?;
            let (protocol, place) = outer.transport().ok_or(ModuleDrop("esp-none"))?;
            if protocol != ESP {
                return Err(ModuleDrop("esp-none"));
            }
            (place, outer.ecn())
        };
        let data = frame.data_mut();
        let (skip, len, v6) = self.open(&mut data[at..][place.clone()], ecn)?;
        set_ether_type(frame.link, &mut frame.data_mut()[..at], v6)?;
        let front = place.start + skip;
        frame.data_mut().copy_within(..at, front);
        frame.shrink_front(front);
        frame.truncate(at + len);
        Ok(())
    }
}

/// RFC 6040 section 4.2, Fig. 4; `None`: the packet is to be dropped.
fn decapsulated_ecn(inner: u8, outer: u8) -> Option<u8> {
    const NOT_ECT: u8 = 0;
    const ECT_1: u8 = 1;
    const ECT_0: u8 = 2;
    const CE: u8 = 3;
    match (inner, outer) {
        (NOT_ECT, CE) => None,
        (NOT_ECT, _) => Some(NOT_ECT),
        (_, CE) => Some(CE),
        (ECT_0, ECT_1) => Some(ECT_1),
        (inner, _) => Some(inner),
    }
}
