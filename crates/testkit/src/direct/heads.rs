//! Heads: the packet of every backlogged flow that the fluid serves, and when it starts.

use dovetail_sched::LONGEST_TIME;
use dovetail_units::{Duration, Time};

use super::floors::Floor;
use super::{DirectTradeoff, Head, TICK_BITS, in_time};

impl<const M: usize, P> DirectTradeoff<M, P> {
    /// The flow's head packet has ended.
    pub(super) fn end_head(&mut self, flow: usize) {
        self.start(flow, self.known_at());
        if let Some((end, _)) = self.bonus_of(flow) {
            self.charge(flow, end);
        }
        let ended = self.flows[flow].head.take();
        self.finishes.push((flow, in_time(self.clock)));
        self.take_head(flow, ended.as_ref());
        if self.flows[flow].head.is_none() {
            self.favoured = self.favoured.map(|f| f.filter(|&(i, _)| i != flow));
        }
    }

    /// The flow pays for what it has had of the bonus near this end.
    pub(super) fn charge(&mut self, flow: usize, end: usize) {
        if M > 2 {
            return self.charge_in_cell(flow);
        }
        let bonus = self.take_uncharged(flow);
        let record = &mut self.flows[flow];
        if bonus > 0 {
            let least = self.most[end].saturating_sub(record.longest[end]);
            record.had[end] = record.had[end].max(least) + bonus;
            self.most[end] = self.most[end].max(record.had[end]);
        }
    }

    /// Make the flow's next packet its head, less what the one that has ended was served too much.
    pub(super) fn take_head(&mut self, flow: usize, ended: Option<&Head<M>>) {
        let floor = self.floor(&self.flows[flow].config);
        let record = &mut self.flows[flow];
        let Some(cost) = record.unstarted.pop_front() else { return self.move_cell(flow, ended) };
        let mut charged = cost;
        for r in 0..M {
            let said = cost[r].as_nanos() as i64;
            // A packet that takes something takes a nanosecond at least; what is owed beyond that is kept for the next.
            let least = if said > 0 { 1 } else { 0 };
            let taken = if record.owed[r] == 0 { said } else { (said + record.owed[r]).max(least) };
            record.owed[r] += said - taken;
            charged.0[r] = Duration::from_nanos(taken as u64).min(LONGEST_TIME);
        }
        let weight = u128::from(record.config.weight.as_milli());
        let time = (u128::from(charged.dominant_time().as_nanos()) * 1000) << TICK_BITS;
        let time = time + record.part.min(weight - 1);
        record.part = time % weight;
        let service = (time / weight).max(1);
        for end in 0..2 {
            let is_up = record.had[end] + service >= self.most[end];
            record.longest[end] = if is_up { service } else { service.max(record.longest[end]) };
        }
        let whole = match floor {
            Floor::Own(alpha) => {
                let service = service * 1000 + record.rest.min(alpha - 1);
                record.rest = service % alpha;
                service / alpha
            }
            _ => service,
        };
        let has_floor = floor.serves(self.alpha);
        let left = whole as i128 + ended.map_or(0, |h| h.left);
        let left = if has_floor { left } else { left.max(1) };
        // Rounding on a link leaves equals equal.
        let rounded =
            (0..M).all(|r| charged[r].as_nanos().abs_diff(cost[r].as_nanos()) <= (cost[r].as_nanos() / 4096).max(1));
        let cost = if rounded { cost } else { charged };
        self.heads += 1;
        record.head = Some(Head { cost, charged, left, service, started: false, number: self.heads });
        self.move_cell(flow, ended);
        if has_floor {
            self.start(flow, self.known_at());
        }
    }

    /// When what happens at `clock` can first be known.
    pub(super) fn known_at(&self) -> Time {
        in_time(self.clock).max(self.unknown_until)
    }

    /// Heads that alpha = 0 has kept from starting do so now.
    pub(super) fn start_kept_back(&mut self) {
        if self.alpha > 0.0 {
            for _ in 0..Self::EVENTS {
                let kept_back =
                    self.backlogged().filter(|(_, f, h)| self.floor(&f.config) == Floor::Common && !h.started);
                let kept_back = kept_back.min_by_key(|(_, _, h)| h.number);
                let Some((flow, ..)) = kept_back else { return };
                self.start(flow, self.fluid_now);
            }
        }
    }

    pub(super) fn start(&mut self, flow: usize, at: Time) {
        let id = self.id(flow);
        let Some(head) = self.flows[flow].head.as_mut().filter(|h| !h.started) else { return };
        head.started = true;
        let charged = head.charged;
        let latest = self.plan(at, charged);
        self.started.push_back((id, latest));
    }
}
