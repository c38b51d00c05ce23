//! What callers ask of it.

use std::collections::VecDeque;

use dovetail_sched::spec::SpecError;
use dovetail_sched::{
    DropReason, FlowConfig, FlowId, LONGEST_TIME, Next, Packet, Progress, Refused, Scheduler, Served, Stats, Ticket,
    UnknownFlow,
};
use dovetail_units::{Duration, ResourceVec, Time};

use super::{DirectTradeoff, Flow, in_time};

impl<const M: usize, P: Send> Scheduler<M, P> for DirectTradeoff<M, P> {
    fn add_flow(&mut self, config: FlowConfig<M>) -> FlowId {
        let flow = |generation| Flow {
            generation,
            live: true,
            config,
            waiting: VecDeque::new(),
            unstarted: VecDeque::new(),
            head: None,
            had: [0; 2],
            longest: [0; 2],
            had_of_all: 0,
            most_near: 0,
            uncharged: 0,
            part: 0,
            rest: 0,
            owed: [0; M],
        };
        self.has(self.floor(&config));
        let at = self.free.pop().map_or(self.flows.len(), |at| at as usize);
        if at == self.flows.len() {
            self.flows.push(flow(0));
        } else {
            self.flows[at] = flow(self.flows[at].generation.wrapping_add(1));
        }
        self.id(at)
    }

    fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<M>) -> Result<(), UnknownFlow> {
        self.hear(now);
        let at = self.find(flow).ok_or(UnknownFlow)?;
        self.handle_events();
        let old = self.flows[at].config.weight;
        let new = config.weight;
        if old != new && self.flows[at].head.is_some() {
            self.run_to_now();
            if let Some((end, _)) = self.bonus_of(at) {
                self.charge(at, end);
            }
            let scale = |left: i128| (left * i128::from(old.as_milli()) / i128::from(new.as_milli())).clamp(0, 1 << 95);
            if let Some(head) = &mut self.flows[at].head {
                head.left = scale(head.left);
                head.service = scale(head.service as i128) as u128;
            }
            let FlowConfig { alpha, class, .. } = self.flows[at].config;
            self.flows[at].config = FlowConfig { alpha, class, ..config };
            self.changed();
        }
        let is_other = self.floor(&self.flows[at].config) != self.floor(&config);
        self.has(self.floor(&config));
        if is_other && self.flows[at].head.is_some() {
            self.give_floor(at, config.alpha, config.class);
        }
        self.flows[at].config = config;
        Ok(())
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(P)) -> Result<(), UnknownFlow> {
        self.hear(now);
        let at = self.find(flow).ok_or(UnknownFlow)?;
        self.handle_events();
        self.flows[at].live = false;
        self.free.push(at as u32);
        for (size, _, payload) in std::mem::take(&mut self.flows[at].waiting) {
            self.stats.dropped += 1;
            self.stats.queued -= 1;
            self.stats.queued_bytes -= u64::from(size);
            dropped(payload);
        }
        if self.flows[at].head.is_some() {
            self.run_to_now();
            let ended = self.flows[at].head.take();
            self.move_cell(at, ended.as_ref());
            self.favoured = self.favoured.map(|f| f.filter(|&(i, _)| i != at));
            self.changed();
        }
        Ok(())
    }

    fn enqueue(&mut self, now: Time, packet: Packet<M, P>) -> Result<(), Refused<P>> {
        self.hear(now);
        self.stats.offered += 1;
        let Packet { flow, size, cost, payload } = packet;
        let cost = ResourceVec(cost.0.map(|time| time.min(LONGEST_TIME)));
        let Some(at) = self.find(flow) else { return self.refuse(DropReason::UnknownFlow, payload) };
        let record = &self.flows[at];
        let limit = record.config.limit;
        let bytes: u64 = record.waiting.iter().map(|w| u64::from(w.0)).sum();
        if limit.packets.is_some_and(|most| record.waiting.len() >= most as usize) {
            return self.refuse(DropReason::QueuePackets, payload);
        }
        if limit.bytes.is_some_and(|most| bytes + u64::from(size) > most.0) {
            return self.refuse(DropReason::QueueBytes, payload);
        }
        self.handle_events();
        self.stats.admitted += 1;
        self.stats.queued += 1;
        self.stats.queued_bytes += u64::from(size);
        self.flows[at].waiting.push_back((size, cost, payload));
        self.flows[at].unstarted.push_back(cost);
        if self.flows[at].head.is_none() {
            self.run_to_now();
            (self.flows[at].had, self.flows[at].longest) = (self.most, [0; 2]);
            self.take_head(at, None);
            self.changed();
        }
        Ok(())
    }

    fn next(&mut self, now: Time) -> Next<M, P> {
        self.hear(now);
        if self.stats.queued == 0 {
            return Next::Empty;
        }
        let soon = Next::At(self.heard + Duration::from_nanos(1));
        if self.put_off == Some(self.heard) && self.find_started().is_none() && (self.stale || self.lags()) {
            return soon;
        }
        self.handle_events();
        if self.stale && !self.ending && self.find_started().is_none() {
            self.reallocate();
        }
        while let Some((flow, latest)) = self.started.pop_front() {
            let Some(at) = self.find(flow) else { continue };
            let Some((size, charged, payload)) = self.flows[at].waiting.pop_front() else { continue };
            self.stats.served += 1;
            self.stats.queued -= 1;
            self.stats.queued_bytes -= u64::from(size);
            let until = |r: usize| charged.0[..=r].iter().copied().sum();
            self.handed_out.push((charged[0] == Duration::ZERO).then(|| std::array::from_fn(until)));
            let mut tags = latest.map(Time::as_nanos);
            tags[0] = self.handed_out.len() as u64;
            let ticket = Ticket::new(flow, charged, tags);
            return Next::Serve(Served { ticket, size, payload });
        }
        if self.lags() {
            self.put_off = Some(self.now);
            return soon;
        }
        if self.a_link_is_late() {
            return Next::AwaitProgress;
        }
        let event = in_time(self.clock + self.until_event().unwrap_or(0));
        Next::At(self.now + event.since(self.fluid_now))
    }

    fn progress(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress) {
        self.hear(now);
        let mut tags = ticket.tags();
        let number = tags[0];
        for r in 0..if event == Progress::Abandoned { M } else { resource } {
            // What nobody has reported is over by now.
            self.leaves(number, r, &ticket.charged(), Duration::MAX, &mut tags);
        }
        if resource > 0 || event == Progress::Abandoned {
            self.handle_events();
        }
        let leaves = event == Progress::Abandoned || (resource + 1 == M && event != Progress::Started);
        for link in 1..M {
            if leaves || (link == resource && event == Progress::Started) {
                self.through[link] = self.through[link].max(number);
            }
        }
        if resource > 0 && event == Progress::Started {
            self.is_late[resource] = self.fluid_now > Time::from_nanos(tags[resource]);
        }
        // Nothing that was handed out later is on its way there.
        for link in 1..M {
            self.is_late[link] &= self.through[link] < self.handed_out.len() as u64;
        }
        let before = ticket.charged();
        let Progress::Finished { used } = event else {
            *ticket = Ticket::new(ticket.flow(), before, tags);
            return;
        };
        let mut after = before;
        if let Some(time) = after.0.get_mut(resource) {
            *time = used.min(LONGEST_TIME);
        }
        self.leaves(number, resource, &before, used, &mut tags);
        *ticket = Ticket::new(ticket.flow(), after, tags);
        if let Some(at) = self.find(ticket.flow()).filter(|_| after != before) {
            self.handle_events();
            let record = &mut self.flows[at];
            for r in 0..M {
                record.owed[r] += after[r].as_nanos() as i64 - before[r].as_nanos() as i64;
            }
        }
    }

    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        self.hear(now);
        self.handle_events();
        let bad = || SpecError::bad_value(parameter, value, "alpha from 0 to 1");
        let alpha = value.parse().ok().filter(|a| parameter == "alpha" && (0.0..=1.0).contains(a)).ok_or_else(bad)?;
        self.set_alpha(alpha);
        Ok(())
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.find(flow).map_or(0, |at| self.flows[at].waiting.len() as u32)
    }
}
