//! Screens of games in the cells of a terminal.

use std::ops::Range;

use ale::RgbImage;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;

/// The lower half of a cell. Half a cell shows one pixel: it is about as wide as it is high.
const LOWER_HALF: char = '▄';

/// Returns the upper left part of `area` that the largest screen fills, with a ratio of width and height. It is no
/// larger than needed to show every line.
pub(crate) fn fit(screen: &RgbImage, [width, height]: [usize; 2], area: Rect) -> Rect {
    let (columns, rows) = (usize::from(area.width), usize::from(area.height));
    let lines = (2 * rows).min(columns * height / width).min(screen.height);
    Rect { width: (lines * width / height) as u16, height: (lines / 2) as u16, ..area }
}

/// Draws a screen, scaled to an area.
pub(crate) fn draw(screen: &RgbImage, area: Rect, buffer: &mut Buffer) {
    let size = [usize::from(area.width), 2 * usize::from(area.height)];
    for position in area.positions() {
        let (column, row) = (usize::from(position.x - area.x), usize::from(position.y - area.y));
        let colour = |line| {
            let [red, green, blue] = pixel(screen, [column, line], size);
            Color::Rgb(red, green, blue)
        };
        if let Some(cell) = buffer.cell_mut(position) {
            cell.set_char(LOWER_HALF).set_bg(colour(2 * row)).set_fg(colour(2 * row + 1));
        }
    }
}

/// Returns a pixel of the screen scaled to `[width, height]`: the mean of the pixels that it covers, so that small
/// objects do not disappear.
fn pixel(screen: &RgbImage, [x, y]: [usize; 2], [width, height]: [usize; 2]) -> [u8; 3] {
    let mut sums = [0u32; 3];
    let mut count = 0;
    for line in source_range(y, height, screen.height) {
        for column in source_range(x, width, screen.width) {
            let start = 3 * (line * screen.width + column);
            for (sum, &value) in sums.iter_mut().zip(&screen.pixels[start..start + 3]) {
                *sum += u32::from(value);
            }
            count += 1;
        }
    }
    sums.map(|sum| (sum / count) as u8)
}

/// Returns the indices, among `source_length` of them, that index `index` of `length` covers: at least one.
fn source_range(index: usize, length: usize, source_length: usize) -> Range<usize> {
    let first = index * source_length / length;
    first..((index + 1) * source_length / length).max(first + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(width: usize, height: usize, colour: impl Fn(usize, usize) -> [u8; 3]) -> RgbImage {
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
        let pixels = pixels.flat_map(|[x, y]| colour(x, y)).collect();
        RgbImage { height, width, pixels }
    }

    #[test]
    fn a_screen_fits_with_its_aspect_ratio() {
        const TELEVISION: [usize; 2] = [4, 3];
        let tv = screen(160, 210, |_, _| [0; 3]);
        let size = |ratio, columns, rows| {
            let fitted = fit(&tv, ratio, Rect::new(3, 5, columns, rows));
            assert!((fitted.x, fitted.y) == (3, 5) && fitted.width <= columns && fitted.height <= rows);
            (fitted.width, fitted.height)
        };
        for (columns, rows) in [(200, 50), (40, 30), (10, 3), (1, 1), (0, 0)] {
            size(TELEVISION, columns, rows);
        }
        assert_eq!(size(TELEVISION, 80, 24), (64, 24));
        assert_eq!(size(TELEVISION, 400, 200), (280, 105), "half a row for every line");
        assert_eq!(size([3, 2], 60, 50), (60, 20), "square pixels");
    }

    #[test]
    fn two_lines_share_a_row() {
        let lines = screen(2, 4, |x, y| [x as u8, y as u8, 7]);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 3, 3));
        draw(&lines, Rect::new(1, 1, 2, 2), &mut buffer);
        let cell = |x, y| (buffer[(x, y)].bg, buffer[(x, y)].fg);
        assert_eq!(cell(2, 1), (Color::Rgb(1, 0, 7), Color::Rgb(1, 1, 7)));
        assert_eq!(cell(1, 2), (Color::Rgb(0, 2, 7), Color::Rgb(0, 3, 7)));
        assert_eq!((buffer[(1, 1)].symbol(), buffer[(0, 0)].symbol()), ("▄", " "));
    }

    #[test]
    fn shrinking_averages_pixels_and_enlarging_copies_them() {
        // A ball of one pixel.
        let ball = screen(4, 4, |x, y| if (x, y) == (1, 1) { [200; 3] } else { [0; 3] });
        assert_eq!(pixel(&ball, [0, 0], [2, 2]), [50; 3]);
        assert_eq!(pixel(&ball, [1, 0], [2, 2]), [0; 3]);
        assert_eq!([2, 3].map(|x| pixel(&ball, [x, 2], [8, 8])), [[200; 3]; 2]);
    }
}
