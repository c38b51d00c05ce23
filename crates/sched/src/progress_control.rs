//! Progress control of the round robins [`mr3`](crate::mr3) and [`gmr3`](crate::gmr3): a flow's turn waits until the
//! packets of its turn before are through, so that no resource runs far ahead of the next and the buffers between them
//! stay short.
//!
//! A packet is through when it has started or finished on the last resource, by the [`Control`], or was abandoned. A
//! flow that is alone may have one packet in the pipeline for every server instead.

use alloc::vec::Vec;

use crate::catalog::{Parameter, Shape};
use crate::contract::{Progress, Ticket};
use crate::note::{Note, Words};
use crate::spec::{Spec, SpecError};
use crate::touch;

/// What a flow's turn waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Control {
    /// The packets of the flow's turn before have finished on the last resource.
    Finished,
    /// They have started there.
    #[default]
    Started,
    /// Nothing: the first resource runs ahead, and the buffers after it grow without limit.
    None,
}

/// The parameter of both round robins.
pub(crate) const PARAMETER: Parameter = Parameter {
    name: "progress",
    value: "started | finished | none",
    default: "started",
    meaning: "what the packets of a flow's last turn must have done on the last resource before its next turn",
    settable: false,
};

impl Control {
    /// From the parameter `progress`, if it is given.
    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        match spec.value(PARAMETER.name) {
            None | Some("started") => Ok(Self::Started),
            Some("finished") => Ok(Self::Finished),
            Some("none") => Ok(Self::None),
            Some(other) => Err(SpecError::bad_value(PARAMETER.name, other, PARAMETER.value)),
        }
    }
}

/// A flow's packets since it last had none in the pipeline.
///
/// Counts may fall below zero: somebody may keep a copy of a ticket and end it twice. And on a single resource packets
/// have started as soon as they are sent, so that those which are abandoned count below that.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    /// In the tickets of these packets; no two batches of any flows have the same. 0 is none.
    number: u64,
    /// Packets that have neither started on the last resource nor been abandoned, by what was reported.
    not_started: i32,
    /// The same of those that have not finished there.
    unfinished: i32,
}

impl Batch {
    /// Packets that are not through.
    #[inline]
    fn outstanding(self, control: Control) -> u64 {
        let outstanding = match control {
            Control::Finished => self.unfinished,
            // Starts that were not reported are known at the end.
            Control::Started | Control::None => self.not_started.min(self.unfinished),
        };
        outstanding.max(0) as u64
    }
}

/// Which packets of its flow a packet was sent with.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    batch: u64,
    /// How often the flow had been activated then.
    pub activation: u32,
}

impl<const M: usize> Note<M> for Sent {
    #[inline]
    fn write(self) -> Words<M> {
        Words::of(self.batch, self.activation)
    }
    #[inline]
    fn read(words: Words<M>) -> Self {
        Self { batch: words.first(), activation: words.rest }
    }
}

/// Counts, per flow, the packets that are not through.
#[derive(Clone, Debug)]
pub(crate) struct Outstanding {
    control: Control,
    /// Most packets in the pipeline when a turn of a flow that is alone begins.
    alone_at_most: u64,
    /// With fewer packets of all flows in the pipeline a turn begins that follows one of the same flow.
    room: u64,
    /// Packets in the pipeline.
    unfinished: u64,
    /// The flow whose turn began last.
    last: u32,
    batches: u64,
    flows: Vec<Batch>,
}

impl Outstanding {
    pub fn new(control: Control, shape: Shape) -> Self {
        let alone_at_most = u64::from(shape.servers);
        Self { control, alone_at_most, room: 0, unfinished: 0, last: u32::MAX, batches: 0, flows: Vec::new() }
    }

    /// With fewer packets of all flows in the pipeline a turn begins that follows one of the same flow.
    pub fn with_room(self, packets: u32) -> Self {
        Self { room: packets.into(), ..self }
    }

    /// Whether the flow's next turn may begin.
    ///
    /// A flow that is `alone` would leave resources idle if it waited for its packets: it may have one in the pipeline
    /// for every server. When another flow comes, these m packets (with single servers) pass before it, and two
    /// turns before its second one, (m + 3) L of service more than its own, which is within MR3's fairness bound of
    /// 6 L up to m = 3.
    ///
    /// A flow with more than half of all turns has them `next_to_each_other`, and need not wait in the second one as
    /// long as there is room.
    #[inline]
    pub fn may_begin(&self, flow: u32, alone: bool, next_to_each_other: bool) -> bool {
        let batch = self.batch(flow);
        let free = self.control == Control::None || batch.outstanding(self.control) == 0;
        let again = match alone {
            true => batch.outstanding(Control::Finished) < self.alone_at_most,
            false => next_to_each_other && self.last == flow && self.unfinished < self.room,
        };
        free || again
    }

    /// A turn of the flow begins.
    #[inline]
    pub fn begin(&mut self, flow: u32) {
        self.last = flow;
        if self.batch(flow).outstanding(Control::Finished) == 0 {
            self.begin_batch(flow);
        }
    }

    /// Forget the flow's packets in the pipeline: their tickets count no more.
    #[inline]
    pub fn forget(&mut self, flow: u32) {
        self.unfinished -= self.batch(flow).outstanding(Control::Finished);
        self.begin_batch(flow);
    }

    #[inline]
    fn begin_batch(&mut self, flow: u32) {
        if self.flows.len() <= flow as usize {
            self.flows.resize(flow as usize + 1, Batch::default());
        }
        self.batches += 1;
        self.flows[flow as usize] = Batch { number: self.batches, ..Batch::default() };
    }

    /// A packet of the flow, whose turn has begun and which is the flow's `activation`, enters the pipeline.
    #[inline]
    pub fn sent<const M: usize>(&mut self, flow: u32, activation: u32) -> Sent {
        let batch = &mut self.flows[flow as usize];
        batch.unfinished = batch.unfinished.saturating_add(1);
        self.unfinished += u64::from(batch.unfinished > 0);
        if M > 1 {
            // The start on the first resource need not be reported.
            batch.not_started = batch.not_started.saturating_add(1);
        }
        Sent { batch: batch.number, activation }
    }

    /// Read ahead what is counted of the flow.
    #[inline]
    pub fn touch(&self, flow: u32) {
        if let Some(batch) = self.flows.get(flow as usize) {
            touch::word(&batch.number);
        }
    }

    /// As [`Discipline::progressed`](crate::Discipline::progressed).
    #[inline]
    pub fn progressed<const M: usize>(&mut self, ticket: &Ticket<M>, resource: usize, event: Progress) {
        let is_last = resource + 1 == M;
        if !is_last && event != Progress::Abandoned {
            return;
        }
        let Sent { batch: number, .. } = ticket.note();
        let batch = self.flows.get_mut(ticket.flow.index()).filter(|batch| batch.number == number);
        let Some(batch) = batch else { return };
        let (started, ended) = match event {
            // That on the first resource counts when the packet is sent.
            Progress::Started => (M > 1, false),
            Progress::Finished { .. } => (false, true),
            Progress::Abandoned => (true, true),
        };
        batch.not_started = batch.not_started.saturating_sub(started.into());
        batch.unfinished = batch.unfinished.saturating_sub(ended.into());
        self.unfinished -= u64::from(ended && batch.unfinished >= 0);
    }

    #[inline]
    fn batch(&self, flow: u32) -> Batch {
        self.flows.get(flow as usize).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use dovetail_units::{Duration, ResourceVec};

    use super::*;
    use crate::contract::FlowId;

    const END: Progress = Progress::Finished { used: Duration::ZERO };

    #[test]
    fn a_flow_takes_sixteen_bytes() {
        assert_eq!(size_of::<Batch>(), 16);
    }

    #[test]
    fn who_ends_a_ticket_twice_takes_nobody_elses_room() {
        let mut outstanding = Outstanding::new(Control::Started, Shape { servers: 2 });
        outstanding.begin(0);
        let send = |outstanding: &mut Outstanding| {
            let note = outstanding.sent::<2>(0, 0).write();
            Ticket::<2>::noting(FlowId { index: 0, generation: 0 }, ResourceVec::ZERO, note)
        };
        let first = send(&mut outstanding);
        (0..2).for_each(|_| outstanding.progressed(&first, 1, END));
        let second = send(&mut outstanding);
        outstanding.progressed(&second, 1, END);
        assert_eq!(outstanding.unfinished, 0);
    }
}
