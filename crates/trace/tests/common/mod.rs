//! Captures built byte by byte.
#![allow(dead_code, missing_docs, reason = "each test file uses some of this")]

use dovetail_trace::CaptureReader;
use etherparse::PacketBuilder;

/// An Ethernet frame of a UDP packet from port `n` with `payload` bytes.
pub fn frame(n: u16, payload: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4([192, 0, 2, 1], [198, 51, 100, 1], 64)
        .udp(n, 53)
        .write(&mut bytes, &vec![n as u8; payload])
        .unwrap();
    bytes
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, n: u16) -> [u8; 2] {
        if self == Self::Big { n.to_be_bytes() } else { n.to_le_bytes() }
    }
    pub fn u32(self, n: u32) -> [u8; 4] {
        if self == Self::Big { n.to_be_bytes() } else { n.to_le_bytes() }
    }
    pub fn u64(self, n: u64) -> [u8; 8] {
        if self == Self::Big { n.to_be_bytes() } else { n.to_le_bytes() }
    }
}

/// A pcap file.
pub struct Pcap {
    pub order: Order,
    pub bytes: Vec<u8>,
}

pub const MICRO: u32 = 0xa1b2_c3d4;
pub const NANO: u32 = 0xa1b2_3c4d;

impl Pcap {
    pub fn new(order: Order, magic: u32, link: u32) -> Self {
        let version = [order.u16(2), order.u16(4)].concat();
        let fields = [&order.u32(magic), &version[..], &[0; 8], &order.u32(65_535), &order.u32(link)];
        Self { order, bytes: fields.concat() }
    }
    pub fn record(mut self, second: u32, fraction: u32, data: &[u8], original: u32) -> Self {
        for field in [second, fraction, data.len() as u32, original] {
            self.bytes.extend(self.order.u32(field));
        }
        self.bytes.extend(data);
        self
    }
}

/// A pcapng file.
pub struct Pcapng {
    pub order: Order,
    pub bytes: Vec<u8>,
}

impl Pcapng {
    pub fn new(order: Order) -> Self {
        Self { order, bytes: Vec::new() }.section()
    }
    pub fn block(mut self, kind: u32, body: &[u8]) -> Self {
        let len = 12 + body.len().next_multiple_of(4);
        self.bytes.extend(self.order.u32(kind));
        self.bytes.extend(self.order.u32(len as u32));
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.bytes.extend(self.order.u32(len as u32));
        self
    }
    pub fn section(self) -> Self {
        let order = self.order;
        let body = [&order.u32(0x1a2b_3c4d)[..], &order.u16(1), &order.u16(0), &[0xff; 8]].concat();
        self.block(0x0a0d_0d0a, &body)
    }
    pub fn interface(self, link: u16, snaplen: u32, options: &[(u16, Vec<u8>)]) -> Self {
        let order = self.order;
        let mut body = [&order.u16(link)[..], &[0; 2], &order.u32(snaplen)].concat();
        for (code, value) in options {
            body.extend(order.u16(*code));
            body.extend(order.u16(value.len() as u16));
            body.extend(value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        body.extend([0; 4]);
        self.block(1, &body)
    }
    pub fn packet(self, interface: u32, ticks: u64, data: &[u8], original: u32) -> Self {
        let order = self.order;
        let fields = [interface, (ticks >> 32) as u32, ticks as u32, data.len() as u32, original];
        let mut body = fields.map(|f| order.u32(f)).concat();
        body.extend(data);
        self.block(6, &body)
    }
    pub fn simple(self, data: &[u8], original: u32) -> Self {
        let body = [&self.order.u32(original)[..], data].concat();
        self.block(3, &body)
    }
}

/// What a reader yields: time in nanoseconds, captured bytes, original length, link type.
pub type Read = (u64, Vec<u8>, u32, u16);

pub fn records(reader: &mut CaptureReader<'_>) -> Vec<Read> {
    let mut all = Vec::new();
    while let Some(r) = reader.next_record() {
        all.push((r.time.unwrap_or_default().as_nanos(), r.data.to_vec(), r.original_len, r.link.0));
    }
    all
}

/// Opens, reads to the end; records and reader.
pub fn read(bytes: &[u8]) -> (Vec<Read>, CaptureReader<'_>) {
    let mut reader = CaptureReader::new(bytes, "test").expect("a capture");
    (records(&mut reader), reader)
}
