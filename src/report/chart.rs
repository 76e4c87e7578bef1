use std::borrow::Cow;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::axis::Axis;
use super::curve::Band;
use super::diagnostics::{DIAGNOSTICS, Section};
use super::group::{Group, games};
use crate::page::palette;
use crate::plot::Plot;

/// Width and height of a chart, in units.
const SIZE: (u32, u32) = (560, 320);
/// The number of labels on an axis.
const LABELS: usize = 6;
/// The number of charts in a row of a figure.
const COLUMNS: usize = 3;
/// Height of a line of the legend, in units.
const LEGEND: u32 = 28;

type DrawingResult<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

fn colour(group: usize) -> RGBColor {
    let [red, green, blue] = palette::colour(group);
    RGBColor(red, green, blue)
}

/// Curves of a metric: the mean of each group within a band from its lowest to its highest run.
pub(super) struct Chart<'a> {
    pub(super) title: Cow<'a, str>,
    /// The game, if the curves are those of one.
    pub(super) game: Option<&'a str>,
    /// A curve for each group, empty if the group has none.
    pub(super) curves: Vec<Vec<Band>>,
}

/// Returns the chart of the learning curves of each game.
pub(super) fn returns(groups: &[Group]) -> Vec<Chart<'_>> {
    let of_game = |game: &'_ str| groups.iter().map(|group| group.returns(game)).collect();
    let charts = games(groups).into_iter();
    charts.map(|game| Chart { title: game.into(), game: Some(game), curves: of_game(game) }).collect()
}

/// Returns the charts of the evaluations of each game in which an agent was evaluated more than once.
pub(super) fn evaluations(groups: &[Group]) -> Vec<Chart<'_>> {
    let of_game = |game: &'_ str| groups.iter().map(|group| group.evaluations(game)).collect();
    let charts = games(groups).into_iter().map(|game| {
        let title = format!("{game}: evaluations").into();
        Chart { title, game: Some(game), curves: of_game(game) }
    });
    charts.filter(Chart::has_curves).collect()
}

/// Returns the charts of a section that have curves.
pub(super) fn diagnostics(groups: &[Group], section: Section) -> Vec<Chart<'_>> {
    let of_section = DIAGNOSTICS.iter().filter(|diagnostic| diagnostic.section == section);
    let charts = of_section.map(|diagnostic| {
        let tag = diagnostic.metric.tag(None);
        let curves = groups.iter().map(|group| group.diagnostic(&tag)).collect();
        Chart { title: diagnostic.title.into(), game: None, curves }
    });
    charts.filter(Chart::has_curves).collect()
}

impl Chart<'_> {
    fn has_curves(&self) -> bool {
        self.curves.iter().any(|curve| !curve.is_empty())
    }

    fn draw_into<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, unit: u32) -> DrawingResult<DB> {
        let bands = || self.curves.iter().flatten();
        let frames = Axis::exact(0.0, bands().map(|band| band.frames).fold(1.0, f64::max), LABELS);
        let values = Axis::around(bands().flat_map(|band| [band.low, band.high]), LABELS);
        let mut chart = ChartBuilder::on(area)
            .margin(10 * unit)
            .caption(&self.title, ("sans-serif", 19 * unit))
            .x_label_area_size(40 * unit)
            .y_label_area_size(66 * unit)
            .build_cartesian_2d(frames, values)?;
        chart
            .configure_mesh()
            .x_desc("frames")
            .y_desc("return")
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12).stroke_width(unit))
            .label_style(("sans-serif", 14 * unit))
            .axis_desc_style(("sans-serif", 14 * unit))
            .draw()?;
        for (group, curve) in self.curves.iter().enumerate().filter(|(_, curve)| !curve.is_empty()) {
            let upper = curve.iter().map(|band| (band.frames, band.high));
            let lower = curve.iter().rev().map(|band| (band.frames, band.low));
            let band = Polygon::new(upper.chain(lower).collect::<Vec<_>>(), colour(group).mix(0.2));
            chart.draw_series([band])?;
            let means = curve.iter().map(|band| (band.frames, band.mean));
            chart.draw_series(LineSeries::new(means, colour(group).stroke_width(2 * unit)))?;
        }
        Ok(())
    }
}

/// All learning curves of a report, under a legend if there are several groups.
pub(super) struct Figure<'a> {
    charts: Vec<Chart<'a>>,
    labels: Vec<&'a str>,
}

impl<'a> Figure<'a> {
    pub(super) fn new(groups: &'a [Group]) -> Self {
        let charts = returns(groups).into_iter().filter(Chart::has_curves).collect();
        Self { charts, labels: groups.iter().map(|group| group.label.as_str()).collect() }
    }

    fn columns(&self) -> usize {
        self.charts.len().clamp(1, COLUMNS)
    }

    fn legend_height(&self) -> u32 {
        if self.labels.len() > 1 { LEGEND * self.labels.len() as u32 } else { 0 }
    }
}

impl Plot for Figure<'_> {
    fn size(&self) -> (u32, u32) {
        let rows = self.charts.len().div_ceil(self.columns()).max(1);
        (SIZE.0 * self.columns() as u32, SIZE.1 * rows as u32 + self.legend_height())
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, unit: u32) -> DrawingResult<DB> {
        area.fill(&WHITE)?;
        let (legend, cells) = area.split_vertically(self.legend_height() * unit);
        if self.labels.len() > 1 {
            let font = ("sans-serif", 15 * unit).into_font();
            for (group, label) in self.labels.iter().enumerate() {
                let length = |units: u32| (units * unit) as i32;
                let top = length(LEGEND * group as u32);
                let key = [(length(20), top + length(10)), (length(44), top + length(20))];
                legend.draw(&Rectangle::new(key, colour(group).filled()))?;
                legend.draw(&Text::new(*label, (length(54), top + length(10)), font.clone()))?;
            }
        }
        let rows = self.charts.len().div_ceil(self.columns()).max(1);
        for (chart, area) in self.charts.iter().zip(cells.split_evenly((rows, self.columns()))) {
            chart.draw_into(&area, unit)?;
        }
        area.present()
    }
}
