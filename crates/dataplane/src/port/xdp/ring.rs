//! Rings of descriptors shared with the kernel, one side of which produces and the other consumes
//! (Documentation/networking/af_xdp.rst).

use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, xdp_ring_offset};

use crate::port::sys::{self, Mapping, Plain};

/// What both sides of a ring have: indices that count on for ever, and `size` places.
struct Shared<T> {
    map: Mapping,
    at: xdp_ring_offset,
    size: u32,
    of: PhantomData<T>,
}

impl<T: Plain> Shared<T> {
    /// Give the socket the ring that `option` names, of `size` places, a power of two, and map it.
    fn new(socket: &OwnedFd, option: c_int, size: u32, at: xdp_ring_offset, page: i64) -> io::Result<Self> {
        sys::set_option(socket, libc::SOL_XDP, option, &(size as c_int))?;
        let len = at.desc as usize + size as usize * size_of::<T>();
        Ok(Self { map: Mapping::new(socket, len, page)?, at, size, of: PhantomData })
    }

    fn index(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the kernel tells where in the mapping the index is, aligned; both sides access it like this.
        #[allow(unsafe_code)]
        unsafe {
            AtomicU32::from_ptr(self.map.start().add(offset as usize).cast())
        }
    }

    fn place(&self, index: u32) -> *mut T {
        let place = (index & (self.size - 1)) as usize;
        // SAFETY: the mapping has `size` places from there on, and `size` is a power of two.
        #[allow(unsafe_code)]
        unsafe {
            self.map.start().add(self.at.desc as usize).cast::<T>().add(place)
        }
    }
}

/// The side that fills a ring.
pub struct Producer<T> {
    ring: Shared<T>,
    next: u32,
}

impl<T: Plain> Producer<T> {
    /// See [`Shared::new`].
    pub fn new(socket: &OwnedFd, option: c_int, size: u32, at: xdp_ring_offset, page: i64) -> io::Result<Self> {
        Ok(Self { ring: Shared::new(socket, option, size, at, page)?, next: 0 })
    }

    /// Places that the kernel has not used yet.
    pub fn waiting(&self) -> u32 {
        self.next.wrapping_sub(self.ring.index(self.ring.at.consumer).load(Ordering::Acquire))
    }

    /// Put in one more, for the kernel to see after [`publish`](Self::publish). There is a free place if fewer than the
    /// ring's size are [`waiting`](Self::waiting).
    pub fn push(&mut self, item: T) {
        // SAFETY: a place of the mapping, which the kernel does not read before `publish`.
        #[allow(unsafe_code)]
        unsafe {
            self.ring.place(self.next).write(item);
        }
        self.next = self.next.wrapping_add(1);
    }

    /// Show the kernel what was put in.
    pub fn publish(&self) {
        self.ring.index(self.ring.at.producer).store(self.next, Ordering::Release);
    }

    /// Whether the kernel looks only when called.
    pub fn needs_call(&self) -> bool {
        self.ring.index(self.ring.at.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// The side that empties a ring.
pub struct Consumer<T> {
    ring: Shared<T>,
    next: u32,
}

impl<T: Plain> Consumer<T> {
    /// See [`Shared::new`].
    pub fn new(socket: &OwnedFd, option: c_int, size: u32, at: xdp_ring_offset, page: i64) -> io::Result<Self> {
        Ok(Self { ring: Shared::new(socket, option, size, at, page)?, next: 0 })
    }

    /// How many the kernel has put in.
    pub fn available(&self) -> u32 {
        self.ring.index(self.ring.at.producer).load(Ordering::Acquire).wrapping_sub(self.next)
    }

    /// Take out one that is [`available`](Self::available).
    pub fn pop(&mut self) -> T {
        // SAFETY: a place of the mapping, which the kernel does not write before `release`; every bit pattern is a `T`.
        #[allow(unsafe_code)]
        let item = unsafe { self.ring.place(self.next).read() };
        self.next = self.next.wrapping_add(1);
        item
    }

    /// Let the kernel have the places of what was taken out.
    pub fn release(&self) {
        self.ring.index(self.ring.at.consumer).store(self.next, Ordering::Release);
    }
}
