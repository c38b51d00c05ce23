//! `protect`: alpha adjusts itself, so that 99 of 100 packets of a class come in time, at the highest alpha that does
//! it.
//!
//! What the other flows yield, `x = 1 - alpha` of their fair shares, goes to the class first, so its latency falls as x
//! grows. Let p be the part of its packets that are late. Every turn multiplies x by `exp(G (p - 1 %))`, so x rests
//! where one packet in a hundred is late, whatever the latency depends on. See `docs/theory/tradeoff-target.md`.

use dovetail_units::{Duration, Time};

use super::steer::PERIOD;
use crate::contract::{Seen, Steering};

/// So many packets are late where x rests.
const LATE: f64 = 0.01;
/// What a turn multiplies x by is `exp(G (p - 1 %))`; at most doubled.
const GAIN: f64 = 2.0;
/// A turn takes so many packets of the class at least.
const PACKETS: u32 = 20;
/// After so many periods a turn counts what came before it as well: the queue has not been worked off.
const PATIENCE: u64 = 4;
/// The first step away from strict fairness. Less than a tenth of it is nothing.
const FIRST: f64 = 0.01;
/// By how much more packets may be late where alpha is at its least.
const SHORT: f64 = 0.02;
/// The part of packets that are late, and their 99th percentile, are told by about so many of the last ones.
const MEMORY: f64 = 1024.0;
/// The percentile moves by this part of itself where a packet is above it.
const STRIDE: f64 = 0.03;

/// What is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Protect {
    /// The number of the class.
    pub class: u16,
    /// The 99th percentile of its packets' latency, above 0.
    pub p99: Duration,
}

/// The packets of a turn.
#[derive(Clone, Copy, Default, Debug)]
struct Counted {
    packets: u32,
    late: u32,
}

impl Counted {
    fn count(&mut self, is_late: bool) {
        self.packets = self.packets.saturating_add(1);
        self.late = self.late.saturating_add(u32::from(is_late));
    }

    fn part(self) -> f64 {
        f64::from(self.late) / f64::from(self.packets.max(1))
    }
}

/// The controller. It hears of time and of packets that leave, and has no clock itself.
#[derive(Clone, Debug)]
pub struct Guard {
    wanted: Protect,
    least: f64,
    /// When x turned last; none before the first call.
    turned: Option<Time>,
    /// The packets that came since, and those that came before and left since.
    since: Counted,
    before: Counted,
    /// 1 - alpha.
    yielded: f64,
    /// The smoothed part of late packets, and the 99th percentile in nanoseconds.
    late: f64,
    p99: f64,
    is_out_of_reach: bool,
}

impl Guard {
    /// From strict fairness on, with an alpha of `least` or more.
    pub fn new(wanted: Protect, least: f64) -> Self {
        Self {
            wanted,
            least,
            turned: None,
            since: Counted::default(),
            before: Counted::default(),
            yielded: 0.0,
            late: 0.0,
            p99: wanted.p99.as_nanos() as f64,
            is_out_of_reach: false,
        }
    }

    /// What is wanted.
    pub fn wanted(&self) -> Protect {
        self.wanted
    }

    /// Another least alpha: the alpha that holds now.
    pub fn limit(&mut self, least: f64) -> f64 {
        self.least = least;
        self.yielded = self.yielded.min(1.0 - least);
        1.0 - self.yielded
    }

    /// What it has come to.
    pub fn seen(&self) -> Steering {
        let p99 = Duration::from_nanos(self.p99 as u64);
        let seen = Seen::Latency { class: self.wanted.class, late: self.late, p99 };
        Steering { alpha: 1.0 - self.yielded, seen, is_out_of_reach: self.is_out_of_reach }
    }

    /// A packet of the class has left, so long after it came.
    pub fn left(&mut self, now: Time, stayed: Duration) {
        let is_late = stayed > self.wanted.p99;
        let is_above = stayed.as_nanos() as f64 > self.p99;
        self.late += (f64::from(u8::from(is_late)) - self.late) / MEMORY;
        // Rests where one packet in a hundred is above it; a nanosecond at least, from which it still comes up.
        self.p99 = (self.p99 * (1.0 + if is_above { STRIDE * (1.0 - LATE) } else { -STRIDE * LATE })).max(1.0);
        let Some(turned) = self.turned else { return };
        match now.since(Time::ZERO) >= turned.since(Time::ZERO) + stayed {
            true => self.since.count(is_late),
            false => self.before.count(is_late),
        }
    }

    /// Time has passed until `now`. The new alpha, if it turns. O(1).
    pub fn pass(&mut self, now: Time) -> Option<f64> {
        let Some(turned) = self.turned else {
            self.turned = Some(now);
            return None;
        };
        let passed = now.since(turned);
        if passed < PERIOD {
            return None;
        }
        let part = if self.since.packets >= PACKETS {
            self.since.part()
        } else if passed.as_nanos() >= PATIENCE * PERIOD.as_nanos() && self.before.packets >= PACKETS {
            self.before.part()
        } else {
            return None;
        };
        (self.turned, self.since, self.before) = (Some(now), Counted::default(), Counted::default());
        let before = self.yielded;
        self.turn(part);
        (self.yielded != before).then_some(1.0 - self.yielded)
    }

    /// A turn is over, in which this part of the packets was late.
    fn turn(&mut self, part: f64) {
        let most = 1.0 - self.least;
        let step = (GAIN * (part - LATE)).min(core::f64::consts::LN_2);
        let was_most = self.yielded >= most;
        self.yielded = match self.yielded {
            0.0 if part > LATE => FIRST,
            // exp(step), to the second order: libm is not at hand without std.
            x => x * (1.0 + step + step * step / 2.0),
        };
        if self.yielded < FIRST / 10.0 {
            self.yielded = 0.0;
        }
        self.yielded = self.yielded.min(most);
        self.is_out_of_reach = was_most && self.yielded >= most && self.late > LATE + SHORT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Protect = Protect { class: 0, p99: Duration::from_millis(5) };

    /// Turns in each of which 100 packets leave, of which this part is late where so much is yielded; the alphas.
    fn run(guard: &mut Guard, turns: u64, late: impl Fn(f64) -> f64) -> alloc::vec::Vec<f64> {
        let mut now = guard.turned.unwrap_or(Time::ZERO);
        guard.pass(now);
        let mut owed = 0.0;
        let turn = |_| {
            now += PERIOD + Duration::from_millis(10);
            for _ in 0..100 {
                owed += late(guard.yielded);
                let is_late = owed >= 1.0;
                owed -= f64::from(u8::from(is_late));
                guard.left(now, Duration::from_millis(if is_late { 6 } else { 4 }));
            }
            guard.pass(now);
            1.0 - guard.yielded
        };
        (0..turns).map(turn).collect()
    }

    /// Latencies with an exponential tail, where x = `needed` is just what the class sends, and `excess` more of it
    /// gives a p99 as wanted.
    fn tail(needed: f64, excess: f64) -> impl Fn(f64) -> f64 {
        move |x| if x <= needed { 1.0 } else { exp(-4.605 * (x - needed) / excess) }
    }

    /// exp by its series, of arguments that are halved until they are small.
    fn exp(x: f64) -> f64 {
        if x.abs() < 1e-3 { 1.0 + x + x * x / 2.0 } else { exp(x / 2.0) * exp(x / 2.0) }
    }

    #[test]
    fn alpha_rests_where_one_packet_in_a_hundred_is_late() {
        for (needed, excess) in [(0.0, 0.05), (0.1, 0.05), (0.3, 0.1), (0.5, 0.3), (0.02, 0.005)] {
            let mut guard = Guard::new(WANTED, 0.0);
            run(&mut guard, 200, tail(needed, excess));
            let alphas = run(&mut guard, 200, tail(needed, excess));
            let right = 1.0 - needed - excess;
            let off = alphas.iter().map(|alpha| (alpha - right).abs()).fold(0.0, f64::max);
            assert!(off < 0.25 * excess, "{needed} {excess}: {off} off {right}");
            assert!(!guard.is_out_of_reach);
        }
    }

    #[test]
    fn it_comes_down_by_doubling_and_does_not_pass_by_more_than_that() {
        let mut guard = Guard::new(WANTED, 0.0);
        let alphas = run(&mut guard, 30, tail(0.3, 0.1));
        let yielded: alloc::vec::Vec<f64> = alphas.iter().map(|alpha| 1.0 - alpha).collect();
        assert!((yielded[0] - FIRST).abs() < 1e-12);
        assert!(yielded.windows(2).all(|two| two[1] <= 2.0 * two[0]), "{yielded:?}");
        // Seven doublings bring 0.01 above 0.4.
        assert!(yielded[7] > 0.3 && yielded.iter().all(|x| *x < 0.8), "{yielded:?}");
    }

    #[test]
    fn it_never_goes_below_the_least_and_comes_back_when_nothing_is_late() {
        let mut guard = Guard::new(WANTED, 0.6);
        run(&mut guard, 30, |_| 1.0);
        assert!(guard.is_out_of_reach && (guard.yielded - 0.4).abs() < 1e-12);
        assert!((guard.limit(0.9) - 0.9).abs() < 1e-12);
        // 2 % a turn: from 0.1 to a thousandth.
        let alphas = run(&mut guard, 240, |_| 0.0);
        assert!(!guard.is_out_of_reach && *alphas.last().unwrap() == 1.0, "{alphas:?}");
    }

    #[test]
    fn packets_that_came_before_a_turn_count_only_when_there_are_no_others_for_long() {
        let mut guard = Guard::new(WANTED, 0.0);
        guard.pass(Time::ZERO);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        run(&mut guard, 1, |_| 1.0);
        let turned = guard.turned.unwrap();
        for k in 1..=3 {
            // They came a second ago.
            (0..50).for_each(|_| guard.left(turned + at(50 * k).since(Time::ZERO), Duration::from_millis(1000)));
            assert_eq!(guard.pass(turned + at(50 * k).since(Time::ZERO)), None);
        }
        assert!(guard.pass(turned + at(200).since(Time::ZERO)).is_some());
        // Nothing leaves: alpha rests.
        assert_eq!(guard.pass(turned + at(5000).since(Time::ZERO)), None);
    }
}
