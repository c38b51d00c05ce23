//! The end that makes packets shorter.

use dovetail_wire::IpView;
use gearhash::Hasher;
use ring::rand::{SecureRandom, SystemRandom};
use serde::Deserialize;
use twox_hash::XxHash3_64;

use super::super::{Module, ModuleDrop, ModuleError, ip_offset};
use super::store::Store;
use super::{ENCODED, REFERENCE, REFERENCES, Reference, SHIM, WINDOW, check, granted, is_remembered, set_header};
use crate::frame::{BUFFER, Frame};

/// One window in 32 is sampled: the top five bits of its hash, which depend on all 64 bytes, are zero.
const SAMPLE: u64 = 0xf800_0000_0000_0000;
/// The most samples of a packet; the mean is 60 for the longest.
const SAMPLES: usize = 128;
/// The most packets that refer to a remembered one, which are lost with it. Then its bytes are sent once more.
const LATER: u8 = 8;
/// TCP flows whose progress is known, a power of two.
const FLOWS: usize = 1 << 14;

/// Parameters of [`Encoder`].
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EncoderConfig {
    /// Packets that are remembered: 16 to 65536, some 4 kB each. At most those that the decoder remembers.
    pub packets: usize,
}

impl Default for EncoderConfig {
    fn default() -> Self {
        Self { packets: 4096 }
    }
}

/// Replaces what went by lately.
pub struct Encoder {
    store: Store,
    /// Of the checks, which senders do not know.
    seed: u32,
    /// How many packets referred to what is in a slot.
    uses: Box<[u8]>,
    /// By the fingerprint's upper bits; the latest counts.
    fingerprints: Box<[Fingerprint]>,
    /// By the flow's hash: the flow, and the sequence number behind its last byte.
    progress: Box<[(u64, u32)]>,
    scratch: Box<[u8; BUFFER]>,
    encoded: u64,
    bytes_in: u64,
    bytes_out: u64,
}

#[derive(Clone, Copy, Default)]
struct Fingerprint {
    hash: u64,
    slot: u32,
    /// Where in the payload the window ends; 0: nothing here.
    end: u16,
}

/// Sampled windows of a payload: hash, and where they end.
struct Samples {
    list: [(u64, u16); SAMPLES],
    len: usize,
}

/// References of a packet, in order, and to which slots.
#[derive(Default)]
struct References {
    list: [Reference; REFERENCES],
    slots: [u32; REFERENCES],
    len: usize,
    covered: usize,
}

impl Encoder {
    /// A module with these parameters.
    ///
    /// # Errors
    /// One is out of range.
    pub fn new(config: &EncoderConfig) -> Result<Self, ModuleError> {
        let store = Store::new(config.packets)?;
        // Room for the samples of packets of 1500 bytes, half full.
        let fingerprints = (config.packets * 96).next_power_of_two();
        granted::<Fingerprint>(fingerprints)?;
        let mut seed = [0; 4];
        SystemRandom::new()
            .fill(&mut seed)
            .map_err(|_| ModuleError::new("kind", "the system gives no random numbers"))?;
        Ok(Self {
            store,
            seed: u32::from_ne_bytes(seed),
            uses: vec![0; config.packets].into(),
            fingerprints: vec![Fingerprint::default(); fingerprints].into(),
            progress: vec![(0, 0); FLOWS].into(),
            scratch: Box::new([0; BUFFER]),
            encoded: 0,
            bytes_in: 0,
            bytes_out: 0,
        })
    }

    fn place(&self, hash: u64) -> usize {
        // Bit k depends on the last k + 1 bytes only: the upper ones tell windows apart, but for those that are zero in
        // all samples.
        (hash << SAMPLE.leading_ones() >> (u64::BITS - self.fingerprints.len().trailing_zeros())) as usize
    }

    /// Whether TCP has sent bytes of this packet before, and note how far it has come.
    fn is_sent_again(&mut self, ip: &IpView<&[u8]>, payload: &[u8]) -> bool {
        let Some((6, place)) = ip.transport() else { return false };
        let &[_, _, _, _, s0, s1, s2, s3, _, _, _, _, offset, flags] = match payload.first_chunk::<14>() {
            Some(header) if place.start == ip.header_len() => header,
            _ => return false,
        };
        let data = payload.len().saturating_sub(usize::from(offset >> 4) * 4);
        let mut flow = [0; 36];
        let addresses = [ip.source(), ip.destination()].map(|a| match a {
            std::net::IpAddr::V4(a) => a.to_ipv6_mapped().octets(),
            std::net::IpAddr::V6(a) => a.octets(),
        });
        flow[..16].copy_from_slice(&addresses[0]);
        flow[16..32].copy_from_slice(&addresses[1]);
        flow[32..].copy_from_slice(&payload[..4]);
        let flow = XxHash3_64::oneshot(&flow);
        let end = u32::from_be_bytes([s0, s1, s2, s3]).wrapping_add(data as u32);
        let entry = &mut self.progress[flow as usize % FLOWS];
        const SYN: u8 = 2;
        // Serial number arithmetic (RFC 1982): what is not ahead was sent before.
        let ahead = (end.wrapping_sub(entry.1) as i32) > 0;
        if entry.0 == flow && !ahead && flags & SYN == 0 {
            return data > 0;
        }
        *entry = (flow, end);
        false
    }

    fn find(&self, payload: &[u8], samples: &mut Samples) -> References {
        let mut found = References::default();
        let mut hasher = Hasher::default();
        let (mut at, mut done) = (0, 0);
        while let Some(step) = hasher.next_match(&payload[at..], SAMPLE) {
            at += step;
            if at < WINDOW || samples.len == SAMPLES {
                continue;
            }
            let hash = hasher.get_hash();
            samples.list[samples.len] = (hash, at as u16);
            samples.len += 1;
            if at - WINDOW < done || found.len == REFERENCES {
                continue;
            }
            if let Some((reference, slot)) = self.reference(payload, done, at, hash) {
                done = usize::from(reference.to + reference.len);
                found.covered += usize::from(reference.len);
                (found.list[found.len], found.slots[found.len]) = (reference, slot);
                found.len += 1;
            }
        }
        found
    }

    /// The longest match with remembered bytes around the window that ends at `end`, of what is not `done`, and their
    /// slot.
    fn reference(&self, payload: &[u8], done: usize, end: usize, hash: u64) -> Option<(Reference, u32)> {
        let seen = self.fingerprints[self.place(hash)];
        let (key, bytes) = self.store.get(seen.slot as usize);
        let there = usize::from(seen.end);
        // The slot may hold another packet by now.
        if self.uses[seen.slot as usize] == LATER {
            return None;
        }
        if seen.hash != hash || there < WINDOW || bytes.get(there - WINDOW..there)? != &payload[end - WINDOW..end] {
            return None;
        }
        let alike = |(a, b): &(&u8, &u8)| a == b;
        let after = payload[end..].iter().zip(&bytes[there..]).take_while(alike).count();
        let before = payload[done..end - WINDOW].iter().rev().zip(bytes[..there - WINDOW].iter().rev());
        let before = before.take_while(alike).count() + WINDOW;
        let (from, to) = ((there - before) as u16, (end - before) as u16);
        Some((Reference { key, from, to, len: (before + after) as u16 }, seen.slot))
    }

    /// Remember the bytes that are `sent` as they are: all but those of the references in `found`.
    fn remember(&mut self, sent: &[u8], samples: &Samples, found: &References) {
        let (slot, _) = self.store.insert(XxHash3_64::oneshot(sent), sent);
        self.uses[slot] = 0;
        let mut references = found.list[..found.len].iter().peekable();
        // Where the bytes since the last reference begin in the payload, and how many before them are not sent.
        let (mut start, mut left_out) = (0, 0);
        for &(hash, end) in &samples.list[..samples.len] {
            while let Some(reference) = references.next_if(|reference| reference.to < end) {
                (start, left_out) = (reference.to + reference.len, left_out + reference.len);
            }
            if usize::from(end) >= usize::from(start) + WINDOW {
                let place = self.place(hash);
                self.fingerprints[place] = Fingerprint { hash, slot: slot as u32, end: end - left_out };
            }
        }
    }

    /// Count this packet with those that refer to what it refers to.
    fn count(&mut self, found: &References) {
        let slots = &found.slots[..found.len];
        for (k, slot) in slots.iter().enumerate() {
            self.uses[*slot as usize] += u8::from(!slots[..k].contains(slot));
        }
    }

    /// The encoded payload in `scratch`, and its length.
    fn write(&mut self, payload: &[u8], protocol: u8, found: &References) -> usize {
        let out = &mut self.scratch;
        out[0] = protocol;
        out[1] = found.len as u8;
        out[2..4].copy_from_slice(&(payload.len() as u16).to_be_bytes());
        out[4..8].copy_from_slice(&self.seed.to_be_bytes());
        out[8..SHIM].copy_from_slice(&check(self.seed, payload).to_be_bytes());
        let (mut at, mut done) = (SHIM + found.len * REFERENCE, 0);
        let references = out[SHIM..at].as_chunks_mut::<REFERENCE>().0;
        found.list.iter().zip(references).for_each(|(reference, place)| reference.write(place));
        let mut copy = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        for reference in &found.list[..found.len] {
            let to = usize::from(reference.to);
            copy(&payload[done..to]);
            done = to + usize::from(reference.len);
        }
        copy(&payload[done..]);
        at
    }
}

impl Module for Encoder {
    fn name(&self) -> &'static str {
        "re"
    }

    /// Drops `re-reserved-protocol` (a packet with protocol 253 that cannot be told from an encoded one), `bad-length`,
    /// or the name of what is no IP packet. O(length).
    fn process(&mut self, frame: &mut Frame) -> Result<(), ModuleDrop> {
        let at = ip_offset(frame)?;
        let ip = IpView::new(&frame.data()[at..])?;
        let (header, total, protocol) = (ip.header_len(), ip.total_len(), ip.protocol());
        if !(header..=frame.len() - at).contains(&total) {
            return Err(ModuleDrop("bad-length"));
        }
        if protocol == ENCODED {
            return Err(ModuleDrop("re-reserved-protocol"));
        }
        let payload = &frame.data()[at + header..at + total];
        self.bytes_in += payload.len() as u64;
        if !is_remembered(payload) || is_fragment(&ip) {
            self.bytes_out += payload.len() as u64;
            return Ok(());
        }
        let mut samples = Samples { list: [(0, 0); SAMPLES], len: 0 };
        let found = self.find(payload, &mut samples);
        let again = self.is_sent_again(&ip, payload);
        if again || found.covered <= SHIM + found.len * REFERENCE {
            self.bytes_out += payload.len() as u64;
            self.remember(payload, &samples, &References::default());
            return Ok(());
        }
        let len = self.write(payload, protocol, &found);
        self.count(&found);
        let start = at + header;
        frame.truncate(start + len);
        frame.data_mut()[start..].copy_from_slice(&self.scratch[..len]);
        set_header(&mut frame.data_mut()[at..], ENCODED, len);
        let sent = &frame.data()[start + SHIM + found.len * REFERENCE..];
        if is_remembered(sent) {
            self.remember(sent, &samples, &found);
        }
        self.encoded += 1;
        self.bytes_out += len as u64;
        Ok(())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("encoded", self.encoded), ("bytes_in", self.bytes_in), ("bytes_out", self.bytes_out)]
    }
}

/// Whether it is a fragment; of IPv6, where the fragment header comes first, which is where it stands behind no others.
pub(super) fn is_fragment<B: AsRef<[u8]>>(ip: &IpView<B>) -> bool {
    const FRAGMENT_HEADER: u8 = 44;
    ip.is_v4_fragment() || ip.is_v6() && ip.protocol() == FRAGMENT_HEADER
}
