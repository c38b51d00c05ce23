//! A generator that sends the same frames again and again, as fast as it can: a program in the kernel that redirects
//! frames to the interface (`BPF_PROG_TEST_RUN` with live frames), which takes a fraction of what sending by a packet
//! socket does.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_int, c_long};

/// Flows that differ in the sender's port, a power of two.
pub const FLOWS: u16 = 64;
const FIRST_PORT: u16 = 1024;
/// UDP from the generator to the sink.
const FROM: [u8; 4] = [10, 1, 0, 2];
const TO: [u8; 4] = [10, 2, 0, 2];
/// Frames that the kernel makes at once.
const BATCH: u32 = 64;
/// Frames per call of it, which ends with a pause of some 25 ms.
const REPEAT: u32 = 1 << 21;

/// Frames of one size on their way to an interface.
pub struct Flood {
    program: OwnedFd,
    frame: Vec<u8>,
}

impl Flood {
    /// Frames of `size` bytes to the station `to`, sent by the interface with that index.
    pub fn new(interface: u32, to: [u8; 6], size: usize) -> io::Result<Self> {
        let frame = udp(to, FIRST_PORT, size);
        Ok(Self { program: load(&instructions(&frame, interface as i32))?, frame })
    }

    /// Send [`REPEAT`] frames of flows at random, or fewer if a signal comes.
    pub fn send(&self) -> io::Result<()> {
        /// `struct bpf_attr` of `BPF_PROG_TEST_RUN`.
        #[repr(C)]
        #[derive(Default)]
        struct TestRun {
            program: u32,
            result: u32,
            data_size: [u32; 2],
            data: [u64; 2],
            repeat: u32,
            duration: u32,
            context_size: [u32; 2],
            context: [u64; 2],
            flags: u32,
            cpu: u32,
            batch_size: u32,
            padding: u32,
        }
        const PROG_TEST_RUN: c_int = 10;
        const LIVE_FRAMES: u32 = 1 << 1;
        let run = TestRun {
            program: self.program.as_raw_fd() as u32,
            data_size: [self.frame.len() as u32, 0],
            data: [self.frame.as_ptr().expose_provenance() as u64, 0],
            repeat: REPEAT,
            flags: LIVE_FRAMES,
            batch_size: BATCH,
            ..TestRun::default()
        };
        // SAFETY: the kernel reads the attributes and so many bytes of the frame.
        #[allow(unsafe_code)]
        let result = unsafe { bpf(PROG_TEST_RUN, &run) };
        match result {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }
}

/// `struct bpf_insn`: code, registers (destination in the low half), offset, immediate value.
#[repr(C)]
struct Instruction(u8, u8, i16, i32);

/// Give the frame one of the senders' ports, undo what a router did with its memory the last time, and redirect it to
/// the interface.
fn instructions(frame: &[u8], interface: i32) -> Vec<Instruction> {
    const PORT_AT: i16 = 34;
    const RANDOM: i32 = 7;
    const REDIRECT: i32 = 23;
    // *(u16 *)(r6 + at) = as it is in the frame: the station it is for, the time to live, and the checksum over that
    let restored = [0, 2, 4, 22, 24].map(|at: i16| {
        let bytes = [frame[at as usize], frame[at as usize + 1]];
        Instruction(0x6a, 6, at, i32::from(u16::from_ne_bytes(bytes)))
    });
    let mut all = vec![
        // r6 = context->data, r2 = context->data_end
        Instruction(0x61, 1 << 4 | 6, 0, 0),
        Instruction(0x61, 1 << 4 | 2, 4, 0),
        // r1 = r6 + the end of the port; over the end of the data: return 0 (XDP_ABORTED)
        Instruction(0xbf, 6 << 4 | 1, 0, 0),
        Instruction(0x07, 1, 0, i32::from(PORT_AT) + 2),
        Instruction(0xb7, 0, 0, 0),
        Instruction(0x2d, 2 << 4 | 1, 6 + restored.len() as i16, 0),
    ];
    all.extend(restored);
    all.extend([
        // r0 = random flow, as a byte, into the lower byte of the port
        Instruction(0x85, 0, 0, RANDOM),
        Instruction(0x57, 0, 0, i32::from(FLOWS) - 1),
        Instruction(0x73, 6, PORT_AT + 1, 0),
        // r0 = redirect(interface, 0)
        Instruction(0xb7, 1, 0, interface),
        Instruction(0xb7, 2, 0, 0),
        Instruction(0x85, 0, 0, REDIRECT),
        // return r0
        Instruction(0x95, 0, 0, 0),
    ]);
    all
}

fn load(instructions: &[Instruction]) -> io::Result<OwnedFd> {
    const PROG_LOAD: c_int = 5;
    const XDP: u32 = 6;
    const LICENCE: &CStr = c"Dual MIT/GPL";
    #[repr(C)]
    struct Load {
        kind: u32,
        count: u32,
        instructions: u64,
        licence: u64,
        rest: [u64; 13],
    }
    let load = Load {
        kind: XDP,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr().expose_provenance() as u64,
        licence: LICENCE.as_ptr().expose_provenance() as u64,
        rest: [0; 13],
    };
    // SAFETY: the pointers are to so many instructions and to a text that ends with a zero; the descriptor is new and
    // ours.
    #[allow(unsafe_code)]
    unsafe {
        Ok(OwnedFd::from_raw_fd(bpf(PROG_LOAD, &load)? as c_int))
    }
}

/// # Safety
/// Every pointer in the attributes is to what the command reads there.
#[allow(unsafe_code)]
unsafe fn bpf<T>(command: c_int, attributes: &T) -> io::Result<c_long> {
    let pointer: *const T = attributes;
    // SAFETY: the kernel reads so many bytes there, and what they point to as the caller promises.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, pointer, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// An Ethernet frame with a UDP packet without checksum.
pub fn udp(to: [u8; 6], port: u16, size: usize) -> Vec<u8> {
    let total = (size - 14) as u16;
    let mut ip = vec![0x45, 0];
    ip.extend(total.to_be_bytes());
    ip.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    ip.extend([FROM, TO].concat());
    let sum: u32 = ip.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut frame = [to, [2, 0, 0, 0, 0, 0xa0]].concat();
    frame.extend([8, 0]);
    frame.extend(ip);
    frame.extend(port.to_be_bytes());
    frame.extend([0x27, 0x10]);
    frame.extend((total - 20).to_be_bytes());
    frame.resize(size, 0);
    frame
}
