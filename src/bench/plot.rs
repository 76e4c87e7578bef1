//! The picture of a sweep.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, ensure};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::statistics::Estimate;
use super::sweep::Point;

const SIZE: (u32, u32) = (1200, 460);
const COLOUR: RGBColor = RGBColor(31, 119, 180);

/// Where a picture goes. Known to be usable before anything is measured.
pub(super) struct PlotFile(PathBuf);

impl PlotFile {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let shown = path.display();
        let is_svg = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
        ensure!(is_svg, "cannot draw {shown}: pictures are vector graphics, in a file that ends in .svg");
        fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .with_context(|| format!("cannot write {shown}"))?;
        Ok(Self(path.to_owned()))
    }
}

/// A point of a line: where, how high, and the ends of the band there.
type Sample = (f64, Estimate);

/// One of the picture's diagrams.
struct Panel<'a> {
    x: &'a str,
    y: &'a str,
    samples: Vec<Sample>,
    /// A word beside each point.
    labels: Vec<String>,
}

/// Draws throughput against latency, and both against the number of ROMs.
pub(super) fn draw(points: &[Point], title: &str, file: &PlotFile) -> Result<()> {
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
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        let title = format!("Throughput and latency by number of ROMs ({title})");
        let area = area.titled(&title, ("sans-serif", 20)).map_err(failed)?;
        for (panel, area) in panels.iter().zip(area.split_evenly((1, 3))) {
            panel.draw(&area).map_err(failed)?;
        }
        area.present().map_err(failed)?;
    }
    fs::write(&file.0, svg).with_context(|| format!("cannot write {}", file.0.display()))
}

fn failed(error: impl std::fmt::Display) -> Error {
    anyhow!("cannot draw: {error}")
}

fn scaled(estimate: Estimate, factor: f64) -> Estimate {
    let Estimate { mean, low, high } = estimate;
    Estimate { mean: mean * factor, low: low * factor, high: high * factor }
}

impl Panel<'_> {
    /// The line of the means in the band of their confidence intervals; a logarithmic abscissa.
    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(56)
            .build_cartesian_2d(self.abscissa().log_scale(), self.ordinate())?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .label_style(("sans-serif", 13))
            .axis_desc_style(("sans-serif", 15))
            .x_label_formatter(&|value| short(*value))
            .y_label_formatter(&|value| short(*value))
            .draw()?;
        let upper = self.samples.iter().map(|&(x, y)| (x, y.high));
        let lower = self.samples.iter().rev().map(|&(x, y)| (x, y.low.max(0.0)));
        chart.draw_series([Polygon::new(upper.chain(lower).collect::<Vec<_>>(), COLOUR.mix(0.25))])?;
        let means = || self.samples.iter().map(|&(x, y)| (x, y.mean));
        chart.draw_series(LineSeries::new(means(), COLOUR.stroke_width(2)))?;
        chart.draw_series(means().map(|point| Circle::new(point, 3, COLOUR.filled())))?;
        let font = ("sans-serif", 13).into_font();
        chart.draw_series(means().zip(&self.labels).map(|(point, label)| {
            EmptyElement::at(point) + Text::new(label.clone(), (4, -16), font.clone())
        }))?;
        Ok(())
    }

    fn abscissa(&self) -> Range<f64> {
        let xs = || self.samples.iter().map(|&(x, _)| x);
        xs().fold(f64::INFINITY, f64::min) / 1.3..xs().fold(0.0, f64::max) * 1.5
    }

    fn ordinate(&self) -> Range<f64> {
        0.0..self.samples.iter().map(|(_, y)| y.high).fold(0.0, f64::max) * 1.1
    }
}

/// A number on an axis, without zeros at its end.
fn short(value: f64) -> String {
    let digits = if value >= 10.0 { 0 } else { 2 };
    let text = format!("{value:.digits$}");
    if digits == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}
