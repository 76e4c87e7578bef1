use crossterm::style;
use ratatui::buffer::Buffer;
use ratatui::style::Color;

/// Red, green and blue.
type Rgb = [u8; 3];

/// The colours that a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColourDepth {
    /// 24 bits.
    True,
    /// The 256 colours of xterm.
    Indexed,
}

impl ColourDepth {
    /// Returns the depth that the terminal declares in `$COLORTERM`.
    pub(super) fn of_terminal() -> Self {
        if style::available_color_count() == u16::MAX { Self::True } else { Self::Indexed }
    }

    /// Replaces colours that the terminal cannot show by the nearest ones.
    pub(super) fn reduce(self, buffer: &mut Buffer) {
        if self == Self::True {
            return;
        }
        for cell in &mut buffer.content {
            for colour in [&mut cell.fg, &mut cell.bg] {
                if let Color::Rgb(red, green, blue) = *colour {
                    *colour = Color::Indexed(nearest_index([red, green, blue]));
                }
            }
        }
    }
}

/// Returns the nearest of xterm's colours 16 to 255: a cube of six levels, and 24 shades of grey.
fn nearest_index(colour: Rgb) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let distance_to_level = |value: u8, level: u8| LEVELS[usize::from(level)].abs_diff(value);
    let cube =
        colour.map(|value| (0..6u8).min_by_key(|&level| distance_to_level(value, level)).unwrap_or_default());
    let cube_distance = distance(colour, cube.map(|level| LEVELS[usize::from(level)]));
    let grey = |shade: u8| [8 + 10 * shade; 3];
    let shade = (0..24u8).min_by_key(|&shade| distance(colour, grey(shade))).unwrap_or(0);
    if distance(colour, grey(shade)) < cube_distance {
        232 + shade
    } else {
        16 + 36 * cube[0] + 6 * cube[1] + cube[2]
    }
}

/// Returns the square of the Euclidean distance of two colours.
fn distance(first: Rgb, second: Rgb) -> u32 {
    first.iter().zip(second).map(|(&first, second)| u32::from(first.abs_diff(second)).pow(2)).sum()
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn finds_the_nearest_colour_of_the_palette() {
        let colours =
            [[0, 0, 0], [255, 255, 255], [255, 0, 0], [95, 135, 175], [128, 128, 128], [10, 10, 10]];
        assert_eq!(colours.map(nearest_index), [16, 231, 196, 67, 244, 232]);
    }

    #[test]
    fn a_terminal_with_a_palette_gets_its_indices() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 1, 1));
        let style = Style::new().fg(Color::Rgb(255, 0, 10)).bg(Color::Reset);
        buffer.set_string(0, 0, "a", style);
        ColourDepth::True.reduce(&mut buffer);
        assert_eq!(buffer[(0, 0)].fg, Color::Rgb(255, 0, 10));
        ColourDepth::Indexed.reduce(&mut buffer);
        assert_eq!((buffer[(0, 0)].fg, buffer[(0, 0)].bg), (Color::Indexed(196), Color::Reset));
    }
}
