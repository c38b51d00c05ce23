//! Dominant shares over time (the paper's Fig. 4).

use super::axis::{Axis, extent};
use super::part::{Kind, part};
use super::sheet::{Area, Drawn, Entry, MOST_PANELS, Mark, Sheet, chart, curve, left_out, no_data};
use super::style::{INK, Look, look};
use super::{FigureError, clean};
use plotters::prelude::*;
use std::collections::BTreeSet;

/// Most marks in one picture: about 100 bytes each.
const MOST_MARKS: usize = 6000;
/// Side of the square, in drawing units, within which marks of a group are drawn once.
const CELL: f64 = 8.0;
/// Groups stand side by side, so many drawing units apart, where their shares are equal.
const DOTS_APART: f64 = 6.0;
/// The picture is this much higher than its highest dot; lines above are cut off.
const HEADROOM: f64 = 1.2;
/// Down to these numbers, thinning takes away flows first and then intervals.
const ENOUGH_FLOWS_PER_GROUP: usize = 32;
const ENOUGH_INTERVALS: usize = 40;

/// The dominant share of one flow over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowShares {
    /// The flow's group: gives the colour.
    pub group: String,
    /// Time in seconds (of the middle or the start of each interval) and the share of its dominant resource (0..1).
    pub points: Vec<(f64, f64)>,
}

/// The dominant shares of all flows under one scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharePanel {
    /// The scheduler, as the heading shows it.
    pub scheduler: String,
    /// The flows.
    pub flows: Vec<FlowShares>,
    /// The fair share over time (it changes with the set of backlogged flows); empty for none.
    pub fair_share: Vec<(f64, f64)>,
    /// The guaranteed parts of the fair share, alpha times it: a line for each alpha below 1.
    pub guaranteed: Vec<Vec<(f64, f64)>>,
}

/// Dominant share of every flow in every interval: one panel per scheduler with the same axes, one dot per flow and
/// interval, coloured by group. Dots of a group that would cover each other are drawn once. If there are still too
/// many, every second, fourth, ... flow of each group or interval is shown, with the flow of the lowest share always
/// among them, and the caption says so.
pub fn dominant_shares(title: &str, panels: &[SharePanel]) -> Result<String, FigureError> {
    let mut sheet = Sheet::grid(title, panels.len().min(MOST_PANELS));
    sheet.notes.extend(left_out(panels.len()));
    let panels: Vec<Cleaned> = panels.iter().take(MOST_PANELS).map(Cleaned::new).collect();

    let mut groups: Vec<&str> = Vec::new();
    for (group, _) in panels.iter().flat_map(|p| &p.flows) {
        if !groups.contains(group) {
            groups.push(group);
        }
    }
    sheet.legend = legend(&groups, &panels);

    let all = || panels.iter().flat_map(Cleaned::points);
    // The fair share of a flow that is alone is 100 %: it must not press all dots to the ground.
    let dots = extent(panels.iter().flat_map(Cleaned::dots).map(|p| p.1));
    let heights = dots.map_or_else(|| extent(all().map(|p| p.1)), |(low, high)| Some((low, high * HEADROOM)));
    let (Some((first, last)), Some((_, highest))) = (extent(all().map(|p| p.0)), heights) else {
        return sheet.render(|areas| areas.iter().try_for_each(|area| no_data(area, "")));
    };
    let x = Axis::seconds("Time", (first.min(0.0), last), 8);
    // Nothing has more than all, unless weights make it so.
    let top = if highest <= 1.0 { (highest * 1.08).min(1.0) } else { highest * 1.08 };
    let y = Axis::linear("Dominant share by weight (%)", (0.0, top), 100.0, 6, false);
    let budget = MOST_MARKS / panels.len().max(1);
    let scale = Cells::new(&x, &y, panels.len());
    let marks: Vec<Marks> = panels.iter().map(|p| Marks::fitting(p, &groups, &scale, budget)).collect();
    sheet.notes.push("A dot: one flow in one interval in which it always had packets waiting or in the box.".into());
    sheet.notes.extend(notes(&panels, &marks));

    sheet.render(|areas| {
        for ((area, panel), marks) in areas.iter().zip(&panels).zip(&marks) {
            part(area, Kind::Scheduler, panel.name, || draw_panel(area, panel, marks, &groups, &x, &y))?;
        }
        Ok(())
    })
}

/// What the panels leave out: one sentence if it is the same for all, else one for each.
fn notes(panels: &[Cleaned], marks: &[Marks]) -> Vec<String> {
    let left_out: Vec<String> = marks.iter().map(Marks::left_out).collect();
    if left_out.len() > 1 && left_out.iter().all(|l| *l == left_out[0] && !l.is_empty()) {
        return vec![format!("In every panel, {}.", left_out[0])];
    }
    let named = panels.iter().zip(left_out).filter(|(_, left_out)| !left_out.is_empty());
    named.map(|(panel, left_out)| format!("{}: {left_out}.", panel.name)).collect()
}

fn draw_panel(area: &Area, panel: &Cleaned, marks: &Marks, groups: &[&str], x: &Axis, y: &Axis) -> Drawn {
    if panel.points().next().is_none() {
        return no_data(area, panel.name);
    }
    let mut chart = chart(area, panel.name, x, y)?;
    for (group, dots) in marks.shown.iter().enumerate() {
        let dot = |&place: &(f64, f64)| Circle::new(place, 5, look(group).color.filled());
        part(area, Kind::Group, groups[group], || chart.draw_series(dots.iter().map(dot)).map(drop))?;
    }
    let guaranteed = panel.guaranteed.iter().map(|line| (line, GUARANTEED));
    for (line, look) in [(&panel.fair, FAIR)].into_iter().chain(guaranteed) {
        for piece in pieces(line, y.hi / y.factor()) {
            curve(&mut chart, x, y, piece, look)?;
        }
    }
    Ok(())
}

/// The parts of a line that are below `top`, broken where intervals do not follow each other: nothing is fair or unfair
/// while nothing waits.
fn pieces(line: &[(f64, f64)], top: f64) -> impl Iterator<Item = &[(f64, f64)]> {
    let mut steps: Vec<f64> = line.windows(2).map(|w| w[1].0 - w[0].0).collect();
    steps.sort_by(f64::total_cmp);
    let usual = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
    let joined = move |a: &(f64, f64), b: &(f64, f64)| b.0 - a.0 <= 1.5 * usual && (a.1 <= top) == (b.1 <= top);
    line.chunk_by(joined).filter(move |piece| piece.iter().all(|p| p.1 <= top))
}

const FAIR: Look = Look { color: INK, width: 3, dash: Some((14, 10)) };
const GUARANTEED: Look = Look { color: INK, width: 3, dash: None };

fn legend(groups: &[&str], panels: &[Cleaned]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let line = |name: &str, look| Entry { name: name.into(), look, mark: Mark::Line };
    if panels.iter().any(|p| p.guaranteed.iter().any(|line| !line.is_empty())) {
        entries.push(line("guaranteed part of the fair share", GUARANTEED));
    }
    if panels.iter().any(|p| !p.fair.is_empty()) {
        entries.push(line("fair share", FAIR));
    }
    let group = |(k, name): (usize, &&str)| Entry { name: name.to_string(), look: look(k), mark: Mark::Dot };
    entries.extend(groups.iter().enumerate().map(group));
    entries
}

/// A panel with unusable points left out.
struct Cleaned<'a> {
    name: &'a str,
    flows: Vec<(&'a str, Vec<(f64, f64)>)>,
    fair: Vec<(f64, f64)>,
    guaranteed: Vec<Vec<(f64, f64)>>,
}

impl<'a> Cleaned<'a> {
    fn new(panel: &'a SharePanel) -> Cleaned<'a> {
        let positive = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            clean(points).into_iter().map(|(t, s)| (t, s.max(0.0))).collect()
        };
        Cleaned {
            name: &panel.scheduler,
            flows: panel.flows.iter().map(|f| (f.group.as_str(), positive(&f.points))).collect(),
            fair: positive(&panel.fair_share),
            guaranteed: panel.guaranteed.iter().map(|line| positive(line)).collect(),
        }
    }

    fn dots(&self) -> impl Iterator<Item = &(f64, f64)> {
        self.flows.iter().flat_map(|(_, points)| points)
    }

    fn points(&self) -> impl Iterator<Item = &(f64, f64)> {
        self.dots().chain(&self.fair).chain(self.guaranteed.iter().flatten())
    }
}

/// The size of a cell on each axis.
struct Cells<'a> {
    x: &'a Axis,
    y: &'a Axis,
    width: f64,
    height: f64,
}

impl<'a> Cells<'a> {
    fn new(x: &'a Axis, y: &'a Axis, panels: usize) -> Cells<'a> {
        let (pixels_x, pixels_y) = if panels > 1 { (740.0, 420.0) } else { (1620.0, 620.0) };
        Cells { x, y, width: (x.hi - x.lo) / pixels_x * CELL, height: (y.hi - y.lo) / pixels_y * CELL }
    }

    fn of(&self, (t, share): (f64, f64)) -> (i64, i64) {
        ((self.x.at(t) / self.width).round() as i64, (self.y.at(share) / self.height).round() as i64)
    }
}

/// The dots of a panel.
struct Marks {
    /// Per group, the places of its dots.
    shown: Vec<Vec<(f64, f64)>>,
    flows: usize,
    of_flows: usize,
    interval: usize,
}

impl Marks {
    /// The dots of every k-th flow of each group and of every j-th interval, k and j powers of two just large enough
    /// for `budget` dots. O(points log points).
    fn fitting(panel: &Cleaned, groups: &[&str], cells: &Cells, budget: usize) -> Marks {
        let longest = panel.flows.iter().map(|(_, points)| points.len()).max().unwrap_or(0);
        let (mut stride, mut interval) = (1, 1);
        loop {
            let marks = Marks::every(panel, groups, cells, stride, interval);
            let few_flows = marks.flows <= groups.len() + 1;
            if marks.count() <= budget || (few_flows && interval > longest) {
                return marks;
            }
            let enough_flows = marks.flows > ENOUGH_FLOWS_PER_GROUP * groups.len();
            let many_intervals = longest / interval > ENOUGH_INTERVALS;
            if enough_flows || !(many_intervals || few_flows) { stride *= 2 } else { interval *= 2 }
        }
    }

    fn every(panel: &Cleaned, groups: &[&str], cells: &Cells, stride: usize, interval: usize) -> Marks {
        let lowest = lowest_flow(panel);
        let mut seen_of_group = vec![0usize; groups.len()];
        let mut drawn: BTreeSet<(usize, i64, i64)> = BTreeSet::new();
        let mut marks =
            Marks { shown: vec![Vec::new(); groups.len()], flows: 0, of_flows: panel.flows.len(), interval };
        for (index, (group, points)) in panel.flows.iter().enumerate() {
            let group = groups.iter().position(|g| g == group).unwrap_or(0);
            let turn = seen_of_group[group].is_multiple_of(stride);
            seen_of_group[group] += 1;
            if !turn && Some(index) != lowest {
                continue;
            }
            marks.flows += 1;
            for &point in points.iter().step_by(interval) {
                let (cx, cy) = cells.of(point);
                if drawn.insert((group, cx, cy)) {
                    let beside = DOTS_APART * cells.width / CELL * (group as f64 - (groups.len() - 1) as f64 / 2.0);
                    let place = cells.x.at(point.0) + beside;
                    marks.shown[group].push((place.clamp(cells.x.lo, cells.x.hi), cells.y.at(point.1)));
                }
            }
        }
        marks
    }

    fn count(&self) -> usize {
        self.shown.iter().map(Vec::len).sum()
    }

    /// What is left out; empty if nothing is.
    fn left_out(&self) -> String {
        let mut parts = Vec::new();
        if self.flows < self.of_flows {
            parts.push(format!(
                "{} of {} flows are shown, evenly picked from each group, with the flow of the lowest share",
                self.flows, self.of_flows
            ));
        }
        if self.interval > 1 {
            parts.push(format!("one interval in {} is shown", self.interval));
        }
        parts.join("; ")
    }
}

/// The flow that has the lowest share in any interval; the first of several.
fn lowest_flow(panel: &Cleaned) -> Option<usize> {
    let lowest_share = |points: &[(f64, f64)]| extent(points.iter().map(|p| p.1)).map(|(lo, _)| lo);
    let shares = panel.flows.iter().enumerate().filter_map(|(k, (_, points))| Some((k, lowest_share(points)?)));
    shares.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(k, _)| k)
}
