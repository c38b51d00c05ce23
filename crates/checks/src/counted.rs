//! What the lines of test programs say.

use std::collections::BTreeMap;
use std::fmt;

/// Tests that ran, and those that did not.
#[derive(Debug, Default)]
pub struct Counted {
    ran: u64,
    /// Of these.
    failed: u64,
    /// Names by reason. A name may stand for tests of several programs.
    left_out: BTreeMap<String, Vec<String>>,
}

impl Counted {
    /// A line of a test program, or of Python's `unittest`.
    pub fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("test ")
            && let Some((name, outcome)) = rest.split_once(" ... ")
        {
            let name = name.trim_end_matches(" - should panic").trim_end_matches(" - compile fail");
            match outcome.split_once(", ").map_or((outcome, ""), |(word, reason)| (word, reason)) {
                ("ok", _) => self.ran(name, true),
                ("FAILED", _) => self.ran(name, false),
                ("ignored", "") => self.leave_out("without a reason", name),
                ("ignored", reason) => self.leave_out(reason, name),
                _ => {}
            }
        } else if let Some((name, reason)) = line.split_once(" ... skipped ") {
            let name = name.split(' ').next().unwrap_or(name);
            self.leave_out(reason.trim_matches(['\'', '"']), name);
        }
    }

    /// If it was left out before, it is so no longer.
    fn ran(&mut self, name: &str, well: bool) {
        self.ran += 1;
        self.failed += u64::from(!well);
        let found = self.left_out.values_mut().find_map(|names| Some((names.iter().position(|n| n == name)?, names)));
        if let Some((place, names)) = found {
            names.remove(place);
        }
        self.left_out.retain(|_, names| !names.is_empty());
    }

    fn leave_out(&mut self, reason: &str, name: &str) {
        self.left_out.entry(reason.to_string()).or_default().push(name.to_string());
    }

    /// Names of the tests that were left out for one of these reasons.
    pub fn left_out_for(&self, reasons: &[&str]) -> Vec<String> {
        let all = self.left_out.iter().filter(|(reason, _)| reasons.contains(&reason.as_str()));
        all.flat_map(|(_, names)| names).cloned().collect()
    }
}

impl fmt::Display for Counted {
    /// `tests: 3 ran, 1 failed, 3 left out: 1 a long search, 2 needs root`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tests: {} ran", self.ran)?;
        if self.failed > 0 {
            write!(f, ", {} failed", self.failed)?;
        }
        write!(f, ", {} left out", self.left_out.values().map(Vec::len).sum::<usize>())?;
        for (k, (reason, names)) in self.left_out.iter().enumerate() {
            write!(f, "{} {} {reason}", if k == 0 { ":" } else { "," }, names.len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_later_is_not_left_out() {
        let mut counted = Counted::default();
        let first = [
            "running 6 tests",
            "test a::works ... ok",
            "test b::long ... ignored, a long search",
            "test c::root ... ignored, needs root",
            "test d::root ... ignored, needs root",
            "test e::panics - should panic ... ok",
            "test src/lib.rs - f (line 3) ... ok",
            "test g ... ignored",
            "test_tables.T.test_polars (test_tables.T) ... skipped 'polars is not installed'",
            "test result: ok. 3 passed; 0 failed; 4 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        ];
        first.iter().for_each(|line| counted.line(line));
        assert_eq!(counted.left_out_for(&["needs root", "needs tshark"]), ["c::root", "d::root"]);
        counted.line("test d::root ... ok");
        counted.line("test c::root ... FAILED");
        let last = "tests: 5 ran, 1 failed, 3 left out: 1 a long search, 1 polars is not installed, 1 without a reason";
        assert_eq!(counted.to_string(), last);
    }
}
