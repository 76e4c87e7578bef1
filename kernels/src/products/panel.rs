//! Panels: matrices cut into groups of columns that fit into a pair of vector registers.

use pulp::{Arch, Simd, WithSimd};

/// Maximum number of columns of a panel on any processor.
pub(crate) const MAX_COLUMNS: usize = 32;

/// Bytes of a cache line. A vector that crosses lines takes two accesses.
const CACHE_LINE: usize = 64;

/// Returns the number of columns of a panel on processors with the instructions `S`: two vectors.
pub(crate) const fn columns<S: Simd>() -> usize {
    2 * S::F32_LANES
}

/// Returns the number of columns of a panel on this processor.
pub(crate) fn columns_here() -> usize {
    struct Columns;
    impl WithSimd for Columns {
        type Output = usize;
        fn with_simd<S: Simd>(self, _: S) -> usize {
            columns::<S>()
        }
    }
    Arch::new().dispatch(Columns)
}

/// Values that are aligned to a cache line.
#[derive(Debug)]
pub(crate) struct Aligned {
    values: Vec<f32>,
    start: usize,
    length: usize,
}

impl Aligned {
    /// Allocates zeros.
    pub(crate) fn zeros(length: usize) -> Self {
        let values = vec![0.0; length + CACHE_LINE / size_of::<f32>()];
        let start = values.as_ptr().align_offset(CACHE_LINE);
        Self { values, start, length }
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.values[self.start..self.start + self.length]
    }

    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values[self.start..self.start + self.length]
    }
}

/// Copies a row of a panel. Faster than `copy_from_slice`, whose call takes longer than the copy.
fn copy(from: &[f32], to: &mut [f32]) {
    let ((from, last_from), (to, last_to)) = (from.as_chunks::<8>(), to.as_chunks_mut::<8>());
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
    for (to, from) in last_to.iter_mut().zip(last_from) {
        *to = *from;
    }
}

/// A matrix as panels of equal width. Missing columns of the last one are zeros.
#[derive(Debug)]
pub(crate) struct Panels {
    values: Aligned,
    rows: usize,
    columns: usize,
    width: usize,
}

impl Panels {
    /// Allocates a matrix of zeros.
    pub(crate) fn zeros(rows: usize, columns: usize) -> Self {
        let width = columns_here();
        Self { values: Aligned::zeros(rows * columns.next_multiple_of(width)), rows, columns, width }
    }

    /// Packs a matrix. `at` returns the value of a row and a column.
    pub(crate) fn pack(rows: usize, columns: usize, at: impl Fn(usize, usize) -> f32) -> Self {
        let mut panels = Self::zeros(rows, columns);
        for index in 0..panels.count() {
            let first = index * panels.width;
            let shown = panels.shown_columns(index);
            let width = panels.width;
            for (row, values) in panels.panel_mut(index).chunks_exact_mut(width).enumerate() {
                for (column, value) in values[..shown].iter_mut().enumerate() {
                    *value = at(row, first + column);
                }
            }
        }
        panels
    }

    /// Packs a matrix in row-major order.
    pub(crate) fn pack_rows(matrix: &[f32], columns: usize) -> Self {
        let mut panels = Self::zeros(matrix.len() / columns, columns);
        for index in 0..panels.count() {
            let (first, shown, width) = (index * panels.width, panels.shown_columns(index), panels.width);
            let rows = matrix.chunks_exact(columns);
            for (row, values) in rows.zip(panels.panel_mut(index).chunks_exact_mut(width)) {
                copy(&row[first..first + shown], &mut values[..shown]);
            }
        }
        panels
    }

    /// Packs those columns of a matrix in row-major order that do not fill a panel. There may be none.
    pub(crate) fn pack_last_columns(matrix: &[f32], columns: usize) -> Self {
        let first = columns - columns % columns_here();
        let at = |row: usize, column: usize| matrix[row * columns + first + column];
        Self::pack(matrix.len() / columns, columns - first, at)
    }

    /// Adds the matrix to `sum`, which is in row-major order.
    pub(crate) fn add_to(&self, sum: &mut [f32]) {
        for index in 0..self.count() {
            let (first, shown) = (index * self.width, self.shown_columns(index));
            let rows = sum.chunks_exact_mut(self.columns);
            for (row, values) in rows.zip(self.panel(index).chunks_exact(self.width)) {
                for (sum, value) in row[first..first + shown].iter_mut().zip(values) {
                    *sum += value;
                }
            }
        }
    }

    /// Returns the matrix in row-major order.
    pub(crate) fn into_matrix(self) -> Vec<f32> {
        let mut matrix = vec![0.0; self.rows * self.columns];
        for index in 0..self.count() {
            let (first, shown) = (index * self.width, self.shown_columns(index));
            let rows = matrix.chunks_exact_mut(self.columns);
            for (row, values) in rows.zip(self.panel(index).chunks_exact(self.width)) {
                copy(&values[..shown], &mut row[first..first + shown]);
            }
        }
        matrix
    }

    /// Returns the number of panels.
    pub(crate) fn count(&self) -> usize {
        self.columns.div_ceil(self.width)
    }

    /// Returns the number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the number of columns of a panel.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of columns of a panel that belong to the matrix.
    pub(crate) fn shown_columns(&self, index: usize) -> usize {
        self.width.min(self.columns - index * self.width)
    }

    /// Returns a panel: `[rows, width]`.
    pub(crate) fn panel(&self, index: usize) -> &[f32] {
        let size = self.rows * self.width;
        &self.values.values()[index * size..(index + 1) * size]
    }

    /// Returns a panel: `[rows, width]`.
    pub(crate) fn panel_mut(&mut self, index: usize) -> &mut [f32] {
        let size = self.rows * self.width;
        &mut self.values.values_mut()[index * size..(index + 1) * size]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_hold_the_columns_of_a_matrix() {
        let columns = 2 * columns_here() + 1;
        let at = |row: usize, column: usize| (100 * row + column) as f32;
        let panels = Panels::pack(3, columns, at);
        assert_eq!(
            (panels.count(), panels.shown_columns(1), panels.shown_columns(2)),
            (3, panels.width(), 1)
        );
        for index in 0..3 {
            assert!(panels.panel(index).as_ptr().cast::<u8>().align_offset(2 * panels.width()) == 0);
            for (row, values) in panels.panel(index).chunks_exact(panels.width()).enumerate() {
                let first = index * panels.width();
                let expected = |column| if column < columns { at(row, column) } else { 0.0 };
                let expected: Vec<f32> = (first..first + panels.width()).map(expected).collect();
                assert_eq!(values, expected, "panel {index}, row {row}");
            }
        }
        let matrix: Vec<f32> = (0..3 * columns).map(|index| at(index / columns, index % columns)).collect();
        assert_eq!(Panels::pack_rows(&matrix, columns).values.values(), panels.values.values());
        let mut sum = vec![1.0; 3 * columns];
        panels.add_to(&mut sum);
        let expected = (0..sum.len()).map(|index| at(index / columns, index % columns) + 1.0);
        assert_eq!(sum, expected.collect::<Vec<_>>());
    }
}
