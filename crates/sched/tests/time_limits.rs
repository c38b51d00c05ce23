//! Limits of the processing time that waits in a flow's queue, with hysteresis (CBCS paper, section 2.2).

use dovetail_sched::{
    DropReason, FlowConfig, FlowId, Limit, Next, Packet, Progress, Refused, Scheduler, Shape, TimeLimit, build, catalog,
};
use dovetail_units::{Duration, ResourceVec, Time};

struct Queue {
    scheduler: Box<dyn Scheduler<2, u32>>,
    flow: FlowId,
    now: Time,
}

fn config(resource: usize, upper: u64, lower: u64) -> FlowConfig<2> {
    let time = TimeLimit { resource, upper: Duration::from_nanos(upper), lower: Duration::from_nanos(lower) };
    FlowConfig { limit: Limit { time: Some(time), ..Limit::default() }, ..FlowConfig::default() }
}

impl Queue {
    fn new(spec: &str, config: FlowConfig<2>) -> Self {
        let mut scheduler = build::<2, u32>(&spec.parse().unwrap(), Shape::default()).unwrap();
        let flow = scheduler.add_flow(config);
        Self { scheduler, flow, now: Time::ZERO }
    }

    /// Whether a packet of these nanoseconds on CPU and link is admitted.
    fn offer(&mut self, cost: [u64; 2]) -> bool {
        let packet = Packet { flow: self.flow, size: 100, cost: ResourceVec::from_nanos(cost), payload: 0 };
        match self.scheduler.enqueue(self.now, packet) {
            Ok(()) => true,
            Err(refused) => {
                assert_eq!(refused, Refused { reason: DropReason::QueueTime, payload: 0 });
                false
            }
        }
    }

    /// Serve a packet to its end.
    fn serve(&mut self) {
        let mut served = match self.scheduler.next(self.now) {
            Next::At(time) => {
                self.now = time;
                return self.serve();
            }
            Next::Serve(served) => served,
            other => panic!("{other:?}"),
        };
        for r in 0..2 {
            let used = served.ticket.charged()[r];
            self.scheduler.progress(self.now, &mut served.ticket, r, Progress::Finished { used });
        }
    }
}

#[test]
fn a_queue_closes_above_the_upper_limit_and_opens_below_the_lower_one() {
    for entry in catalog() {
        let mut queue = Queue::new(entry.name, config(0, 100, 50));
        // 30, 60, 90, 120 on the CPU: not more than 100 waits until the fourth is in. Times on the link do not count.
        assert_eq!([30; 4].map(|cpu| queue.offer([cpu, 1000])), [true; 4], "{}", entry.name);
        assert!(!queue.offer([0, 0]));
        // 90, 60: not below 50 yet.
        queue.serve();
        assert!(!queue.offer([1, 0]));
        queue.serve();
        assert!(!queue.offer([1, 0]));
        // 30: open, until more than 100 waits again.
        queue.serve();
        assert_eq!([70, 1, 1].map(|cpu| queue.offer([cpu, 0])), [true, true, false]);
        assert_eq!(queue.scheduler.stats().refused, [0, 0, 0, 4]);
    }
}

#[test]
fn an_empty_queue_is_open() {
    // Below a lower limit of 0 is nothing; above an upper one of 0 is every packet that needs time.
    let mut queue = Queue::new("fifo", config(1, 0, 0));
    assert_eq!([0, 0, 7, 0].map(|link| queue.offer([5, link])), [true, true, true, false]);
    queue.serve();
    queue.serve();
    assert!(!queue.offer([5, 0]));
    queue.serve();
    assert!(queue.offer([5, 0]));
}

#[test]
fn a_lower_limit_above_the_upper_one_means_no_hysteresis() {
    let mut queue = Queue::new("fifo", config(0, 100, 1000));
    assert_eq!([60, 60, 60].map(|cpu| queue.offer([cpu, 0])), [true, true, false]);
    queue.serve();
    assert!(queue.offer([60, 0]));
}

#[test]
fn on_a_resource_that_is_not_there_no_time_waits() {
    let mut queue = Queue::new("fifo", config(2, 0, 0));
    assert_eq!([60, 60, 60].map(|cpu| queue.offer([cpu, 0])), [true; 3]);
}

#[test]
fn a_changed_limit_holds_for_what_waits() {
    let mut queue = Queue::new("fifo", FlowConfig::default());
    assert!([60, 60, 60].map(|cpu| queue.offer([cpu, 10])) == [true; 3]);
    let flow = queue.flow;
    let set = |queue: &mut Queue, config| queue.scheduler.set_flow(Time::ZERO, flow, config).unwrap();
    set(&mut queue, config(0, 100, 50));
    assert!(!queue.offer([1, 1]));
    // 180 - 120 are not above 100, but neither below 50; on the link 10 are below 20.
    queue.serve();
    queue.serve();
    assert!(!queue.offer([1, 1]));
    set(&mut queue, config(1, 100, 20));
    assert!(queue.offer([1, 1]));
    set(&mut queue, config(0, 10, 5));
    assert!(!queue.offer([1, 1]));
    set(&mut queue, FlowConfig::default());
    assert!(queue.offer([1, 1]));
}

#[test]
fn a_closed_queue_stays_so_under_a_changed_limit_until_that_opens_it() {
    let mut queue = Queue::new("drr", config(0, 100, 50));
    assert!(queue.offer([120, 0]));
    // 120 ns wait: neither above the new upper limit nor below the new lower one.
    queue.scheduler.set_flow(queue.now, queue.flow, config(0, 200, 110)).unwrap();
    assert!(!queue.offer([1, 0]));
    queue.scheduler.set_flow(queue.now, queue.flow, config(0, 200, 130)).unwrap();
    assert!(queue.offer([1, 0]));
}
