//! Calls from C do what calls from Rust do.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};

use dovetail::*;
use dovetail_sched::{FlowId, Limit, Next, Packet as RustPacket, Progress, Scheduler, Shape, build, catalog};
use dovetail_units::{Bytes, Duration, Part, ResourceVec, Time, Weight};

/// Random numbers, by a linear congruence.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn payload(number: u32) -> *mut c_void {
    std::ptr::without_provenance_mut(number as usize)
}

fn number(payload: *mut c_void) -> u32 {
    payload.addr() as u32
}

/// Collects payloads that are given back.
unsafe extern "C" fn collect(context: *mut c_void, payload: *mut c_void) {
    unsafe { &mut *context.cast::<Vec<u32>>() }.push(number(payload));
}

fn new(spec: &str, resources: u32) -> Result<*mut SchedulerHandle, String> {
    let mut error: [c_char; DOVETAIL_ERROR_SIZE] = [1; DOVETAIL_ERROR_SIZE];
    let spec = CString::new(spec).unwrap();
    let made = unsafe { dovetail_new(spec.as_ptr(), resources, 0, error.as_mut_ptr()) };
    match made.is_null() {
        true => Err(unsafe { CStr::from_ptr(error.as_ptr()) }.to_str().unwrap().to_string()),
        false => Ok(made),
    }
}

/// The same scheduler twice, and what is in its pipeline.
struct Both<const M: usize> {
    c: *mut SchedulerHandle,
    rust: Box<dyn Scheduler<M, u32>>,
    now: u64,
    flows: Vec<(Flow, FlowId)>,
    /// With how far it is: 0 handed out, then 1 more for each start and each end.
    pipeline: Vec<(Served, dovetail_sched::Served<M, u32>, usize)>,
    sent: u32,
    random: Random,
}

impl<const M: usize> Both<M> {
    fn new(spec: &str, seed: u64) -> Self {
        let shape = Shape { servers: M as u32 };
        let rust = build(&spec.parse().unwrap(), shape).unwrap();
        let c = new(spec, M as u32).unwrap();
        Self { c, rust, now: 0, flows: Vec::new(), pipeline: Vec::new(), sent: 0, random: Random(seed) }
    }

    fn config(&mut self) -> (FlowConfig, dovetail_sched::FlowConfig<M>) {
        let milli = [0, 1, 500, 1000, 3000][self.random.below(5) as usize];
        let (packets, bytes) = (self.random.below(3) as u32 * 4, self.random.below(2) * 3000);
        let alpha = self.random.below(2) as u16 * 900;
        let c = FlowConfig {
            weight: f64::from(milli) / 1000.0,
            alpha: f64::from(alpha) / 1000.0,
            limit_packets: packets,
            limit_bytes: bytes,
            ..FlowConfig::default()
        };
        let rust = dovetail_sched::FlowConfig {
            weight: Weight::from_milli(milli).unwrap_or_default(),
            alpha: Part::from_milli(alpha).filter(|&alpha| alpha != Part::NONE),
            limit: Limit {
                packets: Some(packets).filter(|&most| most > 0),
                bytes: Some(Bytes(bytes)).filter(|most| most.0 > 0),
                time: None,
            },
            ..dovetail_sched::FlowConfig::default()
        };
        (c, rust)
    }

    fn add_flow(&mut self) {
        let (c, rust) = self.config();
        let mut flow = Flow { index: 0, generation: 0 };
        assert_eq!(unsafe { dovetail_add_flow(self.c, &c, &mut flow, null_mut()) }, 0);
        let id = self.rust.add_flow(rust);
        assert_eq!(flow, Flow::from(id));
        self.flows.push((flow, id));
    }

    fn change_or_remove(&mut self) {
        let Some(at) = (self.random.below(self.flows.len() as u64 + 1) as usize).checked_sub(1) else { return };
        let ((flow, id), now) = (self.flows[at], Time::from_nanos(self.now));
        let (c, rust) = self.config();
        if self.random.below(2) == 0 {
            assert_eq!(unsafe { dovetail_set_flow(self.c, self.now, flow, &c, null_mut()) }, 0);
            return self.rust.set_flow(now, id, rust).unwrap();
        }
        self.flows.swap_remove(at);
        let (mut ours, mut theirs) = (Vec::<u32>::new(), Vec::new());
        let context = (&raw mut ours).cast();
        assert_eq!(unsafe { dovetail_remove_flow(self.c, self.now, flow, Some(collect), context) }, 0);
        self.rust.remove_flow(now, id, &mut |payload| theirs.push(payload)).unwrap();
        assert_eq!(ours, theirs);
        assert_eq!(unsafe { dovetail_remove_flow(self.c, self.now, flow, None, null_mut()) }, -1);
    }

    fn enqueue(&mut self) {
        let count = self.random.below(6) as usize;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let Some(&(flow, id)) = self.flows.get(self.random.below(self.flows.len().max(1) as u64) as usize) else {
                return;
            };
            let mut cost = [0; DOVETAIL_RESOURCES];
            cost.iter_mut().for_each(|cost| *cost = self.random.below(4) * self.random.below(3000));
            let size = 1 + self.random.below(1500) as u32;
            self.sent += 1;
            ours.push(Packet { payload: payload(self.sent), flow, size, cost });
            let cost = ResourceVec(std::array::from_fn(|r| Duration::from_nanos(cost[r])));
            theirs.push(RustPacket { flow: id, size, cost, payload: self.sent });
        }
        let mut refused = vec![Refused { payload: null_mut(), reason: Reason::QueueTime }; count];
        let back = unsafe { dovetail_enqueue(self.c, self.now, ours.as_ptr(), count, refused.as_mut_ptr()) };
        let ours: Vec<_> = refused[..back].iter().map(|r| (number(r.payload), r.reason)).collect();
        let mut expected = Vec::new();
        let mut refuse = |r: dovetail_sched::Refused<u32>| expected.push((r.payload, Reason::from(r.reason)));
        self.rust.enqueue_many(Time::from_nanos(self.now), &mut theirs, &mut refuse);
        assert_eq!(ours, expected);
    }

    fn next(&mut self) {
        let most = self.random.below(5) as usize;
        let mut served = Vec::with_capacity(most);
        let mut answer = Answer::of(Why::Enough);
        unsafe {
            let count = dovetail_dequeue(self.c, self.now, served.as_mut_ptr(), most, &mut answer);
            served.set_len(count);
        }
        let mut expected = Vec::new();
        let instead = self.rust.next_many(Time::from_nanos(self.now), most, &mut expected);
        let said = (answer.why, answer.at, number(answer.payload));
        let expected_answer = match instead {
            None | Some(Next::Serve(_)) => (Why::Enough, 0, 0),
            Some(Next::Empty) => (Why::Empty, 0, 0),
            Some(Next::AwaitProgress) => (Why::AwaitProgress, 0, 0),
            Some(Next::At(time)) => (Why::At, time.as_nanos(), 0),
            Some(Next::Drop { payload, .. }) => (Why::Drop, 0, payload),
        };
        assert_eq!(said, expected_answer);
        assert_eq!(served.len(), expected.len());
        served.into_iter().zip(expected).for_each(|(ours, theirs)| self.admit(ours, theirs));
    }

    fn admit(&mut self, ours: Served, theirs: dovetail_sched::Served<M, u32>) {
        let (flow, size) = (Flow::from(theirs.ticket.flow()), theirs.size);
        assert_eq!((number(ours.payload), ours.flow, ours.size), (theirs.payload, flow, size));
        self.pipeline.push((ours, theirs, 0));
    }

    fn bypass(&mut self) {
        unsafe extern "C" fn is_even(_: *mut c_void, payload: *mut c_void) -> i32 {
            i32::from(number(payload).is_multiple_of(2))
        }
        let mut served = std::mem::MaybeUninit::uninit();
        let passed =
            unsafe { dovetail_bypass(self.c, self.now, Some(is_even), null_mut(), served.as_mut_ptr(), null_mut()) };
        match self.rust.bypass(Time::from_nanos(self.now), &mut |payload| payload.is_multiple_of(2)) {
            Next::Serve(theirs) => {
                assert_eq!(passed, 1);
                self.admit(unsafe { served.assume_init() }, theirs);
            }
            _ => assert_eq!(passed, 0),
        }
    }

    fn report(&mut self) {
        if self.pipeline.is_empty() {
            return;
        }
        let at = self.random.below(self.pipeline.len() as u64) as usize;
        let (now, time) = (self.now, Time::from_nanos(self.now));
        let (ours, theirs, stage) = &mut self.pipeline[at];
        let (resource, ticket) = (*stage / 2, &mut theirs.ticket);
        let abandoned = self.random.below(30) == 0;
        if abandoned {
            unsafe { dovetail_abandoned(self.c, now, ours, 1, resource as u32) };
            self.rust.progress(time, ticket, resource, Progress::Abandoned);
        } else if *stage % 2 == 0 {
            unsafe { dovetail_started(self.c, now, ours, 1, resource as u32) };
            self.rust.progress(time, ticket, resource, Progress::Started);
        } else {
            let used = self.random.below(9000);
            unsafe { dovetail_finished(self.c, now, ours, 1, resource as u32, &used) };
            self.rust.progress(time, ticket, resource, Progress::Finished { used: Duration::from_nanos(used) });
        }
        assert_eq!(unsafe { ours.ticket::<M>() }, *ticket);
        *stage += 1;
        if abandoned || *stage == 2 * M {
            let (ours, ..) = self.pipeline.swap_remove(at);
            let flow = FlowId::from(ours.flow);
            unsafe { dovetail_left(self.c, now, ours.flow, now) };
            self.rust.left(time, flow, Duration::from_nanos(now));
        }
    }

    fn run(mut self, turns: usize) {
        for _ in 0..turns {
            self.now += self.random.below(3) * self.random.below(20_000);
            match self.random.below(20) {
                0 => self.add_flow(),
                1 if self.random.below(4) == 0 => self.change_or_remove(),
                2..=7 => self.enqueue(),
                8..=10 => self.next(),
                11 => self.bypass(),
                _ => self.report(),
            }
            assert_eq!(unsafe { dovetail_stats(self.c) }, self.rust.stats().into());
        }
        self.flows.iter().for_each(|&(flow, id)| {
            assert_eq!(unsafe { dovetail_queued(self.c, flow) }, self.rust.queued(id));
        });
        let queued = self.rust.stats().queued;
        let mut back = Vec::<u32>::new();
        unsafe { dovetail_free(self.c, Some(collect), (&raw mut back).cast()) };
        // Each once.
        assert_eq!((back.len() as u64, back.iter().collect::<BTreeSet<_>>().len() as u64), (queued, queued));
    }
}

#[test]
fn every_scheduler_answers_c_as_it_answers_rust() {
    for entry in catalog() {
        for seed in 0..3 {
            Both::<2>::new(entry.name, seed).run(2000);
        }
        if entry.resources.allow(1) {
            Both::<1>::new(entry.name, 4).run(1000);
        }
        Both::<3>::new(entry.name, 5).run(1000);
        Both::<4>::new(entry.name, 6).run(1000);
    }
}

#[test]
fn what_is_wrong_is_said() {
    let said = |spec: &str, resources: u32| new(spec, resources).map(|_| ()).unwrap_err();
    assert!(said("drqf", 2).starts_with("there is no scheduler \"drqf\"; there are fifo,"), "{}", said("drqf", 2));
    assert_eq!(said("tradeoff", 1), "tradeoff is defined for two to four resources; this pipeline has 1");
    assert_eq!(said("drfq", 0), "0 resources: expected 1 to 4");
    assert_eq!(said("drfq", 5), "5 resources: expected 1 to 4");
    // Cut off, and not within a character.
    assert!((500..DOVETAIL_ERROR_SIZE).contains(&said(&"ä".repeat(600), 2).len()));
    assert!(unsafe { dovetail_new(null(), 2, 0, null_mut()) }.is_null());
    unsafe { dovetail_free(null_mut(), None, null_mut()) };

    let scheduler = new("tradeoff:alpha=0.9", 2).unwrap();
    let mut flow = Flow { index: 7, generation: 7 };
    let mut error: [c_char; DOVETAIL_ERROR_SIZE] = [1; DOVETAIL_ERROR_SIZE];
    let mut refused = |config: FlowConfig| unsafe {
        assert_eq!(dovetail_add_flow(scheduler, &config, &mut flow, error.as_mut_ptr()), -1);
        CStr::from_ptr(error.as_ptr()).to_str().unwrap().to_string()
    };
    let default = FlowConfig::default;
    assert_eq!(
        refused(FlowConfig { weight: -1.0, ..default() }),
        "weight -1: expected 0 or a number from 0.001 to 1000000"
    );
    assert!(refused(FlowConfig { weight: f64::NAN, ..default() }).starts_with("weight NaN"));
    assert!(
        refused(FlowConfig { weight_on: [1.0, 1e9, 0.0, 0.0], ..default() }).starts_with("weight_on[1] 1000000000:")
    );
    assert!(refused(FlowConfig { alpha: 1.5, ..default() }).starts_with("alpha 1.5:"));
    let limit = FlowConfig { limit_time_upper: 5, limit_time_on: 2, ..default() };
    assert_eq!(refused(limit), "limit_time_on 2: expected a resource from 0 to 1");

    assert_eq!(unsafe { dovetail_set(scheduler, 0, c"alpha".as_ptr(), c"0.5".as_ptr(), null_mut()) }, 0);
    assert_eq!(unsafe { dovetail_set(scheduler, 0, c"alpah".as_ptr(), c"0.5".as_ptr(), error.as_mut_ptr()) }, -1);
    assert!(unsafe { CStr::from_ptr(error.as_ptr()) }.to_str().unwrap().contains("alpah"));
    assert!(unsafe { dovetail_alpha(scheduler) } < 0.0);
    assert_eq!(unsafe { dovetail_set_flow(scheduler, 0, flow, null(), error.as_mut_ptr()) }, -1);
    assert_eq!(unsafe { CStr::from_ptr(error.as_ptr()) }, c"there is no such flow");
    unsafe { dovetail_free(scheduler, None, null_mut()) };
    assert_eq!(unsafe { CStr::from_ptr(dovetail_reason_name(Reason::QueueBytes as i32)) }, c"queue-bytes");
    assert_eq!(unsafe { CStr::from_ptr(dovetail_reason_name(-7)) }, c"no reason");
}

#[test]
fn a_payload_may_be_null() {
    let scheduler = new("fifo", 1).unwrap();
    let mut flow = Flow { index: 0, generation: 0 };
    let mut served = std::mem::MaybeUninit::uninit();
    unsafe {
        dovetail_add_flow(scheduler, null(), &mut flow, null_mut());
        let packet = Packet { payload: null_mut(), flow, size: 1, cost: [1; 4] };
        assert_eq!(dovetail_enqueue(scheduler, 0, &packet, 1, null_mut()), 0);
        assert_eq!(dovetail_dequeue(scheduler, 0, served.as_mut_ptr(), 1, null_mut()), 1);
        assert!(served.assume_init().payload.is_null());
        dovetail_free(scheduler, None, null_mut());
    }
}
