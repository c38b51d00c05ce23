//! `fq_codel`: flow queues by deficit round robin, each with controlled delay (RFC 8290).
//!
//! Shares: equal bytes, by turns; flows that have just begun come first. What many boxes run today, to compare with.
//!
//! * Parameters: `target` and `interval` as of [`codel`](super), for each flow. `quantum` = bytes of a flow per turn, 1
//!   B to 1 GB, default 1514 B. `limit` = packets that may wait in all flows, from 1, default 10240.
//! * Weights: none.
//! * Cost per packet: O(log n) for n flows with packets, and the turns of flows that have emptied their queues or sent
//!   more than a quantum: O(n) with a quantum below the packets' sizes, however small it is. Rounds in which no flow
//!   could send are taken at once.
//! * Longest call: O(log n) and 256 turns without a packet. If these do not do, which takes more than 21 flows, the
//!   answer is to ask again a nanosecond later. Each drop is an answer of its own ([`Next::Drop`](crate::Next::Drop)).
//! * A flow can gain: without limit by packets that need more processing or are longer to process per byte, since bytes
//!   are what is shared; and by ever new flows, which come before the others. Both are the RFC's, and stay: it is here
//!   to be compared with. A box that strangers send to is safe under any other discipline but `fifo` and `codel`.
//! * Guarantees: between flows that are backlogged throughout, bytes differ by at most a quantum and the two longest
//!   packets, as in DRR, but for what is dropped.
//! * Processing times are ignored.
//! * Example: `fq_codel`, `fq_codel:target=1 ms,interval=20 ms`, `fq_codel:limit=1000`.
//!
//! A flow that sends again after it has left the lists joins the *new* ones, with a quantum of bytes; their list is
//! served before that of the *old* ones. Who has used up its bytes gets a quantum and goes to the end of the old list;
//! so does a new flow whose queue is empty at its turn. An old one leaves then.
//!
//! When more packets wait than `limit`, packets are dropped from the head of the queue with the most bytes, half of
//! them but at most 64, before another one is served.
//!
//! Differences from the RFC, with reasons:
//! * A flow is what the caller says, not a hash: no two flows share a queue.
//! * Packets beyond the limit are dropped when the next packet is asked for, not on arrival, so that the owner hears of
//!   every drop in the same way. Packets are never marked: the contract has no ECN.

use dovetail_units::{Bytes, Duration, ResourceVec, Time};

use super::{Control, INTERVAL, Law, TARGET};
use crate::catalog::{Brief, Entry, ManagesQueue, Parameter, Resources, Weights};
use crate::discipline::{Choice, Discipline};
use crate::gain::{Gain, Strategy};
use crate::promise::{Counted, Promise};
use crate::queues::{Links, List, Queues, TagTournament};
use crate::spec::{Spec, SpecError};

/// Turns without a packet in one call.
const TURNS: u32 = 256;
/// Packets dropped from the longest queue at a time.
const AT_A_TIME: u32 = 64;
const MOST_QUANTUM: u64 = 1_000_000_000;

const QUANTUM: Parameter = Parameter {
    name: "quantum",
    value: "1 B to 1 GB",
    default: "1514 B",
    meaning: "bytes of a flow per turn",
    settable: false,
};

const LIMIT: Parameter = Parameter {
    name: "limit",
    value: "a number of packets, from 1",
    default: "10240",
    meaning: "packets that may wait in all flows; beyond it the longest queue loses packets",
    settable: false,
};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "fq_codel",
    summary: "Flow queues by deficit round robin, each with controlled delay",
    shares: "equal bytes, by turns; flows that have just begun come first",
    resources: Resources::Any,
    parameters: &[TARGET, INTERVAL, QUANTUM, LIMIT],
    complexity: "O(log n)",
    worst_call: "O(log n) and 256 turns without a packet; later calls do the rest",
    gains: &[
        bytes_count(Strategy::Scale),
        bytes_count(Strategy::FalseEstimates),
        new_ones_first(Strategy::NewFlows),
        new_ones_first(Strategy::RemoveAndAdd),
        new_ones_first(Strategy::Refill),
        new_ones_first(Strategy::OnOff),
        new_ones_first(Strategy::SmallFirst),
        new_ones_first(Strategy::FalseAndNew),
        Gain {
            strategy: Strategy::QueueDepth,
            most: f64::INFINITY,
            reason: "whose queue is longest loses packets, so that short ones gain",
        },
    ],
    guarantee: "bytes of two backlogged flows differ by at most a quantum and two packets, but for drops",
    weights: Weights::None,
    work_conserving: "yes",
    costs: "not needed",
    paper: "Hoeiland-Joergensen, McKenney, Taht, Gettys, Dumazet, RFC 8290, 2018",
    brief: Brief {
        fairness: "bytes",
        longest_call: "O(log n) x 256",
        work_conserving: "yes",
        costs_ahead: "no",
        paper: "RFC 8290, 2018",
    },
    promise: Promise::by_rounds(Counted::Bytes { turn: 1514 }),
    facts: &[&ManagesQueue],
};

const fn bytes_count(strategy: Strategy) -> Gain {
    Gain { strategy, most: f64::INFINITY, reason: "bytes are shared, whatever processing they need" }
}

const fn new_ones_first(strategy: Strategy) -> Gain {
    Gain { strategy, most: f64::INFINITY, reason: "flows that have just begun come before the others" }
}

/// In which list a flow stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum WhichList {
    #[default]
    None,
    New,
    Old,
}

/// A flow's queue in bytes, its place and its controlled delay.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowQueue {
    control: Control,
    /// Bytes left of its quantum, or below 0 if more were used; in the old list, less [`FqCodel::granted`].
    deficit: i64,
    bytes: u64,
    standing: WhichList,
    /// How often the lists had been emptied when the flow joined one.
    epoch: u64,
}

type FlowQueues<const M: usize, P> = Queues<M, P, FlowQueue, Time>;

/// The last turns, whose flows went to the end of the old list without a packet.
#[derive(Clone, Copy, Debug, Default)]
struct InVain {
    turns: u32,
    /// In so many rounds more each of them can do nothing else.
    rounds: i64,
}

/// Flow queues, each with controlled delay.
#[derive(Clone, Debug)]
pub struct FqCodel {
    law: Law,
    quantum: i64,
    limit: u64,
    links: Links,
    new: List,
    old: List,
    in_vain: InVain,
    /// Bytes of all rounds that were skipped; wraps.
    granted: i64,
    /// After more turns than a call takes: when it goes on.
    resumes: Time,
    /// How often nothing waited when a packet was asked for: then no flow is in a list.
    epoch: u64,
    /// Flows with packets, by how much less than 2^64 bytes wait.
    by_length: TagTournament,
    /// Whose packets are dropped for the limit, and how many more of them.
    culled: Option<(u32, u32)>,
    /// The chosen flow's state after what was chosen, and the packet's bytes; none if one is dropped for the limit.
    decided: Option<(Control, u32)>,
    longest: u32,
}

impl FqCodel {
    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let text = spec.value(QUANTUM.name).unwrap_or(QUANTUM.default);
        let quantum = text.parse().ok().filter(|&Bytes(bytes)| (1..=MOST_QUANTUM).contains(&bytes));
        let Some(Bytes(quantum)) = quantum else {
            return Err(SpecError::bad_value(QUANTUM.name, text, "1 B to 1 GB such as 1514 B"));
        };
        let text = spec.value(LIMIT.name).unwrap_or(LIMIT.default);
        let Some(limit) = text.parse().ok().filter(|&packets: &u64| packets > 0) else {
            return Err(SpecError::bad_value(LIMIT.name, text, "a number of packets, from 1, such as 1000"));
        };
        Ok(Self {
            law: Law::from_spec(spec)?,
            quantum: quantum as i64,
            limit,
            links: Links::default(),
            new: List::default(),
            old: List::default(),
            in_vain: InVain::default(),
            granted: 0,
            resumes: Time::ZERO,
            epoch: 0,
            by_length: TagTournament::default(),
            culled: None,
            decided: None,
            longest: 0,
        })
    }

    /// The flow's state, which has left the lists if these have been emptied since.
    fn state<'a, const M: usize, P>(&self, flow: u32, queues: &'a mut FlowQueues<M, P>) -> &'a mut FlowQueue {
        let state = &mut queues.flow_mut(flow).state;
        if core::mem::replace(&mut state.epoch, self.epoch) != self.epoch {
            state.standing = WhichList::None;
            state.control.is_empty_at_its_turn();
        }
        state
    }

    /// The flow stands in the list of this standing, at its end.
    fn stand<const M: usize, P>(&mut self, flow: u32, standing: WhichList, queues: &mut FlowQueues<M, P>) {
        let granted = self.granted;
        let state = self.state(flow, queues);
        let before = core::mem::replace(&mut state.standing, standing);
        state.deficit = match (before, standing) {
            (WhichList::Old, WhichList::Old) => state.deficit,
            (WhichList::Old, _) => state.deficit.wrapping_add(granted),
            (_, WhichList::Old) => state.deficit.wrapping_sub(granted),
            _ => state.deficit,
        };
        match before {
            WhichList::New => self.links.remove(&mut self.new, flow),
            WhichList::Old => self.links.remove(&mut self.old, flow),
            WhichList::None => (),
        }
        match standing {
            WhichList::New => self.links.push_back(&mut self.new, flow),
            WhichList::Old => self.links.push_back(&mut self.old, flow),
            WhichList::None => (),
        }
    }

    /// The flow of this deficit, which is in one of the lists, goes to the end of the old one without a packet. If that
    /// is so for all flows, the rounds are skipped in which it would be so again.
    fn pass<const M: usize, P>(&mut self, flow: u32, deficit: i64, queues: &mut FlowQueues<M, P>) {
        self.stand(flow, WhichList::Old, queues);
        let rounds = if deficit > 0 { 0 } else { -deficit / self.quantum + 1 };
        let InVain { turns, rounds: least } = self.in_vain;
        self.in_vain = InVain { turns: turns + 1, rounds: if turns == 0 { rounds } else { least.min(rounds) } };
        if self.new.is_empty() && self.in_vain.turns >= self.old.len() {
            self.granted = self.granted.wrapping_add(self.in_vain.rounds * self.quantum);
            self.in_vain = InVain::default();
        }
    }

    /// So many bytes have joined the flow's queue, or left it.
    fn count<const M: usize, P>(&mut self, flow: u32, bytes: i64, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        record.state.bytes = record.state.bytes.saturating_add_signed(bytes);
        match record.packets {
            0 => self.by_length.remove(flow),
            _ => self.by_length.set(flow, u128::from(u64::MAX - record.state.bytes)),
        }
    }

    /// Whose head is dropped because too many packets wait.
    fn cull<const M: usize, P>(&mut self, queues: &FlowQueues<M, P>) -> Option<u32> {
        if self.culled.is_none() && queues.packets() > self.limit {
            let (_, flow) = self.by_length.peek()?;
            self.culled = Some((flow, queues.flow(flow).packets.div_ceil(2).min(AT_A_TIME)));
        }
        self.culled.map(|(flow, _)| flow)
    }
}

impl<const M: usize> Discipline<M> for FqCodel {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    type Flow = FlowQueue;
    /// When the packet came.
    type Stamp = Time;
    type Note = ();

    fn arrived<P>(&mut self, now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        *queues.stamp_mut(slot) = now;
        let size = queues.slot(slot).size;
        self.longest = self.longest.max(size);
        self.count(flow, i64::from(size), queues);
        let state = self.state(flow, queues);
        if state.standing == WhichList::None {
            state.deficit = self.quantum;
            self.stand(flow, WhichList::New, queues);
        }
    }

    fn choose<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) -> Choice {
        self.decided = None;
        if let Some(flow) = self.cull(queues) {
            return Choice::Drop(flow);
        }
        if now < self.resumes {
            return Choice::At(self.resumes);
        }
        for _ in 0..TURNS {
            let Some(flow) = self.new.first().or(self.old.first()) else { return Choice::AwaitProgress };
            let record = queues.flow_mut(flow);
            let (head, state) = (record.head, &mut record.state);
            let is_new = state.standing == WhichList::New;
            let deficit = if is_new { state.deficit } else { state.deficit.wrapping_add(self.granted) };
            if deficit <= 0 {
                state.deficit = state.deficit.wrapping_add(self.quantum);
                self.pass(flow, deficit + self.quantum, queues);
            } else if record.packets == 0 {
                state.control.is_empty_at_its_turn();
                if is_new {
                    self.pass(flow, deficit, queues);
                } else {
                    self.stand(flow, WhichList::None, queues);
                }
            } else {
                let FlowQueue { mut control, bytes, .. } = *state;
                let (waited, size) = (now.since(queues.stamp(head)), queues.slot(head).size);
                let drops = control.drops(&self.law, now, waited, bytes - u64::from(size), self.longest);
                self.decided = Some((control, size));
                return if drops { Choice::Drop(flow) } else { Choice::Flow(flow) };
            }
        }
        self.resumes = now + Duration::from_nanos(1);
        Choice::At(self.resumes)
    }

    fn found_empty(&mut self) {
        if self.new.first().or(self.old.first()).is_some() {
            (self.new, self.old, self.in_vain) = Default::default();
            self.epoch += 1;
        }
    }

    fn served<P>(&mut self, _now: Time, flow: u32, _cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) {
        if let Some((control, size)) = self.decided.take() {
            self.count(flow, -i64::from(size), queues);
            let state = &mut queues.flow_mut(flow).state;
            state.control = control;
            state.deficit = state.deficit.wrapping_sub(i64::from(size));
        }
    }

    fn dropped<P>(&mut self, flow: u32, size: u32, queues: &mut FlowQueues<M, P>) {
        self.count(flow, -i64::from(size), queues);
        match self.decided.take() {
            Some((control, _)) => queues.flow_mut(flow).state.control = control,
            None => self.culled = self.culled.map(|(flow, left)| (flow, left - 1)).filter(|&(_, left)| left > 0),
        }
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.culled = self.culled.filter(|&(culled, _)| culled != flow);
        self.by_length.remove(flow);
        self.in_vain = InVain::default();
        self.stand(flow, WhichList::None, queues);
    }
}
