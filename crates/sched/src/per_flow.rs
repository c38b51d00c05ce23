//! Per-flow queues, limits and books, written once for all disciplines.

use alloc::format;
use alloc::vec::Vec;

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::catalog::Entry;
use crate::contract::{
    DropReason, FlowConfig, FlowId, LONGEST_TIME, Next, Packet, Progress, Refused, Scheduler, Served, Stats, Steering,
    Ticket, Took, UnknownFlow,
};
use crate::note::Note;
use crate::queues::{Popped, Queues};
use crate::spec::SpecError;
use crate::touch::{self, Ahead, Worth};

/// A discipline's choice, asked when at least one packet waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Serve the first packet of the (backlogged) flow at this index.
    Flow(u32),
    /// Drop the first packet of the (backlogged) flow at this index.
    Drop(u32),
    /// As [`Next::At`].
    At(Time),
    /// As [`Next::AwaitProgress`].
    AwaitProgress,
}

/// Decides whose first packet is next. [`PerFlow`] makes a [`Scheduler`] of it: it keeps the queues, the limits and
/// the books, checks ids, and calls the discipline only with live flows and a `now` that never runs backwards.
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

    /// Choose for [`Scheduler::bypass`] a flow whose first packet needs nothing on the first resource, and `may_pass`.
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

    /// As [`Scheduler::steering`].
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
    /// [`Scheduler::left`]: a discipline that needs to know has a [`steering`](Self::steering).
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

/// What [`Stats`] says that is not seen in the queues.
#[derive(Clone, Copy, Debug, Default)]
struct Books {
    refused: [u64; DropReason::ALL.len()],
    served: u64,
    dropped: u64,
}

/// Per-flow queues under the discipline `D`: a [`Scheduler`] of `M` resources for payloads `P`.
#[derive(Clone, Debug)]
pub struct PerFlow<const M: usize, P, D: Discipline<M>> {
    queues: Queues<M, P, D::Flow, D::Stamp>,
    discipline: D,
    now: Time,
    books: Books,
}

impl<const M: usize, P, D: Discipline<M>> PerFlow<M, P, D> {
    /// A scheduler without flows.
    pub fn new(discipline: D) -> Self {
        Self { queues: Queues::new(), discipline, now: Time::ZERO, books: Books::default() }
    }

    /// The discipline, for what only it knows.
    pub fn discipline(&self) -> &D {
        &self.discipline
    }

    /// Place the flows that were marked as moved.
    #[inline]
    fn place_moved(&mut self) {
        debug_assert!(D::MARKS_MOVED || self.queues.take_moved().is_none(), "a flow is marked that nobody places");
        if !D::MARKS_MOVED {
            return;
        }
        while let Some(flow) = self.queues.take_moved() {
            self.discipline.place(flow, &mut self.queues);
        }
    }

    #[inline]
    fn clock(&mut self, now: Time) -> Time {
        if now > self.now {
            self.now = now;
        }
        self.now
    }

    /// Whether there are so many flows that reading ahead pays.
    #[inline]
    fn reads_ahead(&self) -> bool {
        self.queues.flows() >= D::READS_AHEAD.in_bursts
    }

    /// Read ahead the records of these flows.
    #[inline]
    fn touch_records(&self, flows: impl Iterator<Item = u32>) {
        flows.for_each(|flow| self.queues.touch(flow, |flow, state| self.discipline.touch(flow, state)));
    }

    /// Read ahead the records of these flows, and their first two packets.
    #[inline]
    fn touch_flows(&self, ahead: &Ahead) {
        let flows = || ahead.flows().iter().copied();
        self.touch_records(flows());
        flows().for_each(|flow| self.queues.touch_head(flow));
        flows().for_each(|flow| self.queues.touch_second(flow));
    }

    /// Read ahead what the discipline will look at because time has passed until `now`.
    #[inline]
    fn touch_upcoming(&self, now: Time, packets: usize) {
        if now > self.now && self.queues.flows() >= touch::UPCOMING_FROM {
            let mut ahead = Ahead::default();
            self.discipline.upcoming(packets.min(touch::MOST), &mut ahead);
            self.touch_flows(&ahead);
        }
    }

    /// Before a single choice: place the flows that were marked as moved, and read ahead what later choices look at. A
    /// flow to come has its record read, later its first packet, and at last the one behind: each is where the one
    /// before says.
    #[inline(never)]
    fn place_and_look_ahead(&mut self) {
        let mut looked = false;
        while let Some(flow) = self.queues.take_moved() {
            self.discipline.place(flow, &mut self.queues);
            self.touch_coming();
            looked = true;
        }
        if !looked {
            self.touch_coming();
        }
    }

    #[inline]
    fn touch_coming(&self) {
        self.discipline.coming(|[later, sooner, soon]| {
            self.touch_records(core::iter::once(later));
            self.queues.touch_head(sooner);
            self.queues.touch_second(soon);
        });
    }

    /// The discipline's choice, if a packet waits.
    #[inline(always)]
    fn choose(&mut self, now: Time) -> Option<Choice> {
        if self.queues.packets() == 0 {
            self.discipline.found_empty();
            return None;
        }
        self.place_moved();
        Some(self.discipline.choose(now, &mut self.queues))
    }

    /// Hand out the first packet of the flow that is chosen.
    // Inlined into the single call and into that for many, so that the packet is written where it is to stand.
    #[inline(always)]
    fn hand_out(&mut self, now: Time, flow: u32) -> Option<Served<M, P>> {
        let Popped { flow: id, size, cost, payload } = self.queues.pop(flow)?;
        let note = self.discipline.served(now, flow, &cost, &mut self.queues).write();
        Some(Served { ticket: Ticket::noting(id, cost, note), size, payload })
    }

    /// [`next`](Scheduler::next) by this choice.
    #[inline(always)]
    fn carry_out(&mut self, now: Time, choice: Choice) -> Next<M, P> {
        let Choice::Flow(flow) = choice else { return self.serve_nothing(&choice) };
        let Some(packet) = self.hand_out(now, flow) else { return Next::Empty };
        self.books.served += 1;
        Next::Serve(packet)
    }

    /// [`next_many`](Scheduler::next_many) without the books.
    #[inline(always)]
    fn serve_many(&mut self, now: Time, most: usize, served: &mut Vec<Served<M, P>>) -> Option<Next<M, P>> {
        for _ in 0..most {
            let Some(choice) = self.choose(now) else { return Some(Next::Empty) };
            let Choice::Flow(flow) = choice else { return Some(self.serve_nothing(&choice)) };
            let Some(packet) = self.hand_out(now, flow) else { return Some(Next::Empty) };
            served.push(packet);
        }
        None
    }

    /// The answer where no packet is served.
    #[cold]
    fn serve_nothing(&mut self, choice: &Choice) -> Next<M, P> {
        match *choice {
            Choice::Drop(flow) => self.drop_first(flow),
            Choice::At(time) => Next::At(time),
            Choice::Flow(_) | Choice::AwaitProgress => Next::AwaitProgress,
        }
    }

    /// Give back the first packet of the flow that was chosen for that.
    fn drop_first(&mut self, flow: u32) -> Next<M, P> {
        let Some(Popped { flow: id, size, payload, .. }) = self.queues.pop(flow) else { return Next::Empty };
        self.books.dropped += 1;
        self.discipline.dropped(flow, size, &mut self.queues);
        Next::Drop { flow: id, size, payload }
    }

    /// [`enqueue`](Scheduler::enqueue) once the clock is set.
    #[inline]
    fn take_in(&mut self, now: Time, packet: Packet<M, P>) -> Result<(), Refused<P>> {
        let waiting = match self.queues.admit(packet.flow, packet.size) {
            Ok(waiting) => waiting,
            Err(reason) => return self.refuse(reason, packet.payload),
        };
        let Packet { flow: FlowId { index: flow, .. }, size, cost, payload } = packet;
        self.discipline.settle(now, &mut self.queues);
        if waiting == 0 {
            self.place_moved();
        }
        let slot = self.queues.push(flow, size, &cost, payload);
        self.discipline.arrived(now, flow, slot, &mut self.queues);
        Ok(())
    }

    /// [`progress`](Scheduler::progress) once the clock is set.
    // Most reports are of an end, which has code of its own.
    #[inline]
    fn report(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress) {
        let Progress::Finished { used } = event else { return self.report_other(now, ticket, resource, event) };
        if self.reaches(now, ticket, resource, event) {
            self.correct(now, ticket, resource, used.min(LONGEST_TIME));
        }
    }

    #[inline(never)]
    fn report_other(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress) {
        self.reaches(now, ticket, resource, event);
    }

    /// Whether the ticket has not got this report yet: the discipline hears of it.
    #[inline(always)]
    fn reaches(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress) -> bool {
        if resource >= M {
            return false;
        }
        let stage = Ticket::<M>::stage(resource, event);
        if stage <= ticket.reached || ticket.has_ended() {
            return false;
        }
        self.discipline.progressed_among(now, ticket, resource, event, &mut self.queues);
        ticket.reached = stage;
        true
    }

    #[inline]
    fn correct(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, used: Duration) {
        if ticket.charged[resource] == used {
            return;
        }
        if self.queues.get(ticket.flow).is_some() {
            self.discipline.settle(now, &mut self.queues);
            self.discipline.corrected(ticket.flow.index, ticket, Took { resource, used }, &mut self.queues);
            if D::MARKS_MOVED && self.queues.many_moved() {
                self.place_moved();
            }
        }
        ticket.charged[resource] = used;
    }

    #[cold]
    fn refuse(&mut self, reason: DropReason, payload: P) -> Result<(), Refused<P>> {
        self.books.refused[reason as usize] += 1;
        Err(Refused { reason, payload })
    }
}

impl<const M: usize, P: Send, D: Discipline<M>> Scheduler<M, P> for PerFlow<M, P, D> {
    fn add_flow(&mut self, config: FlowConfig<M>) -> FlowId {
        let flow = self.queues.add_flow(config, self.discipline.weight_of(&config));
        self.discipline.added(flow.index, &mut self.queues);
        if config.alpha.is_some() || config.class.is_some() {
            self.discipline.guaranteed(flow.index, &config, &mut self.queues);
        }
        flow
    }

    fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<M>) -> Result<(), UnknownFlow> {
        let now = self.clock(now);
        self.place_moved();
        let old = self.queues.get(flow).ok_or(UnknownFlow)?.weight();
        let (before, weight) = (self.queues.weights(flow.index), self.discipline.weight_of(&config));
        self.discipline.settle(now, &mut self.queues);
        self.queues.set_flow(flow, config, weight)?;
        if old != weight || before.weight_on != config.weight_on {
            self.discipline.reweighed(flow.index, old, &mut self.queues);
        }
        self.discipline.guaranteed(flow.index, &config, &mut self.queues);
        Ok(())
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(P)) -> Result<(), UnknownFlow> {
        let now = self.clock(now);
        self.queues.get(flow).ok_or(UnknownFlow)?;
        self.place_moved();
        self.discipline.settle(now, &mut self.queues);
        self.discipline.removed(flow.index, &mut self.queues);
        while let Some(Popped { payload, .. }) = self.queues.pop(flow.index) {
            self.books.dropped += 1;
            dropped(payload);
        }
        self.queues.remove_flow(flow);
        Ok(())
    }

    #[inline]
    fn enqueue(&mut self, now: Time, packet: Packet<M, P>) -> Result<(), Refused<P>> {
        let now = self.clock(now);
        self.take_in(now, packet)
    }

    #[inline]
    fn next(&mut self, now: Time) -> Next<M, P> {
        let now = self.clock(now);
        if self.queues.flows() >= D::READS_AHEAD.singly {
            self.place_and_look_ahead();
        }
        match self.choose(now) {
            Some(choice) => self.carry_out(now, choice),
            None => Next::Empty,
        }
    }

    fn enqueue_many(&mut self, now: Time, packets: &mut Vec<Packet<M, P>>, refused: &mut dyn FnMut(Refused<P>)) {
        if packets.is_empty() {
            return;
        }
        if self.reads_ahead() {
            let flows = || packets.iter().map(|packet| packet.flow.index);
            let discipline = |flow, state: &D::Flow| {
                self.discipline.touch(flow, state);
                self.discipline.touch_arriving(flow, state);
            };
            flows().for_each(|flow| self.queues.touch(flow, discipline));
            flows().for_each(|flow| self.queues.touch_tail(flow));
            self.touch_upcoming(now, packets.len());
        }
        let now = self.clock(now);
        for packet in packets.drain(..) {
            if let Err(back) = self.take_in(now, packet) {
                refused(back);
            }
        }
    }

    fn next_many(&mut self, now: Time, most: usize, served: &mut Vec<Served<M, P>>) -> Option<Next<M, P>> {
        if most == 0 {
            return None;
        }
        if self.reads_ahead() {
            self.place_moved();
            let mut ahead = Ahead::default();
            self.discipline.ahead(most.min(touch::MOST), &mut ahead);
            self.touch_flows(&ahead);
            self.touch_upcoming(now, most);
        }
        let now = self.clock(now);
        let before = served.len();
        let pause = self.serve_many(now, most, served);
        self.books.served += (served.len() - before) as u64;
        pause
    }

    fn progress_many(&mut self, now: Time, tickets: &mut [Ticket<M>], resource: usize, events: &[Progress]) {
        if tickets.is_empty() || events.is_empty() {
            return;
        }
        if self.reads_ahead() {
            self.touch_records(tickets.iter().map(|ticket| ticket.flow.index));
            self.touch_upcoming(now, tickets.len());
        }
        let now = self.clock(now);
        for (ticket, &event) in tickets.iter_mut().zip(events) {
            self.report(now, ticket, resource, event);
        }
    }

    fn bypass(&mut self, now: Time, may_pass: &mut dyn FnMut(&P) -> bool) -> Next<M, P> {
        let now = self.clock(now);
        if self.queues.packets() == 0 {
            return Next::Empty;
        }
        // Owners ask at every event; mostly nothing can pass, and the discipline need not look for it.
        if !self.queues.any_needs_no_processing() {
            return Next::AwaitProgress;
        }
        self.place_moved();
        let choice = self.discipline.choose_bypass(now, may_pass, &mut self.queues);
        self.carry_out(now, choice)
    }

    fn any_may_bypass(&self) -> bool {
        self.queues.any_needs_no_processing()
    }

    #[inline]
    fn progress(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress) {
        let now = self.clock(now);
        self.report(now, ticket, resource, event);
    }

    #[inline]
    fn left(&mut self, now: Time, flow: FlowId, stayed: Duration) {
        let now = self.clock(now);
        self.discipline.left(now, flow, stayed, &self.queues);
    }

    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        let now = self.clock(now);
        self.place_moved();
        self.discipline.settle(now, &mut self.queues);
        if let Some(entry) = D::LISTED.filter(|entry| !entry.can_change(parameter)) {
            return Err(entry.cannot_change(parameter));
        }
        self.discipline.set(parameter, value, &mut self.queues)
    }

    fn stats(&self) -> Stats {
        let Books { refused, served, dropped } = self.books;
        let queued = self.queues.packets();
        let admitted = served + dropped + queued;
        let offered = admitted + refused.iter().sum::<u64>();
        Stats { offered, admitted, refused, served, dropped, queued, queued_bytes: self.queues.bytes() }
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.queues.get(flow).map_or(0, |f| f.packets)
    }

    fn steering(&self) -> Option<Steering> {
        self.discipline.steering()
    }
}
