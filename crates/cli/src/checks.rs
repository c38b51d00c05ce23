//! Comparisons and their verdicts, as tables.

use dovetail_experiment::claim::{Check, Kind, Verdict};
use dovetail_experiment::table::{fitted, table};

use crate::terminal;

/// What stands in a table of checks beside quantity, verdict, tolerance and unit.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// Whether checks have ids that tell them apart.
    pub id: bool,
    /// Heading of the values that something is held against.
    pub claim: &'static str,
    /// Heading of what was found.
    pub found: &'static str,
}

/// A line per check.
pub fn lines(checks: &[Check], columns: Columns) -> String {
    let value = |number: Option<f64>| number.map_or("-".into(), |n| format!("{n:.4}"));
    let mut header = vec!["quantity", "verdict", columns.claim, columns.found, "tolerance", "unit"];
    if columns.id {
        header.insert(0, "id");
    }
    let row = |c: &Check| {
        let mut row = vec![
            c.quantity.clone(),
            c.verdict.map_or_else(|| c.kind.name(), Verdict::name).to_string(),
            c.criterion.filter(|_| c.paper.is_none()).map_or_else(|| value(c.paper), |limit| limit.to_string()),
            value(c.ours),
            value(c.tolerance),
            c.unit.clone(),
        ];
        if columns.id {
            row.insert(0, c.id.clone());
        }
        row
    };
    let rows: Vec<_> = checks.iter().map(row).collect();
    if columns.id {
        return table(&header, 3, rows, terminal::width()).to_string();
    }
    fitted(&header, 2, &rows, terminal::width(), &["tolerance", "unit"])
}

/// How many claims have which verdict, and apart from them how many derived values.
pub fn count(checks: &[Check]) -> String {
    let of = |kind| {
        let [reproduced, differ, neither] = verdicts(checks, kind);
        format!("{reproduced} reproduced, {differ} differ, {neither} not comparable")
    };
    let derived = verdicts(checks, Kind::Derived).iter().sum::<usize>();
    match (derived, checks.iter().any(|check| check.kind == Kind::Claim)) {
        (0, _) => format!("{}; --json has the reasons", of(Kind::Claim)),
        (_, false) => format!("derived by hand, no claims: {}; --json has the reasons", of(Kind::Derived)),
        _ => format!("{}; --json has the reasons\nderived by hand, no claims: {}", of(Kind::Claim), of(Kind::Derived)),
    }
}

/// How many of this kind are reproduced, differ, and are not comparable.
pub fn verdicts(checks: &[Check], kind: Kind) -> [usize; 3] {
    [Verdict::Reproduced, Verdict::Differs, Verdict::NotComparable]
        .map(|verdict| checks.iter().filter(|c| c.kind == kind && c.verdict == Some(verdict)).count())
}
