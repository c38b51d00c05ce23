//! Reading captures as a stream.
//!
//! The `pcap-parser` crate parses file headers of pcap, and of pcapng interface descriptions, options and simple
//! packets. Damaged captures are normal input here, and that crate's readers stop at the first damage, so that its
//! parsers are used on a window of our own, and what they lack is ours: bounded memory, account of the damage, a place
//! to go on, and the clocks of interfaces (the crate's arithmetic lacks binary resolutions and overflows).
//!
//! What must be judged before as many bytes are asked for is ours too: the record header of pcap, four numbers, and the
//! frame of a pcapng block. So are pcapng's packets with a time: the crate does not know the obsolete form of them,
//! refuses one that claims more bytes than its block has, and makes a list of the options of each, up to eight times
//! their size.

mod ahead;
mod endian;
mod pcap;
mod pcapng;
mod source;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use dovetail_units::Time;
use dovetail_wire::LinkType;

use crate::error::TraceError;
use source::Source;

/// No packet and no block is larger than this many bytes; a header that claims more is damage. (libpcap: 256 KiB; some
/// link types more.)
const MAX_RECORD: usize = 16 << 20;

/// A captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// When it was captured, in nanoseconds since 1970; never before the previous record. `None` if the capture does
    /// not say (pcapng simple packets before any other).
    pub time: Option<Time>,
    /// The captured bytes, from the link header on; maybe fewer than the packet had.
    pub data: &'a [u8],
    /// Length of the packet before it was cut, in bytes, as the capture tells it; at most 16 MiB.
    pub original_len: u32,
    /// What the first byte of `data` is.
    pub link: LinkType,
}

/// A capture's file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The classic format.
    Pcap {
        /// Time stamps in nanoseconds rather than microseconds.
        nanoseconds: bool,
        /// Most significant byte first.
        big_endian: bool,
    },
    /// The block format.
    Pcapng,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Pcapng => f.write_str("pcapng"),
            Self::Pcap { nanoseconds, big_endian } => write!(
                f,
                "pcap ({}, {} endian)",
                if nanoseconds { "ns" } else { "us" },
                if big_endian { "big" } else { "little" }
            ),
        }
    }
}

/// What could not be read of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Places at which reading failed. At least as many records are lost: how many a damaged stretch held cannot
    /// be known.
    pub records: u64,
    /// Bytes skipped, of the unpacked stream.
    pub bytes: u64,
    /// Offset of the first damage in the unpacked stream, in bytes.
    pub offset: u64,
    /// What was wrong there.
    pub reason: String,
    /// Why the capture ends before its time, unless that is the `reason`: reading failed, or gzip data ends early.
    pub end: Option<String>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = if self.records == 1 { "place" } else { "places" };
        write!(f, "{} unreadable {places}, {} bytes skipped; ", self.records, self.bytes)?;
        write!(f, "first at byte {}: {}", self.offset, self.reason)?;
        self.end.iter().try_for_each(|end| write!(f, "; {end}"))
    }
}

/// Collects damage while reading.
#[derive(Default)]
struct DamageLog {
    damage: Option<Damage>,
    /// Offset behind the last damage.
    reached: u64,
}

impl DamageLog {
    fn note(&mut self, offset: u64, bytes: u64, reason: impl FnOnce() -> String) {
        self.reached = offset + bytes;
        match &mut self.damage {
            Some(damage) => {
                damage.records += 1;
                damage.bytes += bytes;
            }
            None => self.damage = Some(Damage { records: 1, bytes, offset, reason: reason(), end: None }),
        }
    }

    /// The stream ends here before its time. A record that it cuts off is the same place of damage.
    fn note_end(&mut self, offset: u64, reason: String) {
        match &mut self.damage {
            Some(damage) => {
                damage.records += u64::from(self.reached != offset);
                damage.end = Some(reason);
            }
            None => self.note(offset, 0, || reason),
        }
    }
}

/// A packet found in the source's window.
struct Frame {
    /// Nanoseconds since 1970; `None` where the format has no time.
    time: Option<u64>,
    /// Where the captured bytes are in the window.
    data: Range<usize>,
    original_len: u32,
    link: LinkType,
    /// Bytes of the window to move on by once the packet has been used.
    len: usize,
}

enum Decoder {
    Pcap(pcap::Decoder),
    Pcapng(pcapng::Decoder),
}

/// Streams the packets of a capture.
///
/// Reads pcap (micro- and nanoseconds, both byte orders) and pcapng (any number of sections and interfaces), either of
/// them gzipped in one or more members. Captures that were appended to each other are read as one, of the first one's
/// format. Memory is bounded by the largest packet, 16 MiB, and grows only with bytes that are really there. After
/// damage, reading goes on at the next place that looks like a record with another one behind it; what was skipped is
/// counted in [`damage`](Self::damage).
///
/// Time stamps that go backwards are clamped to the previous one and counted: a stream cannot be sorted. So a single
/// stamp far in the future moves all later packets to that time, and the count is nearly the number of packets.
pub struct CaptureReader<'a> {
    source: Source<'a>,
    decoder: Decoder,
    format: Format,
    gzip: bool,
    damage: DamageLog,
    /// Bytes of the last record, still in the window.
    pending: usize,
    records: u64,
    last_time: Option<u64>,
    clamped_times: u64,
    clamped_lengths: u64,
}

impl CaptureReader<'static> {
    /// Opens the file at `path`; `-` is standard input. A regular file is [read ahead](Self::ahead).
    ///
    /// # Errors
    /// If it cannot be read, is empty, or is not a capture.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        if path == Path::new("-") {
            return Self::new(io::stdin(), "standard input");
        }
        let name = path.display().to_string();
        match File::open(path).and_then(|file| Ok((file.metadata()?.is_file(), file))) {
            Ok((true, file)) => Self::ahead(file, &name),
            Ok((false, other)) => Self::new(other, &name),
            Err(source) => Err(TraceError::Read { name, source }),
        }
    }

    /// As [`new`](Self::new), with a thread of its own that reads and unpacks the stream ahead, by 768 KiB at most. It
    /// ends with the stream, or soon after the reader is dropped: once a read that is under way returns.
    ///
    /// # Errors
    /// As those of [`new`](Self::new).
    pub fn ahead(stream: impl Read + Send + 'static, name: &str) -> Result<Self, TraceError> {
        Self::of(Source::open_ahead(stream), name)
    }
}

impl<'a> CaptureReader<'a> {
    /// Reads a capture from `stream`; `name` is what errors call it.
    ///
    /// # Errors
    /// If it cannot be read, is empty, or is not a capture.
    pub fn new(stream: impl Read + Send + 'a, name: &str) -> Result<Self, TraceError> {
        Self::of(Source::open(stream), name)
    }

    fn of(opened: io::Result<(Source<'a>, bool)>, name: &str) -> Result<Self, TraceError> {
        let name = name.to_owned();
        let (mut source, gzip) = match opened {
            Ok(opened) => opened,
            Err(source) => return Err(TraceError::Read { name, source }),
        };
        let head = source.want(pcap::FILE_HEADER);
        if head.is_empty() && !gzip {
            return match source.take_fault() {
                Some(source) => Err(TraceError::Read { name, source }),
                None => Err(TraceError::Empty { name }),
            };
        }
        let (decoder, format) = match (pcap::Decoder::from_header(head), pcapng::Decoder::from_header(head)) {
            (Some((decoder, format)), _) => {
                source.consume(pcap::FILE_HEADER);
                (Decoder::Pcap(decoder), format)
            }
            (None, Some(decoder)) => (Decoder::Pcapng(decoder), Format::Pcapng),
            (None, None) => {
                let (found, short) = (looks_like(head, gzip), head.len() < pcap::FILE_HEADER);
                let found = match source.take_fault().filter(|_| short) {
                    Some(error) => format!("{found}; {}", fault(&error, gzip)),
                    None => found,
                };
                return Err(TraceError::NotACapture { name, found });
            }
        };
        Ok(Self {
            source,
            decoder,
            format,
            gzip,
            damage: DamageLog::default(),
            pending: 0,
            records: 0,
            last_time: None,
            clamped_times: 0,
            clamped_lengths: 0,
        })
    }

    /// The next packet; `None` at the end of what can be read. O(1) per packet but for the bytes themselves.
    pub fn next_record(&mut self) -> Option<Record<'_>> {
        self.source.consume(std::mem::take(&mut self.pending));
        let frame = match &mut self.decoder {
            Decoder::Pcap(decoder) => decoder.next(&mut self.source, &mut self.damage),
            Decoder::Pcapng(decoder) => decoder.next(&mut self.source, &mut self.damage),
        };
        let Some(frame) = frame else {
            self.note_fault();
            return None;
        };
        self.records += 1;
        self.pending = frame.len;
        let time = self.monotonic(frame.time);
        let data = &self.source.window()[frame.data];
        let mut original_len = frame.original_len;
        if original_len as usize > MAX_RECORD {
            original_len = data.len() as u32;
            self.clamped_lengths += 1;
        }
        Some(Record { time, data, original_len, link: frame.link })
    }

    fn monotonic(&mut self, time: Option<u64>) -> Option<Time> {
        match (time, self.last_time) {
            (Some(time), Some(last)) if time < last => self.clamped_times += 1,
            (Some(time), _) => self.last_time = Some(time),
            (None, _) => {}
        }
        self.last_time.map(Time::from_nanos)
    }

    /// A read error or a damaged gzip member ends the capture where it occurs.
    fn note_fault(&mut self) {
        if let Some(error) = self.source.take_fault() {
            self.damage.note_end(self.source.position(), fault(&error, self.gzip));
        }
    }

    /// The file format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether the capture was gzipped.
    pub fn is_gzip(&self) -> bool {
        self.gzip
    }

    /// Packets read so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What could not be read so far; complete once [`next_record`](Self::next_record) has returned `None`.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.damage.as_ref()
    }

    /// Packets so far whose time stamp was before the previous one's, and was set to it.
    pub fn clamped_times(&self) -> u64 {
        self.clamped_times
    }

    /// Packets so far with an original length beyond 16 MiB, which was replaced by the captured length.
    pub fn clamped_lengths(&self) -> u64 {
        self.clamped_lengths
    }
}

/// Why no more of a stream can be read.
fn fault(error: &io::Error, gzip: bool) -> String {
    match (gzip, error.kind()) {
        (true, io::ErrorKind::UnexpectedEof) => "the gzip data cannot be unpacked further: it ends early".to_owned(),
        (true, _) => format!("the gzip data cannot be unpacked further: {error}"),
        (false, _) => format!("reading failed: {error}"),
    }
}

/// What a file that is not a capture starts like.
fn looks_like(head: &[u8], gzip: bool) -> String {
    const MAGICS: [(&[u8], &str); 7] = [
        (b"\x28\xb5\x2f\xfd", "is zstd-compressed (unpack it first)"),
        (b"\xfd7zXZ", "is xz-compressed (unpack it first)"),
        (b"BZh", "is bzip2-compressed (unpack it first)"),
        (b"PK\x03\x04", "is a zip archive (unpack it first)"),
        (b"\x1f\x8b", "is gzipped twice (unpack it first)"),
        (b"snoop\0\0\0", "is a snoop capture (convert it to pcap first)"),
        (b"\x7fELF", "is a program"),
    ];
    let text = |b: &u8| b.is_ascii_graphic() || b.is_ascii_whitespace();
    let found = match MAGICS.iter().find(|(magic, _)| head.starts_with(magic)) {
        Some((_, found)) => (*found).to_owned(),
        None if head.is_empty() => "holds no data".to_owned(),
        None if head.iter().all(text) => "looks like text".to_owned(),
        None if pcap::has_magic(head) || pcapng::has_magic(head) => {
            format!("ends within its file header, after {} bytes", head.len())
        }
        None => {
            let hex: Vec<String> = head.iter().take(4).map(|b| format!("{b:02x}")).collect();
            format!("starts with the bytes {}", hex.join(" "))
        }
    };
    if gzip { format!("is gzipped, and its content {found}") } else { found }
}
