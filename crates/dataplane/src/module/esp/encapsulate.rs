//! The encrypting end of the tunnel.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aes::Aes128Enc;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use dovetail_wire::IpView;
use ring::rand::{SecureRandom, SystemRandom};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::super::config::read_key;
use super::super::{Around, Module, ModuleDrop, ModuleError, Secret, ip, ip_offset};
use super::cipher::{Cipher, Transform};
use super::fit::Fit;
use super::sequence::{Association, Sequence};
use super::{ESP, HEADER, IPV4, IPV6, OUTER, TRAILER, set_ether_type};
use crate::frame::{Frame, NoRoom};

/// Parameters of [`Encapsulate`].
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncapsulateConfig {
    /// How packets are encrypted.
    pub transform: Transform,
    /// The key in hexadecimal digits; its length depends on the transform.
    pub key: Option<Secret>,
    /// A file with the key instead.
    pub key_file: Option<PathBuf>,
    /// Security parameters index, at least 256 (RFC 4303 section 2.1).
    pub spi: u32,
    /// The tunnel's ends: this one
    #[serde(deserialize_with = "address")]
    pub src: Ipv4Addr,
    /// and the other one.
    #[serde(deserialize_with = "address")]
    pub dst: Ipv4Addr,
    /// TTL of outer headers.
    #[serde(default = "ttl")]
    pub ttl: u8,
    /// The longest outer packet in bytes, 576 to 1600. Packets that would become longer are cut, or dropped and their
    /// senders told.
    #[serde(default = "mtu")]
    pub mtu: u16,
    /// Whether IPv4 packets that may be cut are.
    #[serde(default = "yes")]
    pub fragment: bool,
    /// Whether the largest segments that TCP allows when it begins, either way, are made to fit.
    #[serde(default = "yes")]
    pub clamp_mss: bool,
    /// The address from which IPv4 senders are told that a packet is too long. Default `src`.
    pub icmp_src: Option<Ipv4Addr>,
    /// The one for IPv6 senders. Default the one that the packet was for.
    pub icmp_src6: Option<Ipv6Addr>,
}

impl EncapsulateConfig {
    /// Between these ends, with a key that stands here, and defaults for all else.
    pub fn new(transform: Transform, key: Secret, spi: u32, [src, dst]: [Ipv4Addr; 2]) -> Self {
        Self {
            transform,
            key: Some(key),
            key_file: None,
            spi,
            src,
            dst,
            ttl: ttl(),
            mtu: mtu(),
            fragment: true,
            clamp_mss: true,
            icmp_src: None,
            icmp_src6: None,
        }
    }
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ipv4Addr, D::Error> {
    let text = String::deserialize(deserializer)?;
    let expected = |_| D::Error::custom(format!("{text:?}: expected an IPv4 address such as `192.0.2.1`"));
    text.parse().map_err(expected)
}

fn ttl() -> u8 {
    64
}

fn mtu() -> u16 {
    1500
}

fn yes() -> bool {
    true
}

/// Encrypts packets into a tunnel.
pub struct Encapsulate {
    cipher: Cipher,
    transform: Transform,
    outer: [u8; OUTER],
    spi: u32,
    sequence: Arc<Sequence>,
    iv: IvSource,
    mtu: usize,
    fit: Fit,
}

impl Encapsulate {
    /// A module with these parameters.
    ///
    /// # Errors
    /// One is out of range, or the key is not there.
    pub fn new(config: &EncapsulateConfig, folder: &Path) -> Result<Self, ModuleError> {
        let key = read_key(config.key.as_ref(), config.key_file.as_deref(), folder, config.transform.key_len())?;
        check_spi(config.spi)?;
        if !(576..=1600).contains(&config.mtu) {
            return Err(ModuleError::new("mtu", "expected 576 to 1600"));
        }
        if config.ttl == 0 {
            return Err(ModuleError::new("ttl", "expected 1 to 255"));
        }
        let mut outer = [0; OUTER];
        outer[0] = 0x45;
        outer[8] = config.ttl;
        outer[9] = ESP;
        outer[12..16].copy_from_slice(&config.src.octets());
        outer[16..].copy_from_slice(&config.dst.octets());
        Ok(Self {
            cipher: Cipher::new(config.transform, &key)?,
            transform: config.transform,
            outer,
            spi: config.spi,
            sequence: Sequence::new(Association::new(config.transform, &key, config.spi)),
            iv: IvSource::new(config.transform)?,
            mtu: config.mtu.into(),
            fit: Fit::new(
                config.transform,
                config.mtu.into(),
                [config.fragment, config.clamp_mss],
                config.icmp_src.unwrap_or(config.src),
                config.icmp_src6,
            ),
        })
    }

    /// Go on with this sequence number (from 1).
    pub fn set_sequence(&mut self, next: u32) {
        self.sequence.skip_to(next);
    }

    /// The outer header: DSCP and ECN as inside (RFC 6040 section 4.1, normal mode), Don't Fragment as inside if that
    /// is IPv4.
    fn outer_header(&self, sequence: u32, len: usize, class: u8, dont_fragment: bool) -> [u8; OUTER] {
        let mut header = self.outer;
        header[1] = class;
        header[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        header[4..6].copy_from_slice(&(sequence as u16).to_be_bytes());
        header[6] = if dont_fragment { 0x40 } else { 0 };
        header
    }
}

impl Module for Encapsulate {
    fn name(&self) -> &'static str {
        "esp"
    }

    /// Drops `esp-too-big`, `esp-sequence-exhausted` (the key must be changed: a sequence number is never used twice),
    /// `esp-sequence-unsaved` (the next box would use the number again),
    /// `link-header-unfit`, `bad-length`, or the name of what is no IP packet. O(length).
    fn process(&mut self, frame: &mut Frame) -> Result<(), ModuleDrop> {
        let at = ip_offset(frame)?;
        let (v6, len, class, dont_fragment) = {
            let ip = ip(frame)?;
            let dont_fragment = ip.is_v6() || frame.data()[at + 6] & 0x40 != 0;
            (ip.is_v6(), ip.total_len(), ip.traffic_class(), dont_fragment)
        };
        if !(OUTER..=frame.len() - at).contains(&len) {
            return Err(ModuleDrop("bad-length"));
        }
        let (iv, padding) = (self.transform.iv_len(), self.transform.padding(len));
        let outer_len = len + self.transform.overhead(len);
        if outer_len > self.mtu {
            return Err(ModuleDrop("esp-too-big"));
        }
        let sequence = self.sequence.take()?;
        set_ether_type(frame.link, &mut frame.data_mut()[..at], false)?;

        let front = OUTER + HEADER + iv;
        frame.truncate(at + len);
        let room = |_: NoRoom| ModuleDrop("esp-too-big");
        frame.grow_back(padding + TRAILER + self.transform.icv_len()).map_err(room)?;
        frame.grow_front(front).map_err(room)?;
        let data = frame.data_mut();
        data.copy_within(front..front + at, 0);
        let (header, esp) = data[at..].split_at_mut(OUTER);
        header.copy_from_slice(&self.outer_header(sequence, outer_len, class, dont_fragment));
        esp[..4].copy_from_slice(&self.spi.to_be_bytes());
        esp[4..8].copy_from_slice(&sequence.to_be_bytes());
        self.iv.next(&mut esp[HEADER..HEADER + iv]);
        let trailer = &mut esp[HEADER + iv + len..];
        trailer[..padding].iter_mut().zip(1..).for_each(|(byte, k)| *byte = k);
        trailer[padding] = padding as u8;
        trailer[padding + 1] = if v6 { IPV6 } else { IPV4 };
        self.cipher.seal(esp).map_err(|_| ModuleDrop("esp-too-big"))?;
        IpView::new(&mut data[at..])?.recompute_header_checksum();
        Ok(())
    }

    /// Drops `esp-too-big`, and `bad-header-checksum` of what would be cut.
    fn prepare(&mut self, around: &mut Around<'_>, frame: &mut Frame) -> Result<(), ModuleDrop> {
        self.fit.prepare(around, frame)
    }

    fn sequence(&mut self) -> Option<&mut Arc<Sequence>> {
        Some(&mut self.sequence)
    }

    fn opening(&mut self, packet: &mut [u8]) {
        self.fit.clamp(packet);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.sequence.counters().into_iter().chain(self.fit.counters()).collect()
    }
}

/// SPI 0 to 255 are reserved.
pub(super) fn check_spi(spi: u32) -> Result<(), ModuleError> {
    if spi < 256 { Err(ModuleError::new("spi", "0 to 255 are reserved, expected at least 256")) } else { Ok(()) }
}

/// Where IVs come from. What must never happen is kept from happening after a restart with the same key too.
enum IvSource {
    /// GCM: never the same twice. A counter that begins at random: two runs of 2^40 packets meet with probability
    /// 2^-23.
    Counter(u64),
    /// CBC: not to be foreseen (RFC 3602 section 3). A counter encrypted with a random key.
    Encrypted { key: Aes128Enc, counter: u128 },
}

impl IvSource {
    fn new(transform: Transform) -> Result<Self, ModuleError> {
        let mut random = [0; 16];
        SystemRandom::new()
            .fill(&mut random)
            .map_err(|_| ModuleError::new("transform", "the system gives no random numbers"))?;
        Ok(match transform {
            Transform::Aes128Gcm => Self::Counter(u128::from_ne_bytes(random) as u64),
            Transform::Aes128CbcSha1 => Self::Encrypted { key: Aes128Enc::new(&random.into()), counter: 0 },
        })
    }

    fn next(&mut self, iv: &mut [u8]) {
        match self {
            Self::Counter(counter) => {
                *counter = counter.wrapping_add(1);
                iv.copy_from_slice(&counter.to_be_bytes());
            }
            Self::Encrypted { key, counter } => {
                *counter += 1;
                let mut block = counter.to_be_bytes().into();
                key.encrypt_block(&mut block);
                iv.copy_from_slice(&block);
            }
        }
    }
}
