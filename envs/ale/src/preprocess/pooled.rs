use super::pool::Pool;
use super::resize::{Rows, Sameness};
use crate::screen::Row;

/// The pooled image before the resize, in greyscale or RGB.
#[derive(Clone, Debug)]
pub(super) struct Pooled {
    /// The pixels of each row. Valid only for rows that hold their own pixels.
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

    /// Returns the pixels of a row.
    fn pixels_of(&self, row: usize) -> &[u8] {
        self.held(self.holders[row])
    }

    fn held(&self, holder: u16) -> &[u8] {
        &self.rows[usize::from(holder) * self.row_len..][..self.row_len]
    }
}

impl Rows for Pooled {
    fn produce(&mut self, _: usize) -> Sameness {
        Sameness::default()
    }

    fn pixels(&self, row: usize) -> &[u8] {
        self.pixels_of(row)
    }
}

/// The frames of a step, pooled row by row while they are resized.
pub(super) struct Frames<'a> {
    pub(super) last: &'a [Row],
    pub(super) previous: Option<&'a [Row]>,
    pub(super) pool: &'a Pool,
    pub(super) pooled: &'a mut Pooled,
    /// Memory for one row.
    pub(super) scratch: &'a mut [u8],
    /// True if the row above is unchanged.
    pub(super) above_unchanged: bool,
}

impl Frames<'_> {
    /// Produces a row that equals the one above. Returns true if it is unchanged.
    fn repeat(&mut self, row: usize) -> bool {
        let Pooled { rows, row_len, holders } = &mut *self.pooled;
        let (above, before) = (usize::from(holders[row - 1]), usize::from(holders[row]));
        let pixels = |holder: usize| &rows[holder * *row_len..][..*row_len];
        if before == row && pixels(row) == pixels(above) {
            return true;
        }
        holders[row] = above as u16;
        // If `before != row`, this row equalled the one above in the previous image, too.
        before != row && self.above_unchanged
    }

    /// Produces a row from the frames. Returns true if it is unchanged.
    fn pool(&mut self, row: usize) -> bool {
        let Pooled { rows, row_len, holders } = &mut *self.pooled;
        let pixels = &mut rows[row * *row_len..][..*row_len];
        self.pool.row(Some(&self.last[row]), self.previous.map(|previous| &previous[row]), self.scratch);
        let was_own = usize::from(std::mem::replace(&mut holders[row], row as u16)) == row;
        let unchanged = was_own && *pixels == *self.scratch;
        if !unchanged {
            pixels.copy_from_slice(self.scratch);
        }
        unchanged
    }
}

impl Rows for Frames<'_> {
    fn produce(&mut self, row: usize) -> Sameness {
        let repeats = |rows: &[Row]| row > 0 && rows[row] == rows[row - 1];
        let repeats = repeats(self.last) && self.previous.is_none_or(repeats);
        let unchanged = if repeats { self.repeat(row) } else { self.pool(row) };
        self.above_unchanged = unchanged;
        Sameness { repeats, unchanged }
    }

    fn pixels(&self, row: usize) -> &[u8] {
        self.pooled.pixels_of(row)
    }
}
