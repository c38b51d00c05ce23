//! The view of a made-up box, as text at two sizes, and what keys do.

use std::collections::BTreeMap;
use std::path::Path;

use dovetail_dataplane::core::{
    BufferSnapshot, ClassSnapshot, FlowSnapshot, LateSnapshot, Latency, QueueSnapshot, ResourceSnapshot, SCHEMA,
    Snapshot,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::{Action, App, Link, Order};
use super::shares::{Interval, Verdict};
use super::{text, view};

/// What frames of a flow did in `s` seconds: each second so many, of so many bytes, so much of the CPU and the link.
fn frames(s: f64, per_s: u64, bytes: u64, cpu: f64, link: f64, dropped: u64) -> QueueSnapshot {
    let count = (s * per_s as f64) as u64;
    let lost = (s * dropped as f64) as u64;
    let reasons = [("queue-full".to_string(), lost)];
    let ms = |ms: f64| Some(ms / 1e3);
    QueueSnapshot {
        frames_in: count + lost,
        bytes_in: (count + lost) * bytes,
        frames_processed: count + lost / 2,
        frames_out: count,
        bytes_out: count * bytes,
        marked: 0,
        dropped: reasons.into_iter().filter(|(_, lost)| *lost > 0).collect(),
        held: 0,
        cpu_s: s * cpu,
        link_s: s * link,
        latency_s: Latency {
            mean: ms(bytes as f64 / 100.0),
            p50: ms(bytes as f64 / 120.0),
            p90: ms(bytes as f64 / 60.0),
            p99: ms(bytes as f64 / 30.0),
            max: ms(bytes as f64 / 20.0),
        },
    }
}

fn sum(all: &[FlowSnapshot]) -> QueueSnapshot {
    let mut total = frames(0.0, 0, 800, 0.0, 0.0, 0);
    for QueueSnapshot {
        frames_in, bytes_in, frames_processed, frames_out, bytes_out, dropped, cpu_s, link_s, ..
    } in all.iter().map(|flow| &flow.frames)
    {
        total.frames_in += frames_in;
        total.bytes_in += bytes_in;
        total.frames_processed += frames_processed;
        total.frames_out += frames_out;
        total.bytes_out += bytes_out;
        total.cpu_s += cpu_s;
        total.link_s += link_s;
        for (reason, count) in dropped {
            *total.dropped.entry(reason.clone()).or_default() += count;
        }
    }
    total
}

/// A box that has run for `s` seconds with ten flows of "ipsec", that use the CPU, ten of "forward", that use the link, and one without backlog.
fn snapshot(s: f64) -> Snapshot {
    let flow = |i: u32, class: &str, queued: u64, frames: QueueSnapshot| FlowSnapshot {
        flow: format!("udp 10.0.{}.{i}:{} > 10.1.0.1:{}", i % 3, 40_000 + i, 5000 + i),
        index: i,
        class: class.to_string(),
        queued,
        frames,
    };
    let mut flows: Vec<FlowSnapshot> =
        (0..10).map(|i| flow(i, "ipsec", 150, frames(s, 300, 800, 0.0768, 0.02, 700))).collect();
    flows.extend((10..20).map(|i| flow(i, "forward", 200, frames(s, 1_200, 1400, 0.023, 0.075, 40))));
    flows.push(flow(20, "mice", 0, frames(s, 10, 60, 0.0005, 0.0001, 0)));
    let class = |name: &str, weight| {
        let of: Vec<FlowSnapshot> = flows.iter().filter(|flow| flow.class == name).cloned().collect();
        ClassSnapshot { class: name.to_string(), weight, flows: of.len() as u64, frames: sum(&of) }
    };
    let classes = vec![class("ipsec", 1.0), class("forward", 1.0), class("mice", 2.0)];
    let total = sum(&flows);
    let cpu = ResourceSnapshot { busy_s: total.cpu_s, waiting: 3_500, capacity: Some(0.2) };
    let link = ResourceSnapshot { busy_s: total.link_s, waiting: 12, capacity: Some(40e6) };
    let left = total.frames_out as f64;
    Snapshot {
        schema: SCHEMA,
        time_s: 1.0 + s,
        scheduler: "tradeoff:alpha=0.85".to_string(),
        resources: BTreeMap::from([("cpu".to_string(), cpu), ("link".to_string(), link)]),
        total,
        classes,
        flows,
        modules: Vec::new(),
        ports: Default::default(),
        outgoing: 0,
        unaccounted: 0,
        overflowed: 0,
        outliers: 0,
        buffers: BufferSnapshot::default(),
        lost_time_s: 0.0,
        // 40 us each, and after a minute 100 us.
        late_s: LateSnapshot { sum: left * (40e-6 * s.min(60.0) + 100e-6 * (s - 60.0).max(0.0)) / s, max: 3e-3 },
    }
}

fn app() -> App {
    let mut app = App::new("/run/dovetail/box.sock".to_string());
    app.update(snapshot(60.0));
    app.update(snapshot(61.0));
    app
}

fn press(app: &mut App, code: KeyCode) -> Action {
    app.key(KeyEvent::new(code, KeyModifiers::NONE))
}

/// The text kept in `golden/NAME`, or `DOVETAIL_GOLDEN=1` writes it.
#[track_caller]
fn golden(name: &str, is: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/top/golden").join(name);
    if std::env::var_os("DOVETAIL_GOLDEN").is_some() {
        std::fs::write(&path, is).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(is, kept, "differs from {}; DOVETAIL_GOLDEN=1 keeps it", path.display());
}

#[test]
fn a_small_and_a_large_screen() {
    let app = app();
    golden("80x24.txt", &text(&app, 80, 24));
    golden("200x50.txt", &text(&app, 200, 50));
    let mut help = self::app();
    press(&mut help, KeyCode::Char('h'));
    golden("help.txt", &text(&help, 80, 24));
}

#[test]
fn a_terminal_shows_what_the_text_says() {
    let app = app();
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| view::draw(&app, frame.area(), frame.buffer_mut())).unwrap();
    let shown = terminal.backend().to_string();
    let lines = text(&app, 80, 24);
    for line in lines.lines() {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
}

#[test]
fn no_size_is_too_small() {
    let mut app = app();
    for (width, height) in [(1, 1), (10, 3), (59, 11), (300, 5), (20, 200)] {
        text(&app, width, height);
        press(&mut app, KeyCode::Char('h'));
    }
    text(&App::new("s".into()), 80, 24);
}

#[test]
fn shares_are_those_of_the_interval_and_add_up() {
    let interval = Interval::between(&snapshot(60.0), &snapshot(62.0)).unwrap();
    assert_eq!(interval.backlogged, 20);
    let cpu: f64 = interval.flows.iter().map(|row| row.shares.cpu).sum();
    assert!((interval.busy.cpu - cpu).abs() < 1e-9 && (cpu - 0.9985).abs() < 1e-9, "{cpu}");
    // Of the CPU 10 * (1 + 0.023 / 0.075) are due to a unit of share, of the link 10 * (0.02 / 0.0768 + 1).
    let fair = 1.0 / (10.0 * (1.0 + 0.023 / 0.075));
    assert!((interval.fair.unwrap() - fair).abs() < 1e-9);
    assert!((interval.flows[0].over_fair.unwrap() - 0.0768 / fair).abs() < 1e-9);
    assert_eq!(interval.flows[20].over_fair, None, "it is not backlogged");
    // 300 a second left, and 350 were lost when the CPU was done with them.
    assert!((interval.flows[0].cpu_each.unwrap() - 0.0768 / 650.0).abs() < 1e-9);
    assert_eq!(Verdict::of(interval.busy.cpu, interval.busy.link), Verdict::Both);
    let dropped = interval.drops.iter().find(|(reason, _)| reason == "queue-full").unwrap().1;
    assert!((dropped - 7_400.0).abs() < 1e-6, "{dropped}");
    assert!(
        (interval.late.unwrap() - 100e-6).abs() < 1e-9,
        "those of the first minute do not count: {:?}",
        interval.late
    );
}

#[test]
fn a_box_that_was_started_again_in_between_has_let_no_frame_through() {
    let before = snapshot(60.0);
    let mut after = snapshot(61.0);
    // It has got more already than the one before, and has let out less.
    after.total.frames_out = before.total.frames_out / 2;
    let interval = Interval::between(&before, &after).unwrap();
    assert_eq!(interval.late, None);
}

#[test]
fn a_flow_that_is_met_waiting_twice_by_chance_is_not_backlogged() {
    let [before, after] = [60.0, 61.0].map(|s| {
        let mut snapshot = snapshot(s);
        // Ten frames a second stay for 0.6 ms each.
        snapshot.flows[20].queued = 1;
        snapshot
    });
    let interval = Interval::between(&before, &after).unwrap();
    assert_eq!((interval.backlogged, interval.flows[20].over_fair), (20, None));
    // One of which nothing leaves is.
    let [before, after] = [before, after].map(|mut snapshot| {
        snapshot.flows[20].frames = frames(0.0, 0, 60, 0.0, 0.0, 0);
        snapshot
    });
    assert_eq!(Interval::between(&before, &after).unwrap().backlogged, 21);
}

#[test]
fn another_box_at_the_same_place_has_no_shares_yet() {
    assert!(Interval::between(&snapshot(60.0), &snapshot(2.0)).is_none());
    assert!(Interval::between(&snapshot(60.0), &snapshot(60.0)).is_none());
}

#[test]
fn a_flow_that_was_not_told_of_has_no_burst_of_all_it_ever_did() {
    let mut before = snapshot(60.0);
    before.flows.truncate(5);
    let interval = Interval::between(&before, &snapshot(61.0)).unwrap();
    assert_eq!(interval.flows[7].shares.cpu, 0.0);
    assert!(interval.flows[3].shares.cpu > 0.0);
}

#[test]
fn keys_sort_filter_and_scroll() {
    let mut app = app();
    let first = |app: &App| app.flows()[0].class.clone();
    assert_eq!(first(&app), "ipsec");
    for (key, order, class) in
        [('l', Order::Link, "forward"), ('x', Order::Drops, "ipsec"), ('w', Order::Waiting, "forward")]
    {
        press(&mut app, KeyCode::Char(key));
        assert_eq!((app.order, first(&app).as_str()), (order, class));
    }
    let seen: Vec<usize> = (0..4)
        .map(|_| {
            press(&mut app, KeyCode::Tab);
            app.flows().len()
        })
        .collect();
    assert_eq!(seen, [10, 10, 1, 21], "one class after another, then all");
    press(&mut app, KeyCode::PageDown);
    press(&mut app, KeyCode::PageDown);
    press(&mut app, KeyCode::PageDown);
    assert_eq!(app.scroll, 20, "the last flow stays in sight");
    press(&mut app, KeyCode::Home);
    assert_eq!(app.scroll, 0);
    press(&mut app, KeyCode::Char(' '));
    assert!(app.paused);
    assert!(text(&app, 80, 24).contains("PAUSED"));
}

#[test]
fn plus_and_minus_turn_alpha_within_its_range() {
    let mut app = app();
    let plus = KeyCode::Char('+');
    assert_eq!(press(&mut app, plus), Action::Alpha("0.90".into()));
    assert_eq!(press(&mut app, KeyCode::Char('-')), Action::Alpha("0.80".into()));
    let with = |scheduler: &str| App {
        snapshot: Some(Snapshot { scheduler: scheduler.into(), ..snapshot(1.0) }),
        ..self::app()
    };
    assert_eq!(press(&mut with("tradeoff"), plus), Action::Alpha("0.90".into()), "the default is 0.85");
    assert_eq!(press(&mut with("tradeoff:alpha=0.97"), plus), Action::Alpha("1.00".into()));
    assert_eq!(press(&mut with("tradeoff:alpha=0.02"), KeyCode::Char('-')), Action::Alpha("0.00".into()));
    for without in ["drfq", "drr+drr"] {
        let mut app = with(without);
        assert_eq!(press(&mut app, plus), Action::Draw);
        assert!(text(&app, 80, 24).contains("this scheduler has no alpha"));
    }
}

#[test]
fn keys_that_end_it() {
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(app().key(control_c), Action::Quit);
    assert_eq!(press(&mut app(), KeyCode::Char('q')), Action::Quit);
    assert_eq!(press(&mut app(), KeyCode::Esc), Action::Quit);
    let mut help = app();
    press(&mut help, KeyCode::Char('h'));
    assert_eq!(press(&mut help, KeyCode::Esc), Action::Draw, "first the help is closed");
    assert!(!help.help);
}

#[test]
fn a_box_that_does_not_answer_is_said_not_to_and_why_and_the_last_numbers_stay() {
    let mut app = app();
    app.link = Link::Down("8 clients are connected already".into(), 7);
    app.note = Some("the box is back".into());
    let shown = text(&app, 80, 24);
    let title = "NO BOX ANSWERS for 7 s, its last numbers stay: /run/dovetail/box.sock\n";
    assert!(shown.starts_with(title) && shown.ends_with("\n8 clients are connected already\n"), "{shown}");
    assert!(shown.contains("ipsec"));
    app.update(snapshot(62.0));
    assert!(!text(&app, 80, 24).contains("NO BOX"));
    // One look is not enough for numbers.
    let mut once = App::new("box.sock".to_string());
    once.update(snapshot(60.0));
    once.link = Link::Down("broken pipe".into(), 2);
    assert!(text(&once, 80, 24).starts_with("NO BOX ANSWERS for 2 s: box.sock\nbroken pipe\n"));
    let mut never = App::new("box.sock".to_string());
    never.link = Link::Down("No such file or directory".into(), 3);
    let shown = text(&never, 80, 24);
    assert!(shown.starts_with("NO BOX ANSWERS for 3 s: box.sock\nNo such file or directory\n"), "{shown}");
    assert!(shown.contains("--socket PATH"), "{shown}");
}

#[test]
fn rows_beyond_the_screen_are_told_of() {
    let mut app = app();
    assert!(text(&app, 80, 24).contains("\nflow 1-10 of 21 "));
    press(&mut app, KeyCode::PageDown);
    assert!(text(&app, 80, 24).contains("\nflow 11-20 of 21 "));
    assert!(text(&app, 80, 40).contains("\nflow 11-21 of 21 "));
    press(&mut app, KeyCode::Home);
    assert!(text(&app, 80, 40).contains("\nflow     "));
    press(&mut app, KeyCode::Tab);
    assert!(text(&app, 80, 20).contains("\nflow 1-6 of 10 in ipsec "));
    // A heading without rows.
    assert!(text(&app, 80, 14).contains("\nflow none of 10 in ipsec "), "{}", text(&app, 80, 14));
}

#[test]
fn a_wider_screen_has_more_columns_and_always_room_for_names() {
    let (app, whole) = (app(), "udp 10.0.0.12:40012 > 10.1.0.1:5012 ");
    let columns = |width| {
        let shown = text(&app, width, 60);
        assert_eq!(shown.contains(whole), width >= 90, "{width}\n{shown}");
        let header = shown.lines().find(|line| line.starts_with("flow ")).unwrap();
        header.replace("x fair", "x_fair").split_whitespace().count()
    };
    let counts: Vec<usize> = [60, 80, 107, 108, 140, 168, 169, 250].map(columns).to_vec();
    assert_eq!(counts, [9, 9, 9, 10, 13, 16, 17, 17]);
}

#[test]
fn numbers_have_three_digits_and_counts_are_whole() {
    let counts = [0.0, 7.0, 749.0, 3000.0, 3061.0, 999_600.0, 0.25, 12.5].map(view::short);
    assert_eq!(counts, ["0", "7", "749", "3.00k", "3.06k", "1.00M", "0.25", "12.5"]);
    let times = [0.0, 50e-6, 49.999_999_9e-6, 2e-3, 0.9999, 12.0].map(|s| view::time(Some(s)));
    assert_eq!(times, ["0", "50.0us", "50.0us", "2.00ms", "1.00s", "12.0s"]);
    assert_eq!(view::hours(34.0 * 3600.0 + 17.0 * 60.0 + 8.9), "34:17:08");
}
