//! One comparison with a paper, and its verdict.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a comparison is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A number or a sentence of the paper as it is printed, by the paper's own algorithm.
    #[default]
    Claim,
    /// What follows by hand from an example of which no printed number is at hand. It has a verdict too, and is counted
    /// by itself.
    Derived,
    /// What we measured beside it, to see why.
    Explanation,
    /// The same quantity by another reading, or under another variant of the algorithm.
    Sensitivity,
}

impl Kind {
    /// Whether there is a verdict on it.
    pub fn judged(self) -> bool {
        matches!(self, Self::Claim | Self::Derived)
    }

    /// As in the JSON document.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Derived => "derived",
            Self::Explanation => "explanation",
            Self::Sensitivity => "sensitivity",
        }
    }
}

/// Outcome of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Ours meets the criterion.
    Reproduced,
    /// It does not.
    Differs,
    /// There is no value of ours; `why` says for what reason.
    NotComparable,
}

impl Verdict {
    /// As in the JSON document.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Differs => "differs",
            Self::NotComparable => "not-comparable",
        }
    }
}

/// What a value must meet to count as reproduced. All limits are included.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// Within this many per cent of the paper's value.
    WithinPercent(f64),
    /// Within this much of the paper's value, in the unit of the quantity.
    Within(f64),
    /// Not above this, in the unit of the quantity.
    AtMost(f64),
    /// Not below this, in the unit of the quantity.
    AtLeast(f64),
    /// From the one to the other, in the unit of the quantity.
    Between(f64, f64),
}

impl Criterion {
    /// How far ours may be from the paper's value, in the unit of the quantity; `None` for a limit.
    pub fn tolerance(self, paper: Option<f64>) -> Option<f64> {
        match self {
            Self::WithinPercent(percent) => paper.map(|p| p.abs() * percent / 100.0),
            Self::Within(tolerance) => Some(tolerance),
            Self::AtMost(_) | Self::AtLeast(_) | Self::Between(..) => None,
        }
    }

    /// How far from meeting it a value is, in the unit of the quantity; the more the worse.
    pub fn distance(self, paper: Option<f64>, ours: f64) -> f64 {
        match self {
            Self::AtMost(limit) => ours - limit,
            Self::AtLeast(limit) => limit - ours,
            Self::Between(least, most) => f64::max(least - ours, ours - most),
            Self::WithinPercent(_) | Self::Within(_) => paper.map_or(f64::INFINITY, |paper| (ours - paper).abs()),
        }
    }

    /// What follows for `ours`. A value that is not a number does not meet anything, and neither does one that has
    /// nothing to be near to.
    pub fn verdict(self, paper: Option<f64>, ours: Option<f64>) -> Verdict {
        let Some(ours) = ours else { return Verdict::NotComparable };
        let met = match self {
            Self::AtMost(limit) => ours <= limit,
            Self::AtLeast(limit) => ours >= limit,
            Self::Between(least, most) => (least..=most).contains(&ours),
            Self::WithinPercent(_) | Self::Within(_) => {
                paper.zip(self.tolerance(paper)).is_some_and(|(p, tolerance)| (ours - p).abs() <= tolerance)
            }
        };
        if met { Verdict::Reproduced } else { Verdict::Differs }
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WithinPercent(percent) => write!(f, "+- {percent} %"),
            Self::Within(tolerance) => write!(f, "+- {tolerance}"),
            Self::AtMost(limit) => write!(f, "<= {limit}"),
            Self::AtLeast(limit) => write!(f, ">= {limit}"),
            Self::Between(least, most) => write!(f, "{least} to {most}"),
        }
    }
}

/// What is claimed of a quantity, by a paper or by theory.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// The table or figure: an id of `dovetail reproduce --list`; of a lab, its scenario.
    pub id: String,
    /// As the paper calls it; of a lab, the step.
    pub figure: String,
    /// What is compared.
    pub quantity: String,
    /// Unit of all values; empty for a bare number.
    pub unit: String,
    /// The value, if the claim has one.
    pub paper: Option<f64>,
    /// When it counts as reproduced; `None` of what has no verdict.
    pub criterion: Option<Criterion>,
    /// What it is.
    pub kind: Kind,
    /// Why this tolerance; the sentence where there is no value.
    pub why: String,
}

impl Claim {
    /// Hold it against what was found: a value and what is to be said about it, or why there is none.
    pub fn against(self, found: Result<(f64, &str), &str>) -> Check {
        let mut why = match self.criterion {
            Some(Criterion::AtMost(limit)) => format!("at most {limit}: "),
            Some(Criterion::AtLeast(limit)) => format!("at least {limit}: "),
            Some(Criterion::Between(least, most)) => format!("from {least} to {most}: "),
            Some(Criterion::Within(_) | Criterion::WithinPercent(_)) | None => String::new(),
        };
        why.push_str(&self.why);
        let (ours, remark) = match found {
            Ok((value, note)) if value.is_finite() => (Some(value), note),
            Ok(_) => (None, "no finite value"),
            Err(reason) => (None, reason),
        };
        if !remark.is_empty() {
            why.push_str(". Here: ");
            why.push_str(remark);
        }
        Check {
            id: self.id,
            figure: self.figure,
            quantity: self.quantity,
            paper: self.paper,
            ours,
            unit: self.unit,
            tolerance: self.criterion.and_then(|criterion| criterion.tolerance(self.paper)),
            kind: self.kind,
            verdict: self.criterion.map(|criterion| criterion.verdict(self.paper, ours)),
            blind: None,
            why,
            criterion: self.criterion,
        }
    }
}

/// One comparison.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Check {
    /// The table or figure: an id of `dovetail reproduce --list`; of a lab, its scenario.
    pub id: String,
    /// As the paper calls it; of a lab, the step.
    pub figure: String,
    /// What is compared.
    pub quantity: String,
    /// The value of the paper, or of the theory that a lab is held against; `None` where it is only drawn, or stated
    /// in words.
    pub paper: Option<f64>,
    /// Ours; `None` where there is none.
    pub ours: Option<f64>,
    /// Unit of `paper`, `ours` and `tolerance`; empty for a bare number.
    pub unit: String,
    /// How far ours may be from that value; `None` if the criterion is a limit, which `why` then states, and of what
    /// is no claim.
    pub tolerance: Option<f64>,
    /// What it is.
    pub kind: Kind,
    /// Computed from the numbers by [`Criterion::verdict`]; `None` unless its kind is judged.
    pub verdict: Option<Verdict>,
    /// Of a claim that also holds where every discipline is exchanged for a wrong one: why.
    pub blind: Option<String>,
    /// The reason of the tolerance; the paper's sentence where there is no value; what was found on the way.
    pub why: String,
    /// The criterion, for tables.
    #[serde(skip)]
    pub criterion: Option<Criterion>,
}

#[cfg(test)]
mod tests {
    use super::Criterion::{AtLeast, AtMost, Between, Within, WithinPercent};
    use super::Verdict::{Differs, NotComparable, Reproduced};

    /// Numbers that binary fractions hold exactly, so that the boundary is the boundary.
    #[test]
    fn the_boundary_itself_is_reproduced() {
        let cases = [
            (Within(0.5), Some(2.0), 2.5, Reproduced),
            (Within(0.5), Some(2.0), 1.5, Reproduced),
            (Within(0.5), Some(2.0), 2.5f64.next_up(), Differs),
            (Within(0.5), Some(2.0), 1.5f64.next_down(), Differs),
            (WithinPercent(25.0), Some(-4.0), -5.0, Reproduced),
            (WithinPercent(25.0), Some(-4.0), (-5.0f64).next_down(), Differs),
            (AtMost(2.0), None, 2.0, Reproduced),
            (AtMost(2.0), None, 2.0f64.next_up(), Differs),
            (AtLeast(2.0), None, 2.0, Reproduced),
            (AtLeast(2.0), None, 2.0f64.next_down(), Differs),
            (Between(1.0, 2.0), None, 1.0, Reproduced),
            (Between(1.0, 2.0), None, 2.0f64.next_up(), Differs),
        ];
        for (criterion, paper, ours, expected) in cases {
            assert_eq!(criterion.verdict(paper, Some(ours)), expected, "{criterion:?} of {paper:?}: {ours}");
        }
    }

    #[test]
    fn what_is_no_number_is_not_reproduced() {
        for criterion in [Within(1.0), WithinPercent(1.0), AtMost(1.0), AtLeast(1.0)] {
            assert_eq!(criterion.verdict(Some(1.0), Some(f64::NAN)), Differs);
            assert_eq!(criterion.verdict(Some(1.0), None), NotComparable);
        }
        assert_eq!(Within(1.0).verdict(None, Some(0.0)), Differs);
    }

    #[test]
    fn the_further_of_two_values_is_the_worse() {
        for (criterion, paper, near, far) in [
            (Within(0.5), Some(2.0), 2.1, 1.8),
            (AtMost(2.0), None, 1.0, 1.5),
            (AtLeast(2.0), None, 3.0, 2.5),
            (Between(1.0, 2.0), None, 1.5, 1.1),
        ] {
            assert!(criterion.distance(paper, far) > criterion.distance(paper, near), "{criterion:?}");
        }
    }

    #[test]
    fn a_tolerance_has_the_unit_of_the_quantity() {
        assert_eq!(WithinPercent(0.5).tolerance(Some(56.0)), Some(0.28));
        assert_eq!(Within(0.3).tolerance(Some(56.0)), Some(0.3));
        assert_eq!(AtMost(3.0).tolerance(Some(56.0)), None);
    }
}
