//! Axes: range, ticks and how values are written at them.

use super::style::{TICK_SIZE, text_width};

/// One axis of a chart. Positions on it are values times `factor`, as logarithms to base 10 when `log`.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub label: String,
    pub lo: f64,
    pub hi: f64,
    pub ticks: Vec<f64>,
    pub minor: Vec<f64>,
    pub log: bool,
    /// Whether values are seconds, and ticks times, each in the unit that suits it.
    times: bool,
    factor: f64,
    decimals: usize,
}

/// The smallest and the largest of some values; `None` if there are none.
pub(super) fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().fold(None, |seen, v| match seen {
        None => Some((v, v)),
        Some((lo, hi)) => Some((v.min(lo), v.max(hi))),
    })
}

impl Axis {
    /// A linear axis over `lo..=hi`, values multiplied by `factor` for show, with about `count` ticks. The range grows
    /// to the next ticks if `round` is set; what goes beyond one by less than can be seen needs no other.
    pub fn linear(label: &str, range: (f64, f64), factor: f64, count: usize, round: bool) -> Axis {
        let (mut lo, mut hi) = widened(range.0 * factor, range.1 * factor);
        let step = nice_step((hi - lo) / count.max(1) as f64);
        if round {
            lo = (lo / step + 0.01).floor() * step;
            hi = (hi / step - 0.01).ceil() * step;
        }
        let first = (lo / step - 1e-9).ceil();
        let ticks = (0..=2 * count + 4)
            .map(|k| (first + k as f64) * step)
            .take_while(|&v| v <= hi + step * 1e-9)
            .map(|v| if v.abs() < step * 1e-6 { 0.0 } else { v })
            .collect();
        let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
        Axis { label: label.into(), lo, hi, ticks, minor: Vec::new(), log: false, times: false, factor, decimals }
    }

    /// A logarithmic axis over positive values; whole decades if `round` is set.
    pub fn logarithmic(label: &str, range: (f64, f64), round: bool) -> Axis {
        let (mut lo, mut hi) = (range.0.max(1e-100).log10(), range.1.max(1e-100).log10());
        if round || hi - lo < 0.1 {
            lo = (lo + 1e-9).floor();
            hi = (hi - 1e-9).ceil().max(lo + 1.0);
        }
        let every = ((hi - lo) / 10.0).ceil().max(1.0);
        let first = (lo - 1e-9).ceil() as i32;
        let last = (hi + 1e-9).floor() as i32;
        let ticks = (first..=last).step_by(every as usize).map(f64::from).collect();
        let inner = |d: i32| (2..10).map(move |k| f64::from(d) + f64::from(k).log10());
        let minor = if every > 1.0 {
            Vec::new()
        } else {
            (first - 1..=last).flat_map(inner).filter(|&v| v > lo && v < hi).collect()
        };
        Axis { label: label.into(), lo, hi, ticks, minor, log: true, times: false, factor: 1.0, decimals: 0 }
    }

    /// A logarithmic axis over times above zero, in seconds. If it has few decades, 2 and 5 times each have ticks, too.
    pub fn logarithmic_times(label: &str, range: (f64, f64)) -> Axis {
        let mut axis = Axis { times: true, ..Axis::logarithmic(&format!("{label}, logarithmic"), range, false) };
        if axis.ticks.len() < 3 {
            let decades = axis.lo.floor() as i32..=axis.hi.floor() as i32;
            let places = decades.flat_map(|d| [1.0_f64, 2.0, 5.0].map(|k| f64::from(d) + k.log10()));
            axis.ticks = places.filter(|&v| v >= axis.lo - 1e-9 && v <= axis.hi + 1e-9).collect();
        }
        axis
    }

    /// A seconds axis from zero (or below) in the unit that suits its end.
    pub fn seconds(label: &str, range: (f64, f64), count: usize) -> Axis {
        let (factor, unit) = time_unit(range.1.abs().max(range.0.abs()));
        Axis::linear(&format!("{label} ({unit})"), range, factor, count, false)
    }

    /// Shown units per unit of the values.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// Where the value `v` stands on the axis.
    pub fn at(&self, v: f64) -> f64 {
        if self.log { v.log10() } else { v * self.factor }
    }

    /// With every k-th tick only, k the least of 1, 2, 5, 10 that leaves room for the labels on `length` units.
    pub fn thinned(mut self, length: i32) -> Axis {
        let slot = |ticks: usize| length / ticks.max(1) as i32 - TICK_SIZE;
        let fits = |&k: &usize| self.label_width() <= slot(self.ticks.len().div_ceil(k));
        let k = [1, 2, 5, 10, 20, 50].into_iter().find(fits).unwrap_or(100);
        self.ticks = self.ticks.iter().copied().step_by(k).collect();
        let whole = |decimals: usize| {
            let units = 10f64.powi(decimals as i32);
            self.ticks.iter().all(|tick| (tick * units - (tick * units).round()).abs() < 1e-6)
        };
        self.decimals = (0..self.decimals).find(|&decimals| whole(decimals)).unwrap_or(self.decimals);
        self
    }

    /// The label of the tick at position `p`.
    pub fn tick_label(&self, p: f64) -> String {
        if self.times {
            return time(p);
        }
        if self.log {
            // Digits at all ticks or at none.
            let few_digits = self.ticks.iter().all(|tick| (-3..=4).contains(&(tick.round() as i32)));
            return if few_digits { decade(p) } else { power(p) };
        }
        let widest = self.lo.abs().max(self.hi.abs());
        if widest >= 1e6 || self.decimals > 6 {
            return if p == 0.0 { "0".into() } else { trim_exponent(&format!("{p:.2e}")) };
        }
        format!("{p:.*}", self.decimals)
    }

    /// The width of the widest tick label in drawing units.
    pub fn label_width(&self) -> i32 {
        self.ticks.iter().map(|&p| text_width(&self.tick_label(p), TICK_SIZE)).max().unwrap_or(0)
    }
}

/// The unit in which to show times up to `longest` seconds: units per second and the unit's sign.
pub(super) fn time_unit(longest: f64) -> (f64, &'static str) {
    match longest {
        t if t >= 1.0 || t <= 0.0 => (1.0, "s"),
        t if t >= 1e-3 => (1e3, "ms"),
        t if t >= 1e-6 => (1e6, "µs"),
        _ => (1e9, "ns"),
    }
}

/// A range with some extent, around the same middle if it had none.
fn widened(lo: f64, hi: f64) -> (f64, f64) {
    let (lo, hi) = if lo <= hi { (lo, hi) } else { (hi, lo) };
    let magnitude = lo.abs().max(hi.abs());
    if magnitude < 1e-100 {
        (0.0, 1.0)
    } else if hi - lo < magnitude * 1e-9 {
        (lo - magnitude * 0.1, hi + magnitude * 0.1)
    } else {
        (lo, hi)
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `rough`.
fn nice_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let multiple = rough / power;
    let nice = [1.0, 2.0, 5.0].into_iter().find(|&m| multiple <= m * (1.0 + 1e-9)).unwrap_or(10.0);
    nice * power
}

fn decade(p: f64) -> String {
    let exponent = p.round() as i32;
    format!("{:.*}", exponent.min(0).unsigned_abs() as usize, 10f64.powi(exponent))
}

/// A time of one digit, in the unit that suits it.
fn time(p: f64) -> String {
    let seconds = 10f64.powf(p);
    let (factor, unit) = time_unit(seconds * (1.0 + 1e-9));
    format!("{:.0} {unit}", seconds * factor)
}

fn power(p: f64) -> String {
    let digits = (p.round() as i32).to_string();
    let raised = digits.chars().map(|c| c.to_digit(10).map_or('⁻', |d| SUPERSCRIPT[d as usize]));
    std::iter::once("10".to_string()).chain(raised.map(String::from)).collect()
}

const SUPERSCRIPT: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

/// `2.00e7` as `2e7`, `2.50e7` as `2.5e7`.
fn trim_exponent(s: &str) -> String {
    match s.split_once('e') {
        Some((mantissa, exponent)) if mantissa.contains('.') => {
            format!("{}e{exponent}", mantissa.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => s.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_have_no_more_decimals_than_they_need() {
        let labels = |axis: Axis| axis.ticks.iter().map(|&p| axis.tick_label(p)).collect::<Vec<_>>();
        assert_eq!(labels(Axis::linear("", (0.0, 3.0), 1.0, 6, false).thinned(280)), ["0", "1", "2", "3"]);
        assert_eq!(labels(Axis::linear("", (0.0, 1.0), 1.0, 2, false).thinned(1600)), ["0.0", "0.5", "1.0"]);
    }

    #[test]
    fn a_logarithmic_axis_has_digits_at_all_ticks_or_at_none() {
        let labels = |range| {
            let axis = Axis::logarithmic("", range, true);
            axis.ticks.iter().map(|&p| axis.tick_label(p)).collect::<Vec<_>>()
        };
        assert_eq!(labels((0.1, 10_000.0)), ["0.1", "1", "10", "100", "1000", "10000"]);
        assert_eq!(labels((10.0, 100_000.0)), ["10¹", "10²", "10³", "10⁴", "10⁵"]);
    }

    #[test]
    fn times_have_the_unit_that_suits_each() {
        let labels = |range| {
            let axis = Axis::logarithmic_times("", range);
            axis.ticks.iter().map(|&p| axis.tick_label(p)).collect::<Vec<_>>()
        };
        assert_eq!(labels((2e-6, 20.0)), ["10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s"]);
        assert_eq!(
            labels((1.5e-4, 0.025)),
            ["200 µs", "500 µs", "1 ms", "2 ms", "5 ms", "10 ms", "20 ms"],
            "two decades"
        );
    }

    #[test]
    fn a_range_grows_to_the_next_tick_only_beyond_what_can_be_seen() {
        let top = |hi: f64| Axis::linear("", (0.0, hi), 100.0, 6, true).hi;
        assert_eq!(top(0.93), 100.0);
        // A link is used to 100 %, and its confidence interval reaches a little further.
        assert_eq!(top(1.001), 100.0);
        assert_eq!(top(1.01), 120.0);
    }
}
