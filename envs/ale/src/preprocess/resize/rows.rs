/// The equality of a row with the row above and with the previous image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sameness {
    /// True if it equals the row above.
    pub(crate) repeats: bool,
    /// True if it equals the same row of the previously resized image.
    pub(crate) unchanged: bool,
}

/// An image that is produced row by row while it is resized.
pub(crate) trait Rows {
    /// Produces a row. A resize asks for every row once, in order.
    fn produce(&mut self, row: usize) -> Sameness;

    /// Returns the pixels of a row that has been produced.
    fn pixels(&self, row: usize) -> &[u8];

    /// Produces a row and returns its pixels, or `None` if they equal those of the row above.
    fn row(&mut self, row: usize) -> Option<&[u8]> {
        if self.produce(row).repeats { None } else { Some(self.pixels(row)) }
    }
}
