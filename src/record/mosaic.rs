use ale::RgbImage;
use anyhow::{Context, Result};

use super::caption::{self, Caption};
use crate::show::{Session, score_digits};

/// The aspect ratio that the picture of all games comes close to.
const ASPECT: f64 = 16.0 / 9.0;

/// Several games beside each other, in rows.
pub(super) struct Mosaic {
    sessions: Vec<Session>,
    columns: usize,
    /// The width and height of a game with its caption.
    cell: (usize, usize),
}

impl Mosaic {
    /// Arranges games, of which there is at least one.
    pub(super) fn new(sessions: Vec<Session>) -> Result<Self> {
        let mut cell = (0, 0);
        for session in &sessions {
            let screen = session.screen()?;
            let (width, height) = caption::drawn_size((screen.width, screen.height), 1, true);
            cell = (cell.0.max(width), cell.1.max(height));
        }
        let columns = columns(sessions.len(), cell);
        Ok(Self { sessions, columns, cell })
    }

    /// Returns the number of steps in a second of the fastest game.
    pub(super) fn steps_per_second(&self) -> f64 {
        let rates = self.sessions.iter().map(|session| session.description().steps_per_second);
        rates.fold(1.0, f64::max)
    }

    /// Takes a step in each game. An episode that was over begins anew.
    pub(super) fn act(&mut self) -> Result<()> {
        for session in &mut self.sessions {
            if session.is_over() {
                session.restart()?;
            }
            session.act()?;
        }
        Ok(())
    }

    /// Draws all games, each with its title and its score.
    pub(super) fn picture(&self) -> Result<RgbImage> {
        let (cell_width, cell_height) = self.cell;
        let (width, height) =
            (self.columns * cell_width, self.sessions.len().div_ceil(self.columns) * cell_height);
        let mut picture = RgbImage { height, width, pixels: vec![0; 3 * width * height] };
        for (index, session) in self.sessions.iter().enumerate() {
            let (title, score) = (session.description().title.clone(), score_digits(session.score()));
            let caption = Caption([title, String::new(), score]);
            let drawn = caption::draw(&session.screen()?, 1, Some(&caption))?;
            let (row, column) = (index / self.columns, index % self.columns);
            let margin = (cell_width - drawn.width) / 2;
            paste(&drawn, &mut picture, column * cell_width + margin, row * cell_height)
                .context("the size of a screen changed")?;
        }
        Ok(picture)
    }
}

/// Returns the number of columns with which the picture comes closest to [`ASPECT`]. No row could be left out.
fn columns(count: usize, (width, height): (usize, usize)) -> usize {
    let distance = |columns: &usize| {
        let rows = count.div_ceil(*columns);
        ((columns * width) as f64 / (rows * height) as f64 / ASPECT).ln().abs()
    };
    let possible = (1..=count.max(1)).map(|rows| count.div_ceil(rows));
    possible.min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(1)
}

/// Copies an image into another one, with its upper left corner at (`x`, `y`). Returns `None` if it does not fit.
fn paste(image: &RgbImage, into: &mut RgbImage, x: usize, y: usize) -> Option<()> {
    for (row, pixels) in image.pixels.chunks_exact(3 * image.width).enumerate() {
        let start = 3 * ((y + row) * into.width + x);
        into.pixels.get_mut(start..start + pixels.len())?.copy_from_slice(pixels);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_is_about_as_wide_as_a_screen() {
        assert_eq!(columns(57, (160, 222)), 12);
        assert_eq!([1, 2, 4, 6].map(|count| columns(count, (160, 222))), [1, 2, 4, 3]);
        assert_eq!(columns(2, (600, 424)), 2);
    }

    #[test]
    fn images_are_pasted_at_their_place() {
        let image = RgbImage { height: 1, width: 2, pixels: vec![1, 2, 3, 4, 5, 6] };
        let mut picture = RgbImage { height: 2, width: 3, pixels: vec![0; 18] };
        paste(&image, &mut picture, 1, 1).unwrap();
        assert_eq!(picture.pixels[9..], [0, 0, 0, 1, 2, 3, 4, 5, 6]);
        assert!(paste(&image, &mut picture, 0, 2).is_none());
    }
}
