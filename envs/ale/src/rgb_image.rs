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
