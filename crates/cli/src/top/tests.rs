//! The view of a made-up box, as text at two sizes, and what keys do.

use std::collections::BTreeMap;
use std::path::Path;

use dovetail_dataplane::core::{
    BufferSnapshot, ClassSnapshot, FlowSnapshot, LateSnapshot, Latency, PortSnapshot, QueueSnapshot, ResourceSnapshot,
    SCHEMA, SeenSnapshot, Snapshot, SteeringSnapshot,
};
use dovetail_dataplane::port::LinkState;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::Color;

use super::app::{Action, App, Link, Order};
use super::shares::{Interval, Verdict};
use super::{text, view};
use crate::ctl;

/// What frames of a flow did in `s` seconds: each second so many, of so many bytes, so much of the CPU and the link.
fn frames(s: f64, per_s: u64, bytes: u64, cpu: f64, link: f64, dropped: u64) -> QueueSnapshot {
    let count = (s * per_s as f64) as u64;
    let lost = (s * dropped as f64) as u64;
    let reasons = [("queue-full".to_string(), lost)];
    let ms = bytes as f64;
    QueueSnapshot {
        frames_in: count + lost,
        bytes_in: (count + lost) * bytes,
        frames_processed: count + lost / 2,
        frames_made: 0,
        frames_out: count,
        bytes_out: count * bytes,
        marked: 0,
        dropped: reasons.into_iter().filter(|(_, lost)| *lost > 0).collect(),
        held: 0,
        cpu_s: s * cpu,
        link_s: s * link,
        third_s: None,
        // Since the start ten times as long as in the last second, and in the last minute twice.
        latency_s: stayed(10.0 * ms),
        latency_minute_s: stayed(2.0 * ms),
        latency_second_s: stayed(ms),
    }
}

fn stayed(ms: f64) -> Latency {
    let ms = |part: f64| Some(ms / part / 1e3);
    Latency { mean: ms(100.0), p50: ms(120.0), p90: ms(60.0), p99: ms(30.0), max: ms(20.0) }
}

/// All of them together; frames stay as long as those of the first.
fn sum(all: &[FlowSnapshot]) -> QueueSnapshot {
    let QueueSnapshot { latency_s, latency_minute_s, latency_second_s, .. } = all[0].frames;
    let none = frames(0.0, 0, 0, 0.0, 0.0, 0);
    let mut total = QueueSnapshot { latency_s, latency_minute_s, latency_second_s, ..none };
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

fn port(name: &str) -> PortSnapshot {
    let (name, link) = (name.to_string(), Some(LinkState::Up));
    let (missed, oversize, unsent, too_long, down, full, short, held) = Default::default();
    PortSnapshot { name, link, received: 9, missed, oversize, sent: 9, unsent, too_long, down, full, short, held }
}

/// A box that has run for `s` seconds with ten flows of "ipsec", that use the CPU, ten of "forward", that use the link,
/// and one without backlog.
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
        ClassSnapshot { class: name.to_string(), weight, alpha: None, flows: of.len() as u64, frames: sum(&of) }
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
        steering: None,
        resources: BTreeMap::from([("cpu".to_string(), cpu), ("link".to_string(), link)]),
        total,
        classes,
        flows,
        modules: Vec::new(),
        ports: ["in", "out"].map(|name| (name.to_string(), port(&format!("eth-{name}")))).into(),
        outgoing: 0,
        waiting: 0,
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
    for (width, height) in [(40, 12), (80, 24), (120, 40), (200, 50)] {
        golden(&format!("{width}x{height}.txt"), &text(&app, width, height));
    }
    let mut help = self::app();
    press(&mut help, KeyCode::Char('h'));
    golden("help.txt", &text(&help, 80, 24));
    golden("help-40x12.txt", &text(&help, 40, 12));
}

/// The same box with an accelerator, which "ipsec" keeps busy for 97 % of the time.
fn with_accelerator(s: f64) -> Snapshot {
    let mut snapshot = snapshot(s);
    let of = |class: &str, flows: f64| Some(if class == "ipsec" { flows * s * 0.097 } else { 0.0 });
    snapshot.classes.iter_mut().for_each(|class| class.frames.third_s = of(&class.class, 10.0));
    snapshot.flows.iter_mut().for_each(|flow| flow.frames.third_s = of(&flow.class, 1.0));
    snapshot.total.third_s = of("ipsec", 10.0);
    let accelerator = ResourceSnapshot { busy_s: s * 0.97, waiting: 40, capacity: None };
    snapshot.resources.insert("accelerator".into(), accelerator);
    snapshot
}

#[test]
fn a_third_resource_has_a_bar_and_a_column() {
    let mut app = App::new("/run/dovetail/box.sock".to_string());
    app.update(with_accelerator(60.0));
    app.update(with_accelerator(61.0));
    for (width, height) in [(40, 12), (100, 24)] {
        golden(&format!("third-{width}x{height}.txt"), &text(&app, width, height));
    }
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

/// What is wrong with a port.
type Illness = fn(&mut PortSnapshot);

#[test]
fn what_is_wrong_has_its_remedy_and_leaves_room_for_a_flow_on_the_smallest_screen() {
    let sick: [(Illness, &str); 5] = [
        (|port| port.oversize = 29, "ethtool -K eth-in gro off lro off tso off gso off"),
        (|port| port.missed = 3_980, "give the box a core of its own, or less to do"),
        (|port| (port.unsent, port.too_long) = (20, 20), "ip link set eth-in mtu N"),
        (|port| port.link = Some(LinkState::Down), "ip link set eth-in up"),
        (|port| port.link = Some(LinkState::NoCarrier), "look at the cable and at its other end"),
    ];
    for (fall_ill, remedy) in sick {
        let mut app = app();
        let mut snapshot = snapshot(62.0);
        fall_ill(snapshot.ports.get_mut("in").unwrap());
        app.update(snapshot);
        let shown = text(&app, 40, 12);
        let words: Vec<&str> = shown.split_whitespace().collect();
        assert!(words.join(" ").contains(remedy), "{shown}");
        assert!(shown.contains("flow 1-"), "{shown}");
    }
}

/// A link that carries nothing comes first, and once, whatever it refuses; the last class gives way to a flow.
#[test]
fn two_sick_ports_leave_room_for_a_flow_on_the_smallest_screen() {
    let mut app = app();
    let mut snapshot = snapshot(62.0);
    snapshot.ports.get_mut("in").unwrap().missed = 3_980;
    let outside = snapshot.ports.get_mut("out").unwrap();
    (outside.link, outside.unsent, outside.down) = (Some(LinkState::Down), 70, 70);
    app.update(snapshot);
    let shown = text(&app, 40, 12);
    let [down, missed] = ["the link is down: ip link", "missed"].map(|words| shown.find(words).expect(words));
    assert!(down < missed && shown.contains("flow 1-") && !shown.contains("unsent"), "{shown}");
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        assert!(!text(&app, width, height).contains("unsent"), "{}", text(&app, width, height));
    }
}

#[test]
fn a_port_that_takes_less_than_the_link_brings_is_told_of() {
    let mut app = app();
    app.update(Snapshot { outgoing: 2048, ..snapshot(62.0) });
    for (width, height, remedy) in
        [(40, 12, "lower link.rate, or tc qdisc show dev"), (80, 24, "takes less than the link brings")]
    {
        let shown = text(&app, width, height);
        let said = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("2.05k frames wait for it: ") && said.contains(remedy), "{shown}");
    }
}

#[test]
fn however_long_a_schedulers_parameters_are_the_title_tells_the_flows() {
    for (width, height) in [(40, 12), (80, 24)] {
        let mut app = app();
        let scheduler = "drr+drr:quantum=3 kB,buffer=200 packets,full=hold,charge=estimated".to_string();
        app.update(Snapshot { scheduler, ..snapshot(62.0) });
        let shown = text(&app, width, height);
        assert!(shown.lines().next().unwrap().contains("0:01:02, 21 flows"), "{shown}");
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
    assert_eq!(Verdict::of(&interval.busy).short(None), "both bound");
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
    assert_eq!(press(&mut app, plus), Action::Alpha("alpha", "0.90".into()));
    assert_eq!(press(&mut app, KeyCode::Char('-')), Action::Alpha("alpha", "0.80".into()));
    let with = |scheduler: &str| App {
        snapshot: Some(Snapshot { scheduler: scheduler.into(), ..snapshot(1.0) }),
        ..self::app()
    };
    assert_eq!(press(&mut with("tradeoff"), plus), Action::Alpha("alpha", "0.90".into()), "the default is 0.85");
    assert_eq!(press(&mut with("tradeoff:alpha=0.97"), plus), Action::Alpha("alpha", "1.00".into()));
    assert_eq!(press(&mut with("tradeoff:alpha=0.02"), KeyCode::Char('-')), Action::Alpha("alpha", "0.00".into()));
    for without in ["drfq", "drr+drr"] {
        let mut app = with(without);
        assert_eq!(press(&mut app, plus), Action::Draw);
        assert!(text(&app, 80, 24).contains("this scheduler has no alpha"));
    }
}

#[test]
fn an_alpha_that_turns_itself_is_shown_beside_the_least() {
    let used = |used| SeenSnapshot::Use { resource: "link".into(), used };
    let steering = SteeringSnapshot { alpha: 0.913, seen: used(0.95), out_of_reach: false };
    let scheduler = "tradeoff:alpha=0.5,target=95 %".to_string();
    let with = |steering| App {
        snapshot: Some(Snapshot { scheduler: scheduler.clone(), steering: Some(steering), ..snapshot(62.0) }),
        ..app()
    };
    let reached = text(&with(steering.clone()), 80, 24);
    let told = "alpha adjusts itself: 0.91, at least 0.50 (+/-); link 95.0 % used";
    assert!(reached.contains(told) && !reached.contains("REACH"), "{reached}");
    let small = text(&with(steering.clone()), 50, 12);
    assert!(small.contains("alpha 0.91"), "{small}");
    let not = text(&with(SteeringSnapshot { alpha: 0.5, seen: used(0.9), out_of_reach: true }), 80, 24);
    assert!(not.contains("link 90.0 % used, OUT OF REACH"), "{not}");
    let calls = SeenSnapshot::Latency { class: "calls".into(), late: 0.012, p99_s: 0.0053 };
    let calls = text(&with(SteeringSnapshot { alpha: 0.71, seen: calls, out_of_reach: false }), 80, 24);
    assert!(calls.contains("alpha adjusts itself: 0.71, at least 0.50 (+/-); 1.2 % of calls late"), "{calls}");
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
    never.link = Link::Down(ctl::DENIED.into(), 3);
    let shown = text(&never, 80, 24);
    assert!(shown.contains("sudo") && !shown.contains(ctl::NO_BOX), "{shown}");
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
    assert!(text(&app, 80, 8).contains("\nflow none of 10 in ipsec "), "{}", text(&app, 80, 8));
}

#[test]
fn a_wider_screen_has_more_columns_and_always_room_for_names() {
    let (app, whole) = (app(), "udp 10.0.0.12:40012 > 10.1.0.1:5012 ");
    let columns = |width| {
        let shown = text(&app, width, 60);
        assert_eq!(shown.contains(whole), width >= 93, "{width}\n{shown}");
        let header = shown.lines().find(|line| line.starts_with("flow ")).unwrap();
        let titles = ["x fair", "p99 1m", "p99 all"];
        titles.iter().fold(header.to_string(), |header, title| header.replace(title, "one")).split_whitespace().count()
    };
    let counts: Vec<usize> = [60, 80, 107, 108, 140, 168, 169, 250].map(columns).to_vec();
    assert_eq!(counts, [7, 8, 10, 10, 14, 17, 17, 19]);
}

/// The view in colours: of each cell what it shows, and in which colour.
fn colours(app: &App, width: u16, height: u16) -> Vec<Vec<(String, Color)>> {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    view::draw(app, area, &mut buffer);
    let cell = |x, y| (buffer[(x, y)].symbol().to_string(), buffer[(x, y)].fg);
    (0..height).map(|y| (0..width).map(|x| cell(x, y)).collect()).collect()
}

/// Colours of what follows `before` in the first line that has it.
fn colour_after(lines: &[Vec<(String, Color)>], before: &str) -> Color {
    let line = lines.iter().find_map(|line| {
        let text: String = line.iter().map(|(symbol, _)| symbol.as_str()).collect();
        Some(line[text.find(before)? + before.len()].1)
    });
    line.unwrap_or_else(|| panic!("nothing follows {before:?}"))
}

#[test]
fn full_use_is_green_and_too_much_at_the_expense_of_others_red() {
    let shown = colours(&app(), 120, 40);
    assert_eq!([colour_after(&shown, "CPU  ["), colour_after(&shown, "link [")], [Color::Green; 2]);
    assert_eq!(colour_after(&shown, "drops/s  "), Color::Reset);
    // One flow has nearly all: nine times what is due to each of ten.
    let hog = |s: f64| {
        let mut snapshot = snapshot(s);
        snapshot.flows.truncate(10);
        for (i, flow) in snapshot.flows.iter_mut().enumerate() {
            flow.frames.cpu_s = s * if i == 0 { 0.9 } else { 0.01 };
            flow.frames.link_s = s * 0.001;
        }
        snapshot
    };
    let mut unfair = App::new("s".into());
    unfair.update(hog(60.0));
    unfair.update(hog(61.0));
    let rows = unfair.flows();
    assert!(rows[0].over_fair.unwrap() > 8.9 && rows[1].over_fair.unwrap() < 0.2, "{rows:?}");
    let shown = colours(&unfair, 120, 40);
    let line = |name: &str| {
        let has =
            |line: &&Vec<(String, Color)>| line.iter().map(|(s, _)| s.as_str()).collect::<String>().contains(name);
        shown.iter().find(has).unwrap().iter().map(|(_, colour)| *colour).collect::<Vec<_>>()
    };
    assert!(line("10.0.0.0:40000").contains(&Color::Red));
    assert!(line("10.0.1.1:40001").iter().filter(|colour| **colour == Color::Yellow).count() > 40);
}

#[test]
fn what_is_wrong_with_a_port_is_said_first_with_its_remedy() {
    let sick = |s: f64| {
        let mut snapshot = snapshot(s);
        let oversize = 1750 * (s - 60.0) as u64;
        let inside = PortSnapshot { oversize, ..port("eth0") };
        let outside = PortSnapshot { link: Some(LinkState::NoCarrier), ..port("eth1") };
        snapshot.ports = [("in".to_string(), inside), ("out".to_string(), outside)].into();
        snapshot.unaccounted = -3;
        snapshot
    };
    let mut app = App::new("s".into());
    app.update(sick(60.0));
    app.update(sick(61.0));
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let shown = text(&app, width, height);
        let said = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [
            "-3 frames are unaccounted for",
            "port in (eth0): 1.75k/s oversize: ethtool -K eth0 gro off",
            "port out (eth1): the link has no carrier",
        ] {
            assert!(said.contains(words), "{words:?} is missing in\n{shown}");
        }
        assert_eq!(colours(&app, width, height)[1][0].1, Color::Red);
    }
    let shown = text(&app, 40, 12);
    assert!(shown.contains("1.75k/s oversize") && shown.contains("\nflow"), "{shown}");
}

#[test]
fn help_can_be_read_on_a_small_screen() {
    let mut app = app();
    press(&mut app, KeyCode::Char('h'));
    let mut seen = String::new();
    for _ in 0..60 {
        seen.push_str(&text(&app, 40, 12).replace(['│', '\n'], " "));
        press(&mut app, KeyCode::Down);
    }
    let seen = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["q, Ctrl-C quit", "Green: a resource in", "which is the goal", "could not make up for."] {
        assert!(seen.contains(words), "{words:?} is missing in {seen}");
    }
    press(&mut app, KeyCode::Char('h'));
    press(&mut app, KeyCode::Char('h'));
    assert!(text(&app, 40, 12).contains("lines 1-10 of "), "it begins at its beginning");
}

#[test]
fn no_destination_is_cut_to_nothing_at_80_columns() {
    let shown = text(&app(), 80, 24);
    assert!(!shown.contains("10.~") && shown.contains(" > 10.1.0.1:5000 "), "{shown}");
}
