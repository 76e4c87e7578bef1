use ale::RgbImage;
use anyhow::{Context, Result, anyhow};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::font;
use crate::show::{Session, score_digits};

/// The least height of the caption in screen pixels.
const LINE: usize = 12;
/// The least height of the caption as a fraction of the width of the drawn screen, so that it is readable.
const FRACTION: usize = 25;

/// The texts below a frame: on the left, in the middle and on the right.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Caption(pub(super) [String; 3]);

impl Caption {
    /// Describes the last step of an agent.
    pub(super) fn of_step(session: &Session) -> Result<Self> {
        let reading = session.reading()?.context("the agent is missing")?;
        let score = format!("score {}", score_digits(session.score()));
        Ok(Self([score, session.action().to_owned(), format!("value {}", reading.value_digits())]))
    }
}

/// Returns the height of the caption below a screen of this width.
fn line(width: usize, scale: usize) -> usize {
    (LINE * scale).max(width * scale / FRACTION)
}

/// Returns the width and height of a drawn screen.
pub(super) fn drawn_size((width, height): (usize, usize), scale: usize, has_caption: bool) -> (usize, usize) {
    let line = if has_caption { line(width, scale) } else { 0 };
    (width * scale, height * scale + line)
}

/// Draws a screen, enlarged `scale` times, with its caption below.
pub(super) fn draw(screen: &RgbImage, scale: usize, caption: Option<&Caption>) -> Result<RgbImage> {
    font::register()?;
    let (width, height) = drawn_size((screen.width, screen.height), scale, caption.is_some());
    let mut pixels = Vec::with_capacity(3 * width * height);
    for row in screen.pixels.chunks_exact(3 * screen.width) {
        let start = pixels.len();
        for pixel in row.chunks_exact(3) {
            (0..scale).for_each(|_| pixels.extend_from_slice(pixel));
        }
        let line = start..pixels.len();
        (1..scale).for_each(|_| pixels.extend_from_within(line.clone()));
    }
    pixels.resize(3 * width * height, 0);
    if let Some(caption) = caption {
        write(&mut pixels, [width, height], [line(screen.width, scale), scale], caption)
            .map_err(|error| anyhow!("cannot draw: {error}"))?;
    }
    Ok(RgbImage { height, width, pixels })
}

fn write(
    pixels: &mut [u8],
    [width, height]: [usize; 2],
    [line, scale]: [usize; 2],
    caption: &Caption,
) -> Result<(), Box<dyn std::error::Error>> {
    let area = BitMapBackend::with_buffer(pixels, (width as u32, height as u32)).into_drawing_area();
    let style = ("sans-serif", line as f64 * 0.65).into_font().color(&WHITE);
    let y = (height - line / 2) as i32;
    let (margin, width) = (2 * scale as i32, width as i32);
    let places = [(HPos::Left, margin), (HPos::Center, width / 2), (HPos::Right, width - margin)];
    for (text, (anchor, x)) in caption.0.iter().zip(places) {
        let style = style.pos(Pos::new(anchor, VPos::Center));
        area.draw_text(text, &style, (x, y)).map_err(|error| error.to_string())?;
    }
    area.present().map_err(|error| error.to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pixel_becomes_a_square_above_the_caption() {
        let colours: [[u8; 3]; 2] = [[10, 20, 30], [200, 100, 50]];
        let screen = RgbImage { height: 1, width: 80, pixels: colours.concat().repeat(40) };
        let caption = Caption(["score 12", "fire", "value 0.50"].map(str::to_owned));
        let drawn = draw(&screen, 2, Some(&caption)).unwrap();
        assert_eq!((drawn.width, drawn.height), (160, 2 * (1 + LINE)));
        let rows: Vec<&[u8]> = drawn.pixels.chunks_exact(3 * 160).collect();
        assert_eq!(rows[0], rows[1]);
        assert_eq!(rows[0][..12], [colours[0], colours[0], colours[1], colours[1]].concat());
        assert!(rows[2..].concat().contains(&255), "no text");
        assert_eq!([1, 2].map(|scale| drawn_size((600, 400), scale, true)), [(600, 424), (1200, 848)]);
        assert_eq!(draw(&screen, 1, None).unwrap(), screen);
    }
}
