//! What decides whose packet is next.

use alloc::format;

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::catalog::Entry;
use crate::contract::{FlowConfig, FlowId, Progress, Steering, Ticket, Took};
use crate::note::Note;
use crate::queues::Queues;
use crate::spec::SpecError;
use crate::touch::{self, Ahead, Worth};

/// A discipline's choice, asked when at least one packet waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Serve the first packet of the (backlogged) flow at this index.
    Flow(u32),
    /// Drop the first packet of the (backlogged) flow at this index.
    Drop(u32),
    /// As [`Next::At`](crate::Next::At).
    At(Time),
    /// As [`Next::AwaitProgress`](crate::Next::AwaitProgress).
    AwaitProgress,
}

/// Decides whose first packet is next. [`PerFlow`](crate::PerFlow) makes a [`Scheduler`](crate::Scheduler) of it: it
/// keeps the queues, the limits and the books, checks ids, and calls the discipline only with live flows and a `now`
/// that never runs backwards.
///
/// Four functions are needed: [`arrived`](Self::arrived), [`choose`](Self::choose), [`served`](Self::served) and
/// [`removed`](Self::removed). The flow's number indexes your own tables; that of a removed flow is given again.
///
/// ```
/// # use std::collections::VecDeque;
/// use dovetail_sched::queues::Queues;
/// use dovetail_sched::{Choice, Discipline, FlowConfig, Next, Packet, PerFlow, Scheduler};
/// use dovetail_units::{ResourceVec, Time};
///
/// /// Flows with packets take turns of one packet.
/// #[derive(Default)]
/// struct Turns(VecDeque<u32>);
///
/// impl<const M: usize> Discipline<M> for Turns {
///     type Flow = ();
///     type Stamp = ();
///     type Note = ();
///
///     fn arrived<P>(&mut self, _: Time, flow: u32, _: u32, queues: &mut Queues<M, P, (), ()>) {
///         if queues.flow(flow).packets == 1 {
///             self.0.push_back(flow);
///         }
///     }
///
///     fn choose<P>(&mut self, _: Time, _: &mut Queues<M, P, (), ()>) -> Choice {
///         Choice::Flow(self.0[0])
///     }
///
///     fn served<P>(&mut self, _: Time, flow: u32, _: &ResourceVec<M>, queues: &mut Queues<M, P, (), ()>) {
///         self.0.pop_front();
///         if queues.flow(flow).packets > 0 {
///             self.0.push_back(flow);
///         }
///     }
///
///     fn removed<P>(&mut self, flow: u32, _: &mut Queues<M, P, (), ()>) {
///         self.0.retain(|&other| other != flow);
///     }
/// }
///
/// let mut scheduler = PerFlow::new(Turns::default());
/// let [a, b] = [(); 2].map(|()| scheduler.add_flow(FlowConfig::default()));
/// let cost = ResourceVec::from_nanos([5_000, 1_000]);
/// for (flow, payload) in [(a, "a1"), (a, "a2"), (b, "b1")] {
///     scheduler.enqueue(Time::ZERO, Packet { flow, size: 800, cost, payload }).unwrap();
/// }
/// let mut served = Vec::new();
/// assert_eq!(scheduler.next_many(Time::ZERO, 8, &mut served), Some(Next::Empty));
/// assert_eq!(served.iter().map(|packet| packet.payload).collect::<Vec<_>>(), ["a1", "b1", "a2"]);
/// ```
pub trait Discipline<const M: usize>: Sized + Send {
    /// Its entry in the catalogue, by which it is asked to [`set`](Self::set) only what can change. Without one it is
    /// asked to set anything.
    const LISTED: Option<&'static Entry> = None;

    /// With so many flows or more, it is read ahead.
    const READS_AHEAD: Worth = touch::IN_BURSTS;

    /// Whether it [marks flows as moved](Queues::mark_moved). Otherwise nobody looks for such flows.
    const MARKS_MOVED: bool = false;

    /// Kept with every flow.
    type Flow: Default + Send;
    /// What the discipline may note of every waiting packet.
    type Stamp: Copy + Default + Send;
    /// What the discipline notes of every packet in the pipeline; found again by [`Ticket::note`].
    type Note: Note<M>;

    /// The one weight that the discipline gives a flow. A discipline of a single resource takes the weight there.
    fn weight_of(&self, config: &FlowConfig<M>) -> Weight {
        config.weight
    }

    /// The flow at this index has been set up.
    fn added<P>(&mut self, _flow: u32, _queues: &mut Queues<M, P, Self::Flow, Self::Stamp>) {}

    /// Read ahead ([`touch`]) what [`arrived`](Self::arrived), [`served`](Self::served) and
    /// [`corrected`](Self::corrected) look at for this flow beyond the first line of its record.
    #[inline]
    fn touch(&self, _flow: u32, _state: &Self::Flow) {}

    /// [`touch`](Self::touch) what only [`arrived`](Self::arrived) looks at.
    #[inline]
    fn touch_arriving(&self, _flow: u32, _state: &Self::Flow) {}

    /// The flows that are likely to be served by the next so many packets.
    #[inline]
    fn ahead(&self, _packets: usize, _ahead: &mut Ahead) {}

    /// For single calls: a flow that is likely to be served in a while, one that is sooner, and one that is soon, as
    /// far as that depends on what changed last. A flow is to be these one after another.
    #[inline]
    fn coming(&self, _look_at: impl Fn([u32; 3])) {}

    /// The flows that [`settle`](Self::settle) is likely to look at once time has passed for so many packets.
    #[inline]
    fn upcoming(&self, _packets: usize, _ahead: &mut Ahead) {}

    /// A packet has joined the flow's queue at `slot`, by which [`Queues::slot`] finds it and [`Queues::stamp`] its
    /// stamp. Settled before.
    fn arrived<P>(&mut self, now: Time, flow: u32, slot: u32, queues: &mut Queues<M, P, Self::Flow, Self::Stamp>);

    /// Choose. Changes nothing that would alter the answer if asked again.
    fn choose<P>(&mut self, now: Time, queues: &mut Queues<M, P, Self::Flow, Self::Stamp>) -> Choice;

    /// Choose for [`Scheduler::bypass`](crate::Scheduler::bypass) a flow whose first packet needs nothing on the first
    /// resource, and `may_pass`.
    fn choose_bypass<P>(
        &mut self,
        now: Time,
        may_pass: &mut dyn FnMut(&P) -> bool,
        queues: &mut Queues<M, P, Self::Flow, Self::Stamp>,
    ) -> Choice {
        match self.choose(now, queues) {
            Choice::Flow(flow) if !queues.head(flow).is_some_and(|first| first.may_bypass(may_pass)) => {
                Choice::AwaitProgress
            }
            Choice::Drop(_) => Choice::AwaitProgress,
            choice => choice,
        }
    }

    /// As [`Scheduler::steering`](crate::Scheduler::steering).
    fn steering(&self) -> Option<Steering> {
        None
    }

    /// The first resource could take a packet, and none waits.
    #[inline]
    fn found_empty(&mut self) {}

    /// The chosen flow's first packet, of this cost, has been taken out of its queue; returns what to note of it.
    // Disciplines inline it always where it is short: also bursts then write the packet where it is to stand.
    fn served<P>(
        &mut self,
        now: Time,
        flow: u32,
        cost: &ResourceVec<M>,
        queues: &mut Queues<M, P, Self::Flow, Self::Stamp>,
    ) -> Self::Note;

    /// The first packet of a flow that was chosen for [`Choice::Drop`], of so many bytes, has been taken out of its
    /// queue.
    fn dropped<P>(&mut self, _flow: u32, _size: u32, _queues: &mut Queues<M, P, Self::Flow, Self::Stamp>) {}

    /// A packet in the pipeline made progress. Its flow may be gone.
    fn progressed(&mut self, _now: Time, _ticket: &Ticket<M>, _resource: usize, _event: Progress) {}

    /// [`progressed`](Self::progressed), for a discipline that needs the queues for it, or notes something on the
    /// ticket. Its charge is what it was before this report.
    fn progressed_among<P>(
        &mut self,
        now: Time,
        ticket: &mut Ticket<M>,
        resource: usize,
        event: Progress,
        _queues: &mut Queues<M, P, Self::Flow, Self::Stamp>,
    ) {
        self.progressed(now, ticket, resource, event);
    }

    /// The packet of this ticket took the flow so long on one resource, which is not what the ticket
    /// [says](Ticket::charged). Settled before.
    #[inline]
    fn corrected<P>(
        &mut self,
        _flow: u32,
        _ticket: &Ticket<M>,
        _took: Took,
        _queues: &mut Queues<M, P, Self::Flow, Self::Stamp>,
    ) {
    }

    /// The flow was [marked as moved](Queues::mark_moved): place it anew among the others. That is so before a choice,
    /// and before anything but the arrival of a packet behind others, a service or a correction.
    fn place<P>(&mut self, _flow: u32, _queues: &mut Queues<M, P, Self::Flow, Self::Stamp>) {}

    /// Something is about to change (a packet joins a queue, a charge is corrected, a flow or a parameter changes): let
    /// what runs in the background handle everything that happens before.
    fn settle<P>(&mut self, _now: Time, _queues: &mut Queues<M, P, Self::Flow, Self::Stamp>) {}

    /// The flow's weight, which was `old`, or some of its weights on the resources have changed. Settled before the
    /// change.
    fn reweighed<P>(&mut self, _flow: u32, _old: Weight, _queues: &mut Queues<M, P, Self::Flow, Self::Stamp>) {}

    /// The flow, which has been added or changed, has this [`alpha`](FlowConfig::alpha) and this
    /// [`class`](FlowConfig::class) from now on, which may be those before. Settled before, unless it has just been
    /// added.
    fn guaranteed<P>(
        &mut self,
        _flow: u32,
        _config: &FlowConfig<M>,
        _queues: &mut Queues<M, P, Self::Flow, Self::Stamp>,
    ) {
    }

    /// A packet of the flow, which may be gone, has left the last resource so long after it came. As
    /// [`Scheduler::left`](crate::Scheduler::left): a discipline that needs to know has a [`steering`](Self::steering).
    #[inline]
    fn left<P>(
        &mut self,
        _now: Time,
        _flow: FlowId,
        _stayed: Duration,
        _queues: &Queues<M, P, Self::Flow, Self::Stamp>,
    ) {
    }

    /// The flow is about to be removed with all its packets. Settled before.
    fn removed<P>(&mut self, flow: u32, queues: &mut Queues<M, P, Self::Flow, Self::Stamp>);

    /// Change a parameter. Settled before.
    fn set<P>(
        &mut self,
        parameter: &str,
        _value: &str,
        _queues: &mut Queues<M, P, Self::Flow, Self::Stamp>,
    ) -> Result<(), SpecError> {
        Err(SpecError::new(parameter, format!("{parameter} cannot change while running")))
    }
}
