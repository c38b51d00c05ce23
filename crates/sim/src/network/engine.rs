//! The event loop of a network.

use std::sync::atomic::Ordering;

use dovetail_sched::aqm::{Congestion, Encoding};
use dovetail_tcp::{Ack, AckPolicy, Rules, Sender};
use dovetail_units::{Duration, Time};
use rand::RngExt;
use slab::Slab;

use super::calendar::{Alarms, Calendar, Event, Line, WayId, Ways};
use super::description::{Class, MOST_FLOWS, Network, RoundTrip, Traffic};
use super::flow::{Connection, Reach, delays};
use super::packet::{Packet, PacketId};
use super::queue::{First, Queue};
use super::result::{HopTotals, NetworkResult, Totals};
use super::server::Server;
use super::web::Web;
use super::{NetworkOptions, Tap};
use crate::error::SimError;
use crate::random::{Stream, stream};

/// Length of a SYN on the wire.
const SYN_BYTES: u32 = 40;

/// Events between two looks at the cancel flag.
const EVENTS_PER_REPORT: u32 = 1 << 16;

/// A resource at work.
struct Station {
    server: Server,
    queue: Queue,
    in_service: Option<PacketId>,
    behind: Line<PacketId>,
    totals: HopTotals,
}

/// What is on its way between a flow's ends and the hops.
enum Travel {
    Data(PacketId),
    /// From its receiver. Its event was decided when the packet came there that it answers.
    Ack {
        flow: u32,
        ack: Ack,
    },
}

/// Where the ways from the senders begin; ways from receivers begin at the last hop before them.
const SENDERS: u32 = u32::MAX;

pub(super) struct Engine<'a, T> {
    network: &'a Network,
    options: NetworkOptions<'a>,
    tap: &'a mut T,
    /// Its places: for every hop the end of service and the way behind it, for every traffic its next flow, the alarms
    /// of senders and of receivers, the ways.
    calendar: Calendar,
    stations: Vec<Station>,
    /// Those in the network.
    packets: Slab<Packet>,
    ways: Ways<Travel>,
    /// Of every flow, its sender's.
    alarms: Alarms,
    /// Of every flow whose receiver delays ACKs, the receiver's.
    ack_alarms: Alarms,
    /// Flows that have not started yet of every long-lived traffic, or the arrivals of a short-lived one.
    webs: Vec<Option<Web>>,
    started: Vec<u64>,
    flows: Vec<Connection>,
    free: Vec<u32>,
    totals: Totals,
    draws: Stream,
    now: Time,
}

impl<'a, T: Tap> Engine<'a, T> {
    pub fn new(network: &'a Network, options: NetworkOptions<'a>, tap: &'a mut T) -> Result<Self, SimError> {
        let (hops, traffic) = (network.hops.len() as u32, network.traffic.len() as u32);
        let mut stations = Vec::new();
        for (k, hop) in (0..hops).zip(&network.hops) {
            stations.push(Station {
                server: Server::new(hop.service),
                queue: Queue::new(hop, network, options.seed)?,
                in_service: None,
                behind: Line::new(hops + k, hop.delay),
                totals: HopTotals::default(),
            });
        }
        let web = |(k, traffic): (usize, &Traffic)| Web::new(traffic, stream(options.seed, &format!("web {k}")));
        let draws = stream(options.seed, "flows");
        let mut engine = Self {
            network,
            tap,
            calendar: Calendar::new(),
            stations,
            packets: Slab::new(),
            ways: Ways::new(2 * hops + traffic + 2),
            alarms: Alarms::new(2 * hops + traffic, stream(options.seed, "timers")),
            ack_alarms: Alarms::new(2 * hops + traffic + 1, stream(options.seed, "delayed ACKs")),
            webs: network.traffic.iter().enumerate().map(web).collect(),
            started: vec![0; network.traffic.len()],
            flows: Vec::new(),
            free: Vec::new(),
            totals: Totals::new(network),
            draws,
            now: Time::ZERO,
            options,
        };
        (0..network.traffic.len()).for_each(|traffic| engine.plan_flow(traffic));
        Ok(engine)
    }

    pub fn run(mut self) -> Result<Option<NetworkResult>, SimError> {
        let mut until_report = EVENTS_PER_REPORT;
        let mut warm = false;
        while let Some((time, place)) = self.calendar.peek().filter(|&(time, _)| time <= self.options.until) {
            if !warm && time >= self.options.warm_up {
                warm = true;
                self.measure_from(self.options.warm_up);
            }
            self.now = time;
            self.happen(place)?;
            until_report -= 1;
            if until_report == 0 {
                until_report = EVENTS_PER_REPORT;
                if self.options.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                    return Ok(None);
                }
            }
        }
        if !warm {
            self.measure_from(self.options.warm_up);
        }
        Ok(Some(self.finish()))
    }

    fn happen(&mut self, place: u32) -> Result<(), SimError> {
        let (hops, traffic) = (self.stations.len() as u32, self.webs.len() as u32);
        if place > 2 * hops + traffic + 1 {
            match self.ways.receive(place, &mut self.calendar) {
                Some(Travel::Data(packet)) => self.arrives(packet)?,
                Some(Travel::Ack { flow, ack }) => self.ack_arrives(flow as usize, ack),
                None => {}
            }
        } else if place < hops {
            self.service_ends(place as usize)?;
        } else if place < 2 * hops {
            match self.stations[(place - hops) as usize].behind.receive(&mut self.calendar) {
                Some(packet) if self.is_through(packet) => self.receive(self.now, packet),
                Some(packet) => self.arrives(packet)?,
                None => {}
            }
        } else if place < 2 * hops + traffic {
            self.start_flow((place - 2 * hops) as usize)?;
            self.plan_flow((place - 2 * hops) as usize);
        } else if place == 2 * hops + traffic {
            if let Some(flow) = self.alarms.ring(&mut self.calendar) {
                self.alarm(flow as usize);
            }
        } else if let Some(flow) = self.ack_alarms.ring(&mut self.calendar) {
            self.ack_alarm(flow as usize);
        }
        Ok(())
    }

    fn ack_arrives(&mut self, index: usize, ack: Ack) {
        let flow = &mut self.flows[index];
        flow.under_way -= 1;
        flow.sender.on_ack(self.now, ack);
        self.transmit(index);
    }

    /// The alarm of a flow's sender goes off: its timer may have moved on since it was set, and the sender looks
    /// itself.
    fn alarm(&mut self, index: usize) {
        self.flows[index].sender.on_timer(self.now);
        self.transmit(index);
    }

    /// The next flow of this traffic is due.
    fn plan_flow(&mut self, traffic: usize) {
        let place = 2 * self.stations.len() as u32 + traffic as u32;
        let next = match &mut self.webs[traffic] {
            Some(web) => Some(web.next()),
            None => self.network.traffic[traffic].start(self.started[traffic]),
        };
        match next {
            Some(time) => self.calendar.set(place, Event::new(time, self.now)),
            None => self.calendar.clear(place),
        }
    }

    fn start_flow(&mut self, traffic: usize) -> Result<(), SimError> {
        let described = &self.network.traffic[traffic];
        let class = &self.network.classes[described.class() as usize];
        let mut config = class.tcp;
        if let Some(web) = &mut self.webs[traffic] {
            config.length = web.length();
        }
        if let Rules::Ns2 { clock_phase } = &mut config.rules {
            *clock_phase = Duration::from_nanos(self.draws.random_range(0..config.granularity.as_nanos()));
        }
        let sender = Sender::new(config).map_err(|e| SimError::invalid(e.to_string()))?;
        let reach = self.reach(class, described.rtt());
        let number = self.started.iter().sum();
        let flow = Connection::new(sender, (traffic as u32, described.class()), number, reach, class);
        let index =
            self.place(flow).ok_or_else(|| SimError::TooManyFlows { at: self.now, class: class.name.clone() })?;
        self.started[traffic] += 1;
        for station in &mut self.stations {
            station.queue.add_flow(index as u32);
        }
        self.transmit(index);
        Ok(())
    }

    /// Flows of one round trip share their ways; those that draw it have their own.
    fn reach(&mut self, class: &Class, rtt: RoundTrip) -> Reach {
        let spread = rtt.max.saturating_sub(rtt.min).as_nanos();
        let drawn = if spread == 0 { 0 } else { self.draws.random_range(0..=spread) };
        let rtt = rtt.min + Duration::from_nanos(drawn);
        let delays = delays(rtt, self.network.way(class));
        let mut way = |begins, delay| if spread == 0 { self.ways.shared(begins, delay) } else { WayId::Own(delay) };
        let last_hop = class.route.last().copied().unwrap_or(SENDERS);
        Reach { rtt, before: way(SENDERS, delays[0]), back: way(last_hop, delays[1]) }
    }

    /// `None` if there is no room for another.
    fn place(&mut self, flow: Connection) -> Option<usize> {
        if let Some(free) = self.free.pop() {
            self.flows[free as usize] = flow;
            return Some(free as usize);
        }
        (self.flows.len() < MOST_FLOWS as usize).then(|| {
            self.flows.push(flow);
            self.flows.len() - 1
        })
    }

    /// Send what the window allows, and set the timer.
    fn transmit(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let class = &self.network.classes[flow.class as usize];
        while let Some(segment) = flow.sender.poll_transmit(self.now) {
            let bytes = if segment.syn { SYN_BYTES } else { class.packet_bytes };
            let (class, congestion) = (flow.class, Congestion::Initial);
            let packet = Packet { flow: index as u32, class, bytes, passed: 0, congestion, segment };
            let packet = Travel::Data(self.packets.insert(packet) as PacketId);
            flow.under_way += 1;
            let from = flow.leaves_access(self.now, bytes);
            self.ways.send(flow.reach.before, self.now, from, packet, &mut self.calendar);
        }
        match flow.sender.next_timer() {
            Some(time) => self.alarms.at_latest(self.now, index as u32, time, &mut self.calendar),
            None => self.alarms.clear(index as u32, &mut self.calendar),
        }
        if flow.is_through() {
            self.retire(index);
        }
    }

    /// A flow that has sent everything and of which nothing is under way makes room for another.
    fn retire(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        self.totals.finished(flow);
        flow.leave();
        self.alarms.clear(index as u32, &mut self.calendar);
        self.ack_alarms.clear(index as u32, &mut self.calendar);
        for station in &mut self.stations {
            station.queue.remove_flow(self.now, index as u32);
        }
        self.free.push(index as u32);
    }

    /// The packet comes to the next hop of its route.
    fn arrives(&mut self, id: PacketId) -> Result<(), SimError> {
        let packet = &mut self.packets[id as usize];
        let class = &self.network.classes[packet.class as usize];
        let hop = class.route[usize::from(packet.passed)] as usize;
        packet.passed += 1;
        let station = &mut self.stations[hop];
        if !self.network.hops[hop].service.is_needed(class) {
            station.totals.arrived += 1;
            self.passes_on(hop, id);
            return Ok(());
        }
        let server = &station.server;
        let bytes = packet.bytes;
        let cost = || server.cost(bytes, class);
        station.totals.queue_was(self.now, station.queue.len());
        let is_idle = station.in_service.is_none();
        if station.queue.arrive(self.now, id, packet, cost, &mut station.totals).is_err() {
            self.lose(id);
        }
        if is_idle {
            self.serve(hop)?;
        }
        Ok(())
    }

    /// The packet has found no room, or was dropped.
    fn lose(&mut self, id: PacketId) {
        let index = self.packets.remove(id as usize).flow;
        let flow = &mut self.flows[index as usize];
        flow.under_way -= 1;
        if flow.is_through() {
            self.retire(index as usize);
        }
    }

    /// The idle resource takes the next packet.
    fn serve(&mut self, hop: usize) -> Result<(), SimError> {
        let station = &mut self.stations[hop];
        station.totals.queue_was(self.now, station.queue.len());
        let first = loop {
            let station = &mut self.stations[hop];
            match station.queue.next(self.now, &mut station.totals)? {
                Some(First::Dropped(id)) => self.lose(id),
                Some(First::Served(id)) => break Some(id),
                None => break None,
            }
        };
        let station = &mut self.stations[hop];
        station.in_service = first;
        let Some(id) = first else {
            self.calendar.clear(hop as u32);
            return Ok(());
        };
        let packet = &self.packets[id as usize];
        let class = &self.network.classes[packet.class as usize];
        let time = station.server.time(packet.bytes, class);
        station.totals.served(self.now, time, packet.bytes);
        self.calendar.set(hop as u32, Event::new(self.now + time, self.now));
        Ok(())
    }

    fn service_ends(&mut self, hop: usize) -> Result<(), SimError> {
        let station = &mut self.stations[hop];
        if let Some(packet) = station.in_service.take() {
            station.queue.departed(self.now);
            self.passes_on(hop, packet);
        }
        self.serve(hop)
    }

    /// The packet leaves the hop.
    fn passes_on(&mut self, hop: usize, id: PacketId) {
        let station = &mut self.stations[hop];
        let packet = &mut self.packets[id as usize];
        self.tap.left(self.now, hop as u32, packet, || self.flows[packet.flow as usize].number);
        station.totals.departed += 1;
        let described = &self.network.hops[hop];
        if let Some(encoding) = described.encoding {
            packet.congestion = carried(encoding, packet);
        }
        let class = &self.network.classes[packet.class as usize];
        let last = usize::from(packet.passed) == class.route.len();
        if last && class.acks == AckPolicy::EverySegment {
            self.receive(self.now + described.delay, id);
        } else {
            station.behind.send(self.now, self.now, id, &mut self.calendar);
        }
    }

    /// Whether the packet has passed all hops of its route.
    fn is_through(&self, id: PacketId) -> bool {
        let packet = &self.packets[id as usize];
        usize::from(packet.passed) == self.network.classes[packet.class as usize].route.len()
    }

    /// The packet comes to its receiver then. From its last hop nothing overtakes it, so that a receiver that answers
    /// at once can be asked before; one that may wait for the next segment is asked when it comes.
    fn receive(&mut self, then: Time, id: PacketId) {
        let packet = self.packets.remove(id as usize);
        let flow = &mut self.flows[packet.flow as usize];
        flow.under_way -= 1;
        let before = flow.receiver.stats().distinct;
        if let Some(ack) = flow.receiver.on_segment(then, packet.segment) {
            flow.under_way += 1;
            let answer = Travel::Ack { flow: packet.flow, ack };
            self.ways.send(flow.reach.back, then, then, answer, &mut self.calendar);
        }
        let NetworkOptions { warm_up, until, .. } = self.options;
        if then > until || self.now < warm_up && then >= warm_up {
            let came = flow.receiver.stats().distinct - before;
            flow.past_end += if then > until { came } else { 0 };
            flow.past_warm_up += if self.now < warm_up { came } else { 0 };
        }
        if let Some(due) = flow.receiver.next_timer() {
            self.ack_alarms.at_latest(self.now, packet.flow, due, &mut self.calendar);
        }
    }

    /// The alarm of a flow's receiver goes off: another ACK may have been given since it was set, and the receiver
    /// looks itself.
    fn ack_alarm(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if let Some(ack) = flow.receiver.on_timer(self.now) {
            flow.under_way += 1;
            let answer = Travel::Ack { flow: index as u32, ack };
            self.ways.send(flow.reach.back, self.now, self.now, answer, &mut self.calendar);
        }
        if let Some(due) = flow.receiver.next_timer() {
            self.ack_alarms.at_latest(self.now, index as u32, due, &mut self.calendar);
        }
    }

    /// What happens from now on counts.
    fn measure_from(&mut self, time: Time) {
        for station in &mut self.stations {
            let held = u64::from(station.queue.len()) + u64::from(station.in_service.is_some());
            station.totals.restart(time, held);
        }
        self.totals.restart(&mut self.flows);
    }

    fn finish(mut self) -> NetworkResult {
        let until = self.options.until;
        for station in &mut self.stations {
            station.totals.queue_was(until, station.queue.len());
        }
        let span = until.since(self.options.warm_up);
        let hops = self.network.hops.iter().zip(self.stations).map(|(hop, station)| {
            let held = u64::from(station.queue.len()) + u64::from(station.in_service.is_some());
            station.totals.result(hop, span, held)
        });
        self.totals.result(&self.flows, span, hops.collect())
    }
}

/// DRQ's state of a packet behind a box that writes it into the ECN field, as the next box reads it. Senders set
/// ECT(0), or nothing.
fn carried(encoding: Encoding, packet: &Packet) -> Congestion {
    let field = if packet.segment.ect { 0b10 } else { 0b00 };
    encoding.read(encoding.write(field, packet.congestion)).congestion
}
