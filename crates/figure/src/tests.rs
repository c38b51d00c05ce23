use super::*;

/// The text nodes of a document, entities resolved.
fn texts(svg: &str) -> Vec<String> {
    let bodies = svg.split("<text").skip(1).filter_map(|t| t.split_once('>')?.1.split_once("</text>"));
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    let plain = |s: &str| entities.iter().fold(s.trim().to_string(), |s, (from, to)| s.replace(from, to));
    bodies.map(|(body, _)| plain(body)).collect()
}

fn count(svg: &str, element: &str) -> usize {
    svg.matches(&format!("<{element} ")).count()
}

/// The height in pixels that the document declares.
fn size(svg: &str) -> (u32, u32) {
    let number = |key: &str| svg.split_once(key).unwrap().1.split_once('"').unwrap().0.parse().unwrap();
    (number("<svg width=\""), number(" height=\""))
}

fn series(name: &str, points: &[(f64, f64)]) -> Series {
    Series { name: name.into(), points: points.to_vec() }
}

/// One picture of each kind, with the given name, numbers and count of things everywhere.
fn pictures(name: &str, number: f64, things: usize) -> Vec<String> {
    let points: Vec<(f64, f64)> = (0..things).map(|k| (k as f64 * number, number)).collect();
    let all = |n: usize| (0..n).map(|k| series(&format!("{k}{name}"), &points)).collect::<Vec<_>>();
    let flows = (0..things).map(|_| FlowShares { group: name.into(), points: points.clone() }).collect();
    let share =
        SharePanel { scheduler: name.into(), flows, fair_share: points.clone(), guaranteed: vec![points.clone()] };
    let service = |k: usize| Service { start: k as f64, end: k as f64 + number, flow: name.into(), label: name.into() };
    let row = Row { name: name.into(), services: (0..things).map(service).collect() };
    let bar = BarSeries {
        name: name.into(),
        values: vec![Some(Bar { mean: number, std: number }); things],
        ..Default::default()
    };
    let chart = |log| BarChart {
        whiskers: STANDARD_DEVIATION,
        title: name.into(),
        x_label: name.into(),
        y_label: name.into(),
        categories: vec![name.into(); things],
        series: vec![bar.clone(); things],
        log,
        ..Default::default()
    };
    let scatter = Scatter { title: name.into(), x_label: name.into(), y_label: name.into(), series: all(things) };
    let quantity = || Quantity { label: name.into(), factor: 100.0 };
    let panel = LinePanel { heading: name.into(), lines: all(things) };
    let line_chart = LineChart {
        title: name.into(),
        x: quantity(),
        y: quantity(),
        panels: vec![panel; things],
        ..Default::default()
    };
    let cdf = Cdf { scheduler: name.into(), group: Some(name.into()), points: points.clone() };
    let utilized = UtilizationPanel { scheduler: name.into(), resources: all(things) };
    let column = Column {
        heading: name.into(),
        group: None,
        full: Some(1.0),
        values: vec![Some((number, name.into())); things],
    };
    let glance = Overview {
        title: name.into(),
        schedulers: vec![name.into(); things],
        bands: vec![vec![column; things]; 2],
        note: Some(name.into()),
    };
    vec![
        utilization(name, &vec![utilized; things], None).unwrap(),
        dominant_shares(name, &vec![share; things]).unwrap(),
        latency_cdf(name, &vec![cdf; things]).unwrap(),
        gantt(name, name, &vec![Schedule { scheduler: name.into(), rows: vec![row; things] }; things]).unwrap(),
        bars_with_error(&chart(false)).unwrap(),
        bars_with_error(&chart(true)).unwrap(),
        scatter_loglog(&scatter).unwrap(),
        lines(&line_chart).unwrap(),
        overview(&glance).unwrap(),
    ]
}

#[test]
fn any_input_gives_a_picture() {
    let numbers = [0.0, -0.0, 1.0, -1.0, 0.3, 1e-320, 1e-150, 1e99, -1e99, 1e300, f64::NAN, f64::INFINITY, f64::MIN];
    for number in numbers {
        for things in [0, 1, 2, 9] {
            for svg in pictures("x", number, things) {
                assert!(svg.starts_with("<svg width=\"900\"") && svg.trim_end().ends_with("</svg>"));
                assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{number} {things}");
                // A slipped coordinate would be at the ends of the whole numbers.
                assert!(!svg.contains("214748364"), "{number} {things}");
            }
        }
    }
}

#[test]
fn the_heading_of_a_column_is_not_cut_where_two_lines_hold_it() {
    for group in ["call", "mouse, ipsec", "elephant, monitoring", "premium customers", "twentyone-letters-abc"] {
        let heading = format!("{group}: latency");
        let values = vec![Some((1.0, "1 s".to_string()))];
        let column = Column { heading: heading.clone(), group: Some(group.into()), full: None, values };
        let bands = vec![vec![column]];
        let svg =
            overview(&Overview { title: "x".into(), schedulers: vec!["fifo".into()], bands, note: None }).unwrap();
        let said = texts(&svg).join(" ");
        assert!(said.contains(&heading), "{group}: {said}");
    }
}

#[test]
fn the_headings_of_a_band_have_one_size() {
    let column = |group: &str| {
        let values = vec![Some((1.0, "1 s".to_string()))];
        Column { heading: format!("{group}: latency"), group: None, full: None, values }
    };
    let bands = vec![["forwarding", "call"].map(column).into()];
    let svg = overview(&Overview { title: "x".into(), schedulers: vec!["fifo".into()], bands, note: None }).unwrap();
    let sizes: Vec<&str> = (svg.split("<text").filter(|text| text.contains(": latency")))
        .map(|text| text.split_once("font-size=\"").unwrap().1.split_once('"').unwrap().0)
        .collect();
    assert!(sizes.len() == 2 && sizes[0] == sizes[1], "{sizes:?}");
}

#[test]
fn without_usable_data_a_picture_says_so() {
    for svg in pictures("x", f64::NAN, 2).into_iter().chain(pictures("x", 1.0, 0)) {
        assert!(texts(&svg).iter().any(|t| t == "no data"), "{svg}");
    }
}

#[test]
fn names_are_escaped_and_characters_that_xml_forbids_are_gone() {
    for svg in pictures("<&\">'\u{1}\u{202e}\u{ffff}é", 1.0, 2) {
        assert!(!svg.contains(['\u{1}', '\u{202e}', '\u{ffff}']));
        assert!(texts(&svg).iter().any(|t| t.starts_with("<&\">'")), "{svg}");
        assert!(!svg.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "").contains("<&"));
    }
}

#[test]
fn long_names_are_cut_to_the_picture() {
    let name = "a scheduler with a very long name ".repeat(30);
    for svg in pictures(&name, 1.0, 2) {
        for text in texts(&svg) {
            // 1800 drawing units hold at most 1800 / (0.36 * 20) characters of the narrowest kind.
            assert!(text.chars().count() < 250, "{text}");
        }
        assert!(texts(&svg).iter().any(|t| t.ends_with('…')));
    }
}

#[test]
fn a_heading_that_is_little_too_long_is_written_smaller() {
    let name = "drr+drr:buffer=none,charge=estimated,quantum=4.9322 ms";
    let panel = |name: &str| UtilizationPanel { scheduler: name.into(), resources: vec![series("cpu", &[(0.0, 0.5)])] };
    let svg = utilization("Utilization", &[panel("cbcs"), panel(name)], None).unwrap();
    assert!(texts(&svg).iter().any(|text| text == name), "{:?}", texts(&svg));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert_eq!(pictures("x", 0.7, 7), pictures("x", 0.7, 7));
}

#[test]
fn utilization_has_a_panel_per_scheduler_and_a_line_per_resource() {
    let resources = vec![series("cpu", &[(0.0, 0.5), (1.0, 1.0)]), series("link", &[(0.0, 1.0), (1.0, 1.0)])];
    let panel = |name: &str| UtilizationPanel { scheduler: name.into(), resources: resources.clone() };
    let svg = utilization("Utilization", &[panel("fifo"), panel("drfq")], Some("Of all time.")).unwrap();
    let texts = texts(&svg);
    for expected in ["Utilization", "fifo", "drfq", "cpu", "link", "Utilisation (%)", "Time (s)", "100", "Of all time."]
    {
        assert!(texts.iter().any(|t| t == expected), "{expected} is missing in {texts:?}");
    }
    let no_resources: Vec<UtilizationPanel> =
        ["fifo", "drfq"].iter().map(|n| UtilizationPanel { scheduler: n.to_string(), resources: vec![] }).collect();
    assert_eq!(count(&utilization("Utilization", &no_resources, None).unwrap(), "circle"), 0);
}

#[test]
fn pictures_stay_small_however_many_points_come_in() {
    let noise = |k: usize| (k * 7919 % 1000) as f64 / 1000.0;
    let points: Vec<(f64, f64)> = (0..200_000).map(|k| (k as f64, noise(k))).collect();
    let panel = UtilizationPanel { scheduler: "s".into(), resources: vec![series("cpu", &points)] };
    assert!(utilization("u", &[panel], None).unwrap().len() < 100_000);

    let flow = |f: usize| FlowShares {
        group: format!("group {}", f % 3),
        points: (0..60).map(|t| (t as f64, noise(f * 60 + t))).collect(),
    };
    let panel = SharePanel { scheduler: "s".into(), flows: (0..5000).map(flow).collect(), ..SharePanel::default() };
    let svg = dominant_shares("d", &[panel]).unwrap();
    assert!(svg.len() < 700_000, "{}", svg.len());
    assert!(
        texts(&svg).iter().any(|t| t.contains("of 5000 flows are shown")),
        "the caption says that flows are left out"
    );
}

#[test]
fn the_flow_of_the_lowest_share_is_always_shown() {
    let flow = |f: usize| FlowShares {
        group: "g".into(),
        points: (0..60).map(|t| (t as f64, if f == 4321 { 0.0 } else { 0.5 + (f * 60 + t) as f64 / 1e6 })).collect(),
    };
    let with_lowest: Vec<FlowShares> = (0..5000).map(flow).collect();
    let without: Vec<FlowShares> = (0..5000).map(|f| flow(if f == 4321 { 0 } else { f })).collect();
    let marks = |flows| {
        let panel = SharePanel { scheduler: "s".into(), flows, ..SharePanel::default() };
        let svg = dominant_shares("d", &[panel]).unwrap();
        let bottom = svg.split("cy=\"").skip(1).filter_map(|t| t.split_once('"')?.0.parse::<i32>().ok());
        // Dots of the legend are below the axis; the lowest dot of the data is the lowest but one row.
        let mut rows: Vec<i32> = bottom.collect();
        rows.sort_unstable();
        rows.dedup();
        rows[rows.len() - 2]
    };
    assert!(marks(with_lowest) > marks(without));
}

#[test]
fn a_gantt_chart_labels_boxes_where_the_label_fits() {
    let service =
        |start: f64, end: f64, label: &str| Service { start, end, flow: "Flow 1".into(), label: label.into() };
    let row = Row { name: "CPU".into(), services: vec![service(0.0, 2.0, "p1"), service(2.0, 2.001, "hidden")] };
    let svg = gantt("g", "time units", &[Schedule { scheduler: "fifo".into(), rows: vec![row] }]).unwrap();
    let texts = texts(&svg);
    assert!(texts.iter().any(|t| t == "p1") && texts.iter().any(|t| t == "Time (time units)"), "{texts:?}");
    assert!(!texts.iter().any(|t| t == "hidden"));
}

#[test]
fn a_legend_with_many_names_makes_the_picture_higher() {
    let cdf = |k: usize| Cdf { scheduler: format!("scheduler {k}"), group: None, points: vec![(0.1, 0.5), (0.2, 1.0)] };
    let few = latency_cdf("c", &[cdf(0)]).unwrap();
    let many = latency_cdf("c", &(0..40).map(cdf).collect::<Vec<_>>()).unwrap();
    assert!(size(&many).1 > size(&few).1 + 40);
    assert!(texts(&many).iter().any(|t| t.starts_with("and ") && t.ends_with(" more")));
}

#[test]
fn latencies_have_a_panel_for_each_group_and_a_legend_of_schedulers() {
    let of = |scheduler: &str, group: &str| Cdf {
        scheduler: scheduler.into(),
        group: Some(group.into()),
        points: vec![(0.1, 0.5), (0.2, 1.0)],
    };
    let all = [of("fifo", "call"), of("drfq", "call"), of("fifo", "bulk"), of("drfq", "bulk")];
    let texts = texts(&latency_cdf("l", &all).unwrap());
    for name in ["call", "bulk", "fifo", "drfq"] {
        assert_eq!(texts.iter().filter(|t| *t == name).count(), 1, "{name} in {texts:?}");
    }
}

#[test]
fn sixteen_things_have_colours_of_their_own() {
    let colours: Vec<_> = (0..16).map(|k| style::look(k).color).collect();
    let repeated = colours.iter().enumerate().any(|(k, colour)| colours[..k].contains(colour));
    assert!(!repeated, "{colours:?}");
}

#[test]
fn axes_of_parts_end_at_all() {
    let full = vec![series("cpu", &[(0.0, 0.0), (1.0, 1.0)])];
    let svg = utilization("u", &[UtilizationPanel { scheduler: "s".into(), resources: full }], None).unwrap();
    let flow = FlowShares { group: "g".into(), points: vec![(0.0, 0.5), (1.0, 0.99)] };
    let panel = SharePanel { scheduler: "s".into(), flows: vec![flow], ..SharePanel::default() };
    for svg in [svg, dominant_shares("d", &[panel]).unwrap()] {
        let texts = texts(&svg);
        assert!(texts.iter().any(|t| t == "100") && !texts.iter().any(|t| t == "120"), "{texts:?}");
    }
}

#[test]
fn the_distribution_of_latencies_has_the_quantiles_of_the_sorted_list() {
    let latencies: Vec<f64> = (0..1001).rev().map(f64::from).chain([f64::NAN]).collect();
    let cdf = Cdf::from_latencies("s", None, &latencies, 11);
    let expected: Vec<(f64, f64)> = (0..11).map(|k| (f64::from(k) * 100.0, f64::from(k * 100 + 1) / 1001.0)).collect();
    assert_eq!(cdf.points, expected);
    assert!(Cdf::from_latencies("s", None, &[], 11).points.is_empty());
    assert_eq!(Cdf::from_latencies("s", None, &[3.0], 11).points, [(3.0, 1.0)]);
}

#[test]
fn thinning_keeps_the_extremes() {
    let points: Vec<(f64, f64)> =
        (0..10_000).map(|k| (f64::from(k), if k == 5_678 { 9.0 } else { f64::from(k % 2) })).collect();
    let kept = sheet::thin(&points, 0.0, 10_000.0, 100);
    assert!(kept.len() <= 400 && kept.contains(&(5_678.0, 9.0)));
    assert_eq!((kept[0], kept[kept.len() - 1]), (points[0], points[9_999]));
    assert!(kept.is_sorted_by(|a, b| a.0 < b.0));
}
