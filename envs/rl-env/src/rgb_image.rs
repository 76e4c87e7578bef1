/// A picture in colour, such as the screen of a game.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RgbImage {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// `height * width` triples of red, green and blue, row by row.
    pub pixels: Vec<u8>,
}
