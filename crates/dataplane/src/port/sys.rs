//! System calls without their dangers: sockets, options, mapped memory, requests about interfaces.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_int, c_uint, c_ulong, c_void, socklen_t};

/// Types that the kernel may read and write as bytes.
///
/// # Safety
/// Every bit pattern is a value, and there is no pointer in it.
#[allow(unsafe_code)]
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($name:ty),*) => {$(
        // SAFETY: a C structure of integers only.
        #[allow(unsafe_code)]
        unsafe impl Plain for $name {}
    )*};
}
plain!(c_int, u64, libc::tpacket_req, libc::tpacket_stats, libc::packet_mreq, libc::sockaddr_ll);
plain!(libc::xdp_desc, libc::xdp_mmap_offsets, libc::xdp_statistics, libc::sockaddr_xdp);
// Its address is that of memory which outlives the socket it is given to.
plain!(libc::xdp_umem_reg);

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A socket that never blocks.
pub fn socket(domain: c_int, kind: c_int) -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers; the descriptor is new and ours.
    #[allow(unsafe_code)]
    unsafe {
        let fd = check(libc::socket(domain, kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Set an option.
pub fn set_option<T: Plain>(fd: &OwnedFd, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes at the reference and keeps nothing of them.
    #[allow(unsafe_code)]
    let result = unsafe {
        let value: *const T = value;
        libc::setsockopt(fd.as_raw_fd(), level, name, value.cast(), size_of::<T>() as socklen_t)
    };
    check(result).map(drop)
}

/// Read an option.
pub fn option<T: Plain>(fd: &OwnedFd, level: c_int, name: c_int) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut len = size_of::<T>() as socklen_t;
    // SAFETY: the kernel writes at most `len` bytes; whatever it wrote is a `T`, since every bit pattern is one.
    #[allow(unsafe_code)]
    unsafe {
        check(libc::getsockopt(fd.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &mut len))?;
        Ok(value.assume_init())
    }
}

/// Bind to an address.
pub fn bind<T: Plain>(fd: &OwnedFd, address: &T) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes at the reference.
    #[allow(unsafe_code)]
    let result = unsafe {
        let address: *const T = address;
        libc::bind(fd.as_raw_fd(), address.cast(), size_of::<T>() as socklen_t)
    };
    check(result).map(drop)
}

/// Send no data: what is to be sent is in a ring.
pub fn send_nothing(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: no data and no address.
    #[allow(unsafe_code)]
    let result = unsafe { libc::sendto(fd.as_raw_fd(), ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0) };
    check(result as c_int).map(drop)
}

/// Receive no data: what is received comes by a ring.
pub fn receive_nothing(fd: &OwnedFd) -> io::Result<()> {
    let (none, flags) = (ptr::null_mut(), libc::MSG_DONTWAIT);
    // SAFETY: no data and no address.
    #[allow(unsafe_code)]
    let result = unsafe { libc::recvfrom(fd.as_raw_fd(), ptr::null_mut(), 0, flags, none, ptr::null_mut()) };
    check(result as c_int).map(drop)
}

/// Receive queues of the interface called `name`; an error where the driver cannot tell, which has one.
pub fn receive_queues(fd: &OwnedFd, name: &str) -> io::Result<u32> {
    /// `struct ethtool_channels`: the command, four maxima, and how many there are to receive, to send, for other
    /// purposes, and for both.
    const GET_CHANNELS: u32 = 0x3c;
    let mut channels = [0_u32; 9];
    channels[0] = GET_CHANNELS;
    ethtool(fd, name, &mut channels)?;
    Ok(channels[5] + channels[8])
}

/// What the interface called `name` answers to a command that asks for one number (`struct ethtool_value`).
pub fn ethtool_value(fd: &OwnedFd, name: &str, command: u32) -> io::Result<u32> {
    let mut value = [command, 0];
    ethtool(fd, name, &mut value)?;
    Ok(value[1])
}

/// The name of the interface's driver, and zeros behind it (linux/ethtool.h: ETHTOOL_GDRVINFO, which asks for as many
/// bytes as these numbers have).
pub fn driver(fd: &OwnedFd, name: &str) -> io::Result<Vec<u8>> {
    let mut info = [0; 49];
    info[0] = 0x03;
    ethtool(fd, name, &mut info)?;
    Ok(info[1..9].iter().flat_map(|four| four.to_ne_bytes()).collect())
}

/// Ask the interface by a structure of numbers, the first of which is the command, and as long as the command wants.
pub fn ethtool<const N: usize>(fd: &OwnedFd, name: &str, numbers: &mut [u32; N]) -> io::Result<()> {
    let mut request = InterfaceRequest::new(name);
    request.answer[..size_of::<usize>()].copy_from_slice(&numbers.as_mut_ptr().expose_provenance().to_ne_bytes());
    let request: *mut InterfaceRequest = &mut request;
    // SAFETY: this request takes the union for a pointer to the structure of the command, which it reads and writes:
    // every caller gives a command its own.
    #[allow(unsafe_code)]
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCETHTOOL as _, request) };
    check(result).map(drop)
}

/// What the kernel may leave undone in frames that it hands over by this TUN or TAP device (`TUN_F_` flags).
pub fn set_tun_offload(fd: &impl AsRawFd, flags: c_uint) -> io::Result<()> {
    // SAFETY: this request takes a number, no pointer.
    #[allow(unsafe_code)]
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETOFFLOAD as _, c_ulong::from(flags)) };
    check(result).map(drop)
}

/// What is asked of the kernel about one interface, or to do with it.
#[derive(Clone, Copy)]
pub enum Request {
    /// Its index.
    Index = libc::SIOCGIFINDEX as isize,
    /// Its name, by its index.
    Name = libc::SIOCGIFNAME as isize,
    /// Its `IFF_` flags.
    Flags = libc::SIOCGIFFLAGS as isize,
    /// Its MTU.
    Mtu = libc::SIOCGIFMTU as isize,
    /// Its hardware type and address.
    Hardware = libc::SIOCGIFHWADDR as isize,
    /// Set its `IFF_` flags.
    SetFlags = libc::SIOCSIFFLAGS as isize,
    /// Make it, or take it, with these flags: for the device `/dev/net/tun`.
    SetTun = libc::TUNSETIFF as isize,
}

/// `struct ifreq`: a name, and what is asked or answered.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    /// The union of all questions and answers.
    answer: [u8; 24],
}
const _: () = assert!(size_of::<InterfaceRequest>() == size_of::<libc::ifreq>());

impl InterfaceRequest {
    /// About the interface of that name, which is cut at 15 bytes.
    pub fn new(name: &str) -> Self {
        let mut request = Self { name: [0; libc::IFNAMSIZ], answer: [0; 24] };
        let len = name.len().min(libc::IFNAMSIZ - 1);
        request.name[..len].copy_from_slice(&name.as_bytes()[..len]);
        request
    }

    /// Ask.
    pub fn ask(&mut self, fd: &impl AsRawFd, request: Request) -> io::Result<()> {
        let this: *mut Self = self;
        // SAFETY: each of these requests reads and writes one `ifreq`, of which this has the size and alignment, and
        // none takes the union for a pointer.
        #[allow(unsafe_code)]
        let result = unsafe { libc::ioctl(fd.as_raw_fd(), request as c_ulong as _, this) };
        check(result).map(drop)
    }

    /// The name that it is about.
    pub fn name(&self) -> String {
        let end = self.name.iter().position(|&byte| byte == 0).unwrap_or(self.name.len());
        String::from_utf8_lossy(&self.name[..end]).into_owned()
    }

    /// The answer's first 32 bits.
    pub fn int(&self) -> c_int {
        c_int::from_ne_bytes(*self.answer.first_chunk().unwrap_or(&[0; 4]))
    }

    /// Ask with these 32 bits.
    pub fn set_int(&mut self, value: c_int) {
        self.answer[..4].copy_from_slice(&value.to_ne_bytes());
    }

    /// Ask with these 16 bits.
    pub fn set_short(&mut self, value: u16) {
        self.answer[..2].copy_from_slice(&value.to_ne_bytes());
    }

    /// The answer's first 16 bits.
    pub fn short(&self) -> u16 {
        u16::from_ne_bytes(*self.answer.first_chunk().unwrap_or(&[0; 2]))
    }
}

/// Memory shared with the kernel, unmapped when dropped.
pub struct Mapping {
    start: *mut u8,
    len: usize,
}

// SAFETY: the memory belongs to no thread.
#[allow(unsafe_code)]
unsafe impl Send for Mapping {}

impl Mapping {
    /// Map `len` bytes of `fd` at `offset`.
    pub fn new(fd: &OwnedFd, len: usize, offset: i64) -> io::Result<Self> {
        Self::map(len, libc::MAP_SHARED, fd.as_raw_fd(), offset)
    }

    /// New memory of `len` zero bytes.
    pub fn anonymous(len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    }

    fn map(len: usize, flags: c_int, fd: RawFd, offset: i64) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = flags | libc::MAP_POPULATE;
        // SAFETY: the kernel chooses the place, so nothing that is in use is replaced.
        #[allow(unsafe_code)]
        let start = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, fd, offset) };
        if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self { start: start.cast(), len }) }
    }

    /// Its first byte. Valid for the length asked for, while the mapping lives.
    pub fn start(&self) -> *mut u8 {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let start: *mut c_void = self.start.cast();
        // SAFETY: mapped by `new` with this length; nobody can have a pointer to it beyond its life.
        #[allow(unsafe_code)]
        let _ = unsafe { libc::munmap(start, self.len) };
    }
}

/// Messages of one system call, with room for `N` of them.
pub struct Messages<const N: usize> {
    parts: Box<[libc::iovec; N]>,
    headers: Box<[libc::mmsghdr; N]>,
}

// SAFETY: its pointers are to its own boxes, or to what `send` borrows and uses only while it runs.
#[allow(unsafe_code)]
unsafe impl<const N: usize> Send for Messages<N> {}

impl<const N: usize> Messages<N> {
    /// Without content.
    pub fn new() -> Self {
        let mut parts = Box::new([libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; N]);
        // SAFETY: a message header of zeros is one without address, data and control.
        #[allow(unsafe_code)]
        let mut headers: Box<[libc::mmsghdr; N]> = Box::new(unsafe { MaybeUninit::zeroed().assume_init() });
        for (header, part) in headers.iter_mut().zip(parts.iter_mut()) {
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
        }
        Self { parts, headers }
    }

    /// Send one message for each of `all`, at most `N`, without blocking.
    ///
    /// # Errors
    /// That of the first message; if a later one fails, how many went before it.
    pub fn send<'a>(&mut self, fd: &OwnedFd, all: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let mut count = 0;
        for (part, data) in self.parts.iter_mut().zip(all) {
            part.iov_base = data.as_ptr().cast_mut().cast();
            part.iov_len = data.len();
            count += 1;
        }
        // SAFETY: the first `count` headers point to `parts`, boxed and so where they were at `new`, and those to
        // slices that live until this returns; the kernel only reads them, and writes lengths into the headers.
        #[allow(unsafe_code)]
        let sent = unsafe { libc::sendmmsg(fd.as_raw_fd(), self.headers.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
        check(sent).map(|sent| sent as usize)
    }
}

/// The descriptor to wait for.
pub fn raw(fd: &OwnedFd) -> RawFd {
    fd.as_raw_fd()
}
