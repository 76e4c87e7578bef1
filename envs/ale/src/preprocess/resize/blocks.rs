/// The mean of blocks of whole pixels.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// Rows of a block.
    rows: usize,
    /// Columns of a block.
    columns: usize,
    channels: usize,
    /// Elements (pixels times channels) of a target row.
    target_len: usize,
    /// One target row of sums.
    sums: Box<[u32]>,
}

impl Blocks {
    pub(super) fn new(rows: usize, columns: usize, target_width: usize, channels: usize) -> Self {
        let target_len = target_width * channels;
        Self { rows, columns, channels, target_len, sums: vec![0; target_len].into() }
    }

    pub(super) fn resize(&mut self, source: &[u8], target: &mut [u8]) {
        let source_len = self.target_len * self.columns;
        let blocks = source.chunks_exact(source_len * self.rows);
        let targets = target.chunks_exact_mut(self.target_len);
        for (block, target) in blocks.zip(targets) {
            self.sum(block);
            self.divide(target);
        }
    }

    /// Sums the blocks in a row of blocks.
    fn sum(&mut self, rows: &[u8]) {
        self.sums.fill(0);
        for row in rows.chunks_exact(self.target_len * self.columns) {
            let blocks = row.chunks_exact(self.columns * self.channels);
            for (sums, pixels) in self.sums.chunks_exact_mut(self.channels).zip(blocks) {
                for pixel in pixels.chunks_exact(self.channels) {
                    for (sum, &element) in sums.iter_mut().zip(pixel) {
                        *sum += u32::from(element);
                    }
                }
            }
        }
    }

    /// Two by two blocks are rounded half up, all others in `f32` and half to even.
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
