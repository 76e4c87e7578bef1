use ale::RgbImage;

use super::canvas::{Canvas, Cell, Rgb};

/// Half a cell is a pixel, about as wide as it is high; the lower one is the letter.
const HALF: char = '▄';

/// Columns and rows of the largest picture in so much room, with the sides of a television screen: four to three. No
/// larger than shows every line.
pub(super) fn size(screen: &RgbImage, columns: usize, rows: usize) -> (usize, usize) {
    let lines = (2 * rows).min(columns * 3 / 4).min(screen.height);
    (lines * 4 / 3, lines / 2)
}

/// Draws a screen into the upper left corner, scaled to so many columns and rows.
pub(super) fn draw(screen: &RgbImage, columns: usize, rows: usize, canvas: &mut Canvas) {
    for row in 0..rows {
        for column in 0..columns {
            let pixel = |line| pixel(screen, [column, line], [columns, 2 * rows]);
            canvas.put(column, row, Cell { letter: HALF, paper: pixel(2 * row), ink: pixel(2 * row + 1) });
        }
    }
}

/// A pixel of the screen scaled to `[width, height]`: the mean of what falls into it, so that small things do not vanish.
fn pixel(screen: &RgbImage, [x, y]: [usize; 2], [width, height]: [usize; 2]) -> Rgb {
    let span = |at: usize, of: usize, length: usize| {
        let first = at * length / of;
        first..((at + 1) * length / of).max(first + 1)
    };
    let mut sums = [0u32; 3];
    let mut count = 0;
    for line in span(y, height, screen.height) {
        for column in span(x, width, screen.width) {
            let at = 3 * (line * screen.width + column);
            for (sum, &value) in sums.iter_mut().zip(&screen.pixels[at..at + 3]) {
                *sum += u32::from(value);
            }
            count += 1;
        }
    }
    sums.map(|sum| (sum / count) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(width: usize, height: usize, colour: impl Fn(usize, usize) -> Rgb) -> RgbImage {
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
        let pixels = pixels.flat_map(|[x, y]| colour(x, y)).collect();
        RgbImage { height, width, pixels }
    }

    #[test]
    fn a_picture_has_the_sides_of_a_television_screen_and_fits() {
        let tv = screen(160, 210, |_, _| [0; 3]);
        for (columns, rows) in [(80, 24), (200, 50), (40, 30), (10, 3), (1, 1), (0, 0), (400, 200)] {
            let (width, height) = size(&tv, columns, rows);
            assert!(width <= columns && height <= rows, "{width}x{height} in {columns}x{rows}");
        }
        assert_eq!(size(&tv, 80, 24), (64, 24));
        assert_eq!(size(&tv, 400, 200), (280, 105), "every line has a half of its own");
    }

    #[test]
    fn two_lines_share_a_row_of_letters() {
        let lines = screen(2, 4, |x, y| [x as u8, y as u8, 7]);
        let mut canvas = Canvas::new(2, 2);
        draw(&lines, 2, 2, &mut canvas);
        assert_eq!(canvas.at(1, 0), Cell { letter: HALF, paper: [1, 0, 7], ink: [1, 1, 7] });
        assert_eq!(canvas.at(0, 1), Cell { letter: HALF, paper: [0, 2, 7], ink: [0, 3, 7] });
    }

    #[test]
    fn a_smaller_picture_is_made_of_means_and_a_larger_one_of_copies() {
        // A ball of one pixel.
        let ball = screen(4, 4, |x, y| if (x, y) == (1, 1) { [200; 3] } else { [0; 3] });
        assert_eq!(pixel(&ball, [0, 0], [2, 2]), [50; 3]);
        assert_eq!(pixel(&ball, [1, 0], [2, 2]), [0; 3]);
        assert_eq!([2, 3].map(|x| pixel(&ball, [x, 2], [8, 8])), [[200; 3]; 2]);
    }
}
