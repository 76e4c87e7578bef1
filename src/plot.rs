//! Rendering of plots as SVG or PNG.

use std::io::Write;
use std::path::Path;

use anyhow::{Error, Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::durable::PartialFile;
use crate::file_format::Formats;
use crate::font;

/// Pixels per unit of a PNG.
const PIXELS: u32 = 2;

/// A plot that any plotters backend can draw. All its lengths are multiples of `unit`.
pub(crate) trait Plot {
    /// Returns the width and height in units.
    fn size(&self) -> (u32, u32);

    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        unit: u32,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>>;
}

#[derive(Clone, Copy)]
enum Format {
    Svg,
    Png,
}

const FORMATS: Formats<Format> = Formats {
    action: "draw",
    by_extension: &[("svg", Format::Svg), ("png", Format::Png)],
    allowed: ".svg or .png",
};

/// The file of a plot. It is known to be writable before anything is measured.
pub(crate) struct PlotFile {
    file: PartialFile,
    format: Format,
}

impl PlotFile {
    /// Opens a file. Its extension determines the format.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let format = FORMATS.choose(path)?;
        Ok(Self { file: PartialFile::create(path)?, format })
    }

    pub(crate) fn draw(self, plot: &impl Plot) -> Result<()> {
        let bytes = match self.format {
            Format::Svg => svg(plot)?.into_bytes(),
            Format::Png => png(plot)?,
        };
        self.file.complete(|mut file, _| Ok(file.write_all(&bytes)?))
    }
}

fn svg(plot: &impl Plot) -> Result<String> {
    font::register()?;
    let mut svg = String::new();
    plot.draw(&SVGBackend::with_string(&mut svg, plot.size()).into_drawing_area(), 1).map_err(failed)?;
    Ok(svg)
}

fn png(plot: &impl Plot) -> Result<Vec<u8>> {
    font::register()?;
    let (width, height) = plot.size();
    let (width, height) = (width * PIXELS, height * PIXELS);
    let mut pixels = vec![0; 3 * width as usize * height as usize];
    let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
    plot.draw(&area, PIXELS).map_err(failed)?;
    drop(area);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(file)
}

fn failed(error: impl std::fmt::Display) -> Error {
    anyhow!("cannot draw: {error}")
}
