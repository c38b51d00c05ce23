//! What a run of a network yields.

use dovetail_units::{Duration, Time};

use super::description::{Hop, Network, Traffic};
use super::flow::Connection;

/// A hop, counted after the warm-up.
#[derive(Clone, PartialEq, Debug)]
pub struct HopResult {
    /// Its name.
    pub name: String,
    /// Busy part of the time.
    pub utilization: f64,
    /// Bits served per second; of the packets in service at the beginning and at the end, what was served between.
    pub rate_bps: f64,
    /// Mean number of packets that wait, the one in service not counted.
    pub queue: f64,
    /// Its standard deviation over time.
    pub queue_deviation: f64,
    /// The most that waited.
    pub longest_queue: u32,
    /// Packets that were there when counting began, the one in service included.
    pub held_before: u64,
    /// Packets that came.
    pub arrived: u64,
    /// Packets that the queue management dropped: of those that came, and of those that were there before.
    pub dropped: u64,
    /// Of these, dropped after they had waited.
    pub dropped_waiting: u64,
    /// Of those that came, dropped because there was no room.
    pub overflowed: u64,
    /// Of those that came, marked as having met congestion.
    pub marked: u64,
    /// Of those that came, marked as having met a resource near congestion (DRQ's signalling mark).
    pub signalled: u64,
    /// Packets that were served to their end. What was there before and what came are these, what was lost, and what
    /// is there after.
    pub departed: u64,
    /// Packets that are there at the end, the one in service included.
    pub held_after: u64,
}

impl HopResult {
    /// Drops per packet that could be dropped, 0 to 1: per arrival; where packets are dropped after they waited, those
    /// that were there when counting began are among them.
    pub fn drop_rate(&self) -> f64 {
        let held = if self.dropped_waiting > 0 { self.held_before } else { 0 };
        ratio(self.dropped + self.overflowed, held + self.arrived)
    }

    /// Congestion marks per arrival.
    pub fn mark_rate(&self) -> f64 {
        ratio(self.marked, self.arrived)
    }
}

/// A long-lived flow, counted after the warm-up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowResult {
    /// Index of its traffic.
    pub traffic: u32,
    /// Index of its class.
    pub class: u32,
    /// Its two-way propagation delay.
    pub rtt: Duration,
    /// Bits of the data packets that came to the receiver, each once, with headers, per second.
    pub goodput_bps: f64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Segments sent again.
    pub retransmissions: u64,
}

/// One traffic, counted after the warm-up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TrafficResult {
    /// Index of its class.
    pub class: u32,
    /// Flows that ended.
    pub finished: u64,
    /// Bits of in-order data packets per second, all flows together. Of short flows, those that ended or are under way
    /// at the end.
    pub goodput_bps: f64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// A run's outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct NetworkResult {
    /// In the order of the network.
    pub hops: Vec<HopResult>,
    /// Long-lived flows, in the order of their starts.
    pub flows: Vec<FlowResult>,
    /// In the order of the network.
    pub traffic: Vec<TrafficResult>,
    /// Data packets that reached their receivers, from the beginning of the run.
    pub packets: u64,
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Counts of a hop.
#[derive(Default)]
pub(super) struct HopTotals {
    from: Time,
    busy: Duration,
    bytes: u64,
    /// Bits of the packet in service when counting began that were served after.
    rest_bits: f64,
    /// Length of the last packet, and how long it takes.
    last: (u32, Duration),
    /// Packets times nanoseconds, and squares of packets times nanoseconds.
    waiting: u128,
    waiting_squared: u128,
    since: Time,
    longest: u32,
    held_before: u64,
    pub departed: u64,
    pub arrived: u64,
    pub dropped: u64,
    pub dropped_waiting: u64,
    pub overflowed: u64,
    pub marked: u64,
    pub signalled: u64,
    /// The service that began before counting did ends then.
    busy_until: Time,
}

impl HopTotals {
    /// Until now, so many waited.
    #[inline]
    pub fn queue_was(&mut self, now: Time, waiting: u32) {
        let (time, packets) = (u128::from(now.since(self.since).as_nanos()), u64::from(waiting));
        self.waiting += time * u128::from(packets);
        self.waiting_squared += time * u128::from(packets * packets);
        self.since = now;
        self.longest = self.longest.max(waiting);
    }

    #[inline]
    pub fn served(&mut self, now: Time, time: Duration, bytes: u32) {
        self.busy += time;
        self.busy_until = now + time;
        self.bytes += u64::from(bytes);
        self.last = (bytes, time);
    }

    /// What happens from now on counts; so many packets are there.
    pub fn restart(&mut self, time: Time, held_before: u64) {
        let Self { busy_until, last, .. } = *self;
        let (busy, rest_bits) = (busy_until.since(time), self.bits_after(time));
        *self = Self { from: time, since: time, busy, busy_until, rest_bits, last, held_before, ..Self::default() };
    }

    /// Bits of the last packet that are served after this time.
    fn bits_after(&self, time: Time) -> f64 {
        let (bytes, taken) = self.last;
        let rest = self.busy_until.since(time).min(taken);
        if taken == Duration::ZERO { 0.0 } else { 8.0 * f64::from(bytes) * rest.as_secs_f64() / taken.as_secs_f64() }
    }

    /// At the end, when so many packets are there.
    pub fn result(self, hop: &Hop, span: Duration, held_after: u64) -> HopResult {
        let seconds = span.as_secs_f64();
        // A service that is under way at the end counts only as far as it got.
        let beyond = self.busy_until.since(self.from + span);
        let busy = self.busy.saturating_sub(beyond).as_secs_f64();
        let per_second = |x: f64| if seconds > 0.0 { x / seconds } else { 0.0 };
        let bits = self.rest_bits + 8.0 * self.bytes as f64 - self.bits_after(self.from + span);
        let queue = per_second(self.waiting as f64 / 1e9);
        let variance = per_second(self.waiting_squared as f64 / 1e9) - queue * queue;
        HopResult {
            name: hop.name.clone(),
            utilization: per_second(busy),
            rate_bps: per_second(bits),
            queue,
            queue_deviation: variance.max(0.0).sqrt(),
            longest_queue: self.longest,
            held_before: self.held_before,
            arrived: self.arrived,
            departed: self.departed,
            held_after,
            dropped: self.dropped,
            dropped_waiting: self.dropped_waiting,
            overflowed: self.overflowed,
            marked: self.marked,
            signalled: self.signalled,
        }
    }
}

/// Counts of the flows.
pub(super) struct Totals {
    packet_bytes: Vec<u32>,
    traffic: Vec<Ended>,
}

/// Flows of one traffic that ended.
#[derive(Clone, Copy, Default)]
struct Ended {
    class: u32,
    long_lived: bool,
    flows: u64,
    segments: u64,
    all_segments: u64,
    timeouts: u64,
}

impl Totals {
    pub fn new(network: &Network) -> Self {
        let ended = |t: &Traffic| Ended {
            class: t.class(),
            long_lived: matches!(t, Traffic::LongLived { .. }),
            ..Ended::default()
        };
        Self {
            packet_bytes: network.classes.iter().map(|c| c.packet_bytes).collect(),
            traffic: network.traffic.iter().map(ended).collect(),
        }
    }

    pub fn finished(&mut self, flow: &Connection) {
        let ended = &mut self.traffic[flow.traffic as usize];
        ended.flows += 1;
        ended.segments += flow.delivered();
        ended.all_segments += flow.delivered_in_all();
        ended.timeouts += flow.timeouts();
    }

    pub fn restart(&mut self, flows: &mut [Connection]) {
        for ended in &mut self.traffic {
            *ended = Ended {
                class: ended.class,
                long_lived: ended.long_lived,
                all_segments: ended.all_segments,
                ..Ended::default()
            };
        }
        for flow in flows {
            flow.count_from_now();
        }
    }

    pub fn result(&self, flows: &[Connection], span: Duration, hops: Vec<HopResult>) -> NetworkResult {
        let seconds = span.as_secs_f64();
        let rate = |segments: u64, class: u32| {
            let bits = 8.0 * segments as f64 * f64::from(self.packet_bytes[class as usize]);
            if seconds > 0.0 { bits / seconds } else { 0.0 }
        };
        let mut totals = self.traffic.clone();
        let mut long_lived = Vec::new();
        for flow in flows.iter().filter(|flow| flow.lives) {
            let total = &mut totals[flow.traffic as usize];
            total.segments += flow.delivered();
            total.all_segments += flow.delivered_in_all();
            total.timeouts += flow.timeouts();
            if total.long_lived {
                let result = FlowResult {
                    traffic: flow.traffic,
                    class: flow.class,
                    rtt: flow.reach.rtt,
                    goodput_bps: rate(flow.delivered(), flow.class),
                    timeouts: flow.timeouts(),
                    retransmissions: flow.retransmissions(),
                };
                long_lived.push((flow.number, result));
            }
        }
        // Places are used again, so they do not tell the order of the starts.
        long_lived.sort_unstable_by_key(|&(number, _)| number);
        let traffic = totals.iter().map(|t| TrafficResult {
            class: t.class,
            finished: t.flows,
            goodput_bps: rate(t.segments, t.class),
            timeouts: t.timeouts,
        });
        NetworkResult {
            hops,
            flows: long_lived.into_iter().map(|(_, result)| result).collect(),
            traffic: traffic.collect(),
            packets: totals.iter().map(|t| t.all_segments).sum(),
        }
    }
}
