/// An image that is produced row by row while it is resized.
pub(crate) trait Rows {
    /// Returns the pixels of a row, or `None` if they equal those of the row above. A resize asks for every row once, in
    /// order.
    fn row(&mut self, row: usize) -> Option<&[u8]>;
}
