//! PCFQ and CBCS as the papers' equations read: at every call every flow is visited, sums are made anew, tags only grow
//! (128 bits). No heap, no running sum, no rebase, no skipped rounds. The choices that the papers leave, and the
//! *numbers*, are those of [`dovetail_sched::pcfq`] and [`dovetail_sched::cbcs`], so that the two can be compared
//! decision by decision.
//!
//! [`Naive`] keeps queues and books; a [`Rule`] decides. Cost per call: O(n) for n flows, or more.

use std::collections::VecDeque;

use dovetail_sched::spec::SpecError;
use dovetail_sched::{
    DropReason, FlowConfig, FlowId, LONGEST_TIME, Next, Packet, Progress, Refused, Scheduler, Served, Stats, Ticket,
    UnknownFlow,
};
use dovetail_units::{ResourceVec, Time};

/// What a rule sees of a flow.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// In thousandths.
    pub weight: i128,
    /// On every resource, in thousandths.
    pub weights: Vec<i128>,
    /// Times of the waiting packets on every resource, in nanoseconds; one on the first if there are none.
    pub waiting: VecDeque<Vec<i128>>,
}

/// Whose packet is next. Flows are named by index; all calls are made at the time of the last [`clock`](Self::clock).
pub trait Rule: Send {
    /// The time is now `now`.
    fn clock(&mut self, now: Time, lines: &[Line]);
    /// A new flow has this index.
    fn added(&mut self, flow: usize);
    /// A packet joins the end of the flow's line; it is not there yet.
    fn arrives(&mut self, flow: usize, times: &[i128], lines: &[Line]);
    /// Who is first; some packet waits.
    fn choose(&mut self, lines: &[Line]) -> usize;
    /// The flow's first packet is served; it is still there. What its ticket must bear.
    fn serves(&mut self, flow: usize, lines: &[Line]) -> u64;
    /// After every change of what waits, of weights and of charges.
    fn changed(&mut self, _lines: &[Line]) {}
    /// A packet served with this ticket takes `after` instead of `before` on the resources.
    fn corrected(&mut self, flow: usize, ticket: u64, before: &[i128], after: &[i128], lines: &[Line]);
    /// The flow's weight has changed from `old` thousandths.
    fn reweighed(&mut self, flow: usize, old: i128, lines: &[Line]);
    /// The flow leaves with what waits; its line is empty already.
    fn removed(&mut self, flow: usize, lines: &[Line]);
}

#[derive(Clone, Debug)]
struct Flow<const M: usize, P> {
    generation: u32,
    live: bool,
    config: FlowConfig<M>,
    waiting: VecDeque<(u32, ResourceVec<M>, P)>,
}

/// Queues and books, naively.
#[derive(Clone, Debug)]
pub struct Naive<const M: usize, P, R> {
    rule: R,
    flows: Vec<Flow<M, P>>,
    lines: Vec<Line>,
    free: Vec<usize>,
    now: Time,
    stats: Stats,
}

fn times<const M: usize>(cost: &ResourceVec<M>) -> Vec<i128> {
    let mut times: Vec<i128> = cost.iter().map(|time| i128::from(time.as_nanos())).collect();
    if times.iter().all(|&time| time == 0) {
        times[0] = 1;
    }
    times
}

impl<const M: usize, P, R: Rule> Naive<M, P, R> {
    /// Without flows.
    pub fn new(rule: R) -> Self {
        Self { rule, flows: Vec::new(), lines: Vec::new(), free: Vec::new(), now: Time::ZERO, stats: Stats::default() }
    }

    fn find(&self, flow: FlowId) -> Option<usize> {
        let record = self.flows.get(flow.index())?;
        (record.live && FlowId::new(flow.index() as u32, record.generation) == flow).then_some(flow.index())
    }

    fn weigh(&mut self, at: usize) {
        let config = self.flows[at].config;
        self.lines[at].weight = i128::from(config.weight.as_milli());
        self.lines[at].weights = config.weights().map(|weight| i128::from(weight.as_milli())).to_vec();
    }

    fn clock(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.rule.clock(self.now, &self.lines);
    }

    fn refuse(&mut self, reason: DropReason, payload: P) -> Result<(), Refused<P>> {
        self.stats.refused[reason as usize] += 1;
        Err(Refused { reason, payload })
    }
}

impl<const M: usize, P: Send, R: Rule> Scheduler<M, P> for Naive<M, P, R> {
    fn add_flow(&mut self, config: FlowConfig<M>) -> FlowId {
        let flow = |generation| Flow { generation, live: true, config, waiting: VecDeque::new() };
        let at = self.free.pop().unwrap_or(self.flows.len());
        if at == self.flows.len() {
            self.flows.push(flow(0));
            self.lines.push(Line::default());
        } else {
            self.flows[at] = flow(self.flows[at].generation.wrapping_add(1));
        }
        self.weigh(at);
        self.rule.added(at);
        FlowId::new(at as u32, self.flows[at].generation)
    }

    fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<M>) -> Result<(), UnknownFlow> {
        let at = self.find(flow).ok_or(UnknownFlow)?;
        self.clock(now);
        let old = std::mem::replace(&mut self.flows[at].config, config);
        let reweighed = (old.weight, old.weights()) != (config.weight, config.weights());
        self.weigh(at);
        if reweighed {
            self.rule.reweighed(at, i128::from(old.weight.as_milli()), &self.lines);
            self.rule.changed(&self.lines);
        }
        Ok(())
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(P)) -> Result<(), UnknownFlow> {
        let at = self.find(flow).ok_or(UnknownFlow)?;
        self.clock(now);
        self.flows[at].live = false;
        self.free.push(at);
        let waited = !self.lines[at].waiting.is_empty();
        self.lines[at].waiting.clear();
        for (size, _, payload) in std::mem::take(&mut self.flows[at].waiting) {
            self.stats.dropped += 1;
            self.stats.queued -= 1;
            self.stats.queued_bytes -= u64::from(size);
            dropped(payload);
        }
        if waited {
            self.rule.removed(at, &self.lines);
            self.rule.changed(&self.lines);
        }
        Ok(())
    }

    fn enqueue(&mut self, now: Time, packet: Packet<M, P>) -> Result<(), Refused<P>> {
        self.stats.offered += 1;
        let Packet { flow, size, cost, payload } = packet;
        let cost = ResourceVec(cost.0.map(|time| time.min(LONGEST_TIME)));
        let Some(at) = self.find(flow) else { return self.refuse(DropReason::UnknownFlow, payload) };
        let record = &mut self.flows[at];
        let limit = record.config.limit;
        let bytes: u64 = record.waiting.iter().map(|w| u64::from(w.0)).sum();
        if limit.packets.is_some_and(|most| record.waiting.len() >= most as usize) {
            return self.refuse(DropReason::QueuePackets, payload);
        }
        if limit.bytes.is_some_and(|most| bytes + u64::from(size) > most.0) {
            return self.refuse(DropReason::QueueBytes, payload);
        }
        record.waiting.push_back((size, cost, payload));
        self.clock(now);
        self.rule.arrives(at, &times(&cost), &self.lines);
        self.lines[at].waiting.push_back(times(&cost));
        self.rule.changed(&self.lines);
        self.stats.admitted += 1;
        self.stats.queued += 1;
        self.stats.queued_bytes += u64::from(size);
        Ok(())
    }

    fn next(&mut self, now: Time) -> Next<M, P> {
        if self.stats.queued == 0 {
            return Next::Empty;
        }
        self.clock(now);
        let at = self.rule.choose(&self.lines);
        let tag = self.rule.serves(at, &self.lines);
        let Some((size, cost, payload)) = self.flows[at].waiting.pop_front() else { return Next::Empty };
        self.lines[at].waiting.pop_front();
        self.rule.changed(&self.lines);
        self.stats.served += 1;
        self.stats.queued -= 1;
        self.stats.queued_bytes -= u64::from(size);
        let flow = FlowId::new(at as u32, self.flows[at].generation);
        Next::Serve(Served { ticket: Ticket::new(flow, cost, [tag; M]), size, payload })
    }

    fn progress(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress) {
        let Progress::Finished { used } = event else { return };
        let (before, mut after) = (ticket.charged(), ticket.charged());
        after[resource] = used.min(LONGEST_TIME);
        *ticket = Ticket::new(ticket.flow(), after, ticket.tags());
        let Some(at) = self.find(ticket.flow()).filter(|_| before != after) else { return };
        self.clock(now);
        self.rule.corrected(at, ticket.tags()[0], &times(&before), &times(&after), &self.lines);
        self.rule.changed(&self.lines);
    }

    fn set(&mut self, _now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        Err(SpecError::bad_value(parameter, value, "nothing"))
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.find(flow).map_or(0, |at| self.flows[at].waiting.len() as u32)
    }
}
