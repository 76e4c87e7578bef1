use super::rows::Rows;

/// The means of blocks of whole pixels.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// Rows of a block.
    rows: usize,
    /// Columns of a block.
    columns: usize,
    channels: usize,
    /// The number of elements (pixels times channels) of a target row.
    target_len: usize,
    /// The sums of one target row.
    sums: Box<[u32]>,
    /// The contribution of the newest source row.
    row_sums: Box<[u32]>,
}

impl Blocks {
    pub(super) fn new(rows: usize, columns: usize, target_width: usize, channels: usize) -> Self {
        let target_len = target_width * channels;
        let zeros = vec![0; target_len].into_boxed_slice();
        Self { rows, columns, channels, target_len, sums: zeros.clone(), row_sums: zeros }
    }

    pub(super) fn resize(&mut self, source: &mut impl Rows, target: &mut [u8]) {
        let rows = self.rows;
        for (block, target) in target.chunks_exact_mut(self.target_len).enumerate() {
            self.sums.fill(0);
            for row in block * rows..(block + 1) * rows {
                if let Some(pixels) = source.row(row) {
                    self.sum_row(pixels);
                }
                for (sum, &in_row) in self.sums.iter_mut().zip(&self.row_sums) {
                    *sum += in_row;
                }
            }
            self.divide(target);
        }
    }

    /// Sums the pixels of each block in one source row.
    fn sum_row(&mut self, pixels: &[u8]) {
        self.row_sums.fill(0);
        let blocks = pixels.chunks_exact(self.columns * self.channels);
        for (sums, pixels) in self.row_sums.chunks_exact_mut(self.channels).zip(blocks) {
            for pixel in pixels.chunks_exact(self.channels) {
                for (sum, &element) in sums.iter_mut().zip(pixel) {
                    *sum += u32::from(element);
                }
            }
        }
    }

    /// Divides the sums. Blocks of two by two round half up in integers, all others half to even in `f32`.
    fn divide(&self, target: &mut [u8]) {
        let halves_up = (self.rows, self.columns) == (2, 2);
        let factor = 1.0 / (self.rows * self.columns) as f32;
        for (target, &sum) in target.iter_mut().zip(&self.sums) {
            *target = if halves_up {
                ((sum + 2) >> 2) as u8
            } else {
                (sum as f32 * factor).round_ties_even() as u8
            };
        }
    }
}
