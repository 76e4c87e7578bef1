use std::any::Any;
use std::ptr::NonNull;

use crate::words::{LentWords, Words};

/// Rows of equal length in one allocation, each aligned to eight bytes.
///
/// A row holds one observation as the bytes that its [`Space`](crate::Space) describes.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservationBuffer {
    /// Words rather than bytes, so that every row starts at a multiple of eight bytes.
    words: Words,
    row_bytes: usize,
    rows: usize,
}

impl ObservationBuffer {
    /// Creates `rows` rows of `row_bytes` zero bytes each.
    pub fn new(rows: usize, row_bytes: usize) -> Self {
        Self { words: Words::Own(vec![0; words_of(rows, row_bytes)]), row_bytes, rows }
    }

    /// Creates rows like [`new`](Self::new). Returns `None` if their memory cannot be allocated.
    pub fn try_new(rows: usize, row_bytes: usize) -> Option<Self> {
        let len = rows.checked_mul(row_bytes.div_ceil(size_of::<u64>()))?;
        // Large allocations are fresh pages of the operating system, which are zero without being written.
        let words = bytemuck::allocation::try_zeroed_vec(len).ok()?;
        Some(Self { words: Words::Own(words), row_bytes, rows })
    }

    /// Creates rows in memory that `owner` keeps allocated, such as page-locked memory. Dropping the buffer drops
    /// `owner`. A clone of the buffer has its own allocation.
    ///
    /// # Safety
    ///
    /// `start` is aligned to eight bytes. Until `owner` is dropped, the `rows` rows from `start` on are allocated,
    /// initialized and do not move, and only this buffer accesses them. Each has `row_bytes`, rounded up to a multiple
    /// of eight.
    #[allow(unsafe_code)]
    pub unsafe fn lent(
        start: NonNull<u64>,
        rows: usize,
        row_bytes: usize,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Self {
        // SAFETY: the caller's promise.
        let words = unsafe { LentWords::new(start, words_of(rows, row_bytes), owner) };
        Self { words: Words::Lent(words), row_bytes, rows }
    }

    /// Returns true if the rows are in the memory of an owner.
    pub fn is_lent(&self) -> bool {
        matches!(self.words, Words::Lent(_))
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of bytes in a row.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Returns the distance between rows in bytes: `row_bytes` rounded up to a multiple of eight.
    pub fn stride(&self) -> usize {
        self.row_bytes.next_multiple_of(size_of::<u64>())
    }

    /// Returns the same memory with rows of another length, such as one for each player instead of one for each game.
    ///
    /// # Panics
    ///
    /// If the rows, each rounded up to a multiple of eight bytes, do not fill the memory exactly.
    #[must_use]
    pub fn with_rows(self, rows: usize, row_bytes: usize) -> Self {
        assert_eq!(words_of(rows, row_bytes), self.words.len(), "the rows fill the memory");
        Self { words: self.words, row_bytes, rows }
    }

    /// Returns the bytes of row `index`.
    pub fn row(&self, index: usize) -> &[u8] {
        let start = index * self.stride();
        &bytemuck::cast_slice(&self.words)[start..start + self.row_bytes]
    }

    /// Returns the bytes of row `index` mutably.
    pub fn row_mut(&mut self, index: usize) -> &mut [u8] {
        let start = index * self.stride();
        let end = start + self.row_bytes;
        &mut bytemuck::cast_slice_mut(&mut self.words)[start..end]
    }

    /// Returns row `index` as floats.
    ///
    /// # Panics
    ///
    /// If the length of a row is not a multiple of four.
    pub fn row_f32(&self, index: usize) -> &[f32] {
        bytemuck::cast_slice(self.row(index))
    }

    /// Iterates over the rows mutably.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let (stride, row_bytes) = (self.stride().max(1), self.row_bytes);
        bytemuck::cast_slice_mut(&mut self.words).chunks_mut(stride).map(move |chunk| &mut chunk[..row_bytes])
    }

    /// Returns a pointer to the first row; the others follow at multiples of [`stride`](Self::stride).
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }
}

/// Returns the number of words in rows that are multiples of a word.
fn words_of(rows: usize, row_bytes: usize) -> usize {
    rows * row_bytes.div_ceil(size_of::<u64>())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn memory_that_no_machine_has_is_not_allocated() {
        assert_eq!(ObservationBuffer::try_new(2, 12), Some(ObservationBuffer::new(2, 12)));
        assert_eq!(ObservationBuffer::try_new(1 << 20, 1 << 30), None);
        assert_eq!(ObservationBuffer::try_new(usize::MAX, 16), None);
    }

    #[test]
    fn memory_can_be_divided_into_other_rows() {
        let mut buffer = ObservationBuffer::new(2, 32);
        buffer.row_mut(1).copy_from_slice(&std::array::from_fn::<u8, 32, _>(|index| index as u8));
        let divided = buffer.clone().with_rows(4, 13);
        assert_eq!((divided.rows(), divided.row_bytes(), divided.row(3)[0]), (4, 13, 16));
        assert_eq!(divided.with_rows(2, 32), buffer);
    }

    #[test]
    fn rows_are_disjoint_and_aligned_for_floats() {
        let mut buffer = ObservationBuffer::new(3, 12);
        for (index, row) in buffer.rows_mut().enumerate() {
            assert_eq!(row.len(), 12);
            row.fill(index as u8 + 1);
        }
        for index in 0..3 {
            assert_eq!(buffer.row(index), [index as u8 + 1; 12]);
            assert_eq!(buffer.row_f32(index).len(), 3);
        }
        buffer.row_mut(1)[0] = 9;
        assert_eq!(buffer.row(0), [1; 12]);
        assert_eq!(buffer.row(1)[0], 9);
    }

    #[test]
    fn lent_rows_are_those_of_the_owner() {
        let (owner, mut memory) = (Arc::new(()), [7_u64; 4]);
        let start = NonNull::from(&mut memory).cast();
        // SAFETY: the array is aligned, has room for two rows of 12 bytes, and is used again only after the buffer was
        // dropped.
        #[allow(unsafe_code)]
        let mut buffer = unsafe { ObservationBuffer::lent(start, 2, 12, Box::new(Arc::clone(&owner))) };
        assert!(buffer.is_lent() && buffer.as_mut_ptr() == start.as_ptr().cast());
        assert_eq!(buffer.row(1)[8..], 7_u64.to_ne_bytes()[..4]);
        buffer.row_mut(1).fill(1);
        let clone = buffer.clone();
        assert!(clone == buffer && !clone.is_lent());
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(buffer);
        assert_eq!(Arc::strong_count(&owner), 1);
        assert_eq!(bytemuck::cast_slice::<u64, u8>(&memory)[16..28], [1; 12]);
        assert_eq!(memory[..2], [7, 7]);
        assert_eq!(clone.row(1), [1; 12]);
    }
}
