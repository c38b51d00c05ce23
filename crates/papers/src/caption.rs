//! What stands below the picture of a paper's figure: the paper, and its values beside those here.

use super::catalogue::{Item, PAPERS};
use dovetail_experiment::claim::{Check, Kind};
use dovetail_figure::captioned;

/// Most values below a picture; the checks hold all.
const MOST_VALUES: usize = 6;

/// The picture with the paper's name and the values that the paper prints.
pub(super) fn signed(svg: &str, item: &Item, checks: &[Check]) -> String {
    let paper = PAPERS.iter().find(|(name, _)| *name == item.paper).map_or("", |(_, citation)| citation);
    let mut paragraphs = vec![format!("{} of {paper}.", item.figure)];
    let claims = checks.iter().filter(|c| c.kind.judged());
    let values: Vec<String> = claims.filter_map(beside).collect();
    if !values.is_empty() {
        let derived = checks.iter().any(|c| c.kind == Kind::Derived);
        let whose = if derived { "Derived by hand" } else { "The paper's values" };
        let mut text = format!("{whose} (ours in brackets): {}", values[..values.len().min(MOST_VALUES)].join("; "));
        if values.len() > MOST_VALUES {
            text.push_str(&format!("; and {} more in checks.json", values.len() - MOST_VALUES));
        }
        paragraphs.push(format!("{text}."));
    }
    captioned(svg, &paragraphs)
}

/// The quantity with both values.
fn beside(check: &Check) -> Option<String> {
    let unit = if check.unit.is_empty() { String::new() } else { format!(" {}", check.unit) };
    let (paper, ours) = (check.paper?, check.ours?);
    Some(format!("{}: {}{unit} ({})", check.quantity, brief(paper), brief(ours)))
}

/// Four digits, without zeros at the end.
fn brief(value: f64) -> String {
    let decimals = (3 - value.abs().max(1e-3).log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item;
    use dovetail_experiment::claim::{Criterion, Verdict};
    use dovetail_figure::{LineChart, lines};

    #[test]
    fn a_picture_names_its_paper_and_the_values_of_both() {
        let check = |quantity: &str, kind| Check {
            id: "atfq-fig9".into(),
            figure: "Fig. 9".into(),
            quantity: quantity.into(),
            paper: Some(86.42),
            ours: Some(86.0),
            unit: "%".into(),
            tolerance: Some(1.0),
            kind,
            verdict: Some(Verdict::Reproduced),
            blind: None,
            why: String::new(),
            criterion: Some(Criterion::Within(1.0)),
        };
        let plain = lines(&LineChart::default()).unwrap();
        let item = item("atfq-fig9").unwrap();
        let svg = signed(&plain, item, &[check("CPU <strict>", Kind::Claim), check("beside", Kind::Explanation)]);
        for words in ["Fig. 9 of Zhang", "CPU &lt;strict&gt;: 86.42 % (86)."] {
            assert!(svg.contains(words), "{words}: {svg}");
        }
        assert!(!svg.contains("beside"));
        let height = |svg: &str| -> i32 {
            svg.split_once("viewBox=\"0 0 1800 ").unwrap().1.split_once('"').unwrap().0.parse().unwrap()
        };
        assert!(height(&svg) > height(&plain));
    }

    #[test]
    fn values_have_four_digits() {
        assert_eq!(
            [0.0666666, 0.6, 55.68, 9900.0, 4042.4, 1.0].map(brief),
            ["0.06667", "0.6", "55.68", "9900", "4042", "1"]
        );
    }
}
