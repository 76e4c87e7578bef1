use std::ops::Range;

use ale::RgbImage;

use super::grid::{Cell, Grid, Rgb};

/// The lower half of a cell. Half a cell shows one pixel: it is about as wide as it is high.
const LOWER_HALF: char = '▄';

/// Returns the columns and rows of the largest frame that fits, with a ratio of width and height. No larger than needed
/// to show every line.
pub(super) fn size(
    frame: &RgbImage,
    [width, height]: [usize; 2],
    columns: usize,
    rows: usize,
) -> (usize, usize) {
    let lines = (2 * rows).min(columns * height / width).min(frame.height);
    (lines * width / height, lines / 2)
}

/// Draws a frame into the upper left corner, scaled to this size.
pub(super) fn draw(frame: &RgbImage, columns: usize, rows: usize, grid: &mut Grid) {
    for row in 0..rows {
        for column in 0..columns {
            let pixel = |line| pixel(frame, [column, line], [columns, 2 * rows]);
            let (background, foreground) = (pixel(2 * row), pixel(2 * row + 1));
            grid.set(column, row, Cell { letter: LOWER_HALF, foreground, background });
        }
    }
}

/// Returns a pixel of the frame scaled to `[width, height]`: the mean of the pixels that it covers, so that small
/// objects do not disappear.
fn pixel(frame: &RgbImage, [x, y]: [usize; 2], [width, height]: [usize; 2]) -> Rgb {
    let mut sums = [0u32; 3];
    let mut count = 0;
    for line in source_range(y, height, frame.height) {
        for column in source_range(x, width, frame.width) {
            let start = 3 * (line * frame.width + column);
            for (sum, &value) in sums.iter_mut().zip(&frame.pixels[start..start + 3]) {
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

    fn frame(width: usize, height: usize, colour: impl Fn(usize, usize) -> Rgb) -> RgbImage {
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
        let pixels = pixels.flat_map(|[x, y]| colour(x, y)).collect();
        RgbImage { height, width, pixels }
    }

    #[test]
    fn a_frame_fits_with_its_aspect_ratio() {
        const TELEVISION: [usize; 2] = [4, 3];
        let tv = frame(160, 210, |_, _| [0; 3]);
        for (columns, rows) in [(80, 24), (200, 50), (40, 30), (10, 3), (1, 1), (0, 0), (400, 200)] {
            let (width, height) = size(&tv, TELEVISION, columns, rows);
            assert!(width <= columns && height <= rows, "{width}x{height} in {columns}x{rows}");
        }
        assert_eq!(size(&tv, TELEVISION, 80, 24), (64, 24));
        assert_eq!(size(&tv, TELEVISION, 400, 200), (280, 105), "half a row for every line");
        assert_eq!(size(&tv, [3, 2], 60, 50), (60, 20), "square pixels");
    }

    #[test]
    fn two_lines_share_a_row() {
        let lines = frame(2, 4, |x, y| [x as u8, y as u8, 7]);
        let mut grid = Grid::new(2, 2);
        draw(&lines, 2, 2, &mut grid);
        let cell = |background, foreground| Cell { letter: LOWER_HALF, foreground, background };
        assert_eq!(grid.at(1, 0), cell([1, 0, 7], [1, 1, 7]));
        assert_eq!(grid.at(0, 1), cell([0, 2, 7], [0, 3, 7]));
    }

    #[test]
    fn shrinking_averages_pixels_and_enlarging_copies_them() {
        // A ball of one pixel.
        let ball = frame(4, 4, |x, y| if (x, y) == (1, 1) { [200; 3] } else { [0; 3] });
        assert_eq!(pixel(&ball, [0, 0], [2, 2]), [50; 3]);
        assert_eq!(pixel(&ball, [1, 0], [2, 2]), [0; 3]);
        assert_eq!([2, 3].map(|x| pixel(&ball, [x, 2], [8, 8])), [[200; 3]; 2]);
    }
}
