/// Rows of equal length in one allocation, each aligned to eight bytes.
///
/// A row holds one observation as the bytes that its [`Space`](crate::Space) describes.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservationBuffer {
    /// Words rather than bytes, so that every row starts at a multiple of eight bytes.
    words: Vec<u64>,
    row_bytes: usize,
    rows: usize,
}

impl ObservationBuffer {
    /// Creates `rows` rows of `row_bytes` zero bytes each.
    pub fn new(rows: usize, row_bytes: usize) -> Self {
        Self { words: vec![0; rows * row_bytes.div_ceil(size_of::<u64>())], row_bytes, rows }
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
