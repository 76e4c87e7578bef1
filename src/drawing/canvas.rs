use ale::RgbImage;
use anyhow::{Error, Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::font;

/// Width and height of a picture in pixels, which are the units of all lengths.
pub(super) const SIZE: (usize, usize) = (400, 300);
/// The number of drawn pixels in each direction whose mean is a pixel of the picture: it makes edges smooth.
const OVERSAMPLING: usize = 3;

/// A point in pixels, right of and below the upper left corner.
pub(super) type Point = [f64; 2];

/// A white picture to draw on.
pub(super) struct Canvas<'a>(DrawingArea<BitMapBackend<'a>, Shift>);

/// Returns the picture that `paint` draws.
pub(super) fn draw(paint: impl FnOnce(&Canvas<'_>) -> Result<()>) -> Result<RgbImage> {
    font::register()?;
    let (width, height) = SIZE;
    let mut pixels = vec![0; 3 * width * height * OVERSAMPLING * OVERSAMPLING];
    let size = ((width * OVERSAMPLING) as u32, (height * OVERSAMPLING) as u32);
    let canvas = Canvas(BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area());
    canvas.0.fill(&WHITE).map_err(failed)?;
    paint(&canvas)?;
    drop(canvas);
    Ok(RgbImage { height, width, pixels: averaged(&pixels) })
}

/// Returns the means of squares of pixels.
fn averaged(pixels: &[u8]) -> Vec<u8> {
    let (width, height) = SIZE;
    let mut sums = vec![0u32; 3 * width * height];
    for (line, row) in pixels.chunks_exact(3 * width * OVERSAMPLING).enumerate() {
        for (column, pixel) in row.as_chunks::<3>().0.iter().enumerate() {
            let first = 3 * (line / OVERSAMPLING * width + column / OVERSAMPLING);
            for (sum, &value) in sums[first..].iter_mut().zip(pixel) {
                *sum += u32::from(value);
            }
        }
    }
    sums.into_iter().map(|sum| (sum / (OVERSAMPLING * OVERSAMPLING) as u32) as u8).collect()
}

impl Canvas<'_> {
    /// Draws a line through points, with round ends.
    pub(super) fn line(&self, points: &[Point], width: f64, colour: RGBColor) -> Result<()> {
        let style = colour.stroke_width(drawn(width) as u32);
        let path = points.iter().copied().map(place).collect::<Vec<_>>();
        self.0.draw(&PathElement::new(path, style)).map_err(failed)?;
        points.iter().try_for_each(|&point| self.disc(point, width / 2.0, colour))
    }

    pub(super) fn polygon(&self, points: &[Point], colour: RGBColor) -> Result<()> {
        let path = points.iter().copied().map(place).collect::<Vec<_>>();
        self.0.draw(&Polygon::new(path, colour.filled())).map_err(failed)
    }

    pub(super) fn disc(&self, centre: Point, radius: f64, colour: RGBColor) -> Result<()> {
        self.0.draw(&Circle::new(place(centre), drawn(radius), colour.filled())).map_err(failed)
    }

    /// Draws a rectangle between two corners.
    pub(super) fn rectangle(&self, [from, to]: [Point; 2], colour: RGBColor) -> Result<()> {
        self.0.draw(&Rectangle::new([place(from), place(to)], colour.filled())).map_err(failed)
    }

    /// Writes text around a point.
    pub(super) fn text(&self, text: &str, centre: Point, height: f64, colour: RGBColor) -> Result<()> {
        let style = ("sans-serif", drawn(height)).into_font().color(&colour);
        let style = style.pos(Pos::new(HPos::Center, VPos::Center));
        self.0.draw_text(text, &style, place(centre)).map_err(failed)
    }
}

fn drawn(length: f64) -> i32 {
    (length * OVERSAMPLING as f64).round() as i32
}

fn place([x, y]: Point) -> (i32, i32) {
    (drawn(x), drawn(y))
}

fn failed(error: impl std::fmt::Display) -> Error {
    anyhow!("cannot draw: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_smooth() {
        // A third of the pixels at the right edge is black.
        let corners = [[10.0, 20.0], [19.0 + 1.0 / 3.0, 30.0]];
        let picture = draw(|canvas| canvas.rectangle(corners, BLACK)).unwrap();
        let pixel = |x: usize| picture.pixels[3 * (25 * SIZE.0 + x)];
        assert_eq!([9, 10, 18, 19, 20].map(pixel), [255, 0, 0, 170, 255]);
    }
}
