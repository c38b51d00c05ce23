//! What goes into the tunnel is made to fit, or its sender is told.

use std::net::{Ipv4Addr, Ipv6Addr};

use dovetail_wire::IpView;

use super::super::oversize::{Limiter, Router, cut};
use super::super::{Around, ModuleDrop, ip_offset, segment};
use super::cipher::Transform;
use crate::frame::Frame;

/// Protocol number of what redundancy elimination has encoded: its sender would not know it again.
const ENCODED: u8 = 253;

/// Makes packets fit.
pub(super) struct Fit {
    /// The longest packet that fits.
    longest: usize,
    /// Whether IPv4 packets that may be cut are.
    fragment: bool,
    clamp: bool,
    router: Router,
    limiter: Limiter,
    /// Packets that were cut, whose senders were told and were not told, and whose segments were made smaller.
    cut: u64,
    told: u64,
    untold: u64,
    clamped: u64,
}

impl Fit {
    /// Into outer packets of at most `mtu` bytes.
    pub fn new(
        transform: Transform,
        mtu: usize,
        [fragment, clamp]: [bool; 2],
        v4: Ipv4Addr,
        v6: Option<Ipv6Addr>,
    ) -> Self {
        let longest = (0..mtu).rev().find(|&len| len + transform.overhead(len) <= mtu).unwrap_or(0);
        let router = Router { v4, v6 };
        Self { longest, fragment, clamp, router, limiter: Limiter::default(), cut: 0, told: 0, untold: 0, clamped: 0 }
    }

    /// Cut a packet that is too long, or tell its sender.
    ///
    /// # Errors
    /// It does not fit: `esp-too-big`.
    pub fn prepare(&mut self, around: &mut Around<'_>, frame: &mut Frame) -> Result<(), ModuleDrop> {
        let at = ip_offset(frame)?;
        self.clamp(&mut frame.data_mut()[at..]);
        let (len, may_be_cut, encoded) = {
            let ip = IpView::new(&frame.data()[at..])?;
            let may_be_cut = !ip.is_v6() && ip.bytes()[6] & 0x40 == 0;
            (ip.total_len(), may_be_cut, !ip.is_v6() && ip.protocol() == ENCODED)
        };
        // What is shorter than it says is dropped for that.
        if len <= self.longest || len > frame.len() - at {
            return Ok(());
        }
        if may_be_cut && self.fragment {
            cut(around, frame, at, self.longest)?;
            self.cut += 1;
            return Ok(());
        }
        let answer = (!encoded && self.limiter.allows(around.now))
            .then(|| self.router.answer(around, frame, at, self.longest))
            .flatten();
        *(if answer.is_some() { &mut self.told } else { &mut self.untold }) += 1;
        around.answers.extend(answer);
        Err(ModuleDrop("esp-too-big"))
    }

    /// A packet of either direction: if it begins a TCP connection, segments shall fit.
    pub fn clamp(&mut self, packet: &mut [u8]) {
        if self.clamp && segment::clamp(packet, self.longest) {
            self.clamped += 1;
        }
    }

    /// For reports.
    pub fn counters(&self) -> [(&'static str, u64); 4] {
        [("cut", self.cut), ("told", self.told), ("untold", self.untold), ("clamped", self.clamped)]
    }
}
