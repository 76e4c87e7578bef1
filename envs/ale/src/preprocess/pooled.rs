use super::pool::Pool;
use super::resize::Rows;
use super::screen::Row;

/// The pooled image before the resize, in greyscale or RGB.
#[derive(Clone, Debug)]
pub(super) struct Pooled {
    /// The pixels of each row. Only rows that are their own holder are valid.
    rows: Box<[u8]>,
    row_len: usize,
    /// For each row the row that holds its pixels: itself, or an equal row above.
    holders: Box<[u16]>,
}

impl Pooled {
    /// Returns a black image.
    pub(super) fn new(height: usize, row_len: usize) -> Self {
        let holders = (0..height as u16).collect();
        Self { rows: vec![0; height * row_len].into(), row_len, holders }
    }

    pub(super) fn byte_len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the pixels of the image.
    pub(super) fn pixels(&self) -> Vec<u8> {
        self.holders.iter().flat_map(|&holder| self.held(holder)).copied().collect()
    }

    /// Replaces the image.
    pub(super) fn set(&mut self, pixels: &[u8]) {
        self.rows.copy_from_slice(pixels);
        for (row, holder) in self.holders.iter_mut().enumerate() {
            *holder = row as u16;
        }
    }

    /// Replaces the image by its maximum with another frame.
    pub(super) fn pool_again(&mut self, pool: &Pool, frame: &[Row]) {
        let pixels = self.pixels();
        self.set(&pixels);
        for (pooled, row) in self.rows.chunks_exact_mut(self.row_len).zip(frame) {
            pool.row(None, Some(row), pooled);
        }
    }

    fn held(&self, holder: u16) -> &[u8] {
        &self.rows[usize::from(holder) * self.row_len..][..self.row_len]
    }
}

impl Rows for Pooled {
    fn row(&mut self, row: usize) -> Option<&[u8]> {
        Some(self.held(self.holders[row]))
    }
}

/// The frames of a step, pooled row by row while they are resized.
pub(super) struct Frames<'a> {
    pub(super) last: &'a [Row],
    pub(super) previous: Option<&'a [Row]>,
    pub(super) pool: &'a Pool,
    pub(super) pooled: &'a mut Pooled,
}

impl Rows for Frames<'_> {
    fn row(&mut self, row: usize) -> Option<&[u8]> {
        let repeats = |rows: &[Row]| rows[row] == rows[row - 1];
        if row > 0 && repeats(self.last) && self.previous.is_none_or(repeats) {
            self.pooled.holders[row] = self.pooled.holders[row - 1];
            return None;
        }
        self.pooled.holders[row] = row as u16;
        let pooled = &mut self.pooled.rows[row * self.pooled.row_len..][..self.pooled.row_len];
        self.pool.row(Some(&self.last[row]), self.previous.map(|previous| &previous[row]), pooled);
        Some(pooled)
    }
}
