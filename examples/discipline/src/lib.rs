//! `least`: whoever will have had the least dominant time by weight is next.
//!
//! Self-clocked fair queueing of dominant times: a flow's first packet has a tag, the flow's dominant time up to its
//! end by weight. The smallest tag is served, and a flow that becomes backlogged begins at the tag that was served
//! last.

use std::collections::BTreeSet;

use dovetail_experiment::bounds::{Bound, Counting, Facts, Guarantee, Guarantees, worst_pair};
use dovetail_experiment::recorded::Recorded;
use dovetail_sched::catalog::{Brief, Entry, Listed, Resources, Shape, Token, Weights};
use dovetail_sched::gain::{Gain, ORDINARY, Strategy};
use dovetail_sched::promise::{Counted, Promise};
use dovetail_sched::queues::Queues;
use dovetail_sched::tag::Tag;
use dovetail_sched::{Choice, Discipline, PerFlow, Scheduler, Spec, SpecError, Ticket, Took};
use dovetail_units::{ResourceVec, Time};

/// The discipline.
#[derive(Default)]
pub struct Least {
    /// Backlogged flows by the tags of their first packets.
    order: BTreeSet<(u128, u32)>,
    /// The tag that was served last.
    served: u128,
}

fn dominant<const M: usize>(cost: &ResourceVec<M>) -> i64 {
    cost.iter().map(|time| time.as_nanos() as i64).max().unwrap_or_default()
}

impl Least {
    /// The flow's first packet is another one.
    fn first<const M: usize, P>(&mut self, flow: u32, queues: &mut Queues<M, P, Tag, ()>) {
        let Some(cost) = queues.head(flow).map(|packet| dominant(&packet.cost)) else { return };
        let record = queues.flow_mut(flow);
        record.state = record.state.moved(cost, record.weight());
        self.order.insert((record.state.ticks(), flow));
    }
}

impl<const M: usize> Discipline<M> for Least {
    const LISTED: Option<&'static Entry> = Some(&Self::ENTRY);

    /// The tag of the flow's first packet, or of the last one that was served.
    type Flow = Tag;
    type Stamp = ();
    type Note = ();

    fn arrived<P>(&mut self, _: Time, flow: u32, _: u32, queues: &mut Queues<M, P, Tag, ()>) {
        let record = queues.flow_mut(flow);
        if record.packets == 1 {
            record.state = record.state.at_least(self.served);
            self.first(flow, queues);
        }
    }

    fn choose<P>(&mut self, _: Time, _: &mut Queues<M, P, Tag, ()>) -> Choice {
        self.order.first().map_or(Choice::AwaitProgress, |&(_, flow)| Choice::Flow(flow))
    }

    fn served<P>(&mut self, _: Time, flow: u32, _: &ResourceVec<M>, queues: &mut Queues<M, P, Tag, ()>) {
        self.served = queues.flow(flow).state.ticks();
        self.order.remove(&(self.served, flow));
        self.first(flow, queues);
    }

    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut Queues<M, P, Tag, ()>) {
        let after = ticket.charged_with(took);
        let record = queues.flow_mut(flow);
        let waits = self.order.remove(&(record.state.ticks(), flow));
        record.state = record.state.moved(dominant(&after) - dominant(&ticket.charged()), record.weight());
        if waits {
            self.order.insert((record.state.ticks(), flow));
        }
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut Queues<M, P, Tag, ()>) {
        self.order.remove(&(queues.flow(flow).state.ticks(), flow));
    }
}

impl Listed for Least {
    const ENTRY: Entry = Entry {
        name: "least",
        summary: "Self-clocked fair queueing of dominant times",
        shares: "equal service by weight on each flow's dominant resource, by finish tags",
        resources: Resources::Any,
        parameters: &[],
        complexity: "O(log n)",
        worst_call: "O(log n)",
        gains: &[Gain {
            strategy: Strategy::FalseAndNew,
            most: 16.0 * ORDINARY,
            reason: "the factor by which it understates its times: it is gone before they are corrected",
        }],
        guarantee: "|D_i/w_i - D_j/w_j| <= s_i/w_i + s_j/w_j at the entrance",
        weights: Weights::One,
        work_conserving: "yes",
        costs: "at the head of the queue; corrected by measurement",
        paper: "after Golestani, INFOCOM 1994",
        brief: Brief {
            fairness: "dominant resource",
            longest_call: "O(log n)",
            work_conserving: "yes",
            costs_ahead: "at head",
            paper: "INFOCOM 1994",
        },
        promise: Promise::by_tags(Counted::Dominant),
        facts: &[&Guarantees(guarantees)],
    };
    const REVISION: &'static str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

    fn make<const M: usize>(_: &Spec, _: Shape) -> Result<Box<dyn Scheduler<M, Token>>, SpecError> {
        Ok(Box::new(PerFlow::new(Self::default())))
    }
}

/// What `dovetail bounds` shows of it.
fn guarantees(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let longest = |flow: usize| facts.flows[flow].longest_dominant_s / facts.flows[flow].weight;
    let fairness = Guarantee {
        run,
        what: "two flows' difference of dominant service / weight",
        source: "as Golestani 1994",
        remark: "counted at the entrance, any interval, among the 64 flows with the most packets",
    };
    let bound = |one: usize, other: usize| longest(one) + longest(other);
    vec![fairness.row(facts.regular(), || worst_pair(run, Counting::DominantAtEntrance, bound))]
}
