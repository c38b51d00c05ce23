use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dovetail_sched::DropReason;
use dovetail_units::{Duration, ResourceVec, Time};

use super::*;

/// All that it hears, in words.
#[derive(Default, PartialEq, Debug)]
struct Heard(Vec<String>);

impl Recorder<2> for Heard {
    fn admitted(&mut self, now: Time, packet: &SimPacket<2>) {
        self.0.push(format!("{now} admitted {packet:?}"));
    }
    fn refused(&mut self, now: Time, packet: &SimPacket<2>, reason: DropReason) {
        self.0.push(format!("{now} refused {packet:?} {reason:?}"));
    }
    fn bypassed(&mut self, now: Time, packet: &SimPacket<2>, resource: usize) {
        self.0.push(format!("{now} bypassed {packet:?} {resource}"));
    }
    fn started(&mut self, now: Time, packet: &SimPacket<2>, resource: usize, server: u32) {
        self.0.push(format!("{now} started {packet:?} {resource} {server}"));
    }
    fn finished(
        &mut self,
        now: Time,
        packet: &SimPacket<2>,
        resource: usize,
        server: u32,
        predicted: Option<Duration>,
    ) {
        self.0.push(format!("{now} finished {packet:?} {resource} {server} {predicted:?}"));
    }
    fn delivered(&mut self, now: Time, packet: &SimPacket<2>) {
        self.0.push(format!("{now} delivered {packet:?}"));
    }
    fn dropped(&mut self, now: Time, packet: &SimPacket<2>, resource: usize) {
        self.0.push(format!("{now} dropped {packet:?} {resource}"));
    }
    fn ended(&mut self, now: Time) {
        self.0.push(format!("{now} ended"));
    }
}

fn at(ns: u64) -> Time {
    Time::from_nanos(ns)
}

/// Tell the recorder of so many events of all kinds, no two the same.
fn tell(recorder: &mut impl Recorder<2>, events: u64) {
    for k in 0..events {
        let time = |add| Duration::from_nanos(k + add);
        let (now, resource, server) = (at(3 * k), (k / 9 % 2) as usize, k as u32 + 5);
        let packet = SimPacket {
            number: k,
            arrival: at(2 * k),
            cost: ResourceVec([time(1), time(2)]),
            flow: k as u32 + 1,
            size: k as u32 + 2,
            resized: k as u32 + 3,
            bypasses: k % 7 == 0,
        };
        match k % 9 {
            0 => recorder.admitted(now, &packet),
            1 => recorder.refused(now, &packet, DropReason::ALL[k as usize % DropReason::ALL.len()]),
            2 => recorder.bypassed(now, &packet, resource),
            3 => recorder.started(now, &packet, resource, server),
            4 => recorder.finished(now, &packet, resource, server, None),
            5 | 6 => recorder.finished(now, &packet, resource, server, Some(time(4))),
            7 => recorder.delivered(now, &packet),
            _ => recorder.dropped(now, &packet, resource),
        }
    }
}

/// As [`deferred`], the recorder on its own thread from this batch on.
fn later<R: Recorder<2> + Send, T>(
    recorder: &mut R,
    from: Option<usize>,
    run: impl FnOnce(&mut Deferred<'_, 2>) -> T,
) -> T {
    let asked = Cell::new(0);
    let take_thread = || {
        asked.set(asked.get() + 1);
        assert!(from.is_none_or(|from| asked.get() <= from), "asked again");
        Some(asked.get()) == from
    };
    deferred(recorder, &take_thread, run)
}

const WHEN: [Option<usize>; 5] = [None, Some(1), Some(2), Some(5), Some(1000)];

#[test]
fn the_recorder_hears_everything_in_order_on_either_thread() {
    let batch = BATCH as u64;
    for events in [0, 1, batch - 1, batch, batch + 1, 2 * batch, 10 * batch + 7] {
        let mut direct = Heard::default();
        tell(&mut direct, events);
        direct.ended(at(7 * events));
        for from in WHEN {
            let mut heard = Heard::default();
            let result = later(&mut heard, from, |recorder| {
                tell(recorder, events);
                recorder.ended(at(7 * events));
                events
            });
            assert_eq!(result, events);
            assert!(direct == heard, "{events} events, {from:?}");
        }
    }
}

#[test]
fn what_was_heard_before_an_error_is_told_but_no_end() {
    for from in WHEN {
        let (mut direct, mut heard) = (Heard::default(), Heard::default());
        tell(&mut direct, 20);
        let result: Result<(), &str> = later(&mut heard, from, |recorder| {
            tell(recorder, 20);
            Err("stuck")
        });
        assert_eq!(result, Err("stuck"));
        assert_eq!(direct, heard);
    }
}

/// Fails at this packet.
struct Fails(u64);

impl Recorder<2> for Fails {
    fn admitted(&mut self, _now: Time, packet: &SimPacket<2>) {
        assert!(packet.number != self.0, "packet {}", self.0);
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic.downcast_ref::<String>().map_or("", |text| text)
}

#[test]
fn a_panic_of_the_recorder_or_of_the_run_reaches_the_caller() {
    for from in WHEN {
        let run = || later(&mut Fails(9000), from, |recorder| tell(recorder, 20 * BATCH as u64));
        assert_eq!(message(&*catch_unwind(run).unwrap_err()), "packet 9000");
        let mut heard = Heard::default();
        let run = || {
            later(&mut heard, from, |recorder| {
                tell(recorder, 10 * BATCH as u64);
                panic!("{} events", 10 * BATCH);
            })
        };
        assert_eq!(message(&*catch_unwind(AssertUnwindSafe(run)).unwrap_err()), format!("{} events", 10 * BATCH));
    }
}

#[test]
fn an_event_of_two_resources_takes_64_bytes() {
    assert_eq!(size_of::<Event<2>>(), 64);
}
