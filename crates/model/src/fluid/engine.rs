//! The event loop of the fluid.

use std::collections::BTreeSet;

use super::outcome::{Outcome, Recorder};
use super::{Input, Policy};
use crate::drgps;
use crate::error::ModelError;
use crate::head::{Head, dominant};
use crate::tradeoff::Allocation;

/// A head packet with no more than this part of its dominant time left is finished. Packets that finish together in
/// exact arithmetic differ by rounding of about 1e-16 of a packet per event; this lets them finish in one event, and
/// moves no finish by more than 1e-12 of the packet's service.
const FINISHED: f64 = 1e-12;

/// Runs the fluid under `policy` until `input` is served.
///
/// Equal flows under [`Ties::Rotate`](crate::Ties::Rotate) are favoured in the order in which their current packets
/// became head; among those that became head at the same event, the lower flow index first.
///
/// # Errors
/// [`ModelError::ClosedForm`] and [`ModelError::Solver`] as in [`Tradeoff::allocate`](crate::Tradeoff::allocate).
pub fn run(input: &Input, policy: &Policy) -> Result<Outcome, ModelError> {
    let mut engine = Engine::new(input, policy);
    loop {
        engine.admit();
        let arrival = engine.next_arrival();
        if engine.active.is_empty() {
            match arrival {
                Some(arrival) => engine.rest_until(arrival),
                None => break,
            }
            continue;
        }
        engine.allocate()?;
        engine.advance(arrival)?;
        engine.depart();
    }
    engine.recorder.rest(engine.now);
    Ok(engine.recorder.finish(input))
}

/// A backlogged flow and the state of its head packet.
struct Active {
    flow: usize,
    remaining_s: f64,
    share: f64,
    started: bool,
}

struct Engine<'a> {
    input: &'a Input,
    policy: &'a Policy,
    now: f64,
    /// The backlogged flows in order of their index (a fixed order of summation, so that equal situations give equal
    /// shares to the last bit), and their heads beside them.
    active: Vec<Active>,
    heads: Vec<Head>,
    /// The idle flows that have packets to come: bits of the arrival (not negative, so in order), and flow.
    idle: BTreeSet<(u64, usize)>,
    /// The packet that each flow takes next.
    next_packet: Vec<usize>,
    seniority: u64,
    allocation: Allocation,
    recorder: Recorder,
}

impl<'a> Engine<'a> {
    fn new(input: &'a Input, policy: &'a Policy) -> Self {
        let mut engine = Self {
            input,
            policy,
            now: 0.0,
            active: Vec::new(),
            heads: Vec::new(),
            idle: BTreeSet::new(),
            next_packet: vec![0; input.flows()],
            seniority: 0,
            allocation: Allocation::default(),
            recorder: Recorder::new(input),
        };
        for flow in 0..input.flows() {
            engine.wait_for_arrival(flow);
        }
        engine
    }

    /// Makes `flow` idle, to come back with its next packet if there is one.
    fn wait_for_arrival(&mut self, flow: usize) {
        if let Some(arrival) = self.input.arrival_s(flow, self.next_packet[flow]) {
            // Adding zero turns a negative zero, whose bits would sort last, into zero.
            self.idle.insert(((arrival + 0.0).to_bits(), flow));
        }
    }

    fn next_arrival(&self) -> Option<f64> {
        self.idle.first().map(|&(bits, _)| f64::from_bits(bits))
    }

    fn rest_until(&mut self, arrival: f64) {
        self.recorder.rest(self.now);
        self.now = arrival;
    }

    /// Flows whose next packet has arrived become backlogged.
    fn admit(&mut self) {
        while self.next_arrival().is_some_and(|arrival| arrival <= self.now) {
            let Some((_, flow)) = self.idle.pop_first() else { return };
            if let Some(packet) = self.take_packet(flow) {
                let times = self.input.times_s(flow, packet);
                let at = self.active.partition_point(|active| active.flow < flow);
                let of = &self.input.flows[flow];
                let head = Head::of_valid(times, of.weight, self.seniority).guaranteed(of.alpha);
                self.active.insert(at, Active { flow, remaining_s: head.dominant_s(), share: 0.0, started: false });
                self.heads.insert(at, head);
                self.seniority += 1;
            }
        }
    }

    /// The next packet of `flow` that has arrived and needs service; `None` makes the flow idle.
    fn take_packet(&mut self, flow: usize) -> Option<usize> {
        loop {
            let packet = self.next_packet[flow];
            if self.input.arrival_s(flow, packet).is_none_or(|arrival| arrival > self.now) {
                self.wait_for_arrival(flow);
                return None;
            }
            self.next_packet[flow] += 1;
            if dominant(self.input.times_s(flow, packet)) > 0.0 {
                return Some(packet);
            }
            self.recorder.start(flow, self.now);
            self.recorder.finish_packet(flow, self.now, 0.0);
        }
    }

    fn allocate(&mut self) -> Result<(), ModelError> {
        match self.policy {
            Policy::Drgps => {
                drgps::allocate_into(&self.heads, &mut self.allocation);
                self.allocation.measure(&self.heads);
            }
            Policy::Tradeoff(tradeoff) => tradeoff.allocate_into(&self.heads, &mut self.allocation)?,
        }
        self.recorder.allocation(self.now, &self.allocation);
        for ((active, head), &share) in self.active.iter_mut().zip(&self.heads).zip(&self.allocation.shares) {
            if share > 0.0 && !active.started {
                active.started = true;
                self.recorder.start(active.flow, self.now);
            }
            if share != active.share {
                active.share = share;
                self.recorder.bend(active.flow, self.now, head.dominant_s() - active.remaining_s);
            }
        }
        Ok(())
    }

    /// Serves all heads until the first of them finishes or a packet arrives at an idle flow.
    fn advance(&mut self, arrival: Option<f64>) -> Result<(), ModelError> {
        let served = self.active.iter().filter(|active| active.share > 0.0);
        let first_finish = served.map(|active| active.remaining_s / active.share).fold(f64::INFINITY, f64::min);
        if !first_finish.is_finite() {
            return Err(ModelError::Solver("no backlogged flow is served".to_owned()));
        }
        let (elapsed, until) = match arrival {
            Some(arrival) if arrival <= self.now + first_finish => (arrival - self.now, arrival),
            _ => (first_finish, self.now + first_finish),
        };
        for (active, head) in self.active.iter_mut().zip(&self.heads) {
            active.remaining_s -= active.share * elapsed;
            if active.remaining_s <= FINISHED * head.dominant_s() {
                active.remaining_s = 0.0;
            }
        }
        self.now = until;
        Ok(())
    }

    /// Finished heads make way for the next packet of their flow, or the flow becomes idle.
    fn depart(&mut self) {
        let mut at = 0;
        while at < self.active.len() {
            if self.active[at].remaining_s > 0.0 {
                at += 1;
                continue;
            }
            let flow = self.active[at].flow;
            self.recorder.finish_packet(flow, self.now, self.heads[at].dominant_s());
            if let Some(packet) = self.take_packet(flow) {
                self.heads[at].replace(self.input.times_s(flow, packet), self.seniority);
                self.seniority += 1;
                let active = &mut self.active[at];
                (active.remaining_s, active.started) = (self.heads[at].dominant_s(), false);
                at += 1;
            } else {
                self.recorder.bend(flow, self.now, 0.0);
                self.active.remove(at);
                self.heads.remove(at);
            }
        }
    }
}
