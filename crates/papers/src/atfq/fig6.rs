//! Fig. 6: the largest difference of the active times that flows have received.

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::seconds::{least, most};
use super::twenty::{Twenty, active_s, completions};
use super::{MEMORYLESS, STRICT, in_loops, name, under};
use dovetail_experiment::recorded::Recorded;
use dovetail_figure::{LineChart, LinePanel, Quantity, Series, lines};

/// Length of the spans of time of which the picture shows the largest difference, in nanoseconds.
const SPAN_NS: u64 = 200_000_000;

pub fn reproduce(Twenty { runs, times }: &Twenty) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let differences: Vec<(&Recorded, Differences)> =
        runs.iter().map(|run| (run, Differences::of(run, times))).collect();
    let find =
        |run: Option<&Recorded>| differences.iter().find(|(own, _)| run.is_some_and(|run| std::ptr::eq(run, *own)));
    let mut measure = |key: String, run: Option<&Recorded>, more: String| {
        if let Some((_, differences)) = find(run) {
            findings.noted(key, differences.largest_us(), format!("on average {:.1} us{more}", differences.mean_us));
        }
    };
    let memoryless = find(under(runs, MEMORYLESS)).map_or(f64::NAN, |(_, d)| d.largest_us());
    measure("drfq".into(), under(runs, STRICT), format!("; memoryless DRFQ: {memoryless:.1} us"));
    for packets in [1, 10, 20] {
        measure(format!("atfq-{packets}"), in_loops(runs, packets), String::new());
    }
    let of = |run| find(run).map_or(f64::NAN, |(_, d)| d.largest_us());
    findings.found("overlays", of(in_loops(runs, 10)) / of(under(runs, STRICT)));
    let larger = [20, 50, 100].map(|packets| find(in_loops(runs, packets)).map_or(f64::NAN, |(_, d)| d.largest_us()));
    let steps: Vec<f64> = larger.windows(2).map(|w| w[1] - w[0]).collect();
    let texts: Vec<String> = larger.iter().map(|w| format!("{w:.0}")).collect();
    findings.noted("grows", least(&steps), format!("{} us with 20, 50, 100 packets", texts.join(", ")));
    let line =
        |(run, differences): &(&Recorded, Differences)| Series { name: name(run), points: differences.spans.clone() };
    findings.picture(
        "atfq-fig6.svg",
        lines(&LineChart {
            title: "Fig. 6: largest difference of the flows' active times".into(),
            x: Quantity { label: "Time (s)".into(), factor: 1.0 },
            y: Quantity { label: "Largest difference in 0.2 s (us)".into(), factor: 1e6 },
            panels: vec![LinePanel { heading: String::new(), lines: differences.iter().map(line).collect() }],
            ..Default::default()
        })?,
    );
    Ok(findings)
}

/// Differences of the flow with most and the flow with least active time, whenever a packet is complete.
struct Differences {
    /// The largest in each span of time: the middle of the span and the difference, both in seconds.
    spans: Vec<(f64, f64)>,
    mean_us: f64,
}

impl Differences {
    fn of(run: &Recorded, times: &[[f64; 2]]) -> Self {
        let ends = |flow: usize| completions(run, flow).into_iter().map(move |end| (end, flow));
        let mut events: Vec<(u64, usize)> = (0..times.len()).flat_map(ends).collect();
        events.sort_unstable();
        let mut received = vec![0.0; times.len()];
        let (mut spans, mut sum): (Vec<(f64, f64)>, f64) = (Vec::new(), 0.0);
        for &(end, flow) in &events {
            received[flow] += active_s(&times[flow]);
            let difference = most(&received) - least(&received);
            sum += difference;
            for span in spans.len()..=(end / SPAN_NS) as usize {
                spans.push(((span as f64 + 0.5) * SPAN_NS as f64 / 1e9, 0.0));
            }
            if let Some((_, largest)) = spans.last_mut() {
                *largest = difference.max(*largest);
            }
        }
        Self { spans, mean_us: 1e6 * sum / events.len() as f64 }
    }

    fn largest_us(&self) -> f64 {
        1e6 * self.spans.iter().map(|span| span.1).fold(0.0, f64::max)
    }
}
