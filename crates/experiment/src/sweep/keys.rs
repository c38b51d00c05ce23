//! The keys of a plan, and their values: as they are set, and as numbers in a column.

use std::ops::Range;
use std::str::FromStr;

use dovetail_sim::stream;
use dovetail_units::{BitRate, Bytes, CycleRate, Duration, PacketRate};
use rand::RngExt;
use toml::Value;

use super::rows::Cell;
use crate::columns::{Column, Kind};

/// What a value is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The scheduler.
    Scheduler,
    /// A parameter of those schedulers that have it.
    Parameter,
    /// A key of the scenario.
    Scenario,
}

/// A value, and where it stands in the plan.
#[derive(Clone, Debug)]
pub struct Choice {
    /// It.
    pub value: Value,
    /// Where.
    pub span: Range<usize>,
}

/// One key with its values.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its dotted path.
    pub name: String,
    /// Where it stands in the plan.
    pub span: Range<usize>,
    /// What it is.
    pub place: Place,
    /// Whether each sample has a value of its own.
    pub random: bool,
    /// The values.
    pub choices: Vec<Choice>,
    /// The column of its values.
    pub column: Column,
    /// Its values in that column.
    pub cells: Vec<Cell>,
}

impl Key {
    /// Whether it may change how fast a capture is replayed. Costs and rates do if a load is given.
    pub fn sets_speed(&self) -> bool {
        let section = self.name.split('.').next();
        section.is_some_and(|section| ["trace", "class", "resource"].contains(&section))
    }

    /// With the column in which all of its values are numbers of one unit, or texts.
    pub fn new(name: String, span: Range<usize>, place: Place, random: bool, choices: Vec<Choice>) -> Self {
        let values: Vec<&Value> = choices.iter().map(|choice| &choice.value).collect();
        let (unit, kind, cells) = measured(&values);
        let full = format!("{name}{unit}");
        let column = match place {
            Place::Parameter => Column::optional(&full, kind),
            Place::Scheduler | Place::Scenario => Column::new(&full, kind),
        };
        Self { name, span, place, random, choices, column, cells }
    }

    /// The value as `--set` takes it.
    pub fn set(&self, index: usize) -> String {
        format!("{}={}", self.name, self.choices[index].value)
    }

    /// The value as a parameter of a scheduler.
    pub fn text(&self, index: usize) -> String {
        plain(&self.choices[index].value)
    }
}

/// Without the quotes of a text.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// How a quantity's column is called, and its number.
type Quantity = (&'static str, fn(&str) -> Option<Cell>);

fn number<T: FromStr>(text: &str, of: fn(T) -> Cell) -> Option<Cell> {
    text.parse().ok().map(of)
}

/// The number, where -0 is 0.
fn cell(number: f64) -> Cell {
    Cell::F64(number + 0.0)
}

/// What texts may be.
const QUANTITIES: [Quantity; 8] = [
    ("_s", |text| number(text, |time: Duration| Cell::F64(time.as_secs_f64()))),
    ("_bps", |text| number(text, |rate: BitRate| Cell::F64(rate.as_bps() as f64))),
    ("_pps", |text| number(text, |rate: PacketRate| Cell::F64(rate.as_pps()))),
    ("_bytes", |text| number(text, |bytes: Bytes| Cell::U64(bytes.0))),
    ("_packets", |text| number(text.strip_suffix("packets")?.trim_end(), Cell::U64)),
    ("_hz", |text| number(text, |rate: CycleRate| Cell::F64(rate.as_cycles_per_second() as f64))),
    ("", |text| number(text.strip_suffix('%')?.trim_end(), |part: f64| cell(part / 100.0))),
    ("", |text| number(text, cell)),
];

/// The unit as the ending of a name, what the column holds, and the values in it.
fn measured(values: &[&Value]) -> (&'static str, Kind, Vec<Cell>) {
    let all =
        |read: &dyn Fn(&Value) -> Option<Cell>| values.iter().map(|value| read(value)).collect::<Option<Vec<_>>>();
    if let Some(cells) = all(&|value| Some(Cell::U64(u64::try_from(value.as_integer()?).ok()?))) {
        return ("", Kind::U64, cells);
    }
    if let Some(cells) = all(&|value| Some(cell(real(value)?))) {
        return ("", Kind::F64, cells);
    }
    for (unit, read) in QUANTITIES {
        if let Some(cells) = all(&|value| read(value.as_str()?)) {
            let kind = if cells.iter().all(|cell| matches!(cell, Cell::U64(_))) { Kind::U64 } else { Kind::F64 };
            return (unit, kind, cells);
        }
    }
    ("", Kind::Text, values.iter().map(|value| Cell::Text(plain(value))).collect())
}

/// A number of TOML.
pub fn real(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

/// From one value to another: numbers, or quantities of one unit.
#[derive(Clone, PartialEq, Debug)]
pub struct Bounds {
    least: f64,
    most: f64,
    /// Both are whole numbers without a unit.
    whole: bool,
    unit: String,
}

impl FromStr for Bounds {
    type Err = String;

    /// `"0.5 to 1.0"`, `"1 to 20"`, `"10 us to 80 us"`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?}: expected two values with \"to\" between them, such as \"0.5 to 1.0\" or \"10 us to 80 us\""
            )
        };
        let (from, to) = text.split_once(" to ").ok_or_else(wrong)?;
        let (least, from) = split(from).ok_or_else(wrong)?;
        let (most, to) = split(to).ok_or_else(wrong)?;
        if from.1 != to.1 && !from.1.is_empty() {
            return Err(format!("{text:?}: expected the same unit twice, but these are {} and {}", from.1, to.1));
        }
        if least > most {
            return Err(format!("{text:?}: the first value is above the second"));
        }
        let whole = to.1.is_empty() && [from.0, to.0].iter().all(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        Ok(Self { least, most, whole, unit: to.1.to_string() })
    }
}

/// The number, its digits and the unit behind it.
fn split(text: &str) -> Option<(f64, (&str, &str))> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let number: f64 = digits.parse().ok()?;
    Some((number, (digits, unit.trim())))
}

impl Bounds {
    /// All whole numbers of the range, at most `most` of them.
    pub fn each(&self, most: usize) -> Option<Vec<Value>> {
        let count = self.most - self.least + 1.0;
        let fits = self.whole && count <= most as f64 && self.most < 9e15;
        fits.then(|| (self.least as i64..=self.most as i64).map(Value::Integer).collect())
    }

    /// So many values, each equally likely; the same for the same seed and key, whatever else is drawn. The first ones
    /// stay when there are more.
    pub fn draw(&self, seed: u64, key: &str, count: usize) -> Vec<Value> {
        let mut draws = stream(seed, &format!("sweep {key}"));
        let one = |_| {
            let part: f64 = draws.random();
            match (self.whole, self.unit.is_empty()) {
                (true, _) => {
                    let steps = self.most - self.least + 1.0;
                    Value::Integer((self.least + (part * steps).floor()) as i64)
                }
                (false, true) => Value::Float(rounded(self.least + part * (self.most - self.least))),
                (false, false) => {
                    let number = rounded(self.least + part * (self.most - self.least));
                    Value::String(format!("{number} {}", self.unit))
                }
            }
        };
        (0..count).map(one).collect()
    }
}

/// To six digits, which can be read and copied.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return value;
    }
    let digits = (5.0 - value.abs().log10().floor()).clamp(0.0, 9.0);
    format!("{value:.*}", digits as usize).parse().unwrap_or(value)
}
