//! Nanoseconds per packet.

use std::hint::black_box;

use dovetail_testkit::random::Random;
use rustix::time::{ClockId, clock_gettime};

use crate::scheduled::Scheduled;
use crate::subject::{Arrivals, BACKLOG, Subject};
use crate::yardsticks::{Chase, Drr, Fifo, Qfq};

/// The yardsticks, in the order of the tables; the first is the control.
pub const YARDSTICKS: [&str; 4] = ["(bare FIFO)", "(a miss)", "(textbook DRR)", "(textbook QFQ)"];
/// Packets that come before as many go, with neutral arrivals; then, singly, with [`OTHERS`].
pub const BURSTS: [usize; 3] = [1, 8, 32];
const OTHERS: [Arrivals; 2] = [Arrivals::Served, Arrivals::Alone];

/// A line of the table: nanoseconds for each of [`BURSTS`] and then of [`OTHERS`], and times the control.
pub struct Line {
    pub name: String,
    pub nanoseconds: [f64; 5],
    pub ratios: [f64; 5],
}

impl Line {
    pub const HEADER: &str =
        "scheduler                 flows   singly          by 8         by 32           hot         alone";

    pub fn text(&self, flows: usize) -> String {
        let cell = |k: usize| format!(" {:>6.1} {:>6.2}", self.nanoseconds[k], self.ratios[k]);
        format!("{:<22} {flows:>8}{}", self.name, (0..5).map(cell).collect::<String>())
    }
}

/// What a spec, or the name of a yardstick, stands for.
pub fn subject(name: &str, arrivals: Arrivals, resources: usize, flows: usize) -> Result<Box<dyn Subject>, String> {
    let random = Random::new(1);
    Ok(match (YARDSTICKS.iter().position(|&y| y == name), resources) {
        (Some(0), _) => Box::new(Fifo::new(flows, random)),
        (Some(1), _) => Box::new(Chase::new(flows, random)),
        (Some(2), _) => Box::new(Drr::new(flows, random)),
        (Some(_), _) => Box::new(Qfq::new(flows, random)),
        (None, 1) => Box::new(Scheduled::<1>::new(name, arrivals, flows, random)?),
        (None, 2) => Box::new(Scheduled::<2>::new(name, arrivals, flows, random)?),
        (None, 3) => Box::new(Scheduled::<3>::new(name, arrivals, flows, random)?),
        (None, _) => Box::new(Scheduled::<4>::new(name, arrivals, flows, random)?),
    })
}

/// One scheduler, or yardstick, at this many flows, beside the control in the same rounds.
pub fn measure(name: &str, resources: usize, flows: usize, quick: bool) -> Result<Line, String> {
    let packets = if quick { 20_000 } else { 200_000.max(flows / 2) };
    let mut control = subject(YARDSTICKS[0], Arrivals::Random, resources, flows)?;
    let mut neutral = subject(name, Arrivals::Random, resources, flows)?;
    let warm_up = (flows * BACKLOG).min(if quick { 100_000 } else { usize::MAX });
    for subject in [&mut control, &mut neutral] {
        nanoseconds(&mut **subject, warm_up, BURSTS[0]);
    }
    let [mut ns, mut ratios] = [[0.0; 5]; 2];
    for (k, burst) in BURSTS.into_iter().enumerate() {
        (ns[k], ratios[k]) = compare(&mut *neutral, &mut *control, packets, burst);
    }
    drop(neutral);
    for (k, arrivals) in OTHERS.into_iter().enumerate().map(|(k, arrivals)| (BURSTS.len() + k, arrivals)) {
        let mut other = subject(name, arrivals, resources, flows)?;
        nanoseconds(&mut *other, warm_up, BURSTS[0]);
        (ns[k], ratios[k]) = compare(&mut *other, &mut *control, packets, BURSTS[0]);
    }
    Ok(Line { name: name.to_string(), nanoseconds: ns, ratios })
}

/// Nanoseconds per packet of the subject, and times those of the control: of each the least of several rounds, which
/// what else the machine does can only lengthen.
fn compare(subject: &mut dyn Subject, control: &mut dyn Subject, packets: usize, burst: usize) -> (f64, f64) {
    const ROUNDS: usize = 7;
    let mut least = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        least[0] = least[0].min(nanoseconds(subject, packets, burst));
        least[1] = least[1].min(nanoseconds(control, packets, burst));
    }
    (least[0], least[0] / least[1])
}

/// By the thread's own clock, which stands while others have the processor.
fn nanoseconds(subject: &mut dyn Subject, packets: usize, burst: usize) -> f64 {
    let clock = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let turns = packets.div_ceil(burst);
    let start = clock();
    black_box(subject.turns(turns, burst));
    (clock() - start) / (turns * burst) as f64
}

/// So many packets in bursts, which an instruction counter may count.
pub fn pass(name: &str, resources: usize, flows: usize, packets: usize, burst: usize) -> Result<(), String> {
    let mut subject = subject(name, Arrivals::Random, resources, flows)?;
    black_box(subject.turns(packets.div_ceil(burst), burst));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    /// Each packet that goes has come, and is read.
    #[test]
    fn as_many_packets_go_as_come() {
        for name in YARDSTICKS.into_iter().filter(|&name| name != YARDSTICKS[1]).chain(["fifo", "drfq", "tradeoff"]) {
            for burst in BURSTS {
                let mut subject = subject(name, Arrivals::Random, 2, 50).unwrap();
                for _ in 0..100 {
                    // A frame holds 1 and the length, which schedulers keep themselves.
                    let lengths = [burst as u64, 801 * burst as u64];
                    assert!(lengths.contains(&subject.turn(burst)), "{name} by {burst}");
                }
            }
        }
    }
}
