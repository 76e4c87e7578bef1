use std::fmt::Display;
use std::ops::Range;

use anyhow::{Error, Result, anyhow};
use plotters::prelude::*;

use super::runs::Band;
use crate::font;

const SIZE: (u32, u32) = (560, 320);
/// Colours of the groups, as in matplotlib; from the first again where they do not suffice.
const COLOURS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(255, 127, 14),
    RGBColor(44, 160, 44),
    RGBColor(214, 39, 40),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
];

/// The colour of a group, as CSS has it.
pub(super) fn colour(group: usize) -> String {
    let RGBColor(red, green, blue) = COLOURS[group % COLOURS.len()];
    format!("rgb({red}, {green}, {blue})")
}

/// The learning curves of a game as SVG: for each group its mean, in a band from the lowest run to the highest.
pub(super) fn learning_curves(game: &str, curves: &[Vec<Band>]) -> Result<String> {
    let bands = || curves.iter().flatten();
    let millions = |band: &Band| band.frames / 1e6;
    let last = bands().map(millions).fold(0.0, f64::max).max(1e-6);
    let values = padded(bands().map(|band| band.low), bands().map(|band| band.high));
    font::register()?;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(10)
            .caption(game, ("sans-serif", 18))
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(0.0..last, values)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .x_desc("million frames")
            .y_desc("return")
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .label_style(("sans-serif", 12))
            .axis_desc_style(("sans-serif", 13))
            .draw()
            .map_err(failed)?;
        for (group, curve) in curves.iter().enumerate().filter(|(_, curve)| !curve.is_empty()) {
            let colour = COLOURS[group % COLOURS.len()];
            let upper = curve.iter().map(|band| (millions(band), band.high));
            let lower = curve.iter().rev().map(|band| (millions(band), band.low));
            let band = Polygon::new(upper.chain(lower).collect::<Vec<_>>(), colour.mix(0.2));
            chart.draw_series([band]).map_err(failed)?;
            let means = curve.iter().map(|band| (millions(band), band.mean));
            chart.draw_series(LineSeries::new(means, colour.stroke_width(2))).map_err(failed)?;
        }
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

/// From the lowest value to the highest, and a little more.
fn padded(low: impl Iterator<Item = f64>, high: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = (low.fold(f64::INFINITY, f64::min), high.fold(f64::NEG_INFINITY, f64::max));
    let margin = ((high - low) * 0.05).max(1e-3);
    low - margin..high + margin
}

fn failed(error: impl Display) -> Error {
    anyhow!("cannot draw: {error}")
}
