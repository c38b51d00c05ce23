//! The rules by which packets move, one test each.

use std::collections::VecDeque;
use std::convert::Infallible;

use dovetail_pipeline::{Buffer, NoWait, Owner, Passage, Resources, Stage};
use dovetail_units::{Duration, ResourceVec, Time};

const M: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Packet {
    number: u32,
    flow: u32,
    /// Milliseconds on each resource.
    needs: [u64; M],
}

/// A scheduler in order of arrival in front of three resources, and what it heard.
struct Toy {
    resources: Resources<M, Packet>,
    now: u64,
    waiting: VecDeque<Packet>,
    /// When packets on servers end, with resource and server.
    ends: Vec<(u64, usize, u32)>,
    /// A queue of the owner's in front of the last resource.
    queue: Option<VecDeque<Packet>>,
    /// Whether it has heard that it is empty.
    is_told: bool,
    /// Whether it is first in, first out, in place of last in, first out, which shows the order in which it is asked.
    in_order: bool,
    /// Whether packets go past it while it is empty.
    lets_pass: bool,
    /// Whether what needs 3 ms of a resource fails there, and leaves.
    fails: bool,
    /// Whether the last packet that ends at an instant moves on in the same step.
    at_once: bool,
    /// Number, what happened, resource, and when.
    heard: Vec<Heard>,
}

type Heard = (u32, &'static str, usize, u64);

/// Of no packet.
const NOBODY: u32 = u32::MAX;
const ENDLESS: Buffer = Buffer { packets: None, drops: false };

impl Toy {
    fn new(buffers: [Buffer; M]) -> Self {
        let resources = Resources::new(buffers.map(|buffer| Stage::new(1, buffer)));
        Self {
            resources,
            now: 0,
            waiting: VecDeque::new(),
            ends: Vec::new(),
            queue: None,
            is_told: false,
            in_order: false,
            lets_pass: false,
            fails: false,
            at_once: true,
            heard: Vec::new(),
        }
    }

    /// All packets are there at 0. When which of them did what, of what is asked for.
    fn run(self, packets: &[(u32, [u64; M])], what: &str) -> Vec<(u32, usize, u64)> {
        let heard = self.run_all(packets).into_iter().filter(|heard| heard.1 == what);
        heard.map(|(number, _, resource, at)| (number, resource, at)).collect()
    }

    /// As [`run`](Self::run): everything that was heard.
    fn run_all(mut self, packets: &[(u32, [u64; M])]) -> Vec<Heard> {
        let packets = packets.iter().zip(0..).map(|(&(flow, needs), number)| Packet { number, flow, needs });
        self.waiting.extend(packets);
        let Ok(()) = self.move_on();
        loop {
            let Ok(()) = self.dispatch();
            let held = self.resources.no_wait.as_ref().and_then(NoWait::next_start).map(|at| at.as_nanos() / 1_000_000);
            let Some(next) = self.ends.iter().map(|end| end.0).chain(held).min() else { return self.heard };
            self.now = next;
            self.end_all();
        }
    }

    /// Whatever ends now.
    fn end_all(&mut self) {
        let now = self.now;
        let mut ended: Vec<_> = self.ends.extract_if(.., |end| end.0 == now).collect();
        let last = ended.pop_if(|_| self.at_once);
        ended.into_iter().for_each(|(_, resource, server)| self.finish(resource, server));
        let Ok(()) = match last {
            Some((_, resource, server)) => self.finish_and_move_on(resource, server),
            None => self.move_on(),
        };
    }

    fn hear(&mut self, packet: Packet, what: &'static str, resource: usize) {
        self.heard.push((packet.number, what, resource, self.now));
    }
}

impl Owner<M> for Toy {
    type Job = Packet;
    type Error = Infallible;

    fn resources(&self) -> &Resources<M, Packet> {
        &self.resources
    }
    fn resources_mut(&mut self) -> &mut Resources<M, Packet> {
        &mut self.resources
    }
    fn now(&self) -> Time {
        Time::ZERO + Duration::from_millis(self.now)
    }
    fn flow(&self, packet: &Packet) -> u32 {
        packet.flow
    }
    fn needs_nothing(&self, resource: usize, packet: &Packet) -> bool {
        packet.needs[resource] == 0
    }
    fn times(&self, packet: &Packet) -> ResourceVec<M> {
        ResourceVec(packet.needs.map(Duration::from_millis))
    }
    fn too_long(&mut self, packet: Packet) -> Result<(), Infallible> {
        self.hear(packet, "too long", 0);
        Ok(())
    }
    fn next(&mut self) -> Result<Option<Packet>, Infallible> {
        Ok(self.waiting.pop_front())
    }
    fn bypass(&mut self) -> Result<Option<Packet>, Infallible> {
        let Some(takes) = self.takes_behind_first() else { return Ok(None) };
        let resources = &self.resources;
        Ok(self.waiting.pop_front_if(|packet| {
            let needs_nothing = |resource: usize| packet.needs[resource] == 0;
            needs_nothing(0) && resources.may_bypass(&takes, packet.flow, needs_nothing, |other| other.flow)
        }))
    }
    fn has_queue(&self, resource: usize) -> bool {
        resource == 2 && self.queue.is_some()
    }
    fn queued(&self, _resource: usize) -> usize {
        self.queue.as_ref().map_or(0, VecDeque::len)
    }
    fn enqueue(&mut self, _resource: usize, packet: Packet) -> bool {
        self.is_told = false;
        let Some(queue) = &mut self.queue else { return false };
        if self.in_order {
            queue.push_back(packet)
        } else {
            queue.push_front(packet)
        }
        true
    }
    fn lets_pass(&self, resource: usize) -> bool {
        self.lets_pass && self.queued(resource) == 0
    }
    fn may_hand_out(&self, resource: usize) -> bool {
        self.queued(resource) > 0 || !self.is_told
    }
    fn dequeue(&mut self, resource: usize) -> Result<Option<Packet>, Infallible> {
        let packet = self.queue.as_mut().and_then(VecDeque::pop_front);
        if packet.is_none() {
            self.is_told = true;
            self.heard.push((NOBODY, "told", resource, self.now));
        }
        Ok(packet)
    }
    fn started(&mut self, resource: usize, server: u32, packet: &mut Packet) -> Result<(), Infallible> {
        self.ends.push((self.now + packet.needs[resource], resource, server));
        self.hear(*packet, "started", resource);
        Ok(())
    }
    fn finished(&mut self, resource: usize, _server: u32, packet: &mut Packet) -> bool {
        self.hear(*packet, "finished", resource);
        resource + 1 < M && !(self.fails && packet.needs[resource] == 3)
    }
    fn passed(&mut self, resource: usize, packet: &mut Packet) {
        self.hear(*packet, "passed", resource);
    }
    fn left(&mut self, packet: Packet) {
        self.hear(packet, "left", M);
    }
    fn lost(&mut self, resource: usize, packet: Packet) {
        self.hear(packet, "lost", resource);
    }
}

#[test]
fn a_finished_packet_keeps_its_server_until_there_is_room_downstream() {
    let one = Buffer { packets: Some(1), drops: false };
    // The second resource takes 10 ms: one packet on it, one in front of it, and the third keeps the first resource.
    let started = Toy::new([ENDLESS, one, ENDLESS]).run(&[(0, [1, 10, 1]); 4], "started");
    let on_first: Vec<u64> = started.iter().filter(|start| start.1 == 0).map(|start| start.2).collect();
    assert_eq!(on_first, [0, 1, 2, 11]);
}

#[test]
fn a_dropping_buffer_loses_what_finds_it_full() {
    let one = Buffer { packets: Some(1), drops: true };
    let lost = Toy::new([ENDLESS, one, ENDLESS]).run(&[(0, [1, 10, 1]); 4], "lost");
    assert_eq!(lost, [(2, 1, 3), (3, 1, 4)]);
}

#[test]
fn what_needs_nothing_in_the_middle_goes_past_unless_its_flow_is_there() {
    let packets = [(0, [1, 10, 1]), (1, [1, 0, 1]), (0, [1, 0, 1])];
    let left = Toy::new([ENDLESS; M]).run(&packets, "left");
    assert_eq!(left, [(1, 3, 3), (0, 3, 12), (2, 3, 13)]);
}

#[test]
fn an_idle_queue_hears_once_that_nothing_waits() {
    let mut toy = Toy::new([ENDLESS; M]);
    toy.queue = Some(VecDeque::new());
    // The packets are through the last resource at 3 and 8 ms.
    let told = toy.run(&[(0, [1, 1, 1]), (0, [5, 1, 1])], "told");
    assert_eq!(told, [(NOBODY, 2, 0), (NOBODY, 2, 3), (NOBODY, 2, 8)]);
}

#[test]
fn it_goes_past_again_once_its_flow_has_left() {
    // The first two are out of the middle at 12 ms; the last comes from the first resource at 22 ms.
    let packets = [(0, [1, 10, 1]), (0, [1, 1, 1]), (1, [19, 10, 1]), (0, [1, 0, 1])];
    let passed = Toy::new([ENDLESS; M]).run(&packets, "passed");
    assert_eq!(passed, [(3, 1, 22)]);
}

#[test]
fn in_line_nothing_goes_past() {
    let mut toy = Toy::new([ENDLESS; M]);
    toy.resources.in_line = true;
    let left = toy.run(&[(0, [1, 10, 1]), (1, [1, 0, 1])], "left");
    assert_eq!(left, [(0, 3, 12), (1, 3, 13)]);
}

#[test]
fn what_needs_nothing_of_the_busy_first_resource_bypasses_it_unless_its_flow_is_on_it() {
    let left = Toy::new([ENDLESS; M]).run(&[(0, [10, 0, 1]), (1, [0, 0, 1]), (0, [0, 0, 1])], "left");
    assert_eq!(left, [(1, 3, 1), (0, 3, 11), (2, 3, 12)]);
}

#[test]
fn it_bypasses_only_where_there_is_room_at_its_next_stop() {
    let none = Buffer { packets: Some(0), drops: false };
    // The last resource is taken until 5 ms, the one in the middle free.
    let packets = [(1, [0, 0, 5]), (0, [10, 1, 1]), (2, [0, 0, 1])];
    let passed = Toy::new([ENDLESS, none, none]).run(&packets, "passed");
    assert_eq!(passed.into_iter().filter(|passed| passed.1 == 0).collect::<Vec<_>>(), [(0, 0, 0), (2, 0, 5)]);
}

#[test]
fn a_queue_of_the_owner_says_who_is_next() {
    let mut toy = Toy::new([ENDLESS; M]);
    toy.queue = Some(VecDeque::new());
    let left = toy.run(&[(0, [1, 0, 5]), (1, [1, 0, 1]), (2, [1, 0, 1])], "left");
    assert_eq!(left, [(0, 3, 6), (2, 3, 7), (1, 3, 8)]);
}

#[test]
fn without_waiting_a_packet_starts_when_every_resource_will_be_free() {
    let mut toy = Toy::new([ENDLESS; M]);
    toy.resources.no_wait = Some(NoWait::default());
    let started = toy.run(&[(0, [1, 10, 1]), (0, [1, 1, 1])], "started");
    assert_eq!(
        started.into_iter().filter(|start| start.0 == 1).collect::<Vec<_>>(),
        [(1, 0, 10), (1, 1, 11), (1, 2, 12)]
    );
}

#[test]
fn the_short_way_comes_to_the_same() {
    let mut state: u64 = 1;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    for _ in 0..20_000 {
        let mut buffer =
            || Buffer { packets: [None, Some(0), Some(1), Some(2)][below(4) as usize], drops: below(2) == 0 };
        let buffers = [ENDLESS, buffer(), buffer()];
        let servers = [0; M].map(|_| 1 + below(2) as u32);
        let (queue, in_line, no_wait) = (below(2) == 0, below(3) == 0, below(4) == 0);
        let (fails, closed) = (below(3) == 0, below(8) == 0);
        let packets: Vec<_> = (0..2 + below(10)).map(|_| (below(3) as u32, [0; M].map(|_| below(4)))).collect();
        let heard = |at_once: bool, lets_pass: bool| {
            let mut toy = Toy::new(buffers);
            toy.resources = Resources::new([0, 1, 2].map(|r| Stage::new(servers[r], buffers[r])));
            toy.resources.in_line = in_line;
            toy.resources.stages[2].set_open(!closed);
            toy.fails = fails;
            if no_wait {
                toy.resources.no_wait = Some(NoWait::default());
            } else if queue {
                toy.queue = Some(VecDeque::new());
            }
            (toy.in_order, toy.at_once, toy.lets_pass) = (true, at_once, lets_pass);
            let mut heard = toy.run_all(&packets);
            heard.retain(|heard| heard.1 != "told");
            heard
        };
        let long = heard(false, false);
        for (at_once, lets_pass) in [(true, false), (false, true), (true, true)] {
            assert_eq!(heard(at_once, lets_pass), long, "{buffers:?} {servers:?} {packets:?}");
        }
    }
}
