//! The classic format: a file header, then a header and the bytes of each packet.

use dovetail_wire::LinkType;
use pcap_parser::parse_pcap_header;

use super::endian::Endian;
use super::source::Source;
use super::{DamageLog, Format, Frame, MAX_RECORD};

/// Length of the file header in bytes.
pub(super) const FILE_HEADER: usize = 24;
/// Length of a record header that is not of the variant, in bytes.
const PLAIN_HEADER: usize = 16;
/// libpcap writes no longer packets than this, whatever snap length the file header tells.
const MAX_SNAPLEN: u32 = 256 << 10;
/// How many seconds after damage the times of two records may differ to be believed neighbours.
const PLAUSIBLE_GAP: u32 = 24 * 3600;

pub(super) struct Decoder {
    endian: Endian,
    nanoseconds: bool,
    /// Length of a record header in bytes: 24 in the variant of Kuznetzov, which adds interface, protocol and type.
    record_header: usize,
    link: LinkType,
    /// The longest packet that is believed, in bytes.
    limit: u32,
}

struct Header {
    second: u32,
    fraction: u32,
    captured: u32,
    original: u32,
}

pub(super) fn has_magic(head: &[u8]) -> bool {
    head.len() >= 4 && Decoder::from_header(&[head, &[0; FILE_HEADER]].concat()).is_some()
}

impl Decoder {
    pub(super) fn from_header(head: &[u8]) -> Option<(Self, Format)> {
        // The library knows the variant of Kuznetzov in one byte order; in the other, only its magic differs from the
        // plain file header.
        let swapped_variant = head.strip_prefix(b"\xa1\xb2\xcd\x34");
        let plain = swapped_variant.map(|rest| [b"\xa1\xb2\xc3\xd4", rest].concat());
        let (_, header) = parse_pcap_header(plain.as_deref().unwrap_or(head)).ok()?;
        let (nanoseconds, big_endian) = (header.is_nanosecond_precision(), header.is_bigendian());
        let decoder = Self {
            endian: if big_endian { Endian::Big } else { Endian::Little },
            nanoseconds,
            record_header: if header.is_modified_format() || plain.is_some() { 24 } else { PLAIN_HEADER },
            // The upper bits tell the length of a frame check sequence behind each packet; nothing here reads so far.
            link: LinkType((header.network.0 & 0xffff) as u16),
            limit: header.snaplen.clamp(MAX_SNAPLEN, MAX_RECORD as u32),
        };
        Some((decoder, Format::Pcap { nanoseconds, big_endian }))
    }

    pub(super) fn next(&mut self, source: &mut Source<'_>, damage: &mut DamageLog) -> Option<Frame> {
        loop {
            let window = source.want(self.record_header);
            if window.is_empty() {
                return None;
            }
            if let Some(appended) = Self::appended(source) {
                source.consume(FILE_HEADER);
                *self = appended;
                continue;
            }
            match self.record(source) {
                Ok(frame) => return Some(frame),
                Err(reason) => {
                    let offset = source.position();
                    self.resynchronise(source);
                    damage.note(offset, source.position() - offset, || reason);
                }
            }
        }
    }

    /// The file header of another capture that was appended to this one, as by `cat`. As a record of its own byte order
    /// it would be one of no bytes in 2055, and all packets behind it would arrive then.
    fn appended(source: &mut Source<'_>) -> Option<Self> {
        // Time zone and accuracy, which are always 0; of a record, both lengths.
        if source.window().get(8..PLAIN_HEADER) != Some(&[0; 8]) {
            return None;
        }
        let head = source.want(FILE_HEADER);
        let (appended, _) = Self::from_header(head)?;
        let version = match appended.endian {
            Endian::Little => [2, 0, 4, 0],
            Endian::Big => [0, 2, 0, 4],
        };
        (head.get(4..8) == Some(&version)).then_some(appended)
    }

    /// The record at the window's start, or what is wrong with it.
    fn record(&self, source: &mut Source<'_>) -> Result<Frame, String> {
        let window = source.want(self.record_header);
        let Some(header) = self.header(window, 0) else {
            return Err(format!("the capture ends within a record header, after {} bytes", window.len()));
        };
        if header.captured > self.limit {
            return Err(format!(
                "a record claims {} captured bytes, more than the {} that can be",
                header.captured, self.limit
            ));
        }
        // A packet of no bytes has a time; a stretch of zeros has none.
        if header.captured == 0 && header.original == 0 && header.second == 0 && header.fraction == 0 {
            return Err("a record of no bytes".to_owned());
        }
        let len = self.record_header + header.captured as usize;
        let there = source.want(len).len();
        if there < len {
            let there = there - self.record_header;
            return Err(format!("the capture ends within a packet, after {there} of {} bytes", header.captured));
        }
        Ok(Frame {
            time: Some(self.nanos(&header)),
            data: self.record_header..len,
            original_len: header.original,
            link: self.link,
            len,
        })
    }

    /// The record header at `at`, if it is whole.
    fn header(&self, window: &[u8], at: usize) -> Option<Header> {
        let bytes = window.get(at..at + self.record_header)?;
        let [second, fraction, captured, original] = [0, 4, 8, 12].map(|at| self.endian.u32(bytes, at));
        Some(Header { second, fraction, captured, original })
    }

    /// Nanoseconds since 1970. A fraction beyond a second counts as it stands.
    fn nanos(&self, header: &Header) -> u64 {
        let unit = if self.nanoseconds { 1 } else { 1_000 };
        u64::from(header.second) * 1_000_000_000 + u64::from(header.fraction) * unit
    }

    /// Moves on to the next place where a record is followed by another one or by the end; else to the end. Packet
    /// contents pass for that with odds of about 1 in 2^80 per byte.
    fn resynchronise(&self, source: &mut Source<'_>) {
        loop {
            source.consume(1);
            if source.want(self.record_header).is_empty() || Self::appended(source).is_some() {
                return;
            }
            let window = source.window();
            let Some(header) = self.plausible(window, 0) else { continue };
            let next = self.record_header + header.captured as usize;
            let window = source.want(next + self.record_header);
            let neighbour = |other: Header| other.second.abs_diff(header.second) <= PLAUSIBLE_GAP;
            if window.len() == next || self.plausible(window, next).is_some_and(neighbour) {
                return;
            }
        }
    }

    /// The record header at `at`, if it is whole and nothing in it is odd.
    fn plausible(&self, window: &[u8], at: usize) -> Option<Header> {
        let header = self.header(window, at)?;
        let one_second = if self.nanoseconds { 1_000_000_000 } else { 1_000_000 };
        let believed = header.fraction < one_second
            && (1..=self.limit).contains(&header.captured)
            && (header.captured..=MAX_RECORD as u32).contains(&header.original);
        believed.then_some(header)
    }
}
