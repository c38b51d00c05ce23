//! The schedule of a small run as text: who was served when, on which resource.

use crate::recorded::Recorded;

/// Most packets of a run whose schedule is written out.
pub const MOST_PACKETS: usize = 200;

/// For each scheduler a line per resource with the packets in the order of their service, as `p1 0-3`: the first packet
/// of the first flow from time 0 to 3. `None` if there are more than [`MOST_PACKETS`] packets, or none.
pub fn timetable(runs: &[Recorded], width: u16) -> Option<String> {
    if runs.is_empty() || !runs.iter().all(|r| (1..=MOST_PACKETS).contains(&r.packets.len())) {
        return None;
    }
    let (scale, unit) = time_unit(runs);
    let named = runs[0].flows.iter().enumerate().filter(|(k, f)| f.name.text() != label(*k).to_string());
    let names: String = named.take(26).map(|(k, f)| format!("; {} is {}", label(k), f.name)).collect();
    let mut lines = broken(&format!("schedule, from-to in {unit}{names}"), width);
    for run in runs {
        lines.push(run.scheduler.to_string());
        for (r, resource) in run.resources.iter().enumerate() {
            let services = broken(&services(run, r, scale).join(" "), width.saturating_sub(11));
            for (k, part) in services.iter().enumerate() {
                let name = if k == 0 { resource.name.as_str() } else { "" };
                lines.push(format!("  {name:<8} {}", part.replace('\u{a0}', " ")));
            }
        }
    }
    Some(lines.join("\n"))
}

/// The packets on a resource in the order in which their service begins.
fn services(run: &Recorded, resource: usize, scale: f64) -> Vec<String> {
    let mut counts = vec![0_u32; run.flows.len()];
    let mut served = Vec::new();
    for (k, packet) in run.packets.iter().enumerate() {
        let flow = packet.flow as usize;
        counts[flow] += 1;
        if let Some(service) = run.service(k, resource) {
            let (start, end) = (service.start.as_secs_f64() * scale, service.end.as_secs_f64() * scale);
            // Spaces that are no places to break a line.
            let text = format!("{}{}\u{a0}{}-{}", label(flow), counts[flow], number(start), number(end));
            served.push((service.start, service.end, text));
        }
    }
    served.sort_by_key(|(start, end, _)| (*start, *end));
    served.into_iter().map(|(_, _, text)| text).collect()
}

/// What packets of a flow are called: p, q, r, ... as in the paper; then from a on.
pub(crate) fn label(flow: usize) -> char {
    char::from(b'a' + ((flow + 15) % 26) as u8)
}

/// The unit in which the longest run has a readable number of units.
pub(crate) fn time_unit(runs: &[Recorded]) -> (f64, &'static str) {
    let longest = runs.iter().filter_map(|r| r.outcome.last_departure).max().map_or(0.0, |t| t.as_secs_f64());
    match longest {
        x if x >= 2.0 => (1.0, "s"),
        x if x >= 2e-3 => (1e3, "ms"),
        x if x >= 2e-6 => (1e6, "us"),
        _ => (1e9, "ns"),
    }
}

/// Three digits behind the point at most.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A text broken at spaces into lines of at most this width, as long as its words allow.
pub fn broken(text: &str, width: u16) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= usize::from(width) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{broken, number};

    #[test]
    fn lines_break_at_spaces_where_they_must() {
        assert_eq!(broken("a bb ccc dddddd e", 4), ["a bb", "ccc", "dddddd", "e"]);
        assert_eq!(broken("a\u{a0}1 b\u{a0}2", 6), ["a\u{a0}1", "b\u{a0}2"]);
    }

    #[test]
    fn numbers_have_no_more_digits_than_they_need() {
        let texts: Vec<String> = [0.0, 3.0, 10.0, 0.5, 1.0 / 3.0].into_iter().map(number).collect();
        assert_eq!(texts, ["0", "3", "10", "0.5", "0.333"]);
    }
}
