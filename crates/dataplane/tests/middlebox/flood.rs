//! A flood of false addresses, each of them a flow of its own, beside flows that are honest.

use dovetail_dataplane::core::Middlebox;
use dovetail_units::{Duration, Time};
use dovetail_wire::LinkType;
use etherparse::PacketBuilder;

use crate::support::{middlebox, us};

/// 10^6 flows in a minute.
const INTERVAL: Duration = Duration::from_micros(60);

/// Bytes of each flow: half of what the link carries, and twice that.
const LIGHT: usize = 400;
const HEAVY: usize = BYTES;

const BYTES: usize = 1514;

const LINK: f64 = 100e6;

/// Of an honest flow, from the box to its receiver and back to its sender.
const ROUND_TRIP: Duration = Duration::from_millis(10);

const CONFIG: &str = "scheduler = \"SCHEDULER\"\n[flows]\nmost = 512\n[link]\nrate = \"100 Mbps\"\n\
                      [[class]]\nname = \"all\"\ncost = \"5 us\"\n";

/// What shares CPU and link by flows, each in its own way.
const FAIR: [&str; 6] = ["drr", "wfq", "drr+drr", "tradeoff:alpha=0.85", "drfq", "mr3"];

/// A UDP frame of one of very many senders, with a number.
fn frame(sender: u32, number: u32, bytes: usize) -> Vec<u8> {
    let source = (0x1400_0000 + sender).to_be_bytes();
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4(source, [10, 0, 1, 1], 64).udp(9, 80);
    let mut payload = vec![0; bytes - 42];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    let mut frame = Vec::new();
    builder.write(&mut frame, &payload).unwrap();
    frame
}

fn sender_and_number(frame: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(frame[at..at + 4].try_into().unwrap());
    (number(26) - 0x1400_0000, number(42))
}

/// A sender as TCP is: a window that grows by a packet in a round trip, and is halved once a window after a loss.
struct Honest {
    sender: u32,
    window: f64,
    next: u32,
    /// What has come in order, and all before which a loss has been answered.
    came: u32,
    recovered: u32,
    on_the_way: u32,
    /// When the sender hears that one has come.
    heard: std::collections::VecDeque<Time>,
    latest: Time,
    delivered: u64,
}

impl Honest {
    fn new(sender: u32, now: Time) -> Self {
        let heard = std::collections::VecDeque::new();
        Self { sender, window: 10.0, next: 0, came: 0, recovered: 0, on_the_way: 0, heard, latest: now, delivered: 0 }
    }

    fn send(&mut self, now: Time, to: &mut Middlebox) {
        while self.heard.pop_front_if(|at| *at <= now).is_some() {
            self.on_the_way = self.on_the_way.saturating_sub(1);
            self.window += 1.0 / self.window;
            self.latest = now;
        }
        if now.since(self.latest) > Duration::from_millis(400) {
            // Nothing is heard any more.
            (self.window, self.on_the_way, self.latest) = (1.0, 0, now);
        }
        while f64::from(self.on_the_way) < self.window {
            put(to, now, &frame(self.sender, self.next, BYTES));
            self.next += 1;
            self.on_the_way += 1;
        }
    }

    fn receive(&mut self, now: Time, number: u32) {
        assert!(number >= self.came, "packets of a flow stay in order: {number} after {}", self.came);
        let lost = number - self.came;
        if lost > 0 {
            self.on_the_way = self.on_the_way.saturating_sub(lost);
            if number >= self.recovered {
                (self.window, self.recovered) = ((self.window / 2.0).max(1.0), self.next);
            }
        }
        self.came = number + 1;
        self.delivered += BYTES as u64;
        self.heard.push_back(now + ROUND_TRIP);
    }
}

fn put(middlebox: &mut Middlebox, now: Time, bytes: &[u8]) {
    let mut frame = middlebox.pool.take();
    frame.fill(now, bytes, LinkType::ETHERNET);
    middlebox.receive(now, frame);
}

/// What an honest flow gets that was there before the flood, and one that comes when the table has long been full,
/// both as parts of a fair share: each has half of what the flood leaves of the link, or of half the link if it leaves
/// less.
fn shares(scheduler: &str, bytes_of_a_flow: usize, packets_of_a_flow: u32) -> [f64; 2] {
    let mut middlebox = middlebox(&CONFIG.replace("SCHEDULER", scheduler));
    let false_bytes = bytes_of_a_flow / packets_of_a_flow as usize;
    let mut honest = vec![Honest::new(0, us(0))];
    let (mut falsehoods, mut second) = (1000, std::collections::VecDeque::new());
    let (begin, newcomer, measured, end) = (us(200_000), us(400_000), us(1_000_000), us(2_200_000));
    let mut now = us(0);
    let mut before = [0; 2];
    while now < end {
        now += INTERVAL;
        if now >= begin {
            put(&mut middlebox, now, &frame(falsehoods, 0, false_bytes));
            second.extend((1..packets_of_a_flow).map(|k| (now + Duration::from_millis(u64::from(k)), falsehoods)));
            falsehoods += 1;
        }
        while let Some((_, sender)) = second.pop_front_if(|(at, _)| *at <= now) {
            put(&mut middlebox, now, &frame(sender, 1, false_bytes));
        }
        if honest.len() == 1 && now >= newcomer {
            honest.push(Honest::new(1, now));
        }
        if now.since(measured) < INTERVAL && now >= measured {
            before = [0, 1].map(|k| honest[k].delivered);
        }
        honest.iter_mut().for_each(|honest| honest.send(now, &mut middlebox));
        middlebox.advance(now);
        take_out(now, &mut middlebox, &mut honest);
    }
    let flood = bytes_of_a_flow as f64 * 8e9 / INTERVAL.as_nanos() as f64;
    let fair = (LINK - flood).max(LINK / 2.0) / 2.0;
    [0, 1].map(|k| (honest[k].delivered - before[k]) as f64 * 8.0 / (end - measured).as_nanos() as f64 * 1e9 / fair)
}

fn take_out(now: Time, middlebox: &mut Middlebox, honest: &mut [Honest]) {
    while let Some(frame) = middlebox.outgoing.pop_front() {
        let (sender, number) = sender_and_number(frame.data());
        if let Some(honest) = honest.get_mut(sender as usize) {
            honest.receive(now, number);
        }
        middlebox.pool.give(frame);
    }
}

#[test]
fn under_a_flood_of_flows_of_one_packet_a_newcomer_has_half_of_its_share_and_who_was_there_nine_tenths() {
    for scheduler in FAIR {
        let [established, newcomer] = shares(scheduler, LIGHT, 1);
        assert!(established >= 0.9 && newcomer >= 0.5, "{scheduler}: {established:.2} {newcomer:.2}");
    }
}

/// Flows of one frame together have no more than the flows of more of them.
#[test]
fn under_a_flood_that_alone_would_fill_the_link_twice_both_have_as_much_of_half_the_link() {
    for scheduler in FAIR {
        let [established, newcomer] = shares(scheduler, HEAVY, 1);
        assert!(established >= 0.9 && newcomer >= 0.5, "{scheduler}: {established:.2} {newcomer:.2}");
    }
}

/// Which no table forgets before they are idle.
#[test]
fn the_same_holds_for_flows_of_two_packets() {
    for scheduler in FAIR {
        let [established, newcomer] = shares(scheduler, LIGHT, 2);
        assert!(established >= 0.9 && newcomer >= 0.5, "{scheduler}: {established:.2} {newcomer:.2}");
    }
}

#[test]
fn a_flood_takes_no_more_memory_than_the_table_has_room_for() {
    for packets in [1, 2] {
        let mut middlebox = middlebox(&CONFIG.replace("SCHEDULER", "drr").replace("512", "64"));
        for sender in 0..20_000 {
            let now = us(u64::from(sender) * 100);
            (0..packets).for_each(|number| put(&mut middlebox, now, &frame(sender, number, 100)));
            middlebox.advance(now);
            take_out(now, &mut middlebox, &mut []);
        }
        let snapshot = middlebox.snapshot(us(2_000_000));
        let flows = snapshot.classes[0].flows;
        // 1,024 queues are shared by flows that find the table full.
        let most = if packets == 1 { 64 } else { 64 + 1024 };
        assert!(flows <= most, "{flows}");
        assert_eq!(snapshot.overflowed == 0, packets == 1, "{}", snapshot.overflowed);
    }
}
