//! Files that a picture can be drawn into: vectors or pixels.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::font;

/// Width and height of a picture, in units.
const SIZE: (u32, u32) = (1200, 460);
/// Pixels of a unit in a picture made of pixels.
const PIXELS: u32 = 2;

/// What can be drawn on any canvas. All its lengths are multiples of `unit`.
pub(super) trait Draw {
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

/// Where a picture goes. Known to be usable before anything is measured.
pub(in crate::bench) struct PlotFile {
    path: PathBuf,
    format: Format,
}

impl PlotFile {
    /// The file's name decides on the format.
    pub(in crate::bench) fn new(path: &Path) -> Result<Self> {
        let shown = path.display();
        let extension = path.extension().map(OsStr::to_ascii_lowercase);
        let format = match extension.as_deref().and_then(|extension| extension.to_str()) {
            Some("svg") => Format::Svg,
            Some("png") => Format::Png,
            _ => return Err(anyhow!("cannot draw {shown}: a picture is a file that ends in .svg or .png")),
        };
        fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .with_context(|| format!("cannot write {shown}"))?;
        Ok(Self { path: path.to_owned(), format })
    }

    pub(super) fn draw(&self, picture: &impl Draw) -> Result<()> {
        font::register()?;
        let bytes = match self.format {
            Format::Svg => svg(picture)?,
            Format::Png => png(picture)?,
        };
        fs::write(&self.path, bytes).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

fn svg(picture: &impl Draw) -> Result<Vec<u8>> {
    let mut svg = String::new();
    picture.draw(&SVGBackend::with_string(&mut svg, SIZE).into_drawing_area(), 1).map_err(failed)?;
    Ok(svg.into_bytes())
}

fn png(picture: &impl Draw) -> Result<Vec<u8>> {
    let (width, height) = (SIZE.0 * PIXELS, SIZE.1 * PIXELS);
    let mut pixels = vec![0; 3 * width as usize * height as usize];
    let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
    picture.draw(&area, PIXELS).map_err(failed)?;
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
