//! Which class and flow a frame is of.

use dovetail_units::Time;
use dovetail_wire::{FiveTuple, Fragment, IpPacket, IpView, KeyKind, Marks, NonFlow, PackedKey, has_ports};

use super::flows::{Belongs, Key};
use super::fragments::Verdict;
use super::middlebox::Middlebox;
use crate::classes::Vital;
use crate::frame::Frame;

/// Numbers of IPv6 headers that may stand before the one with ports, and of the one that hides it all: hop-by-hop,
/// routing, fragment, authentication, destination,
/// mobility, host identity, shim.
const BEFORE_PORTS: [u8; 8] = [0, 43, 44, 51, 60, 135, 139, 140];

impl Middlebox {
    /// A frame has come. It is queued, dropped for a reason that is counted, or, if it is a fragment of a datagram that
    /// nobody knows yet, waits for the one that tells.
    pub fn receive(&mut self, now: Time, frame: Frame) {
        // A worker that is late does first what was due before: schedulers hear of time in order.
        if self.is_behind(now) {
            self.advance(now);
        }
        match self.known_flow(&frame) {
            Some((class, flow)) => {
                self.flows.came(now, flow, class);
                self.admit_to(now, frame, class, flow);
            }
            None => self.receive_other(now, frame),
        }
        self.forget_next(now);
    }

    /// Class and flow of most frames, which needs little of what it takes to find those of any: the headers are plain,
    /// and the flow has had a frame since classes have changed, so that its class is known.
    #[inline(always)]
    fn known_flow(&self, frame: &Frame) -> Option<(u16, u32)> {
        if !self.keys_leave_out_classes() {
            return None;
        }
        let flow = self.flows.known_packed(&PackedKey::of_plain(frame.link, frame.data())?)?;
        Some((self.flows.class(flow)?, flow))
    }

    /// A frame of which it has yet to be found out what it belongs to.
    #[inline(never)]
    fn receive_other(&mut self, now: Time, frame: Frame) {
        let parsed = dovetail_wire::parse(frame.link, frame.data());
        match self.fragment(&frame, &parsed) {
            Some((tuple, fragment)) => self.receive_fragment(now, frame, &tuple, &fragment),
            None => {
                let belongs = self.classify(&frame, &parsed);
                self.admit(now, frame, &belongs);
            }
        }
    }

    /// What a frame belongs to.
    fn classify(&self, frame: &Frame, parsed: &Result<IpPacket, NonFlow>) -> Belongs {
        let vital = Vital::of(frame.link, frame.data(), parsed);
        let tuple = parsed.as_ref().ok().map(|ip| &ip.tuple);
        let class = match (vital, tuple) {
            (Some(vital), tuple) => self.table.class_of_vital(vital, tuple, self.marks(frame)),
            (None, None) => self.table.class(None, Marks::default()),
            (None, Some(tuple)) => return self.classify_ip(frame, tuple),
        };
        // One flow, so that no flood of them fills the table of flows.
        self.of_key(class, Key::NonFlow(class))
    }

    fn classify_ip(&self, frame: &Frame, tuple: &FiveTuple) -> Belongs {
        if self.has_one_class(tuple) {
            let key = self.flow_key(tuple, 0);
            let flow = self.flows.known(&key);
            // So the rules are looked at once for a flow.
            let class = flow.and_then(|flow| self.flows.class(flow));
            let class = class.unwrap_or_else(|| self.table.class(Some(tuple), Marks::default()));
            return Belongs { class, key, flow };
        }
        self.of_flow(self.table.class(Some(tuple), self.marks(frame)), tuple)
    }

    /// This class, and the flow of this five-tuple.
    fn of_flow(&self, class: u16, tuple: &FiveTuple) -> Belongs {
        let part = if self.keys_leave_out_classes() { 0 } else { class };
        self.of_key(class, self.flow_key(tuple, part))
    }

    #[inline]
    fn flow_key(&self, tuple: &FiveTuple, class: u16) -> Key {
        Key::Flow(PackedKey::of_kind(self.key, tuple, class))
    }

    fn of_key(&self, class: u16, key: Key) -> Belongs {
        Belongs { class, key, flow: self.flows.known(&key) }
    }

    /// Whether all frames of a flow with this five-tuple are of one class until classes change.
    fn has_one_class(&self, tuple: &FiveTuple) -> bool {
        // One without ports may also be that of fragments whose datagram nobody knows, which have a class of their own.
        self.keys_leave_out_classes() && (tuple.ports.is_some() || self.table.class_of_unknown().is_none())
    }

    /// Whether flows are told apart by all that classes look at.
    fn keys_leave_out_classes(&self) -> bool {
        self.key == KeyKind::FiveTuple && !self.table.looks_at_marks()
    }

    /// Read only where a rule asks for them.
    pub(super) fn marks(&self, frame: &Frame) -> Marks {
        if self.table.looks_at_marks() { Marks::read(frame.link, frame.data()) } else { Marks::default() }
    }

    /// What the frame is a fragment of, if its class may depend on ports, which only the first one has.
    fn fragment(&self, frame: &Frame, parsed: &Result<IpPacket, NonFlow>) -> Option<(FiveTuple, Fragment)> {
        let &IpPacket { ref tuple, fragment: true } = parsed.as_ref().ok()? else { return None };
        let hidden = tuple.src.is_ipv6() && BEFORE_PORTS.contains(&tuple.protocol);
        if !(has_ports(tuple.protocol) || hidden) || !self.table.looks_at_ports() {
            return None;
        }
        let fragment = IpView::new(ip(frame)?).ok()?.fragment()?;
        Some((*tuple, fragment))
    }

    fn receive_fragment(&mut self, now: Time, frame: Frame, tuple: &FiveTuple, fragment: &Fragment) {
        match self.look(now, &frame, tuple, fragment) {
            Verdict::Unknown if !has_ports(tuple.protocol) => self.unknown(now, frame, tuple),
            Verdict::Unknown => {
                if let Err(frame) = self.fragments.wait(now, tuple, fragment, frame) {
                    self.unknown(now, frame, tuple);
                }
            }
            verdict => self.known(now, frame, tuple, verdict),
        }
        if fragment.offset == 0 {
            for frame in self.fragments.waited_for(tuple, fragment) {
                let Some(later) = ip(&frame).and_then(|bytes| IpView::new(bytes).ok()?.fragment()) else { continue };
                match self.look(now, &frame, tuple, &later) {
                    Verdict::Unknown => self.unknown(now, frame, tuple),
                    verdict => self.known(now, frame, tuple, verdict),
                }
            }
        }
    }

    fn look(&mut self, now: Time, frame: &Frame, tuple: &FiveTuple, fragment: &Fragment) -> Verdict {
        if !has_ports(tuple.protocol) {
            // Ports stand behind headers that come in one fragment or another.
            return Verdict::Unknown;
        }
        let ports = ip(frame).and_then(|packet| fragment.ports(packet));
        self.fragments.look(now, tuple, fragment, ports)
    }

    /// A fragment of which it is known what to do with it.
    fn known(&mut self, now: Time, frame: Frame, tuple: &FiveTuple, verdict: Verdict) {
        match verdict {
            Verdict::Of(ports) => {
                let belongs = self.classify_ip(&frame, &FiveTuple { ports: Some(ports), ..*tuple });
                self.admit(now, frame, &belongs);
            }
            Verdict::Drop(reason) => self.refuse(now, frame, reason),
            Verdict::Unknown => self.unknown(now, frame, tuple),
        }
    }

    /// A fragment whose datagram nobody knows, and will not know in time.
    fn unknown(&mut self, now: Time, frame: Frame, tuple: &FiveTuple) {
        match self.table.class_of_unknown() {
            Some(class) => self.admit(now, frame, &self.of_flow(class, tuple)),
            None => self.refuse(now, frame, "fragment-unknown"),
        }
    }

    /// Fragments whose datagram was not known in time wait no longer.
    pub(super) fn give_up_waiting(&mut self, now: Time) {
        while let Some(frame) = self.fragments.waited_in_vain(now) {
            match dovetail_wire::parse(frame.link, frame.data()) {
                Ok(ip) => self.unknown(now, frame, &ip.tuple),
                Err(_) => self.refuse(now, frame, "fragment-unknown"),
            }
        }
    }

    /// A frame that is of no class is dropped, for this reason.
    pub(super) fn refuse(&mut self, now: Time, mut frame: Frame, reason: &'static str) {
        let class = self.table.class_of_fragments();
        let flow = self.place(now, &self.of_key(class, Key::NonFlow(class)));
        (frame.class, frame.flow) = (class, flow);
        self.each_account(&frame, |books| books.came(frame.size_in));
        self.inside += 1;
        self.drop_frame(frame, reason);
    }
}

/// The frame's IP packet.
fn ip(frame: &Frame) -> Option<&[u8]> {
    let at = dovetail_wire::ip_offset(frame.link, frame.data()).ok()?;
    frame.data().get(at..)
}
