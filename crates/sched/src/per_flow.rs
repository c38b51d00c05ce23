//! Per-flow queues, limits and books, written once for all disciplines.

use alloc::vec::Vec;

use dovetail_units::{Duration, Time};

use crate::contract::{
    DropReason, FlowConfig, FlowId, LONGEST_TIME, Next, Packet, Progress, Refused, Scheduler, Served, Stats, Steering,
    Ticket, Took, UnknownFlow,
};
use crate::discipline::{Choice, Discipline};
use crate::note::Note;
use crate::queues::{Popped, Queues};
use crate::spec::SpecError;
use crate::touch::{self, Ahead};

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
