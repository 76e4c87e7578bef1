use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::runs::{Band, Group, games};
use crate::plot::Plot;

/// Width and height of a chart, in units.
const SIZE: (u32, u32) = (560, 320);
/// The number of charts in a row of a figure.
const COLUMNS: usize = 3;
/// Height of a line of the legend, in units.
const LEGEND: u32 = 28;
/// Colours of the groups: the cycle of matplotlib.
const COLOURS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(255, 127, 14),
    RGBColor(44, 160, 44),
    RGBColor(214, 39, 40),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
];

type DrawingResult<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

fn colour(group: usize) -> RGBColor {
    COLOURS[group % COLOURS.len()]
}

/// Returns the colour of a group in CSS.
pub(super) fn css_colour(group: usize) -> String {
    let RGBColor(red, green, blue) = colour(group);
    format!("rgb({red}, {green}, {blue})")
}

/// The learning curves of a game: the mean of each group within a band from its lowest to its highest run.
pub(super) struct Chart<'a> {
    pub(super) game: &'a str,
    /// A curve per group, empty if the group did not play the game.
    pub(super) curves: Vec<Vec<Band>>,
}

/// Returns a chart for each game that has curves.
pub(super) fn charts(groups: &[Group]) -> Vec<Chart<'_>> {
    let chart = |game| Chart { game, curves: groups.iter().map(|group| group.curve(game)).collect() };
    let charts = games(groups).into_iter().map(chart);
    charts.filter(|chart| chart.curves.iter().any(|curve| !curve.is_empty())).collect()
}

impl Plot for Chart<'_> {
    fn size(&self) -> (u32, u32) {
        SIZE
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, unit: u32) -> DrawingResult<DB> {
        self.draw_into(area, unit)?;
        area.present()
    }
}

impl Chart<'_> {
    fn draw_into<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, unit: u32) -> DrawingResult<DB> {
        let bands = || self.curves.iter().flatten();
        let last = bands().map(|band| band.frames).fold(1.0, f64::max);
        let (scale, x_desc) = if last < 1e6 { (1e3, "thousand frames") } else { (1e6, "million frames") };
        let x = |band: &Band| band.frames / scale;
        let values = padded(bands().map(|band| band.low), bands().map(|band| band.high));
        let mut chart = ChartBuilder::on(area)
            .margin(10 * unit)
            .caption(self.game, ("sans-serif", 18 * unit))
            .x_label_area_size(36 * unit)
            .y_label_area_size(60 * unit)
            .build_cartesian_2d(0.0..last / scale, values)?;
        chart
            .configure_mesh()
            .x_desc(x_desc)
            .y_desc("return")
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12).stroke_width(unit))
            .label_style(("sans-serif", 12 * unit))
            .axis_desc_style(("sans-serif", 13 * unit))
            .x_label_formatter(&|value| short(*value))
            .y_label_formatter(&|value| short(*value))
            .draw()?;
        for (group, curve) in self.curves.iter().enumerate().filter(|(_, curve)| !curve.is_empty()) {
            let upper = curve.iter().map(|band| (x(band), band.high));
            let lower = curve.iter().rev().map(|band| (x(band), band.low));
            let band = Polygon::new(upper.chain(lower).collect::<Vec<_>>(), colour(group).mix(0.2));
            chart.draw_series([band])?;
            let means = curve.iter().map(|band| (x(band), band.mean));
            chart.draw_series(LineSeries::new(means, colour(group).stroke_width(2 * unit)))?;
        }
        Ok(())
    }
}

/// All charts of a report, under a legend if there are several groups.
pub(super) struct Figure<'a> {
    pub(super) charts: Vec<Chart<'a>>,
    pub(super) labels: Vec<&'a str>,
}

impl Figure<'_> {
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

/// Returns the range from the lowest to the highest value, with a margin.
fn padded(low: impl Iterator<Item = f64>, high: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = (low.fold(f64::INFINITY, f64::min), high.fold(f64::NEG_INFINITY, f64::max));
    let margin = ((high - low) * 0.05).max(1e-3);
    low - margin..high + margin
}

/// Formats a number on an axis, without trailing zeros.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_on_axes_have_no_trailing_zeros() {
        let shown = [0.0, -0.0001, 0.05, -21.0, 350.0, 1200.5].map(short);
        assert_eq!(shown, ["0", "0", "0.05", "-21", "350", "1200.5"]);
    }
}
