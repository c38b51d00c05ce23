//! Payloads of any type around a scheduler that knows tokens only: so it is compiled without knowing the payloads.

use alloc::boxed::Box;
use alloc::vec::Vec;

use dovetail_units::{Duration, Time};

use crate::catalog::Token;
use crate::contract::{
    DropReason, FlowConfig, FlowId, Next, Packet, Progress, Refused, Scheduler, Served, Stats, Steering, Ticket,
    UnknownFlow,
};
use crate::spec::SpecError;

/// Does what the scheduler within does. Keeps the payloads of the packets that wait.
pub(crate) struct Carrier<const M: usize, P> {
    inner: Box<dyn Scheduler<M, Token>>,
    held: Held<P>,
    coming: Vec<Packet<M, Token>>,
    going: Vec<Served<M, Token>>,
}

impl<const M: usize, P> Carrier<M, P> {
    pub fn new(inner: Box<dyn Scheduler<M, Token>>) -> Self {
        Self { inner, held: Held { payloads: Vec::new(), free: Vec::new() }, coming: Vec::new(), going: Vec::new() }
    }
}

/// Payloads by token.
struct Held<P> {
    payloads: Vec<Option<P>>,
    free: Vec<Token>,
}

impl<P> Held<P> {
    /// The packet with a token in place of its payload.
    fn carry<const M: usize>(&mut self, packet: Packet<M, P>) -> Result<Packet<M, Token>, Refused<P>> {
        let Packet { flow, size, cost, payload } = packet;
        let token = match self.free.pop() {
            Some(token) => token,
            None => match Token::try_from(self.payloads.len()) {
                Ok(token) => {
                    self.payloads.push(None);
                    token
                }
                Err(_) => return Err(Refused { reason: DropReason::QueuePackets, payload }),
            },
        };
        self.payloads[token as usize] = Some(payload);
        Ok(Packet { flow, size, cost, payload: token })
    }

    /// The payload, once; nothing for a token that is not out.
    fn take(&mut self, token: Token) -> Option<P> {
        let payload = self.payloads.get_mut(token as usize)?.take()?;
        self.free.push(token);
        Some(payload)
    }

    fn refused(&mut self, refused: Refused<Token>) -> Option<Refused<P>> {
        self.take(refused.payload).map(|payload| Refused { reason: refused.reason, payload })
    }

    fn served<const M: usize>(&mut self, served: Served<M, Token>) -> Option<Served<M, P>> {
        let Served { ticket, size, payload } = served;
        self.take(payload).map(|payload| Served { ticket, size, payload })
    }

    /// A scheduler that hands out what nobody gave it hands out nothing.
    fn next<const M: usize>(&mut self, next: Next<M, Token>) -> Next<M, P> {
        match next {
            Next::Serve(served) => self.served(served).map_or(Next::AwaitProgress, Next::Serve),
            Next::Drop { flow, size, payload } => {
                self.take(payload).map_or(Next::AwaitProgress, |payload| Next::Drop { flow, size, payload })
            }
            Next::At(time) => Next::At(time),
            Next::AwaitProgress => Next::AwaitProgress,
            Next::Empty => Next::Empty,
        }
    }
}

impl<const M: usize, P: Send> Scheduler<M, P> for Carrier<M, P> {
    fn add_flow(&mut self, config: FlowConfig<M>) -> FlowId {
        self.inner.add_flow(config)
    }

    fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<M>) -> Result<(), UnknownFlow> {
        self.inner.set_flow(now, flow, config)
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(P)) -> Result<(), UnknownFlow> {
        let held = &mut self.held;
        self.inner.remove_flow(now, flow, &mut |token| {
            if let Some(payload) = held.take(token) {
                dropped(payload);
            }
        })
    }

    fn enqueue(&mut self, now: Time, packet: Packet<M, P>) -> Result<(), Refused<P>> {
        let packet = self.held.carry(packet)?;
        match self.inner.enqueue(now, packet) {
            Ok(()) => Ok(()),
            Err(back) => self.held.refused(back).map_or(Ok(()), Err),
        }
    }

    fn next(&mut self, now: Time) -> Next<M, P> {
        let next = self.inner.next(now);
        self.held.next(next)
    }

    fn enqueue_many(&mut self, now: Time, packets: &mut Vec<Packet<M, P>>, refused: &mut dyn FnMut(Refused<P>)) {
        for packet in packets.drain(..) {
            match self.held.carry(packet) {
                Ok(packet) => self.coming.push(packet),
                Err(back) => refused(back),
            }
        }
        let held = &mut self.held;
        self.inner.enqueue_many(now, &mut self.coming, &mut |back| {
            if let Some(back) = held.refused(back) {
                refused(back);
            }
        });
    }

    fn next_many(&mut self, now: Time, most: usize, served: &mut Vec<Served<M, P>>) -> Option<Next<M, P>> {
        let last = self.inner.next_many(now, most, &mut self.going);
        served.extend(self.going.drain(..).filter_map(|packet| self.held.served(packet)));
        last.map(|next| self.held.next(next))
    }

    fn bypass(&mut self, now: Time, may_pass: &mut dyn FnMut(&P) -> bool) -> Next<M, P> {
        let payloads = &self.held.payloads;
        let mut may =
            |token: &Token| payloads.get(*token as usize).and_then(Option::as_ref).is_some_and(&mut *may_pass);
        let next = self.inner.bypass(now, &mut may);
        self.held.next(next)
    }

    fn any_may_bypass(&self) -> bool {
        self.inner.any_may_bypass()
    }

    fn progress(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress) {
        self.inner.progress(now, ticket, resource, event);
    }

    fn progress_many(&mut self, now: Time, tickets: &mut [Ticket<M>], resource: usize, events: &[Progress]) {
        self.inner.progress_many(now, tickets, resource, events);
    }

    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        self.inner.set(now, parameter, value)
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.inner.queued(flow)
    }

    fn left(&mut self, now: Time, flow: FlowId, stayed: Duration) {
        self.inner.left(now, flow, stayed);
    }

    fn steering(&self) -> Option<Steering> {
        self.inner.steering()
    }
}
