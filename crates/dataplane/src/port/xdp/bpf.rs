//! The program that hands a queue's frames to the socket, by the system call bpf(2) itself: no compiler and no library.

use std::ffi::CStr;
use std::io;
use std::mem::size_of_val;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_int, c_long};

/// Where in the kernel the program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the driver, before the kernel has made a packet of its own of the frame.
    Driver = 1 << 2,
    /// Behind every driver.
    Generic = 1 << 1,
}

/// A program on an interface. It goes when this is dropped, however the process ends.
pub struct Program {
    _link: OwnedFd,
}

impl Program {
    /// Hand the frames of queue 0 of the interface with this index to `socket`.
    pub fn attach(interface: u32, place: Place, socket: &OwnedFd) -> io::Result<Self> {
        const ATTACH_TYPE_XDP: u32 = 37;
        let map = create_map()?;
        update_map(&map, 0, socket.as_raw_fd())?;
        let program = load(&instructions(&map))?;
        let mut link = Attributes::default();
        link.words(0, &[program.as_raw_fd() as u32, interface, ATTACH_TYPE_XDP, place as u32]);
        const LINK_CREATE: c_int = 28;
        // SAFETY: this command's attributes hold no pointers.
        #[allow(unsafe_code)]
        let link = unsafe { descriptor(LINK_CREATE, &link)? };
        Ok(Self { _link: link })
    }
}

/// `struct bpf_insn`: code, registers (destination in the low half), offset, immediate value.
#[repr(C)]
struct Instruction(u8, u8, i16, i32);

/// `return bpf_redirect_map(&map, context->rx_queue_index, XDP_PASS)`.
fn instructions(map: &OwnedFd) -> [Instruction; 6] {
    const RX_QUEUE_INDEX: i16 = 16;
    const IS_MAP: u8 = 1;
    const PASS: i32 = 2;
    const REDIRECT_MAP: i32 = 51;
    [
        // r2 = *(u32 *)(r1 + 16)
        Instruction(0x61, 1 << 4 | 2, RX_QUEUE_INDEX, 0),
        // r1 = map, in two halves
        Instruction(0x18, IS_MAP << 4 | 1, 0, map.as_raw_fd()),
        Instruction(0, 0, 0, 0),
        // r3 = XDP_PASS, for queues without a socket
        Instruction(0xb7, 3, 0, PASS),
        // r0 = call
        Instruction(0x85, 0, 0, REDIRECT_MAP),
        // return r0
        Instruction(0x95, 0, 0, 0),
    ]
}

/// `union bpf_attr` as far as these commands need it, and zero beyond.
#[repr(C, align(8))]
#[derive(Default)]
struct Attributes([u64; 16]);

impl Attributes {
    /// 32-bit fields from byte `offset` on, a multiple of 8.
    fn words(&mut self, offset: usize, values: &[u32]) {
        for (pair, target) in values.chunks(2).zip(&mut self.0[offset / 8..]) {
            let mut bytes = [0; 8];
            for (value, half) in pair.iter().zip(bytes.chunks_mut(4)) {
                half.copy_from_slice(&value.to_ne_bytes());
            }
            *target = u64::from_ne_bytes(bytes);
        }
    }

    /// A pointer at byte `offset`, a multiple of 8.
    fn pointer<T: ?Sized>(&mut self, offset: usize, to: &T) {
        let to: *const T = to;
        self.0[offset / 8] = to.cast::<u8>().expose_provenance() as u64;
    }
}

/// # Safety
/// Every pointer in the attributes is to what the command reads there, for as long as this runs.
#[allow(unsafe_code)]
unsafe fn bpf(command: c_int, attributes: &Attributes) -> io::Result<c_long> {
    let pointer: *const Attributes = attributes;
    // SAFETY: the kernel reads so many bytes there, and what they point to as the caller promises.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, pointer, size_of_val(attributes)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A command that makes a descriptor.
///
/// # Safety
/// As for [`bpf`].
#[allow(unsafe_code)]
unsafe fn descriptor(command: c_int, attributes: &Attributes) -> io::Result<OwnedFd> {
    // SAFETY: as the caller promises; the descriptor is new and ours.
    unsafe {
        let fd = bpf(command, attributes)?;
        Ok(OwnedFd::from_raw_fd(fd as c_int))
    }
}

/// A map from queue to socket, for one queue.
fn create_map() -> io::Result<OwnedFd> {
    const MAP_CREATE: c_int = 0;
    const XSKMAP: u32 = 17;
    let mut map = Attributes::default();
    map.words(0, &[XSKMAP, 4, 4, 1]);
    // SAFETY: this command's attributes hold no pointers.
    #[allow(unsafe_code)]
    unsafe {
        descriptor(MAP_CREATE, &map)
    }
}

fn update_map(map: &OwnedFd, key: u32, value: c_int) -> io::Result<()> {
    const MAP_UPDATE: c_int = 2;
    let mut update = Attributes::default();
    update.words(0, &[map.as_raw_fd() as u32]);
    update.pointer(8, &key);
    update.pointer(16, &value);
    // SAFETY: keys and values of this map are of four bytes.
    #[allow(unsafe_code)]
    unsafe {
        bpf(MAP_UPDATE, &update).map(drop)
    }
}

fn load(instructions: &[Instruction]) -> io::Result<OwnedFd> {
    const PROG_LOAD: c_int = 5;
    const XDP: u32 = 6;
    const LICENCE: &CStr = c"Dual MIT/GPL";
    let mut program = Attributes::default();
    program.words(0, &[XDP, instructions.len() as u32]);
    program.pointer(8, instructions);
    program.pointer(16, LICENCE);
    // SAFETY: the pointers are to so many instructions and to a text that ends with a zero.
    #[allow(unsafe_code)]
    unsafe {
        descriptor(PROG_LOAD, &program)
    }
}
