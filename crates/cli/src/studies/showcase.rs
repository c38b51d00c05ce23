//! The page of `dovetail reproduce --page`: every table and figure, the paper's numbers beside ours.

use dovetail_experiment::claim::{Check, Criterion, Kind, Verdict};
use dovetail_experiment::results::Made;
use dovetail_figure::DARK;
use dovetail_page::{Cell, Chapter, Page, Picture, Section, Table};
use dovetail_papers::{Item, PAPERS, Reproduction, Status};

use super::page::{arguments, made};
use super::reproduce::{counted, values};
use crate::checks::verdicts;
use crate::failure::Failure;

/// What the columns of numbers mean.
const WORDS: [(&str, &str); 4] = [
    (
        "reproduced",
        "ours is within the tolerance, which was set before it was computed, or on the right side of the limit",
    ),
    ("differs", "it is not; why is said below the numbers"),
    ("not-comparable", "there is nothing of ours to compare"),
    ("allowed", "how far ours may be from the paper's value, or the limit that it must keep"),
];

/// The page of these items.
pub fn html(result: &Reproduction, items: &[&Item]) -> Result<String, Failure> {
    let chapters = PAPERS.iter().map(|(paper, citation)| {
        let of_paper = items.iter().filter(|item| item.paper == *paper && item.status == Status::Done);
        let sections = of_paper.map(|item| section(item, result)).collect::<Result<Vec<_>, Failure>>()?;
        Ok(Chapter { heading: citation.to_string(), sections })
    });
    let mut chapters = chapters.collect::<Result<Vec<Chapter>, Failure>>()?;
    chapters.retain(|chapter| !chapter.sections.is_empty());
    let made_by = Made::new(arguments(), "");
    let [version, command, _] = made(&made_by);
    let page = Page {
        title: title(chapters.len()),
        sentences: vec![sentence(&result.checks)],
        notes: drawings(items).into_iter().collect(),
        words: WORDS.map(|(word, meaning)| (word.into(), meaning.into())).into(),
        chapters,
        dark_pictures: DARK,
        made: vec![version, command],
        version: made_by.version,
        ..Page::default()
    };
    page.html().map_err(Failure::run)
}

/// Of a page about so many papers.
fn title(papers: usize) -> String {
    let print = match papers {
        1 => "a paper prints".into(),
        all if all == PAPERS.len() => "six papers print".into(),
        some => format!("{some} papers print"),
    };
    format!("What {print}, and what Dovetail makes of it")
}

fn sentence(checks: &[Check]) -> String {
    let of = |kind, what: &str| {
        let [reproduced, differ, neither] = verdicts(checks, kind);
        let all = reproduced + differ + neither;
        (all > 0).then(|| {
            format!("Of {all} {what} {reproduced} are reproduced, {differ} differ, and {neither} cannot be compared.")
        })
    };
    let sentences = [of(Kind::Claim, "claims"), of(Kind::Derived, "values derived by hand, which are no claims,")];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What is not on the page.
fn drawings(items: &[&Item]) -> Option<String> {
    let left_out: Vec<&str> = items.iter().filter(|item| item.status == Status::DrawingOnly).map(|i| i.id).collect();
    (!left_out.is_empty()).then(|| format!("Drawings without results are left out: {}.", left_out.join(", ")))
}

fn section(item: &Item, result: &Reproduction) -> Result<Section, Failure> {
    let checks: Vec<Check> = result.checks.iter().filter(|check| check.id == item.id).cloned().collect();
    let names = dovetail_papers::pictures(&[item.id.to_string()]).map_err(Failure::run)?;
    let pictures = result.pictures.iter().filter(|(name, _)| names.contains(name));
    let picture = |(name, svg): &(String, String)| Picture {
        heading: format!("{}: {}", item.figure, item.shows),
        explanation: String::new(),
        name: name.clone(),
        svg: svg.clone(),
    };
    let differs = |check: &&Check| check.verdict == Some(Verdict::Differs);
    Ok(Section {
        id: item.id.into(),
        name: item.figure.into(),
        heading: format!("{}: {}", item.figure, item.shows),
        sentence: format!("{}.", counted(&checks)),
        table: table(item, &checks),
        notes: checks.iter().filter(differs).map(reason).collect(),
        pictures: pictures.map(picture).collect(),
    })
}

fn reason(check: &Check) -> String {
    format!("Why {} differs ({}): {}", check.quantity, values(check), check.why)
}

/// A row per claim, or per value that was derived by hand.
fn table(item: &Item, checks: &[Check]) -> Table {
    let number = |value: Option<f64>, check: &Check| Cell {
        text: value.map_or("-".into(), |value| match check.unit.as_str() {
            "" => shortest(value),
            unit => format!("{} {unit}", shortest(value)),
        }),
        exact: value,
    };
    let text = |text: &str| Cell { text: text.into(), exact: None };
    let row = |check: &Check| {
        vec![
            text(&check.quantity),
            text(check.verdict.map_or("", Verdict::name)),
            number(check.paper, check),
            number(check.ours, check),
            text(&check.criterion.map_or_else(|| "-".into(), allowed)),
        ]
    };
    let derived = checks.iter().any(|check| check.kind == Kind::Derived);
    let [one, theirs] = if derived { ["value", "by hand"] } else { ["claim", "paper"] };
    Table {
        caption: format!("{}, {one} by {one}", item.figure),
        header: [one, "verdict", theirs, "here", "allowed"].map(String::from).into(),
        texts: 2,
        kinds: Vec::new(),
        marked: None,
        rows: checks.iter().filter(|check| check.kind.judged()).map(row).collect(),
    }
}

/// A criterion as a page shows it.
fn allowed(criterion: Criterion) -> String {
    criterion.to_string().replace("+-", "±").replace("<=", "at most").replace(">=", "at least")
}

/// Up to four decimals.
fn shortest(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_experiment::claim::Claim;

    #[test]
    fn the_title_counts_the_papers() {
        let counted = [(1, "What a paper prints, "), (2, "What 2 papers print, "), (6, "What six papers print, ")];
        for (papers, words) in counted {
            assert!(title(papers).starts_with(words), "{}", title(papers));
        }
    }

    #[test]
    fn what_was_derived_by_hand_is_no_claim() {
        let item = dovetail_papers::item("drfq-fig5").unwrap();
        let header = |kind| {
            let (id, figure, quantity) = (item.id.into(), item.figure.into(), "makespan".into());
            let (unit, paper, criterion, why) = (String::new(), Some(1.0), Some(Criterion::Within(0.0)), String::new());
            let claim = Claim { id, figure, quantity, unit, paper, criterion, kind, why };
            table(item, &[claim.against(Ok((1.0, "")))]).header
        };
        assert_eq!(header(Kind::Claim)[..3], ["claim", "verdict", "paper"]);
        assert_eq!(header(Kind::Derived)[..3], ["value", "verdict", "by hand"]);
    }
}
