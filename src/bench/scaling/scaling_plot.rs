use std::ops::Range;

use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;

use super::point::Point;
use crate::plot::{Plot, PlotFile};
use crate::statistics::Estimate;

const COLOUR: RGBColor = RGBColor(31, 119, 180);

/// An x value and the estimate of y there.
type Sample = (f64, Estimate);

/// One diagram of the plot.
struct Panel<'a> {
    x: &'a str,
    y: &'a str,
    samples: Vec<Sample>,
    /// A label for each point, or none at all.
    labels: Vec<String>,
}

/// Plots throughput against latency, and both against the number of ROMs.
pub(super) fn draw(points: &[Point], title: &str, file: PlotFile) -> Result<()> {
    const MILLI: f64 = 1e-3;
    let roms = |point: &Point| point.num_roms as f64;
    let throughput = |point: &Point| scaled(point.frames_per_second, MILLI);
    let latency = |point: &Point| scaled(point.latency_us, MILLI);
    let panels = [
        Panel {
            x: "latency of a batch [ms]",
            y: "throughput [1000 frames/s]",
            samples: points.iter().map(|point| (latency(point).mean, throughput(point))).collect(),
            labels: points.iter().map(|point| point.num_roms.to_string()).collect(),
        },
        Panel {
            x: "ROMs",
            y: "throughput [1000 frames/s]",
            samples: points.iter().map(|point| (roms(point), throughput(point))).collect(),
            labels: Vec::new(),
        },
        Panel {
            x: "ROMs",
            y: "latency of a batch [ms]",
            samples: points.iter().map(|point| (roms(point), latency(point))).collect(),
            labels: Vec::new(),
        },
    ];
    file.draw(&ScalingPlot { title: format!("Throughput and latency by number of ROMs ({title})"), panels })
}

/// Panels side by side under a title.
struct ScalingPlot<'a> {
    title: String,
    panels: [Panel<'a>; 3],
}

impl Plot for ScalingPlot<'_> {
    fn size(&self) -> (u32, u32) {
        (1200, 460)
    }

    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        unit: u32,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        area.fill(&WHITE)?;
        let area = area.margin(10 * unit, 0, 0, 0).titled(&self.title, ("sans-serif", 20 * unit))?;
        for (panel, area) in self.panels.iter().zip(area.split_evenly((1, self.panels.len()))) {
            panel.draw(&area, unit)?;
        }
        area.present()
    }
}

fn scaled(estimate: Estimate, factor: f64) -> Estimate {
    let Estimate { mean, low, high } = estimate;
    Estimate { mean: mean * factor, low: low * factor, high: high * factor }
}

impl Panel<'_> {
    /// Draws the means as a line within the band of their confidence intervals. The x axis is logarithmic.
    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        unit: u32,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let mut chart = ChartBuilder::on(area)
            .margin(12 * unit)
            .x_label_area_size(40 * unit)
            .y_label_area_size(56 * unit)
            .build_cartesian_2d(self.x_range().log_scale(), self.y_range())?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12).stroke_width(unit))
            .label_style(("sans-serif", 13 * unit))
            .axis_desc_style(("sans-serif", 15 * unit))
            .x_label_formatter(&|value| logarithmic(*value))
            .y_label_formatter(&|value| short(*value))
            .draw()?;
        let upper = self.samples.iter().map(|&(x, y)| (x, y.high));
        let lower = self.samples.iter().rev().map(|&(x, y)| (x, y.low.max(0.0)));
        chart.draw_series([Polygon::new(upper.chain(lower).collect::<Vec<_>>(), COLOUR.mix(0.25))])?;
        let means = || self.samples.iter().map(|&(x, y)| (x, y.mean));
        chart.draw_series(LineSeries::new(means(), COLOUR.stroke_width(2 * unit)))?;
        chart.draw_series(means().map(|point| Circle::new(point, 3 * unit, COLOUR.filled())))?;
        let font = ("sans-serif", 13 * unit).into_font();
        let offset = (4 * unit as i32, -16 * unit as i32);
        chart.draw_series(means().zip(&self.labels).map(|(point, label)| {
            EmptyElement::at(point) + Text::new(label.clone(), offset, font.clone())
        }))?;
        Ok(())
    }

    fn x_range(&self) -> Range<f64> {
        let xs = || self.samples.iter().map(|&(x, _)| x);
        xs().fold(f64::INFINITY, f64::min) / 1.3..xs().fold(0.0, f64::max) * 1.5
    }

    fn y_range(&self) -> Range<f64> {
        0.0..self.samples.iter().map(|(_, y)| y.high).fold(0.0, f64::max) * 1.1
    }
}

/// Formats a number on an axis, without trailing zeros.
fn short(value: f64) -> String {
    let digits = if value >= 10.0 { 0 } else { 2 };
    let text = format!("{value:.digits$}");
    if digits == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// Formats a number on a logarithmic axis, which has room for 1, 2, 5, 10, 20, 50, ... only.
fn logarithmic(value: f64) -> String {
    let digit = value / 10f64.powf((value.log10() + 1e-9).floor());
    if [1.0, 2.0, 5.0].iter().any(|shown| (digit - shown).abs() < 1e-6) {
        short(value)
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::logarithmic;

    #[test]
    fn a_logarithmic_axis_labels_ones_twos_and_fives() {
        let shown = [0.05, 0.1, 0.2, 0.3, 0.9, 1.0, 4.0, 5.0, 10.0, 30.0, 200.0, 1000.0].map(logarithmic);
        assert_eq!(shown, ["0.05", "0.1", "0.2", "", "", "1", "", "5", "10", "", "200", "1000"]);
    }
}
