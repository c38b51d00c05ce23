//! A flow that comes back is served within a round, however many flows came and went meanwhile.

use dovetail_sched::{FlowConfig, catalog};
use dovetail_testkit::line::Line;

/// Flows at a time that send one packet each, and are removed when it is served.
const VISITORS: usize = 8;

/// The most packets that are served while the only packet of a returning flow waits, itself among them. Visitors come
/// all at once, every so many packets.
fn longest_wait(spec: &str, every: u64) -> u64 {
    let mut line = Line::new(spec);
    let [busy, returning] = [(); 2].map(|()| line.scheduler.add_flow(FlowConfig::default()));
    let (mut visitors, mut sent, mut longest) = ([None; VISITORS], None, 0);
    (0..5_000).for_each(|_| line.send(busy, VISITORS));
    for step in 0..4_000 {
        for (place, visitor) in visitors.iter_mut().enumerate() {
            if visitor.is_none() && step % every == 0 {
                let flow = line.scheduler.add_flow(FlowConfig::default());
                *visitor = Some(flow);
                line.send(flow, place);
            }
        }
        if step % 500 == 499 {
            line.send(returning, VISITORS + 1);
            sent = Some(line.now);
        }
        match line.step() {
            Some(place) if place < VISITORS => {
                let flow = visitors[place].take().unwrap();
                assert!(line.scheduler.remove_flow(line.time(), flow, &mut |_| ()).is_ok());
            }
            Some(place) if place > VISITORS => longest = longest.max(line.now - sent.take().unwrap()),
            _ => (),
        }
        longest = longest.max(sent.map_or(0, |sent| line.now - sent));
    }
    longest
}

/// A round is a packet of each that waits: the visitors, the busy flow, and the one that returns. Loops of atfq hold
/// several, and gmr3 rounds up to a power of two.
#[test]
fn who_comes_back_is_not_behind_those_who_came_and_went() {
    const ROUND: u64 = VISITORS as u64 + 2;
    let by_rounds = catalog().iter().filter(|e| e.shares_time() && !["atfq", "gmr3"].contains(&e.name));
    for spec in by_rounds.map(|entry| entry.name).chain(["tradeoff:alpha=1"]) {
        for every in [1, 2, 16, 64] {
            let waits = longest_wait(spec, every);
            assert!(waits <= ROUND, "{spec}, visitors every {every} packets: waits for {waits} packets, not {ROUND}");
        }
    }
    assert!(longest_wait("fifo", 1) > 10 * ROUND);
}
