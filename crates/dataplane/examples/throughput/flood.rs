//! A generator that sends the same frames again and again, as fast as it can.

use std::io;
use std::mem::zeroed;

/// Flows that differ in the sender's port.
pub const FLOWS: u16 = 64;
/// UDP from the generator to the sink.
const FROM: [u8; 4] = [10, 1, 0, 2];
const TO: [u8; 4] = [10, 2, 0, 2];

/// Frames of one size and the socket they go to.
pub struct Flood {
    socket: libc::c_int,
    _frames: Vec<Vec<u8>>,
    _parts: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
}

impl Flood {
    /// Frames of `size` bytes to the station `to`, sent by the interface with that index.
    pub fn new(interface: u32, to: [u8; 6], size: usize) -> io::Result<Self> {
        let mut frames: Vec<Vec<u8>> = (0..FLOWS).map(|flow| udp(to, 1000 + flow, size)).collect();
        let part = |frame: &mut Vec<u8>| libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() };
        let mut parts: Vec<libc::iovec> = frames.iter_mut().map(part).collect();
        // SAFETY: C structures for which zeros are values; the socket is new.
        #[allow(unsafe_code)]
        let (messages, socket, bound) = unsafe {
            let message = |part: &mut libc::iovec| {
                let mut message: libc::mmsghdr = zeroed();
                message.msg_hdr.msg_iov = part;
                message.msg_hdr.msg_iovlen = 1;
                message
            };
            let mut address: libc::sockaddr_ll = zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_ifindex = interface as i32;
            let address: *const libc::sockaddr_ll = &address;
            let socket = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
            let len = size_of::<libc::sockaddr_ll>() as u32;
            // Past the queue and whoever listens: an error costs only speed.
            let yes: *const libc::c_int = &1;
            libc::setsockopt(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, yes.cast(), 4);
            (parts.iter_mut().map(message).collect(), socket, libc::bind(socket, address.cast(), len))
        };
        if bound < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { socket, _frames: frames, _parts: parts, messages })
    }

    /// Send one frame of every flow. Returns how many the interface took.
    pub fn send(&mut self) -> usize {
        let count = self.messages.len() as u32;
        // SAFETY: the messages point to parts and those to frames, all of which live as long as this and do not move.
        #[allow(unsafe_code)]
        let sent = unsafe { libc::sendmmsg(self.socket, self.messages.as_mut_ptr(), count, 0) };
        usize::try_from(sent).unwrap_or(0)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        // SAFETY: the socket is ours and used by nobody any more.
        #[allow(unsafe_code)]
        let _ = unsafe { libc::close(self.socket) };
    }
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
