//! Writing captures.

use std::io::{self, Write};

use dovetail_units::Time;
use dovetail_wire::LinkType;

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const VERSION: [u16; 2] = [2, 4];
const SNAPLEN: u32 = 256 << 10;

/// Writes a pcap capture with nanosecond time stamps, little endian. Hand it a buffered writer.
pub struct PcapWriter<W: Write> {
    out: W,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W, link: LinkType) -> io::Result<Self> {
        let mut header = Vec::with_capacity(24);
        header.extend(MAGIC_NANOSECONDS.to_le_bytes());
        header.extend(VERSION.map(u16::to_le_bytes).concat());
        // Time zone and accuracy: both always 0 (draft-ietf-opsawg-pcap section 4).
        header.extend([0; 8]);
        header.extend(SNAPLEN.to_le_bytes());
        header.extend(u32::from(link.0).to_le_bytes());
        out.write_all(&header)?;
        Ok(Self { out })
    }

    /// Writes a packet captured at `time` (since 1970) of which `data` was kept out of `original_len` bytes.
    ///
    /// # Errors
    /// Those of the writer; `InvalidInput` for a time after 2106-02-07 or more than 256 KiB of data, which the format
    /// cannot express.
    pub fn write(&mut self, time: Time, data: &[u8], original_len: u32) -> io::Result<()> {
        let invalid = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
        let second = u32::try_from(time.as_nanos() / 1_000_000_000).map_err(|_| invalid("time beyond year 2106"))?;
        let nanos = (time.as_nanos() % 1_000_000_000) as u32;
        let captured = u32::try_from(data.len()).ok().filter(|&len| len <= SNAPLEN);
        let captured = captured.ok_or_else(|| invalid("packet beyond 256 KiB"))?;
        let header = [second, nanos, captured, original_len.max(captured)].map(u32::to_le_bytes);
        self.out.write_all(&header.concat())?;
        self.out.write_all(data)
    }

    /// The writer, to see to what was written; what else is written to it stands between packets.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Flushes and hands back the writer.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
