//! Numbers, names and times in few characters.

/// At most so many characters; `~` stands for what is cut off.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}~")
}

/// The end of a text, at most so many characters; `~` stands for what is cut off in front of it.
fn tail(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_string();
    }
    let kept: String = text.chars().skip(count - width.saturating_sub(1)).collect();
    format!("~{kept}")
}

/// The least that is left of a source: `~` and a port.
const SOURCE: usize = 6;

/// The name of a flow in at most so many characters. Where it goes, and the end of where it comes from, tell flows
/// apart best: the beginning of the source goes first, then the protocol, then the beginning of the destination.
pub fn flow(name: &str, width: usize) -> String {
    let parts = name.split_once(" > ").and_then(|(from, to)| Some((from.split_once(' ')?, to)));
    let Some(((protocol, source), destination)) = parts.filter(|_| name.chars().count() > width) else {
        return cut(name, width);
    };
    let room = |others: usize| width.saturating_sub(others + 3 + destination.chars().count());
    let with_protocol = room(protocol.chars().count() + 1);
    if with_protocol >= SOURCE {
        return format!("{protocol} {} > {destination}", tail(source, with_protocol));
    }
    let source_room = room(0).max(SOURCE).min(width / 2);
    let source = tail(source, source_room);
    let left = width.saturating_sub(source.chars().count() + 3);
    cut(&format!("{source} > {}", tail(destination, left)), width)
}

pub fn percent(part: f64) -> String {
    format!("{:.1}", 100.0 * part)
}

/// Hours, minutes and seconds.
pub fn hours(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A whole number below a thousand, or three digits and a unit prefix.
pub fn short(number: f64) -> String {
    let prefixes = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    match prefixes.into_iter().find(|&(size, _)| number >= 0.9995 * size) {
        Some((size, prefix)) => format!("{}{prefix}", three(number / size)),
        None if number == number.trunc() => format!("{number:.0}"),
        None => three(number),
    }
}

pub fn time(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".to_string(),
        Some(0.0) => "0".to_string(),
        Some(s) if s < 0.9995e-3 => format!("{}us", three(s * 1e6)),
        Some(s) if s < 0.9995 => format!("{}ms", three(s * 1e3)),
        Some(s) => format!("{}s", three(s)),
    }
}

/// Three digits.
fn three(number: f64) -> String {
    if number >= 99.95 {
        format!("{number:.0}")
    } else if number >= 9.995 {
        format!("{number:.1}")
    } else {
        format!("{number:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_counts_are_whole() {
        let counts = [0.0, 7.0, 749.0, 3000.0, 3061.0, 999_600.0, 0.25, 12.5].map(short);
        assert_eq!(counts, ["0", "7", "749", "3.00k", "3.06k", "1.00M", "0.25", "12.5"]);
        let times = [0.0, 50e-6, 49.999_999_9e-6, 2e-3, 0.9999, 12.0].map(|s| time(Some(s)));
        assert_eq!(times, ["0", "50.0us", "50.0us", "2.00ms", "1.00s", "12.0s"]);
        assert_eq!(hours(34.0 * 3600.0 + 17.0 * 60.0 + 8.9), "34:17:08");
    }

    #[test]
    fn of_a_flow_that_is_too_long_the_destination_stays_whole_as_long_as_that_can_be() {
        let name = "udp 10.0.0.12:40012 > 10.1.0.1:5012";
        assert_eq!(flow(name, 40), name);
        assert_eq!(flow(name, 33), "udp ~0.0.12:40012 > 10.1.0.1:5012");
        assert_eq!(flow(name, 26), "udp ~40012 > 10.1.0.1:5012");
        assert_eq!(flow(name, 22), "~40012 > 10.1.0.1:5012");
        assert_eq!(flow(name, 18), "~40012 > ~0.1:5012");
        let v6 = "tcp [2001:db8:12:3::10]:40012 > [2001:db8:5::99]:443";
        assert_eq!(flow(v6, 33), "tcp ~40012 > [2001:db8:5::99]:443");
        assert_eq!(flow("arp and the like", 8), "arp and~");
        for width in 0..60 {
            assert!(flow(name, width).chars().count() <= width.max(1), "{width}");
        }
    }
}
