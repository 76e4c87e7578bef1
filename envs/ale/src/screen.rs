/// Pixels in a row of the console's screen.
pub const SCREEN_WIDTH: usize = 160;

/// A screen in colour, as a television would show it except for the shape of its pixels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RgbImage {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// `height * width` triples of red, green and blue, row by row.
    pub pixels: Vec<u8>,
}

/// A row of screen bytes.
pub(crate) type Row = [u8; SCREEN_WIDTH];

/// Returns the rows of a screen.
pub(crate) fn rows(screen: &[u8]) -> &[Row] {
    screen.as_chunks().0
}
