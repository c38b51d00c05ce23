//! The block format (draft-ietf-opsawg-pcapng): sections, interfaces, packets.

use dovetail_wire::LinkType;

use super::source::Source;
use super::{DamageLog, Endian, Frame, MAX_RECORD};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// Block types that reading may go on at after damage: those above, name resolution and interface statistics.
const KNOWN_BLOCKS: std::ops::RangeInclusive<u32> = INTERFACE..=ENHANCED_PACKET;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Type, length, and length again at the end.
const MIN_BLOCK: usize = 12;
/// A block may hold the largest packet and some options.
const MAX_BLOCK: usize = MAX_RECORD + (64 << 10);
/// Beyond any real capture; keeps a hostile one from filling memory with interfaces.
const MAX_INTERFACES: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Decoder {
    endian: Option<Endian>,
    interfaces: Vec<Interface>,
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
    /// Nanoseconds since 1970, from 0 to the end of 64 bits.
    fn nanos(&self, ticks: u64) -> u64 {
        let n = u32::from(self.resolution & 0x7f);
        let ns = if self.resolution & 0x80 != 0 {
            (u128::from(ticks) * 1_000_000_000) >> n
        } else if n <= 9 {
            u128::from(ticks) * 10u128.pow(9 - n)
        } else {
            10u128.checked_pow(n - 9).map_or(0, |unit| u128::from(ticks) / unit)
        };
        // Both terms are far below 2^127.
        let ns = ns as i128 + i128::from(self.offset) * 1_000_000_000;
        ns.clamp(0, i128::from(u64::MAX)) as u64
    }
}

pub(super) fn has_magic(head: &[u8]) -> bool {
    head.starts_with(&SECTION_HEADER.to_le_bytes())
}

fn section_endian(block: &[u8]) -> Option<Endian> {
    [Endian::Little, Endian::Big].into_iter().find(|e| e.u32(block, 8) == BYTE_ORDER_MAGIC)
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
                    self.resynchronise(source);
                    damage.note(offset, source.position() - offset, || reason);
                }
                Ok(len) => match self.block(&source.window()[..len]) {
                    Ok(Some(frame)) => return Some(frame),
                    Ok(None) => source.consume(len),
                    Err(reason) => {
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
            SECTION_HEADER => self.interfaces.clear(),
            INTERFACE => self.interface(endian, block)?,
            ENHANCED_PACKET => return self.packet(endian, block, endian.u32(block, 8)).map(Some),
            OBSOLETE_PACKET => return self.packet(endian, block, endian.u16(block, 8).into()).map(Some),
            SIMPLE_PACKET => return self.simple_packet(endian, block).map(Some),
            _ => {}
        }
        Ok(None)
    }

    fn interface(&mut self, endian: Endian, block: &[u8]) -> Result<(), String> {
        if block.len() < 20 {
            return Err("an interface description that is too short".to_owned());
        }
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(format!("more than {MAX_INTERFACES} interfaces in a section"));
        }
        let clock = clock_options(endian, &block[16..block.len() - 4]);
        let link = LinkType(endian.u16(block, 8));
        self.interfaces.push(Interface { link, snaplen: endian.u32(block, 12), clock });
        Ok(())
    }

    fn described(&self, id: u32) -> Result<&Interface, String> {
        let described = self.interfaces.get(id as usize);
        described.ok_or_else(|| format!("a packet of interface {id}, of {} described", self.interfaces.len()))
    }

    /// Both packet blocks with a time: interface (and, in the obsolete one, drops), time, lengths, bytes, options.
    fn packet(&self, endian: Endian, block: &[u8], interface: u32) -> Result<Frame, String> {
        const DATA: usize = 28;
        if block.len() < DATA + 4 {
            return Err("a packet block that is too short".to_owned());
        }
        let interface = self.described(interface)?;
        let ticks = u64::from(endian.u32(block, 12)) << 32 | u64::from(endian.u32(block, 16));
        let captured = (endian.u32(block, 20) as usize).min(block.len() - DATA - 4);
        Ok(Frame {
            time: Some(interface.clock.nanos(ticks)),
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
        if block.len() < DATA + 4 {
            return Err("a simple packet block that is too short".to_owned());
        }
        let interface = self.described(0)?;
        let original_len = endian.u32(block, 8);
        let snaplen = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        let captured = (original_len.min(snaplen) as usize).min(block.len() - DATA - 4);
        Ok(Frame { time: None, data: DATA..DATA + captured, original_len, link: interface.link, len: block.len() })
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
        let known = kind == SECTION_HEADER || KNOWN_BLOCKS.contains(&kind);
        (known && (MIN_BLOCK..=MAX_BLOCK).contains(&len) && len.is_multiple_of(4)).then_some((endian, len))
    }
}

/// Reads the two options about time; a damaged option list ends where it is damaged.
fn clock_options(endian: Endian, mut options: &[u8]) -> Clock {
    const END: u16 = 0;
    const RESOLUTION: u16 = 9;
    const OFFSET: u16 = 14;
    let mut clock = Clock { resolution: 6, offset: 0 };
    while options.len() >= 4 {
        let code = endian.u16(options, 0);
        let len = usize::from(endian.u16(options, 2));
        let Some(value) = options.get(4..4 + len) else { break };
        match code {
            END => break,
            RESOLUTION if len == 1 => clock.resolution = value[0],
            OFFSET if len == 8 => {
                let (first, second) = (u64::from(endian.u32(value, 0)), u64::from(endian.u32(value, 4)));
                let bits = if endian == Endian::Big { first << 32 | second } else { second << 32 | first };
                clock.offset = bits as i64;
            }
            _ => {}
        }
        options = options.get(4 + len.next_multiple_of(4)..).unwrap_or_default();
    }
    clock
}
