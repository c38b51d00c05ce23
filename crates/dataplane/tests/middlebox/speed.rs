//! A link or a CPU that becomes faster or slower while a frame is on it.

use dovetail_dataplane::core::{Budget, Middlebox, Snapshot};
use dovetail_units::{BitRate, Duration, Time};

use crate::support::{config, middlebox, out, put, udp, us};

const SCHEDULERS: [&str; 8] =
    ["tradeoff:alpha=0.5", "drfq", "fifo", "pcfq", "drr+drr", "sfq+drr:full=hold", "red+red", "drr+red"];

fn rate(text: &str) -> Option<BitRate> {
    Some(text.parse().unwrap())
}

fn percent(percent: u32) -> Budget {
    Budget::from_millionths(10_000 * percent).unwrap()
}

fn ns(time: Time, nanos: u64) -> Time {
    time + Duration::from_nanos(nanos)
}

/// Nanoseconds of seconds.
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// CPU and link were occupied for so many nanoseconds by frames that are done there, in every account.
fn check(snapshot: &Snapshot, cpu: u64, link: u64) {
    assert_eq!(snapshot.unaccounted, 0);
    let of = |(cpu, link): (f64, f64)| (nanos(cpu), nanos(link));
    let classes = snapshot.classes.iter().map(|class| &class.frames);
    let flows = snapshot.flows.iter().map(|flow| &flow.frames);
    let busy = ["cpu", "link"].map(|name| snapshot.resources[name].busy_s);
    let all = [
        (snapshot.total.cpu_s, snapshot.total.link_s),
        (busy[0], busy[1]),
        (classes.clone().map(|c| c.cpu_s).sum(), classes.map(|c| c.link_s).sum()),
        (flows.clone().map(|f| f.cpu_s).sum(), flows.map(|f| f.link_s).sum()),
    ];
    assert_eq!(all.map(of), [(cpu, link); 4]);
}

const LINK: &str = "[link]\nrate = \"8 Mbps\"\n[[class]]\nname = \"all\"\n";

#[test]
fn a_frame_on_the_link_ends_when_the_rest_of_it_is_sent_at_the_new_rate() {
    for scheduler in SCHEDULERS {
        let mut middlebox = middlebox(&format!("scheduler = \"{scheduler}\"\n{LINK}"));
        put(&mut middlebox, us(0), &udp(1, 1000));
        middlebox.advance(us(0));
        assert_eq!(middlebox.next_event(), Some(us(1000)), "{scheduler}");
        // Of 1000 us are left 750 at 8 Mb/s, then 200 at 16, 991.667 at 3.
        let changes = [
            (250, "16 Mbps", ns(us(625), 0)),
            (425, "3 Mbps", ns(us(425), 1_066_667)),
            (500, "1 bps", ns(us(500), 991_667 * 3_000_000)),
            // 2,975,001,000,000 ns less 1 us are left, of which this is the 8,000,000th part.
            (501, "8 Mbps", ns(us(501), 371_876)),
        ];
        for (now, new, end) in changes {
            middlebox.advance(us(now));
            middlebox.set_rate(us(now), rate(new));
            assert_eq!(middlebox.next_event(), Some(end), "{scheduler} {new}");
        }
        let end = ns(us(501), 371_876);
        middlebox.advance(ns(us(501), 371_875));
        assert!(out(&mut middlebox).is_empty(), "{scheduler}");
        middlebox.advance(end);
        assert_eq!(out(&mut middlebox), [1], "{scheduler}");
        let snapshot = middlebox.snapshot(end);
        check(&snapshot, 0, 872_876);
        // Latencies are counted to a part of themselves.
        let stayed = snapshot.total.latency_s.mean.map(nanos).unwrap();
        assert!(stayed.abs_diff(872_876) < 872_876 / 50, "{scheduler}: {stayed}");
        assert_eq!(snapshot.late_s.sum, 0.0, "{scheduler}");
    }
}

#[test]
fn a_slip_in_the_rate_is_undone_by_the_next_change_and_a_link_without_limit_ends_the_frame() {
    for (new, end) in [(rate("100 Mbps"), us(3_000_081)), (None, us(3_000_001))] {
        let mut middlebox = middlebox(&format!("scheduler = \"fifo\"\n{LINK}"));
        middlebox.set_rate(us(0), rate("1 bps"));
        put(&mut middlebox, us(0), &udp(1, 1000));
        middlebox.advance(us(0));
        // 8000 s: of the frame 3.000001 of 8000 bits are sent, and 7996.999999 take 79.97 us at 100 Mb/s.
        assert_eq!(middlebox.next_event(), Some(us(8_000_000_000)));
        middlebox.advance(us(3_000_001));
        middlebox.set_rate(us(3_000_001), new);
        let next = middlebox.next_event().unwrap();
        assert!(next <= end && end.since(next) < Duration::from_micros(2), "{next}");
        middlebox.advance(next);
        assert_eq!(out(&mut middlebox), [1]);
        check(&middlebox.snapshot(next), 0, next.since(us(0)).as_nanos());
    }
}

const CPU: &str = "[[class]]\nname = \"all\"\ncost = \"300 us\"\n";

#[test]
fn a_frame_on_the_cpu_ends_when_the_rest_of_its_work_is_done_with_the_new_budget() {
    for scheduler in SCHEDULERS {
        let mut middlebox = middlebox(&format!("scheduler = \"{scheduler}\"\n[cpu]\nbudget = \"100 %\"\n{CPU}"));
        put(&mut middlebox, us(0), &udp(1, 1000));
        middlebox.advance(us(0));
        // Of 300 us are left 200 of the whole core, then 200 of a half, 190 of three hundredths: 5.7 of the whole one.
        for (now, new, end) in [(100, 50, 500_000), (300, 3, 3_633_334), (3_443, 100, 3_448_711)] {
            middlebox.advance(us(now));
            middlebox.set_budget(us(now), percent(new));
            assert_eq!(middlebox.next_event(), Some(ns(us(0), end)), "{scheduler} {new} %");
        }
        let end = ns(us(0), 3_448_711);
        middlebox.advance(end);
        assert_eq!(out(&mut middlebox), [1], "{scheduler}");
        check(&middlebox.snapshot(end), 3_448_711, 0);
    }
}

#[test]
fn a_reload_changes_what_is_left_of_frames_in_service() {
    let with = |budget: &str, rate: &str, scheduler: &str| {
        format!("scheduler = \"{scheduler}\"\n[cpu]\nbudget = \"{budget}\"\n[link]\nrate = \"{rate}\"\n{CPU}")
    };
    for (before, after) in [("drfq", "drfq"), ("drfq", "drr+drr"), ("red+red", "red+red")] {
        let mut middlebox = middlebox(&with("50 %", "8 Mbps", before));
        (0..2).for_each(|_| put(&mut middlebox, us(0), &udp(1, 1000)));
        middlebox.advance(us(0));
        // The first one is on the link from 600 us on, for 1000, and the second on the CPU, for 600.
        middlebox.advance(us(800));
        middlebox.reload(us(800), config(&with("100 %", "80 Mbps", after)).setup().unwrap()).unwrap();
        middlebox.advance(us(800));
        assert_eq!(middlebox.next_event(), Some(us(880)), "{after}");
        middlebox.advance(us(880));
        assert_eq!(out(&mut middlebox), [1]);
        assert_eq!(middlebox.next_event(), Some(us(1000)), "{after}");
        middlebox.advance(us(1100));
        assert_eq!(out(&mut middlebox), [1]);
        check(&middlebox.snapshot(us(1100)), 1_000_000, 280_000 + 100_000);
    }
}

/// Frames, of which some always wait, while `change` is made every 137 us: when the last one left.
fn busy(middlebox: &mut Middlebox, mut change: impl FnMut(&mut Middlebox, Time, usize)) -> Time {
    (0..60).for_each(|k| put(middlebox, us(0), &udp(k % 3, 1000)));
    middlebox.advance(us(0));
    let mut last = us(0);
    for step in 0..80 {
        let now = us(137 * step as u64);
        while let Some(next) = middlebox.next_event().filter(|&next| next <= now) {
            middlebox.advance(next);
            if !out(middlebox).is_empty() {
                last = next;
            }
        }
        change(middlebox, now, step);
    }
    assert!(middlebox.held() < 60 && middlebox.held() > 0);
    last
}

#[test]
fn however_often_it_changes_a_link_and_a_cpu_that_never_rest_are_occupied_all_the_time() {
    // The first one lets a resource rest where its fluid does.
    for scheduler in &SCHEDULERS[1..] {
        let mut middlebox = middlebox(&format!("scheduler = \"{scheduler}\"\n{LINK}"));
        let rates = ["16 Mbps", "3 Mbps", "7 Mbps", "123456789 bps", "1 bps"];
        let last = busy(&mut middlebox, |middlebox, now, step| middlebox.set_rate(now, rate(rates[step % 5])));
        check(&middlebox.snapshot(last), 0, last.since(us(0)).as_nanos());

        let mut middlebox = self::middlebox(&format!("scheduler = \"{scheduler}\"\n{CPU}"));
        let budgets = [100, 7, 33, 1, 99];
        let last = busy(&mut middlebox, |middlebox, now, step| middlebox.set_budget(now, percent(budgets[step % 5])));
        check(&middlebox.snapshot(last), last.since(us(0)).as_nanos(), 0);
    }
}
