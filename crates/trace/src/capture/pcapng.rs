//! The block format (draft-ietf-opsawg-pcapng): sections, interfaces, packets.

use dovetail_wire::LinkType;
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{
    BOM_MAGIC, EPB_MAGIC, IDB_MAGIC, OptionCode, PcapNGOption, SHB_MAGIC, SPB_MAGIC,
    parse_interfacedescriptionblock_be, parse_interfacedescriptionblock_le, parse_simplepacketblock_be,
    parse_simplepacketblock_le,
};

use super::endian::Endian;
use super::source::Source;
use super::{DamageLog, Frame, MAX_RECORD};

const OBSOLETE_PACKET: u32 = 2;
/// Block types that reading may go on at after damage: interfaces, packets, name resolution, statistics.
const KNOWN_BLOCKS: std::ops::RangeInclusive<u32> = IDB_MAGIC..=EPB_MAGIC;

/// Type, length, and length again at the end.
const MIN_BLOCK: usize = 12;
/// A block may hold the largest packet and some options.
const MAX_BLOCK: usize = MAX_RECORD + (64 << 10);
/// Longest interface description, in bytes: the library makes a list of its options, up to eight times its size.
const MAX_DESCRIPTION: usize = 1 << 20;
/// Beyond any real capture; keeps a hostile one from filling memory with interfaces.
const MAX_INTERFACES: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Decoder {
    endian: Option<Endian>,
    /// `None` is one whose description is damaged: it keeps its number, so that the others keep theirs.
    interfaces: Vec<Option<Interface>>,
}

struct Interface {
    link: LinkType,
    /// Longest captured packet in bytes; zero for no limit.
    snaplen: u32,
    clock: Clock,
}

/// How an interface's time stamps count.
struct Clock {
    /// `if_tsresol`: ticks of 10^-n s, or of 2^-n s if the top bit is set.
    resolution: u8,
    /// `if_tsoffset`: seconds to add.
    offset: i64,
}

impl Clock {
    /// Nanoseconds since 1970, if 64 bits hold them.
    fn nanos(&self, ticks: u64) -> Option<u64> {
        let n = u32::from(self.resolution & 0x7f);
        let ns = if self.resolution & 0x80 != 0 {
            (u128::from(ticks) * 1_000_000_000) >> n
        } else if n <= 9 {
            u128::from(ticks) * 10u128.pow(9 - n)
        } else {
            10u128.checked_pow(n - 9).map_or(0, |unit| u128::from(ticks) / unit)
        };
        // Both terms are far below 2^127.
        u64::try_from(ns as i128 + i128::from(self.offset) * 1_000_000_000).ok()
    }
}

pub(super) fn has_magic(head: &[u8]) -> bool {
    head.starts_with(&SHB_MAGIC.to_le_bytes())
}

fn section_endian(block: &[u8]) -> Option<Endian> {
    [Endian::Little, Endian::Big].into_iter().find(|e| e.u32(block, 8) == BOM_MAGIC)
}

impl Decoder {
    pub(super) fn from_header(head: &[u8]) -> Option<Self> {
        (has_magic(head) && section_endian(head).is_some()).then(Self::default)
    }

    pub(super) fn next(&mut self, source: &mut Source<'_>, damage: &mut DamageLog) -> Option<Frame> {
        loop {
            if source.want(MIN_BLOCK).is_empty() {
                return None;
            }
            let offset = source.position();
            match self.block_len(source) {
                Err(reason) => {
                    self.skip_interface(source.window());
                    self.resynchronise(source);
                    damage.note(offset, source.position() - offset, || reason);
                }
                Ok(len) => match self.block(&source.window()[..len]) {
                    Ok(Some(frame)) => return Some(frame),
                    Ok(None) => source.consume(len),
                    Err(reason) => {
                        self.skip_interface(source.window());
                        source.consume(len);
                        damage.note(offset, len as u64, || reason);
                    }
                },
            }
        }
    }

    /// The length of the block at the window's start, all of which is then in the window.
    fn block_len(&mut self, source: &mut Source<'_>) -> Result<usize, String> {
        let window = source.want(MIN_BLOCK);
        if window.len() < MIN_BLOCK {
            return Err(format!("the capture ends within a block header, after {} bytes", window.len()));
        }
        if has_magic(window) {
            self.endian = Some(section_endian(window).ok_or("a section header without byte order")?);
        }
        let endian = self.endian.unwrap_or(Endian::Little);
        let len = endian.u32(window, 4) as usize;
        if !(MIN_BLOCK..=MAX_BLOCK).contains(&len) || !len.is_multiple_of(4) {
            return Err(format!(
                "a block claims {len} bytes: expected a multiple of 4 from {MIN_BLOCK} to {MAX_BLOCK}"
            ));
        }
        let window = source.want(len);
        if window.len() < len {
            return Err(format!("the capture ends within a block, after {} of {len} bytes", window.len()));
        }
        match endian.u32(window, len - 4) as usize {
            again if again == len => Ok(len),
            again => Err(format!("a block has {len} bytes by its start and {again} by its end")),
        }
    }

    /// Takes in a whole block; a packet if it is one.
    fn block(&mut self, block: &[u8]) -> Result<Option<Frame>, String> {
        let endian = self.endian.unwrap_or(Endian::Little);
        match endian.u32(block, 0) {
            SHB_MAGIC => self.interfaces.clear(),
            IDB_MAGIC => self.interface(endian, block)?,
            EPB_MAGIC => return self.packet(endian, block, endian.u32(block, 8)).map(Some),
            OBSOLETE_PACKET => return self.packet(endian, block, endian.u16(block, 8).into()).map(Some),
            SPB_MAGIC => return self.simple_packet(endian, block).map(Some),
            _ => {}
        }
        Ok(None)
    }

    fn interface(&mut self, endian: Endian, block: &[u8]) -> Result<(), String> {
        if block.len() > MAX_DESCRIPTION {
            return Err(format!("an interface description of {} bytes", block.len()));
        }
        let parsed = match endian {
            Endian::Little => parse_interfacedescriptionblock_le(block),
            Endian::Big => parse_interfacedescriptionblock_be(block),
        };
        let (_, described) = parsed.map_err(|_| "an interface description that is too short")?;
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(format!("more than {MAX_INTERFACES} interfaces in a section"));
        }
        let link = LinkType(described.linktype.0 as u16);
        let clock = clock_options(endian, &described.options);
        self.interfaces.push(Some(Interface { link, snaplen: described.snaplen, clock }));
        Ok(())
    }

    /// Counts the interface of a block that is damaged, if it describes one.
    fn skip_interface(&mut self, block: &[u8]) {
        let describes = block.len() >= MIN_BLOCK && self.endian.is_some_and(|e| e.u32(block, 0) == IDB_MAGIC);
        if describes && self.interfaces.len() < MAX_INTERFACES {
            self.interfaces.push(None);
        }
    }

    fn described(&self, id: u32) -> Result<&Interface, String> {
        match self.interfaces.get(id as usize) {
            Some(Some(interface)) => Ok(interface),
            Some(None) => Err(format!("a packet of interface {id}, whose description is damaged")),
            None => Err(format!("a packet of interface {id}, of {} described", self.interfaces.len())),
        }
    }

    /// Both packet blocks with a time: interface (and, in the obsolete one, drops), time, lengths, bytes, options.
    fn packet(&self, endian: Endian, block: &[u8], interface: u32) -> Result<Frame, String> {
        const DATA: usize = 28;
        if block.len() < DATA + 4 {
            return Err("a packet block that is too short".to_owned());
        }
        let interface = self.described(interface)?;
        let ticks = u64::from(endian.u32(block, 12)) << 32 | u64::from(endian.u32(block, 16));
        let time = interface.clock.nanos(ticks).ok_or("a time stamp that is not between 1970 and 2554")?;
        let captured = (endian.u32(block, 20) as usize).min(block.len() - DATA - 4);
        Ok(Frame {
            time: Some(time),
            data: DATA..DATA + captured,
            original_len: endian.u32(block, 24),
            link: interface.link,
            len: block.len(),
        })
    }

    /// A packet of the first interface, without time; its captured length is its original one as far as the interface
    /// and the block go.
    fn simple_packet(&self, endian: Endian, block: &[u8]) -> Result<Frame, String> {
        const DATA: usize = 12;
        let parsed = match endian {
            Endian::Little => parse_simplepacketblock_le(block),
            Endian::Big => parse_simplepacketblock_be(block),
        };
        let (_, packet) = parsed.map_err(|_| "a simple packet block that is too short")?;
        let interface = self.described(0)?;
        let snaplen = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        let captured = packet.packet_data().len().min(snaplen as usize);
        Ok(Frame {
            time: None,
            data: DATA..DATA + captured,
            original_len: packet.origlen,
            link: interface.link,
            len: block.len(),
        })
    }

    /// Moves on to the next whole block of a known type, else to the end.
    fn resynchronise(&self, source: &mut Source<'_>) {
        loop {
            source.consume(1);
            let window = source.want(MIN_BLOCK);
            if window.is_empty() {
                return;
            }
            if self.plausible_len(window).is_some_and(|(endian, len)| {
                let window = source.want(len);
                window.len() >= len && endian.u32(window, len - 4) as usize == len
            }) {
                return;
            }
        }
    }

    fn plausible_len(&self, window: &[u8]) -> Option<(Endian, usize)> {
        if window.len() < MIN_BLOCK {
            return None;
        }
        let endian = if has_magic(window) { section_endian(window) } else { self.endian }?;
        let kind = endian.u32(window, 0);
        let len = endian.u32(window, 4) as usize;
        let known = kind == SHB_MAGIC || KNOWN_BLOCKS.contains(&kind);
        (known && (MIN_BLOCK..=MAX_BLOCK).contains(&len) && len.is_multiple_of(4)).then_some((endian, len))
    }
}

/// Reads the two options about time; a damaged option list ends where it is damaged. The library's own fields for them
/// will not do: it takes the offset as little endian always, accepts wrong lengths, and reads on behind the list's end.
fn clock_options(endian: Endian, options: &[PcapNGOption<'_>]) -> Clock {
    let mut clock = Clock { resolution: 6, offset: 0 };
    for option in options.iter().take_while(|option| option.code != OptionCode::EndOfOpt) {
        match (option.code, option.as_bytes(), option.as_i64_le()) {
            (OptionCode::IfTsresol, Ok(&[resolution]), _) => clock.resolution = resolution,
            (OptionCode::IfTsoffset, _, Ok(offset)) if endian == Endian::Big => clock.offset = offset.swap_bytes(),
            (OptionCode::IfTsoffset, _, Ok(offset)) => clock.offset = offset,
            _ => {}
        }
    }
    clock
}
