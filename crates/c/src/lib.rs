//! The schedulers for programs in C. `include/dovetail.h` is made of this file and of `types.rs`, word for word.
//!
//! A caller that breaks the rules of the header, such as by a pointer to nothing, has undefined behaviour, as with any
//! library of C. That is all that the unsafe code here relies on.

#![expect(clippy::missing_safety_doc, reason = "the header says once, at its top, what every pointer must be")]

mod scheduler;
mod types;

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::slice;

use dovetail_sched::FlowId;
use dovetail_units::{Duration, Time};

use scheduler::{AnyScheduler, Report};
pub use types::*;

/// A scheduler. It may move from thread to thread, but only one at a time may use it.
pub struct SchedulerHandle {
    scheduler: Box<dyn AnyScheduler>,
    /// By index.
    flows: Vec<Option<FlowId>>,
}

/// Takes a payload back.
pub type Dropped = Option<unsafe extern "C" fn(context: *mut c_void, payload: *mut c_void)>;

/// Says whether a packet may pass the first resource: not 0 if it may.
pub type MayPass = Option<unsafe extern "C" fn(context: *mut c_void, payload: *mut c_void) -> c_int>;

/// Put a text where C wants to have what was wrong, if it does.
unsafe fn tell(error: *mut c_char, text: &str) {
    if error.is_null() {
        return;
    }
    // Not within a character.
    let most = text.floor_char_boundary(DOVETAIL_ERROR_SIZE - 1);
    let bytes = text.as_bytes()[..most].iter().copied().chain([0]);
    for (k, byte) in bytes.enumerate() {
        unsafe { error.add(k).write(byte as c_char) };
    }
}

/// 0, or -1 with a text.
unsafe fn outcome(result: Result<(), String>, error: *mut c_char) -> c_int {
    match result {
        Ok(()) => 0,
        Err(text) => {
            unsafe { tell(error, &text) };
            -1
        }
    }
}

unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, String> {
    if text.is_null() {
        return Err(format!("{what} is NULL"));
    }
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| format!("{what} is not UTF-8"))
}

/// A slice of C, which may be at NULL if it is empty.
unsafe fn many<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 { &[] } else { unsafe { slice::from_raw_parts(first, count) } }
}

unsafe fn many_mut<'a, T>(first: *mut T, count: usize) -> &'a mut [T] {
    if count == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(first, count) } }
}

unsafe fn config(config: *const FlowConfig) -> FlowConfig {
    unsafe { config.as_ref() }.copied().unwrap_or_default()
}

/// Make a scheduler, by a text such as "drfq" or "tradeoff:alpha=0.85". `dovetail schedulers` lists all.
///
/// `resources`: how many resources packets need one after another, 1 to 4: for a CPU and a link, 2.
/// `servers`: how many parallel servers all resources have together, such as cores; 0 is one for each resource.
/// `error`: room for `DOVETAIL_ERROR_SIZE` bytes, or NULL. Says what is wrong when the result is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_new(
    spec: *const c_char,
    resources: u32,
    servers: u32,
    error: *mut c_char,
) -> *mut SchedulerHandle {
    let made = unsafe { text(spec, "spec") }.and_then(|spec| scheduler::of(spec, resources, servers));
    match made {
        Ok(scheduler) => Box::into_raw(Box::new(SchedulerHandle { scheduler, flows: Vec::new() })),
        Err(text) => {
            unsafe { tell(error, &text) };
            core::ptr::null_mut()
        }
    }
}

/// End a scheduler, which may be NULL. `dropped`, if it is not NULL, is called with `context` and the payload of each
/// packet that waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_free(scheduler: *mut SchedulerHandle, dropped: Dropped, context: *mut c_void) {
    if scheduler.is_null() {
        return;
    }
    let SchedulerHandle { mut scheduler, flows } = *unsafe { Box::from_raw(scheduler) };
    for flow in flows.into_iter().flatten() {
        scheduler.remove_flow(Time::ZERO, flow, &mut |payload| unsafe { give_back(dropped, context, payload) });
    }
}

unsafe fn give_back(dropped: Dropped, context: *mut c_void, payload: Payload) {
    if let Some(dropped) = dropped {
        unsafe { dropped(context, payload.pointer()) };
    }
}

/// Set a flow up, as `config` says; NULL is a weight of 1 without limits. Its name goes to `flow`.
///
/// Returns 0; or -1 if the config is wrong, with what is wrong in `error` (`DOVETAIL_ERROR_SIZE` bytes, or NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_add_flow(
    scheduler: *mut SchedulerHandle,
    config: *const FlowConfig,
    flow: *mut Flow,
    error: *mut c_char,
) -> c_int {
    let handle = unsafe { &mut *scheduler };
    let added = handle.scheduler.add_flow(&unsafe { self::config(config) });
    let added = added.map(|id| {
        let index = id.index();
        handle.flows.resize(handle.flows.len().max(index + 1), None);
        handle.flows[index] = Some(id);
        unsafe { flow.write(id.into()) };
    });
    unsafe { outcome(added, error) }
}

/// Change a flow's weights, alpha, class and limits from now on to all that `config` says; NULL is as in
/// `dovetail_add_flow`. Packets beyond a lowered limit stay.
///
/// Returns 0; or -1 if the config is wrong or there is no such flow, as `error` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_set_flow(
    scheduler: *mut SchedulerHandle,
    now: u64,
    flow: Flow,
    config: *const FlowConfig,
    error: *mut c_char,
) -> c_int {
    let (handle, config) = unsafe { (&mut *scheduler, self::config(config)) };
    unsafe { outcome(handle.scheduler.set_flow(Time::from_nanos(now), flow.into(), &config), error) }
}

/// Tear a flow down. `dropped`, if it is not NULL, is called with `context` and the payload of each packet that waits,
/// in order; it must not use the scheduler. Go on reporting what becomes of the flow's packets that were handed out.
///
/// Returns 0, or -1 if there is no such flow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_remove_flow(
    scheduler: *mut SchedulerHandle,
    now: u64,
    flow: Flow,
    dropped: Dropped,
    context: *mut c_void,
) -> c_int {
    let handle = unsafe { &mut *scheduler };
    let mut back = |payload| unsafe { give_back(dropped, context, payload) };
    if !handle.scheduler.remove_flow(Time::from_nanos(now), flow.into(), &mut back) {
        return -1;
    }
    handle.flows[flow.index as usize] = None;
    0
}

/// Give `count` packets to the scheduler. Bursts of 8 to 32 packets are best, one by one gives the same result.
///
/// Returns how many were not admitted. These are written to `refused` in order, which has room for `count`; NULL if you
/// need not free them. The others are the scheduler's until it hands them out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_enqueue(
    scheduler: *mut SchedulerHandle,
    now: u64,
    packets: *const Packet,
    count: usize,
    refused: *mut Refused,
) -> usize {
    let (handle, packets) = unsafe { (&mut *scheduler, many(packets, count)) };
    let mut back = 0;
    handle.scheduler.enqueue(Time::from_nanos(now), packets, &mut |packet| {
        if !refused.is_null() {
            unsafe { refused.add(back).write(packet) };
        }
        back += 1;
    });
    back
}

/// What to put into the first resource now: at most `most` packets, which are written to `served` in order; it has room
/// for `most`. Ask whenever the first resource could take a packet.
///
/// Returns how many there are. If fewer than `most`, `answer` says why. It may be NULL, but then nobody frees what
/// `codel` and `fq_codel` drop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_dequeue(
    scheduler: *mut SchedulerHandle,
    now: u64,
    served: *mut Served,
    most: usize,
    answer: *mut Answer,
) -> usize {
    let (handle, served) = unsafe { (&mut *scheduler, many_mut(served.cast::<MaybeUninit<Served>>(), most)) };
    let (count, said) = handle.scheduler.next(Time::from_nanos(now), served);
    if !answer.is_null() {
        unsafe { answer.write(said) };
    }
    count
}

/// Processing of these packets, which were handed out, began on the resource (counted from 0 along the pipeline). The
/// start on the first one need not be reported.
///
/// Reports about a packet go to the scheduler that handed it out, along the pipeline, starts before ends. A report that
/// repeats an earlier one changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_started(
    scheduler: *mut SchedulerHandle,
    now: u64,
    served: *mut Served,
    count: usize,
    resource: u32,
) {
    unsafe { report(scheduler, now, served, count, resource, Report::Started) }
}

/// Processing of these packets ended on the resource. Each took the time of the same place in `used`, in nanoseconds,
/// divided by the resource's number of servers. The flow is charged for that in place of the estimate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_finished(
    scheduler: *mut SchedulerHandle,
    now: u64,
    served: *mut Served,
    count: usize,
    resource: u32,
    used: *const u64,
) {
    unsafe { report(scheduler, now, served, count, resource, Report::Finished(many(used, count))) }
}

/// These packets left the pipeline unfinished, such as dropped in a buffer in front of the resource. Report this of
/// every packet that does not finish on the last resource: some schedulers wait for those that they count there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_abandoned(
    scheduler: *mut SchedulerHandle,
    now: u64,
    served: *mut Served,
    count: usize,
    resource: u32,
) {
    unsafe { report(scheduler, now, served, count, resource, Report::Abandoned) }
}

unsafe fn report(
    scheduler: *mut SchedulerHandle,
    now: u64,
    served: *mut Served,
    count: usize,
    resource: u32,
    report: Report<'_>,
) {
    let (handle, served) = unsafe { (&mut *scheduler, many_mut(served, count)) };
    unsafe { handle.scheduler.report(Time::from_nanos(now), served, resource as usize, report) };
}

/// A packet of this flow has left the last resource, so many nanoseconds after it came. Only `tradeoff` with `protect`
/// looks at it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_left(scheduler: *mut SchedulerHandle, now: u64, flow: Flow, stayed: u64) {
    let handle = unsafe { &mut *scheduler };
    handle.scheduler.left(Time::from_nanos(now), flow.into(), Duration::from_nanos(stayed));
}

/// A packet that needs nothing on the first of several resources, and so may pass it while that is busy. `may_pass`
/// says whether a packet of this kind may: whether there is room for it, and it would overtake none of its flow. NULL:
/// it may. It must not use the scheduler.
///
/// Returns 1 with the packet in `served`; or 0, and `answer` (or NULL) says why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_bypass(
    scheduler: *mut SchedulerHandle,
    now: u64,
    may_pass: MayPass,
    context: *mut c_void,
    served: *mut Served,
    answer: *mut Answer,
) -> c_int {
    let handle = unsafe { &mut *scheduler };
    let mut may = |payload: &Payload| may_pass.is_none_or(|may| unsafe { may(context, payload.pointer()) != 0 });
    let served = unsafe { &mut *served.cast::<MaybeUninit<Served>>() };
    let said = handle.scheduler.bypass(Time::from_nanos(now), &mut may, served);
    if !answer.is_null() {
        unsafe { answer.write(said) };
    }
    c_int::from(said.why == Why::Enough)
}

/// Change a parameter while running, such as "alpha" to "0.9". `dovetail schedulers NAME` lists those that can change.
///
/// Returns 0; or -1 if it cannot, as `error` says (`DOVETAIL_ERROR_SIZE` bytes, or NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_set(
    scheduler: *mut SchedulerHandle,
    now: u64,
    parameter: *const c_char,
    value: *const c_char,
    error: *mut c_char,
) -> c_int {
    let handle = unsafe { &mut *scheduler };
    let texts = unsafe { text(parameter, "parameter").and_then(|name| Ok((name, text(value, "value")?))) };
    let set = texts.and_then(|(name, value)| {
        handle.scheduler.set(Time::from_nanos(now), name, value).map_err(|error| error.to_string())
    });
    unsafe { outcome(set, error) }
}

/// Counts of packets, of all flows together.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_stats(scheduler: *const SchedulerHandle) -> Stats {
    unsafe { &*scheduler }.scheduler.stats()
}

/// How many packets of this flow wait; 0 if there is no such flow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_queued(scheduler: *const SchedulerHandle, flow: Flow) -> u32 {
    unsafe { &*scheduler }.scheduler.queued(flow.into())
}

/// What an alpha that adjusts itself (`tradeoff` with `target` or `protect`) has come to, 0 to 1; negative if none
/// does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dovetail_alpha(scheduler: *const SchedulerHandle) -> f64 {
    unsafe { &*scheduler }.scheduler.alpha().unwrap_or(-1.0)
}

/// A `dovetail_reason` in words, such as "queue-packets".
#[unsafe(no_mangle)]
pub extern "C" fn dovetail_reason_name(reason: c_int) -> *const c_char {
    const NAMES: [&CStr; 4] = [c"queue-packets", c"queue-bytes", c"unknown-flow", c"queue-time"];
    usize::try_from(reason).ok().and_then(|reason| NAMES.get(reason)).map_or(c"no reason", |name| name).as_ptr()
}
